//! The order of elimination and what each front consists of.

use std::collections::BTreeSet;

use super::matrix::BlockMatrix;

/// The order in which column groups are eliminated, and the fronts that come of it.
///
/// Greedy: next comes the group with the fewest neighbours, counted as Σ (size − 1) over the row sets it lies in
/// (an upper bound that costs nothing to keep up to date, \[Gilbert, Moler, Schreiber 1992\]); ties go to the smaller
/// number. Eliminating a group unites its row sets. The ground counts as a neighbour that is never eliminated, so that
/// trees go from their leaves to the ground, where every pivot is plain to see, and not the other way, where levers pile
/// up. Hubs come last.
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

/// A set of rows during planning.
struct RowSet {
    origin: Origin,
    /// Groups with entries; empty once the set is taken.
    groups: Vec<usize>,
    grounded: bool,
}

/// A block, or what a front leaves over.
#[derive(Clone, Copy)]
enum Origin {
    Block(usize),
    Front(usize),
}

impl RowSet {
    /// Neighbours that each of its groups has in it.
    fn degree(&self) -> usize {
        (self.groups.len() + usize::from(self.grounded)).saturating_sub(1)
    }
}

impl Plan {
    pub(crate) fn new(matrix: &BlockMatrix) -> Self {
        let n = matrix.n_groups();
        let mut sets: Vec<RowSet> = Vec::with_capacity(matrix.blocks.len() + n);
        let mut sets_of: Vec<Vec<usize>> = vec![Vec::new(); n];
        let mut degree = vec![0_usize; n];
        for (k, block) in matrix.blocks.iter().enumerate() {
            let (groups, grounded) = (block.groups.clone(), block.grounded);
            sets.push(RowSet { origin: Origin::Block(k), groups, grounded });
            for &g in &block.groups {
                sets_of[g].push(k);
                degree[g] += sets[k].degree();
            }
        }

        let mut queue: BTreeSet<(usize, usize)> = (0..n).map(|g| (degree[g], g)).collect();
        let mut position = vec![0; n];
        let mut fronts: Vec<FrontPlan> = Vec::with_capacity(n);
        let mut member = vec![usize::MAX; n];
        while let Some((_, group)) = queue.pop_first() {
            let mut front = FrontPlan { groups: vec![group], ..FrontPlan::default() };
            let mut change = |g: usize, by: usize, plus: bool| {
                queue.remove(&(degree[g], g));
                degree[g] = if plus { degree[g] + by } else { degree[g] - by };
                queue.insert((degree[g], g));
            };
            let mut grounded = false;
            position[group] = fronts.len();
            member[group] = group;
            for k in std::mem::take(&mut sets_of[group]) {
                let by = sets[k].degree();
                let groups = std::mem::take(&mut sets[k].groups);
                if groups.is_empty() {
                    // An earlier front took it.
                    continue;
                }
                grounded |= sets[k].grounded;
                match sets[k].origin {
                    Origin::Block(block) => front.blocks.push(block),
                    Origin::Front(child) => front.children.push(child),
                }
                for &g in groups.iter().filter(|&&g| g != group) {
                    change(g, by, false);
                    if member[g] != group {
                        member[g] = group;
                        front.groups.push(g);
                    }
                }
            }
            let groups = front.groups[1..].to_vec();
            if !groups.is_empty() {
                let set = RowSet { origin: Origin::Front(fronts.len()), groups, grounded };
                for &g in &set.groups {
                    change(g, set.degree(), true);
                    sets_of[g].push(sets.len());
                }
                sets.push(set);
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
