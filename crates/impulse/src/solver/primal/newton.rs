//! The linear problem: rates e + Ĵ Δu, impulses within their bounds.

use super::cholesky::{Cholesky, Six};
use super::cone::{Place, nearest};
use super::coupled::Kept;
use super::lu::Lu;
use super::pattern::{Island, Pattern};
use crate::bounds::{Bound, SLIP_PART};
use crate::rows::Rows;
use crate::scratch::Bodies;
use crate::small;
use crate::solver::Anderson;

/// Weight of the rows, as a multiple of 1/K of each alone. A larger one needs fewer rounds but takes more digits: what is left of a
/// direction in which all rows together move the bodies by σ ≤ 1 (K scaled) is 1/(1 + r σ) a round, and rounding of rates
/// reaches the impulses r-fold.
pub(super) const WEIGHT: f64 = 1e4;

/// Most solves of one linear problem.
const MOST_SOLVES: u64 = 100;

/// Most solves of a round: what rounding leaves does not become smaller.
const MOST_INNER: u64 = 30;

/// The same two for cones.
const MOST_CONE_SOLVES: (u64, u64) = (400, 100);

/// Rounds that are so much worse than the best one forget what they know of the trend.
const LOST: f64 = 10.0;

/// Solves after which an island that has not come nearer for so long is given up.
const PATIENCE: u64 = 15;

/// An island is not given up before so many rounds: the first one may take many solves.
const LEAST_ROUNDS: u32 = 5;

/// Rounds before friction follows the normal impulses at once ([`coupled`](super::coupled)), and after a try that did not help.
const FIRST_TRY: u32 = 2;
const PAUSE: u32 = 1;

/// The part of the error that a try leaves that is worth another.
const GAIN: f64 = 0.5;

/// How near is near enough, as parts of what is allowed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near {
    /// Of rows that hold.
    pub held: f64,
    /// Of friction that slips: by how much its impulse may be off.
    pub slips: f64,
}

impl Near {
    /// What a step is content with where it can be had no better: friction that changes between holding and slipping at many points of one
    /// body may find no end.
    pub(super) const ENOUGH: Near = Near { held: 1.0, slips: 0.1 };

    /// Within tolerance.
    pub(super) const WITHIN: Near = Near { held: 1.0, slips: SLIP_PART };
}

/// What a row block does in the solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Its impulse is given: at a bound, or inactive.
    Given,
    /// Its rows are equations.
    Holds,
    /// Friction at the edge of its disk.
    Slips,
}

/// What a solve found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub solves: u64,
    /// 0 if impulses and rates fit; else how far from near enough the best ones are, over what is allowed.
    pub off: f64,
    /// How fast contacts open while they push, m/s; 0 where they do not.
    pub loose: f64,
}

/// Numbers of the problem.
#[derive(Clone, Debug, Default)]
pub(super) struct Newton {
    /// Ĵ = J M^(−1/2) in principal axes of the bodies, in the layout of [`Rows::jac`].
    pub(super) jac: Vec<f64>,
    /// K⁻¹ of blocks that are equations, in the layout of [`Rows::k_inv`].
    pub(super) k_inv: Vec<f64>,
    /// K of bounded blocks: largest eigenvalue. (n blocks)
    pub(super) stiffness: Vec<f64>,
    /// Impulses that rows have, and what they would have by the rates there are. (n_rows)
    pub p: Vec<f64>,
    /// The impulses that the weights pull to: those of the round before. (n_rows)
    pub(super) centre: Vec<f64>,
    /// The best so far. (n_rows)
    pub(super) best: Vec<f64>,
    /// Rates to be closed, and how they change along a step. (n_rows)
    pub e: Vec<f64>,
    pub(super) e_step: Vec<f64>,
    /// How far a rate may be off. (n blocks)
    pub allowed: Vec<f64>,
    /// Rates below this are rounding where impulses are found.
    pub floor: f64,
    /// (n blocks)
    pub(super) side: Vec<Side>,
    side_before: Vec<Side>,
    sides_of_round: Vec<Side>,
    /// Largest friction impulse. (n blocks)
    pub(super) limit: Vec<f64>,
    /// Whether normals and friction of contacts are taken together, as cones; see [`settle`](Newton::settle).
    pub cones: bool,
    /// The friction block of each normal block that is taken as a cone. (n blocks)
    cone: Vec<Option<usize>>,
    /// What is taken off the normal rate of a cone: μ |e_t| of the round before. (n blocks)
    shift: Vec<f64>,
    wanted: Vec<f64>,
    /// Whether they stay as they are.
    frozen: bool,
    trend: Option<Anderson>,
    /// Ĵᵀ p and steps of it. (n columns)
    pub(super) u: Vec<Six>,
    pub(super) step: Vec<Six>,
    pub(super) factor: Cholesky,
    /// Whether the limits of friction follow the normal impulses within a round; see [`coupled`](super::coupled).
    pub coupled: bool,
    pub(super) direction: Vec<Six>,
    pub(super) kept: Kept,
    /// Sides by the impulses of the guess, where there are any. (n blocks)
    pub(super) trusted: Vec<Side>,
    pub trusts: bool,
    /// Weight of the rows where friction is coupled.
    pub(super) weight: f64,
    /// The part of the friction that is left out; see [`Newton::add_friction`].
    pub(super) missing: f64,
    pub(super) next: Vec<f64>,
    pub(super) lu: Lu,
}

