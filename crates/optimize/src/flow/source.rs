//! From a loaded model of point masses to the expressions of a mechanism.

use gelenk_expr::{Expr, Pool};
use gelenk_model::force::{ForceKind, PointPair};
use gelenk_model::signal::StateRef;
use gelenk_model::{BodyId, BodyKind, JointKind, Loaded, RowKind};

const AXES: [&str; 3] = ["x", "y", "z"];

/// A mechanism of point masses as expressions: what [`Mechanism`](super::Mechanism) is derived from.
///
/// Quantities are named `POINT.x`, `POINT.vx`, `u.INPUT`.
#[derive(Clone, Debug)]
pub struct Source {
    /// Where the expressions live.
    pub pool: Pool,
    /// Symbols of the coordinates.
    pub p: Vec<Expr>,
    /// Symbols of their rates.
    pub v: Vec<Expr>,
    /// Symbols of the controls: the model's inputs.
    pub controls: Vec<Expr>,
    /// Symbols of the free parameters.
    pub parameters: Vec<Expr>,
    /// Mass of each coordinate, kg.
    pub mass: Vec<f64>,
    /// F over all symbols, N.
    pub force: Vec<Expr>,
    /// Names and left sides of g(p) = 0.
    pub constraints: Vec<(String, Expr)>,
    /// Lagrange term over all symbols.
    pub cost: Expr,
    /// Start: (p, v) as the file gives it.
    pub start: Vec<f64>,
    /// Names of coordinates, then of rates.
    pub names: Vec<String>,
    /// Names of controls.
    pub control_names: Vec<String>,
}

/// A model seen by a builder of expressions.
struct Reader<'a> {
    loaded: &'a Loaded,
    pool: Pool,
    moving: Vec<BodyId>,
    p: Vec<Expr>,
    v: Vec<Expr>,
    /// Symbols of the file and what stands for them here.
    replace: Vec<(Expr, Expr)>,
    force: Vec<Expr>,
    constraints: Vec<(String, Expr)>,
}

impl Source {
    /// Reads a model of point masses. `free` names parameters of the model that stay symbols, in the order of the problem's; names
    /// that the model does not know are parameters of the problem alone (durations).
    pub fn from_model(loaded: &Loaded, free: &[String]) -> Result<Self, String> {
        let model = &loaded.model;
        let mut reader = Reader {
            loaded,
            pool: model.pool.clone(),
            moving: Vec::new(),
            p: Vec::new(),
            v: Vec::new(),
            replace: Vec::new(),
            force: Vec::new(),
            constraints: Vec::new(),
        };
        let (mut mass, mut names, mut rate_names) = (Vec::new(), Vec::new(), Vec::new());
        let (mut start, mut start_rates) = (Vec::new(), Vec::new());
        for (i, body) in (0u32..).zip(&model.bodies).filter(|(_, body)| !body.fixed) {
            if body.kind == BodyKind::Rigid {
                return Err(format!(
                    "body `{}` is no point mass; `gelenk points` turns bodies into point masses",
                    body.name
                ));
            }
            reader.moving.push(BodyId(i));
            for (axis, letter) in AXES.iter().enumerate() {
                let (name, rate) =
                    (format!("{}.{letter}", body.name), format!("{}.v{letter}", body.name));
                reader.p.push(reader.pool.symbol(&name));
                reader.v.push(reader.pool.symbol(&rate));
                names.push(name);
                rate_names.push(rate);
                mass.push(body.mass);
                start.push(model.start.s[i as usize][axis]);
                start_rates.push(model.start.s_dot[i as usize][axis]);
            }
        }
        let controls: Vec<Expr> = model
            .inputs
            .iter()
            .map(|input| reader.pool.symbol(&format!("u.{}", input.name)))
            .collect();
        reader.read_symbols(&controls, free)?;
        reader.read_constraints()?;
        reader.read_forces()?;
        names.extend(rate_names);
        start.extend(start_rates);
        let parameters = free.iter().map(|name| reader.pool.symbol(name)).collect();
        let Reader { pool, p, v, force, constraints, .. } = reader;
        Ok(Source {
            pool,
            p,
            v,
            controls,
            parameters,
            mass,
            force,
            constraints,
            cost: Expr::ZERO,
            start,
            names,
            control_names: model.inputs.iter().map(|input| input.name.clone()).collect(),
        })
    }

    /// Sets the Lagrange term: an expression over the quantities' names, time and parameters.
    pub fn set_cost(&mut self, text: &str) -> Result<(), String> {
        let cost = self.pool.parse(text).map_err(|error| error.to_string())?;
        let time = self.pool.time();
        let known = [&self.p[..], &self.v, &self.controls, &self.parameters, &[time]].concat();
        if let Some(unknown) = self.pool.symbols_of(cost).into_iter().find(|s| !known.contains(s)) {
            return Err(format!(
                "the cost names `{}`, which is no quantity of the model",
                self.pool.display(unknown)
            ));
        }
        self.cost = cost;
        Ok(())
    }
}

