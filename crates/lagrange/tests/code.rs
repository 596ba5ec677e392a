//! Generated code, compiled and run: Rust, C and Python give the tape's values.

#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use gelenk_expr::{Expr, Pool, Tape};
use gelenk_lagrange::code::{Language, Program, generate};
use gelenk_lagrange::deck;

const POINTS: usize = 25;

/// A program with its pool.
struct Case {
    pool: Pool,
    program: Program,
    /// How far values may be off, relative to max(1, |value|).
    tolerance: f64,
}

fn program(pool: &mut Pool, name: &str, inputs: &[&str], groups: &[(&str, &[&str])]) -> Program {
    let inputs = inputs.iter().map(|n| ((*n).to_owned(), pool.symbol(n))).collect();
    let outputs = groups
        .iter()
        .map(|(group, texts)| {
            ((*group).to_owned(), texts.iter().map(|t| pool.parse(t).unwrap()).collect())
        })
        .collect();
    let about = vec![("a".to_owned(), "an angle, rad".to_owned())];
    Program { name: name.into(), inputs, outputs, about }
}

/// Every function and form of power.
fn functions() -> Case {
    let mut pool = Pool::new();
    let groups: &[(&str, &[&str])] = &[
        (
            "elementary",
            &[
                "sin(a) + 2*cos(a)",
                "tan(a) - asin(a/4)*acos(b/4)",
                "exp(-a) + log(b) + log10(a) + log2(b)",
                "sinh(a)*cosh(b) - tanh(a*b)",
                "asinh(a) + acosh(1 + b) + atanh(a/4)",
                "atan(a) + atan2(a - 1, b - 1)",
                "erf(a) - erf(-b) + erf(3*a) + erf(9*b)",
                "abs(a - b) + 3*sign(a - b) + 5*step(b - a) + floor(3*a)",
                "min(a, b, 1) - 2*max(a, b, 1)",
                "if(a < b, a^2, sin(b)) + if(a*b <= 1, 1, 2)",
            ],
        ),
        (
            "powers",
            &[
                "a^2 + b^3 - a^7*b^12",
                "1/a + 3/b^2 - a/(b*(a + b)^3)",
                "sqrt(a) + a^(3/2) - 1/sqrt(a + b) + (a + b)^(-5/2)",
                "a^b + (a + b)^(1/3) + b^(-7/5)",
                "-a^2",
                "-(a + b)*(a - b)/3 + 2/7",
                "(a + b)^16*(a + b)^(1/2)",
                "pi*e*a",
                "-1/3",
                "b",
            ],
        ),
        ("nothing", &[]),
    ];
    let program = program(&mut pool, "functions", &["a", "b", "not.used"], groups);
    Case { pool, program, tolerance: 1e-14 }
}

/// The coefficients of the paper's example, with its names, Q(1) and so on.
fn example() -> Case {
    let mut pool = Pool::new();
    let deck = deck::read(include_str!("../decks/lagr-system-2.txt")).unwrap();
    let derived = deck.derive(&mut pool).unwrap();
    let system = &derived.systems[0];
    let g: Vec<Expr> = system.kinetics[0].g.iter().flatten().copied().collect();
    let gamma: Vec<Expr> = system.kinetics[0].gamma.iter().flatten().flatten().copied().collect();
    let q = system.forces[0].q.clone();
    let outputs =
        vec![("metric".to_owned(), g), ("Gamma".to_owned(), gamma), ("forces".to_owned(), q)];
    let mut inputs: Vec<(String, Expr)> = Vec::new();
    for e in outputs.iter().flat_map(|o| &o.1) {
        for symbol in pool.symbols_of(*e) {
            if !inputs.iter().any(|i| i.1 == symbol) {
                inputs.push((pool.display(symbol).to_string(), symbol));
            }
        }
    }
    let about = vec![
        ("GE".into(), "gravity, m/s^2".into()),
        ("metric".into(), "lower triangle by rows".into()),
    ];
    Case {
        pool,
        program: Program { name: "system_2".into(), inputs, outputs, about },
        tolerance: 1e-14,
    }
}

