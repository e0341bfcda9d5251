//! Properties for any input: reading never panics, and printed text reads back as the same tree.

use std::sync::Arc;

use mangrove_graph::{BigDecimal, BigInt, Date, DateTime, Duration, Uuid, Value};
use mangrove_query::diagnostics::Span;
use mangrove_query::gremlin::syntax::{Argument, ArgumentKind, Call, PredicateSyntax, TraversalSyntax};
use mangrove_query::gremlin::{names, parse, print, read_bytecode, statements};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
        read_or_refuse(&text)?;
    }

    #[test]
    fn any_row_of_tokens_is_read_or_refused(text in tokens()) {
        read_or_refuse(&text)?;
    }

    #[test]
    fn any_json_is_read_or_refused(json in json()) {
        if let Ok(tree) = read_bytecode(&json) {
            prop_assert_eq!(without_spans(&parse(&print(&tree)).unwrap()), tree);
        }
    }

    #[test]
    fn what_is_printed_reads_as_it_was(tree in traversal()) {
        let text = print(&tree);
        let again = parse(&text).map_err(|error| TestCaseError::fail(error.render(&text)))?;
        prop_assert_eq!(without_spans(&again), tree, "{}", text);
    }
}

fn read_or_refuse(text: &str) -> Result<(), TestCaseError> {
    match parse(text) {
        Ok(tree) => prop_assert_eq!(without_spans(&parse(&print(&tree)).unwrap()), without_spans(&tree)),
        Err(error) => prop_assert!(error.render(text).starts_with(&error.message)),
    }
    // What is a query is a script of one, and each statement of a script is a query.
    match statements(text) {
        Ok(several) => prop_assert!(!several.is_empty() && several.iter().all(|statement| parse(statement).is_ok())),
        Err(_) => prop_assert!(parse(text).is_err()),
    }
    Ok(())
}

fn tokens() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        3 => prop::sample::select(vec![
            "g", "__", ".", "(", ")", "()", "[", "]", "{", "}", ":", ",", ";", "..", "-", "'", "\"", "\\", " ", "\n", "//",
        ]),
        2 => prop::sample::select(vec![
            "g.V()", ".out(", "not(", "gt(1)", ".and(", ".negate()", ".next()", "P.", "within(", "T.id", "Order.", "new ", "S(k:", "x",
            "[a:1]", "(id):", "'a'..'c'", "1..3", "1.5f", "0x", "1e", "null", "NaN", "-Infinity", "UUID('", "datetime(",
            "Cardinality.set(", "withStrategies(", "typeOf(int)", "é", "'\\u00e9'", "Duration(1,2)", "Binary('AA==')",
        ]),
    ];
    prop::collection::vec(token, 0..40).prop_map(|tokens| tokens.concat())
}

fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_string()),
        any::<bool>().prop_map(|b| b.to_string()),
        any::<i64>().prop_map(|i| i.to_string()),
        any::<f64>().prop_filter("JSON has no infinity", |f| f.is_finite()).prop_map(|f| format!("{f:?}")),
        prop::sample::select(vec![
            "V",
            "has",
            "gt",
            "and",
            "not",
            "id",
            "NaN",
            "x y",
            "",
            "2024-01-01",
            "PT1S",
            "ÿ",
            "tx",
            "commit",
            "1e99",
        ])
        .prop_map(|s| format!("{s:?}")),
    ];
    let value = leaf.prop_recursive(6, 60, 5, |inner| {
        let types = vec![
            "g:Bytecode",
            "g:P",
            "g:TextP",
            "g:T",
            "g:List",
            "g:Set",
            "g:Map",
            "g:Int32",
            "g:Int64",
            "g:Double",
            "g:Float",
            "g:UUID",
            "g:Date",
            "gx:OffsetDateTime",
            "gx:Duration",
            "gx:BigInteger",
            "gx:BigDecimal",
            "gx:ByteBuffer",
            "gx:Byte",
            "g:Order",
            "g:Binding",
            "g:Vertex",
            "g:Lambda",
            "g:ReadOnlyStrategy",
            "g:Class",
            "g:What",
            "g:Cardinality",
        ];
        let fields = vec!["source", "step", "predicate", "value", "id", "label", "key", "conf", "fqcn", "a b"];
        let array = prop::collection::vec(inner.clone(), 0..5).prop_map(|items| format!("[{}]", items.join(",")));
        let fields = prop::collection::vec((prop::sample::select(fields), inner.clone()), 0..4).prop_map(|fields| {
            let fields: Vec<String> = fields.into_iter().map(|(name, value)| format!("{name:?}:{value}")).collect();
            format!("{{{}}}", fields.join(","))
        });
        let typed = (prop::sample::select(types), inner).prop_map(|(t, v)| format!("{{\"@type\":{t:?},\"@value\":{v}}}"));
        prop_oneof![array, fields, typed]
    });
    let steps = prop::collection::vec(prop::collection::vec(value, 0..4), 1..4).prop_map(|steps| {
        let steps: Vec<String> =
            steps.into_iter().map(|args| format!("[\"has\",{}]", args.join(",")).replace(",]", "]")).collect();
        format!("{{\"@type\":\"g:Bytecode\",\"@value\":{{\"step\":[{}]}}}}", steps.join(","))
    });
    prop_oneof![9 => steps, 1 => "\\PC{0,40}"]
}

