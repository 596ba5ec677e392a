//! Textbook systems: the form of their equations, first integrals, equilibria, linearization; refusals; output formats.

use gelenk_expr::{Expr, Pool};
use gelenk_lagrange::rest::Stability;
use gelenk_lagrange::simplify::{Assumptions, cost, is_zero, simplify};
use gelenk_lagrange::write::{Style, write as show};
use gelenk_lagrange::{Equations, Options, from_model};
use gelenk_model::{LoadOptions, Loaded, load_text};
use proptest::prelude::*;
use std::fmt::Write as _;

fn load(name: &str) -> Loaded {
    let scene = gelenk_scenes::scene(name).expect(name);
    load_text(name, scene.text, &LoadOptions::default()).expect(name)
}

fn derive(name: &str) -> Equations {
    from_model(&load(name)).expect(name).derive(&Options::default()).expect(name)
}

fn text(equations: &Equations, e: Expr) -> String {
    show(equations.pool(), e, Style::Text)
}

#[test]
fn spherical_pendulum_reads_like_a_textbook() {
    let mut equations = derive("spherical-pendulum");
    let closed = equations.closed.clone().expect("small");
    assert_eq!(text(&equations, closed.g[1][1]), "l^2*sin(q2)^2");
    assert_eq!(text(&equations, closed.g[2][2]), "l^2");
    assert_eq!(closed.g[1][2], Expr::ZERO);
    assert_eq!(text(&equations, closed.potential), "-9.81*l*cos(q2)");
    assert_eq!(equations.cyclic(), [0]);
    let integrals = equations.first_integrals();
    let names: Vec<&str> = integrals.iter().map(|i| i.name.as_str()).collect();
    assert_eq!(names, ["momentum of q1", "energy T + U"]);
    assert_eq!(text(&equations, integrals[0].value), "l^2*q1'*sin(q2)^2");
}

#[test]
fn heavy_top_has_two_momenta() {
    let mut equations = derive("heavy-top");
    assert_eq!(equations.cyclic(), [0, 2]);
    let integrals = equations.first_integrals();
    assert_eq!(integrals.len(), 3);
    assert_eq!(text(&equations, integrals[1].value), "0.0625*(q1'*cos(q2) + q3')");
}

#[test]
fn bead_on_a_hoop_climbs() {
    let mut equations = derive("bead-on-hoop");
    let integrals = equations.first_integrals();
    assert_eq!(integrals[0].name, "Jacobi's integral T2 - T0 + U");
    // cos θ = g/(R Ω²), the bottom and the top.
    let found = equations.equilibria().expect("looked for");
    let angle = (9.81f64 / (0.5 * 36.0)).acos();
    for want in [0.0, angle, -angle, std::f64::consts::PI] {
        let near =
            found.iter().any(|e| gelenk_model::rows::unwrap_angle(e.q[0] - want, 0.0).abs() < 1e-9);
        assert!(near, "{want}: {found:?}");
    }
    let at_bottom = found.iter().find(|e| e.q[0] == 0.0).expect("found above");
    assert_eq!(at_bottom.stability, Stability::Unstable);
}

#[test]
fn places_of_rest_are_places_of_rest() {
    // At q1 = q2 = ±π/2 the metric is singular and the forces vanish, but nothing rests.
    let found = derive("pendulum").equilibria().expect("looked for");
    assert!(found.iter().all(|e| e.q.iter().all(|x| x.sin().abs() < 1e-9)), "{found:?}");
    // What a coordinate does not change is told once.
    let found = derive("heavy-top").equilibria().expect("looked for");
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().all(|e| e.any == [true, false, true]), "{found:?}");
    let hanging = found.iter().find(|e| e.q[1].abs() > 3.0).expect("hanging");
    assert_eq!(hanging.stability, Stability::Stable);
    let why = derive("four-bar").equilibria().expect_err("a loop");
    assert!(why.contains("loops"));
}

/// A mass held by springs on a table that turns fast: the energy has a maximum at its centre, the gyroscopic forces hold it.
#[test]
fn gyroscopic_forces_hold_what_energy_does_not() {
    let text = r#"
        [model]
        gravity = [0, 0, 0]
        [[body]]
        name = "table"
        mass = 1
        inertia = [1, 1, 1]
        [[body]]
        name = "cross"
        mass = 0.001
        inertia = [1e-6, 1e-6, 1e-6]
        [[body]]
        name = "bob"
        mass = 1
        inertia = [1e-6, 1e-6, 1e-6]
        [[joint]]
        name = "axle"
        type = "hinge"
        between = ["world", "table"]
        point = [0, 0, 0]
        axis = [0, 0, 1]
        motion = { angle = "5*t" }
        [[joint]]
        name = "x"
        type = "slider"
        between = ["table", "cross"]
        point = [0, 0, 0]
        axis = [1, 0, 0]
        stiffness = 4
        [[joint]]
        name = "y"
        type = "slider"
        between = ["cross", "bob"]
        point = [0, 0, 0]
        axis = [0, 1, 0]
        stiffness = 4
    "#;
    let loaded = load_text("table", text, &LoadOptions::default()).expect("loads");
    let system = from_model(&loaded).expect("a system");
    let mut equations = system.derive(&Options::default()).expect("derives");
    let found = equations.equilibria().expect("looked for");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].stability, Stability::FirstOrder);
}

