//! The machine as dense matrices, and problem files, for tests and the example.
#![allow(dead_code)]

pub(crate) mod npz;

use gelenk_law::{Problem, Response, Singular, Weights};

/// A dense square matrix factored with partial pivoting, rows and columns scaled by 1/√|diagonal|.
#[derive(Clone, Default)]
pub(crate) struct Lu {
    n: usize,
    a: Vec<f64>,
    lu: Vec<f64>,
    scale: Vec<f64>,
    pivots: Vec<usize>,
    residual: Vec<f64>,
}

impl Lu {
    fn factor(&mut self) -> Result<(), Singular> {
        let n = self.n;
        for i in 0..n {
            self.scale[i] = 1.0 / (self.a[i * n + i].abs() + 1e-300).sqrt();
        }
        for i in 0..n {
            for j in 0..n {
                self.lu[i * n + j] = self.a[i * n + j] * self.scale[i] * self.scale[j];
            }
        }
        for k in 0..n {
            let mut best = k;
            for i in k + 1..n {
                if self.lu[i * n + k].abs() > self.lu[best * n + k].abs() {
                    best = i;
                }
            }
            self.pivots[k] = best;
            if best != k {
                (0..n).for_each(|j| self.lu.swap(k * n + j, best * n + j));
            }
            let pivot = self.lu[k * n + k];
            if !(pivot.abs() > 0.0 && pivot.is_finite()) {
                return Err(Singular);
            }
            let (above, below) = self.lu.split_at_mut((k + 1) * n);
            let row = &above[k * n..];
            for other in below.chunks_exact_mut(n) {
                let f = other[k] / pivot;
                other[k] = f;
                if f != 0.0 {
                    other[k + 1..].iter_mut().zip(&row[k + 1..n]).for_each(|(x, y)| *x -= f * y);
                }
            }
        }
        Ok(())
    }

    fn substitute(&self, x: &mut [f64]) {
        let n = self.n;
        x.iter_mut().zip(&self.scale).for_each(|(x, s)| *x *= s);
        for k in 0..n {
            x.swap(k, self.pivots[k]);
        }
        for i in 0..n {
            let sum: f64 = (0..i).map(|j| self.lu[i * n + j] * x[j]).sum();
            x[i] -= sum;
        }
        for i in (0..n).rev() {
            let sum: f64 = (i + 1..n).map(|j| self.lu[i * n + j] * x[j]).sum();
            x[i] = (x[i] - sum) / self.lu[i * n + i];
        }
        x.iter_mut().zip(&self.scale).for_each(|(x, s)| *x *= s);
    }

    /// x = a⁻¹ r with one refinement.
    fn solve(&mut self, r: &[f64], x: &mut [f64]) {
        let n = self.n;
        x.copy_from_slice(r);
        self.substitute(x);
        let mut residual = std::mem::take(&mut self.residual);
        for i in 0..n {
            residual[i] = r[i] - (0..n).map(|j| self.a[i * n + j] * x[j]).sum::<f64>();
        }
        self.substitute(&mut residual);
        x.iter_mut().zip(&residual).for_each(|(x, d)| *x += d);
        self.residual = residual;
    }
}

/// Dense M and J of a problem.
#[derive(Clone, Default)]
pub(crate) struct Dense {
    pub(crate) n: usize,
    pub(crate) mass: Vec<f64>,
    pub(crate) vf: Vec<f64>,
    /// One row of n numbers per row of the problem.
    pub(crate) jac: Vec<f64>,
    /// M⁻¹Jᵀ, one row of n numbers per row of the problem.
    pub(crate) a: Vec<f64>,
    lu: Lu,
    rhs: Vec<f64>,
    v: Vec<f64>,
}

impl Dense {
    pub(crate) fn new(mass: Vec<f64>, vf: Vec<f64>, jac: Vec<f64>) -> Self {
        let n = vf.len();
        let lu = Lu {
            n,
            a: mass.clone(),
            lu: vec![0.0; n * n],
            scale: vec![0.0; n],
            pivots: vec![0; n],
            residual: vec![0.0; n],
        };
        let mut dense = Self {
            n,
            mass,
            vf,
            a: vec![0.0; jac.len()],
            jac,
            lu,
            rhs: vec![0.0; n],
            v: vec![0.0; n],
        };
        dense.lu.factor().expect("the mass matrix is regular");
        if n > 0 {
            for (row, a) in dense.jac.chunks_exact(n).zip(dense.a.chunks_exact_mut(n)) {
                dense.lu.solve(row, a);
            }
        }
        dense
    }

