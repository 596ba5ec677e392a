//! The papers' sweep for ball joints: one joint after the other.
//!
//! Each correction waits for the one before, so what counts is how long the way is from an error to the next look. The two links of a joint
//! go side by side; their turn over a step is kept as the vector x = ω h, and free flight takes a point with lever r to
//! ```text
//! s + h v + h²/2 g + r + sinc x (x × r) + (1 − cos x)/x² (x × (x × r))
//! ```
//! (the formula of Rodrigues), where the products do not wait for the series. Impulses change x and the centre ahead by matrices made once a step;
//! what they change is summed link by link, and gives the velocities in the end. (The sums of impulses would not: joints that hold the same
//! thing twice may pull against each other without bound.) Velocities go the same way, with v and ω in place of centre and turn.
//!
//! Links are rods or spheres here, whose ω is constant in flight but for a spin about a rod's own axis: that spin turns the lever before.

use gelenk_model::math::{Mat3, Vec3};
use gelenk_model::{Flight, Model};
use wide::f64x2;

use super::direct::{own_response, vector};
use super::factor::{Upper, inverse, matrix};
use super::{Balls, Joint, Link};
use crate::flight::{COS, SHORT, SINC, cos_sinc, exp, rotate};
use crate::lanes::{F, V};
use crate::rows::{Look, Rows};
use crate::solver::{Worst, part_of_gap};

/// A ball joint for the sweep. C = p_b − p_a; the impulse acts on b, its opposite on a.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    /// Its place in elimination order.
    joint: usize,
    /// Links a and b; one beyond the last is the ground.
    links: [usize; 2],
    /// Levers at time t, turned by the spin; 0 on the ground.
    r: Two,
    /// Where the points are ahead, but for the turn, and the vectors of the turns, without impulses.
    point: Two,
    turn: Two,
    /// What p_b − p_a is to be.
    aim: Vec3,
    /// C there.
    target: Vec3,
    /// −span/m_a and span/m_b; span J̃⁻¹ r× in the same way, and times K⁻¹.
    mass: f64x2,
    w: [Two; 3],
    wk: [Two; 3],
    /// K of the joint alone, and its inverse.
    k: Upper,
    k_inv: Mat3,
    /// Impulse so far, N s.
    p: Vec3,
}

/// How impulses have changed what free flight makes of a link: its centre ahead, m, and the vector of its turn, rad; or its velocities.
#[derive(Clone, Debug)]
pub(super) struct Moved {
    centre: Vec3,
    turn: Vec3,
}

/// A vector of each of two links.
#[derive(Clone, Copy, Debug)]
struct Two {
    x: f64x2,
    y: f64x2,
    z: f64x2,
}

impl Two {
    const ZERO: Two = Two { x: f64x2::ZERO, y: f64x2::ZERO, z: f64x2::ZERO };

    #[inline(always)]
    fn new(a: &Vec3, b: &Vec3) -> Two {
        Two { x: f64x2::new([a.x, b.x]), y: f64x2::new([a.y, b.y]), z: f64x2::new([a.z, b.z]) }
    }

    #[inline(always)]
    fn each(self) -> [Vec3; 2] {
        let (x, y, z) = (self.x.to_array(), self.y.to_array(), self.z.to_array());
        [Vec3::new(x[0], y[0], z[0]), Vec3::new(x[1], y[1], z[1])]
    }

    /// Sets the vector of one link.
    fn set(&mut self, side: usize, v: &Vec3) {
        self.x.as_mut_array()[side] = v.x;
        self.y.as_mut_array()[side] = v.y;
        self.z.as_mut_array()[side] = v.z;
    }

    #[inline(always)]
    fn plus(self, b: Two) -> Two {
        Two { x: self.x + b.x, y: self.y + b.y, z: self.z + b.z }
    }

    #[inline(always)]
    fn times(self, k: f64x2) -> Two {
        Two { x: self.x * k, y: self.y * k, z: self.z * k }
    }

    #[inline(always)]
    fn cross(self, b: Two) -> Two {
        Two {
            x: self.y * b.z - self.z * b.y,
            y: self.z * b.x - self.x * b.z,
            z: self.x * b.y - self.y * b.x,
        }
    }

    #[inline(always)]
    fn norm_squared(self) -> f64x2 {
        self.x * self.x + self.y * self.y + self.z * self.z
    }
}

/// Matrices of two links, by their columns, times the same vector.
#[inline(always)]
fn times(columns: &[Two; 3], v: &Vec3) -> Two {
    let [x, y, z] = [v.x, v.y, v.z].map(f64x2::splat);
    columns[0].times(x).plus(columns[1].times(y)).plus(columns[2].times(z))
}

