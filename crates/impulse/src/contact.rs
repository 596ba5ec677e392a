//! Contacts as temporary blocks of rows: they follow the blocks of the model while bodies touch.
//!
//! A contact of body a on body b has up to four blocks, with n the unit normal from b to a, t₁, t₂ across it and v_r the velocity
//! of a's contact point relative to b's:
//!
//! ```text
//! normal   C = −gap ≤ 0,          p ≤ 0
//! slide    t₁·v_r, t₂·v_r,        |p| ≤ μ |p_n|          Coulomb
//! spin     n·(ω_a − ω_b),         |p| ≤ r_s |p_n|        torsional resistance, r_s in m
//! roll     t₁·(ω_a − ω_b), t₂·…,  |p| ≤ r_r |p_n|        rolling resistance, r_r in m
//! ```
//! Friction holds where its impulse is within the disk and slips against the motion at its edge: \[Schmitt 2003\] section 11.

use gelenk_collide::{Feature, Place, Touch};
use gelenk_law::Kind;
use gelenk_model::contact::ContactValues;
use gelenk_model::math::{Vec3, perpendicular_frame};
use gelenk_model::state::{ContactMemory, Pose, Twist};

use crate::bounds::{Bound, Mode};
use crate::error::StepError;
use crate::rows::{Block, Rows, held_part};
use crate::scratch::Bodies;
use crate::small;

/// The part of an overlap beyond the tolerance that goes in a second, at least the tolerance in a step.
const PUSH_OUT: f64 = 10.0;

/// The part of it that goes in a step at most.
const PUSH_PART: f64 = 0.02;

/// Energy that goes through lasting contacts beside at least this part of it in contacts that land in the same step belongs to the landing: corners of a sole
/// that come down one after the other share it about evenly.
const LANDING_PART: f64 = 0.1;

/// Overlaps of more than this many tolerances are no error of a step, but where bodies began: no shorter step takes them apart.
const SUNK: f64 = 1e3;

/// What a block of a contact is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Normal,
    Slide,
    Spin,
    Roll,
}

impl Part {
    const ALL: [Part; 4] = [Part::Normal, Part::Slide, Part::Spin, Part::Roll];

    fn n_rows(self) -> usize {
        match self {
            Part::Normal | Part::Spin => 1,
            Part::Slide | Part::Roll => 2,
        }
    }

    /// Where its impulses are in [`ContactMemory::impulse`].
    fn first_impulse(self) -> usize {
        match self {
            Part::Normal => 0,
            Part::Slide => 1,
            Part::Spin => 3,
            Part::Roll => 4,
        }
    }
}

/// A contact and what it needs through a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contact {
    pub touch: Touch,
    pub values: ContactValues,
    /// Its first block, that of the normal.
    pub first_block: usize,
    /// Where it is, at the poses of the rows.
    pub place: Place,
    pub tangents: [Vec3; 2],
    /// The points of both bodies that touched when the step began, in their frames, and how far a's was from b's, m.
    arms: [Vec3; 2],
    apart: Vec3,
    /// See [`ContactMemory`].
    pub memory: ContactMemory,
    /// Whether it pushes a deep overlap out in the running stage, and how far, m; whether the two are sunk into each other.
    pub pushes_out: bool,
    pub sunk: bool,
    pub push: f64,
    /// Impulse on body a in the running step, world frame, N s.
    pub given: Vec3,
}

impl Contact {
    pub(crate) fn new(touch: Touch, values: ContactValues, memory: ContactMemory) -> Self {
        let place = Place { normal: Vec3::z(), points: [Vec3::zeros(); 2], gap: 0.0 };
        Contact {
            touch,
            values,
            first_block: 0,
            place,
            tangents: [Vec3::x(), Vec3::y()],
            arms: [Vec3::zeros(); 2],
            apart: Vec3::zeros(),
            memory,
            pushes_out: false,
            sunk: false,
            push: 0.0,
            given: Vec3::zeros(),
        }
    }

