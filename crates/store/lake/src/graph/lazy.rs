//! What is made once, when it is first needed.

use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Result;

/// A thing that one thread makes while others that need it wait. A failure is not kept: whoever comes next tries again.
pub struct Lazy<T>(Mutex<Option<Arc<T>>>);

impl<T> Default for Lazy<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T> Lazy<T> {
    pub fn get(&self, make: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        // A panic leaves nothing.
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*kept {
            return Ok(known.clone());
        }
        Ok(kept.insert(Arc::new(make()?)).clone())
    }

    pub fn known(&self) -> Option<Arc<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
