//! Parquet files, read page by page.
//!
//! ```text
//!   rows of a column ── which pages hold them ── bytes of the missing ones, all together ── arrays, in a cache ── the rows' values
//! ```
//! A page is the least that is read. Where a file has no index of its pages, a whole column of a row group is one page.

mod bounds;
mod cache;
mod caught;
mod packed;
mod sparse;
mod truth;
mod whole;

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, downcast_primitive, make_array, new_empty_array};
use arrow_data::transform::MutableArrayData;
use arrow_schema::ArrowError;
use arrow_select::concat::concat;
use arrow_select::interleave::interleave;
use hashbrown::HashMap;
use mangrove_graph::ReadContext;
use parquet::DecodeResult;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection, RowSelector,
};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataPushDecoder, RowGroupMetaData};
use parquet::file::page_index::offset_index::PageLocation;

use crate::error::{LakeError, Result};
use crate::files::{Files, OpenFile, Part};
pub use bounds::{common, either, others};
pub use cache::Cache;
use cache::PageKey;
pub use caught::caught;
pub use packed::packed;
use sparse::Sparse;
pub use whole::{RowGroup, row_group, truth_of_row_groups};

/// The most bytes of a footer that are read at once. Most footers are smaller.
const FOOTER_BYTES: u64 = 64 << 10;

/// The most rows of a file.
const FILE_ROWS_MAX: u64 = u32::MAX as u64 - 1;
/// Rows that are decoded at a time.
const BATCH_ROWS: usize = 1 << 16;
/// Pages of a far file are read ahead up to this many bytes: they come with the journey that is made anyway.
const AHEAD_BYTES: u64 = 128 << 10;
/// The most pages that are read ahead. Pages that pack well are large once they are unpacked.
const AHEAD_PAGES: usize = 64;
const AHEAD_ROWS: u64 = 1 << 18;
/// The most memory that the values of a page may take.
const PAGE_BYTES_MAX: usize = 512 << 20;

/// Whether to follow what the program that wrote a file noted about Arrow's types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrowTypes {
    /// Parquet's types decide: the format says which they are.
    Ignored,
    /// Durations, for one, are integers to Parquet.
    Followed,
}

/// An open Parquet file.
pub struct Table {
    file: OpenFile,
    metadata: ArrowReaderMetadata,
    /// The first row of each row group; at the end, the number of rows.
    starts: Vec<u64>,
    /// For the cache.
    number: u32,
}

/// A page: rows of one column in one row group.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Page {
    group: usize,
    at: usize,
    /// Counted from the first row of the file.
    rows: Range<u64>,
}

impl Table {
    /// Opens files: reads what each says about its contents. `None` for those that do not exist. `number` gives each its own number.
    pub fn open_all(
        files: &Files,
        paths: &[Arc<str>],
        arrow_types: ArrowTypes,
        limits: Option<&ReadContext>,
        mut number: impl FnMut() -> u32,
    ) -> Result<Vec<Option<Self>>> {
        let opened = files.open(paths, FOOTER_BYTES, limits)?;
        let mut tables = Vec::with_capacity(opened.len());
        for found in opened {
            tables.push(match found {
                Some((file, end)) => {
                    let (path, number) = (file.path.clone(), number());
                    Some(caught(|| files.name(&path), || Self::parse(files, (file, end), arrow_types, limits, number))?)
                }
                None => None,
            });
        }
        Ok(tables)
    }

    /// Opens a file that was converted.
    pub fn of_converted(files: &Files, file: OpenFile, limits: Option<&ReadContext>, number: u32) -> Result<Self> {
        let end = Part { file: &file, range: file.size.saturating_sub(FOOTER_BYTES)..file.size };
        let end = files.read(&[end], limits)?.pop().unwrap_or_default();
        Self::parse(files, (file, end), ArrowTypes::Ignored, limits, number)
    }

