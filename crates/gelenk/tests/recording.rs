//! Recordings: same bits, crash-safe, checked by a re-run.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::ControlFlow;

use gelenk::certificate::End;
use gelenk::engine::Judged;
use gelenk::model::{Model, Observer, RunSettings, Sample};
use gelenk::recording::{
    Header, Integrity, RecordedSample, Recorder, Recording, RecordingError, Sink, VerifyReport,
    verify, verify_bytes,
};
use proptest::prelude::*;
use support::{double_pendulum, header, run, settings};

/// Everything that an observer sees.
#[derive(Default)]
struct Keep(Vec<RecordedSample>);

impl Observer for Keep {
    fn sample(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        self.0.push(RecordedSample::new(sample));
        ControlFlow::Continue(())
    }
}

fn record(settings: &RunSettings) -> Vec<u8> {
    let model = double_pendulum();
    let mut bytes = Vec::new();
    let mut recorder = Recorder::new(&mut bytes, header(&model, settings)).unwrap();
    let outcome = run(&model, settings, &mut recorder);
    recorder.finish(outcome.as_ref()).unwrap();
    bytes
}

fn check(bytes: &[u8]) -> VerifyReport {
    verify_bytes(bytes, &load, &engine).unwrap()
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of a loader")]
fn load(_: &Header) -> Result<Model, String> {
    Ok(double_pendulum())
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of an engine")]
fn engine(
    model: &Model,
    settings: &RunSettings,
    observer: &mut dyn Observer,
) -> Result<Judged, String> {
    Ok(run(model, settings, observer).into())
}

#[test]
fn what_is_read_is_what_was_written() {
    let (model, settings) = (double_pendulum(), settings());
    let mut keep = Keep::default();
    let report = run(&model, &settings, &mut keep).unwrap();
    let mut recording = Recording::from_bytes(record(&settings)).unwrap();
    assert_eq!(*recording.integrity(), Integrity::Complete);
    assert!(!recording.truncated());
    assert_eq!(*recording.header(), header(&model, &settings));
    assert_eq!(recording.events(), report.events);
    let certificate = recording.certificate().unwrap().clone();
    assert_eq!(certificate.end, End::Finished);
    assert_eq!(certificate.samples, 401);
    assert_eq!(certificate.steps, 400);
    assert_eq!(certificate.worst_gap.unwrap().name, "elbow");
    assert_eq!(certificate.worst_velocity_error.unwrap().name, "shoulder");
    assert_eq!(certificate.state_hash, gelenk::hash::state_hash(&report.state));
    assert_eq!(recording.n_samples(), 401);
    let samples: Vec<_> = recording.samples().map(Result::unwrap).collect();
    assert_eq!(samples, keep.0);
    let at: Vec<_> = recording.at_samples().map(|sample| sample.unwrap().state.t).collect();
    assert_eq!(at, [0.5, 1.0]);
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    assert_eq!(record(&settings()), record(&settings()));
    let report = check(&record(&settings()));
    assert!(report.ok, "{report}");
    assert_eq!(report.first_difference, None);
    assert_eq!(report.recorded, Some(report.again));
}

/// The crate `mcap` reads it as well, by its index.
#[test]
fn other_readers_of_mcap_agree() {
    let bytes = record(&settings());
    let summary = mcap::Summary::read(&bytes).unwrap().unwrap();
    let stats = summary.stats.unwrap();
    assert_eq!(stats.message_count, 1 + 401 + 2 + 8 + 1);
    assert_eq!((stats.message_start_time, stats.message_end_time), (0, 2_000_000_000));
    assert!(stats.chunk_count > 3);
    let messages: Vec<_> = mcap::MessageStream::new(&bytes).unwrap().map(Result::unwrap).collect();
    assert_eq!(messages.len() as u64, stats.message_count);
    let certificate = messages.last().unwrap();
    assert_eq!(certificate.channel.topic, "/certificate");
    let json: serde_json::Value = serde_json::from_slice(&certificate.data).unwrap();
    assert_eq!(json["end"]["kind"], "finished");
    let mut hash = blake3::Hasher::new();
    for message in messages.iter().filter(|message| message.channel.topic == "/state") {
        hash.update(&message.data);
    }
    assert_eq!(json["samples_hash"], hash.finalize().to_hex().as_str());
    let state = messages.iter().find(|message| message.channel.topic == "/state").unwrap();
    let schema = state.channel.schema.as_ref().unwrap();
    assert_eq!((schema.name.as_str(), schema.encoding.as_str()), ("gelenk.State", "protobuf"));
}

/// Stops at a time.
struct Until<'a>(&'a mut dyn Observer, f64);

impl Observer for Until<'_> {
    fn sample(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        self.0.sample(sample)
    }
    fn at(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        self.0.at(sample)
    }
    fn event(&mut self, event: &gelenk::model::Event) {
        self.0.event(event);
    }
    fn step(&mut self, t: f64) -> ControlFlow<()> {
        self.0.step(t)?;
        if t >= self.1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[test]
fn a_stopped_run_is_verified_up_to_where_it_stopped() {
    let (model, settings) = (double_pendulum(), settings());
    let mut bytes = Vec::new();
    let mut recorder = Recorder::new(&mut bytes, header(&model, &settings)).unwrap();
    let outcome = run(&model, &settings, &mut Until(&mut recorder, 0.7));
    let certificate = recorder.finish(outcome.as_ref()).unwrap();
    assert_eq!(certificate.end.to_string(), "stopped at t = 0.7000000000000001 s");
    let report = check(&bytes);
    assert!(report.ok, "{report}");
}

#[test]
fn a_failed_run_is_reproduced_but_not_verified() {
    let settings = RunSettings { tolerance: 2.0, ..settings() };
    let bytes = record(&settings);
    let recording = Recording::from_bytes(bytes.clone()).unwrap();
    let end = &recording.certificate().unwrap().end;
    assert_eq!(end.to_string(), "failed: joint `elbow` cannot be closed at t = 1 s");
    let report = check(&bytes);
    assert!(report.reproduced && !report.ok, "{report}");
    let text = report.to_string();
    assert!(text.starts_with("not verified; the recorded run failed: joint `elbow`"), "{text}");
    assert!(text.ends_with("the re-run gives the same bytes"), "{text}");
}

#[test]
fn another_result_is_named() {
    let bytes = record(&settings());
    let report = verify_bytes(&bytes, &load, &|model, settings, observer| {
        let mut push = Push(observer);
        Ok(run(model, settings, &mut push).into())
    })
    .unwrap();
    assert!(!report.ok);
    let difference = report.first_difference.unwrap();
    assert_eq!(difference.what, "state at t = 1.2 s, velocity.z of `lower, \"last\"`");
}

/// Moves one number by its last bit.
struct Push<'a>(&'a mut dyn Observer);

impl Observer for Push<'_> {
    fn sample(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        let mut copy = RecordedSample::new(sample);
        if sample.step == 240 {
            copy.state.s_dot[2].z = copy.state.s_dot[2].z.next_up();
        }
        self.0.sample(&copy.as_sample())
    }
    fn at(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        self.0.at(sample)
    }
    fn event(&mut self, event: &gelenk::model::Event) {
        self.0.event(event);
    }
    fn step(&mut self, t: f64) -> ControlFlow<()> {
        self.0.step(t)
    }
}

