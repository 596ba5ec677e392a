//! From a state of the model to coordinates, and back to the poses of its bodies.

use gelenk_expr::{Expr, Tape};
use gelenk_model::math::{Mat3, Quat, Vec3};
use gelenk_model::{Instant, JointId, JointKind, Model, Pose, State, Twist};
use nalgebra::{DMatrix, DVector, Rotation3};

use crate::algebra::{Algebra, InPool, V, turn};
use crate::kinematics::Kinematics;
use crate::system::{DeriveError, System, VecExpr};

/// How coordinates follow from a state of the model. Nodes before them are already placed.
#[derive(Clone, Debug)]
pub(crate) enum Reader {
    /// A coordinate of a joint.
    Joint { coordinate: usize, joint: JointId, which: usize },
    /// The centre of mass of a free body.
    Position { coordinates: [usize; 3], body: usize },
    /// Three turns of a body's node against another node.
    Turns { coordinates: [usize; 3], axes: [Vec3; 3], parent: usize, body: usize },
    /// Two turns that point the rod of a distance joint, (0, 0, −1) turned.
    Thread { coordinates: [usize; 2], axes: [Vec3; 2], ends: Ends, reversed: bool, parent: usize },
    /// The parameter of a curve.
    Curve { coordinate: usize, joint: usize },
    /// How far a point glides in a plane along a direction of the node `seat`.
    Glide { coordinate: usize, ends: Ends, direction: VecExpr, seat: usize },
}

/// The points of a joint: body and place in its principal frame.
pub(crate) type Ends = [(usize, Vec3); 2];

/// Numbers of the mechanism at an instant: tapes over (q, q̇, t).
#[derive(Clone, Debug)]
pub(crate) struct Placement {
    /// For every node: rotation to the world, row by row, and origin. Inputs q, t.
    nodes: Tape,
    /// For every link: position and velocity of its centre, angular velocity, world. Inputs q, q̇, t.
    links: Tape,
    n: usize,
    n_links: usize,
    principal: Vec<(usize, usize, Mat3)>,
    readers: Vec<Reader>,
    /// Which links are point masses.
    points: Vec<bool>,
    /// Axes of thin rods, in their principal frames.
    thin: Vec<Option<Vec3>>,
    /// Directions of [`Reader::Glide`] in their node's axes.
    glides: Vec<Vec3>,
}

impl Placement {
    pub(crate) fn new(system: &mut System, values: &[(Expr, f64)]) -> Result<Self, DeriveError> {
        let mut pool = std::mem::take(&mut system.pool);
        let result = Self::build(system, &mut pool, values);
        system.pool = pool;
        result
    }

    fn build(
        system: &System,
        pool: &mut gelenk_expr::Pool,
        values: &[(Expr, f64)],
    ) -> Result<Self, DeriveError> {
        let mut a = InPool { pool };
        let mut kinematics = Kinematics::new(system, &mut a);
        let mut nodes = Vec::new();
        for i in 0..system.nodes.len() {
            let (r, x) = kinematics.world(system, &mut a, i);
            let r = r.unwrap_or([
                [Expr::ONE, Expr::ZERO, Expr::ZERO],
                [Expr::ZERO, Expr::ONE, Expr::ZERO],
                [Expr::ZERO, Expr::ZERO, Expr::ONE],
            ]);
            nodes.extend(r.into_iter().flatten());
            nodes.extend(x);
        }
        let mut links = Vec::new();
        let mut principal = Vec::new();
        for link in &system.links {
            let s = kinematics.point_world(system, &mut a, link.node, &link.center);
            let (omega, v) = kinematics.velocity(system, &mut a, link.node);
            let lever = crate::algebra::cross(&mut a, &omega, &link.center);
            let v: V<Expr> = [0, 1, 2].map(|i| a.add(&v[i], &lever[i]));
            let (r, _) = kinematics.world(system, &mut a, link.node);
            links.extend(s);
            links.extend(turn(&mut a, &r, &v));
            links.extend(turn(&mut a, &r, &omega));
            principal.push((link.body, link.node, link.principal));
        }
        let time = a.pool.time();
        let numbers: Vec<(Expr, Expr)> =
            values.iter().map(|(s, x)| (*s, a.pool.float(*x))).collect();
        let nodes = a.pool.substitute_all(&nodes, &numbers);
        let links = a.pool.substitute_all(&links, &numbers);
        let mut inputs: Vec<Expr> = system.coordinates.iter().map(|c| c.symbol).collect();
        let mut full = inputs.clone();
        full.extend(system.coordinates.iter().map(|c| c.rate));
        inputs.push(time);
        full.push(time);
        let compile = |pool: &gelenk_expr::Pool, out: &[Expr], inputs: &[Expr]| {
            Tape::compile(pool, out, inputs).map_err(|e| DeriveError::Compile(e.to_string()))
        };
        let mut glides = Vec::new();
        for reader in &system.readers {
            if let Reader::Glide { direction, .. } = reader {
                let v = a.pool.substitute_all(direction, &numbers);
                glides.push(Vec3::from([0, 1, 2].map(|i| a.pool.eval(v[i], |_| 0.0))));
            }
        }
        Ok(Placement {
            nodes: compile(a.pool, &nodes, &inputs)?,
            links: compile(a.pool, &links, &full)?,
            n: system.coordinates.len(),
            n_links: system.links.len(),
            principal,
            readers: system.readers.clone(),
            thin: system.links.iter().map(|link| link.thin).collect(),
            points: system.links.iter().map(|link| link.is_point).collect(),
            glides,
        })
    }

