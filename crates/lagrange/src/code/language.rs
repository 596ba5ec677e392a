//! What the languages differ in.

use std::fmt::Write as _;

/// A language that code is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Rust without dependencies. All functions beyond + - * / are in one small module, the only place that needs `std`.
    Rust,
    /// C99 with `math.h`.
    C,
    /// Python with NumPy; inputs may be arrays.
    Python,
}

/// The error function for Rust, which has none: series and continued fraction of Abramowitz and Stegun 7.1.6, 7.1.14.
const ERF: &str = "    /// 2/sqrt(pi) times the integral of exp(-s^2) from 0 to x.
    pub fn erf(x: f64) -> f64 {
        let a = x.abs();
        if a > 6.0 {
            return if x < 0.0 { -1.0 } else { 1.0 };
        }
        let scale = 1.1283791670955126 * exp(-a * a);
        let value = if a < 2.5 {
            let (mut term, mut sum, mut n) = (a, a, 1.0);
            while term > 1e-17 * sum {
                term *= 2.0 * a * a / (2.0 * n + 1.0);
                sum += term;
                n += 1.0;
            }
            scale * sum
        } else {
            let mut fraction = a;
            let mut n = 60.0;
            while n > 0.0 {
                fraction = a + 0.5 * n / fraction;
                n -= 1.0;
            }
            1.0 - 0.5 * scale / fraction
        };
        if x < 0.0 { -value } else { value }
    }
";

const RUST_KEYWORDS: &str = "as break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self static struct super trait true type unsafe use where while async await abstract become box do final macro override priv typeof unsized virtual yield try gen f64";
const C_KEYWORDS: &str = "auto break case char const continue default do double else enum extern float for goto if inline int long register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp log log2 log10 sqrt pow floor erf fabs fmin fmax sign step j0 j1 jn y0 y1 yn gamma signgam I";
const PYTHON_KEYWORDS: &str = "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield np erf print";

impl Language {
    pub(super) fn is_keyword(self, word: &str) -> bool {
        let list = match self {
            Self::Rust => RUST_KEYWORDS,
            Self::C => C_KEYWORDS,
            Self::Python => PYTHON_KEYWORDS,
        };
        list.split(' ').any(|k| k == word)
    }

    /// A number with all its digits.
    pub(super) fn number(self, x: f64) -> String {
        if x.is_finite() {
            return format!("{x:?}");
        }
        let sign = if x < 0.0 { "-" } else { "" };
        let name = match (self, x.is_nan()) {
            (Self::Rust, true) => "f64::NAN",
            (Self::Rust, false) => "f64::INFINITY",
            (Self::C, true) => "NAN",
            (Self::C, false) => "INFINITY",
            (Self::Python, true) => "np.nan",
            (Self::Python, false) => "np.inf",
        };
        format!("{sign}{name}")
    }

    /// A function, by its name in `gelenk_expr`.
    pub(super) fn call(self, name: &str, arguments: &[&str]) -> String {
        let name = match (self, name) {
            (Self::Rust, name) => format!("math::{name}"),
            (Self::C, "abs") => "fabs".into(),
            (Self::C, "min") => "fmin".into(),
            (Self::C, "max") => "fmax".into(),
            (Self::C, name) => name.into(),
            (Self::Python, "pow") => "np.power".into(),
            (Self::Python, "min") => "np.minimum".into(),
            (Self::Python, "max") => "np.maximum".into(),
            (Self::Python, "asin") => "np.arcsin".into(),
            (Self::Python, "acos") => "np.arccos".into(),
            (Self::Python, "atan") => "np.arctan".into(),
            (Self::Python, "atan2") => "np.arctan2".into(),
            (Self::Python, "asinh") => "np.arcsinh".into(),
            (Self::Python, "acosh") => "np.arccosh".into(),
            (Self::Python, "atanh") => "np.arctanh".into(),
            (Self::Python, "step") => return format!("np.where({} < 0.0, 0.0, 1.0)", arguments[0]),
            (Self::Python, "erf") => "_erf".into(),
            (Self::Python, name) => format!("np.{name}"),
        };
        format!("{name}({})", arguments.join(", "))
    }

    /// x where `a sign b` holds, else y.
    pub(super) fn choice(self, a: &str, sign: &str, b: &str, x: &str, y: &str) -> String {
        match self {
            Self::Rust => format!("(if {a} {sign} {b} {{ {x} }} else {{ {y} }})"),
            Self::C => format!("({a} {sign} {b} ? {x} : {y})"),
            Self::Python => format!("np.where({a} {sign} {b}, {x}, {y})"),
        }
    }

    pub(super) fn assign(self, out: &mut String, name: &str, text: &str) {
        let _ = match self {
            Self::Rust => writeln!(out, "    let {name} = {text};"),
            Self::C => writeln!(out, "    const double {name} = {text};"),
            Self::Python => writeln!(out, "    {name} = {text}"),
        };
    }

    /// The sine and the cosine of one argument.
    pub(super) fn sin_cos(self, out: &mut String, sin: &str, cos: &str, argument: &str) {
        let _ = match self {
            Self::Rust => writeln!(out, "    let ({sin}, {cos}) = math::sin_cos({argument});"),
            Self::C => {
                writeln!(out, "    const double {sin} = sin({argument}), {cos} = cos({argument});")
            }
            Self::Python => {
                writeln!(out, "    {sin}, {cos} = np.sin({argument}), np.cos({argument})")
            }
        };
    }

