//! The syntax tree of a Gremlin traversal: calls and their arguments, names not yet resolved.
//!
//! Both readers give this tree, [`parse`](mod@super::parse) from gremlin-lang text and [`bytecode`](super::bytecode) from
//! GraphSON step lists; [`plan`](crate::plan) resolves names and argument forms into steps. The grammar of the language is
//! small once names are not part of it: a chain of calls over arguments.

use mangrove_graph::Value;

/// Bytes of the query text, `start..end`; empty at 0 where there is no text (bytecode).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

/// `g.…`, `__.…`, or a bare chain of calls.
#[derive(Clone, PartialEq, Debug)]
pub struct Traversal {
    /// Spawned from `g`, so that source calls such as `withSack` may come first.
    pub from_source: bool,
    pub calls: Vec<Call>,
    pub span: Span,
}

/// `name(args…)`.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    pub name: String,
    pub args: Vec<Argument>,
    /// Of the name alone.
    pub name_span: Span,
    /// From the name to the closing parenthesis.
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
    Traversal(Traversal),
    Predicate(PredicateSyntax),
    /// `Kind.name` or a bare `name` that is one of the language's constants: `T.id`, `desc`, `Scope.local`, `Pop.all` …; the kind is
    /// always filled in.
    Constant {
        kind: String,
        name: String,
    },
    /// `Cardinality.set("x")`: a constant applied to a value. From bytecode also references to elements:
    /// `Element.Vertex(id, label)`, `Element.Edge(id, label)`, `Element.VertexProperty(id, key, value)`, `Element.Property(key, value)`.
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
    /// A name whose value comes with the query's parameters.
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