#[test]
fn another_model_under_the_same_name_is_named() {
    let bytes = record(&settings());
    let other = |_: &Header| {
        let mut model = double_pendulum();
        model.joints[1].name = "knee".to_owned();
        Ok(model)
    };
    let difference = verify_bytes(&bytes, &other, &engine).unwrap().first_difference.unwrap();
    assert_eq!(difference.what, "header, `joints`");
}

#[test]
fn another_version_is_said_and_data_compared() {
    let (model, settings) = (double_pendulum(), settings());
    let mut header = header(&model, &settings);
    header.gelenk = "0.0.9".to_owned();
    let mut bytes = Vec::new();
    let mut recorder = Recorder::new(&mut bytes, header).unwrap();
    let outcome = run(&model, &settings, &mut recorder);
    recorder.finish(outcome.as_ref()).unwrap();
    let report = check(&bytes);
    assert!(report.ok && report.version_differs());
    assert!(report.to_string().contains("recorded by gelenk 0.0.9"), "{report}");
}

#[test]
fn a_newer_format_is_refused() {
    let (model, settings) = (double_pendulum(), settings());
    let mut header = header(&model, &settings);
    header.format = 2;
    let mut bytes = Vec::new();
    drop(Recorder::new(&mut bytes, header).unwrap());
    assert!(matches!(
        Recording::from_bytes(bytes),
        Err(RecordingError::Newer { found: 2, known: 1 })
    ));
}

