//! Reads GraphBinary 1 bytecode.
//!
//! ```text
//! bytecode     = 0x15 0x00 instructions:steps instructions:source
//! instructions = count { name:string count value* }*
//! value        = type flag body | type 0x01 | 0xfe 0x01        the latter two are null; otherwise the flag is 0x00
//! string       = count UTF-8                                    a count is an int of four bytes, big-endian
//! list, set    = count value*            map      = count { value value }*
//! P, TextP     = name:string count value*
//! constant     = value:string            class    = string
//! strategy     = class:string map        binding  = name:string value
//! vertex       = value:id string:label value:properties
//! ```
//!
//! The forms follow what gremlinpython 3.8 and TinkerPop's Java driver write. Both unpack a list that is the operand of a
//! predicate. So `eq([1])` looks like `eq(1)`, and this reader takes it as `eq(1)`. It reads one whole bytecode, without the frame
//! of a request to a server.

use mangrove_graph::{Uuid, Value};

use super::scalar::Bytes;
use super::{Problem, Read, Usage, argument, problem};
use crate::diagnostics::Span;
use crate::gremlin::error::SyntaxError;
use crate::gremlin::names;
use crate::gremlin::syntax::{Argument, ArgumentKind, Call, PredicateSyntax, TraversalSyntax};

/// The most bytes of a bytecode. Bytecode is somewhat longer than the same text.
pub const GRAPHBINARY_BYTES_MAX: usize = 8 << 20;
/// The most predicates within one another.
const PREDICATE_DEPTH_MAX: usize = 200;

const STRING: u8 = 0x03;
const BYTECODE: u8 = 0x15;
const UNTYPED_NULL: u8 = 0xfe;
/// The first byte of a message to a server: its version, not a type.
const MESSAGE: u8 = 0x81;

/// Reads one traversal. An error names the byte at which the wrong value begins.
pub fn read_graphbinary(bytes: &[u8]) -> Result<TraversalSyntax, SyntaxError> {
    let mut reader = BinaryReader::new(bytes).map_err(Problem::into_error)?;
    reader.query().map_err(|problem| {
        let mut error = Problem::into_error(problem);
        error.message = format!("byte {}: {}", reader.value_at, error.message);
        error
    })
}

pub(super) struct BinaryReader<'a> {
    bytes: Bytes<'a>,
    /// The position of the value that is being read.
    value_at: usize,
    /// The number of open predicates.
    predicates: usize,
    usage: Usage,
}

