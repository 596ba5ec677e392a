//! Constraints that hold points of a body rigidly together.

use gelenk_model::math::{Mat3, Vec3};

/// A base that is thinner than this part of its length is flat.
const FLAT: f64 = 1e-9;

/// A constraint between points of one body.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Hold {
    /// Two points keep their distance.
    Distance(usize, usize),
    /// A point is the weighted sum of others, in all three coordinates; the weights add up to 1.
    Sum(usize, Vec<(usize, f64)>),
}

/// As few constraints as make `places` a rigid body: \[Schmitt, Bender, Prautzsch 2005\] section 4.
///
/// In space: four points that span a large tetrahedron with their six distances, and each further point with three
/// distances to those three of the four whose directions from it are farthest from dependent: 3 n − 6 distances. In a plane
/// or on a line distances alone do not hold a body (they say nothing, to first order, of motions out of it): there,
/// three points with three distances or two with one, and each further point is their weighted sum.
pub(super) fn hold(places: &[Vec3]) -> Vec<Hold> {
    let base = base(places);
    let mut holds = Vec::new();
    for (k, &j) in base.iter().enumerate() {
        holds.extend(base[..k].iter().map(|&i| Hold::Distance(i, j)));
    }
    for k in (0..places.len()).filter(|k| !base.contains(k)) {
        if base.len() == 4 {
            let three = best_three(places, &base, k);
            holds.extend(three.map(|i| Hold::Distance(i, k)));
        } else {
            holds.push(Hold::Sum(k, weights(places, &base, k)));
        }
    }
    holds
}

/// Up to four points, each as far as can be from the span of those before; fewer for flat sets.
fn base(places: &[Vec3]) -> Vec<usize> {
    let mut base: Vec<usize> = Vec::new();
    let mut directions: Vec<Vec3> = Vec::new();
    let mut size = 0.0;
    while base.len() < 4 {
        let beside = |p: &Vec3| {
            let Some(&first) = base.first() else { return p.norm() };
            let mut r = p - places[first];
            for d in &directions {
                r -= d * d.dot(&r);
            }
            r.norm()
        };
        let mut best = (0, f64::NEG_INFINITY);
        for (k, p) in places.iter().enumerate() {
            // Mirror images are equally far; the first of them is taken in spite of rounding.
            if beside(p) > best.1 * (1.0 + 1e-12) + 1e-300 || best.1 < 0.0 {
                best = (k, beside(p));
            }
        }
        let (k, length) = best;
        match base.first() {
            None if length < 0.0 => break,
            None => {}
            Some(_) if length <= FLAT * f64::max(size, 1e-300) => break,
            Some(&first) => {
                let mut r = places[k] - places[first];
                for d in &directions {
                    r -= d * d.dot(&r);
                }
                directions.push(r / length);
                size = f64::max(size, length);
            }
        }
        base.push(k);
    }
    base
}

/// The three of four base points whose directions from point k are farthest from dependent.
fn best_three(places: &[Vec3], base: &[usize], k: usize) -> [usize; 3] {
    let mut best = ([base[0], base[1], base[2]], -1.0);
    for left_out in (0..4).rev() {
        let three: Vec<usize> = (0..4).filter(|i| *i != left_out).map(|i| base[i]).collect();
        let three = [three[0], three[1], three[2]];
        let directions = three.map(|i| (places[i] - places[k]).normalize());
        let volume = Mat3::from_columns(&directions).determinant().abs();
        if volume > best.1 + 1e-12 {
            best = (three, volume);
        }
    }
    best.0
}

/// Weights w with P_k = Σ w_b P_b, Σ w = 1, on a base of one, two or three points.
fn weights(places: &[Vec3], base: &[usize], k: usize) -> Vec<(usize, f64)> {
    let first = base[0];
    let r = places[k] - places[first];
    let edge = |b: usize| places[base[b]] - places[first];
    let others: Vec<f64> = match base.len() {
        2 => vec![edge(1).dot(&r) / edge(1).norm_squared()],
        3 => {
            let (u, v) = (edge(1), edge(2));
            let normal = u.cross(&v);
            let square = normal.norm_squared();
            vec![r.cross(&v).dot(&normal) / square, u.cross(&r).dot(&normal) / square]
        }
        _ => Vec::new(),
    };
    let own = 1.0 - others.iter().sum::<f64>();
    std::iter::once((first, own)).chain(base[1..].iter().copied().zip(others)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cube() -> Vec<Vec3> {
        (0..8_u32)
            .map(|k| Vec3::new(f64::from(k & 1), f64::from(k >> 1 & 1), f64::from(k >> 2)))
            .collect()
    }

    #[test]
    fn a_cube_takes_18_distances() {
        let holds = hold(&cube());
        assert_eq!(holds.len(), 18);
        assert!(holds.iter().all(|h| matches!(h, Hold::Distance(i, j) if i != j)));
    }

    #[test]
    fn flat_and_thin_sets_take_sums() {
        let flat: Vec<Vec3> = cube().iter().map(|p| Vec3::new(p.x, p.y + p.z * 0.3, 0.0)).collect();
        let holds = hold(&flat);
        assert_eq!(holds.iter().filter(|h| matches!(h, Hold::Distance(..))).count(), 3);
        let thin: Vec<Vec3> = (0..4).map(|k| Vec3::x() * f64::from(k)).collect();
        let sums = hold(&thin);
        assert_eq!(sums.len(), 3);
        for (places, holds) in [(flat, holds), (thin, sums)] {
            for hold in holds {
                if let Hold::Sum(k, weights) = hold {
                    let sum: Vec3 = weights.iter().map(|&(b, w)| places[b] * w).sum();
                    assert!((sum - places[k]).norm() < 1e-14);
                    assert!((weights.iter().map(|w| w.1).sum::<f64>() - 1.0).abs() < 1e-14);
                }
            }
        }
    }
}
