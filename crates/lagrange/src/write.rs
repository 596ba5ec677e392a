//! Expressions as text for people and as LaTeX.

use std::fmt::Write as _;

use gelenk_expr::{Expr, Func, Node, Number, Pool, Rational};

use crate::typeset::{breaks, latex_text};

/// How an expression is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Plain text: `m*l^2*q1''`.
    Text,
    /// LaTeX, for math mode.
    Latex,
}

/// How tightly an expression binds, loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Sum,
    Product,
    Power,
    Atom,
}

/// Deeper expressions are written by the pool, which needs no stack.
const MAX_DEPTH: usize = 400;

/// An expression in a style.
pub fn write(pool: &Pool, e: Expr, style: Style) -> String {
    at(pool, e, style, Level::Sum, 0)
}

fn at(pool: &Pool, e: Expr, style: Style, level: Level, depth: usize) -> String {
    if depth > MAX_DEPTH {
        let text = pool.display(e).to_string();
        return if style == Style::Text {
            format!("({text})")
        } else {
            format!("\\mathtt{{{}}}", escape(&text))
        };
    }
    let (text, own) = plain(pool, e, style, depth);
    if own < level { parenthesized(&text, style) } else { text }
}

fn parenthesized(text: &str, style: Style) -> String {
    match style {
        Style::Text => format!("({text})"),
        Style::Latex => format!("\\left({text}\\right)"),
    }
}

fn plain(pool: &Pool, e: Expr, style: Style, depth: usize) -> (String, Level) {
    match pool.node(e) {
        Node::Number(n) => number(n, style),
        Node::Constant(c) => {
            let text = match (style, c.name()) {
                (Style::Latex, "pi") => "\\pi".to_owned(),
                (_, name) => name.to_owned(),
            };
            (text, Level::Atom)
        }
        Node::Symbol(name) => (symbol(name, style), Level::Atom),
        Node::OfTime { name, order } => {
            let marks = "'".repeat(order as usize);
            let name = symbol(name, style);
            (format!("{name}{marks}({})", pool.time_name()), Level::Atom)
        }
        Node::Sum(terms) => (sum(pool, terms, style, depth), Level::Sum),
        Node::Product(factors) => product(pool, factors, style, depth),
        Node::Power(base, exponent) => power(pool, base, exponent, style, depth),
        Node::Apply(func, arguments) => (apply(pool, func, arguments, style, depth), Level::Atom),
        Node::If(comparison, [a, b, x, y]) => {
            let [a, b, x, y] = [a, b, x, y].map(|p| at(pool, p, style, Level::Sum, depth + 1));
            let text = match style {
                Style::Text => format!("if({a} {} {b}, {x}, {y})", comparison.symbol()),
                Style::Latex => {
                    let sign = match comparison.symbol() {
                        "<=" => "\\le",
                        ">=" => "\\ge",
                        other => other,
                    };
                    format!(
                        "\\begin{{cases}}{x} & {a} {sign} {b}\\\\ {y} & \\text{{else}}\\end{{cases}}"
                    )
                }
            };
            (text, Level::Atom)
        }
    }
}

/// Whether a term starts with a minus sign, and the term without it.
fn is_negative(pool: &Pool, e: Expr) -> bool {
    match pool.node(e) {
        Node::Number(n) => n.is_negative(),
        Node::Product(factors) => pool.as_number(factors[0]).is_some_and(Number::is_negative),
        _ => false,
    }
}

fn sum(pool: &Pool, terms: &[Expr], style: Style, depth: usize) -> String {
    // A positive term first, if there is one.
    let mut order: Vec<Expr> = terms.to_vec();
    if let Some(k) = order.iter().position(|t| !is_negative(pool, *t)) {
        let first = order.remove(k);
        order.insert(0, first);
    }
    let mut text = String::new();
    for (i, t) in order.iter().enumerate() {
        let part = at(pool, *t, style, Level::Product, depth + 1);
        match (i, part.strip_prefix('-')) {
            (0, _) => text.push_str(&part),
            (_, Some(rest)) => {
                text.push_str(" - ");
                text.push_str(rest);
            }
            (_, None) => {
                text.push_str(" + ");
                text.push_str(&part);
            }
        }
    }
    text
}

