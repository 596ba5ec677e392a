//! Mass, centre and inertia from shapes.

use gelenk_model::Model;
use gelenk_model::body::Body;
use gelenk_model::math::{Mat3, Vec3};
use gelenk_model::mesh::{Surface, TriMesh};

use crate::common::{close, close_vec, faults, load, load_with, set};

/// Mass, centre of mass and inertia about it, in the file frame.
fn mass_properties(body: &Body) -> (f64, Vec3, Mat3) {
    let to_file = body.frame_rot.inverse();
    let r = to_file.to_rotation_matrix().into_inner();
    let inertia = r * Mat3::from_diagonal(&body.inertia) * r.transpose();
    (body.mass, to_file * -body.frame_origin, inertia)
}

fn shape_body(shape: &str) -> (f64, Vec3, Mat3) {
    let text = format!("[[body]]\nname = \"b\"\ndensity = 2\nshape = {{ {shape} }}\n");
    mass_properties(&load(&text).model.bodies[1])
}

/// A body of revolution about z from its profile (radius, height), bottom to top; the ends are on the axis.
fn turned(profile: &[(f64, f64)], n: u32) -> TriMesh {
    let mut vertices = Vec::new();
    let mut triangles = Vec::new();
    for (r, z) in profile {
        for i in 0..n {
            let angle = std::f64::consts::TAU * f64::from(i) / f64::from(n);
            vertices.push(Vec3::new(r * angle.cos(), r * angle.sin(), *z));
        }
    }
    let rings = u32::try_from(profile.len()).unwrap();
    for ring in 0..rings - 1 {
        for i in 0..n {
            let (a, b) = (ring * n + i, ring * n + (i + 1) % n);
            triangles.push([a, b, b + n]);
            triangles.push([a, b + n, a + n]);
        }
    }
    let mut mesh = TriMesh { vertices, triangles };
    mesh.weld(1e-12);
    assert_eq!(mesh.surface(), Surface::Closed);
    mesh
}

/// The profiles of the round shapes with n pieces to a quarter circle.
fn profiles(r: f64, l: f64, n: i32) -> [(String, Vec<(f64, f64)>); 4] {
    let quarter = std::f64::consts::FRAC_PI_2;
    let arc = |from: i32, to: i32, z: f64| -> Vec<(f64, f64)> {
        let angle = |k: i32| quarter * f64::from(k) / f64::from(n);
        (from..=to).map(|k| (r * angle(k).cos().max(0.0), z + r * angle(k).sin())).collect()
    };
    let (low, high) = (-l / 2.0, l / 2.0);
    let mut capsule = arc(-n, 0, low);
    capsule.extend(arc(0, n, high));
    [
        ("cylinder".to_owned(), vec![(0.0, low), (r, low), (r, high), (0.0, high)]),
        ("cone".to_owned(), vec![(0.0, low), (r, low), (0.0, high)]),
        ("capsule".to_owned(), capsule),
        ("sphere".to_owned(), arc(-n, n, 0.0)),
    ]
}

/// The closed formulas against volume integrals of meshes; the meshes' error falls with 1/n², so two of them together
/// are good to 1/n⁴.
#[test]
fn round_shapes_agree_with_meshes() {
    let (r, l) = (0.3, 1.1);
    for (coarse, fine) in profiles(r, l, 40).into_iter().zip(profiles(r, l, 80)) {
        let name = coarse.0;
        let length = if name == "sphere" { String::new() } else { format!(", length = {l}") };
        let (mass, center, inertia) = shape_body(&format!("{name} = {{ radius = {r}{length} }}"));
        let (a, b) = (turned(&coarse.1, 160).moments(), turned(&fine.1, 320).moments());
        let volume = (4.0 * b.volume - a.volume) / 3.0;
        assert!((mass / (2.0 * volume) - 1.0).abs() < 1e-6, "{name}: mass {mass}");
        assert!((center - (b.center * 4.0 - a.center) / 3.0).norm() < 1e-6, "{name}: {center}");
        let expected = (b.inertia * 4.0 - a.inertia) * (2.0 / 3.0);
        assert!((inertia - expected).norm() / expected.norm() < 1e-6, "{name}: {inertia}");
    }
}

#[test]
fn box_and_rod() {
    let (mass, _, inertia) = shape_body("box = { size = [1, 2, 3] }");
    close(mass, 12.0);
    close_vec(inertia.diagonal(), [13.0, 10.0, 5.0]);
    let text = "[[body]]\nname = \"b\"\nmass = 3\nshape = { rod = { length = 2 } }\n";
    let body = &load(text).model.bodies[1];
    close_vec(body.inertia, [1.0, 1.0, 0.0]);
    assert_eq!(body.inertia_inv.z.to_bits(), 0.0_f64.to_bits());
}

/// A dumbbell by parallel axes, and the same with the rod turned by 30°.
#[test]
fn several_shapes_add_up() {
    let dumbbell = |turn: &str| {
        format!(
            "[[body]]\nname = \"b\"\nshapes = [\n\
             {{ rod = {{ length = 1 }}, mass = 2, rotation = {{ {turn} }} }},\n\
             {{ sphere = {{ radius = 0.1 }}, mass = 1, position = [0, 0.5, 0] }},\n\
             {{ sphere = {{ radius = 0.1 }}, mass = 3, position = [0, -0.5, 0] }},\n\
             {{ box = {{ size = [9, 9, 9] }}, physical = false }},\n]\n"
        )
    };
    let model = load(&dumbbell("from = [0, 0, 1], to = [0, 1, 0]")).model;
    let (mass, center, inertia) = mass_properties(&model.bodies[1]);
    close(mass, 6.0);
    close_vec(center, [0.0, -1.0 / 6.0, 0.0]);
    let ball = 4.0 * 0.4 * 0.01;
    let across = 2.0 / 12.0 + ball + 4.0 * 0.25 - 6.0 / 36.0;
    close_vec(inertia.diagonal(), [across, ball, across]);
    assert_eq!(model.bodies[1].shapes.len(), 4);

    let model = load(&dumbbell("axis = [1, 0, 0], angle_deg = 30")).model;
    let (_, _, turned) = mass_properties(&model.bodies[1]);
    // The rod's direction is (0, −sin 30°, cos 30°).
    let d = Vec3::new(0.0, -0.5, 0.75_f64.sqrt());
    let rod = (Mat3::identity() - d * d.transpose()) * (2.0 / 12.0);
    let rest = Mat3::from_diagonal(&Vec3::new(across - 2.0 / 12.0, ball, across - 2.0 / 12.0));
    assert!((turned - rod - rest).norm() < 1e-14, "{turned}");
}

