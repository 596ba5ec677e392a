//! The published values, from the files in `reference/`.

/// A table of numbers: what its rows and columns stand for, and the values.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Published {
    /// Column names, without that of the first column.
    pub(super) columns: Vec<&'static str>,
    /// First column (h or t, s) and the values beside it.
    pub(super) rows: Vec<(f64, Vec<f64>)>,
}

macro_rules! published {
    ($($name:ident: $file:literal;)*) => {
        $(
            #[doc = concat!("`reference/", $file, "`")]
            pub(super) fn $name() -> Published {
                read(include_str!(concat!("../../../../reference/", $file)))
            }
        )*
    };
}

published! {
    table_9_1: "schmitt-2003-table-9-1.csv";
    table_9_2: "schmitt-2003-table-9-2.csv";
    table_9_3: "schmitt-2003-table-9-3.csv";
    table_9_4: "schmitt-2003-table-9-4.csv";
    table_9_5: "schmitt-2003-table-9-5.csv";
    table_10_1: "schmitt-2003-table-10-1.csv";
}

/// Reads lines of numbers below a line of names; lines that begin with # are remarks.
fn read(text: &'static str) -> Published {
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let columns = lines.next().unwrap_or_default().split(',').skip(1).collect();
    let rows = lines.map(|line| {
        let mut numbers = line.split(',').map(|n| n.parse().unwrap_or(f64::NAN));
        (numbers.next().unwrap_or(f64::NAN), numbers.collect())
    });
    Published { columns, rows: rows.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_hold_whole_tables() {
        for (table, rows, columns) in [
            (table_9_1(), 9, 2),
            (table_9_2(), 8, 6),
            (table_9_3(), 8, 6),
            (table_9_4(), 8, 6),
            (table_9_5(), 10, 2),
            (table_10_1(), 7, 2),
        ] {
            assert_eq!((table.rows.len(), table.columns.len()), (rows, columns));
            for (at, values) in &table.rows {
                assert_eq!(values.len(), columns);
                assert!(at.is_finite() && values.iter().all(|v| v.is_finite()));
            }
        }
    }

    /// Table 9.3 is table 9.2 over h: a typing error in either shows.
    #[test]
    fn tables_9_2_and_9_3_are_the_same_count() {
        for ((h, steps), (_, seconds)) in table_9_2().rows.iter().zip(table_9_3().rows) {
            for (step, second) in steps.iter().zip(seconds) {
                let off = step / h / second - 1.0;
                assert!(off.abs() < 6e-4, "h = {h}: {step} a step, {second} a second");
            }
        }
    }
}
