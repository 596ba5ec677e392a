//! The closed form: metric, Christoffel symbols of the first kind, generalized forces, closures.
//!
//! ```text
//! g_ρν q̈^ν + Γ_ρμν q̇^μ q̇^ν = Q_ρ + λ_k ∂_ρC_k,   ρ = 1 … f;  q⁰ = t, q̇⁰ = 1, q̈⁰ = 0
//! g_μν = Σ ( m v_μ·v_ν + ω_μ·Θ ω_ν )                                  (17)
//! Γ_ρμν = ½ (∂_μ g_ρν + ∂_ν g_ρμ − ∂_ρ g_μν)                          (30)
//! ```
//! v_μ, ω_μ: what a rate q̇^μ gives to the velocity of a centre of mass and to an angular velocity, in body axes, so that
//! nothing is created that would have to be undone. Numbers are those of \[LAGR\].

use gelenk_expr::{Expr, Pool, Rational};

use crate::algebra::{Algebra, InRing, add_vec, cross, dot, scale_vec, vec_expr};
use crate::forces::generalized;
use crate::kinematics::Kinematics;
use crate::loops::{row_label, row_value};
use crate::ring::{Poly, Ring};
use crate::simplify::{Limits, shortest};
use crate::system::{DeriveError, System};

/// What to derive and how far to go.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Bounds of the simplification.
    pub limits: Limits,
    /// Products with more terms than this end the derivation of the closed form.
    pub products: usize,
    /// An entry may have this many terms while it comes to be.
    pub entry: usize,
    /// The metric may have this many terms together, the Christoffel symbols 40 times as many.
    pub terms: usize,
    /// Name parameter groups that recur in a legend.
    pub legend: bool,
    /// Derive the closed form; without it the equations have the recursive form alone.
    pub closed: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            limits: Limits::default(),
            products: 2_000_000,
            entry: 20_000,
            terms: 300_000,
            legend: true,
            closed: true,
        }
    }
}

/// The closed form in the canonical ring.
#[derive(Clone, Debug)]
pub struct Canonical {
    /// The ring.
    pub ring: Ring,
    /// g_μν, μ, ν = 0 … f.
    pub g: Vec<Vec<Poly>>,
    /// Γ_ρμν, ρ = 1 … f (index ρ − 1), μ, ν = 0 … f.
    pub gamma: Vec<Vec<Vec<Poly>>>,
    /// Q_ρ.
    pub q: Vec<Poly>,
    /// U of gravity and springs.
    pub potential: Poly,
    /// D with Q = −∂D/∂q̇ of dampers.
    pub dissipation: Poly,
    /// Loads without either.
    pub others: Vec<String>,
    /// Lengths with names: symbol, square, what it is.
    pub lengths: Vec<(Expr, Poly, String)>,
    /// C of the closure rows that are not zero for all q, with their names.
    pub closures: Vec<(String, Poly)>,
}

