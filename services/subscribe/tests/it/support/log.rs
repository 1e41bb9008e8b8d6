//! What the service logs, kept with its fields. One logger for the whole test process: tests tell their lines
//! apart by what they are about.

use std::collections::BTreeMap;
use std::sync::{Mutex, Once, PoisonError};

/// One record.
#[derive(Debug, Clone)]
pub struct LogLine {
    pub level: log::Level,
    pub fields: BTreeMap<String, String>,
}

struct Capture(Mutex<Vec<LogLine>>);

static CAPTURE: Capture = Capture(Mutex::new(Vec::new()));

/// Starts capturing everything that our own crates log.
pub fn capture() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        log::set_logger(&CAPTURE).expect("no other logger");
        log::set_max_level(log::LevelFilter::Debug);
    });
}

/// The lines with this value in a field.
pub fn lines_about(field: &str, value: &str) -> Vec<LogLine> {
    let lines = CAPTURE.0.lock().unwrap_or_else(PoisonError::into_inner);
    lines.iter().filter(|line| line.fields.get(field).is_some_and(|is| is == value)).cloned().collect()
}

impl log::Log for Capture {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.target().starts_with("hooks")
    }

    fn log(&self, record: &log::Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let mut fields = Fields(BTreeMap::new());
        let _ = record.key_values().visit(&mut fields);
        fields.0.insert("message".to_owned(), record.args().to_string());
        let line = LogLine { level: record.level(), fields: fields.0 };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    fn flush(&self) {}
}

struct Fields(BTreeMap<String, String>);

impl<'kvs> log::kv::VisitSource<'kvs> for Fields {
    fn visit_pair(
        &mut self,
        key: log::kv::Key<'kvs>,
        value: log::kv::Value<'kvs>,
    ) -> Result<(), log::kv::Error> {
        self.0.insert(key.to_string(), value.to_string());
        Ok(())
    }
}
