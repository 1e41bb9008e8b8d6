//! One connection through the proxy.

use std::future::pending;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::sleep;

use super::frames::{ClientSide, ServerSide};
use super::trip::{Action, Cut};
use super::{Direction, Mode, Shared, lock};

/// One read's worth; small enough that a big transfer is many pieces for delays.
const PIECE: usize = 64 * 1024;

/// No answer is withheld.
const NEVER: u64 = u64::MAX;

/// Why a connection ended before both sides closed it.
enum Broken {
    /// Reset on both sides.
    Reset,
    /// Reset for the client; the server may finish what it has got.
    LetServerFinish,
}

impl From<io::Error> for Broken {
    fn from(_: io::Error) -> Self {
        Self::Reset
    }
}

/// Serves `client` to its end.
pub(super) async fn serve(
    client: TcpStream,
    number: u64,
    mut cuts: watch::Receiver<u64>,
    shared: Arc<Shared>,
) {
    let open = Open { number, shared: &shared };
    let Some(server) = (tokio::select! {
        server = connect(&shared) => server,
        _ = cuts.changed() => None,
    }) else {
        return reset(client);
    };
    let (mut client, mut server) = (client, server);
    let broken = tokio::select! {
        outcome = pump(&mut client, &mut server, &shared) => outcome.err(),
        _ = cuts.changed() => Some(Broken::Reset),
    };
    match broken {
        None => {}
        Some(Broken::Reset) => {
            reset(client);
            reset(server);
        }
        Some(Broken::LetServerFinish) => {
            reset(client);
            drop(open);
            let _ = server.shutdown().await;
            let _ = tokio::io::copy(&mut server, &mut tokio::io::sink()).await;
        }
    }
}

/// Counts the connection as open while it lives, also if its task is aborted.
struct Open<'a> {
    number: u64,
    shared: &'a Shared,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        lock(&self.shared.open).remove(&self.number);
    }
}

async fn connect(shared: &Shared) -> Option<TcpStream> {
    passing(shared).await;
    let target = *lock(&shared.target);
    TcpStream::connect(target).await.ok()
}

/// Waits for the end of a black hole. While refusing, what is open goes on.
async fn passing(shared: &Shared) {
    let mut mode = shared.mode.subscribe();
    if mode.wait_for(|mode| *mode != Mode::Blackhole).await.is_err() {
        pending::<()>().await;
    }
}

fn reset(stream: TcpStream) {
    // Closing with a zero linger time is what sends the reset.
    let _ = socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO));
}

async fn pump(client: &mut TcpStream, server: &mut TcpStream, shared: &Shared) -> Result<(), Broken> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (client_read, client_write) = client.split();
    let (server_read, server_write) = server.split();
    let withheld = AtomicU64::new(NEVER);
    let up = Up { shared, withheld: &withheld, watch: ClientSide::new(), due: None };
    tokio::try_join!(
        up.pump(client_read, server_write),
        pump_down(server_read, client_write, shared, &withheld),
    )?;
    Ok(())
}

/// Reads one piece and holds it back as mode and delay say; `None` at the end of the stream, held back likewise.
async fn piece<'b>(
    read: &mut (impl AsyncRead + Unpin),
    buffer: &'b mut [u8],
    shared: &Shared,
    direction: Direction,
) -> Result<Option<&'b [u8]>, Broken> {
    let outcome = read.read(buffer).await;
    passing(shared).await;
    let n = outcome?;
    let delay = lock(&shared.delay).clone();
    if let Some(delay) = delay {
        sleep(delay(direction)).await;
        passing(shared).await;
    }
    Ok((n > 0).then(|| &buffer[..n]))
}

/// From client to server, with the tripwires.
struct Up<'a> {
    shared: &'a Shared,
    /// The number of the answer that the client must not get.
    withheld: &'a AtomicU64,
    watch: ClientSide,
    /// A cut that waits for the end of the statement in a later piece.
    due: Option<Cut>,
}

impl Up<'_> {
    async fn pump(
        mut self,
        mut read: impl AsyncRead + Unpin,
        mut write: impl AsyncWrite + Unpin,
    ) -> Result<(), Broken> {
        let mut buffer = vec![0; PIECE];
        while let Some(piece) = piece(&mut read, &mut buffer, self.shared, Direction::ToServer).await? {
            let mut sent = 0;
            for (at, action) in self.actions(piece) {
                write.write_all(&piece[sent..at]).await?;
                sent = at;
                match action {
                    Action::Hold(gate) => gate.pass().await,
                    Action::Cut(Cut::Before) => return Err(Broken::Reset),
                    Action::Cut(Cut::AfterForwarding) => return Err(Broken::LetServerFinish),
                    // The other direction ends the connection when the answer has come.
                    Action::Cut(Cut::AfterAnswer) => {}
                }
            }
            write.write_all(&piece[sent..]).await?;
        }
        Ok(write.shutdown().await?)
    }

    /// What to do at which offsets of `piece`, in order.
    fn actions(&mut self, piece: &[u8]) -> Vec<(usize, Action)> {
        let mut actions = Vec::new();
        let (statements, first_sync) = self.watch.feed(piece);
        if let (Some(cut), Some(at)) = (self.due, first_sync) {
            actions.push((at, Action::Cut(cut)));
        }
        for tripwire in lock(&self.shared.tripwires).iter_mut() {
            if let Some(action) = tripwire.on_bytes(piece) {
                self.withhold(&action, 0);
                actions.push((if action.is_before() { 0 } else { piece.len() }, action));
            }
            for statement in &statements {
                let Some(action) = tripwire.on_sql(&statement.sql) else { continue };
                self.withhold(&action, statement.answer);
                match (&action, statement.after) {
                    (action, _) if action.is_before() => actions.push((statement.before, action.clone())),
                    (_, Some(after)) => actions.push((after, action)),
                    (Action::Cut(cut), None) => self.due = Some(*cut),
                    (Action::Hold(_), None) => {}
                }
            }
        }
        actions.sort_by_key(|(at, _)| *at);
        actions
    }

    /// Tells the other direction before the server can answer. Without a statement it is the next thing said.
    fn withhold(&self, action: &Action, answer: u64) {
        if matches!(action, Action::Cut(Cut::AfterAnswer)) {
            self.withheld.store(answer, Ordering::SeqCst);
        }
    }
}

async fn pump_down(
    mut read: impl AsyncRead + Unpin,
    mut write: impl AsyncWrite + Unpin,
    shared: &Shared,
    withheld: &AtomicU64,
) -> Result<(), Broken> {
    let mut buffer = vec![0; PIECE];
    let mut watch = ServerSide::new();
    let mut first = true;
    while let Some(piece) = piece(&mut read, &mut buffer, shared, Direction::ToClient).await? {
        let ends = watch.feed(piece);
        if std::mem::take(&mut first) && piece.len() == 1 {
            watch.skip();
        }
        let forbidden = withheld.load(Ordering::SeqCst);
        if forbidden == NEVER {
            write.write_all(piece).await?;
            continue;
        }
        // Everything up to the end of the answer before is the client's; the withheld one is swallowed whole.
        let last_allowed = forbidden.saturating_sub(1);
        let allowed = match ends.iter().find(|(number, _)| *number == last_allowed) {
            Some((_, end)) => *end,
            None if watch.answers() < last_allowed => piece.len(),
            None => 0,
        };
        write.write_all(&piece[..allowed]).await?;
        if watch.answers() >= forbidden {
            return Err(Broken::Reset);
        }
    }
    Ok(write.shutdown().await?)
}
