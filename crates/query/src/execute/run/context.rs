//! The state that the operators of one query share.

use std::sync::Arc;
use std::time::Instant;

use mangrove_graph::{
    Budget, CancelToken, ElementKind, GraphView, GraphWrite, KeyId, LabelId, Predicate, ReadContext, TraceId, Value,
};

use crate::computed::Computed;
use crate::diagnostics::suggest;
use crate::error::{QueryError, QueryErrorKind, Result};
use crate::execute::data::effects::SideEffects;
use crate::execute::run::help::Help;
use crate::execute::run::ids;
use crate::execute::run::memory::{HasBudget, Held};
use crate::execute::run::profile::Counters;
use crate::execute::run::types;
use crate::fleet::Fleet;
use crate::options::{Graph, QueryOptions, StartPart};
use crate::plan::paths::PathMode;
use crate::plan::{Name, SackConfig, SourceConfig};
use crate::procedure::Procedures;

pub struct Context<'a, 'g> {
    pub graph: &'a mut Graph<'g>,
    pub shared: &'a mut QueryState,
}

pub struct QueryState {
    pub mode: PathMode,
    pub side_effects: SideEffects,
    pub sack: Option<SackConfig>,
    pub warnings: Vec<String>,
    /// The repeats around a traverser, outermost first: name and rounds done.
    pub loops: Vec<(Option<Name>, u64)>,
    /// A `by()` that gives nothing counts as null (`ProductiveByStrategy`).
    pub productive_by: bool,
    /// The exceptions: `by()` of these keys does not count as null.
    pub productive_keys: Vec<Name>,
    pub bulk_off: bool,
    pub index_off: bool,
    /// The query adds vertices, so an unknown id may be meant and earns no warning.
    pub makes_what_is_missing: bool,
    /// The nesting of values is checked after each step.
    pub may_go_deep: bool,
    /// Batches hold one traverser each, so that each traverser sees the side effects of those before it.
    pub one_by_one: bool,
    pub random: Random,
    /// One for each row of the plan's outline, while profiling.
    pub counters: Option<Arc<[Counters]>>,
    /// Time spent in operators pulled from, since the current operator began to count its own.
    pub pulled_nanos: u64,
    /// The crew that may run messages of this query.
    pub help: Option<Help>,
    /// The nodes that may run steps of this query.
    pub fleet: Option<Arc<dyn Fleet>>,
    /// The properties that its steps compute.
    pub computed: Option<Arc<Computed>>,
    options: QueryOptions,
    deadline: Option<Instant>,
    pub budget: Budget,
    /// Bytes of changes in the transaction when this query made its first change.
    held_before: Option<u64>,
    /// Memory held by side effects until the query ends.
    pub kept: Held,
}

impl QueryState {
    pub fn new(source: &SourceConfig, mut options: QueryOptions, mode: PathMode) -> Self {
        options.timeout = [options.timeout, source.strategies.timeout].into_iter().flatten().min();
        Self {
            mode,
            side_effects: SideEffects::new(&source.side_effects),
            sack: source.sack.clone(),
            warnings: source.warnings.clone(),
            loops: Vec::new(),
            productive_by: source.strategies.productive_by,
            productive_keys: source.strategies.productive_keys.clone(),
            bulk_off: source.bulk_off,
            index_off: source.index_off,
            makes_what_is_missing: false,
            may_go_deep: false,
            one_by_one: false,
            random: Random::new(source.strategies.seed),
            counters: None,
            pulled_nanos: 0,
            help: None,
            fleet: None,
            computed: None,
            // A timeout beyond the range of the clock never comes.
            deadline: options.timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
            budget: Budget::new(options.memory_bytes_max),
            held_before: None,
            kept: Held::default(),
            options,
        }
    }
}

impl QueryState {
    /// The state that another thread needs to run messages of this query.
    pub fn of_helper(&self, source: &SourceConfig, cancel: CancelToken) -> Self {
        let options = QueryOptions { cancel, crew: None, ..self.options.clone() };
        let (deadline, budget) = (self.deadline, self.budget.clone());
        let (counters, may_go_deep) = (self.counters.clone(), self.may_go_deep);
        Self { deadline, budget, counters, may_go_deep, ..Self::new(source, options, self.mode) }
    }

