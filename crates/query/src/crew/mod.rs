//! The threads that help queries. They serve all queries of a database and live as long as it is open.
//!
//! ```text
//!   query's own thread ── offers ──▶ jobs of its home region ◀── take ── workers of the region
//!           │                                   ▲
//!           └── runs messages itself            └── steal ── workers of the same NUMA node, then any
//! ```
//!
//! A query runs on the thread that called it. When one of its steps has many messages to work on (see
//! [`parallel`](crate::execute)), the query offers them as a *job*. Idle workers run some of the messages; the query runs the
//! others itself. So a light query never waits for a heavy one: it can always finish alone.
//!
//! Each worker belongs to a *region*. A worker takes one message at a time. It picks the job of its region whose query has had the
//! least help so far (fair queuing by virtual time). If its region has no job, it steals from other regions of its NUMA node, then
//! from any region (Grasper, SoCC'19, §4.3). Workers can be pinned to cores.

mod numa;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;

/// Work in messages, which any thread may run.
pub trait Job: Send + Sync {
    /// Runs one message; false if there is none to run now. `stolen` is true if the worker belongs to another region.
    fn run_one(&self, stolen: bool) -> bool;

    /// Nanoseconds of help the query has had.
    fn helped(&self) -> u64;
}

/// How many threads help, and how they are grouped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CrewOptions {
    /// Threads beside the queries' own. Default: one less than the machine has cores, but at least one.
    pub workers: usize,
    /// Workers in a region.
    pub region_workers: usize,
    /// Pin each worker to a core of its own.
    pub pin: bool,
    /// Let workers take messages of other regions.
    pub steal: bool,
    /// A batch of fewer rows stays with the query's own thread.
    pub rows_min: usize,
    /// Give workers their steps and traversers as bytes, and take results so, as if they were another process. It only costs time.
    /// Tests use it.
    pub sends_bytes: bool,
}

impl Default for CrewOptions {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self { workers: (cores - 1).max(1), region_workers: 4, pin: false, steal: true, rows_min: 1024, sends_bytes: false }
    }
}

/// The threads that help. They start when the first job is offered.
pub struct Crew {
    options: CrewOptions,
    shared: Arc<CrewState>,
    workers: OnceLock<Vec<JoinHandle<()>>>,
    process: u32,
}

#[derive(Default)]
struct CrewState {
    regions: Vec<Region>,
    steal: bool,
    /// Decides the home region of the next job.
    next: AtomicUsize,
    /// Rises at each wake-up, so that a worker notices what came while it looked around.
    news: AtomicU64,
    sleepers: Mutex<usize>,
    awake: Condvar,
    stopping: AtomicBool,
}

struct Region {
    node: usize,
    jobs: Mutex<Vec<Arc<dyn Job>>>,
}

impl Crew {
    pub fn new(options: CrewOptions) -> Self {
        let options = CrewOptions { region_workers: options.region_workers.max(1), ..options };
        let cores = numa::cores();
        let node_of = |worker: usize| numa::core_of(&cores, worker).map_or(0, |core| core.node);
        let region = |first: usize| Region { node: node_of(first), jobs: Mutex::default() };
        let regions = (0..options.workers).step_by(options.region_workers).map(region).collect();
        let shared = Arc::new(CrewState { regions, steal: options.steal, ..CrewState::default() });
        Self { options, shared, workers: OnceLock::new(), process: std::process::id() }
    }

    fn start(&self) -> Vec<JoinHandle<()>> {
        let CrewOptions { workers, region_workers, pin, .. } = self.options;
        let cores = if pin { numa::cores() } else { Vec::new() };
        let start = |worker: usize| {
            let (shared, core) = (self.shared.clone(), numa::core_of(&cores, worker));
            std::thread::Builder::new().name(format!("mangrove worker {worker}")).spawn(move || {
                core.inspect(|core| numa::pin(*core));
                shared.work(worker / region_workers);
            })
        };
        // The system may refuse threads. Queries then have fewer helpers, or none.
        (0..workers).map_while(|worker| start(worker).ok()).collect()
    }

    /// Whether workers get everything as bytes.
    pub fn sends_bytes(&self) -> bool {
        self.options.sends_bytes
    }

