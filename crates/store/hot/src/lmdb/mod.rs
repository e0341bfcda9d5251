//! LMDB's file: its pages, tables, transactions and readers.

pub mod bloom;
pub mod clock;
pub mod env;
pub mod pages;
pub mod readers;
pub mod spare;
pub mod table;
pub mod version;
