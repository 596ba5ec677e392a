//! The order in which joints are eliminated, and the pattern of the factor that follows from it.

use std::collections::BTreeSet;

use super::ResponseRows;

/// Which blocks meet at a movable body: for each block its neighbours, ascending.
pub fn neighbours(rows: &impl ResponseRows, fixed: &[bool]) -> Vec<BTreeSet<usize>> {
    let mut at_body: Vec<Vec<usize>> = vec![Vec::new(); fixed.len()];
    for i in 0..rows.n_blocks() {
        for &body in rows.bodies(i) {
            if !fixed[body] {
                at_body[body].push(i);
            }
        }
    }
    let mut graph = vec![BTreeSet::new(); rows.n_blocks()];
    for blocks in &at_body {
        for &i in blocks {
            graph[i].extend(blocks.iter().copied().filter(|&j| j != i));
        }
    }
    graph
}

/// The elimination order by least degree, ties by number, and for each block in that order the later blocks that its
/// elimination touches.
///
/// A chain or tree is eaten up from its leaves without any fill: linear time. In loops the fill stays near the loops.
pub fn eliminate(graph: Vec<BTreeSet<usize>>) -> (Vec<usize>, Vec<Vec<usize>>) {
    by_least_degree(graph, false)
}

/// The same with ties by the time since a neighbour was eliminated: a chain is eaten up from both ends in turns, a tree from all its leaves.
/// Blocks that follow each other in the order then hardly wait for each other.
pub fn eliminate_in_turns(graph: Vec<BTreeSet<usize>>) -> (Vec<usize>, Vec<Vec<usize>>) {
    by_least_degree(graph, true)
}

fn by_least_degree(
    mut graph: Vec<BTreeSet<usize>>,
    in_turns: bool,
) -> (Vec<usize>, Vec<Vec<usize>>) {
    let n = graph.len();
    // When a neighbour of each was eliminated last.
    let mut since = vec![0; n];
    let mut queue: BTreeSet<(usize, usize, usize)> =
        graph.iter().enumerate().map(|(i, near)| (near.len(), 0, i)).collect();
    let (mut order, mut touched) = (Vec::with_capacity(n), Vec::with_capacity(n));
    while let Some((_, _, i)) = queue.pop_first() {
        order.push(i);
        let near = std::mem::take(&mut graph[i]);
        for &j in &near {
            queue.remove(&(graph[j].len(), since[j], j));
            graph[j].remove(&i);
            graph[j].extend(near.iter().copied().filter(|&k| k != j));
            since[j] = if in_turns { order.len() } else { 0 };
            queue.insert((graph[j].len(), since[j], j));
        }
        touched.push(near.into_iter().collect());
    }
    (order, touched)
}
