//! The branch on which a loop passes a singular position, in terms of bodies.

use gelenk_model::math::{Mat3, Vec3};
use gelenk_model::{Event, Model, Pose, State, Twist};

use crate::approach::{Ahead, Loop, Sight, loops};
use crate::blow::{Curve, CurvePoint, NoCurve};
use crate::constraints::Condition;
use crate::layout::Layout;

/// The loops of a model, looked out from for singular positions ahead.
#[derive(Clone, Debug, Default)]
pub struct Lookout {
    /// The loops, for the blocks that then held nothing.
    loops: Option<(Vec<bool>, Vec<Loop>)>,
}

/// What is ahead.
#[derive(Clone, Debug)]
pub enum Outlook {
    /// A singular position with a branch to go on; after about so many seconds at the present speed.
    Branch(Box<Branch>, f64),
    /// A position in which no smooth motion goes on; after about so many seconds at the present speed.
    Refused(NoMotion, f64),
    /// Nothing that is known; worth another look after so many seconds.
    Nothing(f64),
    /// No loop has one degree of freedom, or all are too large.
    Blind,
}

/// A singular position without smooth motion.
#[derive(Clone, Debug, PartialEq)]
pub struct NoMotion {
    /// The condition whose gradient is smallest there, by name.
    pub element: String,
    /// Where.
    pub place: String,
    /// Why.
    pub reason: String,
}

impl Lookout {
    /// Looks ahead from natural coordinates p with rates v, over `reach` seconds at their speed; blocks with `out` hold nothing, and `state` tells where
    /// fixed bodies are.
    pub fn look(
        &mut self,
        model: &Model,
        state: &State,
        out: &[bool],
        (p, v): (&[f64], &[f64]),
        reach: f64,
    ) -> Outlook {
        if self.loops.as_ref().is_none_or(|(before, _)| *before != out) {
            self.loops = Some((out.to_vec(), loops(model, state, out)));
        }
        let list = self.loops.as_ref().map_or(&[][..], |(_, list)| list);
        let mut wait: Option<f64> = None;
        let mut refused: Option<(NoMotion, f64)> = None;
        let mut sooner = |time: f64| wait = Some(wait.unwrap_or(f64::INFINITY).min(time));
        for parts in list {
            let (x, v) = (parts.pick(p), parts.pick(v));
            let ahead = match parts.look(&x, &v, reach) {
                Sight::Blind => continue,
                Sight::Clear(time) => {
                    sooner(time);
                    continue;
                }
                Sight::Found(ahead) => *ahead,
            };
            let arrival = ahead.distance / ahead.speed.max(1e-300);
            if parts.rank(&ahead.place) >= parts.rank(&x) {
                // Only the conditions that were kept depend on each other there; those left out as redundant take over.
                sooner(arrival);
                continue;
            }
            match ahead.curve.clone() {
                Ok(curve) => {
                    let branch = Branch::new(parts.clone(), ahead, curve);
                    return Outlook::Branch(Box::new(branch), arrival);
                }
                Err(NoCurve::Turns) if refused.as_ref().is_none_or(|(_, t)| arrival < *t) => {
                    refused = Some((no_motion(parts, &ahead), arrival));
                }
                Err(_) => sooner(0.5 * arrival),
            }
        }
        match (refused, wait) {
            (Some((reason, arrival)), _) => Outlook::Refused(reason, arrival),
            (None, Some(wait)) => Outlook::Nothing(wait),
            (None, None) => Outlook::Blind,
        }
    }
}

fn no_motion(parts: &Loop, ahead: &Ahead) -> NoMotion {
    let reason = "with zero masses for the variables of the blow-up, the whole matrix of the equations of motion has no full rank there, \
                  so the velocity would have to jump";
    // The condition whose gradient is smallest there.
    let slope = |c: &Condition| {
        let mut gradient = vec![0.0; ahead.place.len()];
        c.g.add_gradient(&ahead.place, &mut gradient);
        gradient.iter().map(|x| x * x).sum::<f64>()
    };
    let joints = parts.conditions.iter().filter(|c| c.block.is_some());
    let element = joints.min_by(|a, b| slope(a).total_cmp(&slope(b))).map(|c| c.name.clone());
    NoMotion {
        element: element.unwrap_or_default(),
        place: place_text(parts, &ahead.place),
        reason: reason.to_owned(),
    }
}

