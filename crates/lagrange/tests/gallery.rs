//! Every model of the gallery: accelerations from Lagrange's equations against those of its rows and masses, which share no
//! code with them.

use gelenk_lagrange::{Options, from_model};
use gelenk_model::force::ForceContext;
use gelenk_model::math::Vec3;
use gelenk_model::{Instant, LoadOptions, Loaded, Model, Pose, State, Twist, Wrench, load_text};
use gelenk_scenes::SCENES;
use nalgebra::{DMatrix, DVector};

fn load(name: &str, text: &str) -> Loaded {
    // A hundred links are beyond the limit of the recursive form; ten are as good.
    let overrides = match name {
        "chain-100" => vec![("n".to_owned(), "10".to_owned())],
        _ => Vec::new(),
    };
    load_text(name, text, &LoadOptions { overrides, ..LoadOptions::default() })
        .unwrap_or_else(|e| panic!("{name}: {e:?}"))
}

/// v̇ = [s̈ ω̇] of all bodies from M v̇ = f + Jᵀ λ, J v̇ = γ.
fn truth(model: &Model, state: &State) -> Vec<(Vec3, Vec3)> {
    let n = model.n_bodies();
    let (mut poses, mut twists) = (vec![Pose::identity(); n], vec![Twist::zero(); n]);
    state.write_poses(&mut poses);
    state.write_twists(&mut twists);
    let at = Instant { t: state.t, poses: &poses, twists: &twists, coordinates: &state.coordinate };
    let mut work = model.work();
    let mut signals = vec![0.0; model.signals.n];
    model.signals.evaluate(model, &at, &mut work, &mut signals);
    let mut wrench = vec![Wrench::zero(); n];
    let context = ForceContext { model, at, signals: &signals };
    for force in &model.forces {
        force.kind.law().add_wrench(&context, &mut wrench);
    }
    // M⁻¹ f with f = weight, loads and −ω × J̃ ω.
    let mut free = DVector::zeros(6 * n);
    let mut inverse = vec![];
    for i in 0..n {
        let body = &model.bodies[i];
        let inertia_inv = body.inertia_inv_world(&poses[i].rot);
        inverse.push((body.mass_inv, inertia_inv));
        let omega = twists[i].omega;
        let local = poses[i].rot.transpose() * omega;
        let spin = poses[i].rot * body.inertia.component_mul(&local);
        let torque = wrench[i].torque - omega.cross(&spin);
        let mut force = wrench[i].force;
        if !body.fixed {
            force += body.mass * model.gravity;
        }
        free.fixed_rows_mut::<3>(6 * i).copy_from(&(force * body.mass_inv));
        free.fixed_rows_mut::<3>(6 * i + 3).copy_from(&(inertia_inv * torque));
    }
    let blocks: Vec<_> = model.rows.iter().filter(|b| !b.is_bound()).collect();
    let rows: usize = blocks.iter().map(|b| b.n_rows).sum();
    if rows == 0 {
        return (0..n)
            .map(|i| {
                (
                    free.fixed_rows::<3>(6 * i).into_owned(),
                    free.fixed_rows::<3>(6 * i + 3).into_owned(),
                )
            })
            .collect();
    }
    let mut jac = DMatrix::zeros(rows, 6 * n);
    let mut gamma = DVector::zeros(rows);
    let mut first = 0;
    for block in blocks {
        let width = 6 * block.bodies.len();
        let mut j = vec![0.0; block.n_rows * width];
        let mut g = vec![0.0; block.n_rows];
        block.jacobian(model, &at, &mut work, &mut j);
        block.gamma(model, &at, &mut work, &mut g);
        for r in 0..block.n_rows {
            gamma[first + r] = g[r];
            for (slot, body) in block.bodies.iter().enumerate() {
                for k in 0..6 {
                    jac[(first + r, 6 * body.index() + k)] += j[r * width + 6 * slot + k];
                }
            }
        }
        first += block.n_rows;
    }
    let mut minv_jt = DMatrix::zeros(6 * n, rows);
    for r in 0..rows {
        for (i, (m, inertia)) in inverse.iter().enumerate() {
            let a = Vec3::new(jac[(r, 6 * i)], jac[(r, 6 * i + 1)], jac[(r, 6 * i + 2)]) * *m;
            let b =
                inertia * Vec3::new(jac[(r, 6 * i + 3)], jac[(r, 6 * i + 4)], jac[(r, 6 * i + 5)]);
            for k in 0..3 {
                minv_jt[(6 * i + k, r)] = a[k];
                minv_jt[(6 * i + 3 + k, r)] = b[k];
            }
        }
    }
    let k = &jac * &minv_jt;
    let right = gamma - &jac * &free;
    // K may be singular where rows are redundant: by its eigenvectors, refined once.
    let eigen = k.clone().symmetric_eigen();
    let floor = 1e-11 * eigen.eigenvalues.amax();
    let solve = |b: &DVector<f64>| {
        let mut c = eigen.eigenvectors.tr_mul(b);
        for (c, w) in c.iter_mut().zip(eigen.eigenvalues.iter()) {
            *c = if w.abs() > floor { *c / w } else { 0.0 };
        }
        &eigen.eigenvectors * c
    };
    let mut lambda = solve(&right);
    for _ in 0..2 {
        let left = &right - &k * &lambda;
        lambda += solve(&left);
    }
    let v_dot = free + minv_jt * lambda;
    (0..n)
        .map(|i| {
            (
                v_dot.fixed_rows::<3>(6 * i).into_owned(),
                v_dot.fixed_rows::<3>(6 * i + 3).into_owned(),
            )
        })
        .collect()
}

