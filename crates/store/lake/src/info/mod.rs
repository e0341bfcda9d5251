//! What the YAML files of a GraphAr directory say.
//!
//! ```text
//!   NAME.graph.yml                  names the other files
//!   TYPE.vertex.yml                 one type of vertices: its properties and labels, and where they are
//!   SOURCE_TYPE_TARGET.edge.yml     one type of edges from one type of vertices to another
//! ```
//! Reading accepts what the libraries of GraphAr 0.12 and 0.13 write (format `gar/v1`). Unknown keys are left out, because later
//! minor versions may add some.

mod edge;
mod graph;
mod notes;
mod place;
mod property;
pub mod types;
mod vertex;

pub use edge::{AdjacentList, EdgeInfo, OFFSET, Order, SOURCE, Side, TARGET};
pub use graph::GraphInfo;
pub use notes::Notes;
pub use place::{Prefix, safe};
pub use property::{FileType, Property, PropertyGroup, quoted};
pub use vertex::VertexInfo;

/// Reads a text as each kind of description, and forgets what it says: for tests that give it any text.
pub fn parse_descriptions(text: &str) {
    let name = "text.yml".into();
    let _ = GraphInfo::parse(text, &name).map(|info| Notes::of(&info.extra).id_space());
    let _ = VertexInfo::parse(text, &name);
    let _ = EdgeInfo::parse(text, &name);
    let _ = mangrove_ingest::parse_mapping(text, &name, std::path::Path::new(""), false);
}
