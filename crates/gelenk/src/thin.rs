//! States of a run, thinned out as they come: enough to draw, never too many to keep.

use gelenk_model::State;

/// Keeps at most a given number of states, evenly over the run, and always the first and the last.
#[derive(Clone, Debug)]
pub struct Thinned {
    kept: Vec<(f64, State)>,
    last: Option<(f64, State)>,
    most: usize,
    /// One in so many is kept.
    every: usize,
    seen: usize,
}

impl Thinned {
    /// Keeps at most `most` states (2 at least).
    pub fn new(most: usize) -> Self {
        Thinned { kept: Vec::new(), last: None, most: most.max(2), every: 1, seen: 0 }
    }

    /// Looks at the next state.
    pub fn push(&mut self, state: &State) {
        if self.seen.is_multiple_of(self.every) {
            self.kept.push((state.t, state.clone()));
            self.last = None;
        } else {
            self.last = Some((state.t, state.clone()));
        }
        self.seen += 1;
        if self.kept.len() >= self.most {
            let mut k = 0;
            let newest = self.kept.last().cloned();
            self.kept.retain(|_| {
                k += 1;
                k % 2 == 1
            });
            self.every *= 2;
            if self.kept.last().map(|kept| kept.0) != newest.as_ref().map(|newest| newest.0) {
                self.last = newest;
            }
        }
    }

    /// The states kept, in order of time.
    pub fn into_states(mut self) -> Vec<(f64, State)> {
        self.kept.extend(self.last);
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(t: f64) -> State {
        State {
            t,
            s: Vec::new(),
            s_dot: Vec::new(),
            rot: Vec::new(),
            omega: Vec::new(),
            impulse: Vec::new(),
            coordinate: Vec::new(),
            held: Vec::new(),
            active: Vec::new(),
            contacts: Vec::new(),
        }
    }

    #[test]
    fn few_states_are_kept_evenly_with_both_ends() {
        for n in 1..200_u32 {
            let mut thinned = Thinned::new(16);
            (0..n).for_each(|i| thinned.push(&state(f64::from(i))));
            let times: Vec<f64> = thinned.into_states().iter().map(|kept| kept.0).collect();
            assert!(times.len() <= 17, "{n}: {times:?}");
            assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
            assert_eq!(times.first().map(|t| t.to_bits()), Some(0));
            assert_eq!(times.last().map(|t| t.to_bits()), Some(f64::from(n - 1).to_bits()));
            let gaps = times.windows(2).rev().skip(1).map(|pair| pair[1] - pair[0]);
            let widest = gaps.fold(0.0, f64::max);
            assert!(widest <= (f64::from(n) / 4.0).max(1.0), "{n}: {times:?}");
        }
    }
}
