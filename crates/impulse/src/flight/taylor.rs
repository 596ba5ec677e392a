//! Torque-free rotation by its Taylor series.

use gelenk_model::math::Vec3;
use nalgebra::Quaternion;

/// The highest order of [`taylor`]; at |ω| h ≤ 1 terms beyond the 30th are below rounding.
pub const MAX_ORDER: u32 = 60;

/// Room for all terms, and for those of a short part, which fall by [`FAST`] each.
const N: usize = MAX_ORDER as usize + 2;
const FEW: usize = 16;
const FAST: f64 = 0.05;

/// Most parts of one flight, half a radian each: a body that turns farther in a step is not followed.
const MOST_PARTS: f64 = 2000.0;

/// The largest turn over a flight that is followed, rad.
pub(super) const MOST_TURN: f64 = 0.5 * MOST_PARTS;

/// The turn r with R(h) = R(0) R(r) and ω(h), both in the body frame, from the series to `order` in ω and one order
/// more in r (at most [`MAX_ORDER`]); r is normalized.
///
/// With a_n = ω⁽ⁿ⁾/n! and b_n = r⁽ⁿ⁾/n!, Euler's equations J ω̇ = −ω × J ω and ṙ = ½ r ∘ ω give
/// ```text
/// (n+1) a_{n+1} = −J⁻¹ Σ_k a_k × J a_{n−k}
/// (n+1) b_{n+1} = ½ Σ_k b_k ∘ a_{n−k},      b_0 = 1
/// ```
/// \[Schmitt 2003\] section 3 derives a body-fixed vector v by v̇ = ω̲ × v with ω̲ in the body frame and takes
/// ω(h) = R(0) ω̲(h). Both slip for an asymmetric body: v̇ = ω × v holds in the frame that stays behind at time 0, in
/// which the derivatives of ω differ from those in the moving frame from the second on, and ω̲(h) is to be turned by
/// R(h). The series above has the body frame right; `tests/flight.rs` shows the difference.
pub fn taylor(
    inertia: &Vec3,
    inertia_inv: &Vec3,
    omega: &Vec3,
    order: u32,
    h: f64,
) -> (Quaternion<f64>, Vec3) {
    let mut series = Series::<N>::start(*omega);
    let order = order.min(MAX_ORDER);
    let mut power = 1.0;
    let (mut r, mut w) = (Quaternion::identity(), *omega);
    for n in 0..order {
        series.extend(inertia, inertia_inv);
        power *= h;
        w += series.a[n as usize + 1] * power;
        r += series.b[n as usize + 1] * power;
    }
    series.extend(inertia, inertia_inv);
    r += series.b[order as usize + 1] * (power * h);
    (r / r.norm_squared().sqrt(), w)
}

/// The speed in rad/s that tells how fast the terms of the series fall: |ω|, or more for moments that no body has.
pub(super) fn speed(inertia: &Vec3, inertia_inv: &Vec3, omega: &Vec3) -> f64 {
    // The series converges for |h| up to about 1/(|ω| max |J_i − J_j|/J_k); a physical body has no ratio above 1.
    let ratio = |k: usize| {
        let (i, j) = ((k + 1) % 3, (k + 2) % 3);
        ((inertia[i] - inertia[j]) * inertia_inv[k]).abs()
    };
    omega.norm_squared().sqrt() * ratio(0).max(ratio(1)).max(ratio(2)).max(1.0)
}

/// The same to rounding: terms are added until they vanish, over parts of h in which they fall fast. No numbers where the body turns by more
/// than [`MOST_TURN`].
pub(super) fn converged(
    inertia: &Vec3,
    inertia_inv: &Vec3,
    omega: &Vec3,
    h: f64,
) -> (Quaternion<f64>, Vec3) {
    let speed = speed(inertia, inertia_inv, omega);
    let parts = (2.0 * speed * h.abs()).ceil().max(1.0);
    if parts > MOST_PARTS {
        return no_flight();
    }
    let part = h / parts;
    // The terms of order n are below (speed h)ⁿ.
    let fall = speed * part.abs();
    let mut total = Quaternion::identity();
    let mut w = *omega;
    let mut done = 0.0;
    while done < parts {
        let (r, next) = if fall < FAST {
            one_part::<FEW>(inertia, inertia_inv, &w, part, fall)
        } else {
            one_part::<N>(inertia, inertia_inv, &w, part, fall)
        };
        total *= r;
        w = next;
        done += 1.0;
    }
    (total / total.norm_squared().sqrt(), w)
}

/// What a flight gives that is not followed.
pub(super) fn no_flight() -> (Quaternion<f64>, Vec3) {
    let nan = f64::NAN;
    (Quaternion::new(nan, nan, nan, nan), Vec3::repeat(nan))
}

fn one_part<const N: usize>(
    inertia: &Vec3,
    inertia_inv: &Vec3,
    omega: &Vec3,
    h: f64,
    fall: f64,
) -> (Quaternion<f64>, Vec3) {
    /// A term this much below the sum does not change it.
    const SMALL: f64 = 1e-18;
    let mut series = Series::<N>::start(*omega);
    let (mut r, mut w) = (Quaternion::identity(), *omega);
    let (mut power, mut most) = (1.0, 1.0);
    for n in 1..N - 1 {
        series.extend(inertia, inertia_inv);
        power *= h;
        w += series.a[n] * power;
        r += series.b[n] * power;
        most *= fall;
        if most <= SMALL {
            break;
        }
    }
    (r, w)
}

/// The scaled derivatives a_n, b_n found so far.
struct Series<const N: usize> {
    a: [Vec3; N],
    b: [Quaternion<f64>; N],
    n: usize,
}

impl<const N: usize> Series<N> {
    fn start(omega: Vec3) -> Self {
        let mut series =
            Series { a: [Vec3::zeros(); N], b: [Quaternion::new(0.0, 0.0, 0.0, 0.0); N], n: 0 };
        series.a[0] = omega;
        series.b[0] = Quaternion::identity();
        series
    }

    fn extend(&mut self, inertia: &Vec3, inertia_inv: &Vec3) {
        let n = self.n;
        // Σ a_k × J a_{n−k} has (J_z − J_y) Σ a_k,y a_{n−k},z along x, and so on.
        let (mut pairs, mut w, mut v) = (Vec3::zeros(), 0.0, Vec3::zeros());
        for k in 0..=n {
            let (a, b, c) = (&self.a[k], &self.b[k], &self.a[n - k]);
            pairs += Vec3::new(a.y * c.z, a.z * c.x, a.x * c.y);
            // b ∘ c, c a vector.
            w -= b.i * c.x + b.j * c.y + b.k * c.z;
            v += c * b.w + Vec3::new(b.i, b.j, b.k).cross(c);
        }
        let across = Vec3::new(inertia.z - inertia.y, inertia.x - inertia.z, inertia.y - inertia.x);
        let (torque, rate) = (across.component_mul(&pairs), Quaternion::from_parts(w, v));
        let next = (n + 1) as f64;
        self.a[n + 1] = -inertia_inv.component_mul(&torque) / next;
        self.b[n + 1] = rate * (0.5 / next);
        self.n = n + 1;
    }
}
