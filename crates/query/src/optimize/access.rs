//! How a step finds its elements, in words for `explain()`.

use std::fmt;

use mangrove_graph::{
    Catalog, Direction, ElementKind, KeyId, LabelId, Predicate, PropertyId, Reach, Result, Statistics, Token, Value,
};

use crate::access::{is_counted, narrowest, with_key};
use crate::plan::{Name, Operand, Step, split_cardinality};

pub struct Access {
    pub how: String,
    /// The indexes that would avoid a scan.
    pub hint: Option<IndexHint>,
}

/// Indexes that would avoid a scan. Shown as advice.
#[derive(Clone, Debug)]
pub struct IndexHint {
    /// `user.email`
    property: String,
    /// A label and a key each. Never empty.
    indexes: Vec<(Name, Name)>,
    /// Whether a label in the query would help too.
    is_unlabelled: bool,
    /// How the caller makes an index of a label and a key.
    pub(super) call: fn(&str, &str) -> String,
}

impl fmt::Display for IndexHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls: Vec<String> = self.indexes.iter().map(|(label, key)| (self.call)(label, key)).collect();
        let unlabelled = if self.is_unlabelled { "; hasLabel() also narrows the scan" } else { "" };
        write!(f, "no index on {}: create one with {}{unlabelled}", self.property, calls.join(", "))
    }
}

/// What a step searches for.
struct Sought<'v> {
    catalog: &'v dyn Catalog,
    kind: ElementKind,
    /// The labels it names; `None` means all.
    labels: Option<Vec<LabelId>>,
    filters: Vec<(KeyId, Predicate)>,
}

