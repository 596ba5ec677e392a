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

/// A pendulum of 1 m in absolute motion, and step 3 of the program of 1978: its integration.
const PENDULUM: &str = "1  1 1 '0'B
'1' '0' '0'  '0' '1' '0'  '0' '0' '1'  '0' '0' '0'
'1' '0' '0'  '0' '1' '0'  '0' '0' '1'
'R*SIN(Q(1))' '-R*COS(Q(1))' '0'
'1'B  '0' '-M(1)*GE' '0'  '0' '0' '0'
0  0  0  0";

#[test]
fn a_deck_is_integrated() {
    let folder = folder();
    std::fs::write(folder.path().join("p.txt"), PENDULUM).unwrap();
    let values = ["--set", "M(1)=2", "--set", "R=1", "--set", "ge=9.81", "--set", "Q(1)=10*pi/180"];
    // A quarter of the period of the 1 m pendulum at 10 degrees (REFERENCES: Schmitt 2003): it hangs straight.
    let run =
        ["lagr", "p.txt", "--run", "--duration", "0.50247315682465", "--step", "0.50247315682465"];
    let value = json_of(folder.path(), &[&run[..], &values[..]].concat(), 0);
    let motion = &value["motion"];
    assert_eq!(motion["names"], serde_json::json!(["Q(1)", "QP(1)"]));
    let samples = motion["samples"].as_array().unwrap();
    assert_eq!(samples.len(), 2);
    assert!(samples[1]["values"][0].as_f64().unwrap().abs() < 1e-9, "{motion}");
    let energy = |i: usize| {
        let e = &samples[i]["energy"];
        e["kinetic"].as_f64().unwrap() + e["potential"].as_f64().unwrap()
    };
    assert!((energy(1) - energy(0)).abs() < 1e-8, "{motion}");
    let (text, _) = text_of(folder.path(), &[&run[..], &values[..]].concat(), 0);
    assert!(text.contains("QP(1)") && text.contains("kinetic energy"), "{text}");
    for (args, told) in [
        (&["--run"][..], "these need a value: M(1), R, GE"),
        (&["--run", "--set", "GA=1"], "there is no `GA` in the equations; did you mean `GE`?"),
        (&["--run", "--kinetic-list", "1"], "there are 0 replacement lists for the kinetic energy"),
        (&["--run", "--system", "2"], "--system 2: the deck has 1 system"),
    ] {
        let (_, err) = text_of(folder.path(), &[&["lagr", "p.txt"], args].concat(), 2);
        assert!(err.contains(told), "{args:?}: {err}");
    }
    // A coordinate without inertia cannot be integrated: special case b of the example.
    let args = ["lagr", "system-2", "--run", "--kinetic-list", "3", "--force-list", "2"];
    let set =
        ["M(2)=1", "R=1", "GE=10", "TH(2,1,1)=1", "TH(2,2,2)=1"].map(|v| ["--set", v]).concat();
    let (_, err) = text_of(folder.path(), &[&args[..], &set[..]].concat(), 3);
    assert!(err.contains("a coordinate without inertia"), "{err}");
}

/// The code that is written computes the printed coefficients; Python is there to run it.
#[test]
fn a_deck_as_code() {
    let folder = folder();
    std::fs::write(folder.path().join("p.txt"), PENDULUM).unwrap();
    for (language, begin) in
        [("c", "void p_force("), ("rust", "pub fn p_force("), ("python", "def p_force(")]
    {
        let (code, _) = text_of(folder.path(), &["lagr", "p.txt", "--format", language], 0);
        assert!(code.contains(begin), "{code}");
        for group in ["p_mass_matrix", "p_bias", "mass_matrix*qpp + bias = force"] {
            assert!(code.contains(group), "{group}: {code}");
        }
    }
    let value = json_of(folder.path(), &["lagr", "p.txt", "--format", "c"], 0);
    assert!(value["code"].as_str().unwrap().contains("sin("));
}

/// What cannot be: potentials that do not exist are named by the slopes that differ.
#[test]
fn potentials_are_in_the_answer() {
    let folder = folder();
    let value = json_of(folder.path(), &["lagr", "system-2"], 0);
    let functions = value["systems"][0]["functions"].as_array().unwrap();
    let all = functions.iter().find(|f| f["of"] == "all").unwrap();
    assert_eq!(all["potential"]["exists"], true);
    assert!(all["dissipation"]["text"].as_str().unwrap().contains("K(2,3)"), "{all}");
    assert_eq!(functions[0]["of"], serde_json::json!({ "body": 2 }));
    assert_eq!(functions[0]["potential"]["exists"], false);
    let long = format!("1 1 1 '0'B{}X", " ".repeat(90));
    std::fs::write(folder.path().join("long.txt"), long).unwrap();
    let (_, told) = text_of(folder.path(), &["lagr", "long.txt"], 2);
    assert!(
        told.contains("long.txt: card 1, column 81: a card has 80 columns, this one 101"),
        "{told}"
    );
}
