//! The answer of a handshake as a template over values of the request.

use super::encoding::Encoding;
use super::fields::Fields;
use super::mac::MacKey;
use super::request::View;
use super::source::Source;
use super::verdict::Refusal;
use serde_json::Value;

/// Longest value that is echoed, in bytes.
const MAX_ECHO: usize = 2000;

/// How a place in an answer begins; any other brace is text, since answers are often JSON.
const PLACES: [&str; 6] = ["header:", "query:", "form:", "json:", "hmac_hex:", "hmac_base64:"];

#[derive(Debug)]
pub(super) struct Respond {
    status: u16,
    headers: Vec<(String, Vec<Part>)>,
    body: Vec<Part>,
    json: bool,
}

#[derive(Debug)]
enum Part {
    Text(String),
    Echo { source: Source, otherwise: Option<String> },
    Mac { source: Source, encoding: Encoding },
}

/// One request's values, checked as they are taken.
pub(super) struct Values<'a, 'r> {
    pub(super) view: &'a View<'r>,
    pub(super) mac: Option<&'a MacKey>,
}

impl Values<'_, '_> {
    /// A value fit to be sent back: there, short, UTF-8 and without control characters.
    pub(super) fn echo(&self, source: &Source) -> Result<String, Refusal> {
        let value = source.get(self.view)?.unwrap_or_default();
        let text = std::str::from_utf8(&value)
            .ok()
            .filter(|text| !text.is_empty() && text.len() <= MAX_ECHO && !text.chars().any(char::is_control));
        text.map(str::to_owned)
            .ok_or_else(|| Refusal::malformed(format!("{source} has a value that is not answered")))
    }

    fn signed(&self, source: &Source, encoding: Encoding) -> Result<String, Refusal> {
        let value = self.echo(source)?;
        let mac = self.mac.ok_or_else(|| Refusal::bad_signature("there is no secret to answer with"))?;
        Ok(encoding.encode(&mac.of(value.as_bytes())))
    }
}

impl Respond {
    pub(super) fn read(table: &Fields<'_>) -> Option<Self> {
        let Some(respond) = table.table("respond") else {
            table.fault("respond", "must say what is answered");
            return None;
        };
        let status = respond.raw("status").map_or(Some(200), Value::as_u64).unwrap_or_default();
        if !(200..300).contains(&status) {
            respond.fault("status", "must be a number from 200 to 299");
        }
        let headers = match respond.raw("headers") {
            Some(Value::Object(map)) => map
                .iter()
                .map(|(name, value)| (name.clone(), parts(value.as_str().unwrap_or_default(), &respond)))
                .collect(),
            _ => Vec::new(),
        };
        let body = parts(respond.text("body").unwrap_or_default(), &respond);
        respond.finish();
        let json = is_json(&headers);
        Some(Self { status: u16::try_from(status).unwrap_or(200), headers, body, json })
    }

    pub(super) fn status(&self) -> u16 {
        self.status
    }

    fn all_parts(&self) -> impl Iterator<Item = &Part> {
        self.body.iter().chain(self.headers.iter().flat_map(|(_, parts)| parts))
    }

    pub(super) fn signs(&self) -> bool {
        self.all_parts().any(|part| matches!(part, Part::Mac { .. }))
    }

    pub(super) fn echoes(&self) -> bool {
        self.all_parts().any(|part| matches!(part, Part::Echo { .. }))
    }

    /// A browser must never take an echo for a page: whatever is sent back is declared and not
    /// sniffed.
    pub(super) fn headers(&self, values: &Values<'_, '_>) -> Result<Vec<(String, String)>, Refusal> {
        let mut headers = Vec::new();
        for (name, parts) in &self.headers {
            headers.push((name.clone(), fill(parts, values, false)?));
        }
        let mut add = |name: &str, value: &str| {
            if !headers.iter().any(|(have, _)| have.eq_ignore_ascii_case(name)) {
                headers.push((name.to_owned(), value.to_owned()));
            }
        };
        if !self.body.is_empty() {
            add("content-type", "text/plain");
            add("x-content-type-options", "nosniff");
        }
        Ok(headers)
    }

    pub(super) fn body(&self, values: &Values<'_, '_>) -> Result<Vec<u8>, Refusal> {
        Ok(fill(&self.body, values, self.json)?.into_bytes())
    }
}

fn is_json(headers: &[(String, Vec<Part>)]) -> bool {
    headers.iter().any(|(name, parts)| {
        name.eq_ignore_ascii_case("content-type")
            && parts.iter().any(|part| matches!(part, Part::Text(text) if text.contains("json")))
    })
}

fn fill(parts: &[Part], values: &Values<'_, '_>, json: bool) -> Result<String, Refusal> {
    let mut out = String::new();
    for part in parts {
        match part {
            Part::Text(text) => out.push_str(text),
            Part::Echo { source, otherwise: Some(text) } if source.get(values.view)?.is_none() => {
                out.push_str(text);
            }
            Part::Echo { source, .. } if json => out.push_str(&escaped(&values.echo(source)?)),
            Part::Echo { source, .. } => out.push_str(&values.echo(source)?),
            Part::Mac { source, encoding } => out.push_str(&values.signed(source, *encoding)?),
        }
    }
    Ok(out)
}

/// The inside of a JSON string.
fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn parts(text: &str, table: &Fields<'_>) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        plain.push_str(&rest[..open]);
        rest = &rest[open..];
        let is_place = PLACES.iter().any(|place| rest[1..].starts_with(place));
        let Some(close) = rest.find('}').filter(|_| is_place) else {
            plain.push('{');
            rest = &rest[1..];
            continue;
        };
        if !plain.is_empty() {
            parts.push(Part::Text(std::mem::take(&mut plain)));
        }
        match place(&rest[1..close]) {
            Ok(part) => parts.push(part),
            Err(message) => table.fault("body", message),
        }
        rest = &rest[close + 1..];
    }
    plain.push_str(rest);
    if !plain.is_empty() {
        parts.push(Part::Text(plain));
    }
    parts
}

fn place(text: &str) -> Result<Part, String> {
    if let Some(source) = text.strip_prefix("hmac_hex:") {
        return Ok(Part::Mac { source: Source::parse(source)?, encoding: Encoding::Hex });
    }
    if let Some(source) = text.strip_prefix("hmac_base64:") {
        return Ok(Part::Mac { source: Source::parse(source)?, encoding: Encoding::Base64 });
    }
    let (source, otherwise) = match text.split_once('|') {
        Some((source, otherwise)) => (source, Some(otherwise.to_owned())),
        None => (text, None),
    };
    Ok(Part::Echo { source: Source::parse(source)?, otherwise })
}
