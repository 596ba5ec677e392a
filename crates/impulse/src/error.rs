//! Why a step could not be made.

use gelenk_natural::NoMotion;

/// A step that failed; the state is as before it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StepError {
    /// The position correction did not converge.
    #[error("row block {block}: gap {gap:.1e} after {sweeps} sweeps at t = {t} s")]
    Positions {
        /// The worst block.
        block: usize,
        /// Its gap, m or rad.
        gap: f64,
        /// Sweeps or solves done.
        sweeps: u64,
        /// Time looked at, s.
        t: f64,
    },
    /// The velocity correction did not converge.
    #[error("row block {block}: velocity error {error:.1e} after {sweeps} sweeps at t = {t} s")]
    Velocities {
        /// The worst block.
        block: usize,
        /// Its velocity error, m/s or rad/s.
        error: f64,
        /// Sweeps or solves done.
        sweeps: u64,
        /// Time, s.
        t: f64,
    },
    /// A contact did not settle.
    #[error("contact of bodies {} and {}: off by {error:.1e} after {sweeps} sweeps at t = {t} s", bodies[0], bodies[1])]
    Contact {
        /// The bodies.
        bodies: [usize; 2],
        /// How much it is off, m or m/s.
        error: f64,
        /// Sweeps or solves done.
        sweeps: u64,
        /// Time, s.
        t: f64,
    },
    /// Laws that read velocities did not settle at the end of the step.
    #[error(
        "forces that depend on velocities do not settle ({change:.1e} after {rounds} rounds) at t = {t} s"
    )]
    Forces {
        /// The body whose velocity still changes most.
        body: usize,
        /// How much it changes, m/s or rad/s.
        change: f64,
        /// Rounds done.
        rounds: u32,
        /// Time, s.
        t: f64,
    },
    /// The step makes or loses energy beyond measure: it is too long for the motion.
    #[error("{defect:.2e} J from nowhere beside {kinetic:.2e} J of kinetic energy at t = {t} s")]
    Energy {
        /// Energy that nobody accounts for, J.
        defect: f64,
        /// Kinetic energy before the step, J.
        kinetic: f64,
        /// Time at the end of the step, s.
        t: f64,
    },
    /// Joints kick: their impulses hold more energy than the bodies' size and speed explain. The step is too long for the motion.
    #[error("joints take {kick:.2e} J out of the step at t = {t} s")]
    Kick {
        /// Largest energy of the impulses at one end of the step, J.
        kick: f64,
        /// Time at the end of the step, s.
        t: f64,
    },
    /// Lasting contacts turn the motion so far that their impulses hold much of its energy. The step is too long for the motion.
    #[error("contacts turn the motion, with {through:.2e} J in a step at t = {t} s")]
    Turned {
        /// Energy that goes through normals at both ends of the step, J.
        through: f64,
        /// Time at the end of the step, s.
        t: f64,
    },
    /// Dampers throw bodies back faster than they came: they would stop them in a fraction of the step.
    #[error("dampers too strong for the step throw {thrown:.2e} J back at t = {t} s")]
    Dampers {
        /// Energy that they give where the step begins, J.
        thrown: f64,
        /// Time at the end of the step, s.
        t: f64,
    },
    /// Dry friction changes its direction, begins or ceases to hold within a step of a higher order, which cannot show that.
    #[error("dry friction changes at t = {t} s")]
    Friction {
        /// Time at the end of the step, s.
        t: f64,
    },
    /// A prescribed motion jumps.
    #[error("the motion of row block {block} jumps by {size:.3e} at t = {t} s")]
    Jump {
        /// Its block.
        block: usize,
        /// By how much, m or rad.
        size: f64,
        /// When, s.
        t: f64,
    },
    /// The motion arrives at a singular position in which no smooth motion goes on.
    #[error("no smooth motion passes the singular position {} of {} at t = {t} s: {}", why.place, why.element, why.reason)]
    NoMotion {
        /// Where, and why not.
        why: Box<NoMotion>,
        /// When it arrives, s.
        t: f64,
    },
    /// A force law gives something that is no finite number.
    #[error("force {force} is not a finite number at t = {t} s")]
    BadForce {
        /// The force element.
        force: usize,
        /// Time, s.
        t: f64,
    },
    /// A body with three different moments turns farther in a step than is followed.
    #[error(
        "body {body} turns by {turn:.1e} rad at t = {t} s; {most:.0} rad in a step are followed"
    )]
    Spin {
        /// The body.
        body: usize,
        /// Its turn over the step, rad.
        turn: f64,
        /// The most that is followed, rad.
        most: f64,
        /// Time, s.
        t: f64,
    },
    /// The step takes more tries than any step may ([`MOST_TRIES`](crate::MOST_TRIES)).
    #[error("a step takes more than {tries} tries at t = {t} s")]
    Work {
        /// Tries made.
        tries: u32,
        /// Time reached within the step, s.
        t: f64,
    },
    /// Someone asked to stop ([`Stop`](gelenk_model::run::Stop)).
    #[error("stopped within the step from t = {t} s")]
    Stopped {
        /// Time reached within the step, s.
        t: f64,
    },
    /// A body has left the numbers.
    #[error("body {body} is not finite at t = {t} s")]
    NotFinite {
        /// The first such body.
        body: usize,
        /// Time, s.
        t: f64,
    },
}