#[test]
fn settings_that_json_cannot_hold_are_refused() {
    let (model, mut settings) = (double_pendulum(), settings());
    settings.duration = f64::INFINITY;
    let error = Recorder::new(Vec::new(), header(&model, &settings)).unwrap_err();
    assert!(error.to_string().contains("finite"), "{error}");
}

/// Cut at every byte of a short recording and at many of a long one: all full blocks, and it says so.
#[test]
fn cut_anywhere_all_full_blocks_are_read() {
    let settings = RunSettings { duration: 0.5, ..settings() };
    let bytes = record(&settings);
    let whole: Vec<_> =
        Recording::from_bytes(bytes.clone()).unwrap().samples().map(Result::unwrap).collect();
    let mut seen = 0;
    let mut counts = Vec::new();
    for cut in (0..bytes.len()).step_by(37).chain(bytes.len() - 9..bytes.len()) {
        match Recording::from_bytes(bytes[..cut].to_vec()) {
            Ok(mut recording) => {
                assert!(recording.truncated(), "cut at {cut}");
                let samples: Vec<_> = recording.samples().map(Result::unwrap).collect();
                assert!(samples.len() >= seen, "cut at {cut} loses samples");
                assert_eq!(samples[..], whole[..samples.len()]);
                seen = samples.len();
                if counts.last() != Some(&seen) {
                    counts.push(seen);
                }
            }
            Err(error) => {
                assert_eq!(seen, 0);
                assert!(
                    matches!(error, RecordingError::NotARecording { .. }),
                    "cut at {cut}: {error}"
                );
            }
        }
    }
    assert_eq!(seen, whole.len());
    assert!(counts.len() >= 3, "one block after the other: {counts:?}");
    // A cut recording cannot be certified, but what is there is compared.
    let report = check(&bytes[..bytes.len() / 2]);
    assert!(!report.ok && report.first_difference.is_none(), "{report}");
    assert_eq!(report.same_bytes, bytes.len() as u64 / 2);
}

#[test]
fn a_recorder_that_is_dropped_leaves_what_it_has() {
    let (model, settings) = (double_pendulum(), settings());
    let mut bytes = Vec::new();
    let mut recorder = Recorder::new(&mut bytes, header(&model, &settings)).unwrap();
    run(&model, &settings, &mut recorder).unwrap();
    drop(recorder);
    let recording = Recording::from_bytes(bytes).unwrap();
    assert!(recording.truncated() && recording.certificate().is_none());
    assert_eq!(recording.n_samples(), 401);
}

/// Takes so many calls of `write`, then the disk is full.
struct FullDisk {
    calls: usize,
    bytes: Vec<u8>,
}

impl Write for FullDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.calls == 0 {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "no space left on device"));
        }
        self.calls -= 1;
        self.bytes.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink for FullDisk {}

#[test]
fn a_full_disk_at_any_call_stops_the_run_and_leaves_a_readable_file() {
    let (model, settings) = (double_pendulum(), settings());
    let mut failures = 0;
    for calls in 0.. {
        let mut disk = FullDisk { calls, bytes: Vec::new() };
        let recorder = Recorder::new(&mut disk, header(&model, &settings));
        let ended = recorder.and_then(|mut recorder| {
            let outcome = run(&model, &settings, &mut recorder);
            if recorder.error().is_some() {
                assert!(outcome.as_ref().unwrap().stopped);
            }
            recorder.finish(outcome.as_ref())
        });
        let Err(error) = ended else { break };
        failures += 1;
        assert!(error.is_io() && error.to_string().contains("no space left"), "{error}");
        match Recording::from_bytes(disk.bytes) {
            Ok(mut recording) => {
                assert!(recording.truncated());
                assert!(recording.samples().all(|sample| sample.is_ok()));
            }
            Err(error) => assert!(matches!(error, RecordingError::NotARecording { .. })),
        }
    }
    assert!(failures > 50, "{failures} calls");
}

