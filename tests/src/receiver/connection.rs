//! One connection of a receiver.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;

use super::Request;
use super::script::{Answer, Script};
use super::state::{Chosen, State};
use crate::http::{Head, Wire, dechunk};

trait Io: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}

/// Serves one accepted connection to its end.
pub(super) async fn serve(tcp: TcpStream, acceptor: Option<TlsAcceptor>, number: usize, state: Arc<State>) {
    let _ = tcp.set_nodelay(true);
    // A second handle on the socket, since the stream disappears into TLS: closing after this is a reset.
    let Ok(socket) = SockRef::from(&tcp).try_clone() else { return };
    let stream: Box<dyn Io> = match acceptor {
        None => Box::new(tcp),
        Some(acceptor) => match acceptor.accept(tcp).await {
            Ok(stream) => Box::new(stream),
            // A client that distrusts the certificate ends here; the tests see that no request came.
            Err(_) => return,
        },
    };
    let mut connection = Connection { wire: Wire::new(stream), number, state: &state };
    if let Ok(End::Reset) = connection.run().await {
        let _ = socket.set_linger(Some(Duration::ZERO));
    }
}

/// How a connection ends.
enum End {
    Close,
    Reset,
}

struct Connection<'a> {
    wire: Wire<Box<dyn Io>>,
    number: usize,
    state: &'a State,
}

impl Connection<'_> {
    async fn run(&mut self) -> io::Result<End> {
        while let Some(raw) = self.wire.until(b"\r\n\r\n").await? {
            let _in_flight = self.state.begin();
            let (request, script) = self.receive(Head::parse(raw)).await?;
            let whole = request.complete || !script.reads_body;
            self.state.requests().push(request);
            if !whole {
                self.state.hung_up();
                break;
            }
            if !self.wait(&script).await {
                self.state.hung_up();
                break;
            }
            if matches!(script.answer, Answer::Reset) {
                return Ok(End::Reset);
            }
            self.answer(&script).await?;
            if script.closes {
                break;
            }
        }
        self.wire.stream.shutdown().await?;
        Ok(End::Close)
    }

    /// Reads what the script wants to read of the request, and settles the script.
    async fn receive(&mut self, head: Head) -> io::Result<(Request, Script)> {
        let now = Instant::now();
        let (body, chunks) = (Vec::new(), Vec::new());
        let mut request = Request {
            head,
            body,
            chunks,
            complete: false,
            arrived: now,
            finished: now,
            connection: self.number,
        };
        let chosen = self.state.choose(request.path());
        let (reads, continues) = match &chosen {
            Chosen::Now(script) => (script.reads_body, script.continues),
            Chosen::Later(_) => (true, true),
        };
        if reads {
            let waits =
                request.header("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue"));
            if waits && continues {
                self.wire.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
                self.wire.stream.flush().await?;
            }
            request.complete = self.read_body(&mut request).await.is_ok();
            request.finished = Instant::now();
        }
        let script = match chosen {
            Chosen::Now(script) => script,
            Chosen::Later(choose) => choose(&request),
        };
        Ok((request, script))
    }

    async fn read_body(&mut self, request: &mut Request) -> io::Result<()> {
        if request.head.is_chunked() {
            let outcome = dechunk(&mut self.wire, &mut request.chunks).await;
            request.body = request.chunks.concat();
            return outcome;
        }
        match self.wire.exactly(request.head.content_length().unwrap_or(0)).await {
            Ok(body) => request.body = body,
            Err(error) => {
                request.body = self.wire.take_buffered();
                return Err(error);
            }
        }
        Ok(())
    }

    /// Waits as the script says; false if the client left meanwhile.
    async fn wait(&mut self, script: &Script) -> bool {
        let waiting = async {
            if let Some(gate) = &script.gate {
                gate.pass().await;
            }
            if let Some(delay) = script.delay {
                sleep(delay).await;
            }
        };
        tokio::select! {
            biased;
            () = waiting => true,
            () = left(&mut self.wire) => false,
        }
    }

    async fn answer(&mut self, script: &Script) -> io::Result<()> {
        let bytes = script.answer.to_bytes(script.closes);
        let stream = &mut self.wire.stream;
        match script.drip {
            None => stream.write_all(&bytes).await?,
            Some(pause) => {
                for byte in bytes {
                    stream.write_all(&[byte]).await?;
                    stream.flush().await?;
                    sleep(pause).await;
                }
            }
        }
        stream.flush().await?;
        if let Answer::Endless { chunk, pause } = &script.answer {
            let framed = [format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat();
            loop {
                if let Err(error) = stream.write_all(&framed).await {
                    self.state.hung_up();
                    return Err(error);
                }
                stream.flush().await?;
                sleep(*pause).await;
            }
        }
        Ok(())
    }
}

/// Returns when the client has closed or reset the connection; keeps what it sends ahead until then.
async fn left(wire: &mut Wire<Box<dyn Io>>) {
    while matches!(wire.fill().await, Ok(n) if n > 0) {}
}
