//! `<compiler>` and `<option>`: how a file is read, and what holds for all of it.

use std::path::{Path, PathBuf};

use gelenk_model::math::Vec3;

use super::Reader;
use crate::context::Context;
use crate::xml::Element;

/// Settings of `<compiler>`.
#[derive(Clone, Debug)]
pub(super) struct Compiler {
    /// Factor on angles of the file.
    pub(super) angle: f64,
    /// Axes of Euler angles; lower case: turning with the body.
    pub(super) sequence: [char; 3],
    pub(super) autolimits: bool,
    /// `None`: where a body gives no inertia itself.
    pub(super) inertia_from_geom: Option<bool>,
    pub(super) inertia_groups: (f64, f64),
    pub(super) balance: bool,
    pub(super) least_mass: f64,
    pub(super) least_inertia: f64,
    pub(super) total_mass: Option<f64>,
    pub(super) mesh_dir: String,
    /// Names of mesh files count without their folders.
    pub(super) strip_path: bool,
    /// Primitives are fitted to the box around a mesh, not to its moments of inertia.
    pub(super) fit_boxes: bool,
    /// Positions and directions of bodies, joints and geoms are those in the world.
    pub(super) global: bool,
    /// Folder of the file, from which meshes count.
    pub(super) folder: PathBuf,
    pub(super) exact_meshes: bool,
}

/// Reads all `<compiler>` elements of a file that lies in `folder`.
pub(super) fn compiler(context: &mut Context, root: &Element, folder: &Path) -> Option<Compiler> {
    let mut compiler = Compiler {
        angle: std::f64::consts::PI / 180.0,
        sequence: ['x', 'y', 'z'],
        autolimits: true,
        inertia_from_geom: None,
        inertia_groups: (f64::NEG_INFINITY, f64::INFINITY),
        balance: false,
        least_mass: 0.0,
        least_inertia: 0.0,
        total_mass: None,
        mesh_dir: String::new(),
        strip_path: false,
        fit_boxes: false,
        global: false,
        folder: folder.to_owned(),
        exact_meshes: false,
    };
    for element in root.all("compiler") {
        match element.text("angle") {
            Some("radian") => compiler.angle = 1.0,
            Some("degree") => compiler.angle = std::f64::consts::PI / 180.0,
            _ => {}
        }
        if let Some(sequence) = element.text("eulerseq") {
            let letters: Vec<char> = sequence.chars().collect();
            match letters.as_slice() {
                [a, b, c] if letters.iter().all(|l| "xyzXYZ".contains(*l)) => {
                    compiler.sequence = [*a, *b, *c];
                }
                _ => {
                    let message = format!("`{sequence}` is no sequence of axes");
                    let help = "three letters of x, y, z, X, Y, Z";
                    context.error("bad-rotation", "compiler", element.span, message, help);
                    return None;
                }
            }
        }
        if let Some(coordinate) = element.text("coordinate") {
            compiler.global = coordinate == "global";
        }
        if let Some(auto) = element.text("autolimits") {
            compiler.autolimits = auto == "true";
        }
        match element.text("inertiafromgeom") {
            Some("true") => compiler.inertia_from_geom = Some(true),
            Some("false") => compiler.inertia_from_geom = Some(false),
            Some("auto") => compiler.inertia_from_geom = None,
            _ => {}
        }
        if let Some(range) = context.numbers(element, "inertiagrouprange", 2..=2) {
            compiler.inertia_groups = (range[0], range[1]);
        }
        if let Some(flag) = element.text("balanceinertia") {
            compiler.balance = flag == "true";
        }
        compiler.least_mass = context.number_or(element, "boundmass", compiler.least_mass);
        compiler.least_inertia = context.number_or(element, "boundinertia", compiler.least_inertia);
        if let Some(mass) = context.number(element, "settotalmass").filter(|mass| *mass > 0.0) {
            compiler.total_mass = Some(mass);
        }
        for key in ["assetdir", "meshdir"] {
            if let Some(folder) = element.text(key) {
                folder.clone_into(&mut compiler.mesh_dir);
            }
        }
        let flags = [("strippath", &mut compiler.strip_path), ("fitaabb", &mut compiler.fit_boxes)];
        for (key, slot) in flags {
            if let Some(flag) = element.text(key) {
                *slot = flag == "true";
            }
        }
        if let Some(flag) = element.text("exactmeshinertia") {
            compiler.exact_meshes = flag == "true";
        }
    }
    Some(compiler)
}

impl Reader<'_> {
    pub(super) fn options(&mut self, root: &Element) {
        for option in root.all("option") {
            if let Some(gravity) = self.context.vector(option, "gravity") {
                self.robot.gravity = gravity;
            }
            match self.context.number(option, "timestep") {
                Some(step) if step > 0.0 => self.robot.step = Some(step),
                Some(step) => {
                    let span = option.get("timestep").map_or(option.span, |a| a.span);
                    let message = format!("the time step is {step} s, but a step is positive");
                    let help = "give a step above 0 s";
                    let assumed = "0.002 s";
                    self.context.repairable("bad-step", "option", span, message, help, assumed);
                }
                None => {}
            }
            for key in ["density", "viscosity"] {
                let given = self.context.number(option, key).unwrap_or(0.0);
                if given < 0.0 {
                    let message = format!("`{key}` of the medium is negative");
                    let help = "give 0 or more";
                    self.context.error("bad-number", "option", option.span, message, help);
                } else if given > 0.0 {
                    let text = "forces of a surrounding medium (density, viscosity, wind)";
                    self.context.dropped(text, "option", option.span);
                }
            }
            // Wind does nothing without a medium, but three numbers it has.
            let _ = self.context.vector(option, "wind");
            match option.text("collision") {
                Some("predefined") => self.pairs_only = true,
                Some("dynamic") => self.off.push("predefined"),
                _ => {}
            }
            for flag in option.all("flag") {
                let known = [
                    "gravity",
                    "contact",
                    "constraint",
                    "equality",
                    "frictionloss",
                    "limit",
                    "passive",
                    "spring",
                    "damper",
                    "actuation",
                    "clampctrl",
                ];
                self.off.extend(known.into_iter().filter(|key| flag.text(key) == Some("disable")));
                if flag.text("filterparent") == Some("disable") {
                    let text =
                        "contact of links with those that a joint binds them to (filterparent)";
                    self.context.dropped(text, "flag", flag.span);
                }
            }
        }
        if self.off("gravity") {
            self.robot.gravity = Vec3::zeros();
        }
    }

    /// Whether the file switches something off.
    pub(super) fn off(&self, what: &str) -> bool {
        let all = match what {
            "contact" | "equality" | "frictionloss" | "limit" => "constraint",
            "spring" | "damper" => "passive",
            _ => what,
        };
        self.off.iter().any(|off| *off == what || *off == all)
    }

    /// Takes away what the file switches off at joints.
    pub(super) fn switch_off(&mut self) {
        let [springs, dampers, friction, limits] =
            ["spring", "damper", "frictionloss", "limit"].map(|what| self.off(what));
        for joint in self.robot.links.iter_mut().flat_map(|link| &mut link.joints) {
            if springs {
                joint.stiffness = 0.0;
            }
            if dampers {
                joint.damping = 0.0;
            }
            if friction {
                joint.friction = 0.0;
            }
            if limits {
                joint.limits = None;
            }
        }
    }
}
