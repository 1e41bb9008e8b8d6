//! Does a NOTIFY arrive? For `hooksctl doctor`: through a transaction pooler it does not.

use super::CHANNEL;
use super::session::{SessionOptions, configured, connect};
use super::url::Target;
use futures_util::future::poll_fn;
use std::time::{Duration, Instant};
use tokio::time::timeout;
use tokio_postgres::AsyncMessage;

/// Listens on the channel, notifies it from another session with a word that no service knows, and waits for that
/// word. One session would not do: a pooler may give it the same server connection for both, and it hears itself.
/// The error says what did not happen.
pub async fn notify_round_trip(
    target: &Target,
    application_name: &'static str,
    word: &str,
    limit: Duration,
) -> Result<Duration, String> {
    let options = SessionOptions::service(application_name);
    let (client, mut connection) = configured(target, &options)
        .connect(target.tls.clone())
        .await
        .map_err(|error| super::describe(&error))?;
    let notifier = connect(target, &options).await.map_err(|error| super::describe(&error))?;
    let (sender, mut notes) = tokio::sync::mpsc::channel(64);
    let driver = tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
            if let AsyncMessage::Notification(note) = message
                && sender.send(note.payload().to_owned()).await.is_err()
            {
                return;
            }
        }
    });
    let trip = async {
        client.batch_execute(&format!("listen {CHANNEL}")).await.map_err(|error| super::describe(&error))?;
        let started = Instant::now();
        notifier
            .query("select pg_notify($1, $2)", &[&CHANNEL, &word])
            .await
            .map_err(|error| super::describe(&error))?;
        while let Some(payload) = notes.recv().await {
            if payload == word {
                return Ok(started.elapsed());
            }
        }
        Err("the connection ended before the notification came".to_owned())
    };
    let done = timeout(limit, trip).await;
    driver.abort();
    done.unwrap_or_else(|_| Err(format!("no notification came within {} s", limit.as_secs())))
}
