//! Why a part does not close: too short, or at odds with itself.

use super::closure::Closing;
use super::nearby::nearby;
use super::{Failure, FailureKind};
use crate::linear::{Metric, Part, Plan, Posture, Rank, rank, strongest_rows};

/// Pivots below these count as zero, one after the other, until the errors that remain are explained and the rest closes.
const TOLERANCES: [f64; 6] = [1e-9, 1e-6, 1e-3, 1e-2, 3e-2, 1e-1];
/// Pivots below this count as zero at nearby postures, which are closed to rounding and far from singular ones.
const NEARBY_TOLERANCE: f64 = 1e-5;
/// Directions tried.
const SAMPLES: u64 = 3;

/// Tells an unclosable part from a contradicting one, at the posture with the least errors.
///
/// There the errors C are a combination of rows that vanishes, Cᵀ J = 0, in either case. So rows that depend on
/// others are left out, the rest is closed and moved about: where the left-out rows still depend on the rest, their
/// errors cannot be helped by any movement (contradicting, when they are not zero); where they do not, the posture was
/// at the end of its reach (unclosable).
pub(crate) fn diagnose(closing: &Closing, posture: &Posture<'_>) -> Failure {
    let mut best = posture.clone();
    let c = closing.part.errors(&mut best);
    let (element, residual) = worst(closing, &best, &c);
    let failure = |kind| Failure { element: element.clone(), residual, kind };
    if let Some(i) = c.iter().position(|c| !c.is_finite()) {
        let (block, _) = closing.part.rows()[i];
        let element = posture.model.rows[block].name.clone();
        return Failure { element, residual: f64::NAN, kind: FailureKind::Undefined };
    }
    let reduced = TOLERANCES.iter().find_map(|&tolerance| {
        let reduced = without_surplus(closing, &mut best, &c, tolerance)?;
        let mut free = best.clone();
        reduced.close(&mut free).closed.then_some((reduced, free))
    });
    let Some((reduced, free)) = reduced else {
        return failure(FailureKind::NotClosable);
    };
    let mut others: Vec<Posture<'_>> =
        (1..=SAMPLES).filter_map(|seed| nearby(&reduced, &free, seed)).collect();
    if others.is_empty() {
        others.push(free);
    }
    let mut conflict = Vec::new();
    for other in &mut others {
        conflict = contradiction(closing, other, &c);
        if conflict.is_empty() {
            return failure(FailureKind::NotClosable);
        }
    }
    let name = |block: usize| posture.model.rows[block].name.clone();
    let last = conflict.pop().map_or(element, name);
    let with = conflict.into_iter().map(name).collect();
    Failure { element: last, residual, kind: FailureKind::Contradicting { with } }
}

/// The block with the largest error relative to its tolerance, and that error.
pub(crate) fn worst(closing: &Closing, posture: &Posture<'_>, c: &[f64]) -> (String, f64) {
    let mut worst = (String::new(), 0.0, -1.0);
    for ((&(block, _), c), tolerance) in closing.part.rows().iter().zip(c).zip(&closing.tolerances)
    {
        let ratio = c.abs() / tolerance.max(f64::MIN_POSITIVE);
        if ratio > worst.2 {
            worst = (posture.model.rows[block].name.clone(), c.abs(), ratio);
        }
    }
    (worst.0, worst.1)
}

/// The part without rows that depend on others; `None` where they do not explain the errors.
fn without_surplus(
    closing: &Closing,
    posture: &mut Posture<'_>,
    c: &[f64],
    tolerance: f64,
) -> Option<Closing> {
    let part = &closing.part;
    let rank = rank(part, &closing.plan, posture, tolerance);
    // At the minimum Cᵀ J = 0, so that y = D⁻¹ C is a combination of the rows D J that vanishes.
    let y: Vec<f64> =
        c.iter().zip(&rank.scales).map(|(c, d)| if *d > 0.0 { c / d } else { 0.0 }).collect();
    let all: f64 = y.iter().map(|y| y * y).sum();
    let explained: f64 = project(&rank, &y).iter().map(|y| y * y).sum();
    if explained < 0.9 * all {
        return None;
    }
    let rows = part.rows();
    let surplus = strongest_rows(&rank.null_vectors, part.n_rows());
    let dropped: Vec<(usize, usize)> = surplus.into_iter().map(|row| rows[row]).collect();
    let blocks: Vec<usize> = part.blocks.iter().map(|b| b.block).collect();
    let is_active = |block, row| dropped.binary_search(&(block, row)).is_err();
    let reduced = Part::new(posture.model, &part.bodies, &blocks, Metric::Assembly, is_active);
    let tolerances = rows
        .iter()
        .zip(&closing.tolerances)
        .filter(|((block, row), _)| is_active(*block, *row))
        .map(|(_, tolerance)| *tolerance)
        .collect();
    let plan = reduced.plan();
    Some(Closing { part: reduced, plan, tolerances, max_iterations: closing.max_iterations })
}

/// Blocks that cannot all hold, ascending, none of which can be spared; empty if there are none.
fn contradiction(closing: &Closing, posture: &mut Posture<'_>, c_best: &[f64]) -> Vec<usize> {
    /// More blocks than this are told as they are found.
    const MOST: usize = 40;
    let least = 1e-2 * c_best.iter().fold(0.0_f64, |m, c| m.max(c.abs()));
    let mut blocks = at_odds(&closing.part, &closing.plan, posture, least);
    if blocks.len() > MOST {
        return blocks;
    }
    for block in blocks.clone() {
        let others: Vec<usize> = blocks.iter().copied().filter(|&other| other != block).collect();
        let bodies = &closing.part.bodies;
        let part = Part::new(posture.model, bodies, &others, Metric::Assembly, |_, _| true);
        if !at_odds(&part, &part.plan(), posture, least).is_empty() {
            blocks = others;
        }
    }
    blocks
}

/// Blocks whose rows depend on each other and whose errors disagree by more than `least`, ascending.
fn at_odds(part: &Part, plan: &Plan, posture: &mut Posture<'_>, least: f64) -> Vec<usize> {
    let rank = rank(part, plan, posture, NEARBY_TOLERANCE);
    let c = part.errors(posture);
    let scaled: Vec<f64> = c.iter().zip(&rank.scales).map(|(c, d)| c * d).collect();
    let odds = project(&rank, &scaled);
    // Back in the unit of the errors.
    let in_unit = odds.iter().zip(&rank.scales).map(|(y, d)| if *d > 0.0 { y / d } else { 0.0 });
    if in_unit.fold(0.0_f64, |m, y| m.max(y.abs())) <= least {
        return Vec::new();
    }
    let largest = odds.iter().fold(0.0_f64, |m, y| m.max(y.abs()));
    let rows = part.rows().into_iter().zip(&odds).filter(|(_, y)| y.abs() > 0.01 * largest);
    let mut blocks: Vec<usize> = rows.map(|((block, _), _)| block).collect();
    blocks.dedup();
    blocks
}

/// The part of y that lies in the space of the null vectors.
fn project(rank: &Rank, y: &[f64]) -> Vec<f64> {
    let mut part = vec![0.0; y.len()];
    for vector in &rank.null_vectors {
        let dot: f64 = vector.iter().map(|&(row, n)| n * y[row]).sum();
        for &(row, n) in vector {
            part[row] += dot * n;
        }
    }
    part
}
