//! The direct solver for ball joints: Newton on all of them at once.

use gelenk_model::math::{Mat3, Vec3};

use super::Balls;
use crate::flight::rotate;
use crate::rows::{Look, Rows};
use crate::scratch::Bodies;
use crate::solver::Worst;

impl Balls {
    /// K and its factor at the present poses; false where K is nearly singular.
    pub(crate) fn factorize(&mut self) -> bool {
        if !self.factor_ready {
            self.assemble();
            self.regular = self.factor.factorize(&self.alone);
            self.factor_ready = true;
        }
        self.regular
    }

    /// K_jk = ± (E/m − r_j× J̃⁻¹ r_k×), summed over the links that joints j and k share.
    fn assemble(&mut self) {
        let Balls { links, ends, factor, couplings, alone, .. } = self;
        factor.clear();
        let mut coupling = couplings.iter();
        for link in links.iter() {
            let own = &ends[link.first_end..link.last_end];
            for (k, column) in own.iter().enumerate() {
                let w = times_cross(&link.inertia_inv, &column.r);
                add_own_response(factor.diagonal(column.joint), link.mass_inv, &column.r, &w);
                for (row, entry) in own[k + 1..].iter().zip(&mut coupling) {
                    let sign = row.sign * column.sign;
                    add_response(factor.block(*entry), sign, link.mass_inv, &row.r, &w);
                }
            }
        }
        for (k, alone) in alone.iter_mut().enumerate() {
            let diagonal = factor.diagonal(k);
            *alone = diagonal.m11 * diagonal.m22 * diagonal.m33;
        }
    }

    /// Begins a position correction with the impulses `rows.guess`.
    pub(crate) fn begin_positions(&mut self, rows: &Rows, bodies: &Bodies) {
        self.read_velocities(bodies);
        for (joint, x) in self.joints.iter_mut().zip(&mut self.x) {
            let at = joint.row..joint.row + 3;
            joint.target.copy_from_slice(&rows.target[at.clone()]);
            x.copy_from_slice(&rows.guess[at]);
            joint.p = *x;
        }
        self.apply();
    }

    /// Looks at C(t+h) and leaves −(C − target)/h as the right side of the next solve.
    pub(crate) fn look(
        &mut self,
        look: &Look<'_>,
        tolerance: f64,
        floor: f64,
        bodies: &Bodies,
    ) -> Worst {
        let Balls { links, ends, joints, x, .. } = self;
        for (joint, x) in joints.iter().zip(x.iter_mut()) {
            *x = joint.still;
        }
        for link in links.iter() {
            let (s, turn) = link.look_ahead(bodies, look.flight, look.h);
            for end in &ends[link.first_end..link.last_end] {
                x[end.joint] += (s + rotate(&turn, &end.r)) * end.sign;
            }
        }
        let rate = -1.0 / look.h;
        let mut worst = Worst::default();
        for (joint, x) in joints.iter_mut().zip(x.iter_mut()) {
            joint.gap_squared = x.norm_squared();
            let tolerance = joint.tolerance.unwrap_or(tolerance).max(floor);
            worst.see(joint.gap_squared / (tolerance * tolerance), joint.block);
            *x = (*x - joint.target) * rate;
        }
        Worst { ratio: worst.ratio.sqrt(), ..worst }
    }

    /// Looks at J v and leaves −J v as the right side of the next solve.
    pub(crate) fn look_velocities(&mut self, tolerance: f64) -> Worst {
        let Balls { links, ends, joints, x, .. } = self;
        x.fill(Vec3::zeros());
        for link in links.iter() {
            for end in &ends[link.first_end..link.last_end] {
                x[end.joint] -= (link.s_dot + link.omega.cross(&end.r)) * end.sign;
            }
        }
        let mut worst = Worst::default();
        for (joint, x) in joints.iter_mut().zip(x.iter()) {
            joint.gap_squared = x.norm_squared();
            worst.see(joint.gap_squared / (tolerance * tolerance), joint.block);
        }
        Worst { ratio: worst.ratio.sqrt(), ..worst }
    }

    /// Begins a velocity correction.
    pub(crate) fn begin_velocities(&mut self, bodies: &Bodies) {
        self.read_velocities(bodies);
        for joint in &mut self.joints {
            joint.p = Vec3::zeros();
        }
    }

    /// K x = right side; applies the impulses x.
    pub(crate) fn solve_and_apply(&mut self) {
        self.factor.solve(&mut self.x);
        for (joint, x) in self.joints.iter_mut().zip(&self.x) {
            joint.p += x;
        }
        self.apply();
    }

    /// v += M⁻¹ Jᵀ x.
    fn apply(&mut self) {
        for link in &mut self.links {
            let (mut impulse, mut moment) = (Vec3::zeros(), Vec3::zeros());
            for end in &self.ends[link.first_end..link.last_end] {
                let p = self.x[end.joint] * end.sign;
                impulse += p;
                moment += end.r.cross(&p);
            }
            link.apply(&impulse, &moment);
        }
    }

    /// Ends a correction: gives impulses, errors and velocities back.
    pub(crate) fn end(&self, impulse: &mut [f64], gap: &mut [f64], bodies: &mut Bodies) {
        for joint in &self.joints {
            for k in 0..3 {
                impulse[joint.row + k] += joint.p[k];
            }
            gap[joint.block] = joint.gap_squared.sqrt();
        }
        self.write_velocities(bodies);
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

/// k += sign (E/m − r× W).
#[inline(always)]
fn add_response(k: &mut Mat3, sign: f64, mass_inv: f64, r: &Vec3, w: &Mat3) {
    for c in 0..3 {
        let (w0, w1, w2) = (w[(0, c)], w[(1, c)], w[(2, c)]);
        k[(0, c)] -= sign * (r.y * w2 - r.z * w1);
        k[(1, c)] -= sign * (r.z * w0 - r.x * w2);
        k[(2, c)] -= sign * (r.x * w1 - r.y * w0);
        k[(c, c)] += sign * mass_inv;
    }
}
