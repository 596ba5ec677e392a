//! Scenes of loose bodies for the tests.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

pub mod exact;

use gelenk_collide::{Touch, World};
use gelenk_model::contact::BodyContact;
use gelenk_model::math::{Mat3, Quat, Vec3};
use gelenk_model::model::Model;
use gelenk_model::shape::{Geometry, Shape};
use gelenk_model::state::{Pose, Twist};
use gelenk_model::{BodyDef, BodyId, Builder};

/// A body with one shape at its centre.
pub fn add(builder: &mut Builder, name: &str, geometry: Geometry, fixed: bool) -> BodyId {
    let mut def = BodyDef::new(name, 1.0, Mat3::identity());
    def.fixed = fixed;
    let body = builder.body(&def);
    builder.shapes(body, vec![Shape::new(geometry)]);
    builder.body_contact(body, BodyContact { collide: true, ..BodyContact::default() }, None);
    body
}

/// Loose bodies, one for each shape; a plane, height field or mesh is fixed.
pub fn model(shapes: &[Geometry]) -> Model {
    let mut builder = Builder::new("scene");
    for (i, geometry) in shapes.iter().enumerate() {
        let fixed = matches!(geometry, Geometry::Plane { .. } | Geometry::Heightfield { .. });
        add(&mut builder, &format!("b{i}"), geometry.clone(), fixed);
    }
    builder.finish()
}

pub struct Scene {
    pub world: World,
    pub poses: Vec<Pose>,
    pub twists: Vec<Twist>,
    pub out: Vec<Touch>,
}

impl Scene {
    pub fn new(shapes: &[Geometry]) -> Scene {
        let model = model(shapes);
        let n = model.n_bodies();
        Scene {
            world: World::new(&model).unwrap(),
            poses: vec![Pose::identity(); n],
            twists: vec![Twist::zero(); n],
            out: Vec::new(),
        }
    }

    /// Places a body (counted from 0).
    pub fn put(&mut self, body: usize, s: [f64; 3], rot: Quat) -> &mut Self {
        self.poses[body + 1] = pose(s, rot);
        self
    }

    /// Sets the velocity of a body (counted from 0).
    pub fn send(&mut self, body: usize, v: [f64; 3], omega: [f64; 3]) -> &mut Self {
        self.twists[body + 1] = Twist { s_dot: v.into(), omega: omega.into() };
        self
    }

    pub fn touches(&mut self, h: f64, margin: f64) -> &[Touch] {
        self.world.touches(&self.poses, &self.twists, h, margin, &mut self.out);
        &self.out
    }

    pub fn gap(&self, touch: &Touch) -> f64 {
        touch.gap(&self.poses[touch.bodies[0]], &self.poses[touch.bodies[1]])
    }

    pub fn gaps(&self) -> Vec<f64> {
        self.out.iter().map(|t| self.gap(t)).collect()
    }
}

pub fn pose(s: [f64; 3], rot: Quat) -> Pose {
    Pose { s: s.into(), rot: rot.to_rotation_matrix().into_inner() }
}

pub fn turn(axis: [f64; 3], angle: f64) -> Quat {
    Quat::from_axis_angle(&nalgebra::Unit::new_normalize(Vec3::from(axis)), angle)
}

pub fn cuboid(x: f64, y: f64, z: f64) -> Geometry {
    Geometry::Box { size: Vec3::new(x, y, z) }
}

pub fn ball(radius: f64) -> Geometry {
    Geometry::Sphere { radius }
}

pub fn floor() -> Geometry {
    Geometry::Plane { size: [1.0, 1.0] }
}
