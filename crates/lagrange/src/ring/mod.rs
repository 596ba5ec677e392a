//! The canonical ring: sums of rational × monomial × cos or sin of an integer combination of angles.
//!
//! ```text
//! P = Σ r · a₁^e₁ a₂^e₂ … · { 1, cos(v·θ), sin(v·θ) }        r rational, e and v integers
//! ```
//! The atoms a are parameters, rates, functions of time, roots and reciprocals; the angles θ are whatever stands inside sin
//! and cos. Products of two circular functions become sums at once, so every element has one form: two are equal
//! exactly if their terms are, and all addition theorems hold by themselves. Roots reduce by (√p)² = p, and
//! [`Ring::is_zero`] clears reciprocals first, so that 1/p·p = 1 is known too.

use gelenk_expr::{Expr, Rational};
use rustc_hash::{FxHashMap, FxHashSet};

use Circular::{Cos, Sin};

mod convert;
mod diff;
mod roots;

/// A power product of atoms, by its number in the ring. 0 is 1.
pub type MonoId = u32;
/// 1, cos or sin of an angle combination, by its number in the ring. 0 is 1.
pub type TrigId = u32;

/// An element of the ring: (monomial, circular function) → coefficient, sorted, no zeros.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Poly(pub(crate) Vec<((MonoId, TrigId), Rational)>);

/// cos or sin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Circular {
    /// Cosine.
    Cos,
    /// Sine.
    Sin,
}

/// cos or sin of v·θ; v without zeros at its end, its first entry other than zero positive.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Trig {
    /// Which function.
    pub kind: Circular,
    /// v.
    pub vector: Box<[i16]>,
}

/// What an atom is.
#[derive(Clone, Debug)]
enum Kind {
    /// A symbol or an opaque function.
    Plain,
    /// base^(1/degree).
    Root { base: Poly, degree: i32 },
    /// 1/base.
    Reciprocal { base: Poly },
    /// |base|.
    Magnitude { base: Poly },
}

#[derive(Clone, Debug)]
struct Atom {
    expr: Expr,
    kind: Kind,
}

/// Products of more terms than this give up; see [`Ring::overflowed`].
const MAX_PRODUCT: usize = 40_000_000;

/// More circular functions than this fill the memory with their products.
const MAX_TRIGS: usize = 100_000;

/// The tables of a ring: its atoms, angles, monomials and circular functions.
#[derive(Clone, Debug)]
pub struct Ring {
    atoms: Vec<Atom>,
    atom_ids: FxHashMap<Expr, u32>,
    angles: Vec<Expr>,
    angle_ids: FxHashMap<Expr, usize>,
    monos: Vec<Box<[(u32, i32)]>>,
    mono_ids: FxHashMap<Box<[(u32, i32)]>, MonoId>,
    trigs: Vec<Trig>,
    trig_ids: FxHashMap<Trig, TrigId>,
    mono_products: FxHashMap<(MonoId, MonoId), MonoId>,
    /// Two terms with signs; the half is not in them.
    trig_products: FxHashMap<(TrigId, TrigId), [(i8, TrigId); 2]>,
    /// Monomials that hold a root or magnitude whose power is to be reduced.
    special: Vec<bool>,
    positive: FxHashSet<Expr>,
    converted: FxHashMap<Expr, Poly>,
    derivatives: FxHashMap<(bool, u32, Expr), Poly>,
    /// Terms that products may have before the ring gives up.
    limit: usize,
    /// Terms that an element may have.
    element_limit: usize,
    overflowed: bool,
}

impl Default for Ring {
    fn default() -> Self {
        Self::new(&[])
    }
}

impl Poly {
    /// 0.
    pub const ZERO: Poly = Poly(Vec::new());

    /// 1.
    pub fn one() -> Poly {
        Poly::constant(Rational::ONE)
    }

    /// A number.
    pub fn constant(r: Rational) -> Poly {
        if r.is_zero() { Poly::ZERO } else { Poly(vec![((0, 0), r)]) }
    }

