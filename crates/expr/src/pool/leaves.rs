//! Numbers, symbols and functions of time.

use super::properties::Properties;
use super::{Entry, Pool, Stored, index, mix};
use crate::func::Func;
use crate::node::{Expr, Node};
use crate::number::Number;
use crate::rational::Rational;

impl Pool {
    /// The integer n.
    pub fn num(&mut self, n: i64) -> Expr {
        self.number(Rational::from(n))
    }

    /// n/d exactly. Like every division by an exact zero, d = 0 gives an unevaluated power:
    /// n·0^(-1), and for n = 0 [`undefined`](Self::undefined).
    pub fn rational(&mut self, n: i64, d: i64) -> Expr {
        if let Some(r) = Rational::new(n, d) {
            self.number(r)
        } else {
            let n = self.num(n);
            self.div(n, Expr::ZERO)
        }
    }

    /// A float, rounded arithmetic from here on. Zero becomes the exact 0; ±∞ the power
    /// ±0^(-1), which evaluates to them; NaN is [`undefined`](Self::undefined).
    pub fn float(&mut self, x: f64) -> Expr {
        match Number::float(x) {
            Some(number) => self.number(number),
            None if x.is_nan() => self.undefined(),
            None => {
                let infinity = self.pow(Expr::ZERO, Expr::MINUS_ONE);
                if x > 0.0 { infinity } else { self.neg(infinity) }
            }
        }
    }

    /// A number as an expression.
    pub fn number(&mut self, number: impl Into<Number>) -> Expr {
        self.intern(Node::Number(&number.into()))
    }

    /// What has no value, such as 0·0^(-1): the expression log(-1), which evaluates to NaN.
    pub fn undefined(&mut self) -> Expr {
        self.intern(Node::Apply(Func::Log, &[Expr::MINUS_ONE]))
    }

    /// The symbol of that name, new or known. `pi` and `e` are the constants.
    ///
    /// The name should be an [identifier](crate::is_identifier) for the printed text to parse.
    pub fn symbol(&mut self, name: &str) -> Expr {
        match name {
            "pi" => return Expr::PI,
            "e" => return Expr::E,
            _ => {}
        }
        if let Some(&e) = self.symbol_ids.get(name) {
            return e;
        }
        let rank = index(self.symbols.len());
        let properties = Properties::of_symbol(rank, name == self.time);
        self.symbols.push(name.to_owned());
        let hash = mix(mix(2, 0), u64::from(rank));
        let e = self.push(Entry { stored: Stored::Symbol(rank), hash, properties });
        self.symbol_ids.insert(name.to_owned(), e);
        e
    }

    /// The symbol of that name, if the pool has it.
    pub fn find_symbol(&self, name: &str) -> Option<Expr> {
        self.symbol_ids.get(name).copied()
    }

    /// The symbol of time, on which [functions of time](Self::function_of_time) depend.
    pub fn time(&mut self) -> Expr {
        let name = self.time.clone();
        self.symbol(&name)
    }

    /// The name of time.
    pub fn time_name(&self) -> &str {
        &self.time
    }

    /// The `order`-th time derivative of the unspecified function `name`: f(t), f'(t), ...
    pub fn function_of_time(&mut self, name: &str, order: u32) -> Expr {
        let rank = if let Some(&rank) = self.function_ids.get(name) {
            rank
        } else {
            let rank = index(self.functions.len());
            self.functions.push(name.to_owned());
            self.function_ids.insert(name.to_owned(), rank);
            rank
        };
        let hash = mix(mix(mix(3, 0), u64::from(rank)), u64::from(order));
        let same = |e: &Expr| matches!(self.entries[e.index()].stored, Stored::OfTime(r, o) if (r, o) == (rank, order));
        if let Some(&e) = self.table.find(hash, same) {
            return e;
        }
        let properties = Properties::of_function_of_time(hash);
        self.insert(Entry { stored: Stored::OfTime(rank, order), hash, properties })
    }

    /// Whether an unspecified function of time of that name was made.
    pub fn has_function_of_time(&self, name: &str) -> bool {
        self.function_ids.contains_key(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_have_fixed_handles() {
        let mut pool = Pool::new();
        assert_eq!(pool.num(0), Expr::ZERO);
        assert_eq!(pool.rational(2, 4), Expr::HALF);
        assert_eq!(pool.symbol("pi"), Expr::PI);
        assert_eq!(pool.float(-0.0), Expr::ZERO);
    }

    #[test]
    fn symbols_and_functions_are_shared() {
        let mut pool = Pool::new();
        let x = pool.symbol("x");
        assert_eq!(pool.symbol("x"), x);
        assert_eq!(pool.find_symbol("x"), Some(x));
        let f1 = pool.function_of_time("f", 1);
        assert_eq!(pool.function_of_time("f", 1), f1);
        assert_ne!(pool.function_of_time("f", 0), f1);
        assert!(pool.has_function_of_time("f"));
        assert_eq!(pool.rank(x), Some(0));
    }

    #[test]
    fn infinities_do_not_panic() {
        let mut pool = Pool::new();
        let inf = pool.float(f64::INFINITY);
        assert!(pool.is_singular(inf));
        let nan = pool.float(f64::NAN);
        assert_eq!(nan, pool.undefined());
        assert_eq!(pool.rational(0, 0), nan);
        assert_eq!(pool.sub(inf, inf), nan);
    }
}
