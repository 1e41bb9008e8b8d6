//! What the span of an accepted request says (deploy/README.md, "Traces"). A request that was not verified makes none:
//! nobody from outside fills the collector, or names its traces.

use crate::event::NewEvent;
use crate::lane::Outcome;
use hooks_shared::event::decode_headers;
use hooks_shared::spans::{Done, Place, Spans};
use std::sync::Arc;
use time::OffsetDateTime;

/// A request on its way into the log.
pub struct Taking {
    place: Place,
    source: Arc<str>,
    event_id: String,
    event_type: Option<String>,
    began: OffsetDateTime,
}

impl Taking {
    /// None where nobody collects spans.
    pub fn begin(spans: &Spans, event: &NewEvent, began: OffsetDateTime) -> Option<Self> {
        spans.are_collected().then(|| Self {
            place: Place::of(&event.event_id, &decode_headers(&event.headers)),
            source: event.source.clone(),
            event_id: event.event_id.clone(),
            event_type: event.event_type.clone(),
            began,
        })
    }

    pub fn end(self, spans: &Spans, outcome: &Outcome, ended: OffsetDateTime) {
        let Self { place, source, event_id, event_type, began } = self;
        let (word, sequence, failure) = match outcome {
            Outcome::Stored { sequence } => ("stored", Some(*sequence), None),
            Outcome::Duplicate { sequence } => ("duplicate", Some(*sequence), None),
            Outcome::Refused { .. } => ("not_storable", None, Some("not_storable")),
            Outcome::Unavailable { .. } => ("unavailable", None, Some("unavailable")),
        };
        let mut attributes =
            vec![("hooks.source", source.to_string().into()), ("hooks.outcome", word.into())];
        // The id under which a repeat was stored is another one.
        if matches!(outcome, Outcome::Stored { .. }) {
            attributes.push(("hooks.event_id", event_id.into()));
        }
        attributes.extend(sequence.map(|sequence| ("hooks.sequence", sequence.into())));
        attributes.extend(event_type.map(|event_type| ("hooks.event_type", event_type.into())));
        spans.taken_in(&place, Done { name: format!("ingest {source}"), began, ended, attributes, failure });
    }
}
