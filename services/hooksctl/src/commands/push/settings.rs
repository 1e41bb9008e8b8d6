//! What can be set on a subscription, as options and as JSON of the API.

use anyhow::Result;
use hooks_shared::config::RetrySchedule;
use serde_json::{Map, Value};

/// How a subscription is served.
#[derive(Debug, Default, clap::Args)]
pub struct Settings {
    /// How requests are signed: hooks, standard_webhooks, or a preset that can sign
    #[arg(long, value_name = "SCHEME")]
    signing: Option<String>,
    /// Requests under way at once, 1 to 1000 [default for a new one: 10]
    #[arg(long, value_name = "N")]
    max_in_flight: Option<i32>,
    /// Requests a second at most
    #[arg(long, value_name = "N")]
    rate: Option<f32>,
    /// One at a time, in the order of the log: true or false
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    ordered: Option<bool>,
    /// What an ordered one does when a delivery has failed for good
    #[arg(long, value_parser = ["park", "stop"])]
    on_failure: Option<String>,
    /// Send with the stored method instead of POST
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    preserve_method: Option<bool>,
    /// Send the provider's credentials on, too
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    forward_credentials: Option<bool>,
    /// Bytes of each response that are kept, 0 to 1024
    #[arg(long, value_name = "BYTES")]
    record_response: Option<i32>,
    /// Waits between attempts as JSON: a list such as '["5s","1m"]', or {"max_attempts": …, "initial": …,
    /// "factor": …, "cap": …}
    #[arg(long, value_parser = retry, value_name = "JSON")]
    retry: Option<Value>,
}

fn retry(text: &str) -> Result<Value, String> {
    let read: Value = serde_json::from_str(text).map_err(|error| format!("is not JSON: {error}"))?;
    let schedule = match read {
        Value::Array(_) => serde_json::json!({ "schedule": read }),
        other => other,
    };
    RetrySchedule::from_value(&schedule).map(|_| schedule).map_err(|(place, message)| match place.as_str() {
        "" => message,
        _ => format!("{place}: {message}"),
    })
}

impl Settings {
    /// Those that were given.
    pub fn to_json(&self) -> Map<String, Value> {
        let all = [
            ("signing", self.signing.clone().map(Value::from)),
            ("max_in_flight", self.max_in_flight.map(Value::from)),
            ("rate", self.rate.map(Value::from)),
            ("ordered", self.ordered.map(Value::from)),
            ("on_failure", self.on_failure.clone().map(Value::from)),
            ("preserve_method", self.preserve_method.map(Value::from)),
            ("forward_credentials", self.forward_credentials.map(Value::from)),
            ("record_response", self.record_response.map(Value::from)),
            ("retry", self.retry.clone()),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_waits_is_a_schedule_and_faults_are_told() {
        assert_eq!(retry(r#"["5s", "1m"]"#), Ok(serde_json::json!({"schedule": ["5s", "1m"]})));
        assert!(retry("5s").is_err_and(|why| why.contains("JSON")));
        assert!(retry(r#"["soon"]"#).is_err_and(|why| why.contains("schedule[0]")));
    }
}
