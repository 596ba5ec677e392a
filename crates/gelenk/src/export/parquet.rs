//! Parquet: the same columns, for data frames.

use std::io::Write;
use std::sync::Arc;

use gelenk_model::Model;
use parquet::basic::{Repetition, Type as PhysicalType};
use parquet::data_type::DoubleType;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use super::{Columns, ExportError};
use crate::recording::{RecordedSample, RecordingError};

/// Numbers that are kept in memory before they are written as a row group.
const NUMBERS_A_GROUP: usize = 1 << 22;

/// Writes samples as Parquet, uncompressed, one required double column each; gives the number of rows.
///
/// The names and their order are those of [`write_csv`](super::write_csv), units included. The file's metadata hold
/// the model's name as `gelenk.model`.
pub fn write_parquet(
    model: &Model,
    samples: impl IntoIterator<Item = Result<RecordedSample, RecordingError>>,
    writer: impl Write + Send,
) -> Result<u64, ExportError> {
    let mut columns = Columns::new(model);
    let mut fields = Vec::new();
    for column in columns.columns() {
        let field = Type::primitive_type_builder(&column.to_string(), PhysicalType::DOUBLE)
            .with_repetition(Repetition::REQUIRED)
            .build()
            .map_err(|error| parquet_error(&error))?;
        fields.push(Arc::new(field));
    }
    let schema = Type::group_type_builder("samples")
        .with_fields(fields)
        .build()
        .map_err(|error| parquet_error(&error))?;
    let properties = WriterProperties::builder()
        .set_created_by(format!("gelenk {}", crate::VERSION))
        .set_dictionary_enabled(false)
        .set_key_value_metadata(Some(vec![KeyValue::new(
            "gelenk.model".to_owned(),
            model.name.clone(),
        )]))
        .build();
    let mut file = SerializedFileWriter::new(writer, Arc::new(schema), Arc::new(properties))
        .map_err(|error| parquet_error(&error))?;

    let n_columns = columns.columns().len();
    let rows_a_group = (NUMBERS_A_GROUP / n_columns).max(1);
    let mut group: Vec<Vec<f64>> = vec![Vec::new(); n_columns];
    let (mut row, mut n) = (Vec::new(), 0);
    for sample in samples {
        columns.row(&sample?.as_sample(), &mut row)?;
        for (column, &value) in group.iter_mut().zip(&row) {
            column.push(value);
        }
        n += 1;
        if group.first().is_some_and(|column| column.len() >= rows_a_group) {
            write_group(&mut file, &mut group).map_err(|error| parquet_error(&error))?;
        }
    }
    write_group(&mut file, &mut group).map_err(|error| parquet_error(&error))?;
    file.close().map_err(|error| parquet_error(&error))?;
    Ok(n)
}

/// Writes the rows kept so far and forgets them.
fn write_group<W: Write + Send>(
    file: &mut SerializedFileWriter<W>,
    group: &mut [Vec<f64>],
) -> Result<(), ParquetError> {
    if group.iter().all(Vec::is_empty) {
        return Ok(());
    }
    let mut writer = file.next_row_group()?;
    for column in group {
        if let Some(mut out) = writer.next_column()? {
            out.typed::<DoubleType>().write_batch(column, None, None)?;
            out.close()?;
        }
        column.clear();
    }
    writer.close()?;
    Ok(())
}

fn parquet_error(error: &ParquetError) -> ExportError {
    ExportError::Parquet(error.to_string())
}
