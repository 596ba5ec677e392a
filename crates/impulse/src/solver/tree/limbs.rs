//! Trees of hinges: the same elimination with the angle of each hinge as its one unknown, four bodies at a time.
//!
//! Velocities û = [ṗ ω] of a body are those at the point of the hinge it hangs on; of a root, those of its centre. With Â the mass of a body
//! and all that hangs on it (F = M ṗ + H ω, τ = Hᵀ ṗ + I ω), n̂ = [0 n] the axis, û_p the velocity of the body it hangs on at the same point, d̂ what
//! closes the rates of the joint's rows, w = d h/2 a damper along the angle with the error e:
//!
//! ```text
//! û = û_p + d̂ + n̂ q̇,   Â û = b̂ + f,   n̂·f = −w (q̇ + e)
//! U = Â n̂,   D = n̂·U + w,   m = n̂·b̂ − w e − U·d̂,   q̇ = (m − U·û_p)/D
//! Â_p += Â − U Uᵀ/D,   b̂_p += b̂ − Â d̂ − U m/D,   f = Â û − b̂
//! ```
//! both moved to the parent's point. Rows b₁ that act on a body give b̂₁ on the way up, u₁ = n̂·b̂₁ and
//!
//! ```text
//! b₁·v = Σ (b̂₁·d̂ + u₁ m/D) + b̂₁·û at the root,    b₁·H⁻¹ b₂ = Σ u₁ u₂/D + b̂₁·Â⁻¹ b̂₂ at the root
//! ```
//! \[Featherstone 2008\], articulated bodies; here with errors of the joints.
#![expect(clippy::inline_always, reason = "small kernels in hot loops")]

use super::factor::{self, Elimination};
use super::pattern::{LANES, NOWHERE, Pattern, Up};
use super::touches::Step;
use crate::hinges::{Hinges, matrices};
use crate::lanes::{F, M, V, less, mul_add};
use crate::scratch::Bodies;

/// A symmetric mass: the lower triangles of M and I, and H, row after row.
type Mass = [F; 21];
const MASSLESS: Mass = [F::ZERO; 21];

/// Six numbers of each body.
pub(super) type Sixes = [F; 6];

const NOTHING: Sixes = [F::ZERO; 6];

/// A pivot below this part of its diagonal is none.
const WEAK: f64 = 1e-11;

/// Four bodies and their hinges.
#[derive(Clone, Debug)]
struct Limb {
    bodies: [usize; LANES],
    there: [bool; LANES],
    parent: [usize; LANES],
    up: Up,
    /// Whether it is the first of those that hang on the same.
    first: bool,
    mass: F,
    inertia: V,
    /// 1 where the body is b of its hinge, −1 where it is a, 0 without; 1 where it is a root; whether there are such lanes.
    sign: F,
    root: F,
    joints: bool,
    roots: bool,
    /// Weight of the dampers; 1 without a hinge.
    weight: F,
    /// The axis, k, the way from the parent's point to this one, the lever of it, and the inertia about it of the body alone.
    axis: V,
    k: [V; 2],
    way: V,
    lever: V,
    alone: [F; 6],
    /// Â, U, 1/D.
    m: [F; 6],
    h: [F; 9],
    i: [F; 6],
    u: [F; 6],
    d_inv: F,
    /// d̂ and m of the present solve.
    d: [F; 6],
    moment: F,
}

/// The factor and the vectors of a solve.
#[derive(Clone, Debug)]
pub(super) struct Limbs {
    limbs: Vec<Limb>,
    /// Groups whose masses are sums of different kinds, and begin with 0.
    mixed: Vec<usize>,
    /// Factors of Â of the roots; of other groups nothing.
    l: Vec<[[F; 6]; 6]>,
    /// Whether axes, ways and levers are those of the poses.
    placed: bool,
    masses: Vec<Mass>,
    /// b̂; of roots L⁻¹ b̂ after the way up.
    b: Vec<Sixes>,
    /// û.
    v: Vec<Sixes>,
}

