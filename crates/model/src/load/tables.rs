//! `table("torque.csv", t)` in expressions: numbers from a file, as a piecewise function.
//!
//! A table becomes an expression of conditionals, halved and halved again, so that every engine, derivative and switching function knows
//! it: knots are located like any other corner.
//!
//! ```text
//! linear:  yᵢ + (yᵢ₊₁ − yᵢ)/(xᵢ₊₁ − xᵢ) (x − xᵢ)
//! cubic:   yᵢ + bᵢ d + cᵢ d² + eᵢ d³,  d = x − xᵢ; twice differentiable, not-a-knot at both ends
//! held:    yᵢ
//! ```
//! on xᵢ ≤ x < xᵢ₊₁; before the first and behind the last row the value there holds. Two arguments: linear in both, or held.

use std::path::PathBuf;

use gelenk_expr::{Comparison, Expr};

use super::context::{Allowed, Context, Site};
use super::files::Opened;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::spec::{Text, did_you_mean};

/// What stands for a table while the text around it is read.
const STAND_IN: &str = "table__";
/// Most numbers of a table.
const MOST_NUMBERS: usize = 20_000;

/// How values between rows come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Between {
    Linear,
    Cubic,
    Held,
}

/// A call of `table` in a text: the places of its arguments.
struct Call {
    range: std::ops::Range<usize>,
    arguments: Vec<std::ops::Range<usize>>,
}

/// The numbers of a file.
#[derive(Clone, Debug)]
struct Grid {
    /// Names of the columns, if the first row has them.
    names: Vec<String>,
    rows: Vec<Vec<f64>>,
}

