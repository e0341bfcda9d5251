//! Bounds what a connection takes: the memory and the time of a message that has not come whole, and the time of a write.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::gremlin::{Memory, Share};

/// How long a server waits for a client.
#[derive(Clone, Copy)]
pub struct Patience {
    /// From the first byte of a message to its last one.
    pub whole: Duration,
    /// For a client that takes nothing.
    pub taking: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { whole: Duration::from_secs(60), taking: Duration::from_secs(60) }
    }
}

/// The bytes of a message that its connection may hold without counting them.
const FREE_BYTES: usize = 64 << 10;

/// What one connection has received of the message that is not whole yet.
pub struct Meter {
    state: Mutex<State>,
    patience: Patience,
    /// One of the connections that a server may have.
    _connection: OwnedSemaphorePermit,
}

struct State {
    memory: Memory,
    bytes: usize,
    share: Option<Share>,
    /// There was no memory for more.
    is_refused: bool,
    since: Option<Instant>,
}

impl Meter {
    /// `memory` is what messages take beyond the first bytes.
    pub fn new(memory: Memory, patience: Patience, connection: OwnedSemaphorePermit) -> Self {
        let state = State { memory, bytes: 0, share: None, is_refused: false, since: None };
        Self { state: Mutex::new(state), patience, _connection: connection }
    }

    /// A message is whole. Gives what it takes.
    pub fn whole(&self) -> Option<Share> {
        let mut state = self.state();
        (state.bytes, state.since) = (0, None);
        state.share.take()
    }

    /// So many bytes were a message of their own, within another one that is not whole.
    pub fn part(&self, bytes: usize) {
        let mut state = self.state();
        state.bytes = state.bytes.saturating_sub(bytes);
        if state.bytes == 0 {
            state.since = None;
        }
    }

    /// A part of a long message was taken. The next one may take as long.
    pub fn go_on(&self) {
        let mut state = self.state();
        (state.bytes, state.share, state.since) = (0, None, Some(Instant::now()));
    }

    /// What comes from now on takes of this memory. What has come, a buffer at most, is not counted any more.
    pub fn take_of(&self, memory: Memory) {
        let mut state = self.state();
        (state.memory, state.bytes, state.share) = (memory, 0, None);
    }

    fn received(&self, bytes: usize) -> io::Result<()> {
        let mut state = self.state();
        let counted = state.bytes.max(FREE_BYTES);
        state.bytes += bytes;
        state.since.get_or_insert_with(Instant::now);
        if state.bytes <= counted {
            return Ok(());
        }
        let Some(more) = state.memory.try_hold(state.bytes - counted) else {
            state.is_refused = true;
            return Err(io::Error::new(io::ErrorKind::OutOfMemory, "too many large messages come at the same time"));
        };
        match &mut state.share {
            Some(share) => share.add(more),
            None => state.share = Some(more),
        }
        Ok(())
    }

    /// Whether a message found no memory. Then nothing more is read.
    pub fn is_refused(&self) -> bool {
        self.state().is_refused
    }

