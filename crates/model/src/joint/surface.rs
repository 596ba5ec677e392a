//! Point on a surface.

use std::sync::Arc;

use gelenk_expr::{Expr, Pool};
use nalgebra::{Matrix3, Vector3};

use super::elements::{FramePair, Placed};
use super::formula::{Formula, written};
use super::{JointEquations, JointFrame, JointRows, PairRow};
use crate::math::{Real, Vec3, norm};
use crate::state::{Pose, Twist};

/// A surface f(x, y, z) = 0.
#[derive(Clone, Debug)]
pub struct Surface {
    /// Inputs x, y, z; outputs f, ∇f (3), then xx, yy, zz, xy, xz, yz of the Hessian.
    formula: Formula,
    /// f with the values of parameters, and x, y, z in it.
    text: (String, [String; 3]),
}

/// f and its derivatives at a point.
struct Level<T> {
    f: T,
    gradient: Vector3<T>,
    hessian: Matrix3<T>,
}

impl Surface {
    /// The surface f = 0 over the symbols `x`, y and z (m), with the values of parameters.
    pub fn formula(
        pool: &mut Pool,
        f: Expr,
        x: [Expr; 3],
        parameters: &[(Expr, f64)],
    ) -> Result<Self, String> {
        let gradient = pool.gradient(f, &x);
        if gradient.iter().all(|slope| *slope == Expr::ZERO) {
            return Err("the equation of a surface must contain x, y or z".to_owned());
        }
        let mut outputs = vec![f];
        outputs.extend(&gradient);
        for (i, j) in [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)] {
            outputs.push(pool.diff(gradient[i], x[j]));
        }
        let text =
            (written(pool, &[f], parameters).concat(), x.map(|x| pool.display(x).to_string()));
        Ok(Surface { formula: Formula::new(pool, &outputs, &x, parameters)?, text })
    }

    /// f as an expression with the values of parameters put in, and the names of x, y and z in it.
    pub fn text(&self) -> (&str, [&str; 3]) {
        (&self.text.0, self.text.1.each_ref().map(String::as_str))
    }

    /// f at a point.
    pub fn value(&self, x: &Vec3) -> f64 {
        self.level(x).f
    }

    fn level<T: Real>(&self, x: &Vector3<T>) -> Level<T> {
        let mut v = [T::zero(); 10];
        self.formula.eval(x.as_slice(), &mut v);
        #[rustfmt::skip]
        let hessian = Matrix3::new(
            v[4], v[7], v[8],
            v[7], v[5], v[9],
            v[8], v[9], v[6],
        );
        Level { f: v[0], gradient: Vector3::new(v[1], v[2], v[3]), hessian }
    }
}

/// Point on a surface: a point of b stays on a surface f = 0 fixed in a; b turns freely. Takes away 1 degree of freedom.
///
/// With x the point in the frame on a, g = |∇f|, n = ∇f/g and H the Hessian of f:
/// ```text
/// C = f/g                                     near the surface the distance from it, m
/// J = J_x( n − (f/g²) H n )
/// γ = γ_x(the same) − ( ẋ·H ẋ/g − 2 (n·ẋ)(n·H ẋ)/g )
/// ```
/// J_x(w), γ_x(w): row and γ of w·Δ for the direction w fixed in a ([`Rail`](super::Rail)); γ is exact where f = 0.
/// Where ∇f = 0 (the apex of a cone) C = f and J = 0: the surface has no normal, and rank is lost.
///
/// \[Schmitt 2003\] section 10 names points gliding on surfaces.
#[derive(Clone, Debug)]
pub struct PointOnSurface {
    frames: FramePair,
    surface: Arc<Surface>,
}

impl PointOnSurface {
    /// The joint that holds the origin of the frame on b on a surface given in the frame on a.
    pub fn new(a: &JointFrame, b: &JointFrame, surface: Surface) -> Self {
        PointOnSurface { frames: FramePair::new(a, b), surface: Arc::new(surface) }
    }

    pub(super) fn frames(&self) -> [JointFrame; 2] {
        self.frames.both()
    }

    /// The surface.
    pub fn surface(&self) -> &Surface {
        &self.surface
    }

    fn level<T: Real>(&self, a: &Pose<T>, b: &Pose<T>) -> (Placed<T>, Level<T>) {
        let at = self.frames.place(a, b);
        let level = self.surface.level(&at.local());
        (at, level)
    }
}

impl<T: Real> Level<T> {
    /// n and g; zero and one where there is no normal.
    fn normal(&self) -> (Vector3<T>, T) {
        let g = norm(&self.gradient);
        if g.value() > 0.0 { (self.gradient / g, g) } else { (Vector3::zeros(), T::one()) }
    }

    /// ∇(f/g).
    fn direction(&self) -> Vector3<T> {
        let (n, g) = self.normal();
        n - self.hessian * n * (self.f / (g * g))
    }
}

impl JointEquations for PointOnSurface {
    fn n_rows(&self) -> usize {
        1
    }

    fn row_name(&self, _i: usize) -> &'static str {
        "off the surface"
    }

    fn position_error(&self, a: &Pose, b: &Pose, c: &mut [f64]) {
        let (_, level) = self.level(a, b);
        c[0] = level.f / level.normal().1;
    }

    fn force_point(&self, _a: &Pose, b: &Pose) -> Vec3 {
        b.point(&self.frames.b.origin)
    }
}

impl<T: Real> JointRows<T> for PointOnSurface {
    fn jacobian(&self, a: &Pose<T>, b: &Pose<T>, jac: &mut [PairRow<T>]) {
        let (at, level) = self.level(a, b);
        jac[0] = at.along_row(&at.in_world(&level.direction()));
    }

    fn gamma(&self, a: &Pose<T>, b: &Pose<T>, v_a: &Twist<T>, v_b: &Twist<T>, gamma: &mut [T]) {
        let (at, level) = self.level(a, b);
        let (n, g) = level.normal();
        let x_dot = at.local_rate(v_a, v_b);
        let bent = level.hessian * x_dot;
        let bend = (x_dot.dot(&bent) - T::from(2.0) * n.dot(&x_dot) * n.dot(&bent)) / g;
        gamma[0] = at.along_gamma(&at.in_world(&level.direction()), v_a, v_b) - bend;
    }
}
