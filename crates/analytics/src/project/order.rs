//! The order of ids.

use mangrove_graph::{Elements, ExternalId, GraphError, GraphView, Numbering, ReadContext};

use crate::error::Result;

/// Vertices whose ids are read at a time.
const BATCH: u64 = 8192;

/// For each vertex, the place of its id among all ids in order. Vertices of different labels may have one id: their numbers decide.
pub fn of_ids(view: &dyn GraphView, numbering: &Numbering, limits: &ReadContext) -> Result<Vec<u32>> {
    let mut ids: Vec<(ExternalId, u32)> = Vec::with_capacity(numbering.count() as usize);
    let mut first = 0;
    while first < numbering.count() {
        limits.check()?;
        let end = numbering.count().min(first + BATCH);
        let vertices = numbering.slice(first..end);
        let column = view.external_ids(Elements::Vertices(&vertices))?;
        for at in 0..vertices.len() {
            let id = column.cell(at).values().next().and_then(ExternalId::from_value);
            ids.push((id.ok_or_else(|| GraphError::corrupt("a vertex has no id"))?, ids.len() as u32));
        }
        first = end;
    }
    ids.sort_unstable();
    let mut order = vec![0; ids.len()];
    for (place, (_, number)) in ids.iter().enumerate() {
        order[*number as usize] = place as u32;
    }
    Ok(order)
}
