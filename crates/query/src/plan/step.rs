//! The steps of a plan and their arguments.

use mangrove_graph::{Cardinality, Direction, ElementKind, Map, Predicate, Token, Value, wire};
use serde::{Deserialize, Serialize};

use super::{Name, RangeTest, Traversal};

/// A `by()` modulator.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum By {
    Identity,
    /// The value of a property, or of an entry of a map.
    Key(Name),
    Token(Token),
    Column(Column),
    Child(Traversal),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Column {
    Keys,
    Values,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Scope {
    Global,
    Local,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Pop {
    First,
    Last,
    All,
    Mixed,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum SortOrder {
    Ascending,
    Descending,
    Shuffle,
}

/// Binary operators of `sack`, `fold` and side effects.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Operator {
    Sum,
    Minus,
    Mult,
    Div,
    Min,
    Max,
    Assign,
    And,
    Or,
    AddAll,
    SumLong,
}

/// What a filter on an element tests.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum HasKey {
    Property(Name),
    Id,
    Label,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Has {
    pub key: HasKey,
    pub predicate: Predicate,
}

/// A comparison of labelled values, `where(lt('b'))`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum LabelPredicate {
    /// A predicate on the values of the labels.
    Test(RangeTest, Vec<Name>),
    /// `within` if true, `without` if false.
    Among(bool, Vec<Name>),
    And(#[serde(with = "wire::deeper")] Vec<LabelPredicate>),
    Or(#[serde(with = "wire::deeper")] Vec<LabelPredicate>),
    Not(#[serde(with = "wire::deeper")] Box<LabelPredicate>),
}

impl LabelPredicate {
    /// Appends the labels that it reads.
    pub fn names(&self, names: &mut Vec<Name>) {
        match self {
            LabelPredicate::Test(_, labels) | LabelPredicate::Among(_, labels) => names.extend(labels.iter().cloned()),
            LabelPredicate::And(parts) | LabelPredicate::Or(parts) => parts.iter().for_each(|part| part.names(names)),
            LabelPredicate::Not(part) => part.names(names),
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Option_ {
    pub pick: Pick,
    pub traversal: Traversal,
}

/// What selects an option of `branch` or `choose`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Pick {
    Any,
    None,
    Unproductive,
    Value(Value),
    Predicate(Predicate),
    /// Only for `branch`.
    Traversal(Traversal),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Reduction {
    Count,
    Sum,
    Min,
    Max,
    Mean,
}

/// Functions of strings, one value to one value.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum TextFunction {
    AsString,
    Length,
    ToLower,
    ToUpper,
    Trim,
    LTrim,
    RTrim,
    Reverse,
    Replace(Option<Name>, Option<Name>),
    Split(Option<Name>),
    Substring(i64, Option<i64>),
}

impl TextFunction {
    pub fn name(&self) -> &'static str {
        match self {
            TextFunction::AsString => "asString",
            TextFunction::Length => "length",
            TextFunction::ToLower => "toLower",
            TextFunction::ToUpper => "toUpper",
            TextFunction::Trim => "trim",
            TextFunction::LTrim => "lTrim",
            TextFunction::RTrim => "rTrim",
            TextFunction::Reverse => "reverse",
            TextFunction::Replace(..) => "replace",
            TextFunction::Split(_) => "split",
            TextFunction::Substring(..) => "substring",
        }
    }
}

/// Functions of collections.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum ListFunction {
    Combine,
    Difference,
    Disjunct,
    Intersect,
    Merge,
    Product,
}

impl ListFunction {
    pub fn name(self) -> &'static str {
        match self {
            ListFunction::Combine => "combine",
            ListFunction::Difference => "difference",
            ListFunction::Disjunct => "disjunct",
            ListFunction::Intersect => "intersect",
            ListFunction::Merge => "merge",
            ListFunction::Product => "product",
        }
    }
}

/// An operand that is a literal or the result of a traversal.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Operand {
    Value(Value),
    Child(Traversal),
}

/// Which items of a list must match for the list to pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Quantifier {
    All,
    Any,
    None,
}

/// Which tokens a map of properties begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Tokens {
    pub id: bool,
    pub label: bool,
    pub key: bool,
    pub value: bool,
}

impl Tokens {
    pub const ALL: Tokens = Tokens { id: true, label: true, key: true, value: true };

