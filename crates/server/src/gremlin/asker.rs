//! Who waits for the responses to a request.

use std::time::Instant;

use tokio::runtime::Handle;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use uuid::Uuid;

use super::in_time::{Missed, in_time};
use super::memory::{Memory, Share};
use super::refused::Refused;
use crate::observe::Seen;
use crate::status::Status;
use crate::wire::{Encoded, Form, Reply, Results, Style};

/// Responses of so many bytes are not counted.
pub const SMALL: usize = 64 << 10;

/// A response in the form that its client expects.
pub struct Answer {
    pub status: Status,
    pub encoded: Encoded,
    /// It goes as text, because the request came as text.
    pub is_text: bool,
    /// The memory that it takes until the client has it.
    pub share: Option<Share>,
}

/// The way back to whoever sent a request.
pub struct Asker {
    /// The id of the request; `None` if it could not be read.
    pub id: Option<Uuid>,
    pub form: Form,
    pub is_text: bool,
    /// Its driver is older than 3.8.
    pub is_older: bool,
    /// When the request must be answered.
    pub deadline: Option<Instant>,
    /// It is closed when the client is gone.
    pub answers: mpsc::Sender<Answer>,
    /// What responses may take, with those to others.
    pub memory: Memory,
    /// What the request takes.
    pub share: Option<Share>,
    /// One of the requests that a client may have open.
    pub open: Option<OwnedSemaphorePermit>,
    /// What is recorded of the request.
    pub seen: Seen,
}

impl Asker {
    /// Whoever sent a request that was not read yet.
    pub fn new(form: Form, answers: mpsc::Sender<Answer>, memory: Memory, seen: Seen) -> Self {
        let (is_text, is_older) = (false, false);
        Self { id: None, form, is_text, is_older, deadline: None, answers, memory, share: None, open: None, seen }
    }

    pub fn reply<'r>(&self, status: Status) -> Reply<'r> {
        Reply::new(self.id, status)
    }

    pub fn style(&self, as_traversers: bool, with_properties: bool) -> Style {
        Style { form: self.form, is_older: self.is_older, as_traversers, with_properties }
    }

    pub fn answer(&self, reply: &Reply<'_>) -> Answer {
        let encoded = self.form.write(reply);
        let results = reply.results.as_ref().map_or(0, Results::count);
        self.seen.answered(reply.status.code(), results, encoded.size());
        Answer { status: reply.status, encoded, is_text: self.is_text, share: None }
    }

    /// Sends a response. Waits while the client takes the ones before. Not for tasks.
    pub fn send(&self, reply: &Reply<'_>) -> Result<(), Missed> {
        let mut answer = self.answer(reply);
        let bytes = answer.encoded.size();
        answer.share = Some(bytes).filter(|bytes| *bytes > SMALL).and_then(|bytes| self.memory.try_hold(bytes));
        if answer.share.is_some() || bytes <= SMALL {
            match self.answers.try_send(answer) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Full(unsent) | TrySendError::Closed(unsent)) => answer = unsent,
            }
        }
        Handle::current().block_on(self.in_time(async {
            if answer.share.is_none() && bytes > SMALL {
                answer.share = self.memory.hold(bytes).await;
            }
            self.answers.send(answer).await.map_err(|_| Missed::Gone)
        }))
    }

    /// Does something unless the client goes or the time of the request ends before.
    pub async fn in_time<T>(&self, work: impl Future<Output = Result<T, Missed>>) -> Result<T, Missed> {
        in_time(self.deadline, self.answers.closed(), work).await
    }

    /// Sends a response that is not the last one, in a task of its own.
    pub fn say_soon(&self, reply: &Reply<'_>) {
        let (answers, answer) = (self.answers.clone(), self.answer(reply));
        // If the client is gone, nobody wants to know.
        tokio::spawn(async move { drop(answers.send(answer).await) });
    }

    /// Sends the only or the last response, in a task of its own.
    pub fn send_soon(self, reply: &Reply<'_>) {
        let answer = self.answer(reply);
        tokio::spawn(async move { drop(self.answers.send(answer).await) });
    }

    /// Says why a request is not done.
    pub fn refuse_soon(self, refused: Refused) {
        let id = self.id;
        self.send_soon(&refused.reply(id));
    }
}
