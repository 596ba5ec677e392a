//! Other postures near a given one: where else the mechanism can be.

use super::closure::Closing;
use crate::linear::{Part, Posture, damped_least_squares};
use crate::math::Vec3;

/// The largest turn of a body on its way to a nearby posture, rad, and the largest step relative to the size.
const AMPLITUDE: f64 = 0.2;
/// A posture that comes back to less than this share of its way is not another one.
const STAYED: f64 = 0.1;

/// A fixed sequence of numbers in (−1, 1), spread evenly: splitmix64, \[Steele, Lea, Flood 2014\].
#[derive(Clone, Debug)]
pub(crate) struct Spread {
    state: u64,
}

impl Spread {
    pub(crate) fn new(seed: u64) -> Self {
        Spread { state: seed }
    }

    pub(crate) fn next(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        // 53 bits are exact in a double.
        (z >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

/// A velocity that the rows allow: a fixed vector of weighted velocities less what the rows take away.
///
/// x = r − A⁺ A r with the rows of A scaled to length 1; zero where nothing can move.
pub(crate) fn free_motion(closing: &Closing, posture: &mut Posture<'_>, seed: u64) -> Vec<f64> {
    const DAMPING: f64 = 1e-7;
    let mut spread = Spread::new(seed);
    let mut r: Vec<f64> = (0..closing.part.n_columns()).map(|_| spread.next()).collect();
    let mut matrix = closing.part.matrix(posture).matrix;
    let scales: Vec<f64> = matrix
        .row_norms()
        .iter()
        .map(|norm| if *norm > 0.0 && norm.is_finite() { 1.0 / norm } else { 0.0 })
        .collect();
    matrix.scale_rows(&scales);
    matrix.clear_rows(|i| scales[i] == 0.0);
    // The second pass removes what the damping left of the first.
    for _ in 0..2 {
        let b = matrix.multiply(&r);
        let x = damped_least_squares(&matrix, &closing.plan, &b, DAMPING, None);
        r.iter_mut().zip(&x).for_each(|(r, x)| *r += x);
    }
    r
}

/// Another closed posture nearby, `seed` choosing the direction; `None` where there is none that way.
///
/// Follows a velocity that the rows allow for up to 0.2 rad or a fifth of the size and closes the joints again. A way that
/// leads back to where it began (a taut chain that can only tremble) does not count.
pub(crate) fn nearby<'m>(
    closing: &Closing,
    posture: &Posture<'m>,
    seed: u64,
) -> Option<Posture<'m>> {
    let mut other = posture.clone();
    let motion = free_motion(closing, &mut other, seed);
    let length = motion.iter().map(|x| x * x).sum::<f64>().sqrt();
    if length <= 1e-5 * (motion.len() as f64).sqrt() {
        return None;
    }
    let movements = closing.part.movements(&other, &motion);
    let size = size(&closing.part, posture);
    let way = way(&movements, size);
    if way == 0.0 || !way.is_finite() {
        return None;
    }
    let start = closing.part.places(&mut other);
    closing.part.displace(&mut other, &movements, AMPLITUDE / way);
    other.follow_coordinates(closing.part.joints.iter().copied());
    if !closing.close(&mut other).closed {
        return None;
    }
    let moved = closing.part.moved(&other, &start);
    (self::way(&moved, size) >= STAYED * AMPLITUDE).then_some(other)
}

/// How far movements go: the largest turn or step relative to the size.
fn way(movements: &[(Vec3, Vec3)], size: f64) -> f64 {
    movements.iter().map(|(step, turn)| turn.norm().max(step.norm() / size)).fold(0.0, f64::max)
}

/// The size of a part, m: how far its centres of mass spread, at least the largest radius of gyration.
pub(crate) fn size(part: &Part, posture: &Posture<'_>) -> f64 {
    let (mut low, mut high) = (Vec3::repeat(f64::INFINITY), Vec3::repeat(f64::NEG_INFINITY));
    let mut size = 0.0_f64;
    for &b in &part.bodies {
        let s = &posture.state.s[b];
        low = low.inf(s);
        high = high.sup(s);
        let body = &posture.model.bodies[b];
        if body.mass > 0.0 {
            size = size.max((body.inertia.max() / body.mass).sqrt());
        }
    }
    let spread = if part.bodies.is_empty() { 0.0 } else { (high - low).norm() };
    let size = size.max(spread);
    if size > 0.0 && size.is_finite() { size } else { 1.0 }
}