/// A high power of a sum is not written out: its terms would cancel.
#[test]
fn high_powers_stay_whole() {
    let mut pool = Pool::new();
    let e = pool.parse("1e6*(1.3 - q)^30 + a*(1.3 - q)^30").expect("an expression");
    let short = simplify(&mut pool, e, &Assumptions::default());
    let text = pool.display(short).to_string();
    assert!(text.contains("^30") && text.len() < 60, "{text}");
}

#[test]
fn first_integrals_stay_along_the_motion() {
    for name in ["spherical-pendulum", "heavy-top", "bead-on-hoop", "spring-bodies", "gyroscope"] {
        let loaded = load(name);
        let mut equations = derive(name);
        let numeric = equations.numeric(&loaded.model).expect(name);
        let (q, qd) = numeric.read_state(&loaded.model, &loaded.model.start);
        let qdd = numeric.accelerations(&q, &qd, 0.0);
        let integrals = equations.first_integrals();
        assert!(!integrals.is_empty(), "{name}");
        let closed = equations.closed.clone().expect(name);
        let coordinates = equations.coordinates().to_vec();
        let parameters = equations.system.parameters.clone();
        let pool = &mut equations.system.pool;
        let back = closed.unnamed(pool);
        let rates: Vec<(Expr, Expr)> = coordinates
            .iter()
            .flat_map(|c| [(c.symbol, c.rate), (c.rate, c.acceleration)])
            .collect();
        let time = pool.time();
        for integral in integrals {
            let value = pool.substitute(integral.value, &back);
            let slope = pool.diff_total(value, time, &rates);
            let at = |s: Expr| {
                for (k, c) in coordinates.iter().enumerate() {
                    if s == c.symbol {
                        return q[k];
                    }
                    if s == c.rate {
                        return qd[k];
                    }
                    if s == c.acceleration {
                        return qdd[k];
                    }
                }
                parameters.iter().find(|p| p.symbol == s).map_or(f64::NAN, |p| p.value)
            };
            let drift = pool.eval(slope, at);
            let size = pool.eval(value, at).abs().max(1.0);
            assert!(drift.abs() < 1e-9 * size, "{name}, {}: {drift:e}", integral.name);
        }
    }
}

#[test]
fn linearization_of_the_hanging_pendulum() {
    let mut equations = derive("cart-triple-pendulum");
    let zero = vec![Expr::ZERO; 4];
    let linear = equations.linearize(&zero, &zero).expect("a tree");
    let show = |e: Expr| show(equations.pool(), e, Style::Text);
    assert_eq!(show(linear.mass[0][0]), "M + m1 + m2 + m3");
    assert_eq!(show(linear.stiffness[3][3]), "g*m3*l3");
    assert_eq!(show(linear.stiffness[0][0]), "0");
    let mut arm = derive("three-link-arm");
    let zero = vec![Expr::ZERO; 3];
    let linear = arm.linearize(&zero, &zero).expect("a tree");
    for i in 0..3 {
        for j in 0..3 {
            let want = if i == j { Expr::ONE } else { Expr::ZERO };
            assert_eq!(linear.input[i][j], want);
            assert_eq!(linear.gyroscopic[i][j], Expr::ZERO);
            assert_eq!(linear.circulatory[i][j], Expr::ZERO);
        }
    }
}

#[test]
fn a_long_chain_of_links() {
    let n = 12;
    let mut model = String::from(
        "[model]\nname = \"chain\"\ngravity = [0, 0, \"-g\"]\n[parameters]\ng = 9.81\n",
    );
    for i in 1..=n {
        let _ = write!(model, "m{i} = 1\nl{i} = 1\n");
    }
    let mut place = "0".to_owned();
    for i in 1..=n {
        let parent = if i == 1 { "world".to_owned() } else { format!("link{}", i - 1) };
        let _ = write!(
            model,
            "[[body]]\nname = \"link{i}\"\nmass = \"m{i}\"\ninertia = [0.1, 0.1, 0.1]\nposition = [0, 0, \"{place}-l{i}\"]\n\
             [[joint]]\nname = \"hinge{i}\"\ntype = \"hinge\"\nbetween = [\"{parent}\", \"link{i}\"]\npoint = [0, 0, \"{place}\"]\naxis = [0, -1, 0]\n"
        );
        let _ = write!(place, "-l{i}");
    }
    let loaded = load_text("chain", &model, &LoadOptions::default()).expect("loads");
    let equations =
        from_model(&loaded).expect("a tree").derive(&Options::default()).expect("derives");
    let closed = equations.closed.as_ref().expect("planar chains stay small");
    let last = closed.g[n][n];
    assert_eq!(text(&equations, last), format!("m{n}*l{n}^2 + 0.1"));
}

