//! Punched cards: the data items of list-directed input, one after the other.
//!
//! PL/1 reads a stream of items, separated by blanks, commas or the ends of cards: numbers, bits `'1'B`, and strings
//! in apostrophes, in which two apostrophes stand for one. A string may go on from card to card. We also skip remarks
//! `/* … */` between items, which the original would not have.

use super::DeckError;

/// Columns of a card; what is punched up to the last goes on in the first of the next.
const COLUMNS: usize = 80;

/// A place on a card, both from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Line of the file.
    pub card: usize,
    /// Character of the line.
    pub column: usize,
}

/// The text of a string and where its characters are punched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) text: String,
    /// (byte, place) of the beginning of each run on one card.
    runs: Vec<(usize, Place)>,
}

impl Text {
    /// The place of a byte of the text.
    pub(super) fn place(&self, byte: usize) -> Place {
        let run = self.runs.iter().rev().find(|run| run.0 <= byte).or(self.runs.first());
        let Some(&(start, place)) = run else { return Place::default() };
        // Escaped apostrophes apart, a character of text is one on the card.
        let end = byte.min(self.text.len());
        let count = self.text.get(start..end).map_or(0, |t| t.chars().count());
        Place { card: place.card, column: place.column + count }
    }

    /// A part of the text, with its places.
    pub(super) fn slice(&self, from: usize, to: usize) -> Text {
        let mut runs = vec![(0, self.place(from))];
        runs.extend(self.runs.iter().filter(|r| r.0 > from && r.0 < to).map(|r| (r.0 - from, r.1)));
        Text { text: self.text.get(from..to).unwrap_or_default().to_owned(), runs }
    }
}

/// A data item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Number(i64),
    Bit(bool),
    /// `'11'B`: a bit with a second one set.
    TwoBits,
    Text(Text),
}

impl Item {
    fn what(&self) -> String {
        match self {
            Self::Number(n) => format!("the number {n}"),
            Self::Bit(b) => format!("the bit '{}'B", u8::from(*b)),
            Self::TwoBits => "the bits '11'B".to_owned(),
            Self::Text(t) => format!("the string '{}'", short(&t.text)),
        }
    }
}

/// The beginning of a long text.
pub(super) fn short(text: &str) -> String {
    let mut short: String = text.chars().take(24).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// The items of a deck, read one by one.
pub(super) struct Cards<'a> {
    /// All characters with their places.
    characters: Vec<(char, Place)>,
    at: usize,
    end: Place,
    text: std::marker::PhantomData<&'a str>,
}

/// Cards on which something is punched beyond the last column.
pub(super) fn too_long(text: &str) -> Vec<DeckError> {
    let long = |(i, line): (usize, &str)| {
        let columns = line.trim_end().chars().count();
        let place = Place { card: i + 1, column: COLUMNS + 1 };
        (columns > COLUMNS).then(|| {
            let message = format!(
                "a card has {COLUMNS} columns, this one {columns}: go on on the next card (a string goes on in its column 1)"
            );
            DeckError::new(place, message)
        })
    };
    text.lines().enumerate().filter_map(long).collect()
}

