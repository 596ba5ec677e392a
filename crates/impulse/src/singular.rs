//! Singular positions that a run passes, told from the pivots of K.
//!
//! Where joints lose rank the smallest pivot of K = J M⁻¹ Jᵀ goes to zero as the square of the time that is left, and rises likewise behind. The factorizations that the steps make anyway show
//! this: μ = √(pivot/diagonal) comes down along a straight line and goes up along another, and both meet zero at the same time.

use gelenk_model::factor::ResponseRows;
use gelenk_model::math::Vec3;
use gelenk_model::{Event, Model, RowKind, State};

use crate::scratch::Scratch;

/// Both lines must meet zero within this part of the time between the points they come from.
const TOGETHER: f64 = 0.1;

/// The lowest μ is no more than this part of those two steps away.
const LOW: f64 = 0.4;

/// μ of the last steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct RankWatch {
    /// The last five, oldest first.
    seen: Vec<Seen>,
    /// The fewest blurred pivots so far.
    fewest: Option<usize>,
    /// The largest K_ii of equations so far: their gradient may vanish, while rows of joints keep their size. (n blocks)
    sizes: Vec<f64>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    t: f64,
    mu: f64,
    block: Option<usize>,
}

impl RankWatch {
    /// Looks at the factor made last, whose K is that of time `t`; tells of a singular position that lies between the steps before.
    pub(crate) fn see(
        &mut self,
        model: &Model,
        state: &State,
        scratch: &Scratch,
        t: f64,
    ) -> Option<Event> {
        let (pivot, block) = self.pivot(model, scratch)?;
        // A part made again from before: what was seen beyond is not to count.
        self.seen.retain(|seen| seen.t < t);
        self.seen.push(Seen { t, mu: pivot.max(0.0).sqrt(), block });
        if self.seen.len() > 5 {
            self.seen.remove(0);
        }
        let (time, block) = passage(&self.seen)?;
        Some(event(model, state, time, block))
    }

    /// The smallest pivot as a part of its diagonal, and its block.
    fn pivot(&mut self, model: &Model, scratch: &Scratch) -> Option<(f64, Option<usize>)> {
        let regular =
            scratch.balls.as_deref().map(super::balls::Balls::weakest).filter(|x| *x > 0.0);
        if let Some(weakest) = regular {
            return Some((weakest, None));
        }
        let factor = scratch.direct.as_deref().filter(|factor| factor.ready)?;
        let fewest = self.fewest.map_or(factor.blurred, |n| n.min(factor.blurred));
        self.fewest = Some(fewest);
        let clear = if factor.blurred > fewest { 0.0 } else { factor.clear };
        let own = |row: usize| model.rows.iter().position(|b| b.first_row == row);
        let mut least = (clear, factor.clear_row.and_then(own));
        let rows = &scratch.rows;
        self.sizes.resize(model.rows.len(), 0.0);
        for (k, block) in model.rows.iter().enumerate() {
            if !matches!(block.kind, RowKind::Equation(_)) {
                continue;
            }
            let place = rows.place(k);
            let range = place.jac..place.jac + 6 * place.n_bodies * place.n_rows;
            let pairs = rows.jac()[range.clone()].iter().zip(&rows.response()[range]);
            let size: f64 = pairs.map(|(j, r)| j * r).sum();
            self.sizes[k] = self.sizes[k].max(size);
            let part = if self.sizes[k] > 0.0 { size / self.sizes[k] } else { 1.0 };
            if part < least.0 {
                least = (part, Some(k));
            }
        }
        Some(least)
    }
}

/// The time at which μ met zero about the middle one of five, if it did.
fn passage(seen: &[Seen]) -> Option<(f64, Option<usize>)> {
    let [a, b, c, d, e] = seen else { return None };
    let valley = a.mu > b.mu && b.mu >= c.mu && c.mu <= d.mu && d.mu < e.mu;
    if !valley || c.mu >= d.mu || c.mu > LOW * a.mu.min(e.mu) {
        return None;
    }
    let down = b.t + b.mu * (b.t - a.t) / (a.mu - b.mu);
    let up = d.t - d.mu * (e.t - d.t) / (e.mu - d.mu);
    let within = |t: f64| t >= b.t && t <= d.t;
    let together = (down - up).abs() <= TOGETHER * (e.t - a.t);
    (together && within(down) && within(up)).then_some((0.5 * (down + up), c.block))
}

fn event(model: &Model, state: &State, time: f64, block: Option<usize>) -> Event {
    let rows = block.map(|k| &model.rows[k]);
    let name = rows.map(|rows| rows.name.clone());
    let body = rows.and_then(|rows| rows.bodies.iter().find(|b| !model.bodies[b.index()].fixed));
    let point: Option<Vec3> = body.map(|b| state.s[b.index()]);
    let place = match (body, point) {
        (Some(body), Some(p)) => {
            let body = &model.bodies[body.index()].name;
            format!(" near `{body}` at ({:.4}, {:.4}, {:.4}) m", p.x, p.y, p.z)
        }
        _ => String::new(),
    };
    let what = match &name {
        Some(name) => format!("`{name}` and the joints it depends on lose rank"),
        None => "joints lose rank".to_owned(),
    };
    let detail =
        format!("singular position{place}: {what}; passed on along the way the motion came");
    let mut event = Event::new(time, "singularity", name.into_iter().collect(), detail);
    event.point = point;
    event
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]
mod tests {
    use super::*;

    fn valley(mu: impl Fn(f64) -> f64) -> Option<f64> {
        let times = [-1.7, -0.7, 0.3, 1.3, 2.3];
        let seen = times.map(|t| Seen { t, mu: mu(t), block: None });
        passage(&seen).map(|found| found.0)
    }

    #[test]
    fn zeros_are_told_from_valleys() {
        assert!(valley(f64::abs).unwrap().abs() < 1e-12);
        assert!(valley(|t: f64| t.abs() * (1.0 + 0.05 * t)).unwrap().abs() < 0.1);
        // A minimum that is none, a wide valley, a slope.
        assert_eq!(valley(|t: f64| (0.5 + t * t).sqrt()), None);
        assert_eq!(valley(|t: f64| 1.0 + t * t), None);
        assert_eq!(valley(|t: f64| t + 3.0), None);
    }
}