#[inline(always)]
fn both(a: V, b: V) -> [F; 6] {
    [a.x, a.y, a.z, b.x, b.y, b.z]
}

#[inline(always)]
fn halves(x: &[F; 6]) -> (V, V) {
    (V { x: x[0], y: x[1], z: x[2] }, V { x: x[3], y: x[4], z: x[5] })
}

#[inline(always)]
pub(super) fn dot(a: &[F; 6], b: &[F; 6]) -> F {
    let first = mul_add(a[2], b[2], mul_add(a[1], b[1], a[0] * b[0]));
    first + mul_add(a[5], b[5], mul_add(a[4], b[4], a[3] * b[3]))
}

/// The symmetric matrix of a lower triangle times a vector.
#[inline(always)]
fn symmetric(m: &[F; 6], v: V) -> V {
    let [xx, xy, yy, xz, yz, zz] = *m;
    V {
        x: mul_add(xz, v.z, mul_add(xy, v.y, xx * v.x)),
        y: mul_add(yz, v.z, mul_add(yy, v.y, xy * v.x)),
        z: mul_add(zz, v.z, mul_add(yz, v.y, xz * v.x)),
    }
}

impl Limb {
    /// Â x.
    #[inline(always)]
    fn times(&self, x: &[F; 6]) -> [F; 6] {
        let (p, w) = halves(x);
        let h = &self.h;
        let sum =
            |sum: F, a: F, b: F, c: F, v: V| mul_add(c, v.z, mul_add(b, v.y, mul_add(a, v.x, sum)));
        let (force, torque) = (symmetric(&self.m, p), symmetric(&self.i, w));
        [
            sum(force.x, h[0], h[1], h[2], w),
            sum(force.y, h[3], h[4], h[5], w),
            sum(force.z, h[6], h[7], h[8], w),
            sum(torque.x, h[0], h[3], h[6], p),
            sum(torque.y, h[1], h[4], h[7], p),
            sum(torque.z, h[2], h[5], h[8], p),
        ]
    }

    /// Forces at this point seen at the parent's.
    #[inline(always)]
    fn to_parent(&self, x: &[F; 6]) -> [F; 6] {
        let (force, torque) = halves(x);
        both(force, torque.plus_cross(self.way, force))
    }
}

impl Limbs {
    /// For the nodes of a tree whose joints are those of `hinges`, in the same lanes.
    pub(super) fn new(pattern: &Pattern, hinges: &Hinges, bodies: &Bodies) -> Self {
        let mut limbs = Vec::with_capacity(pattern.nodes.len() / LANES);
        for (g, nodes) in pattern.nodes.chunks_exact(LANES).enumerate() {
            let own: [usize; LANES] = std::array::from_fn(|k| nodes[k].body);
            let number = |value: &dyn Fn(usize) -> f64| F::new(std::array::from_fn(value));
            let hangs = |k: usize| !nodes[k].rows.is_empty();
            let mass = |k: usize| if own[k] == NOWHERE { 1.0 } else { bodies.mass[own[k]] };
            let moment = |k: usize, a: usize| {
                if own[k] == NOWHERE { 1.0 } else { bodies.inertia[own[k]][a] }
            };
            limbs.push(Limb {
                // A body that is there stands in for one that is not.
                bodies: own.map(|body| if body == NOWHERE { 0 } else { body }),
                there: own.map(|body| body != NOWHERE),
                parent: std::array::from_fn(|k| nodes[k].parent),
                up: pattern.up(g),
                first: (0..g).all(|other| pattern.up(other) != pattern.up(g)),
                mass: number(&mass),
                inertia: V {
                    x: number(&|k| moment(k, 0)),
                    y: number(&|k| moment(k, 1)),
                    z: number(&|k| moment(k, 2)),
                },
                sign: hinges.side_of(g, own),
                root: number(&|k| f64::from(u8::from(!hangs(k)))),
                joints: (0..LANES).any(hangs),
                roots: (0..LANES).any(|k| !hangs(k) && own[k] != NOWHERE),
                weight: F::ZERO,
                m: [F::ZERO; 6],
                h: [F::ZERO; 9],
                i: [F::ZERO; 6],
                u: [F::ZERO; 6],
                d_inv: F::ONE,
                axis: V::ZERO,
                k: [V::ZERO; 2],
                way: V::ZERO,
                lever: V::ZERO,
                alone: [F::ZERO; 6],
                d: [F::ZERO; 6],
                moment: F::ZERO,
            });
        }
        let n = limbs.len();
        // Of those that hang on lanes of a group, or on one node of it, the first begins the sum.
        let on = |limb: &Limb, g: usize| match limb.up {
            Up::Lanes(other) => (other == g).then_some(limb.up),
            Up::One(node) => (node / LANES == g).then_some(limb.up),
            Up::Each => {
                let here = |&&parent: &&usize| parent != NOWHERE && parent / LANES == g;
                limb.parent.iter().find(here).map(|_| limb.up)
            }
        };
        let mixes = |g: &usize| {
            let mut kinds = limbs.iter().filter_map(|limb: &Limb| on(limb, *g));
            kinds.next().is_some_and(|kind| kind == Up::Each || kinds.any(|other| other != kind))
        };
        let mixed: Vec<usize> = (0..n).filter(mixes).collect();
        for limb in &mut limbs {
            limb.first &= !mixed.iter().any(|&g| on(limb, g).is_some());
        }
        Limbs {
            limbs,
            mixed,
            l: vec![[[F::ZERO; 6]; 6]; n],
            placed: false,
            masses: vec![MASSLESS; n],
            b: vec![NOTHING; n],
            v: vec![NOTHING; n],
        }
    }

