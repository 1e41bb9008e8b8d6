//! Handshakes: what a provider asks before it sends events, and the answer.

use super::fields::Fields;
use super::mac::{Hash, MacKey};
use super::request::View;
use super::respond::{Respond, Values};
use super::settings::Settings;
use super::source::{self, Source};
use super::verdict::{ChallengeAnswer, Refusal, Verdict};
use crate::Secret;
use regex::bytes::Regex;
use serde_json::Value;
use subtle::ConstantTimeEq as _;

#[derive(Debug)]
pub(super) struct Challenge {
    when: When,
    signed: bool,
    accept: Vec<(Source, Regex)>,
    /// The query parameter that must repeat the source's verify token.
    check: Option<String>,
    needs_no_secret: bool,
    store_secret: Option<Source>,
    allow_origin: bool,
    respond: Respond,
    kind: &'static str,
    verify_token: Option<Secret>,
    allowed_origins: Vec<String>,
    /// For answers that show possession of the secret: the first one, as text.
    mac: Option<MacKey>,
}

/// All that must hold for a request to be this handshake.
#[derive(Debug, Default)]
struct When {
    method: Option<String>,
    query: Option<String>,
    header: Option<String>,
    json: Vec<(Source, Value)>,
    form: Vec<(String, String)>,
}

/// The challenges of a table.
pub(super) fn read(fields: &Fields<'_>, settings: &Settings, secrets: &[Secret]) -> Vec<Challenge> {
    let verify_token =
        fields.text("verify_token").map(Secret::from).or_else(|| settings.verify_token.clone());
    let own_origins = fields.texts("allowed_origins");
    let allowed_origins = if own_origins.is_empty() {
        settings.allowed_origins.clone()
    } else {
        own_origins.into_iter().map(str::to_owned).collect()
    };
    let rules = match fields.raw("challenge") {
        None => return Vec::new(),
        Some(Value::Array(rules)) => rules,
        Some(_) => {
            fields.fault("challenge", "must be a list");
            return Vec::new();
        }
    };
    let mut challenges = Vec::new();
    for (number, rule) in rules.iter().enumerate() {
        let path = fields.path_of(&format!("challenge[{number}]"));
        let Value::Object(map) = rule else {
            fields.report().fault(path, "must be a table");
            continue;
        };
        let table = Fields::new(path, map, fields.report());
        challenges.extend(Challenge::read(&table, secrets, &verify_token, &allowed_origins));
        table.finish();
    }
    challenges
}

impl Challenge {
    fn read(
        table: &Fields<'_>,
        secrets: &[Secret],
        verify_token: &Option<Secret>,
        allowed_origins: &[String],
    ) -> Option<Self> {
        let when = When::read(table);
        let respond = Respond::read(table)?;
        let signed = table.flag("signed").unwrap_or(true);
        let accept = accept(table);
        let check = check(table);
        let store_secret = table.text("store_secret").and_then(|text| stored(table, text));
        let allow_origin = table.flag("allow_origin").unwrap_or(false);
        if respond.signs() && !signed && accept.is_empty() {
            table.fault("accept", "an unsigned handshake answered with an HMAC must restrict what it signs");
        }
        if check.is_some() && verify_token.is_none() {
            table.report().warn("verify_token is not set, so the provider's handshake will be refused");
        }
        if allow_origin && allowed_origins.is_empty() {
            table.report().warn("allowed_origins is empty, so no CloudEvents sender can subscribe");
        }
        let kind = match () {
            () if store_secret.is_some() => "store_secret",
            () if allow_origin => "origin",
            () if respond.signs() => "hmac",
            () if respond.echoes() => "echo",
            () => "fixed",
        };
        let mac = secrets.first().map(|secret| MacKey::new(Hash::Sha256, secret.expose().as_bytes()));
        Some(Self {
            when,
            signed,
            accept,
            check,
            needs_no_secret: table.flag("needs_no_secret").unwrap_or(false),
            store_secret,
            allow_origin,
            respond,
            kind,
            verify_token: verify_token.clone(),
            allowed_origins: allowed_origins.to_vec(),
            mac,
        })
    }

    pub(super) fn signed(&self) -> bool {
        self.signed
    }

    pub(super) fn needs_no_secret(&self) -> bool {
        self.needs_no_secret
    }

    pub(super) fn brings_secret(&self) -> bool {
        self.store_secret.is_some()
    }

