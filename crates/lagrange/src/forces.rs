//! Generalized forces Q_ρ of all loads, and their potential and dissipation function where they have one.

use gelenk_expr::Expr;

use crate::algebra::{Algebra, V, add_vec, cross, dot, scale_vec, turn_back, vec_expr, zero_vec};
use crate::kinematics::Kinematics;
use crate::system::{AlongKind, Axes, Law, LinkPoint, System};

/// Generalized forces and what they come from.
#[derive(Clone, Debug)]
pub(crate) struct Forces<E> {
    /// Q_ρ without those of `sources` that are left out, ρ = 1 … f.
    pub(crate) q: Vec<E>,
    /// Potential U of gravity and springs.
    pub(crate) potential: E,
    /// Dissipation function D with Q = −∂D/∂q̇ of dampers.
    pub(crate) dissipation: E,
    /// Names of loads with neither.
    pub(crate) others: Vec<String>,
}

struct Sum<'a, A: Algebra> {
    system: &'a System,
    kinematics: &'a mut Kinematics<A::E>,
    forces: Forces<A::E>,
}

/// Q_ρ = Σ m g·v_ρ + Σ loads. With `gravity` false the weight is left out, for recursions that have it elsewhere.
pub(crate) fn generalized<A: Algebra>(
    system: &System,
    kinematics: &mut Kinematics<A::E>,
    a: &mut A,
    gravity: bool,
) -> Forces<A::E> {
    let f = system.coordinates.len();
    let zero = a.zero();
    let forces = Forces {
        q: vec![zero.clone(); f],
        potential: zero.clone(),
        dissipation: zero,
        others: Vec::new(),
    };
    let mut sum = Sum::<A> { system, kinematics, forces };
    if gravity {
        sum.weight(a);
    }
    for load in &system.loads {
        sum.load(a, &load.name, &load.law);
    }
    sum.forces
}