impl Context<'_> {
    /// The text with calls of `table` replaced by names that stand for them; `None` where one is faulty.
    pub(crate) fn without_tables(
        &mut self,
        site: &Site<'_>,
        text: &Text,
        allowed: Allowed,
    ) -> Option<Text> {
        let calls = match calls(&text.text) {
            Ok(calls) => calls,
            Err(at) => {
                let span = text.part(at..text.text.len());
                let message = format!("{}: a bracket or quote of `table(` is open", site.what);
                let help = "write table(\"torque.csv\", t)";
                self.error("bad-expression", site, span, message, help);
                return None;
            }
        };
        let mut replaced = text.text.clone();
        let mut good = true;
        for call in calls {
            let Some(expr) = self.table_call(site, text, &call, allowed) else {
                good = false;
                continue;
            };
            let name = format!("{STAND_IN}{}", self.tables.len());
            self.tables.push(expr);
            // As long as what it replaces, so that places stay.
            let padded = format!("{name:<width$}", width = call.range.len());
            replaced.replace_range(call.range, &padded);
        }
        let mut text = text.clone();
        text.text = replaced;
        good.then_some(text)
    }

    /// What a stand-in stands for.
    pub(crate) fn table_stand_in(&self, name: &str) -> Option<Expr> {
        let i: usize = name.strip_prefix(STAND_IN)?.parse().ok()?;
        self.tables.get(i).copied()
    }

    fn table_call(
        &mut self,
        site: &Site<'_>,
        text: &Text,
        call: &Call,
        allowed: Allowed,
    ) -> Option<Expr> {
        let span = text.part(call.range.clone());
        let mut files: Vec<Text> = Vec::new();
        let mut arguments: Vec<Text> = Vec::new();
        for range in &call.arguments {
            let part = &text.text[range.clone()];
            let quoted =
                ['"', '\''].into_iter().find_map(|q| part.strip_prefix(q)?.strip_suffix(q));
            match quoted {
                Some(inner) => {
                    let at = range.start + 1;
                    files.push(Text::slice(text, at..at + inner.len()));
                }
                None => arguments.push(Text::slice(text, range.clone())),
            }
        }
        let between = match files.get(1).map(|word| word.text.as_str()) {
            None | Some("linear") => Some(Between::Linear),
            Some("cubic") => Some(Between::Cubic),
            Some("held") => Some(Between::Held),
            Some(_) => None,
        };
        let shape_is_right = matches!(files.len(), 1 | 2) && matches!(arguments.len(), 1 | 2);
        let (Some(between), true) = (between, shape_is_right) else {
            let message = format!("{}: `table` takes a file and one or two arguments", site.what);
            let help = "write table(\"torque.csv\", t), table(\"map.csv\", x, y), or with \
                        \"linear\", \"cubic\" or \"held\" at the end";
            self.error("bad-expression", site, span, message, help);
            return None;
        };
        let places: Vec<Option<Expr>> =
            arguments.iter().map(|text| self.expression(site, text, allowed)).collect();
        let (grid, column) = self.table_file(site, &files[0])?;
        match places[..] {
            [x] => self.table_of_one(site, &files[0], span, &grid, column.as_deref(), x?, between),
            [x, y] => {
                self.table_of_two(site, &files[0], &grid, column.as_deref(), [x?, y?], between)
            }
            _ => None,
        }
    }

    /// The numbers of a file, and the column that its name asks for: `gait.csv:knee`.
    fn table_file(&mut self, site: &Site<'_>, file: &Text) -> Option<(Grid, Option<String>)> {
        let (path, column) = match file.text.split_once(':') {
            Some((path, column)) => (path.to_owned(), Some(column.trim().to_owned())),
            None => (file.text.clone(), None),
        };
        let opened = self.table_bytes(site, file, &path)?;
        if !self.mesh_files.iter().any(|(name, _)| *name == opened.name) {
            let digest = blake3::hash(&opened.bytes).to_hex().to_string();
            self.mesh_digests.push((opened.name.clone(), digest));
            self.mesh_files.push((opened.name.clone(), opened.bytes.clone()));
        }
        let fault = |message: String, help: &str| {
            Diagnostic::error("bad-table", message).element(site.element).help(help)
        };
        let Ok(text) = String::from_utf8(opened.bytes) else {
            let message = format!("the table `{path}` is not UTF-8 text");
            self.push(file.span, fault(message, "save the file as UTF-8"));
            return None;
        };
        match read_grid(&text) {
            Ok(grid) => Some((grid, column)),
            Err(why) => {
                let message = format!("the table `{path}`: {why}");
                let help = "a table is numbers in columns, with `,`, `;`, tabs or spaces between, and names in the first row if you like";
                self.push(file.span, fault(message, help));
                None
            }
        }
    }

    fn table_bytes(&mut self, site: &Site<'_>, file: &Text, path: &str) -> Option<Opened> {
        if let Some((name, bytes)) = self.options.data.iter().find(|(name, _)| name == path) {
            return Some(Opened {
                path: PathBuf::from(name),
                name: name.clone(),
                bytes: bytes.clone(),
            });
        }
        let from = self.text_folders.get(&file.span.file);
        let (Some(folder), Some(from)) = (&self.folder, from) else {
            let message = format!("`{path}` cannot be read: this model has no folder");
            let help = "load the model from a file, or give the loader a base folder";
            self.error("no-folder", site, file.span, message, help);
            return None;
        };
        match folder.read(from, path, self.options.limits.file) {
            Ok(opened) => Some(opened),
            Err(fault) => {
                let help = fault.help.unwrap_or_default();
                self.error(fault.code, site, file.span, fault.message, help);
                None
            }
        }
    }

    fn bad_table(&mut self, site: &Site<'_>, file: &Text, message: &str, help: &str) {
        let message = format!("the table `{}`: {message}", file.text);
        self.error("bad-table", site, file.span, message, help);
    }

    fn table_of_one(
        &mut self,
        site: &Site<'_>,
        file: &Text,
        span: Span,
        grid: &Grid,
        column: Option<&str>,
        x: Expr,
        between: Between,
    ) -> Option<Expr> {
        let width = grid.rows.first().map_or(0, Vec::len);
        let which = match column {
            None if width == 2 => 1,
            None => {
                let help = format!("name one: table(\"{}:2\", ...)", file.text);
                self.bad_table(site, file, &format!("has {width} columns, not 2"), &help);
                return None;
            }
            Some(column) => match grid.column(column) {
                Some(which) => which,
                None => {
                    let known = grid.names.iter().map(String::as_str);
                    let help = did_you_mean(column, known)
                        .unwrap_or_else(|| format!("its columns: {}", grid.list()));
                    self.bad_table(site, file, &format!("has no column `{column}`"), &help);
                    return None;
                }
            },
        };
        let xs: Vec<f64> = grid.rows.iter().map(|row| row[0]).collect();
        let ys: Vec<f64> = grid.rows.iter().map(|row| row[which]).collect();
        if !self.rises(site, file, &xs, "the first column") {
            return None;
        }
        if x == self.pool.time() {
            self.table_bounds.push((file.clone(), span, xs[0], xs[xs.len() - 1]));
        }
        Some(self.curve(x, &xs, &ys, between))
    }

    fn table_of_two(
        &mut self,
        site: &Site<'_>,
        file: &Text,
        grid: &Grid,
        column: Option<&str>,
        [x, y]: [Expr; 2],
        between: Between,
    ) -> Option<Expr> {
        if column.is_some() {
            let help = "its first row has the values of the second argument";
            self.bad_table(site, file, "of two arguments has no named columns", help);
            return None;
        }
        if between == Between::Cubic {
            let help = "use \"linear\" or \"held\"";
            self.bad_table(site, file, "cubic is for one argument", help);
            return None;
        }
        // The names of the columns are the places along y, behind whatever stands in the corner.
        let first: Option<Vec<f64>> = grid.names.iter().skip(1).map(|n| n.parse().ok()).collect();
        let (ys, rows) = match (first, grid.rows.split_first()) {
            (Some(ys), Some(_)) if !ys.is_empty() => (ys, &grid.rows[..]),
            (_, Some((head, rows))) if grid.names.is_empty() => (head[1..].to_vec(), rows),
            _ => {
                let help = "the first row holds the places along the second argument, the first column those along the first";
                self.bad_table(site, file, "has no row of places", help);
                return None;
            }
        };
        let xs: Vec<f64> = rows.iter().map(|row| row[0]).collect();
        if !self.rises(site, file, &xs, "the first column")
            || !self.rises(site, file, &ys, "the first row")
        {
            return None;
        }
        let curves: Vec<Expr> =
            rows.iter().map(|row| self.curve(y, &ys, &row[1..], between)).collect();
        let mut pieces = vec![curves[0]];
        for i in 0..xs.len() - 1 {
            pieces.push(if between == Between::Held {
                curves[i]
            } else {
                let rise = self.pool.sub(curves[i + 1], curves[i]);
                let (from, scale) =
                    (self.pool.float(xs[i]), self.pool.float(1.0 / (xs[i + 1] - xs[i])));
                let along = self.pool.sub(x, from);
                let part = self.pool.mul(&[scale, along, rise]);
                self.pool.add(&[curves[i], part])
            });
        }
        pieces.push(curves[curves.len() - 1]);
        Some(self.select(x, &xs, &pieces))
    }

    /// Whether numbers rise; reported if not.
    fn rises(&mut self, site: &Site<'_>, file: &Text, xs: &[f64], what: &str) -> bool {
        let fallen = xs.windows(2).find(|pair| pair[1] <= pair[0]);
        if let Some([before, after, ..]) = fallen {
            let message = format!("{what} does not rise: {after} comes after {before}");
            self.bad_table(site, file, &message, "sort the rows, and remove those that come twice");
        } else if xs.len() < 2 {
            let message = format!("{what} has {} numbers, not 2 or more", xs.len());
            self.bad_table(site, file, &message, "add rows");
            return false;
        }
        fallen.is_none()
    }

    /// The piecewise function through (x, y).
    fn curve(&mut self, x: Expr, xs: &[f64], ys: &[f64], between: Between) -> Expr {
        let n = xs.len();
        let slopes = if between == Between::Cubic { spline(xs, ys) } else { Vec::new() };
        let mut pieces = vec![self.pool.float(ys[0])];
        for i in 0..n - 1 {
            let (y, rise, h) = (ys[i], ys[i + 1] - ys[i], xs[i + 1] - xs[i]);
            let coefficients = match between {
                Between::Held => vec![y],
                Between::Linear => vec![y, rise / h],
                Between::Cubic => {
                    let (m, next) = (slopes[i], slopes[i + 1]);
                    let b = rise / h - h * (2.0 * m + next) / 6.0;
                    vec![y, b, 0.5 * m, (next - m) / (6.0 * h)]
                }
            };
            pieces.push(self.polynomial(x, xs[i], &coefficients));
        }
        pieces.push(self.pool.float(ys[n - 1]));
        self.select(x, xs, &pieces)
    }

    /// Σ cₖ (x − x₀)ᵏ, by Horner.
    fn polynomial(&mut self, x: Expr, from: f64, coefficients: &[f64]) -> Expr {
        let from = self.pool.float(from);
        let d = self.pool.sub(x, from);
        let mut sum = Expr::ZERO;
        for c in coefficients.iter().rev() {
            let c = self.pool.float(*c);
            let product = self.pool.mul(&[sum, d]);
            sum = self.pool.add(&[product, c]);
        }
        sum
    }

    /// pieces[i] on knots[i − 1] ≤ x < knots[i].
    fn select(&mut self, x: Expr, knots: &[f64], pieces: &[Expr]) -> Expr {
        if knots.is_empty() {
            return pieces[0];
        }
        let middle = knots.len() / 2;
        let low = self.select(x, &knots[..middle], &pieces[..=middle]);
        let high = self.select(x, &knots[middle + 1..], &pieces[middle + 1..]);
        let knot = self.pool.float(knots[middle]);
        self.pool.if_else(Comparison::Less, x, knot, low, high)
    }

    /// Warns of tables over time that end before the run does.
    pub(crate) fn warn_short_tables(&mut self) {
        let end = self.builder.model().run.duration;
        for (file, span, first, last) in std::mem::take(&mut self.table_bounds) {
            if first > 0.0 || last < end * (1.0 - 1e-12) {
                let message = format!(
                    "the table `{}` reaches from t = {first} s to {last} s, the run from 0 to {end} s",
                    file.text
                );
                let help = "outside, the first and the last value hold";
                self.push(span, Diagnostic::warning("table-ends", message).help(help));
            }
        }
    }
}

