//! Damaged models never panic.

use gelenk_model::{Limits, LoadOptions, load_text};
use proptest::prelude::*;

use crate::common::faults;

const MODELS: [&str; 2] = [include_str!("good/arm.toml"), include_str!("good/everything.toml")];

/// Loading may succeed or be refused with a reason; nothing else.
fn survives(text: &str) {
    if let Err(faults) = load_text("damaged.toml", text, &LoadOptions::default()) {
        assert!(faults.n_errors() > 0);
        let drawn = faults.render(false);
        assert!(drawn.contains("error"));
        assert!(faults.to_json().is_array());
    }
}

#[test]
fn truncated_anywhere() {
    for text in MODELS {
        for end in (0..text.len()).step_by(7) {
            if text.is_char_boundary(end) {
                survives(&text[..end]);
            }
        }
    }
}

#[test]
fn lines_left_out_or_doubled() {
    for text in MODELS {
        let lines: Vec<&str> = text.lines().collect();
        for i in 0..lines.len() {
            let mut fewer = lines.clone();
            fewer.remove(i);
            survives(&fewer.join("\n"));
            let mut more = lines.clone();
            more.insert(i, lines[i]);
            survives(&more.join("\n"));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bytes_flipped(which in 0..MODELS.len(), flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = MODELS[which].as_bytes().to_vec();
        for (index, byte) in flips {
            let i = index.index(bytes.len());
            bytes[i] = byte;
        }
        survives(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn words_exchanged(which in 0..MODELS.len(), a in any::<prop::sample::Index>(), b in any::<prop::sample::Index>()) {
        let words: Vec<&str> = MODELS[which].split_inclusive([' ', '\n', '"', ',']).collect();
        let mut words = words.clone();
        let (a, b) = (a.index(words.len()), b.index(words.len()));
        words.swap(a, b);
        survives(&words.concat());
    }

    #[test]
    fn numbers_replaced(which in 0..MODELS.len(), index in any::<prop::sample::Index>(), number in prop::sample::select(vec![
        "0", "-1", "1e308", "-1e308", "1e-308", "nan", "inf", "-inf", "99999999999999999999", "\"t\"", "\"1/0\"", "\"\"", "true", "[]", "{}", "\"l\"",
    ])) {
        let text = MODELS[which];
        let places: Vec<(usize, &str)> = text.match_indices(|c: char| c.is_ascii_digit()).collect();
        let (at, _) = places[index.index(places.len())];
        let start = text[..at].rfind([' ', '[', ',']).map_or(0, |i| i + 1);
        let end = text[at..].find([',', ']', '}', '\n', ' ']).map_or(text.len(), |i| at + i);
        if start <= end {
            survives(&format!("{}{number}{}", &text[..start], &text[end..]));
        }
    }
}

#[test]
fn deep_nesting_is_counted() {
    for open in ["[", "{a=", "{a.b=", "[{a="] {
        let text = format!("x = {}", open.repeat(100_000));
        assert_eq!(faults(&text), ["limit-nesting"], "{open}");
    }
    assert_eq!(faults(&format!("{}a = 1", "a.".repeat(100_000))), ["limit-nesting"]);
    assert_eq!(faults(&format!("[{}a]", "a.".repeat(100_000))), ["limit-nesting"]);
    // An expression has a limit of its own.
    let deep = format!("[parameters]\na = \"{}1{}\"\n", "(".repeat(10_000), ")".repeat(10_000));
    assert!(faults(&deep).contains(&"bad-expression"));
}

/// 100,000 bodies load; one more is refused with the flag that lifts the limit.
#[test]
fn many_bodies() {
    let one = |i: usize| format!("[[point]]\nname = \"p{i}\"\nmass = 1\n");
    let limits = Limits { bodies: 1000, ..Limits::default() };
    let options = LoadOptions { limits, ..LoadOptions::default() };
    let text: String = (0..1000).map(one).collect();
    assert_eq!(load_text("m", &text, &options).unwrap().model.n_bodies(), 1001);
    let text: String = (0..1001).map(one).collect();
    let faults = load_text("m", &text, &options).unwrap_err();
    assert_eq!(faults.list[0].code, "limit-bodies");
    assert!(faults.list[0].help.as_ref().unwrap().contains("--limit bodies="));
}

#[test]
fn same_input_same_output() {
    for text in MODELS {
        let one = crate::common::load(text);
        let two = crate::common::load(text);
        assert_eq!(one.model.start, two.model.start);
        assert_eq!(one.canonical_text(), two.canonical_text());
        let names = |l: &gelenk_model::Loaded| -> Vec<String> {
            l.model.parameters.iter().map(|p| p.name.clone()).collect()
        };
        assert_eq!(names(&one), names(&two));
    }
}
