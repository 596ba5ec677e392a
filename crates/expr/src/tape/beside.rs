//! Tapes run for two places at once, the second on the branches of the first.

use super::{Op, Tape};
use crate::dual::Dual;
use crate::func::Func;
use crate::numeric;

impl Tape {
    /// The outputs at `beside`, with every choice (`if`, `min`, `max`, `abs`, `sign`, `step`, `floor`) made as at `inputs`: what a neighbour of a place would
    /// give if it had not passed a corner that lies between them. `registers` holds twice [`n_registers`](Self::n_registers).
    ///
    /// # Panics
    ///
    /// If a slice is too short.
    pub fn eval_beside(
        &self,
        inputs: &[f64],
        beside: &[f64],
        registers: &mut [f64],
        outputs: &mut [f64],
    ) {
        let (n, n_constants) = (self.n_registers, self.constants.len());
        let (r, s) = registers[..2 * n].split_at_mut(n);
        for (r, inputs) in [(&mut *r, inputs), (&mut *s, beside)] {
            r[..n_constants].copy_from_slice(&self.constants);
            r[n_constants..n_constants + self.n_inputs].copy_from_slice(&inputs[..self.n_inputs]);
        }
        for i in &self.code {
            let here = [i.a, i.b, i.c].map(|k| r[k as usize]);
            let there = [i.a, i.b, i.c].map(|k| s[k as usize]);
            let value = i.op.value(here[0], here[1], || here[2]);
            s[i.target as usize] = i.op.beside(here, there, value);
            r[i.target as usize] = value;
        }
        for (output, &register) in outputs[..self.outputs.len()].iter_mut().zip(&self.outputs) {
            *output = s[register as usize];
        }
    }
}

impl Tape {
    /// The same with derivatives: the outputs at `beside` and their derivatives on the branches of `inputs`. `plain` and `registers` hold
    /// [`n_registers`](Self::n_registers).
    ///
    /// # Panics
    ///
    /// If a slice is too short.
    pub fn eval_dual_beside(
        &self,
        inputs: &[f64],
        beside: &[Dual],
        plain: &mut [f64],
        registers: &mut [Dual],
        outputs: &mut [Dual],
    ) {
        let (n, n_constants) = (self.n_registers, self.constants.len());
        let (r, s) = (&mut plain[..n], &mut registers[..n]);
        r[..n_constants].copy_from_slice(&self.constants);
        for (s, constant) in s.iter_mut().zip(&self.constants) {
            *s = Dual::from(*constant);
        }
        let own = n_constants..n_constants + self.n_inputs;
        r[own.clone()].copy_from_slice(&inputs[..self.n_inputs]);
        s[own].copy_from_slice(&beside[..self.n_inputs]);
        for i in &self.code {
            let here = [i.a, i.b, i.c].map(|k| r[k as usize]);
            let there = [i.a, i.b, i.c].map(|k| s[k as usize]);
            let value = i.op.value(here[0], here[1], || here[2]);
            s[i.target as usize] = i.op.dual_beside(here, there, value);
            r[i.target as usize] = value;
        }
        for (output, &register) in outputs[..self.outputs.len()].iter_mut().zip(&self.outputs) {
            *output = s[register as usize];
        }
    }
}

impl Op {
    /// The same choice as [`Op::beside`] makes, of dual numbers.
    fn dual_beside(self, here: [f64; 3], there: [Dual; 3], value: f64) -> Dual {
        let [a, b, c] = there;
        match self {
            Self::Min | Self::Max | Self::Select => {
                // Which of the three it is shows on their numbers.
                let chosen = self.beside(here, [0.0, 1.0, 2.0], value);
                if chosen < 0.5 {
                    a
                } else if chosen < 1.5 {
                    b
                } else {
                    c
                }
            }
            Self::Less
            | Self::LessEqual
            | Self::Function(Func::Sign | Func::Step | Func::Floor) => Dual::from(value),
            Self::Function(Func::Abs) => {
                if numeric::sign(here[0]) < 0.0 {
                    -a
                } else {
                    a
                }
            }
            _ => self.dual(a, b, || c),
        }
    }

    /// The value at `there` on the branch of `here`, whose value is known.
    fn beside(self, here: [f64; 3], there: [f64; 3], value: f64) -> f64 {
        let [a, b, c] = there;
        match self {
            Self::Min => {
                if here[0] < here[1] || here[0].is_nan() {
                    a
                } else {
                    b
                }
            }
            Self::Max => {
                if here[0] > here[1] || here[0].is_nan() {
                    a
                } else {
                    b
                }
            }
            Self::Less
            | Self::LessEqual
            | Self::Function(Func::Sign | Func::Step | Func::Floor) => value,
            Self::Select => {
                if here[0] == 0.0 {
                    c
                } else {
                    b
                }
            }
            Self::Function(Func::Abs) => {
                if numeric::sign(here[0]) < 0.0 {
                    -a
                } else {
                    a
                }
            }
            _ => self.value(a, b, || c),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Pool, Tape};

    #[test]
    fn branches_are_those_of_the_other_place() {
        for (text, expected) in [
            ("if(x > 1, x^2, 3*x)", 3.3),
            ("abs(x - 1)", -0.1),
            ("min(x, 1) + 10*max(x, 1)", 11.1),
            ("floor(x) + sign(x - 1) + step(x - 1)", -1.0),
            ("sin(x) - x", 1.1_f64.sin() - 1.1),
        ] {
            let mut pool = Pool::new();
            let e = pool.parse(text).unwrap();
            let x = pool.symbol("x");
            let tape = Tape::compile(&pool, &[e], &[x]).unwrap();
            let mut registers = vec![0.0; 2 * tape.n_registers()];
            let mut out = [0.0];
            tape.eval_beside(&[0.9], &[1.1], &mut registers, &mut out);
            assert!((out[0] - expected).abs() < 1e-14, "{text}: {}", out[0]);
            let mut dual = [crate::Dual::default()];
            let (plain, duals) = (&mut registers, &mut vec![dual[0]; tape.n_registers()]);
            let beside = crate::Dual::new(1.1, [1.0, 0.0, 0.0, 0.0]);
            tape.eval_dual_beside(&[0.9], &[beside], plain, duals, &mut dual);
            let h = 1e-6;
            let ends = [1.1 + h, 1.1 - h].map(|x| {
                tape.eval_beside(&[0.9], &[x], plain, &mut out);
                out[0]
            });
            assert!((dual[0].v - expected).abs() < 1e-14, "{text}");
            let slope = (ends[0] - ends[1]) / (2.0 * h);
            assert!((dual[0].d[0] - slope).abs() < 1e-8, "{text}: {slope}");
            tape.eval_beside(&[1.1], &[1.1], &mut registers, &mut out);
            assert_eq!(out[0], tape.values(&[1.1])[0], "{text}");
        }
    }
}
