//! The steps of gremlin-lang 3.8, and Mangrove's own steps for labels. They serve "did you mean", completion and help.
//!
//! The list does not say what this engine can run; [`KnownStep::is_run`] does.

/// A name that may be called, and what it is for.
#[derive(Clone, Copy, Debug)]
pub struct KnownStep {
    pub name: &'static str,
    pub kind: StepKind,
    pub description: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepKind {
    /// Configures `g`, or its transaction.
    Source,
    /// Starts a traversal at `g`; all but `io` may also come later.
    Spawn,
    Step,
    /// Modifies the step before it.
    Modulator,
    /// Ends a traversal.
    Terminal,
}

use StepKind::{Modulator, Source, Spawn, Step as Plain, Terminal};

/// The steps that change the graph. A query with one of them gets a transaction.
pub const WRITING: [&str; 8] = ["addV", "addE", "property", "drop", "mergeV", "mergeE", "addLabel", "dropLabel"];

/// Every step, grouped by kind.
pub static STEPS: [KnownStep; 158] = [
    step("withBulk", Source, "whether equal traversers travel as one"),
    step("withPath", Source, "keep the path of every traverser"),
    step("withSack", Source, "give every traverser a sack with this value"),
    step("withSideEffect", Source, "start a side effect with a value"),
    step("withStrategies", Source, "add traversal strategies"),
    step("withoutStrategies", Source, "leave traversal strategies out"),
    step("tx", Source, "refused in text: use `db.transaction()`, or `g.tx()` on `g = db.traversal()` in Python"),
    step("begin", Source, "refused in text, like `tx()`"),
    step("commit", Source, "refused in text, like `tx()`"),
    step("rollback", Source, "refused in text, like `tx()`"),
    step("V", Spawn, "all vertices, or those with these ids"),
    step("E", Spawn, "all edges, or those with these ids"),
    step("addV", Spawn, "add a vertex with this label"),
    step("addE", Spawn, "add an edge with this label"),
    step("mergeV", Spawn, "find the vertex the map describes, or add it"),
    step("mergeE", Spawn, "find the edge the map describes, or add it"),
    step("inject", Spawn, "put these values into the stream"),
    step("io", Spawn, "refused: use `mangrove load` and `export`, or `db.load()` and `db.export()`"),
    step("call", Spawn, "run a procedure"),
    step("union", Spawn, "the results of several traversals, one after the other"),
    step("addLabel", Plain, "give a vertex further labels"),
    step("aggregate", Plain, "collect everything so far into a side effect"),
    step("all", Plain, "lists whose items all match"),
    step("and", Plain, "keep what gives a result in every traversal"),
    step("any", Plain, "lists with an item that matches"),
    step("asBool", Plain, "turn into a boolean"),
    step("asDate", Plain, "turn into a date and time"),
    step("asNumber", Plain, "turn into a number"),
    step("asString", Plain, "turn into a string"),
    step("barrier", Plain, "wait until everything before has arrived"),
    step("both", Plain, "neighbours along edges of either direction"),
    step("bothE", Plain, "edges of either direction"),
    step("bothV", Plain, "both ends of an edge"),
    step("branch", Plain, "go on with each option whose key equals the traversal's result"),
    step("cap", Plain, "give the side effects of these names"),
    step("choose", Plain, "go one way or another, by a test or a value"),
    step("coalesce", Plain, "the results of the first traversal that has any"),
    step("coin", Plain, "keep each with this probability"),
    step("combine", Plain, "a list and another, one after the other"),
    step("concat", Plain, "join strings"),
    step("conjoin", Plain, "join the items of a list into a string"),
    step("connectedComponent", Plain, "give each vertex the component it belongs to"),
    step("constant", Plain, "this value for every traverser"),
    step("count", Plain, "how many came"),
    step("cyclicPath", Plain, "keep those whose path visits something twice"),
    step("dateAdd", Plain, "a date moved by a number of units"),
    step("dateDiff", Plain, "milliseconds between two dates"),
    step("dedup", Plain, "each only once"),
    step("difference", Plain, "the items of a list that another lacks"),
    step("discard", Plain, "drop every traverser"),
    step("disjunct", Plain, "the items only one of two lists has"),
    step("drop", Plain, "delete elements and properties"),
    step("dropLabel", Plain, "take labels away, but not the first one"),
    step("element", Plain, "the element a property belongs to"),
    step("elementMap", Plain, "id, label and properties as one map"),
    step("fail", Plain, "stop the query with an error"),
    step("filter", Plain, "keep what matches"),
    step("flatMap", Plain, "all results of the traversal"),
    step("fold", Plain, "collect into one list, or into one value"),
    step("format", Plain, "a string with %{names} filled in"),
    step("group", Plain, "collect by key into a map"),
    step("groupCount", Plain, "count by key into a map"),
    step("has", Plain, "keep elements with such a property"),
    step("hasId", Plain, "keep elements with these ids"),
    step("hasKey", Plain, "keep properties with these keys"),
    step("hasLabel", Plain, "keep elements with these labels"),
    step("hasNot", Plain, "keep elements without this property"),
    step("hasValue", Plain, "keep properties with these values"),
    step("id", Plain, "the id of an element"),
    step("identity", Plain, "what came, as it is"),
    step("in", Plain, "neighbours along incoming edges"),
    step("inE", Plain, "incoming edges"),
    step("inV", Plain, "the vertex an edge points to"),
    step("index", Plain, "number the items of a collection"),
    step("intersect", Plain, "the items two lists share"),
    step("is", Plain, "keep values that match"),
    step("key", Plain, "the key of a property"),
    step("label", Plain, "the label of an element"),
    step("labels", Plain, "all labels of an element, its own first"),
    step("length", Plain, "the length of a string"),
    step("limit", Plain, "the first n"),
    step("local", Plain, "run the traversal on each by itself"),
    step("loops", Plain, "how often the repeat has run"),
    step("lTrim", Plain, "a string without the blanks in front"),
    step("map", Plain, "the first result of the traversal"),
    step("match", Plain, "find bindings that satisfy every pattern"),
    step("math", Plain, "compute an expression"),
    step("max", Plain, "the largest"),
    step("mean", Plain, "the average"),
    step("merge", Plain, "two collections as one, each item once"),
    step("min", Plain, "the smallest"),
    step("none", Plain, "lists without an item that matches"),
    step("not", Plain, "keep what gives no result in the traversal"),
    step("optional", Plain, "the traversal's results if it has any, else what came"),
    step("or", Plain, "keep what gives a result in some traversal"),
    step("order", Plain, "sort"),
    step("otherV", Plain, "the end of an edge the traverser did not come from"),
    step("out", Plain, "neighbours along outgoing edges"),
    step("outE", Plain, "outgoing edges"),
    step("outV", Plain, "the vertex an edge comes from"),
    step("pageRank", Plain, "give each vertex its PageRank, as a property that this query sees"),
    step("path", Plain, "everything a traverser has visited"),
    step("peerPressure", Plain, "give each vertex its cluster, as its neighbours vote"),
    step("product", Plain, "all pairs of items of two lists"),
    step("profile", Plain, "refused: use `mangrove query --profile` or `db.profile()`"),
    step("project", Plain, "a map with these keys"),
    step("properties", Plain, "the properties themselves, with key and value"),
    step("property", Plain, "set a property"),
    step("propertyMap", Plain, "properties as a map of lists"),
    step("range", Plain, "from the first position to before the second"),
    step("read", Plain, "refused, like `io()`"),
    step("repeat", Plain, "run the traversal again and again"),
    step("replace", Plain, "replace a part of a string"),
    step("reverse", Plain, "a string or list backwards"),
    step("rTrim", Plain, "a string without the blanks behind"),
    step("sack", Plain, "the traverser's sack, or a new value for it"),
    step("sample", Plain, "n at random"),
    step("select", Plain, "what `as()` named, or values of a map by key"),
    step("shortestPath", Plain, "the shortest paths from each vertex"),
    step("sideEffect", Plain, "run the traversal, pass on what came"),
    step("simplePath", Plain, "keep those whose path visits nothing twice"),
    step("skip", Plain, "all but the first n"),
    step("split", Plain, "cut a string into a list"),
    step("subgraph", Plain, "collect edges into a graph"),
    step("substring", Plain, "a part of a string"),
    step("sum", Plain, "the sum"),
    step("tail", Plain, "the last n"),
    step("timeLimit", Plain, "stop after n milliseconds"),
    step("toE", Plain, "edges in a direction that is given"),
    step("toLower", Plain, "a string in small letters"),
    step("toUpper", Plain, "a string in capitals"),
    step("toV", Plain, "the end of an edge in a given direction"),
    step("tree", Plain, "merge paths into a tree"),
    step("trim", Plain, "a string without blanks around it"),
    step("unfold", Plain, "the items of a collection, one by one"),
    step("value", Plain, "the value of a property"),
    step("valueMap", Plain, "property values as a map of lists"),
    step("values", Plain, "property values"),
    step("where", Plain, "keep what matches, with names and traversals"),
    step("write", Plain, "refused, like `io()`"),
    step("as", Modulator, "label this point of the path"),
    step("by", Modulator, "how the step before takes its values"),
    step("emit", Modulator, "give results while repeating"),
    step("from", Modulator, "where an edge or path starts"),
    step(
        "option",
        Modulator,
        "one case of choose() or branch(), or what mergeV() and mergeE() do to a new or a found element",
    ),
    step("times", Modulator, "how often to repeat"),
    step("to", Modulator, "where an edge or path ends"),
    step("until", Modulator, "when to stop repeating"),
    step("with", Modulator, "an option of the step or source before"),
    step("explain", Terminal, "refused: use `mangrove query --explain` or `db.explain()`"),
    step("hasNext", Terminal, "whether there is a result: true or false"),
    step("iterate", Terminal, "run, give nothing back"),
    step("next", Terminal, "the next result, or the next n"),
    step("toBulkSet", Terminal, "the results, as toList() gives them"),
    step("toList", Terminal, "all results"),
    step("toSet", Terminal, "all distinct results"),
    step("toString", Terminal, "refused: a traversal is text already"),
    step("tryNext", Terminal, "the next result if there is one"),
];

const fn step(name: &'static str, kind: StepKind, description: &'static str) -> KnownStep {
    KnownStep { name, kind, description }
}

impl KnownStep {
    /// Whether queries can use it.
    pub fn is_run(&self) -> bool {
        !["refused", "not yet"].iter().any(|why| self.description.starts_with(why))
    }
}

/// The step of this name.
pub fn find(name: &str) -> Option<&'static KnownStep> {
    STEPS.iter().find(|step| step.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_described() {
        for (i, step) in STEPS.iter().enumerate() {
            assert!(STEPS[..i].iter().all(|other| other.name != step.name), "{}", step.name);
            assert!(!step.description.is_empty() && !step.description.ends_with('.'), "{}", step.name);
        }
        assert_eq!(find("hasLabel").map(|step| step.kind), Some(StepKind::Step));
        assert!(find("haslabel").is_none());
    }
}
