//! Frames: what the page needs of a moment, as bytes.
//!
//! All numbers are little-endian; `docs/view.md` describes the layout for other readers.
//!
//! ```text
//! u32 index      number of the frame in its run
//! u32 contacts   number of contacts
//! f64 time       s
//! f64 × 6        ledger: initial, kinetic, potential, work, dissipation, impact loss, J
//! f64            largest gap so far, m or rad
//! f32 × 13       a body: centre of mass, rotation of the principal frame (x y z w), velocity, angular velocity
//! f32 × 9        a joint: point, force and torque on its second body
//! f32            a joint coordinate, rad or m
//! f32            a row block: its largest gap so far
//! f32 × 12       a contact: bodies a and b, point, normal from b to a, force on a, gap
//! ```
//! padded with zeros to a multiple of 8 bytes. A chunk is a header of four u32, run, generation, index of the first frame,
//! number of frames, and then each frame with its length in front as two u32 (length and zero).

use std::sync::Arc;

use gelenk::model::math::Vec3;
use gelenk::model::{BodyId, Model, Pose, Sample};

/// A frame's bytes, shared by all who send it.
pub type Frame = Arc<[u8]>;

/// The frame of a sample.
pub fn encode(model: &Model, sample: &Sample<'_>, index: u32) -> Frame {
    let state = sample.state;
    let numbers = 13 * model.n_bodies() + 12 * model.joints.len() + sample.worst_gaps.len();
    let mut out = Bytes(Vec::with_capacity(80 + 4 * (numbers + 12 * sample.contacts.len() + 2)));
    out.u32(index);
    out.u32(u32::try_from(sample.contacts.len()).unwrap_or(u32::MAX));
    out.f64(state.t);
    let l = &sample.ledger;
    for x in [l.initial, l.kinetic, l.potential, l.work, l.dissipation, l.impact_loss] {
        out.f64(x);
    }
    out.f64(gelenk::report::largest(sample.worst_gaps));
    for i in 0..model.n_bodies() {
        let q = &state.rot[i];
        // A charge has no place in space.
        let place = if model.bodies[i].is_charge { Vec3::zeros() } else { state.s[i] };
        out.f32s(place.as_slice());
        out.f32s(&[q.i, q.j, q.k, q.w]);
        out.f32s(state.s_dot[i].as_slice());
        out.f32s(state.omega[i].as_slice());
    }
    let poses: Vec<Pose> =
        (0_u32..).take(model.n_bodies()).map(|i| state.pose(BodyId(i))).collect();
    for (joint, reaction) in model.joints.iter().zip(sample.reactions) {
        let [a, b] = joint.bodies.map(BodyId::index);
        let near = joint.near(&state.coordinate);
        let point = near.equations().force_point(&poses[a], &poses[b]);
        let point = if model.bodies[b].is_charge { Vec3::zeros() } else { point };
        out.f32s(point.as_slice());
        out.f32s(reaction.force.as_slice());
        out.f32s(reaction.torque.as_slice());
    }
    out.f32s(&state.coordinate);
    out.f32s(sample.worst_gaps);
    for contact in sample.contacts {
        out.f32s(&contact.bodies.map(|id| f64::from(id.0)));
        out.f32s(contact.point.as_slice());
        out.f32s(contact.normal.as_slice());
        out.f32s(contact.force.as_slice());
        out.f32s(&[contact.gap]);
    }
    out.pad();
    out.0.into()
}

/// A frame with another number.
pub fn renumbered(frame: &Frame, index: u32) -> Frame {
    let mut bytes = frame.to_vec();
    bytes[..4].copy_from_slice(&index.to_le_bytes());
    bytes.into()
}

/// The time of a frame, s.
pub fn time(frame: &[u8]) -> f64 {
    let bytes = frame.get(8..16).and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(f64::NAN, f64::from_le_bytes)
}

/// Frames that follow each other, as one message.
pub fn chunk(run: u32, generation: u32, first: u32, frames: &[Frame]) -> Vec<u8> {
    let size: usize = frames.iter().map(|frame| 8 + frame.len()).sum();
    let mut out = Bytes(Vec::with_capacity(16 + size));
    out.u32(run);
    out.u32(generation);
    out.u32(first);
    out.u32(u32::try_from(frames.len()).unwrap_or(u32::MAX));
    for frame in frames {
        out.u32(u32::try_from(frame.len()).unwrap_or(u32::MAX));
        out.u32(0);
        out.0.extend_from_slice(frame);
    }
    out.0
}

struct Bytes(Vec<u8>);

impl Bytes {
    fn u32(&mut self, x: u32) {
        self.0.extend(x.to_le_bytes());
    }

    fn f64(&mut self, x: f64) {
        self.0.extend(x.to_le_bytes());
    }

    fn f32s(&mut self, list: &[f64]) {
        for x in list {
            #[expect(clippy::cast_possible_truncation, reason = "for the eye")]
            let x = *x as f32;
            self.0.extend(x.to_le_bytes());
        }
    }

    fn pad(&mut self) {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
    }
}

/// Keeps at most a number of bytes of frames, evenly over a run, and always the first and the last.
#[derive(Debug, Default)]
pub struct Thinned {
    kept: Vec<Frame>,
    last: Option<Frame>,
    bytes: usize,
    most: usize,
    /// One in so many is kept.
    every: u64,
    seen: u64,
}

impl Thinned {
    /// Keeps at most about `most` bytes.
    pub fn new(most: usize) -> Self {
        Thinned { most, every: 1, ..Thinned::default() }
    }

    /// Looks at the next frame.
    pub fn push(&mut self, frame: Frame) {
        if self.seen.is_multiple_of(self.every) {
            self.bytes += frame.len();
            self.kept.push(frame);
            self.last = None;
        } else {
            self.last = Some(frame);
        }
        self.seen += 1;
        if self.bytes > self.most && self.kept.len() > 2 {
            let newest = self.kept.last().cloned();
            let mut k = 0_u32;
            self.kept.retain(|_| {
                k += 1;
                k % 2 == 1
            });
            if k.is_multiple_of(2) {
                self.last = newest;
            }
            self.bytes = self.kept.iter().map(|frame| frame.len()).sum();
            self.every *= 2;
        }
    }

    /// One in so many frames is kept.
    pub fn every(&self) -> u64 {
        self.every
    }

    /// The frames kept, numbered anew, in order of time.
    pub fn into_frames(mut self) -> Vec<Frame> {
        self.kept.extend(self.last);
        (0_u32..).zip(&self.kept).map(|(i, frame)| renumbered(frame, i)).collect()
    }
}
