//! Advice for people who write another language out of habit: Cypher, SQL, or Python's operators.

use super::error::SyntaxError;

/// Adds to the error the advice that its author most likely needs.
pub fn advise(text: &str, error: SyntaxError) -> SyntaxError {
    if let Some((language, gremlin)) = foreign(text) {
        let message = format!("this looks like {language}; Mangrove speaks Gremlin");
        return SyntaxError::new(message, error.span).with_help(format!("in Gremlin: {gremlin}"));
    }
    if error.help.is_some() {
        return error;
    }
    let (before, after) = text.split_at(error.span.start);
    if after.starts_with(['>', '<', '=', '!']) {
        return error.with_help("a comparison is a predicate: has('price', gt(3)), is(lte(10))");
    }
    if before.ends_with(['\'', '"']) && after.starts_with(char::is_alphabetic) {
        return error.with_help(
            "the text ends at the quote before this: pass the text as a parameter, as in has('name', x), or write \\'",
        );
    }
    error
}

/// The foreign language of a text, and how the text would begin in Gremlin.
fn foreign(text: &str) -> Option<(&'static str, String)> {
    let words = Words::of(text);
    let first = words.at(0)?.to_uppercase();
    match first.as_str() {
        "MATCH" | "OPTIONAL" => Some(("Cypher", matched(text, &words))),
        "CREATE" if words.has("TABLE") || words.has("INDEX") => Some((
            "SQL or Cypher",
            "you declare nothing before you write; for an index, use db.create_index(label, key)".into(),
        )),
        "CREATE" => Some(("Cypher", created(&Node::of(text)?, "g.addV"))),
        "MERGE" => Some(("Cypher", merged(&Node::of(text)?))),
        "EXPLAIN" | "PROFILE" if words.has("MATCH") => {
            Some(("Cypher", format!("{}, given to explain or profile", matched(text, &words))))
        }
        "WITH" if words.has("MATCH") => Some(("Cypher", matched(text, &words))),
        "WITH" => {
            Some(("SQL or Cypher", "a query is one traversal; as('x') and select('x') name and recall results".into()))
        }
        "RETURN" => Some(("Cypher", format!("g.inject({})", words.at(1).unwrap_or("1")))),
        "CALL" => Some(("Cypher", "g.call() lists the procedures; g.call('name') runs one".into())),
        "LOAD" => Some(("Cypher", "a query reads no files; use `mangrove load`, or load() in Python".into())),
        "UNWIND" => Some(("Cypher", "g.inject(rows).unfold()".into())),
        "SELECT" => Some(("SQL", selected(&words))),
        "INSERT" => Some(("SQL", format!("g.addV('{}').property('key', value)", words.after("INTO").unwrap_or("label")))),
        "UPDATE" => Some(("SQL", format!("g.V().hasLabel('{}').property('key', value)", words.at(1)?))),
        "DELETE" => Some(("SQL", format!("g.V().hasLabel('{}').drop()", words.after("FROM").unwrap_or("label")))),
        _ => None,
    }
}

/// The words of a text, without the characters between them.
struct Words<'t>(Vec<&'t str>);

impl<'t> Words<'t> {
    /// Only the first words of a long text.
    fn of(text: &'t str) -> Self {
        const MOST: usize = 200;
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '*');
        Self(words.filter(|word| !word.is_empty()).take(MOST).collect())
    }

    fn at(&self, at: usize) -> Option<&'t str> {
        self.0.get(at).copied()
    }

    fn position(&self, word: &str) -> Option<usize> {
        self.0.iter().position(|other| other.eq_ignore_ascii_case(word))
    }

    fn has(&self, word: &str) -> bool {
        self.position(word).is_some()
    }

    fn after(&self, word: &str) -> Option<&'t str> {
        self.at(self.position(word)? + 1)
    }
}

/// The first `(name:Label {key: value})` of a text.
struct Node<'t> {
    label: Option<&'t str>,
    /// The first property, as written.
    property: Option<(&'t str, &'t str)>,
}

impl<'t> Node<'t> {
    fn of(text: &'t str) -> Option<Self> {
        let inside = text.split_once('(')?.1.split([')', '(']).next()?;
        let (head, properties) = inside.split_once('{').map_or((inside, None), |(head, rest)| (head, Some(rest)));
        let label = head.split_once(':').map(|(_, label)| label.split([':', '|', '&']).next().unwrap_or(label).trim());
        let property = properties.and_then(|all| all.split(['}', ',']).next()?.split_once(':'));
        let property = property.map(|(key, value)| (key.trim(), value.trim()));
        Some(Self { label: label.filter(|label| !label.is_empty()), property })
    }
}

