//! A database over a backend that is not the embedded store: a graph in memory.

use std::path::Path;
use std::sync::{Arc, Mutex};

use mangrove::graph::{GraphError, GraphView, GraphWrite, ReadContext, Result, Schema, Through};
use mangrove::{
    Backend, BackendTransaction, BackendView, BulkLoad, CheckReport, Database, Parameters, Patience, QueryOptions,
    StoreStats, Value, Writer,
};
use mangrove_testkit::Oracle;

#[derive(Default)]
struct InMemory(Arc<Mutex<Arc<Oracle>>>);

impl InMemory {
    fn graph(&self) -> Arc<Oracle> {
        self.0.lock().unwrap().clone()
    }
}

fn refused<T>(what: &str) -> Result<T> {
    Err(GraphError::Invalid(format!("a graph in memory cannot {what}")))
}

impl Backend for InMemory {
    fn view(&self, limits: Option<ReadContext>) -> Result<Box<dyn BackendView>> {
        Ok(Box::new(Seen { graph: self.graph(), limits }))
    }

    fn begin(&self, _: Writer, _: Patience<'_>) -> Result<Box<dyn BackendTransaction>> {
        Ok(Box::new(Changing { graph: Oracle::clone(&self.graph()), kept: self.0.clone() }))
    }

    fn is_read_only(&self) -> bool {
        false
    }

    fn check(&self) -> Result<CheckReport> {
        Ok(CheckReport::default())
    }

    fn stats(&self) -> Result<StoreStats> {
        Ok(StoreStats { file_bytes: 7, ..StoreStats::default() })
    }

    fn backup(&self, _: &Path) -> Result<()> {
        refused("back itself up")
    }

    fn compact(&self, _: Writer, _: Patience<'_>) -> Result<u64> {
        refused("be compacted")
    }
}

struct Seen {
    graph: Arc<Oracle>,
    limits: Option<ReadContext>,
}

impl Through for Seen {
    type View<'a> = &'a Oracle;

    fn through(&self) -> Result<&Oracle> {
        self.limits.as_ref().map_or(Ok(()), ReadContext::check)?;
        Ok(&self.graph)
    }

    fn schema(&self) -> &Arc<Schema> {
        mangrove::graph::Catalog::schema(&*self.graph)
    }
}

impl BackendView for Seen {
    fn limit(&mut self, limits: Option<ReadContext>) {
        self.limits = limits;
    }
}

struct Changing {
    graph: Oracle,
    kept: Arc<Mutex<Arc<Oracle>>>,
}

impl BackendTransaction for Changing {
    fn graph(&mut self) -> &mut dyn GraphWrite {
        &mut self.graph
    }

    fn view(&self) -> &dyn GraphView {
        &self.graph
    }

    fn limit(&mut self, _: Option<ReadContext>) {}

    fn commit(self: Box<Self>) -> Result<()> {
        *self.kept.lock().unwrap() = Arc::new(self.graph);
        Ok(())
    }

    fn is_waited_for(&self) -> bool {
        false
    }

    fn is_unused(&self) -> Result<bool> {
        Ok(false)
    }

    fn into_bulk(self: Box<Self>) -> Result<Box<dyn BulkLoad>> {
        refused("load in bulk")
    }
}

fn values(database: &Database, text: &str) -> Vec<Value> {
    database.query(text, &Parameters::new(), &QueryOptions::default()).unwrap().values().unwrap()
}

#[test]
fn another_backend_answers_and_changes_as_the_embedded_store_does() {
    let database = Database::over(InMemory::default(), "in memory");
    values(
        &database,
        "g.addV('person').property('name', 'Ada').as('a').addV('person').property('name', 'Grace').addE('knows').to('a')",
    );
    assert_eq!(values(&database, "g.V().hasLabel('person').out('knows').values('name')"), [Value::from("Ada")]);

    let mut transaction = database.transaction().unwrap();
    let counted = |rows: mangrove::Rows| rows.values;
    transaction.query("g.addV('person')", &Parameters::new(), &QueryOptions::default()).unwrap();
    let within = transaction.query("g.V().count()", &Parameters::new(), &QueryOptions::default()).unwrap();
    assert_eq!(counted(within), [Value::from(3i64)]);
    assert_eq!(values(&database, "g.V().count()"), [Value::from(2i64)], "nobody else sees it before the commit");
    transaction.commit().unwrap();
    assert_eq!(values(&database, "g.V().count()"), [Value::from(3i64)]);

    assert_eq!(database.stats().unwrap().disk_bytes(), 7);
    assert!(database.check().unwrap().violations.is_empty());
    let refused = database.backup("somewhere").unwrap_err().to_string();
    assert!(refused.contains("cannot back itself up"), "{refused}");
    assert_eq!(database.path(), Path::new("in memory"));
}
