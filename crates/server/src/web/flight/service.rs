//! The calls of Arrow Flight: a ticket is a query, or its part in a shard, and a descriptor says what the rows are.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::error::FlightError;
use arrow_flight::flight_service_server::FlightService;
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightEndpoint, FlightInfo, HandshakeRequest,
    HandshakeResponse, PollInfo, PutResult, SchemaResult, Ticket,
};
use axum::http::{StatusCode, header};
use futures_util::stream::{self, BoxStream, StreamExt};
use mangrove::Shards;
use serde_json::json;
use tokio::time::timeout;
use tonic::codegen::http;
use tonic::{Code, Request, Response, Status, Streaming};

use super::super::Web;
use super::super::rest::{self, Problem, RowForm, Rows, Spool, Streamed, What};
use super::ticket::{self, Claim, document};
use crate::gremlin::{MANY, Share};
use crate::observe::{Fact, Over, Seen};
use crate::users::{Gatekeeper, Login, Principal, Role};

/// The most bytes of a record batch that comes.
pub const MESSAGE_BYTES_MAX: usize = 32 << 20;
/// How long the next record batch may take to come.
const NEXT: Duration = Duration::from_secs(60);

/// What one connection asks for.
pub struct Calls {
    web: Arc<Web>,
    from: IpAddr,
}

impl Calls {
    pub fn new(web: Arc<Web>, from: IpAddr) -> Self {
        Self { web, from }
    }

    /// Whoever calls, and what is recorded of the call.
    fn caller<T>(&self, request: &Request<T>, call: &str) -> Result<(Principal, Seen), Status> {
        let observer = &self.web.gremlin.observer;
        let head = observer.is_tracing().then(|| request.metadata().clone().into_headers());
        let mut seen = Seen::new(observer, Over::Flight, self.from, head.as_ref());
        seen.note(Fact::Call, Some(call));
        let principal = request.extensions().get::<Principal>().cloned();
        let principal = principal.ok_or_else(|| told(&seen, Status::internal("a call of nobody: please report this")))?;
        seen.note(Fact::User, principal.name.as_deref());
        let taken = self.web.gremlin.rates.take(&principal, self.from);
        taken.map_err(|refused| told(&seen, status(refused.into())))?;
        Ok((principal, seen))
    }
}

/// The header `authorization` of a call.
fn login<T>(request: &Request<T>) -> Option<Login> {
    Login::of_header(request.metadata().get(header::AUTHORIZATION.as_str())?.to_str().ok()?)
}

const A_DESCRIPTOR: &str =
    r#"the command of a descriptor is JSON, such as {"vertices": "person", "key": "id", "database": "g"}"#;

#[tonic::async_trait]
impl FlightService for Calls {
    type HandshakeStream = BoxStream<'static, Result<HandshakeResponse, Status>>;
    type ListFlightsStream = BoxStream<'static, Result<FlightInfo, Status>>;
    type DoGetStream = BoxStream<'static, Result<FlightData, Status>>;
    type DoPutStream = BoxStream<'static, Result<PutResult, Status>>;
    type DoActionStream = BoxStream<'static, Result<arrow_flight::Result, Status>>;
    type ListActionsStream = BoxStream<'static, Result<ActionType, Status>>;
    type DoExchangeStream = BoxStream<'static, Result<FlightData, Status>>;

    /// Gives a token for a name and a password.
    async fn handshake(
        &self,
        request: Request<Streaming<HandshakeRequest>>,
    ) -> Result<Response<Self::HandshakeStream>, Status> {
        let Some(gatekeeper) = self.web.gremlin.gatekeeper() else {
            return Err(Status::failed_precondition("this server has no users: nobody needs to say who it is"));
        };
        // A token that gave others would never end.
        let is_password =
            matches!(login(&request), Some(Login::Password { password, .. }) if !Gatekeeper::is_token(&password));
        let (principal, seen) = self.caller(&request, "Handshake")?;
        if !is_password {
            return Err(told(&seen, Status::invalid_argument("only a name and a password give a token")));
        }
        let token = gatekeeper.issue(principal);
        let bearer = format!("Bearer {token}").parse().map_err(|_| Status::internal("a token is plain text"))?;
        let greeting = HandshakeResponse { protocol_version: 0, payload: token.into_bytes().into() };
        let mut response = Response::new(stream::iter([Ok(greeting)]).boxed());
        response.metadata_mut().insert(header::AUTHORIZATION.as_str(), bearer);
        told(&seen, Status::ok(""));
        Ok(response)
    }