    /// The gap at these poses, m.
    pub(crate) fn gap(&self, poses: &[Pose]) -> f64 {
        let [a, b] = self.touch.bodies;
        self.touch.gap(&poses[a], &poses[b])
    }

    /// The point halfway between the surfaces, m.
    pub(crate) fn point(&self) -> Vec3 {
        0.5 * (self.place.points[0] + self.place.points[1])
    }

    /// Largest ratio of the impulses of a part to that of the normal (m for those about axes).
    fn coefficient(&self, part: Part) -> f64 {
        let values = &self.values;
        match part {
            Part::Normal => f64::INFINITY,
            Part::Slide if self.memory.sticks => values.static_friction,
            Part::Slide => values.friction,
            Part::Spin => values.torsional_friction,
            Part::Roll => values.rolling_friction,
        }
    }

    fn has(&self, part: Part) -> bool {
        match part {
            Part::Normal => true,
            // Rows about axes are laid out after those across the normal.
            Part::Slide => {
                let v = &self.values;
                let any = [v.friction, v.static_friction, v.torsional_friction, v.rolling_friction];
                any.iter().any(|c| *c > 0.0)
            }
            Part::Spin => self.values.torsional_friction > 0.0,
            Part::Roll => self.values.rolling_friction > 0.0,
        }
    }

    /// Whether its points stay where they are on the bodies while it holds. Round bodies roll.
    pub(crate) fn is_anchored(&self) -> bool {
        let fixed = |f: &Feature| matches!(f, Feature::Point(_) | Feature::Plane { .. });
        self.touch.round.iter().all(|r| *r <= 0.0) && self.touch.features.iter().all(fixed)
    }

    /// Rows of a part: its directions for forces and for torques.
    fn directions(&self, part: Part) -> [(Vec3, bool); 2] {
        let [t1, t2] = self.tangents;
        match part {
            Part::Normal => [(-self.place.normal, false), (Vec3::zeros(), false)],
            Part::Slide => [(t1, false), (t2, false)],
            Part::Spin => [(self.place.normal, true), (Vec3::zeros(), true)],
            Part::Roll => [(t1, true), (t2, true)],
        }
    }

    /// Velocity of a's point over that of b's, at a place.
    fn sliding(place: &Place, poses: [&Pose; 2], twists: [&Twist; 2]) -> Vec3 {
        let point = 0.5 * (place.points[0] + place.points[1]);
        let [a, b] = [0, 1].map(|k| twists[k].s_dot + twists[k].omega.cross(&(point - poses[k].s)));
        a - b
    }
}

impl Rows {
    /// The contact of block `i`, one of its blocks.
    pub(crate) fn contact(&self, i: usize) -> &Contact {
        &self.contacts[self.roles[i - self.model_size.blocks].0]
    }

    /// The blocks of the contact whose normal is block `i`.
    pub(crate) fn blocks_of_contact(&self, i: usize) -> std::ops::Range<usize> {
        let contact = self.contact(i);
        i..i + Part::ALL.iter().filter(|part| contact.has(**part)).count()
    }

    /// The law of its impulses.
    pub(crate) fn law_of_contact(&self, i: usize) -> Kind {
        let contact = self.contact(i);
        if !contact.has(Part::Slide) {
            return Kind::Scalar { lo: 0.0, hi: f64::INFINITY };
        }
        let of = |part: Part| contact.has(part).then(|| contact.coefficient(part));
        Kind::Contact {
            mu: contact.coefficient(Part::Slide),
            spin: of(Part::Spin),
            roll: of(Part::Roll),
        }
    }

    /// The block of the normal that goes with block `i` of a contact.
    pub(crate) fn normal_of(&self, i: usize) -> usize {
        self.contact(i).first_block
    }

