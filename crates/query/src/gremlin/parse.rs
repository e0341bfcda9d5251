//! Reads gremlin-lang text.
//!
//! The grammar. Names are not part of it: `name` is any word, and `mark` stands for itself.
//!
//! ```text
//! query      = traversal ';'*
//! script     = traversal ((';'+ | line-break) traversal)* ';'*     each but the first with a root
//! traversal  = ('g' '.' | '__' '.')? call ('.' call)*           without a root only where nested, or as a whole query
//! call       = name '(' (argument (',' argument)*)? ')'
//! argument   = literal | list | set | map | traversal | predicate | constant | strategy | variable
//! list       = '[' arguments ']'        set = '{' arguments '}'
//! map        = '[' ':' ']' | '[' key ':' argument (',' key ':' argument)* ']'
//! key        = name | '(' argument ')' | argument
//! range      = integer '..' integer | string '..' string        read as the list of its items
//! predicate  = ('P.' | 'TextP.')? name '(' arguments ')' ('.' ('and' | 'or') '(' predicate ')' | '.' 'negate' '(' ')')*
//! constant   = kind '.' name | name                             see `names`
//! strategy   = 'new'? name ('(' (name ':' argument)* ')')?
//! ```
//!
//! One token decides between the forms of an argument. The exception is `not(…)`, which is a predicate if its argument is one.

use mangrove_graph::Value;
use winnow::error::ErrMode;
use winnow::stream::{LocatingSlice, Location, Stateful};

use super::error::SyntaxError;
use super::habits;
use super::lex::{Fault, Input, Parsed, Usage, eat, is_word_part, is_word_start, mark, next, number, space, string, word};
use super::literal;
use super::names;
use super::syntax::{Argument, ArgumentKind, Call, PredicateSyntax, TraversalSyntax};
use crate::diagnostics::{Span, one_of, suggest};
use crate::stack::deep;

/// The most bytes of a query's text.
pub const TEXT_BYTES_MAX: usize = 4 << 20;
/// The most arguments within arguments.
pub const DEPTH_MAX: usize = 100;
/// The most predicates of one query joined by `and`, `or` and `negate`.
pub const JOINTS_MAX: usize = 250;
/// The most steps of a query, with those of its child traversals. Each step pulls from the one before it, so the steps bound the
/// stack.
pub const STEPS_MAX: usize = 2000;
/// The most values, traversals and other arguments of a query. Each takes about a hundred bytes until the query has run.
pub const ARGUMENTS_MAX: usize = 1 << 20;
/// The most statements of a script.
pub const STATEMENTS_MAX: usize = 10_000;
/// The most items of all ranges of a query.
pub const RANGE_ITEMS_MAX: usize = 100_000;

/// Reads one traversal.
pub fn parse(text: &str) -> Result<TraversalSyntax, SyntaxError> {
    read(text, query)
}

/// The statements of a script: traversals that run one after the other. All but the last end with a step that runs them, because
/// other servers would not run them without one.
pub fn statements(text: &str) -> Result<Vec<&str>, SyntaxError> {
    let read = read(text, |input| script(input, text))?;
    Ok(read.iter().map(|traversal| &text[traversal.span.start..traversal.span.end]).collect())
}

fn read<'t, T>(text: &'t str, form: impl FnOnce(&mut Input<'t>) -> Parsed<T>) -> Result<T, SyntaxError> {
    if text.len() > TEXT_BYTES_MAX {
        let message = format!("a query of {} bytes is too long: the limit is {TEXT_BYTES_MAX}", text.len());
        return Err(SyntaxError::new(message, Span { start: 0, end: 1 }).with_help("pass large values as parameters"));
    }
    let mut input = Stateful { input: LocatingSlice::new(text), state: Usage::default() };
    form(&mut input).map_err(|error| match error {
        ErrMode::Backtrack(fault) | ErrMode::Cut(fault) => habits::advise(text, fault.in_text(text)),
        ErrMode::Incomplete(_) => unreachable!("the input is complete"),
    })
}

