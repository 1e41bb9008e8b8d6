//! Push subscriptions. The original relay's names of fields are taken and given beside ours.

use crate::auth::idempotency;
use crate::error::Error;
use crate::http::{Answer, Call, members};
use crate::moment::Moment;
use crate::ops::push::{acting, desk};
use hooks_shared::push::definition::{NewSubscription, Patch};
use hooks_shared::push::subscriptions::{self, Subscription};
use hooks_shared::{Secret, name};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Duration;
use utoipa::ToSchema;

pub const QUERY: &[(&str, &str)] =
    &[("source", "Only of this source"), ("include_paused", "`0` leaves paused and disabled ones out")];

#[derive(Debug, Serialize, ToSchema)]
pub struct PushSubscription {
    pub id: String,
    pub name: String,
    pub source: String,
    pub url: String,
    /// The same as `url`.
    pub target_url: String,
    pub signing: String,
    pub max_in_flight: i32,
    pub rate: Option<f32>,
    pub ordered: bool,
    pub on_failure: String,
    pub preserve_method: bool,
    pub forward_credentials: bool,
    pub record_response: i32,
    #[schema(value_type = Option<Object>)]
    pub retry: Option<Value>,
    pub created_at: Moment,
    pub created_by: String,
    pub updated_at: Moment,
    /// Until when the secret before the present one signs too.
    pub previous_secret_until: Option<Moment>,
    /// `active`, `paused`, `disabled` or `deleted`.
    pub state: String,
    pub state_reason: Option<String>,
    pub state_by: Option<String>,
    pub state_at: Moment,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_at: Option<Moment>,
    pub cursor: i64,
    /// Numbers between the cursor and the head of the source.
    pub behind: i64,
    /// Deliveries not yet at an end; 1001 stands for more than 1000.
    pub open: i64,
    /// `behind` and `open` together.
    pub queue_depth: i64,
    /// Failed deliveries; 1001 stands for more than 1000.
    pub failed: i64,
    /// Timeouts and refused connections in a row.
    pub consecutive_failures: i32,
    pub probe_at: Option<Moment>,
    pub failing_since: Option<Moment>,
}

