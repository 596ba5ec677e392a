//! The direct solver for ball joints: Newton on all of them at once.

use gelenk_model::math::{Mat3, Vec3};

use super::Balls;
use super::group::Slot;
use crate::error::StepError;
use crate::lanes::{F, V};
use crate::method::Method;
use crate::rows::{Look, Rows};
use crate::solver::{Worst, newton};

/// Weakest pivot with which a guess is taken. Near singular positions impulses are large and tell little of the next ones; the
/// solution to follow is there the one nearest to free flight.
const WEAK: f64 = 1e-5;

impl Balls {
    /// K and its factor at the present poses; false where K is nearly singular.
    pub(crate) fn factorize(&mut self) -> bool {
        if !self.factor_ready {
            self.assemble();
            self.weakest = self.factor.factorize(&self.alone);
            self.factor_ready = true;
        }
        self.weakest > 0.0
    }

    /// K_jk = ± (E/m − r_j× J̃⁻¹ r_k×), summed over the links that joints j and k share.
    fn assemble(&mut self) {
        let Balls { groups, slots, factor, couplings, alone, .. } = self;
        factor.clear();
        let mut coupling = couplings.iter();
        for group in groups.iter() {
            let own = &slots[group.first_slot..group.last_slot];
            for (k, column) in own.iter().enumerate() {
                let w = group.inertia_inv.times_cross(column.r);
                let m = group.mass_inv;
                // E/m − r× W of the joint with itself: the upper half.
                let (x, y, z) = (column.r.x, column.r.y, column.r.z);
                let upper = [
                    m - (y * w.x.z - z * w.x.y),
                    z * w.y.y - y * w.y.z,
                    z * w.z.y - y * w.z.z,
                    m - (z * w.y.x - x * w.y.z),
                    x * w.z.z - z * w.z.x,
                    m - (x * w.z.y - y * w.z.x),
                ]
                .map(F::to_array);
                for (lane, &joint) in column.joint.iter().enumerate() {
                    let diagonal = factor.diagonal(joint);
                    diagonal.m11 += upper[0][lane];
                    diagonal.m12 += upper[1][lane];
                    diagonal.m13 += upper[2][lane];
                    diagonal.m22 += upper[3][lane];
                    diagonal.m23 += upper[4][lane];
                    diagonal.m33 += upper[5][lane];
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
        for (k, alone) in alone.iter_mut().enumerate() {
            let diagonal = factor.diagonal(k);
            *alone = diagonal.m11 * diagonal.m22 * diagonal.m33;
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
        self.begin_positions(rows);
        let allowed = rows.work_allowed;
        let see = |b: &mut Balls| b.look(look, method.tolerance, floor, allowed);
        let found = newton(self, method.converges_fine(floor), see, Balls::solve_and_apply);
        self.end(&mut rows.impulse, &mut rows.gap);
        found.map_err(|(block, sweeps)| StepError::Positions {
            block,
            gap: rows.gap[block],
            sweeps,
            t: look.t,
        })
    }

    /// [`Solver::correct_velocities`](crate::solver::Solver::correct_velocities) where K is regular.
    pub(crate) fn correct_velocities(
        &mut self,
        tolerance: f64,
        t: f64,
        rows: &mut Rows,
    ) -> Result<u64, StepError> {
        for joint in &mut self.joints {
            joint.p = Vec3::zeros();
        }
        let found = newton(self, false, |b| b.look_velocities(tolerance), Balls::solve_and_apply);
        self.end(&mut rows.velocity_impulse, &mut rows.velocity_error);
        found.map_err(|(block, sweeps)| StepError::Velocities {
            block,
            error: rows.velocity_error[block],
            sweeps,
            t,
        })
    }

    /// Begins a position correction with the impulses `rows.guess`, unless the position is nearly singular.
    fn begin_positions(&mut self, rows: &Rows) {
        let part = if self.weakest > WEAK { 1.0 } else { 0.0 };
        for (joint, x) in self.joints.iter_mut().zip(&mut self.x) {
            let at = joint.row..joint.row + 3;
            joint.target.copy_from_slice(&rows.target[at.clone()]);
            x.copy_from_slice(&rows.guess[at]);
            *x *= part;
            joint.p = *x;
        }
        self.apply();
    }

    /// Looks at C(t+h) and leaves −(C − target)/h as the right side of the next solve.
    fn look(&mut self, look: &Look<'_>, tolerance: f64, floor: f64, allowed: f64) -> Worst {
        let Balls { groups, slots, joints, x, .. } = self;
        for (joint, x) in joints.iter().zip(x.iter_mut()) {
            *x = joint.still;
        }
        for group in groups.iter_mut() {
            group.look_ahead(look.flight, look.h);
            for slot in &slots[group.first_slot..group.last_slot] {
                let p = (group.s_ahead + group.turn.rotate(slot.r)) * slot.sign;
                add(x, slot, p);
            }
        }
        let rate = -1.0 / look.h;
        let bounded = allowed.is_finite();
        let mut worst = Worst::default();
        for (joint, x) in joints.iter_mut().zip(x.iter_mut()) {
            joint.gap_squared = x.norm_squared();
            let tolerance = joint.tolerance.unwrap_or(tolerance).max(floor);
            worst.see(joint.gap_squared / (tolerance * tolerance), joint.block);
            *x = (*x - joint.target) * rate;
            if bounded {
                worst.work += joint.p.dot(x).abs();
            }
        }
        Worst { ratio: worst.ratio.sqrt(), work: worst.work / allowed, ..worst }
    }

    /// Looks at J v and leaves −J v as the right side of the next solve.
    fn look_velocities(&mut self, tolerance: f64) -> Worst {
        let Balls { groups, slots, joints, x, .. } = self;
        x.fill(Vec3::zeros());
        for group in groups.iter() {
            for slot in &slots[group.first_slot..group.last_slot] {
                add(x, slot, (group.s_dot + group.omega.cross(slot.r)) * -slot.sign);
            }
        }
        let mut worst = Worst::default();
        for (joint, x) in joints.iter_mut().zip(x.iter()) {
            joint.gap_squared = x.norm_squared();
            worst.see(joint.gap_squared / (tolerance * tolerance), joint.block);
        }
        Worst { ratio: worst.ratio.sqrt(), ..worst }
    }

    /// K x = right side; applies the impulses x.
    fn solve_and_apply(&mut self) {
        self.factor.solve(&mut self.x);
        for (joint, x) in self.joints.iter_mut().zip(&self.x) {
            joint.p += x;
        }
        self.apply();
    }

    /// v += M⁻¹ Jᵀ x.
    fn apply(&mut self) {
        // Where a link has no joint there is no impulse.
        self.x[self.joints.len()] = Vec3::zeros();
        for group in &mut self.groups {
            let (mut impulse, mut moment) = (V::ZERO, V::ZERO);
            for slot in &self.slots[group.first_slot..group.last_slot] {
                let p = V::gather(|i| &self.x[slot.joint[i]]) * slot.sign;
                impulse += p;
                moment += slot.r.cross(p);
            }
            group.s_dot += impulse * group.mass_inv;
            group.omega += group.inertia_inv * moment;
        }
    }

    /// Ends a correction: gives impulses and errors back.
    pub(crate) fn end(&self, impulse: &mut [f64], gap: &mut [f64]) {
        for joint in &self.joints {
            for k in 0..3 {
                impulse[joint.row + k] += joint.p[k];
            }
            gap[joint.block] = joint.gap_squared.sqrt();
        }
    }
}

/// Adds a vector of each lane to what its joint has.
#[inline(always)]
fn add(x: &mut [Vec3], slot: &Slot, v: V) {
    let each = v.each();
    for (joint, v) in slot.joint.iter().zip(&each) {
        x[*joint] += v;
    }
}

/// J̃⁻¹ r×.
#[inline(always)]
pub(super) fn times_cross(inertia_inv: &Mat3, r: &Vec3) -> Mat3 {
    let [x, y, z] = [0, 1, 2].map(|k| inertia_inv.column(k));
    Mat3::from_columns(&[y * r.z - z * r.y, z * r.x - x * r.z, x * r.y - y * r.x])
}

/// k += E/m − r× W, which is symmetric; the upper half alone.
#[inline(always)]
pub(super) fn add_own_response(k: &mut Mat3, mass_inv: f64, r: &Vec3, w: &Mat3) {
    k.m11 += mass_inv - (r.y * w.m31 - r.z * w.m21);
    k.m12 -= r.y * w.m32 - r.z * w.m22;
    k.m13 -= r.y * w.m33 - r.z * w.m23;
    k.m22 += mass_inv - (r.z * w.m12 - r.x * w.m32);
    k.m23 -= r.z * w.m13 - r.x * w.m33;
    k.m33 += mass_inv - (r.x * w.m23 - r.y * w.m13);
}
