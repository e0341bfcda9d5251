//! Calls and replies as messages of a stream.

use bytes::{Buf, BufMut, Bytes};
use mangrove_cluster::wire::{Call, Reply, SentError, from_bytes, to_bytes};
use mangrove_graph::{Result, SpanPlace};
use serde::{Deserialize, Serialize};
use tonic::Status;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};

/// What a client says. Who sends a call need not own it: a reference has the same bytes.
#[derive(Debug, Serialize, Deserialize)]
pub enum Request<C = Call> {
    /// Who it is, for those who wait for it. The first message.
    Name(String),
    /// A call. Its reply has the same number.
    Call(u64, C),
    /// A call that has no reply.
    Tell(C),
    /// Nobody waits for the reply of this number any more.
    Cancel(u64),
    /// Is the node there? It says so at once, whatever else it does.
    Ping,
    /// A call that is a part of a trace.
    Traced(u64, SpanPlace, C),
}

/// The number of the reply to a ping.
pub const PING: u64 = u64::MAX;

/// What a node says: the reply to the call of a number.
#[derive(Debug, Serialize, Deserialize)]
pub struct Response {
    pub number: u64,
    pub reply: Result<Reply, SentError>,
}

/// A message.
pub type Frame = Bytes;

pub fn frame<T: Serialize>(message: &T) -> Result<Frame> {
    Ok(to_bytes(message)?.into())
}

pub fn read<T: for<'de> Deserialize<'de>>(frame: &Frame) -> Result<T> {
    from_bytes(frame)
}

/// Messages are bytes.
#[derive(Clone, Copy, Default)]
pub struct Raw;

impl Codec for Raw {
    type Encode = Frame;
    type Decode = Frame;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Frame;
    type Error = Status;

    fn encode(&mut self, item: Frame, to: &mut EncodeBuf<'_>) -> std::result::Result<(), Status> {
        to.put(item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Frame;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> std::result::Result<Option<Frame>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}
