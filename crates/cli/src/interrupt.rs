//! Ctrl-C. The first one asks the running work to stop; the second one ends the process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use mangrove::CancelToken;
use signal_hook::consts::{SIGINT, SIGTERM};

/// The exit code of a command that Ctrl-C stopped: 128 + signal, as in shells.
pub const EXIT_CODE: u8 = 130;

static REQUESTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| {
    let flag = Arc::new(AtomicBool::new(false));
    // The order matters: the second signal must see the flag that the first one set. If the system refuses the handlers, Ctrl-C
    // keeps its plain meaning and ends the process. A database survives that too.
    let _ = signal_hook::flag::register_conditional_shutdown(SIGINT, EXIT_CODE.into(), flag.clone());
    let _ = signal_hook::flag::register(SIGINT, flag.clone());
    flag
});

/// Turns Ctrl-C into a request to stop.
pub fn listen() {
    REQUESTED.store(false, Ordering::Relaxed);
}

/// Turns Ctrl-C, and the signal by which systems end a service, into a request to stop.
pub fn listen_to_end() {
    listen();
    // If the system refuses the handler, the signal ends the process at once.
    let _ = signal_hook::flag::register(SIGTERM, REQUESTED.clone());
}

/// Whether Ctrl-C was pressed since [`listen`].
pub fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// Starts to listen. Returns a token that Ctrl-C cancels.
pub fn token() -> CancelToken {
    listen();
    CancelToken::with_probe(Arc::new(requested))
}
