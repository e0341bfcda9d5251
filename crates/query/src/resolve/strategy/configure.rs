//! `withStrategies(…)` and `withoutStrategies(…)`: reads the strategies of a query.

use std::time::Duration;

use super::known;
use crate::diagnostics::{Span, suggest};
use crate::error::{QueryError, QueryErrorKind, Result};
use crate::gremlin::syntax::{Argument, ArgumentKind};
use crate::plan::*;
use crate::resolve::argument::Resolver;

/// An entry that some language variants send among the options.
const NAME_OF_STRATEGY: &str = "strategy";

/// The options of one strategy.
struct StrategyOptions<'a> {
    resolver: &'a Resolver<'a>,
    given: &'a [(String, Argument)],
}

impl StrategyOptions<'_> {
    fn get(&self, key: &str) -> Option<&Argument> {
        self.given.iter().find(|(k, _)| k == key).map(|(_, argument)| argument)
    }

    /// Fails if the strategy does not have an option. A misspelt option of a filter would let everything be seen.
    fn only(&self, strategy: &str, known: &[&str]) -> Result<()> {
        let unknown = self.given.iter().find(|(key, _)| key != NAME_OF_STRATEGY && !known.contains(&&key[..]));
        let Some((key, argument)) = unknown else { return Ok(()) };
        let error = QueryError::step(format!("{strategy} has no option {key}")).at(argument.span);
        Err(match (suggest(key, known.iter().copied()), known) {
            (Some(near), _) => error.help(format!("did you mean {near}?")),
            (None, []) => error.help("it takes no options"),
            (None, known) => error.help(format!("it takes {}", known.join(", "))),
        })
    }

    fn required(&self, strategy: &str, key: &str, span: Span) -> Result<&Argument> {
        self.get(key).ok_or_else(|| QueryError::step(format!("{strategy} needs the option {key}")).at(span))
    }

    fn name(&self, key: &str) -> Result<Option<Name>> {
        self.get(key).map(|argument| self.resolver.name(argument)).transpose()
    }

    fn names(&self, key: &str) -> Result<Option<Vec<Name>>> {
        self.get(key).map(|argument| names(self.resolver, argument)).transpose()
    }

    fn flag(&self, key: &str, otherwise: bool) -> Result<bool> {
        Ok(self.get(key).map(|argument| self.resolver.boolean(argument)).transpose()?.unwrap_or(otherwise))
    }

    fn child(&self, key: &str) -> Result<Option<Traversal>> {
        self.get(key).map(|argument| self.resolver.child(argument)).transpose()
    }

    fn reaction(&self) -> Result<Reaction> {
        Ok(Reaction { throw: self.flag("throwException", false)?, warn: self.flag("logWarning", false)? })
    }
}

pub(in crate::resolve) fn with(
    resolver: &Resolver<'_>,
    name: &str,
    options: &[(String, Argument)],
    span: Span,
    strategies: &mut Strategies,
) -> Result<()> {
    let options = StrategyOptions { resolver, given: options };
    if let Some(known) = known_options(name) {
        options.only(name, known)?;
    }
    match name {
        "ReadOnlyStrategy" => strategies.read_only = true,
        "ProductiveByStrategy" => {
            strategies.productive_by = true;
            strategies.productive_keys = options.names("productiveKeys")?.unwrap_or_default();
        }
        "SeedStrategy" => {
            strategies.seed = Some(resolver.integer(options.required(name, "seed", span)?)? as u64);
        }
        "SubgraphStrategy" => {
            strategies.subgraph = Some(Box::new(SubgraphStrategy {
                vertices: options.child("vertices")?,
                edges: options.child("edges")?,
                vertex_properties: options.child("vertexProperties")?,
                check_adjacent: options.flag("checkAdjacentVertices", true)?,
            }));
        }
        "PartitionStrategy" => {
            strategies.partition = Some(PartitionStrategy {
                key: resolver.name(options.required(name, "partitionKey", span)?)?,
                write: options.name("writePartition")?,
                read: options.names("readPartitions")?.unwrap_or_default(),
                include_meta: options.flag("includeMetaProperties", false)?,
            });
        }
        "ElementIdStrategy" => {
            strategies.element_id = Some(options.name("idPropertyKey")?.unwrap_or_else(|| "__id".into()));
        }
        "EdgeLabelVerificationStrategy" => strategies.edge_label_verification = options.reaction()?,
        "ReservedKeysVerificationStrategy" => {
            strategies.reserved_keys_reaction = options.reaction()?;
            strategies.reserved_keys = options.names("keys")?.unwrap_or_else(|| vec!["id".into(), "label".into()]);
        }
        "OptionsStrategy" => {
            for (key, value) in options.given {
                option(resolver, key, value, strategies)?;
            }
        }
        "VertexProgramRestrictionStrategy" => strategies.no_computer = true,
        "VertexProgramStrategy" => strategies.computer = true,
        name if known::is_known(name) => {}
        _ => return Err(unknown(name, span)),
    }
    Ok(())
}

