//! Runs TAO's operations and ZipG's graph searches on the store's view, without a query language. It measures the store alone.
//!
//! ```text
//! mangrove load DB --nodes User=users.csv --edges User:friend:User=User_friend_User.csv … --edge-time ts
//! cargo run --release -p mangrove-testkit --example tao -- DB 20000
//! ```
//! DB holds the data of the benchmark's suite `tao` (benches/compare/tao.py), with all five edge labels ordered by time. The second
//! argument is the number of runs of each operation. Inputs are drawn as in the suite: users evenly, lists of edges in proportion
//! to their length. Every operation starts with ids that users know and ends with the values in hand. Median and 95th percentile
//! are wall time of the only thread, without the time to read the clock. The mean is CPU time as the kernel counts it, in ticks.
//! That is too coarse for a few runs of a quick operation. `answers` counts what was found, so that two stores can be compared.

use std::collections::HashSet;
use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::time::{Duration, Instant};

use mangrove_directory::{OpenOptions, Store};
use mangrove_graph::{
    Adjacency, Cell, Comparison, Direction, EdgeRef, ElementId, ElementKind, Elements, ExternalId, Filter, GraphView, Hop,
    KeyId, LabelId, Latest, Predicate, PropertyId, Scan, ScanCursor, TextTest, Value, VertexId, Wants,
};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const LATEST: usize = 10;
const WINDOW_SECONDS: i64 = 10 * 86_400;
/// A slow operation runs only as often as fits into this time.
const OPERATION_SECONDS_MAX: u64 = 5;
const BATCH: usize = 8192;

fn main() -> Result<()> {
    let [path, runs] = <[String; 2]>::try_from(std::env::args().skip(1).collect::<Vec<_>>())
        .map_err(|_| "a database and how often to run each operation, please")?;
    let store = Store::open(path, &OpenOptions { read_only: true, ..OpenOptions::default() })?;
    let view = store.snapshot()?;
    let graph = Users::new(&view)?;
    let asked = Asked::draw(&graph, runs.parse()?)?;
    println!("{:36} {:>10} {:>10} {:>10} {:>8} {:>12}", "", "median µs", "p95 µs", "mean CPU", "runs", "answers");

    time("a user by id", &asked.users, |user| graph.vertex(user).map(|vertex| usize::from(black_box(vertex).0 > 0)));
    time("obj_get", &asked.users, |user| graph.obj_get(user));
    // Without a wait for memory: what is left is work.
    let one = vec![asked.users[0].clone(); asked.users.len()];
    time("obj_get, of one user again and again", &one, |user| graph.obj_get(user));
    time("one property (email)", &asked.users, |user| graph.property(user, graph.email));
    time("assoc_range, latest ten", &asked.lists, |list| graph.assoc_range(list));
    time("assoc_get", &asked.lists, |list| graph.assoc_get(list));
    time("assoc_count", &asked.lists, |list| graph.assoc_count(list));
    time("assoc_time_range, ten", &asked.lists, |list| graph.assoc_time_range(list));
    time("assoc_count of a window", &asked.lists, |list| graph.assoc_time_count(list));
    time("GS1, names of all friends", &asked.lists, |list| graph.friends_with_names(&list.user));
    time("GS1, ids alone", &asked.lists, |list| graph.friends(&list.user, None));
    time("GS2, friends in a city", &asked.lists, |list| graph.friends_in(&list.user, &list.city));
    if graph.has_index(graph.city) {
        time("GS3, a city by index, an interest", &asked.values, |values| graph.gs3_by_index(values));
    }
    time("GS3, scan", &asked.values, |values| graph.find(&[(graph.city, &values.city), (graph.interest, &values.interest)]));
    time("GS4, friends of one kind", &asked.lists, |list| graph.friends(&list.user, Some(list.label)));
    time("GS5, the data of all edges", &asked.lists, |list| graph.gs5(list));
    if graph.has_index(graph.employer) {
        time("an employer, by index", &asked.values, |values| graph.search(graph.employer, &values.employer));
        time("an employer, vertices alone", &asked.values, |values| graph.found(graph.employer, &values.employer));
    }
    time("a school, scan", &asked.values, |values| graph.find(&[(graph.school, &values.school)]));
    time("a part of a text, scan", &asked.values, |values| graph.find(&[(graph.bio, &values.part)]));
    // After `mangrove compact DB --encode User.bio=searchable`.
    if asked
        .values
        .iter()
        .any(|values| graph.view.is_searchable(PropertyId::of_vertices(graph.label, graph.bio), &values.part))
    {
        time("a part of a text, by search", &asked.values, |values| graph.search(graph.bio, &values.part));
        time("a rare part of a text, by search", &asked.values, |values| graph.search(graph.bio, &values.rare));
    }
    Ok(())
}