    /// What the query may use, for work that it leaves to others.
    pub fn limits(&self) -> ReadContext {
        let QueryOptions { timeout, cancel, trace, .. } = &self.options;
        let (deadline, budget) = (self.deadline, self.budget.clone());
        ReadContext { deadline, timeout: *timeout, cancel: cancel.clone(), budget, trace: *trace }
    }

    pub fn trace(&self) -> TraceId {
        self.options.trace
    }

    pub fn cancel(&self) -> &CancelToken {
        &self.options.cancel
    }

    /// How many threads may work for this query.
    pub fn threads(&self) -> usize {
        self.options.crew.as_ref().map_or(1, |crew| crew.len() + 1)
    }

    pub fn procedures(&self) -> &Procedures {
        &self.options.procedures
    }

    pub fn all_procedures(&self) -> Arc<Procedures> {
        self.options.procedures.clone()
    }
}

impl HasBudget for Context<'_, '_> {
    fn budget(&self) -> &Budget {
        &self.shared.budget
    }
}

impl Context<'_, '_> {
    /// Whether the query may change the graph.
    pub fn writes(&self) -> bool {
        matches!(self.graph, Graph::Write(_))
    }

    pub fn view(&self) -> &dyn GraphView {
        self.graph.view()
    }

    /// Where a scan finds elements. The one at the start of the query may have a part of the graph only.
    pub fn scanned(&self, is_start: bool) -> &dyn GraphView {
        match &self.shared.options.start {
            Some(StartPart(part)) if is_start => &**part,
            _ => self.view(),
        }
    }

    pub fn write(&mut self) -> Result<&mut dyn GraphWrite> {
        match self.graph {
            Graph::Write(graph) => {
                self.shared.held_before.get_or_insert_with(|| graph.held_bytes());
                Ok(*graph)
            }
            Graph::Read(_) => {
                Err(QueryError::new(QueryErrorKind::Graph, "the database is open read-only, but this query writes"))
            }
        }
    }

    /// Fails if the changes of the query take more memory than allowed. Call it after each change.
    pub fn wrote(&mut self) -> Result<()> {
        let Graph::Write(graph) = &self.graph else { return Ok(()) };
        let held = graph.held_bytes();
        let before = *self.shared.held_before.get_or_insert(held);
        self.fits(usize::try_from(held.saturating_sub(before)).unwrap_or(usize::MAX))
    }

    pub fn procedures(&self) -> &Procedures {
        self.shared.procedures()
    }

    pub fn mode(&self) -> PathMode {
        self.shared.mode
    }

    /// Fails if the query has to stop.
    pub fn check(&self) -> Result<()> {
        if self.shared.options.cancel.is_cancelled() {
            return Err(QueryError::cancelled());
        }
        match self.shared.deadline {
            Some(deadline) if Instant::now() > deadline => Err(QueryError::late(self.shared.options.timeout)),
            _ => Ok(()),
        }
    }

    /// Accounts for memory that is held until the query ends.
    pub fn keep(&mut self, bytes: usize) -> Result<()> {
        let mut kept = std::mem::take(&mut self.shared.kept);
        let fits = kept.add(self, bytes);
        self.shared.kept = kept;
        fits
    }

    /// Accounts for a list of `n` items that is held until the query ends.
    pub fn keep_items(&mut self, n: u64) -> Result<()> {
        self.keep(usize::try_from(n).unwrap_or(usize::MAX).saturating_mul(size_of::<Value>()))
    }

    /// Fails if a short-lived allocation of this size exceeds the query's memory.
    pub fn fits(&self, bytes: usize) -> Result<()> {
        Held::default().add(self, bytes)
    }

    pub fn warn(&mut self, message: String) {
        if !self.shared.warnings.contains(&message) {
            self.shared.warnings.push(message);
        }
    }

    /// The id of a key. Warns if the graph has no such key.
    pub fn key(&mut self, name: &str) -> Option<KeyId> {
        let found = self.view().schema().key(name);
        if found.is_none() {
            let schema = self.view().schema();
            let near = suggest(name, schema.known_keys().map(|k| &**k)).map(str::to_owned);
            self.warn_unknown("property key", name, near);
        }
        found
    }

