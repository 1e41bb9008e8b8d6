//! The table of all routes: method, path, who may use it, what runs, and what the API's description says of it. What is
//! not here is not served; what is here is checked by the access test, row by row.

use crate::access::Access;
use crate::api;
use crate::error::Error;
use crate::http::{Answer, Call, Pairs};
use crate::pages;
use futures_util::future::BoxFuture;
use std::sync::OnceLock;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

pub type Handler = fn(Call) -> BoxFuture<'static, Result<Answer, Error>>;
type Named = (String, RefOr<Schema>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
    Patch,
    Delete,
}

impl Method {
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
        }
    }

    pub fn changes(self) -> bool {
        self != Method::Get
    }

    pub fn to_actix(self) -> actix_web::http::Method {
        match self {
            Method::Get => actix_web::http::Method::GET,
            Method::Post => actix_web::http::Method::POST,
            Method::Patch => actix_web::http::Method::PATCH,
            Method::Delete => actix_web::http::Method::DELETE,
        }
    }
}

/// A type of the API's description: its name, its schema and those it refers to.
#[derive(Clone, Copy)]
pub struct Described {
    pub name: fn() -> String,
    pub schema: fn() -> RefOr<Schema>,
    pub others: fn(&mut Vec<Named>),
}

impl std::fmt::Debug for Described {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Described({})", (self.name)())
    }
}

impl Described {
    fn of<T: utoipa::ToSchema>() -> Self {
        Self { name: || T::name().into_owned(), schema: T::schema, others: T::schemas }
    }
}

/// One route.
#[derive(Debug)]
pub struct Route {
    pub method: Method,
    pub path: &'static str,
    pub access: Access,
    pub handler: Handler,
    /// Bytes.
    pub body_limit: usize,
    pub summary: &'static str,
    /// Parameters of the query: name and what it means.
    pub query: &'static [(&'static str, &'static str)],
    pub takes: Option<Described>,
    pub status: u16,
    pub gives: Option<Described>,
    /// A second status with the same type.
    pub also: Option<u16>,
    /// The answer's type where it is not JSON.
    pub media: &'static [&'static str],
}

/// What a form or a small JSON body may have.
const USUAL_BODY: usize = 64 * 1024;

impl Route {
    pub(crate) fn new(method: Method, path: &'static str, access: Access, handler: Handler) -> Self {
        Self {
            method,
            path,
            access,
            handler,
            body_limit: USUAL_BODY,
            summary: "",
            query: &[],
            takes: None,
            status: 200,
            gives: None,
            also: None,
            media: &[],
        }
    }

    fn about(mut self, summary: &'static str) -> Self {
        self.summary = summary;
        self
    }

    fn query(mut self, query: &'static [(&'static str, &'static str)]) -> Self {
        self.query = query;
        self
    }

    fn takes<T: utoipa::ToSchema>(mut self) -> Self {
        self.takes = Some(Described::of::<T>());
        self
    }

    fn gives<T: utoipa::ToSchema>(mut self, status: u16) -> Self {
        (self.status, self.gives) = (status, Some(Described::of::<T>()));
        self
    }

    fn also(mut self, status: u16) -> Self {
        self.also = Some(status);
        self
    }

    fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    pub(crate) fn media(mut self, media: &'static [&'static str]) -> Self {
        self.media = media;
        self
    }

    /// Not of the API: answers with HTML, redirects to sign in.
    pub fn is_page(&self) -> bool {
        !self.path.starts_with("/api/")
    }

    /// A misspelt filter would list everything, so the API refuses names it does not know.
    pub fn check_query(&self, query: &Pairs) -> Result<(), Error> {
        if self.is_page() {
            return Ok(());
        }
        match query.names().find(|name| !self.query.iter().any(|(known, _)| known == name)) {
            None => Ok(()),
            Some(name) => {
                let name: String = name.chars().filter(|c| !c.is_control()).take(40).collect();
                Err(Error::invalid(format!("{name}: is not a parameter of this route")))
            }
        }
    }
}

