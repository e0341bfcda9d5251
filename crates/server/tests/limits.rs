//! What a server bounds, from the side of its clients.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use mangrove::{Database, Parameters, QueryOptions, Value};
use mangrove_server::client::{Client, ClientError, Received};
use mangrove_server::{Limits, Server, ServerOptions};

struct Served {
    server: Server,
    db: Database,
    directory: tempfile::TempDir,
}

impl Served {
    fn new(limits: Limits) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let db = Database::open(directory.path().join("db.mg")).unwrap();
        let options = ServerOptions { address: ([127, 0, 0, 1], 0).into(), limits, ..ServerOptions::default() };
        Self { server: Server::start(vec![("g".into(), db.clone())], options).unwrap(), db, directory }
    }

    fn client(&self) -> Client {
        Client::connect(&format!("ws://{}/gremlin", self.server.address()), "g").unwrap()
    }
}

fn submit(client: &mut Client, text: &str) -> Result<Vec<Received>, ClientError> {
    client.submit(text, &Parameters::new())
}

fn count(client: &mut Client) -> Value {
    match submit(client, "g.V().count()").unwrap().remove(0) {
        Received::Plain(count) => count,
        other => panic!("{other:?}"),
    }
}

/// The status that refuses something.
fn refused(result: Result<Vec<Received>, ClientError>) -> (i32, String) {
    match result {
        Err(ClientError::Refused { code, message }) => (code, message),
        other => panic!("{other:?}"),
    }
}

fn limits() -> Limits {
    Limits { timeout: Some(Duration::from_secs(20)), ..Limits::default() }
}

#[test]
fn time_in_the_line_counts() {
    let served = Served::new(Limits { running_max: 1, timeout: Some(Duration::from_millis(500)), ..limits() });
    let mut holder = served.client().in_session();
    submit(&mut holder, "g.addV()").unwrap();
    // The first waits for the transaction, and the second for the first.
    let mut others = [served.client(), served.client()];
    let begun = Instant::now();
    for other in &mut others {
        let request = other.request("g.addV()", &Parameters::new());
        other.send(&request).unwrap();
    }
    let (code, message) = refused(submit(&mut served.client(), "g.addV()"));
    assert_eq!(code, 598, "{message}");
    assert!(begun.elapsed() >= Duration::from_millis(500));
    // Those that read, and the session itself, do not wait in that line.
    assert_eq!(count(&mut served.client()), Value::Int64(0));
    assert_eq!(count(&mut holder), Value::Int64(1));
}

#[test]
fn a_transaction_that_is_idle_or_takes_long_is_rolled_back() {
    let brief = Duration::from_millis(300);
    for limits in [Limits { idle_transaction: brief, ..limits() }, Limits { transaction: brief, ..limits() }] {
        let is_idle = limits.idle_transaction == brief;
        let served = Served::new(limits);
        let mut session = served.client().in_session();
        submit(&mut session, "g.addV()").unwrap();
        let begun = Instant::now();
        let message = loop {
            std::thread::sleep(if is_idle { brief * 2 } else { brief / 10 });
            match submit(&mut session, "g.addV()") {
                Ok(_) => assert!(begun.elapsed() < Duration::from_secs(20), "the transaction goes on"),
                refusal => break refused(refusal).1,
            }
        };
        assert!(message.contains("rolled back"), "{message}");
        // Others may write, and the session may begin again.
        submit(&mut served.client(), "g.addV('other')").unwrap();
        assert_eq!(refused(submit(&mut session, "g.tx().commit()")).0, 500);
        submit(&mut session, "g.addV()").unwrap();
        submit(&mut session, "g.tx().commit()").unwrap();
        assert_eq!(count(&mut served.client()), Value::Int64(2));
    }
}

#[test]
fn a_closed_session_has_undone_its_transaction() {
    let served = Served::new(limits());
    for _ in 0..20 {
        let mut session = served.client().in_session();
        submit(&mut session, "g.addV()").unwrap();
        session.close_session().unwrap();
        // Nobody holds the graph any more.
        let options = QueryOptions { timeout: Some(Duration::ZERO), ..QueryOptions::default() };
        served.db.transaction_for(mangrove::Writer::this_thread(), options.timeout).unwrap().rollback();
    }
    assert_eq!(count(&mut served.client()), Value::Int64(0));
}

#[test]
fn open_requests_share_memory() {
    let served = Served::new(Limits { requests_bytes_max: 1 << 20, ..limits() });
    let many = |count: i32| Value::list((0..count).map(Value::Int32).collect());
    let with = |value: Value| [("x".to_owned(), value)].into_iter().collect::<Parameters>();
    let mut client = served.client();
    let (code, message) = refused(client.submit("g.inject(x).count(local)", &with(many(12_000))));
    assert_eq!(code, 429, "{message}");
    // The connection goes on, and smaller ones fit, one after the other.
    for _ in 0..20 {
        client.submit("g.inject(x).count(local)", &with(many(2_000))).unwrap();
    }
}

