//! Inconsistent start values: the examples of [Laufen] chapter II.

use gelenk_dae::descriptor::{Descriptor, DescriptorError};
use gelenk_dae::polynomial::Polynomial;
use gelenk_dae::relax::{
    Norm, Relaxation, inconsistent_part, initial_projection, integrate, mixed_part,
    with_added_variables,
};
use gelenk_ode::Options;

fn options() -> Options {
    Options { max_steps: 20_000, ..Options::with_tolerance(1e-12) }
}

/// Example 2: one coordinate, g = h(p² − 1), no force.
fn point(h: impl Fn(&Polynomial) -> Polynomial) -> Descriptor<'static> {
    let p = Polynomial::variable(0);
    let g = &p.power(2) - &Polynomial::constant(1.0);
    Descriptor { mass: vec![2.0], g: vec![h(&g)], force: Box::new(|_, _, _, out| out.fill(0.0)) }
}

fn plain() -> Descriptor<'static> {
    point(Clone::clone)
}

/// p = √(p0² + 2 p0 v0 t) outward; inward the run ends where p = 0, at t = −p0/(2 v0).
#[test]
fn linear_relaxation_runs_into_the_singularity() {
    let system = plain();
    for p0 in [1.0_f64, 0.6] {
        let v0 = 0.4;
        let (p, v) =
            integrate(&system, &Relaxation::Linear, (0.0, &[p0], &[v0]), 2.0, &options()).unwrap();
        let exact = (p0 * p0 + 2.0 * p0 * v0 * 2.0).sqrt();
        assert!((p[0] - exact).abs() < 1e-10, "{} {exact}", p[0]);
        assert!((v[0] - p0 * v0 / exact).abs() < 1e-10);

        let v0 = -0.4;
        let end = -p0 / (2.0 * v0);
        let before = 0.999 * end;
        let (p, _) =
            integrate(&system, &Relaxation::Linear, (0.0, &[p0], &[v0]), before, &options())
                .unwrap();
        assert!((p[0] - (p0 * p0 + 2.0 * p0 * v0 * before).sqrt()).abs() < 1e-9);
        let failed =
            integrate(&system, &Relaxation::Linear, (0.0, &[p0], &[v0]), 2.0 * end, &options());
        let Err(DescriptorError::Integrator(error)) = failed else { panic!("{failed:?}") };
        let t = match error {
            gelenk_ode::Error::StepTooSmall { t, .. }
            | gelenk_ode::Error::NoValue { t }
            | gelenk_ode::Error::TooManySteps { t, .. }
            | gelenk_ode::Error::Crawls { t, .. } => t,
            other => panic!("{other}"),
        };
        assert!((t - end).abs() < 1e-6, "{t} {end}");
    }
}

/// g(p(t)) follows its target, and dies away with α where it does not meet the singularity.
#[test]
fn baumgarte_relaxation_returns_to_the_conditions() {
    let system = plain();
    let (alpha, p0, v0) = (8.0_f64, 1.1_f64, -0.2_f64);
    let relaxation = Relaxation::Baumgarte { alpha };
    for t in [0.1_f64, 0.5, 4.0] {
        let (p, _) = integrate(&system, &relaxation, (0.0, &[p0], &[v0]), t, &options()).unwrap();
        let (g, g_dot) = (p0 * p0 - 1.0, 2.0 * p0 * v0);
        let target =
            (g + (g_dot + alpha * g) * t + (alpha * g_dot + 0.5 * alpha * alpha * g) * t * t)
                * (-alpha * t).exp();
        assert!((p[0] * p[0] - 1.0 - target).abs() < 1e-10, "{t}");
    }
    let (p, v) = integrate(&system, &relaxation, (0.0, &[p0], &[v0]), 6.0, &options()).unwrap();
    assert!((p[0] - 1.0).abs() < 1e-12 && v[0].abs() < 1e-12, "{p:?} {v:?}");
    // Small p and a large inward v: too slow an α meets the singularity, a faster one turns back before it.
    let run = |alpha| {
        integrate(
            &system,
            &Relaxation::Baumgarte { alpha },
            (0.0, &[0.5], &[-1.0]),
            5.0,
            &options(),
        )
    };
    assert!(run(1.0).is_err());
    let (p, _) = run(20.0).unwrap();
    assert!((p[0] - 1.0).abs() < 1e-9, "{p:?}");
}

