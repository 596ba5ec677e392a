//! The punched-card input of the program LAGR (1978), read as it was.
//!
//! [`read`] takes a deck, [`Deck::derive`] finds the coefficients of Lagrange's equations by the paper's equations (17),
//! (27), (30) to (37), (39) and (41), and [`Derived::print`] gives the page that the program printed: its headings, its
//! input, and every coefficient that is not zero.
//!
//! ```text
//! g_ρν q̈^ν + Γ_ρμν q̇^μ q̇^ν = Q_ρ        μ, ν = 0..f, ρ = 1..f, q⁰ = t
//! ```
//!
//! `G(MY,NY)` is g, `GAM(RHO,MY,NY)` is Γ of the first kind, `KU(MY)` is Q; `M(L)` masses, `TH(L,J,K)` Binet's tensor
//! ∫x'_j x'_k dm, `Q(0)` time, `Q`, `QP` coordinates and their rates; `FU.(1)(Q(0))` is the derivative of an unspecified
//! function `FU.(Q(0))`.
//!
//! The order of the items (figure 3 of the paper): B systems; for each N bodies, F freedoms, BI1 (`'1'B`: relative
//! motion); rotation matrix and origin of body 0; for each body, with relative motion, its reference body K, rotation
//! matrix, distance, joint points on K and on the body, or else rotation matrix and centre; BI2 and, if `'1'B`, force and
//! moment about the centre in world axes (`'11'B`, which the original has not: in body axes); the dampers, L N BI1 and its list; the springs, L N BI1 BI2 and their lists;
//! the lists for G and GAM; the lists for KU; then, which the original has not, conditions between the coordinates, each a formula that
//! is 0.
//!
//! ```
//! use gelenk_lagrange::deck;
//! // A point mass on a circle: x = R sin q, y = -R cos q.
//! let text = "1  1 1 '0'B
//! '1' '0' '0'  '0' '1' '0'  '0' '0' '1'  '0' '0' '0'
//! '1' '0' '0'  '0' '1' '0'  '0' '0' '1'  'R*SIN(Q(1))' '-R*COS(Q(1))' '0'
//! '1'B  '0' '-M(1)*GE' '0'  '0' '0' '0'
//! 0  0  0  0";
//! let deck = deck::read(text).unwrap();
//! let mut pool = gelenk_expr::Pool::new();
//! let derived = deck.derive(&mut pool).unwrap();
//! let page = derived.print();
//! assert!(page.contains("G(1,1) = M(1)*R**2"));
//! assert!(page.contains("KU(1) = -M(1)*R*GE*SIN(Q(1))"));
//! ```

mod cards;
mod derive;
mod formula;
mod functions;
mod input;
mod meaning;
mod page;
mod potential;
mod print;
mod program;

use gelenk_expr::Pool;

pub use cards::Place;
pub use derive::{Condition, Derived, Forces, Kinetics, Potential, SystemResult, Undetermined};
pub use potential::{ForceFunction, ForceFunctions, Source};

use cards::Cards;
use formula::{Formula, List};

/// The name of the example in the `lagr` command.
pub const EXAMPLE_NAME: &str = "system-2";
/// The example of the paper, its section 6.2: a pendulum with a sliding point mass on a guided support.
pub const EXAMPLE: &str = include_str!("../../decks/lagr-system-2.txt");

/// Every deck that the command knows by name.
pub const DECKS: [(&str, &str); 3] = [
    (EXAMPLE_NAME, EXAMPLE),
    ("loudspeaker", include_str!("../../decks/loudspeaker.txt")),
    ("pendulum-by-condition", include_str!("../../decks/pendulum-by-condition.txt")),
];

/// Most systems of a deck, bodies, and force elements of a system.
const MAX_COUNT: i64 = 10_000;
/// Most freedoms: Γ has f²(f+1)/2 entries or so.
const MAX_FREEDOMS: i64 = 200;

