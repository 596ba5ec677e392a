//! Files that Gelenk writes and reads.
//!
//! **Writing.** [`check`] decides where a file may go: a new name, an empty file, or a file of the same [`Kind`] that Gelenk
//! wrote, recognized by its content. Devices, pipes, directories, symbolic links and write-protected files are refused.
//! Nothing is written in place: a file is filled under a temporary name and then renamed, so that an earlier file survives
//! a full disk or a killed process, and its other names (hard links) keep their content.
//!
//! **Reading.** [`open`] and [`read`] take regular files only (opening a pipe would wait for its other end), of limited
//! size.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::recording::container_head;

/// What a file holds; tells how a file of ours is recognized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Recording of a run or an optimal motion: MCAP with profile `gelenk`.
    Recording,
    /// MCAP with Foxglove's schemas: library `gelenk`.
    Scene,
    /// Checkpoint of an optimization: its first word.
    Checkpoint,
    /// HTML report: sealed, and unchanged since.
    Report,
    /// SVG picture: sealed, and unchanged since.
    Svg,
    /// CSV table: its first column.
    Csv,
    /// Parquet table: its creator.
    Parquet,
    /// glTF scene: its generator.
    Gltf,
    /// PNG picture: its software.
    Png,
    /// Functional mock-up unit: the tool in its description.
    Fmu,
    /// Motion of an optimization, as JSON: its first keys.
    Motion,
    /// A text that people edit (a model, equations, code): never recognized, so never replaced unasked.
    Text,
}

impl Kind {
    /// What a file of ours is called in messages.
    fn name(self) -> &'static str {
        match self {
            Kind::Recording => "recording",
            Kind::Scene => "Foxglove scene",
            Kind::Checkpoint => "checkpoint",
            Kind::Report => "report",
            Kind::Svg => "SVG picture",
            Kind::Csv => "CSV table",
            Kind::Parquet => "Parquet table",
            Kind::Gltf => "glTF scene",
            Kind::Png => "PNG picture",
            Kind::Fmu => "functional mock-up unit",
            Kind::Motion => "motion",
            Kind::Text => "text",
        }
    }

    fn sealed(self) -> bool {
        matches!(self, Kind::Report | Kind::Svg)
    }
}

/// Why nothing is written to a place.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A file is there that Gelenk did not write.
    #[error("`{}` exists and {}; it is not overwritten", path.display(), not_ours(*kind))]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// What was to be written.
        kind: Kind,
    },
    /// A device, pipe or socket.
    #[error("`{}` is {what}, not a regular file; nothing is written to it", path.display())]
    Irregular {
        /// Where.
        path: PathBuf,
        /// What it is, with its article.
        what: &'static str,
    },
    /// A directory.
    #[error("cannot write `{}`: it is a directory", path.display())]
    Directory {
        /// Where.
        path: PathBuf,
    },
    /// A symbolic link, wherever it leads.
    #[error("`{}` is a symbolic link; nothing is written through it", path.display())]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// A model file, where something else was to be written.
    #[error("`{}` is a model file by its name; no {} is written over it", path.display(), kind.name())]
    Model {
        /// The file.
        path: PathBuf,
        /// What was to be written.
        kind: Kind,
    },
    /// A file with several names, which was to be overwritten.
    #[error("`{}` has other names (hard links) too; it is not overwritten", path.display())]
    HardLink {
        /// The file.
        path: PathBuf,
    },
    /// The operating system does not let us look or write there.
    #[error("cannot write `{}`: {source}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

fn not_ours(kind: Kind) -> String {
    match kind {
        Kind::Text => "may have been edited".to_owned(),
        Kind::Report | Kind::Svg => {
            format!("is not a {} of gelenk, or was changed since", kind.name())
        }
        kind => format!("is not a {} of gelenk", kind.name()),
    }
}

impl Refusal {
    /// Whether the operating system said no, rather than the place being wrong.
    pub fn is_io(&self) -> bool {
        matches!(self, Refusal::Io { .. })
    }
}

