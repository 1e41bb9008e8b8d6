//! One table of the form, compiled: a way to check a request, and what to read from it afterwards.

use super::address::Address;
use super::challenge::{self, Challenge};
use super::fields::Fields;
use super::key::KeySpec;
use super::request::{View, media_type};
use super::settings::Settings;
use super::source::{self, Source};
use super::store::Wanted;
use super::timestamp::{Limits, OutOfTime, SignedTime, Unit};
use super::verdict::{Dedupe, Reason, Refusal, Verdict, Verified, id_text, type_text};
use super::{algorithm, basic, jws, signed, special, token};
use crate::Secret;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;
use time::{Duration, OffsetDateTime};
use zeroize::Zeroizing;

/// A body no longer than this is checked against every secret even after one has matched, so that
/// the time taken does not tell which. Beyond it a second pass over the body costs more than that is
/// worth.
pub(super) const ALL_SECRETS_UP_TO: usize = 64 * 1024;

/// More secrets than a rotation needs.
const MAX_SECRETS: usize = 10;

/// What decides whether a request is genuine. One for each `type`.
pub(super) trait Check: fmt::Debug + Send + Sync {
    /// Is the signature there at all? Where it is not, the next alternative is asked.
    fn present(&self, view: &View<'_>) -> Result<bool, Refusal>;
    /// Names what was looked for, for the refusal.
    fn wanted(&self) -> String;
    /// The time that was signed, or why the request is not genuine. Does not look at the clock
    /// except for the validity of keys.
    fn prove(&self, view: &View<'_>, now: OffsetDateTime) -> Result<Option<SignedTime>, Refusal>;
    /// A handshake of the scheme's own that comes unsigned.
    fn challenge(&self, _view: &View<'_>) -> Option<Verdict<'static>> {
        None
    }
    /// A handshake of the scheme's own in a request that has been found genuine.
    fn answer(&self, _view: &View<'_>) -> Option<Verdict<'static>> {
        None
    }
    /// The kind of the scheme's own handshake.
    fn handshake(&self) -> Option<&'static str> {
        None
    }
    /// A key to be fetched before this request can be checked.
    fn wants(&self, _view: &View<'_>) -> Option<Wanted> {
        None
    }
    /// SHA-256 of all that was signed, if a time is in it. Asked only of genuine requests.
    fn content(&self, view: &View<'_>) -> Option<[u8; 32]>;
    /// What is covered and how, for people.
    fn cover(&self) -> Cover;
}

/// What a check protects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cover {
    /// One line on what is compared or signed.
    pub(super) what: String,
    pub(super) body: bool,
    pub(super) time: bool,
}

/// What compiling one table needs to know.
pub(super) struct Context<'a> {
    pub(super) settings: &'a Settings,
    pub(super) fields: &'a Fields<'a>,
    pub(super) secrets: &'a [Secret],
    pub(super) address: &'a Address,
    pub(super) time: &'a TimeRule,
    pub(super) id: &'a [Source],
    /// A handshake will bring the secret.
    pub(super) awaits_secret: bool,
}

impl Context<'_> {
    /// Every secret as key bytes; faults for those that are not.
    pub(super) fn keys(&self, spec: &KeySpec) -> Vec<Zeroizing<Vec<u8>>> {
        let report = self.fields.report();
        let mut keys = Vec::new();
        for (number, secret) in self.secrets.iter().enumerate() {
            match spec.decode(secret) {
                Ok(key) => keys.push(key),
                Err(message) => report.fault(format!("secrets[{number}]"), message),
            }
        }
        keys
    }

    pub(super) fn require_secret(&self) {
        if self.secrets.is_empty() && !self.awaits_secret {
            self.fields.report().fault("secrets", "this scheme needs at least one secret");
        }
    }
}

/// `timestamp` of a table.
#[derive(Debug, Clone)]
pub(super) struct TimeRule {
    /// Where the time is; nothing for schemes that find it themselves or have none.
    pub(super) from: TimeFrom,
    pub(super) unit: Unit,
    pub(super) limits: Limits,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TimeFrom {
    Nowhere,
    /// In the signature header itself.
    Signature,
    Sources(Vec<Source>),
}

#[derive(Debug)]
pub(super) struct Scheme {
    only_if: Vec<(Source, String)>,
    check: Box<dyn Check>,
    limits: Limits,
    challenges: Vec<Challenge>,
    id: Vec<Source>,
    id_join: Vec<Source>,
    id_with_event_type: bool,
    event_type: Vec<Source>,
    has_secret: bool,
    handshake_until: Option<OffsetDateTime>,
}

impl Scheme {
    /// Compiles one table. Returns nothing when it cannot be used; the report says why.
    pub(super) fn compile(fields: Fields<'_>, settings: &Settings) -> Option<Self> {
        let secrets = secrets(&fields, settings);
        if secrets.len() > MAX_SECRETS {
            fields.report().fault("secrets", format!("at most {MAX_SECRETS} secrets are tried"));
        }
        let address = address(&fields, settings);
        let time = time_rule(&fields, settings);
        let id = fields.parsed("id", Source::parse);
        let challenges = challenge::read(&fields, settings, &secrets);
        let awaits_secret = challenges.iter().any(Challenge::brings_secret);
        let context = Context {
            settings,
            fields: &fields,
            secrets: &secrets,
            address: &address,
            time: &time,
            id: &id,
            awaits_secret,
        };
        let check = check(&context);
        if secrets.is_empty() && awaits_secret {
            fields.report().warn("no secret yet: the source waits for the provider's handshake");
        }
        let scheme = check.map(|check| Self {
            only_if: only_if(&fields),
            check,
            limits: time.limits,
            challenges,
            id: id.clone(),
            id_join: fields.parsed("id_join", Source::parse),
            id_with_event_type: fields.flag("id_with_event_type").unwrap_or(false),
            event_type: fields.parsed("event_type", Source::parse),
            has_secret: !secrets.is_empty(),
            handshake_until: settings.handshake_until,
        });
        for key in ["type", "preset", "ack", "refuse", "body_size_limit"] {
            let _ = fields.raw(key);
        }
        fields.finish();
        scheme
    }

