//! Bodies of a machine of hinges, four at a time in the lanes of its tree: a correction carries nothing from bodies to lanes and back.
#![expect(clippy::inline_always, reason = "small kernels in hot loops")]

use gelenk_model::Flight;
use gelenk_model::math::{Mat3, Quat, Vec3};
use gelenk_model::state::{Pose, State, Twist};

use super::Lane;
use super::limbs::{Limbs, Sixes};
use super::pattern::{LANES, NOWHERE, Pattern, Up};
use crate::flight::{self, Top};
use crate::hinges::{Group, Hinges, Motion, Place};
use crate::lanes::{F, M, Q, V, mul_add};
use crate::scratch::Bodies;

/// Four bodies. Lanes of the tree come first, then those that are held in space.
#[derive(Clone, Debug)]
struct Four {
    /// Lanes without a body repeat another, and are not written.
    bodies: [usize; LANES],
    there: [bool; LANES],
    /// The lane of the body it hangs on; its own without a hinge. What all of them hang on.
    parent: [usize; LANES],
    up: Up,
    /// 1 where there is a hinge, and where the body is b of it; whether it is in all lanes with one.
    hinge: F,
    is_b: F,
    all_b: bool,
    /// Whether it has bodies that turn in closed form.
    turns: bool,
    /// Of symmetric tops: 1 for the axis of symmetry, and how fast they turn about it beside the rest.
    top: V,
    slip: F,
    gravity: V,
    /// 1 and the mass where there is a body, else 0.
    is_there: F,
    mass: F,
    mass_inv: F,
    inertia: V,
    inertia_inv: V,
    /// Now.
    place: Place,
    motion: Motion,
    /// Velocities in the middle of the step.
    middle: Motion,
    /// Where free flight takes them.
    ahead: Place,
    turn: Q,
}

/// The bodies of a machine.
#[derive(Clone, Debug)]
pub(super) struct Crew {
    fours: Vec<Four>,
    /// How many of the fours are lanes of the tree.
    n: usize,
    /// Lanes with bodies that do not turn in closed form.
    singles: Vec<usize>,
    /// Whether poses are those of the bodies.
    placed: bool,
    /// Impulses of the hinges that the running correction has found.
    impulse: Vec<Sixes>,
    /// Gaps at the last look, or errors of rates.
    off: Vec<F>,
    /// ω before a kick that no guess of impulses goes with; else none.
    calm: Vec<V>,
    /// What is to be left of the gaps, where that is not 0.
    target: Vec<[F; 5]>,
    /// Forces and torques that are about to act on the bodies.
    given: Vec<[V; 2]>,
}

const NOWHERE_YET: Place = Place { s: V::ZERO, rot: M { x: V::ZERO, y: V::ZERO, z: V::ZERO } };
const AT_REST: Motion = Motion { v: V::ZERO, w: V::ZERO };

