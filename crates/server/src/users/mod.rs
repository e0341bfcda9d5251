//! Who may use a server, and for what.

mod file;
mod gatekeeper;
mod token;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use file::{Granted, Users, UsersError};
pub use gatekeeper::{Gatekeeper, Login};

/// What a user may do. Each role may do what the ones before it may.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Read,
    Write,
    Admin,
}

impl Role {
    pub const ALL: [(&'static str, Role); 3] = [("read", Role::Read), ("write", Role::Write), ("admin", Role::Admin)];

    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, role)| *role == self).map_or("", |(name, _)| name)
    }
}

/// Whoever sends a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Principal {
    /// `None` on a server without users.
    pub name: Option<Arc<str>>,
    pub role: Role,
}

impl Principal {
    /// Whoever reaches a server without users.
    pub fn anyone() -> Self {
        Self { name: None, role: Role::Admin }
    }

    fn new(name: &str, role: Role) -> Self {
        Self { name: Some(name.into()), role }
    }
}
