//! One member of a sweep: from the numbers to the row.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use gelenk_model::assemble::{AssembleOptions, Outcome, assemble_from};
use gelenk_model::{
    BodyId, BodyKind, Event, LoadOptions, Loaded, Model, Observer, Sample, State, Stop,
};

use super::{Over, Plan, Row, Varied};
use crate::quantity::{Formula, Quantities, Reader, coordinate_names};
use crate::recording::{Header, Recorder};
use crate::simulate::simulate_judged;
use crate::verdict::{Level, VerdictLimits};

/// A number of a start: of which body, what, which component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StartNumber {
    body: usize,
    what: Motion,
    component: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Motion {
    Position,
    Velocity,
    AngularVelocity,
}

/// The start value of a name such as `body.arm.velocity.x`; names of bodies may have dots.
pub(super) fn start_number(model: &Model, name: &str) -> Option<StartNumber> {
    let (kind, rest) = name.split_once('.')?;
    let (rest, letter) = rest.rsplit_once('.')?;
    let component = ["x", "y", "z"].iter().position(|known| *known == letter)?;
    let (body, what) = rest.rsplit_once('.')?;
    let what = match what {
        "position" => Motion::Position,
        "velocity" => Motion::Velocity,
        "angular_velocity" if kind == "body" => Motion::AngularVelocity,
        _ => return None,
    };
    let wanted = match kind {
        "body" => BodyKind::Rigid,
        "point" => BodyKind::Point,
        _ => return None,
    };
    let body = model.body(body)?.index();
    let found = model.bodies.get(body)?;
    (found.kind == wanted && !found.fixed).then_some(StartNumber { body, what, component })
}

/// Whether a name such as `joint.elbow.angle` or `joint.elbow.rate` is a start value of a joint.
pub(super) fn is_joint_start(model: &Model, name: &str) -> bool {
    model.joints.iter().enumerate().any(|(i, joint)| {
        let known = coordinate_names(model, i);
        !joint.kind.equations().one_sided() && known.iter().flatten().any(|known| known == name)
    })
}

impl StartNumber {
    /// Gives a state that number: of the file frame, as in results.
    fn set(self, model: &Model, state: &mut State, x: f64) {
        let StartNumber { body: i, what, component: k } = self;
        let body = &model.bodies[i];
        let id = BodyId(u32::try_from(i).unwrap_or(u32::MAX));
        let frame = |state: &State| body.frame_twist(&state.pose(id), &state.twist(id)).s_dot;
        match what {
            Motion::Position => state.s[i][k] += x - body.frame_pose(&state.pose(id)).s[k],
            Motion::Velocity => state.s_dot[i][k] += x - frame(state)[k],
            Motion::AngularVelocity => {
                let before = frame(state);
                state.omega[i][k] = x;
                let change = before - frame(state);
                state.s_dot[i] += change;
            }
        }
    }
}

/// Sees a run and keeps what the plan asks for.
struct Watch<'a, 'm> {
    model: &'m Model,
    kept: Vec<Kept>,
    reader: Reader,
    recorder: Option<Recorder<&'a mut Vec<u8>>>,
    stop: &'a Stop,
}

/// A number in the making.
struct Kept {
    formula: Formula,
    over: Over,
    /// The value so far; of a mean the integral.
    value: f64,
    /// Time and value of the sample before.
    before: Option<(f64, f64)>,
    start: f64,
}

impl Kept {
    fn take(&mut self, t: f64, x: f64) {
        let first = self.before.is_none();
        match self.over {
            Over::End => self.value = x,
            Over::Start if first => self.value = x,
            Over::Start => {}
            Over::Min if first || x < self.value || x.is_nan() => self.value = x,
            Over::Max if first || x > self.value || x.is_nan() => self.value = x,
            Over::Min | Over::Max => {}
            Over::Mean => match self.before {
                None => self.start = t,
                Some((before, y)) => self.value += (t - before) * 0.5 * (x + y),
            },
        }
        self.before = Some((t, x));
    }

    fn result(&self) -> f64 {
        match (self.over, self.before) {
            (Over::Mean, Some((t, _))) if t > self.start => self.value / (t - self.start),
            (Over::Mean, Some((_, x))) => x,
            _ => self.value,
        }
    }
}

impl Observer for Watch<'_, '_> {
    fn sample(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        let Watch { model, kept, reader, recorder, stop } = self;
        for kept in kept {
            let input = |i: usize| model.inputs[i].value;
            let x = kept.formula.value(model, reader, sample, input);
            kept.take(sample.state.t, x);
        }
        if stop.is_asked() {
            return ControlFlow::Break(());
        }
        recorder.as_mut().map_or(ControlFlow::Continue(()), |recorder| recorder.sample(sample))
    }

    fn event(&mut self, event: &Event) {
        if let Some(recorder) = &mut self.recorder {
            recorder.event(event);
        }
    }

    fn step(&mut self, t: f64) -> ControlFlow<()> {
        if self.stop.is_asked() {
            return ControlFlow::Break(());
        }
        self.recorder.as_mut().map_or(ControlFlow::Continue(()), |recorder| recorder.step(t))
    }

    fn stop(&self) -> Option<Stop> {
        Some(self.stop.clone())
    }
}

