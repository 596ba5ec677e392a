//! Systems of polynomial equations g(x) = 0.

use std::collections::BTreeMap;
use std::fmt;

use gelenk_expr::{Expr, Node, Pool, Rational};

use crate::error::Error;
use crate::field::Field;
use crate::poly::Poly;

/// Largest degree and number of terms that an equation may have when multiplied out.
const MAX_DEGREE: u32 = 64;
const MAX_TERMS: usize = 20_000;
/// Most terms of an equation after its origin was moved.
const MAX_SHIFTED: u64 = 100_000;

/// Polynomial equations g(x) = 0 over named variables x.
#[derive(Clone, Debug, PartialEq)]
pub struct System<C> {
    /// The variables.
    pub names: Vec<String>,
    /// g.
    pub equations: Vec<Poly<C>>,
}

impl<C: Field> System<C> {
    /// Number of variables.
    pub fn n_variables(&self) -> usize {
        self.names.len()
    }

    /// G = ∂g/∂x as polynomials, one row an equation.
    pub fn jacobian(&self) -> Vec<Vec<Poly<C>>> {
        let n = self.n_variables();
        self.equations.iter().map(|g| (0..n).map(|i| g.derivative(i)).collect()).collect()
    }

    /// G(x).
    pub fn jacobian_at(&self, x: &[C]) -> Vec<Vec<C>> {
        let rows = self.jacobian();
        rows.iter().map(|row| row.iter().map(|p| p.eval(x)).collect()).collect()
    }

    /// The rank of G(x); entries below `epsilon` count as zero.
    pub fn rank_at(&self, x: &[C], epsilon: f64) -> usize {
        rank(self.jacobian_at(x), epsilon)
    }

    /// The system with `a` moved to the origin; shifted variables are called `d_NAME`. Refused where the
    /// equations would become too long.
    pub fn shifted(&self, a: &[C]) -> Result<Self, Error> {
        for (k, g) in self.equations.iter().enumerate() {
            // A power x^e becomes e + 1 terms.
            let mut length = 0u64;
            for (m, _) in g.terms() {
                let moved = m.exponents().iter().zip(a).filter(|(_, a)| !a.is_zero());
                let terms = moved.fold(1u64, |n, (e, _)| n.saturating_mul(u64::from(*e) + 1));
                length = length.saturating_add(terms);
            }
            if length > MAX_SHIFTED {
                return Err(Error::TooLarge { index: k + 1 });
            }
        }
        let rename = |(name, c): (&String, &C)| {
            if c.is_zero() { name.clone() } else { format!("d_{name}") }
        };
        Ok(Self {
            names: self.names.iter().zip(a).map(rename).collect(),
            equations: self.equations.iter().map(|g| g.shifted(a)).collect(),
        })
    }

    /// Step 1 of the blow-up: linear combinations that make the linear parts upper triangular,
    /// up to the order of the columns; equations without linear part come last.
    /// \[Laufen\] III, statement 17: this does not change the t-order of G.
    ///
    /// Constant and linear terms below `epsilon` count as zero; a linear part that only
    /// rounding left over is taken away.
    #[must_use]
    pub fn triangular(&self, epsilon: f64) -> Self {
        let mut rest: Vec<(usize, Poly<C>)> = self.equations.iter().cloned().enumerate().collect();
        let mut done = Vec::with_capacity(rest.len());
        while !rest.is_empty() {
            // Exact numbers: the shortest equation, as one does by hand. Floats: the largest pivot.
            let mut pivot: Option<(usize, usize, f64)> = None;
            for (row, (_, g)) in rest.iter().enumerate() {
                for (column, c) in g.linear_part().iter().enumerate() {
                    if c.is_below(epsilon) {
                        continue;
                    }
                    let merit = if C::is_rounded() { c.size() } else { -(g.len() as f64) };
                    if pivot.is_none_or(|(_, _, best)| merit > best) {
                        pivot = Some((row, column, merit));
                    }
                }
            }
            let Some((row, column, _)) = pivot else { break };
            let chosen = rest.remove(row);
            let factor = chosen.1.linear_part()[column].inverse().unwrap_or_else(C::zero);
            for (_, g) in &mut rest {
                let c = g.linear_part()[column].clone();
                if !c.is_zero() {
                    *g = g.minus(&chosen.1.scaled(&c.times(&factor)));
                    if C::is_rounded() {
                        *g = g.without_small(epsilon);
                    }
                }
            }
            done.push(chosen);
        }
        done.sort_by_key(|(index, _)| *index);
        done.extend(rest);
        Self { names: self.names.clone(), equations: done.into_iter().map(|(_, g)| g).collect() }
    }

