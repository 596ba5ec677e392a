//! From a model file to a [`System`]: joint coordinates, geometry in the drawing's axes, loads, closures.

use gelenk_expr::{Expr, Func, Pool};
use gelenk_model::description::{ForceValues, JointGeometry, Track};
use gelenk_model::force::{Axes as ModelAxes, ForceKind};
use gelenk_model::math::{Mat3, Vec3, perpendicular_frame};
use gelenk_model::rows::RowKind;
use gelenk_model::signal::{BodyVector, StateRef};
use gelenk_model::{BodyId, BodyKind, JointId, Loaded};
use rustc_hash::FxHashMap;

use crate::algebra::{InPool, turn};
use crate::kinematics::Kinematics;
use crate::ring::Ring;
use crate::state::Reader;
use crate::system::{
    AlongKind, Axes, Closure, Coordinate, DeriveError, Law, Link, LinkPoint, Load, MatExpr,
    Measure, Motion, Node, Parameter, Row, System, TreeJoint, VecExpr,
};
use crate::tree::{Carrier, plan};

/// The system of a loaded model.
///
/// Trees get joint coordinates; joints that close loops become conditions with multipliers. What has no equations of
/// motion in closed form (ropes, splines) is refused by name; end stops, dry friction, contact and breaking are left
/// out with a note.
pub fn from_model(loaded: &Loaded) -> Result<System, DeriveError> {
    let mut build = Build::new(loaded);
    build.parameters();
    let plan = plan(loaded);
    for &(body, parent, carrier) in &plan.bodies {
        build.body(body, parent, carrier)?;
    }
    build.ties()?;
    for &joint in &plan.cut {
        build.cut(joint)?;
    }
    build.equations()?;
    build.loads()?;
    build.left_out();
    if build.system.coordinates.is_empty() {
        return Err(DeriveError::NothingMoves);
    }
    Ok(build.system)
}

/// Where a body sits on the tree.
#[derive(Clone, Copy)]
struct Seat {
    node: usize,
    /// Turns vectors of the drawing to the node's axes; `None`: the same axes.
    align: Option<MatExpr>,
    /// The node's origin in the drawing.
    origin: VecExpr,
    /// A point mass behind turning rods: directions of the drawing mean nothing to it.
    pointlike: bool,
}

struct Build<'a> {
    loaded: &'a Loaded,
    system: System,
    ring: Ring,
    /// By body; the world and fixed bodies sit at node 0.
    seats: Vec<Option<Seat>>,
    /// Definitions of parameters, put in everywhere.
    definitions: Vec<(Expr, Expr)>,
    /// The model's joint coordinates over q and t, by joint; empty for cut joints.
    joint_values: Vec<Vec<Expr>>,
    prescribed: FxHashMap<(usize, usize), Expr>,
    values: FxHashMap<Expr, f64>,
}

fn unsupported<T>(element: String, reason: impl Into<String>) -> Result<T, DeriveError> {
    Err(DeriveError::Unsupported { element, reason: reason.into() })
}

impl<'a> Build<'a> {
    fn new(loaded: &'a Loaded) -> Self {
        let model = &loaded.model;
        let world = Seat { node: 0, align: None, origin: [Expr::ZERO; 3], pointlike: false };
        let seats = model.bodies.iter().map(|b| b.fixed.then_some(world)).collect::<Vec<_>>();
        let root = Node {
            parent: 0,
            offset: [Expr::ZERO; 3],
            motion: Motion::Fixed,
            value: Expr::ZERO,
            coordinate: None,
        };
        let mut prescribed = FxHashMap::default();
        for tie in &loaded.description.ties {
            if let [(joint, which, Expr::ONE)] = tie.terms.as_slice() {
                prescribed.insert((joint.index(), *which), tie.target);
            }
        }
        Build {
            loaded,
            system: System {
                name: model.name.clone(),
                pool: model.pool.clone(),
                gravity: loaded.description.gravity,
                coordinates: Vec::new(),
                nodes: vec![root],
                links: Vec::new(),
                joints: Vec::new(),
                loads: Vec::new(),
                closures: Vec::new(),
                parameters: Vec::new(),
                inputs: Vec::new(),
                positive: Vec::new(),
                notes: Vec::new(),
                readers: Vec::new(),
            },
            ring: Ring::default(),
            seats,
            definitions: Vec::new(),
            joint_values: vec![Vec::new(); model.joints.len()],
            prescribed,
            values: FxHashMap::default(),
        }
    }

    fn pool(&mut self) -> &mut Pool {
        &mut self.system.pool
    }

    /// Parameters with a definition are replaced by it; the others stay symbols, known to be positive if they are.
    fn parameters(&mut self) {
        for parameter in &self.loaded.model.parameters {
            self.values.insert(parameter.symbol, parameter.value);
            if let Some(definition) = parameter.definition
                && !self.loaded.model.pool.symbols_of(definition).is_empty()
            {
                let known = self.definitions.clone();
                let full = self.pool().substitute(definition, &known);
                self.definitions.push((parameter.symbol, full));
                continue;
            }
            if parameter.min.is_some_and(|min| min > 0.0) || parameter.value > 0.0 {
                self.system.positive.push(parameter.symbol);
            }
            self.system.parameters.push(Parameter {
                name: parameter.name.clone(),
                symbol: parameter.symbol,
                value: parameter.value,
                description: parameter.description.clone(),
            });
        }
        self.ring = Ring::new(&self.system.positive);
        self.ring.set_limit(100_000);
        let gravity = self.system.gravity;
        self.system.gravity = gravity.map(|g| self.tidy(g));
    }

