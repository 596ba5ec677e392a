//! Loading for tests.

use gelenk_model::math::Vec3;
use gelenk_model::signal::Work;
use gelenk_model::{Instant, LoadOptions, Loaded, Model, Pose, Severity, Twist, load_text};

pub(crate) fn load(text: &str) -> Loaded {
    load_with(text, &LoadOptions::default())
}

pub(crate) fn load_with(text: &str, options: &LoadOptions) -> Loaded {
    load_text("test.toml", text, options).unwrap_or_else(|faults| panic!("{faults}"))
}

pub(crate) fn set(overrides: &[(&str, &str)]) -> LoadOptions {
    let overrides = overrides.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    LoadOptions { overrides, ..LoadOptions::default() }
}

/// Codes of all faults of a model, in order.
pub(crate) fn faults(text: &str) -> Vec<&'static str> {
    faults_with(text, &LoadOptions::default())
}

pub(crate) fn faults_with(text: &str, options: &LoadOptions) -> Vec<&'static str> {
    match load_text("test.toml", text, options) {
        Ok(_) => Vec::new(),
        Err(faults) => {
            let errors = faults.list.iter().filter(|d| d.severity == Severity::Error);
            errors.map(|d| d.code).collect()
        }
    }
}

#[track_caller]
pub(crate) fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-12 * (1.0 + a.abs().max(b.abs())), "{a} is not {b}");
}

#[track_caller]
pub(crate) fn close_vec(a: Vec3, b: [f64; 3]) {
    assert!((a - Vec3::from(b)).norm() <= 1e-12 * (1.0 + a.norm()), "{a:?} is not {b:?}");
}

/// The model's start as an instant at time t.
pub(crate) fn at_start<T>(
    model: &Model,
    t: f64,
    f: impl FnOnce(&Instant<'_>, &mut Work) -> T,
) -> T {
    let mut poses = vec![Pose::identity(); model.n_bodies()];
    let mut twists = vec![Twist::zero(); model.n_bodies()];
    model.start.write_poses(&mut poses);
    model.start.write_twists(&mut twists);
    let at = Instant { t, poses: &poses, twists: &twists, coordinates: &model.start.coordinate };
    f(&at, &mut model.work())
}

/// Values of all signals at the start.
pub(crate) fn signals(model: &Model, t: f64) -> Vec<f64> {
    let mut values = vec![0.0; model.signals.n];
    at_start(model, t, |at, work| model.signals.evaluate(model, at, work, &mut values));
    values
}

/// Largest error of all rows at the start.
pub(crate) fn worst_gap(model: &Model) -> f64 {
    at_start(model, 0.0, |at, work| {
        let mut worst = 0.0_f64;
        for block in &model.rows {
            let mut c = vec![0.0; block.n_rows];
            block.error(model, at, work, &mut c);
            worst = c.iter().fold(worst, |w, x| w.max(x.abs()));
        }
        worst
    })
}

/// Place of a body's file frame at the start.
pub(crate) fn place(model: &Model, name: &str) -> Pose {
    let id = model.body(name).unwrap_or_else(|| panic!("no body {name}"));
    model.bodies[id.index()].frame_pose(&model.start.pose(id))
}
