//! A state of one model taken over to the same mechanism with other numbers.

use gelenk::model::assemble::assemble_from;
use gelenk::model::{AssembleOptions, BodyId, Model, Outcome, State};

/// The state of `old` as one of `new`: every body keeps place and motion of its file frame, then joints that no longer
/// close are closed with least movement. `None` where the two do not match or cannot be closed.
pub(crate) fn carry(old: &Model, new: &Model, state: &State) -> Option<State> {
    let fits = old.n_bodies() == new.n_bodies()
        && old.joints.len() == new.joints.len()
        && state.impulse.len() == new.start.impulse.len()
        && state.coordinate.len() == new.start.coordinate.len()
        && state.held.len() == new.start.held.len();
    if !fits {
        return None;
    }
    let mut out = state.clone();
    for (i, (before, after)) in (0_u32..).zip(old.bodies.iter().zip(&new.bodies)) {
        let (id, i) = (BodyId(i), i as usize);
        if after.fixed {
            // What stands still stands where its file says.
            (out.s[i], out.rot[i]) = (new.start.s[i], new.start.rot[i]);
            continue;
        }
        let (pose, twist) = (state.pose(id), state.twist(id));
        let place = before.frame_pose(&pose).s;
        let speed = before.frame_twist(&pose, &twist).s_dot;
        let rot = state.rot[i] * before.frame_rot * after.frame_rot.inverse();
        let lever = rot * after.frame_origin;
        out.rot[i] = rot;
        out.s[i] = place - lever;
        out.s_dot[i] = speed - state.omega[i].cross(&lever);
    }
    let report = assemble_from(new, &out, &AssembleOptions::default());
    match report.outcome {
        Outcome::Closed => Some(report.state),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use gelenk::model::{LoadOptions, load_text};

    use super::*;

    fn four_bar(crank: &str) -> Model {
        let text = gelenk::scenes::scene("four-bar").expect("in the gallery").text;
        let overrides = vec![("crank".to_owned(), crank.to_owned())];
        let options = LoadOptions { overrides, ..LoadOptions::default() };
        load_text("four-bar", text, &options).expect("a model").model
    }

    #[test]
    fn a_longer_crank_is_closed_again_near_where_it_was() {
        let (old, new) = (four_bar("0.4"), four_bar("0.42"));
        let state = carry(&old, &new, &old.start).expect("it closes");
        let moved = state.s.iter().zip(&old.start.s).map(|(a, b)| (a - b).norm());
        assert!(moved.fold(0.0, f64::max) < 0.1);
        let simulation = gelenk_impulse::Simulation::from_state(&new, &new.run, state);
        simulation.expect("it runs").step().expect("a step");
        let other = load_text(
            "pendulum",
            gelenk::scenes::scene("pendulum").expect("in the gallery").text,
            &LoadOptions::default(),
        );
        assert!(carry(&old, &other.expect("a model").model, &old.start).is_none());
    }
}
