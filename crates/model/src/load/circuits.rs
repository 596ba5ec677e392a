//! Circuits: charges as coordinates.
//!
//! A charge is a generalized coordinate like any other. In the model it is the place of a point mass on a straight line through the world's
//! origin, at a right angle to gravity: 1 m for 1 C, 1 kg for 1 H. So it has the kinetic energy ½ L q̇², and all that reads a model takes it.

use gelenk_expr::Expr;

use super::context::{Allowed, Context, Quantity, Site};
use super::expand::{Element, Flat};
use super::frame::Frame;
use super::names::Kind;
use crate::body::{BodyId, SymbolicInertia};
use crate::description::{ForceValues, JointGeometry, TieValues, VecExpr};
use crate::force::{
    AppliedForce, Axes, Branch, ForceKind, JointAxis, JointDamper, JointSpring, Motor,
};
use crate::joint::{JointFrame, JointId, JointKind, JointParameters};
use crate::math::{Mat3, Vec3, perpendicular_frame};
use crate::rows::CoordinateTie;
use crate::signal::{BodyVector, StateRef, TimeFunction, Value};
use crate::source::Span;
use crate::spec::tables::{
    CapacitorSpec, CircuitSpec, CouplingSpec, InductorSpec, ResistorSpec, SourceSpec,
};
use crate::spec::{Scalar, Text};

/// Inductances that are believed, H.
const INDUCTANCES: std::ops::RangeInclusive<f64> = 1e-12..=1e12;

/// A circuit, or an inductor that two of them share: a point on the line of charges.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Charge {
    body: BodyId,
    start: Quantity,
}

/// What a circuit element lies in.
#[derive(Clone, Copy, Debug)]
struct Through {
    /// The circuit whose charge counts positive.
    a: JointId,
    /// The one whose charge counts negative.
    b: Option<JointId>,
}

impl<'a> Context<'a> {
    /// The points whose places are charges; their joints come with [`join_circuits`](Self::join_circuits).
    pub(crate) fn build_circuits(&mut self, flat: &Flat<'a>) {
        for (circuit, _) in &flat.circuits {
            let charge = self.circuit(flat, circuit);
            self.body_ids[circuit.index] = charge.map(|charge| charge.body);
            self.charges.push(charge);
        }
        for (inductor, [body, _]) in &flat.shared_inductors {
            let charge = self.shared_inductor(flat, inductor, &body.0);
            self.body_ids[body.1] = charge.map(|charge| charge.body);
            self.charges.push(charge);
        }
    }

    fn circuit(&mut self, flat: &Flat<'a>, circuit: &Element<'a, CircuitSpec>) -> Option<Charge> {
        let spec = circuit.spec;
        if circuit.name.contains('#') {
            return None; // its name is a stand-in, which no element can know
        }
        let mut own = Vec::new();
        for inductor in &flat.inductors {
            if self.circuit_index(inductor.scope, &inductor.spec.circuit) == Some(circuit.index) {
                own.push(self.inductance(inductor));
            }
        }
        if own.is_empty() {
            let site = circuit.site("circuit");
            let message =
                "the circuit has no inductor of its own, so that its current has no inertia";
            let help = "give it an `[[inductor]]`; a small inductance stands for that of the wires";
            self.error("no-mass", &site, spec.span, message, help);
            return None;
        }
        let own: Option<Vec<Quantity>> = own.into_iter().collect();
        let charge = self.start_value(&circuit.site("charge"), spec.charge.as_ref());
        let current = self.start_value(&circuit.site("current"), spec.current.as_ref());
        let (own, charge, current) = (own?, charge?, current?);
        let exprs: Vec<Expr> = own.iter().map(|l| l.expr).collect();
        let inductance =
            Quantity { expr: self.pool.add(&exprs), value: own.iter().map(|l| l.value).sum() };
        let body = self.charge_body(&circuit.name, inductance, current);
        self.circuit_starts.push((circuit.index, charge, current));
        Some(Charge { body, start: charge })
    }