fn word() -> impl Strategy<Value = String> {
    "[a-zA-Z_$é][a-zA-Z0-9_$é]{0,8}"
        .prop_filter("a word of the language", |word| !names::is_reserved(word) && names::type_name(word).is_none())
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i8>().prop_map(Value::from),
        any::<i16>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<f32>().prop_filter("one infinity, one NaN", |f| f.is_finite()).prop_map(Value::from),
        (any::<i128>(), 0..4u32).prop_map(|(i, n)| Value::BigInt(Arc::new(BigInt::from(i).pow(n)))),
        (any::<i64>(), -200..200i64).prop_map(|(i, scale)| Value::Decimal(Arc::new(BigDecimal::new(i.into(), scale)))),
        ".{0,12}".prop_map(Value::from),
        prop::collection::vec(any::<u8>(), 0..9).prop_map(|bytes| Value::Bytes(bytes.into())),
        any::<u128>().prop_map(|id| Value::Uuid(Uuid::from_u128(id))),
        (-700_000..2_900_000i32).prop_map(|day| Value::Date(Date(day))),
        (-60_000_000_000_000..250_000_000_000_000i64, -1000..1000i32).prop_map(|(millis, minutes)| {
            Value::DateTime(DateTime { offset_seconds: minutes * 60, ..DateTime::from_millis(millis) })
        }),
        (any::<i64>(), 0..1_000_000_000u32).prop_map(|(seconds, nanos)| Value::Duration(Duration { seconds, nanos })),
    ]
}

fn constant() -> impl Strategy<Value = ArgumentKind> {
    let all = names::KINDS.iter().flat_map(|kind| kind.members.iter().map(|name| (kind.name, *name)));
    let all: Vec<_> = all.filter_map(|(kind, name)| names::constant(kind, name)).collect();
    prop::sample::select(all).prop_map(|(kind, name)| ArgumentKind::Constant { kind: kind.into(), name: name.into() })
}

fn argument() -> impl Strategy<Value = Argument> {
    let leaf = prop_oneof![
        4 => value().prop_map(ArgumentKind::Value),
        1 => constant(),
        1 => word().prop_map(ArgumentKind::Variable),
    ];
    leaf.prop_map(place_nowhere).prop_recursive(5, 40, 4, |inner| {
        let many = || prop::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            many().prop_map(ArgumentKind::List),
            many().prop_map(ArgumentKind::Set),
            prop::collection::vec((inner.clone(), inner.clone()), 0..4).prop_map(ArgumentKind::Map),
            chain(inner.clone()).prop_map(ArgumentKind::Traversal),
            predicate(inner.clone()).prop_map(ArgumentKind::Predicate),
            (prop::sample::select(vec!["single", "list", "set"]), many()).prop_map(|(name, args)| ArgumentKind::Applied {
                kind: "Cardinality".into(),
                name: name.into(),
                args
            }),
            many().prop_map(|args| ArgumentKind::Applied { kind: "Element".into(), name: "Vertex".into(), args }),
            (word(), prop::collection::vec((".{0,8}", inner.clone()), 0..3))
                .prop_map(|(name, options)| ArgumentKind::Strategy { name, options }),
        ]
        .prop_map(place_nowhere)
    })
}

