//! Code from expressions: Rust, C99 and Python (NumPy).
//!
//! Each group of outputs becomes a function of the inputs. Within it shared parts are computed once, in temporaries that come before
//! their use; constants are folded, whole and half powers are products and roots, and the sine and cosine of one
//! argument are computed together.
//!
//! ```
//! use gelenk_expr::Pool;
//! use gelenk_lagrange::code::{Language, Program, generate};
//!
//! let mut pool = Pool::new();
//! let torque = pool.parse("-m*g*l*sin(q)").unwrap();
//! let inputs = ["m", "g", "l", "q"].map(|n| (n.to_owned(), pool.symbol(n))).to_vec();
//! let program = Program { name: "pendulum".into(), inputs, outputs: vec![("torque".into(), vec![torque])], about: vec![] };
//! let c = generate(&pool, &program, Language::C).unwrap();
//! assert!(c.contains("void pendulum_torque(const double x[4], double out[1])"));
//! assert!(c.contains("out[0] = -m*g*l*sin(q);"));
//! ```

mod language;
mod lower;
mod share;

use std::fmt::Write as _;

use gelenk_expr::{Expr, Node, Pool};

pub use language::Language;
use lower::Lowering;

/// What is to be computed: named outputs over named inputs, all of one pool.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Name of the whole; functions begin with it.
    pub name: String,
    /// Names of the inputs, in order, and the symbols or functions of time that they are.
    pub inputs: Vec<(String, Expr)>,
    /// Groups of outputs: a function each.
    pub outputs: Vec<(String, Vec<Expr>)>,
    /// What an input or a group is, with its unit: (name, text), for comments.
    pub about: Vec<(String, String)>,
}

/// Why there is no code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodeError {
    /// An output needs a variable that is no input.
    #[error("`{group}` needs `{name}`, which is not among the inputs")]
    MissingInput {
        /// The output group.
        group: String,
        /// The variable.
        name: String,
    },
    /// An input is no variable.
    #[error("the input `{name}` is {text}, not a variable")]
    NotAVariable {
        /// The input.
        name: String,
        /// What it is.
        text: String,
    },
}

/// The program as text of a language.
pub fn generate(pool: &Pool, program: &Program, language: Language) -> Result<String, CodeError> {
    for (name, e) in &program.inputs {
        if !matches!(pool.node(*e), Node::Symbol(_) | Node::OfTime { .. }) {
            let (name, text) = (name.clone(), pool.display(*e).to_string());
            return Err(CodeError::NotAVariable { name, text });
        }
    }
    let names = names(program, language);
    let mut functions = String::new();
    let mut needs: Vec<String> = Vec::new();
    let mut calls: Vec<String> = Vec::new();
    for (group, outputs) in &program.outputs {
        let lowering = Lowering::new(pool, program, &names, language, outputs)
            .map_err(|name| CodeError::MissingInput { group: group.clone(), name })?;
        for need in &lowering.needs {
            if !needs.contains(need) {
                needs.push(need.clone());
            }
        }
        let mut call = identifier(&format!("{}_{group}", program.name), language);
        while calls.contains(&call) {
            call.push('_');
        }
        functions.push('\n');
        let used = (program.inputs.len(), lowering.used.contains(&true));
        let told = format!("{} ({} operations)", described(program, group), lowering.operations);
        functions.push_str(&language.open(&call, used, outputs.len(), &told));
        for (i, name) in names.iter().enumerate().filter(|n| lowering.used[n.0]) {
            language.assign(&mut functions, name, &format!("x[{i}]"));
        }
        functions.push_str(&lowering.text);
        language.close(&mut functions, &lowering.outputs);
        calls.push(call);
    }
    needs.sort_unstable();
    let inputs: Vec<String> = program
        .inputs
        .iter()
        .enumerate()
        .map(|(i, (name, _))| format!("  x[{i}] = {}", described(program, name)))
        .collect();
    let mut text = language.head(&one_line(&program.name), &inputs, &needs);
    text.push_str(&functions);
    Ok(text)
}

/// A name and what is said about it.
fn described(program: &Program, name: &str) -> String {
    match program.about.iter().find(|a| a.0 == name) {
        Some((_, about)) => format!("{}: {}", one_line(name), one_line(about)),
        None => one_line(name),
    }
}

