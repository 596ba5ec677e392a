//! Force laws, signals and conditions with their derivatives.

use gelenk_expr::{Dual, Expr, Node, Tape};
use nalgebra::Vector3;

use super::geometry::Drawn;
use super::numbers::Numbers;
use super::{
    VariedForce, VariedFunction, VariedInput, VariedJoint, VariedRow, VariedSignals, still,
};
use crate::body::BodyId;
use crate::bound::Side;
use crate::description::Description;
use crate::equation::Equation;
use crate::force::ForceKind;
use crate::joint::JointId;
use crate::math::norm;
use crate::model::Model;
use crate::rows::{CoordinateTie, RowKind};
use crate::signal::{BodyVector, StateRef, TimeFunction, Value};

/// The numbers of a law by the names they have in descriptions.
fn values(kind: &mut ForceKind) -> Vec<(&'static str, &mut Value)> {
    const FORCE: [&str; 3] = ["force.x", "force.y", "force.z"];
    const TORQUE: [&str; 3] = ["torque.x", "torque.y", "torque.z"];
    match kind {
        ForceKind::Spring(law) => {
            vec![("length", &mut law.length), ("stiffness", &mut law.stiffness)]
        }
        ForceKind::Damper(law) => vec![("damping", &mut law.damping)],
        ForceKind::JointSpring(law) => {
            vec![("rest", &mut law.rest), ("stiffness", &mut law.stiffness)]
        }
        ForceKind::JointDamper(law) => vec![("damping", &mut law.damping)],
        ForceKind::Servo(law) => vec![
            ("target", &mut law.target),
            ("target_velocity", &mut law.target_velocity),
            ("stiffness", &mut law.stiffness),
            ("damping", &mut law.damping),
            ("brake", &mut law.brake),
            ("max_force", &mut law.max_force),
        ],
        ForceKind::Motor(law) => vec![("force", &mut law.force)],
        ForceKind::Branch(law) => {
            vec![("stiffness", &mut law.stiffness), ("damping", &mut law.damping)]
        }
        ForceKind::Applied(law) => {
            let force = FORCE.into_iter().zip(&mut law.force);
            force.chain(TORQUE.into_iter().zip(&mut law.torque)).collect()
        }
        ForceKind::Drag(law) => vec![("linear", &mut law.linear), ("angular", &mut law.angular)],
        ForceKind::RodTorque(law) => TORQUE.into_iter().zip(&mut law.torque).collect(),
        ForceKind::Hand(_) => Vec::new(),
    }
}

/// Force laws; constants that change become signals after the model's own.
pub(super) fn forces(
    model: &Model,
    description: &Description,
    drawn: &Drawn,
    joints: &[VariedJoint],
    coordinates: &[Dual],
    numbers: &mut Numbers,
) -> Result<(Vec<VariedForce>, Vec<Dual>), String> {
    let mut constants = Vec::new();
    let mut list = Vec::with_capacity(model.forces.len());
    for (force, given) in model.forces.iter().zip(&description.forces) {
        let mut kind = force.kind.clone();
        let axis = kind.axis();
        let mut shifts = Vec::new();
        if let Some(axis) = axis {
            shifts.clone_from(&joints[axis.joint.index()].shifts);
        } else {
            for (body, point) in &given.points {
                shifts.push(drawn.shift(numbers, *body, point)?);
            }
            if shifts.iter().all(|(_, shift)| shift.is_none()) {
                shifts.clear();
            }
        }
        for (name, value) in values(&mut kind) {
            let Value::Constant(own) = *value else { continue };
            let drawn_value = match (name, axis) {
                ("length", _) if given.as_drawn => {
                    let [a, b] = [0, 1].map(|i| given.world_points.get(i));
                    let (Some(a), Some(b)) = (a, b) else { continue };
                    Some(norm(&(numbers.vector(b)? - numbers.vector(a)?)))
                }
                ("rest", Some(axis)) if given.as_drawn => {
                    let first = model.joints[axis.joint.index()].first_coordinate;
                    Some(coordinates[first + axis.which])
                }
                _ => None,
            };
            let found = match (drawn_value, given.values.iter().find(|(n, _)| *n == name)) {
                (Some(found), _) => found,
                (None, Some((_, expr))) => numbers.number(*expr)?,
                (None, None) => continue,
            };
            if !still(&found) {
                *value = Value::Signal(model.signals.n + constants.len());
                constants.push(Dual { v: own, d: found.d });
            }
        }
        list.push(VariedForce { kind, shifts });
    }
    Ok((list, constants))
}

