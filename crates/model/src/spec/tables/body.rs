//! Bodies, points, markers, shapes, materials.

use super::{InertiaSpec, RotationSpec};
use crate::spec::{OneOrMany, Scalar, Text, Vec3Spec, spec};

spec! {
    /// A rigid body. Mass and inertia are given, or follow from its shapes.
    pub struct BodySpec("body") {
        ..keys: BodyKeys,
        /// Mass, kg; with shapes and no mass, density times volume.
        mass: Option<Scalar>,
        /// Density of its shapes, kg/m³.
        density: Option<Scalar>,
        /// Moments of inertia about the centre of mass along the body's axes, kg m²: three principal moments, a 3×3
        /// tensor, or { xx, yy, zz, xy, xz, yz }.
        inertia: Option<InertiaSpec>,
        /// Centre of mass in the body's frame, m; from the shapes, or the origin.
        center_of_mass: Option<Vec3Spec>,
        /// Its shape.
        shape: Option<ShapeSpec>,
        /// Several shapes.
        shapes: Vec<ShapeSpec>,
        /// How its frame is turned at the start.
        rotation: Option<RotationSpec>,
        /// Two points between which it lies at the start, m, instead of `position` and `rotation`: its origin is
        /// midway, its z axis points from the first to the second, and its rods and cylinders get that length.
        ends: Option<[Vec3Spec; 2]>,
        /// Angular velocity at the start, world axes, rad/s.
        angular_velocity: Option<Vec3Spec>,
        /// Colour for viewers: `#rrggbb`, a name, or [r, g, b] from 0 to 1.
        color: Option<super::Value>,
        /// Material of its shapes, for contact.
        material: Option<Text>,
        /// Whether its shapes touch others.
        collide: Option<bool>,
        /// Groups it belongs to, for `[[ignore]]`.
        group: OneOrMany<Text>,
    }

    /// What bodies and points share.
    pub struct BodyKeys {
        /// Unique name: letters, digits, `_` and `-`.
        name: Text,
        /// Origin of its frame at the start, m; the origin if left out.
        position: Option<Vec3Spec>,
        /// Velocity of that origin at the start, m/s; at rest if left out.
        velocity: Option<Vec3Spec>,
        /// Held in space.
        fixed: Option<bool>,
    }

    /// A point mass.
    pub struct PointSpec("point") {
        ..keys: BodyKeys,
        /// Mass, kg.
        mass: Option<Scalar>,
    }

    /// A named point on a body, for expressions and plots.
    pub struct MarkerSpec("marker") {
        /// Unique name.
        name: Text,
        /// The body it sits on.
        body: Text,
        /// Its place in the body's frame, m; the origin if left out.
        position: Option<Vec3Spec>,
    }

    /// A shape: one geometry, its place on the body and its mass. Axes lie along z, origins in the centre.
    pub struct ShapeSpec {
        /// A box.
        cuboid as "box": Option<BoxSpec>,
        /// A ball.
        sphere: Option<SphereSpec>,
        /// A cylinder along z.
        cylinder: Option<RoundSpec>,
        /// A cylinder along z with half balls at its ends; `length` is the cylinder's.
        capsule: Option<RoundSpec>,
        /// A cone along z: base at -length/2, tip at +length/2. Its centre of mass is length/4 above the base.
        cone: Option<RoundSpec>,
        /// A thin rod along z: no moment of inertia about z.
        rod: Option<RodSpec>,
        /// The half space below z = 0, for fixed bodies.
        plane: Option<PlaneSpec>,
        /// Heights over a grid in x and y, for fixed bodies.
        heightfield: Option<HeightfieldSpec>,
        /// A triangle mesh from an STL, OBJ or Collada (dae) file.
        mesh: Option<MeshSpec>,
        /// Its place on the body, m; the origin if left out.
        position: Option<Vec3Spec>,
        /// How it is turned on the body.
        rotation: Option<RotationSpec>,
        /// Its own mass, kg.
        mass: Option<Scalar>,
        /// Its own density, kg/m³.
        density: Option<Scalar>,
        /// Its own material, for contact.
        material: Option<Text>,
        /// false: for looks only, without mass and contact.
        physical: Option<bool>,
        /// Its own colour.
        color: Option<super::Value>,
    }

    /// A box.
    pub struct BoxSpec {
        /// Edge lengths along x, y, z, m.
        size: Vec3Spec,
    }

    /// A ball.
    pub struct SphereSpec {
        /// Radius, m.
        radius: Scalar,
    }

    /// A round shape along z.
    pub struct RoundSpec {
        /// Radius, m.
        radius: Scalar,
        /// Length along z, m; the distance of the body's `ends` if left out.
        length: Option<Scalar>,
    }

    /// A thin rod along z.
    pub struct RodSpec {
        /// Length, m; the distance of the body's `ends` if left out.
        length: Option<Scalar>,
        /// Radius for looks, m; length/50 if left out.
        radius: Option<Scalar>,
    }

    /// A half space.
    pub struct PlaneSpec {
        /// Edge lengths of the drawn piece, m; 10 by 10 if left out.
        size: Option<[Scalar; 2]>,
    }

    /// Heights over a grid, row by row: `heights[j][i]` at `x = (i/(nx-1) - 1/2) size[0]`, `y = (j/(ny-1) - 1/2) size[1]`.
    pub struct HeightfieldSpec {
        /// Edge lengths along x and y, m.
        size: [Scalar; 2],
        /// Rows of heights, m.
        heights: Vec<Vec<Scalar>>,
    }

    /// A triangle mesh. It must be closed for mass and inertia.
    pub struct MeshSpec {
        /// Path of an STL, OBJ or Collada (dae) file, relative to this file.
        file: Text,
        /// Factor on its coordinates (0.001 for millimetres), one or three; 1 if left out.
        scale: Option<super::ScaleSpec>,
    }

    /// A material, for contact.
    pub struct MaterialSpec("material") {
        /// Unique name.
        name: Text,
        /// Coefficient of sliding friction.
        friction: Option<Scalar>,
        /// Coefficient of static friction; `friction` if left out.
        static_friction: Option<Scalar>,
        /// Restitution from 0 (plastic) to 1 (elastic).
        restitution: Option<Scalar>,
        /// Rolling resistance, m.
        rolling_friction: Option<Scalar>,
        /// Resistance to turning on the spot, m: torque over normal force.
        torsional_friction: Option<Scalar>,
        /// Density, kg/m³, for bodies of this material that give none.
        density: Option<Scalar>,
        /// Colour for viewers.
        color: Option<super::Value>,
    }

    /// Contact values of a pair of materials; without it, friction is the geometric mean and restitution the larger.
    pub struct ContactSpec("contact") {
        /// The two materials.
        materials: [Text; 2],
        /// Coefficient of sliding friction.
        friction: Option<Scalar>,
        /// Coefficient of static friction; `friction` if left out.
        static_friction: Option<Scalar>,
        /// Restitution from 0 (plastic) to 1 (elastic).
        restitution: Option<Scalar>,
        /// Rolling resistance, m.
        rolling_friction: Option<Scalar>,
        /// Resistance to turning on the spot, m: torque over normal force.
        torsional_friction: Option<Scalar>,
    }

    /// Two bodies or groups that do not touch.
    pub struct IgnoreSpec("ignore") {
        /// Their names.
        between: [Text; 2],
    }
}
