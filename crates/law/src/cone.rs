//! Projections on the friction cone, their derivatives, and the algebra of second-order cones.

pub(crate) type Vec3 = [f64; 3];
pub(crate) type Mat3 = [Vec3; 3];

pub(crate) fn norm(v: &[f64]) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

pub(crate) fn dot(a: &Vec3, b: &Vec3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub(crate) fn times(a: &Mat3, x: &Vec3) -> Vec3 {
    [dot(&a[0], x), dot(&a[1], x), dot(&a[2], x)]
}

/// Projection of z = (n, t₁, t₂) on K_μ = {|t| ≤ μn}, and whether z lies inside. In the polar cone it is 0, else
/// s(1, μt̂) with s = (n + μ|t|)/(1 + μ²).
pub(crate) fn project(z: &Vec3, mu: f64) -> (Vec3, bool) {
    let t = norm(&z[1..]);
    if t <= mu * z[0] && z[0] >= 0.0 {
        return (*z, true);
    }
    let s = (z[0] + mu * t).max(0.0) / (1.0 + mu * mu);
    let f = if t > 0.0 { mu * s / t } else { 0.0 };
    ([s, f * z[1], f * z[2]], false)
}

/// The projection and W = (I − (1−δ)D)⁻¹D, D its derivative at z. Inside: I/δ, polar: 0. Beside, with the unit vector
/// g ∥ (1, μt̂), D = ggᵀ + κ t⊥t⊥ᵀ, κ = μs/|t|, so W = ggᵀ/δ + κ/(1 − (1−δ)κ) t⊥t⊥ᵀ.
pub(crate) fn proximal(z: &Vec3, mu: f64, delta: f64) -> (Vec3, Mat3) {
    let (p, inside) = project(z, mu);
    let mut w = [[0.0; 3]; 3];
    if inside {
        (0..3).for_each(|i| w[i][i] = 1.0 / delta);
    } else if p[0] > 0.0 {
        let t = norm(&z[1..]).max(1e-300);
        let (d1, d2) = (z[1] / t, z[2] / t);
        let (g, side) = ([1.0, mu * d1, mu * d2], [0.0, -d2, d1]);
        let (along, curvature) = (1.0 / (delta * (1.0 + mu * mu)), curved(mu * p[0] / t, delta));
        for i in 0..3 {
            w[i] = [0, 1, 2].map(|j| along * g[i] * g[j] + curvature * side[i] * side[j]);
        }
    }
    (p, w)
}

/// κ/(1 − (1−δ)κ).
pub(crate) fn curved(kappa: f64, delta: f64) -> f64 {
    kappa / (1.0 - (1.0 - delta) * kappa)
}

/// Factor that brings z into the disc |z| ≤ radius.
pub(crate) fn into_disc(z: &[f64], radius: f64) -> f64 {
    let length = norm(z);
    if length <= radius { 1.0 } else { radius / length }
}

/// x₀² − x₁² − x₂² without cancellation of large squares.
pub(crate) fn det(x: &Vec3) -> f64 {
    let t = norm(&x[1..]);
    (x[0] - t) * (x[0] + t)
}

/// Jordan product a ∘ b.
pub(crate) fn jordan(a: &Vec3, b: &Vec3) -> Vec3 {
    [dot(a, b), a[0] * b[1] + b[0] * a[1], a[0] * b[2] + b[0] * a[2]]
}

/// x with l ∘ x = d.
pub(crate) fn divide(l: &Vec3, d: &Vec3) -> Vec3 {
    let x0 = (l[0] * d[0] - l[1] * d[1] - l[2] * d[2]) / det(l).max(1e-300);
    [x0, (d[1] - x0 * l[1]) / l[0], (d[2] - x0 * l[2]) / l[0]]
}

/// Nesterov-Todd scaling: W y = W⁻¹x. Gives W and W⁻¹, both symmetric (\[Vandenberghe 2010\] section 4).
pub(crate) fn scaling(x: &Vec3, y: &Vec3) -> (Mat3, Mat3) {
    let (dx, dy) = (det(x).max(1e-300), det(y).max(1e-300));
    let (sx, sy) = (dx.sqrt(), dy.sqrt());
    let gamma = f64::midpoint(1.0, dot(x, y) / (sx * sy)).sqrt();
    let mean = |i: usize, sign: f64| (x[i] / sx + sign * y[i] / sy) / (2.0 * gamma);
    let (a, q) = (mean(0, 1.0), [mean(1, -1.0), mean(2, -1.0)]);
    let eta = (dx / dy).sqrt().sqrt();
    let (mut w, mut inverse) = ([[0.0; 3]; 3], [[0.0; 3]; 3]);
    w[0][0] = a * eta;
    inverse[0][0] = a / eta;
    for i in 0..2 {
        for (m, f) in [(&mut w, eta), (&mut inverse, -1.0 / eta)] {
            m[0][i + 1] = f * q[i];
            m[i + 1][0] = f * q[i];
        }
        for j in 0..2 {
            let entry = f64::from(u8::from(i == j)) + q[i] * q[j] / (1.0 + a);
            w[i + 1][j + 1] = eta * entry;
            inverse[i + 1][j + 1] = entry / eta;
        }
    }
    (w, inverse)
}

/// Largest t with x + t d in {x₀ ≥ |(x₁, x₂)|}, for x inside; ∞ if there is none.
pub(crate) fn exit(x: &Vec3, d: &Vec3) -> f64 {
    let a = det(d);
    let b = x[0] * d[0] - x[1] * d[1] - x[2] * d[2];
    let c = det(x).max(0.0);
    let disc = b * b - a * c;
    let mut t = f64::INFINITY;
    if disc >= 0.0 {
        let q = -(b + disc.sqrt().copysign(b));
        for root in [q / a, c / q] {
            if root.is_finite() && root > 0.0 {
                t = t.min(root);
            }
        }
    }
    if d[0] < 0.0 { t.min(-x[0] / d[0]) } else { t }
}

/// Inverse in place of the leading n by n part, which is symmetric and positive; false if it is not, or not finite.
pub(crate) fn invert(n: usize, a: &mut [[f64; 6]; 6]) -> bool {
    for k in 0..n {
        let pivot = a[k][k];
        if !(pivot > 0.0 && pivot.is_finite()) {
            return false;
        }
        a[k][k] = 1.0;
        a[k].iter_mut().for_each(|x| *x /= pivot);
        let row = a[k];
        for i in (0..n).filter(|&i| i != k) {
            let f = std::mem::replace(&mut a[i][k], 0.0);
            a[i].iter_mut().zip(&row).for_each(|(x, y)| *x -= f * y);
        }
    }
    a.iter().take(n).flatten().all(|x| x.is_finite())
}
