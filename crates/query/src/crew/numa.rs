//! The cores of the machine and their NUMA nodes.

use std::fs;

use core_affinity::CoreId;

#[derive(Clone, Copy, Debug)]
pub struct Core {
    id: CoreId,
    pub node: usize,
}

/// The cores this process may run on, ordered by node.
pub fn cores() -> Vec<Core> {
    let ids = core_affinity::get_core_ids().unwrap_or_default();
    let mut cores: Vec<Core> = ids.into_iter().map(|id| Core { id, node: node_of(id.id) }).collect();
    cores.sort_by_key(|core| (core.node, core.id.id));
    cores
}

/// The core of a worker. The first core stays free for the queries' own threads.
pub fn core_of(cores: &[Core], worker: usize) -> Option<Core> {
    cores.get((worker + 1) % cores.len().max(1)).copied()
}

/// Linux has a link to the node in the directory of each core. On other systems all cores count as one node.
fn node_of(core: usize) -> usize {
    let entries = fs::read_dir(format!("/sys/devices/system/cpu/cpu{core}")).into_iter().flatten().flatten();
    let nodes = entries.filter_map(|entry| entry.file_name().to_str()?.strip_prefix("node")?.parse().ok());
    nodes.min().unwrap_or(0)
}

/// Pins the calling thread to a core, if the system allows it.
pub fn pin(core: Core) {
    core_affinity::set_for_current(core.id);
}
