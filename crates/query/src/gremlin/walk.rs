//! Visits every call of a syntax tree, however deep in an argument it stands.

use std::ops::ControlFlow;

use super::syntax::{Argument, ArgumentKind, Call, PredicateSyntax, TraversalSyntax};

/// Sees a call, and those that follow it in its traversal.
type Visit<'v, 'a, B> = dyn FnMut(&'a Call, &'a [Call]) -> ControlFlow<B> + 'v;

impl TraversalSyntax {
    /// Visits each call before those in its arguments, until `visit` breaks.
    pub fn for_each_call<'a, B>(&'a self, visit: &mut Visit<'_, 'a, B>) -> ControlFlow<B> {
        self.calls.iter().enumerate().try_for_each(|(at, call)| {
            visit(call, &self.calls[at + 1..])?;
            call.args.iter().try_for_each(|argument| in_argument(argument, visit))
        })
    }

    /// Whether `test` holds for some call and those that follow it.
    pub fn any_call(&self, test: impl Fn(&Call, &[Call]) -> bool) -> bool {
        let visit = &mut |call: &Call, rest: &[Call]| match test(call, rest) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        self.for_each_call(visit).is_break()
    }
}

impl TraversalSyntax {
    /// Appends the names of its variables.
    pub fn variables<'a>(&'a self, names: &mut Vec<&'a str>) {
        self.calls.iter().flat_map(|call| &call.args).for_each(|argument| variables_in(argument, names));
    }
}

fn variables_in<'a>(argument: &'a Argument, names: &mut Vec<&'a str>) {
    match &argument.kind {
        ArgumentKind::Variable(name) => names.push(name),
        ArgumentKind::Traversal(traversal) => traversal.variables(names),
        ArgumentKind::Predicate(predicate) => variables_of(predicate, names),
        ArgumentKind::List(items) | ArgumentKind::Set(items) | ArgumentKind::Applied { args: items, .. } => {
            items.iter().for_each(|item| variables_in(item, names));
        }
        ArgumentKind::Map(entries) => entries.iter().for_each(|(key, value)| {
            variables_in(key, names);
            variables_in(value, names);
        }),
        ArgumentKind::Strategy { options, .. } => options.iter().for_each(|(_, option)| variables_in(option, names)),
        ArgumentKind::Value(_) | ArgumentKind::Constant { .. } => {}
    }
}

fn variables_of<'a>(predicate: &'a PredicateSyntax, names: &mut Vec<&'a str>) {
    match predicate {
        PredicateSyntax::Test { args, .. } => args.iter().for_each(|argument| variables_in(argument, names)),
        PredicateSyntax::And(a, b) | PredicateSyntax::Or(a, b) => {
            variables_of(a, names);
            variables_of(b, names);
        }
        PredicateSyntax::Not(inner) => variables_of(inner, names),
    }
}

fn in_argument<'a, B>(argument: &'a Argument, visit: &mut Visit<'_, 'a, B>) -> ControlFlow<B> {
    match &argument.kind {
        ArgumentKind::Traversal(traversal) => traversal.for_each_call(visit),
        ArgumentKind::Predicate(predicate) => in_predicate(predicate, visit),
        ArgumentKind::List(items) | ArgumentKind::Set(items) | ArgumentKind::Applied { args: items, .. } => {
            items.iter().try_for_each(|item| in_argument(item, visit))
        }
        ArgumentKind::Map(entries) => entries.iter().try_for_each(|(key, value)| {
            in_argument(key, visit)?;
            in_argument(value, visit)
        }),
        ArgumentKind::Strategy { options, .. } => options.iter().try_for_each(|(_, option)| in_argument(option, visit)),
        ArgumentKind::Value(_) | ArgumentKind::Constant { .. } | ArgumentKind::Variable(_) => ControlFlow::Continue(()),
    }
}

fn in_predicate<'a, B>(predicate: &'a PredicateSyntax, visit: &mut Visit<'_, 'a, B>) -> ControlFlow<B> {
    match predicate {
        PredicateSyntax::Test { args, .. } => args.iter().try_for_each(|argument| in_argument(argument, visit)),
        PredicateSyntax::And(a, b) | PredicateSyntax::Or(a, b) => {
            in_predicate(a, visit)?;
            in_predicate(b, visit)
        }
        PredicateSyntax::Not(inner) => in_predicate(inner, visit),
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;

    #[test]
    fn calls_are_found_wherever_they_stand() {
        let places = [
            "g.drop()",
            "g.V().where(__.out().drop())",
            "g.V().is(P.eq(__.drop()).and(P.gt(1)))",
            "g.V().is(P.not(P.within(1, __.drop())))",
            "g.withStrategies(new SubgraphStrategy(vertices: __.drop())).V()",
            "g.inject(['k': {__.drop()}])",
            "g.inject([(__.drop()): 1])",
            "g.mergeV(['k': Cardinality.set(__.drop())])",
        ];
        for text in places {
            let tree = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert!(tree.any_call(|call, _| call.name == "drop"), "{text}");
            assert!(!tree.any_call(|call, _| call.name == "out2"), "{text}");
        }
    }
}
