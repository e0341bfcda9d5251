//! What inference needs to know of a step by itself.

use mangrove_graph::{Comparison, Predicate, Value};

use crate::plan::{By, ChooseOn, Has, HasKey, Name, Option_, Pattern, Pick, Reduction, Step, StepNode, Traversal};

/// The labels that a test allows, if it lists them.
pub fn wanted_labels(test: &Has) -> Option<Vec<Name>> {
    let values = match (&test.key, &test.predicate) {
        (HasKey::Label, Predicate::Compare(Comparison::Eq, value)) => std::slice::from_ref(value),
        (HasKey::Label, Predicate::Within(values)) => &values[..],
        _ => return None,
    };
    values.iter().map(|value| value.as_str().map(Name::from)).collect()
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

/// Whether a child is what [`productive`](crate::plan::resolve::productive) makes.
fn tests_productivity(child: &Traversal) -> bool {
    let constants =
        |child: &Traversal| matches!(child.steps.last().map(|node| &node.step), Some(Step::Constant(Value::Bool(_))));
    matches!(&child.steps[..], [StepNode { step: Step::Coalesce(ways), .. }] if ways.len() == 2 && ways.iter().all(constants))
}

/// Whether a child surely gives a value.
fn gives_always(child: &Traversal) -> bool {
    let is_own = |step: &Step| matches!(step, Step::Id | Step::Label | Step::Identity | Step::Loops(_) | Step::Constant(_));
    tests_productivity(child)
        || child.steps.iter().all(|node| is_own(&node.step))
        || child
            .steps
            .last()
            .is_some_and(|node| matches!(node.step, Step::Fold { .. } | Step::Degree { .. }) || is_count(&node.step))
}

fn is_count(step: &Step) -> bool {
    matches!(step, Step::Reduce { reduction: Reduction::Count, .. })
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

/// Whether the step gives numbers, texts and the like.
pub fn gives_scalars(step: &Step) -> bool {
    let of_elements = matches!(step, Step::Values(_) | Step::Id | Step::Label | Step::Labels | Step::Key | Step::ValueOf);
    let of_many = matches!(step, Step::CountScan { .. } | Step::Degree { .. } | Step::Reduce { .. });
    let of_texts = matches!(step, Step::Text { .. } | Step::Concat(_) | Step::Format { .. } | Step::Conjoin(_));
    let of_scalars = matches!(step, Step::Math { .. } | Step::AsNumber(_) | Step::AsBool | Step::Loops(_));
    let of_times = matches!(step, Step::AsDate | Step::DateAdd(..) | Step::DateDiff(_));
    of_elements || of_many || of_texts || of_scalars || of_times
}
