//! Prints the size, the read time and the search time of three kinds of text: `cargo run --release -p mangrove-segment --example
//! text [α]`. Machines are shared, so times are processor times where the system gives them (Linux).

use std::hint::black_box;
use std::time::Instant;

use mangrove_segment::text::{Mode, Text, TextOptions, encode};

const FIRST: &str = "James Mary Robert Patricia John Jennifer Michael Linda David Elizabeth William Barbara Richard Susan Joseph \
    Jessica Thomas Karen Christopher Sarah Charles Lisa Daniel Nancy Matthew Sandra Anthony Betty Mark Ashley Donald Emily \
    Steven Kimberly Andrew Margaret Paul Donna Joshua Michelle Kenneth Carol Kevin Amanda Brian Melissa Timothy Deborah Ronald \
    Stephanie George Rebecca Jason Sharon Edward Laura Jeffrey Cynthia Ryan Dorothy Jacob Amy Nicholas Kathleen Gary Angela \
    Eric Shirley Jonathan Emma Stephen Brenda Larry Pamela Justin Nicole Scott Anna Brandon Samantha Benjamin Katherine";
const STEM: &str = "Ander Black Brad Broad Carl Chap Clay Cole Craw Dal Dick Dun East Edmund Ell Fair Ferg Fitz Free Gar Gibb Glad \
    Good Grant Green Hamil Har Hath Hender Hill Hol Hud Jack Jeffer John Kend Kings Lang Laws Lock Long Mc Mac Mar Math Mor Nel \
    New Nor Oak Os Park Peter Pres Rams Rich Robert Rock Row Sander Shel Sim Smith Stan Stone Sut Thom Thorn Walk War Wat Wels \
    West White Whit Wil Win Wood Wynd York";
const TAIL: &str = "son ley ton man well ford wood field ham worth stone land by don ner ver ster den kins s er ing combe hurst \
    brook ridge burn dale more way";
const WORDS: &str = "the of and to a in is it you that he was for on are with as I his they be at one have this from or had by \
    hot but some what there we can out other were all your when up use word how said an each she which do their time if will way \
    about many then them would write like so these her long make thing see him two has look more day could go come did my sound \
    no most number who over know water than call first people may down side been now find any new work part take get place made \
    live where after back little only round man year came show every good me give our under name very through just form much \
    great think say help low line before turn cause same mean differ move right boy old too does tell sentence set three want \
    air well also play small end put home read hand port large spell add even land here must big high such follow act why ask \
    men change went light kind off need house picture try us again animal point mother world near build self earth father";

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 32) as usize * n) >> 32
    }

    fn of<'w>(&mut self, words: &[&'w str]) -> &'w str {
        words[self.below(words.len())]
    }

    /// Some words occur far more often than others, as in natural languages.
    fn common<'w>(&mut self, words: &[&'w str]) -> &'w str {
        let rank = (words.len() as f64).powf(self.below(1 << 20) as f64 / (1 << 20) as f64) as usize;
        words[rank - 1]
    }
}

fn names(n: usize, random: &mut Random) -> Vec<String> {
    let [first, stem, tail] = [FIRST, STEM, TAIL].map(|list| list.split_whitespace().collect::<Vec<_>>());
    (0..n).map(|_| format!("{} {}{}", random.of(&first), random.of(&stem), random.of(&tail))).collect()
}

fn payloads(n: usize, random: &mut Random) -> Vec<String> {
    let mut payload = |_| (0..128).map(|_| char::from_digit(random.below(16) as u32, 16).unwrap()).collect();
    (0..n).map(&mut payload).collect()
}

fn sentences(n: usize, random: &mut Random) -> Vec<String> {
    let words: Vec<_> = WORDS.split_whitespace().collect();
    let sentence = |random: &mut Random| {
        let len = 6 + random.below(18);
        let words: Vec<_> = (0..len).map(|_| random.common(&words)).collect();
        words.join(" ") + "."
    };
    (0..n).map(|_| sentence(random)).collect()
}

fn micros(n: usize, mut run: impl FnMut(usize)) -> f64 {
    let (wall, start) = (Instant::now(), cpu_ns());
    (0..n).for_each(&mut run);
    let spent = cpu_ns().zip(start).map_or(wall.elapsed().as_nanos() as u64, |(end, start)| end - start);
    spent as f64 / 1e3 / n as f64
}

