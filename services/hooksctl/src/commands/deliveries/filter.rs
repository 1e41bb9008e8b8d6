//! Conditions on deliveries, and what is done to one after the other.

use crate::commands::{Failed, exit_code};
use crate::options::Global;
use crate::output::{line, note};
use crate::server::Endpoint;
use anyhow::Result;
use serde_json::json;

/// Does `action` to each id, and says so. All are tried; the first refusal decides the exit code.
pub async fn each(
    global: &Global,
    inspector: &Endpoint,
    ids: &[String],
    action: &str,
    word: &str,
) -> Result<()> {
    let mut refused: Vec<anyhow::Error> = Vec::new();
    for id in ids {
        let url = inspector.url(&["api", "deliveries", id, action]);
        match inspector.post_json(url, &json!({}), &format!("delivery {id}")).await {
            Ok(_) if global.json => line(&json!({"id": id, "done": word}).to_string())?,
            Ok(_) => note(&format!("{word} {id}")),
            // Nobody answers: the others would go the same way.
            Err(error) if exit_code(&error) == 5 => return Err(error),
            Err(error) => {
                if ids.len() > 1 {
                    note(&format!("{id}: {error:#}"));
                }
                refused.push(error);
            }
        }
    }
    let count = refused.len();
    match refused.into_iter().next() {
        None => Ok(()),
        Some(only) if ids.len() == 1 => Err(only),
        Some(_) if count < ids.len() => Err(Failed(format!("{count} of {} were refused", ids.len())).into()),
        Some(first) => Err(first),
    }
}
