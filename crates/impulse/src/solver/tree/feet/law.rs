//! The law of contact at feet, by Newton's method.
#![expect(clippy::inline_always, reason = "small kernels in hot loops")]

use super::super::touches::{MOST_SOLVES, Near, SERVES, Taken, stretch_part};
use super::{Feet, Group, ROWS, Sides, add_dot, dot, dot_of, largest};
use crate::lanes::{F, less, mul_add, mul_sub};

/// A determinant below this part of the product of its rows is none: the leg does not give way in all directions.
const WEAK: f64 = 1e-8;

/// Pivots of E + Σ W B below this are none.
const WEAK_PIVOT: f64 = 1e-6;

impl Feet {
    /// Newton on the law of contact; the first round takes the sides there are.
    pub(super) fn find(&mut self, scale: f64, near: Near) -> bool {
        let (mut before, begun) = (f64::INFINITY, near.begun);
        let mut near = near.rate.max(near.part * scale);
        for round in 0..MOST_SOLVES {
            let take = self.take_sides(round == 0);
            if round == 0 {
                near = near.max(begun * take.off);
            }
            if take.settled(round, scale, near) {
                return true;
            }
            // The matrix changes little while sides stay; while it serves, it is kept.
            let sides = self.groups.iter().map(|group| group.sides.bits());
            let good =
                self.made && self.made_for.iter().copied().eq(sides) && take.off <= SERVES * before;
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
    fn take_sides(&mut self, trust: bool) -> Taken {
        let (mut off, mut changed, mut slips) = (F::ZERO, 0, 0);
        // What was taken from those that are free now.
        let mut shared = [F::ZERO; 6];
        let mut any = false;
        for group in &mut self.groups {
            let (next, own_off, other) = group.take_sides(trust);
            off = off.fast_max(own_off);
            changed |= other.to_bitmask();
            slips |= group.sides.slips.to_bitmask();
            let delta: [F; ROWS] = std::array::from_fn(|r| next[r] - group.p[r]);
            let moves = delta.map(|delta| delta.simd_ne(F::ZERO).to_bitmask());
            if moves != [0; ROWS] {
                any = true;
                group.p = next;
                for j in 0..ROWS {
                    group.e[j] = add_dot(group.e[j], group.d[j], &delta);
                }
                let w = &group.w;
                for k in 0..6 {
                    shared[k] = add_dot(shared[k], [w[0][k], w[1][k], w[2][k]], &delta);
                }
            }
        }
        if any {
            let shared = shared.map(|sum| F::splat(sum.reduce_add()));
            for group in &mut self.groups {
                for r in 0..ROWS {
                    group.e[r] += dot(&group.w[r], &shared);
                }
            }
        }
        let sum = off.reduce_add();
        let off = if sum.is_finite() { largest(off) } else { f64::NAN };
        Taken { changed: changed != 0, slips: slips != 0, off }
    }

    /// A⁻¹, B and the factor of E + Σ W B; false where that is nearly singular.
    fn make(&mut self) -> bool {
        self.plain = self.groups.iter().all(|group| group.sides.slips.to_bitmask() == 0);
        self.made_for.clear();
        self.made_for.extend(self.groups.iter().map(|group| group.sides.bits()));
        self.made = false;
        let mut sums = [[F::ZERO; 6]; 6];
        for group in &mut self.groups {
            let [a, s] = group.matrices();
            let Some(inverse) = inverted(&a) else { return false };
            // S leaves normal and friction apart.
            let mut is = [[F::ZERO; ROWS]; ROWS];
            for i in 0..ROWS {
                is[i][0] = inverse[i][0] * s[0][0];
                is[i][1] = mul_add(inverse[i][2], s[2][1], inverse[i][1] * s[1][1]);
                is[i][2] = mul_add(inverse[i][2], s[2][2], inverse[i][1] * s[1][2]);
            }
            let w = &group.w;
            for i in 0..ROWS {
                for k in 0..6 {
                    group.b[i][k] = dot_of(is[i], &[w[0][k], w[1][k], w[2][k]]);
                }
            }
            group.inverse = inverse;
            let b = &group.b;
            for i in 0..6 {
                let w = [w[0][i], w[1][i], w[2][i]];
                // Symmetric where nothing slips.
                for j in 0..if self.plain { i + 1 } else { 6 } {
                    sums[i][j] = add_dot(sums[i][j], w, &[b[0][j], b[1][j], b[2][j]]);
                }
            }
        }
        let mut shared = [[0.0; 6]; 6];
        for i in 0..6 {
            for j in 0..6 {
                shared[i][j] = if self.plain && j > i { 0.0 } else { sums[i][j].reduce_add() };
            }
        }
        for i in 0..if self.plain { 6 } else { 0 } {
            for j in 0..i {
                shared[j][i] = shared[i][j];
            }
        }
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
                    shared[i][j] = (-shared[i][k]).mul_add(shared[k][j], shared[i][j]);
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
        for group in &mut self.groups {
            let right = group.right();
            let inverse = &group.inverse;
            let y: [F; ROWS] = std::array::from_fn(|i| dot_of(inverse[i], &right));
            for k in 0..6 {
                let w = &group.w;
                sums[k] = add_dot(sums[k], [w[0][k], w[1][k], w[2][k]], &y);
            }
            group.y = y;
        }
        let mut z = sums.map(F::reduce_add);
        let m = &self.shared;
        for i in 0..6 {
            for k in 0..i {
                z[i] = (-m[i][k]).mul_add(z[k], z[i]);
            }
        }
        for i in (0..6).rev() {
            for k in i + 1..6 {
                z[i] = (-m[i][k]).mul_add(z[k], z[i]);
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
                group.p[r] += delta[r];
                group.e[r] += add_dot(dot(&group.w[r], &four), group.d[r], &delta);
            }
        }
    }
}

impl Group {
    /// Sides: what the impulses are to be where they are free, how far they are from their projections, and lanes where a side is another than before, or
    /// not the natural one.
    #[inline(always)]
    fn take_sides(&mut self, trust: bool) -> ([F; ROWS], F, F) {
        let Group { p, e, k, k_inv, there, .. } = *self;
        let before = self.sides;
        let trust = if trust { there } else { F::ZERO };
        let x = p[0] - e[0] * k_inv[0];
        let given = x.fast_max(self.bounds[0]).fast_min(self.bounds[1]);
        let mut off = (p[0] - given).abs() * k[0];
        let natural = x.simd_eq(given) & there;
        let normal = natural | (trust & before.normal);
        let mut changed = (normal ^ before.normal) | (normal ^ natural);
        let first = normal.bitselect(p[0], given);
        let x = [1, 2].map(|r: usize| less(p[r], e[r], k_inv[1]));
        let length = mul_add(x[1], x[1], x[0] * x[0]).sqrt();
        let limit = self.ratio * first.abs();
        let inside = length.simd_le(limit);
        let pushes = limit.simd_gt(F::ZERO);
        // Within the disk rates are to vanish; outside the impulse is to be at its edge.
        let part = pushes.bitselect(limit / length, F::ZERO);
        for a in 0..2 {
            let far = (p[1 + a] - part * x[a]).abs() * k[1];
            off = off.fast_max(inside.bitselect(e[1 + a].abs(), far) & there);
        }
        let natural_holds = inside & there;
        let natural_slips = pushes & !inside & there;
        let keeps = trust & before.holds;
        let slides = trust & before.slips & length.simd_gt(F::ZERO) & pushes;
        let holds = keeps | (natural_holds & !slides);
        let slips = slides | (natural_slips & !keeps);
        changed = changed | (holds ^ before.holds) | (slips ^ before.slips);
        changed = changed | (holds ^ natural_holds) | (slips ^ natural_slips);
        self.sides = Sides { normal, holds, slips };
        let acts = holds | slips;
        ([first, p[1] & acts, p[2] & acts], off & there, changed)
    }

    /// A and S of the feet; where nothing holds A = E, S = 0.
    #[inline(always)]
    fn matrices(&self) -> [[[F; ROWS]; ROWS]; 2] {
        let Sides { normal, holds, slips } = self.sides;
        let (d, unit) = (&self.d, |i: usize, j: usize| if i == j { F::ONE } else { F::ZERO });
        let (mut a, mut s) = ([[F::ZERO; ROWS]; ROWS], [[F::ZERO; ROWS]; ROWS]);
        for j in 0..ROWS {
            a[0][j] = normal.bitselect(d[0][j], unit(0, j));
            a[1][j] = holds.bitselect(d[1][j], unit(1, j));
            a[2][j] = holds.bitselect(d[2][j], unit(2, j));
        }
        s[0][0] = normal & F::ONE;
        s[1][1] = holds & F::ONE;
        s[2][2] = s[1][1];
        if slips.to_bitmask() == 0 {
            return [a, s];
        }
        // p − limit x/|x| = 0 with x = p − e/k.
        let (along, length, limit) = self.slip();
        let turn = limit / length;
        let sign = self.p[0].simd_gt(F::ZERO).bitselect(self.ratio, -self.ratio);
        for i in 0..2 {
            let across = [0, 1].map(|j| turn * (unit(i, j) - along[i] * along[j]));
            let own = across.map(|across| across * self.k_inv[1]);
            let mut row: [F; ROWS] = std::array::from_fn(|j| own[0] * d[1][j] + own[1] * d[2][j]);
            for j in 0..2 {
                row[1 + j] += unit(i, j) - across[j];
                s[1 + i][1 + j] = slips.bitselect(own[j], s[1 + i][1 + j]);
            }
            row[0] -= along[i] * sign;
            for j in 0..ROWS {
                a[1 + i][j] = slips.bitselect(row[j], a[1 + i][j]);
            }
        }
        [a, s]
    }

    /// What Newton's equations want.
    #[inline(always)]
    fn right(&self) -> [F; ROWS] {
        let Sides { normal, holds, slips } = self.sides;
        let mut right = [normal & -self.e[0], holds & -self.e[1], holds & -self.e[2]];
        if slips.to_bitmask() != 0 {
            let (along, _, limit) = self.slip();
            for i in 0..2 {
                right[1 + i] = slips.bitselect(limit * along[i] - self.p[1 + i], right[1 + i]);
            }
        }
        right
    }

    /// Of friction at its edge: the direction of x = p − e/k, its length, and the limit.
    #[inline(always)]
    fn slip(&self) -> ([F; 2], F, F) {
        let x = [1, 2].map(|r: usize| self.p[r] - self.e[r] * self.k_inv[1]);
        let length = (x[0] * x[0] + x[1] * x[1]).sqrt();
        (x.map(|x| x / length), length, self.ratio * self.p[0].abs())
    }
}

/// Inverses of four matrices; none where one is nearly singular.
#[inline(always)]
fn inverted(a: &[[F; ROWS]; ROWS]) -> Option<[[F; ROWS]; ROWS]> {
    let minor = |i: usize, j: usize| {
        let (r, s) = ((i + 1) % 3, (i + 2) % 3);
        let (c, d) = ((j + 1) % 3, (j + 2) % 3);
        mul_sub(a[r][c], a[s][d], a[r][d] * a[s][c])
    };
    let adjugate: [[F; ROWS]; ROWS] = std::array::from_fn(|i| std::array::from_fn(|j| minor(j, i)));
    let determinant = dot_of(a[0], &[adjugate[0][0], adjugate[1][0], adjugate[2][0]]);
    let most = |row: &[F; ROWS]| row[0].abs().max(row[1].abs()).max(row[2].abs());
    let size = (most(&a[0]) * most(&a[1])) * most(&a[2]);
    let over = determinant.abs() - size * F::splat(WEAK);
    if !over.to_array().iter().all(|over| *over > 0.0) {
        return None;
    }
    let one_over = F::ONE / determinant;
    Some(adjugate.map(|row| row.map(|entry| entry * one_over)))
}
