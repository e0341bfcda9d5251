//! Work that must be done in time, for a client that is still there.

use std::time::Instant;

/// Why something was not done.
#[derive(Debug)]
pub enum Missed {
    /// Nobody waits for it any more.
    Gone,
    /// The time of the request is over.
    Late,
}

/// Does something unless the client goes or the deadline comes before.
pub async fn in_time<T>(
    deadline: Option<Instant>,
    gone: impl Future<Output = ()>,
    work: impl Future<Output = Result<T, Missed>>,
) -> Result<T, Missed> {
    let late = async {
        match deadline {
            Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        done = work => done,
        () = gone => Err(Missed::Gone),
        () = late => Err(Missed::Late),
    }
}
