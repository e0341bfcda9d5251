//! Advice for people who write another language out of habit: Cypher, SQL, or Python's operators.

mod cypher;
mod sql;
mod words;

use self::words::Reader;
use super::error::SyntaxError;
use crate::diagnostics::Span;

/// What to say to a statement.
enum Said {
    /// All of it in Gremlin.
    Whole(String),
    /// Its first clause in Gremlin. The rest has no short translation.
    First(String),
    /// What takes its place.
    Instead(String),
}

impl Said {
    fn whole_or_first(whole: Option<String>, first: String) -> Self {
        whole.map_or(Said::First(first), Said::Whole)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Language {
    Cypher,
    Sql,
}

/// The error for a statement of another language; `None` for other texts.
pub fn of_other_language(text: &str) -> Option<SyntaxError> {
    foreign(text).map(|(language, said)| answer(text, language, said))
}

/// Adds to the error the advice that its author most likely needs.
pub fn advise(text: &str, error: SyntaxError) -> SyntaxError {
    if let Some(answer) = of_other_language(text) {
        return answer;
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

fn answer(text: &str, language: Language, said: Said) -> SyntaxError {
    let (name, page) = match language {
        Language::Cypher => ("Cypher", "from-cypher"),
        Language::Sql => ("SQL", "from-sql"),
    };
    let help = match said {
        Said::Whole(gremlin) => {
            let more = differences(&gremlin, language);
            format!("in Gremlin: {gremlin}\n{more}`mangrove docs {page}` translates more")
        }
        Said::First(gremlin) => {
            format!("only its beginning, in Gremlin: {gremlin}\n`mangrove docs {page}` translates the rest")
        }
        Said::Instead(what) => format!("{what}\n`mangrove docs {page}` translates more"),
    };
    let start = text.len() - text.trim_start().len();
    let end = start + text[start..].find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len() - start);
    SyntaxError::new(format!("this looks like {name}; Mangrove speaks Gremlin"), Span { start, end }).with_help(help)
}

/// What a translation does otherwise than the statement.
fn differences(gremlin: &str, language: Language) -> String {
    let mut lines = String::new();
    if let Some((_, key)) = gremlin.split_once(".order().by('")
        && let Some((key, _)) = key.split_once('\'')
    {
        lines += &format!("order() leaves out what has no `{key}`\n");
    }
    if language == Language::Cypher && gremlin.ends_with(".drop()") && !gremlin.contains(".properties(") {
        lines += "drop() also removes the edges of a vertex\n";
    }
    lines
}

/// The foreign language of a text, and what to say to it. `None` for other texts, and for very long ones.
fn foreign(text: &str) -> Option<(Language, Said)> {
    use Language::{Cypher, Sql};
    let words = words::words(text)?;
    let (first, rest) = words.split_first()?;
    let has = |word: &str| words.iter().any(|other| other.eq_ignore_ascii_case(word));
    let rest = Reader(rest);
    let said = |language, said: Option<Said>| {
        Some((language, said.unwrap_or_else(|| Said::Instead("a query is one chain of steps".into()))))
    };
    match first.to_uppercase().as_str() {
        "MATCH" => said(Cypher, cypher::matched(rest)),
        "OPTIONAL" => said(Cypher, None),
        "EXPLAIN" | "PROFILE" if !has_again(&words) => {
            let (language, said) = foreign(text.trim_start().get(first.len()..)?)?;
            Some((language, explained(said)))
        }
        "WITH" => said(if has("MATCH") || has("RETURN") { Cypher } else { Sql }, instead(NAMES)),
        "CREATE" | "DROP" | "ALTER" if has("TABLE") || has("VIEW") => said(Sql, instead(TABLES)),
        "CREATE" | "DROP" if has("INDEX") || has("CONSTRAINT") => {
            said(if has("FOR") || has("CONSTRAINT") { Cypher } else { Sql }, instead(INDEXES))
        }
        "CREATE" => said(Cypher, cypher::created(rest)),
        "MERGE" => said(Cypher, cypher::merged(rest)),
        "RETURN" => said(Cypher, returned(rest)),
        "CALL" => said(Cypher, instead("g.call() lists the procedures; g.call('name') runs one")),
        "LOAD" => said(Cypher, instead("a query reads no files; use `mangrove load`, or load() in Python")),
        "USE" if has("MATCH") => said(Cypher, None),
        "UNWIND" => said(Cypher, instead("g.inject(rows).unfold() gives the items of a parameter `rows`")),
        "DETACH" => said(Cypher, instead(DROP)),
        "DELETE" if !has("FROM") => said(Cypher, instead(DROP)),
        "DELETE" => said(Sql, sql::delete(rest)),
        "SELECT" => said(Sql, sql::select(rest)),
        "INSERT" => said(Sql, sql::insert(rest)),
        "UPDATE" => said(Sql, sql::update(rest)),
        "SHOW" => said(if has("TABLES") || has("DATABASES") { Sql } else { Cypher }, instead(SCHEMA)),
        "DESCRIBE" | "DESC" | "PRAGMA" => said(Sql, instead(SCHEMA)),
        "BEGIN" | "COMMIT" | "ROLLBACK" => said(Sql, instead(TRANSACTION)),
        _ => None,
    }
}

const NAMES: &str = "a query is one chain of steps; as('x') and select('x') name and recall results";
const TABLES: &str =
    "a label needs no declaration, because it comes with its first vertex; drop_label() in Python drops one";
const INDEXES: &str =
    "no query makes or drops an index; use create_index() or drop_index() in Python, or `:index` in the shell";
const DROP: &str = "drop() removes vertices with their edges: g.V('id').drop()";
const SCHEMA: &str = "no query lists the schema; use schema() in Python, `:schema` in the shell, or `mangrove stats DB`";
const TRANSACTION: &str =
    "no query begins or ends a transaction; use `with db.transaction() as tx` in Python, or `:begin` in the shell";

fn instead(what: &str) -> Option<Said> {
    Some(Said::Instead(what.into()))
}

fn returned(mut words: Reader<'_, '_>) -> Option<Said> {
    let value = words.value()?;
    words.is_done().then(|| Said::Whole(format!("g.inject({value})")))
}

fn has_again(words: &[&str]) -> bool {
    words[1..].iter().any(|word| word.eq_ignore_ascii_case("EXPLAIN") || word.eq_ignore_ascii_case("PROFILE"))
}

fn explained(said: Said) -> Said {
    match said {
        Said::Whole(gremlin) => Said::Whole(gremlin + ", with explain() or profile() in Python"),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;

    fn help(text: &str) -> String {
        let error = crate::Query::parse(text).expect_err(text);
        format!("{}; {}", error.message, error.help.unwrap_or_default())
    }

    #[test]
    fn other_languages_are_answered_in_gremlin() {
        for (text, gremlin) in [
            ("MATCH (n:product {sku:'SKU1'}) RETURN n", "g.V().has('product', 'sku', 'SKU1')"),
            ("match (n) return n limit 5", "g.V().limit(5)"),
            ("MATCH (n:user) RETURN count(n)", "g.V().hasLabel('user').count()"),
            ("MATCH (n:user) RETURN avg(n.age)", "g.V().hasLabel('user').values('age').mean()"),
            ("MATCH (n:user) RETURN n.name, n.age", "g.V().hasLabel('user').valueMap('name', 'age').by(unfold())"),
            (
                "MATCH (n:user) RETURN n ORDER BY n.age DESC SKIP 1 LIMIT 2",
                "g.V().hasLabel('user').order().by('age', desc).range(1, 3)",
            ),
            ("MATCH (a:user)-[:follows]->(b) RETURN b", "g.V().hasLabel('user').out('follows')"),
            ("MATCH (a:user)<-[r:follows]-(b:user) RETURN b", "g.V().hasLabel('user').in('follows').hasLabel('user')"),
            ("MATCH (a)--(b) RETURN b", "g.V().both()"),
            (
                "MATCH (a:user)-[r:follows]->(b) WHERE r.since > 3 RETURN b",
                "g.V().hasLabel('user').outE('follows').has('since', gt(3)).inV()",
            ),
            ("MATCH (a:user)-[:f]->(b) WHERE b.x = 1 RETURN b", "g.V().hasLabel('user').out('f').has('x', 1)"),
            ("MATCH (a:user {id: 1})-[r:f]->(b) DELETE r", "g.V().has('user', 'id', 1).outE('f').drop()"),
            (
                "MATCH (n:product) WHERE n.price > 3 AND n.kind = 'x' RETURN n",
                "g.V().hasLabel('product').has('price', gt(3)).has('kind', 'x')",
            ),
            ("MATCH (n:user {id: $x}) SET n.age = 3", "g.V().has('user', 'id', x).property('age', 3)"),
            ("MATCH (n:user {id: $x}) SET n:admin", "g.V().has('user', 'id', x).addLabel('admin')"),
            ("MATCH (n:user {id: 1}) REMOVE n.age", "g.V().has('user', 'id', 1).properties('age').drop()"),
            ("MATCH (n:user) DETACH DELETE n", "g.V().hasLabel('user').drop()"),
            ("CREATE (n:Person {name:'x', age: 3})", "g.addV('Person').property('name', 'x').property('age', 3)"),
            ("MERGE (n:user {id:1})", "g.mergeV([(T.label): 'user', 'id': 1])"),
            (
                "MERGE (n:user {id:1}) ON CREATE SET n.age = 1 ON MATCH SET n.age = 2",
                "g.mergeV([(T.label): 'user', 'id': 1]).option(onCreate, ['age': 1]).option(onMatch, ['age': 2])",
            ),
            ("RETURN 1", "g.inject(1)"),
            ("SELECT count(*) FROM product", "g.V().hasLabel('product').count()"),
            ("SELECT * FROM product WHERE x = 1;", "g.V().has('product', 'x', 1).elementMap()"),
            (
                "SELECT * FROM product p WHERE p.price >= 2.5 AND p.sku <> 'a'",
                "g.V().has('product', 'price', gte(2.5)).has('sku', neq('a')).elementMap()",
            ),
            ("select sku, p.price from product p", "g.V().hasLabel('product').valueMap('sku', 'price').by(unfold())"),
            ("SELECT avg(price) FROM product", "g.V().hasLabel('product').values('price').mean()"),
            ("SELECT DISTINCT city FROM a", "g.V().hasLabel('a').values('city').dedup()"),
            (
                "SELECT * FROM a ORDER BY b DESC LIMIT 3 OFFSET 1",
                "g.V().hasLabel('a').order().by('b', desc).range(1, 4).elementMap()",
            ),
            ("INSERT INTO user (id, name) VALUES (1, 'x')", "g.addV('user').property('id', 1).property('name', 'x')"),
            ("UPDATE product SET price = 3", "g.V().hasLabel('product').property('price', 3)"),
            (
                "UPDATE user SET a = 1, b = true WHERE id = 'x'",
                "g.V().has('user', 'id', 'x').property('a', 1).property('b', true)",
            ),
            ("DELETE FROM user WHERE age < 3", "g.V().has('user', 'age', lt(3)).drop()"),
        ] {
            let help = help(text);
            let page = "`mangrove docs from-";
            assert!(help.contains("this looks like"), "{text}: {help}");
            assert!(help.contains(&format!("; in Gremlin: {gremlin}\n")) && help.contains(page), "{text}: {help}");
            assert!(parse(gremlin).is_ok(), "{gremlin}");
        }
    }

    #[test]
    fn of_what_is_not_understood_only_the_first_clause_is_translated() {
        for (text, gremlin) in [
            ("MATCH (a:p {id:'x'}), (b:p {id:'y'}) DELETE b", "g.V().has('p', 'id', 'x')"),
            ("MATCH (a:p), (b:q) CREATE (a)-[:knows]->(b)", "g.V().hasLabel('p')"),
            ("MATCH (a:p)-[:knows*1..3]->(b) RETURN b", "g.V().hasLabel('p')"),
            ("MATCH (n:p) RETURN n.city, count(*)", "g.V().hasLabel('p')"),
            ("MATCH (n:p) WITH n.city AS c, count(*) AS k WHERE k > 1 RETURN c", "g.V().hasLabel('p')"),
            ("MATCH (n:p) WHERE n.name STARTS WITH 'A' DELETE n", "g.V().hasLabel('p')"),
            ("MATCH (n:p) WHERE n.a = 1 OR n.b = 2 RETURN n", "g.V().hasLabel('p')"),
            ("MATCH (a:p)-[r:k]->(b:q) DELETE r", "g.V().hasLabel('p')"),
            ("MATCH (a:p)-[:k]->(b) RETURN a.name, b.name", "g.V().hasLabel('p')"),
            ("MATCH (a:p)-[:k]->(b) SET a.x = 1, b.x = 2", "g.V().hasLabel('p')"),
            ("CREATE (a:p {id: 1})-[:knows]->(b)", "g.addV('p').property('id', 1)"),
            ("SELECT * FROM a WHERE b = 1 OR c = 2", "g.V().hasLabel('a')"),
            ("SELECT city, count(*) FROM a GROUP BY city", "g.V().hasLabel('a')"),
            ("SELECT a.x, b.y FROM a JOIN b ON a.i = b.j", "g.V().hasLabel('a')"),
            ("DELETE FROM a WHERE b IS NULL", "g.V().hasLabel('a')"),
            ("UPDATE a SET n = n + 1", "g.V().hasLabel('a')"),
            ("UPDATE a SET n = 1 WHERE name LIKE 'A%'", "g.V().hasLabel('a')"),
            ("DELETE FROM main.p WHERE id IN (1)", "g.V().hasLabel('p')"),
        ] {
            let help = help(text);
            assert!(help.contains(&format!("only its beginning, in Gremlin: {gremlin}\n")), "{text}: {help}");
            assert!(parse(gremlin).is_ok(), "{gremlin}");
        }
    }

    #[test]
    fn what_is_no_query_is_described() {
        for (text, part) in [
            ("EXPLAIN MATCH (n:user) RETURN n", "g.V().hasLabel('user'), with explain() or profile()"),
            ("EXPLAIN SELECT * FROM a", "looks like SQL"),
            ("INSERT INTO user VALUES (1)", "for each row: g.addV('user') with"),
            ("INSERT INTO main.user (id) VALUES (1), (2)", "for each row: g.addV('user') with"),
            ("MERGE (a)-[:knows]->(b)", "mergeE()"),
            ("MATCH (n)-[:a]->(m)-[:b]->(o) RETURN o", "`mangrove docs from-cypher`"),
            ("MATCH (n:A:B) RETURN n", "`mangrove docs from-cypher`"),
            ("MERGE (n)", "looks like Cypher"),
            ("CREATE (n)", "in Gremlin: g.addV()"),
            ("USE neo4j MATCH (n) RETURN n", "looks like Cypher"),
            ("DELETE FROM p WHERE id = $1", "g.V().has('p', 'id', x1).drop()"),
            (
                "MATCH (n:p {id: $id}) RETURN n ORDER BY n.age",
                "has('p', 'id', id_).order().by('age')\norder() leaves out what has no `age`",
            ),
            ("MATCH (n:p) DELETE n", "g.V().hasLabel('p').drop()\ndrop() also removes the edges"),
            ("CALL db.labels()", "g.call() lists the procedures"),
            ("LOAD CSV FROM 'x.csv' AS row", "a query reads no files"),
            ("OPTIONAL MATCH (n) RETURN n", "`mangrove docs from-cypher`"),
            ("SHOW TABLES", "schema() in Python"),
            ("CREATE TABLE user (id INT)", "a label needs no declaration"),
            ("CREATE INDEX a ON user(age)", "create_index()"),
            ("DROP TABLE user", "drop_label()"),
            ("COMMIT", "begins or ends a transaction"),
            ("DELETE n", "g.V('id').drop()"),
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
            "EXPLAIN EXPLAIN",
            "SELECT count( FROM a",
            "RETURN '",
            "SELECT * FROM a LIMIT 18446744073709551615 OFFSET 18446744073709551615",
        ] {
            let _ = help(hostile);
        }
        let _ = help(&"EXPLAIN ".repeat(100_000));
        let _ = help(&format!("MATCH (n) RETURN {}", "n, ".repeat(100_000)));
    }

    #[test]
    fn slips_are_answered() {
        assert!(help("g.V().where(price > 3)").contains("has('price', gt(3))"));
        assert!(help("g.V().has('price', > 3)").contains("has('price', gt(3))"));
        assert!(help("g.V().has('user','name','O'Brien')").contains("pass the text as a parameter"));
    }
}
