//! The factor of a tree, four bodies at a time.
//!
//! Bodies are eliminated from the leaves. With A the mass of a body and all that hangs on it, J and J_p the rows of its joint for the body
//! and for the one it hangs on:
//!
//! ```text
//! A = L Lᵀ,   Y = J L⁻ᵀ,   S = Y Yᵀ + diag c = N Nᵀ,   Z = N⁻¹ J_p,   A_p += Zᵀ Z
//! ```
//! c is 0 for the rows of a joint. A damper d along a joint coordinate W is one more row: with the impulse σ = −(W v + e)/c, c = 1/(d h/2).
//! Impulses b on the bodies and errors e of the rows have the velocities v and impulses p with A v = b + Jᵀ p, J v + e + c p = 0:
//!
//! ```text
//! w = L⁻¹ b,   q = N⁻¹ (e + Y w),   b_p −= Zᵀ q;          then   p = −N⁻ᵀ (q + Z v_p),   v = L⁻ᵀ (w + Yᵀ p)
//! ```
//! and b₁·v₂ = Σ (w₁·w₂ − q₁·q₂) over the bodies. \[Featherstone 2008\] has the same elimination with joint coordinates.
#![expect(clippy::inline_always, reason = "small kernels in hot loops")]

use std::array::from_fn;

use wide::f64x4;

use super::pattern::{LANES, MOST, NOWHERE, Pattern};
use super::touches::Step;
use crate::lanes::less;
use crate::rows::Rows;
use crate::scratch::Bodies;

type F = f64x4;

/// A number of each body of a group.
pub(super) type Four = [f64; LANES];

/// Six numbers of each body.
pub(super) type Sixes = [Four; 6];

/// A matrix of 6 × 6 of each body, row after row.
type Matrix = [Sixes; 6];

const ZERO: Matrix = [[[0.0; LANES]; 6]; 6];

/// A pivot below this part of its diagonal is none.
const WEAK: f64 = 1e-11;

/// Numbers of a group: L, N and Y column after column, Z row after row; triangles have inverted diagonals.
#[derive(Clone, Debug)]
struct Group {
    l: Matrix,
    y: Matrix,
    n: Matrix,
    z: Matrix,
}

/// What a group is made of: masses (lower triangles), the rows of the joints, and c.
#[derive(Clone, Debug)]
struct Input {
    mass: Matrix,
    jac: Matrix,
    up: Matrix,
    c: Sixes,
}

/// A damper along a joint coordinate: a row W for the body and the one it hangs on, and d h/2.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Soft {
    pub own: [f64; 6],
    pub other: [f64; 6],
    pub weight: f64,
}

/// The factor and the vectors of a solve.
#[derive(Clone, Debug)]
pub(super) struct Factor {
    groups: Vec<Group>,
    inputs: Vec<Input>,
    /// b, then v.
    pub b: Vec<Sixes>,
    pub w: Vec<Sixes>,
    pub q: Vec<Sixes>,
    /// e, then p; rows of the joint first, then its dampers.
    pub p: Vec<Sixes>,
}

/// What contacts ask of an elimination. `climb_columns`, `respond`, `rate` and `push` share what a step holds.
pub(super) trait Elimination {
    /// Rows on a body, about its centre, as they begin at its node.
    fn enter(&self, node: usize, b: &mut [F; 6]);
    /// One body's way up for four columns b at once: w and q of the step, and b of the one it hangs on.
    fn climb_columns(&self, node: usize, b: &[F; 6]) -> ([F; 6], [F; 6], [F; 6]);
    /// Adds the part of b₁·H⁻¹ b₂ of one node, for each row of `own` with all of `other`.
    fn respond(&self, own: &Step, other: &Step, sums: &mut [F; LANES]);
    /// Whether ways end at a node with steps that respond by w₁·w₂ alone.
    fn ends_at(&self, _node: usize) -> bool {
        false
    }
    /// The part of b·v of one node after a way up.
    fn rate(&self, step: &Step) -> F;
    /// Adds what impulses p of the rows do on the way up.
    fn push(&mut self, step: &Step, p: F);
}

#[inline(always)]
fn f(x: &Four) -> F {
    F::new(*x)
}

