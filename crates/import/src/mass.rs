//! Mass, centre and inertia: of primitive solids, of sums, and made possible where a file's are not.

use gelenk_model::Span;
use gelenk_model::math::{Mat3, Vec3};
use nalgebra as na;

use crate::context::Context;

/// Part of the largest moment of inertia that files with three digits round away.
const ROUNDING: f64 = 2e-3;

/// A place: position and rotation.
pub(crate) type Pose = na::Isometry3<f64>;

/// Mass properties in some frame.
#[expect(clippy::struct_field_names, reason = "the mass of mass properties")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mass {
    /// kg
    pub(crate) mass: f64,
    /// m
    pub(crate) center: Vec3,
    /// About the centre, along the frame's axes, kg m².
    pub(crate) inertia: Mat3,
}

impl Mass {
    pub(crate) const NONE: Mass = Mass {
        mass: 0.0,
        center: Vec3::new(0.0, 0.0, 0.0),
        inertia: Mat3::new(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    };

    /// Centred, with these moments over mass, m².
    pub(crate) fn centered(mass: f64, [x, y, z]: [f64; 3]) -> Self {
        let inertia = Mat3::from_diagonal(&(Vec3::new(x, y, z) * mass));
        Mass { mass, center: Vec3::zeros(), inertia }
    }

    /// The same seen from a frame in which this one has the place `pose`: c' = R c + x, Θ' = R Θ Rᵀ.
    pub(crate) fn placed(&self, pose: &Pose) -> Self {
        let r = pose.rotation.to_rotation_matrix();
        let center = (pose * na::Point3::from(self.center)).coords;
        Mass {
            mass: self.mass,
            center,
            inertia: r.matrix() * self.inertia * r.matrix().transpose(),
        }
    }

    /// Both together (parallel axes): Θ = Σ Θ_i + m_i (d_i² E − d_i d_iᵀ), d_i = c_i − c.
    pub(crate) fn plus(&self, other: &Mass) -> Self {
        if other.mass == 0.0 && other.inertia == Mat3::zeros() {
            return *self;
        }
        if self.mass == 0.0 && self.inertia == Mat3::zeros() {
            return *other;
        }
        let mass = self.mass + other.mass;
        let center = (self.center * self.mass + other.center * other.mass) / mass;
        let about = |part: &Mass| part.inertia + steiner(part.mass, &(part.center - center));
        Mass { mass, center, inertia: about(self) + about(other) }
    }

    /// A multiple of it.
    pub(crate) fn times(&self, factor: f64) -> Self {
        Mass { mass: self.mass * factor, center: self.center, inertia: self.inertia * factor }
    }

    /// Principal moments, smallest first, and the axes as columns.
    fn principal(&self) -> ([f64; 3], Mat3) {
        let symmetric = (self.inertia + self.inertia.transpose()) * 0.5;
        let eigen = na::SymmetricEigen::new(symmetric);
        let mut order = [0, 1, 2];
        order.sort_by(|a, b| eigen.eigenvalues[*a].total_cmp(&eigen.eigenvalues[*b]));
        let axes = Mat3::from_columns(&order.map(|i| eigen.eigenvectors.column(i).into_owned()));
        (order.map(|i| eigen.eigenvalues[i]), axes)
    }

    /// The nearest tensor a body can have: moments at least `least`, none above the sum of the others. `None` if this is one.
    pub(crate) fn possible(&self, least: f64) -> Option<Mat3> {
        let ([low, mid, high], axes) = self.principal();
        let fixed_low = low.max(least);
        let fixed_mid = mid.max(fixed_low);
        let fixed_high = high.max(fixed_mid).min(fixed_low + fixed_mid);
        // The file's own rounding is not worth a word.
        let same = |a: f64, b: f64| (a - b).abs() <= 1e-9 * high.abs();
        if same(low, fixed_low) && same(mid, fixed_mid) && same(high, fixed_high) {
            return None;
        }
        let moments = Vec3::new(fixed_low, fixed_mid, fixed_high);
        Some(axes * Mat3::from_diagonal(&moments) * axes.transpose())
    }
}

impl Mass {
    /// Refuses moments of inertia that no body can have: negative ones, and one larger than the sum of the others. Those that the
    /// digits of a file explain are mended later without a fault.
    pub(crate) fn refuse_impossible(&self, context: &mut Context, called: &str, span: Span) {
        let ([low, mid, high], _) = self.principal();
        let slack = ROUNDING * high.abs().max(low.abs());
        let help = "check the tensor; it is about the centre of mass";
        let assumed = "the nearest that a body can have";
        if low < -slack {
            let message = format!(
                "the inertia is not positive: its principal moments are {low:.6e}, {mid:.6e}, {high:.6e}"
            );
            context.repairable("bad-inertia", called, span, message, help, assumed);
        } else if high > low + mid + slack {
            let message = format!(
                "no body has this inertia: of its principal moments {low:.6e}, {mid:.6e}, {high:.6e} \
                 the largest is above the sum of the others"
            );
            context.repairable("bad-inertia", called, span, message, help, assumed);
        }
    }
}

/// m (d² E − d dᵀ)
pub(crate) fn steiner(mass: f64, d: &Vec3) -> Mat3 {
    (Mat3::identity() * d.norm_squared() - d * d.transpose()) * mass
}

/// A solid for which mass follows from volume.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Solid {
    /// Half edges.
    Box(Vec3),
    /// Half axes.
    Ellipsoid(Vec3),
    /// Radius, half length along z.
    Cylinder(f64, f64),
    /// Radius, half length of the cylinder along z.
    Capsule(f64, f64),
}

impl Solid {
    /// Volume, m³.
    pub(crate) fn volume(&self) -> f64 {
        use std::f64::consts::PI;
        match *self {
            Solid::Box(h) => 8.0 * h.product(),
            Solid::Ellipsoid(h) => 4.0 / 3.0 * PI * h.product(),
            Solid::Cylinder(r, h) => 2.0 * PI * r * r * h,
            Solid::Capsule(r, h) => PI * r * r * (2.0 * h + 4.0 / 3.0 * r),
        }
    }

    /// Moments about the centre over mass, m².
    pub(crate) fn moments(&self) -> [f64; 3] {
        match *self {
            Solid::Box(h) => {
                let s = h.component_mul(&h) / 3.0;
                [s.y + s.z, s.x + s.z, s.x + s.y]
            }
            Solid::Ellipsoid(h) => {
                let s = h.component_mul(&h) / 5.0;
                [s.y + s.z, s.x + s.z, s.x + s.y]
            }
            Solid::Cylinder(r, h) => {
                let across = r * r / 4.0 + h * h / 3.0;
                [across, across, r * r / 2.0]
            }
            // Cylinder and two half balls, as their volumes; l = 2h:
            // J_x = m_c (r²/4 + l²/12) + m_s (2r²/5 + l²/4 + 3lr/8), J_z = m_c r²/2 + m_s 2r²/5.
            Solid::Capsule(r, h) => {
                let l = 2.0 * h;
                let ball = 4.0 / 3.0 * r;
                let (c, s) = (l / (l + ball), ball / (l + ball));
                let across = c * (r * r / 4.0 + l * l / 12.0)
                    + s * (0.4 * r * r + l * l / 4.0 + 0.375 * l * r);
                [across, across, c * r * r / 2.0 + s * 0.4 * r * r]
            }
        }
    }
}
