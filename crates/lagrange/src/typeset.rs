//! Equations set by LaTeX: short ones aligned, long ones broken into lines.

use std::fmt::Write as _;

/// Glyphs that fit on a line; longer formulas are broken.
const LINE: usize = 80;

/// Begins a document whose lines hold some [`LINE`] glyphs.
pub(crate) const BEGIN: &str = "\\documentclass{article}\n\\usepackage{amsmath}\n\\usepackage[margin=2cm]{geometry}\n\
\\allowdisplaybreaks\n\\begin{document}\n";

/// Whether a formula is longer than a line, so that TeX must find places to break it.
pub(crate) fn breaks(formula: &str) -> bool {
    formula.len() > LINE && glyphs(formula) > LINE
}

/// Roughly how many letters wide a formula is.
fn glyphs(formula: &str) -> usize {
    let mut count = 0;
    let mut rest = formula.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '{' | '}' | '_' | '^' | ' ' => {}
            '\\' => {
                let mut name = String::new();
                while let Some(letter) = rest.next_if(char::is_ascii_alphabetic) {
                    name.push(letter);
                }
                if name.is_empty() {
                    rest.next();
                }
                count += match name.as_str() {
                    "" | "left" | "right" | "frac" | "sqrt" | "dot" | "ddot" | "mathrm"
                    | "text" => 0,
                    "sin" | "cos" | "tan" | "exp" | "log" => 3,
                    _ => 1,
                };
            }
            '+' | '-' => count += 3,
            _ => count += 1,
        }
    }
    count
}

/// Equations `left = right` as LaTeX: those that fit stand aligned; a long one is a paragraph of its own, which TeX breaks between
/// terms and, where it must, between factors.
pub fn typeset(lines: &[(String, String)]) -> String {
    let mut out = String::new();
    let long = |line: &(String, String)| glyphs(&line.0) + glyphs(&line.1) > LINE;
    let mut at = 0;
    while at < lines.len() {
        if long(&lines[at]) {
            let (left, right) = &lines[at];
            let _ = writeln!(
                out,
                "\\begin{{flushleft}}\\hangindent=2em\\binoppenalty=0\\relpenalty=0\n$\\displaystyle {} = {}$\n\\end{{flushleft}}",
                breakable(left),
                breakable(right)
            );
            at += 1;
            continue;
        }
        let end = lines[at..].iter().position(long).map_or(lines.len(), |k| at + k);
        out.push_str("\\begin{align*}\n");
        for (i, (left, right)) in lines[at..end].iter().enumerate() {
            let close = if at + i + 1 == end { "" } else { " \\\\" };
            let _ = writeln!(out, "{left} &= {right}{close}");
        }
        out.push_str("\\end{align*}\n");
        at = end;
    }
    out
}

/// A formula that may be broken within its parentheses and between factors; source lines stay short.
fn breakable(formula: &str) -> String {
    let plain = formula.replace("\\left(", "(").replace("\\right)", ")");
    let mut out = plain.replace("\\,", "\\,\\penalty200 ");
    out = out.replace(" + ", "\n+ ").replace(" - ", "\n- ");
    out
}

/// Text for LaTeX outside of formulas; code in backticks becomes typewriter. Letters that LaTeX has no font for by itself are
/// written by their number.
pub fn latex_text(text: &str) -> String {
    let mut out = String::new();
    let mut code = false;
    for c in text.chars() {
        match c {
            '`' => {
                out.push_str(if code { "}" } else { "\\texttt{" });
                code = !code;
            }
            '_' | '#' | '%' | '&' | '$' | '{' | '}' => {
                out.push('\\');
                out.push(c);
            }
            '\\' => out.push_str("\\textbackslash{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '±' => out.push_str("$\\pm$"),
            'π' => out.push_str("$\\pi$"),
            '²' => out.push_str("$^2$"),
            '³' => out.push_str("$^3$"),
            '°' => out.push_str("$^\\circ$"),
            '·' => out.push_str("$\\cdot$"),
            'µ' | 'μ' => out.push_str("$\\mu$"),
            '×' => out.push_str("$\\times$"),
            ' '..='~' | 'À'..='ſ' | '–' | '—' | '‘' | '’' | '“' | '”' => out.push(c),
            c if c.is_whitespace() => out.push(' '),
            c => {
                let _ = write!(out, "[U+{:04X}]", u32::from(c));
            }
        }
    }
    if code {
        out.push('}');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_formulas_are_broken_and_short_ones_aligned() {
        let short = ("a".to_owned(), "b + c".to_owned());
        let long = ("d".to_owned(), vec!["\\sin\\left(x\\right)\\,y"; 40].join(" + "));
        let text = typeset(&[short.clone(), long, short]);
        assert_eq!(text.matches("\\begin{align*}").count(), 2);
        assert_eq!(text.matches("\\begin{flushleft}").count(), 1);
        assert!(!text.contains("\\left("));
        assert!(text.lines().all(|line| line.len() < 100));
    }

    #[test]
    fn text_keeps_what_latex_can_print() {
        assert_eq!(latex_text("50 % of `a_b`, 3 µm"), "50 \\% of \\texttt{a\\_b}, 3 $\\mu$m");
        assert_eq!(latex_text("größe 中"), "größe [U+4E2D]");
        assert_eq!(latex_text("open `code"), "open \\texttt{code}");
    }
}