    /// An inductor in two circuits: a charge of its own, tied to the difference of theirs.
    fn shared_inductor(
        &mut self,
        flat: &Flat<'a>,
        inductor: &Element<'a, InductorSpec>,
        name: &str,
    ) -> Option<Charge> {
        let inductance = self.inductance(inductor);
        let mut find = |text: &Text| {
            let index = self.circuit_index(inductor.scope, text);
            let known = index.is_some_and(|i| flat.circuits.iter().any(|(c, _)| c.index == i));
            let found =
                |i: usize| self.circuit_starts.iter().find(|(index, ..)| *index == i).copied();
            if known { index.and_then(found) } else { None }
        };
        // Names without a circuit are reported with the other elements.
        let first = find(&inductor.spec.circuit);
        let second = inductor.spec.against.as_ref().and_then(find);
        let (inductance, (_, qa, ia), (_, qb, ib)) = (inductance?, first?, second?);
        let current =
            Quantity { expr: self.pool.sub(ia.expr, ib.expr), value: ia.value - ib.value };
        let start = Quantity { expr: self.pool.sub(qa.expr, qb.expr), value: qa.value - qb.value };
        Some(Charge { body: self.charge_body(name, inductance, current), start })
    }

    /// The number of a circuit's name among bodies.
    fn circuit_index(&mut self, scope: super::scope::ScopeId, text: &Text) -> Option<usize> {
        let site = Site::new(scope, "circuit", "circuit");
        let local = self.fill(&site, text)?;
        self.find(Kind::Body, scope, &local).map(|declared| declared.index)
    }

    fn inductance(&mut self, inductor: &Element<'a, InductorSpec>) -> Option<Quantity> {
        let site = inductor.site("inductance");
        let scalar = &inductor.spec.inductance;
        let value = self.quantity(&site, scalar)?;
        if !INDUCTANCES.contains(&value.value) {
            let message = format!("the inductance is {:e} H", value.value);
            let help = "inductances reach from 1e-12 H to 1e12 H";
            self.error("not-positive", &site, scalar.span, message, help);
            return None;
        }
        Some(value)
    }

    fn start_value(&mut self, site: &Site<'_>, scalar: Option<&Scalar>) -> Option<Quantity> {
        match scalar {
            Some(scalar) => self.quantity(site, scalar),
            None => Some(Quantity { expr: Expr::ZERO, value: 0.0 }),
        }
    }

    /// The line of charges: a direction at a right angle to gravity.
    fn charge_axis(&mut self) -> (VecExpr, Vec3) {
        let gravity = self.description.gravity;
        if let Some(i) = (0..3).find(|i| gravity[*i] == Expr::ZERO) {
            let mut axis = [Expr::ZERO; 3];
            axis[i] = Expr::ONE;
            return (axis, Vec3::ith(i, 1.0));
        }
        let axis = [self.pool.neg(gravity[1]), gravity[0], Expr::ZERO];
        let value = Vec3::from(axis.map(|e| self.evaluate(e)));
        if value.norm() > 0.0 {
            (axis, value.normalize())
        } else {
            ([Expr::ONE, Expr::ZERO, Expr::ZERO], Vec3::x())
        }
    }

    fn charge_body(&mut self, name: &str, inductance: Quantity, current: Quantity) -> BodyId {
        let (axis_expr, axis) = self.charge_axis();
        let squares = axis_expr.map(|e| self.pool.mul(&[e, e]));
        let squared = self.pool.add(&squares);
        let length = self.pool.sqrt(squared);
        let velocity = axis_expr.map(|e| {
            let part = self.pool.div(e, length);
            self.pool.mul(&[current.expr, part])
        });
        let velocity_value = axis * current.value;
        let id = self.builder.point(name, inductance.value, Vec3::zeros(), velocity_value, false);
        let mass = inductance.expr;
        let zero = Expr::ZERO;
        let symbolic = SymbolicInertia { mass, center_of_mass: [zero; 3], inertia: [zero; 6] };
        self.builder.symbolic(id, symbolic);
        self.builder.charge(id);
        self.description.velocities.push([velocity, [zero; 3]]);
        self.misplaced.push(false);
        debug_assert_eq!(id.index(), self.body_frames.len(), "frames follow bodies");
        self.body_frames.push(Frame::identity());
        id
    }