    /// The bodies have other poses.
    pub(super) fn forget(&mut self) {
        self.placed = false;
    }

    /// What does not depend on dampers, at the prepared poses.
    fn place(&mut self, hinges: &Hinges, bodies: &Bodies) {
        for g in (0..self.limbs.len()).rev() {
            let (axis, k, own, up) = hinges.seen_from(g, self.limbs[g].sign);
            let lever = match self.limbs[g].up {
                Up::Lanes(other) => self.limbs[other].lever,
                Up::One(node) => lane_of(&self.limbs[node / LANES].lever, node % LANES),
                Up::Each => {
                    let mut levers = [gelenk_model::math::Vec3::zeros(); LANES];
                    for (lever, parent) in levers.iter_mut().zip(self.limbs[g].parent) {
                        if parent != NOWHERE {
                            *lever = self.limbs[parent / LANES].lever.each()[parent % LANES];
                        }
                    }
                    V::gather(|k| &levers[k])
                }
            };
            let limb = &mut self.limbs[g];
            (limb.axis, limb.k, limb.lever) = (axis, k, own);
            limb.way = (up - lever) * (F::ONE - limb.root);
            // Its own inertia about its point, with r from the centre to it.
            let rot = matrices(limb.bodies, |i| &bodies.poses[i].rot);
            let M { x, y, z } = rot.turned(limb.inertia);
            let r = limb.lever;
            let mr = r * limb.mass;
            let (xx, yy, zz) = (mr.x * r.x, mr.y * r.y, mr.z * r.z);
            limb.alone = [
                x.x + yy + zz,
                less(x.y, mr.x, r.y),
                y.y + xx + zz,
                less(x.z, mr.x, r.z),
                less(y.z, mr.y, r.z),
                z.z + xx + yy,
            ];
        }
        self.placed = true;
    }

