//! Files a model may read: regular ones below its folder.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

/// The folder a model may read from.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    /// Its path, links resolved.
    root: PathBuf,
    /// Texts that stand in for files, by path below the folder.
    texts: BTreeMap<String, String>,
}

/// A file's contents and names.
#[derive(Clone, Debug)]
pub(crate) struct Opened {
    /// Its path, links resolved.
    pub(crate) path: PathBuf,
    /// Its path below the model's folder, as messages show it.
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// Why a file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileFault {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

impl FileFault {
    fn new(code: &'static str, message: String, help: Option<&str>) -> Self {
        FileFault { code, message, help: help.map(str::to_owned) }
    }
}

impl Folder {
    /// The folder at `path`.
    pub(crate) fn new(path: &Path) -> Result<Self, FileFault> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let root = path.canonicalize().map_err(|error| unreadable(&path.display(), &error))?;
        Ok(Folder { root, texts: BTreeMap::new() })
    }

    /// The same with texts that stand in for files, by path below the folder.
    pub(crate) fn with_texts(mut self, texts: &[(String, String)]) -> Self {
        self.texts = texts.iter().cloned().collect();
        self
    }

    /// The text that stands in for a file.
    fn stand_in(&self, from: &Path, wanted: &Path) -> Option<Opened> {
        let mut path = from.strip_prefix(&self.root).ok()?.to_owned();
        for component in wanted.components() {
            match component {
                Component::Normal(name) => path.push(name),
                Component::ParentDir if path.pop() => {}
                Component::CurDir => {}
                _ => return None,
            }
        }
        let name = path.display().to_string().replace('\\', "/");
        let text = self.texts.get(&name)?;
        Some(Opened { path: self.root.join(path), name, bytes: text.clone().into_bytes() })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Reads the file `relative` as seen from the folder `from`.
    pub(crate) fn read(
        &self,
        from: &Path,
        relative: &str,
        most_bytes: u64,
    ) -> Result<Opened, FileFault> {
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
        if let Some(opened) = self.stand_in(from, wanted) {
            return Ok(opened);
        }
        let path =
            from.join(wanted).canonicalize().map_err(|error| unreadable(&relative, &error))?;
        let Ok(below) = path.strip_prefix(&self.root) else {
            return Err(FileFault::new(
                "outside-folder",
                format!("`{relative}` lies outside the model's folder"),
                Some("a model reads only files below its own folder; move or copy the file there"),
            ));
        };
        let name = below.display().to_string().replace('\\', "/");
        let bytes = read_regular(&path, relative, most_bytes)?;
        Ok(Opened { path, name, bytes })
    }
}

/// Reads a whole regular file of limited size.
pub(crate) fn read_regular(
    path: &Path,
    shown: &str,
    most_bytes: u64,
) -> Result<Vec<u8>, FileFault> {
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
        return Err(FileFault::new(
            "limit-file",
            format!("`{shown}` is larger than the limit of {most_bytes} bytes"),
            Some(&format!("raise it with `--limit file={}`", about.len().max(most_bytes + 1))),
        ));
    }
    Ok(bytes)
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
    fn texts_stand_in_for_files() {
        let top = tempfile::tempdir().unwrap();
        let texts = [("parts/leg.toml".to_owned(), "leg".to_owned())];
        let folder = Folder::new(top.path()).unwrap().with_texts(&texts);
        let read = |from: &str, path: &str| folder.read(&folder.root().join(from), path, 100);
        assert_eq!(read("", "parts/leg.toml").unwrap().bytes, b"leg");
        assert_eq!(read("parts", "../parts/./leg.toml").unwrap().name, "parts/leg.toml");
        assert_eq!(read("", "../parts/leg.toml").unwrap_err().code, "unreadable-file");
        assert_eq!(read("", "leg.toml").unwrap_err().code, "unreadable-file");
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
