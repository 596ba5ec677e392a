//! All that can be said of a system of polynomial constraints near a position: redundant equations, singular positions,
//! branches, blow-ups, and whether a motion can pass.

use std::fmt;

use gelenk_expr::Rational;

use crate::blow::{Judge, Method, Resolution, blow_up};
use crate::branches::{Branch, Branches, branches};
use crate::error::Error;
use crate::field::Field;
use crate::groebner::{Work, basis};
use crate::inertia::admits_smooth_motion;
use crate::place::{Place, singular_place};
use crate::poly::{Monomial, Poly};
use crate::redundant::{Redundancy, redundancy, redundant};
use crate::solve::{simplest_between, solve};
use crate::system::System;

/// Minors of G are multiplied out up to this many rows and this many minors.
const MAX_ROWS: usize = 5;
const MAX_MINORS: usize = 60;
/// Most products of terms in one step of that.
const MAX_TERMS: usize = 20_000;

/// What was found.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The constraints as given.
    pub system: System<Rational>,
    /// The position they were looked at.
    pub point: Vec<f64>,
    /// The same exactly, where it is rational and fulfils the constraints.
    pub exact_point: Option<Vec<Rational>>,
    /// Rank of G there.
    pub rank: usize,
    /// Equations that follow from others; none where the bound on work was met.
    pub redundancy: Option<Redundancy>,
    /// Singular positions of the constraints without redundant ones.
    pub positions: Vec<Position>,
    /// Singular positions that are not rational; the exact algebra says nothing of them.
    pub rounded: Vec<Vec<f64>>,
    /// Whether all singular positions with rational coordinates are listed.
    pub complete: bool,
    /// What was not decided, and why.
    pub notes: Vec<String>,
}

/// A singular position.
#[derive(Clone, Debug)]
pub struct Position {
    /// Where.
    pub place: Vec<Rational>,
    /// Rank of G there.
    pub rank: usize,
    /// The branches that meet there.
    pub branches: Branches,
    /// For each branch found, what the blow-up makes of it.
    pub resolved: Vec<ResolvedBranch>,
}

/// A branch, blown up.
#[derive(Clone, Debug)]
pub struct ResolvedBranch {
    /// By the curve (theorem 1).
    pub curve: Resolution<Rational>,
    /// Polar (theorem 2).
    pub polar: Resolution<Rational>,
    /// Whether the whole matrix with zero masses for the new variables has full rank, so that a smooth motion passes;
    /// none without masses.
    pub smooth: Option<bool>,
}