impl Crew {
    pub(super) fn new(pattern: &Pattern, hinges: &Hinges, bodies: &Bodies) -> Self {
        // Bodies held in space that something hangs on have lanes behind those of the tree.
        let n_bodies = bodies.fixed.len();
        let held: Vec<usize> = (0..n_bodies).filter(|&i| bodies.fixed[i]).collect();
        let n = pattern.nodes.len() / LANES;
        let mut own: Vec<usize> = pattern.nodes.iter().map(|node| node.body).collect();
        own.extend(&held);
        own.resize(own.len().next_multiple_of(LANES), NOWHERE);
        let lane_of = |body: usize| own.iter().position(|&other| other == body);
        let mut crew = Crew {
            fours: Vec::with_capacity(own.len() / LANES),
            n,
            singles: Vec::new(),
            placed: false,
            impulse: vec![[F::ZERO; 6]; n],
            off: vec![F::ZERO; n],
            calm: Vec::new(),
            target: Vec::new(),
            given: vec![[V::ZERO; 2]; own.len() / LANES],
        };
        for (g, own) in own.chunks_exact(LANES).enumerate() {
            let own: [usize; LANES] = std::array::from_fn(|k| own[k]);
            let any = own.into_iter().find(|&body| body != NOWHERE).unwrap_or(0);
            let body = own.map(|body| if body == NOWHERE { any } else { body });
            let side = if g < n { hinges.side_of(g, own) } else { F::ZERO };
            let parent: [usize; LANES] = std::array::from_fn(|k| {
                let other =
                    if side.as_array()[k] == 0.0 { None } else { hinges.other(g, k, own[k]) };
                other.and_then(lane_of).unwrap_or(LANES * g + k)
            });
            let hangs = |k: usize| side.as_array()[k] != 0.0;
            let up = Up::of(std::array::from_fn(|k| hangs(k).then_some(parent[k])));
            let number = |value: &dyn Fn(usize) -> f64| F::new(std::array::from_fn(value));
            let vector = |value: &dyn Fn(usize) -> Vec3| {
                let each: [Vec3; LANES] = std::array::from_fn(value);
                V::gather(|k| &each[k])
            };
            for k in (0..LANES).filter(|&k| g < n && own[k] != NOWHERE) {
                if matches!(bodies.top[own[k]], Top::Asymmetric) {
                    crew.singles.push(LANES * g + k);
                }
            }
            let top = |k: usize| match bodies.top[body[k]] {
                Top::Symmetric { axis, slip } => (Vec3::ith(axis, 1.0), slip),
                _ => (Vec3::x(), 0.0),
            };
            crew.fours.push(Four {
                bodies: body,
                there: own.map(|body| body != NOWHERE),
                parent,
                up,
                hinge: side.abs(),
                is_b: side.max(F::ZERO),
                all_b: side.as_array().iter().all(|side| *side >= 0.0),
                turns: own
                    .iter()
                    .any(|&i| i != NOWHERE && !matches!(bodies.top[i], Top::Asymmetric)),
                top: vector(&|k| top(k).0),
                slip: number(&|k| top(k).1),
                gravity: vector(&|k| bodies.gravity[body[k]]),
                is_there: number(&|k| f64::from(u8::from(own[k] != NOWHERE))),
                mass: number(&|k| if own[k] == NOWHERE { 0.0 } else { bodies.mass[body[k]] }),
                mass_inv: number(&|k| bodies.mass_inv[body[k]]),
                inertia: vector(&|k| bodies.inertia[body[k]]),
                inertia_inv: vector(&|k| bodies.inertia_inv[body[k]]),
                place: NOWHERE_YET,
                motion: AT_REST,
                middle: AT_REST,
                ahead: NOWHERE_YET,
                turn: Q::IDENTITY,
            });
        }
        crew
    }

    /// The bodies have other poses.
    pub(super) fn forget(&mut self) {
        self.placed = false;
    }

    /// Begins a correction with the poses and velocities of `bodies`.
    pub(super) fn begin(&mut self, bodies: &Bodies) {
        let known = std::mem::replace(&mut self.placed, true);
        for (g, four) in self.fours.iter_mut().enumerate() {
            if !known {
                four.place = Place::gather(four.bodies, &bodies.poses);
                if g >= self.n {
                    four.ahead = four.place; // they stay
                }
            }
            four.motion = Motion::gather(four.bodies, &bodies.twists);
        }
        self.impulse.fill([F::ZERO; 6]);
    }

    /// Begins with the velocities of `bodies`, where the poses are there.
    pub(super) fn begin_at(&mut self, bodies: &Bodies) {
        if !self.placed {
            return self.begin(bodies);
        }
        for four in &mut self.fours[..self.n] {
            four.motion = Motion::gather(four.bodies, &bodies.twists);
        }
        self.calm.clear();
        self.forget_impulses();
    }

    /// Curvature is to be that of the velocities there are, before a kick.
    pub(super) fn stay_calm(&mut self) {
        self.calm.clear();
        self.calm.extend(self.fours.iter().map(|four| four.motion.w));
    }

