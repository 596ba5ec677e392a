//! The branches of a solution set that meet in a singular point, found without a curve.
//!
//! A branch leaves the point in a direction where the forms of lowest degree of all equations vanish. Each
//! direction is blown up (x_i = λ_i x_0, point moved to the origin), and so on until the equations have full rank;
//! there the branch is a power series by the implicit function theorem, and going back gives it in the old
//! variables.

use gelenk_expr::Rational;

use crate::blow::{Judge, divided, order_of};
use crate::error::Error;
use crate::field::Field;
use crate::groebner::Work;
use crate::poly::{Monomial, Poly};
use crate::series;
use crate::solve::{Solutions, solve};
use crate::system::{System, pivots};

/// Coefficients kept of each branch.
const LENGTH: usize = 14;
/// Blow-ups along one branch before it is given up.
const MAX_DEPTH: usize = 6;

/// A curve of solutions through a singular point.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// Displacements from the point, the power series of each variable, constant term zero. Of a branch that loses
    /// rank all along, only the leading terms.
    pub curve: Vec<Vec<Rational>>,
    /// t-Ord(G∘x), finite where the branch traverses the point; none where G loses rank all along it.
    pub order: Option<usize>,
}

impl Branch {
    /// The direction in which the branch leaves: the coefficients of the lowest power.
    pub fn tangent(&self) -> Vec<Rational> {
        let order = self.curve.iter().filter_map(|x| series::t_order(x, 0.0)).min().unwrap_or(0);
        self.curve.iter().map(|x| x[order].clone()).collect()
    }

    /// Each variable as text, `x = t, y = t - 1/2*t^3 + …`, to `terms` terms.
    pub fn lines(&self, names: &[String], place: &[Rational], terms: usize) -> Vec<String> {
        let t = ["t".to_owned()];
        names
            .iter()
            .zip(place)
            .zip(&self.curve)
            .map(|((name, a), x)| {
                let mut p = Poly::constant(1, a.clone());
                for (k, c) in x.iter().enumerate().skip(1).filter(|(_, c)| !c.is_zero()).take(terms)
                {
                    p.add_term(Monomial(vec![u16::try_from(k).unwrap_or(u16::MAX)]), c);
                }
                let more = x.iter().skip(1).filter(|c| !Field::is_zero(*c)).count() > terms;
                // Low powers first, as series are written.
                let mut parts: Vec<String> = Vec::new();
                for (m, c) in p.terms() {
                    let mut term = Poly::zero(1);
                    term.add_term(m.clone(), c);
                    parts.push(term.text(&t));
                }
                let mut text = parts.join(" + ").replace("+ -", "- ");
                if text.is_empty() {
                    text.push('0');
                }
                if more || (self.order.is_none() && !x.iter().all(Field::is_zero)) {
                    text.push_str(" + ...");
                }
                format!("{name} = {text}")
            })
            .collect()
    }
}

/// What is known of the branches at a point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Branches {
    /// Those with rational coefficients.
    pub found: Vec<Branch>,
    /// Linear conditions through the point that were added since the solution set has more than one dimension:
    /// the branches are curves within it.
    pub cuts: Vec<Poly<Rational>>,
    /// Variables with irrational directions, that exact arithmetic does not follow: name and slopes.
    pub irrational: Vec<(String, Vec<f64>)>,
    /// Whether some directions are not isolated and so were not followed.
    pub incomplete: bool,
}

struct Node {
    local: System<Rational>,
    /// The charts and directions so far.
    path: Vec<(usize, Vec<Rational>)>,
}

/// Finds the branches of g = 0 at `place`.
pub fn branches(
    system: &System<Rational>,
    place: &[Rational],
    work: &mut Work,
) -> Result<Branches, Error> {
    let n = system.n_variables();
    if place.len() != n {
        return Err(Error::WrongLength { what: "point", given: place.len(), variables: n });
    }
    if system.equations.len() > n {
        return Err(Error::TooManyEquations { equations: system.equations.len(), variables: n });
    }
    let original = system.shifted(place)?;
    let mut result = Branches::default();
    let mut start = original.clone();
    for k in 1..n.saturating_sub(system.equations.len()) {
        let cut = cut(n, k);
        start.equations.push(cut.clone());
        result.cuts.push(cut.shifted(&place.iter().map(|c| -c).collect::<Vec<_>>()));
    }
    let mut open = vec![Node { local: start, path: Vec::new() }];
    while let Some(node) = open.pop() {
        if node.local.is_regular_at_origin(0.0) {
            let Some(curve) = implicit_curve(&node.local) else { continue };
            let Some(curve) = back(curve, &node.path) else { continue };
            let order = order_of(&original, &curve, &Judge::exact());
            result.found.push(Branch { curve, order });
            continue;
        }
        if node.path.len() == MAX_DEPTH || is_singular_line(&node) {
            let line = line(&node);
            if let Some(curve) = back(line, &node.path) {
                result.found.push(Branch { curve, order: None });
            }
            continue;
        }
        let triangular = node.local.triangular(0.0);
        let all = vec![true; n];
        let mut children = Vec::new();
        for k in 0..n {
            let directions = match directions(&triangular, k, work) {
                Ok(directions) => directions,
                Err(Error::NotIsolated { .. }) => {
                    result.incomplete = true;
                    continue;
                }
                Err(error) => return Err(error),
            };
            for i in directions.irrational {
                let name = &node.local.names[i.variable];
                result.irrational.push((format!("{name}/{}", node.local.names[k]), i.values));
            }
            for mut direction in directions.rational {
                direction[k] = Rational::ZERO;
                let names = &node.local.names;
                let keep = |m: &Monomial| m.exponents().to_vec();
                let (_, next) = divided(&triangular, names, keep, k, &all, 0.0);
                let equations = next.shifted(&direction)?.equations;
                let mut path = node.path.clone();
                path.push((k, direction));
                children.push(Node { local: System { names: names.clone(), equations }, path });
            }
        }
        open.extend(children.into_iter().rev());
    }
    Ok(result)
}