impl<A: Algebra> Sum<'_, A> {
    fn add(&mut self, a: &mut A, mu: usize, value: &A::E) {
        if mu > 0 {
            self.forces.q[mu - 1] = a.add(&self.forces.q[mu - 1], value);
        }
    }

    fn weight(&mut self, a: &mut A) {
        let g = vec_expr(a, &self.system.gravity);
        if crate::algebra::is_zero_vec(a, &g) {
            return;
        }
        // g·x of the nodes' origins.
        let mut height = vec![a.zero()];
        for (i, node) in self.system.nodes.iter().enumerate().skip(1) {
            let d = self.kinematics.relative[i].1.clone();
            let g = self.kinematics.gravity[node.parent].clone();
            let step = dot(a, &g, &d);
            let h = a.add(&height[node.parent].clone(), &step);
            height.push(h);
        }
        for link in &self.system.links {
            let mass = a.expr(link.mass);
            let g = self.kinematics.gravity[link.node].clone();
            let center = vec_expr(a, &link.center);
            let lift = dot(a, &g, &center);
            let h = a.add(&height[link.node], &lift);
            let u = a.mul(&mass, &h);
            self.forces.potential = a.sub(&self.forces.potential, &u);
            for (mu, v) in self.kinematics.point_columns(a, link.node, &link.center) {
                let p = dot(a, &g, &v);
                let q = a.mul(&mass, &p);
                self.add(a, mu, &q);
            }
        }
    }

    /// ½ ∂_μ(Δ·Δ) for all μ, time first, with Δ·Δ.
    fn stretch(&self, a: &mut A, ends: &[LinkPoint; 2]) -> (A::E, Vec<A::E>) {
        let gap = self.kinematics.gap(self.system, a, ends);
        let square = dot(a, &gap, &gap);
        let half = a.expr(Expr::HALF);
        let time = a.pool().time();
        let mut slopes = Vec::with_capacity(self.system.coordinates.len() + 1);
        for mu in 0..=self.system.coordinates.len() {
            let x = if mu == 0 { time } else { self.system.coordinates[mu - 1].symbol };
            let slope = a.diff(&square, x);
            slopes.push(a.mul(&half, &slope));
        }
        (square, slopes)
    }

    fn rate(&self, a: &mut A, slopes: &[A::E]) -> A::E {
        let mut sum = slopes[0].clone();
        for (slope, q) in slopes[1..].iter().zip(&self.system.coordinates) {
            if !a.is_zero(slope) {
                let rate = a.expr(q.rate);
                let part = a.mul(slope, &rate);
                sum = a.add(&sum, &part);
            }
        }
        sum
    }

    fn depends_on_time(&self, a: &mut A, exprs: &[Expr]) -> bool {
        let time = a.pool().time();
        let moving: Vec<Expr> =
            self.system.coordinates.iter().flat_map(|c| [c.symbol, c.rate]).chain([time]).collect();
        exprs.iter().any(|e| moving.iter().any(|x| a.pool().contains(*e, *x)))
    }

    /// Half of k x², into the dissipation function.
    fn dissipate(&mut self, a: &mut A, k: &A::E, x: &A::E) {
        let half = a.expr(Expr::HALF);
        let square = a.mul(x, x);
        let d = a.mul(k, &square);
        let d = a.mul(&half, &d);
        self.forces.dissipation = a.add(&self.forces.dissipation, &d);
    }

    fn load(&mut self, a: &mut A, name: &str, law: &Law) {
        let f = self.system.coordinates.len();
        match law {
            Law::Spring { ends, stiffness, length } => {
                // Q_ρ = −c (1 − λ0/λ) Δ·∂_ρΔ
                let (square, slopes) = self.stretch(a, ends);
                let c = a.expr(*stiffness);
                let rest = a.expr(*length);
                let lambda = a.length(&square, &format!("length of spring `{name}`"));
                let one = a.expr(Expr::ONE);
                let inverse = a.inverse(&lambda);
                let part = a.mul(&rest, &inverse);
                let factor = a.sub(&one, &part);
                let factor = a.mul(&c, &factor);
                let factor = a.neg(&factor);
                for mu in 1..=f {
                    if !a.is_zero(&slopes[mu]) {
                        let q = a.mul(&factor, &slopes[mu]);
                        self.add(a, mu, &q);
                    }
                }
                if self.depends_on_time(a, &[*stiffness, *length]) {
                    self.forces.others.push(name.to_owned());
                } else {
                    let stretch = a.sub(&lambda, &rest);
                    let half = a.expr(Expr::HALF);
                    let u = a.mul(&stretch, &stretch);
                    let u = a.mul(&c, &u);
                    let u = a.mul(&half, &u);
                    self.forces.potential = a.add(&self.forces.potential, &u);
                }
            }
            Law::Damper { ends, damping } => {
                // λ̇ = (Δ·Δ̇)/λ, Q_ρ = −d λ̇ ∂_ρλ
                let (square, slopes) = self.stretch(a, ends);
                let d = a.expr(*damping);
                let lambda = a.length(&square, &format!("length of damper `{name}`"));
                let inverse = a.inverse(&lambda);
                let rate = self.rate(a, &slopes);
                let speed = a.mul(&rate, &inverse);
                let factor = a.mul(&speed, &inverse);
                let factor = a.mul(&d, &factor);
                let factor = a.neg(&factor);
                for mu in 1..=f {
                    if !a.is_zero(&slopes[mu]) {
                        let q = a.mul(&factor, &slopes[mu]);
                        self.add(a, mu, &q);
                    }
                }
                self.dissipate(a, &d, &speed);
            }
            Law::FullDamper { ends, damping } | Law::BodyDamper { ends, damping } => {
                let [p, q] = [0, 1].map(|i| {
                    let place = vec_expr(a, &ends[i].place);
                    self.kinematics.point_world(self.system, a, ends[i].node, &place)
                });
                let mut gap = crate::algebra::sub_vec(a, &q, &p);
                if matches!(law, Law::BodyDamper { .. }) {
                    let (r, _) = self.kinematics.world(self.system, a, ends[0].node);
                    gap = turn_back(a, &r, &gap);
                }
                let k = a.expr(*damping);
                let time = a.pool().time();
                let mut slopes: Vec<V<A::E>> = Vec::new();
                for mu in 0..=f {
                    let x = if mu == 0 { time } else { self.system.coordinates[mu - 1].symbol };
                    slopes.push([0, 1, 2].map(|i| a.diff(&gap[i], x)));
                }
                let speed = [0, 1, 2].map(|i| {
                    let list: Vec<A::E> = slopes.iter().map(|s| s[i].clone()).collect();
                    self.rate(a, &list)
                });
                for mu in 1..=f {
                    let p = dot(a, &slopes[mu], &speed);
                    let q = a.mul(&k, &p);
                    let q = a.neg(&q);
                    self.add(a, mu, &q);
                }
                for i in 0..3 {
                    self.dissipate(a, &k, &speed[i].clone());
                }
            }
            Law::Along { displacement, force, kind } => {
                let tau = a.expr(*force);
                for mu in 1..=f {
                    let slope =
                        a.pool().diff(*displacement, self.system.coordinates[mu - 1].symbol);
                    if slope != Expr::ZERO {
                        let slope = a.expr(slope);
                        let q = a.mul(&tau, &slope);
                        self.add(a, mu, &q);
                    }
                }
                match kind {
                    AlongKind::Spring(c, rest) if !self.depends_on_time(a, &[*c, *rest]) => {
                        let pool = a.pool();
                        let stretch = pool.sub(*displacement, *rest);
                        let u = pool.mul(&[Expr::HALF, *c, stretch, stretch]);
                        let u = a.expr(u);
                        self.forces.potential = a.add(&self.forces.potential, &u);
                    }
                    AlongKind::Damper(d) if !self.depends_on_time(a, &[*d]) => {
                        let coordinates = &self.system.coordinates;
                        let rate = crate::model::total_rate(a.pool(), coordinates, *displacement);
                        let (d, rate) = (a.expr(*d), a.expr(rate));
                        self.dissipate(a, &d, &rate);
                    }
                    _ => self.forces.others.push(name.to_owned()),
                }
            }
            Law::Applied { point, force, torque, axes } => {
                let mut force = vec_expr(a, force);
                let mut torque = vec_expr(a, torque);
                if *axes == Axes::World {
                    let (r, _) = self.kinematics.world(self.system, a, point.node);
                    force = turn_back(a, &r, &force);
                    torque = turn_back(a, &r, &torque);
                }
                let columns = self.kinematics.columns[point.node].clone();
                let velocities = self.kinematics.point_columns(a, point.node, &point.place);
                for (column, (mu, v)) in columns.iter().zip(velocities) {
                    let work = dot(a, &force, &v);
                    let turning = dot(a, &torque, &column.omega);
                    let q = a.add(&work, &turning);
                    self.add(a, mu, &q);
                }
                self.forces.others.push(name.to_owned());
            }
            Law::Drag { point, linear, angular } => {
                let (c, c_r) = (a.expr(*linear), a.expr(*angular));
                let columns = self.kinematics.columns[point.node].clone();
                let velocities = self.kinematics.point_columns(a, point.node, &point.place);
                let (mut v, mut omega) = (zero_vec(a), zero_vec(a));
                for (column, (mu, part)) in columns.iter().zip(&velocities) {
                    let rate =
                        if *mu == 0 { Expr::ONE } else { self.system.coordinates[mu - 1].rate };
                    let rate = a.expr(rate);
                    let x = scale_vec(a, &rate, part);
                    v = add_vec(a, &v, &x);
                    let x = scale_vec(a, &rate, &column.omega);
                    omega = add_vec(a, &omega, &x);
                }
                for (column, (mu, part)) in columns.iter().zip(&velocities) {
                    let x = dot(a, part, &v);
                    let x = a.mul(&c, &x);
                    let y = dot(a, &column.omega, &omega);
                    let y = a.mul(&c_r, &y);
                    let q = a.add(&x, &y);
                    let q = a.neg(&q);
                    self.add(a, *mu, &q);
                }
                for i in 0..3 {
                    self.dissipate(a, &c, &v[i].clone());
                    self.dissipate(a, &c_r, &omega[i].clone());
                }
            }
            Law::RodTorque { ends, torque } => {
                // F = τ × Δ/Δ², Q_ρ = F·∂_ρΔ, world axes.
                let [p, q] = [0, 1].map(|i| {
                    let place = vec_expr(a, &ends[i].place);
                    self.kinematics.point_world(self.system, a, ends[i].node, &place)
                });
                let gap = crate::algebra::sub_vec(a, &q, &p);
                let square = dot(a, &gap, &gap);
                let lambda = a.length(&square, &format!("length of rod `{name}`"));
                let inverse = a.inverse(&lambda);
                let inverse = a.mul(&inverse, &inverse);
                let torque = vec_expr(a, torque);
                let push = cross(a, &torque, &gap);
                let push = scale_vec(a, &inverse, &push);
                for mu in 1..=f {
                    let x = self.system.coordinates[mu - 1].symbol;
                    let slope = [0, 1, 2].map(|i| a.diff(&gap[i], x));
                    let q = dot(a, &push, &slope);
                    self.add(a, mu, &q);
                }
                self.forces.others.push(name.to_owned());
            }
        }
    }
}
