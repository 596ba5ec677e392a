//! Files that commands write.

use std::fs;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use gelenk::files::{Kind, Refusal, WriteError, check, same_file};

use crate::Manner;
use crate::answer::{Exit, Failure};

/// Refuses, before any work is done, a place where nothing can be written, or where a file is that is not ours.
///
/// `input` is what the command reads: it is never written over.
pub(crate) fn check_place(
    path: &Path,
    kind: Kind,
    input: &str,
    manner: Manner,
) -> Result<(), Failure> {
    if same_file(path, Path::new(input)) {
        return Err(Failure::input(format!(
            "`{}` is what is read; it would be written over",
            path.display()
        ))
        .help("choose another name for the output"));
    }
    let folder = folder_of(path);
    if !folder.is_dir() {
        let error = std::io::Error::from(std::io::ErrorKind::NotFound);
        return Err(Failure::io("write", path, &error)
            .help(format!("there is no folder `{}`", folder.display())));
    }
    check(path, kind, manner.overwrite).map_err(|refusal| refused(&refusal, kind))
}

/// A place that is not ours is bad usage.
pub(crate) fn refused(refusal: &Refusal, kind: Kind) -> Failure {
    let exit = match refusal {
        Refusal::Io { .. } => Exit::Io,
        Refusal::Directory { .. } if kind != Kind::Checkpoint => Exit::Io,
        _ => Exit::Input,
    };
    let failure = Failure::new(exit, refusal.to_string());
    match refusal {
        Refusal::NotOurs { .. } if kind != Kind::Checkpoint => {
            failure.help("choose another name, or replace it with --overwrite")
        }
        _ => failure.help("choose another name"),
    }
}

/// Refuses places for outputs, before any work is done: see [`check_place`]; and two outputs in one place.
pub(crate) fn check_places<'p>(
    paths: impl IntoIterator<Item = (&'p PathBuf, Kind)>,
    input: &str,
    manner: Manner,
) -> Result<(), Failure> {
    let mut seen: Vec<&PathBuf> = Vec::new();
    for (path, kind) in paths {
        check_place(path, kind, input, manner)?;
        let same = |other: &&PathBuf| {
            *other == path || same_file(other, path) || {
                same_folder(other, path) && other.file_name() == path.file_name()
            }
        };
        if seen.iter().any(same) {
            let message = format!("two outputs would be written to `{}`", path.display());
            return Err(Failure::input(message).help("give each a name of its own"));
        }
        seen.push(path);
    }
    Ok(())
}

/// Whether two paths name files in the same folder.
pub(crate) fn same_folder(a: &Path, b: &Path) -> bool {
    match (fs::canonicalize(folder_of(a)), fs::canonicalize(folder_of(b))) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

/// Refuses an input file that is not there.
pub(crate) fn must_exist(path: &Path, what: &str) -> Result<(), Failure> {
    match fs::metadata(path) {
        Ok(data) if data.is_file() => Ok(()),
        // Opening a pipe would wait for its other end.
        Ok(_) => Err(Failure::input(format!("`{}` is not a regular file", path.display()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(Failure::input(format!("there is no {what} `{}`", path.display())))
        }
        Err(error) => Err(Failure::io("read", path, &error)),
    }
}

/// Reads an input file: a regular one, of at most so many bytes.
pub(crate) fn read(path: &Path, most: u64) -> Result<Vec<u8>, Failure> {
    gelenk::files::read(path, most).map_err(|error| match error.kind() {
        std::io::ErrorKind::FileTooLarge | std::io::ErrorKind::InvalidInput => {
            Failure::input(format!("cannot read `{}`: {error}", path.display()))
        }
        _ => Failure::io("read", path, &error),
    })
}

/// Writes a file whole or not at all.
pub(crate) fn write(path: &Path, kind: Kind, manner: Manner, bytes: &[u8]) -> Result<(), Failure> {
    gelenk::files::write(path, kind, manner.overwrite, bytes).map_err(|error| match error {
        WriteError::Refused(refusal) => refused(&refusal, kind),
        WriteError::Failed(error) => Failure::io("write", path, &error),
    })
}

/// Lets `fill` write a file whole or not at all.
pub(crate) fn write_with<E: From<std::io::Error>>(
    path: &Path,
    kind: Kind,
    manner: Manner,
    fill: impl FnOnce(&mut BufWriter<fs::File>) -> Result<(), E>,
    failure: impl FnOnce(E) -> Failure,
) -> Result<(), Failure> {
    gelenk::files::write_with(path, kind, manner.overwrite, fill).map_err(|error| match error {
        WriteError::Refused(refusal) => refused(&refusal, kind),
        WriteError::Failed(error) => failure(error),
    })
}

/// Where a result goes that is not good: to its place if nothing is there, else beside it, as `NAME-failed.svg` or
/// `NAME-stopped.svg`.
pub(crate) fn place_of(path: &Path, kind: Kind, fault: Option<&str>) -> PathBuf {
    match fault {
        Some(word) if path.exists() => gelenk::files::beside(path, word, kind),
        _ => path.to_owned(),
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// A model's name as a file name: a name is data, never a path.
pub(crate) fn file_stem(name: &str) -> String {
    let stem: String = name
        .chars()
        .take(100)
        .map(|c| if c.is_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' })
        .collect();
    if stem.is_empty() { "model".to_owned() } else { stem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_never_paths() {
        assert_eq!(file_stem("../../etc/passwd"), "______etc_passwd");
        assert_eq!(file_stem(""), "model");
        assert_eq!(file_stem("vier-gelenk"), "vier-gelenk");
    }

    #[test]
    fn a_place_is_checked_before_the_work() {
        let folder = tempfile::tempdir().unwrap();
        let model = folder.path().join("a.toml");
        fs::write(&model, "x").unwrap();
        let input = model.to_str().unwrap();
        let manner = Manner { json: false, quiet: false, overwrite: true };
        let check_place = |path: &Path| check_place(path, Kind::Svg, input, manner);
        assert_eq!(check_place(&model).unwrap_err().exit, Exit::Input);
        assert_eq!(check_place(folder.path()).unwrap_err().exit, Exit::Io);
        let nowhere = folder.path().join("no/where.svg");
        assert_eq!(check_place(&nowhere).unwrap_err().exit, Exit::Io);
        let fine = folder.path().join("fine.svg");
        check_place(&fine).unwrap();
        write(&fine, Kind::Svg, manner, b"<svg></svg>").unwrap();
        assert!(fs::read(&fine).unwrap().starts_with(b"<svg>"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no temporary file is left");
    }
}