    /// v = v_f + M⁻¹Jᵀλ.
    pub(crate) fn velocity(&self, lambda: &[f64]) -> Vec<f64> {
        let mut v = self.vf.clone();
        for (i, &l) in lambda.iter().enumerate() {
            (0..self.n).for_each(|j| v[j] += self.a[i * self.n + j] * l);
        }
        v
    }

    /// J v + b.
    pub(crate) fn rows(&self, v: &[f64], b: &[f64]) -> Vec<f64> {
        let row = |i: usize| (0..self.n).map(|j| self.jac[i * self.n + j] * v[j]).sum::<f64>();
        (0..b.len()).map(|i| row(i) + b[i]).collect()
    }

    pub(crate) fn kinetic(&self, v: &[f64]) -> f64 {
        let n = self.n;
        let row = |i: usize| (0..n).map(|j| self.mass[i * n + j] * v[j]).sum::<f64>();
        0.5 * (0..n).map(|i| v[i] * row(i)).sum::<f64>()
    }

    /// Rounding of u: 2e-16 (max Σ|G||λ| + max|v_f|), as the prototype of this solver counts it.
    pub(crate) fn floor(&self, lambda: &[f64]) -> f64 {
        let n = self.n;
        let mut largest = 0.0_f64;
        for i in 0..lambda.len() {
            let mut sum = 0.0;
            for (j, l) in lambda.iter().enumerate() {
                let g: f64 = (0..n).map(|k| self.jac[i * n + k] * self.a[j * n + k]).sum();
                sum += g.abs() * l.abs();
            }
            largest = largest.max(sum);
        }
        2e-16 * (largest + self.vf.iter().fold(0.0_f64, |m, x| m.max(x.abs())))
    }
}

impl Response for Dense {
    fn respond(&mut self, lambda: &[f64], u: &mut [f64]) {
        let n = self.n;
        self.v.copy_from_slice(&self.vf);
        for (i, &l) in lambda.iter().enumerate() {
            let a = &self.a[i * n..(i + 1) * n];
            self.v.iter_mut().zip(a).for_each(|(v, a)| *v += a * l);
        }
        for (i, u) in u.iter_mut().enumerate() {
            *u = self.jac[i * n..(i + 1) * n].iter().zip(&self.v).map(|(j, v)| j * v).sum();
        }
    }

    fn factor(&mut self, weights: &Weights) -> Result<(), Singular> {
        let n = self.n;
        self.lu.a.copy_from_slice(&self.mass);
        for (row, size, a) in weights.blocks() {
            for i in 0..size {
                // rhs = row i of A J.
                self.rhs.fill(0.0);
                for j in 0..size {
                    let f = a[i * size + j];
                    if f != 0.0 {
                        let jac = &self.jac[(row + j) * n..(row + j + 1) * n];
                        self.rhs.iter_mut().zip(jac).for_each(|(x, y)| *x += f * y);
                    }
                }
                for k in 0..n {
                    let f = self.jac[(row + i) * n + k];
                    if f != 0.0 {
                        let line = &mut self.lu.a[k * n..(k + 1) * n];
                        line.iter_mut().zip(&self.rhs).for_each(|(x, y)| *x += f * y);
                    }
                }
            }
        }
        self.lu.factor()
    }

    fn solve(&mut self, c: &[f64], u: &mut [f64]) {
        let n = self.n;
        for i in 0..n {
            self.rhs[i] = (0..n).map(|j| self.mass[i * n + j] * self.vf[j]).sum();
        }
        for (i, &c) in c.iter().enumerate() {
            let jac = &self.jac[i * n..(i + 1) * n];
            self.rhs.iter_mut().zip(jac).for_each(|(x, j)| *x += j * c);
        }
        self.lu.solve(&self.rhs, &mut self.v);
        for (i, u) in u.iter_mut().enumerate() {
            *u = self.jac[i * n..(i + 1) * n].iter().zip(&self.v).map(|(j, v)| j * v).sum();
        }
    }

    fn diagonal(&mut self, k: &mut [f64]) {
        let n = self.n;
        for (i, k) in k.iter_mut().enumerate() {
            let rows = self.jac[i * n..(i + 1) * n].iter().zip(&self.a[i * n..(i + 1) * n]);
            *k = rows.map(|(j, a)| j * a).sum();
        }
    }
}

