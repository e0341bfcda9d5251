//! What queries and jobs can say: steps, words and algorithms, for programs that help to write them.

use axum::Json;
use mangrove::analytics::registry::{ALGORITHMS, OptionKind};
use mangrove_query::gremlin::names;
use mangrove_query::gremlin::steps::STEPS;
use serde_json::{Map, Value, json};

/// The steps with what they do, the words that stand beside them, and the members of enumerations.
pub async fn language() -> Json<Value> {
    let steps = STEPS.iter().filter(|step| step.is_run());
    let steps: Vec<Value> = steps.map(|step| json!({"name": step.name, "description": step.description})).collect();
    let members: Map<String, Value> =
        names::owners().map(|(owner, members)| (owner.to_owned(), members.to_vec().into())).collect();
    Json(json!({"steps": steps, "words": names::words().collect::<Vec<_>>(), "members": members}))
}

/// The algorithms that a job can run, with their options.
pub async fn algorithms() -> Json<Value> {
    let algorithms = ALGORITHMS.iter().map(|about| {
        let options = about.options.iter().map(|option| {
            let kind = match option.kind {
                OptionKind::Count => "count",
                OptionKind::Real => "real",
                OptionKind::Flag => "flag",
                OptionKind::Vertex => "vertex",
                OptionKind::VertexWeights => "vertexWeights",
            };
            json!({"name": option.name, "kind": kind, "default": option.default, "description": option.what})
        });
        json!({
            "name": about.name,
            "description": about.what,
            "takesWeights": about.takes_weights,
            "givesValues": about.gives_values(),
            "options": options.collect::<Vec<_>>(),
        })
    });
    Json(json!({"algorithms": algorithms.collect::<Vec<_>>()}))
}