/// Names of the inputs in the language, all different.
fn names(program: &Program, language: Language) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(program.inputs.len());
    for (name, _) in &program.inputs {
        let mut plain = identifier(name, language);
        // x and out are the arrays, t1, s1, … our own.
        let taken = |plain: &str, names: &[String]| {
            let ours = plain
                .strip_prefix(['t', 's', 'c'])
                .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()));
            ours || ["x", "out", "np", "math"].contains(&plain) || names.iter().any(|n| n == plain)
        };
        while taken(&plain, &names) {
            plain.push('_');
        }
        names.push(plain);
    }
    names
}

/// A name that the language takes: letters, digits, `_`; marks of derivatives become `_d`.
fn identifier(name: &str, language: Language) -> String {
    let mut plain = String::new();
    for c in name.chars() {
        match c {
            'a'..='z' | '0'..='9' | '_' => plain.push(c),
            'A'..='Z' if language != Language::Rust => plain.push(c),
            // Rust's names are in small letters.
            'A'..='Z' => plain.push(c.to_ascii_lowercase()),
            '\'' => plain.push_str("_d"),
            _ if plain.ends_with('_') || plain.is_empty() => {}
            _ => plain.push('_'),
        }
    }
    let plain = plain.trim_end_matches('_').to_owned();
    let plain = if plain.is_empty() || plain.starts_with(|c: char| c.is_ascii_digit()) {
        format!("v{plain}")
    } else {
        plain
    };
    if language.is_keyword(&plain) { format!("{plain}_") } else { plain }
}

/// A text without line breaks and without what could end a comment.
fn one_line(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        let _ = write!(
            line,
            "{}",
            word.replace("*/", "* /").replace("\"\"\"", "'''").replace('\\', "/")
        );
    }
    line.chars().filter(|c| !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_the_language() {
        assert_eq!(identifier("joint.elbow.angle", Language::C), "joint_elbow_angle");
        assert_eq!(identifier("q'(t)", Language::Python), "q_d_t");
        assert_eq!(identifier("lambda", Language::Python), "lambda_");
        assert_eq!(identifier("fn", Language::Rust), "fn_");
        assert_eq!(identifier("Q(1)", Language::C), "Q_1");
        assert_eq!(identifier("2x", Language::C), "v2x");
        assert_eq!(identifier("θ", Language::C), "v");
        let mut pool = Pool::new();
        let inputs = ["m", "M", "t1", "x", "q.1", "q_1"].map(|n| (n.to_owned(), pool.symbol(n)));
        let program = Program { inputs: inputs.to_vec(), ..Program::default() };
        let names = names(&program, Language::Rust);
        let mut sorted = names.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), names.len(), "{names:?}");
    }

    #[test]
    fn faults_are_said() {
        let mut pool = Pool::new();
        let e = pool.parse("a + b").unwrap();
        let a = pool.symbol("a");
        let mut program = Program {
            name: "p".into(),
            outputs: vec![("sum".into(), vec![e])],
            ..Program::default()
        };
        program.inputs = vec![("a".into(), a)];
        let error = generate(&pool, &program, Language::C).unwrap_err();
        assert_eq!(error.to_string(), "`sum` needs `b`, which is not among the inputs");
        program.inputs = vec![("a".into(), e)];
        assert!(generate(&pool, &program, Language::C).is_err());
    }

    #[test]
    fn shared_parts_are_temporaries() {
        let mut pool = Pool::new();
        let e = pool.parse("sin(a + b)^2*m + cos(a + b)*(a + b) - m/(a*b)^(3/2)").unwrap();
        let inputs = ["a", "b", "m"].map(|n| (n.to_owned(), pool.symbol(n))).to_vec();
        let program = Program {
            name: "p".into(),
            inputs,
            outputs: vec![("e".into(), vec![e])],
            about: vec![],
        };
        let text = generate(&pool, &program, Language::Rust).unwrap();
        assert_eq!(text.matches("a + b").count(), 1, "{text}");
        assert_eq!(text.matches("math::sin_cos(").count(), 1, "{text}");
        assert!(!text.contains("math::pow"), "{text}");
    }
}