    /// Runs a query, and sends its results as they come.
    async fn do_get(&self, request: Request<Ticket>) -> Result<Response<Self::DoGetStream>, Status> {
        let (principal, mut seen) = self.caller(&request, "DoGet")?;
        let Claim { database, asked, shard } =
            Claim::read(&request.get_ref().ticket).map_err(|status| told(&seen, status))?;
        seen.note(Fact::Query, Some(&asked.gremlin));
        let batches = rest::record_batches(&self.web, database, (asked, shard), principal.role, seen.on_profile()).await;
        let (schema, batches) = batches.map_err(|problem| told(&seen, status(problem)))?;
        let encoder = FlightDataEncoderBuilder::new().with_schema(schema);
        let encoded = encoder.build(parts(batches)).map(move |sent| {
            let sent = sent.map_err(Status::from);
            match &sent {
                Ok(data) => seen.answered(StatusCode::OK.as_u16(), 0, data.data_body.len() + data.data_header.len()),
                Err(status) => drop(told(&seen, status.clone())),
            }
            sent
        });
        Ok(Response::new(encoded.boxed()))
    }

    /// Stores rows, all of them or none. The answer comes once they are on the disk, and says how many there were.
    async fn do_put(&self, request: Request<Streaming<FlightData>>) -> Result<Response<Self::DoPutStream>, Status> {
        let (principal, seen) = self.caller(&request, "DoPut")?;
        let stored = self.put(request.into_inner(), principal.role).await;
        let result = stored.map_err(|status| told(&seen, status))?;
        told(&seen, Status::ok(""));
        Ok(Response::new(stream::iter([Ok(result)]).boxed()))
    }

    /// Gives tickets for a command that is one: one for each shard, if the results can be read shard by shard.
    async fn get_flight_info(&self, request: Request<FlightDescriptor>) -> Result<Response<FlightInfo>, Status> {
        let (principal, mut seen) = self.caller(&request, "GetFlightInfo")?;
        let descriptor = request.into_inner();
        let wanted = Claim::read(&descriptor.cmd).map_err(|status| told(&seen, status))?;
        seen.note(Fact::Query, Some(&wanted.asked.gremlin));
        let info = self.info(&descriptor.cmd, wanted, principal.role).await.map_err(|status| told(&seen, status))?;
        told(&seen, Status::ok(""));
        Ok(Response::new(info.with_descriptor(descriptor)))
    }

    async fn list_flights(&self, _: Request<Criteria>) -> Result<Response<Self::ListFlightsStream>, Status> {
        Err(Status::unimplemented(ONLY))
    }

    async fn poll_flight_info(&self, _: Request<FlightDescriptor>) -> Result<Response<PollInfo>, Status> {
        Err(Status::unimplemented(ONLY))
    }

    async fn get_schema(&self, _: Request<FlightDescriptor>) -> Result<Response<SchemaResult>, Status> {
        Err(Status::unimplemented(ONLY))
    }

    async fn do_exchange(&self, _: Request<Streaming<FlightData>>) -> Result<Response<Self::DoExchangeStream>, Status> {
        Err(Status::unimplemented(ONLY))
    }

    async fn do_action(&self, _: Request<Action>) -> Result<Response<Self::DoActionStream>, Status> {
        Err(Status::unimplemented(ONLY))
    }

    async fn list_actions(&self, _: Request<Empty>) -> Result<Response<Self::ListActionsStream>, Status> {
        Ok(Response::new(stream::empty().boxed()))
    }
}

const ONLY: &str = "this server has DoGet for queries and DoPut for rows";

impl Calls {
    /// Where the results of a command are, and why they are at one place only.
    async fn info(&self, command: &[u8], wanted: Claim, role: Role) -> Result<FlightInfo, Status> {
        let Claim { database, asked, shard } = wanted;
        let database = rest::name_or_first(&self.web, database);
        let shards = match shard {
            None => rest::shards(&self.web, database.clone(), asked, role).await.map_err(status)?,
            Some(_) => Shards::Whole { why: "the command names a shard".into() },
        };
        let (tickets, said) = match shards {
            Shards::Apart { count, at } => {
                (ticket::of_shards(command, &database, count, at)?, json!({"shards": count, "at": at.to_string()}))
            }
            Shards::Whole { why } => (vec![Ticket::new(command.to_vec())], json!({"whole": why})),
        };
        let endpoints = tickets.into_iter().map(|ticket| FlightEndpoint::new().with_ticket(ticket)).collect();
        Ok(FlightInfo::new().with_endpoints(endpoints).with_app_metadata(said.to_string()))
    }

