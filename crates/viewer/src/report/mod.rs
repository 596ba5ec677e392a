//! Reports: one HTML file with motion, plots, tables, equations and settings, which opens without a server or a network.
//!
//! Texts, tables, formulas (MathML) and plots (SVG) stand in the file as they are; the motion lies in it as data, and the
//! program of [`serve`](crate::serve)'s page, written into the file too, shows it.
//!
//! ```
//! use gelenk_viewer::report::{Report, Table};
//!
//! let mut report = Report::new("pendulum", "run with the impulse engine");
//! let mut table = Table::new(&["t, s", "angle, rad"]);
//! table.row(["0", "0.17"]);
//! report.heading("States");
//! report.table(&table);
//! assert!(report.to_html().contains("<td>0.17</td>"));
//! ```

mod html;
mod markdown;

use gelenk::model::{Event, Loaded, Model, Observer, RunReport, RunSettings, Sample};
use gelenk::recording::base64_text;
use serde_json::{Value, json};

use crate::frame::{Frame, Thinned, chunk, encode};
use crate::hub::event_json;
use crate::scene::scene;
use html::escape;

/// Bytes of frames that a motion in a report may have, before base64.
pub const MOST_BYTES: usize = 6 << 20;

/// Collects the frames of a run for a report, evenly thinned where there are many.
#[derive(Debug)]
pub struct Motion {
    frames: Thinned,
    events: Vec<Event>,
}

impl Default for Motion {
    fn default() -> Self {
        Motion { frames: Thinned::new(MOST_BYTES), events: Vec::new() }
    }
}

impl Motion {
    /// Takes a sample.
    pub fn sample(&mut self, model: &Model, sample: &Sample<'_>) {
        self.frames.push(encode(model, sample, 0));
    }

    /// Takes an event.
    pub fn event(&mut self, event: &Event) {
        self.events.push(event.clone());
    }

    /// Runs a model as told and keeps its motion; for commands that look at something else than the motion itself.
    pub fn of_run(
        loaded: &Loaded,
        settings: &RunSettings,
    ) -> Result<(Self, RunReport), gelenk::SimulateError> {
        struct Watch<'m>(&'m Model, Motion);
        impl Observer for Watch<'_> {
            fn sample(&mut self, sample: &Sample<'_>) -> std::ops::ControlFlow<()> {
                self.1.sample(self.0, sample);
                std::ops::ControlFlow::Continue(())
            }

            fn event(&mut self, event: &Event) {
                self.1.event(event);
            }
        }
        let mut watch = Watch(&loaded.model, Motion::default());
        let report = gelenk::simulate_loaded(loaded, settings, &mut watch)?;
        Ok((watch.1, report))
    }
}

/// A table of texts.
#[derive(Clone, Debug, Default)]
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub fn new(head: &[&str]) -> Self {
        Table { head: head.iter().map(|&cell| cell.to_owned()).collect(), rows: Vec::new() }
    }

    /// The same from texts.
    pub fn with_head(head: Vec<String>) -> Self {
        Table { head, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }
}

/// A report that is being written.
#[derive(Debug)]
pub struct Report {
    title: String,
    subtitle: String,
    body: String,
    runs: Vec<Value>,
}

impl Report {
    /// An empty report.
    pub fn new(title: &str, subtitle: &str) -> Self {
        Report {
            title: title.to_owned(),
            subtitle: subtitle.to_owned(),
            body: String::new(),
            runs: Vec::new(),
        }
    }

    /// Puts a motion in, shown at the top; a second one lies over the first as a ghost. `facts` are shown beside it:
    /// `settings`, `certificate`.
    pub fn motion(&mut self, label: &str, model: &Model, motion: Motion, facts: &Value) {
        let frames: Vec<Frame> = motion.frames.into_frames();
        if frames.is_empty() {
            return;
        }
        self.runs.push(json!({
            "label": label,
            "scene": scene(model),
            "frames": base64_text(&chunk(0, 0, 0, &frames)),
            "events": motion.events.iter().map(event_json).collect::<Vec<_>>(),
            "facts": facts,
        }));
    }

    /// A heading.
    pub fn heading(&mut self, text: &str) {
        self.push(&format!("<h2>{}</h2>\n", escape(text)));
    }

    /// A paragraph, with code between backticks.
    pub fn paragraph(&mut self, text: &str) {
        self.push(&format!("<p>{}</p>\n", markdown::with_code(text)));
    }

