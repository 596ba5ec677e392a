//! Projection to the invariants g_pos = 0 and g_vel = 0.

use gelenk_model::joint::MAX_ROWS;
use gelenk_model::math::{Mat3, Vec3};
use gelenk_model::{Pose, Twist};

use crate::equations::{Equations, instant};
use crate::layout;

/// Newton's iterations of a projection.
const MAX_ITERATIONS: u32 = 30;

/// The largest violation of the invariants.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Invariants {
    /// Of RᵀR = E and C = 0, m, rad or pure numbers.
    pub position: f64,
    /// Of their rates, per second.
    pub velocity: f64,
    /// The block with the largest C.
    pub worst_block: Option<usize>,
}

/// A projection that does not come to an end.
#[derive(Clone, Debug, PartialEq)]
pub struct NotClosed {
    /// The block that stays open.
    pub block: usize,
    /// By how much, m or rad.
    pub gap: f64,
}

impl Equations<'_> {
    /// How far y is from the invariants. Leaves y read, with J of its poses.
    pub fn invariants(&mut self, t: f64, y: &[f64]) -> Invariants {
        let mut found = Invariants::default();
        let n = self.layout.n;
        self.read(t, y);
        for place in self.layout.places.iter().filter(|place| place.rigid) {
            let rot = &self.poses[place.body].rot;
            let rate = Mat3::from_column_slice(&y[n + place.first + 3..][..9]);
            let a = rot.tr_mul(&rate);
            found.position = found.position.max((rot.tr_mul(rot) - Mat3::identity()).amax());
            found.velocity = found.velocity.max((a + a.transpose()).amax());
        }
        self.jacobians(t);
        let mut worst = 0.0;
        let mut c = [0.0; MAX_ROWS];
        for i in self.holding() {
            let c = &mut c[..self.model.rows[i].n_rows];
            self.raw_error(i, t, c);
            let gap = largest(c);
            if gap > worst || gap.is_nan() {
                (worst, found.worst_block) = (gap, Some(i));
            }
            self.error_rate(i, t, c);
            found.velocity = found.velocity.max(largest(c));
        }
        found.position = found.position.max(worst);
        found
    }

    /// J alone, not the factor.
    pub(crate) fn jacobians(&mut self, t: f64) {
        let Equations { model, poses, twists, coordinates, rows, work, .. } = self;
        let at = instant(t, poses, twists, coordinates);
        rows.prepare_jacobians(model, &at, work);
    }

    /// Moves y to the invariants: Newton's method for g_pos = 0 with steps shortest in the M-norm, then the nearest velocities with
    /// g_vel = 0.
    ///
    /// ```text
    /// [ M  Gᵀ ] [ Δp ]   [  0 ]      [ M  Gᵀ ] [ Δv ]   [  0 ]
    /// [ G  0  ] [ ξ  ] = [ −g ],     [ G  0  ] [ ξ  ] = [ −g_vel ]
    /// ```
    /// The rows of rigid bodies and those of joints are M-orthogonal where R is orthonormal, so that they are taken one after the other.
    /// Leaves y read.
    pub fn project(&mut self, t: f64, y: &mut [f64]) -> Result<(), NotClosed> {
        self.projections += 1;
        self.read(t, y);
        self.orthonormalize();
        if self.crossing.is_some() {
            return self.project_crossing(t, y);
        }
        self.close(t)?;
        self.fit_velocities(t);
        self.write(y);
        Ok(())
    }

    fn orthonormalize(&mut self) {
        for (place, d) in self.layout.places.iter().zip(&self.layout.squares) {
            if place.rigid {
                layout::orthonormalize(&mut self.poses[place.body].rot, d);
            }
        }
    }

    /// Newton for C = 0.
    pub(crate) fn close(&mut self, t: f64) -> Result<(), NotClosed> {
        let n_rows = self.model.n_rows();
        let size = self.poses.iter().map(|pose| pose.s.amax()).fold(1.0, f64::max);
        let fine = 4.0 * f64::EPSILON * size;
        let mut before = f64::INFINITY;
        let mut wanted = vec![0.0; n_rows];
        let mut step = vec![Twist::zero(); self.twists.len()];
        let mut multipliers = vec![0.0; n_rows];
        let mut kept: Vec<Pose> = Vec::new();
        for _ in 0..MAX_ITERATIONS {
            let (mut gap, mut worst) = (0.0_f64, 0);
            for i in 0..self.model.rows.len() {
                let range = self.rows_of(i);
                let mut c = [0.0; MAX_ROWS];
                self.error(i, t, &mut c[..range.len()]);
                if largest(&c) > gap || largest(&c).is_nan() {
                    (gap, worst) = (largest(&c), i);
                }
                for (k, c) in range.zip(c) {
                    wanted[k] = -c;
                }
            }
            let allowed = |equations: &Self| {
                let rows = &equations.model.rows[worst];
                rows.tolerance.unwrap_or(1e-9).min(1e-9)
            };
            if gap <= fine {
                return Ok(());
            }
            // Rounding is reached where Newton no longer helps.
            if gap >= 0.5 * before || gap.is_nan() {
                if gap <= allowed(self) {
                    if gap > before {
                        self.poses.copy_from_slice(&kept);
                    }
                    return Ok(());
                }
                if gap >= 4.0 * before || gap.is_nan() {
                    return Err(NotClosed { block: worst, gap });
                }
            }
            before = gap;
            kept.clone_from(&self.poses);
            self.prepare(t);
            step.fill(Twist::zero());
            multipliers.fill(0.0);
            self.solver.solve(&self.rows, &wanted, &mut step, &mut multipliers, 1);
            for place in &self.layout.places {
                let (pose, step) = (&mut self.poses[place.body], &step[place.body]);
                pose.s += step.s_dot;
                if place.rigid {
                    pose.rot = rotation(&step.omega) * pose.rot;
                }
            }
        }
        let mut c = [0.0; MAX_ROWS];
        for i in 0..self.model.rows.len() {
            let n = self.model.rows[i].n_rows;
            self.error(i, t, &mut c[..n]);
            let gap = largest(&c[..n]);
            if gap > 1e-9 || gap.is_nan() {
                return Err(NotClosed { block: i, gap });
            }
        }
        Ok(())
    }

    /// The nearest velocities with J v + C_t = 0; gives the impulses that lead there. (n_rows)
    pub(crate) fn fit_velocities(&mut self, t: f64) -> Vec<f64> {
        let from = self.held_rates(&self.twists);
        self.fit_velocities_since(t, &from)
    }

    /// The same after impulses that have changed velocities already: `from` are the spins that thin rods had before these.
    pub(crate) fn fit_velocities_since(&mut self, t: f64, from: &[f64]) -> Vec<f64> {
        let n_rows = self.model.n_rows();
        self.prepare(t);
        let mut wanted = vec![0.0; n_rows];
        let mut c_t = [0.0; MAX_ROWS];
        for i in 0..self.model.rows.len() {
            let range = self.rows_of(i);
            let block = &self.model.rows[i];
            let at = instant(t, &self.poses, &self.twists, &self.coordinates);
            block.time_rate(&at, &mut self.work, &mut c_t[..block.n_rows]);
            for (k, c_t) in range.zip(c_t) {
                wanted[k] = -c_t;
            }
        }
        let mut multipliers = vec![0.0; n_rows];
        self.nearest_velocities(&wanted, from, &mut multipliers);
        multipliers
    }
}

fn largest(list: &[f64]) -> f64 {
    list.iter()
        .fold(0.0, |a: f64, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b.abs()) })
}

/// exp(θ×).
pub(crate) fn rotation(theta: &Vec3) -> Mat3 {
    nalgebra::Rotation3::from_scaled_axis(*theta).into_inner()
}
