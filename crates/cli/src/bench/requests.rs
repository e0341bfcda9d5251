//! `mangrove bench requests`: how fast a Gremlin server answers.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use comfy_table::{Cell, CellAlignment};
use mangrove::{Parameters, Value};
use mangrove_server::client::{Client, ClientError, Received};
use serde_json::{Value as Json, json};

use super::super::{Failure, grouped, interrupt, output, query};
use super::BenchFormat;

/// How fast a Gremlin server answers a query: clients that each wait for a response before they send the next request, or that send
/// so many requests a second whether or not the server keeps up
#[derive(Args)]
pub struct BenchRequests {
    /// Address of the server, as in ws://127.0.0.1:8182/gremlin
    address: String,
    /// The query. It may use the variable x
    query: String,
    /// A query whose results are the values of x, in turn
    #[arg(long, value_name = "QUERY")]
    values: Option<String>,
    /// Traversal source
    #[arg(long, default_value = "g")]
    source: String,
    /// Numbers of clients to measure, one after the other
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,8,64")]
    clients: Vec<u16>,
    /// Measure each number of clients for so long
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = query::duration)]
    time: Duration,
    /// Send so many requests a second, by all clients together. Times count from when a request was to be sent
    #[arg(long, value_name = "N")]
    rate: Option<NonZeroU32>,
    /// Id of the server's process on this machine, to show the processor time of a request
    #[arg(long, value_name = "PID")]
    process: Option<u32>,
    /// Write the measurements in this format
    #[arg(long, value_enum, default_value = "table")]
    format: BenchFormat,
}

/// What some clients together have seen.
struct Seen {
    clients: u16,
    wall: Duration,
    /// Of each request that was answered, sorted.
    took: Vec<Duration>,
    /// The requests that the server was too busy for.
    refused: usize,
    results: usize,
    /// Processor time of the server.
    cpu: Option<Duration>,
}

impl BenchRequests {
    pub fn run(self) -> Result<(), Failure> {
        let values = self.values()?;
        let seen: Vec<Seen> =
            self.clients.iter().map(|clients| self.measure(*clients, &values)).collect::<Result<_, _>>()?;
        match self.format {
            BenchFormat::Json => output::print_text(&(Json::from_iter(seen.iter().map(as_json)).to_string() + "\n"))?,
            BenchFormat::Table => output::print_text(&table(&seen))?,
        }
        Ok(())
    }

    fn connect(&self) -> Result<Client, Failure> {
        Client::connect(&self.address, &self.source).map_err(failed)
    }

    fn values(&self) -> Result<Vec<Value>, Failure> {
        let Some(text) = &self.values else { return Ok(Vec::new()) };
        let values = self.connect()?.submit(text, &Parameters::new()).map_err(failed)?;
        let plain = values.into_iter().map(|value| match value {
            Received::Plain(value) => Ok(value),
            other => Err(Failure::Request(format!("--values gives plain values such as ids, not {other:?}"))),
        });
        let values: Vec<Value> = plain.collect::<Result<_, _>>()?;
        if values.is_empty() {
            return Err(Failure::Request("--values: the query has no results".into()));
        }
        Ok(values)
    }

    fn measure(&self, clients: u16, values: &[Value]) -> Result<Seen, Failure> {
        let mut connections: Vec<Client> = (0..clients).map(|_| self.connect()).collect::<Result<_, _>>()?;
        let (ready, is_over) = (Barrier::new(usize::from(clients) + 1), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let (ready, is_over) = (&ready, &is_over);
            let threads: Vec<_> = connections
                .iter_mut()
                .enumerate()
                .map(|(at, client)| {
                    let requests = self.requests(client, values);
                    // Each begins at another value.
                    let first = at * requests.len() / usize::from(clients);
                    let pace = Pace::new(self.rate, at, clients);
                    scope.spawn(move || ask(client, &requests, first, pace, ready, is_over))
                })
                .collect();
            ready.wait();
            let (begun, before) = (Instant::now(), self.cpu());
            while begun.elapsed() < self.time && !interrupt::requested() {
                std::thread::sleep(Duration::from_millis(10).min(self.time));
            }
            let (wall, after) = (begun.elapsed(), self.cpu());
            is_over.store(true, Ordering::Relaxed);
            let mut all = Asked::default();
            for thread in threads {
                let asked = thread.join().map_err(|_| Failure::Request("a client failed".into()))?.map_err(failed)?;
                all.took.extend(asked.took);
                all.results += asked.results;
                all.refused += asked.refused;
            }
            let Asked { mut took, refused, results } = all;
            took.sort_unstable();
            let cpu = before.zip(after).map(|(before, after)| after.saturating_sub(before));
            Ok(Seen { clients, wall, took, refused, results, cpu })
        })
    }

    /// The requests of a client, one for each value.
    fn requests(&self, client: &Client, values: &[Value]) -> Vec<Vec<u8>> {
        let with = |value: &Value| client.request(&self.query, &[("x".to_owned(), value.clone())].into_iter().collect());
        match values {
            [] => vec![client.request(&self.query, &Parameters::new())],
            values => values.iter().map(with).collect(),
        }
    }

    /// The processor time that the server has used.
    fn cpu(&self) -> Option<Duration> {
        let path = PathBuf::from(format!("/proc/{}/stat", self.process?));
        let stat = std::fs::read_to_string(path).ok()?;
        // The name of the process, in parentheses, may hold anything.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
        let ticks: u64 = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
        Some(Duration::from_millis(ticks * TICK_MS))
    }
}

