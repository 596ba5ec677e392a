//! Gradients, Jacobians, Hessians, and the equations of a constraint.

use crate::node::Expr;
use crate::pool::Pool;

/// A holonomic constraint g(q, t) = 0 and its derivatives.
///
/// ```text
/// ġ = J v + g_t = 0
/// g̈ = J v̇ - γ = 0,   γ = -(vᵀ ∂²g/∂q² v + 2 ∂²g/∂q∂t v + g_tt)
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstraintEquations {
    /// g; zero where the constraint holds. (n_rows)
    pub g: Vec<Expr>,
    /// J = ∂g/∂q. (n_rows, n_coordinates)
    pub jac: Vec<Vec<Expr>>,
    /// g_t = ∂g/∂t at constant q. (n_rows)
    pub g_t: Vec<Expr>,
    /// γ, so that J v̇ = γ. (n_rows)
    pub gamma: Vec<Expr>,
}

impl Pool {
    /// ∂e/∂xᵢ for each variable.
    pub fn gradient(&mut self, e: Expr, variables: &[Expr]) -> Vec<Expr> {
        variables.iter().map(|&x| self.diff(e, x)).collect()
    }

    /// `J[i][j]` = ∂eᵢ/∂xⱼ.
    pub fn jacobian(&mut self, exprs: &[Expr], variables: &[Expr]) -> Vec<Vec<Expr>> {
        exprs.iter().map(|&e| self.gradient(e, variables)).collect()
    }

    /// `H[i][j]` = ∂²e/∂xᵢ∂xⱼ; symmetric, each pair derived once.
    pub fn hessian(&mut self, e: Expr, variables: &[Expr]) -> Vec<Vec<Expr>> {
        let n = variables.len();
        let gradient = self.gradient(e, variables);
        let mut hessian = vec![vec![Expr::ZERO; n]; n];
        for i in 0..n {
            for j in i..n {
                let second = self.diff(gradient[i], variables[j]);
                hessian[i][j] = second;
                hessian[j][i] = second;
            }
        }
        hessian
    }

    /// The equations of the constraints g(q, t) = 0 with velocities v = q̇, one for each q.
    ///
    /// γ comes from differentiating ġ = J v + g_t along (v, 1) with v held constant, which is
    /// the formula of [`ConstraintEquations`] without its second derivatives written out.
    pub fn constraint_equations(
        &mut self,
        g: &[Expr],
        q: &[Expr],
        v: &[Expr],
        t: Expr,
    ) -> ConstraintEquations {
        debug_assert_eq!(q.len(), v.len(), "one velocity for each coordinate");
        let jac = self.jacobian(g, q);
        let g_t: Vec<Expr> = g.iter().map(|&g| self.diff(g, t)).collect();
        let mut rates: Vec<(Expr, Expr)> = q.iter().copied().zip(v.iter().copied()).collect();
        rates.push((t, Expr::ONE));
        let g_dot = self.directional_all(g, &rates);
        let g_ddot = self.directional_all(&g_dot, &rates);
        let gamma = g_ddot.into_iter().map(|e| self.neg(e)).collect();
        ConstraintEquations { g: g.to_vec(), jac, g_t, gamma }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hessian_of_a_product() {
        let mut pool = Pool::new();
        let e = pool.parse("x^2*y").unwrap();
        let variables = [pool.symbol("x"), pool.symbol("y")];
        let hessian = pool.hessian(e, &variables);
        let two_y = pool.parse("2*y").unwrap();
        let two_x = pool.parse("2*x").unwrap();
        assert_eq!(hessian, [[two_y, two_x], [two_x, Expr::ZERO]]);
    }

    #[test]
    fn gamma_is_the_quadratic_form() {
        let mut pool = Pool::new();
        let g = pool.parse_equation("x^2*y + y*sin(t) = l^2").unwrap();
        let q = [pool.symbol("x"), pool.symbol("y")];
        let v = [pool.symbol("vx"), pool.symbol("vy")];
        let t = pool.time();
        let c = pool.constraint_equations(&[g], &q, &v, t);
        assert_eq!(c.jac[0][0], pool.parse("2*x*y").unwrap());
        assert_eq!(c.g_t[0], pool.parse("y*cos(t)").unwrap());
        // -(vᵀ H v + 2 g_qt v + g_tt)
        let expected = pool.parse("-(2*y*vx^2 + 4*x*vx*vy + 2*cos(t)*vy - y*sin(t))").unwrap();
        let difference = pool.sub(c.gamma[0], expected);
        assert_eq!(pool.expand(difference), Expr::ZERO);
    }
}