/// p = p0 + v0 t for every p0 ≠ 0, and the same for g, g³ + 2g and 5g − g².
#[test]
fn orthogonal_relaxation_goes_straight_on_whatever_the_form() {
    let forms: [Descriptor<'static>; 3] =
        [plain(), point(|g| &g.power(3) + &g.scaled(2.0)), point(|g| &g.scaled(5.0) - &g.power(2))];
    for system in &forms {
        for p0 in [1.0, -0.3, 0.05, 2.0] {
            for v0 in [-1.0, 0.7] {
                let start = (0.5, &[p0][..], &[v0][..]);
                let (p, v) =
                    integrate(system, &Relaxation::Orthogonal, start, 3.5, &options()).unwrap();
                assert!((p[0] - (p0 + 3.0 * v0)).abs() < 1e-10, "{p0} {v0} {p:?}");
                assert!((v[0] - v0).abs() < 1e-10);
            }
        }
    }
    // Started in the loss of rank there is no relaxation.
    let stuck =
        integrate(&plain(), &Relaxation::Orthogonal, (0.0, &[0.0], &[1.0]), 1.0, &options());
    assert!(matches!(stuck, Err(DescriptorError::Singular)));
}

/// Example 3: M1 on the unit circle, M2 at distance 1 from it.
fn two_masses() -> Descriptor<'static> {
    let [x1, y1, x2, y2] = [0, 1, 2, 3].map(Polynomial::variable);
    let one = Polynomial::constant(1.0);
    let square = |a: &Polynomial, b: &Polynomial| &a.power(2) + &b.power(2);
    Descriptor {
        mass: vec![1.0; 4],
        g: vec![&square(&x1, &y1) - &one, &square(&(&x1 - &x2), &(&y1 - &y2)) - &one],
        force: Box::new(|_, _, _, out| out.fill(0.0)),
    }
}

#[test]
fn mixed_coordinates_keep_what_must_stay() {
    let system = two_masses();
    let (p, v) = ([0.0, 1.0, 1.0, 1.0], [1.0, 0.0, -1.0, 0.0]);
    let whole = inconsistent_part(&system, &p, &v).unwrap();
    for (found, expected) in whole.iter().zip([1.0, 0.0, -1.0, 0.0]) {
        assert!((found - expected).abs() < 1e-14, "{whole:?}");
    }
    let part = mixed_part(&system, &p, &v, &[0, 1]).unwrap();
    for (found, expected) in part.iter().zip([0.0, 0.0, -2.0, 0.0]) {
        assert!((found - expected).abs() < 1e-14, "{part:?}");
    }
    // M1 stays on its circle all the way; with the plain orthogonal relaxation it does not.
    let start = (0.0, &p[..], &v[..]);
    let mixed = Relaxation::Mixed { kept: vec![0, 1] };
    let (p_mixed, _) = integrate(&system, &mixed, start, 0.25, &options()).unwrap();
    assert!((p_mixed[0].hypot(p_mixed[1]) - 1.0).abs() < 1e-11, "{p_mixed:?}");
    let (p_plain, _) =
        integrate(&system, &Relaxation::Orthogonal, start, 0.25, &options()).unwrap();
    assert!((p_plain[0] - 0.25).abs() < 1e-11 && (p_plain[1] - 1.0).abs() < 1e-11, "{p_plain:?}");
    // All of them cannot stay.
    let impossible = mixed_part(&system, &p, &v, &[0, 1, 2, 3]);
    assert!(matches!(impossible, Err(DescriptorError::Contradiction | DescriptorError::Singular)));
}

