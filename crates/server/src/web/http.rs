//! The Gremlin protocol over HTTP: one request, and one response with all results.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, FromRequest, Request as HttpRequest, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use mangrove::Value;
use mangrove::describe::Described;
use mangrove::graph::Map;
use uuid::Uuid;

use super::meter::Meter;
use super::transactions::Transactions;
use super::{Web, transactions};
use crate::gremlin::{Answer, Caller, Conversation, MANY, Refused, Share, Unread};
use crate::observe::{Over, Seen};
use crate::status::Status;
use crate::users::{Login, Principal, Role};
use crate::wire::{self, Control, Form, GraphSon, Reply, Request, Results, Style, split_frame};

const JSON: Form = Form::GraphSon(GraphSon::V3);

/// A request in the body, in the form that `Content-Type` names.
pub async fn post(
    State(web): State<Arc<Web>>,
    Extension(meter): Extension<Arc<Meter>>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    request: HttpRequest,
) -> Response {
    let response = posted(&web, &meter, from.ip(), request).await;
    response.unwrap_or_else(|refused| recorded(&web, from.ip(), refused))
}

async fn posted(web: &Arc<Web>, meter: &Meter, from: IpAddr, request: HttpRequest) -> Result<Response, Response> {
    let headers = &request.headers().clone();
    let (accepted, principal) = admitted(web, headers).await?;
    meter.take_of(web.gremlin.memory(true).clone());
    let content = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    // As Gremlin Server does, so that `curl -d` needs no header.
    let form = content.and_then(Form::of_media_type).unwrap_or(JSON);
    let is_older = wire::is_older(headers);
    let body = Bytes::from_request(request, &()).await.map_err(|rejection| match meter.is_refused() {
        true => (StatusCode::TOO_MANY_REQUESTS, MANY).into_response(),
        false => rejection.into_response(),
    })?;
    let _share = meter.whole();
    // Some drivers put the media type before the request, as they do over a WebSocket.
    let size = body.len();
    let (form, body) = split_frame(&body).unwrap_or((form, body));
    let read = web.gremlin.read(form, body).await;
    let request = read.map_err(|Unread { id, refused }| response_of(accepted, id, refused))?;
    let transaction = transactions::named(headers, &request);
    let seen = Seen::new(&web.gremlin.observer, Over::Http, from, Some(headers));
    Ok(answer(web, Caller { principal, form: accepted, is_older, may_write: true, size, seen }, request, transaction).await)
}

/// A query in the address: `?gremlin=g.V(x)&bindings.x=1`. It must not write, because a page of any site can have a browser get an
/// address.
pub async fn get(web: &Arc<Web>, from: IpAddr, headers: &HeaderMap, query: &str) -> Response {
    got(web, from, headers, query).await.unwrap_or_else(|refused| recorded(web, from, refused))
}

async fn got(web: &Arc<Web>, from: IpAddr, headers: &HeaderMap, query: &str) -> Result<Response, Response> {
    let (form, principal) = admitted(web, headers).await?;
    let (mut args, mut bindings, mut aliases) = (Map::new(), Vec::new(), Vec::new());
    for (key, value) in url::form_urlencoded::parse(query.as_bytes()) {
        let value = Value::from(&*value);
        match (key.strip_prefix("bindings."), key.strip_prefix("aliases.")) {
            (Some(name), _) => bindings.push((name.into(), typed(value))),
            (_, Some(name)) => aliases.push((name.into(), value)),
            _ => args.insert((&*key).into(), typed_option(&key, value)),
        }
    }
    args.insert("bindings".into(), Value::map(bindings.into_iter().collect()));
    args.insert("aliases".into(), Value::map(aliases.into_iter().collect()));
    if args.get_str("gremlin").is_none() {
        return Err((StatusCode::BAD_REQUEST, "a query is wanted: ?gremlin=g.V().count()\n").into_response());
    }
    let (id, values) = (Uuid::new_v4(), args.len());
    let request = Request { id, op: "eval".into(), processor: String::new(), bytecode: None, args, values };
    let (is_older, size) = (wire::is_older(headers), query.len());
    let seen = Seen::new(&web.gremlin.observer, Over::Http, from, Some(headers));
    Ok(answer(web, Caller { principal, form, is_older, may_write: false, size, seen }, request, None).await)
}

/// The form that a client accepts, and who it is. Else, the answer that says what is missing.
async fn admitted(web: &Web, headers: &HeaderMap) -> Result<(Form, Principal), Response> {
    let header = headers.get(header::ACCEPT).map(|value| value.to_str().unwrap_or_default());
    let form = header.map_or(Some(JSON), Form::accepted).ok_or_else(unknown_form)?;
    let principal = principal(web, headers).await.ok_or_else(|| unknown_user(headers))?;
    Ok((form, principal))
}

/// The answer to a request that asks for nothing that can be run.
fn recorded(web: &Web, from: IpAddr, refused: Response) -> Response {
    Seen::new(&web.gremlin.observer, Over::Http, from, None).answered(refused.status().as_u16(), 0, 0);
    refused
}

/// A value of an address is a number, or true or false, if it looks like one.
fn typed(value: Value) -> Value {
    let Value::String(text) = &value else { return value };
    if let Ok(int) = text.parse::<i64>() {
        return i32::try_from(int).map_or(Value::Int64(int), Value::Int32);
    }
    match &**text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        // Not `nan` and `infinity`, which are words.
        text if text.bytes().any(|byte| byte.is_ascii_digit()) => text.parse().map_or(value.clone(), Value::Float64),
        _ => value,
    }
}

fn typed_option(key: &str, value: Value) -> Value {
    if matches!(key, "batchSize" | "evaluationTimeout") { typed(value) } else { value }
}

