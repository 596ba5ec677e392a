//! `gelenk singularities`.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

mod common;

use common::{folder, json_of, number, text_of};

#[test]
fn the_degenerate_crank_is_blown_up() {
    let folder = folder();
    let (text, _) = text_of(folder.path(), &["singularities", "degenerate-crank"], 0);
    // λ (λ − 2) = 0 with λ = B.x/A.x, as in the thesis, where B.y and B.z are zero.
    for line in [
        "singular position A.x = 0, A.y = 0, A.z = 1, B.x = 0, B.y = 0, B.z = 0: rank 4",
        "l_B.x^2 - 2*l_A.y*l_B.y + l_B.y^2 - 2*l_A.z*l_B.z + l_B.z^2 - 2*l_B.x = 0",
        "a smooth motion passes",
        "t-order 1 -> 0",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let value = json_of(folder.path(), &["singularities", "degenerate-crank", "--polar"], 0);
    assert_eq!(value["positions_complete"], true);
    let positions = value["positions"].as_array().unwrap();
    assert_eq!(positions.len(), 2);
    for branch in positions[0]["branches"].as_array().unwrap() {
        assert_eq!(branch["t_order"], 1);
        assert_eq!(branch["smooth_motion"], true);
        let round = &branch["blow_up"]["rounds"][0];
        assert!(round["divided"].to_string().contains("e_B.x"), "{round}");
    }
}

#[test]
fn the_lying_eight_is_crossed() {
    let folder = folder();
    let args = ["singularities", "lying-eight", "--cross", "--tolerance", "2e-8"];
    let value = json_of(folder.path(), &args, 0);
    let crossing = &value["crossing"];
    assert!(number(crossing, "steps") <= 85.0 && number(crossing, "evaluations") <= 1190.0);
    let events = crossing["events"].as_array().unwrap();
    assert_eq!(events.len(), 2);
    assert_eq!(events[0]["kind"], "singularity");
    assert_eq!(events[0]["place"]["P.x"], 0.0);
    let (text, _) = text_of(folder.path(), &args, 0);
    assert!(text.contains("singularity at t = 0.49168"), "{text}");
}

#[test]
fn the_cusp_is_refused_with_its_reason() {
    let folder = folder();
    let args = ["singularities", "cusp", "--cross", "--duration", "1"];
    let value = json_of(folder.path(), &args, 3);
    assert_eq!(value["positions"][0]["branches"][0]["smooth_motion"], false);
    let message = value["error"]["message"].as_str().unwrap();
    assert!(message.contains("no smooth motion crosses") && message.contains("whole matrix"));
    // Before it gets there all is well.
    json_of(folder.path(), &["singularities", "cusp", "--cross"], 0);
}

/// A run by the dae engine passes as well, tells the event, and refuses the cusp.
#[test]
fn runs_of_the_dae_engine_cross() {
    let folder = folder();
    let value =
        json_of(folder.path(), &["run", "lying-eight", "--engine", "dae", "--no-record"], 0);
    let events = value["events"].as_array().unwrap();
    let told: Vec<_> = events.iter().filter(|e| e["kind"] == "singularity").collect();
    assert_eq!(told.len(), 2, "{value}");
    let args = ["run", "cusp", "--engine", "dae", "--duration", "1", "--no-record"];
    let value = json_of(folder.path(), &args, 3);
    assert!(value["error"]["message"].to_string().contains("no smooth motion passes"), "{value}");
}

#[test]
fn models_of_bodies_are_followed() {
    let folder = folder();
    let (text, _) = text_of(folder.path(), &["singularities", "double-pendulum"], 0);
    assert!(text.contains("no singular position is met"), "{text}");
    let args = ["singularities", "four-bar-ladder", "--set", "n=1", "--duration", "1"];
    let (text, _) = text_of(folder.path(), &args, 0);
    assert!(
        text.contains("35 independent conditions on 36 coordinates, ranks lost here: 1, t-order 1"),
        "{text}"
    );
    let value = json_of(folder.path(), &args, 0);
    let passage = &value["passages"][0];
    assert!((number(passage, "time") - 0.708_475).abs() < 1e-5, "{passage}");
    assert_eq!(passage["branches"].as_array().unwrap().len(), 2);
    text_of(folder.path(), &["singularities", "cusp", "--duration", "1"], 2);
}
