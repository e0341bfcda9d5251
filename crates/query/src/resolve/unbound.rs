//! Finds names that a plan reads but nothing in it defines. They are usually misspelt, and reading them gives nothing.

use crate::diagnostics::suggest;
use crate::plan::facts::Gives;
use crate::plan::{Name, SourceConfig, Step, Traversal};

/// A warning for each name that no `as()`, side effect or `project()` defines. No warnings if a step gives other maps, because
/// their keys are names too.
pub fn warnings(traversal: &Traversal, source: &SourceConfig) -> Vec<String> {
    let mut names = Names { given: source.side_effects.iter().map(|(name, _)| name.clone()).collect(), ..Names::default() };
    names.read(traversal);
    if names.any_map {
        return Vec::new();
    }
    let Names { mut asked, given, .. } = names;
    asked.retain(|name| !given.contains(name));
    asked.sort_unstable();
    asked.dedup();
    let warning = |name: &Name| {
        let near = suggest(name, given.iter().map(|known| &**known));
        let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        format!("nothing in the query is called `{name}`{hint}")
    };
    asked.iter().map(warning).collect()
}

#[derive(Default)]
struct Names {
    given: Vec<Name>,
    asked: Vec<Name>,
    /// Some step gives maps whose keys are unknown.
    any_map: bool,
}

impl Names {
    fn read(&mut self, traversal: &Traversal) {
        for node in &traversal.steps {
            self.given.extend(node.labels.iter().cloned());
            self.given.extend(node.step.gathers_into().map(|(name, _)| name.clone()));
            self.step(&node.step);
            node.step.for_each_child(&mut |child| self.read(child));
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Project { keys, .. } => self.given.extend(keys.iter().cloned()),
            Step::Select { labels, .. } | Step::Dedup { labels, .. } => self.asked.extend(labels.iter().cloned()),
            Step::Path { from, to, .. } | Step::PathFilter { from, to, .. } => {
                self.asked.extend(from.iter().chain(to).cloned())
            }
            Step::WhereLabels { start, predicate, .. } => {
                self.asked.extend(start.clone());
                predicate.names(&mut self.asked);
            }
            _ => {}
        }
        self.any_map |= matches!(step.facts().gives, Gives::Values | Gives::Maps | Gives::Anything);
    }
}