/// Derives the closed form of a system.
pub(crate) fn canonical(
    system: &System,
    pool: &mut Pool,
    options: &Options,
) -> Result<Canonical, DeriveError> {
    let f = system.coordinates.len();
    let mut ring = Ring::new(&system.positive);
    ring.set_limit(options.products);
    ring.set_element_limit(options.entry);
    for c in &system.coordinates {
        ring.angle(c.symbol);
    }
    let mut a = InRing { ring: &mut ring, pool, lengths: Vec::new() };
    let too_large = |what: &str| DeriveError::TooLarge { what: what.to_owned() };
    let mut kinematics = Kinematics::new(system, &mut a);
    if a.ring.overflowed() {
        return Err(too_large("the velocities"));
    }
    let mut g = vec![vec![Poly::ZERO; f + 1]; f + 1];
    for link in &system.links {
        let mass = a.expr(link.mass);
        let center = vec_expr(&mut a, &link.center);
        let inertia = link.inertia.map(|row| vec_expr(&mut a, &row));
        let columns = kinematics.columns[link.node].clone();
        let mut moving = Vec::with_capacity(columns.len());
        for c in &columns {
            let lever = cross(&mut a, &c.omega, &center);
            let v = add_vec(&mut a, &c.v, &lever);
            let p = scale_vec(&mut a, &mass, &v);
            let l = [0, 1, 2].map(|i| dot(&mut a, &inertia[i], &c.omega));
            moving.push((c.mu, v, c.omega.clone(), p, l));
        }
        for (i, (mu, v, omega, _, _)) in moving.iter().enumerate() {
            for (nu, _, _, p, l) in &moving[i..] {
                let x = dot(&mut a, v, p);
                let y = dot(&mut a, omega, l);
                g[*mu][*nu] = g[*mu][*nu].add(&x).add(&y);
            }
        }
        if a.ring.overflowed() {
            return Err(too_large("the metric"));
        }
    }
    for mu in 0..=f {
        for nu in 0..mu {
            g[mu][nu] = g[nu][mu].clone();
        }
    }
    let size = |g: &[Vec<Poly>]| g.iter().flatten().map(Poly::len).sum::<usize>();
    if size(&g) > options.terms {
        return Err(too_large("the metric"));
    }
    // ∂_σ g_μν, each once.
    let time = a.pool.time();
    let symbols: Vec<Expr> =
        std::iter::once(time).chain(system.coordinates.iter().map(|c| c.symbol)).collect();
    let mut slopes: Vec<Vec<Vec<Poly>>> = Vec::with_capacity(f + 1);
    for sigma in 0..=f {
        let mut slope = vec![vec![Poly::ZERO; f + 1]; f + 1];
        for mu in 0..=f {
            for nu in mu..=f {
                let d = a.ring.diff(a.pool, &g[mu][nu], symbols[sigma]);
                slope[nu][mu] = d.clone();
                slope[mu][nu] = d;
            }
        }
        slopes.push(slope);
    }
    let mut gamma = vec![vec![vec![Poly::ZERO; f + 1]; f + 1]; f];
    let mut total = 0;
    for rho in 1..=f {
        for mu in 0..=f {
            for nu in mu..=f {
                let sum = slopes[mu][rho][nu].add(&slopes[nu][rho][mu]).sub(&slopes[rho][mu][nu]);
                let half = sum.scale(&Rational::HALF);
                total += half.len();
                gamma[rho - 1][nu][mu] = half.clone();
                gamma[rho - 1][mu][nu] = half;
            }
        }
    }
    if total > 40 * options.terms {
        return Err(too_large("the Christoffel symbols"));
    }
    let forces = generalized(system, &mut kinematics, &mut a, true);
    if a.ring.overflowed() {
        return Err(too_large("the generalized forces"));
    }
    let mut closures = Vec::new();
    for closure in &system.closures {
        for (i, row) in closure.rows.iter().enumerate() {
            let c = row_value(system, &kinematics, &mut a, row);
            if !a.ring.is_zero(&c) {
                closures.push((format!("{}, {}", closure.name, row_label(row, i)), c));
            }
        }
    }
    if a.ring.overflowed() {
        return Err(too_large("the closure conditions"));
    }
    let lengths = std::mem::take(&mut a.lengths);
    Ok(Canonical {
        ring,
        g,
        gamma,
        q: forces.q,
        potential: forces.potential,
        dissipation: forces.dissipation,
        others: forces.others,
        lengths,
        closures,
    })
}

