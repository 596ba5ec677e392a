//! Free flight: where a body goes when nothing but gravity acts on it. \[Schmitt 2003\] section 3.
//!
//! The centre falls, s(h) = s + ṡ h + g h²/2, and the body turns by Euler's equations without torque,
//! independently of each other. A turn over a step is the unit quaternion q with R(h) = R(q) R(0), world frame
//! (the paper's M_rot). It comes in closed form where there is one:
//!
//! ```text
//! J1 = J2 = J3:   ω is constant,                      q = exp(h ω)
//! J1 = J2 ≠ J3:   a = L/J1 = ω − c e, c = (1 − J3/J1) ω·e,
//!                 a constant, e the body's own axis:  q = exp(h a) exp(h c e),  ω(h) = a + c e(h)
//! ```
//! and else from its Taylor series ([`taylor`]). A thin rod has J3 = 0 and is a symmetric top; its spin ω·e about
//! its own axis carries no momentum and stays as it is. exp(x) is the turn by |x| about x.

mod taylor;

pub use taylor::{MAX_ORDER, taylor};

use gelenk_model::math::{Mat3, Quat, Vec3};
use gelenk_model::settings::Flight;
use nalgebra::Quaternion;

/// How a body turns in free flight, by its principal moments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Top {
    /// All moments equal, or all zero (a point mass): ω is constant in the world.
    Spherical,
    /// Two moments J equal and positive; `axis` is the third one's and `slip` = 1 − J_axis/J.
    Symmetric {
        /// Index of the axis of symmetry.
        axis: usize,
        /// 1 − J_axis/J.
        slip: f64,
    },
    /// Three different moments.
    Asymmetric,
}

impl Top {
    /// The kind of top with principal moments `inertia`.
    ///
    /// Moments that agree to rounding (4 ε) count as equal; the turn then differs from the exact one by rounding too.
    pub fn new(inertia: &Vec3) -> Self {
        let equal = |a: f64, b: f64| (a - b).abs() <= 4.0 * f64::EPSILON * a.abs().max(b.abs());
        let [x, y, z] = [inertia.x, inertia.y, inertia.z];
        if equal(x, y) && equal(y, z) {
            return Top::Spherical;
        }
        for (axis, a, b) in [(0, y, z), (1, z, x), (2, x, y)] {
            if equal(a, b) && a > 0.0 {
                return Top::Symmetric { axis, slip: 1.0 - inertia[axis] / a };
            }
        }
        Top::Asymmetric
    }
}

/// What the turn of a body depends on besides its angular velocity.
#[derive(Clone, Copy, Debug)]
pub struct Spinner<'a> {
    /// Kind of top.
    pub top: Top,
    /// Principal moments J, kg m².
    pub inertia: &'a Vec3,
    /// 1/J_i, 0 where J_i = 0.
    pub inertia_inv: &'a Vec3,
    /// R at the start of the flight.
    pub rot: &'a Mat3,
}

/// The turn q of a body over `h` and its angular velocity ω(h) in the world.
pub fn fly(spinner: &Spinner<'_>, omega: &Vec3, flight: Flight, h: f64) -> (Quaternion<f64>, Vec3) {
    if let Flight::Taylor(order) = flight {
        return in_world(spinner, omega, |w| {
            taylor(spinner.inertia, spinner.inertia_inv, w, order, h)
        });
    }
    match spinner.top {
        Top::Spherical => (exp(&(omega * h)), *omega),
        Top::Symmetric { axis, slip } => {
            let e: Vec3 = spinner.rot.column(axis).into();
            let c = slip * omega.dot(&e);
            let a = omega - c * e;
            let turn = exp(&(a * h)) * exp(&(e * (c * h)));
            (turn, a + c * rotate(&turn, &e))
        }
        Top::Asymmetric => in_world(spinner, omega, |w| {
            taylor::converged(spinner.inertia, spinner.inertia_inv, w, h)
        }),
    }
}

/// The turn alone; the hot half of [`fly`].
#[inline]
pub fn turn(spinner: &Spinner<'_>, omega: &Vec3, flight: Flight, h: f64) -> Quaternion<f64> {
    if matches!(flight, Flight::Exact) {
        match spinner.top {
            Top::Spherical => return exp(&(omega * h)),
            Top::Symmetric { axis, slip } => {
                let e: Vec3 = spinner.rot.column(axis).into();
                let c = slip * omega.dot(&e);
                // A rod turns across its axis; what c has then is rounding.
                if (c * h).abs() <= f64::EPSILON {
                    return exp(&(omega * h));
                }
                return exp(&((omega - c * e) * h)) * exp(&(e * (c * h)));
            }
            Top::Asymmetric => {}
        }
    }
    fly(spinner, omega, flight, h).0
}

