//! From where a motion is looked at.

use gelenk_model::math::{Mat3, Vec3};

/// A way to look: a screen with right and up, seen from far away or in gentle perspective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct View {
    /// Unit vectors of the screen in the world; `toward` points to the viewer.
    pub(crate) right: Vec3,
    pub(crate) up: Vec3,
    pub(crate) toward: Vec3,
    /// The point that is looked at, m.
    pub(crate) centre: Vec3,
    /// Distance of the eye from it, m; `None`: infinitely far (orthographic).
    pub(crate) distance: Option<f64>,
}

/// A point on the screen, y up, m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Projected {
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// Toward the viewer, m.
    pub(crate) depth: f64,
    /// By how much things there look larger.
    pub(crate) zoom: f64,
}

impl View {
    /// The view along `−toward`, with `up` as near to the vertical as may be.
    pub(crate) fn along(toward: &Vec3, vertical: &Vec3, centre: Vec3) -> Self {
        let toward = toward.try_normalize(0.0).unwrap_or_else(|| -Vec3::y());
        let across = |v: &Vec3| (v - toward * toward.dot(v)).try_normalize(1e-6);
        let up = across(vertical)
            .or_else(|| across(&Vec3::y()))
            .or_else(|| across(&Vec3::z()))
            .unwrap_or_else(Vec3::z);
        View { right: up.cross(&toward), up, toward, centre, distance: None }
    }

    /// The best view of paths: one list of places a point, in step with time.
    ///
    /// A motion in a plane is seen face-on: the normal n of that plane has Σ (n·d)² ≈ 0 over all displacements d of
    /// all points from their mean places. World axes come first, then the eigenvector of Σ d dᵀ of least eigenvalue.
    /// A motion in space is seen from the front, a little from the right and from above, in gentle perspective.
    pub(crate) fn of_motion(paths: &[Vec<Vec3>], gravity: &Vec3) -> Self {
        let vertical = (-gravity).try_normalize(1e-12).unwrap_or_else(Vec3::z);
        let mut spread = Mat3::zeros();
        let mut all = Bounds::default();
        for path in paths {
            let finite = || path.iter().filter(|p| p.iter().all(|x| x.is_finite()));
            let n = finite().count().max(1) as f64;
            let mean = finite().sum::<Vec3>() / n;
            for p in finite() {
                let d = p - mean;
                spread += d * d.transpose();
                all.add(p);
            }
        }
        let centre = all.centre();
        let total = spread.trace();
        let still = |n: &Vec3| (n.transpose() * spread * n)[0] <= 1e-6 * total;
        let axes = [-Vec3::y(), Vec3::x(), Vec3::z()];
        if let Some(axis) = axes.iter().find(|axis| still(axis)) {
            return View::along(axis, &vertical, centre);
        }
        let eigen = spread.symmetric_eigen();
        let least = eigen.eigenvalues.imin();
        let normal: Vec3 = eigen.eigenvectors.column(least).into();
        if still(&normal) {
            // From the side that the front view is nearest to.
            let front = -Vec3::y() + 0.3 * Vec3::x() + 0.1 * Vec3::z();
            let toward = if normal.dot(&front) < 0.0 { -normal } else { normal };
            return View::along(&toward, &vertical, centre);
        }
        let toward = Vec3::new(0.5, -0.9, 0.0).normalize() + 0.42 * vertical;
        let mut view = View::along(&toward, &vertical, centre);
        view.distance = Some(3.0 * all.size().max(1e-9));
        view
    }

    /// Where a point of the world is on the screen.
    pub(crate) fn project(&self, p: &Vec3) -> Projected {
        let d = p - self.centre;
        let depth = self.toward.dot(&d);
        let zoom = match self.distance {
            // Nothing that is drawn lies behind the eye; a point that does stays at the rim.
            Some(distance) => distance / (distance - depth).max(0.1 * distance),
            None => 1.0,
        };
        Projected { x: self.right.dot(&d) * zoom, y: self.up.dot(&d) * zoom, depth, zoom }
    }
}

/// A box around points.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    low: Vec3,
    high: Vec3,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds { low: Vec3::repeat(f64::INFINITY), high: Vec3::repeat(f64::NEG_INFINITY) }
    }
}

impl Bounds {
    fn add(&mut self, p: &Vec3) {
        self.low = self.low.inf(p);
        self.high = self.high.sup(p);
    }

    fn centre(&self) -> Vec3 {
        if self.low.x <= self.high.x { 0.5 * (self.low + self.high) } else { Vec3::zeros() }
    }

    fn size(&self) -> f64 {
        if self.low.x <= self.high.x { (self.high - self.low).norm() } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOWN: Vec3 = Vec3::new(0.0, 0.0, -9.81);

    fn circle(u: &Vec3, w: &Vec3) -> Vec<Vec3> {
        (0..20).map(|i| f64::from(i) * 0.3).map(|a| a.cos() * u + a.sin() * w).collect()
    }

    #[test]
    fn planar_motions_are_seen_face_on() {
        let view = View::of_motion(&[circle(&Vec3::x(), &Vec3::z())], &DOWN);
        assert_eq!((view.right, view.up, view.distance), (Vec3::x(), Vec3::z(), None));
        // From above, y is up on the screen.
        let view = View::of_motion(&[circle(&Vec3::x(), &Vec3::y())], &DOWN);
        assert_eq!((view.right, view.up), (Vec3::x(), Vec3::y()));
        // A plane that leans.
        let n = Vec3::new(1.0, -2.0, 0.3).normalize();
        let (u, w) = gelenk_model::math::perpendicular_frame(&n);
        let view = View::of_motion(&[circle(&u, &w)], &DOWN);
        assert!((view.toward - n).norm() < 1e-9 && view.distance.is_none());
    }

    #[test]
    fn motions_in_space_are_seen_in_perspective() {
        let paths = [circle(&Vec3::x(), &Vec3::z()), circle(&Vec3::x(), &Vec3::y())];
        let view = View::of_motion(&paths, &DOWN);
        assert!(view.distance.is_some() && view.up.z > 0.8 && view.right.x > 0.5);
        let near = view.project(&(view.centre + 0.5 * view.toward + view.right));
        let far = view.project(&(view.centre - 0.5 * view.toward + view.right));
        assert!(near.x > far.x && near.depth > far.depth);
    }

    #[test]
    fn nothing_to_see_is_no_fault() {
        for paths in [vec![], vec![vec![Vec3::zeros(); 3]], vec![vec![Vec3::repeat(f64::NAN)]]] {
            let view = View::of_motion(&paths, &Vec3::zeros());
            assert!(view.project(&Vec3::zeros()).x.abs() < 1e-12);
        }
    }
}
