//! The boundary that no panic crosses.
//!
//! A panic is a bug of Mangrove, never of the user. [`run`] catches it, writes a report with its place to a file, and returns a
//! [`Bug`]. The drop of its transaction rolls back unfinished writes, and the database stays usable.
//!
//! A panic hook learns the place. It covers only code inside `run`, and threads of ours that such code waits for and whose panics
//! it passes on. It knows these threads by their names. All other panics go to the previous hook.

use std::backtrace::Backtrace;
use std::cell::{Cell, RefCell};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// A panic that the boundary of the library caught.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "a bug in Mangrove stopped this operation: {message} (at {place}). Nothing of it was stored, and you can go on using the \
     database. Please report it{}", report.as_ref().map(|path| format!(" with the file {}", path.display())).unwrap_or_default()
)]
pub struct Bug {
    pub message: String,
    /// Source file, line and column.
    pub place: String,
    /// The file with the details, if one could be written.
    pub report: Option<PathBuf>,
}

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    static CAUGHT: RefCell<Option<Caught>> = const { RefCell::new(None) };
}

/// The prefix of the names of all threads that this library starts.
const OUR_THREADS: &str = "mangrove ";

/// The last panic on such a thread.
static ELSEWHERE: Mutex<Option<Caught>> = Mutex::new(None);

/// What the hook learned about a panic.
struct Caught {
    message: String,
    place: String,
    backtrace: String,
}

/// Runs `work`. A panic in it becomes a [`Bug`], whose report goes to the directory `reports`. If that is not writable, it goes to
/// the directory for temporary files. `doing` describes the work in the report.
pub fn run<T, E: From<Bug>>(
    reports: &Path,
    doing: &dyn Fn() -> String,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    install_hook();
    let _span = tracing::debug_span!("call", what = %Lazy(doing)).entered();
    DEPTH.set(DEPTH.get() + 1);
    // `work` may leave state half changed. The callers see the error, and drop that state or mark it unusable.
    let outcome = catch_unwind(AssertUnwindSafe(work));
    DEPTH.set(DEPTH.get() - 1);
    outcome.unwrap_or_else(|_| Err(bug(reports, doing).into()))
}

/// Describes work only when a trace asks for it.
struct Lazy<'a>(&'a dyn Fn() -> String);

impl std::fmt::Display for Lazy<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&(self.0)())
    }
}

fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if DEPTH.get() > 0 {
                CAUGHT.set(Some(caught(info)));
            } else if std::thread::current().name().is_some_and(|name| name.starts_with(OUR_THREADS)) {
                *ELSEWHERE.lock().unwrap_or_else(PoisonError::into_inner) = Some(caught(info));
            } else {
                previous(info);
            }
        }));
    });
}

fn caught(info: &PanicHookInfo<'_>) -> Caught {
    Caught {
        message: info.payload_as_str().unwrap_or("panic").to_owned(),
        place: info.location().map(ToString::to_string).unwrap_or_else(|| "unknown place".into()),
        backtrace: Backtrace::force_capture().to_string(),
    }
}

fn bug(reports: &Path, doing: &dyn Fn() -> String) -> Bug {
    let elsewhere = || ELSEWHERE.lock().unwrap_or_else(PoisonError::into_inner).take();
    let caught = CAUGHT.take().or_else(elsewhere).unwrap_or_else(|| Caught {
        message: "panic".into(),
        place: "unknown place".into(),
        backtrace: String::new(),
    });
    let text = report_text(&caught, &doing());
    let name = report_name();
    let written = [reports.to_path_buf(), std::env::temp_dir()].into_iter().find_map(|directory| {
        let path = directory.join(&name);
        // Never open an existing file: in a shared directory for temporary files, another user may have made it.
        File::create_new(&path).and_then(|mut file| file.write_all(text.as_bytes())).ok().map(|()| path)
    });
    Bug { message: caught.message, place: caught.place, report: written }
}

fn report_text(caught: &Caught, doing: &str) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "mangrove {} on {} {}", env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH);
    let _ = writeln!(text, "{}\nat {}\nwhile {doing}\n\n{}", caught.message, caught.place, caught.backtrace);
    text
}

fn report_name() -> String {
    let millis = SystemTime::now().duration_since(UNIX_EPOCH).map(|since| since.as_millis()).unwrap_or(0);
    format!("mangrove-bug-{millis}-{}.txt", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_that_names_its_place_and_a_report() {
        let directory = std::env::temp_dir();
        let outcome: Result<(), Bug> = run(&directory, &|| "testing the guard".into(), || panic!("mangled {}", 7));
        let bug = outcome.unwrap_err();
        assert_eq!(bug.message, "mangled 7");
        assert!(bug.place.contains("guard.rs"), "{}", bug.place);
        let path = bug.report.expect("the temporary directory can be written to");
        let report = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(report.contains("mangled 7") && report.contains("while testing the guard"), "{report}");
        assert_eq!(run::<_, Bug>(&directory, &String::new, || Ok(5)).unwrap(), 5);
    }
}
