//! From motions and conditions to a program of stages.

use nalgebra::{DMatrix, DVector};

use crate::controls::{ControlKind, ControlStage, control_stages};
use crate::motion::{Fault, Linearized, Motion};
use crate::program::{Places, Program, RowAt, StageDerivatives, StageValues, Weights};
use crate::shape::{Shape, StageShape};
use crate::terms::{Reads, Terms};

/// What an expression of a node is for.
#[derive(Clone, Debug, PartialEq)]
pub enum Role {
    /// Part of the objective.
    Cost,
    /// A condition: lower ≤ value ≤ upper; equal bounds make an equality.
    Condition {
        /// What it is called.
        name: String,
        /// Least value.
        lower: f64,
        /// Largest value.
        upper: f64,
    },
    /// Must equal the `Start` of the same place in the next phase.
    End,
    /// See `End`.
    Start,
}

/// Expressions that are evaluated together at some nodes.
#[derive(Clone, Debug)]
pub struct NodeTerms {
    /// The expressions.
    pub terms: Terms,
    /// What each is for. Equalities, inequalities, … of a stage are counted in this order.
    pub roles: Vec<Role>,
}

/// One phase: a motion over its own grid.
pub struct Phase<M> {
    /// The motion.
    pub motion: M,
    /// How its controls pass over the grid.
    pub kind: ControlKind,
    /// Intervals that share one piece of control.
    pub refine: usize,
    /// Number of controls.
    pub controls: usize,
    /// How many of the quantities, the first ones, are the full state.
    pub full_states: usize,
    /// The motion's parameters as global variables.
    pub parameters: Vec<usize>,
    /// Weights of squared changes of controls; empty for none.
    pub smooth: Vec<f64>,
    /// Which of `sets` every node evaluates; `None` for nothing.
    pub nodes: Vec<Option<usize>>,
    /// Expressions.
    pub sets: Vec<NodeTerms>,
}

/// A stage of the program.
struct Stage {
    phase: usize,
    node: usize,
    control: ControlStage,
    /// (x, u, p) of the motion by (x, carried, fresh, globals).
    to_motion: DMatrix<f64>,
    /// Places of terms by role.
    cost: Vec<usize>,
    equal: Vec<usize>,
    unequal: Vec<usize>,
    start: Vec<usize>,
    end: Vec<usize>,
    /// Whether an interval begins here.
    advances: bool,
    states: usize,
}

/// A [`Program`] over motions.
pub struct Transcription<M> {
    /// The phases.
    pub phases: Vec<Phase<M>>,
    shape: Shape,
    stages: Vec<Stage>,
    /// Bounds of all variables, to be set by whoever builds the program.
    pub lower: Vec<f64>,
    /// See `lower`.
    pub upper: Vec<f64>,
    row_lower: Vec<f64>,
    row_upper: Vec<f64>,
    /// Names of states by phase, of controls by phase, and of globals, for messages.
    pub names: Names,
}

/// Names for messages.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Of each phase; empty for the only one.
    pub phases: Vec<String>,
    /// Of the state numbers of each phase; may be empty (numbers of charts have none).
    pub states: Vec<Vec<String>>,
    /// Of the controls of each phase.
    pub controls: Vec<Vec<String>>,
    /// Of global variables.
    pub globals: Vec<String>,
}

