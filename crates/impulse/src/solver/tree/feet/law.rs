//! The law of contact at feet, by Newton's method.
#![expect(clippy::inline_always, reason = "small kernels in hot loops")]

use super::super::touches::{MOST_SOLVES, Near, SERVES, Side, Taken, stretch_part};
use super::{Feet, Foot, Group, LANES, ROWS, dot};
use crate::lanes::F;
use crate::rows::Rows;
use crate::small;

/// A determinant below this part of the product of its rows is none: the leg does not give way in all directions.
const WEAK: f64 = 1e-8;

/// Pivots of E + Σ W B below this are none.
const WEAK_PIVOT: f64 = 1e-6;

impl Feet {
    /// Newton on the law of contact; the first round takes the sides there are.
    pub(super) fn find(&mut self, rows: &Rows, scale: f64, near: Near) -> bool {
        let (mut before, begun) = (f64::INFINITY, near.begun);
        let mut near = near.rate.max(near.part * scale);
        for round in 0..MOST_SOLVES {
            let take = self.take_sides(rows, round == 0);
            if round == 0 {
                near = near.max(begun * take.off);
            }
            if take.settled(round, scale, near) {
                return true;
            }
            // The matrix changes little while sides stay; while it serves, it is kept.
            let known = self.made && self.made_for.iter().eq(self.feet.iter().map(|f| &f.sides));
            let good = known && take.off <= SERVES * before;
            if !take.off.is_finite() || !good && !self.make() {
                return false;
            }
            before = if good { take.off } else { f64::INFINITY };
            if !good || round == 0 {
                self.gone = 0.0;
            }
            self.step();
        }
        false
    }

    /// Sides of all feet, and how far their impulses are from their projections. What is free is given its impulse at once.
    fn take_sides(&mut self, rows: &Rows, trust: bool) -> Taken {
        let mut taken = Taken { changed: false, slips: false, off: 0.0 };
        let Feet { feet, groups, .. } = self;
        // What was taken from those that are free now.
        let mut shared = [0.0; 6];
        let mut any = false;
        for (i, foot) in feet.iter_mut().enumerate() {
            let (group, lane) = (&mut groups[i / LANES], i % LANES);
            let p = group.p.map(|p| p[lane]);
            let e = group.e.map(|e| e[lane]);
            let before = foot.sides;
            let row = foot.rows[0];
            let x = p[0] - e[0] / foot.k[0];
            let given = x.clamp(rows.lower[row], rows.upper[row]);
            taken.off = taken.off.max((p[0] - given).abs() * foot.k[0]);
            let natural = if x.to_bits() == given.to_bits() { Side::Holds } else { Side::Free };
            let side = if trust && before[0] == Side::Holds { Side::Holds } else { natural };
            taken.changed |= side != before[0] || side != natural;
            let mut next = p;
            if side == Side::Free {
                next[0] = given;
            }
            let x = [1, 2].map(|r| p[r] - e[r] / foot.k[1]);
            let (limit, length) = (foot.ratio * next[0].abs(), small::length(x[0], x[1]));
            let natural = if length <= limit {
                taken.off = taken.off.max(e[1].abs()).max(e[2].abs());
                Side::Holds
            } else {
                let part = if limit > 0.0 { limit / length } else { 0.0 };
                for a in 0..2 {
                    taken.off = taken.off.max((p[1 + a] - part * x[a]).abs() * foot.k[1]);
                }
                if limit > 0.0 { Side::Slips } else { Side::Free }
            };
            let slide = match (trust, before[1]) {
                (true, Side::Slips) if length > 0.0 && limit > 0.0 => Side::Slips,
                (true, Side::Holds) => Side::Holds,
                _ => natural,
            };
            taken.changed |= slide != before[1] || slide != natural;
            taken.slips |= slide == Side::Slips;
            foot.sides = [side, slide];
            if slide == Side::Free {
                (next[1], next[2]) = (0.0, 0.0);
            }
            let delta: [f64; ROWS] = std::array::from_fn(|r| next[r] - p[r]);
            if delta.iter().any(|delta| *delta != 0.0) {
                any = true;
                for r in 0..ROWS {
                    group.p[r][lane] = next[r];
                    for j in 0..ROWS {
                        group.e[j][lane] += group.d[j][r].as_array()[lane] * delta[r];
                    }
                    for k in 0..6 {
                        shared[k] += group.w[r][k].as_array()[lane] * delta[r];
                    }
                }
            }
        }
        if any {
            let shared = shared.map(F::splat);
            for group in groups {
                for r in 0..ROWS {
                    group.e[r] = (F::new(group.e[r]) + dot(&group.w[r], &shared)).to_array();
                }
            }
        }
        taken
    }