    /// Rotation and origin of every node.
    fn node_poses(&self, q: &[f64], t: f64) -> Vec<(Mat3, Vec3)> {
        let mut inputs = q.to_vec();
        inputs.push(t);
        let values = self.nodes.values(&inputs);
        values
            .chunks_exact(12)
            .map(|c| (Mat3::from_row_slice(&c[..9]), Vec3::new(c[9], c[10], c[11])))
            .collect()
    }

    /// Poses (principal frames) and twists of the moving bodies: (index in the model, pose, twist).
    pub(crate) fn poses(&self, q: &[f64], qd: &[f64], t: f64) -> Vec<(usize, Pose, Twist)> {
        let nodes = self.node_poses(q, t);
        let mut inputs = q.to_vec();
        inputs.extend_from_slice(qd);
        inputs.push(t);
        let values = self.links.values(&inputs);
        self.principal
            .iter()
            .zip(values.chunks_exact(9))
            .map(|((body, node, principal), c)| {
                let pose = Pose { s: Vec3::new(c[0], c[1], c[2]), rot: nodes[*node].0 * principal };
                let twist = Twist {
                    s_dot: Vec3::new(c[3], c[4], c[5]),
                    omega: Vec3::new(c[6], c[7], c[8]),
                };
                (*body, pose, twist)
            })
            .collect()
    }

    /// Derivatives of the velocities along series of (q, q̇, t).
    pub(crate) fn rates_of(&self, inputs: &[gelenk_expr::Series]) -> Vec<(usize, Twist)> {
        let values = self.links.eval_series(inputs);
        self.principal
            .iter()
            .zip(values.chunks_exact(9))
            .map(|((body, _, _), c)| {
                let at = |k: usize| c[k].at(1);
                let twist = Twist {
                    s_dot: Vec3::new(at(3), at(4), at(5)),
                    omega: Vec3::new(at(6), at(7), at(8)),
                };
                (*body, twist)
            })
            .collect()
    }

    /// Writes poses and twists into a state of the model.
    pub(crate) fn write(&self, q: &[f64], qd: &[f64], t: f64, state: &mut State) {
        state.t = t;
        for (body, pose, twist) in self.poses(q, qd, t) {
            state.s[body] = pose.s;
            state.s_dot[body] = twist.s_dot;
            state.omega[body] = twist.omega;
            state.rot[body] =
                Quat::from_rotation_matrix(&Rotation3::from_matrix_unchecked(pose.rot));
        }
    }

