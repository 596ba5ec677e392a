//! How a motion answers to its start, its inputs and its parameters, in numbers with names.
//!
//! The dae engine gives the derivative of all natural coordinates along as many directions as there are degrees of freedom; here they become derivatives of and by
//! named numbers: of joint coordinates, places and turns as many are chosen as there are degrees of freedom, independent of each other, with their rates.

use std::sync::Arc;

use gelenk_dae::quantity::Quantity;
pub use gelenk_dae::sensitivity::{Derivatives, SensitivityError, Wronski};
use gelenk_dae::sensitivity::{Varied, sensitivities};
use gelenk_dae::tangent::Tangents;
pub use gelenk_dae::{DaeError, Options};
use gelenk_dae::{Equations, Simulation};
use gelenk_expr::LANES;
use gelenk_model::joint::{CoordinateKind, JointId};
use gelenk_model::signal::{BodyVector, StateRef};
use gelenk_model::variation::Variation;
use gelenk_model::{BodyId, BodyKind, Loaded, Model, RunSettings};
pub use nalgebra::{Complex, DMatrix};

use crate::simulate::{SimulateError, simulate_judged};
use crate::verdict::{Finding, Level, Verdict, VerdictLimits};

/// A slope below this part of the largest is rounding.
const STILL: f64 = 1e-9;
/// A quantity counts as dependent on those chosen before if less than this part of it is new.
const NEW: f64 = 1e-3;
/// Multipliers this near to the unit circle are on it: double ones are found to the root of the accuracy.
const ON_CIRCLE: f64 = 1e-4;

/// A motion that is integrated alone and beside its derivatives ends apart by at most this times the tolerance and the largest derivative.
const APART: f64 = 1e4;

/// A number with a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// Its name, as in expressions.
    pub name: String,
    /// Its unit.
    pub unit: String,
}

/// A parameter to differentiate by: its name, and the model with a larger and a smaller value.
#[derive(Clone, Debug)]
pub struct ParameterPair {
    /// Name and unit.
    pub name: Named,
    /// The model with p + h and with p − h.
    pub models: [Model; 2],
    /// h.
    pub step: f64,
    /// The numbers of the model with their exact derivatives, and the lane of this parameter; or why there are none, and differences stand in.
    pub exact: Result<(Arc<Variation>, usize), String>,
}

