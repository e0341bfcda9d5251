//! A server for Mangrove's databases: the Gremlin protocol of TinkerPop 3 over WebSocket and HTTP.
//!
//! ```text
//!   web (WebSocket, HTTP) ── wire (GraphBinary, GraphSON) ── gremlin (requests, sessions, limits) ── mangrove
//! ```
//!
//! Queries block, so they run on threads of their own, a bounded number at a time. A client that does not take its results holds its
//! query back, and one that goes ends it.

pub mod client;
mod error;
pub mod gremlin;
mod node;
mod observe;
pub mod status;
pub mod users;
mod web;
pub mod wire;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mangrove::Database;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::time::timeout;

pub use error::ServerError;
use gremlin::Gremlin;
pub use gremlin::Limits;
pub use node::{NodeMetrics, NodeTraces};
pub use observe::LogTo;
use observe::{Observer, Traces};
use users::{Gatekeeper, Users};
use web::{CONNECTIONS_MAX, Flight, Http, Web};
pub use web::{TlsError, TlsFiles};

/// What a server listens to, and what bounds it.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Without users or without TLS, it must be of this machine alone. Port 0 takes any that is free.
    pub address: SocketAddr,
    /// Who may use the server. Without any, whoever reaches it may do everything.
    pub users: Users,
    pub tls: Option<TlsFiles>,
    pub limits: Limits,
    /// The most bytes of a request.
    pub request_bytes_max: usize,
    /// The most bytes of rows that come in bulk. They go to a temporary file first.
    pub ingest_bytes_max: u64,
    /// The directory of the backups that clients ask for; `None` if they may not.
    pub backups: Option<PathBuf>,
    /// Where a line goes for each request.
    pub log: Option<LogTo>,
    /// The port for Arrow Flight, if the server is to answer it. 0 takes any that is free.
    pub flight_port: Option<u16>,
    /// The URL of a collector of OpenTelemetry, which takes traces by OTLP over HTTP.
    pub traces: Option<String>,
    /// Queries that take at least so long are slow. They go to the log, or else to standard error.
    pub slow: Option<Duration>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            address: SocketAddr::from(([127, 0, 0, 1], 8182)),
            users: Users::default(),
            tls: None,
            limits: Limits::default(),
            request_bytes_max: 8 << 20,
            ingest_bytes_max: 4 << 30,
            backups: None,
            log: None,
            flight_port: None,
            traces: None,
            slow: None,
        }
    }
}

/// A server that runs until it is stopped or dropped.
///
/// ```
/// # let directory = tempfile::tempdir().unwrap();
/// use mangrove_server::{Server, ServerOptions};
///
/// let db = mangrove::Database::open(directory.path().join("db.mg")).unwrap();
/// let options = ServerOptions { address: ([127, 0, 0, 1], 0).into(), ..ServerOptions::default() };
/// let server = Server::start(vec![("g".into(), db)], options).unwrap();
/// println!("ws://{}/gremlin", server.address());
/// server.stop();
/// ```
pub struct Server {
    address: SocketAddr,
    flight_address: Option<SocketAddr>,
    web: Arc<Web>,
    stop: Option<oneshot::Sender<()>>,
    leave: watch::Sender<bool>,
    runtime: Option<Runtime>,
}

/// The most open connections for Arrow Flight.
const FLIGHT_CONNECTIONS_MAX: usize = 256;
/// How long queries may take to end when a server stops.
const STOPPING: Duration = Duration::from_secs(10);
/// How long the last responses may take to leave.
const LEAVING: Duration = Duration::from_secs(1);