/// The recursive form of an arm with six axes.
fn robot_arm() -> Case {
    let text = gelenk_scenes::scene("robot-arm").unwrap().text;
    let loaded =
        gelenk_model::load_text("robot-arm", text, &gelenk_model::LoadOptions::default()).unwrap();
    let system = gelenk_lagrange::from_model(&loaded).unwrap();
    let options = gelenk_lagrange::Options { closed: false, ..Default::default() };
    let mut equations = system.derive(&options).unwrap();
    let form = equations.program();
    let pool = equations.pool().clone();
    let named = |e: &Expr| (pool.display(*e).to_string(), *e);
    let mass = form.mass.iter().enumerate().flat_map(|(i, row)| row[..=i].to_vec()).collect();
    let program = Program {
        name: "robot_arm".into(),
        inputs: form.inputs.iter().map(named).collect(),
        outputs: vec![
            ("accelerations".into(), form.accelerations.clone()),
            ("mass".into(), mass),
            ("bias".into(), form.bias.clone()),
        ],
        about: vec![],
    };
    Case { pool, program, tolerance: 1e-10 }
}

/// Operations as the code says them, for each of its functions.
#[test]
fn the_arm_with_six_axes_is_short() {
    let case = robot_arm();
    let code = generate(&case.pool, &case.program, Language::C).unwrap();
    let counts: Vec<usize> = code
        .lines()
        .filter_map(|line| line.strip_suffix(" operations) */")?.rsplit_once('('))
        .map(|(_, n)| n.parse().unwrap())
        .collect();
    assert_eq!(counts.len(), 3);
    assert!(counts.iter().sum::<usize>() <= 1498, "{counts:?}");
}

/// A deep expression: parentheses that never end are not the generator's stack.
fn deep() -> Case {
    let mut pool = Pool::new();
    let (a, b) = (pool.symbol("a"), pool.symbol("b"));
    let mut e = a;
    for _ in 0..3000 {
        let sin = pool.sin(e);
        e = pool.add(&[sin, b]);
    }
    let inputs = vec![("a".into(), a), ("b".into(), b)];
    let outputs = vec![("value".to_owned(), vec![e])];
    Case {
        pool,
        program: Program { name: "deep".into(), inputs, outputs, about: vec![] },
        tolerance: 1e-14,
    }
}

/// Random expressions: signs, parentheses and powers in all combinations. Cancellation makes their last digits differ.
fn random() -> Case {
    let mut pool = Pool::new();
    let symbols = ["a", "b", "c"].map(|n| pool.symbol(n));
    let mut state = 1978u64;
    let mut next = |n: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((state >> 33) % n).unwrap()
    };
    let mut known: Vec<Expr> = symbols.to_vec();
    for _ in 0..400 {
        let a = known[next(known.len() as u64)];
        let b = known[next(known.len() as u64)];
        let e = match next(8) {
            0 => pool.add(&[a, b]),
            1 => pool.sub(a, b),
            2 => pool.mul(&[a, b]),
            3 => pool.div(a, b),
            4 => pool.neg(a),
            5 => {
                let exponent = pool.rational(
                    i64::try_from(next(9)).unwrap() - 4,
                    1 + i64::try_from(next(2)).unwrap(),
                );
                pool.pow(a, exponent)
            }
            6 => pool.sin(a),
            _ => {
                let (n, d) =
                    (i64::try_from(next(9)).unwrap() - 4, 1 + i64::try_from(next(4)).unwrap());
                let number = pool.rational(n, d);
                let product = pool.mul(&[number, a]);
                pool.add(&[product, b])
            }
        };
        // What grows beyond all bounds tells nothing.
        let fine = (0..POINTS).all(|k| {
            let x = point(k, 3);
            let value = pool.eval(e, |s| x[symbols.iter().position(|t| *t == s).unwrap()]);
            value.is_finite() && value.abs() < 1e3
        });
        if fine {
            known.push(e);
        }
    }
    assert!(known.len() > 150, "{}", known.len());
    let inputs = ["a", "b", "c"].map(str::to_owned).into_iter().zip(symbols).collect();
    let outputs = vec![("all".to_owned(), known)];
    Case {
        pool,
        program: Program { name: "random".into(), inputs, outputs, about: vec![] },
        tolerance: 1e-9,
    }
}

