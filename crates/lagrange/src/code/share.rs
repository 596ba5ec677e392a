//! What several sums or products have in common.
//!
//! The pool keeps sums and products flat, so that x·a·b and y·a·b share no node although a·b is in both. Here pairs of terms that
//! stand in most of them are taken out, one after the other, as parts of their own; each saves an operation wherever it stands but once.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use gelenk_expr::{Expr, Node, Pool};
use rustc_hash::{FxHashMap, FxHashSet};

/// A term of a sum or a factor of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Term {
    /// A part of the expression.
    Part(Expr),
    /// A pair that others have too, by its number.
    Pair(usize),
}

/// Sums and products with their common pairs taken out.
#[derive(Clone, Debug, Default)]
pub(super) struct Sharing {
    /// The pairs, each of two terms of a sum or of a product; later ones may hold earlier ones.
    pub(super) pairs: Vec<(Kind, [Term; 2])>,
    /// What is left of a sum or product that holds pairs.
    pub(super) terms: FxHashMap<Expr, Vec<Term>>,
}

/// Whether terms are added or multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Added.
    Sum,
    /// Multiplied.
    Product,
}

/// Longer sums and products keep their terms: their pairs grow with the square.
const LONGEST: usize = 48;

impl Sharing {
    /// Finds the pairs in the sums and products among `order`.
    pub(super) fn new(pool: &Pool, order: &[Expr]) -> Self {
        let mut sharing = Sharing::default();
        let node = |kind: Kind| {
            let lists = order.iter().filter_map(move |&e| {
                let ((Kind::Sum, Node::Sum(terms)) | (Kind::Product, Node::Product(terms))) =
                    (kind, pool.node(e))
                else {
                    return None;
                };
                // Numbers are folded into one and have no part in this.
                let terms = terms.iter().filter(|t| !pool.is_constant(**t));
                Some((e, terms.map(|t| Term::Part(*t)).collect()))
            });
            lists.collect::<Vec<(Expr, Vec<Term>)>>()
        };
        for kind in [Kind::Product, Kind::Sum] {
            sharing.take_out(kind, node(kind));
        }
        sharing
    }

    /// Takes the most frequent pair out until none stands in two lists.
    fn take_out(&mut self, kind: Kind, mut lists: Vec<(Expr, Vec<Term>)>) {
        let mut count: FxHashMap<[Term; 2], usize> = FxHashMap::default();
        let mut holders: FxHashMap<Term, Vec<usize>> = FxHashMap::default();
        for (k, (_, terms)) in lists.iter().enumerate().filter(|(_, l)| l.1.len() <= LONGEST) {
            for (i, a) in terms.iter().enumerate() {
                holders.entry(*a).or_default().push(k);
                for b in &terms[..i] {
                    *count.entry(ordered(*a, *b)).or_default() += 1;
                }
            }
        }
        let mut heap: BinaryHeap<(usize, Reverse<[Term; 2]>)> =
            count.iter().filter(|c| *c.1 > 1).map(|(pair, n)| (*n, Reverse(*pair))).collect();
        let mut changed: FxHashSet<usize> = FxHashSet::default();
        while let Some((n, Reverse(pair))) = heap.pop() {
            let now = count.get(&pair).copied().unwrap_or(0);
            if now != n {
                if now > 1 {
                    heap.push((now, Reverse(pair)));
                }
                continue;
            }
            let new = Term::Pair(self.pairs.len());
            self.pairs.push((kind, pair));
            let [a, b] = pair;
            let shorter = if holders[&a].len() <= holders[&b].len() { a } else { b };
            let mut held = Vec::new();
            let mut grown: FxHashSet<[Term; 2]> = FxHashSet::default();
            for k in holders[&shorter].clone() {
                let terms = &mut lists[k].1;
                if !(terms.contains(&a) && terms.contains(&b)) {
                    continue;
                }
                terms.retain(|t| *t != a && *t != b);
                for other in terms.iter() {
                    for gone in [a, b] {
                        if let Some(n) = count.get_mut(&ordered(gone, *other)) {
                            *n -= 1;
                        }
                    }
                    let pair = ordered(new, *other);
                    *count.entry(pair).or_default() += 1;
                    grown.insert(pair);
                }
                terms.push(new);
                held.push(k);
                changed.insert(k);
            }
            count.remove(&pair);
            for pair in grown {
                let n = count[&pair];
                if n > 1 {
                    heap.push((n, Reverse(pair)));
                }
            }
            holders.insert(new, held);
        }
        for k in changed {
            let (e, terms) = &mut lists[k];
            self.terms.insert(*e, std::mem::take(terms));
        }
    }
}

fn ordered(a: Term, b: Term) -> [Term; 2] {
    if a < b { [a, b] } else { [b, a] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_that_stand_in_several_are_taken_out() {
        let mut pool = Pool::new();
        let texts = ["x*a*b", "y*a*b", "z*a*b*c", "w*a*b*c", "x + y + z", "x + y + w"];
        let roots: Vec<Expr> = texts.iter().map(|t| pool.parse(t).expect("a formula")).collect();
        let order = pool.subexpressions(&roots);
        let sharing = Sharing::new(&pool, &order);
        // a b, then (a b) c; x + y.
        assert_eq!(sharing.pairs.len(), 3, "{:?}", sharing.pairs);
        assert!(sharing.pairs[1].1.contains(&Term::Pair(0)));
        assert!(sharing.terms.values().all(|terms| terms.len() == 2));
    }
}