    /// Factorizes at the prepared poses, with the dampers d h/2 of each group; false where that is (nearly) singular.
    pub(super) fn make(
        &mut self,
        hinges: &Hinges,
        bodies: &Bodies,
        weight: impl Fn(usize) -> F,
    ) -> bool {
        if !self.placed {
            self.place(hinges, bodies);
        }
        for &g in &self.mixed {
            self.masses[g] = MASSLESS;
        }
        let mut least = F::splat(1.0);
        for g in 0..self.limbs.len() {
            let limb = &mut self.limbs[g];
            limb.weight = limb.root + weight(g);
            let mass = limb.mass;
            let mr = limb.lever * mass;
            let more = &self.masses[g];
            let add = |k: usize, value: F| value + more[k];
            limb.m = [
                add(0, mass),
                add(1, F::ZERO),
                add(2, mass),
                add(3, F::ZERO),
                add(4, F::ZERO),
                add(5, mass),
            ];
            limb.h = [
                add(6, F::ZERO),
                add(7, -mr.z),
                add(8, mr.y),
                add(9, mr.z),
                add(10, F::ZERO),
                add(11, -mr.x),
                add(12, -mr.y),
                add(13, mr.x),
                add(14, F::ZERO),
            ];
            limb.i = std::array::from_fn(|k| add(15 + k, limb.alone[k]));
            if limb.roots {
                let (m, h, i) = (&limb.m, &limb.h, &limb.i);
                // Columns of the lower triangle.
                let zero = F::ZERO;
                self.l[g] = [
                    [m[0], m[1], m[3], h[0], h[1], h[2]],
                    [zero, m[2], m[4], h[3], h[4], h[5]],
                    [zero, zero, m[5], h[6], h[7], h[8]],
                    [zero, zero, zero, i[0], i[1], i[3]],
                    [zero, zero, zero, zero, i[2], i[4]],
                    [zero, zero, zero, zero, zero, i[5]],
                ];
                least = least.fast_min(factor::cholesky(&mut self.l[g]));
            }
            if !limb.joints {
                continue;
            }
            let n = limb.axis;
            let (h, turn) = (&limb.h, symmetric(&limb.i, n));
            let row = |k: usize| mul_add(h[k + 2], n.z, mul_add(h[k + 1], n.y, h[k] * n.x));
            limb.u = [row(0), row(3), row(6), turn.x, turn.y, turn.z];
            let own = n.dot(turn);
            let d = own + limb.weight;
            least = least.fast_min(d - (limb.i[0] + limb.i[2] + limb.i[5]) * F::splat(WEAK));
            limb.d_inv = F::ONE / d;
            let limb = &self.limbs[g];
            match limb.up {
                Up::Lanes(other) => {
                    let mass = &mut self.masses[other];
                    if limb.first {
                        limb.give_mass(|k, given| mass[k] = given);
                    } else {
                        limb.give_mass(|k, given| mass[k] += given);
                    }
                }
                Up::One(node) => {
                    let there = F::ONE - limb.root;
                    let mass = &mut self.masses[node / LANES];
                    limb.give_mass(|k, given| {
                        let sum = &mut mass[k].as_mut_array()[node % LANES];
                        let before = if limb.first { 0.0 } else { *sum };
                        *sum = before + (given * there).reduce_add();
                    });
                }
                Up::Each => {
                    let mut given = MASSLESS;
                    limb.give_mass(|k, mass| given[k] = mass);
                    for (lane, &parent) in limb.parent.iter().enumerate() {
                        if parent != NOWHERE {
                            let mass = &mut self.masses[parent / LANES];
                            for (sum, given) in mass.iter_mut().zip(&given) {
                                sum.as_mut_array()[parent % LANES] += given.as_array()[lane];
                            }
                        }
                    }
                }
            }
        }
        // A NaN is no pivot either.
        least.to_array().into_iter().all(|x| x > 0.0)
    }

