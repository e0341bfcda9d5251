//! The steps of a plan as rows of a table, parents before their children.

use super::{StepNode, Traversal};

/// A step and its position in the plan.
pub struct Row<'a> {
    pub node: &'a StepNode,
    /// The depth in the plan. Steps of the query itself have 0; those of a child are one deeper than their parent.
    pub depth: usize,
    /// Whether it is the first step of a child.
    pub first: bool,
}

/// The rows of a traversal, in the order [`number`] counts them.
pub fn outline(traversal: &Traversal) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    list(traversal, 0, &mut rows);
    rows
}

fn list<'a>(traversal: &'a Traversal, depth: usize, rows: &mut Vec<Row<'a>>) {
    for (at, node) in traversal.steps.iter().enumerate() {
        rows.push(Row { node, depth, first: at == 0 && depth > 0 });
        node.step.for_each_child(&mut |child| list(child, depth + 1, rows));
    }
}

/// Stores in each step the number of its row.
pub fn number(traversal: &mut Traversal) {
    count(traversal, &mut 0);
}

fn count(traversal: &mut Traversal, next: &mut usize) {
    for node in &mut traversal.steps {
        node.row = *next;
        *next += 1;
        node.step.for_each_child_mut(&mut |child| count(child, next));
    }
}

/// The name of a row for people. Children are indented, and a mark shows where each begins.
pub fn indented(step: &str, depth: usize, first: bool) -> String {
    format!(
        "{:1$}{2}{step}",
        "",
        (4 * depth).saturating_sub(2),
        match (depth, first) {
            (0, _) => "",
            (_, true) => "└ ",
            (_, false) => "  ",
        }
    )
}
