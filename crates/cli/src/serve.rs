//! `mangrove serve`: answers Gremlin drivers until it is stopped.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use mangrove::Database;
use mangrove_server::users::Users;
use mangrove_server::{Limits, LogTo, Server, ServerOptions, TlsFiles};

use super::query::duration;
use super::{Failure, interrupt, open_reading, open_writing, say};

/// How often it looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(50);

/// Serve databases to Gremlin drivers, over WebSocket and HTTP
#[derive(Args)]
pub struct Serve {
    /// Directory of a database, or NAME=DIRECTORY. Drivers choose a database by the name of its traversal source; the first is g
    #[arg(required = true, value_name = "DB")]
    databases: Vec<String>,
    /// Address to listen on. Without users and TLS, it must be of this machine alone
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    host: IpAddr,
    /// Port to listen on; 0 takes any that is free
    #[arg(long, default_value_t = 8182)]
    port: u16,
    /// Port for Arrow Flight, which sends and takes record batches; 0 takes any that is free
    #[arg(long, value_name = "PORT")]
    flight: Option<u16>,
    /// File of the users, made by `mangrove users`. Without it, whoever reaches the server may do everything
    #[arg(long, value_name = "FILE")]
    users: Option<PathBuf>,
    /// File of the certificate for TLS, in PEM, followed by those that signed it
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// File of the certificate's key, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Stop a query after this time, for example 500ms, 30s or 5m. A request may ask for less
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "30s")]
    timeout: Duration,
    /// Stop a query that needs more megabytes than this; default: an eighth of the machine's memory, at most 1024
    #[arg(long, value_name = "MB")]
    memory: Option<NonZeroUsize>,
    /// Run at most so many queries at a time; default: two for each processor
    #[arg(long, value_name = "N")]
    queries: Option<NonZeroUsize>,
    /// Refuse queries that change a graph
    #[arg(long)]
    read_only: bool,
    /// Let clients put backups into this directory
    #[arg(long, value_name = "DIRECTORY")]
    backups: Option<PathBuf>,
    /// Answer at most so many requests of a user in a second, or from an address on a server without users; default: no limit
    #[arg(long, value_name = "N")]
    rate: Option<NonZeroU32>,
    /// Append a line of JSON for each request to this file; `-` is standard error
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Send traces of requests to this collector of OpenTelemetry, by OTLP over HTTP, for example http://localhost:4318
    #[arg(long, value_name = "URL")]
    traces: Option<String>,
    /// Tell of queries that take at least this long, in the log or else on standard error
    #[arg(long, value_name = "TIME", value_parser = duration)]
    slow: Option<Duration>,
}

impl Serve {
    pub fn run(self) -> Result<(), Failure> {
        let databases = self.open()?;
        let limits = Limits::default();
        let limits = self.queries.map_or(limits.clone(), |queries| limits.running(queries.get()));
        let limits = Limits {
            timeout: Some(self.timeout),
            memory_bytes_max: self.memory.map_or(limits.memory_bytes_max, |mb| mb.get().saturating_mul(1 << 20)),
            rate_max: self.rate,
            ..limits
        };
        let address = SocketAddr::new(self.host, self.port);
        let names: Vec<String> = databases.iter().map(|(name, db)| format!("{name} = {}", db.path().display())).collect();
        let users = self.users.as_deref().map(Users::read).transpose()?;
        if let (Some(file), Some(true)) = (&self.users, users.as_ref().map(Users::is_empty)) {
            return Err(Failure::Request(format!("{} has no users: nobody could use the server", file.display())));
        }
        let tls = self.tls_cert.zip(self.tls_key).map(|(certificate, key)| TlsFiles { certificate, key });
        let is_secure = tls.is_some();
        let [gremlin, page] = if is_secure { ["wss", "https"] } else { ["ws", "http"] };
        let options = ServerOptions {
            address,
            users: users.unwrap_or_default(),
            tls,
            limits,
            backups: self.backups,
            log: self.log.map(|file| if file == Path::new("-") { LogTo::StandardError } else { LogTo::File(file) }),
            traces: self.traces,
            slow: self.slow,
            flight_port: self.flight,
            ..ServerOptions::default()
        };
        raise_limit_of_files();
        interrupt::listen_to_end();
        let server = Server::start(databases, options).map_err(|error| Failure::Request(error.to_string()))?;
        let address = server.address();
        say(&format!(
            "serving {} at {gremlin}://{address}/gremlin, and a page for people at {page}://{address}/; Ctrl-C stops",
            names.join(", ")
        ));
        if let Some(address) = server.flight_address() {
            say(&format!("Arrow Flight at {}://{address}", if is_secure { "grpc+tls" } else { "grpc" }));
        }
        while !interrupt::requested() {
            std::thread::sleep(LOOK);
        }
        say("stopping: no more requests, and queries have ten seconds to end");
        server.stop();
        Ok(())
    }

    fn open(&self) -> Result<Vec<(String, Database)>, Failure> {
        let mut databases: Vec<(String, Database)> = Vec::new();
        for (at, text) in self.databases.iter().enumerate() {
            // A path may hold `=`, too.
            let named = text.split_once('=').filter(|(name, _)| !name.contains(std::path::is_separator));
            let (name, path) = named.unwrap_or((if at == 0 { "g" } else { "" }, text));
            if name.is_empty() {
                return Err(Failure::Usage(format!(
                    "{text}: name the traversal source of each further database, as in routes={text}"
                )));
            }
            if databases.iter().any(|(known, _)| known == name) {
                return Err(Failure::Usage(format!("two databases have the traversal source {name}")));
            }
            let path = Path::new(path);
            let is_lake = mangrove::is_description(path);
            let database = if self.read_only || is_lake { open_reading(path)? } else { open_writing(path)? };
            databases.push((name.to_owned(), database));
        }
        Ok(databases)
    }
}

/// Each connection takes a file. Many systems let a process open 1,024 of them, unless it asks for more.
fn raise_limit_of_files() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let limit = getrlimit(Resource::Nofile);
        // A server with few files serves few clients, but serves.
        let _ = setrlimit(Resource::Nofile, rustix::process::Rlimit { current: limit.maximum, ..limit });
    }
}
