//! Ends this process at an exact system call.
//!
//! This program defines the functions of the C library that change files. The linker prefers them to the library's own, both
//! for LMDB and for Rust's standard library. Each definition asks the kernel directly. If a kill point is armed, the process
//! sends itself SIGKILL just before or just after the chosen call.
//!
//! ```text
//!   MANGROVE_KILL_POINT = "meta 3 after 20 always"         kill 20 µs after the third write of a meta page
//!   MANGROVE_KILL_POINT = "rename 1 before 0 condensing"   kill before the first rename while segments are worked on
//! ```
//!
//! This works on Linux. On other systems no point is ever reached, and the driver kills the writer at the end of its life.

#![cfg_attr(not(target_os = "linux"), allow(dead_code, unused_imports))]

use std::ffi::{c_char, c_int, c_long, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use libc::{iovec, off_t, size_t, ssize_t};
use mangrove_testkit::graphs::Random;

const ARMED: &str = "MANGROVE_KILL_POINT";
/// LMDB's two meta pages come first in its file. LMDB writes only a part of a meta page, but whole pages of everything else.
const META_OFFSET_MAX: i64 = 2 * 4096;
const META_BYTES_MAX: usize = 512;

/// A kind of system call, and how often a writer makes it in a few hundred milliseconds.
pub const CALLS: [(&str, u64); 8] = [
    ("rename", 6),
    ("unlink", 6),
    ("fsync", 12),
    ("fdatasync", 60),
    ("meta", 60),
    ("page", 200),
    ("write", 40),
    ("truncate", 2),
];

/// Each kind of call occurs only a few times in one seal, merge or compaction.
const OFTEN_CONDENSING: u64 = 4;

static IS_CONDENSING: AtomicBool = AtomicBool::new(false);

/// Sets whether segments are being worked on.
pub fn set_condensing(is_condensing: bool) {
    IS_CONDENSING.store(is_condensing, Ordering::SeqCst);
}

struct KillPoint {
    call: String,
    nth: u64,
    after: bool,
    delay: Duration,
    condensing: bool,
    seen: AtomicU64,
}

impl KillPoint {
    /// Counts a call. Returns whether it is the one to die at.
    fn is_at(&self, call: &str) -> bool {
        let counts = self.call == call && (!self.condensing || IS_CONDENSING.load(Ordering::SeqCst));
        counts && self.seen.fetch_add(1, Ordering::SeqCst) + 1 == self.nth
    }
}

/// A random kill point, in the form of a writer's environment variable.
pub fn random(random: &mut Random) -> (String, String) {
    let (call, often) = CALLS[random.below(CALLS.len() as u64) as usize];
    let when = ["before", "after"][random.below(2) as usize];
    let delay = [0, random.below(60)][random.below(2) as usize];
    let (often, scope) = [(often, "always"), (OFTEN_CONDENSING, "condensing")][random.below(2) as usize];
    (ARMED.into(), format!("{call} {} {when} {delay} {scope}", 1 + random.below(often)))
}

fn armed() -> Option<&'static KillPoint> {
    static POINT: OnceLock<Option<KillPoint>> = OnceLock::new();
    let point = POINT.get_or_init(|| {
        let text = std::env::var(ARMED).ok()?;
        let words: Vec<&str> = text.split(' ').collect();
        let [call, nth, when, delay, scope] = words[..] else { panic!("{ARMED}={text:?}") };
        Some(KillPoint {
            call: call.into(),
            nth: nth.parse().expect("the number of the call"),
            after: when == "after",
            delay: Duration::from_micros(delay.parse().expect("microseconds")),
            condensing: scope == "condensing",
            seen: AtomicU64::new(0),
        })
    });
    point.as_ref()
}

/// Makes the system call, and dies there if it is the one.
fn at<T>(call: &str, ask_kernel: impl FnOnce() -> T) -> T {
    let hit = armed().filter(|point| point.is_at(call));
    match hit {
        Some(point) if !point.after => die(point.delay),
        _ => {}
    }
    let result = ask_kernel();
    if let Some(point) = hit {
        die(point.delay);
    }
    result
}

fn die(delay: Duration) {
    let started = Instant::now();
    while started.elapsed() < delay {
        std::hint::spin_loop();
    }
    // SAFETY: the signal goes to this process itself.
    unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
}

fn write_call(offset: off_t, bytes: size_t) -> &'static str {
    if offset < META_OFFSET_MAX && bytes < META_BYTES_MAX { "meta" } else { "page" }
}

/// Defines functions of the C library, each with its kind of call and the system call behind it.
macro_rules! in_place_of_libc {
    ($(fn $name:ident($($argument:ident: $t:ty),*) -> $result:ty { $kind:expr => $($passed:expr),+ })*) => {
        $(
            /// # Safety
            /// The same as for the function of this name in the C library.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $t),*) -> $result {
                // SAFETY: the kernel gets the arguments as the caller passed them.
                at($kind, || unsafe { libc::syscall($($passed),+) } as $result)
            }
        )*
    };
}

#[cfg(target_os = "linux")]
in_place_of_libc! {
    fn rename(from: *const c_char, to: *const c_char) -> c_int {
        "rename" => libc::SYS_renameat2, libc::AT_FDCWD, from, libc::AT_FDCWD, to, 0 as c_int
    }
    fn unlink(path: *const c_char) -> c_int { "unlink" => libc::SYS_unlinkat, libc::AT_FDCWD, path, 0 as c_int }
    fn unlinkat(directory: c_int, path: *const c_char, flags: c_int) -> c_int {
        "unlink" => libc::SYS_unlinkat, directory, path, flags
    }
    fn fsync(fd: c_int) -> c_int { "fsync" => libc::SYS_fsync, fd }
    fn fdatasync(fd: c_int) -> c_int { "fdatasync" => libc::SYS_fdatasync, fd }
    fn ftruncate(fd: c_int, bytes: off_t) -> c_int { "truncate" => libc::SYS_ftruncate, fd, bytes }
    fn ftruncate64(fd: c_int, bytes: off_t) -> c_int { "truncate" => libc::SYS_ftruncate, fd, bytes }
    fn write(fd: c_int, from: *const c_void, n: size_t) -> ssize_t {
        if fd > 2 { "write" } else { "print" } => libc::SYS_write, fd, from, n
    }
    fn pwrite(fd: c_int, from: *const c_void, n: size_t, at: off_t) -> ssize_t {
        write_call(at, n) => libc::SYS_pwrite64, fd, from, n, at
    }
    fn pwrite64(fd: c_int, from: *const c_void, n: size_t, at: off_t) -> ssize_t {
        write_call(at, n) => libc::SYS_pwrite64, fd, from, n, at
    }
    fn pwritev(fd: c_int, from: *const iovec, n: c_int, at: off_t) -> ssize_t {
        "page" => libc::SYS_pwritev, fd, from, n, at, 0 as c_long
    }
    fn pwritev64(fd: c_int, from: *const iovec, n: c_int, at: off_t) -> ssize_t {
        "page" => libc::SYS_pwritev, fd, from, n, at, 0 as c_long
    }
}