impl<M: Motion> Transcription<M> {
    /// The program of these phases with `globals` global variables; all bounds are still open.
    pub fn new(phases: Vec<Phase<M>>, globals: usize, names: Names) -> Self {
        let mut stages = Vec::new();
        let mut shapes = Vec::new();
        let (mut row_lower, mut row_upper) = (Vec::new(), Vec::new());
        let n_phases = phases.len();
        for (i, phase) in phases.iter().enumerate() {
            let n = phase.motion.intervals();
            let smooth = !phase.smooth.is_empty();
            let controls = control_stages(phase.kind, phase.controls, n, phase.refine, smooth);
            for (node, control) in controls.iter().enumerate() {
                let sizes = phase.motion.sizes(node);
                let width = sizes.states + control.carried + control.fresh;
                let mut to_motion = DMatrix::zeros(sizes.total(), width + globals);
                for j in 0..sizes.states {
                    to_motion[(j, j)] = 1.0;
                }
                to_motion
                    .view_mut((sizes.states, sizes.states), (sizes.controls, width - sizes.states))
                    .copy_from(&control.to_motion);
                for (j, &global) in phase.parameters.iter().enumerate() {
                    to_motion[(sizes.states + sizes.controls + j, width + global)] = 1.0;
                }
                let mut stage = Stage {
                    phase: i,
                    node,
                    control: control.clone(),
                    to_motion,
                    cost: Vec::new(),
                    equal: Vec::new(),
                    unequal: Vec::new(),
                    start: Vec::new(),
                    end: Vec::new(),
                    advances: node < n,
                    states: sizes.states,
                };
                let set = phase.nodes.get(node).copied().flatten().map(|s| &phase.sets[s]);
                for (t, role) in set.map_or(&[][..], |s| &s.roles[..]).iter().enumerate() {
                    match *role {
                        Role::Cost => stage.cost.push(t),
                        Role::Condition { lower, upper, .. } if upper <= lower => {
                            stage.equal.push(t);
                        }
                        Role::Condition { lower, upper, .. } => {
                            stage.unequal.push(t);
                            row_lower.push(lower);
                            row_upper.push(upper);
                        }
                        Role::Start if node == 0 => stage.start.push(t),
                        Role::End if node == n => stage.end.push(t),
                        Role::Start | Role::End => {}
                    }
                }
                let links = if node < n {
                    sizes.states + controls[node + 1].carried
                } else if i + 1 < n_phases {
                    stage.end.len()
                } else {
                    0
                };
                shapes.push(StageShape {
                    variables: width,
                    states: sizes.states + control.carried,
                    equalities: stage.equal.len(),
                    inequalities: stage.unequal.len(),
                    links,
                });
                stages.push(stage);
            }
        }
        let shape = Shape::new(shapes, globals);
        let n = shape.n_variables();
        let (lower, upper) = (vec![f64::NEG_INFINITY; n], vec![f64::INFINITY; n]);
        Transcription { phases, shape, stages, lower, upper, row_lower, row_upper, names }
    }

    /// The stage of a node of a phase.
    pub fn stage_of(&self, phase: usize, node: usize) -> usize {
        let before: usize = self.phases[..phase].iter().map(|p| p.motion.intervals() + 1).sum();
        before + node
    }

    /// Flat place of a node's state numbers.
    pub fn state_at(&self, phase: usize, node: usize) -> usize {
        self.shape.variable_at(self.stage_of(phase, node))
    }

    /// The control pieces of a stage: how many numbers are carried and fresh, and where the fresh ones begin.
    pub fn controls_at(&self, phase: usize, node: usize) -> (usize, usize, usize) {
        let k = self.stage_of(phase, node);
        let stage = &self.stages[k];
        (stage.control.carried, stage.control.fresh, self.shape.variable_at(k) + stage.states)
    }

    /// z = (x, u, p) of the motion at a node.
    pub fn motion_point(&self, x: &[f64], phase: usize, node: usize) -> DVector<f64> {
        let k = self.stage_of(phase, node);
        &self.stages[k].to_motion * DVector::from_vec(self.shape.point(x, k))
    }

    /// The control numbers (carried, fresh) that give the motion's numbers `u` at the start of a piece.
    pub fn set_controls(
        &self,
        x: &mut [f64],
        phase: usize,
        node: usize,
        start: &[f64],
        end: &[f64],
    ) {
        let p = &self.phases[phase];
        let k = self.stage_of(phase, node);
        let (control, m) = (&self.stages[k].control, p.controls);
        let at = self.shape.variable_at(k) + self.stages[k].states;
        let inside = !node.is_multiple_of(p.refine);
        let last = node == p.motion.intervals();
        let mut put =
            |offset: usize, from: &[f64]| x[at + offset..at + offset + m].copy_from_slice(from);
        match p.kind {
            ControlKind::Constant => {
                if control.carried > 0 {
                    put(0, start);
                }
                if control.fresh > 0 {
                    put(control.carried, start);
                }
            }
            _ if last && control.carried > 0 => {
                put(0, start);
            }
            _ if inside || control.carried + control.fresh == 2 * m => {
                put(0, start);
                put(m, end);
            }
            _ => {}
        }
    }

