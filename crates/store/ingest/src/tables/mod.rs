//! Tables: how to read their columns, and readers of each kind.

pub mod arrow_table;
pub mod arrow_type;
pub mod csv_table;
pub mod header;
pub mod json_rows;
pub mod jsonl;
pub mod parquet;
pub mod plan;
pub mod plan_text;
pub mod planner;
pub mod table;
