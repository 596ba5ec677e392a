//! From the meaning of a deck to g, Γ and Q, and the printed page.

use gelenk_expr::{Expr, Pool};

use super::functions::Functions;
use super::input::Input;
use super::meaning::{self, Motion, Replacement, replace, subscripted};
use super::page::write_page;
use super::potential::{ForceFunctions, Source, functions};
use super::print::{Page, formac};
use super::{DeckError, Element, List, System};
use crate::simplify::{Assumptions, is_zero, simplify};

/// The results of a deck, one entry a system, and the page that the program printed.
#[derive(Clone, Debug)]
pub struct Derived {
    /// The systems.
    pub systems: Vec<SystemResult>,
    page: String,
}

/// The results of a system.
#[derive(Clone, Debug)]
pub struct SystemResult {
    /// Degrees of freedom, f.
    pub f: usize,
    /// Q(0) (time), Q(1), …
    pub coordinates: Vec<Expr>,
    /// 1, QP(1), …
    pub rates: Vec<Expr>,
    /// Potentials of the springs (32).
    pub potentials: Vec<Potential>,
    /// g and Γ, first in general, then with each replacement list.
    pub kinetics: Vec<Kinetics>,
    /// Q, the same way.
    pub forces: Vec<Forces>,
    /// Potentials and dissipation functions: of the forces of each body, of each damper, and of all.
    pub functions: Vec<ForceFunctions>,
    /// Conditions between the coordinates.
    pub conditions: Vec<Condition>,
}

/// A condition C = 0 between coordinates: C_ρ q̈^ρ = γ, and the generalized forces λ C_ρ.
#[derive(Clone, Debug)]
pub struct Condition {
    /// C.
    pub c: Expr,
    /// ∂C/∂q^μ, μ = 0 … f.
    pub slopes: Vec<Expr>,
    /// γ = −∂²C/∂q^μ∂q^ν q̇^μ q̇^ν.
    pub gamma: Expr,
}

/// The potential of a spring, U = c (½ λ² - λ₀ λ).
#[derive(Clone, Debug)]
pub struct Potential {
    /// First body.
    pub l: usize,
    /// Second body.
    pub n: usize,
    /// U.
    pub potential: Expr,
}

/// Coefficients of the kinetic energy and Christoffel symbols.
#[derive(Clone, Debug)]
pub struct Kinetics {
    /// `g[μ][ν]` for μ >= ν >= 0; g is symmetric.
    pub g: Vec<Vec<Expr>>,
    /// `gamma[ρ - 1][μ][ν]` for μ >= ν >= 0: Γ_ρμν of the first kind, symmetric in μ and ν.
    pub gamma: Vec<Vec<Vec<Expr>>>,
    /// Set where the metric is singular.
    pub undetermined: Option<Undetermined>,
}

/// The metric g_ρν, ρ, ν >= 1, is singular: some q̈ can be anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undetermined {
    /// Rank of the metric.
    pub rank: usize,
    /// The coordinates, from 1, whose q̈ the equations leave open.
    pub coordinates: Vec<usize>,
}

/// Generalized forces.
#[derive(Clone, Debug)]
pub struct Forces {
    /// `q[ρ - 1]` = Q_ρ.
    pub q: Vec<Expr>,
}

impl Derived {
    pub(super) fn new(pool: &mut Pool, systems: &[System]) -> Result<Self, DeckError> {
        let mut page = Page::default();
        let mut results = Vec::with_capacity(systems.len());
        for (a, system) in systems.iter().enumerate() {
            results.push(derive(pool, a + 1, system, &mut page)?);
        }
        Ok(Self { systems: results, page: page.into_text() })
    }

    /// The page that the program printed: the input, and every coefficient that is not zero.
    pub fn print(&self) -> &str {
        &self.page
    }
}

/// A derivation at work.
pub(super) struct Work<'a> {
    pub(super) pool: &'a mut Pool,
    functions: Functions,
    f: usize,
    pub(super) coordinates: Vec<Expr>,
    assumptions: Assumptions,
}

