//! What pages and server say to each other, as JSON text frames. `docs/view.md` lists it.

use serde::Deserialize;

fn one() -> u32 {
    1
}

/// A wish of a page.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Wish {
    /// Frames of a run, from one number on.
    Frames {
        /// Which run.
        run: u32,
        /// The first.
        from: u32,
        /// How many at most.
        count: u32,
        /// One in so many of them.
        #[serde(default = "one")]
        every: u32,
    },
    /// Live: run, or stand still.
    Play {
        /// Run.
        playing: bool,
    },
    /// Live: some steps, then stand still.
    Step {
        /// How many.
        count: u32,
    },
    /// Live: seconds of the model a second of the clock.
    Speed {
        /// The factor.
        value: f64,
    },
    /// Live: back to the start.
    Reset,
    /// Live: go on with another engine.
    Engine {
        /// Its name.
        name: String,
    },
    /// Live: another value of a parameter.
    Parameter {
        /// Its name.
        name: String,
        /// Its value.
        value: f64,
    },
    /// Live: take hold of a body.
    Grab {
        /// Which, by index.
        body: u32,
        /// Where, principal frame, m.
        point: [f64; 3],
        /// Where the hand is, world, m.
        target: [f64; 3],
    },
    /// Live: move the hand.
    Pull {
        /// Where to, world, m.
        target: [f64; 3],
    },
    /// Live: let go.
    Release,
    /// Run the model from its start with an engine, to lie over the motion as a ghost.
    Ghost {
        /// The engine.
        engine: String,
    },
    /// Take a ghost away.
    Drop {
        /// Which run.
        run: u32,
    },
}

/// Numbers larger than this are no places, parameters or speeds.
const LARGEST: f64 = 1e12;

impl Wish {
    /// A wish from its text; an error says what is wrong with it.
    pub fn read(text: &str) -> Result<Self, String> {
        let wish: Wish = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let fine = |list: &[f64]| list.iter().all(|x| x.is_finite() && x.abs() <= LARGEST);
        let sound = match &wish {
            Wish::Grab { point, target, .. } => fine(point) && fine(target),
            Wish::Pull { target } => fine(target),
            Wish::Speed { value } => (1e-4..=1e3).contains(value),
            Wish::Parameter { value, .. } => fine(&[*value]),
            _ => true,
        };
        if sound { Ok(wish) } else { Err("a number is out of range".to_owned()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_are_read_and_nonsense_is_refused() {
        let step = Wish::read(r#"{"type":"step","count":3}"#);
        assert_eq!(step, Ok(Wish::Step { count: 3 }));
        assert_eq!(Wish::read(r#"{"type":"reset"}"#), Ok(Wish::Reset));
        for bad in [
            "",
            "null",
            "[]",
            "{}",
            r#"{"type":"fly"}"#,
            r#"{"type":"step","count":-1}"#,
            r#"{"type":"speed","value":0}"#,
            r#"{"type":"speed","value":1e999}"#,
            r#"{"type":"pull","target":[1,2]}"#,
            r#"{"type":"pull","target":[1,2,1e300]}"#,
            r#"{"type":"step","count":3,"more":1}"#,
        ] {
            assert!(Wish::read(bad).is_err(), "{bad}");
        }
        // Depth is the reader's own limit.
        let deep = "[".repeat(100_000);
        assert!(Wish::read(&deep).is_err());
    }
}
