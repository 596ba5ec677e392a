//! Natural coordinates: where each body's numbers lie, and the way to poses and back.

use gelenk_model::math::{Mat3, Quat, Real, Vec3};
use gelenk_model::{Body, BodyKind, Model, Pose, State, Twist};
use nalgebra::{Matrix3, Vector3};

/// Coordinates of a rigid body: its centre and the 9 entries of R.
pub const RIGID: usize = 12;
/// Coordinates of a point mass.
pub const POINT: usize = 3;

/// Where a body's coordinates lie among all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Index of the body in the model.
    pub body: usize,
    /// Its first coordinate: s (3), then the columns of R (9) for a rigid body.
    pub first: usize,
    /// Whether it has a rotation.
    pub rigid: bool,
}

impl Place {
    /// Number of its coordinates.
    pub fn len(&self) -> usize {
        if self.rigid { RIGID } else { POINT }
    }

    /// Never: a body that moves has coordinates.
    pub fn is_empty(&self) -> bool {
        false
    }
}

/// The natural coordinates p of a model: 12 for each rigid body that moves, 3 for each point mass. \[Laufen\] chapter I.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Bodies that move, in the order of the model.
    pub places: Vec<Place>,
    /// Number of coordinates.
    pub n: usize,
    /// The place of each body; `None` for those that are fixed. (n_bodies)
    pub of_body: Vec<Option<usize>>,
    /// ∫ x_k² dm about the centre of mass, by body and principal axis, kg m². (places)
    pub squares: Vec<Vec3>,
}

/// ∫ x_k² dm of a body: with the moments J, x² = ½ (J_y + J_z − J_x). Rounding below zero is zero.
pub fn squares(body: &Body) -> Vec3 {
    let j = &body.inertia;
    let half = 0.5 * j.sum();
    let scale = 1e-12 * j.amax();
    (Vec3::repeat(half) - j).map(|x| if x < scale { 0.0 } else { x })
}

impl Layout {
    /// The layout of a model.
    pub fn new(model: &Model) -> Self {
        let mut layout = Layout {
            places: Vec::new(),
            n: 0,
            of_body: vec![None; model.n_bodies()],
            squares: Vec::new(),
        };
        for (i, body) in model.bodies.iter().enumerate().filter(|(_, body)| !body.fixed) {
            let rigid = body.kind == BodyKind::Rigid;
            let place = Place { body: i, first: layout.n, rigid };
            layout.of_body[i] = Some(layout.places.len());
            layout.n += place.len();
            layout.places.push(place);
            layout.squares.push(squares(body));
        }
        layout
    }

    /// The diagonal of M: m for the centre, ∫ x_k² dm for column k of R. (n)
    pub fn mass(&self, model: &Model) -> Vec<f64> {
        let mut mass = Vec::with_capacity(self.n);
        for (place, squares) in self.places.iter().zip(&self.squares) {
            mass.extend([model.bodies[place.body].mass; 3]);
            if place.rigid {
                mass.extend(squares.iter().flat_map(|x| [*x; 3]));
            }
        }
        mass
    }

    /// p and v of a state. (n each)
    pub fn write(&self, state: &State, p: &mut [f64], v: &mut [f64]) {
        for place in &self.places {
            let (pose, twist) = (state.pose(id(place)), state.twist(id(place)));
            put(place, &pose, &twist, p, v);
        }
    }

    /// Poses and twists at p and v; those of fixed bodies stay. ω is that of the rigid motion nearest to Ṙ in the M-norm:
    /// with A = R⁻¹Ṙ and d_k = ∫ x_k² dm, (d_i + d_j) ω_k = d_i A_ji − d_j A_ij for (i, j, k) in turn.
    pub fn read(&self, p: &[f64], v: &[f64], poses: &mut [Pose], twists: &mut [Twist]) {
        for (place, d) in self.places.iter().zip(&self.squares) {
            let (p, v) = (&p[place.first..][..place.len()], &v[place.first..][..place.len()]);
            let pose = &mut poses[place.body];
            let twist = &mut twists[place.body];
            pose.s = Vec3::new(p[0], p[1], p[2]);
            twist.s_dot = Vec3::new(v[0], v[1], v[2]);
            if place.rigid {
                pose.rot = Mat3::from_column_slice(&p[3..]);
                let rate = Mat3::from_column_slice(&v[3..]);
                twist.omega = pose.rot * rates(&pose.rot, &rate, d);
            }
        }
    }

    /// A state from poses and twists; `state` gives what bodies do not tell.
    pub fn write_state(&self, poses: &[Pose], twists: &[Twist], state: &mut State) {
        for place in &self.places {
            let i = place.body;
            state.s[i] = poses[i].s;
            state.s_dot[i] = twists[i].s_dot;
            if place.rigid {
                let rot = nalgebra::Rotation3::from_matrix_unchecked(poses[i].rot);
                let mut quat = Quat::from_rotation_matrix(&rot);
                // The sign that a moment ago had, so that recordings are smooth.
                if quat.coords.dot(&state.rot[i].coords) < 0.0 {
                    quat = Quat::new_unchecked(-quat.into_inner());
                }
                state.rot[i] = quat;
                state.omega[i] = twists[i].omega;
            }
        }
    }
}

/// Writes a body's coordinates and their rates.
pub fn put(place: &Place, pose: &Pose, twist: &Twist, p: &mut [f64], v: &mut [f64]) {
    let first = place.first;
    p[first..first + 3].copy_from_slice(pose.s.as_slice());
    v[first..first + 3].copy_from_slice(twist.s_dot.as_slice());
    if place.rigid {
        p[first + 3..first + RIGID].copy_from_slice(pose.rot.as_slice());
        let rate = twist.omega.cross_matrix() * pose.rot;
        v[first + 3..first + RIGID].copy_from_slice(rate.as_slice());
    }
}

fn id(place: &Place) -> gelenk_model::BodyId {
    gelenk_model::BodyId(u32::try_from(place.body).unwrap_or(u32::MAX))
}

/// ω in body axes, the rigid motion nearest to Ṙ.
pub fn rates<T: Real>(rot: &Matrix3<T>, rate: &Matrix3<T>, d: &Vec3) -> Vector3<T> {
    // R is orthonormal to the tolerance; Rᵀ in place of R⁻¹ changes nothing where it is exactly so.
    let a = rot.tr_mul(rate);
    let turn = |i: usize, j: usize| {
        let sum = d[i] + d[j];
        let (share_i, share_j) = if sum > 0.0 { (d[i] / sum, d[j] / sum) } else { (0.5, 0.5) };
        T::from(share_i) * a[(j, i)] - T::from(share_j) * a[(i, j)]
    };
    Vector3::new(turn(1, 2), turn(2, 0), turn(0, 1))
}

/// Brings R back to an orthonormal matrix by Newton's method in the M-norm: R ← R (E + N), N_ij = d_i/(d_i + d_j) (E − RᵀR)_ij.
pub fn orthonormalize(rot: &mut Mat3, d: &Vec3) {
    for _ in 0..6 {
        let missing = Mat3::identity() - rot.tr_mul(rot);
        if missing.amax() <= 4.0 * f64::EPSILON {
            break;
        }
        let mut step = Mat3::identity();
        for i in 0..3 {
            for j in 0..3 {
                let sum = d[i] + d[j];
                let share = if sum > 0.0 { d[i] / sum } else { 0.5 };
                step[(i, j)] += share * missing[(i, j)];
            }
        }
        *rot *= step;
    }
}
