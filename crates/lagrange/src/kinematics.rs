//! Velocities in body axes, node by node: the recursions that all formulas share.

use gelenk_expr::Expr;

use crate::algebra::{
    Algebra, M, V, add_vec, compose, cross, is_zero_vec, rotation, scale_vec, turn, turn_back,
    vec_expr, zero_vec,
};
use crate::system::{LinkPoint, Motion, System};

/// The part of a node's velocity that belongs to one rate: ω_μ and v_μ of its origin, in its own axes. μ = 0 is time,
/// μ = k + 1 the coordinate k.
#[derive(Clone, Debug)]
pub(crate) struct Column<E> {
    pub(crate) mu: usize,
    pub(crate) omega: V<E>,
    pub(crate) v: V<E>,
}

/// Positions and velocities of all nodes.
#[derive(Clone, Debug)]
pub(crate) struct Kinematics<E> {
    /// Rotation to the parent's axes, and origin in them.
    pub(crate) relative: Vec<(M<E>, V<E>)>,
    /// Velocities by rate, sorted by μ.
    pub(crate) columns: Vec<Vec<Column<E>>>,
    /// Gravity in the node's axes.
    pub(crate) gravity: Vec<V<E>>,
    /// Rotation to the world and origin in it, as far as asked for.
    world: Vec<Option<(M<E>, V<E>)>>,
}

impl<E: Clone> Kinematics<E> {
    pub(crate) fn new<A: Algebra<E = E>>(system: &System, a: &mut A) -> Self {
        let zero = zero_vec(a);
        let gravity = vec_expr(a, &system.gravity);
        let mut this = Kinematics {
            relative: vec![(None, zero.clone())],
            columns: vec![Vec::new()],
            gravity: vec![gravity],
            world: vec![Some((None, zero.clone()))],
        };
        for node in &system.nodes[1..] {
            let offset = vec_expr(a, &node.offset);
            let mut d = offset;
            let mut r = None;
            match &node.motion {
                Motion::Fixed => {}
                Motion::Turn(axis) => {
                    let n = vec_expr(a, axis);
                    r = rotation(a, &n, node.value);
                }
                Motion::Slide(axis) => {
                    let n = vec_expr(a, axis);
                    let value = a.expr(node.value);
                    let slide = scale_vec(a, &value, &n);
                    d = add_vec(a, &d, &slide);
                }
                Motion::Screw(axis, rate) => {
                    let n = vec_expr(a, axis);
                    r = rotation(a, &n, node.value);
                    let value = a.pool().mul(&[*rate, node.value]);
                    let value = a.expr(value);
                    let slide = scale_vec(a, &value, &n);
                    d = add_vec(a, &d, &slide);
                }
                Motion::Path(place) => {
                    let place = vec_expr(a, place);
                    d = add_vec(a, &d, &place);
                }
            }
            let mut columns: Vec<Column<E>> = Vec::new();
            for column in &this.columns[node.parent].clone() {
                let lever = cross(a, &column.omega, &d);
                let v = add_vec(a, &column.v, &lever);
                let omega = turn_back(a, &r, &column.omega);
                let v = turn_back(a, &r, &v);
                columns.push(Column { mu: column.mu, omega, v });
            }
            let time = a.pool().time();
            let mut sources = vec![(0, time)];
            if let Some(k) = node.coordinate {
                sources.push((k + 1, system.coordinates[k].symbol));
            }
            for (mu, symbol) in sources {
                let slope = a.pool().diff(node.value, symbol);
                if slope == Expr::ZERO {
                    continue;
                }
                let rate = a.expr(slope);
                let mut omega = zero.clone();
                let mut v = zero.clone();
                match &node.motion {
                    Motion::Fixed => continue,
                    Motion::Turn(axis) => {
                        let n = vec_expr(a, axis);
                        omega = scale_vec(a, &rate, &n);
                    }
                    Motion::Slide(axis) => {
                        let n = vec_expr(a, axis);
                        v = scale_vec(a, &rate, &n);
                    }
                    Motion::Screw(axis, pitch) => {
                        let n = vec_expr(a, axis);
                        omega = scale_vec(a, &rate, &n);
                        let pitch = a.expr(*pitch);
                        v = scale_vec(a, &pitch, &omega);
                    }
                    Motion::Path(place) => {
                        let slopes = place.map(|e| a.pool().diff(e, symbol));
                        v = vec_expr(a, &slopes);
                    }
                }
                match columns.iter_mut().find(|c| c.mu == mu) {
                    Some(column) => {
                        column.omega = add_vec(a, &column.omega, &omega);
                        column.v = add_vec(a, &column.v, &v);
                    }
                    None => columns.push(Column { mu, omega, v }),
                }
            }
            columns.retain(|c| !is_zero_vec(a, &c.omega) || !is_zero_vec(a, &c.v));
            columns.sort_by_key(|c| c.mu);
            let g = turn_back(a, &r, &this.gravity[node.parent]);
            this.gravity.push(g);
            this.relative.push((r, d));
            this.columns.push(columns);
            this.world.push(None);
        }
        this
    }

