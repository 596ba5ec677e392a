//! The LaTeX of every model of the gallery is LaTeX: its formulas are read by a parser of their own, and where `pdflatex` is
//! installed one document goes through it.

use std::process::Command;

use gelenk::derive::derive;
use gelenk::model::{LoadOptions, load_text};
use gelenk::scenes::SCENES;
use pulldown_latex::{Parser, Storage};

/// LaTeX of a scene, if it has equations of motion.
fn document(name: &str) -> Option<String> {
    let scene = gelenk::scenes::scene(name)?;
    let loaded = load_text(name, scene.text, &LoadOptions::default()).ok()?;
    let derivation = derive(&loaded, &gelenk::derive::DeriveOptions::default()).ok()?;
    Some(derivation.latex(&[]))
}

/// The formulas of a document: displays with their environment, and what stands between dollars.
fn formulas(document: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = document;
    while let Some(at) = rest.find("\\begin{align*}") {
        let end = rest.find("\\end{align*}").expect("every display ends") + "\\end{align*}".len();
        found.push(rest[at..end].to_owned());
        rest = &rest[end..];
    }
    // The parser does not know TeX's penalties, which make no difference to what is printed.
    let outside = document.replace("\\$", "").replace("\\penalty200", "");
    found.extend(outside.split('$').skip(1).step_by(2).map(str::to_owned));
    found
}

/// Hundreds of pages of one kind; the others show the same.
const LONG: [&str; 3] = ["hexapod", "arch", "pyramid"];

#[test]
fn formulas_are_latex() {
    let mut count = 0;
    for scene in SCENES.iter().filter(|scene| !LONG.contains(&scene.name)) {
        let Some(document) = document(scene.name) else { continue };
        for formula in formulas(&document) {
            let storage = Storage::new();
            for event in Parser::new(&formula, &storage) {
                event.unwrap_or_else(|error| panic!("{}: {error}\n{formula}", scene.name));
            }
            count += 1;
        }
    }
    assert!(count > 500, "{count} formulas");
}

#[test]
fn a_document_compiles_where_tex_is_installed() {
    let Ok(version) = Command::new("pdflatex").arg("--version").output() else { return };
    assert!(version.status.success());
    let folder = tempfile::tempdir().expect("a folder");
    // The second is far longer than a page is wide.
    for name in ["heavy-top", "bricard"] {
        let text = document(name).expect("equations of motion");
        std::fs::write(folder.path().join("equations.tex"), text).expect("written");
        let run = Command::new("pdflatex")
            .args(["-interaction=nonstopmode", "-halt-on-error", "equations.tex"])
            .current_dir(folder.path())
            .output()
            .expect("pdflatex runs");
        let log = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success(), "{name}: {log}");
        assert!(!log.contains("Overfull"), "{name}: a formula leaves the page: {log}");
    }
}