    /// (q, q̇) of a state. Rates are those that fit the velocities of all bodies best, which is exactly where the state obeys
    /// its joints.
    pub(crate) fn read(&self, model: &Model, state: &State) -> (Vec<f64>, Vec<f64>) {
        let n = model.n_bodies();
        let (mut poses, mut twists) = (vec![Pose::identity(); n], vec![Twist::zero(); n]);
        state.write_poses(&mut poses);
        state.write_twists(&mut twists);
        let at =
            Instant { t: state.t, poses: &poses, twists: &twists, coordinates: &state.coordinate };
        let mut q = vec![0.0; self.n];
        let mut glides = self.glides.iter();
        for reader in &self.readers {
            match reader {
                Reader::Joint { coordinate, joint, which } => {
                    q[*coordinate] = model.joint_coordinate(*joint, *which, &at);
                }
                Reader::Position { coordinates, body } => {
                    for (i, k) in coordinates.iter().enumerate() {
                        q[*k] = state.s[*body][i];
                    }
                }
                Reader::Turns { coordinates, axes, parent, body } => {
                    let above = self.node_poses(&q, state.t)[*parent].0;
                    let Some((_, _, principal)) = self.principal.iter().find(|p| p.0 == *body)
                    else {
                        continue;
                    };
                    let r = above.transpose() * poses[*body].rot * principal.transpose();
                    for (k, angle) in coordinates.iter().zip(angles_of(&r, axes)) {
                        // A thin rod has no third.
                        if let Some(slot) = q.get_mut(*k) {
                            *slot = angle;
                        }
                    }
                }
                Reader::Thread { coordinates, axes, ends, reversed, parent } => {
                    let gap = separation(ends, &poses);
                    let d = if *reversed { -gap } else { gap };
                    let above = self.node_poses(&q, state.t)[*parent].0;
                    let d = (above.transpose() * d).normalize();
                    let [first, second] = thread_angles(&d, axes);
                    q[coordinates[0]] = first;
                    q[coordinates[1]] = second;
                }
                Reader::Curve { coordinate, joint } => {
                    let about = &model.joints[*joint];
                    if let JointKind::PointOnCurve(curve) = &about.kind {
                        let position = model.joint_coordinate(
                            JointId(u32::try_from(*joint).unwrap_or(0)),
                            0,
                            &at,
                        );
                        q[*coordinate] = curve.path().parameter(position);
                    }
                }
                Reader::Glide { coordinate, ends, seat, .. } => {
                    let Some(direction) = glides.next() else { continue };
                    let r = self.node_poses(&q, state.t)[*seat].0;
                    q[*coordinate] = separation(ends, &poses).dot(&(r * direction));
                }
            }
        }
        let qd = self.rates(&q, state);
        (q, qd)
    }

    /// The rates that fit the velocities of a state best.
    fn rates(&self, q: &[f64], state: &State) -> Vec<f64> {
        let rows = 6 * self.n_links;
        let column = |qd: &[f64]| {
            let mut out: Vec<f64> = Vec::with_capacity(rows);
            for (_, _, twist) in self.poses(q, qd, state.t) {
                out.extend(twist.s_dot.iter());
                out.extend(twist.omega.iter());
            }
            out
        };
        let mut base = column(&vec![0.0; self.n]);
        let mut jac = DMatrix::zeros(rows, self.n);
        for k in 0..self.n {
            let mut qd = vec![0.0; self.n];
            qd[k] = 1.0;
            for (i, v) in column(&qd).into_iter().enumerate() {
                jac[(i, k)] = v - base[i];
            }
        }
        let mut wanted = DVector::zeros(rows);
        for (i, (body, _, _)) in self.principal.iter().enumerate() {
            for k in 0..3 {
                wanted[6 * i + k] = state.s_dot[*body][k];
                wanted[6 * i + 3 + k] = state.omega[*body][k];
            }
        }
        // A point mass turns nowhere, and a thin rod not about itself; what their nodes do is not asked.
        for i in 0..self.n_links {
            if let Some(keep) = self.turning(q, i, state.t) {
                let (turned, had) =
                    (keep * jac.rows(6 * i + 3, 3), keep * wanted.fixed_rows::<3>(6 * i + 3));
                jac.rows_mut(6 * i + 3, 3).copy_from(&turned);
                wanted.fixed_rows_mut::<3>(6 * i + 3).copy_from(&had);
                let moved = keep * Vec3::new(base[6 * i + 3], base[6 * i + 4], base[6 * i + 5]);
                base[6 * i + 3..6 * i + 6].copy_from_slice(moved.as_slice());
            }
        }
        for i in 0..rows {
            if jac.row(i).iter().any(|x| *x != 0.0) {
                wanted[i] -= base[i];
            } else {
                wanted[i] = 0.0;
            }
        }
        least_squares(jac, wanted)
    }
}

impl Placement {
    /// The projection on directions about which a link's turning matters; `None`: all.
    fn turning(&self, q: &[f64], link: usize, t: f64) -> Option<Mat3> {
        if self.points[link] {
            return Some(Mat3::zeros());
        }
        let axis = self.thin[link]?;
        let (_, node, principal) = self.principal[link];
        let n = self.node_poses(q, t)[node].0 * principal * axis;
        Some(Mat3::identity() - n * n.transpose())
    }
}

