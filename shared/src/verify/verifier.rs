//! The compiled whole of a source's verification.

use super::answers::{self, Ack};
use super::fields::{Fields, Report};
use super::plan::{self, Plan, Table};
use super::request::{Request, View};
use super::scheme::{self, Scheme};
use super::settings::{Compiled, Fault, Settings};
use super::source::Source;
use super::store::Wanted;
use super::verdict::{Reason, Refusal, Verdict};
use serde_json::Value;
use std::time::Duration;
use time::OffsetDateTime;

/// Checks requests of one source. Immutable; a changed secret means a new one.
#[derive(Debug)]
pub struct Verifier {
    node: Node,
    ack: Ack,
    refuse: u16,
    body_size_limit: Option<u64>,
    preset: Option<&'static str>,
}

#[derive(Debug)]
enum Node {
    FirstOf(Vec<Scheme>),
    All(Vec<Node>),
    Any(Vec<Node>),
}

/// What one way of checking covers, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// One line: what is compared, and where it is read from.
    pub what: String,
    /// By this way or by another one that must hold with it.
    pub body_protected: bool,
    /// As `body_protected`.
    pub time_protected: bool,
    /// Is a protected time limited too? As `body_protected`.
    pub age_protected: bool,
    /// Oldest accepted by this way, in seconds; nothing is without limit or without time.
    pub max_age: Option<i64>,
    /// Where the id for deduplication is read, as spelt in the configuration.
    pub id: Vec<String>,
    /// Where the event's type is read, if events of one id and different types are different ones.
    pub id_event_type: Vec<String>,
    /// The handshakes that are answered.
    pub handshakes: Vec<&'static str>,
}

impl Verifier {
    /// Compiles a source's settings.
    ///
    /// # Errors
    /// Everything that is wrong with them, each with its key path relative to the source.
    pub fn compile(settings: &Settings) -> Result<Compiled, Vec<Fault>> {
        let plan = plan::resolve(&settings.verifier, "verifier").map_err(|fault| vec![fault])?;
        let report = Report::default();
        let tables = plan.tables();
        let preset = tables.iter().find_map(|table| table.preset);
        let ack = ack(settings, &tables, &report);
        let refuse = refuse(settings, &tables, &report);
        let body_size_limit = body_size_limit(&tables, &report);
        let node = Node::compile(&plan, settings, &report);
        let (faults, warnings) = report.into_parts();
        match node {
            Some(node) if faults.is_empty() => {
                Ok(Compiled { verifier: Self { node, ack, refuse, body_size_limit, preset }, warnings })
            }
            _ if faults.is_empty() => {
                Err(vec![Fault { key: "verifier".into(), message: "cannot be used".into() }])
            }
            _ => Err(faults),
        }
    }

    /// The verdict on one request. Never panics, whatever is in it.
    pub fn verify<'r>(&self, request: &Request<'r>, now: OffsetDateTime) -> Verdict<'r> {
        self.node.verify(&View::new(*request), now)
    }

    /// A key to be fetched (see [`super::KeyStore::fill`]) before this request can be verified.
    pub fn wants(&self, request: &Request<'_>) -> Option<Wanted> {
        let view = View::new(*request);
        self.node.schemes().into_iter().find_map(|scheme| scheme.wants(&view))
    }

    /// The answer to an event that is stored.
    pub fn ack(&self) -> &Ack {
        &self.ack
    }

    /// The status of a refused request.
    pub fn refuse_status(&self, reason: Reason) -> u16 {
        answers::status_of(reason, self.refuse)
    }

    /// The largest body this provider sends, in bytes, where that is more than usual.
    pub fn body_size_limit(&self) -> Option<u64> {
        self.body_size_limit
    }

    /// The preset it was made from.
    pub fn preset(&self) -> Option<&'static str> {
        self.preset
    }

    /// How the ways of [`Self::summary`] belong together; nothing where there is only one.
    pub fn rule(&self) -> Option<String> {
        self.node.rule()
    }

    /// Each alternative in one line, for `sources check` and the documentation.
    pub fn summary(&self) -> Vec<Summary> {
        self.node.summary()
    }
}

#[cfg(test)]
impl Verifier {
    /// What one alternative reads from a request, genuine or not.
    pub(super) fn read<'r>(&self, alternative: usize, request: &Request<'r>) -> super::Verified<'r> {
        self.node.schemes()[alternative].read(&View::new(*request), None)
    }

    /// For each alternative the oldest and the furthest ahead, in seconds.
    pub(super) fn limits(&self) -> Vec<(Option<i64>, Option<i64>)> {
        let seconds = |limit: Option<time::Duration>| limit.map(time::Duration::whole_seconds);
        let limits = self.node.schemes().into_iter().map(|scheme| scheme.facts().limits);
        limits.map(|limits| (seconds(limits.max_age), seconds(limits.max_future))).collect()
    }
}

