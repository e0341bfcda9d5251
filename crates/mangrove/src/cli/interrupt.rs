//! Ctrl-C: the first asks what is running to stop, the second ends the process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;

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

/// Whether Ctrl-C was pressed since [`listen`].
pub fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// From now on Ctrl-C is a request.
pub fn listen() {
    REQUESTED.store(false, Ordering::Relaxed);
}

/// Does `work`, and cancels `token` if Ctrl-C is pressed meanwhile.
pub fn cancelling<T>(token: &CancelToken, work: impl FnOnce() -> T) -> T {
    const POLL: Duration = Duration::from_millis(20);
    listen();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                if requested() {
                    token.cancel();
                }
                thread::park_timeout(POLL);
            }
        });
        let outcome = work();
        done.store(true, Ordering::Relaxed);
        watcher.thread().unpark();
        outcome
    })
}
