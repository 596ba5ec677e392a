//! Circles and cones: closest points in closed form, or by a search on one angle carried to rounding.

use gelenk_model::math::{Vec3, perpendicular_frame};

use crate::touch::{Feature, PARALLEL, Place, around, place as place_of};

/// The point of a circle nearest to p; any of them for a point on the axis.
pub(crate) fn nearest_on_circle(p: &Vec3, centre: &Vec3, axis: &Vec3, radius: f64) -> Vec3 {
    let d = p - centre;
    let across = d - axis * axis.dot(&d);
    let length = across.norm();
    let out = if length > 0.0 { across / length } else { perpendicular_frame(axis).0 };
    centre + out * radius
}

/// Outward normal of a cone's side nearest to p, and the signed distance: n = cosα û + sinα k, n·(p − apex).
pub(crate) fn point_cone(
    p: &Vec3,
    apex: &Vec3,
    axis: &Vec3,
    sine: f64,
    cosine: f64,
) -> (Vec3, f64) {
    let d = p - apex;
    let across = d - axis * axis.dot(&d);
    let length = across.norm();
    let out = if length > 0.0 { across / length } else { perpendicular_frame(axis).0 };
    let normal = out * cosine + axis * sine;
    (normal, normal.dot(&d))
}

/// A cone, or a line as a cone of angle 0: a point, the axis, sine and cosine of the half angle.
struct Ruled {
    point: Vec3,
    axis: Vec3,
    sine: f64,
    cosine: f64,
}

fn ruled(feature: &Feature) -> Option<Ruled> {
    match *feature {
        Feature::Line { point, direction } => {
            Some(Ruled { point, axis: direction, sine: 0.0, cosine: 1.0 })
        }
        Feature::Cone { apex, axis, sine, cosine } => {
            Some(Ruled { point: apex, axis, sine, cosine })
        }
        _ => None,
    }
}

/// The place of a pair with a circle or a cone in it, but no point and no plane.
///
/// `near` is the direction from a circle's centre in which the search begins.
pub(crate) fn place(a: &Feature, b: &Feature, round: [f64; 2], side: f64, near: &Vec3) -> Place {
    match (a, b) {
        (Feature::Circle { centre, axis, radius }, _) => {
            on_circle(centre, axis, *radius, b, round, side, near)
        }
        (_, Feature::Circle { centre, axis, radius }) => {
            // Seen from b, tangents and normal change places and sign: (t × e) becomes −(e × t), so that `side` stays.
            let seen = on_circle(centre, axis, *radius, a, [round[1], round[0]], side, near);
            let [q, p] = seen.points;
            Place { normal: -seen.normal, points: [p, q], gap: seen.gap }
        }
        _ => match (ruled(a), ruled(b)) {
            (Some(ra), Some(rb)) => sides(&ra, &rb, round, side),
            // Points and planes do not come here.
            _ => place_of(a, b, round, side, near),
        },
    }
}

/// Two cones, or a cone and a line: the common tangent plane.
///
/// ```text
/// n·k_a = −sinα_a,  n·k_b = sinα_b,  |n| = 1:  n = x k_a + y k_b + side·z (k_a × k_b)
/// x = −(sinα_a + c sinα_b)/(1−c²),  y = (sinα_b + c sinα_a)/(1−c²),  c = k_a·k_b
/// gap = n·(apex_a − apex_b)
/// ```
/// It touches both along a generator each; the closest points are where these cross.
fn sides(a: &Ruled, b: &Ruled, round: [f64; 2], side: f64) -> Place {
    let c = a.axis.dot(&b.axis);
    let cross = a.axis.cross(&b.axis);
    let det = cross.norm_squared();
    if det < PARALLEL * PARALLEL {
        // Parallel axes: the plane through both.
        let d = a.point - b.point;
        let across = d - b.axis * b.axis.dot(&d);
        let out = across.try_normalize(0.0).unwrap_or_else(|| perpendicular_frame(&b.axis).0);
        let normal = out * b.cosine + b.axis * b.sine;
        let distance = normal.dot(&d);
        return around(a.point, a.point - normal * distance, normal, distance, round);
    }
    let x = -(a.sine + c * b.sine) / det;
    let y = (b.sine + c * a.sine) / det;
    let in_plane = a.axis * x + b.axis * y;
    let z = (1.0 - in_plane.norm_squared()).max(0.0).sqrt();
    let normal = (in_plane + cross * (side * z / det.sqrt())).normalize();
    let distance = normal.dot(&(a.point - b.point));
    // Generators: along k cosα − û sinα with û = (m − k sinα)/cosα for the outward normal m.
    let generator =
        |r: &Ruled, m: Vec3| r.axis * r.cosine - (m - r.axis * r.sine) * (r.sine / r.cosine);
    let (u, w) = (generator(a, -normal), generator(b, normal));
    let cross = u.cross(&w);
    let square = cross.norm_squared();
    let d = b.point - a.point;
    let along = if square > PARALLEL * PARALLEL { d.dot(&w.cross(&cross)) / square } else { 0.0 };
    let p = a.point + u * along;
    around(p, p - normal * distance, normal, distance, round)
}

