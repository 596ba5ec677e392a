//! Degrees of freedom, rank and redundant rows of mechanisms whose answers are known.

mod mechanisms;

use gelenk_model::check::RedundantRow;
use gelenk_model::math::{Mat3, Vec3};
use gelenk_model::{
    BodyDef, Builder, CheckOptions, CheckReport, Instant, LoadOptions, Model, Pose, Twist, check,
    load_text,
};
use mechanisms::*;
use nalgebra::DMatrix;
use proptest::prelude::*;

fn report(model: &Model) -> CheckReport {
    check(model, &CheckOptions::default())
}

/// (degrees of freedom, coordinates, rows, rank).
fn counts(report: &CheckReport) -> [usize; 4] {
    [report.degrees_of_freedom, report.coordinates, report.constraints, report.rank]
}

fn elements(rows: &[RedundantRow]) -> Vec<&str> {
    rows.iter().map(|row| row.element.as_str()).collect()
}

#[test]
fn a_door_has_one_degree_of_freedom() {
    let mut builder = Builder::new("door");
    let door = block(&mut builder, "door", v(0.4, 0.0, 1.0));
    hinge(&mut builder, "hinge", [WORLD, door], v(0.0, 0.0, 1.0), Vec3::z());
    let report = report(&builder.finish());
    assert_eq!(counts(&report), [1, 6, 5, 5]);
    assert!(report.redundant.is_empty() && report.warnings.is_empty() && !report.singular);
}

#[test]
fn the_second_hinge_of_a_door_is_redundant_in_all_its_rows() {
    let mut builder = Builder::new("door");
    let door = block(&mut builder, "door", v(0.4, 0.0, 1.0));
    hinge(&mut builder, "lower", [WORLD, door], v(0.0, 0.0, 0.2), Vec3::z());
    hinge(&mut builder, "upper", [WORLD, door], v(0.0, 0.0, 1.8), Vec3::z());
    let report = report(&builder.finish());
    assert_eq!(counts(&report), [1, 6, 10, 5]);
    assert_eq!(elements(&report.redundant), ["upper"; 5]);
    assert_eq!(report.redundant[0].row, "joint `upper`, x");
    assert_eq!(report.redundant[4].row, "joint `upper`, tilt y");
    assert!(report.redundant.iter().all(|row| row.always && row.depends_on == ["lower"]));
    assert_eq!(report.loops, 1);
}

#[test]
fn a_cuboid_of_28_distances_has_rank_18_and_10_removable_distances() {
    let model = cuboid();
    let report = report(&model);
    assert_eq!(counts(&report), [6, 24, 28, 18]);
    assert_eq!(report.redundant.len(), 10);
    assert!(report.redundant.iter().all(|row| row.always && !row.depends_on.is_empty()));
    assert!(!report.singular);

    // What is left after removing them is regular and moves the same.
    let removed = elements(&report.redundant);
    let mut builder = Builder::new("cuboid");
    for (body, s) in model.bodies.iter().zip(&model.start.s).skip(1) {
        builder.point(&body.name, body.mass, *s, Vec3::zeros(), false);
    }
    for joint in model.joints.iter().filter(|joint| !removed.contains(&joint.name.as_str())) {
        builder.joint(&joint.name, joint.bodies, joint.kind.clone(), None);
    }
    let rest = self::report(&builder.finish());
    assert_eq!(counts(&rest), [6, 24, 18, 18]);
    assert!(rest.redundant.is_empty());
}

#[test]
fn redundant_distances_are_the_latest_in_the_file() {
    // Four points in a plane with two fixed: of the surplus, only the last can be named.
    let mut builder = Builder::new("triangle");
    let a = builder.point("a", 1.0, v(0.0, 0.0, 1.0), Vec3::zeros(), false);
    let anchors = [v(1.0, 0.0, 0.0), v(-1.0, 0.2, 0.0), v(0.0, 1.0, 0.3), v(0.3, -1.0, 0.1)];
    for (i, anchor) in anchors.iter().enumerate() {
        let length = (v(0.0, 0.0, 1.0) - anchor).norm();
        distance(&mut builder, &format!("d{i}"), [WORLD, a], [*anchor, Vec3::zeros()], length);
    }
    let report = report(&builder.finish());
    assert_eq!(counts(&report), [0, 3, 4, 3]);
    assert_eq!(elements(&report.redundant), ["d3"]);
    assert_eq!(report.redundant[0].depends_on, ["d0", "d1", "d2"]);
    assert_eq!(report.immovable, ["a"]);
}

