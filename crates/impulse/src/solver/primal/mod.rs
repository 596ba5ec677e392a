//! Bodies that touch: Newton on the velocities of the bodies, island by island.
//!
//! The direct solver eliminates the velocities and factorizes K = J M⁻¹ Jᵀ over the rows. Where bodies rest on one another there are many more
//! rows than velocities, most of them redundant. Here the impulses are eliminated: H has one block of 6 × 6 for each body, however many
//! points touch.

mod cholesky;
mod cone;
mod coupled;
mod lu;
mod newton;
mod pattern;
mod relax;

use gelenk_model::Model;

use self::newton::{Found, Near, Newton};
use self::pattern::{Island, Pattern};
use crate::bounds::Bound;
use crate::method::Method;
use crate::rows::{Look, Rows};
use crate::scratch::{Bodies, Scratch};
use crate::small;
use crate::solver::norm;

/// What is corrected is corrected to this part of its tolerance, so that what rests needs nothing in the steps that follow.
const DEEP: f64 = 0.01;

/// Rounding of rates reaches impulses as often as the weights of the rows say; as a part of the largest speed.
const FLOOR: f64 = 1e5 * f64::EPSILON;

/// Contacts whose friction finds no end may open with this part of the largest speed while they push; the run tells.
const LOOSEST: f64 = 0.01;

/// Rates of contacts whose friction finds no end may be off by this many tolerances; the run tells.
const MOST_OFF: f64 = 100.0;

/// Most looks at C(t+h).
const MOST_LOOKS: u32 = 12;

/// The ways to friction whose limits are the normal impulses, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Limits of the round before, and within the round where all have taken their sides: [`coupled`].
    Limits,
    /// Cones with shifts: [`cone`].
    Cones,
}

/// Memory of the solver.
#[derive(Clone, Debug, Default)]
pub struct Primal {
    pattern: Pattern,
    newton: Newton,
    /// Whether the numbers belong to the present rows.
    pub(crate) ready: bool,
}

/// Position correction from the impulses there are: the number of solves, and whether all is closed. If not, the impulses are
/// those there were.
pub(crate) fn settle_positions(
    model: &Model,
    method: &Method,
    look: &Look<'_>,
    scratch: &mut Scratch,
) -> (u64, bool) {
    let floor = scratch.bodies.position_floor();
    scratch.with_primal(|primal, scratch| {
        let Scratch { bodies, rows, work, .. } = scratch;
        let rate = 1.0 / look.h;
        for i in 0..rows.blocks.len() {
            let block = &rows.blocks[i];
            let tolerance = block.tolerance.unwrap_or(method.tolerance).max(floor);
            let (_, allowed) = block.bound.target(0.0, tolerance);
            primal.newton.allowed[i] = allowed * rate.abs();
        }
        let slow = method.tolerance * rate.abs();
        let see = |newton: &mut Newton, rows: &mut Rows, bodies: &mut Bodies, i: usize| {
            let (row, n) = (rows.blocks[i].first_row, rows.blocks[i].n_rows);
            let mut c = [0.0; small::MAX];
            rows.error_ahead(i, model, bodies, look, work, &mut c[..n]);
            let bound = rows.blocks[i].bound;
            rows.gap[i] = match bound {
                Bound::None => norm(&c[..n]),
                Bound::Stop | Bound::Contact => c[0].max(0.0),
                Bound::Friction | Bound::Disk => 0.0,
            };
            let tolerance = rows.blocks[i].tolerance.unwrap_or(method.tolerance).max(floor);
            for k in 0..n {
                // What rests at a stop keeps half of what is allowed away from it.
                let target = bound.target(rows.target[row + k], tolerance).0;
                newton.e[row + k] = (c[k] - target) * rate;
            }
        };
        primal.settle(rows, bodies, false, (slow, rate.abs()), see)
    })
}