impl<'a> BinaryReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Read<Self> {
        if bytes.len() > GRAPHBINARY_BYTES_MAX {
            return problem(format!("bytecode of {} bytes is too long: the limit is {GRAPHBINARY_BYTES_MAX}", bytes.len()));
        }
        Ok(Self { bytes: Bytes::new(bytes), value_at: 0, predicates: 0, usage: Usage::default() })
    }

    /// The beginning of a request: the version of GraphBinary, and the id.
    pub(super) fn request_id(&mut self) -> Read<Uuid> {
        match self.bytes.byte()? {
            MESSAGE => self.bytes.array().map(Uuid::from_bytes),
            version => problem(format!("a request in GraphBinary begins with 0x81, not with 0x{version:02x}")),
        }
    }

    pub(super) fn text(&mut self) -> Read<String> {
        self.bytes.string().map(str::to_owned)
    }

    /// Gives the arguments of a request, to its end.
    pub(super) fn request_arguments(&mut self, mut put: impl FnMut(String, ArgumentKind) -> Read<()>) -> Read<()> {
        for _ in 0..self.count()? {
            let ArgumentKind::Value(Value::String(key)) = self.value()? else {
                return problem("the arguments of a request have names");
            };
            let value = self.argument().map_err(|problem| problem.within(|| format!("`{key}`")))?;
            put(key.to_string(), value.kind)?;
        }
        match self.bytes.left() {
            0 => Ok(()),
            n => problem(format!("{n} bytes follow the end of the request")),
        }
    }

    /// The values read so far, those within others included.
    pub(super) fn values(&self) -> usize {
        self.usage.arguments
    }

    fn query(&mut self) -> Read<TraversalSyntax> {
        match [self.bytes.byte()?, self.bytes.byte()?] {
            [BYTECODE, 0] => {}
            [MESSAGE, _] => return problem("expected the bytecode alone, found a request to a server"),
            [code, flag] => return problem(format!("expected bytecode (0x15 0x00), found 0x{code:02x} 0x{flag:02x}")),
        }
        let mut traversal = self.traversal()?;
        self.value_at = self.bytes.position();
        match self.bytes.left() {
            0 => traversal.from_source = true,
            n => return problem(format!("{n} bytes follow the end of the bytecode")),
        }
        Ok(traversal)
    }

    fn traversal(&mut self) -> Read<TraversalSyntax> {
        let steps = self.instructions()?;
        let mut calls = self.instructions()?;
        let from_source = !calls.is_empty();
        calls.extend(steps);
        super::traversal(calls, from_source)
    }

    fn instructions(&mut self) -> Read<Vec<Call>> {
        let mut calls = Vec::new();
        for _ in 0..self.count()? {
            self.value_at = self.bytes.position();
            let name = self.bytes.string()?;
            super::check_step_name(name)?;
            let mut args = Vec::new();
            for i in 0..self.count()? {
                let arg = self.argument().map_err(|e| e.within(|| format!("argument {} of {name}()", i + 1)))?;
                args.push(arg);
            }
            self.usage.step()?;
            super::push_call(name, args, &mut calls);
        }
        Ok(calls)
    }

    fn count(&mut self) -> Read<usize> {
        self.value_at = self.bytes.position();
        self.bytes.count()
    }

    fn argument(&mut self) -> Read<Argument> {
        self.usage.enter()?;
        let kind = self.value();
        self.usage.leave();
        Ok(argument(kind?))
    }

    fn arguments(&mut self) -> Read<Vec<Argument>> {
        let count = self.count()?;
        (0..count).map(|_| self.argument()).collect()
    }

    /// A value with its type before it.
    fn value(&mut self) -> Read<ArgumentKind> {
        self.value_at = self.bytes.position();
        let (code, flag) = (self.bytes.byte()?, self.bytes.byte()?);
        match flag {
            1 => Ok(ArgumentKind::Value(Value::Null)),
            0 if code != UNTYPED_NULL => self.body(code),
            _ => problem(format!("a value of type 0x{code:02x} with the flag 0x{flag:02x}")),
        }
    }

    fn body(&mut self, code: u8) -> Read<ArgumentKind> {
        if let Some(kind) = constant_kind(code) {
            return match [self.bytes.byte()?, self.bytes.byte()?] {
                [STRING, 0] => super::constant(kind, self.bytes.string()?),
                _ => problem(format!("a constant of {kind} must be named by a string")),
            };
        }
        match code {
            0x06 => super::strategy_of_class(self.bytes.string()?, Vec::new()),
            0x09 => self.arguments().map(ArgumentKind::List),
            0x0a => self.map().map(ArgumentKind::Map),
            0x0b => self.arguments().map(ArgumentKind::Set),
            0x0d => self.edge(),
            0x0f => self.property(),
            0x11 | 0x12 => self.vertex(code == 0x12),
            0x14 => {
                self.bytes.string()?;
                self.argument().map(|argument| argument.kind)
            }
            BYTECODE => self.traversal().and_then(super::nested),
            0x1d => super::lambda(),
            0x1e | 0x28 => self.predicate().map(ArgumentKind::Predicate),
            0x29 => self.strategy(),
            _ => match self.bytes.scalar(code)? {
                Some(value) => Ok(ArgumentKind::Value(value)),
                None => problem(format!("values of the type {} are not supported", type_name(code))),
            },
        }
    }

    fn map(&mut self) -> Read<Vec<(Argument, Argument)>> {
        let count = self.count()?;
        (0..count).map(|_| Ok((self.argument()?, self.argument()?))).collect()
    }

    fn label(&mut self) -> Read<Argument> {
        self.bytes.string().map(|label| argument(ArgumentKind::Value(label.into())))
    }

    /// Id, label, value (of a vertex property, with its vertex), properties.
    fn vertex(&mut self, is_property: bool) -> Read<ArgumentKind> {
        let mut args = vec![self.argument()?, self.label()?];
        if is_property {
            args.push(self.argument()?);
            self.argument()?;
        }
        self.argument()?;
        Ok(super::element(if is_property { "VertexProperty" } else { "Vertex" }, args))
    }

    /// Id, label; id and label of each end; parent, properties.
    fn edge(&mut self) -> Read<ArgumentKind> {
        let args = vec![self.argument()?, self.label()?];
        for _ in 0..2 {
            self.argument()?;
            self.bytes.string()?;
        }
        for _ in 0..2 {
            self.argument()?;
        }
        Ok(super::element("Edge", args))
    }

    /// Key, value, parent.
    fn property(&mut self) -> Read<ArgumentKind> {
        let args = vec![self.label()?, self.argument()?];
        self.argument()?;
        Ok(super::element("Property", args))
    }

    fn strategy(&mut self) -> Read<ArgumentKind> {
        let class = self.bytes.string()?;
        let options = self.map()?.into_iter().map(|(key, value)| match key.kind {
            ArgumentKind::Value(Value::String(key)) => Ok((key.to_string(), value)),
            _ => problem(format!("an option of {class} must be named by a string")),
        });
        super::strategy_of_class(class, options.collect::<Read<_>>()?)
    }

    fn predicate(&mut self) -> Read<PredicateSyntax> {
        self.predicates += 1;
        if self.predicates > PREDICATE_DEPTH_MAX {
            return problem(format!("predicates are nested too deep: the limit is {PREDICATE_DEPTH_MAX}"));
        }
        let name = self.bytes.string()?;
        let predicate = match name {
            "and" | "or" => self.connective(name),
            "not" => self.negation(),
            _ if names::is_predicate(name) => self.test(name),
            _ => super::unknown_predicate(name),
        }?;
        self.predicates -= 1;
        Ok(predicate)
    }

    fn test(&mut self, name: &str) -> Read<PredicateSyntax> {
        let operands = self.arguments()?;
        let args = match (name, operands.len()) {
            ("inside" | "outside" | "between", _) => operands,
            ("within" | "without", _) => vec![argument(ArgumentKind::List(operands))],
            (_, 1) => operands,
            _ => vec![argument(ArgumentKind::List(operands))],
        };
        Ok(PredicateSyntax::Test { name: name.into(), args, span: Span::default() })
    }

    fn negation(&mut self) -> Read<PredicateSyntax> {
        match self.count()? {
            1 => {
                self.usage.joint()?;
                self.operand().map(|operand| PredicateSyntax::Not(Box::new(operand)))
            }
            n => problem(format!("`not` takes one predicate, not {n}")),
        }
    }

    /// Predicates joined from the left.
    fn connective(&mut self, name: &str) -> Read<PredicateSyntax> {
        let count = self.count()?;
        if count == 0 {
            return problem(format!("`{name}` needs predicates to join"));
        }
        let mut joined = self.operand()?;
        for _ in 1..count {
            self.usage.joint()?;
            self.usage.enter()?;
            let other = self.operand();
            self.usage.leave();
            joined = super::join(name, joined, other?);
        }
        Ok(joined)
    }

    fn operand(&mut self) -> Read<PredicateSyntax> {
        self.value_at = self.bytes.position();
        match (self.bytes.byte()?, self.bytes.byte()?) {
            (0x1e | 0x28, 0) => self.predicate(),
            _ => problem("`and`, `or` and `not` take predicates"),
        }
    }
}

