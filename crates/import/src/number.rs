//! Numbers as model files write them.

use gelenk_model::math::{Quat, Vec3};

/// A number with as many digits as it takes to read the same bits back; rounding noise about zero is zero.
pub(crate) fn number(x: f64) -> String {
    if x.abs() < 1e-15 {
        return "0".to_owned();
    }
    if x.fract() == 0.0 && x.abs() < 1e9 {
        return format!("{x:.0}");
    }
    format!("{x:?}")
}

/// `[x, y, z]`
pub(crate) fn vector(v: &Vec3) -> String {
    format!("[{}, {}, {}]", number(v.x), number(v.y), number(v.z))
}

/// `[w, x, y, z]` with w ≥ 0.
pub(crate) fn rotation(q: &Quat) -> String {
    let s = if q.w < 0.0 { -1.0 } else { 1.0 };
    let [w, x, y, z] = [q.w, q.i, q.j, q.k].map(|c| number(s * c));
    format!("[{w}, {x}, {y}, {z}]")
}

/// A text in quotes.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
