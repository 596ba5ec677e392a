//! Unspecified functions F.(X, Y): opaque symbols that know their arguments, so that the chain rule and replacement
//! lists reach them.

use gelenk_expr::{Expr, Pool};
use rustc_hash::{FxHashMap, FxHashSet};

/// A derivative of an unspecified function at its arguments.
#[derive(Clone, Debug)]
struct Applied {
    symbol: Expr,
    name: String,
    /// How often it is differentiated by each argument.
    orders: Vec<u32>,
    arguments: Vec<Expr>,
}

/// The unspecified functions of a deck.
#[derive(Clone, Debug, Default)]
pub(super) struct Functions {
    /// Functions among the arguments come before the function.
    applied: Vec<Applied>,
    ids: FxHashMap<Expr, usize>,
}

impl Functions {
    /// The symbol of F.(orders)(arguments).
    pub(super) fn symbol(
        &mut self,
        pool: &mut Pool,
        name: &str,
        orders: Vec<u32>,
        arguments: Vec<Expr>,
    ) -> Expr {
        let text = |e: &Expr| super::print::formac(&pool.display(*e).to_string());
        let inside = arguments.iter().map(text).collect::<Vec<_>>().join(",");
        let symbol_name = if orders.iter().all(|o| *o == 0) {
            format!("{name}.({inside})")
        } else {
            let orders: Vec<String> = orders.iter().map(ToString::to_string).collect();
            format!("{name}.({})({inside})", orders.join(","))
        };
        let symbol = pool.symbol(&symbol_name);
        if !self.ids.contains_key(&symbol) {
            self.ids.insert(symbol, self.applied.len());
            self.applied.push(Applied { symbol, name: name.to_owned(), orders, arguments });
        }
        symbol
    }

    /// The functions in expressions, those among the arguments first.
    fn inside(&self, pool: &Pool, exprs: &[Expr]) -> Vec<usize> {
        if self.applied.is_empty() {
            return Vec::new();
        }
        let mut seen: FxHashSet<usize> = FxHashSet::default();
        let mut todo: Vec<Expr> = exprs.to_vec();
        while let Some(e) = todo.pop() {
            for part in pool.subexpressions(&[e]) {
                if let Some(&id) = self.ids.get(&part)
                    && seen.insert(id)
                {
                    todo.extend_from_slice(&self.applied[id].arguments);
                }
            }
        }
        let mut found: Vec<usize> = seen.into_iter().collect();
        found.sort_unstable();
        found
    }

    /// ∂e/∂x with the chain rule through the functions.
    pub(super) fn diff(&mut self, pool: &mut Pool, e: Expr, x: Expr) -> Expr {
        let inside = self.inside(pool, &[e]);
        if inside.is_empty() {
            return pool.diff(e, x);
        }
        let mut rates = vec![(x, Expr::ONE)];
        for id in inside {
            let applied = self.applied[id].clone();
            let inner = pool.directional_all(&applied.arguments, &rates);
            let mut terms = Vec::new();
            for (k, rate) in inner.into_iter().enumerate() {
                if rate != Expr::ZERO {
                    let mut orders = applied.orders.clone();
                    orders[k] += 1;
                    let outer = self.symbol(pool, &applied.name, orders, applied.arguments.clone());
                    terms.push(pool.mul(&[outer, rate]));
                }
            }
            if applied.symbol != x {
                rates.push((applied.symbol, pool.add(&terms)));
            }
        }
        pool.directional(e, &rates)
    }

    /// Replaces an expression everywhere, also among the arguments of functions.
    pub(super) fn substitute(&mut self, pool: &mut Pool, e: Expr, from: Expr, to: Expr) -> Expr {
        self.rebuild(pool, e, Some((from, to)), None)
    }

    /// Replaces every application of a function by an expression in $(1), $(2), …, and its derivatives by that
    /// expression's.
    pub(super) fn specify(&mut self, pool: &mut Pool, e: Expr, name: &str, value: Expr) -> Expr {
        self.rebuild(pool, e, None, Some((name, value)))
    }

