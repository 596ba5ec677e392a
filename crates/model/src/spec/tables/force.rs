//! Springs, dampers, forces and constraints.

use crate::spec::{Scalar, Text, Vec3Spec, spec};

spec! {
    /// A spring between two points.
    pub struct SpringSpec("spring") {
        /// Unique name; `spring1`, `spring2`, ... if left out.
        name: Option<Text>,
        /// The two bodies; `world` is the ground.
        between: [Text; 2],
        /// Its ends in world coordinates at the start, m.
        points: Option<[Vec3Spec; 2]>,
        /// Its ends in each body's own frame, m; the origins if left out.
        anchors: Option<[Vec3Spec; 2]>,
        /// Length without load, m; the start's if left out.
        length: Option<Scalar>,
        /// Stiffness, N/m.
        stiffness: Scalar,
        /// Damping along the spring, N s/m.
        damping: Option<Scalar>,
    }

    /// A damper between two points.
    pub struct DamperSpec("damper") {
        /// Unique name; `damper1`, `damper2`, ... if left out.
        name: Option<Text>,
        /// The two bodies; `world` is the ground.
        between: [Text; 2],
        /// Its ends in world coordinates at the start, m.
        points: Option<[Vec3Spec; 2]>,
        /// Its ends in each body's own frame, m; the origins if left out.
        anchors: Option<[Vec3Spec; 2]>,
        /// Damping, N s/m.
        damping: Scalar,
    }

    /// A force or torque on a body; or, with `between`, a torque on the massless rod between two points.
    pub struct ForceSpec("force") {
        /// Unique name; `force1`, `force2`, ... if left out.
        name: Option<Text>,
        /// The body it acts on.
        body: Option<Text>,
        /// Two bodies or points: `torque` acts as a couple on the line between their origins.
        between: Option<[Text; 2]>,
        /// Force, N.
        force: Option<Vec3Spec>,
        /// Torque, N m.
        torque: Option<Vec3Spec>,
        /// Where it acts, world coordinates at the start, m; the centre of mass if left out.
        point: Option<Vec3Spec>,
        /// Where it acts, in the body's frame, m.
        anchor: Option<Vec3Spec>,
        /// Axes of `force` and `torque`: `world` (if left out) or `body`.
        frame: Option<Text>,
    }

    /// Viscous drag on a body in a resting medium.
    pub struct DragSpec("drag") {
        /// Unique name; `drag1`, `drag2`, ... if left out.
        name: Option<Text>,
        /// The body it acts on.
        body: Text,
        /// Force over velocity, N s/m.
        linear: Option<Scalar>,
        /// Torque over angular velocity, N m s/rad.
        angular: Option<Scalar>,
        /// Where the force acts, in the body's frame, m; the centre of mass if left out.
        anchor: Option<Vec3Spec>,
    }

    /// An equation that positions obey.
    pub struct ConstraintSpec("constraint") {
        /// Unique name.
        name: Text,
        /// The equation, such as "P.y^2 = P.x^2*(1 - P.x^2)".
        equation: Text,
        /// Largest allowed error, in the equation's own unit; the run's if left out.
        tolerance: Option<Scalar>,
    }
}
