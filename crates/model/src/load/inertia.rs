//! Mass, centre and inertia of a body, from what its user gave.

use gelenk_expr::Expr;

use super::context::{Context, Site};
use super::expand::Element;
use super::shapes::{Built, Solid, Tensor};
use crate::body::SymbolicInertia;
use crate::builder::principal_axes;
use crate::math::{Mat3, Vec3};
use crate::source::Span;
use crate::spec::Scalar;
use crate::spec::tables::{BodySpec, InertiaSpec};

/// Smallest and largest mass of a body that moves, kg.
pub(crate) const MASSES: std::ops::RangeInclusive<f64> = 1e-12..=1e15;

/// Mass properties as values and as expressions, in the body's file frame.
pub(crate) struct MassProperties {
    pub(crate) mass: f64,
    pub(crate) center_of_mass: Vec3,
    pub(crate) inertia: Mat3,
    pub(crate) symbolic: SymbolicInertia,
}

impl MassProperties {
    /// Those of some body, for one whose own could not be read.
    pub(crate) fn stand_in() -> Self {
        let symbolic = SymbolicInertia {
            mass: Expr::ONE,
            center_of_mass: [Expr::ZERO; 3],
            inertia: [Expr::ONE, Expr::ONE, Expr::ONE, Expr::ZERO, Expr::ZERO, Expr::ZERO],
        };
        MassProperties {
            mass: 1.0,
            center_of_mass: Vec3::zeros(),
            inertia: Mat3::identity(),
            symbolic,
        }
    }
}

/// Where a shape's mass comes from.
enum Share {
    /// Its own mass.
    Own(Expr),
    /// A part of the body's mass, as its volume.
    Rest,
}

