//! Motions found, in full coordinates, independent of grids and charts; warm starts and certificates.

use gelenk_ode::{Failure, Integrator, Options, Stop, System};
use serde::{Deserialize, Serialize};

use super::build::Instance;
use crate::grid::Grid;
use crate::motion::{Fault, Motion};
use crate::program::{Program, all_values};

/// One phase of a motion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseSolution {
    /// Name; empty for the only one.
    pub name: String,
    /// Times of the nodes since the phase's start, s.
    pub times: Vec<f64>,
    /// States of the nodes.
    pub states: Vec<Vec<f64>>,
    /// Controls of the intervals, at their start and end.
    pub controls: Vec<(Vec<f64>, Vec<f64>)>,
}

/// A motion: phases and free numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Solution {
    /// The phases.
    pub phases: Vec<PhaseSolution>,
    /// The free numbers.
    pub free: Vec<f64>,
}

/// A motion at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct Instant {
    /// The phase it belongs to.
    pub phase: usize,
    /// Time since the start of the motion, s.
    pub time: f64,
    /// Full state.
    pub state: Vec<f64>,
}

/// What running a motion again with an adaptive integrator gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// Objective with the states and integrals that the integrator arrived at.
    pub objective: f64,
    /// Largest difference of a state at the end of an interval, or where a phase begins from what the phase before it left, relative to 1 + |x|.
    pub state_error: f64,
    /// The interval where it is, counted over all phases.
    pub worst_interval: usize,
    /// Relative tolerance of the integrator.
    pub tolerance: f64,
}

impl Solution {
    /// Why this motion cannot be one of a problem with these states and controls; none where it can.
    pub(super) fn misfit(&self, instance: &Instance) -> Option<String> {
        let (have, want) = (self.phases.len(), instance.program.phases.len());
        if have != want {
            let word = if have == 1 { "phase" } else { "phases" };
            return Some(format!("it has {have} {word}, the problem has {want}"));
        }
        if self.free.len() != instance.free.len() || !self.free.iter().all(|v| v.is_finite()) {
            let want = instance.free.len();
            return Some(format!(
                "it has {} free numbers, the problem has {want}",
                self.free.len()
            ));
        }
        for (phase, names) in self.phases.iter().zip(&instance.states) {
            let n = phase.controls.len();
            if n == 0 || phase.times.len() != n + 1 || phase.states.len() != n + 1 {
                return Some("its numbers of times, states and controls do not fit".into());
            }
            if !phase.times.windows(2).all(|t| t[0] <= t[1]) {
                return Some("its times do not rise".into());
            }
            if phase.states.iter().any(|s| s.len() != names.len()) {
                return Some(format!("the problem has {} states", names.len()));
            }
            let m = instance.controls.len();
            if phase.controls.iter().any(|(a, b)| a.len() != m || b.len() != m) {
                return Some(format!("the problem has {m} controls"));
            }
            let finite = |list: &[f64]| list.iter().all(|v| v.is_finite());
            let controls = phase.controls.iter().all(|(a, b)| finite(a) && finite(b));
            if !(finite(&phase.times) && controls && phase.states.iter().all(|s| finite(s))) {
                return Some("not all its numbers are finite".into());
            }
        }
        None
    }

    /// The interval of a phase in which a time lies, and which part of it has passed.
    fn interval_at(&self, phase: usize, t: f64) -> (usize, f64) {
        let p = &self.phases[phase];
        let k = p.times[1..].partition_point(|end| *end < t).min(p.controls.len() - 1);
        let length = p.times[k + 1] - p.times[k];
        (k, if length > 0.0 { ((t - p.times[k]) / length).clamp(0.0, 1.0) } else { 0.0 })
    }

    /// Controls of a phase at a time.
    fn controls_at(&self, phase: usize, t: f64) -> Vec<f64> {
        let (k, s) = self.interval_at(phase, t);
        let (a, b) = &self.phases[phase].controls[k];
        a.iter().zip(b).map(|(a, b)| a + (b - a) * s).collect()
    }

