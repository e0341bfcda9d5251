//! Values of users: names, places, tastes, texts, numbers, with the skew and the sizes of a social site.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, StringArray};
use mangrove_analytics::algorithms::Random;

use super::skew::zipf;

const SYLLABLES: [&str; 46] = [
    "ka", "ri", "mo", "ta", "len", "dor", "vis", "ham", "ber", "ton", "ing", "sal", "mar", "jo", "el", "an", "do", "ra",
    "li", "na", "che", "bro", "wn", "smi", "th", "wal", "ker", "gar", "cia", "rod", "guez", "lo", "pez", "wil", "son",
    "mil", "ler", "da", "tay", "lor", "der", "ver", "quin", "os", "fre", "ste",
];

/// How the values under a key are drawn.
#[derive(Clone, Copy)]
enum Kind {
    /// A made-up word of a vocabulary of this size, by Zipf's law with this skew.
    Word(u64, f64),
    /// Several such words with slashes between.
    Words(u64, u64),
    /// One of these; `-` stands for no value.
    Choice(&'static [&'static str]),
    Int(i64, i64),
    Float(&'static [f64]),
    /// Words that make a text of so many bytes, with no value for a share of users.
    Text(u64, u64, f64),
    /// A fixed text and so many random hexadecimal digits.
    Hex(&'static str, usize),
}

/// The 40 properties of a user: about 640 bytes.
const USER: [(&str, Kind); 40] = [
    ("name", Kind::Word(80_000, 0.5)),
    ("nick", Kind::Word(20_000, 0.5)),
    ("gender", Kind::Choice(&["M", "M", "M", "F", "F", "F", "O"])),
    ("birthday", Kind::Int(19_300_101, 20_081_231)),
    ("age", Kind::Int(18, 96)),
    ("hometown", Kind::Word(8_000, 0.6)),
    ("city", Kind::Word(8_000, 0.6)),
    ("zip", Kind::Int(10_000, 99_999)),
    ("country", Kind::Word(150, 0.6)),
    ("locale", Kind::Choice(&["en_US", "en_US", "en_US", "en_US", "en_GB", "es_LA", "pt_BR", "fr_FR", "de_DE", "hi_IN"])),
    ("tz", Kind::Float(&[-8.0, -5.0, -6.0, 0.0, 1.0, 5.5, 8.0, 9.0])),
    ("email", Kind::Hex("user", 12)),
    ("phone", Kind::Int(2_000_000_000, 9_999_999_999)),
    ("relationship", Kind::Choice(&["single", "married", "in a relationship", "engaged", "complicated", "-"])),
    ("religion", Kind::Choice(&["Christian", "Muslim", "Hindu", "Buddhist", "Agnostic", "-", "-"])),
    ("politics", Kind::Choice(&["liberal", "moderate", "conservative", "-", "-", "-"])),
    ("employer", Kind::Word(20_000, 0.6)),
    ("job", Kind::Word(2_000, 0.6)),
    ("school", Kind::Word(6_000, 0.5)),
    ("degree", Kind::Choice(&["BA", "BSc", "MSc", "MBA", "PhD", "-", "-"])),
    ("interest", Kind::Word(3_000, 0.6)),
    ("graduated", Kind::Int(1950, 2026)),
    ("bio", Kind::Text(40, 220, 0.0)),
    ("quote", Kind::Text(20, 160, 0.4)),
    ("music", Kind::Words(1, 3)),
    ("movies", Kind::Words(0, 2)),
    ("books", Kind::Words(0, 2)),
    ("interests", Kind::Words(1, 4)),
    ("website", Kind::Hex("https://www.example.com/", 8)),
    ("photo", Kind::Hex("https://cdn.example.net/p", 10)),
    ("created", Kind::Int(1_262_304_000, 1_662_304_000)),
    ("updated", Kind::Int(1_662_304_000, 1_762_304_000)),
    ("last_seen", Kind::Int(1_762_304_000, 1_772_304_000)),
    ("privacy", Kind::Choice(&["friends", "friends", "public", "fof", "only_me"])),
    ("device", Kind::Choice(&["iPhone/14", "iPhone/13", "Android/12", "Android/11", "Web/1", "iPad/9", "WindowsPhone/8"])),
    ("app_version", Kind::Choice(&["v30.1.2", "v31.0.0", "v31.4.11", "v32.2.7", "v33.0.1", "v33.9.21"])),
    ("ip", Kind::Hex("", 8)),
    ("token", Kind::Hex("", 24)),
    ("status", Kind::Text(20, 120, 0.0)),
    ("friends", Kind::Int(0, 5000)),
];

/// The keys and values of the users of a workload.
pub struct UserValues {
    keys: Vec<(&'static str, Kind)>,
    prose: Prose,
}

impl UserValues {
    /// 40 properties, as ZipG's data has them.
    pub fn profile() -> Self {
        Self { keys: USER.to_vec(), prose: Prose::new() }
    }

    /// One property of 128 bytes, as in LinkBench.
    pub fn payload(bytes: u64) -> Self {
        Self { keys: vec![("data", Kind::Text(bytes, bytes, 0.0))], prose: Prose::new() }
    }

    /// The values of some users: a column for each key.
    pub fn columns(&self, random: &mut Random, users: usize) -> Vec<(&'static str, ArrayRef)> {
        self.keys.iter().map(|(key, kind)| (*key, self.column(*kind, random, users))).collect()
    }

    /// The values of one user.
    pub fn row(&self, random: &mut Random) -> Vec<(&'static str, mangrove_graph::Value)> {
        let columns = self.columns(random, 1);
        columns.into_iter().map(|(key, column)| (key, mangrove_graph::column::value_at(&column, 0))).collect()
    }

    fn column(&self, kind: Kind, random: &mut Random, users: usize) -> ArrayRef {
        match kind {
            Kind::Int(low, high) => {
                let span = (high - low) as u64 + 1;
                Arc::new((0..users).map(|_| Some(low + random.below(span) as i64)).collect::<Int64Array>())
            }
            Kind::Float(choices) => {
                let one = |_| Some(choices[random.below(choices.len() as u64) as usize]);
                Arc::new((0..users).map(one).collect::<Float64Array>())
            }
            _ => Arc::new((0..users).map(|_| self.text(kind, random)).collect::<StringArray>()),
        }
    }

    fn text(&self, kind: Kind, random: &mut Random) -> Option<String> {
        match kind {
            Kind::Word(count, skew) => Some(word(zipf(random, count, skew))),
            Kind::Words(low, high) => {
                let count = low + random.below(high - low + 1);
                let words: Vec<String> = (0..count).map(|_| word(zipf(random, 30_000, 0.6))).collect();
                (!words.is_empty()).then(|| words.join("/"))
            }
            Kind::Choice(choices) => {
                let choice = choices[random.below(choices.len() as u64) as usize];
                (choice != "-").then(|| choice.to_owned())
            }
            Kind::Text(low, high, absent) => {
                let bytes = low + random.below(high - low + 1);
                let is_absent = random.share() < absent;
                (!is_absent).then(|| self.prose.text(random, bytes as usize, low == high))
            }
            Kind::Hex(prefix, digits) => {
                let mut text = prefix.to_owned();
                (0..digits).for_each(|_| text.push(char::from_digit(random.below(16) as u32, 16).unwrap_or('0')));
                Some(text)
            }
            Kind::Int(..) | Kind::Float(_) => None,
        }
    }

    /// A text of exactly so many bytes, for an edge.
    pub fn edge_payload(&self, random: &mut Random, bytes: usize) -> String {
        self.prose.text(random, bytes, true)
    }
}

/// The word with a number, always the same.
fn word(number: u64) -> String {
    let mut random = Random::of(&[number, 17]);
    let mut word = String::new();
    (0..2 + random.below(3)).for_each(|_| word.push_str(SYLLABLES[random.below(SYLLABLES.len() as u64) as usize]));
    if let Some(first) = word.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    word
}

/// Texts in which words tend to follow the same words.
struct Prose {
    words: Vec<String>,
}

impl Prose {
    const WORDS: u64 = 5000;

    fn new() -> Self {
        Self { words: (0..Self::WORDS).map(|number| word(number + 1_000_000).to_ascii_lowercase()).collect() }
    }

    /// A text of at most so many bytes, or exactly so many.
    fn text(&self, random: &mut Random, bytes: usize, is_exact: bool) -> String {
        let mut text = String::with_capacity(bytes + 16);
        let mut last = zipf(random, Self::WORDS, 0.7);
        while text.len() < bytes {
            text.push_str(&self.words[last as usize]);
            text.push(' ');
            // Every second word is one of the eight that usually follow.
            last = match random.below(2) {
                0 => Random::of(&[last, random.below(8)]).below(Self::WORDS),
                _ => zipf(random, Self::WORDS, 0.7),
            };
        }
        text.truncate(bytes);
        if !is_exact {
            text.truncate(text.trim_end().len());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_the_size_of_the_paper() {
        let (values, mut random) = (UserValues::profile(), Random::new(5));
        let rows: Vec<_> = (0..500).map(|_| values.row(&mut random)).collect();
        let shown: usize = rows.iter().flatten().filter(|(_, v)| !v.is_null()).map(|(_, v)| v.to_string().len()).sum();
        let mean = shown / rows.len();
        assert!((560..720).contains(&mean), "{mean} bytes a user");
        assert_eq!(rows[0].len(), 40);
        assert_eq!(UserValues::payload(128).row(&mut random)[0].1.to_string().len(), 128);
        assert_eq!(values.edge_payload(&mut random, 128).len(), 128);
    }
}