/// A fault of a deck.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("card {}, column {}: {message}", place.card, place.column)]
pub struct DeckError {
    /// Where.
    pub place: Place,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl DeckError {
    pub(crate) fn new(place: Place, message: impl Into<String>) -> Self {
        Self { place, message: message.into() }
    }
}

/// A deck that was read: one or more systems.
#[derive(Clone, Debug)]
pub struct Deck {
    systems: Vec<System>,
}

#[derive(Clone, Debug)]
struct System {
    /// Degrees of freedom.
    f: usize,
    relative: bool,
    /// Rotation and origin of body 0.
    ground: [[Formula; 3]; 4],
    bodies: Vec<Body>,
    dampers: Vec<Element>,
    springs: Vec<Element>,
    kinetic_lists: Vec<List>,
    force_lists: Vec<List>,
    /// What is 0 between coordinates of which there are more than freedoms.
    conditions: Vec<Formula>,
}

#[derive(Clone, Debug)]
struct Body {
    /// Reference body, with relative motion.
    reference: Option<usize>,
    /// Six rows with relative motion, else four.
    motion: Vec<[Formula; 3]>,
    /// Force and moment.
    forces: Option<[[Formula; 3]; 2]>,
    /// In body axes instead of world axes.
    in_body_axes: bool,
}

/// A damper or a spring between bodies l and n.
#[derive(Clone, Debug)]
struct Element {
    l: usize,
    n: usize,
    first: Option<List>,
    second: Option<List>,
}

/// Reads a deck: cards of 80 columns. All faults of formulas come back together; a fault in the order of the items ends the reading.
pub fn read(text: &str) -> Result<Deck, Vec<DeckError>> {
    let long = cards::too_long(text);
    if !long.is_empty() {
        return Err(long);
    }
    let mut reader = Reader { cards: Cards::new(text), errors: Vec::new() };
    let deck = match reader.deck() {
        Ok(deck) => deck,
        Err(error) => {
            reader.errors.push(error);
            return Err(reader.errors);
        }
    };
    if !reader.errors.is_empty() {
        return Err(reader.errors);
    }
    // Names and subscripts are checked where the formulas get their meaning.
    let errors = deck.check();
    if errors.is_empty() { Ok(deck) } else { Err(errors) }
}

impl Deck {
    /// Number of systems.
    pub fn n_systems(&self) -> usize {
        self.systems.len()
    }

    fn check(&self) -> Vec<DeckError> {
        self.systems
            .iter()
            .filter_map(|system| input::Input::new(&mut Pool::new(), system).err())
            .collect()
    }

    /// The coefficients of the equations of motion of every system.
    pub fn derive(&self, pool: &mut Pool) -> Result<Derived, Vec<DeckError>> {
        Derived::new(pool, &self.systems).map_err(|e| vec![e])
    }
}

struct Reader<'a> {
    cards: Cards<'a>,
    errors: Vec<DeckError>,
}

