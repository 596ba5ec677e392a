//! The recursive form: q̈ by recursions along the tree, as expressions with shared parts.
//!
//! Outward: velocities and accelerations at q̈ = 0 in body axes. Inward: forces, and composite inertias. Then M = Lᵀ D L
//! along the tree, and where loops are closed J M⁻¹ Jᵀ λ = γ − J q̈₀. Beyond about four coordinates this is much
//! shorter than the closed form, since every velocity is computed once. \[Featherstone 2008\] chapters 5, 6 and 8.

use gelenk_expr::{CompileError, Expr, Pool, Tape};

use crate::algebra::{
    Algebra, InPool, M, V, add_vec, cross, dot, scale_vec, sub_vec, turn, turn_back,
};
use crate::forces::generalized;
use crate::kinematics::Kinematics;
use crate::loops::row_value;
use crate::numeric::Conditions;
use crate::system::{AlongKind, Law, Motion, Row, System};

/// A computation: outputs over inputs in one pool, so that equal parts are shared. Tapes and code are made from it.
#[derive(Clone, Debug)]
pub struct Program {
    /// q, q̇, t, then inputs of the model, then parameters that are kept as symbols.
    pub inputs: Vec<Expr>,
    /// q̈.
    pub accelerations: Vec<Expr>,
    /// Multipliers λ of the rows that are kept.
    pub multipliers: Vec<Expr>,
    /// M, lower triangle by rows.
    pub mass: Vec<Vec<Expr>>,
    /// Bias: M q̈ + bias = Jᵀ λ.
    pub bias: Vec<Expr>,
    /// C of the rows that are kept.
    pub constraints: Vec<Expr>,
    /// ∂C/∂q.
    pub jac: Vec<Vec<Expr>>,
    /// γ with J q̈ = γ.
    pub gamma: Vec<Expr>,
}

impl Program {
    /// A tape for q̈ over the inputs.
    pub fn tape(&self, pool: &Pool) -> Result<Tape, CompileError> {
        Tape::compile(pool, &self.accelerations, &self.inputs)
    }
}

/// Rigid-body inertia about a node's origin: mass, first moment, tensor.
#[derive(Clone)]
struct Inertia {
    mass: Expr,
    moment: V<Expr>,
    tensor: [[Expr; 3]; 3],
}

impl Inertia {
    fn zero() -> Self {
        Inertia { mass: Expr::ZERO, moment: [Expr::ZERO; 3], tensor: [[Expr::ZERO; 3]; 3] }
    }

    /// Momentum (linear, angular about the origin) of the velocity (ω, v).
    fn momentum(&self, a: &mut InPool<'_>, omega: &V<Expr>, v: &V<Expr>) -> (V<Expr>, V<Expr>) {
        // p = m v − h × ω, L = I ω + h × v
        let mv = scale_vec(a, &self.mass, v);
        let hw = cross(a, &self.moment, omega);
        let p = sub_vec(a, &mv, &hw);
        let iw = [0, 1, 2].map(|i| dot(a, &self.tensor[i], omega));
        let hv = cross(a, &self.moment, v);
        (p, add_vec(a, &iw, &hv))
    }

    fn add(&mut self, a: &mut InPool<'_>, other: &Inertia) {
        self.mass = a.add(&self.mass, &other.mass);
        self.moment = add_vec(a, &self.moment, &other.moment);
        for i in 0..3 {
            self.tensor[i] = add_vec(a, &self.tensor[i], &other.tensor[i]);
        }
    }