fn predicate(argument: impl Strategy<Value = Argument> + Clone + 'static) -> impl Strategy<Value = PredicateSyntax> {
    let names: Vec<&str> =
        names::PREDICATES.iter().chain(&names::TEXT_PREDICATES).copied().filter(|n| *n != "not").collect();
    let test = (prop::sample::select(names), prop::collection::vec(argument, 0..3));
    let test = test.prop_map(|(name, args)| PredicateSyntax::Test { name: name.into(), args, span: Span::default() });
    test.prop_recursive(3, 6, 2, |inner| {
        let two = (inner.clone(), inner.clone()).prop_map(|(a, b)| (Box::new(a), Box::new(b)));
        prop_oneof![
            two.clone().prop_map(|(a, b)| PredicateSyntax::And(a, b)),
            two.prop_map(|(a, b)| PredicateSyntax::Or(a, b)),
            inner.prop_map(|a| PredicateSyntax::Not(Box::new(a))),
        ]
    })
}

fn chain(argument: impl Strategy<Value = Argument> + Clone + 'static) -> impl Strategy<Value = TraversalSyntax> {
    let call = (word(), prop::collection::vec(argument, 0..3));
    let call = call.prop_map(|(name, args)| Call { name, args, name_span: Span::default(), span: Span::default() });
    (any::<bool>(), prop::collection::vec(call, 1..4)).prop_map(|(from_source, calls)| TraversalSyntax {
        from_source,
        calls,
        span: Span::default(),
    })
}

fn traversal() -> impl Strategy<Value = TraversalSyntax> {
    chain(argument().boxed())
}

fn place_nowhere(kind: ArgumentKind) -> Argument {
    Argument { kind, span: Span::default() }
}

fn without_spans(traversal: &TraversalSyntax) -> TraversalSyntax {
    let calls = traversal.calls.iter().map(|call| Call {
        name: call.name.clone(),
        args: bare_all(&call.args),
        name_span: Span::default(),
        span: Span::default(),
    });
    TraversalSyntax { from_source: traversal.from_source, calls: calls.collect(), span: Span::default() }
}

fn bare_all(arguments: &[Argument]) -> Vec<Argument> {
    arguments.iter().map(bare).collect()
}

fn bare(argument: &Argument) -> Argument {
    place_nowhere(match &argument.kind {
        ArgumentKind::List(items) => ArgumentKind::List(bare_all(items)),
        ArgumentKind::Set(items) => ArgumentKind::Set(bare_all(items)),
        ArgumentKind::Map(entries) => ArgumentKind::Map(entries.iter().map(|(k, v)| (bare(k), bare(v))).collect()),
        ArgumentKind::Traversal(traversal) => ArgumentKind::Traversal(without_spans(traversal)),
        ArgumentKind::Predicate(predicate) => ArgumentKind::Predicate(bare_predicate(predicate)),
        ArgumentKind::Applied { kind, name, args } => {
            ArgumentKind::Applied { kind: kind.clone(), name: name.clone(), args: bare_all(args) }
        }
        ArgumentKind::Strategy { name, options } => ArgumentKind::Strategy {
            name: name.clone(),
            options: options.iter().map(|(name, value)| (name.clone(), bare(value))).collect(),
        },
        plain @ (ArgumentKind::Value(_) | ArgumentKind::Constant { .. } | ArgumentKind::Variable(_)) => plain.clone(),
    })
}

fn bare_predicate(predicate: &PredicateSyntax) -> PredicateSyntax {
    let boxed = |predicate: &PredicateSyntax| Box::new(bare_predicate(predicate));
    match predicate {
        PredicateSyntax::Test { name, args, .. } => {
            PredicateSyntax::Test { name: name.clone(), args: bare_all(args), span: Span::default() }
        }
        PredicateSyntax::And(a, b) => PredicateSyntax::And(boxed(a), boxed(b)),
        PredicateSyntax::Or(a, b) => PredicateSyntax::Or(boxed(a), boxed(b)),
        PredicateSyntax::Not(a) => PredicateSyntax::Not(boxed(a)),
    }
}
