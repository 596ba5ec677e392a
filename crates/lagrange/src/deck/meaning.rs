//! What formulas mean: names of the program, subscripts, functions.

use gelenk_expr::{Comparison, Expr, Func, Pool};

use super::DeckError;
use super::cards::Place;
use super::formula::{Formula, Known, List, Part};
use super::functions::{Functions, parameter};

/// Variables of the program that hold values of its own, section 6.3 of the paper; a deck must not use their names.
const RESERVED: [&str; 20] = [
    "AB1", "AB2", "POT", "GAM1", "G", "G1", "KU", "KU1", "SUB", "SUS", "E", "I", "J", "I1", "K1",
    "RHO", "MY", "NY", "F", "GAM",
];
/// Counters of the program; only within the parts of the deck where they have a value.
const COUNTERS: [&str; 3] = ["L", "N", "K"];
/// Largest n of n!.
const MAX_FACTORIAL: i64 = 500;

/// A rotation matrix and a position: rows 1 to 3 are the body's axes in world components, row 4 is its centre.
pub(super) type Motion = [[Expr; 3]; 4];

/// What names stand for at a place of the deck.
pub(super) struct Scope<'a> {
    pub(super) pool: &'a mut Pool,
    pub(super) functions: &'a mut Functions,
    /// Number of freedoms.
    pub(super) f: usize,
    /// Bodies whose motion is known, from 0.
    pub(super) motions: &'a [Motion],
    /// E(I, J) as last read.
    pub(super) entries: &'a [[Option<Expr>; 3]; 6],
    /// L, N, K where they are known.
    pub(super) counters: [Option<usize>; 3],
}

/// What a replacement list replaces.
#[derive(Clone, Debug)]
pub(super) enum Replacement {
    /// An expression by another.
    Expression(Expr, Expr),
    /// A function by an expression in $(1), $(2), …
    Function(String, Expr),
}

/// The replacements, one after the other.
pub(super) fn replace(
    pool: &mut Pool,
    functions: &mut Functions,
    e: Expr,
    list: &[Replacement],
) -> Expr {
    list.iter().fold(e, |e, replacement| match replacement {
        Replacement::Expression(from, to) => functions.substitute(pool, e, *from, *to),
        Replacement::Function(name, value) => functions.specify(pool, e, name, *value),
    })
}

