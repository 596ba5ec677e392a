//! Touches: two body-fixed features that face each other, and the exact gap between them at any poses.

use gelenk_model::math::{Vec3, perpendicular_frame};
use gelenk_model::state::Pose;

use crate::curve;

/// A body-fixed feature, in the body's principal frame (the frame that [`Pose`] moves). Directions are unit vectors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Feature {
    /// A point: the centre of a ball or of a capsule's end, a corner, the tip of a cone.
    Point(Vec3),
    /// A straight line: an edge, the axis of a capsule or cylinder.
    Line {
        /// A point on it, m.
        point: Vec3,
        /// Its direction.
        direction: Vec3,
    },
    /// A plane: a face.
    Plane {
        /// A point on it, m.
        point: Vec3,
        /// Its outward normal.
        normal: Vec3,
    },
    /// A circle: the rim of a cylinder or cone.
    Circle {
        /// Its centre, m.
        centre: Vec3,
        /// Its axis, out of the solid.
        axis: Vec3,
        /// Its radius, m.
        radius: f64,
    },
    /// The side of a cone, continued beyond its base.
    Cone {
        /// Its tip, m.
        apex: Vec3,
        /// Its axis, from the base to the tip.
        axis: Vec3,
        /// Sine of the angle between axis and side.
        sine: f64,
        /// Cosine of that angle.
        cosine: f64,
    },
}

/// Names a touch: which features of which colliders. The same from step to step while the same features face each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TouchKey {
    /// Numbers of the two colliders ([`World::colliders`](crate::World::colliders)), the first smaller.
    pub colliders: [u32; 2],
    /// Numbers of their features.
    pub features: [u32; 2],
}

/// Two features that face each other.
///
/// The gap is that between the surfaces at distance `round` around the features. It is exact at any poses, as long as the
/// closest points stay within the edges, faces and rims that the features stand for
/// ([`World::holds`](crate::World::holds) tells).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Touch {
    /// Indices of the bodies a and b.
    pub bodies: [usize; 2],
    /// A feature of each.
    pub features: [Feature; 2],
    /// Radius of the solid around each feature (ball, capsule, side of a cylinder), m.
    pub round: [f64; 2],
    /// Sign of the normal of two lines or curves: n = side·(e_a × e_b)/|e_a × e_b|.
    pub side: f64,
    /// For a circle against a line or a curve, which may come close at two places: the direction from the circle's
    /// centre to the one that is meant, in the frame of the circle's body (that of a, if both are circles).
    pub near: Vec3,
    /// Its name.
    pub key: TouchKey,
    /// Index into [`World::pairs`](crate::World::pairs).
    pub pair: usize,
}

/// Where a touch is at some poses, in the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Unit normal, from b to a.
    pub normal: Vec3,
    /// The closest points on the surfaces of a and b, m.
    pub points: [Vec3; 2],
    /// Their distance along the normal, m: positive when apart, negative when the bodies overlap.
    pub gap: f64,
}

impl Touch {
    /// Where the features are closest.
    ///
    /// With p the points of the features (centres) and n the normal from b to a:
    ///
    /// ```text
    /// gap = n·(p_a − p_b) − round_a − round_b
    /// point-plane: n of the plane;  point-point, point-line, point-circle: n = (p_a − p_b)/|p_a − p_b|
    /// line-line, curves: n = ±(e_a × e_b)/|e_a × e_b|;  circle-plane: p = c − r (n − (n·k)k)/|n − (n·k)k|
    /// point-cone: n = cosα û + sinα k
    /// ```
    /// k: axis, û: away from it, e: tangents. Since p_a − p_b is normal to both features, the gap's rate is
    /// n·(ṡ_a + ω_a × r_a − ṡ_b − ω_b × r_b) with r from the centres of mass to the closest points.
    pub fn place(&self, a: &Pose, b: &Pose) -> Place {
        // Feet on the ground, corners on faces: by far the most.
        match self.features {
            [Feature::Point(p), Feature::Plane { point, normal }] => {
                return on_plane(p, a, point, normal, b, self.round);
            }
            [Feature::Plane { point, normal }, Feature::Point(p)] => {
                let [r_a, r_b] = self.round;
                return swapped(on_plane(p, b, point, normal, a, [r_b, r_a]));
            }
            _ => {}
        }
        let [fa, fb] = [self.features[0].moved(a), self.features[1].moved(b)];
        let near = match self.features[0] {
            Feature::Circle { .. } => a.rot * self.near,
            _ => b.rot * self.near,
        };
        place(&fa, &fb, self.round, self.side, &near)
    }

    /// The gap alone, m.
    pub fn gap(&self, a: &Pose, b: &Pose) -> f64 {
        let above = |p: &Vec3, of: &Pose, point: &Vec3, normal: &Vec3, on: &Pose| {
            (on.rot * normal).dot(&(of.point(p) - on.point(point)))
        };
        let [r_a, r_b] = self.round;
        match &self.features {
            [Feature::Point(p), Feature::Plane { point, normal }] => {
                above(p, a, point, normal, b) - r_a - r_b
            }
            [Feature::Plane { point, normal }, Feature::Point(p)] => {
                above(p, b, point, normal, a) - r_b - r_a
            }
            _ => self.place(a, b).gap,
        }
    }
}