    /// The joints whose coordinates are the charges, and the ties of inductors that two circuits share.
    pub(crate) fn join_circuits(&mut self, flat: &Flat<'a>) {
        let charges = std::mem::take(&mut self.charges);
        let mut charges = charges.into_iter();
        for (circuit, joint_index) in &flat.circuits {
            if let Some(Some(charge)) = charges.next() {
                let id = self.charge_joint(&circuit.name, charge);
                self.joint_ids[*joint_index] = Some(id);
                self.description.circuits.push(id);
            }
        }
        for (inductor, [_, joint]) in &flat.shared_inductors {
            let (spec, charge) = (inductor.spec, charges.next().flatten());
            let Some(through) = self.through(inductor, &spec.circuit, spec.against.as_ref()) else {
                continue;
            };
            let (Some(charge), Some(b)) = (charge, through.b) else { continue };
            let own = self.charge_joint(&joint.0, charge);
            self.joint_ids[joint.1] = Some(own);
            self.description.circuits.push(own);
            let terms = vec![(own, 0, 1.0), (through.a, 0, -1.0), (b, 0, 1.0)];
            let symbolic =
                vec![(own, 0, Expr::ONE), (through.a, 0, Expr::MINUS_ONE), (b, 0, Expr::ONE)];
            let target = TimeFunction::Constant(0.0);
            self.ties.push((inductor.name.clone(), CoordinateTie { terms, target }));
            let target = Expr::ZERO;
            self.description.ties.push(TieValues { terms: symbolic, target, as_drawn: false });
        }
    }

    fn charge_joint(&mut self, name: &str, charge: Charge) -> JointId {
        let (axis_expr, axis) = self.charge_axis();
        let (x, _) = perpendicular_frame(&axis);
        let axes = Mat3::from_columns(&[x, axis.cross(&x), axis]);
        let frames = [
            JointFrame { origin: -axis * charge.start.value, axes },
            JointFrame { origin: Vec3::zeros(), axes },
        ];
        let bodies = [BodyId::WORLD, charge.body];
        let kind = JointKind::from_type("rail", &frames, &JointParameters::default())
            .expect("a rail needs no more than its frames");
        let id = self.builder.joint(name, bodies, kind, None);
        let origin = [[Expr::ZERO; 3]; 2];
        self.description.joints.push(JointGeometry {
            anchors: origin,
            axes: Some([axis_expr; 2]),
            parameters: Vec::new(),
            as_drawn: false,
            world_points: origin,
            world_axes: Some([axis_expr; 2]),
            start: charge.start.expr,
            track: None,
            formula: Vec::new(),
        });
        id
    }

    /// The circuits that an element lies in; `None` if there are none of these names.
    fn through<T>(
        &mut self,
        element: &Element<'a, T>,
        circuit: &Text,
        against: Option<&Text>,
    ) -> Option<Through> {
        let a = self.circuit_named(&element.site("circuit"), circuit);
        let b = against.map(|text| self.circuit_named(&element.site("against"), text));
        let (a, b) = (a?, b.map_or(Some(None), |b| b.map(Some))?);
        if b == Some(a)
            && let Some(text) = against
        {
            let message = format!("`{}` is named twice", text.text);
            let help = "name two circuits, or leave `against` out";
            self.error("same-body", &element.site("against"), text.span, message, help);
            return None;
        }
        Some(Through { a, b })
    }

    fn circuit_named(&mut self, site: &Site<'_>, text: &Text) -> Option<JointId> {
        let local = self.fill(site, text)?;
        let Some(declared) = self.find(Kind::Joint, site.scope, &local) else {
            self.unknown_circuit(site, text.span, &local);
            return None;
        };
        let id = self.joint_ids.get(declared.index).copied().flatten();
        if let Some(id) = id
            && !self.description.circuits.contains(&id)
        {
            let message = format!("`{local}` is a joint, not a circuit");
            let help = "name a `[[circuit]]`";
            self.error("unknown-name", site, text.span, message, help);
            return None;
        }
        id
    }

    fn unknown_circuit(&mut self, site: &Site<'_>, span: Span, local: &str) {
        if self.incomplete {
            return;
        }
        let known = self.circuit_names.iter().map(String::as_str);
        let help = crate::spec::did_you_mean(local, known)
            .unwrap_or_else(|| "declare it with `[[circuit]]`, or correct the name".to_owned());
        let message = format!("there is no circuit `{local}`");
        self.error("unknown-name", site, span, message, help);
    }

