//! Dense output: the motion between the ends of steps.

use gelenk_model::math::{Mat3, Quat, Vec3, cross_matrix};
use gelenk_model::{Model, State};

use crate::step::update_coordinates;

/// A smooth motion through three states.
///
/// The impulses at the ends of steps give the path kinks; \[Schmitt 2003\], section 5, advises to lay polynomials of
/// degree 5 or more through them. Here the polynomial of degree 5 takes positions and velocities of three states: its error is
/// O(h⁶) in positions and O(h⁵) in velocities, h the time between the states. Rotations are interpolated by their
/// rotation vector θ from the middle state,
///
/// ```text
/// R(t) = exp(θ(t)) R₁      θ̇ = J(θ)⁻¹ ω      ω(t) = J(θ) θ̇
/// J(θ) = 1 + (1 − cos θ)/θ² (θ×) + (θ − sin θ)/θ³ (θ×)²
/// ```
/// with the same polynomial, which asks for less than half a turn between the states. At the states themselves it is
/// exact. Joints hold at the states to the tolerance of the run, between them to O(h⁶).
///
/// [`Simulation::step_dense`](crate::Simulation::step_dense) gives it for a step; from states that are kept anyway it costs
/// no step at all.
#[derive(Clone, Debug)]
pub struct Dense {
    nodes: [State; 3],
    /// θ and θ̇ of each node, for each body.
    turns: [Vec<(Vec3, Vec3)>; 3],
}

impl Dense {
    /// The motion through three states of one model, in the order of time.
    pub fn new(nodes: [State; 3]) -> Self {
        let turns = [0, 1, 2].map(|k: usize| {
            let (node, middle) = (&nodes[k], &nodes[1]);
            let pairs = node.rot.iter().zip(&middle.rot).zip(&node.omega);
            pairs
                .map(|((rot, middle), omega)| {
                    let theta = shortest(&(rot * middle.inverse()));
                    (theta, rate_matrix_inv(&theta) * omega)
                })
                .collect()
        });
        Dense { nodes, turns }
    }

    /// First and last time, s.
    pub fn span(&self) -> [f64; 2] {
        [self.nodes[0].t, self.nodes[2].t]
    }

    /// The state at time `t`, which should lie in the span. Impulses are those of the last node.
    #[expect(clippy::float_cmp, reason = "at the very time of a node it is the node")]
    pub fn state(&self, model: &Model, t: f64) -> State {
        let mut state = self.nodes[2].clone();
        if let Some(node) = self.nodes.iter().find(|node| node.t == t) {
            state.clone_from(node);
            return state;
        }
        let times = [0, 1, 2].map(|k: usize| self.nodes[k].t);
        for i in 0..state.s.len() {
            let values = [0, 1, 2].map(|k: usize| (self.nodes[k].s[i], self.nodes[k].s_dot[i]));
            (state.s[i], state.s_dot[i]) = hermite(&times, &values, t);
            let values = [0, 1, 2].map(|k: usize| self.turns[k][i]);
            let (theta, theta_dot) = hermite(&times, &values, t);
            state.rot[i] = Quat::from_scaled_axis(theta) * self.nodes[1].rot[i];
            state.omega[i] = rate_matrix(&theta) * theta_dot;
        }
        state.t = t;
        update_coordinates(model, &mut state);
        state
    }
}

/// The rotation vector of a rotation, of length up to π.
fn shortest(rot: &Quat) -> Vec3 {
    let rot = if rot.w < 0.0 { Quat::new_unchecked(-rot.into_inner()) } else { *rot };
    rot.scaled_axis()
}

/// Value and rate at t of the polynomial with these values and rates at three times, by divided differences.
fn hermite(times: &[f64; 3], values: &[(Vec3, Vec3); 3], t: f64) -> (Vec3, Vec3) {
    // Each node twice: z₀ z₀ z₁ z₁ z₂ z₂.
    let z = [times[0], times[0], times[1], times[1], times[2], times[2]];
    let mut c: [Vec3; 6] = [0, 0, 1, 1, 2, 2].map(|k: usize| values[k].0);
    for level in 1..6 {
        for k in (level..6).rev() {
            c[k] = if level == 1 && k % 2 == 1 {
                values[k / 2].1
            } else {
                (c[k] - c[k - 1]) / (z[k] - z[k - level])
            };
        }
    }
    let (mut value, mut rate) = (c[5], Vec3::zeros());
    for k in (0..5).rev() {
        rate = rate * (t - z[k]) + value;
        value = value * (t - z[k]) + c[k];
    }
    (value, rate)
}

/// J(θ): ω = J θ̇.
fn rate_matrix(theta: &Vec3) -> Mat3 {
    let angle = theta.norm();
    let cross = cross_matrix(theta);
    let (a, b) = if angle < 1e-2 {
        let square = angle * angle;
        let a = 0.5 - square / 24.0 + square * square / 720.0;
        (a, 1.0 / 6.0 - square / 120.0 + square * square / 5040.0)
    } else {
        let square = angle * angle;
        ((1.0 - angle.cos()) / square, (angle - angle.sin()) / (square * angle))
    };
    Mat3::identity() + cross * a + cross * cross * b
}

/// J(θ)⁻¹.
fn rate_matrix_inv(theta: &Vec3) -> Mat3 {
    let angle = theta.norm();
    let cross = cross_matrix(theta);
    let b = if angle < 1e-2 {
        let square = angle * angle;
        1.0 / 12.0 + square / 720.0 + square * square / 30240.0
    } else {
        let half = 0.5 * angle;
        (1.0 - half * half.cos() / half.sin()) / (angle * angle)
    };
    Mat3::identity() - cross * 0.5 + cross * cross * b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_of_degree_five_are_met() {
        let p = |t: f64| Vec3::new(t.powi(5) - 2.0 * t, 3.0 * t.powi(4) + 1.0, t * t);
        let v = |t: f64| Vec3::new(5.0 * t.powi(4) - 2.0, 12.0 * t.powi(3), 2.0 * t);
        let times = [0.2, 0.5, 1.1];
        let values = times.map(|t| (p(t), v(t)));
        for t in [0.1, 0.3, 0.9, 1.3] {
            let (value, rate) = hermite(&times, &values, t);
            assert!((value - p(t)).norm() < 1e-12 && (rate - v(t)).norm() < 1e-12);
        }
    }

    #[test]
    fn rates_of_rotation_vectors() {
        for theta in [Vec3::new(0.3, -0.7, 1.1), Vec3::new(2e-3, 1e-3, -3e-3), Vec3::zeros()] {
            let off = (rate_matrix(&theta) * rate_matrix_inv(&theta) - Mat3::identity()).amax();
            assert!(off < 1e-14, "{off:.1e}");
            // Against a difference of rotations.
            let (rate, h) = (Vec3::new(0.4, 0.2, -0.9), 1e-5);
            let at = |t: f64| Quat::from_scaled_axis(theta + rate * t);
            let omega = (at(h) * at(-h).inverse()).scaled_axis() / (2.0 * h);
            assert!((rate_matrix(&theta) * rate - omega).norm() < 1e-9);
        }
    }
}
