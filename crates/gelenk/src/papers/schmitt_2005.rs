//! \[Schmitt, Bender, Prautzsch 2005\]: point masses, linear systems, convergence.

use gelenk_impulse::points::{
    Independent, PointError, PointState, PointSystem, RANK_TOLERANCE, correct_velocities,
    first_system, from_model, independent, newton_step, single_step, taylor_series, taylor_step,
};
use gelenk_model::math::Vec3;

use super::{Claim, Line, Paper, PapersError, failed, gallery, order};
use crate::drift::drift;
use crate::points::point_model;

pub(super) fn claims() -> Result<Vec<Claim>, PapersError> {
    let claim = |place, claim, command, lines| Claim {
        paper: Paper::Schmitt2005,
        place,
        claim,
        command,
        lines,
    };
    Ok(vec![
        claim(
            "section 3",
            "For every system of rigid bodies there is an equivalent one of point masses.",
            "gelenk points heavy-top",
            equivalent()?,
        ),
        claim(
            "section 4",
            "A cuboid of 8 masses and 28 constraints has rank 18; without the redundant ones the matrix is regular.",
            "gelenk drift cuboid",
            cuboid()?,
        ),
        claim(
            "section 5",
            "More than two or three steps of Newton's method are seldom needed; M_h tends to M.",
            "gelenk papers",
            newton().map_err(|e| failed("Newton's method")(&e))?,
        ),
        claim(
            "section 8",
            "x = (h/2) λ₀ + O(h²); the error of a step is O(h³).",
            "gelenk papers",
            strengths().map_err(|e| failed("strengths of impulses")(&e))?,
        ),
        claim(
            "section 8, theorem",
            "One step of Newton's method a time step is enough for convergence.",
            "gelenk papers",
            single().map_err(|e| failed("one Newton step")(&e))?,
        ),
        claim(
            "sections 6 and 9",
            "The Taylor (Lagrange-multiplier) method drifts, the impulse method does not.",
            "gelenk drift spherical-pendulum",
            drifts()?,
        ),
    ])
}

/// Two masses on rods in space, both moving.
fn chain() -> Result<(PointSystem, PointState, Independent), PointError> {
    let mut system = PointSystem::new(Vec3::new(0.0, -9.81, 0.0));
    let points =
        [system.point("O", None), system.point("A", Some(1.0)), system.point("B", Some(2.0))];
    let p = vec![Vec3::zeros(), Vec3::x(), Vec3::new(1.0, 0.0, 1.0)];
    system.distance("OA", points[0], points[1], 1.0)?;
    system.distance("AB", points[1], points[2], 1.0)?;
    let p_dot = vec![Vec3::zeros(), Vec3::new(0.0, 0.8, 0.4), Vec3::new(0.5, -0.6, 0.4)];
    let mut state = PointState { t: 0.0, p, p_dot };
    let set = independent(&system, &state, RANK_TOLERANCE);
    correct_velocities(&system, &mut state, &set)?;
    Ok((system, state, set))
}

fn distance(a: &PointState, b: &PointState) -> f64 {
    a.p.iter().zip(&b.p).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
}

fn equivalent() -> Result<Vec<Line>, PapersError> {
    let what = "equivalent point masses";
    let model = gallery(what, "heavy-top", &[])?.model;
    let points = point_model(&model).map_err(|e| failed(what)(&e))?;
    let mass: f64 = points.points.iter().map(|p| p.mass).sum();
    let bodies: f64 = model.bodies.iter().filter(|b| !b.fixed).map(|b| b.mass).sum();
    Ok(vec![
        Line::near("mass of the points of heavy-top, kg", bodies, mass, 1e-12),
        Line::within(
            "their number (at most 8 q + 8, q = 1)",
            points.points.len() as f64,
            4.0,
            17.0,
        ),
    ])
}

fn cuboid() -> Result<Vec<Line>, PapersError> {
    let what = "cuboid";
    let model = gallery(what, "cuboid", &[])?.model;
    let (system, state) = from_model(&model).map_err(|e| failed(what)(&e))?;
    let set = independent(&system, &state, RANK_TOLERANCE);
    let mut moving = state.clone();
    for (k, v) in moving.p_dot.iter_mut().enumerate() {
        *v += Vec3::new(1.0, -0.5, 0.3) * (k % 3) as f64;
    }
    correct_velocities(&system, &mut moving, &set).map_err(|e| failed(what)(&e))?;
    let set_after = first_system(&system, &moving, &set, 1e-6);
    Ok(vec![
        Line::equal("constraints", 28.0, system.constraints.len() as f64),
        Line::equal("rank", 18.0, set.kept.len() as f64),
        Line::within("smallest pivot of those kept", set.smallest_kept, 1e-3, f64::INFINITY),
        Line::within(
            "determinant of the matrix of those kept is not zero: its size",
            set_after.matrix.determinant().abs(),
            1e-300,
            f64::INFINITY,
        ),
    ])
}

