//! Times as the API shows and reads them: RFC 3339, UTC, no trailing zeros.

use serde::{Serialize, Serializer};
use time::format_description::BorrowedFormatItem;
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;
use time::{OffsetDateTime, PrimitiveDateTime, UtcOffset};
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, SchemaType, Type};

const CALENDAR: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute][optional [:[second]]]");

/// A time in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub OffsetDateTime);

impl std::fmt::Display for Moment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.to_offset(UtcOffset::UTC).format(&Rfc3339).unwrap_or_default())
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl utoipa::PartialSchema for Moment {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        ObjectBuilder::new()
            .schema_type(SchemaType::Type(Type::String))
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .into()
    }
}

impl utoipa::ToSchema for Moment {
    fn name() -> std::borrow::Cow<'static, str> {
        "Moment".into()
    }
}

/// Reads a time, between the years that the log takes. One without an offset, as calendars in browsers give it, is UTC.
pub fn parse(text: &str) -> Result<OffsetDateTime, &'static str> {
    let at = OffsetDateTime::parse(text, &Rfc3339)
        .or_else(|_| PrimitiveDateTime::parse(text, CALENDAR).map(PrimitiveDateTime::assume_utc))
        .map_err(|_| "must be a time such as 2026-05-09T14:00:00Z")?
        .to_offset(UtcOffset::UTC);
    if (1970..=9999).contains(&at.year()) { Ok(at) } else { Err("lies outside the years 1970 to 9999") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_utc_without_trailing_zeros() {
        let at = parse("2026-05-09T16:00:00.120+02:00").expect("a time");
        assert_eq!(Moment(at).to_string(), "2026-05-09T14:00:00.12Z");
        let plain = parse("2026-05-09T14:00").expect("a time");
        assert_eq!(
            (Moment(plain).to_string().as_str(), parse("2026-05-09T14:00:01").is_ok()),
            ("2026-05-09T14:00:00Z", true)
        );
        assert!(parse("yesterday").is_err() && parse("1969-01-01T00:00:00Z").is_err());
    }
}