    pub(super) fn applies(&self, view: &View<'_>) -> Result<bool, Refusal> {
        for (source, wanted) in &self.only_if {
            let Some(value) = source.get(view)? else { return Ok(false) };
            let is_type = matches!(source, Source::Header(name) if name.eq_ignore_ascii_case("content-type"));
            let same = if is_type {
                media_type(&value).eq_ignore_ascii_case(wanted.as_bytes())
            } else {
                *value == *wanted.as_bytes()
            };
            if !same {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Handshakes that come unsigned are answered before anything else is looked at.
    pub(super) fn unsigned_challenge(
        &self,
        view: &View<'_>,
        now: OffsetDateTime,
    ) -> Option<Verdict<'static>> {
        if let Some(verdict) = self.check.challenge(view) {
            return Some(verdict);
        }
        let may_store = !self.has_secret || self.handshake_until.is_some_and(|until| now < until);
        self.challenges
            .iter()
            .filter(|rule| !rule.signed() && (may_store || !rule.needs_no_secret()))
            .find(|rule| rule.asked(view))
            .map(|rule| rule.answer(view))
    }

    pub(super) fn present(&self, view: &View<'_>) -> Result<bool, Refusal> {
        self.check.present(view)
    }

    pub(super) fn wanted(&self) -> String {
        self.check.wanted()
    }

    pub(super) fn wants(&self, view: &View<'_>) -> Option<Wanted> {
        self.check.wants(view)
    }

    pub(super) fn cover(&self) -> Cover {
        self.check.cover()
    }

    /// Signature, then time, then what the request asks or says.
    pub(super) fn verify<'r>(&self, view: &View<'r>, now: OffsetDateTime) -> Verdict<'r> {
        match self.genuine(view, now) {
            Err(refusal) => Verdict::Refused(refusal),
            Ok(timestamp) => {
                let rule = self.challenges.iter().find(|rule| rule.signed() && rule.asked_glancing(view));
                let asked = rule.map(|rule| rule.answer(view)).or_else(|| self.check.answer(view));
                asked.unwrap_or_else(|| Verdict::Ok(self.read(view, timestamp)))
            }
        }
    }

