//! Which body hangs on which.

use crate::bounds::Bound;
use crate::rows::Rows;
use crate::scratch::Bodies;

/// Marks a lane without a body, a body without a parent.
pub(super) const NOWHERE: usize = usize::MAX;

/// Bodies at a time.
pub(super) const LANES: usize = 4;

/// Most rows between two bodies.
pub(super) const MOST: usize = 6;

/// A body and the joint it hangs on.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// Its body, or [`NOWHERE`] to fill a group.
    pub body: usize,
    /// The node it hangs on; [`NOWHERE`] for a root.
    pub parent: usize,
    /// Rows of the joint.
    pub rows: Vec<Row>,
}

/// A row of a joint: its number, and where its Jacobian for the body and for the one it hangs on begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub number: usize,
    pub own: usize,
    pub other: usize,
}

/// Bodies in groups of four, each group after all that hang on it. Node i is lane i mod 4 of group i/4.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub nodes: Vec<Node>,
    /// The node of each body that moves. (n_bodies)
    pub node_of: Vec<usize>,
}

/// What the bodies of a group hang on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Up {
    /// Each on the body in the same lane of that group.
    Lanes(usize),
    /// All on that node.
    One(usize),
    /// Each on a node of its own, or nothing.
    Each,
}

impl Up {
    /// Of the nodes that lanes hang on; what lanes with `None` hang on does not matter.
    pub(super) fn of(nodes: [Option<usize>; LANES]) -> Up {
        let Some((lane, node)) = (0..LANES).find_map(|k| Some((k, nodes[k]?))) else {
            return Up::Each;
        };
        let group = node / LANES;
        let all = |is: &dyn Fn(usize, usize) -> bool| {
            (0..LANES).all(|k| nodes[k].is_none_or(|node| is(k, node)))
        };
        if node != NOWHERE && node % LANES == lane && all(&|k, node| node == LANES * group + k) {
            Up::Lanes(group)
        } else if node != NOWHERE && all(&|_, other| other == node) {
            Up::One(node)
        } else {
            Up::Each
        }
    }
}

impl Pattern {
    /// What the bodies of group `g` hang on. In the same lanes of another group only if there are no bodies in the others.
    pub(super) fn up(&self, g: usize) -> Up {
        let nodes = &self.nodes[LANES * g..LANES * (g + 1)];
        let hangs = |k: usize| !nodes[k].rows.is_empty();
        let up = Up::of(std::array::from_fn(|k| hangs(k).then_some(nodes[k].parent)));
        match up {
            Up::Lanes(other)
                if (0..LANES)
                    .any(|k| !hangs(k) && self.nodes[LANES * other + k].body != NOWHERE) =>
            {
                Up::Each
            }
            up => up,
        }
    }

    /// The tree of a model's joints, if they are one: equations between two bodies, no loops (the ground is one body), every
    /// body with mass about all axes.
    pub(super) fn new(rows: &Rows, bodies: &Bodies) -> Option<Pattern> {
        let n_bodies = bodies.fixed.len();
        let heavy = |i: usize| bodies.mass_inv[i] > 0.0 && bodies.inertia_inv[i].min() > 0.0;
        let size = rows.model_size;
        if size.rows == 0 || (0..n_bodies).any(|i| !bodies.fixed[i] && !heavy(i)) {
            return None;
        }
        // Neighbours of each body with the blocks between them; the ground is number n_bodies.
        let ground = n_bodies;
        let mut near: Vec<Vec<(usize, Vec<usize>)>> = vec![Vec::new(); n_bodies + 1];
        for (i, block) in rows.blocks[..size.blocks].iter().enumerate() {
            if block.bound != Bound::None || block.n_bodies != 2 {
                return None;
            }
            let list = &rows.body_list[block.first_body..][..2];
            let [a, b] = [0, 1].map(|k| if bodies.fixed[list[k]] { ground } else { list[k] });
            if a == b {
                return None;
            }
            for (one, other) in [(a, b), (b, a)] {
                match near[one].iter_mut().find(|(body, _)| *body == other) {
                    Some((_, blocks)) => blocks.push(i),
                    None => near[one].push((other, vec![i])),
                }
            }
        }
        let mut parent = vec![NOWHERE; n_bodies + 1];
        let mut seen = vec![false; n_bodies + 1];
        // From the ground, then from the body with most neighbours of each part that floats.
        let mut starts: Vec<usize> = (0..n_bodies).filter(|&i| !bodies.fixed[i]).collect();
        starts.sort_by_key(|&i| (std::cmp::Reverse(near[i].len()), i));
        starts.insert(0, ground);
        let mut order = Vec::with_capacity(n_bodies);
        for start in starts {
            if seen[start] {
                continue;
            }
            seen[start] = true;
            let mut next = order.len();
            order.push(start);
            while next < order.len() {
                let body = order[next];
                next += 1;
                for (other, _) in &near[body] {
                    if *other == parent[body] {
                        continue;
                    }
                    if seen[*other] {
                        return None; // a loop
                    }
                    seen[*other] = true;
                    parent[*other] = body;
                    order.push(*other);
                }
            }
        }
        // Height over the leaves; parents come before their children in `order`.
        let mut height = vec![0; n_bodies + 1];
        for &body in order.iter().rev() {
            if parent[body] != NOWHERE {
                height[parent[body]] = height[parent[body]].max(height[body] + 1);
            }
        }
        order.retain(|&body| body != ground);
        // Bodies of the same height in the order of those they hang on, so that legs keep their lanes.
        let mut rank = vec![0; n_bodies + 1];
        order.sort_by_key(|&body| (std::cmp::Reverse(height[body]), body));
        for level in order.chunk_by_mut(|&a, &b| height[a] == height[b]) {
            level.sort_by_key(|&body| {
                let up = parent[body];
                let place = if up == NOWHERE { (0, 0) } else { (height[up], rank[up]) };
                (place, body)
            });
            for (i, &body) in level.iter().enumerate() {
                rank[body] = i;
            }
        }
        order.sort_by_key(|&body| (height[body], rank[body]));
        let mut nodes: Vec<Node> = Vec::with_capacity(order.len() + LANES);
        let filler = Node { body: NOWHERE, parent: NOWHERE, rows: Vec::new() };
        let mut node_of = vec![NOWHERE; n_bodies];
        let mut last = 0;
        for &body in &order {
            // A group for each height: no body is in one with another that hangs on it, and those of legs are in the same lanes.
            if std::mem::replace(&mut last, height[body]) != height[body] {
                nodes.resize(nodes.len().next_multiple_of(LANES), filler.clone());
            }
            node_of[body] = nodes.len();
            let mut own = Vec::new();
            let joint = near[body].iter().find(|(other, _)| *other == parent[body]);
            for &i in joint.map_or(&[][..], |(_, blocks)| blocks) {
                let block = &rows.blocks[i];
                let slot = usize::from(rows.body_list[block.first_body + 1] == body);
                for k in 0..block.n_rows {
                    let at = block.jac + 12 * k;
                    own.push(Row {
                        number: block.first_row + k,
                        own: at + 6 * slot,
                        other: at + 6 * (1 - slot),
                    });
                }
            }
            if own.len() > MOST {
                return None;
            }
            nodes.push(Node { body, parent: parent[body], rows: own });
        }
        nodes.resize(nodes.len().next_multiple_of(LANES), filler);
        for node in &mut nodes {
            let parent = node.parent;
            node.parent =
                if parent == NOWHERE || parent == ground { NOWHERE } else { node_of[parent] };
        }
        Some(Pattern { nodes, node_of })
    }
}
