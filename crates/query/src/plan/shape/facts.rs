//! What inference needs to know of a step by itself.

use mangrove_graph::{Comparison, Predicate, Value};

use crate::plan::facts::Rows;
use crate::plan::{By, ChooseOn, Has, HasKey, LabelsTest, Name, Option_, Pattern, Pick, Step, StepNode, Traversal};

/// The labels that a test allows, if it lists them.
pub fn wanted_labels(test: &Has) -> Option<Vec<Name>> {
    let values = match (&test.key, &test.predicate) {
        (HasKey::Label, Predicate::Compare(Comparison::Eq, value)) => std::slice::from_ref(value),
        (HasKey::Label, Predicate::Within(values)) => &values[..],
        _ => return None,
    };
    let mut names: Vec<Name> = Vec::with_capacity(values.len());
    for value in values {
        let name = Name::from(value.as_str()?);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Some(names)
}

/// The tests of labels that a step is which only tests them.
pub fn tests_of_labels(step: &Step) -> Option<Vec<LabelsTest>> {
    match step {
        Step::And(children) => children.iter().map(only_test).collect(),
        step => test_of_labels(step).map(|test| vec![test]),
    }
}

/// The test of labels that a step is which only tests them: `where(hasLabel(…))`, `not(hasLabel(…))`, `or(hasLabel(…), …)`.
pub fn test_of_labels(step: &Step) -> Option<LabelsTest> {
    match step {
        Step::Has(tests) => match &tests[..] {
            [test] => Some(LabelsTest { labels: wanted_labels(test)?, is_negated: false }),
            _ => None,
        },
        Step::Where { child, negated } => {
            let test = only_test(child)?;
            Some(LabelsTest { is_negated: test.is_negated != *negated, ..test })
        }
        Step::Or(children) => {
            let tests = children.iter().map(only_test).collect::<Option<Vec<_>>>()?;
            let any_negated = tests.iter().any(|test| test.is_negated);
            (!any_negated)
                .then(|| LabelsTest { labels: tests.into_iter().flat_map(|test| test.labels).collect(), is_negated: false })
        }
        _ => None,
    }
}

/// The test of labels that a child is, if it does nothing else.
fn only_test(child: &Traversal) -> Option<LabelsTest> {
    let [node] = &child.steps[..] else { return None };
    test_of_labels(&node.step).filter(|_| node.labels.is_empty())
}

/// Whether every traverser takes an option, so that none passes on as it is.
pub fn takes_all(condition: &ChooseOn, options: &[Option_]) -> bool {
    let has = |test: fn(&Pick) -> bool| options.iter().any(|option| test(&option.pick));
    let gives_bool = match condition {
        ChooseOn::Predicate(_) => true,
        ChooseOn::By(By::Child(child)) => tests_productivity(child),
        ChooseOn::By(_) => false,
    };
    let always_gives = match condition {
        ChooseOn::By(By::Identity | By::Token(_)) => true,
        ChooseOn::By(By::Child(child)) => gives_always(child),
        _ => gives_bool,
    };
    let both = has(|pick| matches!(pick, Pick::Value(Value::Bool(true))))
        && has(|pick| matches!(pick, Pick::Value(Value::Bool(false))));
    gives_bool && both
        || has(|pick| matches!(pick, Pick::None)) && (always_gives || has(|pick| matches!(pick, Pick::Unproductive)))
}

/// Whether a child is what `productive` of the room `resolve` makes.
fn tests_productivity(child: &Traversal) -> bool {
    let constants =
        |child: &Traversal| matches!(child.steps.last().map(|node| &node.step), Some(Step::Constant(Value::Bool(_))));
    matches!(&child.steps[..], [StepNode { step: Step::Coalesce(ways), .. }] if ways.len() == 2 && ways.iter().all(constants))
}

/// Whether a child surely gives a value: from its last step that gives one for any input, no step drops it.
fn gives_always(child: &Traversal) -> bool {
    let rows = |node: &StepNode| node.step.facts().rows;
    let kept = child.steps.iter().rev().take_while(|node| matches!(rows(node), Rows::Same)).count();
    let before = child.steps.len() - kept;
    tests_productivity(child) || before == 0 || rows(&child.steps[before - 1]) == Rows::One
}

/// The names that patterns bind, in their order.
pub fn pattern_names(patterns: &[Pattern], names: &mut Vec<Name>) {
    for pattern in patterns {
        match pattern {
            Pattern::Any(ways) => ways.iter().for_each(|way| pattern_names(way, names)),
            Pattern::Path(path) => {
                for name in path.start.iter().chain(&path.end) {
                    if !names.contains(name) {
                        names.push(name.clone());
                    }
                }
            }
        }
    }
}