    /// Takes what is to be left of the gaps, a number for each row; else 0.
    pub(super) fn aim_at(&mut self, hinges: &Hinges, target: Option<&[f64]>) {
        self.target.clear();
        if let Some(target) = target {
            let own = |g: usize| hinges.group(g).map_or([F::ZERO; 5], |group| group.read(target));
            self.target.extend((0..self.n).map(own));
        }
    }

    /// Forgets the impulses found.
    pub(super) fn forget_impulses(&mut self) {
        for p in &mut self.impulse {
            *p = [F::ZERO; 6];
        }
    }

    /// Collects what is to act: of each group angular impulses about the hinges.
    #[inline(always)]
    pub(super) fn collect_turns(&mut self, hinges: &Hinges, turn: impl Fn(usize) -> F) {
        for given in &mut self.given {
            *given = [V::ZERO; 2];
        }
        for g in 0..self.n {
            let Some(group) = hinges.group(g) else { continue };
            let four = &self.fours[g];
            // On b along the axis, on a against it.
            let torque = group.torque(turn(g) * (four.is_b + four.is_b - F::ONE) * four.hinge);
            self.given[g][1] += torque;
            let up = torque * F::splat(-1.0);
            match four.up {
                Up::Lanes(other) => self.given[other][1] += up,
                Up::One(lane) => {
                    let V { x, y, z } = up;
                    let sum = Vec3::new(x.reduce_add(), y.reduce_add(), z.reduce_add());
                    self.given[lane / LANES][1].add_to(lane % LANES, &sum);
                }
                Up::Each => {
                    for (up, lane) in up.each().iter().zip(four.parent) {
                        self.given[lane / LANES][1].add_to(lane % LANES, up);
                    }
                }
            }
        }
    }

    /// Collects what is to act: of each group impulses of the hinges, from a list by rows, and angular impulses about their axes.
    #[inline(always)]
    pub(super) fn collect(&mut self, hinges: &Hinges, impulse: &[f64], turn: impl Fn(usize) -> F) {
        for given in &mut self.given {
            *given = [V::ZERO; 2];
        }
        for g in 0..self.n {
            let Some(group) = hinges.group(g) else { continue };
            let four = &self.fours[g];
            let p = group.read(impulse).map(|p| p * four.hinge);
            let [on_a, on_b] = group.given(&p, turn(g));
            let (own, up) = if four.all_b {
                (on_b, on_a)
            } else {
                let (b, a) = (four.is_b, F::ONE - four.is_b);
                let pick = |b: F, a: F| [0, 1].map(|k: usize| on_b[k] * b + on_a[k] * a);
                (pick(b, a), pick(a, b))
            };
            for k in 0..2 {
                self.given[g][k] += own[k];
                match four.up {
                    Up::Lanes(other) => self.given[other][k] += up[k],
                    Up::One(lane) => {
                        let V { x, y, z } = up[k];
                        let sum = Vec3::new(x.reduce_add(), y.reduce_add(), z.reduce_add());
                        self.given[lane / LANES][k].add_to(lane % LANES, &sum);
                    }
                    Up::Each => {
                        for (up, lane) in up[k].each().iter().zip(four.parent) {
                            self.given[lane / LANES][k].add_to(lane % LANES, up);
                        }
                    }
                }
            }
        }
    }

    /// Adds to what is to act on the body in a lane.
    pub(super) fn collect_at(&mut self, lane: usize, force: &Vec3, torque: &Vec3) {
        let given = &mut self.given[lane / LANES];
        given[0].add_to(lane % LANES, force);
        given[1].add_to(lane % LANES, torque);
    }

    /// v += M⁻¹ of what was collected.
    pub(super) fn act(&mut self) {
        for (four, [force, torque]) in self.fours[..self.n].iter_mut().zip(&self.given) {
            let rot = &four.place.rot;
            let inside = V { x: rot.x.dot(*torque), y: rot.y.dot(*torque), z: rot.z.dot(*torque) };
            four.motion.v = four.motion.v.plus(*force, four.mass_inv);
            four.motion.w += *rot * times(four.inertia_inv, inside);
        }
    }

