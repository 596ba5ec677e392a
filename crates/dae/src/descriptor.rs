//! Systems in descriptor form with polynomial conditions, small and dense: for inconsistent start values and for checking.
//!
//! ```text
//! [ M  Gᵀ ] [ a ]   [ F(t, p, v) ]
//! [ G  0  ] [ λ ] = [ γ(p, v)    ],    ṗ = v, v̇ = a,    g(p) = 0, G v = 0,    γ = −vᵀ (∂G) v
//! ```
//! \[Simon 2004\] (7).

use std::cell::RefCell;

use gelenk_model::{Model, State};
use nalgebra::{DMatrix, DVector};

use crate::constraints::conditions;
use crate::equations::Equations;
use crate::polynomial::Polynomial;

/// F(t, p, v), written to its last argument.
pub type Force<'a> = Box<dyn Fn(f64, &[f64], &[f64], &mut [f64]) + 'a>;

/// A system in descriptor form.
pub struct Descriptor<'a> {
    /// The diagonal of M. (n)
    pub mass: Vec<f64>,
    /// The conditions. (k)
    pub g: Vec<Polynomial>,
    /// F.
    pub force: Force<'a>,
}

impl std::fmt::Debug for Descriptor<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Descriptor")
            .field("mass", &self.mass)
            .field("g", &self.g)
            .finish_non_exhaustive()
    }
}

/// Why a descriptor system has no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DescriptorError {
    /// G has lost rank (or M and G leave a movement without mass).
    #[error("the matrix [M Gᵀ; G 0] is singular")]
    Singular,
    /// The wanted components of v_i contradict G v_i = G v_0.
    #[error("the velocities cannot be made consistent with the components that are to stay")]
    Contradiction,
    /// Newton's method does not converge: too far from the conditions.
    #[error(
        "the start is too far from the conditions: {gap:.1e} left after {iterations} iterations"
    )]
    TooFar {
        /// Largest |g| left.
        gap: f64,
        /// Iterations made.
        iterations: u32,
    },
    /// A condition of the model is no polynomial.
    #[error("`{element}`: {reason}")]
    NotPolynomial {
        /// The element.
        element: String,
        /// Why.
        reason: String,
    },
    /// The integrator gave up.
    #[error(transparent)]
    Integrator(#[from] gelenk_ode::Error),
}

/// Pivots below this part of the largest one are zero.
const RANK_TOLERANCE: f64 = 1e-13;

impl<'a> Descriptor<'a> {
    /// A model in natural coordinates. A torque τ on a body is the force ½ τ × R_k on each column of R.
    pub fn of_model(model: &'a Model, state: &State) -> Result<Self, DescriptorError> {
        let found = conditions(model, state);
        if let Some((block, reason)) = found.left_out.first() {
            let element = model.rows[*block].name.clone();
            return Err(DescriptorError::NotPolynomial { element, reason: reason.clone() });
        }
        let equations = Equations::new(model, state);
        let mass = equations.layout().mass(model);
        let memory = RefCell::new(equations);
        let force: Force<'a> = Box::new(move |t, p, v, out| {
            memory.borrow_mut().natural_forces(t, p, v, out);
        });
        Ok(Descriptor { mass, g: found.list.into_iter().map(|c| c.g).collect(), force })
    }

    /// Number of coordinates.
    pub fn n(&self) -> usize {
        self.mass.len()
    }

    /// g at p. (k)
    pub fn value(&self, p: &[f64]) -> DVector<f64> {
        DVector::from_iterator(self.g.len(), self.g.iter().map(|g| g.value(p)))
    }

    /// G at p. (k × n)
    pub fn jacobian(&self, p: &[f64]) -> DMatrix<f64> {
        let mut jac = DMatrix::zeros(self.g.len(), self.n());
        let mut row = vec![0.0; self.n()];
        for (i, g) in self.g.iter().enumerate() {
            row.fill(0.0);
            g.add_gradient(p, &mut row);
            for (j, x) in row.iter().enumerate() {
                jac[(i, j)] = *x;
            }
        }
        jac
    }

    /// γ = −vᵀ (∂G) v. (k)
    pub fn gamma(&self, p: &[f64], v: &[f64]) -> DVector<f64> {
        DVector::from_iterator(self.g.len(), self.g.iter().map(|g| -g.second(p, v, v)))
    }

    /// Σ ξ_i ∂²g_i/∂p², the tensor (∂Gᵀ) ξ. (n × n)
    pub fn tensor(&self, p: &[f64], xi: &DVector<f64>) -> DMatrix<f64> {
        let mut sum = DMatrix::zeros(self.n(), self.n());
        for (g, xi) in self.g.iter().zip(xi.iter()) {
            g.each_second(p, |i, j, h| sum[(i, j)] += xi * h);
        }
        sum
    }

    /// x and ξ of [A Gᵀ; G 0] [x; ξ] = [upper; lower], with `a` the upper left block.
    pub(crate) fn solve(
        a: &DMatrix<f64>,
        jac: &DMatrix<f64>,
        upper: &DVector<f64>,
        lower: &DVector<f64>,
    ) -> Result<(DVector<f64>, DVector<f64>), DescriptorError> {
        let (n, k) = (a.nrows(), jac.nrows());
        let mut matrix = DMatrix::zeros(n + k, n + k);
        matrix.view_mut((0, 0), (n, n)).copy_from(a);
        matrix.view_mut((n, 0), (k, n)).copy_from(jac);
        matrix.view_mut((0, n), (n, k)).copy_from(&jac.transpose());
        let mut right = DVector::zeros(n + k);
        right.rows_mut(0, n).copy_from(upper);
        right.rows_mut(n, k).copy_from(lower);
        let factor = matrix.full_piv_lu();
        let pivots = factor.u().diagonal();
        let (least, most) =
            (pivots.iter().fold(f64::INFINITY, |a, b| a.min(b.abs())), pivots.amax());
        if !(least > RANK_TOLERANCE * most) {
            return Err(DescriptorError::Singular);
        }
        let x = factor.solve(&right).ok_or(DescriptorError::Singular)?;
        Ok((x.rows(0, n).into_owned(), x.rows(n, k).into_owned()))
    }

    /// M as a matrix.
    pub(crate) fn mass_matrix(&self) -> DMatrix<f64> {
        DMatrix::from_diagonal(&DVector::from_column_slice(&self.mass))
    }

    /// a and λ at (t, p, v), with `extra` added to γ.
    pub fn accelerations(
        &self,
        t: f64,
        p: &[f64],
        v: &[f64],
        extra: &DVector<f64>,
    ) -> Result<(DVector<f64>, DVector<f64>), DescriptorError> {
        let mut force = DVector::zeros(self.n());
        (self.force)(t, p, v, force.as_mut_slice());
        let gamma = self.gamma(p, v) + extra;
        Self::solve(&self.mass_matrix(), &self.jacobian(p), &force, &gamma)
    }
}
