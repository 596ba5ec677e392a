//! Decks of punched cards: the paper's example against SymPy, the language, both kinds of input, faults.

#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

use std::collections::BTreeMap;

use gelenk_expr::{Expr, Node, Pool};
use gelenk_lagrange::code::{Language, generate};
use gelenk_lagrange::deck::{self, Derived, ForceFunction, Source, SystemResult};
use gelenk_lagrange::simplify::{Assumptions, is_zero};
use proptest::prelude::*;

const EXAMPLE: &str = include_str!("../decks/lagr-system-2.txt");

/// Cards of 80 columns: what is longer goes on in column 1 of the next.
fn punched(text: &str) -> String {
    let mut cards = Vec::new();
    for line in text.lines() {
        let characters: Vec<char> = line.chars().collect();
        cards.extend(characters.chunks(80).map(|card| card.iter().collect::<String>()));
    }
    cards.join("\n")
}

fn derive(text: &str) -> (Pool, Derived) {
    let deck = deck::read(&punched(text)).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let mut pool = Pool::new();
    let derived = deck.derive(&mut pool).unwrap();
    (pool, derived)
}

fn value(pool: &Pool, e: Expr, values: impl Fn(&str) -> f64) -> f64 {
    pool.eval(e, |s| match pool.node(s) {
        Node::Symbol(name) => values(name),
        _ => f64::NAN,
    })
}

/// All coefficients by the names of the reference file.
fn coefficients(system: &SystemResult) -> Vec<(String, Expr)> {
    let mut all = Vec::new();
    for (i, kinetics) in system.kinetics.iter().enumerate() {
        for (mu, row) in kinetics.g.iter().enumerate() {
            for (nu, &e) in row.iter().enumerate() {
                all.push((format!("kinetic{i}:G({mu},{nu})"), e));
            }
        }
        for (rho, plane) in kinetics.gamma.iter().enumerate() {
            for (mu, row) in plane.iter().enumerate() {
                for (nu, &e) in row.iter().enumerate() {
                    all.push((format!("kinetic{i}:GAM({},{mu},{nu})", rho + 1), e));
                }
            }
        }
    }
    for (i, forces) in system.forces.iter().enumerate() {
        for (rho, &e) in forces.q.iter().enumerate() {
            all.push((format!("forces{i}:KU({})", rho + 1), e));
        }
    }
    all
}

/// SymPy's values, from the kinetic energy and virtual power (lagr_sympy.py), at 100 random points.
#[test]
fn the_example_agrees_with_sympy() {
    let mut reference: BTreeMap<String, Vec<f64>> = include_str!("lagr_sympy.csv")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let (name, rest) = line.strip_prefix('"').unwrap().split_once('"').unwrap();
            let numbers = rest[1..].split(',').map(|c| c.parse().unwrap()).collect();
            (name.to_owned(), numbers)
        })
        .collect();
    let (pool, derived) = derive(EXAMPLE);
    let all = coefficients(&derived.systems[0]);
    assert_eq!(all.len(), 4 * (10 + 3 * 10) + 3 * 3);
    let mut worst: f64 = 0.0;
    for (name, e) in &all {
        let Some(expected) = reference.remove(name) else {
            assert_eq!(*e, Expr::ZERO, "{name} = {}", pool.display(*e));
            continue;
        };
        for (point, expected) in expected.into_iter().enumerate() {
            let found = value(&pool, *e, |name| reference[name][point]);
            let error = (found - expected).abs() / expected.abs().max(1.0);
            assert!(error < 1e-12, "{name} at point {point}: {found} and {expected}");
            worst = worst.max(error);
        }
    }
    let left: Vec<&String> = reference.keys().filter(|k| k.contains(':')).collect();
    assert!(left.is_empty(), "not compared: {left:?}");
    assert!(worst > 0.0, "values are compared, not copied");
}

