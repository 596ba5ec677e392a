//! `gelenk verify` and `gelenk export`: differences, tables, pictures, faults.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

mod common;

use std::path::Path;
use std::process::Stdio;

use common::{code, command, folder, json_of, number, stderr, text_of};

fn record(folder: &Path) {
    text_of(
        folder,
        &["run", "double-pendulum", "--duration", "0.5", "--step", "0.01", "--output", "r.mcap"],
        0,
    );
}

#[test]
fn tables_have_a_line_a_sample() {
    let folder = folder();
    record(folder.path());
    let args = [
        "export",
        "r.mcap",
        "--csv",
        "r.csv",
        "--parquet",
        "r.parquet",
        "--film",
        "r.svg",
        "--frames",
        "5",
    ];
    let value = json_of(folder.path(), &args, 0);
    assert_eq!(value["samples"], 51);
    for format in ["csv", "parquet", "film"] {
        assert!(value["written"][format].is_string(), "{value:#}");
    }
    let csv = std::fs::read_to_string(folder.path().join("r.csv")).unwrap();
    assert_eq!(csv.lines().count(), 52);
    let columns = csv.lines().next().unwrap().split(',').count();
    assert!(csv.lines().all(|line| line.split(',').count() == columns));
    let parquet = std::fs::read(folder.path().join("r.parquet")).unwrap();
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
    assert!(std::fs::read_to_string(folder.path().join("r.svg")).unwrap().starts_with("<svg"));

    let (text, _) = text_of(folder.path(), &["export", "r.mcap", "--csv", "-"], 0);
    assert_eq!(text, csv);
}

#[test]
fn a_table_for_a_reader_that_goes_away_ends_quietly() {
    let folder = folder();
    record(folder.path());
    let mut child = command(folder.path(), &["export", "r.mcap", "--csv", "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
}

#[test]
fn a_changed_number_is_found_and_named() {
    let folder = folder();
    record(folder.path());
    let path = folder.path().join("r.mcap");
    let whole = std::fs::read(&path).unwrap();
    for part in [3, 5, 8] {
        let mut bytes = whole.clone();
        let at = bytes.len() * part / 10;
        bytes[at] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let value = json_of(folder.path(), &["verify", "r.mcap"], 1);
        assert_eq!(value["verified"], false);
        let (text, _) = text_of(folder.path(), &["verify", "r.mcap"], 1);
        assert!(text.contains("not verified"), "{text}");
    }
}

#[test]
fn a_cut_recording_is_not_verified_but_exports_what_is_there() {
    let folder = folder();
    text_of(
        folder.path(),
        &["run", "chain-100", "--set", "n=20", "--duration", "1", "--output", "r.mcap"],
        0,
    );
    let path = folder.path().join("r.mcap");
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() * 2 / 3]).unwrap();
    let value = json_of(folder.path(), &["verify", "r.mcap"], 1);
    assert_eq!(value["whole"], false);
    let value = json_of(folder.path(), &["export", "r.mcap", "--csv", "r.csv"], 0);
    assert!(number(&value, "samples") > 0.0);
    assert_eq!(value["whole"], false);
    let (_, err) = text_of(folder.path(), &["export", "r.mcap", "--csv", "r.csv"], 0);
    assert!(err.contains("truncated"), "{err}");
}

#[test]
fn what_is_no_recording_is_refused() {
    let folder = folder();
    std::fs::write(folder.path().join("no.mcap"), "hello").unwrap();
    std::fs::write(folder.path().join("empty.mcap"), "").unwrap();
    std::fs::create_dir(folder.path().join("folder.mcap")).unwrap();
    for name in ["no.mcap", "empty.mcap", "folder.mcap", "missing.mcap"] {
        json_of(folder.path(), &["verify", name], 2);
        json_of(folder.path(), &["export", name, "--csv", "x.csv"], 2);
        let (_, err) = text_of(folder.path(), &["verify", name], 2);
        assert!(err.contains(name), "{err}");
    }
    assert!(!folder.path().join("x.csv").exists());
}

#[test]
fn tables_that_cannot_be_written_end_with_4() {
    let folder = folder();
    record(folder.path());
    std::fs::create_dir(folder.path().join("taken")).unwrap();
    for format in ["--csv", "--parquet", "--film"] {
        for place in ["taken", "no/where"] {
            json_of(folder.path(), &["export", "r.mcap", format, place], 4);
        }
        json_of(folder.path(), &["export", "r.mcap", format, "r.mcap"], 2);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_ends_with_4() {
    let folder = folder();
    record(folder.path());
    for format in ["--csv", "--parquet", "--film"] {
        std::fs::write(folder.path().join("full"), "").unwrap();
        let args = ["export", "r.mcap", format, "full", "--json"];
        let output = common::on_a_small_disk(folder.path(), &args).output().unwrap();
        assert_eq!(code(&output), 4, "{format}: {}", common::stderr(&output));
        common::json(&output);
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(left.len(), 2, "no temporary file is left: {left:?}");
        assert_eq!(std::fs::metadata(folder.path().join("full")).unwrap().len(), 0);
    }
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = command(folder.path(), &["export", "r.mcap", "--csv", "-"])
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(code(&output), 4);
}
