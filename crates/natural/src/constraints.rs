//! The conditions of a model as polynomials in natural coordinates.
//!
//! With p the centre and the entries of R of each body, a point of a body is linear, s + R c, and so is a direction, R u. Joints are
//! products of two of these at most:
//! ```text
//! points together       s_b + R_b c_b − s_a − R_a c_a                 linear
//! no way along u        (R_a u)·Δ                                     quadratic
//! right angle           (R_a u)·(R_b w)                               quadratic
//! rod                   Δ·Δ − L²                                      quadratic
//! rigid body            R_i·R_j − δ_ij,  i ≤ j                        quadratic
//! surface f(x)          f((R_a e)ᵀ Δ)                                 twice the degree of f
//! curve c(u)            u eliminated ([`crate::tracks`])
//! coupling of lengths   Σ r (R_a u)·Δ − const                         quadratic
//! coupling of angles    Im( e^{−ic} Π (cos φ + i sin φ)^n ), whole n   cos φ, sin φ quadratic
//! ```
//! \[Laufen\] chapter I.

use gelenk_expr::{Expr, Node, Pool};
use gelenk_model::joint::{Joint, JointFrame, JointId, JointKind};
use gelenk_model::math::Vec3;
use gelenk_model::rows::{CoordinateTie, RowBlock, RowKind};
use gelenk_model::signal::{BodyVector, TimeFunction};
use gelenk_model::{BodyId, Model, Pose, State};

use crate::layout::Layout;
use crate::polynomial::Polynomial;
use crate::tracks;

/// A condition g(p) = 0, in words and as a polynomial.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// What it says: "body `arm`, x·y", "joint `elbow`, tilt x".
    pub name: String,
    /// The row block of the model it belongs to; `None` for those of rigid bodies.
    pub block: Option<usize>,
    /// g.
    pub g: Polynomial,
}

/// The conditions of a model as polynomials.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// Names of the variables: `arm.s.x`, `arm.R.xy` (row x, column y of R). (n)
    pub variables: Vec<String>,
    /// Those of rigid bodies first, then the rows of the model in their order.
    pub list: Vec<Condition>,
    /// What is no polynomial or depends on time, with the reason; not in the list.
    pub left_out: Vec<(usize, String)>,
}

/// The conditions of `model` as polynomials in natural coordinates; fixed bodies are where `state` has them.
///
/// Ropes count as taut. End stops and friction are no equations; screws, couplings of lengths with angles or of angles by ratios that are no small fractions, curves and surfaces by
/// other functions than polynomials are no polynomials: they are named in [`Conditions::left_out`], and so are prescribed motions and equations that contain time.
pub fn conditions(model: &Model, state: &State) -> Conditions {
    let writer = Writer { model, layout: Layout::new(model), state };
    let mut found =
        Conditions { variables: writer.names(), list: Vec::new(), left_out: Vec::new() };
    for place in writer.layout.places.iter().filter(|place| place.rigid) {
        let columns: [Vector; 3] =
            [Vec3::x(), Vec3::y(), Vec3::z()].map(|u| writer.direction(place.body, &u));
        let name = &model.bodies[place.body].name;
        let axes = ["x", "y", "z"];
        for i in 0..3 {
            for j in i..3 {
                let one = Polynomial::constant(if i == j { 1.0 } else { 0.0 });
                found.list.push(Condition {
                    name: format!("body `{name}`, {}·{}", axes[i], axes[j]),
                    block: None,
                    g: &dot(&columns[i], &columns[j]) - &one,
                });
            }
        }
    }
    for (k, block) in model.rows.iter().enumerate() {
        match writer.block(block) {
            Ok(rows) => found.list.extend(rows.into_iter().enumerate().map(|(i, g)| Condition {
                name: block.row_label(model, i),
                block: Some(k),
                g,
            })),
            Err(reason) => {
                let label = block.row_label(model, 0);
                let element = label.split(',').next().unwrap_or(&label);
                found.left_out.push((k, format!("{element}: {reason}")));
            }
        }
    }
    found
}

/// Three polynomials: a point or direction of a body.
type Vector = [Polynomial; 3];

