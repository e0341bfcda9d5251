//! JSON objects that come one by one, as the rows of one table.

use std::sync::Arc;

use hashbrown::HashMap;
use mangrove_graph::Value;

use crate::error::Fault;
use crate::tables::jsonl::value_of;
use crate::tables::table::Table;
use crate::text::json::{self, Json};

/// The most values of a table, those that are missing included.
const VALUES_MAX: usize = 1 << 22;

/// Gathers objects. The members of an object are the columns of its row.
pub struct JsonRows {
    names: Vec<Arc<str>>,
    columns: HashMap<Arc<str>, usize>,
    /// For each row, its columns and their values.
    rows: Vec<Vec<(usize, Value)>>,
}

impl JsonRows {
    /// No rows. The table has these columns, even if no object does.
    pub fn new(columns: &[&str]) -> Self {
        let mut new = Self { names: Vec::new(), columns: HashMap::new(), rows: Vec::new() };
        for name in columns {
            new.column(name);
        }
        new
    }

    /// Adds an object, which has no member twice: the last one counts. Returns false, and adds nothing, if the table would become too large. A
    /// table without rows takes any object.
    pub fn add(&mut self, text: &[u8]) -> Result<bool, Fault> {
        let text = std::str::from_utf8(text).map_err(|_| Fault::Syntax("not UTF-8".into()))?;
        let tree = json::parse(text)
            .map_err(|error| Fault::Syntax(format!("not JSON: {} (at byte {})", error.reason, error.at + 1)))?;
        let Json::Object(members) = &tree else {
            return Err(Fault::Syntax(format!("expected a JSON object, not {}", tree.name())));
        };
        if members.iter().any(|(name, _)| name.trim().is_empty()) {
            return Err(Fault::Syntax("a member without a name".into()));
        }
        let new = members.iter().filter(|(name, _)| !self.columns.contains_key(&**name)).count();
        if !self.rows.is_empty() && (self.names.len() + new) * (self.rows.len() + 1) > VALUES_MAX {
            return Ok(false);
        }
        let row = members.iter().map(|(name, value)| (self.column(name), value_of(value)));
        let row = row.collect();
        self.rows.push(row);
        Ok(true)
    }

    fn column(&mut self, name: &str) -> usize {
        if let Some(at) = self.columns.get(name) {
            return *at;
        }
        let (at, name) = (self.names.len(), Arc::<str>::from(name));
        self.names.push(name.clone());
        self.columns.insert(name, at);
        at
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows as a table. Missing members are nulls.
    pub fn into_table(self) -> Table {
        let width = self.names.len();
        let mut values = vec![Value::Null; width * self.rows.len()];
        for (row, members) in values.chunks_mut(width.max(1)).zip(self.rows) {
            members.into_iter().for_each(|(at, value)| row[at] = value);
        }
        Table::Rows { names: self.names, values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_become_columns() {
        let mut rows = JsonRows::new(&["src", "dst"]);
        for text in [r#"{"src": 1, "w": 2.5}"#, "{}", r#" {"dst": "b", "src": 2, "src": 3, "tags": ["x", null]} "#] {
            assert!(rows.add(text.as_bytes()).unwrap());
        }
        let Table::Rows { names, values } = rows.into_table() else { panic!("rows") };
        assert_eq!(names.iter().map(|name| &**name).collect::<Vec<_>>(), ["src", "dst", "w", "tags"]);
        let list = Value::list(vec!["x".into(), Value::Null]);
        let (null, int) = (Value::Null, |int: i64| Value::Int64(int));
        let wanted = [
            [int(1), null.clone(), Value::Float64(2.5), null.clone()],
            [null.clone(), null.clone(), null.clone(), null.clone()],
            [int(3), "b".into(), null, list],
        ];
        assert_eq!(values, wanted.concat());
    }

    #[test]
    fn what_is_no_object_is_refused() {
        let mut rows = JsonRows::new(&[]);
        for (text, why) in [
            (&b"[1]"[..], "expected a JSON object, not an array"),
            (b"", "not JSON"),
            (b"{\"a\": 1} x", "at byte 10"),
            (b"{\"a\": \"\xff\"}", "not UTF-8"),
            (b"{\"a\": 1, \" \": 2}", "a member without a name"),
        ] {
            let fault = rows.add(text).unwrap_err().to_string();
            assert!(fault.contains(why), "{fault}");
        }
        assert!(rows.is_empty());
    }

    #[test]
    fn a_table_does_not_grow_beyond_its_limit() {
        let (mut rows, mut taken) = (JsonRows::new(&[]), 0);
        let wide = |from: usize| {
            let members: Vec<String> = (from..from + 2000).map(|at| format!("\"k{at}\": 1")).collect();
            format!("{{{}}}", members.join(","))
        };
        while rows.add(wide(taken * 2000).as_bytes()).unwrap() {
            taken += 1;
        }
        assert!(taken > 1 && taken * taken * 2000 <= VALUES_MAX, "{taken}");
        assert_eq!(rows.len(), taken);
        assert!(rows.add(b"{\"k0\": 2}").unwrap(), "there is room for one without new columns");
    }
}
