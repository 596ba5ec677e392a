//! Problems of optimal control.

use crate::spec::{Named, OneOrMany, Scalar, Text, spec};

spec! {
    /// A problem file: the best motion of a model, or of states with given rates.
    pub struct ProblemSpec {
        /// Name, description and model.
        problem: Option<ProblemHeadSpec>,
        /// Named constants that expressions use.
        parameters: Named<Scalar>,
        /// Numbers that the optimizer chooses, the same over the whole motion: end times, lengths, ...
        free: Named<FreeSpec>,
        /// States with their rates, for problems without a model.
        states: Named<StateSpec>,
        /// What the optimizer chooses over time. With a model: its inputs.
        controls: Named<ControlSpec>,
        /// What is to be least or largest.
        objective: ObjectiveSpec,
        /// The time and its intervals.
        grid: Option<GridSpec>,
        /// Phases one after the other, each with its own time and intervals, in place of `grid`.
        phase: Vec<PhaseSpec>,
        /// With a model: bounds of all its coordinates and velocities.
        bounds: Option<BoundsSpec>,
        /// Conditions on the motion.
        condition: Vec<ConditionSpec>,
        /// Values at the end, as expressions of `start.NAME`: `x = "start.x + d"`.
        periodic: Named<Scalar>,
        /// Easier problems solved first, each the start of the next.
        homotopy: Vec<HomotopySpec>,
        /// The way to the solution.
        solver: Option<SolverSpec>,
    }

    /// Name, description and model.
    pub struct ProblemHeadSpec("problem") {
        /// Name.
        name: Option<Text>,
        /// What it is about.
        description: Option<Text>,
        /// A model of point masses: a name of the gallery, or a file beside this one.
        model: Option<Text>,
        /// With a model: `fixed` (if left out: the model's start is the motion's) or `free`.
        start: Option<Text>,
        /// The value of the objective that is known, with its source.
        known: Option<Text>,
    }

    /// A number that the optimizer chooses.
    pub struct FreeSpec("free") {
        /// First guess.
        guess: Scalar,
        /// Least value.
        lower: Option<Scalar>,
        /// Largest value.
        upper: Option<Scalar>,
        /// Its size, if the guess does not tell.
        scale: Option<Scalar>,
    }

    /// A state.
    pub struct StateSpec("state") {
        /// Its rate: an expression of states, controls, free numbers, parameters and `t`.
        rate: Scalar,
        /// Value at the start; free if left out.
        start: Option<Scalar>,
        /// Value at the end; free if left out.
        end: Option<Scalar>,
        /// Least value at all nodes.
        lower: Option<Scalar>,
        /// Largest value at all nodes.
        upper: Option<Scalar>,
        /// First guess: an expression of `s`, the part of the time from 0 to 1. Left out: a line from start to end.
        guess: Option<Scalar>,
        /// Its size, if bounds and guess do not tell.
        scale: Option<Scalar>,
    }

    /// A control.
    pub struct ControlSpec("control") {
        /// Least value.
        lower: Option<Scalar>,
        /// Largest value.
        upper: Option<Scalar>,
        /// First guess: an expression of `s`, the part of the time from 0 to 1; 0 if left out.
        guess: Option<Scalar>,
        /// Weight of the sum of squared changes from interval to interval.
        smooth: Option<Scalar>,
        /// Its size, if the bounds do not tell.
        scale: Option<Scalar>,
    }

    /// What is to be least or largest: a value at the end plus an integral.
    pub struct ObjectiveSpec("objective") {
        /// `minimize` (if left out) or `maximize`.
        aim: Option<Text>,
        /// Value at the end: an expression of quantities there, of `start.NAME` and of free numbers.
        end: Option<Scalar>,
        /// Integrand over time.
        integral: Option<Scalar>,
    }

    /// The time and its intervals.
    pub struct GridSpec("grid") {
        /// Duration, s: a number, or a free number, or a multiple of one.
        duration: Scalar,
        /// Number of intervals.
        intervals: Scalar,
        /// `constant` (if left out), `linear` (continuous) or `linear-with-jumps`.
        controls: Option<Text>,
        /// Conditions with `at = "path"` are met at so many places an interval; 1 if left out.
        fine: Option<Scalar>,
        /// Error of the integration over an interval, relative to 1 + |x|; 1e-9 if left out.
        accuracy: Option<Scalar>,
        /// Least number of integration steps an interval, a power of 2; 1 if left out. More than the first guess needs where the best motion is much faster.
        steps: Option<Scalar>,
        /// `line` (if left out: states as their guesses say) or `simulate`: states as they follow from the start with the guessed controls.
        start: Option<Text>,
    }

    /// A phase: a part of the motion with its own time, intervals, rates and bounds, and changes of the model.
    pub struct PhaseSpec("phase") {
        ..grid: GridSpec,
        /// Name.
        name: Text,
        /// Rates that differ in this phase.
        rates: Named<Scalar>,
        /// Values with which states begin this phase, as expressions of those at the end of the phase before; the same state if left out.
        link: Named<Scalar>,
        /// Integrand in this phase, if it differs.
        integral: Option<Scalar>,
        /// Bounds of controls in this phase, where they differ.
        limits: Named<RangeSpec>,
        /// With a model: other values of its parameters in this phase.
        set: Named<Scalar>,
        /// With a model: joints, constraints and forces that do not act in this phase, by name.
        without: Vec<Text>,
    }

    /// Bounds of all coordinates and velocities of a model, at all nodes.
    pub struct BoundsSpec("bounds") {
        /// Of coordinates, m.
        position: Option<RangeSpec>,
        /// Of velocities, m/s.
        velocity: Option<RangeSpec>,
    }

    /// From where to where.
    pub struct RangeSpec("range") {
        /// Least value.
        lower: Option<Scalar>,
        /// Largest value.
        upper: Option<Scalar>,
    }

    /// A condition.
    pub struct ConditionSpec("condition") {
        /// Name, for messages.
        name: Text,
        /// An expression of quantities of the node, of `start.NAME` and of free numbers.
        value: Scalar,
        /// Where: `start`, `end`, `nodes` (if left out: all, without the first where the model's start is fixed), `inner` (all but the first and last), `path` (the finer grid too), or node numbers.
        at: OneOrMany<Scalar>,
        /// The phase it belongs to; all if left out.
        phase: Option<Text>,
        /// What the value must equal.
        equals: Option<Scalar>,
        /// Least value.
        lower: Option<Scalar>,
        /// Largest value.
        upper: Option<Scalar>,
    }

    /// An easier problem on the way.
    pub struct HomotopySpec("homotopy") {
        /// Other values of parameters.
        set: Named<Scalar>,
        /// Another duration, s; with several phases these have theirs.
        duration: Option<Scalar>,
        /// Another number of intervals, of every phase.
        intervals: Option<Scalar>,
        /// Another accuracy of the integration.
        accuracy: Option<Scalar>,
        /// Another KKT error to stop at.
        tolerance: Option<Scalar>,
        /// First barrier parameter where another motion leads here; 1e-2 if left out, and smaller ones stay nearer to that motion.
        barrier: Option<Scalar>,
        /// Conditions left out, by name.
        without: Vec<Text>,
    }

    /// The way to the solution.
    pub struct SolverSpec("solver") {
        /// `interior` (if left out) or `sqp`.
        method: Option<Text>,
        /// `exact` (if left out), `gauss-newton` or `bfgs`.
        hessian: Option<Text>,
        /// KKT error at which a point is optimal, in scaled numbers; 1e-8 if left out.
        tolerance: Option<Scalar>,
        /// First barrier parameter of the last step of a homotopy (1e-2 if left out) or where a motion is given (1e-3).
        barrier: Option<Scalar>,
        /// Most iterations; 1000 if left out.
        max_iterations: Option<Scalar>,
        /// Whether the interior point's solution is polished by SQP steps.
        polish: Option<bool>,
        /// Number of starts; 1 if left out.
        starts: Option<Scalar>,
        /// Seed of random starts; 0 if left out.
        seed: Option<Scalar>,
        /// No start follows one that reached this objective.
        goal: Option<Scalar>,
    }
}