    /// `charge.NAME` and `current.NAME`.
    pub(crate) fn charge_symbol(
        &mut self,
        site: &Site<'_>,
        span: Span,
        word: &str,
        name: &str,
        allowed: Allowed,
    ) -> Option<Expr> {
        if allowed != Allowed::State {
            let message = format!("{} cannot use `{word}.{name}`, which is state", site.what);
            let help = "charges and currents may stand in forces, drives and circuit elements";
            self.error("not-a-time-function", site, span, message, help);
            return None;
        }
        let id = self.circuit_named(site, &Text::bare(name, span))?;
        let full = self.builder.model().joints.get(id.index())?.name.clone();
        let state = |rate| {
            if rate { StateRef::CoordinateRate(id, 0) } else { StateRef::Coordinate(id, 0) }
        };
        Some(self.remember(
            coordinate_name(&full, "position", word == "current"),
            state(word == "current"),
        ))
    }

    fn remember(&mut self, name: String, state: StateRef) -> Expr {
        let symbol = self.pool.symbol(&name);
        self.states.entry(symbol).or_insert(state);
        symbol
    }

    /// Builds resistors, capacitors, sources and couplings.
    pub(crate) fn build_circuit_elements(&mut self, flat: &Flat<'a>) {
        for inductor in &flat.inductors {
            self.through(inductor, &inductor.spec.circuit, None);
        }
        for capacitor in &flat.capacitors {
            self.capacitor(capacitor);
        }
        for resistor in &flat.resistors {
            self.resistor(resistor);
        }
        for source in &flat.voltages {
            self.source(source);
        }
        for coupling in &flat.couplings {
            self.coupling(coupling);
        }
    }

    fn resistor(&mut self, resistor: &Element<'a, ResistorSpec>) -> Option<()> {
        let spec = resistor.spec;
        let site = resistor.site("resistance");
        let live = self.live(&site, &spec.resistance);
        let through = self.through(resistor, &spec.circuit, spec.against.as_ref())?;
        let (expr, damping) = live?;
        self.warn_negative(&site, spec.resistance.span, damping);
        let axis = axis_of(through.a);
        let (kind, values) = match through.b {
            None => {
                (ForceKind::JointDamper(JointDamper { axis, damping }), vec![("damping", expr)])
            }
            Some(b) => (
                ForceKind::Branch(Branch {
                    axes: [axis, axis_of(b)],
                    stiffness: Value::Constant(0.0),
                    damping,
                }),
                vec![("stiffness", Expr::ZERO), ("damping", expr)],
            ),
        };
        self.add_force(&resistor.name, kind, ForceValues { values, ..ForceValues::default() });
        Some(())
    }

    fn capacitor(&mut self, capacitor: &Element<'a, CapacitorSpec>) -> Option<()> {
        let spec = capacitor.spec;
        let site = capacitor.site("capacitance");
        let capacitance = self.scalar_expr(&site, &spec.capacitance, Allowed::State);
        let through = self.through(capacitor, &spec.circuit, spec.against.as_ref())?;
        let capacitance = capacitance?;
        if !self.changes(capacitance) {
            let value = self.finite(&site, spec.capacitance.span, capacitance)?;
            if value <= 0.0 {
                let message = format!("the capacitance is {value} F");
                let help = "it must be above 0";
                self.error("not-positive", &site, spec.capacitance.span, message, help);
                return None;
            }
        }
        let stiffness = self.pool.div(Expr::ONE, capacitance);
        if self.pool.symbols_of(stiffness).iter().any(|s| self.states.contains_key(s)) {
            // L = −q²/2C(u): −q/C on the charge, −q² (1/C)_u/2 on each coordinate u.
            let charge = self.through_symbol(through, false);
            let half = self.pool.mul(&[Expr::HALF, charge, charge, stiffness]);
            let lagrangian = self.pool.neg(half);
            return self.push_up(&site, &capacitor.name, spec.capacitance.span, lagrangian);
        }
        let value = self.live_value(&site, spec.capacitance.span, stiffness)?;
        let axis = axis_of(through.a);
        let (kind, values) = match through.b {
            None => (
                ForceKind::JointSpring(JointSpring {
                    axis,
                    rest: Value::Constant(0.0),
                    stiffness: value,
                }),
                vec![("rest", Expr::ZERO), ("stiffness", stiffness)],
            ),
            Some(b) => (
                ForceKind::Branch(Branch {
                    axes: [axis, axis_of(b)],
                    stiffness: value,
                    damping: Value::Constant(0.0),
                }),
                vec![("stiffness", stiffness), ("damping", Expr::ZERO)],
            ),
        };
        self.add_force(&capacitor.name, kind, ForceValues { values, ..ForceValues::default() });
        Some(())
    }