    /// Whether it has no term.
    pub fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of terms.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The same as [`is_zero`](Self::is_zero).
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number, if it is one.
    pub fn as_constant(&self) -> Option<Rational> {
        match self.0.as_slice() {
            [] => Some(Rational::ZERO),
            [((0, 0), r)] => Some(r.clone()),
            _ => None,
        }
    }

    /// a + b.
    #[must_use]
    pub fn add(&self, other: &Poly) -> Poly {
        let (a, b) = (&self.0, &other.0);
        if a.is_empty() {
            return other.clone();
        }
        if b.is_empty() {
            return self.clone();
        }
        let mut out = Vec::with_capacity(a.len() + b.len());
        let (mut i, mut j) = (0, 0);
        while i < a.len() && j < b.len() {
            match a[i].0.cmp(&b[j].0) {
                std::cmp::Ordering::Less => {
                    out.push(a[i].clone());
                    i += 1;
                }
                std::cmp::Ordering::Greater => {
                    out.push(b[j].clone());
                    j += 1;
                }
                std::cmp::Ordering::Equal => {
                    let sum = &a[i].1 + &b[j].1;
                    if !sum.is_zero() {
                        out.push((a[i].0, sum));
                    }
                    i += 1;
                    j += 1;
                }
            }
        }
        out.extend_from_slice(&a[i..]);
        out.extend_from_slice(&b[j..]);
        Poly(out)
    }

    /// −a.
    #[must_use]
    pub fn neg(&self) -> Poly {
        Poly(self.0.iter().map(|(k, r)| (*k, -r)).collect())
    }

    /// a − b.
    #[must_use]
    pub fn sub(&self, other: &Poly) -> Poly {
        self.add(&other.neg())
    }

    /// r a.
    #[must_use]
    pub fn scale(&self, r: &Rational) -> Poly {
        if r.is_zero() {
            return Poly::ZERO;
        }
        if r.is_one() {
            return self.clone();
        }
        Poly(self.0.iter().map(|(k, c)| (*k, c * r)).collect())
    }

    fn collect(map: FxHashMap<(MonoId, TrigId), Rational>) -> Poly {
        let mut terms: Vec<_> = map.into_iter().filter(|(_, r)| !r.is_zero()).collect();
        terms.sort_unstable_by_key(|(k, _)| *k);
        Poly(terms)
    }
}

fn accumulate(map: &mut FxHashMap<(MonoId, TrigId), Rational>, key: (MonoId, TrigId), r: Rational) {
    match map.entry(key) {
        std::collections::hash_map::Entry::Occupied(mut slot) => {
            let sum = slot.get() + &r;
            slot.insert(sum);
        }
        std::collections::hash_map::Entry::Vacant(slot) => {
            slot.insert(r);
        }
    }
}

impl Ring {
    /// A ring without atoms; the symbols of `positive` are known to be above zero.
    pub fn new(positive: &[Expr]) -> Self {
        let unit: Box<[(u32, i32)]> = Box::new([]);
        let one = Trig { kind: Circular::Cos, vector: Box::new([]) };
        Ring {
            atoms: Vec::new(),
            atom_ids: FxHashMap::default(),
            angles: Vec::new(),
            angle_ids: FxHashMap::default(),
            monos: vec![unit.clone()],
            mono_ids: std::iter::once((unit, 0)).collect(),
            trigs: vec![one.clone()],
            trig_ids: std::iter::once((one, 0)).collect(),
            mono_products: FxHashMap::default(),
            trig_products: FxHashMap::default(),
            special: vec![false],
            positive: positive.iter().copied().collect(),
            converted: FxHashMap::default(),
            derivatives: FxHashMap::default(),
            limit: MAX_PRODUCT,
            element_limit: usize::MAX,
            overflowed: false,
        }
    }

    /// Sets the number of terms that a product may have.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Sets the number of terms that an element may have.
    pub fn set_element_limit(&mut self, limit: usize) {
        self.element_limit = limit;
    }

