//! Multiple shooting over a flow: intervals, controls, durations, charts of nodes.

use nalgebra::{DMatrix, DVector};

use super::chart::{Chart, project};
use super::mechanism::Mechanism;
use super::radau::{Leg, Runner, Seeds, Stuck};
use super::{Flow, FlowSizes};
use crate::motion::{Arrival, Fault, Linearized, Motion, Sizes};

/// How controls change within an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlShape {
    /// One number a control and interval.
    Constant,
    /// Two, at the start and at the end, with a line between them; whether the next interval begins where this one ends is the
    /// program's to say.
    Linear,
}

/// How long an interval is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Duration {
    /// Fixed, s.
    Fixed(f64),
    /// A part of a free parameter.
    Part {
        /// Which parameter.
        parameter: usize,
        /// How much of it.
        part: f64,
    },
}

/// What a node's state numbers mean.
#[derive(Clone, Debug)]
pub(super) enum Nodes {
    /// The flow's states themselves.
    Plain,
    /// Numbers of charts, one a node.
    Charts(Vec<Chart>),
}

/// A [`Motion`] over a [`Flow`]: Radau IIA in steps that are chosen and then stay, so that maps are smooth.
#[derive(Clone, Debug)]
pub struct Shooting<F> {
    pub(super) flow: F,
    shape: ControlShape,
    durations: Vec<Duration>,
    /// Ends of the sub-steps of every interval, as parts of it.
    steps: Vec<Vec<f64>>,
    /// Least number of sub-steps.
    least: usize,
    pub(super) nodes: Nodes,
    quantities: Vec<String>,
    /// With which velocities change where this motion begins after another, if they do.
    pub(super) impact: Option<Mechanism>,
}

/// A flow that may have charts. Plain differential equations have none.
pub trait Charted: Flow {
    /// The mechanism whose manifold the charts are of.
    fn mechanism(&self) -> Option<&Mechanism>;
}

impl Charted for super::Formulas {
    fn mechanism(&self) -> Option<&Mechanism> {
        None
    }
}

impl Charted for Mechanism {
    fn mechanism(&self) -> Option<&Mechanism> {
        Some(self)
    }
}

/// Names of quantities: states, controls at the start of the interval and, where they are lines, at its end (`u.NAME.end`), parameters, `t`.
fn quantity_names(
    states: &[String],
    controls: &[String],
    parameters: &[String],
    shape: ControlShape,
) -> Vec<String> {
    let mut names = states.to_vec();
    names.extend(controls.iter().map(|c| format!("u.{c}")));
    if shape == ControlShape::Linear {
        names.extend(controls.iter().map(|c| format!("u.{c}.end")));
    }
    names.extend(parameters.iter().cloned());
    names.push("t".into());
    names
}

/// `count` equal steps.
fn equal_steps(count: usize) -> Vec<f64> {
    let count = count.max(1);
    (1..=count).map(|i| i as f64 / count as f64).collect()
}

impl<F: Charted> Shooting<F> {
    /// Intervals of these durations with `steps` equal sub-steps each. Names are those of states, controls and parameters.
    pub fn new(
        flow: F,
        shape: ControlShape,
        durations: Vec<Duration>,
        steps: usize,
        states: &[String],
        controls: &[String],
        parameters: &[String],
    ) -> Self {
        let quantities = quantity_names(states, controls, parameters, shape);
        let least = steps.max(1);
        let steps = vec![equal_steps(least); durations.len()];
        let nodes = Nodes::Plain;
        Shooting { flow, shape, durations, steps, least, nodes, quantities, impact: None }
    }

    /// The flow.
    pub fn flow(&self) -> &F {
        &self.flow
    }

    /// How controls change within an interval.
    pub fn shape(&self) -> ControlShape {
        self.shape
    }