    /// How fast the hinges of group `g` turn.
    #[inline(always)]
    pub(super) fn turning(&self, g: usize, group: &Group) -> F {
        group.turning(&self.motions(g, |four| &four.motion))
    }

    /// The axes of both bodies of the hinges in group `g`.
    #[inline(always)]
    pub(super) fn axes(&self, g: usize) -> [M; 2] {
        self.places(g, |four| &four.place).map(|place| place.rot)
    }

    /// Both sides of the hinges in group `g`, of what lanes have.
    #[inline(always)]
    fn places(&self, g: usize, of: impl Fn(&Four) -> &Place) -> [Place; 2] {
        let four = &self.fours[g];
        let own = of(four);
        let up = match four.up {
            Up::Lanes(g) => *of(&self.fours[g]),
            _ => Place {
                s: self.gather(four, |four| &of(four).s),
                rot: M {
                    x: self.gather(four, |four| &of(four).rot.x),
                    y: self.gather(four, |four| &of(four).rot.y),
                    z: self.gather(four, |four| &of(four).rot.z),
                },
            },
        };
        if four.all_b {
            return [up, *own];
        }
        let pick = |b: F| {
            let a = F::ONE - b;
            let vector = |x: V, y: V| x * b + y * a;
            Place {
                s: vector(own.s, up.s),
                rot: M {
                    x: vector(own.rot.x, up.rot.x),
                    y: vector(own.rot.y, up.rot.y),
                    z: vector(own.rot.z, up.rot.z),
                },
            }
        };
        [pick(F::ONE - four.is_b), pick(four.is_b)]
    }

    /// A vector of what the bodies of `four` hang on.
    #[inline(always)]
    fn gather(&self, four: &Four, of: impl Fn(&Four) -> &V) -> V {
        if let Up::One(lane) = four.up {
            let v = of(&self.fours[lane / LANES]);
            let one = |x: &F| F::splat(x.as_array()[lane % LANES]);
            return V { x: one(&v.x), y: one(&v.y), z: one(&v.z) };
        }
        self.gather_at(four.parent, of)
    }

    /// A vector of the bodies in any four lanes.
    #[inline(always)]
    fn gather_at(&self, lanes: [usize; LANES], of: impl Fn(&Four) -> &V) -> V {
        let of = lanes.map(|lane| of(&self.fours[lane / LANES]));
        let k = lanes.map(|lane| lane % LANES);
        let x = |i: usize| of[i].x.as_array()[k[i]];
        let y = |i: usize| of[i].y.as_array()[k[i]];
        let z = |i: usize| of[i].z.as_array()[k[i]];
        V {
            x: F::new([x(0), x(1), x(2), x(3)]),
            y: F::new([y(0), y(1), y(2), y(3)]),
            z: F::new([z(0), z(1), z(2), z(3)]),
        }
    }

    #[inline(always)]
    fn places_at(&self, lanes: [usize; LANES], of: impl Fn(&Four) -> &Place) -> Place {
        Place {
            s: self.gather_at(lanes, |four| &of(four).s),
            rot: M {
                x: self.gather_at(lanes, |four| &of(four).rot.x),
                y: self.gather_at(lanes, |four| &of(four).rot.y),
                z: self.gather_at(lanes, |four| &of(four).rot.z),
            },
        }
    }

    /// Where the bodies in any four lanes are.
    #[inline(always)]
    pub(super) fn places_of(&self, lanes: [usize; LANES]) -> Place {
        self.places_at(lanes, |four| &four.place)
    }

    /// Where the flight that was looked at takes them.
    #[inline(always)]
    pub(super) fn aheads_of(&self, lanes: [usize; LANES]) -> Place {
        self.places_at(lanes, |four| &four.ahead)
    }