#[test]
fn the_flat_eight_loop_loses_one_rank_only_in_this_pose() {
    let report = report(&eight_loop_flat());
    assert_eq!(counts(&report), [14, 40, 27, 26]);
    assert!(report.singular);
    assert_eq!(report.redundant.len(), 1);
    let row = &report.redundant[0];
    assert!(!row.always);
    assert_eq!((row.element.as_str(), row.row.as_str()), ("j8", "joint `j8`, x"));
    assert_eq!(row.depends_on, ["j0", "j1", "j2", "j3", "j4", "j5", "j6", "j7"]);
}

#[test]
fn the_eight_loop_is_regular() {
    let report = report(&eight_loop());
    assert_eq!(counts(&report), [13, 40, 27, 27]);
    assert!(report.redundant.is_empty() && !report.singular);
}

#[test]
fn a_four_bar_of_hinges_has_three_rows_too_many_always() {
    let report = report(&four_bar());
    assert_eq!(counts(&report), [1, 18, 20, 17]);
    assert_eq!(elements(&report.redundant), ["d"; 3]);
    let rows: Vec<&str> = report.redundant.iter().map(|row| row.row.as_str()).collect();
    assert_eq!(rows, ["joint `d`, y", "joint `d`, tilt x", "joint `d`, tilt y"]);
    for row in &report.redundant {
        assert!(row.always);
        assert!(row.depends_on.iter().all(|name| ["a", "b", "c"].contains(&name.as_str())));
    }
    assert!(!report.singular);
    assert_eq!((report.loops, report.components.len()), (1, 1));
}

#[test]
fn the_stretched_four_bar_is_singular() {
    // A parallelogram folded flat: 3 rows always too many, one more only here.
    let points = [v(0.0, 0.0, 0.0), v(1.0, 0.0, 0.0), v(3.0, 0.0, 0.0), v(2.0, 0.0, 0.0)];
    let mut builder = Builder::new("change point");
    let bodies: Vec<_> = (0..3)
        .map(|i| block(&mut builder, &format!("b{i}"), (points[i] + points[i + 1]) / 2.0))
        .collect();
    let chain = [WORLD, bodies[0], bodies[1], bodies[2], WORLD];
    for i in 0..4 {
        let pair = [chain[i], chain[i + 1]];
        hinge(&mut builder, &format!("h{i}"), pair, points[i], Vec3::y());
    }
    let report = report(&builder.finish());
    assert_eq!(counts(&report), [2, 18, 20, 16]);
    assert!(report.singular);
    assert_eq!(report.rank_lost, 1);
    let told = |w: &String| w.contains("rank is 16 here and 17 nearby (1 lost)");
    assert!(report.warnings.iter().any(told), "{:?}", report.warnings);
    assert_eq!(report.redundant.iter().filter(|row| row.always).count(), 3);
}

#[test]
fn bricards_six_bar_moves_with_one_row_too_many() {
    let report = report(&bricard());
    assert_eq!(counts(&report), [1, 30, 30, 29]);
    assert_eq!(elements(&report.redundant), ["h5"]);
    assert!(report.redundant[0].always && !report.singular);
}

#[test]
fn a_taut_string_of_two_rods_is_redundant_for_good() {
    // Two rods stretched to the full distance can tremble but have no other pose.
    let report = report(&hung_chain(&[v(0.0, 0.0, 0.0), v(1.0, 0.0, 0.0), v(2.0, 0.0, 0.0)]));
    assert_eq!(counts(&report), [2, 10, 9, 8]);
    assert!(report.redundant[0].always && !report.singular);
}

#[test]
fn a_thin_rod_in_a_hinge_keeps_its_spin() {
    let mut builder = Builder::new("rod");
    let body = rod(&mut builder, "rod", v(0.0, 0.0, 0.0), v(1.0, 0.0, 0.0));
    hinge(&mut builder, "hinge", [WORLD, body], v(0.0, 0.0, 0.0), Vec3::y());
    let report = report(&builder.finish());
    assert_eq!(counts(&report), [1, 6, 5, 5]);
    assert!(report.redundant.is_empty() && report.warnings.is_empty(), "{:?}", report.warnings);
}

