//! The formats of files.

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Format {
    /// Detect the format of each file, by its content and extension.
    #[default]
    Auto,
    Csv,
    Parquet,
    Jsonl,
    GraphMl,
    GraphSon,
    /// Two ids a line. Also Matrix Market.
    EdgeList,
}

impl Format {
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "auto" => Format::Auto,
            "csv" | "tsv" => Format::Csv,
            "parquet" => Format::Parquet,
            "jsonl" | "ndjson" => Format::Jsonl,
            "graphml" => Format::GraphMl,
            "graphson" => Format::GraphSon,
            "edgelist" => Format::EdgeList,
            _ => return None,
        })
    }

    /// `None` for extensions that show no format.
    pub fn of_extension(extension: &str) -> Option<Self> {
        Some(match extension {
            "csv" | "tsv" | "psv" => Format::Csv,
            "parquet" | "pq" => Format::Parquet,
            "jsonl" | "ndjson" => Format::Jsonl,
            "graphml" | "xml" => Format::GraphMl,
            "graphson" | "json" => Format::GraphSon,
            "edgelist" | "mtx" => Format::EdgeList,
            _ => return None,
        })
    }
}
