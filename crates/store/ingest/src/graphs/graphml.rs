//! GraphML: typed keys (`attr.name`, `attr.type`, defaults). Labels are under the keys `labelV` and `labelE`, as TinkerPop writes
//! them, or in the attributes `labels` and `label`, as Neo4j's APOC does.
//!
//! Types that GraphML lacks, such as dates, are strings there. A string becomes a value of the type that the graph declares for its
//! property, and a date or date-time if it is the time of an edge.
//!
//! Ids are text. As in CSV, an id that reads as an integer is one. Hyperedges, ports, nested graphs and a second graph have no
//! counterpart here. The reader refuses them and names their place.

use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

use hashbrown::HashMap;
use mangrove_graph::{ElementKind, ExternalId, Schema, Value, ValueType};
use memchr::memrchr;
use quick_xml::Reader as XmlReader;
use quick_xml::events::{BytesStart, Event as XmlEvent};

use crate::batches::column::parse_value;
use crate::batches::elements::{EdgeElement, ElementBatches, Pass, VertexElement};
use crate::batches::rows::{Event, IdType, LabelSet, RawCell, Scope, Sink};
use crate::error::{BadRow, Fault, LoadError, Location};
use crate::text::source::Source;

/// Reads the vertices or the edges of a GraphML stream.
pub fn read(content: impl Read, source: &Source, pass: Pass, schema: &Schema, sink: &mut Sink<'_>) -> Result<(), LoadError> {
    let lines = Lines { inner: BufReader::with_capacity(1 << 18, content), line: 1, column: 1, event_bytes: 0 };
    let mut xml = XmlReader::from_reader(lines);
    xml.config_mut().expand_empty_elements = true;
    let mut reader = GraphmlReader {
        source,
        pass,
        schema,
        keys: HashMap::new(),
        batches: ElementBatches::new(&source.name, false, sink),
        depth: Vec::new(),
        graphs: 0,
        element: None,
        data: None,
        key: None,
        element_bytes: 0,
        key_bytes: 0,
    };
    let mut buffer = Vec::new();
    loop {
        let place = xml.get_ref().place();
        buffer.clear();
        xml.get_mut().event_bytes = 0;
        match xml.read_event_into(&mut buffer) {
            Ok(XmlEvent::Eof) => break,
            Ok(event) => reader.event(event, place)?,
            Err(_) if xml.get_ref().is_too_long() => {
                return reader.fail(place, format!("a tag or text of more than {} MB", EVENT_BYTES_MAX >> 20));
            }
            Err(error) => {
                let (line, column) = xml.get_ref().place();
                let place = Location::at(&source.name, line, column);
                return Err(LoadError::format(place, format!("not well-formed XML: {error}")));
            }
        }
    }
    reader.end(xml.get_ref().place())
}

/// Limits that bound memory whatever a file holds. They apply to the bytes of a tag or text, the bytes of an element, the number
/// and bytes of declared keys, and the nesting of tags.
const EVENT_BYTES_MAX: usize = 64 << 20;
const ELEMENT_BYTES_MAX: usize = 128 << 20;
const KEYS_MAX: usize = 1 << 16;
const KEY_BYTES_MAX: usize = 64 << 20;
const DEPTH_MAX: usize = 100;

/// Counts the lines and columns of the consumed text, and the bytes of the current event.
struct Lines<R> {
    inner: R,
    line: u64,
    column: u64,
    event_bytes: usize,
}

impl<R> Lines<R> {
    fn place(&self) -> (u64, u64) {
        (self.line, self.column)
    }

    fn is_too_long(&self) -> bool {
        self.event_bytes > EVENT_BYTES_MAX
    }
}

impl<R: BufRead> Read for Lines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let available = self.fill_buf()?;
        let n = available.len().min(buffer.len());
        buffer[..n].copy_from_slice(&available[..n]);
        self.consume(n);
        Ok(n)
    }
}

impl<R: BufRead> BufRead for Lines<R> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        if self.is_too_long() {
            return Err(std::io::Error::other("too long"));
        }
        self.inner.fill_buf()
    }

    fn consume(&mut self, n: usize) {
        if let Ok(text) = self.inner.fill_buf() {
            let text = &text[..n.min(text.len())];
            self.line += memchr::memchr_iter(b'\n', text).count() as u64;
            let characters = |text: &[u8]| text.iter().filter(|b| **b & 0xc0 != 0x80).count() as u64;
            match memrchr(b'\n', text) {
                Some(last) => self.column = characters(&text[last + 1..]) + 1,
                None => self.column += characters(text),
            }
        }
        self.event_bytes += n;
        self.inner.consume(n);
    }
}

