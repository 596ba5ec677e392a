//! Building a model in code; the file loader goes through here too.

use gelenk_expr::Pool;

use crate::body::{Body, BodyId, BodyKind, SymbolicInertia};
use crate::bound::add_bound_rows;
use crate::contact::{BodyContact, ContactSettings};
use crate::force::{Force, ForceKind};
use crate::joint::{Joint, JointFrame, JointId, JointKind, JointProperties, MAX_COORDINATES};
use crate::math::{Mat3, Quat, Vec3};
use crate::model::{Input, Marker, Model, Parameter};
use crate::posing::{self, Carried, CoordinateStart};
use crate::rows::{CoordinateTie, RowBlock, RowKind};
use crate::settings::RunSettings;
use crate::signal::{BodyVector, Signals};
use crate::state::State;
use crate::{equation::Equation, shape::Shape};

/// A body as its user describes it, in the file frame.
#[derive(Clone, Debug)]
pub struct BodyDef {
    /// Unique name.
    pub name: String,
    /// Mass, kg.
    pub mass: f64,
    /// Inertia tensor about the centre of mass, file axes, kg m².
    pub inertia: Mat3,
    /// Centre of mass in the file frame, m.
    pub center_of_mass: Vec3,
    /// Origin of the file frame in the world, m.
    pub position: Vec3,
    /// Rotation of the file frame.
    pub rotation: Quat,
    /// Velocity of the file frame's origin, m/s.
    pub velocity: Vec3,
    /// Angular velocity, world axes, rad/s.
    pub angular_velocity: Vec3,
    /// Held in space.
    pub fixed: bool,
}

impl BodyDef {
    /// A body with mass and inertia about its centre, at rest at the origin.
    pub fn new(name: &str, mass: f64, inertia: Mat3) -> Self {
        BodyDef {
            name: name.to_owned(),
            mass,
            inertia,
            center_of_mass: Vec3::zeros(),
            position: Vec3::zeros(),
            rotation: Quat::identity(),
            velocity: Vec3::zeros(),
            angular_velocity: Vec3::zeros(),
            fixed: false,
        }
    }

    /// The same at a place.
    #[must_use]
    pub fn at(mut self, position: Vec3) -> Self {
        self.position = position;
        self
    }
}

/// Builds a [`Model`] element by element.
#[derive(Clone, Debug)]
pub struct Builder {
    model: Model,
}

impl Builder {
    /// An empty model: the world alone, gravity 9.81 m/s² along −z.
    pub fn new(name: &str) -> Self {
        let world = Body {
            name: "world".to_owned(),
            kind: BodyKind::World,
            fixed: true,
            is_charge: false,
            mass: 0.0,
            mass_inv: 0.0,
            inertia: Vec3::zeros(),
            inertia_inv: Vec3::zeros(),
            frame_origin: Vec3::zeros(),
            frame_rot: Quat::identity(),
            symbolic: None,
            shapes: Vec::new(),
            contact: BodyContact::default(),
            color: None,
        };
        let start = State {
            t: 0.0,
            s: vec![Vec3::zeros()],
            s_dot: vec![Vec3::zeros()],
            rot: vec![Quat::identity()],
            omega: vec![Vec3::zeros()],
            impulse: Vec::new(),
            coordinate: Vec::new(),
            held: Vec::new(),
            active: Vec::new(),
            contacts: Vec::new(),
        };
        let model = Model {
            name: name.to_owned(),
            description: String::new(),
            gravity: Vec3::new(0.0, 0.0, -9.81),
            bodies: vec![world],
            joints: Vec::new(),
            rows: Vec::new(),
            forces: Vec::new(),
            markers: Vec::new(),
            signals: Signals::default(),
            parameters: Vec::new(),
            inputs: Vec::new(),
            pool: Pool::default(),
            contact: ContactSettings::default(),
            run: RunSettings::default(),
            start,
        };
        Builder { model }
    }

    /// Sets gravity, m/s².
    pub fn gravity(&mut self, gravity: Vec3) {
        self.model.gravity = gravity;
    }

    /// Sets the run settings.
    pub fn run(&mut self, run: RunSettings) {
        self.model.run = run;
    }