/// A sequence of numbers in (−1, 1), the same every time.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        #[allow(clippy::cast_precision_loss)]
        let x = (self.0 >> 11) as f64 / (1u64 << 53) as f64;
        2.0 * x - 1.0
    }
}

/// Models that begin in a singular position, where accelerations are not unique.
const SINGULAR_STARTS: [&str; 2] = ["eight-loop-flat", "eight-loop-paper"];

fn check(name: &str, text: &str) {
    let loaded = load(name, text);
    let mut system = from_model(&loaded).unwrap_or_else(|e| panic!("{name}: {e}"));
    let numeric = system.numeric(&loaded.model).unwrap_or_else(|e| panic!("{name}: {e}"));
    // The closed form, where it is of a readable size.
    let options = Options { products: 200_000, terms: 4_000, ..Options::default() };
    let equations = system.derive(&options).unwrap_or_else(|e| panic!("{name}: {e}"));
    let (q0, qd0) = numeric.read_state(&loaded.model, &loaded.model.start);
    let mut noise = Noise(2003);
    let mut worst: f64 = 0.0;
    for trial in 0..4 {
        let mut q = q0.clone();
        let mut qd = qd0.clone();
        let t = if trial == 0 { 0.0 } else { 0.1 * f64::from(trial) };
        if trial > 0 {
            for (x, v) in q.iter_mut().zip(&mut qd) {
                *x += 0.1 * noise.next();
                *v += 0.3 * noise.next();
            }
        }
        numeric.project(&mut q, &mut qd, t);
        let mut state = loaded.model.start.clone();
        numeric.write_state(&q, &qd, t, &mut state);
        if trial == 0 {
            for (i, body) in loaded.model.bodies.iter().enumerate() {
                if body.fixed {
                    continue;
                }
                let start = &loaded.model.start;
                let gap = (state.s[i] - start.s[i]).norm();
                assert!(gap < 1e-8, "{name}: `{}` starts {gap:e} m off", body.name);
                let gap = (state.s_dot[i] - start.s_dot[i]).norm();
                assert!(gap < 1e-7, "{name}: `{}` starts {gap:e} m/s off", body.name);
                if body.inertia.min() > 0.0 {
                    let turn = state.rot[i].angle_to(&start.rot[i]);
                    assert!(turn < 1e-7, "{name}: `{}` starts {turn:e} rad off", body.name);
                }
            }
        }
        if trial == 0 && SINGULAR_STARTS.contains(&name) {
            continue;
        }
        let qdd = numeric.accelerations(&q, &qd, t);
        if let Some(values) = equations.evaluate(&q, &qd, t, &[]) {
            let closed = values.qdd.unwrap_or_else(|| panic!("{name}: the metric is singular"));
            let size = qdd.iter().fold(1.0, |a: f64, b| a.max(b.abs()));
            for (k, (x, y)) in closed.iter().zip(&qdd).enumerate() {
                let error = (x - y).abs() / size;
                assert!(
                    error < 1e-9,
                    "{name}, trial {trial}: q{} of the closed form is {x}, not {y}",
                    k + 1
                );
            }
        }
        let ours = numeric.body_accelerations(&q, &qd, &qdd, t);
        let want = truth(&loaded.model, &state);
        let size = want.iter().map(|(a, _)| a.norm()).fold(1.0, f64::max);
        for (body, twist) in ours {
            let about = &loaded.model.bodies[body];
            let mut error = (twist.s_dot - want[body].0).norm() / size;
            if about.inertia.min() > 0.0 {
                let spin = want[body].1.norm().max(size);
                error = error.max((twist.omega - want[body].1).norm() / spin);
            }
            worst = worst.max(error);
            assert!(
                error < 1e-9,
                "{name}, trial {trial}: `{}` is off by {error:e}: {:?} instead of {:?}",
                about.name,
                twist,
                want[body]
            );
        }
    }
    #[expect(clippy::print_stderr, reason = "sizes and errors, for who looks")]
    {
        eprintln!(
            "{name}: {} coordinates, {} rows, worst {worst:.1e}, {} operations, closed {:?}",
            q0.len(),
            numeric.n_rows(),
            numeric.tape.n_operations(),
            equations.closed.map(|c| c.operations)
        );
    }
}

#[test]
fn recursive_form_agrees_with_the_rows() {
    let only = std::env::var("SCENE").ok();
    let mut failures = Vec::new();
    for scene in SCENES {
        if only.as_deref().is_some_and(|name| name != scene.name) {
            continue;
        }
        if scene.name == "rope-bridge" {
            continue; // ropes have no equations of motion; see the test of refusals
        }
        if load(scene.name, scene.text).model.bodies.iter().any(|body| body.contact.collide) {
            continue; // nor has contact
        }
        if std::panic::catch_unwind(|| check(scene.name, scene.text)).is_err() {
            failures.push(scene.name);
        }
    }
    assert!(failures.is_empty(), "{failures:?}");
}
