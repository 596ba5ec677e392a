//! The arena: every distinct expression once.

use hashbrown::HashTable;
use rustc_hash::FxHashMap;

use crate::func::Func;
use crate::node::{Comparison, Constant, Expr, Node};
use crate::number::Number;
use crate::rational::Rational;

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
    flags: u8,
    /// Depends on structure and ranks only, not on handles.
    hash: u64,
    /// One bit per variable below, modulo 63; bit 63 is time.
    variables: u64,
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

const NONNEGATIVE: u8 = 1;
const SINGULAR: u8 = 2;
const TIME_BIT: u64 = 1 << 63;

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
        let variables = if name == self.time { TIME_BIT } else { 1 << (rank % 63) };
        self.symbols.push(name.to_owned());
        let hash = mix(mix(2, 0), u64::from(rank));
        let e = self.push(Entry { stored: Stored::Symbol(rank), flags: 0, hash, variables });
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
        let variables = 1 << (hash % 63) | TIME_BIT;
        self.insert(Entry { stored: Stored::OfTime(rank, order), flags: 0, hash, variables })
    }

    /// Whether an unspecified function of time of that name was made.
    pub fn has_function_of_time(&self, name: &str) -> bool {
        self.function_ids.contains_key(name)
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

    /// Whether the value is known not to be negative wherever it is defined, from the form
    /// alone: numbers, |x|, even powers, exp, and sums and products of such.
    pub fn is_nonnegative(&self, e: Expr) -> bool {
        self.entries[e.index()].flags & NONNEGATIVE != 0
    }

    /// Whether a division by an exact zero, or something undefined, is part of it.
    pub fn is_singular(&self, e: Expr) -> bool {
        self.entries[e.index()].flags & SINGULAR != 0
    }

    /// False only if `e` certainly does not contain any variable of `x`.
    pub(crate) fn may_depend(&self, e: Expr, x: Expr) -> bool {
        self.entries[e.index()].variables & self.variable_bits(x) != 0
    }

    pub(crate) fn variable_bits(&self, e: Expr) -> u64 {
        let bits = self.entries[e.index()].variables;
        // A function of time answers to its own bit; time is asked for by the time symbol.
        if matches!(self.entries[e.index()].stored, Stored::OfTime(..)) {
            bits & !TIME_BIT
        } else {
            bits
        }
    }

    /// Whether no symbol or function of time is part of it.
    pub fn is_constant(&self, e: Expr) -> bool {
        self.entries[e.index()].variables == 0
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
        let (flags, variables) = self.properties(node);
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
        self.insert(Entry { stored, flags, hash, variables })
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
        let (flags, variables) = self.properties(node);
        let stored = Stored::Product(Span { start: span.start + 1, len: span.len - 1 });
        self.insert(Entry { stored, flags, hash, variables })
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

    fn properties(&self, node: Node<'_>) -> (u8, u64) {
        let mut variables = 0;
        let mut flags = 0;
        let mut all_nonnegative = true;
        let mut visit = |parts: &[Expr]| {
            for p in parts {
                let entry = &self.entries[p.index()];
                variables |= entry.variables;
                flags |= entry.flags & SINGULAR;
                all_nonnegative &= entry.flags & NONNEGATIVE != 0;
            }
        };
        let nonnegative = match node {
            Node::Number(n) => !n.is_negative(),
            Node::Constant(_) => true,
            Node::Symbol(_) | Node::OfTime { .. } => false,
            Node::Sum(p) | Node::Product(p) => {
                visit(p);
                all_nonnegative
            }
            Node::Power(base, exponent) => {
                visit(&[base, exponent]);
                if base == Expr::ZERO && self.as_number(exponent).is_some_and(Number::is_negative) {
                    flags |= SINGULAR;
                }
                let odd = self.as_number(exponent).is_none_or(|k| {
                    k.is_integer() && !k.as_rational().is_some_and(Rational::is_even)
                });
                !odd || self.is_nonnegative(base)
            }
            Node::Apply(func, p) => {
                visit(p);
                match func {
                    Func::Exp | Func::Cosh | Func::Acosh | Func::Acos | Func::Abs | Func::Step => {
                        true
                    }
                    Func::Log if p == [Expr::MINUS_ONE] => {
                        flags |= SINGULAR;
                        false
                    }
                    Func::Min | Func::Floor => all_nonnegative,
                    Func::Max => p.iter().any(|&p| self.is_nonnegative(p)),
                    _ => false,
                }
            }
            Node::If(_, p) => {
                visit(&p);
                self.is_nonnegative(p[2]) && self.is_nonnegative(p[3])
            }
        };
        (flags | if nonnegative { NONNEGATIVE } else { 0 }, variables)
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
    fn constants_have_fixed_handles() {
        let mut pool = Pool::new();
        assert_eq!(pool.num(0), Expr::ZERO);
        assert_eq!(pool.rational(2, 4), Expr::HALF);
        assert_eq!(pool.symbol("pi"), Expr::PI);
        assert_eq!(pool.float(-0.0), Expr::ZERO);
    }

    #[test]
    fn pools_cross_threads() {
        fn check<T: Send + Sync>() {}
        check::<Pool>();
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
