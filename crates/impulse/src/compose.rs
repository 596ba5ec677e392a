//! Orders 4, 6 and 8 by symmetric composition.
//!
//! A symmetric second-order step Φ_h, taken over γ_1 h, γ_2 h, … γ_s h one after the other, has a higher order when the
//! γ fulfil the order conditions: Σ γ_i = 1, Σ γ_i³ = 0, and so on. Every stage ends with closed joints, so the
//! composed step does too. Some γ are negative: those stages run back in time.
#![expect(clippy::excessive_precision, reason = "coefficients as published")]

/// Orders of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    /// The step itself.
    Two,
    /// 5 stages, Suzuki (1990).
    Four,
    /// 9 stages, Kahan and Li (1997).
    Six,
    /// 17 stages, Kahan and Li (1997).
    Eight,
}

impl Order {
    /// Order 2, 4, 6 or 8.
    pub fn new(order: u32) -> Option<Self> {
        match order {
            2 => Some(Order::Two),
            4 => Some(Order::Four),
            6 => Some(Order::Six),
            8 => Some(Order::Eight),
            _ => None,
        }
    }

    /// The order as a number.
    pub fn number(self) -> u32 {
        match self {
            Order::Two => 2,
            Order::Four => 4,
            Order::Six => 6,
            Order::Eight => 8,
        }
    }

    /// The stages γ_1 … γ_s.
    ///
    /// \[Hairer, Lubich, Wanner 2006\] section V.3: order 4 is \[Suzuki 1990\], γ = 1/(4 − 4^⅓) four times about −4^⅓ γ;
    /// order 6 with 9 and order 8 with 17 stages are \[Kahan, Li 1997\]. A test here holds all their order conditions to
    /// rounding.
    pub fn stages(self) -> &'static [f64] {
        match self {
            Order::Two => &[1.0],
            Order::Four => &FOUR,
            Order::Six => &SIX,
            Order::Eight => &EIGHT,
        }
    }
}

/// 1/(4 − 4^⅓).
const SUZUKI: f64 = 0.414_490_771_794_375_737_14;

#[rustfmt::skip]
const FOUR: [f64; 5] = [SUZUKI, SUZUKI, -0.657_963_087_177_502_948_57, SUZUKI, SUZUKI];

#[rustfmt::skip]
const SIX: [f64; 9] = [
     0.392_161_444_007_314_139_28,
     0.332_599_136_789_359_438_60,
    -0.706_246_172_557_639_359_81,
     0.082_213_596_293_550_800_23,
     0.798_543_990_934_829_963_40,
     0.082_213_596_293_550_800_23,
    -0.706_246_172_557_639_359_81,
     0.332_599_136_789_359_438_60,
     0.392_161_444_007_314_139_28,
];

#[rustfmt::skip]
const EIGHT: [f64; 17] = [
     0.130_202_483_088_890_080_88,
     0.561_162_981_775_108_384_56,
    -0.389_474_962_644_847_286_41,
     0.158_841_906_555_155_600_90,
    -0.395_903_894_133_237_577_34,
     0.184_539_640_978_315_707_09,
     0.258_374_387_686_322_047_29,
     0.295_011_723_609_310_298_87,
    -0.605_508_533_830_034_511_70,
     0.295_011_723_609_310_298_87,
     0.258_374_387_686_322_047_29,
     0.184_539_640_978_315_707_09,
    -0.395_903_894_133_237_577_34,
     0.158_841_906_555_155_600_90,
    -0.389_474_962_644_847_286_41,
     0.561_162_981_775_108_384_56,
     0.130_202_483_088_890_080_88,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Words in the letters A1, A3, A5, A7 (weights 1, 3, 5, 7) up to weight 8, with coefficients: elements of the
    /// free associative algebra, cut at h⁸.
    type Series = std::collections::BTreeMap<Vec<u8>, f64>;

    fn weight(word: &[u8]) -> u32 {
        word.iter().map(|&l| u32::from(l)).sum()
    }

    fn product(a: &Series, b: &Series) -> Series {
        let mut out = Series::new();
        for (u, x) in a {
            for (v, y) in b {
                if weight(u) + weight(v) <= 8 {
                    *out.entry([u.as_slice(), v].concat()).or_insert(0.0) += x * y;
                }
            }
        }
        out
    }

    /// exp(γ A1 + γ³ A3 + γ⁵ A5 + γ⁷ A7): any symmetric step of length γ, with free error terms.
    fn symmetric_step(gamma: f64) -> Series {
        let one = Series::from([(vec![], 1.0)]);
        let exponent: Series =
            [1_u8, 3, 5, 7].iter().map(|&l| (vec![l], gamma.powi(i32::from(l)))).collect();
        let (mut sum, mut term) = (one.clone(), one);
        for n in 1..=8 {
            term = product(&term, &exponent);
            for x in term.values_mut() {
                *x /= f64::from(n);
            }
            for (word, x) in &term {
                *sum.entry(word.clone()).or_insert(0.0) += x;
            }
        }
        sum
    }

    /// The composition equals exp(A1) in all words up to its order, for any symmetric method: all order conditions.
    #[test]
    fn order_conditions_hold_to_rounding() {
        let exact = |word: &[u8]| {
            if word.iter().all(|&l| l == 1) {
                (1..=word.len()).map(|n| 1.0 / n as f64).product()
            } else {
                0.0
            }
        };
        for order in [Order::Two, Order::Four, Order::Six, Order::Eight] {
            let mut composed = Series::from([(vec![], 1.0)]);
            for &gamma in order.stages() {
                composed = product(&composed, &symmetric_step(gamma));
            }
            let (mut within, mut beyond) = (0.0_f64, 0.0_f64);
            for (word, x) in &composed {
                let error = (x - exact(word)).abs();
                if weight(word) <= order.number() {
                    within = within.max(error);
                } else {
                    beyond = beyond.max(error);
                }
            }
            assert!(within < 2e-15, "order {order:?}: {within:e}");
            assert!(order == Order::Eight || beyond > 1e-4, "order {order:?}: {beyond:e}");
        }
    }

    #[test]
    fn order_four_is_suzuki() {
        let gamma = 1.0 / (4.0 - 4.0_f64.cbrt());
        assert!((FOUR[0] - gamma).abs() < 1e-16);
        assert!((FOUR[2] + 4.0_f64.cbrt() * gamma).abs() < 2e-16);
    }
}
