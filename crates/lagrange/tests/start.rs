//! Start velocities that do not fit the joints: those nearest in the norm of kinetic energy, as impulses in the joints make them.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

use gelenk_lagrange::from_model;
use gelenk_model::math::Vec3;
use gelenk_model::{Instant, LoadOptions, Model, Pose, State, Twist, load_text};
use gelenk_scenes::SCENES;
use nalgebra::{DMatrix, DVector};

/// v − M⁻¹Jᵀ (J M⁻¹Jᵀ)⁺ (J v + C_t), from the rows of the model, which share nothing with the derivation.
fn nearest(model: &Model, state: &State) -> Vec<Twist> {
    let n = model.n_bodies();
    let (mut poses, mut twists) = (vec![Pose::identity(); n], vec![Twist::zero(); n]);
    state.write_poses(&mut poses);
    state.write_twists(&mut twists);
    for (twist, _) in twists.iter_mut().zip(&model.bodies).filter(|(_, body)| body.fixed) {
        *twist = Twist::zero();
    }
    let at = Instant { t: state.t, poses: &poses, twists: &twists, coordinates: &state.coordinate };
    let mut work = model.work();
    // L with M⁻¹ = L Lᵀ.
    let mut root = DMatrix::zeros(6 * n, 6 * n);
    for (i, body) in model.bodies.iter().enumerate() {
        for k in 0..3 {
            root[(6 * i + k, 6 * i + k)] = body.mass_inv.sqrt();
            for l in 0..3 {
                root[(6 * i + 3 + k, 6 * i + 3 + l)] =
                    poses[i].rot[(k, l)] * body.inertia_inv[l].sqrt();
            }
        }
    }
    let rows: Vec<_> = model.rows.iter().filter(|block| !block.is_bound()).collect();
    let m: usize = rows.iter().map(|block| block.n_rows).sum();
    let (mut jac, mut open) = (DMatrix::zeros(m, 6 * n), DVector::zeros(m));
    let v = DVector::from_fn(6 * n, |k, _| {
        let twist = &twists[k / 6];
        if k % 6 < 3 { twist.s_dot[k % 6] } else { twist.omega[k % 6 - 3] }
    });
    let mut first = 0;
    for block in rows {
        let width = 6 * block.bodies.len();
        let mut entries = vec![0.0; block.n_rows * width];
        block.jacobian(model, &at, &mut work, &mut entries);
        let mut c_t = vec![0.0; block.n_rows];
        block.time_rate(&at, &mut work, &mut c_t);
        for k in 0..block.n_rows {
            for (slot, body) in block.bodies.iter().enumerate() {
                for e in 0..6 {
                    jac[(first + k, 6 * body.index() + e)] += entries[k * width + 6 * slot + e];
                }
            }
            open[first + k] = c_t[k];
        }
        first += block.n_rows;
    }
    open += &jac * &v;
    let weighted = &jac * &root;
    let svd = weighted.svd(true, true);
    let cut = 1e-9 * svd.singular_values.max();
    let moved = v - root * svd.solve(&open, cut).unwrap();
    let three = |k: usize| Vec3::new(moved[k], moved[k + 1], moved[k + 2]);
    (0..n).map(|i| Twist { s_dot: three(6 * i), omega: three(6 * i + 3) }).collect()
}

#[test]
fn the_projection_is_that_of_the_rows() {
    let mut compared = 0;
    for scene in SCENES {
        let overrides = match scene.name {
            "chain-100" => vec![("n".to_owned(), "5".to_owned())],
            _ => Vec::new(),
        };
        let options = LoadOptions { overrides, ..LoadOptions::default() };
        let loaded = load_text(scene.name, scene.text, &options).unwrap();
        let model = &loaded.model;
        // Ropes that are taut hold only here; thin rods that joints hold are compared as rods.
        let takes = |block: &gelenk_model::RowBlock| !block.is_bound() && !block.one_sided(model);
        let none = model.n_rows() == 0 || !model.held_spins().is_empty();
        if none || !model.rows.iter().all(takes) {
            continue;
        }
        let Ok(mut system) = from_model(&loaded) else { continue };
        let Ok(numeric) = system.numeric(model) else { continue };
        let mut state = model.start.clone();
        for i in 1..model.n_bodies() {
            let phase = i as f64;
            state.s_dot[i] += Vec3::new(phase.sin(), (1.7 * phase).cos(), (2.3 * phase).sin());
            state.omega[i] += Vec3::new((1.1 * phase).cos(), phase.cos(), (0.7 * phase).sin());
        }
        let want = nearest(model, &state);
        let (mut q, mut qd) = numeric.read_state(model, &state);
        numeric.project(&mut q, &mut qd, state.t);
        numeric.fit_velocities(model, &state, &q, &mut qd);
        for (i, _, twist) in numeric.poses(&q, &qd, state.t) {
            let body = &model.bodies[i];
            let off = (twist.s_dot - want[i].s_dot).norm();
            assert!(off < 1e-7, "{}, `{}`: {off:e} m/s", scene.name, body.name);
            // About axes without inertia a velocity means nothing.
            let turn = state.rot[i].inverse_transform_vector(&(twist.omega - want[i].omega));
            for k in (0..3).filter(|k| body.inertia[*k] > 0.0) {
                assert!(
                    turn[k].abs() < 1e-7,
                    "{}, `{}`: {:e} rad/s",
                    scene.name,
                    body.name,
                    turn[k]
                );
            }
        }
        compared += 1;
    }
    assert!(compared >= 20, "{compared}");
}
