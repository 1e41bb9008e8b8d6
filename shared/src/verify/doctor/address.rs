//! Mistakes about the address, for schemes that sign it.

use super::{Case, Trial};
use crate::verify::address;
use crate::verify::recorded::Parts;
use crate::verify::settings::Settings;
use std::collections::BTreeSet;

/// The addresses that the provider may have been given instead.
pub(super) fn trials(case: &Case<'_>) -> Vec<Trial> {
    let settings = case.settings;
    let known = known(case);
    let mut tried: BTreeSet<String> = known.iter().cloned().collect();
    let mut trials = Vec::new();
    let mut add = |url: String, what: &str| {
        if tried.insert(url.clone()) {
            // The query of an address is the request's, so both are changed.
            let request = Parts { target: address::path_of(&url).to_owned(), ..case.request.clone() };
            let settings = Settings { public_url: Some(url), ..settings.clone() };
            let meaning = format!(
                "The provider signed another address: {what}. Set public_url to the one it was given."
            );
            trials.push(Trial { settings: Some(settings), request: Some(request), meaning });
        }
    };
    let headers = forwarded(case);
    for base in known.iter().chain(&headers) {
        let what = if headers.contains(base) { "the host is the one in the request's headers" } else { "" };
        for (url, change) in spellings(base) {
            add(url, if what.is_empty() { change } else { what });
        }
    }
    trials
}

/// What the settings make of the request's address.
fn known(case: &Case<'_>) -> Vec<String> {
    let own = case.settings.public_url.as_deref();
    let address = address::Address::new(own, case.settings.base_url.as_deref());
    let address = address.ok().filter(address::Address::is_known);
    address.map(|address| address.of(&case.request.target)).into_iter().collect()
}

/// What the request's own headers say its address was before a proxy.
fn forwarded(case: &Case<'_>) -> Vec<String> {
    let value = |name: &str| {
        let found = case.request.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name.as_bytes()));
        found.and_then(|(_, value)| std::str::from_utf8(value).ok()).map(|text| text.trim().to_owned())
    };
    let hosts: Vec<String> =
        ["X-Forwarded-Host", "X-Original-Host", "Host"].iter().filter_map(|name| value(name)).collect();
    let paths: Vec<String> = ["X-Original-URL", "X-Original-URI", "X-Forwarded-Uri"]
        .iter()
        .filter_map(|name| value(name))
        .filter(|path| path.starts_with('/'))
        .chain([case.request.target.clone()])
        .collect();
    let absolute =
        |host: &String| paths.iter().map(move |path| format!("https://{host}{path}")).collect::<Vec<_>>();
    hosts.iter().flat_map(absolute).collect()
}

/// One address written in other ways.
fn spellings(url: &str) -> Vec<(String, &'static str)> {
    let mut found = vec![(url.to_owned(), "as its headers have it")];
    let (whole, query) = match url.split_once('?') {
        Some((whole, query)) => (whole, format!("?{query}")),
        None => (url, String::new()),
    };
    if let Some(rest) = url.strip_prefix("https://") {
        found.push((format!("http://{rest}"), "with http, not https"));
    } else if let Some(rest) = url.strip_prefix("http://") {
        found.push((format!("https://{rest}"), "with https, not http"));
    }
    match whole.strip_suffix('/') {
        Some(bare) => found.push((format!("{bare}{query}"), "without the slash at the end of the path")),
        None => found.push((format!("{whole}/{query}"), "with a slash at the end of the path")),
    }
    if !query.is_empty() {
        found.push((whole.to_owned(), "without the query"));
    }
    let decoded = percent_encoding::percent_decode_str(url).decode_utf8_lossy().into_owned();
    found.push((decoded, "with its percent codes decoded"));
    found.extend(shorter_paths(whole, &query));
    found
}

/// The address without the first parts of its path, which a proxy may have put in front.
fn shorter_paths(whole: &str, query: &str) -> Vec<(String, &'static str)> {
    let path = address::path_of(whole);
    let origin = &whole[..whole.len() - path.len().min(whole.len())];
    let mut found = Vec::new();
    let mut rest = path.trim_start_matches('/');
    while let Some((_, after)) = rest.split_once('/') {
        found.push((format!("{origin}/{after}{query}"), "without the first parts of its path"));
        rest = after;
    }
    found
}