fn product(pool: &Pool, factors: &[Expr], style: Style, depth: usize) -> (String, Level) {
    let mut sign = "";
    let mut above: Vec<String> = Vec::new();
    let mut below: Vec<String> = Vec::new();
    let mut raw: Vec<Expr> = Vec::new();
    for &f in factors {
        match pool.node(f) {
            Node::Number(n) => {
                if n.is_negative() {
                    sign = "-";
                }
                let size = n.abs();
                if let Some((p, q)) = size.as_rational().and_then(nice_fraction) {
                    if p != 1 {
                        above.push(p.to_string());
                    }
                    below.push(q.to_string());
                } else if !size.is_one() {
                    above.push(number(&size, style).0);
                }
            }
            Node::Power(base, exponent)
                if pool.as_number(exponent).is_some_and(Number::is_negative) =>
            {
                below.push(inverse(pool, base, exponent, style, depth));
            }
            _ => raw.push(f),
        }
    }
    // Sums last, circular functions before them.
    raw.sort_by_key(|f| match pool.node(*f) {
        Node::Sum(_) => 2,
        Node::Power(base, _) if matches!(pool.node(base), Node::Sum(_)) => 2,
        Node::Apply(..) => 1,
        Node::Power(base, _) if matches!(pool.node(base), Node::Apply(..)) => 1,
        _ => 0,
    });
    above.extend(raw.iter().map(|f| at(pool, *f, style, Level::Power, depth + 1)));
    let text = match style {
        Style::Text => {
            let mut text = if above.is_empty() { "1".to_owned() } else { above.join("*") };
            match below.len() {
                0 => {}
                1 => {
                    text.push('/');
                    text.push_str(&below[0]);
                }
                _ => {
                    text.push_str("/(");
                    text.push_str(&below.join("*"));
                    text.push(')');
                }
            }
            text
        }
        Style::Latex => {
            let top = if above.is_empty() { "1".to_owned() } else { above.join("\\,") };
            let below = below.join("\\,");
            // Nothing breaks above a fraction bar: what is long stands behind it.
            if below.is_empty() {
                top
            } else if breaks(&top) {
                format!("\\frac{{1}}{{{below}}}\\,{top}")
            } else {
                format!("\\frac{{{top}}}{{{below}}}")
            }
        }
    };
    (format!("{sign}{text}"), Level::Product)
}

/// base^|exponent|, as it stands below a fraction bar.
fn inverse(pool: &Pool, base: Expr, exponent: Expr, style: Style, depth: usize) -> String {
    let size = pool.as_number(exponent).map_or(Number::Rational(Rational::ONE), Number::abs);
    if size.is_one() {
        let level = if style == Style::Latex { Level::Product } else { Level::Power };
        return at(pool, base, style, level, depth + 1);
    }
    let base = at(pool, base, style, Level::Atom, depth + 1);
    raised(&base, &size, style)
}

fn raised(base: &str, size: &Number, style: Style) -> String {
    if size.as_rational() == Some(&Rational::HALF) {
        let inner = base.strip_prefix('(').and_then(|b| b.strip_suffix(')')).unwrap_or(base);
        return match style {
            Style::Text => format!("sqrt({inner})"),
            Style::Latex => {
                let inner = base
                    .strip_prefix("\\left(")
                    .and_then(|b| b.strip_suffix("\\right)"))
                    .unwrap_or(base);
                if breaks(inner) {
                    format!("\\left({inner}\\right)^{{1/2}}")
                } else {
                    format!("\\sqrt{{{inner}}}")
                }
            }
        };
    }
    let (text, level) = number(size, style);
    match style {
        Style::Text if level < Level::Atom => format!("{base}^({text})"),
        Style::Text => format!("{base}^{text}"),
        Style::Latex => format!("{base}^{{{text}}}"),
    }
}

fn power(pool: &Pool, base: Expr, exponent: Expr, style: Style, depth: usize) -> (String, Level) {
    if let Some(n) = pool.as_number(exponent) {
        if n.is_negative() {
            let below = inverse(pool, base, exponent, style, depth);
            let text = match style {
                Style::Text => format!("1/{below}"),
                Style::Latex => format!("\\frac{{1}}{{{below}}}"),
            };
            return (text, Level::Product);
        }
        // sin²(x) in LaTeX.
        if style == Style::Latex
            && let (Node::Apply(func, [x]), Some(k)) =
                (pool.node(base), n.as_rational().and_then(Rational::to_i64))
            && let Some(name) = latex_function(func)
        {
            let x = at(pool, *x, style, Level::Sum, depth + 1);
            return (format!("{name}^{{{k}}}\\left({x}\\right)"), Level::Atom);
        }
        let base = at(pool, base, style, Level::Atom, depth + 1);
        let root = n.as_rational() == Some(&Rational::HALF);
        return (raised(&base, n, style), if root { Level::Atom } else { Level::Power });
    }
    let base = at(pool, base, style, Level::Atom, depth + 1);
    let exponent = at(pool, exponent, style, Level::Sum, depth + 1);
    let text = match style {
        Style::Text => format!("{base}^({exponent})"),
        Style::Latex => format!("{base}^{{{exponent}}}"),
    };
    (text, Level::Power)
}

