//! A database as tools of an assistant: a server of the Model Context Protocol, over standard input and output.
//!
//! The tools are `schema`, `query`, `explain` and `search`. Their results are bounded, because an assistant reads all of them.

mod handler;
mod search;
mod tools;

use mangrove::Database;
use rmcp::ServiceExt;
use thiserror::Error;

use handler::Handler;
pub use tools::Allowed;

/// An error from serving.
#[derive(Debug, Error)]
pub enum McpError {
    #[error("cannot start threads: {0}")]
    Threads(std::io::Error),
    #[error("the client does not speak the Model Context Protocol: {0}")]
    Protocol(String),
}

/// Serves a database until the client closes standard input.
pub fn serve(database: Database, allowed: Allowed) -> Result<(), McpError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.map_err(McpError::Threads)?.block_on(async {
        let served = Handler::new(database, allowed).serve(rmcp::transport::stdio()).await;
        let running = served.map_err(|error| McpError::Protocol(error.to_string()))?;
        running.waiting().await.map(drop).map_err(|error| McpError::Protocol(error.to_string()))
    })
}
