//! The factor of M + JᵀAJ over the free directions of the tree.
//!
//! Node i leaves with v_i = X v_p + S q̇, children before parents. With H_ii and the blocks H_ik of its edges at that time, the row of q̇ is
//!
//! ```text
//! D q̇ = Sᵀ r_i + r_q − SᵀH_ii X v_p − Σ_k SᵀH_ik v_k,      D = SᵀH_ii S + W,   U = H_ii S,   C_k = H_ki S,
//! G = D⁻¹SᵀH_ii,   G_k = D⁻¹SᵀH_ik
//! H_pp += Xᵀ(H_ii − U G)X,   H_pk += Xᵀ(H_ik − U G_k),   H_kp += (H_ki − C_k G)X,   H_kl −= C_k G_l
//! ```
//! W holds what acts along the joint alone: stops, dry friction, implicit dampers. What touches the world adds to H_ii. A tree has no edges, and
//! costs linear time; edges are contacts between bodies, loops and gears. Nodes that carry no row, nor anything that does, are left out of such a
//! factor: what hangs on the others is part of their H, from the factor of the tree alone. A that is not symmetric (contacts that slide) makes H so; L = SᵀH is
//! then not Uᵀ. \[Featherstone 2008\] chapter 7 is the case without edges and rows.

use gelenk_model::math::Vec3;

use super::small::{
    Block, Six, add, carry, dot, invert, shift_velocity, shift_wrench, times, times_x, x_times,
};
use super::tree::{Node, Rider, Tree, WORLD};
use crate::lanes::F as Four;

/// Weights along the free directions of a node.
pub(super) type Along = [[f64; 6]; 6];

/// One node's part of the factor.
#[derive(Clone, Debug)]
struct Front {
    /// Columns of U.
    u: [Six; 6],
    /// Rows of G.
    g: [Six; 6],
    d_inv: Along,
    /// Its edges among all.
    first: usize,
    n: usize,
    /// Where the blocks (k, l) of its edges are listed.
    pairs: usize,
}

/// An edge of a node when it leaves.
#[derive(Clone, Debug)]
struct Edge {
    node: usize,
    /// Blocks H_ik, H_ki, and H_pk, H_kp.
    ik: usize,
    ki: usize,
    pk: usize,
    kp: usize,
    /// Columns of C, rows of G.
    c: [Six; 6],
    g: [Six; 6],
}

/// The factor and its pattern.
#[derive(Clone, Debug, Default)]
pub(super) struct Factor {
    /// Nodes as they leave.
    order: Vec<usize>,
    fronts: Vec<Front>,
    edges: Vec<Edge>,
    /// Blocks H_kl of all pairs of edges, node by node.
    pairs: Vec<usize>,
    /// H: diagonal blocks first.
    pub h: Vec<Block>,
    /// W, its first f rows and columns; the others are 0. (n nodes)
    pub along: Vec<Along>,
    /// Whether H of a node may not be symmetric.
    pub skew: Vec<bool>,
    /// Where H_ab of linked nodes is: (a, b, block), ordered.
    links: Vec<(usize, usize, usize)>,
    /// The links and nodes it was made for.
    known: (Vec<(usize, usize)>, Vec<usize>),
    /// What each node left to its parent, Xᵀ(H − U G)X.
    rest: Vec<Block>,
    z: Vec<Six>,
}