/// Takes ω to the body frame, lets `solve` give the turn r with R(h) = R(0) R(r) and ω̲(h) there, and comes back:
/// q = R(0) r R(0)⁻¹, ω(h) = R(h) ω̲(h).
fn in_world(
    spinner: &Spinner<'_>,
    omega: &Vec3,
    solve: impl Fn(&Vec3) -> (Quaternion<f64>, Vec3),
) -> (Quaternion<f64>, Vec3) {
    let (r, omega_body) = solve(&spinner.rot.tr_mul(omega));
    let axis = spinner.rot * r.imag();
    (Quaternion::from_parts(r.w, axis), spinner.rot * rotate(&r, &omega_body))
}

/// exp(x): the quaternion (cos |x|/2, sin |x|/2 · x/|x|) of the turn by |x| about x.
///
/// Small angles, the rule in a time step, take the series in |x/2|² and need no root, sine or cosine.
#[inline]
pub fn exp(x: &Vec3) -> Quaternion<f64> {
    const C: [f64; 5] = [-1.0 / 2.0, 1.0 / 24.0, -1.0 / 720.0, 1.0 / 40_320.0, -1.0 / 3_628_800.0];
    const S: [f64; 5] =
        [-1.0 / 6.0, 1.0 / 120.0, -1.0 / 5040.0, 1.0 / 362_880.0, -1.0 / 39_916_800.0];
    let half = x * 0.5;
    let z = half.norm_squared();
    let (cos, sinc) = if z < 0.01 {
        // |x| < 0.2: the first terms left out are 0.1¹²/12! and 0.1¹²/13!, below 1e-20.
        (
            1.0 + z * (C[0] + z * (C[1] + z * (C[2] + z * (C[3] + z * C[4])))),
            1.0 + z * (S[0] + z * (S[1] + z * (S[2] + z * (S[3] + z * S[4])))),
        )
    } else {
        let angle = z.sqrt();
        let (sin, cos) = angle.sin_cos();
        (cos, sin / angle)
    };
    Quaternion::new(cos, half.x * sinc, half.y * sinc, half.z * sinc)
}

/// The unit quaternion nearest to `q`, without a preferred side.
///
/// Plain division by the norm leaves |q|² 7e-17 too large on average, since numbers above 1 are spaced wider than below;
/// an angular velocity that goes to the body frame and back in every step then grows by 2e-16 a step, and energy with it.
/// Here |q|² − 1 is summed with the rounding errors of its terms.
pub fn unit(q: &Quaternion<f64>) -> Quat {
    let rough = q.norm();
    let q = if (rough - 1.0).abs() < 1e-8 { *q } else { q / rough };
    let (mut sum, mut rest) = (-1.0, 0.0);
    for x in [q.w, q.i, q.j, q.k] {
        let (product, error) = two_square(x);
        let next: f64 = sum + product;
        // Exact error of the sum (Knuth).
        let part = next - sum;
        rest += error + ((sum - (next - part)) + (product - part));
        sum = next;
    }
    Quat::new_unchecked(q - q * (0.5 * (sum + rest)))
}

/// x² and its rounding error, exactly (Dekker's product by Veltkamp's split).
fn two_square(x: f64) -> (f64, f64) {
    let square = x * x;
    let shifted = 134_217_729.0 * x; // 2²⁷ + 1
    let high = shifted - (shifted - x);
    let low = x - high;
    (square, ((high * high - square) + 2.0 * high * low) + low * low)
}

/// R(q) r for a unit quaternion q.
#[inline]
pub fn rotate(q: &Quaternion<f64>, r: &Vec3) -> Vec3 {
    let u = Vec3::new(q.i, q.j, q.k);
    let twice = 2.0 * u.cross(r);
    r + q.w * twice + u.cross(&twice)
}

/// The matrix R(q) of a unit quaternion.
#[inline]
#[rustfmt::skip]
pub fn matrix(q: &Quaternion<f64>) -> Mat3 {
    let (w, x, y, z) = (q.w, q.i, q.j, q.k);
    Mat3::new(
        1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y),
        2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x),
        2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y),
    )
}
