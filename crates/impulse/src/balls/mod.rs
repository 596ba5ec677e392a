//! Mechanisms held together by ball joints alone: chains, trees and loops of links.
//!
//! The same equations as everywhere, laid out for speed: a [`Link`] holds all that a body needs in one place, its
//! [`End`]s are the joint points on it, and a joint's K is 3 × 3. Rows of numbers and Jacobians are not needed. Everything
//! here comes to the same numbers as the general rows, but for rounding.
#![expect(clippy::inline_always, reason = "the hot loops: measured")]

mod direct;
mod factor;
mod sweep;

use gelenk_model::joint::JointKind;
use gelenk_model::math::{Mat3, Vec3};
use gelenk_model::rows::{RowBlock, RowKind};
use gelenk_model::{BodyId, Flight, Model};
use nalgebra::Quaternion;

use crate::flight::{self, Top, exp};
use crate::scratch::Bodies;
use factor::Factor;

/// Ball joints and the bodies they hold.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "what is ready, and what there is")]
pub(crate) struct Balls {
    links: Vec<Link>,
    /// Ends of all links, one link after the other.
    ends: Vec<End>,
    /// In elimination order.
    joints: Vec<Joint>,
    /// Where each row block of the model stands among `joints`; constant.
    place: Vec<usize>,
    /// Errors, then impulses, of a solve; as `joints`.
    x: Vec<Vec3>,
    factor: Factor,
    /// Entry of the factor for each pair of ends of a link, in the order of [`assemble`](Balls::assemble); constant.
    couplings: Vec<usize>,
    /// Product of the diagonal of each joint's K, the measure of a singular pivot; as `joints`.
    alone: Vec<f64>,
    /// Points of fixed bodies: joint, body, place in its frame, sign; constant.
    anchors: Vec<(usize, usize, Vec3, f64)>,
    /// Whether links and joints belong to the poses of the bodies.
    pub(crate) ready: bool,
    /// Whether `factor` does, and whether it is regular.
    factor_ready: bool,
    regular: bool,
    /// Whether `Joint::k_inv` belongs to the poses.
    blocks_ready: bool,
}

/// A body that moves.
#[derive(Clone, Debug)]
struct Link {
    body: usize,
    first_end: usize,
    last_end: usize,
    mass_inv: f64,
    gravity: Vec3,
    /// 1 − J_axis/J of a symmetric top, 0 for a spherical one; `axis` is the axis.
    slip: f64,
    axis: usize,
    /// Neither: it turns by its Taylor series.
    asymmetric: bool,
    /// Centre at time t, m.
    s: Vec3,
    /// Axis of symmetry at time t.
    e: Vec3,
    /// J̃⁻¹ at time t.
    inertia_inv: Mat3,
    /// Velocity of its centre and angular velocity at time t, on which impulses act.
    s_dot: Vec3,
    omega: Vec3,
    /// Where free flight takes it, for sweeps: centre and turn, if `looked`.
    s_ahead: Vec3,
    turn: Quaternion<f64>,
    looked: bool,
}

/// The point of a joint on a link.
#[derive(Clone, Debug)]
struct End {
    joint: usize,
    /// 1 if the link is the joint's body b, −1 if it is a.
    sign: f64,
    r_body: Vec3,
    /// Lever at time t, world frame, m.
    r: Vec3,
}

/// A ball joint. C = p_b − p_a; the impulse acts on b, its opposite on a.
#[derive(Clone, Debug)]
struct Joint {
    /// Row block and first row in the model.
    block: usize,
    row: usize,
    tolerance: Option<f64>,
    /// Links a and b, where they move, and its ends on them.
    links: [Option<(usize, usize)>; 2],
    /// The part of C that stands still: points of fixed bodies.
    still: Vec3,
    /// The error wanted at t+h: 0 after a whole step.
    target: Vec3,
    /// Impulse of the running correction, N s.
    p: Vec3,
    /// |C|² when last looked at.
    gap_squared: f64,
    /// Inverse of its own K, for sweeps joint by joint.
    k_inv: Mat3,
}

