//! Where an event stands in a trace.

use crate::event::{Header, header};
use opentelemetry::Context;
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceId, TraceState};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// An event's trace: the provider's, if it sent a W3C `traceparent`, else one of its own. The relay's ids are made from
/// the event's id, so that services which never talk to each other name the same ones and nothing has to be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    pub(super) trace: TraceId,
    /// The provider's span, or the invalid id of a trace that begins here.
    pub(super) above: SpanId,
    /// The span of the event's being taken in.
    pub(super) taken_in: SpanId,
    pub(super) state: TraceState,
    /// False where the provider says that it does not record this trace.
    pub(super) sampled: bool,
}

impl Place {
    /// Reads a copy of the headers; a `traceparent` that is none, or that is there twice, counts as not sent.
    pub fn of(event_id: &str, headers: &[Header]) -> Self {
        let digest: [u8; 32] = Sha256::digest(event_id.as_bytes()).into();
        let (trace, rest) = digest.split_at(16);
        let taken_in = SpanId::from_bytes(first(rest));
        match provider(headers) {
            Some(sent) => Self {
                trace: sent.trace_id(),
                above: sent.span_id(),
                taken_in,
                state: sent.trace_state().clone(),
                sampled: sent.is_sampled(),
            },
            None => Self {
                trace: TraceId::from_bytes(first(trace)),
                above: SpanId::INVALID,
                taken_in,
                state: TraceState::NONE,
                sampled: true,
            },
        }
    }
}

fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    std::array::from_fn(|at| bytes[at])
}

/// W3C Trace Context, section 3.2 and 3.3.
fn provider(headers: &[Header]) -> Option<SpanContext> {
    const PARENT: &str = "traceparent";
    let given = |name: &str| headers.iter().filter(|one| one.0.eq_ignore_ascii_case(name.as_bytes())).count();
    if given(PARENT) != 1 {
        return None;
    }
    let mut carrier = HashMap::new();
    for name in [PARENT, "tracestate"] {
        if let Some(Ok(value)) = header(headers, name).map(std::str::from_utf8) {
            carrier.insert(name.to_owned(), value.trim().to_owned());
        }
    }
    let read = TraceContextPropagator::new().extract_with_context(&Context::new(), &carrier);
    let sent = read.span().span_context().clone();
    sent.is_valid().then_some(sent)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn headers(pairs: &[(&str, &str)]) -> Vec<Header> {
        pairs.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec())).collect()
    }

    #[test]
    fn a_providers_trace_is_joined_whatever_the_spelling_of_its_header() {
        let place = Place::of("evt_1", &headers(&[("TraceParent", PARENT), ("tracestate", "a=1")]));
        assert_eq!(place.trace.to_string(), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(place.above.to_string(), "b7ad6b7169203331");
        assert_eq!(place.state.header(), "a=1");
        assert!(place.sampled);
        let unsampled = PARENT.replace("-01", "-00");
        assert!(!Place::of("evt_1", &headers(&[("traceparent", &unsampled)])).sampled);
    }

    #[test]
    fn without_a_usable_traceparent_an_event_has_a_trace_of_its_own_which_everybody_names_alike() {
        let own = Place::of("evt_1", &[]);
        assert_eq!(own, Place::of("evt_1", &headers(&[("Host", "relay.example")])));
        assert_ne!(own.trace, Place::of("evt_2", &[]).trace);
        assert_ne!(own.taken_in, Place::of("evt_2", &[]).taken_in);
        assert_eq!((own.above, own.sampled), (SpanId::INVALID, true));
        let zeros = "00-00000000000000000000000000000000-b7ad6b7169203331-01";
        for bad in
            ["", "nonsense", zeros, &PARENT[..52], "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"]
        {
            assert_eq!(Place::of("evt_1", &headers(&[("traceparent", bad)])), own, "{bad}");
        }
        assert_eq!(Place::of("evt_1", &headers(&[("traceparent", PARENT), ("traceparent", PARENT)])), own);
        assert_eq!(Place::of("evt_1", &[(b"traceparent".to_vec(), vec![0xff])]), own);
    }
}