    /// The way up with the errors of the rows in `e`: five of the hinge, then that of its damper.
    pub(super) fn climb(&mut self, e: &[Sixes]) {
        for b in &mut self.b {
            *b = NOTHING;
        }
        for (g, e) in e.iter().enumerate() {
            let limb = &mut self.limbs[g];
            let b = self.b[g];
            if limb.roots {
                let mut w = b;
                factor::solve_lanes(&self.l[g], &mut w);
                for k in 0..6 {
                    // Lanes with a hinge keep b̂.
                    self.b[g][k] = w[k] * limb.root + b[k] * (F::ONE - limb.root);
                }
            }
            if !limb.joints {
                continue;
            }
            let e = *e;
            let gap = V { x: e[0], y: e[1], z: e[2] } * -limb.sign;
            limb.d = both(gap, (limb.k[0] * e[3] + limb.k[1] * e[4]) * limb.sign);
            let ad = limb.times(&limb.d);
            // U·d̂ = n̂·Â d̂.
            let m = limb.axis.dot(halves(&b).1 - halves(&ad).1) - limb.weight * limb.sign * e[5];
            limb.moment = m;
            let part = m * limb.d_inv;
            let up: [F; 6] = std::array::from_fn(|k| less(b[k] - ad[k], limb.u[k], part));
            let up = limb.to_parent(&up);
            match limb.up {
                Up::Lanes(other) => {
                    for (to, up) in self.b[other].iter_mut().zip(up) {
                        *to += up;
                    }
                }
                Up::One(node) => {
                    let there = F::ONE - limb.root;
                    for (to, up) in self.b[node / LANES].iter_mut().zip(up) {
                        to.as_mut_array()[node % LANES] += (up * there).reduce_add();
                    }
                }
                Up::Each => {
                    for (lane, &parent) in limb.parent.iter().enumerate() {
                        if parent != NOWHERE {
                            for (to, up) in self.b[parent / LANES].iter_mut().zip(&up) {
                                to.as_mut_array()[parent % LANES] += up.as_array()[lane];
                            }
                        }
                    }
                }
            }
        }
    }

    /// The way down: impulses of the rows in `p`, that of the damper last, where the errors were.
    pub(super) fn descend(&mut self, p: &mut [Sixes]) {
        for g in (0..self.limbs.len()).rev() {
            let limb = &self.limbs[g];
            let mut v = [F::ZERO; 6];
            if limb.roots {
                v = self.b[g];
                factor::solve_lanes_transposed(&self.l[g], &mut v);
                v = v.map(|x| x * limb.root);
            }
            if limb.joints {
                let up = match limb.up {
                    Up::Lanes(other) => self.v[other],
                    Up::One(node) => {
                        let there = F::ONE - limb.root;
                        self.v[node / LANES].map(|v| at(&v, node % LANES) * there)
                    }
                    Up::Each => {
                        let mut up = NOTHING;
                        for (lane, &parent) in limb.parent.iter().enumerate() {
                            if parent != NOWHERE {
                                let from = &self.v[parent / LANES];
                                for k in 0..6 {
                                    up[k].as_mut_array()[lane] = from[k].as_array()[parent % LANES];
                                }
                            }
                        }
                        up
                    }
                };
                let (point, omega) = halves(&up);
                let up = both(point.plus_cross(omega, limb.way), omega);
                let rate = (limb.moment - dot(&limb.u, &up)) * limb.d_inv;
                let axis = [limb.axis.x, limb.axis.y, limb.axis.z];
                // Nothing of this is in lanes without a hinge: axis, d̂ and what they hang on are 0 there.
                for k in 0..6 {
                    v[k] += up[k] + limb.d[k];
                }
                for k in 0..3 {
                    v[3 + k] = mul_add(axis[k], rate, v[3 + k]);
                }
                let av = limb.times(&v);
                let b = &self.b[g];
                let f: [F; 6] = std::array::from_fn(|k| (av[k] - b[k]) * limb.sign);
                let (force, torque) = halves(&f);
                let pull = -limb.weight * (limb.sign * rate + p[g][5]);
                let own = [-limb.k[0].dot(torque), -limb.k[1].dot(torque), pull];
                p[g] = [force.x, force.y, force.z, own[0], own[1], own[2]];
            }
            self.v[g] = v;
        }
    }
}

impl Limbs {
    /// The velocities found of group `g`: ṡ = ṗ − ω × r and ω.
    #[inline(always)]
    pub(super) fn velocities(&self, g: usize) -> (V, V) {
        let (point, omega) = halves(&self.v[g]);
        (point.plus_cross(self.limbs[g].lever, omega), omega)
    }

