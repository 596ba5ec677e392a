//! The direct solver for ball joints: Newton on all of them at once.

use gelenk_model::math::Vec3;

use super::Balls;
use super::group::{Group, Slot};
use crate::error::StepError;
use crate::lanes::{F, M, V};
use crate::method::Method;
use crate::rows::{Look, Rows};
use crate::solver::{Worst, lost_positions, lost_velocities, newton};

/// Weakest pivot with which a guess is taken. Near singular positions impulses are large and tell little of the next ones; the
/// solution to follow is there the one nearest to free flight.
const WEAK: f64 = 1e-5;

impl Balls {
    /// K and its factor at the present poses; false where K is nearly singular.
    pub(crate) fn factorize(&mut self) -> bool {
        if !self.factor_ready {
            self.assemble();
            self.weakest = self.factor.factorize();
            self.factor_ready = true;
        }
        self.weakest > 0.0
    }

    /// K_jk = ± (E/m − r_j× J̃⁻¹ r_k×), summed over the links that joints j and k share.
    fn assemble(&mut self) {
        let Balls { groups, slots, factor, couplings, .. } = self;
        factor.clear();
        let mut coupling = couplings.iter();
        for group in groups.iter() {
            let own = &slots[group.first_slot..group.last_slot];
            for (k, column) in own.iter().enumerate() {
                let w = group.inertia_inv.matrix().times_cross(column.r);
                let m = group.mass_inv;
                let upper = own_response(m, column.r, &w).map(F::to_array);
                for (lane, &joint) in column.joint.iter().enumerate() {
                    for (k, upper) in factor.diagonal(joint).iter_mut().zip(&upper) {
                        *k += upper[lane];
                    }
                }
                for (row, entries) in own[k + 1..].iter().zip(&mut coupling) {
                    let sign = row.sign * column.sign;
                    let m = m * sign;
                    let columns = [w.x, w.y, w.z].map(|w| row.r.cross(w) * sign);
                    let xyz = columns.map(|c| [c.x, c.y, c.z].map(F::to_array));
                    let m = m.to_array();
                    for (lane, &entry) in entries.iter().enumerate() {
                        let block = factor.block(entry);
                        for c in 0..3 {
                            for r in 0..3 {
                                block[(r, c)] -= xyz[c][r][lane];
                            }
                            block[(c, c)] += m[lane];
                        }
                    }
                }
            }
        }
    }

    /// [`Solver::correct_positions`](crate::solver::Solver::correct_positions) where K is regular.
    pub(crate) fn correct_positions(
        &mut self,
        method: &Method,
        look: &Look<'_>,
        floor: f64,
        rows: &mut Rows,
    ) -> Result<u64, StepError> {
        self.begin_positions(&rows.guess, 1.0);
        self.target.extend(self.joints.iter().map(|joint| vector(&rows.target, joint.row)));
        let found = self.close(method, look, floor, rows.work_allowed);
        self.end(&mut rows.impulse, &mut rows.gap);
        found.map_err(|lost| lost_positions(lost, &rows.gap, look.t))
    }

    /// The same for a whole step, begun with the impulses `part` times `before`; the impulses are written, not added.
    pub(crate) fn correct_whole(
        &mut self,
        method: &Method,
        look: &Look<'_>,
        floor: f64,
        (before, part): (&[f64], f64),
        rows: &mut Rows,
    ) -> Result<u64, StepError> {
        self.begin_positions(before, part);
        let found = self.close(method, look, floor, rows.work_allowed);
        self.write(&mut rows.impulse, &mut rows.gap);
        found.map_err(|lost| lost_positions(lost, &rows.gap, look.t))
    }

    /// Newton until C(t+h) is `target`.
    fn close(
        &mut self,
        method: &Method,
        look: &Look<'_>,
        floor: f64,
        allowed: f64,
    ) -> Result<u64, (usize, u64)> {
        let see = |b: &mut Balls| b.look(look, method.tolerance, floor, allowed);
        newton(self, method.converges_fine(floor), see, Balls::solve)
    }

    /// [`Solver::correct_velocities`](crate::solver::Solver::correct_velocities) where K is regular.
    pub(crate) fn correct_velocities(
        &mut self,
        tolerance: f64,
        t: f64,
        rows: &mut Rows,
    ) -> Result<u64, StepError> {
        self.p.fill(Vec3::zeros());
        self.x.fill(Vec3::zeros());
        let found = newton(self, false, |b| b.see_rates(tolerance, -1.0), Balls::solve);
        self.end(&mut rows.velocity_impulse, &mut rows.velocity_error);
        found.map_err(|lost| lost_velocities(lost, &rows.velocity_error, t))
    }

    /// Begins a position correction with the impulses `part` times `guess`, unless the position is nearly singular.
    fn begin_positions(&mut self, guess: &[f64], part: f64) {
        let part = if self.weakest > WEAK { part } else { 0.0 };
        for ((joint, x), p) in self.joints.iter().zip(&mut self.x).zip(&mut self.p) {
            *x = vector(guess, joint.row) * part;
            *p = *x;
        }
        self.target.clear();
    }

    /// Applies the impulses x, looks at C(t+h) and leaves −(C − target)/h as the right side of the next solve.
    fn look(&mut self, look: &Look<'_>, tolerance: f64, floor: f64, allowed: f64) -> Worst {
        let rate = -1.0 / look.h;
        let mut worst = self.see_ahead(look, tolerance, floor, rate);
        for (x, target) in self.x.iter_mut().zip(&self.target) {
            *x -= target * rate;
        }
        if allowed.is_finite() {
            let work: f64 = self.p.iter().zip(&self.x).map(|(p, x)| p.dot(x).abs()).sum();
            worst.work = work / allowed;
        }
        worst
    }