struct Writer<'a> {
    model: &'a Model,
    layout: Layout,
    state: &'a State,
}

impl Writer<'_> {
    fn names(&self) -> Vec<String> {
        let axes = ["x", "y", "z"];
        let mut names = Vec::with_capacity(self.layout.n);
        for place in &self.layout.places {
            let body = &self.model.bodies[place.body].name;
            names.extend(axes.map(|axis| format!("{body}.s.{axis}")));
            if place.rigid {
                for column in axes {
                    names.extend(axes.map(|row| format!("{body}.R.{row}{column}")));
                }
            }
        }
        names
    }

    fn pose(&self, body: usize) -> Pose {
        self.state.pose(BodyId(u32::try_from(body).unwrap_or(u32::MAX)))
    }

    /// R u.
    fn direction(&self, body: usize, u: &Vec3) -> Vector {
        let place = self.layout.of_body[body].map(|k| self.layout.places[k]);
        match place.filter(|place| place.rigid) {
            Some(place) => [0, 1, 2].map(|row| {
                let mut sum = Polynomial::default();
                for column in 0..3 {
                    sum.add_term(vec![(place.first + 3 + 3 * column + row, 1)], u[column]);
                }
                sum
            }),
            // Fixed, or a point mass, which does not turn.
            None => constant(&(self.pose(body).rot * u)),
        }
    }

    /// s + R c.
    fn point(&self, body: usize, c: &Vec3) -> Vector {
        let lever = self.direction(body, c);
        let centre = match self.layout.of_body[body] {
            Some(k) => {
                let first = self.layout.places[k].first;
                [0, 1, 2].map(|axis| Polynomial::variable(first + axis))
            }
            None => constant(&self.pose(body).s),
        };
        [0, 1, 2].map(|k| &centre[k] + &lever[k])
    }

    fn block(&self, block: &RowBlock) -> Result<Vec<Polynomial>, String> {
        match &block.kind {
            RowKind::Joint(id) => self.joint(&self.model.joints[id.index()]),
            RowKind::Equation(equation) => {
                let mut pool = self.model.pool.clone();
                let values: Vec<(Expr, Expr)> = (self.model.parameters.iter())
                    .map(|parameter| (parameter.symbol, pool.float(parameter.value)))
                    .collect();
                let g = pool.substitute_all(&[equation.symbolic.g], &values)[0];
                let symbols: Vec<(Expr, Polynomial)> = (equation.symbolic.u.iter())
                    .zip(&equation.coordinates)
                    .map(|(symbol, (vector, axis))| (*symbol, self.vector(vector)[*axis].clone()))
                    .collect();
                Ok(vec![from_expression(&pool, g, &symbols)?])
            }
            RowKind::Tie(tie) => Ok(vec![self.coupling(tie)?]),
            RowKind::Stop(_) | RowKind::Friction(_) => Err("a bound is no equation".to_owned()),
        }
    }

    fn vector(&self, vector: &BodyVector) -> Vector {
        let body = vector.body.index();
        if vector.is_point {
            self.point(body, &vector.local)
        } else {
            self.direction(body, &vector.local)
        }
    }

    /// A joint's rows, in the order of its `JointEquations`.
    fn joint(&self, joint: &Joint) -> Result<Vec<Polynomial>, String> {
        let [frame_a, frame_b] = joint.kind.frames();
        let [a, b] = joint.bodies.map(BodyId::index);
        let (p_a, p_b) = (self.point(a, &frame_a.origin), self.point(b, &frame_b.origin));
        let gap = [0, 1, 2].map(|k| &p_b[k] - &p_a[k]);
        let axes = |body: usize, frame: &JointFrame| {
            [frame.x(), frame.y(), frame.z()].map(|u| self.direction(body, &u))
        };
        let ([x_a, y_a, z_a], [x_b, y_b, z_b]) = (axes(a, &frame_a), axes(b, &frame_b));
        let rod = |length: f64| &dot(&gap, &gap) - &Polynomial::constant(length * length);
        let together = || gap.to_vec();
        let parallel = || vec![dot(&z_a, &y_b), dot(&x_a, &z_b), dot(&y_a, &x_b)];
        let tilts = || vec![dot(&z_a, &x_b), dot(&z_a, &y_b)];
        let across = || vec![dot(&x_a, &gap), dot(&y_a, &gap)];
        Ok(match &joint.kind {
            JointKind::Ball(_) => together(),
            JointKind::Hinge(_) => [together(), tilts()].concat(),
            JointKind::Fixed(_) => [together(), parallel()].concat(),
            JointKind::Universal(_) => [together(), vec![dot(&z_a, &x_b)]].concat(),
            JointKind::Slider(_) => [across(), parallel()].concat(),
            JointKind::Cylindrical(_) => [across(), tilts()].concat(),
            JointKind::Planar(_) => [vec![dot(&z_a, &gap)], tilts()].concat(),
            JointKind::Rail(_) => across(),
            JointKind::PlanePoint(_) => vec![dot(&z_a, &gap)],
            JointKind::Translation(_) => parallel(),
            JointKind::Distance(joint) => vec![rod(joint.length())],
            JointKind::Rope(joint) => vec![rod(joint.length())],
            JointKind::Screw(_) => {
                return Err("a screw joint is no polynomial: it ties a length to an angle that counts full turns, and of an angle only cosine and sine are \
                            coordinates"
                    .to_owned());
            }
            JointKind::PointOnCurve(joint) => {
                let local = [&x_a, &y_a, &z_a].map(|axis| dot(axis, &gap));
                return tracks::curve(joint.path(), &local);
            }
            JointKind::PointOnSurface(joint) => {
                let local = [&x_a, &y_a, &z_a].map(|axis| dot(axis, &gap));
                return Ok(vec![tracks::surface(joint.surface(), &local)?]);
            }
            other => {
                return Err(format!("a joint of type `{}` has no polynomials", other.type_name()));
            }
        })
    }
}

