//! The jobs of a node.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mangrove_cluster::gateway::{Gateway, Peer};
use mangrove_cluster::wire::{SentError, from_bytes, to_bytes};
use mangrove_graph::{GraphError, ReadContext, Result};

use super::checkpoints::Shelf;
use super::job::Job;
use super::part::{Place, compute};
use super::words::{Asked, Failure, PartPlan, Told};

/// A node has parts of so many analyses. Those that have failed do not count.
const JOBS_MAX: usize = 64;

/// The parts of analyses that a node has.
pub struct Analyses {
    /// The name of the node.
    name: String,
    place: Place,
    jobs: Mutex<HashMap<u64, Arc<Job>>>,
}

impl Analyses {
    /// `own` is the way to the node itself that its gateway knows. Checkpoints are kept on `shelf`.
    pub fn new(name: String, gateway: Arc<Gateway>, own: Arc<dyn Peer>, shelf: Shelf) -> Self {
        Self { name, place: Place { gateway, own, shelf }, jobs: Mutex::default() }
    }

    fn jobs(&self) -> MutexGuard<'_, HashMap<u64, Arc<Job>>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a word, within these limits, to who has this number.
    ///
    /// # Errors
    /// If the word cannot be read.
    pub fn answer(&self, asked: &[u8], session: u64, limits: ReadContext) -> Result<Vec<u8>> {
        let told = match from_bytes(asked)? {
            Asked::Name => Ok(Told::Name(self.name.clone())),
            Asked::Begin(plan) => self.begin(*plan, session, &limits),
            Asked::Go { job, round, report, keep } => self.job(job).and_then(|job| {
                job.go(round, report.into(), keep)?;
                Ok(job.told(&limits))
            }),
            Asked::Frame { job, round, from, bytes } => {
                self.job(job).and_then(|job| job.put(round, from, bytes.0)).map(|()| Told::Taken)
            }
            Asked::Values { job, first, count } => self.job(job).and_then(|job| job.values(first, count)).map(Told::Values),
            Asked::End { job } => {
                let ended = self.jobs().remove(&job);
                ended.into_iter().for_each(|job| job.end(is_over()));
                Ok(Told::Ended)
            }
            Asked::Forget { names } => {
                let forgets = self.place.shelf.forget(names);
                forgets.map(|()| Told::Taken).map_err(|error| Failure::Graph(error.into()))
            }
        };
        to_bytes(&told.unwrap_or_else(Told::Failed))
    }

    fn job(&self, id: u64) -> Result<Arc<Job>, Failure> {
        self.jobs().get(&id).cloned().ok_or_else(is_over)
    }

    /// Takes a part, and waits until it is read.
    fn begin(&self, plan: PartPlan, session: u64, limits: &ReadContext) -> Result<Told, Failure> {
        let job = Arc::new(Job::new(plan.job, session, plan.at, plan.names.len() as u32));
        {
            let mut jobs = self.jobs();
            if jobs.values().filter(|job| !job.has_failed()).count() >= JOBS_MAX {
                return Err(unavailable("it has parts of as many analyses as it may".into()));
            }
            // A failed one is kept for those who still ask, but not for ever.
            if jobs.len() >= 2 * JOBS_MAX {
                jobs.retain(|_, job| !job.has_failed());
            }
            if jobs.contains_key(&plan.job) {
                return Err(unavailable("an analysis has this number already".into()));
            }
            jobs.insert(plan.job, job.clone());
        }
        let own = ReadContext { cancel: job.cancel.clone(), ..limits.clone() };
        let (place, computed) = (self.place.clone(), job.clone());
        let thread = std::thread::Builder::new().name("mangrove analysis".into());
        if let Err(error) = thread.spawn(move || compute(&place, &computed, plan, &own)) {
            job.end(unavailable(format!("no thread for an analysis: {error}")));
        }
        Ok(job.told(limits))
    }

    /// Ends what was begun by who has this number.
    pub fn has_gone(&self, session: u64) {
        let gone: Vec<Arc<Job>> = self.jobs().extract_if(|_, job| job.session == session).map(|(_, job)| job).collect();
        gone.into_iter().for_each(|job| job.end(is_over()));
    }
}

