//! Date-times and durations: nanosecond precision, ISO 8601 text.
//!
//! A [`DateTime`] keeps its original offset, as Gremlin's `OffsetDateTime` does. Date-times compare by instant.

use std::cmp::Ordering;
use std::fmt;

use jiff::{SignedDuration, Span, Timestamp, civil, tz::Offset};
use serde::{Deserialize, Serialize};

const SECONDS_A_DAY: i64 = 86_400;

/// An instant, and the offset from UTC in which to show it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(try_from = "(i64, u32, i32)", into = "(i64, u32, i32)")]
pub struct DateTime {
    /// Seconds since 1970-01-01T00:00:00Z.
    pub seconds: i64,
    /// Nanoseconds within the second, 0..1_000_000_000.
    pub nanos: u32,
    /// Seconds east of UTC.
    pub offset_seconds: i32,
}

impl DateTime {
    pub fn from_timestamp(timestamp: Timestamp, offset: Offset) -> Self {
        let nanos = timestamp.as_nanosecond();
        Self {
            seconds: nanos.div_euclid(1_000_000_000) as i64,
            nanos: nanos.rem_euclid(1_000_000_000) as u32,
            offset_seconds: offset.seconds(),
        }
    }

    pub fn from_millis(millis: i64) -> Self {
        Self { seconds: millis.div_euclid(1000), nanos: millis.rem_euclid(1000) as u32 * 1_000_000, offset_seconds: 0 }
    }

    /// The date, if this is a midnight in UTC that a date can express.
    pub fn date(&self) -> Option<Date> {
        let is_midnight = self.nanos == 0 && self.offset_seconds == 0 && self.seconds % SECONDS_A_DAY == 0;
        is_midnight.then(|| i32::try_from(self.seconds / SECONDS_A_DAY).ok().map(Date))?
    }

    /// Microseconds since the epoch, as Arrow columns store them.
    pub fn micros(&self) -> i64 {
        micros(self.seconds, self.nanos)
    }

    /// Milliseconds since the epoch.
    pub fn millis(&self) -> i64 {
        self.seconds.saturating_mul(1000).saturating_add(i64::from(self.nanos / 1_000_000))
    }

    pub fn from_micros(micros: i64) -> Self {
        Self { seconds: micros.div_euclid(1_000_000), nanos: micros.rem_euclid(1_000_000) as u32 * 1000, offset_seconds: 0 }
    }

    /// `None` beyond the years jiff covers (-9999..9999).
    pub fn timestamp(&self) -> Option<Timestamp> {
        Timestamp::new(self.seconds, self.nanos as i32).ok()
    }

