//! The types that sign a text made from the request: `hmac`, `hash`, `ed25519`, `ecdsa_p256_sha256`.

use super::address::{self, Address};
use super::algorithm::{Algorithm, Kind};
use super::encoding::Encoding;
use super::mac::Sink;
use super::request::View;
use super::scheme::{Check, Context, Cover, TimeFrom};
use super::signature::{Format, Offered, Shape, Split};
use super::source::{self, Source};
use super::template::{Fill, Piece, Template};
use super::timestamp::{SignedTime, Unit};
use super::verdict::{Reason, Refusal};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;
use time::OffsetDateTime;

#[derive(Debug)]
struct Signed {
    algorithm: Algorithm,
    signature: Vec<Source>,
    signature_any: bool,
    shape: Shape,
    templates: Vec<Template>,
    time: TimeFrom,
    unit: Unit,
    /// Set when a template names the id.
    id: Vec<Source>,
    require: Vec<(Source, String)>,
    address: Address,
}

pub(super) fn compile(context: &Context<'_>, kind: Kind) -> Option<Box<dyn Check>> {
    let fields = context.fields;
    let signature = fields.parsed("signature", Source::parse);
    if signature.is_empty() {
        fields.fault("signature", "must name at least one source of the signature");
    }
    let split = fields.named("split", Split::parse, "\" \", \",\", \";\"");
    let format = Format::parse(fields.text("format").unwrap_or("{sig}"), split)
        .map_err(|message| fields.fault("format", message))
        .ok();
    let encoding = fields.named("encoding", Encoding::parse, "hex, base64, base64url");
    let templates = fields.parsed("signed", Template::parse);
    let signature_any = fields.flag("signature_any").unwrap_or(false);
    let require = require(context);
    let algorithm = Algorithm::compile(kind, context)?;
    check_templates(context, kind, &templates);
    check_time(context, &templates, format.as_ref());
    let names_id = templates.iter().any(|template| template.names(&Piece::Id));
    if names_id && context.id.is_empty() {
        fields.fault("id", "`signed` names {id}, so `id` must say where it is");
    }
    Some(Box::new(Signed {
        algorithm,
        signature,
        signature_any,
        shape: Shape { split, format: format?, encoding: encoding.unwrap_or(Encoding::Hex) },
        templates,
        time: context.time.from.clone(),
        unit: context.time.unit,
        id: if names_id { context.id.to_vec() } else { Vec::new() },
        require,
        address: context.address.clone(),
    }))
}

fn require(context: &Context<'_>) -> Vec<(Source, String)> {
    let fields = context.fields;
    let rules = match fields.raw("require") {
        None => return Vec::new(),
        Some(Value::Array(rules)) => rules,
        Some(_) => {
            fields.fault("require", "must be a list of {at, equals}");
            return Vec::new();
        }
    };
    let mut required = Vec::new();
    for rule in rules {
        let source = rule.get("at").and_then(Value::as_str).map(Source::parse);
        match (source, rule.get("equals").and_then(Value::as_str)) {
            (Some(Ok(source)), Some(value)) => required.push((source, value.to_owned())),
            (Some(Err(message)), _) => fields.fault("require", message),
            _ => fields.fault("require", "each entry has `at` (a source) and `equals` (a text)"),
        }
    }
    required
}

fn check_templates(context: &Context<'_>, kind: Kind, templates: &[Template]) {
    let fields = context.fields;
    if templates.is_empty() && !fields.has("signed") {
        fields.fault("signed", "must say which bytes are signed, such as \"{body}\"");
    }
    for template in templates {
        let names_secret = template.names(&Piece::Secret);
        if names_secret != (kind == Kind::Hash) {
            let message = if names_secret {
                "{secret} is only for type hash"
            } else {
                "type hash needs {secret} in it"
            };
            fields.fault("signed", message);
        }
        if template.needs_url() && !context.address.is_known() {
            // One version of several: the others can be used without.
            if fields.has("only_if") {
                fields
                    .report()
                    .warn(format!("public_url: {UNKNOWN_ADDRESS}; requests of this version are refused"));
            } else {
                fields.report().fault("public_url", UNKNOWN_ADDRESS);
            }
        }
        if !template.covers_body() {
            fields
                .report()
                .warn_of_bare_body("the signature does not cover the body: it can be changed on the way");
        }
    }
}

