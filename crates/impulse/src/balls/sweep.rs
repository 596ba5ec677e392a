//! The papers' sweep for ball joints: one joint after the other.

use gelenk_model::math::{Mat3, Vec3};

use super::direct::{add_own_response, times_cross};
use super::factor::inverse;
use super::{Balls, Joint, Link};
use crate::flight::rotate;
use crate::rows::Look;
use crate::scratch::Bodies;

impl Balls {
    /// Poses and velocities from `bodies`, and K⁻¹ of every joint.
    pub(crate) fn begin_sweeps(&mut self, bodies: &Bodies) {
        if !self.links_ready {
            self.prepare_sweeps(bodies);
        }
        for link in &mut self.links {
            let twist = &bodies.twists[link.body];
            (link.s_dot, link.omega) = (twist.s_dot, twist.omega);
            link.looked = false;
        }
        for joint in &mut self.joints {
            joint.p = Vec3::zeros();
        }
    }

    fn prepare_sweeps(&mut self, bodies: &Bodies) {
        for link in &mut self.links {
            let pose = &bodies.poses[link.body];
            link.s = pose.s;
            link.e = pose.rot.column(link.axis).into();
            link.inertia_inv = bodies.inertia_inv_world[link.body];
            for end in &mut self.ends[link.first_end..link.last_end] {
                end.r = pose.rot * end.r_body;
            }
        }
        for joint in &mut self.joints {
            joint.still = Vec3::zeros();
            let mut k = Mat3::zeros();
            for (link, end) in joint.links.iter().flatten() {
                let (link, r) = (&self.links[*link], &self.ends[*end].r);
                let w = times_cross(&link.inertia_inv, r);
                add_own_response(&mut k, link.mass_inv, r, &w);
            }
            // The masses alone make K regular.
            joint.k_inv = inverse(&k, 0.0).map_or_else(Mat3::zeros, |(inverse, _)| inverse);
        }
        for (joint, body, r_body, sign) in &self.anchors {
            self.joints[*joint].still += bodies.poses[*body].point(r_body) * *sign;
        }
        self.links_ready = true;
    }

    /// Ends sweeps: gives velocities back.
    pub(crate) fn end_sweeps(&self, bodies: &mut Bodies) {
        for link in &self.links {
            let twist = &mut bodies.twists[link.body];
            (twist.s_dot, twist.omega) = (link.s_dot, link.omega);
            bodies.touch(link.body);
        }
    }

    /// C(t+h) of row block `block`.
    #[inline(always)]
    pub(crate) fn error_ahead(&mut self, block: usize, look: &Look<'_>, bodies: &Bodies) -> Vec3 {
        let Balls { links, ends, joints, place, .. } = self;
        let joint = &mut joints[place[block]];
        let mut c = joint.still;
        for (link, end) in joint.links.iter().flatten() {
            let (link, end) = (&mut links[*link], &ends[*end]);
            if !link.looked {
                (link.s_ahead, link.turn) = link.look_ahead(bodies, look.flight, look.h);
                link.looked = true;
            }
            c += (link.s_ahead + rotate(&link.turn, &end.r)) * end.sign;
        }
        joint.gap_squared = c.norm_squared();
        c
    }

    /// J v of row block `block`.
    #[inline(always)]
    pub(crate) fn error_rate(&mut self, block: usize) -> Vec3 {
        let Balls { links, ends, joints, place, .. } = self;
        let joint = &mut joints[place[block]];
        let mut rate = Vec3::zeros();
        for (link, end) in joint.links.iter().flatten() {
            let (link, end) = (&links[*link], &ends[*end]);
            rate += (link.s_dot + link.omega.cross(&end.r)) * end.sign;
        }
        joint.gap_squared = rate.norm_squared();
        rate
    }

    /// Applies −K⁻¹ e at row block `block`, K that of the joint alone.
    #[inline(always)]
    pub(crate) fn correct(&mut self, block: usize, e: &Vec3) {
        let Balls { links, ends, joints, place, .. } = self;
        let joint = &mut joints[place[block]];
        let p = -(joint.k_inv * e);
        give(joint, links, ends, &p);
    }

    /// Applies further impulses. (n_rows)
    pub(crate) fn add(&mut self, delta: &[f64]) {
        let Balls { links, ends, joints, .. } = self;
        for joint in joints {
            let p = Vec3::from_column_slice(&delta[joint.row..][..3]);
            give(joint, links, ends, &p);
        }
    }

    /// Writes the impulses so far. (n_rows)
    pub(crate) fn write_impulses(&self, impulse: &mut [f64]) {
        for joint in &self.joints {
            impulse[joint.row..][..3].copy_from_slice(joint.p.as_slice());
        }
    }
}

/// The impulse p on link b, −p on link a.
#[inline(always)]
fn give(joint: &mut Joint, links: &mut [Link], ends: &[super::End], p: &Vec3) {
    joint.p += p;
    for (link, end) in joint.links.iter().flatten() {
        let (link, end) = (&mut links[*link], &ends[*end]);
        let p = p * end.sign;
        link.apply(&p, &end.r.cross(&p));
        link.looked = false;
    }
}