    /// Reads `2024-02-29T10:11:12.5+02:00` or `…Z`. The offset (default UTC), the seconds and the whole time (default midnight UTC)
    /// may be missing.
    ///
    /// Also reads what [`Display`](fmt::Display) writes for instants beyond 9999-12-30T22:00Z, and as far before our era.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some((seconds, nanos)) = text.strip_prefix('@').and_then(|far| far.split_once('.')) {
            let nanos = Some(nanos).filter(|nanos| nanos.len() == 9 && nanos.bytes().all(|digit| digit.is_ascii_digit()))?;
            return Some(Self { seconds: seconds.parse().ok()?, nanos: nanos.parse().ok()?, offset_seconds: 0 });
        }
        if let Ok(t) = text.parse::<Timestamp>() {
            return Some(Self::from_timestamp(t, written_offset(text)));
        }
        let civil = text
            .parse::<civil::DateTime>()
            .ok()
            .or_else(|| text.parse::<civil::Date>().ok().map(|d| d.to_datetime(civil::Time::midnight())))?;
        let t = Offset::UTC.to_timestamp(civil).ok()?;
        Some(Self::from_timestamp(t, Offset::UTC))
    }

    /// Adds `amount` calendar or clock units.
    pub fn add(&self, amount: i64, unit: TimeUnit) -> Option<Self> {
        let offset = Offset::from_seconds(self.offset_seconds).ok()?;
        let civil = offset.to_datetime(self.timestamp()?);
        let span = match unit {
            TimeUnit::Year => Span::new().try_years(amount).ok()?,
            TimeUnit::Month => Span::new().try_months(amount).ok()?,
            TimeUnit::Day => Span::new().try_days(amount).ok()?,
            TimeUnit::Hour => Span::new().try_hours(amount).ok()?,
            TimeUnit::Minute => Span::new().try_minutes(amount).ok()?,
            TimeUnit::Second => Span::new().try_seconds(amount).ok()?,
        };
        let moved = civil.checked_add(span).ok()?;
        Some(Self::from_timestamp(offset.to_timestamp(moved).ok()?, offset))
    }

    /// This instant moved by a duration.
    pub fn add_duration(&self, by: Duration) -> Option<Self> {
        let total = self.timestamp()?.checked_add(SignedDuration::new(by.seconds, by.nanos as i32)).ok()?;
        Some(Self::from_timestamp(total, Offset::from_seconds(self.offset_seconds).ok()?))
    }

    /// The time from `earlier` to this instant.
    pub fn since(&self, earlier: &DateTime) -> Duration {
        let nanos = i64::from(self.nanos) - i64::from(earlier.nanos);
        Duration {
            seconds: self.seconds - earlier.seconds + nanos.div_euclid(1_000_000_000),
            nanos: nanos.rem_euclid(1_000_000_000) as u32,
        }
    }
}

fn written_offset(text: &str) -> Offset {
    let Some(t) = text.find(['T', 't', ' ']) else { return Offset::UTC };
    let Some(sign_at) = text[t..].find(['+', '-']).map(|i| i + t) else { return Offset::UTC };
    let digits: Vec<i32> = text[sign_at + 1..].split(':').map_while(|part| part.get(..2)?.parse().ok()).collect();
    let seconds = digits.iter().zip([3600, 60, 1]).map(|(d, unit)| d * unit).sum::<i32>();
    let sign = if text.as_bytes()[sign_at] == b'-' { -1 } else { 1 };
    Offset::from_seconds(sign * seconds).unwrap_or(Offset::UTC)
}

impl PartialEq for DateTime {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for DateTime {}

impl PartialOrd for DateTime {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for DateTime {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.seconds, self.nanos).cmp(&(other.seconds, other.nanos))
    }
}

impl std::hash::Hash for DateTime {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.seconds, self.nanos).hash(state);
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.timestamp(), Offset::from_seconds(self.offset_seconds)) {
            (Some(t), Ok(offset)) => {
                write!(f, "{}", offset.to_datetime(t))?;
                if offset == Offset::UTC { f.write_str("Z") } else { write!(f, "{}", offset_text(offset)) }
            }
            _ => write!(f, "@{}.{:09}", self.seconds, self.nanos),
        }
    }
}

fn offset_text(offset: Offset) -> String {
    let s = offset.seconds();
    let sign = if s < 0 { '-' } else { '+' };
    let (hours, minutes, seconds) = (s.abs() / 3600, s.abs() / 60 % 60, s.abs() % 60);
    if seconds > 0 {
        format!("{sign}{hours:02}:{minutes:02}:{seconds:02}")
    } else {
        format!("{sign}{hours:02}:{minutes:02}")
    }
}

impl From<DateTime> for (i64, u32, i32) {
    fn from(t: DateTime) -> Self {
        (t.seconds, t.nanos, t.offset_seconds)
    }
}

impl TryFrom<(i64, u32, i32)> for DateTime {
    type Error = &'static str;

    fn try_from((seconds, nanos, offset_seconds): (i64, u32, i32)) -> Result<Self, Self::Error> {
        let is_offset = Offset::from_seconds(offset_seconds).is_ok();
        if nanos < 1_000_000_000 && is_offset { Ok(Self { seconds, nanos, offset_seconds }) } else { Err("no date-time") }
    }
}

