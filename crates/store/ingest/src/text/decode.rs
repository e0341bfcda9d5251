//! Decodes text of other encodings to UTF-8.

use std::io::{self, Read};

use encoding_rs::{Decoder, DecoderResult, Encoding};

use crate::error::LoadError;

const RAW_BYTES: usize = 1 << 16;

/// Reads bytes of an encoding as UTF-8. Bytes that are invalid in the encoding are an error that names their position.
pub struct Decoded<R> {
    input: R,
    encoding: &'static Encoding,
    decoder: Decoder,
    raw: Vec<u8>,
    /// The part of `raw` that is not decoded yet.
    from: usize,
    to: usize,
    /// The input has ended. `is_done`: the decoder has ended too.
    is_read: bool,
    is_done: bool,
    text: Vec<u8>,
    /// How much of `text` the caller has already read.
    given: usize,
    /// Bytes decoded.
    position: u64,
}

impl<R: Read> Decoded<R> {
    pub fn new(input: R, encoding: &'static Encoding) -> Self {
        Self {
            input,
            encoding,
            decoder: encoding.new_decoder_without_bom_handling(),
            raw: vec![0; RAW_BYTES],
            from: 0,
            to: 0,
            is_read: false,
            is_done: false,
            text: Vec::new(),
            given: 0,
            position: 0,
        }
    }

    /// Decodes some more. `text` stays empty at the end of the input.
    fn fill(&mut self) -> io::Result<()> {
        self.text.resize(2 * RAW_BYTES, 0);
        self.given = 0;
        let mut written = 0;
        while written == 0 && !self.is_done {
            if self.from == self.to && !self.is_read {
                self.from = 0;
                self.to = self.input.read(&mut self.raw)?;
                self.is_read = self.to == 0;
            }
            let source = &self.raw[self.from..self.to];
            let (result, read, wrote) =
                self.decoder.decode_to_utf8_without_replacement(source, &mut self.text[written..], self.is_read);
            self.from += read;
            self.position += read as u64;
            written += wrote;
            match result {
                DecoderResult::InputEmpty => self.is_done = self.is_read,
                DecoderResult::OutputFull => {}
                DecoderResult::Malformed(length, after) => {
                    let at = self.position.saturating_sub(u64::from(length) + u64::from(after)) + 1;
                    let what = format!("the bytes from byte {at} on are not text in {}", self.encoding.name());
                    return Err(io::Error::new(io::ErrorKind::InvalidData, what));
                }
            }
        }
        self.text.truncate(written);
        Ok(())
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.text.len() && !self.is_done {
            self.fill()?;
        }
        let n = buffer.len().min(self.text.len() - self.given);
        buffer[..n].copy_from_slice(&self.text[self.given..self.given + n]);
        self.given += n;
        Ok(n)
    }
}

/// The encoding with this name.
pub(crate) fn encoding_named(name: &str) -> Result<&'static Encoding, LoadError> {
    // People write latin-1 and utf_8 too.
    let plain: String = name.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
    Encoding::for_label(name.as_bytes()).or_else(|| Encoding::for_label(plain.as_bytes())).ok_or_else(|| {
        LoadError::options(format!(
            "unknown encoding {name}: use utf-8, utf-16le, utf-16be, latin1, windows-1250 to windows-1258, iso-8859-1 to \
             iso-8859-16, shift_jis, gb18030, euc-kr or another of the Encoding Standard"
        ))
    })
}

#[cfg(test)]
mod tests {
    use encoding_rs::{SHIFT_JIS, UTF_16LE, WINDOWS_1252};

    use super::*;

    fn read(bytes: &[u8], encoding: &'static Encoding, at_once: usize) -> io::Result<String> {
        let mut decoded = Decoded::new(bytes, encoding);
        let (mut out, mut buffer) = (Vec::new(), vec![0; at_once]);
        loop {
            match decoded.read(&mut buffer)? {
                0 => return Ok(String::from_utf8(out).unwrap()),
                n => out.extend_from_slice(&buffer[..n]),
            }
        }
    }

    #[test]
    fn text_comes_out_whole_however_it_is_read() {
        let long = "Zürich, 東京, 😀\n".repeat(20_000);
        let utf_16: Vec<u8> = long.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for at_once in [1, 3, 4096, 1 << 20] {
            assert_eq!(read(&utf_16, UTF_16LE, at_once).unwrap(), long);
            assert_eq!(read(b"caf\xe9 \x80", WINDOWS_1252, at_once).unwrap(), "café €");
            assert_eq!(read(b"", WINDOWS_1252, at_once).unwrap(), "");
        }
        let euros: Vec<u8> = vec![0x80; 200_000];
        assert_eq!(read(&euros, WINDOWS_1252, 1 << 16).unwrap(), "€".repeat(200_000), "three bytes for one");
    }

    #[test]
    fn what_is_no_text_is_an_error_with_its_place() {
        let error = read(b"ok \x82\x20", SHIFT_JIS, 100).unwrap_err();
        assert_eq!(error.to_string(), "the bytes from byte 4 on are not text in Shift_JIS");
        assert!(read(b"a\x00b", UTF_16LE, 100).is_err(), "half a character at the end");
    }
}
