//! From expressions to statements of a language: temporaries for what is shared, in an order in which they can be computed.

use gelenk_expr::{Comparison, Expr, Func, Node, Number, Pool};
use rustc_hash::{FxHashMap, FxHashSet};

use super::share::{Kind, Sharing, Term};
use super::{Language, Program};

/// Larger nests and longer lines become temporaries.
const MAX_NEST: usize = 8;
const MAX_TEXT: usize = 120;
/// Powers up to this are products.
const MAX_PRODUCT: i64 = 64;

/// How tightly a text binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Sum,
    Product,
    Atom,
}

/// An expression as text of the language.
#[derive(Clone, Debug)]
struct Text {
    code: String,
    level: Level,
    nest: usize,
    /// The text of the opposite, where the expression has a minus sign.
    opposite: Option<(String, Level)>,
}

impl Text {
    fn atom(text: impl Into<String>) -> Self {
        Self { code: text.into(), level: Level::Atom, nest: 0, opposite: None }
    }

    /// In parentheses if it binds less tightly than that, or begins with a sign.
    fn within(&self, level: Level) -> String {
        if self.level < level || level > Level::Sum && self.code.starts_with('-') {
            format!("({})", self.code)
        } else {
            self.code.clone()
        }
    }
}

/// A group of outputs in a language.
pub(super) struct Lowering<'a> {
    pool: &'a Pool,
    language: Language,
    texts: FxHashMap<Expr, Text>,
    /// Pairs that several sums or products have in common, and their texts.
    sharing: Sharing,
    pairs: Vec<Option<Text>>,
    /// How often each part is used, and each pair.
    uses: FxHashMap<Expr, usize>,
    pair_uses: Vec<usize>,
    /// Arguments whose sine and cosine are both wanted.
    circular: FxHashSet<Expr>,
    /// Powers and roots that have a temporary: (base, exponent), exponent 0 for the root.
    powers: FxHashMap<(Expr, i64), String>,
    count: usize,
    /// Temporaries: names and statements.
    statements: Vec<(Vec<String>, String)>,
    /// The statements that the outputs need.
    pub(super) text: String,
    pub(super) outputs: Vec<String>,
    /// Which inputs are used.
    pub(super) used: Vec<bool>,
    /// Functions that the code calls, among others.
    pub(super) needs: Vec<String>,
    /// Operations of the statements and the outputs.
    pub(super) operations: usize,
}

impl<'a> Lowering<'a> {
    /// The statements for some outputs; else the name of a variable that is no input.
    pub(super) fn new(
        pool: &'a Pool,
        program: &Program,
        names: &[String],
        language: Language,
        outputs: &[Expr],
    ) -> Result<Self, String> {
        let mut lowering = Self {
            pool,
            language,
            texts: FxHashMap::default(),
            sharing: Sharing::default(),
            pairs: Vec::new(),
            uses: FxHashMap::default(),
            pair_uses: Vec::new(),
            circular: FxHashSet::default(),
            powers: FxHashMap::default(),
            count: 0,
            statements: Vec::new(),
            text: String::new(),
            outputs: Vec::new(),
            used: vec![false; names.len()],
            needs: Vec::new(),
            operations: 0,
        };
        let order = pool.subexpressions(outputs);
        lowering.sharing = Sharing::new(pool, &order);
        lowering.pairs = vec![None; lowering.sharing.pairs.len()];
        lowering.count_uses(&order, outputs);
        let inputs: FxHashMap<Expr, usize> =
            program.inputs.iter().enumerate().rev().map(|(i, (_, e))| (*e, i)).collect();
        for e in order {
            let text = match inputs.get(&e) {
                Some(&i) => Text::atom(names[i].clone()),
                None => lowering.expression(e)?,
            };
            let text = lowering.kept(e, text);
            lowering.texts.insert(e, text);
        }
        lowering.outputs = outputs.iter().map(|e| lowering.texts[e].code.clone()).collect();
        lowering.keep_what_is_needed(names);
        let outputs = lowering.outputs.iter().map(|text| operations(text)).sum::<usize>();
        lowering.operations = operations(&lowering.text) + outputs;
        Ok(lowering)
    }