/// The calls of `table` in a text, outermost only, last first; the place of one that does not end.
fn calls(text: &str) -> Result<Vec<Call>, usize> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut i = 0;
    while let Some(at) = text[i..].find("table").map(|at| i + at) {
        let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'.' || b >= 128;
        let mut next = at + "table".len();
        i = next;
        if at > 0 && word(bytes[at - 1]) {
            continue;
        }
        while bytes.get(next) == Some(&b' ') {
            next += 1;
        }
        if bytes.get(next) != Some(&b'(') {
            continue;
        }
        let mut arguments = Vec::new();
        let (mut begin, mut depth, mut quote) = (next + 1, 0, None);
        let mut end = None;
        for (k, &b) in bytes.iter().enumerate().skip(next) {
            match (quote, b) {
                (Some(q), b) if b == q => quote = None,
                (Some(_), _) => {}
                (None, b'"' | b'\'') => quote = Some(b),
                (None, b'(') => depth += 1,
                (None, b',') if depth == 1 => {
                    arguments.push(begin..k);
                    begin = k + 1;
                }
                (None, b')') => {
                    depth -= 1;
                    if depth == 0 {
                        arguments.push(begin..k);
                        end = Some(k + 1);
                        break;
                    }
                }
                _ => {}
            }
        }
        let Some(end) = end else { return Err(at) };
        let trimmed = arguments.into_iter().map(|range: std::ops::Range<usize>| {
            let part = &text[range.clone()];
            let start = range.start + (part.len() - part.trim_start().len());
            start..start + part.trim().len()
        });
        found.push(Call { range: at..end, arguments: trimmed.collect() });
        i = end;
    }
    found.reverse();
    Ok(found)
}