    /// In the axes of the parent and about its origin: x_parent = d + R x.
    fn shifted(&self, a: &mut InPool<'_>, r: &M<Expr>, d: &V<Expr>) -> Inertia {
        let moment = turn(a, r, &self.moment);
        let mut tensor = self.tensor;
        if let Some(r) = r {
            let rows = [0, 1, 2].map(|i| turn(a, &Some(*r), &self.tensor[i]));
            // (R I)ᵀ by rows, then R again.
            let columns = [0, 1, 2].map(|i| [rows[0][i], rows[1][i], rows[2][i]]);
            let turned = columns.map(|c| turn(a, &Some(*r), &c));
            tensor = turned;
        }
        // I' = I − d× h× − h× d× − m d× d×, with (x× y×) = y xᵀ − (x·y) E
        let hd = dot(a, &moment, d);
        let dd = dot(a, d, d);
        let twice = a.add(&hd, &hd);
        let mdd = a.mul(&self.mass, &dd);
        let diagonal = a.add(&twice, &mdd);
        for i in 0..3 {
            for j in 0..3 {
                let p = a.mul(&moment[i], &d[j]);
                let q = a.mul(&d[i], &moment[j]);
                let s = a.pool.mul(&[self.mass, d[i], d[j]]);
                let mut sum = a.pool.add(&[p, q, s]);
                sum = a.neg(&sum);
                if i == j {
                    sum = a.add(&sum, &diagonal);
                }
                tensor[i][j] = a.add(&tensor[i][j], &sum);
            }
        }
        let md = scale_vec(a, &self.mass, d);
        Inertia { mass: self.mass, moment: add_vec(a, &moment, &md), tensor }
    }
}

/// The motion of a node's own coordinate: (ω, v) in its axes for rate 1.
fn subspace(system: &System, a: &mut InPool<'_>, node: usize) -> Option<(V<Expr>, V<Expr>)> {
    let about = &system.nodes[node];
    let k = about.coordinate?;
    let symbol = system.coordinates[k].symbol;
    let slope = a.pool.diff(about.value, symbol);
    let zero = [Expr::ZERO; 3];
    Some(match &about.motion {
        Motion::Fixed => return None,
        Motion::Turn(n) => (scale_vec(a, &slope, n), zero),
        Motion::Slide(n) => (zero, scale_vec(a, &slope, n)),
        Motion::Screw(n, pitch) => {
            let omega = scale_vec(a, &slope, n);
            (omega, scale_vec(a, pitch, &omega))
        }
        Motion::Path(place) => (zero, place.map(|e| a.pool.diff(e, symbol))),
    })
}

/// C of the closure rows, ∂C/∂q and the inputs alone.
pub(crate) fn conditions(
    system: &System,
    pool: &mut Pool,
    values: &[(Expr, Expr)],
    keep: Option<&[bool]>,
) -> Conditions {
    let mut system = system.clone();
    numbers(&mut system, pool, values);
    let inputs = inputs_of(&system, pool, values);
    let mut a = InPool { pool };
    let kinematics = Kinematics::new(&system, &mut a);
    let rows = rows_of(&system, &kinematics, &mut a, keep);
    let q: Vec<Expr> = system.coordinates.iter().map(|c| c.symbol).collect();
    let jac = a.pool.jacobian(&rows, &q);
    Conditions { inputs, rows, jac }
}

/// C of the closure rows that are kept.
fn rows_of(
    system: &System,
    kinematics: &Kinematics<Expr>,
    a: &mut InPool<'_>,
    keep: Option<&[bool]>,
) -> Vec<Expr> {
    let rows = system.closures.iter().flat_map(|closure| &closure.rows).enumerate();
    let kept = rows.filter(|(i, _)| keep.is_none_or(|keep| keep[*i]));
    kept.map(|(_, row)| row_value(system, kinematics, a, row)).collect()
}

fn inputs_of(system: &System, pool: &mut Pool, values: &[(Expr, Expr)]) -> Vec<Expr> {
    let mut inputs: Vec<Expr> = system.coordinates.iter().map(|c| c.symbol).collect();
    inputs.extend(system.coordinates.iter().map(|c| c.rate));
    inputs.push(pool.time());
    inputs.extend(system.inputs.iter().map(|(s, _)| *s));
    let open = system.parameters.iter().map(|p| p.symbol);
    inputs.extend(open.filter(|s| !values.iter().any(|(known, _)| known == s)));
    inputs
}

