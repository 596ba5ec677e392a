//! The spanning tree of a machine: every body that moves is a node, held by one joint or by none.
//!
//! With the child's part J_c of a joint's rows (the parent's is −J_c X, since joints feel relative motion alone),
//!
//! ```text
//! v_c = X v_p + S q̇ + T e,    J_c S = 0,  J_c T = 1,    J_p v_p + J_c v_c = e
//! ```
//! S holds the free directions (6 × f), T closes gaps, X carries a velocity from the parent's centre to the child's. Both come from J_c
//! alone, so that any joint has them.

use gelenk_model::math::{Mat3, Vec3};

use super::factor::momentum;
use super::small::{Six, dot, shift_velocity};
use crate::bounds::{Bound, Mode};
use crate::rows::Rows;
use crate::scratch::Bodies;

/// No node: the fixed world.
pub(super) const WORLD: usize = usize::MAX;

/// Below this part of their size, what a row adds to the others of its joint counts as nothing: they depend on each other.
const DEPENDENT: f64 = 1e-10;

/// A body that moves.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub body: usize,
    /// Node of the parent, or [`WORLD`].
    pub parent: usize,
    /// Block of the joint to the parent, and which of its bodies this is; none: the body is free.
    pub joint: Option<(usize, usize)>,
    /// Free directions: 6 less the rows of the joint.
    pub f: usize,
    /// From the parent's centre to this one, m.
    pub r: Vec3,
    /// Mass, kg, and inertia about the centre, world frame, kg m².
    pub mass: f64,
    pub inertia: Mat3,
    /// Columns of S.
    pub s: [Six; 6],
    /// Columns of T, one for each row.
    pub t: [Six; 6],
}

/// A wheel in a bearing of the world that turns with a joint: the rotor of a motor, or any leaf with one free direction on which nothing but a gear acts.
/// Its rate follows that of the joint, so it is no unknown: its inertia stands in the row of the joint.
///
/// ```text
/// g_r q̇_r + g·q̇ = e  (the gear's row),   q̇_r = ρ·q̇ + e/g_r,   ρ = −g/g_r,   W += I ρ ρᵀ,   I = SᵀM S
/// ```
#[derive(Clone, Debug)]
pub(super) struct Rider {
    pub node: usize,
    /// The node whose free directions it follows.
    pub on: usize,
    /// Block of the gear.
    pub gear: usize,
    /// g_r, ρ and I at the poses.
    pub g: f64,
    pub ratio: Six,
    pub inertia: f64,
}

/// All of them, parents before children.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    pub nodes: Vec<Node>,
    pub riders: Vec<Rider>,
    /// The node of each body, or [`WORLD`]. (n_bodies)
    pub node_of: Vec<usize>,
    /// Whether a block is the joint of a node. (n blocks of the model)
    pub holds: Vec<bool>,
}

