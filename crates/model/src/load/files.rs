//! Files a model may read: regular ones below its folder.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Files by path below the model's folder (`parts/leg.toml`), kept in memory: those of a recording.
pub type FileSet = BTreeMap<String, Vec<u8>>;

/// The folder a model may read from.
#[derive(Clone, Debug)]
pub struct Folder {
    /// Its path, links resolved; empty for one in memory.
    root: PathBuf,
    /// The files, if they are not on disk.
    files: Option<Arc<FileSet>>,
}

/// A file's contents and names.
#[derive(Clone, Debug)]
pub struct Opened {
    /// Its path, links resolved.
    pub path: PathBuf,
    /// Its path below the model's folder, as messages show it.
    pub name: String,
    /// Its contents.
    pub bytes: Vec<u8>,
}

/// Why a file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFault {
    /// A stable name for the kind of fault: `outside-folder`.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

impl FileFault {
    fn new(code: &'static str, message: String, help: Option<&str>) -> Self {
        FileFault { code, message, help: help.map(str::to_owned) }
    }
}

impl Folder {
    /// The folder at `path`.
    pub fn new(path: &Path) -> Result<Self, FileFault> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let root = path.canonicalize().map_err(|error| unreadable(&path.display(), &error))?;
        Ok(Folder { root, files: None })
    }

    /// A folder that is not on disk.
    pub fn in_memory(files: Arc<FileSet>) -> Self {
        Folder { root: PathBuf::new(), files: Some(files) }
    }

    /// Its path, links resolved.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Reads the file `relative` as seen from the folder `from`.
    pub fn read(&self, from: &Path, relative: &str, most_bytes: u64) -> Result<Opened, FileFault> {
        let wanted = Path::new(relative);
        let plain = |c: Component<'_>| {
            matches!(c, Component::Normal(_) | Component::CurDir | Component::ParentDir)
        };
        if relative.is_empty() || relative.contains('\0') || !wanted.components().all(plain) {
            return Err(FileFault::new(
                "outside-folder",
                format!("`{relative}` is not a path relative to this file"),
                Some("write the path relative to this file, such as `parts/leg.toml`"),
            ));
        }
        let outside = || {
            FileFault::new(
                "outside-folder",
                format!("`{relative}` lies outside the model's folder"),
                Some("a model reads only files below its own folder; move or copy the file there"),
            )
        };
        if let Some(files) = &self.files {
            let path = normal(&from.join(wanted)).ok_or_else(outside)?;
            let name = path.display().to_string().replace('\\', "/");
            let missing = || std::io::Error::from(std::io::ErrorKind::NotFound);
            let bytes = files.get(&name).ok_or_else(|| unreadable(&relative, &missing()))?.clone();
            if bytes.len() as u64 > most_bytes {
                return Err(too_large(relative, most_bytes, bytes.len() as u64));
            }
            return Ok(Opened { path, name, bytes });
        }
        let path =
            from.join(wanted).canonicalize().map_err(|error| unreadable(&relative, &error))?;
        let below = path.strip_prefix(&self.root).map_err(|_| outside())?;
        let name = below.display().to_string().replace('\\', "/");
        let bytes = read_regular(&path, relative, most_bytes)?;
        Ok(Opened { path, name, bytes })
    }
}

/// Reads a whole regular file of limited size.
pub fn read_regular(path: &Path, shown: &str, most_bytes: u64) -> Result<Vec<u8>, FileFault> {
    let irregular =
        || FileFault::new("not-a-file", format!("`{shown}` is not a regular file"), None);
    // Looked at before opening, since opening a pipe would wait for its other end; and again after, for a swap.
    let about = path.metadata().map_err(|error| unreadable(&shown, &error))?;
    if !about.is_file() {
        return Err(irregular());
    }
    let file = File::open(path).map_err(|error| unreadable(&shown, &error))?;
    if !file.metadata().map_err(|error| unreadable(&shown, &error))?.is_file() {
        return Err(irregular());
    }
    let mut bytes = Vec::new();
    file.take(most_bytes.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(&shown, &error))?;
    if bytes.len() as u64 > most_bytes {
        return Err(too_large(shown, most_bytes, about.len()));
    }
    Ok(bytes)
}

