//! Film strips: the right view, the right scale, nothing that is no number.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use gelenk::film::{FilmOptions, Layout, film_strip};
use gelenk::model::State;
use support::{double_pendulum, swing};

fn states(n: u32) -> Vec<(f64, State)> {
    let model = double_pendulum();
    (0..=n).map(|i| f64::from(i) * 0.02).map(|t| (t, swing(&model, t))).collect()
}

/// The numbers of an attribute of all elements of a kind.
fn attributes(svg: &str, element: &str, names: [&str; 4]) -> Vec<[f64; 4]> {
    let open = format!("<{element} ");
    svg.lines()
        .filter(|line| line.starts_with(&open))
        .map(|line| {
            names.map(|name| {
                let start = line.find(&format!(" {name}=\"")).unwrap() + name.len() + 3;
                line[start..].split('"').next().unwrap().parse().unwrap()
            })
        })
        .collect()
}

/// Bars of 1 m are as long as the scale bar says, and as long in every frame: the motion is seen face-on.
#[test]
fn bars_have_the_length_that_the_scale_bar_says() {
    let model = double_pendulum();
    let svg = film_strip(&model, &states(50), &FilmOptions::default());
    let lines = attributes(&svg, "line", ["x1", "y1", "x2", "y2"]);
    let length = |[x1, y1, x2, y2]: [f64; 4]| (x2 - x1).hypot(y2 - y1);
    // The scale bar is drawn last but for its two end marks.
    let bar = length(lines[lines.len() - 3]);
    let label = svg.rsplit("</text>").nth(1).unwrap().rsplit('>').next().unwrap();
    let (number, unit) = label.split_once(' ').unwrap();
    let unit = if unit == "cm" { 0.01 } else { 1.0 };
    let metre = bar / (number.parse::<f64>().unwrap() * unit);
    let rods = lines[..lines.len() - 3]
        .iter()
        .filter(|line| (length(**line) - metre).abs() < 0.05)
        .count();
    // Two rods in each frame; each frame is a group, and so is its dot on the time line.
    let frames = svg.matches("<g").count() / 2; // One group more clips the drawing.
    assert!(frames > 8);
    assert_eq!(rods, 2 * frames, "{metre} px for a metre");
}

#[test]
fn times_have_units_and_names_are_text() {
    let mut model = double_pendulum();
    model.name = "<&> pendulum".to_owned();
    let overlaid = film_strip(&model, &states(50), &FilmOptions::default());
    assert!(overlaid.contains(">&lt;&amp;&gt; pendulum</text>"));
    assert!(overlaid.contains(">1.0 s</text>") && overlaid.contains(">0.5</text>"));
    let options = FilmOptions { layout: Layout::SideBySide, frames: 6, ..FilmOptions::default() };
    let strip = film_strip(&model, &states(50), &options);
    for t in ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"] {
        assert!(strip.contains(&format!(">t = {t} s</text>")), "{t}");
    }
    assert_eq!(strip, film_strip(&model, &states(50), &options));
}

#[test]
fn states_that_cannot_be_drawn_are_left_out() {
    let model = double_pendulum();
    let good = states(20);
    let mut with_bad = good.clone();
    let (t, mut bad) = good[20].clone();
    bad.s[1].x = f64::NAN;
    with_bad.push((t + 1.0, bad));
    let mut short = good[20].1.clone();
    short.s.pop();
    with_bad.push((t + 2.0, short));
    let options = FilmOptions::default();
    assert_eq!(film_strip(&model, &with_bad, &options), film_strip(&model, &good, &options));
    assert!(film_strip(&model, &[], &options).contains("nothing to draw"));
    let world = gelenk::model::Builder::new("empty").finish();
    let still = [(0.0, world.start.clone())];
    assert!(film_strip(&world, &still, &options).contains("nothing to draw"));
    for layout in [Layout::Overlaid, Layout::SideBySide] {
        for frames in [0, 1, 2, 1000] {
            let options = FilmOptions { layout, frames, max_height: 0.0, ..FilmOptions::default() };
            let svg = film_strip(&model, &good[..3], &options);
            assert!(!svg.contains("NaN") && !svg.contains("inf"));
        }
    }
}
