//! CSV: a line of names with units, then a line a sample.

use std::io::Write;

use gelenk_model::Model;

use super::{Columns, ExportError};
use crate::recording::{RecordedSample, RecordingError};

/// Writes samples as CSV (RFC 4180); gives the number of rows.
///
/// Numbers have as many digits as it takes to read the same bits back. Names are quoted where they hold commas,
/// quotes or line ends.
pub fn write_csv(
    model: &Model,
    samples: impl IntoIterator<Item = Result<RecordedSample, RecordingError>>,
    writer: impl Write,
) -> Result<u64, ExportError> {
    let mut columns = Columns::new(model);
    let mut csv = csv::Writer::from_writer(writer);
    csv.write_record(columns.columns().iter().map(ToString::to_string)).map_err(write_error)?;
    let (mut row, mut n) = (Vec::new(), 0);
    for sample in samples {
        columns.row(&sample?.as_sample(), &mut row)?;
        csv.write_record(row.iter().map(|value| format!("{value:?}"))).map_err(write_error)?;
        n += 1;
    }
    csv.flush()?;
    Ok(n)
}

fn write_error(error: csv::Error) -> ExportError {
    ExportError::Write(match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => std::io::Error::other(format!("{other:?}")),
    })
}