/// Builds the recursive form. With `values` these symbols are numbers from the start, so that constants fold.
///
/// `keep` tells which closure rows are independent; all if `None`.
pub(crate) fn recursive(
    system: &System,
    pool: &mut Pool,
    values: &[(Expr, Expr)],
    keep: Option<&[bool]>,
) -> Program {
    let mut system = system.clone();
    numbers(&mut system, pool, values);
    let system = &system;
    let time = pool.time();
    let mut a = InPool { pool };
    let n = system.coordinates.len();
    let mut kinematics = Kinematics::new(system, &mut a);
    let zero = [Expr::ZERO; 3];
    // Velocities and accelerations at q̈ = 0; gravity as an acceleration of the world.
    let count = system.nodes.len();
    let up = system.gravity.map(|g| a.pool.neg(g));
    let mut omega = vec![zero; count];
    let mut v = vec![zero; count];
    let mut alpha = vec![zero; count];
    let mut acc = vec![up; count];
    let rates: Vec<(Expr, Expr)> = system.coordinates.iter().map(|c| (c.symbol, c.rate)).collect();
    let drift: Vec<(Expr, Expr)> = rates
        .iter()
        .copied()
        .chain(system.coordinates.iter().map(|c| (c.rate, Expr::ZERO)))
        .collect();
    for i in 1..count {
        let node = &system.nodes[i];
        let (r, d) = kinematics.relative[i];
        let p = node.parent;
        let s1 = a.pool.diff_total(node.value, time, &rates);
        let s2 = a.pool.diff_total(s1, time, &drift);
        let (mut jw, mut jv, mut jaw, mut jav) = (zero, zero, zero, zero);
        match &node.motion {
            Motion::Fixed => {}
            Motion::Turn(axis) => {
                jw = scale_vec(&mut a, &s1, axis);
                jaw = scale_vec(&mut a, &s2, axis);
            }
            Motion::Slide(axis) => {
                jv = scale_vec(&mut a, &s1, axis);
                jav = scale_vec(&mut a, &s2, axis);
            }
            Motion::Screw(axis, pitch) => {
                jw = scale_vec(&mut a, &s1, axis);
                jaw = scale_vec(&mut a, &s2, axis);
                jv = scale_vec(&mut a, pitch, &jw);
                jav = scale_vec(&mut a, pitch, &jaw);
            }
            Motion::Path(place) => {
                jv = place.map(|e| a.pool.diff_total(e, time, &rates));
                jav = jv.map(|e| a.pool.diff_total(e, time, &drift));
            }
        }
        // In the parent's axes: v_o = v_p + ω×d + ḋ, a_o = a_p + α×d + ω×(ω×d) + 2 ω×ḋ + d̈.
        let wd = cross(&mut a, &omega[p], &d);
        let lever = add_vec(&mut a, &v[p], &wd);
        let speed = add_vec(&mut a, &lever, &jv);
        let ad = cross(&mut a, &alpha[p], &d);
        let wwd = cross(&mut a, &omega[p], &wd);
        let coriolis = cross(&mut a, &omega[p], &jv);
        let mut push = add_vec(&mut a, &acc[p], &ad);
        push = add_vec(&mut a, &push, &wwd);
        push = add_vec(&mut a, &push, &coriolis);
        push = add_vec(&mut a, &push, &coriolis);
        push = add_vec(&mut a, &push, &jav);
        let w = turn_back(&mut a, &r, &omega[p]);
        v[i] = turn_back(&mut a, &r, &speed);
        acc[i] = turn_back(&mut a, &r, &push);
        // ω = Rᵀω_p + j, α = Rᵀα_p + Rᵀω_p × j + j̇
        let gyro = cross(&mut a, &w, &jw);
        let up = turn_back(&mut a, &r, &alpha[p]);
        let up = add_vec(&mut a, &up, &gyro);
        alpha[i] = add_vec(&mut a, &up, &jaw);
        omega[i] = add_vec(&mut a, &w, &jw);
    }
    // Inertias and inertial forces about the nodes' origins.
    let mut inertia = vec![Inertia::zero(); count];
    let mut force = vec![zero; count];
    let mut moment = vec![zero; count];
    for link in &system.links {
        let own = Inertia { mass: link.mass, moment: zero, tensor: link.inertia };
        let own = own.shifted(&mut a, &None, &link.center);
        inertia[link.node].add(&mut a, &own);
    }
    for i in 1..count {
        let about = inertia[i].clone();
        if about.mass == Expr::ZERO && about.tensor == [[Expr::ZERO; 3]; 3] {
            continue;
        }
        // F = m a + α×h + ω×(ω×h), N = I α + ω×(I ω) + h×a
        let ma = scale_vec(&mut a, &about.mass, &acc[i]);
        let ah = cross(&mut a, &alpha[i], &about.moment);
        let wh = cross(&mut a, &omega[i], &about.moment);
        let wwh = cross(&mut a, &omega[i], &wh);
        let f = add_vec(&mut a, &ma, &ah);
        force[i] = add_vec(&mut a, &f, &wwh);
        let ia = [0, 1, 2].map(|k| dot(&mut a, &about.tensor[k], &alpha[i]));
        let iw = [0, 1, 2].map(|k| dot(&mut a, &about.tensor[k], &omega[i]));
        let wiw = cross(&mut a, &omega[i], &iw);
        let ha = cross(&mut a, &about.moment, &acc[i]);
        let t = add_vec(&mut a, &ia, &wiw);
        moment[i] = add_vec(&mut a, &t, &ha);
    }
    let loads = generalized(system, &mut kinematics, &mut a, false);
    let mut bias = vec![Expr::ZERO; n];
    let mut mass = vec![vec![Expr::ZERO; n]; n];
    for i in (1..count).rev() {
        let node = &system.nodes[i];
        if let Some((sw, sv)) = subspace(system, &mut a, i) {
            let k = node.coordinate.expect("has a subspace");
            let work = dot(&mut a, &sv, &force[i]);
            let turning = dot(&mut a, &sw, &moment[i]);
            bias[k] = a.pool.add(&[bias[k], work, turning]);
            // Columns of M: the momentum of unit rate, carried to the root.
            let (mut p, mut l) = inertia[i].momentum(&mut a, &sw, &sv);
            let own = {
                let x = dot(&mut a, &sv, &p);
                let y = dot(&mut a, &sw, &l);
                a.add(&x, &y)
            };
            mass[k][k] = a.add(&mass[k][k], &own);
            let mut j = i;
            while j != 0 {
                let (r, d) = kinematics.relative[j];
                p = turn(&mut a, &r, &p);
                l = turn(&mut a, &r, &l);
                let lever = cross(&mut a, &d, &p);
                l = add_vec(&mut a, &l, &lever);
                j = system.nodes[j].parent;
                if let Some((tw, tv)) = subspace(system, &mut a, j) {
                    let m = system.nodes[j].coordinate.expect("has a subspace");
                    let x = dot(&mut a, &tv, &p);
                    let y = dot(&mut a, &tw, &l);
                    let entry = a.add(&x, &y);
                    let (row, column) = if k > m { (k, m) } else { (m, k) };
                    mass[row][column] = a.add(&mass[row][column], &entry);
                }
            }
        }
        if node.parent != 0 {
            let (r, d) = kinematics.relative[i];
            let f = turn(&mut a, &r, &force[i]);
            let t = turn(&mut a, &r, &moment[i]);
            let lever = cross(&mut a, &d, &f);
            let t = add_vec(&mut a, &t, &lever);
            let p = node.parent;
            force[p] = add_vec(&mut a, &force[p], &f);
            moment[p] = add_vec(&mut a, &moment[p], &t);
            let moved = inertia[i].shifted(&mut a, &r, &d);
            inertia[p].add(&mut a, &moved);
        }
    }
    for k in 0..n {
        bias[k] = a.sub(&bias[k], &loads.q[k]);
    }
    let constraints = rows_of(system, &kinematics, &mut a, keep);
    let q: Vec<Expr> = system.coordinates.iter().map(|c| c.symbol).collect();
    let qd: Vec<Expr> = system.coordinates.iter().map(|c| c.rate).collect();
    let derived = a.pool.constraint_equations(&constraints, &q, &qd, time);
    let (jac, gamma) = (derived.jac, derived.gamma);
    let factor = Factor::new(a.pool, &mass);
    let right: Vec<Expr> = bias.iter().map(|b| a.pool.neg(*b)).collect();
    let free = factor.solve(a.pool, &right);
    let (accelerations, multipliers) = constrained(a.pool, &factor, &free, &jac, &gamma);
    let inputs = inputs_of(system, a.pool, values);
    Program { inputs, accelerations, multipliers, mass, bias, constraints, jac, gamma }
}