/// Why a file could not be written.
#[derive(Debug)]
pub enum WriteError<E> {
    /// The place is not ours.
    Refused(Refusal),
    /// Filling or renaming the file failed.
    Failed(E),
}

/// Endings of files that are read as models or problems.
const MODELS: [&str; 4] = ["toml", "urdf", "xml", "mjcf"];

/// Whether a file of a kind may be written at `path`; else why not.
///
/// `overwrite` permits regular files that Gelenk did not write, with four exceptions: links; files with several names
/// (hard links); model files, except by other models and texts; and any file where a checkpoint goes, since
/// checkpoints are deleted at the end.
pub fn check(path: &Path, kind: Kind, overwrite: bool) -> Result<(), Refusal> {
    let io = |source| Refusal::Io { path: path.to_owned(), source };
    let about = match fs::symlink_metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(io(error)),
    };
    let path = path.to_owned();
    if about.is_symlink() {
        return Err(Refusal::Link { path });
    }
    if about.is_dir() {
        return Err(Refusal::Directory { path });
    }
    if !about.is_file() {
        return Err(Refusal::Irregular { path, what: irregular(&about) });
    }
    if about.len() > 0 && !is_ours(&path, kind).map_err(io)? {
        if !overwrite || kind == Kind::Checkpoint {
            return Err(Refusal::NotOurs { path, kind });
        }
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        if kind != Kind::Text && ending.is_some_and(|ending| MODELS.contains(&ending.as_str())) {
            return Err(Refusal::Model { path, kind });
        }
        if links(&about) > 1 {
            return Err(Refusal::HardLink { path });
        }
    }
    if about.permissions().readonly() {
        // A rename would replace it all the same.
        return Err(io(io::Error::from(io::ErrorKind::PermissionDenied)));
    }
    Ok(())
}

#[cfg(unix)]
fn irregular(about: &fs::Metadata) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    let kind = about.file_type();
    if kind.is_fifo() {
        "a pipe (FIFO)"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn irregular(_: &fs::Metadata) -> &'static str {
    "a device"
}

#[cfg(unix)]
fn links(about: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(about)
}

#[cfg(not(unix))]
fn links(_: &fs::Metadata) -> u64 {
    1
}

/// Whether two paths lead to the same file, by whatever names.
pub fn same_file(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        match (fs::metadata(a), fs::metadata(b)) {
            (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
            _ => false,
        }
    }
    #[cfg(not(unix))]
    {
        match (fs::canonicalize(a), fs::canonicalize(b)) {
            (Ok(a), Ok(b)) => a == b,
            _ => false,
        }
    }
}

/// Bytes from the start of a file that tell what it is.
const HEAD: u64 = 4096;
/// Sealed files larger than this are not looked at: they count as changed.
const MOST_SEALED: u64 = 1 << 30;