    fn parse(
        files: &Files,
        (file, end): (OpenFile, bytes::Bytes),
        arrow_types: ArrowTypes,
        limits: Option<&ReadContext>,
        number: u32,
    ) -> Result<Self> {
        let damaged = |error: ParquetError| {
            let name = files.name(&file.path);
            let is_text = [".csv", ".tsv", ".json", ".jsonl", ".orc"].iter().any(|end| name.ends_with(end));
            let hint = if is_text {
                "; tables of a mapping must be Parquet, and `mangrove load` reads other formats, too"
            } else {
                ""
            };
            LakeError::damaged(&name, format!("no Parquet file: {error}{hint}"))
        };
        let mut decoder = ParquetMetaDataPushDecoder::try_new(file.size)
            .map_err(damaged)?
            .with_page_index_policy(PageIndexPolicy::Optional);
        decoder.push_range(file.size - end.len() as u64..file.size, end).map_err(damaged)?;
        let metadata = loop {
            match decoder.try_decode().map_err(damaged)? {
                DecodeResult::Data(metadata) => break metadata,
                DecodeResult::Finished => return Err(LakeError::damaged(&files.name(&file.path), "it ends too early")),
                DecodeResult::NeedsData(ranges) => {
                    if ranges.iter().any(|range| range.start > range.end || range.end > file.size) {
                        return Err(LakeError::damaged(&files.name(&file.path), "its footer points out of the file"));
                    }
                    let parts: Vec<Part<'_>> =
                        ranges.iter().map(|range| Part { file: &file, range: range.clone() }).collect();
                    let found = files.read(&parts, limits)?;
                    decoder.push_ranges(ranges, found).map_err(damaged)?;
                }
            }
        };
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(arrow_types == ArrowTypes::Ignored);
        let metadata = Arc::new(metadata);
        let mut arrow = ArrowReaderMetadata::try_new(metadata.clone(), options).map_err(damaged)?;
        if let Some(plain) = without_dictionaries(arrow.schema()) {
            let options = ArrowReaderOptions::new().with_schema(plain);
            arrow = ArrowReaderMetadata::try_new(metadata, options).map_err(damaged)?;
        }
        let metadata = arrow;
        if let Some(codec) = unreadable(metadata.metadata()) {
            let reason = format!("it is compressed with {codec}, which is not read: write it with zstd, snappy or gzip");
            return Err(LakeError::damaged(&files.name(&file.path), reason));
        }
        let mut starts = vec![0u64];
        for group in metadata.metadata().row_groups() {
            let rows = u64::try_from(group.num_rows()).ok().and_then(|rows| starts[starts.len() - 1].checked_add(rows));
            let rows = rows.filter(|rows| *rows <= FILE_ROWS_MAX);
            starts.push(
                rows.ok_or_else(|| LakeError::damaged(&files.name(&file.path), "it has more rows than one file may have"))?,
            );
        }
        let table = Self { file, metadata, starts, number };
        match table.is_sound() {
            true => Ok(table),
            false => Err(LakeError::damaged(&files.name(&table.file.path), "its footer names pages that cannot be")),
        }
    }

    /// Whether all columns and pages lie in the file, in order. What reads pages relies on it.
    fn is_sound(&self) -> bool {
        let metadata = self.metadata.metadata();
        let leaves = self.metadata.parquet_schema().num_columns();
        metadata.row_groups().iter().enumerate().all(|(group, of)| {
            of.columns().len() == leaves
                && (0..leaves).all(|leaf| {
                    let (start, bytes) = of.column(leaf).byte_range();
                    let pages = self.pages(group, leaf);
                    let rows = (self.starts[group + 1] - self.starts[group]) as i64;
                    start.checked_add(bytes).is_some_and(|end| end <= self.file.size)
                        && pages.first().is_none_or(|page| page.first_row_index == 0)
                        && pages.windows(2).all(|two| two[0].first_row_index < two[1].first_row_index)
                        && pages.iter().all(|page| {
                            page.offset >= 0 && page.compressed_page_size >= 0 && (0..=rows).contains(&page.first_row_index)
                        })
                })
        })
    }

