//! Every model of the gallery through the whole facade: loaded, run, recorded, verified, exported, drawn.

use std::ops::ControlFlow;

use gelenk::export::{sample_json, write_csv, write_parquet};
use gelenk::film::{FilmOptions, Layout, film_strip};
use gelenk::model::{Limits, LoadOptions, Observer, RunSettings, Sample, State, load_text};
use gelenk::recording::{Header, Recorder};
use gelenk::scenes::SCENES;
use gelenk::{Both, Recording, simulate};

#[derive(Default)]
struct Keep(Vec<(f64, State)>);

impl Observer for Keep {
    fn sample(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        self.0.push((sample.state.t, sample.state.clone()));
        ControlFlow::Continue(())
    }
}

#[test]
fn the_gallery_is_recorded_verified_exported_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    for scene in SCENES {
        let name = scene.name;
        let overrides = match name {
            "chain-100" => vec![("n".to_owned(), "10".to_owned())],
            "pyramid" => vec![("n".to_owned(), "4".to_owned())],
            _ => Vec::new(),
        };
        let options = LoadOptions { overrides: overrides.clone(), ..LoadOptions::default() };
        let file = format!("somewhere/{name}.toml");
        let loaded =
            load_text(&file, scene.text, &options).unwrap_or_else(|e| panic!("{name}:\n{e}"));
        let model = &loaded.model;
        let settings = RunSettings {
            duration: 40.0 * model.run.step,
            at: vec![10.5 * model.run.step],
            sample: None,
            ..model.run.clone()
        };
        let path = folder.path().join(format!("{name}.mcap"));
        let header = Header::of_loaded(&loaded, &overrides, &settings);
        assert_eq!(header.sources.len(), 1, "{name}");
        assert_eq!(header.sources[0].name, format!("{name}.toml"));
        let mut recorder = Recorder::create(&path, header).unwrap();
        let mut keep = Keep::default();
        let report = simulate(model, &settings, &mut Both(&mut recorder, &mut keep))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        recorder.finish(Ok(&report)).unwrap();

        let verified = gelenk::verify(&path, Limits::default()).unwrap();
        // Several motions go on from its start, and none is the right one.
        let singular = name == "eight-loop-flat";
        assert_eq!(verified.run_failed.is_some(), singular, "{name}: {verified}");
        assert!(verified.reproduced && verified.ok != singular, "{name}: {verified}");

        let mut recording = Recording::open(&path).unwrap();
        assert_eq!(recording.samples().count(), 41, "{name}");
        assert_eq!(write_csv(model, recording.samples(), Vec::new()).unwrap(), 41);
        assert_eq!(write_parquet(model, recording.samples(), Vec::new()).unwrap(), 41);
        let at = recording.at_samples().next().unwrap().unwrap();
        let json = sample_json(model, &at.as_sample());
        assert!((json["time"].as_f64().unwrap() - settings.at[0]).abs() < 1e-12, "{name}");
        for layout in [Layout::Overlaid, Layout::SideBySide] {
            let options = FilmOptions { layout, ..FilmOptions::default() };
            let svg = film_strip(model, &keep.0, &options);
            assert!(
                svg.contains(name) && !svg.contains("NaN") && !svg.contains("nothing"),
                "{name}"
            );
        }
    }
}