impl Tree {
    /// The tree of the joints that are there. Joints with more rows come first, so that few rows are left to close loops.
    pub(super) fn new(rows: &Rows, bodies: &Bodies, is_joint: impl Fn(usize) -> bool) -> Self {
        let n = bodies.fixed.len();
        let mut joints: Vec<usize> = (0..rows.model_size.blocks)
            .filter(|&i| {
                let block = &rows.blocks[i];
                block.bound == Bound::None
                    && is_joint(i)
                    && block.n_bodies == 2
                    && rows.mode[i] != Mode::Off
            })
            .collect();
        joints.sort_by_key(|&i| std::cmp::Reverse(rows.blocks[i].n_rows));
        let pair = |i: usize| {
            let first = rows.blocks[i].first_body;
            [rows.body_list[first], rows.body_list[first + 1]]
        };
        // Sets of bodies that hang together; all fixed ones are one.
        let mut set: Vec<usize> = (0..n).collect();
        let root = |set: &[usize], mut i: usize| {
            while set[i] != i {
                i = set[i];
            }
            i
        };
        if let Some(world) = bodies.fixed.iter().position(|fixed| *fixed) {
            for i in (0..n).filter(|&i| bodies.fixed[i]) {
                set[i] = world;
            }
        }
        let mut chosen: Vec<Vec<usize>> = vec![Vec::new(); n];
        for &i in &joints {
            let [a, b] = pair(i);
            let (ra, rb) = (root(&set, a), root(&set, b));
            if ra != rb {
                set[ra] = rb;
                chosen[a].push(i);
                chosen[b].push(i);
            }
        }
        let mut tree = Tree {
            nodes: Vec::with_capacity(n),
            riders: Vec::new(),
            node_of: vec![WORLD; n],
            holds: vec![false; rows.model_size.blocks],
        };
        // From the fixed bodies outwards, then what is free, the heaviest body of each first.
        let mut starts: Vec<usize> = (0..n).collect();
        starts.sort_by(|&a, &b| {
            let heavy = |i: usize| if bodies.fixed[i] { f64::INFINITY } else { bodies.mass[i] };
            heavy(b).total_cmp(&heavy(a)).then(a.cmp(&b))
        });
        let mut known = vec![false; n];
        let mut queue = std::collections::VecDeque::new();
        for start in starts {
            if known[start] {
                continue;
            }
            known[start] = true;
            if !bodies.fixed[start] {
                tree.add(start, WORLD, None, 6);
            }
            queue.push_back(start);
            while let Some(body) = queue.pop_front() {
                for &i in &chosen[body] {
                    let [a, b] = pair(i);
                    let (slot, other) = if a == body { (1, b) } else { (0, a) };
                    if known[other] || bodies.fixed[other] {
                        continue;
                    }
                    known[other] = true;
                    let parent = tree.node_of[body];
                    tree.add(other, parent, Some((i, slot)), 6 - rows.blocks[i].n_rows);
                    tree.holds[i] = true;
                    queue.push_back(other);
                }
            }
        }
        tree
    }

    /// Takes the wheels that follow a joint by a gear out of the tree. `may_ride` says of a body whether nothing but rows may act on it.
    pub(super) fn find_riders(
        &mut self,
        rows: &Rows,
        bodies: &Bodies,
        is_gear: impl Fn(usize) -> bool,
        may_ride: impl Fn(usize) -> bool,
    ) {
        let list = |i: usize| {
            let block = &rows.blocks[i];
            &rows.body_list[block.first_body..block.first_body + block.n_bodies]
        };
        let model = 0..rows.model_size.blocks;
        let mut acted = vec![0; bodies.fixed.len()];
        for i in model.clone() {
            let own = list(i);
            for (k, &body) in own.iter().enumerate() {
                acted[body] += usize::from(!own[..k].contains(&body));
            }
        }
        let mut leaf = vec![true; self.nodes.len()];
        for node in self.nodes.iter().filter(|node| node.parent != WORLD) {
            leaf[node.parent] = false;
        }
        let rides = |&node: &usize| {
            let Node { body, parent, joint, f, .. } = self.nodes[node];
            leaf[node]
                && parent == WORLD
                && joint.is_some()
                && f == 1
                && acted[body] == 2
                && may_ride(body)
        };
        for gear in model.filter(|&i| {
            rows.blocks[i].n_rows == 1
                && rows.mode[i] != Mode::Off
                && rows.blocks[i].bound == Bound::None
                && is_gear(i)
        }) {
            let mut nodes: Vec<usize> = Vec::new();
            for body in list(gear).iter().filter(|body| !bodies.fixed[**body]) {
                let node = self.node_of[*body];
                if !nodes.contains(&node) {
                    nodes.push(node);
                }
            }
            let Some(at) = nodes.iter().position(rides) else { continue };
            let node = nodes.remove(at);
            let on = match nodes[..] {
                [on] if self.nodes[on].parent == WORLD && self.nodes[on].joint.is_some() => on,
                [a, b] if self.nodes[b].parent == a && self.nodes[b].joint.is_some() => b,
                [a, b] if self.nodes[a].parent == b && self.nodes[a].joint.is_some() => a,
                _ => continue,
            };
            // One that rides carries none.
            if self
                .riders
                .iter()
                .any(|rider| rider.node == node || rider.node == on || rider.on == node)
            {
                continue;
            }
            self.holds[gear] = true;
            self.riders.push(Rider { node, on, gear, g: 1.0, ratio: [0.0; 6], inertia: 0.0 });
        }
    }

