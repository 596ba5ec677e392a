//! The gallery's pyramid: `gelenk-peer-rapier pyramid STEP DURATION ITERATIONS`. Bricks may not sleep: a step is to be a step.

use cpu_time::ThreadTime;
use rapier3d_f64::prelude::*;

const ROWS: usize = 10;
const LENGTH: f64 = 0.2;
const GAP: f64 = 0.02;
const HEIGHT: f64 = 0.1;

pub fn run(h: f64, duration: f64, iterations: usize) {
    let (mut bodies, mut colliders) = (RigidBodySet::new(), ColliderSet::new());
    let floor = ColliderBuilder::cuboid(50.0, 50.0, 1.0).translation(Vector::new(0.0, 0.0, -1.0));
    let floor = floor.friction(0.6);
    let ground = bodies.insert(RigidBodyBuilder::fixed().build());
    colliders.insert_with_parent(floor.build(), ground, &mut bodies);
    let mut bricks = Vec::new();
    for r in 0..ROWS {
        for j in 0..ROWS - r {
            let x = (LENGTH + GAP) * (j as f64 + 0.5 * r as f64 - 0.5 * (ROWS - 1) as f64);
            let place = Vector::new(x, 0.0, (r as f64 + 0.5) * HEIGHT);
            let body = RigidBodyBuilder::dynamic().translation(place).can_sleep(false).build();
            let body = bodies.insert(body);
            let shape = ColliderBuilder::cuboid(LENGTH / 2.0, HEIGHT / 2.0, HEIGHT / 2.0);
            let shape = shape.density(1800.0).friction(0.6).build();
            colliders.insert_with_parent(shape, body, &mut bodies);
            bricks.push((body, place));
        }
    }
    let parameters = IntegrationParameters {
        dt: h,
        num_solver_iterations: iterations,
        ..IntegrationParameters::default()
    };
    let (mut pipeline, mut islands) = (PhysicsPipeline::new(), IslandManager::new());
    let (mut broad, mut narrow) = (BroadPhaseBvh::new(), NarrowPhase::new());
    let (mut joints, mut multibodies) = (ImpulseJointSet::new(), MultibodyJointSet::new());
    let (mut soft, mut ccd) = (SoftBodySet::new(), CCDSolver::new());
    let steps = (duration / h).round() as usize;
    let (mut cpu, mut penetration) = (0.0, 0.0_f64);
    for _ in 0..steps {
        let begin = ThreadTime::now();
        pipeline.step(
            Vector::new(0.0, 0.0, -9.81),
            &parameters,
            &mut islands,
            &mut broad,
            &mut narrow,
            &mut bodies,
            &mut colliders,
            &mut joints,
            &mut multibodies,
            &mut soft,
            &mut ccd,
            &(),
            &(),
        );
        cpu += begin.elapsed().as_secs_f64();
        for pair in narrow.contact_pairs() {
            for manifold in pair.manifolds() {
                for point in &manifold.points {
                    penetration = penetration.max(-point.dist);
                }
            }
        }
    }
    let moved = bricks.iter().map(|&(body, place)| (bodies[body].translation() - place).length());
    let moved = moved.fold(0.0, f64::max);
    println!("{{\"cpu\":{cpu},\"steps\":{steps},\"moved\":{moved},\"penetration\":{penetration}}}");
}
