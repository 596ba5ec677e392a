//! Parts put in place: every element of every use of a part, with its full name.

use rustc_hash::FxHashMap;

use super::context::{Context, Site};
use super::frame::Frame;
use super::names::Kind;
use super::parameters::fault_of_parameter;
use super::scope::{Bound, Scope, ScopeId};
use super::sources::Sources;
use crate::source::Span;
use crate::spec::tables::{
    BodySpec, CapacitorSpec, CircuitSpec, ConstraintSpec, ContactSpec, Contents, CouplingSpec,
    DamperSpec, DragSpec, ForceSpec, GearSpec, IgnoreSpec, InductorSpec, InstanceSpec, JointSpec,
    MarkerSpec, MaterialSpec, PointSpec, ResistorSpec, SourceSpec, SpringSpec,
};
use crate::spec::{Scalar, Text, did_you_mean};

/// An element with its full name.
#[derive(Debug)]
pub(crate) struct Element<'a, T> {
    pub(crate) scope: ScopeId,
    pub(crate) spec: &'a T,
    /// Full name, prefixes included.
    pub(crate) name: String,
    /// "joint `left_elbow`".
    pub(crate) label: String,
    /// Its number among the declared names of its kind.
    pub(crate) index: usize,
}

impl<T> Element<'_, T> {
    pub(crate) fn site<'s>(&'s self, what: &'s str) -> Site<'s> {
        Site::new(self.scope, &self.label, what)
    }
}