/// A declared key.
struct Key {
    name: Arc<str>,
    value_type: ValueType,
    default: Option<String>,
    for_nodes: bool,
    for_edges: bool,
}

/// A node or edge while the reader collects its data.
struct Element {
    is_node: bool,
    id: Option<String>,
    source: String,
    target: String,
    labels: Option<String>,
    data: Vec<(String, String)>,
    place: (u64, u64),
}

struct GraphmlReader<'a, 's> {
    source: &'a Source,
    pass: Pass,
    schema: &'a Schema,
    keys: HashMap<String, Key>,
    batches: ElementBatches<'a, 's>,
    depth: Vec<String>,
    graphs: usize,
    element: Option<Element>,
    /// The key and text of the open data element.
    data: Option<(String, String)>,
    /// The key whose declaration is open, and the text of its default if that is open too.
    key: Option<(String, Option<String>)>,
    /// Bytes of the open element, and of all keys.
    element_bytes: usize,
    key_bytes: usize,
}

impl GraphmlReader<'_, '_> {
    fn fail<T>(&self, place: (u64, u64), reason: impl Into<String>) -> Result<T, LoadError> {
        Err(LoadError::format(Location::at(&self.source.name, place.0, place.1), reason))
    }

    fn event(&mut self, event: XmlEvent<'_>, place: (u64, u64)) -> Result<(), LoadError> {
        match event {
            XmlEvent::Start(tag) => self.open(&tag, place),
            XmlEvent::End(_) => self.close(place),
            XmlEvent::Text(text) => self.text(&text.xml10_content(), place),
            XmlEvent::CData(text) => self.text(&text.xml10_content(), place),
            XmlEvent::GeneralRef(entity) => {
                let character = entity.resolve_char_ref().ok().flatten().map(String::from);
                let name = entity.into_inner();
                let known = quick_xml::escape::resolve_predefined_entity(&name).map(str::to_owned);
                match character.or(known) {
                    Some(text) => self.text(&text, place),
                    None => self.fail(place, format!("`&{name};` is not an entity of XML")),
                }
            }
            _ => Ok(()),
        }
    }

    fn text(&mut self, text: &str, place: (u64, u64)) -> Result<(), LoadError> {
        if let Some((_, data)) = &mut self.data {
            data.push_str(text);
            return self.hold_in_element(text.len(), place);
        } else if let Some((_, Some(default))) = &mut self.key {
            default.push_str(text);
            return self.hold_in_keys(text.len(), place);
        } else if self.element.is_some() && !text.trim().is_empty() {
            return self.fail(place, "text within a node or edge, but outside its data");
        }
        Ok(())
    }

    /// Adds to the bytes of the open element, and checks their limit.
    fn hold_in_element(&mut self, bytes: usize, place: (u64, u64)) -> Result<(), LoadError> {
        self.element_bytes += bytes;
        if self.element_bytes <= ELEMENT_BYTES_MAX {
            return Ok(());
        }
        self.fail(place, format!("a node or edge with more than {} MB of data", ELEMENT_BYTES_MAX >> 20))
    }

    /// Adds to the bytes of the declared keys, and checks their limit.
    fn hold_in_keys(&mut self, bytes: usize, place: (u64, u64)) -> Result<(), LoadError> {
        self.key_bytes += bytes;
        if self.key_bytes <= KEY_BYTES_MAX && self.keys.len() <= KEYS_MAX {
            return Ok(());
        }
        self.fail(place, format!("more than {KEYS_MAX} keys, or keys of more than {} MB", KEY_BYTES_MAX >> 20))
    }

