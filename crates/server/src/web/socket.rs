//! The Gremlin protocol over WebSocket.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;

use super::{Web, http};
use crate::gremlin::{Answer, Asker, Conversation, Refused};
use crate::status::Status;
use crate::wire::{self, Form, GraphSon, split_frame};

/// Responses that wait for a client to take them. Then the query waits.
const ANSWERS_MAX: usize = 4;
/// The most requests of a client that are not answered yet. A client that sends more loses its connection.
const OPEN_MAX: usize = 256;
/// The form of requests that come as text.
const TEXT: Form = Form::GraphSon(GraphSon::V3);
/// A client that takes nothing for so long is gone.
const SLOW: Duration = Duration::from_secs(60);
/// The buffer of a connection that waits for requests. It grows for larger ones.
const BUFFER_BYTES: usize = 4 << 10;

/// Begins a conversation over WebSocket, or answers a query in the address.
pub async fn or_query(
    State(web): State<Arc<Web>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    let Ok(upgrade) = upgrade else { return http::get(web, &headers, query.unwrap_or_default()).await };
    let bytes_max = web.request_bytes_max;
    let agent = headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok());
    let is_older = agent.is_some_and(wire::is_older);
    upgrade
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(BUFFER_BYTES)
        .max_message_size(bytes_max)
        .max_frame_size(bytes_max)
        .on_upgrade(move |socket| converse(web, is_older, socket))
}

/// Takes requests and sends responses until the client goes. Binary requests get binary responses, and text gets text.
async fn converse(web: Arc<Web>, is_older: bool, mut socket: WebSocket) {
    let (answers, mut answered) = mpsc::channel(ANSWERS_MAX);
    let mut conversation = Conversation::new(web.gremlin.clone(), web.gremlin.role_of_all());
    let places = Arc::new(Semaphore::new(OPEN_MAX));
    loop {
        tokio::select! {
            message = socket.recv() => {
                let (bytes, is_text) = match message {
                    Some(Ok(Message::Binary(frame))) => (frame, false),
                    Some(Ok(Message::Text(request))) => (request.into(), true),
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                };
                let place = match places.clone().try_acquire_owned() {
                    Ok(place) => place,
                    Err(_) => return too_many(socket).await,
                };
                let frame = if is_text { Some((TEXT, &bytes[..])) } else { split_frame(&bytes) };
                let form = frame.map_or(TEXT, |(form, _)| form);
                let asker = Asker { id: None, form, is_text, is_older, answers: answers.clone(), place: Some(place) };
                take(&mut conversation, frame.map(|(_, request)| request), asker).await;
            }
            Some(Answer { bytes, is_text, .. }) = answered.recv() => {
                let message = match is_text {
                    false => Message::Binary(bytes.into()),
                    true => Message::Text(String::from_utf8_lossy(&bytes).as_ref().into()),
                };
                if !matches!(timeout(SLOW, socket.send(message)).await, Ok(Ok(()))) {
                    return;
                }
            }
        }
    }
}

/// Ends the connection of a client that asks for more and more without taking what it asked for.
async fn too_many(mut socket: WebSocket) {
    let reason = "too many requests are not answered yet: wait for some, or use another connection";
    let close = CloseFrame { code: close_code::POLICY, reason: reason.into() };
    // The connection ends in any case.
    let _ = timeout(SLOW, socket.send(Message::Close(Some(close)))).await;
}

async fn take(conversation: &mut Conversation, request: Option<&[u8]>, asker: Asker) {
    let Some(request) = request else {
        let message = "a binary request begins with the length of its media type and the media type, which is that of GraphBinary 1 \
                       or of GraphSON 2 or 3";
        return asker.refuse_soon(Refused::new(Status::MalformedRequest, message));
    };
    match asker.form.read(request) {
        Ok(request) => {
            let asker = Asker { id: Some(request.id), ..asker };
            conversation.take(request, asker).await;
        }
        Err(unread) => {
            let refused = Refused::new(Status::MalformedRequest, unread.error.render());
            Asker { id: unread.id, ..asker }.refuse_soon(refused);
        }
    }
}
