//! Time of `World::touches` on a pyramid of boxes, on six feet and on boxes side by side:
//! `cargo run --release -p gelenk-collide --example touch_speed`.

use std::hint::black_box;
use std::time::Instant;

use gelenk_collide::{CollideError, World};
use gelenk_model::contact::BodyContact;
use gelenk_model::math::{Mat3, Vec3};
use gelenk_model::shape::{Geometry, Shape};
use gelenk_model::state::{Pose, Twist};
use gelenk_model::{BodyDef, Builder};

fn main() -> Result<(), CollideError> {
    let cube = || Geometry::Box { size: Vec3::repeat(1.0) };
    let mut pyramid = Vec::new();
    for row in 0..10_u8 {
        for i in 0..10 - row {
            let x = f64::from(i) * 1.01 + f64::from(row) * 0.505;
            pyramid.push((cube(), Vec3::new(x, 0.0, 0.5 + f64::from(row))));
        }
    }
    time("pyramid of 55 boxes", &pyramid)?;
    let feet: Vec<_> = (0..6_u8)
        .map(|i| {
            let place = Vec3::new(f64::from(i / 2), f64::from(i % 2), 0.02);
            (Geometry::Sphere { radius: 0.02 }, place)
        })
        .collect();
    time("six feet", &feet)?;
    for n in [100_u16, 400, 1600] {
        let side = n.isqrt();
        let grid: Vec<_> = (0..n)
            .map(|i| (cube(), Vec3::new(f64::from(i / side), f64::from(i % side), 0.25) * 2.0))
            .collect();
        time(&format!("{n} boxes on a floor"), &grid)?;
    }
    Ok(())
}

fn time(name: &str, bodies: &[(Geometry, Vec3)]) -> Result<(), CollideError> {
    let mut builder = Builder::new(name);
    let mut add = |name: &str, geometry: Geometry, fixed: bool, at: Vec3| {
        let mut def = BodyDef::new(name, 1.0, Mat3::identity()).at(at);
        def.fixed = fixed;
        let body = builder.body(&def);
        builder.shapes(body, vec![Shape::new(geometry)]);
        builder.body_contact(body, BodyContact { collide: true, ..BodyContact::default() }, None);
    };
    add("floor", Geometry::Plane { size: [1.0; 2] }, true, Vec3::zeros());
    for (i, (geometry, at)) in bodies.iter().enumerate() {
        add(&format!("b{i}"), geometry.clone(), false, *at);
    }
    let model = builder.finish();
    let mut world = World::new(&model)?;
    let mut poses = vec![Pose::identity(); model.n_bodies()];
    model.start.write_poses(&mut poses);
    let twists = vec![Twist::zero(); model.n_bodies()];
    let mut out = Vec::new();
    let mut best = f64::INFINITY;
    for _ in 0..30 {
        let start = Instant::now();
        let rounds = 2000 / bodies.len().max(1);
        for _ in 0..rounds {
            world.touches(black_box(&poses), &twists, 1e-3, 1e-4, &mut out);
        }
        best = best.min(start.elapsed().as_secs_f64() / rounds as f64);
    }
    #[expect(clippy::print_stdout, reason = "an example")]
    {
        let pairs = world.pairs().len();
        println!("{name}: {} touches, {pairs} pairs, {:.2} us", out.len(), best * 1e6);
    }
    Ok(())
}