/// The page, headings and all. `BLESS=1` writes it anew.
#[test]
fn the_example_prints_as_it_did() {
    let (_, derived) = derive(EXAMPLE);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/decks/lagr-system-2.out");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, derived.print()).unwrap();
    }
    let expected = std::fs::read_to_string(path).unwrap();
    assert_eq!(derived.print(), expected);
    for heading in [
        "SYSTEM 1",
        "EINGABE DER RELATIVBEWEGUNG",
        "BEWEGUNG DES KOERPERS 0",
        "KINEMATIK DES KOERPERS 3",
        "KRAEFTE UND MOMENTE DES KOERPERS: 2",
        "KEINE KRAEFTE UND MOMENTE",
        "POTENTIAL DER FEDER: 1 0",
        "BERECHNETE DATEN",
        "KOEFFIZIENTEN DER KINETISCHEN ENERGIE",
        "CHRISTOFFELSYMBOLE",
        "GENERALISIERTE KRAEFTE",
    ] {
        assert!(expected.lines().any(|l| l == heading), "{heading}");
    }
}

/// Special case b: without the point mass its coordinate has no inertia.
#[test]
fn a_singular_metric_is_reported() {
    let (_, derived) = derive(EXAMPLE);
    let system = &derived.systems[0];
    for kinetics in &system.kinetics[..3] {
        assert_eq!(kinetics.undetermined, None);
    }
    let last = &system.kinetics[3];
    assert_eq!(last.g[3][3], Expr::ZERO);
    let open = last.undetermined.as_ref().unwrap();
    assert_eq!((open.rank, open.coordinates.as_slice()), (2, [3].as_slice()));
    assert!(derived.print().contains("METRIK SINGULAER: RANG 2 STATT 3, UNBESTIMMT QPP(3)"));
}

const UNIT: &str = "'1' '0' '0' '0' '1' '0' '0' '0' '1'";

/// A point mass at (Q(1), 0, 0) under a force: KU(1) is the force.
fn force(formula: &str) -> String {
    format!(
        "1 1 1 '0'B {UNIT} '0' '0' '0'\n{UNIT} 'Q(1)' '0' '0' '1'B\n'{formula}' '0' '0' '0' '0' '0' 0 0 0 0"
    )
}

#[test]
fn the_language() {
    for (formula, printed) in [
        ("A + B*C - D/2", "A + B*C - D/2"),
        ("-A**2", "-A**2"),
        ("A**-2", "1/A**2"),
        ("2**3**2", "512"),
        ("1.5E1*A + .5", "15*A + 1/2"),
        ("SIN(A)*COS(A) + SINH(B) + COSH(B)", "SIN(A)*COS(A) + SINH(B) + COSH(B)"),
        ("ATAN(A) + ATANH(B)", "ATAN(A) + ATANH(B)"),
        ("ATAN(X, Y)", "ATAN(X, Y)"),
        ("LOG(A) + LOG10(B) + LOG2(D)", "LOG(A) + LOG10(B) + LOG2(D)"),
        ("ERF(A)", "ERF(A)"),
        ("#E**A", "#E**(A)"),
        ("#PI*A", "#PI*A"),
        ("FAC(5) + FAC(0)", "121"),
        ("COMB(5, 2)", "10"),
        ("COMB(6, 1, 2)", "60"),
        ("STEP(1, 2, 3) + 10*STEP(2, 1, 3)", "1"),
        ("A(1, 2)*QP(1)**2", "A(1,2)*QP(1)**2"),
        ("QP(0)*A", "A"),
        ("M(L)*A", "M(1)*A"),
        ("GAM(1, 4, 1)*A", "A*Q(1)"),
        ("FU.(Q(1), Q(0))", "FU.(Q(1),Q(0))"),
        ("FU.(1)(Q(0))", "FU.(1)(Q(0))"),
        ("A**(1/2)", "(A)**(1/2)"),
        ("sin(a)", "SIN(A)"),
        ("SQRT(A + 1)*SQRT(4)", "2*(A + 1)**(1/2)"),
    ] {
        let (_, derived) = derive(&force(formula));
        let line = derived.print().lines().find(|l| l.starts_with("  KU(1) = "));
        assert_eq!(line.map(|l| &l[10..]), Some(printed), "{formula}");
    }
    let (_, derived) = derive(&force("COS(A)**2 + SIN(A)**2 - 1"));
    assert!(!derived.print().contains("KU(1)"), "a zero is not printed");
}

/// A step in a variable has its value there.
#[test]
fn a_step_in_a_variable() {
    let (pool, derived) = derive(&force("STEP(1, A, 2)"));
    let e = derived.systems[0].forces[0].q[0];
    let at = |a: f64| value(&pool, e, |_| a);
    assert!((at(0.9), at(1.0), at(1.5), at(2.0), at(2.1)) == (0.0, 1.0, 1.0, 1.0, 0.0));
}