#[test]
fn rods_with_ball_joints_at_both_ends_have_five_coordinates() {
    let report = report(&hung_chain(&[
        v(0.0, 0.0, 0.0),
        v(1.0, 0.0, -1.0),
        v(2.0, 0.3, -1.0),
        v(3.0, 0.0, 0.0),
    ]));
    assert_eq!(counts(&report), [3, 15, 12, 12]);
    assert!(report.immovable.is_empty());
}

#[test]
fn parts_that_do_not_touch_are_listed_apart() {
    let mut builder = Builder::new("parts");
    let a = block(&mut builder, "a", v(0.0, 0.0, 0.0));
    let b = block(&mut builder, "b", v(1.0, 0.0, 0.0));
    let c = block(&mut builder, "c", v(2.0, 0.0, 0.0));
    block(&mut builder, "d", v(3.0, 0.0, 0.0));
    ball(&mut builder, "ab", [a, b], v(0.5, 0.0, 0.0));
    fixed(&mut builder, "c", [WORLD, c], v(2.0, 0.0, 0.0));
    let report = report(&builder.finish());
    assert_eq!(counts(&report), [9 + 6, 24, 9, 9]);
    let parts: Vec<_> =
        report.components.iter().map(|c| (c.bodies.join(" "), c.grounded)).collect();
    let expected = [("a b", false), ("c", true), ("d", false)];
    assert_eq!(parts, expected.map(|(names, grounded)| (names.to_owned(), grounded)));
    assert_eq!(report.immovable, ["c"]);
}

#[test]
fn fixed_bodies_are_the_world() {
    // A pendulum on a fixed post, and a joint between post and world that holds nothing.
    let mut builder = Builder::new("post");
    let mut def = BodyDef::new("post", 1.0, Mat3::identity());
    def.fixed = true;
    let post = builder.body(&def);
    let arm = block(&mut builder, "arm", v(0.5, 0.0, 0.0));
    hinge(&mut builder, "pivot", [post, arm], v(0.0, 0.0, 0.0), Vec3::y());
    hinge(&mut builder, "idle", [WORLD, post], v(0.0, 0.0, 0.0), Vec3::y());
    let report = report(&builder.finish());
    assert_eq!(counts(&report), [1, 6, 10, 5]);
    assert_eq!(elements(&report.redundant), ["idle"; 5]);
    assert!(report.warnings.iter().any(|w| w.contains("`idle` connects only")));
}

#[test]
fn an_inconsistent_start_is_named_and_the_rank_taken_after_closing() {
    let mut model = four_bar();
    // Off the plane, so that the rows too many hide.
    model.start.s[2] += v(0.0, 0.02, 0.01);
    let report = report(&model);
    let off: Vec<&str> = report.inconsistencies.iter().map(|i| i.element.as_str()).collect();
    assert_eq!(off, ["b", "c"]);
    assert!((report.inconsistencies[0].position_error - 0.02).abs() < 1e-12);
    assert_eq!(counts(&report), [1, 18, 20, 17]);
    assert!(report.warnings[0].contains("`b` is off by 2.000e-2"), "{:?}", report.warnings);
}

#[test]
fn rows_that_are_almost_redundant_are_pointed_out() {
    let mut builder = Builder::new("door");
    let door = block(&mut builder, "door", v(0.4, 0.0, 1.0));
    hinge(&mut builder, "lower", [WORLD, door], v(0.0, 0.0, 0.2), Vec3::z());
    // The upper hinge's axis is off by rounding in the sixth digit: closed at the start, but nowhere else.
    let axis = v(3e-7, 0.0, 1.0);
    hinge(&mut builder, "upper", [WORLD, door], v(0.0, 0.0, 1.8), axis);
    let report = report(&builder.finish());
    assert_eq!(report.degrees_of_freedom, 0);
    assert_eq!(report.redundant.len(), 4);
    assert_eq!(elements(&report.nearly_redundant), ["upper"]);
    assert!(report.smallest_pivot < 1e-6 && report.smallest_pivot > 1e-8);
    assert!(report.warnings.iter().any(|w| w.contains("almost redundant")));
}

