//! How many queries run at a time, and how many wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Limits;
use super::in_time::{Missed, in_time};
use super::refused::Refused;
use crate::status::Status;

/// Queries that read and those that write do not take each other's room: one writes at a time, and the others wait for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Room {
    Reading,
    Writing,
}

pub struct Rooms {
    reading: Arc<Semaphore>,
    writing: Arc<Semaphore>,
    size: usize,
    /// Those that wait to read, and those that wait to write.
    waiting: [AtomicUsize; 2],
    waiting_max: usize,
}

impl Rooms {
    pub fn new(limits: &Limits) -> Self {
        let [reading, writing] = [(); 2].map(|()| Arc::new(Semaphore::new(limits.running_max)));
        let (size, waiting, waiting_max) = (limits.running_max, Default::default(), limits.waiting_max);
        Self { reading, writing, size, waiting, waiting_max }
    }

    /// How many queries are in a room.
    pub fn running(&self, room: Room) -> usize {
        self.size.saturating_sub(self.room(room).available_permits())
    }

    /// How many queries wait for a place.
    pub fn waiting(&self) -> usize {
        self.waiting.iter().map(|waiting| waiting.load(Ordering::Relaxed)).sum()
    }

    fn room(&self, room: Room) -> Arc<Semaphore> {
        match room {
            Room::Reading => self.reading.clone(),
            Room::Writing => self.writing.clone(),
        }
    }

    /// A place in a room, if one is free.
    pub fn try_enter(&self, room: Room) -> Option<OwnedSemaphorePermit> {
        self.room(room).try_acquire_owned().ok()
    }

    /// Waits for a place in a room. Refuses too many, those whose client is gone, and those whose time is over.
    pub async fn enter(
        &self,
        room: Room,
        deadline: Option<Instant>,
        gone: impl Future<Output = ()>,
    ) -> Result<OwnedSemaphorePermit, Refused> {
        if let Some(place) = self.try_enter(room) {
            return Ok(place);
        }
        let _waiting = self.wait(room)?;
        let entered = self.room(room).acquire_owned();
        match in_time(deadline, gone, async { entered.await.map_err(|_| Missed::Gone) }).await {
            Ok(place) => Ok(place),
            Err(Missed::Late) => Err(Refused::late("the query waited for others until its time was over")),
            Err(Missed::Gone) => {
                Err(Refused::new(Status::Temporary, "the server is about to stop, or the client is gone: try again later"))
            }
        }
    }

    fn wait(&self, room: Room) -> Result<Waiting<'_>, Refused> {
        let line = &self.waiting[room as usize];
        let waiting = Waiting(line);
        match line.fetch_add(1, Ordering::Relaxed) < self.waiting_max {
            true => Ok(waiting),
            false => Err(Refused::busy("the server has too many queries to run: try again later")),
        }
    }

    /// Waits until no query runs, and lets no other begin.
    pub async fn drain(&self) {
        let all = u32::try_from(self.size).unwrap_or(u32::MAX);
        let empty = async |room: &Semaphore| {
            // It waits in line before all queries that come later.
            if let Ok(places) = room.acquire_many(all).await {
                places.forget();
            }
            room.close();
        };
        tokio::join!(empty(&self.writing), empty(&self.reading));
    }
}

/// One of those that wait.
struct Waiting<'r>(&'r AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
