//! Requests to providers, for keys and confirmations. The verifier has checked the host before.

use hooks_shared::verify::{Fetch, FetchRequest, Fetched};
use std::time::Duration;

/// Longer than any certificate or key.
const MAX_ANSWER: usize = 64 * 1024;
const TIME_OUT: Duration = Duration::from_secs(5);

/// Over HTTPS, without following redirects.
#[derive(Debug, Clone)]
pub struct HttpFetch(reqwest::Client);

impl HttpFetch {
    /// Trusts the authorities of this machine.
    ///
    /// # Errors
    /// When no client can be made.
    pub fn new() -> Result<Self, String> {
        Self::over(reqwest::Client::builder, TIME_OUT)
    }

    /// The same rules for a client with other authorities or addresses, and another time-out for the whole of a request.
    ///
    /// # Errors
    /// When no client can be made.
    pub fn over(
        builder: impl FnOnce() -> reqwest::ClientBuilder,
        time_out: Duration,
    ) -> Result<Self, String> {
        // One TLS provider for the process; a second call would be the only way to fail.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client =
            builder().https_only(true).redirect(reqwest::redirect::Policy::none()).timeout(time_out).build();
        client.map(Self).map_err(|error| format!("the client for providers' keys cannot be made: {error}"))
    }

    async fn get(&self, request: FetchRequest) -> Result<Vec<u8>, String> {
        let started = match request.json {
            None => self.0.get(&request.url),
            Some(body) => self.0.post(&request.url).header("content-type", "application/json").body(body),
        };
        // The address can hold a token, and is left out of what is said.
        let mut answer = started.send().await.map_err(|error| error.without_url().to_string())?;
        if !answer.status().is_success() {
            return Err(format!("it was answered with {}", answer.status()));
        }
        let mut body = Vec::new();
        while let Some(piece) = answer.chunk().await.map_err(|error| error.without_url().to_string())? {
            if body.len() + piece.len() > MAX_ANSWER {
                return Err("the answer is too long".into());
            }
            body.extend_from_slice(&piece);
        }
        Ok(body)
    }
}

impl Fetch for HttpFetch {
    fn fetch(&self, request: FetchRequest) -> Fetched<'_> {
        Box::pin(self.get(request))
    }
}