    /// Takes `contacts` in place of those there are. Returns whether the pattern of the rows has changed.
    pub(crate) fn set_contacts(&mut self, contacts: &[Contact]) -> bool {
        let same = |a: &Contact, b: &Contact| {
            a.touch.bodies == b.touch.bodies && Part::ALL.iter().all(|&p| a.has(p) == b.has(p))
        };
        let kept = contacts.len() == self.contacts.len()
            && contacts.iter().zip(&self.contacts).all(|(a, b)| same(a, b));
        if kept {
            for (own, new) in self.contacts.iter_mut().zip(contacts) {
                // What touches where it did needs no new rows.
                self.ready &= own.touch == new.touch;
                let Contact { first_block, place, tangents, .. } = *own;
                *own = Contact { first_block, place, tangents, ..*new };
            }
        } else {
            self.ready = false;
            self.contacts.clear();
            self.contacts.extend_from_slice(contacts);
            self.lay_out_contacts();
        }
        self.any_bounded = self.model_size.bounded || !self.contacts.is_empty();
        !kept
    }

    /// Blocks and rows for the contacts.
    fn lay_out_contacts(&mut self) {
        let size = self.model_size;
        self.blocks.truncate(size.blocks);
        self.body_list.truncate(size.bodies);
        self.roles.clear();
        let (mut row, mut jac, mut k) = (size.rows, size.jac, size.k);
        for (index, contact) in self.contacts.iter_mut().enumerate() {
            contact.first_block = self.blocks.len();
            for part in Part::ALL {
                if !contact.has(part) {
                    continue;
                }
                let n_rows = part.n_rows();
                self.blocks.push(Block {
                    first_row: row,
                    n_rows,
                    first_body: self.body_list.len(),
                    n_bodies: 2,
                    jac,
                    k,
                    tolerance: None,
                    bound: if part == Part::Normal { Bound::Contact } else { Bound::Disk },
                });
                self.body_list.extend(contact.touch.bodies);
                self.roles.push((index, part));
                row += n_rows;
                jac += 12 * n_rows;
                k += n_rows * n_rows;
            }
        }
        let n_blocks = self.blocks.len();
        self.mode.resize(n_blocks, Mode::Open);
        self.carry.resize(n_blocks, [0.0; small::MAX]);
        self.carrier.resize(n_blocks, None);
        self.stiffest.resize(self.roles.len(), 0.0);
        for flags in [&mut self.prescribed, &mut self.inactive, &mut self.out, &mut self.slack] {
            flags.resize(n_blocks, false);
        }
        for numbers in [&mut self.spent, &mut self.gap, &mut self.velocity_error] {
            numbers.resize(n_blocks, 0.0);
        }
        let Rows { begun, wanted, lower, upper, c_t, target, guess, error, solution, .. } = self;
        for numbers in [begun, wanted, lower, upper, c_t, target, guess, error, solution] {
            numbers.resize(row, 0.0);
        }
        self.impulse.resize(row, 0.0);
        self.velocity_impulse.resize(row, 0.0);
        self.jac.resize(jac, 0.0);
        self.response.resize(jac, 0.0);
        self.k_inv.resize(k, 0.0);
    }

    /// Places and Jacobians of the contacts at the poses.
    pub(crate) fn prepare_contacts(&mut self, poses: &[Pose]) {
        for contact in &mut self.contacts {
            let [a, b] = contact.touch.bodies;
            contact.place = contact.touch.place(&poses[a], &poses[b]);
            let (t1, t2) = perpendicular_frame(&contact.place.normal);
            contact.tangents = [t1, t2];
        }
        for (k, &(index, part)) in self.roles.iter().enumerate() {
            let block = &self.blocks[self.model_size.blocks + k];
            let contact = &self.contacts[index];
            let point = contact.point();
            let [a, b] = contact.touch.bodies.map(|body| point - poses[body].s);
            let directions = contact.directions(part);
            for row in 0..block.n_rows {
                let (d, turns) = directions[row];
                let (force, arm_a, arm_b) =
                    if turns { (Vec3::zeros(), d, d) } else { (d, a.cross(&d), b.cross(&d)) };
                let at = block.jac + 12 * row;
                let numbers = [force, arm_a, -force, -arm_b].map(<[f64; 3]>::from);
                self.jac[at..at + 12].copy_from_slice(numbers.as_flattened());
            }
        }
    }

