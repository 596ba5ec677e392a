//! Curves in space: where a point's foot on them lies, and how far along it is.

use gelenk_expr::{Expr, Pool};

use nalgebra::Vector3;

use super::formula::{Formula, written};
use super::spline::Spline;
use crate::math::{Real, Vec3, lift, norm};

/// A smooth curve c(u), open or closed, given by formulas or by a spline through points.
///
/// Measured along its arc: position = ∫ |c'| du from its start, m. An open curve goes on beyond its ends, a spline
/// straight on, a formula as it says; a closed one is periodic.
#[derive(Clone, Debug)]
pub struct Path {
    shape: Shape,
    closed: bool,
    /// Samples u_k, ascending, over the whole curve. (n)
    u: Vec<f64>,
    /// c(u_k). (n)
    points: Vec<Vec3>,
    /// Arc length from the start to u_k, m. (n)
    arc: Vec<f64>,
    /// The direction from which the frames across the tangent are built, if one serves the whole curve.
    side: Option<Vec3>,
}

/// Where the curve comes from.
#[derive(Clone, Debug)]
enum Shape {
    Spline(Spline),
    /// Input u; outputs c, c', c''. The texts of c and u.
    Formula(Formula, [String; 4]),
}

/// The foot of a point x on a path: the place u with (x − c)·c' = 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Foot<T = f64> {
    /// Its parameter.
    pub(super) u: T,
    /// c', c''.
    pub(super) d1: Vector3<T>,
    pub(super) d2: Vector3<T>,
    /// δ = x − c.
    pub(super) delta: Vector3<T>,
    /// D = |c'|² − δ·c'', so that u̇ = c'·ẋ/D; positive within the radius of curvature.
    pub(super) slope: T,
}

/// Samples between two knots of a spline; fewer for splines of very many points.
const SAMPLES_A_KNOT: usize = 16;
/// The most points of a spline.
const MAX_POINTS: usize = 100_000;
/// Samples of a formula.
const SAMPLES: usize = 256;
/// The ends of a formula are the same place if they differ by less than this times its size.
const CLOSED: f64 = 1e-9;
/// A frame is built from a direction that is at least this sine off the tangent.
const CLEAR_OF_TANGENT: f64 = 0.25;

impl Shape {
    /// c, c', c''.
    fn derivatives<T: Real>(&self, u: T) -> [Vector3<T>; 3] {
        match self {
            Shape::Spline(spline) => spline.derivatives(u),
            Shape::Formula(formula, _) => {
                let mut v = [T::zero(); 9];
                formula.eval(&[u], &mut v);
                [0, 3, 6].map(|k| Vector3::new(v[k], v[k + 1], v[k + 2]))
            }
        }
    }
}

impl Path {
    /// The cubic spline through points, m; closed if the last is the first.
    pub fn spline(points: &[Vec3]) -> Result<Self, String> {
        if points.len() > MAX_POINTS {
            return Err(format!("a curve may have {MAX_POINTS} points, not {}", points.len()));
        }
        let spline = Spline::new(points)?;
        let samples = (MAX_POINTS / points.len()).clamp(2, SAMPLES_A_KNOT);
        let mut u = Vec::with_capacity(samples * points.len());
        for pair in spline.knots().windows(2) {
            for k in 0..samples {
                u.push(pair[0] + (pair[1] - pair[0]) * k as f64 / samples as f64);
            }
        }
        u.extend(spline.knots().last());
        let closed = spline.is_closed();
        Path::new(Shape::Spline(spline), closed, u)
    }

    /// The curve of three formulas x, y, z (m) over the symbol `u` in a range, with the values of parameters; closed if
    /// place and slope are the same at both ends.
    pub fn formula(
        pool: &mut Pool,
        xyz: [Expr; 3],
        u: Expr,
        range: [f64; 2],
        parameters: &[(Expr, f64)],
    ) -> Result<Self, String> {
        let [start, end] = range;
        if !(start.is_finite() && end.is_finite() && start < end) {
            return Err(format!("the range of u must go up, not from {start} to {end}"));
        }
        let mut outputs = xyz.to_vec();
        for i in 0..6 {
            outputs.push(pool.diff(outputs[i], u));
        }
        let mut texts = written(pool, &xyz, parameters);
        texts.push(pool.display(u).to_string());
        let texts = texts.try_into().map_err(|_| "a curve has three formulas".to_owned())?;
        let shape = Shape::Formula(Formula::new(pool, &outputs, &[u], parameters)?, texts);
        let u = (0..=SAMPLES).map(|k| start + (end - start) * k as f64 / SAMPLES as f64).collect();
        let ends = [shape.derivatives(start), shape.derivatives(end)];
        let closed = (0..2).all(|k| {
            let size = ends[0][k].norm().max(ends[0][1].norm() * (end - start));
            (ends[0][k] - ends[1][k]).norm() <= CLOSED * size
        });
        Path::new(shape, closed, u)
    }