impl Newton {
    /// Takes the rows at the poses of the bodies.
    pub(super) fn prepare(&mut self, pattern: &Pattern, rows: &Rows, bodies: &Bodies) {
        let (n_rows, n_blocks) = (rows.impulse.len(), rows.blocks.len());
        self.jac.resize(rows.jac.len(), 0.0);
        self.k_inv.resize(rows.k_inv.len(), 0.0);
        let Newton { p, next, centre, best, e, e_step, .. } = self;
        for numbers in [p, next, centre, best, e, e_step] {
            numbers.resize(n_rows, 0.0);
        }
        let Newton { allowed, stiffness, limit, shift, wanted, .. } = self;
        for numbers in [allowed, stiffness, limit, shift, wanted] {
            numbers.resize(n_blocks, 0.0);
        }
        self.trend = None;
        self.weight = WEIGHT;
        self.cone.resize(n_blocks, None);
        self.side.resize(n_blocks, Side::Given);
        self.side_before.resize(n_blocks, Side::Given);
        self.u.resize(pattern.body.len(), [0.0; 6]);
        self.step.resize(pattern.body.len(), [0.0; 6]);
        self.factor.resize(pattern);
        self.lu.resize(pattern);
        for (i, block) in rows.blocks.iter().enumerate() {
            let (n, width) = (block.n_rows, 6 * block.n_bodies);
            for slot in 0..block.n_bodies {
                let body = rows.body_list[block.first_body + slot];
                let (m, inertia) = (bodies.mass_inv[body].sqrt(), &bodies.inertia_inv[body]);
                let roots = [inertia.x.sqrt(), inertia.y.sqrt(), inertia.z.sqrt()];
                let rot = &bodies.poses[body].rot;
                for row in 0..n {
                    let at = block.jac + row * width + 6 * slot;
                    let jac = &rows.jac[at..at + 6];
                    let own = &mut self.jac[at..at + 6];
                    for k in 0..3 {
                        own[k] = m * jac[k];
                        let turn: f64 = (0..3).map(|j| rot[(j, k)] * jac[3 + j]).sum();
                        own[3 + k] = roots[k] * turn;
                    }
                }
            }
            match block.bound {
                Bound::None => {
                    let k = &mut self.k_inv[block.k..block.k + n * n];
                    let jac = &self.jac[block.jac..block.jac + n * width];
                    for a in 0..n {
                        for b in 0..n {
                            let pair = jac[a * width..][..width].iter().zip(&jac[b * width..]);
                            k[a * n + b] = pair.map(|(x, y)| x * y).sum();
                        }
                    }
                    small::invert(k, n);
                }
                Bound::Contact | Bound::Disk => self.stiffness[i] = rows.stiffness(i),
                Bound::Stop | Bound::Friction => {
                    let jac = &self.jac[block.jac..block.jac + width];
                    self.stiffness[i] = jac.iter().map(|x| x * x).sum();
                }
            }
        }
    }

    /// Begins with the impulses p of an island.
    pub(super) fn begin(&mut self, pattern: &Pattern, rows: &Rows, island: &Island) {
        self.u[island.columns.0..island.columns.1].fill([0.0; 6]);
        for &i in &pattern.blocks[island.blocks.0..island.blocks.1] {
            if !rows.inactive[i] {
                push(&self.jac, &self.p, pattern, rows, i, 1.0, &mut self.u);
            }
        }
    }