impl Factor {
    /// The pattern for `nodes` of the tree (ascending, with all that carry them) with further edges between pairs of them (a < b, ordered, each once); kept while
    /// they are the same.
    pub(super) fn fit(&mut self, tree: &Tree, nodes: &[usize], links: &[(usize, usize)]) {
        let n = tree.nodes.len();
        if self.fronts.len() == n && self.known.0 == links && self.known.1 == nodes {
            return;
        }
        self.known.0.clear();
        self.known.0.extend_from_slice(links);
        self.known.1.clear();
        self.known.1.extend_from_slice(nodes);
        self.rest.clear();
        self.rest.resize(n, [[0.0; 6]; 6]);
        self.along.clear();
        self.along.resize(n, [[0.0; 6]; 6]);
        self.skew.clear();
        self.skew.resize(n, false);
        self.z.clear();
        self.z.resize(n, [0.0; 6]);
        self.links.clear();
        self.edges.clear();
        self.pairs.clear();
        self.order.clear();
        self.fronts.clear();
        self.fronts.resize(
            n,
            Front {
                u: [[0.0; 6]; 6],
                g: [[0.0; 6]; 6],
                d_inv: [[0.0; 6]; 6],
                first: 0,
                n: 0,
                pairs: 0,
            },
        );
        let mut near: Vec<Vec<(usize, usize)>> = vec![Vec::new(); n];
        let mut blocks = n;
        for &(a, b) in links {
            link(&mut near, a, b, &mut blocks);
            self.links.push((a, b, block(&near, a, b)));
            self.links.push((b, a, block(&near, b, a)));
        }
        self.links.sort_unstable();
        let mut children = vec![0_usize; n];
        for node in nodes.iter().map(|&i| &tree.nodes[i]).filter(|node| node.parent != WORLD) {
            children[node.parent] += 1;
        }
        let mut open: Vec<usize> =
            nodes.iter().rev().copied().filter(|i| children[*i] == 0).collect();
        while let Some(at) = (0..open.len()).min_by_key(|&at| near[open[at]].len()) {
            let i = open.remove(at);
            let parent = tree.nodes[i].parent;
            let own = std::mem::take(&mut near[i]);
            for &(k, _) in &own {
                near[k].retain(|&(other, _)| other != i);
            }
            let front = &mut self.fronts[i];
            (front.first, front.n, front.pairs) = (self.edges.len(), own.len(), self.pairs.len());
            self.order.push(i);
            for &(k, _) in &own {
                if parent != WORLD && k != parent {
                    link(&mut near, parent, k, &mut blocks);
                }
                for &(l, _) in own.iter().filter(|(l, _)| *l > k) {
                    link(&mut near, k, l, &mut blocks);
                }
            }
            for &(k, ik) in &own {
                let to_parent = |a, b| if parent == WORLD { 0 } else { block(&near, a, b) };
                let (pk, kp) = (to_parent(parent, k), to_parent(k, parent));
                let ki = n + ((ik - n) ^ 1); // blocks of a pair follow each other
                let c = [[0.0; 6]; 6];
                self.edges.push(Edge { node: k, ik, ki, pk, kp, c, g: c });
                for &(l, _) in &own {
                    self.pairs.push(block(&near, k, l));
                }
            }
            if parent != WORLD {
                children[parent] -= 1;
                if children[parent] == 0 {
                    open.push(parent);
                }
            }
        }
        self.h.clear();
        self.h.resize(blocks, [[0.0; 6]; 6]);
    }

    /// H = M and W = I ρ ρᵀ of riders, of the whole tree.
    pub(super) fn begin(&mut self, tree: &Tree) {
        for ((node, h), along) in tree.nodes.iter().zip(&mut self.h).zip(&mut self.along) {
            *h = mass_matrix(node);
            along.iter_mut().take(node.f).for_each(|row| row[..node.f].fill(0.0));
        }
        for Rider { on, ratio, inertia, .. } in &tree.riders {
            let along = &mut self.along[*on];
            for x in 0..6 {
                (0..6).for_each(|y| along[x][y] += inertia * ratio[x] * ratio[y]);
            }
        }
        self.skew.fill(false);
    }

    /// H of nodes alone in the factor of the tree: their mass, and what of it hangs on them that is not among them.
    pub(super) fn bare(&self, tree: &Tree, nodes: &[usize], inside: &[bool], h: &mut [Block]) {
        for &i in nodes {
            h[i] = mass_matrix(&tree.nodes[i]);
        }
        if nodes.len() == self.order.len() {
            return;
        }
        for &i in self.order.iter().filter(|i| !inside[**i]) {
            if let Some(h) =
                h.get_mut(tree.nodes[i].parent).filter(|_| inside[tree.nodes[i].parent])
            {
                add(h, &self.rest[i]);
            }
        }
    }

    /// H and W of its nodes as in the factor `base` of the tree, no more.
    pub(super) fn begin_from(&mut self, tree: &Tree, base: &Factor, bare: &[Block]) {
        for &i in &self.order {
            self.h[i] = bare[i];
            let rows = self.along[i].iter_mut().zip(&base.along[i]);
            rows.take(tree.nodes[i].f).for_each(|(row, from)| *row = *from);
            self.skew[i] = false;
        }
        self.h[bare.len()..].fill([[0.0; 6]; 6]);
    }

