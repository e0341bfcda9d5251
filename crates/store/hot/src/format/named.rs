//! How the tables name segments.

use uuid::Uuid;

/// A segment as the tables name it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Named {
    pub number: u64,
    /// Which file of that number it is. Tables before format 6 do not say.
    pub fingerprint: Option<Fingerprint>,
}

/// Identifies the file of a segment: its own id, and the checksum of its directory. The id is nil if the file was written
/// before format 4 of segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fingerprint {
    pub own: Uuid,
    pub checksum: u64,
}