    /// The rows from which on a batch is handed out.
    pub fn rows_min(&self) -> usize {
        self.options.rows_min.max(1)
    }

    /// The number of workers.
    pub fn len(&self) -> usize {
        self.options.workers
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Lets workers run messages of `job` until the offer is dropped.
    pub fn offer(self: &Arc<Self>, job: Arc<dyn Job>) -> Offer {
        self.workers.get_or_init(|| self.start());
        let region = self.shared.next.fetch_add(1, Ordering::Relaxed) % self.shared.regions.len().max(1);
        locked(&self.shared.regions[region].jobs).push(job.clone());
        self.shared.wake();
        Offer { crew: self.clone(), region, job }
    }
}

impl Default for Crew {
    fn default() -> Self {
        Self::new(CrewOptions::default())
    }
}

impl std::fmt::Debug for Crew {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Crew").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        let workers = self.workers.take().unwrap_or_default();
        if self.process != std::process::id() {
            // A forked process does not have these threads, so joining them would wait for ever.
            std::mem::forget(workers);
            return;
        }
        self.shared.stopping.store(true, Ordering::Release);
        self.shared.wake();
        let me = std::thread::current().id();
        for worker in workers {
            // A worker may drop the last handle, because its job may hold one. It must not join itself.
            if worker.thread().id() != me {
                let _ = worker.join();
            }
        }
    }
}

/// A job that workers may help with.
pub struct Offer {
    crew: Arc<Crew>,
    region: usize,
    job: Arc<dyn Job>,
}

impl Offer {
    /// Announces that there are messages again.
    pub fn more(&self) {
        self.crew.shared.wake();
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        let mut jobs = locked(&self.crew.shared.regions[self.region].jobs);
        jobs.retain(|job| !Arc::ptr_eq(job, &self.job));
    }
}

impl CrewState {
    fn work(&self, home: usize) {
        loop {
            let news = self.news.load(Ordering::Acquire);
            if self.stopping.load(Ordering::Acquire) {
                return;
            }
            // A panic in a message belongs to its query, not to the worker.
            let ran = catch_unwind(AssertUnwindSafe(|| self.run_one(home))).unwrap_or(true);
            if !ran {
                self.sleep(news);
            }
        }
    }

    fn run_one(&self, home: usize) -> bool {
        if self.regions[home].run_one(false) {
            return true;
        }
        let node = self.regions[home].node;
        let others = || self.regions.iter().enumerate().filter(|(region, _)| *region != home).map(|(_, region)| region);
        let near = others().filter(|region| region.node == node);
        let far = others().filter(|region| region.node != node);
        self.steal && near.chain(far).any(|region| region.run_one(true))
    }

    fn sleep(&self, news: u64) {
        let mut sleepers = locked(&self.sleepers);
        *sleepers += 1;
        while self.news.load(Ordering::Acquire) == news {
            sleepers = self.awake.wait(sleepers).unwrap_or_else(PoisonError::into_inner);
        }
        *sleepers -= 1;
    }

    fn wake(&self) {
        self.news.fetch_add(1, Ordering::Release);
        if *locked(&self.sleepers) > 0 {
            self.awake.notify_all();
        }
    }
}