/// The graph, and the names that the operations use.
struct Users<'g> {
    view: &'g dyn GraphView,
    label: LabelId,
    types: Vec<LabelId>,
    keys: Vec<KeyId>,
    ts: KeyId,
    payload: KeyId,
    name: KeyId,
    email: KeyId,
    city: KeyId,
    interest: KeyId,
    employer: KeyId,
    school: KeyId,
    bio: KeyId,
}

/// The edges of one user with one label, and the arguments for reading them.
struct List {
    user: ExternalId,
    label: LabelId,
    /// Some vertices that the edges lead to, and some others.
    targets: Vec<ExternalId>,
    from: i64,
    to: i64,
    /// The city of one of the friends.
    city: Predicate,
}

/// The values to search for among all users.
struct Values {
    city: Predicate,
    interest: Predicate,
    employer: Predicate,
    school: Predicate,
    part: Predicate,
    /// Matches few users, or one.
    rare: Predicate,
}

struct Asked {
    users: Vec<ExternalId>,
    lists: Vec<List>,
    values: Vec<Values>,
}

impl<'g> Users<'g> {
    fn new(view: &'g dyn GraphView) -> Result<Self> {
        let schema = view.schema();
        let label = schema.label(ElementKind::Vertex, "User").ok_or("there are no vertices labelled User")?;
        let key = |name: &str| schema.key(name).ok_or(format!("there is no property {name}"));
        let ts = key("ts")?;
        if schema.edge_labels.iter().any(|label| label.time != Some(ts)) {
            return Err("the edges are not in the order of their times: load them with --edge-time ts".into());
        }
        Ok(Self {
            view,
            label,
            types: (0..schema.edge_labels.len() as u16).map(LabelId).collect(),
            keys: schema.vertex_labels[usize::from(label.0)].properties.iter().map(|property| property.key).collect(),
            ts,
            payload: key("payload")?,
            name: key("name")?,
            email: key("email")?,
            city: key("city")?,
            interest: key("interest")?,
            employer: key("employer")?,
            school: key("school")?,
            bio: key("bio")?,
        })
    }

    fn vertices(&self, users: &[ExternalId]) -> Result<Vec<VertexId>> {
        let mut found = Vec::with_capacity(users.len());
        self.view.find_vertices(Some(self.label), users, &mut found)?;
        Ok(found.into_iter().flatten().collect())
    }

    fn vertex(&self, user: &ExternalId) -> Result<VertexId> {
        self.vertices(std::slice::from_ref(user))?.pop().ok_or_else(|| format!("there is no user {user}").into())
    }

    /// The edges out of a user, of one label or of all. Within each label the latest comes last.
    fn out(&self, user: &ExternalId, label: Option<LabelId>, wants: Wants) -> Result<Adjacency> {
        let labels = Some(label.map_or_else(|| self.types.clone(), |label| vec![label]));
        let hop = Hop::along(Direction::Out, labels, wants);
        let mut found = Adjacency::default();
        self.view.neighbors(&[self.vertex(user)?], &hop, &mut found)?;
        Ok(found)
    }

    fn edges(&self, user: &ExternalId, label: Option<LabelId>) -> Result<Vec<EdgeRef>> {
        Ok(self.out(user, label, Wants { edges: true, ..Wants::default() })?.edges)
    }

