//! Tapes with few registers: narrow instructions, the frequent pairs of them in one.

use super::{Instruction, Op};

/// Registers that a byte can name: none of them needs a check.
const ROOM: usize = 256;

/// Shorter tapes do not make up for clearing them.
const SHORTEST: usize = 32;

/// The instructions of a tape for plain numbers. Every operation is rounded as in the tape itself, so that the bits are the same.
#[derive(Clone, Debug)]
pub(super) struct Quick {
    code: Vec<Step>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Add,
    Sub,
    Mul,
    Div,
    Sqrt,
    MulAdd,
    MulSub,
    SubMul,
    /// (a + b)·c.
    AddThenMul,
    /// (a - b)·c.
    SubThenMul,
    /// (a·b)·c.
    MulThenMul,
    /// (a·b)/c.
    MulThenDiv,
    /// c/(a·b).
    DivByMul,
    /// Any other operation.
    Other,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    form: Form,
    target: u8,
    a: u8,
    b: u8,
    c: u8,
    op: Op,
}

impl Quick {
    /// The same instructions, if there are few registers and the tape is long enough.
    pub(super) fn new(code: &[Instruction], outputs: &[u32], n_registers: usize) -> Option<Self> {
        if n_registers > ROOM || code.len() < SHORTEST {
            return None;
        }
        let steps: Vec<Step> = code.iter().map(Step::new).collect::<Option<_>>()?;
        let read = read_later(code, outputs, n_registers);
        let mut code: Vec<Step> = Vec::with_capacity(steps.len());
        // Whether the last step is a single one.
        let mut open = false;
        for (step, later) in steps.into_iter().zip(read) {
            let pair = code.last().filter(|_| open).and_then(|last| last.with(step));
            match (pair, code.last_mut()) {
                (Some(pair), Some(last)) if !later => {
                    *last = pair;
                    open = false;
                }
                _ => {
                    code.push(step);
                    open = true;
                }
            }
        }
        Some(Self { code })
    }

    /// The outputs from the inputs.
    pub(super) fn eval(
        &self,
        constants: &[f64],
        inputs: &[f64],
        registers: &[u32],
        outputs: &mut [f64],
    ) {
        let mut r = [0.0; ROOM];
        r[..constants.len()].copy_from_slice(constants);
        r[constants.len()..][..inputs.len()].copy_from_slice(inputs);
        for step in &self.code {
            let (a, b, c) = (usize::from(step.a), usize::from(step.b), usize::from(step.c));
            r[usize::from(step.target)] = match step.form {
                Form::Add => r[a] + r[b],
                Form::Sub => r[a] - r[b],
                Form::Mul => r[a] * r[b],
                Form::Div => r[a] / r[b],
                Form::Sqrt => r[a].sqrt(),
                Form::MulAdd => r[a] * r[b] + r[c],
                Form::MulSub => r[a] * r[b] - r[c],
                Form::SubMul => r[c] - r[a] * r[b],
                Form::AddThenMul => (r[a] + r[b]) * r[c],
                Form::SubThenMul => (r[a] - r[b]) * r[c],
                Form::MulThenMul => r[a] * r[b] * r[c],
                Form::MulThenDiv => r[a] * r[b] / r[c],
                Form::DivByMul => r[c] / (r[a] * r[b]),
                Form::Other => other(step.op, r[a], r[b], r[c]),
            };
        }
        for (output, &register) in outputs[..registers.len()].iter_mut().zip(registers) {
            *output = r[register as usize];
        }
    }
}

#[inline(never)]
fn other(op: Op, a: f64, b: f64, c: f64) -> f64 {
    op.value(a, b, || c)
}

impl Step {
    /// An instruction, if its registers are among the first.
    fn new(i: &Instruction) -> Option<Self> {
        let form = match i.op {
            Op::Add => Form::Add,
            Op::Sub => Form::Sub,
            Op::Mul => Form::Mul,
            Op::Div => Form::Div,
            Op::Sqrt => Form::Sqrt,
            Op::MulAdd => Form::MulAdd,
            Op::MulSub => Form::MulSub,
            Op::SubMul => Form::SubMul,
            _ => Form::Other,
        };
        let n = i.op.n_arguments();
        let register = |register: u32, k: usize| {
            if k < n { u8::try_from(register).ok() } else { Some(0) }
        };
        let [a, b, c] = [register(i.a, 0)?, register(i.b, 1)?, register(i.c, 2)?];
        Some(Self { form, target: register(i.target, 0)?, a, b, c, op: i.op })
    }

    /// This step and the next in one, if there is a form for them: the next reads the result of this one once.
    fn with(self, next: Self) -> Option<Self> {
        let (first, second) = (next.a == self.target, next.b == self.target);
        let (form, c) = match (self.form, next.form) {
            _ if first == second => return None,
            (Form::Add, Form::Mul) => (Form::AddThenMul, if first { next.b } else { next.a }),
            (Form::Sub, Form::Mul) => (Form::SubThenMul, if first { next.b } else { next.a }),
            (Form::Mul, Form::Mul) => (Form::MulThenMul, if first { next.b } else { next.a }),
            (Form::Mul, Form::Div) if first => (Form::MulThenDiv, next.b),
            (Form::Mul, Form::Div) => (Form::DivByMul, next.a),
            _ => return None,
        };
        Some(Self { form, target: next.target, c, ..self })
    }
}

/// For each instruction whether the result of the one before it is read after it.
fn read_later(code: &[Instruction], outputs: &[u32], n_registers: usize) -> Vec<bool> {
    let mut read = vec![false; n_registers];
    for &register in outputs {
        read[register as usize] = true;
    }
    let mut list = vec![false; code.len()];
    for (k, i) in code.iter().enumerate().rev() {
        let before = k.checked_sub(1).map(|k| code[k].target);
        // A result that this one overwrites is gone.
        list[k] = before.is_some_and(|before| before != i.target && read[before as usize]);
        read[i.target as usize] = false;
        for register in [i.a, i.b, i.c].into_iter().take(i.op.n_arguments()) {
            read[register as usize] = true;
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use crate::{Expr, Pool, Tape};

    #[test]
    fn same_bits_as_the_tape() {
        let mut pool = Pool::new();
        let inputs = ["x", "y", "z"].map(|name| pool.symbol(name));
        let texts = (1..12).flat_map(|i| {
            [
                format!("({i} + x)*y/(x*z + {i})"),
                format!("(x - {i}*y)*z*sin(x*{i}) + (x - {i}*y)/(y*z)"),
                format!("z/(x*sqrt(y + {i})) + max(x*y*z, {i}) - (x*{i})^2*y"),
            ]
        });
        let outputs: Vec<Expr> = texts.map(|text| pool.parse(&text).unwrap()).collect();
        let quick = Tape::compile(&pool, &outputs, &inputs).unwrap();
        let steps = quick.quick.as_ref().map_or(0, |quick| quick.code.len());
        assert!(0 < steps && steps < quick.n_instructions());
        let plain = Tape { quick: None, ..quick.clone() };
        for k in 0..50 {
            let at = [0.3 + 0.17 * f64::from(k), 1.9 - 0.05 * f64::from(k), 0.7];
            let bits = |tape: &Tape| tape.values(&at).iter().map(|v| v.to_bits()).collect();
            let (found, right): (Vec<u64>, Vec<u64>) = (bits(&quick), bits(&plain));
            assert_eq!(found, right);
        }
    }
}