/// The options of a strategy; `None` if it takes any.
fn known_options(strategy: &str) -> Option<&'static [&'static str]> {
    Some(match strategy {
        "ReadOnlyStrategy" => &[],
        "ProductiveByStrategy" => &["productiveKeys"],
        "SeedStrategy" => &["seed"],
        "SubgraphStrategy" => &["vertices", "edges", "vertexProperties", "checkAdjacentVertices"],
        "PartitionStrategy" => &["partitionKey", "writePartition", "readPartitions", "includeMetaProperties"],
        "ElementIdStrategy" => &["idPropertyKey"],
        "EdgeLabelVerificationStrategy" => &["throwException", "logWarning"],
        "ReservedKeysVerificationStrategy" => &["throwException", "logWarning", "keys"],
        _ => return None,
    })
}

/// Applies an option of the traversal source. Unknown options are for other engines.
pub(in crate::resolve) fn option(
    resolver: &Resolver<'_>,
    key: &str,
    value: &Argument,
    strategies: &mut Strategies,
) -> Result<Option<String>> {
    const TIMEOUTS: [&str; 2] = ["evaluationTimeout", "scriptEvaluationTimeout"];
    if TIMEOUTS.contains(&key) {
        // Zero means no timeout, as with TinkerPop's server.
        let millis = resolver.count(value)?;
        strategies.timeout = (millis > 0).then(|| Duration::from_millis(millis));
    }
    Ok(suggest(key, TIMEOUTS.into_iter()).map(|near| format!("`{key}` is not an option of a query; did you mean `{near}`?")))
}

fn unknown(name: &str, span: Span) -> QueryError {
    let error = QueryError::new(QueryErrorKind::Unsupported, format!("the strategy `{name}` is not supported")).at(span);
    match known::near(name) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help("`mangrove docs gremlin` lists the supported strategies"),
    }
}

fn names(resolver: &Resolver<'_>, argument: &Argument) -> Result<Vec<Name>> {
    match &argument.kind {
        ArgumentKind::List(items) | ArgumentKind::Set(items) => resolver.names(items),
        _ => resolver.names(std::slice::from_ref(argument)),
    }
}

pub(in crate::resolve) fn without(name: &str, span: Span, strategies: &mut Strategies) -> Result<()> {
    match name {
        "ReadOnlyStrategy" => strategies.read_only = false,
        "ProductiveByStrategy" => strategies.productive_by = false,
        "SeedStrategy" => strategies.seed = None,
        "SubgraphStrategy" => strategies.subgraph = None,
        "PartitionStrategy" => strategies.partition = None,
        "ElementIdStrategy" => strategies.element_id = None,
        "EdgeLabelVerificationStrategy" => strategies.edge_label_verification = Reaction::default(),
        "ReservedKeysVerificationStrategy" => strategies.reserved_keys.clear(),
        "OptionsStrategy" => strategies.timeout = None,
        "VertexProgramRestrictionStrategy" => strategies.no_computer = false,
        "VertexProgramStrategy" => strategies.computer = false,
        name if known::is_known(name) => {}
        _ => return Err(unknown(name, span)),
    }
    Ok(())
}
