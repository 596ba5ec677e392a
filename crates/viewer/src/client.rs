//! One client: its wishes in, news and frames out, at its own pace.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::TrySendError;

use axum::extract::ws::{Message, WebSocket};
use serde_json::json;

use crate::hub::Hub;
use crate::live::Command;
use crate::message::Wish;
use crate::server::Shared;

/// A client that has sent so many messages that make no sense is shown out.
const MOST_FAULTS: u32 = 100;

/// Counts a client as long as it is there, and lets go of what it held.
struct Presence {
    shared: Arc<Shared>,
    client: u64,
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.shared.clients.fetch_sub(1, Ordering::Relaxed);
        if let Some(commands) = &self.shared.commands {
            let _ = commands.try_send(Command { client: self.client, wish: None });
        }
    }
}

/// Serves a client until it leaves.
pub(crate) async fn attend(mut socket: WebSocket, shared: Arc<Shared>) {
    shared.clients.fetch_add(1, Ordering::Relaxed);
    let client = shared.next_client.fetch_add(1, Ordering::Relaxed);
    let presence = Presence { shared: Arc::clone(&shared), client };
    // An error is a client that has gone.
    let _ = talk(&mut socket, &shared, client).await;
    drop(presence);
}

/// What ends a talk.
struct Gone;

impl From<axum::Error> for Gone {
    fn from(_: axum::Error) -> Self {
        Gone
    }
}

async fn talk(socket: &mut WebSocket, shared: &Arc<Shared>, client: u64) -> Result<(), Gone> {
    let hub: &Hub = &shared.hub;
    let (mut changes, mut latest) = (hub.watch_changes(), hub.watch_latest());
    let mut seen = Told::default();
    let mut faults = 0;
    let mode = if shared.commands.is_some() { "live" } else { "replay" };
    let hello = json!({
        "type": "hello",
        "protocol": 1,
        "gelenk": gelenk::VERSION,
        "mode": mode,
        "engines": gelenk::ENGINES,
        "ghosts": shared.ghosts.possible(),
    });
    say(socket, hello.to_string()).await?;
    tell(socket, hub, &mut seen).await?;
    latest.mark_changed();
    loop {
        // One thing after the other: while a slow client takes what it was sent, nothing more is made for it.
        tokio::select! {
            changed = changes.changed() => {
                changed.map_err(|_| Gone)?;
                tell(socket, hub, &mut seen).await?;
            }
            changed = latest.changed() => {
                changed.map_err(|_| Gone)?;
                // What the frame belongs to comes first.
                tell(socket, hub, &mut seen).await?;
                let chunk = latest.borrow_and_update().to_vec();
                if !chunk.is_empty() {
                    socket.send(Message::Binary(chunk.into())).await?;
                }
            }
            message = socket.recv() => match message {
                None | Some(Ok(Message::Close(_))) => return Ok(()),
                Some(Err(error)) => return Err(error.into()),
                Some(Ok(Message::Text(text))) => {
                    if let Err(reason) = obey(socket, shared, client, text.as_str()).await? {
                        faults += 1;
                        let error = json!({ "type": "error", "message": reason });
                        say(socket, error.to_string()).await?;
                    }
                }
                Some(Ok(Message::Binary(_))) => {
                    faults += 1;
                    let error = json!({ "type": "error", "message": "wishes are text" });
                    say(socket, error.to_string()).await?;
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
            }
        }
        if faults > MOST_FAULTS {
            return Err(Gone);
        }
    }
}

async fn say(socket: &mut WebSocket, text: String) -> Result<(), Gone> {
    socket.send(Message::Text(text.into())).await?;
    Ok(())
}

/// What a client has been told.
#[derive(Default)]
struct Told {
    runs: Vec<(u32, crate::hub::Seen)>,
    status: Option<Arc<str>>,
}

/// Sends what is new, status last.
async fn tell(socket: &mut WebSocket, hub: &Hub, told: &mut Told) -> Result<(), Gone> {
    for text in hub.news(&mut told.runs) {
        say(socket, text).await?;
    }
    let status = hub.status();
    let known = told.status.as_ref().is_some_and(|told| Arc::ptr_eq(told, &status));
    if !known && status.len() > 2 {
        say(socket, status.to_string()).await?;
        told.status = Some(status);
    }
    Ok(())
}

/// Does a wish; the inner error is for the client.
async fn obey(
    socket: &mut WebSocket,
    shared: &Arc<Shared>,
    client: u64,
    text: &str,
) -> Result<Result<(), String>, Gone> {
    let wish = match Wish::read(text) {
        Ok(wish) => wish,
        Err(reason) => return Ok(Err(reason)),
    };
    match wish {
        Wish::Frames { run, from, count, every } => {
            // An empty answer says that there are no more.
            let chunk = shared
                .hub
                .frames(run, from, count, every)
                .unwrap_or_else(|| crate::frame::chunk(run, u32::MAX, from, &[]));
            socket.send(Message::Binary(chunk.into())).await?;
            Ok(Ok(()))
        }
        Wish::Ghost { engine } => Ok(shared.ghosts.run(&engine)),
        Wish::Drop { run } => {
            shared.hub.drop_run(run);
            Ok(Ok(()))
        }
        wish => {
            if let Wish::Parameter { name, value } = &wish {
                shared.ghosts.set(name, *value);
            }
            let Some(commands) = &shared.commands else {
                return Ok(Err("this is a recording: it cannot be changed".to_owned()));
            };
            Ok(match commands.try_send(Command { client, wish: Some(wish) }) {
                Ok(()) => Ok(()),
                Err(TrySendError::Full(_)) => Err("the simulation is busy".to_owned()),
                Err(TrySendError::Disconnected(_)) => {
                    Err("the simulation has ended: start gelenk view again".to_owned())
                }
            })
        }
    }
}