    /// An expression with definitions put in, in canonical form where that is not longer.
    fn tidy(&mut self, e: Expr) -> Expr {
        let definitions = std::mem::take(&mut self.definitions);
        let e = self.system.pool.substitute(e, &definitions);
        self.definitions = definitions;
        let p = self.ring.from_expr(&mut self.system.pool, e);
        if self.ring.overflowed() {
            self.ring.clear_overflow();
            return e;
        }
        self.ring.to_expr(&mut self.system.pool, &p)
    }

    fn tidy_vec(&mut self, v: &VecExpr) -> VecExpr {
        v.map(|e| self.tidy(e))
    }

    fn number(&self, e: Expr) -> f64 {
        self.system.pool.eval(e, |s| self.values.get(&s).copied().unwrap_or(0.0))
    }

    fn number_vec(&self, v: &VecExpr) -> Vec3 {
        Vec3::from(v.map(|e| self.number(e)))
    }

    /// A vector of numbers; whole ones stay exact.
    fn exact(&mut self, v: &Vec3) -> VecExpr {
        [0, 1, 2].map(|i| {
            let whole = v[i].round();
            if (v[i] - whole).abs() < 1e-15 {
                #[expect(clippy::cast_possible_truncation, reason = "small")]
                self.pool().num(whole as i64)
            } else {
                self.pool().float(v[i])
            }
        })
    }

    /// n/|n|.
    fn unit(&mut self, v: &VecExpr) -> VecExpr {
        let pool = &mut self.system.pool;
        let squares = v.map(|x| pool.mul(&[x, x]));
        let squared = pool.add(&squares);
        let length = pool.sqrt(squared);
        let length = self.tidy(length);
        let n = v.map(|x| self.system.pool.div(x, length));
        self.tidy_vec(&n)
    }

    /// A vector of the drawing in the axes of a seat.
    fn aligned(&mut self, seat: &Seat, v: &VecExpr) -> VecExpr {
        let mut algebra = InPool { pool: &mut self.system.pool };
        let turned = turn(&mut algebra, &seat.align, v);
        self.tidy_vec(&turned)
    }

    /// A point of the drawing in the frame of a seat. A point mass has only itself.
    fn local(&mut self, seat: &Seat, p: &VecExpr) -> VecExpr {
        if seat.pointlike {
            return [Expr::ZERO; 3];
        }
        let d = [0, 1, 2].map(|i| self.system.pool.sub(p[i], seat.origin[i]));
        let d = self.tidy_vec(&d);
        self.aligned(seat, &d)
    }

    fn seat(&self, body: BodyId) -> Seat {
        self.seats[body.index()].expect("every body is seated before it is asked for")
    }

    fn link_point(&mut self, body: BodyId, drawn: &VecExpr) -> LinkPoint {
        let seat = self.seat(body);
        LinkPoint { node: seat.node, place: self.local(&seat, drawn) }
    }

    /// A new coordinate with names that no parameter has.
    fn coordinate(&mut self, measure: Measure, meaning: String, singular: Option<String>) -> usize {
        let n = self.system.coordinates.len();
        let taken =
            |pool: &Pool, prefix: &str| pool.find_symbol(&format!("{prefix}{}", n + 1)).is_some();
        let prefix = ["q", "qq", "coordinate_"]
            .into_iter()
            .find(|p| !taken(&self.system.pool, p))
            .unwrap_or("coordinate_of_joint_");
        let name = format!("{prefix}{}", n + 1);
        let pool = &mut self.system.pool;
        self.system.coordinates.push(Coordinate {
            symbol: pool.symbol(&name),
            rate: pool.symbol(&format!("{name}_dot")),
            acceleration: pool.symbol(&format!("{name}_ddot")),
            measure,
            meaning,
            singular,
        });
        n
    }

    fn node(
        &mut self,
        parent: usize,
        offset: VecExpr,
        motion: Motion,
        value: Expr,
        coordinate: Option<usize>,
    ) -> usize {
        self.system.nodes.push(Node { parent, offset, motion, value, coordinate });
        self.system.nodes.len() - 1
    }

    /// Seats a body of the model: nodes of its joint, its inertia, readers of its coordinates.
    fn body(&mut self, body: usize, parent: usize, carrier: Carrier) -> Result<(), DeriveError> {
        let above = self.seats[parent].expect("parents come first");
        let (first, coordinate) = (self.system.nodes.len(), self.system.coordinates.len());
        let seat = match carrier {
            Carrier::Free => self.free(body, &above),
            Carrier::Joint(joint, reversed) => self.carried(body, joint, reversed, &above)?,
        };
        if let Carrier::Joint(joint, _) = carrier
            && first < self.system.nodes.len()
        {
            let model = &self.loaded.model;
            self.system.joints.push(TreeJoint {
                name: model.joints[joint].name.clone(),
                from: model.bodies[parent].name.clone(),
                on: model.bodies[body].name.clone(),
                first,
                coordinates: (coordinate..self.system.coordinates.len()).collect(),
                is_ball: matches!(model.joints[joint].kind.type_name(), "ball" | "distance"),
            });
        }
        self.seats[body] = Some(seat);
        self.link(body, &seat);
        Ok(())
    }