    async fn put(&self, mut frames: Streaming<FlightData>, role: Role) -> Result<PutResult, Status> {
        rest::must_be(role, Role::Write).map_err(status)?;
        let place = self.web.jobs.place(false).map_err(status)?;
        let _share = self.room()?;
        let first = next(&mut frames).await?.ok_or_else(|| Status::invalid_argument("no rows came"))?;
        let descriptor = first.flight_descriptor.as_ref().map(|descriptor| descriptor.cmd.clone()).unwrap_or_default();
        let (name, what) = document::<What>(&descriptor, A_DESCRIPTOR)?;
        what.check().map_err(status)?;
        let name = rest::name_or_first(&self.web, name);
        rest::database(&self.web, &name).map_err(status)?;
        let mut spool = Spool::new(self.web.ingest_bytes_max).map_err(status)?;
        let mut frame = Some(first);
        while let Some(data) = frame {
            write(&mut spool, data).await.map_err(status)?;
            frame = next(&mut frames).await?;
        }
        spool.write(END_OF_STREAM.as_slice().into()).await.map_err(status)?;
        let rows = Rows { form: RowForm::Arrow, spool };
        let (job, ended) = rest::store(&self.web, &name, what, rows, place).map_err(status)?;
        let shown = rest::stored(&job, ended).await.map_err(status)?;
        Ok(PutResult { app_metadata: shown["summary"].to_string().into_bytes().into() })
    }

    /// The memory of the record batch that comes and of the one that is written.
    fn room(&self) -> Result<Share, Status> {
        let share = self.web.gremlin.memory(true).try_hold(2 * MESSAGE_BYTES_MAX);
        share.ok_or_else(|| Status::resource_exhausted(MANY))
    }
}

async fn next(frames: &mut Streaming<FlightData>) -> Result<Option<FlightData>, Status> {
    match timeout(NEXT, frames.message()).await {
        Ok(frame) => frame,
        Err(_) => Err(Status::deadline_exceeded("the next rows did not come in time")),
    }
}

/// What stands before each message of the stream format of Arrow IPC, and what ends the stream.
const CONTINUATION: [u8; 4] = [0xff; 4];
const END_OF_STREAM: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// Writes a message in the stream format of Arrow IPC, as `ingest` reads it. One without a header holds no rows.
async fn write(spool: &mut Spool, data: FlightData) -> Result<(), Problem> {
    if data.data_header.is_empty() {
        // It counts as slow.
        return spool.write(data.data_header).await;
    }
    let length = data.data_header.len().next_multiple_of(8);
    let mut head = Vec::with_capacity(8 + length);
    head.extend(CONTINUATION);
    head.extend((length as u32).to_le_bytes());
    head.extend(&data.data_header);
    head.resize(8 + length, 0);
    spool.write(head.into()).await?;
    spool.write(data.data_body).await
}

/// The results of a query as a stream.
fn parts(mut batches: Streamed<RecordBatch>) -> BoxStream<'static, Result<RecordBatch, FlightError>> {
    let failed = |problem| FlightError::Tonic(Box::new(status(problem)));
    stream::poll_fn(move |cx| batches.poll_part(cx).map(|part| part.map(|part| part.map_err(failed)))).boxed()
}

/// Records how a call ended.
fn told(seen: &Seen, status: Status) -> Status {
    seen.answered(http_status(&status).as_u16(), 0, 0);
    status
}

/// The HTTP status of a status of gRPC, as in its documents (`google.rpc.Code`).
fn http_status(status: &Status) -> http::StatusCode {
    match status.code() {
        Code::Ok => StatusCode::OK,
        Code::Unauthenticated => StatusCode::UNAUTHORIZED,
        Code::PermissionDenied => StatusCode::FORBIDDEN,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
        Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Code::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
        Code::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::BAD_REQUEST,
    }
}

/// The status of gRPC that says the same as a problem.
fn status(problem: Problem) -> Status {
    let code = match problem.status {
        StatusCode::UNAUTHORIZED => Code::Unauthenticated,
        StatusCode::FORBIDDEN => Code::PermissionDenied,
        StatusCode::NOT_FOUND => Code::NotFound,
        StatusCode::BAD_REQUEST => Code::InvalidArgument,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::PAYLOAD_TOO_LARGE | StatusCode::INSUFFICIENT_STORAGE => {
            Code::ResourceExhausted
        }
        StatusCode::SERVICE_UNAVAILABLE => Code::Unavailable,
        StatusCode::GATEWAY_TIMEOUT => Code::DeadlineExceeded,
        StatusCode::INTERNAL_SERVER_ERROR => Code::Internal,
        _ => Code::FailedPrecondition,
    };
    Status::new(code, problem.detail)
}
