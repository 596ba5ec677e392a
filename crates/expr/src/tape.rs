//! Compiled expressions: a flat list of instructions over a small register file.

mod beside;
mod build;
mod dual;
mod quick;
mod registers;
mod series;

use crate::error::CompileError;
use crate::func::Func;
use crate::node::Expr;
use crate::numeric;
use crate::pool::Pool;
use build::Builder;
use quick::Quick;

/// Expressions compiled for fast repeated evaluation.
///
/// Shared subexpressions are computed once, constant ones not at all, integer and half-integer powers are products and
/// roots, and registers are reused as soon as their value is dead. There is no fused
/// multiply-add and no platform function, so the same expressions give the same bits
/// everywhere, those of [`Pool::eval`]. Both branches of a conditional are computed.
///
/// ```
/// use gelenk_expr::{Pool, Tape};
/// let mut pool = Pool::new();
/// let e = pool.parse("x^2*sin(y) + x").unwrap();
/// let inputs = [pool.symbol("x"), pool.symbol("y")];
/// let tape = Tape::compile(&pool, &[e], &inputs).unwrap();
/// let mut registers = vec![0.0; tape.n_registers()];
/// let mut outputs = [0.0];
/// tape.eval(&[2.0, 0.0], &mut registers, &mut outputs);
/// assert_eq!(outputs, [2.0]);
/// ```
#[derive(Clone, Debug)]
pub struct Tape {
    code: Vec<Instruction>,
    /// The same for plain numbers, if registers are few.
    quick: Option<Quick>,
    /// Values of the first registers.
    constants: Vec<f64>,
    n_inputs: usize,
    n_registers: usize,
    /// Register of each output.
    outputs: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Op {
    Add,
    Sub,
    Mul,
    Div,
    Neg,
    Sqrt,
    /// a·b + c, rounded twice.
    MulAdd,
    /// a·b - c, rounded twice.
    MulSub,
    /// c - a·b, rounded twice.
    SubMul,
    Pow,
    Min,
    Max,
    Atan2,
    Less,
    LessEqual,
    /// b if a is not 0, else c.
    Select,
    Function(Func),
}

#[derive(Clone, Copy, Debug)]
struct Instruction {
    op: Op,
    target: u32,
    a: u32,
    b: u32,
    c: u32,
}

impl Tape {
    /// Compiles expressions of the given inputs, which are symbols or functions of time.
    ///
    /// A variable of the outputs that is not among the inputs is an error. Inputs that no
    /// output needs are fine.
    pub fn compile(pool: &Pool, outputs: &[Expr], inputs: &[Expr]) -> Result<Self, CompileError> {
        let builder = Builder::lower(pool, outputs, inputs)?;
        registers::allocate(builder.finish(), inputs.len())
    }

    /// Computes the outputs from the inputs. Nothing is allocated, and nothing is kept in
    /// `registers` between calls.
    ///
    /// # Panics
    ///
    /// If a slice is shorter than [`n_inputs`](Self::n_inputs),
    /// [`n_registers`](Self::n_registers) or [`n_outputs`](Self::n_outputs).
    pub fn eval(&self, inputs: &[f64], registers: &mut [f64], outputs: &mut [f64]) {
        let n_constants = self.constants.len();
        if let Some(quick) = &self.quick {
            assert!(registers.len() >= self.n_registers, "too few registers");
            quick.eval(&self.constants, &inputs[..self.n_inputs], &self.outputs, outputs);
            return;
        }
        let r = &mut registers[..self.n_registers];
        r[..n_constants].copy_from_slice(&self.constants);
        r[n_constants..n_constants + self.n_inputs].copy_from_slice(&inputs[..self.n_inputs]);
        for i in &self.code {
            let (a, b) = (r[i.a as usize], r[i.b as usize]);
            let value = i.op.value(a, b, || r[i.c as usize]);
            r[i.target as usize] = value;
        }
        for (output, &register) in outputs[..self.outputs.len()].iter_mut().zip(&self.outputs) {
            *output = r[register as usize];
        }
    }

    /// The outputs as a new vector, for occasional use.
    pub fn values(&self, inputs: &[f64]) -> Vec<f64> {
        let mut registers = vec![0.0; self.n_registers];
        let mut outputs = vec![0.0; self.outputs.len()];
        self.eval(inputs, &mut registers, &mut outputs);
        outputs
    }

    /// Number of inputs.
    pub fn n_inputs(&self) -> usize {
        self.n_inputs
    }

    /// Number of outputs.
    pub fn n_outputs(&self) -> usize {
        self.outputs.len()
    }

    /// Length of the register file, constants and inputs included.
    pub fn n_registers(&self) -> usize {
        self.n_registers
    }

    /// Number of arithmetic operations per evaluation; a·b + c counts as two.
    pub fn n_operations(&self) -> usize {
        self.code.iter().map(|i| i.op.n_operations()).sum()
    }

    /// Number of instructions.
    pub fn n_instructions(&self) -> usize {
        self.code.len()
    }
}

impl Op {
    /// What the operation computes; few need c.
    #[inline]
    fn value(self, a: f64, b: f64, c: impl FnOnce() -> f64) -> f64 {
        match self {
            Self::Add => a + b,
            Self::Sub => a - b,
            Self::Mul => a * b,
            Self::Div => a / b,
            Self::Neg => -a,
            Self::Sqrt => a.sqrt(),
            // Not `mul_add`: its bits differ between machines with and without it.
            Self::MulAdd => a * b + c(),
            Self::MulSub => a * b - c(),
            Self::SubMul => c() - a * b,
            Self::Pow => libm::pow(a, b),
            Self::Min => numeric::min(a, b),
            Self::Max => numeric::max(a, b),
            Self::Atan2 => libm::atan2(a, b),
            Self::Less => f64::from(u8::from(a < b)),
            Self::LessEqual => f64::from(u8::from(a <= b)),
            Self::Select => {
                if a == 0.0 {
                    c()
                } else {
                    b
                }
            }
            Self::Function(func) => numeric::unary(func, a),
        }
    }

