//! Calls on `g` that configure the traversal and do not start it.

use mangrove_graph::Value;

use super::argument::{Resolver, arity, operator};
use super::strategy;
use crate::error::{QueryError, QueryErrorKind, Result};
use crate::gremlin::syntax::{ArgumentKind, Call};
use crate::plan::*;

/// Whether a query can start with this step.
pub(super) fn can_spawn(name: &str) -> bool {
    matches!(name, "V" | "E" | "addV" | "addE" | "mergeV" | "mergeE" | "inject" | "union" | "call" | "match" | "io")
}

/// The steps for a call at the end that says how results are fetched; `None` if it is no such call.
pub(super) fn terminal(resolver: &Resolver<'_>, call: &Call) -> Result<Option<Vec<Step>>> {
    let first = |n| Step::Range { low: 0, high: Some(n), scope: Scope::Global };
    Ok(Some(match (call.name.as_str(), &call.args[..]) {
        ("toList" | "toBulkSet", _) => Vec::new(),
        ("toSet", _) => vec![Step::Dedup { labels: Vec::new(), by: Vec::new(), scope: Scope::Global }],
        ("iterate", _) => vec![Step::Discard],
        ("next", [n]) => vec![first(resolver.count(n)?)],
        ("next" | "tryNext", _) => vec![first(1)],
        ("hasNext", _) => {
            vec![first(1), Step::Reduce { reduction: Reduction::Count, scope: Scope::Global }, Step::AsBool]
        }
        ("explain" | "profile", _) => {
            let done = if call.name == "explain" { "explained" } else { "profiled" };
            let message = format!("a query cannot be {done} by a step; it was not run");
            let ways = "`mangrove query --{0}`, `db.{0}(…)` in a program, or /api/databases/NAME/{0} of a server";
            let help = format!("use {}", ways.replace("{0}", &call.name));
            return Err(QueryError::new(QueryErrorKind::Unsupported, message).at(call.name_span).help(help));
        }
        ("toString", _) => {
            let error = QueryError::new(QueryErrorKind::Unsupported, "a traversal is already text; it was not run");
            return Err(error.at(call.name_span).help("leave toString() out to run it"));
        }
        _ => return Ok(None),
    }))
}

/// True if the call configured the source.
pub(super) fn source_call(resolver: &Resolver<'_>, call: &Call, source: &mut SourceConfig) -> Result<bool> {
    match call.name.as_str() {
        "tx" => {
            let error = QueryError::new(QueryErrorKind::Unsupported, "a query cannot begin or end a transaction");
            return Err(error
                .at(call.name_span)
                .help("each query that changes the graph is one transaction; for several queries, use `db.transaction()`"));
        }
        "withSack" => source.sack = Some(sack(resolver, call)?),
        "withSideEffect" => {
            let (name, seed) = side_effect(resolver, call)?;
            source.side_effects.push((name, seed));
        }
        "withStrategies" => {
            for argument in &call.args {
                match &argument.kind {
                    ArgumentKind::Strategy { name, options } => {
                        strategy::with(resolver, name, options, argument.span, &mut source.strategies)?;
                    }
                    _ => return Err(arity(call, "strategies")),
                }
            }
        }
        "withoutStrategies" => {
            for argument in &call.args {
                if let ArgumentKind::Strategy { name, .. } = &argument.kind {
                    strategy::without(name, argument.span, &mut source.strategies)?;
                }
            }
        }
        "withBulk" => source.bulk_off = !resolver.boolean(call.args.first().ok_or_else(|| arity(call, "true or false"))?)?,
        "withPath" => source.paths = true,
        "with" => {
            if let [key, value] = &call.args[..] {
                let warning = strategy::option(resolver, &resolver.name(key)?, value, &mut source.strategies)?;
                source.warnings.extend(warning);
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn sack(resolver: &Resolver<'_>, call: &Call) -> Result<SackConfig> {
    let (initial, rest) = call.args.split_first().ok_or_else(|| arity(call, "an initial value"))?;
    let merge = rest.iter().filter_map(operator).next_back();
    Ok(SackConfig { initial: resolver.value(initial)?, merge })
}

fn side_effect(resolver: &Resolver<'_>, call: &Call) -> Result<(Name, SideEffectSeed)> {
    let (name, value, merge) = match &call.args[..] {
        [name, value] => (name, value, None),
        [name, value, merge] => (name, value, operator(merge)),
        _ => return Err(arity(call, "a name and a value")),
    };
    let value: Value = resolver.value(value)?;
    Ok((resolver.name(name)?, SideEffectSeed { value, merge }))
}
