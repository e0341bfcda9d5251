//! Objects with their checksums.

use std::io::{self, Read};

use mangrove_graph::{GraphError, Result};
use xxhash_rust::xxh3::Xxh3;

use super::{ObjectCopy, Objects};

/// Counts and sums up what is read.
pub struct Summing<R> {
    pub from: R,
    sum: Xxh3,
    bytes: u64,
}

impl<R: Read> Summing<R> {
    pub fn new(from: R) -> Self {
        Self { from, sum: Xxh3::new(), bytes: 0 }
    }

    /// What was read, as an object.
    pub fn copied(&self, name: String) -> ObjectCopy {
        ObjectCopy { name, bytes: self.bytes, sum: self.sum.digest() }
    }
}

impl<R: Read> Read for Summing<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(into)?;
        self.sum.update(&into[..read]);
        self.bytes += read as u64;
        Ok(read)
    }
}

/// Reads an object, which must be as it was when it was stored.
pub fn whole(
    objects: &dyn Objects,
    place: &str,
    copy: &ObjectCopy,
    read: impl FnOnce(&mut dyn Read) -> Result<()>,
) -> Result<()> {
    let name = format!("{place}/{}", copy.name);
    let object = objects.get(&name)?.ok_or_else(|| GraphError::corrupt(format!("{name} is not there")))?;
    // One byte more shows that it is too long, however long it is.
    let mut object = Summing::new(object.take(copy.bytes.saturating_add(1)));
    read(&mut object)?;
    match object.copied(copy.name.clone()) == *copy {
        true => Ok(()),
        false => Err(GraphError::corrupt(format!("{name} has changed"))),
    }
}

/// Stores bytes as an object.
///
/// # Errors
/// If the place does not take them.
pub fn put_bytes(objects: &dyn Objects, place: &str, name: String, bytes: &[u8]) -> Result<ObjectCopy> {
    let mut bytes = Summing::new(bytes);
    objects.put(&format!("{place}/{name}"), &mut bytes)?;
    Ok(bytes.copied(name))
}

/// Reads the bytes of an object, which must be as they were when they were stored.
///
/// # Errors
/// [`GraphError::Corrupt`] if it is not there, or has changed.
pub fn get_bytes(objects: &dyn Objects, place: &str, copy: &ObjectCopy) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    whole(objects, place, copy, |object| object.read_to_end(&mut bytes).map(drop).map_err(GraphError::storage))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Cursor;
    use std::sync::Mutex;

    use super::*;

    #[derive(Default)]
    struct InMemory(Mutex<BTreeMap<String, Vec<u8>>>);

    impl Objects for InMemory {
        fn put(&self, name: &str, from: &mut dyn Read) -> Result<()> {
            let mut bytes = Vec::new();
            from.read_to_end(&mut bytes).map_err(GraphError::storage)?;
            self.0.lock().unwrap().insert(name.to_owned(), bytes);
            Ok(())
        }

        fn get(&self, name: &str) -> Result<Option<Box<dyn Read + Send>>> {
            Ok(self.0.lock().unwrap().get(name).map(|bytes| Box::new(Cursor::new(bytes.clone())) as _))
        }

        fn size(&self, name: &str) -> Result<Option<u64>> {
            Ok(self.0.lock().unwrap().get(name).map(|bytes| bytes.len() as u64))
        }

        fn list(&self, _: &str) -> Result<Vec<String>> {
            Ok(self.0.lock().unwrap().keys().cloned().collect())
        }

        fn remove(&self, name: &str) -> Result<()> {
            self.0.lock().unwrap().remove(name);
            Ok(())
        }

        fn place(&self) -> String {
            "memory".into()
        }
    }

    #[test]
    fn bytes_come_back_as_they_were_or_not_at_all() {
        let objects = InMemory::default();
        let copy = put_bytes(&objects, "air/somewhere", "seven".into(), b"1234567").unwrap();
        assert_eq!((copy.bytes, &get_bytes(&objects, "air/somewhere", &copy).unwrap()[..]), (7, &b"1234567"[..]));
        for changed in [&b"1234568"[..], b"123456", b"12345678", b""] {
            objects.put("air/somewhere/seven", &mut &changed[..]).unwrap();
            assert!(matches!(get_bytes(&objects, "air/somewhere", &copy), Err(GraphError::Corrupt(_))));
        }
        objects.remove("air/somewhere/seven").unwrap();
        assert!(matches!(get_bytes(&objects, "air/somewhere", &copy), Err(GraphError::Corrupt(_))));
    }
}
