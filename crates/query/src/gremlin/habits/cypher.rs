//! Queries of Cypher in Gremlin.

use super::Said;
use super::words::{Reader, Test, aggregate, entries, filters, value_map};

/// `(name:Label {key: value})`.
struct Node<'t> {
    name: Option<&'t str>,
    label: Option<&'t str>,
    properties: Vec<Test<'t>>,
}

/// `-[name:Label]->`.
struct Edge<'t> {
    name: Option<&'t str>,
    label: Option<&'t str>,
    step: &'static str,
}

impl<'t> Node<'t> {
    fn read(words: &mut Reader<'_, 't>) -> Option<Self> {
        words.eat("(").then_some(())?;
        let name = words.name();
        let label = if words.eat(":") { Some(words.name()?) } else { None };
        let mut properties = Vec::new();
        if words.eat("{") {
            properties = words.list(",", |reader| {
                let key = reader.name()?;
                let value = if reader.eat(":") { reader.value()? } else { return None };
                Some(Test::equal(key, value))
            })?;
            words.eat("}").then_some(())?;
        }
        words.eat(")").then_some(Self { name, label, properties })
    }

    fn filters(&self) -> String {
        filters(self.label, &self.properties)
    }
}

impl<'t> Edge<'t> {
    fn read(words: &mut Reader<'_, 't>) -> Option<Self> {
        let comes_in = words.eat("<");
        words.eat("-").then_some(())?;
        let (mut name, mut label) = (None, None);
        if words.eat("[") {
            name = words.name();
            label = if words.eat(":") { Some(words.name()?) } else { None };
            words.eat("]").then_some(())?;
        }
        words.eat("-").then_some(())?;
        let step = match (comes_in, words.eat(">")) {
            (false, true) => "out",
            (true, false) => "in",
            _ => "both",
        };
        Some(Self { name, label, step })
    }

    /// The step from the edge to the end of the pattern.
    fn end_step(&self) -> &'static str {
        match self.step {
            "out" => "inV",
            "in" => "outV",
            _ => "otherV",
        }
    }
}

/// A pattern of one vertex, or of one edge and its ends.
struct Pattern<'t> {
    start: Node<'t>,
    edge: Option<(Edge<'t>, Node<'t>)>,
    /// The conditions on the start, the edge and the end.
    tests: [Vec<Test<'t>>; 3],
}

impl<'t> Pattern<'t> {
    /// A pattern and its `WHERE`.
    fn read(words: &mut Reader<'_, 't>) -> Option<Self> {
        let start = Node::read(words)?;
        let mut edge = None;
        if matches!(words.0.first(), Some(&("-" | "<"))) {
            edge = Some((Edge::read(words)?, Node::read(words)?));
        }
        let mut pattern = Self { start, edge, tests: Default::default() };
        for test in words.conditions()? {
            let place = pattern.place_of(test.of?)?;
            pattern.tests[place].push(test);
        }
        Some(pattern)
    }

    /// 0 for the name of the start, 1 for that of the edge, 2 for that of the end.
    fn place_of(&self, name: &str) -> Option<usize> {
        let (edge, end) = self.edge.as_ref().map_or((None, None), |(edge, end)| (edge.name, end.name));
        [self.start.name, edge, end].iter().position(|known| *known == Some(name))
    }

    /// The steps to the start, the edge or the end. `None` if a later part narrows the results.
    fn steps_to(&self, place: usize) -> Option<String> {
        let start = format!("g.V(){}{}", self.start.filters(), filters(None, &self.tests[0]));
        let Some((edge, end)) = &self.edge else { return (place == 0).then_some(start) };
        let label = edge.label.map(|label| format!("'{label}'")).unwrap_or_default();
        let on_edge = format!("{start}.{}E({label}){}", edge.step, filters(None, &self.tests[1]));
        let ends = format!("{}{}", end.filters(), filters(None, &self.tests[2]));
        match place {
            1 if ends.is_empty() => Some(on_edge),
            2 if self.tests[1].is_empty() => Some(format!("{start}.{}({label}){ends}", edge.step)),
            2 => Some(format!("{on_edge}.{}(){ends}", edge.end_step())),
            _ => None,
        }
    }
}

pub fn matched(mut words: Reader<'_, '_>) -> Option<Said> {
    let mut first = words;
    let start = Node::read(&mut first)?;
    let whole = Pattern::read(&mut words).and_then(|pattern| used(words, &pattern));
    match whole {
        None if start.filters().is_empty() => None,
        whole => Some(Said::whole_or_first(whole, format!("g.V(){}", start.filters()))),
    }
}