    fn n_arguments(self) -> usize {
        match self {
            Self::Neg | Self::Sqrt | Self::Function(_) => 1,
            Self::MulAdd | Self::MulSub | Self::SubMul | Self::Select => 3,
            _ => 2,
        }
    }

    fn n_operations(self) -> usize {
        if matches!(self, Self::MulAdd | Self::MulSub | Self::SubMul) { 2 } else { 1 }
    }

    /// Whether a and b may change places.
    fn is_commutative(self) -> bool {
        matches!(self, Self::Add | Self::Mul)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compile(text: &str, inputs: &[&str]) -> (Pool, Expr, Tape) {
        let mut pool = Pool::new();
        let e = pool.parse(text).unwrap();
        let inputs: Vec<Expr> = inputs.iter().map(|n| pool.symbol(n)).collect();
        let tape = Tape::compile(&pool, &[e], &inputs).unwrap();
        (pool, e, tape)
    }

    fn run(text: &str, x: f64) -> f64 {
        compile(text, &["x"]).2.values(&[x])[0]
    }

    #[test]
    fn every_instruction() {
        assert_eq!(run("x^7 - 3*x + 1", 2.0), 123.0);
        assert_eq!(run("1/x^2", 2.0), 0.25);
        assert_eq!(run("x^(-3/2)", 4.0), 0.125);
        assert_eq!(run("-x - 1", 4.0), -5.0);
        assert_eq!(run("-x", 4.0), -4.0);
        assert_eq!(run("x^x", 3.0), 27.0);
        assert_eq!(run("min(x, 3) + 10*max(x, 3)", 2.0), 32.0);
        assert_eq!(run("if(x < 2, 1, 3)", 2.0), 3.0);
        assert_eq!(run("if(x <= 2, 1, 3)", 2.0), 1.0);
        assert_eq!(run("step(x) + sign(x) + floor(x/2) + abs(x)", -1.0), -1.0);
        assert_eq!(run("atan2(x, 1)", 1.0), std::f64::consts::FRAC_PI_4);
        assert_eq!(run("5", 1.0), 5.0);
        assert_eq!(run("x", 1.5), 1.5);
        assert_eq!(run("0^(-1)", 0.0), f64::INFINITY);
    }

    #[test]
    fn conditionals_hide_the_other_branch() {
        assert_eq!(run("if(x > 0, log(x), 0)", -1.0), 0.0);
        assert_eq!(run("if(x > 0, 1/x, 0)", 0.0), 0.0);
        assert_eq!(run("if(x > 0, 1, 2)", f64::NAN), 2.0);
    }

    #[test]
    fn unknown_inputs_are_named() {
        let mut pool = Pool::new();
        let e = pool.parse("x + joint.elbow.angle").unwrap();
        let x = pool.symbol("x");
        let error = Tape::compile(&pool, &[e], &[x]).unwrap_err();
        assert_eq!(error, CompileError::MissingInput { name: "joint.elbow.angle".into() });
        let error = Tape::compile(&pool, &[e], &[e]).unwrap_err();
        assert!(matches!(error, CompileError::NotAVariable { .. }));
        let f = pool.function_of_time("f", 1);
        assert!(Tape::compile(&pool, &[f], &[f]).is_ok());
    }

    #[test]
    fn shared_parts_are_computed_once() {
        let (_, _, tape) = compile("sin(x + y)^2 + 3*sin(x + y) + x*y*2 + cos(x*y)", &["x", "y"]);
        // x+y, sin, ^2, *3, +, x*y, *2, +, cos, +
        assert_eq!(tape.n_operations(), 10);
    }

    #[test]
    fn constant_parts_are_computed_beforehand() {
        let (_, _, tape) = compile("x*sqrt(2)*log(10) + sin(1)", &["x"]);
        assert_eq!(tape.n_operations(), 3);
        let (pool, e, tape) = compile("exp(sqrt(2)/3) - max(pi, e)", &[]);
        assert_eq!(tape.n_operations(), 0);
        assert_eq!(Some(tape.values(&[])[0]), pool.as_f64(e));
    }

    #[test]
    fn few_registers_for_long_sums() {
        let terms: Vec<String> = (1..1000).map(|i| format!("sin({i}*x)*cos({i}*y)")).collect();
        let (_, _, tape) = compile(&terms.join(" + "), &["x", "y"]);
        assert!(tape.n_registers() - 2 - 999 < 8, "{}", tape.n_registers());
    }

    #[test]
    fn deep_expressions_compile() {
        let mut pool = Pool::new();
        let x = pool.symbol("x");
        let y = pool.symbol("y");
        let mut e = x;
        for _ in 0..100_000 {
            let sin = pool.func(Func::Sin, &[e]);
            e = pool.add(&[sin, y]);
        }
        let tape = Tape::compile(&pool, &[e], &[x, y]).unwrap();
        assert_eq!(tape.n_operations(), 200_000);
        assert!(tape.n_registers() <= 4);
        assert_eq!(tape.values(&[0.3, 0.4])[0], pool.eval(e, |s| if s == x { 0.3 } else { 0.4 }));
    }
}
