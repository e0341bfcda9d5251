//! Writes a segment's file.

use std::fs::File;
use std::io::{BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use mangrove_graph::{GraphError, Result};
use xxhash_rust::xxh3::Xxh3Default;

use super::{ALIGN, ENTRY, FOOTER, FORMAT, Identity, MAGIC, PartKey, checksum};
use crate::pieces::PIECE;

/// A segment file that is being written. It has another name until it is complete.
pub struct SegmentWriter {
    path: PathBuf,
    unfinished: PathBuf,
    out: BufWriter<File>,
    header: [u8; ALIGN],
    entries: Vec<Entry>,
    end: u64,
}

/// What the directory says of a part.
struct Entry {
    key: PartKey,
    start: u64,
    len: u64,
    checksum: u64,
    /// Where its bytes in pieces begin, and how many they are.
    pieces: (u64, u64),
}

impl SegmentWriter {
    /// Creates a file that does not exist yet.
    pub fn create(path: &Path, identity: Identity) -> Result<Self> {
        let unfinished = path.with_extension("unfinished");
        let mut out = BufWriter::with_capacity(1 << 20, File::create(&unfinished).map_err(named(&unfinished))?);
        let header = identity.header();
        out.write_all(&header).map_err(written)?;
        Ok(Self { path: path.into(), unfinished, out, header, entries: Vec::new(), end: ALIGN as u64 })
    }

    /// Adds a part. Parts may come in any order, but each key only once.
    pub fn put(&mut self, key: PartKey, bytes: &[u8]) -> Result<()> {
        self.put_part(key, &[bytes], (0, 0))
    }

    /// Adds a part whose last `values` bytes are verified piece by piece, if they take more than a piece.
    pub fn put_values(&mut self, key: PartKey, bytes: &[u8], values: usize) -> Result<()> {
        if values <= PIECE {
            return self.put(key, bytes);
        }
        let (head, values) = bytes.split_at(bytes.len() - values);
        let mut pieces = self.pieces();
        pieces.write(values)?;
        pieces.finish(key, head)
    }

    /// Begins a part with its bytes in pieces, which come before its head.
    pub fn pieces(&mut self) -> PiecesWriter<'_> {
        PiecesWriter { start: self.end, file: self, sums: Vec::new(), piece: Xxh3Default::new(), in_piece: 0 }
    }

    /// The concatenated `bytes` of a part. The checksums of its pieces are the last of them.
    fn put_part(&mut self, key: PartKey, bytes: &[&[u8]], pieces: (u64, u64)) -> Result<()> {
        let all: usize = bytes.iter().map(|bytes| bytes.len()).sum();
        let filling = &[0; ALIGN][..all.next_multiple_of(ALIGN) - all];
        let filled = [bytes, &[filling]].concat();
        filled.iter().try_for_each(|bytes| self.out.write_all(bytes)).map_err(written)?;
        let len = bytes[0].len() as u64;
        self.entries.push(Entry { key, start: self.end, len, checksum: checksum(&filled), pieces });
        self.end += (all + filling.len()) as u64;
        Ok(())
    }

    /// Completes the file, makes it durable and gives it its name.
    pub fn finish(self) -> Result<()> {
        let path = self.path.clone();
        self.complete(true)?;
        let directory = path.parent().unwrap_or(Path::new("."));
        if cfg!(unix) { File::open(directory).and_then(|directory| directory.sync_all()).map_err(written) } else { Ok(()) }
    }

    /// Completes the file and gives it its name. A crash of the machine may leave it damaged: for what can be made again.
    pub fn finish_unsynced(self) -> Result<()> {
        self.complete(false)
    }

    fn complete(mut self, durable: bool) -> Result<()> {
        self.entries.sort_unstable_by_key(|entry| entry.key.bytes());
        let mut tail = Vec::with_capacity(self.entries.len() * ENTRY + FOOTER);
        for entry in &self.entries {
            tail.extend_from_slice(&entry.key.bytes());
            let words = [entry.start, entry.len, entry.checksum, entry.pieces.0, entry.pieces.1];
            words.iter().for_each(|word| tail.extend_from_slice(&word.to_le_bytes()));
        }
        tail.extend_from_slice(&self.end.to_le_bytes());
        tail.extend_from_slice(&(self.entries.len() as u64).to_le_bytes());
        let checksum = checksum(&[&self.header, &tail]);
        tail.extend_from_slice(&checksum.to_le_bytes());
        tail.extend_from_slice(&FORMAT.to_le_bytes());
        tail.extend_from_slice(&[0; 4]);
        tail.extend_from_slice(&MAGIC);
        debug_assert_eq!(self.out.stream_position().ok(), Some(self.end));
        self.out.write_all(&tail).map_err(written)?;
        let file = self.out.into_inner().map_err(|error| written(error.into_error()))?;
        if durable {
            file.sync_all().map_err(written)?;
        }
        std::fs::rename(&self.unfinished, &self.path).map_err(named(&self.unfinished))
    }
}

/// The bytes in pieces of a part that is being written.
pub struct PiecesWriter<'w> {
    file: &'w mut SegmentWriter,
    start: u64,
    sums: Vec<u8>,
    piece: Xxh3Default,
    /// How many bytes the current piece has.
    in_piece: usize,
}

impl PiecesWriter<'_> {
    /// Appends bytes.
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(PIECE - self.in_piece));
            self.file.out.write_all(now).map_err(written)?;
            self.piece.update(now);
            self.in_piece += now.len();
            self.file.end += now.len() as u64;
            if self.in_piece == PIECE {
                self.end_piece();
            }
            bytes = later;
        }
        Ok(())
    }

    /// Completes the part. `head` are its other bytes.
    pub fn finish(mut self, key: PartKey, head: &[u8]) -> Result<()> {
        let len = self.file.end - self.start;
        let filling = self.file.end.next_multiple_of(ALIGN as u64) - self.file.end;
        self.write(&[0; ALIGN][..filling as usize])?;
        if self.in_piece > 0 {
            self.end_piece();
        }
        self.file.put_part(key, &[head, &self.sums], (self.start, len))
    }

    fn end_piece(&mut self) {
        self.sums.extend_from_slice(&self.piece.digest().to_le_bytes());
        (self.piece, self.in_piece) = (Xxh3Default::new(), 0);
    }
}

/// Turns an I/O error into one that names the file.
fn named(path: &Path) -> impl FnOnce(std::io::Error) -> GraphError {
    let message = move |error: &std::io::Error| format!("{}: {error}", path.display());
    move |error| match written(std::io::Error::from(error.kind())) {
        GraphError::DiskFull => GraphError::DiskFull,
        _ => GraphError::Storage { message: message(&error), source: Some(Box::new(error)) },
    }
}

pub(super) fn written(error: std::io::Error) -> GraphError {
    use std::io::ErrorKind::*;
    match error.kind() {
        StorageFull | QuotaExceeded | FileTooLarge => GraphError::DiskFull,
        _ => GraphError::storage(error),
    }
}
