//! The arena: every distinct expression once.

mod leaves;
mod properties;

use hashbrown::HashTable;
use rustc_hash::FxHashMap;

use crate::func::Func;
use crate::node::{Comparison, Constant, Expr, Node};
use crate::number::Number;
use crate::rational::Rational;
use properties::Properties;

/// A store of expressions in which every distinct expression exists once.
///
/// Building an expression puts it into the canonical form described at the
/// [crate's front page](crate). Expressions are never removed; a pool is plain data, so it can
/// be sent and shared between threads, and building needs `&mut`.
///
/// ```
/// use gelenk_expr::Pool;
/// let mut pool = Pool::new();
/// let x = pool.symbol("x");
/// let y = pool.symbol("y");
/// assert_eq!(pool.add(&[x, y, x]), pool.parse("y + 2*x").unwrap());
/// ```
#[derive(Clone, Debug)]
pub struct Pool {
    entries: Vec<Entry>,
    /// Parts of all entries, each entry's in a row.
    parts: Vec<Expr>,
    numbers: Vec<Number>,
    /// Names of symbols in the order of their first declaration, their rank.
    symbols: Vec<String>,
    symbol_ids: FxHashMap<String, Expr>,
    /// Names of unspecified functions of time, by rank as well.
    functions: Vec<String>,
    function_ids: FxHashMap<String, u32>,
    time: String,
    table: HashTable<Expr>,
    /// ∂e/∂x by (e, x).
    pub(crate) derivatives: FxHashMap<(Expr, Expr), Expr>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    stored: Stored,
    /// Depends on structure and ranks only, not on handles.
    hash: u64,
    properties: Properties,
}

#[derive(Clone, Copy, Debug)]
enum Stored {
    Number(u32),
    Constant(Constant),
    Symbol(u32),
    OfTime(u32, u32),
    Sum(Span),
    Product(Span),
    Power(Span),
    Apply(Func, Span),
    If(Comparison, Span),
}

#[derive(Clone, Copy, Debug)]
struct Span {
    start: u32,
    len: u32,
}

impl Span {
    const EMPTY: Self = Self { start: 0, len: 0 };
}

impl Default for Pool {
    fn default() -> Self {
        Self::new()
    }
}

impl Pool {
    /// An empty pool whose time is the symbol `t`.
    pub fn new() -> Self {
        Self::with_time("t")
    }

    /// An empty pool with another name for time.
    pub fn with_time(name: &str) -> Self {
        let mut pool = Self {
            entries: Vec::new(),
            parts: Vec::new(),
            numbers: Vec::new(),
            symbols: Vec::new(),
            symbol_ids: FxHashMap::default(),
            functions: Vec::new(),
            function_ids: FxHashMap::default(),
            time: name.to_owned(),
            table: HashTable::new(),
            derivatives: FxHashMap::default(),
        };
        let small = [(0, Expr::ZERO), (1, Expr::ONE), (-1, Expr::MINUS_ONE), (2, Expr::TWO)];
        for (n, expected) in small {
            let e = pool.num(n);
            debug_assert_eq!(e, expected);
        }
        let half = pool.number(Rational::HALF);
        let pi = pool.intern(Node::Constant(Constant::Pi));
        let e = pool.intern(Node::Constant(Constant::E));
        debug_assert_eq!([half, pi, e], [Expr::HALF, Expr::PI, Expr::E]);
        pool
    }

