//! Machines whose joints are all hinges: their rows four at a time.
//!
//! The equations are those of [`Hinge`](gelenk_model::joint::Hinge); with r the levers, n the axis on a, u = x, y across it on b, and
//! k = n × u:
//!
//! ```text
//! C = [ p_b − p_a ; n·u ]        J v = [ ṡ_b + ω_b × r_b − ṡ_a − ω_a × r_a ; k·(ω_a − ω_b) ]
//! γ = [ ω_a×(ω_a×r_a) − ω_b×(ω_b×r_b) ; −( ω_a×ṅ·u + 2 ṅ·u̇ + n·(ω_b×u̇) ) ],   ṅ = ω_a×n, u̇ = ω_b×u
//! Jᵀ p:  force −f on a and f on b,  torque −r_a×f + Σ k p_u on a and r_b×f − Σ k p_u on b
//! ```
#![expect(clippy::inline_always, reason = "small kernels in hot loops")]

use std::f64::consts::TAU;

use gelenk_model::joint::JointKind;
use gelenk_model::math::{Mat3, Vec3};
use gelenk_model::rows::RowKind;
use gelenk_model::state::{Pose, Twist, Wrench};
use gelenk_model::{BodyId, Model};

use crate::lanes::{F, LANES, M, V, less, mul_add};
use crate::rows::Block;
use crate::scratch::Bodies;

/// Rows of a hinge, and numbers of its Jacobian.
const ROWS: usize = 5;
const NUMBERS: usize = 12 * ROWS;

/// All joints of a model, if they are hinges.
#[derive(Clone, Debug)]
pub(crate) struct Hinges {
    groups: Vec<Group>,
    /// Bodies with hinges that move, and what they get from all impulses. (n_bodies)
    members: Vec<usize>,
    given: Vec<Wrench>,
}

/// Four hinges. Lanes without one repeat another, and are not written.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    used: [bool; LANES],
    /// Block, first row, start of the Jacobian, joint, and allowed error if it is not the run's.
    block: [usize; LANES],
    row: [usize; LANES],
    jac: [usize; LANES],
    joint: [usize; LANES],
    tolerance: [Option<f64>; LANES],
    /// Bodies a and b.
    bodies: [[usize; LANES]; 2],
    /// Where their angles are among the coordinates of a state.
    slot: [usize; LANES],
    /// Levers, directions across the axis and the axis on a, directions across it on b, in the bodies' frames.
    r_body: [V; 2],
    x_body: [V; 2],
    n_body: V,
    u_body: [V; 2],
    /// The same in the world, k, and cosine and sine of the angle; written by [`Hinges::prepare`].
    r: [V; 2],
    axis: V,
    u: [V; 2],
    k: [V; 2],
    angle: [F; 2],
}

#[inline(always)]
pub(crate) fn matrices<'a>(own: [usize; LANES], of: impl Fn(usize) -> &'a Mat3) -> M {
    let m: [_; LANES] = std::array::from_fn(|k| &of(own[k]).data.0);
    let entry = |column: usize, row: usize| {
        F::new([m[0][column][row], m[1][column][row], m[2][column][row], m[3][column][row]])
    };
    let column = |c: usize| V { x: entry(c, 0), y: entry(c, 1), z: entry(c, 2) };
    M { x: column(0), y: column(1), z: column(2) }
}

/// Poses of four bodies: centres and axes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) s: V,
    pub(crate) rot: M,
}

impl Place {
    #[inline(always)]
    pub(crate) fn gather(own: [usize; LANES], poses: &[Pose]) -> Self {
        Place { s: V::gather(|k| &poses[own[k]].s), rot: matrices(own, |i| &poses[i].rot) }
    }
}

/// Velocities of four bodies: ṡ and ω.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Motion {
    pub(crate) v: V,
    pub(crate) w: V,
}

impl Motion {
    #[inline(always)]
    pub(crate) fn gather(own: [usize; LANES], twists: &[Twist]) -> Self {
        let own = own.map(|i| &twists[i]);
        Motion { v: V::gather(|k| &own[k].s_dot), w: V::gather(|k| &own[k].omega) }
    }
}

/// Velocities of the two sides.
#[inline(always)]
fn velocities(group: &Group, twists: &[Twist]) -> [Motion; 2] {
    group.bodies.map(|own| Motion::gather(own, twists))
}

