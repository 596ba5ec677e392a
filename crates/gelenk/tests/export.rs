//! Tables and JSON: the same numbers everywhere, and the ones that mechanics says.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::ops::ControlFlow;

use gelenk::export::{Columns, ExportError, sample_json, write_csv, write_parquet};
use gelenk::model::{Builder, Model, Observer, Sample};
use gelenk::recording::{RecordedSample, RecordingError};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
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

fn given(
    samples: &[RecordedSample],
) -> impl Iterator<Item = Result<RecordedSample, RecordingError>> {
    samples.iter().cloned().map(Ok)
}

/// The hung rods in closed form: φ = 0.8 cos 3t of the upper one, ψ = 0.5 sin 2t of the lower one.
#[test]
fn the_numbers_are_those_of_the_motion_in_the_file_frame() {
    let model = double_pendulum();
    let samples = samples(&model);
    let sample = &samples[100];
    let t = sample.state.t;
    let json = sample_json(&model, &sample.as_sample());
    let number = |path: &str| json.pointer(path).unwrap().as_f64().unwrap();
    let close = |path: &str, value: f64| {
        assert!((number(path) - value).abs() < 1e-14, "{path}: {} and {value}", number(path));
    };
    let (phi, phi_dot) = (0.8 * (3.0 * t).cos(), -2.4 * (3.0 * t).sin());
    let psi = 0.5 * (2.0 * t).sin();
    assert!((number("/time") - 0.5).abs() < 1e-15);
    // The file frame of `upper` sits in the shoulder; the one of the lower rod in the elbow, at (−sin φ, 0, −cos φ).
    for axis in 0..3 {
        close(&format!("/bodies/upper/position/{axis}"), 0.0);
        close(&format!("/bodies/upper/velocity/{axis}"), 0.0);
    }
    close("/bodies/upper/rotation/0", (phi / 2.0).cos());
    close("/bodies/upper/rotation/2", (phi / 2.0).sin());
    close("/bodies/upper/angular_velocity/1", phi_dot);
    close("/bodies/lower, \"last\"/position/0", -phi.sin());
    close("/bodies/lower, \"last\"/position/2", -phi.cos());
    close("/bodies/lower, \"last\"/velocity/0", -phi.cos() * phi_dot);
    close("/markers/tip/position/0", -phi.sin() - psi.sin());
    close("/points/bead/velocity/2", -9.81 * t);
    close("/joints/shoulder/coordinate", phi);
    close("/joints/shoulder/velocity", phi_dot);
    close("/joints/shoulder/angle", phi);
    close("/joints/shoulder/rate", phi_dot);
    close("/joints/elbow/force/1", 1.0);
    close("/joints/elbow/torque/1", -t);
    assert!(json["joints"]["elbow"]["coordinate"].is_null());
    assert!(json["bodies"].get("world").is_none());
}

#[test]
fn csv_reads_back_to_the_bit() {
    let model = double_pendulum();
    let samples = samples(&model);
    let mut bytes = Vec::new();
    assert_eq!(write_csv(&model, given(&samples), &mut bytes).unwrap(), 401);
    let mut reader = csv::Reader::from_reader(&bytes[..]);
    let names: Vec<_> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    assert_eq!(names[..2], ["time [s]", "body.upper.position.x [m]"]);
    assert!(names.contains(&"body.lower, \"last\".rotation.w".to_owned()));
    assert!(names.contains(&"joint.shoulder.angle [rad]".to_owned()));
    assert!(names.contains(&"joint.elbow.torque.z [N m]".to_owned()));
    assert!(names.contains(&"energy.error [J]".to_owned()));
    assert_eq!(names.last().unwrap(), "gap.elbow [m]");
    let (mut columns, mut row) = (Columns::new(&model), Vec::new());
    for (sample, record) in samples.iter().zip(reader.records()) {
        columns.row(&sample.as_sample(), &mut row).unwrap();
        let read: Vec<f64> = record.unwrap().iter().map(|text| text.parse().unwrap()).collect();
        assert_eq!(read.len(), row.len());
        assert!(read.iter().zip(&row).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
}

#[test]
fn parquet_holds_the_same_table() {
    let model = double_pendulum();
    let samples = samples(&model);
    let mut bytes = Vec::new();
    assert_eq!(write_parquet(&model, given(&samples), &mut bytes).unwrap(), 401);
    let mut again = Vec::new();
    write_parquet(&model, given(&samples), &mut again).unwrap();
    assert_eq!(bytes, again);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &bytes).unwrap();
    let reader = SerializedFileReader::new(std::fs::File::open(file.path()).unwrap()).unwrap();
    let mut columns = Columns::new(&model);
    let metadata = reader.metadata().file_metadata();
    let names: Vec<_> =
        metadata.schema_descr().columns().iter().map(|column| column.name().to_owned()).collect();
    let expected: Vec<_> = columns.columns().iter().map(ToString::to_string).collect();
    assert_eq!(names, expected);
    let mut row = Vec::new();
    let mut n = 0;
    for (sample, read) in samples.iter().zip(reader.get_row_iter(None).unwrap()) {
        columns.row(&sample.as_sample(), &mut row).unwrap();
        let read = read.unwrap();
        assert!((0..row.len()).all(|i| read.get_double(i).unwrap().to_bits() == row[i].to_bits()));
        n += 1;
    }
    assert_eq!(n, 401);
}

#[test]
fn samples_of_another_model_are_refused() {
    let other = Builder::new("other").finish();
    let samples = samples(&double_pendulum());
    let error = write_csv(&other, given(&samples), Vec::new()).unwrap_err();
    assert!(matches!(&error, ExportError::OtherModel { .. }) && !error.is_io(), "{error}");
}

#[test]
fn a_full_disk_is_an_error() {
    let model = double_pendulum();
    let samples = samples(&model);
    let mut small = [0; 5000];
    assert!(write_csv(&model, given(&samples), &mut small[..]).unwrap_err().is_io());
    let mut small = [0; 5000];
    assert!(
        write_parquet(&model, given(&samples), std::io::Cursor::new(&mut small[..]))
            .unwrap_err()
            .is_io()
    );
}