#[test]
fn what_has_no_equations_is_refused_by_name() {
    let error = from_model(&load("rope-bridge")).expect_err("ropes");
    let text = error.to_string();
    assert!(text.contains("rope") && text.contains("joint `"), "{text}");
}

#[test]
fn stops_and_friction_are_left_out_with_a_note() {
    let model = r#"
        [[body]]
        name = "bar"
        mass = 1
        ends = [[0, 0, 0], [1, 0, 0]]
        shape = { cylinder = { radius = 0.02 } }
        [[joint]]
        name = "pin"
        type = "hinge"
        between = ["world", "bar"]
        point = [0, 0, 0]
        axis = [0, 1, 0]
        limits = { min = -1, max = 1 }
        friction = 0.1
    "#;
    let loaded = load_text("stops", model, &LoadOptions::default()).expect("loads");
    let equations =
        from_model(&loaded).expect("derives").derive(&Options::default()).expect("derives");
    let notes = equations.notes().join("\n");
    assert!(notes.contains("joint `pin`: its end stops"), "{notes}");
    assert!(notes.contains("joint `pin`: its dry friction"), "{notes}");
}

/// Braces, environments and left/right pairs must match, and no character may be one that TeX refuses.
fn check_latex(source: &str) {
    let mut depth = 0i32;
    let mut previous = ' ';
    for c in source.chars() {
        match c {
            '{' if previous != '\\' => depth += 1,
            '}' if previous != '\\' => depth -= 1,
            _ => {}
        }
        assert!(depth >= 0, "a brace too many: {source}");
        assert!(c.is_ascii(), "`{c}` is not ASCII: {source}");
        previous = if previous == '\\' && c == '\\' { ' ' } else { c };
    }
    assert_eq!(depth, 0, "{source}");
    assert_eq!(source.matches("\\left").count(), source.matches("\\right").count());
    let begins = source.matches("\\begin{").count();
    assert_eq!(begins, source.matches("\\end{").count());
    // Formulas stand in math mode: no line of text has a bare ^ or _.
    for line in source.lines().filter(|l| l.starts_with("\\par") || l.starts_with("\\item")) {
        let outside: String = line.split('$').step_by(2).collect();
        let bare = outside.replace("\\_", "").replace("\\^", "");
        assert!(!bare.contains('^') && !bare.contains('_'), "{line}");
    }
}

#[test]
fn formats() {
    for name in [
        "double-pendulum",
        "heavy-top",
        "slider-crank",
        "bead-on-hoop",
        "spring-swing",
        "eight-loop",
    ] {
        let equations = derive(name);
        check_latex(&equations.latex(true));
        assert!(equations.markdown().starts_with(&format!("# {name}")));
        assert!(equations.text().starts_with(name));
        let json = equations.json();
        let n = equations.n();
        if equations.closed.is_some() {
            assert_eq!(json["g"].as_array().map(Vec::len), Some(n + 1), "{name}");
            assert_eq!(json["gamma"].as_array().map(Vec::len), Some(n));
            // What is printed reads back as the same expression.
            let mut pool = equations.pool().clone();
            let again = pool.parse(json["Q"][0].as_str().expect("text")).expect("parses");
            assert_eq!(Some(again), equations.closed.as_ref().map(|c| c.q[0]));
        } else {
            assert!(json["too_large"].is_string());
        }
    }
}

/// Expressions of the kind that mechanics makes.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("m".to_owned()),
        Just("l".to_owned()),
        Just("v".to_owned()),
        Just("sin(a)".to_owned()),
        Just("cos(a)".to_owned()),
        Just("sin(a + b)".to_owned()),
        Just("cos(a - b)".to_owned()),
        Just("sin(2*b)".to_owned()),
        (1i32..4).prop_map(|n| n.to_string()),
    ];
    leaf.prop_recursive(5, 40, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(x, y)| format!("({x} + {y})")),
            (inner.clone(), inner.clone()).prop_map(|(x, y)| format!("({x} - {y})")),
            (inner.clone(), inner.clone()).prop_map(|(x, y)| format!("({x})*({y})")),
            inner.clone().prop_map(|x| format!("({x})^2")),
            inner.prop_map(|x| format!("({x})/(2 + l)")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn simplification_changes_no_value(source in expression()) {
        let mut pool = Pool::new();
        let e = pool.parse(&source).expect("made to parse");
        let none = Assumptions::default();
        let short = simplify(&mut pool, e, &none);
        prop_assert!(cost(&pool, short) <= cost(&pool, e));
        for k in 0..4 {
            let at = |s: Expr| 0.37 + 0.61 * (s.index() as f64 + f64::from(k)).sin().abs();
            let (x, y) = (pool.eval(e, at), pool.eval(short, at));
            prop_assert!((x - y).abs() <= 1e-9 * (1.0 + x.abs()), "{} became {}", source, pool.display(short));
        }
        let difference = pool.sub(e, short);
        prop_assert!(is_zero(&mut pool, difference, &none));
    }
}
