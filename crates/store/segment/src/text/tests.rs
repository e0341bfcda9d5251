use proptest::prelude::*;

use super::*;

fn chunk(values: &[Vec<u8>], sampling: usize) -> Vec<u8> {
    let values: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
    let mut bytes = vec![];
    encode(&values, TextOptions { sampling }, &mut bytes);
    bytes
}

fn matches(value: &[u8], pattern: &[u8], mode: Mode) -> bool {
    match mode {
        Mode::Equal => value == pattern,
        Mode::Prefix => value.starts_with(pattern),
        Mode::Suffix => value.ends_with(pattern),
        Mode::Contains => pattern.is_empty() || value.windows(pattern.len()).any(|window| window == pattern),
    }
}

fn occurrences(value: &[u8], pattern: &[u8]) -> usize {
    match pattern.len() {
        0 => value.len() + 1,
        len => value.windows(len).filter(|window| *window == pattern).count(),
    }
}

const MODES: [Mode; 4] = [Mode::Equal, Mode::Prefix, Mode::Suffix, Mode::Contains];

fn check_pattern(text: &Text, values: &[Vec<u8>], pattern: &[u8]) {
    let mut rows = vec![7];
    for mode in MODES {
        text.find(pattern, mode, &mut rows).unwrap();
        let expected = (0..values.len()).filter(|&row| matches(&values[row], pattern, mode)).map(|row| row as u32);
        assert_eq!(rows, expected.collect::<Vec<_>>(), "{mode:?} {pattern:?}");
    }
    let expected: usize = values.iter().map(|value| occurrences(value, pattern)).sum();
    assert_eq!(text.count(pattern), Ok(expected), "{pattern:?}");
}

fn check_values(text: &Text, values: &[Vec<u8>]) {
    assert_eq!((text.len(), text.is_empty()), (values.len(), values.is_empty()));
    let mut out = b"before".to_vec();
    for (row, value) in values.iter().enumerate() {
        out.truncate(6);
        text.value_into(row, &mut out).unwrap();
        assert_eq!((&out[..6], &out[6..]), (&b"before"[..], value.as_slice()));
    }
}

fn check_range(text: &Text, value: &[u8], row: usize, range: Range<usize>) {
    let mut out = b"before".to_vec();
    text.extract_into(row, range.clone(), &mut out).unwrap();
    let end = range.end.min(value.len());
    assert_eq!(&out[6..], &value[range.start.min(end)..end], "{range:?} of {value:?}");
}

/// Values over few bytes, so that patterns recur, or over all bytes.
fn values() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let byte = prop_oneof![
        Just((0u8..=1).boxed()),
        Just((b'a'..b'e').boxed()),
        Just(any::<u8>().boxed()),
        Just(Just(255u8).boxed()),
    ];
    let len = prop_oneof![Just(0..5usize), Just(0..40), Just(30..200)];
    (byte, len).prop_flat_map(|(byte, len)| prop::collection::vec(prop::collection::vec(byte, len), 0..40))
}

/// A part of a value, possibly altered.
fn pattern(values: &[Vec<u8>], row: prop::sample::Index, cut: (usize, usize), spoil: Option<u8>) -> Vec<u8> {
    let mut pattern = match values {
        [] => vec![],
        values => {
            let value = row.get(values);
            let start = cut.0 % (value.len() + 1);
            value[start..start + cut.1 % (value.len() - start + 1)].to_vec()
        }
    };
    pattern.extend(spoil);
    pattern
}