    /// Statements that no output needs are left out; what remains tells which inputs and functions are used.
    fn keep_what_is_needed(&mut self, names: &[String]) {
        let mut needed: FxHashSet<&str> = self.outputs.iter().flat_map(|o| words(o)).collect();
        let mut kept = Vec::new();
        for (temporaries, statement) in self.statements.iter().rev() {
            if temporaries.iter().any(|t| needed.contains(t.as_str())) {
                needed.extend(words(statement));
                kept.push(statement.as_str());
            }
        }
        self.text = kept.into_iter().rev().collect();
        self.used = names.iter().map(|n| needed.contains(n.as_str())).collect();
        self.needs =
            FUNCTIONS.iter().filter(|f| needed.contains(**f)).map(|f| (*f).to_owned()).collect();
    }

    fn count_uses(&mut self, order: &[Expr], outputs: &[Expr]) {
        let mut circular: FxHashMap<Expr, u8> = FxHashMap::default();
        for &e in outputs {
            *self.uses.entry(e).or_default() += 1;
        }
        self.pair_uses = vec![0; self.sharing.pairs.len()];
        let Sharing { pairs, terms } = &self.sharing;
        let (uses, pair_uses) = (&mut self.uses, &mut self.pair_uses);
        let mut count = |term: &Term| match term {
            Term::Part(e) => *uses.entry(*e).or_default() += 1,
            Term::Pair(k) => pair_uses[*k] += 1,
        };
        pairs.iter().flat_map(|(_, pair)| pair).for_each(&mut count);
        for &e in order {
            if self.pool.is_constant(e) {
                continue;
            }
            match terms.get(&e) {
                Some(terms) => terms.iter().for_each(&mut count),
                None => self.pool.parts(e).iter().for_each(|part| count(&Term::Part(*part))),
            }
            if let Node::Apply(func @ (Func::Sin | Func::Cos), [argument]) = self.pool.node(e) {
                *circular.entry(*argument).or_default() |= if func == Func::Sin { 1 } else { 2 };
            }
        }
        // Divisors have no temporary of their own; what they divide by has one.
        for &e in order {
            if let Node::Power(base, exponent) = self.pool.node(e)
                && self.pool.as_number(exponent).is_some_and(Number::is_negative)
                && self.uses.get(&e).copied().unwrap_or(0) > 1
            {
                *self.uses.entry(base).or_default() += 1;
            }
        }
        self.circular = circular.into_iter().filter(|c| c.1 == 3).map(|c| c.0).collect();
    }

    /// The text itself, or a temporary for it.
    fn kept(&mut self, e: Expr, text: Text) -> Text {
        let shared = self.uses.get(&e).copied().unwrap_or(0) > 1;
        let large = text.nest >= MAX_NEST || text.code.len() > MAX_TEXT;
        let constant = self.pool.is_constant(e);
        if constant || text.level == Level::Atom && text.nest == 0 || !(shared || large) {
            return text;
        }
        Text::atom(self.temporary(&text.code))
    }

    fn temporary(&mut self, text: &str) -> String {
        self.count += 1;
        let name = format!("t{}", self.count);
        let mut statement = String::new();
        self.language.assign(&mut statement, &name, text);
        self.statements.push((vec![name.clone()], statement));
        name
    }

    fn expression(&mut self, e: Expr) -> Result<Text, String> {
        let pool = self.pool;
        if let Some(x) = pool.as_f64(e) {
            return Ok(self.number(x));
        }
        Ok(match pool.node(e) {
            Node::Number(n) => self.number(n.to_f64()),
            Node::Constant(c) => self.number(c.value()),
            Node::Symbol(_) | Node::OfTime { .. } => return Err(pool.display(e).to_string()),
            Node::Sum(_) => {
                let terms = self.terms(e);
                self.sum(&terms)
            }
            Node::Product(_) => {
                let factors = self.terms(e);
                self.product(&factors)
            }
            Node::Power(base, exponent) => {
                if pool.as_number(exponent).is_some() {
                    self.product(&[Term::Part(e)])
                } else {
                    let (a, b) = (self.texts[&base].clone(), self.texts[&exponent].clone());
                    let text = self.language.call("pow", &[&a.code, &b.code]);
                    nested(text, Level::Atom, &[&a, &b])
                }
            }
            Node::Apply(func, arguments) => self.apply(func, arguments),
            Node::If(comparison, parts) => {
                let [a, b, x, y] = parts.map(|p| self.texts[&p].clone());
                let sign = match comparison {
                    Comparison::Less | Comparison::Greater => "<",
                    Comparison::LessEqual | Comparison::GreaterEqual => "<=",
                };
                let text = self.language.choice(&a.code, sign, &b.code, &x.code, &y.code);
                nested(text, Level::Atom, &[&a, &b, &x, &y])
            }
        })
    }