impl Hinges {
    /// The hinges of a model, if all its rows are those of hinges; `lanes` has the block of each lane, four a group. Writes what is
    /// constant of their Jacobians and responses.
    pub(crate) fn new(
        model: &Model,
        lanes: &[Option<usize>],
        blocks: &[Block],
        bodies: &Bodies,
        jac: &mut [f64],
        response: &mut [f64],
    ) -> Option<Self> {
        let mut all = Vec::with_capacity(model.rows.len());
        for (i, rows) in model.rows.iter().enumerate() {
            let RowKind::Joint(id) = rows.kind else { return None };
            let joint = &model.joints[id.index()];
            let JointKind::Hinge(_) = joint.kind else { return None };
            all.push((i, id.index(), joint.kind.frames(), joint.bodies.map(BodyId::index)));
        }
        let mut groups = Vec::with_capacity(lanes.len().div_ceil(LANES));
        for own in lanes.chunks_exact(LANES) {
            let any = own.iter().flatten().next().copied().unwrap_or(0);
            let lane = |k: usize| &all[own[k].unwrap_or(any)];
            let column = |m: &Mat3, c: usize| -> Vec3 { m.column(c).into() };
            let vectors = |value: &dyn Fn(usize) -> Vec3| {
                let each: [Vec3; LANES] = std::array::from_fn(value);
                V::gather(|k| &each[k])
            };
            let number =
                |value: &dyn Fn(usize) -> usize| -> [usize; LANES] { std::array::from_fn(value) };
            groups.push(Group {
                used: std::array::from_fn(|k| own[k].is_some()),
                block: number(&|k| lane(k).0),
                row: number(&|k| blocks[lane(k).0].first_row),
                jac: number(&|k| blocks[lane(k).0].jac),
                joint: number(&|k| lane(k).1),
                tolerance: std::array::from_fn(|k| blocks[lane(k).0].tolerance),
                bodies: [0, 1].map(|side: usize| number(&|k| lane(k).3[side])),
                r_body: [0, 1].map(|side: usize| vectors(&|k| lane(k).2[side].origin)),
                slot: number(&|k| model.joints[lane(k).1].first_coordinate),
                x_body: [0, 1].map(|which| vectors(&|k| column(&lane(k).2[0].axes, which))),
                n_body: vectors(&|k| column(&lane(k).2[0].axes, 2)),
                u_body: [0, 1].map(|which| vectors(&|k| column(&lane(k).2[1].axes, which))),
                r: [V::ZERO; 2],
                axis: V::ZERO,
                u: [V::ZERO; 2],
                k: [V::ZERO; 2],
                angle: [F::ZERO; 2],
            });
        }
        for (i, _, _, [a, b]) in &all {
            let at = blocks[*i].jac;
            for k in 0..3 {
                for (slot, body, sign) in [(0, *a, -1.0), (6, *b, 1.0)] {
                    jac[at + 12 * k + slot + k] = sign;
                    response[at + 12 * k + slot + k] = sign * bodies.mass_inv[body];
                }
            }
        }
        let n_bodies = bodies.fixed.len();
        let moves = |&i: &usize| !bodies.fixed[i] && all.iter().any(|one| one.3.contains(&i));
        Some(Hinges {
            groups,
            members: (0..n_bodies).filter(moves).collect(),
            given: vec![Wrench::zero(); n_bodies],
        })
    }

    /// Groups with a hinge.
    #[inline(always)]
    fn used(&self) -> impl Iterator<Item = &Group> {
        self.groups.iter().filter(|group| group.any())
    }

    /// The group of lanes `g`, if there is a hinge in it.
    #[inline(always)]
    pub(crate) fn group(&self, g: usize) -> Option<&Group> {
        self.groups.get(g).filter(|group| group.any())
    }

    /// Of each lane of group `g`: 1 where `own` is body b of the hinge, −1 where it is a, 0 without one.
    pub(crate) fn side_of(&self, g: usize, own: [usize; LANES]) -> F {
        let Group { used, bodies, .. } = &self.groups[g];
        F::new(std::array::from_fn(|k| match used[k] {
            true if bodies[1][k] == own[k] => 1.0,
            true => -1.0,
            false => 0.0,
        }))
    }

    /// The other body of the hinge in a lane of group `g`.
    pub(crate) fn other(&self, g: usize, lane: usize, body: usize) -> Option<usize> {
        let Group { used, bodies, .. } = self.groups.get(g)?;
        let pair = [bodies[0][lane], bodies[1][lane]];
        used[lane].then(|| if pair[1] == body { pair[0] } else { pair[1] })
    }