#[test]
fn a_slack_rope_does_not_count_and_a_taut_one_does() {
    for (length, rank) in [(1.5, 0), (1.0, 1)] {
        let mut builder = Builder::new("rope");
        let ball = builder.point("ball", 1.0, v(0.0, 0.0, -1.0), Vec3::zeros(), false);
        rope(&mut builder, "rope", [WORLD, ball], [Vec3::zeros(); 2], length);
        let report = report(&builder.finish());
        assert_eq!(counts(&report), [3 - rank, 3, 1, rank]);
        assert!(report.redundant.is_empty() && report.inconsistencies.is_empty());
    }
}

#[test]
fn mass_ratios_of_a_million_do_not_change_the_rank() {
    let mut builder = Builder::new("four-bar");
    let points = [v(0.0, 0.0, 0.0), v(0.2, 0.0, 1.0), v(2.1, 0.0, 1.6), v(3.0, 0.0, 0.0)];
    let mut chain = vec![WORLD];
    for (i, mass) in [1e-3, 1e3, 1.0].into_iter().enumerate() {
        let inertia = Mat3::from_diagonal(&(v(0.1, 0.2, 0.25) * mass));
        let def = BodyDef::new(&format!("b{i}"), mass, inertia);
        chain.push(builder.body(&def.at((points[i] + points[i + 1]) / 2.0)));
    }
    chain.push(WORLD);
    for i in 0..4 {
        let pair = [chain[i], chain[i + 1]];
        hinge(&mut builder, &format!("h{i}"), pair, points[i], Vec3::y());
    }
    assert_eq!(counts(&report(&builder.finish())), [1, 18, 20, 17]);
}

#[test]
fn the_rank_does_not_depend_on_the_order_of_elements() {
    let model = cuboid();
    for seed in 1..6 {
        let mut number = numbers(seed);
        let mut order: Vec<usize> = (0..model.joints.len()).collect();
        let mut keys: Vec<f64> = order.iter().map(|_| number()).collect();
        order.sort_by(|&a, &b| keys[a].total_cmp(&keys[b]));
        keys.clear();
        let mut builder = Builder::new("cuboid");
        for (body, s) in model.bodies.iter().zip(&model.start.s).skip(1) {
            builder.point(&body.name, body.mass, *s, Vec3::zeros(), false);
        }
        for &k in &order {
            let joint = &model.joints[k];
            builder.joint(&joint.name, joint.bodies, joint.kind.clone(), None);
        }
        let report = report(&builder.finish());
        assert_eq!(counts(&report), [6, 24, 28, 18]);
        // A row is too many only if the rows before it already determine it: never one of the first 18.
        assert!(report.redundant.iter().all(|row| row.index >= 9));
    }
}

#[test]
fn a_chain_of_ten_thousand_links_is_quick() {
    let n = 10_000;
    let mut builder = Builder::new("chain");
    let mut last = WORLD;
    for i in 0..n {
        let body = block(&mut builder, &format!("b{i}"), v(f64::from(i) + 0.5, 0.0, 0.0));
        hinge(&mut builder, &format!("h{i}"), [last, body], v(f64::from(i), 0.0, 0.0), Vec3::y());
        last = body;
    }
    let begin = std::time::Instant::now();
    let tree = report(&builder.clone().finish());
    let time = begin.elapsed();
    assert_eq!(counts(&tree), [10_000, 60_000, 50_000, 50_000]);
    assert!(time.as_secs_f64() < 20.0, "{time:?}");
}

#[test]
fn a_hung_chain_of_a_hundred_links_is_regular() {
    let n = 100;
    let points: Vec<Vec3> = (0..=n)
        .map(|i| {
            let x = f64::from(i) / f64::from(n);
            v(60.0 * x, 0.0, -80.0 * x * (1.0 - x))
        })
        .collect();
    let report = report(&hung_chain(&points));
    assert_eq!(counts(&report), [197, 500, 303, 303]);
    assert!(report.redundant.is_empty() && report.smallest_pivot > 1e-3);
}

