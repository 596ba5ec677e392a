//! The tables of docs/import.md are those of the readers.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

use std::path::Path;

const START: &str = "<!-- tables -->\n";
const END: &str = "<!-- end of tables -->";

#[test]
fn the_page_has_the_tables_of_the_readers() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/import.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(START).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let wanted = format!("{before}{START}\n{}{END}{after}", gelenk_import::element_tables());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, wanted).unwrap();
    } else {
        assert!(page == wanted, "run with BLESS=1 to write docs/import.md anew");
    }
}