    /// A verdict: good or not.
    pub fn verdict(&mut self, good: bool, text: &str) {
        let class = if good { "good" } else { "bad" };
        self.push(&format!("<p class=\"verdict {class}\">{}</p>\n", markdown::with_code(text)));
    }

    /// A table.
    pub fn table(&mut self, table: &Table) {
        let cells = |row: &[String], tag: &str| {
            let cells: Vec<String> = row
                .iter()
                .map(|cell| format!("<{tag}>{}</{tag}>", markdown::with_code(cell)))
                .collect();
            format!("<tr>{}</tr>\n", cells.concat())
        };
        let rows: Vec<String> = table.rows.iter().map(|row| cells(row, "td")).collect();
        self.push(&format!(
            "<div class=\"scroll\"><table>\n<thead>{}</thead>\n<tbody>{}</tbody></table></div>\n",
            cells(&table.head, "th"),
            rows.concat()
        ));
    }

    /// A JSON object as a list of names and values: settings, a certificate. Lists and objects inside are left out.
    pub fn facts(&mut self, value: &Value) {
        let Some(map) = value.as_object() else { return };
        let mut out = String::from("<dl class=\"facts\">\n");
        for (name, value) in map {
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
                _ => continue,
            };
            let name = name.replace('_', " ");
            out.push_str(&format!("<dt>{}</dt><dd>{}</dd>\n", escape(&name), escape(&text)));
        }
        out.push_str("</dl>\n");
        self.push(&out);
    }

    /// A picture, kept apart from the page so that nothing in it can clash.
    pub fn svg(&mut self, svg: &str, what: &str) {
        self.push(&format!(
            "<figure><img alt=\"{}\" src=\"data:image/svg+xml;base64,{}\"></figure>\n",
            escape(what),
            base64_text(svg.as_bytes())
        ));
    }

    /// Markdown with formulas, as `derive` writes it: headings, lists, paragraphs, `$…$` and `$$…$$`.
    pub fn markdown(&mut self, text: &str) {
        let html = markdown::to_html(text);
        self.push(&html);
    }

    /// Text as it is, folded away under a summary: a model file, code.
    pub fn folded(&mut self, summary: &str, text: &str) {
        self.push(&format!(
            "<details><summary>{}</summary><pre>{}</pre></details>\n",
            escape(summary),
            escape(text)
        ));
    }

    fn push(&mut self, html: &str) {
        self.body.push_str(html);
    }

    /// The model's files, folded away.
    pub fn model(&mut self, loaded: &Loaded) {
        self.heading("Model");
        if !loaded.model.description.is_empty() {
            self.paragraph(&loaded.model.description);
        }
        for file in loaded.sources.files() {
            let name = std::path::Path::new(&file.name);
            let name = name.file_name().map_or(file.name.as_str().into(), |n| n.to_string_lossy());
            self.folded(&name, &file.text);
        }
    }

    /// The whole file.
    pub fn to_html(&self) -> String {
        let data = json!({ "runs": self.runs });
        html::page(&self.title, &self.subtitle, &self.body, &data, !self.runs.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use gelenk::model::{LoadOptions, load_text};

    use super::*;

    #[test]
    fn a_report_holds_the_motion_and_nothing_from_elsewhere() {
        let text = gelenk::scenes::scene("pendulum").expect("in the gallery").text;
        let loaded = load_text("pendulum", text, &LoadOptions::default()).expect("a model");
        let settings = RunSettings { duration: 0.5, ..loaded.model.run.clone() };
        let (motion, _) = Motion::of_run(&loaded, &settings).expect("it runs");
        let mut report = Report::new("</script><b>x", "a \"test\" & more");
        report.motion("</script>", &loaded.model, motion, &json!({ "x": "</script><!--" }));
        report.model(&loaded);
        report.facts(&json!({ "state_hash": "<i>", "n": 3 }));
        let html = report.to_html();
        assert_eq!(html.matches("</script>").count(), 2, "one for the data, one for the program");
        assert!(!html.contains("<b>x") && !html.contains("<dd><i>"));
        let outside = html.split("<script").next().expect("a head");
        assert!(!outside.contains("http://") && !outside.contains("https://"));
        assert!(outside.contains("default-src 'none'"));
        let start = html.find("id=\"gelenk-data\">").expect("data") + "id=\"gelenk-data\">".len();
        let json: Value = serde_json::from_str(
            &html[start..start + html[start..].find("</script>").expect("an end")],
        )
        .expect("JSON");
        assert_eq!(json["runs"][0]["label"], "</script>");
    }
}
