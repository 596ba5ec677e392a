//! A point model as a model file.

use std::fmt::Write;

use gelenk_model::math::Vec3;

use super::convert::distance_name;
use super::{PointForce, PointModel};

impl PointModel {
    /// The model file.
    pub fn to_toml(&self) -> String {
        let mut out = String::from(
            "# Rigid bodies as point masses (Schmitt, Bender, Prautzsch 2005, section 3), by `gelenk points`.\n",
        );
        let _ = writeln!(
            out,
            "[model]\nname = {}\ngravity = {}\n",
            serde_json::Value::from(self.name.as_str()),
            vector(&self.gravity)
        );
        for (body, points) in &self.bodies {
            let names: Vec<&str> =
                points.iter().map(|p| self.points[p.point].name.as_str()).collect();
            let _ = writeln!(out, "# {body}: {}", names.join(", "));
        }
        for point in &self.points {
            let _ = write!(
                out,
                "\n[[point]]\nname = \"{}\"\nmass = {:?}\nposition = {}\n",
                point.name,
                point.mass,
                vector(&point.position)
            );
            if point.fixed {
                out.push_str("fixed = true\n");
            } else {
                let _ = writeln!(out, "velocity = {}", vector(&point.velocity));
            }
        }
        for &(i, j, d) in &self.distances {
            let (a, b) = (&self.points[i].name, &self.points[j].name);
            let _ = write!(
                out,
                "\n[[joint]]\nname = \"{}\"\ntype = \"distance\"\nbetween = [\"{a}\", \"{b}\"]\nlength = {d:?}\n",
                distance_name(a, b)
            );
        }
        for (name, equation) in &self.equations {
            let _ = write!(out, "\n[[constraint]]\nname = \"{name}\"\nequation = \"{equation}\"\n");
        }
        for force in &self.forces {
            self.write_force(&mut out, force);
        }
        let run = &self.run;
        let _ = write!(
            out,
            "\n[run]\nduration = {:?}\nstep = {:?}\norder = {}\ntolerance = {:?}\nvelocity_tolerance = {:?}\nsolver = {:?}\n",
            run.duration, run.step, run.order, run.tolerance, run.velocity_tolerance, run.solver
        );
        if let Some(sample) = run.sample {
            let _ = writeln!(out, "sample = {sample:?}");
        }
        out
    }

    fn write_force(&self, out: &mut String, force: &PointForce) {
        let name = |k: usize| &self.points[k].name;
        let between = |ends: &[usize; 2]| format!("[\"{}\", \"{}\"]", name(ends[0]), name(ends[1]));
        let _ = match force {
            PointForce::Spring { name, ends, values: [length, stiffness] } => write!(
                out,
                "\n[[spring]]\nname = \"{name}\"\nbetween = {}\nlength = \"{length}\"\nstiffness = \"{stiffness}\"\n",
                between(ends)
            ),
            PointForce::Damper { name, ends, damping } => write!(
                out,
                "\n[[damper]]\nname = \"{name}\"\nbetween = {}\ndamping = \"{damping}\"\n",
                between(ends)
            ),
            PointForce::Force { name: own, point, force: [x, y, z] } => write!(
                out,
                "\n[[force]]\nname = \"{own}\"\nbody = \"{}\"\nforce = [\"{x}\", \"{y}\", \"{z}\"]\n",
                name(*point)
            ),
        };
    }
}

/// A vector with all its digits.
fn vector(v: &Vec3) -> String {
    format!("[{:?}, {:?}, {:?}]", v.x, v.y, v.z)
}