    /// The model so far.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Adds a rigid body.
    pub fn body(&mut self, def: &BodyDef) -> BodyId {
        let (inertia, principal) = principal_axes(&def.inertia);
        let lever = def.rotation * def.center_of_mass;
        let free = |x: f64| if def.fixed || x == 0.0 { 0.0 } else { 1.0 / x };
        let body = Body {
            name: def.name.clone(),
            kind: BodyKind::Rigid,
            fixed: def.fixed,
            is_charge: false,
            mass: def.mass,
            mass_inv: free(def.mass),
            inertia,
            inertia_inv: inertia.map(free),
            frame_origin: -(principal.inverse() * def.center_of_mass),
            frame_rot: principal.inverse(),
            symbolic: None,
            shapes: Vec::new(),
            contact: BodyContact::default(),
            color: None,
        };
        self.push(
            body,
            def.position + lever,
            def.rotation * principal,
            def.velocity + def.angular_velocity.cross(&lever),
            def.angular_velocity,
        )
    }

    /// Adds a point mass.
    pub fn point(
        &mut self,
        name: &str,
        mass: f64,
        position: Vec3,
        velocity: Vec3,
        fixed: bool,
    ) -> BodyId {
        let body = Body {
            name: name.to_owned(),
            kind: BodyKind::Point,
            fixed,
            is_charge: false,
            mass,
            mass_inv: if fixed || mass == 0.0 { 0.0 } else { 1.0 / mass },
            inertia: Vec3::zeros(),
            inertia_inv: Vec3::zeros(),
            frame_origin: Vec3::zeros(),
            frame_rot: Quat::identity(),
            symbolic: None,
            shapes: Vec::new(),
            contact: BodyContact::default(),
            color: None,
        };
        self.push(body, position, Quat::identity(), velocity, Vec3::zeros())
    }

    /// Makes a point mass the charge of a circuit: [`Body::is_charge`].
    pub fn charge(&mut self, body: BodyId) {
        self.model.bodies[body.index()].is_charge = true;
    }

    fn push(&mut self, body: Body, s: Vec3, rot: Quat, s_dot: Vec3, omega: Vec3) -> BodyId {
        let id = BodyId(u32::try_from(self.model.bodies.len()).expect("fewer than 2³² bodies"));
        self.model.bodies.push(body);
        let start = &mut self.model.start;
        start.s.push(s);
        start.rot.push(rot);
        start.s_dot.push(s_dot);
        start.omega.push(omega);
        id
    }

    /// Lets a body begin elsewhere than where it was put, in its file frame; what is `None` stays. Joints keep their
    /// places on the bodies. Call [`follow_coordinates`](Builder::follow_coordinates) at the end.
    pub fn begin_at(
        &mut self,
        body: BodyId,
        position: Option<Vec3>,
        rotation: Option<Quat>,
        velocity: Option<Vec3>,
        angular_velocity: Option<Vec3>,
    ) {
        let i = body.index();
        let about = &self.model.bodies[i];
        let start = &mut self.model.start;
        let (origin, rot, omega) = (about.frame_origin, start.rot[i], start.omega[i]);
        let old_position = start.s[i] + rot * origin;
        let old_velocity = start.s_dot[i] + omega.cross(&(rot * origin));
        let rot = rotation.map_or(rot, |rotation| rotation * about.frame_rot.inverse());
        let omega = angular_velocity.unwrap_or(omega);
        let lever = rot * origin;
        start.rot[i] = rot;
        start.omega[i] = omega;
        // What nothing is said about keeps its bits.
        if position.is_some() || rotation.is_some() {
            start.s[i] = position.unwrap_or(old_position) - lever;
        }
        if velocity.is_some() || angular_velocity.is_some() || rotation.is_some() {
            start.s_dot[i] = velocity.unwrap_or(old_velocity) - omega.cross(&lever);
        }
    }

    /// Takes joint coordinates at the start from the postures of the bodies, each with the full turns it had.
    pub fn follow_coordinates(&mut self) {
        posing::follow(&mut self.model);
    }

    /// Lets joints begin at coordinates and rates: [`posing::begin_joints`].
    pub fn begin_joints(
        &mut self,
        wanted: &[CoordinateStart],
    ) -> Result<Vec<Option<Carried>>, String> {
        posing::begin_joints(&mut self.model, wanted)
    }

    /// Sets what the model is, for people.
    pub fn description(&mut self, description: &str) {
        description.clone_into(&mut self.model.description);
    }

    /// Sets materials and collision filters.
    pub fn contact(&mut self, contact: ContactSettings) {
        self.model.contact = contact;
    }

