//! Limits on what a model may ask of the machine.

/// The largest model that is read; each limit is named in its error with the flag that lifts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one file: `--limit file=...`.
    pub file: u64,
    /// Nesting of TOML values: `--limit nesting=...`.
    pub nesting: usize,
    /// Part files inside one another: `--limit depth=...`.
    pub depth: usize,
    /// Files in all: `--limit files=...`.
    pub files: usize,
    /// Bodies and points: `--limit bodies=...`.
    pub bodies: usize,
    /// Elements of any other kind: `--limit elements=...`.
    pub elements: usize,
    /// Triangles of one mesh: `--limit triangles=...`.
    pub triangles: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            file: 64 << 20,
            nesting: 256,
            depth: 16,
            files: 256,
            bodies: 100_000,
            elements: 1_000_000,
            triangles: 2_000_000,
        }
    }
}

impl Limits {
    /// The names that [`set`](Limits::set) takes.
    pub const NAMES: [&'static str; 7] =
        ["file", "nesting", "depth", "files", "bodies", "elements", "triangles"];

    /// Changes one limit, as `--limit bodies=200000` does.
    pub fn set(&mut self, name: &str, value: u64) -> Result<(), String> {
        let size = usize::try_from(value).unwrap_or(usize::MAX);
        match name {
            "file" => self.file = value.min(u64::from(u32::MAX)),
            // Readers recurse over nested values; this depth still fits a small stack.
            "nesting" if value > 1000 => {
                return Err("the nesting limit cannot be raised above 1000".to_owned());
            }
            "nesting" => self.nesting = size,
            "depth" if value > 100 => {
                return Err("the depth limit cannot be raised above 100".to_owned());
            }
            "depth" => self.depth = size,
            "files" => self.files = size,
            "bodies" => self.bodies = size,
            "elements" => self.elements = size,
            "triangles" => self.triangles = size,
            _ => {
                return Err(format!(
                    "there is no limit `{name}`; the limits are {}",
                    Self::NAMES.join(", ")
                ));
            }
        }
        Ok(())
    }
}