fn summary(scheme: &Scheme) -> Summary {
    let cover = scheme.cover();
    let facts = scheme.facts();
    let max_age = facts.limits.max_age.filter(|_| cover.time).map(time::Duration::whole_seconds);
    Summary {
        what: cover.what,
        body_protected: cover.body,
        time_protected: cover.time,
        age_protected: max_age.is_some(),
        max_age,
        id: facts.id.iter().map(Source::spelling).collect(),
        id_event_type: facts.id_event_type.iter().map(Source::spelling).collect(),
        handshakes: facts.challenges,
    }
}

impl Node {
    fn compile(plan: &Plan, settings: &Settings, report: &Report) -> Option<Self> {
        let parts = |parts: &[Plan]| -> Option<Vec<Self>> {
            // Every part is compiled, so that all faults are found at once.
            let compiled: Vec<Option<Self>> =
                parts.iter().map(|part| Self::compile(part, settings, report)).collect();
            compiled.into_iter().collect()
        };
        Some(match plan {
            Plan::FirstOf(tables) => {
                let compiled: Vec<Option<Scheme>> = tables
                    .iter()
                    .map(|table| {
                        Scheme::compile(Fields::new(table.path.as_str(), &table.map, report), settings)
                    })
                    .collect();
                Self::FirstOf(compiled.into_iter().collect::<Option<Vec<Scheme>>>()?)
            }
            Plan::All(list) => {
                let before = report.bare_bodies();
                let all = Self::All(parts(list)?);
                if all.summary().iter().all(|way| way.body_protected) {
                    report.body_is_covered(before);
                }
                all
            }
            Plan::Any(list) => Self::Any(parts(list)?),
        })
    }

    /// Where all parts must hold, each is protected by what any of them covers.
    fn summary(&self) -> Vec<Summary> {
        let parts: Vec<Vec<Summary>> = match self {
            Self::FirstOf(schemes) => return schemes.iter().map(summary).collect(),
            Self::All(parts) | Self::Any(parts) => parts.iter().map(Self::summary).collect(),
        };
        let one_covers = |what: fn(&Summary) -> bool| {
            matches!(self, Self::All(_)) && parts.iter().any(|ways| ways.iter().all(what))
        };
        let body = one_covers(|way| way.body_protected);
        let time = one_covers(|way| way.time_protected);
        let age = one_covers(|way| way.age_protected);
        let mut ways: Vec<Summary> = parts.into_iter().flatten().collect();
        for way in &mut ways {
            way.body_protected |= body;
            way.time_protected |= time;
            way.age_protected |= age;
        }
        ways
    }

    fn rule(&self) -> Option<String> {
        let (own, parts) = match self {
            Self::FirstOf(schemes) if schemes.len() > 1 => (
                format!("the first of {} that the request is meant for decides", schemes.len()),
                [].as_slice(),
            ),
            Self::FirstOf(_) => return None,
            Self::All(parts) => (format!("all {} must hold", parts.len()), parts.as_slice()),
            Self::Any(parts) => (format!("any one of {} is enough", parts.len()), parts.as_slice()),
        };
        let inner = parts
            .iter()
            .enumerate()
            .filter_map(|(at, part)| Some(format!("; in part {}: {}", at + 1, part.rule()?)));
        Some(own + &inner.collect::<String>())
    }

    fn schemes(&self) -> Vec<&Scheme> {
        match self {
            Self::FirstOf(schemes) => schemes.iter().collect(),
            Self::All(parts) | Self::Any(parts) => parts.iter().flat_map(Self::schemes).collect(),
        }
    }

    fn verify<'r>(&self, view: &View<'r>, now: OffsetDateTime) -> Verdict<'r> {
        match self {
            Self::FirstOf(schemes) => first_of(schemes, view, now).unwrap_or_else(Verdict::Refused),
            Self::All(parts) => all(parts, view, now),
            Self::Any(parts) => any(parts, view, now),
        }
    }
}

