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
pub fn eliminate(mut graph: Vec<BTreeSet<usize>>) -> (Vec<usize>, Vec<Vec<usize>>) {
    let n = graph.len();
    let mut queue: BTreeSet<(usize, usize)> =
        graph.iter().enumerate().map(|(i, near)| (near.len(), i)).collect();
    let (mut order, mut touched) = (Vec::with_capacity(n), Vec::with_capacity(n));
    while let Some((_, i)) = queue.pop_first() {
        let near = std::mem::take(&mut graph[i]);
        for &j in &near {
            queue.remove(&(graph[j].len(), j));
            graph[j].remove(&i);
            graph[j].extend(near.iter().copied().filter(|&k| k != j));
            queue.insert((graph[j].len(), j));
        }
        order.push(i);
        touched.push(near.into_iter().collect());
    }
    (order, touched)
}
