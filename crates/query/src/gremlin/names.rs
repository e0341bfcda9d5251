//! The constants and predicates of the language.

/// A kind of constant, as in `T.id`.
pub struct Kind {
    pub name: &'static str,
    pub members: &'static [&'static str],
    /// Whether its members may be written without the kind.
    bare: bool,
}

const fn kind(name: &'static str, bare: bool, members: &'static [&'static str]) -> Kind {
    Kind { name, members, bare }
}

/// `GType` comes after `Cardinality`: a bare `list` is a cardinality, unless a type is expected.
pub static KINDS: [Kind; 19] = [
    kind("T", true, &["id", "label", "key", "value"]),
    kind("Scope", true, &["local", "global"]),
    kind("Order", true, &["asc", "desc", "shuffle"]),
    kind("Column", true, &["keys", "values"]),
    kind("Pop", true, &["first", "last", "all", "mixed"]),
    kind("Cardinality", true, &["single", "list", "set"]),
    kind("Direction", true, &["OUT", "IN", "BOTH", "from", "to"]),
    kind("Merge", true, &["onCreate", "onMatch", "outV", "inV"]),
    kind("Pick", true, &["any", "none", "unproductive"]),
    kind("Operator", true, &["addAll", "and", "assign", "div", "max", "min", "minus", "mult", "or", "sum", "sumLong"]),
    kind("Barrier", true, &["normSack"]),
    kind("DT", true, &["second", "minute", "hour", "day"]),
    kind("GType", true, &TYPES),
    kind("WithOptions", false, &["tokens", "none", "ids", "labels", "keys", "values", "all", "indexer", "list", "map"]),
    kind("IO", false, &["reader", "writer", "registry", "gryo", "graphson", "graphml"]),
    kind("PageRank", false, &["edges", "times", "propertyName"]),
    kind("PeerPressure", false, &["edges", "times", "propertyName"]),
    kind("ConnectedComponent", false, &["component", "edges", "propertyName"]),
    kind("ShortestPath", false, &["target", "edges", "distance", "maxDistance", "includeEdges"]),
];

const TYPES: [&str; 27] = [
    "BIGDECIMAL",
    "BIGINT",
    "BINARY",
    "BOOLEAN",
    "BYTE",
    "CHAR",
    "DATETIME",
    "DOUBLE",
    "DURATION",
    "EDGE",
    "FLOAT",
    "GRAPH",
    "INT",
    "LIST",
    "LONG",
    "MAP",
    "NULL",
    "NUMBER",
    "PATH",
    "PROPERTY",
    "SET",
    "SHORT",
    "STRING",
    "TREE",
    "UUID",
    "VERTEX",
    "VPROPERTY",
];

/// The predicates of `P`; `and`, `or` and `negate` join them.
pub static PREDICATES: [&str; 13] =
    ["eq", "neq", "lt", "lte", "gt", "gte", "inside", "outside", "between", "within", "without", "typeOf", "not"];

/// The predicates of `TextP`.
pub static TEXT_PREDICATES: [&str; 8] =
    ["startingWith", "notStartingWith", "endingWith", "notEndingWith", "containing", "notContaining", "regex", "notRegex"];

/// The kinds of references to elements, as in `Element.Vertex(id, label)`. The language does not have them; bytecode does.
pub static ELEMENTS: [&str; 4] = ["Vertex", "Edge", "VertexProperty", "Property"];

pub fn is_predicate(name: &str) -> bool {
    PREDICATES.contains(&name) || TEXT_PREDICATES.contains(&name)
}

/// The canonical kind and name of `kind.name`.
pub fn constant(kind: &str, name: &str) -> Option<(&'static str, &'static str)> {
    let kind = KINDS.iter().find(|k| k.name == kind)?;
    let name = match kind.name {
        "GType" => kind.members.iter().find(|member| member.eq_ignore_ascii_case(name))?,
        _ => kind.members.iter().find(|member| **member == name)?,
    };
    Some((kind.name, alias(kind.name, name)))
}

/// The canonical kind and name of a constant that stands alone. Type names in lower case are variables here, because `edge` and
/// `number` are likelier to be parameters. Where a type is expected, [`type_name`] applies.
pub fn bare_constant(name: &str) -> Option<(&'static str, &'static str)> {
    KINDS.iter().filter(|kind| kind.bare).find_map(|kind| {
        let member = kind.members.iter().find(|member| **member == name)?;
        Some((kind.name, alias(kind.name, member)))
    })
}

/// The type that a bare name means in `typeOf` and `asNumber`.
pub fn type_name(name: &str) -> Option<(&'static str, &'static str)> {
    constant("GType", name)
}

fn alias(kind: &str, name: &'static str) -> &'static str {
    match (kind, name) {
        ("Direction", "from") => "OUT",
        ("Direction", "to") => "IN",
        _ => name,
    }
}

/// The members of a kind, for messages.
pub fn members(kind: &str) -> Option<&'static [&'static str]> {
    KINDS.iter().find(|k| k.name == kind).map(|k| k.members)
}

/// What has members: the predicates, and the enumerations.
pub fn owners() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    let predicates: [(_, &[_]); 2] = [("P", &PREDICATES), ("TextP", &TEXT_PREDICATES)];
    predicates.into_iter().chain(KINDS.iter().map(|kind| (kind.name, kind.members)))
}

/// Words that may begin a term, beside steps.
pub fn words() -> impl Iterator<Item = &'static str> {
    let of_kinds = KINDS.iter().map(|kind| kind.name);
    PREDICATES.into_iter().chain(TEXT_PREDICATES).chain(["g", "__", "P", "TextP"]).chain(of_kinds)
}

/// Whether a name cannot be a variable, because it is a constant or a word of the language.
pub fn is_reserved(name: &str) -> bool {
    const WORDS: [&str; 8] = ["g", "__", "new", "true", "false", "null", "NaN", "Infinity"];
    WORDS.contains(&name) || bare_constant(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_names_belong_to_one_kind() {
        assert_eq!(bare_constant("id"), Some(("T", "id")));
        assert_eq!(bare_constant("list"), Some(("Cardinality", "list")));
        assert_eq!(bare_constant("INT"), Some(("GType", "INT")));
        assert_eq!(bare_constant("edge"), None);
        assert_eq!(bare_constant("tokens"), None);
        assert_eq!(type_name("list"), Some(("GType", "LIST")));
    }

    #[test]
    fn directions_have_one_name_each() {
        assert_eq!(constant("Direction", "from"), Some(("Direction", "OUT")));
        assert_eq!(bare_constant("to"), Some(("Direction", "IN")));
    }
}
