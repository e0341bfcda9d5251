//! Reads responses in GraphBinary 1. [`crate::wire`] shows their form.

use mangrove::Value;
use mangrove::graph::{Map, Token};
use mangrove_query::gremlin::read_plain;

use super::ClientError;

/// The most collections within one another.
const DEPTH_MAX: usize = 200;
/// The status, as an integer of four bytes, comes after the version and the id of the request, or the mark that there is none.
const WITH_ID: usize = 18;
const WITHOUT_ID: usize = 2;

/// A result as a server sends it. Elements are known by their ids.
#[derive(Clone, Debug, PartialEq)]
pub enum Received {
    Plain(Value),
    Vertex(Value),
    Edge(Value),
    /// The id and the value of a property.
    VertexProperty(Value, Value),
    /// The key and the value of a property of an edge or of a property.
    Property(String, Value),
    List(Vec<Received>),
    Set(Vec<Received>),
    Map(Vec<(Received, Received)>),
    /// The objects of a path.
    Path(Vec<Received>),
    Tree(Vec<Branch>),
    /// The ids of the vertices and edges of a part of the graph.
    Subgraph {
        vertices: Vec<Value>,
        edges: Vec<Value>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    pub value: Received,
    pub below: Vec<Branch>,
}

/// One of the responses to a request.
pub struct Response<'b> {
    pub code: i32,
    pub message: String,
    pub results: Reader<'b>,
    pub count: usize,
}

/// A value that holds no element.
fn plain(received: Received) -> Read<Value> {
    let all = |items: Vec<Received>| items.into_iter().map(plain).collect::<Read<Vec<_>>>();
    match received {
        Received::Plain(value) => Ok(value),
        Received::List(items) => all(items).map(Value::list),
        Received::Set(items) => all(items).map(Value::set),
        Received::Map(entries) => {
            let entries = entries.into_iter().map(|(key, value)| Ok((plain(key)?, plain(value)?)));
            entries.collect::<Read<_>>().map(|entries| Value::map(Map::from_distinct(entries)))
        }
        other => unreadable(format!("a plain value is expected, not {other:?}")),
    }
}

type Read<T> = Result<T, ClientError>;

fn unreadable<T>(why: impl Into<String>) -> Read<T> {
    Err(ClientError::Unreadable(why.into()))
}

impl<'b> Response<'b> {
    pub fn read(bytes: &'b [u8]) -> Read<Self> {
        let mut reader = Reader { bytes, depth: 0 };
        reader.take(if bytes.get(1) == Some(&0) { WITH_ID } else { WITHOUT_ID })?;
        let code = reader.int()?;
        let message = match reader.byte()? {
            0 => reader.text()?,
            _ => String::new(),
        };
        for _ in 0..2 {
            // The attributes, and those of the results.
            for _ in 0..reader.count()? {
                reader.value()?;
                reader.value()?;
            }
        }
        let count = match [reader.byte()?, reader.byte()?] {
            [0x09, 0] => reader.count()?,
            [_, 1] => 0,
            _ => return unreadable("results that are not a list"),
        };
        Ok(Self { code, message, results: reader, count })
    }
}

/// What is left of a response.
pub struct Reader<'b> {
    bytes: &'b [u8],
    /// The number of collections that are open.
    depth: usize,
}