    /// Finds impulses p whose rates e fit them, as `near` as asked. Returns the number of solves and 0, or how far from near enough
    /// the best impulses found are, which it leaves.
    ///
    /// A proximal point method: with weights D = r/K, the impulses P(p − D e), P the projection on the bounds, are what the rows
    /// have where the velocities u solve
    ///
    /// ```text
    /// u = Ĵᵀ P(p − D (e + Ĵ Δu)),       H = 1 + Ĵᵀ D P′ Ĵ
    /// ```
    /// the minimum of a convex function of u, which Newton's method finds; then they become p. What it ends at does not depend on r, and
    /// rows that say the same need no decision between them. \[Rockafellar 1976\]; \[Qi, Sun 1993\].
    ///
    /// The limits of friction follow the normal impulses from round to round, which finds no end where the two depend on each other too much.
    /// With `cones` the impulses of a contact are projected together, on |p_t| ≤ μ |p_n|, with s = μ |e_t| of the round before taken off the
    /// normal rate, since a cone would else open the gap by that: \[De Saxcé, Feng 1998\], \[Acary, Cadoux, Lemaréchal, Malick 2011\]. Whatever s ≥ 0 is, the
    /// problem is convex, and its impulses take energy: p·e = −s |p_n|.
    ///
    /// Where the rounds of s find no end either, s stays as it is, and the convex problem is solved for it: joints are closed, nothing goes
    /// into anything else, friction is against the motion and within its cone; but contacts open a little while they push, by
    /// [`Found::loose`] at most.
    pub(super) fn settle(
        &mut self,
        pattern: &Pattern,
        rows: &Rows,
        island: &Island,
        near: Near,
    ) -> Found {
        let mut solves = 0;
        if std::mem::take(&mut self.trusts) {
            let (own, mut found) = self.trust(pattern, rows, island, near);
            solves += own;
            if !found && !self.cones {
                let own;
                (own, found) = self.add_friction(pattern, rows, island, near);
                solves += own;
            }
            if found {
                return Found { solves, off: 0.0, loose: 0.0 };
            }
        }
        let found = self.rounds(pattern, rows, island, near);
        Found { solves: solves + found.solves, ..found }
    }

    /// The rounds of [`settle`](Newton::settle).
    pub(super) fn rounds(
        &mut self,
        pattern: &Pattern,
        rows: &Rows,
        island: &Island,
        near: Near,
    ) -> Found {
        let (mut most, patience) =
            if self.cones { MOST_CONE_SOLVES } else { (MOST_SOLVES, PATIENCE) };
        let (mut solves, mut rounds) = (0, 0);
        self.find_cones(pattern, rows, island);
        self.frozen = false;
        let (mut fresh, mut first_left) = (true, 0.0);
        let (mut best, mut best_at, mut best_enough) = (f64::INFINITY, 0, f64::INFINITY);
        let (mut factored, mut inner, mut next_try) = (false, 0, FIRST_TRY);
        self.coupled = false;
        self.sides_of_round.clear();
        loop {
            if fresh {
                let mut worst = self.worst(pattern, rows, island, near);
                if rounds >= next_try && !self.frozen && self.slips(pattern, island) {
                    self.trust_impulses(pattern, rows, island);
                    let (own, found) = self.trust(pattern, rows, island, near);
                    solves += own;
                    factored = false;
                    if found {
                        return Found { solves, off: 0.0, loose: 0.0 };
                    }
                    worst = self.worst(pattern, rows, island, near);
                    while worst >= 1.0 {
                        let (own, after) = self.try_coupled(pattern, rows, island, near, worst);
                        solves += own;
                        if after > GAIN * worst {
                            next_try = rounds + PAUSE;
                            worst = worst.min(after);
                            break;
                        }
                        worst = after;
                    }
                }
                if worst < 1.0 {
                    let loose =
                        if self.frozen { self.looseness(pattern, rows, island) } else { 0.0 };
                    return Found { solves, off: 0.0, loose };
                }
                let enough = self.worst(pattern, rows, island, Near::ENOUGH);
                if enough < best_enough {
                    best_enough = enough;
                    for &i in &pattern.blocks[island.blocks.0..island.blocks.1] {
                        let (row, n) = (rows.blocks[i].first_row, rows.blocks[i].n_rows);
                        self.best[row..row + n].copy_from_slice(&self.p[row..row + n]);
                    }
                }
                let held = !self.cones && self.worst_held(pattern, rows, island, near) < 1.0;
                self.set_centres(pattern, rows, island, held && solves > 0);
                // What changes sides follows no trend.
                let lost = self.sides_of_round != self.side || enough > LOST * best_enough;
                self.set_shifts(pattern, rows, island, rounds == 0 || lost);
                self.sides_of_round.clone_from(&self.side);
                rounds += 1;
                self.respond(pattern, rows, island);
                if worst < 0.5 * best {
                    (best, best_at) = (worst, solves);
                }
                let patience = if best_enough < 1.0 { PATIENCE } else { patience };
                if !worst.is_finite() || rows.stop.is_asked() {
                    break;
                }
                let tired = solves > best_at + patience && rounds > LEAST_ROUNDS
                    || !self.cones && inner >= MOST_INNER && rounds > 1;
                if solves >= most || tired {
                    if !self.cones || self.frozen || best_enough < 1.0 {
                        break;
                    }
                    self.frozen = true;
                    (best, best_at, best_enough) = (f64::INFINITY, solves, f64::INFINITY);
                    most = solves + MOST_SOLVES;
                }
                first_left = 0.0;
                inner = 0;
            }
            let slips = self.slips(pattern, island);
            if !factored || slips || self.sides_changed(pattern, island) {
                self.assemble(pattern, rows, island);
                self.factor.factorize(pattern, island);
                factored = true;
            }
            self.note_sides(pattern, island);
            let left = self.residual(pattern, rows, island);
            first_left = if first_left == 0.0 { left } else { first_left };
            self.factor.solve(pattern, island, &mut self.step);
            let alpha = self.search(pattern, rows, island);
            self.go(pattern, rows, island, alpha);
            solves += 1;
            self.respond(pattern, rows, island);
            // With the same rows the function is a parabola, and its minimum found. The residual is of the size D e: what is left of
            // it is to be small beside e.
            let settled =
                alpha.total_cmp(&1.0).is_eq() && !slips && !self.sides_changed(pattern, island);
            inner += 1;
            fresh = settled
                || self.residual(pattern, rows, island) <= 0.1 / WEIGHT * first_left
                || inner >= MOST_INNER;
            if fresh {
                self.take(pattern, rows, island);
            }
        }
        for &i in &pattern.blocks[island.blocks.0..island.blocks.1] {
            let (row, n) = (rows.blocks[i].first_row, rows.blocks[i].n_rows);
            self.p[row..row + n].copy_from_slice(&self.best[row..row + n]);
        }
        let loose = if self.frozen { self.looseness(pattern, rows, island) } else { 0.0 };
        Found { solves, off: best_enough, loose }
    }

