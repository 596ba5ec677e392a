//! Ctrl-C: the first asks a run to stop and save, the second quits at once.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use gelenk::model::Stop;

use crate::answer::{Exit, Failure};
use crate::show;

/// How often Ctrl-C was pressed.
static PRESSED: AtomicU8 = AtomicU8::new(0);
/// Whether what runs now stops by itself when asked.
static GRACEFUL: AtomicBool = AtomicBool::new(false);

/// The same wish, for engines: they hear it inside a step.
static STOP: LazyLock<Stop> = LazyLock::new(Stop::default);

/// Listens for Ctrl-C (and for the request to terminate).
pub(crate) fn install(command: &'static str, json: bool) {
    // Without a handler the process ends as the system has it; a run then loses its last block only.
    let _ = ctrlc::set_handler(move || {
        let before = PRESSED.fetch_add(1, Ordering::SeqCst);
        STOP.ask();
        if before > 0 || !GRACEFUL.load(Ordering::SeqCst) {
            if json {
                let failure = Failure::new(Exit::Stopped, "stopped at once by Ctrl-C");
                let _ = show::json(&failure.to_json(command));
            }
            std::process::exit(i32::from(Exit::Stopped.code()));
        }
    });
}

/// From now on the first Ctrl-C only sets [`requested`].
pub(crate) fn be_graceful() {
    GRACEFUL.store(true, Ordering::SeqCst);
}

/// What Ctrl-C asks for.
pub(crate) fn stop() -> Stop {
    STOP.clone()
}

/// Whether Ctrl-C was pressed.
pub(crate) fn requested() -> bool {
    PRESSED.load(Ordering::Relaxed) > 0
}