    /// The block of two linked nodes, or of one.
    pub(super) fn place(&self, a: usize, b: usize) -> usize {
        if a == b {
            return a;
        }
        match self.links.binary_search_by_key(&(a, b), |&(a, b, _)| (a, b)) {
            Ok(at) => self.links[at].2,
            Err(_) => a,
        }
    }

    /// Eliminates; false where a number is not finite.
    pub(super) fn eliminate(&mut self, tree: &Tree) -> bool {
        for at in 0..self.order.len() {
            let i = self.order[at];
            let node = &tree.nodes[i];
            let done = match node.f {
                0 => self.leave::<0>(i, node),
                1 => self.leave::<1>(i, node),
                2 => self.leave::<2>(i, node),
                3 => self.leave::<3>(i, node),
                4 => self.leave::<4>(i, node),
                5 => self.leave::<5>(i, node),
                _ => self.leave::<6>(i, node),
            };
            if !done {
                return false;
            }
        }
        true
    }

    fn leave<const F: usize>(&mut self, i: usize, node: &Node) -> bool {
        let Factor { fronts, edges, pairs, h: blocks, along, skew, rest: left_over, .. } = self;
        let front = &mut fronts[i];
        let Front { u, g, d_inv, .. } = front;
        let (before, after) = blocks.split_at_mut(i);
        let h = &mut after[0];
        let mut left = [[0.0; 6]; F];
        for k in 0..F {
            left[k] = row_times(&node.s[k], h);
            u[k] = if skew[i] { times(h, &node.s[k]) } else { left[k] };
        }
        let mut d = [[0.0; F]; F];
        for k in 0..F {
            for l in 0..F {
                d[k][l] = dot(&node.s[k], &u[l]) + along[i][k][l];
            }
        }
        let Some(inverse) = invert(&d) else { return false };
        for k in 0..F {
            d_inv[k][..F].copy_from_slice(&inverse[k]);
            g[k] = product(&inverse[k], &left);
        }
        if node.parent != WORLD {
            subtract::<F>(h, u, g);
            let rest = times_x(&x_times(h, &node.r), &node.r);
            add(&mut before[node.parent], &rest);
            left_over[i] = rest;
            skew[node.parent] |= skew[i];
        }
        if front.n == 0 {
            return true;
        }
        let own = &mut edges[front.first..front.first + front.n];
        for edge in own.iter_mut() {
            let (ik, ki) = (&blocks[edge.ik], &blocks[edge.ki]);
            let mut side = [[0.0; 6]; F];
            for k in 0..F {
                edge.c[k] = times(ki, &node.s[k]);
                side[k] = row_times(&node.s[k], ik);
            }
            for k in 0..F {
                edge.g[k] = product(&inverse[k], &side);
            }
        }
        if node.parent != WORLD {
            for edge in &*own {
                let mut rest = blocks[edge.ik];
                subtract::<F>(&mut rest, u, &edge.g);
                add(&mut blocks[edge.pk], &x_times(&rest, &node.r));
                let mut rest = blocks[edge.ki];
                subtract::<F>(&mut rest, &edge.c, g);
                add(&mut blocks[edge.kp], &times_x(&rest, &node.r));
            }
        }
        for (a, one) in own.iter().enumerate() {
            skew[one.node] |= skew[i];
            for (b, other) in own.iter().enumerate() {
                subtract::<F>(
                    &mut blocks[pairs[front.pairs + a * own.len() + b]],
                    &one.c,
                    &other.g,
                );
            }
        }
        true
    }

    /// Solves for the wrenches `r` on bodies and the forces `along` free directions: velocities and rates of the free directions, of the whole tree.
    pub(super) fn solve(
        &mut self,
        tree: &Tree,
        r: &mut [Six],
        along: &mut [Six],
        v: &mut [Six],
        q: &mut [Six],
    ) {
        for Rider { node, on, ratio, .. } in &tree.riders {
            let push = dot(&tree.nodes[*node].s[0], &r[*node]) + along[*node][0];
            (0..6).for_each(|k| along[*on][k] += ratio[k] * push);
        }
        let order = std::mem::take(&mut self.order);
        self.solve_in(&order, tree, r, along, v, q);
        self.order = order;
        for Rider { node, on, ratio, .. } in &tree.riders {
            let rate = dot(ratio, &q[*on]);
            q[*node] = [rate, 0.0, 0.0, 0.0, 0.0, 0.0];
            v[*node] = tree.nodes[*node].s[0].map(|s| s * rate);
        }
    }

