//! Soles: where feet are round and touch planes held in space, their rates and gaps come from the bodies in lanes, four at a time.
//!
//! With n the plane's normal, t across it, p the centre of the foot's ball, ρ its radius and d = n·p − level its distance from the plane:
//!
//! ```text
//! r = p − s − n (d + ρ − ρ_plane)/2,   rates [−n ; t]·(ṡ + ω × r),   C = ρ + ρ_plane − d
//! ```
//! The way that slides is the trapezoid of ṡ + ω × r at both ends of a flight, as for all round bodies.
#![expect(clippy::inline_always, reason = "small kernels in hot loops")]

use gelenk_collide::Feature;
use gelenk_model::math::Vec3;

use super::super::crew::{Crew, Largest};
use super::super::pattern::LANES;
use super::{Feet, Foot, Group, ROWS};
use crate::bounds::{Bound, SLIP_PART};
use crate::contact::Contact;
use crate::hinges::{Motion, Place};
use crate::lanes::{F, M, V, less, mul_add};
use crate::rows::Rows;

/// Four soles.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sole {
    nodes: [usize; LANES],
    /// Directions of the rows: −n, and across it as the friction counts.
    rows: [V; ROWS],
    /// The centre of the ball in its body, n·q of a point q of the plane, and the radii of foot and plane.
    point: V,
    level: F,
    round: [F; 2],
    /// Where the rows are to go, from where errors of normals count, how far they may be off; what friction has slid within tolerance.
    target: [F; ROWS],
    from: F,
    allowed: F,
    slid: [F; 2],
    /// Response of the friction of the contact alone to itself.
    stiff: F,
    /// Now: R, r, p − s and the gap.
    now: Place,
    arm: V,
    lever: V,
    gap: F,
    /// C at the last look.
    c: [F; ROWS],
    /// Rates when the instant began.
    began: [F; ROWS],
}

impl Sole {
    pub(super) const EMPTY: Sole = Sole {
        nodes: [0; LANES],
        rows: [V::ZERO; ROWS],
        point: V::ZERO,
        level: F::ZERO,
        round: [F::ZERO; 2],
        target: [F::ZERO; ROWS],
        from: F::ZERO,
        allowed: F::ONE,
        slid: [F::ZERO; 2],
        stiff: F::ONE,
        now: Place { s: V::ZERO, rot: M { x: V::ZERO, y: V::ZERO, z: V::ZERO } },
        arm: V::ZERO,
        lever: V::ZERO,
        gap: F::ZERO,
        c: [F::ZERO; ROWS],
        began: [F::ZERO; ROWS],
    };

    /// Becomes that of four feet, or fewer; false if one is no ball on a plane.
    fn take(
        &mut self,
        rows: &Rows,
        feet: &[Foot],
        begins: &[(usize, usize)],
        crew: &Crew,
        tolerance: f64,
    ) -> bool {
        // Lanes without a foot repeat the first.
        let own: [usize; LANES] = std::array::from_fn(|k| if k < feet.len() { k } else { 0 });
        let feet = own.map(|k| &feet[k]);
        let contacts: [&Contact; LANES] = feet.map(|foot| rows.contact(foot.block));
        let (nodes, slots) = (own.map(|k| begins[k].0), own.map(|k| begins[k].1));
        let mut points = [Vec3::zeros(); LANES];
        for (k, contact) in contacts.iter().enumerate() {
            let features = &contact.touch.features;
            let (Feature::Point(point), Feature::Plane { .. }) =
                (features[slots[k]], features[1 - slots[k]])
            else {
                return false;
            };
            points[k] = point;
            if contact.is_anchored() {
                return false;
            }
        }
        let stiff = F::new(feet.map(|foot| rows.stiffness(foot.block + 1)));
        if !stiff.simd_gt(F::ZERO).all() {
            return false;
        }
        let sign = F::new(slots.map(|slot| if slot == 0 { 1.0 } else { -1.0 }));
        let radius = |k: usize, other: usize| contacts[k].touch.round[slots[k] ^ other];
        let round = [0, 1].map(|other| F::new(std::array::from_fn(|k| radius(k, other))));
        let normal = V::gather(|k| &contacts[k].place.normal) * sign;
        let tangents = [0, 1].map(|t: usize| V::gather(|k| &contacts[k].tangents[t]));
        let slid = V::gather(|k| &contacts[k].memory.slid);
        // A point of the plane: that of its surface, less what is around it.
        let surface = V::gather(|k| &contacts[k].place.points[1 - slots[k]]);
        let wanted = |r: usize| F::new(feet.map(|foot| rows.target[foot.rows[r]]));
        let (target, allowed) = {
            let both = feet.map(|foot| Bound::Contact.target(rows.target[foot.rows[0]], tolerance));
            (both.map(|both| both.0), F::new(both.map(|both| both.1)))
        };
        self.nodes = nodes;
        self.rows = [normal * F::splat(-1.0), tangents[0] * sign, tangents[1] * sign];
        self.point = V::gather(|k| &points[k]);
        self.level = normal.dot(surface) - round[1];
        self.round = round;
        self.target = [F::new(target), wanted(1), wanted(2)];
        self.from = F::new(target.map(|target| Bound::counts_from(target, tolerance)));
        self.allowed = allowed;
        self.slid = tangents.map(|t| t.dot(slid));
        self.stiff = stiff;
        self.now = crew.places_of(nodes);
        (self.arm, self.lever, self.gap) = self.touch(&self.now);
        true
    }