    fn genuine(&self, view: &View<'_>, now: OffsetDateTime) -> Result<Option<OffsetDateTime>, Refusal> {
        let proved = self.check.prove(view, now).map_err(|refusal| self.waiting(refusal));
        let Some(signed_at) = proved? else { return Ok(None) };
        self.limits.check(signed_at, now).map_err(out_of_time)?;
        // A time beyond the calendar, in a scheme that does not limit times, is none that can be stored.
        Ok(signed_at.storable())
    }

    /// Says what a source without a secret waits for.
    fn waiting(&self, refusal: Refusal) -> Refusal {
        let waits = !self.has_secret && self.challenges.iter().any(Challenge::brings_secret);
        if !waits || refusal.reason != Reason::ConfigError {
            return refusal;
        }
        let detail =
            "no secret is known yet: the source waits for the handshake in which the provider hands it over";
        Refusal::new(Reason::ConfigError, detail)
    }

    pub(super) fn read<'r>(&self, view: &View<'r>, timestamp: Option<OffsetDateTime>) -> Verified<'r> {
        let event_type = source::first_glance(&self.event_type, view).and_then(type_text);
        let (delivery_id, dedupe) = self.name(view, event_type.as_deref());
        let dedupe = dedupe.unwrap_or_else(|| match timestamp {
            Some(_) => self.check.content(view).map_or(Dedupe::Body, Dedupe::SignedContent),
            None => Dedupe::Body,
        });
        Verified { timestamp, delivery_id, event_type, dedupe }
    }

    /// The provider's name for this delivery, and what repeats of it have in common.
    fn name<'r>(&self, view: &View<'r>, event_type: Option<&str>) -> (Option<Cow<'r, str>>, Option<Dedupe>) {
        let typed = |mut ids: Vec<String>| {
            if self.id_with_event_type {
                ids.push(event_type.unwrap_or_default().to_owned());
            }
            Dedupe::Ids(ids)
        };
        if !self.id_join.is_empty() {
            let parts = self.id_join.iter().map(|source| source.glance(view));
            let parts: Option<Vec<String>> =
                parts.map(|part| part.map(|value| id_text(value).into_owned())).collect();
            return match parts {
                Some(ids) => (Some(ids.join("/").into()), Some(typed(ids))),
                None => (None, None),
            };
        }
        let id = source::first_glance(&self.id, view).map(id_text);
        let dedupe = id.as_ref().map(|id| match self.id_with_event_type {
            true => typed(vec![id.clone().into_owned()]),
            false => Dedupe::Id,
        });
        (id, dedupe)
    }

    pub(super) fn facts(&self) -> SchemeFacts<'_> {
        SchemeFacts {
            id: if self.id_join.is_empty() { &self.id } else { &self.id_join },
            id_event_type: if self.id_with_event_type { &self.event_type } else { &[] },
            limits: self.limits,
            challenges: self.challenges.iter().map(Challenge::kind).chain(self.check.handshake()).collect(),
        }
    }
}

/// What `sources check` and the documentation show of a scheme.
pub(super) struct SchemeFacts<'a> {
    pub(super) id: &'a [Source],
    /// Where the type is read that tells events of one id apart.
    pub(super) id_event_type: &'a [Source],
    pub(super) limits: Limits,
    pub(super) challenges: Vec<&'static str>,
}

fn out_of_time(problem: OutOfTime) -> Refusal {
    match problem {
        OutOfTime::Stale(age) => Refusal::new(Reason::Stale, format!("signed {} ago", span(age))),
        OutOfTime::Future(ahead) => {
            Refusal::new(Reason::Future, format!("signed {} ahead of this clock", span(ahead)))
        }
    }
}

/// Beyond, more words help nobody.
const CENTURY: i64 = 36_525 * 86_400;

/// Seconds, and what people call that many.
fn span(seconds: i64) -> String {
    match seconds {
        172_800..CENTURY => format!("{seconds} s ({} days)", seconds / 86_400),
        7_200..172_800 => format!("{seconds} s ({} hours)", seconds / 3_600),
        _ => format!("{seconds} s"),
    }
}