impl Grid {
    /// The column of a name, with or without the unit in brackets behind it, or of a number counted from 1.
    fn column(&self, wanted: &str) -> Option<usize> {
        let bare = |name: &str| name.split('[').next().unwrap_or(name).trim().to_owned();
        let whole = self.names.iter().position(|name| name == wanted);
        let found = whole.or_else(|| self.names.iter().position(|name| bare(name) == wanted));
        let width = self.rows.first().map_or(0, Vec::len);
        found.or_else(|| {
            wanted.parse().ok().filter(|n| (1..=width).contains(n)).map(|n: usize| n - 1)
        })
    }

    fn list(&self) -> String {
        if self.names.is_empty() {
            let width = self.rows.first().map_or(0, Vec::len);
            return format!("1 to {width}, without names");
        }
        self.names.join(", ")
    }
}

/// The numbers of a text in columns; lines that begin with `#` are passed over.
fn read_grid(text: &str) -> Result<Grid, String> {
    let mut grid = Grid { names: Vec::new(), rows: Vec::new() };
    let mut count = 0;
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let separator = [',', ';', '\t'].into_iter().find(|s| body.contains(*s));
    for (i, line) in body.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let cells: Vec<&str> = match separator {
            Some(separator) => {
                line.split(separator).map(|cell| cell.trim().trim_matches('"')).collect()
            }
            None => line.split_whitespace().collect(),
        };
        let numbers: Vec<Option<f64>> =
            cells.iter().map(|cell| cell.parse::<f64>().ok().filter(|x| x.is_finite())).collect();
        if grid.rows.is_empty() && grid.names.is_empty() && numbers.iter().any(Option::is_none) {
            grid.names = cells.iter().map(|cell| (*cell).to_owned()).collect();
            continue;
        }
        let width = grid.rows.first().map_or(grid.names.len(), Vec::len);
        if width > 0 && cells.len() != width {
            return Err(format!("line {} has {} columns, not {width}", i + 1, cells.len()));
        }
        if let Some(bad) = numbers.iter().position(Option::is_none) {
            return Err(format!("`{}` in line {} is not a number", cells[bad], i + 1));
        }
        count += cells.len();
        if count > MOST_NUMBERS {
            return Err(format!("it has more than {MOST_NUMBERS} numbers"));
        }
        grid.rows.push(numbers.into_iter().flatten().collect());
    }
    if grid.rows.is_empty() || grid.rows[0].len() < 2 {
        return Err("it has no two columns of numbers".to_owned());
    }
    Ok(grid)
}