/// x with least |A x − b|, by orthogonalization with column pivots; columns that depend on others get zero.
fn least_squares(mut a: DMatrix<f64>, mut b: DVector<f64>) -> Vec<f64> {
    let n = a.ncols();
    let mut r: DMatrix<f64> = DMatrix::zeros(n, n);
    let mut order: Vec<usize> = Vec::new();
    let mut right = vec![0.0; n];
    let mut largest: f64 = 0.0;
    for k in 0..n {
        let left = (0..n).filter(|j| !order.contains(j));
        let Some(best) = left.max_by(|i, j| a.column(*i).norm().total_cmp(&a.column(*j).norm()))
        else {
            break;
        };
        let size = a.column(best).norm();
        largest = largest.max(size);
        if size <= 1e-12 * largest || size == 0.0 {
            break;
        }
        let unit = a.column(best) / size;
        r[(k, best)] += size;
        order.push(best);
        for j in 0..n {
            if !order.contains(&j) {
                for _ in 0..2 {
                    let part = unit.dot(&a.column(j));
                    r[(k, j)] += part;
                    let next = a.column(j) - &unit * part;
                    a.set_column(j, &next);
                }
            }
        }
        right[k] = unit.dot(&b);
        b -= unit * right[k];
    }
    let mut x = vec![0.0; n];
    for (k, &j) in order.iter().enumerate().rev() {
        let mut sum = right[k];
        for &i in &order[k + 1..] {
            sum -= r[(k, i)] * x[i];
        }
        x[j] = sum / r[(k, j)];
    }
    x
}

/// p_b − p_a.
fn separation(ends: &Ends, poses: &[Pose]) -> Vec3 {
    let [p, q] = ends.map(|(body, place)| poses[body].point(&place));
    q - p
}

/// The angles of R = R(n₁, a) R(n₂, b) R(n₃, c) for axes along ±x, ±y, ±z.
fn angles_of(r: &Mat3, axes: &[Vec3; 3]) -> [f64; 3] {
    let [i, j, k] = axes;
    if i.dot(k).abs() < 0.5 {
        // Cardan: e_i·R e_k = sin b · e_i·(e_j × e_k)
        let side = i.dot(&j.cross(k));
        let (v, u) = (r * k, r.transpose() * i);
        let b = (side * i.dot(&v)).clamp(-1.0, 1.0).asin();
        let a = i.cross(k).dot(&v).atan2(k.dot(&v));
        let c = -(k.cross(i).dot(&u).atan2(i.dot(&u)));
        return [a, b, c];
    }
    // Euler: e_i·R e_i = cos b
    let (v, u) = (r * i, r.transpose() * i);
    let b = i.dot(&v).clamp(-1.0, 1.0).acos();
    let p = j.cross(i);
    let a = i.cross(&p).dot(&v).atan2(p.dot(&v));
    let c = -(i.cross(&-p).dot(&u).atan2(-p.dot(&u)));
    [a, b, c]
}

/// The angles of R(n₁, a) R(n₂, b) (0, 0, −1) = d.
fn thread_angles(d: &Vec3, axes: &[Vec3; 2]) -> [f64; 2] {
    let [m, n] = axes;
    let down = -Vec3::z();
    if m.dot(&down).abs() > 0.5 {
        // About the vertical first: m·d does not change with a.
        let b = (-d.z).clamp(-1.0, 1.0).acos();
        let level = n.cross(&down);
        let a = m.cross(&level).dot(d).atan2(level.dot(d));
        return [a, b];
    }
    // d = R(m, a)(cos b down + sin b n × down), with n × down along ±m.
    let side = n.cross(&down);
    let b = m.dot(d).clamp(-1.0, 1.0).asin() * m.dot(&side).signum();
    let a = m.cross(&down).dot(d).atan2(down.dot(d));
    [a, b]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn_about(n: &Vec3, angle: f64) -> Mat3 {
        Rotation3::new(n * angle).into_inner()
    }

    #[test]
    fn angles_come_back() {
        let (x, y, z) = (Vec3::x(), Vec3::y(), Vec3::z());
        for axes in [[x, y, z], [y, z, x], [z, x, y], [z, x, z], [-y, x, z]] {
            let want = [0.4, 0.7, -1.2];
            let r = turn_about(&axes[0], want[0])
                * turn_about(&axes[1], want[1])
                * turn_about(&axes[2], want[2]);
            let got = angles_of(&r, &axes);
            for k in 0..3 {
                assert!((got[k] - want[k]).abs() < 1e-12, "{axes:?}: {got:?}");
            }
        }
        for axes in [[z, -y], [-y, x], [x, y]] {
            let want = [0.4, 0.7];
            let d = turn_about(&axes[0], want[0]) * turn_about(&axes[1], want[1]) * -z;
            let got = thread_angles(&d, &axes);
            for k in 0..2 {
                assert!((got[k] - want[k]).abs() < 1e-12, "{axes:?}: {got:?}");
            }
        }
    }
}
