//! GraphBinary bytecode as gremlinpython writes it, and malformed bytecode.

use mangrove_query::gremlin::parse::JOINTS_MAX;
use mangrove_query::gremlin::{parse, print, read_graphbinary};

/// Text and bytes of each traversal in the file.
fn written() -> Vec<(&'static str, Vec<u8>)> {
    let lines = include_str!("syntax_graphbinary.txt").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_once('\t').unwrap()).map(|(text, hex)| (text, bytes(hex))).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// `g.inject(…)` with an argument of these bytes.
fn injected(argument: &[u8]) -> Vec<u8> {
    let mut bytecode = bytes("15000000000100000006696e6a65637400000001");
    bytecode.extend(argument);
    bytecode.extend([0; 4]);
    bytecode
}

fn refused(bytecode: &[u8]) -> String {
    match read_graphbinary(bytecode) {
        Err(error) => error.to_string(),
        Ok(tree) => panic!("read as {}", print(&tree)),
    }
}

#[test]
fn bytecode_is_the_traversal_the_text_is() {
    let written = written();
    assert!(written.len() > 10);
    for (text, bytecode) in written {
        let tree = read_graphbinary(&bytecode).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(print(&tree), print(&parse(text).unwrap()));
        assert!(tree.from_source);
    }
}

/// Forms that the Java driver writes and gremlinpython does not.
#[test]
fn further_types_are_read() {
    let cases: [(&[u8], &str); 5] = [
        (&[0x84, 0, 0, 0, 7, 0xe8, 2, 29], "Date('2024-02-29')"),
        (&[0x85, 0, 0, 0, 7, 0xe8, 2, 29, 0, 0, 0, 0, 0x3b, 0x9a, 0xca, 0], "datetime('2024-02-29T00:00:01Z')"),
        (&[0x83, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0], "datetime('1970-01-01T00:00:01Z')"),
        (&[0x08, 0, 0x3f, 0xc0, 0, 0], "1.5f"),
        (&[0x01, 1], "null"),
    ];
    for (argument, text) in cases {
        let tree = read_graphbinary(&injected(argument)).unwrap();
        assert_eq!(print(&tree), print(&parse(&format!("g.inject({text})")).unwrap()), "{text}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let argument_at = injected(&[]).len() - 4;
    let cases: [(&[u8], &str); 12] = [
        (&[0x1d, 0, 0, 0, 0, 0], "lambdas are not supported"),
        (&[0x21, 0, 0, 0, 0, 0], "values of the type Traverser (0x21) are not supported"),
        (&[0x77, 0], "values of the type 0x77 are not supported"),
        (&[0x01, 7, 0, 0, 0, 1], "flag 0x07"),
        (&[0x03, 0, 0, 0, 0, 1, 0xff], "not UTF-8"),
        (&[0x03, 0, 0x7f, 0xff, 0xff, 0xff], "a count of 2147483647, but 4 bytes are left"),
        (&[0x03, 0, 0xff, 0xff, 0xff, 0xff], "a count of -1"),
        (&[0x84, 0, 0, 0, 7, 0xe7, 2, 29], "no day 2023-2-29"),
        (&[0x81, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x3b, 0x9a, 0xca, 0], "nanoseconds do not fit into a second"),
        (&[0x22, 0, 0x7f, 0, 0, 0, 0, 0, 0, 1, 1], "the exponent of a decimal"),
        (&[0x20, 0, 0x03, 0, 0, 0, 0, 1, b'x'], "T has no `x`"),
        (&[0x20, 0, 0x20, 0, 0x20, 0], "a constant of T must be named by a string"),
    ];
    for (argument, reason) in cases {
        let error = refused(&injected(argument));
        assert!(error.starts_with(&format!("byte {argument_at}: argument 1 of inject(): ")), "{error}");
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn only_a_whole_bytecode_is_read() {
    assert!(refused(&[]).starts_with("byte 0: "));
    assert!(refused(&bytes("81c2d7a8f0")).contains("a request to a server"));
    assert!(refused(&bytes("0300000000000161")).contains("expected bytecode"));
    assert!(refused(&bytes("15000000000000000000")).contains("no step"));
    for (text, bytecode) in written() {
        for end in 0..bytecode.len() {
            assert!(refused(&bytecode[..end]).starts_with("byte "), "{text} up to {end}");
        }
        let longer = [&bytecode[..], &[0]].concat();
        assert_eq!(refused(&longer), format!("byte {}: 1 bytes follow the end of the bytecode", bytecode.len()));
    }
}

#[test]
fn no_change_of_a_byte_does_harm() {
    for (_, bytecode) in written() {
        for at in 0..bytecode.len() {
            for byte in [0, 1, 0x0a, 0x15, 0x1e, 0x7f, 0x80, 0xff] {
                let mut changed = bytecode.clone();
                changed[at] = byte;
                if let Ok(tree) = read_graphbinary(&changed) {
                    let printed = print(&tree);
                    assert!(printed.starts_with("g."), "{printed}");
                }
            }
        }
    }
}

#[test]
fn depth_is_bounded() {
    let nested = |open: &[u8]| injected(&open.repeat(100_000));
    assert!(refused(&nested(&[0x09, 0, 0, 0, 0, 1])).contains("nested too deep"));
    assert!(refused(&nested(&[0x14, 0, 0, 0, 0, 0])).contains("nested too deep"));
    assert!(refused(&nested(&bytes("150000000001000000015600000001"))).contains("nested too deep"));
    assert!(refused(&nested(&bytes("1e00000000036e6f7400000001"))).contains("nested too deep"));
    assert!(refused(&nested(&bytes("1e0000000003616e6400000001"))).contains("nested too deep"));
    assert!(refused(&nested(&[0x20, 0])).contains("must be named by a string"));
}

#[test]
fn joined_predicates_are_bounded() {
    let operand = bytes("1e0000000002657100000001010000000001");
    let joined = |n: usize| {
        let mut predicate = bytes("1e0000000003616e64");
        predicate.extend(u32::try_from(n).unwrap().to_be_bytes());
        predicate.extend(operand.repeat(n));
        injected(&predicate)
    };
    let tree = read_graphbinary(&joined(JOINTS_MAX)).unwrap();
    assert_eq!(print(&parse(&print(&tree)).unwrap()), print(&tree));
    assert!(refused(&joined(JOINTS_MAX + 2)).contains("predicates are joined"));
}
