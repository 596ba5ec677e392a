//! A part of a mechanism: its errors and its mass-weighted Jacobian at a posture.

use super::matrix::{Block, BlockMatrix};
use super::plan::Plan;
use super::posture::Posture;
use crate::joint::JointId;
use crate::math::{Quat, Vec3};
use crate::model::Model;
use crate::rows::RowKind;

/// How movements are weighed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Metric {
    /// By mass and inertia; directions without inertia have no column.
    Inertia,
    /// The same, but a rod without moment about its own axis may turn about it, at 1 % of its largest moment.
    Assembly,
}

/// Share of the largest moment that stands for a moment of zero in [`Metric::Assembly`].
const ROD_SHARE: f64 = 0.01;

/// Some bodies and rows, with the columns of the weighted velocities x = M^½ v (masses relative to their mean).
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// Bodies with columns, ascending; a group each.
    pub(crate) bodies: Vec<usize>,
    first_column: Vec<usize>,
    columns: Vec<Column>,
    /// Blocks with active rows.
    pub(crate) blocks: Vec<PartBlock>,
    /// Joints among the blocks.
    pub(crate) joints: Vec<JointId>,
}

/// Where the bodies of a part are, and its joint coordinates.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// Centre of mass and rotation, body by body.
    pub(crate) bodies: Vec<(Vec3, Quat)>,
    coordinates: Vec<f64>,
}

/// J M^-½ at a posture.
pub(crate) struct WeightedRows {
    pub(crate) matrix: BlockMatrix,
    /// |J| on bodies that move, row by row, without weights.
    pub(crate) lengths: Vec<f64>,
    /// |J| times the largest weight the row meets: what it would weigh if no direction lacked inertia.
    pub(crate) ceilings: Vec<f64>,
}

/// A direction of movement: v = x `weight` along `axis`.
#[derive(Clone, Copy, Debug)]
struct Column {
    /// 0..3: world axes; 3..6: turns about the principal axes.
    axis: usize,
    /// M^-½.
    weight: f64,
}

/// A row block of the model with those of its rows that count.
#[derive(Clone, Debug)]
pub(crate) struct PartBlock {
    /// Index in the model.
    pub(crate) block: usize,
    /// Active rows of the block.
    pub(crate) rows: Vec<usize>,
    /// Index of the first of them in the part.
    pub(crate) first_row: usize,
    groups: Vec<usize>,
    /// Group of each body of the block.
    slots: Vec<Option<usize>>,
}

impl Part {
    /// The given bodies and blocks (ascending); rows count where `active(block, row)`.
    pub(crate) fn new(
        model: &Model,
        bodies: &[usize],
        blocks: &[usize],
        metric: Metric,
        active: impl Fn(usize, usize) -> bool,
    ) -> Self {
        let mut part = Part {
            bodies: Vec::with_capacity(bodies.len()),
            first_column: vec![0],
            columns: Vec::new(),
            blocks: Vec::with_capacity(blocks.len()),
            joints: Vec::new(),
        };
        let masses = bodies.iter().map(|&b| model.bodies[b].mass).filter(|m| *m > 0.0);
        let mean = masses.clone().sum::<f64>() / masses.count().max(1) as f64;
        for &b in bodies {
            let body = &model.bodies[b];
            let before = part.columns.len();
            if body.mass_inv > 0.0 {
                let weight = (mean * body.mass_inv).sqrt();
                part.columns.extend((0..3).map(|axis| Column { axis, weight }));
            }
            for i in 0..3 {
                let inverse = if !body.is_held(i)
                    && (body.inertia_inv[i] > 0.0 || metric == Metric::Inertia)
                {
                    body.inertia_inv[i]
                } else {
                    rod_inverse(&body.inertia_inv)
                };
                if inverse > 0.0 {
                    part.columns.push(Column { axis: 3 + i, weight: (mean * inverse).sqrt() });
                }
            }
            if part.columns.len() > before {
                part.bodies.push(b);
                part.first_column.push(part.columns.len());
            }
        }
        let mut first_row = 0;
        for &k in blocks {
            if let RowKind::Joint(id) = model.rows[k].kind {
                part.joints.push(id);
            }
            let rows: Vec<usize> = (0..model.rows[k].n_rows).filter(|&i| active(k, i)).collect();
            if rows.is_empty() {
                continue;
            }
            let slots: Vec<Option<usize>> = model.rows[k]
                .bodies
                .iter()
                .map(|b| part.bodies.binary_search(&b.index()).ok())
                .collect();
            let mut groups: Vec<usize> = slots.iter().flatten().copied().collect();
            groups.sort_unstable();
            groups.dedup();
            let n_rows = rows.len();
            part.blocks.push(PartBlock { block: k, rows, first_row, groups, slots });
            first_row += n_rows;
        }
        part
    }

