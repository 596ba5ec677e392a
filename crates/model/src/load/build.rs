//! The order in which a model is built, and its end.

use super::context::{Context, Site};
use super::expand::Flat;
use super::scope::ScopeId;
use super::sources::Sources;
use super::{Loaded, run, start};
use crate::builder::Builder;
use crate::description::BodyPlacement;
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::source::Span;
use crate::spec::did_you_mean;
use crate::spec::tables::FileSpec;

impl<'a> Context<'a> {
    /// Builds everything; faults are in the report.
    pub(crate) fn build(&mut self, sources: &'a Sources) {
        let flat = self.expand(&sources.root().contents, sources);
        if flat.full {
            return; // too large: that is told, and the rest would take long
        }
        self.check_overrides(sources.root());
        self.has_starts = !sources.root().start.is_empty() || self.starts_overridden();
        self.check_connections();
        self.build_settings(sources.root());
        self.build_materials(&flat);
        self.build_bodies(&flat, sources);
        self.build_circuits(&flat);
        self.build_joints(&flat);
        self.join_circuits(&flat);
        self.build_drives(&flat);
        self.build_forces(&flat);
        self.build_circuit_elements(&flat);
        self.build_conditions(&flat);
        self.build_contacts(&flat);
        self.build_starts(sources.root());
        self.check_whole(&flat, sources.root().span);
    }

    /// The model, or all that is wrong with it.
    pub(crate) fn finish(mut self) -> Result<Loaded, Diagnostics> {
        let signals = if self.report.n_errors() == 0 {
            self.compile_signals()
        } else {
            crate::signal::Signals::default()
        };
        let failed = self.report.n_errors() > 0;
        let (list, sources) = self.report.into_parts();
        if failed {
            return Err(Diagnostics { list, sources });
        }
        self.builder.expressions(self.pool, self.parameters, signals);
        for frame in self.body_frames.into_iter().skip(1) {
            let (position, rotation) = (frame.position_expr, frame.rotation_expr);
            self.description.bodies.push(BodyPlacement { position, rotation, along: frame.along });
        }
        let mut states: Vec<_> = self.states.into_iter().collect();
        states.sort_by_key(|(symbol, _)| *symbol);
        self.description.states = states;
        debug_assert!(list.iter().all(|d| d.severity == Severity::Warning), "errors were counted");
        Ok(Loaded {
            model: Builder::finish(self.builder),
            description: self.description,
            sources,
            warnings: list,
            meshes: self.mesh_digests,
            mesh_files: self.mesh_files,
        })
    }

    /// Values from the command line that no parameter took.
    fn check_overrides(&mut self, root: &FileSpec) {
        let mut left: Vec<(String, Span)> = self
            .overrides
            .iter()
            .filter(|(_, (_, used))| !used)
            .map(|(name, (scalar, _))| (name.clone(), scalar.span))
            .collect();
        left.sort_by_key(|(_, span)| *span);
        for (name, span) in left {
            if self.scopes[ScopeId::ROOT.0].parameters.contains_key(name.as_str()) {
                continue; // it has a fault of its own
            }
            if name.starts_with(start::OVERRIDE) || name.starts_with(run::OVERRIDE) {
                continue; // a start or an input, not a parameter
            }
            if root.inputs.0.iter().any(|(input, _)| input.text == name) {
                let message = format!("`{name}` is an input, not a parameter");
                let help = format!("give it a value or a formula with --input {name}=...");
                let fault =
                    Diagnostic::error("unknown-parameter", message).element("--set").help(help);
                self.push(span, fault);
                continue;
            }
            let known: Vec<&str> = self.parameters.iter().map(|p| p.name.as_str()).collect();
            let help = did_you_mean(&name, known)
                .unwrap_or_else(|| "the model has no such parameter".to_owned());
            let message = format!("there is no parameter `{name}`");
            let fault = Diagnostic::error("unknown-parameter", message).element("--set").help(help);
            self.push(span, fault);
        }
    }

    /// Things that only the whole model shows.
    fn check_whole(&mut self, flat: &Flat<'a>, root: Span) {
        let moving = self.builder.model().bodies.iter().any(|b| !b.fixed);
        if !moving && self.report.n_errors() == 0 {
            let site = Site::new(ScopeId::ROOT, "model", "model");
            let message = "nothing in the model can move";
            let help = "add a `[[body]]` or a `[[point]]`";
            if self.options.allow_still {
                let warning =
                    Diagnostic::warning("empty-model", message).element("model").help(help);
                self.push(root, warning);
            } else {
                self.error("empty-model", &site, root, message, help);
            }
        }
        self.check_input_formulas();
        self.warn_short_tables();
        if self.report.n_errors() == 0 {
            self.warn_idle_bodies(flat);
        }
    }

    /// Fixed bodies that nothing uses.
    fn warn_idle_bodies(&mut self, flat: &Flat<'a>) {
        let model = self.builder.model();
        let mut used = vec![false; model.n_bodies()];
        for block in &model.rows {
            for body in &block.bodies {
                used[body.index()] = true;
            }
        }
        for values in &self.description.forces {
            for (body, _) in &values.points {
                used[body.index()] = true;
            }
        }
        for marker in &model.markers {
            used[marker.vector.body.index()] = true;
        }
        let mut idle = Vec::new();
        let bodies = flat.bodies.iter().map(|b| (b.index, b.spec.span, &b.label));
        let points = flat.points.iter().map(|p| (p.index, p.spec.span, &p.label));
        for (index, span, label) in bodies.chain(points) {
            let Some(id) = self.body_ids.get(index).copied().flatten() else { continue };
            let body = &model.bodies[id.index()];
            if body.fixed && body.shapes.is_empty() && !used[id.index()] {
                idle.push((span, label.clone()));
            }
        }
        for (span, label) in idle {
            let site = Site::new(ScopeId::ROOT, &label, "body");
            let message = "it is fixed, and nothing is attached to it";
            self.warn(
                "idle-body",
                &site,
                span,
                message,
                "attach a joint or a spring, or remove it",
            );
        }
    }
}
