//! The problem of one step in row space, and what the solver asks of the machine.

/// What a block of rows demands of its impulses λ and velocities u = J v + b.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// One row with lo ≤ λ ≤ hi and u = 0 inside, u ≥ 0 at lo, u ≤ 0 at hi. Loops: (−∞, ∞), stops: (0, ∞),
    /// dry friction of a joint: (−hF, hF).
    Scalar {
        /// Least impulse, may be −∞.
        lo: f64,
        /// Largest impulse, may be ∞.
        hi: f64,
    },
    /// Rows n, t₁, t₂, then spin (1) and roll (2) where given. λ_n ≥ 0, |λ_t| ≤ μλ_n, |λ_s| ≤ μ_s λ_n,
    /// |λ_r| ≤ μ_r λ_n; each friction opposes its own slip, u_n ≥ 0 and λ_n u_n = 0.
    Contact {
        /// Coefficient of sliding friction.
        mu: f64,
        /// Coefficient of torsional friction, m.
        spin: Option<f64>,
        /// Coefficient of rolling friction, m.
        roll: Option<f64>,
    },
    /// Rows that take no part: λ = 0, u is free.
    Off {
        /// How many.
        rows: usize,
    },
}

impl Kind {
    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        match *self {
            Kind::Scalar { .. } => 1,
            Kind::Contact { spin, roll, .. } => {
                3 + usize::from(spin.is_some()) + 2 * usize::from(roll.is_some())
            }
            Kind::Off { rows } => rows,
        }
    }

    /// 1 where only pushing is allowed (contacts, lower stops), −1 at upper stops, else 0.
    pub(crate) fn side(&self) -> f64 {
        match *self {
            Kind::Contact { .. } => 1.0,
            Kind::Scalar { lo, hi: f64::INFINITY } if lo.is_finite() => 1.0,
            Kind::Scalar { lo: f64::NEG_INFINITY, hi } if hi.is_finite() => -1.0,
            _ => 0.0,
        }
    }

    /// A row without bounds.
    pub fn is_loop(&self) -> bool {
        matches!(*self, Kind::Scalar { lo, hi } if lo == f64::NEG_INFINITY && hi == f64::INFINITY)
    }
}

/// Friction rows of a contact that share one limit: |λ_g| ≤ μ_g λ_n.
#[derive(Clone, Copy)]
pub(crate) struct Group {
    /// First row, counted from the contact's.
    pub(crate) at: usize,
    /// Rows: 2, 1 or 0 (absent).
    pub(crate) len: usize,
    pub(crate) mu: f64,
}

/// Sliding, torsional and rolling friction of a contact.
pub(crate) fn groups(mu: f64, spin: Option<f64>, roll: Option<f64>) -> [Group; 3] {
    let n_spin = usize::from(spin.is_some());
    [
        Group { at: 1, len: 2, mu },
        Group { at: 3, len: n_spin, mu: spin.unwrap_or(0.0) },
        Group { at: 3 + n_spin, len: 2 * usize::from(roll.is_some()), mu: roll.unwrap_or(0.0) },
    ]
}

/// Consecutive rows under one law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// Index of its first row.
    pub row: usize,
    /// What it demands.
    pub kind: Kind,
    /// Contacts of one pair of bodies: those with the same number share their mean scale K, so that equal points
    /// of a face carry equal forces. 0: alone.
    pub pair: u32,
}

/// M(v − v_f) = Jᵀλ with u = J v + b and one law per block. Plain data: clear it and fill it again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Problem {
    /// The blocks, in the order of their rows.
    pub blocks: Vec<Block>,
    /// b, m/s (gap/h at contacts, 0 within the dead band). (n_rows)
    pub b: Vec<f64>,
    /// The part of the speed that a block asks for which is only wished, m/s: what takes deep overlaps apart. Where Newton's method finds no answer, overlaps
    /// contradict each other mostly, and wishes are given up. (n_blocks)
    pub wish: Vec<f64>,
}