    /// Adds them to those of the bodies.
    pub(super) fn give(&self, bodies: &mut Bodies) {
        for (g, limb) in self.limbs.iter().enumerate() {
            let (slides, turns) = self.velocities(g);
            let (slides, turns) = (slides.each(), turns.each());
            for lane in 0..LANES {
                if limb.there[lane] {
                    let twist = &mut bodies.twists[limb.bodies[lane]];
                    twist.s_dot += slides[lane];
                    twist.omega += turns[lane];
                    bodies.touch(limb.bodies[lane]);
                }
            }
        }
    }
}

impl Limb {
    /// Â − U Uᵀ/D at the parent's point, number after number.
    #[inline(always)]
    fn give_mass(&self, mut put: impl FnMut(usize, F)) {
        let u = &self.u;
        let s: [F; 6] = std::array::from_fn(|k| u[k] * self.d_inv);
        let m: [F; 6] = [
            less(self.m[0], u[0], s[0]),
            less(self.m[1], u[1], s[0]),
            less(self.m[2], u[1], s[1]),
            less(self.m[3], u[2], s[0]),
            less(self.m[4], u[2], s[1]),
            less(self.m[5], u[2], s[2]),
        ];
        let h: [F; 9] = std::array::from_fn(|k| less(self.h[k], u[k / 3], s[3 + k % 3]));
        let i: [F; 6] = [
            less(self.i[0], u[3], s[3]),
            less(self.i[1], u[4], s[3]),
            less(self.i[2], u[4], s[4]),
            less(self.i[3], u[5], s[3]),
            less(self.i[4], u[5], s[4]),
            less(self.i[5], u[5], s[5]),
        ];
        // H' = H − M ρ×, I' = I + ρ× H' − Hᵀ ρ×, ρ the way from the parent's point. A ρ× has the rows a × ρ of A's rows a.
        let rho = self.way;
        let row = |a: usize| V { x: h[3 * a], y: h[3 * a + 1], z: h[3 * a + 2] };
        let [xx, xy, yy, xz, yz, zz] = m;
        let moved = [
            row(0).plus_cross(rho, V { x: xx, y: xy, z: xz }),
            row(1).plus_cross(rho, V { x: xy, y: yy, z: yz }),
            row(2).plus_cross(rho, V { x: xz, y: yz, z: zz }),
        ];
        let column = |a: usize| {
            let entry = |v: V| [v.x, v.y, v.z][a];
            V { x: entry(moved[0]), y: entry(moved[1]), z: entry(moved[2]) }
        };
        // ρ× H' − Hᵀ ρ×: entry (a, b) is (ρ × column b of H')_a + (ρ × column a of H)_b.
        let cross = |v: V, a: usize, sum: F| match a {
            0 => less(mul_add(rho.y, v.z, sum), rho.z, v.y),
            1 => less(mul_add(rho.z, v.x, sum), rho.x, v.z),
            _ => less(mul_add(rho.x, v.y, sum), rho.y, v.x),
        };
        let old = |a: usize| V { x: h[a], y: h[3 + a], z: h[6 + a] };
        let entry = |sum: F, a: usize, b: usize| cross(column(b), a, cross(old(a), b, sum));
        let i = [
            entry(i[0], 0, 0),
            entry(i[1], 1, 0),
            entry(i[2], 1, 1),
            entry(i[3], 2, 0),
            entry(i[4], 2, 1),
            entry(i[5], 2, 2),
        ];
        for k in 0..6 {
            put(k, m[k]);
            put(15 + k, i[k]);
        }
        for (a, row) in moved.iter().enumerate() {
            put(6 + 3 * a, row.x);
            put(7 + 3 * a, row.y);
            put(8 + 3 * a, row.z);
        }
    }
}

/// The vector of one lane, in all.
#[inline(always)]
fn lane_of(v: &V, lane: usize) -> V {
    V { x: at(&v.x, lane), y: at(&v.y, lane), z: at(&v.z, lane) }
}