    pub(crate) fn n_rows(&self) -> usize {
        self.blocks.last().map_or(0, |b| b.first_row + b.rows.len())
    }

    pub(crate) fn n_columns(&self) -> usize {
        self.columns.len()
    }

    /// (block, row in it) of each row.
    pub(crate) fn rows(&self) -> Vec<(usize, usize)> {
        self.blocks.iter().flat_map(|b| b.rows.iter().map(move |&i| (b.block, i))).collect()
    }

    /// Whether each row is an inequality.
    pub(crate) fn one_sided(&self, model: &Model) -> Vec<bool> {
        self.rows().iter().map(|&(block, _)| model.rows[block].one_sided(model)).collect()
    }

    /// The order of elimination; it depends on the structure alone.
    pub(crate) fn plan(&self) -> Plan {
        Plan::new(&self.skeleton())
    }

    fn skeleton(&self) -> BlockMatrix {
        let blocks = self.blocks.iter().map(|b| Block {
            groups: b.groups.clone(),
            first_row: b.first_row,
            n_rows: b.rows.len(),
            grounded: b.slots.len() == 1 || b.slots.iter().any(Option::is_none),
            values: Vec::new(),
        });
        BlockMatrix { first_column: self.first_column.clone(), blocks: blocks.collect() }
    }

    /// C of all rows.
    pub(crate) fn errors(&self, posture: &mut Posture<'_>) -> Vec<f64> {
        self.gather(|block| posture.error(block))
    }

    /// Ċ of all rows.
    pub(crate) fn rates(&self, posture: &mut Posture<'_>) -> Vec<f64> {
        self.gather(|block| posture.rate(block))
    }

    fn gather(&self, mut values: impl FnMut(usize) -> Vec<f64>) -> Vec<f64> {
        let mut all = Vec::with_capacity(self.n_rows());
        for b in &self.blocks {
            let values = values(b.block);
            all.extend(b.rows.iter().map(|&i| values[i]));
        }
        all
    }

    /// J M^-½ with the lengths of its rows.
    pub(crate) fn matrix(&self, posture: &mut Posture<'_>) -> WeightedRows {
        let mut matrix = self.skeleton();
        let mut lengths = Vec::with_capacity(self.n_rows());
        let mut ceilings = Vec::with_capacity(self.n_rows());
        for (b, block) in self.blocks.iter().zip(&mut matrix.blocks) {
            let jac = posture.jacobian(b.block);
            let stride = 6 * b.slots.len();
            // Where each group's columns begin in this block.
            let mut width = 0;
            let starts: Vec<usize> = b
                .groups
                .iter()
                .map(|&g| {
                    let start = width;
                    width += self.first_column[g + 1] - self.first_column[g];
                    start
                })
                .collect();
            block.values = vec![0.0; b.rows.len() * width];
            let mut largest = 0.0_f64;
            for (slot, group) in b.slots.iter().enumerate() {
                let Some(g) = *group else { continue };
                let Ok(at) = b.groups.binary_search(&g) else { continue };
                let rot = &posture.poses[self.bodies[g]].rot;
                for (k, column) in self.columns_of(g).iter().enumerate() {
                    largest = largest.max(column.weight);
                    for (n, &i) in b.rows.iter().enumerate() {
                        let row = &jac[i * stride + 6 * slot..i * stride + 6 * (slot + 1)];
                        let value = match column.axis {
                            axis @ 0..3 => row[axis],
                            axis => {
                                let u = rot.column(axis - 3);
                                row[3] * u[0] + row[4] * u[1] + row[5] * u[2]
                            }
                        };
                        block.values[n * width + starts[at] + k] += value * column.weight;
                    }
                }
            }
            for &i in &b.rows {
                let row = &jac[i * stride..(i + 1) * stride];
                let of_bodies = row.chunks(6).zip(&b.slots).filter(|(_, group)| group.is_some());
                let squares = of_bodies.flat_map(|(row, _)| row).map(|a| a * a);
                let length = squares.sum::<f64>().sqrt();
                lengths.push(length);
                ceilings.push(length * largest);
            }
        }
        WeightedRows { matrix, lengths, ceilings }
    }