    fn rebuild(
        &mut self,
        pool: &mut Pool,
        e: Expr,
        pair: Option<(Expr, Expr)>,
        function: Option<(&str, Expr)>,
    ) -> Expr {
        let mut map: Vec<(Expr, Expr)> = pair.into_iter().collect();
        for id in self.inside(pool, &[e]) {
            let applied = self.applied[id].clone();
            if pair.is_some_and(|(from, _)| from == applied.symbol) {
                continue;
            }
            let arguments = pool.substitute_all(&applied.arguments, &map);
            let new = match function {
                Some((name, value)) if name == applied.name => {
                    let parameters: Vec<Expr> =
                        (1..=arguments.len()).map(|k| parameter(pool, k)).collect();
                    let mut derivative = value;
                    for (k, &order) in applied.orders.iter().enumerate() {
                        for _ in 0..order {
                            derivative = self.diff(pool, derivative, parameters[k]);
                        }
                    }
                    let mut result = derivative;
                    // One by one would search what was put in; parameters do not occur there.
                    let pairs: Vec<(Expr, Expr)> = parameters.into_iter().zip(arguments).collect();
                    let nested = self.inside(pool, &[result]);
                    if nested.is_empty() {
                        result = pool.substitute(result, &pairs);
                    } else {
                        for (from, to) in pairs {
                            result = self.substitute(pool, result, from, to);
                        }
                    }
                    result
                }
                _ if arguments == applied.arguments => continue,
                _ => self.symbol(pool, &applied.name, applied.orders.clone(), arguments),
            };
            map.push((applied.symbol, new));
        }
        if map.is_empty() { e } else { pool.substitute(e, &map) }
    }
}

/// The symbol of the k-th parameter in a specification.
pub(super) fn parameter(pool: &mut Pool, k: usize) -> Expr {
    pool.symbol(&format!("$({k})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pool: &Pool, e: Expr) -> String {
        super::super::print::formac(&pool.display(e).to_string())
    }

    #[test]
    fn chain_rule() {
        let mut pool = Pool::new();
        let mut functions = Functions::default();
        let (x, y) = (pool.symbol("X"), pool.symbol("Y"));
        let square = pool.pow(x, Expr::TWO);
        let f = functions.symbol(&mut pool, "F", vec![0, 0], vec![square, y]);
        let g = functions.symbol(&mut pool, "G", vec![0], vec![f]);
        let dg = functions.diff(&mut pool, g, x);
        assert_eq!(shown(&pool, dg), "2*X*F.(1,0)(X**2,Y)*G.(1)(F.(X**2,Y))");
        let dy = functions.diff(&mut pool, f, y);
        assert_eq!(shown(&pool, dy), "F.(0,1)(X**2,Y)");
    }

    #[test]
    fn specification_reaches_derivatives_and_arguments() {
        let mut pool = Pool::new();
        let mut functions = Functions::default();
        let x = pool.symbol("X");
        let f = functions.symbol(&mut pool, "F", vec![0], vec![x]);
        let g = functions.symbol(&mut pool, "G", vec![0], vec![f]);
        let df = functions.diff(&mut pool, f, x);
        let e = pool.add(&[df, g]);
        // F = sin
        let p = parameter(&mut pool, 1);
        let sin = pool.sin(p);
        let e = functions.specify(&mut pool, e, "F", sin);
        assert_eq!(shown(&pool, e), "G.(SIN(X)) + COS(X)");
        let zero = functions.substitute(&mut pool, e, x, Expr::ZERO);
        assert_eq!(shown(&pool, zero), "G.(0) + 1");
    }

    #[test]
    fn the_paper_s_specification() {
        // FU.(A, A - B**2, C) with $(1)*$(2) - $(3)
        let mut pool = Pool::new();
        let mut functions = Functions::default();
        let (a, b, c) = (pool.symbol("A"), pool.symbol("B"), pool.symbol("C"));
        let bb = pool.pow(b, Expr::TWO);
        let second = pool.sub(a, bb);
        let fu = functions.symbol(&mut pool, "FU", vec![0; 3], vec![a, second, c]);
        let [p, q, r] = [1, 2, 3].map(|k| parameter(&mut pool, k));
        let pq = pool.mul(&[p, q]);
        let value = pool.sub(pq, r);
        let e = functions.specify(&mut pool, fu, "FU", value);
        assert_eq!(shown(&pool, e), "A*(A - B**2) - C");
    }
}
