//! Connects the processes of a graph on many nodes: one stream of gRPC from each process to each node, on which calls of many threads go side
//! by side.
//!
//! ```text
//!   frames   calls and replies as messages of a stream
//!   server   a node that answers
//!   client   a way to a node
//!   ways     the ways to all nodes of a graph, found by asking one of them
//!   lake     the ways to the nodes of a lake
//!   identity the certificates of a process: beyond this machine, both sides show one
//! ```
//! The service is `mangrove.Node/Talk`. Each message is a frame: a number, and a call or a reply as postcard writes it.

mod client;
mod frames;
mod identity;
mod lake;
mod server;
mod ways;

use std::sync::OnceLock;

use tokio::runtime::{Builder, Runtime};

pub use client::Link;
pub use identity::{CA_FILE, CERTIFICATE_FILE, Identity, IdentityError, KEY_FILE};
pub use lake::{LakeNodeFound, LakeWays};
pub use server::{Serving, serve};
pub use ways::{GraphAddress, Nodes, Ways, find};

/// The path of the service.
const PATH: &str = "/mangrove.Node/Talk";
/// The most bytes of a message.
const MESSAGE_BYTES_MAX: usize = 1 << 30;

/// The threads that carry all messages of this process: one for each four cores. On few cores, two threads wake each other for every message.
fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut builder = Builder::new_multi_thread();
        let made = builder.worker_threads(cores.div_ceil(4)).thread_name("mangrove link").enable_all().build();
        made.expect("the system has threads")
    })
}