    /// Whether a product was larger than the limit: all results since then are worthless.
    pub fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// Forgets an overflow, with all that was converted meanwhile.
    pub fn clear_overflow(&mut self) {
        self.overflowed = false;
        self.converted.clear();
        self.derivatives.clear();
    }

    /// The factors of a monomial: the atom's expression and its exponent.
    pub fn factors(&self, mono: MonoId) -> impl Iterator<Item = (Expr, i32)> + '_ {
        self.monos[mono as usize].iter().map(|(a, e)| (self.atoms[*a as usize].expr, *e))
    }

    /// A circular function by its number; 0 is 1 = cos 0.
    pub fn trig(&self, id: TrigId) -> &Trig {
        &self.trigs[id as usize]
    }

    /// The angles θ.
    pub fn angles(&self) -> &[Expr] {
        &self.angles
    }

    /// The number of an angle, new or known.
    pub fn angle(&mut self, e: Expr) -> usize {
        if let Some(&i) = self.angle_ids.get(&e) {
            return i;
        }
        self.angles.push(e);
        self.angle_ids.insert(e, self.angles.len() - 1);
        self.angles.len() - 1
    }

    /// cos or sin of v·θ with its sign: sin(−x) = −sin(x); `None` for sin 0.
    pub fn trig_of(&mut self, kind: Circular, mut vector: Vec<i16>) -> Option<(i8, TrigId)> {
        while vector.last() == Some(&0) {
            vector.pop();
        }
        let Some(first) = vector.iter().find(|v| **v != 0) else {
            return if kind == Circular::Cos { Some((1, 0)) } else { None };
        };
        let mut sign = 1;
        if *first < 0 {
            for v in &mut vector {
                *v = -*v;
            }
            if kind == Circular::Sin {
                sign = -1;
            }
        }
        let trig = Trig { kind, vector: vector.into() };
        if let Some(&id) = self.trig_ids.get(&trig) {
            return Some((sign, id));
        }
        let id = u32::try_from(self.trigs.len()).expect("memory ends first");
        self.trigs.push(trig.clone());
        self.trig_ids.insert(trig, id);
        Some((sign, id))
    }

    fn trig_product(&mut self, a: TrigId, b: TrigId) -> [(i8, TrigId); 2] {
        let key = if a <= b { (a, b) } else { (b, a) };
        if let Some(&known) = self.trig_products.get(&key) {
            return known;
        }
        let (x, y) = (self.trigs[key.0 as usize].clone(), self.trigs[key.1 as usize].clone());
        let n = x.vector.len().max(y.vector.len());
        let at = |v: &[i16], i: usize| v.get(i).copied().unwrap_or(0);
        let sum: Vec<i16> =
            (0..n).map(|i| at(&x.vector, i).saturating_add(at(&y.vector, i))).collect();
        let dif: Vec<i16> =
            (0..n).map(|i| at(&x.vector, i).saturating_sub(at(&y.vector, i))).collect();
        // cc = ½(c₋ + c₊), ss = ½(c₋ − c₊), sc = ½(s₊ + s₋), cs = ½(s₊ − s₋)
        let (first, second) = match (x.kind, y.kind) {
            (Cos, Cos) => ((1, Cos, dif), (1, Cos, sum)),
            (Sin, Sin) => ((1, Cos, dif), (-1, Cos, sum)),
            (Sin, Cos) => ((1, Sin, sum), (1, Sin, dif)),
            (Cos, Sin) => ((1, Sin, sum), (-1, Sin, dif)),
        };
        let mut result = [(0, 0); 2];
        for (slot, (sign, kind, vector)) in result.iter_mut().zip([first, second]) {
            if let Some((s, id)) = self.trig_of(kind, vector) {
                *slot = (s * sign, id);
            }
        }
        self.trig_products.insert(key, result);
        result
    }

    fn mono(&mut self, factors: Vec<(u32, i32)>) -> MonoId {
        let factors: Box<[(u32, i32)]> = factors.into();
        if let Some(&id) = self.mono_ids.get(&factors) {
            return id;
        }
        let id = u32::try_from(self.monos.len()).expect("memory ends first");
        let special = factors.iter().any(|&(a, e)| match self.atoms[a as usize].kind {
            Kind::Plain => false,
            Kind::Reciprocal { .. } => e < 0,
            Kind::Root { degree, .. } => e < 0 || e >= degree,
            Kind::Magnitude { .. } => !(0..2).contains(&e),
        });
        self.special.push(special);
        self.monos.push(factors.clone());
        self.mono_ids.insert(factors, id);
        id
    }

    fn mono_product(&mut self, a: MonoId, b: MonoId) -> MonoId {
        if a == 0 {
            return b;
        }
        if b == 0 {
            return a;
        }
        let key = if a <= b { (a, b) } else { (b, a) };
        if let Some(&known) = self.mono_products.get(&key) {
            return known;
        }
        let (x, y) = (&self.monos[a as usize], &self.monos[b as usize]);
        let mut out = Vec::with_capacity(x.len() + y.len());
        let (mut i, mut j) = (0, 0);
        while i < x.len() || j < y.len() {
            match (x.get(i), y.get(j)) {
                (Some(&(p, e)), Some(&(q, f))) if p == q => {
                    if e + f != 0 {
                        out.push((p, e + f));
                    }
                    i += 1;
                    j += 1;
                }
                (Some(&(p, e)), Some(&(q, _))) if p < q => {
                    out.push((p, e));
                    i += 1;
                }
                (Some(&(p, e)), None) => {
                    out.push((p, e));
                    i += 1;
                }
                (_, Some(&(q, f))) => {
                    out.push((q, f));
                    j += 1;
                }
                (None, None) => break,
            }
        }
        let id = self.mono(out);
        self.mono_products.insert(key, id);
        id
    }

    /// a b.
    pub fn mul(&mut self, a: &Poly, b: &Poly) -> Poly {
        if a.is_zero() || b.is_zero() || self.overflowed {
            return Poly::ZERO;
        }
        if let Some(r) = a.as_constant() {
            return b.scale(&r);
        }
        if let Some(r) = b.as_constant() {
            return a.scale(&r);
        }
        if a.len().saturating_mul(b.len()) > self.limit {
            self.overflowed = true;
            return Poly::ZERO;
        }
        let mut map = FxHashMap::default();
        let mut reduce = false;
        for ((m, t), r) in &a.0 {
            for ((n, u), s) in &b.0 {
                let mono = self.mono_product(*m, *n);
                reduce |= self.special[mono as usize];
                let c = r * s;
                if *t == 0 || *u == 0 {
                    accumulate(&mut map, (mono, t | u), c);
                } else {
                    let half = &c * &Rational::HALF;
                    for (sign, trig) in self.trig_product(*t, *u) {
                        match sign {
                            1 => accumulate(&mut map, (mono, trig), half.clone()),
                            -1 => accumulate(&mut map, (mono, trig), -&half),
                            _ => {}
                        }
                    }
                }
            }
        }
        let product = Poly::collect(map);
        if product.len() > self.element_limit || self.trigs.len() > MAX_TRIGS {
            self.overflowed = true;
            return Poly::ZERO;
        }
        if reduce { self.reduce(product) } else { product }
    }

    /// Powers of roots and magnitudes as far down as they go.
    fn reduce(&mut self, p: Poly) -> Poly {
        let mut done = Poly::ZERO;
        let mut plain = Vec::new();
        for ((mono, trig), r) in p.0 {
            if !self.special[mono as usize] {
                plain.push(((mono, trig), r));
                continue;
            }
            let factors = self.monos[mono as usize].clone();
            let mut rest = Vec::new();
            let mut value = Poly::one();
            for &(a, e) in &*factors {
                let atom = self.atoms[a as usize].clone();
                match atom.kind {
                    Kind::Root { base, degree } if e >= degree || e < 0 => {
                        let whole = e.div_euclid(degree);
                        let left = e.rem_euclid(degree);
                        if left > 0 {
                            rest.push((a, left));
                        }
                        let power = self.power(&base, whole);
                        value = self.mul(&value, &power);
                    }
                    Kind::Magnitude { base } if !(0..2).contains(&e) => {
                        let left = e.rem_euclid(2);
                        if left > 0 {
                            rest.push((a, left));
                        }
                        let power = self.power(&base, e - left);
                        value = self.mul(&value, &power);
                    }
                    Kind::Reciprocal { base } if e < 0 => {
                        let power = self.power(&base, -e);
                        value = self.mul(&value, &power);
                    }
                    _ => rest.push((a, e)),
                }
            }
            let id = self.mono(rest);
            let factor = Poly(vec![((id, trig), r)]);
            let term = self.mul(&value, &factor);
            done = done.add(&term);
        }
        plain.sort_unstable_by_key(|(k, _)| *k);
        Poly(plain).add(&done)
    }

    /// a^n; for negative n of a sum, a power of its reciprocal atom. The pool is not needed: atoms are made by
    /// [`reciprocal`](Self::reciprocal), which has one.
    fn power(&mut self, a: &Poly, n: i32) -> Poly {
        if n < 0 {
            // Bases of roots and magnitudes have their reciprocal atoms from the beginning.
            if let Some(inverse) = self.inverse_monomial(a) {
                return self.power(&inverse, -n);
            }
            let Some(id) = self
                .atoms
                .iter()
                .position(|atom| matches!(&atom.kind, Kind::Reciprocal { base } if base == a))
            else {
                self.overflowed = true;
                return Poly::ZERO;
            };
            let id = u32::try_from(id).expect("few atoms");
            let mono = self.mono(vec![(id, -n)]);
            return Poly(vec![((mono, 0), Rational::ONE)]);
        }
        let mut result = Poly::one();
        for _ in 0..n {
            result = self.mul(&result, a);
        }
        result
    }

    /// 1/a for a single term without circular function.
    fn inverse_monomial(&mut self, a: &Poly) -> Option<Poly> {
        let [((mono, 0), r)] = a.0.as_slice() else { return None };
        let r = r.recip()?;
        let factors: Vec<(u32, i32)> =
            self.monos[*mono as usize].iter().map(|&(a, e)| (a, -e)).collect();
        let id = self.mono(factors);
        let inverse = Poly(vec![((id, 0), r)]);
        Some(if self.special[id as usize] { self.reduce(inverse) } else { inverse })
    }

    /// The atom that stands for an expression.
    pub fn atom(&mut self, e: Expr) -> Poly {
        self.atom_of(e, Kind::Plain)
    }

    fn atom_of(&mut self, expr: Expr, kind: Kind) -> Poly {
        let known = self.atom_ids.get(&expr).copied();
        let id = known.unwrap_or_else(|| {
            let id = u32::try_from(self.atoms.len()).expect("memory ends first");
            self.atoms.push(Atom { expr, kind });
            self.atom_ids.insert(expr, id);
            id
        });
        let mono = self.mono(vec![(id, 1)]);
        Poly(vec![((mono, 0), Rational::ONE)])
    }

    /// cos or sin of an angle that is one atom.
    pub fn circular(&mut self, kind: Circular, angle: Expr) -> Poly {
        let i = self.angle(angle);
        let mut v = vec![0; i + 1];
        v[i] = 1;
        self.circular_of(kind, v)
    }

    /// cos or sin of v·θ.
    pub fn circular_of(&mut self, kind: Circular, v: Vec<i16>) -> Poly {
        match self.trig_of(kind, v) {
            Some((sign, id)) => Poly(vec![((0, id), Rational::from(i64::from(sign)))]),
            None => Poly::ZERO,
        }
    }

    /// Whether it is zero for all values of its atoms, taken as independent but for roots and reciprocals.
    pub fn is_zero(&mut self, a: &Poly) -> bool {
        let mut a = a.clone();
        // Clear the reciprocals one after the other; those inside of others come later.
        for _ in 0..64 {
            let found = a.0.iter().find_map(|((m, _), _)| {
                self.monos[*m as usize].iter().rev().find_map(|&(atom, e)| {
                    match &self.atoms[atom as usize].kind {
                        Kind::Reciprocal { base } if e > 0 => Some((atom, base.clone())),
                        _ => None,
                    }
                })
            });
            let Some((atom, base)) = found else { return a.is_zero() && !self.overflowed };
            let exponent = |ring: &Self, m: MonoId| {
                ring.monos[m as usize].iter().find(|(x, _)| *x == atom).map_or(0, |x| x.1)
            };
            let most = a.0.iter().map(|((m, _), _)| exponent(self, *m)).max().unwrap_or(0);
            let mut sum = Poly::ZERO;
            for e in 0..=most {
                let part: Vec<_> =
                    a.0.iter().filter(|((m, _), _)| exponent(self, *m) == e).cloned().collect();
                if part.is_empty() {
                    continue;
                }
                let strip = self.mono(vec![(atom, -e)]);
                let strip = if e == 0 { 0 } else { strip };
                let mut stripped: Vec<_> = part
                    .into_iter()
                    .map(|((m, t), r)| ((self.mono_product(m, strip), t), r))
                    .collect();
                stripped.sort_unstable_by_key(|(k, _)| *k);
                let power = self.power(&base, most - e);
                let term = self.mul(&Poly(stripped), &power);
                sum = sum.add(&term);
            }
            a = sum;
        }
        false
    }
}

