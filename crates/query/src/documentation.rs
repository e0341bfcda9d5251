//! Where the documentation stands, for messages read by people who have no copy of the source.

/// A page of the documentation: its address where the package names a repository, else its name.
pub fn page(name: &str) -> String {
    match env!("CARGO_PKG_REPOSITORY") {
        "" => format!("the page {name} of Mangrove's documentation"),
        repository => format!("{repository}/blob/main/docs/{name}"),
    }
}
