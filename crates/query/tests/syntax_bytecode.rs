//! GraphSON 3 bytecode as gremlinpython writes it, and malformed bytecode.

use mangrove_query::gremlin::{parse, print, read_bytecode};

/// Instructions in bytecode, and the traversal they stand for.
#[test]
fn bytecode_is_the_traversal_the_text_is() {
    let cases = [
        (
            r#"["V"],["has","age",{"@type":"g:P","@value":{"predicate":"gt","value":{"@type":"g:Int32","@value":30}}}]"#,
            "g.V().has('age',gt(30))",
        ),
        (
            r#"["V",{"@type":"g:Int64","@value":5},"x",null,true,{"@type":"g:UUID","@value":"c2d7a8f0-5b1e-4f6e-9f3a-1d2b3c4d5e6f"}]"#,
            "g.V(5l,'x',null,true,UUID('c2d7a8f0-5b1e-4f6e-9f3a-1d2b3c4d5e6f'))",
        ),
        (
            r#"["inject",{"@type":"gx:Byte","@value":1},{"@type":"gx:Int16","@value":2},{"@type":"gx:BigInteger","@value":"12345678901234567890"},{"@type":"gx:BigDecimal","@value":"1.50"},{"@type":"g:Float","@value":1.5},{"@type":"g:Double","@value":1}]"#,
            "g.inject(1b,2s,12345678901234567890n,1.50m,1.5f,1.0)",
        ),
        (
            r#"["inject",{"@type":"g:Double","@value":"NaN"},{"@type":"g:Float","@value":"-Infinity"}]"#,
            "g.inject(NaN,-Infinity)",
        ),
        (
            r#"["inject",{"@type":"g:Date","@value":1709200800000},{"@type":"gx:OffsetDateTime","@value":"2024-02-29T00:00:00+02:00"},{"@type":"gx:Duration","@value":"P1DT2S"},{"@type":"gx:ByteBuffer","@value":"\u0000\u00ffa"},{"@type":"gx:Char","@value":"c"}]"#,
            "g.inject(datetime('2024-02-29T10:00:00Z'),datetime('2024-02-29T00:00:00+02:00'),Duration('PT24H2S'),Binary('AP9h'),'c')",
        ),
        (
            r#"["inject",{"@type":"g:List","@value":["a"]},{"@type":"g:Set","@value":[]},{"@type":"g:Map","@value":["k",{"@type":"g:Int32","@value":1},{"@type":"g:T","@value":"id"},null]},[1,2.5,4294967296],{"plain":1}]"#,
            "g.inject(['a'],{},['k':1,(T.id):null],[1,2.5,4294967296],['plain':1])",
        ),
        (
            r#"["V"],["has","a",{"@type":"g:P","@value":{"predicate":"and","value":[{"@type":"g:P","@value":{"predicate":"between","value":[{"@type":"g:Int32","@value":1},{"@type":"g:Int32","@value":5}]}},{"@type":"g:P","@value":{"predicate":"not","value":{"@type":"g:P","@value":{"predicate":"within","value":{"@type":"g:List","@value":["x"]}}}}}]}}]"#,
            "g.V().has('a',between(1,5).and(not(within(['x']))))",
        ),
        (
            r#"["V"],["has","n",{"@type":"g:TextP","@value":{"predicate":"or","value":[{"@type":"g:TextP","@value":{"predicate":"startingWith","value":"a"}},{"@type":"g:P","@value":{"predicate":"typeOf","value":{"@type":"g:GType","@value":"INT"}}}]}}]"#,
            "g.V().has('n',startingWith('a').or(typeOf(int)))",
        ),
        (
            r#"["V"],["order",{"@type":"g:Scope","@value":"local"}],["by","n",{"@type":"g:Order","@value":"desc"}],["to",{"@type":"g:Direction","@value":"OUT"}]"#,
            "g.V().order(local).by('n',desc).to(OUT)",
        ),
        (
            r#"["V"],["where",{"@type":"g:Bytecode","@value":{"step":[["out","x"],["and"],["in"]]}}]"#,
            "g.V().where(out('x').and().in())",
        ),
        (
            r#"["mergeV",{"@type":"g:Map","@value":["age",{"@type":"g:Bytecode","@value":{"source":[["CardinalityValueTraversal",{"@type":"g:Cardinality","@value":"set"},{"@type":"g:Int32","@value":5}]]}}]}]"#,
            "g.mergeV([age: Cardinality.set(5)])",
        ),
        (r#"["V",{"@type":"g:Binding","@value":{"key":"x","value":{"@type":"g:Int32","@value":5}}}]"#, "g.V(5)"),
        (
            r#"["V",{"@type":"g:Vertex","@value":{"id":{"@type":"g:Int32","@value":1},"label":"person"}}]"#,
            "g.V(Element.Vertex(1,'person'))",
        ),
    ];
    for (steps, text) in cases {
        let json = format!(r#"{{"@type":"g:Bytecode","@value":{{"step":[{steps}]}}}}"#);
        let tree = read_bytecode(&json).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(print(&tree), print(&parse(text).unwrap()));
        assert!(tree.from_source);
    }
}

#[test]
fn the_source_comes_before_the_steps() {
    let strategies = r#"["withStrategies",{"@type":"g:SubgraphStrategy","@value":{"fqcn":"org.x.SubgraphStrategy","conf":{"vertices":{"@type":"g:Bytecode","@value":{"step":[["has","a"]]}}}}}]"#;
    let older = r#"["withStrategies",{"@type":"g:OptionsStrategy","@value":{"evaluationTimeout":{"@type":"g:Int32","@value":500}}}]"#;
    let without = r#"["withoutStrategies",{"@type":"g:Class","@value":"org.x.strategy.CountStrategy"}]"#;
    let json = format!(r#"{{"@type":"g:Bytecode","@value":{{"source":[{strategies},{older},{without}],"step":[["V"]]}}}}"#);
    assert_eq!(
        print(&read_bytecode(&json).unwrap()),
        "g.withStrategies(new SubgraphStrategy('vertices':__.has('a')))\
         .withStrategies(new OptionsStrategy('evaluationTimeout':500)).withoutStrategies(new CountStrategy()).V()"
    );
    let commit = r#"{"@type":"g:Bytecode","@value":{"source":[["tx","commit"]]}}"#;
    assert_eq!(print(&read_bytecode(commit).unwrap()), "g.tx().commit()");
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let cases = [
        (
            r#"["map",{"@type":"g:Lambda","@value":{"script":"it","language":"gremlin-groovy"}}]"#,
            "argument 1 of map(): lambdas",
        ),
        (
            r#"["where",{"@type":"g:Bytecode","@value":{"step":[["is",1,{"@type":"g:What"}]]}}]"#,
            "argument 2 of is(): values of type `g:What`",
        ),
        (r#"["is",{"@type":"g:Int32","@value":3000000000}]"#, "argument 1 of is(): this is not a value of type g:Int32"),
        (r#"["is",{"@type":"g:P","@value":{"predicate":"test"}}]"#, "unknown predicate `test`"),
        (r#"["is",{"@type":"g:P","@value":{"predicate":"between","value":5}}]"#, "g:List must hold an array"),
        (r#"["by",{"@type":"g:Order","@value":"up"}]"#, "Order has no `up`"),
        (r#"["is",{"@type":"g:Map","@value":[1]}]"#, "keys and values in turn"),
        (r#"["is",{"@type":"gx:BigDecimal","@value":"1e999999999"}]"#, "the exponent of a decimal"),
        (r#"["is",{"@type":"g:Date","@value":9223372036854775807}]"#, "not a value of type g:Date"),
        (r#"["not a step"]"#, "is not the name of a step"),
        (r#"[]"#, "an array of a name and arguments"),
        (r#"["map",{"@type":"g:Bytecode","@value":{}}]"#, "the bytecode has no step"),
    ];
    for (step, expected) in cases {
        let error = read_bytecode(&format!(r#"{{"@type":"g:Bytecode","@value":{{"step":[{step}]}}}}"#)).unwrap_err();
        assert!(error.message.contains(expected), "{step}: {}", error.message);
    }
    for json in ["", "[]", "{}", "nonsense", r#"{"@type":"g:P","@value":{}}"#, r#"{"step":[["V"]]} {"step":[["V"]]}"#] {
        assert!(read_bytecode(json).is_err(), "{json}");
    }
}

#[test]
fn hostile_nesting_is_refused_and_never_overflows_the_stack() {
    let nested = |open: &str, close: &str, n: usize| {
        format!(r#"{{"@type":"g:Bytecode","@value":{{"step":[["is",{}1{}]]}}}}"#, open.repeat(n), close.repeat(n))
    };
    let typed = |value: &str| format!(r#"{{"@type":"{value}"#);
    let forms = [
        ("[".to_string(), "]"),
        (typed(r#"g:List","@value":["#), "]}"),
        (typed(r#"g:Binding","@value":{"value":"#), "}}"),
        (typed(r#"g:Bytecode","@value":{"step":[["map","#), "]]}}"),
        (typed(r#"g:P","@value":{"predicate":"not","value":"#), "}}"),
        (typed(r#"g:P","@value":{"predicate":"and","value":["#), "]}}"),
    ];
    for (open, close) in &forms {
        for n in [110, 200, 100_000] {
            assert!(read_bytecode(&nested(open, close, n)).is_err(), "{open} {n}");
        }
    }
    assert!(read_bytecode(&"[".repeat(1_000_000)).is_err());
    assert_eq!(read_bytecode(r#"{"step":[["V","[[[{{{\"[["]]}"#).map(|tree| print(&tree)).unwrap(), "g.V('[[[{{{\"[[')");
}

#[test]
fn the_older_name_of_discard_is_known() {
    let bytecode = r#"{"@type": "g:Bytecode", "@value": {"step": [["V"], ["none"]]}}"#;
    assert_eq!(print(&read_bytecode(bytecode).unwrap()), "g.V().discard()");
    let bytecode = r#"{"@type": "g:Bytecode", "@value": {"step": [["V"], ["none", {"@type": "g:P", "@value": {"predicate": "eq", "value": 1}}]]}}"#;
    assert_eq!(print(&read_bytecode(bytecode).unwrap()), "g.V().none(P.eq(1))");
}