/// The first alternative that the request is meant for and whose signature is there decides.
fn first_of<'r>(schemes: &[Scheme], view: &View<'r>, now: OffsetDateTime) -> Result<Verdict<'r>, Refusal> {
    let mut missing: Vec<String> = Vec::new();
    for scheme in schemes {
        if !scheme.applies(view)? {
            continue;
        }
        if let Some(verdict) = scheme.unsigned_challenge(view, now) {
            return Ok(verdict);
        }
        // With nothing else to ask, the check says itself what is missing.
        if schemes.len() == 1 || scheme.present(view)? {
            return Ok(scheme.verify(view, now));
        }
        missing.push(scheme.wanted());
    }
    missing.dedup();
    Err(match missing.as_slice() {
        [] => Refusal::missing("what says which version of the scheme is used"),
        names => Refusal::missing(names.join(" or ")),
    })
}

/// Every part must hold; the first one says what the event is. Any part may answer a handshake,
/// once those before it have held.
fn all<'r>(parts: &[Node], view: &View<'r>, now: OffsetDateTime) -> Verdict<'r> {
    let mut first = None;
    for part in parts {
        match part.verify(view, now) {
            Verdict::Ok(verified) => {
                first.get_or_insert(verified);
            }
            other => return other,
        }
    }
    match first {
        Some(verified) => Verdict::Ok(verified),
        None => Verdict::Refused(Refusal::new(Reason::ConfigError, "nothing is checked")),
    }
}

/// One part is enough. Where none holds, the refusal that says most: one that is not "missing".
fn any<'r>(parts: &[Node], view: &View<'r>, now: OffsetDateTime) -> Verdict<'r> {
    let mut refused: Option<Refusal> = None;
    for part in parts {
        match part.verify(view, now) {
            Verdict::Refused(refusal) => match &refused {
                Some(kept) if kept.reason != Reason::MissingHeader => {}
                _ => refused = Some(refusal),
            },
            answer => return answer,
        }
    }
    Verdict::Refused(refused.unwrap_or_else(|| Refusal::new(Reason::ConfigError, "nothing is checked")))
}

fn ack(settings: &Settings, tables: &[&Table], report: &Report) -> Ack {
    let named_provider = tables.iter().any(|table| table.preset.is_some());
    let mut ack = Ack::default_for(named_provider);
    if let Some((table, value)) = tables.iter().find_map(|table| Some((table, table.map.get("ack")?))) {
        ack = Ack::read(value, &format!("{}.ack", table.path), ack, report);
    }
    match &settings.ack {
        Some(value) => Ack::read(value, "ack", ack, report),
        None => ack,
    }
}

fn refuse(settings: &Settings, tables: &[&Table], report: &Report) -> u16 {
    if let Some(value) = &settings.refuse {
        return answers::refuse_status(value, "refuse", report);
    }
    match tables.iter().find_map(|table| Some((table, table.map.get("refuse")?))) {
        Some((table, value)) => answers::refuse_status(value, &format!("{}.refuse", table.path), report),
        None => answers::REFUSE,
    }
}

fn body_size_limit(tables: &[&Table], report: &Report) -> Option<u64> {
    let (table, value) = tables.iter().find_map(|table| Some((table, table.map.get("body_size_limit")?)))?;
    let size = answers::size(value);
    if size.is_none() {
        report.fault(format!("{}.body_size_limit", table.path), "must be a size such as 1MiB");
    }
    size
}

/// How old a scheme lets a request be: the `timestamp.max_age` of its first table with a
/// `timestamp`. Nothing where there is no time or no limit, or where it is not written. Needs no
/// secret, so that a service that has none can tell what the one with secrets enforces.
///
/// # Errors
/// When the verifier cannot be resolved to tables.
pub fn max_age(verifier: &Value) -> Result<Option<Duration>, Fault> {
    let plan = plan::resolve(verifier, "verifier")?;
    let Some(table) = plan.tables().into_iter().find(|table| table.map.contains_key("timestamp")) else {
        return Ok(None);
    };
    let fault = || Fault {
        key: format!("{}.timestamp.max_age", table.path),
        message: "must be a number of seconds, or null for no limit".into(),
    };
    match table.map["timestamp"].get("max_age") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let seconds = value.as_f64().ok_or_else(fault)?;
            Duration::try_from_secs_f64(seconds).map(Some).map_err(|_| fault())
        }
    }
}

/// The address to give the provider: the one that a table of the verifier names, else the source's, else the one
/// below the relay's that `path` belongs to. Nothing where none is known.
pub fn public_address(settings: &Settings, path: &str) -> Option<String> {
    let plan = plan::resolve(&settings.verifier, "verifier").ok()?;
    let tables = plan.tables();
    let table = tables.iter().find(|table| table.map.contains_key("url")).or(tables.first())?;
    let report = Report::default();
    scheme::address(&Fields::new(table.path.as_str(), &table.map, &report), settings).known(path)
}
