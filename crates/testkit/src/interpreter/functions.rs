//! Functions of one value: text, collections, arithmetic, casts.

use mangrove_graph::time::TimeUnit;
use mangrove_graph::{DateTime, Map, Value, ValueType};
use mangrove_query::plan::{By, ListFunction, MathExpression, MathOp, Name, Operand, Pop, Scope, Step, TextFunction};

use super::elements::held;
use super::{Failure, Interpreter, Result, Traverser};

impl Interpreter<'_> {
    pub(super) fn function(&mut self, step: &Step, traverser: &Traverser) -> Result<Option<Value>> {
        let value = &traverser.value;
        Ok(Some(match step {
            Step::Text { function, scope } => match (scope, value.items()) {
                (Scope::Local, Some(items)) => {
                    let mapped = items.iter().map(|item| self.text(function, item)).collect::<Result<Vec<_>>>()?;
                    if let Value::Set(_) = value { Value::set(mapped) } else { Value::list(mapped) }
                }
                _ => self.text(function, value)?,
            },
            Step::Concat(operands) => self.concat(operands, traverser)?,
            Step::List { function, operand } => {
                let operand = self.operand(operand, traverser)?.unwrap_or_default();
                combine(*function, value, &operand)?
            }
            Step::Conjoin(delimiter) => match value.items() {
                Some(items) => {
                    let items: Vec<Value> = items.into_iter().filter(|item| !item.is_null()).collect();
                    Value::string(self.spelled_all(&items)?.join(delimiter))
                }
                None => return Err(Failure::met("conjoin()", value)),
            },
            Step::AsBool => match value {
                Value::Bool(_) => value.clone(),
                Value::String(text) if text.eq_ignore_ascii_case("true") => true.into(),
                Value::String(text) if text.eq_ignore_ascii_case("false") => false.into(),
                other => match other.as_f64() {
                    Some(number) => Value::Bool(number != 0.0 && !number.is_nan()),
                    None => return Err(Failure::met("asBool()", other)),
                },
            },
            Step::AsNumber(wanted) => as_number(value, *wanted)?,
            Step::AsDate => match value.as_i64() {
                Some(millis) => Value::from(DateTime::from_millis(millis)),
                None if value.is_null() => return Err(Failure::met("asDate()", value)),
                None => return Err(Failure::Uncovered(format!("asDate() of {value}"))),
            },
            Step::DateAdd(unit, amount) => {
                let Value::DateTime(date) = value else { return Err(Failure::met("dateAdd()", value)) };
                let unit_seconds = match unit {
                    TimeUnit::Day => 86_400,
                    TimeUnit::Hour => 3600,
                    TimeUnit::Minute => 60,
                    TimeUnit::Second => 1,
                    other => return Err(Failure::Uncovered(format!("dateAdd() of {other:?}"))),
                };
                Value::from(DateTime { seconds: date.seconds + amount * unit_seconds, ..*date })
            }
            Step::DateDiff(operand) => match (value, self.operand(operand, traverser)?) {
                (Value::DateTime(date), Some(Value::DateTime(other))) => {
                    let nanos = i64::from(date.nanos) - i64::from(other.nanos);
                    Value::Int64((date.seconds - other.seconds) * 1000 + nanos.div_euclid(1_000_000))
                }
                (value, operand) => return Err(Failure::Uncovered(format!("dateDiff() of {value} and {operand:?}"))),
            },
            _ => return Ok(None),
        }))
    }

    /// The template with its variables filled in; `None` if a variable has no value.
    pub(super) fn filled(&mut self, template: &str, by: &[By], traverser: &Traverser) -> Result<Option<String>> {
        let mut parts = template.split("%{");
        let mut text = parts.next().unwrap_or_default().to_owned();
        let mut modulators = by.iter().cycle();
        for part in parts {
            let (name, rest) = part.split_once('}').ok_or_else(|| Failure::Uncovered(format!("format({template:?})")))?;
            let name = Name::from(name);
            let found = match (&*name, &traverser.value) {
                ("_", _) => match modulators.next() {
                    Some(by) => self.by(by, traverser)?,
                    None => None,
                },
                (_, Value::Vertex(_) | Value::Edge(_)) => {
                    let held_there = self.properties(&traverser.value, std::slice::from_ref(&name))?;
                    held_there.first().map(held).transpose()?
                }
                _ => None,
            };
            let Some(found) = found.or_else(|| self.labelled(&name, Pop::Last, traverser)) else { return Ok(None) };
            text.push_str(&self.spelled(&found)?);
            text.push_str(rest);
        }
        Ok(Some(text))
    }

    fn operand(&mut self, operand: &Operand, traverser: &Traverser) -> Result<Option<Value>> {
        match operand {
            Operand::Value(value) => Ok(Some(value.clone())),
            Operand::Child(child) => self.first(child, traverser),
        }
    }

    fn text(&self, function: &TextFunction, value: &Value) -> Result<Value> {
        let text = match (function, value) {
            (TextFunction::AsString, Value::Null) => return Err(Failure::met("asString()", value)),
            (TextFunction::AsString, value) => return self.spelled(value).map(Value::string),
            (_, Value::Null) => return Ok(Value::Null),
            (TextFunction::Reverse, value) if value.as_str().is_none() => {
                return Ok(match value.items() {
                    Some(items) => Value::list(items.into_iter().rev().collect()),
                    None => value.clone(),
                });
            }
            (_, Value::String(text)) => text,
            (_, other) => return Err(Failure::met(function.name(), other)),
        };
        let characters: Vec<char> = text.chars().collect();
        Ok(match function {
            TextFunction::AsString | TextFunction::Replace(None, _) | TextFunction::Replace(_, None) => value.clone(),
            TextFunction::Length => Value::Int32(text.encode_utf16().count() as i32),
            TextFunction::ToLower => Value::string(text.to_lowercase()),
            TextFunction::ToUpper => Value::string(text.to_uppercase()),
            TextFunction::Trim => Value::string(text.trim()),
            TextFunction::LTrim => Value::string(text.trim_start()),
            TextFunction::RTrim => Value::string(text.trim_end()),
            TextFunction::Reverse => Value::string(characters.iter().rev().collect::<String>()),
            TextFunction::Replace(Some(old), Some(new)) => Value::string(text.replace(&**old, new)),
            TextFunction::Split(separator) => Value::list(match separator.as_deref() {
                None => text.split_whitespace().map(Value::string).collect(),
                Some("") => characters.iter().map(|c| Value::string(c.to_string())).collect(),
                Some(separator) => text.split(separator).map(Value::string).collect(),
            }),
            TextFunction::Substring(start, end) => {
                let place =
                    |at: i64| (if at < 0 { at + characters.len() as i64 } else { at }).clamp(0, characters.len() as i64);
                let (start, end) = (place(*start) as usize, end.map_or(characters.len(), |end| place(end) as usize));
                Value::string(characters[start..end.max(start)].iter().collect::<String>())
            }
        })
    }

    /// The text of a value, with the ids of elements that users know.
    fn spelled(&self, value: &Value) -> Result<String> {
        Ok(match value {
            Value::Vertex(_) => format!("v[{}]", self.id(value)?),
            Value::Edge(edge) => {
                let (source, target) = (self.id(&Value::Vertex(edge.source))?, self.id(&Value::Vertex(edge.target))?);
                format!("e[{}][{source}-{}->{target}]", self.id(value)?, self.label_of(value)?)
            }
            Value::List(items) => format!("[{}]", self.spelled_all(items)?.join(", ")),
            Value::Set(items) => format!("{{{}}}", self.spelled_all(items)?.join(", ")),
            Value::Path(path) => format!("path[{}]", self.spelled_all(&path.objects)?.join(", ")),
            Value::Entry(entry) => format!("{}={}", self.spelled(&entry.0)?, self.spelled(&entry.1)?),
            Value::Map(map) => {
                let entries = map.iter().map(|(key, value)| Ok(format!("{}={}", self.spelled(key)?, self.spelled(value)?)));
                format!("{{{}}}", entries.collect::<Result<Vec<_>>>()?.join(", "))
            }
            other => other.to_string(),
        })
    }

    fn spelled_all(&self, items: &[Value]) -> Result<Vec<String>> {
        items.iter().map(|item| self.spelled(item)).collect()
    }

    /// Null if all parts are null.
    fn concat(&mut self, operands: &[Operand], traverser: &Traverser) -> Result<Value> {
        let mut parts = vec![traverser.value.clone()];
        for operand in operands {
            match (operand, self.operand(operand, traverser)?) {
                (Operand::Value(_), Some(value)) if value.items().is_some() => {
                    parts.extend(value.items().unwrap_or_default())
                }
                (_, part) => parts.extend(part),
            }
        }
        let mut whole: Option<String> = None;
        for part in &parts {
            match part {
                Value::Null => {}
                Value::String(text) => whole.get_or_insert_default().push_str(text),
                other => return Err(Failure::met("concat()", other)),
            }
        }
        Ok(whole.map(Value::string).unwrap_or_default())
    }

    /// The result of an expression; `None` if a modulator gives nothing for a variable.
    pub(super) fn math(&mut self, expression: &MathExpression, by: &[By], traverser: &Traverser) -> Result<Option<f64>> {
        let mut variables = Vec::new();
        for (at, name) in expression.variables.iter().enumerate() {
            let Some(value) = self.variable(name, traverser) else {
                return Err(Failure::value(format!("math() has no value for {name}")));
            };
            let value = match by.get(at % by.len().max(1)) {
                Some(by) if &**name == "_" => self.by(by, traverser)?,
                Some(by) => self.by_value(by, value)?,
                None => Some(value),
            };
            let Some(value) = value else { return Ok(None) };
            variables.push(value.as_f64().ok_or_else(|| Failure::met("math()", &value))?);
        }
        let mut stack: Vec<f64> = Vec::new();
        for op in &expression.ops {
            let mut pop = || stack.pop().expect("an expression in postfix order");
            let number = match op {
                MathOp::Number(number) => *number,
                MathOp::Variable(at) => variables[*at],
                MathOp::Neg => -pop(),
                MathOp::Function(function) => function.of(pop()),
                binary => {
                    let (right, left) = (pop(), pop());
                    match binary {
                        MathOp::Add => left + right,
                        MathOp::Sub => left - right,
                        MathOp::Mul => left * right,
                        MathOp::Div | MathOp::Rem if right == 0.0 => return Err(Failure::value("math() by zero")),
                        MathOp::Div => left / right,
                        MathOp::Rem => left % right,
                        _ => left.powf(right),
                    }
                }
            };
            stack.push(number);
        }
        Ok(stack.pop())
    }

    fn variable(&self, name: &Name, traverser: &Traverser) -> Option<Value> {
        if &**name == "_" { Some(traverser.value.clone()) } else { self.labelled(name, Pop::Last, traverser) }
    }
}

