//! Tapes run on power series instead of numbers.

use std::cmp::Ordering;

use super::{Op, Tape};
use crate::series::Series;

impl Tape {
    /// The outputs as truncated power series, given the inputs as such: Taylor coefficients of the outputs along a
    /// motion whose Taylor coefficients are known.
    ///
    /// All inputs must have the same number of coefficients, which is that of the outputs; with one coefficient the
    /// result is that of [`eval`](Tape::eval).
    ///
    /// # Panics
    ///
    /// If there are fewer inputs than [`n_inputs`](Self::n_inputs).
    pub fn eval_series(&self, inputs: &[Series]) -> Vec<Series> {
        let n = inputs.first().map_or(1, |series| series.coefficients().len());
        let constants = self.constants.iter().map(|c| Series::constant(*c, n));
        let mut r: Vec<Series> = constants.chain(inputs[..self.n_inputs].iter().cloned()).collect();
        r.resize(self.n_registers, Series::constant(0.0, n));
        for i in &self.code {
            let (a, b, c) = (&r[i.a as usize], &r[i.b as usize], &r[i.c as usize]);
            let value = i.op.series(a, b, c);
            r[i.target as usize] = value;
        }
        self.outputs.iter().map(|&register| r[register as usize].clone()).collect()
    }
}

impl Op {
    /// What the operation gives of series.
    fn series(self, a: &Series, b: &Series, c: &Series) -> Series {
        let truth = |yes: bool| Series::constant(f64::from(u8::from(yes)), a.coefficients().len());
        match self {
            Self::Add => a.add(b),
            Self::Sub => a.sub(b),
            Self::Mul => a.mul(b),
            Self::Div => a.div(b),
            Self::Neg => a.scale(-1.0),
            Self::Sqrt => a.sqrt(),
            Self::MulAdd => a.mul(b).add(c),
            Self::MulSub => a.mul(b).sub(c),
            Self::SubMul => c.sub(&a.mul(b)),
            Self::Pow => a.pow(b),
            Self::Min => match a.compare(b) {
                None => a.add(b),
                Some(Ordering::Less) => a.clone(),
                _ => b.clone(),
            },
            Self::Max => match a.compare(b) {
                None => a.add(b),
                Some(Ordering::Greater) => a.clone(),
                _ => b.clone(),
            },
            Self::Atan2 => a.atan2(b),
            Self::Less => truth(a.compare(b) == Some(Ordering::Less)),
            Self::LessEqual => {
                truth(matches!(a.compare(b), Some(Ordering::Less | Ordering::Equal)))
            }
            Self::Select => {
                if a.at(0) == 0.0 {
                    c.clone()
                } else {
                    b.clone()
                }
            }
            Self::Function(func) => a.unary(func),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Expr, Pool, Series, Tape};

    #[test]
    fn coefficients_are_derivatives_over_factorials() {
        let mut pool = Pool::new();
        let text = "x^3*sin(2*x)/(1 + x^2) + sqrt(x + 2)^3 - exp(-x)*x^(7/5) + if(x < 1, x^2, 0)";
        let mut e = pool.parse(text).unwrap();
        let x = pool.symbol("x");
        let tape = Tape::compile(&pool, &[e], &[x]).unwrap();
        let mut input = vec![0.0; 7];
        input[..2].copy_from_slice(&[0.6, 1.0]);
        let series = tape.eval_series(&[Series::new(input)]).remove(0);
        let mut factorial = 1.0;
        for k in 0..7 {
            if k > 0 {
                factorial *= f64::from(k);
                e = pool.diff(e, x);
            }
            let at: Expr = e;
            let exact = Tape::compile(&pool, &[at], &[x]).unwrap().values(&[0.6])[0] / factorial;
            let found = series.at(usize::try_from(k).unwrap());
            assert!((found - exact).abs() < 1e-12 * (1.0 + exact.abs()), "{k}: {found}, {exact}");
        }
    }

    #[test]
    fn one_coefficient_is_plain_evaluation() {
        let mut pool = Pool::new();
        let e = pool.parse("min(x, y)*max(x, 2) + atan2(y, x) + if(x <= y, abs(-x), 3)").unwrap();
        let inputs = [pool.symbol("x"), pool.symbol("y")];
        let tape = Tape::compile(&pool, &[e], &inputs).unwrap();
        for at in [[0.3, 0.9], [2.5, -1.0]] {
            let series = at.map(|x| Series::constant(x, 1));
            assert_eq!(tape.eval_series(&series)[0].at(0), tape.values(&at)[0]);
        }
    }
}