/// Gives parameters the exact derivatives of the model's numbers, [`LANES`] parameters at once.
pub fn exact_numbers(loaded: &Loaded, pairs: &mut [ParameterPair]) {
    let mut good: Vec<usize> = Vec::new();
    for (i, pair) in pairs.iter_mut().enumerate() {
        match Variation::new(loaded, &[&pair.name.name]) {
            Ok(_) => good.push(i),
            Err(reason) => pair.exact = Err(reason),
        }
    }
    // Lanes of one variation must follow each other.
    let mut runs: Vec<Vec<usize>> = Vec::new();
    for i in good {
        match runs.last_mut() {
            Some(run) if run.last() == Some(&(i - 1)) && run.len() < LANES => run.push(i),
            _ => runs.push(vec![i]),
        }
    }
    for run in runs {
        let names: Vec<String> = run.iter().map(|i| pairs[*i].name.name.clone()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let found = Variation::new(loaded, &names).map(Arc::new);
        for (lane, i) in run.into_iter().enumerate() {
            pairs[i].exact = found.clone().map(|variation| (variation, lane));
        }
    }
}

/// Derivatives of a motion.
#[derive(Clone, Debug)]
pub struct Sensitivity {
    /// Time at the end, s.
    pub t: f64,
    /// Degrees of freedom f.
    pub freedoms: usize,
    /// The chosen quantities, then their rates: rows, and columns of `by_start`. (2f)
    pub quantities: Vec<Named>,
    /// Their values at the start and at the end; 0 of turns. (2f)
    pub values: [Vec<f64>; 2],
    /// ∂(end)/∂(start). (2f × 2f)
    pub by_start: DMatrix<f64>,
    /// ∂(end)/∂(inputs). (2f × inputs)
    pub by_inputs: DMatrix<f64>,
    /// ∂(end)/∂(parameters). (2f × parameters)
    pub by_parameters: DMatrix<f64>,
    /// All in natural coordinates.
    pub wronski: Wronski,
}

/// The derivatives of a model's motion from its start to `t`.
pub fn sensitivity(
    model: &Model,
    t: f64,
    options: &Options,
    kind: Derivatives,
    parameters: &[ParameterPair],
) -> Result<Sensitivity, SensitivityError> {
    let varied: Vec<Varied<'_>> = parameters
        .iter()
        .map(|p| Varied {
            larger: (&p.models[0], &p.models[0].start),
            smaller: (&p.models[1], &p.models[1].start),
            step: p.step,
            exact: p.exact.as_ref().ok().map(|(variation, lane)| (&**variation, *lane)),
        })
        .collect();
    let wronski = sensitivities(model, &model.start, t, options, kind, &varied)?;
    let f = wronski.freedoms;
    let mut equations = Equations::new(model, &model.start);
    let mut tangents = Tangents::new(&equations);
    let t0 = model.start.t;
    // The directions themselves, the same for both kinds of derivative, so that both choose the same.
    let positions = wronski.directions.columns(0, f).into_owned();
    let groups = candidates(model);
    let mut chosen: Vec<Candidate> = Vec::new();
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let slopes: Vec<DMatrix<f64>> = groups
        .iter()
        .map(|group| {
            let list: Vec<Quantity> = group.iter().map(|c| c.place).collect();
            equations.slopes(&mut tangents, t0, &wronski.y_start, &positions, &list)
        })
        .collect();
    let largest = slopes.iter().map(DMatrix::amax).fold(0.0, f64::max);
    for (group, slopes) in groups.iter().zip(&slopes) {
        choose(group, slopes, STILL * largest, f, &mut chosen, &mut basis);
    }
    let list: Vec<Quantity> =
        chosen.iter().map(|c| c.place).chain(chosen.iter().map(|c| c.rate)).collect();
    let (y0, y1) = (&wronski.y_start, &wronski.y);
    let mut at_start = equations.slopes(&mut tangents, t0, y0, &wronski.start, &list);
    let at_end = equations.slopes(&mut tangents, t, y1, &wronski.end, &list);
    let by_inputs = equations.slopes(&mut tangents, t, y1, &wronski.inputs, &list);
    let mut by_parameters = equations.slopes(&mut tangents, t, y1, &wronski.parameters, &list);
    // What is measured may itself change with a parameter: a joint's place, a body's frame.
    for (k, pair) in parameters.iter().enumerate() {
        if let (Derivatives::Exact, Ok((variation, lane))) = (kind, &pair.exact) {
            let mut columns = DMatrix::zeros(wronski.parameters.nrows(), lane + 1);
            columns.set_column(*lane, &wronski.parameters.column(k));
            let varied = Some(&**variation);
            let found = equations.slopes_varied(&mut tangents, t, y1, &columns, &list, varied);
            by_parameters.set_column(k, &found.column(*lane));
            continue;
        }
        let ends = pair.models.each_ref().map(|model| {
            let own = same_quantities(model, &chosen);
            Equations::new(model, &model.start).values(t, y1, &own)
        });
        for i in 0..list.len().min(ends[0].len()).min(ends[1].len()) {
            let change = wrapped(ends[0][i] - ends[1][i], list[i], model);
            by_parameters[(i, k)] += change / (2.0 * pair.step);
        }
    }
    if !at_start.try_inverse_mut() {
        at_start = DMatrix::zeros(0, 0);
    }
    let by_start = if at_start.nrows() == at_end.ncols() { &at_end * at_start } else { at_end };
    let values = [equations.values(t0, y0, &list), equations.values(t, y1, &list)];
    let (places, rates): (Vec<Named>, Vec<Named>) = chosen.into_iter().map(|c| c.names).unzip();
    Ok(Sensitivity {
        t,
        freedoms: f,
        quantities: places.into_iter().chain(rates).collect(),
        values,
        by_start,
        by_inputs,
        by_parameters,
        wronski,
    })
}

/// The verdict on derivatives: that on a run of the dae engine with the same tolerances; the motion that was differentiated must end where this
/// one does (`difference`), and derivatives must be finite (`finite`).
pub fn judge(
    model: &Model,
    found: &Sensitivity,
    options: &Options,
) -> Result<Verdict, SimulateError> {
    let duration = found.t - model.start.t;
    let settings = RunSettings {
        engine: "dae".to_owned(),
        duration,
        rtol: Some(options.rtol),
        atol: Some(options.atol),
        integrator: None,
        accuracy: None,
        estimated_error: None,
        sample: Some(duration),
        at: Vec::new(),
        impact: options.impact,
        ..model.run.clone()
    };
    let judged = simulate_judged(model.into(), &settings, VerdictLimits::default(), &mut ())?;
    let mut verdict = judged.verdict.clone();
    let matrices = [&found.by_start, &found.by_inputs, &found.by_parameters];
    let entries = matrices.iter().flat_map(|matrix| matrix.iter());
    let finding = |quantity: &str, [value, limit]: [f64; 2], cause: String| Finding {
        level: Level::Failed,
        quantity: quantity.to_owned(),
        value,
        limit,
        time: Some(found.t),
        element: None,
        cause,
        remedy: "try a smaller --rtol or an earlier --at".to_owned(),
    };
    if !entries.clone().all(|x| x.is_finite()) {
        let cause = "a derivative is not finite".to_owned();
        verdict.push(finding("finite", [f64::NAN, f64::MAX], cause));
    }
    if judged.result.is_ok() {
        let equations = Equations::new(model, &model.start);
        let n = 2 * equations.layout().n;
        let alone = equations.y_of(&judged.report().state);
        let y = &found.wronski.y;
        let off = distance(&alone[..n], &y[..n]);
        let largest = found.wronski.end.iter().fold(1.0, |a: f64, b| a.max(b.abs()));
        let limit = APART * options.rtol.max(options.atol) * largest;
        if !(off <= limit) {
            let cause = format!(
                "integrated alone and beside its derivatives the motion ends apart by {off:.1e}, more than {limit:.1e}"
            );
            verdict.push(finding("difference", [off, limit], cause));
        }
    }
    Ok(verdict)
}

/// The same quantities of the same model with other parameters, then their rates.
fn same_quantities(model: &Model, chosen: &[Candidate]) -> Vec<Quantity> {
    let all: Vec<Candidate> = candidates(model).into_iter().flatten().collect();
    let find = |c: &Candidate| all.iter().find(|other| other.names == c.names);
    let found: Vec<&Candidate> = chosen.iter().filter_map(find).collect();
    found.iter().map(|c| c.place).chain(found.iter().map(|c| c.rate)).collect()
}

/// A difference of an angle without full turns.
fn wrapped(change: f64, quantity: Quantity, model: &Model) -> f64 {
    use std::f64::consts::TAU;
    if let Quantity::State(StateRef::Coordinate(joint, which)) = quantity {
        let kind = model.joints[joint.index()].kind.equations().coordinates()[which].kind;
        if kind == CoordinateKind::Angle {
            return change - TAU * (change / TAU).round();
        }
    }
    change
}

/// A quantity that may be chosen, with its rate.
#[derive(Clone, Debug)]
struct Candidate {
    names: (Named, Named),
    place: Quantity,
    rate: Quantity,
}

/// Joint coordinates; then places; then turns.
fn candidates(model: &Model) -> [Vec<Candidate>; 3] {
    let named = |name: String, unit: &str| Named { name, unit: unit.to_owned() };
    let mut groups = [Vec::new(), Vec::new(), Vec::new()];
    for (i, joint) in (0u32..).zip(&model.joints) {
        let list = joint.kind.equations().coordinates();
        for (which, coordinate) in list.iter().enumerate() {
            let name = format!("joint.{}.{}", joint.name, coordinate.name);
            let rate = match list.len() {
                1 => format!("joint.{}.velocity", joint.name),
                _ => format!("{name}_velocity"),
            };
            let units = model.coordinate_units(joint, which);
            groups[0].push(Candidate {
                names: (named(name, units[0]), named(rate, units[1])),
                place: Quantity::State(StateRef::Coordinate(JointId(i), which)),
                rate: Quantity::State(StateRef::CoordinateRate(JointId(i), which)),
            });
        }
    }
    for (i, body) in (0u32..).zip(&model.bodies).filter(|(_, body)| !body.fixed) {
        let (id, rigid) = (BodyId(i), body.kind == BodyKind::Rigid);
        let origin = BodyVector { body: id, local: body.frame_origin, is_point: true };
        let owner = if rigid { "body" } else { "point" };
        for (axis, letter) in ["x", "y", "z"].into_iter().enumerate() {
            let rate = format!("{owner}.{}.velocity.{letter}", body.name);
            groups[1].push(Candidate {
                names: (named(format!("{}.{letter}", body.name), "m"), named(rate, "m/s")),
                place: Quantity::State(StateRef::Position(origin, axis)),
                rate: Quantity::State(StateRef::Velocity(origin, axis)),
            });
            if rigid {
                let rate = format!("body.{}.angular_velocity.{letter}", body.name);
                let turn = format!("turn of {} about {letter}", body.name);
                groups[2].push(Candidate {
                    names: (named(turn, "rad"), named(rate, "rad/s")),
                    place: Quantity::Turn(id, axis),
                    rate: Quantity::State(StateRef::AngularVelocity(id, axis)),
                });
            }
        }
    }
    groups
}

/// Takes of a group what is independent of what is chosen, the most independent first; in the end in the order of the group. What moves by
/// no more than `still` does not move but for rounding: its motion is prescribed, or joints hold it.
fn choose(
    group: &[Candidate],
    slopes: &DMatrix<f64>,
    still: f64,
    freedoms: usize,
    chosen: &mut Vec<Candidate>,
    basis: &mut Vec<Vec<f64>>,
) {
    let norm = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    let mut rest: Vec<Vec<f64>> =
        slopes.row_iter().map(|row| row.iter().copied().collect()).collect();
    let sizes: Vec<f64> = rest.iter().map(|row| norm(row)).collect();
    let clear = |row: &mut Vec<f64>, unit: &[f64]| {
        let along: f64 = row.iter().zip(unit).map(|(a, b)| a * b).sum();
        for (a, b) in row.iter_mut().zip(unit) {
            *a -= along * b;
        }
    };
    for row in &mut rest {
        for unit in basis.iter() {
            clear(row, unit);
        }
    }
    let mut taken = Vec::new();
    while basis.len() < freedoms {
        let part = |i: &usize| if sizes[*i] > still { norm(&rest[*i]) / sizes[*i] } else { 0.0 };
        // Of equals the first.
        let best = (0..rest.len()).rev().max_by(|a, b| part(a).total_cmp(&part(b)));
        let Some(best) = best.filter(|i| part(i) > NEW) else { break };
        let size = norm(&rest[best]);
        let unit: Vec<f64> = rest[best].iter().map(|x| x / size).collect();
        for row in &mut rest {
            clear(row, &unit);
        }
        rest[best].fill(0.0);
        basis.push(unit);
        taken.push(best);
    }
    taken.sort_unstable();
    chosen.extend(taken.into_iter().map(|i| group[i].clone()));
}

/// What the multipliers of a periodic motion say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stability {
    /// All but those of the motion itself are within the unit circle: disturbances die away.
    Stable,
    /// None is outside: disturbances neither grow like a power of a number above one nor all die away.
    Neutral,
    /// One is outside: disturbances grow.
    Unstable,
}

