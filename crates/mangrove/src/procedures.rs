//! The procedures that queries on an open database may call: the built-in ones, and those that the program registers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mangrove_graph::{GraphError, TraceId};
use mangrove_query::procedure::{LIST, Procedure, Procedures, RESERVED_PREFIX};

use crate::{QueryOptions, analyze, paths};

/// Clones of a handle share it. A query keeps the procedures that existed when it began.
pub struct Registry {
    procedures: Mutex<Arc<Procedures>>,
}

impl Default for Registry {
    fn default() -> Self {
        let mut all = Procedures::clone(Procedures::built_in());
        analyze::procedures().for_each(|(name, procedure)| all.insert(name, procedure));
        all.insert(paths::NAME, paths::procedure());
        Self { procedures: Mutex::new(Arc::new(all)) }
    }
}

impl Registry {
    /// Adds a procedure, or replaces the one of that name.
    pub fn register(&self, name: &str, procedure: Procedure) -> Result<(), GraphError> {
        if name.is_empty() || name == LIST || name.starts_with(RESERVED_PREFIX) {
            let why = format!(
                "a procedure cannot be called {name:?}: the name must not be empty, be {LIST:?} or begin with {RESERVED_PREFIX:?}"
            );
            return Err(GraphError::Invalid(why));
        }
        Arc::make_mut(&mut self.lock()).insert(name, procedure);
        Ok(())
    }

    /// Removes a procedure. Returns whether there was one.
    pub fn unregister(&self, name: &str) -> bool {
        !name.starts_with(RESERVED_PREFIX) && Arc::make_mut(&mut self.lock()).remove(name)
    }

    /// The options of a query, with these procedures and a number for traces.
    pub fn options(&self, options: &QueryOptions) -> QueryOptions {
        let trace = TraceId::fresh().within(options.on_profile.as_ref().and_then(|on_profile| on_profile.within));
        QueryOptions { procedures: self.lock().clone(), trace, ..options.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Procedures>> {
        // A panic while a map was copied leaves the old one in place.
        self.procedures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