/// Velocity correction from the impulses there are, likewise.
pub(crate) fn settle_velocities(method: &Method, scratch: &mut Scratch) -> (u64, bool) {
    let tolerance = method.velocity_tolerance.max(scratch.bodies.velocity_floor());
    scratch.with_primal(|primal, scratch| {
        let Scratch { bodies, rows, .. } = scratch;
        primal.newton.allowed.fill(tolerance);
        let see = |newton: &mut Newton, rows: &mut Rows, bodies: &mut Bodies, i: usize| {
            let (row, n) = (rows.blocks[i].first_row, rows.blocks[i].n_rows);
            rows.error_rate(i, &bodies.twists, &mut newton.e[row..row + n]);
            let e = &newton.e[row..row + n];
            rows.velocity_error[i] = match rows.blocks[i].bound {
                Bound::None => norm(e),
                Bound::Stop | Bound::Contact => e[0].max(0.0),
                Bound::Friction | Bound::Disk => 0.0,
            };
        };
        primal.settle(rows, bodies, true, (10.0 * tolerance, 0.0), see)
    })
}

impl Scratch {
    /// Runs `solve` with the solver's memory at the present rows.
    fn with_primal(
        &mut self,
        solve: impl FnOnce(&mut Primal, &mut Scratch) -> (u64, bool),
    ) -> (u64, bool) {
        let mut primal = self.primal.take().unwrap_or_default();
        if !primal.ready {
            primal.pattern.follow(&self.rows, &self.bodies);
            primal.newton.prepare(&primal.pattern, &self.rows, &self.bodies);
            primal.ready = true;
        }
        let found = solve(&mut primal, self);
        self.primal = Some(primal);
        found
    }
}

impl Primal {
    /// Island after island; `see` writes the rates of a block at the velocities there are.
    fn settle(
        &mut self,
        rows: &mut Rows,
        bodies: &mut Bodies,
        velocity: bool,
        (slow, rate): (f64, f64),
        mut see: impl FnMut(&mut Newton, &mut Rows, &mut Bodies, usize),
    ) -> (u64, bool) {
        let speed = bodies.twists.iter().map(|v| v.s_dot.amax().max(v.omega.amax()));
        self.newton.floor = FLOOR * speed.fold(1.0, f64::max);
        let found = if velocity { &rows.velocity_impulse } else { &rows.impulse };
        self.newton.p.copy_from_slice(found);
        rows.begin_correction(velocity, bodies);
        for i in 0..rows.blocks.len() {
            rows.out[i] = rows.inactive[i];
            if velocity {
                rows.velocity_error[i] = 0.0;
            } else {
                rows.gap[i] = 0.0;
            }
        }
        let (mut solves, mut closed) = (0, true);
        for k in 0..self.pattern.islands.len() {
            let island = self.pattern.islands[k];
            let (own, settled) =
                self.settle_island(&island, rows, bodies, velocity, (slow, rate), &mut see);
            solves += own;
            if !settled {
                closed = false;
                break;
            }
        }
        if !closed {
            rows.take_back(velocity, bodies);
        }
        (solves, closed)
    }

    /// An island by one way, or by the other where that fails; see [`Newton::settle`].
    fn settle_island(
        &mut self,
        island: &Island,
        rows: &mut Rows,
        bodies: &mut Bodies,
        velocity: bool,
        (slow, rate): (f64, f64),
        see: &mut impl FnMut(&mut Newton, &mut Rows, &mut Bodies, usize),
    ) -> (u64, bool) {
        let mut solves = 0;
        for way in [Way::Limits, Way::Cones] {
            self.newton.cones = way == Way::Cones;
            let (own, settled) =
                self.settle_by_looks(island, rows, bodies, velocity, (slow, rate), see);
            solves += own;
            let slides = |i: &usize| rows.slides(*i) && !rows.inactive[*i];
            let blocks = &self.pattern.blocks[island.blocks.0..island.blocks.1];
            if settled || way == Way::Cones || !blocks.iter().any(slides) {
                return (solves, settled);
            }
            for &i in blocks {
                let (row, n) = (rows.blocks[i].first_row, rows.blocks[i].n_rows);
                self.newton.p[row..row + n].copy_from_slice(&rows.begun[row..row + n]);
                let now = if velocity { &mut rows.velocity_impulse } else { &mut rows.impulse };
                now[row..row + n].copy_from_slice(&rows.begun[row..row + n]);
            }
            // Islands share no body that moves.
            for &body in &self.pattern.body[island.columns.0..island.columns.1] {
                bodies.twists[body] = rows.begun_twists[body];
                bodies.touch(body);
            }
        }
        (solves, false)
    }

