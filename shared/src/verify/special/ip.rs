//! Type `ip`: nothing is signed, only the sender's address is looked at.

use super::super::request::View;
use super::super::scheme::{Check, Context, Cover};
use super::super::timestamp::SignedTime;
use super::super::verdict::{Reason, Refusal};
use ipnet::IpNet;
use std::net::IpAddr;
use time::OffsetDateTime;

#[derive(Debug)]
struct AllowList {
    networks: Vec<IpNet>,
}

pub(super) fn compile(context: &Context<'_>) -> Option<Box<dyn Check>> {
    let fields = context.fields;
    let own = fields.parsed("allow", network);
    let networks = if fields.has("allow") { own } else { context.settings.allow.clone() };
    if networks.is_empty() {
        fields.fault("allow", "must list the networks that may send");
    }
    fields.report().warn("an address list does not protect the body");
    Some(Box::new(AllowList { networks }))
}

/// A network, or one address.
fn network(text: &str) -> Result<IpNet, String> {
    let whole = text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
    whole.map_err(|_| format!("`{text}` is not an address or a network"))
}

impl Check for AllowList {
    fn present(&self, _view: &View<'_>) -> Result<bool, Refusal> {
        Ok(true)
    }

    fn wanted(&self) -> String {
        "the sender's address".into()
    }

    fn prove(&self, view: &View<'_>, _now: OffsetDateTime) -> Result<Option<SignedTime>, Refusal> {
        // An IPv4 sender on an IPv6 socket is still an IPv4 sender.
        let sender = view.request.remote_addr.map(|address| address.to_canonical());
        let allowed = sender.is_some_and(|address| self.networks.iter().any(|net| net.contains(&address)));
        if allowed {
            Ok(None)
        } else {
            Err(Refusal::new(Reason::IpDenied, "the sender's address is not allowed"))
        }
    }

    fn content(&self, _view: &View<'_>) -> Option<[u8; 32]> {
        None
    }

    fn cover(&self) -> Cover {
        Cover { what: "the sender's address".into(), body: false, time: false, credentials: Vec::new() }
    }
}
