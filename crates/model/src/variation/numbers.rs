//! Expressions over parameters as dual numbers.

use gelenk_expr::{Dual, Expr, Pool, Tape};

use nalgebra::{Matrix3, Vector3};

use super::still;
use crate::description::{MatExpr, VecExpr};
use crate::model::Model;

/// The parameters with their derivatives.
pub(super) struct Numbers {
    /// The model's expressions; new ones may come in.
    pub(super) pool: Pool,
    /// Symbols of all parameters.
    pub(super) symbols: Vec<Expr>,
    /// Their values.
    pub(super) values: Vec<Dual>,
}

impl Numbers {
    /// Parameters that are defined over others follow them.
    pub(super) fn new(model: &Model, chosen: &[&str]) -> Result<Self, String> {
        for name in chosen {
            if !model.parameters.iter().any(|p| p.name == *name) {
                return Err(format!("there is no parameter `{name}`"));
            }
        }
        let mut numbers =
            Numbers { pool: model.pool.clone(), symbols: Vec::new(), values: Vec::new() };
        for parameter in &model.parameters {
            let mut value = Dual::from(parameter.value);
            if let Some(lane) = chosen.iter().position(|name| *name == parameter.name) {
                value.d[lane] = 1.0;
            } else if let Some(definition) = parameter.definition {
                value.d = numbers.number(definition)?.d;
            }
            numbers.symbols.push(parameter.symbol);
            numbers.values.push(value);
        }
        Ok(numbers)
    }

    /// Values of expressions over parameters.
    pub(super) fn all(&self, exprs: &[Expr]) -> Result<Vec<Dual>, String> {
        let tape = Tape::compile(&self.pool, exprs, &self.symbols).map_err(|e| e.to_string())?;
        let mut registers = vec![Dual::default(); tape.n_registers()];
        let mut found = vec![Dual::default(); exprs.len()];
        tape.eval_dual(&self.values, &mut registers, &mut found);
        if found.iter().any(|x| x.d.iter().any(|d| !d.is_finite())) {
            return Err("a number of the model has no finite derivative".to_owned());
        }
        Ok(found)
    }

    pub(super) fn number(&self, expr: Expr) -> Result<Dual, String> {
        Ok(self.all(&[expr])?[0])
    }

    pub(super) fn vector(&self, v: &VecExpr) -> Result<Vector3<Dual>, String> {
        let found = self.all(v)?;
        Ok(Vector3::new(found[0], found[1], found[2]))
    }

    pub(super) fn matrix(&self, m: Option<&MatExpr>) -> Result<Matrix3<Dual>, String> {
        let Some(m) = m else { return Ok(Matrix3::identity()) };
        let found = self.all(&m.concat())?;
        Ok(Matrix3::from_row_slice(&found))
    }

    /// Parameters in expressions that change, with their values.
    pub(super) fn changing(&self, exprs: &[Expr]) -> Vec<(Expr, Dual)> {
        let mut list: Vec<(Expr, Dual)> = Vec::new();
        for symbol in exprs.iter().flat_map(|e| self.pool.symbols_of(*e)) {
            let known = self.symbols.iter().position(|s| *s == symbol);
            if let Some(value) = known.map(|i| self.values[i])
                && !still(&value)
                && !list.iter().any(|(s, _)| *s == symbol)
            {
                list.push((symbol, value));
            }
        }
        list
    }

    /// A tape over `inputs` and after them the parameters that change; all others are put in.
    pub(super) fn tape(
        &mut self,
        outputs: &[Expr],
        inputs: &[Expr],
    ) -> Result<(Tape, Vec<Dual>), String> {
        let changing = self.changing(outputs);
        let outputs = self.put_in(outputs);
        let (symbols, values): (Vec<Expr>, Vec<Dual>) = changing.into_iter().unzip();
        let inputs: Vec<Expr> = inputs.iter().copied().chain(symbols).collect();
        let tape = Tape::compile(&self.pool, &outputs, &inputs).map_err(|e| e.to_string())?;
        Ok((tape, values))
    }

    /// Expressions with the values of parameters that do not change.
    pub(super) fn put_in(&mut self, exprs: &[Expr]) -> Vec<Expr> {
        let mut fixed = Vec::new();
        for (symbol, value) in self.symbols.iter().zip(&self.values) {
            if still(value) {
                fixed.push((*symbol, self.pool.float(value.v)));
            }
        }
        self.pool.substitute_all(exprs, &fixed)
    }
}
