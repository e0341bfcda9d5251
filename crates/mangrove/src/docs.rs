//! The documentation that belongs to this version.

/// The pages of `docs/`, by name.
pub const PAGES: [(&str, &str); 22] = [
    ("index", include_str!("../../../docs/index.md")),
    ("recipes", include_str!("../../../docs/recipes.md")),
    ("from-cypher", include_str!("../../../docs/from-cypher.md")),
    ("from-sql", include_str!("../../../docs/from-sql.md")),
    ("from-networkx", include_str!("../../../docs/from-networkx.md")),
    ("rust", include_str!("../../../docs/rust.md")),
    ("load", include_str!("../../../docs/load.md")),
    ("lake", include_str!("../../../docs/lake.md")),
    ("analytics", include_str!("../../../docs/analytics.md")),
    ("layout", include_str!("../../../docs/layout.md")),
    ("paths", include_str!("../../../docs/paths.md")),
    ("social", include_str!("../../../docs/social.md")),
    ("server", include_str!("../../../docs/server.md")),
    ("cluster", include_str!("../../../docs/cluster.md")),
    ("explorer", include_str!("../../../docs/explorer.md")),
    ("assistants", include_str!("../../../docs/assistants.md")),
    ("output", include_str!("../../../docs/output.md")),
    ("gremlin", include_str!("../../../docs/gremlin.md")),
    ("engine", include_str!("../../../docs/engine.md")),
    ("procedures", include_str!("../../../docs/procedures.md")),
    ("trust", include_str!("../../../docs/trust.md")),
    ("benchmarks", include_str!("../../../docs/benchmarks.md")),
];

/// A page by its name, with or without `.md`.
pub fn page(name: &str) -> Option<&'static str> {
    let name = name.strip_suffix(".md").unwrap_or(name);
    PAGES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The title of a page: its heading.
pub fn title(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim_start_matches('#').trim()
}

/// The programs of the page for Rust run with the tests of this documentation.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
struct RustPage;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_there() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
        for entry in std::fs::read_dir(folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(!name.ends_with(".md") || page(&name).is_some_and(|text| !title(text).is_empty()), "{name}");
        }
        assert!(page("nothing").is_none());
    }
}