    /// The beginning of the file: what it is, its inputs, and what its functions need.
    pub(super) fn head(self, name: &str, inputs: &[String], needs: &[String]) -> String {
        let needs: Vec<&str> = needs.iter().map(String::as_str).collect();
        let mut head = String::new();
        let title = format!("{name}: generated by Gelenk; do not edit.");
        match self {
            Self::Rust => {
                let _ = writeln!(head, "// {title}");
                for line in inputs {
                    let _ = writeln!(head, "// {line}");
                }
                if !needs.is_empty() {
                    head.push_str("\n/// All that is not + - * /. Without `std`, put the functions of `libm` here.\n#[allow(dead_code)]\nmod math {\n");
                    let mut names = needs.clone();
                    if names.contains(&"erf") && !names.contains(&"exp") {
                        names.push("exp");
                    }
                    for name in names {
                        head.push_str(&rust_function(name));
                    }
                    head.push_str("}\n");
                }
            }
            Self::C => {
                let _ = writeln!(head, "/* {title}");
                for line in inputs {
                    let _ = writeln!(head, "   {line}");
                }
                head.push_str("*/\n#include <math.h>\n");
                if needs.contains(&"sign") {
                    head.push_str(
                        "\nstatic inline double sign(double x) { return (x > 0.0) - (x < 0.0); }\n",
                    );
                }
                if needs.contains(&"step") {
                    head.push_str(
                        "\nstatic inline double step(double x) { return x < 0.0 ? 0.0 : 1.0; }\n",
                    );
                }
            }
            Self::Python => {
                let _ = writeln!(head, "\"\"\"{title}");
                for line in inputs {
                    let _ = writeln!(head, "{line}");
                }
                head.push_str("\"\"\"\n");
                if needs.contains(&"_erf") {
                    head.push_str("import math\n");
                }
                head.push_str("import numpy as np\n");
                if needs.contains(&"_erf") {
                    head.push_str("\n_erf = np.vectorize(math.erf)\n");
                }
            }
        }
        head
    }

    /// The beginning of a function, with its comment; `any` says whether an input is used.
    pub(super) fn open(
        self,
        name: &str,
        (inputs, any): (usize, bool),
        outputs: usize,
        comment: &str,
    ) -> String {
        let mut text = String::new();
        match self {
            Self::Rust => {
                let _ = writeln!(text, "/// {comment}");
                let x = if any { "x" } else { "_x" };
                let _ =
                    writeln!(text, "pub fn {name}({x}: &[f64; {inputs}]) -> [f64; {outputs}] {{");
            }
            Self::C => {
                let _ = writeln!(text, "/* {comment} */");
                // Arrays of no length are not C.
                let (n, m) = (inputs.max(1), outputs.max(1));
                let _ = writeln!(text, "void {name}(const double x[{n}], double out[{m}])\n{{");
                if !any {
                    text.push_str("    (void)x;\n");
                }
            }
            Self::Python => {
                let _ = writeln!(text, "\ndef {name}(x):");
                let _ = writeln!(text, "    \"\"\"{comment}\"\"\"");
            }
        }
        text
    }

    /// The outputs and the end of a function.
    pub(super) fn close(self, out: &mut String, outputs: &[String]) {
        match self {
            Self::Rust => {
                out.push_str("    [\n");
                for text in outputs {
                    let _ = writeln!(out, "        {text},");
                }
                out.push_str("    ]\n}\n");
            }
            Self::C => {
                for (i, text) in outputs.iter().enumerate() {
                    let _ = writeln!(out, "    out[{i}] = {text};");
                }
                if outputs.is_empty() {
                    out.push_str("    (void)out;\n");
                }
                out.push_str("}\n");
            }
            Self::Python => {
                if outputs.is_empty() {
                    out.push_str("    return np.zeros(0)\n");
                    return;
                }
                out.push_str("    return np.stack(np.broadcast_arrays(\n");
                for text in outputs {
                    let _ = writeln!(out, "        {text},");
                }
                out.push_str("    ))\n");
            }
        }
    }
}

fn rust_function(name: &str) -> String {
    let one = |body: &str| {
        format!("    #[inline]\n    pub fn {name}(x: f64) -> f64 {{\n        {body}\n    }}\n")
    };
    let two = |body: &str| {
        format!(
            "    #[inline]\n    pub fn {name}(x: f64, y: f64) -> f64 {{\n        {body}\n    }}\n"
        )
    };
    match name {
        "sin_cos" => "    #[inline]\n    pub fn sin_cos(x: f64) -> (f64, f64) {\n        x.sin_cos()\n    }\n".into(),
        "erf" => ERF.into(),
        "log" => one("x.ln()"),
        "pow" => two("x.powf(y)"),
        "atan2" => two("x.atan2(y)"),
        "min" => two("if x < y { x } else { y }"),
        "max" => two("if x > y { x } else { y }"),
        "step" => one("if x < 0.0 { 0.0 } else { 1.0 }"),
        "sign" => one("if x > 0.0 { 1.0 } else if x < 0.0 { -1.0 } else { 0.0 }"),
        _ => one(&format!("x.{name}()")),
    }
}