/// The kinds of constants, by the codes of their types.
const CONSTANTS: [(u8, &str); 13] = [
    (0x13, "Barrier"),
    (0x16, "Cardinality"),
    (0x17, "Column"),
    (0x18, "Direction"),
    (0x19, "Operator"),
    (0x1a, "Order"),
    (0x1b, "Pick"),
    (0x1c, "Pop"),
    (0x1f, "Scope"),
    (0x20, "T"),
    (0x2e, "Merge"),
    (0x2f, "DT"),
    (0x30, "GType"),
];

/// The kind of constant that a type code stands for.
fn constant_kind(code: u8) -> Option<&'static str> {
    CONSTANTS.iter().find(|(known, _)| *known == code).map(|(_, kind)| *kind)
}

/// The type code of a kind of constant.
pub fn constant_code(kind: &str) -> Option<u8> {
    CONSTANTS.iter().find(|(_, known)| *known == kind).map(|(code, _)| *code)
}

/// The name of a type that no argument can have.
fn type_name(code: u8) -> String {
    let name = match code {
        0x00 => "custom",
        0x0e => "Path",
        0x10 => "Graph",
        0x21 => "Traverser",
        0x2a => "BulkSet",
        0x2b => "Tree",
        0x2c => "Metrics",
        0x2d => "TraversalMetrics",
        0x82 => "InetAddress",
        0x86 => "LocalTime",
        0x87 => "MonthDay",
        0x89 => "OffsetTime",
        0x8a => "Period",
        0x8b => "Year",
        0x8c => "YearMonth",
        0x8e => "ZoneOffset",
        _ => return format!("0x{code:02x}"),
    };
    format!("{name} (0x{code:02x})")
}