impl Problem {
    /// Empties the problem; its memory stays.
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.b.clear();
        self.wish.clear();
    }

    /// Appends a block of pair `pair` with its `b`, one number per row (missing ones are 0); gives its index.
    pub fn push(&mut self, kind: Kind, pair: u32, b: &[f64]) -> usize {
        let row = self.b.len();
        self.blocks.push(Block { row, kind, pair });
        self.b.extend((0..kind.n_rows()).map(|i| b.get(i).copied().unwrap_or(0.0)));
        self.wish.push(0.0);
        self.blocks.len() - 1
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.b.len()
    }
}

/// Block diagonal matrix A: a dense square block, in general unsymmetric, per block of the problem.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weights {
    /// (first row, rows, start in `data`)
    layout: Vec<(usize, usize, usize)>,
    data: Vec<f64>,
}

impl Weights {
    /// Zero weights for the blocks of a problem.
    pub fn fit(&mut self, blocks: &[Block]) {
        self.layout.clear();
        let mut start = 0;
        for block in blocks {
            let n = block.kind.n_rows();
            self.layout.push((block.row, n, start));
            start += n * n;
        }
        self.data.clear();
        self.data.resize(start, 0.0);
    }

    /// Takes the numbers of `other`, without new memory once it is large enough.
    pub fn copy_from(&mut self, other: &Weights) {
        self.layout.clone_from(&other.layout);
        self.data.clone_from(&other.data);
    }

    /// Every block: its first row, its number of rows n, and its n² entries, row by row.
    pub fn blocks(&self) -> impl Iterator<Item = (usize, usize, &[f64])> {
        self.layout.iter().map(|&(row, n, start)| (row, n, &self.data[start..start + n * n]))
    }

    /// Number of blocks.
    pub fn n_blocks(&self) -> usize {
        self.layout.len()
    }

    /// Entries of block `i`, row by row.
    pub fn block(&self, i: usize) -> &[f64] {
        let (_, n, start) = self.layout[i];
        &self.data[start..start + n * n]
    }

    /// The same, to be changed.
    pub fn block_mut(&mut self, i: usize) -> &mut [f64] {
        let (_, n, start) = self.layout[i];
        &mut self.data[start..start + n * n]
    }

    /// c −= A u.
    pub fn take_away(&self, u: &[f64], c: &mut [f64]) {
        for (row, n, a) in self.blocks() {
            for (c, a) in c[row..row + n].iter_mut().zip(a.chunks_exact(n)) {
                *c -= a.iter().zip(&u[row..row + n]).map(|(a, u)| a * u).sum::<f64>();
            }
        }
    }

    /// λ = c − A u.
    pub(crate) fn apply(&self, c: &[f64], u: &[f64], lambda: &mut [f64]) {
        for (row, n, a) in self.blocks() {
            for i in 0..n {
                let sum: f64 = (0..n).map(|j| a[i * n + j] * u[row + j]).sum();
                lambda[row + i] = c[row + i] - sum;
            }
        }
    }
}

/// The matrix could not be factored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Singular;

/// Response of the machine to impulses on the rows: v = v_f + M⁻¹Jᵀλ.
pub trait Response {
    /// u = J v_f + J M⁻¹Jᵀ λ, without b.
    fn respond(&mut self, lambda: &[f64], u: &mut [f64]);
    /// Factors M + JᵀAJ.
    fn factor(&mut self, a: &Weights) -> Result<(), Singular>;
    /// u = J v with (M + JᵀAJ) v = M v_f + Jᵀc, by the last factor. One refinement belongs in here.
    fn solve(&mut self, c: &[f64], u: &mut [f64]);
    /// Diagonal of J M⁻¹Jᵀ.
    fn diagonal(&mut self, k: &mut [f64]);
}

/// Zeros for `n` rows in every buffer; memory is kept.
pub(crate) fn resize<const N: usize>(buffers: [&mut Vec<f64>; N], n: usize) {
    for buffer in buffers {
        buffer.clear();
        buffer.resize(n, 0.0);
    }
}
