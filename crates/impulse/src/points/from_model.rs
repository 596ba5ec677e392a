//! A model of point masses as a point system.

use gelenk_model::joint::JointKind;
use gelenk_model::math::Vec3;
use gelenk_model::rows::RowKind;
use gelenk_model::{BodyKind, Model};

use super::constraint::{Constraint, ConstraintKind, PointEquation};
use super::system::{PointError, PointState, PointSystem};

/// The point system of a model, and its start.
///
/// The model may have point masses, distances between them or to points of fixed bodies, and equations over their
/// positions; anything else is an error that names it. The first points of the system are the bodies of the model, the
/// world included, by their numbers; after them come the points of fixed bodies that distances hang on.
pub fn from_model(model: &Model) -> Result<(PointSystem, PointState), PointError> {
    let mut system = PointSystem::new(model.gravity);
    for body in &model.bodies {
        if body.kind == BodyKind::Rigid && !body.fixed {
            return Err(not("body", &body.name, "is a rigid body, not a point mass"));
        }
        system.point(&body.name, if body.fixed { None } else { Some(body.mass) });
    }
    if let Some(force) = model.forces.first() {
        return Err(not("force", &force.name, "is not part of a point-mass system: gravity is"));
    }
    let mut state = start(model);
    for block in &model.rows {
        match &block.kind {
            RowKind::Joint(id) => {
                let joint = &model.joints[id.index()];
                let JointKind::Distance(distance) = &joint.kind else {
                    let why = format!("is a {}, not a distance", joint.kind.type_name());
                    return Err(not("joint", &joint.name, why));
                };
                let properties = &joint.properties;
                if properties.break_force.is_some() || properties.break_torque.is_some() {
                    return Err(not(
                        "joint",
                        &joint.name,
                        "may break, which a point-mass system does not",
                    ));
                }
                let mut ends = [0; 2];
                for (side, local) in distance.points().into_iter().enumerate() {
                    let id = joint.bodies[side];
                    let body = &model.bodies[id.index()];
                    let at = model.start.pose(id).point(&local);
                    ends[side] = if at == state.p[id.index()] {
                        id.index()
                    } else if body.fixed {
                        state.p.push(at);
                        state.p_dot.push(Vec3::zeros());
                        system.point(&format!("{} at {}", body.name, joint.name), None)
                    } else {
                        return Err(not("joint", &joint.name, "ends beside its point mass"));
                    };
                }
                system.distance(&joint.name, ends[0], ends[1], distance.length())?;
            }
            RowKind::Equation(equation) => {
                let mut coordinates = Vec::with_capacity(equation.coordinates.len());
                for (vector, axis) in &equation.coordinates {
                    let at_point = vector.is_point && vector.local == Vec3::zeros();
                    if !at_point {
                        let why = "names something else than the position of a point mass";
                        return Err(not("constraint", &block.name, why));
                    }
                    coordinates.push((vector.body.index(), *axis));
                }
                let (value, gradient) = (equation.value.clone(), equation.gradient.clone());
                let equation = PointEquation { coordinates, value, gradient };
                let kind = ConstraintKind::Equation(equation);
                system.constraints.push(Constraint { name: block.name.clone(), kind });
            }
            RowKind::Tie(_) => {
                return Err(not("coupling", &block.name, "is not part of a point-mass system"));
            }
            RowKind::Stop(_) => {
                return Err(not("end stop", &block.name, "is not part of a point-mass system"));
            }
            RowKind::Friction(_) => {
                return Err(not("friction", &block.name, "is not part of a point-mass system"));
            }
        }
    }
    Ok((system, state))
}

fn start(model: &Model) -> PointState {
    let start = &model.start;
    let mut p_dot = start.s_dot.clone();
    for (v, body) in p_dot.iter_mut().zip(&model.bodies) {
        if body.fixed {
            v.fill(0.0);
        }
    }
    PointState { t: start.t, p: start.s.clone(), p_dot }
}

fn not(what: &'static str, name: &str, why: impl Into<String>) -> PointError {
    PointError::NotPoints { what, name: name.to_owned(), why: why.into() }
}
