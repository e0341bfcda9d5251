//! Arrays in other types that hold the same values: wider integers, instants in other units.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowTimestampType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, TimeUnit};

/// An array in another type. Fails if that type has other values, or cannot hold one of these.
///
/// Instants keep what they mean, in UTC, whatever zone the type names; a coarser unit leaves out what is finer. Casts of Arrow would
/// look names of zones up.
pub fn cast_to(array: &ArrayRef, wanted: &DataType) -> Result<ArrayRef, ArrowError> {
    if !is_alike(array.data_type(), wanted) {
        return Err(ArrowError::CastError(format!("{} is not {wanted}", array.data_type())));
    }
    let (DataType::Timestamp(from, _), DataType::Timestamp(to, zone)) = (array.data_type(), wanted) else {
        let strict = CastOptions { safe: false, ..CastOptions::default() };
        return cast_with_options(array, wanted, &strict);
    };
    let plain = in_zone(array, *from, None);
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    let converted = cast_with_options(&plain, &DataType::Timestamp(*to, None), &strict)?;
    Ok(in_zone(&converted, *to, zone.clone()))
}

/// Whether values of two types are of one kind.
fn is_alike(found: &DataType, wanted: &DataType) -> bool {
    use DataType::{Date32, Date64, LargeList, LargeUtf8, List, Timestamp, Utf8, Utf8View};
    match (found, wanted) {
        (List(a) | LargeList(a), List(b)) => is_alike(a.data_type(), b.data_type()),
        (Utf8 | LargeUtf8 | Utf8View, Utf8) | (Date32 | Date64, Date32) | (Timestamp(..), Timestamp(..)) => true,
        _ => {
            found == wanted
                || found.is_integer() && wanted.is_integer()
                || found.is_floating() && wanted.is_floating() && found.primitive_width() <= wanted.primitive_width()
        }
    }
}

fn in_zone(array: &ArrayRef, unit: TimeUnit, zone: Option<Arc<str>>) -> ArrayRef {
    fn of<T: ArrowTimestampType>(array: &ArrayRef, zone: Option<Arc<str>>) -> ArrayRef {
        Arc::new(array.as_primitive::<T>().clone().with_timezone_opt(zone))
    }
    match unit {
        TimeUnit::Second => of::<TimestampSecondType>(array, zone),
        TimeUnit::Millisecond => of::<TimestampMillisecondType>(array, zone),
        TimeUnit::Microsecond => of::<TimestampMicrosecondType>(array, zone),
        TimeUnit::Nanosecond => of::<TimestampNanosecondType>(array, zone),
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::TimestampMicrosecondArray;

    use super::*;

    #[test]
    fn instants_change_their_unit_and_zone_only() {
        let utc = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        let fine = Arc::new(TimestampMicrosecondArray::from(vec![Some(1_234_567), None]).with_timezone("UTC")) as ArrayRef;
        let coarse = cast_to(&fine, &DataType::Timestamp(TimeUnit::Millisecond, None)).unwrap();
        assert_eq!(coarse.as_primitive::<TimestampMillisecondType>().value(0), 1234);
        let back = cast_to(&coarse, &utc).unwrap();
        assert_eq!(back.data_type(), &utc);
        assert_eq!((back.as_primitive::<TimestampMicrosecondType>().value(0), back.is_null(1)), (1_234_000, true));
    }
}