proptest! {
    #[test]
    fn finds_what_is_there(
        values in values(), sampling in 0usize..70, spoil in prop::option::weighted(0.3, any::<u8>()),
        parts in prop::collection::vec((any::<prop::sample::Index>(), (any::<usize>(), any::<usize>())), 8),
    ) {
        let bytes = chunk(&values, sampling);
        let text = Text::parse(&bytes).unwrap();
        check_values(&text, &values);
        for (row, cut) in parts {
            check_pattern(&text, &values, &pattern(&values, row, cut, spoil));
            check_pattern(&text, &values, &pattern(&values, row, (cut.0, cut.1 % 3), None));
            if !values.is_empty() {
                let row = row.index(values.len());
                let start = cut.0 % 210;
                check_range(&text, &values[row], row, start..start + cut.1 % 30);
            }
        }
        check_pattern(&text, &values, b"");
    }

    #[test]
    fn damage_is_survived(
        values in values(), sampling in 1usize..40, random in prop::collection::vec(any::<u8>(), 64..400),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(), in_header in any::<bool>(),
    ) {
        let bytes = chunk(&values, sampling);
        prop_assert!(Text::parse(&bytes[..cut.index(bytes.len())]).is_err());
        let mut flipped = bytes.clone();
        for (at, byte) in &flips {
            let len = if in_header { HEADER_BYTES } else { bytes.len() };
            flipped[at.index(len)] ^= byte;
        }
        use_everything(&flipped);
        let mut body = bytes;
        for (place, byte) in body[HEADER_BYTES..].iter_mut().zip(random.iter().cycle()) {
            *place = *byte;
        }
        use_everything(&body);
        use_everything(&random);
    }
}

/// Calls every method. The results do not matter, only that each call returns.
fn use_everything(bytes: &[u8]) {
    let Ok(text) = Text::parse(bytes) else { return };
    let (mut out, mut rows) = (vec![], vec![]);
    for row in (0..text.len()).take(50) {
        let _ = text.value_into(row, &mut out);
        let _ = text.extract_into(row, 3..9, &mut out);
    }
    for pattern in [&b""[..], b"a", b"ab", &[0], &[0, 1], &[255, 255]] {
        let _ = text.count(pattern);
        for mode in MODES {
            let found = text.find(pattern, mode, &mut rows);
            assert!(found.is_err() || rows.iter().all(|&row| (row as usize) < text.len()) && rows.is_sorted());
        }
    }
}

/// Many blocks, so that every part is longer than one block or hint. Damages every byte in turn.
#[test]
fn large_chunks() {
    let mut state = 1u64;
    let mut random = move |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let words: Vec<Vec<u8>> = (0..300).map(|_| (0..2 + random(7)).map(|_| b'a' + random(20) as u8).collect()).collect();
    for words_max in [2, 30, 400] {
        let count = 20_000 / words_max;
        let value = |random: &mut dyn FnMut(u64) -> u64| {
            let chosen: Vec<_> = (0..random(words_max)).map(|_| words[random(300) as usize].clone()).collect();
            chosen.join(&b' ')
        };
        let values: Vec<_> = (0..count).map(|_| value(&mut random)).collect();
        let bytes = chunk(&values, 32);
        let text = Text::parse(&bytes).unwrap();
        assert_eq!((text.samples.is_some(), text.anchors.is_some()), (words_max > 2, words_max > 30));
        check_values(&text, &values);
        for word in words.iter().step_by(10) {
            check_pattern(&text, &values, word);
            check_pattern(&text, &values, &word[..2]);
        }
        for _ in 0..300 {
            let row = random(count) as usize;
            let start = random(values[row].len() as u64 + 20) as usize;
            check_range(&text, &values[row], row, start..start + random(40) as usize);
        }
        for at in (0..bytes.len()).step_by(bytes.len() / 200) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << random(8);
            use_everything(&damaged);
        }
    }
}

#[test]
fn all_bytes_occur() {
    let values: Vec<Vec<u8>> = (0..=255u8).map(|byte| (byte..=255).rev().collect()).collect();
    let bytes = chunk(&values, 4);
    let text = Text::parse(&bytes).unwrap();
    check_values(&text, &values);
    [&[0][..], &[255], &[1, 0], &[200, 199, 198], &[0, 1]].iter().for_each(|pattern| check_pattern(&text, &values, pattern));
}

/// Steps of equal length through the suffixes must not miss all samples.
#[test]
fn periodic_text() {
    let values = vec![b"ab".repeat(20_000), vec![b'x'; 50_000], b"abc".repeat(10_000)];
    let bytes = chunk(&values, 32);
    assert!(bytes.len() < 60_000, "{} bytes", bytes.len());
    let text = Text::parse(&bytes).unwrap();
    check_values(&text, &values);
    [&b"abab"[..], b"xxxxx", b"cabcab", b"ba", b"bc"].iter().for_each(|pattern| check_pattern(&text, &values, pattern));
}
