//! Why a server does not start.

use std::io;
use std::net::SocketAddr;

use thiserror::Error;

use crate::users::UsersError;
use crate::web::TlsError;

/// An error from starting a server.
#[derive(Debug, Error)]
pub enum ServerError {
    #[error(
        "{0} is not an address of this machine alone: to listen there, give users and TLS (--users, --tls-cert and --tls-key)"
    )]
    NotLoopback(SocketAddr),
    #[error("{0} is not an address of this machine alone: to show metrics there, give the node certificates (--tls)")]
    NoCertificates(SocketAddr),
    #[error(transparent)]
    Users(#[from] UsersError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("cannot listen on {address}: {error}")]
    Listen { address: SocketAddr, error: io::Error },
    #[error("cannot begin the log: {0}")]
    Log(io::Error),
    #[error("cannot send traces to {url}: {error}")]
    Traces { url: String, error: String },
    #[error("cannot start threads: {0}")]
    Threads(io::Error),
}
