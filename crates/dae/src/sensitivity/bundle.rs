//! The trajectory with its derivatives or its neighbours, as one system of differential equations.

use gelenk_expr::LANES;
use gelenk_model::joint::JointId;
use gelenk_model::rows::RowKind;
use gelenk_model::variation::Variation;
use gelenk_ode::{Direction as Crossing, Failure, System};
use nalgebra::DMatrix;

use super::{Derivatives, EPSILON};
use crate::equations::{Equations, Mode, instant};
use crate::switch::Switches;
use crate::tangent::{Direction, Tangents};

/// A moment, s: long beside rounding, short beside any motion.
const MOMENT: f64 = 1e-8;

/// What a column is the derivative by.
pub(super) enum Column<'m> {
    /// A direction of the start.
    Start,
    /// An input.
    Input(usize),
    /// A parameter.
    Parameter(Box<Parameter<'m>>),
}

/// A parameter by which is differentiated.
pub(super) struct Parameter<'m> {
    /// The equations with a larger and a smaller value.
    pub(super) pair: [Equations<'m>; 2],
    /// By how much larger and smaller.
    pub(super) step: f64,
    /// The model's numbers with their derivatives, and the lane of this parameter.
    pub(super) exact: Option<(&'m Variation, usize)>,
}

impl<'m> Column<'m> {
    /// The model's numbers with their derivatives, where they are exact.
    fn variation(&self) -> Option<&'m Variation> {
        match self {
            Column::Parameter(parameter) => parameter.exact.map(|(variation, _)| variation),
            _ => None,
        }
    }
}

/// Columns that are differentiated at once: those of a variation, or up to [`LANES`] others.
fn groups<'m>(columns: &[Column<'m>]) -> Vec<(Option<&'m Variation>, std::ops::Range<usize>)> {
    let mut list: Vec<(Option<&'m Variation>, std::ops::Range<usize>)> = Vec::new();
    for (k, column) in columns.iter().enumerate() {
        let variation = column.variation();
        let same = |other: Option<&'m Variation>| match (other, variation) {
            (Some(a), Some(b)) => std::ptr::eq(a, b),
            (None, None) => true,
            _ => false,
        };
        match list.last_mut() {
            Some((other, range)) if same(*other) && range.len() < LANES => range.end = k + 1,
            _ => list.push((variation, k..k + 1)),
        }
    }
    list
}

/// The main trajectory; beside it the columns themselves (exact), or a neighbour on each side for each (internal differences).
pub(super) struct Bundle<'m> {
    pub(super) kind: Derivatives,
    pub(super) equations: Equations<'m>,
    pub(super) switches: Switches,
    pub(super) tolerance: f64,
    pub(super) columns: Vec<Column<'m>>,
    /// Columns are these times half of what neighbours are apart. (columns)
    pub(super) scale: Vec<f64>,
    /// Length of y of one trajectory.
    pub(super) n: usize,
    pub(super) tangents: Tangents,
}

