//! Any text as a deck of punched cards, and as a formula on a card of a good deck: faults come back with their card and
//! column, never as a panic; what is read derives, if it is small.
#![no_main]

use gelenk_expr::Pool;
use gelenk_lagrange::deck;
use libfuzzer_sys::fuzz_target;

const UNIT: &str = "'1' '0' '0' '0' '1' '0' '0' '0' '1'";

fuzz_target!(|text: &str| {
    check(text);
    let formula = text.replace('\'', "''");
    check(&format!(
        "1 1 1 '0'B {UNIT} '0' '0' '0' {UNIT} 'Q(1)' '0' '0' '1'B '{formula}' '0' '0' '0' '0' '0' 0 0 1 'A, 0' 1 'A, {formula}'"
    ));
});

fn check(text: &str) {
    match deck::read(text) {
        Ok(read) => {
            // Powers of sums have as many terms as one likes; that they stay bounded is another test's matter.
            if text.len() < 400 && !text.contains("**") {
                let mut pool = Pool::new();
                let derived = read.derive(&mut pool).expect("what was checked derives");
                assert!(derived.print().starts_with("SYSTEM 1"));
            }
        }
        Err(faults) => {
            let cards = text.lines().count().max(1);
            assert!(!faults.is_empty());
            assert!(
                faults.iter().all(|f| (1..=cards).contains(&f.place.card) && f.place.column > 0)
            );
        }
    }
}