    fn link(&mut self, body: usize, seat: &Seat) {
        let about = &self.loaded.model.bodies[body];
        let placement = self.loaded.description.bodies[body].clone();
        let zero = Expr::ZERO;
        let (mass, com, tensor) = if let Some(s) = &about.symbolic {
            (s.mass, s.center_of_mass, s.inertia)
        } else {
            let pool = &mut self.system.pool;
            let j = [0, 1, 2].map(|i| pool.float(about.inertia[i]));
            (pool.float(about.mass), [zero; 3], [j[0], j[1], j[2], zero, zero, zero])
        };
        let is_point = about.kind == BodyKind::Point;
        let pool = &mut self.system.pool;
        let turned = turn(&mut InPool { pool }, &placement.rotation, &com);
        let center = [0, 1, 2].map(|i| pool.add(&[placement.position[i], turned[i]]));
        let center = if is_point { [zero; 3] } else { self.local(seat, &center) };
        let tensor = tensor.map(|e| self.tidy(e));
        let inertia =
            if is_point { [[zero; 3]; 3] } else { self.inertia(&placement, seat, &tensor) };
        let mass = self.tidy(mass);
        // Node axes → drawing → file frame → principal frame.
        let to_mat = |m: Option<MatExpr>, build: &Self| {
            m.map_or_else(Mat3::identity, |m| Mat3::from_fn(|i, j| build.number(m[i][j])))
        };
        let definitions = self.definitions.clone();
        let rotation = placement
            .rotation
            .map(|m| m.map(|row| row.map(|e| self.system.pool.substitute(e, &definitions))));
        let file = self.loaded.model.bodies[body].frame_rot.to_rotation_matrix().into_inner();
        let principal = to_mat(seat.align, self) * to_mat(rotation, self) * file.transpose();
        let moments = self.loaded.model.bodies[body].inertia;
        let thin = (0..3).find(|i| moments[*i] == 0.0 && !is_point).map(|i| Vec3::ith(i, 1.0));
        self.system.links.push(Link {
            name: about.name.clone(),
            body,
            node: seat.node,
            mass,
            center,
            inertia,
            principal,
            is_point,
            thin,
        });
    }

