//! Derivatives.

use rustc_hash::FxHashMap;

use crate::func::Func;
use crate::node::{Comparison, Expr, Node};
use crate::pool::Pool;

/// Direction in which to differentiate: each variable's rate. Others are constant.
struct Rates {
    rates: FxHashMap<Expr, Expr>,
    /// Rate of time, on which functions of time depend.
    time: Expr,
}

impl Pool {
    /// ∂e/∂x for a symbol or function of time x.
    ///
    /// With x the time, functions of time are differentiated, d f(t)/dt = f'(t). Elsewhere all
    /// variables are independent of each other, f(t) of f'(t) too. Where a derivative jumps:
    /// |u|' = sign(u) u', min, max and conditionals take the derivative of what they choose,
    /// and step, sign and floor have derivative 0 (their jumps are ignored).
    ///
    /// Each ∂e/∂x is computed once and remembered, also for the parts of e. A product of n
    /// factors that all depend on x has n terms of n factors.
    ///
    /// ```
    /// # use gelenk_expr::Pool;
    /// let mut pool = Pool::new();
    /// let e = pool.parse("x^2*sin(y)").unwrap();
    /// let x = pool.symbol("x");
    /// let de = pool.diff(e, x);
    /// assert_eq!(pool.display(de).to_string(), "2*x*sin(y)");
    /// ```
    pub fn diff(&mut self, e: Expr, x: Expr) -> Expr {
        let rates = self.rates(&[(x, Expr::ONE)]);
        // Taken out of the pool while the pool grows; the memo is keyed by (e, x).
        let mut memo = std::mem::take(&mut self.derivatives);
        let order = self
            .subexpressions_where(&[e], |e| self.may_depend(e, x) && !memo.contains_key(&(e, x)));
        for e in order {
            let derivative = self.rate_of(e, &rates, |part| memo.get(&(part, x)).copied());
            memo.insert((e, x), derivative);
        }
        let result = memo.get(&(e, x)).copied().unwrap_or(Expr::ZERO);
        self.derivatives = memo;
        result
    }

    /// Forgets the derivatives that [`diff`](Self::diff) remembers, to save memory; the
    /// expressions themselves stay.
    pub fn forget_derivatives(&mut self) {
        self.derivatives = FxHashMap::default();
    }

    /// The derivative along given rates, Σ ∂e/∂xᵢ rᵢ, in one pass.
    ///
    /// ∂e/∂t is included if the time is among the variables.
    pub fn directional(&mut self, e: Expr, rates: &[(Expr, Expr)]) -> Expr {
        self.directional_all(&[e], rates)[0]
    }

    /// [`directional`](Self::directional) derivatives of several expressions, sharing the work.
    pub fn directional_all(&mut self, exprs: &[Expr], rates: &[(Expr, Expr)]) -> Vec<Expr> {
        let rates = self.rates(rates);
        let mut memo: FxHashMap<Expr, Expr> = FxHashMap::default();
        for e in self.subexpressions_where(exprs, |e| !self.is_constant(e)) {
            let rate = self.rate_of(e, &rates, |part| memo.get(&part).copied());
            memo.insert(e, rate);
        }
        exprs.iter().map(|e| memo.get(e).copied().unwrap_or(Expr::ZERO)).collect()
    }

    /// The total time derivative de/dt = ∂e/∂t + Σ ∂e/∂q q̇ for pairs (q, q̇).
    pub fn diff_total(&mut self, e: Expr, t: Expr, rates: &[(Expr, Expr)]) -> Expr {
        let mut all = Vec::with_capacity(rates.len() + 1);
        all.push((t, Expr::ONE));
        all.extend_from_slice(rates);
        self.directional(e, &all)
    }

    fn rates(&self, rates: &[(Expr, Expr)]) -> Rates {
        let rates: FxHashMap<Expr, Expr> = rates.iter().copied().collect();
        // Looked up, not made: differentiating must not declare the time's rank.
        let time = self.find_symbol(self.time_name()).and_then(|t| rates.get(&t).copied());
        Rates { rates, time: time.unwrap_or(Expr::ZERO) }
    }

