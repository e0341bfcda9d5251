//! Reads YAML files. Errors name the file, the line and the column.

use std::sync::Arc;

use saphyr::{LoadableYamlNode, MarkedYaml, Scalar, YamlData};

use crate::error::{Location, Malformed};

/// A part of a YAML file.
pub type Node<'y> = MarkedYaml<'y>;

/// Reads the parts of one file.
#[derive(Clone, Copy)]
pub struct YamlReader<'a> {
    /// The name of the file, for errors.
    pub name: &'a Arc<str>,
}

impl YamlReader<'_> {
    /// The first document of a file; `None` if there is none.
    pub fn document<'y>(&self, text: &'y str) -> Result<Option<Node<'y>>, Malformed> {
        let documents = MarkedYaml::load_from_str(text).map_err(|e| {
            let at = e.marker();
            let place = Location::at(self.name, at.line() as u64, at.col() as u64 + 1);
            Malformed { place, reason: format!("not YAML: {}", e.info()) }
        })?;
        Ok(documents.into_iter().next())
    }

    pub fn fail<T>(&self, node: &Node<'_>, reason: impl Into<String>) -> Result<T, Malformed> {
        let at = node.span.start;
        let place = Location::at(self.name, at.line() as u64, at.col() as u64 + 1);
        Err(Malformed { place, reason: reason.into() })
    }

    /// Fails because of a key that is not among those known.
    pub fn unknown<T>(&self, node: &Node<'_>, key: &str, known: &[&str]) -> Result<T, Malformed> {
        let near = known.iter().find(|k| strsim::jaro(k, key) > 0.8).map(|k| format!(", did you mean `{k}`?"));
        let hint = near.unwrap_or_else(|| format!("; the keys here are {}", known.join(", ")));
        self.fail(node, format!("unknown key `{key}`{hint}"))
    }

    pub fn members<'n, 'y>(&self, node: &'n Node<'y>) -> Result<Vec<(&'n str, &'n Node<'y>)>, Malformed> {
        let YamlData::Mapping(members) = &node.data else { return self.fail(node, "expected keys with values") };
        members.iter().map(|(key, value)| Ok((self.text(key)?, value))).collect()
    }

    pub fn items<'n, 'y>(&self, node: &'n Node<'y>) -> Result<&'n [Node<'y>], Malformed> {
        match &node.data {
            YamlData::Sequence(items) => Ok(items),
            _ => self.fail(node, "expected a list"),
        }
    }

    pub fn text<'n>(&self, node: &'n Node<'_>) -> Result<&'n str, Malformed> {
        match &node.data {
            YamlData::Value(Scalar::String(text)) => Ok(text),
            _ => self.fail(node, "expected text; put it in quotes if it looks like a number or a truth value"),
        }
    }

    pub fn flag(&self, node: &Node<'_>) -> Result<bool, Malformed> {
        match &node.data {
            YamlData::Value(Scalar::Boolean(flag)) => Ok(*flag),
            _ => self.fail(node, "expected true or false"),
        }
    }

    /// One text, or a list of them.
    pub fn texts(&self, node: &Node<'_>) -> Result<Vec<String>, Malformed> {
        match &node.data {
            YamlData::Sequence(items) => items.iter().map(|item| self.text(item).map(str::to_owned)).collect(),
            _ => Ok(vec![self.text(node)?.to_owned()]),
        }
    }

    /// A whole number above zero.
    pub fn count(&self, node: &Node<'_>) -> Result<u64, Malformed> {
        match &node.data {
            YamlData::Value(Scalar::Integer(count)) if *count > 0 => Ok(*count as u64),
            _ => self.fail(node, "expected a whole number above zero"),
        }
    }
}
