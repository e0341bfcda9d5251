//! The syntax tree of a Gremlin traversal: calls and their arguments. Names are not resolved yet.
//!
//! All readers build this tree: [`parse`](mod@super::parse) from gremlin-lang text, [`bytecode`](super::bytecode) from the step
//! lists of GraphSON and GraphBinary. [`plan`](crate::plan) resolves names and arguments into steps. The grammar is small because
//! it has no names: a chain of calls with arguments.

use mangrove_graph::Value;

use crate::diagnostics::Span;

/// `g.…`, `__.…`, or a bare chain of calls.
#[derive(Clone, PartialEq, Debug)]
pub struct TraversalSyntax {
    /// It starts at `g`, so source calls such as `withSack` may come first.
    pub from_source: bool,
    pub calls: Vec<Call>,
    pub span: Span,
}

/// `name(args…)`.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    pub name: String,
    pub args: Vec<Argument>,
    /// The span of the name alone.
    pub name_span: Span,
    /// The span from the name to the closing parenthesis.
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Argument {
    pub kind: ArgumentKind,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub enum ArgumentKind {
    /// A literal: null, boolean, number (typed by its suffix), string, date-time, duration, UUID.
    Value(Value),
    List(Vec<Argument>),
    Set(Vec<Argument>),
    Map(Vec<(Argument, Argument)>),
    Traversal(TraversalSyntax),
    Predicate(PredicateSyntax),
    /// A constant of the language, `Kind.name` or a bare `name`: `T.id`, `desc`, `Scope.local`, `Pop.all` …. The kind is always
    /// filled in.
    Constant {
        kind: String,
        name: String,
    },
    /// A constant applied to a value: `Cardinality.set("x")`. Bytecode also has references to elements: `Element.Vertex(id,
    /// label)`, `Element.Edge(id, label)`, `Element.VertexProperty(id, key, value)`, `Element.Property(key, value)`.
    Applied {
        kind: String,
        name: String,
        args: Vec<Argument>,
    },
    /// `new SubgraphStrategy(vertices: __.has('x'))`, or the bare name of a strategy.
    Strategy {
        name: String,
        options: Vec<(String, Argument)>,
    },
    /// A name whose value is a parameter of the query.
    Variable(String),
}

/// `P.gt(1)`, `TextP.regex('a.*')`, and their `and`, `or`, `negate`.
#[derive(Clone, PartialEq, Debug)]
pub enum PredicateSyntax {
    Test { name: String, args: Vec<Argument>, span: Span },
    And(Box<PredicateSyntax>, Box<PredicateSyntax>),
    Or(Box<PredicateSyntax>, Box<PredicateSyntax>),
    Not(Box<PredicateSyntax>),
}
