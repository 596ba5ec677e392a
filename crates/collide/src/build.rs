//! From the shapes of a model to solids.

use gelenk_model::body::Body;
use gelenk_model::mesh::TriMesh;
use gelenk_model::shape::{Geometry, Shape};
use gelenk_model::state::Pose;

use crate::error::CollideError;
use crate::mesh;
use crate::solid::Solid;

/// The solid of a shape, in the body's principal frame.
pub(crate) fn solid(body: &Body, number: usize, shape: &Shape) -> Result<Solid, CollideError> {
    let degenerate = |reason: &str| CollideError::Degenerate {
        body: body.name.clone(),
        shape: number + 1,
        reason: reason.to_owned(),
    };
    let needs_fixed = |what: &'static str| CollideError::NeedsFixedBody {
        body: body.name.clone(),
        shape: number + 1,
        what,
    };
    let rot = body.frame_rot * shape.rotation;
    let frame = Pose {
        s: body.frame_origin + body.frame_rot * shape.position,
        rot: rot.to_rotation_matrix().into_inner(),
    };
    if !frame.s.iter().chain(frame.rot.iter()).all(|x| x.is_finite()) {
        return Err(degenerate("its place is not finite"));
    }
    let positive = |x: f64, what: &str| {
        if x > 0.0 && x.is_finite() {
            Ok(x)
        } else {
            Err(degenerate(&format!("its {what} is {x}, but must be positive")))
        }
    };
    match &shape.geometry {
        Geometry::Box { size } => {
            for x in size.iter() {
                positive(*x, "size")?;
            }
            Ok(Solid::cuboid(&frame, size))
        }
        Geometry::Sphere { radius } => Ok(Solid::ball(frame.s, positive(*radius, "radius")?)),
        Geometry::Cylinder { radius, length } => {
            Ok(Solid::cylinder(&frame, positive(*radius, "radius")?, positive(*length, "length")?))
        }
        Geometry::Capsule { radius, length } | Geometry::Rod { radius, length } => {
            Ok(Solid::capsule(&frame, positive(*radius, "radius")?, positive(*length, "length")?))
        }
        Geometry::Cone { radius, length } => {
            Ok(Solid::cone(&frame, positive(*radius, "radius")?, positive(*length, "length")?))
        }
        Geometry::Plane { .. } if body.fixed => Ok(Solid::plane(&frame)),
        Geometry::Plane { .. } => Err(needs_fixed("plane")),
        Geometry::Heightfield { .. } if !body.fixed => Err(needs_fixed("height field")),
        Geometry::Heightfield { size, n_x, heights } => mesh::heights(*size, *n_x, heights)
            .and_then(|grid| mesh::surface(&placed(&grid, &frame)))
            .ok_or_else(|| degenerate("its heights make no surface")),
        Geometry::Mesh { mesh: triangles, .. } if body.fixed => {
            mesh::surface(&placed(triangles, &frame))
                .ok_or_else(|| degenerate("its mesh has no triangle with an area"))
        }
        Geometry::Mesh { mesh: triangles, .. } => mesh::hull(&placed(triangles, &frame).vertices)
            .ok_or_else(|| degenerate("the convex hull of its mesh has no volume")),
        _ => Err(degenerate("this kind of shape is not known to contact")),
    }
}

/// A mesh in the body's frame, with equal corners made one.
fn placed(mesh: &TriMesh, frame: &Pose) -> TriMesh {
    let mut mesh = mesh.clone();
    let (low, high) = mesh.bounds();
    mesh.weld(WELD * (high - low).norm());
    for v in &mut mesh.vertices {
        *v = frame.point(v);
    }
    mesh
}

/// Corners nearer than this part of a mesh's size are one.
const WELD: f64 = 1e-9;
