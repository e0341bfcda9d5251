//! The jobs of a node: its parts of what several nodes do in [`rounds`](super::rounds).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use mangrove_analytics::AnalyticsError;
use mangrove_cluster::gateway::{Gateway, Peer};
use mangrove_cluster::wire::{SentError, from_bytes, to_bytes};
use mangrove_graph::{Budget, GraphError, ReadContext, Result, Schema};
use mangrove_query::stages_budget;

use super::analysis::Shelf;
use super::fragments::Schemas;
use super::rounds::between::{Between, PartWay};
use super::rounds::job::Job;
use super::rounds::words::{Asked, Failure, OwnPart, PartPlan, StagesPlan, Told, Work};
use super::{analysis, mesh};

/// A node has parts of so many jobs. Those that have failed do not count.
const JOBS_MAX: usize = 64;

/// The parts of jobs that a node has.
pub struct Jobs {
    /// The name of the node.
    name: String,
    place: Place,
    jobs: Mutex<HashMap<u64, Arc<Job>>>,
    schemas: Arc<Schemas>,
}

/// The node that does a part.
#[derive(Clone)]
struct Place {
    gateway: Arc<Gateway>,
    /// The way to the node itself.
    own: Arc<dyn Peer>,
    /// Where it keeps checkpoints.
    shelf: Shelf,
    /// The ways to other nodes that were found last, by name. To find them takes a message.
    others: Arc<Mutex<HashMap<String, Weak<dyn Peer>>>>,
}

