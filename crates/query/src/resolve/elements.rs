//! Replaces references to elements, `Element.Vertex(id, label)` and `Element.Edge(id, label)`, by the elements of the graph.

use mangrove_graph::{GraphView, Value, record};

use crate::error::{QueryError, QueryErrorKind, Result};
use crate::gremlin::syntax::{Argument, ArgumentKind, PredicateSyntax, TraversalSyntax};

/// Whether a query refers to elements. It takes the traversal mutably only for `walk`, and changes nothing.
pub fn refers(traversal: &mut TraversalSyntax) -> bool {
    let mut found = false;
    let noting = &mut |_: &str, _: &Argument| {
        found = true;
        Ok(None)
    };
    walk(traversal, noting).is_ok() && found
}

/// Replaces each reference by the element of `view`.
pub fn resolve(traversal: &mut TraversalSyntax, view: &dyn GraphView) -> Result<()> {
    walk(traversal, &mut |kind, id| {
        let ArgumentKind::Value(id) = &id.kind else { return Ok(None) };
        let found = match kind {
            "Vertex" => record::find_vertex(view, id)?.map(Value::Vertex),
            _ => record::find_edge(view, id)?.map(Value::Edge),
        };
        let gone = || QueryError::new(QueryErrorKind::Value, format!("{} {id} is not in the graph", kind.to_lowercase()));
        found.ok_or_else(gone).map(Some)
    })
}

/// Maps the kind of a reference and its id to the value that replaces it, if any.
type Replace<'a> = dyn FnMut(&str, &Argument) -> Result<Option<Value>> + 'a;

fn walk(traversal: &mut TraversalSyntax, replace: &mut Replace<'_>) -> Result<()> {
    traversal.calls.iter_mut().flat_map(|call| &mut call.args).try_for_each(|argument| walk_argument(argument, replace))
}

fn walk_argument(argument: &mut Argument, replace: &mut Replace<'_>) -> Result<()> {
    match &mut argument.kind {
        ArgumentKind::Traversal(traversal) => walk(traversal, replace),
        ArgumentKind::Predicate(predicate) => walk_predicate(predicate, replace),
        ArgumentKind::List(items) | ArgumentKind::Set(items) => {
            items.iter_mut().try_for_each(|item| walk_argument(item, replace))
        }
        ArgumentKind::Map(entries) => entries.iter_mut().try_for_each(|(key, value)| {
            walk_argument(key, replace)?;
            walk_argument(value, replace)
        }),
        ArgumentKind::Strategy { options, .. } => {
            options.iter_mut().try_for_each(|(_, option)| walk_argument(option, replace))
        }
        ArgumentKind::Applied { kind, name, args } if kind == "Element" && (name == "Vertex" || name == "Edge") => {
            let value = args.first().map(|id| replace(name, id)).transpose()?.flatten();
            if let Some(value) = value {
                argument.kind = ArgumentKind::Value(value);
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn walk_predicate(predicate: &mut PredicateSyntax, replace: &mut Replace<'_>) -> Result<()> {
    match predicate {
        PredicateSyntax::Test { args, .. } => args.iter_mut().try_for_each(|argument| walk_argument(argument, replace)),
        PredicateSyntax::And(a, b) | PredicateSyntax::Or(a, b) => {
            walk_predicate(a, replace)?;
            walk_predicate(b, replace)
        }
        PredicateSyntax::Not(inner) => walk_predicate(inner, replace),
    }
}