    /// Reads the far end, the time and the payload of each edge.
    fn read(&self, edges: &[EdgeRef]) -> Result<usize> {
        for edge in edges {
            black_box(self.view.external_id(edge.target)?);
        }
        black_box(self.view.properties(Elements::Edges(edges), self.ts)?);
        black_box(self.view.properties(Elements::Edges(edges), self.payload)?);
        Ok(edges.len())
    }

    fn time_of(&self, edge: &EdgeRef) -> Result<i64> {
        let cell = self.view.cell(ElementId::Edge(edge.id), self.ts)?;
        cell.values().next().and_then(Value::as_i64).ok_or_else(|| "an edge without a time".into())
    }

    fn has_index(&self, key: KeyId) -> bool {
        self.view.schema().index(PropertyId::of_vertices(self.label, key)).is_some()
    }

    // ---- the operations; each returns how much it found

    fn obj_get(&self, user: &ExternalId) -> Result<usize> {
        let vertex = ElementId::Vertex(self.vertex(user)?);
        let mut cells = Vec::with_capacity(self.keys.len());
        self.view.cells(vertex, &self.keys, &mut cells)?;
        Ok(black_box(cells).iter().filter(|cell| !cell.is_absent()).count())
    }

    fn property(&self, user: &ExternalId, key: KeyId) -> Result<usize> {
        let cell = self.view.cell(ElementId::Vertex(self.vertex(user)?), key)?;
        Ok(usize::from(!black_box(cell).is_absent()))
    }

    fn assoc_range(&self, list: &List) -> Result<usize> {
        let wants = Wants { edges: true, ..Wants::default() };
        self.latest(list, Hop::along(Direction::Out, Some(vec![list.label]), wants))
    }

    fn assoc_get(&self, list: &List) -> Result<usize> {
        let targets = self.vertices(&list.targets)?;
        let mut edges = self.edges(&list.user, Some(list.label))?;
        edges.retain(|edge| targets.contains(&edge.target));
        self.read(&edges)
    }

    fn assoc_count(&self, list: &List) -> Result<usize> {
        let hop = Hop::along(Direction::Out, Some(vec![list.label]), Wants::default());
        let mut found = Vec::new();
        self.view.degrees(&[self.vertex(&list.user)?], &hop, &mut found)?;
        Ok(found[0] as usize)
    }

    fn assoc_time_range(&self, list: &List) -> Result<usize> {
        self.latest(list, self.window(list, Wants { edges: true, ..Wants::default() }))
    }

    fn latest(&self, list: &List, hop: Hop) -> Result<usize> {
        let latest = Some(Latest { key: self.ts, count: LATEST });
        let mut found = Adjacency::default();
        self.view.neighbors(&[self.vertex(&list.user)?], &Hop { latest, ..hop }, &mut found)?;
        self.read(&found.edges[found.edges.len().saturating_sub(LATEST)..])
    }

    fn assoc_time_count(&self, list: &List) -> Result<usize> {
        let mut found = Vec::new();
        self.view.degrees(&[self.vertex(&list.user)?], &self.window(list, Wants::default()), &mut found)?;
        Ok(found[0] as usize)
    }

    /// The edges of one label whose times lie in a window.
    fn window(&self, list: &List, wants: Wants) -> Hop {
        let bound = |comparison, time| Predicate::Compare(comparison, Value::Int64(time));
        let within = Predicate::And(vec![bound(Comparison::Gte, list.from), bound(Comparison::Lt, list.to)]);
        let filter = Some(Filter { key: self.ts, predicate: within });
        Hop { filter, ..Hop::along(Direction::Out, Some(vec![list.label]), wants) }
    }

    fn friends(&self, user: &ExternalId, label: Option<LabelId>) -> Result<usize> {
        let found = self.out(user, label, Wants { neighbors: true, ..Wants::default() })?.neighbors;
        for vertex in &found {
            black_box(self.view.external_id(*vertex)?);
        }
        Ok(found.len())
    }

    fn friends_with_names(&self, user: &ExternalId) -> Result<usize> {
        let found = self.out(user, None, Wants { neighbors: true, ..Wants::default() })?.neighbors;
        for vertex in &found {
            black_box(self.view.external_id(*vertex)?);
        }
        black_box(self.view.properties(Elements::Vertices(&found), self.name)?);
        Ok(found.len())
    }