    /// Largest eigenvalues of the blocks of contacts.
    pub(crate) fn find_stiffest(&mut self) {
        let Rows { blocks, jac, response, stiffest, model_size, .. } = self;
        for (block, stiffest) in blocks[model_size.blocks..].iter().zip(stiffest) {
            let own = block.jac..block.jac + 12 * block.n_rows;
            let (jac, _) = jac[own.clone()].as_chunks::<12>();
            let (response, _) = response[own].as_chunks::<12>();
            let entry = |a: &[f64; 12], b: &[f64; 12]| {
                let [mut x, mut y, mut z] = [0.0; 3];
                for k in 0..4 {
                    x += a[3 * k] * b[3 * k];
                    y += a[3 * k + 1] * b[3 * k + 1];
                    z += a[3 * k + 2] * b[3 * k + 2];
                }
                x + y + z
            };
            *stiffest = match (jac, response) {
                ([a], [b]) => entry(a, b),
                ([a1, a2], [b1, b2]) => {
                    let (a, b, d) = (entry(a1, b1), entry(a1, b2), entry(a2, b2));
                    0.5 * (a + d) + (0.25 * (a - d) * (a - d) + b * b).sqrt()
                }
                _ => 0.0,
            };
        }
    }

    /// Notes which points touch, when a step begins at the poses of the rows.
    pub(crate) fn begin_contacts(&mut self, poses: &[Pose]) {
        self.taken_known = false;
        self.exchanged = 0.0;
        self.through_contacts = 0.0;
        self.pushed_out = 0.0;
        self.loose = 0.0;
        for contact in &mut self.contacts {
            let point = contact.point();
            for (arm, body) in contact.arms.iter_mut().zip(contact.touch.bodies) {
                let pose = &poses[body];
                *arm = pose.rot.tr_mul(&(point - pose.s));
            }
            let [a, b] = contact.touch.bodies;
            contact.apart = poses[a].point(&contact.arms[0]) - poses[b].point(&contact.arms[1]);
            contact.given = Vec3::zeros();
        }
    }

    /// `part` of the impulses over a step as the guess for a position correction.
    pub(crate) fn guess_contacts(&mut self, part: f64) {
        for (k, &(index, kind)) in self.roles.iter().enumerate() {
            let block = &self.blocks[self.model_size.blocks + k];
            let memory = &self.contacts[index].memory;
            for row in 0..block.n_rows {
                let p = memory.impulse[kind.first_impulse() + row] * part;
                self.guess[block.first_row + row] = p;
            }
        }
    }

    /// What rows under the law gave at the start of the stage as the guess for a velocity correction: bodies at rest need the same again. `held` tells
    /// the blocks that the tree holds.
    pub(crate) fn guess_velocities(&mut self, held: &[bool]) {
        let law = self.has_bounds();
        for (i, block) in self.blocks.iter().enumerate() {
            let free = law && held.get(i).is_some_and(|held| !held);
            if !self.inactive[i] && (block.bound != Bound::None || free) {
                let rows = block.first_row..block.first_row + block.n_rows;
                self.velocity_impulse[rows.clone()].copy_from_slice(&self.impulse[rows]);
            }
        }
    }

    /// Begins a velocity correction with that.
    pub(crate) fn begin_velocities(&mut self, held: &[bool], bodies: &mut Bodies) {
        self.guess_velocities(held);
        for (i, block) in self.blocks.iter().enumerate() {
            let rows = block.first_row..block.first_row + block.n_rows;
            let p = &self.velocity_impulse[rows];
            if !self.inactive[i] && p.iter().any(|p| *p != 0.0) {
                self.apply(i, p, bodies);
            }
        }
    }

    /// Begins a position correction of the sweep with the guess for contacts.
    pub(crate) fn begin_positions(&mut self, bodies: &mut Bodies) {
        for i in self.model_size.blocks..self.blocks.len() {
            if self.inactive[i] {
                continue;
            }
            let rows = self.blocks[i].first_row..self.blocks[i].first_row + self.blocks[i].n_rows;
            if self.impulse[rows.clone()].iter().any(|p| *p != 0.0) {
                continue; // another solver has begun
            }
            self.impulse[rows.clone()].copy_from_slice(&self.guess[rows.clone()]);
            self.apply(i, &self.impulse[rows], bodies);
        }
    }