/// What a symbol of the state reads.
fn input(
    model: &Model,
    description: &Description,
    drawn: &Drawn,
    numbers: &Numbers,
    symbol: Expr,
    state: StateRef,
) -> Result<VariedInput, String> {
    let (StateRef::Position(vector, _) | StateRef::Velocity(vector, _)) = state else {
        return Ok(VariedInput::State(state));
    };
    let Node::Symbol(name) = numbers.pool.node(symbol) else {
        return Ok(VariedInput::State(state));
    };
    let words: Vec<&str> = name.split('.').collect();
    let word = words.get(words.len().wrapping_sub(2)).copied().unwrap_or("");
    let on_frame = matches!(word, "position" | "velocity");
    let found: Vector3<Dual> = match words.first() {
        Some(&"marker") if on_frame => {
            let place = description.marker_place(model, &numbers.pool, symbol);
            let Some(place) = place else { return Err(format!("there is no marker for `{name}`")) };
            drawn.local(vector.body, &numbers.vector(place)?)
        }
        Some(&"body") if on_frame => drawn.bodies[vector.body.index()].origin,
        _ => return Ok(VariedInput::State(state)),
    };
    if found.iter().all(still) {
        return Ok(VariedInput::State(state));
    }
    let local = vector.local.zip_map(&found, |v, x| Dual { v, d: x.d });
    let vector = BodyVector { body: vector.body, local, is_point: vector.is_point };
    Ok(match state {
        StateRef::Velocity(_, axis) => VariedInput::Velocity(vector, axis),
        StateRef::Position(_, axis) => VariedInput::Position(vector, axis),
        other => VariedInput::State(other),
    })
}

pub(super) fn signals(
    model: &Model,
    description: &Description,
    drawn: &Drawn,
    constants: Vec<Dual>,
    numbers: &mut Numbers,
) -> Result<VariedSignals, String> {
    let mut inputs = Vec::with_capacity(model.signals.inputs.len());
    for (symbol, state) in description.signal_inputs.iter().zip(&model.signals.inputs) {
        inputs.push(input(model, description, drawn, numbers, *symbol, *state)?);
    }
    let mut signals =
        VariedSignals { inputs, parameters: Vec::new(), tape: None, kinks: None, constants };
    if description.signals.is_empty() {
        return Ok(signals);
    }
    // Both tapes read the same parameters.
    let all: Vec<Expr> = description.signals.iter().chain(&description.kinks).copied().collect();
    let changing = numbers.changing(&all);
    let symbols: Vec<Expr> =
        description.signal_inputs.iter().copied().chain(changing.iter().map(|(s, _)| *s)).collect();
    let all = numbers.put_in(&all);
    let (own, kinks) = all.split_at(description.signals.len());
    let compile = |outputs: &[Expr]| {
        Tape::compile(&numbers.pool, outputs, &symbols).map_err(|e| e.to_string())
    };
    signals.tape = Some(compile(own)?);
    signals.kinks = if kinks.is_empty() { None } else { Some(compile(kinks)?) };
    signals.parameters = changing.into_iter().map(|(_, value)| value).collect();
    Ok(signals)
}

pub(super) fn rows(
    model: &Model,
    description: &Description,
    drawn: &Drawn,
    coordinates: &[Dual],
    numbers: &mut Numbers,
) -> Result<Vec<VariedRow>, String> {
    let (mut ties, mut equations) = (description.ties.iter(), description.equations.iter());
    let mut list = Vec::with_capacity(model.rows.len());
    for block in &model.rows {
        list.push(match &block.kind {
            RowKind::Joint(_) => VariedRow::Joint,
            RowKind::Tie(own) => {
                let Some(given) = ties.next() else {
                    return Err(format!("coupling `{}` has no expressions", block.name));
                };
                tie(model, own, given, coordinates, numbers)?
            }
            RowKind::Equation(own) => {
                if equations.next().is_none() {
                    return Err(format!("constraint `{}` has no expression", block.name));
                }
                VariedRow::Equation(Box::new(equation(model, description, drawn, own, numbers)?))
            }
            RowKind::Stop(stop) => {
                let mut at = Dual::from(stop.at);
                let ours = |l: &&crate::description::LimitValues| {
                    (l.joint, l.which) == (stop.joint, stop.which)
                };
                if let Some(limit) = description.limits.iter().find(ours)
                    && let Some(expr) = limit.ends[usize::from(stop.side == Side::Max)]
                {
                    at.d = numbers.number(expr)?.d;
                }
                VariedRow::Stop(at)
            }
            RowKind::Friction(friction) => {
                let mut force = Dual::from(friction.force);
                let ours = |(joint, which, _): &&(JointId, usize, Expr)| {
                    (*joint, *which) == (friction.joint, friction.which)
                };
                if let Some((_, _, expr)) = description.frictions.iter().find(ours) {
                    force.d = numbers.number(*expr)?.d;
                }
                VariedRow::Friction(force)
            }
        });
    }
    Ok(list)
}