fn query(input: &mut Input<'_>) -> Parsed<TraversalSyntax> {
    let traversal = statement(input)?;
    match next(input) {
        None => Ok(traversal),
        Some(c) if is_word_start(c) => {
            Fault::expected(input, &["the end of the query"]).help("a query is one traversal: run several one by one").cut()
        }
        Some(_) => Fault::expected(input, &["`.` and a step", "the end of the query"]).cut(),
    }
}

/// Steps at the end of a traversal that run it.
const RUNNING: [&str; 7] = ["iterate", "next", "tryNext", "hasNext", "toList", "toSet", "toBulkSet"];

fn script(input: &mut Input<'_>, text: &str) -> Parsed<Vec<TraversalSyntax>> {
    let mut statements = vec![statement(input)?];
    while next(input).is_some() {
        let Some(before) = statements.last().filter(|before| goes_on(input, text, before)) else {
            return Fault::expected(input, &["`.` and a step", "the end of the query"]).cut();
        };
        is_run(before)?;
        if statements.len() == STATEMENTS_MAX {
            let fault = Fault::new(here(input), format!("more than {STATEMENTS_MAX} statements in one script"));
            return fault.help("send several; load and ingest take many rows at once").cut();
        }
        // What bounds the stack bounds each of them.
        (input.state.steps, input.state.joints) = (0, 0);
        statements.push(statement(input)?);
    }
    if let [_, .., last] = &statements[..] {
        is_no_control(last)?;
    }
    Ok(statements)
}

/// Whether another statement begins here: behind a semicolon or on another line, and with a root. Else it may be a step without its dot.
fn goes_on(input: &Input<'_>, text: &str, before: &TraversalSyntax) -> bool {
    let start = input.current_token_start();
    let is_apart = text[before.span.end..start].contains([';', '\n']);
    let word = text[start..].split(|c| !is_word_part(c)).next();
    is_apart && matches!(word, Some("g" | "__"))
}

/// Fails if a statement that others follow ends with no step that runs it.
fn is_run(statement: &TraversalSyntax) -> Parsed<()> {
    is_no_control(statement)?;
    match statement.calls.last() {
        Some(call) if !RUNNING.contains(&call.name.as_str()) => {
            let fault =
                Fault::new(call.name_span, "nothing runs this statement: only the last one of a script gives results");
            fault.help("end it with .iterate()").cut()
        }
        _ => Ok(()),
    }
}

/// Fails if a statement is about a transaction.
fn is_no_control(statement: &TraversalSyntax) -> Parsed<()> {
    match statement.calls.first() {
        Some(call) if call.name == "tx" => {
            let fault = Fault::new(
                call.name_span,
                "a script cannot begin or end a transaction: it is one, or a part of its session's",
            );
            fault.help("send this statement by itself").cut()
        }
        _ => Ok(()),
    }
}

/// A traversal, and the semicolons after it.
fn statement(input: &mut Input<'_>) -> Parsed<TraversalSyntax> {
    space(input)?;
    if next(input).is_none() {
        return Fault::new(here(input), "the query is empty").help("a query is a traversal, such as g.V().limit(5)").cut();
    }
    if !next(input).is_some_and(is_word_start) {
        return Fault::expected(input, &["a traversal"]).help("a traversal starts with `g.`").cut();
    }
    let (name, place) = word(input)?;
    let traversal = match next(input) {
        _ if name == "g" || name == "__" => rooted(input, name, place)?,
        Some('(') => unrooted(input, name, place)?,
        _ => {
            let message = format!("a traversal starts with `g`, not `{name}`");
            return Fault::new(place, message).help("for example g.V().limit(5)").cut();
        }
    };
    while eat(input, ';')?.is_some() {}
    Ok(traversal)
}

fn here(input: &Input<'_>) -> Span {
    let start = input.current_token_start();
    Span { start, end: start + next(input).map_or(0, char::len_utf8) }
}

/// The calls after `g` or `__`.
fn rooted(input: &mut Input<'_>, root: &str, place: Span) -> Parsed<TraversalSyntax> {
    let mut calls = Vec::new();
    chain(input, &mut calls)?;
    if calls.is_empty() {
        return Fault::expected(input, &["`.` and a step"]).cut();
    }
    Ok(traversal(root == "g", calls, place.start))
}