impl From<Subscription> for PushSubscription {
    fn from(one: Subscription) -> Self {
        Self {
            paused_at: (one.state != "active").then_some(Moment(one.state_at)),
            target_url: one.url.clone(),
            id: one.id,
            name: one.name,
            source: one.source,
            url: one.url,
            signing: one.signing,
            max_in_flight: one.max_in_flight,
            rate: one.rate,
            ordered: one.ordered,
            on_failure: one.on_failure,
            preserve_method: one.preserve_method,
            forward_credentials: one.forward_credentials,
            record_response: one.record_response,
            retry: one.retry,
            created_at: Moment(one.created_at),
            created_by: one.created_by,
            updated_at: Moment(one.updated_at),
            previous_secret_until: one.previous_secret_until.map(Moment),
            state: one.state,
            state_reason: one.state_reason,
            state_by: one.state_by,
            state_at: Moment(one.state_at),
            cursor: one.cursor,
            behind: one.behind,
            open: one.open,
            queue_depth: one.behind + one.open,
            failed: one.failed,
            consecutive_failures: one.strikes,
            probe_at: one.probe_at.map(Moment),
            failing_since: one.failing_since.map(Moment),
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct SubscriptionList {
    subscriptions: Vec<PushSubscription>,
}

/// Those that the caller may see, by name.
pub async fn visible(call: &Call, source: Option<&str>) -> Result<Vec<Subscription>, Error> {
    let sight = call.who.sight();
    let all = subscriptions::list(&*call.session().await?, source).await?;
    Ok(all.into_iter().filter(|one| sight.covers(&one.source)).collect())
}

pub async fn list(call: Call) -> Result<Answer, Error> {
    let source = call.query.text("source")?;
    let active_only = matches!(call.query.get("include_paused"), Some("0" | "false"));
    let all = visible(&call, source.as_deref()).await?;
    let shown = all.into_iter().filter(|one| !active_only || one.state == "active");
    Ok(Answer::json(200, &SubscriptionList { subscriptions: shown.map(PushSubscription::from).collect() }))
}

/// A subscription as it is to be. Either `url` or `target_url` is needed.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
pub struct SubscriptionWish {
    /// Where it is missing, made of source and host.
    name: Option<String>,
    source: String,
    url: Option<String>,
    /// The original relay's name for `url`.
    target_url: Option<String>,
    /// `latest`, or the sequence after which to begin.
    #[schema(value_type = Option<String>)]
    start: Option<Value>,
    /// The original relay's name for `start`.
    #[schema(value_type = Option<String>)]
    since: Option<Value>,
    /// `hooks`, `standard_webhooks` or the preset in whose scheme requests are signed.
    signing: Option<String>,
    /// Made where none is given.
    secret: Option<String>,
    max_in_flight: Option<i32>,
    rate: Option<f32>,
    ordered: Option<bool>,
    /// `park` or `stop`.
    on_failure: Option<String>,
    preserve_method: Option<bool>,
    forward_credentials: Option<bool>,
    record_response: Option<i32>,
    #[schema(value_type = Option<Object>)]
    retry: Option<Value>,
}

/// Puts what is given in the original's names under ours.
fn in_our_names(fields: &mut Map<String, Value>, names: &[(&str, &str)]) -> Result<(), Error> {
    for (theirs, ours) in names {
        let Some(value) = fields.remove(*theirs).filter(|value| !value.is_null()) else { continue };
        if fields.insert((*ours).to_owned(), value).is_some_and(|known| !known.is_null()) {
            return Err(Error::invalid(format!("{theirs}: means the same as `{ours}`; give one of them")));
        }
    }
    Ok(())
}

/// Reads a wish in our names or the original's.
pub fn read_wish(mut fields: Map<String, Value>) -> Result<NewSubscription, Error> {
    if fields.contains_key("sources") {
        return Err(Error::invalid("register one source per subscription (got `sources` array)"));
    }
    in_our_names(&mut fields, &[("target_url", "url"), ("since", "start")])?;
    if let Some(Value::String(text)) = fields.get("start") {
        let start = match text.trim() {
            "" => Value::from("latest"),
            text => text.parse::<i64>().map_or(Value::from(text), Value::from),
        };
        fields.insert("start".into(), start);
    }
    for name in ["source", "url", "name"] {
        if fields.get(name).is_some_and(|value| !value.is_string() && !value.is_null()) {
            return Err(Error::invalid(format!("{name}: must be a text")));
        }
    }
    let given =
        |name: &str| fields.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    let source = given("source").ok_or(Error::invalid("source is required"))?.to_owned();
    let url = given("url").ok_or(Error::invalid("target_url is required"))?.to_owned();
    if given("name").is_none() {
        let host = url::Url::parse(&url).ok().and_then(|url| url.host_str().map(str::to_owned));
        let random: u32 = rand::random();
        let name = format!("{source} to {} {:05x}", host.unwrap_or_else(|| "?".into()), random & 0xfffff);
        fields.insert("name".into(), name.into());
    }
    fields.insert("url".into(), url.into());
    read(fields)
}

fn read<T: DeserializeOwned>(fields: Map<String, Value>) -> Result<T, Error> {
    members(Value::Object(fields)).map_err(Error::invalid)
}

#[derive(Debug, Serialize, ToSchema)]
pub struct SubscriptionMade {
    #[serde(flatten)]
    subscription: PushSubscription,
    /// Shown once.
    signing_secret: String,
}

/// Makes a subscription of a source that this installation knows.
pub async fn make(call: &Call, new: &NewSubscription) -> Result<(Subscription, Secret), Error> {
    if !call.state.knows_source(&new.source) {
        return Err(Error::unprocessable("unknown_source", format!("unknown source `{}`", new.source)));
    }
    let made = subscriptions::create(&*acting(call).await?, &desk(call)?, new).await?;
    Ok((made.subscription, made.secret))
}

pub async fn create(call: Call) -> Result<Answer, Error> {
    let new = read_wish(call.json()?)?;
    idempotency::once(&call, async {
        let (subscription, secret) = make(&call, &new).await?;
        let view = SubscriptionMade {
            subscription: subscription.into(),
            signing_secret: secret.expose().to_owned(),
        };
        Ok(Answer::json(201, &view))
    })
    .await
}

/// One that the caller may see.
pub async fn find(call: &Call) -> Result<Subscription, Error> {
    let id = call.param("id");
    if id.contains('\0') {
        return Err(Error::NotFound("push subscription"));
    }
    let found = subscriptions::show(&*call.session().await?, id).await?;
    match call.who.sight().covers(&found.source) {
        true => Ok(found),
        false => Err(Error::NotFound("push subscription")),
    }
}

pub async fn show(call: Call) -> Result<Answer, Error> {
    Ok(Answer::json(200, &PushSubscription::from(find(&call).await?)))
}

/// What is absent stays; `rate` and `retry` are taken away by null.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
pub struct SubscriptionChange {
    name: Option<String>,
    url: Option<String>,
    /// The original relay's name for `url`.
    target_url: Option<String>,
    signing: Option<String>,
    max_in_flight: Option<i32>,
    rate: Option<f32>,
    ordered: Option<bool>,
    on_failure: Option<String>,
    preserve_method: Option<bool>,
    forward_credentials: Option<bool>,
    record_response: Option<i32>,
    #[schema(value_type = Option<Object>)]
    retry: Option<Value>,
}

pub async fn update(call: Call) -> Result<Answer, Error> {
    let mut fields: Map<String, Value> = call.json()?;
    in_our_names(&mut fields, &[("target_url", "url")])?;
    let patch: Patch = read(fields)?;
    if patch == Patch::default() {
        return Err(Error::invalid("no fields to update"));
    }
    find(&call).await?;
    let changed =
        subscriptions::update(&*acting(&call).await?, &desk(&call)?, call.param("id"), &patch).await?;
    Ok(Answer::json(200, &PushSubscription::from(changed)))
}

/// An optional reason.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    reason: Option<String>,
}

/// A reason as it is kept and shown: at most 200 characters.
pub fn reason_of(text: Option<&str>) -> Result<Option<String>, Error> {
    let Some(text) = text else { return Ok(None) };
    name::check_text(text).map_err(|why| Error::invalid(format!("reason: {why}")))?;
    Ok(Some(text.chars().take(200).collect()))
}

pub async fn pause(call: Call) -> Result<Answer, Error> {
    let wish: Reason = call.json()?;
    find(&call).await?;
    let reason = reason_of(wish.reason.as_deref())?;
    let db = acting(&call).await?;
    subscriptions::pause(&db, &call.who.label(), call.param("id"), reason.as_deref()).await?;
    Ok(Answer::no_content())
}

pub async fn resume(call: Call) -> Result<Answer, Error> {
    find(&call).await?;
    subscriptions::resume(&*acting(&call).await?, &call.who.label(), call.param("id")).await?;
    Ok(Answer::no_content())
}

pub async fn remove(call: Call) -> Result<Answer, Error> {
    find(&call).await?;
    subscriptions::delete(&*acting(&call).await?, &call.who.label(), call.param("id")).await?;
    Ok(Answer::no_content())
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Rotation {
    /// Made where none is given.
    secret: Option<String>,
    /// For how long both secrets sign, at most 30 days; nothing: a day.
    #[schema(maximum = 2_592_000)]
    overlap_seconds: Option<u64>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Rotated {
    id: String,
    /// Shown once.
    signing_secret: String,
}

const USUAL_OVERLAP: u64 = 86_400;
const LONGEST_OVERLAP: u64 = 30 * 86_400;

/// A new secret.
pub async fn rotate(call: &Call, secret: Option<Secret>, overlap: Option<u64>) -> Result<Secret, Error> {
    let overlap = overlap.unwrap_or(USUAL_OVERLAP);
    if overlap > LONGEST_OVERLAP {
        return Err(Error::invalid(format!("overlap_seconds: must be at most {LONGEST_OVERLAP} (30 days)")));
    }
    let overlap = Duration::from_secs(overlap);
    let db = acting(call).await?;
    Ok(subscriptions::rotate_secret(&db, &desk(call)?, call.param("id"), secret, overlap).await?)
}

pub async fn rotate_secret(call: Call) -> Result<Answer, Error> {
    let wish: Rotation = call.json()?;
    find(&call).await?;
    let secret = rotate(&call, wish.secret.map(Secret::new), wish.overlap_seconds).await?;
    let view = Rotated { id: call.param("id").to_owned(), signing_secret: secret.expose().to_owned() };
    Ok(Answer::json(200, &view))
}

/// Queues a test event; the delivery's address is in `Location`.
pub async fn test(call: Call) -> Result<Answer, Error> {
    find(&call).await?;
    let delivery = subscriptions::test(&*acting(&call).await?, &call.who.label(), call.param("id")).await?;
    Ok(Answer::no_content()
        .with("Location", format!("/api/deliveries/{delivery}"))
        .with("X-Hooks-Push-Id", delivery))
}