    fn source(&mut self, source: &Element<'a, SourceSpec>) -> Option<()> {
        let spec = source.spec;
        let site = source.site("voltage");
        let live = self.live(&site, &spec.voltage);
        let through = self.through(source, &spec.circuit, spec.against.as_ref())?;
        let (expr, _) = live?;
        self.drive_charge(&site, &source.name, spec.voltage.span, through, expr)
    }

    /// A voltage on the charges of an element.
    fn drive_charge(
        &mut self,
        site: &Site<'_>,
        name: &str,
        span: Span,
        through: Through,
        voltage: Expr,
    ) -> Option<()> {
        let minus = self.pool.neg(voltage);
        for (joint, expr, name) in [
            (Some(through.a), voltage, name.to_owned()),
            (through.b, minus, format!("{name}.against")),
        ] {
            let Some(joint) = joint else { continue };
            let force = self.live_value(site, span, expr)?;
            let kind = ForceKind::Motor(Motor { axis: axis_of(joint), force });
            let values = vec![("force", expr)];
            self.add_force(&name, kind, ForceValues { values, ..ForceValues::default() });
        }
        Some(())
    }

    /// L = i ψ(u, t): i ψ_u on each coordinate u, −dψ/dt on the charge.
    fn coupling(&mut self, coupling: &Element<'a, CouplingSpec>) -> Option<()> {
        let spec = coupling.spec;
        let site = coupling.site("flux");
        let flux = self.scalar_expr(&site, &spec.flux, Allowed::State);
        let through = self.through(coupling, &spec.circuit, spec.against.as_ref())?;
        let flux = flux?;
        let time = self.pool.time();
        let mut terms = vec![self.pool.diff(flux, time)];
        let places = self.places_of(&site, spec.flux.span, flux)?;
        for (symbol, state) in &places {
            let slope = self.pool.diff(flux, *symbol);
            let rate = self.rate_symbol(*symbol, *state)?;
            terms.push(self.pool.mul(&[slope, rate]));
        }
        if terms.iter().all(|e| *e == Expr::ZERO) {
            let message = "the flux does not change, so that the coupling does nothing";
            let help = "let it depend on a joint coordinate, such as \"B*l*joint.cone.position\"";
            self.error("empty-equation", &site, spec.flux.span, message, help);
            return None;
        }
        let rate = self.pool.add(&terms);
        let voltage = self.pool.neg(rate);
        self.drive_charge(&site, &coupling.name, spec.flux.span, through, voltage)?;
        let current = self.through_symbol(through, true);
        let lagrangian = self.pool.mul(&[current, flux]);
        self.push_up(&site, &coupling.name, spec.flux.span, lagrangian)
    }

    /// The symbol of q_a − q_b, or of the current.
    fn through_symbol(&mut self, through: Through, rate: bool) -> Expr {
        let mut symbol = |id: JointId| {
            let name = self.builder.model().joints[id.index()].name.clone();
            let state =
                if rate { StateRef::CoordinateRate(id, 0) } else { StateRef::Coordinate(id, 0) };
            self.remember(coordinate_name(&name, "position", rate), state)
        };
        let a = symbol(through.a);
        let Some(b) = through.b.map(symbol) else { return a };
        self.pool.sub(a, b)
    }

    /// The positions in an expression, in the order of the file; an error if there is other state in it than positions, and currents.
    fn places_of(
        &mut self,
        site: &Site<'_>,
        span: Span,
        expr: Expr,
    ) -> Option<Vec<(Expr, StateRef)>> {
        let mut places = Vec::new();
        for symbol in self.pool.symbols_of(expr) {
            match self.states.get(&symbol) {
                None => {}
                Some(state @ StateRef::Coordinate(..)) => places.push((symbol, *state)),
                Some(state @ StateRef::Position(vector, _)) if vector.is_point => {
                    places.push((symbol, *state));
                }
                Some(_) => {
                    let message = format!(
                        "{} is over joint coordinates, places of points and time",
                        site.what
                    );
                    let help = "use names such as `joint.J.angle`, `body.B.x` and `t`";
                    self.error("not-a-position", site, span, message, help);
                    return None;
                }
            }
        }
        Some(places)
    }