fn tie(
    model: &Model,
    own: &CoordinateTie,
    given: &crate::description::TieValues,
    coordinates: &[Dual],
    numbers: &mut Numbers,
) -> Result<VariedRow, String> {
    let exprs: Vec<Expr> = given.terms.iter().map(|(_, _, ratio)| *ratio).collect();
    let mut ratios = numbers.all(&exprs)?;
    for (ratio, (_, _, value)) in ratios.iter_mut().zip(&own.terms) {
        ratio.v = *value;
    }
    let target = match &own.target {
        TimeFunction::Constant(c) if given.as_drawn => {
            let mut sum = Dual::default();
            for (ratio, (joint, which, _)) in ratios.iter().zip(&own.terms) {
                let first = model.joints[joint.index()].first_coordinate;
                sum += *ratio * coordinates[first + which];
            }
            VariedFunction::Constant(Dual { v: *c, d: sum.d })
        }
        TimeFunction::Constant(c) => {
            VariedFunction::Constant(Dual { v: *c, d: numbers.number(given.target)?.d })
        }
        TimeFunction::Tape(_) => {
            let time = numbers.pool.time();
            let first = numbers.pool.diff(given.target, time);
            let second = numbers.pool.diff(first, time);
            let (tape, values) = numbers.tape(&[given.target, first, second], &[time])?;
            VariedFunction::Tape(tape, values)
        }
    };
    Ok(VariedRow::Tie { ratios, target })
}

/// The equation with the parameters that change as coordinates of points of the world.
fn equation(
    model: &Model,
    description: &Description,
    drawn: &Drawn,
    own: &Equation,
    numbers: &mut Numbers,
) -> Result<Equation<Dual>, String> {
    let g = own.symbolic.g;
    let changing = numbers.changing(&[g]);
    let mut u = own.symbolic.u.clone();
    let mut coordinates = Vec::with_capacity(u.len() + changing.len());
    for (symbol, (vector, axis)) in u.iter().zip(&own.coordinates) {
        let state = StateRef::Position(*vector, *axis);
        let local = match input(model, description, drawn, numbers, *symbol, state)? {
            VariedInput::Position(varied, _) => varied.local,
            _ => vector.local.map(Dual::from),
        };
        let vector = BodyVector { body: vector.body, local, is_point: vector.is_point };
        coordinates.push((vector, *axis));
    }
    for (symbol, value) in changing {
        let local = Vector3::new(value, Dual::default(), Dual::default());
        u.push(symbol);
        coordinates.push((BodyVector { body: BodyId::WORLD, local, is_point: true }, 0));
    }
    let g = numbers.put_in(&[g])[0];
    let pool = &mut numbers.pool;
    let rates: Vec<Expr> = (0..u.len()).map(|k| pool.symbol(&format!("local.rate{k}"))).collect();
    let time = pool.time();
    let derived = pool.constraint_equations(&[g], &u, &rates, time);
    let mut inputs = u.clone();
    inputs.push(time);
    let mut gradient = derived.jac.into_iter().next().unwrap_or_default();
    gradient.extend(derived.g_t);
    let curvature: Vec<Expr> = derived.gamma.iter().map(|e| pool.neg(*e)).collect();
    let compile = |outputs: &[Expr], inputs: &[Expr]| {
        Tape::compile(pool, outputs, inputs).map_err(|e| e.to_string())
    };
    let (value, gradient) = (compile(&[g], &inputs)?, compile(&gradient, &inputs)?);
    inputs.extend(rates);
    let curvature = compile(&curvature, &inputs)?;
    let symbolic = own.symbolic.clone();
    Ok(Equation { text: own.text.clone(), symbolic, coordinates, value, gradient, curvature })
}