/// A motion that comes back to its start.
#[derive(Clone, Debug)]
pub struct Periodic {
    /// The period, s.
    pub period: f64,
    /// How far the state at its end is from the start, natural coordinates.
    pub gap: f64,
    /// Multipliers, largest first.
    pub multipliers: Vec<Complex<f64>>,
    /// What they say.
    pub stability: Stability,
}

/// The monodromy matrix's eigenvalues, of derivatives over a period.
pub fn periodic(found: &Sensitivity) -> Periodic {
    let mut multipliers: Vec<Complex<f64>> =
        found.by_start.complex_eigenvalues().iter().copied().collect();
    sort(&mut multipliers);
    let outside = multipliers.iter().any(|m| m.norm() > 1.0 + ON_CIRCLE);
    let on = multipliers.iter().filter(|m| m.norm() >= 1.0 - ON_CIRCLE).count();
    let stability = match (outside, on) {
        (true, _) => Stability::Unstable,
        (false, 0 | 1) => Stability::Stable,
        _ => Stability::Neutral,
    };
    let Wronski { y, y_start, .. } = &found.wronski;
    Periodic { period: found.t, gap: distance(y, y_start), multipliers, stability }
}

/// Largest first.
pub(crate) fn sort(multipliers: &mut [Complex<f64>]) {
    multipliers.sort_by(|a, b| b.norm().total_cmp(&a.norm()).then(b.im.total_cmp(&a.im)));
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |worst: f64, (a, b)| worst.max((a - b).abs()))
}

