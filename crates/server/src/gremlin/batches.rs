//! Results on their way into responses.

use mangrove::QueryError;
use mangrove::describe::Described;

use super::asker::{Answer, Asker, SMALL};
use super::in_time::Missed;
use super::refused::Refused;
use crate::status::Status;
use crate::wire::{Attribute, Results, Style};

/// A batch of so many bytes is full, whatever the request asks for.
const BATCH_BYTES: usize = 1 << 20;

/// What a request wants its responses to be.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Results that are sent together; `None` for all of them.
    pub batch: Option<usize>,
    /// The most bytes of a response with all results.
    pub bytes_max: usize,
    /// Each result comes as a traverser.
    pub as_traversers: bool,
    /// Elements come with their properties.
    pub with_properties: bool,
}

/// Collects results, and sends them in batches or keeps the only one.
pub struct Batches<'r> {
    wanted: Wanted,
    style: Style,
    asker: &'r Asker,
    results: Results,
    /// Some were sent.
    sent: bool,
    target: Target,
}

/// Where responses go.
enum Target {
    Client,
    /// Here, if there is only one.
    Kept(Option<Answer>),
}

impl<'r> Batches<'r> {
    /// Sends responses as they become full.
    pub fn sent(wanted: Wanted, asker: &'r Asker) -> Self {
        let style = asker.style(wanted.as_traversers, wanted.with_properties);
        Self { wanted, style, asker, results: Results::new(style), sent: false, target: Target::Client }
    }

    /// Keeps the only response. More than one, or a large one, are refused.
    pub fn kept(wanted: Wanted, asker: &'r Asker) -> Self {
        Self { target: Target::Kept(None), ..Self::sent(wanted, asker) }
    }

    /// Adds results. Sends full batches, but keeps the last one, which ends the response.
    pub fn add<R: std::borrow::Borrow<Described>>(&mut self, results: impl IntoIterator<Item = R>) -> Result<(), Stopped> {
        for result in results {
            let is_full =
                self.wanted.batch.is_some_and(|most| self.results.count() >= most || self.results.bytes() >= BATCH_BYTES);
            if is_full {
                self.send(Status::PartialContent, &[])?;
            }
            self.results.add(result.borrow());
            if matches!(self.target, Target::Kept(_)) && self.results.bytes() > SMALL {
                return Err(Stopped::Long);
            }
            if self.wanted.batch.is_none() && self.results.bytes() > self.wanted.bytes_max {
                return Err(self.too_large().into());
            }
        }
        Ok(())
    }

    /// Ends the response.
    pub fn end(&mut self, warnings: &[String]) -> Result<(), Stopped> {
        // HTTP has one response, which holds a list in any case.
        let is_empty = self.results.count() == 0 && !self.sent && self.wanted.batch.is_some();
        self.send(if is_empty { Status::NoContent } else { Status::Success }, warnings)
    }

    fn send(&mut self, status: Status, warnings: &[String]) -> Result<(), Stopped> {
        let results = std::mem::replace(&mut self.results, Results::new(self.style));
        let mut reply = self.asker.reply(status);
        reply.results = Some(results).filter(|_| status != Status::NoContent);
        if !warnings.is_empty() {
            reply.attributes.push(("warnings", Attribute::Texts(warnings.to_vec())));
        }
        self.sent = true;
        match &mut self.target {
            Target::Client => Ok(self.asker.send(&reply)?),
            Target::Kept(_) if status == Status::PartialContent => Err(Stopped::Long),
            Target::Kept(kept) => {
                *kept = Some(self.asker.answer(&reply));
                Ok(())
            }
        }
    }

    /// Why a response with all results cannot be.
    fn too_large(&self) -> Refused {
        let megabytes = self.wanted.bytes_max >> 20;
        let message =
            format!("the response takes more than {megabytes} MB: ask for less, or use a WebSocket, which sends batches");
        Refused::new(Status::Evaluation, message)
    }

    /// The response that was kept.
    pub fn into_kept(self) -> Option<Answer> {
        match self.target {
            Target::Kept(kept) => kept,
            Target::Client => None,
        }
    }
}

/// Why there are no more responses.
pub enum Stopped {
    Refused(Refused),
    Gone,
    /// There was no time to send more.
    Long,
}

impl Stopped {
    /// The same, of a statement of a script. The first one is 0.
    pub fn in_statement(self, at: usize) -> Self {
        match self {
            Self::Refused(refused) => Self::Refused(refused.in_statement(at)),
            other => other,
        }
    }
}

impl From<Refused> for Stopped {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl From<QueryError> for Stopped {
    fn from(error: QueryError) -> Self {
        Self::Refused(Refused::of(&error))
    }
}

impl From<Missed> for Stopped {
    fn from(missed: Missed) -> Self {
        match missed {
            Missed::Gone => Self::Gone,
            Missed::Late => Self::Long,
        }
    }
}