impl Work<'_> {
    fn diff(&mut self, e: Expr, mu: usize) -> Expr {
        self.functions.diff(self.pool, e, self.coordinates[mu])
    }

    /// ∂e/∂x for any symbol.
    pub(super) fn diff_by(&mut self, e: Expr, x: Expr) -> Expr {
        self.functions.diff(self.pool, e, x)
    }

    pub(super) fn substitute(&mut self, e: Expr, from: Expr, to: Expr) -> Expr {
        self.functions.substitute(self.pool, e, from, to)
    }

    /// Whether two expressions are the same function.
    pub(super) fn equal(&mut self, a: Expr, b: Expr) -> bool {
        let difference = self.pool.sub(a, b);
        difference == Expr::ZERO || is_zero(self.pool, difference, &self.assumptions)
    }

    /// The shortest form; 0 exactly where it is zero.
    pub(super) fn short(&mut self, e: Expr) -> Expr {
        if e == Expr::ZERO || is_zero(self.pool, e, &self.assumptions) {
            return Expr::ZERO;
        }
        simplify(self.pool, e, &self.assumptions)
    }

    fn replaced(&mut self, e: Expr, list: &[Replacement]) -> Expr {
        let e = replace(self.pool, &mut self.functions, e, list);
        self.short(e)
    }

    pub(super) fn text(&self, e: Expr) -> String {
        formac(&self.pool.display(e).to_string())
    }
}

fn derive(
    pool: &mut Pool,
    number: usize,
    system: &System,
    page: &mut Page,
) -> Result<SystemResult, DeckError> {
    declare(pool, system);
    let input = Input::new(pool, system)?;
    let f = system.f;
    let coordinates: Vec<Expr> = (0..=f).map(|k| subscripted(pool, "Q", &[k])).collect();
    let mut rates: Vec<Expr> = (0..=f).map(|k| subscripted(pool, "QP", &[k])).collect();
    rates[0] = Expr::ONE;
    let assumptions = Assumptions::default();
    let mut work = Work { pool, functions: input.functions, f, coordinates, assumptions };

    // ∂_μ of rotation matrices and centres, each once.
    let slopes: Vec<Vec<Motion>> = input
        .motions
        .iter()
        .map(|motion| (0..=f).map(|mu| motion.map(|row| row.map(|e| work.diff(e, mu)))).collect())
        .collect();
    let g = metric(&mut work, &slopes);
    let gamma = christoffel(&mut work, &g);
    // The forces of each source, and all.
    let mut sources = Vec::new();
    for (i, forces) in input.forces.iter().enumerate() {
        let Some(forces) = forces else { continue };
        let mut q = vec![Vec::new(); f];
        applied_forces(&mut work, &input.motions[i + 1], &slopes[i + 1], forces, &mut q);
        sources.push((Source::Body(i + 1), q));
    }
    for (damper, list) in system.dampers.iter().zip(&input.dampers) {
        let mut q = vec![Vec::new(); f];
        damper_forces(&mut work, &input.motions, damper, list, &rates, &mut q);
        sources.push((Source::Damper(damper.l, damper.n), q));
    }
    let mut all: Vec<Vec<Expr>> = vec![Vec::new(); f];
    for (_, q) in &sources {
        for (all, terms) in all.iter_mut().zip(q) {
            all.extend_from_slice(terms);
        }
    }
    let mut potentials = Vec::new();
    for (spring, lists) in system.springs.iter().zip(&input.springs) {
        potentials.push(spring_forces(&mut work, &input.motions, spring, lists, &mut all));
    }
    let q = summed(&mut work, &all);
    let mut force_functions = Vec::with_capacity(sources.len() + 1);
    for (source, terms) in sources {
        let of_source = summed(&mut work, &terms);
        force_functions.push(functions(&mut work, source, &of_source, &rates));
    }
    force_functions.push(functions(&mut work, Source::All, &q, &rates));

    let undetermined = open_accelerations(work.pool, &g);
    let mut kinetics = vec![Kinetics { g, gamma, undetermined }];
    for list in &input.kinetic_lists {
        let general = kinetics[0].clone();
        let g: Vec<Vec<Expr>> = general
            .g
            .iter()
            .map(|row| row.iter().map(|&e| work.replaced(e, list)).collect())
            .collect();
        let gamma = general
            .gamma
            .iter()
            .map(|plane| {
                plane
                    .iter()
                    .map(|row| row.iter().map(|&e| work.replaced(e, list)).collect())
                    .collect()
            })
            .collect();
        let undetermined = open_accelerations(work.pool, &g);
        kinetics.push(Kinetics { g, gamma, undetermined });
    }
    let mut forces = vec![Forces { q }];
    for list in &input.force_lists {
        let q = forces[0].q.clone().into_iter().map(|e| work.replaced(e, list)).collect();
        forces.push(Forces { q });
    }
    let conditions = input.conditions.iter().map(|c| condition(&mut work, *c, &rates)).collect();
    let coordinates = std::mem::take(&mut work.coordinates);
    let functions = force_functions;
    let result =
        SystemResult { f, coordinates, rates, potentials, kinetics, forces, functions, conditions };
    write_page(page, number, system, &result, &work);
    Ok(result)
}