/// What a joint coordinate is in natural coordinates.
enum Measure {
    /// A length.
    Length(Polynomial),
    /// Cosine and sine of an angle.
    Angle(Polynomial, Polynomial),
}

impl Writer<'_> {
    fn measure(&self, id: JointId, which: usize) -> Result<Measure, String> {
        let joint = &self.model.joints[id.index()];
        let [frame_a, frame_b] = joint.kind.frames();
        let [a, b] = joint.bodies.map(BodyId::index);
        let (p_a, p_b) = (self.point(a, &frame_a.origin), self.point(b, &frame_b.origin));
        let gap = [0, 1, 2].map(|k| &p_b[k] - &p_a[k]);
        let along = |u: Vec3| Measure::Length(dot(&self.direction(a, &u), &gap));
        let on_a = |u: Vec3| self.direction(a, &u);
        let on_b = |u: Vec3| self.direction(b, &u);
        let turn_z = || {
            let x_b = on_b(frame_b.x());
            Measure::Angle(dot(&on_a(frame_a.x()), &x_b), dot(&on_a(frame_a.y()), &x_b))
        };
        let turn_x = || {
            let z_a = on_a(frame_a.z());
            Measure::Angle(dot(&z_a, &on_b(frame_b.z())), dot(&z_a, &on_b(frame_b.y())))
        };
        Ok(match (&joint.kind, which) {
            (JointKind::Hinge(_) | JointKind::Screw(_) | JointKind::Universal(_), 0)
            | (JointKind::Cylindrical(_), 1)
            | (JointKind::Planar(_), 2) => turn_z(),
            (JointKind::Universal(_), 1) => turn_x(),
            (JointKind::Slider(_) | JointKind::Rail(_) | JointKind::Cylindrical(_), 0)
            | (JointKind::Screw(_), 1)
            | (JointKind::Translation(_), 2) => along(frame_a.z()),
            (JointKind::Planar(_) | JointKind::Translation(_), 0) => along(frame_a.x()),
            (JointKind::Planar(_) | JointKind::Translation(_), 1) => along(frame_a.y()),
            _ => {
                return Err(format!(
                    "the coordinate of joint `{}` is no polynomial of natural coordinates",
                    joint.name
                ));
            }
        })
    }

    /// Σ ratio q = const.
    fn coupling(&self, tie: &CoordinateTie) -> Result<Polynomial, String> {
        let TimeFunction::Constant(target) = tie.target else {
            return Err("a prescribed motion depends on time".to_owned());
        };
        let (mut lengths, mut angles) = (Vec::new(), Vec::new());
        for &(joint, which, ratio) in &tie.terms {
            match self.measure(joint, which)? {
                Measure::Length(length) => lengths.push((length, ratio)),
                Measure::Angle(cosine, sine) => angles.push(((cosine, sine), ratio)),
            }
        }
        if angles.is_empty() {
            let sum = Polynomial::constant(-target);
            return Ok(lengths.iter().fold(sum, |sum, (q, ratio)| &sum + &q.scaled(*ratio)));
        }
        if !lengths.is_empty() {
            return Err("a coupling of an angle with a length is no polynomial: of an angle only cosine and sine are coordinates".to_owned());
        }
        tracks::coupled_angles(&angles, target)
    }
}