    /// The same of its own nodes.
    pub(super) fn solve_own(
        &mut self,
        tree: &Tree,
        r: &mut [Six],
        along: &mut [Six],
        v: &mut [Six],
        q: &mut [Six],
    ) {
        let order = std::mem::take(&mut self.order);
        self.solve_in(&order, tree, r, along, v, q);
        self.order = order;
    }

    /// The same of some nodes, in the order in which they leave, with all that carry them; nothing acts on the others.
    pub(super) fn solve_in(
        &mut self,
        order: &[usize],
        tree: &Tree,
        r: &mut [Six],
        along: &[Six],
        v: &mut [Six],
        q: &mut [Six],
    ) {
        let Factor { fronts, edges, z, .. } = self;
        for &i in order {
            let (node, front) = (&tree.nodes[i], &fronts[i]);
            z[i] = match node.f {
                0 => down::<0>(i, node, front, edges, r, &along[i]),
                1 => down::<1>(i, node, front, edges, r, &along[i]),
                2 => down::<2>(i, node, front, edges, r, &along[i]),
                3 => down::<3>(i, node, front, edges, r, &along[i]),
                4 => down::<4>(i, node, front, edges, r, &along[i]),
                5 => down::<5>(i, node, front, edges, r, &along[i]),
                _ => down::<6>(i, node, front, edges, r, &along[i]),
            };
        }
        for &i in order.iter().rev() {
            let (node, front) = (&tree.nodes[i], &fronts[i]);
            (v[i], q[i]) = match node.f {
                0 => up::<0>(node, front, edges, v, &z[i]),
                1 => up::<1>(node, front, edges, v, &z[i]),
                2 => up::<2>(node, front, edges, v, &z[i]),
                3 => up::<3>(node, front, edges, v, &z[i]),
                4 => up::<4>(node, front, edges, v, &z[i]),
                5 => up::<5>(node, front, edges, v, &z[i]),
                _ => up::<6>(node, front, edges, v, &z[i]),
            };
        }
    }

    /// [`solve`](Factor::solve) of a tree without edges for four loads at a time, over the nodes of `closure`, parents first, of which node i is
    /// `inside[i]`: wrenches in `r`, forces along free directions in `z`, both 0 where `loaded` is not; velocities where `asked`.
    pub(super) fn solve_four(
        &self,
        tree: &Tree,
        closure: &[usize],
        inside: &[usize],
        [loaded, asked]: [&[bool]; 2],
        r: &mut [[Four; 6]],
        z: &mut [[Four; 6]],
        v: &mut [[Four; 6]],
        q: &mut [[Four; 6]],
    ) {
        for (at, &i) in closure.iter().enumerate().rev().filter(|(at, _)| loaded[*at]) {
            let (node, front) = (&tree.nodes[i], &self.fronts[i]);
            let rest = match node.f {
                0 => r[at],
                1 => down_four::<1>(node, front, &r[at], &mut z[at]),
                2 => down_four::<2>(node, front, &r[at], &mut z[at]),
                3 => down_four::<3>(node, front, &r[at], &mut z[at]),
                4 => down_four::<4>(node, front, &r[at], &mut z[at]),
                5 => down_four::<5>(node, front, &r[at], &mut z[at]),
                _ => down_four::<6>(node, front, &r[at], &mut z[at]),
            };
            if node.parent != WORLD {
                let to = &mut r[inside[node.parent]];
                let [x, y, w] = [node.r.x, node.r.y, node.r.z].map(Four::splat);
                let turn = [
                    y * rest[2] - w * rest[1],
                    w * rest[0] - x * rest[2],
                    x * rest[1] - y * rest[0],
                ];
                for k in 0..3 {
                    to[k] += rest[k];
                    to[3 + k] += rest[3 + k] + turn[k];
                }
            }
        }
        for (at, &i) in closure.iter().enumerate().filter(|(at, _)| asked[*at]) {
            let (node, front) = (&tree.nodes[i], &self.fronts[i]);
            let mut own = [Four::ZERO; 6];
            if node.parent != WORLD {
                let up = &v[inside[node.parent]];
                let [x, y, w] = [node.r.x, node.r.y, node.r.z].map(Four::splat);
                own = *up;
                own[0] += up[4] * w - up[5] * y;
                own[1] += up[5] * x - up[3] * w;
                own[2] += up[3] * y - up[4] * x;
            }
            (v[at], q[at]) = match node.f {
                0 => (own, [Four::ZERO; 6]),
                1 => up_four::<1>(node, front, &own, &z[at]),
                2 => up_four::<2>(node, front, &own, &z[at]),
                3 => up_four::<3>(node, front, &own, &z[at]),
                4 => up_four::<4>(node, front, &own, &z[at]),
                5 => up_four::<5>(node, front, &own, &z[at]),
                _ => up_four::<6>(node, front, &own, &z[at]),
            };
        }
    }

