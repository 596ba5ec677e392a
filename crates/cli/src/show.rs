//! Writing to the terminal: one place, so that a closed pipe never becomes a panic and `--json` prints once.

use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::builder::styling::{AnsiColor, Style};
use serde_json::Value;

/// Bold.
pub(crate) const BOLD: Style = Style::new().bold();
/// For what is fine.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
/// For what wants a look.
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default().bold();
/// For what went wrong.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// For what matters less.
pub(crate) const DIM: Style = Style::new().dimmed();
/// For hints and commands to type.
pub(crate) const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// Whether the one JSON object has been printed.
static JSON_PRINTED: AtomicBool = AtomicBool::new(false);

/// `text` in a style.
pub(crate) fn styled(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Whether colours are wanted on standard error.
pub(crate) fn color_on_stderr() -> bool {
    !matches!(anstream::AutoStream::choice(&io::stderr()), anstream::ColorChoice::Never)
}

/// Columns of the terminal; 100 where there is none.
pub(crate) fn width() -> usize {
    terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0)).clamp(40, 160)
}

/// Writes to standard output. A reader that went away is no error.
pub(crate) fn out(text: &str) -> io::Result<()> {
    quiet_pipe(anstream::stdout().write_all(text.as_bytes()))?;
    quiet_pipe(io::stdout().flush())
}

/// Writes a line to standard error; there is nobody to tell if that fails.
pub(crate) fn err(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// A warning on standard error.
pub(crate) fn warning(text: &str) {
    err(&format!("{WARN}warning{WARN:#}: {text}"));
}

/// Prints the one JSON object of this process; a second call prints nothing.
pub(crate) fn json(value: &Value) -> io::Result<()> {
    if JSON_PRINTED.swap(true, Ordering::SeqCst) {
        return Ok(());
    }
    let mut text = serde_json::to_string_pretty(value).unwrap_or_else(|_| "{}".to_owned());
    text.push('\n');
    let mut stdout = io::stdout();
    quiet_pipe(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()))
}

fn quiet_pipe(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
