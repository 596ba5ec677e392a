//! What simulation and clients share: runs with their frames, and the status.
//!
//! The simulation never waits for a client. It replaces the latest frame and adds to the runs; each client looks when it
//! has time. A client that is slow skips to the latest frame and may ask for those between.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gelenk::model::Event;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::frame::{Frame, chunk};
use crate::store::Frames;

/// Bytes of frames that a live run keeps.
const LIVE_BYTES: usize = 48 << 20;
/// Most events of a run that are kept.
const MOST_EVENTS: usize = 2000;
/// Most frames of a reply, and about its most bytes.
const REPLY_FRAMES: u32 = 2000;
const REPLY_BYTES: usize = 2 << 20;
/// Most runs: the motion and its ghosts.
pub(crate) const MOST_RUNS: usize = 5;

/// A motion that pages can see.
#[derive(Debug)]
pub(crate) struct Run {
    /// Its name on pages, never given twice.
    pub(crate) id: u32,
    /// What it is, for people.
    pub(crate) label: String,
    /// The model's looks, JSON text.
    scene: Arc<str>,
    /// Counts changes of the scene; frames of another generation do not fit.
    generation: u32,
    /// Whether frames of before still fit the scene.
    keeps: bool,
    frames: Frames,
    /// Frames go on to come.
    pub(crate) growing: bool,
    events: Vec<Value>,
    /// Counts when the list of events was begun anew.
    event_epoch: u32,
    /// Certificate and settings of a recording, or what else is known.
    facts: Value,
    /// Counts changes of what `info` tells.
    version: u64,
}

/// What a client has been sent of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    generation: Option<u32>,
    version: Option<u64>,
    events: usize,
    event_epoch: u32,
}

#[derive(Debug, Default)]
struct Inner {
    runs: Vec<Run>,
    status: Arc<str>,
    next_id: u32,
}

/// The shared state.
#[derive(Debug)]
pub(crate) struct Hub {
    inner: Mutex<Inner>,
    /// Counts changes of runs and status.
    changed: watch::Sender<u64>,
    /// The newest frame of run 0, as a chunk.
    latest: watch::Sender<Arc<[u8]>>,
}

impl Hub {
    pub(crate) fn new() -> Self {
        Hub {
            inner: Mutex::new(Inner { status: "{}".into(), ..Inner::default() }),
            changed: watch::Sender::new(0),
            latest: watch::Sender::new(Arc::from([])),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // What is inside holds at every moment, also where a thread has panicked.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn touch(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    pub(crate) fn watch_changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    pub(crate) fn watch_latest(&self) -> watch::Receiver<Arc<[u8]>> {
        self.latest.subscribe()
    }

    /// Adds a run; `None` where there are too many. The first has the number 0.
    pub(crate) fn add_run(&self, label: &str, scene: &Value, facts: Value) -> Option<u32> {
        let mut inner = self.lock();
        if inner.runs.len() >= MOST_RUNS {
            return None;
        }
        let id = inner.next_id;
        inner.next_id += 1;
        inner.runs.push(Run {
            id,
            label: label.to_owned(),
            scene: scene.to_string().into(),
            generation: 0,
            keeps: false,
            frames: Frames::default(),
            growing: true,
            events: Vec::new(),
            event_epoch: 0,
            facts,
            version: 0,
        });
        drop(inner);
        self.touch();
        Some(id)
    }

    pub(crate) fn drop_run(&self, id: u32) {
        self.lock().runs.retain(|run| run.id != id || id == 0);
        self.touch();
    }

    /// Changes a run and tells all clients.
    pub(crate) fn change<R>(&self, id: u32, change: impl FnOnce(&mut Run) -> R) -> Option<R> {
        let mut inner = self.lock();
        let run = inner.runs.iter_mut().find(|run| run.id == id)?;
        let result = change(run);
        run.version += 1;
        drop(inner);
        self.touch();
        Some(result)
    }

    /// Adds a frame made with its number; false if the run is gone, or there is no room on the disk.
    pub(crate) fn push(&self, id: u32, make: impl FnOnce(u32) -> Frame, live: bool) -> bool {
        let mut inner = self.lock();
        let Some(run) = inner.runs.iter_mut().find(|run| run.id == id) else { return false };
        let index = run.frames.next();
        let frame = make(index);
        if !live {
            return run.frames.push(frame).is_ok();
        }
        let chunk = chunk(id, run.generation, index, std::slice::from_ref(&frame));
        run.frames.push_live(frame, LIVE_BYTES);
        drop(inner);
        self.latest.send_replace(chunk.into());
        true
    }

    pub(crate) fn set_status(&self, status: &Value) {
        self.lock().status = status.to_string().into();
        self.touch();
    }

    /// Some frames of a run from a number on, one in `every`, as one message; `None` if there are none.
    pub(crate) fn frames(&self, id: u32, from: u32, count: u32, every: u32) -> Option<Vec<u8>> {
        let mut inner = self.lock();
        let run = inner.runs.iter_mut().find(|run| run.id == id)?;
        let count = count.min(REPLY_FRAMES) as usize;
        let (start, some) = run.frames.some(from, count, every, REPLY_BYTES);
        let generation = run.generation;
        drop(inner);
        (!some.is_empty()).then(|| chunk(id, generation, start, &some))
    }

    /// The status as JSON text.
    pub(crate) fn status(&self) -> Arc<str> {
        Arc::clone(&self.lock().status)
    }

    /// What is new to a client, as JSON texts in order; `seen` is brought up to date.
    pub(crate) fn news(&self, seen: &mut Vec<(u32, Seen)>) -> Vec<String> {
        let inner = self.lock();
        let mut out = Vec::new();
        seen.retain(|(id, _)| {
            let there = inner.runs.iter().any(|run| run.id == *id);
            if !there {
                out.push(json!({ "type": "gone", "run": id }).to_string());
            }
            there
        });
        for run in &inner.runs {
            if !seen.iter().any(|(id, _)| *id == run.id) {
                seen.push((run.id, Seen::default()));
            }
            let Some((_, seen)) = seen.iter_mut().find(|(id, _)| *id == run.id) else { continue };
            run.news(seen, &mut out);
        }
        out
    }
}

impl Run {
    /// Another scene. Frames of before are kept where they still fit.
    pub(crate) fn set_scene(&mut self, scene: &Value, keeps: bool) {
        self.scene = scene.to_string().into();
        self.generation += 1;
        self.keeps = keeps;
        if !keeps {
            self.clear();
        }
    }

