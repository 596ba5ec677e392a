//! Forces of joints: what a joint carries from one body to the next, as expressions.
//!
//! The joint is given six virtual coordinates u, three slides and three turns, that stay at zero. Lagrange's equation of each tells
//! the force that holds it there: R = g_uν q̈^ν + Γ_uμν q̇^μ q̇^ν − Q_u − λ_k ∂_uC_k at u = u̇ = ü = 0.
//! All that acts on the bodies behind the joint is in it: inertia, gravity, springs, drives, and the multipliers of closed loops.

use gelenk_expr::{Expr, Pool};

use crate::equations::Equations;
use crate::loops::row_label;
use crate::program::recursive;
use crate::simplify::{Assumptions, simplify};
use crate::system::{Coordinate, Law, LinkPoint, Measure, Motion, Node, Row, System, VecExpr};

/// The force and the torque that a joint of the tree carries.
#[derive(Clone, Debug)]
pub struct JointForce {
    /// The joint.
    pub joint: String,
    /// The body that pushes; the components are along the space axes of the drawing, turned with this body.
    pub from: String,
    /// The body that is pushed.
    pub on: String,
    /// Force on `on`, N, over q, q̇, q̈, t and λ.
    pub force: VecExpr,
    /// Torque on `on` about the joint's point, N m. About an axis on which the joint turns freely it is that of the joint's own
    /// drive, spring or damper, and zero without one.
    pub torque: VecExpr,
}

impl Equations {
    /// The force that a joint carries, simplified. `None` if no joint of the tree has this name: what joints that close loops
    /// carry are the multipliers λ.
    pub fn joint_force(&mut self, joint: &str) -> Option<JointForce> {
        let seat = self.system.joints.iter().find(|seat| seat.name == joint)?.clone();
        let mut pool = std::mem::take(&mut self.system.pool);
        let n = self.system.coordinates.len();
        let held = held(&self.system, &mut pool, seat.first);
        // The rows with multipliers, numbered as the closed form does.
        let named = |name: &str| {
            self.closed.as_ref().is_none_or(|c| c.closures.iter().any(|(own, _)| own == name))
        };
        let keep: Vec<bool> = self
            .system
            .closures
            .iter()
            .flat_map(|c| c.rows.iter().enumerate().map(move |(i, row)| (c, i, row)))
            .map(|(c, i, row)| named(&format!("{}, {}", c.name, row_label(row, i))))
            .collect();
        let program = recursive(&held, &mut pool, &[], Some(&keep));
        let rest: Vec<(Expr, Expr)> = held.coordinates[n..]
            .iter()
            .flat_map(|c| [(c.symbol, Expr::ZERO), (c.rate, Expr::ZERO)])
            .collect();
        let lambda: Vec<Expr> =
            (0..program.jac.len()).map(|k| pool.symbol(&self.multiplier(k))).collect();
        let assumptions = Assumptions { positive: self.system.positive.clone() };
        let row = |pool: &mut Pool, k: usize| {
            let mut terms = vec![program.bias[k]];
            for (nu, c) in held.coordinates[..n].iter().enumerate() {
                let m = program.mass[k.max(nu)][k.min(nu)];
                terms.push(pool.mul(&[m, c.acceleration]));
            }
            for (jac, lambda) in program.jac.iter().zip(&lambda) {
                let push = pool.mul(&[jac[k], *lambda]);
                terms.push(pool.neg(push));
            }
            let sum = pool.add(&terms);
            pool.substitute(sum, &rest)
        };
        // The equations of the joint's own coordinates are zero: taken away where that leaves less.
        let own: Vec<Expr> = seat.coordinates.iter().map(|k| row(&mut pool, *k)).collect();
        let component = |pool: &mut Pool, k: usize| {
            let full = row(pool, k);
            let mut best = simplify(pool, full, &assumptions);
            for e in &own {
                for sign in [Expr::ONE, Expr::MINUS_ONE] {
                    let part = pool.mul(&[sign, *e]);
                    let rest = pool.add(&[full, part]);
                    let short = simplify(pool, rest, &assumptions);
                    if pool.n_operations(&[short]) < pool.n_operations(&[best])
                        || short == Expr::ZERO
                    {
                        best = short;
                    }
                }
            }
            best
        };
        let force = [n, n + 1, n + 2].map(|k| component(&mut pool, k));
        // A ball carries no torque but that of its own springs and drives.
        let driven = self.system.loads.iter().any(|load| match &load.law {
            Law::Along { displacement, .. } => seat
                .coordinates
                .iter()
                .any(|k| depends(&pool, *displacement, self.system.coordinates[*k].symbol)),
            _ => false,
        });
        let torque = if seat.is_ball && !driven {
            [Expr::ZERO; 3]
        } else {
            [n + 3, n + 4, n + 5].map(|k| component(&mut pool, k))
        };
        self.system.pool = pool;
        Some(JointForce { joint: seat.name, from: seat.from, on: seat.on, force, torque })
    }
}

