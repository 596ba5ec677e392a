//! The description of a unit: `modelDescription.xml`.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::{LIBRARY, Machine, Variable, VariableKind, Version};
use crate::svg::escape;

/// The text of the description.
pub(super) fn xml(machine: &Machine, version: Version) -> String {
    let model = machine.model();
    let (name, about) = (escape(&model.name), escape(&model.description));
    let token = machine.token();
    let tool = format!("gelenk {}", crate::VERSION);
    let (step, stop) = (machine.step_length(), model.run.duration);
    let units: BTreeSet<&str> = machine
        .variables()
        .iter()
        .map(|variable| variable.unit.as_str())
        .filter(|unit| !unit.is_empty())
        .collect();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing to a string cannot fail.
    let _ = match version {
        Version::Three => write!(
            out,
            "<fmiModelDescription fmiVersion=\"3.0\" modelName=\"{name}\" instantiationToken=\"{token}\" generationTool=\"{tool}\" \
             description=\"{about}\" variableNamingConvention=\"flat\">\n\
             \x20 <CoSimulation modelIdentifier=\"{LIBRARY}\" canGetAndSetFMUState=\"true\" canSerializeFMUState=\"true\" \
             canHandleVariableCommunicationStepSize=\"false\" fixedInternalStepSize=\"{step:?}\"/>\n"
        ),
        Version::Two => write!(
            out,
            "<fmiModelDescription fmiVersion=\"2.0\" modelName=\"{name}\" guid=\"{token}\" generationTool=\"{tool}\" \
             description=\"{about}\" variableNamingConvention=\"flat\" numberOfEventIndicators=\"0\">\n\
             \x20 <CoSimulation modelIdentifier=\"{LIBRARY}\" canHandleVariableCommunicationStepSize=\"false\" \
             canGetAndSetFMUstate=\"true\" canSerializeFMUstate=\"true\"/>\n"
        ),
    };
    if !units.is_empty() {
        out.push_str("  <UnitDefinitions>\n");
        for unit in units {
            let _ = writeln!(out, "    <Unit name=\"{}\"/>", escape(unit));
        }
        out.push_str("  </UnitDefinitions>\n");
    }
    out.push_str(
        "  <LogCategories>\n    <Category name=\"logStatusError\"/>\n  </LogCategories>\n",
    );
    let _ = writeln!(
        out,
        "  <DefaultExperiment startTime=\"0\" stopTime=\"{stop:?}\" stepSize=\"{step:?}\"/>\n  <ModelVariables>"
    );
    for variable in machine.variables() {
        match version {
            Version::Three => three(&mut out, variable),
            Version::Two => two(&mut out, variable),
        }
    }
    out.push_str("  </ModelVariables>\n  <ModelStructure>\n");
    let outputs = || {
        let all = machine.variables().iter().enumerate();
        all.filter(|(_, variable)| variable.kind == VariableKind::Output)
    };
    match version {
        Version::Three => {
            for word in ["Output", "InitialUnknown"] {
                for (_, variable) in outputs() {
                    let _ =
                        writeln!(out, "    <{word} valueReference=\"{}\"/>", variable.reference);
                }
            }
        }
        Version::Two => {
            for word in ["Outputs", "InitialUnknowns"] {
                let _ = writeln!(out, "    <{word}>");
                for (i, _) in outputs() {
                    let _ = writeln!(out, "      <Unknown index=\"{}\"/>", i + 1);
                }
                let _ = writeln!(out, "    </{word}>");
            }
        }
    }
    out.push_str("  </ModelStructure>\n</fmiModelDescription>\n");
    out
}

/// Causality, variability and start of a variable.
fn role(variable: &Variable) -> (&'static str, &'static str, Option<f64>) {
    match variable.kind {
        VariableKind::Time => ("independent", "continuous", None),
        VariableKind::Parameter => ("parameter", "fixed", Some(variable.start)),
        VariableKind::Input => ("input", "continuous", Some(variable.start)),
        VariableKind::Output => ("output", "continuous", None),
    }
}

fn unit(variable: &Variable) -> String {
    match variable.unit.as_str() {
        "" => String::new(),
        unit => format!(" unit=\"{}\"", escape(unit)),
    }
}

fn start(start: Option<f64>) -> String {
    start.map_or_else(String::new, |start| format!(" start=\"{start:?}\""))
}

fn three(out: &mut String, variable: &Variable) {
    let (causality, variability, begins) = role(variable);
    let _ = writeln!(
        out,
        "    <Float64 name=\"{}\" valueReference=\"{}\" causality=\"{causality}\" variability=\"{variability}\"{}{}/>",
        escape(&variable.name),
        variable.reference,
        unit(variable),
        start(begins)
    );
}

fn two(out: &mut String, variable: &Variable) {
    let (causality, variability, begins) = role(variable);
    let _ = writeln!(
        out,
        "    <ScalarVariable name=\"{}\" valueReference=\"{}\" causality=\"{causality}\" variability=\"{variability}\"><Real{}{}/></ScalarVariable>",
        escape(&variable.name),
        variable.reference,
        unit(variable),
        start(begins)
    );
}
