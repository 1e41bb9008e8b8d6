//! The table of presets in `services/ingest/VERIFICATION.md`.

use super::presets::settings_of;
use crate::verify::{Preset, Summary, Verifier, presets};

const BEGIN: &str = "<!-- presets: begin -->\n";
const END: &str = "<!-- presets: end -->";
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../services/ingest/VERIFICATION.md");

fn table() -> String {
    let mut out = String::from(
        "| preset | provider | checked | oldest | id | handshake | answer | not protected |\n|---|---|---|---|---|---|---|---|\n",
    );
    for preset in presets() {
        out.push_str(&row(&preset));
    }
    out
}

fn row(preset: &Preset) -> String {
    if let Some(target) = preset.alias_of {
        return format!("| `{}` | {} | as `{target}` | | | | | |\n", preset.name, preset.title);
    }
    let verifier = Verifier::compile(&settings_of(preset.name)).unwrap().verifier;
    let summaries = verifier.summary();
    let all = |column: fn(&Summary) -> String| {
        let mut cells: Vec<String> = summaries.iter().map(column).filter(|cell| !cell.is_empty()).collect();
        cells.dedup();
        cells.join("; ")
    };
    format!(
        "| `{}` | {} | {} | {} | {} | {} | {} | {} |\n",
        preset.name,
        preset.title,
        all(|summary| summary.what.clone()),
        all(|summary| summary.max_age.map(|age| format!("{age} s")).unwrap_or_default()),
        all(|summary| summary.id.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ")),
        all(|summary| summary.handshakes.join(", ")),
        verifier.ack().status,
        all(unprotected),
    )
}

fn unprotected(summary: &Summary) -> String {
    match (summary.body_protected, summary.time_protected) {
        (true, true) => "",
        (true, false) => "time",
        (false, true) => "body",
        (false, false) => "body, time",
    }
    .to_owned()
}

#[test]
fn the_presets_table_is_current() {
    let text = std::fs::read_to_string(FILE).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (found, after) = rest.split_once(END).unwrap();
    let wanted = table();
    if std::env::var_os("HOOKS_UPDATE_DOCS").is_some() {
        std::fs::write(FILE, format!("{before}{BEGIN}{wanted}{END}{after}")).unwrap();
        return;
    }
    assert!(
        found == wanted,
        "{FILE} is out of date: run HOOKS_UPDATE_DOCS=1 cargo test -p hooks-shared presets_table"
    );
}
