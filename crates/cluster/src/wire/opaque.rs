//! Bytes that travel as they are.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes that mean something to those at both ends. They are written and read at once, not byte by byte.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Opaque(pub Vec<u8>);

impl fmt::Debug for Opaque {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl Serialize for Opaque {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Opaque {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Bytes;

        impl Visitor<'_> for Bytes {
            type Value = Opaque;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Opaque, E> {
                Ok(Opaque(bytes.to_vec()))
            }

            fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<Opaque, E> {
                Ok(Opaque(bytes))
            }
        }
        from.deserialize_bytes(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{from_bytes, to_bytes};

    #[test]
    fn bytes_come_back_and_take_no_more_room() {
        let all = Opaque((0..=255).collect());
        let bytes = to_bytes(&all).unwrap();
        assert_eq!(bytes.len(), 256 + 2);
        assert_eq!(from_bytes::<Opaque>(&bytes).unwrap(), all);
        assert!(from_bytes::<Opaque>(&bytes[..200]).is_err());
    }
}