/// The spring along an axis: the root of a square is the magnitude, and the force has the right sign on both sides.
#[test]
fn the_spring_knows_its_sign() {
    let text = format!(
        "1 1 1 '0'B {UNIT} '0' '0' '0' {UNIT} 'Q(1)' '0' '0' '0'B 0
         1 1 0 '1'B '1'B
         'XF(1,0,1),0, XF(1,0,2),0, XF(1,0,3),0, XF(0,1,1),0, XF(0,1,2),0, XF(0,1,3),0'
         'C(L, N), C, LA0(L, N), LA'
         0 0"
    );
    let (pool, derived) = derive(&text);
    let q = derived.systems[0].forces[0].q[0];
    let at = |x: f64| {
        value(&pool, q, |name| match name {
            "Q(1)" => x,
            "C" => 3.0,
            "LA" => 0.5,
            other => panic!("{other}"),
        })
    };
    assert!((at(2.0) + 3.0 * 1.5).abs() < 1e-15);
    assert!((at(-2.0) - 3.0 * 1.5).abs() < 1e-15);
}

/// A spring from a pendulum's end to a point beside: U by hand, and Q = -∂U/∂q by differences.
#[test]
fn a_spring_in_space() {
    let text = format!(
        "1 1 1 '0'B {UNIT} '0' '0' '0'
         'COS(Q(1))' 'SIN(Q(1))' '0' '-SIN(Q(1))' 'COS(Q(1))' '0' '0' '0' '1' 'R*COS(Q(1))' 'R*SIN(Q(1))' '0' '0'B 0
         1 1 0 '0'B '0'B 0 0"
    );
    let (pool, derived) = derive(&text);
    let point = |name: &str, q: f64| match name {
        "Q(1)" => q,
        "R" => 0.7,
        "C(1,0)" => 2.5,
        "LA0(1,0)" => 0.4,
        "XF(1,0,1)" => 0.3,
        "XF(1,0,2)" => -0.2,
        "XF(1,0,3)" => 0.1,
        "XF(0,1,1)" => 1.1,
        "XF(0,1,2)" => 0.6,
        "XF(0,1,3)" => -0.4,
        other => panic!("{other}"),
    };
    let by_hand = |q: f64| {
        let (s, c) = q.sin_cos();
        let a = [0.7 * c + 0.3 * c + 0.2 * s, 0.7 * s + 0.3 * s - 0.2 * c, 0.1];
        let length = ((a[0] - 1.1f64).powi(2) + (a[1] - 0.6).powi(2) + 0.25).sqrt();
        2.5 * (0.5 * length * length - 0.4 * length)
    };
    let system = &derived.systems[0];
    for q in [-1.3, 0.2, 2.0] {
        let u = value(&pool, system.potentials[0].potential, |n| point(n, q));
        assert!((u - by_hand(q)).abs() < 1e-13, "{u} {}", by_hand(q));
        let h = 1e-5;
        let slope = (by_hand(q + h) - by_hand(q - h)) / (2.0 * h);
        let force = value(&pool, system.forces[0].q[0], |n| point(n, q));
        assert!((force + slope).abs() < 1e-8, "{force} {slope}");
    }
}