    /// The row of a rider's gear on a body's velocity.
    fn gear_row(rows: &Rows, gear: usize, body: usize) -> Six {
        let block = &rows.blocks[gear];
        let list = &rows.body_list[block.first_body..block.first_body + block.n_bodies];
        let mut row = [0.0; 6];
        for (slot, _) in list.iter().enumerate().filter(|(_, other)| **other == body) {
            let part = &rows.jac[block.jac + 6 * slot..][..6];
            (0..6).for_each(|k| row[k] += part[k]);
        }
        row
    }

    fn add(&mut self, body: usize, parent: usize, joint: Option<(usize, usize)>, f: usize) {
        self.node_of[body] = self.nodes.len();
        let mut s = [[0.0; 6]; 6];
        (0..6).for_each(|k| s[k][k] = 1.0);
        self.nodes.push(Node {
            body,
            parent,
            joint,
            f,
            r: Vec3::zeros(),
            mass: 0.0,
            inertia: Mat3::zeros(),
            s,
            t: [[0.0; 6]; 6],
        });
    }

    /// S, T, X and M at the poses of the rows; false where the rows of a joint depend on each other.
    pub(super) fn place(&mut self, rows: &Rows, bodies: &Bodies) -> bool {
        let mut regular = true;
        for i in 0..self.nodes.len() {
            let (body, parent) = (self.nodes[i].body, self.nodes[i].parent);
            let origin = match self.nodes.get(parent) {
                Some(node) => bodies.poses[node.body].s,
                None => bodies.poses[body].s,
            };
            let node = &mut self.nodes[i];
            node.r = bodies.poses[body].s - origin;
            node.mass = bodies.mass[body];
            let rot = &bodies.poses[body].rot;
            let turned = Mat3::from_columns(&[
                rot.column(0) * bodies.inertia[body].x,
                rot.column(1) * bodies.inertia[body].y,
                rot.column(2) * bodies.inertia[body].z,
            ]);
            node.inertia = turned * rot.transpose();
            match node.joint {
                Some((block, slot)) => {
                    let n = rows.blocks[block].n_rows;
                    let jac = &rows.jac[rows.blocks[block].jac..];
                    let mut q = [[0.0; 6]; 6];
                    for (k, row) in q.iter_mut().enumerate().take(n) {
                        row.copy_from_slice(&jac[12 * k + 6 * slot..][..6]);
                    }
                    regular &= free_directions(&q, n, &mut node.s, &mut node.t);
                }
                // Free bodies move along their own axes, so that what has no inertia stands alone.
                None => {
                    for k in 0..3 {
                        node.s[3 + k][3..].copy_from_slice(rot.column(k).as_slice());
                    }
                }
            }
        }
        for at in 0..self.riders.len() {
            let Rider { node, on, gear, .. } = self.riders[at];
            let (own, joint) = (&self.nodes[node], &self.nodes[on]);
            let g = dot(&Self::gear_row(rows, gear, own.body), &own.s[0]);
            let row = Self::gear_row(rows, gear, joint.body);
            let mut ratio = [0.0; 6];
            (0..joint.f).for_each(|k| ratio[k] = -dot(&row, &joint.s[k]) / g);
            let inertia = dot(&own.s[0], &momentum(own, &own.s[0]));
            regular &= g.is_normal();
            let rider = &mut self.riders[at];
            (rider.g, rider.ratio, rider.inertia) = (g, ratio, inertia);
        }
        regular
    }

