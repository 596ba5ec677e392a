//! "Did you mean": the nearest of the words that would have been right.

/// Edits (insert, delete, replace, swap neighbours) that turn `a` into `b`, or `None` above `most`.
///
/// Optimal string alignment distance; one row a character of `a`.
fn distance(a: &[char], b: &[char], most: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replace = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row[j] = best;
        }
        if row.iter().min().is_some_and(|least| *least > most) {
            return None;
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().filter(|d| *d <= most)
}

/// The known word nearest to `word`, if it is near enough: a third of its letters may differ.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower: Vec<char> = word.to_lowercase().chars().take(64).collect();
    let mut best: Option<(usize, &str)> = None;
    // Many names are no help, and comparing with all of them takes long.
    for candidate in known.into_iter().take(10_000) {
        let letters: Vec<char> = candidate.to_lowercase().chars().take(64).collect();
        let longest = lower.len().max(letters.len());
        let most = best.map_or((longest / 3).max(1), |(d, _)| d.saturating_sub(1));
        if let Some(d) = distance(&lower, &letters, most)
            && d < longest
        {
            best = Some((d, candidate));
            if d == 0 {
                break;
            }
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// "did you mean `x`?", or the whole list if it is short, or `None`.
pub(crate) fn did_you_mean<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
) -> Option<String> {
    if let Some(near) = nearest(word, known.clone()) {
        return Some(format!("did you mean `{near}`?"));
    }
    let mut names: Vec<&str> = known.into_iter().take(25).collect();
    if names.is_empty() || names.len() > 24 {
        return None;
    }
    names.sort_unstable();
    let list: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
    Some(format!("known are {}", list.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_word() {
        let keys = ["mass", "density", "position", "rotation", "velocity"];
        assert_eq!(nearest("mas", keys), Some("mass"));
        assert_eq!(nearest("Mass", keys), Some("mass"));
        assert_eq!(nearest("posiiton", keys), Some("position"));
        assert_eq!(nearest("colour", keys), None);
        assert_eq!(nearest("", keys), None);
        assert_eq!(nearest("x", ["y"]), None);
    }

    #[test]
    fn distances() {
        let d = |a: &str, b: &str| {
            distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>(), 9)
        };
        assert_eq!(d("kitten", "sitting"), Some(3));
        assert_eq!(d("ab", "ba"), Some(1));
        assert_eq!(d("", "abc"), Some(3));
    }
}