fn latex_function(func: Func) -> Option<&'static str> {
    Some(match func {
        Func::Sin => "\\sin",
        Func::Cos => "\\cos",
        Func::Tan => "\\tan",
        Func::Asin => "\\arcsin",
        Func::Acos => "\\arccos",
        Func::Atan => "\\arctan",
        Func::Sinh => "\\sinh",
        Func::Cosh => "\\cosh",
        Func::Tanh => "\\tanh",
        Func::Exp => "\\exp",
        Func::Log => "\\ln",
        Func::Min => "\\min",
        Func::Max => "\\max",
        _ => return None,
    })
}

fn apply(pool: &Pool, func: Func, arguments: &[Expr], style: Style, depth: usize) -> String {
    let list: Vec<String> =
        arguments.iter().map(|x| at(pool, *x, style, Level::Sum, depth + 1)).collect();
    let list = list.join(", ");
    match (style, func) {
        (Style::Text, _) => format!("{}({list})", func.name()),
        (Style::Latex, Func::Abs) => format!("\\left|{list}\\right|"),
        (Style::Latex, _) => match latex_function(func) {
            Some(name) => format!("{name}\\left({list}\\right)"),
            None => format!("\\operatorname{{{}}}\\left({list}\\right)", func.name()),
        },
    }
}

/// A fraction that reads better as such than as a decimal: small numerator and denominator.
fn nice_fraction(r: &Rational) -> Option<(i64, i64)> {
    let (n, d) = r.parts()?;
    let small = d <= 8 && n.abs() <= 999;
    let endless = decimal(r).is_none() && d <= 99_999 && n.abs() <= 999_999;
    (d != 1 && (small || endless)).then_some((n, d))
}

/// The decimal number, if it ends after a few places.
fn decimal(r: &Rational) -> Option<String> {
    let (n, d) = r.parts()?;
    let mut scale = 1i64;
    for places in 0..=9usize {
        if scale % d == 0 {
            let whole = n.checked_mul(scale / d)?;
            let digits = format!("{:0>width$}", whole.unsigned_abs(), width = places + 1);
            let (front, back) = digits.split_at(digits.len() - places);
            let sign = if whole < 0 { "-" } else { "" };
            return Some(if places == 0 {
                format!("{sign}{front}")
            } else {
                format!("{sign}{front}.{back}")
            });
        }
        scale = scale.checked_mul(10)?;
    }
    None
}

fn number(n: &Number, style: Style) -> (String, Level) {
    let level = if n.is_negative() { Level::Product } else { Level::Atom };
    if let Some(r) = n.as_rational() {
        if let Some((p, q)) = nice_fraction(r) {
            return match style {
                Style::Text => (format!("{p}/{q}"), Level::Product),
                Style::Latex => {
                    let sign = if p < 0 { "-" } else { "" };
                    (format!("{sign}\\frac{{{}}}{{{q}}}", p.abs()), Level::Product)
                }
            };
        }
        if let Some(text) = decimal(r) {
            return (text, level);
        }
    }
    let value = n.to_f64();
    let size = value.abs();
    let text = if size != 0.0 && !(1e-4..1e9).contains(&size) {
        format!("{value:e}")
    } else {
        format!("{value}")
    };
    match (style, text.split_once('e')) {
        (Style::Latex, Some((mantissa, exponent))) => {
            (format!("{mantissa}\\cdot 10^{{{exponent}}}"), Level::Product)
        }
        _ => (text, level),
    }
}

const GREEK: [&str; 24] = [
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa",
    "lambda", "mu", "nu", "xi", "rho", "sigma", "tau", "phi", "chi", "psi", "omega", "Omega",
    "Theta", "Phi",
];

fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '_' | '#' | '%' | '&' | '$' | '{' | '}' => {
                out.push('\\');
                out.push(c);
            }
            '\\' => out.push_str("\\backslash "),
            '^' => out.push_str("\\hat{}"),
            '~' => out.push_str("\\sim "),
            c if c.is_ascii() => out.push(c),
            c => match greek(c) {
                Some(name) => {
                    let _ = write!(out, "\\{name} ");
                }
                None => {
                    let _ = write!(out, "\\text{{{}}}", latex_text(&c.to_string()));
                }
            },
        }
    }
    out
}