/// Order of exponent vectors: by the first atom in which they differ.
fn lexicographic(a: &[(u32, i32)], b: &[(u32, i32)]) -> std::cmp::Ordering {
    let (mut i, mut j) = (0, 0);
    loop {
        let order = match (a.get(i), b.get(j)) {
            (None, None) => return std::cmp::Ordering::Equal,
            (Some((_, e)), None) => e.cmp(&0),
            (None, Some((_, f))) => 0.cmp(f),
            (Some((p, e)), Some((q, f))) => match p.cmp(q) {
                std::cmp::Ordering::Less => e.cmp(&0),
                std::cmp::Ordering::Greater => 0.cmp(f),
                std::cmp::Ordering::Equal => e.cmp(f),
            },
        };
        if order != std::cmp::Ordering::Equal {
            return order;
        }
        match (a.get(i), b.get(j)) {
            (Some((p, _)), Some((q, _))) if p == q => {
                i += 1;
                j += 1;
            }
            (Some((p, _)), Some((q, _))) if p < q => i += 1,
            (Some(_), None) => i += 1,
            _ => j += 1,
        }
    }
}

/// The positive rational that makes all coefficients integers without common factor.
pub(crate) fn content(terms: &[((MonoId, TrigId), Rational)]) -> Rational {
    let mut numerator = 0u64;
    let mut denominator = 1u64;
    for (_, r) in terms {
        let Some((n, d)) = r.parts() else { return Rational::ONE };
        numerator = gcd(numerator, n.unsigned_abs());
        let d = d.unsigned_abs();
        let Some(lcm) = (denominator / gcd(denominator, d)).checked_mul(d) else {
            return Rational::ONE;
        };
        denominator = lcm;
    }
    match (i64::try_from(numerator), i64::try_from(denominator)) {
        (Ok(n), Ok(d)) if n > 0 => Rational::new(n, d).unwrap_or(Rational::ONE),
        _ => Rational::ONE,
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// r = outer² · inner with the outer as large as small primes show.
fn square_part(r: &Rational) -> (Rational, Rational) {
    let Some((n, d)) = r.parts() else { return (Rational::ONE, r.clone()) };
    let negative = n < 0;
    // √(n/d) = √(n d)/d.
    let Some(mut inner) = n.unsigned_abs().checked_mul(d.unsigned_abs()) else {
        return (Rational::ONE, r.clone());
    };
    let mut outer = 1u64;
    let mut p = 2u64;
    while p <= 1000 && p * p <= inner {
        while inner % (p * p) == 0 {
            inner /= p * p;
            outer *= p;
        }
        p += 1;
    }
    let whole = inner.isqrt();
    if whole * whole == inner {
        outer = outer.saturating_mul(whole);
        inner = 1;
    }
    let (Ok(outer), Ok(inner)) = (i64::try_from(outer), i64::try_from(inner)) else {
        return (Rational::ONE, r.clone());
    };
    let outer = Rational::new(outer, d).unwrap_or(Rational::ONE);
    (outer, Rational::from(if negative { -inner } else { inner }))
}

#[cfg(test)]
mod tests {
    use gelenk_expr::Pool;

    use super::*;

    fn poly(ring: &mut Ring, pool: &mut Pool, text: &str) -> Poly {
        let e = pool.parse(text).expect(text);
        ring.from_expr(pool, e)
    }

    #[test]
    fn addition_theorems_hold_by_themselves() {
        let (mut ring, mut pool) = (Ring::default(), Pool::new());
        for (a, b) in [
            ("cos(a)*cos(b) - sin(a)*sin(b)", "cos(a + b)"),
            ("cos(a)^2 + sin(a)^2", "1"),
            ("2*sin(a)*cos(a)", "sin(2*a)"),
            ("sin(a + pi/2)", "cos(a)"),
            ("cos(3*a)", "4*cos(a)^3 - 3*cos(a)"),
            ("sqrt(x)^3", "x*sqrt(x)"),
            ("sqrt(x^2 + 2*x*y + y^2)", "abs(x + y)"),
            ("sqrt(4*x^2*y)", "2*abs(x)*sqrt(y)"),
            ("sqrt(2)*sqrt(2)", "2"),
            ("cos(pi/6 + a)", "sqrt(3)/2*cos(a) - sin(a)/2"),
            ("1/sqrt(x+1)", "sqrt(x+1)/(x+1)"),
        ] {
            let (p, q) = (poly(&mut ring, &mut pool, a), poly(&mut ring, &mut pool, b));
            assert_eq!(p, q, "{a} = {b}");
        }
    }

    #[test]
    fn zero_with_reciprocals() {
        let (mut ring, mut pool) = (Ring::default(), Pool::new());
        for (text, zero) in [
            ("(1+x)/(1+x) - 1", true),
            ("1/(1+x) + 1/(1-x) - 2/(1-x^2)", true),
            ("1/(1+cos(a)) - (1-cos(a))/sin(a)^2", true),
            ("tan(a)*cos(a) - sin(a)", true),
            ("x/(1+x) - 1", false),
            ("sqrt(x^2) - x", false),
        ] {
            let p = poly(&mut ring, &mut pool, text);
            assert_eq!(ring.is_zero(&p), zero, "{text}");
        }
    }

    #[test]
    fn known_signs_resolve_roots() {
        let mut pool = Pool::new();
        let x = pool.symbol("x");
        let mut ring = Ring::new(&[x]);
        let p = poly(&mut ring, &mut pool, "sqrt(x^2) - x");
        assert!(p.is_zero());
    }

    #[test]
    fn derivatives_agree_with_the_pool() {
        let (mut ring, mut pool) = (Ring::default(), Pool::new());
        let x = pool.symbol("x");
        for text in [
            "x^3*cos(2*x + y)",
            "sqrt(1 + x^2)*sin(x)",
            "1/(2 + cos(x))",
            "abs(x + 1)*x",
            "exp(x*y)*x",
            "cos(w*x^2)",
        ] {
            let e = pool.parse(text).expect(text);
            let p = ring.from_expr(&mut pool, e);
            let slope = ring.diff(&mut pool, &p, x);
            let d = pool.diff(e, x);
            let slope = ring.to_expr(&mut pool, &slope);
            for x0 in [0.3, 0.7, 1.9] {
                let value = |s: Expr, pool: &Pool| {
                    if s == x {
                        x0
                    } else {
                        f64::from(u32::try_from(pool.display(s).to_string().len()).unwrap_or(0))
                            * 0.45
                    }
                };
                let (a, b) =
                    (pool.eval(slope, |s| value(s, &pool)), pool.eval(d, |s| value(s, &pool)));
                assert!((a - b).abs() < 1e-12 * (1.0 + b.abs()), "{text}: {a} {b}");
            }
        }
    }
}