impl Factor {
    pub(super) fn new(pattern: &Pattern) -> Self {
        let n = pattern.nodes.len() / LANES;
        let none = Group { l: ZERO, y: ZERO, n: ZERO, z: ZERO };
        // Lanes without a body stay as they are here: mass 1, no joint.
        let mut mass = ZERO;
        for k in 0..6 {
            mass[k][k] = [1.0; LANES];
        }
        let mut inputs = vec![Input { mass, jac: ZERO, up: ZERO, c: [[0.0; LANES]; 6] }; n];
        for (i, node) in pattern.nodes.iter().enumerate() {
            for a in node.rows.len()..MOST {
                inputs[i / LANES].c[a][i % LANES] = 1.0;
            }
        }
        Factor {
            groups: vec![none; n],
            inputs,
            b: vec![[[0.0; LANES]; 6]; n],
            w: vec![[[0.0; LANES]; 6]; n],
            q: vec![[[0.0; LANES]; 6]; n],
            p: vec![[[0.0; LANES]; 6]; n],
        }
    }

    /// Factorizes at the poses of the rows, with the dampers of each node; false where that is (nearly) singular.
    pub(super) fn make<'a>(
        &mut self,
        pattern: &Pattern,
        rows: &Rows,
        bodies: &Bodies,
        soft: impl Fn(usize) -> &'a [Soft],
    ) -> bool {
        for (i, node) in pattern.nodes.iter().enumerate() {
            let (input, lane) = (&mut self.inputs[i / LANES], i % LANES);
            if node.body == NOWHERE {
                continue; // as it was made
            }
            let (rot, inertia) = (&bodies.poses[node.body].rot, &bodies.inertia[node.body]);
            for k in 0..3 {
                for m in 0..3 {
                    input.mass[k][m][lane] = 0.0;
                    input.mass[3 + k][m][lane] = 0.0;
                }
                input.mass[k][k][lane] = bodies.mass[node.body];
                for m in 0..=k {
                    let mut sum = 0.0;
                    for j in 0..3 {
                        sum += rot[(k, j)] * inertia[j] * rot[(m, j)];
                    }
                    input.mass[3 + k][3 + m][lane] = sum;
                }
            }
            for (a, row) in node.rows.iter().enumerate() {
                let (own, up) = (&rows.jac[row.own..][..6], &rows.jac[row.other..][..6]);
                for k in 0..6 {
                    input.jac[a][k][lane] = own[k];
                    input.up[a][k][lane] = up[k];
                }
            }
            let soft = soft(i);
            for a in node.rows.len()..MOST {
                // Without weight a row is none: c = 1 and J = 0.
                let soft = soft.get(a - node.rows.len()).filter(|soft| soft.weight > 0.0);
                input.c[a][lane] = soft.map_or(1.0, |soft| 1.0 / soft.weight);
                for k in 0..6 {
                    input.jac[a][k][lane] = soft.map_or(0.0, |soft| soft.own[k]);
                    input.up[a][k][lane] = soft.map_or(0.0, |soft| soft.other[k]);
                }
            }
        }
        let mut least = F::splat(1.0);
        for g in 0..self.groups.len() {
            let (weakest, more) = self.groups[g].eliminate(&self.inputs[g]);
            least = least.fast_min(weakest);
            for lane in 0..LANES {
                let parent = pattern.nodes[LANES * g + lane].parent;
                if parent == NOWHERE {
                    continue;
                }
                let (mass, at) = (&mut self.inputs[parent / LANES].mass, parent % LANES);
                for i in 0..6 {
                    for j in 0..=i {
                        mass[i][j][at] += more[j][i][lane];
                    }
                }
            }
        }
        // A NaN is no pivot either.
        least.to_array().into_iter().all(|x| x > 0.0)
    }

    /// The way up, with the errors in `p` and the impulses in `b`.
    pub(super) fn climb(&mut self, pattern: &Pattern) {
        for g in 0..self.groups.len() {
            let group = &self.groups[g];
            let mut w: [F; 6] = from_fn(|k| f(&self.b[g][k]));
            let mut q: [F; 6] = from_fn(|k| f(&self.p[g][k]));
            let b = group.rise(&mut w, &mut q);
            for k in 0..6 {
                self.w[g][k] = w[k].to_array();
                self.q[g][k] = q[k].to_array();
            }
            let mut ups = [[0.0; LANES]; 6];
            for k in 0..6 {
                ups[k] = b[k].to_array();
            }
            for lane in 0..LANES {
                let parent = pattern.nodes[LANES * g + lane].parent;
                if parent != NOWHERE {
                    let up = &mut self.b[parent / LANES];
                    for k in 0..6 {
                        up[k][parent % LANES] += ups[k][lane];
                    }
                }
            }
        }
    }

    /// The way down: velocities in `b`, impulses in `p`.
    pub(super) fn descend(&mut self, pattern: &Pattern) {
        for g in (0..self.groups.len()).rev() {
            let mut up = [[0.0; LANES]; 6];
            for lane in 0..LANES {
                let parent = pattern.nodes[LANES * g + lane].parent;
                if parent != NOWHERE {
                    for k in 0..6 {
                        up[k][lane] = self.b[parent / LANES][k][parent % LANES];
                    }
                }
            }
            let group = &self.groups[g];
            let up: [F; 6] = from_fn(|k| f(&up[k]));
            let mut p = [F::ZERO; 6];
            for a in 0..MOST {
                let mut sum = f(&self.q[g][a]);
                for k in 0..6 {
                    sum += f(&group.z[a][k]) * up[k];
                }
                p[a] = -sum;
            }
            solve_transposed(&group.n, &mut p);
            let mut v: [F; 6] = from_fn(|k| f(&self.w[g][k]));
            for k in 0..6 {
                for a in 0..MOST {
                    v[k] += f(&group.y[k][a]) * p[a];
                }
            }
            solve_transposed(&group.l, &mut v);
            for k in 0..6 {
                self.b[g][k] = v[k].to_array();
                self.p[g][k] = p[k].to_array();
            }
        }
    }
}