    /// State of a phase at a time: that of a node, or where the motion leads from the node before. A line between nodes would leave the constraints of a mechanism, and
    /// between postures half a turn apart it meets no posture at all.
    fn state_at(&self, phase: usize, t: f64, motion: &dyn Grid) -> Vec<f64> {
        let p = &self.phases[phase];
        let (k, s) = self.interval_at(phase, t);
        // A motion of something else is of no use here; whoever places it says so.
        let other = p.states[k].len() != motion.full_size();
        if s <= NODE || s >= 1.0 - NODE || other {
            return p.states[if s <= NODE { k } else { k + 1 }].clone();
        }
        let (t0, t1) = (p.times[k], p.times[k + 1]);
        let (controls, parameters) = (&p.controls[k], &self.free[..]);
        let mut run = Rerun { motion, controls, parameters, t0, length: t1 - t0 };
        let mut y = p.states[k].clone();
        y.push(0.0);
        let reached =
            Integrator::new(Options::with_tolerance(1e-9), t0, &y).ok().and_then(|mut i| {
                let stop = i.run(&mut run, t.min(t1)).ok()?;
                (stop == Stop::End && i.y().iter().all(|v| v.is_finite())).then(|| i.y().to_vec())
            });
        let mut y = reached.unwrap_or_else(|| {
            // Nothing leads there: the nearer node.
            let mut nearer = p.states[if s < 0.5 { k } else { k + 1 }].clone();
            nearer.push(0.0);
            nearer
        });
        y.pop();
        y
    }
}

/// How near to a node a time is that node's, as a part of the interval.
const NODE: f64 = 1e-7;

impl Instance {
    /// The motion of these variables.
    pub fn solution(&self, x: &[f64]) -> Result<Solution, Fault> {
        let program = &self.program;
        let at = program.shape().global_at();
        let free = x[at..at + self.free.len()].to_vec();
        let mut phases = Vec::new();
        for (i, phase) in program.phases.iter().enumerate() {
            let n = phase.motion.intervals();
            let m = phase.controls;
            let mut solution = PhaseSolution {
                name: self.phases[i].clone(),
                times: (0..=n).map(|node| phase.motion.time_of(node, &free)).collect(),
                states: Vec::new(),
                controls: Vec::new(),
            };
            for node in 0..=n {
                let z = program.motion_point(x, i, node);
                let sizes = phase.motion.sizes(node);
                solution.states.push(phase.motion.full_state(node, &z.as_slice()[..sizes.states])?);
                if node < n {
                    let u = &z.as_slice()[sizes.states..sizes.states + sizes.controls];
                    let end = if phase.kind.is_linear() { &u[m..] } else { u };
                    solution.controls.push((u[..m].to_vec(), end.to_vec()));
                }
            }
            phases.push(solution);
        }
        Ok(Solution { phases, free })
    }