impl Server {
    /// Serves databases by the names of their traversal sources. `g` stands for the first.
    pub fn start(databases: Vec<(String, Database)>, options: ServerOptions) -> Result<Self, ServerError> {
        let is_open = options.users.is_empty() || options.tls.is_none();
        if is_open && !options.address.ip().is_loopback() {
            return Err(ServerError::NotLoopback(options.address));
        }
        // Those that read and write sockets, and run short queries. Longer ones have threads of their own.
        let threads = std::thread::available_parallelism().map_or(2, |count| count.get().max(2));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("server")
            .enable_all()
            .build()
            .map_err(ServerError::Threads)?;
        let failed = |error| ServerError::Listen { address: options.address, error };
        let listener = runtime.block_on(TcpListener::bind(options.address)).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let of_flight = |port| SocketAddr::new(options.address.ip(), port);
        let bind_flight = |port| {
            let failed = |error| ServerError::Listen { address: of_flight(port), error };
            let listener = runtime.block_on(TcpListener::bind(of_flight(port))).map_err(failed)?;
            Ok::<_, ServerError>((listener.local_addr().map_err(failed)?, listener))
        };
        let flight = options.flight_port.map(bind_flight).transpose()?;
        let gatekeeper = Some(options.users).filter(|users| !users.is_empty()).map(Gatekeeper::new).transpose()?;
        let acceptor = |protocol| options.tls.as_ref().map(|files| files.acceptor(&[protocol])).transpose();
        let (tls, tls_of_flight) = (acceptor("http/1.1")?, acceptor("h2")?);
        let traces =
            options.traces.map(|url| Traces::to(&url).map_err(|error| ServerError::Traces { url, error })).transpose()?;
        let observer = Observer::new(options.log.as_ref(), options.slow.is_some(), traces).map_err(ServerError::Log)?;
        let observer = Arc::new(observer);
        let watched = |(name, database): (String, Database)| match options.slow {
            Some(after) => (name.clone(), observer.watch(name, database, after)),
            None => (name, database),
        };
        let databases = databases.into_iter().map(watched).collect();
        let gremlin = Arc::new(Gremlin::new(databases, options.limits, gatekeeper, observer, runtime.handle().clone()));
        let ((stop, stopped), (leave, leaving)) = (oneshot::channel(), watch::channel(false));
        let web = Arc::new(Web {
            gremlin,
            request_bytes_max: options.request_bytes_max,
            connections: Arc::new(Semaphore::new(CONNECTIONS_MAX)),
            ingest_bytes_max: options.ingest_bytes_max,
            backups: options.backups,
            jobs: Default::default(),
            transactions: Default::default(),
            leaving,
        });
        let http = Http { web: web.clone(), router: web::router(web.clone()) };
        let stopped = async { drop(stopped.await) };
        runtime.spawn(web::listen(listener, tls, web.connections.clone(), http, stopped));
        let flight_address = flight.map(|(address, listener)| {
            let its = web.clone();
            let left = async move { its.left().await };
            let places = Arc::new(Semaphore::new(FLIGHT_CONNECTIONS_MAX));
            runtime.spawn(web::listen(listener, tls_of_flight, places, Flight(web.clone()), left));
            address
        });
        Ok(Self { address, flight_address, web, stop: Some(stop), leave, runtime: Some(runtime) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it answers Arrow Flight, if it does.
    pub fn flight_address(&self) -> Option<SocketAddr> {
        self.flight_address
    }

    /// Takes no more requests, lets queries end for a while, and stops.
    pub fn stop(self) {}
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // It may have ended by itself.
            let _ = stop.send(());
        }
        if let Some(runtime) = self.runtime.take() {
            runtime.block_on(async {
                // Those that take longer are cancelled, as their connections end.
                let ended = async { tokio::join!(self.web.gremlin.drain(), self.web.jobs.end()) };
                let _ = timeout(STOPPING, ended).await;
                let _ = self.leave.send(true);
                let _ = timeout(LEAVING, self.web.connections.acquire_many(CONNECTIONS_MAX as u32)).await;
                // Sessions undo what they have not committed.
                self.web.transactions.forget_all();
                let _ = timeout(STOPPING, self.web.gremlin.end_of_sessions()).await;
            });
            runtime.shutdown_timeout(STOPPING);
        }
    }
}
