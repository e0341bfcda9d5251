//! What the line editor knows of Gremlin: completion, colours, and when a query is whole.

use std::sync::{Arc, PoisonError, RwLock};

use reedline::{
    Color, Completer, CompletionResult, Highlighter, Span, StyledText, Suggestion, ValidationResult, Validator,
};

use super::scan::{self, Kind};
use super::{COMMANDS, command};

/// The names a query may use, as the graph stands now.
#[derive(Clone, Debug, Default)]
pub struct Names {
    pub steps: Vec<String>,
    /// Predicates, tokens and the like.
    pub words: Vec<String>,
    /// Labels and property keys.
    pub quoted: Vec<String>,
}

pub type SharedNames = Arc<RwLock<Names>>;

pub struct GremlinCompleter {
    pub names: SharedNames,
}

impl Completer for GremlinCompleter {
    fn complete(&mut self, line: &str, pos: usize) -> CompletionResult {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        CompletionResult::fresh(suggestions(&names, &line[..pos]))
    }
}

/// What could stand at the end of `typed` in place of what has been begun there.
fn suggestions(names: &Names, typed: &str) -> Vec<Suggestion> {
    if let Some(word) = typed.strip_prefix(':').filter(|word| !word.contains(' ')) {
        let commands = COMMANDS.iter().filter(|c| c.name.starts_with(word));
        return commands.map(|c| suggestion(c.name, typed.len() - word.len(), typed.len(), Some(c.what))).collect();
    }
    let mut tokens = scan::scan(typed);
    let begun = tokens.pop_if(|token| matches!(token.kind, Kind::Word | Kind::String { closed: false }));
    let start = match &begun {
        Some(token) if token.kind == Kind::Word => token.range.start,
        Some(token) => token.range.start + 1,
        None => typed.len(),
    };
    let after_dot = typed[..start].trim_end().ends_with('.');
    let candidates: Vec<&[String]> = match begun {
        Some(token) if token.kind != Kind::Word => vec![&names.quoted],
        _ if after_dot => vec![&names.steps],
        _ => vec![&names.words, &names.steps],
    };
    let word = &typed[start..];
    let fitting = candidates.into_iter().flatten().filter(|name| name.starts_with(word));
    fitting.map(|name| suggestion(name, start, typed.len(), None)).collect()
}

fn suggestion(value: &str, start: usize, end: usize, description: Option<&str>) -> Suggestion {
    let description = description.map(str::to_owned);
    Suggestion { value: value.to_owned(), description, span: Span { start, end }, ..Suggestion::default() }
}

pub struct GremlinHighlighter {
    pub names: SharedNames,
}

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
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        for token in scan::scan(line) {
            let text = &line[token.range];
            let known = || names.steps.iter().chain(&names.words).any(|name| name == text);
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
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let names = Names { steps: owned(&["out", "outE", "has"]), words: owned(&["__", "gt"]), quoted: owned(&["airport"]) };
        suggestions(&names, typed).into_iter().map(|s| format!("{}{}", &typed[..s.span.start], s.value)).collect()
    }

    #[test]
    fn steps_names_and_commands_complete_where_they_belong() {
        assert_eq!(suggested("g.V().ou"), ["g.V().out", "g.V().outE"]);
        assert_eq!(suggested("g.V().hasLabel('air"), ["g.V().hasLabel('airport"]);
        assert_eq!(suggested("g.V().where(g"), ["g.V().where(gt"]);
        assert_eq!(suggested("g.V().where(_"), ["g.V().where(__"]);
        assert_eq!(suggested(":he"), [":help"]);
        assert!(suggested("g.V('done')").iter().all(|s| s.starts_with("g.V('done')")));
    }
}
