//! Factored forms of polynomials over any generators, and what an expression costs.

use gelenk_expr::{Expr, Func, Node, Pool, Rational};
use rustc_hash::FxHashMap;

/// Σ coefficient · Π generator^exponent: sorted, no zeros. Generators are expressions taken as independent.
pub(crate) type Terms = Vec<(Vec<(Expr, i32)>, Rational)>;

/// Number of operations to write an expression out, every part as often as it occurs: the length that a reader sees.
///
/// A sum of n terms costs n − 1, a product one less than its factors, a power, a root or a function 1, a fraction 1
/// for its numerator and 1 for its denominator unless they are 1; signs are free.
pub fn cost(pool: &Pool, e: Expr) -> usize {
    let mut memo = FxHashMap::default();
    cost_with(pool, e, &mut memo)
}

/// Whether fractions with this denominator are written as decimal numbers.
pub(crate) fn is_decimal(mut d: i64) -> bool {
    if d <= 8 || d > 1_000_000_000 {
        return false;
    }
    for p in [2, 5] {
        while d % p == 0 {
            d /= p;
        }
    }
    d == 1
}

pub(crate) fn cost_with(pool: &Pool, e: Expr, memo: &mut FxHashMap<Expr, usize>) -> usize {
    if let Some(&known) = memo.get(&e) {
        return known;
    }
    for part in pool.subexpressions(&[e]) {
        if memo.contains_key(&part) {
            continue;
        }
        let of = |parts: &[Expr]| parts.iter().map(|p| memo[p]).fold(0usize, usize::saturating_add);
        let value = match pool.node(part) {
            Node::Number(n) => match n.as_rational().and_then(Rational::parts) {
                Some((_, d)) => usize::from(d != 1 && !is_decimal(d)),
                None => 0,
            },
            Node::Constant(_) | Node::Symbol(_) | Node::OfTime { .. } => 0,
            Node::Sum(terms) => terms.len() - 1 + of(terms),
            Node::Product(factors) => {
                let unit = pool
                    .as_rational(factors[0])
                    .and_then(Rational::parts)
                    .is_some_and(|(n, d)| n.abs() == 1 && !is_decimal(d));
                factors.len() - 1 - usize::from(unit) + of(factors)
            }
            // 1/x beside another factor is one division; so is the product of several.
            Node::Power(base, exponent) => {
                let reciprocal = exponent == Expr::MINUS_ONE;
                memo[&base] + usize::from(!reciprocal)
            }
            Node::Apply(Func::Min | Func::Max, parts) => parts.len() - 1 + of(parts),
            Node::Apply(_, parts) => 1 + of(parts),
            Node::If(_, parts) => 2 + of(&parts),
        };
        memo.insert(part, value);
    }
    memo[&e]
}

/// The way in which the next factor is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// The generator that occurs in most terms.
    Frequent,
    /// Generators without circular functions first: masses and lengths before angles.
    PlainFirst,
    /// Circular functions and rates first: Σ f(q) · (parameters).
    CircularFirst,
}

/// Factors with the cost memo of one pool.
pub(crate) struct Factorizer<'a> {
    pub(crate) pool: &'a mut Pool,
    pub(crate) memo: FxHashMap<Expr, usize>,
}