    /// By how much the shifts of cones are wrong: |s − μ |e_t|| of those that push.
    fn looseness(&self, pattern: &Pattern, rows: &Rows, island: &Island) -> f64 {
        let mut most = 0.0;
        for &i in &pattern.blocks[island.blocks.0..island.blocks.1] {
            let Some(slide) = self.cone[i].filter(|&slide| slide != i) else { continue };
            let row = rows.blocks[slide].first_row;
            if self.p[row - 1] != 0.0 {
                let right = self.disk_ratio(rows, slide).1 * self.e[row].hypot(self.e[row + 1]);
                most = f64::max(most, (self.shift[i] - right).abs());
            }
        }
        most
    }

    /// Begins a round: limits of friction by the normal impulses there are, and centres. While Newton goes on they stay: with them the
    /// function is convex.
    ///
    /// Rows that hold well enough (`held`) keep their centres. Contacts that say the same never quite agree, and in every round the
    /// weights would add to the stress between them; the friction that slips with it would find no end.
    fn set_centres(&mut self, pattern: &Pattern, rows: &Rows, island: &Island, held: bool) {
        for &i in &pattern.blocks[island.blocks.0..island.blocks.1] {
            if !held || self.side[i] == Side::Slips {
                let (row, n) = (rows.blocks[i].first_row, rows.blocks[i].n_rows);
                self.centre[row..row + n].copy_from_slice(&self.p[row..row + n]);
            }
        }
        self.set_limits(pattern, rows, island);
    }

    /// The row of the normal that goes with friction block `i`, and the largest ratio of their impulses.
    #[inline]
    pub(super) fn disk_ratio(&self, rows: &Rows, i: usize) -> (usize, f64) {
        let (row, ratio) = rows.disk_ratio(i);
        (row, (1.0 - self.missing) * ratio)
    }

    /// Begins with shifts that may change.
    pub(super) fn unfreeze(&mut self) {
        self.frozen = false;
    }

    /// Which contacts are cones: those whose normal and friction both take part. (Where normals are given, friction has its disk.)
    pub(super) fn find_cones(&mut self, pattern: &Pattern, rows: &Rows, island: &Island) {
        for &i in &pattern.blocks[island.blocks.0..island.blocks.1] {
            let slide = i + 1;
            let pair = self.cones
                && rows.blocks[i].bound == Bound::Contact
                && rows.slides(slide)
                && !rows.inactive[i]
                && !rows.inactive[slide]
                && self.stiffness[i] > 0.0
                && self.stiffness[slide] > 0.0;
            self.cone[i] = pair.then_some(slide);
            if rows.blocks[i].bound == Bound::Disk {
                self.cone[i] = (i > 0 && self.cone[i - 1] == Some(i)).then_some(i);
            }
        }
    }

    /// The normal of block `i` with its friction, if that is a cone: √ of the weights and the slope of the scaled cone.
    #[inline]
    fn cone_of(&self, rows: &Rows, i: usize) -> Option<(f64, f64, f64)> {
        let slide = self.cone[i].filter(|&slide| slide != i)?;
        let (n, t) = ((WEIGHT / self.stiffness[i]).sqrt(), (WEIGHT / self.stiffness[slide]).sqrt());
        Some((n, t, self.disk_ratio(rows, slide).1 * n / t))
    }

    /// Whether block `i` is the friction of a cone, which goes with its normal.
    #[inline]
    fn goes_with_normal(&self, i: usize) -> bool {
        self.cone[i] == Some(i)
    }