    /// Targets of a part of a step: `keep` of what the contacts have now.
    pub(crate) fn target_contacts(&mut self, keep: f64, poses: &[Pose]) {
        // Rooms that are kept beside bodies sunk into each other contradict what takes those apart.
        let deepest = -SUNK * self.overlap_allowed;
        let any_sunk = self.contacts.iter().any(|contact| contact.place.gap < deepest);
        let least = if any_sunk { 0.0 } else { f64::NEG_INFINITY };
        for (k, &(index, kind)) in self.roles.iter().enumerate() {
            let row = self.blocks[self.model_size.blocks + k].first_row;
            let contact = &self.contacts[index];
            match kind {
                Part::Normal => self.target[row] = (-keep * contact.gap(poses)).max(least),
                Part::Slide => {}
                Part::Spin => self.target[row] = 0.0,
                Part::Roll => self.target[row..row + 2].fill(0.0),
            }
        }
    }

    /// Targets of friction that holds: it keeps `keep` of what the contacts have slid within tolerance, and what is within the band.
    pub(crate) fn target_slides(&mut self, keep: f64) {
        for (k, &(index, _)) in
            self.roles.iter().enumerate().filter(|(_, (_, part))| *part == Part::Slide)
        {
            let row = self.blocks[self.model_size.blocks + k].first_row;
            let contact = &self.contacts[index];
            let slid = contact.memory.slid;
            let kept = held_part(slid.norm(), self.held_band).max(keep);
            for (k, t) in contact.tangents.iter().enumerate() {
                self.target[row + k] = kept * t.dot(&slid);
            }
        }
    }

    /// Targets within deep overlaps, which go slowly: [`PUSH_OUT`] of the depth in a second, [`PUSH_PART`] of it at most in a whole step.
    /// Taking all of it away in one step would make speeds depth/h out of it, and energy.
    pub(crate) fn target_deep(&mut self, keep: f64) {
        for contact in &mut self.contacts {
            let deep = -contact.place.gap;
            contact.pushes_out = deep > 2.0 * self.overlap_allowed;
            contact.sunk = deep > SUNK * self.overlap_allowed;
            if contact.pushes_out {
                let part = (PUSH_OUT * self.whole_step.abs()).min(PUSH_PART);
                contact.push = (1.0 - keep) * self.overlap_allowed.max(part * deep);
                self.target[self.blocks[contact.first_block].first_row] = deep - contact.push;
            }
        }
    }

    /// Deep overlaps stay as they are in the running stage.
    pub(crate) fn hold_deep(&mut self) {
        for contact in self.contacts.iter_mut().filter(|contact| contact.pushes_out) {
            contact.push = 0.0;
            self.target[self.blocks[contact.first_block].first_row] = -contact.place.gap;
        }
    }

    /// C of block `i` of a contact where free flight takes its bodies, whose poses ahead are ready.
    ///
    /// What slides is the way of the points that touched at the start (corners on faces), or, where bodies roll, the trapezoid of the
    /// sliding velocities at both ends of the flight.
    pub(crate) fn contact_error_ahead(&self, i: usize, bodies: &Bodies, h: f64, c: &mut [f64]) {
        let (index, part) = self.roles[i - self.model_size.blocks];
        let contact = &self.contacts[index];
        let [a, b] = contact.touch.bodies;
        let ahead = [&bodies.ahead[a], &bodies.ahead[b]];
        match part {
            Part::Normal => c[0] = -contact.touch.gap(ahead[0], ahead[1]),
            Part::Slide => {
                let way = if contact.is_anchored() {
                    ahead[0].point(&contact.arms[0])
                        - ahead[1].point(&contact.arms[1])
                        - contact.apart
                } else {
                    let poses = [&bodies.poses[a], &bodies.poses[b]];
                    let now = [&bodies.twists[a], &bodies.twists[b]];
                    let [then_a, then_b] = [a, b].map(|body| bodies.twist_ahead(body, h));
                    let place = contact.touch.place(ahead[0], ahead[1]);
                    let before = Contact::sliding(&contact.place, poses, now);
                    let after = Contact::sliding(&place, ahead, [&then_a, &then_b]);
                    0.5 * h * (before + after)
                };
                for (c, t) in c.iter_mut().zip(&contact.tangents) {
                    *c = t.dot(&(way + contact.memory.slid));
                }
            }
            Part::Spin | Part::Roll => {
                let mut rate = [0.0; 2];
                self.error_rate(i, &bodies.twists, &mut rate[..c.len()]);
                for (c, rate) in c.iter_mut().zip(rate) {
                    *c = h * rate;
                }
            }
        }
    }

