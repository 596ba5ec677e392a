//! What can be wrong with a shape.

/// A shape that cannot take part in contact.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CollideError {
    /// A shape of a moving body that has an outside only where it is held in space.
    #[error(
        "body `{body}`, shape {shape}: a {what} is for fixed bodies; hold the body with `fixed = true` or give it another shape"
    )]
    NeedsFixedBody {
        /// Name of the body.
        body: String,
        /// Number of the shape on it, from 1.
        shape: usize,
        /// The kind of shape.
        what: &'static str,
    },
    /// A shape without an inside or with numbers that are no lengths.
    #[error("body `{body}`, shape {shape}: {reason}")]
    Degenerate {
        /// Name of the body.
        body: String,
        /// Number of the shape on it, from 1.
        shape: usize,
        /// What is wrong.
        reason: String,
    },
}