    /// Takes μ |e_t| off the normal rates of cones, accelerated over the rounds ([`Anderson`]); `lost` forgets the earlier ones.
    fn set_shifts(&mut self, pattern: &Pattern, rows: &Rows, island: &Island, lost: bool) {
        if !self.cones || self.frozen {
            return;
        }
        self.wanted.copy_from_slice(&self.shift);
        for &i in &pattern.blocks[island.blocks.0..island.blocks.1] {
            let Some(slide) = self.cone[i].filter(|&slide| slide != i) else { continue };
            let row = rows.blocks[slide].first_row;
            self.wanted[i] = self.disk_ratio(rows, slide).1 * self.e[row].hypot(self.e[row + 1]);
        }
        let n = self.shift.len();
        let trend = self.trend.get_or_insert_with(|| Anderson::new(n));
        if lost {
            trend.reset();
            self.shift.copy_from_slice(&self.wanted);
            return;
        }
        trend.before(&self.shift);
        let delta = trend.after(&self.wanted);
        for k in 0..n {
            self.shift[k] = (self.wanted[k] + delta[k]).max(0.0);
        }
    }

    /// A cone's impulses: the nearest point of the cone to p − D (e + α ė) in the metric of the weights D, its place and D^½ P′ D^½.
    #[inline]
    fn pressed_cone(
        &self,
        rows: &Rows,
        i: usize,
        alpha: f64,
        (n, t, m): (f64, f64, f64),
    ) -> ([f64; 3], Place, [f64; 9]) {
        let row = rows.blocks[i].first_row;
        let e = |k: usize| self.e[row + k] + alpha * self.e_step[row + k];
        // The impulse of the normal is negative where it pushes.
        let y = [
            -self.centre[row] / n + n * (e(0) - self.shift[i]),
            self.centre[row + 1] / t - t * e(1),
            self.centre[row + 2] / t - t * e(2),
        ];
        let (z, place, d) = nearest(y, m);
        let scale = [-n, t, t];
        let mut weighted = d;
        for a in 0..3 {
            for b in 0..3 {
                weighted[3 * a + b] *= scale[a] * scale[b];
            }
        }
        ([-n * z[0], t * z[1], t * z[2]], place, weighted)
    }

    pub(super) fn set_limits(&mut self, pattern: &Pattern, rows: &Rows, island: &Island) {
        for &i in &pattern.blocks[island.blocks.0..island.blocks.1] {
            if rows.blocks[i].bound == Bound::Disk {
                let (normal, ratio) = self.disk_ratio(rows, i);
                self.limit[i] = ratio * self.p[normal].abs();
            }
        }
    }

    /// P(p − D e) and the sides of all blocks.
    pub(super) fn respond(&mut self, pattern: &Pattern, rows: &Rows, island: &Island) {
        for &i in &pattern.blocks[island.blocks.0..island.blocks.1] {
            let (row, n) = (rows.blocks[i].first_row, rows.blocks[i].n_rows);
            if self.goes_with_normal(i) {
                continue;
            }
            if let Some(cone) = self.cone_of(rows, i) {
                let (next, place, _) = self.pressed_cone(rows, i, 0.0, cone);
                self.next[row..row + 3].copy_from_slice(&next);
                self.side[i] = match place {
                    Place::Inside => Side::Holds,
                    Place::Below => Side::Given,
                    Place::Edge => Side::Slips,
                };
                self.side[i + 1] = self.side[i];
                continue;
            }
            if self.coupled && rows.blocks[i].bound == Bound::Disk {
                let (normal, ratio) = self.disk_ratio(rows, i);
                self.limit[i] = ratio * self.next[normal].abs();
            }
            let mut next = [0.0; small::MAX];
            self.side[i] = self.pressed(rows, i, 0.0, &mut next);
            self.next[row..row + n].copy_from_slice(&next[..n]);
        }
    }

    /// P(p − D (e + α ė)) of a block with the limits there are.
    #[inline]
    fn pressed(&self, rows: &Rows, i: usize, alpha: f64, next: &mut [f64; small::MAX]) -> Side {
        let block = &rows.blocks[i];
        let (row, n) = (block.first_row, block.n_rows);
        let rows_of = row..row + n;
        let (p, e, e_step) =
            (&self.centre[rows_of.clone()], &self.e[rows_of.clone()], &self.e_step[rows_of]);
        if rows.inactive[i] {
            next[..n].copy_from_slice(p);
            return Side::Given;
        }
        match block.bound {
            Bound::None => {
                for a in 0..n {
                    let k_inv = &self.k_inv[block.k + a * n..][..n];
                    let sum: f64 = (0..n).map(|b| k_inv[b] * (e[b] + alpha * e_step[b])).sum();
                    next[a] = p[a] - WEIGHT * sum;
                }
                Side::Holds
            }
            Bound::Disk => {
                let (k, limit) = (self.stiffness[i], self.limit[i]);
                let weight = if k > 0.0 { WEIGHT / k } else { 0.0 };
                for a in 0..n {
                    next[a] = p[a] - weight * (e[a] + alpha * e_step[a]);
                }
                let size = if n == 2 { small::length(next[0], next[1]) } else { next[0].abs() };
                if size <= limit {
                    return Side::Holds;
                }
                for next in &mut next[..n] {
                    *next *= limit / size;
                }
                if limit > 0.0 && n == 2 { Side::Slips } else { Side::Given }
            }
            Bound::Stop | Bound::Friction | Bound::Contact => {
                let k = self.stiffness[i];
                let weight = if k > 0.0 { WEIGHT / k } else { 0.0 };
                let wanted = p[0] - weight * (e[0] + alpha * e_step[0]);
                next[0] = wanted.clamp(rows.lower[row], rows.upper[row]);
                if wanted.total_cmp(&next[0]).is_eq() && rows.lower[row] < rows.upper[row] {
                    Side::Holds
                } else {
                    Side::Given
                }
            }
        }
    }