#[test]
fn files_are_written_under_their_own_name_and_faults_name_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.mcap");
    let (model, settings) = (double_pendulum(), settings());
    let mut recorder = Recorder::create(&path, header(&model, &settings)).unwrap();
    let outcome = run(&model, &settings, &mut recorder);
    // What a kill at this moment would leave: every full block, without a call of ours.
    let before = Recording::open(&path).unwrap();
    assert!(before.truncated() && before.n_samples() > 300, "{before:?}");
    recorder.finish(outcome.as_ref()).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), record(&settings));
    assert!(verify(&path, &load, &engine).unwrap().ok);

    // A run that does not finish leaves the good recording alone, whether it fails or is dropped.
    let names = || {
        let mut names: Vec<_> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let good = std::fs::read(&path).unwrap();
    for dropped in [false, true] {
        let failing = RunSettings { tolerance: 2.0, ..settings.clone() };
        let mut recorder = Recorder::create(&path, header(&model, &failing)).unwrap();
        let kept = recorder.kept().unwrap();
        assert_eq!(kept.path(), folder.path().join("run-unfinished.mcap"));
        let outcome = run(&model, &failing, &mut recorder);
        if dropped {
            drop(recorder);
        } else {
            recorder.finish(outcome.as_ref()).unwrap();
        }
        assert_eq!(kept.path(), folder.path().join("run-failed.mcap"));
        assert_eq!(names(), ["run-failed.mcap", "run.mcap"]);
        assert!(std::fs::read(&path).unwrap() == good);
    }
    // One that finishes takes its place.
    let other = RunSettings { duration: 0.5, ..settings.clone() };
    let mut recorder = Recorder::create(&path, header(&model, &other)).unwrap();
    let outcome = run(&model, &other, &mut recorder);
    assert!(std::fs::read(&path).unwrap() == good, "not before its end");
    recorder.finish(outcome.as_ref()).unwrap();
    assert!(std::fs::read(&path).unwrap() == record(&other));
    assert_eq!(names(), ["run-failed.mcap", "run.mcap"]);

    let nowhere = folder.path().join("no/such/run.mcap");
    let error = Recorder::create(&nowhere, header(&model, &settings)).unwrap_err();
    assert!(error.is_io() && error.to_string().contains("run.mcap"), "{error}");
    assert!(Recording::open(&nowhere).unwrap_err().is_io());
    assert!(!Recording::open(folder.path()).unwrap_err().is_io());
}

fn short() -> Vec<u8> {
    record(&RunSettings { duration: 0.3, at: vec![0.1], ..settings() })
}

/// Reads all that can be read; what is read must be what was recorded.
fn read_all(bytes: Vec<u8>, whole: &[RecordedSample]) -> Option<Integrity> {
    let mut recording = Recording::from_bytes(bytes).ok()?;
    let samples: Vec<_> = recording.samples().map(Result::unwrap).collect();
    assert_eq!(samples[..], whole[..samples.len()]);
    assert!(recording.at_samples().all(|sample| sample.is_ok()));
    Some(recording.integrity().clone())
}

#[test]
fn every_flipped_bit_is_found() {
    let bytes = short();
    let whole: Vec<_> =
        Recording::from_bytes(bytes.clone()).unwrap().samples().map(Result::unwrap).collect();
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        if let Some(integrity) = read_all(flipped, &whole) {
            assert_ne!(integrity, Integrity::Complete, "byte {at}");
        }
    }
}