/// The closed form as expressions, simplified.
#[derive(Clone, Debug)]
pub struct Closed {
    /// g_μν, μ, ν = 0 … f.
    pub g: Vec<Vec<Expr>>,
    /// Γ_ρμν, ρ − 1, μ, ν.
    pub gamma: Vec<Vec<Vec<Expr>>>,
    /// Q_ρ.
    pub q: Vec<Expr>,
    /// Γ_ρμν q̇^μ q̇^ν − Q_ρ as one expression: g_ρν q̈^ν + motion_ρ = λ_k ∂_ρC_k.
    pub motion: Vec<Expr>,
    /// Potential energy, of loads that have one.
    pub potential: Expr,
    /// Dissipation function, of loads that have one.
    pub dissipation: Expr,
    /// Closure conditions C = 0 with their names.
    pub closures: Vec<(String, Expr)>,
    /// ∂C/∂q.
    pub jac: Vec<Vec<Expr>>,
    /// γ with J q̈ = γ.
    pub gamma_rows: Vec<Expr>,
    /// Named quantities in the order in which they may be computed: symbol, value, what it is.
    pub definitions: Vec<(Expr, Expr, String)>,
    /// Operations, each entry of symmetric arrays once, every part as often as it is written.
    pub operations: usize,
    /// What the size limits switched off.
    pub notes: Vec<String>,
}

/// Simplifies the closed form entry by entry.
pub(crate) fn simplified(
    system: &System,
    pool: &mut Pool,
    canonical: &mut Canonical,
    options: &Options,
) -> Closed {
    let f = system.coordinates.len();
    let groups = system.parallel_groups();
    let mut full = true;
    // The work of pairing terms grows with their square: large systems get a smaller share for each entry.
    let total = canonical.g.iter().flatten().map(Poly::len).sum::<usize>()
        + canonical.gamma.iter().flatten().flatten().map(Poly::len).sum::<usize>();
    let mut limits = options.limits;
    limits.thorough = limits.thorough.min((limits.thorough * 2_000 / total.max(1)).max(24));
    let Canonical { ring, g, gamma, q, potential, dissipation, lengths, closures, .. } = canonical;
    let mut known: rustc_hash::FxHashMap<Poly, Expr> = rustc_hash::FxHashMap::default();
    let mut short = |ring: &mut Ring, pool: &mut Pool, p: &Poly| -> Expr {
        if p.is_zero() {
            return Expr::ZERO;
        }
        if let Some(&e) = known.get(p) {
            return e;
        }
        let negative = p.neg();
        if let Some(&e) = known.get(&negative) {
            return pool.neg(e);
        }
        let numbers: Vec<usize> = ring
            .angles()
            .iter()
            .enumerate()
            .map(|(i, angle)| {
                groups.iter().find(|(s, _)| s == angle).map_or(usize::MAX - 1000 - i, |x| x.1)
            })
            .collect();
        let (e, thorough) = shortest(ring, pool, p, &numbers, &limits);
        full &= thorough;
        known.insert(p.clone(), e);
        e
    };
    let mut definitions = Vec::new();
    for (symbol, square, what) in lengths.iter() {
        let inner = short(ring, pool, square);
        definitions.push((*symbol, pool.sqrt(inner), what.clone()));
    }
    let mut g_out = vec![vec![Expr::ZERO; f + 1]; f + 1];
    let mut gamma_out = vec![vec![vec![Expr::ZERO; f + 1]; f + 1]; f];
    for mu in 0..=f {
        for nu in mu..=f {
            let e = short(ring, pool, &g[mu][nu]);
            g_out[mu][nu] = e;
            g_out[nu][mu] = e;
        }
    }
    for rho in 0..f {
        for mu in 0..=f {
            for nu in mu..=f {
                let e = short(ring, pool, &gamma[rho][mu][nu]);
                gamma_out[rho][mu][nu] = e;
                gamma_out[rho][nu][mu] = e;
            }
        }
    }
    let q_out: Vec<Expr> = q.iter().map(|p| short(ring, pool, p)).collect();
    let mut motion = Vec::with_capacity(f);
    for rho in 0..f {
        let (terms, parts) = whole_row(system, ring, &gamma[rho], &q[rho]);
        motion.push(if terms <= limits.thorough {
            short(ring, pool, &parts)
        } else {
            row_of_parts(system, pool, &gamma_out[rho], q_out[rho])
        });
    }
    let potential = short(ring, pool, potential);
    let dissipation = short(ring, pool, dissipation);
    let symbols: Vec<Expr> = system.coordinates.iter().map(|c| c.symbol).collect();
    let rates: Vec<Expr> = system.coordinates.iter().map(|c| c.rate).collect();
    let time = pool.time();
    let mut jac = Vec::new();
    let mut gamma_rows = Vec::new();
    let mut closures_out = Vec::new();
    for (name, c) in closures.iter() {
        closures_out.push((name.clone(), short(ring, pool, c)));
        // Ċ = ∂_μC q̇^μ, C̈ = ∂_ρC q̈^ρ − γ
        let slopes: Vec<Poly> = symbols.iter().map(|x| ring.diff(pool, c, *x)).collect();
        let mut rate = ring.diff(pool, c, time);
        for (slope, v) in slopes.iter().zip(&rates) {
            let v = ring.atom(*v);
            let part = ring.mul(slope, &v);
            rate = rate.add(&part);
        }
        let mut bend = ring.diff(pool, &rate, time);
        for (x, v) in symbols.iter().zip(&rates) {
            let slope = ring.diff(pool, &rate, *x);
            let v = ring.atom(*v);
            let part = ring.mul(&slope, &v);
            bend = bend.add(&part);
        }
        jac.push(slopes.iter().map(|p| short(ring, pool, p)).collect());
        gamma_rows.push(short(ring, pool, &bend.neg()));
    }
    let mut notes = Vec::new();
    if !full {
        notes.push(format!(
            "some entries have more than {} terms: they are factored in one order only, those beyond {} not at all",
            limits.thorough, limits.terms
        ));
    }
    let mut closed = Closed {
        g: g_out,
        gamma: gamma_out,
        q: q_out,
        motion,
        potential,
        dissipation,
        closures: closures_out,
        jac,
        gamma_rows,
        definitions,
        operations: 0,
        notes,
    };
    if options.legend {
        name_groups(system, pool, &mut closed);
    }
    closed.operations = closed.count(pool);
    closed
}