/// The same double pendulum by relative and by absolute motion.
#[test]
fn relative_and_absolute_input_agree() {
    let turn = |k: usize| {
        format!("'COS(Q({k}))' 'SIN(Q({k}))' '0' '-SIN(Q({k}))' 'COS(Q({k}))' '0' '0' '0' '1'")
    };
    let relative = format!(
        "1 2 2 '1'B {UNIT} '0' '0' '0'
         0 {} '0' '0' '0' '0' '0' '0' '0' 'A' '0' '1'B '0' '-GE*M(1)' '0' '0' '0' 'MOM'
         1 {} '0' '0' '0' '0' '-A' '0' '0' 'B' '0' '1'B '0' '-GE*M(2)' '0' '0' '0' '0'
         0 0 0 0",
        turn(1),
        turn(2)
    );
    let both =
        "'COS(Q(1)+Q(2))' 'SIN(Q(1)+Q(2))' '0' '-SIN(Q(1)+Q(2))' 'COS(Q(1)+Q(2))' '0' '0' '0' '1'";
    let absolute = format!(
        "1 2 2 '0'B {UNIT} '0' '0' '0'
         {} 'A*SIN(Q(1))' '-A*COS(Q(1))' '0' '1'B '0' '-GE*M(1)' '0' '0' '0' 'MOM'
         {both} '2*A*SIN(Q(1)) + B*SIN(Q(1)+Q(2))' '-2*A*COS(Q(1)) - B*COS(Q(1)+Q(2))' '0' '1'B '0' '-GE*M(2)' '0' '0' '0' '0'
         0 0 0 0",
        turn(1)
    );
    let mut pool = Pool::new();
    let a = deck::read(&punched(&relative)).unwrap().derive(&mut pool).unwrap();
    let b = deck::read(&punched(&absolute)).unwrap().derive(&mut pool).unwrap();
    assert!(a.print().contains("EINGABE DER RELATIVBEWEGUNG"));
    assert!(b.print().contains("EINGABE DER ABSOLUTBEWEGUNG"));
    let (a, b) = (coefficients(&a.systems[0]), coefficients(&b.systems[0]));
    assert_eq!(a.len(), b.len());
    let mut nonzero = 0;
    for ((name, x), (_, y)) in a.iter().zip(&b) {
        let difference = pool.sub(*x, *y);
        assert!(is_zero(&mut pool, difference, &Assumptions::default()), "{name}");
        nonzero += usize::from(*x != Expr::ZERO);
    }
    assert!(nonzero > 6);
    let moment = a.iter().find(|c| c.0 == "forces0:KU(1)").unwrap().1;
    assert!(pool.display(moment).to_string().contains("MOM"));
}

/// Asymmetric top in Euler's angles, without false non-zero entries: what is printed is not zero at random points, and
/// the metric is that of the textbook.
#[test]
fn an_asymmetric_top() {
    // Rows: body axes in world components for rotations q1 (z), q2 (x), q3 (z).
    let text = format!(
        "1 1 3 '0'B {UNIT} '0' '0' '0'
         'COS(Q(3))*COS(Q(1)) - SIN(Q(3))*COS(Q(2))*SIN(Q(1))' 'COS(Q(3))*SIN(Q(1)) + SIN(Q(3))*COS(Q(2))*COS(Q(1))' 'SIN(Q(3))*SIN(Q(2))'
         '-SIN(Q(3))*COS(Q(1)) - COS(Q(3))*COS(Q(2))*SIN(Q(1))' '-SIN(Q(3))*SIN(Q(1)) + COS(Q(3))*COS(Q(2))*COS(Q(1))' 'COS(Q(3))*SIN(Q(2))'
         'SIN(Q(2))*SIN(Q(1))' '-SIN(Q(2))*COS(Q(1))' 'COS(Q(2))'
         '0' '0' '0' '1'B '0' '0' '0' 'MX' 'MY1' 'MZ'
         0 0 1 'TH(1,1,2), 0, TH(1,1,3), 0, TH(1,2,3), 0' 0"
    );
    let (pool, derived) = derive(&text);
    let system = &derived.systems[0];
    let symbol = |name: &str| {
        let q = |k: usize| [0.3, 0.8, -0.4][k];
        match name {
            "TH(1,1,1)" => 2.0,
            "TH(1,2,2)" => 3.0,
            "TH(1,3,3)" => 1.4,
            "Q(1)" => q(0),
            "Q(2)" => q(1),
            "Q(3)" => q(2),
            "MX" => 0.7,
            "MY1" => -0.2,
            "MZ" => 1.3,
            other => panic!("{other}"),
        }
    };
    let kinetics = &system.kinetics[1];
    for (name, e) in coefficients(system).iter().filter(|c| c.0.starts_with("kinetic1")) {
        if *e != Expr::ZERO {
            assert!(value(&pool, *e, symbol).abs() > 1e-6, "{name} = {}", pool.display(*e));
        }
    }
    // Θ = trace - θ: the ordinary moments.
    let (a, b, c) = (3.0 + 1.4, 2.0 + 1.4, 2.0 + 3.0);
    let (s2, c2) = (0.8f64.sin(), 0.8f64.cos());
    let (s3, c3) = ((-0.4f64).sin(), (-0.4f64).cos());
    let expected = [
        [
            a * s2 * s2 * s3 * s3 + b * s2 * s2 * c3 * c3 + c * c2 * c2,
            (a - b) * s2 * s3 * c3,
            c * c2,
        ],
        [(a - b) * s2 * s3 * c3, a * c3 * c3 + b * s3 * s3, 0.0],
        [c * c2, 0.0, c],
    ];
    for i in 0..3 {
        for j in 0..=i {
            let found = value(&pool, kinetics.g[i + 1][j + 1], symbol);
            assert!((found - expected[i][j]).abs() < 1e-13, "{i}{j}: {found} {}", expected[i][j]);
        }
    }
    // Moments: power = M · ω with ω = q̇1 z + q̇2 (line of nodes) + q̇3 (body's third axis).
    let (s1, c1) = (0.3f64.sin(), 0.3f64.cos());
    let axes = [[0.0, 0.0, 1.0], [c1, s1, 0.0], [s2 * s1, -s2 * c1, c2]];
    for rho in 0..3 {
        let found = value(&pool, system.forces[0].q[rho], symbol);
        let expected: f64 = axes[rho].iter().zip([0.7, -0.2, 1.3]).map(|(x, m)| x * m).sum();
        assert!((found - expected).abs() < 1e-14, "{rho}: {found} {expected}");
    }
}