fn constant(u: &Vec3) -> Vector {
    [0, 1, 2].map(|k| Polynomial::constant(u[k]))
}

fn dot(u: &Vector, w: &Vector) -> Polynomial {
    (0..3).fold(Polynomial::default(), |sum, k| &sum + &(&u[k] * &w[k]))
}

/// The largest exponent that is multiplied out.
const MOST_POWER: u32 = 32;

/// An expression over symbols that stand for polynomials; the error says what is none.
pub fn from_expression(
    pool: &Pool,
    g: Expr,
    symbols: &[(Expr, Polynomial)],
) -> Result<Polynomial, String> {
    // Parts come before the whole, so that no recursion is needed.
    let parts = pool.subexpressions(&[g]);
    let mut known: std::collections::BTreeMap<Expr, Result<Polynomial, String>> =
        symbols.iter().map(|(symbol, polynomial)| (*symbol, Ok(polynomial.clone()))).collect();
    for e in parts {
        if known.contains_key(&e) {
            continue;
        }
        let get = |part: &Expr| {
            known.get(part).cloned().unwrap_or_else(|| Err("an unknown part".to_owned()))
        };
        let value = match pool.node(e) {
            Node::Number(number) => Ok(Polynomial::constant(number.to_f64())),
            Node::Constant(constant) => Ok(Polynomial::constant(constant.value())),
            Node::Sum(list) => {
                list.iter().try_fold(Polynomial::default(), |sum, part| Ok(&sum + &get(part)?))
            }
            Node::Product(list) => list
                .iter()
                .try_fold(Polynomial::constant(1.0), |product, part| Ok(&product * &get(part)?)),
            Node::Power(base, exponent) => {
                let whole = pool.as_f64(exponent).filter(|k| k.fract() == 0.0 && *k >= 0.0);
                let number = get(&base).ok().filter(|base| base.degree() == 0);
                match (whole, number, pool.as_f64(exponent)) {
                    (_, Some(base), Some(k)) => Ok(Polynomial::constant(base.value(&[]).powf(k))),
                    (Some(k), _, _) if k <= f64::from(MOST_POWER) => {
                        #[expect(
                            clippy::cast_possible_truncation,
                            clippy::cast_sign_loss,
                            reason = "a small whole number"
                        )]
                        let k = k as u32;
                        get(&base).map(|base| base.power(k))
                    }
                    _ => Err("a power with an exponent that is no small whole number".to_owned()),
                }
            }
            Node::Symbol(name) => Err(format!("`{name}` is no natural coordinate")),
            Node::OfTime { name, .. } => Err(format!("`{name}` depends on time")),
            Node::Apply(..) | Node::If(..) => match pool.as_f64(e) {
                Some(value) => Ok(Polynomial::constant(value)),
                None => Err("a function that is no polynomial".to_owned()),
            },
        };
        known.insert(e, value);
    }
    known.remove(&g).unwrap_or_else(|| Err("an unknown part".to_owned()))
}
