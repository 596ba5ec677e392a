//! The papers' sweep for ball joints: one joint after the other.
//!
//! Each correction waits for the one before, so what counts is how long the way is from an error to the next look: impulses turn into
//! changes of ω by matrices made once a step.

use gelenk_model::joint::JointKind;
use gelenk_model::math::{Mat3, Vec3};
use gelenk_model::rows::RowKind;
use gelenk_model::{BodyId, Model};

use super::direct::{add_own_response, times_cross};
use super::factor::{Upper, inverse, matrix};
use super::{Balls, Link};
use crate::rows::Look;
use crate::scratch::Bodies;

/// A ball joint for the sweep. C = p_b − p_a; the impulse acts on b, its opposite on a.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    /// First row in the model.
    row: usize,
    /// Links a and b; one beyond the last is the ground.
    a: usize,
    b: usize,
    bodies: [usize; 2],
    r_a_body: Vec3,
    r_b_body: Vec3,
    /// Levers at time t; 0 on the ground.
    r_a: Vec3,
    r_b: Vec3,
    /// The part of C that stands still: points of the ground.
    still: Vec3,
    /// What p_b − p_a is to be beside it: the target less `still`.
    aim: Vec3,
    /// W = J̃⁻¹ r×: Δω_b = W_b p, Δω_a = −W_a p.
    w_a: Mat3,
    w_b: Mat3,
    /// K⁻¹ of the joint alone, and W K⁻¹.
    k_inv: Mat3,
    wk_a: Mat3,
    wk_b: Mat3,
    /// Impulse so far, N s.
    p: Vec3,
    /// Length of the error when last looked at.
    error: f64,
}

/// The joints in the order of the model's row blocks.
pub(super) fn pairs(model: &Model, links: &[Link]) -> Vec<Pair> {
    let zero = Vec3::zeros();
    let mut at_body = vec![links.len(); model.n_bodies()];
    for (k, link) in links.iter().enumerate() {
        at_body[link.body] = k;
    }
    let pair = |rows: &gelenk_model::RowBlock| {
        let RowKind::Joint(id) = rows.kind else { return None };
        let joint = &model.joints[id.index()];
        let JointKind::Ball(ball) = &joint.kind else { return None };
        let bodies = joint.bodies.map(BodyId::index);
        Some(Pair {
            row: rows.first_row,
            a: at_body[bodies[0]],
            b: at_body[bodies[1]],
            bodies,
            r_a_body: ball.r_a_body,
            r_b_body: ball.r_b_body,
            r_a: zero,
            r_b: zero,
            still: zero,
            aim: zero,
            w_a: Mat3::zeros(),
            w_b: Mat3::zeros(),
            k_inv: Mat3::zeros(),
            wk_a: Mat3::zeros(),
            wk_b: Mat3::zeros(),
            p: zero,
            error: 0.0,
        })
    };
    model.rows.iter().filter_map(pair).collect()
}

impl Balls {
    /// Poses and velocities from `bodies`, K⁻¹ of every joint, and what C is to be. (n_rows)
    pub(crate) fn begin_sweeps(&mut self, bodies: &Bodies, target: &[f64]) {
        if !self.links_ready {
            self.prepare_sweeps(bodies);
        }
        for link in self.links.iter_mut().filter(|link| !link.ground) {
            let twist = &bodies.twists[link.body];
            (link.s_dot, link.omega) = (twist.s_dot, twist.omega);
            link.looked = false;
        }
        for pair in &mut self.pairs {
            pair.p = Vec3::zeros();
            pair.aim = Vec3::from_column_slice(&target[pair.row..][..3]) - pair.still;
        }
    }

    fn prepare_sweeps(&mut self, bodies: &Bodies) {
        for link in self.links.iter_mut().filter(|link| !link.ground) {
            let pose = &bodies.poses[link.body];
            link.s = pose.s;
            link.e = pose.rot.column(link.axis).into();
        }
        for pair in &mut self.pairs {
            pair.still = Vec3::zeros();
            let mut k = Upper::default();
            let sides =
                [(pair.a, pair.bodies[0], pair.r_a_body), (pair.b, pair.bodies[1], pair.r_b_body)];
            let [a, b] = [0, 1].map(|side| {
                let (link, body, r_body) = sides[side];
                let (link, pose) = (&self.links[link], &bodies.poses[body]);
                if link.ground {
                    let sign = if side == 1 { 1.0 } else { -1.0 };
                    pair.still += pose.point(&r_body) * sign;
                    return (Vec3::zeros(), Mat3::zeros());
                }
                let r = pose.rot * r_body;
                let w = times_cross(&bodies.inertia_inv_world[body], &r);
                add_own_response(&mut k, link.mass_inv, &r, &w);
                (r, w)
            });
            // The masses alone make K regular.
            pair.k_inv = inverse(&k, 0.0).map_or_else(Mat3::zeros, |(inverse, _)| matrix(&inverse));
            (pair.r_a, pair.w_a, pair.wk_a) = (a.0, a.1, a.1 * pair.k_inv);
            (pair.r_b, pair.w_b, pair.wk_b) = (b.0, b.1, b.1 * pair.k_inv);
        }
        self.links_ready = true;
    }