fn sum_products(pool: &mut Pool, a: &[Expr], b: &[Expr]) -> Expr {
    let terms: Vec<Expr> = a.iter().zip(b).map(|(x, y)| pool.mul(&[*x, *y])).collect();
    pool.add(&terms)
}

/// M = Lᵀ D L, eliminated from the last coordinate to the first, so that a tree's zeros stay zeros.
struct Factor {
    /// Unit lower triangle, by rows.
    l: Vec<Vec<Expr>>,
    /// 1/D.
    inverse: Vec<Expr>,
}

impl Factor {
    fn new(pool: &mut Pool, lower: &[Vec<Expr>]) -> Self {
        let n = lower.len();
        let mut m: Vec<Vec<Expr>> = lower.to_vec();
        let mut inverse = vec![Expr::ZERO; n];
        for k in (0..n).rev() {
            inverse[k] = pool.pow(m[k][k], Expr::MINUS_ONE);
            for i in (0..k).rev() {
                if m[k][i] == Expr::ZERO {
                    continue;
                }
                let ratio = pool.mul(&[m[k][i], inverse[k]]);
                for j in 0..=i {
                    if m[k][j] != Expr::ZERO {
                        let p = pool.mul(&[ratio, m[k][j]]);
                        m[i][j] = pool.sub(m[i][j], p);
                    }
                }
                m[k][i] = ratio;
            }
        }
        Factor { l: m, inverse }
    }