impl<'m> Bundle<'m> {
    /// Calls `f` with the equations of column `k` on a side (0: larger, 1: smaller), `step` away.
    pub(super) fn beside<R>(
        &mut self,
        k: usize,
        side: usize,
        step: f64,
        f: impl FnOnce(&mut Equations<'m>, &mut Switches) -> R,
    ) -> R {
        let change = if side == 0 { step } else { -step };
        match &mut self.columns[k] {
            Column::Start => f(&mut self.equations, &mut self.switches),
            Column::Input(i) => {
                let held = self.equations.work.held[*i];
                self.equations.work.held[*i] = held + change;
                let result = f(&mut self.equations, &mut self.switches);
                self.equations.work.held[*i] = held;
                result
            }
            Column::Parameter(parameter) => f(&mut parameter.pair[side], &mut self.switches),
        }
    }

    /// Equations with other parameters do what those of the main trajectory do, and count joint coordinates on from the same place.
    pub(super) fn follow(&mut self) {
        for column in &mut self.columns {
            if let Column::Parameter(parameter) = column {
                for other in &mut parameter.pair {
                    other.follow(&self.equations);
                }
            }
        }
    }

    /// Until the next event all make the choices (`if`, `min`, ...) of a moment after t: at a corner itself rounding would choose.
    pub(super) fn choose(&mut self, t: f64, y: &[f64]) {
        if self.equations.model.signals.n_kinks() == 0 {
            return;
        }
        self.equations.guide = None;
        let mut rates = vec![0.0; y.len()];
        self.equations.rates(t, y, &mut rates);
        let after: Vec<f64> = y.iter().zip(&rates).map(|(y, rate)| y + MOMENT * rate).collect();
        self.equations.read(t + MOMENT, &after);
        self.equations.guide = Some(self.equations.signal_inputs(t + MOMENT));
        self.equations.read(t, y);
        for column in &mut self.columns {
            if let Column::Parameter(parameter) = column {
                for other in &mut parameter.pair {
                    other.guide.clone_from(&self.equations.guide);
                }
            }
        }
    }

    /// The columns in y of all. (n × columns)
    pub(super) fn read(&self, all: &[f64]) -> DMatrix<f64> {
        let n = self.n;
        DMatrix::from_fn(n, self.columns.len(), |i, k| match self.kind {
            Derivatives::Exact => all[(1 + k) * n + i],
            Derivatives::Internal => {
                0.5 * self.scale[k] * (all[(1 + 2 * k) * n + i] - all[(2 + 2 * k) * n + i])
            }
        })
    }

    /// Puts columns into y of all, neighbours at their proper distance.
    pub(super) fn write(&mut self, all: &mut [f64], found: &DMatrix<f64>) {
        let n = self.n;
        for k in 0..self.columns.len() {
            if self.kind == Derivatives::Exact {
                for i in 0..n {
                    all[(1 + k) * n + i] = found[(i, k)];
                }
                continue;
            }
            // A parameter's neighbours are as far as its two values.
            if !matches!(self.columns[k], Column::Parameter(..)) {
                self.scale[k] = found.column(k).amax().max(1e-3) / EPSILON;
            }
            for i in 0..n {
                let step = found[(i, k)] / self.scale[k];
                all[(1 + 2 * k) * n + i] = all[i] + step;
                all[(2 + 2 * k) * n + i] = all[i] - step;
            }
        }
    }

    /// Length of y of all.
    fn length(&self) -> usize {
        let each = if self.kind == Derivatives::Exact { 1 } else { 2 };
        self.n * (1 + each * self.columns.len())
    }

    /// ẇ = (∂f/∂y) w + ∂f/∂u for all columns.
    fn columns_rates(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> bool {
        let n = self.n;
        let inputs = self.equations.work.held.len();
        let (main, columns) = y.split_at(n);
        for (variation, range) in groups(&self.columns) {
            let (first, lanes) = (range.start, range.len());
            let mut units = vec![0.0; LANES * inputs];
            for k in 0..lanes {
                if let Column::Input(i) = self.columns[first + k] {
                    units[k * inputs + i] = 1.0;
                }
            }
            let directions: Vec<Direction<'_>> = (0..lanes)
                .map(|k| Direction {
                    y: &columns[(first + k) * n..][..n],
                    inputs: &units[k * inputs..][..inputs],
                    t: 0.0,
                })
                .collect();
            let mut out: Vec<&mut [f64]> =
                dy[(1 + first) * n..].chunks_mut(n).take(lanes).collect();
            let tangents = &mut self.tangents;
            self.equations.rates_along_varied(tangents, t, main, &directions, &mut out, variation);
        }
        let mut ends = [vec![0.0; n], vec![0.0; n]];
        for (k, column) in self.columns.iter_mut().enumerate() {
            let Column::Parameter(parameter) = column else { continue };
            if parameter.exact.is_some() {
                continue;
            }
            let step = parameter.step;
            for (equations, end) in parameter.pair.iter_mut().zip(&mut ends) {
                if !equations.rates(t, main, end) {
                    return false;
                }
            }
            for i in 0..n {
                dy[(1 + k) * n + i] += (ends[0][i] - ends[1][i]) / (2.0 * step);
            }
        }
        dy.iter().all(|x| x.is_finite())
    }

    fn project_all(&mut self, t: f64, y: &mut [f64]) -> Result<(), crate::project::NotClosed> {
        let n = self.n;
        if self.kind == Derivatives::Exact {
            self.equations.project(t, &mut y[..n])?;
            let (main, columns) = y.split_at_mut(n);
            for (variation, range) in groups(&self.columns) {
                // Conditions move with a parameter in a way that differences do not tell: such columns stay as they are.
                let still = variation.is_none();
                let mut tangent: Vec<&mut [f64]> = columns[range.start * n..range.end * n]
                    .chunks_mut(n)
                    .zip(&self.columns[range])
                    .filter(|(_, column)| !(still && matches!(column, Column::Parameter(_))))
                    .map(|(y, _)| y)
                    .collect();
                let tangents = &mut self.tangents;
                self.equations.project_varied(tangents, t, main, &mut tangent, variation);
            }
            return Ok(());
        }
        let held = self.equations.held.clone();
        for k in (0..self.columns.len()).rev() {
            for side in [1, 0] {
                let step = 1.0 / self.scale[k];
                let y = &mut y[(1 + 2 * k + side) * n..][..n];
                self.beside(k, side, step, |equations, _| {
                    // Friction holds each neighbour where it came to rest itself.
                    equations.hold_here(t, y);
                    let done = equations.project(t, y);
                    equations.held.clone_from(&held);
                    done
                })?;
            }
        }
        self.equations.project(t, &mut y[..n])
    }
}

impl System for Bundle<'_> {
    fn dim(&self) -> usize {
        self.length()
    }

    fn rhs(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), Failure> {
        let n = self.n;
        let fine = |fine: bool| if fine { Ok(()) } else { Err(Failure::Domain) };
        fine(self.equations.rates(t, &y[..n], &mut dy[..n]))?;
        if self.kind == Derivatives::Exact {
            return fine(self.columns_rates(t, y, dy));
        }
        for k in 0..self.columns.len() {
            let step = 1.0 / self.scale[k];
            for side in 0..2 {
                let at = (1 + 2 * k + side) * n;
                let (y, dy) = (&y[at..at + n], &mut dy[at..at + n]);
                fine(self.beside(k, side, step, |equations, _| equations.rates(t, y, dy)))?;
            }
        }
        Ok(())
    }

    fn n_switches(&self) -> usize {
        self.switches.watched.len()
    }

    fn switches(&mut self, t: f64, y: &[f64], g: &mut [f64]) -> Result<(), Failure> {
        self.equations.switch_values(&mut self.switches, t, &y[..self.n], g);
        if g.iter().all(|g| g.is_finite()) { Ok(()) } else { Err(Failure::Domain) }
    }

    fn direction(&self, switch: usize) -> Crossing {
        self.equations.direction(self.switches.watched[switch])
    }

    fn accepted(&mut self, t: f64, y: &mut [f64]) -> Result<bool, Failure> {
        let found = self.equations.invariants(t, &y[..self.n]);
        if found.position <= self.tolerance && found.velocity <= self.tolerance {
            return Ok(false);
        }
        match self.project_all(t, y) {
            Ok(()) => Ok(true),
            Err(_) => Err(Failure::Stop("a joint stays open".to_owned())),
        }
    }
}

impl Equations<'_> {
    /// Takes over what another trajectory's rows do, and from where its joint coordinates count.
    fn follow(&mut self, main: &Equations<'_>) {
        for (i, mode) in main.mode.iter().enumerate() {
            self.set_mode(i, *mode);
        }
        self.rows.out.clone_from(&main.rows.out);
        self.active.clone_from(&main.active);
        self.held.clone_from(&main.held);
        self.count_as(main);
    }

    /// Takes the place in y as the one where resting friction holds.
    fn hold_here(&mut self, t: f64, y: &[f64]) {
        let resting: Vec<(usize, JointId, usize)> = self
            .model
            .rows
            .iter()
            .zip(&self.mode)
            .filter_map(|(block, mode)| match (&block.kind, mode) {
                (RowKind::Friction(f), Mode::Holds) => Some((f.slot, f.joint, f.which)),
                _ => None,
            })
            .collect();
        if resting.is_empty() {
            return;
        }
        self.read(t, y);
        for (slot, joint, which) in resting {
            let at = instant(t, &self.poses, &self.twists, &self.coordinates);
            self.held[slot] = self.model.joint_coordinate(joint, which, &at);
        }
    }
}