    /// A⁻¹, B and the factor of E + Σ W B; false where that is nearly singular.
    fn make(&mut self) -> bool {
        self.plain = self.feet.iter().all(|foot| foot.sides[1] != Side::Slips);
        self.made_for.clear();
        self.made_for.extend(self.feet.iter().map(|foot| foot.sides));
        self.made = false;
        let mut sums = [[F::ZERO; 6]; 6];
        for (group, feet) in self.groups.iter_mut().zip(self.feet.chunks(LANES)) {
            let [a, s] = group.matrices(feet);
            let Some(inverse) = inverted(&a) else { return false };
            // S leaves normal and friction apart.
            let mut is = [[F::ZERO; ROWS]; ROWS];
            for i in 0..ROWS {
                is[i][0] = inverse[i][0] * s[0][0];
                is[i][1] = inverse[i][1] * s[1][1] + inverse[i][2] * s[2][1];
                is[i][2] = inverse[i][1] * s[1][2] + inverse[i][2] * s[2][2];
            }
            let w = &group.w;
            for i in 0..ROWS {
                for k in 0..6 {
                    group.b[i][k] = is[i][0] * w[0][k] + is[i][1] * w[1][k] + is[i][2] * w[2][k];
                }
            }
            group.inverse = inverse;
            let b = &group.b;
            for i in 0..6 {
                for j in 0..6 {
                    sums[i][j] += w[0][i] * b[0][j] + w[1][i] * b[1][j] + w[2][i] * b[2][j];
                }
            }
        }
        let mut shared = sums.map(|row| row.map(F::reduce_add));
        for i in 0..6 {
            shared[i][i] += 1.0;
        }
        for k in 0..6 {
            let pivot = shared[k][k];
            if !(pivot.abs() > WEAK_PIVOT) {
                return false;
            }
            shared[k][k] = 1.0 / pivot;
            for i in k + 1..6 {
                shared[i][k] *= shared[k][k];
                for j in k + 1..6 {
                    shared[i][j] -= shared[i][k] * shared[k][j];
                }
            }
        }
        self.shared = shared;
        self.made = true;
        true
    }

    /// One step of Newton's method with the matrix there is.
    fn step(&mut self) {
        let mut sums = [F::ZERO; 6];
        for (group, feet) in self.groups.iter_mut().zip(self.feet.chunks(LANES)) {
            let right = group.right(feet);
            let inverse = &group.inverse;
            let y: [F; ROWS] = std::array::from_fn(|i| {
                inverse[i][0] * right[0] + inverse[i][1] * right[1] + inverse[i][2] * right[2]
            });
            for k in 0..6 {
                let w = &group.w;
                sums[k] += w[0][k] * y[0] + w[1][k] * y[1] + w[2][k] * y[2];
            }
            group.y = y;
        }
        let mut z = sums.map(F::reduce_add);
        let m = &self.shared;
        for i in 0..6 {
            for k in 0..i {
                z[i] -= m[i][k] * z[k];
            }
        }
        for i in (0..6).rev() {
            for k in i + 1..6 {
                z[i] -= m[i][k] * z[k];
            }
            z[i] *= m[i][i];
        }
        let four = z.map(F::splat);
        let (mut both, mut square) = (F::ZERO, F::ZERO);
        for group in &mut self.groups {
            for r in 0..ROWS {
                let delta = group.y[r] - dot(&group.b[r], &four);
                both += delta * group.last[r];
                square += group.last[r] * group.last[r];
                group.last[r] = delta;
            }
        }
        let mut more = 1.0;
        if !self.plain {
            if self.gone > 0.0 {
                more = stretch_part(both.reduce_add(), square.reduce_add(), self.gone);
            }
            self.gone = more;
        }
        let four = z.map(|z| F::splat(z * more));
        for group in &mut self.groups {
            let delta = group.last.map(|delta| delta * F::splat(more));
            for r in 0..ROWS {
                let d = &group.d[r];
                let own = d[0] * delta[0] + d[1] * delta[1] + d[2] * delta[2];
                group.p[r] = (F::new(group.p[r]) + delta[r]).to_array();
                group.e[r] = (F::new(group.e[r]) + own + dot(&group.w[r], &four)).to_array();
            }
        }
    }
}