    /// The worst rate over what is `near` enough: |p − P(p − e/K)| K.
    pub(super) fn worst(&self, pattern: &Pattern, rows: &Rows, island: &Island, near: Near) -> f64 {
        let mut worst = 0.0;
        for &i in &pattern.blocks[island.blocks.0..island.blocks.1] {
            let off = self.off_by(rows, i, near);
            if off > worst || off.is_nan() {
                worst = off;
            }
        }
        worst
    }

    /// The same of all but friction that slips.
    fn worst_held(&self, pattern: &Pattern, rows: &Rows, island: &Island, near: Near) -> f64 {
        let blocks = &pattern.blocks[island.blocks.0..island.blocks.1];
        let held = blocks.iter().filter(|&&i| self.side[i] != Side::Slips);
        held.map(|&i| self.off_by(rows, i, near)).fold(0.0, f64::max)
    }

    /// The same of one block.
    pub(super) fn off_by(&self, rows: &Rows, i: usize, near: Near) -> f64 {
        if rows.inactive[i] {
            return 0.0;
        }
        let block = &rows.blocks[i];
        let (row, n) = (block.first_row, block.n_rows);
        let (p, e) = (&self.p[row..row + n], &self.e[row..row + n]);
        let (k, allowed, part) = (self.stiffness[i], self.allowed[i], near.held);
        if self.frozen && self.goes_with_normal(i) {
            return 0.0;
        }
        if self.frozen
            && let Some((n, t, m)) = self.cone_of(rows, i)
        {
            // The same of the cone with its shift, with weights 1/K.
            let (n, t) = (n / WEIGHT.sqrt(), t / WEIGHT.sqrt());
            let at = |k: usize| (self.p[row + k], self.e[row + k]);
            let ((p0, e0), (p1, e1), (p2, e2)) = (at(0), at(1), at(2));
            let now = [-p0 / n, p1 / t, p2 / t];
            let y = [now[0] + n * (e0 - self.shift[i]), now[1] - t * e1, now[2] - t * e2];
            let z = nearest(y, m).0;
            let (normal, across) = ((now[0] - z[0]) / n, (now[1] - z[1]).hypot(now[2] - z[2]) / t);
            return normal.abs().max(across) / (part * allowed).max(self.floor);
        }
        match block.bound {
            Bound::None => e.iter().map(|e| e * e).sum::<f64>().sqrt() / (part * allowed),
            _ if k <= 0.0 => 0.0,
            Bound::Disk => {
                let (normal, ratio) = self.disk_ratio(rows, i);
                let limit = ratio * self.p[normal].abs();
                let mut x = [0.0; 2];
                for a in 0..n {
                    x[a] = p[a] - e[a] / k;
                }
                // What holds within its disk, and well enough, holds; where it slips is another matter.
                let (held, slow) = (small::length(p[0], p[n - 1]), small::length(e[0], e[n - 1]));
                if slow < part * allowed && held <= limit * (1.0 + 1e-9) {
                    return slow / (part * allowed);
                }
                // At its edge, and slower than anything that is seen: the direction is no matter.
                let edge = held >= limit * (1.0 - 1e-6) && held <= limit * (1.0 + 1e-9);
                if edge && limit > 0.0 && slow < Near::ENOUGH.slips * allowed {
                    return slow / (Near::ENOUGH.slips * allowed);
                }
                let size = small::length(x[0], x[1]);
                let (cut, part) =
                    if size > limit { (limit / size, near.slips) } else { (1.0, part) };
                let far: f64 = (0..n).map(|a| (p[a] - cut * x[a]) * (p[a] - cut * x[a])).sum();
                far.sqrt() * k / (part * allowed).max(self.floor)
            }
            _ => {
                let next = (p[0] - e[0] / k).clamp(rows.lower[row], rows.upper[row]);
                (p[0] - next).abs() * k / (part * allowed)
            }
        }
    }

    fn slips(&self, pattern: &Pattern, island: &Island) -> bool {
        pattern.blocks[island.blocks.0..island.blocks.1]
            .iter()
            .any(|&i| self.side[i] == Side::Slips)
    }