/// The time after which a motion comes back to its start: near `guess`, or the first one before `latest`. `None` if it does not come nearer
/// than `within`.
pub fn find_period(
    model: &Model,
    guess: Option<f64>,
    latest: f64,
    within: f64,
    options: &Options,
) -> Result<Option<f64>, DaeError> {
    let t0 = model.start.t;
    let mut simulation = Simulation::new(model, &model.start, options)?;
    let n = 2 * simulation.equations().layout().n;
    let start = simulation.y()[..n].to_vec();
    let guess = if let Some(guess) = guess {
        guess
    } else {
        let (mut farthest, mut best) = (0.0_f64, None);
        let mut before = [0.0_f64; 2];
        const LOOKS: u32 = 4000;
        for k in 1..=LOOKS {
            let t = t0 + latest * f64::from(k) / f64::from(LOOKS);
            simulation.run(t)?;
            let far = distance(&simulation.y()[..n], &start);
            farthest = farthest.max(far);
            let least = before[1] < before[0] && before[1] <= far && k > 2;
            if least && before[1] < 0.1 * farthest {
                best = Some(t - latest / f64::from(LOOKS));
                break;
            }
            before = [before[1], far];
        }
        match best {
            Some(t) => t - t0,
            None => return Ok(None),
        }
    };
    // The nearest moment: (y − y₀)·ẏ = 0.
    let mut period = guess;
    for _ in 0..8 {
        let mut simulation = Simulation::new(model, &model.start, options)?;
        simulation.run(t0 + period)?;
        let y = simulation.y().to_vec();
        let mut rates = vec![0.0; y.len()];
        simulation.equations().rates(t0 + period, &y, &mut rates);
        let (mut along, mut square) = (0.0, 0.0);
        for i in 0..n {
            along += (y[i] - start[i]) * rates[i];
            square += rates[i] * rates[i];
        }
        let change = if square > 0.0 { along / square } else { 0.0 };
        period -= change;
        if change.abs() < 1e-12 * period || period <= 0.5 * guess {
            break;
        }
    }
    // Towards its start a motion comes back to it as well: that is no period.
    if period <= 0.5 * guess {
        return Ok(None);
    }
    let mut simulation = Simulation::new(model, &model.start, options)?;
    simulation.run(t0 + period)?;
    Ok((distance(&simulation.y()[..n], &start) <= within).then_some(period))
}
