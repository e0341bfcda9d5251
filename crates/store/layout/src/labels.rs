//! The places of vertices, given an order of each label.

use mangrove_analytics::{Adjacent, Result, Run};
use mangrove_graph::Numbering;

use crate::measure::{Measures, measure};

/// Vertices that are looked up at a time.
const PAGE: u64 = 8192;

/// Measures an order of the vertices of each label, given links between the numbers of another numbering of the same vertices. Records
/// of a vertex take so many bytes.
///
/// Records of one label lie together, so places count from the first label on. Only for the distance between vertices of different
/// labels, which is never small then, the place of a vertex is its share of its label.
pub fn measure_order(
    links: &Adjacent,
    numbers: &Numbering,
    order: &Numbering,
    record_bytes: u64,
    run: &Run,
) -> Result<Measures> {
    let places = places_in(numbers, order);
    let measured = measure(links, &places, record_bytes, run)?;
    if order.labels().len() < 2 {
        return Ok(measured);
    }
    let shares: Vec<u32> = places.iter().map(|place| share(order, u64::from(*place))).collect();
    Ok(Measures { cost: measure(links, &shares, record_bytes, run)?.cost, ..measured })
}

/// The number in `order` of each vertex of `numbers`.
fn places_in(numbers: &Numbering, order: &Numbering) -> Vec<u32> {
    let count = numbers.count();
    let mut places = Vec::with_capacity(count as usize);
    for start in (0..count).step_by(PAGE as usize) {
        let page = numbers.slice(start..count.min(start + PAGE));
        places.extend(page.iter().map(|vertex| order.number(*vertex).unwrap_or_default() as u32));
    }
    places
}

/// Where a vertex would be if all labels were spread evenly over all places.
fn share(order: &Numbering, place: u64) -> u32 {
    let mut first = 0;
    for label in order.labels() {
        if place < first + label.count() {
            let within = (place - first) as f64 + 0.5;
            return (within / label.count() as f64 * order.count() as f64) as u32;
        }
        first += label.count();
    }
    0
}
