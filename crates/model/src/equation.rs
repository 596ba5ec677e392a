//! Equations as constraints: any expression over positions of points, bodies and markers, and time.

use gelenk_expr::{Expr, Tape};

use crate::body::BodyId;
use crate::math::Real;
use crate::rows::Instant;
use crate::signal::{BodyVector, Work};

/// g(u, t) = 0 over components u_k of body-fixed points and directions (natural coordinates).
///
/// With u̇_k the component of the vector's rate, e_k its axis and r_k its lever R c:
/// ```text
/// J v   = Σ g_k u̇_k,   the row on a body: Σ g_k [ e_k (points only), r_k × e_k ]
/// γ     = −( Σ g_kl u̇_k u̇_l + 2 Σ g_kt u̇_k + g_tt + Σ g_k e_k·(ω × (ω × r_k)) )
/// ```
/// The derivatives g_k, g_t and the quadratic form are derived symbolically and share one tape.
#[derive(Clone, Debug)]
pub struct Equation<C: Real = f64> {
    /// The text, for messages.
    pub text: String,
    /// g as an expression.
    pub symbolic: SymbolicEquation,
    /// u: (vector, axis), in the order of the tapes' inputs.
    pub coordinates: Vec<(BodyVector<C>, usize)>,
    /// Inputs u, t; output g.
    pub value: Tape,
    /// Inputs u, t; outputs g_k for all k, then g_t.
    pub gradient: Tape,
    /// Inputs u, t, u̇; output Σ g_kl u̇_k u̇_l + 2 Σ g_kt u̇_k + g_tt.
    pub curvature: Tape,
}

/// An equation as an expression in the model's pool, with parameters as symbols.
#[derive(Clone, Debug)]
pub struct SymbolicEquation {
    /// g.
    pub g: Expr,
    /// The symbols that stand for u in it, in their order.
    pub u: Vec<Expr>,
}

impl<C: Real> Equation<C> {
    /// Writes u and t; returns how many inputs that is.
    fn write_inputs<T: Real + From<C>>(&self, at: &Instant<'_, T>, inputs: &mut [T]) -> usize {
        for (slot, (vector, axis)) in inputs.iter_mut().zip(&self.coordinates) {
            *slot = vector.value(at)[*axis];
        }
        inputs[self.coordinates.len()] = at.t;
        self.coordinates.len() + 1
    }

    fn write_gradient<T: Real + From<C>>(&self, at: &Instant<'_, T>, work: &mut Work<T>) {
        let n = self.write_inputs(at, &mut work.inputs);
        let registers = &mut work.registers[..self.gradient.n_registers()];
        T::eval(&self.gradient, &work.inputs[..n], registers, &mut work.outputs[..n]);
    }

    /// g.
    pub fn error<T: Real + From<C>>(&self, at: &Instant<'_, T>, work: &mut Work<T>) -> T {
        let n = self.write_inputs(at, &mut work.inputs);
        let mut g = [T::zero()];
        let registers = &mut work.registers[..self.value.n_registers()];
        T::eval(&self.value, &work.inputs[..n], registers, &mut g);
        g[0]
    }

    /// The row over `bodies`, 6 columns each.
    pub fn jacobian<T: Real + From<C>>(
        &self,
        at: &Instant<'_, T>,
        work: &mut Work<T>,
        bodies: &[BodyId],
        jac: &mut [T],
    ) {
        self.write_gradient(at, work);
        jac.fill(T::zero());
        for (k, (vector, axis)) in self.coordinates.iter().enumerate() {
            let Some(slot) = bodies.iter().position(|b| *b == vector.body) else { continue };
            let g_k = work.outputs[k];
            let row = &mut jac[6 * slot..6 * (slot + 1)];
            if vector.is_point {
                row[*axis] += g_k;
            }
            // r × e_axis
            let r = vector.lever(at);
            let (next, previous) = ((axis + 1) % 3, (axis + 2) % 3);
            row[3 + next] += g_k * r[previous];
            row[3 + previous] -= g_k * r[next];
        }
    }

    /// g_t.
    pub fn time_rate<T: Real + From<C>>(&self, at: &Instant<'_, T>, work: &mut Work<T>) -> T {
        self.write_gradient(at, work);
        work.outputs[self.coordinates.len()]
    }

    /// γ.
    pub fn gamma<T: Real + From<C>>(&self, at: &Instant<'_, T>, work: &mut Work<T>) -> T {
        self.write_gradient(at, work);
        let mut sum = T::zero();
        for (k, (vector, axis)) in self.coordinates.iter().enumerate() {
            let omega = &at.twists[vector.body.index()].omega;
            let turn = omega.cross(&omega.cross(&vector.lever(at)));
            sum += work.outputs[k] * turn[*axis];
        }
        let n = self.write_inputs(at, &mut work.inputs);
        for (slot, (vector, axis)) in work.inputs[n..].iter_mut().zip(&self.coordinates) {
            *slot = vector.rate(at)[*axis];
        }
        let mut curvature = [T::zero()];
        let registers = &mut work.registers[..self.curvature.n_registers()];
        let inputs = &work.inputs[..n + self.coordinates.len()];
        T::eval(&self.curvature, inputs, registers, &mut curvature);
        -(sum + curvature[0])
    }
}