#[test]
fn a_hung_chain_of_a_hundred_links_pulled_straight_is_redundant_by_one() {
    let points: Vec<Vec3> = (0..=100).map(|i| v(f64::from(i), 0.0, 0.0)).collect();
    let report = report(&hung_chain(&points));
    assert_eq!(counts(&report), [198, 500, 303, 302]);
    assert_eq!(report.redundant[0].row, "joint `j100`, x");
}

#[test]
fn checking_twice_gives_the_same_report() {
    for model in [cuboid(), eight_loop_flat(), bricard()] {
        assert_eq!(format!("{:?}", report(&model)), format!("{:?}", report(&model)));
    }
}

#[test]
fn joint_kinds_agree_with_their_rows_on_two_free_bodies() {
    let mut number = numbers(3);
    for which in 0..9 {
        let mut builder = Builder::new("pair");
        let a = block(&mut builder, "a", v(number(), number(), number()));
        let b = block(&mut builder, "b", v(number(), number(), number()));
        let axis = v(number(), number(), number());
        let [fa, fb] = builder.joint_frames([a, b], &v(number(), number(), number()), &axis);
        let kind = any_joint(which, &fa, &fb);
        let rows = kind.equations().n_rows();
        builder.joint("joint", [a, b], kind, None);
        let report = report(&builder.finish());
        assert_eq!(counts(&report), [12 - rows, 12, rows, rows], "joint {which}");
    }
}

#[test]
fn an_empty_model_has_nothing_to_count() {
    let report = report(&Builder::new("empty").finish());
    assert_eq!(counts(&report), [0, 0, 0, 0]);
    assert!(report.warnings.is_empty());
}

/// A model from a file.
fn load(text: &str) -> Model {
    let options = LoadOptions { allow_open: true, ..LoadOptions::default() };
    load_text("test.toml", text, &options).expect("a good model").model
}

#[test]
fn a_bead_at_the_crossing_of_a_figure_eight_is_at_a_singular_position() {
    let file = |x: &str| {
        format!(
            r#"
            [[point]]
            name = "P"
            mass = 1
            position = [{x}, "{x}*sqrt(1 - {x}^2)", 0]
            [[constraint]]
            name = "eight"
            equation = "P.y^2 = P.x^2*(1 - P.x^2)"
            [[constraint]]
            name = "plane"
            equation = "P.z = 0"
            "#
        )
    };
    let crossing = report(&load(&file("0")));
    assert_eq!(counts(&crossing), [2, 3, 2, 1]);
    assert!(crossing.singular && crossing.rank_lost == 1 && !crossing.redundant[0].always);
    assert_eq!(crossing.redundant[0].row, "constraint `eight`");
    assert!(crossing.warnings.iter().any(|w| w.contains("derivative vanishes")));
    let elsewhere = report(&load(&file("0.5")));
    assert_eq!(counts(&elsewhere), [1, 3, 2, 2]);
    assert!(!elsewhere.singular);
}

#[test]
fn a_driven_crank_has_no_freedom_but_is_not_immovable() {
    let crank = |angle: &str| {
        load(&format!(
            r#"
            [[body]]
            name = "crank"
            mass = 1
            inertia = [0.1, 0.1, 0.1]
            position = [0.5, 0, 0]
            [[joint]]
            name = "pivot"
            type = "hinge"
            between = ["world", "crank"]
            point = [0, 0, 0]
            axis = [0, 1, 0]
            motion = {{ angle = "{angle}" }}
            "#
        ))
    };
    let driven = report(&crank("sin(t)"));
    assert_eq!(counts(&driven), [0, 6, 6, 6]);
    assert!(driven.immovable.is_empty());
    // It starts at rest, but the motion begins at 1 rad/s.
    assert_eq!(driven.inconsistencies.len(), 1);
    assert!((driven.inconsistencies[0].velocity_error - 1.0).abs() < 1e-12);
    let held = report(&crank("0"));
    assert_eq!(held.immovable, ["crank"]);
}

