//! A point model as a model file.

use std::fmt::Write;

use gelenk_model::math::Vec3;

use super::PointModel;

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
                "\n[[joint]]\nname = \"{a}-{b}\"\ntype = \"distance\"\nbetween = [\"{a}\", \"{b}\"]\nlength = {d:?}\n"
            );
        }
        for (name, equation) in &self.equations {
            let _ = write!(out, "\n[[constraint]]\nname = \"{name}\"\nequation = \"{equation}\"\n");
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
}

/// A vector with all its digits.
fn vector(v: &Vec3) -> String {
    format!("[{:?}, {:?}, {:?}]", v.x, v.y, v.z)
}
