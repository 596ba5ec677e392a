//! How the derivative jumps at an event.

use gelenk_model::Model;
use gelenk_model::rows::RowKind;
use gelenk_model::variation::{Variation, VariedRow};
use nalgebra::{DMatrix, DVector};

use super::bundle::{Bundle, Column};
use super::{Derivatives, EPSILON, IMPACT, SensitivityError};
use crate::equations::{Equations, Mode};
use crate::simulation::explain;
use crate::switch::Watched;
use crate::tangent::{Direction, Tangents};

/// The event at t for the main trajectory, and the columns after it:
/// ```text
/// δt = −∇g·w/ġ,    w⁺ = ∂R (w + f⁻ δt) − f⁺ δt
/// ```
/// With exact derivatives δt is exact for all but joints that break; ∂R of an impact is a difference of impacts, that of a corner the identity.
pub(super) fn salt(
    system: &mut Bundle<'_>,
    t: f64,
    all: &mut [f64],
    fired: &[gelenk_ode::Event],
    columns: &DMatrix<f64>,
    model: &Model,
) -> Result<DMatrix<f64>, SensitivityError> {
    let n = system.n;
    let before = all[..n].to_vec();
    let not_smooth = |what: &str| SensitivityError::NotSmooth { t, what: what.to_owned() };
    let Some(first) = fired.first() else { return Ok(columns.clone()) };
    if first.kind == gelenk_ode::EventKind::Grazing {
        return Err(not_smooth("a switching function only touches zero"));
    }
    let mut f_before = vec![0.0; n];
    system.equations.rates(t, &before, &mut f_before);
    let rate = slope(system, t, &before, first.switch, &Along::Time(&f_before));
    if rate == 0.0 || !rate.is_finite() {
        return Err(not_smooth("a switching function stands still at its zero"));
    }
    let n_columns = columns.ncols();
    let mut shifts = vec![0.0; n_columns];
    for (k, shift) in shifts.iter_mut().enumerate() {
        let w: Vec<f64> = columns.column(k).iter().copied().collect();
        *shift = -slope(system, t, &before, first.switch, &Along::Column(k, &w)) / rate;
    }
    // The event of the main trajectory and, from the modes before it, those of its neighbours.
    let (old_equations, old_switches) = (system.equations.clone(), system.switches.clone());
    let mut after = before.clone();
    let told = |error| SensitivityError::Run(explain(model, t, error));
    system.equations.guide = None;
    system.equations.read(t, &before);
    system.equations.switch(&mut system.switches, t, &mut after, fired).map_err(told)?;
    system.choose(t, &after);
    let mut f_after = vec![0.0; n];
    system.equations.rates(t, &after, &mut f_after);
    all[..n].copy_from_slice(&after);
    let new_mode = system.equations.mode.clone();
    let only_corners = fired
        .iter()
        .all(|e| matches!(system.switches.watched[e.switch], Watched::Kink(_) | Watched::Clamp(_)));
    let mut result = DMatrix::zeros(n, n_columns);
    for k in 0..n_columns {
        let w: DVector<f64> = columns.column(k).into_owned();
        let shifted = DVector::from_fn(n, |i, _| w[i] + f_before[i] * shifts[k]);
        if only_corners && new_mode == old_equations.mode {
            for i in 0..n {
                result[(i, k)] = shifted[i] - f_after[i] * shifts[k];
            }
            continue;
        }
        let step = match &system.columns[k] {
            Column::Parameter(parameter) => parameter.step,
            _ => IMPACT / shifted.amax().max(1e-3),
        };
        let mut ends = [Vec::new(), Vec::new()];
        for (side, end) in ends.iter_mut().enumerate() {
            let sign = if side == 0 { step } else { -step };
            let mut y: Vec<f64> = (0..n).map(|i| before[i] + sign * shifted[i]).collect();
            let mut switches = old_switches.clone();
            let mut equations = match &system.columns[k] {
                Column::Parameter(parameter) => parameter.pair[side].clone(),
                _ => old_equations.clone(),
            };
            if let Column::Input(i) = system.columns[k] {
                equations.work.held[i] += sign;
            }
            // Conditions may depend on time: each neighbour meets them when its own event comes.
            let own = t + sign * shifts[k];
            equations.read(own, &y);
            equations.switch(&mut switches, own, &mut y, fired).map_err(told)?;
            if equations.mode != new_mode {
                return Err(not_smooth("neighbours hold and let go elsewhere"));
            }
            *end = y;
        }
        for i in 0..n {
            result[(i, k)] = (ends[0][i] - ends[1][i]) / (2.0 * step) - f_after[i] * shifts[k];
        }
    }
    system.follow();
    Ok(result)
}

/// Along what a switching function is differentiated.
enum Along<'a> {
    /// The motion itself, with ẏ.
    Time(&'a [f64]),
    /// A column and its values.
    Column(usize, &'a [f64]),
}

/// The numbers of the model that change, and the lane of the direction.
#[derive(Clone, Copy)]
struct Varied<'a> {
    variation: Option<&'a Variation>,
    lane: usize,
}

