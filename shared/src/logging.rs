//! Log lines: env_logger with the fields of each record behind its message, as text or as JSON.
//! `HOOKS_LOG_LEVEL` filters (env_logger's syntax, default `info`, without the HTTP library's own words), `HOOKS_LOG_FORMAT` is `text` or `json`.

use log::kv::{Error, Key, Value, VisitSource};
use std::io::Write;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Starts logging for a process. `service` stands in every line. Calling it twice is harmless.
pub fn start(service: &'static str) {
    // What strangers send that is no HTTP is answered, and is no error of ours: actix would say so of each.
    start_at(service, "info,actix_server=warn,actix_http::h1=off");
}

/// The same with another default level, for programs whose words go to people directly.
pub fn start_at(service: &'static str, default_level: &str) {
    let given = std::env::var("HOOKS_LOG_LEVEL").ok().filter(|level| !level.trim().is_empty());
    let level = given.unwrap_or_else(|| default_level.to_owned());
    let json = std::env::var("HOOKS_LOG_FORMAT").is_ok_and(|format| format == "json");
    let mut builder = env_logger::Builder::new();
    builder.parse_filters(&level).target(env_logger::Target::Stderr);
    builder.format(
        move |out, record| {
            if json { write_json(out, record, service) } else { write_text(out, record, service) }
        },
    );
    let _ = builder.try_init();
}

fn now() -> String {
    OffsetDateTime::now_utc().format(&Rfc3339).unwrap_or_default()
}

fn write_text(out: &mut impl Write, record: &log::Record<'_>, service: &str) -> std::io::Result<()> {
    let mut fields = TextFields(String::new());
    let _ = record.key_values().visit(&mut fields);
    let level = record.level();
    // One record is one line: a message that holds a line end shows it escaped.
    let message = record.args().to_string().replace('\n', "\\n");
    writeln!(out, "{} {level:5} {service} {message}{}", now(), fields.0)
}

fn write_json(out: &mut impl Write, record: &log::Record<'_>, service: &str) -> std::io::Result<()> {
    let mut fields = JsonFields(serde_json::Map::new());
    fields.0.insert("time".into(), now().into());
    fields.0.insert("level".into(), record.level().as_str().to_lowercase().into());
    fields.0.insert("service".into(), service.into());
    fields.0.insert("message".into(), record.args().to_string().into());
    fields.0.insert("target".into(), record.target().into());
    let _ = record.key_values().visit(&mut fields);
    writeln!(out, "{}", serde_json::Value::Object(fields.0))
}

struct TextFields(String);

impl<'kvs> VisitSource<'kvs> for TextFields {
    fn visit_pair(&mut self, key: Key<'kvs>, value: Value<'kvs>) -> Result<(), Error> {
        let text = value.to_string();
        let plain = !text.is_empty() && !text.contains([' ', '"', '\n', '=']);
        let shown = if plain { text } else { format!("{text:?}") };
        self.0.push_str(&format!(" {key}={shown}"));
        Ok(())
    }
}

struct JsonFields(serde_json::Map<String, serde_json::Value>);

impl<'kvs> VisitSource<'kvs> for JsonFields {
    fn visit_pair(&mut self, key: Key<'kvs>, value: Value<'kvs>) -> Result<(), Error> {
        let json = if let Some(number) = value.to_i64() {
            number.into()
        } else if let Some(flag) = value.to_bool() {
            flag.into()
        } else {
            value.to_string().into()
        };
        self.0.insert(key.as_str().to_owned(), json);
        Ok(())
    }
}