fn depends(pool: &Pool, e: Expr, symbol: Expr) -> bool {
    pool.subexpressions(&[e]).binary_search(&symbol).is_ok()
}

/// The system with six virtual coordinates before a node: slides along and turns about the axes of the node's parent.
fn held(system: &System, pool: &mut Pool, first: usize) -> System {
    let mut held = system.clone();
    let n = system.coordinates.len();
    let mut parent = system.nodes[first].parent;
    let offset = system.nodes[first].offset;
    let moved = |node: usize| if node >= first { node + 6 } else { node };
    for node in &mut held.nodes {
        node.parent = moved(node.parent);
    }
    let zero = [Expr::ZERO; 3];
    let mut before = Vec::with_capacity(6);
    for k in 0..6 {
        let mut name = format!("virtual_{}", k + 1);
        while ["", "_dot", "_ddot"]
            .iter()
            .any(|end| system.parameters.iter().any(|p| p.name == format!("{name}{end}")))
        {
            name.insert(0, 'v');
        }
        let symbol = pool.symbol(&name);
        held.coordinates.push(Coordinate {
            symbol,
            rate: pool.symbol(&format!("{name}_dot")),
            acceleration: pool.symbol(&format!("{name}_ddot")),
            measure: if k < 3 { Measure::Length } else { Measure::Angle },
            meaning: String::new(),
            singular: None,
        });
        let mut axis = zero;
        axis[k % 3] = Expr::ONE;
        let motion = if k < 3 { Motion::Slide(axis) } else { Motion::Turn(axis) };
        let offset = if k == 0 { offset } else { zero };
        before.push(Node { parent, offset, motion, value: symbol, coordinate: Some(n + k) });
        parent = first + k;
    }
    held.nodes[first].parent = parent;
    held.nodes[first].offset = zero;
    held.nodes.splice(first..first, before);
    let point = |p: &mut LinkPoint| p.node = moved(p.node);
    for link in &mut held.links {
        link.node = moved(link.node);
    }
    for load in &mut held.loads {
        match &mut load.law {
            Law::Spring { ends, .. }
            | Law::Damper { ends, .. }
            | Law::FullDamper { ends, .. }
            | Law::BodyDamper { ends, .. }
            | Law::RodTorque { ends, .. } => ends.iter_mut().for_each(point),
            Law::Applied { point: p, .. } | Law::Drag { point: p, .. } => point(p),
            Law::Along { .. } => {}
        }
    }
    for row in held.closures.iter_mut().flat_map(|closure| &mut closure.rows) {
        match row {
            Row::Along { ends, .. }
            | Row::Gap { ends, .. }
            | Row::Distance { ends, .. }
            | Row::Surface { ends, .. } => ends.iter_mut().for_each(point),
            Row::Right { nodes, .. } => nodes.iter_mut().for_each(|node| *node = moved(*node)),
            Row::Equation(_) => {}
        }
    }
    held
}
