//! Actuators: inputs that drive joints.

use std::fmt::Write;

use gelenk_model::math::Vec3;

use super::Reader;
use super::defaults::ACTUATORS;
use crate::flat::felt_inertia;
use crate::number::{number, vector};
use crate::tree::Freedom;
use crate::xml::Element;

/// Force of an actuator: gain × input + bias, with length l and velocity v of what it acts on:
/// f = (g₀ + g₁ l + g₂ v) u + b₀ + b₁ l + b₂ v, cut at `range`.
#[derive(Clone, Debug)]
struct Law {
    /// What it is told, as an expression, cut at its range.
    input: String,
    gain: f64,
    /// g₁ and g₂.
    slopes: [f64; 2],
    bias: [f64; 3],
    range: Option<[f64; 2]>,
    gear: Vec<f64>,
}

impl Law {
    /// The force as an expression of length and velocity.
    fn force(&self, length: &str, rate: &str) -> String {
        let mut terms = Vec::new();
        if self.slopes.iter().any(|slope| slope.abs() > 0.0) {
            let [by_length, by_rate] = self.slopes.map(number);
            let gain = number(self.gain);
            terms
                .push(format!("({gain} + {by_length}*{length} + {by_rate}*{rate})*{}", self.input));
        } else if self.gain != 0.0 {
            terms.push(product(self.gain, &self.input));
        }
        if self.bias[0] != 0.0 {
            terms.push(number(self.bias[0]));
        }
        for (factor, of) in [(self.bias[1], length), (self.bias[2], rate)] {
            if factor != 0.0 {
                terms.push(product(factor, of));
            }
        }
        let sum = if terms.is_empty() { "0".to_owned() } else { terms.join(" + ") };
        let sum = sum.replace("+ -", "- ");
        match self.range {
            Some([low, high]) => format!("min(max({sum}, {}), {})", number(low), number(high)),
            None => sum,
        }
    }
}

fn is_one(factor: f64) -> bool {
    factor.to_bits() == 1.0_f64.to_bits()
}

fn product(factor: f64, of: &str) -> String {
    if is_one(factor) { of.to_owned() } else { format!("{}*{of}", number(factor)) }
}