/// A condition with its derivatives.
fn condition(work: &mut Work<'_>, c: Expr, rates: &[Expr]) -> Condition {
    let c = work.short(c);
    let slopes: Vec<Expr> = (0..=work.f)
        .map(|mu| {
            let slope = work.diff(c, mu);
            work.short(slope)
        })
        .collect();
    let mut terms = Vec::new();
    for (mu, slope) in slopes.iter().enumerate() {
        for nu in 0..=work.f {
            let bend = work.diff(*slope, nu);
            product(work.pool, &mut terms, &[Expr::MINUS_ONE, bend, rates[mu], rates[nu]]);
        }
    }
    let sum = work.pool.add(&terms);
    let gamma = work.short(sum);
    Condition { c, slopes, gamma }
}

/// The sums of the terms, in their shortest forms.
fn summed(work: &mut Work<'_>, terms: &[Vec<Expr>]) -> Vec<Expr> {
    terms
        .iter()
        .map(|terms| {
            let sum = work.pool.add(terms);
            work.short(sum)
        })
        .collect()
}

/// Declares symbols in the order in which products shall show them: masses, tensors, other parameters, coordinates.
fn declare(pool: &mut Pool, system: &System) {
    let n = system.bodies.len();
    for l in 1..=n {
        subscripted(pool, "M", &[l]);
    }
    for l in 1..=n {
        for j in 1..=3 {
            for k in j..=3 {
                subscripted(pool, "TH", &[l, j, k]);
            }
        }
    }
    for (name, elements) in [("K", &system.dampers), ("C", &system.springs)] {
        for e in elements {
            subscripted(pool, name, &[e.l, e.n]);
        }
    }
    let bodies =
        system.bodies.iter().flat_map(|b| b.motion.iter().chain(b.forces.iter().flatten()));
    let motion = system.ground.iter().chain(bodies).flatten();
    for formula in motion.chain(&system.conditions) {
        meaning::declare(pool, formula);
    }
    for (_, by) in lists(system).flat_map(|l| &l.pairs) {
        meaning::declare(pool, by);
    }
}

/// Every replacement list.
fn lists(system: &System) -> impl Iterator<Item = &List> {
    let elements = system.dampers.iter().chain(&system.springs);
    let of_elements = elements.flat_map(|e| e.first.iter().chain(&e.second));
    of_elements.chain(&system.kinetic_lists).chain(&system.force_lists)
}

/// g_μν = Σ (M ∂_μx0_i ∂_νx0_i + θ_jk ∂_μE_ji ∂_νE_ki) (17), μ >= ν.
fn metric(work: &mut Work<'_>, slopes: &[Vec<Motion>]) -> Vec<Vec<Expr>> {
    let mut g = Vec::with_capacity(work.f + 1);
    for mu in 0..=work.f {
        let mut row = Vec::with_capacity(mu + 1);
        for nu in 0..=mu {
            let mut terms = Vec::new();
            for (l, slope) in slopes.iter().enumerate().skip(1) {
                let (a, b) = (&slope[mu], &slope[nu]);
                let mass = subscripted(work.pool, "M", &[l]);
                for i in 0..3 {
                    product(work.pool, &mut terms, &[mass, a[3][i], b[3][i]]);
                }
                for j in 0..3 {
                    for k in 0..3 {
                        let theta = subscripted(work.pool, "TH", &[l, j.min(k) + 1, j.max(k) + 1]);
                        for i in 0..3 {
                            product(work.pool, &mut terms, &[theta, a[j][i], b[k][i]]);
                        }
                    }
                }
            }
            let sum = work.pool.add(&terms);
            row.push(work.short(sum));
        }
        g.push(row);
    }
    g
}

