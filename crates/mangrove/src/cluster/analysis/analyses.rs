//! The jobs of a node.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mangrove_cluster::gateway::{Gateway, Peer};
use mangrove_cluster::wire::{SentError, from_bytes, to_bytes};
use mangrove_graph::{GraphError, ReadContext, Result};

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
    /// `own` is the way to the node itself that its gateway knows.
    pub fn new(name: String, gateway: Arc<Gateway>, own: Arc<dyn Peer>) -> Self {
        Self { name, place: Place { gateway, own }, jobs: Mutex::default() }
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
            Asked::Go { job, round, report } => self.job(job).and_then(|job| {
                job.go(round, report.into())?;
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