/// Analyses polynomial constraints over named variables at a position, with the mass of each variable if known. `work` bounds
/// the coefficient operations of each question.
///
/// ```
/// use gelenk_blowup::{System, analyse};
/// let cross = System::parse(&["x", "y"], &["x*y = 0"]).unwrap();
/// let found = analyse(&cross, None, &[1.0, 0.0], 100_000).unwrap();
/// assert_eq!(found.positions.len(), 1);
/// assert_eq!(found.positions[0].branches.found.len(), 2);
/// ```
pub fn analyse(
    system: &System<Rational>,
    masses: Option<&[Rational]>,
    point: &[f64],
    work: usize,
) -> Result<Analysis, Error> {
    let variables = system.n_variables();
    let wrong = |what, given| Err(Error::WrongLength { what, given, variables });
    if point.len() != variables {
        return wrong("point", point.len());
    }
    if masses.is_some_and(|m| m.len() != variables) {
        return wrong("masses", masses.map_or(0, <[_]>::len));
    }
    let float = system.to_f64();
    for (k, g) in float.equations.iter().enumerate() {
        let value = g.eval(point).abs();
        if value.is_nan() || value >= 1e-6 {
            return Err(Error::NotOnSolution { index: k + 1, value });
        }
    }
    let mut notes = Vec::new();
    let exact_point = exact_point(system, point);
    let rank = match &exact_point {
        Some(exact) => system.rank_at(exact, 0.0),
        None => float.rank_at(point, 1e-9),
    };
    let redundancy = find_redundancy(system, exact_point.as_deref(), work, &mut notes)?;
    let studied = redundancy.as_ref().map_or(system, |r| &r.simplified);
    if studied.equations.len() > variables {
        return Err(Error::TooManyEquations { equations: studied.equations.len(), variables });
    }
    let (mut places, complete) = singular_places(studied, work, &mut notes)?;
    if let Some(exact) = &exact_point
        && studied.rank_at(exact, 0.0) < studied.equations.len()
    {
        places.insert(0, exact.clone());
    }
    let mut rounded = Vec::new();
    match singular_place(studied, point) {
        Some(Place { exact: Some(exact), .. }) => places.push(exact),
        Some(Place { x, exact: None }) => rounded.push(x),
        None => {}
    }
    let mut positions: Vec<Position> = Vec::new();
    for place in places {
        if positions.iter().any(|p| p.place == place) {
            continue;
        }
        match position(studied, masses, &place, work) {
            Ok(found) => positions.push(found),
            Err(error @ Error::WorkBound { .. }) => {
                notes.push(format!("{}: {error}", place_text(&system.names, &place)));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(Analysis {
        system: system.clone(),
        point: point.to_vec(),
        exact_point,
        rank,
        redundancy,
        positions,
        rounded,
        complete,
        notes,
    })
}

/// The point with rational coordinates next to `point` that fulfils the equations.
fn exact_point(system: &System<Rational>, point: &[f64]) -> Option<Vec<Rational>> {
    [0.0, 1e-12, 1e-9].iter().find_map(|tolerance| {
        let exact: Vec<Rational> = point
            .iter()
            .map(|x| {
                let low = Rational::from_f64(x - tolerance * (1.0 + x.abs()))?;
                let high = Rational::from_f64(x + tolerance * (1.0 + x.abs()))?;
                Some(simplest_between(&low, &high))
            })
            .collect::<Option<_>>()?;
        system.equations.iter().all(|g| Field::is_zero(&g.eval(&exact))).then_some(exact)
    })
}

fn find_redundancy(
    system: &System<Rational>,
    exact: Option<&[Rational]>,
    bound: usize,
    notes: &mut Vec<String>,
) -> Result<Option<Redundancy>, Error> {
    let mut work = Work::new("the search for redundant equations", bound);
    let found = match exact {
        Some(place) => redundancy(system, place, &mut work),
        None => redundant(system, &mut work).map(|members| {
            let mut simplified = system.clone();
            for i in members.iter().rev() {
                simplified.equations.remove(*i);
            }
            Redundancy { members, squares: Vec::new(), simplified }
        }),
    };
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error @ Error::WorkBound { .. }) => {
            notes.push(error.to_string());
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Rational singular positions, g = 0 and all largest minors of G zero, and whether these are all.
fn singular_places(
    system: &System<Rational>,
    bound: usize,
    notes: &mut Vec<String>,
) -> Result<(Vec<Vec<Rational>>, bool), Error> {
    let Some(minors) = minors(system) else {
        let message = "the constraints are too large to look for all singular positions; those near the position given were sought";
        notes.push(message.into());
        return Ok((Vec::new(), false));
    };
    let mut work = Work::new("the search for all singular positions", bound);
    let mut all = system.equations.clone();
    all.extend(minors);
    let found = basis(&all, &mut work).and_then(|g| {
        if g.iter().any(|p| p.degree() == 0) {
            return Ok(None);
        }
        solve(&g, "singular positions", &mut work).map(Some)
    });
    match found {
        Ok(None) => Ok((Vec::new(), true)),
        Ok(Some(solutions)) => {
            for irrational in &solutions.irrational {
                notes.push(format!(
                    "singular positions have irrational values of {}: {:?}",
                    system.names[irrational.variable], irrational.values
                ));
            }
            Ok((solutions.rational, true))
        }
        Err(error @ (Error::WorkBound { .. } | Error::NotIsolated { .. })) => {
            notes.push(error.to_string());
            Ok((Vec::new(), false))
        }
        Err(error) => Err(error),
    }
}

/// The largest minors of G; none where they would be too many.
fn minors(system: &System<Rational>) -> Option<Vec<Poly<Rational>>> {
    let (n, m) = (system.n_variables(), system.equations.len());
    if m == 0 || m > MAX_ROWS {
        return None;
    }
    let g = system.jacobian();
    let mut minors = Vec::new();
    let mut columns: Vec<usize> = (0..m).collect();
    loop {
        let minor = determinant(&g, &columns)?;
        if !minor.is_empty() {
            minors.push(minor);
        }
        if minors.len() > MAX_MINORS {
            return None;
        }
        // The next choice of m columns.
        let Some(i) = (0..m).rev().find(|i| columns[*i] < n - m + i) else { break };
        columns[i] += 1;
        for j in i + 1..m {
            columns[j] = columns[j - 1] + 1;
        }
    }
    Some(minors)
}

/// A determinant of polynomials, by subsets of columns row after row; none where it is too long.
fn determinant(g: &[Vec<Poly<Rational>>], columns: &[usize]) -> Option<Poly<Rational>> {
    let n = g[0][0].n_variables();
    let m = columns.len();
    // Of the first rows, for each set of columns as bits.
    let mut partial = vec![Poly::zero(n); 1 << m];
    partial[0] = Poly::constant(n, Rational::ONE);
    for set in 1usize..1 << m {
        let row = set.count_ones() as usize - 1;
        let mut sum = Poly::zero(n);
        for (k, column) in columns.iter().enumerate().filter(|(k, _)| set >> k & 1 == 1) {
            let after = (set >> (k + 1)).count_ones();
            let sign = if after % 2 == 0 { Rational::ONE } else { Rational::MINUS_ONE };
            let (a, b) = (&g[row][*column], &partial[set & !(1 << k)]);
            if a.len().saturating_mul(b.len()) > MAX_TERMS {
                return None;
            }
            let product = a.times(b);
            sum.add_multiple(&sign, &Monomial::one(n), &product);
        }
        partial[set] = sum;
    }
    partial.pop()
}

fn position(
    system: &System<Rational>,
    masses: Option<&[Rational]>,
    place: &[Rational],
    work: usize,
) -> Result<Position, Error> {
    let branches = branches(system, place, &mut Work::new("the search for branches", work))?;
    let mut resolved = Vec::new();
    for branch in branches.found.iter().filter(|b| b.order.is_some()) {
        let judge = Judge::exact();
        // Of a surface the set of singular positions is blown up, not one of them.
        let along = Judge { locus: !branches.cuts.is_empty(), ..judge };
        let curve = blow_up(system, place, &branch.curve, Method::Curve, &along)?;
        let polar = blow_up(system, place, &branch.curve, Method::Polar, &judge)?;
        let smooth = masses.map(|masses| admits_smooth_motion(&curve, masses, 0.0));
        resolved.push(ResolvedBranch { curve, polar, smooth });
    }
    let rank = system.rank_at(place, 0.0);
    Ok(Position { place: place.to_vec(), rank, branches, resolved })
}

/// `x = 1, y = 0`.
pub fn place_text<T: fmt::Display>(names: &[String], place: &[T]) -> String {
    let parts: Vec<String> =
        names.iter().zip(place).map(|(name, x)| format!("{name} = {x}")).collect();
    parts.join(", ")
}

impl Position {
    /// Branches with what the blow-up makes of them; none for branches that lose rank all along.
    pub fn pairs(&self) -> impl Iterator<Item = (&Branch, Option<&ResolvedBranch>)> {
        let mut resolved = self.resolved.iter();
        self.branches.found.iter().map(move |branch| {
            (branch, if branch.order.is_some() { resolved.next() } else { None })
        })
    }
}

/// In words, every system on the way by the curve blow-up.
impl fmt::Display for Analysis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = &self.system.names;
        writeln!(f, "constraints")?;
        for line in self.system.lines() {
            writeln!(f, "  {line}")?;
        }
        let m = self.system.equations.len();
        writeln!(f, "at {}: rank {} of {m}", place_text(names, &self.point), self.rank)?;
        if let Some(redundancy) = &self.redundancy {
            for i in &redundancy.members {
                writeln!(
                    f,
                    "constraint {} follows from the others: {}",
                    i + 1,
                    self.system.lines()[*i]
                )?;
            }
            for squares in &redundancy.squares {
                writeln!(f, "a combination of constraints is a sum of squares:")?;
                writeln!(f, "  {} = 0", squares.combination.text(names))?;
                writeln!(f, "so in real positions")?;
                for form in &squares.forms {
                    writeln!(f, "  {} = 0", form.text(names))?;
                }
            }
            if redundancy.simplified != self.system {
                writeln!(f, "the same positions by fewer or simpler constraints:")?;
                for line in redundancy.simplified.lines() {
                    writeln!(f, "  {line}")?;
                }
            }
        }
        if self.positions.is_empty() && self.rounded.is_empty() {
            let scope = if self.complete { "with rational coordinates" } else { "near this one" };
            writeln!(f, "no singular position {scope}")?;
        }
        for position in &self.positions {
            write_position(f, names, position)?;
        }
        for x in &self.rounded {
            writeln!(f, "singular position near {} (not rational)", place_text(names, x))?;
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        Ok(())
    }
}

fn write_position(f: &mut fmt::Formatter<'_>, names: &[String], at: &Position) -> fmt::Result {
    writeln!(f, "\nsingular position {}: rank {}", place_text(names, &at.place), at.rank)?;
    for cut in &at.branches.cuts {
        writeln!(f, "  seen in the cut {} = 0", cut.text(names))?;
    }
    for (number, (branch, resolved)) in at.pairs().enumerate() {
        let line = branch.lines(names, &at.place, 3).join(", ");
        match branch.order {
            Some(order) => writeln!(f, "branch {}: {line}   (t-order {order})", number + 1)?,
            None => writeln!(f, "branch {}: {line}   (rank is lost all along it)", number + 1)?,
        }
        if let Some(resolved) = resolved {
            for line in resolved.curve.to_string().lines() {
                writeln!(f, "  {line}")?;
            }
            match resolved.smooth {
                Some(true) => writeln!(f, "  a smooth motion passes")?,
                Some(false) => writeln!(
                    f,
                    "  no smooth motion passes: with zero masses for the new variables the whole matrix loses rank"
                )?,
                None => {}
            }
        }
    }
    for (slope, values) in &at.branches.irrational {
        writeln!(f, "branches with irrational slopes {slope}: {values:?}")?;
    }
    if at.branches.incomplete {
        writeln!(f, "directions that are not isolated were not followed")?;
    }
    if at.branches.found.is_empty() && at.branches.irrational.is_empty() && !at.branches.incomplete
    {
        writeln!(f, "no real branch leaves it: an isolated position")?;
    }
    Ok(())
}
