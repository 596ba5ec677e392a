//! Small algebra: the names a mechanic knows for nalgebra's types.

use std::ops::Neg;

use gelenk_expr::{Dual, Tape};
use nalgebra as na;
use nalgebra::{ClosedAddAssign, ClosedDivAssign, ClosedMulAssign, ClosedSubAssign};
use num_traits::{One, Zero};

/// A vector in space.
pub type Vec3 = na::Vector3<f64>;
/// A 3×3 matrix.
pub type Mat3 = na::Matrix3<f64>;
/// A rotation as a unit quaternion.
pub type Quat = na::UnitQuaternion<f64>;

/// The rotation of a quaternion of any length but zero.
pub fn quaternion(w: f64, x: f64, y: f64, z: f64) -> Option<Quat> {
    let q = na::Quaternion::new(w, x, y, z);
    let norm = q.norm();
    (norm > 1e-100 && norm.is_finite()).then(|| Quat::new_normalize(q))
}

/// Numbers that equations are written over: plain ones, or dual ones, which carry exact derivatives along.
pub trait Real:
    na::Scalar
    + Copy
    + Zero
    + One
    + ClosedAddAssign
    + ClosedSubAssign
    + ClosedMulAssign
    + ClosedDivAssign
    + Neg<Output = Self>
    + From<f64>
{
    /// The value without derivatives.
    fn value(self) -> f64;
    /// f(x), given f and f' there.
    #[must_use]
    fn chain(self, value: f64, slope: f64) -> Self;
    /// √x.
    #[must_use]
    fn root(self) -> Self;
    /// The angle of (x, y) from `y.angle(x)`.
    #[must_use]
    fn angle(self, x: Self) -> Self;
    /// Evaluates a tape.
    fn eval(tape: &Tape, inputs: &[Self], registers: &mut [Self], outputs: &mut [Self]);
}

impl Real for f64 {
    #[inline]
    fn value(self) -> f64 {
        self
    }

    #[inline]
    fn chain(self, value: f64, _slope: f64) -> f64 {
        value
    }

    #[inline]
    fn root(self) -> f64 {
        self.sqrt()
    }

    #[inline]
    fn angle(self, x: f64) -> f64 {
        self.atan2(x)
    }

    #[inline]
    fn eval(tape: &Tape, inputs: &[f64], registers: &mut [f64], outputs: &mut [f64]) {
        tape.eval(inputs, registers, outputs);
    }
}

impl Real for Dual {
    #[inline]
    fn value(self) -> f64 {
        self.v
    }

    #[inline]
    fn chain(self, value: f64, slope: f64) -> Dual {
        Dual::chain(self, value, slope)
    }

    #[inline]
    fn root(self) -> Dual {
        self.sqrt()
    }

    #[inline]
    fn angle(self, x: Dual) -> Dual {
        let value = self.v.atan2(x.v);
        Dual { v: value, ..self.atan2(x) }
    }

    fn eval(tape: &Tape, inputs: &[Dual], registers: &mut [Dual], outputs: &mut [Dual]) {
        tape.eval_dual(inputs, registers, outputs);
    }
}

/// A constant vector over any numbers.
#[inline]
pub fn lift<T: Real>(v: &Vec3) -> na::Vector3<T> {
    v.map(T::from)
}

/// A vector over any numbers, turned by a rotation.
pub fn rotate<T: Real>(rot: &Quat, v: &na::Vector3<T>) -> na::Vector3<T> {
    // The order of nalgebra's product, so that plain numbers keep their bits.
    let axis = lift::<T>(&rot.vector().into());
    let turn = axis.cross(v) * T::from(2.0);
    turn * T::from(rot.scalar()) + axis.cross(&turn) + v
}

/// |v|.
#[inline]
pub fn norm<T: Real>(v: &na::Vector3<T>) -> T {
    v.dot(v).root()
}

/// The matrix r× with (r×) u = r × u.
#[rustfmt::skip]
pub fn cross_matrix(r: &Vec3) -> Mat3 {
    Mat3::new(
         0.0, -r.z,  r.y,
         r.z,  0.0, -r.x,
        -r.y,  r.x,  0.0,
    )
}

/// Two unit vectors u, w that make (u, w, n) a right-handed orthonormal frame for the unit vector n.
///
/// u lies in the coordinate plane that is farthest from n, so that axes along x, y or z get exact frames:
/// n = z gives u = x, w = y.
pub fn perpendicular_frame(n: &Vec3) -> (Vec3, Vec3) {
    let (x, y, z) = (n.x.abs(), n.y.abs(), n.z.abs());
    let helper = if z >= x && z >= y {
        Vec3::x()
    } else if x >= y {
        Vec3::y()
    } else {
        Vec3::z()
    };
    let u = (helper - n * n.dot(&helper)).normalize();
    (u, n.cross(&u))
}
