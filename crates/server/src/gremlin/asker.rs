//! Who waits for the responses to a request.

use tokio::sync::{OwnedSemaphorePermit, mpsc};
use uuid::Uuid;

use super::refused::Refused;
use crate::status::Status;
use crate::wire::{Form, Reply};

/// A response in the form that its client expects.
pub struct Answer {
    pub status: Status,
    pub bytes: Vec<u8>,
    /// It goes as text, because the request came as text.
    pub is_text: bool,
}

/// The way back to whoever sent a request.
pub struct Asker {
    /// The id of the request; `None` if it could not be read.
    pub id: Option<Uuid>,
    pub form: Form,
    pub is_text: bool,
    /// Its driver is older than 3.8.
    pub is_older: bool,
    /// It is closed when the client is gone.
    pub answers: mpsc::Sender<Answer>,
    /// One of the requests that a client may have open.
    pub place: Option<OwnedSemaphorePermit>,
}

/// Nobody waits for a response any more.
pub struct Gone;

impl Asker {
    pub fn reply<'r>(&self, status: Status) -> Reply<'r> {
        Reply { is_older: self.is_older, ..Reply::new(self.id, status) }
    }

    fn answer(&self, reply: &Reply<'_>) -> Answer {
        Answer { status: reply.status, bytes: self.form.write(reply), is_text: self.is_text }
    }

    /// Sends a response. Waits while the client takes the ones before. Not for tasks.
    pub fn send(&self, reply: &Reply<'_>) -> Result<(), Gone> {
        self.answers.blocking_send(self.answer(reply)).map_err(|_| Gone)
    }

    /// Says why a request is not done. Not for tasks.
    pub fn refuse(&self, refused: Refused) {
        // If the client is gone, nobody wants to know.
        let _ = self.send(&refused.reply(self.id));
    }

    /// Sends a response that is not the last one, in a task of its own.
    pub fn say_soon(&self, reply: &Reply<'_>) {
        let (answers, answer) = (self.answers.clone(), self.answer(reply));
        // If the client is gone, nobody wants to know.
        tokio::spawn(async move { drop(answers.send(answer).await) });
    }

    /// Sends the only response, in a task of its own.
    pub fn send_soon(self, reply: &Reply<'_>) {
        let answer = self.answer(reply);
        tokio::spawn(async move { drop(self.answers.send(answer).await) });
    }

    pub fn refuse_soon(self, refused: Refused) {
        let id = self.id;
        self.send_soon(&refused.reply(id));
    }
}