#[test]
fn several_systems_in_one_deck() {
    let one = force("A");
    let body = one.strip_prefix("1 ").unwrap();
    let (_, derived) = derive(&format!("2 {body} {body}"));
    assert_eq!(derived.systems.len(), 2);
    assert!(derived.print().contains("SYSTEM 2"));
}

#[test]
fn functions_are_specified_with_their_derivatives() {
    // x = FU.(Q(0), 2) + Q(1): then FU.($) by $(1)**3*$(2), so that x = 2 t³ + q.
    let text = format!(
        "1 1 1 '0'B {UNIT} '0' '0' '0' {UNIT} 'FU.(Q(0), 2) + Q(1)' '0' '0' '0'B 0 0
         2 'FU.($), $(1)**3*$(2)' 'FU.($), GF.($(1)), GF.($), SIN($(1))' 0"
    );
    let (_, derived) = derive(&text);
    let page = derived.print();
    assert!(page.contains("  GAM(1,0,0) = M(1)*FU.(2,0)(Q(0),2)"), "{page}");
    assert!(page.contains("  G(1,0) = 6*M(1)*Q(0)**2"), "{page}");
    assert!(page.contains("  GAM(1,0,0) = 12*M(1)*Q(0)"), "{page}");
    assert!(page.contains("  G(1,0) = M(1)*COS(Q(0))"), "{page}");
}

#[test]
fn faults_name_card_and_column() {
    for (text, card, column, words) in [
        ("", 1, 1, "the deck ends here; B, the number of systems"),
        ("1\n0 1 '1'B", 2, 1, "N, the number of bodies, is 0"),
        ("1\n1 1 1", 2, 5, "BI1 is a bit"),
        ("1 1 1 '1'B 'A", 1, 12, "the string has no end"),
        ("1 1 1 '1'B ‘0‘", 1, 12, "apostrophe"),
        ("1 1 1 '0'B 5", 1, 12, "a string in apostrophes, not the number 5"),
    ] {
        let errors = deck::read(text).unwrap_err();
        let error = errors.last().unwrap();
        assert_eq!((error.place.card, error.place.column), (card, column), "{error}");
        assert!(error.message.contains(words), "{error}");
    }
    for (formula, column, words) in [
        ("A + Q(2)", 4, "Q(2): the system has 1 freedoms"),
        ("GAM(2,1,1)", 0, "the motion of body 2 is not known yet"),
        ("A*(B + C", 8, "closing parenthesis"),
        ("A*KU(1)", 2, "KU is a variable of the program"),
        ("RHO", 0, "RHO is a variable of the program"),
        ("A/0", 1, "division by zero"),
        ("$(1)", 0, "$(1) has a meaning only"),
        ("FU.($)", 0, "FU.($) stands alone"),
        ("M(A)", 0, "a subscript is A"),
        ("FAC(1/2)", 0, "FAC needs whole numbers"),
    ] {
        // The formula is the first on its card.
        let (text, start) = (force(formula), 2);
        let errors = deck::read(&text).unwrap_err();
        assert_eq!(errors[0].place.column, start + column, "{formula}: {}", errors[0]);
        assert!(errors[0].message.contains(words), "{}", errors[0]);
    }
    // All faults of formulas at once.
    let text = force("A +").replace("'Q(1)' '0'", "'Q(1' 'B +'");
    assert_eq!(deck::read(&text).unwrap_err().len(), 3);
}

