//! The part of the Gherkin language that TinkerPop's feature files use.
//!
//! A file is one feature with scenarios, and a scenario has steps. A doc string or a table may follow a step. A doc string stands
//! between `"""` lines, without the indentation of the opening line. A table has rows of `| cell | … |`, of which only the first
//! cell counts. Tags and comments are skipped.

/// One scenario of a feature file.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// `directory/File.feature::name`. If names repeat, `#2`, `#3` … make them unique.
    pub id: String,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// The text without its keyword.
    pub text: String,
    pub doc: Option<String>,
    /// The first cell of each row, header included.
    pub rows: Vec<String>,
}

impl Scenario {
    /// The name of its graph, such as `modern`. Empty if it names none.
    pub fn graph(&self) -> &str {
        self.steps.iter().find_map(|s| s.text.strip_prefix("the ")?.strip_suffix(" graph")).unwrap_or_default()
    }

    /// The doc strings of its traversals.
    pub fn traversals(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().filter(|s| s.text == "the traversal of").filter_map(|s| s.doc.as_deref())
    }
}

/// The scenarios of one feature file. `name` is its path below the directory of features.
pub fn parse(name: &str, text: &str) -> Result<Vec<Scenario>, String> {
    let mut reader = FeatureReader { feature: name, lines: text.lines().enumerate(), scenarios: Vec::new() };
    while let Some((number, line)) = reader.lines.next() {
        reader.line(line).map_err(|what| format!("{name}:{}: {what}", number + 1))?;
    }
    Ok(reader.scenarios)
}

struct FeatureReader<'a> {
    feature: &'a str,
    lines: std::iter::Enumerate<std::str::Lines<'a>>,
    scenarios: Vec<Scenario>,
}

impl<'a> FeatureReader<'a> {
    fn line(&mut self, line: &'a str) -> Result<(), String> {
        let text = line.trim();
        if text.is_empty() || text.starts_with(['#', '@']) || text.starts_with("Feature:") {
            return Ok(());
        }
        if let Some(name) = text.strip_prefix("Scenario:") {
            self.scenario(name.trim());
        } else if text.starts_with("\"\"\"") {
            let doc = self.doc_string(line)?;
            self.step()?.doc = Some(doc);
        } else if text.starts_with('|') {
            self.step()?.rows.push(first_cell(text));
        } else if let Some(text) = after_keyword(text) {
            let steps = &mut self.scenarios.last_mut().ok_or("a step outside a scenario")?.steps;
            steps.push(Step { text: text.to_owned(), ..Step::default() });
        } else if !self.scenarios.is_empty() {
            return Err(format!("not understood: {text}"));
        }
        Ok(())
    }

    fn scenario(&mut self, name: &str) {
        let id = format!("{}::{name}", self.feature);
        let earlier = |s: &&Scenario| s.id.strip_prefix(&id).is_some_and(|rest| rest.is_empty() || rest.starts_with('#'));
        let id = match self.scenarios.iter().filter(earlier).count() {
            0 => id,
            n => format!("{id}#{}", n + 1),
        };
        self.scenarios.push(Scenario { id, steps: Vec::new() });
    }

    fn step(&mut self) -> Result<&mut Step, String> {
        self.scenarios.last_mut().and_then(|s| s.steps.last_mut()).ok_or_else(|| "nothing for this to belong to".into())
    }

    fn doc_string(&mut self, opening: &str) -> Result<String, String> {
        let indent = opening.len() - opening.trim_start().len();
        let mut lines = Vec::new();
        for (_, line) in self.lines.by_ref() {
            if line.trim() == "\"\"\"" {
                return Ok(lines.join("\n"));
            }
            let blank = line.len() - line.trim_start().len();
            lines.push(line[blank.min(indent)..].to_owned());
        }
        Err("a doc string without an end".into())
    }
}

fn after_keyword(text: &str) -> Option<&str> {
    ["Given ", "When ", "Then ", "And ", "But ", "* "].iter().find_map(|k| text.strip_prefix(k)).map(str::trim)
}

/// The first cell of a table row. In it, `\|`, `\\` and `\n` stand for a bar, a backslash and a line end.
fn first_cell(row: &str) -> String {
    let mut cell = String::new();
    let mut chars = row.chars().skip(1);
    while let Some(c) = chars.next() {
        match c {
            '|' => break,
            '\\' => match chars.next() {
                Some('n') => cell.push('\n'),
                Some(escaped @ ('|' | '\\')) => cell.push(escaped),
                Some(other) => cell.extend(['\\', other]),
                None => cell.push('\\'),
            },
            other => cell.push(other),
        }
    }
    cell.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEATURE: &str = r#"
# a comment
@Feature
Feature: Step - out()

  @One @Two
  Scenario: g_V
    Given the modern graph
    And the traversal of
      """
      g.V()
        .out()
      """
    Then the result should be unordered
      | result |
      | m[{"a":"m[{\\"b\\":1}]"}] |
      | |

  Scenario: g_V
    Given the empty graph
"#;

    #[test]
    fn a_feature_is_read_as_gherkin_has_it() {
        let scenarios = parse("map/Out.feature", FEATURE).unwrap();
        let ids: Vec<_> = scenarios.iter().map(|s| s.id.as_str()).collect();
        assert_eq!(ids, ["map/Out.feature::g_V", "map/Out.feature::g_V#2"]);
        assert_eq!(scenarios.iter().map(Scenario::graph).collect::<Vec<_>>(), ["modern", "empty"]);
        assert_eq!(scenarios[0].traversals().collect::<Vec<_>>(), ["g.V()\n  .out()"]);
        assert_eq!(scenarios[0].steps[2].rows, ["result", r#"m[{"a":"m[{\"b\":1}]"}]"#, ""]);
    }

    #[test]
    fn what_is_not_understood_is_named_with_its_line() {
        let error = parse("a.feature", "Feature: x\nScenario: y\n  Given z\n  Suppose w").unwrap_err();
        assert_eq!(error, "a.feature:4: not understood: Suppose w");
    }
}
