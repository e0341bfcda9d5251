//! A graph in shards, for the suite and the drivers.

use std::cell::RefCell;
use std::path::Path;
use std::sync::{Arc, Mutex};

use mangrove_cluster::log::{Commit, Follower, Position, Record, Section};
use mangrove_cluster::remote::{Known, Line, Remote};
use mangrove_cluster::section::{Recorder, apply};
use mangrove_cluster::wire::{Answer, Ask, NextLocals, SentError, answer, from_bytes, to_bytes};
use mangrove_cluster::{ClusterChange, ClusterView, Overlay, Placement};
use mangrove_graph::{
    Catalog, ExternalId, FollowerWrite, GraphError, GraphView, GraphWrite, IdSpace, LabelId, Result, Schema, ShardWrite,
};
use mangrove_hot::{Durability, Hot, HotOptions, HotSnapshot, HotTransaction, Patience, Sides, Writer};
use mangrove_testkit::oracle::{Homes, Oracle};
use mangrove_testkit::suite::{Condensing, StoreUnderTest, Transaction};
use tempfile::TempDir;

/// Shards, each a store of its own in this process.
pub struct Shards {
    /// Empty only between closing and opening again.
    pub stores: Vec<Hot>,
    pub placement: Placement,
    home: TempDir,
    /// If there is one, shards change only by following it, and all that reads them goes through bytes.
    log: Option<RefCell<Vec<Record>>>,
}

/// An oracle that gives the ids of shards.
pub fn oracle(placement: Placement, id_space: IdSpace) -> Oracle {
    let home = Arc::new(move |label: LabelId, id: &ExternalId| placement.home(label, id));
    Oracle::in_shards(id_space, Homes { shards: placement.shards, home })
}

fn open(home: &Path, placement: Placement) -> Result<Vec<Hot>> {
    let Placement { shards, id_space, .. } = placement;
    let options = HotOptions {
        durability: Durability::Relaxed,
        id_space,
        sides: Sides::Apart,
        seal_bytes: 0,
        ..HotOptions::default()
    };
    (0..shards).map(|number| Hot::open(&home.join(number.to_string()), &options)).collect()
}

impl Shards {
    /// Empty ones in a temporary directory.
    ///
    /// # Panics
    /// If they cannot be opened.
    pub fn new(shards: u16, id_space: IdSpace) -> Self {
        let (home, placement) =
            (tempfile::tempdir().expect("a temporary directory"), Placement { shards, seed: 7, id_space });
        Self { stores: open(home.path(), placement).expect("new stores"), placement, home, log: None }
    }

    /// The same. What a transaction does becomes a record of a log, and shards change only by following it.
    pub fn following(shards: u16, id_space: IdSpace) -> Self {
        Self { log: Some(RefCell::new(vec![Record::Open { term: 1, writer: 7 }])), ..Self::new(shards, id_space) }
    }

    /// The shards with changes above them, which they know nothing of.
    fn overlays(&self) -> Result<ClusterChange<Recorded>> {
        let above = |store: &Hot| far(store).map(|store| Recorder::new(Overlay::new(store)));
        let stores = self.stores.iter().map(above).collect::<Result<_>>()?;
        Ok(ClusterChange::new(stores, self.placement))
    }

    /// Lets all shards compress what they have.
    fn end_labels(&self) -> Result<()> {
        let Some(log) = &self.log else {
            let end = |store: &Hot| {
                let mut transaction = store.begin()?;
                transaction.end_labels()?;
                transaction.commit()
            };
            return self.stores.iter().try_for_each(end);
        };
        let mut sections = Vec::new();
        for (shard, mut store) in (0..).zip(self.overlays()?.into_stores()?) {
            store.end_labels()?;
            sections.push(Section::new(shard, store.into_parts().1));
        }
        self.append(log, sections)
    }

    /// Writes the next commit to the log, and lets the shards that it names follow.
    fn append(&self, log: &RefCell<Vec<Record>>, sections: Vec<Section>) -> Result<()> {
        let number = 1 + log.borrow().iter().filter(|record| matches!(record, Record::Commit(_))).count() as u64;
        let commit = Commit { term: 1, writer: 7, is_cut: true, number, requests: Vec::new(), sections };
        log.borrow_mut().push(Record::from_bytes(&Record::Commit(commit).to_bytes()?)?);
        (0..).zip(&self.stores).try_for_each(|(shard, store)| follow(store, shard, &log.borrow()))
    }
}

/// Applies what a shard has not applied of a log.
fn follow(store: &Hot, shard: u16, log: &[Record]) -> Result<()> {
    let position = store.snapshot()?.log_position()?;
    let position = position.map_or(Ok(Position::default()), |bytes| Position::from_bytes(&bytes))?;
    let mut follower = Follower::new(shard, position);
    for (offset, record) in (0..).zip(log).skip(position.next as usize) {
        let step = follower.read(offset, 0, record).expect("a whole log");
        if let Some(section) = step.section {
            let mut transaction = store.begin()?;
            apply(&section.changes, &mut transaction)?;
            transaction.put_log_position(&follower.position().to_bytes()?)?;
            transaction.commit()?;
        }
    }
    Ok(())
}

