//! Laws of impact: what the coefficient of restitution ε means where several things hit at once, or friction acts.
//!
//! All three have a compression in common, which ends where nothing approaches any more, with joints closed and friction in its cone. With p_c its
//! impulse along a normal, u⁻ the approach speed before, p what is given back and u⁺ the speed of leaving after it:
//!
//! ```text
//! Poisson   p = ε p_c             the impulse given back is ε times that of compression
//! Newton    u⁺ = ε u⁻             the speed of leaving is ε times that of approach
//! Stronge   p u⁺ = ε² p_c u⁻      the work of restitution is ε² times that of compression (energetic)
//! ```
//!
//! Where one thing hits without friction, or slides in one direction throughout, they are the same. Where sliding stops or the
//! bodies are tied to others they differ; with one contact Stronge's impulse is the geometric mean of the other two. Poisson's and Newton's laws may
//! ask for more energy than there was: then the part of the restitution that keeps it is given back.
//! \[Stronge 2000\], \[Glocker, Pfeiffer 1995\].

use serde::{Deserialize, Serialize};

/// A law of impact; see the [module](self).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ImpactLaw {
    /// Impulses.
    #[default]
    Poisson,
    /// Speeds.
    Newton,
    /// Work.
    Stronge,
}

/// Names and laws.
const LAWS: [(&str, ImpactLaw); 3] = [
    ("poisson", ImpactLaw::Poisson),
    ("newton", ImpactLaw::Newton),
    ("stronge", ImpactLaw::Stronge),
];

/// Most rounds in which the impulses given back are sought. Where speeds are proportional to impulses, as of one contact that holds or slides, two are enough.
pub const MOST_ROUNDS: usize = 40;

/// The law is met within this part.
const MET: f64 = 1e-10;

/// An impulse changes by this factor at most from round to round.
const MOST_CHANGE: f64 = 4.0;

/// Something that bounces; impulses and speeds are positive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounce {
    /// ε, from 0 to 1.
    pub restitution: f64,
    /// Impulse of compression p_c, N s.
    pub compression: f64,
    /// Approach speed before the impact u⁻, m/s.
    pub approach: f64,
}

impl ImpactLaw {
    /// The names of all laws, in the model file and on the command line.
    pub const NAMES: [&str; 3] = [LAWS[0].0, LAWS[1].0, LAWS[2].0];

    /// The law of a name.
    pub fn named(name: &str) -> Option<Self> {
        LAWS.iter().find(|(own, _)| *own == name).map(|(_, law)| *law)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        LAWS.iter().find(|(_, law)| *law == self).map_or("poisson", |(name, _)| name)
    }

    /// Whether it is the usual one.
    pub fn is_usual(&self) -> bool {
        *self == ImpactLaw::default()
    }

    /// The first impulse to try: Poisson's, which that law keeps. By the others what did not approach gives nothing back.
    pub fn first(self, bounce: &Bounce) -> f64 {
        if self != ImpactLaw::Poisson && bounce.approach <= 0.0 {
            return 0.0;
        }
        bounce.restitution * bounce.compression
    }

    /// The next impulse to try where `p` made something leave with the speed `leaves`; none where the law is met. Where
    /// speeds are proportional to impulses, the second is the law's.
    pub fn next(self, bounce: &Bounce, p: f64, leaves: f64) -> Option<f64> {
        let Bounce { restitution, compression, approach } = *bounce;
        let ratio = match self {
            ImpactLaw::Poisson => return None,
            ImpactLaw::Newton => restitution * approach / leaves,
            ImpactLaw::Stronge => {
                restitution * (compression * approach / (p * leaves)).max(0.0).sqrt()
            }
        };
        if (ratio - 1.0).abs() <= MET || p == 0.0 {
            return None;
        }
        // What something else pushes along, or back, has a speed that is not its own.
        let ratio = if leaves > 0.0 && ratio.is_finite() { ratio } else { MOST_CHANGE };
        Some(p * ratio.clamp(1.0 / MOST_CHANGE, MOST_CHANGE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One contact that answers an impulse p of restitution with the speed k p, one of compression with k_c p_c.
    fn settled(law: ImpactLaw, bounce: &Bounce, k: f64) -> f64 {
        let mut p = law.first(bounce);
        for _ in 0..MOST_ROUNDS {
            match law.next(bounce, p, k * p) {
                Some(next) => p = next,
                None => return p,
            }
        }
        panic!("{law:?} does not settle");
    }

    #[test]
    fn laws_are_met_and_stronge_lies_between() {
        for (k, k_c) in [(2.0, 2.0), (1.0, 3.0), (5.0, 0.5)] {
            let bounce = Bounce { restitution: 0.6, compression: 1.5, approach: 1.5 * k_c };
            let [poisson, newton, stronge] =
                [ImpactLaw::Poisson, ImpactLaw::Newton, ImpactLaw::Stronge]
                    .map(|law| settled(law, &bounce, k));
            assert!((poisson - 0.9).abs() < 1e-12);
            assert!((k * newton - 0.6 * bounce.approach).abs() < 1e-9);
            let work = stronge * k * stronge;
            assert!((work - 0.36 * bounce.compression * bounce.approach).abs() < 1e-9);
            assert!((stronge * stronge - poisson * newton).abs() < 1e-9);
        }
    }

    #[test]
    fn names_are_those_of_the_file() {
        for name in ImpactLaw::NAMES {
            let law = ImpactLaw::named(name).expect("it has a law");
            assert_eq!(law.name(), name);
            assert_eq!(serde_json::to_value(law).expect("it writes"), name);
        }
        assert!(ImpactLaw::named("hertz").is_none());
    }
}