impl Factorizer<'_> {
    pub(crate) fn cost(&mut self, e: Expr) -> usize {
        cost_with(self.pool, e, &mut self.memo)
    }

    /// The cheapest of the factored forms.
    pub(crate) fn best(&mut self, terms: &Terms, thorough: bool) -> Expr {
        let plans: &[Plan] = if thorough {
            &[Plan::Frequent, Plan::PlainFirst, Plan::CircularFirst]
        } else {
            &[Plan::Frequent]
        };
        let mut best = self.plain(terms);
        let mut least = self.cost(best);
        for plan in plans {
            let e = self.factor(terms.clone(), *plan, 0);
            let cost = self.cost(e);
            if cost < least {
                (best, least) = (e, cost);
            }
        }
        best
    }

    /// The sum as it is.
    pub(crate) fn plain(&mut self, terms: &Terms) -> Expr {
        let sum: Vec<Expr> = terms.iter().map(|(g, r)| self.term(g, r)).collect();
        self.pool.add(&sum)
    }

    fn term(&mut self, generators: &[(Expr, i32)], r: &Rational) -> Expr {
        let mut factors = vec![self.pool.number(r.clone())];
        for &(g, e) in generators {
            let exponent = self.pool.num(i64::from(e));
            factors.push(self.pool.pow(g, exponent));
        }
        self.pool.mul(&factors)
    }

    fn is_circular(&self, g: Expr) -> bool {
        matches!(self.pool.node(g), Node::Apply(Func::Sin | Func::Cos, _))
    }

    fn factor(&mut self, terms: Terms, plan: Plan, depth: usize) -> Expr {
        if terms.len() <= 1 || depth > 200 {
            return self.plain(&terms);
        }
        let (common, terms) = split_common(terms);
        let outer = self.term(&common, &Rational::ONE);
        let r = content(&terms);
        let mut whole: Terms = terms.clone();
        if let Some(inverse) = r.recip() {
            for (_, c) in &mut whole {
                *c = &*c * &inverse;
            }
        }
        if let Some(root) = square_root(&whole) {
            let inner = self.factor(root, plan, depth + 1);
            let two = self.pool.num(2);
            let square = self.pool.pow(inner, two);
            let number = self.pool.number(r);
            return self.pool.mul(&[number, outer, square]);
        }
        // The content goes before the bracket if that leaves shorter numbers inside.
        let length = |terms: &Terms| terms.iter().map(|(_, r)| number_cost(r)).sum::<usize>();
        if r.is_one() || length(&whole) + number_cost(&r) >= length(&terms) {
            if r.is_negative() {
                let turned: Terms = terms.iter().map(|(g, c)| (g.clone(), -c)).collect();
                let bracket = self.split(&turned, plan, depth);
                return self.pool.mul(&[Expr::MINUS_ONE, outer, bracket]);
            }
            let bracket = self.split(&terms, plan, depth);
            return self.pool.mul(&[outer, bracket]);
        }
        let bracket = self.split(&whole, plan, depth);
        let number = self.pool.number(r);
        self.pool.mul(&[number, outer, bracket])
    }

    /// g·A + B by the next generator g.
    fn split(&mut self, terms: &Terms, plan: Plan, depth: usize) -> Expr {
        let mut count: FxHashMap<Expr, usize> = FxHashMap::default();
        for (generators, _) in terms {
            for (g, _) in generators {
                *count.entry(*g).or_default() += 1;
            }
        }
        let mut list: Vec<(Expr, usize)> = count.into_iter().filter(|(_, n)| *n > 1).collect();
        if list.is_empty() {
            return self.plain(terms);
        }
        list.sort_by(|a, b| {
            let class = |g: Expr| match plan {
                Plan::Frequent => false,
                Plan::PlainFirst => self.is_circular(g),
                Plan::CircularFirst => !self.is_circular(g),
            };
            (class(a.0), std::cmp::Reverse(a.1))
                .cmp(&(class(b.0), std::cmp::Reverse(b.1)))
                .then_with(|| self.is_circular(a.0).cmp(&self.is_circular(b.0)))
                .then_with(|| self.pool.compare(a.0, b.0))
        });
        let g = list[0].0;
        let (with, without): (Terms, Terms) =
            terms.iter().cloned().partition(|(gens, _)| gens.iter().any(|(x, _)| *x == g));
        let a = self.factor(with, plan, depth + 1);
        if without.is_empty() {
            return a;
        }
        let b = if without.len() > 1 && shares_generator(&without) {
            self.split(&without, plan, depth + 1)
        } else {
            self.plain(&without)
        };
        let sum = self.pool.add(&[a, b]);
        self.merge_brackets(sum)
    }

    /// x·(…) + y·(…) = (x + y)·(…) for equal brackets.
    fn merge_brackets(&mut self, sum: Expr) -> Expr {
        let Node::Sum(terms) = self.pool.node(sum) else { return sum };
        let terms = terms.to_vec();
        let mut by: Vec<(Expr, Vec<usize>)> = Vec::new();
        for (i, &t) in terms.iter().enumerate() {
            let Node::Product(factors) = self.pool.node(t) else { continue };
            for &f in factors {
                if matches!(self.pool.node(f), Node::Sum(_)) {
                    match by.iter_mut().find(|(g, _)| *g == f) {
                        Some((_, list)) => list.push(i),
                        None => by.push((f, vec![i])),
                    }
                }
            }
        }
        let Some((bracket, list)) =
            by.into_iter().filter(|(_, l)| l.len() > 1).max_by_key(|(_, l)| l.len())
        else {
            return sum;
        };
        let mut coefficients = Vec::new();
        let mut rest = Vec::new();
        for (i, &t) in terms.iter().enumerate() {
            if list.contains(&i) {
                coefficients.push(self.pool.div(t, bracket));
            } else {
                rest.push(t);
            }
        }
        let coefficient = self.pool.add(&coefficients);
        rest.push(self.pool.mul(&[coefficient, bracket]));
        let merged = self.pool.add(&rest);
        if self.cost(merged) < self.cost(sum) { merged } else { sum }
    }
}

/// Whether a generator stands in two terms.
fn shares_generator(terms: &Terms) -> bool {
    let mut seen: rustc_hash::FxHashSet<Expr> = rustc_hash::FxHashSet::default();
    terms.iter().any(|(gens, _)| gens.iter().any(|(g, _)| !seen.insert(*g)))
}

/// Operations that a coefficient adds to a product: none for ±1, one for a number or 1/n, two for other fractions.
fn number_cost(r: &Rational) -> usize {
    match r.parts() {
        Some((n, d)) if is_decimal(d) => usize::from(n != d),
        Some((n, d)) => usize::from(n.unsigned_abs() != 1) + usize::from(d != 1),
        None => 1,
    }
}