/// Whether Gelenk wrote a file of this kind, by its content.
pub fn is_ours(path: &Path, kind: Kind) -> io::Result<bool> {
    if kind == Kind::Text {
        return Ok(false);
    }
    if kind.sealed() {
        return match read(path, MOST_SEALED) {
            Ok(bytes) => Ok(is_sealed(&bytes)),
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Ok(false),
            Err(error) => Err(error),
        };
    }
    let mut file = open(path)?;
    let mut head = Vec::new();
    (&mut file).take(HEAD).read_to_end(&mut head)?;
    let has = |bytes: &[u8], word: &str| find(bytes, word.as_bytes()).is_some();
    Ok(match kind {
        Kind::Recording => container_head(&head).is_some_and(|(profile, _)| profile == "gelenk"),
        Kind::Scene => container_head(&head)
            .is_some_and(|(profile, library)| profile.is_empty() && library.starts_with("gelenk ")),
        Kind::Checkpoint => head.starts_with(crate::optimize::MAGIC_OF_ALL.as_bytes()),
        Kind::Csv => head.starts_with(b"time [s],"),
        Kind::Parquet => {
            let length = file.metadata()?.len();
            let mut tail = Vec::new();
            file.seek(SeekFrom::Start(length.saturating_sub(HEAD)))?;
            file.take(HEAD).read_to_end(&mut tail)?;
            head.starts_with(b"PAR1") && tail.ends_with(b"PAR1") && has(&tail, "gelenk ")
        }
        Kind::Gltf => {
            let begins = head.starts_with(b"glTF") || head.starts_with(b"{");
            begins && has(&head, "\"generator\"") && has(&head, "\"Gelenk ")
        }
        Kind::Png => head.starts_with(b"\x89PNG\r\n\x1a\n") && has(&head, "Software\0gelenk"),
        Kind::Fmu => head.starts_with(b"PK\x03\x04") && has(&head, "generationTool=\"gelenk "),
        Kind::Motion => head.starts_with(b"{\"problem\":") && has(&head, "\"motion\":"),
        Kind::Report | Kind::Svg | Kind::Text => false,
    })
}

fn find(bytes: &[u8], word: &[u8]) -> Option<usize> {
    bytes.windows(word.len()).position(|window| window == word)
}

fn find_last(bytes: &[u8], word: &[u8]) -> Option<usize> {
    bytes.windows(word.len()).rposition(|window| window == word)
}

const SEAL: &[u8] = b"<!-- gelenk ";
const SEAL_END: &[u8] = b" -->\n";
/// Digits of a hash.
const DIGITS: usize = 64;

/// A page or picture with a comment before its last tag that holds a hash of all the rest: whoever changes the file makes
/// it their own.
fn seal(bytes: &[u8]) -> Vec<u8> {
    let at = find_last(bytes, b"</").unwrap_or(bytes.len());
    let (before, after) = bytes.split_at(at);
    let hash = blake3::hash(bytes).to_hex();
    [before, SEAL, hash.as_bytes(), SEAL_END, after].concat()
}

fn is_sealed(bytes: &[u8]) -> bool {
    let Some(at) = find_last(bytes, SEAL) else { return false };
    let (before, rest) = bytes.split_at(at);
    let Some(rest) = rest.get(SEAL.len()..) else { return false };
    let Some((hash, rest)) = rest.split_at_checked(DIGITS) else { return false };
    let Some(after) = rest.strip_prefix(SEAL_END) else { return false };
    blake3::Hasher::new().update(before).update(after).finalize().to_hex().as_bytes() == hash
}

/// Writes a file whole or not at all; see [`check`].
pub fn write(
    path: &Path,
    kind: Kind,
    overwrite: bool,
    bytes: &[u8],
) -> Result<(), WriteError<io::Error>> {
    let sealed = kind.sealed().then(|| seal(bytes));
    write_with(path, kind, overwrite, |file| file.write_all(sealed.as_deref().unwrap_or(bytes)))
}

/// Lets `fill` write a file whole or not at all: under a temporary name first, then renamed; see [`check`].
pub fn write_with<E: From<io::Error>>(
    path: &Path,
    kind: Kind,
    overwrite: bool,
    fill: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), WriteError<E>> {
    check(path, kind, overwrite).map_err(WriteError::Refused)?;
    let failed = |error: io::Error| WriteError::Failed(error.into());
    let (temporary, file) = temporary(path).map_err(failed)?;
    let written = (|| {
        let mut file = BufWriter::new(file);
        fill(&mut file)?;
        file.flush()?;
        file.get_ref().sync_all()?;
        Ok(())
    })();
    let published = match written {
        Ok(()) => publish(&temporary, path, kind, overwrite),
        Err(error) => Err(WriteError::Failed(error)),
    };
    if published.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    published
}