    /// Velocities that give the rows of the tree's joints the rates `e`, in `v`: v_c = X v_p + T e.
    pub(super) fn close(&self, rows: &Rows, e: &[f64], v: &mut [Six]) {
        for (i, node) in self.nodes.iter().enumerate() {
            let mut own = match v.get(node.parent) {
                Some(parent) => shift_velocity(parent, &node.r),
                None => [0.0; 6],
            };
            if let Some((block, _)) = node.joint {
                let first = rows.blocks[block].first_row;
                for (e, t) in e[first..].iter().zip(&node.t).take(6 - node.f) {
                    (0..6).for_each(|k| own[k] += t[k] * e);
                }
            }
            v[i] = own;
        }
        for Rider { node, gear, g, .. } in &self.riders {
            let block = &rows.blocks[*gear];
            let mut missing = e[block.first_row];
            for (slot, body) in
                rows.body_list[block.first_body..][..block.n_bodies].iter().enumerate()
            {
                if let Some(v) = v.get(self.node_of[*body]) {
                    let row = &rows.jac[block.jac + 6 * slot..][..6];
                    missing -= (0..6).map(|k| row[k] * v[k]).sum::<f64>();
                }
            }
            let s = &self.nodes[*node].s[0];
            (0..6).for_each(|k| v[*node][k] += s[k] * missing / g);
        }
    }

    /// Impulses of the gears of riders, whose bodies have gained the momenta `r`, in their rows; r without them, and what they give to joints.
    pub(super) fn note_gears(
        &self,
        rows: &Rows,
        r: &mut [Six],
        along: &mut [Six],
        impulse: &mut [f64],
    ) {
        for Rider { node, on, gear, g, .. } in &self.riders {
            let p = dot(&self.nodes[*node].s[0], &r[*node]) / g;
            impulse[rows.blocks[*gear].first_row] = p;
            let [own, joint] =
                [*node, *on].map(|i| Self::gear_row(rows, *gear, self.nodes[i].body));
            for k in 0..6 {
                r[*node][k] -= own[k] * p;
                along[*on][k] += joint[k] * p;
            }
        }
    }
}

/// S and T of n rows J; false where rows depend on each other. Rows that tell of turns alone are [0 K], the others [U C] with independent U: so are those of
/// all joints. With U⁺ U = 1 across what no row of U sees, and K⁺ likewise,
///
/// ```text
/// S = [−U⁺C w; w] for all w with K w = 0,  [d; 0] for all d with U d = 0
/// T = [U⁺; 0] for rows of U,  [−U⁺C K⁺; K⁺] for those of K
/// ```
fn free_directions(rows: &[Six; 6], n: usize, s: &mut [Six; 6], t: &mut [Six; 6]) -> bool {
    let part = |row: &Six, at: usize| Vec3::new(row[at], row[at + 1], row[at + 2]);
    let (mut turns, mut places) = ([(0, Vec3::zeros()); 6], [(0, Vec3::zeros()); 6]);
    let [mut k, mut m] = [0; 2];
    for (i, row) in rows.iter().enumerate().take(n) {
        let u = part(row, 0);
        if u == Vec3::zeros() {
            turns[k] = (i, part(row, 3));
            k += 1;
        } else {
            places[m] = (i, u);
            m += 1;
        }
    }
    let (Some(turn), Some(place)) = (Across::of(&turns[..k]), Across::of(&places[..m])) else {
        return false;
    };
    let with = |w: &Vec3| {
        let mut d = Vec3::zeros();
        for ((i, _), u) in places[..m].iter().zip(&place.dual) {
            d -= u * part(&rows[*i], 3).dot(w);
        }
        [d.x, d.y, d.z, w.x, w.y, w.z]
    };
    for (s, w) in s.iter_mut().zip(&turn.null[..3 - k]) {
        *s = with(w);
    }
    for (s, d) in s[3 - k..].iter_mut().zip(&place.null[..3 - m]) {
        *s = [d.x, d.y, d.z, 0.0, 0.0, 0.0];
    }
    for ((i, _), w) in turns[..k].iter().zip(&turn.dual) {
        t[*i] = with(w);
    }
    for ((i, _), u) in places[..m].iter().zip(&place.dual) {
        t[*i] = [u.x, u.y, u.z, 0.0, 0.0, 0.0];
    }
    true
}