    fn number(&self, x: f64) -> Text {
        let text = self.language.number(x);
        let level = if x < 0.0 { Level::Product } else { Level::Atom };
        let opposite = (x < 0.0).then(|| (self.language.number(-x), Level::Atom));
        Text { code: text, level, nest: 0, opposite }
    }

    /// The terms of a sum or product: its numbers, then the others, common pairs taken out.
    fn terms(&self, e: Expr) -> Vec<Term> {
        let parts = self.pool.parts(e);
        let Some(shared) = self.sharing.terms.get(&e) else {
            return parts.iter().map(|part| Term::Part(*part)).collect();
        };
        let numbers = parts.iter().filter(|part| self.pool.is_constant(**part));
        let mut terms: Vec<Term> = numbers.map(|part| Term::Part(*part)).collect();
        shared.iter().for_each(|term| self.open(*term, &mut terms));
        terms
    }

    /// A pair that stands in one place only, within a larger one, is written out there.
    fn open(&self, term: Term, terms: &mut Vec<Term>) {
        match term {
            Term::Pair(k) if self.pair_uses[k] < 2 => {
                self.sharing.pairs[k].1.iter().for_each(|part| self.open(*part, terms));
            }
            _ => terms.push(term),
        }
    }

    /// The text of a term; a pair that several hold becomes a temporary.
    fn term(&mut self, term: Term) -> Text {
        let k = match term {
            Term::Part(e) => return self.texts[&e].clone(),
            Term::Pair(k) => k,
        };
        if let Some(text) = &self.pairs[k] {
            return text.clone();
        }
        let (kind, pair) = self.sharing.pairs[k];
        let mut terms = Vec::new();
        pair.iter().for_each(|part| self.open(*part, &mut terms));
        let text = match kind {
            Kind::Sum => self.sum(&terms),
            Kind::Product => self.product(&terms),
        };
        let text = Text::atom(self.temporary(&text.code));
        self.pairs[k] = Some(text.clone());
        text
    }

    fn sum(&mut self, terms: &[Term]) -> Text {
        let (mut number, mut numbers) = (0.0, 0);
        let mut texts = Vec::with_capacity(terms.len());
        for &term in terms {
            if let Term::Part(e) = term
                && let Some(x) = self.pool.as_f64(e)
            {
                number += x;
                numbers += 1;
            } else {
                texts.push(self.term(term));
            }
        }
        if numbers > 0 {
            texts.push(self.number(number));
        }
        let first = texts.iter().position(|t| t.opposite.is_none()).unwrap_or(0);
        let mut text = texts[first].code.clone();
        for (i, term) in texts.iter().enumerate().filter(|t| t.0 != first) {
            debug_assert!(i != first);
            match &term.opposite {
                Some((opposite, level)) => {
                    let (open, close) = if *level == Level::Sum { ("(", ")") } else { ("", "") };
                    text = format!("{text} - {open}{opposite}{close}");
                }
                None => text = format!("{text} + {}", term.code),
            }
        }
        let parts: Vec<&Text> = texts.iter().collect();
        nested(text, Level::Sum, &parts)
    }