    /// The integral of the Lagrange term over the interval that begins at stage k.
    pub fn integral(&self, k: usize, z: &[f64]) -> Result<f64, Fault> {
        let stage = &self.stages[k];
        if !stage.advances {
            return Ok(0.0);
        }
        let point = &stage.to_motion * DVector::from_column_slice(z);
        Ok(self.phases[stage.phase].motion.advance(stage.node, point.as_slice())?.cost)
    }

    fn set(&self, stage: &Stage) -> Option<&NodeTerms> {
        let phase = &self.phases[stage.phase];
        phase.nodes.get(stage.node).copied().flatten().map(|s| &phase.sets[s])
    }

    fn inputs(&self, set: &NodeTerms, observed: &Linearized, globals: &[f64]) -> Vec<f64> {
        set.terms
            .inputs
            .iter()
            .map(|reads| match *reads {
                Reads::Quantity(q) => observed.values[q],
                Reads::Global(g) => globals[g],
            })
            .collect()
    }

    /// Σ weight · change², per stage, with gradient and curvature by (carried, fresh).
    fn roughness(&self, stage: &Stage, w: &[f64]) -> (f64, DVector<f64>, DMatrix<f64>) {
        let changes = &stage.control.changes;
        let n = changes.ncols();
        let control = DVector::from_column_slice(&w[stage.states..stage.states + n]);
        let diagonal = DMatrix::from_diagonal(&DVector::from_iterator(
            changes.nrows(),
            self.phases[stage.phase].smooth.iter().copied().take(changes.nrows()),
        ));
        let curvature = changes.tr_mul(&(&diagonal * changes)) * 2.0;
        let gradient = &curvature * &control;
        (0.5 * control.dot(&gradient), gradient, curvature)
    }
}

impl<M: Motion> Program for Transcription<M> {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn bounds(&self) -> (&[f64], &[f64]) {
        (&self.lower, &self.upper)
    }

    fn row_bounds(&self) -> (&[f64], &[f64]) {
        (&self.row_lower, &self.row_upper)
    }

    fn values(&self, k: usize, z: &[f64]) -> Result<StageValues, Fault> {
        let stage = &self.stages[k];
        let phase = &self.phases[stage.phase];
        let point = &stage.to_motion * DVector::from_column_slice(z);
        let mut out = StageValues::default();
        let n_w = self.shape.stages[k].variables;
        if stage.advances {
            let arrival = phase.motion.advance(stage.node, point.as_slice())?;
            out.cost += arrival.cost;
            out.left.extend(arrival.state.iter());
            let control = DVector::from_column_slice(&z[stage.states..n_w]);
            out.left.extend((&stage.control.pass * control).iter());
        }
        if stage.control.changes.nrows() > 0 {
            out.cost += self.roughness(stage, z).0;
        }
        if stage.node > 0 {
            out.right.extend(&z[..self.shape.stages[k].states]);
        }
        if let Some(set) = self.set(stage) {
            let observed = phase.motion.observe(stage.node, point.as_slice(), None)?;
            let values = set.terms.values(&self.inputs(set, &observed, &z[n_w..]));
            out.cost += stage.cost.iter().map(|&t| values[t]).sum::<f64>();
            out.equal.extend(stage.equal.iter().map(|&t| values[t] - target(&set.roles[t])));
            out.unequal.extend(stage.unequal.iter().map(|&t| values[t]));
            out.left.extend(stage.end.iter().map(|&t| values[t]));
            out.right.extend(stage.start.iter().map(|&t| values[t]));
        }
        Ok(out)
    }

