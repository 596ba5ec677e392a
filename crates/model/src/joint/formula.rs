//! Formulas of joints, evaluated on the stack: joint equations get no scratch memory and allocate none.

use gelenk_expr::{Expr, Pool, Tape};

use crate::math::Real;

/// Most formulas need fewer registers than this.
const FEW: usize = 64;
/// None may need more.
const MANY: usize = 1024;

/// Expressions of a few variables, compiled.
#[derive(Clone, Debug)]
pub(super) struct Formula {
    tape: Tape,
}

/// Expressions as texts, with the values of parameters put in.
pub(super) fn written(pool: &mut Pool, exprs: &[Expr], parameters: &[(Expr, f64)]) -> Vec<String> {
    let values: Vec<_> = parameters.iter().map(|(p, value)| (*p, pool.float(*value))).collect();
    let exprs = pool.substitute_all(exprs, &values);
    exprs.iter().map(|e| pool.display(*e).to_string()).collect()
}

impl Formula {
    /// Compiles `outputs` over `inputs`, with the values of parameters put in.
    pub(super) fn new(
        pool: &mut Pool,
        outputs: &[Expr],
        inputs: &[Expr],
        parameters: &[(Expr, f64)],
    ) -> Result<Self, String> {
        let values: Vec<_> = parameters.iter().map(|(p, value)| (*p, pool.float(*value))).collect();
        let outputs = pool.substitute_all(outputs, &values);
        let tape = Tape::compile(pool, &outputs, inputs).map_err(|error| error.to_string())?;
        if tape.n_registers() > MANY {
            return Err(format!(
                "the formula is too long: with its derivatives it needs {} values at a time, more than {MANY}",
                tape.n_registers()
            ));
        }
        Ok(Formula { tape })
    }

    #[inline]
    pub(super) fn eval<T: Real>(&self, inputs: &[T], outputs: &mut [T]) {
        if self.tape.n_registers() <= FEW {
            T::eval(&self.tape, inputs, &mut [T::zero(); FEW], outputs);
        } else {
            T::eval(&self.tape, inputs, &mut [T::zero(); MANY], outputs);
        }
    }
}