macro_rules! route {
    ($method:ident $path:literal $access:ident $handler:path) => {
        Route::new(Method::$method, $path, Access::$access, |call| Box::pin($handler(call)))
    };
}

pub(crate) use route;

/// Every route of the service.
pub fn table() -> &'static [Route] {
    static TABLE: OnceLock<Vec<Route>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table = Vec::new();
        table.extend(accounts());
        table.extend(tokens());
        table.extend(people());
        table.extend(log());
        table.extend(push());
        table.extend(pages::routes());
        table
    })
}

const LIMIT: (&str, &str) = ("limit", "Rows a page, 1 to 500; usually 100");
const CURSOR: (&str, &str) = ("cursor", "Where the page begins; taken from a `next` link");

fn accounts() -> Vec<Route> {
    use api::{auth, device, me};
    vec![
        route!(Post "/api/auth/login" Public auth::login)
            .about("Sign in")
            .takes::<auth::Login>()
            .gives::<auth::SignedIn>(200),
        route!(Post "/api/auth/logout" Browser auth::logout).about("Sign out").status(204),
        route!(Post "/api/auth/signup" Public auth::signup)
            .about("Become a person by an invite")
            .takes::<auth::Signup>()
            .gives::<auth::SignedUp>(201),
        route!(Post "/api/auth/device/start" Public device::start)
            .about("Begin to pair a command line")
            .takes::<device::Start>()
            .gives::<device::Started>(200),
        route!(Post "/api/auth/device/poll" Public device::poll)
            .about("Ask whether the pairing is confirmed")
            .takes::<device::Poll>()
            .gives::<device::Polled>(200)
            .also(202),
        route!(Post "/api/auth/device/approve" Browser device::approve)
            .about("Confirm a pairing")
            .takes::<device::Approve>()
            .gives::<device::Approved>(200),
        route!(Post "/api/auth/device/deny" Browser device::deny)
            .about("Refuse a pairing")
            .takes::<device::Deny>()
            .status(204),
        route!(Get "/api/me" Person me::show).about("Who the caller is").gives::<me::Me>(200),
        route!(Patch "/api/me" Person me::rename)
            .about("Change one's name")
            .takes::<me::Rename>()
            .gives::<me::Me>(200),
        route!(Post "/api/me/password" Browser me::password)
            .about("Change one's password; other sessions end")
            .takes::<me::NewPassword>()
            .status(204),
        route!(Get "/api/me/tokens" Person me::tokens)
            .about("One's own tokens")
            .query(&[
                ("include_revoked", "`1`: also those that ended"),
                ("kind", "`pat` or `listener`"),
                LIMIT,
                CURSOR,
            ])
            .gives::<api::tokens::TokenList>(200),
        route!(Post "/api/me/tokens" Person me::create_token)
            .about("Make a token of one's own; shown once")
            .takes::<me::NewOwnToken>()
            .gives::<api::tokens::TokenMade>(201),
        route!(Post "/api/me/tokens/{id}/revoke" Person me::revoke_token)
            .about("End a token of one's own; `self` is the one of this request")
            .status(204),
        route!(Get "/api/me/sessions" Person me::sessions)
            .about("One's signed-in browsers")
            .gives::<me::SessionList>(200),
        route!(Delete "/api/me/sessions/{id}" Person me::end_session).about("Sign a browser out").status(204),
    ]
}

