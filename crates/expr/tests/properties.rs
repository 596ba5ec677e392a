//! Properties of random expressions.

mod common;

use common::{anything, point, polynomial, pool, smooth, variable};
use gelenk_expr::{Expr, Tape};
use proptest::prelude::*;

/// More cases than usual; `PROPTEST_CASES` overrides their number.
fn config() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig {
        cases: 8 * usual.cases,
        max_global_rejects: 1 << 20,
        failure_persistence: None,
        ..usual
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn printed_text_parses_back(recipe in anything()) {
        let mut pool = pool();
        let e = recipe.build(&mut pool);
        let text = pool.display(e).to_string();
        let again = pool.parse(&text);
        prop_assert_eq!(again, Ok(e), "{}", text);
    }

    #[test]
    fn another_pool_prints_the_same(recipe in anything()) {
        let mut first = pool();
        let e = recipe.build(&mut first);
        let text = first.display(e).to_string();
        let mut second = pool();
        // Other handles, same structure.
        second.parse("sin(x*y*z) + cos(x + y)*sqrt(z) + f''(t)*f'(t)").unwrap();
        let e = second.parse(&text).unwrap();
        prop_assert_eq!(second.display(e).to_string(), text);
    }

    #[test]
    fn canonical_form_keeps_the_value(recipe in smooth(), x in point()) {
        let mut pool = pool();
        let e = recipe.build(&mut pool);
        prop_assume!(!pool.is_singular(e));
        let mut scale = 1.0;
        let naive = recipe.value(&x, &mut scale);
        let value = pool.eval(e, |s| variable(&pool, s, &x));
        prop_assume!(naive.is_finite() && scale < 1e4);
        prop_assert!((value - naive).abs() < 1e-7 * scale, "{} = {value}, not {naive}", pool.display(e));
    }

    #[test]
    fn tapes_and_evaluation_agree_to_the_bit(recipes in prop::collection::vec(anything(), 1..4), x in point()) {
        let mut pool = pool();
        let exprs: Vec<Expr> = recipes.iter().map(|r| r.build(&mut pool)).collect();
        let mut inputs: Vec<Expr> = common::NAMES.iter().map(|n| pool.symbol(n)).collect();
        inputs.extend((0..3).map(|k| pool.function_of_time("f", k)));
        let tape = Tape::compile(&pool, &exprs, &inputs).unwrap();
        let values: Vec<f64> = inputs.iter().map(|&i| variable(&pool, i, &x)).collect();
        let outputs = tape.values(&values);
        for (&e, &output) in exprs.iter().zip(&outputs) {
            let value = pool.eval(e, |s| variable(&pool, s, &x));
            prop_assert!(
                value.to_bits() == output.to_bits() || value.is_nan() && output.is_nan(),
                "{}: {value} and {output}", pool.display(e)
            );
        }
    }

    #[test]
    fn derivatives_are_slopes(recipe in smooth(), x in point(), i in 0..3usize) {
        let mut pool = pool();
        let e = recipe.build(&mut pool);
        let mut scale = 1.0;
        recipe.value(&x, &mut scale);
        prop_assume!(scale < 1e6 && !pool.is_singular(e));
        let xi = pool.symbol(common::NAMES[i]);
        let derivative = pool.diff(e, xi);
        let at = |h: f64| {
            let mut x = x;
            x[i] += h;
            pool.eval(e, |s| variable(&pool, s, &x))
        };
        // Two central differences; where they disagree the function bends too much to tell.
        let central = |h: f64| (at(h) - at(-h)) / (2.0 * h);
        let (coarse, fine) = (central(1e-4), central(5e-5));
        let slope = (4.0 * fine - coarse) / 3.0;
        let scale = 1.0 + slope.abs();
        prop_assume!((fine - coarse).abs() < 1e-6 * scale && at(0.0).abs() < 1e3 * scale);
        let value = pool.eval(derivative, |s| variable(&pool, s, &x));
        prop_assert!(
            (value - slope).abs() < 1e-5 * scale,
            "d/d{} of {} is {} = {value}, not {slope}",
            common::NAMES[i], pool.display(e), pool.display(derivative)
        );
    }

    #[test]
    fn directional_derivatives_are_sums(recipe in smooth(), x in point(), v in point()) {
        let mut pool = pool();
        let e = recipe.build(&mut pool);
        let variables = common::NAMES.map(|n| pool.symbol(n));
        let rates = v.map(|r| pool.float(r));
        let pairs: Vec<(Expr, Expr)> = variables.into_iter().zip(rates).collect();
        let along = pool.directional(e, &pairs);
        let gradient = pool.gradient(e, &variables);
        let eval = |e| pool.eval(e, |s| variable(&pool, s, &x));
        let terms: Vec<f64> = gradient.iter().zip(v).map(|(&g, v)| eval(g) * v).collect();
        let (value, sum) = (eval(along), terms.iter().sum::<f64>());
        let scale: f64 = terms.iter().map(|t| t.abs()).sum::<f64>() + 1.0;
        prop_assume!(sum.is_finite() && value.is_finite() && scale < 1e5);
        prop_assert!((value - sum).abs() < 1e-6 * scale, "{}: {value} {sum}", pool.display(e));
    }

    #[test]
    fn substitution_and_evaluation_commute(recipe in smooth(), inner in smooth(), x in point()) {
        let mut pool = pool();
        let (e, y) = (recipe.build(&mut pool), pool.symbol("y"));
        let inner_expr = inner.build(&mut pool);
        prop_assume!(!pool.is_singular(e) && !pool.is_singular(inner_expr));
        let substituted = pool.substitute(e, &[(y, inner_expr)]);
        let inner_value = pool.eval(inner_expr, |s| variable(&pool, s, &x));
        let mut moved = x;
        moved[1] = inner_value;
        let mut scale = 1.0;
        let naive = recipe.value(&moved, &mut scale);
        inner.value(&x, &mut scale);
        prop_assume!(inner_value.is_finite() && naive.is_finite() && scale < 1e3);
        let after = pool.eval(substituted, |s| variable(&pool, s, &x));
        prop_assert!((after - naive).abs() < 1e-6 * scale, "{}: {after} {naive}", pool.display(e));
    }

    #[test]
    fn expansion_keeps_the_value(recipe in polynomial(), x in point()) {
        let mut pool = pool();
        let e = recipe.build(&mut pool);
        let expanded = pool.expand(e);
        let mut scale = 1.0;
        let naive = recipe.value(&x, &mut scale);
        let value = pool.eval(expanded, |s| variable(&pool, s, &x));
        prop_assume!(scale < 1e6);
        prop_assert!((value - naive).abs() < 1e-8 * scale, "{}", pool.display(expanded));
        prop_assert_eq!(pool.expand(expanded), expanded);
    }

    #[test]
    fn polynomial_identities_expand_to_zero(a in polynomial(), b in polynomial(), c in polynomial()) {
        let mut pool = pool();
        let [a, b, c] = [a, b, c].map(|r| r.build(&mut pool));
        let sum = pool.add(&[b, c]);
        let left = pool.mul(&[a, sum]);
        let (ab, ac) = (pool.mul(&[a, b]), pool.mul(&[a, c]));
        let right = pool.add(&[ab, ac]);
        let difference = pool.sub(left, right);
        prop_assert_eq!(pool.expand(difference), Expr::ZERO);
    }

    #[test]
    fn order_of_writing_does_not_matter(
        items in prop::collection::vec(anything(), 2..6).prop_shuffle(),
        seed in any::<u64>(),
    ) {
        let mut pool = pool();
        let built: Vec<Expr> = items.iter().map(|r| r.build(&mut pool)).collect();
        let mut other = built.clone();
        for i in (1..other.len()).rev() {
            other.swap(i, usize::try_from(seed >> 8).unwrap_or(0) % (i + 1));
        }
        let (a, b) = (pool.add(&built), pool.add(&other));
        prop_assert_eq!(a, b, "{} and {}", pool.display(a), pool.display(b));
        let (a, b) = (pool.mul(&built), pool.mul(&other));
        prop_assert_eq!(a, b, "{} and {}", pool.display(a), pool.display(b));
    }

    #[test]
    fn negation_and_subtraction_cancel(recipe in anything()) {
        let mut pool = pool();
        let e = recipe.build(&mut pool);
        let minus = pool.neg(e);
        prop_assert_eq!(pool.neg(minus), e);
        let zero = pool.sub(e, e);
        let expected = if pool.is_singular(e) { pool.undefined() } else { Expr::ZERO };
        prop_assert_eq!(zero, expected);
    }

    #[test]
    fn comparison_is_a_total_order(a in anything(), b in anything(), c in anything()) {
        let mut pool = pool();
        let mut e = [a, b, c].map(|r| r.build(&mut pool));
        prop_assert_eq!(pool.compare(e[0], e[1]), pool.compare(e[1], e[0]).reverse());
        e.sort_by(|&a, &b| pool.compare(a, b));
        prop_assert!(pool.compare(e[0], e[1]).is_le());
        prop_assert!(pool.compare(e[1], e[2]).is_le());
        prop_assert!(pool.compare(e[0], e[2]).is_le());
    }
}