    /// Whether all equations have a linear part at the origin after [`triangular`](Self::triangular).
    pub(crate) fn is_regular_at_origin(&self, epsilon: f64) -> bool {
        let rows = self.equations.iter().map(Poly::linear_part).collect();
        rank(rows, epsilon) == self.equations.len()
    }

    /// The lines `equation = 0`.
    pub fn lines(&self) -> Vec<String> {
        self.equations.iter().map(|g| format!("{} = 0", g.text(&self.names))).collect()
    }

    /// The system over other numbers.
    pub fn map<D: Field>(&self, f: impl Fn(&C) -> D) -> System<D> {
        System {
            names: self.names.clone(),
            equations: self.equations.iter().map(|g| g.map(&f)).collect(),
        }
    }
}

impl<C: Field> fmt::Display for System<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines().join("\n"))
    }
}

impl System<Rational> {
    /// Reads equations, `lhs = rhs` or an expression that is to be zero, by the grammar of
    /// [`gelenk_expr`].
    ///
    /// ```
    /// use gelenk_blowup::System;
    /// let eight = System::parse(&["x", "y"], &["y^2 = x^2*(1 - x^2)"]).unwrap();
    /// assert_eq!(eight.to_string(), "x^4 - x^2 + y^2 = 0");
    /// ```
    pub fn parse(names: &[&str], equations: &[&str]) -> Result<Self, Error> {
        let mut pool = Pool::new();
        let variables: Vec<Expr> = names.iter().map(|name| pool.symbol(name)).collect();
        let mut exprs = Vec::with_capacity(equations.len());
        for (k, text) in equations.iter().enumerate() {
            let parsed =
                if text.contains('=') { pool.parse_equation(text) } else { pool.parse(text) };
            exprs.push(parsed.map_err(|e| Error::Parse { index: k + 1, message: e.to_string() })?);
        }
        Self::from_exprs(&pool, &variables, &exprs)
    }

    /// Takes expressions that are polynomials in `variables`.
    pub fn from_exprs(pool: &Pool, variables: &[Expr], exprs: &[Expr]) -> Result<Self, Error> {
        let names: Vec<String> = variables.iter().map(|v| pool.display(*v).to_string()).collect();
        let mut equations = Vec::with_capacity(exprs.len());
        for (k, e) in exprs.iter().enumerate() {
            equations.push(polynomial(pool, variables, *e, k + 1)?);
        }
        Ok(Self { names, equations })
    }

    /// The same system over floats.
    pub fn to_f64(&self) -> System<f64> {
        self.map(Rational::to_f64)
    }
}

/// An expression multiplied out, parts before the whole.
fn polynomial(
    pool: &Pool,
    variables: &[Expr],
    root: Expr,
    index: usize,
) -> Result<Poly<Rational>, Error> {
    let n = variables.len();
    let mut known: BTreeMap<Expr, Poly<Rational>> = BTreeMap::new();
    // Parts are created before what is made of them, so they come first.
    let mut parts = pool.subexpressions(&[root]);
    parts.sort_unstable();
    for e in parts {
        let refuse = || Error::NotPolynomial {
            index,
            part: pool.display(e).to_string(),
            variables: variables
                .iter()
                .map(|v| pool.display(*v).to_string())
                .collect::<Vec<_>>()
                .join(", "),
        };
        let part = |e: &Expr| known.get(e).cloned().ok_or_else(refuse);
        let p = if let Some(i) = variables.iter().position(|v| *v == e) {
            Poly::variable(n, i)
        } else {
            match pool.node(e) {
                Node::Number(number) => Poly::constant(n, number.to_exact()),
                Node::Sum(terms) => {
                    let mut sum = Poly::zero(n);
                    for term in terms {
                        sum = sum.plus(&part(term)?);
                    }
                    sum
                }
                Node::Product(factors) => {
                    let mut product = Poly::constant(n, Rational::ONE);
                    for factor in factors {
                        product = multiplied(&product, &part(factor)?, index)?;
                    }
                    product
                }
                Node::Power(base, exponent) => {
                    let k = pool.as_rational(exponent).and_then(Rational::to_i64);
                    let k = k.and_then(|k| u32::try_from(k).ok()).ok_or_else(refuse)?;
                    if k > MAX_DEGREE {
                        return Err(Error::TooLarge { index });
                    }
                    let base = part(&base)?;
                    let mut product = Poly::constant(n, Rational::ONE);
                    for _ in 0..k {
                        product = multiplied(&product, &base, index)?;
                    }
                    product
                }
                _ => return Err(refuse()),
            }
        };
        known.insert(e, p);
    }
    known.remove(&root).ok_or(Error::TooLarge { index })
}