/// sin x/x and (1 − cos x)/x² for z = x².
#[inline(always)]
fn turn_parts(z: f64x2) -> [f64x2; 2] {
    let [a, b] = z.to_array();
    if a.max(b) < 4.0 * SHORT {
        let (z2, k) = (z * z, f64x2::splat);
        let first = (k(1.0) + z * k(SINC[0])) + z2 * (k(SINC[1]) + z * k(SINC[2]));
        let second = (k(-COS[0]) - z * k(COS[1])) - z2 * (k(COS[2]) + z * k(COS[3]));
        let z4 = z2 * z2;
        return [first + z4 * (k(SINC[3]) + z * k(SINC[4])), second - z4 * k(COS[4])];
    }
    // By half the angle.
    let [a, b] = [a, b].map(|z| {
        let (cos, sinc) = cos_sinc(0.25 * z);
        [sinc * cos, 0.5 * sinc * sinc]
    });
    [f64x2::new([a[0], b[0]]), f64x2::new([a[1], b[1]])]
}

/// The joints in the order of the model's row blocks, and memory for the links.
pub(super) fn pairs(
    model: &Model,
    links: &[Link],
    joints: &[Joint],
    between: &[[usize; 2]],
) -> (Vec<Pair>, Vec<Moved>) {
    let mut at_body = vec![links.len(); model.n_bodies()];
    for (k, link) in links.iter().enumerate() {
        at_body[link.body] = k;
    }
    let zero = Vec3::zeros();
    let mut pairs: Vec<Pair> = between
        .iter()
        .enumerate()
        .map(|(joint, bodies)| Pair {
            joint,
            links: bodies.map(|body| at_body[body]),
            r: Two::ZERO,
            point: Two::ZERO,
            turn: Two::ZERO,
            aim: zero,
            target: zero,
            mass: f64x2::ZERO,
            w: [Two::ZERO; 3],
            wk: [Two::ZERO; 3],
            k: Upper::default(),
            k_inv: Mat3::zeros(),
            p: zero,
        })
        .collect();
    pairs.sort_by_key(|pair| joints[pair.joint].block);
    (pairs, vec![Moved { centre: zero, turn: zero }; links.len() + 1])
}

impl Balls {
    /// Whether sweeps know how the links turn.
    pub(crate) fn can_sweep(&self, flight: Flight) -> bool {
        matches!(flight, Flight::Exact) && self.evenly
    }

    /// Begins sweeps: without impulses, over free flight to what C is to be, if not 0 (n_rows); or of velocities.
    pub(crate) fn begin_sweeps(&mut self, look: Option<&Look<'_>>, target: Option<&[f64]>) {
        let Balls { groups, slots, pairs, moved, pair_of, joints, gravity, still, .. } = self;
        let span = look.map_or(1.0, |look| look.h);
        for pair in pairs.iter_mut() {
            (pair.p, pair.k) = (Vec3::zeros(), Upper::default());
            (pair.aim, pair.target) = (Vec3::zeros(), Vec3::zeros());
            if let Some(target) = target {
                pair.aim = vector(target, joints[pair.joint].row);
                pair.target = pair.aim;
            }
            (pair.r, pair.mass, pair.w) = (Two::ZERO, f64x2::ZERO, [Two::ZERO; 3]);
            (pair.point, pair.turn) = (Two::ZERO, Two::ZERO);
        }
        if look.is_some() {
            for (joint, point) in still.iter() {
                pairs[pair_of[*joint]].aim -= point;
            }
        }
        moved.fill(Moved { centre: Vec3::zeros(), turn: Vec3::zeros() });
        for group in groups.iter() {
            let n = group.len();
            let (centre, turn, spin) = group.flight(look.map(|look| look.h), gravity);
            let mass_inv = group.mass_inv.to_array();
            for slot in &slots[group.first_slot..group.last_slot] {
                let w = group.inertia_inv.matrix().times_cross(slot.r);
                let upper = own_response(group.mass_inv, slot.r, &w).map(F::to_array);
                let (r, sign) = (slot.r.each(), slot.sign.to_array());
                let columns = [w.x, w.y, w.z].map(V::each);
                for lane in 0..n {
                    let Some(&pair) = pair_of.get(slot.joint[lane]) else { continue };
                    let (pair, side) = (&mut pairs[pair], usize::from(sign[lane] > 0.0));
                    for (k, upper) in pair.k.iter_mut().zip(&upper) {
                        *k += upper[lane];
                    }
                    let lever = spin.map_or(r[lane], |spin| rotate(&exp(&spin[lane]), &r[lane]));
                    pair.r.set(side, &lever);
                    let point = if look.is_some() { centre[lane] + lever } else { centre[lane] };
                    pair.point.set(side, &point);
                    pair.turn.set(side, &turn[lane]);
                    let part = sign[lane] * span;
                    pair.mass.as_mut_array()[side] = part * mass_inv[lane];
                    for (w, column) in pair.w.iter_mut().zip(&columns) {
                        w.set(side, &(column[lane] * part));
                    }
                }
            }
        }
        for pair in pairs {
            // The masses alone make K regular.
            pair.k_inv =
                inverse(&pair.k, 0.0).map_or_else(Mat3::zeros, |(inverse, _)| matrix(&inverse));
            pair.wk = [0, 1, 2].map(|c| times(&pair.w, &pair.k_inv.column(c).into()));
        }
    }

