//! `gelenk lagr`.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

mod common;

use common::{code, folder, gelenk_with_input, json_of, stdout, text_of};

#[test]
fn the_example_of_the_paper() {
    let folder = folder();
    let (page, _) = text_of(folder.path(), &["lagr", "system-2"], 0);
    assert!(page.starts_with("SYSTEM 1\nEINGABE DER RELATIVBEWEGUNG\n"), "{page}");
    assert!(page.contains("\n  G(3,1) = -M(3)*SIN(Q(2))\n"));
    assert!(page.contains("METRIK SINGULAER: RANG 2 STATT 3, UNBESTIMMT QPP(3)"));
    // Its deck, read from standard input, gives the same.
    let (deck, _) = text_of(folder.path(), &["lagr", "system-2", "--deck"], 0);
    let again = gelenk_with_input(folder.path(), &["lagr", "-"], &deck);
    assert_eq!((stdout(&again), code(&again)), (page, 0));
    let value = json_of(folder.path(), &["lagr", "system-2"], 0);
    let kinetics = value["systems"][0]["kinetics"].as_array().unwrap();
    assert_eq!(kinetics.len(), 4);
    assert_eq!(kinetics[0]["G"]["3,3"], "M(3)");
    assert_eq!(kinetics[3]["undetermined"], serde_json::json!([3]));
    assert_eq!(value["systems"][0]["forces"][2]["KU"]["2"], "-M(2)*R*GE*SIN(Q(2))");
}

#[test]
fn faults_name_card_and_column() {
    let folder = folder();
    let deck = "1\n1 1 '0'B\n'1' '0' '0' '0' '1' '0' '0' '0' '1' 'A +' 'B)' '0'";
    std::fs::write(folder.path().join("bad.txt"), deck).unwrap();
    let (_, told) = text_of(folder.path(), &["lagr", "bad.txt"], 2);
    assert!(told.contains("bad.txt: card 3, column 41: the formula ends here"), "{told}");
    assert!(told.contains("bad.txt: card 3, column 45"), "{told}");
    assert!(told.contains("the deck ends here"), "{told}");
    let value = json_of(folder.path(), &["lagr", "bad.txt"], 2);
    assert_eq!(value["error"]["diagnostics"][0]["card"], 3);
    let (_, told) = text_of(folder.path(), &["lagr", "nothing.txt"], 2);
    assert!(told.contains("there is no file `nothing.txt`"), "{told}");
}
