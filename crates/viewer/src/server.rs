//! The server: the page, and a websocket for each client.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, HeaderName};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use gelenk::model::{Limits, Loaded, RunSettings};

use crate::client;
use crate::ghost::Ghosts;
use crate::guard::{self, Refusal};
use crate::hub::Hub;
use crate::live::{Command, Live, Loader};
use crate::{page, replay};

/// Wishes that may wait for the simulation.
const QUEUE: usize = 1024;
/// Most clients at once.
const MOST_CLIENTS: usize = 256;
/// The largest message of a client, bytes.
pub(crate) const LARGEST_MESSAGE: usize = 64 << 10;

/// What is to be seen.
pub enum Subject {
    /// A model that runs in the server.
    Live {
        /// Loads it, with other values of parameters.
        load: Loader,
        /// Values given from the beginning.
        overrides: Vec<(String, String)>,
        /// The model with those.
        loaded: Box<Loaded>,
        /// How it runs.
        settings: Box<RunSettings>,
    },
    /// A recording.
    Replay {
        /// The file.
        recording: PathBuf,
        /// What its model may ask of the machine.
        limits: Limits,
    },
}

impl std::fmt::Debug for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Subject::Live { loaded, .. } => write!(f, "Live({})", loaded.model.name),
            Subject::Replay { recording, .. } => write!(f, "Replay({})", recording.display()),
        }
    }
}

/// How to serve.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Where to listen: the loopback unless told.
    pub address: IpAddr,
    /// The port; 0 for any that is free.
    pub port: u16,
    /// Recordings to lie over the motion.
    pub ghosts: Vec<PathBuf>,
}

impl Default for ServeOptions {
    fn default() -> Self {
        ServeOptions { address: Ipv4Addr::LOCALHOST.into(), port: 0, ghosts: Vec::new() }
    }
}

