//! Expressions as FORMAC writes them, and the printed page.

/// Columns of the printer.
const WIDTH: usize = 120;

/// The text of [`gelenk_expr::Pool::display`] in FORMAC's language: `**` for powers, names of functions in capitals,
/// `#E**(x)` for exp(x), `(x)**(1/2)` for roots.
pub(super) fn formac(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    // Open parentheses: what to write at the end, where the whole began, and for atan2(y, x) where its y ends.
    let mut open: Vec<(&str, usize, Option<usize>)> = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if c.is_ascii_lowercase() {
            let length =
                rest.bytes().take_while(|b| b.is_ascii_lowercase() || b.is_ascii_digit()).count();
            let (word, after) = rest.split_at(length);
            rest = after;
            let start = out.len();
            match word {
                "pi" => out.push_str("#PI"),
                "e" => out.push_str("#E"),
                "sqrt" | "exp" if rest.starts_with('(') => {
                    rest = &rest[1..];
                    let (begin, end) =
                        if word == "sqrt" { ("(", ")**(1/2)") } else { ("#E**(", ")") };
                    out.push_str(begin);
                    open.push((end, start, None));
                }
                "atan2" if rest.starts_with('(') => {
                    rest = &rest[1..];
                    out.push_str("ATAN(");
                    open.push(("atan2", out.len(), Some(0)));
                }
                _ => out.push_str(&word.to_ascii_uppercase()),
            }
            continue;
        }
        rest = &rest[c.len_utf8()..];
        match c {
            '^' => out.push_str("**"),
            '(' => {
                open.push((")", out.len(), None));
                out.push('(');
            }
            ')' => {
                let (end, start, comma) = open.pop().unwrap_or((")", out.len(), None));
                if let Some(comma) = comma.filter(|c| *c > 0) {
                    // FORMAC's order is ATAN(X, Y).
                    let x = out.split_off(comma);
                    let y = out.split_off(start);
                    out.push_str(x.trim_start_matches([',', ' ']));
                    out.push_str(", ");
                    out.push_str(&y);
                    out.push(')');
                    continue;
                }
                out.push_str(end);
                // A power of a power is the other way round without parentheses.
                if rest.starts_with('^') && (end.len() > 1 || out[start..].starts_with("#E")) {
                    out.insert(start, '(');
                    out.push(')');
                }
            }
            ',' => {
                if let Some((_, _, Some(comma))) = open.last_mut() {
                    *comma = out.len();
                }
                out.push(',');
            }
            _ => out.push(c),
        }
    }
    out
}

/// A printed page, line by line.
#[derive(Clone, Debug, Default)]
pub(super) struct Page {
    text: String,
}

impl Page {
    pub(super) fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    pub(super) fn heading(&mut self, line: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.line(line);
    }

    /// `name = expression`, broken at blanks and after products' signs where it is too long.
    pub(super) fn equation(&mut self, name: &str, expression: &str) {
        let mut rest = format!("  {name} = {expression}");
        let mut first = true;
        while rest.chars().count() > WIDTH {
            let limit = rest.char_indices().nth(WIDTH).map_or(rest.len(), |c| c.0);
            let indent = if first { name.len() + 5 } else { 8 };
            let cut = rest[..limit]
                .rfind(' ')
                .filter(|&i| i > indent)
                .or_else(|| rest[..limit].rfind('*').map(|i| i + 1).filter(|&i| i > indent));
            let Some(mut cut) = cut else { break };
            // Not within `**`.
            if rest[cut..].starts_with('*') {
                cut += 1;
            }
            let tail = rest[cut..].trim_start().to_owned();
            rest.truncate(cut);
            self.line(&rest);
            rest = format!("        {tail}");
            first = false;
        }
        self.line(&rest);
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gelenk_expr::Pool;

    #[test]
    fn the_language_of_formac() {
        for (ours, theirs) in [
            ("x^2*sin(y)", "X**2*SIN(Y)"),
            ("sqrt(x + y)/2", "(X + Y)**(1/2)/2"),
            ("exp(-x)", "#E**(-X)"),
            ("exp(x)^(y^2)", "(#E**(X))**Y**2"),
            ("sqrt(x)^(y^2)", "((X)**(1/2))**Y**2"),
            ("pi*log10(x)", "#PI*LOG10(X)"),
            ("abs(x)", "ABS(X)"),
            ("atan2(y - 1, x*(y + z))", "ATAN(X*(Y + Z), Y - 1)"),
        ] {
            let mut pool = Pool::new();
            let e = pool.parse(ours).unwrap();
            assert_eq!(formac(&pool.display(e).to_string()), theirs);
        }
    }

    #[test]
    fn long_lines_are_broken() {
        let mut page = Page::default();
        let terms: Vec<String> = (0..60).map(|i| format!("A({i})**2*B({i})")).collect();
        page.equation("G(1,1)", &terms.join(" + "));
        let text = page.into_text();
        assert!(text.lines().all(|l| l.len() <= WIDTH));
        assert!(text.lines().count() > 5);
        let joined: String = text.split_whitespace().collect();
        assert_eq!(joined, format!("G(1,1)={}", terms.join("+")));
    }
}
