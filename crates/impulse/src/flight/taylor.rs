//! Torque-free rotation by its Taylor series.

use gelenk_model::math::Vec3;
use nalgebra::Quaternion;

use crate::lanes::{F, mul_add};

/// The highest order of [`taylor`]; at |ω| h ≤ 1 terms beyond the 30th are below rounding.
pub const MAX_ORDER: u32 = 60;

/// Room for all terms, and for those of a short part, which fall by [`FAST`] each.
const N: usize = MAX_ORDER as usize + 2;
const FEW: usize = 16;
const FAST: f64 = 0.05;

/// The same for eight terms: 0.005⁸ < 1e-18.
const FEWEST: usize = 8;
const FASTEST: f64 = 0.005;

/// A term this much below the sum does not change it.
const SMALL: f64 = 1e-18;

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
    if fall < FASTEST {
        return slow_part(inertia, inertia_inv, omega, h, fall);
    }
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

/// A whole flight of a body that turns little: [`one_part`], normalized, four numbers at a time.
///
/// With c_n = ½ a_n hⁿ⁺¹ and d_n = b_n hⁿ the series is free of h:
/// ```text
/// (n+1) c_{n+1} = −2 J⁻¹ Σ_k c_k × J c_{n−k},      c_0 = ½ h ω
/// (n+1) d_{n+1} = Σ_k d_k ∘ c_{n−k},               d_0 = 1
/// ```
fn slow_part(
    inertia: &Vec3,
    inertia_inv: &Vec3,
    omega: &Vec3,
    h: f64,
    fall: f64,
) -> (Quaternion<f64>, Vec3) {
    /// 1/(n+1).
    const PART: [f64; FEWEST] =
        [1.0, 1.0 / 2.0, 1.0 / 3.0, 1.0 / 4.0, 1.0 / 5.0, 1.0 / 6.0, 1.0 / 7.0, 1.0 / 8.0];
    let across = Vec3::new(inertia.y - inertia.z, inertia.z - inertia.x, inertia.x - inertia.y);
    let twice = across.component_mul(inertia_inv) * 2.0;
    let twice = F::new([0.0, twice.x, twice.y, twice.z]);
    let start = omega * (0.5 * h);
    let mut c = F::new([0.0, start.x, start.y, start.z]);
    let mut terms = [Term::new(c, F::new([1.0, 0.0, 0.0, 0.0])); FEWEST];
    let (mut r, mut later) = (F::new([1.0, 0.0, 0.0, 0.0]), F::ZERO);
    let mut most = 1.0;
    for (n, part) in PART.iter().enumerate() {
        // d_0 ∘ c_n = c_n.
        let (mut pairs, mut rate) = (terms[0].next() * terms[n].after(), c);
        for (own, other) in terms[1..=n].iter().zip(terms[..n].iter().rev()) {
            pairs = mul_add(own.next(), other.after(), pairs);
            let [_, x, y, z] = other.c;
            rate = mul_add(own.turns[0], F::splat(x), rate);
            rate = mul_add(own.turns[1], F::splat(y), rate);
            rate = mul_add(own.turns[2], F::splat(z), rate);
        }
        let part = F::splat(*part);
        let d = rate * part;
        c = twice * pairs * part;
        r += d;
        later += c;
        most *= fall;
        if most <= SMALL {
            break;
        }
        if let Some(term) = terms.get_mut(n + 1) {
            *term = Term::new(c, d);
        }
    }
    let [w, i, j, k] = r.to_array();
    let norm = (w * w + i * i + j * j + k * k).sqrt();
    let [w, i, j, k] = (r / F::splat(norm)).to_array();
    // Without time nothing comes later.
    let scale = if h == 0.0 { 0.0 } else { 2.0 / h };
    let [_, x, y, z] = later.to_array();
    (Quaternion::new(w, i, j, k), omega + Vec3::new(x, y, z) * scale)
}

/// A term of [`slow_part`], as its sums need it. Lanes are those of a quaternion: w, x, y, z.
#[derive(Clone, Copy)]
struct Term {
    c: [f64; 4],
    /// d ∘ e_x, d ∘ e_y, d ∘ e_z.
    turns: [F; 3],
}

impl Term {
    #[inline]
    fn new(c: F, d: F) -> Term {
        let [w, i, j, k] = d.to_array();
        let turns = [F::new([-i, w, k, -j]), F::new([-j, -k, w, i]), F::new([-k, j, -i, w])];
        Term { c: c.to_array(), turns }
    }

    /// (y, z, x) of c.
    #[inline]
    fn next(&self) -> F {
        let [w, x, y, z] = self.c;
        F::new([w, y, z, x])
    }

    /// (z, x, y) of c.
    #[inline]
    fn after(&self) -> F {
        let [w, x, y, z] = self.c;
        F::new([w, z, x, y])
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_parts_are_those_of_the_series() {
        let inertia = Vec3::new(0.3, 0.7, 0.9);
        let inverse = inertia.map(|j| 1.0 / j);
        for (size, h) in [(0.3, 0.01), (0.9, 0.005), (2e-4, 0.1), (0.4, -0.01), (3.0, 0.0)] {
            let omega = Vec3::new(0.6, -0.5, 0.62) * size;
            let fall = speed(&inertia, &inverse, &omega) * f64::abs(h);
            assert!(fall < FASTEST);
            let (turn, after) = slow_part(&inertia, &inverse, &omega, h, fall);
            let (series, right) = taylor(&inertia, &inverse, &omega, 12, h);
            assert!((turn - series).norm() < 4e-16, "{turn} {series}");
            assert!((turn.imag() - series.imag()).norm() < 4e-16 * series.imag().norm() + 1e-300);
            assert!((after - right).norm() < 4e-16 * right.norm(), "{after} {right}");
        }
    }
}