/// The number of an integer, of a text that spells one, or of a date.
fn as_number(value: &Value, wanted: Option<ValueType>) -> Result<Value> {
    let uncovered = || Failure::Uncovered(format!("asNumber() of {value}"));
    let number = match value {
        Value::Null => return Ok(Value::Null),
        Value::DateTime(date) => Value::Int64(date.seconds * 1000 + i64::from(date.nanos / 1_000_000)),
        Value::String(text) => text.parse().map(Value::Int32).map_err(|_| uncovered())?,
        Value::Int32(_) | Value::Int64(_) => value.clone(),
        _ => return Err(uncovered()),
    };
    Ok(match (wanted, number.as_i64()) {
        (None, _) => number,
        (Some(ValueType::Int64), Some(n)) => Value::Int64(n),
        (Some(ValueType::Int32), Some(n)) => Value::Int32(n.try_into().map_err(|_| uncovered())?),
        _ => return Err(uncovered()),
    })
}

fn combine(function: ListFunction, a: &Value, b: &Value) -> Result<Value> {
    if let (ListFunction::Merge, Value::Map(a), Value::Map(b)) = (function, a, b) {
        let mut all = Map::clone(a);
        b.iter().for_each(|(key, value)| all.insert(key.clone(), value.clone()));
        return Ok(Value::map(all));
    }
    let a = a.items().ok_or_else(|| Failure::met(function.name(), a))?;
    let b = b.items().ok_or_else(|| Failure::met(function.name(), b))?;
    let only =
        |these: &[Value], others: &[Value]| these.iter().filter(|item| !others.contains(item)).cloned().collect::<Vec<_>>();
    Ok(match function {
        ListFunction::Combine => Value::list([a, b].concat()),
        ListFunction::Merge => Value::set([a, b].concat()),
        ListFunction::Difference => Value::set(only(&a, &b)),
        ListFunction::Intersect => Value::set(a.into_iter().filter(|item| b.contains(item))),
        ListFunction::Disjunct => Value::set([only(&a, &b), only(&b, &a)].concat()),
        ListFunction::Product => {
            let pairs = a.iter().flat_map(|x| b.iter().map(move |y| Value::list(vec![x.clone(), y.clone()])));
            Value::list(pairs.collect())
        }
    })
}
