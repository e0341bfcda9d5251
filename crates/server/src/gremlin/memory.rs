//! The memory of open requests and of responses on their way, for a whole server.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A number of bytes that requests and responses share.
#[derive(Clone)]
pub struct Memory {
    free: Arc<Semaphore>,
    bytes_max: usize,
}

/// Some of the bytes. They are free again once it is dropped.
pub struct Share(OwnedSemaphorePermit);

impl Memory {
    pub fn new(bytes_max: usize) -> Self {
        let bytes_max = bytes_max.min(u32::MAX as usize);
        Self { free: Arc::new(Semaphore::new(bytes_max)), bytes_max }
    }

    /// The bytes that are held.
    pub fn held(&self) -> usize {
        self.bytes_max - self.free.available_permits()
    }

    /// `None` if so many are not free now.
    pub fn try_hold(&self, bytes: usize) -> Option<Share> {
        self.free.clone().try_acquire_many_owned(u32::try_from(bytes).ok()?).ok().map(Share)
    }

    /// Waits until so many are free. More than there are count as all.
    pub async fn hold(&self, bytes: usize) -> Option<Share> {
        let bytes = bytes.min(self.bytes_max) as u32;
        self.free.clone().acquire_many_owned(bytes).await.ok().map(Share)
    }
}

impl Share {
    /// Adds another one of the same memory.
    pub fn add(&mut self, other: Self) {
        self.0.merge(other.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_not_free() {
        let memory = Memory::new(100);
        let mut share = memory.try_hold(60).unwrap();
        assert!(memory.try_hold(41).is_none());
        share.add(memory.try_hold(40).unwrap());
        assert!(memory.try_hold(1).is_none());
        drop(share);
        assert!(memory.try_hold(100).is_some());
        assert!(memory.try_hold(101).is_none());
    }
}