/// Γ_μν q̇^μ q̇^ν − Q in the ring, with its number of terms; nothing if it has too many.
fn whole_row(system: &System, ring: &mut Ring, gamma: &[Vec<Poly>], q: &Poly) -> (usize, Poly) {
    let terms = gamma.iter().flatten().map(Poly::len).sum::<usize>() + q.len();
    if terms > 20_000 {
        return (terms, Poly::ZERO);
    }
    let rates: Vec<Poly> = std::iter::once(Poly::one())
        .chain(system.coordinates.iter().map(|c| ring.atom(c.rate)))
        .collect();
    let mut sum = q.neg();
    for (mu, row) in gamma.iter().enumerate() {
        for (nu, part) in row.iter().enumerate() {
            if !part.is_zero() {
                let pair = ring.mul(&rates[mu], &rates[nu]);
                let term = ring.mul(part, &pair);
                sum = sum.add(&term);
            }
        }
    }
    (sum.len(), sum)
}

/// The same from simplified parts.
fn row_of_parts(system: &System, pool: &mut Pool, gamma: &[Vec<Expr>], q: Expr) -> Expr {
    let rates: Vec<Expr> =
        std::iter::once(Expr::ONE).chain(system.coordinates.iter().map(|c| c.rate)).collect();
    let mut terms = vec![pool.neg(q)];
    for (mu, row) in gamma.iter().enumerate() {
        for (nu, part) in row.iter().enumerate() {
            if *part != Expr::ZERO {
                terms.push(pool.mul(&[*part, rates[mu], rates[nu]]));
            }
        }
    }
    pool.add(&terms)
}

/// Sums of parameters that are worth a name cost at least this much and stand in two places.
const NAMED_COST: usize = 4;