/// The body's mass is shared by volume.
#[test]
fn mass_of_the_body_is_shared_by_volume() {
    let text = "[[body]]\nname = \"b\"\nmass = 9\nshapes = [\n\
                { box = { size = [1, 1, 1] } },\n\
                { box = { size = [2, 1, 1] }, position = [1.5, 0, 0] } ]\n";
    let (mass, center, _) = mass_properties(&load(text).model.bodies[1]);
    close(mass, 9.0);
    close_vec(center, [1.0, 0.0, 0.0]);
}

/// The symbolic mass properties, at other parameter values, are those of a model loaded with these values.
#[test]
fn symbolic_mass_properties() {
    let text = "[parameters]\nl = 1.0\nr = 0.1\nm = \"2*l\"\nangle = 0.2\n\
                [[body]]\nname = \"b\"\ndensity = 700\nposition = [\"l\", 0, 0]\nshapes = [\n\
                { capsule = { radius = \"r\", length = \"l\" }, rotation = { axis = [1, 1, 0], angle = \"angle\" } },\n\
                { cone = { radius = \"2*r\", length = \"l/2\" }, position = [\"l/3\", \"r\", 0] },\n\
                { box = { size = [\"l\", \"r\", \"r\"] }, rotation = { euler = [\"angle\", 0.3, 0] }, mass = \"m\" } ]\n";
    let loaded = load(text);
    let symbolic = loaded.model.bodies[1].symbolic.as_ref().unwrap();
    let new = [("l", 1.7), ("r", 0.23), ("angle", -0.6)];
    let overrides: Vec<(&str, String)> = new.iter().map(|(n, v)| (*n, v.to_string())).collect();
    let overrides: Vec<(&str, &str)> = overrides.iter().map(|(n, v)| (*n, v.as_str())).collect();
    let other = load_with(text, &set(&overrides)).model;
    let (mass, center, inertia) = mass_properties(&other.bodies[1]);
    let value = |name: &str| match name {
        "m" => 3.4,
        _ => new.iter().find(|(n, _)| *n == name).unwrap().1,
    };
    let pool = &loaded.model.pool;
    let eval = |e| pool.eval(e, |symbol| value(&pool.display(symbol).to_string()));
    close(eval(symbolic.mass), mass);
    close_vec(Vec3::from(symbolic.center_of_mass.map(eval)), center.into());
    let entries = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];
    for (e, ij) in symbolic.inertia.iter().zip(entries) {
        assert!((eval(*e) - inertia[ij]).abs() < 1e-12, "{ij:?}: {} {}", eval(*e), inertia[ij]);
    }
    close(eval(loaded.description.bodies[1].position[0]), 1.7);
}

#[test]
fn given_inertia() {
    let text = "[[body]]\nname = \"b\"\nmass = 2\ncenter_of_mass = [0, 0, 0.5]\n\
                inertia = [[2, 0.1, 0], [0.1, 3, 0], [0, 0, 4]]\nposition = [1, 0, 0]\n";
    let model = load(text).model;
    let (mass, center, inertia) = mass_properties(&model.bodies[1]);
    close(mass, 2.0);
    close_vec(center, [0.0, 0.0, 0.5]);
    close(inertia[(0, 1)], 0.1);
    close_vec(model.start.s[1], [1.0, 0.0, 0.5]);
    let named = text
        .replace("[[2, 0.1, 0], [0.1, 3, 0], [0, 0, 4]]", "{ xx = 2, yy = 3, zz = 4, xy = 0.1 }");
    let (_, _, same) = mass_properties(&load(&named).model.bodies[1]);
    assert!((same - inertia).norm() < 1e-14);
}

fn start_velocity(model: &Model) -> Vec3 {
    model.start.s_dot[1]
}

/// `velocity` is that of the frame's origin; the state holds the centre of mass.
#[test]
fn velocity_of_the_centre() {
    let text = "[[body]]\nname = \"b\"\nmass = 1\ninertia = [1, 1, 1]\ncenter_of_mass = [1, 0, 0]\n\
                velocity = [0, 0, 3]\nangular_velocity = [0, 0, 2]\n\
                rotation = { axis = [0, 0, 1], angle_deg = 90 }\n";
    // r = (0, 1, 0) in the world; v + ω × r = (−2, 0, 3).
    close_vec(start_velocity(&load(text).model), [-2.0, 0.0, 3.0]);
}

#[test]
fn fixed_bodies_need_no_mass() {
    let text = "[[body]]\nname = \"floor\"\nfixed = true\nshape = { plane = {} }\n[[point]]\nname = \"p\"\nmass = 1\n";
    let loaded = load(text);
    assert!(loaded.warnings.is_empty());
    assert!(loaded.model.bodies[1].fixed);
    assert_eq!(faults(&text.replace("fixed = true\n", "")), ["moving-plane"]);
}