/// Example 5 in p and z: from p = 0, where p² − 1 has lost its rank, the run goes on, and p stays by symmetry (remark 7).
#[test]
fn added_variables_have_full_rank_everywhere() {
    for pull in [false, true] {
        let system = with_added_variables(plain(), pull);
        let (g, jac) = (system.value(&[0.0, 0.0]), system.jacobian(&[0.0, 0.0]));
        assert!((g[0] + 1.0).abs() < 1e-15);
        assert_eq!((jac[(0, 0)], jac[(0, 1)]), (0.0, 1.0));
        for relaxation in [Relaxation::Linear, Relaxation::Baumgarte { alpha: 1.0 }] {
            let start = (0.0, &[0.0, 0.0][..], &[0.0, 0.0][..]);
            let (p, _) = integrate(&system, &relaxation, start, 0.5, &options()).unwrap();
            assert!(p[0].abs() < 1e-12, "{p:?}");
        }
        // Through p = 0, where the linear relaxation alone breaks down.
        let start = (0.0, &[1.0, 0.0][..], &[-0.4, 0.0][..]);
        let linear = integrate(&system, &Relaxation::Linear, start, 1.0, &options());
        assert!(linear.is_ok(), "{linear:?}");
        // Where all is consistent z does not move.
        let start = (0.0, &[1.0, 0.0][..], &[0.0, 0.0][..]);
        let (p, v) = integrate(&system, &Relaxation::Linear, start, 2.0, &options()).unwrap();
        assert!((p[0] - 1.0).abs() < 1e-12 && p[1].abs() < 1e-12 && v[1].abs() < 1e-12);
    }
    // Example 4: (a − b)(c − d) − 1 in its loss of rank a = b, c = d.
    let [a, b, c, d] = [0, 1, 2, 3].map(Polynomial::variable);
    let g = &(&(&a - &b) * &(&c - &d)) - &Polynomial::constant(1.0);
    let system = Descriptor {
        mass: vec![1.0; 4],
        g: vec![g],
        force: Box::new(|_, _, _, out| out.fill(0.0)),
    };
    let lost = [0.3, 0.3, -1.0, -1.0];
    assert!(inconsistent_part(&system, &lost, &[0.0; 4]).is_err());
    let system = with_added_variables(system, false);
    let start = (0.0, &[0.3, 0.3, -1.0, -1.0, 0.0][..], &[0.1, -0.1, 0.2, 0.0, 0.0][..]);
    assert!(integrate(&system, &Relaxation::Linear, start, 0.3, &options()).is_ok());
}

/// Π: on the conditions, the identity there, and blind to moves along A⁻¹Gᵀ (remark 9).
#[test]
fn initial_projection_is_a_projection() {
    let system = Descriptor { mass: vec![1.0, 1.0, 3.0, 3.0], ..two_masses() };
    let (p0, v0) = ([0.05, 1.02, 0.97, 1.1], [0.9, 0.1, 0.5, -0.2]);
    for norm in [Norm::Mass, Norm::Unit] {
        let (p, v) = initial_projection(&system, &p0, &v0, norm).unwrap();
        let g = system.value(&p);
        let g_vel = system.jacobian(&p) * nalgebra::DVector::from_column_slice(&v);
        assert!(g.amax() < 1e-14 && g_vel.amax() < 1e-14, "{g} {g_vel}");
        let (p_again, v_again) = initial_projection(&system, &p, &v, norm).unwrap();
        for (a, b) in p.iter().chain(&v).zip(p_again.iter().chain(&v_again)) {
            assert!((a - b).abs() < 1e-14);
        }
        let weight = |i: usize| if norm == Norm::Mass { 1.0 / system.mass[i] } else { 1.0 };
        let normal =
            system.jacobian(&p).transpose() * nalgebra::DVector::from_vec(vec![0.01, -0.02]);
        let (mut p_moved, mut v_moved) = (p0.to_vec(), v0.to_vec());
        for i in 0..4 {
            p_moved[i] += weight(i) * normal[i];
            v_moved[i] += 3.0 * weight(i) * normal[i];
        }
        let (p_same, v_same) = initial_projection(&system, &p_moved, &v_moved, norm).unwrap();
        for (a, b) in p.iter().chain(&v).zip(p_same.iter().chain(&v_same)) {
            assert!((a - b).abs() < 1e-13, "{norm:?} {a} {b}");
        }
    }
    // A = E: the nearest point of the circle.
    let circle = |x: f64, y: f64| {
        let [a, b] = [0, 1].map(Polynomial::variable);
        let g = &(&a.power(2) + &b.power(2)) - &Polynomial::constant(1.0);
        let force: gelenk_dae::descriptor::Force<'static> = Box::new(|_, _, _, out| out.fill(0.0));
        let system = Descriptor { mass: vec![1.0; 2], g: vec![g], force };
        initial_projection(&system, &[x, y], &[0.0, 0.0], Norm::Unit)
    };
    let (p, _) = circle(3.0, 4.0).unwrap();
    assert!((p[0] - 0.6).abs() < 1e-14 && (p[1] - 0.8).abs() < 1e-14, "{p:?}");
    // In the centre nothing is nearest.
    assert!(circle(0.0, 0.0).is_err());
}