    fn friends_in(&self, user: &ExternalId, city: &Predicate) -> Result<usize> {
        let found = self.out(user, None, Wants { neighbors: true, ..Wants::default() })?.neighbors;
        self.kept(found, self.city, city)
    }

    /// Reads the ids of the vertices whose property matches.
    fn kept(&self, mut found: Vec<VertexId>, key: KeyId, predicate: &Predicate) -> Result<usize> {
        let column = self.view.properties(Elements::Vertices(&found), key)?;
        let mut at = 0..found.len();
        found.retain(|_| at.next().is_some_and(|at| column.cell(at).values().any(|value| predicate.matches(value))));
        for vertex in &found {
            black_box(self.view.external_id(*vertex)?);
        }
        Ok(found.len())
    }

    fn gs3_by_index(&self, values: &Values) -> Result<usize> {
        let found = self
            .view
            .search_all(PropertyId::of_vertices(self.label, self.city), &values.city)?
            .ok_or("the index does not answer")?;
        self.kept(found.into_vertices(), self.interest, &values.interest)
    }

    fn gs5(&self, list: &List) -> Result<usize> {
        self.read(&self.edges(&list.user, None)?)
    }

    /// The result of an index, before ids for users are looked up.
    fn found(&self, key: KeyId, predicate: &Predicate) -> Result<usize> {
        let found =
            self.view.search_all(PropertyId::of_vertices(self.label, key), predicate)?.ok_or("the index does not answer")?;
        Ok(black_box(found).len())
    }

    fn search(&self, key: KeyId, predicate: &Predicate) -> Result<usize> {
        let found =
            self.view.search_all(PropertyId::of_vertices(self.label, key), predicate)?.ok_or("the index does not answer")?;
        let found = found.into_vertices();
        for vertex in &found {
            black_box(self.view.external_id(*vertex)?);
        }
        Ok(found.len())
    }

    /// All users that match, found by a scan.
    fn find(&self, wanted: &[(KeyId, &Predicate)]) -> Result<usize> {
        let filters = wanted.iter().map(|(key, predicate)| Filter { key: *key, predicate: (*predicate).clone() }).collect();
        let (scan, mut cursor) =
            (Scan { labels: Some(vec![self.label]), filters, ..Scan::default() }, ScanCursor::default());
        let mut found = Vec::new();
        while !cursor.done {
            self.view.scan_vertices(&scan, &mut cursor, BATCH, &mut found)?;
        }
        for vertex in &found {
            black_box(self.view.external_id(*vertex)?);
        }
        Ok(found.len())
    }
}

impl Asked {
    fn draw(graph: &Users<'_>, runs: usize) -> Result<Self> {
        let (users, edges) = (all_users(graph)?, all_edges(graph)?);
        if users.is_empty() || edges.is_empty() {
            return Err("there are no users or no edges".into());
        }
        let mut random = Random(88_172_645_463_325_252);
        let mut asked = Self { users: Vec::new(), lists: Vec::new(), values: Vec::new() };
        for _ in 0..runs {
            let user = users[random.below(users.len())];
            asked.users.push(graph.view.external_id(user)?);
            asked.lists.push(list(graph, &users, &edges[random.below(edges.len())], &mut random)?);
            asked.values.push(values(graph, user, &mut random)?);
        }
        Ok(asked)
    }
}

fn list(graph: &Users<'_>, users: &[VertexId], edge: &EdgeRef, random: &mut Random) -> Result<List> {
    let user = graph.view.external_id(edge.source)?;
    let label = edge.id.label();
    let there = graph.edges(&user, Some(label))?;
    let mut targets: HashSet<VertexId> = (0..5).map(|_| there[random.below(there.len())].target).collect();
    targets.extend((0..5).map(|_| users[random.below(users.len())]));
    let ts = graph.time_of(edge)?;
    Ok(List {
        user,
        label,
        targets: targets.into_iter().map(|target| graph.view.external_id(target)).collect::<std::result::Result<_, _>>()?,
        from: ts - WINDOW_SECONDS,
        to: ts + WINDOW_SECONDS,
        city: Predicate::eq(text(graph, edge.target, graph.city)?),
    })
}