    /// The inertia tensor (xx, yy, zz, xy, xz, yz of the file frame) in the axes of a seat.
    fn inertia(
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
    fn free(&mut self, body: usize, above: &Seat) -> Seat {
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
    fn thin_axis(&mut self, body: usize) -> Option<VecExpr> {
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
    fn pointed(&mut self, body: usize, element: &str, seat: &Seat, along: &VecExpr) -> Seat {
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
    fn turns(&mut self, body: usize, element: &str, seat: Seat) -> Seat {
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
    fn is_top(&self, body: usize, seat: &Seat) -> bool {
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

    /// The value of a joint coordinate: a new q, or the motion that prescribes it.
    fn joint_value(
        &mut self,
        joint: usize,
        which: usize,
        measure: Measure,
    ) -> (Expr, Option<usize>) {
        if let Some(&target) = self.prescribed.get(&(joint, which)) {
            return (self.tidy(target), None);
        }
        let about = &self.loaded.model.joints[joint];
        let names = about.kind.equations().coordinates();
        let word = names.get(which).map_or("coordinate", |c| c.name);
        let meaning = format!("joint `{}`, {word}", about.name);
        let k = self.coordinate(measure, meaning, None);
        self.system.readers.push(Reader::Joint {
            coordinate: k,
            joint: JointId(u32::try_from(joint).unwrap_or(0)),
            which,
        });
        (self.system.coordinates[k].symbol, Some(k))
    }

    /// The nodes of a carrying joint.
    fn carried(
        &mut self,
        body: usize,
        joint: usize,
        reversed: bool,
        above: &Seat,
    ) -> Result<Seat, DeriveError> {
        let about = &self.loaded.model.joints[joint];
        let element = format!("joint `{}`", about.name);
        let kind = about.kind.type_name();
        let geometry: JointGeometry = self.loaded.description.joints[joint].clone();
        let side = usize::from(reversed);
        let child_is_point = self.loaded.model.bodies[body].kind == BodyKind::Point;
        let points = geometry.world_points.map(|p| self.tidy_vec(&p));
        let gap = self.number_vec(&points[1]) - self.number_vec(&points[0]);
        let glides = matches!(
            kind,
            "distance"
                | "rail"
                | "plane-point"
                | "curve"
                | "translation"
                | "slider"
                | "cylindrical"
                | "planar"
        );
        if gap.norm() > 1e-6 && !glides {
            return unsupported(
                element,
                "it is open as drawn; draw the bodies where the joint is closed",
            );
        }
        let (near, far) = (points[side], points[1 - side]);
        let axes = geometry.world_axes;
        if above.pointlike && !matches!(kind, "distance") {
            return unsupported(element, "it hangs on a point mass, which has no directions");
        }
        // Values count from the drawing: the node begins at the far point, or turns at the near one.
        let open = gap.norm() > 1e-9;
        let pivot = if reversed && open { near } else { far };
        let offset = if kind == "distance" { near } else { pivot };
        let offset = self.local(above, &offset);
        let start = self.tidy(geometry.start);
        // Elementary motions from a to b: axis, kind, value from the drawing.
        let mut steps: Vec<(Motion, Expr, Option<usize>)> = Vec::new();
        let axis = |build: &mut Self, i: usize| {
            let v = axes.map_or([Expr::ZERO; 3], |a| a[i]);
            let v = build.tidy_vec(&v);
            let v = build.aligned(above, &v);
            build.unit(&v)
        };
        let sub = |build: &mut Self, a: Expr, b: Expr| build.system.pool.sub(a, b);
        let mut values = Vec::new();
        let slide_zero = |build: &mut Self, direction: &VecExpr| {
            // The coordinate of sliding joints is the gap along the axis as drawn, less the start.
            let gap = [0, 1, 2].map(|i| build.system.pool.sub(points[1][i], points[0][i]));
            let gap = build.tidy_vec(&gap);
            let gap = build.aligned(above, &gap);
            let d =
                crate::algebra::dot(&mut InPool { pool: &mut build.system.pool }, &gap, direction);
            build.tidy(d)
        };
        let mut extra_turns = false;
        match kind {
            "fixed" => {}
            "hinge" => {
                let n = axis(self, 0);
                let (q, k) = self.joint_value(joint, 0, Measure::Angle);
                values.push(q);
                let value = sub(self, q, start);
                steps.push((Motion::Turn(n), value, k));
            }
            "slider" | "rail" => {
                let n = axis(self, 0);
                let zero = slide_zero(self, &n);
                let (q, k) = self.joint_value(joint, 0, Measure::Length);
                values.push(q);
                let value = sub(self, q, start);
                let value = sub(self, value, zero);
                steps.push((Motion::Slide(n), value, k));
                extra_turns = kind == "rail" && !child_is_point;
            }
            "cylindrical" => {
                let n = axis(self, 0);
                let zero = slide_zero(self, &n);
                let (s, k) = self.joint_value(joint, 0, Measure::Length);
                let (phi, l) = self.joint_value(joint, 1, Measure::Angle);
                values.extend([s, phi]);
                let value = sub(self, s, zero);
                steps.push((Motion::Slide(n), value, k));
                steps.push((Motion::Turn(n), phi, l));
            }
            "screw" => {
                let n = axis(self, 0);
                let pitch = geometry.parameters.iter().find(|(name, _)| *name == "pitch");
                let pitch = self.tidy(pitch.map_or(Expr::ZERO, |(_, e)| *e));
                let pool = &mut self.system.pool;
                let turn = pool.mul(&[Expr::TWO, Expr::PI]);
                let rate = pool.div(pitch, turn);
                let (phi, k) = if let Some(&target) = self.prescribed.get(&(joint, 1)) {
                    let target = self.tidy(target);
                    (self.system.pool.div(target, rate), None)
                } else {
                    self.joint_value(joint, 0, Measure::Angle)
                };
                let s = self.system.pool.mul(&[rate, phi]);
                values.extend([phi, s]);
                steps.push((Motion::Screw(n, rate), phi, k));
            }
            "universal" => {
                let (z, x) = (axis(self, 0), axis(self, 1));
                let (a, k) = self.joint_value(joint, 0, Measure::Angle);
                let (b, l) = self.joint_value(joint, 1, Measure::Angle);
                values.extend([a, b]);
                steps.push((Motion::Turn(z), a, k));
                steps.push((Motion::Turn(x), b, l));
            }
            "planar" | "plane-point" => {
                let n_drawn = axes.map_or([Expr::ZERO; 3], |a| a[0]);
                let n_drawn = self.tidy_vec(&n_drawn);
                let n_value = self.number_vec(&n_drawn).normalize();
                let n = axis(self, 0);
                let (x, y) = self.across(&n_drawn, &n_value);
                let (x, y) = (self.aligned(above, &x), self.aligned(above, &y));
                let planar = kind == "planar";
                for (i, direction) in [x, y].into_iter().enumerate() {
                    let zero = slide_zero(self, &direction);
                    let (q, k) = if planar {
                        self.joint_value(joint, i, Measure::Length)
                    } else {
                        let meaning = format!("{element}, {} in the plane", ["x", "y"][i]);
                        let k = self.coordinate(Measure::Length, meaning, None);
                        let reader = Reader::Glide {
                            coordinate: k,
                            ends: self.principal_ends(joint),
                            direction: [x, y][i],
                            seat: above.node,
                        };
                        self.system.readers.push(reader);
                        (self.system.coordinates[k].symbol, Some(k))
                    };
                    if planar {
                        values.push(q);
                    }
                    let value = sub(self, q, zero);
                    steps.push((Motion::Slide(direction), value, k));
                }
                if planar {
                    let (phi, k) = self.joint_value(joint, 2, Measure::Angle);
                    values.push(phi);
                    steps.push((Motion::Turn(n), phi, k));
                } else {
                    extra_turns = !child_is_point;
                }
            }
            "translation" => {
                for i in 0..3 {
                    let mut direction = [Expr::ZERO; 3];
                    direction[i] = Expr::ONE;
                    let direction = self.aligned(above, &direction);
                    let zero = slide_zero(self, &direction);
                    let (q, k) = self.joint_value(joint, i, Measure::Length);
                    values.push(q);
                    let value = sub(self, q, zero);
                    steps.push((Motion::Slide(direction), value, k));
                }
            }
            "ball" => extra_turns = !child_is_point,
            "curve" => {
                let Some(Track::Curve { u, place }) = geometry.track else {
                    return unsupported(element, "its curve is a spline; give it by `formula`");
                };
                let meaning = format!("{element}, parameter u of its curve");
                let k = self.coordinate(Measure::Parameter, meaning, None);
                self.system.readers.push(Reader::Curve { coordinate: k, joint });
                let symbol = self.system.coordinates[k].symbol;
                let place = place.map(|e| self.system.pool.substitute(e, &[(u, symbol)]));
                // From the drawn point to the place on the curve.
                let d = [0, 1, 2].map(|i| self.system.pool.sub(place[i], far[i]));
                let d = self.tidy_vec(&d);
                let d = self.aligned(above, &d);
                steps.push((Motion::Path(d), symbol, Some(k)));
                extra_turns = !child_is_point;
            }
            "distance" => return Ok(self.thread(body, joint, above, offset, far, &geometry)),
            _ => {
                return unsupported(
                    element,
                    format!("a joint of type `{kind}` has no closed form"),
                );
            }
        }
        self.joint_values[joint] = values;
        if reversed {
            steps.reverse();
            for (motion, value, _) in &mut steps {
                if let Motion::Path(_) = motion {
                    return unsupported(
                        element,
                        "the curve must belong to the body nearer to the world",
                    );
                }
                *value = self.system.pool.neg(*value);
            }
        }
        let mut node = above.node;
        let mut first = offset;
        if steps.is_empty() {
            node = self.node(node, first, Motion::Fixed, Expr::ZERO, None);
        }
        for (motion, value, coordinate) in steps {
            node = self.node(node, first, motion, value, coordinate);
            first = [Expr::ZERO; 3];
        }
        let seat = Seat { node, align: above.align, origin: pivot, pointlike: false };
        Ok(if extra_turns { self.turns(body, &element, seat) } else { seat })
    }

    /// The points of a joint in the principal frames of its bodies.
    fn principal_ends(&self, joint: usize) -> crate::state::Ends {
        let model = &self.loaded.model;
        let anchors = self.loaded.description.joints[joint].anchors;
        [0, 1].map(|i| {
            let body = model.joints[joint].bodies[i].index();
            let about = &model.bodies[body];
            (body, about.frame_origin + about.frame_rot * self.number_vec(&anchors[i]))
        })
    }

    /// Two directions across a drawn axis, as the model's joint frames have them.
    fn across(&mut self, n: &VecExpr, value: &Vec3) -> (VecExpr, VecExpr) {
        let (x, y) = perpendicular_frame(value);
        let exact = |v: &Vec3| v.iter().all(|c| (c - c.round()).abs() < 1e-15);
        if exact(&x) && exact(&y) {
            return (self.exact(&x), self.exact(&y));
        }
        // u = (h − n (n·h))/|…|, w = n × u, with the helper that the numbers chose.
        let (a, b, c) = (value.x.abs(), value.y.abs(), value.z.abs());
        let helper = if c >= a && c >= b {
            0
        } else if a >= b {
            1
        } else {
            2
        };
        let n = self.tidy_vec(n);
        let n = self.unit(&n);
        let pool = &mut self.system.pool;
        let u = [0, 1, 2].map(|i| {
            let p = pool.mul(&[n[i], n[helper]]);
            let h = if i == helper { Expr::ONE } else { Expr::ZERO };
            pool.sub(h, p)
        });
        let u = self.unit(&u);
        let w = crate::algebra::cross(&mut InPool { pool: &mut self.system.pool }, &n, &u);
        (u, self.tidy_vec(&w))
    }

    /// A rod of given length from a point of the parent: two turns and the length.
    fn thread(
        &mut self,
        body: usize,
        joint: usize,
        above: &Seat,
        offset: VecExpr,
        far: VecExpr,
        geometry: &JointGeometry,
    ) -> Seat {
        let model = &self.loaded.model;
        let element = format!("joint `{}`", model.joints[joint].name);
        let length = geometry.parameters.iter().find(|(n, _)| *n == "length").map(|(_, e)| *e);
        let length = self.tidy(length.unwrap_or(Expr::ZERO));
        let g = self.number_vec(&self.system.gravity);
        let upright = above.node == 0 && g.x.abs() + g.y.abs() < 1e-12 && g.z < 0.0;
        let state = &model.start;
        let anchor = self.number_vec(&geometry.world_points[0]);
        let r = state.s[body] - anchor;
        let round = r.x * state.s_dot[body].y - r.y * state.s_dot[body].x;
        let tilt = (r.x.hypot(r.y)) / r.norm();
        let (o, one, minus) = (Expr::ZERO, Expr::ONE, Expr::MINUS_ONE);
        let polar = upright && round.abs() > 1e-9 && tilt > 0.05;
        let (axes, names, note) = if polar {
            let axes = [[o, o, one], [o, minus, o]];
            (axes, ["azimuth", "angle from the vertical"], "singular where the thread is vertical")
        } else if r.y.abs() < 0.8 * r.norm() {
            let axes = [[o, minus, o], [one, o, o]];
            (
                axes,
                ["swing in the x-z plane", "swing out of it"],
                "singular where the thread lies along y",
            )
        } else {
            let axes = [[one, o, o], [o, one, o]];
            (
                axes,
                ["swing in the y-z plane", "swing out of it"],
                "singular where the thread lies along x",
            )
        };
        let mut node = above.node;
        let mut numbers = [0; 2];
        let mut first = offset;
        for i in 0..2 {
            let singular = (i == 1).then(|| note.to_owned());
            let k = self.coordinate(Measure::Angle, format!("{element}, {}", names[i]), singular);
            let symbol = self.system.coordinates[k].symbol;
            node = self.node(node, first, Motion::Turn(axes[i]), symbol, Some(k));
            first = [o; 3];
            numbers[i] = k;
        }
        let down = self.system.pool.neg(length);
        let node = self.node(node, [o, o, down], Motion::Fixed, o, None);
        let axes = axes.map(|a| self.number_vec(&a));
        let ends = self.principal_ends(joint);
        let reversed = model.joints[joint].bodies[0].index() == body;
        self.system.readers.push(Reader::Thread {
            coordinates: numbers,
            axes,
            ends,
            reversed,
            parent: above.node,
        });
        let is_point = model.bodies[body].kind == BodyKind::Point;
        let mut seat = Seat { node, align: above.align, origin: far, pointlike: is_point };
        if !is_point {
            // Beyond the rod the body turns freely; its axes are told against the rod's.
            seat = self.turns(body, &element, seat);
        }
        seat
    }

    /// Gears, and motions that no tree joint could take up.
    fn ties(&mut self) -> Result<(), DeriveError> {
        let mut names =
            self.loaded.model.rows.iter().filter(|row| matches!(row.kind, RowKind::Tie(_)));
        for tie in &self.loaded.description.ties {
            let name = names.next().map_or_else(String::new, |row| row.name.clone());
            let mut sum = Vec::new();
            for (joint, which, ratio) in &tie.terms {
                let Some(&q) = self.joint_values[joint.index()].get(*which) else {
                    return unsupported(
                        format!("coupling `{name}`"),
                        "it acts on a joint that closes a loop; the engine has no coordinate for it",
                    );
                };
                let ratio = self.tidy(*ratio);
                sum.push(self.system.pool.mul(&[ratio, q]));
            }
            let target = self.tidy(tie.target);
            sum.push(self.system.pool.neg(target));
            let row = self.system.pool.add(&sum);
            let row = self.tidy(row);
            if row != Expr::ZERO {
                self.system.closures.push(Closure {
                    name: format!("coupling `{name}`"),
                    rows: vec![Row::Equation(row)],
                });
            }
        }
        Ok(())
    }

    /// The rows of a joint that closes a loop.
    fn cut(&mut self, joint: usize) -> Result<(), DeriveError> {
        let about = &self.loaded.model.joints[joint];
        let element = format!("joint `{}`", about.name);
        let kind = about.kind.type_name();
        let geometry = self.loaded.description.joints[joint].clone();
        let [a, b] = about.bodies;
        let ends = [0, 1].map(|i| self.link_point(about.bodies[i], &geometry.world_points[i]));
        let nodes = [ends[0].node, ends[1].node];
        let (seat_a, seat_b) = (self.seat(a), self.seat(b));
        let unit = |i: usize| {
            let mut v = [Expr::ZERO; 3];
            v[i] = Expr::ONE;
            v
        };
        let gap = |direction: VecExpr| Row::Along { ends: ends.clone(), direction };
        let meet = |axis: usize| Row::Gap { ends: ends.clone(), axis };
        // Axes of the joint frames in the drawing: z along the axis, x and y across.
        let drawn = geometry.world_axes.map(|axes| axes.map(|v| self.tidy_vec(&v)));
        let frame = |build: &mut Self, which: usize, seat: &Seat| -> [VecExpr; 3] {
            let Some(axes) = drawn else {
                return [0, 1, 2].map(|i| build.aligned(seat, &unit(i)));
            };
            let value = build.number_vec(&axes[which]).normalize();
            let (x, y) = build.across(&axes[which], &value);
            let z = build.unit(&axes[which]);
            [x, y, z].map(|v| build.aligned(seat, &v))
        };
        let right = |u: VecExpr, w: VecExpr| Row::Right { nodes, directions: [u, w] };
        let mut rows: Vec<Row> = Vec::new();
        match kind {
            "ball" => rows.extend([0, 1, 2].map(&meet)),
            "hinge" => {
                rows.extend([0, 1, 2].map(&meet));
                let (fa, fb) = (frame(self, 0, &seat_a), frame(self, 1, &seat_b));
                rows.extend([right(fa[2], fb[0]), right(fa[2], fb[1])]);
            }
            "universal" => {
                rows.extend([0, 1, 2].map(&meet));
                let axes = drawn.unwrap_or([unit(2), unit(0)]);
                let z = self.unit(&axes[0]);
                let x = self.unit(&axes[1]);
                let (z, x) = (self.aligned(&seat_a, &z), self.aligned(&seat_b, &x));
                rows.push(right(z, x));
            }
            "slider" | "cylindrical" | "planar" | "rail" | "plane-point" => {
                let (fa, fb) = (frame(self, 0, &seat_a), frame(self, 1, &seat_b));
                let across: &[usize] =
                    if matches!(kind, "planar" | "plane-point") { &[2] } else { &[0, 1] };
                rows.extend(across.iter().map(|i| gap(fa[*i])));
                if matches!(kind, "slider" | "cylindrical" | "planar") {
                    rows.extend([right(fa[2], fb[0]), right(fa[2], fb[1])]);
                }
                if kind == "slider" {
                    rows.push(right(fa[0], fb[1]));
                }
            }
            "fixed" | "translation" => {
                if kind == "fixed" {
                    rows.extend([0, 1, 2].map(&meet));
                }
                let (fa, fb) = (frame(self, 0, &seat_a), frame(self, 1, &seat_b));
                rows.extend([right(fa[2], fb[1]), right(fa[0], fb[2]), right(fa[1], fb[0])]);
            }
            "distance" => {
                let length = geometry.parameters.iter().find(|(n, _)| *n == "length");
                let length = self.tidy(length.map_or(Expr::ZERO, |(_, e)| *e));
                rows.push(Row::Distance { ends: ends.clone(), length });
            }
            "surface" => {
                let Some(Track::Surface { x, f, frame }) = geometry.track else {
                    return unsupported(element, "its surface has no formula");
                };
                let origin = self.tidy_vec(&frame.position);
                let origin = self.link_point(a, &origin);
                let axes = frame.rotation.map(|r| r.map(|row| self.tidy_vec(&row)));
                let mut algebra = InPool { pool: &mut self.system.pool };
                let axes = crate::algebra::compose(&mut algebra, &seat_a.align, &axes);
                let f = self.system.pool.substitute(f, &self.definitions);
                rows.push(Row::Surface { ends: [origin, ends[1].clone()], axes, x, f });
            }
            "rope" => {
                return unsupported(
                    element,
                    "a rope is slack or taut and has no one equation of motion; use `distance` for a taut one",
                );
            }
            "screw" => {
                return unsupported(
                    element,
                    "a screw that closes a loop counts turns; let it carry the tree",
                );
            }
            "curve" => {
                return unsupported(
                    element,
                    "a curve that closes a loop is not derived; hang its body on the curve alone",
                );
            }
            _ => {
                return unsupported(
                    element,
                    format!("a joint of type `{kind}` cannot close a loop here"),
                );
            }
        }
        self.system.closures.push(Closure { name: element, rows });
        Ok(())
    }

    /// What the symbols of the state mean over q, q̇ and t.
    fn states(&mut self, exprs: &[Expr]) -> Result<Vec<(Expr, Expr)>, DeriveError> {
        let mut needed: Vec<Expr> = Vec::new();
        for e in exprs {
            for s in self.system.pool.symbols_of(*e) {
                if !needed.contains(&s) {
                    needed.push(s);
                }
            }
        }
        let mut out = Vec::new();
        let states = self.loaded.description.states.clone();
        if !states.iter().any(|(s, _)| needed.contains(s)) {
            return Ok(out);
        }
        let mut pool = std::mem::take(&mut self.system.pool);
        let mut kinematics = Kinematics::new(&self.system, &mut InPool { pool: &mut pool });
        let result = (|| {
            for (symbol, state) in states {
                if !needed.contains(&symbol) {
                    continue;
                }
                let mut algebra = InPool { pool: &mut pool };
                let value = match state {
                    StateRef::Time => algebra.pool.time(),
                    StateRef::Coordinate(id, which) | StateRef::CoordinateRate(id, which) => {
                        let values = &self.joint_values[id.index()];
                        let Some(&q) = values.get(which) else {
                            let name = &self.loaded.model.joints[id.index()].name;
                            return unsupported(
                                format!("joint `{name}`"),
                                "an expression uses its coordinate, but the joint closes a loop and has none here",
                            );
                        };
                        match state {
                            StateRef::Coordinate(..) => q,
                            _ => total_rate(algebra.pool, &self.system.coordinates, q),
                        }
                    }
                    StateRef::Position(vector, axis) => {
                        self.position(&mut kinematics, &mut algebra, &vector)[axis]
                    }
                    StateRef::Velocity(vector, axis) => {
                        let p = self.position(&mut kinematics, &mut algebra, &vector)[axis];
                        total_rate(algebra.pool, &self.system.coordinates, p)
                    }
                    StateRef::AngularVelocity(body, axis) => {
                        let node = self.seat(body).node;
                        kinematics.angular_velocity_world(&self.system, &mut algebra, node)[axis]
                    }
                    StateRef::Input(i) => {
                        let known = self.system.inputs.iter().any(|(s, _)| *s == symbol);
                        if !known {
                            let value = self.loaded.model.inputs[i].value;
                            self.system.inputs.push((symbol, value));
                        }
                        symbol
                    }
                };
                out.push((symbol, value));
            }
            Ok(())
        })();
        self.system.pool = pool;
        result.map(|()| out)
    }

    /// A body-fixed point or direction in the world.
    fn position(
        &self,
        kinematics: &mut Kinematics<Expr>,
        algebra: &mut InPool<'_>,
        vector: &BodyVector,
    ) -> VecExpr {
        let body = &self.loaded.model.bodies[vector.body.index()];
        let seat = self.seat(vector.body);
        // Principal frame → file frame → drawing → node.
        let file = body.frame_rot.inverse_transform_vector(
            &(if vector.is_point { vector.local - body.frame_origin } else { vector.local }),
        );
        let placement = &self.loaded.description.bodies[vector.body.index()];
        let file = [0, 1, 2].map(|i| {
            let whole = file[i].round();
            #[expect(clippy::cast_possible_truncation, reason = "small")]
            if (file[i] - whole).abs() < 1e-15 {
                algebra.pool.num(whole as i64)
            } else {
                algebra.pool.float(file[i])
            }
        });
        let rotation = placement
            .rotation
            .map(|r| r.map(|row| row.map(|e| algebra.pool.substitute(e, &self.definitions))));
        let drawn = turn(algebra, &rotation, &file);
        if !vector.is_point {
            let local = turn(algebra, &seat.align, &drawn);
            return kinematics.direction_world(&self.system, algebra, seat.node, &local);
        }
        let local = if seat.pointlike {
            [Expr::ZERO; 3]
        } else {
            let place = [0, 1, 2].map(|i| {
                let p = algebra.pool.substitute(placement.position[i], &self.definitions);
                let sum = algebra.pool.add(&[p, drawn[i]]);
                algebra.pool.sub(sum, seat.origin[i])
            });
            turn(algebra, &seat.align, &place)
        };
        kinematics.point_world(&self.system, algebra, seat.node, &local)
    }

    /// Values of a force with parameters, state and time put in.
    fn live(&mut self, values: &[Expr]) -> Result<Vec<Expr>, DeriveError> {
        let values = {
            let definitions = self.definitions.clone();
            self.system.pool.substitute_all(values, &definitions)
        };
        let states = self.states(&values)?;
        Ok(self.system.pool.substitute_all(&values, &states))
    }

    fn equations(&mut self) -> Result<(), DeriveError> {
        let names: Vec<String> = self
            .loaded
            .model
            .rows
            .iter()
            .filter(|row| matches!(row.kind, RowKind::Equation(_)))
            .map(|row| row.name.clone())
            .collect();
        for (g, name) in self.loaded.description.equations.clone().into_iter().zip(names) {
            let g = self.live(&[g])?[0];
            let name = format!("constraint `{name}`");
            self.system.closures.push(Closure { name, rows: vec![Row::Equation(g)] });
        }
        Ok(())
    }

    fn loads(&mut self) -> Result<(), DeriveError> {
        let loaded = self.loaded;
        for (force, values) in loaded.model.forces.iter().zip(&loaded.description.forces) {
            let law = self.law(&force.name, &force.kind, values)?;
            self.system.loads.push(Load { name: force.name.clone(), law });
        }
        Ok(())
    }

    fn law(
        &mut self,
        name: &str,
        kind: &ForceKind,
        values: &ForceValues,
    ) -> Result<Law, DeriveError> {
        let exprs: Vec<Expr> = values.values.iter().map(|(_, e)| *e).collect();
        let exprs = self.live(&exprs)?;
        let get = |key: &str| {
            values.values.iter().position(|(k, _)| *k == key).map_or(Expr::ZERO, |i| exprs[i])
        };
        let has = |key: &str| values.values.iter().any(|(k, _)| *k == key);
        let points: Vec<LinkPoint> = values
            .points
            .iter()
            .zip(&values.world_points)
            .map(|((body, _), drawn)| self.link_point(*body, drawn))
            .collect();
        let pair = |points: &[LinkPoint]| [points[0].clone(), points[1].clone()];
        let along = |build: &Self, axis: &gelenk_model::force::JointAxis| match build.joint_values
            [axis.joint.index()]
        .get(axis.which)
        {
            Some(&q) => Ok(q),
            None => unsupported(
                format!("force `{name}`"),
                "it acts along a joint that closes a loop; the engine has no coordinate for it",
            ),
        };
        Ok(match kind {
            ForceKind::Spring(_) => Law::Spring {
                ends: pair(&points),
                stiffness: get("stiffness"),
                length: get("length"),
            },
            ForceKind::Damper(_) => Law::Damper { ends: pair(&points), damping: get("damping") },
            ForceKind::JointSpring(law) => {
                let q = along(self, &law.axis)?;
                let (c, rest) = (get("stiffness"), get("rest"));
                let pool = &mut self.system.pool;
                let stretch = pool.sub(q, rest);
                let force = pool.mul(&[Expr::MINUS_ONE, c, stretch]);
                Law::Along { displacement: q, force, kind: AlongKind::Spring(c, rest) }
            }
            ForceKind::JointDamper(law) => {
                let q = along(self, &law.axis)?;
                let d = get("damping");
                let rate = total_rate(&mut self.system.pool, &self.system.coordinates, q);
                let force = self.system.pool.mul(&[Expr::MINUS_ONE, d, rate]);
                Law::Along { displacement: q, force, kind: AlongKind::Damper(d) }
            }
            ForceKind::Motor(law) => {
                let q = along(self, &law.axis)?;
                Law::Along { displacement: q, force: get("force"), kind: AlongKind::Drive }
            }
            ForceKind::Servo(law) => {
                let q = along(self, &law.axis)?;
                let rate = total_rate(&mut self.system.pool, &self.system.coordinates, q);
                let pool = &mut self.system.pool;
                let error = pool.sub(get("target"), q);
                let slip = pool.sub(get("target_velocity"), rate);
                let a = pool.mul(&[get("stiffness"), error]);
                let b = pool.mul(&[get("damping"), slip]);
                let mut force = pool.add(&[a, b]);
                if has("max_force") {
                    let bound = pool.func(Func::Abs, &[get("max_force")]);
                    let low = pool.neg(bound);
                    let capped = pool.func(Func::Min, &[force, bound]);
                    force = pool.func(Func::Max, &[capped, low]);
                }
                let brake = pool.mul(&[get("brake"), rate]);
                let force = pool.sub(force, brake);
                Law::Along { displacement: q, force, kind: AlongKind::Drive }
            }
            ForceKind::Applied(law) => {
                let force = [get("force.x"), get("force.y"), get("force.z")];
                let torque = [get("torque.x"), get("torque.y"), get("torque.z")];
                let (axes, force, torque) = match law.axes {
                    ModelAxes::World => (Axes::World, force, torque),
                    ModelAxes::Body => {
                        let body = law.point.body;
                        let rotation = self.loaded.description.bodies[body.index()].rotation;
                        let rotation = rotation.map(|r| r.map(|row| self.tidy_vec(&row)));
                        let seat = self.seat(body);
                        let mut algebra = InPool { pool: &mut self.system.pool };
                        let [f, t] = [force, torque].map(|v| {
                            let drawn = turn(&mut algebra, &rotation, &v);
                            turn(&mut algebra, &seat.align, &drawn)
                        });
                        (Axes::Body, f, t)
                    }
                };
                Law::Applied { point: points[0].clone(), force, torque, axes }
            }
            ForceKind::Drag(_) => Law::Drag {
                point: points[0].clone(),
                linear: get("linear"),
                angular: get("angular"),
            },
            ForceKind::RodTorque(_) => Law::RodTorque {
                ends: pair(&points),
                torque: [get("torque.x"), get("torque.y"), get("torque.z")],
            },
            other => {
                return unsupported(
                    format!("force `{name}`"),
                    format!("a force of type `{}` is not derived", other.type_name()),
                );
            }
        })
    }

    /// Notes on what the model has and equations of motion do not show.
    fn left_out(&mut self) {
        let model = &self.loaded.model;
        let notes = &mut self.system.notes;
        for joint in &model.joints {
            if !joint.properties.limits.is_empty() {
                notes.push(format!("joint `{}`: its end stops are left out", joint.name));
            }
            if joint.properties.friction.iter().any(|f| *f != 0.0) {
                notes.push(format!("joint `{}`: its dry friction is left out", joint.name));
            }
            if joint.properties.break_force.is_some() || joint.properties.break_torque.is_some() {
                notes.push(format!("joint `{}`: that it may break is left out", joint.name));
            }
        }
        for body in &model.bodies {
            if body.contact.collide {
                notes.push(format!("body `{}`: contact is left out", body.name));
            }
        }
        for coordinate in &self.system.coordinates {
            if let Some(singular) = &coordinate.singular {
                notes.push(format!("{}: {singular}", coordinate.meaning));
            }
        }
        for closure in &self.system.closures {
            notes.push(format!("{}: closes a loop, with multipliers", closure.name));
        }
    }
}

/// d/dt of an expression over q and t.
pub(crate) fn total_rate(pool: &mut Pool, coordinates: &[Coordinate], e: Expr) -> Expr {
    let rates: Vec<(Expr, Expr)> = coordinates.iter().map(|c| (c.symbol, c.rate)).collect();
    let time = pool.time();
    pool.diff_total(e, time, &rates)
}

fn transpose(m: MatExpr) -> MatExpr {
    [0, 1, 2].map(|i| [0, 1, 2].map(|j| m[j][i]))
}
