//! Which Mangrove a node is, and which records its graph allows: nodes of several versions may run side by side while they are upgraded.

use mangrove_graph::{GraphError, Result};

use super::Node;
use super::role::SOFTWARE;
use crate::log::{Members, Record, VERSION_NEWEST};
use crate::wire::NodeAbout;

impl Node {
    pub(super) fn about(&self) -> NodeAbout {
        NodeAbout { software: SOFTWARE.into(), reads: VERSION_NEWEST, allowed: self.role.allowed() }
    }

    /// Allows records of a version. Whoever asks knows that all nodes read it. Nothing happens if they are allowed already.
    ///
    /// # Errors
    /// If this node does not read them, or if the log does not say so in time.
    pub(super) fn allow(&self, version: u8, is_cancelled: &dyn Fn() -> bool) -> Result<()> {
        if version > VERSION_NEWEST {
            return Err(GraphError::Invalid(format!(
                "{} reads records of the log up to version {VERSION_NEWEST}, not {version}",
                self.name
            )));
        }
        if self.role.allowed() >= version {
            return Ok(());
        }
        self.say(&Record::Allow { version }, |members: &Members| members.allowed() >= version, is_cancelled)
    }
}