    /// Sets how a body takes part in contact, and its colour.
    pub fn body_contact(&mut self, body: BodyId, contact: BodyContact, color: Option<[f64; 3]>) {
        let body = &mut self.model.bodies[body.index()];
        body.contact = contact;
        body.color = color;
    }

    /// Gives a body its mass properties with parameters as symbols.
    pub fn symbolic(&mut self, body: BodyId, symbolic: SymbolicInertia) {
        self.model.bodies[body.index()].symbolic = Some(symbolic);
    }

    /// Gives a body its shapes (looks and contact; mass and inertia are already in).
    pub fn shapes(&mut self, body: BodyId, shapes: Vec<Shape>) {
        self.model.bodies[body.index()].shapes = shapes;
    }

    /// A world point, as it lies at the start, in the principal frame of a body.
    pub fn local_point(&self, body: BodyId, world: &Vec3) -> Vec3 {
        let pose = self.model.start.pose(body);
        pose.rot.transpose() * (world - pose.s)
    }

    /// A point in a body's file frame, in its principal frame.
    pub fn from_frame(&self, body: BodyId, point: &Vec3) -> Vec3 {
        let body = &self.model.bodies[body.index()];
        body.frame_origin + body.frame_rot * point
    }

    /// The joint frames that meet at the world point `point` with axis `axis` (any length but zero) at the start.
    pub fn joint_frames(&self, bodies: [BodyId; 2], point: &Vec3, axis: &Vec3) -> [JointFrame; 2] {
        self.model.start.joint_frames(bodies, point, axis)
    }

    /// The same with z along `axis` and x along `axis2`, which must be at a right angle (to 1e-6 rad): the two axes of a
    /// universal joint, or a chosen zero of an angle.
    pub fn joint_frames_two_axes(
        &self,
        bodies: [BodyId; 2],
        point: &Vec3,
        axis: &Vec3,
        axis2: &Vec3,
    ) -> Result<[JointFrame; 2], String> {
        let (n, x) = (axis.normalize(), axis2.normalize());
        let cosine = n.dot(&x);
        if cosine.is_nan() {
            return Err("an axis has no direction".to_owned());
        }
        if cosine.abs() > 1e-6 {
            let degrees = cosine.clamp(-1.0, 1.0).acos().to_degrees();
            return Err(format!(
                "the two axes must be at a right angle; they are at {degrees:.4}°"
            ));
        }
        let x = (x - n * cosine).normalize();
        Ok(self.model.start.frames_with_axes(
            bodies,
            point,
            &Mat3::from_columns(&[x, n.cross(&x), n]),
        ))
    }

    /// Adds a joint.
    pub fn joint(
        &mut self,
        name: &str,
        bodies: [BodyId; 2],
        kind: JointKind,
        tolerance: Option<f64>,
    ) -> JointId {
        add_joint(&mut self.model, name, bodies, kind, tolerance)
    }

    /// Sets end stops, friction and strength of a joint.
    pub fn joint_properties(&mut self, joint: JointId, properties: JointProperties) {
        self.model.joints[joint.index()].properties = properties;
    }

    /// Adds a condition on joint coordinates.
    pub fn tie(&mut self, name: &str, tie: CoordinateTie) {
        self.tie_within(name, tie, None);
    }

    /// Adds a condition on joint coordinates with a tolerance of its own, rad or m.
    pub fn tie_within(&mut self, name: &str, tie: CoordinateTie, tolerance: Option<f64>) {
        let mut bodies = Vec::new();
        for (joint, _, _) in &tie.terms {
            for body in self.model.joints[joint.index()].bodies {
                if !bodies.contains(&body) {
                    bodies.push(body);
                }
            }
        }
        self.rows(name, RowKind::Tie(tie), bodies, 1, tolerance);
    }

    /// Adds an equation.
    pub fn equation(&mut self, name: &str, equation: Equation, tolerance: Option<f64>) {
        let mut bodies = Vec::new();
        for (vector, _) in &equation.coordinates {
            if !bodies.contains(&vector.body) {
                bodies.push(vector.body);
            }
        }
        self.rows(name, RowKind::Equation(Box::new(equation)), bodies, 1, tolerance);
    }

    fn rows(
        &mut self,
        name: &str,
        kind: RowKind,
        bodies: Vec<BodyId>,
        n_rows: usize,
        tolerance: Option<f64>,
    ) {
        add_rows(&mut self.model, name, kind, bodies, n_rows, tolerance);
    }

    /// Adds a force element.
    pub fn force(&mut self, name: &str, kind: ForceKind) {
        self.model.forces.push(Force { name: name.to_owned(), kind });
    }

