//! Folders with files of other formats than Parquet. Each file is converted when a query first needs it, and kept beside indexes.

use std::sync::Arc;

use bytes::Bytes;
use mangrove_graph::ReadContext;

use crate::convert::{BYTES_MAX, FileForm, to_parquet};
use crate::error::{LakeError, Result};
use crate::files::{Files, OpenFile, Part};
use crate::index::{ConvertedFile, IndexCache, in_parallel};
use crate::info::{FileType, Prefix};
use crate::pages::Table;

/// The form of the files of each folder, and where converted files are kept.
#[derive(Default)]
pub struct Forms {
    folders: Vec<(Prefix, FileForm)>,
    kept: Option<IndexCache>,
}

impl Forms {
    pub fn new(folders: Vec<(Prefix, FileForm)>, kept: IndexCache) -> Self {
        Self { folders, kept: Some(kept) }
    }

    /// How a file is written; `None` for Parquet.
    pub fn of(&self, path: &str) -> Option<&FileForm> {
        let above = self.folders.iter().filter(|(folder, _)| path.starts_with(folder.as_str()));
        let nearest = above.max_by_key(|(folder, _)| folder.as_str().len()).map(|(_, form)| form);
        nearest.filter(|form| form.file_type != FileType::Parquet)
    }

    /// Opens files that are no Parquet. `None` for those that do not exist.
    pub fn open_converted(
        &self,
        files: &Files,
        paths: &[Arc<str>],
        limits: Option<&ReadContext>,
        mut number: impl FnMut() -> u32,
    ) -> Result<Vec<Option<Table>>> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let opened = files.open(paths, 1, limits)?;
        let numbers: Vec<u32> = opened.iter().map(|_| number()).collect();
        in_parallel(opened.len(), limits, |at, limits| {
            let (Some((file, _)), Some(form)) = (&opened[at], self.of(&paths[at])) else { return Ok(None) };
            let bytes = self.converted(files, file, form, limits)?;
            Table::of_converted(files, file.clone().converted(bytes), limits, numbers[at]).map(Some)
        })
    }

    /// A file as Parquet, from the cache if it was converted before.
    fn converted(&self, files: &Files, file: &OpenFile, form: &FileForm, limits: Option<&ReadContext>) -> Result<Bytes> {
        let name = files.name(&file.path);
        if file.size > BYTES_MAX {
            let (format, most) = (form.file_type.title(), BYTES_MAX >> 30);
            let reason = format!("{name}: it is {format} and has more than {most} GB: write such files as Parquet");
            return Err(LakeError::Unsupported(reason));
        }
        let convert = || {
            limits.map_or(Ok(()), |limits| limits.budget.fits(file.size as usize))?;
            let bytes = files.read(&[Part { file, range: 0..file.size }], limits)?.pop().unwrap_or_default();
            to_parquet(&name, bytes, form, limits)
        };
        let Some(kept) = &self.kept else { return Ok(convert()?.into()) };
        let description = format!("converted, 1\n{}\n{file:?}\n{form:?}", files.full_place());
        if let Some(found) = kept.open(&description).and_then(ConvertedFile::parse) {
            return Ok(found.into_bytes());
        }
        let parquet = convert()?;
        let written = kept.write(&description, |writer| ConvertedFile::write(writer, &parquet))?;
        Ok(ConvertedFile::parse(written).map_or_else(|| parquet.into(), ConvertedFile::into_bytes))
    }
}
