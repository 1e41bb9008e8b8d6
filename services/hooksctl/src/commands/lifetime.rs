//! For how long what is made here may be good: `--expires-in` of tokens and invites.

use hooks_shared::config::parse_duration;
use hooks_shared::{invite, token};
use std::time::Duration;

const SHORTEST: Duration = Duration::from_secs(60);

pub fn of_token(text: &str) -> Result<Duration, String> {
    within(text, token::LONGEST_LIFE)
}

pub fn of_invite(text: &str) -> Result<Duration, String> {
    within(text, invite::LONGEST_LIFE)
}

/// Said here, since a server would cut it without a word.
fn within(text: &str, longest: Duration) -> Result<Duration, String> {
    match parse_duration(text)? {
        short if short < SHORTEST => Err("must be at least 1m".to_owned()),
        long if long > longest => Err(format!("must be at most {}d", longest.as_secs() / 86_400)),
        fine => Ok(fine),
    }
}