/// Adds a product to the terms, unless a factor is 0.
fn product(pool: &mut Pool, terms: &mut Vec<Expr>, factors: &[Expr]) {
    if !factors.contains(&Expr::ZERO) {
        terms.push(pool.mul(factors));
    }
}

/// Γ_ρμν = ½ (∂_μ g_ρν + ∂_ν g_ρμ - ∂_ρ g_μν) (30), ρ >= 1, μ >= ν.
fn christoffel(work: &mut Work<'_>, g: &[Vec<Expr>]) -> Vec<Vec<Vec<Expr>>> {
    let f = work.f;
    let at = |a: usize, b: usize| if a >= b { g[a][b] } else { g[b][a] };
    (1..=f)
        .map(|rho| {
            (0..=f)
                .map(|mu| {
                    (0..=mu)
                        .map(|nu| {
                            let (a, b) = (work.diff(at(rho, nu), mu), work.diff(at(rho, mu), nu));
                            let c = work.diff(at(mu, nu), rho);
                            let sum = work.pool.add(&[a, b]);
                            let difference = work.pool.sub(sum, c);
                            let half = work.pool.mul(&[Expr::HALF, difference]);
                            work.short(half)
                        })
                        .collect()
                })
                .collect()
        })
        .collect()
}

/// Q_ρ = Σ (∂_ρx0_i K_i + ½ ∂_ρE_ji E_jk M_ik) (27) with M_12 = -M_3, M_13 = M_2, M_23 = -M_1.
fn applied_forces(
    work: &mut Work<'_>,
    motion: &Motion,
    slopes: &[Motion],
    [force, moment]: &[[Expr; 3]; 2],
    q: &mut [Vec<Expr>],
) {
    let minus = moment.map(|m| work.pool.neg(m));
    let tensor = [
        [Expr::ZERO, minus[2], moment[1]],
        [moment[2], Expr::ZERO, minus[0]],
        [minus[1], moment[0], Expr::ZERO],
    ];
    for (rho, terms) in q.iter_mut().enumerate() {
        let slope = &slopes[rho + 1];
        for i in 0..3 {
            product(work.pool, terms, &[slope[3][i], force[i]]);
            for k in 0..3 {
                for j in 0..3 {
                    let factors = [Expr::HALF, slope[j][i], motion[j][k], tensor[i][k]];
                    product(work.pool, terms, &factors);
                }
            }
        }
    }
}

/// Δ_i = x_i(a) - x_i(b) (34), with attachment points X(L,N,J) and X(N,L,J) and a list applied.
fn difference(
    work: &mut Work<'_>,
    motions: &[Motion],
    name: &str,
    element: &Element,
    list: &[Replacement],
) -> [Expr; 3] {
    let (l, n) = (element.l, element.n);
    std::array::from_fn(|i| {
        let mut terms = vec![motions[l][3][i]];
        let opposite = work.pool.neg(motions[n][3][i]);
        terms.push(opposite);
        for j in 0..3 {
            let (a, b) = (
                subscripted(work.pool, name, &[l, n, j + 1]),
                subscripted(work.pool, name, &[n, l, j + 1]),
            );
            product(work.pool, &mut terms, &[a, motions[l][j][i]]);
            product(work.pool, &mut terms, &[Expr::MINUS_ONE, b, motions[n][j][i]]);
        }
        let sum = work.pool.add(&terms);
        work.replaced(sum, list)
    })
}

/// Q_ρ = -k ∂_ρΔ_i ∂_νΔ_i q̇^ν (37): the damper of the paper, which resists the whole relative velocity in world axes.
fn damper_forces(
    work: &mut Work<'_>,
    motions: &[Motion],
    damper: &Element,
    list: &[Replacement],
    rates: &[Expr],
    q: &mut [Vec<Expr>],
) {
    let delta = difference(work, motions, "XD", damper, list);
    let k = subscripted(work.pool, "K", &[damper.l, damper.n]);
    let k = replace(work.pool, &mut work.functions, k, list);
    let slopes: Vec<[Expr; 3]> = (0..=work.f).map(|mu| delta.map(|d| work.diff(d, mu))).collect();
    for (rho, terms) in q.iter_mut().enumerate() {
        for nu in 0..=work.f {
            let mut sum = Vec::new();
            for i in 0..3 {
                product(work.pool, &mut sum, &[slopes[rho + 1][i], slopes[nu][i]]);
            }
            let sum = work.pool.add(&sum);
            let sum = work.short(sum);
            product(work.pool, terms, &[Expr::MINUS_ONE, k, sum, rates[nu]]);
        }
    }
}

