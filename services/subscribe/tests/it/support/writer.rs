//! Appends events as the log demands: under the head's lock, with the day's bounds, then a hint.

use hooks_testkit::db::TestDb;
use time::OffsetDateTime;
use tokio_postgres::Client;

/// One function, so that an append is one statement and one transaction for every caller.
const APPEND: &str = "
create or replace function test_append(src text, signed_at timestamptz, delivery text, kind text, heads bytea,
    content bytea, arrived timestamptz) returns bigint language plpgsql as $$
declare
    head source_heads;
    at timestamptz;
    today date;
begin
    insert into source_heads (source) values (src) on conflict do nothing;
    select * into head from source_heads where source = src for no key update;
    at := greatest(head.last_received_at, coalesce(arrived, clock_timestamp()));
    today := (at at time zone 'UTC')::date;
    insert into events (source, sequence, received_at, event_id, dedupe_key, delivery_id, event_type,
            provider_timestamp, method, target, headers, exact, body, body_sha256)
        values (src, head.last_sequence + 1, at, 'evt_' || src || (head.last_sequence + 1),
            sha256(convert_to(src || (head.last_sequence + 1), 'UTF8')), delivery, kind, signed_at, 'POST',
            convert_to('/ingest/' || src, 'UTF8'), heads, true, content, sha256(content));
    if not exists (select from event_days where source = src and day = today) then
        update event_days set last_sequence = greatest(head.last_sequence, first_sequence)
            where source = src and last_sequence is null;
        insert into event_days (source, day, first_sequence) values (src, today, head.last_sequence + 1);
    end if;
    update source_heads set last_sequence = head.last_sequence + 1, last_received_at = at where source = src;
    return head.last_sequence + 1;
end
$$";

/// What is appended; everything else is filled in.
#[derive(Debug, Clone)]
pub struct NewEvent {
    pub source: &'static str,
    pub signed_at: Option<OffsetDateTime>,
    pub delivery_id: Option<&'static str>,
    pub event_type: Option<&'static str>,
    pub headers: Vec<u8>,
    pub body: Vec<u8>,
    /// None: now.
    pub arrived: Option<OffsetDateTime>,
}

impl NewEvent {
    /// Signed just now.
    pub fn fresh() -> Self {
        Self::signed(Some(OffsetDateTime::now_utc()))
    }

    pub fn signed(signed_at: Option<OffsetDateTime>) -> Self {
        Self {
            source: "render",
            signed_at,
            delivery_id: None,
            event_type: None,
            headers: b"Content-Type:application/json\n".to_vec(),
            body: b"{}".to_vec(),
            arrived: None,
        }
    }
}

pub struct Writer(Client);

impl Writer {
    /// Makes the append function and connects.
    pub async fn new(db: &TestDb) -> Self {
        let client = db.client().await;
        client.batch_execute(APPEND).await.expect("create the append function");
        Self(client)
    }

    /// Connects to a database that has the append function, if it is there.
    pub async fn try_new(db: &TestDb) -> Option<Self> {
        hooks_testkit::pg::connect(&db.url()).await.ok().map(Self)
    }

    /// Stores an event and returns its sequence; nobody is told.
    pub async fn append_quietly(&self, event: &NewEvent) -> i64 {
        self.try_append(event).await.expect("append")
    }

    pub async fn try_append(&self, event: &NewEvent) -> Result<i64, tokio_postgres::Error> {
        let row = self
            .0
            .query_one(
                "select test_append($1, $2, $3, $4, $5, $6, $7)",
                &[
                    &event.source,
                    &event.signed_at,
                    &event.delivery_id,
                    &event.event_type,
                    &event.headers,
                    &event.body,
                    &event.arrived,
                ],
            )
            .await?;
        Ok(row.get(0))
    }

    /// Stores an event and says so.
    pub async fn append(&self, event: &NewEvent) -> i64 {
        let sequence = self.append_quietly(event).await;
        self.notify(event.source).await;
        sequence
    }

    pub async fn notify(&self, word: &str) {
        let _ = self.0.query("select pg_notify('hooks', $1)", &[&word]).await;
    }
}