impl Region {
    /// Runs one message of the job whose query has had the least help.
    fn run_one(&self, stolen: bool) -> bool {
        let mut jobs: Vec<Arc<dyn Job>> = locked(&self.jobs).clone();
        // Cached, because it grows during the sort.
        jobs.sort_by_cached_key(|job| job.helped());
        jobs.iter().any(|job| job.run_one(stolen))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A job of `left` messages that counts how many ran.
    struct Counting {
        left: AtomicUsize,
        run: AtomicUsize,
        stolen: AtomicUsize,
        helped: u64,
    }

    impl Counting {
        fn new(messages: usize, helped: u64) -> Arc<Self> {
            let [left, run, stolen] = [messages, 0, 0].map(AtomicUsize::new);
            Arc::new(Self { left, run, stolen, helped })
        }
    }

    impl Job for Counting {
        fn run_one(&self, stolen: bool) -> bool {
            let claimed = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
            self.run.fetch_add(usize::from(claimed), Ordering::SeqCst);
            self.stolen.fetch_add(usize::from(claimed && stolen), Ordering::SeqCst);
            claimed
        }

        fn helped(&self) -> u64 {
            self.helped
        }
    }

    fn until(done: impl Fn() -> bool) {
        while !done() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn workers_run_what_is_offered_and_what_comes_later() {
        let crew = Arc::new(Crew::new(CrewOptions { workers: 3, region_workers: 1, ..CrewOptions::default() }));
        let job = Counting::new(100, 0);
        let offer = crew.offer(job.clone());
        until(|| job.run.load(Ordering::SeqCst) == 100);
        job.left.store(10, Ordering::SeqCst);
        offer.more();
        until(|| job.run.load(Ordering::SeqCst) == 110);
        drop(offer);
        drop(crew);
        assert_eq!(Arc::strong_count(&job), 1, "nobody holds a job that is offered no more");
    }

    #[test]
    fn a_crew_that_does_not_steal_leaves_other_regions_alone() {
        let options = CrewOptions { workers: 2, region_workers: 1, steal: false, pin: true, ..CrewOptions::default() };
        let crew = Arc::new(Crew::new(options));
        let jobs = [Counting::new(50, 0), Counting::new(50, 0)];
        let offers: Vec<Offer> = jobs.iter().map(|job| crew.offer(job.clone())).collect();
        until(|| jobs.iter().all(|job| job.run.load(Ordering::SeqCst) == 50));
        assert!(jobs.iter().all(|job| job.stolen.load(Ordering::SeqCst) == 0));
        drop(offers);
    }

    #[test]
    fn a_worker_takes_from_its_region_then_from_near_ones_then_from_far_ones() {
        let jobs = [3, 2, 1].map(|messages| Counting::new(messages, 0));
        let region = |node: usize, job: &Arc<Counting>| Region { node, jobs: Mutex::new(vec![job.clone()]) };
        let [home, far, near] = &jobs;
        let mut shared =
            CrewState { regions: vec![region(0, home), region(1, far), region(0, near)], ..CrewState::default() };
        let left = || jobs.each_ref().map(|job| job.left.load(Ordering::SeqCst));
        (0..3).for_each(|_| assert!(shared.run_one(0)));
        assert_eq!(left(), [0, 2, 1], "its own region's first");
        assert!(!shared.run_one(0), "without stealing there is nothing more");
        shared.steal = true;
        assert!(shared.run_one(0));
        assert_eq!(left(), [0, 2, 0], "the other one on its node");
        assert!(shared.run_one(0) && shared.run_one(0) && !shared.run_one(0));
        assert_eq!(left(), [0, 0, 0]);
        assert_eq!(jobs.each_ref().map(|job| job.stolen.load(Ordering::SeqCst)), [0, 2, 1]);
    }

    #[test]
    fn who_had_least_help_is_served_first() {
        let region = Region { node: 0, jobs: Mutex::default() };
        let (rich, poor) = (Counting::new(5, 1_000), Counting::new(2, 10));
        let all: [Arc<dyn Job>; 2] = [rich.clone(), poor.clone()];
        locked(&region.jobs).extend(all);
        assert!(region.run_one(false) && region.run_one(false));
        assert_eq!(poor.run.load(Ordering::SeqCst), 2);
        assert!(region.run_one(true), "the other one's turn");
        assert_eq!(rich.stolen.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_panic_does_not_cost_a_worker() {
        struct Panics(AtomicBool);
        impl Job for Panics {
            fn run_one(&self, _: bool) -> bool {
                assert!(self.0.swap(true, Ordering::SeqCst), "the first message panics");
                false
            }
            fn helped(&self) -> u64 {
                0
            }
        }
        let crew = Arc::new(Crew::new(CrewOptions { workers: 1, ..CrewOptions::default() }));
        let _first = crew.offer(Arc::new(Panics(AtomicBool::new(false))));
        let job = Counting::new(3, 0);
        let _second = crew.offer(job.clone());
        until(|| job.run.load(Ordering::SeqCst) == 3);
    }
}