    /// r, p − s and the gap where the bodies are there.
    #[inline(always)]
    fn touch(&self, there: &Place) -> (V, V, F) {
        let lever = there.rot * self.point;
        let down = self.rows[0];
        let distance = -(down.dot(there.s + lever)) - self.level;
        let [own, plane] = self.round;
        let arm = lever.plus(down, F::splat(0.5) * (distance + own - plane));
        (arm, lever, distance - own - plane)
    }

    /// Rates of the rows at velocities.
    #[inline(always)]
    fn rates(&self, motion: &Motion) -> [F; ROWS] {
        let slides = motion.v.plus_cross(motion.w, self.arm);
        self.rows.map(|row| row.dot(slides))
    }

    /// How far friction is off, as a rate over what is allowed: where it slips from its projection, else from 0. `e` are the errors of its rates.
    #[inline(always)]
    fn missing(&self, e: [F; 2], p: &[F; ROWS], ratio: F, slips_by: F, holds_by: F) -> F {
        let limit = ratio * p[0].abs();
        let trial = [0, 1].map(|k: usize| p[1 + k] - e[k] / self.stiff);
        let size = mul_add(trial[1], trial[1], trial[0] * trial[0]).sqrt();
        let slips = size.simd_gt(limit * F::splat(1.0 + 1e-12));
        let part = limit / size;
        let far = [0, 1].map(|k: usize| less(p[1 + k], trial[k], part));
        let off = mul_add(far[1], far[1], far[0] * far[0]).sqrt() * self.stiff * slips_by;
        let rate = mul_add(e[1], e[1], e[0] * e[0]).sqrt() * holds_by;
        slips.bitselect(off, rate)
    }
}

impl Feet {
    /// Takes the soles of the feet, if all have one.
    pub(super) fn take_soles(&mut self, rows: &Rows, lanes: Option<(&Crew, f64)>) {
        self.soled = false;
        let Some((crew, tolerance)) = lanes else { return };
        self.soles.resize(self.groups.len(), Sole::EMPTY);
        let feet = self.feet.chunks(LANES).zip(self.begins.chunks(LANES));
        let mut soles = self.soles.iter_mut().zip(feet);
        self.soled = !self.feet.is_empty()
            && soles.all(|(sole, (feet, begins))| sole.take(rows, feet, begins, crew, tolerance));
    }

    /// Whether rates and impulses of all feet are in lanes.
    pub(in super::super) fn has_soles(&self) -> bool {
        self.soled
    }

    /// An instant begins at the velocities there are.
    pub(in super::super) fn begin_instant(&mut self, crew: &Crew) {
        for sole in self.soles.iter_mut().filter(|_| self.soled) {
            sole.began = sole.rates(&crew.motions_of(sole.nodes));
        }
    }

