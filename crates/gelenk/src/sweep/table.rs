//! The table of a sweep, as Parquet.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use super::{Plan, Row};
use crate::export::ExportError;
use crate::files::{self, Kind, WriteError};

/// Rows of a row group.
const ROWS_A_GROUP: usize = 1 << 16;
/// Rows of a file; a table with more is a folder of files.
const ROWS_A_FILE: usize = 1_000_000;

/// Writes rows as Parquet: `member`, what is varied, what is kept, `verdict`, `error`, `time` and `steps`.
///
/// What is kept and `error` may be null. The bytes depend on the plan and the rows alone.
pub fn write_table(plan: &Plan, rows: &[Row], out: impl Write + Send) -> Result<(), ExportError> {
    parquet(plan, rows, out).map_err(|error| ExportError::Parquet(error.to_string()))
}

/// Writes the table to a file; one of more than a million rows to a folder of files.
pub fn write_table_file(
    plan: &Plan,
    rows: &[Row],
    path: &Path,
    overwrite: bool,
) -> Result<(), WriteError<ExportError>> {
    if rows.len() <= ROWS_A_FILE {
        return files::write_with(path, Kind::Parquet, overwrite, |file| {
            write_table(plan, rows, file)
        });
    }
    files::check(path, Kind::Parquet, overwrite).map_err(WriteError::Refused)?;
    let io = |error: io::Error| WriteError::Failed(ExportError::from(error));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let folder = path.with_file_name(format!(".{name}.{}.part", std::process::id()));
    fs::create_dir(&folder).map_err(io)?;
    for (i, part) in rows.chunks(ROWS_A_FILE).enumerate() {
        let file = folder.join(format!("part-{i:05}.parquet"));
        files::write_with(&file, Kind::Parquet, false, |file| write_table(plan, part, file))?;
    }
    fs::rename(&folder, path).map_err(io)
}

fn parquet(plan: &Plan, rows: &[Row], out: impl Write + Send) -> Result<(), ParquetError> {
    let field = |name: &str, kind: PhysicalType, required: bool| {
        let how = if required { Repetition::REQUIRED } else { Repetition::OPTIONAL };
        let text = (kind == PhysicalType::BYTE_ARRAY).then_some(LogicalType::String);
        let field = Type::primitive_type_builder(name, kind).with_repetition(how);
        field.with_logical_type(text).build().map(Arc::new)
    };
    let mut fields = vec![field("member", PhysicalType::INT64, true)?];
    for vary in &plan.vary {
        fields.push(field(&vary.what.column(), PhysicalType::DOUBLE, true)?);
    }
    for keep in &plan.keep {
        fields.push(field(&keep.name, PhysicalType::DOUBLE, false)?);
    }
    fields.push(field("verdict", PhysicalType::BYTE_ARRAY, true)?);
    fields.push(field("error", PhysicalType::BYTE_ARRAY, false)?);
    fields.push(field("time", PhysicalType::DOUBLE, true)?);
    fields.push(field("steps", PhysicalType::INT64, true)?);
    let schema = Type::group_type_builder("members").with_fields(fields).build()?;
    let note = |key: &str, value: &str| KeyValue::new(key.to_owned(), value.to_owned());
    let properties = WriterProperties::builder()
        .set_created_by(format!("gelenk {}", crate::VERSION))
        .set_dictionary_enabled(false)
        .set_key_value_metadata(Some(vec![
            note("gelenk.sweep", &plan.name),
            note("gelenk.model", &plan.model.model),
        ]))
        .build();
    let mut file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
    for group in rows.chunks(ROWS_A_GROUP) {
        write_group(plan, group, &mut file)?;
    }
    file.close()?;
    Ok(())
}

fn write_group<W: Write + Send>(
    plan: &Plan,
    rows: &[Row],
    file: &mut SerializedFileWriter<W>,
) -> Result<(), ParquetError> {
    let text = |text: &str| ByteArray::from(text.as_bytes().to_vec());
    let whole = |x: u64| i64::try_from(x).unwrap_or(i64::MAX);
    let mut group = file.next_row_group()?;
    let mut column = 0;
    let varied: Vec<Vec<f64>> = rows.iter().map(|row| plan.values(row.member)).collect();
    let (n_vary, n_keep) = (plan.vary.len(), plan.keep.len());
    while let Some(mut out) = group.next_column()? {
        match column {
            0 => {
                let list: Vec<i64> = rows.iter().map(|row| whole(row.member)).collect();
                out.typed::<Int64Type>().write_batch(&list, None, None)?;
            }
            i if i <= n_vary => {
                let list: Vec<f64> = varied.iter().map(|values| values[i - 1]).collect();
                out.typed::<DoubleType>().write_batch(&list, None, None)?;
            }
            i if i <= n_vary + n_keep => {
                let k = i - n_vary - 1;
                let there: Vec<Option<f64>> =
                    rows.iter().map(|row| row.results.get(k).copied()).collect();
                let levels: Vec<i16> = there.iter().map(|x| i16::from(x.is_some())).collect();
                let list: Vec<f64> = there.into_iter().flatten().collect();
                out.typed::<DoubleType>().write_batch(&list, Some(&levels), None)?;
            }
            i => match i - n_vary - n_keep {
                1 => {
                    let list: Vec<ByteArray> = rows.iter().map(|row| text(&row.verdict)).collect();
                    out.typed::<ByteArrayType>().write_batch(&list, None, None)?;
                }
                2 => {
                    let levels: Vec<i16> =
                        rows.iter().map(|row| i16::from(row.error.is_some())).collect();
                    let list: Vec<ByteArray> =
                        rows.iter().filter_map(|row| row.error.as_deref()).map(text).collect();
                    out.typed::<ByteArrayType>().write_batch(&list, Some(&levels), None)?;
                }
                3 => {
                    let list: Vec<f64> = rows.iter().map(|row| row.time).collect();
                    out.typed::<DoubleType>().write_batch(&list, None, None)?;
                }
                _ => {
                    let list: Vec<i64> = rows.iter().map(|row| whole(row.steps)).collect();
                    out.typed::<Int64Type>().write_batch(&list, None, None)?;
                }
            },
        }
        out.close()?;
        column += 1;
    }
    group.close()?;
    Ok(())
}
