//! Among the closed postures, the one nearest to the start.

use super::closure::Closing;
use crate::linear::{Places, Posture, damped_least_squares};

/// Damping that stands for the distance beside the joints, relative to rows of length 1.
const WEIGHT: f64 = 1e-7;
/// Most steps, and the share of the squared distance below which a gain is not worth one.
const MAX_STEPS: usize = 20;
const GAIN: f64 = 1e-4;

/// Slides a closed posture along its freedom towards `start`, keeping it closed; returns the Gauss-Newton steps done.
///
/// Minimizes D = Σ m |Δs|² + Δφ·J Δφ, Δφ the rotation vector from start to now, by Gauss-Newton steps
/// min |A x + C|² + δ² |x + d|², d = M^½ (Δs, Δφ), each followed by closing. A step that does not shorten D is undone.
pub(crate) fn approach(closing: &Closing, posture: &mut Posture<'_>, start: &Places) -> usize {
    let mut d = displacement(closing, posture, start);
    let mut distance = square(&d);
    let mut iterations = 0;
    for _ in 0..MAX_STEPS {
        if distance == 0.0 {
            break;
        }
        iterations += 1;
        let c = closing.part.errors(posture);
        let mut matrix = closing.part.matrix(posture).matrix;
        let scales: Vec<f64> =
            matrix.row_norms().iter().map(|n| if *n > 0.0 { 1.0 / n } else { 0.0 }).collect();
        matrix.scale_rows(&scales);
        let b: Vec<f64> = c.iter().zip(&scales).map(|(c, s)| c * s).collect();
        let x = damped_least_squares(&matrix, &closing.plan, &b, WEIGHT, Some(&d));
        if square(&x) <= GAIN * GAIN * distance {
            break;
        }
        let movements = closing.part.movements(posture, &x);
        let saved = closing.part.places(posture);
        let mut gain = 0.0;
        for share in [1.0, 0.25] {
            closing.part.displace(posture, &movements, share);
            let closure = closing.close(posture);
            iterations += closure.iterations;
            let new_d = displacement(closing, posture, start);
            let new_distance = square(&new_d);
            if closure.closed && new_distance < distance {
                gain = (distance - new_distance) / distance;
                (d, distance) = (new_d, new_distance);
                break;
            }
            closing.part.restore(posture, &saved);
        }
        if gain < GAIN {
            break;
        }
    }
    iterations
}

/// M^½ (Δs, Δφ) from `start` to the posture.
fn displacement(closing: &Closing, posture: &Posture<'_>, start: &Places) -> Vec<f64> {
    closing.part.weighted(posture, &closing.part.moved(posture, start))
}

fn square(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum()
}
