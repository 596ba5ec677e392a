//! The file as a whole, parts and instances.

use super::{
    BodySpec, CapacitorSpec, CircuitSpec, ConstraintSpec, ContactSpec, CouplingSpec, DamperSpec,
    DragSpec, ForceSpec, GearSpec, IgnoreSpec, InductorSpec, JointSpec, MarkerSpec, MaterialSpec,
    ParameterSpec, PointSpec, ResistorSpec, RotationSpec, SourceSpec, SpringSpec, Value,
};
use crate::spec::{Named, NumberOrVector, Scalar, Text, Vec3Spec, spec};

spec! {
    /// A model file.
    pub struct FileSpec {
        ..contents: Contents,
        /// Name, description and gravity.
        model: Option<ModelSpec>,
        /// How to run the model.
        run: Option<RunSpec>,
        /// Numbers that a program may set while the model runs, with their values until then; `input.NAME` in forces and drives.
        inputs: Named<Scalar>,
        /// Settings of viewers; not looked at here.
        view: Option<Value>,
        /// Where bodies and joints begin, in place of where they are drawn; `gelenk assemble` writes these for bodies.
        start: Vec<StartSpec>,
    }

    /// Where a body or a joint begins; entries count in their order. What is left out stays as it is drawn. Joints keep the places on
    /// the bodies that they were drawn with, so that a mechanism can begin in another posture. A joint moves all that hangs on it; loops
    /// are closed around the joints that are given.
    pub struct StartSpec("start") {
        /// The body or point; this or `joint`.
        body: Option<Text>,
        /// The joint; this or `body`.
        joint: Option<Text>,
        /// Of a joint: which of its coordinates, if it has several.
        coordinate: Option<Text>,
        /// Of a joint: its angle, rad.
        angle: Option<Scalar>,
        /// Of a joint: its angle, degrees.
        angle_deg: Option<Scalar>,
        /// Of a body: origin of its frame, m. Of a joint: its position, m, a number.
        position: Option<NumberOrVector>,
        /// Of a joint: the rate of the coordinate, rad/s or m/s.
        rate: Option<Scalar>,
        /// Of a body: how its frame is turned.
        rotation: Option<RotationSpec>,
        /// Of a body: velocity of that origin, m/s. Of a joint: the same as `rate`, a number.
        velocity: Option<NumberOrVector>,
        /// Of a body: angular velocity, world axes, rad/s.
        angular_velocity: Option<Vec3Spec>,
    }

    /// What a model file and a part both hold.
    pub struct Contents {
        /// Named numbers that expressions use. In a part, the instance may give other values.
        parameters: Named<ParameterSpec>,
        /// Rigid bodies.
        body: Vec<BodySpec>,
        /// Point masses.
        point: Vec<PointSpec>,
        /// Named points on bodies.
        marker: Vec<MarkerSpec>,
        /// Joints.
        joint: Vec<JointSpec>,
        /// Couplings between joint coordinates.
        gear: Vec<GearSpec>,
        /// Springs between two points.
        spring: Vec<SpringSpec>,
        /// Dampers between two points.
        damper: Vec<DamperSpec>,
        /// Forces and torques on bodies.
        force: Vec<ForceSpec>,
        /// Viscous drag on bodies.
        drag: Vec<DragSpec>,
        /// Equations that positions obey.
        constraint: Vec<ConstraintSpec>,
        /// Closed circuits, whose charges are coordinates.
        circuit: Vec<CircuitSpec>,
        /// Inductors of circuits.
        inductor: Vec<InductorSpec>,
        /// Capacitors of circuits.
        capacitor: Vec<CapacitorSpec>,
        /// Resistors of circuits.
        resistor: Vec<ResistorSpec>,
        /// Sources of voltage in circuits.
        source: Vec<SourceSpec>,
        /// Couplings of circuits to the motion.
        coupling: Vec<CouplingSpec>,
        /// Materials for contact.
        material: Vec<MaterialSpec>,
        /// Contact values of pairs of materials.
        contact: Vec<ContactSpec>,
        /// Pairs of bodies or groups that do not touch.
        ignore: Vec<IgnoreSpec>,
        /// Parts by name, to be used by instances.
        part: Named<PartSpec>,
        /// Uses of parts.
        instance: Vec<InstanceSpec>,
    }

    /// A part: the tables of a model, used once or many times by `[[instance]]`. A part file is a model file without
    /// `[model]` and `[run]` (both are passed over, so that a part file can be run alone).
    pub struct PartSpec {
        ..contents: Contents,
        /// What it is, for people.
        description: Option<Text>,
    }

    /// A use of a part.
    pub struct InstanceSpec("instance") {
        /// Name of a `[part.NAME]`.
        part: Option<Text>,
        /// Path of a part file, relative to this file.
        file: Option<Text>,
        /// Put before all names of the part: `left_` makes `left_hip` of `hip`. May hold `{i}` when repeated.
        prefix: Option<Text>,
        /// Where the part's origin lies.
        position: Option<Vec3Spec>,
        /// How the part is turned.
        rotation: Option<RotationSpec>,
        /// Values for the part's parameters.
        parameters: Named<Scalar>,
        /// Names the part uses for things outside: `connect = { mount = "torso" }`.
        connect: Named<Text>,
        /// Use the part several times.
        repeat: Option<RepeatSpec>,
    }

    /// Repetition of an instance: the index runs over `from, from + 1, ..., from + count - 1`. Inside the part it is a
    /// number in expressions, and `{i}`, `{i-1}` in names.
    pub struct RepeatSpec {
        /// How many times, 0 or more.
        count: Scalar,
        /// First value of the index; 0 if left out.
        from: Option<Scalar>,
        /// Name of the index; `i` if left out.
        index: Option<Text>,
    }

    /// Name, description and gravity.
    pub struct ModelSpec("model") {
        /// Name of the model; the file's name if left out.
        name: Option<Text>,
        /// What it is, for people.
        description: Option<Text>,
        /// Gravity, m/s²; [0, 0, -9.81] if left out.
        gravity: Option<Vec3Spec>,
    }

    /// How to run the model; the command line may change each.
    pub struct RunSpec("run") {
        /// Engine: `impulse`, `dae` or `lagrange`.
        engine: Option<Text>,
        /// Simulated time, s.
        duration: Option<Scalar>,
        /// Time step, s.
        step: Option<Scalar>,
        /// Largest joint gap, m.
        tolerance: Option<Scalar>,
        /// Largest velocity error of joints, m/s.
        velocity_tolerance: Option<Scalar>,
        /// Gaps and overlaps of bodies that touch which count as none, m; 1e-7 if left out, and at least `tolerance`.
        contact_tolerance: Option<Scalar>,
        /// Order of the method: 2, 4, 6 or 8.
        order: Option<Scalar>,
        /// Solver of the impulse engine: `direct`, `sweep` or `sweep-accelerated`.
        solver: Option<Text>,
        /// Rotation in free flight: `exact`, or `taylor:N` with the order N.
        flight: Option<Text>,
        /// Correct velocities at the end of each step; true if left out.
        velocity_correction: Option<bool>,
        /// Impacts of bodies and arrivals at end stops: `auto` (those that bounce are located in time), `exact` (all are), `coarse` (none is), or
        /// `none`: nothing touches.
        contact: Option<Text>,
        /// What the coefficient of restitution means: `poisson` (impulses, the default), `newton` (speeds) or `stronge` (work).
        impact: Option<Text>,
        /// Halve steps in which joints act harder than size and speed of the bodies explain; false if left out.
        gentle: Option<bool>,
        /// Largest position error over the run, m: step and order are then chosen, and `step` is but a hint.
        accuracy: Option<Scalar>,
        /// Seconds between recorded samples; every step if left out.
        sample: Option<Scalar>,
        /// Relative tolerance of the local error, of the dae engine; 1e-12 if left out.
        rtol: Option<Scalar>,
        /// Absolute tolerance of the local error, of the dae engine; the relative one if left out.
        atol: Option<Scalar>,
        /// Integrator of the dae engine: `auto`, `dop853` or `radau`.
        integrator: Option<Text>,
    }
}