    /// Factors from left to right, the coefficient first, divided by the product of the divisors.
    fn product(&mut self, factors: &[Term]) -> Text {
        let mut coefficient = 1.0;
        let (mut above, mut below) = (Vec::new(), Vec::new());
        let mut nest = 0;
        for &term in factors {
            let Term::Part(factor) = term else {
                let text = self.term(term);
                nest = nest.max(text.nest + 1);
                above.push(text.within(Level::Product));
                continue;
            };
            if let Some(x) = self.pool.as_f64(factor) {
                coefficient *= x;
                continue;
            }
            if let Node::Power(base, exponent) = self.pool.node(factor)
                && let Some(number) = self.pool.as_number(exponent)
                // A power that is shared has its temporary, unless it is this one.
                && (factors.len() == 1 || self.uses.get(&factor).copied().unwrap_or(0) <= 1 || number.is_negative())
            {
                let number = number.clone();
                let (text, inverse) = self.power(base, &number);
                nest = nest.max(1);
                if inverse { &mut below } else { &mut above }.push(text);
                continue;
            }
            let text = self.texts[&factor].clone();
            nest = nest.max(text.nest + 1);
            above.push(text.within(Level::Product));
        }
        let build = |coefficient: f64| {
            let mut text = String::new();
            if coefficient < 0.0 {
                text.push('-');
            }
            let size = coefficient.abs();
            let mut parts = above.clone();
            #[expect(clippy::float_cmp, reason = "exactly 1 is left out")]
            if size != 1.0 || parts.is_empty() {
                parts.insert(0, self.language.number(size));
            }
            text.push_str(&parts.join("*"));
            match below.as_slice() {
                [] => {}
                [one] => {
                    text.push('/');
                    text.push_str(one);
                }
                many => {
                    text.push_str("/(");
                    text.push_str(&many.join("*"));
                    text.push(')');
                }
            }
            let single = coefficient > 0.0 && parts.len() == 1 && below.is_empty();
            let level = if single { Level::Atom } else { Level::Product };
            (text, level)
        };
        let opposite = (coefficient < 0.0).then(|| build(-coefficient));
        let (text, mut level) = build(coefficient);
        // x*x is the text of one factor.
        if text.contains(['*', '/']) {
            level = Level::Product;
        }
        Text { code: text, level, nest: nest + 1, opposite }
    }

    /// base^|exponent| as a factor, and whether it divides.
    fn power(&mut self, base: Expr, exponent: &Number) -> (String, bool) {
        let inverse = exponent.is_negative();
        let size = exponent.abs();
        let doubled = size.as_rational().and_then(|r| {
            let (n, d) = r.parts()?;
            match d {
                1 => n.checked_mul(2),
                2 => Some(n),
                _ => None,
            }
        });
        let Some(doubled) = doubled.filter(|d| *d <= 2 * MAX_PRODUCT) else {
            let (base, exponent) =
                (self.texts[&base].code.clone(), self.language.number(size.to_f64()));
            return (self.language.call("pow", &[&base, &exponent]), inverse);
        };
        let (whole, half) = (doubled / 2, doubled % 2 == 1);
        let mut parts = Vec::new();
        if whole > 0 {
            parts.push(self.whole_power(base, whole));
        }
        if half {
            parts.push(self.root(base));
        }
        let text = parts.join("*");
        // A quotient by a product needs parentheses.
        (if inverse && text.contains('*') { format!("({text})") } else { text }, inverse)
    }

    fn root(&mut self, base: Expr) -> String {
        if let Some(name) = self.powers.get(&(base, 0)) {
            return name.clone();
        }
        let argument = self.texts[&base].code.clone();
        let text = self.language.call("sqrt", &[&argument]);
        let name = self.temporary(&text);
        self.powers.insert((base, 0), name.clone());
        name
    }