impl Context<'_> {
    /// A mass: above zero and not absurd, kg.
    pub(crate) fn mass(&mut self, site: &Site<'_>, scalar: &Scalar, fixed: bool) -> Option<Expr> {
        let mass = self.quantity(site, scalar)?;
        if mass.value <= 0.0 && !(fixed && mass.value == 0.0) {
            let message = format!("the mass is {} kg, but a mass is positive", mass.value);
            let help = "give a mass above 0, or write `fixed = true` for a body that never moves";
            self.error("bad-mass", site, scalar.span, message, help);
            return None;
        }
        if !fixed && !MASSES.contains(&mass.value) {
            let message = format!("the mass is {:e} kg", mass.value);
            let help = "masses reach from 1e-12 kg to 1e15 kg; is it in kilograms?";
            self.error("absurd-mass", site, scalar.span, message, help);
            return None;
        }
        Some(mass.expr)
    }

    /// Mass properties of a body; faults are reported. Fixed bodies need none and get zeros.
    pub(crate) fn mass_properties(
        &mut self,
        body: &Element<'_, BodySpec>,
        shapes: &[(Built, &crate::spec::tables::ShapeSpec)],
        material_density: &dyn Fn(usize) -> Option<Expr>,
    ) -> Option<MassProperties> {
        let spec = body.spec;
        let site = body.site("mass");
        let fixed = spec.keys.fixed.unwrap_or(false);
        let has_solids = shapes.iter().any(|(built, _)| built.solid.is_some());
        let given = match &spec.mass {
            Some(scalar) => Some(self.mass(&site, scalar, fixed)?),
            None => None,
        };
        let from_shapes = if has_solids && !(spec.inertia.is_some() && given.is_some()) {
            Some(self.sum_of_shapes(body, shapes, given, material_density, fixed)?)
        } else {
            None
        };
        let Some(mass) = given.or(from_shapes.as_ref().and_then(|f| f.mass)) else {
            if fixed {
                return Some(self.properties([Expr::ZERO; 3], Expr::ZERO, [Expr::ZERO; 6]));
            }
            let message = "the body has no mass";
            let help = if has_solids {
                "give `mass`, or `density` for its shapes"
            } else {
                "give `mass` and a `shape` or `inertia`; or `fixed = true` for a body that never moves"
            };
            self.error("no-mass", &site, spec.span, message, help);
            return None;
        };
        if spec.center_of_mass.is_some() && spec.inertia.is_none() && from_shapes.is_some() {
            let message = "the centre of mass follows from the shape, but is given too";
            let help = "remove `center_of_mass`, or give `mass` and `inertia` about it as well";
            self.error("mass-twice", &site, spec.span, message, help);
            return None;
        }
        let center = match (&spec.center_of_mass, &from_shapes) {
            (Some(center), _) => self.place(&site.on("center_of_mass"), center)?.0,
            (None, Some(shapes)) if spec.inertia.is_none() => shapes.center,
            // Who gives the inertia himself gives the centre too, or means the origin.
            (None, _) => [Expr::ZERO; 3],
        };
        let inertia = match (&spec.inertia, &from_shapes) {
            (Some(inertia), _) => self.inertia(body, inertia)?,
            (None, Some(shapes)) => shapes.inertia,
            (None, None) if fixed => [Expr::ZERO; 6],
            (None, None) => {
                let message = "the body has a mass but no moments of inertia";
                let help =
                    "give a `shape` or `inertia`; or make it a `[[point]]`, which does not turn";
                self.error("no-inertia", &site, spec.span, message, help);
                return None;
            }
        };
        let properties = self.properties(center, mass, inertia);
        let at = spec.inertia.as_ref().map_or(spec.span, |i| i.span);
        if !fixed && !self.check_moments(&body.site("inertia"), at, &properties.inertia) {
            return None;
        }
        if !fixed && !MASSES.contains(&properties.mass) {
            let message = format!("the mass of its shapes is {:e} kg", properties.mass);
            let help = "masses reach from 1e-12 kg to 1e15 kg; check sizes (m) and density (kg/m³)";
            self.error("absurd-mass", &site, spec.span, message, help);
            return None;
        }
        Some(properties)
    }

    fn properties(&mut self, center: [Expr; 3], mass: Expr, inertia: Tensor) -> MassProperties {
        let [xx, yy, zz, xy, xz, yz] = inertia.map(|e| self.evaluate(e));
        MassProperties {
            mass: self.evaluate(mass),
            center_of_mass: Vec3::from(center.map(|e| self.evaluate(e))),
            inertia: Mat3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz),
            symbolic: SymbolicInertia { mass, center_of_mass: center, inertia },
        }
    }

    /// Mass, centre and inertia of all shapes together (parallel axes):
    /// Θ = Σ m_i (θ_i + d_i² E − d_i d_iᵀ), d_i = c_i − c.
    fn sum_of_shapes(
        &mut self,
        body: &Element<'_, BodySpec>,
        shapes: &[(Built, &crate::spec::tables::ShapeSpec)],
        given: Option<Expr>,
        material_density: &dyn Fn(usize) -> Option<Expr>,
        fixed: bool,
    ) -> Option<FromShapes> {
        let site = body.site("shape");
        let density = match &body.spec.density {
            Some(density) => Some(self.density(&site, density)?),
            None => None,
        };
        if let (Some(_), Some(density)) = (given, &body.spec.density) {
            let message = "`mass` and `density` are both given";
            self.error("mass-twice", &site, density.span, message, "remove one of the two");
            return None;
        }
        let mut parts: Vec<(Share, &Solid)> = Vec::new();
        for (i, (built, spec)) in shapes.iter().enumerate() {
            let Some(solid) = &built.solid else { continue };
            let own = match (&spec.mass, &spec.density) {
                (Some(_), Some(density)) => {
                    let message = "`mass` and `density` are both given";
                    self.error("mass-twice", &site, density.span, message, "remove one of the two");
                    return None;
                }
                (Some(mass), None) => {
                    Some(self.mass(&site.on("mass of the shape"), mass, fixed)?)
                }
                (None, Some(own)) => {
                    let own = self.density(&site, own)?;
                    Some(self.mass_of_volume(&site, spec.span, own, solid)?)
                }
                (None, None) if given.is_some() => None,
                (None, None) => match density.or_else(|| material_density(i)) {
                    Some(density) => Some(self.mass_of_volume(&site, spec.span, density, solid)?),
                    None if fixed => return Some(FromShapes::nothing()),
                    None => {
                        let message = "the body has no mass";
                        let help = "give `mass`, or `density` for its shapes";
                        self.error("no-mass", &site, body.spec.span, message, help);
                        return None;
                    }
                },
            };
            parts.push((own.map_or(Share::Rest, Share::Own), solid));
        }
        let own = parts.iter().filter(|(share, _)| matches!(share, Share::Own(_))).count();
        if given.is_some() && own > 0 {
            let message = "the body and its shapes both give a mass";
            let help = "give the mass of the body, or of every shape";
            self.error("mass-twice", &site, body.spec.span, message, help);
            return None;
        }
        let rods = parts.iter().filter(|(_, solid)| solid.is_rod).count();
        if given.is_some() && rods > 0 && rods < parts.len() {
            let message = "a rod has no volume to share the body's mass by";
            let help = "give each shape its own mass";
            self.error("no-mass", &site, body.spec.span, message, help);
            return None;
        }
        let masses: Vec<Expr> = match given {
            Some(mass) if parts.len() == 1 => vec![mass],
            Some(mass) => {
                let volumes: Vec<Expr> = parts.iter().map(|(_, solid)| solid.volume).collect();
                let whole = self.pool.add(&volumes);
                let mut share = |v: Expr| {
                    let part = self.pool.mul(&[mass, v]);
                    self.pool.div(part, whole)
                };
                volumes.iter().map(|v| share(*v)).collect()
            }
            None => parts
                .iter()
                .map(|(share, _)| match share {
                    Share::Own(mass) => *mass,
                    Share::Rest => Expr::ZERO,
                })
                .collect(),
        };
        Some(self.sum_shapes(&masses, &parts, given))
    }

    fn sum_shapes(
        &mut self,
        masses: &[Expr],
        parts: &[(Share, &Solid)],
        given: Option<Expr>,
    ) -> FromShapes {
        let pool = &mut self.pool;
        let mass = given.unwrap_or_else(|| pool.add(masses));
        if let ([m], [(_, solid)]) = (masses, parts) {
            let inertia = solid.inertia.map(|j| pool.mul(&[*m, j]));
            return FromShapes { mass: Some(mass), center: solid.center, inertia };
        }
        let center = [0, 1, 2].map(|k| {
            let terms: Vec<Expr> = masses
                .iter()
                .zip(parts)
                .map(|(m, (_, solid))| pool.mul(&[*m, solid.center[k]]))
                .collect();
            let sum = pool.add(&terms);
            pool.div(sum, mass)
        });
        let mut terms: [Vec<Expr>; 6] = Default::default();
        for (m, (_, solid)) in masses.iter().zip(parts) {
            let d = [0, 1, 2].map(|k| pool.sub(solid.center[k], center[k]));
            let pairs = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];
            let dyad = pairs.map(|(i, j)| pool.mul(&[d[i], d[j]]));
            let steiner = [
                pool.add(&[dyad[1], dyad[2]]),
                pool.add(&[dyad[0], dyad[2]]),
                pool.add(&[dyad[0], dyad[1]]),
                pool.neg(dyad[3]),
                pool.neg(dyad[4]),
                pool.neg(dyad[5]),
            ];
            for k in 0..6 {
                let sum = pool.add(&[solid.inertia[k], steiner[k]]);
                terms[k].push(pool.mul(&[*m, sum]));
            }
        }
        let inertia = [0, 1, 2, 3, 4, 5].map(|k| pool.add(&terms[k]));
        FromShapes { mass: Some(mass), center, inertia }
    }

    /// A density above zero, kg/m³.
    pub(crate) fn density(&mut self, site: &Site<'_>, scalar: &Scalar) -> Option<Expr> {
        let density = self.quantity(&site.on("density"), scalar)?;
        if density.value <= 0.0 {
            let message =
                format!("the density is {} kg/m³, but a density is positive", density.value);
            self.error("not-positive", site, scalar.span, message, "steel has 7850, water 1000");
            return None;
        }
        Some(density.expr)
    }

    fn mass_of_volume(
        &mut self,
        site: &Site<'_>,
        span: Span,
        density: Expr,
        solid: &Solid,
    ) -> Option<Expr> {
        if solid.is_rod {
            let message = "a rod has no volume, so a density gives it no mass";
            self.error("no-mass", site, span, message, "give `mass`, or use a cylinder");
            return None;
        }
        Some(self.pool.mul(&[density, solid.volume]))
    }

    /// The tensor a user gave; symmetric.
    fn inertia(&mut self, body: &Element<'_, BodySpec>, spec: &InertiaSpec) -> Option<Tensor> {
        let site = body.site("inertia");
        let mut entries = [[None; 3]; 3];
        for i in 0..3 {
            for j in 0..3 {
                entries[i][j] = match &spec.tensor[i][j] {
                    Some(scalar) => self.quantity(&site, scalar),
                    None => Some(super::context::Quantity { expr: Expr::ZERO, value: 0.0 }),
                };
            }
        }
        let mut value = Mat3::zeros();
        let mut expr = [[Expr::ZERO; 3]; 3];
        for i in 0..3 {
            for j in 0..3 {
                let entry = entries[i][j]?;
                value[(i, j)] = entry.value;
                expr[i][j] = entry.expr;
            }
        }
        let skew = (value - value.transpose()).amax();
        if skew > 1e-9 * value.amax() {
            let (i, j) = [(0, 1), (0, 2), (1, 2)]
                .into_iter()
                .max_by(|a, b| {
                    let of = |(i, j): (usize, usize)| (value[(i, j)] - value[(j, i)]).abs();
                    of(*a).total_cmp(&of(*b))
                })
                .unwrap_or((0, 1));
            let message = format!(
                "the inertia tensor is not symmetric: row {} column {} is {}, row {} column {} is {}",
                i + 1,
                j + 1,
                value[(i, j)],
                j + 1,
                i + 1,
                value[(j, i)],
            );
            let mean = f64::midpoint(value[(i, j)], value[(j, i)]);
            let help = format!("write the same value in both places, such as {mean}");
            self.error("not-symmetric", &site, spec.span, message, help);
            return None;
        }
        Some([expr[0][0], expr[1][1], expr[2][2], expr[0][1], expr[0][2], expr[1][2]])
    }

    /// Whether moments of inertia can belong to a body: none negative, none above the sum of the two others.
    pub(crate) fn check_moments(&mut self, site: &Site<'_>, span: Span, tensor: &Mat3) -> bool {
        if !tensor.iter().all(|x| x.is_finite()) {
            self.error("bad-number", site, span, "the inertia is not finite", "check the sizes");
            return false;
        }
        let (moments, axes) = principal_axes(tensor);
        let mut order = [0, 1, 2];
        order.sort_by(|a, b| moments[*a].total_cmp(&moments[*b]));
        let [low, mid, high] = order.map(|i| moments[i]);
        let shown = format!("{low}, {mid}, {high} kg m²");
        if high <= 0.0 || low < -1e-12 * high {
            let message = format!("a principal moment of inertia is not positive: {shown}");
            let help =
                "moments of inertia are sums of mass times distance squared; check signs and units";
            self.error("bad-inertia", site, span, message, help);
            return false;
        }
        if mid <= 1e-12 * high {
            let message = format!("two principal moments of inertia are zero: {shown}");
            let help = "a thin rod has one zero moment; for a point mass use `[[point]]`";
            self.error("bad-inertia", site, span, message, help);
            return false;
        }
        if high > (low + mid) * (1.0 + 1e-9) {
            let message = format!(
                "no body has these principal moments of inertia: {shown}; \
                 the largest is above the sum of the others, {high} > {low} + {mid} = {}",
                low + mid
            );
            let mut fixed = moments;
            fixed[order[2]] = low + mid;
            let help = if axes.angle() == 0.0 {
                format!(
                    "the nearest possible is inertia = [{}, {}, {}]; check the axes and the centre of mass",
                    fixed.x, fixed.y, fixed.z
                )
            } else {
                format!(
                    "the largest may be at most {}; check the axes and the centre of mass",
                    low + mid
                )
            };
            self.error("bad-inertia", site, span, message, help);
            return false;
        }
        true
    }
}

/// What the shapes give.
struct FromShapes {
    mass: Option<Expr>,
    center: [Expr; 3],
    inertia: Tensor,
}

impl FromShapes {
    fn nothing() -> Self {
        FromShapes { mass: None, center: [Expr::ZERO; 3], inertia: [Expr::ZERO; 6] }
    }
}
