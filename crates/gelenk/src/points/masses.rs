//! Point masses in place of a rigid body.

use gelenk_model::math::Vec3;

/// Coordinates below this part of the body's size count as zero, and points closer than this as one.
const SAME: f64 = 1e-9;

/// A point mass of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MassPoint {
    /// Its place in the principal frame of the body, m.
    pub place: Vec3,
    /// Its mass, kg.
    pub mass: f64,
}

/// Point masses with the mass, the centre and the inertia tensor of a rigid body and one of them at every reference
/// point: \[Schmitt, Bender, Prautzsch 2005\] section 3.
///
/// In the principal frame, with X² = ∫ x² dm = (J₂ + J₃ − J₁)/2 and so on and the reference points Q_i = (x_i, y_i, z_i),
/// i = 1 … q:
///
/// ```text
/// 8 q masses m̃           at (±x_i, ±y_i, ±z_i)
/// 8 masses   m̂           at (±x̂, ±ŷ, ±ẑ)             m̂ = (m − 8 q m̃)/8,   8 m̂ x̂² = X² − 8 m̃ Σ x_i²
/// ```
/// m̃ is half of what X², Y², Z² and m allow, so that no mass and no square is negative. Masses in one place (a
/// coordinate that is zero, mirrored reference points) are one mass. The first q points are the reference points, in
/// their order, except that equal ones share a point: `at` tells which.
///
/// A flat body, X² = 0, has no masses outside its plane; a reference point there is refused with its number.
pub fn equivalent_masses(
    mass: f64,
    inertia: &Vec3,
    references: &[Vec3],
) -> Result<EquivalentMasses, usize> {
    let total = 0.5 * inertia.sum();
    // X², Y², Z² with the rounding of thin bodies taken away.
    let squares = Vec3::from_fn(|k, _| {
        let square = total - inertia[k];
        if square <= SAME * total { 0.0 } else { square }
    });
    let reach = references.iter().map(Vec3::amax).fold((total / mass).sqrt(), f64::max);
    let clean = |x: f64| if x.abs() <= SAME * reach { 0.0 } else { x };
    let references: Vec<Vec3> = references.iter().map(|r| r.map(clean)).collect();
    let flat = |r: &Vec3| (0..3).any(|k| squares[k] == 0.0 && r[k] != 0.0);
    if let Some(outside) = references.iter().position(flat) {
        return Err(outside);
    }
    let q = references.len() as f64;
    let mut small = 0.5 * mass / (8.0 * q).max(1.0);
    for k in 0..3 {
        let sum: f64 = references.iter().map(|r| r[k] * r[k]).sum();
        if sum > 0.0 {
            small = small.min(0.5 * squares[k] / (8.0 * sum));
        }
    }
    let mut found = EquivalentMasses { points: Vec::new(), at: Vec::new() };
    for reference in &references {
        let at = found.add(reference, small, SAME * reach);
        found.at.push(at);
    }
    for reference in &references {
        found.add_mirrored(reference, small, 1, SAME * reach);
    }
    let rest = (mass - 8.0 * q * small) / 8.0;
    let corner = Vec3::from_fn(|k, _| {
        let sum: f64 = references.iter().map(|r| r[k] * r[k]).sum();
        ((squares[k] - 8.0 * small * sum) / (8.0 * rest)).max(0.0).sqrt()
    });
    found.add_mirrored(&corner, rest, 0, SAME * reach);
    Ok(found)
}

/// Six equal point masses with the mass, the centre and the inertia tensor of a rigid body: \[Schmitt 2003\] section 3.
///
/// m/6 at ±√(3 X²/m) on the first principal axis, and so on, with X² = (J₂ + J₃ − J₁)/2. No joints are cared for; with these see
/// [`equivalent_masses`].
pub fn six_masses(mass: f64, inertia: &Vec3) -> [MassPoint; 6] {
    std::array::from_fn(|i| {
        let (axis, sign) = (i / 2, if i % 2 == 0 { 1.0 } else { -1.0 });
        let square = (0.5 * inertia.sum() - inertia[axis]).max(0.0);
        let mut place = Vec3::zeros();
        if mass > 0.0 {
            place[axis] = sign * (3.0 * square / mass).sqrt();
        }
        MassPoint { place, mass: mass / 6.0 }
    })
}

/// What [`equivalent_masses`] gives.
#[derive(Clone, Debug, PartialEq)]
pub struct EquivalentMasses {
    /// The masses, each place once.
    pub points: Vec<MassPoint>,
    /// Which of them stands at each reference point.
    pub at: Vec<usize>,
}

impl EquivalentMasses {
    /// Adds a mass; into the one that is there already, if any. Returns its number.
    fn add(&mut self, place: &Vec3, mass: f64, near: f64) -> usize {
        let same = |other: &MassPoint| (other.place - place).norm() <= near;
        if let Some(at) = self.points.iter().position(same) {
            self.points[at].mass += mass;
            return at;
        }
        self.points.push(MassPoint { place: *place, mass });
        self.points.len() - 1
    }