    /// Applies the impulses x; x is then C(t+h) times `rate`.
    #[inline(never)] // once, so that its loop is one piece
    pub(super) fn see_ahead(
        &mut self,
        look: &Look<'_>,
        tolerance: f64,
        floor: f64,
        rate: f64,
    ) -> Worst {
        let gravity = V::splat(&self.gravity);
        self.apply_and_see(|group| {
            group.look_ahead(gravity, look.flight, look.h);
            let (s_ahead, turn) = (group.s_ahead, group.turn);
            move |slot: &Slot| (s_ahead + turn.rotate(slot.r)) * slot.sign
        });
        for (joint, point) in &self.still {
            self.x[*joint] += point;
        }
        self.judge(tolerance.max(floor), |own| own.max(floor), rate)
    }

    /// Applies the impulses x; x is then J v times `rate`.
    #[inline(always)]
    pub(super) fn see_rates(&mut self, tolerance: f64, rate: f64) -> Worst {
        self.apply_and_see(|group| {
            let (s_dot, omega) = (group.s_dot, group.omega);
            move |slot: &Slot| (s_dot + omega.cross(slot.r)) * slot.sign
        });
        self.judge(tolerance, |_| tolerance, rate)
    }

    /// v += M⁻¹ Jᵀ x; then x is the sum over the ends of each joint of what `see` finds there. In one go over the links: long chains wait
    /// for memory.
    #[inline(always)]
    fn apply_and_see<E: Fn(&Slot) -> V>(&mut self, see: impl Fn(&mut Group) -> E) {
        let Balls { groups, slots, joints, x, e, .. } = self;
        // Where a link has no joint there is no impulse.
        x[joints.len()] = Vec3::zeros();
        e.fill(Vec3::zeros());
        for group in groups {
            let slots = &slots[group.first_slot..group.last_slot];
            group.apply(slots, x);
            let seen = see(group);
            for slot in slots {
                add(e, slot, seen(slot));
            }
        }
        std::mem::swap(x, e);
    }

    /// The worst of the errors x, and the length of each; x is then `rate` times the errors. `own` makes the tolerance of a joint
    /// that has one.
    #[inline(always)]
    fn judge(&mut self, tolerance: f64, own: impl Fn(f64) -> f64, rate: f64) -> Worst {
        let Balls { joints, x, gap_squared, own_tolerances, .. } = self;
        let (mut most, mut sum, mut at) = (0.0, 0.0, 0);
        for (k, (gap_squared, x)) in gap_squared.iter_mut().zip(x.iter_mut()).enumerate() {
            let square = x.norm_squared();
            (most, at) = if square > most { (square, k) } else { (most, at) };
            sum += square;
            *gap_squared = square;
            *x *= rate;
        }
        // What is not a number is the worst.
        if !sum.is_finite() {
            most = sum;
            at = gap_squared.iter().position(|square| !square.is_finite()).unwrap_or(at);
        }
        let ratio = most / (tolerance * tolerance);
        let mut worst = Worst { ratio, block: joints[at].block, work: 0.0 };
        if *own_tolerances {
            worst = Worst::default();
            for (joint, gap_squared) in joints.iter().zip(gap_squared.iter()) {
                let tolerance = joint.tolerance.map_or(tolerance, &own);
                worst.see(gap_squared / (tolerance * tolerance), joint.block);
            }
        }
        Worst { ratio: worst.ratio.sqrt(), ..worst }
    }

    /// K x = right side.
    fn solve(&mut self) {
        self.factor.solve(&mut self.x, &mut self.p);
    }

    /// Ends a correction: writes impulses and errors.
    pub(crate) fn write(&self, impulse: &mut [f64], gap: &mut [f64]) {
        for ((joint, p), gap_squared) in self.joints.iter().zip(&self.p).zip(&self.gap_squared) {
            impulse[joint.row..][..3].copy_from_slice(p.as_slice());
            gap[joint.block] = gap_squared.sqrt();
        }
    }

    /// The same, impulses added to what is there.
    pub(crate) fn end(&self, impulse: &mut [f64], gap: &mut [f64]) {
        for ((joint, p), gap_squared) in self.joints.iter().zip(&self.p).zip(&self.gap_squared) {
            for k in 0..3 {
                impulse[joint.row + k] += p[k];
            }
            gap[joint.block] = gap_squared.sqrt();
        }
    }
}

/// Three of these numbers.
#[inline(always)]
pub(super) fn vector(numbers: &[f64], first: usize) -> Vec3 {
    Vec3::from_column_slice(&numbers[first..first + 3])
}

/// Adds a vector of each lane to what its joint has.
#[inline(always)]
fn add(x: &mut [Vec3], slot: &Slot, v: V) {
    let each = v.each();
    for (joint, v) in slot.joint.iter().zip(&each) {
        x[*joint] += v;
    }
}

/// E/m − r× W of a joint with itself, which is symmetric: the upper half.
#[inline(always)]
pub(super) fn own_response(m: F, r: V, w: &M) -> [F; 6] {
    let V { x, y, z } = r;
    [
        m - (y * w.x.z - z * w.x.y),
        z * w.y.y - y * w.y.z,
        z * w.z.y - y * w.z.z,
        m - (z * w.y.x - x * w.y.z),
        x * w.z.z - z * w.z.x,
        m - (x * w.z.y - y * w.z.x),
    ]
}
