//! The mechanism as a graph: bodies are nodes, row blocks are edges between them.
//!
//! All fixed bodies are one node, the world. What moves independently falls into components (the world does not
//! connect them: it has no velocity); loops are cycles through blocks, the world included. Every algorithm here is
//! iterative, since a chain may have 100,000 links and a stack overflow cannot be caught.

use crate::model::Model;
use crate::rows::{RowBlock, RowKind};

/// The graph of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Bodies that move together, in the order of their first body.
    pub components: Vec<Component>,
    /// Sets of bodies and blocks in which every two lie on a common cycle, in the order of their first block.
    pub clusters: Vec<Cluster>,
    /// Blocks with rows but without a free body.
    pub idle_blocks: Vec<usize>,
    /// The component of each body; `None` for fixed bodies. (n_bodies)
    pub component_of: Vec<Option<usize>>,
}

/// Free bodies that are connected without passing through a fixed one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Component {
    /// Its bodies, ascending.
    pub bodies: Vec<usize>,
    /// Its blocks (those with rows), ascending.
    pub blocks: Vec<usize>,
    /// Whether a block holds it to a fixed body or to space itself.
    pub grounded: bool,
    /// Number of independent loops, those through the world included: Σ (bodies of a block − 1) − (nodes − 1).
    /// Ties between joint coordinates run beside their joints and make none.
    pub loops: usize,
}

/// A biconnected part of the graph with at least one cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    /// Its free bodies, ascending.
    pub bodies: Vec<usize>,
    /// Its blocks, ascending.
    pub blocks: Vec<usize>,
    /// Whether it passes through the world.
    pub through_world: bool,
}

/// The node that all fixed bodies share.
const WORLD: usize = 0;

impl Graph {
    /// Reads the graph off the blocks of a model.
    pub fn new(model: &Model) -> Self {
        let n_bodies = model.n_bodies();
        let is_free = |body: usize| !model.bodies[body].fixed;
        let mut together = Sets::new(n_bodies);
        let mut idle_blocks = Vec::new();
        for (k, block) in model.rows.iter().enumerate() {
            let mut free = block.bodies.iter().map(|b| b.index()).filter(|&b| is_free(b));
            match (free.next(), conditions(block)) {
                (_, 0) => {}
                (None, _) => idle_blocks.push(k),
                (Some(first), _) => free.for_each(|other| _ = together.join(first, other)),
            }
        }

        let mut components: Vec<Component> = Vec::new();
        let mut component_of = vec![None; n_bodies];
        for body in (0..n_bodies).filter(|&b| is_free(b)) {
            let root = together.root(body);
            // The root is the smallest body of its set, so it is met first.
            let c = component_of[root].unwrap_or(components.len());
            if c == components.len() {
                components.push(Component::default());
            }
            component_of[body] = Some(c);
            components[c].bodies.push(body);
        }

        let mut joined = Sets::new(n_bodies);
        for (k, block) in model.rows.iter().enumerate() {
            let component = block.bodies.iter().find_map(|b| component_of[b.index()]);
            let (Some(c), true) = (component, conditions(block) > 0) else { continue };
            let component = &mut components[c];
            component.blocks.push(k);
            let nodes = nodes_of(model, block);
            component.grounded |= nodes.contains(&WORLD);
            if !matches!(block.kind, RowKind::Tie(_)) {
                let closing = nodes[1..].iter().filter(|&&node| !joined.join(nodes[0], node));
                component.loops += closing.count();
            }
        }
        Graph { components, clusters: clusters(model), idle_blocks, component_of }
    }
}

/// Rows of a block that take degrees of freedom: none of end stops and friction.
fn conditions(block: &RowBlock) -> usize {
    if block.is_bound() { 0 } else { block.n_rows }
}

/// The distinct nodes of a block, in its order. A block with one free body holds it to space: the world is added.
fn nodes_of(model: &Model, block: &RowBlock) -> Vec<usize> {
    let mut nodes = Vec::with_capacity(block.bodies.len());
    for body in &block.bodies {
        let node = if model.bodies[body.index()].fixed { WORLD } else { body.index() };
        if !nodes.contains(&node) {
            nodes.push(node);
        }
    }
    if nodes.len() == 1 && nodes[0] != WORLD {
        nodes.push(WORLD);
    }
    nodes
}

/// Biconnected parts with a cycle, by depth-first search on the graph of bodies and blocks with an explicit stack.
///
/// \[Hopcroft, Tarjan 1973\]; nodes 0..n are bodies, n.. are blocks, and an edge tells that a block touches a body.
fn clusters(model: &Model) -> Vec<Cluster> {
    let n_bodies = model.n_bodies();
    let n = n_bodies + model.rows.len();
    let mut neighbours: Vec<Vec<usize>> = vec![Vec::new(); n];
    for (k, block) in model.rows.iter().enumerate() {
        if conditions(block) == 0 || matches!(block.kind, RowKind::Tie(_)) {
            continue;
        }
        for node in nodes_of(model, block) {
            neighbours[node].push(n_bodies + k);
            neighbours[n_bodies + k].push(node);
        }
    }

    // A number of 0 means not yet visited.
    let mut number = vec![0_usize; n];
    let mut low = vec![0_usize; n];
    let mut count = 0;
    let mut found = Vec::new();
    // (node, its parent, how many neighbours are done), and the edges of the current path.
    let mut path: Vec<(usize, usize, usize)> = Vec::new();
    let mut edges: Vec<(usize, usize)> = Vec::new();
    for start in 0..n_bodies {
        if number[start] != 0 || neighbours[start].is_empty() {
            continue;
        }
        count += 1;
        (number[start], low[start]) = (count, count);
        path.push((start, usize::MAX, 0));
        while let Some((node, parent, done)) = path.last_mut() {
            let (node, parent) = (*node, *parent);
            if let Some(&next) = neighbours[node].get(*done) {
                *done += 1;
                if next == parent {
                    continue;
                }
                if number[next] == 0 {
                    count += 1;
                    (number[next], low[next]) = (count, count);
                    edges.push((node, next));
                    path.push((next, node, 0));
                } else if number[next] < number[node] {
                    edges.push((node, next));
                    low[node] = low[node].min(number[next]);
                }
                continue;
            }
            path.pop();
            if parent == usize::MAX {
                continue;
            }
            low[parent] = low[parent].min(low[node]);
            if low[node] >= number[parent] {
                let first = edges.iter().rposition(|&edge| edge == (parent, node)).unwrap_or(0);
                let part = edges.split_off(first);
                if part.len() > 1 {
                    found.push(cluster(&part, n_bodies));
                }
            }
        }
    }
    found.sort_by(|a, b| a.blocks.cmp(&b.blocks));
    found
}

