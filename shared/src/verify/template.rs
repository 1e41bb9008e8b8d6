//! The text that was signed, as a template compiled once: literal pieces and places to fill.
//! The pieces go to the digest one after the other and are never joined, and what is filled in is
//! never read as a template again.

use super::filter;
use super::mac::Sink;
use super::request::View;
use super::source::Source;
use super::verdict::Refusal;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Literal(Vec<u8>),
    Body,
    BodyEscaped,
    Timestamp,
    Id,
    Url,
    UrlDecoded,
    Path,
    Method,
    Secret,
    Field(Source),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template {
    pieces: Vec<Piece>,
    /// Is the address or its path in it? Asked for each request.
    needs_address: bool,
    needs_url: bool,
    covers_body: bool,
}

/// The values of one request.
pub(super) struct Fill<'a, 'r> {
    pub(super) view: &'a View<'r>,
    /// As received, not formatted again.
    pub(super) timestamp: Option<&'a [u8]>,
    pub(super) id: Option<&'a [u8]>,
    pub(super) url: &'a str,
    pub(super) path: &'a str,
    pub(super) secret: &'a [u8],
}

impl Template {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            let close =
                rest[open..].find('}').ok_or_else(|| format!("a {{ is not closed in `{text}`"))? + open;
            if open > 0 {
                pieces.push(Piece::Literal(rest.as_bytes()[..open].to_vec()));
            }
            pieces.push(place(&rest[open + 1..close])?);
            rest = &rest[close + 1..];
        }
        if !rest.is_empty() {
            pieces.push(Piece::Literal(rest.as_bytes().to_vec()));
        }
        let needs_url = pieces.iter().any(|piece| matches!(piece, Piece::Url | Piece::UrlDecoded));
        let needs_address = needs_url || pieces.contains(&Piece::Path);
        let covers_body = pieces.iter().any(|piece| matches!(piece, Piece::Body | Piece::BodyEscaped));
        Ok(Self { pieces, needs_address, needs_url, covers_body })
    }

    pub(super) fn names(&self, wanted: &Piece) -> bool {
        self.pieces.contains(wanted)
    }

    pub(super) fn covers_body(&self) -> bool {
        self.covers_body
    }

    pub(super) fn needs_address(&self) -> bool {
        self.needs_address
    }

    pub(super) fn needs_url(&self) -> bool {
        self.needs_url
    }

    pub(super) fn fields(&self) -> impl Iterator<Item = &Source> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Field(source) => Some(source),
            _ => None,
        })
    }

    /// Hands every piece of the signed text to `sink`, in order.
    pub(super) fn feed(&self, fill: &Fill<'_, '_>, sink: &mut Sink<'_>) -> Result<(), Refusal> {
        let request = &fill.view.request;
        for piece in &self.pieces {
            match piece {
                Piece::Literal(bytes) => sink(bytes),
                Piece::Body => sink(request.body),
                Piece::BodyEscaped => sink(&filter::escape_unicode(request.body)),
                Piece::Timestamp => sink(fill.timestamp.unwrap_or_default()),
                Piece::Id => sink(fill.id.unwrap_or_default()),
                Piece::Url => sink(fill.url.as_bytes()),
                Piece::UrlDecoded => sink(filter::hubspot_decode(fill.url).as_bytes()),
                Piece::Path => sink(fill.path.as_bytes()),
                Piece::Method => sink(request.method.as_bytes()),
                Piece::Secret => sink(fill.secret),
                Piece::Field(source) => sink(&source.get(fill.view)?.unwrap_or_default()),
            }
        }
        Ok(())
    }
}

fn place(name: &str) -> Result<Piece, String> {
    Ok(match name {
        "body" => Piece::Body,
        "body|escape_unicode" => Piece::BodyEscaped,
        "timestamp" => Piece::Timestamp,
        "id" => Piece::Id,
        "url" => Piece::Url,
        "url|hubspot_decode" => Piece::UrlDecoded,
        "path" => Piece::Path,
        "method" => Piece::Method,
        "secret" => Piece::Secret,
        other => Piece::Field(Source::parse(other).map_err(|_| format!("`{{{other}}}` is not known"))?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::Request;

    fn filled(template: &str, body: &[u8]) -> Vec<u8> {
        let headers = vec![(b"X-A".to_vec(), b"{body}".to_vec())];
        let request =
            Request { method: "POST", target: "/in?q=1", headers: &headers, body, remote_addr: None };
        let view = View::new(request);
        let fill = Fill {
            view: &view,
            timestamp: Some(b"1"),
            id: Some(b"{timestamp}"),
            url: "https://r.example/in?q=1",
            path: "/in?q=1",
            secret: b"s",
        };
        let mut out = Vec::new();
        Template::parse(template).unwrap().feed(&fill, &mut |bytes| out.extend_from_slice(bytes)).unwrap();
        out
    }

    #[test]
    fn places_are_filled_and_what_is_filled_in_stays_text() {
        assert_eq!(filled("{id}.{timestamp}.{body}", b"{id}"), b"{timestamp}.1.{id}");
        assert_eq!(filled("v0:{header:x-a}|{query:q}", b""), b"v0:{body}|1");
        assert_eq!(filled("{method} {path} {url}{secret}", b""), b"POST /in?q=1 https://r.example/in?q=1s");
    }

    #[test]
    fn unknown_names_and_open_braces_are_faults() {
        for bad in ["{bodyy}", "{body", "{}", "{body|upper}", "{json:x}"] {
            assert!(Template::parse(bad).is_err(), "{bad}");
        }
    }
}