    /// Largest friction impulse of block `i`.
    pub(crate) fn disk_limit(&self, i: usize, velocity: bool) -> f64 {
        let (index, part) = self.roles[i - self.model_size.blocks];
        let contact = &self.contacts[index];
        let row = self.blocks[contact.first_block].first_row;
        let p = if velocity { self.velocity_impulse[row] } else { self.impulse[row] };
        contact.coefficient(part) * p.abs()
    }

    /// Largest eigenvalue of K of block `i` of a contact.
    pub(crate) fn stiffness(&self, i: usize) -> f64 {
        self.stiffest[i - self.model_size.blocks]
    }

    /// What friction block `i` slips with, if it does: the projection of p − e/k on its disk, where that is outside, for the
    /// error `e` of a rate. Its fixed point is p against e at the edge.
    pub(crate) fn slips(&self, i: usize, e: &[f64], velocity: bool) -> Option<[f64; 2]> {
        let (row, n) = (self.blocks[i].first_row, self.blocks[i].n_rows);
        let limit = self.disk_limit(i, velocity);
        let k = self.stiffness(i);
        if k <= 0.0 {
            return Some([0.0; 2]);
        }
        let p = if velocity { &self.velocity_impulse } else { &self.impulse };
        let mut trial = [0.0; 2];
        for j in 0..n {
            trial[j] = p[row + j] - e[j] / k;
        }
        let size = small::length(trial[0], trial[1]);
        (size > limit * (1.0 + 1e-12)).then(|| trial.map(|x| x * (limit / size)))
    }

    /// Cuts what is to be added to friction block `i` to its disk; true if that was too much.
    pub(crate) fn cut_to_disk(&self, i: usize, delta: &mut [f64], velocity: bool) -> bool {
        let row = self.blocks[i].first_row;
        let limit = self.disk_limit(i, velocity);
        let p = if velocity { &self.velocity_impulse } else { &self.impulse };
        let mut wanted = [0.0; 2];
        for (j, d) in delta.iter().enumerate() {
            wanted[j] = p[row + j] + d;
        }
        let size = small::length(wanted[0], wanted[1]);
        if size <= limit {
            return false;
        }
        for (j, d) in delta.iter_mut().enumerate() {
            *d = wanted[j] * (limit / size) - p[row + j];
        }
        true
    }

    /// How much another impulse `p` of friction block `i` would change its own rate.
    pub(crate) fn off_by(&self, i: usize, p: [f64; 2], velocity: bool) -> f64 {
        let (row, n) = (self.blocks[i].first_row, self.blocks[i].n_rows);
        let now = if velocity { &self.velocity_impulse } else { &self.impulse };
        let far: f64 = (0..n).map(|k| (p[k] - now[row + k]) * (p[k] - now[row + k])).sum();
        far.sqrt() * self.stiffness(i)
    }

    /// Gives friction block `i` the impulse `p` in place of the one it has; returns how much that changes its own rate.
    pub(crate) fn slip_with(
        &mut self,
        i: usize,
        p: [f64; 2],
        velocity: bool,
        bodies: &mut Bodies,
    ) -> f64 {
        let (row, n) = (self.blocks[i].first_row, self.blocks[i].n_rows);
        let sum = if velocity { &mut self.velocity_impulse } else { &mut self.impulse };
        let mut delta = [0.0; 2];
        for j in 0..n {
            delta[j] = p[j] - sum[row + j];
            sum[row + j] = p[j];
        }
        self.apply(i, &delta[..n], bodies);
        small::length(delta[0], delta[1]) * self.stiffness(i)
    }

