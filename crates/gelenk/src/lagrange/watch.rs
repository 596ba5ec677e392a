//! Whether derived equations pass a singular position, where their loops lose rank and several motions go on.
//!
//! Elimination of the multipliers knows nothing of branches: near such a position the step from one side to the other may end on any of them. In a
//! loop with one freedom, with τ the unit tangent of its positions, which goes on continuously,
//!
//! ```text
//! D = det [ J ; τᵀ ]
//! ```
//! changes its sign where the motion stays on its branch, and does not where it takes another (as for x y = 0: D = −x along y = 0,
//! D = −y along x = 0). Where D is small beside its largest value and the tangent turns by more than a smooth motion does in a step, or the motion is
//! thrown back, the branch was lost.

use gelenk_lagrange::Numeric;
use nalgebra::{DMatrix, DVector};

/// D below this part of its largest value is near a singular position.
const NEAR: f64 = 0.1;
/// A tangent that turns farther than this in a step near a singular position has gone round a corner, rad: the branches of the lying eight and of the
/// coordinate cross meet at 1.57 rad.
const CORNER: f64 = 0.4;
/// D that has been below this part of its largest value was at a singular position, and a motion that comes out of its neighbourhood farther turned than this,
/// rad, came out on another branch.
const DEEP: f64 = 0.01;
const ROUND: f64 = 0.6;
/// A speed that turns round in a step by more than this part of the largest so far was thrown back.
const THROWN: f64 = 0.1;
/// With several freedoms: below this part of its largest value the smallest singular value of J counts as zero.
const LOST: f64 = 1e-7;

/// Memory of the last step.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch {
    /// The tangent, D and the speed along the tangent at the last step.
    last: Option<(DVector<f64>, f64, f64)>,
    /// The largest speed so far.
    fastest: f64,
    /// The direction of the motion at the last step that was not near a singular position, and the smallest |D| since.
    outside: Option<(DVector<f64>, f64)>,
    /// The largest |D|, or smallest singular value, so far.
    most: f64,
    /// The largest size of each row of J so far: a row that vanishes is a loss of rank.
    sizes: Vec<f64>,
}

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passed {
    /// Nothing.
    Nothing,
    /// A singular position, on the branch that the motion came on.
    Singular,
    /// The branch was lost.
    Branch,
}

impl Watch {
    /// Looks at the end of a step.
    pub(super) fn look(&mut self, numeric: &Numeric, y: &[f64], t: f64) -> Passed {
        let (n, m) = (numeric.n(), numeric.n_rows());
        if m == 0 || m > n {
            return Passed::Nothing;
        }
        let (q, qd) = y.split_at(n);
        let (_, mut jac) = numeric.conditions(q, t);
        self.sizes.resize(m, 0.0);
        for (mut row, size) in jac.row_iter_mut().zip(&mut self.sizes) {
            *size = size.max(row.norm());
            if *size > 0.0 {
                row /= *size;
            }
        }
        if m + 1 != n {
            return self.rank(jac);
        }
        let Some(mut tangent) = tangent(&jac) else { return Passed::Nothing };
        if let Some((last, ..)) = &self.last
            && tangent.dot(last) < 0.0
        {
            tangent = -tangent;
        }
        let mut square = jac.insert_row(m, 0.0);
        square.row_mut(m).tr_copy_from(&tangent);
        let d = square.determinant();
        self.most = self.most.max(d.abs());
        let speed: f64 = tangent.iter().zip(qd).map(|(t, v)| t * v).sum();
        self.fastest = self.fastest.max(speed.abs());
        let passed = match &self.last {
            Some((last, before, speed_before)) => {
                let near = d.abs().min(before.abs()) < NEAR * self.most;
                let turn = last.dot(&tangent).clamp(-1.0, 1.0).acos();
                // Thrown back, as by a wall.
                let back = speed * speed_before < 0.0
                    && speed.abs() + speed_before.abs() > THROWN * self.fastest;
                if near && (turn > CORNER || back) {
                    Passed::Branch
                } else if d * before < 0.0 {
                    Passed::Singular
                } else {
                    Passed::Nothing
                }
            }
            None => Passed::Nothing,
        };
        let size = qd.iter().map(|v| v * v).sum::<f64>().sqrt();
        let direction = DVector::from_column_slice(qd) / size.max(f64::MIN_POSITIVE);
        let passed = match &mut self.outside {
            // Within the gaps that joints are closed to, branches are one: it may have turned there in many small steps.
            Some((_, least)) if d.abs() < NEAR * self.most => {
                *least = least.min(d.abs());
                passed
            }
            outside => {
                let turned = outside.as_ref().is_some_and(|(before, least)| {
                    let turn = before.dot(&direction).clamp(-1.0, 1.0).acos();
                    *least < DEEP * self.most && turn > ROUND
                });
                *outside = Some((direction, f64::INFINITY));
                if turned { Passed::Branch } else { passed }
            }
        };
        self.last = Some((tangent, d, speed));
        passed
    }

    /// With several freedoms, or none: whether rank is lost.
    fn rank(&mut self, jac: DMatrix<f64>) -> Passed {
        let least = jac.singular_values().min();
        self.most = self.most.max(least);
        if least < LOST * self.most { Passed::Branch } else { Passed::Nothing }
    }
}

/// The unit vector that n − 1 rows do not see; none where they lose rank.
fn tangent(jac: &DMatrix<f64>) -> Option<DVector<f64>> {
    let n = jac.ncols();
    let square = jac.clone().insert_row(n - 1, 0.0);
    let svd = square.try_svd(false, true, f64::EPSILON, 1000)?;
    let (v_t, sigma) = (svd.v_t?, svd.singular_values);
    let least = (0..n).min_by(|a, b| sigma[*a].total_cmp(&sigma[*b]))?;
    let found = v_t.row(least).transpose();
    found.iter().all(|x| x.is_finite()).then_some(found)
}