/// Gives names to sums of parameters that recur, the longest first.
fn name_groups(system: &System, pool: &mut Pool, closed: &mut Closed) {
    let parameters: Vec<Expr> = system.parameters.iter().map(|p| p.symbol).collect();
    let mut number = 0;
    loop {
        let mut all = closed.entries();
        all.extend(&closed.motion);
        all.extend([closed.potential, closed.dissipation]);
        let mut places: rustc_hash::FxHashMap<Expr, usize> = rustc_hash::FxHashMap::default();
        for e in pool.subexpressions(&all) {
            for part in pool.parts(e) {
                *places.entry(*part).or_default() += 1;
            }
        }
        for e in &all {
            *places.entry(*e).or_default() += 1;
        }
        let mut memo = rustc_hash::FxHashMap::default();
        let mut best: Option<(usize, Expr)> = None;
        for e in pool.subexpressions(&all) {
            let is_sum = matches!(pool.node(e), gelenk_expr::Node::Sum(_));
            if !is_sum || places[&e] < 2 {
                continue;
            }
            let cost = crate::factor::cost_with(pool, e, &mut memo);
            if cost < NAMED_COST || best.is_some_and(|(most, _)| most >= cost) {
                continue;
            }
            let symbols = pool.symbols_of(e);
            let still = symbols.iter().all(|s| parameters.contains(s))
                && pool.functions_of_time_of(e).is_empty();
            if still {
                best = Some((cost, e));
            }
        }
        let Some((_, group)) = best else { return };
        number += 1;
        let mut name = format!("p{number}");
        while pool.find_symbol(&name).is_some() {
            name.push('_');
        }
        let symbol = pool.symbol(&name);
        closed.replace(pool, &[(group, symbol)]);
        closed.definitions.insert(number - 1, (symbol, group, "of parameters".to_owned()));
        if number >= 40 {
            return;
        }
    }
}

impl Closed {
    /// Operations of all entries of the equations, each entry of symmetric arrays once.
    pub fn count(&self, pool: &Pool) -> usize {
        let mut memo = rustc_hash::FxHashMap::default();
        let mut sum = 0usize;
        for e in self.entries() {
            sum = sum.saturating_add(crate::factor::cost_with(pool, e, &mut memo));
        }
        sum
    }

    /// Replaces expressions in all entries.
    fn replace(&mut self, pool: &mut Pool, with: &[(Expr, Expr)]) {
        let mut put = |list: &mut [Expr]| {
            let new = pool.substitute_all(list, with);
            list.copy_from_slice(&new);
        };
        for row in self.g.iter_mut().chain(self.gamma.iter_mut().flatten()).chain(&mut self.jac) {
            put(row);
        }
        put(&mut self.q);
        put(&mut self.motion);
        put(&mut self.gamma_rows);
        put(std::slice::from_mut(&mut self.potential));
        put(std::slice::from_mut(&mut self.dissipation));
        for (_, c) in &mut self.closures {
            put(std::slice::from_mut(c));
        }
        for (_, value, _) in &mut self.definitions {
            put(std::slice::from_mut(value));
        }
    }

    /// The values of named quantities over coordinates, rates, time and parameters alone.
    pub fn unnamed(&self, pool: &mut Pool) -> Vec<(Expr, Expr)> {
        let mut known: Vec<(Expr, Expr)> = Vec::new();
        // Names may stand in definitions before or after their own; a few rounds put all in.
        for (symbol, value, _) in &self.definitions {
            known.push((*symbol, *value));
        }
        for _ in 0..self.definitions.len() {
            let values: Vec<Expr> = known.iter().map(|(_, v)| *v).collect();
            let next = pool.substitute_all(&values, &known);
            if next == values {
                break;
            }
            for (slot, value) in known.iter_mut().zip(next) {
                slot.1 = value;
            }
        }
        known
    }

    /// All entries of the equations, each of symmetric arrays once.
    pub fn entries(&self) -> Vec<Expr> {
        let n = self.g.len();
        let mut all = Vec::new();
        for mu in 0..n {
            all.extend_from_slice(&self.g[mu][mu..]);
        }
        for gamma in &self.gamma {
            for mu in 0..n {
                all.extend_from_slice(&gamma[mu][mu..]);
            }
        }
        all.extend(&self.q);
        all.extend(self.closures.iter().map(|(_, c)| *c));
        all.extend(self.jac.iter().flatten());
        all.extend(&self.gamma_rows);
        all.extend(self.definitions.iter().map(|(_, e, _)| *e));
        all
    }
}