    /// Energy that the impulses of block `i` took at an instant: −p · ½ J (v⁻ + v⁺), J.
    pub(crate) fn work_against(&self, i: usize, bodies: &Bodies, end: bool) -> f64 {
        if let (true, Some(taken)) = (self.taken_known, self.taken.get(i - self.model_size.blocks))
        {
            return *taken;
        }
        let (row, n) = (self.blocks[i].first_row, self.blocks[i].n_rows);
        let p = if end { &self.velocity_impulse } else { &self.impulse };
        let p = &p[row..row + n];
        if p.iter().all(|p| *p == 0.0) {
            return 0.0;
        }
        // The impulse over both bodies' mean velocities.
        let jac = &self.jac[self.blocks[i].jac..][..12 * n];
        let mut given = [0.0; 12];
        for (row, p) in jac.chunks_exact(12).zip(p) {
            for (given, j) in given.iter_mut().zip(row) {
                *given += j * p;
            }
        }
        let mut sum = 0.0;
        for (given, &body) in
            given.chunks_exact(6).zip(&self.body_list[self.blocks[i].first_body..])
        {
            if bodies.fixed[body] {
                continue;
            }
            let (before, after) = (&bodies.twists_before[body], &bodies.twists[body]);
            let (slide, turn) = (before.s_dot + after.s_dot, before.omega + after.omega);
            sum += given[0] * slide.x + given[1] * slide.y + given[2] * slide.z;
            sum += given[3] * turn.x + given[4] * turn.y + given[5] * turn.z;
        }
        -0.5 * sum
    }

    /// Energy that the normals of contacts, and end stops that are reached, took at an instant, J. Adds what went through them, either way, to `exchanged` and `through_contacts`. What contacts
    /// that push deep overlaps out take at both ends of a stage counts at its end; what they give is none of it, but goes to `pushed_out`.
    pub(crate) fn contact_loss(&mut self, bodies: &Bodies, end: bool) -> f64 {
        let (mut sum, mut size, mut through, mut pushing) = (0.0, 0.0, 0.0, 0.0);
        let mut landing = 0.0;
        for contact in self.contacts.iter().filter(|contact| !self.inactive[contact.first_block]) {
            let loss = self.work_against(contact.first_block, bodies, end);
            if contact.pushes_out {
                pushing += loss;
            } else {
                sum += loss;
                size += loss.abs();
                // What lands in the step is stopped by it.
                let lands = contact.memory.impulse[0] == 0.0;
                *(if lands { &mut landing } else { &mut through }) += loss.abs();
            }
        }
        // So is what leans on what lands: a sole that comes down on one corner after the other.
        if landing > LANDING_PART * through {
            through = 0.0;
        }
        for &i in self.stops.iter().filter(|&&i| self.landing[i] && !self.inactive[i]) {
            let row = self.blocks[i].first_row;
            let p = if end { self.velocity_impulse[row] } else { self.impulse[row] };
            if p != 0.0 {
                let (mut before, mut after) = ([0.0], [0.0]);
                self.error_rate(i, &bodies.twists_before, &mut before);
                self.error_rate(i, &bodies.twists, &mut after);
                sum -= 0.5 * p * (before[0] + after[0]);
            }
        }
        self.exchanged += size + f64::abs(pushing);
        self.through_contacts += through;
        if end {
            let both = std::mem::take(&mut self.pushing_loss) + pushing;
            self.pushed_out += (-both).max(0.0);
            sum += both.max(0.0);
        } else {
            self.pushing_loss = pushing;
        }
        sum
    }

