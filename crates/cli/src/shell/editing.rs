//! Gremlin for the line editor: completion, colours, and whether a query is complete.

use std::sync::{Arc, PoisonError, RwLock};

use mangrove_query::gremlin::names;
use mangrove_query::gremlin::steps::{self, STEPS};
use reedline::{Color, Completer, CompletionResult, Highlighter, Span, StyledText, Suggestion, ValidationResult, Validator};

use super::scan::{self, Kind};
use super::session::{COMMANDS, command};

/// Names shared by the shell, which learns them, and its completer.
pub type Names = Arc<RwLock<Vec<String>>>;

pub struct GremlinCompleter {
    /// Labels and property keys of the graph.
    pub quoted: Names,
}

impl Completer for GremlinCompleter {
    fn complete(&mut self, line: &str, pos: usize) -> CompletionResult {
        let quoted = self.quoted.read().unwrap_or_else(PoisonError::into_inner);
        CompletionResult::fresh(suggestions(&quoted, &line[..pos]))
    }
}

/// Completions for the word at the end of `typed`.
fn suggestions(quoted: &[String], typed: &str) -> Vec<Suggestion> {
    let complete = |names: &mut dyn Iterator<Item = (String, Option<&str>)>, start: usize| {
        let fitting = names.filter(|(name, _)| name.starts_with(&typed[start..]));
        fitting.map(|(name, what)| suggestion(name, start, typed.len(), what)).collect()
    };
    if typed.starts_with(':') && !typed.contains(' ') {
        return complete(&mut COMMANDS.iter().map(|c| (c.name.to_owned(), Some(c.what))), 1);
    }
    let begun = scan::scan(typed).pop();
    match begun {
        Some(token) if token.kind == (Kind::String { closed: false }) => {
            complete(&mut quoted.iter().map(|name| (name.clone(), None)), token.range.start + 1)
        }
        Some(token) if token.kind == Kind::Word => complete(&mut words(&typed[..token.range.start]), token.range.start),
        _ => complete(&mut words(typed), typed.len()),
    }
}

/// The words that may follow `before`: members after `P.`, `T.` and the like, steps after any other dot, everything elsewhere.
fn words(before: &str) -> impl Iterator<Item = (String, Option<&'static str>)> {
    let chain = before.trim_end().strip_suffix('.');
    let owner = chain.map(|chain| &chain[chain.rfind(|c: char| !c.is_alphanumeric()).map_or(0, |at| at + 1)..]);
    let members = owner.and_then(|owner| names::owners().find(|(name, _)| *name == owner)).map(|(_, members)| members);
    let steps = STEPS.iter().filter(|step| step.is_run()).map(|step| (step.name.to_owned(), Some(step.description)));
    let members_only = members.is_some();
    let plain = |name: &'static str| (name.to_owned(), None);
    let listed = members.unwrap_or_default().iter().copied().map(plain);
    let others = names::words().map(plain).filter(move |_| chain.is_none());
    listed.chain(steps.chain(others).filter(move |_| !members_only))
}

fn suggestion(value: String, start: usize, end: usize, description: Option<&str>) -> Suggestion {
    let description = description.map(str::to_owned);
    Suggestion { value, description, span: Span { start, end }, ..Suggestion::default() }
}

pub struct GremlinHighlighter;

impl Highlighter for GremlinHighlighter {
    fn highlight(&self, line: &str, _cursor: usize) -> StyledText {
        let mut styled = StyledText::new();
        if let Some((name, rest)) = command(line) {
            let known = COMMANDS.iter().any(|c| c.name == name);
            let head = line.len() - rest.len();
            styled.push(((if known { Color::Magenta } else { Color::Red }).bold(), line[..head].to_owned()));
            styled.push((Color::Default.normal(), rest.to_owned()));
            return styled;
        }
        for token in scan::scan(line) {
            let text = &line[token.range];
            let known = || steps::find(text).is_some() || names::is_predicate(text);
            let style = match token.kind {
                Kind::Step if known() => Color::Cyan.normal(),
                Kind::Step => Color::Red.normal(),
                Kind::String { .. } => Color::Green.normal(),
                Kind::Number => Color::Yellow.normal(),
                Kind::Open | Kind::Close | Kind::Other => Color::DarkGray.normal(),
                Kind::Word | Kind::Space => Color::Default.normal(),
            };
            styled.push((style, text.to_owned()));
        }
        styled
    }
}

pub struct WholeQueries;

impl Validator for WholeQueries {
    fn validate(&self, line: &str) -> ValidationResult {
        if scan::is_whole(line) { ValidationResult::Complete } else { ValidationResult::Incomplete }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suggested(typed: &str) -> Vec<String> {
        let suggestions = suggestions(&["airport".to_owned()], typed);
        suggestions.into_iter().map(|s| format!("{}{}", &typed[..s.span.start], s.value)).collect()
    }

    #[test]
    fn steps_names_and_commands_complete_where_they_belong() {
        assert_eq!(suggested("g.V().outE"), ["g.V().outE"]);
        assert_eq!(suggested("g.V().hasLabel('air"), ["g.V().hasLabel('airport"]);
        assert_eq!(suggested("g.V().where(__.has('a', TextP.con"), ["g.V().where(__.has('a', TextP.containing"]);
        assert_eq!(suggested("g.V().order().by('n', Order.de"), ["g.V().order().by('n', Order.desc"]);
        assert!(suggested("g.V().where(st").contains(&"g.V().where(startingWith".to_owned()));
        assert!(!suggested("g.V().st").contains(&"g.V().startingWith".to_owned()));
        assert_eq!(suggested(":he"), [":help"]);
    }
}