fn matched(text: &str, words: &Words<'_>) -> String {
    let mut gremlin = match Node::of(text) {
        Some(Node { label: Some(label), property: Some((key, value)) }) => format!("g.V().has('{label}', '{key}', {value})"),
        Some(Node { label: Some(label), property: None }) => format!("g.V().hasLabel('{label}')"),
        _ => "g.V()".into(),
    };
    if let Some(edge) = text.split_once('[').and_then(|(_, rest)| rest.split([']', '*', '{']).next()?.split_once(':')) {
        let step = if text.contains("<-[") { "in" } else { "out" };
        gremlin += &format!(".{step}('{}')", edge.1.trim());
    }
    if let Some(limit) = words.after("LIMIT") {
        gremlin += &format!(".limit({limit})");
    }
    gremlin
}

fn created(node: &Node<'_>, step: &str) -> String {
    let property = node.property.map(|(key, value)| format!(".property('{key}', {value})")).unwrap_or_default();
    format!("{step}('{}'){property}", node.label.unwrap_or("label"))
}

fn merged(node: &Node<'_>) -> String {
    let property = node.property.map(|(key, value)| format!(", '{key}': {value}")).unwrap_or_default();
    format!("g.mergeV([(T.label): '{}'{property}])", node.label.unwrap_or("label"))
}

fn selected(words: &Words<'_>) -> String {
    let label = words.after("FROM").unwrap_or("label");
    let until = words.position("FROM").unwrap_or(words.0.len());
    let columns: Vec<String> = words.0[1..until].iter().map(|column| format!("'{column}'")).collect();
    match words.at(1) {
        Some(count) if count.eq_ignore_ascii_case("count") => format!("g.V().hasLabel('{label}').count()"),
        Some("*") | None => format!("g.V().hasLabel('{label}').elementMap()"),
        _ => format!("g.V().hasLabel('{label}').valueMap({}).by(unfold())", columns.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;

    fn help(text: &str) -> String {
        let error = parse(text).expect_err(text);
        format!("{}; {}", error.message, error.help.unwrap_or_default())
    }

    #[test]
    fn other_languages_are_answered_in_gremlin() {
        for (text, gremlin) in [
            ("MATCH (n:product {sku:'SKU1'}) RETURN n", "g.V().has('product', 'sku', 'SKU1')"),
            ("match (n) return n limit 5", "g.V().limit(5)"),
            ("MATCH (a:user)-[:follows]->(b) RETURN b", "g.V().hasLabel('user').out('follows')"),
            ("MATCH (a:user)<-[r:follows]-(b) RETURN b", "g.V().hasLabel('user').in('follows')"),
            ("CREATE (n:Person {name:'x', age: 3})", "g.addV('Person').property('name', 'x')"),
            ("MERGE (n:user {id:1})", "g.mergeV([(T.label): 'user', 'id': 1])"),
            ("EXPLAIN MATCH (n:user) RETURN n", "g.V().hasLabel('user'), given to explain or profile"),
            ("WITH 1 AS x MATCH (n:user) RETURN n", "g.V().hasLabel('user')"),
            ("RETURN 1", "g.inject(1)"),
            ("CALL db.labels()", "g.call() lists the procedures; g.call('name') runs one"),
            ("LOAD CSV FROM 'x.csv' AS row", "a query reads no files; use `mangrove load`, or load() in Python"),
            ("SELECT count(*) FROM product", "g.V().hasLabel('product').count()"),
            ("SELECT * FROM product WHERE x = 1", "g.V().hasLabel('product').elementMap()"),
            ("select sku, price from product", "g.V().hasLabel('product').valueMap('sku', 'price').by(unfold())"),
            ("INSERT INTO user VALUES (1)", "g.addV('user').property('key', value)"),
            ("UPDATE user SET a = 1", "g.V().hasLabel('user').property('key', value)"),
            ("DELETE FROM user", "g.V().hasLabel('user').drop()"),
        ] {
            let help = help(text);
            assert!(help.contains("this looks like") && help.ends_with(&format!("in Gremlin: {gremlin}")), "{text}: {help}");
            let is_whole = gremlin.starts_with("g.") && !gremlin.contains("value)") && !gremlin.contains([';', ' ']);
            assert!(!is_whole || parse(gremlin).is_ok(), "{gremlin}");
        }
        for hostile in ["MATCH (", "MATCH (:", "CREATE (n {", "SELECT", "MERGE ({:})", "MATCH [:", "MERGE", "DELETE é"] {
            let _ = help(hostile);
        }
    }

    #[test]
    fn slips_are_answered() {
        assert!(help("g.V().where(price > 3)").contains("has('price', gt(3))"));
        assert!(help("g.V().has('price', > 3)").contains("has('price', gt(3))"));
        assert!(help("g.V().has('user','name','O'Brien')").contains("pass the text as a parameter"));
    }
}