fn cluster(edges: &[(usize, usize)], n_bodies: usize) -> Cluster {
    let mut nodes: Vec<usize> = edges.iter().flat_map(|&(a, b)| [a, b]).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let (bodies, blocks): (Vec<_>, Vec<_>) = nodes.into_iter().partition(|&node| node < n_bodies);
    Cluster {
        through_world: bodies.contains(&WORLD),
        bodies: bodies.into_iter().filter(|&body| body != WORLD).collect(),
        blocks: blocks.into_iter().map(|node| node - n_bodies).collect(),
    }
}

/// Disjoint sets whose root is their smallest member.
pub(crate) struct Sets {
    parent: Vec<usize>,
}

impl Sets {
    /// n sets of one.
    pub(crate) fn new(n: usize) -> Self {
        Sets { parent: (0..n).collect() }
    }

    /// The smallest member of the set of `i`; halves the path on its way.
    pub(crate) fn root(&mut self, mut i: usize) -> usize {
        while self.parent[i] != i {
            self.parent[i] = self.parent[self.parent[i]];
            i = self.parent[i];
        }
        i
    }

    /// Unites the sets of a and b; false if they were one already.
    pub(crate) fn join(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        self.parent[a.max(b)] = a.min(b);
        a != b
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::BodyId;
    use crate::builder::{BodyDef, Builder};
    use crate::joint::{Ball, JointKind};
    use crate::math::{Mat3, Vec3};

    fn model(n: usize, edges: &[(u32, u32)]) -> Model {
        let mut builder = Builder::new("graph");
        for i in 0..n {
            builder.body(&BodyDef::new(&format!("b{i}"), 1.0, Mat3::identity()));
        }
        for (k, &(a, b)) in edges.iter().enumerate() {
            let bodies = [BodyId(a), BodyId(b)];
            let [fa, fb] = builder.joint_frames(bodies, &Vec3::zeros(), &Vec3::z());
            builder.joint(&format!("j{k}"), bodies, JointKind::Ball(Ball::new(&fa, &fb)), None);
        }
        builder.finish()
    }

    #[test]
    fn two_pendulums_on_the_world_are_two_components_without_loops() {
        let graph = Graph::new(&model(3, &[(0, 1), (0, 2), (2, 3)]));
        let bodies: Vec<_> = graph.components.iter().map(|c| c.bodies.clone()).collect();
        assert_eq!(bodies, [vec![1], vec![2, 3]]);
        assert!(graph.components.iter().all(|c| c.grounded && c.loops == 0));
        assert!(graph.clusters.is_empty());
    }

    #[test]
    fn a_loop_with_a_tail_has_one_cluster_and_the_tail_is_outside() {
        // World - 1 - 2 - 3 - world, and 3 - 4; 5 flies free.
        let graph = Graph::new(&model(5, &[(0, 1), (1, 2), (2, 3), (3, 0), (3, 4)]));
        assert_eq!(graph.components.len(), 2);
        assert_eq!(graph.components[0].loops, 1);
        assert!(!graph.components[1].grounded);
        let cluster =
            Cluster { bodies: vec![1, 2, 3], blocks: vec![0, 1, 2, 3], through_world: true };
        assert_eq!(graph.clusters, [cluster]);
    }

    #[test]
    fn two_joints_between_the_same_bodies_are_a_loop() {
        let graph = Graph::new(&model(2, &[(1, 2), (1, 2)]));
        assert_eq!(graph.components[0].loops, 1);
        assert_eq!(graph.clusters[0].blocks, [0, 1]);
        assert!(!graph.clusters[0].through_world);
    }

    #[test]
    fn two_loops_that_share_one_body_are_two_clusters() {
        let graph = Graph::new(&model(5, &[(1, 2), (2, 3), (3, 1), (3, 4), (4, 5), (5, 3)]));
        assert_eq!(graph.components[0].loops, 2);
        let blocks: Vec<_> = graph.clusters.iter().map(|c| c.blocks.clone()).collect();
        assert_eq!(blocks, [vec![0, 1, 2], vec![3, 4, 5]]);
    }

    #[test]
    fn a_chain_of_a_hundred_thousand_links_does_not_overflow_the_stack() {
        let edges: Vec<_> = (0..100_000).map(|i| (i, i + 1)).collect();
        let graph = Graph::new(&model(100_000, &edges));
        assert_eq!(graph.components.len(), 1);
        assert!(graph.clusters.is_empty());
    }
}