impl<'b> Reader<'b> {
    fn take(&mut self, count: usize) -> Read<&'b [u8]> {
        let Some((taken, rest)) = self.bytes.split_at_checked(count) else {
            return unreadable(format!("{count} bytes should follow, but there are {}", self.bytes.len()));
        };
        self.bytes = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Read<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn int(&mut self) -> Read<i32> {
        self.take(4).map(|bytes| i32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    fn count(&mut self) -> Read<usize> {
        let count = self.int()?;
        usize::try_from(count).ok().filter(|count| *count <= self.bytes.len()).map_or_else(|| unreadable("a count"), Ok)
    }

    fn text(&mut self) -> Read<String> {
        let count = self.count()?;
        let text = self.take(count)?;
        str::from_utf8(text).map(str::to_owned).or_else(|_| unreadable("a text that is not UTF-8"))
    }

    /// A value with its type before it.
    pub fn value(&mut self) -> Read<Received> {
        match [self.byte()?, self.byte()?] {
            [_, 1] => Ok(Received::Plain(Value::Null)),
            [code, 0] => {
                self.depth += 1;
                if self.depth > DEPTH_MAX {
                    return unreadable("collections are nested too deep");
                }
                let value = self.body(code);
                self.depth -= 1;
                value
            }
            [code, flag] => unreadable(format!("a value of type 0x{code:02x} with the flag 0x{flag:02x}")),
        }
    }

    /// A value that holds no element.
    fn plain(&mut self) -> Read<Value> {
        plain(self.value()?)
    }

    fn values(&mut self) -> Read<Vec<Received>> {
        (0..self.count()?).map(|_| self.value()).collect()
    }

    fn body(&mut self, code: u8) -> Read<Received> {
        Ok(match code {
            0x09 => Received::List(self.values()?),
            0x0a => Received::Map((0..self.count()?).map(|_| Ok((self.value()?, self.value()?))).collect::<Read<_>>()?),
            0x0b => Received::Set(self.values()?),
            0x0d => self.edge()?,
            0x0e => {
                // The labels.
                self.value()?;
                match self.value()? {
                    Received::List(objects) => Received::Path(objects),
                    other => return unreadable(format!("the objects of a path are a list, not {other:?}")),
                }
            }
            0x0f => self.property()?,
            0x10 => self.subgraph()?,
            0x11 => {
                let id = self.plain()?;
                self.text()?;
                self.value()?;
                Received::Vertex(id)
            }
            0x12 => self.vertex_property()?,
            0x21 => {
                // A traverser. The server sends each by itself.
                self.take(size_of::<i64>())?;
                self.value()?
            }
            0x18 | 0x20 | 0x2e => Received::Plain(self.constant(code)?),
            0x2b => Received::Tree(self.branches()?),
            code => match read_plain(&mut self.bytes, code) {
                Ok(Some(value)) => Received::Plain(value),
                Ok(None) => return unreadable(format!("a value of type 0x{code:02x}")),
                Err(error) => return unreadable(error.to_string()),
            },
        })
    }

    /// A constant, such as `T.id`, which holds its name.
    fn constant(&mut self, code: u8) -> Read<Value> {
        let kind = match code {
            0x18 => "Direction",
            0x2e => "Merge",
            _ => "T",
        };
        let name = self.plain()?;
        let token = name.as_str().and_then(|name| Token::named(kind, name));
        token.map_or_else(|| unreadable(format!("a constant named {name}")), |token| Ok(Value::Token(token)))
    }

    fn edge(&mut self) -> Read<Received> {
        let id = self.plain()?;
        self.text()?;
        for _ in 0..2 {
            self.plain()?;
            self.text()?;
        }
        // The parent, and the properties.
        self.value()?;
        self.value()?;
        Ok(Received::Edge(id))
    }

    fn property(&mut self) -> Read<Received> {
        let (key, value) = (self.text()?, self.plain()?);
        // The parent.
        self.value()?;
        Ok(Received::Property(key, value))
    }

    fn vertex_property(&mut self) -> Read<Received> {
        let id = self.plain()?;
        self.text()?;
        let value = self.plain()?;
        // The parent, and the properties.
        self.value()?;
        self.value()?;
        Ok(Received::VertexProperty(id, value))
    }

    fn branches(&mut self) -> Read<Vec<Branch>> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return unreadable("a tree is too deep");
        }
        let branches = (0..self.count()?).map(|_| Ok(Branch { value: self.value()?, below: self.branches()? }));
        let branches = branches.collect::<Read<_>>();
        self.depth -= 1;
        branches
    }

    fn subgraph(&mut self) -> Read<Received> {
        let (mut vertices, mut edges) = (Vec::new(), Vec::new());
        for _ in 0..self.count()? {
            vertices.push(self.plain()?);
            self.text()?;
            for _ in 0..self.count()? {
                self.value()?;
                self.text()?;
                self.value()?;
                self.value()?;
                self.bare_properties()?;
            }
        }
        for _ in 0..self.count()? {
            edges.push(self.plain()?);
            self.text()?;
            for _ in 0..5 {
                // Id and label of each end, and the parent.
                self.value()?;
            }
            self.bare_properties()?;
        }
        Ok(Received::Subgraph { vertices, edges })
    }

    fn bare_properties(&mut self) -> Read<()> {
        for _ in 0..self.count()? {
            self.value()?;
        }
        Ok(())
    }
}