    /// The ids of labels. Warns of each name that the graph does not have.
    pub fn labels(&mut self, kind: ElementKind, names: &[Name]) -> Vec<LabelId> {
        let mut ids = Vec::with_capacity(names.len());
        for name in names {
            match self.view().schema().label(kind, name) {
                Some(id) => ids.push(id),
                None => {
                    let what = if kind == ElementKind::Vertex { "vertex label" } else { "edge label" };
                    let near =
                        suggest(name, self.view().schema().known_labels(kind).map(|(_, l)| &*l.name)).map(str::to_owned);
                    self.warn_unknown(what, name, near);
                }
            }
        }
        ids
    }

    /// Warns of a test that no value can pass, because all values under the key have other types.
    pub fn warn_of_types(&mut self, kind: ElementKind, labels: Option<&[LabelId]>, key: KeyId, predicate: &Predicate) {
        if let Some(message) = types::mismatch(self.view().schema(), kind, labels, key, predicate) {
            self.warn(message);
        }
    }

    /// Warns that no element has `id`, nor `others` other ids.
    pub fn warn_unknown_id(&mut self, kind: ElementKind, id: &Value, others: usize) -> Result<()> {
        if self.shared.makes_what_is_missing || self.view().schema().vertex_labels.is_empty() {
            return Ok(());
        }
        let message = ids::unknown(self.view(), kind, id, others)?;
        self.warn(message);
        Ok(())
    }

    /// An empty graph knows no names at all. A warning for each would be noise.
    fn warn_unknown(&mut self, what: &str, name: &str, near: Option<String>) {
        let schema = self.view().schema();
        if schema.vertex_labels.is_empty() {
            return;
        }
        let hint = match near {
            _ if what == "vertex label" && schema.label(ElementKind::Edge, name).is_some() => {
                format!("; it is a label of edges: g.E().hasLabel('{name}')")
            }
            Some(near) => format!("; did you mean `{near}`?"),
            None => String::new(),
        };
        self.warn(format!("the graph has no {what} `{name}`{hint}"));
    }
}

/// The name of a key, and its id once the graph has it.
#[derive(Clone, Debug)]
pub struct Key {
    pub name: Name,
    id: Option<KeyId>,
}

impl Key {
    pub fn new(name: Name) -> Self {
        Self { name, id: None }
    }

    pub fn all(names: &[Name]) -> Vec<Self> {
        names.iter().cloned().map(Self::new).collect()
    }

    /// The id, if it was looked up and found before.
    pub fn known(&self) -> Option<KeyId> {
        self.id
    }

    pub fn id(&mut self, cx: &mut Context<'_, '_>) -> Option<KeyId> {
        if self.id.is_none() {
            self.id = cx.key(&self.name);
        }
        self.id
    }
}

/// Edge labels to follow, looked up again when the schema has grown.
#[derive(Clone, Debug)]
pub struct EdgeLabels {
    names: Vec<Name>,
    known: usize,
    ids: Option<Vec<LabelId>>,
}

impl EdgeLabels {
    pub fn new(names: Vec<Name>) -> Self {
        Self { names, known: usize::MAX, ids: None }
    }

    /// `None` means every label.
    pub fn ids(&mut self, cx: &mut Context<'_, '_>) -> Option<Vec<LabelId>> {
        let known = cx.view().schema().edge_labels.len();
        if known != self.known {
            self.ids = if self.names.is_empty() { None } else { Some(cx.labels(ElementKind::Edge, &self.names)) };
            self.known = known;
        }
        self.ids.clone()
    }
}

/// A small, fast generator (SplitMix64: Steele, Lea, Flood, OOPSLA 2014); not for secrets.
pub struct Random(u64);

impl Random {
    fn new(seed: Option<u64>) -> Self {
        use std::hash::{BuildHasher, RandomState};
        Self(seed.unwrap_or_else(|| RandomState::new().hash_one(0)))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in 0..1.
    pub fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in 0..n; 0 if n is 0.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }
}