    /// After a position correction: which contacts hold, and how far they have slipped within tolerance.
    pub(crate) fn note_sliding(&mut self, bodies: &mut Bodies, look: &crate::rows::Look<'_>) {
        let looked = std::mem::take(&mut self.looked);
        for k in 0..self.roles.len() {
            let (index, part) = self.roles[k];
            if part != Part::Slide {
                continue;
            }
            let i = self.model_size.blocks + k;
            let row = self.blocks[i].first_row;
            let limit = self.disk_limit(i, false);
            let size = small::length(self.impulse[row], self.impulse[row + 1]);
            let sticks = limit > 0.0 && size < limit * (1.0 - 1e-9) && !self.inactive[i];
            let mut slid = Vec3::zeros();
            if sticks {
                let mut c = [0.0; 2];
                if looked {
                    c = [0, 1].map(|k| self.target[row + k] - self.error[row + k] * look.h);
                } else {
                    for body in self.contacts[index].touch.bodies {
                        bodies.look_ahead_pose(body, look.flight, look.h);
                    }
                    self.contact_error_ahead(i, bodies, look.h, &mut c);
                }
                let [t1, t2] = self.contacts[index].tangents;
                slid = t1 * c[0] + t2 * c[1];
            }
            let memory = &mut self.contacts[index].memory;
            (memory.sticks, memory.slid) = (sticks, slid);
        }
    }

    /// Adds the impulses of an instant to what the contacts have given.
    pub(crate) fn add_contact_impulses(&mut self, end: bool) {
        let impulse = if end { &self.velocity_impulse } else { &self.impulse };
        for (k, &(index, part)) in self.roles.iter().enumerate() {
            let row = self.blocks[self.model_size.blocks + k].first_row;
            let contact = &mut self.contacts[index];
            match part {
                Part::Normal => contact.given -= contact.place.normal * impulse[row],
                Part::Slide => {
                    let [t1, t2] = contact.tangents;
                    contact.given += t1 * impulse[row] + t2 * impulse[row + 1];
                }
                Part::Spin | Part::Roll => {}
            }
        }
    }

    /// Keeps the impulses found as `1/part` of those of a whole step: the mean of both ends of a stage. Their sum is what the force
    /// gave; how positions and velocities within tolerance share it changes from step to step, and what rests would never
    /// need nothing.
    pub(crate) fn note_contact_impulses(&mut self, part: f64) {
        for (k, &(index, kind)) in self.roles.iter().enumerate() {
            let block = &self.blocks[self.model_size.blocks + k];
            let memory = &mut self.contacts[index].memory;
            for row in 0..block.n_rows {
                let k = block.first_row + row;
                memory.impulse[kind.first_impulse() + row] = self.velocity_impulse[k] / part;
            }
        }
    }

    /// Says the bodies where the block of an error is that of a contact.
    pub(crate) fn name_contact(&self, error: StepError) -> StepError {
        let (block, off, sweeps, t) = match error {
            StepError::Positions { block, gap, sweeps, t } => (block, gap, sweeps, t),
            StepError::Velocities { block, error, sweeps, t } => (block, error, sweeps, t),
            other => return other,
        };
        if block < self.model_size.blocks {
            return error;
        }
        StepError::Contact { bodies: self.contact(block).touch.bodies, error: off, sweeps, t }
    }

    /// Writes what contacts remember.
    pub(crate) fn write_memory(&self, memory: &mut Vec<ContactMemory>) {
        memory.clear();
        memory.extend(self.contacts.iter().map(|contact| contact.memory));
    }
}

impl Bodies {
    /// The velocity of body `i` after free flight over `h`, where its pose ahead is ready: ω(h) = J̃(h)⁻¹ J̃ ω.
    fn twist_ahead(&self, i: usize, h: f64) -> Twist {
        if self.fixed[i] {
            return self.twists[i];
        }
        let twist = &self.twists[i];
        let momentum = self.inertia[i].component_mul(&self.poses[i].rot.tr_mul(&twist.omega));
        let momentum = self.poses[i].rot * momentum;
        let rot = &self.ahead[i].rot;
        let omega = rot * self.inertia_inv[i].component_mul(&rot.tr_mul(&momentum));
        Twist { s_dot: twist.s_dot + self.gravity[i] * h, omega }
    }
}
