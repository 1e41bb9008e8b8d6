//! Mistakes about the address, for schemes that sign it.

use super::{Case, Trial, signs, with_keys};
use crate::verify::address;
use crate::verify::plan::Table;
use crate::verify::recorded::Parts;
use crate::verify::settings::Settings;
use serde_json::Value;
use std::collections::BTreeSet;

/// The addresses that the provider may have been given instead.
pub(super) fn trials(case: &Case<'_>) -> Vec<Trial> {
    let settings = case.settings;
    let in_verifier = in_verifier(case);
    let key = if in_verifier.is_some() { "the verifier's `url`" } else { "public_url" };
    let known = known(case, in_verifier.as_deref());
    let mut tried: BTreeSet<String> = known.iter().cloned().collect();
    let mut trials = Vec::new();
    let mut add = |url: String, what: &str| {
        if tried.insert(url.clone()) {
            // The query of an address is the request's, so both are changed.
            let request = Parts { target: address::path_of(&url).to_owned(), ..case.request.clone() };
            let settings = match in_verifier {
                Some(_) => with_keys(settings, &[("url", Value::from(url))]),
                None => Some(Settings { public_url: Some(url), ..settings.clone() }),
            };
            let meaning =
                format!("The provider signed another address: {what}. Set {key} to the one it was given.");
            trials.extend(settings.map(|settings| Trial {
                settings: Some(settings),
                request: Some(request),
                meaning,
            }));
        }
    };
    let mut headers = forwarded(case, known.first().map(String::as_str));
    headers.retain(|url| !known.contains(url));
    for base in known.iter().chain(&headers) {
        let what =
            if headers.contains(base) { "it is the one that the request's headers speak of" } else { "" };
        for (url, change) in spellings(base) {
            add(url, if what.is_empty() { change } else { what });
        }
    }
    trials
}

/// The address that the verifier itself names.
fn in_verifier(case: &Case<'_>) -> Option<String> {
    let url = |table: &Table| table.map.get("url").and_then(Value::as_str).map(str::to_owned);
    signs::own_tables(case).iter().find_map(url)
}

/// What the settings make of the request's address.
fn known(case: &Case<'_>, in_verifier: Option<&str>) -> Vec<String> {
    let own = in_verifier.or(case.settings.public_url.as_deref());
    let address = address::Address::new(own, case.settings.base_url.as_deref());
    let address = address.ok().filter(address::Address::is_known);
    address.map(|address| address.of(&case.request.target)).into_iter().collect()
}

/// What the request's own headers say its address was before a proxy; where they do not speak of the host, on that
/// of the known address.
fn forwarded(case: &Case<'_>, known: Option<&str>) -> Vec<String> {
    let value = |name: &str| {
        let found = case.request.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name.as_bytes()));
        found.and_then(|(_, value)| std::str::from_utf8(value).ok()).map(|text| text.trim().to_owned())
    };
    let named = ["X-Forwarded-Host", "X-Original-Host", "Host"].iter().filter_map(|name| value(name));
    // RFC 7239.
    let standard = value("Forwarded").and_then(|text| {
        let pair = |pair: &str| {
            pair.trim().split_once('=').map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        };
        let host = text.split([',', ';']).filter_map(pair).find(|(name, _)| name == "host");
        host.map(|(_, host)| host.trim_matches('"').to_owned())
    });
    let hosts = named.chain(standard).map(|host| format!("https://{host}"));
    let origin = known.map(|url| address::origin_of(url).to_owned());
    let target = case.request.target.clone();
    let prefixed = value("X-Forwarded-Prefix").map(|prefix| format!("/{}{target}", prefix.trim_matches('/')));
    let paths: Vec<String> = ["X-Original-URL", "X-Original-URI", "X-Forwarded-Uri"]
        .iter()
        .filter_map(|name| value(name))
        .filter(|path| path.starts_with('/'))
        .chain(prefixed)
        .chain([target])
        .collect();
    let absolute =
        |origin: String| paths.iter().map(move |path| format!("{origin}{path}")).collect::<Vec<_>>();
    hosts.chain(origin).flat_map(absolute).collect()
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
    if let Some((scheme, rest)) = url.split_once("://") {
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let port = if scheme == "https" { ":443" } else { ":80" };
        if !rest[..end].contains(':') {
            found.push((
                format!("{scheme}://{}{port}{}", &rest[..end], &rest[end..]),
                "with its port written out",
            ));
        }
    }
    let decoded = percent_encoding::percent_decode_str(url).decode_utf8_lossy().into_owned();
    found.push((decoded, "with its percent codes decoded"));
    found.extend(shorter_paths(whole, &query));
    found
}

/// The address without the first parts of its path, which a proxy may have put in front.
fn shorter_paths(whole: &str, query: &str) -> Vec<(String, &'static str)> {
    let origin = address::origin_of(whole);
    let mut found = Vec::new();
    let mut rest = address::path_of(whole).trim_start_matches('/');
    while let Some((_, after)) = rest.split_once('/') {
        found.push((format!("{origin}/{after}{query}"), "without the first parts of its path"));
        rest = after;
    }
    found
}
