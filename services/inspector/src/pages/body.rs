//! A body as people can read it. Whatever it is, it is text to us: it is escaped, never interpreted.

use maud::{Markup, html};
use serde_json::Value;
use std::fmt::Write as _;

/// Bytes shown of a body that is not shown whole.
const LONGEST_TEXT: usize = 256 * 1024;
const LONGEST_HEX: usize = 4 * 1024;

/// Types of images that browsers decode without running anything.
pub fn is_image(content_type: &str) -> bool {
    matches!(content_type, "image/png" | "image/jpeg" | "image/gif" | "image/webp")
}

/// How a body is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    Json,
    Form,
    Image,
    Text,
    Hex,
}

impl View {
    pub fn name(self) -> &'static str {
        match self {
            View::Json => "json",
            View::Form => "form",
            View::Image => "image",
            View::Text => "text",
            View::Hex => "hex",
        }
    }
}

/// The views that this body has, the most telling first.
pub fn views(content_type: &str, body: &[u8]) -> Vec<View> {
    let mut views = Vec::new();
    if is_image(content_type) {
        views.push(View::Image);
    }
    if let Ok(text) = std::str::from_utf8(body) {
        let looks_like_json = content_type.contains("json") || text.trim_start().starts_with(['{', '[']);
        if content_type.contains("x-www-form-urlencoded") {
            views.push(View::Form);
        } else if looks_like_json && serde_json::from_str::<Value>(text).is_ok() {
            views.push(View::Json);
        }
        if !text.chars().any(|c| c.is_control() && !c.is_whitespace()) {
            views.push(View::Text);
        }
    }
    views.push(View::Hex);
    views
}

/// The body in one of its views.
pub fn show(view: View, body: &[u8], image_address: &str) -> Markup {
    if body.is_empty() {
        return html! { p.faint { "The body is empty." } };
    }
    let text = String::from_utf8_lossy(body);
    match view {
        View::Image => html! { img.body src=(image_address) alt="The body, an image"; },
        View::Form => form(&text),
        View::Json => match serde_json::from_str::<Value>(&text) {
            Ok(json) => pretty(&serde_json::to_string_pretty(&json).unwrap_or_default()),
            Err(_) => pretty(&text),
        },
        View::Text => pretty(&text),
        View::Hex => hex(body),
    }
}

fn pretty(text: &str) -> Markup {
    let end = boundary(text, LONGEST_TEXT);
    html! {
        pre id="body" tabindex="0" { (text[..end]) }
        @if end < text.len() { p.faint { "Only the beginning is shown." } }
    }
}

/// The largest place up to `most` where a text can be cut.
fn boundary(text: &str, most: usize) -> usize {
    (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn form(text: &str) -> Markup {
    let pairs: Vec<_> = url::form_urlencoded::parse(text.as_bytes()).take(1_000).collect();
    html! { div.scroll tabindex="0" { table.rows id="body" {
        thead { tr { th { "Field" } th { "Value" } } }
        tbody { @for (name, value) in &pairs { tr { td.lead { code { (name) } } td.wrap { code { (value) } } } } }
    } } }
}

fn hex(body: &[u8]) -> Markup {
    let mut out = String::new();
    for (row, bytes) in body[..body.len().min(LONGEST_HEX)].chunks(16).enumerate() {
        let _ = write!(out, "{:08x}  ", row * 16);
        for place in 0..16 {
            match bytes.get(place) {
                Some(byte) => drop(write!(out, "{byte:02x} ")),
                None => out.push_str("   "),
            }
        }
        out.push(' ');
        out.extend(
            bytes
                .iter()
                .map(|byte| if byte.is_ascii_graphic() || *byte == b' ' { *byte as char } else { '.' }),
        );
        out.push('\n');
    }
    html! {
        pre.hex id="body" tabindex="0" { (out) }
        @if body.len() > LONGEST_HEX { p.faint { "Only the beginning is shown." } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_shown_by_what_it_is() {
        let shown = |kind: &str, body: &[u8]| show(views(kind, body)[0], body, "/x").into_string();
        assert!(shown("application/json", b"{\"a\":1}").contains("{\n  &quot;a&quot;: 1\n}"));
        assert!(shown("application/x-www-form-urlencoded", b"a=%3Cb%3E").contains("&lt;b&gt;"));
        assert!(shown("text/html", b"<script>alert(1)</script>").contains("&lt;script&gt;"));
        assert!(shown("", &[0, 1, 0xff]).contains("00000000  00 01 ff"));
        assert!(shown("image/svg+xml", b"<svg/>").contains("&lt;svg/&gt;"));
        assert!(shown("image/png", b"x").contains("<img"));
    }

    #[test]
    fn what_is_claimed_but_not_so_is_not_offered() {
        assert_eq!(views("application/json", b"{"), [View::Text, View::Hex]);
        assert_eq!(views("application/json", b"\xff"), [View::Hex]);
        assert_eq!(views("text/plain", b"[1]"), [View::Json, View::Text, View::Hex]);
    }
}