fn integer(n: usize) -> Rational {
    Rational::from(i64::try_from(n).unwrap_or(i64::MAX))
}

/// A linear form in general position, the k-th.
fn cut(n: usize, k: usize) -> Poly<Rational> {
    let mut form = Poly::zero(n);
    for i in 0..n {
        // Small numbers without a pattern that a mechanism would share.
        let c = 1 + (7 * (i + 1) * (i + k) + 3 * k + i * i) % 11;
        form.add_term(Monomial::variable(n, i), &integer(c));
    }
    form
}

/// Directions with x_j = 0 before and x_k = 1 in which the lowest forms vanish.
fn directions(
    triangular: &System<Rational>,
    k: usize,
    work: &mut Work,
) -> Result<Solutions, Error> {
    let n = triangular.n_variables();
    let mut forms: Vec<Poly<Rational>> = triangular
        .equations
        .iter()
        .filter_map(|g| Some(g.homogeneous_part(g.lowest_degree(0.0)?)))
        .collect();
    for j in 0..k {
        forms.push(Poly::variable(n, j));
    }
    forms.push(Poly::variable(n, k).minus(&Poly::constant(n, Rational::ONE)));
    solve(&forms, "directions", work)
}

/// The line along the last chart.
fn line(node: &Node) -> Vec<Vec<Rational>> {
    let mut curve = vec![vec![Rational::ZERO; LENGTH]; node.local.n_variables()];
    if let Some((k, _)) = node.path.last() {
        curve[*k][1] = Rational::ONE;
    }
    curve
}

/// Whether the line along the last chart is a solution on which G loses rank everywhere.
fn is_singular_line(node: &Node) -> bool {
    if node.path.is_empty() {
        return false;
    }
    let longest = node.local.equations.iter().map(Poly::degree).max().unwrap_or(0) as usize;
    let mut line = line(node);
    for x in &mut line {
        // Long enough for the highest power and for minors of it.
        x.resize(longest * node.local.equations.len().max(1) + 2, Rational::ZERO);
    }
    let on = node.local.equations.iter().all(|g| {
        let along = series::eval(g, &line);
        along.iter().all(Field::is_zero)
    });
    on && order_of(&node.local, &line, &Judge::exact()).is_none()
}

/// The power series of a one-dimensional solution set at a regular origin, over the variable without pivot.
fn implicit_curve(system: &System<Rational>) -> Option<Vec<Vec<Rational>>> {
    let n = system.n_variables();
    let linear: Vec<Vec<Rational>> = system.equations.iter().map(Poly::linear_part).collect();
    // Columns from the last on, so that early variables stay free; found by the reverse.
    let reversed: Vec<Vec<Rational>> =
        linear.iter().map(|row| row.iter().rev().cloned().collect()).collect();
    let (found, _) = pivots(reversed, 0.0);
    let columns: Vec<usize> = found.iter().map(|(_, c)| n - 1 - c).collect();
    let mut free = (0..n).filter(|i| !columns.contains(i));
    let (free, None) = (free.next()?, free.next()) else { return None };
    let square: Vec<Vec<Rational>> =
        linear.iter().map(|row| columns.iter().map(|c| row[*c].clone()).collect()).collect();
    let inverse = inverse(square)?;
    let mut curve = vec![vec![Rational::ZERO; LENGTH]; n];
    curve[free][1] = Rational::ONE;
    // Newton's iteration with the derivative at the origin: one more term is right each time.
    for _ in 1..LENGTH {
        let values: Vec<Vec<Rational>> =
            system.equations.iter().map(|g| series::eval(g, &curve)).collect();
        for (i, c) in columns.iter().enumerate() {
            for (j, value) in values.iter().enumerate() {
                let factor = &inverse[i][j];
                let step: Vec<Rational> = value.iter().map(|v| v * factor).collect();
                curve[*c] = series::difference(&curve[*c], &step);
            }
        }
    }
    Some(curve)
}