    fn solve(&self, pool: &mut Pool, right: &[Expr]) -> Vec<Expr> {
        let n = right.len();
        let mut x = right.to_vec();
        for k in (0..n).rev() {
            for i in 0..k {
                if self.l[k][i] != Expr::ZERO {
                    let p = pool.mul(&[self.l[k][i], x[k]]);
                    x[i] = pool.sub(x[i], p);
                }
            }
        }
        for k in 0..n {
            x[k] = pool.mul(&[x[k], self.inverse[k]]);
            for i in 0..k {
                if self.l[k][i] != Expr::ZERO {
                    let p = pool.mul(&[self.l[k][i], x[i]]);
                    x[k] = pool.sub(x[k], p);
                }
            }
        }
        x
    }
}

/// Puts numbers in for symbols in all of a system's geometry and loads.
pub(crate) fn numbers(system: &mut System, pool: &mut Pool, values: &[(Expr, Expr)]) {
    if values.is_empty() {
        return;
    }
    let mut put = |e: &mut Expr| *e = pool.substitute(*e, values);
    let mut all = |v: &mut [Expr]| v.iter_mut().for_each(&mut put);
    all(&mut system.gravity);
    for node in &mut system.nodes {
        all(&mut node.offset);
        all(std::slice::from_mut(&mut node.value));
        match &mut node.motion {
            Motion::Fixed => {}
            Motion::Turn(n) | Motion::Slide(n) | Motion::Path(n) => all(n),
            Motion::Screw(n, pitch) => {
                all(n);
                all(std::slice::from_mut(pitch));
            }
        }
    }
    for link in &mut system.links {
        all(std::slice::from_mut(&mut link.mass));
        all(&mut link.center);
        for row in &mut link.inertia {
            all(row);
        }
    }
    for load in &mut system.loads {
        match &mut load.law {
            Law::Spring { ends, stiffness, length } => {
                for e in ends.iter_mut() {
                    all(&mut e.place);
                }
                all(std::slice::from_mut(stiffness));
                all(std::slice::from_mut(length));
            }
            Law::Damper { ends, damping }
            | Law::FullDamper { ends, damping }
            | Law::BodyDamper { ends, damping } => {
                for e in ends.iter_mut() {
                    all(&mut e.place);
                }
                all(std::slice::from_mut(damping));
            }
            Law::Along { displacement, force, kind } => {
                all(std::slice::from_mut(displacement));
                all(std::slice::from_mut(force));
                match kind {
                    AlongKind::Spring(c, rest) => {
                        all(std::slice::from_mut(c));
                        all(std::slice::from_mut(rest));
                    }
                    AlongKind::Damper(d) => all(std::slice::from_mut(d)),
                    AlongKind::Drive => {}
                }
            }
            Law::Applied { point, force, torque, .. } => {
                all(&mut point.place);
                all(force);
                all(torque);
            }
            Law::Drag { point, linear, angular } => {
                all(&mut point.place);
                all(std::slice::from_mut(linear));
                all(std::slice::from_mut(angular));
            }
            Law::RodTorque { ends, torque } => {
                for e in ends.iter_mut() {
                    all(&mut e.place);
                }
                all(torque);
            }
        }
    }
    for row in system.closures.iter_mut().flat_map(|c| &mut c.rows) {
        match row {
            Row::Along { ends, direction } => {
                for e in ends.iter_mut() {
                    all(&mut e.place);
                }
                all(direction);
            }
            Row::Gap { ends, .. } => {
                for e in ends.iter_mut() {
                    all(&mut e.place);
                }
            }
            Row::Right { directions, .. } => {
                for d in directions.iter_mut() {
                    all(d);
                }
            }
            Row::Distance { ends, length } => {
                for e in ends.iter_mut() {
                    all(&mut e.place);
                }
                all(std::slice::from_mut(length));
            }
            Row::Surface { ends, axes, f, .. } => {
                for e in ends.iter_mut() {
                    all(&mut e.place);
                }
                if let Some(axes) = axes {
                    for row in axes.iter_mut() {
                        all(row);
                    }
                }
                all(std::slice::from_mut(f));
            }
            Row::Equation(e) => all(std::slice::from_mut(e)),
        }
    }
}