    /// The rate of e from the rates of its parts; none means 0.
    fn rate_of(
        &mut self,
        e: Expr,
        rates: &Rates,
        part_rate: impl Fn(Expr) -> Option<Expr>,
    ) -> Expr {
        if let Some(&rate) = rates.rates.get(&e) {
            return rate;
        }
        if let Node::OfTime { name, order } = self.node(e) {
            if rates.time == Expr::ZERO {
                return Expr::ZERO;
            }
            let name = name.to_owned();
            let next = self.function_of_time(&name, order.saturating_add(1));
            return self.mul(&[next, rates.time]);
        }
        let parts: Vec<Expr> = self.parts(e).to_vec();
        let inner: Vec<Expr> = parts.iter().map(|&p| part_rate(p).unwrap_or(Expr::ZERO)).collect();
        if inner.iter().all(|&r| r == Expr::ZERO) {
            return Expr::ZERO;
        }
        match self.node(e) {
            Node::Sum(_) => self.add(&inner),
            Node::Product(_) => self.product_rule(&parts, &inner),
            Node::Power(..) => self.power_rule(e, &parts, &inner),
            Node::Apply(func @ (Func::Min | Func::Max), _) => {
                self.extremum_rule(func, &parts, &inner)
            }
            Node::Apply(Func::Atan2, _) => {
                // (x y' - y x') / (x² + y²)
                let (y, x) = (parts[0], parts[1]);
                let (a, b) = (self.mul(&[x, inner[0]]), self.mul(&[y, inner[1]]));
                let numerator = self.sub(a, b);
                let (xx, yy) = (self.pow(x, Expr::TWO), self.pow(y, Expr::TWO));
                let denominator = self.add(&[xx, yy]);
                self.div(numerator, denominator)
            }
            Node::Apply(func, _) => {
                let outer = self.derivative_of(func, e, parts[0]);
                self.mul(&[outer, inner[0]])
            }
            Node::If(comparison, _) => {
                self.if_else(comparison, parts[0], parts[1], inner[2], inner[3])
            }
            Node::Number(_) | Node::Constant(_) | Node::Symbol(_) | Node::OfTime { .. } => {
                Expr::ZERO
            }
        }
    }

    /// Σᵢ fᵢ' Π_{j≠i} fⱼ.
    fn product_rule(&mut self, factors: &[Expr], rates: &[Expr]) -> Expr {
        let mut terms = Vec::new();
        for (i, &rate) in rates.iter().enumerate() {
            if rate != Expr::ZERO {
                let mut product = factors.to_vec();
                product[i] = rate;
                terms.push(self.mul(&product));
            }
        }
        self.add(&terms)
    }

    /// (u^v)' = v u^(v-1) u' + u^v log(u) v'.
    fn power_rule(&mut self, e: Expr, parts: &[Expr], rates: &[Expr]) -> Expr {
        let (u, v) = (parts[0], parts[1]);
        let mut terms = Vec::new();
        if rates[0] != Expr::ZERO {
            let exponent = self.sub(v, Expr::ONE);
            let power = self.pow(u, exponent);
            terms.push(self.mul(&[v, power, rates[0]]));
        }
        if rates[1] != Expr::ZERO {
            let log = self.func(Func::Log, &[u]);
            terms.push(self.mul(&[e, log, rates[1]]));
        }
        self.add(&terms)
    }

    /// min(a, b, ...)' = if(a <= min(b, ...), a', min(b, ...)').
    fn extremum_rule(&mut self, func: Func, parts: &[Expr], rates: &[Expr]) -> Expr {
        let comparison = match func {
            Func::Min => Comparison::LessEqual,
            _ => Comparison::GreaterEqual,
        };
        let last = parts.len() - 1;
        let (mut best, mut rate) = (parts[last], rates[last]);
        for i in (0..last).rev() {
            rate = self.if_else(comparison, parts[i], best, rates[i], rate);
            best = self.func(func, &[parts[i], best]);
        }
        rate
    }

    /// f'(u), where e = f(u).
    fn derivative_of(&mut self, func: Func, e: Expr, u: Expr) -> Expr {
        match func {
            Func::Exp => e,
            Func::Log => self.pow(u, Expr::MINUS_ONE),
            Func::Log10 | Func::Log2 => {
                let base = self.num(if func == Func::Log10 { 10 } else { 2 });
                let log = self.func(Func::Log, &[base]);
                let product = self.mul(&[u, log]);
                self.pow(product, Expr::MINUS_ONE)
            }
            Func::Sin => self.func(Func::Cos, &[u]),
            Func::Cos => {
                let sin = self.func(Func::Sin, &[u]);
                self.neg(sin)
            }
            Func::Sinh => self.func(Func::Cosh, &[u]),
            Func::Cosh => self.func(Func::Sinh, &[u]),
            // 1 + tan², 1 - tanh²
            Func::Tan | Func::Tanh => {
                let square = self.pow(e, Expr::TWO);
                if func == Func::Tan {
                    self.add(&[Expr::ONE, square])
                } else {
                    self.sub(Expr::ONE, square)
                }
            }
            Func::Asin => self.inverse_root(Expr::ONE, Expr::MINUS_ONE, u),
            Func::Acos => {
                let asin = self.inverse_root(Expr::ONE, Expr::MINUS_ONE, u);
                self.neg(asin)
            }
            Func::Asinh => self.inverse_root(Expr::ONE, Expr::ONE, u),
            Func::Acosh => self.inverse_root(Expr::MINUS_ONE, Expr::ONE, u),
            Func::Atan | Func::Atanh => {
                let square = self.pow(u, Expr::TWO);
                let denominator = if func == Func::Atan {
                    self.add(&[Expr::ONE, square])
                } else {
                    self.sub(Expr::ONE, square)
                };
                self.pow(denominator, Expr::MINUS_ONE)
            }
            Func::Abs => self.func(Func::Sign, &[u]),
            // 2/√π exp(-u²)
            Func::Erf => {
                let square = self.pow(u, Expr::TWO);
                let exponent = self.neg(square);
                let exp = self.func(Func::Exp, &[exponent]);
                let root = self.sqrt(Expr::PI);
                let two_exp = self.mul(&[Expr::TWO, exp]);
                self.div(two_exp, root)
            }
            Func::Sign | Func::Step | Func::Floor | Func::Min | Func::Max | Func::Atan2 => {
                Expr::ZERO
            }
        }
    }

