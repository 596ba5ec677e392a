//! Dual numbers: a value with its derivatives along a few directions, for exact forward differentiation.

use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use num_traits::{One, Zero};

use crate::func::Func;
use crate::numeric;

/// Directions that a [`Dual`] carries at once.
pub const LANES: usize = 4;

/// v + d ε with ε² = 0: arithmetic on it differentiates, with the rounding error of the formulas alone.
///
/// ```
/// use gelenk_expr::Dual;
/// let x = Dual::new(3.0, [1.0, 0.0, 0.0, 0.0]);
/// let y = x * x + Dual::from(1.0) / x;
/// assert_eq!(y.d[0], 6.0 - 1.0 / 9.0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dual {
    /// The value.
    pub v: f64,
    /// Its derivatives.
    pub d: [f64; LANES],
}

impl Dual {
    /// A value with its derivatives.
    #[inline]
    pub fn new(v: f64, d: [f64; LANES]) -> Self {
        Dual { v, d }
    }

    /// f(x), given f and f' there. A direction in which x stands still stays so, even where f' is infinite.
    #[inline]
    #[must_use]
    pub fn chain(self, value: f64, slope: f64) -> Self {
        Dual { v: value, d: self.d.map(|d| if d == 0.0 { 0.0 } else { slope * d }) }
    }

    /// √x.
    #[must_use]
    pub fn sqrt(self) -> Self {
        let root = self.v.sqrt();
        self.chain(root, 0.5 / root)
    }

    /// The angle of (x, y) from `y.atan2(x)`.
    #[must_use]
    pub fn atan2(self, x: Self) -> Self {
        let square = self.v * self.v + x.v * x.v;
        let mut angle = Dual::from(libm::atan2(self.v, x.v));
        for k in 0..LANES {
            angle.d[k] = (x.v * self.d[k] - self.v * x.d[k]) / square;
        }
        angle
    }

    /// x^y; for a constant exponent also of x ≤ 0.
    #[must_use]
    pub fn pow(self, y: Self) -> Self {
        let value = libm::pow(self.v, y.v);
        let mut power = self.chain(value, y.v * libm::pow(self.v, y.v - 1.0));
        if y.d.iter().any(|d| *d != 0.0) {
            let slope = value * libm::log(self.v);
            for k in 0..LANES {
                power.d[k] += slope * y.d[k];
            }
        }
        power
    }

    /// An elementary function of one argument. Steps have the derivative zero.
    pub(crate) fn unary(self, func: Func) -> Self {
        let x = self.v;
        let value = numeric::unary(func, x);
        let slope = match func {
            Func::Exp => value,
            Func::Log => 1.0 / x,
            Func::Log10 => std::f64::consts::LOG10_E / x,
            Func::Log2 => std::f64::consts::LOG2_E / x,
            Func::Sin => libm::cos(x),
            Func::Cos => -libm::sin(x),
            Func::Tan => 1.0 + value * value,
            Func::Asin => 1.0 / (1.0 - x * x).sqrt(),
            Func::Acos => -1.0 / (1.0 - x * x).sqrt(),
            Func::Atan => 1.0 / (1.0 + x * x),
            Func::Sinh => libm::cosh(x),
            Func::Cosh => libm::sinh(x),
            Func::Tanh => 1.0 - value * value,
            Func::Asinh => 1.0 / (x * x + 1.0).sqrt(),
            Func::Acosh => 1.0 / (x * x - 1.0).sqrt(),
            Func::Atanh => 1.0 / (1.0 - x * x),
            Func::Abs => numeric::sign(x),
            Func::Sign | Func::Step | Func::Floor => 0.0,
            Func::Erf => std::f64::consts::FRAC_2_SQRT_PI * libm::exp(-x * x),
            Func::Min | Func::Max => 1.0,
            Func::Atan2 => f64::NAN,
        };
        self.chain(value, slope)
    }
}

impl From<f64> for Dual {
    #[inline]
    fn from(v: f64) -> Self {
        Dual { v, d: [0.0; LANES] }
    }
}

/// Each lane from those of two numbers.
#[inline]
fn lanes(a: &Dual, b: &Dual, f: impl Fn(f64, f64) -> f64) -> [f64; LANES] {
    std::array::from_fn(|k| f(a.d[k], b.d[k]))
}

impl Add for Dual {
    type Output = Dual;
    #[inline]
    fn add(self, b: Dual) -> Dual {
        Dual { v: self.v + b.v, d: lanes(&self, &b, |x, y| x + y) }
    }
}

impl Sub for Dual {
    type Output = Dual;
    #[inline]
    fn sub(self, b: Dual) -> Dual {
        Dual { v: self.v - b.v, d: lanes(&self, &b, |x, y| x - y) }
    }
}

impl Mul for Dual {
    type Output = Dual;
    #[expect(clippy::suspicious_arithmetic_impl, reason = "the rule of its derivative")]
    #[inline]
    fn mul(self, b: Dual) -> Dual {
        Dual { v: self.v * b.v, d: lanes(&self, &b, |x, y| x * b.v + self.v * y) }
    }
}

impl Div for Dual {
    type Output = Dual;
    #[expect(clippy::suspicious_arithmetic_impl, reason = "the rule of its derivative")]
    #[inline]
    fn div(self, b: Dual) -> Dual {
        let v = self.v / b.v;
        Dual { v, d: lanes(&self, &b, |x, y| (x - v * y) / b.v) }
    }
}

impl Neg for Dual {
    type Output = Dual;
    #[inline]
    fn neg(self) -> Dual {
        Dual { v: -self.v, d: self.d.map(|x| -x) }
    }
}

macro_rules! assign {
    ($($trait:ident $method:ident $op:tt;)*) => {
        $(impl $trait for Dual {
            #[inline]
            fn $method(&mut self, b: Dual) {
                *self = *self $op b;
            }
        })*
    };
}

assign! {
    AddAssign add_assign +;
    SubAssign sub_assign -;
    MulAssign mul_assign *;
    DivAssign div_assign /;
}

impl Zero for Dual {
    fn zero() -> Self {
        Dual::from(0.0)
    }

    fn is_zero(&self) -> bool {
        *self == Dual::zero()
    }
}

impl One for Dual {
    fn one() -> Self {
        Dual::from(1.0)
    }
}