/// A card has 80 columns; what is punched beyond is named, not glued to the next card.
#[test]
fn longer_cards_are_refused() {
    let good = format!("1 1 1 '0'B {UNIT} '0' '0' '0'{}", " ".repeat(60));
    let long = format!("{good}\n{}X\n{}", " ".repeat(79), " ".repeat(81));
    let errors = deck::read(&long).unwrap_err();
    assert!(
        errors[0].place.card > 1 || errors[0].place.column != 81,
        "blanks are no fault: {errors:?}"
    );
    let errors =
        deck::read(&format!("1 1 1 '0'B\n{}XYZ\n{}Z", " ".repeat(78), " ".repeat(80))).unwrap_err();
    let places: Vec<_> = errors.iter().map(|e| (e.place.card, e.place.column)).collect();
    assert_eq!(places, [(2, 81), (3, 81)]);
    assert!(errors[0].message.contains("a card has 80 columns, this one 81"), "{}", errors[0]);
}

/// A force along the body's axes is the same as its world components written out.
#[test]
fn forces_in_body_axes() {
    let turn = "'COS(Q(1))' 'SIN(Q(1))' '0' '-SIN(Q(1))' 'COS(Q(1))' '0' '0' '0' '1'";
    let deck = |bits: &str, force: &str| {
        format!("1 1 2 '0'B {UNIT} '0' '0' '0'\n{turn} 'Q(2)' '0' '0'\n{bits} {force} 0 0 0 0")
    };
    let (_, in_body) = derive(&deck("'11'B", "'FX' 'FY' '0' '0' '0' 'MZ'"));
    let world = "'GAM(1,1,1)*FX + GAM(1,2,1)*FY' 'GAM(1,1,2)*FX + GAM(1,2,2)*FY' '0' '0' '0' 'MZ'";
    let (_, in_world) = derive(&deck("'1'B", world));
    for page in [&in_body, &in_world] {
        for line in ["  KU(1) = MZ", "  KU(2) = FX*COS(Q(1)) - FY*SIN(Q(1))"] {
            assert!(page.print().lines().any(|l| l == line), "{line}: {}", page.print());
        }
    }
    assert!(in_body.print().contains("KRAEFTE UND MOMENTE DES KOERPERS: 1 (KOERPERACHSEN)"));
    let errors = deck::read(&punched(&deck("'01'B", world))).unwrap_err();
    assert!(errors[0].message.contains("a bit is"), "{}", errors[0]);
}

/// Potentials and dissipation functions of forces on a point at (Q(1), Q(2), 0), as a calculus book has them; by hand.
#[test]
fn potentials_of_given_forces() {
    let page = |x: &str, y: &str| {
        let text = format!(
            "1 1 2 '0'B {UNIT} '0' '0' '0'\n{UNIT} 'Q(1)' 'Q(2)' '0' '1'B\n'{x}' '{y}' '0' '0' '0' '0' 0 0 0 0"
        );
        let (_, derived) = derive(&text);
        let page = derived.print().to_owned();
        let lines: Vec<String> = page.lines().map(str::to_owned).collect();
        let at = lines.iter().position(|l| l == "KRAEFTE DES KOERPERS 1").unwrap();
        let end = lines.iter().position(|l| l == "ALLE KRAEFTE").unwrap();
        lines[at + 1..end].join(";").replace("  ", "")
    };
    // Of the last ones only that there is one: the form is free, the slopes are compared when it is found.
    for (x, y, expected) in [
        ("A", "-B", "POT = -A*Q(1) + B*Q(2)"),
        ("2*Q(1)*Q(2)", "Q(1)**2", "POT = -Q(1)**2*Q(2)"),
        ("COS(Q(1) + Q(2))", "COS(Q(1) + Q(2))", "POT = -SIN(Q(1) + Q(2))"),
        ("Q(2)", "-Q(1)", "KEIN POTENTIAL: DKU(2)/DQ(1) IST NICHT DKU(1)/DQ(2)"),
        // Gyroscopic forces do no work: neither a potential nor dissipation.
        (
            "A*QP(2)",
            "-A*QP(1)",
            "KEINE DISSIPATIONSFUNKTION: DKU(2)/DQP(1) IST NICHT DKU(1)/DQP(2)",
        ),
        ("Q(1)*SIN(W*Q(1))", "0", "POT = "),
        ("1/Q(1)", "0", "POT = "),
        ("-A*Q(1)/(Q(1)**2 + Q(2)**2)**(3/2)", "-A*Q(2)/(Q(1)**2 + Q(2)**2)**(3/2)", "POT = "),
        ("-Q(1)*#E**(-Q(1)**2)", "0", "POT = "),
        ("SIN(W*Q(0))", "0", "POT = "),
        ("SIGN(Q(1) - A)", "0", "POT = "),
        ("-A*QP(1) - B*QP(2)", "-B*QP(1)", "DIS = "),
        ("-A*QP(1)*ABS(QP(1))", "0", "DIS = "),
    ] {
        let found = page(x, y);
        let fits =
            if expected.ends_with("= ") { found.starts_with(expected) } else { found == expected };
        assert!(fits, "{x}, {y}: {found}, not {expected}");
    }
}