impl Drop for Analyses {
    fn drop(&mut self) {
        let all = std::mem::take(&mut *self.jobs());
        all.into_values().for_each(|job| job.end(unavailable("the node ends".into())));
    }
}

fn unavailable(what: String) -> Failure {
    Failure::Graph(SentError::from(GraphError::Unavailable(what)))
}

fn is_over() -> Failure {
    unavailable("the analysis has ended".into())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use mangrove_analytics::{AnalyticsError, Divided, Selection};
    use mangrove_cluster::log::{Log, MemoryLog};
    use mangrove_cluster::wire::Opaque;
    use mangrove_graph::IdSpace;
    use mangrove_link::{GraphAddress, Ways};

    use super::super::between::say;
    use super::super::words::NumberRun;
    use super::*;
    use crate::cluster::{NodeConfig, RunningNode, make_graph};

    /// A node of an empty graph, and its address.
    fn node(home: &std::path::Path) -> (RunningNode, GraphAddress) {
        let log: Arc<dyn Log> = Arc::new(MemoryLog::default());
        make_graph(&log, "test", 2, IdSpace::Graph).unwrap();
        let config = NodeConfig {
            name: "node-0".into(),
            data: home.to_owned(),
            shards: vec![0, 1],
            listen: "127.0.0.1:0".parse().unwrap(),
            advertise: None,
            tls: None,
            log,
            store: None,
            is_cancelled: &|| false,
        };
        let node = RunningNode::start(config).unwrap();
        let address = format!("mangrove://{}/test", node.address()).parse().unwrap();
        (node, address)
    }

    fn plan(job: u64, number: u64, runs: Vec<NumberRun>) -> Asked {
        Asked::Begin(Box::new(PartPlan {
            job,
            number,
            at: 0,
            names: vec!["node-0".into()],
            owners: vec![0, 0],
            vertices: 0,
            runs,
            id_places: Opaque::default(),
            selection: Selection::default(),
            divided: Divided::Wcc,
            threads: 1,
            memory_bytes: None,
            from: None,
        }))
    }

    /// What the node says of a job that somebody else has begun.
    fn asked_of(peer: &dyn Peer, job: u64) -> String {
        say(peer, &Asked::Values { job, first: 0, count: 0 }, &ReadContext::default()).unwrap_err().to_string()
    }

    #[test]
    fn a_job_ends_with_the_connection_of_its_client() {
        let home = tempfile::tempdir().unwrap();
        let (_node, address) = node(home.path());
        let (limits, other) = (ReadContext::default(), Ways::find(&address, "another client").unwrap().gateway());
        let still = other.cut(None).unwrap();
        let client = Ways::find(&address, "a client").unwrap().gateway();
        let cut = client.cut(None).unwrap();
        let begun = say(&*cut.nodes[0].0, &plan(7, cut.number, Vec::new()), &limits).unwrap().0;
        assert!(matches!(begun, Told::Come { round: 0, .. }), "{begun:?}");
        assert!(asked_of(&*still.nodes[0].0, 7).contains("not in the same round"), "it is there, and has no values yet");
        drop((cut, client));
        let until = Instant::now() + Duration::from_secs(10);
        while !asked_of(&*still.nodes[0].0, 7).contains("the analysis has ended") {
            assert!(Instant::now() < until, "the job goes on without its client");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    #[test]
    fn a_part_of_another_graph_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let (_node, address) = node(home.path());
        let (limits, client) = (ReadContext::default(), Ways::find(&address, "a client").unwrap().gateway());
        let cut = client.cut(None).unwrap();
        let refused = |asked| match say(&*cut.nodes[0].0, &asked, &limits) {
            Err(AnalyticsError::Graph(GraphError::Unavailable(what))) => what,
            other => panic!("{other:?}"),
        };
        let later = refused(plan(8, cut.number + 1_000, Vec::new()));
        assert!(later.contains(&format!("the graph at {} is not there", cut.number + 1_000)), "{later}");
        let run = NumberRun { label: 0, shard: 1, first: 0, count: 5 };
        let others = refused(plan(9, cut.number, vec![run]));
        assert!(others.contains("do not have the vertices that the client has read"), "{others}");
    }
}