    /// Number of distinct expressions.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Never true: a pool is born with a few constants.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The outermost part of an expression.
    pub fn node(&self, e: Expr) -> Node<'_> {
        match self.entries[e.index()].stored {
            Stored::Number(i) => Node::Number(&self.numbers[i as usize]),
            Stored::Constant(c) => Node::Constant(c),
            Stored::Symbol(rank) => Node::Symbol(&self.symbols[rank as usize]),
            Stored::OfTime(rank, order) => {
                Node::OfTime { name: &self.functions[rank as usize], order }
            }
            Stored::Sum(span) => Node::Sum(self.span(span)),
            Stored::Product(span) => Node::Product(self.span(span)),
            Stored::Power(span) => {
                let parts = self.span(span);
                Node::Power(parts[0], parts[1])
            }
            Stored::Apply(func, span) => Node::Apply(func, self.span(span)),
            Stored::If(comparison, span) => {
                let parts = self.span(span);
                Node::If(comparison, [parts[0], parts[1], parts[2], parts[3]])
            }
        }
    }

    /// The parts of an expression, in the order of [`node`](Self::node).
    pub fn parts(&self, e: Expr) -> &[Expr] {
        match self.entries[e.index()].stored {
            Stored::Sum(span)
            | Stored::Product(span)
            | Stored::Power(span)
            | Stored::Apply(_, span)
            | Stored::If(_, span) => self.span(span),
            _ => &[],
        }
    }

    /// Rank of a symbol or function of time: its place in the order of first declaration.
    pub fn rank(&self, e: Expr) -> Option<u32> {
        match self.entries[e.index()].stored {
            Stored::Symbol(rank) | Stored::OfTime(rank, _) => Some(rank),
            _ => None,
        }
    }

    pub(crate) fn structural_hash(&self, e: Expr) -> u64 {
        self.entries[e.index()].hash
    }

    fn span(&self, span: Span) -> &[Expr] {
        let start = span.start as usize;
        &self.parts[start..start + span.len as usize]
    }

    /// The handle of a node that is already canonical.
    pub(crate) fn intern(&mut self, node: Node<'_>) -> Expr {
        let hash = self.hash(node);
        if let Some(&e) = self.table.find(hash, |&e| self.node(e) == node) {
            return e;
        }
        let properties = self.properties(node);
        let stored = match node {
            Node::Number(n) => {
                self.numbers.push(n.clone());
                Stored::Number(index(self.numbers.len() - 1))
            }
            Node::Constant(c) => Stored::Constant(c),
            Node::Symbol(name) => return self.symbol(name),
            Node::OfTime { name, order } => return self.function_of_time(name, order),
            Node::Sum(parts) => Stored::Sum(self.store(parts)),
            Node::Product(parts) => Stored::Product(self.store(parts)),
            Node::Power(base, exponent) => Stored::Power(self.store(&[base, exponent])),
            Node::Apply(func, parts) => Stored::Apply(func, self.store(parts)),
            Node::If(comparison, parts) => Stored::If(comparison, self.store(&parts)),
        };
        self.insert(Entry { stored, hash, properties })
    }

    /// The product of all factors of a product but the first; its parts share storage.
    pub(crate) fn product_tail(&mut self, product: Expr) -> Expr {
        let Stored::Product(span) = self.entries[product.index()].stored else {
            return product;
        };
        let tail = &self.parts[span.start as usize + 1..(span.start + span.len) as usize];
        if let [only] = tail {
            return *only;
        }
        let node = Node::Product(tail);
        let hash = self.hash(node);
        if let Some(&e) = self.table.find(hash, |&e| self.node(e) == node) {
            return e;
        }
        let properties = self.properties(node);
        let stored = Stored::Product(Span { start: span.start + 1, len: span.len - 1 });
        self.insert(Entry { stored, hash, properties })
    }

    fn store(&mut self, parts: &[Expr]) -> Span {
        if parts.is_empty() {
            return Span::EMPTY;
        }
        let span = Span { start: index(self.parts.len()), len: index(parts.len()) };
        self.parts.extend_from_slice(parts);
        span
    }

    fn insert(&mut self, entry: Entry) -> Expr {
        let e = self.push(entry);
        let entries = &self.entries;
        self.table.insert_unique(entry.hash, e, |e| entries[e.index()].hash);
        e
    }

    fn push(&mut self, entry: Entry) -> Expr {
        self.entries.push(entry);
        Expr(index(self.entries.len() - 1))
    }

    fn hash(&self, node: Node<'_>) -> u64 {
        let parts = |tag: u64, parts: &[Expr]| {
            parts.iter().fold(mix(tag, parts.len() as u64), |h, &p| mix(h, self.structural_hash(p)))
        };
        match node {
            Node::Number(Number::Rational(r)) => match r.parts() {
                Some((n, d)) => mix(mix(0, n.cast_unsigned()), d.cast_unsigned()),
                None => mix(0, r.to_f64().to_bits()),
            },
            Node::Number(Number::Float(x)) => mix(1, x.to_bits()),
            Node::Constant(c) => mix(4, c as u64),
            // Symbols and functions of time have tables of their own.
            Node::Symbol(_) | Node::OfTime { .. } => 0,
            Node::Sum(p) => parts(5, p),
            Node::Product(p) => parts(6, p),
            Node::Power(base, exponent) => parts(7, &[base, exponent]),
            Node::Apply(func, p) => parts(16 + func as u64, p),
            Node::If(comparison, p) => parts(8 + comparison as u64, &p),
        }
    }

    /// The number, if the expression is one.
    pub fn as_number(&self, e: Expr) -> Option<&Number> {
        match self.node(e) {
            Node::Number(n) => Some(n),
            _ => None,
        }
    }

    /// The exact rational, if the expression is one.
    pub fn as_rational(&self, e: Expr) -> Option<&Rational> {
        self.as_number(e)?.as_rational()
    }
}

/// Handles and lengths are 32 bits; memory ends first.
fn index(n: usize) -> u32 {
    u32::try_from(n).expect("a pool holds fewer than 2^32 expressions and parts")
}

fn mix(h: u64, v: u64) -> u64 {
    let h = (h.rotate_left(23) ^ v).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let h = (h ^ h >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    h ^ h >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_cross_threads() {
        fn check<T: Send + Sync>() {}
        check::<Pool>();
    }

    #[test]
    fn equal_nodes_are_one() {
        let mut pool = Pool::new();
        let x = pool.symbol("x");
        let n = pool.len();
        let (a, b) = (pool.func(Func::Sin, &[x]), pool.func(Func::Sin, &[x]));
        assert_eq!(a, b);
        assert_eq!(pool.len(), n + 1);
    }

    #[test]
    fn tails_of_products_are_products() {
        let mut pool = Pool::new();
        let (x, y) = (pool.symbol("x"), pool.symbol("y"));
        let p = pool.mul(&[Expr::TWO, x, y]);
        let tail = pool.product_tail(p);
        assert_eq!(tail, pool.mul(&[x, y]));
    }
}