impl Group {
    /// A and S of the feet; lanes without one have A = E, S = 0.
    #[inline(always)]
    fn matrices(&self, feet: &[Foot]) -> [[[F; ROWS]; ROWS]; 2] {
        let zero = [[[0.0; LANES]; ROWS]; ROWS];
        let (mut a, mut s) = (zero, zero);
        for r in 0..ROWS {
            a[r][r] = [1.0; LANES];
        }
        let d = |i: usize, j: usize, lane: usize| self.d[i][j].as_array()[lane];
        for (lane, foot) in feet.iter().enumerate() {
            let holds = foot.sides.map(|side| side == Side::Holds);
            for (r, _) in [holds[0], holds[1], holds[1]].iter().enumerate().filter(|(_, h)| **h) {
                for j in 0..ROWS {
                    a[r][j][lane] = d(r, j, lane);
                }
                s[r][r][lane] = 1.0;
            }
            if foot.sides[1] != Side::Slips {
                continue;
            }
            // p − limit x/|x| = 0 with x = p − e/k.
            let (along, length, limit) = self.slip(foot, lane);
            let turn = limit / length;
            let unit = |a: usize, b: usize| f64::from(u8::from(a == b));
            let across = |a: usize, b: usize| turn * (unit(a, b) - along[a] * along[b]);
            for i in 0..2 {
                let own = [0, 1].map(|j| across(i, j) / foot.k[1]);
                for j in 0..ROWS {
                    a[1 + i][j][lane] = own[0] * d(1, j, lane) + own[1] * d(2, j, lane);
                }
                for j in 0..2 {
                    s[1 + i][1 + j][lane] = own[j];
                    a[1 + i][1 + j][lane] += unit(i, j) - across(i, j);
                }
                a[1 + i][0][lane] -= along[i] * foot.ratio * self.p[0][lane].signum();
            }
        }
        [a, s].map(|m| m.map(|row| row.map(F::new)))
    }

    /// What Newton's equations want.
    #[inline(always)]
    fn right(&self, feet: &[Foot]) -> [F; ROWS] {
        let mut right = [[0.0; LANES]; ROWS];
        for (lane, foot) in feet.iter().enumerate() {
            if foot.sides[0] == Side::Holds {
                right[0][lane] = -self.e[0][lane];
            }
            match foot.sides[1] {
                Side::Free => {}
                Side::Holds => {
                    right[1][lane] = -self.e[1][lane];
                    right[2][lane] = -self.e[2][lane];
                }
                Side::Slips => {
                    let (along, _, limit) = self.slip(foot, lane);
                    right[1][lane] = limit * along[0] - self.p[1][lane];
                    right[2][lane] = limit * along[1] - self.p[2][lane];
                }
            }
        }
        right.map(F::new)
    }

    /// Of friction at its edge: the direction of x = p − e/k, its length, and the limit.
    fn slip(&self, foot: &Foot, lane: usize) -> ([f64; 2], f64, f64) {
        let x = [1, 2].map(|r: usize| self.p[r][lane] - self.e[r][lane] / foot.k[1]);
        let length = small::length(x[0], x[1]);
        (x.map(|x| x / length), length, foot.ratio * self.p[0][lane].abs())
    }
}

/// Inverses of four matrices; none where one is nearly singular.
#[inline(always)]
fn inverted(a: &[[F; ROWS]; ROWS]) -> Option<[[F; ROWS]; ROWS]> {
    let minor = |i: usize, j: usize| {
        let (r, s) = ((i + 1) % 3, (i + 2) % 3);
        let (c, d) = ((j + 1) % 3, (j + 2) % 3);
        a[r][c] * a[s][d] - a[r][d] * a[s][c]
    };
    let adjugate: [[F; ROWS]; ROWS] = std::array::from_fn(|i| std::array::from_fn(|j| minor(j, i)));
    let determinant =
        a[0][0] * adjugate[0][0] + a[0][1] * adjugate[1][0] + a[0][2] * adjugate[2][0];
    let most = |row: &[F; ROWS]| row[0].abs().max(row[1].abs()).max(row[2].abs());
    let size = (most(&a[0]) * most(&a[1])) * most(&a[2]);
    let over = determinant.abs() - size * F::splat(WEAK);
    if !over.to_array().iter().all(|over| *over > 0.0) {
        return None;
    }
    let one_over = F::ONE / determinant;
    Some(adjugate.map(|row| row.map(|entry| entry * one_over)))
}