    /// Diagonal blocks of the inverse, of a tree without edges, for nodes where `wanted`, in `bodies`, and of its free directions, in `rates`:
    ///
    /// ```text
    /// Y = X G_pp Xᵀ,   G_ii = (1 − S G) Y (1 − S G)ᵀ + S D⁻¹ Sᵀ,   of q̇: D⁻¹ + G Y Gᵀ
    /// ```
    pub(super) fn inverse(
        &self,
        tree: &Tree,
        wanted: &[bool],
        bodies: &mut [Block],
        rates: &mut [Along],
    ) {
        for i in (0..tree.nodes.len()).filter(|&i| wanted[i]) {
            let (node, front) = (&tree.nodes[i], &self.fronts[i]);
            (bodies[i], rates[i]) = match node.f {
                0 => inverse_of::<0>(node, front, bodies),
                1 => inverse_of::<1>(node, front, bodies),
                2 => inverse_of::<2>(node, front, bodies),
                3 => inverse_of::<3>(node, front, bodies),
                4 => inverse_of::<4>(node, front, bodies),
                5 => inverse_of::<5>(node, front, bodies),
                _ => inverse_of::<6>(node, front, bodies),
            };
        }
    }
}

/// A node leaves with its load: z = D⁻¹ (Sᵀ r + r_q), and what is left goes on to its parent and its edges.
#[inline(always)]
fn down<const F: usize>(
    i: usize,
    node: &Node,
    front: &Front,
    edges: &[Edge],
    r: &mut [Six],
    along: &Six,
) -> Six {
    let mut rest = r[i];
    let mut y = [0.0; F];
    for k in 0..F {
        y[k] = dot(&node.s[k], &rest) + along[k];
    }
    let mut z = [0.0; 6];
    for k in 0..F {
        for l in 0..F {
            z[k] += front.d_inv[k][l] * y[l];
        }
    }
    if node.parent != WORLD {
        for k in 0..F {
            (0..6).for_each(|j| rest[j] -= front.u[k][j] * z[k]);
        }
        let rest = shift_wrench(&rest, &node.r);
        let to = &mut r[node.parent];
        (0..6).for_each(|j| to[j] += rest[j]);
    }
    for edge in &edges[front.first..front.first + front.n] {
        let to = &mut r[edge.node];
        for k in 0..F {
            (0..6).for_each(|j| to[j] -= edge.c[k][j] * z[k]);
        }
    }
    z
}

/// A node comes back: q̇ = z − G X v_p − Σ G_k v_k, v = X v_p + S q̇.
#[inline(always)]
fn up<const F: usize>(
    node: &Node,
    front: &Front,
    edges: &[Edge],
    v: &[Six],
    z: &Six,
) -> (Six, Six) {
    let mut rate = *z;
    let mut own = [0.0; 6];
    if node.parent != WORLD {
        own = shift_velocity(&v[node.parent], &node.r);
        for k in 0..F {
            rate[k] -= dot(&front.g[k], &own);
        }
    }
    for edge in &edges[front.first..front.first + front.n] {
        let other = &v[edge.node];
        for k in 0..F {
            rate[k] -= dot(&edge.g[k], other);
        }
    }
    for k in 0..F {
        (0..6).for_each(|j| own[j] += node.s[k][j] * rate[k]);
    }
    (own, rate)
}

/// [`down`] for four loads at a time, whose forces along free directions become z; what is left for the parent.
#[inline(always)]
fn down_four<const N: usize>(
    node: &Node,
    front: &Front,
    r: &[Four; 6],
    z: &mut [Four; 6],
) -> [Four; 6] {
    let mut y = [Four::ZERO; N];
    for k in 0..N {
        y[k] = z[k];
        (0..6).for_each(|j| y[k] += Four::splat(node.s[k][j]) * r[j]);
    }
    let mut rest = *r;
    for k in 0..N {
        z[k] = Four::ZERO;
        (0..N).for_each(|l| z[k] += Four::splat(front.d_inv[k][l]) * y[l]);
    }
    for k in 0..N {
        (0..6).for_each(|j| rest[j] -= Four::splat(front.u[k][j]) * z[k]);
    }
    rest
}