/// The calls of a traversal without a root, whose first step has this name.
fn unrooted(input: &mut Input<'_>, name: &str, place: Span) -> Parsed<TraversalSyntax> {
    let mut calls = vec![call(input, name, place)?];
    chain(input, &mut calls)?;
    Ok(traversal(false, calls, place.start))
}

fn traversal(from_source: bool, calls: Vec<Call>, start: usize) -> TraversalSyntax {
    let end = calls.last().map_or(start, |call| call.span.end);
    TraversalSyntax { from_source, calls, span: Span { start, end } }
}

fn chain(input: &mut Input<'_>, calls: &mut Vec<Call>) -> Parsed<()> {
    while eat(input, '.')?.is_some() {
        let (name, place) = expect_word(input, "a step")?;
        if next(input) != Some('(') {
            return Fault::expected(input, &["`(`"]).help(format!("every step has parentheses: {name}()")).cut();
        }
        input.state.steps += 1;
        if input.state.steps > STEPS_MAX {
            let fault = Fault::new(place, format!("more than {STEPS_MAX} steps in one query"));
            return fault
                .help("send several queries, in one transaction if need be; load and ingest take many rows at once")
                .cut();
        }
        calls.push(call(input, name, place)?);
    }
    Ok(())
}

fn expect_word<'t>(input: &mut Input<'t>, what: &'static str) -> Parsed<(&'t str, Span)> {
    if next(input).is_some_and(is_word_start) { word(input) } else { Fault::expected(input, &[what]).cut() }
}

/// `(arguments)` after a name.
fn call(input: &mut Input<'_>, name: &str, place: Span) -> Parsed<Call> {
    let bare = match name {
        "withStrategies" | "withoutStrategies" => Bare::Strategy,
        "asNumber" => Bare::Type,
        _ => Bare::Any,
    };
    let (args, end) = arguments(input, bare)?;
    Ok(Call { name: name.to_string(), args, name_span: place, span: Span { start: place.start, end } })
}

/// The meaning that a bare word takes where an argument is expected.
#[derive(Clone, Copy, PartialEq)]
enum Bare {
    Any,
    Strategy,
    Type,
}

/// `(argument, …)`, and the position where it ends.
fn arguments(input: &mut Input<'_>, bare: Bare) -> Parsed<(Vec<Argument>, usize)> {
    let open = mark(input, '(', &["`(`"])?;
    items(input, open, ')', |input| argument(input, bare))
}

/// Items between commas up to the closing mark, and the position where that ends. The opening mark has been read.
fn items<'t, T>(
    input: &mut Input<'t>,
    open: Span,
    close: char,
    mut item: impl FnMut(&mut Input<'t>) -> Parsed<T>,
) -> Parsed<(Vec<T>, usize)> {
    match eat(input, close)? {
        Some(end) => Ok((Vec::new(), end.end)),
        None => {
            let first = item(input)?;
            further_items(input, open, close, first, item)
        }
    }
}

/// The same, after the first item.
fn further_items<'t, T>(
    input: &mut Input<'t>,
    open: Span,
    close: char,
    first: T,
    mut item: impl FnMut(&mut Input<'t>) -> Parsed<T>,
) -> Parsed<(Vec<T>, usize)> {
    let mut items = vec![first];
    loop {
        if let Some(end) = eat(input, close)? {
            return Ok((items, end.end));
        }
        if eat(input, ',')?.is_none() {
            return not_closed(input, open, close);
        }
        items.push(item(input)?);
    }
}

fn not_closed<T>(input: &Input<'_>, open: Span, close: char) -> Parsed<T> {
    let expected: &[&str] = match close {
        ')' => &["`,`", "`)`"],
        ']' => &["`,`", "`]`"],
        _ => &["`,`", "`}`"],
    };
    let fault = Fault::expected(input, expected);
    match next(input) {
        None => fault.open(open).cut(),
        Some('-') if close == '}' => fault.help("braces hold a set; lambdas are not part of gremlin-lang").cut(),
        Some(_) => fault.cut(),
    }
}