    fn columns_of(&self, group: usize) -> &[Column] {
        &self.columns[self.first_column[group]..self.first_column[group + 1]]
    }

    /// Where the bodies are.
    pub(crate) fn places(&self, posture: &mut Posture<'_>) -> Places {
        let bodies =
            self.bodies.iter().map(|&b| (posture.state.s[b], posture.state.rot[b])).collect();
        let mut coordinates = Vec::new();
        for &id in &self.joints {
            coordinates.extend_from_slice(posture.coordinates(id));
        }
        Places { bodies, coordinates }
    }

    /// Puts the bodies back.
    pub(crate) fn restore(&self, posture: &mut Posture<'_>, places: &Places) {
        for (&body, (s, rot)) in self.bodies.iter().zip(&places.bodies) {
            posture.place(body, s, rot);
        }
        let mut rest = places.coordinates.as_slice();
        for &id in &self.joints {
            let own = posture.coordinates(id);
            let (first, others) = rest.split_at(own.len());
            own.copy_from_slice(first);
            rest = others;
        }
    }

    /// Moves all bodies by `share` of the movements.
    pub(crate) fn displace(
        &self,
        posture: &mut Posture<'_>,
        movements: &[(Vec3, Vec3)],
        share: f64,
    ) {
        for (&body, (step, turn)) in self.bodies.iter().zip(movements) {
            posture.displace(body, &(step * share), &(turn * share));
        }
    }

    /// The movement (step, turn) of each body from `start` to where it is.
    pub(crate) fn moved(&self, posture: &Posture<'_>, start: &Places) -> Vec<(Vec3, Vec3)> {
        let state = &posture.state;
        let pairs = self.bodies.iter().zip(&start.bodies);
        pairs
            .map(|(&b, (s, rot))| (state.s[b] - s, (state.rot[b] * rot.inverse()).scaled_axis()))
            .collect()
    }

    /// The movement (step, turn) of each body that x stands for, world axes.
    pub(crate) fn movements(&self, posture: &Posture<'_>, x: &[f64]) -> Vec<(Vec3, Vec3)> {
        let mut movements = Vec::with_capacity(self.bodies.len());
        for (g, &body) in self.bodies.iter().enumerate() {
            let (mut step, mut turn) = (Vec3::zeros(), Vec3::zeros());
            let rot = &posture.poses[body].rot;
            for (column, x) in self.columns_of(g).iter().zip(&x[self.first_column[g]..]) {
                match column.axis {
                    axis @ 0..3 => step[axis] += x * column.weight,
                    axis => turn += rot.column(axis - 3) * (x * column.weight),
                }
            }
            movements.push((step, turn));
        }
        movements
    }

    /// The x that stands for a movement of each body: the inverse of [`Part::movements`].
    pub(crate) fn weighted(&self, posture: &Posture<'_>, movements: &[(Vec3, Vec3)]) -> Vec<f64> {
        let mut x = Vec::with_capacity(self.columns.len());
        for (g, &body) in self.bodies.iter().enumerate() {
            let (step, turn) = &movements[g];
            let rot = &posture.poses[body].rot;
            for column in self.columns_of(g) {
                x.push(match column.axis {
                    axis @ 0..3 => step[axis] / column.weight,
                    axis => rot.column(axis - 3).dot(turn) / column.weight,
                });
            }
        }
        x
    }

    /// The length of x on each body.
    pub(crate) fn body_lengths(&self, x: &[f64]) -> Vec<f64> {
        (0..self.bodies.len())
            .map(|g| {
                let x = &x[self.first_column[g]..self.first_column[g + 1]];
                x.iter().map(|x| x * x).sum::<f64>().sqrt()
            })
            .collect()
    }
}

/// 1/J that stands for a zero moment of a body with others, where its spin is held or movements are meant: 0 where all are zero (a point).
fn rod_inverse(inertia_inv: &Vec3) -> f64 {
    let smallest = inertia_inv.iter().filter(|j| **j > 0.0).fold(f64::INFINITY, |m, j| m.min(*j));
    if smallest.is_finite() { smallest / ROD_SHARE } else { 0.0 }
}
