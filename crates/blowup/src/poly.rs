//! Polynomials in several variables.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use gelenk_expr::Rational;

use crate::field::Field;

/// A product of powers of variables: the exponents, one a variable.
///
/// The order is graded reverse lexicographic: by degree first; of equal degree the one with the
/// smaller exponent at the last difference is the larger.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Monomial(pub(crate) Vec<u16>);

impl Monomial {
    /// 1, of n variables.
    pub fn one(n: usize) -> Self {
        Self(vec![0; n])
    }

    /// x_i, of n variables.
    pub fn variable(n: usize, i: usize) -> Self {
        let mut exponents = vec![0; n];
        exponents[i] = 1;
        Self(exponents)
    }

    /// The exponents.
    pub fn exponents(&self) -> &[u16] {
        &self.0
    }

    /// Σ of the exponents.
    pub fn degree(&self) -> u32 {
        self.0.iter().map(|e| u32::from(*e)).sum()
    }

    pub(crate) fn times(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(a, b)| a + b).collect())
    }

    pub(crate) fn divides(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a <= b)
    }

    /// other / self, if it divides.
    pub(crate) fn quotient(&self, other: &Self) -> Option<Self> {
        self.divides(other).then(|| Self(other.0.iter().zip(&self.0).map(|(a, b)| a - b).collect()))
    }

    pub(crate) fn lcm(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(a, b)| *a.max(b)).collect())
    }

    pub(crate) fn is_coprime(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| *a == 0 || *b == 0)
    }
}

impl Ord for Monomial {
    fn cmp(&self, other: &Self) -> Ordering {
        self.degree().cmp(&other.degree()).then_with(|| {
            for (a, b) in self.0.iter().zip(&other.0).rev() {
                match a.cmp(b) {
                    Ordering::Equal => {}
                    difference => return difference.reverse(),
                }
            }
            Ordering::Equal
        })
    }
}

impl PartialOrd for Monomial {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A polynomial: coefficients by monomial, none of them zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Poly<C> {
    n: usize,
    terms: BTreeMap<Monomial, C>,
}

impl<C: Field> Poly<C> {
    /// 0, of n variables.
    pub fn zero(n: usize) -> Self {
        Self { n, terms: BTreeMap::new() }
    }

    /// A constant, of n variables.
    pub fn constant(n: usize, c: C) -> Self {
        let mut terms = BTreeMap::new();
        if !c.is_zero() {
            terms.insert(Monomial::one(n), c);
        }
        Self { n, terms }
    }

    /// x_i, of n variables.
    pub fn variable(n: usize, i: usize) -> Self {
        let mut p = Self::zero(n);
        p.add_term(Monomial::variable(n, i), &C::one());
        p
    }

    /// Number of variables.
    pub fn n_variables(&self) -> usize {
        self.n
    }

    /// Terms, the smallest monomial first.
    pub fn terms(&self) -> impl DoubleEndedIterator<Item = (&Monomial, &C)> {
        self.terms.iter()
    }

    /// Number of terms.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Whether it is 0.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The term of the largest monomial.
    pub fn leading(&self) -> Option<(&Monomial, &C)> {
        self.terms.last_key_value()
    }

    /// The largest degree of a term; 0 for 0.
    pub fn degree(&self) -> u32 {
        self.leading().map_or(0, |(m, _)| m.degree())
    }

    /// The smallest degree of a term, where constant and linear terms below `epsilon` do not
    /// count (§IV.4); none if no term counts.
    pub fn lowest_degree(&self, epsilon: f64) -> Option<u32> {
        self.terms
            .iter()
            .find(|(m, c)| m.degree() > 1 || !c.is_below(epsilon))
            .map(|(m, _)| m.degree())
    }

    /// The coefficient of a monomial.
    pub fn coefficient(&self, m: &Monomial) -> C {
        self.terms.get(m).cloned().unwrap_or_else(C::zero)
    }

    /// The coefficients of the linear terms.
    pub fn linear_part(&self) -> Vec<C> {
        (0..self.n).map(|i| self.coefficient(&Monomial::variable(self.n, i))).collect()
    }

    /// The terms of one degree.
    #[must_use]
    pub fn homogeneous_part(&self, degree: u32) -> Self {
        let terms = self.terms.iter().filter(|(m, _)| m.degree() == degree);
        Self { n: self.n, terms: terms.map(|(m, c)| (m.clone(), c.clone())).collect() }
    }

    /// Adds c m.
    pub fn add_term(&mut self, m: Monomial, c: &C) {
        debug_assert_eq!(m.0.len(), self.n);
        if c.is_zero() {
            return;
        }
        match self.terms.entry(m) {
            std::collections::btree_map::Entry::Vacant(slot) => {
                slot.insert(c.clone());
            }
            std::collections::btree_map::Entry::Occupied(mut slot) => {
                let sum = slot.get().plus(c);
                if sum.is_zero() {
                    slot.remove();
                } else {
                    *slot.get_mut() = sum;
                }
            }
        }
    }

    pub(crate) fn remove_leading(&mut self) -> Option<(Monomial, C)> {
        self.terms.pop_last()
    }