    fn derivatives(
        &self,
        k: usize,
        z: &[f64],
        weights: Option<&Weights>,
    ) -> Result<StageDerivatives, Fault> {
        let stage = &self.stages[k];
        let shape = &self.shape.stages[k];
        let phase = &self.phases[stage.phase];
        let (n, n_w) = (z.len(), shape.variables);
        let point = &stage.to_motion * DVector::from_column_slice(z);
        let n_right = match k.checked_sub(1) {
            Some(before) => self.shape.stages[before].links,
            None => 0,
        };
        let mut out = StageDerivatives {
            values: StageValues::default(),
            gradient: DVector::zeros(n),
            equal: DMatrix::zeros(shape.equalities, n),
            unequal: DMatrix::zeros(shape.inequalities, n),
            left: DMatrix::zeros(shape.links, n),
            right: DMatrix::zeros(n_right, n),
            hessian: weights.map(|_| DMatrix::zeros(n, n)),
        };
        let control_at = stage.states;
        if stage.advances {
            let asked = weights.map(|w| {
                let mut list = w.left[..phase.motion.sizes(stage.node + 1).states].to_vec();
                list.push(w.cost);
                list
            });
            let map = phase.motion.linearize(stage.node, point.as_slice(), asked.as_deref())?;
            let jacobian = &map.jacobian * &stage.to_motion;
            let n_x = map.values.len() - 1;
            out.values.cost += map.values[n_x];
            out.gradient += jacobian.row(n_x).transpose();
            out.left.view_mut((0, 0), (n_x, n)).copy_from(&jacobian.rows(0, n_x));
            out.values.left.extend(map.values.iter().take(n_x));
            let pass = &stage.control.pass;
            out.left.view_mut((n_x, control_at), pass.shape()).copy_from(pass);
            let control = DVector::from_column_slice(&z[control_at..n_w]);
            out.values.left.extend((pass * control).iter());
            if let (Some(hessian), Some(curvature)) = (&mut out.hessian, &map.curvature) {
                *hessian += stage.to_motion.tr_mul(&(curvature * &stage.to_motion));
            }
        }
        if stage.control.changes.nrows() > 0 {
            let (cost, gradient, curvature) = self.roughness(stage, z);
            out.values.cost += cost;
            let mut view = out.gradient.rows_mut(control_at, gradient.len());
            view += &gradient;
            if let (Some(hessian), Some(weights)) = (&mut out.hessian, weights) {
                let mut view = hessian.view_mut((control_at, control_at), curvature.shape());
                view += curvature * weights.cost;
            }
        }
        if stage.node > 0 {
            out.values.right.extend(&z[..shape.states]);
            for i in 0..shape.states {
                out.right[(i, i)] = 1.0;
            }
        }
        if let Some(set) = self.set(stage) {
            let first = phase.motion.observe(stage.node, point.as_slice(), None)?;
            let inputs = self.inputs(set, &first, &z[n_w..]);
            let values = set.terms.values(&inputs);
            let slopes = set.terms.jacobian(&inputs);
            // ∂inputs/∂z.
            let mut along = DMatrix::zeros(inputs.len(), n);
            for (i, reads) in set.terms.inputs.iter().enumerate() {
                match *reads {
                    Reads::Quantity(q) => {
                        along.set_row(i, &(first.jacobian.row(q) * &stage.to_motion));
                    }
                    Reads::Global(g) => along[(i, n_w + g)] = 1.0,
                }
            }
            let jacobian = &slopes * &along;
            let mut asked = vec![0.0; values.len()];
            for &t in &stage.cost {
                out.values.cost += values[t];
                out.gradient += jacobian.row(t).transpose();
                asked[t] = weights.map_or(0.0, |w| w.cost);
            }
            let links_at = out.values.left.len();
            let starts_at = out.values.right.len();
            for (i, &t) in stage.equal.iter().enumerate() {
                out.values.equal.push(values[t] - target(&set.roles[t]));
                out.equal.set_row(i, &jacobian.row(t));
                asked[t] = weights.map_or(0.0, |w| w.equal[i]);
            }
            for (i, &t) in stage.unequal.iter().enumerate() {
                out.values.unequal.push(values[t]);
                out.unequal.set_row(i, &jacobian.row(t));
                asked[t] = weights.map_or(0.0, |w| w.unequal[i]);
            }
            if links_at + stage.end.len() == shape.links {
                for (i, &t) in stage.end.iter().enumerate() {
                    out.values.left.push(values[t]);
                    out.left.set_row(links_at + i, &jacobian.row(t));
                    asked[t] = weights.map_or(0.0, |w| w.left[links_at + i]);
                }
            }
            if starts_at + stage.start.len() == n_right {
                for (i, &t) in stage.start.iter().enumerate() {
                    out.values.right.push(values[t]);
                    out.right.set_row(starts_at + i, &jacobian.row(t));
                    asked[t] = weights.map_or(0.0, |w| w.right[starts_at + i]);
                }
            }
            if let Some(hessian) = &mut out.hessian {
                let inner = set.terms.hessian(&inputs, &asked);
                *hessian += along.tr_mul(&(inner * &along));
                // Curvature of the quantities themselves.
                let pulled = slopes.tr_mul(&DVector::from_vec(asked));
                let mut quantity = vec![0.0; first.values.len()];
                for (reads, w) in set.terms.inputs.iter().zip(pulled.iter()) {
                    if let Reads::Quantity(q) = reads {
                        quantity[*q] += w;
                    }
                }
                if quantity.iter().any(|&w| w != 0.0) {
                    let second =
                        phase.motion.observe(stage.node, point.as_slice(), Some(&quantity))?;
                    if let Some(curvature) = &second.curvature {
                        *hessian += stage.to_motion.tr_mul(&(curvature * &stage.to_motion));
                    }
                }
            }
        }
        Ok(out)
    }