fn check(context: &Context<'_>) -> Option<Box<dyn Check>> {
    let fields = context.fields;
    let Some(kind) = fields.text("type") else {
        if !fields.has("type") {
            fields.fault("type", "says what is checked and must be there (or name a `preset`)");
        }
        return None;
    };
    match kind {
        "hmac" | "hash" | "ed25519" | "ecdsa_p256_sha256" => {
            signed::compile(context, algorithm::Kind::parse(kind)?)
        }
        "jws" => jws::compile(context),
        "token" => token::compile(context),
        "basic" => basic::compile(context),
        other => special::compile(other, context),
    }
}

/// The table's own secrets, else the source's.
pub(super) fn secrets(fields: &Fields<'_>, settings: &Settings) -> Vec<Secret> {
    let own = ["secret", "secrets"].iter().flat_map(|key| fields.texts(key)).map(Secret::from).collect();
    if fields.has("secret") || fields.has("secrets") { own } else { settings.secrets.clone() }
}

/// The address that a table says its provider was given, else the source's, else one below the relay's.
pub(super) fn address(fields: &Fields<'_>, settings: &Settings) -> Address {
    let in_table = fields.text("url");
    let own = in_table.or(settings.public_url.as_deref());
    Address::new(own, settings.base_url.as_deref()).unwrap_or_else(|message| {
        match in_table {
            Some(_) => fields.fault("url", message),
            None => fields.report().fault("public_url", message),
        }
        Address::Unknown
    })
}

fn only_if(fields: &Fields<'_>) -> Vec<(Source, String)> {
    let Some(value) = fields.raw("only_if") else { return Vec::new() };
    let Value::Object(map) = value else {
        fields.fault("only_if", "must map sources to values");
        return Vec::new();
    };
    let mut conditions = Vec::new();
    for (source, wanted) in map {
        match (Source::parse(source), source::scalar(wanted)) {
            (Ok(source), Some(wanted)) => {
                conditions.push((source, String::from_utf8_lossy(&wanted).into_owned()));
            }
            (Err(message), _) => fields.fault("only_if", message),
            (_, None) => fields.fault("only_if", format!("the value of `{source}` must be a text")),
        }
    }
    conditions
}

const DEFAULT_MAX_AGE: Duration = Duration::seconds(300);

/// Beyond this a replayed request is accepted for longer than most people would expect.
const LONG_AGE: Duration = Duration::hours(24);

fn time_rule(fields: &Fields<'_>, settings: &Settings) -> TimeRule {
    let Some(table) = fields.table("timestamp") else {
        let limits = Limits { max_age: None, max_future: None };
        return TimeRule { from: TimeFrom::Nowhere, unit: Unit::Seconds, limits };
    };
    let unit = table.named("unit", Unit::parse, "s, ms, rfc3339, http_date").unwrap_or(Unit::Seconds);
    let from = match table.texts("from").as_slice() {
        [] => TimeFrom::Nowhere,
        ["signature"] => TimeFrom::Signature,
        _ => TimeFrom::Sources(table.parsed("from", Source::parse)),
    };
    let default_age = settings.default_skew.and_then(|window| Duration::try_from(window).ok());
    let own_age = seconds(&table, "max_age").unwrap_or(Some(default_age.unwrap_or(DEFAULT_MAX_AGE)));
    let own_future = seconds(&table, "max_future");
    table.finish();
    let window = settings.skew_window.filter(|window| !window.is_zero());
    let window = window.and_then(|window| Duration::try_from(window).ok());
    let max_age = window.map_or(own_age, Some);
    let limits = Limits { max_age, max_future: own_future.unwrap_or(max_age) };
    match max_age {
        None => {
            fields.report().warn("the age of a request is not limited, so it can be replayed at any time")
        }
        Some(age) if age > LONG_AGE => {
            fields.report().warn(format!("requests are accepted for {} hours", age.whole_hours()));
        }
        Some(_) => {}
    }
    TimeRule { from, unit, limits }
}

/// A number of seconds; `null` is "not limited"; nothing when the key is absent or wrong.
fn seconds(table: &Fields<'_>, key: &str) -> Option<Option<Duration>> {
    match table.raw(key)? {
        Value::Null => Some(None),
        Value::Number(number) if number.as_f64().is_some_and(|n| (0.0..=1e10).contains(&n)) => {
            Some(number.as_f64().map(Duration::seconds_f64))
        }
        _ => {
            table.fault(key, "must be a number of seconds, or null for no limit");
            None
        }
    }
}
