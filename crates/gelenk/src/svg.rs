//! A small SVG writer: enough for plots and film strips.

use std::fmt::Write;

/// Dark text and lines.
pub(crate) const INK: &str = "#1f2733";
/// Secondary text.
pub(crate) const FAINT: &str = "#7b8494";
/// Grid lines and borders.
pub(crate) const GRID: &str = "#e3e1da";
/// The card everything is drawn on: light, so that it reads on dark pages too.
pub(crate) const PAPER: &str = "#fdfcf9";

/// Colours of series and bodies; told apart by people who see red and green alike.
pub(crate) const COLORS: [Color; 6] = [
    Color(0x16, 0x67, 0xb0),
    Color(0xd9, 0x5f, 0x1e),
    Color(0x1b, 0x8f, 0x6a),
    Color(0x8a, 0x4d, 0xb3),
    Color(0xc2, 0x39, 0x6b),
    Color(0x9a, 0x7d, 0x0a),
];

/// Red, green, blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Color(pub(crate) u8, pub(crate) u8, pub(crate) u8);

impl Color {
    /// The colour part of the way to another; `part` from 0 to 1.
    pub(crate) fn toward(self, other: Color, part: f64) -> Color {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between two bytes"
        )]
        let mix =
            |a: u8, b: u8| (f64::from(a) + part * (f64::from(b) - f64::from(a))).round() as u8;
        Color(mix(self.0, other.0), mix(self.1, other.1), mix(self.2, other.2))
    }

    /// A light tint of it, for areas.
    pub(crate) fn tint(self) -> Color {
        self.toward(Color(0xff, 0xff, 0xff), 0.62)
    }

    /// The i-th of n colours: the named ones if they suffice, else a smooth passage through some of them.
    pub(crate) fn of(i: usize, n: usize) -> Color {
        if n <= COLORS.len() {
            return COLORS[i % COLORS.len()];
        }
        let stops = [COLORS[0], COLORS[2], COLORS[5], COLORS[1], COLORS[4], COLORS[3]];
        let place = i.min(n - 1) as f64 / (n - 1) as f64 * (stops.len() - 1) as f64;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and the number of stops"
        )]
        let stop = (place.floor() as usize).min(stops.len() - 2);
        stops[stop].toward(stops[stop + 1], place - stop as f64)
    }
}

impl std::fmt::Display for Color {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

/// A coordinate with at most two decimals; 0 for what is not finite.
pub(crate) fn number(value: f64) -> String {
    if !value.is_finite() {
        return "0".to_owned();
    }
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Text as XML shows it, without characters that XML forbids.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => {}
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// How a text stands on its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A picture being drawn. Points are in pixels, y down.
#[derive(Clone, Debug)]
pub(crate) struct Svg {
    out: String,
}

/// A point in the picture.
pub(crate) type Point = [f64; 2];

impl Svg {
    /// A card of that size with a title for those who cannot see it.
    pub(crate) fn new(width: f64, height: f64, title: &str) -> Self {
        let (w, h) = (number(width), number(height));
        let title = escape(title);
        let mut svg = Svg { out: String::new() };
        svg.raw(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
             role=\"img\" font-family=\"system-ui, 'Segoe UI', Helvetica, Arial, sans-serif\">"
        ));
        svg.raw(format_args!("<title>{title}</title>"));
        let (w, h) = (number(width - 1.0), number(height - 1.0));
        svg.raw(format_args!(
            "<rect x=\"0.5\" y=\"0.5\" width=\"{w}\" height=\"{h}\" rx=\"10\" fill=\"{PAPER}\" stroke=\"{GRID}\"/>"
        ));
        svg
    }

    /// One element a line.
    pub(crate) fn raw(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.out, "{element}");
    }

    /// Everything until [`Svg::end_group`] is drawn together with that opacity.
    pub(crate) fn group(&mut self, opacity: f64) {
        if opacity >= 1.0 {
            self.raw(format_args!("<g>"));
        } else {
            self.raw(format_args!("<g opacity=\"{}\">", number(opacity)));
        }
    }

    /// Everything until [`Svg::end_group`] is drawn inside a rectangle only. `name`: unlike any other in the picture.
    pub(crate) fn clip(&mut self, name: &str, corner: Point, size: Point) {
        let ([x, y], [width, height]) = (corner.map(number), size.map(|s| number(s.max(0.0))));
        self.raw(format_args!(
            "<clipPath id=\"{name}\"><rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/></clipPath>"
        ));
        self.raw(format_args!("<g clip-path=\"url(#{name})\">"));
    }

    pub(crate) fn end_group(&mut self) {
        self.raw(format_args!("</g>"));
    }

    /// A straight line with round ends.
    pub(crate) fn line(&mut self, a: Point, b: Point, color: &str, width: f64) {
        let [[x1, y1], [x2, y2]] = [a, b].map(|p| p.map(number));
        self.raw(format_args!(
            "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"{color}\" stroke-width=\"{}\" \
             stroke-linecap=\"round\"/>",
            number(width)
        ));
    }