impl Scope<'_> {
    /// The replacements that a list means.
    pub(super) fn list(&mut self, list: &List) -> Result<Vec<Replacement>, DeckError> {
        let mut result = Vec::with_capacity(list.pairs.len());
        for (what, by) in &list.pairs {
            if let [(Part::Every(name), _)] = what.parts.as_slice() {
                result.push(Replacement::Function(name.clone(), self.value(by, true)?));
                continue;
            }
            let from = self.value(what, false)?;
            if self.pool.as_number(from).is_some() {
                let message =
                    format!("{} is a number and cannot be replaced", super::formula::quoted(what));
                return Err(DeckError::new(what.place, message));
            }
            result.push(Replacement::Expression(from, self.value(by, false)?));
        }
        Ok(result)
    }

    /// The expression that a formula means.
    pub(super) fn formula(&mut self, formula: &Formula) -> Result<Expr, DeckError> {
        self.value(formula, false)
    }

    fn value(&mut self, formula: &Formula, parameters: bool) -> Result<Expr, DeckError> {
        let mut values: Vec<Expr> = Vec::with_capacity(formula.parts.len());
        for (part, place) in &formula.parts {
            let place = *place;
            let of = |i: &usize| values[*i];
            let value = match part {
                Part::Number(text) => {
                    let text = text.trim_end_matches('.');
                    let text =
                        if text.starts_with('.') { format!("0{text}") } else { text.to_owned() };
                    self.pool
                        .parse(&text)
                        .map_err(|e| DeckError::new(place, format!("{text}: {}", e.message)))?
                }
                Part::E => Expr::E,
                Part::Pi => Expr::PI,
                Part::Neg(a) => self.pool.neg(of(a)),
                Part::Add(a, b) => self.pool.add(&[of(a), of(b)]),
                Part::Sub(a, b) => self.pool.sub(of(a), of(b)),
                Part::Mul(a, b) => self.pool.mul(&[of(a), of(b)]),
                Part::Div(a, b) => {
                    if of(b) == Expr::ZERO {
                        return Err(DeckError::new(place, "division by zero"));
                    }
                    self.pool.div(of(a), of(b))
                }
                Part::Pow(a, b) if of(a) == Expr::E => self.pool.func(Func::Exp, &[of(b)]),
                Part::Pow(a, b) => self.pool.pow(of(a), of(b)),
                Part::Call(known, arguments) => {
                    let arguments: Vec<Expr> = arguments.iter().map(of).collect();
                    self.call(*known, &arguments, place)?
                }
                Part::Function(name, orders, arguments) => {
                    let arguments: Vec<Expr> = arguments.iter().map(of).collect();
                    self.functions.symbol(self.pool, name, orders.clone(), arguments)
                }
                Part::Every(name) => {
                    let message = format!(
                        "{name}.($) stands alone and first in a pair of a replacement list"
                    );
                    return Err(DeckError::new(place, message));
                }
                Part::Parameter(k) if parameters => parameter(self.pool, *k),
                Part::Parameter(k) => {
                    let message = format!("$({k}) has a meaning only where F.($) is replaced");
                    return Err(DeckError::new(place, message));
                }
                Part::Name(name, subscripts) => {
                    let subscripts: Vec<Expr> = subscripts.iter().map(of).collect();
                    self.name(name, &subscripts, place)?
                }
            };
            values.push(value);
        }
        values.pop().ok_or_else(|| DeckError::new(formula.place, "an empty formula"))
    }

    fn name(&mut self, name: &str, subscripts: &[Expr], place: Place) -> Result<Expr, DeckError> {
        let error = |message: String| Err(DeckError::new(place, message));
        if subscripts.is_empty() {
            if let Some(k) = COUNTERS.iter().position(|c| *c == name) {
                return match self.counters[k] {
                    Some(n) => Ok(self.pool.num(i64::try_from(n).unwrap_or_default())),
                    None => error(format!(
                        "{name} is a counter of the program without a value here; take another name"
                    )),
                };
            }
            if RESERVED.contains(&name) {
                return error(format!("{name} is a variable of the program; take another name"));
            }
            return Ok(self.pool.symbol(name));
        }
        let mut numbers = Vec::with_capacity(subscripts.len());
        for &s in subscripts {
            let number = self.pool.as_rational(s).and_then(gelenk_expr::Rational::to_i64);
            let number = number.and_then(|n| usize::try_from(n).ok()).filter(|n| *n < 1_000_000);
            let Some(number) = number else {
                let text = super::print::formac(&self.pool.display(s).to_string());
                return error(format!("{name}: a subscript is {text}, not a whole number from 0"));
            };
            numbers.push(number);
        }
        match (name, numbers.as_slice()) {
            ("QP", &[0]) => return Ok(Expr::ONE),
            ("Q" | "QP", &[k]) if k <= self.f => {}
            ("Q" | "QP", &[k]) => {
                return error(format!("{name}({k}): the system has {} freedoms", self.f));
            }
            ("Q" | "QP" | "M", _) if numbers.len() != 1 => {
                return error(format!("{name} has one subscript"));
            }
            ("GAM", &[l, i, j]) => {
                if !(1..=4).contains(&i) || !(1..=3).contains(&j) {
                    return error(format!(
                        "GAM({l},{i},{j}): rows go from 1 to 4, columns from 1 to 3"
                    ));
                }
                return match self.motions.get(l) {
                    Some(motion) => Ok(motion[i - 1][j - 1]),
                    None => {
                        error(format!("GAM({l},{i},{j}): the motion of body {l} is not known yet"))
                    }
                };
            }
            ("E", &[i, j]) if (1..=6).contains(&i) && (1..=3).contains(&j) => {
                return match self.entries[i - 1][j - 1] {
                    Some(e) => Ok(e),
                    None => error(format!("E({i},{j}) has no value yet")),
                };
            }
            ("TH", &[l, j, k]) if j > k => numbers = vec![l, k, j],
            ("TH" | "XF" | "XD", _) if numbers.len() != 3 => {
                return error(format!("{name} has three subscripts"));
            }
            ("C" | "K" | "LA0", _) if numbers.len() != 2 => {
                return error(format!("{name} has two subscripts, the numbers of the bodies"));
            }
            _ if RESERVED.contains(&name) => {
                return error(format!("{name} is a variable of the program; take another name"));
            }
            _ => {}
        }
        Ok(subscripted(self.pool, name, &numbers))
    }

    fn call(&mut self, known: Known, arguments: &[Expr], place: Place) -> Result<Expr, DeckError> {
        let func = match known {
            Known::Sin => Func::Sin,
            Known::Cos => Func::Cos,
            Known::Sinh => Func::Sinh,
            Known::Cosh => Func::Cosh,
            Known::Atan => match arguments {
                // ATAN(X, Y) = arctan y/x
                [x, y] => return Ok(self.pool.func(Func::Atan2, &[*y, *x])),
                _ => Func::Atan,
            },
            Known::Atanh => Func::Atanh,
            Known::Log => Func::Log,
            Known::Log10 => Func::Log10,
            Known::Log2 => Func::Log2,
            Known::Erf => Func::Erf,
            Known::Sqrt => return Ok(self.pool.sqrt(arguments[0])),
            Known::Abs => Func::Abs,
            Known::Sign => Func::Sign,
            Known::Fac | Known::Comb => {
                let mut numbers = Vec::with_capacity(arguments.len());
                for &a in arguments {
                    let n = self.pool.as_rational(a).and_then(gelenk_expr::Rational::to_i64);
                    let Some(n) = n.filter(|n| (0..=MAX_FACTORIAL).contains(n)) else {
                        let message = format!(
                            "{} needs whole numbers from 0 to {MAX_FACTORIAL}",
                            known.name()
                        );
                        return Err(DeckError::new(place, message));
                    };
                    numbers.push(n);
                }
                return self.factorials(known, &numbers, place);
            }
            Known::Step => {
                // 1 where e1 <= e2 <= e3, else 0.
                let (a, b, c) = (arguments[0], arguments[1], arguments[2]);
                let inner = self.pool.if_else(Comparison::LessEqual, b, c, Expr::ONE, Expr::ZERO);
                return Ok(self.pool.if_else(Comparison::LessEqual, a, b, inner, Expr::ZERO));
            }
        };
        Ok(self.pool.func(func, &arguments[..1]))
    }

    /// n!, and n!/(n₁! … n_k! (n - Σ nᵢ)!).
    fn factorials(
        &mut self,
        known: Known,
        numbers: &[i64],
        place: Place,
    ) -> Result<Expr, DeckError> {
        let mut factorial = |n: i64| {
            (2..=n).fold(Expr::ONE, |product, k| {
                let k = self.pool.num(k);
                self.pool.mul(&[product, k])
            })
        };
        let whole = factorial(numbers[0]);
        if known == Known::Fac {
            return Ok(whole);
        }
        let rest = numbers[0] - numbers[1..].iter().sum::<i64>();
        if rest < 0 {
            return Err(DeckError::new(place, "COMB: the parts are more than the whole"));
        }
        let mut below = vec![factorial(rest)];
        below.extend(numbers[1..].iter().map(|&n| factorial(n)));
        let below = self.pool.mul(&below);
        Ok(self.pool.div(whole, below))
    }
}

/// Declares the parameters of a formula, so that products show them before the coordinates.
pub(super) fn declare(pool: &mut Pool, formula: &Formula) {
    for (part, _) in &formula.parts {
        let Part::Name(name, subscripts) = part else { continue };
        if RESERVED.contains(&name.as_str()) || matches!(name.as_str(), "Q" | "QP") {
            continue;
        }
        let numbers: Option<Vec<usize>> = subscripts
            .iter()
            .map(|&s| match &formula.parts[s].0 {
                Part::Number(n) => n.parse().ok(),
                _ => None,
            })
            .collect();
        match numbers {
            Some(n) if n.is_empty() && !COUNTERS.contains(&name.as_str()) => {
                pool.symbol(name);
            }
            Some(n) if !n.is_empty() => {
                subscripted(pool, name, &n);
            }
            _ => {}
        }
    }
}

/// The symbol NAME(1,2).
pub(super) fn subscripted(pool: &mut Pool, name: &str, subscripts: &[usize]) -> Expr {
    let subscripts: Vec<String> = subscripts.iter().map(ToString::to_string).collect();
    pool.symbol(&format!("{name}({})", subscripts.join(",")))
}
