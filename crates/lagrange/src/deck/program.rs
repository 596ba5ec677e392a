//! The equations of a system as a program: the mass matrix, what stands beside it, the forces.

use gelenk_expr::{Expr, Node, Pool};

use super::derive::SystemResult;
use crate::code::Program;

impl SystemResult {
    /// Functions of parameters, time, coordinates and rates:
    ///
    /// ```text
    /// mass_matrix  g_ρν, ρ, ν = 1..f, row by row        bias  Γ_ρμν q̇^μ q̇^ν, μ, ν = 0..f        force  Q_ρ
    /// ```
    /// so that mass_matrix q̈ + bias = force. Where there are conditions C = 0, also
    ///
    /// ```text
    /// conditions  C_k        jacobian  ∂C_k/∂q^ρ, row by row        condition_bias  γ_k        condition_rates  Ċ_k
    /// ```
    /// so that mass_matrix q̈ + bias = force + jacobianᵀ λ and jacobian q̈ = condition_bias. Unspecified functions and their derivatives are inputs. With a number of a
    /// replacement list (0: none) for the kinetic energy and for the forces.
    pub fn program(
        &self,
        pool: &mut Pool,
        name: &str,
        kinetics: usize,
        forces: usize,
    ) -> Option<Program> {
        let (kinetics, forces) = (self.kinetics.get(kinetics)?, self.forces.get(forces)?);
        let at = |a: usize, b: usize| kinetics.g[a.max(b)][a.min(b)];
        let matrix: Vec<Expr> =
            (1..=self.f).flat_map(|rho| (1..=self.f).map(move |nu| at(rho, nu))).collect();
        let bias: Vec<Expr> = kinetics
            .gamma
            .iter()
            .map(|plane| {
                let mut terms = Vec::new();
                for (mu, row) in plane.iter().enumerate() {
                    for (nu, &gamma) in row.iter().enumerate().filter(|e| *e.1 != Expr::ZERO) {
                        let twice = if mu == nu { Expr::ONE } else { Expr::TWO };
                        terms.push(pool.mul(&[twice, gamma, self.rates[mu], self.rates[nu]]));
                    }
                }
                pool.add(&terms)
            })
            .collect();
        let conditions: Vec<Expr> = self.conditions.iter().map(|k| k.c).collect();
        let jacobian: Vec<Expr> =
            self.conditions.iter().flat_map(|k| k.slopes[1..].iter().copied()).collect();
        let gamma: Vec<Expr> = self.conditions.iter().map(|k| k.gamma).collect();
        let rates: Vec<Expr> = self
            .conditions
            .iter()
            .map(|k| {
                let terms = k.slopes.iter().zip(&self.rates);
                let terms: Vec<Expr> = terms.map(|(c, rate)| pool.mul(&[*c, *rate])).collect();
                pool.add(&terms)
            })
            .collect();
        let all: Vec<Expr> = matrix
            .iter()
            .chain(&bias)
            .chain(&forces.q)
            .chain(&conditions)
            .chain(&jacobian)
            .chain(&gamma)
            .chain(&rates)
            .copied()
            .collect();
        let moving: Vec<Expr> = self.coordinates.iter().chain(&self.rates[1..]).copied().collect();
        let mut symbols: Vec<Expr> = Vec::new();
        for &e in &all {
            for symbol in pool.symbols_of(e) {
                if !moving.contains(&symbol) && !symbols.contains(&symbol) {
                    symbols.push(symbol);
                }
            }
        }
        symbols.sort_by_key(|&s| pool.rank(s));
        symbols.extend(moving);
        let named = |e: &Expr| match pool.node(*e) {
            Node::Symbol(name) => (name.to_owned(), *e),
            _ => (pool.display(*e).to_string(), *e),
        };
        let about = [
            ("mass_matrix", "g_ij, i, j = 1..f, row by row"),
            ("bias", "Gamma_imn qp_m qp_n, m, n = 0..f, with qp_0 = 1"),
            ("force", "Q_i; mass_matrix*qpp + bias = force"),
            ("conditions", "C_k = 0"),
            ("jacobian", "dC_k/dq_i, row by row; its forces are the multipliers times it"),
            ("condition_bias", "jacobian*qpp = condition_bias"),
            ("condition_rates", "time derivatives of C_k"),
        ];
        let mut outputs = vec![
            ("mass_matrix".into(), matrix),
            ("bias".into(), bias),
            ("force".into(), forces.q.clone()),
        ];
        if !conditions.is_empty() {
            outputs.push(("conditions".into(), conditions));
            outputs.push(("jacobian".into(), jacobian));
            outputs.push(("condition_bias".into(), gamma));
            outputs.push(("condition_rates".into(), rates));
        }
        Some(Program {
            name: name.to_owned(),
            inputs: symbols.iter().map(named).collect(),
            outputs,
            about: about.map(|(name, text)| (name.to_owned(), text.to_owned())).to_vec(),
        })
    }
}