    /// Notes what the contacts took at the instant: −p ½ J (v⁻ + v⁺), with `rates` J v⁺ of each four.
    fn note_taken(&self, rows: &mut Rows, rates: impl Fn(&Group, &Sole) -> [F; ROWS]) {
        let own = rows.model_size.blocks;
        rows.taken_known = true;
        rows.taken.clear();
        rows.taken.resize(rows.blocks.len() - own, 0.0);
        let groups = self.groups.iter().zip(&self.soles).zip(self.feet.chunks(LANES));
        for ((group, sole), feet) in groups {
            let now = rates(group, sole);
            let half = F::splat(-0.5);
            let work = |r: usize| group.p[r] * (sole.began[r] + now[r]) * half;
            let (normal, slide) = (work(0).to_array(), (work(1) + work(2)).to_array());
            for (k, foot) in feet.iter().enumerate() {
                rows.taken[foot.block - own] = normal[k];
                rows.taken[foot.block + 1 - own] = slide[k];
            }
        }
    }

    /// Begins with the impulses `now`.
    pub(in super::super) fn begin(&mut self, now: &[f64]) {
        for (group, feet) in self.groups.iter_mut().zip(self.feet.chunks(LANES)) {
            let mut p = [[0.0; LANES]; ROWS];
            for (k, foot) in feet.iter().enumerate() {
                for r in 0..ROWS {
                    p[r][k] = now[foot.rows[r]];
                }
            }
            group.p = p.map(F::new);
        }
    }

    /// Gives the bodies the impulses there are, as forces and torques.
    pub(in super::super) fn give(&self, crew: &mut Crew) {
        for ((group, sole), feet) in
            self.groups.iter().zip(&self.soles).zip(self.feet.chunks(LANES))
        {
            let [a, b, c] = sole.rows;
            let force = (a * group.p[0]).plus(b, group.p[1]).plus(c, group.p[2]);
            let torque = sole.arm.cross(force);
            let (forces, torques) = (force.each(), torque.each());
            for k in 0..feet.len() {
                crew.collect_at(sole.nodes[k], &forces[k], &torques[k]);
            }
        }
    }

    /// Rates of a position correction to second order; returns the largest ([`Tree::take_start`](super::super::Tree::take_start)).
    pub(in super::super) fn rates_ahead(&mut self, crew: &Crew, h: f64) -> f64 {
        let (half, mut largest) = (F::splat(0.5 * h), Largest::default());
        for (group, sole) in self.groups.iter_mut().zip(&self.soles) {
            let w = crew.motions_of(sole.nodes).w;
            let Motion { v, w: w_middle } = crew.middles_of(sole.nodes);
            // The ball's centre goes round that of the body.
            let bend = w.cross(w.cross(sole.lever));
            let slides = v.plus_cross(w_middle, sole.arm).plus(bend, half);
            group.e = sole.rows.map(|row| row.dot(slides));
            group.e[0] -= sole.gap / F::splat(h);
            for e in &mut group.e {
                *e &= group.there;
                largest.see(e.abs());
            }
        }
        largest.number()
    }

    /// Rates of the feet at the velocities there are.
    pub(in super::super) fn rates(&mut self, crew: &Crew) {
        for (group, sole) in self.groups.iter_mut().zip(&self.soles) {
            group.e = sole.rates(&crew.motions_of(sole.nodes)).map(|e| e & group.there);
        }
    }

    /// Looks where the flight over `h` that the crew has looked at takes the feet: (C − target)/h; returns the worst over what is allowed.
    pub(in super::super) fn look_ahead(&mut self, crew: &Crew, h: f64, tolerance: f64) -> f64 {
        let (h_inv, half) = (F::splat(1.0 / h), F::splat(0.5 * h));
        let over = F::splat(h.abs() / tolerance);
        let mut worst = Largest::default();
        for (group, sole) in self.groups.iter_mut().zip(&mut self.soles) {
            let motion = crew.motions_of(sole.nodes);
            let ahead = crew.aheads_of(sole.nodes);
            let (arm, _, gap) = sole.touch(&ahead);
            let before = motion.v.plus_cross(motion.w, sole.arm);
            let then = crew.motions_ahead_of(sole.nodes, &sole.now.rot, &ahead.rot, &motion, h);
            let way = (before + then.v.plus_cross(then.w, arm)) * half;
            sole.c =
                [-gap, sole.rows[1].dot(way) + sole.slid[0], sole.rows[2].dot(way) + sole.slid[1]];
            let off: [F; ROWS] = std::array::from_fn(|k| sole.c[k] - sole.target[k]);
            group.e = off.map(|off| (off * h_inv) & group.there);
            // A normal at its bound may leave.
            let leaves = group.leaves();
            let deep = off[0].simd_gt(F::ZERO).bitselect(sole.c[0] - sole.from, off[0].abs());
            worst.see(!leaves & group.there & (deep / sole.allowed));
            let missing = sole.missing(
                [group.e[1], group.e[2]],
                &group.p,
                group.ratio,
                over * F::splat(1.0 / SLIP_PART),
                over,
            );
            worst.see(group.there & missing);
        }
        worst.number()
    }

