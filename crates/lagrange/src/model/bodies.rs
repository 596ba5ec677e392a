//! Bodies on the tree: their inertia, free flight, turns.

use gelenk_expr::Expr;
use gelenk_model::math::Vec3;
use gelenk_model::{BodyId, BodyKind};

use super::{Build, Seat, transpose};
use crate::algebra::{InPool, turn};
use crate::state::Reader;
use crate::system::{MatExpr, Measure, Motion, VecExpr};

impl Build<'_> {
    /// The inertia tensor (xx, yy, zz, xy, xz, yz of the file frame) in the axes of a seat.
    pub(super) fn inertia(
        &mut self,
        placement: &gelenk_model::description::BodyPlacement,
        seat: &Seat,
        t: &[Expr; 6],
    ) -> MatExpr {
        let zero = Expr::ZERO;
        let [xx, yy, zz, xy, xz, yz] = *t;
        let file = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
        let rotation = placement.rotation.map(|m| m.map(|row| self.tidy_vec(&row)));
        let own_axes = seat.align.is_some() && seat.align == rotation.map(transpose);
        let round = xy == zero && xz == zero && yz == zero && xx == yy;
        if own_axes || (seat.align.is_none() && placement.rotation.is_none()) || (round && xx == zz)
        {
            return file;
        }
        if round {
            // A E + (C − A) n nᵀ with n along z of the file frame.
            let along = placement.along.or_else(|| rotation.map(|r| [r[0][2], r[1][2], r[2][2]]));
            let along = along.unwrap_or([zero, zero, Expr::ONE]);
            let along = self.tidy_vec(&along);
            let along = self.aligned(seat, &along);
            let pool = &mut self.system.pool;
            let squares = along.map(|x| pool.mul(&[x, x]));
            let squared = pool.add(&squares);
            let squared = self.tidy(squared);
            let pool = &mut self.system.pool;
            let difference = pool.sub(zz, xx);
            let mut result = [[zero; 3]; 3];
            for i in 0..3 {
                for j in i..3 {
                    let pool = &mut self.system.pool;
                    let dyad = pool.mul(&[difference, along[i], along[j]]);
                    let dyad = pool.div(dyad, squared);
                    let value = if i == j { pool.add(&[xx, dyad]) } else { dyad };
                    result[i][j] = self.tidy(value);
                    result[j][i] = result[i][j];
                }
            }
            return result;
        }
        let pool = &mut self.system.pool;
        let mut algebra = InPool { pool };
        let rotation = crate::algebra::compose(&mut algebra, &seat.align, &rotation);
        let Some(r) = rotation else { return file };
        let mut result = [[zero; 3]; 3];
        for i in 0..3 {
            for j in i..3 {
                let pool = &mut self.system.pool;
                let mut terms = Vec::new();
                for k in 0..3 {
                    for l in 0..3 {
                        terms.push(pool.mul(&[r[i][k], file[k][l], r[j][l]]));
                    }
                }
                let sum = pool.add(&terms);
                result[i][j] = self.tidy(sum);
                result[j][i] = result[i][j];
            }
        }
        result
    }

    /// A body that moves freely in the world.
    pub(super) fn free(&mut self, body: usize, above: &Seat) -> Seat {
        let about = &self.loaded.model.bodies[body];
        let name = about.name.clone();
        let is_point = about.kind == BodyKind::Point;
        let placement = self.loaded.description.bodies[body].clone();
        let mut origin = self.tidy_vec(&placement.position);
        if let Some(s) = &about.symbolic
            && !is_point
        {
            let pool = &mut self.system.pool;
            let turned = turn(&mut InPool { pool }, &placement.rotation, &s.center_of_mass);
            let center = [0, 1, 2].map(|i| pool.add(&[placement.position[i], turned[i]]));
            origin = self.tidy_vec(&center);
        }
        let mut parent = above.node;
        let mut numbers = Vec::new();
        for (i, axis) in ["x", "y", "z"].into_iter().enumerate() {
            let what = if is_point { "point" } else { "body" };
            let meaning = format!("{what} `{name}`, {axis} of its centre of mass");
            let k = self.coordinate(Measure::Length, meaning, None);
            let mut direction = [Expr::ZERO; 3];
            direction[i] = Expr::ONE;
            let symbol = self.system.coordinates[k].symbol;
            parent = self.node(parent, [Expr::ZERO; 3], Motion::Slide(direction), symbol, Some(k));
            numbers.push(k);
        }
        self.system
            .readers
            .push(Reader::Position { coordinates: [numbers[0], numbers[1], numbers[2]], body });
        if is_point {
            return Seat { node: parent, align: above.align, origin, pointlike: false };
        }
        let seat = Seat { node: parent, align: above.align, origin, pointlike: false };
        self.turns(body, &format!("body `{name}`"), seat)
    }

    /// The direction of a rod without thickness that is held at points of its axis only: its spin means nothing.
    pub(super) fn thin_axis(&mut self, body: usize) -> Option<VecExpr> {
        let model = &self.loaded.model;
        let [xx, yy, zz, xy, xz, yz] = model.bodies[body].symbolic.as_ref()?.inertia;
        let placement = self.loaded.description.bodies[body].clone();
        if xx != yy || [zz, xy, xz, yz] != [Expr::ZERO; 4] {
            return None;
        }
        for (joint, geometry) in model.joints.iter().zip(&self.loaded.description.joints) {
            let Some(side) = joint.bodies.iter().position(|b| b.index() == body) else { continue };
            let anchor = self.number_vec(&geometry.anchors[side]);
            let of_points = matches!(joint.kind.type_name(), "ball" | "distance");
            if !of_points || anchor.x.hypot(anchor.y) > 1e-9 {
                return None;
            }
        }
        let z = [Expr::ZERO, Expr::ZERO, Expr::ONE];
        let along = placement
            .along
            .or_else(|| placement.rotation.map(|r| [r[0][2], r[1][2], r[2][2]]))
            .unwrap_or(z);
        Some(self.tidy_vec(&along))
    }

    /// Two turns that point a thin rod.
    pub(super) fn pointed(
        &mut self,
        body: usize,
        element: &str,
        seat: &Seat,
        along: &VecExpr,
    ) -> Seat {
        let parent = seat.node;
        let n = self.number_vec(along).normalize();
        let (u, w) = self.across(along, &n);
        let mut numbers = [0; 3];
        let mut node = parent;
        let mut axes = [Vec3::zeros(); 3];
        for (i, direction) in [u, w].into_iter().enumerate() {
            let singular = (i == 1)
                .then(|| "two turns across the rod: singular where the second is ±π/2".to_owned());
            let meaning = format!("{element}, turn {} across the rod", i + 1);
            let k = self.coordinate(Measure::Angle, meaning, singular);
            let symbol = self.system.coordinates[k].symbol;
            let direction = self.aligned(seat, &direction);
            axes[i] = self.number_vec(&direction);
            node = self.node(node, [Expr::ZERO; 3], Motion::Turn(direction), symbol, Some(k));
            numbers[i] = k;
        }
        let along = self.aligned(seat, along);
        axes[2] = self.number_vec(&along).normalize();
        let coordinates = [numbers[0], numbers[1], usize::MAX];
        self.system.readers.push(Reader::Turns { coordinates, axes, parent, body });
        Seat { node, ..*seat }
    }

    /// Three turns of a body about the origin of its seat, one after the other; two for a thin rod.
    pub(super) fn turns(&mut self, body: usize, element: &str, seat: Seat) -> Seat {
        if let Some(along) = self.thin_axis(body) {
            return self.pointed(body, element, &seat, &along);
        }
        let model = &self.loaded.model;
        let parent = seat.node;
        let (axes, names, singular, align) = if self.is_top(body, &seat) {
            // The node's axes are those of the file.
            let rotation = self.loaded.description.bodies[body].rotation;
            let align = rotation.map(|m| transpose(m).map(|row| self.tidy_vec(&row)));
            (
                [2, 0, 2],
                ["precession", "nutation", "spin"].map(str::to_owned),
                "Euler's angles z, x, z: singular where the nutation is 0 or π".to_owned(),
                align,
            )
        } else {
            // Cardan's angles; the axis of the fastest spin comes last, so that it may turn fully.
            let spin = model.start.omega[body];
            let last = if spin.norm() > 1e-9 { spin.iamax() } else { 2 };
            let order = [(last + 1) % 3, (last + 2) % 3, last];
            let letters = order.map(|a| ["x", "y", "z"][a]);
            let letters_list = letters.join(", ");
            let singular =
                format!("Cardan angles {letters_list}: singular where the second is ±π/2");
            (order, letters.map(|l| format!("turn about {l}")), singular, seat.align)
        };
        let mut node = parent;
        let mut coordinates = [0; 3];
        for i in 0..3 {
            let singular = (i == 1).then(|| singular.clone());
            let k = self.coordinate(Measure::Angle, format!("{element}, {}", names[i]), singular);
            let mut direction = [Expr::ZERO; 3];
            direction[axes[i]] = Expr::ONE;
            let symbol = self.system.coordinates[k].symbol;
            node = self.node(node, [Expr::ZERO; 3], Motion::Turn(direction), symbol, Some(k));
            coordinates[i] = k;
        }
        let axes = axes.map(|i| Vec3::ith(i, 1.0));
        self.system.readers.push(Reader::Turns { coordinates, axes, parent, body });
        Seat { node, align, origin: seat.origin, pointlike: false }
    }

    /// Whether it is a round body with a tilted axle under vertical gravity, for which Euler's angles are best.
    pub(super) fn is_top(&self, body: usize, seat: &Seat) -> bool {
        let model = &self.loaded.model;
        let turned =
            self.system.path(seat.node).into_iter().any(|i| {
                matches!(self.system.nodes[i].motion, Motion::Turn(_) | Motion::Screw(..))
            });
        let Some(about) = &model.bodies[body].symbolic else { return false };
        let [xx, yy, zz, xy, xz, yz] = about.inertia;
        let round = xx == yy && xx != zz && [xy, xz, yz] == [Expr::ZERO; 3];
        let g = self.number_vec(&self.system.gravity);
        let vertical = g.x.abs() + g.y.abs() < 1e-12 && g.z.abs() > 0.0;
        let pose = model.start.pose(BodyId(u32::try_from(body).unwrap_or(0)));
        let axle = model.bodies[body].frame_pose(&pose).rot.column(2).into_owned();
        let tilted = axle.z.abs() < 0.995;
        let by_ends = self.loaded.description.bodies[body].along.is_some();
        !turned && round && vertical && tilted && !by_ends
    }
}
