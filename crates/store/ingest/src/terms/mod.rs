//! What a load is asked for, and what it reports.

pub mod declaration;
pub mod mapping;
pub mod merge;
pub mod options;
pub mod report;
pub mod spelling;