    /// From the bits of `WithOptions`: ids 1, labels 2, keys 4, values 8.
    pub fn from_bits(bits: i64) -> Self {
        Tokens { id: bits & 1 != 0, label: bits & 2 != 0, key: bits & 4 != 0, value: bits & 8 != 0 }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum MapOf {
    /// `valueMap`.
    Values,
    /// `propertyMap`.
    Properties,
}

/// A property that `property()` sets.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SetProperty {
    pub cardinality: Option<Cardinality>,
    pub key: PropertyName,
    pub value: Operand,
    pub meta: Vec<(Name, Operand)>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum PropertyName {
    Key(Name),
    Id,
    Label,
    /// The traversal gives the key.
    Child(Traversal),
}

/// What `mergeV`/`mergeE` search for and do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Merge {
    pub kind: ElementKind,
    /// `None`: the incoming value is the map.
    pub search: Option<Operand>,
    pub on_create: Option<Operand>,
    pub on_match: Option<Operand>,
    pub out_vertex: Option<Operand>,
    pub in_vertex: Option<Operand>,
    /// The partitions it searches and the one it writes to. A strategy sets this.
    pub partition: Option<super::PartitionStrategy>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Repeat {
    pub body: Traversal,
    pub name: Option<Name>,
    pub until: Option<Until>,
    /// `until` stood before `repeat`: while-do.
    pub until_first: bool,
    pub emit: Option<Emit>,
    pub emit_first: bool,
    /// Where it leads, if it is a search for vertices that the query names. The optimiser sets this.
    pub goal: Option<Goal>,
}

/// Where a search leads.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Goal {
    /// Finds all vertices that end the search.
    pub targets: Traversal,
    /// Only the first traverser is used.
    pub nearest_only: bool,
    /// No way meets itself.
    pub is_simple: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Until {
    Times(u64),
    Child(Traversal),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Emit {
    Always,
    Child(Traversal),
}

/// A further test of the labels of what a scan visits.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LabelsTest {
    /// The element must have one of these.
    pub labels: Vec<Name>,
    /// It must have none of them instead.
    pub is_negated: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum EndOf {
    Out,
    In,
    Both,
    /// The end that the traverser did not come from.
    Other,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Step {
    // ---- sources
    Scan {
        kind: ElementKind,
        /// `V(id…)`; elements stand for their ids.
        ids: Option<Vec<Value>>,
        /// Labels and predicates that the optimiser moved into the scan.
        labels: Option<Vec<Name>>,
        also: Vec<LabelsTest>,
        filters: Vec<(Name, Predicate)>,
    },
    /// The number of elements that a scan would give. The optimiser inserts it.
    CountScan {
        kind: ElementKind,
        labels: Option<Vec<Name>>,
        also: Vec<LabelsTest>,
        filters: Vec<(Name, Predicate)>,
    },
    Inject(Vec<Value>),
    Call(Box<ProcedureCall>),

    // ---- topology
    /// All shortest paths from each vertex.
    ShortestPath(Box<ShortestPath>),
    /// An algorithm on the whole graph. Its values are a property of the vertices for the rest of the query.
    Compute(Box<Compute>),
    Hop {
        direction: Direction,
        /// No labels means all.
        labels: Vec<Name>,
        to_edges: bool,
        /// Follow only edges whose property matches. The optimiser sets this.
        filter: Option<(Name, Predicate)>,
        /// Rows may be followed in any order, because nobody can see it. The optimiser sets this.
        any_order: bool,
        /// Follow at most this many edges of each vertex; more are of no use. The optimiser sets this.
        limit: Option<u64>,
        /// Follow, for each vertex, only the edges with the greatest values of a property, at least this many. The optimiser sets
        /// this.
        latest: Option<(Name, u64)>,
    },
    End(EndOf),
    /// The number of edges, without visiting them.
    Degree {
        direction: Direction,
        labels: Vec<Name>,
        filter: Option<(Name, Predicate)>,
    },

    // ---- filters
    Has(Vec<Has>),
    HasProperty {
        key: Name,
        present: bool,
    },
    HasChild {
        key: HasKey,
        child: Traversal,
    },
    HasKeyOf(Predicate),
    HasValueOf(Predicate),
    Is(Predicate),
    Where {
        child: Traversal,
        negated: bool,
    },
    And(Vec<Traversal>),
    Or(Vec<Traversal>),
    WhereLabels {
        start: Option<Name>,
        predicate: LabelPredicate,
        by: Vec<By>,
    },
    ListFilter {
        quantifier: Quantifier,
        predicate: Predicate,
    },
    Discard,
    Dedup {
        labels: Vec<Name>,
        by: Vec<By>,
        scope: Scope,
    },
    Range {
        low: u64,
        /// Exclusive.
        high: Option<u64>,
        scope: Scope,
    },
    Tail {
        count: u64,
        scope: Scope,
    },
    Coin(f64),
    Sample {
        count: usize,
        scope: Scope,
        by: Option<By>,
    },
    PathFilter {
        simple: bool,
        by: Vec<By>,
        from: Option<Name>,
        to: Option<Name>,
    },
    TimeLimit(u64),

    // ---- values of elements
    Id,
    Label,
    /// All labels of elements.
    Labels,
    Key,
    ValueOf,
    Values(Vec<Name>),
    Properties(Vec<Name>),
    PropertyMap {
        /// Only properties that pass this filter are visible. A strategy sets it.
        visible: Option<Traversal>,
        of: MapOf,
        keys: Vec<Name>,
        tokens: Tokens,
        by: Vec<By>,
    },
    ElementMap {
        keys: Vec<Name>,
        /// Only properties that pass this filter are visible. A strategy sets it.
        visible: Option<Traversal>,
    },
    Element,

    // ---- values of traversers
    Constant(Value),
    Identity,
    Map(Traversal),
    FlatMap(Traversal),
    Local(Traversal),
    SideEffect(Traversal),
    Select {
        pop: Option<Pop>,
        labels: Vec<Name>,
        by: Vec<By>,
    },
    SelectColumn(Column),
    SelectChild {
        pop: Option<Pop>,
        child: Traversal,
        by: Vec<By>,
    },
    Project {
        keys: Vec<Name>,
        by: Vec<By>,
    },
    Path {
        by: Vec<By>,
        from: Option<Name>,
        to: Option<Name>,
    },
    Loops(Option<Name>),
    Sack,
    SackOp {
        operator: Operator,
        by: Option<By>,
    },
    Index {
        as_map: bool,
    },
    Math {
        expression: MathExpression,
        by: Vec<By>,
    },
    Text {
        function: TextFunction,
        scope: Scope,
    },
    Concat(Vec<Operand>),
    Format {
        template: Name,
        by: Vec<By>,
    },
    List {
        function: ListFunction,
        operand: Operand,
    },
    Conjoin(Name),
    AsNumber(Option<mangrove_graph::ValueType>),
    AsBool,
    AsDate,
    DateAdd(mangrove_graph::time::TimeUnit, i64),
    DateDiff(Operand),

    // ---- barriers
    Fold {
        seed: Option<(Value, Operator)>,
    },
    Unfold,
    Reduce {
        reduction: Reduction,
        scope: Scope,
    },
    Order {
        by: Vec<(By, SortOrder)>,
        scope: Scope,
        /// Only the first `limit` results are used. The optimiser sets this.
        limit: Option<u64>,
    },
    Group {
        side_effect: Option<Name>,
        /// `None`: the traverser itself is the key.
        key: Option<By>,
        /// `None`: the list of the traversers of the group.
        value: Option<GroupValue>,
    },
    GroupCount {
        side_effect: Option<Name>,
        key: Option<By>,
    },
    Tree {
        side_effect: Option<Name>,
        by: Vec<By>,
    },
    Aggregate {
        name: Name,
        scope: Scope,
        by: Option<By>,
    },
    Subgraph(Name),
    Cap(Vec<Name>),
    /// `barrier(n)`; `barrier()` has no bound. The optimiser also inserts it, without `max`, to merge traversers on the same vertex. Large
    /// numbers of traversers go on in several batches.
    Barrier {
        max: Option<usize>,
    },
    BarrierSack,
    /// `where(child)` with the vertices to which the hop of the child must lead. It may go from these backwards.
    SemiJoin {
        child: Traversal,
        ends: Traversal,
        negated: bool,
    },
    /// Makes fewer traversers of a batch, of which the one step of the traversal, a barrier, makes the same. The end of a
    /// [`Fragment`](super::fragment::Fragment).
    Partial(Traversal),

    // ---- branches
    Union(Vec<Traversal>),
    Coalesce(Vec<Traversal>),
    Optional(Traversal),
    Choose {
        condition: ChooseOn,
        options: Vec<Option_>,
        /// `branch()`: takes every option that fits, not only the first.
        all: bool,
    },
    Repeat(Box<Repeat>),
    Match(Vec<Pattern>),

    // ---- mutations
    AddVertex {
        label: Option<Operand>,
        properties: Vec<SetProperty>,
    },
    AddEdge {
        label: Operand,
        from: Option<EndRef>,
        to: Option<EndRef>,
        properties: Vec<SetProperty>,
    },
    SetProperty(SetProperty),
    SetProperties(Operand, Option<Cardinality>),
    Merge(Box<Merge>),
    /// Adds further labels to vertices, or removes them.
    ChangeLabels {
        names: Vec<Name>,
        adds: bool,
    },
    Drop,

    Fail(Option<Name>),
}

/// What `shortestPath` is asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ShortestPath {
    /// Vertices where paths end; all, if there is none.
    pub target: Option<Traversal>,
    /// Finds all these vertices. The optimiser sets this.
    pub named: Option<Traversal>,
    pub direction: Direction,
    /// The edges of a vertex that paths follow, instead of those of a direction.
    pub edges: Option<Traversal>,
    /// The length of an edge, instead of 1.
    pub distance: Option<Traversal>,
    pub max_distance: Option<f64>,
    pub includes_edges: bool,
}

impl Default for ShortestPath {
    fn default() -> Self {
        let (target, named, edges, distance) = Default::default();
        Self { target, named, direction: Direction::Both, edges, distance, max_distance: None, includes_edges: false }
    }
}

/// What `pageRank`, `peerPressure` and `connectedComponent` are asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Compute {
    pub program: VertexProgramName,
    /// The property that gets the values.
    pub property: Name,
    /// The edges of a vertex that the algorithm follows; no labels means all.
    pub direction: Direction,
    pub labels: Vec<Name>,
    pub filter: Option<(Name, Predicate)>,
    pub times: u64,
    /// Each vertex begins with as much as there are traversers on it, instead of the same.
    pub counts_traversers: bool,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub enum VertexProgramName {
    PageRank { damping: f64 },
    PeerPressure,
    ConnectedComponent,
}

impl VertexProgramName {
    /// The step of Gremlin.
    pub fn step(self) -> &'static str {
        match self {
            Self::PageRank { .. } => "pageRank",
            Self::PeerPressure => "peerPressure",
            Self::ConnectedComponent => "connectedComponent",
        }
    }
}

/// The procedure that `call` runs, and its parameters. Later sources take precedence.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProcedureCall {
    pub name: Name,
    pub map: Map,
    pub child: Option<Traversal>,
    /// Given by `with()`.
    pub with: Vec<(Name, Operand)>,
}

/// What `choose` and `branch` decide by.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ChooseOn {
    By(By),
    Predicate(Predicate),
}