fn argument(input: &mut Input<'_>, bare: Bare) -> Parsed<Argument> {
    let Some(first) = next(input) else { return Fault::expected(input, &["an argument"]).cut() };
    if input.state.depth == DEPTH_MAX {
        return Fault::new(here(input), format!("arguments are nested too deep: the limit is {DEPTH_MAX}")).cut();
    }
    input.state.arguments += 1;
    if input.state.arguments > ARGUMENTS_MAX {
        let fault = Fault::new(here(input), format!("more than {ARGUMENTS_MAX} values in one query"));
        return fault.help("pass large lists as parameters").cut();
    }
    input.state.depth += 1;
    let argument = deep(|| match first {
        '"' | '\'' => string_or_range(input),
        '0'..='9' | '+' | '-' => number_or_range(input),
        '[' => list_or_map(input),
        '{' => set(input),
        c if is_word_start(c) => named(input, bare),
        '‘' | '’' | '“' | '”' => {
            Fault::new(here(input), format!("unexpected `{first}`")).help("quotes are \" or '").cut()
        }
        _ => Fault::expected(input, &["an argument"]).cut(),
    });
    input.state.depth -= 1;
    argument
}

fn value(value: impl Into<Value>, span: Span) -> Argument {
    Argument { kind: ArgumentKind::Value(value.into()), span }
}

fn string_or_range(input: &mut Input<'_>) -> Parsed<Argument> {
    let (text, start) = string(input)?;
    if !dots(input)? {
        return Ok(value(text, start));
    }
    if !matches!(next(input), Some('"' | '\'')) {
        return Fault::expected(input, &["a string"]).cut();
    }
    let (last, end) = string(input)?;
    let place = Span { start: start.start, end: end.end };
    let (first_char, last_char) = match (split_last(&text), split_last(&last)) {
        (Some((a, first)), Some((b, last))) if a == b => (first, last),
        _ if text.is_empty() && last.is_empty() => {
            return Ok(Argument { kind: ArgumentKind::List(Vec::new()), span: place });
        }
        _ => return Fault::new(place, "the ends of a range of strings may differ only in their last character").cut(),
    };
    let prefix = &text[..text.len() - first_char.len_utf8()];
    let count = (first_char as u32).abs_diff(last_char as u32) as usize + 1;
    charge(input, place, count.saturating_mul(1 + prefix.len() / size_of::<Argument>()))?;
    let chars = first_char.min(last_char)..=first_char.max(last_char);
    let items = chars.map(|c| value(format!("{prefix}{c}"), place)).collect();
    Ok(range(items, first_char > last_char, place))
}

fn split_last(text: &str) -> Option<(&str, char)> {
    let last = text.chars().next_back()?;
    Some((&text[..text.len() - last.len_utf8()], last))
}

fn number_or_range(input: &mut Input<'_>) -> Parsed<Argument> {
    let (first, start) = number_value(input)?;
    if !dots(input)? {
        return Ok(value(first, start));
    }
    if !matches!(next(input), Some('0'..='9' | '+' | '-')) {
        return Fault::expected(input, &["an integer"]).cut();
    }
    let (last, end) = number_value(input)?;
    let place = Span { start: start.start, end: end.end };
    let (Value::Int32(first), Value::Int32(last)) = (first, last) else {
        return Fault::new(place, "the ends of a range must be 32-bit integers or strings").cut();
    };
    charge(input, place, first.abs_diff(last) as usize + 1)?;
    let items = (first.min(last)..=first.max(last)).map(|i| value(i, place)).collect();
    Ok(range(items, first > last, place))
}

/// Accounts for the items that a range will make.
fn charge(input: &mut Input<'_>, place: Span, items: usize) -> Parsed<()> {
    input.state.range_items = input.state.range_items.saturating_add(items);
    if input.state.range_items > RANGE_ITEMS_MAX {
        let message = format!("the ranges of this query are too wide: the limit is {RANGE_ITEMS_MAX} items");
        return Fault::new(place, message).help("pass large lists as parameters").cut();
    }
    Ok(())
}

fn range(mut items: Vec<Argument>, falling: bool, span: Span) -> Argument {
    if falling {
        items.reverse();
    }
    Argument { kind: ArgumentKind::List(items), span }
}

/// The two dots of a range.
fn dots(input: &mut Input<'_>) -> Parsed<bool> {
    if eat(input, '.')?.is_none() {
        return Ok(false);
    }
    mark(input, '.', &["`..` and the end of a range"]).map(|_| true)
}