    fn sides_changed(&self, pattern: &Pattern, island: &Island) -> bool {
        let blocks = &pattern.blocks[island.blocks.0..island.blocks.1];
        blocks.iter().any(|&i| self.side[i] != self.side_before[i])
    }

    fn note_sides(&mut self, pattern: &Pattern, island: &Island) {
        for &i in &pattern.blocks[island.blocks.0..island.blocks.1] {
            self.side_before[i] = self.side[i];
        }
    }

    /// H = 1 + Ĵᵀ D P′ Ĵ.
    pub(super) fn assemble(&mut self, pattern: &Pattern, rows: &Rows, island: &Island) {
        self.factor.reset(pattern, island);
        for &i in &pattern.blocks[island.blocks.0..island.blocks.1] {
            let block = &rows.blocks[i];
            let (mut n, width) = (block.n_rows, 6 * block.n_bodies);
            if self.goes_with_normal(i) {
                continue;
            }
            let mut d = [0.0; small::MAX * small::MAX];
            match self.side[i] {
                Side::Given => continue,
                // The rows of friction follow that of the normal.
                _ if self.cone_of(rows, i).is_some() => {
                    if let Some(cone) = self.cone_of(rows, i) {
                        n = 3;
                        d[..9].copy_from_slice(&self.pressed_cone(rows, i, 0.0, cone).2);
                    }
                }
                Side::Holds if block.bound == Bound::None => {
                    for (d, k) in d.iter_mut().zip(&self.k_inv[block.k..block.k + n * n]) {
                        *d = WEIGHT * k;
                    }
                }
                Side::Holds => {
                    for a in 0..n {
                        d[a * n + a] = WEIGHT / self.stiffness[i];
                    }
                }
                Side::Slips => {
                    // The projection turns with the rate: (limit/|x|) (1 − x xᵀ/|x|²).
                    let weight = WEIGHT / self.stiffness[i];
                    let row = block.first_row;
                    let x = [0, 1].map(|a| self.centre[row + a] - weight * self.e[row + a]);
                    let size = small::length(x[0], x[1]);
                    let (c, s) = (x[0] / size, x[1] / size);
                    let w = weight * self.limit[i] / size;
                    d[0] = w * s * s;
                    d[1] = -w * c * s;
                    d[2] = d[1];
                    d[3] = w * c * c;
                }
            }
            let jac = &self.jac[block.jac..block.jac + n * width];
            for slot in 0..block.n_bodies {
                // D Ĵ of this body, then all that it meets.
                let mut weighted = [[0.0; 6]; small::MAX];
                let pairs = &pattern.pairs[pattern.first_pair[i]..pattern.first_pair[i + 1]];
                if !pairs.iter().any(|pair| pair.slot_b == slot) {
                    continue;
                }
                for a in 0..n {
                    for b in 0..n {
                        let w = d[a * n + b];
                        if w != 0.0 {
                            let jac = &jac[b * width + 6 * slot..][..6];
                            for k in 0..6 {
                                weighted[a][k] += w * jac[k];
                            }
                        }
                    }
                }
                for pair in pairs.iter().filter(|pair| pair.slot_b == slot) {
                    let columns = &pattern.columns[block.first_body..];
                    let target = if columns[pair.slot_a] == columns[pair.slot_b] {
                        &mut self.factor.diagonal[pair.place]
                    } else {
                        &mut self.factor.below[pair.place]
                    };
                    for a in 0..n {
                        let jac = &jac[a * width + 6 * pair.slot_a..][..6];
                        let weighted = &weighted[a];
                        for k in 0..6 {
                            for m in 0..6 {
                                target[6 * k + m] += jac[k] * weighted[m];
                            }
                        }
                    }
                }
            }
        }
    }

    /// step = Ĵᵀ P − u; returns its size.
    pub(super) fn residual(&mut self, pattern: &Pattern, rows: &Rows, island: &Island) -> f64 {
        let columns = island.columns.0..island.columns.1;
        for k in columns.clone() {
            self.step[k] = self.u[k].map(|u| -u);
        }
        for &i in &pattern.blocks[island.blocks.0..island.blocks.1] {
            if !rows.inactive[i] {
                push(&self.jac, &self.next, pattern, rows, i, 1.0, &mut self.step);
            }
        }
        self.step[columns].iter().flatten().fold(0.0, |a: f64, b| a.max(b.abs()))
    }

    /// Rates along the step.
    pub(super) fn pull_step(&mut self, pattern: &Pattern, rows: &Rows, island: &Island) {
        for &i in &pattern.blocks[island.blocks.0..island.blocks.1] {
            pull(&self.jac, &self.step, pattern, rows, i, &mut self.e_step, false);
        }
    }