    /// Looks at the rates; returns the worst over what is allowed, `slip` where friction slips.
    pub(in super::super) fn look_at_rates(
        &mut self,
        crew: &Crew,
        tolerance: f64,
        slip: f64,
    ) -> f64 {
        self.rates(crew);
        let over = F::splat(1.0 / tolerance);
        let mut worst = Largest::default();
        for (group, sole) in self.groups.iter().zip(&self.soles) {
            worst.see(!group.leaves() & (group.e[0].abs() * over) & group.there);
            let e = [group.e[1], group.e[2]];
            let missing = sole.missing(e, &group.p, group.ratio, F::splat(1.0 / slip), over);
            worst.see(group.there & missing);
        }
        worst.number()
    }

    /// Writes what a look at gaps has found into the rows, the impulses, and what they took.
    pub(in super::super) fn note_gaps(&self, rows: &mut Rows, crew: &Crew) {
        self.note_taken(rows, |_, sole| sole.rates(&crew.motions_of(sole.nodes)));
        let own = rows.model_size.blocks;
        rows.gap[own..].fill(0.0);
        for (i, foot) in self.feet.iter().enumerate() {
            let (group, sole, k) = (&self.groups[i / LANES], &self.soles[i / LANES], i % LANES);
            rows.gap[foot.block] = sole.c[0].as_array()[k].max(0.0);
            for (r, &row) in foot.rows.iter().enumerate() {
                rows.error[row] = -group.e[r].as_array()[k];
                rows.impulse[row] = group.p[r].as_array()[k];
            }
        }
    }

    /// The same of a look at rates.
    pub(in super::super) fn note_rates(&self, rows: &mut Rows) {
        self.note_taken(rows, |group, _| group.e);
        let own = rows.model_size.blocks;
        rows.velocity_error[own..].fill(0.0);
        for (i, foot) in self.feet.iter().enumerate() {
            let (group, k) = (&self.groups[i / LANES], i % LANES);
            rows.velocity_error[foot.block] = group.e[0].as_array()[k].max(0.0);
            for (r, &row) in foot.rows.iter().enumerate() {
                rows.error[row] = -group.e[r].as_array()[k];
                rows.velocity_impulse[row] = group.p[r].as_array()[k];
            }
        }
    }

    /// Writes rates and impulses of the feet into lists by rows, and does without soles from now on.
    pub(in super::super) fn give_up_soles(&mut self, e: &mut [f64], now: &mut [f64]) {
        if !std::mem::take(&mut self.soled) {
            return;
        }
        for (i, foot) in self.feet.iter().enumerate() {
            let (group, k) = (&self.groups[i / LANES], i % LANES);
            for (r, &row) in foot.rows.iter().enumerate() {
                e[row] = group.rate[r].as_array()[k];
                now[row] = group.before[r].as_array()[k];
            }
        }
    }

    /// The rows of four feet, at the centres of their bodies.
    pub(super) fn sole_rows(&self, g: usize) -> Option<[[F; 6]; ROWS]> {
        let sole = self.soles.get(g).filter(|_| self.soled)?;
        Some(sole.rows.map(|row| {
            let turn = sole.arm.cross(row);
            [row.x, row.y, row.z, turn.x, turn.y, turn.z]
        }))
    }
}

impl Group {
    /// Feet whose normal is at its bound and would go on.
    #[inline(always)]
    fn leaves(&self) -> F {
        let (e, p) = (self.e[0], self.p[0]);
        let [lower, upper] = self.bounds;
        (e.simd_gt(F::ZERO) & p.simd_le(lower)) | (e.simd_lt(F::ZERO) & p.simd_ge(upper))
    }
}