/// Coordinates of a position: those of points, and the centres of rigid bodies, at most six.
fn place_text(parts: &Loop, place: &[f64]) -> String {
    let wanted = |name: &&str| !name.contains(".R.");
    let names = parts.names.iter().map(String::as_str).zip(place);
    let list: Vec<String> = names
        .filter(|(name, _)| wanted(name))
        .map(|(name, x)| {
            // Rounding of a zero is no place.
            let x = if x.abs() < 5e-10 { 0.0 } else { *x };
            let text = format!("{x:.9}");
            let text = text.trim_end_matches('0').trim_end_matches('.');
            format!("{} = {text}", name.replace(".s.", "."))
        })
        .collect();
    let more = if list.len() > 6 { ", …" } else { "" };
    format!("{}{more}", list[..list.len().min(6)].join(", "))
}

/// A loop on its way through a singular position, along the curve it came on.
#[derive(Clone, Debug)]
pub struct Branch {
    /// The loop.
    pub parts: Loop,
    /// The curve of its positions, blown up.
    pub curve: Curve,
    /// Ranks lost.
    pub lost: usize,
    /// The order with which the largest minor vanishes along the curve.
    pub order: u32,
    /// Conditions of the loop that were blown up, by index.
    pub kept: Vec<usize>,
}

/// The motion that a loop has at an instant: v = τ ṡ, a = τ s̈ + κ ṡ².
#[derive(Clone, Debug)]
pub struct Slide {
    /// The point of the curve, over the loop's coordinates.
    pub point: CurvePoint,
    /// τ of all bodies, zero where they have no part. (n_bodies)
    pub tau: Vec<Twist>,
    /// κ of all bodies. (n_bodies)
    pub kappa: Vec<Twist>,
    /// Poses on the curve: (body of the loop, its pose).
    pub poses: Vec<(usize, Pose)>,
    /// τᵀ M τ.
    pub mass: f64,
    /// Coordinates of point masses that no condition of the loop names: (body, axis).
    pub spare: Vec<(usize, usize)>,
}

impl Branch {
    fn new(parts: Loop, ahead: Ahead, curve: Curve) -> Self {
        let Ahead { lost, order, kept, .. } = ahead;
        Branch { parts, curve, lost, order, kept }
    }

    /// How far the coordinate that passes is from the position in natural coordinates p, and which it is.
    pub fn offset(&self, p: &[f64]) -> Option<(f64, usize)> {
        let chart = self.curve.passing()?;
        let i = self.parts.variables[chart];
        Some((p[i] - self.curve.place[chart], i))
    }

    /// Names of the row blocks whose conditions depend on each other in the position.
    fn between(&self, model: &Model) -> Vec<String> {
        let mut blocks: Vec<usize> = Vec::new();
        for round in &self.curve.rounds[..1.min(self.curve.rounds.len())] {
            for (k, _) in round.combinations.iter().flatten() {
                blocks.extend(self.parts.conditions[self.kept[*k]].block);
            }
        }
        blocks.sort_unstable();
        blocks.dedup();
        blocks.iter().map(|k| model.rows[*k].name.clone()).collect()
    }

    /// The event `singularity` of the passage; `how` ends its sentence. Its point is the first body of the loop, which is now at `pose`.
    pub fn event(
        &self,
        model: &Model,
        layout: &Layout,
        time: f64,
        how: &str,
        pose: impl Fn(usize) -> Pose,
    ) -> Event {
        let ranks =
            if self.lost == 1 { "a rank".to_owned() } else { format!("{} ranks", self.lost) };
        let detail = format!(
            "singular position {}: the conditions lose {ranks} (t-order {}); {how}",
            place_text(&self.parts, &self.curve.place),
            self.order,
        );
        let mut event = Event::new(time, "singularity", self.between(model), detail);
        event.point = self.parts.bodies.first().and_then(|body| {
            let place = layout.places[layout.of_body[*body]?];
            let mut point: Vec3 = pose(*body).s;
            for axis in 0..3 {
                if let Ok(i) = self.parts.variables.binary_search(&(place.first + axis)) {
                    point[axis] = self.curve.place[i];
                }
            }
            Some(point)
        });
        event
    }

