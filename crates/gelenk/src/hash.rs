//! Hashes that name a model, a state and a run. BLAKE3, written as 64 hexadecimal digits.
//!
//! Every hash is over bytes that this module defines, so that anyone can compute it again: numbers are
//! little-endian, texts and lists go with their length in front, doubles go bit by bit (−0 and 0 differ).

use gelenk_model::State;

use crate::recording::Header;

/// The hash that names a model: its source files, in order, its meshes and the values given on the command line.
///
/// Per source: name, text; per mesh: name, bytes; per override: name, value. The main file counts under the name
/// `model`, so that it may be renamed. Texts are taken without a byte-order mark and with line ends `\n`, so that a
/// checkout on another system has the same hash.
pub fn model_hash(header: &Header) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"gelenk model 1\0");
    count(&mut hasher, header.sources.len());
    for (i, source) in header.sources.iter().enumerate() {
        text(&mut hasher, if i == 0 { "model" } else { &source.name });
        text(&mut hasher, &canonical(&source.text));
    }
    count(&mut hasher, header.meshes.len());
    for mesh in &header.meshes {
        text(&mut hasher, &mesh.name);
        count(&mut hasher, mesh.bytes.len());
        hasher.update(&mesh.bytes);
    }
    count(&mut hasher, header.overrides.len());
    for given in &header.overrides {
        text(&mut hasher, &given.name);
        text(&mut hasher, &given.value);
    }
    hasher.finalize().to_hex().to_string()
}

/// The hash of a state: the bits of t, s, ṡ, the rotations (w, x, y, z), ω, impulses and coordinates, each list with
/// its length in front; then, where there are any, the places where dry friction holds and the joints that are open (by
/// index), after the texts `held` and `open`. What contacts remember follows from the motion and is left out.
pub fn state_hash(state: &State) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"gelenk state 1\0");
    hasher.update(&state.t.to_le_bytes());
    let State { t: _, s, s_dot, rot, omega, impulse, coordinate, held, active, contacts: _ } =
        state;
    for vectors in [s, s_dot] {
        count(&mut hasher, vectors.len());
        for v in vectors {
            numbers(&mut hasher, v.as_slice());
        }
    }
    count(&mut hasher, rot.len());
    for q in rot {
        numbers(&mut hasher, &[q.w, q.i, q.j, q.k]);
    }
    count(&mut hasher, omega.len());
    for v in omega {
        numbers(&mut hasher, v.as_slice());
    }
    for list in [impulse, coordinate] {
        count(&mut hasher, list.len());
        numbers(&mut hasher, list);
    }
    if !held.is_empty() {
        text(&mut hasher, "held");
        count(&mut hasher, held.len());
        numbers(&mut hasher, held);
    }
    if active.contains(&false) {
        text(&mut hasher, "open");
        (0..active.len()).filter(|i| !active[*i]).for_each(|i| count(&mut hasher, i));
    }
    hasher.finalize().to_hex().to_string()
}

/// The text without a byte-order mark and with `\n` at line ends.
fn canonical(text: &str) -> String {
    text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n")
}

fn count(hasher: &mut blake3::Hasher, n: usize) {
    hasher.update(&(n as u64).to_le_bytes());
}

fn text(hasher: &mut blake3::Hasher, text: &str) {
    count(hasher, text.len());
    hasher.update(text.as_bytes());
}

fn numbers(hasher: &mut blake3::Hasher, values: &[f64]) {
    for value in values {
        hasher.update(&value.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::{MeshFile, Override, SourceFile};

    fn hash(sources: &[(&str, &str)], mesh: &[u8], given: &str) -> String {
        let model = gelenk_model::Builder::new("empty").finish();
        let sources = sources
            .iter()
            .map(|(name, text)| SourceFile { name: (*name).to_owned(), text: (*text).to_owned() });
        let given = Override { name: "l".to_owned(), value: given.to_owned() };
        let mut header = Header::new(&model, &model.run, sources.collect(), vec![given]);
        header.meshes.push(MeshFile { name: "m.stl".to_owned(), bytes: mesh.to_vec() });
        model_hash(&header)
    }

    #[test]
    fn line_ends_and_the_files_name_do_not_make_another_model_but_everything_else_does() {
        let text = "x = 1\ny = 2\n";
        let one = hash(&[("a.toml", text), ("part.toml", "p")], b"mesh", "1");
        let crlf = "\u{feff}x = 1\r\ny = 2\r\n";
        assert_eq!(one, hash(&[("b.toml", crlf), ("part.toml", "p")], b"mesh", "1"));
        for other in [
            hash(&[("a.toml", "x = 1\ny = 3\n"), ("part.toml", "p")], b"mesh", "1"),
            hash(&[("a.toml", text), ("part.tom", "lp")], b"mesh", "1"),
            hash(&[("a.toml", text), ("part.toml", "p")], b"mash", "1"),
            hash(&[("a.toml", text), ("part.toml", "p")], b"mesh", "2"),
        ] {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn a_state_hash_sees_every_bit() {
        let state = gelenk_model::Builder::new("empty").finish().start;
        let mut other = state.clone();
        other.s[0].x = -0.0;
        assert_eq!(state, other);
        assert_ne!(state_hash(&state), state_hash(&other));
    }
}