    /// Axis, k, and the levers on the body of that side and on the other, all 0 without a hinge.
    pub(crate) fn seen_from(&self, g: usize, side: F) -> (V, [V; 2], V, V) {
        let Group { r, axis, k, .. } = &self.groups[g];
        let (b, a) = (side.max(F::ZERO), (-side).max(F::ZERO));
        let there = a + b;
        let levers = (r[1] * b + r[0] * a, r[0] * b + r[1] * a);
        (*axis * there, [k[0] * there, k[1] * there], levers.0, levers.1)
    }

    /// Levers, axes and k at the poses of `bodies`.
    pub(crate) fn prepare(&mut self, bodies: &Bodies) {
        for group in self.groups.iter_mut().filter(|group| group.any()) {
            let rot = |side: usize| matrices(group.bodies[side], |i| &bodies.poses[i].rot);
            group.prepare([rot(0), rot(1)]);
        }
    }

    /// The same with the axes of both bodies of each group given.
    #[inline(always)]
    pub(crate) fn prepare_at(&mut self, axes: impl Fn(usize) -> [M; 2]) {
        for (g, group) in self.groups.iter_mut().enumerate().filter(|(_, group)| group.any()) {
            group.prepare(axes(g));
        }
    }

    /// Angles at the prepared poses, counted on over full turns.
    pub(crate) fn follow(&self, known: &mut [f64]) {
        for group in self.used() {
            let [cos, sin] = group.angle;
            let slots = group.slot;
            let before = F::new(slots.map(|slot| known[slot]));
            let angle = sin.atan2(cos);
            let turns = ((before - angle) / F::splat(TAU)).round();
            let angle = mul_add(turns, F::splat(TAU), angle);
            for lane in group.lanes() {
                known[slots[lane]] = angle.as_array()[lane];
            }
        }
    }

    /// J and M⁻¹ Jᵀ at the poses there are, for solvers that read rows.
    pub(crate) fn write_rows(&self, bodies: &Bodies, jac: &mut [f64], response: &mut [f64]) {
        for group in self.used() {
            let inertia = group.bodies.map(|own| matrices(own, |i| &bodies.inertia_inv_world[i]));
            let [r_a, r_b] = [group.r[0].each(), group.r[1].each()];
            let [k_x, k_y] = [group.k[0].each(), group.k[1].each()];
            let turns = [0, 1].map(|side| {
                let m = inertia[side].times_cross(group.r[side]);
                let tilt = [inertia[side] * group.k[0], inertia[side] * group.k[1]];
                [m.x.each(), m.y.each(), m.z.each(), tilt[0].each(), tilt[1].each()]
            });
            for lane in group.lanes() {
                let at = group.jac[lane];
                let jac = &mut jac[at..at + NUMBERS];
                let (a, b) = (r_a[lane], r_b[lane]);
                (jac[4], jac[5], jac[10], jac[11]) = (-a.z, a.y, b.z, -b.y);
                (jac[15], jac[17], jac[21], jac[23]) = (a.z, -a.x, -b.z, b.x);
                (jac[27], jac[28], jac[33], jac[34]) = (-a.y, a.x, b.y, -b.x);
                for (row, k) in [(36, k_x[lane]), (48, k_y[lane])] {
                    (jac[row + 3], jac[row + 4], jac[row + 5]) = (k.x, k.y, k.z);
                    (jac[row + 9], jac[row + 10], jac[row + 11]) = (-k.x, -k.y, -k.z);
                }
                let response = &mut response[at..at + NUMBERS];
                for row in 0..ROWS {
                    let (a, b) = (turns[0][row][lane], turns[1][row][lane]);
                    // The point's force turns a against r × e, the tilt's b against k.
                    let (a, b) = if row < 3 { (-a, b) } else { (a, -b) };
                    let own = &mut response[12 * row..12 * row + 12];
                    (own[3], own[4], own[5]) = (a.x, a.y, a.z);
                    (own[9], own[10], own[11]) = (b.x, b.y, b.z);
                }
            }
        }
    }