    pub(super) fn kind(&self) -> &'static str {
        self.kind
    }

    pub(super) fn asked(&self, view: &View<'_>) -> bool {
        self.when.holds(view)
    }

    /// The same for a genuine request, whose body need not be read as a whole to see that it asks
    /// nothing.
    pub(super) fn asked_glancing(&self, view: &View<'_>) -> bool {
        self.when.may_hold(view) && self.when.holds(view)
    }

    /// The answer to a request that asks; a refusal when what it asks with is not allowed.
    pub(super) fn answer(&self, view: &View<'_>) -> Verdict<'static> {
        match self.permitted(view).and_then(|()| self.make(view)) {
            Ok(answer) => Verdict::Challenge(answer),
            Err(refusal) => Verdict::Refused(refusal.of_handshake(self.kind)),
        }
    }

    fn permitted(&self, view: &View<'_>) -> Result<(), Refusal> {
        for (source, pattern) in &self.accept {
            let value = source.get(view)?.unwrap_or_default();
            if !pattern.is_match(&value) {
                return Err(Refusal::malformed(format!("{source} has a value that is not answered")));
            }
        }
        if let Some(name) = &self.check {
            let offered = view.query_value(name)?.unwrap_or_default();
            let same = self
                .verify_token
                .as_ref()
                .is_some_and(|token| !token.is_empty() && token.expose().as_bytes().ct_eq(&offered).into());
            if !same {
                let why = match self.verify_token {
                    Some(_) => "is not this source's verify_token: enter the same at the provider",
                    None => "cannot be compared: verify_token is not set",
                };
                return Err(Refusal::bad_signature(format!("query parameter {name} {why}")));
            }
        }
        if self.allow_origin {
            let origin = view.header("WebHook-Request-Origin")?.unwrap_or_default();
            if !self.allowed_origins.iter().any(|allowed| allowed == "*" || allowed.as_bytes() == &*origin) {
                return Err(Refusal::bad_signature("the origin is not in allowed_origins"));
            }
        }
        Ok(())
    }

    fn make(&self, view: &View<'_>) -> Result<ChallengeAnswer, Refusal> {
        let values = Values { view, mac: self.mac.as_ref() };
        let store_secret = match &self.store_secret {
            Some(source) => Some(Secret::from(values.echo(source)?)),
            None => None,
        };
        Ok(ChallengeAnswer {
            status: self.respond.status(),
            headers: self.respond.headers(&values)?,
            body: self.respond.body(&values)?,
            kind: self.kind,
            proved: self.signed,
            store_secret,
            confirm: None,
        })
    }
}

fn accept(table: &Fields<'_>) -> Vec<(Source, Regex)> {
    let Some(value) = table.raw("accept") else { return Vec::new() };
    let Value::Object(map) = value else {
        table.fault("accept", "must map sources to patterns");
        return Vec::new();
    };
    let mut accepted = Vec::new();
    for (source, pattern) in map {
        let pattern = pattern.as_str().map(|text| Regex::new(&format!("\\A(?:{text})\\z")));
        match (Source::parse(source), pattern) {
            (Ok(source), Some(Ok(pattern))) => accepted.push((source, pattern)),
            (Err(message), _) => table.fault("accept", message),
            (_, Some(Err(error))) => table.fault("accept", error.to_string()),
            (_, None) => table.fault("accept", "a pattern must be a text"),
        }
    }
    accepted
}

fn check(table: &Fields<'_>) -> Option<String> {
    let rule = table.table("check")?;
    let query = rule.text("query").map(str::to_owned);
    if rule.text("setting") != Some("verify_token") {
        rule.fault("setting", "must be verify_token");
    }
    rule.finish();
    query
}

fn stored(table: &Fields<'_>, text: &str) -> Option<Source> {
    let inner = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(text);
    Source::parse(inner).map_err(|message| table.fault("store_secret", message)).ok()
}

impl When {
    fn read(table: &Fields<'_>) -> Self {
        let Some(when) = table.table("when") else {
            table.fault("when", "must say which requests are the handshake");
            return Self::default();
        };
        let read = Self {
            method: when.text("method").map(str::to_owned),
            query: when.text("query").map(str::to_owned),
            header: when.text("header").map(str::to_owned),
            json: json_conditions(&when),
            form: form_conditions(&when),
        };
        when.finish();
        read
    }

    /// False where a field of the body that must have a value has none or another.
    fn may_hold(&self, view: &View<'_>) -> bool {
        self.json.iter().all(|(source, wanted)| match source::scalar(wanted) {
            Some(wanted) => source.glance(view).is_some_and(|found| found == wanted),
            None => true,
        })
    }

    fn holds(&self, view: &View<'_>) -> bool {
        let request = &view.request;
        self.method.as_deref().is_none_or(|method| request.method == method)
            && self
                .query
                .as_ref()
                .is_none_or(|name| view.query().iter().any(|(key, _)| key == name.as_bytes()))
            && self.header.as_ref().is_none_or(|name| view.header_lines(name).next().is_some())
            && self.json.iter().all(|(source, wanted)| json_holds(view, source, wanted))
            && self.form.iter().all(|(name, wanted)| {
                view.form().iter().any(|(key, value)| key == name.as_bytes() && value == wanted.as_bytes())
            })
    }
}

fn json_conditions(when: &Fields<'_>) -> Vec<(Source, Value)> {
    let Some(value) = when.raw("json") else { return Vec::new() };
    let Value::Object(map) = value else {
        when.fault("json", "must map pointers to values");
        return Vec::new();
    };
    let read = |(pointer, wanted): (&String, &Value)| match Source::parse(&format!("json:{pointer}")) {
        Ok(source) => Some((source, wanted.clone())),
        Err(message) => {
            when.fault("json", message);
            None
        }
    };
    map.iter().filter_map(read).collect()
}

fn form_conditions(when: &Fields<'_>) -> Vec<(String, String)> {
    let Some(value) = when.raw("form") else { return Vec::new() };
    let Value::Object(map) = value else {
        when.fault("form", "must map fields to values");
        return Vec::new();
    };
    map.iter().filter_map(|(name, wanted)| Some((name.clone(), wanted.as_str()?.to_owned()))).collect()
}

/// `true` asks only that the field is there.
fn json_holds(view: &View<'_>, source: &Source, wanted: &Value) -> bool {
    let Source::Json(pointer) = source else { return false };
    let found = view.json().and_then(|root| pointer.value_in(root));
    match wanted {
        Value::Bool(true) => found.is_some(),
        wanted => found == Some(wanted),
    }
}
