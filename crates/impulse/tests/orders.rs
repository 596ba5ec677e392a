//! Orders 2, 4, 6 and 8: the error falls with the power of the step that the method promises, on five mechanisms.
//!
//! The reference, `reference/orders.csv`, comes from another method in other coordinates and in numbers of 113 bits.

mod common;

use common::{accurate, scene};
use gelenk_impulse::Simulation;
use gelenk_model::Model;
use gelenk_model::math::Vec3;

/// A mechanism and the true places of its bodies.
struct Case {
    model: Model,
    /// Time between two entries of the reference, s.
    every: f64,
    /// Centres of mass in the order of the bodies, one list a time.
    reference: Vec<Vec<Vec3>>,
}

impl Case {
    fn new(name: &str) -> Self {
        let model = scene(name);
        let n_bodies = model.n_bodies() - 1;
        let mut times = Vec::new();
        let mut places = Vec::new();
        for line in include_str!("../../../reference/orders.csv").lines() {
            let mut fields = line.split(',');
            if fields.next() != Some(name) {
                continue;
            }
            let mut number = || fields.next().and_then(|x| x.parse::<f64>().ok());
            let time = number().expect("a time");
            let body = fields.next().expect("a body");
            assert_eq!(model.bodies[1 + places.len() % n_bodies].name, body);
            let mut number = || fields.next().and_then(|x| x.parse::<f64>().ok()).expect("a place");
            places.push(Vec3::new(number(), number(), number()));
            times.push(time);
        }
        let reference: Vec<_> = places.chunks(n_bodies).map(<[Vec3]>::to_vec).collect();
        assert_eq!(reference.len(), 5, "{name}");
        Case { model, every: times[0], reference }
    }

    /// Root mean square distance from the reference over bodies and times, with `n` steps from one time to the next.
    fn error(&self, order: u32, n: u32) -> f64 {
        let settings = accurate(order, self.every / f64::from(n));
        let mut simulation = Simulation::new(&self.model, &settings).expect("starts");
        let (mut sum, mut count) = (0.0, 0_u32);
        for places in &self.reference {
            for _ in 0..n {
                simulation.step().expect("step");
            }
            for (s, place) in simulation.state().s[1..].iter().zip(places) {
                sum += (s - place).norm_squared();
                count += 1;
            }
        }
        assert!(simulation.take_events().is_empty(), "{}: no step is halved", self.model.name);
        (sum / f64::from(count)).sqrt()
    }
}

/// Slope of the least-squares line through (log h, log error).
fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let logs: Vec<_> = points.iter().map(|(h, error)| (h.ln(), error.ln())).collect();
    let (x, y) = logs.iter().fold((0.0, 0.0), |(x, y), p| (x + p.0 / n, y + p.1 / n));
    let (xy, xx) = logs
        .iter()
        .fold((0.0, 0.0), |(xy, xx), p| (xy + (p.0 - x) * (p.1 - y), xx + (p.0 - x) * (p.0 - x)));
    xy / xx
}

/// All four orders within 0.1 of what they promise. `steps`: for each order, steps from one time of the reference to the
/// next, where the error is that of the leading term and far above rounding.
fn all_orders(name: &str, steps: [&[u32]; 4]) {
    let case = Case::new(name);
    for (order, steps) in [2, 4, 6, 8].into_iter().zip(steps) {
        let point = |&n: &u32| (case.every / f64::from(n), case.error(order, n));
        let points: Vec<_> = steps.iter().map(point).collect();
        let slope = slope(&points);
        assert!((slope - f64::from(order)).abs() < 0.1, "order {order}: {slope}, {points:?}");
    }
}

#[test]
fn pendulum() {
    all_orders("pendulum", [&[16, 24, 32, 48], &[8, 12, 16, 24], &[4, 6, 8, 12], &[3, 4, 5, 6, 8]]);
}

#[test]
fn spherical_double_pendulum() {
    let steps: [&[u32]; 4] =
        [&[32, 48, 64], &[12, 16, 24, 32], &[12, 16, 20, 24], &[10, 12, 14, 16]];
    all_orders("spherical-double-pendulum", steps);
}

#[test]
fn heavy_top() {
    all_orders("heavy-top", [&[32, 48, 64], &[24, 32, 48], &[16, 20, 24, 32], &[12, 14, 16, 18]]);
}

#[test]
fn slider_crank() {
    let fine: &[u32] = &[13, 14, 15, 16, 17, 18];
    all_orders("slider-crank", [&[32, 48, 64], &[16, 20, 24, 32], &[16, 20, 24], fine]);
}

#[test]
fn spring_swing() {
    all_orders("spring-swing", [&[24, 32, 48], &[16, 24, 32], &[8, 12, 16], &[8, 10, 12, 14]]);
}