    /// C at other poses: of each hinge block, first row, allowed error, the five and their length.
    #[inline(always)]
    pub(crate) fn errors(
        &self,
        poses: &[Pose],
        mut take: impl FnMut(usize, usize, Option<f64>, &[f64; ROWS], f64),
    ) {
        for group in self.used() {
            let sides = group.bodies.map(|own| Place::gather(own, poses));
            group.write(group.errors(&sides), &mut take);
        }
    }

    /// J v at the prepared poses.
    #[inline(always)]
    pub(crate) fn rates(&self, twists: &[Twist], e: &mut [f64]) {
        self.each_rate(twists, |_, row, _, own, _| e[row..row + ROWS].copy_from_slice(own));
    }

    /// The same, one by one as [`errors`](Hinges::errors).
    #[inline(always)]
    pub(crate) fn each_rate(
        &self,
        twists: &[Twist],
        mut take: impl FnMut(usize, usize, Option<f64>, &[f64; ROWS], f64),
    ) {
        for group in self.used() {
            group.write(group.rates(&velocities(group, twists)), &mut take);
        }
    }

    /// J v − `half` γ(w), v and w velocities at the prepared poses.
    pub(crate) fn rates_ahead(&self, v: &[Twist], w: &[Twist], half: f64, e: &mut [f64]) {
        for group in self.used() {
            let rates = group.rates_ahead(&velocities(group, v), &velocities(group, w), half);
            group.write(rates, &mut |_, row, _, own, _| e[row..row + ROWS].copy_from_slice(own));
        }
    }

    /// v += M⁻¹ Jᵀ p.
    pub(crate) fn apply(&mut self, p: &[f64], bodies: &mut Bodies) {
        for &i in &self.members {
            self.given[i] = Wrench::zero();
        }
        for group in self.groups.iter().filter(|group| group.any()) {
            let (force, tilt) = group.impulses(p);
            let torques =
                [(tilt - group.r[0].cross(force)).each(), (group.r[1].cross(force) - tilt).each()];
            let forces = force.each();
            for lane in group.lanes() {
                let [a, b] = [group.bodies[0][lane], group.bodies[1][lane]];
                let given = &mut self.given[a];
                given.force -= forces[lane];
                given.torque += torques[0][lane];
                let given = &mut self.given[b];
                given.force += forces[lane];
                given.torque += torques[1][lane];
            }
        }
        for &i in &self.members {
            let (given, twist) = (&self.given[i], &mut bodies.twists[i]);
            twist.s_dot += given.force * bodies.mass_inv[i];
            twist.omega += bodies.inertia_inv_world[i] * given.torque;
            bodies.touch(i);
        }
    }

    /// Adds what each joint gives body b: the force, and the torque about its point there.
    pub(crate) fn add_to_joints(&self, p: &[f64], joints: &mut [Wrench]) {
        for group in self.used() {
            let (force, tilt) = group.impulses(p);
            let (forces, tilts) = (force.each(), tilt.each());
            for lane in group.lanes() {
                let sum = &mut joints[group.joint[lane]];
                sum.force += forces[lane];
                sum.torque -= tilts[lane];
            }
        }
    }
}

impl Group {
    #[inline(always)]
    fn prepare(&mut self, [rot_a, rot_b]: [M; 2]) {
        self.r = [rot_a * self.r_body[0], rot_b * self.r_body[1]];
        self.axis = rot_a * self.n_body;
        self.u = [rot_b * self.u_body[0], rot_b * self.u_body[1]];
        self.k = [self.axis.cross(self.u[0]), self.axis.cross(self.u[1])];
        self.angle = self.x_body.map(|x| self.u[0].dot(rot_a * x));
    }

    /// What impulses `p` of the hinges and `turn` about their axes give bodies a and b: forces and torques.
    #[inline(always)]
    pub(crate) fn given(&self, p: &[F; ROWS], turn: F) -> [[V; 2]; 2] {
        let force = V { x: p[0], y: p[1], z: p[2] };
        let tilt = (self.k[0] * p[3]).plus(self.k[1], p[4]).minus(self.axis, turn);
        let torque = [tilt.plus_cross(force, self.r[0]), self.r[1].cross(force) - tilt];
        [[force * F::splat(-1.0), torque[0]], [force, torque[1]]]
    }

    /// Torques of those sizes about the axes.
    #[inline(always)]
    pub(crate) fn torque(&self, size: F) -> V {
        self.axis * size
    }

    /// The axes one by one.
    pub(crate) fn axes(&self) -> [Vec3; LANES] {
        self.axis.each()
    }

