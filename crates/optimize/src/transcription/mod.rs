//! From motions and conditions to a program of stages.

mod charts;
mod names;
mod stage;

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
    /// At the last node of a phase: a number of the full state with which the next phase begins, one for each in order.
    End,
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
                        Role::End if node == n => stage.end.push(t),
                        Role::End => {}
                    }
                }
                let links = if node < n {
                    sizes.states + controls[node + 1].carried
                } else if let Some(next) = phases.get(i + 1).filter(|_| !stage.end.is_empty()) {
                    next.motion.sizes(0).states
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

    /// The full state with which the next phase begins, as the last node of a phase leaves it; not yet brought to the next
    /// phase's constraints.
    pub fn leave(&self, x: &[f64], phase: usize) -> Result<Vec<f64>, Fault> {
        let motion = &self.phases[phase].motion;
        let node = motion.intervals();
        let k = self.stage_of(phase, node);
        let stage = &self.stages[k];
        let observed = motion.observe(node, self.motion_point(x, phase, node).as_slice(), None)?;
        let Some(set) = self.set(stage) else { return Ok(Vec::new()) };
        let globals = &x[self.shape.global_at()..];
        let values = set.terms.values(&self.inputs(set, &observed, globals));
        Ok(stage.end.iter().map(|&t| values[t]).collect())
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
        self.stage_values(k, z).map_err(|fault| self.in_phase(k, fault))
    }

    fn derivatives(
        &self,
        k: usize,
        z: &[f64],
        weights: Option<&Weights>,
    ) -> Result<StageDerivatives, Fault> {
        self.stage_derivatives(k, z, weights).map_err(|fault| self.in_phase(k, fault))
    }

    fn describe(&self, row: RowAt) -> String {
        self.name_of(row)
    }

    fn places(&self, x: &[f64], links: &[f64]) -> Option<Places> {
        self.full_places(x, links)
    }

    fn recenter(&mut self, x: &mut [f64], links: &mut [f64]) -> Result<bool, Fault> {
        self.move_charts(x, links)
    }
}