/// Why there is nothing to see.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The port cannot be had, or the system gave no random numbers.
    #[error("cannot serve at {address}: {source}")]
    Serve {
        /// Where.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// A recording cannot be read.
    #[error(transparent)]
    Recording(#[from] gelenk::RecordingError),
    /// A recording without a model in it.
    #[error("{0}")]
    Model(String),
}

/// What all requests share.
pub(crate) struct Shared {
    pub(crate) hub: Arc<Hub>,
    /// To the simulation; `None` for a recording.
    pub(crate) commands: Option<SyncSender<Command>>,
    pub(crate) ghosts: Ghosts,
    pub(crate) clients: AtomicUsize,
    pub(crate) next_client: AtomicU64,
    token: String,
    here: SocketAddr,
}

/// Serves until `stop` says so. `ready` is told the address to open.
///
/// Blocks; the simulation has a thread of its own, so that clients never slow it.
pub fn serve(
    subject: Subject,
    options: &ServeOptions,
    ready: impl FnOnce(&str),
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<(), ViewError> {
    let asked = SocketAddr::new(options.address, options.port);
    let fault = |source| ViewError::Serve { address: asked, source };
    let hub = Arc::new(Hub::new());
    let (commands, ghosts) = begin(subject, options, &hub)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(fault)?;
    let result = runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(asked).await?;
        let here = listener.local_addr()?;
        let token = crate::token::new()?;
        let shown = match here.ip() {
            ip if ip.is_unspecified() => SocketAddr::new(Ipv4Addr::LOCALHOST.into(), here.port()),
            _ => here,
        };
        let address = format!("http://{shown}/{token}/");
        let shared = Arc::new(Shared {
            hub,
            commands,
            ghosts,
            clients: AtomicUsize::new(0),
            next_client: AtomicU64::new(1),
            token,
            here,
        });
        let app = router(shared);
        ready(&address);
        let stopped = async {
            while !stop() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::select! {
            ended = axum::serve(listener, app).into_future() => ended,
            () = stopped => Ok(()),
        }
    });
    // Open sockets end with their tasks.
    runtime.shutdown_background();
    result.map_err(fault)
}

/// Sets the subject going: the runs are there, the simulation waits for wishes.
fn begin(
    subject: Subject,
    options: &ServeOptions,
    hub: &Arc<Hub>,
) -> Result<(Option<SyncSender<Command>>, Ghosts), ViewError> {
    let (commands, ghosts) = match subject {
        Subject::Live { load, overrides, loaded, settings } => {
            let scene = crate::scene::scene(&loaded.model);
            hub.add_run("live", &scene, serde_json::Value::Null);
            let (sender, receiver) = sync_channel(QUEUE);
            let ghosts = Ghosts::new(
                Some((Arc::clone(&load), overrides.clone(), (*settings).clone())),
                Arc::clone(hub),
            );
            let live = Live::new(load, overrides, *loaded, *settings, Arc::clone(hub));
            std::thread::Builder::new()
                .name("simulation".to_owned())
                .spawn(move || live.run(&receiver))
                .map_err(|error| ViewError::Model(error.to_string()))?;
            (Some(sender), ghosts)
        }
        Subject::Replay { recording, limits } => {
            let again = replay::open(hub, &recording, limits)?;
            (None, Ghosts::new(again, Arc::clone(hub)))
        }
    };
    for ghost in &options.ghosts {
        replay::open(hub, ghost, Limits::default())?;
    }
    Ok((commands, ghosts))
}

fn router(shared: Arc<Shared>) -> Router {
    let text = |kind: &'static str, body: &'static str| {
        move || async move { ([(CONTENT_TYPE, kind)], body) }
    };
    Router::new()
        .route("/{token}/", get(text("text/html; charset=utf-8", page::HTML)))
        .route("/{token}/page.js", get(text("text/javascript; charset=utf-8", page::SCRIPT)))
        .route("/{token}/page.css", get(text("text/css; charset=utf-8", page::STYLE)))
        .route("/{token}/socket", get(socket))
        .layer(from_fn_with_state(Arc::clone(&shared), watchman))
        .with_state(shared)
}

/// Lets in who may, and gives every answer the headers that keep others out.
async fn watchman(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let checked = guard::check(request.uri().path(), request.headers(), &shared.token, shared.here);
    let host = request.headers().get("host").cloned();
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(refusal) => {
            let (status, sentence) = Refusal::answer(refusal);
            (status, sentence).into_response()
        }
    };
    let socket = match (&checked, host.as_ref().and_then(|host| host.to_str().ok())) {
        (Ok(()), Some(host)) => format!(" ws://{host}"),
        _ => String::new(),
    };
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
         connect-src 'self'{socket}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let headers = response.headers_mut();
    let mut set = |name: &'static str, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    };
    set("content-security-policy", &policy);
    set("x-content-type-options", "nosniff");
    set("x-frame-options", "DENY");
    set("referrer-policy", "no-referrer");
    set("cross-origin-opener-policy", "same-origin");
    set("cross-origin-resource-policy", "same-origin");
    set("cache-control", "no-store");
    response
}

async fn socket(State(shared): State<Arc<Shared>>, upgrade: WebSocketUpgrade) -> Response {
    if shared.clients.load(Ordering::Relaxed) >= MOST_CLIENTS {
        return (StatusCode::SERVICE_UNAVAILABLE, "too many clients\n").into_response();
    }
    upgrade
        .max_message_size(LARGEST_MESSAGE)
        .max_frame_size(LARGEST_MESSAGE)
        .on_upgrade(move |socket| client::attend(socket, shared))
}

/// Serves in a thread of its own, for tests and programs: the address and a handle that ends it when dropped.
pub fn spawn(subject: Subject, options: ServeOptions) -> Result<Running, ViewError> {
    let stop = Arc::new(AtomicBool::new(false));
    let (sender, receiver) = sync_channel(1);
    let ended = Arc::clone(&stop);
    let failure = Arc::new(Mutex::new(None));
    let place = Arc::clone(&failure);
    let thread = std::thread::spawn(move || {
        let told = |address: &str| {
            let _ = sender.send(address.to_owned());
        };
        let result = serve(subject, &options, told, &|| ended.load(Ordering::Relaxed));
        if let (Err(error), Ok(mut place)) = (result, place.lock()) {
            *place = Some(error);
        }
    });
    match receiver.recv() {
        Ok(address) => Ok(Running { address, stop, thread: Some(thread) }),
        Err(_) => {
            let _ = thread.join();
            let error = failure.lock().ok().and_then(|mut place| place.take());
            Err(error.unwrap_or_else(|| ViewError::Model("the server has ended".to_owned())))
        }
    }
}

/// A server that runs; it ends when this is dropped.
#[derive(Debug)]
pub struct Running {
    /// The address to open.
    pub address: String,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