    fn describe(&self, row: RowAt) -> String {
        let place = |k: usize| {
            let stage = &self.stages[k];
            match self.names.phases.get(stage.phase) {
                Some(name) if !name.is_empty() => format!("node {} of phase `{name}`", stage.node),
                _ => format!("node {}", stage.node),
            }
        };
        let condition = |k: usize, t: usize| match self.set(&self.stages[k]).map(|s| &s.roles[t]) {
            Some(Role::Condition { name, .. }) => format!("`{name}` at {}", place(k)),
            _ => format!("a condition at {}", place(k)),
        };
        match row {
            RowAt::Equal(k, i) => condition(k, self.stages[k].equal[i]),
            RowAt::Unequal(k, i) => condition(k, self.stages[k].unequal[i]),
            RowAt::Link(k, i) => {
                let stage = &self.stages[k];
                let states = self.names.states.get(stage.phase);
                match states.and_then(|s| s.get(i)) {
                    Some(name) => format!("continuity of `{name}` at {}", place(k + 1)),
                    None => format!("continuity at {}", place(k + 1)),
                }
            }
            RowAt::Variable(flat) => self.variable_name(flat),
        }
    }

    fn places(&self, x: &[f64], links: &[f64]) -> Option<Places> {
        let mut places = Places::default();
        for (i, phase) in self.phases.iter().enumerate() {
            let (mut states, mut covectors) = (Vec::new(), Vec::new());
            for node in 0..=phase.motion.intervals() {
                let point = self.motion_point(x, i, node);
                let observed = phase.motion.observe(node, point.as_slice(), None).ok()?;
                states.push(observed.values.as_slice()[..phase.full_states].to_vec());
                let k = self.stage_of(i, node);
                let n = self.stages[k].states;
                if node > 0 && n != phase.full_states {
                    // Q (QᵀQ)⁻¹ λ: the least covector whose pull to the chart is λ.
                    let q = observed.jacobian.view((0, 0), (phase.full_states, n)).into_owned();
                    let at = self.shape.link_at(k - 1);
                    let lambda = DVector::from_column_slice(&links[at..at + n]);
                    let solved = q.tr_mul(&q).cholesky()?.solve(&lambda);
                    covectors.push((q * solved).as_slice().to_vec());
                }
            }
            places.states.push(states);
            places.covectors.push(covectors);
        }
        Some(places)
    }

