//! What the formulas of a system mean, in the order of the cards.

use gelenk_expr::{Expr, Pool};

use super::functions::Functions;
use super::meaning::{Motion, Replacement, Scope};
use super::{Body, DeckError, Element, List, System};
use crate::simplify::{Assumptions, simplify};

/// What the formulas of a system mean.
pub(super) struct Input {
    pub(super) functions: Functions,
    pub(super) motions: Vec<Motion>,
    pub(super) forces: Vec<Option<[[Expr; 3]; 2]>>,
    pub(super) dampers: Vec<Vec<Replacement>>,
    pub(super) springs: Vec<[Vec<Replacement>; 2]>,
    pub(super) kinetic_lists: Vec<Vec<Replacement>>,
    pub(super) force_lists: Vec<Vec<Replacement>>,
    pub(super) conditions: Vec<Expr>,
}

impl Input {
    pub(super) fn new(pool: &mut Pool, system: &System) -> Result<Self, DeckError> {
        let mut input = Self {
            functions: Functions::default(),
            motions: Vec::with_capacity(system.bodies.len() + 1),
            forces: Vec::with_capacity(system.bodies.len()),
            dampers: Vec::new(),
            springs: Vec::new(),
            kinetic_lists: Vec::new(),
            force_lists: Vec::new(),
            conditions: Vec::new(),
        };
        let mut entries = [[None; 3]; 6];
        let mut motion = [[Expr::ZERO; 3]; 4];
        for i in 0..4 {
            for j in 0..3 {
                let counters = [None; 3];
                motion[i][j] = input
                    .scope(pool, system.f, &entries, counters)
                    .formula(&system.ground[i][j])?;
            }
        }
        input.motions.push(motion);
        for (i, body) in system.bodies.iter().enumerate() {
            input.body(pool, system.f, (i + 1, body), &mut entries)?;
        }
        for damper in &system.dampers {
            let list =
                input.element_list(pool, system.f, &entries, damper, damper.first.as_ref())?;
            input.dampers.push(list);
        }
        for spring in &system.springs {
            let first =
                input.element_list(pool, system.f, &entries, spring, spring.first.as_ref())?;
            let second =
                input.element_list(pool, system.f, &entries, spring, spring.second.as_ref())?;
            input.springs.push([first, second]);
        }
        for list in &system.kinetic_lists {
            let list = input.scope(pool, system.f, &entries, [None; 3]).list(list)?;
            input.kinetic_lists.push(list);
        }
        for list in &system.force_lists {
            let list = input.scope(pool, system.f, &entries, [None; 3]).list(list)?;
            input.force_lists.push(list);
        }
        for condition in &system.conditions {
            let c = input.scope(pool, system.f, &entries, [None; 3]).formula(condition)?;
            input.conditions.push(c);
        }
        Ok(input)
    }

    fn scope<'a>(
        &'a mut self,
        pool: &'a mut Pool,
        f: usize,
        entries: &'a [[Option<Expr>; 3]; 6],
        counters: [Option<usize>; 3],
    ) -> Scope<'a> {
        Scope { pool, functions: &mut self.functions, f, motions: &self.motions, entries, counters }
    }

    fn element_list(
        &mut self,
        pool: &mut Pool,
        f: usize,
        entries: &[[Option<Expr>; 3]; 6],
        element: &Element,
        list: Option<&List>,
    ) -> Result<Vec<Replacement>, DeckError> {
        let counters = [Some(element.l), Some(element.n), None];
        list.map_or(Ok(Vec::new()), |list| self.scope(pool, f, entries, counters).list(list))
    }

    fn body(
        &mut self,
        pool: &mut Pool,
        f: usize,
        (l, body): (usize, &Body),
        entries: &mut [[Option<Expr>; 3]; 6],
    ) -> Result<(), DeckError> {
        let counters = [Some(l), None, body.reference];
        let mut rows = Vec::with_capacity(body.motion.len());
        for (i, row) in body.motion.iter().enumerate() {
            let mut values = [Expr::ZERO; 3];
            for j in 0..3 {
                values[j] = self.scope(pool, f, entries, counters).formula(&row[j])?;
                if body.reference.is_some() {
                    entries[i][j] = Some(values[j]);
                }
            }
            rows.push(values);
        }
        let motion = match body.reference.and_then(|k| self.motions.get(k)) {
            Some(reference) => compose(pool, reference, &rows),
            None => [rows[0], rows[1], rows[2], rows[3]],
        };
        self.motions.push(motion);
        let forces = match &body.forces {
            None => None,
            Some(rows) => {
                let mut values = [[Expr::ZERO; 3]; 2];
                for (i, row) in rows.iter().enumerate() {
                    for j in 0..3 {
                        values[i][j] = self.scope(pool, f, entries, counters).formula(&row[j])?;
                        entries[4 + i][j] = Some(values[i][j]);
                    }
                }
                if body.in_body_axes {
                    let motion = self.motions[l];
                    values = values.map(|along| in_world(pool, &motion, &along));
                }
                Some(values)
            }
        };
        self.forces.push(forces);
        Ok(())
    }
}

/// E^l = R E^k (39); x0^l_i = x0^k_i + (c^k_j + z_j) E^k_ji - c^l_j E^l_ji (41).
fn compose(pool: &mut Pool, reference: &Motion, rows: &[[Expr; 3]]) -> Motion {
    let mut motion = [[Expr::ZERO; 3]; 4];
    for i in 0..3 {
        for j in 0..3 {
            let terms: Vec<Expr> =
                (0..3).map(|m| pool.mul(&[rows[j][m], reference[m][i]])).collect();
            motion[j][i] = shorten_circular(pool, &terms);
        }
    }
    for i in 0..3 {
        let mut terms = vec![reference[3][i]];
        for j in 0..3 {
            let way = pool.add(&[rows[3][j], rows[4][j]]);
            terms.push(pool.mul(&[way, reference[j][i]]));
            terms.push(pool.mul(&[Expr::MINUS_ONE, rows[5][j], motion[j][i]]));
        }
        motion[3][i] = pool.add(&terms);
    }
    motion
}

/// K_i = k_j E_ji: a vector along the body's axes in world components.
fn in_world(pool: &mut Pool, motion: &Motion, along: &[Expr; 3]) -> [Expr; 3] {
    std::array::from_fn(|i| {
        let terms: Vec<Expr> = (0..3).map(|j| pool.mul(&[along[j], motion[j][i]])).collect();
        pool.add(&terms)
    })
}

/// A sum whose angle sums are contracted, cos a cos b - sin a sin b = cos(a + b): what is not created need not be undone.
fn shorten_circular(pool: &mut Pool, terms: &[Expr]) -> Expr {
    let sum = pool.add(terms);
    if terms.iter().filter(|t| **t != Expr::ZERO).count() > 1 {
        simplify(pool, sum, &Assumptions::default())
    } else {
        sum
    }
}
