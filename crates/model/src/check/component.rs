//! Checking one connected part.

use super::{CheckOptions, ComponentReport, RedundantRow};
use crate::assemble::{AssembleOptions, Closing, closing, free_motion, nearby};
use crate::graph::Component;
use crate::linear::{Metric, Part, Plan, Posture, Rank, Surplus, rank, surplus_rows};
use crate::model::Model;

/// Pivots below this count as zero in nearby poses: those are closed to rounding, about 1e-13, so that a pivot that
/// vanishes at a double root comes out near 1e-7, and displaced by a fifth, so that others come out much larger.
const NEARBY_TOLERANCE: f64 = 1e-5;
/// Steps allowed for closing a nearby pose.
const NEARBY_ITERATIONS: usize = 80;
/// A row is called redundant, or nearly so, when the factors that express it are below the inverse of this.
const SHARE: f64 = 1e-6;
const NEARLY_SHARE: f64 = 1e-3;
/// A body whose share of every free motion is below this does not move.
const IMMOVABLE: f64 = 1e-5;

/// A connected part made ready for checking.
pub(super) struct ComponentCheck<'m> {
    model: &'m Model,
    component: &'m Component,
    options: &'m CheckOptions,
    part: Part,
    plan: Plan,
    /// (block, row in it) of each row of the part.
    rows: Vec<(usize, usize)>,
}

/// What checking a part found.
pub(super) struct Found {
    pub(super) component: ComponentReport,
    pub(super) coordinates: usize,
    pub(super) smallest_pivot: f64,
    pub(super) redundant: Vec<RedundantRow>,
    pub(super) nearly_redundant: Vec<RedundantRow>,
    pub(super) immovable: Vec<String>,
    pub(super) warnings: Vec<String>,
}

impl<'m> ComponentCheck<'m> {
    pub(super) fn new(
        model: &'m Model,
        component: &'m Component,
        options: &'m CheckOptions,
    ) -> Self {
        let Component { bodies, blocks, .. } = component;
        let part = Part::new(model, bodies, blocks, Metric::Inertia, |_, _| true);
        let plan = part.plan();
        let rows = part.rows();
        ComponentCheck { model, component, options, part, plan, rows }
    }

    pub(super) fn run(&self, posture: &mut Posture<'_>) -> Found {
        let name = |&b: &usize| self.model.bodies[b].name.clone();
        let bodies: Vec<String> = self.component.bodies.iter().map(name).collect();
        let coordinates = self.part.n_columns();
        let mut warnings = Vec::new();
        if self.plan.work > self.options.max_work {
            warnings.push(format!(
                "the part with `{}` is too densely coupled to find its rank ({:.1e} operations, {:.1e} allowed): its rows \
                 are counted as independent",
                bodies[0], self.plan.work, self.options.max_work
            ));
            return self.unknown(bodies, warnings);
        }
        let here = rank(&self.part, &self.plan, posture, self.options.rank_tolerance);
        for &row in &here.undefined {
            let (block, _) = self.rows[row];
            let name = &self.model.rows[block].name;
            warnings.push(format!("`{name}` has no value at the start and is left out"));
        }
        let dead = here.dead.iter().map(|&row| self.label(row));
        warnings.extend(dead.map(|row| format!("{row}: acts only on directions without inertia")));
        let flat = here.flat.iter().map(|&row| self.label(row));
        warnings.extend(flat.map(|row| format!("{row}: its derivative vanishes at the start")));
        let (redundant, nearby_rank) = self.redundant(posture, &here);
        let nearly_redundant = self.nearly_redundant(posture, &here);
        let degrees_of_freedom = coordinates - here.n_independent;
        let immovable = if self.driven(posture) {
            Vec::new()
        } else {
            self.immovable(posture, degrees_of_freedom)
        };
        let component = ComponentReport {
            bodies,
            grounded: self.component.grounded,
            loops: self.component.loops,
            degrees_of_freedom,
            constraints: self.part.n_rows(),
            rank: here.n_independent,
            singular: here.n_independent < nearby_rank,
            rank_lost: nearby_rank.saturating_sub(here.n_independent),
        };
        let smallest_pivot = here.smallest_pivot;
        Found {
            component,
            coordinates,
            smallest_pivot,
            redundant,
            nearly_redundant,
            immovable,
            warnings,
        }
    }

    /// The report of a part whose rank would take too long.
    fn unknown(&self, bodies: Vec<String>, warnings: Vec<String>) -> Found {
        let (coordinates, constraints) = (self.part.n_columns(), self.part.n_rows());
        let rank = constraints.min(coordinates);
        let component = ComponentReport {
            bodies,
            grounded: self.component.grounded,
            loops: self.component.loops,
            degrees_of_freedom: coordinates - rank,
            constraints,
            rank,
            singular: false,
            rank_lost: 0,
        };
        Found {
            component,
            coordinates,
            smallest_pivot: f64::INFINITY,
            redundant: Vec::new(),
            nearly_redundant: Vec::new(),
            immovable: Vec::new(),
            warnings,
        }
    }

