//! Rotations, markers and the frames of results.

use gelenk_model::math::{Quat, Vec3};

use crate::common::{close_vec, faults, load, place};

fn rotation(spec: &str) -> Quat {
    let text = format!(
        "[parameters]\na = 0.4\n[[body]]\nname = \"b\"\nmass = 1\ninertia = [1, 2, 2.5]\nrotation = {spec}\n"
    );
    let loaded = load(&text);
    // The symbolic rotation agrees with the numeric one.
    let pool = &loaded.model.pool;
    let numeric = place(&loaded.model, "b").rot;
    if let Some(matrix) = loaded.description.bodies[1].rotation {
        for i in 0..3 {
            for j in 0..3 {
                let value = pool.eval(matrix[i][j], |_| 0.4);
                assert!((value - numeric[(i, j)]).abs() < 1e-14, "{spec}: {i} {j}");
            }
        }
    }
    Quat::from_matrix(&numeric)
}

#[track_caller]
fn same(a: Quat, b: Quat) {
    assert!(a.angle_to(&b) < 1e-12, "{a} is not {b}");
}

#[test]
fn rotations_in_all_ways() {
    let z90 = Quat::from_axis_angle(&Vec3::z_axis(), std::f64::consts::FRAC_PI_2);
    let half = 0.5_f64.sqrt();
    same(rotation(&format!("[{half}, 0, 0, {half}]")), z90);
    same(rotation("{ axis = [0, 0, 3], angle_deg = 90 }"), z90);
    same(rotation("{ axis = [0, 0, 1], angle = \"pi/2\" }"), z90);
    same(rotation("{ euler_deg = [0, 0, 90] }"), z90);
    same(rotation("{ from = [1, 0, 0], to = [0, 2, 0] }"), z90);
    let a = Quat::from_euler_angles(0.4, -0.2, 1.1);
    same(rotation("{ euler = [\"a\", -0.2, 1.1] }"), a);
    let axis = nalgebra::Unit::new_normalize(Vec3::new(1.0, 2.0, -1.0));
    same(rotation("{ axis = [1, 2, -1], angle = \"a\" }"), Quat::from_axis_angle(&axis, 0.4));
    let down = rotation("{ to = [0, 0, -1] }");
    close_vec(down * Vec3::z(), [0.0, 0.0, -1.0]);
    let q = Quat::from_quaternion(nalgebra::Quaternion::new(1.0, 0.2, -0.3, 0.5));
    let n = 1.0 / 1.38_f64.sqrt();
    same(rotation(&format!("[{}, {}, {}, {}]", n, 0.2 * n, -0.3 * n, 0.5 * n)), q);
}

#[test]
fn results_are_in_the_file_frame() {
    let text = "[[body]]\nname = \"b\"\nposition = [1, 2, 3]\nrotation = { axis = [1, 0, 0], angle_deg = 30 }\n\
                mass = 2\ninertia = [[2, 0.5, 0], [0.5, 3, 0.1], [0, 0.1, 4]]\ncenter_of_mass = [0.1, 0.2, 0.3]\n\
                [[marker]]\nname = \"tip\"\nbody = \"b\"\nposition = [0, 0, 1]\n";
    let model = load(text).model;
    let pose = place(&model, "b");
    close_vec(pose.s, [1.0, 2.0, 3.0]);
    let turn = nalgebra::Rotation3::new(Vec3::x() * 30_f64.to_radians());
    assert!((pose.rot - turn.matrix()).norm() < 1e-14);
    let tip = model.markers[0].vector;
    let at = model.start.pose(tip.body).point(&tip.local);
    close_vec(at, [1.0, 2.0 - 0.5, 3.0 + 0.75_f64.sqrt()]);
}

#[test]
fn colours_and_shapes() {
    let text = "[[body]]\nname = \"b\"\nmass = 1\nshape = { sphere = { radius = 1 }, color = [0, 0.5, 1] }\ncolor = \"#ff8000\"\n";
    let model = load(text).model;
    assert_eq!(model.bodies[1].color, Some([1.0, 128.0 / 255.0, 0.0]));
    assert_eq!(model.bodies[1].shapes[0].color, Some([0.0, 0.5, 1.0]));
    assert_eq!(faults(&text.replace("#ff8000", "#ff800")), ["bad-color"]);
}
