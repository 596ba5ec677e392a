//! The order of elimination and what each front consists of.

use std::collections::BTreeSet;

use super::matrix::BlockMatrix;

/// The order in which column groups are eliminated, and the fronts that come of it.
///
/// Greedy: next comes the group with the fewest neighbours, counted as Σ (size − 1) over the row sets it lies in
/// (an upper bound that costs nothing to keep up to date, \[Gilbert, Moler, Schreiber 1992\]); ties go to the smaller
/// number. Eliminating a group unites its row sets. Leaves of a tree go first, hubs last.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// One front for each group, in order of elimination.
    pub(crate) fronts: Vec<FrontPlan>,
    /// Estimated floating-point operations of a factorization.
    pub(crate) work: f64,
}

/// What is gathered before a group can be eliminated.
#[derive(Clone, Debug, Default)]
pub(crate) struct FrontPlan {
    /// Groups with entries, in order of elimination; the first is eliminated here.
    pub(crate) groups: Vec<usize>,
    /// Blocks of the matrix that enter here.
    pub(crate) blocks: Vec<usize>,
    /// Earlier fronts whose remaining rows enter here.
    pub(crate) children: Vec<usize>,
}

/// A set of rows during planning: a block, or what a front leaves over.
enum RowSet {
    Block(usize),
    Front(usize),
}

impl Plan {
    pub(crate) fn new(matrix: &BlockMatrix) -> Self {
        let n = matrix.n_groups();
        let mut sets: Vec<(RowSet, Vec<usize>)> = Vec::with_capacity(matrix.blocks.len() + n);
        let mut sets_of: Vec<Vec<usize>> = vec![Vec::new(); n];
        let mut degree = vec![0_usize; n];
        for (k, block) in matrix.blocks.iter().enumerate() {
            for &g in &block.groups {
                sets_of[g].push(k);
                degree[g] += block.groups.len() - 1;
            }
            sets.push((RowSet::Block(k), block.groups.clone()));
        }

        let mut queue: BTreeSet<(usize, usize)> = (0..n).map(|g| (degree[g], g)).collect();
        let mut position = vec![0; n];
        let mut fronts: Vec<FrontPlan> = Vec::with_capacity(n);
        let mut member = vec![usize::MAX; n];
        while let Some((_, group)) = queue.pop_first() {
            let mut front = FrontPlan { groups: vec![group], ..FrontPlan::default() };
            position[group] = fronts.len();
            member[group] = group;
            for k in std::mem::take(&mut sets_of[group]) {
                // A set that an earlier front took is empty.
                let groups = std::mem::take(&mut sets[k].1);
                match (&sets[k].0, groups.is_empty()) {
                    (_, true) => {}
                    (RowSet::Block(block), false) => front.blocks.push(*block),
                    (RowSet::Front(child), false) => front.children.push(*child),
                }
                for &g in &groups {
                    if g != group {
                        queue.remove(&(degree[g], g));
                        degree[g] -= groups.len() - 1;
                        queue.insert((degree[g], g));
                    }
                    if member[g] != group {
                        member[g] = group;
                        front.groups.push(g);
                    }
                }
            }
            let rest = front.groups[1..].to_vec();
            for &g in &rest {
                queue.remove(&(degree[g], g));
                degree[g] += rest.len() - 1;
                queue.insert((degree[g], g));
                sets_of[g].push(sets.len());
            }
            if !rest.is_empty() {
                sets.push((RowSet::Front(fronts.len()), rest));
            }
            fronts.push(front);
        }
        for front in &mut fronts {
            front.groups.sort_unstable_by_key(|&g| position[g]);
            front.blocks.sort_unstable();
        }
        let work = estimate(matrix, &fronts);
        Plan { fronts, work }
    }
}

/// Operations of one factorization: 4 (rows) (columns) (reflections), damping rows included.
fn estimate(matrix: &BlockMatrix, fronts: &[FrontPlan]) -> f64 {
    let mut left_over = vec![0_usize; fronts.len()];
    let mut work = 0.0;
    for (f, front) in fronts.iter().enumerate() {
        let own = matrix.width(front.groups[0]);
        let rest: usize = front.groups[1..].iter().map(|&g| matrix.width(g)).sum();
        let mut rows = own;
        rows += front.blocks.iter().map(|&b| matrix.blocks[b].n_rows).sum::<usize>();
        rows += front.children.iter().map(|&c| left_over[c]).sum::<usize>();
        left_over[f] = (rows - own).min(rest);
        let reflections = rows.min(own + rest);
        work += 4.0 * rows as f64 * (own + rest) as f64 * reflections as f64;
    }
    work
}
