//! Bounded rows: conditions whose impulse has bounds. End stops and dry friction of joint coordinates.

use crate::builder::add_rows;
use crate::joint::JointId;
use crate::model::Model;
use crate::rows::RowKind;

/// Which end of a coordinate's range a stop is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The smallest value.
    Min,
    /// The largest value.
    Max,
}

impl Side {
    /// s: 1 at the largest value, −1 at the smallest.
    pub fn sign(self) -> f64 {
        match self {
            Side::Min => -1.0,
            Side::Max => 1.0,
        }
    }

    /// The key of the limit in model files.
    pub fn name(self) -> &'static str {
        match self {
            Side::Min => "min",
            Side::Max => "max",
        }
    }
}

/// An end stop of a joint coordinate q: a one-sided row.
///
/// ```text
/// C = s (q − q_stop) ≤ 0,   J = s W,   λ ≤ 0,   C λ = 0
/// ```
/// s = 1 at the largest value, −1 at the smallest; W: q̇ = W v. The stop pushes and never pulls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stop {
    /// The joint.
    pub joint: JointId,
    /// Which of its coordinates.
    pub which: usize,
    /// Which end.
    pub side: Side,
    /// q_stop, rad or m.
    pub at: f64,
    /// ε: part of the compression impulse that the stop gives back; 0 plastic, 1 elastic.
    pub restitution: f64,
}

impl Stop {
    /// C for a value of its coordinate, rad or m; negative where there is room.
    pub fn error(&self, q: f64) -> f64 {
        self.side.sign() * (q - self.at)
    }
}

/// Dry friction (Coulomb) of a joint coordinate q: a row that holds, up to a largest force F.
///
/// ```text
/// C = q − q_held,   J = W,   |λ| ≤ F;   q̇ ≠ 0:  λ = −F sign(q̇)
/// ```
/// q_held: where the coordinate came to rest, [`State::held`](crate::State::held). The row's error is given as q alone;
/// solvers take q_held from the state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Friction {
    /// The joint.
    pub joint: JointId,
    /// Which of its coordinates.
    pub which: usize,
    /// F, N m or N.
    pub force: f64,
    /// Index in [`State::held`](crate::State::held).
    pub slot: usize,
}

/// Adds the end stops and the dry friction of a joint to the rows of `model`, at their end, and their places in the
/// start.
pub(crate) fn add_bound_rows(model: &mut Model, id: JointId) {
    let joint = &model.joints[id.index()];
    let coordinates = joint.kind.equations().coordinates();
    let (bodies, tolerance, first) = (joint.bodies, joint.tolerance, joint.first_coordinate);
    let place = |which: usize| match coordinates {
        [_] => joint.name.clone(),
        _ => format!("{}.{}", joint.name, coordinates[which].name),
    };
    let mut rows: Vec<(String, RowKind)> = Vec::new();
    for limit in &joint.properties.limits {
        for (side, at) in [(Side::Min, limit.min), (Side::Max, limit.max)] {
            if at.is_finite() {
                let (which, restitution) = (limit.which, limit.restitution);
                let stop = Stop { joint: id, which, side, at, restitution };
                let name = format!("{}.{}", place(which), side.name());
                rows.push((name, RowKind::Stop(stop)));
            }
        }
    }
    let mut held = Vec::new();
    for (which, &force) in joint.properties.friction.iter().enumerate() {
        if force > 0.0 {
            let slot = model.start.held.len() + held.len();
            held.push(model.start.coordinate[first + which]);
            let friction = Friction { joint: id, which, force, slot };
            rows.push((format!("{}.friction", place(which)), RowKind::Friction(friction)));
        }
    }
    model.start.held.extend(held);
    for (name, kind) in rows {
        add_rows(model, &name, kind, bodies.to_vec(), 1, tolerance);
    }
}