    /// The rows that depend on earlier ones, and the largest rank here or nearby.
    fn redundant(&self, posture: &Posture<'_>, here: &Rank) -> (Vec<RedundantRow>, usize) {
        if here.n_surplus() == 0 {
            return (Vec::new(), here.n_independent);
        }
        let Some(nearby) = self.nearby_rank(posture, here) else {
            let surplus = self.surplus(here, |row| row);
            let rows = surplus.iter().map(|s| self.redundant_row(s, true)).collect();
            return (rows, here.n_independent);
        };
        let generic = self.surplus(&nearby, |row| row);
        let is_generic = |row: usize| generic.binary_search_by_key(&row, |s| s.row).is_ok();
        // Rows redundant everywhere come last, so that only the others can be redundant here alone.
        let n_rows = self.part.n_rows();
        let order = |row: usize| if is_generic(row) { n_rows + row } else { row };
        let surplus = self.surplus(here, order);
        let n_here = surplus.len().saturating_sub(generic.len());
        let mut only_here = 0;
        let rows = surplus.iter().map(|s| {
            let always = is_generic(s.row) || only_here >= n_here;
            only_here += usize::from(!always);
            self.redundant_row(s, always)
        });
        (rows.collect(), here.n_independent + n_here)
    }

    /// The rows of a rank that depend on earlier ones in an order.
    fn surplus(&self, rank: &Rank, order: impl Fn(usize) -> usize) -> Vec<Surplus> {
        let mut surplus = surplus_rows(&rank.null_vectors, self.part.n_rows(), SHARE, order);
        surplus.retain(|s| rank.counts(s.row));
        surplus
    }

    /// The highest rank in nearby poses; `None` if it is no higher than here.
    fn nearby_rank(&self, posture: &Posture<'_>, here: &Rank) -> Option<Rank> {
        // The tolerance makes the other poses close to rounding.
        let options = AssembleOptions {
            tolerance: Some(1e-12),
            max_iterations: NEARBY_ITERATIONS,
            ..AssembleOptions::default()
        };
        let closing: Closing = closing(self.model, self.component, &options);
        let mut best = None;
        let mut least = here.n_surplus();
        for seed in 1..=self.options.samples {
            let Some(mut other) = nearby(&closing, posture, seed) else { continue };
            let there = rank(&self.part, &self.plan, &mut other, NEARBY_TOLERANCE);
            if there.slack == here.slack && there.n_surplus() < least {
                least = there.n_surplus();
                best = Some(there);
            }
        }
        best
    }

    /// Rows that would be redundant at the looser tolerance.
    fn nearly_redundant(&self, posture: &mut Posture<'_>, here: &Rank) -> Vec<RedundantRow> {
        if here.smallest_pivot > self.options.near_tolerance {
            return Vec::new();
        }
        let near = rank(&self.part, &self.plan, posture, self.options.near_tolerance);
        let n_rows = self.part.n_rows();
        let redundant = self.surplus(here, |row| row);
        let known = |row: usize| redundant.binary_search_by_key(&row, |s| s.row).is_ok();
        let order = |row: usize| if known(row) { n_rows + row } else { row };
        let mut surplus = surplus_rows(&near.null_vectors, n_rows, NEARLY_SHARE, order);
        surplus.retain(|s| near.counts(s.row) && !known(s.row));
        surplus.iter().map(|s| self.redundant_row(s, false)).collect()
    }

    fn redundant_row(&self, surplus: &Surplus, always: bool) -> RedundantRow {
        let (own, i) = self.rows[surplus.row];
        let mut on: Vec<usize> = surplus.terms.iter().map(|&(row, _)| self.rows[row].0).collect();
        on.dedup();
        on.retain(|&k| k != own);
        let block = &self.model.rows[own];
        RedundantRow {
            element: block.name.clone(),
            row: self.label(surplus.row),
            index: block.first_row + i,
            always,
            depends_on: on.into_iter().map(|k| self.model.rows[k].name.clone()).collect(),
        }
    }

    fn label(&self, row: usize) -> String {
        let (block, i) = self.rows[row];
        self.model.rows[block].row_label(self.model, i)
    }

    /// Whether time moves the part: some row changes with it.
    fn driven(&self, posture: &mut Posture<'_>) -> bool {
        let t = posture.state.t;
        let before = self.part.errors(posture);
        let mut driven = false;
        for later in [0.1, 0.37, 1.7] {
            posture.set_time(t + later);
            driven |= self.part.errors(posture) != before;
        }
        posture.set_time(t);
        driven
    }

    /// Bodies that take no part in any free motion.
    fn immovable(&self, posture: &mut Posture<'_>, degrees_of_freedom: usize) -> Vec<String> {
        let mut still = vec![true; self.part.bodies.len()];
        if degrees_of_freedom > 0 {
            let options = AssembleOptions::default();
            let closing = Closing {
                part: self.part.clone(),
                plan: self.plan.clone(),
                tolerances: Vec::new(),
                max_iterations: options.max_iterations,
            };
            for seed in [11, 12] {
                let motion = free_motion(&closing, posture, seed);
                for (still, length) in still.iter_mut().zip(self.part.body_lengths(&motion)) {
                    *still &= length <= IMMOVABLE;
                }
            }
        }
        let bodies = self.part.bodies.iter().zip(still).filter(|(_, still)| *still);
        bodies.map(|(&b, _)| self.model.bodies[b].name.clone()).collect()
    }
}