    /// Adds c m p.
    pub(crate) fn add_multiple(&mut self, c: &C, m: &Monomial, p: &Self) {
        for (monomial, coefficient) in &p.terms {
            self.add_term(monomial.times(m), &coefficient.times(c));
        }
    }

    /// p + q.
    #[must_use]
    pub fn plus(&self, q: &Self) -> Self {
        let mut sum = self.clone();
        sum.add_multiple(&C::one(), &Monomial::one(self.n), q);
        sum
    }

    /// p − q.
    #[must_use]
    pub fn minus(&self, q: &Self) -> Self {
        let mut sum = self.clone();
        sum.add_multiple(&C::one().negative(), &Monomial::one(self.n), q);
        sum
    }

    /// p q.
    #[must_use]
    pub fn times(&self, q: &Self) -> Self {
        let mut product = Self::zero(self.n);
        for (m, c) in &self.terms {
            product.add_multiple(c, m, q);
        }
        product
    }

    /// c p.
    #[must_use]
    pub fn scaled(&self, c: &C) -> Self {
        let mut product = Self::zero(self.n);
        product.add_multiple(c, &Monomial::one(self.n), self);
        product
    }

    /// p^k.
    #[must_use]
    pub fn power(&self, k: u32) -> Self {
        let mut product = Self::constant(self.n, C::one());
        for _ in 0..k {
            product = product.times(self);
        }
        product
    }

    /// ∂p/∂x_i.
    #[must_use]
    pub fn derivative(&self, i: usize) -> Self {
        let mut derivative = Self::zero(self.n);
        for (m, c) in &self.terms {
            if m.0[i] > 0 {
                let mut lower = m.clone();
                lower.0[i] -= 1;
                derivative.add_term(lower, &c.times(&C::from_int(i64::from(m.0[i]))));
            }
        }
        derivative
    }

    /// p(x).
    pub fn eval(&self, x: &[C]) -> C {
        let mut sum = C::zero();
        for (m, c) in &self.terms {
            let mut term = c.clone();
            for (e, x) in m.0.iter().zip(x) {
                for _ in 0..*e {
                    term = term.times(x);
                }
            }
            sum = sum.plus(&term);
        }
        sum
    }

    /// p with polynomials in place of the variables; `by` are of another number of variables.
    #[must_use]
    pub fn substitute(&self, by: &[Self]) -> Self {
        let n = by.first().map_or(0, Self::n_variables);
        let mut sum = Self::zero(n);
        for (m, c) in &self.terms {
            let mut term = Self::constant(n, c.clone());
            for (e, q) in m.0.iter().zip(by) {
                for _ in 0..*e {
                    term = term.times(q);
                }
            }
            sum = sum.plus(&term);
        }
        sum
    }

    /// p(x + a): the point a moves to the origin.
    #[must_use]
    pub fn shifted(&self, a: &[C]) -> Self {
        let by: Vec<Self> = a
            .iter()
            .enumerate()
            .map(|(i, c)| Self::variable(self.n, i).plus(&Self::constant(self.n, c.clone())))
            .collect();
        self.substitute(&by)
    }

    /// The polynomial with every monomial replaced, in `n` variables.
    pub(crate) fn map_monomials(&self, n: usize, f: impl Fn(&Monomial, &C) -> Monomial) -> Self {
        let mut p = Self::zero(n);
        for (m, c) in &self.terms {
            p.add_term(f(m, c), c);
        }
        p
    }

    /// The polynomial with every coefficient replaced.
    pub fn map<D: Field>(&self, f: impl Fn(&C) -> D) -> Poly<D> {
        let mut p = Poly::zero(self.n);
        for (m, c) in &self.terms {
            p.add_term(m.clone(), &f(c));
        }
        p
    }

    /// Without constant and linear terms that count as zero.
    #[must_use]
    pub fn without_small(&self, epsilon: f64) -> Self {
        let mut p = self.clone();
        p.terms.retain(|m, c| m.degree() > 1 || !c.is_below(epsilon));
        p
    }

    /// The largest size of a coefficient.
    pub fn largest(&self) -> f64 {
        self.terms.values().fold(0.0, |largest, c| largest.max(c.size()))
    }

    /// The polynomial as text over names; terms of high degree first. Readable by
    /// [`System::parse`](crate::System::parse) when the coefficients are rational.
    pub fn text(&self, names: &[String]) -> String {
        if self.terms.is_empty() {
            return "0".into();
        }
        let mut text = String::new();
        for (k, (m, c)) in self.terms.iter().rev().enumerate() {
            let (negative, size) = c.written();
            text.push_str(match (k, negative) {
                (0, true) => "-",
                (0, false) => "",
                (_, true) => " - ",
                (_, false) => " + ",
            });
            let mut factors: Vec<String> = Vec::new();
            if size != "1" || m.degree() == 0 {
                factors.push(size);
            }
            for (e, name) in m.0.iter().zip(names) {
                match e {
                    0 => {}
                    1 => factors.push(name.clone()),
                    e => factors.push(format!("{name}^{e}")),
                }
            }
            text.push_str(&factors.join("*"));
        }
        text
    }
}

impl Poly<Rational> {
    /// The same polynomial over floats.
    #[must_use]
    pub fn to_f64(&self) -> Poly<f64> {
        self.map(Rational::to_f64)
    }
}
