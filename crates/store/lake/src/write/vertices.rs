//! Writes the vertices of a type.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::{ArrayRef, BooleanArray, Int64Array};
use arrow_schema::{DataType, Field};
use mangrove_graph::{ElementKind, Elements, GraphView, LabelId, Numbering, Schema, VertexId};

use super::chunk::ChunkFile;
use super::column::Plans;
use super::names::Names;
use super::{GraphArOptions, Written, publish};
use crate::error::Result;
use crate::info::VertexInfo;

/// The column with the index of each vertex.
pub const INDEX: &str = "_graphArVertexIndex";
/// Vertices that are written at a time.
const BATCH: u64 = 8192;

pub struct VertexTask {
    label: LabelId,
    /// The further labels, in the order of their columns.
    further: Vec<LabelId>,
    pub info: VertexInfo,
}

impl VertexTask {
    pub fn new(
        schema: &Schema,
        label: LabelId,
        plans: &Plans,
        orders: &Numbering,
        options: &GraphArOptions,
        names: &mut Names,
    ) -> Self {
        let further: Vec<LabelId> = schema
            .label_schema(ElementKind::Vertex, label)
            .map(|of| of.further.iter().copied().collect())
            .unwrap_or_default();
        let info = VertexInfo {
            name: schema.label_name(ElementKind::Vertex, label),
            chunk_size: options.vertex_chunk,
            prefix: names.vertices(schema, label),
            // A type without vertices has no files, so its columns mean nothing.
            groups: if orders.count_of(label) > 0 { plans.vertices[&label].groups(&options.groups) } else { Vec::new() },
            labels: further.iter().map(|label| schema.label_name(ElementKind::Vertex, *label)).collect(),
        };
        Self { label, further, info }
    }

    /// What the name of the YAML file begins with.
    pub fn file_name(&self) -> &str {
        self.info.prefix.last()
    }

    pub fn run(&self, view: &dyn GraphView, written: &Written<'_>) -> Result<()> {
        let folder = written.root.join(self.info.prefix.as_str());
        let count = written.orders.count_of(self.label);
        for chunk in 0..count.div_ceil(self.info.chunk_size) {
            let first = chunk * self.info.chunk_size;
            self.write_chunk(view, written, chunk, first..count.min(first + self.info.chunk_size))?;
        }
        publish::write_file(&folder.join("vertex_count"), &count.to_le_bytes())
    }

    fn write_chunk(
        &self,
        view: &dyn GraphView,
        written: &Written<'_>,
        chunk: u64,
        indexes: std::ops::Range<u64>,
    ) -> Result<()> {
        let Some(order) = written.orders.of(self.label) else { return Ok(()) };
        let folder = written.root.join(self.info.prefix.as_str());
        let plan = &written.plans.vertices[&self.label];
        let mut groups = Vec::with_capacity(self.info.groups.len());
        for group in &self.info.groups {
            let columns: Vec<_> = plan.columns_of(group).collect();
            let mut fields = vec![Field::new(INDEX, DataType::Int64, false)];
            fields.extend(columns.iter().map(|column| column.field()));
            groups.push((ChunkFile::create(folder.join(group.prefix.file(format_args!("chunk{chunk}"))), fields)?, columns));
        }
        let mut labels = match self.info.labels.is_empty() {
            true => None,
            false => {
                let fields = self.info.labels.iter().map(|name| Field::new(&**name, DataType::Boolean, false)).collect();
                Some(ChunkFile::create(folder.join(format!("labels/chunk{chunk}")), fields)?)
            }
        };
        for start in indexes.clone().step_by(BATCH as usize) {
            written.counts.check()?;
            let batch = start..indexes.end.min(start + BATCH);
            let vertices = order.slice(batch.clone());
            let indexes: ArrayRef = Arc::new(Int64Array::from_iter_values(batch.map(|index| index as i64)));
            for (file, columns) in &mut groups {
                let mut arrays = vec![indexes.clone()];
                for column in columns {
                    arrays.push(column.array(view, Elements::Vertices(&vertices))?);
                }
                file.write(arrays)?;
            }
            if let Some(labels) = &mut labels {
                labels.write(self.flags(view, &vertices)?)?;
            }
            written.counts.vertices.fetch_add(vertices.len() as u64, Ordering::Relaxed);
        }
        groups.into_iter().try_for_each(|(file, _)| file.finish())?;
        labels.map_or(Ok(()), ChunkFile::finish)
    }

    /// For each further label, which vertices have it.
    fn flags(&self, view: &dyn GraphView, vertices: &[VertexId]) -> Result<Vec<ArrayRef>> {
        let mut all = Vec::with_capacity(vertices.len());
        view.all_further_labels(vertices, &mut all)?;
        let flags = |label: &LabelId| -> ArrayRef {
            Arc::new(all.iter().map(|labels| Some(labels.contains(label))).collect::<BooleanArray>())
        };
        Ok(self.further.iter().map(flags).collect())
    }
}
