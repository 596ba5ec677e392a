//! How control numbers pass from stage to stage.

use nalgebra::DMatrix;

/// How controls may change over the grid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ControlKind {
    /// One value an interval.
    #[default]
    Constant,
    /// Lines that meet at the nodes.
    Continuous,
    /// Lines that may jump at the nodes.
    Jumping,
}

impl ControlKind {
    /// Whether the motion takes two numbers a control and interval, at start and end.
    pub fn is_linear(self) -> bool {
        self != ControlKind::Constant
    }
}

/// The control numbers of one stage: those carried over from the stage before, then fresh ones.
#[derive(Clone, Debug)]
pub(crate) struct ControlStage {
    pub(crate) carried: usize,
    pub(crate) fresh: usize,
    /// The motion's control numbers = this · (carried, fresh).
    pub(crate) to_motion: DMatrix<f64>,
    /// What the next stage carries = this · (carried, fresh).
    pub(crate) pass: DMatrix<f64>,
    /// Differences whose squares smoothness punishes = this · (carried, fresh).
    pub(crate) changes: DMatrix<f64>,
}

/// Stages of `intervals` intervals with m controls; every `refine` of them share one piece of control. `smooth` asks for the changes.
pub(crate) fn control_stages(
    kind: ControlKind,
    m: usize,
    intervals: usize,
    refine: usize,
    smooth: bool,
) -> Vec<ControlStage> {
    let unit = DMatrix::<f64>::identity(m, m);
    let none = DMatrix::<f64>::zeros(0, 0);
    // The carried numbers of stage k; at the last node those that arrive.
    let carried = |k: usize| -> usize {
        let inside = !k.is_multiple_of(refine);
        match kind {
            _ if k == 0 => 0,
            ControlKind::Constant if inside || smooth => m,
            ControlKind::Constant => 0,
            ControlKind::Continuous if inside => 2 * m,
            ControlKind::Continuous => m,
            ControlKind::Jumping if inside => 2 * m,
            ControlKind::Jumping => 0,
        }
    };
    let mut stages = Vec::with_capacity(intervals + 1);
    for k in 0..=intervals {
        let (n_carried, n_next) = (carried(k), if k < intervals { carried(k + 1) } else { 0 });
        if k == intervals {
            let to_motion = DMatrix::zeros(0, n_carried);
            let pass = DMatrix::zeros(0, n_carried);
            let changes = DMatrix::zeros(0, n_carried);
            stages.push(ControlStage { carried: n_carried, fresh: 0, to_motion, pass, changes });
            continue;
        }
        let (j, inside) = (k % refine, !k.is_multiple_of(refine));
        // Columns that hold the value at the start and at the end of the piece.
        let (n_fresh, start, end) = match kind {
            ControlKind::Constant if inside => (0, 0, 0),
            ControlKind::Constant => (m, n_carried, n_carried),
            ControlKind::Continuous | ControlKind::Jumping if inside => (0, 0, m),
            ControlKind::Continuous if k > 0 => (m, 0, m),
            ControlKind::Continuous | ControlKind::Jumping => (2 * m, 0, m),
        };
        let width = n_carried + n_fresh;
        let place = |rows: &mut DMatrix<f64>, row: usize, column: usize, factor: f64| {
            let mut view = rows.view_mut((row, column), (m, m));
            view += &unit * factor;
        };
        let mut to_motion = DMatrix::zeros(if kind.is_linear() { 2 * m } else { m }, width);
        if kind.is_linear() {
            for (row, part) in [(0, j), (m, j + 1)] {
                let share = part as f64 / refine as f64;
                place(&mut to_motion, row, start, 1.0 - share);
                place(&mut to_motion, row, end, share);
            }
        } else {
            place(&mut to_motion, 0, start, 1.0);
        }
        let mut pass = DMatrix::zeros(n_next, width);
        let next_inside = !(k + 1).is_multiple_of(refine);
        match kind {
            _ if n_next == 0 => {}
            ControlKind::Constant => place(&mut pass, 0, start, 1.0),
            _ if next_inside => {
                place(&mut pass, 0, start, 1.0);
                place(&mut pass, m, end, 1.0);
            }
            _ => place(&mut pass, 0, end, 1.0),
        }
        let mut changes = none.clone().resize(0, width, 0.0);
        if smooth && !inside && m > 0 {
            if kind.is_linear() {
                changes = DMatrix::zeros(m, width);
                place(&mut changes, 0, start, -1.0);
                place(&mut changes, 0, end, 1.0);
            } else if k > 0 {
                changes = DMatrix::zeros(m, width);
                place(&mut changes, 0, 0, -1.0);
                place(&mut changes, 0, start, 1.0);
            }
        }
        stages.push(ControlStage { carried: n_carried, fresh: n_fresh, to_motion, pass, changes });
    }
    stages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_shared_and_meet() {
        // One control, two pieces of two intervals each: (a, b) at stage 0, carried at 1, then (b carried, c fresh).
        let stages = control_stages(ControlKind::Continuous, 1, 4, 2, false);
        let sizes: Vec<_> = stages.iter().map(|s| (s.carried, s.fresh)).collect();
        assert_eq!(sizes, [(0, 2), (2, 0), (1, 1), (2, 0), (1, 0)]);
        let piece = nalgebra::DVector::from_vec(vec![1.0, 3.0]);
        assert_eq!((&stages[0].to_motion * &piece).as_slice(), [1.0, 2.0]);
        assert_eq!((&stages[1].to_motion * &piece).as_slice(), [2.0, 3.0]);
        assert_eq!((&stages[1].pass * &piece).as_slice(), [3.0]);
        let stages = control_stages(ControlKind::Constant, 1, 2, 1, true);
        let sizes: Vec<_> = stages.iter().map(|s| (s.carried, s.fresh)).collect();
        assert_eq!(sizes, [(0, 1), (1, 1), (1, 0)]);
        assert_eq!((&stages[1].changes * &piece).as_slice(), [2.0]);
    }
}