    /// Puts the charts of all nodes around states of the flow, which are first brought to the constraints; the states that result.
    pub fn place_nodes(&mut self, states: &[Vec<f64>]) -> Result<Vec<Vec<f64>>, Fault> {
        let Some(mechanism) = self.flow.mechanism() else { return Ok(states.to_vec()) };
        let (mut charts, mut places) = (Vec::new(), Vec::new());
        for (node, state) in states.iter().enumerate() {
            let wrong = |reason: String| Fault::Chart { node, reason };
            let place = project(mechanism, state).map_err(wrong)?;
            // Neighbours have near bases, so that numbers mean alike.
            charts.push(Chart::around(mechanism, &place, charts.last()).map_err(wrong)?);
            places.push(place);
        }
        self.nodes = Nodes::Charts(charts);
        Ok(places)
    }

    /// Puts the chart of one node around a state, next to that of the node before it; the state that results. All nodes must have charts.
    pub fn place_node(&mut self, node: usize, state: &[f64]) -> Result<Vec<f64>, Fault> {
        let (Nodes::Charts(charts), Some(mechanism)) = (&mut self.nodes, self.flow.mechanism())
        else {
            return Ok(state.to_vec());
        };
        let wrong = |reason: String| Fault::Chart { node, reason };
        let place = project(mechanism, state).map_err(wrong)?;
        let beside = node.checked_sub(1).map(|before| &charts[before]);
        charts[node] = Chart::around(mechanism, &place, beside).map_err(wrong)?;
        Ok(place)
    }

    /// The flow's state at a node.
    pub fn state(&self, node: usize, xi: &[f64]) -> Result<Vec<f64>, Fault> {
        match (&self.nodes, self.flow.mechanism()) {
            (Nodes::Charts(charts), Some(mechanism)) => {
                let placed = charts[node].place(mechanism, xi);
                placed.map(|(y, _)| y).map_err(|reason| Fault::Chart { node, reason })
            }
            (Nodes::Plain, Some(_)) => {
                Err(Fault::Chart { node, reason: "it has no chart yet".into() })
            }
            _ => Ok(xi.to_vec()),
        }
    }

    /// A node's numbers of a state of the flow.
    pub fn numbers(&self, node: usize, state: &[f64]) -> Vec<f64> {
        match (&self.nodes, self.flow.mechanism()) {
            (Nodes::Charts(charts), Some(mechanism)) => charts[node].measure(mechanism, state),
            _ => state.to_vec(),
        }
    }

    fn n_numbers(&self) -> usize {
        self.flow
            .mechanism()
            .map_or(self.flow.sizes().states, |mechanism| 2 * (mechanism.n - mechanism.m))
    }

    /// Where an interval ends, as a state of the flow on its constraints: for simulating from node to node, however far that is.
    pub fn arrive(&self, interval: usize, z: &[f64]) -> Result<Vec<f64>, Fault> {
        let (xi, u, p) = self.split(interval, z);
        let x0 = self.state(interval, xi)?;
        let leg = self.leg(interval, &x0, u, p);
        let (x, _) =
            Runner::new(&self.flow).advance(&leg).map_err(|stuck| fault(interval, stuck))?;
        match self.flow.mechanism() {
            Some(mechanism) => {
                project(mechanism, &x).map_err(|reason| Fault::Chart { node: interval + 1, reason })
            }
            None => Ok(x),
        }
    }

    /// Length of an interval and its derivative by the parameters.
    fn duration(&self, interval: usize, p: &[f64]) -> f64 {
        match self.durations[interval] {
            Duration::Fixed(length) => length,
            Duration::Part { parameter, part } => part * p[parameter],
        }
    }

    /// The time at which interval or node k begins.
    pub fn time(&self, k: usize, p: &[f64]) -> f64 {
        (0..k).map(|i| self.duration(i, p)).sum()
    }

    fn leg<'a>(&'a self, interval: usize, x0: &'a [f64], u: &'a [f64], p: &'a [f64]) -> Leg<'a> {
        let n = self.flow.sizes().controls;
        let (u0, u1) = match self.shape {
            ControlShape::Constant => (u, u),
            ControlShape::Linear => u.split_at(n),
        };
        let (t0, duration) = (self.time(interval, p), self.duration(interval, p));
        Leg { x0, u0, u1, p, t0, duration, steps: &self.steps[interval] }
    }