impl Reader<'_> {
    fn deck(&mut self) -> Result<Deck, DeckError> {
        let (count, _) = self.cards.whole("B, the number of systems,", 1, MAX_COUNT)?;
        let mut systems = Vec::new();
        for _ in 0..count {
            systems.push(self.system()?);
        }
        self.cards.finish()?;
        Ok(Deck { systems })
    }

    /// A formula; a fault in it does not end the reading.
    fn formula(&mut self, what: &str) -> Result<Formula, DeckError> {
        let text = self.cards.string_of(what)?;
        match formula::formula(&text) {
            Ok(formula) => Ok(formula),
            Err(error) => {
                self.errors.push(error);
                Ok(Formula { parts: Vec::new(), text: String::new(), place: text.place(0) })
            }
        }
    }

    fn list(&mut self, what: &str) -> Result<List, DeckError> {
        let text = self.cards.string_of(what)?;
        match formula::list(&text) {
            Ok(list) => Ok(list),
            Err(error) => {
                self.errors.push(error);
                Ok(List { pairs: Vec::new(), text: String::new() })
            }
        }
    }

    fn row(&mut self, what: &str) -> Result<[Formula; 3], DeckError> {
        Ok([self.formula(what)?, self.formula(what)?, self.formula(what)?])
    }

    fn system(&mut self) -> Result<System, DeckError> {
        let (n, _) = self.cards.whole("N, the number of bodies,", 1, MAX_COUNT)?;
        let (f, _) = self.cards.whole("F, the number of freedoms,", 1, MAX_FREEDOMS)?;
        let relative = self.cards.bit("BI1")?;
        let matrix = "an entry of the rotation matrix of body 0";
        let ground = [
            self.row(matrix)?,
            self.row(matrix)?,
            self.row(matrix)?,
            self.row("a coordinate of the origin of body 0")?,
        ];
        let mut bodies = Vec::new();
        for l in 1..=n {
            bodies.push(self.body(l, relative)?);
        }
        let dampers = self.elements("dampers", n, false)?;
        let springs = self.elements("springs", n, true)?;
        let kinetic_lists = self.lists("G and GAM")?;
        let force_lists = self.lists("KU")?;
        let mut conditions = Vec::new();
        while self.cards.string_follows()? {
            conditions.push(self.formula("a condition")?);
        }
        Ok(System {
            f,
            relative,
            ground,
            bodies,
            dampers,
            springs,
            kinetic_lists,
            force_lists,
            conditions,
        })
    }

    fn body(&mut self, l: usize, relative: bool) -> Result<Body, DeckError> {
        let last = i64::try_from(l - 1).unwrap_or_default();
        let reference = if relative {
            Some(self.cards.whole(&format!("K, the reference body of body {l},"), 0, last)?.0)
        } else {
            None
        };
        let names: &[&str] = if relative {
            &[
                "relative rotation matrix",
                "relative rotation matrix",
                "relative rotation matrix",
                "distance",
                "joint point on K",
                "joint point",
            ]
        } else {
            &["rotation matrix", "rotation matrix", "rotation matrix", "centre"]
        };
        let mut motion = Vec::with_capacity(names.len());
        for name in names {
            motion.push(self.row(&format!("an entry of body {l}'s {name}"))?);
        }
        let [acts, in_body_axes] = self.cards.bits(&format!("BI2 of body {l}"))?;
        let forces = if acts {
            let force = self.row(&format!("a component of the force on body {l}"))?;
            Some([force, self.row(&format!("a component of the moment on body {l}"))?])
        } else {
            None
        };
        Ok(Body { reference, motion, forces, in_body_axes })
    }

    fn elements(&mut self, what: &str, n: usize, two: bool) -> Result<Vec<Element>, DeckError> {
        let (count, _) = self.cards.whole(&format!("RHO, the number of {what},"), 0, MAX_COUNT)?;
        let last = i64::try_from(n).unwrap_or_default();
        let mut elements = Vec::new();
        for _ in 0..count {
            let (l, _) = self.cards.whole("L, the first body,", 0, last)?;
            let (other, place) = self.cards.whole("N, the second body,", 0, last)?;
            if l == other {
                self.errors.push(DeckError::new(
                    place,
                    format!("one of the {what} has both ends on body {l}"),
                ));
            }
            let first = self.cards.bit("BI1")?;
            let second = two && self.cards.bit("BI2")?;
            let first = if first { Some(self.list("the replacement list")?) } else { None };
            let second =
                if second { Some(self.list("the second replacement list")?) } else { None };
            elements.push(Element { l, n: other, first, second });
        }
        Ok(elements)
    }

    fn lists(&mut self, what: &str) -> Result<Vec<List>, DeckError> {
        let (count, _) = self.cards.whole(
            &format!("K, the number of replacement lists for {what},"),
            0,
            MAX_COUNT,
        )?;
        (0..count).map(|_| self.list(&format!("a replacement list for {what}"))).collect()
    }
}
