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
//! ```
//! \[Laufen\] chapter I.

use gelenk_expr::{Expr, Node, Pool};
use gelenk_model::joint::{Joint, JointFrame, JointKind};
use gelenk_model::math::Vec3;
use gelenk_model::rows::{RowBlock, RowKind};
use gelenk_model::signal::BodyVector;
use gelenk_model::{BodyId, Model, Pose, State};

use crate::layout::Layout;
use crate::polynomial::Polynomial;

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
/// Ropes count as taut. End stops, friction, couplings of angles, screws and curves are no polynomials and are named in
/// [`Conditions::left_out`], and so are prescribed motions and equations that contain time.
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
            Err(reason) => found.left_out.push((k, reason)),
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
            RowKind::Tie(_) => {
                Err("a coupling of joint coordinates is no polynomial: angles count full turns"
                    .to_owned())
            }
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
            other => {
                return Err(format!(
                    "a {} joint is no polynomial: its foot is searched for; an algebraic one can be written as an equation",
                    other.type_name()
                ));
            }
        })
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