fn tokens() -> Vec<Route> {
    use api::tokens;
    vec![
        route!(Get "/api/tokens" Admin tokens::list)
            .about("All tokens")
            .query(&[
                ("include_revoked", "`1`: also those that ended"),
                ("owner", "A user's id, or `system`"),
                ("kind", "`pat` or `listener`"),
                LIMIT,
                CURSOR,
            ])
            .gives::<tokens::TokenList>(200),
        route!(Post "/api/tokens" Admin tokens::create)
            .about("Make a token of nobody; shown once")
            .takes::<tokens::NewToken>()
            .gives::<tokens::TokenMade>(201),
        route!(Get "/api/tokens/{id}" Admin tokens::show).about("One token").gives::<tokens::Token>(200),
        route!(Patch "/api/tokens/{id}" Admin tokens::transfer)
            .about("Give a token to a user, or to nobody")
            .takes::<tokens::Transfer>()
            .status(204),
        route!(Post "/api/tokens/{id}/revoke" Admin tokens::revoke).about("End a token").status(204),
    ]
}

fn people() -> Vec<Route> {
    use api::{audit, invites, openapi, users};
    vec![
        route!(Get "/api/users" Admin users::list)
            .about("All people")
            .query(&[("role", "`admin` or `member`"), LIMIT, CURSOR])
            .gives::<users::UserList>(200),
        route!(Get "/api/users/{id}" Admin users::show).about("One person").gives::<users::User>(200),
        route!(Patch "/api/users/{id}" Admin users::update)
            .about("Change name, role or sources of a person")
            .takes::<users::UserChange>()
            .gives::<users::User>(200),
        route!(Post "/api/users/{id}/deactivate" Admin users::deactivate)
            .about("End a person's access")
            .takes::<users::Deactivate>()
            .gives::<users::Deactivated>(200),
        route!(Post "/api/users/{id}/reactivate" Admin users::reactivate)
            .about("Let a person sign in again")
            .status(204),
        route!(Post "/api/users/{id}/reset-password" Admin users::reset_password)
            .about("Give a person another password")
            .takes::<users::ResetPassword>()
            .status(204),
        route!(Get "/api/invites" Admin invites::list)
            .about("Invites")
            .query(&[("consumed", "`true` or `false`; else all"), LIMIT, CURSOR])
            .gives::<invites::InviteList>(200),
        route!(Post "/api/invites" Admin invites::create)
            .about("Invite somebody; the code is shown once")
            .takes::<invites::NewInvite>()
            .gives::<invites::InviteMade>(201),
        route!(Delete "/api/invites/{code}" Admin invites::revoke)
            .about("End an invite, named by its id or code")
            .status(204),
        route!(Get "/api/audit" Admin audit::list)
            .about("What was done and refused, newest first")
            .query(audit::QUERY)
            .gives::<audit::AuditList>(200),
        route!(Get "/api/audit/export" Admin audit::export)
            .about("The audit as a file")
            .query(audit::EXPORT_QUERY)
            .media(&["text/csv", "application/jsonl"]),
        route!(Get "/api/openapi.json" Public openapi::document).about("This description"),
    ]
}

fn log() -> Vec<Route> {
    use api::{events, live, overview, rejected, sources};
    vec![
        route!(Get "/api/events" Reader events::list)
            .about("Events, newest first, filtered and searched")
            .query(events::QUERY)
            .gives::<events::EventList>(200),
        route!(Get "/api/events/live" Reader live::live)
            .about("New events as they come, filtered as the list is; `changed` tells how their pushes stand")
            .query(live::QUERY)
            .media(&["text/event-stream"]),
        route!(Get "/api/events/{source}/{sequence}" Reader events::show)
            .about("One event")
            .gives::<events::EventDetail>(200),
        route!(Get "/api/events/{source}/{sequence}/body" Reader events::body)
            .about("The body's bytes")
            .media(&["application/octet-stream"]),
        route!(Post "/api/events/{source}/{sequence}/replay" Reader events::replay)
            .about("Send an event again")
            .takes::<events::Replay>()
            .gives::<events::ReplayDone>(200),
        route!(Get "/api/sources" Reader sources::list).about("Sources").gives::<sources::SourceList>(200),
        route!(Get "/api/sources/{name}" Reader sources::show)
            .about("One source")
            .gives::<sources::SourceDetail>(200),
        route!(Post "/api/sources/{source}/renew-secret" Admin sources::renew_secret)
            .about("Let the next handshake replace the secret that the provider handed over, for ten minutes")
            .gives::<sources::Renewable>(200),
        route!(Get "/api/sources/{source}/rejected" Admin rejected::list)
            .about("Refused requests of a source, newest first")
            .gives::<rejected::RejectedList>(200),
        route!(Get "/api/sources/{source}/rejected/{id}" Admin rejected::show)
            .about("One refused request and why; `latest` for the newest")
            .gives::<rejected::RejectedDetail>(200),
        route!(Get "/api/listeners" Reader sources::listeners)
            .about("Who listens now")
            .query(&[("source", "Only of this source")])
            .gives::<sources::ListenerList>(200),
        route!(Get "/api/overview" Reader overview::show)
            .about("The state of the whole")
            .query(&[("span", "`hour` (usual) or `day`")])
            .gives::<overview::Overview>(200),
    ]
}