#[test]
fn a_client_that_reads_nothing_holds_its_query_no_longer_than_its_time() {
    let served = Served::new(Limits { running_max: 1, timeout: Some(Duration::from_secs(1)), ..limits() });
    let mut slow = served.client();
    let large: Parameters = [("x".to_owned(), Value::from("x".repeat(100_000)))].into_iter().collect();
    let request = slow.request("g.inject(1..10000).unfold().constant(x)", &large);
    slow.send(&request).unwrap();
    // It reads nothing, but others get their turn.
    let mut other = served.client();
    let begun = Instant::now();
    while submit(&mut other, "g.V().repeat(both()).times(1).count()").is_err() {
        assert!(begun.elapsed() < Duration::from_secs(20), "the slow client keeps its place");
    }
}

#[test]
fn a_server_that_stops_lets_queries_end_and_undoes_transactions() {
    let Served { server, db, directory } = Served::new(limits());
    let address = format!("ws://{}/gremlin", server.address());
    let mut session = Client::connect(&address, "g").unwrap().in_session();
    submit(&mut session, "g.addV('undone')").unwrap();
    let mut reader = Client::connect(&address, "g").unwrap();
    let waiting = std::thread::spawn(move || submit(&mut reader, "g.inject(1..90000).unfold().order().by(shuffle).count()"));
    std::thread::sleep(Duration::from_millis(50));
    server.stop();
    match waiting.join().unwrap() {
        Ok(results) => assert_eq!(results, [Received::Plain(Value::Int64(90_000))]),
        // It came after the end.
        Err(error) => assert!(!matches!(error, ClientError::Unreadable(_)), "{error}"),
    }
    assert!(submit(&mut session, "g.V()").is_err());
    drop(db);
    let db = Database::open(directory.path().join("db.mg")).unwrap();
    let mut left = db.query("g.V().count()", &Parameters::new(), &QueryOptions::default()).unwrap();
    assert_eq!(left.values().unwrap(), [Value::Int64(0)]);
}

#[test]
fn a_line_has_an_end() {
    let served = Served::new(limits().running(1));
    let mut holder = served.client().in_session();
    submit(&mut holder, "g.addV()").unwrap();
    // One waits for the transaction, sixteen for that one, and the others have no place.
    let answers: Vec<_> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..40)
            .map(|_| {
                let mut client = served.client();
                scope.spawn(move || submit(&mut client, "g.addV().id()"))
            })
            .collect();
        while clients.iter().filter(|client| client.is_finished()).count() < 40 - 17 {
            std::thread::yield_now();
        }
        submit(&mut holder, "g.tx().commit()").unwrap();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let (done, refusals): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert_eq!(done.len(), 17);
    for refusal in refusals {
        assert_eq!(refused(refusal).0, 429);
    }
    assert_eq!(count(&mut served.client()), Value::Int64(1 + 17));
}

/// The status of the answer to a POST over HTTP.
fn posted(served: &Served, path: &str, body: &str) -> u16 {
    let mut stream = TcpStream::connect(served.server.address()).unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    // The server may answer before it has read all.
    let _ = stream.write_all(body.as_bytes());
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    str::from_utf8(&answer[9..]).unwrap().parse().unwrap()
}

#[test]
fn a_body_that_finds_no_memory_is_refused_as_one_too_many() {
    let served = Served::new(Limits { requests_bytes_max: 256 << 10, ..limits() });
    let body = format!("{{\"gremlin\": \"g.inject('{}').count()\"}}", "x".repeat(1 << 20));
    for path in ["/gremlin", "/api/databases/g/query"] {
        assert_eq!(posted(&served, path, &body), 429, "{path}");
        assert_eq!(posted(&served, path, "{\"gremlin\": \"g.V().count()\"}"), 200, "{path}");
    }
}

/// A response as lines of JSON, whose head was read: eight results of so many bytes.
fn lines(served: &Served, bytes: usize) -> TcpStream {
    let body = format!(
        r#"{{"gremlin": "g.inject(1, 2, 3, 4, 5, 6, 7, 8).constant(x)", "parameters": {{"x": "{}"}}}}"#,
        "a".repeat(bytes)
    );
    let mut stream = TcpStream::connect(served.server.address()).unwrap();
    let head = "POST /api/databases/g/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                Accept: application/x-ndjson\r\nConnection: close\r\n";
    write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut begin = [0; 12];
    stream.read_exact(&mut begin).unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200");
    stream
}

/// Whether a response comes to its end.
fn is_whole(mut stream: TcpStream) -> bool {
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).is_ok() && rest.ends_with(b"0\r\n\r\n")
}

#[test]
fn streams_that_share_little_memory_come_to_their_end() {
    let served = Served::new(Limits { responses_bytes_max: 3 << 20, ..limits() });
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..3).map(|_| scope.spawn(|| is_whole(lines(&served, 3 << 20)))).collect();
        assert!(all.into_iter().all(|one| one.join().unwrap()));
    });
}

#[test]
fn a_client_that_takes_large_results_slowly_leaves_room_for_others() {
    let served = Served::new(Limits { responses_bytes_max: 16 << 20, ..limits() });
    let slow = lines(&served, 3 << 20);
    for _ in 0..20 {
        assert!(is_whole(lines(&served, 200 << 10)));
    }
    drop(slow);
}