fn inverse(mut a: Vec<Vec<Rational>>) -> Option<Vec<Vec<Rational>>> {
    let n = a.len();
    for (i, row) in a.iter_mut().enumerate() {
        row.extend((0..n).map(|j| if i == j { Rational::ONE } else { Rational::ZERO }));
    }
    for c in 0..n {
        let pivot = (c..n).find(|r| !a[*r][c].is_zero())?;
        a.swap(c, pivot);
        let factor = a[c][c].recip()?;
        a[c] = a[c].iter().map(|x| x * &factor).collect();
        let row = a[c].clone();
        for (r, other) in a.iter_mut().enumerate() {
            if r != c && !other[c].is_zero() {
                let factor = other[c].clone();
                for (x, y) in other.iter_mut().zip(&row) {
                    *x = x.minus(&(y * &factor));
                }
            }
        }
    }
    Some(a.into_iter().map(|row| row[n..].to_vec()).collect())
}

/// A curve of the last chart in the old variables; none if it stays in the point.
fn back(
    mut curve: Vec<Vec<Rational>>,
    path: &[(usize, Vec<Rational>)],
) -> Option<Vec<Vec<Rational>>> {
    for (k, direction) in path.iter().rev() {
        let x0 = curve[*k].clone();
        series::t_order(&x0, 0.0)?;
        for (i, x) in curve.iter_mut().enumerate() {
            if i != *k {
                x[0] = &x[0] + &direction[i];
                *x = series::product(x, &x0);
            }
        }
    }
    Some(curve)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(names: &[&str], equations: &[&str], place: &[i64]) -> Branches {
        let system = System::parse(names, equations).unwrap();
        let place: Vec<Rational> = place.iter().map(|n| Rational::from(*n)).collect();
        branches(&system, &place, &mut Work::new("branches", 1_000_000)).unwrap()
    }

    fn texts(names: &[&str], equations: &[&str], place: &[i64]) -> Vec<String> {
        let found = find(names, equations, place);
        let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
        let place: Vec<Rational> = place.iter().map(|n| Rational::from(*n)).collect();
        let text =
            |b: &Branch| format!("{} [{:?}]", b.lines(&names, &place, 3).join(", "), b.order);
        found.found.iter().map(text).collect()
    }

    #[test]
    fn cross_and_eight() {
        let xy = ["x", "y"];
        assert_eq!(
            texts(&xy, &["x*y"], &[0, 0]),
            ["x = t, y = 0 [Some(1)]", "x = 0, y = t [Some(1)]"]
        );
        // y = ±x √(1 - x²).
        assert_eq!(
            texts(&xy, &["y^2 = x^2*(1 - x^2)"], &[0, 0]),
            [
                "x = t, y = -t + 1/2*t^3 + 1/8*t^5 + ... [Some(1)]",
                "x = t, y = t - 1/2*t^3 - 1/8*t^5 + ... [Some(1)]"
            ]
        );
    }

    #[test]
    fn cusp_and_touching_branches() {
        let xy = ["x", "y"];
        assert_eq!(texts(&xy, &["y^2 = x^3"], &[0, 0]), ["x = t^2, y = t^3 [Some(3)]"]);
        assert_eq!(
            texts(&xy, &["y^2 = x^4"], &[0, 0]),
            ["x = t, y = -t^2 [Some(2)]", "x = t, y = t^2 [Some(2)]"]
        );
        // The higher cusp needs two blow-ups.
        assert_eq!(texts(&xy, &["y^2 = x^5"], &[0, 0]), ["x = t^2, y = t^5 [Some(5)]"]);
    }

    #[test]
    fn branches_without_rank() {
        let xy = ["x", "y"];
        let found = find(&xy, &["(y + x)*(y - x)^2"], &[0, 0]);
        let orders: Vec<_> = found.found.iter().map(|b| (b.tangent(), b.order)).collect();
        let r = Rational::from;
        assert_eq!(orders, [(vec![r(1), r(-1)], Some(2)), (vec![r(1), r(1)], None)]);
        // Nothing real leaves the point.
        assert!(find(&xy, &["x^2 + y^2"], &[0, 0]).found.is_empty());
    }

    #[test]
    fn irrational_directions_are_told() {
        let found = find(&["x", "y"], &["y^2 = 2*x^2"], &[0, 0]);
        assert!(found.found.is_empty());
        assert_eq!(found.irrational.len(), 1);
        assert_eq!(found.irrational[0].0, "y/x");
        assert!((found.irrational[0].1[1] - 2f64.sqrt()).abs() < 1e-15);
    }

    #[test]
    fn sheets_are_cut() {
        // Two planes in space meet in a line; a cut leaves one curve in each.
        let found = find(&["x", "y", "z"], &["x*y"], &[0, 0, 5]);
        assert_eq!(found.cuts.len(), 1);
        assert_eq!(found.found.len(), 2);
        assert!(found.found.iter().all(|b| b.order == Some(1)));
    }
}