/// Gives a finished file its name, unless that has been taken in the meantime.
pub(crate) fn publish<E: From<io::Error>>(
    temporary: &Path,
    path: &Path,
    kind: Kind,
    overwrite: bool,
) -> Result<(), WriteError<E>> {
    check(path, kind, overwrite).map_err(WriteError::Refused)?;
    if fs::symlink_metadata(path).is_err() {
        // A link is made only where nothing is; a rename would replace a file that appeared in the meantime.
        match fs::hard_link(temporary, path) {
            Ok(()) => {
                let _ = fs::remove_file(temporary);
                return Ok(());
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                check(path, kind, overwrite).map_err(WriteError::Refused)?;
            }
            // Not every file system has hard links.
            Err(_) => {}
        }
    }
    fs::rename(temporary, path).map_err(|error| WriteError::Failed(error.into()))
}

/// A new file beside `target`, so that a rename stays on one disk; never one that is there already.
pub(crate) fn temporary(target: &Path) -> io::Result<(PathBuf, File)> {
    let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let process = std::process::id();
    new_file((0..1000).map(|n| target.with_file_name(format!(".{name}.{process}-{n}.part"))))
}

/// Creates the first of some names that is free.
pub(crate) fn new_file(names: impl IntoIterator<Item = PathBuf>) -> io::Result<(PathBuf, File)> {
    let mut taken = io::Error::from(io::ErrorKind::AlreadyExists);
    for path in names {
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken = error,
            Err(error) => return Err(error),
        }
    }
    Err(taken)
}

/// Names beside a path: `run-failed.mcap`, `run-failed-2.mcap`, ...
pub(crate) fn names_beside(path: &Path, word: &str) -> impl Iterator<Item = PathBuf> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let ending = path.extension().map_or_else(String::new, |e| format!(".{}", e.to_string_lossy()));
    let (path, word) = (path.to_owned(), word.to_owned());
    (1..1000).map(move |n| {
        let number = if n == 1 { String::new() } else { format!("-{n}") };
        path.with_file_name(format!("{stem}-{word}{number}{ending}"))
    })
}

/// The name beside `path` for a result that must not replace it: `run-failed.mcap` for `run.mcap`. It is free, or an
/// earlier file of ours with that name.
pub fn beside(path: &Path, word: &str, kind: Kind) -> PathBuf {
    let mut names = names_beside(path, word);
    let first = names.next();
    let fits = |name: &PathBuf| check(name, kind, false).is_ok();
    first.clone().into_iter().chain(names).find(fits).or(first).unwrap_or_else(|| path.to_owned())
}

/// Opens a regular file for reading; never waits for the other end of a pipe.
pub fn open(path: &Path) -> io::Result<File> {
    let irregular = || io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
    // Looked at before opening, since opening a pipe would wait; and again after, for a swap.
    if !fs::metadata(path)?.is_file() {
        return Err(irregular());
    }
    let file = File::open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(irregular()) }
}