    /// Sets the variables to a motion, on whatever grid it was found. With as many intervals as before it is stretched over the new horizon (a mechanism takes the same path with other velocities, its controls as
    /// forces of inertia); else, where that is
    /// longer, the motion goes on with its last controls.
    pub fn warm(&mut self, from: &Solution) {
        if from.phases.len() != self.program.phases.len() {
            return;
        }
        let mut x = vec![0.0; self.x.len()];
        let at = self.program.shape().global_at();
        x[at..at + from.free.len().min(self.free.len())]
            .copy_from_slice(&from.free[..from.free.len().min(self.free.len())]);
        let (mut states, mut simulate, mut begin) = (Vec::new(), Vec::new(), Vec::new());
        // Nodes between those of the motion that follow one of these, by phase.
        let mut between: Vec<Vec<usize>> = Vec::new();
        for i in 0..from.phases.len() {
            let phase = &self.program.phases[i];
            let (n, fine) = (phase.motion.intervals(), phase.refine);
            let old = from.phases[i].times.last().copied().unwrap_or(1.0);
            let times: Vec<f64> =
                (0..=n).map(|k| phase.motion.time_of(k, &x[at..at + self.free.len()])).collect();
            let new = times[n];
            // Free durations keep the share of the time, as do as many intervals as before; others the time itself.
            let stretched = self.free_duration[i] || from.phases[i].controls.len() == n;
            let stretch = if stretched && new > 0.0 { old / new } else { 1.0 };
            let longer = new * stretch > old * (1.0 + 1e-9);
            // The same path in another time: velocities, and the forces that inertia asks for.
            let fast = phase.motion.velocities();
            let force = if fast.is_empty() { 1.0 } else { stretch * stretch };
            let controls_at =
                |t: f64| -> Vec<f64> { from.controls_at(i, t).iter().map(|u| force * u).collect() };
            let mut list: Vec<Vec<f64>> = Vec::new();
            let (mut led, mut known) = (Vec::new(), true);
            let mut reached = 0;
            for (node, t) in times.iter().enumerate() {
                let t = t * stretch;
                if t <= old * (1.0 + 1e-9) {
                    reached = node;
                }
                let apart = |known: &f64| (known - t).abs() > 1e-9 * old;
                let new = node > 0 && t < old && from.phases[i].times.iter().all(apart);
                if new && known {
                    // Its interval leads there, see below.
                    list.push(list[node - 1].clone());
                    led.push(node);
                } else {
                    let mut state = from.state_at(i, t.min(old), &*phase.motion);
                    for v in state.get_mut(fast.clone()).into_iter().flatten() {
                        *v *= stretch;
                    }
                    list.push(state);
                }
                known = !new;
            }
            between.push(led);
            for node in 0..=n {
                let piece = node - node % fine;
                let (start, end) = (times[piece] * stretch, times[(piece + fine).min(n)] * stretch);
                // Controls may jump: look just inside the piece.
                let inside = 1e-9 * (end - start);
                let (a, b) = if phase.kind.is_linear() {
                    (controls_at(start + inside), controls_at(end - inside))
                } else {
                    let middle = controls_at(0.5 * (start + end).min(2.0 * old));
                    (middle.clone(), middle)
                };
                if node == n {
                    let last = controls_at(times[n] * stretch);
                    self.program.set_controls(&mut x, i, node, &last, &last);
                } else {
                    self.program.set_controls(&mut x, i, node, &a, &b);
                }
            }
            states.push(list);
            simulate.push(longer);
            begin.push(reached);
        }
        self.put_states(&mut x, &states, &simulate, &begin);
        if between.iter().any(|led| !led.is_empty()) {
            for (i, led) in between.iter().enumerate() {
                let motion = &self.program.phases[i].motion;
                for &node in led {
                    let point = self.program.motion_point(&x, i, node - 1);
                    if let Ok(full) = motion.arrive(node - 1, point.as_slice())
                        && full.iter().all(|v| v.is_finite())
                    {
                        states[i][node] = full;
                    }
                }
            }
            self.put_states(&mut x, &states, &simulate, &begin);
        }
        self.copy_starts(&mut x);
        self.x = x;
    }

    /// The motion at about every so many seconds, by integration from every node.
    pub fn samples(&self, solution: &Solution, every: f64) -> Result<Vec<Instant>, String> {
        let mut out = Vec::new();
        let mut begun = 0.0;
        for (i, (phase, found)) in self.program.phases.iter().zip(&solution.phases).enumerate() {
            let mut put = |time: f64, state: &[f64]| {
                out.push(Instant { phase: i, time: begun + time, state: state.to_vec() });
            };
            for k in 0..found.controls.len() {
                let (t0, t1) = (found.times[k], found.times[k + 1]);
                let mut run = Rerun {
                    motion: &*phase.motion,
                    controls: &found.controls[k],
                    parameters: &solution.free,
                    t0,
                    length: t1 - t0,
                };
                let mut y = found.states[k].clone();
                put(t0, &y);
                y.push(0.0);
                let mut integrator = Integrator::new(Options::with_tolerance(1e-9), t0, &y)
                    .map_err(|e| e.to_string())?;
                let pieces = ((t1 - t0) / every.max(1e-9)).ceil().clamp(1.0, 1e6);
                let mut piece = 1.0;
                while piece < pieces {
                    let t = t0 + (t1 - t0) * piece / pieces;
                    integrator.run(&mut run, t).map_err(|e| e.to_string())?;
                    put(t, &integrator.y()[..y.len() - 1]);
                    piece += 1.0;
                }
            }
            let end = found.times[found.controls.len()];
            if let Some(last) = found.states.last() {
                put(end, last);
            }
            begun += end;
        }
        // Where phases meet there are two states of one time: the second one stays.
        let mut kept: Vec<Instant> = Vec::with_capacity(out.len());
        for sample in out {
            if kept.last().is_some_and(|last| sample.time <= last.time) {
                kept.pop();
            }
            kept.push(sample);
        }
        Ok(kept)
    }

