//! Lowering of expressions to operations on values, each value once.

use rustc_hash::FxHashMap;

use super::Op;
use crate::error::CompileError;
use crate::eval::PowerForm;
use crate::func::Func;
use crate::node::{Comparison, Expr, Node};
use crate::pool::Pool;

/// What an operation reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Value {
    Constant(u32),
    Input(u32),
    /// The result of an operation.
    Result(u32),
}

/// An operation; arguments beyond its number repeat the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Operation {
    pub(super) op: Op,
    pub(super) args: [Value; 3],
}

impl Operation {
    pub(super) fn used(&self) -> &[Value] {
        &self.args[..self.op.n_arguments()]
    }
}

/// Operations in an order in which arguments come first, some of them not needed.
pub(super) struct Program {
    pub(super) operations: Vec<Operation>,
    pub(super) constants: Vec<f64>,
    pub(super) outputs: Vec<Value>,
}

pub(super) struct Builder<'a> {
    pool: &'a Pool,
    values: FxHashMap<Expr, Value>,
    result: Program,
    known: FxHashMap<Operation, Value>,
    known_constants: FxHashMap<u64, Value>,
}

impl<'a> Builder<'a> {
    pub(super) fn lower(
        pool: &'a Pool,
        outputs: &[Expr],
        inputs: &[Expr],
    ) -> Result<Self, CompileError> {
        let mut values = FxHashMap::default();
        for (i, &input) in inputs.iter().enumerate() {
            if !matches!(pool.node(input), Node::Symbol(_) | Node::OfTime { .. }) {
                return Err(CompileError::NotAVariable { text: pool.display(input).to_string() });
            }
            let i = u32::try_from(i).map_err(|_| CompileError::TooLarge)?;
            values.entry(input).or_insert(Value::Input(i));
        }
        let result = Program { operations: Vec::new(), constants: Vec::new(), outputs: Vec::new() };
        let (known, known_constants) = (FxHashMap::default(), FxHashMap::default());
        let mut builder = Self { pool, values, result, known, known_constants };
        for e in pool.subexpressions(outputs) {
            if !builder.values.contains_key(&e) {
                let value = builder.value(e)?;
                builder.values.insert(e, value);
            }
        }
        builder.result.outputs = outputs.iter().map(|e| builder.values[e]).collect();
        Ok(builder)
    }

    pub(super) fn finish(self) -> Program {
        self.result
    }

    fn emit(&mut self, op: Op, args: &[Value]) -> Value {
        let mut all = [args[0]; 3];
        all[..args.len()].copy_from_slice(args);
        if op.is_commutative() && all[1] < all[0] {
            all.swap(0, 1);
        }
        if let [Value::Constant(a), Value::Constant(b), Value::Constant(c)] = all {
            let [a, b, c] = [a, b, c].map(|i| self.result.constants[i as usize]);
            return self.constant(op.value(a, b, || c));
        }
        let operation = Operation { op, args: all };
        let operations = &mut self.result.operations;
        *self.known.entry(operation).or_insert_with(|| {
            operations.push(operation);
            Value::Result(index(operations.len() - 1))
        })
    }

    fn constant(&mut self, x: f64) -> Value {
        let constants = &mut self.result.constants;
        *self.known_constants.entry(x.to_bits()).or_insert_with(|| {
            constants.push(x);
            Value::Constant(index(constants.len() - 1))
        })
    }

