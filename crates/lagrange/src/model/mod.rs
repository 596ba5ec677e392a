//! From a model file to a [`System`]: joint coordinates, geometry in the drawing's axes, loads, closures.

use gelenk_expr::{Expr, Pool};
use gelenk_model::math::{Mat3, Vec3};
use gelenk_model::{BodyId, BodyKind, Loaded};
use rustc_hash::FxHashMap;

use crate::algebra::{InPool, turn};
use crate::ring::Ring;
use crate::system::{
    Coordinate, DeriveError, Link, LinkPoint, MatExpr, Measure, Motion, Node, Parameter, System,
    TreeJoint, VecExpr,
};
use crate::tree::{Carrier, plan};

mod bodies;
mod closures;
mod joints;
mod loads;

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
    /// The same as drawn, over parameters.
    drawn_values: Vec<Vec<Expr>>,
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
            drawn_values: vec![Vec::new(); model.joints.len()],
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
        let taken = |pool: &Pool, prefix: &str| {
            ["", "_dot", "_ddot"]
                .iter()
                .any(|ending| pool.find_symbol(&format!("{prefix}{}{ending}", n + 1)).is_some())
        };
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
