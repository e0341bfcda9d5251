//! Tickets: a query, and the shard in which it begins if its results are read shard by shard. A ticket gives no right to anything: who
//! brings one needs those of the query.

use arrow_flight::Ticket;
use mangrove::{Bookmark, ShardAt};
use mangrove_query::gremlin::Outline;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tonic::Status;

use super::super::rest::Asked;

/// The most bytes of a document.
const DOCUMENT_BYTES_MAX: usize = 1 << 20;
const A_TICKET: &str = r#"a ticket is JSON, such as {"gremlin": "g.V().id()", "database": "g"}"#;
const A_PLACE: &str = "`shard` is a number and `at` a commit: take both as GetFlightInfo gives them";

/// What a ticket says.
pub struct Claim {
    pub database: Option<String>,
    pub asked: Asked,
    /// The first step finds the elements of this shard; `None` for those of the whole graph.
    pub shard: Option<ShardAt>,
}

impl Claim {
    pub fn read(ticket: &[u8]) -> Result<Self, Status> {
        let mut fields = fields(ticket, A_TICKET)?;
        let shard = match (fields.remove("shard"), fields.remove("at")) {
            (None, None) => None,
            (Some(shard), Some(Value::String(at))) => {
                let shard = shard.as_u64().and_then(|shard| u16::try_from(shard).ok());
                let at = at.parse::<Bookmark>().map_err(|error| Status::invalid_argument(error.to_string()))?;
                Some(ShardAt { shard: shard.ok_or_else(|| Status::invalid_argument(A_PLACE))?, at })
            }
            _ => return Err(Status::invalid_argument(A_PLACE)),
        };
        let (database, asked) = divided(fields, A_TICKET)?;
        Ok(Self { database, asked, shard })
    }
}

/// A ticket for each shard, from one for the whole. `database` is the one that is meant.
pub fn of_shards(whole: &[u8], database: &str, count: u16, at: Bookmark) -> Result<Vec<Ticket>, Status> {
    let mut fields = fields(whole, A_TICKET)?;
    fields.insert("database".into(), database.into());
    fields.insert("at".into(), at.to_string().into());
    let of_shard = |shard: u16| {
        fields.insert("shard".into(), shard.into());
        let ticket = serde_json::to_vec(&fields).map_err(|error| Status::internal(error.to_string()))?;
        Ok(Ticket::new(ticket))
    };
    (0..count).map(of_shard).collect()
}

/// A document of a client: the name of a database, and what else it says.
pub fn document<T: DeserializeOwned>(bytes: &[u8], what: &str) -> Result<(Option<String>, T), Status> {
    divided(fields(bytes, what)?, what)
}

fn fields(bytes: &[u8], what: &str) -> Result<Map<String, Value>, Status> {
    let text = str::from_utf8(bytes).map_err(|error| wrong(what, &error))?;
    if text.len() > DOCUMENT_BYTES_MAX {
        return Err(wrong(what, &format!("it takes more than {} MB", DOCUMENT_BYTES_MAX >> 20)));
    }
    if let Some(number) = Outline::of(text).long_number {
        return Err(wrong(what, &format!("JSON cannot carry all digits of the number {number}: send it as text")));
    }
    serde_json::from_str(text).map_err(|error| wrong(what, &error))
}

fn divided<T: DeserializeOwned>(mut fields: Map<String, Value>, what: &str) -> Result<(Option<String>, T), Status> {
    let database = match fields.remove("database") {
        None => None,
        Some(Value::String(name)) => Some(name),
        Some(_) => return Err(wrong(what, &"`database` is a name")),
    };
    Ok((database, serde_json::from_value(Value::Object(fields)).map_err(|error| wrong(what, &error))?))
}

fn wrong(what: &str, why: &dyn std::fmt::Display) -> Status {
    Status::invalid_argument(format!("{what}: {why}"))
}
