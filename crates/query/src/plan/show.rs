//! Plans as text, for `explain()`.

use std::fmt::{self, Write as _};

use mangrove_graph::{ElementKind, Predicate};

use super::*;

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_step(f, self)
    }
}

impl fmt::Display for Traversal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, node) in self.steps.iter().enumerate() {
            if at > 0 {
                f.write_str(" → ")?;
            }
            write_step(f, &node.step)?;
            if !node.labels.is_empty() {
                write!(f, "@{}", node.labels.join(","))?;
            }
        }
        Ok(())
    }
}

impl Step {
    /// The step without its children.
    pub fn title(&self) -> impl fmt::Display + '_ {
        struct Title<'a>(&'a Step);
        impl fmt::Display for Title<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_title(f, self.0)
            }
        }
        Title(self)
    }
}

fn write_step(f: &mut fmt::Formatter<'_>, step: &Step) -> fmt::Result {
    write_title(f, step)?;
    write_children(f, step)
}

fn write_title(f: &mut fmt::Formatter<'_>, step: &Step) -> fmt::Result {
    match step {
        Step::Scan { kind, ids, labels, also, filters } => {
            write_scan(f, "Scan", *kind, ids.as_deref(), (labels.as_deref(), also), filters)?;
        }
        Step::CountScan { kind, labels, also, filters } => {
            write_scan(f, "CountScan", *kind, None, (labels.as_deref(), also), filters)?;
        }
        Step::Hop { direction, labels, to_edges, filter, any_order, limit, latest } => {
            let to = if *to_edges { "edges" } else { "vertices" };
            let order = if *any_order { ", any order" } else { "" };
            let limit = limit.map(|limit| format!(", at most {limit} each")).unwrap_or_default();
            write!(f, "Hop({direction:?}, {to}{}{}{order}{limit}", listed(labels), filtered(filter))?;
            if let Some((key, count)) = latest {
                write!(f, ", the {count} of each with the greatest {key} at least")?;
            }
            f.write_str(")")?;
        }
        Step::Degree { direction, labels, filter } => {
            write!(f, "Degree({direction:?}{}{})", listed(labels), filtered(filter))?;
        }
        Step::Has(tests) => {
            f.write_str("Has(")?;
            for (at, test) in tests.iter().enumerate() {
                let key = match &test.key {
                    HasKey::Property(key) => key,
                    HasKey::Id => "T.id",
                    HasKey::Label => "T.label",
                };
                write!(f, "{}{key} {}", if at > 0 { ", " } else { "" }, test.predicate)?;
            }
            f.write_str(")")?;
        }
        Step::Is(predicate) => write!(f, "Is({predicate})")?,
        Step::Values(keys) => write!(f, "Values({})", keys.join(", "))?,
        Step::Properties(keys) => write!(f, "Properties({})", keys.join(", "))?,
        Step::Select { labels, .. } => write!(f, "Select({})", labels.join(", "))?,
        Step::Project { keys, .. } => write!(f, "Project({})", keys.join(", "))?,
        Step::Reduce { reduction, scope } => write!(f, "{reduction:?}{}", local(*scope))?,
        Step::Range { low, high, scope } => {
            let high = high.map_or("∞".to_owned(), |high| high.to_string());
            write!(f, "Range({low}..{high}){}", local(*scope))?;
        }
        Step::Call(call) => write!(f, "Call({})", call.name)?,
        Step::Compute(asked) => write!(f, "Compute({} as {})", asked.program.step(), asked.property)?,
        Step::Order { limit: Some(n), .. } => write!(f, "Order(first {n})")?,
        Step::Constant(value) => write!(f, "Constant({value})")?,
        Step::Repeat(repeat) => {
            f.write_str("Repeat")?;
            if let Some(Until::Times(n)) = repeat.until {
                write!(f, "(times {n})")?;
            }
        }
        other => {
            // The name of the variant suffices. Its content may be large.
            let mut name = FirstWord::default();
            let _ = write!(name, "{other:?}");
            f.write_str(&name.0)?;
        }
    }
    Ok(())
}

fn filtered(filter: &Option<(Name, Predicate)>) -> String {
    filter.as_ref().map(|(key, predicate)| format!(", {key} {predicate}")).unwrap_or_default()
}

/// Takes the first word that is written, and ignores the rest.
#[derive(Default)]
struct FirstWord(String);

impl fmt::Write for FirstWord {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = text.find([' ', '(', '{']);
        self.0.push_str(&text[..end.unwrap_or(text.len())]);
        if end.is_some() { Err(fmt::Error) } else { Ok(()) }
    }
}

fn write_scan(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    kind: ElementKind,
    ids: Option<&[Value]>,
    (labels, also): (Option<&[Name]>, &[LabelsTest]),
    filters: &[(Name, Predicate)],
) -> fmt::Result {
    write!(f, "{name}({}", kind.plural())?;
    if let Some(ids) = ids {
        write!(f, ", {} by id", ids.len())?;
    }
    f.write_str(&listed(labels.unwrap_or_default()))?;
    for test in also {
        let names: Vec<&str> = test.labels.iter().map(|name| &**name).collect();
        write!(f, ", {} {}", if test.is_negated { "not" } else { "also" }, names.join(" or "))?;
    }
    for (key, predicate) in filters {
        write!(f, ", {key} {predicate}")?;
    }
    f.write_str(")")
}

fn write_children(f: &mut fmt::Formatter<'_>, step: &Step) -> fmt::Result {
    let mut children = Vec::new();
    step.for_each_child(&mut |child| children.push(child.to_string()));
    if children.is_empty() { Ok(()) } else { write!(f, "[{}]", children.join(" | ")) }
}

fn listed(names: &[Name]) -> String {
    names.iter().map(|name| format!(", {name}")).collect()
}

fn local(scope: Scope) -> &'static str {
    if scope == Scope::Local { "(local)" } else { "" }
}