/// Takes the generators out that all terms have.
pub(crate) fn split_common(terms: Terms) -> (Vec<(Expr, i32)>, Terms) {
    let Some((first, _)) = terms.first() else { return (Vec::new(), terms) };
    let mut generators: Vec<Expr> = terms.iter().flat_map(|(g, _)| g.iter().map(|x| x.0)).collect();
    generators.sort_unstable();
    generators.dedup();
    let mut common: Vec<(Expr, i32)> = Vec::new();
    for g in generators {
        if !first.iter().any(|x| x.0 == g)
            && terms.iter().all(|(t, _)| t.iter().all(|x| x.0 != g || x.1 > 0))
        {
            continue;
        }
        let least = terms
            .iter()
            .map(|(t, _)| t.iter().find(|x| x.0 == g).map_or(0, |x| x.1))
            .min()
            .unwrap_or(0);
        if least != 0 {
            common.push((g, least));
        }
    }
    if common.is_empty() {
        return (common, terms);
    }
    let inverse: Vec<(Expr, i32)> = common.iter().map(|&(g, e)| (g, -e)).collect();
    let mut terms: Terms = terms.into_iter().map(|(t, r)| (product(&t, &inverse), r)).collect();
    terms.sort_by(|a, b| a.0.cmp(&b.0));
    (common, terms)
}

/// The product of two power products.
pub(crate) fn product(a: &[(Expr, i32)], b: &[(Expr, i32)]) -> Vec<(Expr, i32)> {
    let mut out = a.to_vec();
    for &(g, e) in b {
        match out.iter_mut().find(|x| x.0 == g) {
            Some(x) => x.1 += e,
            None => out.push((g, e)),
        }
    }
    out.retain(|x| x.1 != 0);
    out.sort_unstable();
    out
}

/// Sorts and collects equal terms.
pub(crate) fn collect(terms: impl IntoIterator<Item = (Vec<(Expr, i32)>, Rational)>) -> Terms {
    let mut map: FxHashMap<Vec<(Expr, i32)>, Rational> = FxHashMap::default();
    for (g, r) in terms {
        let slot = map.entry(g).or_insert(Rational::ZERO);
        *slot = &*slot + &r;
    }
    let mut out: Terms = map.into_iter().filter(|(_, r)| !r.is_zero()).collect();
    out.sort_by(|a, b| a.0.cmp(&b.0));
    out
}

/// The rational that makes all coefficients integers without common factor, with the sign that most of them have.
fn content(terms: &Terms) -> Rational {
    let keyed: Vec<((u32, u32), Rational)> =
        terms.iter().map(|(_, r)| ((0, 0), r.clone())).collect();
    let size = crate::ring::content(&keyed);
    let negative = terms.iter().filter(|(_, r)| r.is_negative()).count();
    if 2 * negative > terms.len() { -&size } else { size }
}

fn order(a: &[(Expr, i32)], b: &[(Expr, i32)]) -> std::cmp::Ordering {
    let mut generators: Vec<Expr> = a.iter().chain(b).map(|x| x.0).collect();
    generators.sort_unstable();
    generators.dedup();
    for g in generators {
        let of = |t: &[(Expr, i32)]| t.iter().find(|x| x.0 == g).map_or(0, |x| x.1);
        let o = of(a).cmp(&of(b));
        if o != std::cmp::Ordering::Equal {
            return o;
        }
    }
    std::cmp::Ordering::Equal
}

/// The polynomial whose square this is, if there is one.
fn square_root(terms: &Terms) -> Option<Terms> {
    if terms.len() < 3 || terms.len() > 60 {
        return None;
    }
    let (lead, r) = terms.iter().max_by(|a, b| order(&a.0, &b.0))?;
    if r.is_negative() || lead.iter().any(|x| x.1 % 2 != 0) {
        return None;
    }
    let r = r.root(2)?;
    let first: Vec<(Expr, i32)> = lead.iter().map(|&(g, e)| (g, e / 2)).collect();
    let inverse: Vec<(Expr, i32)> = first.iter().map(|&(g, e)| (g, -e)).collect();
    let scale = (&r * &Rational::from(2)).recip()?;
    let mut root: Terms = vec![(first, r)];
    for _ in 0..terms.len() {
        let mut all = terms.clone();
        for (a, r) in &root {
            for (b, s) in &root {
                all.push((product(a, b), -&(r * s)));
            }
        }
        let left = collect(all);
        let Some((top, c)) = left.iter().max_by(|a, b| order(&a.0, &b.0)) else {
            root.sort_by(|a, b| a.0.cmp(&b.0));
            return Some(root);
        };
        let next = product(top, &inverse);
        if next.iter().any(|x| x.1 < 0) {
            return None;
        }
        root.push((next, c * &scale));
    }
    None
}
