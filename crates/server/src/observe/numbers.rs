//! Metrics made of numbers that somebody else keeps, as they are now.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

/// The labels of a number, with their values.
pub type Labels = Vec<(&'static str, String)>;

type Real = Gauge<f64, AtomicU64>;
type Time = Counter<f64, AtomicU64>;

pub fn gauge(value: f64) -> Real {
    let gauge = Real::default();
    gauge.set(value);
    gauge
}

pub fn counter(value: u64) -> Counter {
    let counter = Counter::default();
    counter.inc_by(value);
    counter
}

pub fn gauges(numbers: impl IntoIterator<Item = (Labels, f64)>) -> Family<Labels, Real> {
    let family = Family::<Labels, Real>::default();
    for (labels, value) in numbers {
        family.get_or_create(&labels).set(value);
    }
    family
}

pub fn counters(numbers: impl IntoIterator<Item = (Labels, u64)>) -> Family<Labels, Counter> {
    let family = Family::<Labels, Counter>::default();
    for (labels, value) in numbers {
        family.get_or_create(&labels).inc_by(value);
    }
    family
}

/// Times that only grow, in seconds.
pub fn times(numbers: impl IntoIterator<Item = (Labels, Duration)>) -> Family<Labels, Time> {
    let family = Family::<Labels, Time>::default();
    for (labels, value) in numbers {
        family.get_or_create(&labels).inc_by(value.as_secs_f64());
    }
    family
}