/// q̈ from the closed form: g q̈ = Q − Γ q̇ q̇ + Jᵀ λ, J q̈ = γ, eliminated without pivots.
pub(crate) fn of_closed(
    pool: &mut Pool,
    coordinates: &[crate::system::Coordinate],
    closed: &crate::derive::Closed,
) -> Vec<Expr> {
    let f = coordinates.len();
    let rates: Vec<Expr> =
        std::iter::once(Expr::ONE).chain(coordinates.iter().map(|c| c.rate)).collect();
    let mut right = Vec::with_capacity(f);
    for rho in 0..f {
        let mut terms = vec![closed.q[rho]];
        for mu in 0..=f {
            for nu in 0..=f {
                let part = closed.gamma[rho][mu][nu];
                if part != Expr::ZERO {
                    terms.push(pool.mul(&[Expr::MINUS_ONE, part, rates[mu], rates[nu]]));
                }
            }
        }
        right.push(pool.add(&terms));
    }
    let mass: Vec<Vec<Expr>> = (1..=f).map(|i| closed.g[i][1..=i].to_vec()).collect();
    let factor = Factor::new(pool, &mass);
    let free = factor.solve(pool, &right);
    constrained(pool, &factor, &free, &closed.jac, &closed.gamma_rows).0
}

/// q̈ and λ with J q̈ = γ, from the free accelerations.
fn constrained(
    pool: &mut Pool,
    factor: &Factor,
    free: &[Expr],
    jac: &[Vec<Expr>],
    gamma: &[Expr],
) -> (Vec<Expr>, Vec<Expr>) {
    if jac.is_empty() {
        return (free.to_vec(), Vec::new());
    }
    let columns: Vec<Vec<Expr>> = jac.iter().map(|row| factor.solve(pool, row)).collect();
    let m = jac.len();
    let mut schur = vec![vec![Expr::ZERO; m]; m];
    for i in 0..m {
        for j in 0..=i {
            schur[i][j] = sum_products(pool, &jac[i], &columns[j]);
        }
    }
    let rest: Vec<Expr> = (0..m)
        .map(|i| {
            let have = sum_products(pool, &jac[i], free);
            pool.sub(gamma[i], have)
        })
        .collect();
    let lambda = Factor::new(pool, &schur).solve(pool, &rest);
    let accelerations = (0..free.len())
        .map(|k| {
            let column: Vec<Expr> = columns.iter().map(|c| c[k]).collect();
            let push = sum_products(pool, &lambda, &column);
            pool.add(&[free[k], push])
        })
        .collect();
    (accelerations, lambda)
}