/// All elements of a model, in the order of its files.
#[derive(Debug, Default)]
pub(crate) struct Flat<'a> {
    pub(crate) bodies: Vec<Element<'a, BodySpec>>,
    pub(crate) points: Vec<Element<'a, PointSpec>>,
    pub(crate) markers: Vec<Element<'a, MarkerSpec>>,
    pub(crate) joints: Vec<Element<'a, JointSpec>>,
    pub(crate) gears: Vec<Element<'a, GearSpec>>,
    pub(crate) springs: Vec<Element<'a, SpringSpec>>,
    pub(crate) dampers: Vec<Element<'a, DamperSpec>>,
    pub(crate) forces: Vec<Element<'a, ForceSpec>>,
    pub(crate) drags: Vec<Element<'a, DragSpec>>,
    pub(crate) constraints: Vec<Element<'a, ConstraintSpec>>,
    /// Circuits, named among the bodies, and their numbers among the joints.
    pub(crate) circuits: Vec<(Element<'a, CircuitSpec>, usize)>,
    /// Inductors of one circuit.
    pub(crate) inductors: Vec<Element<'a, InductorSpec>>,
    /// Inductors that two circuits share, with the names and numbers of their body and joint.
    pub(crate) shared_inductors: Vec<(Element<'a, InductorSpec>, [(String, usize); 2])>,
    pub(crate) capacitors: Vec<Element<'a, CapacitorSpec>>,
    pub(crate) resistors: Vec<Element<'a, ResistorSpec>>,
    /// Sources of voltage.
    pub(crate) voltages: Vec<Element<'a, SourceSpec>>,
    pub(crate) couplings: Vec<Element<'a, CouplingSpec>>,
    pub(crate) materials: Vec<Element<'a, MaterialSpec>>,
    pub(crate) contacts: Vec<Element<'a, ContactSpec>>,
    pub(crate) ignores: Vec<Element<'a, IgnoreSpec>>,
    /// Scopes and elements so far, against the limit.
    n_elements: usize,
    /// A limit was passed; nothing more is added.
    pub(crate) full: bool,
}

impl<'a> Context<'a> {
    /// All elements of the model.
    pub(crate) fn expand(&mut self, contents: &'a Contents, sources: &'a Sources) -> Flat<'a> {
        let mut flat = Flat::default();
        self.scopes.push(Scope {
            parent: None,
            prefix: String::new(),
            index: None,
            parameters: FxHashMap::default(),
            connect: FxHashMap::default(),
            contents,
            frame: Frame::identity(),
            instance: None,
        });
        self.bind_parameters(ScopeId::ROOT, &FxHashMap::default(), false);
        let mut way = vec![contents];
        self.expand_scope(&mut flat, ScopeId::ROOT, sources, &mut way);
        flat
    }

    fn expand_scope(
        &mut self,
        flat: &mut Flat<'a>,
        scope: ScopeId,
        sources: &'a Sources,
        way: &mut Vec<&'a Contents>,
    ) {
        let contents = self.scopes[scope.0].contents;
        macro_rules! add {
            ($list:ident, $key:ident, $name:ident $(. $rest:ident)?, $kind:expr, $word:literal) => {
                for (i, spec) in contents.$key.iter().enumerate() {
                    if self.room(flat, spec.span, $word) {
                        let name = &spec.$name$(.$rest)?;
                        flat.$list.push(self.element(scope, spec, name, i, $kind, $word));
                    }
                }
            };
        }
        macro_rules! add_numbered {
            ($list:ident, $key:ident, $word:literal) => {
                for spec in &contents.$key {
                    if self.room(flat, spec.span, $word) {
                        let name = spec.name.as_ref();
                        flat.$list.push(self.numbered(scope, spec, name, spec.span, $word));
                    }
                }
            };
        }
        add!(bodies, body, keys.name, Kind::Body, "body");
        add!(points, point, keys.name, Kind::Body, "point");
        add!(materials, material, name, Kind::Material, "material");
        add!(markers, marker, name, Kind::Marker, "marker");
        add!(joints, joint, name, Kind::Joint, "joint");
        add!(gears, gear, name, Kind::Condition, "gear");
        add!(constraints, constraint, name, Kind::Condition, "constraint");
        add_numbered!(springs, spring, "spring");
        add_numbered!(dampers, damper, "damper");
        add_numbered!(drags, drag, "drag");
        add_numbered!(forces, force, "force");
        self.expand_circuits(flat, scope);
        add_numbered!(capacitors, capacitor, "capacitor");
        add_numbered!(resistors, resistor, "resistor");
        add_numbered!(voltages, source, "source");
        add_numbered!(couplings, coupling, "coupling");
        for (i, spec) in contents.contact.iter().enumerate() {
            let name = format!("{}", i + 1);
            let label = format!("contact number {name}");
            flat.contacts.push(Element { scope, spec, name, label, index: i });
        }
        for (i, spec) in contents.ignore.iter().enumerate() {
            let name = format!("{}", i + 1);
            let label = format!("ignore number {name}");
            flat.ignores.push(Element { scope, spec, name, label, index: i });
        }
        for (i, spec) in contents.instance.iter().enumerate() {
            let label = match (&spec.part, &spec.file) {
                (Some(part), _) => format!("instance of part `{}`", part.text),
                (None, Some(file)) => format!("instance of `{}`", file.text),
                (None, None) => format!("instance number {}", i + 1),
            };
            self.expand_instance(flat, scope, spec, &label, sources, way);
        }
    }

    /// Circuits have names among bodies and joints; so have inductors that two circuits share.
    fn expand_circuits(&mut self, flat: &mut Flat<'a>, scope: ScopeId) {
        let contents = self.scopes[scope.0].contents;
        for (i, spec) in contents.circuit.iter().enumerate() {
            if self.room(flat, spec.span, "circuit") {
                let circuit = self.element(scope, spec, &spec.name, i, Kind::Body, "circuit");
                let (_, joint) = self.declare(Kind::Joint, "circuit", scope, &spec.name);
                self.circuit_names.push(circuit.name.clone());
                flat.circuits.push((circuit, joint));
            }
        }
        for spec in &contents.inductor {
            if !self.room(flat, spec.span, "inductor") {
                continue;
            }
            let name = spec.name.as_ref();
            let inductor = self.numbered(scope, spec, name, spec.span, "inductor");
            if spec.against.is_none() {
                flat.inductors.push(inductor);
                continue;
            }
            let own = [Kind::Body, Kind::Joint]
                .map(|kind| self.declare_or_number(kind, "inductor", scope, name, spec.span));
            flat.shared_inductors.push((inductor, own));
        }
    }

    fn element<T>(
        &mut self,
        scope: ScopeId,
        spec: &'a T,
        name: &Text,
        i: usize,
        kind: Kind,
        word: &'static str,
    ) -> Element<'a, T> {
        let (full, index) = self.declare(kind, word, scope, name);
        let label = if name.poisoned {
            format!("{word} number {}", i + 1)
        } else if full.contains('#') {
            format!("{word} `{}`", name.text)
        } else {
            format!("{word} `{full}`")
        };
        Element { scope, spec, name: full, label, index }
    }

    fn numbered<T>(
        &mut self,
        scope: ScopeId,
        spec: &'a T,
        name: Option<&Text>,
        span: Span,
        word: &'static str,
    ) -> Element<'a, T> {
        let (full, index) = self.declare_or_number(Kind::Force, word, scope, name, span);
        let label = format!("{word} `{full}`");
        Element { scope, spec, name: full, label, index }
    }

    /// Counts an element; reports the first one beyond a limit.
    fn room(&mut self, flat: &mut Flat<'a>, span: Span, word: &str) -> bool {
        if flat.full {
            return false;
        }
        let limits = self.options.limits;
        let n_bodies = flat.bodies.len() + flat.points.len();
        flat.n_elements += 1;
        let (code, name, limit) = if matches!(word, "body" | "point") && n_bodies >= limits.bodies {
            ("limit-bodies", "bodies", limits.bodies)
        } else if flat.n_elements > limits.elements {
            ("limit-elements", "elements", limits.elements)
        } else {
            return true;
        };
        flat.full = true;
        self.incomplete = true;
        let site = Site::new(ScopeId::ROOT, word, word);
        let message = format!("the model has more than the limit of {limit} {name}");
        let help = format!("raise it with `--limit {name}={}`", 2 * limit.max(1));
        self.error(code, &site, span, message, help);
        false
    }

    fn expand_instance(
        &mut self,
        flat: &mut Flat<'a>,
        outer: ScopeId,
        spec: &'a InstanceSpec,
        label: &str,
        sources: &'a Sources,
        way: &mut Vec<&'a Contents>,
    ) {
        let site = Site::new(outer, label, "instance");
        let Some(contents) = self.part_contents(&site, spec, sources) else {
            self.incomplete = true;
            return;
        };
        if way.iter().any(|outer| std::ptr::eq(*outer, contents)) {
            let message = "the part contains itself";
            let help = "remove this instance, or the one further out that leads back here";
            self.error("part-cycle", &site, spec.span, message, help);
            return;
        }
        let depth = self.options.limits.depth;
        if way.len() > depth {
            let message = format!("parts lie inside one another deeper than the limit of {depth}");
            let help = format!("raise it with `--limit depth={}`", 2 * depth);
            self.error("limit-depth", &site, spec.span, message, help);
            return;
        }
        for (name, value) in &spec.parameters.0 {
            let known = || contents.parameters.0.iter().map(|(n, _)| n.text.as_str());
            if !known().any(|n| n == name.text) {
                let message = format!("the part has no parameter `{}`", name.text);
                let help = did_you_mean(&name.text, known().collect::<Vec<_>>())
                    .unwrap_or_else(|| "declare it in the part's [parameters]".to_owned());
                self.error("unknown-parameter", &site, name.span, message, help);
                let _ = value;
            }
        }
        let Some(copies) = self.copies(&site, spec) else {
            self.incomplete = true;
            return;
        };
        let indexed = spec.repeat.is_some();
        let shared_prefix = spec.prefix.as_ref().is_none_or(|p| !p.text.contains('{'));
        way.push(contents);
        for i in copies {
            if !self.room(flat, spec.span, "instance") {
                break;
            }
            // Prefix, place and values of the instance may use the index: they are read in a scope of its own.
            let index = indexed.then(|| {
                let name = spec.repeat.as_ref().and_then(|r| r.index.as_ref());
                (name.map_or("i", |n| n.text.as_str()), i)
            });
            let around = ScopeId(self.scopes.len());
            let outer_scope = &self.scopes[outer.0];
            let (prefix, frame) = (outer_scope.prefix.clone(), outer_scope.frame.clone());
            self.scopes.push(Scope {
                parent: Some(outer),
                prefix,
                index,
                parameters: FxHashMap::default(),
                connect: FxHashMap::default(),
                contents: sources.nothing(),
                frame,
                instance: Some(spec.span),
            });
            self.open_instance(
                flat,
                around,
                spec,
                contents,
                label,
                indexed && shared_prefix,
                sources,
                way,
            );
        }
        way.pop();
    }

    fn open_instance(
        &mut self,
        flat: &mut Flat<'a>,
        around: ScopeId,
        spec: &'a InstanceSpec,
        contents: &'a Contents,
        label: &str,
        inline: bool,
        sources: &'a Sources,
        way: &mut Vec<&'a Contents>,
    ) {
        let site = Site::new(around, label, "instance");
        let prefix = match &spec.prefix {
            Some(prefix) => self.fill(&site.on("prefix"), prefix),
            None => Some(String::new()),
        };
        let frame = self.frame(&site, spec.position.as_ref(), spec.rotation.as_ref());
        let mut given: FxHashMap<&'a str, Bound> = FxHashMap::default();
        for (name, value) in &spec.parameters.0 {
            let quantity = self.quantity(&site.on(&name.text), value);
            let bound =
                quantity.map_or(Bound { expr: gelenk_expr::Expr::ZERO, value: None }, |q| Bound {
                    expr: q.expr,
                    value: Some(q.value),
                });
            given.insert(&name.text, bound);
        }
        let (Some(prefix), Some(frame)) = (prefix, frame) else {
            self.incomplete = true;
            return;
        };
        let mut connect: FxHashMap<&'a str, String> = FxHashMap::default();
        for (name, outer) in &spec.connect.0 {
            if let Some(outer_name) = self.fill(&site.on("connect"), outer) {
                let connection = (around, label.to_owned(), outer.span, outer_name.clone());
                self.connections.push(connection);
                connect.insert(&name.text, outer_name);
            }
        }
        let outer = &self.scopes[around.0];
        let prefix = format!("{}{prefix}", outer.prefix);
        let frame = outer.frame.clone().compose(&mut self.pool, &frame);
        let scope = ScopeId(self.scopes.len());
        self.scopes.push(Scope {
            parent: Some(around),
            prefix,
            index: None,
            parameters: FxHashMap::default(),
            connect,
            contents,
            frame,
            instance: Some(spec.span),
        });
        self.bind_parameters(scope, &given, inline);
        self.expand_scope(flat, scope, sources, way);
    }

    /// The tables of the part that an instance uses.
    fn part_contents(
        &mut self,
        site: &Site<'_>,
        spec: &'a InstanceSpec,
        sources: &'a Sources,
    ) -> Option<&'a Contents> {
        match (&spec.part, &spec.file) {
            (Some(part), None) => {
                let mut known: Vec<&str> = Vec::new();
                let mut scope = Some(site.scope);
                while let Some(id) = scope {
                    let s = &self.scopes[id.0];
                    for (name, part_spec) in &s.contents.part.0 {
                        if name.text == part.text {
                            return Some(&part_spec.contents);
                        }
                        known.push(&name.text);
                    }
                    scope = s.parent;
                }
                if part.poisoned {
                    return None;
                }
                let help = did_you_mean(&part.text, known)
                    .unwrap_or_else(|| format!("declare it with `[part.{}]`", part.text));
                let message = format!("there is no part `{}`", part.text);
                self.error("unknown-part", site, part.span, message, help);
                None
            }
            // A file that cannot be read was reported when it was looked for.
            (None, Some(file)) => sources.part_file(file),
            (part, _) => {
                let message = if part.is_some() {
                    "an instance has either `part` or `file`, not both"
                } else {
                    "an instance needs `part` or `file`"
                };
                let help = "name a `[part.NAME]` with `part`, or a part file with `file`";
                self.error("bad-instance", site, spec.span, message, help);
                None
            }
        }
    }

    /// The values of the index.
    fn copies(&mut self, site: &Site<'_>, spec: &InstanceSpec) -> Option<std::ops::Range<i64>> {
        let Some(repeat) = &spec.repeat else { return Some(0..1) };
        if let Some(index) = &repeat.index
            && let Some(help) = fault_of_parameter(&index.text)
        {
            let message = format!("`{}` cannot be the name of an index", index.text);
            self.error("bad-name", site, index.span, message, help);
            return None;
        }
        let count = self.whole(&site.on("count"), &repeat.count)?;
        let from = match &repeat.from {
            Some(from) => self.whole(&site.on("from"), from)?,
            None => 0,
        };
        if count < 0 {
            let message = format!("the count is {count}");
            self.error("bad-repeat", site, repeat.count.span, message, "use 0 or more");
            return None;
        }
        Some(from..from.saturating_add(count))
    }

    /// A whole number.
    pub(crate) fn whole(&mut self, site: &Site<'_>, scalar: &Scalar) -> Option<i64> {
        let value = self.number(site, scalar)?;
        let rounded = value.round();
        if (value - rounded).abs() > 1e-9 || rounded.abs() > 1e15 {
            let message = format!("{} is {value}, not a whole number", site.what);
            self.error("bad-number", site, scalar.span, message, "use a whole number");
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "below 1e15")]
        let whole = rounded as i64;
        Some(whole)
    }
}
