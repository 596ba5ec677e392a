//! Names close to a misspelt one.

/// Levenshtein's distance: insertions, deletions and replacements between two words.
pub fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &cb) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// The candidate nearest to `name`, if it is near enough to be meant: at most a third of the
/// letters differ, at least one may. The first of equally near ones wins.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    // Nobody misspells a word of that length; the distance would only cost time.
    if length > 256 {
        return None;
    }
    let limit = (length / 3).max(1);
    candidates
        .into_iter()
        .filter(|c| c.chars().count() <= length + limit)
        .map(|c| (edit_distance(name, c), c))
        .filter(|&(d, c)| d <= limit && d < c.chars().count())
        .min_by_key(|&(d, _)| d)
        .map(|(_, c)| c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(edit_distance("sin", "sin"), 0);
        assert_eq!(edit_distance("sni", "sin"), 2);
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("", "abc"), 3);
    }

    #[test]
    fn only_near_names_are_suggested() {
        assert_eq!(nearest("coss", ["sin", "cos"]), Some("cos"));
        assert_eq!(nearest("banana", ["sin", "cos"]), None);
        assert_eq!(nearest("joint.elbw.angle", ["joint.elbow.angle"]), Some("joint.elbow.angle"));
    }
}
