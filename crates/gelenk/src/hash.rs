//! Hashes that name a model, a state and a run. BLAKE3, written as 64 hexadecimal digits.
//!
//! Every hash is over bytes that this module defines, so that anyone can compute it again: numbers are
//! little-endian, texts and lists go with their length in front, doubles go bit by bit (−0 and 0 differ).

use gelenk_model::State;

use crate::recording::{Override, SourceFile};

/// The hash that names a model: its source files, in order, and the values given on the command line.
///
/// Per source: name, text; then per override: name, value. Texts are taken without a byte-order mark and with line
/// ends `\n`, so that a checkout on another system has the same hash.
pub fn model_hash(sources: &[SourceFile], overrides: &[Override]) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"gelenk model 1\0");
    count(&mut hasher, sources.len());
    for source in sources {
        text(&mut hasher, &source.name);
        text(&mut hasher, &canonical(&source.text));
    }
    count(&mut hasher, overrides.len());
    for given in overrides {
        text(&mut hasher, &given.name);
        text(&mut hasher, &given.value);
    }
    hasher.finalize().to_hex().to_string()
}

/// The hash of a state: the bits of t, s, ṡ, the rotations (w, x, y, z), ω, impulses and coordinates, each list with
/// its length in front.
pub fn state_hash(state: &State) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"gelenk state 1\0");
    hasher.update(&state.t.to_le_bytes());
    let State { t: _, s, s_dot, rot, omega, impulse, coordinate } = state;
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

    fn source(name: &str, text: &str) -> SourceFile {
        SourceFile { name: name.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn line_ends_do_not_name_another_model_but_everything_else_does() {
        let hash = |name: &str, text: &str, overrides: &[Override]| {
            model_hash(&[source(name, text)], overrides)
        };
        let one = hash("a.toml", "x = 1\ny = 2\n", &[]);
        assert_eq!(one, hash("a.toml", "\u{feff}x = 1\r\ny = 2\r\n", &[]));
        assert_ne!(one, hash("b.toml", "x = 1\ny = 2\n", &[]));
        assert_ne!(one, hash("a.toml", "x = 1\ny = 3\n", &[]));
        let given = Override { name: "l".to_owned(), value: "2".to_owned() };
        assert_ne!(one, hash("a.toml", "x = 1\ny = 2\n", &[given]));
        // The length in front keeps name and text apart.
        assert_ne!(hash("ab", "c", &[]), hash("a", "bc", &[]));
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
