//! The stream: how long its first byte takes. A proxy that buffers lets the head through and holds the body.

use super::Show;
use super::finding::Finding;
use crate::options::Global;
use crate::output::{latency, note};
use crate::server::Endpoint;
use crate::stream::{Link, LinkEnd};
use anyhow::Result;
use std::time::{Duration, Instant};

/// What a network may add.
const ROOM: Duration = Duration::from_secs(3);
/// Above this, something holds the bytes back.
const SLOW: Duration = Duration::from_secs(2);

pub async fn examine(global: &Global, source: Option<&str>, show: &mut Show<'_>) -> Result<()> {
    let endpoint = global.subscribe()?;
    let Some(source) = source else {
        return show(Finding::skipped("stream", "no source is known: name one with --source"));
    };
    if !endpoint.has_token() {
        return show(Finding::skipped("stream", "no listener token: set HOOKS_TOKEN"));
    }
    show(match first_byte(&endpoint, source).await {
        Ok(finding) => finding,
        Err(error) if error.is::<crate::commands::Unreachable>() => {
            Finding::away("stream", format!("{error:#}"))
        }
        Err(error) => Finding::bad("stream", format!("{error:#}")),
    })
}

/// Starts just before the newest event, so that something is to be said at once: the event itself, or that it
/// was skipped. An empty source is silent until its first keepalive.
async fn first_byte(endpoint: &Endpoint, source: &str) -> Result<Finding> {
    let newest = endpoint.newest(source).await?.unwrap_or(0);
    let since = if newest > 0 { newest - 1 } else { 0 };
    let started = Instant::now();
    let mut link = Link::open(endpoint, source, &since.to_string()).await?;
    let head = started.elapsed();
    let keepalive = link.silence().div_f64(2.5);
    if newest == 0 {
        note(&format!(
            "`{source}` is empty: waiting for a keepalive, up to {} s",
            (keepalive + ROOM).as_secs()
        ));
    }
    let opened = Instant::now();
    let got = tokio::time::timeout(keepalive + ROOM, link.read()).await;
    let took = opened.elapsed();
    Ok(match got {
        Ok(Ok(_)) if newest > 0 && took > SLOW => buffers(&format!("the first byte took {}", latency(took))),
        Ok(Ok(_)) => Finding::good(
            "stream",
            format!("`{source}`: head after {}, first byte {} later", latency(head), latency(took)),
        ),
        Err(_) | Ok(Err(LinkEnd::Silent(_))) => {
            buffers(&format!("nothing came within {}, not even a keepalive", latency(took)))
        }
        Ok(Err(end)) => Finding::bad("stream", format!("`{source}`: {end} before the first byte")),
    })
}

fn buffers(what: &str) -> Finding {
    Finding::bad(
        "stream",
        format!(
            "{what}: a proxy in between seems to buffer; switch response buffering off for /subscribe \
             (nginx: proxy_buffering off)"
        ),
    )
}
