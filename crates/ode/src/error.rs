//! What can go wrong.

use crate::system::Failure;

/// Why an integration ended before its time.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system gave up.
    #[error("t = {t}: {message}")]
    System {
        /// Where.
        t: f64,
        /// Its words.
        message: String,
    },
    /// The right-hand side has no value at the start of a step.
    #[error("t = {t}: the right-hand side has no finite value here")]
    NoValue {
        /// Where.
        t: f64,
    },
    /// No step is short enough: a singularity, or a tolerance below the rounding error.
    #[error("t = {t}: the step fell to {h:.1e}; a singularity, or too small a tolerance")]
    StepTooSmall {
        /// Where.
        t: f64,
        /// The step that was refused.
        h: f64,
    },
    /// [`Options::max_steps`](crate::Options::max_steps) are spent.
    #[error("t = {t}: {steps} steps are spent")]
    TooManySteps {
        /// Where.
        t: f64,
        /// How many steps were tried.
        steps: usize,
    },
    /// Many steps together went less far than a single one before, and the end is out of reach at their pace: a singularity, or a right-hand side that is not smooth.
    #[error(
        "t = {t}: steps became ever shorter: the last {tries} tries went {went:.1e} together, where a single step was {longest:.1e} long before"
    )]
    Crawls {
        /// Where.
        t: f64,
        /// How many tries were looked at.
        tries: usize,
        /// How far they went together.
        went: f64,
        /// The longest step before.
        longest: f64,
    },
    /// An option makes no sense.
    #[error("{0}")]
    BadOption(String),
    /// Dense output was asked for outside the last step.
    #[error("t = {t} is outside the last step, {from} to {to}")]
    OutsideStep {
        /// The time asked for.
        t: f64,
        /// Start of the last step.
        from: f64,
        /// Its end.
        to: f64,
    },
}

impl Error {
    /// A failure that no shorter step can heal.
    pub(crate) fn fatal(failure: Failure, t: f64) -> Self {
        match failure {
            Failure::Domain => Self::NoValue { t },
            Failure::Stop(message) => Self::System { t, message },
        }
    }
}
