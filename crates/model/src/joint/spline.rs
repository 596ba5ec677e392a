//! Cubic spline through points.

use nalgebra::Vector3;

use crate::math::{Real, Vec3, lift};

/// Cubic spline: twice continuously differentiable, through all its points, over the sum of chord lengths.
///
/// With knots u_i, spacing h_i, points p_i and bends m_i = c''(u_i), in u_i ≤ u ≤ u_{i+1}, s = u − u_i, r = u_{i+1} − u:
/// ```text
/// c   = (m_i r³ + m_{i+1} s³)/(6 h) + (p_i/h − m_i h/6) r + (p_{i+1}/h − m_{i+1} h/6) s
/// h_{i−1} m_{i−1} + 2 (h_{i−1} + h_i) m_i + h_i m_{i+1} = 6 ( (p_{i+1} − p_i)/h_i − (p_i − p_{i−1})/h_{i−1} )
/// ```
/// Open: m = 0 at both ends, beyond which it goes on straight. Closed (last point equal to the first): periodic.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spline {
    /// u_i. (n)
    knots: Vec<f64>,
    /// p_i. (n)
    points: Vec<Vec3>,
    /// m_i. (n)
    bends: Vec<Vec3>,
}

impl Spline {
    /// The spline through `points`; closed if the last is the first.
    pub(super) fn new(points: &[Vec3]) -> Result<Self, String> {
        if points.len() < 2 {
            return Err(format!("a curve needs at least 2 points, not {}", points.len()));
        }
        if let Some(i) = points.iter().position(|p| !p.iter().all(|x| x.is_finite())) {
            return Err(format!("point {} of the curve is not a number", i + 1));
        }
        let mut knots = vec![0.0];
        for (i, pair) in points.windows(2).enumerate() {
            let chord = (pair[1] - pair[0]).norm();
            let next = knots[i] + chord;
            if next <= knots[i] {
                return Err(format!("points {} and {} of the curve are the same", i + 1, i + 2));
            }
            knots.push(next);
        }
        let closed = points.first() == points.last();
        if closed && points.len() < 4 {
            return Err("a closed curve needs at least 3 different points".to_owned());
        }
        let bends = if closed { closed_bends(&knots, points) } else { open_bends(&knots, points) };
        Ok(Spline { knots, points: points.to_vec(), bends })
    }

    /// u_i.
    pub(super) fn knots(&self) -> &[f64] {
        &self.knots
    }

    /// Whether its end is its start.
    pub(super) fn is_closed(&self) -> bool {
        self.points.first() == self.points.last()
    }

    /// c, c', c'' at u; straight on beyond the ends.
    pub(super) fn derivatives<T: Real>(&self, u: T) -> [Vector3<T>; 3] {
        let last = self.knots.len() - 1;
        let value = u.value().clamp(self.knots[0], self.knots[last]);
        let inside = u.chain(value, f64::from(u8::from(value.to_bits() == u.value().to_bits())));
        let i = self.knots.partition_point(|knot| *knot <= value).clamp(1, last) - 1;
        let h = self.knots[i + 1] - self.knots[i];
        let s = inside - T::from(self.knots[i]);
        let r = T::from(self.knots[i + 1]) - inside;
        let (p, q) = (self.points[i], self.points[i + 1]);
        let (m, n) = (self.bends[i], self.bends[i + 1]);
        let (p_line, q_line) = (p / h - m * (h / 6.0), q / h - n * (h / 6.0));
        let [m, n, p_line, q_line] = [m, n, p_line, q_line].map(|v| lift::<T>(&v));
        let h = T::from(h);
        let c = (m * (r * r * r) + n * (s * s * s)) / (T::from(6.0) * h) + p_line * r + q_line * s;
        let c1 = (n * (s * s) - m * (r * r)) / (T::from(2.0) * h) - p_line + q_line;
        let c2 = (m * r + n * s) / h;
        [c + c1 * (u - inside), c1, c2]
    }
}

/// 6 ((p_{i+1} − p_i)/h_i − (p_i − p_{i−1})/h_{i−1}).
fn load(p: [&Vec3; 3], h: [f64; 2]) -> Vec3 {
    ((p[2] - p[1]) / h[1] - (p[1] - p[0]) / h[0]) * 6.0
}

fn open_bends(knots: &[f64], points: &[Vec3]) -> Vec<Vec3> {
    let n = knots.len();
    let h: Vec<f64> = knots.windows(2).map(|w| w[1] - w[0]).collect();
    let mut bends = vec![Vec3::zeros(); n];
    if n > 2 {
        let diagonal: Vec<f64> = (1..n - 1).map(|i| 2.0 * (h[i - 1] + h[i])).collect();
        let loads: Vec<Vec3> = (1..n - 1)
            .map(|i| load([&points[i - 1], &points[i], &points[i + 1]], [h[i - 1], h[i]]))
            .collect();
        let solved = solve_tridiagonal(&diagonal, &h[1..n - 2], &loads);
        bends[1..n - 1].copy_from_slice(&solved);
    }
    bends
}

