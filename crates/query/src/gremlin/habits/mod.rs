//! Advice for people who write another language out of habit: Cypher, SQL, or Python's operators.

mod cypher;
mod sql;
mod words;

use self::cypher::Node;
use self::words::Words;
use super::error::SyntaxError;

/// Adds to the error the advice that its author most likely needs.
pub fn advise(text: &str, error: SyntaxError) -> SyntaxError {
    if let Some((language, gremlin)) = foreign(text) {
        let page = if language == "SQL" { "from-sql" } else { "from-cypher" };
        let message = format!("this looks like {language}; Mangrove speaks Gremlin");
        let help = format!("in Gremlin: {gremlin}\n`mangrove docs {page}` translates more");
        return SyntaxError::new(message, error.span).with_help(help);
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
    const SCHEMA: &str = "no query lists the schema; use schema() in Python, `:schema` in the shell, or `mangrove stats DB`";
    let words = Words::of(text);
    let first = words.at(0)?.to_uppercase();
    Some(match first.as_str() {
        "MATCH" | "OPTIONAL" => ("Cypher", cypher::matched(text, &words)),
        "EXPLAIN" | "PROFILE" if words.has("MATCH") => {
            ("Cypher", format!("{}, given to explain or profile", cypher::matched(text, &words)))
        }
        "WITH" if words.has("MATCH") => ("Cypher", cypher::matched(text, &words)),
        "WITH" => ("SQL or Cypher", "a query is one traversal; as('x') and select('x') name and recall results".into()),
        "CREATE" | "DROP" | "ALTER" if declares(&words) => ("SQL or Cypher", declared(&words).into()),
        "CREATE" => ("Cypher", Node::of(text)?.created()),
        "MERGE" => ("Cypher", Node::of(text)?.merged()),
        "RETURN" => ("Cypher", format!("g.inject({})", words.at(1).and_then(words::value).unwrap_or_else(|| "1".into()))),
        "CALL" => ("Cypher", "g.call() lists the procedures; g.call('name') runs one".into()),
        "LOAD" => ("Cypher", "a query reads no files; use `mangrove load`, or load() in Python".into()),
        "UNWIND" => ("Cypher", "g.inject(rows).unfold()".into()),
        "DETACH" => ("Cypher", "g.V('id').drop()".into()),
        "DELETE" if !words.has("FROM") => ("Cypher", "g.V('id').drop()".into()),
        "DELETE" => ("SQL", sql::delete(&words)),
        "SELECT" => ("SQL", sql::select(&words)),
        "INSERT" => ("SQL", sql::insert(&words)),
        "UPDATE" => ("SQL", sql::update(&words)),
        "SHOW" | "DESCRIBE" | "DESC" | "PRAGMA" => ("SQL or Cypher", SCHEMA.into()),
        "BEGIN" | "COMMIT" | "ROLLBACK" => {
            ("SQL or Cypher", "no query begins a transaction; use transaction() in Python, or `:begin` in the shell".into())
        }
        _ => return None,
    })
}

/// Whether a statement declares something, and creates no vertex.
fn declares(words: &Words<'_>) -> bool {
    ["TABLE", "INDEX", "CONSTRAINT", "VIEW"].iter().any(|thing| words.has(thing))
}

fn declared(words: &Words<'_>) -> &'static str {
    let is_drop = words.at(0).is_some_and(|word| word.eq_ignore_ascii_case("DROP"));
    match (is_drop, words.has("INDEX") || words.has("CONSTRAINT")) {
        (false, true) => {
            "no query makes an index; use create_index(label, key, unique=…) in Python, or `:index` in the shell"
        }
        (true, true) => "no query drops an index; use drop_index(label, key) in Python",
        (true, false) => {
            "no query drops a label; g.V().hasLabel('label').drop() drops its vertices, drop_label() in Python the label"
        }
        (false, false) => {
            "a label needs no declaration: it comes with its first vertex. declare_key() and declare_property() in Python add rules"
        }
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
            ("MATCH (n:user) RETURN count(n)", "g.V().hasLabel('user').count()"),
            ("MATCH (a:user)-[:follows]->(b) RETURN b", "g.V().hasLabel('user').out('follows')"),
            ("MATCH (a:user)<-[r:follows]-(b) RETURN b", "g.V().hasLabel('user').in('follows')"),
            ("MATCH (a)--(b) RETURN b", "g.V().both()"),
            (
                "MATCH (n:product) WHERE n.price > 3 AND n.kind = 'x' RETURN n",
                "g.V().has('product', 'price', gt(3)).has('kind', 'x')",
            ),
            ("MATCH (n:user {id: $x}) SET n.age = 3", "g.V().has('user', 'id', x).property('age', 3)"),
            ("MATCH (n:user) DETACH DELETE n", "g.V().hasLabel('user').drop()"),
            ("CREATE (n:Person {name:'x', age: 3})", "g.addV('Person').property('name', 'x')"),
            ("MERGE (n:user {id:1})", "g.mergeV([(T.label): 'user', 'id': 1])"),
            ("WITH 1 AS x MATCH (n:user) RETURN n", "g.V().hasLabel('user')"),
            ("RETURN 1", "g.inject(1)"),
            ("DELETE n", "g.V('id').drop()"),
            ("SELECT count(*) FROM product", "g.V().hasLabel('product').count()"),
            ("SELECT * FROM product WHERE x = 1;", "g.V().has('product', 'x', 1).elementMap()"),
            (
                "SELECT * FROM product p WHERE p.price >= 2.5 AND p.sku <> 'a'",
                "g.V().has('product', 'price', gte(2.5)).has('sku', neq('a')).elementMap()",
            ),
            ("select sku, p.price from product p", "g.V().hasLabel('product').valueMap('sku', 'price').by(unfold())"),
            ("SELECT avg(price) FROM product", "g.V().hasLabel('product').values('price').mean()"),
            ("SELECT * FROM a ORDER BY b DESC LIMIT 3", "g.V().hasLabel('a').order().by('b', desc).limit(3).elementMap()"),
            ("INSERT INTO user (id, name) VALUES (1, 'x')", "g.addV('user').property('id', 1).property('name', 'x')"),
            ("UPDATE product SET price = 3", "g.V().hasLabel('product').property('price', 3)"),
            (
                "UPDATE user SET a = 1, b = true WHERE id = 'x'",
                "g.V().has('user', 'id', 'x').property('a', 1).property('b', true)",
            ),
            ("DELETE FROM user WHERE age < 3", "g.V().has('user', 'age', lt(3)).drop()"),
        ] {
            let help = help(text);
            assert!(
                help.contains("this looks like") && help.contains(&format!("in Gremlin: {gremlin}\n`mangrove docs from-")),
                "{text}: {help}"
            );
            assert!(parse(gremlin).is_ok(), "{gremlin}");
        }
    }

    #[test]
    fn what_has_no_short_translation_is_described() {
        for (text, part) in [
            ("EXPLAIN MATCH (n:user) RETURN n", "g.V().hasLabel('user'), given to explain or profile"),
            ("CALL db.labels()", "g.call() lists the procedures"),
            ("LOAD CSV FROM 'x.csv' AS row", "a query reads no files"),
            ("SELECT * FROM a WHERE b = 1 OR c = 2", "g.V().hasLabel('a').elementMap(), with the rest of the conditions"),
            ("MATCH (a:user)-[:f]->(b) WHERE b.x = 1 RETURN b", "g.V().hasLabel('user').out('f'), with the rest"),
            ("UPDATE a SET n = n + 1", "g.V().hasLabel('a').property('n', x), with the new value"),
            ("INSERT INTO user VALUES (1)", "g.addV('user').property('key', 'value'), with the name"),
            ("SHOW TABLES", "schema() in Python"),
            ("CREATE TABLE user (id INT)", "a label needs no declaration"),
            ("CREATE INDEX ON :user(age)", "create_index(label, key"),
            ("DROP TABLE user", "drop_label()"),
            ("BEGIN", "transaction() in Python"),
        ] {
            let help = help(text);
            assert!(help.contains("this looks like") && help.contains(part), "{text}: {help}");
        }
        for hostile in [
            "MATCH (",
            "MATCH (:",
            "CREATE (n {",
            "SELECT",
            "MERGE ({:})",
            "MATCH [:",
            "MERGE",
            "DELETE é",
            "SELECT 'é",
            "SELECT - é FROM $",
            "UPDATE 3 SET",
            "INSERT INTO",
            "SELECT * FROM a WHERE é = 'x",
            "MATCH )<-(",
        ] {
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