impl Jobs {
    /// `own` is the way to the node itself that its gateway knows. Checkpoints are kept on `shelf`.
    pub fn new(name: String, gateway: Arc<Gateway>, own: Arc<dyn Peer>, shelf: Shelf, schemas: Arc<Schemas>) -> Self {
        Self { name, place: Place { gateway, own, shelf, others: Arc::default() }, jobs: Mutex::default(), schemas }
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
            Asked::Go { job: id, round, report, keep } => self.job(id).and_then(|job| {
                job.go(round, report.into(), keep)?;
                let told = job.told(&limits);
                if matches!(told, Told::Gave(_)) {
                    self.jobs().remove(&id);
                }
                Ok(told)
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

    /// How many have not failed.
    pub fn running(&self) -> usize {
        running(&self.jobs())
    }

    /// Takes a part, and waits until it has begun.
    fn begin(&self, mut plan: PartPlan, session: u64, limits: &ReadContext) -> Result<Told, Failure> {
        if plan.names.get(plan.at as usize) != Some(&self.name) {
            return Err(unavailable(format!("the node of this part is {}", self.name)));
        }
        let schema = match &mut plan.work {
            Work::Program(_) => Arc::default(),
            Work::Stages(StagesPlan { name, schema, .. }) => match self.schemas.get(*name, schema.take()) {
                Some(schema) => schema,
                None => return Ok(Told::Schema),
            },
        };
        // A vertex program counts its memory itself.
        let budget = match &plan.work {
            Work::Program(_) => Budget::default(),
            Work::Stages(stages) => stages_budget(&stages.message.0),
        };
        let job = Arc::new(Job::new(plan.job, session, (plan.at, plan.names.len() as u32), budget.clone()));
        {
            let mut jobs = self.jobs();
            if running(&jobs) >= JOBS_MAX {
                return Err(unavailable("it has parts of as many jobs as it may".into()));
            }
            // A failed one is kept for those who still ask, but not for ever.
            if jobs.len() >= 2 * JOBS_MAX {
                jobs.retain(|_, job| !job.has_failed());
            }
            if jobs.contains_key(&plan.job) {
                return Err(unavailable("a job has this number already".into()));
            }
            jobs.insert(plan.job, job.clone());
        }
        let own = ReadContext { cancel: job.cancel.clone(), budget, ..limits.clone() };
        let (place, computed) = (self.place.clone(), job.clone());
        let thread = std::thread::Builder::new().name("mangrove job".into());
        if let Err(error) = thread.spawn(move || work(&place, &computed, plan, &schema, own)) {
            job.end(unavailable(format!("no thread for a job: {error}")));
        }
        Ok(job.told(limits))
    }

    /// Ends what was begun by who has this number.
    pub fn has_gone(&self, session: u64) {
        let gone: Vec<Arc<Job>> = self.jobs().extract_if(|_, job| job.session == session).map(|(_, job)| job).collect();
        gone.into_iter().for_each(|job| job.end(is_over()));
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        let all = std::mem::take(&mut *self.jobs());
        all.into_values().for_each(|job| job.end(unavailable("the node ends".into())));
    }
}

fn running(jobs: &HashMap<u64, Arc<Job>>) -> usize {
    jobs.values().filter(|job| !job.has_failed()).count()
}

/// Does a part until it ends, or fails.
fn work(place: &Place, job: &Job, plan: PartPlan, schema: &Arc<Schema>, limits: ReadContext) {
    let ran = std::panic::AssertUnwindSafe(|| {
        let between = Between::new(job, ways(place, &plan.names, plan.at)?, limits);
        done(place, job, plan, schema, &between)
    });
    match std::panic::catch_unwind(ran) {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            place.others().clear(); // they may be elsewhere now
            job.end(error.into());
        }
        Err(_) => job.end(Failure::Panicked("the node's output says where".into())),
    }
}

fn done(
    place: &Place,
    job: &Job,
    plan: PartPlan,
    schema: &Arc<Schema>,
    between: &Between<'_>,
) -> Result<(), AnalyticsError> {
    let PartPlan { number, at, names, owners, work, .. } = plan;
    let part = OwnPart { number, at, parts: names.len(), owners };
    match work {
        Work::Program(program) => {
            let (gateway, own, shelf) = (&place.gateway, &place.own, &place.shelf);
            let (values, finished) = analysis::compute(gateway, own, shelf, between, part, *program)?;
            job.done(Told::Done(finished), Some(values));
        }
        Work::Stages(stages) => {
            let placement = place.gateway.placement();
            let gave = mesh::compute(placement, &place.own, schema, between, &part, &stages.message.0)?;
            job.done(Told::Gave(gave), None);
        }
    }
    Ok(())
}

impl Place {
    fn others(&self) -> MutexGuard<'_, HashMap<String, Weak<dyn Peer>>> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The ways to other nodes of these names.
    fn known(&self, names: &[&String]) -> Option<Vec<Arc<dyn Peer>>> {
        let known = self.others();
        names.iter().map(|name| known.get(*name)?.upgrade()).collect()
    }
}

/// The ways to the nodes of these names, which have the parts.
fn ways(place: &Place, names: &[String], at: u32) -> Result<Vec<PartWay>, GraphError> {
    let others: Vec<&String> = (0..).zip(names).filter(|(part, _)| *part != at).map(|(_, name)| name).collect();
    let found = match place.known(&others) {
        Some(known) => known,
        None => found(place, &others)?,
    };
    let mut found = others.into_iter().cloned().zip(found);
    Ok((0..names.len() as u32).map(|part| if part == at { None } else { found.next() }).collect())
}

/// Looks for nodes, and remembers where they are.
fn found(place: &Place, names: &[&String]) -> Result<Vec<Arc<dyn Peer>>, GraphError> {
    let mut all = place.gateway.peers().all()?;
    let mut ways = Vec::with_capacity(names.len());
    for name in names {
        let found = all.iter().position(|(known, _)| known == *name);
        let found = found.ok_or_else(|| GraphError::Unavailable(format!("{name} is not there")))?;
        let way = all.swap_remove(found).1?;
        place.others().insert((*name).clone(), Arc::downgrade(&way));
        ways.push(way);
    }
    Ok(ways)
}

fn unavailable(what: String) -> Failure {
    Failure::Graph(SentError::from(GraphError::Unavailable(what)))
}

fn is_over() -> Failure {
    unavailable("the job has ended".into())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use mangrove_analytics::{AnalyticsError, Divided, Selection};
    use mangrove_cluster::log::{Log, MemoryLog};
    use mangrove_cluster::wire::Opaque;
    use mangrove_graph::IdSpace;
    use mangrove_link::{GraphAddress, Ways};

    use super::super::rounds::between::say;
    use super::super::rounds::words::{NumberRun, ProgramPlan};
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
            work: Work::Program(Box::new(ProgramPlan {
                vertices: 0,
                runs,
                id_places: Opaque::default(),
                selection: Selection::default(),
                divided: Divided::Wcc,
                threads: 1,
                memory_bytes: None,
                from: None,
            })),
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
        while !asked_of(&*still.nodes[0].0, 7).contains("the job has ended") {
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