    /// Their velocities.
    #[inline(always)]
    pub(super) fn motions_of(&self, lanes: [usize; LANES]) -> Motion {
        Motion {
            v: self.gather_at(lanes, |four| &four.motion.v),
            w: self.gather_at(lanes, |four| &four.motion.w),
        }
    }

    /// Those in the middle of the step.
    #[inline(always)]
    pub(super) fn middles_of(&self, lanes: [usize; LANES]) -> Motion {
        Motion {
            v: self.gather_at(lanes, |four| &four.middle.v),
            w: self.gather_at(lanes, |four| &four.middle.w),
        }
    }

    /// Velocities after a flight over `h` from the axes `now` to those `ahead`: the angular momentum stays.
    #[inline(always)]
    pub(super) fn motions_ahead_of(
        &self,
        lanes: [usize; LANES],
        now: &M,
        ahead: &M,
        motion: &Motion,
        h: f64,
    ) -> Motion {
        let of = |of: fn(&Four) -> &V| self.gather_at(lanes, of);
        let inside = |rot: &M, v: V| V { x: rot.x.dot(v), y: rot.y.dot(v), z: rot.z.dot(v) };
        let momentum = *now * times(of(|four| &four.inertia), inside(now, motion.w));
        let turned = times(of(|four| &four.inertia_inv), inside(ahead, momentum));
        Motion { v: motion.v.plus(of(|four| &four.gravity), F::splat(h)), w: *ahead * turned }
    }

    /// The same of velocities.
    #[inline(always)]
    fn motions(&self, g: usize, of: impl Fn(&Four) -> &Motion) -> [Motion; 2] {
        let four = &self.fours[g];
        let own = of(four);
        let up = match four.up {
            Up::Lanes(g) => *of(&self.fours[g]),
            _ => Motion {
                v: self.gather(four, |four| &of(four).v),
                w: self.gather(four, |four| &of(four).w),
            },
        };
        if four.all_b {
            return [up, *own];
        }
        let pick = |b: F| {
            let a = F::ONE - b;
            Motion { v: own.v * b + up.v * a, w: own.w * b + up.w * a }
        };
        [pick(F::ONE - four.is_b), pick(four.is_b)]
    }

    /// Rates of the hinges to second order ([`Tree::take_start`](super::Tree::take_start)): those of velocities in the middle of a flight of 2 `half`,
    /// less what joints bend on the way. Returns the largest. [`end_calm`](Crew::end_calm) goes with it.
    pub(super) fn rates_ahead(&mut self, hinges: &Hinges, half: f64, e: &mut [Sixes]) -> f64 {
        let f = F::splat(half);
        for (g, four) in self.fours[..self.n].iter_mut().enumerate() {
            let Motion { v, w } = four.motion;
            let rot = &four.place.rot;
            let turning = self.calm.get(g).copied().unwrap_or(w);
            let inside = V { x: rot.x.dot(turning), y: rot.y.dot(turning), z: rot.z.dot(turning) };
            let torque = times(four.inertia, inside).cross(inside);
            let faster = *rot * times(four.inertia_inv, torque);
            four.middle = Motion { v: v.plus(four.gravity, f), w: w.plus(faster, f) };
        }
        // Until [`end_calm`](Crew::end_calm).
        for (four, calm) in self.fours.iter_mut().zip(&mut self.calm) {
            std::mem::swap(&mut four.motion.w, calm);
        }
        let mut worst = Largest::default();
        for (g, e) in e.iter_mut().enumerate().take(self.n) {
            let Some(group) = hinges.group(g) else { continue };
            let v = self.motions(g, |four| &four.middle);
            let w = self.motions(g, |four| &four.motion);
            let rates = group.rates_ahead(&v, &w, half);
            worst.see(length(&rates) * self.fours[g].hinge);
            write(&rates, e);
        }
        worst.number()
    }

    /// The velocities after the kick again, where curvature was that before it.
    pub(super) fn end_calm(&mut self) {
        for (four, calm) in self.fours.iter_mut().zip(&self.calm) {
            four.motion.w = *calm;
        }
        self.calm.clear();
    }

