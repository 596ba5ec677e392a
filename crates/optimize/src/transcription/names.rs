//! What rows and variables are called in messages.

use super::{Role, Transcription};
use crate::motion::{Fault, Motion};
use crate::program::RowAt;

impl<M: Motion> Transcription<M> {
    /// Where a stage is, in words.
    fn place(&self, k: usize) -> String {
        let stage = &self.stages[k];
        match self.names.phases.get(stage.phase) {
            Some(name) if !name.is_empty() => format!("node {} of phase `{name}`", stage.node),
            _ => format!("node {}", stage.node),
        }
    }

    /// A fault of a stage, with the name of its phase.
    pub(super) fn in_phase(&self, k: usize, mut fault: Fault) -> Fault {
        let name = self.names.phases.get(self.stages[k].phase).filter(|name| !name.is_empty());
        if let (Some(name), Fault::Integration { reason, .. } | Fault::Chart { reason, .. }) =
            (name, &mut fault)
        {
            *reason = format!("{reason} (phase `{name}`)");
        }
        fault
    }

    pub(super) fn name_of(&self, row: RowAt) -> String {
        let place = |k: usize| self.place(k);
        let condition = |k: usize, t: usize| match self.set(&self.stages[k]).map(|s| &s.roles[t]) {
            Some(Role::Condition { name, .. }) => format!("`{name}` at {}", place(k)),
            _ => format!("a condition at {}", place(k)),
        };
        match row {
            RowAt::Equal(k, i) => condition(k, self.stages[k].equal[i]),
            RowAt::Unequal(k, i) => condition(k, self.stages[k].unequal[i]),
            RowAt::Link(k, i) => {
                let stage = &self.stages[k];
                let states = self.names.states.get(stage.phase);
                match states.and_then(|s| s.get(i)) {
                    Some(name) => format!("continuity of `{name}` at {}", place(k + 1)),
                    None => format!("continuity at {}", place(k + 1)),
                }
            }
            RowAt::Variable(flat) => self.variable_name(flat),
        }
    }

    fn variable_name(&self, flat: usize) -> String {
        if flat >= self.shape.global_at() {
            let i = flat - self.shape.global_at();
            return self
                .names
                .globals
                .get(i)
                .map_or_else(|| "a parameter".into(), |n| format!("`{n}`"));
        }
        let k =
            (0..self.stages.len()).rev().find(|&k| self.shape.variable_at(k) <= flat).unwrap_or(0);
        let stage = &self.stages[k];
        let i = flat - self.shape.variable_at(k);
        let list = if i < stage.states { &self.names.states } else { &self.names.controls };
        let names = list.get(stage.phase).map_or(&[][..], |n| &n[..]);
        let i = if i < stage.states { i } else { (i - stage.states) % names.len().max(1) };
        match names.get(i) {
            Some(name) => format!("`{name}` at {}", self.place(k)),
            None => format!("a number of {}", self.place(k)),
        }
    }
}