    /// x, y and z as expressions with the values of parameters put in, and the name of u in them; `None` for a spline.
    pub fn texts(&self) -> Option<[&str; 4]> {
        match &self.shape {
            Shape::Formula(_, texts) => Some(texts.each_ref().map(String::as_str)),
            Shape::Spline(_) => None,
        }
    }

    fn new(shape: Shape, closed: bool, u: Vec<f64>) -> Result<Self, String> {
        let points = Vec::with_capacity(u.len());
        let arc = vec![0.0; u.len()];
        let mut path = Path { shape, closed, u, points, arc, side: None };
        let mut steepest = [0.0_f64; 3];
        let mut speeds = Vec::with_capacity(path.u.len());
        for k in 0..path.u.len() {
            let [c, d1, d2] = path.derivatives(path.u[k]);
            if ![c, d1, d2].iter().all(|v| v.iter().all(|x| x.is_finite())) {
                return Err(format!("the curve has no value or no slope at u = {}", path.u[k]));
            }
            path.points.push(c);
            speeds.push(d1.norm());
            for (i, steepest) in steepest.iter_mut().enumerate() {
                *steepest = steepest.max((d1[i] / d1.norm()).abs());
            }
        }
        let fastest = speeds.iter().copied().fold(0.0, f64::max);
        if let Some(k) = speeds.iter().position(|speed| *speed <= 1e-9 * fastest) {
            return Err(format!(
                "the curve stands still at u = {}, so it has no direction there",
                path.u[k]
            ));
        }
        for k in 1..path.u.len() {
            path.arc[k] = path.arc[k - 1] + path.arc_between(path.u[k - 1], path.u[k]);
        }
        // One direction for the whole curve, so that its rows never change their meaning on the way.
        let limit = (1.0 - CLEAR_OF_TANGENT * CLEAR_OF_TANGENT).sqrt();
        let best = (0..3).min_by(|i, j| steepest[*i].total_cmp(&steepest[*j])).unwrap_or(2);
        if steepest[best] < limit {
            path.side = Some(Vec3::ith(best, 1.0));
        }
        Ok(path)
    }

    /// Whether its end joins its start.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Arc length from start to end, m.
    pub fn length(&self) -> f64 {
        self.arc[self.arc.len() - 1]
    }

    /// The point `position` m along the arc from the start.
    pub fn point(&self, position: f64) -> Vec3 {
        self.derivatives(self.parameter(position))[0]
    }

    /// The parameter u of the point `position` m along the arc from the start.
    pub fn parameter(&self, position: f64) -> f64 {
        let mut u = self.guess(position);
        for _ in 0..8 {
            let [_, d1, _] = self.derivatives(u);
            u += (position - self.position(u)) / d1.norm();
        }
        u
    }

    /// c, c', c''.
    pub(super) fn derivatives<T: Real>(&self, u: T) -> [Vector3<T>; 3] {
        let u = if self.closed { u.chain(self.wrap(u.value()).0, 1.0) } else { u };
        self.shape.derivatives(u)
    }

    /// Arc length from the start to u, m.
    pub(super) fn position(&self, u: f64) -> f64 {
        let (u, turns) = if self.closed { self.wrap(u) } else { (u, 0.0) };
        let k = self.interval(u);
        turns * self.length() + self.arc[k] + self.arc_between(self.u[k], u)
    }

    /// `position` shifted by full rounds of a closed curve to lie nearest to `near`.
    pub(super) fn unwrap(&self, position: f64, near: f64) -> f64 {
        if self.closed {
            position + self.length() * ((near - position) / self.length()).round()
        } else {
            position
        }
    }

    /// The foot of x: the one reached downhill from `near` m along the arc, or of all feet the nearest (of two as near,
    /// the earlier one). The same for the same arguments, whatever was asked before.
    pub(super) fn foot<T: Real>(&self, x: &Vector3<T>, near: Option<f64>) -> Foot<T> {
        let foot = self.plain_foot(&x.map(T::value), near);
        // (x − c)·c' = 0 gives the foot's derivative: one step of Newton's method, whose value is rounding at most.
        let at = self.at(x, T::from(foot.u));
        let step = at.delta.dot(&at.d1) / at.slope;
        self.at(x, step.chain(foot.u, 1.0))
    }

    fn plain_foot(&self, x: &Vec3, near: Option<f64>) -> Foot {
        let start = match near {
            Some(position) if position.is_finite() => self.interval_round(self.guess(position)),
            _ => {
                let far = |k: &usize| (self.points[*k] - x).norm_squared();
                (0..self.points.len()).min_by(|i, j| far(i).total_cmp(&far(j))).unwrap_or(0)
            }
        };
        self.polish(x, self.u[self.descend(x, start)])
    }

