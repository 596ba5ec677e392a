//! Tapes run on dual numbers: outputs with their exact derivatives.

use super::{Op, Tape};
use crate::dual::Dual;

impl Tape {
    /// The outputs with their derivatives, given the inputs with theirs. As with [`eval`](Tape::eval) nothing is allocated and nothing kept.
    ///
    /// At a corner (`abs`, `min`, `max`, `if`) the derivative is that of the side on which the value is taken; steps have the
    /// derivative zero.
    ///
    /// # Panics
    ///
    /// If a slice is too short.
    pub fn eval_dual(&self, inputs: &[Dual], registers: &mut [Dual], outputs: &mut [Dual]) {
        let n_constants = self.constants.len();
        let r = &mut registers[..self.n_registers];
        for (r, constant) in r.iter_mut().zip(&self.constants) {
            *r = Dual::from(*constant);
        }
        r[n_constants..n_constants + self.n_inputs].copy_from_slice(&inputs[..self.n_inputs]);
        for i in &self.code {
            let (a, b) = (r[i.a as usize], r[i.b as usize]);
            let value = i.op.dual(a, b, || r[i.c as usize]);
            r[i.target as usize] = value;
        }
        for (output, &register) in outputs[..self.outputs.len()].iter_mut().zip(&self.outputs) {
            *output = r[register as usize];
        }
    }
}

impl Op {
    /// What the operation gives of dual numbers.
    #[inline]
    pub(super) fn dual(self, a: Dual, b: Dual, c: impl FnOnce() -> Dual) -> Dual {
        let truth = |yes: bool| Dual::from(f64::from(u8::from(yes)));
        match self {
            Self::Add => a + b,
            Self::Sub => a - b,
            Self::Mul => a * b,
            Self::Div => a / b,
            Self::Neg => -a,
            Self::Sqrt => a.sqrt(),
            Self::MulAdd => a * b + c(),
            Self::MulSub => a * b - c(),
            Self::SubMul => c() - a * b,
            Self::Pow => a.pow(b),
            Self::Min => {
                if a.v < b.v || a.v.is_nan() {
                    a
                } else {
                    b
                }
            }
            Self::Max => {
                if a.v > b.v || a.v.is_nan() {
                    a
                } else {
                    b
                }
            }
            Self::Atan2 => a.atan2(b),
            Self::Less => truth(a.v < b.v),
            Self::LessEqual => truth(a.v <= b.v),
            Self::Select => {
                if a.v == 0.0 {
                    c()
                } else {
                    b
                }
            }
            Self::Function(func) => a.unary(func),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Dual, Func, LANES, Pool, Tape};

    /// Every function and operation against the derivative of the expression.
    #[test]
    fn derivatives_are_those_of_the_expression() {
        let mut texts: Vec<String> = vec![
            "x^3*y - x/y + sqrt(x*y) - x^y".into(),
            "x^(7/5)*y^(-3) + atan2(y, x)".into(),
            "min(x, y)*max(x, 2) + if(x < y, x*y, 3)".into(),
            "if(x <= y, abs(-x), 3) + 2*x*y - (y - x*y)".into(),
        ];
        for func in Func::ALL {
            let text = match func {
                Func::Min | Func::Max | Func::Atan2 => continue,
                Func::Acosh => "acosh(1 + x*y)".to_owned(),
                _ => format!("{}(x*y)", func.name()),
            };
            texts.push(text);
        }
        for text in texts {
            let mut pool = Pool::new();
            let e = pool.parse(&text).unwrap();
            let inputs = [pool.symbol("x"), pool.symbol("y")];
            let slopes = inputs.map(|x| pool.diff(e, x));
            let tape = Tape::compile(&pool, &[e], &inputs).unwrap();
            let exact = Tape::compile(&pool, &slopes, &inputs).unwrap();
            let at = [0.6, 0.7];
            let mut directions = [[0.0; LANES]; 2];
            (directions[0][0], directions[1][1]) = (1.0, 1.0);
            (directions[0][2], directions[1][2]) = (2.0, -3.0);
            let duals = [0, 1].map(|k| Dual::new(at[k], directions[k]));
            let mut registers = vec![Dual::default(); tape.n_registers()];
            let mut out = [Dual::default()];
            tape.eval_dual(&duals, &mut registers, &mut out);
            assert_eq!(out[0].v, tape.values(&at)[0], "{text}");
            let exact = exact.values(&at);
            let wanted = [exact[0], exact[1], 2.0 * exact[0] - 3.0 * exact[1], 0.0];
            for k in 0..LANES {
                let error = (out[0].d[k] - wanted[k]).abs();
                assert!(error < 1e-14 * (1.0 + wanted[k].abs()), "{text}, {k}: {error}");
            }
        }
    }

    /// What stands still stays so where a slope is infinite, and the branch not taken says nothing.
    #[test]
    fn infinite_slopes_do_not_spoil_what_stands_still() {
        let mut pool = Pool::new();
        let e = pool.parse("sqrt(x) + if(x > 0, log(x), y)").unwrap();
        let inputs = [pool.symbol("x"), pool.symbol("y")];
        let tape = Tape::compile(&pool, &[e], &inputs).unwrap();
        let mut registers = vec![Dual::default(); tape.n_registers()];
        let mut out = [Dual::default()];
        let y = Dual::new(2.0, [1.0, 0.0, 0.0, 0.0]);
        tape.eval_dual(&[Dual::from(0.0), y], &mut registers, &mut out);
        assert_eq!((out[0].v, out[0].d[0]), (2.0, 1.0));
    }
}