    /// When the message that has begun must be whole.
    fn deadline(&self) -> Option<Instant> {
        self.state().since.map(|since| since + self.patience.whole)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic cannot leave it half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection with its meter. Reads and writes that take too long fail.
pub struct Metered<S> {
    stream: S,
    meter: Arc<Meter>,
    reading: Timer,
    writing: Timer,
}

impl<S> Metered<S> {
    pub fn new(stream: S, meter: Arc<Meter>) -> Self {
        Self { stream, meter, reading: Timer(None), writing: Timer(None) }
    }
}

/// When something that waits must be done.
struct Timer(Option<Pin<Box<Sleep>>>);

impl Timer {
    /// Fails once the deadline is over. Until then, the task is woken then.
    fn check(&mut self, cx: &mut Context<'_>, deadline: impl FnOnce() -> Option<Instant>) -> Poll<io::Result<()>> {
        if self.0.is_none() {
            self.0 = deadline().map(|deadline| Box::pin(sleep_until(deadline)));
        }
        let Some(timer) = &mut self.0 else { return Poll::Pending };
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client is too slow")))
    }

    /// What was waited for is done, or the task waits.
    fn watch<T>(&mut self, cx: &mut Context<'_>, patience: Duration, done: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if done.is_ready() {
            self.0 = None;
            return done;
        }
        ready!(self.check(cx, || Some(Instant::now() + patience)))?;
        Poll::Pending
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Self { stream, meter, reading, .. } = self.get_mut();
        let before = buffer.filled().len();
        if Pin::new(stream).poll_read(cx, buffer)?.is_ready() {
            reading.0 = None;
            return Poll::Ready(meter.received(buffer.filled().len() - before));
        }
        reading.check(cx, || meter.deadline())
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let Self { stream, meter, writing, .. } = self.get_mut();
        let done = Pin::new(stream).poll_write(cx, bytes);
        writing.watch(cx, meter.patience.taking, done)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let Self { stream, meter, writing, .. } = self.get_mut();
        let done = Pin::new(stream).poll_write_vectored(cx, parts);
        writing.watch(cx, meter.patience.taking, done)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { stream, meter, writing, .. } = self.get_mut();
        let done = Pin::new(stream).poll_flush(cx);
        writing.watch(cx, meter.patience.taking, done)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { stream, meter, writing, .. } = self.get_mut();
        let done = Pin::new(stream).poll_shutdown(cx);
        writing.watch(cx, meter.patience.taking, done)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::Semaphore;

    use super::*;

    const SOON: Patience = Patience { whole: Duration::from_millis(300), taking: Duration::from_millis(300) };

    fn metered<S>(stream: S, bytes_max: usize) -> (Metered<S>, Arc<Meter>) {
        let connection = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        let meter = Arc::new(Meter::new(Memory::new(bytes_max), SOON, connection));
        (Metered::new(stream, meter.clone()), meter)
    }

    fn run(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.unwrap().block_on(test);
    }

    #[test]
    fn large_messages_share_memory() {
        run(async {
            let (mut client, server) = tokio::io::duplex(1 << 20);
            let (mut server, meter) = metered(server, 100_000);
            client.write_all(&vec![0; 150_000]).await.unwrap();
            server.read_exact(&mut vec![0; 150_000]).await.unwrap();
            let share = meter.whole();
            assert!(share.is_some());
            // 84,464 bytes are held, and 15,536 are free.
            client.write_all(&vec![0; 100_000]).await.unwrap();
            assert_eq!(server.read_exact(&mut vec![0; 100_000]).await.unwrap_err().kind(), io::ErrorKind::OutOfMemory);
        });
    }

    #[test]
    fn a_message_may_go_on_in_another_memory() {
        run(async {
            let (mut client, server) = tokio::io::duplex(1 << 20);
            let (mut server, meter) = metered(server, 100_000);
            for _ in 0..2 {
                client.write_all(&vec![0; 100_000]).await.unwrap();
                server.read_exact(&mut vec![0; 100_000]).await.unwrap();
                meter.take_of(Memory::new(100_000));
            }
            assert!(meter.whole().is_none());
        });
    }

    #[test]
    fn a_message_that_trickles_ends_its_connection() {
        run(async {
            let (mut client, server) = tokio::io::duplex(100);
            let (mut server, meter) = metered(server, 0);
            let trickle = async {
                while client.write_all(b"x").await.is_ok() {
                    tokio::time::sleep(SOON.whole / 10).await;
                }
            };
            let read = async {
                // The first messages are whole at once, so they may take longer together.
                for _ in 0..20 {
                    server.read_u8().await.unwrap();
                    assert!(meter.whole().is_none());
                }
                loop {
                    if let Err(error) = server.read_u8().await {
                        return error.kind();
                    }
                }
            };
            let ended = tokio::select! {
                () = trickle => None,
                kind = read => Some(kind),
            };
            assert_eq!(ended, Some(io::ErrorKind::TimedOut));
        });
    }

    #[test]
    fn a_client_that_takes_nothing_is_gone() {
        run(async {
            let (client, server) = tokio::io::duplex(10);
            let (mut server, _meter) = metered(server, 0);
            assert_eq!(server.write_all(&[0; 100]).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
            drop(client);
        });
    }
}
