//! The parser meets hostile text.

use gelenk_expr::{MAX_DEPTH, ParseError, ParseOptions, Pool};
use proptest::prelude::*;

fn error(text: &str) -> ParseError {
    Pool::new().parse(text).expect_err("the text is wrong")
}

fn check_span(text: &str, error: &ParseError) {
    assert!(error.span.start <= error.span.end && error.span.end <= text.len(), "{error:?}");
    assert!(text.get(error.span.clone()).is_some(), "{error:?} splits a character");
    assert!(!error.message.is_empty());
}

fn parse_any(text: &str) {
    let mut pool = Pool::new();
    pool.function_of_time("f", 0);
    match pool.parse_with_spans(text, &ParseOptions::default()) {
        Ok(parsed) => {
            for (span, name) in &parsed.identifiers {
                assert_eq!(&text[span.clone()], name);
            }
            let printed = pool.display(parsed.expr).to_string();
            assert_eq!(pool.parse(&printed), Ok(parsed.expr), "{text:?} prints as {printed:?}");
        }
        Err(error) => check_span(text, &error),
    }
    if let Err(error) = pool.parse_equation(text) {
        check_span(text, &error);
    }
}

/// More cases than usual; `PROPTEST_CASES` overrides their number.
fn config() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig {
        cases: 16 * usual.cases,
        max_global_rejects: 1 << 20,
        failure_persistence: None,
        ..usual
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_text_is_safe(text in "\\PC{0,60}") {
        parse_any(&text);
    }

    #[test]
    fn any_tokens_are_safe(tokens in prop::collection::vec(prop::sample::select(&[
        "x", "y.z", "f", "t", "e", "pi", "sin", "sqrt", "if", "min", "atan2", "0", "1", "2.5", "~0.1",
        "1e-9", "1e99", "1e999", "+", "-", "*", "/", "^", "**", "(", ")", ",", "<", ">=", "=", "'",
        " ", "_", "~", "é", "−", ".",
    ][..]), 0..24)) {
        parse_any(&tokens.concat());
    }

    #[test]
    fn formulas_are_safe(text in "(-?[xyz0-9]{1,2}[-+*/^]){0,12}[xyz0-9]") {
        parse_any(&text);
    }
}

#[test]
fn nesting_is_limited_by_name() {
    for (open, close) in [("(", ")"), ("sin(", ")"), ("min(1,", ")"), ("x^(", ")"), ("x^", "")] {
        let deep = open.repeat(100_000) + "x" + &close.repeat(100_000);
        let error = error(&deep);
        assert!(error.message.contains(&MAX_DEPTH.to_string()), "{error}");
        check_span(&deep, &error);
        // The exponent and the parentheses of `x^(...)` are two levels.
        let n = if open == "x^(" { MAX_DEPTH / 2 } else { MAX_DEPTH };
        let fine = open.repeat(n) + "x" + &close.repeat(n);
        assert!(Pool::new().parse(&fine).is_ok(), "{open}");
    }
    // Signs and long sums do not nest.
    assert!(Pool::new().parse(&("-".repeat(100_000) + "x")).is_ok());
    let mut pool = Pool::new();
    let sum: Vec<String> = (0..20_000).map(|i| format!("a{i}")).collect();
    let e = pool.parse(&sum.join(" + ")).unwrap();
    assert_eq!(pool.parts(e).len(), 20_000);
}

#[test]
fn length_is_limited_by_name() {
    let error = error(&"x".repeat((1 << 20) + 1));
    assert!(error.message.contains("1048576"), "{error}");
}

#[track_caller]
fn check(text: &str, span: std::ops::Range<usize>, message: &str, help: Option<&str>) {
    let error = error(text);
    assert_eq!(error.span, span, "{error}");
    assert_eq!(error.message, message);
    assert_eq!(error.help.as_deref(), help);
}