impl Reader<'_> {
    pub(super) fn actuators(&mut self, root: &Element) {
        let key_inputs = std::mem::take(&mut self.key_inputs);
        let children = root.all("actuator").flat_map(|section| &section.children);
        for (n, child) in children.enumerate() {
            let child = self.resolve(child, None);
            self.only_once("actuator", &child);
            if ACTUATORS.contains(&child.name.as_str()) {
                self.actuator(&child, key_inputs.get(n).copied());
            }
        }
        // What all actuators of a joint may give together.
        for ([link, which], [low, high]) in std::mem::take(&mut self.strength) {
            let joint = &mut self.robot.links[link].joints[which];
            let slide = joint.freedom == Freedom::Slide;
            let symmetric = (low + high).abs() <= 0.0;
            match (joint.drives.as_mut_slice(), joint.motors.as_slice()) {
                ([], []) => {}
                ([drive], []) if symmetric && !drive.contains("max_") => {
                    let key = if slide { "max_force" } else { "max_torque" };
                    *drive = drive.replace(" }", &format!(", {key} = {} }}", number(high)));
                }
                // One motor in place of all, cut at the bounds.
                ([], motors) => {
                    let key = if slide { "force" } else { "torque" };
                    let start = format!("{{ {key} = \"");
                    let sum: Vec<&str> = motors
                        .iter()
                        .map(|motor| motor.trim_start_matches(&start).trim_end_matches("\" }"))
                        .collect();
                    let sum = sum.join(" + ").replace("+ -", "- ");
                    let (low, high) = (number(low), number(high));
                    joint.motors = vec![format!("{start}min(max({sum}, {low}), {high})\" }}")];
                }
                _ => {
                    let text = "bounds on all actuators of a joint together (actuatorfrcrange)";
                    let (called, span) = (format!("joint `{}`", joint.name), joint.span);
                    self.context.dropped(text, &called, span);
                }
            }
        }
    }

    fn actuator(&mut self, element: &Element, start: Option<f64>) {
        let called = element.called();
        let kind = element.name.as_str();
        let no_law = !matches!(kind, "general" | "motor" | "position" | "velocity");
        if no_law || element.get("plugin").is_some() {
            return;
        }
        let activation = element.text("dyntype").unwrap_or("none");
        let filtered = matches!(activation, "filter" | "filterexact")
            || self.context.number(element, "timeconst").is_some_and(|t| t > 0.0);
        if activation != "none" && !filtered {
            let text = "actuators with a state of their own, muscles";
            self.context.dropped(text, &called, element.span);
            return;
        }
        if filtered {
            let text = "filters of what actuators are told: it acts at once";
            self.context.changed(text, &called, element.span);
        }
        let targets: Vec<&str> =
            ["joint", "jointinparent", "tendon", "site", "body", "slidersite", "cranksite"]
                .into_iter()
                .filter(|key| element.get(key).is_some())
                .collect();
        let target = match targets.as_slice() {
            [target @ ("joint" | "jointinparent" | "tendon")] => *target,
            ["site"] if element.get("refsite").is_none() => "site",
            [] => {
                let message = "the actuator does not say what it acts on";
                let help = "give `joint`, `tendon` or `site`";
                self.context.error("missing-name", called, element.span, message, help);
                return;
            }
            [first, second] if !matches!(targets.as_slice(), ["slidersite", "cranksite"]) => {
                let message = format!("the actuator acts on two things, `{first}` and `{second}`");
                let help = "leave one of them";
                self.context.error("two-targets", called, element.span, message, help);
                return;
            }
            _ => {
                let text =
                    "actuators on sliders and cranks, bodies, or sites in the frame of others";
                self.context.dropped(text, &called, element.span);
                return;
            }
        };
        if target == "tendon"
            && element.text("tendon").is_some_and(|name| !self.tendons.contains_key(name))
        {
            self.unknown(element, target, "tendon", self.tendons.keys().cloned().collect());
            return;
        }
        let on_joint = matches!(target, "joint" | "jointinparent");
        let at = if on_joint { self.joint_named(element, target) } else { None };
        if on_joint && at.is_none() {
            return;
        }
        if at.is_some_and(|at| self.joint(at).velocities() != 1) {
            self.context.dropped("actuators on ball and free joints", &called, element.span);
            return;
        }
        let Some(law) = self.law(element, start, at) else { return };
        match (target, at) {
            (_, Some(at)) => self.drive(at, &law),
            ("tendon", _) => self.pull_tendon(element, &law),
            _ => self.push_site(element, &law),
        }
    }

    /// The law of an actuator, with an input of its own.
    fn law(
        &mut self,
        element: &Element,
        start: Option<f64>,
        at: Option<[usize; 2]>,
    ) -> Option<Law> {
        let called = element.called();
        let mut gear = self.context.numbers(element, "gear", 1..=6).unwrap_or(vec![1.0]);
        let given = gear.len();
        gear.resize(6, 0.0);
        if given == 0 {
            gear[0] = 1.0;
        }
        let list = |reader: &mut Self, key: &str, n: usize| {
            let mut list = reader.context.numbers(element, key, 0..=10).unwrap_or_default();
            list.resize(n.max(list.len()), 0.0);
            list
        };
        let mut slopes = [0.0; 2];
        let (gain, bias) = match element.name.as_str() {
            "motor" => (1.0, [0.0; 3]),
            "position" => {
                let kp = self.context.number_or(element, "kp", 1.0);
                let mut kv = self.context.number_or(element, "kv", 0.0);
                if let (Some(ratio), Some([link, which])) =
                    (self.context.number(element, "dampratio"), at)
                {
                    let inertia = felt_inertia(&self.robot, link, which) / (gear[0] * gear[0]);
                    kv = 2.0 * ratio * (kp * inertia).sqrt();
                } else if element.get("dampratio").is_some() {
                    let text = "damping ratios of actuators on tendons and sites";
                    self.context.dropped(text, &called, element.span);
                }
                (kp, [0.0, -kp, -kv])
            }
            "velocity" => {
                let kv = self.context.number_or(element, "kv", 1.0);
                (kv, [0.0, 0.0, -kv])
            }
            _ => {
                let (gains, biases) = (list(self, "gainprm", 3), list(self, "biasprm", 3));
                let gain = if element.get("gainprm").is_some() { gains[0] } else { 1.0 };
                let affine = element.text("biastype") == Some("affine");
                let kind = element.text("gaintype").unwrap_or("fixed");
                if kind == "affine" {
                    slopes = [gains[1], gains[2]];
                }
                if !matches!(kind, "fixed" | "affine")
                    || !matches!(element.text("biastype"), None | Some("none" | "affine"))
                {
                    let text = "actuators with the law of a muscle or of the user";
                    self.context.dropped(text, &called, element.span);
                    return None;
                }
                (gain, if affine { [biases[0], biases[1], biases[2]] } else { [0.0; 3] })
            }
        };
        let range = |reader: &mut Self, key: &str, flag: &str| {
            let range = reader.context.numbers(element, key, 2..=2)?;
            let on = reader.bounded(element, key, flag, &range);
            on.then(|| [range[0].min(range[1]), range[0].max(range[1])])
        };
        let mut told = range(self, "ctrlrange", "ctrllimited");
        if self.off("clampctrl") {
            told = None;
        }
        if let (Some(share), Some(at)) = (self.context.number(element, "inheritrange"), at)
            && share > 0.0
            && let Some([low, high]) = self.joint(at).limits
        {
            let (middle, half) = (f64::midpoint(low, high), (high - low) / 2.0 * share);
            told = Some([middle - half, middle + half]);
        }
        let force = range(self, "forcerange", "forcelimited");
        let wanted = element.text("name").map_or_else(
            || {
                format!(
                    "{}_{}",
                    element.text("joint").or(element.text("tendon")).unwrap_or("actuator"),
                    element.name
                )
            },
            str::to_owned,
        );
        let name = self.names.inputs.give(&wanted);
        let mut value = start.unwrap_or(0.0);
        let mut input = format!("input.{name}");
        if let Some([low, high]) = told {
            value = value.clamp(low, high);
            if low.is_finite() && high.is_finite() {
                input = format!("min(max({input}, {}), {})", number(low), number(high));
            }
        }
        self.robot.inputs.push((name, value));
        let force = force.filter(|f| f.iter().all(|x| x.is_finite()));
        Some(Law { input, gain, slopes, bias, range: force, gear })
    }

    /// On a joint: a drive where the law is a servo's, else a motor.
    fn drive(&mut self, [link, which]: [usize; 2], law: &Law) {
        let gear = law.gear[0];
        let joint = &mut self.robot.links[link].joints[which];
        let slide = joint.freedom == Freedom::Slide;
        let coordinate = joint.coordinate();
        let symmetric = law.range.is_none_or(|[low, high]| (low + high).abs() <= 0.0);
        let [b0, b1, b2] = law.bias;
        let most = law.range.map(|[_, high]| {
            let key = if slide { "max_force" } else { "max_torque" };
            format!(", {key} = {}", number(high * gear.abs()))
        });
        let most = most.unwrap_or_default();
        let plain = law.slopes.iter().all(|slope| slope.abs() <= 0.0);
        if plain && symmetric && b1 < 0.0 && b2 <= 0.0 && gear != 0.0 {
            // f = −b₁ ((g u + b₀)/−b₁ − l) + b₂ v with l = gear q: stiffness −b₁ gear² about the target over gear.
            let mut target = product(law.gain / -b1 / gear, &law.input);
            if b0 != 0.0 {
                target = format!("{target} + {}", number(b0 / -b1 / gear));
            }
            let stiffness = number(-b1 * gear * gear);
            let mut drive =
                format!("{{ {coordinate} = \"{target}\", velocity = 0, stiffness = {stiffness}");
            if b2 < 0.0 {
                let _ = write!(drive, ", damping = {}", number(-b2 * gear * gear));
            }
            joint.drives.push(format!("{drive}{most} }}"));
        } else if plain && symmetric && b1 == 0.0 && b2 < 0.0 && b0 == 0.0 && gear != 0.0 {
            let target = product(law.gain / -b2 / gear, &law.input);
            let damping = number(-b2 * gear * gear);
            joint.drives.push(format!("{{ velocity = \"{target}\", damping = {damping}{most} }}"));
        } else {
            let length = format!("({}*joint.{}.{coordinate})", number(gear), joint.name);
            let rate = format!("({}*joint.{}.velocity)", number(gear), joint.name);
            let force = law.force(&length, &rate);
            let force = if is_one(gear) { force } else { format!("{}*({force})", number(gear)) };
            let key = if slide { "force" } else { "torque" };
            joint.motors.push(format!("{{ {key} = \"{force}\" }}"));
        }
    }

    fn pull_tendon(&mut self, element: &Element, law: &Law) {
        let name = element.text("tendon").unwrap_or("");
        let Some(tendon) = self.tendons.get(name).cloned().flatten() else {
            self.robot.inputs.pop();
            let text = "actuators on spatial tendons";
            self.context.dropped(text, &element.called(), element.span);
            return;
        };
        let gear = law.gear[0];
        let terms: Vec<(f64, [usize; 2])> =
            tendon.terms.iter().map(|(c, at)| (c * gear, *at)).collect();
        let length = format!("({})", self.sum_of(&terms, false));
        let rate = format!("({})", self.sum_of(&terms, true));
        let force = law.force(&length, &rate);
        self.pull(&terms, &force);
    }

    /// A force and a torque in the frame of a site.
    fn push_site(&mut self, element: &Element, law: &Law) {
        let Some(site) = self.site_named(element, "site") else { return };
        if law.bias.iter().chain(&law.slopes).any(|b| b.abs() > 0.0) {
            self.robot.inputs.pop();
            let text = "actuators on sites with feedback";
            self.context.dropped(text, &element.called(), element.span);
            return;
        }
        let carried = self.frame_on_carrier(site.link);
        let pose = carried * site.pose;
        let gear = &law.gear;
        let force = pose.rotation * Vec3::new(gear[0], gear[1], gear[2]);
        let torque = pose.rotation * Vec3::new(gear[3], gear[4], gear[5]);
        let law = law.force("0", "0");
        let mut lines = String::new();
        for (key, v) in [("force", force), ("torque", torque)] {
            if v.amax() > 0.0 {
                let parts: Vec<String> = v
                    .iter()
                    .map(|x| {
                        if x.abs() < 1e-15 {
                            "0".to_owned()
                        } else {
                            format!("\"{}*({law})\"", number(*x))
                        }
                    })
                    .collect();
                let _ = writeln!(lines, "{key} = [{}]", parts.join(", "));
            }
        }
        let _ = writeln!(lines, "anchor = {}\nframe = \"body\"", vector(&pose.translation.vector));
        self.robot.forces.push((site.link, lines));
    }

    /// A link's frame on the body that carries it.
    fn frame_on_carrier(&self, link: usize) -> crate::mass::Pose {
        let mut at = link;
        let mut frame = crate::mass::Pose::identity();
        while at != 0 && self.robot.links[at].joints.is_empty() {
            frame = self.robot.links[at].pose * frame;
            at = self.robot.links[at].parent;
        }
        frame
    }
}