/// The number of one lane, in all.
#[inline(always)]
fn at(x: &F, lane: usize) -> F {
    F::splat(x.as_array()[lane])
}

impl Elimination for Limbs {
    #[inline(always)]
    fn enter(&self, node: usize, b: &mut [F; 6]) {
        let (force, torque) = halves(b);
        let lever = lane_of(&self.limbs[node / LANES].lever, node % LANES);
        *b = both(force, torque - lever.cross(force));
    }

    /// Of a step `w` is b̂, of a root L⁻¹ b̂; `q` begins with u and u/D.
    #[inline(always)]
    fn climb_columns(&self, node: usize, b: &[F; 6]) -> ([F; 6], [F; 6], [F; 6]) {
        let (limb, lane) = (&self.limbs[node / LANES], node % LANES);
        let mut q = [F::ZERO; 6];
        if limb.roots && limb.root.as_array()[lane] > 0.0 {
            let (mut w, l) = (*b, &self.l[node / LANES]);
            for j in 0..6 {
                w[j] *= at(&l[j][j], lane);
                let known = w[j];
                for i in j + 1..6 {
                    w[i] -= at(&l[j][i], lane) * known;
                }
            }
            return (w, q, [F::ZERO; 6]);
        }
        let axis = lane_of(&limb.axis, lane);
        q[0] = axis.dot(halves(b).1);
        q[1] = q[0] * at(&limb.d_inv, lane);
        let up: [F; 6] = std::array::from_fn(|k| b[k] - at(&limb.u[k], lane) * q[1]);
        let (force, torque) = halves(&up);
        (*b, q, both(force, torque + lane_of(&limb.way, lane).cross(force)))
    }

    #[inline(always)]
    fn respond(&self, own: &Step, other: &Step, sums: &mut [F; LANES]) {
        if self.is_root(own.node) {
            for k in 0..6 {
                for lane in 0..LANES {
                    sums[lane] += other.w[k] * at(&own.w[k], lane);
                }
            }
            return;
        }
        for lane in 0..LANES {
            sums[lane] += other.q[1] * at(&own.q[0], lane);
        }
    }

    fn ends_at(&self, node: usize) -> bool {
        self.is_root(node)
    }

    #[inline(always)]
    fn rate(&self, step: &Step) -> F {
        let (limb, lane) = (&self.limbs[step.node / LANES], step.node % LANES);
        let mut sum = F::ZERO;
        if self.is_root(step.node) {
            let b = &self.b[step.node / LANES];
            for k in 0..6 {
                sum += step.w[k] * at(&b[k], lane);
            }
            return sum;
        }
        for k in 0..6 {
            sum += step.w[k] * at(&limb.d[k], lane);
        }
        sum + step.q[1] * at(&limb.moment, lane)
    }

    #[inline(always)]
    fn push(&mut self, step: &Step, p: F) {
        let (g, lane) = (step.node / LANES, step.node % LANES);
        let w = &step.w;
        let [a, b, c, d] = F::transpose([w[0] * p, w[1] * p, w[2] * p, w[3] * p]);
        let first = ((a + b) + (c + d)).to_array();
        let [a, b, c, d] = F::transpose([w[4] * p, w[5] * p, step.q[0] * p, F::ZERO]);
        let rest = ((a + b) + (c + d)).to_array();
        let to = &mut self.b[g];
        for k in 0..4 {
            to[k].as_mut_array()[lane] += first[k];
        }
        to[4].as_mut_array()[lane] += rest[0];
        to[5].as_mut_array()[lane] += rest[1];
        self.limbs[g].moment.as_mut_array()[lane] += rest[2];
    }
}

#[inline(always)]
fn gather(of: [(&Limb, usize); LANES], number: impl Fn(&Limb) -> &F) -> F {
    let one = |k: usize| number(of[k].0).as_array()[of[k].1 % LANES];
    F::new([one(0), one(1), one(2), one(3)])
}

#[inline(always)]
fn gather_vector(of: [(&Limb, usize); LANES], vector: impl Fn(&Limb) -> &V) -> V {
    V {
        x: gather(of, |limb| &vector(limb).x),
        y: gather(of, |limb| &vector(limb).y),
        z: gather(of, |limb| &vector(limb).z),
    }
}

