//! Numbers, tables and lists for people.

use std::fmt::Write;

use clap::builder::styling::Style;

/// `x` with `digits` significant digits: plain where that reads well, else with an exponent.
pub(crate) fn sig(x: f64, digits: usize) -> String {
    if x == 0.0 || !x.is_finite() {
        return if x == 0.0 { "0".to_owned() } else { x.to_string() };
    }
    let rounded = format!("{:.*e}", digits.saturating_sub(1), x);
    let exponent = rounded.split_once('e').and_then(|(_, e)| e.parse::<isize>().ok()).unwrap_or(0);
    if !(-4..=6).contains(&exponent) {
        let (mantissa, e) = rounded.split_once('e').unwrap_or((&rounded, "0"));
        return format!("{}e{e}", trim_zeros(mantissa));
    }
    let decimals = digits.saturating_add_signed(-1 - exponent);
    trim_zeros(&format!("{x:.decimals$}")).to_owned()
}

fn trim_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// Whole numbers in groups of three: 12 345.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) && digits.len() > 4 {
            out.push(' ');
        }
        out.push(c);
    }
    out
}

/// "1 step", "2 steps"; `many` for all but one.
pub(crate) fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(n), if n == 1 { one } else { many })
}

/// Bytes as kB, MB, ...
pub(crate) fn bytes(n: u64) -> String {
    let mut value = n as f64;
    for unit in ["bytes", "kB", "MB", "GB"] {
        if value < 1000.0 {
            return format!("{} {unit}", sig(value, 3));
        }
        value /= 1000.0;
    }
    format!("{} TB", sig(value, 3))
}

/// How a column of a [`Table`] is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Columns that line up; indented by two blanks.
#[derive(Debug)]
pub(crate) struct Table {
    aligns: Vec<Align>,
    rows: Vec<(Option<Style>, Vec<String>)>,
}

impl Table {
    /// An empty table.
    pub(crate) fn new(aligns: &[Align]) -> Self {
        Table { aligns: aligns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push((None, cells.into_iter().map(Into::into).collect()));
    }

    /// Adds a row in a style, for heads.
    pub(crate) fn styled<S: Into<String>>(
        &mut self,
        style: Style,
        cells: impl IntoIterator<Item = S>,
    ) {
        self.rows.push((Some(style), cells.into_iter().map(Into::into).collect()));
    }

    /// The lines; those wider than `width` are cut with an ellipsis.
    pub(crate) fn render(&self, width: usize) -> String {
        let width_of = |text: &String| text.chars().count();
        let widths: Vec<usize> = (0..self.aligns.len())
            .map(|k| self.rows.iter().filter_map(|r| r.1.get(k)).map(width_of).max().unwrap_or(0))
            .collect();
        let mut out = String::new();
        for (style, cells) in &self.rows {
            let mut line = " ".to_owned();
            for (k, cell) in cells.iter().enumerate() {
                let pad = " ".repeat(widths[k].saturating_sub(width_of(cell)));
                let _ = match self.aligns[k] {
                    Align::Left => write!(line, " {cell}{pad}"),
                    Align::Right => write!(line, " {pad}{cell}"),
                };
                line.push(' ');
            }
            let line = clip(line.trim_end(), width);
            let _ = match style {
                Some(style) => writeln!(out, "{style}{line}{style:#}"),
                None => writeln!(out, "{line}"),
            };
        }
        out
    }
}

/// At most `width` characters, the last an ellipsis if some are left off.
fn clip(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let mut out: String = line.chars().take(width.saturating_sub(1)).collect();
    out.push('…');
    out
}

/// Breaks `text` at blanks into lines of at most `width`, each led by `indent` blanks.
pub(crate) fn wrap(text: &str, indent: usize, width: usize) -> String {
    let mut out = String::new();
    let lead = " ".repeat(indent);
    for paragraph in text.lines() {
        let mut line = lead.clone();
        for word in paragraph.split(' ') {
            let room = line.chars().count() + 1 + word.chars().count() <= width;
            if line.len() > indent && !room {
                let _ = writeln!(out, "{}", line.trim_end());
                line.clone_from(&lead);
            } else if line.len() > indent {
                line.push(' ');
            }
            line.push_str(word);
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        for (x, text) in [
            (0.0, "0"),
            (0.01, "0.01"),
            (-12.345_678, "-12.35"),
            (1e-9, "1e-9"),
            (9.9996, "10"),
            (1_234_567.0, "1234567"),
            (6.023e23, "6.023e23"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(sig(x, 4), text);
        }
        assert_eq!(grouped(1234), "1234");
        assert_eq!(grouped(1_234_567), "1 234 567");
        assert_eq!(bytes(1_234_000), "1.23 MB");
        assert_eq!(counted(1, "step", "steps"), "1 step");
    }

    #[test]
    fn tables_line_up_and_fit() {
        let mut table = Table::new(&[Align::Left, Align::Right]);
        table.row(["a", "1.5"]);
        table.row(["long name", "12.5"]);
        assert_eq!(table.render(80), "  a           1.5\n  long name  12.5\n");
        assert_eq!(table.render(9), "  a     …\n  long n…\n");
    }

    #[test]
    fn long_sentences_break_at_blanks() {
        assert_eq!(wrap("one two three", 2, 9), "  one two\n  three\n");
    }
}
