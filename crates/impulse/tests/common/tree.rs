//! Open chains and trees in reduced coordinates: an answer that shares no equation with the engine.
//!
//! A joint is a screw of freedom S = [u, m] at the world's origin (hinge: m = p × u; slider: u = 0, m along the way), and
//! the body after it follows from the one before by turning or moving it as drawn. Forces come from the recursive
//! Newton-Euler equations, accelerations from the mass matrix they give column by column:
//!
//! ```text
//! M(q) q̈ = τ − b(q, q̇)          b = τ of the equations at q̈ = 0,    column k of M = that at q̈ = e_k, q̇ = 0, g = 0
//! ```

use gelenk_model::Model;
use gelenk_model::math::{Mat3, Quat, Vec3};

/// A single freedom of a body against the one before it, in world coordinates as drawn.
pub enum Freedom {
    /// A turn about the axis through a point.
    Turn { point: Vec3, axis: Vec3 },
    /// A move along an axis.
    Move { axis: Vec3 },
}

/// One freedom, and what it moves.
pub struct Link {
    /// The link before; `None`: the world.
    pub parent: Option<usize>,
    pub freedom: Freedom,
    /// Mass, centre of mass and inertia tensor about it, as drawn; no mass for a link that only splits a joint in two.
    pub mass: f64,
    pub center: Vec3,
    pub inertia: Mat3,
}

pub struct Tree {
    pub links: Vec<Link>,
    pub gravity: Vec3,
    /// Length of the steps of [`Tree::run`], s.
    pub step: f64,
}

/// Where a link is: x ↦ rot x + shift takes points as drawn to where they are now.
#[derive(Clone, Copy)]
pub struct Place {
    pub rot: Mat3,
    pub shift: Vec3,
}

impl Place {
    pub fn point(&self, drawn: &Vec3) -> Vec3 {
        self.rot * drawn + self.shift
    }
}

/// Spatial vector at the world's origin: [angular, linear].
type Six = [Vec3; 2];

impl Tree {
    pub fn new(gravity: Vec3) -> Self {
        Tree { links: Vec::new(), gravity, step: 0.02 }
    }

    /// Adds the freedoms between a link and the next body one after the other; the body sits on the last. Its mass
    /// properties are those of the model. Returns its link.
    pub fn body(
        &mut self,
        parent: Option<usize>,
        freedoms: Vec<Freedom>,
        model: &Model,
        name: &str,
    ) -> usize {
        let mut parent = parent;
        for freedom in freedoms {
            let (center, inertia) = (Vec3::zeros(), Mat3::zeros());
            self.links.push(Link { parent, freedom, mass: 0.0, center, inertia });
            parent = Some(self.links.len() - 1);
        }
        let id = model.body(name).expect("a body of that name").index();
        let body = &model.bodies[id];
        let rot = model.start.rot[id].to_rotation_matrix();
        let link = self.links.last_mut().expect("at least one freedom");
        link.mass = body.mass;
        link.center = model.start.s[id];
        link.inertia = rot * Mat3::from_diagonal(&body.inertia) * rot.transpose();
        self.links.len() - 1
    }

    pub fn places(&self, q: &[f64]) -> Vec<Place> {
        let mut places: Vec<Place> = Vec::new();
        for (link, q) in self.links.iter().zip(q) {
            let before = link
                .parent
                .map_or(Place { rot: Mat3::identity(), shift: Vec3::zeros() }, |parent| {
                    places[parent]
                });
            let own = match &link.freedom {
                Freedom::Turn { point, axis } => {
                    let turn = Quat::from_scaled_axis(axis * *q).to_rotation_matrix();
                    Place { rot: turn.into_inner(), shift: point - turn * point }
                }
                Freedom::Move { axis } => Place { rot: Mat3::identity(), shift: axis * *q },
            };
            places.push(Place {
                rot: before.rot * own.rot,
                shift: before.rot * own.shift + before.shift,
            });
        }
        places
    }

    /// S of every link where it is now. The freedom of a link stands in the body before it.
    fn screws(&self, places: &[Place]) -> Vec<Six> {
        let screw = |link: &Link| {
            let before = link
                .parent
                .map_or(Place { rot: Mat3::identity(), shift: Vec3::zeros() }, |parent| {
                    places[parent]
                });
            match &link.freedom {
                Freedom::Turn { point, axis } => {
                    let u = before.rot * axis;
                    [u, before.point(point).cross(&u)]
                }
                Freedom::Move { axis } => [Vec3::zeros(), before.rot * axis],
            }
        };
        self.links.iter().map(screw).collect()
    }

    /// Angular velocity of each link, and velocity of the point of it that is at the world's origin.
    fn velocities(&self, screws: &[Six], v: &[f64]) -> Vec<Six> {
        let mut out: Vec<Six> = Vec::new();
        for (k, link) in self.links.iter().enumerate() {
            let before = link.parent.map_or([Vec3::zeros(); 2], |parent| out[parent]);
            out.push([before[0] + screws[k][0] * v[k], before[1] + screws[k][1] * v[k]]);
        }
        out
    }

