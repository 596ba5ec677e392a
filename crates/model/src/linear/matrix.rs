//! A sparse matrix in blocks of rows and groups of columns.

/// A sparse matrix stored by blocks of rows; columns come in groups, one a body.
#[derive(Clone, Debug)]
pub(crate) struct BlockMatrix {
    /// First column of each group, and last the number of columns. (n_groups + 1)
    pub(crate) first_column: Vec<usize>,
    /// The blocks, in the order of their rows.
    pub(crate) blocks: Vec<Block>,
}

/// Some rows and the groups in which they have entries.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// Groups it touches, each once.
    pub(crate) groups: Vec<usize>,
    /// Its first row.
    pub(crate) first_row: usize,
    /// Number of rows.
    pub(crate) n_rows: usize,
    /// Also holds to something without columns: its groups are better eliminated late.
    pub(crate) grounded: bool,
    /// Entries, row-major, over the columns of `groups` in their order.
    pub(crate) values: Vec<f64>,
}

impl BlockMatrix {
    pub(crate) fn n_columns(&self) -> usize {
        self.first_column.last().copied().unwrap_or(0)
    }

    pub(crate) fn n_groups(&self) -> usize {
        self.first_column.len().saturating_sub(1)
    }

    pub(crate) fn n_rows(&self) -> usize {
        self.blocks.last().map_or(0, |block| block.first_row + block.n_rows)
    }

    /// Number of columns of a group.
    pub(crate) fn width(&self, group: usize) -> usize {
        self.first_column[group + 1] - self.first_column[group]
    }

    /// The columns of a block, in the order of its entries.
    pub(crate) fn columns<'a>(&'a self, block: &'a Block) -> impl Iterator<Item = usize> + 'a {
        block.groups.iter().flat_map(|&g| self.first_column[g]..self.first_column[g + 1])
    }

    /// y = A x. (n_rows)
    pub(crate) fn multiply(&self, x: &[f64]) -> Vec<f64> {
        let mut y = vec![0.0; self.n_rows()];
        for block in &self.blocks {
            let columns: Vec<usize> = self.columns(block).collect();
            for i in 0..block.n_rows {
                let row = &block.values[i * columns.len()..(i + 1) * columns.len()];
                y[block.first_row + i] = columns.iter().zip(row).map(|(&j, a)| a * x[j]).sum();
            }
        }
        y
    }

    /// x = Aᵀ y. (n_columns)
    pub(crate) fn multiply_transposed(&self, y: &[f64]) -> Vec<f64> {
        let mut x = vec![0.0; self.n_columns()];
        for block in &self.blocks {
            let columns: Vec<usize> = self.columns(block).collect();
            for i in 0..block.n_rows {
                let row = &block.values[i * columns.len()..(i + 1) * columns.len()];
                for (&j, a) in columns.iter().zip(row) {
                    x[j] += a * y[block.first_row + i];
                }
            }
        }
        x
    }

    /// Multiplies row i by `factor[i]`.
    pub(crate) fn scale_rows(&mut self, factor: &[f64]) {
        for block in &mut self.blocks {
            let width = block.values.len() / block.n_rows.max(1);
            for i in 0..block.n_rows {
                for a in &mut block.values[i * width..(i + 1) * width] {
                    *a *= factor[block.first_row + i];
                }
            }
        }
    }

    /// Sets the rows for which `cleared` holds to zero.
    pub(crate) fn clear_rows(&mut self, cleared: impl Fn(usize) -> bool) {
        for block in &mut self.blocks {
            let width = block.values.len() / block.n_rows.max(1);
            for i in (0..block.n_rows).filter(|i| cleared(block.first_row + i)) {
                block.values[i * width..(i + 1) * width].fill(0.0);
            }
        }
    }

    /// Euclidean length of each row. (n_rows)
    pub(crate) fn row_norms(&self) -> Vec<f64> {
        let mut norms = Vec::with_capacity(self.n_rows());
        for block in &self.blocks {
            let width = block.values.len() / block.n_rows.max(1);
            for i in 0..block.n_rows {
                let row = &block.values[i * width..(i + 1) * width];
                norms.push(row.iter().map(|a| a * a).sum::<f64>().sqrt());
            }
        }
        norms
    }
}