    fn open(&mut self, tag: &BytesStart<'_>, place: (u64, u64)) -> Result<(), LoadError> {
        let name = tag.local_name().as_ref().to_owned();
        if self.depth.is_empty() && name != "graphml" {
            let hint =
                if name == "gexf" { ". The Python package and its command read files whose names end in .gexf" } else { "" };
            return self.fail(
                place,
                format!("the root element is `{name}`, but the only XML that Mangrove reads is GraphML{hint}"),
            );
        }
        match &*name {
            "hyperedge" => return self.fail(place, "hyperedges are not supported: an edge has two ends"),
            "port" => return self.fail(place, "ports are not supported"),
            "graph" => {
                self.graphs += 1;
                if self.element.is_some() {
                    return self.fail(place, "graphs within nodes are not supported");
                }
                if self.graphs > 1 {
                    return self.fail(place, "a second graph: a file may hold only one");
                }
                if self.pass == Pass::Vertices && self.attribute(tag, "edgedefault", place)?.as_deref() == Some("undirected")
                {
                    let warning = "its edges are undirected; each is loaded once, in the direction it is written";
                    self.batches.send(Event::Warning(format!("{}: {warning}", self.source.name)))?;
                }
            }
            "key" => self.declare(tag, place)?,
            "default" => {
                if let Some((_, default)) = &mut self.key {
                    *default = Some(String::new());
                }
            }
            "node" | "edge" => self.begin(tag, name == "node", place)?,
            "data" if self.element.is_some() => match self.attribute(tag, "key", place)? {
                Some(key) => {
                    self.hold_in_element(size_of::<(String, String)>() + key.len(), place)?;
                    self.data = Some((key, String::new()));
                }
                None => return self.fail(place, "data without a key"),
            },
            _ => {}
        }
        if self.depth.len() == DEPTH_MAX {
            return self.fail(place, format!("tags nested more than {DEPTH_MAX} levels deep"));
        }
        self.depth.push(name);
        Ok(())
    }

    fn attribute(&self, tag: &BytesStart<'_>, name: &str, place: (u64, u64)) -> Result<Option<String>, LoadError> {
        let attribute = match tag.try_get_attribute(name) {
            Ok(attribute) => attribute,
            Err(error) => return self.fail(place, format!("a broken attribute: {error}")),
        };
        let Some(attribute) = attribute else { return Ok(None) };
        match quick_xml::escape::unescape(&attribute.value) {
            Ok(value) => Ok(Some(value.into_owned())),
            Err(error) => self.fail(place, format!("attribute `{name}`: {error}")),
        }
    }

    fn declare(&mut self, tag: &BytesStart<'_>, place: (u64, u64)) -> Result<(), LoadError> {
        let Some(id) = self.attribute(tag, "id", place)? else { return self.fail(place, "a key without an id") };
        let name = self.attribute(tag, "attr.name", place)?.unwrap_or_else(|| id.clone());
        let written = self.attribute(tag, "attr.type", place)?.unwrap_or_else(|| "string".into());
        let Some(value_type) = ValueType::from_name(&written) else {
            return self.fail(place, format!("key `{id}`: `{written}` is not a type"));
        };
        let of = self.attribute(tag, "for", place)?.unwrap_or_else(|| "all".into());
        let (for_nodes, for_edges) = (of == "node" || of == "all", of == "edge" || of == "all");
        self.hold_in_keys(size_of::<Key>() + id.len() + name.len(), place)?;
        let key = Key { name: name.into(), value_type, default: None, for_nodes, for_edges };
        self.keys.insert(id.clone(), key);
        self.key = Some((id, None));
        Ok(())
    }

    fn begin(&mut self, tag: &BytesStart<'_>, is_node: bool, place: (u64, u64)) -> Result<(), LoadError> {
        if self.element.is_some() {
            return self.fail(place, "a node or edge within another");
        }
        let id = self.attribute(tag, "id", place)?;
        let end = |name: &str| match self.attribute(tag, name, place) {
            Ok(Some(end)) => Ok(end),
            Ok(None) => self.fail(place, format!("an edge without a {name}")),
            Err(error) => Err(error),
        };
        let (source, target) = if is_node { (String::new(), String::new()) } else { (end("source")?, end("target")?) };
        if is_node && id.is_none() {
            return self.fail(place, "a node without an id");
        }
        let labels = self.attribute(tag, if is_node { "labels" } else { "label" }, place)?;
        self.element_bytes = 0;
        self.element = Some(Element { is_node, id, source, target, labels, data: Vec::new(), place });
        Ok(())
    }