    /// How fast b turns against a about the axis.
    #[inline(always)]
    pub(crate) fn turning(&self, [a, b]: &[Motion; 2]) -> F {
        self.axis.dot(b.w - a.w)
    }

    fn any(&self) -> bool {
        self.used != [false; LANES]
    }

    #[inline(always)]
    fn lanes(&self) -> impl Iterator<Item = usize> {
        let used = self.used;
        (0..LANES).filter(move |&k| used[k])
    }

    /// C of the poses of both sides.
    #[inline(always)]
    pub(crate) fn errors(&self, [a, b]: &[Place; 2]) -> [F; ROWS] {
        let gap = (b.s + b.rot * self.r_body[1]) - (a.s + a.rot * self.r_body[0]);
        let axis = a.rot * self.n_body;
        let tilt = |k: usize| axis.dot(b.rot * self.u_body[k]);
        [gap.x, gap.y, gap.z, tilt(0), tilt(1)]
    }

    /// J v.
    #[inline(always)]
    pub(crate) fn rates(&self, [a, b]: &[Motion; 2]) -> [F; ROWS] {
        let gap = b.v.plus_cross(b.w, self.r[1]) - a.v.plus_cross(a.w, self.r[0]);
        let turn = a.w - b.w;
        [gap.x, gap.y, gap.z, self.k[0].dot(turn), self.k[1].dot(turn)]
    }

    /// J v − `half` γ(w).
    #[inline(always)]
    pub(crate) fn rates_ahead(&self, v: &[Motion; 2], w: &[Motion; 2], half: f64) -> [F; ROWS] {
        let mut rates = self.rates(v);
        let (a, b) = (w[0].w, w[1].w);
        let half = F::splat(half);
        let bend = a.cross(a.cross(self.r[0])).plus_cross(b.cross(self.r[1]), b);
        let turn = a.cross(self.axis);
        let bends = [bend.x, bend.y, bend.z];
        for k in 0..3 {
            rates[k] = less(rates[k], half, bends[k]);
        }
        for k in 0..2 {
            let u_dot = b.cross(self.u[k]);
            let gamma = a.cross(turn).dot(self.u[k])
                + F::splat(2.0) * turn.dot(u_dot)
                + self.axis.dot(b.cross(u_dot));
            rates[3 + k] = mul_add(half, gamma, rates[3 + k]);
        }
        rates
    }

    /// Allowed errors, `tolerance` where it has no own, at least `floor`.
    #[inline(always)]
    pub(crate) fn allowed(&self, tolerance: f64, floor: f64) -> F {
        F::new(self.tolerance.map(|own| own.unwrap_or(tolerance).max(floor)))
    }

    /// Writes the numbers of its hinges into a list by blocks.
    #[inline(always)]
    pub(crate) fn note(&self, numbers: F, list: &mut [f64]) {
        for lane in self.lanes() {
            list[self.block[lane]] = numbers.as_array()[lane];
        }
    }

    /// Numbers of its rows from a list by rows.
    #[inline(always)]
    pub(crate) fn read(&self, list: &[f64]) -> [F; ROWS] {
        let of = |lane: usize| &list[self.row[lane]..self.row[lane] + ROWS];
        let own = [of(0), of(1), of(2), of(3)];
        let row = |k: usize| F::new([own[0][k], own[1][k], own[2][k], own[3][k]]);
        [row(0), row(1), row(2), row(3), row(4)]
    }

    /// The force on b and Σ k p_u.
    #[inline(always)]
    fn impulses(&self, p: &[f64]) -> (V, V) {
        let [x, y, z, a, b] = self.read(p);
        (V { x, y, z }, (self.k[0] * a).plus(self.k[1], b))
    }

    #[inline(always)]
    fn write(
        &self,
        values: [F; ROWS],
        take: &mut impl FnMut(usize, usize, Option<f64>, &[f64; ROWS], f64),
    ) {
        let [a, b, c, d, e] = values;
        let size = ((((a * a + b * b) + c * c) + d * d) + e * e).sqrt();
        for lane in self.lanes() {
            let one = |k: usize| values[k].as_array()[lane];
            let own = [one(0), one(1), one(2), one(3), one(4)];
            take(
                self.block[lane],
                self.row[lane],
                self.tolerance[lane],
                &own,
                size.as_array()[lane],
            );
        }
    }
}