/// [`up`] for four loads at a time, from X v_p.
#[inline(always)]
fn up_four<const N: usize>(
    node: &Node,
    front: &Front,
    carried: &[Four; 6],
    z: &[Four; 6],
) -> ([Four; 6], [Four; 6]) {
    let (mut own, mut rate) = (*carried, [Four::ZERO; 6]);
    for k in 0..N {
        rate[k] = z[k];
        (0..6).for_each(|j| rate[k] -= Four::splat(front.g[k][j]) * carried[j]);
    }
    for k in 0..N {
        (0..6).for_each(|j| own[j] += Four::splat(node.s[k][j]) * rate[k]);
    }
    (own, rate)
}

/// One node's blocks of the inverse.
#[inline(always)]
fn inverse_of<const F: usize>(node: &Node, front: &Front, bodies: &[Block]) -> (Block, Along) {
    let mut own = [[0.0; 6]; 6];
    let mut rate = front.d_inv;
    if node.parent != WORLD {
        own = carry(&bodies[node.parent], &node.r);
        let mut t = [[0.0; 6]; F]; // rows of G Y
        for k in 0..F {
            t[k] = row_times(&front.g[k], &own);
        }
        for k in 0..F {
            for l in 0..F {
                rate[k][l] += dot(&front.g[k], &t[l]);
            }
        }
        for k in 0..F {
            for a in 0..6 {
                for b in 0..6 {
                    own[a][b] -= node.s[k][a] * t[k][b] + t[k][a] * node.s[k][b];
                }
            }
        }
    }
    for k in 0..F {
        let mut w = [0.0; 6];
        for l in 0..F {
            (0..6).for_each(|b| w[b] += rate[k][l] * node.s[l][b]);
        }
        for a in 0..6 {
            (0..6).for_each(|b| own[a][b] += node.s[k][a] * w[b]);
        }
    }
    (own, rate)
}

/// sᵀ H.
#[inline(always)]
fn row_times(s: &Six, h: &Block) -> Six {
    let mut sum = [0.0; 6];
    for (s, row) in s.iter().zip(h) {
        (0..6).for_each(|j| sum[j] += s * row[j]);
    }
    sum
}

/// H −= C G, columns of C and rows of G.
#[inline(always)]
fn subtract<const F: usize>(h: &mut Block, c: &[Six; 6], g: &[Six; 6]) {
    for k in 0..F {
        for a in 0..6 {
            for b in 0..6 {
                h[a][b] -= c[k][a] * g[k][b];
            }
        }
    }
}

/// Σ_k a_k b_k.
#[inline(always)]
fn product<const F: usize>(a: &[f64; F], b: &[Six; F]) -> Six {
    let mut sum = [0.0; 6];
    for k in 0..F {
        (0..6).for_each(|j| sum[j] += a[k] * b[k][j]);
    }
    sum
}

/// Makes nodes a and b neighbours with two new blocks, unless they are.
fn link(near: &mut [Vec<(usize, usize)>], a: usize, b: usize, blocks: &mut usize) {
    if near[a].iter().all(|(other, _)| *other != b) {
        near[a].push((b, *blocks));
        near[b].push((a, *blocks + 1));
        *blocks += 2;
    }
}

fn block(near: &[Vec<(usize, usize)>], a: usize, b: usize) -> usize {
    if a == b {
        return a;
    }
    near[a].iter().find(|(other, _)| *other == b).map_or(a, |(_, block)| *block)
}

/// M of a body about its centre.
fn mass_matrix(node: &Node) -> Block {
    let mut h = [[0.0; 6]; 6];
    for k in 0..3 {
        h[k][k] = node.mass;
        for l in 0..3 {
            h[3 + k][3 + l] = node.inertia[(k, l)];
        }
    }
    h
}

/// The wrench of a body's momentum, M v.
pub(super) fn momentum(node: &Node, v: &Six) -> Six {
    let turn = node.inertia * Vec3::new(v[3], v[4], v[5]);
    [node.mass * v[0], node.mass * v[1], node.mass * v[2], turn.x, turn.y, turn.z]
}
