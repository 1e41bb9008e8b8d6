//! Sending a stored event again.

use super::push::acting;
use crate::error::Error;
use crate::http::Call;
use hooks_shared::push::event_replay::{Push, Replayed, To, replay_event};

/// Replays an event of a source that the caller may see. Pushing again is for administrators.
pub async fn replay(call: &Call, source: &str, sequence: i64, to: &To) -> Result<Replayed, Error> {
    if !call.who.sight().covers(source) {
        return Err(Error::NotFound("event"));
    }
    if !call.who.is_admin() && !call.who.acts_as_person() {
        return Err(Error::Forbidden("replaying needs a person or an administrator's token"));
    }
    if to.push != Push::None && !call.who.is_admin() {
        return Err(Error::Forbidden("pushing again needs an administrator"));
    }
    if !to.listeners && to.push == Push::None {
        return Err(Error::invalid("say to whom: `listeners`, `push`, or both"));
    }
    let db = acting(call).await?;
    Ok(replay_event(&db, &call.who.label(), source, sequence, to).await?)
}
