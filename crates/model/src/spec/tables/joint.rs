//! Joints and couplings.

use super::CurveSpec;
use crate::spec::{Direction, OneOrMany, PerCoordinate, Scalar, Text, Vec3Spec, spec};

spec! {
    /// A joint between two bodies.
    pub struct JointSpec("joint") {
        /// Unique name.
        name: Text,
        /// Type: ball, hinge, fixed, slider, ...
        kind as "type": Text,
        /// The two bodies; `world` is the ground.
        between: [Text; 2],
        /// Where the bodies meet, world coordinates at the start, m.
        point: Option<Vec3Spec>,
        /// The same for each body, where they do not meet in a point (distance, rope, slider).
        points: Option<[Vec3Spec; 2]>,
        /// Where they meet, in each body's own frame, m.
        anchors: Option<[Vec3Spec; 2]>,
        /// The joint's axis, world coordinates at the start; any length but zero. [0, 1, 0], or "y", "-y", ...
        axis: Option<Direction>,
        /// The axis in each body's own frame. Universal: the first in the first body's, the second in the second's.
        axes: Option<[Direction; 2]>,
        /// The second axis (universal joint), world coordinates at the start.
        axis2: Option<Direction>,
        /// What its coordinate is as drawn, rad or m; 0 if left out. Moves the zero of the coordinate and no body: to begin elsewhere there is
        /// `[[start]]`. For hinge, slider and rail.
        drawn_at: Option<Scalar>,
        /// The same in degrees.
        drawn_at_deg: Option<Scalar>,
        /// Old name of `drawn_at`.
        start: Option<Scalar>,
        /// Old name of `drawn_at_deg`.
        start_deg: Option<Scalar>,
        /// Largest allowed gap, m; the run's if left out.
        tolerance: Option<Scalar>,
        /// Damping of its coordinate, N m s or N s/m; a list has one number for each coordinate.
        damping: Option<PerCoordinate>,
        /// Stiffness of a spring on its coordinate, N m or N/m; a list has one number for each coordinate.
        stiffness: Option<PerCoordinate>,
        /// Where that spring is without load, rad or m; the start if left out; a list has one number for each coordinate.
        rest: Option<PerCoordinate>,
        /// The same in degrees.
        rest_deg: Option<Scalar>,
        /// Dry friction in its coordinate: largest torque or force, N m or N; a list has one number for each coordinate.
        friction: Option<PerCoordinate>,
        /// End stops.
        limits: OneOrMany<LimitSpec>,
        /// The force at which it breaks, N.
        break_force: Option<Scalar>,
        /// The torque at which it breaks, N m.
        break_torque: Option<Scalar>,
        /// Whether its two bodies may touch each other; false if left out.
        collide: Option<bool>,
        /// A servo that follows a target.
        drive: OneOrMany<DriveSpec>,
        /// A given torque or force.
        motor: OneOrMany<MotorSpec>,
        /// A prescribed motion.
        motion: OneOrMany<MotionSpec>,
        /// Screw: travel for a full turn, m.
        pitch: Option<Scalar>,
        /// Distance and rope: length, m; the start's if left out.
        length: Option<Scalar>,
        /// Curve: in the first body's frame.
        curve: Option<CurveSpec>,
        /// Surface: an equation in x, y, z of the first body's frame, such as "x^2 + y^2 = r^2".
        surface: Option<Text>,
    }

    /// End stops of a joint coordinate.
    pub struct LimitSpec {
        /// Which coordinate, if the joint has several.
        coordinate: Option<Text>,
        /// Smallest value, rad or m.
        min: Option<Scalar>,
        /// Largest value, rad or m.
        max: Option<Scalar>,
        /// Smallest value, degrees.
        min_deg: Option<Scalar>,
        /// Largest value, degrees.
        max_deg: Option<Scalar>,
        /// Restitution of the stop from 0 to 1; 0 if left out.
        restitution: Option<Scalar>,
    }

    /// A servo: torque = stiffness (target - q) + damping (target rate - rate), cut at the largest.
    pub struct DriveSpec {
        /// Which coordinate, if the joint has several.
        coordinate: Option<Text>,
        /// Target angle, rad.
        angle: Option<Scalar>,
        /// Target angle, degrees.
        angle_deg: Option<Scalar>,
        /// Target position, m.
        position: Option<Scalar>,
        /// Target velocity, rad/s or m/s.
        velocity: Option<Scalar>,
        /// Gain on the error, N m/rad or N/m.
        stiffness: Option<Scalar>,
        /// Gain on the velocity error, N m s/rad or N s/m.
        damping: Option<Scalar>,
        /// Largest torque, N m.
        max_torque: Option<Scalar>,
        /// Largest force, N.
        max_force: Option<Scalar>,
        /// Brake that grows with speed, N m s/rad or N s/m.
        brake: Option<Scalar>,
    }

    /// A given torque or force on a joint coordinate.
    pub struct MotorSpec {
        /// Which coordinate, if the joint has several.
        coordinate: Option<Text>,
        /// Torque on the second body, N m.
        torque: Option<Scalar>,
        /// Force on the second body, N.
        force: Option<Scalar>,
    }

    /// A prescribed motion of a joint coordinate, a function of time.
    pub struct MotionSpec {
        /// Which coordinate, if the joint has several.
        coordinate: Option<Text>,
        /// The angle, rad.
        angle: Option<Scalar>,
        /// The angle, degrees.
        angle_deg: Option<Scalar>,
        /// The position, m.
        position: Option<Scalar>,
    }

    /// A gear: q1 - q1(0) = ratio (q2 - q2(0)) for the coordinates of two joints, or any sum of them held constant.
    pub struct GearSpec("gear") {
        /// Unique name.
        name: Text,
        /// The joints.
        joints: Vec<Text>,
        /// Which coordinate of each, if they have several.
        coordinates: Vec<Text>,
        /// Turns of the first joint for one turn of the second.
        ratio: Option<Scalar>,
        /// Factors r of the condition sum(r q) = constant, one a joint.
        ratios: Vec<Scalar>,
        /// Largest allowed error, rad or m; the run's if left out.
        tolerance: Option<Scalar>,
    }
}