impl Balls {
    /// The mechanism, if ball joints alone hold it together.
    ///
    /// `eliminate` gives the order in which joints are eliminated, and for each the later ones that it touches.
    pub(crate) fn new(
        model: &Model,
        eliminate: impl FnOnce() -> (Vec<usize>, Vec<Vec<usize>>),
    ) -> Option<Self> {
        let is_ball = |rows: &RowBlock| match rows.kind {
            RowKind::Joint(id) => matches!(model.joints[id.index()].kind, JointKind::Ball(_)),
            _ => false,
        };
        if model.rows.is_empty() || !model.rows.iter().all(is_ball) {
            return None;
        }
        let (order, touched) = eliminate();
        let mut place = vec![0; order.len()];
        for (k, &block) in order.iter().enumerate() {
            place[block] = k;
        }
        let mut at_body: Vec<Vec<End>> = vec![Vec::new(); model.n_bodies()];
        let mut joints = Vec::with_capacity(order.len());
        let mut pairs = Vec::with_capacity(order.len());
        for &block in &order {
            let rows = &model.rows[block];
            let RowKind::Joint(id) = rows.kind else { return None };
            let joint = &model.joints[id.index()];
            let JointKind::Ball(ball) = &joint.kind else { return None };
            let bodies = joint.bodies.map(BodyId::index);
            let index = joints.len();
            for (body, r_body, sign) in
                [(bodies[0], ball.r_a_body, -1.0), (bodies[1], ball.r_b_body, 1.0)]
            {
                at_body[body].push(End { joint: index, sign, r_body, r: Vec3::zeros() });
            }
            pairs.push(bodies);
            joints.push(Joint {
                block,
                row: rows.first_row,
                tolerance: rows.tolerance,
                links: [None; 2],
                still: Vec3::zeros(),
                target: Vec3::zeros(),
                p: Vec3::zeros(),
                gap_squared: 0.0,
                k_inv: Mat3::zeros(),
            });
        }
        let (mut links, mut ends, mut anchors) = (Vec::new(), Vec::new(), Vec::new());
        for (body, own) in at_body.iter().enumerate() {
            let (definition, fixed) = (&model.bodies[body], model.bodies[body].fixed);
            for end in own {
                if fixed {
                    anchors.push((end.joint, body, end.r_body, end.sign));
                } else {
                    joints[end.joint].links[usize::from(end.sign > 0.0)] =
                        Some((links.len(), ends.len()));
                    ends.push(end.clone());
                }
            }
            if !fixed && !own.is_empty() {
                let (slip, axis, asymmetric) = match Top::new(&definition.inertia) {
                    Top::Spherical => (0.0, 0, false),
                    Top::Symmetric { axis, slip } => (slip, axis, false),
                    Top::Asymmetric => (0.0, 0, true),
                };
                links.push(Link {
                    body,
                    first_end: ends.len() - own.len(),
                    last_end: ends.len(),
                    mass_inv: definition.mass_inv,
                    gravity: model.gravity,
                    slip,
                    axis,
                    asymmetric,
                    s: Vec3::zeros(),
                    e: Vec3::zeros(),
                    inertia_inv: Mat3::zeros(),
                    s_dot: Vec3::zeros(),
                    omega: Vec3::zeros(),
                    s_ahead: Vec3::zeros(),
                    turn: Quaternion::identity(),
                    looked: false,
                });
            }
        }
        // A joint between two points of one body, or of fixed bodies, is no link of a chain.
        if pairs.iter().any(|[a, b]| a == b) || joints.iter().any(|j| j.links == [None; 2]) {
            return None;
        }
        let n = joints.len();
        let factor = Factor::new(&touched, &place);
        let mut couplings = Vec::new();
        for link in &links {
            let own: &[End] = &ends[link.first_end..link.last_end];
            for (k, column) in own.iter().enumerate() {
                // Ends of a link are in elimination order, as the joints are.
                couplings
                    .extend(own[k + 1..].iter().map(|row| factor.entry(row.joint, column.joint)));
            }
        }
        Some(Balls {
            x: vec![Vec3::zeros(); n],
            links,
            ends,
            joints,
            place,
            alone: vec![0.0; n],
            couplings,
            anchors,
            factor,
            ready: false,
            factor_ready: false,
            regular: false,
            blocks_ready: false,
        })
    }

    /// Takes poses from `bodies`.
    pub(crate) fn prepare(&mut self, bodies: &Bodies) {
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
        }
        for (joint, body, r_body, sign) in &self.anchors {
            self.joints[*joint].still += bodies.poses[*body].point(r_body) * *sign;
        }
        (self.ready, self.factor_ready, self.blocks_ready) = (true, false, false);
    }

    /// Takes velocities from `bodies`.
    fn read_velocities(&mut self, bodies: &Bodies) {
        for link in &mut self.links {
            let twist = &bodies.twists[link.body];
            (link.s_dot, link.omega) = (twist.s_dot, twist.omega);
        }
    }

    /// Gives velocities to `bodies`.
    fn write_velocities(&self, bodies: &mut Bodies) {
        for link in &self.links {
            let twist = &mut bodies.twists[link.body];
            (twist.s_dot, twist.omega) = (link.s_dot, link.omega);
            bodies.touch(link.body);
        }
    }
}

impl Link {
    /// The paper's LookAhead: centre and turn after free flight over `h`.
    #[inline(always)]
    fn look_ahead(&self, bodies: &Bodies, flight: Flight, h: f64) -> (Vec3, Quaternion<f64>) {
        let s = self.s + (self.s_dot + self.gravity * (0.5 * h)) * h;
        if self.asymmetric || !matches!(flight, Flight::Exact) {
            return (s, flight::turn(&bodies.spinner(self.body), &self.omega, flight, h));
        }
        let c = self.slip * self.omega.dot(&self.e);
        // A rod turns across its axis; what c has then is rounding.
        if (c * h).abs() <= f64::EPSILON {
            return (s, exp(&(self.omega * h)));
        }
        (s, exp(&((self.omega - self.e * c) * h)) * exp(&(self.e * (c * h))))
    }

    /// An impulse and its moment about the centre.
    #[inline(always)]
    fn apply(&mut self, impulse: &Vec3, moment: &Vec3) {
        self.s_dot += impulse * self.mass_inv;
        self.omega += self.inertia_inv * moment;
    }
}