impl Reader<'_> {
    /// The place of a body's coordinate, if it moves.
    fn index(&self, body: BodyId) -> Option<usize> {
        self.moving.iter().position(|b| *b == body).map(|i| 3 * i)
    }

    /// What symbols of the file mean: parameters, inputs, positions and velocities.
    fn read_symbols(&mut self, controls: &[Expr], free: &[String]) -> Result<(), String> {
        let loaded = self.loaded;
        for parameter in &loaded.model.parameters {
            if free.contains(&parameter.name) {
                let symbol = self.pool.symbol(&parameter.name);
                self.replace.push((parameter.symbol, symbol));
                continue;
            }
            let value = match parameter.definition {
                Some(definition) => self.pool.substitute(definition, &self.replace),
                None => self.pool.float(parameter.value),
            };
            // A definition over numbers alone is its number.
            let value = if self.pool.symbols_of(value).is_empty() {
                self.pool.float(parameter.value)
            } else {
                value
            };
            self.replace.push((parameter.symbol, value));
        }
        for (symbol, state) in &loaded.description.states {
            let meaning = match *state {
                StateRef::Time => self.pool.time(),
                StateRef::Input(i) => controls[i],
                StateRef::Position(vector, axis) => self.place(vector.body, &vector.local)[axis],
                StateRef::Velocity(vector, axis) => self.rate(vector.body)[axis],
                StateRef::AngularVelocity(..)
                | StateRef::Coordinate(..)
                | StateRef::CoordinateRate(..) => {
                    return Err(format!(
                        "`{}` is no coordinate of a point mass",
                        self.pool.display(*symbol)
                    ));
                }
            };
            self.replace.push((*symbol, meaning));
        }
        Ok(())
    }

    /// A point of a body: coordinates of the mass, or numbers where the body does not move.
    fn place(&mut self, body: BodyId, local: &gelenk_model::math::Vec3) -> [Expr; 3] {
        if let Some(i) = self.index(body) {
            [self.p[i], self.p[i + 1], self.p[i + 2]]
        } else {
            let start = &self.loaded.model.start;
            let place = start.s[body.index()] + start.rot[body.index()] * local;
            [0, 1, 2].map(|k| self.pool.float(place[k]))
        }
    }

    fn rate(&self, body: BodyId) -> [Expr; 3] {
        self.index(body).map_or([Expr::ZERO; 3], |i| [self.v[i], self.v[i + 1], self.v[i + 2]])
    }

    fn read_constraints(&mut self) -> Result<(), String> {
        let loaded = self.loaded;
        let mut written = loaded.description.equations.iter();
        for block in &loaded.model.rows {
            let g = match &block.kind {
                RowKind::Equation(_) => {
                    let g = written.next().copied().unwrap_or(Expr::ZERO);
                    self.pool.substitute(g, &self.replace)
                }
                RowKind::Joint(id) => {
                    let joint = &loaded.model.joints[id.index()];
                    let JointKind::Distance(distance) = &joint.kind else {
                        return Err(format!(
                            "joint `{}`: motions of point masses know distances and equations",
                            block.name
                        ));
                    };
                    let [a, b] = [0, 1].map(|k| self.place(joint.bodies[k], &distance.points()[k]));
                    let square = self.square(&a, &b);
                    let length = self.pool.float(distance.length() * distance.length());
                    self.pool.sub(square, length)
                }
                RowKind::Tie(_) | RowKind::Stop(_) | RowKind::Friction(_) => {
                    return Err(format!(
                        "`{}`: motions of point masses know distances and equations",
                        block.name
                    ));
                }
            };
            self.constraints.push((block.name.clone(), g));
        }
        Ok(())
    }

    /// |b − a|².
    fn square(&mut self, a: &[Expr; 3], b: &[Expr; 3]) -> Expr {
        let two = self.pool.num(2);
        let terms = [0, 1, 2].map(|k| {
            let way = self.pool.sub(b[k], a[k]);
            self.pool.pow(way, two)
        });
        self.pool.add(&terms)
    }

    /// |b − a|² as the number that a constraint holds it at, where there is one.
    fn held_square(&mut self, a: &[Expr; 3], b: &[Expr; 3]) -> Expr {
        let square = self.square(a, b);
        for k in 0..self.constraints.len() {
            let difference = self.pool.sub(square, self.constraints[k].1);
            let difference = self.pool.expand(difference);
            if self.pool.as_f64(difference).is_some_and(|d| d > 0.0) {
                return difference;
            }
        }
        square
    }

    fn read_forces(&mut self) -> Result<(), String> {
        let loaded = self.loaded;
        let gravity = loaded.description.gravity.map(|g| self.pool.substitute(g, &self.replace));
        let mut sums: Vec<Vec<Expr>> = Vec::new();
        for &body in &self.moving {
            let mass = self.pool.float(loaded.model.bodies[body.index()].mass);
            for g in gravity {
                sums.push(vec![self.pool.mul(&[mass, g])]);
            }
        }
        for (force, values) in loaded.model.forces.iter().zip(&loaded.description.forces) {
            let value = |pool: &mut Pool, name: &str, replace: &[(Expr, Expr)]| {
                let found =
                    values.values.iter().find(|(n, _)| *n == name).map_or(Expr::ZERO, |(_, e)| *e);
                pool.substitute(found, replace)
            };
            let vector = |pool: &mut Pool, what: &str, replace: &[(Expr, Expr)]| {
                AXES.map(|axis| value(pool, &format!("{what}.{axis}"), replace))
            };
            match &force.kind {
                ForceKind::Applied(law) => {
                    let push = vector(&mut self.pool, "force", &self.replace);
                    self.add(&mut sums, law.point.body, &push, Expr::ONE);
                }
                ForceKind::RodTorque(law) => {
                    let torque = vector(&mut self.pool, "torque", &self.replace);
                    let [a, b] = self.ends(&law.ends);
                    let way = [0, 1, 2].map(|k| self.pool.sub(b[k], a[k]));
                    let square = self.held_square(&a, &b);
                    let couple = self.cross(&torque, &way).map(|c| self.pool.div(c, square));
                    self.add_pair(&mut sums, &law.ends, &couple);
                }
                ForceKind::Spring(law) => {
                    let stiffness = value(&mut self.pool, "stiffness", &self.replace);
                    let rest = value(&mut self.pool, "length", &self.replace);
                    let [a, b] = self.ends(&law.ends);
                    let square = self.square(&a, &b);
                    let length = self.pool.sqrt(square);
                    // F on b = −k (1 − l/|Δ|) Δ
                    let part = self.pool.div(rest, length);
                    let part = self.pool.sub(part, Expr::ONE);
                    let push = [0, 1, 2].map(|k| {
                        let way = self.pool.sub(b[k], a[k]);
                        self.pool.mul(&[stiffness, part, way])
                    });
                    self.add_pair(&mut sums, &law.ends, &push);
                }
                ForceKind::Damper(law) => {
                    let damping = value(&mut self.pool, "damping", &self.replace);
                    let [a, b] = self.ends(&law.ends);
                    let [va, vb] = law.ends.bodies.map(|body| self.rate(body));
                    let square = self.square(&a, &b);
                    let way = [0, 1, 2].map(|k| self.pool.sub(b[k], a[k]));
                    let terms = [0, 1, 2].map(|k| {
                        let rate = self.pool.sub(vb[k], va[k]);
                        self.pool.mul(&[rate, way[k]])
                    });
                    let along = self.pool.add(&terms);
                    let factor = self.pool.div(along, square);
                    let factor = self.pool.mul(&[damping, factor]);
                    let factor = self.pool.neg(factor);
                    let push = way.map(|w| self.pool.mul(&[factor, w]));
                    self.add_pair(&mut sums, &law.ends, &push);
                }
                ForceKind::Drag(law) => {
                    let linear = value(&mut self.pool, "linear", &self.replace);
                    let minus = self.pool.neg(linear);
                    let rate = self.rate(law.point.body);
                    self.add(&mut sums, law.point.body, &rate, minus);
                }
                other => {
                    return Err(format!(
                        "force `{}`: a {} does not act on point masses",
                        force.name,
                        other.type_name()
                    ));
                }
            }
        }
        self.force = sums.iter().map(|terms| self.pool.add(terms)).collect();
        Ok(())
    }

    fn ends(&mut self, pair: &PointPair) -> [[Expr; 3]; 2] {
        [0, 1].map(|k| self.place(pair.bodies[k], &pair.points[k]))
    }

    fn cross(&mut self, a: &[Expr; 3], b: &[Expr; 3]) -> [Expr; 3] {
        [0, 1, 2].map(|k| {
            let (i, j) = ((k + 1) % 3, (k + 2) % 3);
            let (plus, minus) = (self.pool.mul(&[a[i], b[j]]), self.pool.mul(&[a[j], b[i]]));
            self.pool.sub(plus, minus)
        })
    }

    fn add(&mut self, sums: &mut [Vec<Expr>], body: BodyId, push: &[Expr; 3], factor: Expr) {
        if let Some(i) = self.index(body) {
            for k in 0..3 {
                sums[i + k].push(self.pool.mul(&[factor, push[k]]));
            }
        }
    }

    /// `push` on b and the opposite on a.
    fn add_pair(&mut self, sums: &mut [Vec<Expr>], pair: &PointPair, push: &[Expr; 3]) {
        let minus = Expr::MINUS_ONE;
        self.add(sums, pair.bodies[1], push, Expr::ONE);
        self.add(sums, pair.bodies[0], push, minus);
    }
}
