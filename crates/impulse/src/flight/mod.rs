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

/// [`fly`] where the turn may be known.
pub(crate) fn fly_on(
    spinner: &Spinner<'_>,
    omega: &Vec3,
    flight: Flight,
    h: f64,
    turn: Option<&Quaternion<f64>>,
) -> (Quaternion<f64>, Vec3) {
    match (turn, spinner.top) {
        (Some(turn), Top::Spherical) if matches!(flight, Flight::Exact) => (*turn, *omega),
        (Some(turn), Top::Symmetric { axis, slip }) if matches!(flight, Flight::Exact) => {
            let e: Vec3 = spinner.rot.column(axis).into();
            let c = slip * omega.dot(&e);
            (*turn, (omega - c * e) + c * rotate(turn, &e))
        }
        (Some(turn), Top::Asymmetric)
            if matches!(flight, Flight::Exact) && spinner.inertia_inv.min() > 0.0 =>
        {
            // The angular momentum stays: J̃(h) ω(h) = J̃ ω.
            let momentum = spinner.inertia.component_mul(&spinner.rot.tr_mul(omega));
            let rot = matrix(turn) * spinner.rot;
            let turned = rot.tr_mul(&(spinner.rot * momentum));
            (*turn, rot * spinner.inertia_inv.component_mul(&turned))
        }
        _ => fly(spinner, omega, flight, h),
    }
}

/// By how many rad a body may turn beyond twice what it had before in a look ahead: velocities that a solver tries are no motion there, and
/// following them for so long would take time for nothing.
const MOST_TRIED: f64 = 32.0;

/// Whether a solver that tries `omega` where a body had `before` is too far off to be followed over `h`. Turns in closed form are always followed.
#[inline]
pub(crate) fn is_off(spinner: &Spinner<'_>, omega: &Vec3, before: &Vec3, h: f64) -> bool {
    matches!(spinner.top, Top::Asymmetric)
        && omega.norm_squared() * (h * h) > MOST_TRIED * MOST_TRIED
        && omega.norm() * h.abs() > MOST_TRIED + 2.0 * before.norm() * h.abs()
}

/// The turn of a flight that is not followed.
pub(crate) fn no_turn() -> Quaternion<f64> {
    taylor::no_flight().0
}

/// How far a body with three different moments turns over `h`, rad, and the most that is followed, where that is more.
pub(crate) fn turns_too_far(
    spinner: &Spinner<'_>,
    omega: &Vec3,
    flight: Flight,
    h: f64,
) -> Option<(f64, f64)> {
    if !matches!((spinner.top, flight), (Top::Asymmetric, Flight::Exact)) {
        return None;
    }
    let turn = taylor::speed(spinner.inertia, spinner.inertia_inv, omega) * h.abs();
    (turn > taylor::MOST_TURN).then_some((turn, taylor::MOST_TURN))
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
            Top::Asymmetric => {
                let own = spinner.rot.tr_mul(omega);
                let (r, _) = taylor::converged(spinner.inertia, spinner.inertia_inv, &own, h);
                return Quaternion::from_parts(r.w, spinner.rot * r.imag());
            }
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

/// cos x as a series in z = x², from the term in z on.
pub(crate) const COS: [f64; 9] = [
    -1.0 / 2.0,
    1.0 / 24.0,
    -1.0 / 720.0,
    1.0 / 40_320.0,
    -1.0 / 3_628_800.0,
    1.0 / 479_001_600.0,
    -1.0 / 87_178_291_200.0,
    1.0 / 20_922_789_888_000.0,
    -1.0 / 6_402_373_705_728_000.0,
];

/// sin x / x in the same way.
pub(crate) const SINC: [f64; 9] = [
    -1.0 / 6.0,
    1.0 / 120.0,
    -1.0 / 5040.0,
    1.0 / 362_880.0,
    -1.0 / 39_916_800.0,
    1.0 / 6_227_020_800.0,
    -1.0 / 1_307_674_368_000.0,
    1.0 / 355_687_428_096_000.0,
    -1.0 / 121_645_100_408_832_000.0,
];

/// Up to this z the first five terms do: those left out are below 0.1¹²/12! = 2e-21.
pub(crate) const SHORT: f64 = 0.01;

/// Up to this all nine do: those left out are below 1/20! = 4e-19.
pub(crate) const LONG: f64 = 1.0;

/// exp(x): the quaternion (cos |x|/2, sin |x|/2 · x/|x|) of the turn by |x| about x.
///
/// Angles up to 2 rad, the rule in a time step, take the series in |x/2|² and need no root, sine or cosine.
#[inline]
pub fn exp(x: &Vec3) -> Quaternion<f64> {
    let half = x * 0.5;
    let z = half.norm_squared();
    let (cos, sinc) = if z < SHORT {
        // The series in pairs (Estrin), which do not wait for each other.
        let (z2, z4) = (z * z, (z * z) * (z * z));
        let sum =
            |k: &[f64; 9]| ((1.0 + z * k[0]) + z2 * (k[1] + z * k[2])) + z4 * (k[3] + z * k[4]);
        (sum(&COS), sum(&SINC))
    } else {
        cos_sinc(z)
    };
    Quaternion::new(cos, half.x * sinc, half.y * sinc, half.z * sinc)
}

/// cos x and sin x / x for z = x² beyond the short series.
#[inline(never)]
pub(crate) fn cos_sinc(z: f64) -> (f64, f64) {
    if z < LONG {
        let (z2, z4) = (z * z, (z * z) * (z * z));
        let sum = |k: &[f64; 9]| {
            let high = (k[3] + z * k[4]) + z2 * (k[5] + z * k[6]) + z4 * (k[7] + z * k[8]);
            ((1.0 + z * k[0]) + z2 * (k[1] + z * k[2])) + z4 * high
        };
        return (sum(&COS), sum(&SINC));
    }
    let angle = z.sqrt();
    let (sin, cos) = angle.sin_cos();
    (cos, sin / angle)
}

/// The unit quaternion nearest to `q`, without a preferred side.
///
/// Plain division by the norm leaves |q|² 7e-17 too large on average, since numbers above 1 are spaced wider than below;
/// an angular velocity that goes to the body frame and back in every step then grows by 2e-16 a step, and energy with it.
/// Here |q|² − 1 is summed with the rounding errors of its terms.
pub fn unit(q: &Quaternion<f64>) -> Quat {
    let rough = q.norm_squared().sqrt();
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