    fn split<'a>(&self, stage: usize, z: &'a [f64]) -> (&'a [f64], &'a [f64], &'a [f64]) {
        let sizes = self.sizes(stage);
        let (x, rest) = z.split_at(sizes.states);
        let (u, p) = rest.split_at(sizes.controls);
        (x, u, p)
    }

    /// Seeds of a leg: the start's by ξ is `jac` (states by numbers).
    fn seeds(&self, interval: usize, jac: Option<&[f64]>) -> Seeds {
        let FlowSizes { states: n, controls, parameters, .. } = self.flow.sizes();
        let sizes = self.sizes(interval);
        let k = sizes.total();
        let mut seeds = Seeds {
            k,
            x0: vec![0.0; n * k],
            u0: vec![0.0; controls * k],
            u1: vec![0.0; controls * k],
            p: vec![0.0; parameters * k],
            t0: vec![0.0; k],
            duration: vec![0.0; k],
        };
        for i in 0..n {
            match jac {
                Some(jac) => seeds.x0[i * k..i * k + sizes.states]
                    .copy_from_slice(&jac[i * sizes.states..(i + 1) * sizes.states]),
                None => seeds.x0[i * k + i] = 1.0,
            }
        }
        for i in 0..controls {
            seeds.u0[i * k + sizes.states + i] = 1.0;
            let end = if self.shape == ControlShape::Linear { controls } else { 0 };
            seeds.u1[i * k + sizes.states + end + i] = 1.0;
        }
        let first = sizes.states + sizes.controls;
        for i in 0..parameters {
            seeds.p[i * k + first + i] = 1.0;
        }
        for (i, duration) in self.durations[..=interval].iter().enumerate() {
            if let Duration::Part { parameter, part } = *duration {
                let to = if i < interval { &mut seeds.t0 } else { &mut seeds.duration };
                to[first + parameter] += part;
            }
        }
        seeds
    }

    /// Chooses the steps of every interval anew, at least as many as at first (rounded up to a power of 2), for an error of `tolerance` (relative to 1 + |x|) in each, from the stages' points z, and keeps
    /// them. The maps change by about as much as the error was.
    pub fn choose_steps(&mut self, points: &[DVector<f64>], tolerance: f64) -> Result<(), Fault> {
        let mut all = Vec::with_capacity(self.intervals());
        for interval in 0..self.intervals() {
            let (xi, u, p) = self.split(interval, points[interval].as_slice());
            let x0 = self.state(interval, xi)?;
            let leg = self.leg(interval, &x0, u, p);
            let steps = Runner::new(&self.flow).choose_steps(&leg, tolerance, self.least);
            all.push(steps.map_err(|stuck| fault(interval, stuck))?);
        }
        self.steps = all;
        Ok(())
    }

    /// Number of sub-steps of an interval.
    pub fn n_steps(&self, interval: usize) -> usize {
        self.steps[interval].len()
    }
}

fn fault(interval: usize, stuck: Stuck) -> Fault {
    Fault::Integration { interval, time: stuck.time, reason: stuck.reason }
}

impl<F: Charted> Motion for Shooting<F> {
    fn intervals(&self) -> usize {
        self.durations.len()
    }

    fn sizes(&self, stage: usize) -> Sizes {
        let FlowSizes { controls, parameters, .. } = self.flow.sizes();
        let controls = match self.shape {
            _ if stage == self.intervals() => 0,
            ControlShape::Constant => controls,
            ControlShape::Linear => 2 * controls,
        };
        Sizes { states: self.n_numbers(), controls, parameters }
    }

    fn advance(&self, interval: usize, z: &[f64]) -> Result<Arrival, Fault> {
        let (xi, u, p) = self.split(interval, z);
        let x0 = self.state(interval, xi)?;
        let leg = self.leg(interval, &x0, u, p);
        let (x, cost) =
            Runner::new(&self.flow).advance(&leg).map_err(|stuck| fault(interval, stuck))?;
        Ok(Arrival { state: DVector::from_vec(self.numbers(interval + 1, &x)), cost })
    }

