//! Strategies that refuse certain traversals, or warn of them.

use crate::error::{QueryError, QueryErrorKind, Result};
use crate::plan::*;

pub(super) fn verify(traversal: &Traversal, strategies: &Strategies, warnings: &mut Vec<String>) -> Result<()> {
    const REFUSE: Reaction = Reaction { throw: true, warn: false };
    for node in &traversal.steps {
        if strategies.read_only && node.step.mutates() {
            react(REFUSE, "The provided traversal has a mutating step and thus is not read only".into(), node, warnings)?;
        }
        if matches!(&node.step, Step::Hop { labels, .. } if labels.is_empty()) {
            let message = "The provided traversal contains a vertex step without any specified edge label; \
                           always specify edge labels which restrict traversal paths";
            react(strategies.edge_label_verification, message.into(), node, warnings)?;
        }
        if let Some(key) = written_keys(&node.step).into_iter().find(|key| strategies.reserved_keys.contains(key)) {
            let message = format!(
                "The provided traversal contains an AddVertexStep or a property step that is setting a property key to a reserved word: {key}"
            );
            react(strategies.reserved_keys_reaction, message, node, warnings)?;
        }
    }
    let mut outcome = Ok(());
    traversal.for_each_child(&mut |child| {
        if outcome.is_ok() {
            outcome = verify(child, strategies, warnings);
        }
    });
    outcome
}

fn written_keys(step: &Step) -> Vec<Name> {
    let key = |p: &SetProperty| match &p.key {
        PropertyName::Key(key) => Some(key.clone()),
        _ => None,
    };
    match step {
        Step::SetProperty(property) => key(property).into_iter().collect(),
        Step::AddVertex { properties, .. } | Step::AddEdge { properties, .. } => properties.iter().filter_map(key).collect(),
        _ => Vec::new(),
    }
}

fn react(reaction: Reaction, message: String, node: &StepNode, warnings: &mut Vec<String>) -> Result<()> {
    if reaction.throw {
        return Err(QueryError::new(QueryErrorKind::Verification, message).at(node.span));
    }
    if reaction.warn && !warnings.contains(&message) {
        warnings.push(message);
    }
    Ok(())
}