    pub fn rows(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Fails if the file has another number of rows.
    pub fn must_have(&self, files: &Files, rows: u64) -> Result<()> {
        if self.rows() == rows {
            return Ok(());
        }
        Err(LakeError::damaged(&files.name(&self.file.path), format!("it has {} rows, not {rows}", self.rows())))
    }

    pub fn path(&self) -> &Arc<str> {
        &self.file.path
    }

    pub fn file(&self) -> &OpenFile {
        &self.file
    }

    pub fn schema(&self) -> &arrow_schema::SchemaRef {
        self.metadata.schema()
    }

    pub fn row_groups(&self) -> usize {
        self.starts.len() - 1
    }

    /// The rows of a row group, counted from the first row of the file.
    pub fn rows_of(&self, group: usize) -> Range<u64> {
        self.starts[group]..self.starts[group + 1]
    }

    /// How many rows lack a value in a column; `None` if the file does not say.
    pub fn nulls(&self, column: usize) -> Option<u64> {
        let leaf = self.leaf(column);
        let of = |group: &RowGroupMetaData| group.column(leaf).statistics()?.null_count_opt();
        self.metadata.metadata().row_groups().iter().map(of).sum()
    }

    /// The number of a column, and its type.
    pub fn column(&self, name: &str) -> Option<(usize, &arrow_schema::DataType)> {
        let (at, field) = self.metadata.schema().fields().find(name)?;
        Some((at, field.data_type()))
    }

    pub fn columns(&self) -> usize {
        self.metadata.schema().fields().len()
    }

    /// The first leaf of a column, which decides its pages.
    fn leaf(&self, column: usize) -> usize {
        self.leaves(column).start
    }

    /// The leaves of a column: several for structs and maps.
    fn leaves(&self, column: usize) -> Range<usize> {
        let schema = self.metadata.parquet_schema();
        let is_of = |leaf: &usize| schema.get_column_root_idx(*leaf) == column;
        let first = (0..schema.num_columns()).find(is_of).unwrap_or(0);
        first..(first..schema.num_columns()).take_while(is_of).count() + first
    }

    /// The page that holds a row of the file; `None` beyond its end. O(log pages).
    fn page_of(&self, leaf: usize, row: u64) -> Option<Page> {
        let group = self.starts.partition_point(|start| *start <= row).checked_sub(1)?;
        let (first, end) = (self.starts[group], *self.starts.get(group + 1)?);
        let pages = self.pages(group, leaf);
        if pages.is_empty() {
            return Some(Page { group, at: 0, rows: first..end });
        }
        let start = |at: usize| pages.get(at).map_or(end, |page| first + page.first_row_index as u64);
        let at = pages.partition_point(|page| first + page.first_row_index as u64 <= row).checked_sub(1)?;
        Some(Page { group, at, rows: start(at)..start(at + 1) })
    }

    /// Where the pages of a column of a row group are; nothing if the file does not say.
    fn pages(&self, group: usize, leaf: usize) -> &[PageLocation] {
        // The pages of several leaves end at different rows. So such a column is one page.
        if self.leaves(self.metadata.parquet_schema().get_column_root_idx(leaf)).len() > 1 {
            return &[];
        }
        let index = self.metadata.metadata().offset_index().and_then(|index| index.get(group)?.get(leaf));
        index.map_or(&[], |of| of.page_locations())
    }

    /// The bytes of a page, and those of the dictionary that it needs.
    fn ranges(&self, leaf: usize, page: &Page) -> impl Iterator<Item = Range<u64>> {
        let group = self.metadata.metadata().row_group(page.group);
        let further = self.leaves(self.metadata.parquet_schema().get_column_root_idx(leaf)).skip(1);
        let further: Vec<Range<u64>> = further
            .map(|leaf| group.column(leaf).byte_range())
            .map(|(start, bytes)| start..start.saturating_add(bytes))
            .collect();
        let (start, bytes) = group.column(leaf).byte_range();
        let pages = self.pages(page.group, leaf);
        let (dictionary, of_page) = match (pages.get(page.at), pages.first()) {
            (Some(location), Some(first)) => {
                let (offset, bytes) = (location.offset as u64, location.compressed_page_size as u64);
                (start..first.offset as u64, offset..offset.saturating_add(bytes))
            }
            _ => (0..0, start..start.saturating_add(bytes)),
        };
        [dictionary, of_page].into_iter().chain(further).filter(|range| !range.is_empty())
    }
}

/// The schema with plain columns in place of dictionaries, which are larger than the pages that are read of them; `None` if there
/// are none.
fn without_dictionaries(schema: &arrow_schema::SchemaRef) -> Option<arrow_schema::SchemaRef> {
    use arrow_schema::{DataType, Schema};
    let plain = |field: &arrow_schema::FieldRef| match field.data_type() {
        DataType::Dictionary(_, values) => Arc::new(field.as_ref().clone().with_data_type((**values).clone())),
        DataType::RunEndEncoded(_, values) => Arc::new(field.as_ref().clone().with_data_type(values.data_type().clone())),
        _ => field.clone(),
    };
    let fields: Vec<_> = schema.fields().iter().map(plain).collect();
    let changed = fields.iter().zip(schema.fields()).any(|(new, old)| new.data_type() != old.data_type());
    changed.then(|| Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())))
}

