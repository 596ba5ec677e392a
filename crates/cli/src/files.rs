//! Files that commands write.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::answer::Failure;

/// Refuses, before any work is done, a place where nothing can be written.
///
/// `input` is what the command reads: it is never written over.
pub(crate) fn check_place(path: &Path, input: &str) -> Result<(), Failure> {
    let same = match (fs::canonicalize(path), fs::canonicalize(input)) {
        (Ok(output), Ok(input)) => output == input,
        _ => false,
    };
    if same {
        return Err(Failure::input(format!(
            "`{}` is what is read; it would be written over",
            path.display()
        ))
        .help("choose another name for the output"));
    }
    if path.is_dir() {
        let error = std::io::Error::from(std::io::ErrorKind::IsADirectory);
        return Err(Failure::io("write", path, &error));
    }
    let folder = folder_of(path);
    if !folder.is_dir() {
        let error = std::io::Error::from(std::io::ErrorKind::NotFound);
        return Err(Failure::io("write", path, &error)
            .help(format!("there is no folder `{}`", folder.display())));
    }
    Ok(())
}

/// Refuses places for outputs, before any work is done: see [`check_place`]; and two outputs in one place.
pub(crate) fn check_places<'p>(
    paths: impl IntoIterator<Item = &'p PathBuf>,
    input: &str,
) -> Result<(), Failure> {
    let mut seen: Vec<&PathBuf> = Vec::new();
    for path in paths {
        check_place(path, input)?;
        if seen.contains(&path) {
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

/// Writes a file whole or not at all.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_with(path, |file| file.write_all(bytes), |error| Failure::io("write", path, &error))
}

/// Lets `fill` write a file whole or not at all: under a temporary name first, then renamed.
pub(crate) fn write_with<E: From<std::io::Error>>(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<fs::File>) -> Result<(), E>,
    failure: impl FnOnce(E) -> Failure,
) -> Result<(), Failure> {
    // A device or pipe cannot be replaced; it takes the bytes as they come.
    let replaced = !path.exists() || path.is_file();
    let place = if replaced { temporary_name(path) } else { path.to_owned() };
    let written = (|| {
        let mut file = BufWriter::new(fs::File::create(&place)?);
        fill(&mut file)?;
        file.flush()?;
        if replaced {
            file.get_ref().sync_all()?;
            fs::rename(&place, path)?;
        }
        Ok(())
    })();
    written.map_err(|error| {
        if replaced {
            let _ = fs::remove_file(&place);
        }
        failure(error)
    })
}

/// A name in the same folder, so that the rename stays on one disk.
fn temporary_name(path: &Path) -> PathBuf {
    let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    path.with_file_name(format!(".{name}.{}.part", std::process::id()))
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
    use crate::answer::Exit;

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
        assert_eq!(check_place(&model, input).unwrap_err().exit, Exit::Input);
        assert_eq!(check_place(folder.path(), input).unwrap_err().exit, Exit::Io);
        let nowhere = folder.path().join("no/where.svg");
        assert_eq!(check_place(&nowhere, input).unwrap_err().exit, Exit::Io);
        let fine = folder.path().join("fine.svg");
        check_place(&fine, input).unwrap();
        write(&fine, b"<svg/>").unwrap();
        assert_eq!(fs::read(&fine).unwrap(), b"<svg/>");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no temporary file is left");
    }
}
