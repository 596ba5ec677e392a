//! The core on a motion with closed-form maps.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::ops::ControlFlow;

use gelenk_expr::Pool;
use gelenk_optimize::interior::{InteriorOptions, Status, solve};
use gelenk_optimize::program::Program;
use gelenk_optimize::scale::{Scaled, Scales};
use gelenk_optimize::{
    Arrival, ControlKind, Fault, Linearized, Motion, Names, NodeTerms, Phase, Reads, Role, Sizes,
    Terms, Transcription,
};
use nalgebra::{DMatrix, DVector};

/// ẍ = u with u constant in every interval, in the time T = p₀; cost ∫ w u² dt.
struct Glider {
    n: usize,
    names: Vec<String>,
    effort: f64,
}

impl Glider {
    fn new(n: usize, effort: f64) -> Self {
        let names = ["x", "v", "u.push", "T"].map(String::from).to_vec();
        Glider { n, names, effort }
    }
}

impl Motion for Glider {
    fn intervals(&self) -> usize {
        self.n
    }
    fn sizes(&self, stage: usize) -> Sizes {
        Sizes { states: 2, controls: usize::from(stage < self.n), parameters: 1 }
    }
    fn advance(&self, _: usize, z: &[f64]) -> Result<Arrival, Fault> {
        let (x, v, u, h) = (z[0], z[1], z[2], z[3] / self.n as f64);
        let state = DVector::from_vec(vec![x + h * v + 0.5 * h * h * u, v + h * u]);
        Ok(Arrival { state, cost: self.effort * h * u * u })
    }
    fn linearize(&self, k: usize, z: &[f64], weights: Option<&[f64]>) -> Result<Linearized, Fault> {
        let arrival = self.advance(k, z)?;
        let (v, u, s) = (z[1], z[2], 1.0 / self.n as f64);
        let (h, e) = (z[3] * s, self.effort);
        let values = DVector::from_vec(vec![arrival.state[0], arrival.state[1], arrival.cost]);
        #[rustfmt::skip]
        let jacobian = DMatrix::from_row_slice(3, 4, &[
            1.0, h, 0.5 * h * h, s * (v + h * u),
            0.0, 1.0, h, s * u,
            0.0, 0.0, 2.0 * e * h * u, s * e * u * u,
        ]);
        let curvature = weights.map(|w| {
            let mut c = DMatrix::zeros(4, 4);
            let mut add = |i: usize, j: usize, value: f64| {
                c[(i, j)] += value;
                if i != j {
                    c[(j, i)] += value;
                }
            };
            add(1, 3, w[0] * s);
            add(2, 3, w[0] * h * s + w[1] * s + w[2] * 2.0 * e * u * s);
            add(3, 3, w[0] * s * s * u);
            add(2, 2, w[2] * 2.0 * e * h);
            c
        });
        Ok(Linearized { values, jacobian, curvature })
    }
    fn quantities(&self) -> &[String] {
        &self.names
    }
    fn observe(
        &self,
        node: usize,
        z: &[f64],
        weights: Option<&[f64]>,
    ) -> Result<Linearized, Fault> {
        let last = node == self.n;
        let n = if last { 3 } else { 4 };
        let mut jacobian = DMatrix::zeros(4, n);
        jacobian[(0, 0)] = 1.0;
        jacobian[(1, 1)] = 1.0;
        let values = if last {
            jacobian[(3, 2)] = 1.0;
            vec![z[0], z[1], f64::NAN, z[2]]
        } else {
            jacobian[(2, 2)] = 1.0;
            jacobian[(3, 3)] = 1.0;
            z.to_vec()
        };
        let curvature = weights.map(|_| DMatrix::zeros(n, n));
        Ok(Linearized { values: DVector::from_vec(values), jacobian, curvature })
    }
    fn recenter(&mut self, nodes: &[DVector<f64>]) -> Result<Vec<DVector<f64>>, Fault> {
        Ok(nodes.to_vec())
    }
}