/// An end of a new edge.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum EndRef {
    Label(Name),
    Value(Value),
    Child(Traversal),
}

/// One pattern of `match()`. Patterns stand in the order they run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Pattern {
    Path(PathPattern),
    /// `or(…)`: alternatives of which at least one must hold. Each is a list of patterns that must all hold.
    Any(#[serde(with = "wire::deeper")] Vec<Vec<Pattern>>),
}

impl Pattern {
    pub fn start(&self) -> Option<&Name> {
        match self {
            Pattern::Path(path) => path.start.as_ref(),
            Pattern::Any(_) => None,
        }
    }

    pub fn end(&self) -> Option<&Name> {
        match self {
            Pattern::Path(path) => path.end.as_ref(),
            Pattern::Any(_) => None,
        }
    }

    pub fn for_each_child<'a>(&'a self, visit: &mut dyn FnMut(&'a Traversal)) {
        match self {
            Pattern::Path(path) => visit(&path.child),
            Pattern::Any(ways) => ways.iter().flatten().for_each(|pattern| pattern.for_each_child(visit)),
        }
    }

    pub fn for_each_child_mut(&mut self, visit: &mut dyn FnMut(&mut Traversal)) {
        match self {
            Pattern::Path(path) => visit(&mut path.child),
            Pattern::Any(ways) => ways.iter_mut().flatten().for_each(|pattern| pattern.for_each_child_mut(visit)),
        }
    }
}