impl Feature {
    /// The feature in the world, when its body is at `pose`.
    #[must_use]
    pub fn moved(&self, pose: &Pose) -> Feature {
        match *self {
            Feature::Point(p) => Feature::Point(pose.point(&p)),
            Feature::Line { point, direction } => {
                Feature::Line { point: pose.point(&point), direction: pose.rot * direction }
            }
            Feature::Plane { point, normal } => {
                Feature::Plane { point: pose.point(&point), normal: pose.rot * normal }
            }
            Feature::Circle { centre, axis, radius } => {
                Feature::Circle { centre: pose.point(&centre), axis: pose.rot * axis, radius }
            }
            Feature::Cone { apex, axis, sine, cosine } => {
                Feature::Cone { apex: pose.point(&apex), axis: pose.rot * axis, sine, cosine }
            }
        }
    }
}

/// A place from the points of the features, the normal and the signed distance between them.
pub(crate) fn around(p_a: Vec3, p_b: Vec3, normal: Vec3, distance: f64, round: [f64; 2]) -> Place {
    let points = [p_a - normal * round[0], p_b + normal * round[1]];
    Place { normal, points, gap: distance - round[0] - round[1] }
}

/// A point of a body over a plane of another, each in the frame of its body.
fn on_plane(p: Vec3, of: &Pose, point: Vec3, normal: Vec3, on: &Pose, round: [f64; 2]) -> Place {
    let (p, normal) = (of.point(&p), on.direction(&normal));
    let distance = normal.dot(&(p - on.point(&point)));
    around(p, p - normal * distance, normal, distance, round)
}

/// Points at the distance |p_a − p_b|; `fallback` is the normal where they coincide.
fn between(p_a: Vec3, p_b: Vec3, fallback: Vec3, round: [f64; 2]) -> Place {
    let d = p_a - p_b;
    let distance = d.norm();
    let normal = if distance > 0.0 { d / distance } else { fallback };
    around(p_a, p_b, normal, distance, round)
}

/// The same place seen from the other body.
fn swapped(place: Place) -> Place {
    let [p_a, p_b] = place.points;
    Place { normal: -place.normal, points: [p_b, p_a], gap: place.gap }
}

/// The place of two features given in the world.
pub(crate) fn place(a: &Feature, b: &Feature, round: [f64; 2], side: f64, near: &Vec3) -> Place {
    use Feature::{Circle, Cone, Line, Plane, Point};
    match (*a, *b) {
        (Point(p), Plane { point, normal }) => {
            let distance = normal.dot(&(p - point));
            around(p, p - normal * distance, normal, distance, round)
        }
        (Point(p), Point(q)) => between(p, q, Vec3::z(), round),
        (Point(p), Line { point, direction }) => {
            let foot = point + direction * direction.dot(&(p - point));
            between(p, foot, perpendicular_frame(&direction).0, round)
        }
        (Point(p), Circle { centre, axis, radius }) => {
            let q = curve::nearest_on_circle(&p, &centre, &axis, radius);
            between(p, q, axis, round)
        }
        (Point(p), Cone { apex, axis, sine, cosine }) => {
            let (normal, distance) = curve::point_cone(&p, &apex, &axis, sine, cosine);
            around(p, p - normal * distance, normal, distance, round)
        }
        (Line { point: p, direction: u }, Line { point: q, direction: w }) => {
            line_line(p, u, q, w, round, side)
        }
        (Circle { centre, axis, radius }, Plane { point, normal }) => {
            let across = normal - axis * normal.dot(&axis);
            // Twice, since what rounding leaves along the axis counts when the circle lies nearly flat.
            let across = across - axis * across.dot(&axis);
            let length = across.norm();
            let down = if length > 0.0 { across / -length } else { perpendicular_frame(&axis).0 };
            let p = centre + down * radius;
            let distance = normal.dot(&(centre - point)) - radius * length;
            around(p, p - normal * distance, normal, distance, round)
        }
        // These lie on a plane by other features (end points, rims) and are never listed; one of their points stands for
        // them.
        (Line { point, .. } | Plane { point, .. } | Cone { apex: point, .. }, Plane { .. }) => {
            place(&Point(point), b, round, side, near)
        }
        (Line { .. } | Circle { .. } | Cone { .. }, Circle { .. } | Cone { .. })
        | (Circle { .. } | Cone { .. }, Line { .. }) => curve::place(a, b, round, side, near),
        (_, Point(_)) | (Plane { .. }, _) => swapped(place(b, a, [round[1], round[0]], side, near)),
    }
}

/// Two lines: the foot points of their common normal.
///
/// ```text
/// c = u × w,  n = side·c/|c|,  s = (q−p)·(w × c)/c²,  t = (q−p)·(u × c)/c²
/// ```
/// Parallel lines meet at the point p of the first.
fn line_line(p: Vec3, u: Vec3, q: Vec3, w: Vec3, round: [f64; 2], side: f64) -> Place {
    let c = u.cross(&w);
    let square = c.norm_squared();
    if square < PARALLEL * PARALLEL {
        let foot = q + w * w.dot(&(p - q));
        return between(p, foot, perpendicular_frame(&w).0, round);
    }
    let normal = c * (side / square.sqrt());
    let d = q - p;
    let p_a = p + u * (d.dot(&w.cross(&c)) / square);
    let p_b = q + w * (d.dot(&u.cross(&c)) / square);
    around(p_a, p_b, normal, -normal.dot(&d), round)
}

/// Sine of the angle below which two lines count as parallel.
pub(crate) const PARALLEL: f64 = 1e-9;