fn number_value(input: &mut Input<'_>) -> Parsed<(Value, Span)> {
    if next(input).is_some_and(|c| c == '+' || c == '-')
        && !input.chars().nth(1).is_some_and(|c| c.is_ascii_digit() || c == 'I')
    {
        return Fault::expected(input, &["a number"]).cut();
    }
    let text = number(input)?;
    match literal::number(text.digits, text.suffix) {
        Ok(value) => Ok((value, text.span)),
        Err(reason) => Fault::new(text.span, reason).cut(),
    }
}

fn set(input: &mut Input<'_>) -> Parsed<Argument> {
    let open = mark(input, '{', &["`{`"])?;
    let (items, end) = items(input, open, '}', |input| argument(input, Bare::Any))?;
    Ok(Argument { kind: ArgumentKind::Set(items), span: Span { start: open.start, end } })
}

fn list_or_map(input: &mut Input<'_>) -> Parsed<Argument> {
    let open = mark(input, '[', &["`[`"])?;
    let within = |end: usize| Span { start: open.start, end };
    if eat(input, ':')?.is_some() {
        let end = mark(input, ']', &["`]`"])?.end;
        return Ok(Argument { kind: ArgumentKind::Map(Vec::new()), span: within(end) });
    }
    if let Some(end) = eat(input, ']')? {
        return Ok(Argument { kind: ArgumentKind::List(Vec::new()), span: within(end.end) });
    }
    let parenthesised = next(input) == Some('(');
    let first = map_key(input)?;
    if !parenthesised && next(input) != Some(':') {
        let (items, end) = further_items(input, open, ']', first, |input| argument(input, Bare::Any))?;
        return Ok(Argument { kind: ArgumentKind::List(items), span: within(end) });
    }
    let first = map_value(input, first)?;
    let (entries, end) = further_items(input, open, ']', first, |input| {
        let key = map_key(input)?;
        map_value(input, key)
    })?;
    Ok(Argument { kind: ArgumentKind::Map(entries), span: within(end) })
}

fn map_value(input: &mut Input<'_>, key: Argument) -> Parsed<(Argument, Argument)> {
    mark(input, ':', &["`:` and a value"])?;
    Ok((key, argument(input, Bare::Any)?))
}

/// A key of a map, or the first item of a list. A name before a colon is a string.
fn map_key(input: &mut Input<'_>) -> Parsed<Argument> {
    if eat(input, '(')?.is_some() {
        let key = argument(input, Bare::Any)?;
        mark(input, ')', &["`)`"])?;
        return Ok(key);
    }
    match naked_key(input) {
        Some((name, place)) => {
            word(input)?;
            Ok(value(name, place))
        }
        None => argument(input, Bare::Any),
    }
}

/// The next word, if a colon follows it.
fn naked_key<'t>(input: &Input<'t>) -> Option<(&'t str, Span)> {
    let mut ahead = Stateful { input: input.input, state: Usage::default() };
    let word = word(&mut ahead).ok()?;
    (next(&ahead) == Some(':')).then_some(word)
}

/// An argument that starts with a word.
fn named(input: &mut Input<'_>, bare_word: Bare) -> Parsed<Argument> {
    let (name, place) = word(input)?;
    let followed_by = next(input);
    let literal = match name {
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        "null" => Some(Value::Null),
        "NaN" => Some(Value::Float64(f64::NAN)),
        "Infinity" => Some(Value::Float64(f64::INFINITY)),
        _ => None,
    };
    if let Some(literal) = literal {
        return Ok(value(literal, place));
    }
    match followed_by {
        _ if name == "new" => {
            let (name, name_span) = expect_word(input, "the name of a strategy")?;
            strategy(input, name, Span { start: place.start, ..name_span })
        }
        _ if bare_word == Bare::Strategy && name != "__" => strategy(input, name, place),
        _ if name == "g" || name == "__" => Ok(nested(rooted(input, name, place)?)),
        Some('.') => qualified(input, name, place),
        Some('(') => applied(input, name, place),
        _ => Ok(Argument { kind: standing_alone(name, bare_word), span: place }),
    }
}

