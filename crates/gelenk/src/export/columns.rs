//! The columns of a table: one row a sample.

use gelenk_model::{Model, Sample};

use super::ExportError;
use crate::quantity::{Quantities, Quantity, Reader};

/// A column: what it holds and in which unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// `body.upper.position.x`
    pub name: String,
    /// `m`, or empty where the number has no unit.
    pub unit: &'static str,
}

impl std::fmt::Display for Column {
    /// `body.upper.position.x [m]`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.unit {
            "" => write!(f, "{}", self.name),
            unit => write!(f, "{} [{unit}]", self.name),
        }
    }
}

/// Turns samples of a model into rows of numbers.
#[derive(Debug)]
pub struct Columns<'m> {
    model: &'m Model,
    all: Vec<Column>,
    wanted: Vec<Quantity>,
    reader: Reader,
}

impl<'m> Columns<'m> {
    /// The columns of a model: all its [quantities](Quantities), in their order.
    pub fn new(model: &'m Model) -> Self {
        let quantities = Quantities::new(model);
        let wanted = quantities.list();
        let columns = quantities.names.into_iter().zip(quantities.units);
        let all = columns.map(|(name, unit)| Column { name, unit }).collect();
        Columns { model, all, wanted, reader: Reader::new(model) }
    }

    /// The columns in order.
    pub fn columns(&self) -> &[Column] {
        &self.all
    }

    /// Writes the numbers of a sample. (columns)
    pub fn row(&mut self, sample: &Sample<'_>, row: &mut Vec<f64>) -> Result<(), ExportError> {
        check(self.model, sample)?;
        row.clear();
        self.reader.read(self.model, sample, &self.wanted, row);
        debug_assert_eq!(row.len(), self.all.len());
        Ok(())
    }
}

/// Refuses samples whose lists are not as long as the model's.
pub(super) fn check(model: &Model, sample: &Sample<'_>) -> Result<(), ExportError> {
    let state = sample.state;
    let n = model.n_bodies();
    for (what, found, expected) in [
        ("bodies", state.s.len(), n),
        ("velocities", state.s_dot.len(), n),
        ("rotations", state.rot.len(), n),
        ("angular velocities", state.omega.len(), n),
        ("joint coordinates", state.coordinate.len(), model.n_coordinates()),
        ("joint reactions", sample.reactions.len(), model.joints.len()),
        ("gaps", sample.worst_gaps.len(), model.rows.len()),
    ] {
        if found != expected {
            return Err(ExportError::OtherModel {
                model: model.name.clone(),
                what: format!("{found} {what} instead of {expected}"),
            });
        }
    }
    Ok(())
}