fn cpu_ns() -> Option<u64> {
    std::fs::read_to_string("/proc/self/schedstat").ok()?.split(' ').next()?.parse().ok()
}

/// A copy that starts on a cache line, as a chunk in a file should.
fn aligned(bytes: &[u8]) -> (Vec<u8>, usize) {
    let mut buffer = vec![0; bytes.len() + 64];
    let start = buffer.as_ptr().align_offset(64);
    buffer[start..start + bytes.len()].copy_from_slice(bytes);
    (buffer, start)
}

fn measure(what: &str, values: &[String], sampling: usize, random: &mut Random) {
    let values: Vec<&[u8]> = values.iter().map(String::as_bytes).collect();
    let raw: usize = values.iter().map(|value| value.len()).sum();
    let mut bytes = Vec::new();
    let build = micros(1, |_| encode(&values, TextOptions { sampling }, &mut bytes));
    let (buffer, start) = aligned(&bytes);
    let bytes = &buffer[start..start + bytes.len()];
    let text = Text::parse(bytes).unwrap();
    println!("\n{what}: {} values, {raw} bytes", values.len());
    println!("  size {:.3} of raw, written at {:.1} MB/s", bytes.len() as f64 / raw as f64, raw as f64 / build);
    println!("  parse {:.2} µs", micros(100_000, |_| _ = black_box(Text::parse(black_box(bytes)).unwrap())));

    let rows: Vec<usize> = (0..50_000).map(|_| random.below(values.len())).collect();
    let mut out = Vec::new();
    let whole = micros(rows.len(), |k| {
        out.clear();
        text.value_into(rows[k], &mut out).unwrap();
    });
    let starts: Vec<usize> = rows.iter().map(|&row| random.below(values[row].len().saturating_sub(15) + 1)).collect();
    let part = micros(rows.len(), |k| {
        out.clear();
        text.extract_into(rows[k], starts[k]..starts[k] + 15, &mut out).unwrap();
    });
    println!("  value {whole:.2} µs, 15 bytes of one {part:.2} µs");
    for len in [3, 5, 8, 12] {
        search(&text, &values, len, random);
    }
}

/// Searches for patterns taken from values, so that each has a hit.
fn search(text: &Text, values: &[&[u8]], len: usize, random: &mut Random) {
    let pattern = |random: &mut Random| loop {
        let value = values[random.below(values.len())];
        if value.len() >= len {
            let start = random.below(value.len() - len + 1);
            return &value[start..start + len];
        }
    };
    let patterns: Vec<&[u8]> = (0..400).map(|_| pattern(random)).collect();
    let mut rows = Vec::new();
    // Repeat short searches: the processor's clock has coarse ticks.
    let mut per = |mode, times: usize| {
        let mut hits = 0;
        let time = micros(times * patterns.len(), |k| {
            text.find(patterns[k % patterns.len()], mode, &mut rows).unwrap();
            hits += rows.len();
        });
        (time, hits as f64 / (times * patterns.len()) as f64)
    };
    let ((contains, hits), (prefix, prefixed), (suffix, suffixed)) =
        (per(Mode::Contains, 1), per(Mode::Prefix, 50), per(Mode::Suffix, 5));
    let mut occurrences = 0;
    let count = micros(50 * patterns.len(), |k| occurrences += text.count(patterns[k % patterns.len()]).unwrap());
    let occurrences = occurrences / 50;
    let occurrences = occurrences as f64 / patterns.len() as f64;
    println!(
        "  {len:>2} bytes: count {count:.2} µs; contains {contains:.1} µs for {hits:.1} rows, {occurrences:.1} hits ({:.2} µs a hit); \
         prefix {prefix:.2} for {prefixed:.1}; suffix {suffix:.2} for {suffixed:.1}",
        contains / occurrences,
    );
}

fn main() {
    let sampling = std::env::args().nth(1).map_or(32, |sampling| sampling.parse().expect("a number"));
    let mut random = Random(0x5EED_0001);
    println!("α = {sampling}");
    measure("names", &names(100_000, &mut random), sampling, &mut random);
    measure("hex payloads", &payloads(50_000, &mut random), sampling, &mut random);
    measure("hex payloads, as many as fit a cache", &payloads(8_000, &mut random), sampling, &mut random);
    measure("sentences", &sentences(20_000, &mut random), sampling, &mut random);
}
