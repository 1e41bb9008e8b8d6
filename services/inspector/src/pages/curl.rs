//! A stored request as a command for a shell.

use crate::http::Call;
use crate::schemes::MASK;
use hooks_shared::event::Event;
use maud::{Markup, html};

/// A longer body goes into the command as a file.
const LONGEST_IN_COMMAND: usize = 100_000;
/// The command's own business.
const LEFT_OUT: [&str; 5] = ["host", "content-length", "connection", "transfer-encoding", "accept-encoding"];

/// The command, and how the body gets beside it where it is not part of it.
pub fn show(call: &Call, event: &Event, here: &str, copy: Markup) -> Markup {
    let (command, as_file) = command(call, event);
    html! { div.card {
        div.buttons { (copy) @if as_file { a.button href=(format!("{here}/body")) { "Download body.bin" } } }
        pre id="curl" tabindex="0" { (command) }
    } }
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Credentials are left out; a body that is no plain text is a file.
fn command(call: &Call, event: &Event) -> (String, bool) {
    let mut out = format!("curl -X {}", event.method);
    for header in &event.headers {
        let (name, value) = call.state.schemes.shown(&event.source, header);
        if value != MASK && !LEFT_OUT.contains(&name.to_ascii_lowercase().as_str()) {
            out.push_str(&format!(" \\\n  -H {}", quote(&format!("{name}: {value}"))));
        }
    }
    let text = std::str::from_utf8(&event.body).ok();
    let text = text.filter(|text| text.len() < LONGEST_IN_COMMAND && !text.contains('\0'));
    match text {
        Some("") => {}
        Some(text) => out.push_str(&format!(" \\\n  --data-binary {}", quote(text))),
        None => out.push_str(" \\\n  --data-binary @body.bin"),
    }
    (out + " \\\n  http://localhost:3000/", text.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_in_the_body_does_not_end_the_argument() {
        assert_eq!(quote("it's; rm -rf"), "'it'\\''s; rm -rf'");
    }
}