/// The first codec that this build does not have, if a column uses one.
fn unreadable(metadata: &ParquetMetaData) -> Option<&'static str> {
    let codecs = metadata.row_groups().iter().flat_map(|group| group.columns()).map(|column| column.compression());
    codecs.into_iter().find_map(|codec| match codec {
        Compression::BROTLI(_) => Some("Brotli"),
        Compression::LZ4 | Compression::LZ4_RAW => Some("LZ4"),
        Compression::LZO => Some("LZO"),
        _ => None,
    })
}

/// Rows of a column of a file.
#[derive(Clone, Copy)]
pub struct Wanted<'r> {
    pub table: &'r Table,
    pub column: usize,
    /// Counted from the first row of the file.
    pub rows: &'r [u64],
}

/// The values of rows, in their order: one array for each entry of `wanted`. All missing pages are read together.
pub fn read(files: &Files, cache: &Cache, wanted: &[Wanted<'_>], limits: Option<&ReadContext>) -> Result<Vec<ArrayRef>> {
    let mut plans = Vec::with_capacity(wanted.len());
    for one in wanted {
        plans.push(Plan::new(files, *one)?);
    }
    load(files, cache, &mut plans, limits)?;
    let mut bytes = 0;
    let mut arrays = Vec::with_capacity(plans.len());
    for plan in &plans {
        let array = plan.gather(files)?;
        bytes += array.get_array_memory_size();
        limits.map_or(Ok(()), |limits| limits.budget.fits(bytes))?;
        arrays.push(array);
    }
    Ok(arrays)
}

/// The pages that hold the wanted rows of a column.
struct Plan<'r> {
    wanted: Wanted<'r>,
    leaf: usize,
    /// Each once.
    pages: Vec<Page>,
    /// The array of each page, once it is there.
    arrays: Vec<Option<ArrayRef>>,
    /// Rows that follow each other and lie in one page: its position, and how many of the wanted rows there are up to their end.
    spans: Vec<(usize, usize)>,
}

impl<'r> Plan<'r> {
    fn new(files: &Files, wanted: Wanted<'r>) -> Result<Self> {
        let leaf = wanted.table.leaf(wanted.column);
        let mut pages: Vec<Page> = Vec::new();
        let mut spans: Vec<(usize, usize)> = Vec::new();
        let mut known: HashMap<(usize, usize), usize> = HashMap::new();
        let mut at = 0;
        while let Some(row) = wanted.rows.get(at) {
            let Some(page) = wanted.table.page_of(leaf, *row) else {
                let reason = format!("it has {} rows; row {row} is missing", wanted.table.rows());
                return Err(LakeError::damaged(&files.name(&wanted.table.file.path), reason));
            };
            at += wanted.rows[at..].iter().take_while(|row| page.rows.contains(row)).count();
            let number = *known.entry((page.group, page.at)).or_insert_with(|| {
                pages.push(page);
                pages.len() - 1
            });
            spans.push((number, at));
        }
        let arrays = vec![None; pages.len()];
        Ok(Self { wanted, leaf, pages, arrays, spans })
    }

    fn key(&self, page: &Page) -> PageKey {
        PageKey {
            table: self.wanted.table.number,
            column: self.wanted.column as u32,
            group: page.group as u32,
            at: page.at as u32,
        }
    }

    /// Adds pages that follow the last missing one in its row group: hops and scans mostly go forward.
    fn read_ahead(&mut self, cache: &Cache, missing: &mut Vec<usize>) {
        let table = self.wanted.table;
        let Some(mut last) = missing.last().map(|at| self.pages[*at].clone()) else { return };
        let locations = table.pages(last.group, self.leaf);
        let first = last.rows.end;
        let (mut bytes, end) = (0, locations.len().min(last.at + 1 + AHEAD_PAGES));
        for location in locations.get(last.at + 1..end).unwrap_or_default() {
            bytes += location.compressed_page_size as u64;
            let Some(next) = table.page_of(self.leaf, last.rows.end) else { return };
            if bytes > AHEAD_BYTES
                || next.rows.end - first > AHEAD_ROWS
                || next.rows.is_empty()
                || self.pages.contains(&next)
                || cache.get(&self.key(&next)).is_some()
            {
                return;
            }
            missing.push(self.pages.len());
            self.pages.push(next.clone());
            self.arrays.push(None);
            last = next;
        }
    }

