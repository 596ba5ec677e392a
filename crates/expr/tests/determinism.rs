//! The same text gives the same bits, on every machine and in every release.

use gelenk_expr::{Pool, Tape};

const FORMULAS: [&str; 6] = [
    "sin(x)*cos(y) + tan(x*y) - asin(x/4) + acos(y/4) + atan(x)",
    "exp(-x^2) + log(x + 2) + log10(y + 3) + log2(x + y)",
    "sinh(x) - cosh(y) + tanh(x) + asinh(y) + acosh(x + 2) + atanh(x/3)",
    "x^(1/3)*y^x + (x + y)^(-5/2) + erf(x) + x^17 - 1/y^3",
    "min(x, y, 0.7)*max(x^2, y) + if(x < y, floor(7*x), sign(x - y))",
    "-1200*(sqrt(x^2 + y^2) - 0.3)*x/sqrt(x^2 + y^2) + atan2(y, x) - ~0.1*x/3",
];

#[test]
fn bits_do_not_change() {
    let mut pool = Pool::new();
    let inputs = [pool.symbol("x"), pool.symbol("y")];
    let outputs = FORMULAS.map(|text| pool.parse(text).expect("the formulas parse"));
    let slopes: Vec<_> = outputs.iter().map(|&e| pool.diff(e, inputs[0])).collect();
    let all: Vec<_> = outputs.into_iter().chain(slopes).collect();
    let tape = Tape::compile(&pool, &all, &inputs).expect("x and y are the inputs");
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for k in 0..100u32 {
        let x = 0.01 + f64::from(k) / 64.0;
        let y = 1.7 - f64::from(k) / 128.0;
        for value in tape.values(&[x, y]) {
            assert!(!value.is_nan());
            hash = (hash ^ value.to_bits()).wrapping_mul(0x0100_0000_01b3);
        }
    }
    assert_eq!(format!("{hash:016x}"), "e5699db7c7f26374");
}

#[test]
fn text_does_not_change() {
    let mut pool = Pool::new();
    let x = pool.symbol("x");
    let e = pool.parse(FORMULAS[1]).expect("the formulas parse");
    let slope = pool.diff(e, x);
    assert_eq!(pool.display(slope).to_string(), "-2*x*exp(-x^2) + 1/(log(2)*(x + y)) + 1/(x + 2)");
}
