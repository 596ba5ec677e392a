//! The tables as a picture.

use super::Table;
use crate::plot::Plot;

/// Draws the most telling of the tables: energy error, corrections, period or deviation against the step, on logarithmic axes,
/// ours with points, the paper's as lines. `None` if none of them is there.
pub fn plot_svg(tables: &[Table]) -> Option<String> {
    let number = ["9.4", "9.2", "9.3", "9.1", "10.1"];
    let table = number.iter().find_map(|number| tables.iter().find(|t| t.number == *number))?;
    let mut plot = Plot::new(&format!("Table {}: {}", table.number, table.title))
        .size(860.0, 560.0)
        .x_axis("h", "s")
        .y_axis(if table.column_name.is_empty() { &table.columns[0] } else { "" }, table.unit)
        .log_log();
    // Every second column is enough to read.
    for column in (0..table.columns.len()).step_by(2) {
        let of = |name: &str| match table.column_name {
            "" => name.to_owned(),
            _ => format!("{name}, {} m", table.columns[column]),
        };
        let points = |value: &dyn Fn(&super::Cell) -> f64| -> Vec<(f64, f64)> {
            table.rows.iter().map(|row| (row.at, value(&row.cells[column]))).collect()
        };
        plot = plot.marks(&of("ours"), points(&|cell| cell.ours));
        plot = plot.line(&of("paper"), points(&|cell| cell.paper));
    }
    Some(plot.to_svg())
}