/// The residual of the law, m/s, written apart from the solver's: scalar rows and contacts of three rows.
pub(crate) fn residual(dense: &Dense, problem: &Problem, lambda: &[f64]) -> f64 {
    use gelenk_law::Kind;
    let u = dense.rows(&dense.velocity(lambda), &problem.b);
    let n = dense.n;
    let k = |i: usize| (0..n).map(|j| dense.jac[i * n + j] * dense.a[i * n + j]).sum::<f64>();
    let loops = problem.blocks.iter().filter(|block| block.kind.is_loop());
    let largest = loops.fold(0.0_f64, |m, block| m.max(k(block.row)));
    let mut r = 0.0_f64;
    for block in &problem.blocks {
        let i = block.row;
        match block.kind {
            Kind::Off { .. } => {}
            Kind::Scalar { lo, hi } => {
                let floor = if block.kind.is_loop() { 0.01 * largest } else { 1e-14 };
                let k = k(i).max(floor);
                r = r.max(k * (lambda[i] - (lambda[i] - u[i] / k).max(lo).min(hi)).abs());
            }
            Kind::Contact { mu, .. } => {
                let k = ((k(i) + k(i + 1) + k(i + 2)) / 3.0).max(1e-14);
                let slip = u[i + 1].hypot(u[i + 2]);
                let z = [
                    lambda[i] - (u[i] + mu * slip) / k,
                    lambda[i + 1] - u[i + 1] / k,
                    lambda[i + 2] - u[i + 2] / k,
                ];
                let t = z[1].hypot(z[2]);
                let p = if t <= mu * z[0] {
                    z
                } else {
                    let s = ((z[0] + mu * t) / (1.0 + mu * mu)).max(0.0);
                    let f = if t > 0.0 { mu * s / t } else { 0.0 };
                    [s, f * z[1], f * z[2]]
                };
                (0..3).for_each(|j| r = r.max(k * (lambda[i + j] - p[j]).abs()));
            }
        }
    }
    r
}

/// Free rigid bodies with diagonal inertia, as unknowns (ṡ, ω) of each; rows are added one block at a time.
#[derive(Default)]
pub(crate) struct Bodies {
    pub(crate) mass: Vec<[f64; 6]>,
    pub(crate) vf: Vec<f64>,
    rows: Vec<Vec<f64>>,
    pub(crate) problem: Problem,
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

impl Bodies {
    /// A body of mass m and inertia j about its axes, with velocity v.
    pub(crate) fn body(&mut self, m: f64, j: f64, v: [f64; 6]) -> usize {
        self.mass.push([m, m, m, j, j, j]);
        self.vf.extend(v);
        self.mass.len() - 1
    }

    /// Row of the velocity at offset r from body centres along d; ends are (body, offset), the second is positive.
    fn point(&mut self, ends: &[(usize, [f64; 3], f64)], d: [f64; 3], turn: bool) {
        let mut row = vec![0.0; self.vf.len()];
        for &(body, r, sign) in ends {
            let arm = if turn { d } else { cross(r, d) };
            for k in 0..3 {
                row[6 * body + k] += if turn { 0.0 } else { sign * d[k] };
                row[6 * body + 3 + k] += sign * arm[k];
            }
        }
        self.rows.push(row);
    }

    /// A block whose first three rows are n, t₁, t₂ (or n alone); spin and roll turn about n, t₁, t₂.
    pub(crate) fn touch(
        &mut self,
        kind: gelenk_law::Kind,
        pair: u32,
        ends: &[(usize, [f64; 3], f64)],
        n: [f64; 3],
        b: f64,
    ) -> usize {
        let other = if n[0].abs() < 0.6 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
        let t1 = cross(n, other);
        let length = t1.iter().map(|x| x * x).sum::<f64>().sqrt();
        let t1 = t1.map(|x| x / length);
        let t2 = cross(n, t1);
        self.point(ends, n, false);
        if let gelenk_law::Kind::Contact { spin, roll, .. } = kind {
            self.point(ends, t1, false);
            self.point(ends, t2, false);
            if spin.is_some() {
                self.point(ends, n, true);
            }
            if roll.is_some() {
                self.point(ends, t1, true);
                self.point(ends, t2, true);
            }
        }
        self.problem.push(kind, pair, &[b])
    }

    pub(crate) fn dense(&self) -> Dense {
        let n = self.vf.len();
        let mut mass = vec![0.0; n * n];
        self.mass.iter().flatten().enumerate().for_each(|(i, m)| mass[i * n + i] = *m);
        let mut jac = Vec::new();
        for row in &self.rows {
            jac.extend(row.iter().copied().chain(std::iter::repeat_n(0.0, n - row.len())));
        }
        Dense::new(mass, self.vf.clone(), jac)
    }
}

/// Numbers in (−1, 1), the same on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    pub(crate) fn unit(&mut self) -> [f64; 3] {
        loop {
            let v = [self.next(), self.next(), self.next()];
            let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
            if length > 0.1 && length < 1.0 {
                return v.map(|x| x / length);
            }
        }
    }
}