/// Inputs of point k, in (0.3, 1.9).
fn point(k: usize, n: usize) -> Vec<f64> {
    (0..n).map(|i| 0.3 + 1.6 * ((k * 37 + i * 61 + 11) % 101) as f64 / 101.0).collect()
}

/// The tape's values of all groups at all points, group by group.
fn expected(case: &Case) -> Vec<Vec<f64>> {
    let inputs: Vec<Expr> = case.program.inputs.iter().map(|i| i.1).collect();
    let mut all = Vec::new();
    for (_, outputs) in &case.program.outputs {
        let tape = Tape::compile(&case.pool, outputs, &inputs).unwrap();
        all.extend((0..POINTS).map(|k| tape.values(&point(k, inputs.len()))));
    }
    all
}

/// Compares lines of numbers with the tape.
fn compare(case: &Case, language: Language, printed: &str) {
    let expected = expected(case);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines.len(), expected.len(), "{language:?} {}: {printed}", case.program.name);
    for (line, values) in lines.iter().zip(&expected) {
        let found: Vec<f64> = line.split_whitespace().map(|x| x.parse().unwrap()).collect();
        assert_eq!(found.len(), values.len(), "{line}");
        for (i, (a, b)) in found.iter().zip(values).enumerate() {
            let error = (a - b).abs() / b.abs().max(1.0);
            assert!(
                error <= case.tolerance,
                "{language:?} {} output {i}: {a} and {b}",
                case.program.name
            );
        }
    }
}

fn run(command: &mut Command, what: &str) -> String {
    let output = command.output().unwrap_or_else(|e| {
        panic!("{what} is needed for this test and cannot be run: {e} ({command:?})")
    });
    assert!(
        output.status.success(),
        "{what} failed: {command:?}\n{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("code").join(name);
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn literal(values: &[f64]) -> String {
    values.iter().map(|x| format!("{x:?}")).collect::<Vec<_>>().join(", ")
}

/// (name of the function in the code, number of outputs) of each group.
fn called(case: &Case, code: &str, before: &str) -> Vec<(String, usize)> {
    let names: Vec<String> = code
        .lines()
        .filter_map(|l| l.strip_prefix(before))
        .map(|l| l.split('(').next().unwrap().to_owned())
        .collect();
    assert_eq!(names.len(), case.program.outputs.len());
    names.into_iter().zip(case.program.outputs.iter().map(|o| o.1.len())).collect()
}

#[test]
fn rust_code_runs() {
    for case in [functions(), example(), deep(), random(), robot_arm()] {
        let mut code = generate(&case.pool, &case.program, Language::Rust).unwrap();
        let functions = called(&case, &code, "pub fn ");
        let n = case.program.inputs.len();
        code.push_str("\nfn main() {\n");
        for (name, _) in &functions {
            for k in 0..POINTS {
                let values = literal(&point(k, n));
                let _ = writeln!(code, "    show(&{name}(&[{values}]));");
            }
        }
        code.push_str("}\n\nfn show(values: &[f64]) {\n    let texts: Vec<String> = values.iter().map(|x| format!(\"{x:?}\")).collect();\n    println!(\"{}\", texts.join(\" \"));\n}\n");
        let folder = folder("rust");
        let (source, program) =
            (folder.join(format!("{}.rs", case.program.name)), folder.join(&case.program.name));
        std::fs::write(&source, code).unwrap();
        run(
            Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()))
                .args(["--edition", "2021", "-D", "warnings", "-o"])
                .arg(&program)
                .arg(&source),
            "rustc",
        );
        compare(&case, Language::Rust, &run(&mut Command::new(&program), "the program"));
    }
}