/// The example: the forces of the spring between pendulum and mass have a potential only together; the damper dissipates.
#[test]
fn the_example_has_potential_and_dissipation_function() {
    let (mut pool, derived) = derive(EXAMPLE);
    let system = &derived.systems[0];
    let of = |source: Source| {
        let found = system.functions.iter().find(|f| f.source == source).unwrap();
        (found.potential.clone(), found.dissipation.clone())
    };
    assert!(matches!(of(Source::Body(2)).0, ForceFunction::Missing { .. }));
    assert_eq!(of(Source::Damper(2, 3)).0, ForceFunction::Zero);
    let (ForceFunction::Is(u), ForceFunction::Is(r)) = of(Source::All) else {
        panic!("{:?}", of(Source::All))
    };
    // Gravity of both bodies, spring 2 and spring 1; the damper's half power.
    let total = deck::read(EXAMPLE).unwrap().derive(&mut pool).unwrap();
    for (rho, &force) in total.systems[0].forces[0].q.iter().enumerate() {
        let slope = pool.diff(u, system.coordinates[rho + 1]);
        let loss = pool.diff(r, system.rates[rho + 1]);
        let sum = pool.add(&[force, slope, loss]);
        assert!(is_zero(&mut pool, sum, &Assumptions::default()), "{rho}");
    }
    let text = pool.display(r).to_string();
    assert_eq!(text, "K(2,3)*(Q(3)^2*QP(2)^2 + QP(3)^2)/2");
    // The potential of spring 1 has no jump where its length is zero.
    let potential = pool.display(u).to_string();
    assert!(
        potential.contains("abs(Q(1) + XF(1,0,1))") && !potential.contains("sign"),
        "{potential}"
    );
}