impl StoreUnderTest for Shards {
    fn snapshot(&self) -> Result<Box<dyn GraphView + '_>> {
        if self.log.is_some() {
            let stores = self.stores.iter().map(far).collect::<Result<_>>()?;
            return Ok(Box::new(ClusterView::over_stores(stores, self.placement)));
        }
        let stores = self.stores.iter().map(|store| store.snapshot().map(Box::new)).collect::<Result<_>>()?;
        Ok(Box::new(ClusterView::over_stores(stores, self.placement)))
    }

    fn begin(&self) -> Result<Box<dyn Transaction + '_>> {
        if let Some(log) = &self.log {
            return Ok(Box::new(Recording { shards: self, log, change: self.overlays()? }));
        }
        let stores = self.stores.iter().map(Hot::begin).collect::<Result<_>>()?;
        Ok(Box::new(Writing(ClusterChange::new(stores, self.placement))))
    }

    fn reopen(&mut self) -> Result<()> {
        self.stores.clear();
        self.stores = open(self.home.path(), self.placement)?;
        Ok(())
    }

    fn condense(&self, how: Condensing, meanwhile: &dyn Fn() -> bool) -> Result<()> {
        // Others write only when all shards are done, because each gives new ids behind what it has sealed.
        if !matches!(how, Condensing::Merge) {
            self.end_labels()?;
        }
        for store in &self.stores {
            let (writer, patience) = (Writer::this_thread(), Patience::ENDLESS);
            match how {
                Condensing::Seal => store.seal(writer, patience)?,
                Condensing::Merge => store.merge(writer, patience).map(|_| ())?,
                Condensing::Compact => store.compact(writer, patience).map(|_| ())?,
            }
        }
        if meanwhile() { Err(GraphError::Cancelled) } else { Ok(()) }
    }

    fn oracle(&self, id_space: IdSpace) -> Oracle {
        oracle(self.placement, id_space)
    }

    fn check(&self) -> Result<Vec<String>> {
        let mut all = Vec::new();
        for store in &self.stores {
            all.extend(store.check()?.violations.iter().map(|violation| violation.to_string()));
        }
        let stores = self.stores.iter().map(|store| store.snapshot().map(Box::new)).collect::<Result<_>>()?;
        all.extend(ClusterView::over_stores(stores, self.placement).unlisted()?);
        Ok(all)
    }
}

struct Writing(ClusterChange<HotTransaction>);

impl Transaction for Writing {
    fn graph(&mut self) -> &mut dyn GraphWrite {
        &mut self.0
    }

    fn commit(self: Box<Self>) -> Result<()> {
        let stores: Vec<HotTransaction> = self.0.into_stores()?;
        stores.into_iter().try_for_each(HotTransaction::commit)
    }
}

type Recorded = Recorder<Overlay<Box<Remote<Bytes>>>>;

/// A store that is asked by bytes, and answers by bytes.
#[derive(Clone)]
struct Bytes(Arc<Mutex<HotSnapshot>>);

impl Line for Bytes {
    fn ask(&self, ask: &Ask) -> Result<Answer> {
        let ask = from_bytes(&to_bytes(ask)?)?;
        let store = self.0.lock().expect("no panic");
        let answered = answer(&*store, ask).map_err(SentError::from);
        from_bytes::<Result<Answer, SentError>>(&to_bytes(&answered)?)?.map_err(GraphError::from)
    }
}

fn far(store: &Hot) -> Result<Box<Remote<Bytes>>> {
    let store = store.snapshot()?;
    let schema: Schema = from_bytes(&to_bytes(&**store.schema())?)?;
    assert_eq!(schema, **store.schema());
    let next = NextLocals::of_store(&store)?;
    let known = Known { schema: Arc::new(schema), statistics: store.statistics()?, next };
    Ok(Box::new(Remote::new(Bytes(Arc::new(Mutex::new(store))), Arc::new(known))))
}

/// A transaction in memory. Its sections go through the log.
struct Recording<'s> {
    shards: &'s Shards,
    log: &'s RefCell<Vec<Record>>,
    change: ClusterChange<Recorded>,
}

impl Transaction for Recording<'_> {
    fn graph(&mut self) -> &mut dyn GraphWrite {
        &mut self.change
    }

    fn commit(self: Box<Self>) -> Result<()> {
        let Self { shards, log, change } = *self;
        let mut sections = Vec::new();
        for (shard, store) in (0..).zip(change.into_stores()?) {
            let (_, changes) = store.into_parts();
            sections.extend((!changes.is_empty()).then(|| Section::new(shard, changes)));
        }
        shards.append(log, sections)
    }
}