    fn close(&mut self, place: (u64, u64)) -> Result<(), LoadError> {
        let Some(name) = self.depth.pop() else { return self.fail(place, "a closing tag without an opening one") };
        match &*name {
            "data" => {
                if let (Some(data), Some(element)) = (self.data.take(), &mut self.element) {
                    element.data.push(data);
                }
            }
            "key" => {
                if let Some((id, Some(default))) = self.key.take()
                    && let Some(key) = self.keys.get_mut(&id)
                {
                    key.default = Some(default);
                }
            }
            "node" | "edge" => {
                if let Some(element) = self.element.take() {
                    self.finish(element)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn end(mut self, place: (u64, u64)) -> Result<(), LoadError> {
        if let Some(open) = self.depth.last() {
            let reason = format!("the file ends within <{open}>");
            return self.fail(place, reason);
        }
        self.batches.flush()
    }

    fn finish(&mut self, element: Element) -> Result<(), LoadError> {
        if element.is_node != (self.pass == Pass::Vertices) {
            return Ok(());
        }
        match self.properties(&element) {
            Ok((label, properties)) => self.send(element, label, properties),
            Err((value, fault)) => {
                let place = Location::at(&self.source.name, element.place.0, element.place.1);
                let raw = element.id.unwrap_or_default();
                self.batches.send(Event::Reject(Box::new(BadRow { place, value: Some(value), fault, raw })))
            }
        }
    }

    fn send(
        &mut self,
        element: Element,
        label: Option<String>,
        properties: Vec<(Arc<str>, RawCell)>,
    ) -> Result<(), LoadError> {
        let label = label.or(element.labels).unwrap_or_default();
        let id = |text: &str| IdType::Auto.parse(text.as_bytes()).unwrap_or_else(|_| ExternalId::from(text));
        if element.is_node {
            // APOC writes `:Person:Actor`; this crate writes `Person;Actor`.
            let delimiter = if label.starts_with(':') { ':' } else { ';' };
            let labels = LabelSet::parse(&label, delimiter).unwrap_or_else(|| LabelSet::one(&"vertex".into()));
            let id = id(&element.id.unwrap_or_default());
            return self.batches.vertex(VertexElement { id, labels, properties }, element.place);
        }
        let label = if label.is_empty() { "edge".into() } else { label.into() };
        let edge = EdgeElement {
            id: element.id.as_deref().map(id),
            label,
            source: id(&element.source),
            target: id(&element.target),
            source_scope: Scope::Any,
            target_scope: Scope::Any,
            properties,
        };
        self.batches.edge(edge, element.place)
    }

    /// The label among an element's data, and its properties, with defaults for missing ones.
    fn properties(&self, element: &Element) -> Result<Properties, (String, Fault)> {
        let label_key = if element.is_node { "labelV" } else { "labelE" };
        let (mut label, mut properties) = (None, Vec::with_capacity(element.data.len()));
        for (id, text) in &element.data {
            let Some(key) = self.keys.get(id) else {
                return Err((id.clone(), Fault::Syntax("a key that is not declared".into())));
            };
            if &*key.name == label_key || (element.is_node && &*key.name == "labels" && element.labels.is_some()) {
                label = Some(text.clone());
            } else if !(element.labels.is_some() && &*key.name == "label" && !element.is_node) {
                properties.push((key.name.clone(), RawCell::One(value_of(key, text)?)));
            }
        }
        for (id, key) in &self.keys {
            let meant = if element.is_node { key.for_nodes } else { key.for_edges };
            if let (true, Some(default)) = (meant, &key.default)
                && !element.data.iter().any(|(given, _)| given == id)
            {
                match &*key.name == label_key {
                    true => label = Some(default.clone()),
                    false => properties.push((key.name.clone(), RawCell::One(value_of(key, default)?))),
                }
            }
        }
        self.fit(element, label.as_deref(), &mut properties);
        Ok((label, properties))
    }

    /// Turns strings into values of the types that the graph expects.
    fn fit(&self, element: &Element, label: Option<&str>, properties: &mut [(Arc<str>, RawCell)]) {
        let kind = if element.is_node { ElementKind::Vertex } else { ElementKind::Edge };
        let name = label.or(element.labels.as_deref()).unwrap_or_default().trim_start_matches(':');
        let name = name.split([';', ':']).next().unwrap_or_default();
        let Some(label) = self.schema.label(kind, name).and_then(|id| self.schema.label_schema(kind, id)) else { return };
        for (name, cell) in properties {
            let RawCell::One(Value::String(text)) = cell else { continue };
            let Some(key) = self.schema.key(name) else { continue };
            let declared = label.property(key).and_then(|property| property.declared);
            let wanted = match declared {
                // All white space of a text counts.
                Some(ValueType::String) => continue,
                Some(declared) => &[declared][..],
                None if label.time == Some(key) => &[ValueType::Date, ValueType::DateTime],
                None => continue,
            };
            let fitting = wanted.iter().find_map(|wanted| parse_value(*wanted, text.trim().as_bytes()).ok());
            if let Some(value) = fitting {
                *cell = RawCell::One(value);
            }
        }
    }
}

type Properties = (Option<String>, Vec<(Arc<str>, RawCell)>);

fn value_of(key: &Key, text: &str) -> Result<Value, (String, Fault)> {
    let trimmed = if key.value_type == ValueType::String { text } else { text.trim() };
    parse_value(key.value_type, trimmed.as_bytes()).map_err(|_| {
        let expected = key.value_type.name().into();
        (text.to_owned(), Fault::Misfit { column: key.name.clone(), expected })
    })
}