    /// Each look at the rates gives a linear problem, which is solved to the end before the next look. What moves is solved for unless it is
    /// within a small part of the tolerance; what rests only when it is out of tolerance.
    fn settle_by_looks(
        &mut self,
        island: &Island,
        rows: &mut Rows,
        bodies: &mut Bodies,
        velocity: bool,
        (slow, rate): (f64, f64),
        see: &mut impl FnMut(&mut Newton, &mut Rows, &mut Bodies, usize),
    ) -> (u64, bool) {
        let Primal { pattern, newton, .. } = self;
        let blocks = &pattern.blocks[island.blocks.0..island.blocks.1];
        let joints = blocks.iter().any(|&i| rows.blocks[i].bound == Bound::None);
        let speed = pattern.body[island.columns.0..island.columns.1]
            .iter()
            .map(|&body| bodies.twists[body].s_dot.amax())
            .fold(0.0, f64::max);
        let rests = !joints
            && pattern.body[island.columns.0..island.columns.1].iter().all(|&body| {
                let twist =
                    if velocity { &bodies.twists[body] } else { &bodies.twists_before[body] };
                twist.s_dot.amax().max(twist.omega.amax()) <= slow
            });
        let (mut solves, mut before, mut loose, mut enough) = (0, f64::INFINITY, 0.0, 1.0);
        newton.unfreeze();
        for look in 0..MOST_LOOKS {
            for &i in blocks {
                if !rows.inactive[i] {
                    see(newton, rows, bodies, i);
                }
            }
            // Gaps of joints count whole, not from the target of a part of a step.
            let joints =
                blocks.iter().filter(|&&i| rate > 0.0 && rows.blocks[i].bound == Bound::None);
            let gap = joints.map(|&i| rows.gap[i] * rate / newton.allowed[i]).fold(0.0, f64::max);
            let worst = newton.worst(pattern, rows, island, Near::ENOUGH).max(gap);
            let near =
                if look == 0 && rests { Near::WITHIN } else { Near { held: DEEP, ..Near::WITHIN } };
            let deep = newton.worst(pattern, rows, island, near);
            if deep < 1.0 || look > 0 && worst < 1.01 * enough && deep > 0.5 * before {
                rows.loose = rows.loose.max(loose);
                return (solves, loose <= LOOSEST * speed);
            }
            if worst.is_nan() || rows.stop.is_asked() || look > 2 && worst > 100.0 * before.max(1.0)
            {
                break;
            }
            before = deep;
            newton.begin(pattern, rows, island);
            if look == 0 && !rests {
                newton.relax(pattern, rows, island);
                newton.trusts = true;
            }
            let Found { solves: own, off, loose: open } =
                newton.settle(pattern, rows, island, Near { held: 0.5 * DEEP, ..near });
            solves += own;
            // Cones are the last resort: rates may be off by more than is allowed, and positions by what half the tolerance leaves.
            let most = match (newton.cones, velocity) {
                (false, _) => 1.0,
                (true, false) => 2.0,
                (true, true) => MOST_OFF,
            };
            if off >= most {
                // What was within tolerance before stays as it was.
                return (solves, worst < 1.0);
            }
            loose = open;
            if off >= 1.0 {
                let allowed = blocks.iter().map(|&i| newton.allowed[i]).fold(0.0, f64::max);
                loose = loose.max(off * allowed);
            }
            enough = off.max(1.0);
            for &i in blocks {
                if !rows.inactive[i] {
                    give(rows, bodies, i, &newton.p, velocity);
                }
            }
        }
        (solves, false)
    }
}

/// Gives block `i` the impulses `p` in place of those it has.
fn give(rows: &mut Rows, bodies: &mut Bodies, i: usize, p: &[f64], velocity: bool) {
    let (row, n) = (rows.blocks[i].first_row, rows.blocks[i].n_rows);
    let now = if velocity { &mut rows.velocity_impulse } else { &mut rows.impulse };
    let mut delta = [0.0; small::MAX];
    for k in 0..n {
        delta[k] = p[row + k] - now[row + k];
        now[row + k] = p[row + k];
    }
    rows.apply(i, &delta[..n], bodies);
}