    /// One sweep over C(t+h), or over J v where `h` is not there: each joint that is out of tolerance is corrected by −K⁻¹ e/h. `all`:
    /// also those within. `slow`: only what is out of tolerance is taken away. Returns the corrections and the worst error over tolerance.
    #[inline(always)]
    pub(crate) fn sweep(
        &mut self,
        h: Option<f64>,
        tolerance: impl Fn(Option<f64>) -> f64,
        all: bool,
        slow: bool,
    ) -> (u64, f64) {
        let Balls { pairs, joints, moved, own_tolerances, .. } = self;
        let (common, rate) = (tolerance(None), h.map_or(1.0, |h| 1.0 / h));
        let (mut corrections, mut worst, mut sum) = (0, 0.0, 0.0);
        let (limit, weight) = (common * common, 1.0 / (common * common));
        for pair in pairs.iter_mut() {
            let (a, b) = (&moved[pair.links[0]], &moved[pair.links[1]]);
            let (centre, turned) = (Two::new(&a.centre, &b.centre), Two::new(&a.turn, &b.turn));
            let turn = pair.turn.plus(turned);
            let once = turn.cross(pair.r);
            let [p_a, p_b] = if h.is_some() {
                let twice = turn.cross(once);
                let [first, second] = turn_parts(turn.norm_squared());
                let way = once.times(first).plus(twice.times(second));
                pair.point.plus(centre).plus(way).each()
            } else {
                pair.point.plus(centre).plus(once).each()
            };
            let e = p_b - p_a - pair.aim;
            let gap_squared = (e + pair.target).norm_squared();
            let (mut limit, mut weight) = (limit, weight);
            if *own_tolerances {
                let own = tolerance(joints[pair.joint].tolerance);
                (limit, weight) = (own * own, 1.0 / (own * own));
            }
            let ratio = gap_squared * weight;
            worst = if ratio > worst { ratio } else { worst };
            sum += ratio;
            // A NaN is out of tolerance.
            if !all && gap_squared < limit {
                continue;
            }
            corrections += 1;
            let part = if slow { part_of_gap(ratio.sqrt()) } else { 1.0 };
            let e = e * (rate * part);
            let p = pair.k_inv * e;
            pair.p -= p;
            let [turn_a, turn_b] = turned.plus(times(&pair.wk, &-e)).each();
            let [x, y, z] = [p.x, p.y, p.z].map(|p| pair.mass * f64x2::splat(-p));
            let [centre_a, centre_b] = centre.plus(Two { x, y, z }).each();
            moved[pair.links[0]] = Moved { centre: centre_a, turn: turn_a };
            moved[pair.links[1]] = Moved { centre: centre_b, turn: turn_b };
        }
        // What is not a number is the worst.
        (corrections, if sum.is_finite() { worst.sqrt() } else { sum })
    }

    /// Ends sweeps over C(t+h): gives the links their velocities, and looks.
    pub(crate) fn end_positions(&mut self, look: &Look<'_>, tolerance: f64, floor: f64) -> Worst {
        self.give_velocities(1.0 / look.h);
        self.see_ahead(look, tolerance, floor, 1.0)
    }

    /// The same for J v.
    pub(crate) fn end_velocities(&mut self, tolerance: f64) -> Worst {
        self.give_velocities(1.0);
        self.see_rates(tolerance, 1.0)
    }

    fn give_velocities(&mut self, rate: f64) {
        let mut moved = self.moved.iter();
        for group in &mut self.groups {
            for k in 0..group.len() {
                let Some(Moved { centre, turn }) = moved.next() else { return };
                group.move_on(k, &(centre * rate), &(turn * rate));
            }
        }
        self.x.fill(Vec3::zeros());
        for pair in &self.pairs {
            self.p[pair.joint] = pair.p;
        }
    }

    /// Adds further impulses. (n_rows)
    pub(crate) fn add(&mut self, delta: &[f64]) {
        let Balls { pairs, joints, moved, .. } = self;
        for pair in pairs {
            let p = vector(delta, joints[pair.joint].row);
            pair.p += p;
            let by = times(&pair.w, &p).each();
            let mass = pair.mass.to_array();
            for side in [0, 1] {
                let moved = &mut moved[pair.links[side]];
                moved.turn += by[side];
                moved.centre += p * mass[side];
            }
        }
    }

    /// Writes the impulses so far. (n_rows)
    pub(crate) fn write_impulses(&self, rows: &mut Rows) {
        for pair in &self.pairs {
            let row = self.joints[pair.joint].row;
            rows.solution[row..][..3].copy_from_slice(pair.p.as_slice());
        }
    }
}