    /// No frames and no events.
    pub(crate) fn clear(&mut self) {
        self.frames.clear();
        self.generation += 1;
        self.keeps = false;
        self.events.clear();
        self.event_epoch += 1;
    }

    /// Sets one of the facts.
    pub(crate) fn set_fact(&mut self, name: &str, value: Value) {
        self.facts[name] = value;
    }

    pub(crate) fn add_events(&mut self, events: &[Event]) {
        let room = MOST_EVENTS.saturating_sub(self.events.len());
        self.events.extend(events.iter().take(room).map(event_json));
    }

    fn news(&self, seen: &mut Seen, out: &mut Vec<String>) {
        if seen.generation != Some(self.generation) {
            let keeps = self.keeps && seen.generation.is_some();
            out.push(format!(
                r#"{{"type":"scene","run":{},"generation":{},"keeps":{keeps},"scene":{}}}"#,
                self.id, self.generation, self.scene
            ));
            seen.generation = Some(self.generation);
        }
        if seen.version != Some(self.version) {
            let info = json!({
                "type": "run",
                "run": self.id,
                "label": self.label,
                "generation": self.generation,
                "first": self.frames.first,
                "frames": self.frames.len(),
                "growing": self.growing,
                "facts": self.facts,
            });
            out.push(info.to_string());
            seen.version = Some(self.version);
        }
        if seen.event_epoch != self.event_epoch {
            seen.event_epoch = self.event_epoch;
            seen.events = 0;
            out.push(
                json!({ "type": "events", "run": self.id, "from": 0, "events": [] }).to_string(),
            );
        }
        if seen.events < self.events.len() {
            let events = &self.events[seen.events..];
            let news =
                json!({ "type": "events", "run": self.id, "from": seen.events, "events": events });
            out.push(news.to_string());
            seen.events = self.events.len();
        }
    }
}

/// An event as pages read it.
pub(crate) fn event_json(event: &Event) -> Value {
    json!({
        "time": event.time,
        "kind": event.kind,
        "between": event.between,
        "detail": event.detail,
        "point": event.point.map(|p| [p.x, p.y, p.z]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(index: u32, size: usize) -> Frame {
        let mut bytes = vec![0; size];
        bytes[..4].copy_from_slice(&index.to_le_bytes());
        bytes.into()
    }

    #[test]
    fn a_live_run_keeps_its_newest_frames_and_the_simulation_never_waits() {
        let hub = Hub::new();
        let id = hub.add_run("live", &json!({}), Value::Null).expect("room");
        let size = 1 << 20;
        for _ in 0..100 {
            assert!(hub.push(id, |index| frame(index, size), true));
        }
        // 48 of 1 MiB are kept; asking from the start gives the first of those.
        let reply = hub.frames(id, 0, 10, 1).expect("frames");
        assert_eq!(u32::from_le_bytes(reply[8..12].try_into().expect("4 bytes")), 52);
        assert_eq!(u32::from_le_bytes(reply[12..16].try_into().expect("4 bytes")), 2, "2 MiB");
        assert!(hub.frames(id, 100, 10, 1).is_none(), "none of these yet");
        assert!(hub.frames(7, 0, 10, 1).is_none(), "no such run");
        let latest = hub.watch_latest();
        assert_eq!(u32::from_le_bytes(latest.borrow()[8..12].try_into().expect("4 bytes")), 99);
    }

    #[test]
    fn a_client_is_told_what_is_new_and_nothing_twice() {
        let hub = Hub::new();
        let id = hub.add_run("a", &json!({"name": "a"}), Value::Null).expect("room");
        let mut seen = Vec::new();
        assert_eq!(hub.news(&mut seen).len(), 2, "scene and run");
        assert!(hub.news(&mut seen).is_empty());
        let event = Event::new(1.0, "impact", vec![], String::new());
        hub.change(id, |run| run.add_events(std::slice::from_ref(&event)));
        let news = hub.news(&mut seen);
        assert!(news.iter().any(|text| text.contains("impact")), "{news:?}");
        hub.change(id, Run::clear);
        let news = hub.news(&mut seen);
        assert!(news.iter().any(|text| text.contains(r#""events":[]"#)), "{news:?}");
        let ghost = hub.add_run("b", &json!({}), Value::Null).expect("room");
        hub.news(&mut seen);
        hub.drop_run(ghost);
        hub.drop_run(0);
        let news = hub.news(&mut seen);
        assert_eq!(news.len(), 1, "{news:?}");
        assert!(news[0].contains("gone"));
        for _ in 0..MOST_RUNS - 1 {
            assert!(hub.add_run("more", &json!({}), Value::Null).is_some());
        }
        assert!(hub.add_run("too many", &json!({}), Value::Null).is_none());
    }
}
