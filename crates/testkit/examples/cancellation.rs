//! Measures how long heavy queries go on after they are cancelled.
//!
//! ```text
//! cargo run --release -p mangrove-testkit --example cancellation -- DB
//! ```
//! The queries fit the benchmark's RMAT-18: people with an age who know each other.

use std::time::{Duration, Instant};

use mangrove_directory::{OpenOptions, Store};
use mangrove_query::{CancelToken, Graph, Parameters, Query, QueryError, QueryErrorKind, QueryOptions};

const QUERIES: [&str; 9] = [
    "g.V().out('knows').out('knows').order().by('age')",
    "g.V().out('knows').out('knows').order().by('age').limit(10)",
    "g.V().out('knows').sample(1000000).count()",
    "g.V().out('knows').out('knows').group().by('age').by('name')",
    "g.V().out('knows').out('knows').out('knows').dedup().by('name').count()",
    "g.V().union(out('knows').out('knows'), in('knows').out('knows')).count()",
    "g.V().repeat(both('knows').simplePath()).times(4).count()",
    "g.V().local(out('knows').out('knows').order().by('age').limit(1)).count()",
    "g.V().as('a').out('knows').as('b').out('knows').where(eq('a')).select('a', 'b').by('name').count()",
];
const ROUNDS: u64 = 10;
/// The façade's default memory on a large machine.
const MEMORY_BYTES_MAX: usize = 4 << 30;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("a database, please")?;
    let store = Store::open(path, &OpenOptions { read_only: true, ..OpenOptions::default() })?;
    for text in QUERIES {
        let mut took = Vec::new();
        for round in 0..ROUNDS {
            // From the very beginning of a query to the point where it holds the most.
            took.extend(cancelled(&store, text, Duration::from_millis(20 + 150 * round))?);
        }
        took.sort_unstable();
        match (took.first(), took.last()) {
            (Some(least), Some(most)) => println!("{:>9.1?} to {:>9.1?}  {text}", least, most),
            _ => println!("over before it was cancelled  {text}"),
        }
    }
    Ok(())
}

/// The time from the cancellation to the end. `None` if the query ended before, or ran out of memory.
fn cancelled(store: &Store, text: &str, after: Duration) -> Result<Option<Duration>, Box<dyn std::error::Error>> {
    let cancel = CancelToken::default();
    let options = QueryOptions { cancel: cancel.clone(), memory_bytes_max: MEMORY_BYTES_MAX, ..QueryOptions::default() };
    let query = Query::parse(text)?;
    std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            let view = store.snapshot()?;
            let mut graph = Graph::Read(&view);
            let mut execution = query.execute(&mut graph, &Parameters::new(), &options)?;
            while execution.next(&mut graph)?.is_some() {}
            Ok::<(), QueryError>(())
        });
        std::thread::sleep(after);
        let said = Instant::now();
        cancel.cancel();
        match running.join().expect("no panic") {
            Err(error) if error.kind == QueryErrorKind::Cancelled => Ok(Some(said.elapsed())),
            Err(error) if error.kind == QueryErrorKind::Memory => Ok(None),
            Err(error) => Err(error.to_string().into()),
            Ok(()) => Ok(None),
        }
    })
}