    /// Rates of the hinges now; returns the largest.
    pub(super) fn rates(&mut self, hinges: &Hinges, e: &mut [Sixes]) -> f64 {
        let mut worst = Largest::default();
        for (g, e) in e.iter_mut().enumerate().take(self.n) {
            let Some(group) = hinges.group(g) else { continue };
            let rates = group.rates(&self.motions(g, |four| &four.motion));
            write(&rates, e);
            let size = length(&rates) * self.fours[g].hinge;
            self.off[g] = size;
            worst.see(size);
        }
        worst.number()
    }

    /// Where free flight takes the bodies over `h`.
    fn fly(&mut self, bodies: &mut Bodies, h: f64) {
        let (step, half) = (F::splat(h), F::splat(0.5 * h));
        for four in &mut self.fours[..self.n] {
            let Motion { v, w } = four.motion;
            four.ahead.s = four.place.s.plus(v.plus(four.gravity, half), step);
            if !four.turns {
                continue;
            }
            let rot = &four.place.rot;
            let e = *rot * four.top;
            let c = four.slip * w.dot(e);
            four.turn = Q::exp(w.minus(e, c) * step) * Q::exp(e * (c * step));
            let m = four.turn.matrix();
            four.ahead.rot = M { x: m * rot.x, y: m * rot.y, z: m * rot.z };
        }
        for &lane in &self.singles {
            let (four, k) = (&mut self.fours[lane / LANES], lane % LANES);
            let i = four.bodies[k];
            bodies.twists[i] = twist(&four.motion, k);
            bodies.touch(i);
            bodies.look_ahead_pose(i, Flight::Exact, h);
            let (turn, rot) = (bodies.turn[i], &bodies.ahead[i].rot);
            four.turn.w.as_mut_array()[k] = turn.w;
            set(&mut four.turn.v, k, [turn.i, turn.j, turn.k]);
            let columns = [&mut four.ahead.rot.x, &mut four.ahead.rot.y, &mut four.ahead.rot.z];
            for (column, numbers) in columns.into_iter().zip(rot.data.0) {
                set(column, k, numbers);
            }
        }
    }

    /// Looks where free flight over `h` takes the hinges: C/h in `e`; returns the worst gap over what is allowed.
    pub(super) fn look_ahead(
        &mut self,
        hinges: &Hinges,
        bodies: &mut Bodies,
        h: f64,
        allowed: impl Fn(&Group) -> F,
        e: &mut [Sixes],
    ) -> f64 {
        self.fly(bodies, h);
        let (h_inv, mut worst) = (F::splat(1.0 / h), Largest::default());
        for (g, e) in e.iter_mut().enumerate().take(self.n) {
            let Some(group) = hinges.group(g) else { continue };
            let mut c = group.errors(&self.places(g, |four| &four.ahead));
            let size = length(&c) * self.fours[g].hinge;
            self.off[g] = size;
            worst.see(size / allowed(group));
            if let Some(target) = self.target.get(g) {
                for (c, target) in c.iter_mut().zip(target) {
                    *c -= *target;
                }
            }
            write(&c.map(|c| c * h_inv), e);
        }
        worst.number()
    }