    /// 1/√(a + b u²).
    fn inverse_root(&mut self, a: Expr, b: Expr, u: Expr) -> Expr {
        let square = self.pow(u, Expr::TWO);
        let scaled = self.mul(&[b, square]);
        let radicand = self.add(&[a, scaled]);
        let root = self.sqrt(radicand);
        self.pow(root, Expr::MINUS_ONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let mut pool = Pool::new();
        let x = pool.symbol("x");
        pool.symbol("y");
        let e = pool.parse(text).unwrap();
        let derivative = pool.diff(e, x);
        let expected = pool.parse(expected).unwrap();
        assert_eq!(derivative, expected, "{}", pool.display(derivative));
    }

    #[test]
    fn rules() {
        check("3", "0");
        check("y", "0");
        check("x", "1");
        check("x^3", "3*x^2");
        check("x*y + 1/x", "y - 1/x^2");
        check("x^y", "y*x^(y-1)");
        check("2^x", "2^x*log(2)");
        check("x^x", "x^x + x^x*log(x)");
        check("sqrt(x)", "1/(2*sqrt(x))");
        check("sin(x*y)", "y*cos(x*y)");
        check("log10(x)", "1/(x*log(10))");
        check("tan(x) + tanh(x)", "2 + tan(x)^2 - tanh(x)^2");
        check("acos(x) + asin(x)", "0");
        check("atan2(x, y)", "y/(x^2 + y^2)");
        check("abs(x)", "sign(x)");
        check("sqrt(x^2)", "sign(x)");
        check("step(x) + sign(x) + floor(x)", "0");
        check("min(x, y)", "if(x <= y, 1, 0)");
        check("max(x, y)", "if(x >= y, 1, 0)");
        check("if(x < y, x^2, y)", "if(x < y, 2*x, 0)");
        check("erf(x)", "2*exp(-x^2)/sqrt(pi)");
    }

    #[test]
    fn functions_of_time() {
        let mut pool = Pool::new();
        let f = pool.function_of_time("f", 0);
        let f1 = pool.function_of_time("f", 1);
        let t = pool.time();
        let e = pool.parse("t*f(t)^2").unwrap();
        assert_eq!(pool.diff(e, t), pool.parse("f(t)^2 + 2*t*f(t)*f'(t)").unwrap());
        assert_eq!(pool.diff(e, f), pool.parse("2*t*f(t)").unwrap());
        assert_eq!(pool.diff(e, f1), Expr::ZERO);
        let x = pool.symbol("x");
        assert_eq!(pool.diff(e, x), Expr::ZERO);
    }

    #[test]
    fn total_derivative_is_the_sum() {
        let mut pool = Pool::new();
        let e = pool.parse("t*q^2*sin(p)").unwrap();
        let (t, q, p) = (pool.time(), pool.symbol("q"), pool.symbol("p"));
        let (qd, pd) = (pool.symbol("qd"), pool.symbol("pd"));
        let total = pool.diff_total(e, t, &[(q, qd), (p, pd)]);
        let expected = pool.parse("q^2*sin(p) + 2*t*q*qd*sin(p) + t*q^2*cos(p)*pd").unwrap();
        assert_eq!(total, expected);
        // A rate that depends on the coordinate itself is not differentiated again.
        assert_eq!(pool.diff_total(q, t, &[(q, p)]), p);
    }

    #[test]
    fn deep_expressions_do_not_overflow_the_stack() {
        let mut pool = Pool::new();
        let (x, y) = (pool.symbol("x"), pool.symbol("y"));
        let mut e = x;
        for _ in 0..100_000 {
            let sin = pool.func(Func::Sin, &[e]);
            e = pool.add(&[sin, y]);
        }
        let derivative = pool.diff(e, y);
        assert_ne!(derivative, Expr::ZERO);
        let zero = pool.substitute(derivative, &[(x, y)]);
        assert_ne!(zero, derivative);
        let value = pool.eval(derivative, |_| 0.5);
        assert!(value.is_finite());
        assert!(pool.display(e).to_string().len() > 100_000);
        assert_eq!(pool.symbols_of(e).len(), 2);
    }
}