fn too_large(shown: &str, most_bytes: u64, length: u64) -> FileFault {
    FileFault::new(
        "limit-file",
        format!("`{shown}` is larger than the limit of {most_bytes} bytes"),
        Some(&format!("raise it with `--limit file={}`", length.max(most_bytes + 1))),
    )
}

/// The path without `.` and `..`; `None` where it leaves its root.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => plain.push(name),
            Component::CurDir => {}
            Component::ParentDir if plain.pop() => {}
            _ => return None,
        }
    }
    Some(plain)
}

fn unreadable(shown: &impl std::fmt::Display, error: &std::io::Error) -> FileFault {
    use std::io::ErrorKind;
    let (reason, help) = match error.kind() {
        ErrorKind::NotFound => ("there is no such file".to_owned(), "check the path"),
        ErrorKind::PermissionDenied => {
            ("permission denied".to_owned(), "check the file's permissions")
        }
        _ => (error.to_string(), "check the path"),
    };
    FileFault::new("unreadable-file", format!("cannot read `{shown}`: {reason}"), Some(help))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_below_the_folder() {
        let top = tempfile::tempdir().unwrap();
        let model = top.path().join("model");
        std::fs::create_dir_all(model.join("parts")).unwrap();
        std::fs::write(model.join("parts/leg.toml"), "x").unwrap();
        std::fs::write(top.path().join("secret.toml"), "x").unwrap();
        let folder = Folder::new(&model).unwrap();
        let read = |from: &str, path: &str| folder.read(&folder.root().join(from), path, 100);
        assert_eq!(read("", "parts/leg.toml").unwrap().name, "parts/leg.toml");
        assert_eq!(read("parts", "../parts/leg.toml").unwrap().name, "parts/leg.toml");
        assert_eq!(read("", "../secret.toml").unwrap_err().code, "outside-folder");
        assert_eq!(read("", "/etc/hostname").unwrap_err().code, "outside-folder");
        assert_eq!(read("", "a\0b").unwrap_err().code, "outside-folder");
        assert_eq!(read("", "parts").unwrap_err().code, "not-a-file");
        assert_eq!(read("", "none.toml").unwrap_err().code, "unreadable-file");
        assert_eq!(folder.read(folder.root(), "parts/leg.toml", 0).unwrap_err().code, "limit-file");
    }

    #[test]
    fn a_folder_in_memory_has_only_its_files() {
        let files = FileSet::from([("parts/leg.toml".to_owned(), b"x".to_vec())]);
        let folder = Folder::in_memory(Arc::new(files));
        let read = |from: &str, path: &str| folder.read(Path::new(from), path, 100);
        assert_eq!(read("", "./parts/leg.toml").unwrap().name, "parts/leg.toml");
        assert_eq!(read("parts", "../parts/leg.toml").unwrap().bytes, b"x");
        assert_eq!(read("parts", "../../secret.toml").unwrap_err().code, "outside-folder");
        assert_eq!(read("", "/etc/hostname").unwrap_err().code, "outside-folder");
        assert_eq!(read("", "parts").unwrap_err().code, "unreadable-file");
        assert_eq!(folder.read(Path::new(""), "parts/leg.toml", 0).unwrap_err().code, "limit-file");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_before_the_check() {
        let top = tempfile::tempdir().unwrap();
        let model = top.path().join("model");
        std::fs::create_dir_all(&model).unwrap();
        std::fs::write(top.path().join("secret.toml"), "x").unwrap();
        std::os::unix::fs::symlink("../secret.toml", model.join("link.toml")).unwrap();
        let folder = Folder::new(&model).unwrap();
        let fault = folder.read(folder.root(), "link.toml", 100).unwrap_err();
        assert_eq!(fault.code, "outside-folder");
    }
}