    /// The state after the flight over `h` that was looked at last; false, and nothing done, where a number is not finite.
    pub(super) fn land(&mut self, bodies: &Bodies, h: f64, state: &mut State) -> bool {
        let step = F::splat(h);
        let mut sum = F::ZERO;
        for four in &self.fours[..self.n] {
            let (V { x, y, z }, w) = (four.motion.v + four.ahead.s, four.motion.w);
            sum += ((x + y) + z) + ((w.x + w.y) + w.z) + four.turn.w;
        }
        if !sum.reduce_add().is_finite() {
            return false;
        }
        for &lane in &self.singles {
            let (four, k) = (&self.fours[lane / LANES], lane % LANES);
            let (i, turn) = (four.bodies[k], four.turn.each()[k]);
            let omega = one(&four.motion.w, k);
            let spinner = bodies.spinner(i);
            (_, state.omega[i]) = flight::fly_on(&spinner, &omega, Flight::Exact, h, Some(&turn));
        }
        for four in &mut self.fours[..self.n] {
            let own = four.bodies;
            let rot = &four.place.rot;
            let e = *rot * four.top;
            let c = four.slip * four.motion.w.dot(e);
            let w = four.motion.w.minus(e, c).plus(four.turn.rotate(e), c);
            let v = four.motion.v.plus(four.gravity, step);
            let turned = (four.turn * Q::gather(|k| state.rot[own[k]].into_inner())).unit();
            four.motion = Motion { v, w };
            four.place = Place { s: four.ahead.s, rot: turned.matrix() };
            let (s, v, turned) = (four.place.s.each(), v.each(), turned.each());
            for k in (0..LANES).filter(|&k| four.there[k]) {
                let i = own[k];
                state.rot[i] = Quat::new_unchecked(turned[k]);
                (state.s[i], state.s_dot[i]) = (s[k], v[k]);
            }
        }
        for &lane in &self.singles {
            let (four, k) = (&mut self.fours[lane / LANES], lane % LANES);
            let omega = &state.omega[four.bodies[k]];
            set(&mut four.motion.w, k, [omega.x, omega.y, omega.z]);
        }
        for four in &self.fours[..self.n] {
            let omega = four.motion.w.each();
            for k in (0..LANES).filter(|&k| four.there[k]) {
                state.omega[four.bodies[k]] = omega[k];
            }
        }
        true
    }

    /// Kinetic energy, and potential energy of weight, J.
    pub(super) fn energies(&self) -> (f64, f64) {
        let (mut kinetic, mut potential) = (F::ZERO, F::ZERO);
        for four in &self.fours[..self.n] {
            let (Motion { v, w }, rot) = (four.motion, &four.place.rot);
            let inside = V { x: rot.x.dot(w), y: rot.y.dot(w), z: rot.z.dot(w) };
            let spin = times(four.inertia, inside).dot(inside) * four.is_there;
            kinetic += mul_add(four.mass, v.dot(v), spin);
            potential = mul_add(four.mass, four.gravity.dot(four.place.s), potential);
        }
        (0.5 * kinetic.reduce_add(), -potential.reduce_add())
    }

    /// Gives the bodies the poses and velocities of a landing.
    pub(super) fn arrive(&mut self, bodies: &mut Bodies, state: &State) {
        self.placed = true;
        for four in &self.fours[..self.n] {
            let Place { rot, .. } = &four.place;
            let (rot, inertia) = (rot.each(), rot.turned(four.inertia_inv).each());
            for k in (0..LANES).filter(|&k| four.there[k]) {
                bodies.take_pose(four.bodies[k], state, rot[k], inertia[k]);
            }
        }
        bodies.take_time(state.t);
    }

    /// Adds what a solve has found: velocities and impulses `p`.
    pub(super) fn take(&mut self, limbs: &Limbs, p: &[Sixes]) {
        for (g, four) in self.fours[..self.n].iter_mut().enumerate() {
            let (v, w) = limbs.velocities(g);
            four.motion.v += v;
            four.motion.w += w;
            for (sum, p) in self.impulse[g].iter_mut().zip(&p[g]) {
                *sum += *p;
            }
        }
    }

    /// Writes the velocity of a body, with the flight that was looked at.
    pub(super) fn write_flight(&self, lane: usize, bodies: &mut Bodies) {
        let (four, k) = (&self.fours[lane / LANES], lane % LANES);
        let turn = four.turn.each()[k];
        let ahead = pose(&four.ahead, k);
        bodies.take_flight(four.bodies[k], twist(&four.motion, k), turn, ahead);
    }