    fn linearize(
        &self,
        interval: usize,
        z: &[f64],
        weights: Option<&[f64]>,
    ) -> Result<Linearized, Fault> {
        let (xi, u, p) = self.split(interval, z);
        let charts = match (&self.nodes, self.flow.mechanism()) {
            (Nodes::Charts(charts), Some(mechanism)) => Some((charts, mechanism)),
            (Nodes::Plain, Some(_)) => {
                return Err(Fault::Chart { node: interval, reason: "it has no chart yet".into() });
            }
            _ => None,
        };
        let placed = match charts {
            Some((charts, mechanism)) => {
                let placed = charts[interval].linearize(mechanism, xi);
                Some(placed.map_err(|reason| Fault::Chart { node: interval, reason })?)
            }
            None => None,
        };
        let x0 = placed.as_ref().map_or(xi, |placed| &placed.y[..]);
        let leg = self.leg(interval, x0, u, p);
        let seeds = self.seeds(interval, placed.as_ref().map(|placed| &placed.jac[..]));
        let k = seeds.k;
        let mut runner = Runner::new(&self.flow);
        let tangent = runner.linearize(&leg, &seeds).map_err(|stuck| fault(interval, stuck))?;
        let (mut values, mut rows) = match charts {
            Some((charts, mechanism)) => {
                let next = &charts[interval + 1];
                (
                    next.measure(mechanism, &tangent.x),
                    next.measure_directions(mechanism, &tangent.dx, k),
                )
            }
            None => (tangent.x.clone(), tangent.dx.clone()),
        };
        values.push(tangent.cost);
        rows.extend(&tangent.dcost);
        let jacobian = DMatrix::from_row_slice(values.len(), k, &rows);
        let curvature = weights.map(|weights| {
            let (state, cost) = weights.split_at(weights.len() - 1);
            let omega = match charts {
                Some((charts, mechanism)) => charts[interval + 1].pull(mechanism, state),
                None => state.to_vec(),
            };
            let (curvature, start) = tangent.curvature(&omega, cost[0]);
            let mut curvature = DMatrix::from_row_slice(k, k, &curvature);
            if let (Some((charts, mechanism)), Some(placed)) = (charts, &placed) {
                let extra = charts[interval].curvature(mechanism, placed, &start);
                add_block(&mut curvature, &extra);
            }
            curvature
        });
        Ok(Linearized { values: DVector::from_vec(values), jacobian, curvature })
    }

    fn quantities(&self) -> &[String] {
        &self.quantities
    }

    fn observe(
        &self,
        node: usize,
        z: &[f64],
        weights: Option<&[f64]>,
    ) -> Result<Linearized, Fault> {
        let (xi, u, p) = self.split(node, z);
        let sizes = self.sizes(node);
        let n = self.flow.sizes().states;
        let mut jacobian = DMatrix::zeros(self.quantities.len(), sizes.total());
        let mut curvature = weights.map(|_| DMatrix::zeros(sizes.total(), sizes.total()));
        let mut values = Vec::with_capacity(self.quantities.len());
        match (&self.nodes, self.flow.mechanism()) {
            (Nodes::Charts(charts), Some(mechanism)) => {
                let placed = charts[node].linearize(mechanism, xi);
                let placed = placed.map_err(|reason| Fault::Chart { node, reason })?;
                let k = sizes.states;
                for i in 0..n {
                    for j in 0..k {
                        jacobian[(i, j)] = placed.jac[i * k + j];
                    }
                }
                if let (Some(weights), Some(curvature)) = (weights, &mut curvature) {
                    add_block(
                        curvature,
                        &charts[node].curvature(mechanism, &placed, &weights[..n]),
                    );
                }
                values.extend(placed.y);
            }
            (Nodes::Plain, Some(_)) => {
                return Err(Fault::Chart { node, reason: "it has no chart yet".into() });
            }
            _ => {
                values.extend(xi);
                for i in 0..n {
                    jacobian[(i, i)] = 1.0;
                }
            }
        }
        // The last node has no controls: their quantities have no value there.
        let all = self.sizes(0).controls;
        for i in 0..all {
            if let Some(&u) = u.get(i) {
                jacobian[(values.len(), sizes.states + i)] = 1.0;
                values.push(u);
            } else {
                values.push(f64::NAN);
            }
        }
        let first = sizes.states + sizes.controls;
        for (i, &p) in p.iter().enumerate() {
            jacobian[(values.len(), first + i)] = 1.0;
            values.push(p);
        }
        for duration in &self.durations[..node] {
            if let Duration::Part { parameter, part } = *duration {
                jacobian[(values.len(), first + parameter)] += part;
            }
        }
        values.push(self.time(node, p));
        Ok(Linearized { values: DVector::from_vec(values), jacobian, curvature })
    }