fn check_time(context: &Context<'_>, templates: &[Template], format: Option<&Format>) {
    let fields = context.fields;
    let named = |template: &Template| template.names(&Piece::Timestamp);
    match &context.time.from {
        TimeFrom::Nowhere if fields.has("timestamp") => {
            fields.fault("timestamp.from", "must say where the time is");
        }
        TimeFrom::Nowhere => {
            if templates.iter().any(named) || format.is_some_and(Format::carries_time) {
                fields
                    .fault("timestamp", "a timestamp is named but `timestamp.from` does not say where it is");
            }
        }
        TimeFrom::Signature => {
            if format.is_some_and(|format| !format.carries_time()) {
                fields.fault("timestamp.from", "`signature` needs {timestamp} in `format`");
            }
            if !templates.iter().all(named) {
                fields.fault("timestamp", UNSIGNED_TIME);
            }
        }
        TimeFrom::Sources(sources) => {
            if !templates.iter().all(|template| named(template) || covers(template, sources)) {
                fields.fault("timestamp", UNSIGNED_TIME);
            }
        }
    }
}

const UNKNOWN_ADDRESS: &str = "this scheme signs the address: say which the provider was given";

const UNSIGNED_TIME: &str = "the timestamp is not signed, so anyone could forge it: name it in `signed`";

/// Is a time read from these sources part of the signed text without being named {timestamp}?
fn covers(template: &Template, sources: &[Source]) -> bool {
    !sources.is_empty()
        && sources.iter().all(|source| {
            (source.in_body() && template.covers_body()) || template.fields().any(|field| field == source)
        })
}

/// What a request offers, found before anything is hashed.
#[derive(Default)]
struct Parts<'v> {
    /// The candidates, and the time as it is written, wherever it stands.
    offered: Offered<'v>,
    time: Option<SignedTime>,
    id: Option<Cow<'v, [u8]>>,
}

impl Signed {
    /// Hands on the values of the signature sources, of which there is nearly always one. True if there
    /// is any.
    fn signatures<'v>(
        &self,
        view: &'v View<'_>,
        mut each: impl FnMut(Cow<'v, [u8]>),
    ) -> Result<bool, Refusal> {
        let mut found = false;
        for source in &self.signature {
            let is_list = self.signature_any || self.shape.split.is_some();
            match source {
                Source::Header(name) if is_list => {
                    for value in view.header_lines(name.lower()) {
                        found = true;
                        each(Cow::Borrowed(value));
                    }
                }
                Source::HeaderFamily(_) => {
                    for value in source.all(view) {
                        found = true;
                        each(value);
                    }
                }
                // What is no list of its own counts for nothing where it cannot be read, beside others.
                other => {
                    let value =
                        if is_list { other.get(view).unwrap_or_default() } else { other.get(view)? };
                    if let Some(value) = value {
                        found = true;
                        each(value);
                    }
                }
            }
            if found && !self.signature_any {
                break;
            }
        }
        Ok(found)
    }

    /// Presence of everything, then shape. Into place: what is read is large to move.
    fn read<'v>(&self, view: &'v View<'_>, parts: &mut Parts<'v>) -> Result<(), Refusal> {
        let mut misshapen = None;
        let found = self.signatures(view, |value| {
            if misshapen.is_none() {
                misshapen = self.shape.read(value, &mut parts.offered).err();
            }
        })?;
        if !found {
            return Err(Refusal::missing(self.wanted()));
        }
        let beside = match &self.time {
            TimeFrom::Sources(sources) => Some(beside(sources, view)?),
            TimeFrom::Nowhere | TimeFrom::Signature => None,
        };
        if !self.id.is_empty() {
            parts.id = Some(beside_id(&self.id, view)?);
        }
        if let Some(refusal) = misshapen {
            return Err(refusal);
        }
        self.shape.check(&parts.offered)?;
        if beside.is_some() {
            parts.offered.time = beside;
        }
        if let Some(text) = &parts.offered.time {
            parts.time = Some(self.unit.read(text).ok_or_else(|| unreadable(&self.time))?);
        }
        Ok(())
    }

    fn feed(
        &self,
        template: &Template,
        parts: &Parts<'_>,
        view: &View<'_>,
        secret: &[u8],
        sink: &mut Sink<'_>,
    ) -> Result<(), Refusal> {
        let needs_address = template.needs_address();
        let url = if needs_address { self.address.of(view.request.target) } else { String::new() };
        let fill = Fill {
            view,
            timestamp: parts.offered.time.as_deref(),
            id: parts.id.as_deref(),
            url: &url,
            path: if needs_address { address::path_of(&url) } else { "" },
            secret,
        };
        template.feed(&fill, sink)
    }

    /// A header that is part of the signed text and is not there, in a request in which nothing matched:
    /// it was counted as empty, and most likely was not.
    fn unfilled(&self, view: &View<'_>) -> Option<Refusal> {
        let absent = |template: &Template| {
            let headers = template.fields().filter(|source| matches!(source, Source::Header(_)));
            headers.filter(|source| matches!(source.get(view), Ok(None))).map(Source::to_string).next()
        };
        let absent: Option<Vec<String>> = self.templates.iter().map(absent).collect();
        absent?.first().map(|name| Refusal::missing(format!("{name}, which is part of what was signed,")))
    }

    fn check_required(&self, view: &View<'_>) -> Result<(), Refusal> {
        for (source, wanted) in &self.require {
            if source.get(view)?.as_deref() != Some(wanted.as_bytes()) {
                return Err(Refusal::bad_signature(format!("{source} is not `{wanted}`")));
            }
        }
        Ok(())
    }
}

