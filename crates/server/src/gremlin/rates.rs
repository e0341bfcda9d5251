//! How often each user may ask.
//!
//! A bucket of a second's requests for each user, or for each address on a server without users. It fills evenly (GCRA, ATM Forum
//! Traffic Management 4.0, 4.4.2): a bucket is kept as the time at which it will be full.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::refused::Refused;
use crate::users::Principal;

pub struct Rates {
    /// The time that a request takes of a bucket; `None` if there is no limit.
    interval: Option<Duration>,
    full: Mutex<HashMap<Key, Instant>>,
}

#[derive(PartialEq, Eq, Hash)]
enum Key {
    User(Arc<str>),
    Address(IpAddr),
}

/// What an empty bucket takes to be full.
const BUCKET: Duration = Duration::from_secs(1);
/// From so many buckets on, full ones are forgotten.
const BUCKETS_MAX: usize = 10_000;

impl Rates {
    pub fn new(per_second: Option<NonZeroU32>) -> Self {
        Self { interval: per_second.map(|count| BUCKET / count.get()), full: Mutex::default() }
    }

    /// Takes a request's share of a bucket. Fails if there is too little in it.
    pub fn take(&self, principal: &Principal, from: IpAddr) -> Result<(), Refused> {
        match self.take_at(principal, from, Instant::now()) {
            true => Ok(()),
            false => Err(Refused::busy("you send more requests a second than this server allows: send them more slowly")),
        }
    }

    fn take_at(&self, principal: &Principal, from: IpAddr, now: Instant) -> bool {
        let Some(interval) = self.interval else { return true };
        let key = principal.name.clone().map_or(Key::Address(from), Key::User);
        // A panic cannot leave it half changed.
        let mut full = self.full.lock().unwrap_or_else(PoisonError::into_inner);
        if full.len() >= BUCKETS_MAX {
            full.retain(|_, at| *at > now);
        }
        let at = full.entry(key).or_insert(now);
        let then = (*at).max(now) + interval;
        let fits = then - now <= BUCKET;
        if fits {
            *at = then;
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn a_second_holds_so_many_requests() {
        let rates = Rates::new(NonZeroU32::new(10));
        let (from, now) = (IpAddr::V4(Ipv4Addr::LOCALHOST), Instant::now());
        let taken = |principal: &Principal, now| (0..100).filter(|_| rates.take_at(principal, from, now)).count();
        let named = |name: &str| Principal { name: Some(name.into()), ..Principal::anyone() };
        assert_eq!(taken(&named("ada"), now), 10);
        assert_eq!(taken(&named("ada"), now + BUCKET / 2), 5);
        assert_eq!(taken(&named("ada"), now + BUCKET * 60), 10);
        assert_eq!(taken(&named("eve"), now), 10);
        assert_eq!(taken(&Principal::anyone(), now), 10);
    }

    #[test]
    fn there_may_be_no_limit() {
        let rates = Rates::new(None);
        let from = IpAddr::V4(Ipv4Addr::LOCALHOST);
        assert!((0..1000).all(|_| rates.take(&Principal::anyone(), from).is_ok()));
    }
}