    /// Writes the velocity of a body.
    pub(super) fn write_velocity(&self, lane: usize, bodies: &mut Bodies) {
        let (four, k) = (&self.fours[lane / LANES], lane % LANES);
        bodies.twists[four.bodies[k]] = twist(&four.motion, k);
        bodies.touch(four.bodies[k]);
    }

    /// Writes all velocities, with the flights that were looked at where `flown`.
    pub(super) fn write(&self, flown: bool, bodies: &mut Bodies) {
        for four in &self.fours[..self.n] {
            let (v, w) = (four.motion.v.each(), four.motion.w.each());
            let (turn, s) = (four.turn.each(), four.ahead.s.each());
            for k in (0..LANES).filter(|&k| four.there[k]) {
                let (i, twist) = (four.bodies[k], Twist { s_dot: v[k], omega: w[k] });
                if flown {
                    bodies.take_turn(i, twist, turn[k], s[k]);
                } else {
                    bodies.twists[i] = twist;
                    bodies.touch(i);
                }
            }
        }
    }

    /// Adds the impulses found since it began to `sums`, those of all rows.
    pub(super) fn add_impulses(&mut self, lanes: &[[Lane; LANES]], sums: &mut [f64]) {
        for (p, lanes) in self.impulse.iter_mut().zip(lanes) {
            let rows = F::transpose([p[0], p[1], p[2], p[3]]).map(F::to_array);
            let last = p[4].to_array();
            for (k, own) in lanes.iter().enumerate() {
                let Some(first) = own.row else { continue };
                let sums = &mut sums[first..first + 5];
                for (sum, p) in sums.iter_mut().zip(&rows[k]) {
                    *sum += p;
                }
                sums[4] += last[k];
            }
            *p = [F::ZERO; 6];
        }
    }

    /// Writes the gaps, or errors of rates, found last.
    pub(super) fn note_errors(&self, hinges: &Hinges, list: &mut [f64]) {
        for (g, off) in self.off.iter().enumerate() {
            if let Some(group) = hinges.group(g) {
                group.note(*off, list);
            }
        }
    }
}

#[inline(always)]
fn times(a: V, b: V) -> V {
    V { x: a.x * b.x, y: a.y * b.y, z: a.z * b.z }
}

#[inline(always)]
fn write(values: &[F; 5], e: &mut Sixes) {
    for (to, value) in e.iter_mut().zip(values) {
        *to = *value;
    }
    e[5] = F::ZERO; // its damper
}

#[inline(always)]
fn length(values: &[F; 5]) -> F {
    let [a, b, c, d, e] = *values;
    ((((a * a + b * b) + c * c) + d * d) + e * e).sqrt()
}

/// The largest of many numbers that are not negative; what is not a number is larger than any.
#[derive(Default)]
pub(super) struct Largest {
    most: F,
    sum: F,
}

impl Largest {
    #[inline(always)]
    pub(super) fn see(&mut self, x: F) {
        self.most = self.most.fast_max(x);
        self.sum += x;
    }

    pub(super) fn number(&self) -> f64 {
        let sum = self.sum.reduce_add();
        if sum.is_nan() { sum } else { self.most.to_array().into_iter().fold(0.0, f64::max) }
    }
}

fn one(v: &V, k: usize) -> Vec3 {
    Vec3::new(v.x.as_array()[k], v.y.as_array()[k], v.z.as_array()[k])
}

fn set(v: &mut V, k: usize, [x, y, z]: [f64; 3]) {
    v.x.as_mut_array()[k] = x;
    v.y.as_mut_array()[k] = y;
    v.z.as_mut_array()[k] = z;
}

fn twist(motion: &Motion, k: usize) -> Twist {
    Twist { s_dot: one(&motion.v, k), omega: one(&motion.w, k) }
}

fn pose(place: &Place, k: usize) -> Pose {
    let M { x, y, z } = &place.rot;
    Pose { s: one(&place.s, k), rot: Mat3::from_columns(&[one(x, k), one(y, k), one(z, k)]) }
}
