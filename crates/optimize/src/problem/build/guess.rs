//! First guesses: the file's, zero, random; states by simulation.

use gelenk_expr::{Expr, Pool};

use super::grid::Read;
use super::{ControlFacts, Instance, StateFacts};
use crate::grid::Grid;
use crate::motion::Motion;
use crate::problem::Start;
use crate::program::Program;
use crate::transcription::Transcription;

/// The guess of the file, node by node.
pub(super) struct Guess {
    /// Whether states follow from a simulation.
    simulate: Vec<bool>,
    /// Full states of every phase and node.
    states: Vec<Vec<Vec<f64>>>,
    /// Values of controls at the start and end of every piece.
    controls: Vec<Vec<(Vec<f64>, Vec<f64>)>>,
    free: Vec<f64>,
    amplitude: Vec<f64>,
    /// Whether the file says how large a control is.
    sized: Vec<bool>,
    /// Whether the first state is given whole.
    starts: bool,
}

/// The guess of the file.
pub(super) fn guess(
    pool: &Pool,
    program: &Transcription<Box<dyn Grid>>,
    reads: &[Read],
    facts: &[StateFacts],
    given: &ControlFacts,
    model_start: Option<&[f64]>,
    free: &[f64],
    controls: &[String],
) -> Guess {
    let total: f64 = reads.iter().map(|r| r.length).sum();
    let at = |e: Option<Expr>, s: f64, other: f64| e.map_or(other, |e| pool.eval(e, |_| s));
    let mut begun = 0.0;
    let (mut states, mut pieces) = (Vec::new(), Vec::new());
    for (i, read) in reads.iter().enumerate() {
        let n = program.phases[i].motion.intervals();
        let share = |node: usize| (begun + read.length * node as f64 / n as f64) / total;
        let mut nodes = Vec::new();
        for node in 0..=n {
            let s = share(node);
            nodes.push(match model_start {
                Some(start) => start.to_vec(),
                None => facts
                    .iter()
                    .map(|f| {
                        let line = match (f.start, f.end) {
                            (Some(a), Some(b)) => a + (b - a) * s,
                            (Some(a), None) | (None, Some(a)) => a,
                            (None, None) => 0.0_f64.clamp(f.limits.0, f.limits.1),
                        };
                        at(f.guess, s, line)
                    })
                    .collect(),
            });
        }
        states.push(nodes);
        let values = |s: f64| -> Vec<f64> {
            (0..controls.len()).map(|c| at(given.guess[c], s, 0.0)).collect()
        };
        let fine = read.fine;
        pieces.push(
            (0..n / fine)
                .map(|k| {
                    let (a, b) = (share(k * fine), share((k + 1) * fine));
                    if read.kind.is_linear() {
                        (values(a), values(b))
                    } else {
                        let middle = values(0.5 * (a + b));
                        (middle.clone(), middle)
                    }
                })
                .collect(),
        );
        begun += read.length;
    }
    Guess {
        simulate: reads.iter().map(|r| r.simulate || model_start.is_some()).collect(),
        states,
        controls: pieces,
        free: free.to_vec(),
        amplitude: given.amplitude.clone(),
        sized: given.sized.clone(),
        starts: model_start.is_some() || facts.iter().all(|f| f.start.is_some()),
    }
}

