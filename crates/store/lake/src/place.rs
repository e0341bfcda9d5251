//! The directory on this machine for what can be made or fetched again.

use std::io;
use std::path::{Path, PathBuf};

/// Lets only its owner read a file, whatever its directory lets.
pub fn keep_private(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        let only_owner = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(path, only_owner)?;
    }
    let _ = path;
    Ok(())
}

/// Makes a directory that only its owner reads: indexes tell of the data.
pub fn make_private(root: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(root)
}

/// The directory that `MANGROVE_CACHE` names, or else `mangrove` in the user's directory of caches.
pub fn usual_place() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(given) = variable("MANGROVE_CACHE") {
        return Some(given);
    }
    let caches = if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        variable("HOME").map(|home| home.join("Library/Caches"))
    } else {
        variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")))
    };
    caches.map(|caches| caches.join("mangrove"))
}