/// A template over fields of the body, none of which is there: a signature over it would be one for any body.
fn nothing_signed(template: &Template, view: &View<'_>) -> Option<Refusal> {
    if template.covers_body() {
        return None;
    }
    let mut fields = template.fields().filter(|source| source.in_body()).peekable();
    let first = *fields.peek()?;
    fields.all(|source| matches!(source.get(view), Ok(None))).then(|| Refusal::missing(first))
}

fn beside<'v>(sources: &[Source], view: &'v View<'_>) -> Result<Cow<'v, [u8]>, Refusal> {
    let found = source::first(sources, view)?;
    found.ok_or_else(|| {
        // A signed body without its time is a body of the wrong shape, not a header left out.
        if sources.iter().all(Source::in_body) {
            Refusal::malformed(format!("{} is missing", source::naming(sources)))
        } else {
            Refusal::missing(source::naming(sources))
        }
    })
}

fn beside_id<'v>(sources: &[Source], view: &'v View<'_>) -> Result<Cow<'v, [u8]>, Refusal> {
    source::first(sources, view)?.ok_or_else(|| Refusal::missing(source::naming(sources)))
}

fn unreadable(from: &TimeFrom) -> Refusal {
    let place = match from {
        TimeFrom::Sources(sources) => source::naming(sources),
        TimeFrom::Nowhere | TimeFrom::Signature => "the timestamp in the signature header".into(),
    };
    Refusal::malformed(format!("{place} is not a time this scheme writes"))
}

impl Check for Signed {
    fn present(&self, view: &View<'_>) -> Result<bool, Refusal> {
        self.signatures(view, |_| ())
    }

    fn wanted(&self) -> String {
        source::naming(&self.signature)
    }

    fn prove(&self, view: &View<'_>, _now: OffsetDateTime) -> Result<Option<SignedTime>, Refusal> {
        let mut parts = Parts::default();
        self.read(view, &mut parts)?;
        if !self.algorithm.has_key() {
            return Err(Refusal::new(Reason::ConfigError, "no secret is known yet"));
        }
        self.check_required(view)?;
        let candidates = &parts.offered.candidates;
        if candidates.is_empty() {
            return Err(Refusal::bad_signature(format!(
                "{} has no signature of this form in it",
                self.wanted()
            )));
        }
        for template in &self.templates {
            if template.needs_url() && !self.address.is_known() {
                return Err(Refusal::new(Reason::ConfigError, UNKNOWN_ADDRESS));
            }
            if let Some(refusal) = nothing_signed(template, view) {
                return Err(refusal);
            }
            let feed = |secret: &[u8], sink: &mut Sink<'_>| self.feed(template, &parts, view, secret, sink);
            let length = if template.covers_body() { view.request.body.len() } else { 0 };
            if self.algorithm.matches(candidates, length, feed)? {
                return Ok(parts.time);
            }
        }
        Err(self
            .unfilled(view)
            .unwrap_or_else(|| Refusal::bad_signature("no signature in the request matches")))
    }

    fn content(&self, view: &View<'_>) -> Option<[u8; 32]> {
        let mut parts = Parts::default();
        self.read(view, &mut parts).ok()?;
        let mut hash = Sha256::new();
        self.feed(self.templates.first()?, &parts, view, b"", &mut |bytes| hash.update(bytes)).ok()?;
        Some(hash.finalize().into())
    }

    fn cover(&self) -> Cover {
        Cover {
            what: format!("{} in {}", self.algorithm.name(), self.wanted()),
            body: self.templates.iter().all(Template::covers_body),
            time: self.time != TimeFrom::Nowhere,
        }
    }
}
