//! Errors of this crate.

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A text is not an expression.
    #[error("equation {index}: {message}")]
    Parse {
        /// Which equation, from 1.
        index: usize,
        /// What is wrong.
        message: String,
    },
    /// An equation is no polynomial in the variables.
    #[error("equation {index}: `{part}` is no polynomial in {variables}")]
    NotPolynomial {
        /// Which equation, from 1.
        index: usize,
        /// The part that is none.
        part: String,
        /// The variables.
        variables: String,
    },
    /// A polynomial would be too large.
    #[error("equation {index}: too large to multiply out")]
    TooLarge {
        /// Which equation, from 1.
        index: usize,
    },
    /// There are more equations than variables.
    #[error("{equations} equations for {variables} variables: at most as many are meant")]
    TooManyEquations {
        /// How many equations.
        equations: usize,
        /// How many variables.
        variables: usize,
    },
    /// A vector has another length than the list of variables.
    #[error("{what}: {given} values for {variables} variables")]
    WrongLength {
        /// What was given.
        what: &'static str,
        /// How many values.
        given: usize,
        /// How many variables.
        variables: usize,
    },
    /// The point does not fulfil the equations.
    #[error("equation {index} is not fulfilled at the point given: its value is {value:e}")]
    NotOnSolution {
        /// Which equation, from 1.
        index: usize,
        /// Its value there.
        value: f64,
    },
    /// More work than allowed.
    #[error("{what} takes more than {bound} operations")]
    WorkBound {
        /// What was computed.
        what: &'static str,
        /// The bound.
        bound: usize,
    },
    /// The solutions that were sought are not isolated.
    #[error("{what} are not isolated points")]
    NotIsolated {
        /// What was sought.
        what: &'static str,
    },
    /// The curve is no traversing one: rank is lost along it, or it is not known far enough.
    #[error("the curve does not traverse the singularity: {reason}")]
    NotTraversing {
        /// Why.
        reason: String,
    },
    /// A mass that is not positive.
    #[error("`{name}` has mass {mass}; it must be above 0")]
    BadMass {
        /// The coordinate.
        name: String,
        /// Its mass.
        mass: f64,
    },
    /// The motion would start in a singular position, where its branch is not known yet.
    #[error("the start is a singular position: constraints lose rank there; start beside it")]
    SingularStart,
    /// The start of a motion violates the constraints.
    #[error("the start violates constraint {index}: {what} {value:e}")]
    BadStart {
        /// Which equation, from 1.
        index: usize,
        /// Its value or its rate.
        what: &'static str,
        /// How much.
        value: f64,
    },
    /// A singular position that no smooth motion crosses.
    #[error("t = {time}: no smooth motion crosses the singular position {place}: {reason}")]
    NoSmoothMotion {
        /// When it is met, s.
        time: f64,
        /// Where, as `x = 1, y = 0`.
        place: String,
        /// Why not.
        reason: String,
    },
    /// The integration failed.
    #[error("{0}")]
    Integration(#[from] gelenk_ode::Error),
}