    /// Two unit vectors across the tangent at a foot and their derivatives by u.
    pub(super) fn across<T: Real>(&self, foot: &Foot<T>) -> ([Vector3<T>; 2], [Vector3<T>; 2]) {
        let speed = norm(&foot.d1);
        let t = foot.d1 / speed;
        let t_prime = (foot.d2 - t * t.dot(&foot.d2)) / speed;
        let side = self.side.unwrap_or_else(|| Vec3::ith(t.map(T::value).iamin(), 1.0));
        let side = lift(&side);
        let raw = side - t * t.dot(&side);
        let e = raw / norm(&raw);
        let raw_prime = -t_prime * t.dot(&side) - t * t_prime.dot(&side);
        let e_prime = (raw_prime - e * e.dot(&raw_prime)) / norm(&raw);
        ([e, t.cross(&e)], [e_prime, t_prime.cross(&e) + t.cross(&e_prime)])
    }

    /// Walks downhill over the samples from sample `k` to one whose neighbours are both farther from x.
    fn descend(&self, x: &Vec3, mut k: usize) -> usize {
        let last = self.points.len() - 1;
        let far = |k: usize| (self.points[k] - x).norm_squared();
        for _ in 0..=last {
            let before = if k > 0 { Some(k - 1) } else { self.closed.then(|| last - 1) };
            let after = if k < last { Some(k + 1) } else { self.closed.then_some(1) };
            let best =
                [before, after].into_iter().flatten().min_by(|i, j| far(*i).total_cmp(&far(*j)));
            match best {
                Some(next) if far(next) < far(k) => k = next,
                _ => break,
            }
        }
        k
    }

    /// Newton on (x − c)·c' = 0 from u.
    fn polish(&self, x: &Vec3, mut u: f64) -> Foot {
        let last = self.u.len() - 1;
        let span = self.u[last] - self.u[0];
        let reach = 2.0 * span / last as f64;
        let mut foot = self.at(x, u);
        let mut before = f64::INFINITY;
        for _ in 0..50 {
            let climb = foot.delta.dot(&foot.d1);
            // Beyond the radius of curvature Newton would climb to the farthest point; go downhill instead.
            let steep = foot.d1.norm_squared();
            let step = climb / if foot.slope > 0.1 * steep { foot.slope } else { steep };
            let step = step.clamp(-reach, reach);
            u += step;
            foot = self.at(x, u);
            // Steps that no longer shrink are rounding.
            if step.abs() <= 1e-15 * span || (step.abs() < 1e-8 * span && step.abs() > 0.5 * before)
            {
                break;
            }
            before = step.abs();
        }
        foot
    }

    fn at<T: Real>(&self, x: &Vector3<T>, u: T) -> Foot<T> {
        let [c, d1, d2] = self.derivatives(u);
        let delta = x - c;
        let slope = d1.dot(&d1) - delta.dot(&d2);
        Foot { u, d1, d2, delta, slope }
    }

    /// u roughly `position` m along the arc.
    fn guess(&self, position: f64) -> f64 {
        let last = self.u.len() - 1;
        let length = self.length();
        let (turns, rest) = if self.closed {
            let turns = (position / length).floor();
            (turns, position - turns * length)
        } else {
            (0.0, position)
        };
        let k = self.arc.partition_point(|s| *s <= rest).clamp(1, last) - 1;
        let part = (rest - self.arc[k]) / (self.arc[k + 1] - self.arc[k]);
        turns * (self.u[last] - self.u[0]) + self.u[k] + part * (self.u[k + 1] - self.u[k])
    }

    /// u of a closed curve brought between start and end, and how many rounds that took.
    fn wrap(&self, u: f64) -> (f64, f64) {
        let (start, end) = (self.u[0], self.u[self.u.len() - 1]);
        let turns = ((u - start) / (end - start)).floor();
        (u - turns * (end - start), turns)
    }

    /// The sample interval u lies in; the first or last if outside.
    fn interval(&self, u: f64) -> usize {
        self.u.partition_point(|v| *v <= u).clamp(1, self.u.len() - 1) - 1
    }

    /// The sample nearest below u, wrapped.
    fn interval_round(&self, u: f64) -> usize {
        self.interval(if self.closed { self.wrap(u).0 } else { u })
    }

    /// ∫ |c'| du by Gauss' rule with 5 points, in pieces no wider than the samples (beyond the ends at most 64).
    fn arc_between(&self, from: f64, to: f64) -> f64 {
        const NODES: [(f64, f64); 5] = [
            (0.0, 128.0 / 225.0),
            (0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
            (-0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
            (0.906_179_845_938_664, 0.236_926_885_056_189_08),
            (-0.906_179_845_938_664, 0.236_926_885_056_189_08),
        ];
        let last = self.u.len() - 1;
        let outside = from.max(to) > self.u[last] || from.min(to) < self.u[0];
        let width = (self.u[last] - self.u[0]) / last as f64;
        let pieces =
            if outside { ((to - from) / width).abs().ceil().clamp(1.0, 64.0) } else { 1.0 };
        let half = 0.5 * (to - from) / pieces;
        let (mut sum, mut piece) = (0.0, 0.0);
        while piece < pieces {
            let middle = from + half * (2.0 * piece + 1.0);
            for (x, weight) in NODES {
                sum += weight * self.derivatives(middle + half * x)[1].norm();
            }
            piece += 1.0;
        }
        sum * half
    }
}
