//! Text from strangers made fit for a terminal, and quantities for people.

use hooks_shared::name::is_steering;
use std::time::Duration;

/// `text` without anything that could steer a terminal: control characters are shown as escapes.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_steering(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

/// The beginning of a body as a quoted text of at most `limit` characters.
pub fn preview(body: &[u8], limit: usize) -> String {
    // Four bytes are the most that one character takes.
    let cut = &body[..body.len().min(limit * 4)];
    let text = String::from_utf8_lossy(cut);
    let shown: String = text.chars().take(limit).collect();
    let more = if shown.len() < body.len() && shown.chars().count() == limit { "…" } else { "" };
    format!("\"{}{more}\"", printable(&shown).replace('"', "\\\""))
}

/// A number of bytes: `812B`, `1.5KiB`, `20.0MiB`.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if count < 1024 {
        return format!("{count}B");
    }
    let mut value = count as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1}{}", UNITS[unit])
}

/// A time that something took: `0.4ms`, `12ms`, `1.5s`.
pub fn latency(time: Duration) -> String {
    let millis = time.as_secs_f64() * 1000.0;
    match millis {
        m if m < 10.0 => format!("{m:.1}ms"),
        m if m < 1000.0 => format!("{m:.0}ms"),
        m => format!("{:.1}s", m / 1000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_cannot_reach_the_terminal() {
        assert_eq!(printable("a\u{1b}[2Jb\u{202e}c"), "a\\u{1b}[2Jb\\u{202e}c");
        assert_eq!(preview(b"{\"a\":\"\n\"}", 80), "\"{\\\"a\\\":\\\"\\n\\\"}\"");
    }

    #[test]
    fn long_bodies_are_cut_at_a_character() {
        assert_eq!(preview("ééééé".as_bytes(), 3), "\"ééé…\"");
        assert_eq!(preview("ééé".as_bytes(), 3), "\"ééé\"");
        assert_eq!(preview(b"", 3), "\"\"");
    }

    #[test]
    fn quantities_have_units() {
        assert_eq!([bytes(0), bytes(1536), bytes(20 << 20)], ["0B", "1.5KiB", "20.0MiB"]);
        let times = [0.0004, 0.012, 1.5].map(|s| latency(Duration::from_secs_f64(s)));
        assert_eq!(times, ["0.4ms", "12ms", "1.5s"]);
    }
}
