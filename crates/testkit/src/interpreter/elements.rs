//! Parts of elements: ids, labels, properties, and maps of these.

use std::sync::Arc;

use mangrove_graph::{
    Cell, Direction, ElementId, ElementKind, KeyId, Map, Property, PropertyOwner, Token, Value, VertexProperty, record,
};
use mangrove_query::plan::{By, MapOf, Name, Tokens};

use super::{Failure, Interpreter, Result, Traverser};

impl Interpreter<'_> {
    pub(super) fn id(&self, value: &Value) -> Result<Value> {
        Ok(match value {
            Value::Vertex(vertex) => record::vertex_id(self.view, *vertex)?,
            Value::Edge(edge) => record::edge_id(self.view, edge.id)?,
            Value::VertexProperty(p) => {
                Value::string(format!("{}/{}/{}", record::vertex_id(self.view, p.vertex)?, p.name, p.ordinal))
            }
            other => return Err(Failure::met("id()", other)),
        })
    }

    pub(super) fn label_of(&self, value: &Value) -> Result<Value> {
        Ok(match value {
            Value::Vertex(vertex) => Value::String(record::label(self.view, ElementId::Vertex(*vertex))),
            Value::Edge(edge) => Value::String(record::label(self.view, ElementId::Edge(edge.id))),
            Value::VertexProperty(p) => Value::String(p.name.clone()),
            other => return Err(Failure::met("label()", other)),
        })
    }

    /// A vertex may have several.
    pub(super) fn labels_of(&self, value: &Value) -> Result<Vec<Value>> {
        let Value::Vertex(vertex) = value else { return Ok(vec![self.label_of(value)?]) };
        let names = record::labels(self.view, *vertex)?.into_iter();
        Ok(names.map(|label| Value::String(self.view.schema().label_name(ElementKind::Vertex, label))).collect())
    }

    pub(super) fn token(&self, value: &Value, token: Token) -> Result<Value> {
        match token {
            Token::Id => self.id(value),
            Token::Label => self.label_of(value),
            Token::Key => key(value),
            Token::Value => held(value),
            other => Err(Failure::Uncovered(format!("token {}", other.name()))),
        }
    }

    /// The properties of an element under `keys`. No keys means all.
    pub(super) fn properties(&self, owner: &Value, keys: &[Name]) -> Result<Vec<Value>> {
        let mut found = Vec::new();
        match owner {
            Value::Vertex(_) | Value::Edge(_) => {
                for (key, name) in self.keys(keys) {
                    found.extend(self.cell(owner, key)?.into_entries().into_iter().map(|entry| match owner {
                        Value::Vertex(vertex) => Value::VertexProperty(Arc::new(VertexProperty {
                            vertex: *vertex,
                            key,
                            ordinal: entry.ordinal,
                            name: name.clone(),
                            value: entry.value,
                        })),
                        _ => property(owner, key, &name, entry.value),
                    }));
                }
            }
            Value::VertexProperty(of) => {
                let entries = self.cell(&Value::Vertex(of.vertex), of.key)?.into_entries();
                let meta = entries.into_iter().find(|entry| entry.ordinal == of.ordinal).map(|entry| entry.meta);
                for (key, value) in meta.unwrap_or_default() {
                    let name = self.view.schema().key_name(key);
                    if keys.is_empty() || keys.contains(&name) {
                        found.push(property(owner, key, &name, value));
                    }
                }
            }
            other => return Err(Failure::met("a step on properties", other)),
        }
        Ok(found)
    }

    /// Keys by name. No names means every key of the graph.
    fn keys(&self, names: &[Name]) -> Vec<(KeyId, Name)> {
        let schema = self.view.schema();
        if names.is_empty() {
            return schema.keys.iter().enumerate().map(|(at, name)| (KeyId(at as u16), name.clone())).collect();
        }
        names.iter().filter_map(|name| Some((schema.key(name)?, name.clone()))).collect()
    }

    fn cell(&self, owner: &Value, key: KeyId) -> Result<Cell> {
        match owner.element_id() {
            Some(element) => Ok(self.view.cell(element, key)?),
            None => Ok(Cell::Absent),
        }
    }

    /// `valueMap`, `propertyMap`: lists for a vertex, single values for other elements.
    pub(super) fn property_map(
        &mut self,
        (of, tokens): (MapOf, Tokens),
        keys: &[Name],
        by: &[By],
        owner: &Value,
    ) -> Result<Value> {
        let mut map = Map::new();
        for (token, value) in self.tokens(owner, tokens)? {
            map.insert(token, value);
        }
        let mut entries: Vec<(Value, Vec<Value>)> = Vec::new();
        for property in self.properties(owner, keys)? {
            let value = if of == MapOf::Values { held(&property)? } else { property.clone() };
            let key = key(&property)?;
            match entries.iter_mut().find(|(known, _)| *known == key) {
                Some((_, values)) => values.push(value),
                None => entries.push((key, vec![value])),
            }
        }
        for (at, (key, mut values)) in entries.into_iter().enumerate() {
            let value = match owner {
                Value::Vertex(_) => Value::list(values),
                _ => values.pop().unwrap_or_default(),
            };
            let value = match by.get(at % by.len().max(1)) {
                Some(by) => self.by_value(by, value)?,
                None => Some(value),
            };
            value.into_iter().for_each(|value| map.insert(key.clone(), value));
        }
        Ok(Value::map(map))
    }

    fn tokens(&self, owner: &Value, wanted: Tokens) -> Result<Vec<(Value, Value)>> {
        let mut tokens = Vec::new();
        if wanted.id {
            tokens.push((Token::Id.into(), self.id(owner)?));
        }
        match owner {
            Value::VertexProperty(_) => {
                for (token, _) in [(Token::Key, wanted.key), (Token::Value, wanted.value)].iter().filter(|(_, w)| *w) {
                    tokens.push(((*token).into(), self.token(owner, *token)?));
                }
            }
            _ if wanted.label => tokens.push((Token::Label.into(), self.label_of(owner)?)),
            _ => {}
        }
        Ok(tokens)
    }

    /// `elementMap`: the last of several values.
    pub(super) fn element_map(&self, keys: &[Name], owner: &Value) -> Result<Value> {
        let mut map = Map::from_distinct(self.tokens(owner, Tokens::ALL)?);
        if let Value::Edge(edge) = owner {
            for (direction, end) in [(Direction::Out, edge.source), (Direction::In, edge.target)] {
                let end = Map::from_distinct(self.tokens(&Value::Vertex(end), Tokens::ALL)?);
                map.insert(Token::Direction(direction).into(), Value::map(end));
            }
        }
        for property in self.properties(owner, keys)? {
            map.insert(key(&property)?, held(&property)?);
        }
        Ok(Value::map(map))
    }

    /// `element()`.
    pub(super) fn owner(&self, traverser: &Traverser) -> Result<Value> {
        Ok(match &traverser.value {
            Value::VertexProperty(p) => Value::Vertex(p.vertex),
            Value::Property(p) => match &p.owner {
                PropertyOwner::Edge(edge) => Value::Edge(*edge),
                PropertyOwner::VertexProperty(owner) => Value::VertexProperty(owner.clone()),
            },
            other => return Err(Failure::met("element()", other)),
        })
    }
}

fn property(owner: &Value, key: KeyId, name: &Name, value: Value) -> Value {
    let owner = match owner {
        Value::VertexProperty(of) => PropertyOwner::VertexProperty(of.clone()),
        Value::Edge(edge) => PropertyOwner::Edge(*edge),
        other => panic!("{other} has no properties of this kind"),
    };
    Value::Property(Arc::new(Property { owner, key, name: name.clone(), value }))
}

/// The key of a property or an entry.
pub(super) fn key(value: &Value) -> Result<Value> {
    Ok(match value {
        Value::VertexProperty(p) => Value::String(p.name.clone()),
        Value::Property(p) => Value::String(p.name.clone()),
        Value::Entry(entry) => entry.0.clone(),
        other => return Err(Failure::met("key()", other)),
    })
}

/// The value of a property or an entry.
pub(super) fn held(value: &Value) -> Result<Value> {
    Ok(match value {
        Value::VertexProperty(p) => p.value.clone(),
        Value::Property(p) => p.value.clone(),
        Value::Entry(entry) => entry.1.clone(),
        other => return Err(Failure::met("value()", other)),
    })
}