    /// Runs a motion again, interval by interval, with the adaptive integrators at a tolerance.
    pub fn certify(
        &self,
        x: &[f64],
        solution: &Solution,
        tolerance: f64,
    ) -> Result<Certificate, String> {
        let mut error = (0.0_f64, 0);
        let mut integral = 0.0;
        let mut number = 0;
        let mut last = Vec::new();
        for (i, (phase, found)) in self.program.phases.iter().zip(&solution.phases).enumerate() {
            if i > 0 {
                let left = self.program.leave(x, i - 1).map_err(|e| e.to_string())?;
                let entered = phase.motion.enter(&left, None).map_err(|e| e.to_string())?;
                let begun = phase.motion.numbers_of(0, &found.states[0]);
                for (a, b) in entered.values.iter().zip(&begun) {
                    let e = (a - b).abs() / (1.0 + b.abs());
                    if !(e <= error.0) {
                        error = (e, number);
                    }
                }
            }
            for k in 0..found.controls.len() {
                let (t0, t1) = (found.times[k], found.times[k + 1]);
                let mut run = Rerun {
                    motion: &*phase.motion,
                    controls: &found.controls[k],
                    parameters: &solution.free,
                    t0,
                    length: t1 - t0,
                };
                let mut y = found.states[k].clone();
                y.push(0.0);
                let options = Options::with_tolerance(tolerance);
                let mut integrator = Integrator::new(options, t0, &y).map_err(|e| e.to_string())?;
                let stop =
                    integrator.run(&mut run, t1).map_err(|e| format!("interval {number}: {e}"))?;
                if stop != Stop::End {
                    return Err(format!("interval {number}: the integrator stopped early"));
                }
                let end = integrator.y();
                for (a, b) in end.iter().zip(&found.states[k + 1]) {
                    let e = (a - b).abs() / (1.0 + b.abs());
                    if e > error.0 {
                        error = (e, number);
                    }
                }
                integral += end[end.len() - 1];
                last = end[..end.len() - 1].to_vec();
                number += 1;
            }
        }
        // Terms at the end, where the integrator arrived; all other costs as they are.
        let program = &self.program;
        let i = program.phases.len() - 1;
        let node = program.phases[i].motion.intervals();
        let mut y = x.to_vec();
        let at = program.state_at(i, node);
        let numbers = program.phases[i].motion.numbers_of(node, &last);
        y[at..at + numbers.len()].copy_from_slice(&numbers);
        let stages = all_values(program, x).map_err(|e| e.to_string())?;
        let mut objective = integral;
        for (k, stage) in stages.iter().enumerate() {
            let z = program.shape().point(&y, k);
            let values = if k + 1 == stages.len() {
                program.values(k, &z).map_err(|e| e.to_string())?.cost
            } else {
                // Without the interval's own integral.
                stage.cost - program.integral(k, &z).map_err(|e| e.to_string())?
            };
            objective += values;
        }
        Ok(Certificate {
            objective: self.sign * objective,
            state_error: error.0,
            worst_interval: error.1,
            tolerance,
        })
    }
}

/// One interval for the adaptive integrators; the integral of the Lagrange term is one more state.
struct Rerun<'a> {
    motion: &'a dyn Grid,
    controls: &'a (Vec<f64>, Vec<f64>),
    parameters: &'a [f64],
    t0: f64,
    length: f64,
}

impl System for Rerun<'_> {
    fn dim(&self) -> usize {
        self.motion.full_size() + 1
    }

    fn rhs(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), Failure> {
        let s = if self.length > 0.0 { (t - self.t0) / self.length } else { 0.0 };
        let u: Vec<f64> =
            self.controls.0.iter().zip(&self.controls.1).map(|(a, b)| a + (b - a) * s).collect();
        let x = &y[..y.len() - 1];
        let rates = self.motion.rates(x, &u, self.parameters, t).map_err(|_| Failure::Domain)?;
        dy.copy_from_slice(&rates);
        Ok(())
    }
}