    /// Adds the eight mirror images of a mass, from the `first`; number 0 is the mass itself.
    fn add_mirrored(&mut self, place: &Vec3, mass: f64, first: usize, near: f64) {
        for image in first..8 {
            let sign = |bit: usize| if image & bit == 0 { 1.0 } else { -1.0 };
            let mirror = Vec3::new(sign(1), sign(2), sign(4));
            self.add(&place.component_mul(&mirror), mass, near);
        }
    }
}

#[cfg(test)]
mod tests {
    use gelenk_model::math::Mat3;
    use proptest::prelude::*;

    use super::*;

    fn check(mass: f64, inertia: &Vec3, references: &[Vec3]) {
        let found = equivalent_masses(mass, inertia, references).expect("possible");
        assert!(found.points.len() <= 8 * references.len() + 8);
        assert!(found.points.iter().all(|p| p.mass > 0.0));
        let sum: f64 = found.points.iter().map(|p| p.mass).sum();
        assert!((sum - mass).abs() < 1e-13 * mass, "mass {sum}");
        let centre: Vec3 = found.points.iter().map(|p| p.place * p.mass).sum();
        let size = references.iter().map(Vec3::norm).fold(inertia.amax().sqrt(), f64::max);
        assert!(centre.norm() < 1e-13 * mass * size, "centre {centre}");
        let mut tensor = Mat3::zeros();
        for p in &found.points {
            let r = &p.place;
            tensor += (Mat3::identity() * r.norm_squared() - r * r.transpose()) * p.mass;
        }
        let off = (tensor - Mat3::from_diagonal(inertia)).amax();
        assert!(off < 1e-12 * inertia.amax(), "inertia off by {off:.1e}");
        for (reference, &at) in references.iter().zip(&found.at) {
            assert!((found.points[at].place - reference).norm() <= 1e-8 * size);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn mass_centre_and_inertia_are_the_bodys(
            mass in 0.1..20.0_f64,
            squares in [0.01..3.0_f64, 0.01..3.0, 0.01..3.0],
            references in prop::collection::vec([-2.0..2.0_f64, -2.0..2.0, -2.0..2.0], 0..4),
            flat in 0..4_usize,
        ) {
            // Flat, thin and point-like bodies have their reference points where they are.
            let keep = |k: usize| if k < 3 - flat { 1.0 } else { 0.0 };
            let squares = Vec3::from(squares).map_with_location(|k, _, x| x * keep(k));
            let inertia = Vec3::new(squares.y + squares.z, squares.x + squares.z, squares.x + squares.y);
            let references: Vec<Vec3> = references
                .into_iter()
                .map(|r| Vec3::from(r).map_with_location(|k, _, x| x * keep(k)))
                .collect();
            if flat < 3 {
                check(mass, &inertia, &references);
            }
        }
    }

    #[test]
    fn six_masses_are_enough_without_joints() {
        for (mass, inertia) in
            [(3.0, Vec3::new(0.7, 1.1, 1.3)), (2.0, Vec3::new(1.0, 1.0, 0.0)), (0.5, Vec3::zeros())]
        {
            let mut tensor = Mat3::zeros();
            for p in six_masses(mass, &inertia) {
                let r = &p.place;
                tensor += (Mat3::identity() * r.norm_squared() - r * r.transpose()) * p.mass;
            }
            assert!((tensor - Mat3::from_diagonal(&inertia)).amax() < 1e-15);
        }
    }

    #[test]
    fn a_general_body_has_8q_plus_8_masses_and_symmetry_saves_some() {
        let inertia = Vec3::new(2.0, 3.0, 4.0);
        let found = equivalent_masses(3.0, &inertia, &[Vec3::new(0.3, 0.2, -0.7)]);
        assert_eq!(found.expect("possible").points.len(), 16);
        let on_axis = equivalent_masses(3.0, &inertia, &[Vec3::new(0.0, 0.0, 0.4)]);
        assert_eq!(on_axis.expect("possible").points.len(), 10);
        let rod = Vec3::new(1.0, 1.0, 0.0);
        let ends = [Vec3::new(0.0, 0.0, -1.0), Vec3::new(0.0, 0.0, 1.0)];
        check(2.0, &rod, &ends);
        assert_eq!(equivalent_masses(2.0, &rod, &ends).expect("possible").points.len(), 4);
        assert_eq!(equivalent_masses(2.0, &rod, &[ends[0], Vec3::x()]), Err(1));
        let point = equivalent_masses(2.0, &Vec3::zeros(), &[]).expect("possible");
        assert_eq!(point.points, [MassPoint { place: Vec3::zeros(), mass: 2.0 }]);
    }
}