#[inline(always)]
fn gather_six(of: [(&Limb, usize); LANES], six: impl Fn(&Limb) -> &[F; 6]) -> [F; 6] {
    let one = |k: usize| gather(of, |limb| &six(limb)[k]);
    [one(0), one(1), one(2), one(3), one(4), one(5)]
}

/// What feet ask for, four at a time ([`feet`](super::feet)). At a root the hinge is none: axis, U, way, d̂ and m are 0.
impl Limbs {
    #[inline(always)]
    fn of(&self, nodes: [usize; LANES]) -> [(&Limb, usize); LANES] {
        nodes.map(|node| (&self.limbs[node / LANES], node % LANES))
    }

    /// Rows on bodies become rows at their hinges' points.
    #[inline(always)]
    pub(super) fn enter_feet<const N: usize>(&self, nodes: [usize; LANES], b: &mut [[F; 6]; N]) {
        let lever = gather_vector(self.of(nodes), |limb| &limb.lever);
        for b in b {
            let (force, torque) = halves(b);
            *b = both(force, torque.plus_cross(force, lever));
        }
    }

    /// The rows here, u, u/D, and what the rows are at the next body up.
    #[inline(always)]
    pub(super) fn pass_hinges<const N: usize>(
        &self,
        nodes: [usize; LANES],
        b: &mut [[F; 6]; N],
        own: &mut [[F; 6]; N],
        u: &mut [F; N],
        part: &mut [F; N],
    ) {
        let of = self.of(nodes);
        let axis = gather_vector(of, |limb| &limb.axis);
        let way = gather_vector(of, |limb| &limb.way);
        let d_inv = gather(of, |limb| &limb.d_inv);
        let across = gather_six(of, |limb| &limb.u);
        for r in 0..N {
            u[r] = axis.dot(halves(&b[r]).1);
            part[r] = u[r] * d_inv;
            own[r] = b[r];
            let mut up = b[r];
            for k in 0..6 {
                up[k] = less(up[k], across[k], part[r]);
            }
            let (force, torque) = halves(&up);
            b[r] = both(force, torque.plus_cross(way, force));
        }
    }

    /// L⁻¹ b̂ at a root.
    #[inline(always)]
    pub(super) fn arrive<const N: usize>(&self, node: usize, b: &mut [[F; 6]; N]) {
        let (l, lane) = (&self.l[node / LANES], node % LANES);
        for row in b {
            let mut w = *row;
            for j in 0..6 {
                w[j] *= at(&l[j][j], lane);
                for i in j + 1..6 {
                    w[i] = less(w[i], at(&l[j][i], lane), w[j]);
                }
            }
            *row = w;
        }
    }

    /// d̂ and m after the way up.
    #[inline(always)]
    pub(super) fn found_at(&self, nodes: [usize; LANES]) -> ([F; 6], F) {
        let of = self.of(nodes);
        (gather_six(of, |limb| &limb.d), gather(of, |limb| &limb.moment))
    }

    /// L⁻¹ b̂ of a root after the way up.
    pub(super) fn arrived(&self, node: usize) -> [f64; 6] {
        self.b[node / LANES].map(|b| b.as_array()[node % LANES])
    }

    /// Adds to b̂ (L⁻¹ b̂ of a root) and m.
    #[inline(always)]
    pub(super) fn push_at(&mut self, node: usize, b: [f64; 6], u: f64) {
        let (g, lane) = (node / LANES, node % LANES);
        for (to, b) in self.b[g].iter_mut().zip(b) {
            to.as_mut_array()[lane] += b;
        }
        self.limbs[g].moment.as_mut_array()[lane] += u;
    }

    #[inline(always)]
    pub(super) fn is_root(&self, node: usize) -> bool {
        let limb = &self.limbs[node / LANES];
        limb.roots && limb.root.as_array()[node % LANES] > 0.0
    }
}
