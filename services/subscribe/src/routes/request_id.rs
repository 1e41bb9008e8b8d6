//! The id of a request: the client's own or a new one, on every answer and in what is logged about it.

use crate::error::Refusal;
use actix_web::Error;
use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::middleware::Next;
use hooks_shared::ids;
use time::OffsetDateTime;

const NAME: HeaderName = HeaderName::from_static("x-request-id");
const LONGEST: usize = 128;

pub async fn request_id(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let given = request.headers().get(&NAME).filter(|value| is_plain(value)).cloned();
    let id = given.unwrap_or_else(new_id);
    let mut answer = next.call(request).await?;
    let refusal = answer.response().error().and_then(|error| error.as_error::<Refusal>());
    if let Some(Refusal::Unavailable(error)) = refusal {
        log::warn!(request_id = id.to_str().unwrap_or_default(); "a request could not be answered: {error}");
    }
    answer.headers_mut().insert(NAME, id);
    Ok(answer)
}

fn is_plain(value: &HeaderValue) -> bool {
    let bytes = value.as_bytes();
    !bytes.is_empty() && bytes.len() <= LONGEST && bytes.iter().all(u8::is_ascii_graphic)
}

fn new_id() -> HeaderValue {
    let millis = OffsetDateTime::now_utc().unix_timestamp_nanos() / 1_000_000;
    let id = ids::request_id(i64::try_from(millis).unwrap_or_default());
    HeaderValue::from_str(&id).unwrap_or(HeaderValue::from_static("none"))
}