    /// base^n, n >= 1: squares and cubes as products, the rest by squaring.
    fn whole_power(&mut self, base: Expr, n: i64) -> String {
        let atom = self.texts[&base].clone();
        if n == 1 {
            return atom.within(Level::Product);
        }
        let name = if atom.level == Level::Atom && atom.nest == 0 {
            atom.code
        } else if let Some(name) = self.powers.get(&(base, 1)) {
            name.clone()
        } else {
            let name = self.temporary(&atom.code);
            self.powers.insert((base, 1), name.clone());
            self.texts.insert(base, Text::atom(name.clone()));
            name
        };
        match n {
            2 => format!("{name}*{name}"),
            3 => format!("{name}*{name}*{name}"),
            _ => {
                if let Some(name) = self.powers.get(&(base, n)) {
                    return name.clone();
                }
                let half = self.whole_power(base, n / 2);
                let half = if half.contains('*') {
                    let name = self.temporary(&half);
                    self.powers.insert((base, n / 2), name.clone());
                    name
                } else {
                    half
                };
                let text = if n % 2 == 0 {
                    format!("{half}*{half}")
                } else {
                    format!("{half}*{half}*{name}")
                };
                let power = self.temporary(&text);
                self.powers.insert((base, n), power.clone());
                power
            }
        }
    }

    fn apply(&mut self, func: Func, arguments: &[Expr]) -> Text {
        let texts: Vec<Text> = arguments.iter().map(|a| self.texts[a].clone()).collect();
        let parts: Vec<&Text> = texts.iter().collect();
        let first = texts[0].code.clone();
        match func {
            Func::Sin | Func::Cos if self.circular.remove(&arguments[0]) => {
                self.count += 1;
                let (sin, cos) = (format!("s{}", self.count), format!("c{}", self.count));
                let mut statement = String::new();
                self.language.sin_cos(&mut statement, &sin, &cos, &first);
                self.statements.push((vec![sin.clone(), cos.clone()], statement));
                // The other one finds its name here.
                self.powers.insert((arguments[0], -1), sin.clone());
                self.powers.insert((arguments[0], -2), cos.clone());
                Text::atom(if func == Func::Sin { sin } else { cos })
            }
            Func::Sin | Func::Cos if self.powers.contains_key(&(arguments[0], -1)) => {
                let which = if func == Func::Sin { -1 } else { -2 };
                Text::atom(self.powers[&(arguments[0], which)].clone())
            }
            Func::Min | Func::Max => {
                let name = if func == Func::Min { "min" } else { "max" };
                let rest: Vec<String> = texts[1..].iter().map(|t| t.code.clone()).collect();
                let text = rest.iter().fold(first, |a, b| self.language.call(name, &[&a, b]));
                nested(text, Level::Atom, &parts)
            }
            Func::Atan2 => {
                let text = self.language.call("atan2", &[&first, &texts[1].code]);
                nested(text, Level::Atom, &parts)
            }
            _ => {
                let text = self.language.call(func.name(), &[&first]);
                nested(text, Level::Atom, &parts)
            }
        }
    }
}

/// Every function, by the words that call it in one of the languages.
const FUNCTIONS: [&str; 28] = [
    "exp", "log", "log10", "log2", "sin", "cos", "sin_cos", "tan", "asin", "acos", "atan", "atan2",
    "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "abs", "sign", "min", "max", "step",
    "floor", "erf", "_erf", "sqrt", "pow",
];

/// Operations in a text of any of the languages: + − * / with two operands, opposites (but of numbers), calls.
fn operations(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut count, mut at) = (0, 0);
    while at < bytes.len() {
        let begin = at;
        at += 1;
        match bytes[begin] {
            b'0'..=b'9' => {
                let exponent = |at: usize| bytes[at - 1] == b'e' && b"+-".contains(&bytes[at]);
                while at < bytes.len()
                    && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'.' || exponent(at))
                {
                    at += 1;
                }
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_') {
                    at += 1;
                }
                if bytes.get(at) == Some(&b'(') {
                    count += if &text[begin..at] == "sin_cos" { 2 } else { 1 };
                }
            }
            // The sign of a number stands before it, that of a difference has blanks about it.
            b'-' if bytes.get(at).is_some_and(u8::is_ascii_digit) => {}
            b'*' | b'/' | b'+' | b'-' => count += 1,
            _ => {}
        }
    }
    count
}

/// The words of a statement.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|w| !w.is_empty())
}

fn nested(text: String, level: Level, parts: &[&Text]) -> Text {
    let nest = 1 + parts.iter().map(|p| p.nest).max().unwrap_or(0);
    Text { code: text, level, nest, opposite: None }
}