    fn gather(&self, files: &Files) -> Result<ArrayRef> {
        let arrays: Vec<&dyn Array> = self.arrays.iter().flatten().map(|array| &**array).collect();
        if arrays.is_empty() {
            let field = self.wanted.table.metadata.schema().field(self.wanted.column);
            return Ok(new_empty_array(field.data_type()));
        }
        if let [array] = arrays[..]
            && self.is_whole(array)
        {
            return Ok(array.slice(0, array.len()));
        }
        let (plan, arrays) = (self, &arrays[..]);
        let fixed = downcast_primitive! {
            arrays[0].data_type() => (fixed, plan, arrays),
            _ => None
        };
        match fixed {
            Some(gathered) => Ok(gathered),
            None => interleave(arrays, &self.places())
                .map_err(|error| LakeError::damaged(&files.name(&self.wanted.table.file.path), error.to_string())),
        }
    }

    /// Whether the wanted rows are all those of the only page, in order.
    fn is_whole(&self, array: &dyn Array) -> bool {
        let (rows, first) = (self.wanted.rows, self.pages[0].rows.start);
        array.len() == rows.len() && rows.iter().zip(first..).all(|(row, expected)| *row == expected)
    }

    /// The wanted rows, span by span: the position of their page, and their rows there.
    fn rows(&self) -> impl Iterator<Item = (usize, impl Iterator<Item = usize> + '_)> + '_ {
        let starts = std::iter::once(0).chain(self.spans.iter().map(|(_, end)| *end));
        starts.zip(&self.spans).map(|(start, (page, end))| {
            let first = self.pages[*page].rows.start;
            (*page, self.wanted.rows[start..*end].iter().map(move |row| (row - first) as usize))
        })
    }

    fn places(&self) -> Vec<(usize, usize)> {
        self.rows().flat_map(|(page, rows)| rows.map(move |row| (page, row))).collect()
    }

    /// The values of the rows, if they have a fixed width and none is missing.
    fn gather_fixed<T: ArrowPrimitiveType>(&self, arrays: &[&dyn Array]) -> Option<ArrayRef> {
        if arrays.iter().any(|array| array.null_count() > 0) {
            return None;
        }
        let mut values: Vec<T::Native> = Vec::with_capacity(self.wanted.rows.len());
        for (page, rows) in self.rows() {
            let of_page = arrays[page].as_primitive::<T>().values();
            values.extend(rows.map(|row| of_page[row]));
        }
        let array = PrimitiveArray::<T>::new(values.into(), None);
        Some(Arc::new(array.with_data_type(arrays[0].data_type().clone())))
    }
}

/// The type of a column's values.
macro_rules! fixed {
    ($t:ty, $plan:ident, $arrays:ident) => {
        $plan.gather_fixed::<$t>($arrays)
    };
}
use fixed;

/// Missing pages of a column in one row group, and the bytes of each.
struct Missing {
    /// The plan that wants them.
    of: usize,
    /// The positions of the pages in the plan, in the order of the file.
    pages: Vec<usize>,
    parts: Range<usize>,
}

/// Brings the pages of all plans into memory. Pages of a column that lie in one row group are decoded together: they may share a
/// dictionary, which then is decoded once.
fn load(files: &Files, cache: &Cache, plans: &mut [Plan<'_>], limits: Option<&ReadContext>) -> Result<()> {
    let mut parts = Vec::new();
    let mut all: Vec<Missing> = Vec::new();
    for (of, plan) in plans.iter_mut().enumerate() {
        let mut missing: Vec<usize> = Vec::new();
        for at in 0..plan.pages.len() {
            plan.arrays[at] = cache.get(&plan.key(&plan.pages[at]));
            if plan.arrays[at].is_none() {
                missing.push(at);
            }
        }
        missing.sort_unstable_by_key(|at| plan.pages[*at].rows.start);
        if files.is_far() {
            plan.read_ahead(cache, &mut missing);
        }
        for pages in missing.chunk_by(|a, b| plan.pages[*a].group == plan.pages[*b].group) {
            let first = parts.len();
            for at in pages {
                let ranges = plan.wanted.table.ranges(plan.leaf, &plan.pages[*at]);
                parts.extend(ranges.map(|range| Part { file: &plan.wanted.table.file, range }));
            }
            all.push(Missing { of, pages: pages.to_vec(), parts: first..parts.len() });
        }
    }
    if let Some(part) = parts.iter().find(|part| part.range.start > part.range.end || part.range.end > part.file.size) {
        return Err(LakeError::damaged(&files.name(&part.file.path), "a page lies outside of the file"));
    }
    let found = files.read(&parts, limits)?;
    let mut held = 0;
    for Missing { of, pages, parts: own } in all {
        let plan = &plans[of];
        let bytes = parts[own.clone()].iter().zip(&found[own]).map(|(part, bytes)| (part.range.start, bytes.clone()));
        let bytes = Sparse::new(plan.wanted.table.file.size, bytes.collect());
        let wanted: Vec<&Page> = pages.iter().map(|at| &plan.pages[*at]).collect();
        let name = || files.name(&plan.wanted.table.file.path);
        let arrays = caught(name, || decode(files, plan, &wanted, bytes))?;
        held += arrays.iter().map(|array| array.get_array_memory_size()).sum::<usize>();
        if let Some(limits) = limits {
            limits.check()?;
            limits.budget.fits(held)?;
        }
        for (at, array) in pages.into_iter().zip(arrays) {
            cache.put(plans[of].key(&plans[of].pages[at]), array.clone());
            plans[of].arrays[at] = Some(array);
        }
    }
    Ok(())
}

/// The values of some pages of a row group, which are in order.
fn decode(files: &Files, plan: &Plan<'_>, pages: &[&Page], bytes: Sparse) -> Result<Vec<ArrayRef>> {
    let table = plan.wanted.table;
    let damaged = |reason: String| LakeError::damaged(&files.name(&table.file.path), reason);
    let group = pages.first().map_or(0, |page| page.group);
    let (mut selectors, mut end) = (Vec::with_capacity(pages.len() * 2), table.starts[group]);
    for page in pages {
        selectors.push(RowSelector::skip((page.rows.start - end) as usize));
        selectors.push(RowSelector::select((page.rows.end - page.rows.start) as usize));
        end = page.rows.end;
    }
    let rows: usize = pages.iter().map(|page| (page.rows.end - page.rows.start) as usize).sum();
    let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(bytes, table.metadata.clone())
        .with_row_groups(vec![group])
        .with_projection(ProjectionMask::roots(table.metadata.parquet_schema(), [plan.wanted.column]))
        .with_row_selection(RowSelection::from(selectors))
        .with_batch_size(rows.min(BATCH_ROWS))
        .build();
    let (mut parts, mut found, mut size) = (Vec::new(), 0, 0);
    for batch in reader.map_err(|error| damaged(error.to_string()))? {
        let array = batch.map_err(|error| damaged(error.to_string()))?.column(0).clone();
        (found, size) = (found + array.len(), size + array.get_array_memory_size());
        if size > PAGE_BYTES_MAX {
            return Err(damaged(format!("a page unpacks to more than {} MB", PAGE_BYTES_MAX >> 20)));
        }
        parts.push(array);
    }
    if found != rows {
        return Err(damaged(format!("a page has {found} rows, not {rows}")));
    }
    let whole = match parts.len() {
        1 => parts.remove(0),
        _ => concat(&parts.iter().map(|part| &**part).collect::<Vec<_>>()).map_err(|error| damaged(error.to_string()))?,
    };
    if let [_] = pages {
        return Ok(vec![whole]);
    }
    let mut start = 0;
    let page = |page: &&Page| {
        let rows = (page.rows.end - page.rows.start) as usize;
        start += rows;
        copied(&whole, start - rows..start).map_err(|error| damaged(error.to_string()))
    };
    pages.iter().map(page).collect()
}

/// A part of an array that does not keep the rest in memory.
fn copied(array: &ArrayRef, rows: Range<usize>) -> Result<ArrayRef, ArrowError> {
    let data = array.to_data();
    let mut copy = MutableArrayData::new(vec![&data], false, rows.len());
    copy.try_extend(0, rows.start, rows.end)?;
    Ok(make_array(copy.freeze()))
}