fn newton() -> Result<Vec<Line>, PointError> {
    let (system, mut state, set) = chain()?;
    let start = state.clone();
    let (mut most, mut sum) = (0, 0);
    for _ in 0..100 {
        let solves = newton_step(&system, &mut state, &set, 0.01, 1e-10)?;
        correct_velocities(&system, &mut state, &set)?;
        most = most.max(solves);
        sum += solves;
    }
    let m = first_system(&system, &start, &set, 0.0).matrix;
    let off = |h: f64| (first_system(&system, &start, &set, h).matrix - &m).amax();
    Ok(vec![
        Line::within(
            "solves a step, h = 0.01 s, δ_max = 1e-10 m, mean",
            f64::from(u32::try_from(sum).unwrap_or(u32::MAX)) / 100.0,
            1.0,
            3.0,
        ),
        Line::within(
            "most in a step",
            f64::from(u32::try_from(most).unwrap_or(u32::MAX)),
            1.0,
            4.0,
        ),
        Line::near("power of h with which M_h − M falls", 1.0, order(off(2e-4), off(1e-4)), 0.02),
    ])
}

fn strengths() -> Result<Vec<Line>, PointError> {
    let (system, state, set) = chain()?;
    let lambda = &taylor_series(&system, &state, &set, 1)?.lambda[0];
    let off = |h: f64| -> Result<f64, PointError> {
        let x = first_system(&system, &state, &set, h).solution(state.t)?;
        let rest = set.kept.iter().zip(x.iter()).map(|(&k, x)| (x - 0.5 * h * lambda[k]).abs());
        Ok(rest.fold(0.0, f64::max))
    };
    let error = |h: f64| -> Result<f64, PointError> {
        let (mut ours, mut exact) = (state.clone(), state.clone());
        newton_step(&system, &mut ours, &set, h, 1e-14)?;
        taylor_step(&system, &mut exact, &set, 12, h)?;
        Ok(distance(&ours, &exact))
    };
    Ok(vec![
        Line::near(
            "power of h with which x − (h/2) λ₀ falls",
            2.0,
            order(off(2e-3)?, off(1e-3)?),
            0.02,
        ),
        Line::near(
            "power of h with which the error of a step falls",
            3.0,
            order(error(0.02)?, error(0.01)?),
            0.02,
        ),
    ])
}

fn single() -> Result<Vec<Line>, PointError> {
    let (system, start, set) = chain()?;
    let mut exact = start.clone();
    for _ in 0..500 {
        taylor_step(&system, &mut exact, &set, 10, 1.0 / 500.0)?;
    }
    let error = |n: u32| -> Result<f64, PointError> {
        let mut state = start.clone();
        for _ in 0..n {
            single_step(&system, &mut state, &set, 1.0 / f64::from(n))?;
        }
        Ok(distance(&state, &exact))
    };
    let (whole, half) = (error(400)?, error(800)?);
    Ok(vec![
        Line::within("largest distance from the motion after 1 s, m, h = 1/800 s", half, 0.0, 1e-3),
        Line::within("power of h with which it falls", order(whole, half), 1.9, 2.1),
    ])
}

fn drifts() -> Result<Vec<Line>, PapersError> {
    let what = "drift";
    let model = gallery(what, "spherical-pendulum", &[])?.model;
    let settings = gelenk_model::RunSettings {
        step: 0.01,
        duration: 5.0,
        tolerance: 1e-10,
        ..model.run.clone()
    };
    let study = drift(&model, &settings, 2, &mut |_| std::ops::ControlFlow::Continue(()))
        .map_err(|e| failed(what)(&e))?;
    let worst = |k: usize| study.methods[k].errors.iter().copied().fold(0.0, f64::max);
    let taylor = &study.methods[2].errors;
    let (early, late) = (taylor[taylor.len() / 10], taylor[taylor.len() - 1]);
    Ok(vec![
        Line::within(
            "largest gap of the impulse method, m, 5 s, tolerance 1e-10 m",
            worst(0),
            0.0,
            1e-10,
        ),
        Line::within(
            "Taylor method of order 2: gap at the end over that at a tenth of the time",
            late / early,
            2.0,
            f64::INFINITY,
        ),
    ])
}