    /// Ends sweeps: gives impulses, errors and velocities back.
    pub(crate) fn end_sweeps(&self, impulse: &mut [f64], error: &mut [f64], bodies: &mut Bodies) {
        for (pair, error) in self.pairs.iter().zip(error) {
            for k in 0..3 {
                impulse[pair.row + k] += pair.p[k];
            }
            *error = pair.error;
        }
        for link in self.links.iter().filter(|link| !link.ground) {
            let twist = &mut bodies.twists[link.body];
            (twist.s_dot, twist.omega) = (link.s_dot, link.omega);
            bodies.touch(link.body);
        }
    }

    /// C(t+h) − target of row block `block`, and the length of C(t+h).
    #[inline(always)]
    pub(crate) fn error_ahead(
        &mut self,
        block: usize,
        look: &Look<'_>,
        bodies: &Bodies,
    ) -> (Vec3, f64) {
        let pair = &mut self.pairs[block];
        let p_a = self.links[pair.a].point_ahead(&pair.r_a, look, bodies);
        let p_b = self.links[pair.b].point_ahead(&pair.r_b, look, bodies);
        let apart = p_b - p_a;
        pair.error = (apart + pair.still).norm_squared().sqrt();
        (apart - pair.aim, pair.error)
    }

    /// J v of row block `block`, and its length.
    #[inline(always)]
    pub(crate) fn error_rate(&mut self, block: usize) -> (Vec3, f64) {
        let pair = &mut self.pairs[block];
        let (a, b) = (&self.links[pair.a], &self.links[pair.b]);
        let rate = b.s_dot + b.omega.cross(&pair.r_b) - a.s_dot - a.omega.cross(&pair.r_a);
        pair.error = rate.norm_squared().sqrt();
        (rate, pair.error)
    }

    /// Applies −K⁻¹ e at row block `block`, K that of the joint alone.
    #[inline(always)]
    pub(crate) fn correct(&mut self, block: usize, e: &Vec3) {
        let pair = &mut self.pairs[block];
        let p = pair.k_inv * e;
        pair.p -= p;
        let a = &mut self.links[pair.a];
        a.omega += pair.wk_a * e;
        a.s_dot += p * a.mass_inv;
        a.looked = a.ground;
        let b = &mut self.links[pair.b];
        b.omega -= pair.wk_b * e;
        b.s_dot -= p * b.mass_inv;
        b.looked = b.ground;
    }

    /// Applies further impulses. (n_rows)
    pub(crate) fn add(&mut self, delta: &[f64]) {
        for pair in &mut self.pairs {
            let p = Vec3::from_column_slice(&delta[pair.row..][..3]);
            pair.p += p;
            let a = &mut self.links[pair.a];
            a.omega -= pair.w_a * p;
            a.s_dot -= p * a.mass_inv;
            a.looked = a.ground;
            let b = &mut self.links[pair.b];
            b.omega += pair.w_b * p;
            b.s_dot += p * b.mass_inv;
            b.looked = b.ground;
        }
    }

    /// Writes the impulses so far. (n_rows)
    pub(crate) fn write_impulses(&self, impulse: &mut [f64]) {
        for pair in &self.pairs {
            impulse[pair.row..][..3].copy_from_slice(pair.p.as_slice());
        }
    }
}

impl Link {
    /// Where free flight takes the point with lever r.
    #[inline(always)]
    fn point_ahead(&mut self, r: &Vec3, look: &Look<'_>, bodies: &Bodies) -> Vec3 {
        if !self.looked {
            (self.s_ahead, self.turn) = self.look_ahead(bodies, look.flight, look.h);
            self.looked = true;
        }
        // s + R(q) r, summed so that what comes last is added last.
        let u = Vec3::new(self.turn.i, self.turn.j, self.turn.k);
        let twice = 2.0 * u.cross(r);
        (self.s_ahead + r) + (self.turn.w * twice + u.cross(&twice))
    }
}