/// Second derivatives at the knots of the cubic spline that is not a knot at its second and last but one; a parabola for three points,
/// a line for two.
///
/// ```text
/// h₋ M₋ + 2 (h₋ + h) M + h M₊ = 6 (Δ/h − Δ₋/h₋),     M₀ = M₁ − h₀/h₁ (M₂ − M₁), and so at the other end
/// ```
fn spline(xs: &[f64], ys: &[f64]) -> Vec<f64> {
    let n = xs.len();
    let h: Vec<f64> = xs.windows(2).map(|x| x[1] - x[0]).collect();
    let slope: Vec<f64> = ys.windows(2).zip(&h).map(|(y, h)| (y[1] - y[0]) / h).collect();
    if n < 3 {
        return vec![0.0; n];
    }
    if n == 3 {
        return vec![2.0 * (slope[1] - slope[0]) / (h[0] + h[1]); 3];
    }
    // Rows of the inner knots: below, diagonal, above, right.
    let mut rows: Vec<[f64; 4]> = (1..n - 1)
        .map(|i| [h[i - 1], 2.0 * (h[i - 1] + h[i]), h[i], 6.0 * (slope[i] - slope[i - 1])])
        .collect();
    let last = rows.len() - 1;
    let first = h[0] / h[1];
    rows[0][1] += h[0] * (1.0 + first);
    rows[0][2] -= h[0] * first;
    let end = h[n - 2] / h[n - 3];
    rows[last][1] += h[n - 2] * (1.0 + end);
    rows[last][0] -= h[n - 2] * end;
    for i in 1..=last {
        let factor = rows[i][0] / rows[i - 1][1];
        rows[i][1] -= factor * rows[i - 1][2];
        rows[i][3] -= factor * rows[i - 1][3];
    }
    let mut m = vec![0.0; n];
    for i in (0..=last).rev() {
        let above = if i < last { rows[i][2] * m[i + 2] } else { 0.0 };
        m[i + 1] = (rows[i][3] - above) / rows[i][1];
    }
    m[0] = m[1] - first * (m[2] - m[1]);
    m[n - 1] = m[n - 2] + end * (m[n - 2] - m[n - 3]);
    m
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spline_through_a_cubic_is_the_cubic() {
        let xs = [0.0, 0.4, 1.1, 1.5, 2.7];
        let f = |x: f64| 1.0 - 2.0 * x + 0.5 * x * x * x;
        let m = spline(&xs, &xs.map(f));
        for (x, m) in xs.iter().zip(m) {
            assert!((m - 3.0 * x).abs() < 1e-13, "{m} at {x}");
        }
        assert_eq!(spline(&[0.0, 1.0, 3.0], &[0.0, 1.0, 9.0]), [2.0; 3]);
    }

    #[test]
    fn calls_are_found_with_their_arguments() {
        let text = "2*table(\"a,b.csv\", sin(t, 1)) + stable(1) + table('c', table(\"d\", t), y)";
        let found = calls(text).unwrap();
        let shown: Vec<Vec<&str>> = found
            .iter()
            .map(|call| call.arguments.iter().map(|range| &text[range.clone()]).collect())
            .collect();
        assert_eq!(shown, [vec!["'c'", "table(\"d\", t)", "y"], vec!["\"a,b.csv\"", "sin(t, 1)"]]);
        assert!(calls("1 + table(\"a\", t").is_err());
    }

    #[test]
    fn texts_of_many_kinds_are_grids() {
        for text in [
            "t,y\n0,1\n1,2\n",
            "t;y\n0;1\n1;2",
            "# note\n0 1\n1\t2e0\n".replace('\t', " ").as_str(),
        ] {
            let grid = read_grid(text).unwrap();
            assert_eq!(grid.rows, [[0.0, 1.0], [1.0, 2.0]], "{text}");
        }
        assert!(read_grid("a,b\n1,2\n3\n").unwrap_err().contains("line 3"));
        assert!(read_grid("1,2\n3,x\n").unwrap_err().contains("`x`"));
        assert!(read_grid("").is_err());
    }
}
