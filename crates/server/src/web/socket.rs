//! The Gremlin protocol over WebSocket.

use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Bytes;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseCode, CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{ConnectInfo, RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::{Sleep, sleep, timeout};

use super::meter::Meter;
use super::{Web, http};
use crate::gremlin::{self, Answer, Asker, Conversation, Refused};
use crate::observe::{Over, Seen};
use crate::status::Status;
use crate::wire::{self, Encoded, Form, GraphSon, split_frame};

/// Responses that wait for a client to take them. Then the query waits.
const ANSWERS_MAX: usize = 4;
/// The most requests of a client that are not answered yet. A client that sends more loses its connection.
const OPEN_MAX: usize = 256;
/// The form of requests that come as text.
const TEXT: Form = Form::GraphSon(GraphSon::V3);
/// The buffer of a connection that waits for requests. It grows for larger ones.
const BUFFER_BYTES: usize = 4 << 10;
/// What stands before the content of a control frame of a client.
const CONTROL_BYTES: usize = 6;
/// How long a client may take to say who it is.
const LOGIN: Duration = Duration::from_secs(60);
/// How long the message that ends a connection may take.
const CLOSING: Duration = Duration::from_secs(1);

/// Begins a conversation over WebSocket, or answers a query in the address.
pub async fn or_query(
    State(web): State<Arc<Web>>,
    Extension(meter): Extension<Arc<Meter>>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    let Ok(upgrade) = upgrade else { return http::get(&web, from.ip(), &headers, &query.unwrap_or_default()).await };
    let bytes_max = web.request_bytes_max;
    let is_older = wire::is_older(&headers);
    upgrade
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(BUFFER_BYTES)
        .max_message_size(bytes_max)
        .max_frame_size(bytes_max)
        .on_upgrade(move |socket| async move { Client::new(web, from.ip(), is_older, meter, socket).converse().await })
}

/// A client that is connected by a WebSocket.
struct Client {
    web: Arc<Web>,
    from: IpAddr,
    socket: WebSocket,
    meter: Arc<Meter>,
    conversation: Conversation,
    is_older: bool,
    /// The requests that it may have open.
    open: Arc<Semaphore>,
    answers: mpsc::Sender<Answer>,
    answered: mpsc::Receiver<Answer>,
    leaving: watch::Receiver<bool>,
}

/// What comes next.
enum Event {
    Message(Option<Result<Message, axum::Error>>),
    Answer(Answer),
    /// The time to say who it is has passed.
    Stranger,
    Leaving,
}

/// Why a connection ends.
enum End {
    /// The client is gone.
    Gone,
    /// The code and the reason that the client is told.
    Told(CloseCode, &'static str),
}

impl Client {
    fn new(web: Arc<Web>, from: IpAddr, is_older: bool, meter: Arc<Meter>, socket: WebSocket) -> Self {
        let (answers, answered) = mpsc::channel(ANSWERS_MAX);
        let conversation = Conversation::new(web.gremlin.clone(), web.gremlin.anyone());
        let (open, leaving) = (Arc::new(Semaphore::new(OPEN_MAX)), web.leaving.clone());
        Self { web, from, socket, meter, conversation, is_older, open, answers, answered, leaving }
    }

    /// Takes requests and sends responses until the client goes. Binary requests get binary responses, and text gets text.
    async fn converse(mut self) {
        if let End::Told(code, reason) = self.until_end().await {
            let close = Message::Close(Some(CloseFrame { code, reason: reason.into() }));
            // The connection ends in any case.
            let _ = timeout(CLOSING, self.socket.send(close)).await;
        }
    }

    async fn until_end(&mut self) -> End {
        let mut login = Some(Box::pin(sleep(LOGIN))).filter(|_| !self.conversation.is_known());
        loop {
            let done = match self.next(&mut login).await {
                Event::Message(Some(Ok(Message::Binary(frame)))) => self.take(frame, false).await,
                Event::Message(Some(Ok(Message::Text(request)))) => self.take(request.into(), true).await,
                Event::Message(Some(Ok(Message::Ping(content) | Message::Pong(content)))) => {
                    // It may come between the frames of a message.
                    self.meter.part(CONTROL_BYTES + content.len());
                    Ok(())
                }
                Event::Message(Some(Ok(Message::Close(_)))) => {
                    // This sends the answer to it.
                    let _ = timeout(CLOSING, self.socket.recv()).await;
                    Err(End::Gone)
                }
                Event::Message(Some(Err(_)) | None) => Err(End::Gone),
                Event::Answer(answer) => self.send(answer).await,
                Event::Stranger => Err(End::Told(close_code::POLICY, "name and password did not come in time")),
                Event::Leaving => Err(self.leave().await),
            };
            if let Err(end) = done {
                return end;
            }
            if login.is_some() && self.conversation.is_known() {
                login = None;
                self.meter.take_of(self.web.gremlin.memory(true).clone());
            }
        }
    }

    async fn next(&mut self, login: &mut Option<Pin<Box<Sleep>>>) -> Event {
        let too_late = async {
            match login {
                Some(login) => login.await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            message = self.socket.recv() => Event::Message(message),
            Some(answer) = self.answered.recv() => Event::Answer(answer),
            () = too_late => Event::Stranger,
            _ = self.leaving.wait_for(|leaving| *leaving) => Event::Leaving,
        }
    }

    async fn take(&mut self, bytes: Bytes, is_text: bool) -> Result<(), End> {
        let share = self.meter.whole();
        let Ok(open) = self.open.clone().try_acquire_owned() else {
            let reason = "too many requests are not answered yet: wait for some, or use another connection";
            return Err(End::Told(close_code::POLICY, reason));
        };
        let frame = if is_text { Some((TEXT, bytes)) } else { split_frame(&bytes) };
        let form = frame.as_ref().map_or(TEXT, |(form, _)| *form);
        let seen = Seen::new(&self.web.gremlin.observer, Over::WebSocket, self.from, None);
        let mut asker = Asker::new(form, self.answers.clone(), self.web.gremlin.memory_of_responses.clone(), seen);
        (asker.is_text, asker.is_older, asker.open) = (is_text, self.is_older, Some(open));
        let answer = match frame {
            Some((form, bytes)) => self.conversation.take(gremlin::Message { form, bytes, share }, asker).await,
            None => Some(asker.answer(&Refused::new(Status::MalformedRequest, NO_FRAME).reply(None))),
        };
        match answer {
            Some(answer) => self.send(answer).await,
            None => Ok(()),
        }
    }

    async fn send(&mut self, Answer { encoded, is_text, share, .. }: Answer) -> Result<(), End> {
        let message = match encoded {
            Encoded::Text(text) if is_text => Message::Text(text.into()),
            encoded => Message::Binary(encoded.into_bytes().into()),
        };
        let sent = self.socket.send(message).await;
        drop(share);
        sent.map_err(|_| End::Gone)
    }

    /// Sends the responses that are there.
    async fn leave(&mut self) -> End {
        while let Ok(answer) = self.answered.try_recv() {
            if let Err(end) = self.send(answer).await {
                return end;
            }
        }
        End::Told(close_code::AWAY, "the server stops")
    }
}

const NO_FRAME: &str = "a binary request begins with the length of its media type and the media type, which is that of GraphBinary 1 \
                        or of GraphSON 2 or 3";
