//! Results on their way into responses.

use mangrove::describe::Described;

use super::asker::{Answer, Asker};
use super::run::{Run, Stopped};
use crate::status::Status;
use crate::wire::{Attribute, Results};

/// A batch of so many bytes is full, whatever the request asks for.
const BATCH_BYTES: usize = 1 << 20;

/// Collects results, and sends them in batches or keeps the only one.
pub struct Batches<'r> {
    run: &'r Run,
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
    pub fn sent(run: &'r Run, asker: &'r Asker) -> Self {
        Self { run, asker, results: Self::none(run, asker), sent: false, target: Target::Client }
    }

    /// Keeps the only response. More than one are refused.
    pub fn kept(run: &'r Run, asker: &'r Asker) -> Self {
        Self { target: Target::Kept(None), ..Self::sent(run, asker) }
    }

    fn none(run: &Run, asker: &Asker) -> Results {
        Results::new(asker.style(run.as_traversers, run.with_properties))
    }

    /// Adds results. Sends full batches, but keeps the last one, which ends the response.
    pub fn add<R: std::borrow::Borrow<Described>>(&mut self, results: impl IntoIterator<Item = R>) -> Result<(), Stopped> {
        for result in results {
            let is_full =
                self.run.batch.is_some_and(|most| self.results.count() >= most || self.results.bytes() >= BATCH_BYTES);
            if is_full {
                self.send(Status::PartialContent, &[])?;
            }
            self.results.add(result.borrow());
            if self.run.batch.is_none() && self.results.bytes() > self.run.bytes_max {
                return Err(self.run.too_large().into());
            }
        }
        Ok(())
    }

    /// Ends the response.
    pub fn end(&mut self, warnings: &[String]) -> Result<(), Stopped> {
        // HTTP has one response, which holds a list in any case.
        let is_empty = self.results.count() == 0 && !self.sent && self.run.batch.is_some();
        self.send(if is_empty { Status::NoContent } else { Status::Success }, warnings)
    }

    fn send(&mut self, status: Status, warnings: &[String]) -> Result<(), Stopped> {
        let results = std::mem::replace(&mut self.results, Self::none(self.run, self.asker));
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

    /// The response that was kept.
    pub fn into_kept(self) -> Option<Answer> {
        match self.target {
            Target::Kept(kept) => kept,
            Target::Client => None,
        }
    }
}