/// A circle (body a) against a line, circle or cone: the angle θ where the gap is stationary,
///
/// ```text
/// (p(θ) − q(p))·t(θ) = 0,  p = c + r û(θ),  q: the point of the other feature nearest to p
/// ```
/// by the secant method from `near`.
fn on_circle(
    centre: &Vec3,
    axis: &Vec3,
    radius: f64,
    other: &Feature,
    round: [f64; 2],
    side: f64,
    near: &Vec3,
) -> Place {
    let across = near - axis * axis.dot(near);
    let u = across.try_normalize(0.0).unwrap_or_else(|| perpendicular_frame(axis).0);
    let w = axis.cross(&u);
    // Tangent, slope of the gap (or of half its square), point and its partner.
    let at = |theta: f64| {
        let (sin, cos) = theta.sin_cos();
        let (out, tangent) = (u * cos + w * sin, w * cos - u * sin);
        let p = centre + out * radius;
        match *other {
            Feature::Line { point, direction } => {
                let q = point + direction * direction.dot(&(p - point));
                (tangent, (p - q).dot(&tangent), p, q, direction)
            }
            Feature::Circle { centre, axis, radius } => {
                let q = nearest_on_circle(&p, &centre, &axis, radius);
                let t = axis.cross(&(q - centre)) / radius;
                (tangent, (p - q).dot(&tangent), p, q, t)
            }
            Feature::Cone { apex, axis, sine, cosine } => {
                let (n, distance) = point_cone(&p, &apex, &axis, sine, cosine);
                (tangent, n.dot(&tangent), p, p - n * distance, n)
            }
            // Points and planes do not come here.
            Feature::Point(q) | Feature::Plane { point: q, .. } => (tangent, 0.0, p, q, *axis),
        }
    };
    let mut theta = 0.0;
    let mut value = at(theta).1;
    let mut slope = (at(SMALL_ANGLE).1 - at(-SMALL_ANGLE).1) / (2.0 * SMALL_ANGLE);
    let mut found = value == 0.0;
    for _ in 0..MOST_STEPS {
        if value == 0.0 || slope == 0.0 {
            break;
        }
        let step = if slope > 0.0 { -value / slope } else { -value.signum() * LARGEST_TURN };
        let step = step.clamp(-LARGEST_TURN, LARGEST_TURN);
        let next = at(theta + step).1;
        slope = (next - value) / step;
        theta += step;
        value = next;
        found = value == 0.0 || step.abs() < 1e-12 && slope > 0.0;
        if step.abs() < 1e-15 {
            break;
        }
    }
    if !found {
        theta = downhill(|theta| at(theta).1);
    }
    let (tangent, _, p, q, direction) = at(theta);
    if let Feature::Cone { .. } = other {
        return around(p, q, direction, direction.dot(&(p - q)), round);
    }
    let d = p - q;
    let distance = d.norm();
    let cross = tangent.cross(&direction);
    let normal = if round[0] + round[1] > 0.0 && distance > 0.1 * (round[0] + round[1]) {
        d / distance
    } else {
        cross.try_normalize(PARALLEL).map_or(*axis, |n| n * side)
    };
    around(p, q, normal, normal.dot(&d), round)
}

/// The first root of a function with a rise through 0, from 0 on to where it is of the other sign: the lowest place downhill from where a search
/// begins, where the secants lose their way.
fn downhill(value: impl Fn(f64) -> f64) -> f64 {
    let start = value(0.0);
    let turn = -LARGEST_TURN * start.signum();
    let (mut near, mut far) = (0.0, 0.0);
    for _ in 0..MOST_STEPS {
        far += turn;
        if value(far) * start <= 0.0 {
            break;
        }
        near = far;
    }
    // Bisection, down to rounding.
    for _ in 0..60 {
        let middle = 0.5 * (near + far);
        if value(middle) * start > 0.0 {
            near = middle;
        } else {
            far = middle;
        }
    }
    0.5 * (near + far)
}

const SMALL_ANGLE: f64 = 1e-5;
const LARGEST_TURN: f64 = 0.3;
const MOST_STEPS: usize = 40;