/// `as('a').….as('b')`, or a filter.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PathPattern {
    /// The label it starts from, which is bound by then. `None` for a pattern that only filters.
    pub start: Option<Name>,
    /// Set for the first pattern: binds `start` to the incoming value, unless the path already has that label.
    pub binds_start: bool,
    pub child: Traversal,
    /// The label that its results bind. If the label is already bound, they are compared with it.
    pub end: Option<Name>,
}

/// What `group` keeps of each group.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum GroupValue {
    /// The list of this value of each traverser.
    List(By),
    /// The result of a traversal over the traversers of the group.
    Reduce(Traversal),
}

/// An arithmetic expression in postfix order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MathExpression {
    pub text: Name,
    pub ops: Vec<MathOp>,
    /// Variables in order of first appearance. `_` is the incoming value.
    pub variables: Vec<Name>,
}

impl MathExpression {
    /// Whether each variable that it uses has a name.
    pub fn is_sound(&self) -> bool {
        self.ops.iter().all(|op| !matches!(op, MathOp::Variable(at) if *at >= self.variables.len()))
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum MathOp {
    Number(f64),
    Variable(usize),
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Pow,
    Neg,
    Function(MathFunction),
}

/// The functions of `math()`, of one number each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum MathFunction {
    Abs,
    Acos,
    Asin,
    Atan,
    Cbrt,
    Ceil,
    Cos,
    Cosh,
    Exp,
    Expm1,
    Floor,
    Log,
    Log10,
    Log1p,
    Log2,
    Signum,
    Sin,
    Sinh,
    Sqrt,
    Tan,
    Tanh,
}

impl MathFunction {
    pub fn from_name(name: &str) -> Option<Self> {
        use MathFunction::*;
        Some(match name {
            "abs" => Abs,
            "acos" => Acos,
            "asin" => Asin,
            "atan" => Atan,
            "cbrt" => Cbrt,
            "ceil" => Ceil,
            "cos" => Cos,
            "cosh" => Cosh,
            "exp" => Exp,
            "expm1" => Expm1,
            "floor" => Floor,
            "log" => Log,
            "log10" => Log10,
            "log1p" => Log1p,
            "log2" => Log2,
            "signum" => Signum,
            "sin" => Sin,
            "sinh" => Sinh,
            "sqrt" => Sqrt,
            "tan" => Tan,
            "tanh" => Tanh,
            _ => return None,
        })
    }

