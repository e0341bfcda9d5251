//! The strategies that queries can name, and what each does here. docs/gremlin.md has this table.

use crate::diagnostics::suggest;

/// The effect of naming a strategy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// It has its documented effect.
    Honoured,
    /// The engine always works that way, whether the strategy is named or left out.
    Always,
    /// It tunes TinkerPop's own engine and changes no result. It has no effect here.
    None,
}

#[derive(Clone, Copy, Debug)]
pub struct Strategy {
    pub name: &'static str,
    pub effect: Effect,
    pub description: &'static str,
}

use Effect::{Always, Honoured};

pub static STRATEGIES: [Strategy; 38] = [
    strategy(
        "EdgeLabelVerificationStrategy",
        Honoured,
        "steps along edges must name labels; if one does not, `throwException: true` gives an error and `logWarning: true` a warning",
    ),
    strategy(
        "ElementIdStrategy",
        Honoured,
        "`T.id`, `hasId()`, `id()` and `V(…)` use the property that the option `idPropertyKey` names (by default `__id`) instead of the id",
    ),
    strategy(
        "OptionsStrategy",
        Honoured,
        "`evaluationTimeout` in milliseconds, as `g.with('evaluationTimeout', …)`; the shortest timeout holds; other options do nothing",
    ),
    strategy("PartitionStrategy", Honoured, "elements are read from `readPartitions` and written to `writePartition`"),
    strategy(
        "ProductiveByStrategy",
        Honoured,
        "where a `by()` finds nothing, its value is null; without this strategy it is left out",
    ),
    strategy("ReadOnlyStrategy", Honoured, "a query that would change the graph is refused"),
    strategy(
        "ReservedKeysVerificationStrategy",
        Honoured,
        "a query must not write certain property names (`id`, `label`); if it does, `throwException: true` gives an error and `logWarning: true` a warning",
    ),
    strategy(
        "SeedStrategy",
        Honoured,
        "`coin()`, `sample()` and `shuffle` draw the same again, though not the numbers Java would",
    ),
    strategy(
        "SubgraphStrategy",
        Honoured,
        "steps see only vertices, edges and vertex properties that meet its criteria; an element that is a result still shows all its properties",
    ),
    strategy("VertexProgramRestrictionStrategy", Honoured, "a query that also names `VertexProgramStrategy` is refused"),
    strategy("ConnectiveStrategy", Always, "`and()` and `or()` may stand between the traversals they join"),
    strategy("LambdaRestrictionStrategy", Always, "there are no lambdas"),
    strategy("StandardVerificationStrategy", Always, "a traversal that breaks the rules of Gremlin is an error"),
    unfelt("AdjacentToIncidentStrategy"),
    unfelt("ByModulatorOptimizationStrategy"),
    unfelt("ComputerFinalizationStrategy"),
    unfelt("ComputerVerificationStrategy"),
    unfelt("CountStrategy"),
    unfelt("EarlyLimitStrategy"),
    unfelt("EventStrategy"),
    unfelt("FilterRankingStrategy"),
    unfelt("GraphFilterStrategy"),
    unfelt("HaltedTraverserStrategy"),
    unfelt("IdentityRemovalStrategy"),
    unfelt("IncidentToAdjacentStrategy"),
    unfelt("InlineFilterStrategy"),
    unfelt("LazyBarrierStrategy"),
    unfelt("MatchAlgorithmStrategy"),
    unfelt("MatchPredicateStrategy"),
    unfelt("MessagePassingReductionStrategy"),
    unfelt("OrderLimitStrategy"),
    unfelt("PathProcessorStrategy"),
    unfelt("PathRetractionStrategy"),
    unfelt("ProfileStrategy"),
    unfelt("ReferenceElementStrategy"),
    unfelt("RepeatUnrollStrategy"),
    unfelt("DetachStrategy"),
    unfelt("VertexProgramStrategy"),
];

const fn strategy(name: &'static str, effect: Effect, description: &'static str) -> Strategy {
    Strategy { name, effect, description }
}

const fn unfelt(name: &'static str) -> Strategy {
    strategy(name, Effect::None, "")
}

pub fn is_known(name: &str) -> bool {
    STRATEGIES.iter().any(|strategy| strategy.name == name)
}

/// The strategy that a misspelt name may mean.
pub fn near(name: &str) -> Option<&'static str> {
    suggest(name, STRATEGIES.iter().map(|strategy| strategy.name))
}