#[test]
fn gears_take_one_freedom_each_and_a_second_pair_is_redundant() {
    let wheels = |gears: &str| {
        let wheel = |name: &str, x: i32| {
            format!(
                r#"
                [[body]]
                name = "{name}"
                mass = 1
                inertia = [0.1, 0.1, 0.1]
                position = [{x}, 0, 0]
                [[joint]]
                name = "{name}_axle"
                type = "hinge"
                between = ["world", "{name}"]
                point = [{x}, 0, 0]
                axis = [0, 0, 1]
                "#
            )
        };
        load(&format!("{}{}{gears}", wheel("a", 0), wheel("b", 2)))
    };
    let gear = |name: &str, ratio: f64| {
        format!(
            r#"
            [[gear]]
            name = "{name}"
            joints = ["a_axle", "b_axle"]
            ratio = {ratio}
            "#
        )
    };
    let one = report(&wheels(&gear("g", -2.0)));
    assert_eq!(counts(&one), [1, 12, 11, 11]);
    // A gear runs beside joints: no loop of its own.
    assert_eq!((one.loops, one.components.len()), (0, 1));
    let same = report(&wheels(&format!("{}{}", gear("g", -2.0), gear("h", -2.0))));
    assert_eq!(elements(&same.redundant), ["h"]);
    assert_eq!(same.redundant[0].depends_on, ["g"]);
    let jammed = report(&wheels(&format!("{}{}", gear("g", -2.0), gear("h", -3.0))));
    assert_eq!(counts(&jammed), [0, 12, 12, 12]);
    assert_eq!(jammed.immovable, ["a", "b"]);
}

#[test]
fn every_model_of_the_gallery_has_the_freedoms_it_should() {
    let scenes = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenes/models");
    for (name, dof, redundant, singular) in [
        ("pendulum", 2, 0, false),
        ("double-pendulum", 2, 0, false),
        ("four-bar", 1, 3, false),
        ("eight-loop", 13, 0, false),
        ("eight-loop-flat", 14, 1, true),
        ("eight-loop-paper", 14, 1, true),
        ("cuboid", 6, 10, false),
        ("free-body", 6, 0, false),
        ("heavy-top", 3, 0, false),
    ] {
        let text = std::fs::read_to_string(format!("{scenes}/{name}.toml")).expect("a scene");
        let report = report(&load(&text));
        assert_eq!(report.degrees_of_freedom, dof, "{name}");
        assert_eq!(report.redundant.len(), redundant, "{name}");
        assert_eq!(report.singular, singular, "{name}");
        assert_eq!(report.rank_lost, usize::from(singular), "{name}");
    }
}

