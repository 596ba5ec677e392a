//! The frames of a run: in memory, or in a temporary file where they are too many.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use crate::frame::Frame;
use crate::token;

/// Bytes of frames up to which a run lies in memory.
const MOST_MEMORY: usize = 256 << 20;

/// Frames, numbered from `first`.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    memory: VecDeque<Frame>,
    bytes: usize,
    /// Number of the first frame that is kept.
    pub(crate) first: u32,
    file: Option<Spilled>,
}

/// Frames one after the other in a file of their own.
#[derive(Debug)]
struct Spilled {
    file: BufWriter<File>,
    /// Where each frame begins, and where the next one will. (frames + 1)
    places: Vec<u64>,
    /// Where systems cannot remove open files: removed at the end.
    path: Option<PathBuf>,
}

impl Drop for Spilled {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Spilled {
    fn create() -> std::io::Result<Self> {
        let path = std::env::temp_dir().join(format!("gelenk-view-{}", token::new()?));
        let mut options = std::fs::OpenOptions::new();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path)?;
        let gone = cfg!(unix) && std::fs::remove_file(&path).is_ok();
        let path = (!gone).then_some(path);
        Ok(Spilled { file: BufWriter::with_capacity(1 << 20, file), places: vec![0], path })
    }

    fn push(&mut self, frame: &[u8]) -> std::io::Result<()> {
        self.file.write_all(frame)?;
        let end = self.places.last().copied().unwrap_or(0);
        self.places.push(end + frame.len() as u64);
        Ok(())
    }

    fn read(&mut self, i: usize) -> std::io::Result<Frame> {
        self.file.flush()?;
        let (from, to) = (self.places[i], self.places[i + 1]);
        let file = self.file.get_mut();
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = vec![0; usize::try_from(to - from).map_err(std::io::Error::other)?];
        file.read_exact(&mut bytes)?;
        // Where the next one is written.
        file.seek(SeekFrom::End(0))?;
        Ok(bytes.into())
    }
}

impl Frames {
    pub(crate) fn len(&self) -> usize {
        self.file.as_ref().map_or(self.memory.len(), |file| file.places.len() - 1)
    }

    /// The number of the next frame.
    pub(crate) fn next(&self) -> u32 {
        self.first.wrapping_add(u32::try_from(self.len()).unwrap_or(u32::MAX))
    }

    /// Adds a frame and forgets the oldest ones beyond `most` bytes.
    pub(crate) fn push_live(&mut self, frame: Frame, most: usize) {
        self.bytes += frame.len();
        self.memory.push_back(frame);
        while self.bytes > most
            && let Some(old) = self.memory.pop_front()
        {
            self.bytes -= old.len();
            self.first = self.first.wrapping_add(1);
        }
    }

    /// Adds a frame and forgets none: many go to a temporary file.
    pub(crate) fn push(&mut self, frame: Frame) -> std::io::Result<()> {
        self.push_with(frame, MOST_MEMORY)
    }

    fn push_with(&mut self, frame: Frame, most: usize) -> std::io::Result<()> {
        self.bytes += frame.len();
        if self.file.is_none() && self.bytes > most {
            let mut file = Spilled::create()?;
            for frame in self.memory.drain(..) {
                file.push(&frame)?;
            }
            self.file = Some(file);
        }
        match &mut self.file {
            Some(file) => file.push(&frame)?,
            None => self.memory.push_back(frame),
        }
        Ok(())
    }

    /// None are left, and the numbers go on.
    pub(crate) fn clear(&mut self) {
        *self = Frames { first: self.next(), ..Frames::default() };
    }

    /// Every so many-th frame from a number on (or from the first that is kept), up to about so many bytes, and the number of the
    /// first of them.
    pub(crate) fn some(
        &mut self,
        from: u32,
        count: usize,
        every: u32,
        bytes: usize,
    ) -> (u32, Vec<Frame>) {
        let start = from.max(self.first);
        let (mut out, mut sum) = (Vec::new(), 0);
        let places = ((start - self.first) as usize..self.len()).step_by(every.max(1) as usize);
        for i in places.take(count) {
            if sum >= bytes {
                break;
            }
            let frame = match &mut self.file {
                Some(file) => file.read(i).ok(),
                None => self.memory.get(i).cloned(),
            };
            let Some(frame) = frame else { break };
            sum += frame.len();
            out.push(frame);
        }
        (start, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(i: u32) -> Frame {
        let mut bytes = vec![7; 16 + 8 * (i as usize % 3)];
        bytes[..4].copy_from_slice(&i.to_le_bytes());
        bytes.into()
    }

    #[test]
    fn no_frame_is_lost_where_they_are_too_many_for_memory() {
        let mut frames = Frames::default();
        for i in 0..1000 {
            frames.push_with(frame(i), 5000).expect("room for a file");
            // Reading in between does not harm writing.
            if i % 100 == 0 {
                assert_eq!(frames.some(i, 1, 1, 1 << 20), (i, vec![frame(i)]));
            }
        }
        assert!(frames.file.is_some(), "a file was made");
        assert!(frames.memory.is_empty());
        assert_eq!(frames.len(), 1000);
        let (first, all) = frames.some(0, 2000, 1, usize::MAX);
        assert_eq!(first, 0);
        assert_eq!(all, (0..1000).map(frame).collect::<Vec<_>>());
        let (_, some) = frames.some(5, 3, 10, usize::MAX);
        assert_eq!(some, [5, 15, 25].map(frame));
        assert!(frames.some(2000, 3, 1, 100).1.is_empty());
        assert_eq!(frames.some(0, 1000, 1, 40).1.len(), 2, "about 40 bytes");
        frames.clear();
        assert_eq!((frames.len(), frames.next()), (0, 1000));
    }
}
