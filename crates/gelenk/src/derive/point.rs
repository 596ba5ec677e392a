//! Numbers for the coefficients: a point given as JSON.

use gelenk_lagrange::Equations;
use serde_json::{Map, Value, json};

/// Where coefficients are evaluated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// Parameters that differ from the model's.
    pub parameters: Vec<(String, f64)>,
    /// q.
    pub q: Vec<f64>,
    /// q̇.
    pub qd: Vec<f64>,
    /// Time, s.
    pub t: f64,
}

impl Point {
    /// Reads `{"parameters": {..}, "q": [..], "qd": [..], "t": ..}`; q and qd may be objects by the coordinates' names. What is left
    /// out is 0, or the model's.
    pub fn from_json(text: &str, equations: &Equations) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let Value::Object(map) = value else {
            return Err("it must be an object {\"parameters\", \"q\", \"qd\", \"t\"}".to_owned());
        };
        let mut point = Point::default();
        let n = equations.n();
        (point.q, point.qd) = (vec![0.0; n], vec![0.0; n]);
        for (key, value) in &map {
            match key.as_str() {
                "t" => point.t = number(value, "t")?,
                "q" => point.q = numbers(value, "q", equations)?,
                "qd" => point.qd = numbers(value, "qd", equations)?,
                "parameters" => {
                    let Value::Object(list) = value else {
                        return Err("`parameters` must be an object of numbers".to_owned());
                    };
                    for (name, value) in list {
                        if !equations.system.parameters.iter().any(|p| p.name == *name) {
                            return Err(format!("the equations have no parameter `{name}`"));
                        }
                        point.parameters.push((name.clone(), number(value, name)?));
                    }
                }
                other => {
                    return Err(format!("`{other}` is none of `parameters`, `q`, `qd` and `t`"));
                }
            }
        }
        Ok(point)
    }

    /// The coefficients there: `g` (index 0 is time), `gamma` (first kind, ρ = 1 … f, then μ, ν = 0 … f), `Q`, `qdd` (null where
    /// the metric is singular), `multipliers`; `None` without closed form.
    pub fn evaluate(&self, equations: &Equations) -> Option<Map<String, Value>> {
        let values = equations.evaluate(&self.q, &self.qd, self.t, &self.parameters)?;
        let value = json!({
            "g": values.g,
            "gamma": values.gamma,
            "Q": values.q,
            "qdd": values.qdd,
            "multipliers": values.multipliers,
        });
        match value {
            Value::Object(map) => Some(map),
            _ => None,
        }
    }
}

fn number(value: &Value, name: &str) -> Result<f64, String> {
    value.as_f64().ok_or_else(|| format!("`{name}` must be a number"))
}

fn numbers(value: &Value, name: &str, equations: &Equations) -> Result<Vec<f64>, String> {
    let n = equations.n();
    match value {
        Value::Array(list) if list.len() == n => {
            list.iter().map(|value| number(value, name)).collect()
        }
        Value::Object(map) => {
            let names = equations.q_names();
            let mut all = vec![0.0; n];
            for (key, value) in map {
                let Some(k) = names.iter().position(|name| name == key) else {
                    return Err(format!(
                        "`{name}`: there is no coordinate `{key}`; there are {}",
                        names.join(", ")
                    ));
                };
                all[k] = number(value, key)?;
            }
            Ok(all)
        }
        _ => Err(format!("`{name}` must be a list of {n} numbers, or an object by coordinate")),
    }
}