/// From rest at 0 to rest at 1; `cost` of the last node.
fn program(n: usize, effort: f64, cost: &str) -> Transcription<Glider> {
    let motion = Glider::new(n, effort);
    let mut pool = Pool::new();
    let expressions: Vec<_> = [cost, "x", "v"].iter().map(|e| pool.parse(e).unwrap()).collect();
    let symbols: Vec<_> = motion.names.iter().map(|n| pool.symbol(n)).collect();
    let reads = |e| symbols.iter().position(|s| *s == e).map(Reads::Quantity);
    let terms = Terms::new(&mut pool, &expressions, reads).unwrap();
    let hold =
        |name: &str, value: f64| Role::Condition { name: name.into(), lower: value, upper: value };
    let set = NodeTerms { terms, roles: vec![Role::Cost, hold("arrive", 1.0), hold("stop", 0.0)] };
    let mut nodes = vec![None; n + 1];
    nodes[n] = Some(0);
    let phase = Phase {
        motion,
        kind: ControlKind::Constant,
        refine: 1,
        controls: 1,
        full_states: 2,
        parameters: vec![0],
        smooth: Vec::new(),
        nodes,
        sets: vec![set],
    };
    let mut program = Transcription::new(vec![phase], 1, Names::default());
    for i in 0..2 {
        program.lower[i] = 0.0;
        program.upper[i] = 0.0;
    }
    program
}

fn run(program: &mut Transcription<Glider>, x: &[f64]) -> (Status, f64, usize, Vec<f64>) {
    let nominal = vec![None; x.len()];
    let scales = Scales::at(program, x, &nominal).unwrap();
    let mut scaled = Scaled::new(program, &scales);
    let start: Vec<f64> = x.iter().zip(&scales.variables).map(|(x, s)| x / s).collect();
    let mut watch = |report: &gelenk_optimize::interior::Report<'_>| {
        println!(
            "{:3} {:12.6e} {:9.2e} {:9.2e} α {:7.1e} μ {:8.1e} {} {}",
            report.iteration,
            report.objective,
            report.infeasibility,
            report.kkt,
            report.step,
            report.mu,
            report.active,
            report.restoring
        );
        ControlFlow::Continue(())
    };
    let outcome =
        solve(&mut scaled, &start, None, &InteriorOptions::default(), &mut watch).unwrap();
    let x = outcome.state.x().iter().zip(&scales.variables).map(|(x, s)| x * s).collect();
    (outcome.status, outcome.objective / scales.objective, outcome.state.iterations, x)
}

#[test]
fn least_effort_is_found_in_one_step() {
    // min ∫u² from rest to rest in 1 s: u = 6 − 12 t; with n equal pieces the optimum is 12/(1 − 1/n²).
    let n = 10;
    let mut program = program(n, 1.0, "0");
    let at = program.shape().global_at();
    program.lower[at] = 1.0;
    program.upper[at] = 1.0;
    let mut x = vec![0.0; program.shape().n_variables()];
    x[at] = 1.0;
    let (status, objective, iterations, _) = run(&mut program, &x);
    assert_eq!(status, Status::Optimal);
    let exact = 12.0 / (1.0 - 1.0 / (n * n) as f64);
    assert!((objective - exact).abs() < 1e-9, "{objective}");
    assert!(iterations <= 4, "{iterations}");
}

#[test]
fn least_time_with_bounded_push() {
    // |u| ≤ 1: full push to the middle, then full brake: T = 2.
    let n = 10;
    let mut program = program(n, 0.0, "T");
    for node in 0..n {
        let at = program.controls_at(0, node).2;
        program.lower[at] = -1.0;
        program.upper[at] = 1.0;
    }
    let at = program.shape().global_at();
    program.lower[at] = 0.01;
    let mut x = vec![0.0; program.shape().n_variables()];
    x[at] = 1.0;
    let (status, objective, iterations, _) = run(&mut program, &x);
    assert_eq!(status, Status::Optimal);
    assert!((objective - 2.0).abs() < 1e-7, "{objective}");
    assert!(iterations <= 40, "{iterations}");
}

#[test]
fn contradicting_conditions_are_named() {
    // |u| ≤ 1 reaches 1 and stops in no less than 2 s; T ≤ 1.
    let n = 10;
    let mut program = program(n, 0.0, "T");
    for node in 0..n {
        let at = program.controls_at(0, node).2;
        program.lower[at] = -1.0;
        program.upper[at] = 1.0;
    }
    let at = program.shape().global_at();
    program.lower[at] = 0.01;
    program.upper[at] = 1.0;
    let mut x = vec![0.0; program.shape().n_variables()];
    x[at] = 0.5;
    let (status, _, _, _) = run(&mut program, &x);
    assert_eq!(status, Status::Infeasible);
}
