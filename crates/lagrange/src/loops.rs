//! Closure conditions: what cut joints and equations ask of the coordinates, C(q, t) = 0.

use gelenk_expr::Expr;

use crate::algebra::{Algebra, dot, turn_back, vec_expr};
use crate::kinematics::Kinematics;
use crate::system::{Row, System};

/// The value C of a row.
pub(crate) fn row_value<A: Algebra>(
    system: &System,
    kinematics: &Kinematics<A::E>,
    a: &mut A,
    row: &Row,
) -> A::E {
    match row {
        Row::Along { ends, direction } => {
            let above = Kinematics::<A::E>::meeting(system, [ends[0].node, ends[1].node]);
            let gap = kinematics.gap(system, a, ends);
            let u = vec_expr(a, direction);
            let u = kinematics.lifted(system, a, ends[0].node, above, &u, false);
            dot(a, &u, &gap)
        }
        Row::Gap { ends, axis } => kinematics.gap(system, a, ends)[*axis].clone(),
        Row::Right { nodes, directions } => {
            let above = Kinematics::<A::E>::meeting(system, *nodes);
            let [u, w] = [0, 1].map(|i| {
                let v = vec_expr(a, &directions[i]);
                kinematics.lifted(system, a, nodes[i], above, &v, false)
            });
            dot(a, &u, &w)
        }
        Row::Distance { ends, length } => {
            let gap = kinematics.gap(system, a, ends);
            let square = dot(a, &gap, &gap);
            let length = a.expr(*length);
            let length = a.mul(&length, &length);
            let difference = a.sub(&square, &length);
            let half = a.expr(Expr::HALF);
            a.mul(&half, &difference)
        }
        Row::Surface { ends, axes, x, f } => {
            // The point in the frame of a: R_aᵀ Δ, then in the surface's own axes.
            let above = Kinematics::<A::E>::meeting(system, [ends[0].node, ends[1].node]);
            let gap = kinematics.gap(system, a, ends);
            let mut local = gap;
            let mut way = Vec::new();
            let mut i = ends[0].node;
            while i != above {
                way.push(i);
                i = system.nodes[i].parent;
            }
            for i in way.into_iter().rev() {
                local = turn_back(a, &kinematics.relative[i].0, &local);
            }
            if let Some(axes) = axes {
                let axes = axes.map(|row| vec_expr(a, &row));
                local = turn_back(a, &Some(axes), &local);
            }
            a.substitute(*f, x, &local)
        }
        Row::Equation(e) => a.expr(*e),
    }
}

/// A name for a row, for people.
pub(crate) fn row_label(row: &Row, i: usize) -> String {
    match row {
        Row::Along { .. } | Row::Gap { .. } => format!("gap {}", i + 1),
        Row::Right { .. } => format!("tilt {}", i + 1),
        Row::Distance { .. } => "length".to_owned(),
        Row::Surface { .. } => "surface".to_owned(),
        Row::Equation(_) => "equation".to_owned(),
    }
}