impl Plan {
    /// Runs a member. `recording`: where its recording goes, if that is wanted. `None`: it was asked to stop.
    ///
    /// A member that fails has a row, too; whatever happens to it touches no other.
    pub fn member(&self, member: u64, recording: Option<&mut Vec<u8>>, stop: &Stop) -> Option<Row> {
        let work = AssertUnwindSafe(|| self.made(member, recording, stop));
        let made = catch_unwind(work).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            Err(format!("a fault in gelenk itself: {}", text.unwrap_or_default()))
        });
        if stop.is_asked() {
            return None;
        }
        Some(made.unwrap_or_else(|error| Row {
            member,
            verdict: Level::Failed.to_string(),
            error: Some(error),
            time: 0.0,
            steps: 0,
            results: Vec::new(),
        }))
    }

    /// Loads a member: with its parameters, inputs and start values, loops closed.
    fn loaded(&self, member: u64) -> Result<(Loaded, Vec<(String, String)>), String> {
        let values = self.values(member);
        let mut set: Vec<(String, String)> =
            self.model.overrides.iter().map(|o| (o.name.clone(), o.value.clone())).collect();
        let mut starts = Vec::new();
        for (vary, &x) in self.vary.iter().zip(&values) {
            match &vary.what {
                Varied::Parameter(name) => {
                    set.retain(|(other, _)| other != name);
                    set.push((name.clone(), format!("{x:?}")));
                }
                Varied::Input(name) => set.push((format!("input.{name}"), format!("{x:?}"))),
                // The loader poses joints, and closes loops around them.
                Varied::Start(name) if name.starts_with("joint.") => {
                    set.push((format!("start.{name}"), format!("{x:?}")));
                }
                Varied::Start(name) => starts.push((name, x)),
            }
        }
        let options = |allow_open: bool| LoadOptions {
            overrides: set.clone(),
            allow_open,
            ..LoadOptions::default()
        };
        // Nothing is tried where there is nothing to close and nothing to change.
        let open = self.assemble || !starts.is_empty();
        let mut loaded = self
            .model
            .load_again(|text| text, options(open))
            .map_err(|faults| faults.to_string())?;
        if !open {
            return Ok((loaded, set));
        }
        let model = &loaded.model;
        let mut state = model.start.clone();
        for (name, x) in &starts {
            let number =
                start_number(model, name).ok_or_else(|| format!("no start value `{name}`"))?;
            number.set(model, &mut state, *x);
        }
        if self.assemble {
            let report = assemble_from(model, &state, &AssembleOptions::default());
            if let Outcome::Failed(failures) = &report.outcome {
                let first = failures.first().map_or_else(String::new, ToString::to_string);
                return Err(format!("the loops cannot be closed: {first}"));
            }
            state = report.state;
        }
        if state == model.start {
            return Ok((loaded, set));
        }
        // Through the text, so that a recording of the member begins there too.
        let main = loaded.sources.files().first().map_or("", |file| file.text.as_str());
        let text = crate::start::with_start(main, model, &state);
        loaded = Header::of_loaded(&loaded, &set, &model.run)
            .load_again(|_| text, options(false))
            .map_err(|faults| faults.to_string())?;
        Ok((loaded, set))
    }

    fn made(
        &self,
        member: u64,
        recording: Option<&mut Vec<u8>>,
        stop: &Stop,
    ) -> Result<Row, String> {
        let (loaded, set) = self.loaded(member)?;
        let model = &loaded.model;
        let mut settings = self.settings.over(&model.run);
        crate::check_settings(&settings).map_err(|error| error.to_string())?;
        if settings.accuracy.is_some() && settings.engine == "impulse" {
            let watch = &mut || {
                if stop.is_asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            settings = crate::accuracy::choose(model, &settings, watch)
                .map_err(|error| error.to_string())?;
        }
        let all = Quantities::new(model);
        let kept: Result<Vec<Kept>, String> = self
            .keep
            .iter()
            .map(|keep| {
                let formula = Formula::new(model, &all, &keep.value)
                    .map_err(|error| format!("{}: {error}", keep.name))?;
                let (value, before) = (0.0, None);
                Ok(Kept { formula, over: keep.over, value, before, start: 0.0 })
            })
            .collect();
        let recorder = match recording {
            Some(bytes) => {
                let header = Header::of_loaded(&loaded, &set, &settings);
                Some(Recorder::new(bytes, header).map_err(|error| error.to_string())?)
            }
            None => None,
        };
        let mut watch = Watch { model, kept: kept?, reader: Reader::new(model), recorder, stop };
        let limits = VerdictLimits::default();
        let judged = simulate_judged((&loaded).into(), &settings, limits, &mut watch)
            .map_err(|error| error.to_string())?;
        let Watch { kept, recorder, .. } = watch;
        if let Some(recorder) = recorder {
            let finished = recorder.finish_with(judged.result.as_ref(), judged.verdict.clone());
            finished.map_err(|error| error.to_string())?;
        }
        let report = judged.report();
        let error = match &judged.result {
            Err(failure) => Some(failure.reason.clone()),
            Ok(_) => judged.verdict.failure().map(|finding| finding.cause.clone()),
        };
        let results = match &judged.result {
            Ok(_) => kept.iter().map(Kept::result).collect(),
            Err(_) => Vec::new(),
        };
        let verdict = if judged.result.is_err() { Level::Failed } else { judged.verdict.level };
        Ok(Row {
            member,
            verdict: verdict.to_string(),
            error,
            time: report.t,
            steps: report.steps,
            results,
        })
    }
}
