//! The columns of a table: one row a sample.

use gelenk_model::math::Vec3;
use gelenk_model::{BodyKind, Instant, JointId, Model, Pose, RowKind, Sample, Twist};

use super::ExportError;

/// A column: what it holds and in which unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// `body.upper.position.x`
    pub name: String,
    /// `m`, or empty where the number has no unit.
    pub unit: &'static str,
}

impl std::fmt::Display for Column {
    /// `body.upper.position.x [m]`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.unit {
            "" => write!(f, "{}", self.name),
            unit => write!(f, "{} [{unit}]", self.name),
        }
    }
}

/// Turns samples of a model into rows of numbers.
#[derive(Debug)]
pub struct Columns<'m> {
    model: &'m Model,
    all: Vec<Column>,
    poses: Vec<Pose>,
    twists: Vec<Twist>,
}

const XYZ: [&str; 3] = [".x", ".y", ".z"];
const ENERGY: [&str; 7] =
    ["initial", "kinetic", "potential", "work", "dissipation", "impact_loss", "integrator_error"];

impl<'m> Columns<'m> {
    /// The columns of a model: time, bodies, points, markers, joints, energy, gaps.
    pub fn new(model: &'m Model) -> Self {
        let mut columns = Vec::new();
        let mut add = |name: String, parts: &[&str], unit: &'static str| {
            columns.extend(parts.iter().map(|part| Column { name: format!("{name}{part}"), unit }));
        };
        add("time".to_owned(), &[""], "s");
        for body in model.bodies.iter().filter(|body| body.kind == BodyKind::Rigid) {
            let name = &body.name;
            add(format!("body.{name}.position"), &XYZ, "m");
            add(format!("body.{name}.rotation"), &[".w", ".x", ".y", ".z"], "");
            add(format!("body.{name}.velocity"), &XYZ, "m/s");
            add(format!("body.{name}.angular_velocity"), &XYZ, "rad/s");
        }
        let points = model.bodies.iter().filter(|body| body.kind == BodyKind::Point);
        let points = points.map(|body| ("point", &body.name));
        for (what, name) in points.chain(model.markers.iter().map(|m| ("marker", &m.name))) {
            add(format!("{what}.{name}.position"), &XYZ, "m");
            add(format!("{what}.{name}.velocity"), &XYZ, "m/s");
        }
        for joint in &model.joints {
            let name = &joint.name;
            for (which, coordinate) in joint.kind.equations().coordinates().iter().enumerate() {
                let [unit, rate] = model.coordinate_units(joint, which);
                add(format!("joint.{name}.coordinate."), &[coordinate.name], unit);
                add(format!("joint.{name}.velocity."), &[coordinate.name], rate);
            }
            add(format!("joint.{name}.force"), &XYZ, "N");
            add(format!("joint.{name}.torque"), &XYZ, "N m");
        }
        add("energy.".to_owned(), &ENERGY, "J");
        for block in &model.rows {
            // Equations have the unit that their author gave them.
            let unit = if matches!(block.kind, RowKind::Joint(_)) { "m" } else { "" };
            add(format!("worst_gap.{}", block.name), &[""], unit);
        }
        Columns {
            model,
            all: columns,
            poses: vec![Pose::identity(); model.n_bodies()],
            twists: vec![Twist::zero(); model.n_bodies()],
        }
    }

    /// The columns in order.
    pub fn columns(&self) -> &[Column] {
        &self.all
    }

    /// Writes the numbers of a sample. (columns)
    pub fn row(&mut self, sample: &Sample<'_>, row: &mut Vec<f64>) -> Result<(), ExportError> {
        let Columns { model, all, poses, twists } = self;
        check(model, sample)?;
        let state = sample.state;
        state.write_poses(poses);
        state.write_twists(twists);
        let at = Instant { t: state.t, poses, twists, coordinates: &state.coordinate };
        row.clear();
        row.push(state.t);
        let of_kind =
            |kind| model.bodies.iter().enumerate().filter(move |(_, body)| body.kind == kind);
        for (i, body) in of_kind(BodyKind::Rigid) {
            let q = state.rot[i] * body.frame_rot;
            let twist = body.frame_twist(&poses[i], &twists[i]);
            vector(row, &body.frame_pose(&poses[i]).s);
            row.extend([q.w, q.i, q.j, q.k]);
            vector(row, &twist.s_dot);
            vector(row, &twist.omega);
        }
        for (i, _) in of_kind(BodyKind::Point) {
            vector(row, &state.s[i]);
            vector(row, &state.s_dot[i]);
        }
        for marker in &model.markers {
            vector(row, &marker.vector.value(&at));
            vector(row, &marker.vector.rate(&at));
        }
        for ((id, joint), reaction) in (0u32..).zip(&model.joints).zip(sample.reactions) {
            for which in 0..joint.kind.equations().coordinates().len() {
                row.push(model.joint_coordinate(JointId(id), which, &at));
                row.push(model.joint_velocity(JointId(id), which, &at));
            }
            vector(row, &reaction.force);
            vector(row, &reaction.torque);
        }
        let ledger = &sample.ledger;
        row.extend([ledger.initial, ledger.kinetic, ledger.potential, ledger.work]);
        row.extend([ledger.dissipation, ledger.impact_loss, ledger.integrator_error()]);
        row.extend_from_slice(sample.worst_gaps);
        debug_assert_eq!(row.len(), all.len());
        Ok(())
    }
}

fn vector(row: &mut Vec<f64>, v: &Vec3) {
    row.extend([v.x, v.y, v.z]);
}

/// Refuses samples whose lists are not as long as the model's.
pub(super) fn check(model: &Model, sample: &Sample<'_>) -> Result<(), ExportError> {
    let state = sample.state;
    let n = model.n_bodies();
    for (what, found, expected) in [
        ("bodies", state.s.len(), n),
        ("velocities", state.s_dot.len(), n),
        ("rotations", state.rot.len(), n),
        ("angular velocities", state.omega.len(), n),
        ("joint coordinates", state.coordinate.len(), model.n_coordinates()),
        ("joint reactions", sample.reactions.len(), model.joints.len()),
        ("gaps", sample.worst_gaps.len(), model.rows.len()),
    ] {
        if found != expected {
            return Err(ExportError::OtherModel {
                model: model.name.clone(),
                what: format!("{found} {what} instead of {expected}"),
            });
        }
    }
    Ok(())
}