    /// The loop's coordinates at the poses of the bodies. (n of the loop)
    pub fn coordinates(&self, layout: &Layout, poses: &[Pose]) -> Vec<f64> {
        let mut found = Vec::with_capacity(self.parts.variables.len());
        for &body in &self.parts.bodies {
            let Some(place) = layout.of_body[body].map(|k| layout.places[k]) else { continue };
            let pose = &poses[body];
            let all = pose.s.iter().chain(pose.rot.as_slice()).take(place.len());
            for (i, x) in all.enumerate() {
                if let Ok(at) = self.parts.variables.binary_search(&(place.first + i)) {
                    found.push((at, *x));
                }
            }
        }
        // Bodies may come in another order than their coordinates.
        found.sort_by_key(|(at, _)| *at);
        found.into_iter().map(|(_, x)| x).collect()
    }

    /// Where the loop is on its curve: nearest in the M-norm to its coordinates `target`; coordinates that it does not name are those of `poses`.
    pub fn slide(
        &mut self,
        model: &Model,
        layout: &Layout,
        target: &[f64],
        poses: &[Pose],
    ) -> Option<Slide> {
        let point = self.curve.find(target, &self.parts.mass)?;
        let n = poses.len();
        let (mut tau, mut kappa) = (vec![Twist::zero(); n], vec![Twist::zero(); n]);
        let (mut found, mut spare) = (Vec::new(), Vec::new());
        for &body in &self.parts.bodies {
            let Some(place) = layout.of_body[body].map(|k| layout.places[k]) else { continue };
            let at = |i: usize| self.parts.variables.binary_search(&(place.first + i)).ok();
            let mut pose = poses[body];
            for axis in 0..3 {
                let Some(i) = at(axis) else {
                    spare.push((body, axis));
                    continue;
                };
                pose.s[axis] = point.p[i];
                tau[body].s_dot[axis] = point.tau[i];
                kappa[body].s_dot[axis] = point.kappa[i];
            }
            if place.rigid {
                let matrix =
                    |list: &[f64]| Mat3::from_fn(|r, c| list[at(3 + 3 * c + r).unwrap_or(0)]);
                pose.rot = matrix(&point.p);
                tau[body].omega = turning(&(matrix(&point.tau) * pose.rot.transpose()));
                kappa[body].omega = turning(&(matrix(&point.kappa) * pose.rot.transpose()));
            }
            found.push((body, pose));
        }
        let mut slide = Slide { point, tau, kappa, poses: found, mass: 0.0, spare };
        slide.mass = slide.along(model, poses, &slide.tau);
        (slide.mass > 0.0).then_some(slide)
    }
}

impl Slide {
    /// τᵀ M u, M at `poses`.
    pub fn along(&self, model: &Model, poses: &[Pose], u: &[Twist]) -> f64 {
        let mut sum = 0.0;
        for &(body, _) in &self.poses {
            let (tau, u, rot) = (&self.tau[body], &u[body], &poses[body].rot);
            let body = &model.bodies[body];
            sum += body.mass * tau.s_dot.dot(&u.s_dot);
            let (a, b) = (rot.tr_mul(&tau.omega), rot.tr_mul(&u.omega));
            sum += a.dot(&body.inertia.component_mul(&b));
        }
        sum
    }

    /// Puts τ r + κ b in place of the loop's part of `twists`; coordinates of their own stay.
    pub fn put(&self, r: f64, b: f64, twists: &mut [Twist]) {
        for &(body, _) in &self.poses {
            let mut own = [0.0; 3];
            for (at, axis) in self.spare.iter().filter(|(at, _)| *at == body) {
                own[*axis] = twists[*at].s_dot[*axis];
            }
            let (tau, kappa) = (&self.tau[body], &self.kappa[body]);
            twists[body].s_dot = tau.s_dot * r + kappa.s_dot * b + Vec3::from(own);
            twists[body].omega = tau.omega * r + kappa.omega * b;
        }
    }
}

/// The vector of the skew part of a matrix.
fn turning(a: &Mat3) -> Vec3 {
    Vec3::new(a[(2, 1)] - a[(1, 2)], a[(0, 2)] - a[(2, 0)], a[(1, 0)] - a[(0, 1)]) * 0.5
}