/// The derivative of a switching function.
fn slope(system: &mut Bundle<'_>, t: f64, y: &[f64], switch: usize, along: &Along<'_>) -> f64 {
    let exact = match along {
        Along::Time(_) => Some((None, 0)),
        Along::Column(k, _) => match &system.columns[*k] {
            Column::Parameter(parameter) => parameter.exact.map(|(v, lane)| (Some(v), lane)),
            _ => Some((None, 0)),
        },
    };
    if system.kind == Derivatives::Exact
        && let Some((variation, lane)) = exact
    {
        let mut inputs = vec![0.0; system.equations.work.held.len()];
        let direction = match along {
            Along::Time(f) => Direction { y: f, inputs: &inputs, t: 1.0 },
            Along::Column(k, w) => {
                if let Column::Input(i) = system.columns[*k] {
                    inputs[i] = 1.0;
                }
                Direction { y: w, inputs: &inputs, t: 0.0 }
            }
        };
        let watched = system.switches.watched[switch];
        let varied = Varied { variation, lane };
        let found =
            system.equations.switch_along(&mut system.tangents, t, y, watched, direction, varied);
        if let Some(slope) = found {
            return slope;
        }
    }
    let mut g = vec![0.0; system.switches.watched.len()];
    let moved = |w: &[f64], factor: f64| -> Vec<f64> {
        y.iter().zip(w).map(|(y, w)| y + factor * w).collect()
    };
    match along {
        Along::Time(f) => {
            let tau = 1e-6;
            let ends = [tau, -tau].map(|tau| {
                let y = moved(f, tau);
                system.equations.switch_values(&mut system.switches, t + tau, &y, &mut g);
                g[switch]
            });
            (ends[0] - ends[1]) / (2.0 * tau)
        }
        Along::Column(k, w) => {
            let size = w.iter().fold(1e-3, |a: f64, b| a.max(b.abs()));
            let step = match &system.columns[*k] {
                Column::Parameter(parameter) => parameter.step,
                _ => EPSILON / size,
            };
            let ends = [0, 1].map(|side| {
                let y = moved(w, if side == 0 { step } else { -step });
                system.beside(*k, side, step, |equations, switches| {
                    equations.switch_values(switches, t, &y, &mut g);
                });
                g[switch]
            });
            (ends[0] - ends[1]) / (2.0 * step)
        }
    }
}

impl Equations<'_> {
    /// The derivative of a switching function along a direction; `None` where there is no exact one (joints that break).
    fn switch_along(
        &mut self,
        tangents: &mut Tangents,
        t: f64,
        y: &[f64],
        watched: Watched,
        direction: Direction<'_>,
        varied: Varied<'_>,
    ) -> Option<f64> {
        let Varied { variation, lane } = varied;
        let mut dy = vec![vec![0.0; self.dim()]; lane + 1];
        self.rates(t, y, &mut dy[0]);
        // Lanes before are of no interest.
        let mut directions = vec![Direction::of_state(&[]); lane];
        directions.push(direction);
        let mut out: Vec<&mut [f64]> = dy.iter_mut().map(Vec::as_mut_slice).collect();
        self.rates_along_varied(tangents, t, y, &directions, &mut out, variation);
        let i = match watched {
            Watched::Kink(k) => {
                return Some(match variation {
                    Some(variation) => tangents.varied_kink(self, variation, k).d[lane],
                    None => tangents.kink_slope(self, k),
                });
            }
            Watched::Clamp(i) => {
                return Some(match variation {
                    Some(variation) => tangents.varied_clamp(self, variation, i).d[lane],
                    None => tangents.clamp_slope(self, i),
                });
            }
            Watched::Break(..) => return None,
            Watched::Bound(i) => i,
        };
        let block = &self.model.rows[i];
        let row = block.first_row;
        Some(match (&block.kind, self.mode[i]) {
            (RowKind::Friction(friction), Mode::Slips(sign)) => {
                let (joint, which) = (friction.joint, friction.which);
                sign * match variation {
                    Some(variation) => tangents.varied_rate(self, variation, joint, which).d[lane],
                    None => tangents.joint_velocity_slope(self, joint, which),
                }
            }
            (RowKind::Friction(_), Mode::Free) => 0.0,
            (RowKind::Friction(_), Mode::Holds) => {
                let change = -self.lambda[row].signum() * tangents.multiplier_slope(lane, row);
                // The bound itself may change.
                match variation.map(|v| &v.rows[i]) {
                    Some(VariedRow::Friction(force)) => force.d[lane] + change,
                    _ => change,
                }
            }
            (_, Mode::Holds) => -tangents.multiplier_slope(lane, row),
            _ => {
                let mut slope = tangents.error_slope(self, lane, i);
                if let Some(variation) = variation {
                    self.lift(tangents, t, y, &[], Some(variation));
                    slope += self.varied_error(tangents, variation, i)[0][lane];
                }
                -slope
            }
        })
    }
}