/// The name of a Greek letter that LaTeX has under that name.
fn greek(c: char) -> Option<&'static str> {
    const LETTERS: [(char, &str); 34] = [
        ('α', "alpha"),
        ('β', "beta"),
        ('γ', "gamma"),
        ('δ', "delta"),
        ('ε', "epsilon"),
        ('ζ', "zeta"),
        ('η', "eta"),
        ('θ', "theta"),
        ('ϑ', "vartheta"),
        ('ι', "iota"),
        ('κ', "kappa"),
        ('λ', "lambda"),
        ('μ', "mu"),
        ('µ', "mu"),
        ('ν', "nu"),
        ('ξ', "xi"),
        ('π', "pi"),
        ('ρ', "rho"),
        ('σ', "sigma"),
        ('τ', "tau"),
        ('φ', "phi"),
        ('ϕ', "varphi"),
        ('χ', "chi"),
        ('ψ', "psi"),
        ('ω', "omega"),
        ('Γ', "Gamma"),
        ('Δ', "Delta"),
        ('Θ', "Theta"),
        ('Λ', "Lambda"),
        ('Ξ', "Xi"),
        ('Σ', "Sigma"),
        ('Φ', "Phi"),
        ('Ψ', "Psi"),
        ('Ω', "Omega"),
    ];
    LETTERS.iter().find(|(letter, _)| *letter == c).map(|(_, name)| *name)
}

/// A name: rates get their dots, digits at the end become an index.
pub(crate) fn symbol(name: &str, style: Style) -> String {
    for (ending, marks, dots) in [("_ddot", "''", "\\ddot"), ("_dot", "'", "\\dot")] {
        if let Some(base) = name.strip_suffix(ending) {
            return match style {
                Style::Text => format!("{base}{marks}"),
                Style::Latex => {
                    let (head, index) = split_index(base);
                    let head = latex_head(head);
                    if index.is_empty() {
                        format!("{dots}{{{head}}}")
                    } else {
                        format!("{dots}{{{head}}}_{{{}}}", escape(index))
                    }
                }
            };
        }
    }
    if style == Style::Text {
        return name.to_owned();
    }
    let (head, index) = split_index(name);
    let head = latex_head(head);
    if index.is_empty() { head } else { format!("{head}_{{{}}}", latex_index(index)) }
}

fn latex_index(index: &str) -> String {
    if index.chars().all(|c| c.is_ascii_digit()) || index.chars().count() == 1 {
        escape(index)
    } else {
        format!("\\mathrm{{{}}}", escape(index))
    }
}

fn latex_head(head: &str) -> String {
    if GREEK.contains(&head) {
        format!("\\{head}")
    } else if head.chars().count() == 1 {
        escape(head).trim_end().to_owned()
    } else {
        format!("\\mathrm{{{}}}", escape(head))
    }
}

/// `l12` → l, 12; `m_rod` → m, rod.
fn split_index(name: &str) -> (&str, &str) {
    if let Some((head, index)) = name.split_once('_')
        && !head.is_empty()
        && !index.is_empty()
    {
        return (head, index);
    }
    let digits = name.len() - name.bytes().rev().take_while(u8::is_ascii_digit).count();
    if digits == 0 { (name, "") } else { name.split_at(digits) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_latex() {
        let mut pool = Pool::new();
        for (source, text, latex) in [
            ("m1*l^2/3", "m1*l^2/3", "\\frac{m_{1}\\,l^{2}}{3}"),
            ("-A + C", "C - A", "C - A"),
            ("9.81*m*sin(q1)^2", "9.81*m*sin(q1)^2", "9.81\\,m\\,\\sin^{2}\\left(q_{1}\\right)"),
            ("theta*q1_dot", "theta*q1'", "\\theta\\,\\dot{q}_{1}"),
            ("1/sqrt(x + 1)", "1/sqrt(x + 1)", "\\frac{1}{\\sqrt{x + 1}}"),
            ("abs(x)*(a - b)", "abs(x)*(a - b)", "\\left|x\\right|\\,\\left(a - b\\right)"),
            ("m_rod^2/(a*b)", "m_rod^2/(a*b)", "\\frac{m_{\\mathrm{rod}}^{2}}{a\\,b}"),
        ] {
            let e = pool.parse(source).expect(source);
            assert_eq!(write(&pool, e, Style::Text), text);
            assert_eq!(write(&pool, e, Style::Latex), latex);
        }
    }
}
