//! Placeholder until the expression kernel lands.
/// An expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Expr(u32);
/// An arena of expressions.
#[derive(Clone, Debug, Default)]
pub struct Pool {}
/// A compiled evaluator.
#[derive(Clone, Debug)]
pub struct Tape {}
impl Tape {
    /// Registers needed.
    pub fn n_registers(&self) -> usize {
        0
    }
    /// Evaluates.
    pub fn eval(&self, _inputs: &[f64], _registers: &mut [f64], _outputs: &mut [f64]) {}
}