    fn recenter(&mut self, x: &mut [f64], links: &mut [f64]) -> Result<bool, Fault> {
        let mut changed = false;
        for i in 0..self.phases.len() {
            let n = self.phases[i].motion.intervals();
            let first = self.stage_of(i, 0);
            let nodes: Vec<DVector<f64>> = (0..=n)
                .map(|node| {
                    let at = self.shape.variable_at(first + node);
                    DVector::from_column_slice(&x[at..at + self.stages[first + node].states])
                })
                .collect();
            let look = |s: &Self, x: &[f64]| -> Result<Vec<DMatrix<f64>>, Fault> {
                (0..=n)
                    .map(|node| {
                        let point = s.motion_point(x, i, node);
                        let observed = s.phases[i].motion.observe(node, point.as_slice(), None)?;
                        Ok(observed.jacobian.columns(0, nodes[node].len()).into_owned())
                    })
                    .collect()
            };
            let before = look(self, x)?;
            let moved = self.phases[i].motion.recenter(&nodes)?;
            if moved == nodes {
                continue;
            }
            changed = true;
            for node in 0..=n {
                let at = self.shape.variable_at(first + node);
                x[at..at + moved[node].len()].copy_from_slice(moved[node].as_slice());
            }
            let after = look(self, x)?;
            // λ belongs to the numbers of the chart it arrives in: λ_new = (∂ξ_old/∂ξ_new)ᵀ λ_old, from ∂quantities/∂ξ of both.
            for node in 1..=n {
                let (old, new) = (&before[node], &after[node]);
                let normal = old.tr_mul(old);
                let Some(factor) = normal.cholesky() else { continue };
                let change = factor.solve(&old.tr_mul(new));
                let at = self.shape.link_at(first + node - 1);
                let m = nodes[node].len();
                let lambda = DVector::from_column_slice(&links[at..at + m]);
                links[at..at + m].copy_from_slice(change.tr_mul(&lambda).as_slice());
            }
        }
        Ok(changed)
    }
}

impl<M: Motion> Transcription<M> {
    /// Multipliers of links from covectors of full states; see [`Program::places`].
    pub fn pull_links(
        &self,
        x: &[f64],
        covectors: &[Vec<Vec<f64>>],
        links: &mut [f64],
    ) -> Result<(), Fault> {
        for (i, phase) in self.phases.iter().enumerate() {
            for (before, covector) in
                covectors.get(i).map_or(&[][..], |c| &c[..]).iter().enumerate()
            {
                let node = before + 1;
                let point = self.motion_point(x, i, node);
                let observed = phase.motion.observe(node, point.as_slice(), None)?;
                let k = self.stage_of(i, node);
                let n = self.stages[k].states;
                let q = observed.jacobian.view((0, 0), (phase.full_states, n)).into_owned();
                let lambda = q.tr_mul(&DVector::from_column_slice(covector));
                let at = self.shape.link_at(k - 1);
                links[at..at + n].copy_from_slice(lambda.as_slice());
            }
        }
        Ok(())
    }

    fn variable_name(&self, flat: usize) -> String {
        if flat >= self.shape.global_at() {
            let i = flat - self.shape.global_at();
            return self
                .names
                .globals
                .get(i)
                .map_or_else(|| "a parameter".into(), |n| format!("`{n}`"));
        }
        let k =
            (0..self.stages.len()).rev().find(|&k| self.shape.variable_at(k) <= flat).unwrap_or(0);
        let stage = &self.stages[k];
        let i = flat - self.shape.variable_at(k);
        let list = if i < stage.states { &self.names.states } else { &self.names.controls };
        let names = list.get(stage.phase).map_or(&[][..], |n| &n[..]);
        let i = if i < stage.states { i } else { (i - stage.states) % names.len().max(1) };
        match names.get(i) {
            Some(name) => format!("`{name}` at node {}", stage.node),
            None => format!("a number of node {}", stage.node),
        }
    }
}

/// What an equality must equal.
fn target(role: &Role) -> f64 {
    match role {
        Role::Condition { lower, .. } => *lower,
        _ => 0.0,
    }
}
