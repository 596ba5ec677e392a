//! How near conditions are to a loss of rank.

use gelenk_model::factor::{Factor, ResponseRows};
use gelenk_model::math::Vec3;
use gelenk_model::{Model, Twist};

/// μ = 1/|D^½ K⁻¹ J w| for three vectors w of about unit length in the norm of M, D the largest diagonal of K so far (`sizes`): of the order of the smallest
/// singular value of D^−½ J M^−½.
///
/// `rows` have M⁻¹ with [`gelenk_model::Body::inertia_inv_even`] where thin rods are held. `damped` is a factor of K + ε diag K at the present rows, so that redundant rows share and say nothing.
pub fn nearness(
    model: &Model,
    rows: &impl ResponseRows,
    damped: &mut Factor,
    sizes: &mut Vec<f64>,
) -> f64 {
    let n_rows = model.n_rows();
    let blocks = || (0..model.rows.len()).filter(|k| !rows.is_out(*k));
    sizes.resize(n_rows, 0.0);
    for block in blocks() {
        let place = rows.place(block);
        let width = 6 * place.n_bodies;
        for i in 0..place.n_rows {
            let range = place.jac + i * width..place.jac + (i + 1) * width;
            let pairs = rows.jac()[range.clone()].iter().zip(&rows.response()[range]);
            let size = &mut sizes[place.first_row + i];
            *size = size.max(pairs.map(|(j, r)| j * r).sum());
        }
    }
    let (mut e, mut x) = (vec![0.0; n_rows], vec![0.0; n_rows]);
    let mut most = 0.0_f64;
    for (a, b, c) in [(1.0, 0.7, 0.4), (-0.4, 1.0, 0.7), (0.7, -0.4, 1.0)] {
        let twists: Vec<Twist> = (model.bodies.iter().enumerate())
            .map(|(k, body)| {
                if body.fixed {
                    return Twist::zero();
                }
                let part = 1.0 + 0.5 * ((k % 3) as f64);
                let turn =
                    Vec3::new(b, c, -a).component_mul(&body.inertia_inv_even().map(f64::sqrt));
                let push = Vec3::new(a, b, c) * body.mass_inv.sqrt();
                Twist { s_dot: push * part, omega: turn * part }
            })
            .collect();
        e.fill(0.0);
        for block in blocks() {
            let place = rows.place(block);
            for i in 0..place.n_rows {
                let start = place.jac + i * 6 * place.n_bodies;
                for (slot, body) in rows.bodies(block).iter().enumerate() {
                    let j = &rows.jac()[start + 6 * slot..][..6];
                    let Twist { s_dot, omega } = &twists[*body];
                    for k in 0..3 {
                        e[place.first_row + i] += j[k] * s_dot[k] + j[3 + k] * omega[k];
                    }
                }
            }
        }
        damped.solve(&e, &mut x);
        let sum = x.iter().zip(&*sizes).map(|(x, d)| x * x * d).sum::<f64>();
        most = most.max(sum.sqrt());
    }
    if most > 0.0 { 1.0 / most } else { f64::INFINITY }
}
