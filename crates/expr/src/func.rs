//! The elementary functions: names, number of arguments, symmetry, values.

use std::ops::RangeInclusive;

use crate::numeric;

/// An elementary function of one, two or many arguments.
///
/// Square roots are powers, √x = x^(1/2), and so not listed here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Func {
    /// e^x.
    Exp,
    /// Natural logarithm.
    Log,
    /// Logarithm to base 10.
    Log10,
    /// Logarithm to base 2.
    Log2,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Tangent.
    Tan,
    /// Inverse sine, in [-π/2, π/2].
    Asin,
    /// Inverse cosine, in [0, π].
    Acos,
    /// Inverse tangent, in (-π/2, π/2).
    Atan,
    /// Angle of the point (x, y) from `atan2(y, x)`, in (-π, π].
    Atan2,
    /// Hyperbolic sine.
    Sinh,
    /// Hyperbolic cosine.
    Cosh,
    /// Hyperbolic tangent.
    Tanh,
    /// Inverse hyperbolic sine.
    Asinh,
    /// Inverse hyperbolic cosine.
    Acosh,
    /// Inverse hyperbolic tangent.
    Atanh,
    /// |x|.
    Abs,
    /// -1, 0 or 1.
    Sign,
    /// Smallest argument.
    Min,
    /// Largest argument.
    Max,
    /// Heaviside's step: 0 for x < 0, 1 for x >= 0.
    Step,
    /// Largest integer not above x.
    Floor,
    /// Error function 2/√π ∫₀ˣ exp(-s²) ds.
    Erf,
}

/// How a function of one argument behaves under x -> -x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parity {
    Odd,
    Even,
    Neither,
}

impl Func {
    /// Every function.
    pub const ALL: [Self; 24] = [
        Self::Exp,
        Self::Log,
        Self::Log10,
        Self::Log2,
        Self::Sin,
        Self::Cos,
        Self::Tan,
        Self::Asin,
        Self::Acos,
        Self::Atan,
        Self::Atan2,
        Self::Sinh,
        Self::Cosh,
        Self::Tanh,
        Self::Asinh,
        Self::Acosh,
        Self::Atanh,
        Self::Abs,
        Self::Sign,
        Self::Min,
        Self::Max,
        Self::Step,
        Self::Floor,
        Self::Erf,
    ];

    /// The name in text.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exp => "exp",
            Self::Log => "log",
            Self::Log10 => "log10",
            Self::Log2 => "log2",
            Self::Sin => "sin",
            Self::Cos => "cos",
            Self::Tan => "tan",
            Self::Asin => "asin",
            Self::Acos => "acos",
            Self::Atan => "atan",
            Self::Atan2 => "atan2",
            Self::Sinh => "sinh",
            Self::Cosh => "cosh",
            Self::Tanh => "tanh",
            Self::Asinh => "asinh",
            Self::Acosh => "acosh",
            Self::Atanh => "atanh",
            Self::Abs => "abs",
            Self::Sign => "sign",
            Self::Min => "min",
            Self::Max => "max",
            Self::Step => "step",
            Self::Floor => "floor",
            Self::Erf => "erf",
        }
    }

    /// The function of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|f| f.name() == name)
    }

    /// How many arguments it takes.
    pub fn n_arguments(self) -> RangeInclusive<usize> {
        match self {
            Self::Min | Self::Max => 1..=usize::MAX,
            Self::Atan2 => 2..=2,
            _ => 1..=1,
        }
    }

    /// The value at `arguments`, by the same routines as everywhere in this crate; NaN where
    /// their number is wrong.
    pub fn value(self, arguments: &[f64]) -> f64 {
        match (self, arguments) {
            (Self::Min, [first, rest @ ..]) => rest.iter().fold(*first, |a, b| numeric::min(a, *b)),
            (Self::Max, [first, rest @ ..]) => rest.iter().fold(*first, |a, b| numeric::max(a, *b)),
            (Self::Atan2, [y, x]) => libm::atan2(*y, *x),
            (_, [x]) => numeric::unary(self, *x),
            _ => f64::NAN,
        }
    }

    pub(crate) fn parity(self) -> Parity {
        match self {
            Self::Sin
            | Self::Tan
            | Self::Asin
            | Self::Atan
            | Self::Sinh
            | Self::Tanh
            | Self::Asinh
            | Self::Atanh
            | Self::Sign
            | Self::Erf => Parity::Odd,
            Self::Cos | Self::Cosh | Self::Abs => Parity::Even,
            _ => Parity::Neither,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for f in Func::ALL {
            assert_eq!(Func::from_name(f.name()), Some(f));
        }
        assert_eq!(Func::from_name("sqrt"), None);
    }

    #[test]
    fn parity_holds_numerically() {
        for f in Func::ALL {
            let (a, b) = (f.value(&[0.3]), f.value(&[-0.3]));
            match f.parity() {
                Parity::Odd => assert_eq!(a, -b, "{f:?}"),
                Parity::Even => assert_eq!(a, b, "{f:?}"),
                Parity::Neither => {}
            }
        }
    }
}
