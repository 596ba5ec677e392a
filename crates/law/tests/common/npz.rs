//! Reads `.npz` files (zip archives of NumPy arrays of doubles, deflated or stored) of single-step problems.

use std::collections::BTreeMap;
use std::path::Path;

use gelenk_law::{Kind, Problem};

use super::Dense;

/// One step: the machine, the problem, impulses to begin from.
pub(crate) struct Step {
    pub(crate) dense: Dense,
    pub(crate) problem: Problem,
    pub(crate) warm: Vec<f64>,
}

fn number(bytes: &[u8], at: usize, len: usize) -> Option<usize> {
    let part = bytes.get(at..at + len)?;
    Some(part.iter().rev().fold(0, |n, &b| n << 8 | usize::from(b)))
}

/// Arrays by name, without shapes.
fn arrays(bytes: &[u8]) -> Option<BTreeMap<String, Vec<f64>>> {
    let end = (0..bytes.len().saturating_sub(21))
        .rev()
        .find(|&i| bytes[i..].starts_with(b"PK\x05\x06"))?;
    let (count, mut at) = (number(bytes, end + 10, 2)?, number(bytes, end + 16, 4)?);
    let mut all = BTreeMap::new();
    for _ in 0..count {
        let (method, size) = (number(bytes, at + 10, 2)?, number(bytes, at + 20, 4)?);
        let name_len = number(bytes, at + 28, 2)?;
        let (extra, comment) = (number(bytes, at + 30, 2)?, number(bytes, at + 32, 2)?);
        let local = number(bytes, at + 42, 4)?;
        let name = std::str::from_utf8(bytes.get(at + 46..at + 46 + name_len)?).ok()?;
        let start = local + 30 + number(bytes, local + 26, 2)? + number(bytes, local + 28, 2)?;
        let packed = bytes.get(start..start + size)?;
        let data = match method {
            0 => packed.to_vec(),
            _ => miniz_oxide::inflate::decompress_to_vec(packed).ok()?,
        };
        let wide = if *data.get(6)? == 1 { 2 } else { 4 };
        let header = number(&data, 8, wide)?;
        let text = std::str::from_utf8(data.get(8 + wide..8 + wide + header)?).ok()?;
        if !text.contains("'<f8'") || text.contains("'fortran_order': True") {
            return None;
        }
        let numbers = data.get(8 + wide + header..)?.chunks_exact(8);
        let numbers =
            numbers.map(|b| f64::from_le_bytes(b.try_into().unwrap_or_default())).collect();
        all.insert(name.trim_end_matches(".npy").to_owned(), numbers);
        at += 46 + name_len + extra + comment;
    }
    Some(all)
}

/// All steps of a file.
pub(crate) fn load(path: &Path) -> Option<Vec<Step>> {
    let arrays = arrays(&std::fs::read(path).ok()?)?;
    let mut steps = Vec::new();
    while let Some(mass) = arrays.get(&format!("{}_M", steps.len())) {
        let get = |name: &str| arrays.get(&format!("{}_{name}", steps.len()));
        let (bs, lo, hi, bc) = (get("bs")?, get("lo")?, get("hi")?, get("bc")?);
        let mut problem = Problem::default();
        for i in 0..bs.len() {
            problem.push(Kind::Scalar { lo: lo[i], hi: hi[i] }, 0, &bs[i..=i]);
        }
        for (mu, b) in get("mu")?.iter().zip(bc.chunks_exact(3)) {
            problem.push(Kind::Contact { mu: *mu, spin: None, roll: None }, 0, b);
        }
        let jac = [get("Js")?.as_slice(), get("Jc")?].concat();
        let warm = [get("ls0")?.as_slice(), get("lc0")?].concat();
        let dense = Dense::new(mass.clone(), get("vf")?.clone(), jac);
        steps.push(Step { dense, problem, warm });
    }
    Some(steps)
}
