//! Small algebra: the names a mechanic knows for nalgebra's types.

use nalgebra as na;

/// A vector in space.
pub type Vec3 = na::Vector3<f64>;
/// A 3×3 matrix.
pub type Mat3 = na::Matrix3<f64>;
/// A rotation as a unit quaternion.
pub type Quat = na::UnitQuaternion<f64>;

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