/// Reads a regular file of at most so many bytes; [`io::ErrorKind::FileTooLarge`] for larger ones.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let message = format!("it is larger than {most} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [Kind; 11] = [
        Kind::Recording,
        Kind::Scene,
        Kind::Checkpoint,
        Kind::Report,
        Kind::Svg,
        Kind::Csv,
        Kind::Parquet,
        Kind::Gltf,
        Kind::Png,
        Kind::Motion,
        Kind::Text,
    ];

    #[test]
    fn files_of_others_are_kept_whatever_is_to_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let notes = folder.path().join("notes.txt");
        fs::write(&notes, "my notes").unwrap();
        for kind in KINDS {
            let refused = write(&notes, kind, false, b"x").unwrap_err();
            assert!(matches!(refused, WriteError::Refused(Refusal::NotOurs { .. })), "{kind:?}");
            assert_eq!(fs::read(&notes).unwrap(), b"my notes");
        }
        assert!(write(&notes, Kind::Checkpoint, true, b"x").is_err(), "a checkpoint is deleted");
        write(&notes, Kind::Text, true, b"x").unwrap();
        assert_eq!(fs::read(&notes).unwrap(), b"x");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn a_sealed_picture_is_ours_until_it_is_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.svg");
        for text in ["<svg>1</svg>\n", "<svg>2</svg>\n"] {
            write(&path, Kind::Svg, false, text.as_bytes()).unwrap();
        }
        let text = fs::read_to_string(&path).unwrap();
        assert!(
            text.starts_with("<svg>2<!-- gelenk ") && text.ends_with("-->\n</svg>\n"),
            "{text}"
        );
        fs::write(&path, text.replace('2', "3")).unwrap();
        assert!(write(&path, Kind::Svg, false, b"<svg/>").is_err());
        assert!(!is_sealed(b"<!-- gelenk ") && !is_sealed(b""));
    }

    #[test]
    fn a_failed_write_leaves_the_file_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        fs::write(&path, "time [s],x\n").unwrap();
        let full = |_: &mut BufWriter<File>| Err(io::Error::from(io::ErrorKind::StorageFull));
        assert!(write_with(&path, Kind::Csv, false, full).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"time [s],x\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn devices_pipes_and_links_are_refused() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let not = |name: &Path, overwrite| check(name, Kind::Csv, overwrite).unwrap_err();
        fs::write(at("model.toml"), "[model]").unwrap();
        symlink("model.toml", at("link")).unwrap();
        symlink("nowhere", at("dangling")).unwrap();
        assert!(matches!(not(&at("model.toml"), true), Refusal::Model { .. }));
        check(&at("model.toml"), Kind::Text, true).unwrap();
        fs::hard_link(at("model.toml"), at("hard")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap();
        assert!(made.success());
        for overwrite in [false, true] {
            assert!(matches!(not(Path::new("/dev/null"), overwrite), Refusal::Irregular { .. }));
            assert!(matches!(not(&at("pipe"), overwrite), Refusal::Irregular { .. }));
            assert!(matches!(not(folder.path(), overwrite), Refusal::Directory { .. }));
            assert!(matches!(not(&at("link"), overwrite), Refusal::Link { .. }));
            assert!(matches!(not(&at("dangling"), overwrite), Refusal::Link { .. }));
        }
        assert!(matches!(not(&at("hard"), false), Refusal::NotOurs { .. }));
        assert!(matches!(not(&at("hard"), true), Refusal::HardLink { .. }));
        assert!(same_file(&at("hard"), &at("model.toml")));
        // A link to a table of ours is refused, too; another name of the table keeps what it had.
        fs::write(at("a.csv"), "time [s],x\n").unwrap();
        symlink("a.csv", at("to-a")).unwrap();
        fs::hard_link(at("a.csv"), at("other")).unwrap();
        assert!(matches!(not(&at("to-a"), true), Refusal::Link { .. }));
        write(&at("a.csv"), Kind::Csv, false, b"time [s],y\n").unwrap();
        assert_eq!(fs::read(at("a.csv")).unwrap(), b"time [s],y\n");
        assert_eq!(fs::read(at("other")).unwrap(), b"time [s],x\n");
        // Write-protected.
        fs::set_permissions(at("a.csv"), fs::Permissions::from_mode(0o444)).unwrap();
        assert!(not(&at("a.csv"), true).is_io());
        // Reading neither waits nor reads without end.
        assert!(open(&at("pipe")).is_err() && open(Path::new("/dev/zero")).is_err());
        assert_eq!(read(&at("model.toml"), 7).unwrap(), b"[model]");
        assert_eq!(read(&at("model.toml"), 6).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn names_beside_are_free_or_ours() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.csv");
        let name = |path: PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        let failed = || beside(&path, "failed", Kind::Csv);
        assert_eq!(name(failed()), "run-failed.csv");
        fs::write(failed(), "time [s],x\n").unwrap();
        assert_eq!(name(failed()), "run-failed.csv");
        fs::write(failed(), "my own").unwrap();
        assert_eq!(name(failed()), "run-failed-2.csv");
    }
}