impl From<Duration> for (i64, u32) {
    fn from(d: Duration) -> Self {
        (d.seconds, d.nanos)
    }
}

impl TryFrom<(i64, u32)> for Duration {
    type Error = &'static str;

    fn try_from((seconds, nanos): (i64, u32)) -> Result<Self, Self::Error> {
        if nanos < 1_000_000_000 { Ok(Self { seconds, nanos }) } else { Err("no duration") }
    }
}

/// The units in which `dateAdd` counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum TimeUnit {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
}

/// A calendar day, counted from 1970-01-01.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Date(pub i32);

impl Date {
    /// Its midnight in UTC.
    pub fn midnight(&self) -> DateTime {
        DateTime { seconds: i64::from(self.0) * SECONDS_A_DAY, nanos: 0, offset_seconds: 0 }
    }

    /// Reads `2024-02-29`. Years beyond four digits have a sign and six digits: `-000753-04-21`. Also reads what
    /// [`Display`](fmt::Display) writes for days beyond any calendar.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(days) = text.strip_prefix('@').and_then(|days| days.strip_suffix('d')) {
            return days.parse().ok().map(Date);
        }
        if text.len() != 10 && !(text.len() == 13 && text.starts_with(['-', '+'])) {
            return None;
        }
        let date = text.parse::<civil::Date>().ok()?;
        Some(Date((date - civil::date(1970, 1, 1)).get_days()))
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let span = Span::new().try_days(self.0);
        match span.and_then(|span| civil::date(1970, 1, 1).checked_add(span)) {
            Ok(date) => write!(f, "{date}"),
            Err(_) => write!(f, "@{}d", self.0),
        }
    }
}

/// A length of time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(try_from = "(i64, u32)", into = "(i64, u32)")]
pub struct Duration {
    pub seconds: i64,
    /// 0..1_000_000_000, added to `seconds` (so -0.5 s is -1 s + 500_000_000 ns).
    pub nanos: u32,
}

impl Duration {
    /// Reads ISO 8601, such as `PT1H30M` or `P2DT3.5S`. Refuses years and months: they have no fixed length.
    pub fn parse(text: &str) -> Option<Self> {
        let Ok(span) = text.trim().parse::<jiff::Span>() else { return Self::parse_signed(text.trim()) };
        if span.get_years() != 0 || span.get_months() != 0 {
            return None;
        }
        let days = i64::from(span.get_weeks()) * 7 + i64::from(span.get_days());
        let clock = span.weeks(0).days(0).to_duration(civil::date(1970, 1, 1)).ok()?;
        let total = clock.checked_add(SignedDuration::from_hours(days.checked_mul(24)?))?;
        let nanos = total.as_nanos();
        Some(Self { seconds: nanos.div_euclid(1_000_000_000) as i64, nanos: nanos.rem_euclid(1_000_000_000) as u32 })
    }

    /// Reads what Java writes for less than nothing, which has a sign at each part: `PT-1H-30.5S`.
    fn parse_signed(text: &str) -> Option<Self> {
        let (mut rest, mut total) = (text.strip_prefix("PT")?, SignedDuration::ZERO);
        while let Some(end) = rest.find(['H', 'M', 'S']) {
            let (part, unit) = (rest.strip_prefix('-')?.get(..end - 1)?, &rest[end..=end]);
            let part: SignedDuration = format!("PT{part}{unit}").parse().ok()?;
            total = total.checked_sub(part)?;
            rest = &rest[end + 1..];
        }
        let nanos = total.as_nanos();
        let floor =
            || Self { seconds: nanos.div_euclid(1_000_000_000) as i64, nanos: nanos.rem_euclid(1_000_000_000) as u32 };
        rest.is_empty().then(floor)
    }

    pub fn from_micros(micros: i64) -> Self {
        Self { seconds: micros.div_euclid(1_000_000), nanos: micros.rem_euclid(1_000_000) as u32 * 1000 }
    }