    /// Velocity of each link's centre of mass, and its angular velocity.
    pub fn twists(&self, q: &[f64], v: &[f64]) -> Vec<(Vec3, Vec3)> {
        let places = self.places(q);
        let velocities = self.velocities(&self.screws(&places), v);
        (0..self.links.len())
            .map(|k| {
                let [omega, linear] = velocities[k];
                (linear + omega.cross(&places[k].point(&self.links[k].center)), omega)
            })
            .collect()
    }

    /// The forces τ that give q̈, with `loads` [force, torque about the centre of mass] on the links.
    fn forces(
        &self,
        places: &[Place],
        screws: &[Six],
        v: &[f64],
        accelerations: &[f64],
        gravity: &Vec3,
        loads: &[[Vec3; 2]],
    ) -> Vec<f64> {
        let n = self.links.len();
        let velocities = self.velocities(screws, v);
        let mut rates: Vec<Six> = Vec::new();
        let mut wrenches: Vec<Six> = Vec::new();
        for (k, link) in self.links.iter().enumerate() {
            let before = link.parent.map_or([Vec3::zeros(), -gravity], |parent| rates[parent]);
            let ([omega, linear], [u, m]) = (velocities[k], screws[k]);
            // Ȧ = S q̈ + V × S q̇
            let rate = [
                before[0] + u * accelerations[k] + omega.cross(&u) * v[k],
                before[1] + m * accelerations[k] + (omega.cross(&m) + linear.cross(&u)) * v[k],
            ];
            rates.push(rate);
            let place = &places[k];
            let c = place.point(&link.center);
            let inertia = place.rot * link.inertia * place.rot.transpose();
            let acceleration =
                rate[1] + rate[0].cross(&c) + omega.cross(&(linear + omega.cross(&c)));
            let mut force = acceleration * link.mass;
            let mut torque = inertia * rate[0] + omega.cross(&(inertia * omega));
            if let Some([f, t]) = loads.get(k) {
                force -= f;
                torque -= t;
            }
            wrenches.push([torque + c.cross(&force), force]);
        }
        let mut out = vec![0.0; n];
        for k in (0..n).rev() {
            out[k] = screws[k][0].dot(&wrenches[k][0]) + screws[k][1].dot(&wrenches[k][1]);
            if let Some(parent) = self.links[k].parent {
                let wrench = wrenches[k];
                wrenches[parent][0] += wrench[0];
                wrenches[parent][1] += wrench[1];
            }
        }
        out
    }

    /// q̈ under the forces `tau` on the freedoms and `loads` on the links.
    pub fn accelerations(
        &self,
        q: &[f64],
        v: &[f64],
        tau: &[f64],
        loads: &[[Vec3; 2]],
    ) -> Vec<f64> {
        let n = self.links.len();
        let places = self.places(q);
        let screws = self.screws(&places);
        let zero = vec![0.0; n];
        let bias = self.forces(&places, &screws, v, &zero, &self.gravity, loads);
        let mut mass = nalgebra::DMatrix::zeros(n, n);
        for k in 0..n {
            let mut unit = zero.clone();
            unit[k] = 1.0;
            let column = self.forces(&places, &screws, &zero, &unit, &Vec3::zeros(), &[]);
            mass.set_column(k, &nalgebra::DVector::from_vec(column));
        }
        let rhs = nalgebra::DVector::from_iterator(n, tau.iter().zip(&bias).map(|(t, b)| t - b));
        let solved = mass.cholesky().expect("positive definite").solve(&rhs);
        solved.iter().copied().collect()
    }

    /// q and q̇ after `t` seconds from `start` = [q, q̇], with τ(t, q, q̇) and loads(t, places, twists).
    pub fn run(
        &self,
        start: &[f64],
        t: f64,
        tau: impl Fn(f64, &[f64], &[f64]) -> Vec<f64>,
        loads: impl Fn(&[Place], &[(Vec3, Vec3)]) -> Vec<[Vec3; 2]>,
    ) -> (Vec<f64>, Vec<f64>) {
        let n = self.links.len();
        let f = |y: &[f64]| {
            let (q, v, t) = (&y[..n], &y[n..2 * n], y[2 * n]);
            let loads = loads(&self.places(q), &self.twists(q, v));
            let a = self.accelerations(q, v, &tau(t, q, v), &loads);
            let mut out = v.to_vec();
            out.extend(a);
            out.push(1.0);
            out
        };
        let mut y = start.to_vec();
        y.push(0.0);
        let y = super::extrapolated_over(f, y, t, self.step);
        (y[..n].to_vec(), y[n..2 * n].to_vec())
    }
}

/// Three turns about z, y, x through a point: a ball joint, while the second is less than a right angle.
pub fn ball(point: Vec3) -> Vec<Freedom> {
    [Vec3::z(), Vec3::y(), Vec3::x()].map(|axis| Freedom::Turn { point, axis }).into()
}

/// Three moves and a ball joint: no joint at all.
pub fn free(point: Vec3) -> Vec<Freedom> {
    let mut all: Vec<Freedom> =
        [Vec3::x(), Vec3::y(), Vec3::z()].map(|axis| Freedom::Move { axis }).into();
    all.extend(ball(point));
    all
}

/// A hinge.
pub fn hinge(point: Vec3, axis: Vec3) -> Vec<Freedom> {
    vec![Freedom::Turn { point, axis }]
}
