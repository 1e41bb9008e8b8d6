//! What `dev` says once everything runs.

use super::config::ConfigFile;
use super::console::Console;
use super::secrets::{Tokens, hint};
use super::services::Services;
use crate::output::Colour;
use std::path::Path;

/// Where everything is.
#[derive(Debug)]
pub struct Places {
    ingest: String,
    subscribe: String,
    inspector: String,
    push_worker: String,
    /// The port of a database of our own.
    database: Option<u16>,
}

impl Places {
    pub fn of(services: &Services, database: Option<u16>) -> Self {
        let url = |name: &str| match services.announced(name) {
            Some(announced) => format!("http://localhost:{}", announced.address.port()),
            None => "(not listening yet)".to_owned(),
        };
        Self {
            ingest: url("ingest"),
            subscribe: url("subscribe"),
            inspector: url("inspector"),
            push_worker: url("push-worker"),
            database,
        }
    }

    /// For the other commands in this folder. The database's URL holds a password, as the file beside it does.
    pub fn to_file(&self, database_url: &hooks_shared::Secret) -> String {
        let lines =
            [("ingest", &self.ingest), ("subscribe", &self.subscribe), ("inspector", &self.inspector)];
        let known = lines.iter().filter(|(_, url)| url.starts_with("http"));
        let services: String = known.map(|(name, url)| format!("{name} {url}\n")).collect();
        format!("{services}database {}\n", database_url.expose())
    }
}

/// Shows places, tokens and what to try.
pub fn show(console: Console, folder: &Path, places: &Places, file: &ConfigFile, tokens: &Tokens) {
    let sources = file.sources();
    let source = sources.iter().find(|name| *name == "demo").or(sources.first()).cloned().unwrap_or_default();
    let own = own_name();
    let label = |text: &str| console.paint(Colour::Faint, &format!("  {text:<12}"));
    console.bare("");
    console.bare(&console.paint(Colour::Good, "The relay is running. Ctrl-C stops it; the data stays."));
    console.bare("");
    console.bare(&format!("{}{}/ingest/{source}", label("ingest"), places.ingest));
    console.bare(&format!("{}{}/subscribe/{source}", label("subscribe"), places.subscribe));
    console.bare(&format!("{}{}/", label("inspector"), places.inspector));
    console.bare(&format!("{}{}", label("push-worker"), places.push_worker));
    if let Some(port) = places.database {
        let text = format!("postgres://postgres@127.0.0.1:{port}/hooks (password in .hooks/passwords)");
        console.bare(&format!("{}{text}", label("database")));
    }
    console.bare(&format!(
        "{}listener {}, admin {} in {}; hooksctl uses them here by itself",
        label("tokens"),
        hint(&tokens.listener),
        hint(&tokens.admin),
        folder.join(crate::dev_folder::TOKENS).display()
    ));
    console.bare("");
    console.bare("Try, in another terminal in this folder:");
    for command in [
        format!("tail {source}"),
        format!("send {source}"),
        format!("forward {source} --to http://localhost:3000/webhooks"),
    ] {
        console.bare(&console.paint(Colour::Strong, &format!("  {own} {command}")));
    }
    console.bare("");
}

/// This program as it was called, so that the lines can be pasted.
fn own_name() -> String {
    std::env::args().next().filter(|name| !name.is_empty()).unwrap_or_else(|| "hooksctl".to_owned())
}