/// How a step finds elements; `None` if it finds none. Without `indexes`, only ids avoid a scan.
pub fn access(step: &Step, catalog: &dyn Catalog, counts: &Statistics, indexes: bool) -> Result<Option<Access>> {
    let sought = match step {
        Step::Scan { ids: Some(_), .. } => return Ok(Some(Access::by_id())),
        Step::Scan { kind, labels, filters, .. } | Step::CountScan { kind, labels, filters, .. } => {
            Sought::new(catalog, *kind, labels.as_deref(), filters)
        }
        Step::Merge(merge) => match &merge.search {
            Some(Operand::Value(Value::Map(map))) => {
                if map.get(&Token::Id.into()).is_some() {
                    return Ok(Some(Access::by_id()));
                }
                let names_end = |direction| map.get(&Token::Direction(direction).into()).is_some();
                if names_end(Direction::Out) || names_end(Direction::In) {
                    return Ok(Some(Access { how: "edges of an end".into(), hint: None }));
                }
                let label = map.get(&Token::Label.into()).and_then(Value::as_str).map(Name::from);
                let test = |(key, value): (&Value, &Value)| {
                    Some((Name::from(key.as_str()?), Predicate::eq(split_cardinality(value).1.clone())))
                };
                let filters: Vec<_> = map.iter().filter_map(|(key, value)| test((key, value))).collect();
                Sought::new(catalog, merge.kind, label.as_ref().map(std::slice::from_ref), &filters)
            }
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    if let Step::CountScan { also, filters, .. } = step
        && also.is_empty()
        && filters.is_empty()
        && is_counted(catalog, sought.kind, sought.labels.as_deref())
    {
        return Ok(Some(Access { how: sought.scan("stored count", counts), hint: None }));
    }
    match sought.answered()?.filter(|_| indexes) {
        Some(how) => Ok(Some(Access { how, hint: None })),
        None => Ok(Some(Access { how: sought.scan("SCAN", counts), hint: sought.hint().filter(|_| indexes) })),
    }
}

/// Whether a scan finds its elements without looking at others: by id, by a key or by an index.
pub fn finds_at_once(step: &Step, catalog: &dyn Catalog) -> bool {
    match step {
        Step::Scan { ids, .. } if ids.is_some() => true,
        Step::Scan { kind, labels, filters, .. } => {
            Sought::new(catalog, *kind, labels.as_deref(), filters).answered().is_ok_and(|how| how.is_some())
        }
        _ => false,
    }
}

impl Access {
    fn by_id() -> Self {
        Self { how: "by id".into(), hint: None }
    }
}

impl<'v> Sought<'v> {
    fn new(catalog: &'v dyn Catalog, kind: ElementKind, labels: Option<&[Name]>, filters: &[(Name, Predicate)]) -> Self {
        let schema = catalog.schema();
        let labels = labels.map(|names| names.iter().filter_map(|name| schema.label(kind, name)).collect());
        let filters = filters.iter().filter_map(|(name, predicate)| Some((schema.key(name)?, predicate.clone()))).collect();
        Self { catalog, kind, labels, filters }
    }

    fn all_labels(&self) -> Vec<LabelId> {
        let all = || (0..self.catalog.schema().labels(self.kind).len() as u16).map(LabelId).collect();
        self.labels.clone().unwrap_or_else(all)
    }

    /// The key or index that answers a filter.
    fn answered(&self) -> Result<Option<String>> {
        let (labels, filters) = (self.all_labels(), self.filters.iter().map(|(key, predicate)| (*key, predicate)));
        let Some(at) = narrowest(self.catalog, self.kind, &labels, &filters.collect::<Vec<_>>())? else { return Ok(None) };
        let (key, predicate) = &self.filters[at];
        let with_key: Vec<LabelId> = with_key(self.catalog, self.kind, &labels, *key).collect();
        let is_key = |label: &LabelId| self.catalog.schema().is_key(self.kind, *label, *key);
        if predicate.external_ids().is_some() && with_key.iter().all(is_key) {
            return Ok(Some("by id".into()));
        }
        let reach = with_key.iter().map(|label| self.catalog.reach(self.of(*label, *key), predicate)).max();
        let asked = match reach {
            Some(Reach::Directory) => ", asks the directory",
            Some(Reach::EveryShard) => ", asks every shard",
            Some(Reach::Here) | None => "",
        };
        Ok(Some(format!("index on {}{asked}", self.property(&with_key, *key))))
    }

    /// `user.email`, or the key alone if several labels have it.
    fn property(&self, labels: &[LabelId], key: KeyId) -> String {
        let schema = self.catalog.schema();
        match labels {
            [label] => schema.property_name(self.of(*label, key)),
            _ => schema.key_name(key).to_string(),
        }
    }

    fn of(&self, label: LabelId, key: KeyId) -> PropertyId {
        PropertyId { kind: self.kind, label, key }
    }

    fn scan(&self, way: &str, counts: &Statistics) -> String {
        let count = self.all_labels().iter().map(|label| counts.count(self.kind, *label)).sum();
        let what = if count == 1 { self.kind.name() } else { self.kind.plural() };
        let schema = self.catalog.schema();
        let labelled = self.labels.as_ref().map(|labels| {
            let names: Vec<_> = labels.iter().map(|label| schema.label_name(self.kind, *label)).collect();
            format!(" labelled {}", names.join(", "))
        });
        format!(
            "{way} of {} {what}{}",
            grouped(count),
            labelled.filter(|labelled| labelled != " labelled ").unwrap_or_default()
        )
    }

    /// The indexes that would answer one of the filters.
    fn hint(&self) -> Option<IndexHint> {
        let schema = self.catalog.schema();
        let labels = self.all_labels();
        let (key, _) = self.filters.iter().find(|(_, predicate)| predicate.is_answered_by_index())?;
        let without =
            with_key(self.catalog, self.kind, &labels, *key).filter(|label| schema.index(self.of(*label, *key)).is_none());
        let without: Vec<LabelId> = without.take(3).collect();
        let name = |label: &LabelId| (schema.label_name(self.kind, *label).clone(), schema.key_name(*key).clone());
        Some(IndexHint {
            property: self.property(without.get(..1)?, *key),
            indexes: without.iter().map(name).collect(),
            is_unlabelled: self.labels.is_none(),
            call: |label, key| format!("create_index('{label}', '{key}')"),
        })
    }
}

/// A number with commas between thousands.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