/// The cyclic system by the Sherman-Morrison formula: A = T + w wᵀ/g with the corner entry in w.
fn closed_bends(knots: &[f64], points: &[Vec3]) -> Vec<Vec3> {
    let n = knots.len() - 1; // m_n = m_0
    let h: Vec<f64> = knots.windows(2).map(|w| w[1] - w[0]).collect();
    let before = |i: usize| if i == 0 { n - 1 } else { i - 1 };
    let mut diagonal: Vec<f64> = (0..n).map(|i| 2.0 * (h[before(i)] + h[i])).collect();
    let loads: Vec<Vec3> = (0..n)
        .map(|i| load([&points[before(i)], &points[i], &points[i + 1]], [h[before(i)], h[i]]))
        .collect();
    let corner = h[n - 1];
    let g = -diagonal[0];
    // w = (g, 0, …, corner); T = A − w wᵀ/g keeps A's off-diagonals.
    diagonal[0] -= g;
    diagonal[n - 1] -= corner * corner / g;
    let mut w = vec![Vec3::zeros(); n];
    w[0] = Vec3::repeat(g);
    w[n - 1] = Vec3::repeat(corner);
    let y = solve_tridiagonal(&diagonal, &h[..n - 1], &loads);
    let z = solve_tridiagonal(&diagonal, &h[..n - 1], &w);
    let along = y[0] + y[n - 1] * (corner / g);
    let factor = along / (1.0 + z[0].x + z[n - 1].x * corner / g);
    let mut bends: Vec<Vec3> = y.iter().zip(&z).map(|(y, z)| y - factor * z.x).collect();
    bends.push(bends[0]);
    bends
}

/// Solves the symmetric tridiagonal system (diagonally dominant, so without pivoting).
fn solve_tridiagonal(diagonal: &[f64], off: &[f64], loads: &[Vec3]) -> Vec<Vec3> {
    let n = diagonal.len();
    let (mut d, mut x) = (diagonal.to_vec(), loads.to_vec());
    for i in 1..n {
        let factor = off[i - 1] / d[i - 1];
        d[i] -= factor * off[i - 1];
        x[i] = x[i] - x[i - 1] * factor;
    }
    x[n - 1] /= d[n - 1];
    for i in (0..n - 1).rev() {
        x[i] = (x[i] - x[i + 1] * off[i]) / d[i];
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corner_points() -> Vec<Vec3> {
        vec![
            Vec3::new(0.0, 0.0, 0.0),
            Vec3::new(1.0, 0.5, 0.2),
            Vec3::new(1.5, 2.0, -0.3),
            Vec3::new(-0.5, 1.7, 0.4),
        ]
    }

    /// Points on the knots, c and its first two derivatives the same from both sides.
    fn check_smooth(spline: &Spline, points: &[Vec3]) {
        let e = 1e-9;
        for (i, (u, p)) in spline.knots().iter().zip(points).enumerate() {
            assert!((spline.derivatives(*u)[0] - p).norm() < 1e-13);
            if i == 0 || i == points.len() - 1 {
                continue;
            }
            let (before, after) = (spline.derivatives(u - e), spline.derivatives(u + e));
            for k in 0..3 {
                assert!((after[k] - before[k]).norm() < 1e-7, "derivative {k} jumps at {u}");
            }
        }
        for i in 0..50 {
            let u = spline.knots()[3] * (0.013 + 0.0197 * f64::from(i));
            let h = 1e-5;
            let (minus, here, plus) =
                (spline.derivatives(u - h), spline.derivatives(u), spline.derivatives(u + h));
            for k in 0..2 {
                let slope = (plus[k] - minus[k]) / (2.0 * h);
                assert!((slope - here[k + 1]).norm() < 1e-8);
            }
        }
    }

    #[test]
    fn open_spline_is_smooth_and_ends_straight() {
        let points = corner_points();
        let spline = Spline::new(&points).unwrap();
        check_smooth(&spline, &points);
        let end = spline.knots()[3];
        assert!(spline.derivatives(end)[2].norm() < 1e-12);
        let beyond = spline.derivatives(end + 2.0);
        assert!((beyond[0] - points[3] - beyond[1] * 2.0).norm() < 1e-12);
    }

    #[test]
    fn closed_spline_is_smooth_where_it_closes() {
        let mut points = corner_points();
        points.push(points[0]);
        let spline = Spline::new(&points).unwrap();
        check_smooth(&spline, &points);
        let (start, end) = (spline.derivatives(0.0), spline.derivatives(spline.knots()[4]));
        for k in 0..3 {
            assert!((start[k] - end[k]).norm() < 1e-12, "derivative {k}");
        }
    }

    #[test]
    fn closed_spline_is_close_to_a_circle() {
        let n = 64;
        let mut points: Vec<Vec3> = (0..n)
            .map(|i| {
                let (sin, cos) = (std::f64::consts::TAU * f64::from(i) / f64::from(n)).sin_cos();
                Vec3::new(cos, sin, 0.0)
            })
            .collect();
        points.push(points[0]);
        let spline = Spline::new(&points).unwrap();
        let end = spline.knots()[64];
        for i in 0..200 {
            let radius = spline.derivatives(end * f64::from(i) / 200.0)[0].norm();
            // Error of cubic interpolation, (5/384) h⁴.
            assert!((radius - 1.0).abs() < 1.3e-6);
        }
    }

    #[test]
    fn wrong_points_are_told() {
        let p = corner_points();
        assert!(Spline::new(&p[..1]).is_err());
        assert!(Spline::new(&[p[0], p[0], p[1]]).unwrap_err().contains("points 1 and 2"));
        assert!(Spline::new(&[p[0], p[1], p[0]]).unwrap_err().contains("closed"));
        assert!(Spline::new(&[p[0], Vec3::repeat(f64::NAN)]).is_err());
    }
}
