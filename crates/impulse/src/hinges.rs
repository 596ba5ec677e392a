//! Hinges four at a time: how far they are from closed.

use gelenk_model::joint::JointKind;
use gelenk_model::rows::RowKind;
use gelenk_model::state::Pose;
use gelenk_model::{BodyId, Model};

use crate::lanes::{F, LANES, V};
use crate::scratch::matrices;

/// Rows of a hinge.
const ROWS: usize = 5;

/// Four hinges, the last repeated where there are fewer; all constant.
#[derive(Clone, Debug)]
struct Four {
    /// How many there are, and their blocks.
    n: usize,
    blocks: [usize; LANES],
    bodies: [[usize; LANES]; 2],
    /// Points of both bodies, the axis fixed in a, two directions across it fixed in b.
    r_a: V,
    r_b: V,
    n_a: V,
    x_b: V,
    y_b: V,
}

/// The hinges of a model, and its other blocks of rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hinges {
    fours: Vec<Four>,
    pub(crate) others: Vec<usize>,
}

impl Hinges {
    pub(crate) fn new(model: &Model) -> Self {
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for (i, block) in model.rows.iter().enumerate() {
            let RowKind::Joint(id) = block.kind else {
                others.push(i);
                continue;
            };
            let joint = &model.joints[id.index()];
            match &joint.kind {
                JointKind::Hinge(hinge) => own.push((i, joint.bodies.map(BodyId::index), hinge)),
                _ => others.push(i),
            }
        }
        let fours = own.chunks(LANES).map(|own| {
            let lane = |k: usize| &own[k.min(own.len() - 1)];
            let across: [_; LANES] = std::array::from_fn(|k| lane(k).2.across());
            let axis: [_; LANES] = std::array::from_fn(|k| lane(k).2.axis());
            Four {
                n: own.len(),
                blocks: std::array::from_fn(|k| lane(k).0),
                bodies: [0, 1].map(|slot| std::array::from_fn(|k| lane(k).1[slot])),
                r_a: V::gather(|k| &lane(k).2.point().r_a_body),
                r_b: V::gather(|k| &lane(k).2.point().r_b_body),
                n_a: V::gather(|k| &axis[k]),
                x_b: V::gather(|k| &across[k][0]),
                y_b: V::gather(|k| &across[k][1]),
            }
        });
        Hinges { fours: fours.collect(), others }
    }

    /// Calls `see` with each block and its C at these poses; see [`Hinge`](gelenk_model::joint::Hinge).
    pub(crate) fn look(&self, poses: &[Pose], mut see: impl FnMut(usize, &[f64; ROWS])) {
        for four in &self.fours {
            let [a, b] = four.bodies.map(|own| own.map(|i| &poses[i]));
            let [s_a, s_b] = [a, b].map(|own| V::gather(|k| &own[k].s));
            let [rot_a, rot_b] = [a, b].map(|own| matrices(|k| &own[k].rot));
            let gap = (s_b - s_a) + (rot_b * four.r_b - rot_a * four.r_a);
            let n = rot_a * four.n_a;
            let tilt = [n.dot(rot_b * four.x_b), n.dot(rot_b * four.y_b)].map(F::to_array);
            for (k, (gap, block)) in gap.each().iter().zip(four.blocks).take(four.n).enumerate() {
                see(block, &[gap.x, gap.y, gap.z, tilt[0][k], tilt[1][k]]);
            }
        }
    }
}
