//! Scenes and pictures for other programs: glTF, Foxglove's MCAP, PNG, plots.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::ops::ControlFlow;

use gelenk::export::{ExportError, plot_svg, to_glb, to_gltf, write_foxglove};
use gelenk::model::{Model, Observer, Sample, State};
use gelenk::picture::{PictureOptions, picture};
use gelenk::recording::{RecordedSample, RecordingError};
use serde_json::Value;
use support::{double_pendulum, run, settings};

#[derive(Default)]
struct Keep(Vec<RecordedSample>);

impl Observer for Keep {
    fn sample(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        self.0.push(RecordedSample::new(sample));
        ControlFlow::Continue(())
    }
}

fn samples(model: &Model) -> Vec<RecordedSample> {
    let mut keep = Keep::default();
    run(model, &settings(), &mut keep).unwrap();
    keep.0
}

fn states(samples: &[RecordedSample]) -> Vec<(f64, State)> {
    samples.iter().map(|sample| (sample.state.t, sample.state.clone())).collect()
}

fn given(
    samples: &[RecordedSample],
) -> impl Iterator<Item = Result<RecordedSample, RecordingError>> {
    samples.iter().cloned().map(Ok)
}

/// The JSON and the binary part of a `.glb` file.
fn parts(glb: &[u8]) -> (Value, &[u8]) {
    let number = |at: usize| u32::from_le_bytes(glb[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!((&glb[..4], number(4), number(8)), (&b"glTF"[..], 2, glb.len()));
    let text = number(12);
    assert_eq!((&glb[16..20], text % 4), (&b"JSON"[..], 0));
    let binary = 20 + text;
    assert_eq!(
        (&glb[binary + 4..binary + 8], number(binary)),
        (&b"BIN\0"[..], glb.len() - binary - 8)
    );
    (serde_json::from_slice(&glb[20..binary]).unwrap(), &glb[binary + 8..])
}

/// The rows of an accessor.
fn rows(document: &Value, binary: &[u8], accessor: &Value) -> Vec<Vec<f32>> {
    let accessor = &document["accessors"][usize::try_from(accessor.as_u64().unwrap()).unwrap()];
    let view = &document["bufferViews"]
        [usize::try_from(accessor["bufferView"].as_u64().unwrap()).unwrap()];
    let whole = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap();
    let width = match accessor["type"].as_str().unwrap() {
        "SCALAR" => 1,
        "VEC3" => 3,
        _ => 4,
    };
    let (start, length) = (whole(&view["byteOffset"]), whole(&view["byteLength"]));
    assert_eq!(length, 4 * width * whole(&accessor["count"]));
    let floats = binary[start..start + length].chunks(4);
    let floats: Vec<f32> = floats.map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
    floats.chunks(width).map(<[f32]>::to_vec).collect()
}

/// The upper rod hangs on the shoulder in the origin and turns by φ = 0.8 cos 3t about y.
#[test]
fn gltf_moves_as_the_mechanism_does() {
    let model = double_pendulum();
    let samples = samples(&model);
    let glb = to_glb(&model, &states(&samples));
    let (document, binary) = parts(&glb);
    let nodes = document["nodes"].as_array().unwrap();
    let upper = nodes.iter().position(|node| node["name"] == "upper").unwrap();
    let animation = &document["animations"][0];
    let channels = animation["channels"].as_array().unwrap();
    // Two rods with place and turn, a point with its place.
    assert_eq!(channels.len(), 5);
    let track = |path: &str| {
        let channel = channels
            .iter()
            .find(|c| c["target"]["node"] == upper && c["target"]["path"] == path)
            .unwrap();
        let sampler = usize::try_from(channel["sampler"].as_u64().unwrap()).unwrap();
        let sampler = &animation["samplers"][sampler];
        (rows(&document, binary, &sampler["input"]), rows(&document, binary, &sampler["output"]))
    };
    let (times, turns) = track("rotation");
    assert_eq!(times.len(), samples.len());
    assert!(times.windows(2).all(|pair| pair[0][0] < pair[1][0]));
    for (time, turn) in times.iter().zip(&turns) {
        let half = 0.4 * (3.0 * f64::from(time[0])).cos();
        // x y z w; both signs mean the same turn.
        let dot = f64::from(turn[1]) * half.sin() + f64::from(turn[3]) * half.cos();
        assert!((dot.abs() - 1.0).abs() < 1e-6, "{time:?} {turn:?}");
    }
    assert!(track("translation").1.iter().flatten().all(|x| x.abs() < 1e-6));
    // z up becomes y up: a quarter turn about −x.
    let root: Vec<f64> =
        nodes[0]["rotation"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
    assert!((root[0] + 0.5_f64.sqrt()).abs() < 1e-6 && (root[3] - 0.5_f64.sqrt()).abs() < 1e-6);
    let text: Value = serde_json::from_str(&to_gltf(&model, &states(&samples))).unwrap();
    assert_eq!(text["accessors"], document["accessors"]);
    assert!(text["buffers"][0]["uri"].as_str().unwrap().starts_with("data:"));
}

#[test]
fn foxglove_sees_frames_and_shapes() {
    let model = double_pendulum();
    let samples = samples(&model);
    let mut file = Vec::new();
    let n = write_foxglove(&model, given(&samples), &mut file).unwrap();
    assert_eq!(n, samples.len() as u64);
    let mut seen = std::collections::BTreeMap::<String, u64>::new();
    for message in mcap::MessageStream::new(&file).unwrap() {
        let message = message.unwrap();
        let schema = message.channel.schema.clone().unwrap();
        assert_eq!(
            (schema.encoding.as_str(), message.channel.message_encoding.as_str()),
            ("jsonschema", "json")
        );
        let value: Value = serde_json::from_slice(&message.data).unwrap();
        match schema.name.as_str() {
            "foxglove.FrameTransforms" => {
                let list = value["transforms"].as_array().unwrap();
                assert_eq!(list.len(), 3);
                assert_eq!(list[0]["child_frame_id"], "upper");
                assert_eq!(list[0]["parent_frame_id"], "world");
            }
            "foxglove.SceneUpdate" => {
                let entities = value["entities"].as_array().unwrap();
                let upper = entities.iter().find(|entity| entity["frame_id"] == "upper").unwrap();
                assert_eq!(upper["frame_locked"], true);
                assert_eq!(upper["cylinders"][0]["size"]["z"], 1.0);
            }
            _ => assert!(value["joint.shoulder.angle"].is_number(), "{value}"),
        }
        *seen.entry(message.channel.topic.clone()).or_default() += 1;
    }
    assert_eq!((seen["/tf"], seen["/scene"], seen["/values"]), (n, 1, n));
}

/// Width, height and pixels of a PNG file with rows filtered by the row above.
fn unpacked(png: &[u8]) -> (usize, usize, Vec<u8>) {
    assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap()) as usize;
    let (width, height) = (number(16), number(20));
    // The header is followed by whose picture it is.
    let text = number(33);
    assert_eq!(&png[37..41 + text], b"tEXtSoftware\0gelenk");
    let chunk = 45 + text;
    let (length, at) = (number(chunk), chunk + 8);
    assert_eq!(&png[chunk + 4..at], b"IDAT");
    let rows = miniz_oxide::inflate::decompress_to_vec_zlib(&png[at..at + length]).unwrap();
    let mut pixels = Vec::new();
    let mut above = vec![0_u8; 3 * width];
    for row in rows.chunks(3 * width + 1) {
        assert_eq!(row[0], 2);
        for (up, x) in above.iter_mut().zip(&row[1..]) {
            *up = up.wrapping_add(*x);
        }
        pixels.extend_from_slice(&above);
    }
    assert_eq!(pixels.len(), 3 * width * height);
    (width, height, pixels)
}

#[test]
fn a_picture_shows_the_motion() {
    let model = double_pendulum();
    let states = states(&samples(&model));
    let options = PictureOptions { width: 160, height: 120, ..PictureOptions::default() };
    let png = picture(&model, &states, &options);
    assert_eq!(png, picture(&model, &states, &options));
    let (width, height, pixels) = unpacked(&png);
    assert_eq!((width, height), (160, 120));
    let paper = &pixels[..3];
    let inked = pixels.chunks(3).filter(|pixel| *pixel != paper).count();
    assert!(inked > 40 && inked < 160 * 120 / 2, "{inked}");
    // One instant is another picture than five of them.
    let one = PictureOptions { at: Some(0.0), ..options.clone() };
    let (.., first) = unpacked(&picture(&model, &states, &one));
    assert!(first != pixels && first.chunks(3).any(|pixel| pixel != &first[..3]));
    // Nothing to see is no fault.
    let (.., blank) = unpacked(&picture(&model, &[], &options));
    assert!(blank.chunks(3).all(|pixel| pixel == &blank[..3]));
    let mut wild = states.clone();
    wild.iter_mut().for_each(|(_, state)| state.s[1].x = f64::NAN);
    unpacked(&picture(&model, &wild, &options));
}

#[test]
fn plots_have_a_panel_a_unit_and_know_their_names() {
    let model = double_pendulum();
    let samples = samples(&model);
    let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let one = plot_svg(&model, given(&samples), &names(&["energy"])).unwrap();
    assert_eq!(one.matches("<svg").count(), 1);
    assert!(one.contains("energy.kinetic"));
    // The name of before still reads.
    let old = names(&["joint.shoulder.coordinate.angle"]);
    let today = names(&["joint.shoulder.angle"]);
    let drawn = [old, today].map(|list| plot_svg(&model, given(&samples), &list).unwrap());
    assert_eq!(drawn[0], drawn[1]);
    let two = names(&["joint.shoulder.angle", "energy.kinetic", "energy.kinetic"]);
    let two = plot_svg(&model, given(&samples), &two).unwrap();
    assert_eq!(two.matches("<svg").count(), 3);
    let wrong = plot_svg(&model, given(&samples), &names(&["energy.kinetik"])).unwrap_err();
    let ExportError::NoColumn { near, .. } = &wrong else { panic!("{wrong}") };
    assert_eq!(near.as_deref(), Some("energy.kinetic"));
}