fn standing_alone(name: &str, bare_word: Bare) -> ArgumentKind {
    let constant = if bare_word == Bare::Type { names::type_name(name) } else { None };
    match constant.or_else(|| names::bare_constant(name)) {
        Some((kind, name)) => ArgumentKind::Constant { kind: kind.into(), name: name.into() },
        None => ArgumentKind::Variable(name.into()),
    }
}

fn nested(traversal: TraversalSyntax) -> Argument {
    Argument { span: traversal.span, kind: ArgumentKind::Traversal(traversal) }
}

/// `name(…)`: a literal, a predicate, a cardinality, or a traversal.
fn applied(input: &mut Input<'_>, name: &str, place: Span) -> Parsed<Argument> {
    if literal::CALLS.contains(&name) {
        return literal_call(input, name, place);
    }
    if let Some(("Cardinality", name)) = names::bare_constant(name) {
        return applied_constant(input, "Cardinality", name, place);
    }
    if name == "not" {
        return not(input, place);
    }
    if names::is_predicate(name) {
        return predicate(input, name, place, place);
    }
    unrooted(input, name, place).map(nested)
}

fn literal_call(input: &mut Input<'_>, name: &str, place: Span) -> Parsed<Argument> {
    let (args, end) = arguments(input, Bare::Any)?;
    let span = Span { start: place.start, end };
    let values = args.into_iter().map(|arg| match arg.kind {
        ArgumentKind::Value(value) => Ok(value),
        _ => Err(ErrMode::Cut(Fault::new(arg.span, format!("{name} takes literals only")))),
    });
    match literal::call(name, &values.collect::<Parsed<Vec<Value>>>()?) {
        Ok(literal) => Ok(value(literal, span)),
        Err(reason) => Fault::new(span, reason).cut(),
    }
}

fn applied_constant(input: &mut Input<'_>, kind: &str, name: &str, place: Span) -> Parsed<Argument> {
    let (args, end) = arguments(input, Bare::Any)?;
    let kind = ArgumentKind::Applied { kind: kind.into(), name: name.into(), args };
    Ok(Argument { kind, span: Span { start: place.start, end } })
}

/// `not(…)`: the predicate if its argument is one, otherwise the step.
fn not(input: &mut Input<'_>, place: Span) -> Parsed<Argument> {
    let not = call(input, "not", place)?;
    match sole_predicate(not.args) {
        Ok(predicate) => joined(input, PredicateSyntax::Not(Box::new(predicate)), not.span),
        Err(args) => {
            let mut calls = vec![Call { args, ..not }];
            chain(input, &mut calls)?;
            Ok(nested(traversal(false, calls, place.start)))
        }
    }
}

/// The predicate, if it is the only argument; otherwise the arguments.
fn sole_predicate(args: Vec<Argument>) -> Result<PredicateSyntax, Vec<Argument>> {
    match <[Argument; 1]>::try_from(args) {
        Ok([Argument { kind: ArgumentKind::Predicate(predicate), .. }]) => Ok(predicate),
        Ok([other]) => Err(vec![other]),
        Err(args) => Err(args),
    }
}

/// `Kind.name` after the kind has been read: a constant or a predicate.
fn qualified(input: &mut Input<'_>, kind: &str, place: Span) -> Parsed<Argument> {
    mark(input, '.', &["`.`"])?;
    let (name, name_span) = expect_word(input, "a name")?;
    if kind == "VertexProperty" && name == "Cardinality" {
        return qualified(input, name, place);
    }
    if kind == "P" || kind == "TextP" {
        return qualified_predicate(input, name, place, name_span);
    }
    if kind == "Element" && names::ELEMENTS.contains(&name) {
        return applied_constant(input, kind, name, place);
    }
    match names::constant(kind, name) {
        Some(("Cardinality", name)) if next(input) == Some('(') => applied_constant(input, "Cardinality", name, place),
        Some((kind, name)) => {
            let kind = ArgumentKind::Constant { kind: kind.into(), name: name.into() };
            Ok(Argument { kind, span: Span { start: place.start, end: name_span.end } })
        }
        None => unknown_constant(kind, place, name, name_span),
    }
}