impl Elimination for Factor {
    #[inline(always)]
    fn enter(&self, _node: usize, _b: &mut [F; 6]) {}

    #[inline]
    fn climb_columns(&self, node: usize, b: &[F; 6]) -> ([F; 6], [F; 6], [F; 6]) {
        let (group, lane) = (&self.groups[node / LANES], node % LANES);
        let at = |m: &Matrix, i: usize, j: usize| F::splat(m[i][j][lane]);
        let mut w = *b;
        for j in 0..6 {
            w[j] *= at(&group.l, j, j);
            let known = w[j];
            for i in j + 1..6 {
                w[i] -= at(&group.l, j, i) * known;
            }
        }
        let mut q = [F::ZERO; 6];
        for k in 0..6 {
            for a in 0..MOST {
                q[a] += at(&group.y, k, a) * w[k];
            }
        }
        for j in 0..6 {
            q[j] *= at(&group.n, j, j);
            let known = q[j];
            for i in j + 1..6 {
                q[i] -= at(&group.n, j, i) * known;
            }
        }
        let mut up = [F::ZERO; 6];
        for a in 0..MOST {
            for k in 0..6 {
                up[k] -= at(&group.z, a, k) * q[a];
            }
        }
        (w, q, up)
    }

    #[inline(always)]
    fn respond(&self, own: &Step, other: &Step, sums: &mut [F; LANES]) {
        for k in 0..6 {
            let (w, q) = (own.w[k].to_array(), own.q[k].to_array());
            for lane in 0..LANES {
                sums[lane] += other.w[k] * F::splat(w[lane]) - other.q[k] * F::splat(q[lane]);
            }
        }
    }

    #[inline(always)]
    fn rate(&self, step: &Step) -> F {
        let (g, lane) = (step.node / LANES, step.node % LANES);
        let mut sum = F::ZERO;
        for k in 0..6 {
            sum += step.w[k] * F::splat(self.w[g][k][lane]);
            sum -= step.q[k] * F::splat(self.q[g][k][lane]);
        }
        sum
    }

    #[inline(always)]
    fn push(&mut self, step: &Step, p: F) {
        let (g, lane) = (step.node / LANES, step.node % LANES);
        for k in 0..6 {
            self.w[g][k][lane] += (step.w[k] * p).reduce_add();
            self.q[g][k][lane] += (step.q[k] * p).reduce_add();
        }
    }
}

impl Group {
    /// Eliminates the bodies. Returns by how much the weakest pivot is enough, and what the bodies they hang on get (the columns of its lower triangle).
    fn eliminate(&mut self, input: &Input) -> (F, Matrix) {
        let Input { mass, jac, up, c } = input;
        let mut l: [[F; 6]; 6] = from_fn(|j| from_fn(|i| f(&mass[i.max(j)][j.min(i)])));
        let least = cholesky(&mut l);
        // Y = J L⁻ᵀ.
        let mut y = [[F::ZERO; 6]; 6];
        for i in 0..6 {
            let mut own: [F; 6] = from_fn(|a| f(&jac[a][i]));
            for j in 0..i {
                for a in 0..MOST {
                    own[a] -= l[j][i] * y[j][a];
                }
            }
            for a in 0..MOST {
                y[i][a] = own[a] * l[i][i];
            }
        }
        let mut n = [[F::ZERO; 6]; 6];
        for b in 0..MOST {
            n[b][b] = f(&c[b]);
        }
        square::<0>(&y, &mut n);
        square::<1>(&y, &mut n);
        square::<2>(&y, &mut n);
        square::<3>(&y, &mut n);
        square::<4>(&y, &mut n);
        square::<5>(&y, &mut n);
        let least = least.fast_min(cholesky(&mut n));
        let mut z = [[F::ZERO; 6]; 6];
        for a in 0..MOST {
            let mut own: [F; 6] = from_fn(|k| f(&up[a][k]));
            for b in 0..a {
                for k in 0..6 {
                    own[k] -= n[b][a] * z[b][k];
                }
            }
            for k in 0..6 {
                z[a][k] = own[k] * n[a][a];
            }
        }
        let mut more = [[F::ZERO; 6]; 6];
        square::<0>(&z, &mut more);
        square::<1>(&z, &mut more);
        square::<2>(&z, &mut more);
        square::<3>(&z, &mut more);
        square::<4>(&z, &mut more);
        square::<5>(&z, &mut more);
        let mut given = ZERO;
        for i in 0..6 {
            for j in 0..6 {
                self.l[i][j] = l[i][j].to_array();
                self.y[i][j] = y[i][j].to_array();
                self.n[i][j] = n[i][j].to_array();
                self.z[i][j] = z[i][j].to_array();
                given[i][j] = more[i][j].to_array();
            }
        }
        (least, given)
    }

