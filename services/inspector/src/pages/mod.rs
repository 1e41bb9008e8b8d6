//! The pages: plain HTML made here, over the same functions as the API.

use crate::error::Error;
use crate::http::{Answer, Incoming};
use crate::routes::Route;
use maud::{DOCTYPE, html};

/// The routes of the pages.
pub fn routes() -> Vec<Route> {
    Vec::new()
}

/// What went wrong, as a page.
pub fn failure(incoming: &Incoming, error: &Error) -> Answer {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head { meta charset="utf-8"; title { "hooks" } }
            body { main { h1 { (error.status()) } p { (error) } p { small { "request " (incoming.origin.request_id) } } } }
        }
    };
    Answer::html(error.status(), page)
}