    /// The velocities of a point of a node, by rate, in the node's axes.
    pub(crate) fn point_columns<A: Algebra<E = E>>(
        &self,
        a: &mut A,
        node: usize,
        place: &[Expr; 3],
    ) -> Vec<(usize, V<E>)> {
        let place = vec_expr(a, place);
        self.columns[node]
            .iter()
            .map(|c| {
                let lever = cross(a, &c.omega, &place);
                (c.mu, add_vec(a, &c.v, &lever))
            })
            .collect()
    }

    /// Rotation of a node to the world and its origin there.
    pub(crate) fn world<A: Algebra<E = E>>(
        &mut self,
        system: &System,
        a: &mut A,
        node: usize,
    ) -> (M<E>, V<E>) {
        for i in system.path(node) {
            if self.world[i].is_none() {
                let (r, x) = self.world[system.nodes[i].parent].clone().expect("parents first");
                let (rel, d) = self.relative[i].clone();
                let d = turn(a, &r, &d);
                let x = add_vec(a, &x, &d);
                self.world[i] = Some((compose(a, &r, &rel), x));
            }
        }
        self.world[node].clone().expect("filled above")
    }

    /// A point of a node in the world.
    pub(crate) fn point_world<A: Algebra<E = E>>(
        &mut self,
        system: &System,
        a: &mut A,
        node: usize,
        place: &V<E>,
    ) -> V<E> {
        let (r, x) = self.world(system, a, node);
        let turned = turn(a, &r, place);
        add_vec(a, &x, &turned)
    }

    /// A direction of a node in the world.
    pub(crate) fn direction_world<A: Algebra<E = E>>(
        &mut self,
        system: &System,
        a: &mut A,
        node: usize,
        direction: &V<E>,
    ) -> V<E> {
        let (r, _) = self.world(system, a, node);
        turn(a, &r, direction)
    }

    /// ω = Σ ω_μ q̇^μ in world axes.
    pub(crate) fn angular_velocity_world<A: Algebra<E = E>>(
        &mut self,
        system: &System,
        a: &mut A,
        node: usize,
    ) -> V<E> {
        let omega = self.velocity(system, a, node).0;
        self.direction_world(system, a, node, &omega)
    }

    /// ω and v of a node in its own axes.
    pub(crate) fn velocity<A: Algebra<E = E>>(
        &self,
        system: &System,
        a: &mut A,
        node: usize,
    ) -> (V<E>, V<E>) {
        let (mut omega, mut v) = (zero_vec(a), zero_vec(a));
        for c in &self.columns[node] {
            let rate = if c.mu == 0 { Expr::ONE } else { system.coordinates[c.mu - 1].rate };
            let rate = a.expr(rate);
            let part = scale_vec(a, &rate, &c.omega);
            omega = add_vec(a, &omega, &part);
            let part = scale_vec(a, &rate, &c.v);
            v = add_vec(a, &v, &part);
        }
        (omega, v)
    }

    /// The last node that two have above them.
    pub(crate) fn meeting(system: &System, nodes: [usize; 2]) -> usize {
        let [p, q] = nodes.map(|n| system.path(n));
        let common = p.iter().zip(&q).take_while(|(x, y)| x == y).count();
        if common == 0 { 0 } else { p[common - 1] }
    }

    /// A vector of a node in the axes of one above it; with its origin's place if it is a point.
    pub(crate) fn lifted<A: Algebra<E = E>>(
        &self,
        system: &System,
        a: &mut A,
        node: usize,
        above: usize,
        v: &V<E>,
        is_point: bool,
    ) -> V<E> {
        let mut v = v.clone();
        let mut i = node;
        while i != above {
            let (r, d) = &self.relative[i];
            v = turn(a, r, &v);
            if is_point {
                v = add_vec(a, &v, d);
            }
            i = system.nodes[i].parent;
        }
        v
    }

    /// Δ = p_b − p_a in the axes of the node where both branches meet.
    pub(crate) fn gap<A: Algebra<E = E>>(
        &self,
        system: &System,
        a: &mut A,
        ends: &[LinkPoint; 2],
    ) -> V<E> {
        let above = Self::meeting(system, [ends[0].node, ends[1].node]);
        let [p, q] = [0, 1].map(|i| {
            let place = vec_expr(a, &ends[i].place);
            self.lifted(system, a, ends[i].node, above, &place, true)
        });
        crate::algebra::sub_vec(a, &q, &p)
    }
}