fn multiplied(
    a: &Poly<Rational>,
    b: &Poly<Rational>,
    index: usize,
) -> Result<Poly<Rational>, Error> {
    if a.degree() + b.degree() > MAX_DEGREE || a.len().saturating_mul(b.len()) > MAX_TERMS {
        return Err(Error::TooLarge { index });
    }
    Ok(a.times(b))
}

/// The rank of a matrix given by rows; entries below `epsilon` count as zero.
pub(crate) fn rank<C: Field>(rows: Vec<Vec<C>>, epsilon: f64) -> usize {
    pivots(rows, epsilon).0.len()
}

/// Gaussian elimination with full pivoting: the (row, column) pairs of the pivots, and the rows left.
/// Exact numbers take the first column that is not zero, row by row.
pub(crate) fn pivots<C: Field>(
    mut rows: Vec<Vec<C>>,
    epsilon: f64,
) -> (Vec<(usize, usize)>, Vec<Vec<C>>) {
    let mut found: Vec<(usize, usize)> = Vec::new();
    loop {
        let mut best: Option<(usize, usize, f64)> = None;
        for (i, row) in rows.iter().enumerate() {
            if found.iter().any(|(r, _)| *r == i) {
                continue;
            }
            for (j, c) in row.iter().enumerate() {
                if c.is_below(epsilon) || found.iter().any(|(_, col)| *col == j) {
                    continue;
                }
                let size = if C::is_rounded() { c.size() } else { 1.0 };
                if best.is_none_or(|(_, _, most)| size > most) {
                    best = Some((i, j, size));
                }
            }
        }
        let Some((row, column, _)) = best else { return (found, rows) };
        let inverse = rows[row][column].inverse().unwrap_or_else(C::zero);
        let pivot_row = rows[row].clone();
        for (i, other) in rows.iter_mut().enumerate() {
            if i == row || found.iter().any(|(r, _)| *r == i) || other[column].is_zero() {
                continue;
            }
            let factor = other[column].times(&inverse);
            for (a, b) in other.iter_mut().zip(&pivot_row) {
                *a = a.minus(&b.times(&factor));
            }
            other[column] = C::zero();
        }
        found.push((row, column));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_and_prints() {
        let s = System::parse(&["x", "y"], &["(x - y)^2 = 1/2", "x*y"]).unwrap();
        assert_eq!(s.to_string(), "x^2 - 2*x*y + y^2 - 1/2 = 0\nx*y = 0");
        let again = System::parse(&["x", "y"], &["x^2 - 2*x*y + y^2 - 1/2", "x*y = 0"]).unwrap();
        assert_eq!(s, again);
    }

    #[test]
    fn refuses_what_is_no_polynomial() {
        let error = System::parse(&["x"], &["x = 1", "x*sin(x)"]).unwrap_err();
        assert_eq!(error.to_string(), "equation 2: `sin(x)` is no polynomial in x");
        assert!(matches!(
            System::parse(&["x"], &["x*z"]),
            Err(Error::NotPolynomial { index: 1, .. })
        ));
        assert!(matches!(System::parse(&["x"], &["x*/2"]), Err(Error::Parse { index: 1, .. })));
        assert!(matches!(System::parse(&["x"], &["(x+1)^1000"]), Err(Error::TooLarge { .. })));
        assert!(matches!(System::parse(&["x"], &["1/x"]), Err(Error::NotPolynomial { .. })));
    }

    #[test]
    fn ranks() {
        let crank = System::parse(
            &["x1", "y1", "x2", "y2"],
            &["x1^2 + y1^2 - 1", "(x1-x2)^2 + (y1-y2)^2 - 1", "y2"],
        )
        .unwrap();
        let at = |x: [i64; 4]| crank.rank_at(&x.map(Rational::from), 0.0);
        assert_eq!(at([0, 1, 0, 0]), 2);
        assert_eq!(at([1, 0, 2, 0]), 3);
    }
}
