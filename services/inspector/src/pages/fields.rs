//! What forms and lists have in common: fields, choices, buttons.

use super::layout::csrf;
use crate::http::Call;
use maud::{Markup, html};
use time::macros::format_description;

/// A choice of a filter.
pub fn choice(name: &str, label: &str, options: &[(&str, &str)], chosen: Option<&str>) -> Markup {
    html! { label { (label) select name=(name) {
        @for (value, text) in options {
            option value=(value) selected[chosen.unwrap_or_default() == *value] { (text) }
        }
    } } }
}

/// A choice among sources; the first is all of them.
pub fn source_choice(names: &[String], chosen: Option<&str>) -> Markup {
    html! { label { "Source" select name="source" {
        option value="" { "all" }
        @for name in names { option value=(name) selected[chosen == Some(name.as_str())] { (name) } }
    } } }
}

/// A filter of text, with what the query has in it.
pub fn text(call: &Call, name: &str, label: &str, example: &str) -> Markup {
    let value = call.query.get(name).unwrap_or_default();
    html! { label { (label) input name=(name) value=(value) placeholder=(example) maxlength="300" autocomplete="off"; } }
}

/// A filter by time. Browsers show a calendar; what they send is read as UTC.
pub fn moment(call: &Call, name: &str, label: &str) -> Markup {
    let format = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]");
    let given = call.query.get(name).unwrap_or_default();
    let value = crate::moment::parse(given).ok().and_then(|at| at.format(format).ok()).unwrap_or_default();
    html! { label { (label) " (UTC)" input type="datetime-local" step="1" name=(name) value=(value); } }
}

/// A button that is a form of its own.
pub fn button(call: &Call, action: &str, text: &str, class: &str, ask: Option<&str>) -> Markup {
    html! { form.inline method="post" action=(action) data-ask=[ask] { (csrf(&call.who)) button class=(class) { (text) } } }
}

/// Puts the text of an element on the clipboard. Without a script it is not there.
pub fn copy(id: &str) -> Markup {
    html! { button.small type="button" data-copy=(id) hidden { "Copy" } }
}

/// The links at the foot of a list: to the newest where the page is not the first, and to older ones.
pub fn paging(call: &Call, next: Option<&str>) -> Markup {
    let query = call.query.with("cursor", None);
    let first =
        if query.is_empty() { call.incoming.path.clone() } else { format!("{}?{query}", call.incoming.path) };
    html! { @if next.is_some() || call.query.has("cursor") { nav.buttons aria-label="Pages" {
        @if call.query.has("cursor") { a.button href=(first) { "Newest" } }
        @if let Some(href) = next { a.button href=(href) rel="next" { "Older" } }
    } } }
}
