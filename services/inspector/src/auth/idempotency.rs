//! `Idempotency-Key`: the same creating request sent twice creates once and is answered alike. The kept answer is
//! sealed under a key made of the caller's own credential and the given key, neither of which the database has.

use crate::error::Error;
use crate::http::{Answer, Body, Call};
use crate::store;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hooks_shared::Secret;
use hooks_shared::sealed::{Keyring, Place};
use sha2::{Digest, Sha256};
use std::future::Future;

const LONGEST_KEY: usize = 255;
const PLACE: Place<'static> = Place { row: "idempotency_keys", column: "answer" };

/// Runs `work` unless the same caller has done so with the same key; then repeats the answer.
pub async fn once<F>(call: &Call, work: F) -> Result<Answer, Error>
where
    F: Future<Output = Result<Answer, Error>>,
{
    let Some(key) = call.incoming.header("idempotency-key") else { return work.await };
    if key.is_empty() || key.len() > LONGEST_KEY {
        return Err(Error::invalid("Idempotency-Key: must have 1 to 255 characters"));
    }
    let caller = credential(call);
    let key_hash = digest(&[b"key", caller.as_bytes(), key.as_bytes()]);
    let request_hash = digest(&[call.incoming.method.as_bytes(), call.incoming.path.as_bytes(), &call.body]);
    let ring = ring(&caller, key)?;
    let db = call.session().await?;
    if !store::idempotency::begin(&db, &key_hash, &request_hash).await? {
        return repeat(&db, &ring, &key_hash, &request_hash).await;
    }
    // The work takes a connection of its own; holding two could starve everybody.
    drop(db);
    let answer = work.await;
    let db = call.session().await?;
    match &answer {
        Ok(done) => {
            if let Body::Whole(bytes) = &done.body {
                let text = Secret::new(String::from_utf8_lossy(bytes).into_owned());
                let sealed = ring.seal(&text, PLACE);
                store::idempotency::finish(&db, &key_hash, i32::from(done.status), &sealed).await?;
            }
        }
        Err(_) => store::idempotency::forget(&db, &key_hash).await?,
    }
    answer
}

async fn repeat(
    db: &hooks_shared::db::Session,
    ring: &Keyring,
    key_hash: &[u8],
    request_hash: &[u8],
) -> Result<Answer, Error> {
    let busy =
        || Error::conflict("idempotency_in_progress", "the first request with this key is still under way");
    let kept = store::idempotency::find(db, key_hash).await?.ok_or_else(busy)?;
    if kept.request_hash != request_hash {
        return Err(Error::unprocessable("idempotency_mismatch", "this key was used for another request"));
    }
    let (Some(status), Some(sealed)) = (kept.status, kept.answer) else { return Err(busy()) };
    let text = ring.open(&sealed, PLACE).map_err(|_| Error::Internal)?;
    let status = u16::try_from(status).unwrap_or(200);
    Ok(Answer::of(status, "application/json", text.expose().to_owned()).with("Idempotent-Replayed", "true"))
}

/// Something only this caller has, the same on every request of theirs.
fn credential(call: &Call) -> String {
    match (call.incoming.header("authorization"), &call.who.browser) {
        (Some(value), _) => value.to_owned(),
        (None, Some(browser)) => browser.csrf.clone(),
        (None, None) => "anonymous".to_owned(),
    }
}

fn digest(parts: &[&[u8]]) -> Vec<u8> {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    digest.finalize().to_vec()
}

fn ring(caller: &str, key: &str) -> Result<Keyring, Error> {
    let bytes = digest(&[b"seal", caller.as_bytes(), key.as_bytes()]);
    Keyring::parse(&Secret::new(format!("i:{}", STANDARD.encode(bytes)))).map_err(|_| Error::Internal)
}