#[test]
fn errors_point_and_help() {
    check("2x", 0..2, "a product needs `*`", Some("write `2*x`"));
    check("2 (x)", 0..3, "a product needs `*`", Some("write `2*(...)`"));
    check("(x)(y)", 0..4, "a product needs `*`", Some("write `(x)*(...)`"));
    check("1_000", 0..5, "digits are not grouped with `_`", Some("write `1000`"));
    check("sin x", 0..3, "`sin` is a function", Some("write `sin(x)`"));
    check("sin", 0..3, "`sin` is a function", Some("write `sin(...)`"));
    check("coss(x)", 0..4, "unknown function `coss`", Some("did you mean `cos`?"));
    check("ln(x)", 0..2, "unknown function `ln`", Some("the natural logarithm is `log`"));
    check("arctan(x)", 0..6, "unknown function `arctan`", Some("write `atan`"));
    check("sin(x, y)", 0..9, "`sin` takes 1 argument, not 2", None);
    check("atan2(x)", 0..8, "`atan2` takes 2 arguments, not 1", None);
    check("min()", 0..5, "`min` takes 1 or more arguments, not 0", None);
    check("1/(2 - 2)", 2..9, "division by zero", None);
    check("(x + y", 0..1, "`(` is never closed", None);
    check("x + y)", 5..6, "`)` without a matching `(`", None);
    check("", 0..0, "expected a number, a name or `(`, found the end", None);
    check("x +", 3..3, "expected a number, a name or `(`, found the end", None);
    check("1e999", 0..5, "number out of range", Some("floats reach from about 5e-324 to 1.8e308"));
    check(
        "x < y",
        2..3,
        "expected an operator, found `<`",
        Some("comparisons stand in `if(a < b, x, y)`"),
    );
    check("if(x, 1, 2)", 4..5, "expected a comparison, found `,`", Some("write `if(a < b, x, y)`"));
    check("f'(x)", 3..4, "expected the time, found `x`", Some("write `f'(t)`"));
    check("a ² b", 2..4, "unexpected character `²`", Some("write `^2` or `^3`"));
}

#[test]
fn identifiers_have_places() {
    let mut pool = Pool::new();
    let text = "k*joint.elbow.angle - pi*k + größe";
    let parsed = pool.parse_with_spans(text, &ParseOptions::default()).unwrap();
    let found: Vec<(&str, &str)> =
        parsed.identifiers.iter().map(|(s, n)| (&text[s.clone()], n.as_str())).collect();
    let names = ["k", "joint.elbow.angle", "k", "größe"];
    assert_eq!(found, names.map(|n| (n, n)));
}

#[test]
fn equations_are_differences() {
    let mut pool = Pool::new();
    let e = pool.parse_equation("x^2 + y^2 = l^2").unwrap();
    assert_eq!(e, pool.parse("x^2 + y^2 - l^2").unwrap());
    assert_eq!(pool.parse_equation("x").unwrap_err().message, "expected `=`");
    assert!(pool.parse_equation("x = y = z").is_err());
    assert!(pool.parse("x = y").is_err());
}

#[test]
fn functions_of_time_are_declared() {
    let mut pool = Pool::new();
    assert!(pool.parse("drive(t)").is_err());
    let options = ParseOptions { functions_of_time: Some(&["drive"]) };
    let parsed = pool.parse_with_spans("drive(t) + drive''(t)", &options).unwrap();
    assert!(parsed.identifiers.is_empty());
    assert!(pool.parse("drive(t)").is_ok());
    let error = pool.parse_with_spans("drve(t)", &options).unwrap_err();
    assert_eq!(error.help.as_deref(), Some("did you mean `drive`?"));
    assert!(pool.parse_with_spans("other'(t)", &options).is_err());
}

#[test]
fn hostile_numbers_end_quickly() {
    let mut pool = Pool::new();
    let product = vec!["(3/7)^1000"; 3000].join("*");
    assert!(pool.parse(&product).is_ok());
    let tower = vec!["9"; 200].join("^");
    assert!(pool.parse(&tower).is_ok());
    assert!(pool.parse(&"9".repeat(500_000)).is_err());
    assert!(pool.parse(&("0.".to_owned() + &"9".repeat(500_000))).is_ok());
}