    pub fn of(self, x: f64) -> f64 {
        use MathFunction::*;
        match self {
            Abs => x.abs(),
            Acos => x.acos(),
            Asin => x.asin(),
            Atan => x.atan(),
            Cbrt => x.cbrt(),
            Ceil => x.ceil(),
            Cos => x.cos(),
            Cosh => x.cosh(),
            Exp => x.exp(),
            Expm1 => x.exp_m1(),
            Floor => x.floor(),
            Log => x.ln(),
            Log10 => x.log10(),
            Log1p => x.ln_1p(),
            Log2 => x.log2(),
            Signum => {
                if x == 0.0 {
                    0.0
                } else {
                    x.signum()
                }
            }
            Sin => x.sin(),
            Sinh => x.sinh(),
            Sqrt => x.sqrt(),
            Tan => x.tan(),
            Tanh => x.tanh(),
        }
    }
}

impl Step {
    pub fn hop(direction: Direction, labels: Vec<Name>, to_edges: bool) -> Self {
        Step::Hop { direction, labels, to_edges, filter: None, any_order: false, limit: None, latest: None }
    }
}

impl Until {
    pub fn child(&self) -> Option<&Traversal> {
        match self {
            Until::Child(child) => Some(child),
            Until::Times(_) => None,
        }
    }
}

impl Emit {
    pub fn child(&self) -> Option<&Traversal> {
        match self {
            Emit::Child(child) => Some(child),
            Emit::Always => None,
        }
    }
}

impl By {
    pub fn child(&self) -> Option<&Traversal> {
        match self {
            By::Child(child) => Some(child),
            _ => None,
        }
    }
}