fn unknown_constant<T>(kind: &str, place: Span, name: &str, name_span: Span) -> Parsed<T> {
    if let Some(members) = names::members(kind) {
        let help = match suggest(name, members.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("{kind} has {}", one_of(members).replace(" or ", " and ")),
        };
        return Fault::new(name_span, format!("{kind} has no `{name}`")).help(help).cut();
    }
    let kinds = names::KINDS.iter().map(|kind| kind.name).chain(["P", "TextP", "__", "g"]);
    let fault = Fault::new(place, format!("unknown name `{kind}`"));
    match suggest(kind, kinds) {
        Some(meant) => fault.help(format!("did you mean `{meant}`?")).cut(),
        None => fault.help("a traversal within another starts with `__.` or with a step").cut(),
    }
}

fn qualified_predicate(input: &mut Input<'_>, name: &str, place: Span, name_span: Span) -> Parsed<Argument> {
    if !names::is_predicate(name) {
        let known = names::PREDICATES.iter().chain(&names::TEXT_PREDICATES).copied();
        let fault = Fault::new(name_span, format!("unknown predicate `{name}`"));
        return match suggest(name, known) {
            Some(meant) => fault.help(format!("did you mean `{meant}`?")).cut(),
            None => fault.cut(),
        };
    }
    predicate(input, name, place, name_span)
}

/// `(arguments)` after the name of a predicate, and the predicates joined to it.
fn predicate(input: &mut Input<'_>, name: &str, place: Span, name_span: Span) -> Parsed<Argument> {
    let bare = if name == "typeOf" { Bare::Type } else { Bare::Any };
    let (args, end) = arguments(input, bare)?;
    let span = Span { start: place.start, end };
    if name != "not" {
        return joined(input, PredicateSyntax::Test { name: name.into(), args, span }, span);
    }
    match sole_predicate(args) {
        Ok(predicate) => joined(input, PredicateSyntax::Not(Box::new(predicate)), span),
        Err(_) => Fault::new(name_span, "P.not takes one predicate").help("for example P.not(P.within(1, 2))").cut(),
    }
}

/// A predicate with those that `and`, `or` and `negate` join to it.
fn joined(input: &mut Input<'_>, first: PredicateSyntax, mut place: Span) -> Parsed<Argument> {
    let mut predicate = first;
    while eat(input, '.')?.is_some() {
        let (name, name_span) = expect_word(input, "`and`, `or` or `negate`")?;
        joint(input, name_span)?;
        if !["and", "or", "negate"].contains(&name) {
            return Fault::new(name_span, format!("a predicate has no `{name}`")).help("it has and, or and negate").cut();
        }
        let (args, end) = arguments(input, Bare::Any)?;
        place.end = end;
        predicate = match (name, sole_predicate(args)) {
            ("and", Ok(other)) => PredicateSyntax::And(Box::new(predicate), Box::new(other)),
            ("or", Ok(other)) => PredicateSyntax::Or(Box::new(predicate), Box::new(other)),
            ("negate", Err(args)) if args.is_empty() => PredicateSyntax::Not(Box::new(predicate)),
            ("negate", _) => return Fault::new(name_span, "`negate` takes no argument").cut(),
            _ => return Fault::new(name_span, format!("`{name}` takes one predicate")).cut(),
        };
    }
    Ok(Argument { kind: ArgumentKind::Predicate(predicate), span: place })
}

fn joint(input: &mut Input<'_>, place: Span) -> Parsed<()> {
    input.state.joints += 1;
    if input.state.joints > JOINTS_MAX {
        let message = format!("more than {JOINTS_MAX} predicates are joined");
        return Fault::new(place, message).help("`within` takes any number of values").cut();
    }
    Ok(())
}

/// The rest of a strategy after its name: its options.
fn strategy(input: &mut Input<'_>, name: &str, mut place: Span) -> Parsed<Argument> {
    let mut options = Vec::new();
    if let Some(open) = eat(input, '(')? {
        (options, place.end) = items(input, open, ')', option)?;
    }
    Ok(Argument { kind: ArgumentKind::Strategy { name: name.into(), options }, span: place })
}

fn option(input: &mut Input<'_>) -> Parsed<(String, Argument)> {
    let name = match next(input) {
        Some('"' | '\'') => string(input)?.0,
        _ => expect_word(input, "the name of an option")?.0.to_string(),
    };
    mark(input, ':', &["`:` and a value"])?;
    Ok((name, argument(input, Bare::Any)?))
}