    fn value(&mut self, e: Expr) -> Result<Value, CompileError> {
        let pool = self.pool;
        Ok(match pool.node(e) {
            Node::Number(n) => self.constant(n.to_f64()),
            Node::Constant(c) => self.constant(c.value()),
            Node::Symbol(_) | Node::OfTime { .. } => {
                return Err(CompileError::MissingInput { name: pool.display(e).to_string() });
            }
            Node::Sum(terms) => self.sum(terms),
            Node::Product(factors) => self.product(factors, false),
            Node::Power(base, exponent) => match pool.power_form(e) {
                Some(_) => self.product(&[e], false),
                None => self.emit(Op::Pow, &[self.values[&base], self.values[&exponent]]),
            },
            Node::Apply(func, arguments) => {
                let op = match func {
                    Func::Min => Op::Min,
                    Func::Max => Op::Max,
                    Func::Atan2 => Op::Atan2,
                    _ => Op::Function(func),
                };
                let first = self.values[&arguments[0]];
                if op.n_arguments() == 1 {
                    return Ok(self.emit(op, &[first]));
                }
                arguments[1..].iter().fold(first, |a, b| self.emit(op, &[a, self.values[b]]))
            }
            Node::If(comparison, [a, b, then, otherwise]) => {
                let op = match comparison {
                    Comparison::Less | Comparison::Greater => Op::Less,
                    Comparison::LessEqual | Comparison::GreaterEqual => Op::LessEqual,
                };
                let holds = self.emit(op, &[self.values[&a], self.values[&b]]);
                self.emit(Op::Select, &[holds, self.values[&then], self.values[&otherwise]])
            }
        })
    }

    fn sum(&mut self, terms: &[Expr]) -> Value {
        let first = self.pool.first_term(terms);
        let mut sum = self.values[&terms[first]];
        for (i, &term) in terms.iter().enumerate() {
            if i == first {
                continue;
            }
            sum = match self.pool.node(term) {
                Node::Product(factors) if self.pool.reads_negative(term) => {
                    let magnitude = self.product(factors, true);
                    self.emit(Op::Sub, &[sum, magnitude])
                }
                _ => self.emit(Op::Add, &[sum, self.values[&term]]),
            };
        }
        sum
    }

    /// The product, or without the sign of its coefficient, as [`Pool::eval`] computes it.
    fn product(&mut self, factors: &[Expr], drop_sign: bool) -> Value {
        let (mut above, mut below): (Option<Value>, Option<Value>) = (None, None);
        let mut coefficient = 1.0;
        for &factor in factors {
            if let Some(n) = self.pool.as_number(factor) {
                coefficient = if drop_sign { n.to_f64().abs() } else { n.to_f64() };
                continue;
            }
            let (power, inverse) = match self.pool.power_form(factor) {
                Some((base, form)) => (self.power(self.values[&base], form), form.is_inverse()),
                None => (self.values[&factor], false),
            };
            let part = if inverse { &mut below } else { &mut above };
            *part = Some(match *part {
                Some(before) => self.emit(Op::Mul, &[before, power]),
                None => power,
            });
        }
        let above = match above {
            None => self.constant(coefficient),
            Some(above) if is(coefficient, 1.0) => above,
            Some(above) if is(coefficient, -1.0) => self.emit(Op::Neg, &[above]),
            Some(above) => {
                let coefficient = self.constant(coefficient);
                self.emit(Op::Mul, &[above, coefficient])
            }
        };
        match below {
            Some(below) => self.emit(Op::Div, &[above, below]),
            None => above,
        }
    }

    /// x^|exponent| for products, x^exponent for the general power.
    fn power(&mut self, x: Value, form: PowerForm) -> Value {
        match form {
            PowerForm::General(k) => {
                let k = self.constant(k);
                self.emit(Op::Pow, &[x, k])
            }
            PowerForm::Product { whole: 0, .. } => self.emit(Op::Sqrt, &[x]),
            PowerForm::Product { whole, half, .. } => {
                // As `numeric::powi` does it.
                let mut result = x;
                for bit in (0..whole.ilog2()).rev() {
                    result = self.emit(Op::Mul, &[result, result]);
                    if whole >> bit & 1 == 1 {
                        result = self.emit(Op::Mul, &[result, x]);
                    }
                }
                if half {
                    let root = self.emit(Op::Sqrt, &[x]);
                    result = self.emit(Op::Mul, &[result, root]);
                }
                result
            }
        }
    }
}

fn is(x: f64, y: f64) -> bool {
    x.to_bits() == y.to_bits()
}

/// Saturates: `registers::allocate` refuses so many operations.
fn index(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