#[test]
fn c_code_runs() {
    for case in [functions(), example(), deep(), random(), robot_arm()] {
        let mut code = generate(&case.pool, &case.program, Language::C).unwrap();
        let functions = called(&case, &code, "void ");
        let n = case.program.inputs.len();
        code.push_str("\n#include <stdio.h>\n\nint main(void)\n{\n");
        let _ = writeln!(code, "    static const double points[{POINTS}][{n}] = {{");
        for k in 0..POINTS {
            let _ = writeln!(code, "        {{{}}},", literal(&point(k, n)));
        }
        code.push_str("    };\n");
        for (name, count) in &functions {
            let _ = writeln!(
                code,
                "    for (int k = 0; k < {POINTS}; k++) {{\n        double out[{}];",
                (*count).max(1)
            );
            let _ = writeln!(code, "        {name}(points[k], out);");
            let _ = writeln!(
                code,
                "        for (int i = 0; i < {count}; i++) printf(\"%.17g \", out[i]);"
            );
            code.push_str("        printf(\"\\n\");\n    }\n");
        }
        code.push_str("    return 0;\n}\n");
        let folder = folder("c");
        let (source, program) =
            (folder.join(format!("{}.c", case.program.name)), folder.join(&case.program.name));
        std::fs::write(&source, code).unwrap();
        run(
            Command::new("cc")
                .args([
                    "-std=c99",
                    "-pedantic",
                    "-Wall",
                    "-Wextra",
                    "-Werror",
                    "-O1",
                    "-ffp-contract=off",
                    "-o",
                ])
                .arg(&program)
                .arg(&source)
                .arg("-lm"),
            "a C compiler, `cc`,",
        );
        compare(&case, Language::C, &run(&mut Command::new(&program), "the program"));
    }
}

/// Python with NumPy: the system's, or an environment of the build folder.
fn python() -> PathBuf {
    let has_numpy = |python: &Path| {
        Command::new(python).args(["-c", "import numpy"]).output().is_ok_and(|o| o.status.success())
    };
    let system = PathBuf::from("python3");
    if has_numpy(&system) {
        return system;
    }
    let environment = folder("python").join("environment");
    let python = environment.join("bin").join("python");
    if !has_numpy(&python) {
        run(
            Command::new(&system).args(["-m", "venv"]).arg(&environment),
            "python3 with its module venv",
        );
        run(
            Command::new(&python).args(["-m", "pip", "install", "--quiet", "numpy"]),
            "pip, to fetch NumPy,",
        );
    }
    python
}

#[test]
fn python_code_runs() {
    let python = python();
    for case in [functions(), example(), deep(), random(), robot_arm()] {
        let mut code = generate(&case.pool, &case.program, Language::Python).unwrap();
        let functions = called(&case, &code, "def ");
        let n = case.program.inputs.len();
        code.push_str("\n\npoints = [\n");
        for k in 0..POINTS {
            let _ = writeln!(code, "    [{}],", literal(&point(k, n)));
        }
        code.push_str("]\n");
        for (name, count) in &functions {
            let _ =
                writeln!(code, "for x in points:\n    print(*[repr(float(v)) for v in {name}(x)])");
            // All points at once give the same.
            if *count > 0 {
                let _ = writeln!(
                    code,
                    "assert np.array_equal({name}(np.array(points).T), np.array([{name}(x) for x in points]).T)"
                );
            }
        }
        let source = folder("python").join(format!("{}.py", case.program.name));
        std::fs::write(&source, code).unwrap();
        compare(&case, Language::Python, &run(Command::new(&python).arg(&source), "python3"));
    }
}

/// What is written for the example reads well, and is the same every time.
#[test]
fn the_code_is_readable() {
    let case = example();
    for language in [Language::Rust, Language::C, Language::Python] {
        let text = generate(&case.pool, &case.program, language).unwrap();
        assert_eq!(text, generate(&case.pool, &case.program, language).unwrap());
        assert!(text.contains("GE: gravity, m/s^2"), "{text}");
        assert!(text.contains("metric: lower triangle by rows"));
        assert!(text.lines().all(|l| l.len() < 200), "{text}");
    }
}
