//! Checks the messages of an Arrow stream. A reader believes what they say of themselves: it makes room for all of a message, and takes
//! its columns from where the message says that they are.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use arrow_ipc::{Message, RecordBatch, root_as_message};

/// The most bytes that a message may take to say what its columns are.
const HEAD_BYTES_MAX: u64 = 16 << 20;

/// Fails if a message is longer than what is left of the file or than `bytes_max`, has columns outside of itself, or is compressed: how
/// long its columns are then, it says itself.
pub fn check(mut file: &File, bytes_max: usize) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    let mut left = file.metadata().map_err(failed)?.len();
    let mut word = [0; 4];
    while left >= 8 {
        file.read_exact(&mut word).map_err(failed)?;
        left -= 4;
        // Since the first versions, a mark stands before each length.
        if word == [0xff; 4] {
            file.read_exact(&mut word).map_err(failed)?;
            left -= 4;
        }
        let length = i32::from_le_bytes(word);
        if length == 0 {
            break;
        }
        let length = u64::try_from(length).ok().filter(|length| *length <= left).ok_or("a message without its end")?;
        if length > HEAD_BYTES_MAX {
            return Err(format!("the head of a message takes more than {} MB", HEAD_BYTES_MAX >> 20));
        }
        let mut bytes = vec![0; length as usize];
        file.read_exact(&mut bytes).map_err(failed)?;
        left -= length;
        let message = root_as_message(&bytes).map_err(|error| error.to_string())?;
        let body = u64::try_from(message.bodyLength()).ok().filter(|body| *body <= left);
        let body = body.ok_or("a message that says it is longer than what came")?;
        if body > bytes_max as u64 {
            return Err(format!("a message takes more than {} MB: send fewer rows at once, or Parquet", bytes_max >> 20));
        }
        match rows(&message) {
            Some(rows) if rows.compression().is_some() => {
                return Err("the columns are compressed: send them as they are, or as Parquet".into());
            }
            Some(rows) if !is_within(&rows, body) => return Err("a message whose columns are not in it".into()),
            _ => {}
        }
        file.seek(SeekFrom::Current(body as i64)).map_err(failed)?;
        left -= body;
    }
    file.rewind().map_err(failed)
}

/// The rows of a message, or of its dictionary.
fn rows<'m>(message: &Message<'m>) -> Option<RecordBatch<'m>> {
    message.header_as_record_batch().or_else(|| message.header_as_dictionary_batch()?.data())
}

/// Whether the columns of some rows lie in so many bytes, one after the other.
fn is_within(rows: &RecordBatch<'_>, body: u64) -> bool {
    let is_count = |count: i64| u64::try_from(count).is_ok();
    let counts = rows.nodes().into_iter().flatten().all(|node| is_count(node.length()) && is_count(node.null_count()));
    let buffers = rows.buffers().into_iter().flatten().all(|buffer| {
        let end = u64::try_from(buffer.offset()).ok().zip(u64::try_from(buffer.length()).ok());
        end.and_then(|(offset, length)| offset.checked_add(length)).is_some_and(|end| end <= body)
    });
    is_count(rows.length()) && counts && buffers
}