/// Answers a request, within the transaction that it names.
async fn answer(web: &Web, caller: Caller, request: Request, transaction: Option<String>) -> Response {
    let (id, form) = (request.id, caller.form);
    let control = match request.args.get_str("gremlin") {
        Some(Value::String(text)) => Control::of(text.trim().trim_end_matches(';').trim_end()),
        _ => None,
    };
    let session = match (control, transaction) {
        (Some(Control::Begin), None) => return begun(web, caller, id),
        (Some(Control::Begin), Some(_)) => {
            let message = "the request names a transaction, so it cannot begin another";
            return refused_to(&caller, id, Refused::new(Status::InvalidArguments, message));
        }
        (_, Some(name)) => match web.transactions.find(&name, &caller.principal) {
            Ok(session) => Some((session, name)),
            Err(refused) => return refused_to(&caller, id, refused),
        },
        (_, None) => None,
    };
    // If the client goes, this ends, and the conversation with it.
    let mut conversation = Conversation::new(web.gremlin.clone(), Some(caller.principal.clone()));
    let within = session.as_ref().map(|(session, _)| &**session);
    let waits = session.as_ref().map(|(_, name)| Waits { transactions: &web.transactions, name });
    let answer = conversation.collect(request, caller, within).await;
    // The client stayed.
    std::mem::forget(waits);
    match answer {
        Some(answer) => {
            // An end that was refused may be asked for again.
            if let (Some(Control::End), Some((_, name)), 200) = (control, &session, answer.status.http()) {
                web.transactions.forget(name);
            }
            response(form, answer)
        }
        None => response_of(form, Some(id), Refused::new(Status::ServerError, "the query ended without an answer")),
    }
}

/// A client that waits for a query of its transaction. If it goes, both end.
struct Waits<'w> {
    transactions: &'w Transactions,
    name: &'w str,
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.transactions.end(self.name);
    }
}

/// Begins a transaction, and gives its id.
fn begun(web: &Web, caller: Caller, id: Uuid) -> Response {
    let Caller { principal, form, seen, may_write, .. } = caller;
    let began =
        web.gremlin.rates.take(&principal, seen.from).and_then(|()| match (principal.role >= Role::Write, may_write) {
            (true, true) => web.transactions.begin(&web.gremlin, principal),
            (false, _) => Err(Refused::new(Status::Forbidden, "you may read, but not write, so you need no transaction")),
            (_, false) => Err(Refused::new(Status::Forbidden, "a transaction begins by a POST")),
        });
    let reply = match began {
        Err(refused) => refused.reply(Some(id)),
        Ok(transaction) => {
            let told = [("transactionId".into(), transaction.to_string().as_str().into())];
            let style = Style { form, is_older: false, as_traversers: false, with_properties: true };
            let mut results = Results::new(style);
            results.add(&Described::Plain(Value::map(told.into_iter().collect())));
            Reply { results: Some(results), ..Reply::new(Some(id), Status::Success) }
        }
    };
    let encoded = form.write(&reply);
    seen.answered(reply.status.code(), 1, encoded.size());
    response(form, Answer { status: reply.status, encoded, is_text: false, share: None })
}

/// Why a request is not done, to whoever sent it.
fn refused_to(caller: &Caller, id: Uuid, refused: Refused) -> Response {
    caller.seen.answered(refused.status.code(), 0, 0);
    response_of(caller.form, Some(id), refused)
}

fn response_of(form: Form, id: Option<Uuid>, refused: Refused) -> Response {
    let reply = refused.reply(id);
    response(form, Answer { status: reply.status, encoded: form.write(&reply), is_text: false, share: None })
}

/// The body of a response. What it takes is free once it was sent.
struct Owned {
    bytes: Vec<u8>,
    _share: Option<Share>,
}

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// A body that holds its memory until it was sent.
pub fn body(bytes: Vec<u8>, share: Option<Share>) -> Body {
    Body::from(Bytes::from_owner(Owned { bytes, _share: share }))
}

fn response(form: Form, Answer { status, encoded, share, .. }: Answer) -> Response {
    let code = StatusCode::from_u16(status.http()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (code, [(header::CONTENT_TYPE, form.media_type())], body(encoded.into_bytes(), share)).into_response()
}

/// Whoever sends a request; `None` if it does not say who, or says what is wrong.
pub async fn principal(web: &Web, headers: &HeaderMap) -> Option<Principal> {
    if let Some(anyone) = web.gremlin.anyone() {
        return Some(anyone);
    }
    let header = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    web.gremlin.check(Login::of_header(header)?).await
}

/// The answer to whoever is not known. A browser that is asked for a password shows a dialog of its own, so a page that sends requests
/// is not asked.
pub fn unknown_user(headers: &HeaderMap) -> Response {
    const ASKED: [(HeaderName, &str); 1] = [(header::WWW_AUTHENTICATE, "Basic realm=\"mangrove\", charset=\"UTF-8\"")];
    let is_of_page = headers.get("sec-fetch-mode").is_some_and(|mode| mode != "navigate");
    let message = match headers.contains_key(header::AUTHORIZATION) {
        true => "name and password are wrong, or the token is wrong or has ended\n",
        false => "say who you are: send name and password (Authorization: Basic …), or a token (Authorization: Bearer …)\n",
    };
    match is_of_page {
        true => (StatusCode::UNAUTHORIZED, message).into_response(),
        false => (StatusCode::UNAUTHORIZED, ASKED, message).into_response(),
    }
}

fn unknown_form() -> Response {
    let known = "known media types: application/json, application/vnd.gremlin-v2.0+json, application/vnd.gremlin-v3.0+json, \
                 application/vnd.graphbinary-v1.0\n";
    (StatusCode::NOT_ACCEPTABLE, known).into_response()
}
