//! Names that model files and their expressions allow.

use std::collections::{BTreeMap, BTreeSet};

/// Names given so far, of one kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    taken: BTreeSet<String>,
    /// The number that a name wanted again is tried with.
    next: BTreeMap<String, usize>,
}

/// Bytes that a name has at most, so that prefixes and numbers still fit.
const LONGEST: usize = 120;

impl Names {
    /// Names with one that is always there.
    pub(crate) fn with(name: &str) -> Self {
        Names { taken: BTreeSet::from([name.to_owned()]), next: BTreeMap::new() }
    }

    /// A name for `wanted` that nobody has: letters, digits and `_`, not beginning with a digit.
    pub(crate) fn give(&mut self, wanted: &str) -> String {
        let plain = plain(wanted);
        if self.taken.insert(plain.clone()) {
            return plain;
        }
        let n = self.next.entry(plain.clone()).or_insert(2);
        loop {
            let name = format!("{plain}_{n}");
            *n += 1;
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// A text as a name.
pub(crate) fn plain(wanted: &str) -> String {
    let mut name: String =
        wanted.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    name.truncate(LONGEST);
    if name.chars().next().is_none_or(|c| c.is_ascii_digit()) {
        name.insert(0, '_');
    }
    name
}
