//! How many variables and conditions each stage of a program has, and where they stand in flat vectors.

/// One stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageShape {
    /// Variables w of the stage.
    pub variables: usize,
    /// How many of them, the first ones, the link from the stage before reads.
    pub states: usize,
    /// Equality rows.
    pub equalities: usize,
    /// Inequality rows.
    pub inequalities: usize,
    /// Link rows to the next stage; none at the last.
    pub links: usize,
}

/// A whole program: stages and global variables p.
///
/// Flat vectors of variables hold w of all stages, then p. Flat vectors of equality rows hold, stage by stage, its equalities and its
/// links; those of inequality rows hold the stages' inequalities.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// The stages.
    pub stages: Vec<StageShape>,
    /// Number of global variables.
    pub globals: usize,
    variable_at: Vec<usize>,
    equal_at: Vec<usize>,
    unequal_at: Vec<usize>,
}

impl Shape {
    /// The shape of these stages.
    pub fn new(stages: Vec<StageShape>, globals: usize) -> Self {
        let sums = |count: fn(&StageShape) -> usize| {
            let mut sums = vec![0];
            for stage in &stages {
                sums.push(sums.last().copied().unwrap_or(0) + count(stage));
            }
            sums
        };
        Shape {
            variable_at: sums(|s| s.variables),
            equal_at: sums(|s| s.equalities + s.links),
            unequal_at: sums(|s| s.inequalities),
            stages,
            globals,
        }
    }

    /// Number of all variables.
    pub fn n_variables(&self) -> usize {
        self.global_at() + self.globals
    }

    /// Number of all equality rows, links included.
    pub fn n_equal(&self) -> usize {
        self.equal_at[self.stages.len()]
    }

    /// Number of all inequality rows.
    pub fn n_unequal(&self) -> usize {
        self.unequal_at[self.stages.len()]
    }

    /// Where stage k's variables begin.
    pub fn variable_at(&self, k: usize) -> usize {
        self.variable_at[k]
    }

    /// Where the global variables begin.
    pub fn global_at(&self) -> usize {
        self.variable_at[self.stages.len()]
    }

    /// Where stage k's equalities begin.
    pub fn equal_at(&self, k: usize) -> usize {
        self.equal_at[k]
    }

    /// Where stage k's links begin.
    pub fn link_at(&self, k: usize) -> usize {
        self.equal_at[k] + self.stages[k].equalities
    }

    /// Where stage k's inequalities begin.
    pub fn unequal_at(&self, k: usize) -> usize {
        self.unequal_at[k]
    }

    /// z = (w, p) of stage k.
    pub fn point(&self, x: &[f64], k: usize) -> Vec<f64> {
        let at = self.variable_at[k];
        let mut z = x[at..at + self.stages[k].variables].to_vec();
        z.extend(&x[self.global_at()..]);
        z
    }
}
