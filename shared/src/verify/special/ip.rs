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
    fields.report().warn_of_bare_body("an address list does not protect the body");
    Some(Box::new(AllowList { networks }))
}

/// A network, or one address. IPv4 written as IPv6 (`::ffff:192.0.2.0/120`) is IPv4, as senders are.
pub(in crate::verify) fn network(text: &str) -> Result<IpNet, String> {
    let whole = text.trim().parse::<IpNet>().or_else(|_| text.trim().parse::<IpAddr>().map(IpNet::from));
    let whole = whole.map_err(|_| format!("`{text}` is not an address or a network"))?;
    let mapped = match (whole.addr().to_canonical(), whole.prefix_len().checked_sub(96)) {
        (IpAddr::V4(address), Some(length)) if whole.addr().is_ipv6() => {
            IpNet::new(address.into(), length).ok()
        }
        _ => None,
    };
    Ok(mapped.unwrap_or(whole))
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
        Cover { what: "the sender's address".into(), body: false, time: false }
    }
}