/// A tick of the processor times that Linux shows.
const TICK_MS: u64 = 10;

/// What a client has seen.
#[derive(Default)]
struct Asked {
    took: Vec<Duration>,
    refused: usize,
    results: usize,
}

/// When a client sends its requests: one after the other, or at times of its own.
struct Pace {
    /// From the beginning to the first request.
    first: Duration,
    /// From each request to the next; `None` if the next one waits for the response.
    interval: Option<Duration>,
}

impl Pace {
    /// The pace of one of some clients, which together send so many requests a second.
    fn new(rate: Option<NonZeroU32>, at: usize, clients: u16) -> Self {
        let interval = rate.map(|rate| Duration::from_secs(1) / rate.get());
        let first = interval.map_or(Duration::ZERO, |interval| interval * at as u32);
        Self { first, interval: interval.map(|interval| interval * u32::from(clients)) }
    }

    /// Waits for the time of a request, and gives it.
    fn wait(&self, begun: Instant, turn: u32) -> Instant {
        let Some(interval) = self.interval else { return Instant::now() };
        let due = begun + self.first + interval * turn;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        due
    }
}

/// The code of a server that has too much to do.
const BUSY: i32 = 429;

/// Sends requests until it is told to end.
fn ask(
    client: &mut Client,
    requests: &[Vec<u8>],
    first: usize,
    pace: Pace,
    ready: &Barrier,
    is_over: &AtomicBool,
) -> Result<Asked, ClientError> {
    let mut asked = Asked::default();
    let warm = client.count(&requests[first]);
    ready.wait();
    match warm {
        Ok(_) | Err(ClientError::Refused { code: BUSY, .. }) => {}
        Err(error) => return Err(error),
    }
    let begun = Instant::now();
    for (request, turn) in requests.iter().cycle().skip(first).zip(0..) {
        let due = pace.wait(begun, turn);
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        match client.count(request) {
            Ok(count) => {
                asked.results += count;
                asked.took.push(due.elapsed());
            }
            Err(ClientError::Refused { code: BUSY, .. }) => asked.refused += 1,
            Err(error) => return Err(error),
        }
    }
    Ok(asked)
}

fn failed(error: ClientError) -> Failure {
    Failure::Request(error.to_string())
}

impl Seen {
    /// Requests each second.
    fn throughput(&self) -> f64 {
        self.took.len() as f64 / self.wall.as_secs_f64()
    }

    /// The time, in µs, that this part of the requests did not exceed.
    fn quantile(&self, part: f64) -> f64 {
        let at = ((self.took.len() as f64 * part) as usize).min(self.took.len().saturating_sub(1));
        self.took.get(at).map_or(f64::NAN, |took| took.as_secs_f64() * 1e6)
    }

    /// Processor time of the server for a request, in µs.
    fn cpu_micros(&self) -> Option<f64> {
        self.cpu.map(|cpu| cpu.as_secs_f64() * 1e6 / self.took.len().max(1) as f64)
    }
}

fn as_json(seen: &Seen) -> Json {
    json!({
        "clients": seen.clients,
        "requests": seen.took.len(),
        "refused": seen.refused,
        "results": seen.results,
        "seconds": seen.wall.as_secs_f64(),
        "per_second": seen.throughput(),
        "p50_us": seen.quantile(0.5),
        "p99_us": seen.quantile(0.99),
        "server_cpu_us": seen.cpu_micros(),
    })
}

fn table(seen: &[Seen]) -> String {
    let mut table = mangrove::show::drawing();
    table.set_header(["clients", "requests/s", "p50 µs", "p99 µs", "refused", "server CPU µs", "results a request"]);
    for seen in seen {
        let micros = |micros: f64| format!("{micros:.0}");
        table.add_row(
            [
                seen.clients.to_string(),
                grouped(seen.throughput() as u64),
                micros(seen.quantile(0.5)),
                micros(seen.quantile(0.99)),
                grouped(seen.refused as u64),
                seen.cpu_micros().map_or("".into(), micros),
                format!("{:.1}", seen.results as f64 / seen.took.len().max(1) as f64),
            ]
            .map(|cell| Cell::new(cell).set_alignment(CellAlignment::Right)),
        );
    }
    format!("{table}\n")
}