    /// w = L⁻¹ b and q = N⁻¹ (e + Y w) in place; returns −Zᵀ q.
    #[inline(always)]
    fn rise(&self, w: &mut [F; 6], q: &mut [F; 6]) -> [F; 6] {
        solve(&self.l, w);
        for k in 0..6 {
            for a in 0..MOST {
                q[a] += f(&self.y[k][a]) * w[k];
            }
        }
        solve(&self.n, q);
        let mut up = [F::ZERO; 6];
        for a in 0..MOST {
            for k in 0..6 {
                up[k] -= f(&self.z[a][k]) * q[a];
            }
        }
        up
    }
}

/// Column J of the lower triangle of xᵀ x, added. (Bounds that are constants let six sums run side by side in registers.)
#[inline(always)]
fn square<const J: usize>(x: &[[F; 6]; 6], sum: &mut [[F; 6]; 6]) {
    let mut own = sum[J];
    for k in 0..6 {
        for i in J..6 {
            own[i] += x[k][i] * x[k][J];
        }
    }
    sum[J] = own;
}

/// a ← L with a = L Lᵀ, columns of numbers from the diagonal on, which is inverted; returns the least of pivot − [`WEAK`] · diagonal.
#[inline(always)]
pub(super) fn cholesky(a: &mut [[F; 6]; 6]) -> F {
    let mut least = F::splat(f64::MAX);
    least = least.fast_min(pivot::<0>(a));
    least = least.fast_min(pivot::<1>(a));
    least = least.fast_min(pivot::<2>(a));
    least = least.fast_min(pivot::<3>(a));
    least = least.fast_min(pivot::<4>(a));
    least.fast_min(pivot::<5>(a))
}

/// Column J of L.
#[inline(always)]
fn pivot<const J: usize>(a: &mut [[F; 6]; 6]) -> F {
    let mut own = a[J];
    let diagonal = own[J];
    for m in 0..J {
        for i in J..6 {
            own[i] = less(own[i], a[m][i], a[m][J]);
        }
    }
    let least = own[J] - diagonal * WEAK;
    let inverse = F::splat(1.0) / own[J].sqrt();
    for i in J + 1..6 {
        own[i] *= inverse;
    }
    own[J] = inverse;
    a[J] = own;
    least
}

/// x ← L⁻¹ x.
#[inline(always)]
fn solve(l: &Matrix, x: &mut [F; 6]) {
    for j in 0..6 {
        x[j] *= f(&l[j][j]);
        let known = x[j];
        for i in j + 1..6 {
            x[i] -= f(&l[j][i]) * known;
        }
    }
}

/// x ← L⁻ᵀ x.
#[inline(always)]
fn solve_transposed(l: &Matrix, x: &mut [F; 6]) {
    for j in (0..6).rev() {
        x[j] *= f(&l[j][j]);
        let known = x[j];
        for i in 0..j {
            x[i] -= f(&l[i][j]) * known;
        }
    }
}

/// x ← L⁻¹ x.
#[inline(always)]
pub(super) fn solve_lanes(l: &[[F; 6]; 6], x: &mut [F; 6]) {
    for j in 0..6 {
        x[j] *= l[j][j];
        let known = x[j];
        for i in j + 1..6 {
            x[i] = less(x[i], l[j][i], known);
        }
    }
}

/// x ← L⁻ᵀ x.
#[inline(always)]
pub(super) fn solve_lanes_transposed(l: &[[F; 6]; 6], x: &mut [F; 6]) {
    for j in (0..6).rev() {
        x[j] *= l[j][j];
        let known = x[j];
        for i in 0..j {
            x[i] = less(x[i], l[i][j], known);
        }
    }
}