    fn charted(&self) -> bool {
        self.flow.mechanism().is_some()
    }

    fn enter(&self, y: &[f64], weights: Option<&[f64]>) -> Result<Linearized, Fault> {
        self.enter_from(y, weights)
    }

    fn recenter(&mut self, nodes: &[DVector<f64>]) -> Result<Vec<DVector<f64>>, Fault> {
        let (Nodes::Charts(charts), Some(mechanism)) = (&self.nodes, self.flow.mechanism()) else {
            return Ok(nodes.to_vec());
        };
        let mut moved = Vec::with_capacity(charts.len());
        for (node, (chart, xi)) in charts.iter().zip(nodes).enumerate() {
            let wrong = |reason: String| Fault::Chart { node, reason };
            let (place, _) = chart.place(mechanism, xi.as_slice()).map_err(wrong)?;
            moved.push(Chart::around(mechanism, &place, Some(chart)).map_err(wrong)?);
        }
        let zeros = vec![DVector::zeros(charts[0].numbers(mechanism)); charts.len()];
        self.nodes = Nodes::Charts(moved);
        Ok(zeros)
    }
}

/// Adds a square block, row by row, to the upper left corner.
fn add_block(to: &mut DMatrix<f64>, block: &[f64]) {
    let mut k = 0;
    while k * k < block.len() {
        k += 1;
    }
    for i in 0..k {
        for j in 0..k {
            to[(i, j)] += block[i * k + j];
        }
    }
}

impl<F: Flow> Runner<'_, F> {
    /// Steps, each with an error of about `tolerance` at most: compared with two of half the length.
    pub(crate) fn choose_steps(
        &mut self,
        leg: &Leg<'_>,
        tolerance: f64,
        least: usize,
    ) -> Result<Vec<f64>, Stuck> {
        const FINEST: u32 = 12;
        let coarsest = least.next_power_of_two().trailing_zeros().min(FINEST);
        let mut ends = Vec::new();
        let mut x = leg.x0.to_vec();
        // Steps are 1/2^level of the interval, at multiples of their length.
        let (mut at, mut level) = (0u32, coarsest);
        while at < 1 << FINEST {
            let length = 1 << (FINEST - level);
            let part = |k: u32| f64::from(k) / f64::from(1u32 << FINEST);
            let error = self.compare(leg, &x, part(at), part(length));
            let fits = matches!(error, Ok((error, _)) if error <= tolerance);
            if fits || level == FINEST {
                let (error, end) = error?;
                x = end;
                at += length;
                ends.push(part(at));
                // A longer step where it would surely do, and where it is at a multiple of its length.
                while error < tolerance / 128.0
                    && level > coarsest
                    && at % (2 << (FINEST - level)) == 0
                {
                    level -= 1;
                    if error >= tolerance / 8192.0 {
                        break;
                    }
                }
            } else {
                level += 1;
            }
        }
        Ok(ends)
    }

    /// Error of one step against two, and its end.
    fn compare(
        &mut self,
        leg: &Leg<'_>,
        x: &[f64],
        at: f64,
        part: f64,
    ) -> Result<(f64, Vec<f64>), Stuck> {
        let whole = self.once(leg, x, at, part)?;
        let half = self.once(leg, x, at, 0.5 * part)?;
        let half = self.once(leg, &half, at + 0.5 * part, 0.5 * part)?;
        let error = whole
            .iter()
            .zip(&half)
            .fold(0.0, |most: f64, (a, b)| most.max((a - b).abs() / (1.0 + b.abs())));
        Ok((if error.is_nan() { f64::INFINITY } else { error }, whole))
    }
}