/// U = c (½ λ² - λ₀ λ), λ² = Δ_i Δ_i, Q_ρ = -∂_ρU (31-34). √(x²) is |x|.
fn spring_forces(
    work: &mut Work<'_>,
    motions: &[Motion],
    spring: &Element,
    [first, second]: &[Vec<Replacement>; 2],
    q: &mut [Vec<Expr>],
) -> Potential {
    let (l, n) = (spring.l, spring.n);
    let delta = difference(work, motions, "XF", spring, first);
    let squares: Vec<Expr> = delta.map(|d| work.pool.pow(d, Expr::TWO)).to_vec();
    let square = work.pool.add(&squares);
    let square = match squares.iter().filter(|s| **s != Expr::ZERO).count() {
        // One direction: the root is |Δ| as it stands.
        0 | 1 => square,
        _ => work.short(square),
    };
    let root = work.pool.sqrt(square);
    let length = if matches!(work.pool.node(root), gelenk_expr::Node::Power(..)) {
        work.short(root)
    } else {
        root
    };
    let c = subscripted(work.pool, "C", &[l, n]);
    let rest = subscripted(work.pool, "LA0", &[l, n]);
    let half = work.pool.mul(&[Expr::HALF, square]);
    let slack = work.pool.mul(&[rest, length]);
    let difference = work.pool.sub(half, slack);
    let potential = work.pool.mul(&[c, difference]);
    let potential = replace(work.pool, &mut work.functions, potential, second);
    for (rho, terms) in q.iter_mut().enumerate() {
        let slope = work.diff(potential, rho + 1);
        terms.push(work.pool.neg(slope));
    }
    Potential { l, n, potential }
}

/// Rank and null space of the metric at random values of its symbols: what holds there holds but for special places.
fn open_accelerations(pool: &Pool, g: &[Vec<Expr>]) -> Option<Undetermined> {
    let f = g.len() - 1;
    let mut best: Option<Undetermined> = None;
    for trial in 0u64..4 {
        let value = |symbol: Expr| {
            // A number in (0.5, 1.5) from the symbol's place in the pool.
            let mut x =
                (symbol.index() as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (trial << 40);
            x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            0.5 + ((x ^ x >> 31) >> 11) as f64 / (1u64 << 53) as f64
        };
        let entry = |a: usize, b: usize| {
            let e = if a >= b { g[a + 1][b + 1] } else { g[b + 1][a + 1] };
            pool.eval(e, value)
        };
        let mut matrix = nalgebra::DMatrix::from_fn(f, f, entry);
        if matrix.iter().any(|x| !x.is_finite()) {
            continue;
        }
        // Rows and columns scaled alike, so that units do not matter.
        for i in 0..f {
            let size = matrix[(i, i)].abs().sqrt();
            if size > 0.0 {
                for j in 0..f {
                    matrix[(i, j)] /= size;
                    matrix[(j, i)] /= size;
                }
            }
        }
        let eigen = matrix.symmetric_eigen();
        let most = eigen.eigenvalues.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let small = |k: usize| eigen.eigenvalues[k].abs() <= 1e-10 * most.max(f64::MIN_POSITIVE);
        let null: Vec<usize> = (0..f).filter(|&k| small(k)).collect();
        let rank = f - null.len();
        if best.as_ref().is_some_and(|b| b.rank >= rank) {
            continue;
        }
        let open = |i: usize| null.iter().any(|&k| eigen.eigenvectors[(i, k)].abs() > 1e-6);
        let coordinates = (0..f).filter(|&i| open(i)).map(|i| i + 1).collect();
        best = Some(Undetermined { rank, coordinates });
    }
    best.filter(|b| b.rank < f)
}
