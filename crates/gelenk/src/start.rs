//! Start values: a state written down so that a model file can begin there; and inputs that take values.

use std::fmt::Write;

use gelenk_model::math::Vec3;
use gelenk_model::{BodyId, BodyKind, Model, State};
use serde_json::{Map, Value, json};

/// The line that start values written by [`with_start`] begin with; they reach to the end of the file.
pub const START_MARK: &str = "# Start values by `gelenk assemble`; they replace those given above.";

/// The model's text with `[[start]]` entries that begin at `state`.
///
/// Bodies whose start is as the text has it are left out. The text itself stays as it is, comments and expressions
/// included; entries that were written so before are replaced.
pub fn with_start(text: &str, model: &Model, state: &State) -> String {
    let mark = text.find(START_MARK);
    let mut out = text[..mark.unwrap_or(text.len())].trim_end().to_owned();
    let _ = write!(out, "\n\n{START_MARK}\n");
    for (i, body) in model.bodies.iter().enumerate() {
        let same = mark.is_none()
            && state.s[i] == model.start.s[i]
            && state.rot[i] == model.start.rot[i]
            && state.s_dot[i] == model.start.s_dot[i]
            && state.omega[i] == model.start.omega[i];
        if body.kind == BodyKind::World || body.fixed || same {
            continue;
        }
        let place = file_frame(model, state, i);
        let _ = write!(
            out,
            "[[start]]\nbody = \"{}\"\nposition = {}\nvelocity = {}\n",
            body.name,
            list(place.position.as_slice()),
            list(place.velocity.as_slice())
        );
        if body.kind == BodyKind::Rigid {
            let _ = write!(
                out,
                "rotation = {}\nangular_velocity = {}\n",
                list(&place.rotation),
                list(place.angular_velocity.as_slice())
            );
        }
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// All bodies and points of a state, by name, in the file frame.
pub fn start_json(model: &Model, state: &State) -> Value {
    let (mut bodies, mut points) = (Map::new(), Map::new());
    for (i, body) in model.bodies.iter().enumerate() {
        let place = file_frame(model, state, i);
        let (position, velocity) = (place.position.as_slice(), place.velocity.as_slice());
        match body.kind {
            BodyKind::World => {}
            BodyKind::Point => {
                let entry = json!({ "position": position, "velocity": velocity });
                points.insert(body.name.clone(), entry);
            }
            BodyKind::Rigid => {
                let entry = json!({
                    "position": position,
                    "rotation": place.rotation,
                    "velocity": velocity,
                    "angular_velocity": place.angular_velocity.as_slice(),
                });
                bodies.insert(body.name.clone(), entry);
            }
        }
    }
    json!({ "time": state.t, "bodies": bodies, "points": points })
}

/// Place and motion of a body's file frame.
struct Place {
    position: Vec3,
    /// w, x, y, z.
    rotation: [f64; 4],
    velocity: Vec3,
    angular_velocity: Vec3,
}

fn file_frame(model: &Model, state: &State, i: usize) -> Place {
    let body = &model.bodies[i];
    let id = BodyId(u32::try_from(i).unwrap_or(u32::MAX));
    let (pose, twist) = (state.pose(id), state.twist(id));
    let q = state.rot[i] * body.frame_rot;
    let twist_frame = body.frame_twist(&pose, &twist);
    Place {
        position: body.frame_pose(&pose).s,
        rotation: [q.w, q.i, q.j, q.k],
        velocity: twist_frame.s_dot,
        angular_velocity: twist_frame.omega,
    }
}

/// Numbers with all their digits, as TOML reads them.
fn list(values: &[f64]) -> String {
    let numbers: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
    format!("[{}]", numbers.join(", "))
}

#[cfg(test)]
mod tests {
    use gelenk_model::{LoadOptions, Loaded, load_text};

    use super::*;

    const TEXT: &str = "# An arm.\n[[body]]\nname = \"arm\"\nmass = 2\ninertia = [0.1, 0.3, 0.2]\n\
                        center_of_mass = [0.5, 0, 0]\nposition = [\"1 + 1\", 0, 0]\n\n\
                        [[point]]\nname = \"p\"\nmass = 1\n";

    fn load(text: &str) -> Loaded {
        load_text("arm", text, &LoadOptions::default()).expect("a good model")
    }

    #[test]
    fn a_written_start_is_read_back() {
        let model = load(TEXT).model;
        let mut state = model.start.clone();
        state.s[1] += Vec3::new(0.1, 0.2, 0.3);
        state.rot[1] = gelenk_model::math::Quat::from_euler_angles(0.3, 0.2, 0.1) * state.rot[1];
        state.omega[1] = Vec3::new(1.0, 2.0, 3.0);
        state.s_dot[1] = Vec3::new(-1.0, 0.5, 0.25);
        let written = with_start(TEXT, &model, &state);
        assert!(written.starts_with(TEXT.trim_end()), "the text stays as it is");
        assert_eq!(written.matches("[[start]]").count(), 1, "the point has not moved: {written}");
        let again = load(&written).model;
        let back = &again.start;
        assert!((back.s[1] - state.s[1]).norm() < 1e-15);
        assert!((back.s_dot[1] - state.s_dot[1]).norm() < 1e-14);
        assert!(back.rot[1].angle_to(&state.rot[1]) < 1e-15);
        assert_eq!(back.omega[1], state.omega[1]);
        // Written once more, the entries are replaced, not added to, and nobody is forgotten.
        let twice = with_start(&written, &again, back);
        assert_eq!(twice.matches(START_MARK).count(), 1);
        assert_eq!(twice.matches("[[start]]").count(), 2);
        let json = start_json(&again, back);
        assert_eq!(json["bodies"]["arm"]["rotation"].as_array().map(Vec::len), Some(4));
        assert!(json["points"]["p"]["rotation"].is_null());
    }
}
