//! What must hold for any polynomials.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

use gelenk_blowup::groebner::{Work, basis, normal_form};
use gelenk_blowup::{Error, Judge, Method, Monomial, Poly, System, blow_up, branches};
use gelenk_expr::Rational;
use proptest::prelude::*;

/// Small polynomials in x, y, z.
fn poly() -> impl Strategy<Value = Poly<Rational>> {
    let term = (prop::array::uniform3(0u16..3), -4i64..5);
    prop::collection::vec(term, 1..5).prop_map(|terms| {
        let vars: Vec<Poly<Rational>> = (0..3).map(|i| Poly::variable(3, i)).collect();
        let mut sum = Poly::zero(3);
        for (e, c) in terms {
            let mut p = Poly::constant(3, Rational::from(c));
            for (v, e) in vars.iter().zip(e) {
                p = p.times(&v.power(u32::from(e)));
            }
            sum = sum.plus(&p);
        }
        sum
    })
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|n| (*n).to_owned()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn text_is_read_back(p in poly()) {
        let text = p.text(&names(&["x", "y", "z"]));
        let again = System::parse(&["x", "y", "z"], &[&text]).unwrap();
        prop_assert_eq!(&again.equations[0], &p);
    }

    #[test]
    fn ring_laws(p in poly(), q in poly(), r in poly()) {
        prop_assert_eq!(p.plus(&q).times(&r), p.times(&r).plus(&q.times(&r)));
        // d(pq) = p dq + q dp, and the shift is a homomorphism.
        let d = |p: &Poly<Rational>| p.derivative(1);
        prop_assert_eq!(d(&p.times(&q)), p.times(&d(&q)).plus(&q.times(&d(&p))));
        let a = [1, -2, 3].map(Rational::from);
        prop_assert_eq!(p.times(&q).shifted(&a), p.shifted(&a).times(&q.shifted(&a)));
        prop_assert!(p.minus(&p).is_empty());
    }

    #[test]
    fn combinations_are_members(p in poly(), q in poly(), a in poly(), b in poly()) {
        let mut work = Work::new("the test", 200_000);
        match basis(&[p.clone(), q.clone()], &mut work) {
            Ok(g) => {
                let combination = a.times(&p).plus(&b.times(&q));
                prop_assert!(normal_form(&combination, &g, &mut work).unwrap().is_empty());
            }
            Err(error) => prop_assert!(matches!(error, Error::WorkBound { .. }), "{}", error),
        }
    }

    /// Branches y = a x + b x², all different: the product of their equations has just these.
    #[test]
    fn branches_of_a_product(mut curves in prop::collection::vec((-3i64..4, -2i64..3), 1..4)) {
        curves.sort_unstable();
        curves.dedup();
        let mut g = Poly::constant(2, Rational::ONE);
        let (x, y) = (Poly::variable(2, 0), Poly::variable(2, 1));
        for (a, b) in &curves {
            let line = x.scaled(&Rational::from(*a)).plus(&x.times(&x).scaled(&Rational::from(*b)));
            g = g.times(&y.minus(&line));
        }
        let system = System { names: names(&["x", "y"]), equations: vec![g] };
        let origin = vec![Rational::ZERO; 2];
        let mut work = Work::new("the test", 2_000_000);
        let found = branches(&system, &origin, &mut work).unwrap();
        let mut seen: Vec<(Rational, Rational)> =
            found.found.iter().map(|b| (b.curve[1][1].clone(), b.curve[1][2].clone())).collect();
        seen.sort();
        let expected: Vec<(Rational, Rational)> =
            curves.iter().map(|(a, b)| (Rational::from(*a), Rational::from(*b))).collect();
        prop_assert_eq!(seen, expected);
        for branch in &found.found {
            // t-order falls in every round, and ends at zero.
            for method in [Method::Curve, Method::Polar] {
                let res = blow_up(&system, &origin, &branch.curve, method, &Judge::exact()).unwrap();
                let mut last = branch.order;
                for round in &res.rounds {
                    prop_assert_eq!(round.order_before, last);
                    prop_assert!(round.order_after < round.order_before);
                    last = round.order_after;
                }
                prop_assert_eq!(last, Some(0));
                let rank = res.whole.rank_at(&res.point, 0.0);
                prop_assert_eq!(rank, res.whole.equations.len());
                prop_assert!(res.whole.equations.iter().all(|g| g.eval(&res.point).is_zero()));
            }
        }
    }
}

#[test]
fn large_products_are_refused_not_expanded() {
    // x1 … x30 about (1, …, 1) has 2³⁰ terms.
    let names: Vec<String> = (0..30).map(|i| format!("x{i}")).collect();
    let mut g = Poly::constant(30, Rational::ONE);
    for i in 0..30 {
        g = g.times(&Poly::variable(30, i));
    }
    g.add_term(Monomial::one(30), &Rational::MINUS_ONE);
    let system = System { names, equations: vec![g] };
    let place = vec![Rational::ONE; 30];
    let mut work = Work::new("the test", 1000);
    assert_eq!(branches(&system, &place, &mut work).unwrap_err(), Error::TooLarge { index: 1 });
}
