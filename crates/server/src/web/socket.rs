//! The Gremlin protocol over WebSocket.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::{Web, http};
use crate::gremlin::{Conversation, Refused, Replies};
use crate::status::Status;
use crate::wire::{Form, GraphSon, split_frame};

/// Responses that wait for a client to take them. Then the query waits.
const REPLIES_MAX: usize = 4;
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
    upgrade
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(BUFFER_BYTES)
        .max_message_size(bytes_max)
        .max_frame_size(bytes_max)
        .on_upgrade(move |socket| converse(web, socket))
}

/// Takes requests and sends responses until the client goes. Binary requests get binary responses, and text gets text.
async fn converse(web: Arc<Web>, mut socket: WebSocket) {
    let (binary, mut binary_replies) = mpsc::channel(REPLIES_MAX);
    let (text, mut text_replies) = mpsc::channel(REPLIES_MAX);
    let mut conversation = Conversation::new(web.gremlin.clone());
    loop {
        let reply = tokio::select! {
            message = socket.recv() => match message {
                Some(Ok(Message::Binary(frame))) => {
                    take_frame(&mut conversation, &frame, &binary);
                    continue;
                }
                Some(Ok(Message::Text(request))) => {
                    take(&mut conversation, Form::GraphSon(GraphSon::V3), request.as_bytes(), &text);
                    continue;
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
            },
            Some(reply) = binary_replies.recv() => Message::Binary(reply.bytes.into()),
            Some(reply) = text_replies.recv() => match String::from_utf8(reply.bytes) {
                Ok(reply) => Message::Text(reply.into()),
                Err(_) => return,
            },
        };
        if !matches!(timeout(SLOW, socket.send(reply)).await, Ok(Ok(()))) {
            return;
        }
    }
}

fn take_frame(conversation: &mut Conversation, frame: &[u8], replies: &Replies) {
    match split_frame(frame) {
        Some((form, request)) => take(conversation, form, request, replies),
        None => {
            let refused = Refused::new(
                Status::MalformedRequest,
                "a binary request begins with the length of its media type and the media type, which is that of GraphBinary 1 or GraphSON 2 or 3",
            );
            conversation.refuse(None, refused, Form::GraphSon(GraphSon::V3), replies.clone());
        }
    }
}

fn take(conversation: &mut Conversation, form: Form, request: &[u8], replies: &Replies) {
    match form.read(request) {
        Ok(request) => conversation.take(request, form, replies.clone()),
        Err(unread) => {
            let refused = Refused::new(Status::MalformedRequest, unread.error.render());
            conversation.refuse(unread.id, refused, form, replies.clone());
        }
    }
}
