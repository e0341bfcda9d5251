//! Calls on `g` that configure the traversal rather than start it.

use mangrove_graph::Value;

use super::argument::{Resolver, arity, operator};
use super::strategy;
use super::*;
use crate::error::Result;
use crate::gremlin::syntax::{ArgumentKind, Call};

/// Steps a query can start with.
pub(super) fn can_spawn(name: &str) -> bool {
    matches!(name, "V" | "E" | "addV" | "addE" | "mergeV" | "mergeE" | "inject" | "union" | "call" | "match" | "io")
}

/// Calls that say how results are fetched; results always come as a stream here.
pub(super) fn is_terminal(call: &Call) -> bool {
    matches!(
        call.name.as_str(),
        "next" | "toList" | "toSet" | "toBulkSet" | "iterate" | "tryNext" | "hasNext" | "explain" | "profile"
    )
}

/// True if the call configured the source.
pub(super) fn source_call(resolver: &Resolver<'_>, call: &Call, source: &mut SourceConfig) -> Result<bool> {
    match call.name.as_str() {
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
                strategy::option(resolver, &resolver.name(key)?, value, &mut source.strategies)?;
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