    pub fn micros(&self) -> i64 {
        micros(self.seconds, self.nanos)
    }
}

/// The number of microseconds, rounded down and clamped to 64 bits.
fn micros(seconds: i64, nanos: u32) -> i64 {
    let exact = i128::from(seconds) * 1_000_000 + i128::from(nanos / 1000);
    exact.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = i128::from(self.seconds) * 1_000_000_000 + i128::from(self.nanos);
        let (sign, total) = if total < 0 { ("-", -total) } else { ("", total) };
        let (seconds, nanos) = (total / 1_000_000_000, total % 1_000_000_000);
        let (h, m, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        write!(f, "{sign}PT")?;
        if h > 0 {
            write!(f, "{h}H")?;
        }
        if m > 0 {
            write!(f, "{m}M")?;
        }
        if nanos > 0 {
            write!(f, "{s}.{}S", format!("{nanos:09}").trim_end_matches('0'))
        } else if s > 0 || (h == 0 && m == 0) {
            write!(f, "{s}S")
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_time_keeps_its_offset_and_compares_by_instant() {
        let a = DateTime::parse("2023-08-02T12:00:00+02:00").unwrap();
        let b = DateTime::parse("2023-08-02T10:00:00Z").unwrap();
        assert_eq!(a, b);
        assert_eq!(a.offset_seconds, 7200);
        assert_eq!(a.to_string(), "2023-08-02T12:00:00+02:00");
        assert_eq!(DateTime::parse("2023-08-02").unwrap().to_string(), "2023-08-02T00:00:00Z");
        let odd = "1890-01-01T00:00:00+00:19:32";
        assert_eq!(DateTime::parse(odd).unwrap().to_string(), odd);
        assert!(DateTime::parse("yesterday").is_none());
        for (seconds, nanos) in [(253_402_300_799, 999_999_999), (i64::MIN, 7), (i64::MAX, 0)] {
            let far = DateTime { seconds, nanos, offset_seconds: 0 };
            assert_eq!(DateTime::parse(&far.to_string()), Some(far), "beyond what a calendar reaches");
        }
        assert!(["@", "@1", "@1.5", "@x.000000000"].iter().all(|text| DateTime::parse(text).is_none()));
    }

    #[test]
    fn calendar_units_follow_the_calendar() {
        let jan31 = DateTime::parse("2024-01-31T00:00:00Z").unwrap();
        assert_eq!(jan31.add(1, TimeUnit::Month).unwrap().to_string(), "2024-02-29T00:00:00Z");
        assert_eq!(jan31.add(-36, TimeUnit::Hour).unwrap().to_string(), "2024-01-29T12:00:00Z");
    }

    #[test]
    fn a_sign_may_stand_at_each_part_of_a_duration() {
        let read = |text: &str| Duration::parse(text);
        assert_eq!(read("PT-4.5S"), Some(Duration { seconds: -5, nanos: 500_000_000 }));
        assert_eq!(read("PT-1H-30M"), Some(Duration { seconds: -5400, nanos: 0 }));
        for wrong in ["PT-", "PT-1H30M", "PT--1S", "PT-S", "P-1D", "PT-1", "PT-1äS"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn durations_round_trip() {
        for text in ["PT0S", "PT1H30M", "PT3.5S", "-PT0.5S", "PT51H"] {
            assert_eq!(Duration::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Duration::parse("P2DT3H").unwrap().to_string(), "PT51H");
        assert_eq!(Duration::parse("P1Y"), None);
    }

    #[test]
    fn dates_round_trip() {
        for text in ["1970-01-01", "2024-02-29", "1815-12-10", "-000753-04-21", "@2147483647d"] {
            assert_eq!(Date::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Date::parse("2024-02-30"), None);
        assert_eq!([Date(i32::MIN), Date(i32::MAX)].map(|date| date.to_string()), ["@-2147483648d", "@2147483647d"]);
    }
}
