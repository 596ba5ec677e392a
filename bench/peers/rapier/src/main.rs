//! A chain of thin rods in Rapier: `gelenk-peer-rapier POINTS CLOSED STEP DURATION ITERATIONS`, POINTS as x,z x,z ...
//!
//! Prints one JSON object: centres of the rods at t = 1 s, time of the processor, largest gap, mean energy error.

mod pyramid;

use cpu_time::ThreadTime;
use rapier3d_f64::prelude::*;

struct World {
    bodies: RigidBodySet,
    joints: ImpulseJointSet,
    handles: Vec<RigidBodyHandle>,
    lengths: Vec<f64>,
    anchors: Vec<(RigidBodyHandle, Vector, RigidBodyHandle, Vector)>,
}

fn world(points: &[Vector], closed: bool) -> World {
    let mut w = World {
        bodies: RigidBodySet::new(),
        joints: ImpulseJointSet::new(),
        handles: Vec::new(),
        lengths: Vec::new(),
        anchors: Vec::new(),
    };
    let ground = w.bodies.insert(RigidBodyBuilder::fixed().build());
    let mut last = (ground, points[0]);
    for ends in points.windows(2) {
        let along = ends[1] - ends[0];
        let length = along.length();
        // Turned about y so that the rod lies along its own x.
        let angle = (-along.z).atan2(along.x);
        let j = length.powi(3) / 12.0;
        // A moment about the axis that the planar motion never asks for.
        let mass = MassProperties::new(Vector::ZERO, length, Vector::new(0.01 * j, j, j));
        let body = RigidBodyBuilder::dynamic()
            .translation((ends[0] + ends[1]) / 2.0)
            .rotation(Vector::new(0.0, angle, 0.0))
            .additional_mass_properties(mass)
            .can_sleep(false)
            .build();
        let body = w.bodies.insert(body);
        let anchor = Vector::new(-length / 2.0, 0.0, 0.0);
        w.join(last, (body, anchor));
        w.handles.push(body);
        w.lengths.push(length);
        last = (body, -anchor);
    }
    if closed {
        w.join(last, (ground, points[points.len() - 1]));
    }
    w
}

impl World {
    fn join(&mut self, a: (RigidBodyHandle, Vector), b: (RigidBodyHandle, Vector)) {
        let joint = SphericalJointBuilder::new()
            .local_anchor1(a.1)
            .local_anchor2(b.1)
            .contacts_enabled(false);
        self.joints.insert(a.0, b.0, joint, true);
        self.anchors.push((a.0, a.1, b.0, b.1));
    }

    fn place(&self, body: RigidBodyHandle, point: Vector) -> Vector {
        let body = &self.bodies[body];
        *body.rotation() * point + body.translation()
    }

    fn gap(&self) -> f64 {
        let gaps =
            self.anchors.iter().map(|&(a, p, b, q)| (self.place(a, p) - self.place(b, q)).length());
        gaps.fold(0.0, f64::max)
    }

    fn energy(&self) -> f64 {
        let each = self.handles.iter().zip(&self.lengths).map(|(&body, &m)| {
            let body = &self.bodies[body];
            let (v, w) = (body.linvel(), body.angvel());
            let j = m.powi(3) / 12.0;
            0.5 * m * v.length_squared()
                + 0.5 * j * w.length_squared()
                + m * 9.81 * body.translation().z
        });
        each.sum()
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if args[1] == "pyramid" {
        let number = |k: usize| args[k].parse::<f64>().expect("a number");
        return pyramid::run(number(2), number(3), args[4].parse().expect("iterations"));
    }
    let points: Vec<Vector> = args[1]
        .split(' ')
        .map(|p| {
            let (x, z) = p.split_once(',').expect("x,z");
            Vector::new(x.parse().expect("x"), 0.0, z.parse().expect("z"))
        })
        .collect();
    let (closed, h, duration) = (
        args[2] == "1",
        args[3].parse::<f64>().expect("step"),
        args[4].parse::<f64>().expect("duration"),
    );
    let mut w = world(&points, closed);
    let parameters = IntegrationParameters {
        dt: h,
        num_solver_iterations: args[5].parse().expect("iterations"),
        ..IntegrationParameters::default()
    };
    let (mut pipeline, mut islands) = (PhysicsPipeline::new(), IslandManager::new());
    let (mut broad, mut narrow) = (BroadPhaseBvh::new(), NarrowPhase::new());
    let (mut colliders, mut multibodies) = (ColliderSet::new(), MultibodyJointSet::new());
    let (mut soft, mut ccd) = (SoftBodySet::new(), CCDSolver::new());
    let steps = (duration / h).round() as usize;
    let at_one = (1.0 / h).round() as usize;
    let start = w.energy();
    let (mut gap, mut energy, mut cpu, mut places) = (0.0_f64, 0.0, 0.0, Vec::new());
    for i in 1..=steps {
        let begin = ThreadTime::now();
        pipeline.step(
            Vector::new(0.0, 0.0, -9.81),
            &parameters,
            &mut islands,
            &mut broad,
            &mut narrow,
            &mut w.bodies,
            &mut colliders,
            &mut w.joints,
            &mut multibodies,
            &mut soft,
            &mut ccd,
            &(),
            &(),
        );
        cpu += begin.elapsed().as_secs_f64();
        gap = gap.max(w.gap());
        energy += (w.energy() - start).abs() / steps as f64;
        if i == at_one {
            places = w.handles.iter().map(|&b| w.bodies[b].translation()).collect();
        }
    }
    let places: Vec<String> = places.iter().map(|p| format!("[{},{},{}]", p.x, p.y, p.z)).collect();
    println!(
        "{{\"cpu\":{cpu},\"steps\":{steps},\"gap\":{gap},\"energy\":{energy},\"at_one\":[{}]}}",
        places.join(",")
    );
}
