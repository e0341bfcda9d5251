//! The resources of this machine, for default limits.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// The greatest default for the memory of a query.
const BYTES_MAX: u64 = 4 << 30;
/// Assumed memory of a machine that does not report it.
const UNKNOWN_BYTES: u64 = 4 << 30;

/// The default memory of a query: half of the memory of the machine or the container, at most 4 GB.
pub fn query_bytes_max() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let half = memory_bytes(Path::new("/")) / 2;
        usize::try_from(half.min(BYTES_MAX)).unwrap_or(usize::MAX)
    })
}

/// The memory of the machine, or less if the control group of this process has a limit.
fn memory_bytes(root: &Path) -> u64 {
    let read = |path: &str| fs::read_to_string(root.join(path)).ok();
    let groups = ["sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let limits = groups.into_iter().filter_map(|path| read(path)?.trim().parse::<u64>().ok());
    let machine = read("proc/meminfo").and_then(|text| total_bytes(&text)).unwrap_or(UNKNOWN_BYTES);
    limits.fold(machine, u64::min)
}

/// `MemTotal` of Linux's `/proc/meminfo`.
fn total_bytes(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_has_what_its_group_leaves_it() {
        assert_eq!(total_bytes("MemTotal:       16384 kB\nMemFree: 1 kB\n"), Some(16 << 20));
        assert_eq!(total_bytes("nothing of the kind"), None);
        assert_eq!(memory_bytes(Path::new("/no/such/root")), UNKNOWN_BYTES);
        assert!((1 << 20..=4 << 30).contains(&query_bytes_max()));
    }
}