#[test]
fn a_flipped_bit_is_located() {
    let bytes = short();
    for at in (0..bytes.len()).step_by(101) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x10;
        if let Ok(report) = verify_bytes(&flipped, &load, &engine) {
            assert!(!report.ok);
            let difference = report.first_difference.unwrap();
            assert_eq!(difference.offset, at as u64, "{difference:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn garbage_never_passes_and_never_panics(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        cut in any::<prop::sample::Index>(),
        shorten in any::<bool>(),
    ) {
        let bytes = short();
        let whole: Vec<_> =
            Recording::from_bytes(bytes.clone()).unwrap().samples().map(Result::unwrap).collect();
        let mut changed = bytes.clone();
        for (at, value) in changes {
            let at = at.index(changed.len());
            changed[at] = value;
        }
        if shorten {
            changed.truncate(cut.index(changed.len()));
        }
        let same = changed == bytes;
        let integrity = read_all(changed, &whole);
        prop_assert_eq!(integrity == Some(Integrity::Complete), same);
    }

    #[test]
    fn random_bytes_are_no_recording(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let mut with_magic = b"\x89MCAP0\r\n".to_vec();
        with_magic.extend_from_slice(&bytes);
        prop_assert!(Recording::from_bytes(bytes).is_err());
        prop_assert!(Recording::from_bytes(with_magic).is_err());
    }
}

/// The child of the next test: records without end.
#[test]
#[ignore = "started by the next test"]
fn a_child_that_records_without_end() {
    let Ok(path) = std::env::var("GELENK_TEST_CHILD") else { return };
    let (model, settings) = (double_pendulum(), RunSettings { duration: 1e6, ..settings() });
    let mut recorder = Recorder::create(path, header(&model, &settings)).unwrap();
    let _ = run(&model, &settings, &mut recorder);
}

#[test]
fn after_kill_9_all_full_blocks_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("killed.mcap");
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_child_that_records_without_end", "--ignored"])
        .env("GELENK_TEST_CHILD", &path)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let length = || std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
    for _ in 0..1000 {
        if length() > 2_000_000 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let mut recording = Recording::open(&path).unwrap();
    assert!(recording.truncated() && recording.certificate().is_none());
    let n = recording.n_samples();
    assert!(n > 2000, "{n} samples");
    for (step, sample) in recording.samples().enumerate() {
        assert_eq!(sample.unwrap().step, step as u64);
    }
    // No more than a block is lost: 64 KiB of samples.
    let a_sample = length() / n;
    let lost = length() - n * a_sample;
    assert!(lost < 70_000, "{lost} bytes");
    let report = verify(&path, &load, &engine).unwrap();
    assert!(!report.ok && report.first_difference.is_none(), "{report}");
}

/// A container with right checksums around wrong content, made with the crate `mcap`.
fn forged(messages: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let options = mcap::WriteOptions::new().compression(None);
    let mut writer = options.create(io::Cursor::new(&mut bytes)).unwrap();
    let mut sequence = BTreeMap::new();
    for (topic, data) in messages {
        let id = writer.add_channel(0, topic, "json", &BTreeMap::default()).unwrap();
        let next: &mut u32 = sequence.entry(id).or_default();
        let header = mcap::records::MessageHeader {
            channel_id: id,
            sequence: *next,
            log_time: 0,
            publish_time: 0,
        };
        *next += 1;
        writer.write_to_known_channel(&header, data).unwrap();
    }
    writer.finish().unwrap();
    drop(writer);
    bytes
}

#[test]
fn wrong_content_with_right_checksums_is_refused() {
    let (model, settings) = (double_pendulum(), settings());
    let good = serde_json::to_vec(&header(&model, &settings)).unwrap();
    let open = |messages: &[(&str, Vec<u8>)]| Recording::from_bytes(forged(messages));
    // The forger's container is fine as such.
    let recording = open(&[("/header", good.clone())]).unwrap();
    assert_eq!((recording.integrity(), recording.n_samples()), (&Integrity::Complete, 0));
    assert!(open(&[("/chat", b"hello".to_vec())]).is_err());
    assert!(open(&[("/header", b"{}".to_vec())]).is_err());
    assert!(open(&[("/header", br#"{"format":1e99}"#.to_vec())]).is_err());
    assert!(open(&[("/header", b"[[[".repeat(10_000))]).is_err());
    let damaged = open(&[("/header", good.clone()), ("/event", b"{}".to_vec())]).unwrap();
    assert!(matches!(damaged.integrity(), Integrity::Damaged { .. }));
    let mut wrong = open(&[("/header", good), ("/state", vec![9, 9, 9])]).unwrap();
    assert_eq!(wrong.n_samples(), 1);
    assert!(matches!(wrong.samples().next(), Some(Err(RecordingError::Damaged { .. }))));
    assert_eq!(wrong.samples().count(), 1);
}

proptest! {
    #[test]
    fn any_state_message_is_read_or_refused(data in prop::collection::vec(any::<u8>(), 0..300)) {
        let (model, settings) = (double_pendulum(), settings());
        let good = serde_json::to_vec(&header(&model, &settings)).unwrap();
        let mut recording =
            Recording::from_bytes(forged(&[("/header", good), ("/state", data)])).unwrap();
        prop_assert!(recording.samples().all(|sample| sample.is_err()));
    }
}