    /// Adds a named body-fixed point, given in the body's principal frame.
    pub fn marker(&mut self, name: &str, body: BodyId, local: Vec3) {
        let vector = BodyVector { body, local, is_point: true };
        self.model.markers.push(Marker { name: name.to_owned(), vector });
    }

    /// Adds an input with its value as long as nobody sets it; returns its number.
    pub fn input(&mut self, name: &str, value: f64) -> usize {
        self.model.inputs.push(Input { name: name.to_owned(), value });
        self.model.inputs.len() - 1
    }

    /// Sets expressions: pool, parameters and signals.
    pub fn expressions(&mut self, pool: Pool, parameters: Vec<Parameter>, signals: Signals) {
        self.model.pool = pool;
        self.model.parameters = parameters;
        self.model.signals = signals;
    }

    /// The finished model: end stops and friction get their rows, thin rods held off their axis a stand-in moment ([`crate::spin`]).
    pub fn finish(mut self) -> Model {
        let n = u32::try_from(self.model.joints.len()).expect("fewer than 2³² joints");
        for i in 0..n {
            add_bound_rows(&mut self.model, JointId(i));
        }
        self.model.hold_spins();
        self.model
    }
}

impl Model {
    /// Adds a joint with its stops and friction to a finished model, at the poses of its start. Its rows come last.
    ///
    /// For models that run see `Simulation::add_joint` of the impulse engine, which checks that it is closed.
    pub fn add_joint(
        &mut self,
        name: &str,
        bodies: [BodyId; 2],
        kind: JointKind,
        tolerance: Option<f64>,
        properties: JointProperties,
    ) -> JointId {
        let id = add_joint(self, name, bodies, kind, tolerance);
        self.joints[id.index()].properties = properties;
        add_bound_rows(self, id);
        self.hold_spins();
        id
    }
}

/// A joint and its rows.
fn add_joint(
    model: &mut Model,
    name: &str,
    bodies: [BodyId; 2],
    kind: JointKind,
    tolerance: Option<f64>,
) -> JointId {
    let id = JointId(u32::try_from(model.joints.len()).expect("fewer than 2³² joints"));
    let first_coordinate = model.n_coordinates();
    let equations = kind.equations();
    let n_rows = equations.n_rows();
    let mut q = [0.0; MAX_COORDINATES];
    let [a, b] = bodies.map(|id| model.start.pose(id));
    equations.coordinate(&a, &b, &mut q);
    let n_coordinates = equations.coordinates().len();
    model.start.coordinate.extend_from_slice(&q[..n_coordinates]);
    model.start.active.push(true);
    model.joints.push(Joint {
        name: name.to_owned(),
        bodies,
        kind,
        tolerance,
        first_coordinate,
        properties: JointProperties::default(),
    });
    add_rows(model, name, RowKind::Joint(id), bodies.to_vec(), n_rows, tolerance);
    id
}

/// A row block at the end of all.
pub(crate) fn add_rows(
    model: &mut Model,
    name: &str,
    kind: RowKind,
    bodies: Vec<BodyId>,
    n_rows: usize,
    tolerance: Option<f64>,
) {
    let first_row = model.n_rows();
    model.start.impulse.resize(first_row + n_rows, 0.0);
    model.rows.push(RowBlock { name: name.to_owned(), kind, bodies, first_row, n_rows, tolerance });
}

/// Principal moments and the rotation whose columns are the principal axes.
///
/// A tensor that is diagonal up to rounding keeps its axes, so that boxes and rods turn with their file frame.
pub fn principal_axes(inertia: &Mat3) -> (Vec3, Quat) {
    let largest = inertia.amax();
    let off = inertia[(0, 1)].abs().max(inertia[(0, 2)].abs()).max(inertia[(1, 2)].abs());
    if off <= 1e-14 * largest {
        return (inertia.diagonal(), Quat::identity());
    }
    let eigen = inertia.symmetric_eigen();
    let mut axes = eigen.eigenvectors;
    if axes.determinant() < 0.0 {
        axes.column_mut(2).neg_mut();
    }
    let rotation = nalgebra::Rotation3::from_matrix_unchecked(axes);
    // A thin rod's zero moment comes out as rounding noise of either sign.
    let moments = eigen.eigenvalues.map(|j| if j.abs() <= 1e-14 * largest { 0.0 } else { j });
    (moments, Quat::from_rotation_matrix(&rotation))
}