fn values(graph: &Users<'_>, user: VertexId, random: &mut Random) -> Result<Values> {
    let equal = |key| text(graph, user, key).map(|value| Predicate::eq(value.as_str()));
    let bio = text(graph, user, graph.bio)?;
    let from = random.below(bio.len().saturating_sub(12).max(1));
    let part = bio.get(from..(from + 12).min(bio.len())).unwrap_or(&bio).trim();
    Ok(Values {
        city: equal(graph.city)?,
        interest: equal(graph.interest)?,
        employer: equal(graph.employer)?,
        school: equal(graph.school)?,
        rare: Predicate::Text(TextTest::Contains, bio.chars().take(24).collect::<String>().into()),
        part: Predicate::Text(TextTest::Contains, part.into()),
    })
}

fn text(graph: &Users<'_>, user: VertexId, key: KeyId) -> Result<String> {
    match graph.view.cell(ElementId::Vertex(user), key)? {
        Cell::One(Value::String(text)) => Ok(text.to_string()),
        other => Err(format!("`{}` is a text of every user, not {other:?}", graph.view.schema().key_name(key)).into()),
    }
}

fn all_users(graph: &Users<'_>) -> Result<Vec<VertexId>> {
    let (scan, mut cursor) = (Scan::of(graph.label), ScanCursor::default());
    let mut found = Vec::new();
    while !cursor.done {
        graph.view.scan_vertices(&scan, &mut cursor, BATCH, &mut found)?;
    }
    Ok(found)
}

fn all_edges(graph: &Users<'_>) -> Result<Vec<EdgeRef>> {
    let (scan, mut cursor, mut found) = (Scan::default(), ScanCursor::default(), Vec::new());
    while !cursor.done {
        graph.view.scan_edges(&scan, &mut cursor, BATCH, &mut found)?;
    }
    Ok(found)
}

/// A small generator (xorshift), the same every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 32) as usize) % bound
    }
}

// ---- the clock

/// Runs an operation on each input and prints its times. A tenth of the inputs runs beforehand as a warm-up.
fn time<T>(what: &str, asked: &[T], operation: impl Fn(&T) -> Result<usize>) {
    let run = |one: &T| operation(one).unwrap_or_else(|error| panic!("{what}: {error}"));
    let limit = Duration::from_secs(OPERATION_SECONDS_MAX);
    let began = Instant::now();
    let mut warm = asked.iter().take(asked.len() / 10).map(run);
    while began.elapsed() < limit / 5 && warm.next().is_some() {}

    let (clock, mut took, mut answers) = (clock_seconds(), Vec::with_capacity(asked.len()), 0);
    let (began, cpu) = (Instant::now(), cpu_seconds());
    for one in asked {
        let start = Instant::now();
        answers += run(one);
        took.push(start.elapsed().as_secs_f64() - clock);
        if began.elapsed() > limit {
            break;
        }
    }
    let count = took.len() as f64;
    let spent = cpu.and_then(|cpu| Some(cpu_seconds()? - cpu)).unwrap_or_else(|| began.elapsed().as_secs_f64());
    took.sort_unstable_by(f64::total_cmp);
    let (median, p95) = (took[took.len() / 2] * 1e6, took[took.len() * 95 / 100] * 1e6);
    let mean = (spent / count - 2.0 * clock) * 1e6;
    println!("{what:36} {median:10.2} {p95:10.2} {mean:10.2} {:8} {answers:12}", took.len());
}

/// The time to read the clock once.
fn clock_seconds() -> f64 {
    const READS: u32 = 10_000;
    let began = Instant::now();
    for _ in 0..READS {
        black_box(Instant::now());
    }
    began.elapsed().as_secs_f64() / f64::from(READS)
}

/// CPU time of this thread, the only one, as the kernel counts it.
fn cpu_seconds() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<f64>().ok()? * 1e-9)
}