/// For up to three independent vectors: those with v_i·dual_j = δ_ij in the space that they span, and unit vectors across it.
#[derive(Default)]
struct Across {
    dual: [Vec3; 3],
    null: [Vec3; 3],
}

impl Across {
    /// None where vectors depend on each other, or where there are too many.
    fn of(vectors: &[(usize, Vec3)]) -> Option<Across> {
        let mut own = Across::default();
        match vectors {
            [] => own.null = [Vec3::x(), Vec3::y(), Vec3::z()],
            [(_, a)] => {
                let size = a.norm_squared();
                if !size.is_normal() {
                    return None;
                }
                own.dual[0] = a / size;
                let u = a.cross(&Vec3::ith(a.iamin(), 1.0)).normalize();
                (own.null[0], own.null[1]) = (u, a.cross(&u) / size.sqrt());
            }
            [(_, a), (_, b)] => {
                let n = a.cross(b);
                let (size, largest) = (n.norm_squared(), a.norm_squared().max(b.norm_squared()));
                if !(size > (DEPENDENT * largest) * (DEPENDENT * largest) && size.is_finite()) {
                    return None;
                }
                (own.dual[0], own.dual[1]) = (b.cross(&n) / size, n.cross(a) / size);
                own.null[0] = n / size.sqrt();
            }
            [(_, a), (_, b), (_, c)] => {
                let across = [b.cross(c), c.cross(a), a.cross(b)];
                let size = a.dot(&across[0]);
                let largest = a.norm_squared().max(b.norm_squared()).max(c.norm_squared());
                if !(size.abs() > DEPENDENT * largest * largest.sqrt() && size.is_finite()) {
                    return None;
                }
                own.dual = across.map(|v| v / size);
            }
            _ => return None,
        }
        Some(own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// J S = 0 and J T = 1 for rows of turns and of places, as many as there may be of each.
    #[test]
    fn free_directions_leave_the_rows_alone() {
        let mut seed = 1_u64;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
        };
        for (turns, places) in (0..=3).flat_map(|k| (0..=3).map(move |m| (k, m))) {
            let n = turns + places;
            let mut j = [[0.0; 6]; 6];
            j.iter_mut().take(n).flatten().for_each(|x| *x = next());
            j.iter_mut().take(turns).for_each(|row| row[..3].fill(0.0));
            let (mut s, mut t) = ([[0.0; 6]; 6], [[0.0; 6]; 6]);
            assert!(free_directions(&j, n, &mut s, &mut t));
            for i in 0..n {
                let dot = |c: &Six| (0..6).map(|k| j[i][k] * c[k]).sum::<f64>();
                s.iter().take(6 - n).for_each(|c| assert!(dot(c).abs() < 1e-14));
                for (k, c) in t.iter().enumerate().take(n) {
                    let wanted = if i == k { 1.0 } else { 0.0 };
                    assert!((dot(c) - wanted).abs() < 1e-12, "{n} {i} {k} {}", dot(c));
                }
            }
            // As many directions as there are: none of them is left out or there twice.
            let span =
                nalgebra::DMatrix::from_fn(6, 6, |x, y| if y < n { t[y][x] } else { s[y - n][x] });
            assert!(span.determinant().abs() > 1e-3, "{turns} {places}");
        }
        let same = [[0.0, 0.0, 0.0, 1.0, 2.0, 3.0]; 6];
        assert!(!free_directions(&same, 2, &mut [[0.0; 6]; 6], &mut [[0.0; 6]; 6]));
    }
}