/// The code of the equations computes what the expressions are.
#[test]
fn a_program_of_the_example() {
    let (mut pool, derived) = derive(EXAMPLE);
    let system = &derived.systems[0];
    let program = system.program(&mut pool, "system_2", 0, 0).unwrap();
    assert!(system.program(&mut pool, "x", 9, 0).is_none());
    let names: Vec<&str> = program.inputs.iter().map(|i| i.0.as_str()).collect();
    assert_eq!(
        names[names.len() - 7..],
        ["Q(0)", "Q(1)", "Q(2)", "Q(3)", "QP(1)", "QP(2)", "QP(3)"]
    );
    assert_eq!(program.outputs.iter().map(|o| o.1.len()).collect::<Vec<_>>(), [9, 3, 3]);
    for language in [Language::Rust, Language::C, Language::Python] {
        let text = generate(&pool, &program, language).unwrap();
        for group in ["mass_matrix", "bias", "force"] {
            assert!(text.contains(&format!("system_2_{group}")), "{text}");
        }
    }
    // bias = Γ q̇ q̇ by the chain rule: ½ d/dt of the metric against the kinetic energy.
    let bias = program.outputs[1].1.clone();
    let gamma = &system.kinetics[0].gamma;
    for (rho, &bias) in bias.iter().enumerate() {
        let mut terms = Vec::new();
        for mu in 0..=3 {
            for nu in 0..=3 {
                let entry = gamma[rho][mu.max(nu)][mu.min(nu)];
                terms.push(pool.mul(&[entry, system.rates[mu], system.rates[nu]]));
            }
        }
        let sum = pool.add(&terms);
        let difference = pool.sub(sum, bias);
        assert!(is_zero(&mut pool, difference, &Assumptions::default()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Whatever becomes of the cards, the reader answers.
    #[test]
    fn broken_decks_do_not_break_the_reader(
        at in 0usize..3000,
        length in 0usize..40,
        put in "[A-Z0-9()',.*/+#$B -]{0,12}",
    ) {
        let text: Vec<char> = EXAMPLE.chars().collect();
        let at = at.min(text.len());
        let end = (at + length).min(text.len());
        let broken: String =
            text[..at].iter().copied().chain(put.chars()).chain(text[end..].iter().copied()).collect();
        if let Err(errors) = deck::read(&broken) {
            prop_assert!(!errors.is_empty());
            let cards = broken.lines().count();
            prop_assert!(errors.iter().all(|e| (1..=cards.max(1)).contains(&e.place.card)));
        }
    }

    #[test]
    fn any_text_is_answered(text in "\\PC{0,200}") {
        let _ = deck::read(&text);
    }
}

/// Coordinates of which there are more than freedoms: the condition with its slopes, and code for them.
#[test]
fn conditions_between_coordinates() {
    let (_, text) = deck::DECKS.iter().find(|d| d.0 == "pendulum-by-condition").unwrap();
    let (mut pool, derived) = derive(text);
    let system = &derived.systems[0];
    let condition = &system.conditions[0];
    let at = |pool: &Pool, e: Expr| {
        value(pool, e, |name| match name {
            "Q(1)" => 0.3,
            "Q(2)" => -0.7,
            "QP(1)" => 1.1,
            "QP(2)" => 0.4,
            "R" => 2.0,
            other => panic!("{other}"),
        })
    };
    assert!((at(&pool, condition.c) - 0.5 * (0.09 + 0.49 - 4.0)).abs() < 1e-15);
    assert!((at(&pool, condition.slopes[1]) - 0.3).abs() < 1e-15);
    assert!((at(&pool, condition.slopes[2]) + 0.7).abs() < 1e-15);
    assert_eq!(condition.slopes[0], Expr::ZERO);
    assert!((at(&pool, condition.gamma) + 1.21 + 0.16).abs() < 1e-15);
    let page = derived.print();
    assert!(page.contains("BEDINGUNGEN") && page.contains("DC(1,1) = Q(1)"), "{page}");
    let program = system.program(&mut pool, "pendulum", 0, 0).unwrap();
    let code = generate(&pool, &program, Language::C).unwrap();
    assert!(code.contains("void pendulum_jacobian("), "{code}");
    // A deck of two systems: conditions stand at the end of each.
    let two = format!(
        "2 {}\n{}",
        text.split_once("1  1 2").map(|t| format!("1 2{}", t.1)).unwrap(),
        "1 2 '0'B '1' '0' '0'  '0' '1' '0'  '0' '0' '1'  '0' '0' '0'
'1' '0' '0'  '0' '1' '0'  '0' '0' '1'  'Q(1)' 'Q(2)' '0' '0'B 0 0 0 0"
    );
    let (_, derived) = derive(&two);
    assert_eq!(derived.systems.iter().map(|s| s.conditions.len()).collect::<Vec<_>>(), [1, 0]);
}

/// A charge as a coordinate: the equations of a loudspeaker.
#[test]
fn a_loudspeaker_has_a_charge() {
    let (_, text) = deck::DECKS.iter().find(|d| d.0 == "loudspeaker").unwrap();
    let (pool, derived) = derive(text);
    let q = &derived.systems[0].forces[0].q;
    let at = |e: Expr| {
        value(&pool, e, |name| match name {
            "Q(0)" | "QP(1)" => 0.5,
            "Q(1)" | "BL" => 2.0,
            "Q(2)" | "S" => 3.0,
            "QP(2)" | "CAP" => 4.0,
            "U0" | "OM" | "D" => 7.0,
            "R" => 11.0,
            other => panic!("{other}"),
        })
    };
    assert!((at(q[0]) - (2.0 * 4.0 - 3.0 * 2.0 - 7.0 * 0.5)).abs() < 1e-14);
    let voltage = 7.0 * 3.5_f64.sin() - 3.0 / 4.0 - 11.0 * 4.0 - 2.0 * 0.5;
    assert!((at(q[1]) - voltage).abs() < 1e-14);
}