    /// A line through points. `extra`: further attributes.
    pub(crate) fn polyline(&mut self, points: &[Point], color: &str, width: f64, extra: &str) {
        let points = coordinates(points);
        self.raw(format_args!(
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{}\" \
             stroke-linejoin=\"round\" stroke-linecap=\"round\"{extra}/>",
            number(width)
        ));
    }

    /// A closed area.
    pub(crate) fn polygon(&mut self, points: &[Point], fill: &str, stroke: &str, width: f64) {
        let points = coordinates(points);
        self.raw(format_args!(
            "<polygon points=\"{points}\" fill=\"{fill}\" stroke=\"{stroke}\" stroke-width=\"{}\" \
             stroke-linejoin=\"round\"/>",
            number(width)
        ));
    }

    /// A circle.
    pub(crate) fn circle(
        &mut self,
        centre: Point,
        radius: f64,
        fill: &str,
        stroke: &str,
        width: f64,
    ) {
        let [x, y] = centre.map(number);
        self.raw(format_args!(
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"{}\" fill=\"{fill}\" stroke=\"{stroke}\" stroke-width=\"{}\"/>",
            number(radius),
            number(width)
        ));
    }

    /// A text on one line.
    pub(crate) fn text(&mut self, at: Point, text: &str, size: f64, color: &str, anchor: Anchor) {
        self.text_with(at, text, size, color, anchor, "");
    }

    /// A text with further attributes.
    pub(crate) fn text_with(
        &mut self,
        at: Point,
        text: &str,
        size: f64,
        color: &str,
        anchor: Anchor,
        extra: &str,
    ) {
        let [x, y] = at.map(number);
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        self.raw(format_args!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" fill=\"{color}\"{anchor}{extra}>{}</text>",
            number(size),
            escape(text)
        ));
    }

    /// The finished picture.
    pub(crate) fn finish(mut self) -> String {
        self.out.push_str("</svg>\n");
        self.out
    }
}

fn coordinates(points: &[Point]) -> String {
    let mut out = String::new();
    for (i, [x, y]) in points.iter().enumerate() {
        let space = if i == 0 { "" } else { " " };
        // Writing to a string cannot fail.
        let _ = write!(out, "{space}{},{}", number(*x), number(*y));
    }
    out
}

/// About how wide a text is, in pixels: the fonts differ, labels only need room.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    0.56 * size * text.chars().count() as f64
}

/// 1, 2 or 5 times a power of ten, the largest that is at most `limit` (> 0).
pub(crate) fn nice_below(limit: f64) -> f64 {
    let power = 10f64.powf(limit.log10().floor());
    let digit = [5.0, 2.0].into_iter().find(|digit| digit * power <= limit * (1.0 + 1e-12));
    digit.unwrap_or(1.0) * power
}

/// 1, 2 or 5 times a power of ten, the smallest that is at least `limit` (> 0).
pub(crate) fn nice_above(limit: f64) -> f64 {
    let power = 10f64.powf(limit.log10().floor());
    let digit = [1.0, 2.0, 5.0].into_iter().find(|digit| digit * power >= limit * (1.0 - 1e-12));
    digit.unwrap_or(10.0) * power
}

/// A number with as many decimals as steps of `step` need.
pub(crate) fn with_decimals(value: f64, step: f64) -> String {
    let least = (-(step * (1.0 + 1e-9)).log10().floor()).clamp(0.0, 12.0);
    // Steps of 0.25 need two.
    let whole = |more: f64| {
        let scaled = step * 10f64.powf(least + more);
        (scaled - scaled.round()).abs() <= 1e-6 * scaled
    };
    let more = [0.0, 1.0].into_iter().find(|more| whole(*more)).unwrap_or(0.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 13")]
    let decimals = (least + more) as usize;
    let text = format!("{value:.decimals$}");
    if text.trim_start_matches('-').chars().all(|c| matches!(c, '0' | '.')) {
        text.trim_start_matches('-').to_owned()
    } else {
        text.replace('-', "\u{2212}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_names_are_text() {
        assert_eq!(
            [1.0, 0.125, -0.001, 12.5, f64::NAN].map(number),
            ["1", "0.12", "0", "12.5", "0"]
        );
        assert_eq!(escape("<a & \"b\">\u{7}"), "&lt;a &amp; &quot;b&quot;&gt; ");
    }

    #[test]
    fn scale_steps_are_nice() {
        for (limit, nice) in [(0.7, 0.5), (1.0, 1.0), (4.9, 2.0), (0.02, 0.02), (99.0, 50.0)] {
            assert!((nice_below(limit) / nice - 1.0).abs() < 1e-12, "{limit}");
        }
        for (limit, nice) in [(0.7, 1.0), (1.0, 1.0), (4.9, 5.0), (0.021, 0.05), (99.0, 100.0)] {
            assert!((nice_above(limit) / nice - 1.0).abs() < 1e-12, "{limit}");
        }
        assert_eq!(with_decimals(0.1 + 0.2, 0.1), "0.3");
        assert_eq!(with_decimals(-0.01, 0.5), "0.0");
        assert_eq!(with_decimals(0.75, 0.25), "0.75");
        assert_eq!(with_decimals(0.75, 0.123), "0.8");
        assert_eq!(with_decimals(-2.0, 1.0), "\u{2212}2");
    }
}