/// The rank by singular values of the whole matrix, rows of length 1, columns weighted by inverse roots of inertias.
fn rank_by_singular_values(model: &Model) -> usize {
    let n = model.n_bodies();
    let mut poses = vec![Pose::identity(); n];
    model.start.write_poses(&mut poses);
    let twists = vec![Twist::zero(); n];
    let coordinates = &model.start.coordinate;
    let at = Instant { t: 0.0, poses: &poses, twists: &twists, coordinates };
    let mut full = DMatrix::<f64>::zeros(model.n_rows(), 6 * n);
    for block in &model.rows {
        let width = 6 * block.bodies.len();
        let mut jac = vec![0.0; block.n_rows * width];
        block.jacobian(model, &at, &mut model.work(), &mut jac);
        for i in 0..block.n_rows {
            for (slot, id) in block.bodies.iter().enumerate() {
                let body = &model.bodies[id.index()];
                let row = &jac[i * width + 6 * slot..i * width + 6 * (slot + 1)];
                let turn = poses[id.index()].rot.transpose() * v(row[3], row[4], row[5]);
                for k in 0..3 {
                    let column = 6 * id.index() + k;
                    full[(block.first_row + i, column)] += row[k] * body.mass_inv.sqrt();
                    full[(block.first_row + i, column + 3)] += turn[k] * body.inertia_inv[k].sqrt();
                }
            }
        }
    }
    for mut row in full.row_iter_mut() {
        let norm = row.norm();
        if norm > 1e-12 {
            row /= norm;
        }
    }
    full.svd(false, false).rank(1e-9)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_tree_has_full_rank_and_the_sum_of_its_freedoms(n in 1_usize..30, seed in 0_u64..1_000_000) {
        let model = random_tree(n, numbers(seed));
        let report = report(&model);
        let rows: usize = model.rows.iter().map(|block| block.n_rows).sum();
        prop_assert_eq!(counts(&report), [6 * n - rows, 6 * n, rows, rows]);
        prop_assert!(report.redundant.is_empty());
        prop_assert_eq!(report.loops, 0);
    }

    #[test]
    fn the_rank_of_random_loops_is_that_of_singular_values(
        n in 1_usize..10, extra in 1_usize..8, seed in 0_u64..1_000_000
    ) {
        let model = random_loops(n, extra, 0.0, numbers(seed));
        let report = report(&model);
        prop_assert_eq!(report.rank, rank_by_singular_values(&model));
        prop_assert_eq!(report.rank + report.redundant.len(), report.constraints);
        prop_assert_eq!(report.loops, extra);
    }

    #[test]
    fn doubling_any_joint_makes_exactly_its_rows_redundant(
        n in 1_usize..12, pick in 0_usize..12, seed in 0_u64..1_000_000
    ) {
        let mut number = numbers(seed);
        let model = random_tree(n, &mut number);
        let mut builder = Builder::new("doubled");
        for (i, body) in model.bodies.iter().enumerate().skip(1) {
            let mut def = BodyDef::new(&body.name, body.mass, Mat3::from_diagonal(&body.inertia));
            def.position = model.start.s[i];
            def.rotation = model.start.rot[i];
            builder.body(&def);
        }
        for joint in &model.joints {
            builder.joint(&joint.name, joint.bodies, joint.kind.clone(), None);
        }
        let twice = &model.joints[pick % n];
        builder.joint("twin", twice.bodies, twice.kind.clone(), None);
        let report = report(&builder.finish());
        let rows = twice.kind.equations().n_rows();
        prop_assert_eq!(report.redundant.len(), rows);
        for row in &report.redundant {
            prop_assert_eq!(&row.element, "twin");
            prop_assert_eq!(&row.depends_on, std::slice::from_ref(&twice.name));
            prop_assert!(row.always);
        }
    }

    /// n points with all distances: rank 3n − 6 in space, 2n − 3 in a plane, n − 1 on a line, and without the rows named
    /// the rest is regular.
    #[test]
    fn clusters_with_all_distances_have_a_largest_removable_set(
        n in 4_usize..9, flat in 0_usize..3, seed in 0_u64..1_000_000
    ) {
        let mut number = numbers(seed);
        let mut places = Vec::new();
        while places.len() < n {
            let p = v(number(), number(), number());
            let axes = [v(0.6, 0.0, 0.8), v(0.0, 1.0, 0.0), v(-0.8, 0.0, 0.6)];
            let p = (0..3 - flat).map(|k| axes[k] * p[k]).sum::<Vec3>();
            if places.iter().all(|q: &Vec3| (p - q).norm() > 0.1) {
                places.push(p);
            }
        }
        let build = |keep: &dyn Fn(&str) -> bool| {
            let mut builder = Builder::new("cluster");
            let add = |(k, p): (usize, &Vec3)| {
                let mass = 1.0 + k as f64;
                builder.point(&format!("p{k}"), mass, *p, Vec3::zeros(), false)
            };
            let points: Vec<_> = places.iter().enumerate().map(add).collect();
            for j in 0..n {
                for i in 0..j {
                    let name = format!("d{i}-{j}");
                    let length = (places[j] - places[i]).norm();
                    if keep(&name) {
                        distance(&mut builder, &name, [points[i], points[j]], [Vec3::zeros(); 2], length);
                    }
                }
            }
            builder.finish()
        };
        let report = report(&build(&|_| true));
        // Clusters that are nearly of a lower kind are in doubt, and are said to be.
        prop_assume!(report.smallest_pivot > 1e-6);
        let rank = [3 * n - 6, 2 * n - 3, n - 1][flat];
        prop_assert_eq!(counts(&report), [3 * n - rank, 3 * n, n * (n - 1) / 2, rank]);
        let removed = elements(&report.redundant);
        prop_assert_eq!(removed.len(), n * (n - 1) / 2 - rank);
        let rest = self::report(&build(&|name| !removed.contains(&name)));
        prop_assert_eq!(counts(&rest), [3 * n - rank, 3 * n, rank, rank]);
    }
}
