//! Ctrl-C: the first asks what is running to stop, the second ends the process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use mangrove_query::CancelToken;
use signal_hook::consts::SIGINT;

/// The exit code of a command that Ctrl-C stopped, after the shells' convention 128 + signal.
pub const EXIT_CODE: u8 = 130;

static REQUESTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| {
    let flag = Arc::new(AtomicBool::new(false));
    // In this order: the second signal must find the flag the first one set. Should the system refuse the handlers, Ctrl-C
    // keeps its plain meaning and ends the process, which a database survives too.
    let _ = signal_hook::flag::register_conditional_shutdown(SIGINT, EXIT_CODE.into(), flag.clone());
    let _ = signal_hook::flag::register(SIGINT, flag.clone());
    flag
});

/// From now on Ctrl-C is a request.
pub fn listen() {
    REQUESTED.store(false, Ordering::Relaxed);
}

/// Whether Ctrl-C was pressed since [`listen`].
pub fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// Listens, and cancels with Ctrl-C.
pub fn token() -> CancelToken {
    listen();
    CancelToken::with_probe(Arc::new(requested))
}