    /// The symbol of the rate of a position.
    fn rate_symbol(&mut self, symbol: Expr, state: StateRef) -> Option<Expr> {
        let gelenk_expr::Node::Symbol(name) = self.pool.node(symbol) else { return None };
        let name = name.to_string();
        Some(match state {
            StateRef::Coordinate(id, which) => {
                let joint = &self.builder.model().joints[id.index()];
                let word = joint.kind.equations().coordinates()[which].name;
                let full = coordinate_name(&joint.name, word, true);
                self.remember(full, StateRef::CoordinateRate(id, which))
            }
            StateRef::Position(vector, axis) => {
                let (owner, axis_word) = name.rsplit_once('.')?;
                let (owner, word) = owner.rsplit_once('.')?;
                let word = if word == "position" {
                    "velocity".to_owned()
                } else {
                    format!("{word}_velocity")
                };
                let full = format!("{owner}.{word}.{axis_word}");
                self.remember(full, StateRef::Velocity(vector, axis))
            }
            _ => return None,
        })
    }

    /// The forces ∂L/∂u on all positions u in an energy L; currents in it stand still.
    fn push_up(&mut self, site: &Site<'_>, name: &str, span: Span, lagrangian: Expr) -> Option<()> {
        let is_rate =
            |state: Option<&StateRef>| matches!(state, Some(StateRef::CoordinateRate(..)));
        let currents: Vec<(Expr, Expr)> = self
            .pool
            .symbols_of(lagrangian)
            .into_iter()
            .filter(|symbol| is_rate(self.states.get(symbol)))
            .map(|symbol| (symbol, Expr::ONE))
            .collect();
        let positions_only = self.pool.substitute(lagrangian, &currents);
        for (k, (symbol, state)) in
            self.places_of(site, span, positions_only)?.into_iter().enumerate()
        {
            let expr = self.pool.diff(lagrangian, symbol);
            let name = format!("{name}.force{}", k + 1);
            match state {
                StateRef::Coordinate(joint, which) => {
                    let force = self.live_value(site, span, expr)?;
                    let kind = ForceKind::Motor(Motor { axis: JointAxis { joint, which }, force });
                    let values = vec![("force", expr)];
                    self.add_force(&name, kind, ForceValues { values, ..ForceValues::default() });
                }
                StateRef::Position(point, axis) => {
                    self.push_point(site, &name, span, (symbol, point, axis), expr)?;
                }
                _ => {}
            }
        }
        Some(())
    }

    /// A force along a world axis on a point of a body.
    fn push_point(
        &mut self,
        site: &Site<'_>,
        name: &str,
        span: Span,
        (symbol, point, axis): (Expr, BodyVector, usize),
        expr: Expr,
    ) -> Option<()> {
        let body = &self.builder.model().bodies[point.body.index()];
        if body.fixed {
            return Some(());
        }
        let is_center = point.local == Vec3::zeros();
        let center = body.symbolic.as_ref().map_or([Expr::ZERO; 3], |s| s.center_of_mass);
        let marker =
            self.description.marker_place(self.builder.model(), &self.pool, symbol).copied();
        let place = marker.unwrap_or(if is_center { center } else { [Expr::ZERO; 3] });
        let value = self.live_value(site, span, expr)?;
        let mut force = [Value::Constant(0.0); 3];
        force[axis] = value;
        let torque = [Value::Constant(0.0); 3];
        let kind = ForceKind::Applied(AppliedForce { point, force, torque, axes: Axes::World });
        let names = ["force.x", "force.y", "force.z", "torque.x", "torque.y", "torque.z"];
        let values = names
            .iter()
            .enumerate()
            .map(|(i, name)| (*name, if i == axis { expr } else { Expr::ZERO }))
            .collect();
        let frame = self.body_frames[point.body.index()].clone();
        let world_points = vec![frame.point_expr(&mut self.pool, &place)];
        let points = vec![(point.body, place)];
        self.add_force(name, kind, ForceValues { points, world_points, values, as_drawn: false });
        Some(())
    }
}

fn axis_of(joint: JointId) -> JointAxis {
    JointAxis { joint, which: 0 }
}

/// The name that a joint coordinate, or its rate, has among the symbols.
fn coordinate_name(joint: &str, word: &str, rate: bool) -> String {
    let ending = if rate { "_velocity" } else { "" };
    format!("joint.{joint}.{word}{ending}")
}