impl Instance {
    /// Sets the variables to a start. States that follow from a simulation stop where it fails.
    pub fn begin(&mut self, start: Start) {
        let mut seed = match start {
            Start::Random(seed) | Start::Gentle(seed) => {
                seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03
            }
            _ => 0,
        };
        let share = if matches!(start, Start::Gentle(_)) { 0.25 } else { 1.0 };
        let noises: Vec<f64> = (0..self.controls.len()).map(|_| noise(&mut seed)).collect();
        let random = |phase: usize| -> Vec<f64> {
            let value = |c: usize| {
                let (r, (l, u)) = (noises[c], self.control_bounds[phase][c]);
                let wide = share * (2.0 * r - 1.0) * self.guess.amplitude[c];
                if l.is_finite() && u.is_finite() && !self.guess.sized[c] {
                    let middle = 0.5 * (l + u);
                    middle + share * (l + (u - l) * r - middle)
                } else {
                    wide.clamp(l, u)
                }
            };
            (0..self.controls.len()).map(value).collect()
        };
        let mut x = vec![0.0; self.x.len()];
        let at = self.program.shape().global_at();
        x[at..at + self.guess.free.len()].copy_from_slice(&self.guess.free);
        for i in 0..self.program.phases.len() {
            let n = self.program.phases[i].motion.intervals();
            let fine = self.program.phases[i].refine;
            let random = random(i);
            for node in 0..=n {
                let piece = (node / fine).min(self.guess.controls[i].len() - 1);
                let (mut a, mut b) = self.guess.controls[i][piece].clone();
                match start {
                    Start::Guess => {}
                    Start::Zero => {
                        a.fill(0.0);
                        b.fill(0.0);
                    }
                    Start::Random(_) | Start::Gentle(_) => {
                        a.clone_from(&random);
                        b.clone_from(&random);
                    }
                }
                if node == n {
                    self.program.set_controls(&mut x, i, node, &b, &b);
                } else {
                    self.program.set_controls(&mut x, i, node, &a, &b);
                }
            }
        }
        let states = self.guess.states.clone();
        let simulate: Vec<bool> =
            self.guess.simulate.iter().map(|s| *s && self.guess.starts).collect();
        self.put_states(&mut x, &states, &simulate, &vec![0; states.len()]);
        self.copy_starts(&mut x);
        self.x = x;
    }

    /// Puts full states into x, charts around them; phases to simulate are integrated on from node `from`, and from 0 they begin where
    /// the phase before them ends.
    pub(crate) fn put_states(
        &mut self,
        x: &mut [f64],
        states: &[Vec<Vec<f64>>],
        simulate: &[bool],
        from: &[usize],
    ) {
        for i in 0..states.len() {
            let n = states[i].len() - 1;
            let mut list = states[i].clone();
            if i > 0
                && simulate[i]
                && from[i] == 0
                && let Ok(left) = self.program.leave(x, i - 1)
                && left.len() == list[0].len()
                && left.iter().all(|v| v.is_finite())
            {
                list.fill(left);
            }
            let placed = self.program.phases[i].motion.place(&list);
            let Ok(placed) = placed else { continue };
            for (node, numbers) in placed.iter().enumerate() {
                let at = self.program.state_at(i, node);
                x[at..at + numbers.len()].copy_from_slice(numbers);
            }
            if !simulate[i] {
                continue;
            }
            let mut node = from[i];
            while node < n {
                let point = self.program.motion_point(x, i, node);
                let motion = &self.program.phases[i].motion;
                let Ok(full) = motion.arrive(node, point.as_slice()) else { break };
                if full.iter().any(|v| !v.is_finite()) || !self.put_state(x, i, node + 1, &full) {
                    break;
                }
                node += 1;
                list[node] = full;
            }
            // Where the simulation does not go on, the rest stays in the state it came to.
            for later in node + 1..=n {
                if node > from[i] {
                    self.put_state(x, i, later, &list[node]);
                }
            }
        }
    }

    /// Puts one node's full state into x, its chart around it; whether it could be.
    fn put_state(&mut self, x: &mut [f64], phase: usize, node: usize, full: &[f64]) -> bool {
        let Ok(numbers) = self.program.phases[phase].motion.place_one(node, full) else {
            return false;
        };
        let at = self.program.state_at(phase, node);
        x[at..at + numbers.len()].copy_from_slice(&numbers);
        true
    }

    /// Global copies of quantities of the first node.
    pub(crate) fn copy_starts(&self, x: &mut [f64]) {
        let program = &self.program;
        let point = program.motion_point(x, 0, 0);
        let motion = &program.phases[0].motion;
        let Ok(observed) = motion.observe(0, point.as_slice(), None) else { return };
        let at = program.shape().global_at();
        for (j, name) in program.names.globals.iter().enumerate().skip(self.free.len()) {
            let inner = name.strip_prefix("start.").unwrap_or(name);
            let place = motion
                .quantities()
                .iter()
                .position(|q| q == inner || q.strip_prefix("u.") == Some(inner));
            if let Some(q) = place {
                x[at + j] = observed.values[q];
            }
        }
    }
}

/// A number from 0 to 1 of a reproducible sequence.
fn noise(seed: &mut u64) -> f64 {
    *seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *seed;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}
