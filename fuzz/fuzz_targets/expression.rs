//! Any text: the parser answers without a panic, errors point into the text, and what parses prints so that it
//! parses back to the same expression.
#![no_main]

use gelenk_expr::Pool;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut pool = Pool::new();
    match pool.parse(text) {
        Ok(e) => {
            let printed = pool.display(e).to_string();
            let again = pool.parse(&printed).expect("what was printed parses");
            assert_eq!(e, again, "{printed}");
            let x = pool.symbol("x");
            if pool.n_operations(&[e]) < 200 {
                let _ = pool.diff(e, x);
            }
        }
        Err(error) => {
            assert!(error.span.start <= error.span.end && error.span.end <= text.len());
        }
    }
});
