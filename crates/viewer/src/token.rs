//! Tokens: words that nobody can guess, for programs of this machine that may speak to a server.

/// Bytes of a token; twice as many hexadecimal digits.
const TOKEN_BYTES: usize = 16;

/// A new token: 128 random bits.
pub fn new() -> std::io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Whether two texts are the same, in a time that does not tell where they differ.
pub fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |d, (a, b)| d | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_long_and_differ() {
        let (a, b) = (new().expect("random"), new().expect("random"));
        assert_eq!(a.len(), 32);
        assert_ne!(a, b);
        assert!(same(&a, &a) && !same(&a, &b) && !same(&a, &a[1..]));
    }
}
