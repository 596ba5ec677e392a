//! Anderson acceleration: when sweeps converge slowly, the last few tell where they go.

/// How many earlier sweeps it remembers.
const DEPTH: usize = 8;

/// Accelerates a fixed-point iteration p ← G(p).
///
/// With f = G(p) − p and the differences ΔF, ΔG over the last sweeps, the next point is
/// ```text
/// p⁺ = G(p) − ΔG γ,    γ = argmin |f − ΔF γ|
/// ```
/// the point where the sweeps' trend makes f vanish. Plain sweeps need about 1/ε of them where K has an eigenvalue ε
/// (near a singular position, and in long chains); this finds the few slow directions within a few sweeps.
/// \[Walker, Ni 2011\] section 2, type II. The least-squares problem is solved by Gram-Schmidt; directions that add
/// nothing new are left out.
#[derive(Clone, Debug)]
pub struct Anderson {
    /// Length of p.
    n: usize,
    /// Differences stored, and where the next goes.
    stored: usize,
    next: usize,
    /// p, f and G(p) of the sweep before; f and G are there if `has_last`. (n)
    p: Vec<f64>,
    f: Vec<f64>,
    g: Vec<f64>,
    has_last: bool,
    /// ΔF, ΔG and the orthonormal columns Q. (DEPTH × n)
    df: Vec<f64>,
    dg: Vec<f64>,
    q: Vec<f64>,
    /// What to add to G(p). (n)
    delta: Vec<f64>,
}

impl Anderson {
    pub(crate) fn new(n: usize) -> Self {
        let row = || vec![0.0; n];
        let rows = || vec![0.0; n * DEPTH];
        Anderson {
            n,
            stored: 0,
            next: 0,
            p: row(),
            f: row(),
            g: row(),
            has_last: false,
            df: rows(),
            dg: rows(),
            q: rows(),
            delta: row(),
        }
    }

    /// Forgets all earlier sweeps.
    pub(crate) fn reset(&mut self) {
        self.stored = 0;
        self.next = 0;
        self.has_last = false;
    }

    /// Notes p before a sweep; one of another length than before begins anew.
    pub(crate) fn before(&mut self, p: &[f64]) {
        if p.len() != self.n {
            *self = Anderson::new(p.len());
        }
        self.p.copy_from_slice(p);
    }

    /// Given G(p) after the sweep, returns what to add to it.
    pub(crate) fn after(&mut self, g: &[f64]) -> &mut [f64] {
        let n = self.n;
        if self.has_last {
            let at = self.next * n;
            for i in 0..n {
                self.df[at + i] = (g[i] - self.p[i]) - self.f[i];
                self.dg[at + i] = g[i] - self.g[i];
            }
            self.next = (self.next + 1) % DEPTH;
            self.stored = (self.stored + 1).min(DEPTH);
        }
        for i in 0..n {
            self.f[i] = g[i] - self.p[i];
        }
        self.g.copy_from_slice(g);
        self.has_last = true;
        self.solve();
        &mut self.delta
    }

    /// −ΔG γ into `delta`.
    fn solve(&mut self) {
        /// A column of which less than this is new is left out.
        const NEW: f64 = 1e-7;
        let n = self.n;
        let mut r = [[0.0; DEPTH]; DEPTH];
        let mut used = [0; DEPTH];
        let mut count = 0;
        // Newest first: the latest trend counts most.
        for age in 1..=self.stored {
            let column = (self.next + DEPTH - age) % DEPTH;
            let source = &self.df[column * n..][..n];
            let size = norm(source);
            if !(size > 0.0 && size.is_finite()) {
                continue;
            }
            let (done, rest) = self.q.split_at_mut(count * n);
            let q = &mut rest[..n];
            q.copy_from_slice(source);
            for (j, earlier) in done.chunks_exact(n).enumerate() {
                let dot = dot(earlier, q);
                r[j][count] = dot;
                for (x, y) in q.iter_mut().zip(earlier) {
                    *x -= dot * y;
                }
            }
            let left = norm(q);
            if left <= NEW * size {
                continue;
            }
            for x in q.iter_mut() {
                *x /= left;
            }
            r[count][count] = left;
            used[count] = column;
            count += 1;
        }
        let mut gamma = [0.0; DEPTH];
        for i in (0..count).rev() {
            let mut sum = dot(&self.q[i * n..][..n], &self.f);
            for j in i + 1..count {
                sum -= r[i][j] * gamma[j];
            }
            gamma[i] = sum / r[i][i];
        }
        self.delta.fill(0.0);
        for i in 0..count {
            let dg = &self.dg[used[i] * n..][..n];
            for (x, y) in self.delta.iter_mut().zip(dg) {
                *x -= gamma[i] * y;
            }
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slow modes 1 − 1e-3 and 1 − 1e-5 beside fast ones: a handful of sweeps, not a million.
    #[test]
    fn finds_slow_modes_at_once() {
        let rates = [0.3, 0.5, 1.0 - 1e-3, -0.4, 1.0 - 1e-5];
        let target = [1.0, -2.0, 3.0, 0.5, -0.25];
        let mut p = [0.0; 5];
        let mut anderson = Anderson::new(5);
        for _ in 0..10 {
            anderson.before(&p);
            for i in 0..5 {
                p[i] = target[i] + rates[i] * (p[i] - target[i]);
            }
            let delta = anderson.after(&p);
            for i in 0..5 {
                p[i] += delta[i];
            }
        }
        for i in 0..5 {
            assert!((p[i] - target[i]).abs() < 1e-6, "{i}: {}", p[i]);
        }
    }
}