/// What a query does with its pattern.
fn used(mut words: Reader<'_, '_>, pattern: &Pattern<'_>) -> Option<String> {
    if words.eat("RETURN") {
        return returned(words, pattern);
    }
    if words.eat("SET") {
        let mut ahead = words;
        let (name, label) = (ahead.name()?, ahead.eat(":").then(|| ahead.name()).flatten());
        let at = pattern.steps_to(pattern.place_of(name)?)?;
        if let Some(label) = label {
            return ahead.is_done().then(|| format!("{at}.addLabel('{label}')"));
        }
        let assigned = words.assignments()?;
        let is_whole = words.is_done() && assigned.iter().all(|one| one.of == Some(name));
        return is_whole.then(|| at + &assigned.iter().map(Test::as_property).collect::<String>());
    }
    words.eat("DETACH");
    if words.eat("DELETE") {
        let at = pattern.steps_to(pattern.place_of(words.name()?)?)?;
        return words.is_done().then(|| at + ".drop()");
    }
    if words.eat("REMOVE") {
        let (name, key) = words.property()?;
        let at = pattern.steps_to(pattern.place_of(name?)?)?;
        return words.is_done().then(|| format!("{at}.properties('{key}').drop()"));
    }
    None
}

fn returned(mut words: Reader<'_, '_>, pattern: &Pattern<'_>) -> Option<String> {
    let last = if pattern.edge.is_some() { 2 } else { 0 };
    if let [function, "(", of @ .., ")"] = words.0 {
        let mut of = Reader(of);
        if function.eq_ignore_ascii_case("count") {
            let is_all = of.eat("*") || of.name().is_some_and(|name| pattern.place_of(name) == Some(last));
            return (is_all && of.is_done()).then(|| Some(pattern.steps_to(last)? + ".count()"))?;
        }
        let (step, (name, key)) = (aggregate(function)?, of.property()?);
        let at = pattern.steps_to(pattern.place_of(name?)?)?;
        return of.is_done().then(|| format!("{at}.values('{key}').{step}()"));
    }
    let mut ahead = words;
    let items = ahead.list(",", Reader::property)?;
    let (order, limit) = (ahead.order()?, ahead.limit()?);
    let (name, results) = match &items[..] {
        [(None, name)] => (*name, String::new()),
        all => {
            let name = all[0].0?;
            let of_one = all.iter().all(|(of, _)| *of == Some(name));
            let keys: Vec<&str> = all.iter().map(|(_, key)| *key).collect();
            (name, of_one.then(|| value_map(&keys))?)
        }
    };
    let at = pattern.steps_to(pattern.place_of(name)?)?;
    words = ahead;
    words.is_done().then(|| at + &order + &limit + &results)
}

pub fn created(mut words: Reader<'_, '_>) -> Option<Said> {
    let node = Node::read(&mut words)?;
    let label = node.label.map(|label| format!("'{label}'")).unwrap_or_default();
    let made = format!("g.addV({label}){}", node.properties.iter().map(Test::as_property).collect::<String>());
    words.eat("RETURN").then(|| words.name());
    Some(Said::whole_or_first(words.is_done().then(|| made.clone()), made))
}

pub fn merged(mut words: Reader<'_, '_>) -> Option<Said> {
    const EDGE: &str =
        "mergeE() makes an edge unless it exists: g.mergeE([(T.label): 'knows', (Direction.OUT): 1, (Direction.IN): 2])";
    let node = Node::read(&mut words)?;
    if matches!(words.0.first(), Some(&("-" | "<"))) {
        return Some(Said::Instead(EDGE.into()));
    }
    let label = node.label.map(|label| format!("(T.label): '{label}'"));
    let entries_of_node = [label.unwrap_or_default(), entries(&node.properties)];
    let map = entries_of_node.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(", ");
    let first = format!("g.mergeV([{map}])");
    Some(Said::whole_or_first(options(words).map(|options| first.clone() + &options), first))
}

/// `ON CREATE SET …` and `ON MATCH SET …`.
fn options(mut words: Reader<'_, '_>) -> Option<String> {
    let mut options = String::new();
    for (event, option) in [("CREATE", "onCreate"), ("MATCH", "onMatch"), ("CREATE", "onCreate")] {
        if words.eat_all(&["ON", event, "SET"]) {
            options += &format!(".option({option}, [{}])", entries(&words.assignments()?));
        }
    }
    words.eat("RETURN").then(|| words.name());
    words.is_done().then_some(options)
}