    /// Rates along the step, and how far to go: φ′(α) = (u + α d)·d − P(α)·Ĵ d is to vanish about.
    fn search(&mut self, pattern: &Pattern, rows: &Rows, island: &Island) -> f64 {
        self.pull_step(pattern, rows, island);
        let (mut ud, mut dd) = (0.0, 0.0);
        for k in island.columns.0..island.columns.1 {
            for m in 0..6 {
                ud += self.u[k][m] * self.step[k][m];
                dd += self.step[k][m] * self.step[k][m];
            }
        }
        let slope = |alpha: f64| {
            let mut sum = ud + alpha * dd;
            let mut next = [0.0; small::MAX];
            for &i in &pattern.blocks[island.blocks.0..island.blocks.1] {
                if rows.inactive[i] || self.goes_with_normal(i) {
                    continue;
                }
                let (row, mut n) = (rows.blocks[i].first_row, rows.blocks[i].n_rows);
                if let Some(cone) = self.cone_of(rows, i) {
                    next[..3].copy_from_slice(&self.pressed_cone(rows, i, alpha, cone).0);
                    n = 3;
                } else {
                    self.pressed(rows, i, alpha, &mut next);
                }
                for a in 0..n {
                    sum -= next[a] * self.e_step[row + a];
                }
            }
            sum
        };
        let (start, end) = (slope(0.0), slope(1.0));
        // φ′ is negative at 0, but for rounding, and never falls; NaN goes on to be found out.
        if start >= 0.0 || end.is_nan() || end <= 0.5 * start.abs() {
            return 1.0;
        }
        let (mut low, mut at_low, mut high, mut at_high) = (0.0, start, 1.0, end);
        let mut alpha = 1.0;
        for round in 0..60 {
            // φ′ has kinks: false position with every other step a bisection.
            alpha = if round % 2 == 1 {
                0.5 * (low + high)
            } else {
                low - at_low * (high - low) / (at_high - at_low)
            };
            let now = slope(alpha);
            if now.abs() <= 0.2 * start.abs() {
                break;
            }
            if now < 0.0 {
                (low, at_low) = (alpha, now);
            } else {
                (high, at_high) = (alpha, now);
            }
        }
        alpha
    }

    /// u and e go on by α times the step.
    pub(super) fn go(&mut self, pattern: &Pattern, rows: &Rows, island: &Island, alpha: f64) {
        for k in island.columns.0..island.columns.1 {
            for m in 0..6 {
                self.u[k][m] += alpha * self.step[k][m];
            }
        }
        for &i in &pattern.blocks[island.blocks.0..island.blocks.1] {
            let (row, n) = (rows.blocks[i].first_row, rows.blocks[i].n_rows);
            for k in row..row + n {
                self.e[k] += alpha * self.e_step[k];
            }
        }
    }

    /// p = P, and u and e with it; the step is P's residual.
    pub(super) fn take(&mut self, pattern: &Pattern, rows: &Rows, island: &Island) {
        self.residual(pattern, rows, island);
        for &i in &pattern.blocks[island.blocks.0..island.blocks.1] {
            let (row, n) = (rows.blocks[i].first_row, rows.blocks[i].n_rows);
            self.p[row..row + n].copy_from_slice(&self.next[row..row + n]);
            pull(&self.jac, &self.step, pattern, rows, i, &mut self.e, true);
        }
        for k in island.columns.0..island.columns.1 {
            for m in 0..6 {
                self.u[k][m] += self.step[k][m];
            }
        }
    }
}

/// u += part Ĵᵀ p of a block.
#[inline]
pub(super) fn push(
    jac: &[f64],
    p: &[f64],
    pattern: &Pattern,
    rows: &Rows,
    i: usize,
    part: f64,
    u: &mut [Six],
) {
    let block = &rows.blocks[i];
    let width = 6 * block.n_bodies;
    for slot in 0..block.n_bodies {
        let column = pattern.columns[block.first_body + slot];
        if !Pattern::moves(column) {
            continue;
        }
        let u = &mut u[column];
        for row in 0..block.n_rows {
            let jac = &jac[block.jac + row * width + 6 * slot..][..6];
            let p = part * p[block.first_row + row];
            for k in 0..6 {
                u[k] += jac[k] * p;
            }
        }
    }
}

/// e = Ĵ u of a block, or added to what is there.
#[inline]
pub(super) fn pull(
    jac: &[f64],
    u: &[Six],
    pattern: &Pattern,
    rows: &Rows,
    i: usize,
    e: &mut [f64],
    add: bool,
) {
    let block = &rows.blocks[i];
    let width = 6 * block.n_bodies;
    for row in 0..block.n_rows {
        let mut sum = if add { e[block.first_row + row] } else { 0.0 };
        for slot in 0..block.n_bodies {
            let column = pattern.columns[block.first_body + slot];
            if Pattern::moves(column) {
                let (jac, u) = (&jac[block.jac + row * width + 6 * slot..][..6], &u[column]);
                for k in 0..6 {
                    sum += jac[k] * u[k];
                }
            }
        }
        e[block.first_row + row] = sum;
    }
}