impl<'a> Cards<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut characters = Vec::with_capacity(text.len());
        let mut end = Place { card: 1, column: 1 };
        for (i, line) in text.lines().enumerate() {
            let mut column = 0;
            for c in line.chars() {
                column += 1;
                characters.push((c, Place { card: i + 1, column }));
            }
            end = Place { card: i + 1, column: column + 1 };
            // The rest of a card is blank.
            if column < COLUMNS {
                characters.push((' ', end));
            }
        }
        Self { characters, at: 0, end, text: std::marker::PhantomData }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.characters.get(self.at + ahead).map(|c| c.0)
    }

    fn place(&self) -> Place {
        self.characters.get(self.at).map_or(self.end, |c| c.1)
    }

    fn skip(&mut self) -> Result<(), DeckError> {
        while let Some(c) = self.peek(0) {
            if c.is_whitespace() || c == ',' {
                self.at += 1;
            } else if c == '/' && self.peek(1) == Some('*') {
                let start = self.place();
                self.at += 2;
                while !(self.peek(0) == Some('*') && self.peek(1) == Some('/')) {
                    if self.peek(0).is_none() {
                        return Err(DeckError::new(start, "the remark has no end */"));
                    }
                    self.at += 1;
                }
                self.at += 2;
            } else {
                break;
            }
        }
        Ok(())
    }

    /// The next item and its place; none at the end.
    fn next(&mut self) -> Result<Option<(Item, Place)>, DeckError> {
        self.skip()?;
        let place = self.place();
        let Some(c) = self.peek(0) else { return Ok(None) };
        match c {
            '\'' => self.string(place).map(Some),
            '0'..='9' | '+' | '-' => self.number(place).map(Some),
            '‘' | '’' | '`' | '´' | '"' => Err(DeckError::new(
                place,
                format!("{c} is no apostrophe: strings begin and end with '"),
            )),
            _ => {
                let word: String = self.characters[self.at..]
                    .iter()
                    .map(|c| c.0)
                    .take_while(|c| !c.is_whitespace() && *c != ',' && *c != '\'')
                    .collect();
                Err(DeckError::new(
                    place,
                    format!(
                        "{} is no data item: numbers, bits '0'B or '1'B, strings in apostrophes",
                        short(&word)
                    ),
                ))
            }
        }
    }

    fn number(&mut self, place: Place) -> Result<(Item, Place), DeckError> {
        let mut text = String::new();
        while let Some(c) = self.peek(0).filter(|c| !c.is_whitespace() && *c != ',' && *c != '\'') {
            text.push(c);
            self.at += 1;
        }
        // Decimal points are allowed where nothing follows them.
        let digits = text.trim_end_matches('0').strip_suffix('.').unwrap_or(&text);
        match digits.parse() {
            Ok(n) => Ok((Item::Number(n), place)),
            Err(_) => Err(DeckError::new(place, format!("{} is no whole number", short(&text)))),
        }
    }

    fn string(&mut self, place: Place) -> Result<(Item, Place), DeckError> {
        self.at += 1;
        let mut text = Text::default();
        let mut last = Place::default();
        loop {
            let here = self.place();
            match self.peek(0) {
                None => {
                    return Err(DeckError::new(
                        place,
                        "the string has no end: an apostrophe is missing",
                    ));
                }
                Some('\'') if self.peek(1) == Some('\'') => {
                    text.runs.push((text.text.len(), here));
                    text.text.push('\'');
                    self.at += 2;
                    last = Place::default();
                    continue;
                }
                Some('\'') => {
                    self.at += 1;
                    break;
                }
                Some(c) => {
                    if (here.card, here.column) != (last.card, last.column + 1) {
                        text.runs.push((text.text.len(), here));
                    }
                    text.text.push(c);
                    self.at += 1;
                }
            }
            last = here;
        }
        if text.runs.is_empty() {
            text.runs.push((0, Place { column: place.column + 1, ..place }));
        }
        if matches!(self.peek(0), Some('B' | 'b')) {
            self.at += 1;
            return match text.text.as_str() {
                "0" => Ok((Item::Bit(false), place)),
                "1" => Ok((Item::Bit(true), place)),
                "11" => Ok((Item::TwoBits, place)),
                _ => Err(DeckError::new(place, "a bit is '0'B or '1'B")),
            };
        }
        Ok((Item::Text(text), place))
    }

    fn expect(&mut self, what: &str) -> Result<(Item, Place), DeckError> {
        self.next()?.ok_or_else(|| {
            DeckError::new(self.end, format!("the deck ends here; {what} is missing"))
        })
    }

    /// A whole number from `low` to `high`, and its place.
    pub(super) fn whole(
        &mut self,
        what: &str,
        low: i64,
        high: i64,
    ) -> Result<(usize, Place), DeckError> {
        let (item, place) = self.expect(what)?;
        match item {
            Item::Number(n) if (low..=high).contains(&n) => {
                Ok((usize::try_from(n).unwrap_or_default(), place))
            }
            Item::Number(n) => {
                Err(DeckError::new(place, format!("{what} is {n}, not from {low} to {high}")))
            }
            other => {
                Err(DeckError::new(place, format!("{what} is a number, not {}", other.what())))
            }
        }
    }

    /// A bit.
    pub(super) fn bit(&mut self, what: &str) -> Result<bool, DeckError> {
        let (item, place) = self.expect(what)?;
        match item {
            Item::Bit(b) => Ok(b),
            other => Err(DeckError::new(
                place,
                format!("{what} is a bit, '0'B or '1'B, not {}", other.what()),
            )),
        }
    }

    /// A bit, or `'11'B`: whether it is set, and whether the second one is.
    pub(super) fn bits(&mut self, what: &str) -> Result<[bool; 2], DeckError> {
        let (item, place) = self.expect(what)?;
        match item {
            Item::Bit(b) => Ok([b, false]),
            Item::TwoBits => Ok([true, true]),
            other => Err(DeckError::new(
                place,
                format!(
                    "{what} is a bit, '0'B or '1'B ('11'B: in body axes), not {}",
                    other.what()
                ),
            )),
        }
    }

    /// Whether a string follows.
    pub(super) fn string_follows(&mut self) -> Result<bool, DeckError> {
        let before = self.at;
        let found = self.next();
        self.at = before;
        Ok(matches!(found?, Some((Item::Text(_), _))))
    }

    /// A string.
    pub(super) fn string_of(&mut self, what: &str) -> Result<Text, DeckError> {
        let (item, place) = self.expect(what)?;
        match item {
            Item::Text(text) => Ok(text),
            other => Err(DeckError::new(
                place,
                format!("{what} is a string in apostrophes, not {}", other.what()),
            )),
        }
    }

    /// Nothing but blanks may follow.
    pub(super) fn finish(&mut self) -> Result<(), DeckError> {
        match self.next()? {
            None => Ok(()),
            Some((item, place)) => Err(DeckError::new(
                place,
                format!(
                    "the last system ends before {}; more systems need a larger number at the deck's beginning",
                    item.what()
                ),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_of_all_kinds() {
        let mut cards = Cards::new("3, 2 '1'B 'SIN(Q(1))' /* a remark */ 'IT''S'\n'0'b");
        assert_eq!(cards.whole("N", 0, 9).unwrap().0, 3);
        assert_eq!(cards.whole("F", 0, 9).unwrap().0, 2);
        assert!(cards.bit("BI1").unwrap());
        assert_eq!(cards.string_of("E").unwrap().text, "SIN(Q(1))");
        assert_eq!(cards.string_of("E").unwrap().text, "IT'S");
        assert!(!cards.bit("BI2").unwrap());
        cards.finish().unwrap();
    }

    #[test]
    fn strings_go_on_and_keep_their_places() {
        let mut cards = Cards::new("  'Q(1)\n   + Q(2)'");
        let text = cards.string_of("E").unwrap();
        assert_eq!(text.text, "Q(1)    + Q(2)");
        assert_eq!(text.place(0), Place { card: 1, column: 4 });
        assert_eq!(text.place(10), Place { card: 2, column: 6 });
        let part = text.slice(10, 14);
        assert_eq!((part.text.as_str(), part.place(0).column), ("Q(2)", 6));
        // A full card goes on in the first column of the next.
        let full = format!("'{}\nB'", "A".repeat(79));
        let text = Cards::new(&full).string_of("E").unwrap();
        assert_eq!(text.text, format!("{}B", "A".repeat(79)));
    }

    #[test]
    fn faults_have_places() {
        let error = Cards::new("\n   'ABC").string_of("E").unwrap_err();
        assert_eq!((error.place.card, error.place.column), (2, 4));
        let error = Cards::new("1 X").finish().unwrap_err();
        assert_eq!(error.place.column, 1);
        assert!(Cards::new("‘0‘").string_of("E").unwrap_err().message.contains("apostrophe"));
        assert!(Cards::new("").whole("B", 1, 9).unwrap_err().message.contains("the deck ends"));
    }
}