fn push() -> Vec<Route> {
    use api::{deliveries, push, standing};
    vec![
        route!(Get "/api/push-subscriptions" Reader push::list)
            .about("Push subscriptions")
            .query(push::QUERY)
            .gives::<push::SubscriptionList>(200),
        route!(Post "/api/push-subscriptions" Admin push::create)
            .about("Subscribe a URL; its signing secret is shown once")
            .takes::<push::SubscriptionWish>()
            .gives::<push::SubscriptionMade>(201),
        route!(Get "/api/push-subscriptions/{id}" Reader push::show)
            .about("One push subscription")
            .gives::<push::PushSubscription>(200),
        route!(Get "/api/push-subscriptions/{id}/standing" Reader standing::show)
            .about("How it stands, and why it does not move")
            .gives::<standing::Standing>(200),
        route!(Patch "/api/push-subscriptions/{id}" Admin push::update)
            .about("Change a push subscription")
            .takes::<push::SubscriptionChange>()
            .gives::<push::PushSubscription>(200),
        route!(Delete "/api/push-subscriptions/{id}" Admin push::remove)
            .about("Delete it and cancel all it owes")
            .status(204),
        route!(Post "/api/push-subscriptions/{id}/pause" Admin push::pause)
            .about("Send nothing until it is resumed")
            .takes::<push::Reason>()
            .status(204),
        route!(Post "/api/push-subscriptions/{id}/resume" Admin push::resume)
            .about("Go on, also after it was disabled")
            .status(204),
        route!(Post "/api/push-subscriptions/{id}/rotate-secret" Admin push::rotate_secret)
            .about("Give it another signing secret")
            .takes::<push::Rotation>()
            .gives::<push::Rotated>(200),
        route!(Post "/api/push-subscriptions/{id}/test" Admin push::test)
            .about("Send it a test event; `Location` is its delivery")
            .status(204),
        route!(Get "/api/deliveries" Reader deliveries::list)
            .about("Deliveries, newest first")
            .query(deliveries::QUERY)
            .gives::<deliveries::DeliveryList>(200),
        route!(Post "/api/deliveries/replay" Admin deliveries::bulk_replay)
            .about("Replay failed deliveries; `dry_run` only plans")
            .takes::<deliveries::BulkReplay>()
            .gives::<deliveries::BulkPlan>(200),
        route!(Post "/api/deliveries/cancel" Admin deliveries::bulk_cancel)
            .about("Cancel what is pending of a subscription; `dry_run` only counts")
            .takes::<deliveries::BulkCancel>()
            .gives::<deliveries::Cancelled>(200),
        route!(Get "/api/deliveries/{id}" Reader deliveries::show)
            .about("One delivery, its attempts, and why it is where it is")
            .gives::<deliveries::DeliveryDetail>(200),
        route!(Post "/api/deliveries/{id}/replay" Admin deliveries::replay)
            .about("Replay a failed delivery")
            .status(204),
        route!(Post "/api/deliveries/{id}/cancel" Admin deliveries::cancel)
            .about("Cancel a pending delivery")
            .status(204),
    ]
}
