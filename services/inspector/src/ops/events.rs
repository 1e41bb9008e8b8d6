//! Lists of events: over several sources, newest first, day by day, filtered and searched. What one request looks at is
//! bounded; where it stops before the page is full, the next page goes on.

use crate::error::Error;
use crate::search::{self, Search};
use crate::store::days::{self, Day, MOST_DAYS};
use crate::store::events::{self, DayAsk, EventRow, Place, PushCounts};
use crate::who::Sight;
use hooks_shared::db::Session;
use hooks_shared::event::decode_headers;
use std::collections::HashMap;
use time::{Date, OffsetDateTime};

/// Rows looked at for one page where a filter leaves rows out.
const STRETCH: usize = 2_000;
const BATCH: i64 = 200;

/// Which events.
#[derive(Debug, Default)]
pub struct Ask {
    /// None: all that may be seen.
    pub source: Option<String>,
    pub from: Option<OffsetDateTime>,
    pub to: Option<OffsetDateTime>,
    pub search: Search,
    /// `delivered`, `failed`, `pending` or `none`.
    pub push: Option<String>,
    pub behind: Option<Place>,
    pub limit: usize,
}

/// A page, how deliveries of its events stand, and where the next begins.
#[derive(Debug, Default)]
pub struct Page {
    pub rows: Vec<EventRow>,
    pub push: HashMap<(String, i64), PushCounts>,
    pub next: Option<Place>,
}

impl Page {
    pub fn counts(&self, row: &EventRow) -> PushCounts {
        self.push.get(&(row.source.clone(), row.sequence)).copied().unwrap_or_default()
    }
}

/// The sources that a list is over.
pub async fn visible_sources(
    db: &Session,
    sight: &Sight,
    source: Option<&str>,
) -> Result<Vec<String>, Error> {
    let heads = crate::store::sources::heads(db).await?;
    let names = heads.into_iter().map(|head| head.source);
    Ok(names.filter(|name| sight.covers(name) && source.is_none_or(|wanted| wanted == name)).collect())
}

/// A page of the list.
pub async fn list(db: &Session, sight: &Sight, ask: &Ask) -> Result<Page, Error> {
    let sources = visible_sources(db, sight, ask.source.as_deref()).await?;
    let mut page = Page::default();
    if sources.is_empty() {
        return Ok(page);
    }
    let terms: Vec<i64> = ask.search.0.iter().map(search::of_condition).collect();
    let newest = [ask.to, ask.behind.as_ref().map(|place| place.at)].into_iter().flatten().min();
    let first = ask.from.map_or(OffsetDateTime::UNIX_EPOCH.date(), |from| Day::of(from).0);
    let last = newest.map_or(Date::MAX, |at| Day::of(at).0);
    let mut days = days::days(db, &sources, first, last).await?;
    let further = (days.len() as i64 > MOST_DAYS).then(|| days.pop()).flatten();
    let mut reader =
        Reader { db, ask, sources: &sources, terms: &terms, looked_at: 0, behind: ask.behind.clone() };
    for day in days {
        if let Some(next) = reader.day(day, &mut page).await? {
            page.next = Some(next);
            return Ok(page);
        }
    }
    // Behind every event of the next day to be looked at is its end.
    page.next = further.map(|day| Place { at: day.end(), source: String::new(), sequence: i64::MAX });
    Ok(page)
}

struct Reader<'a> {
    db: &'a Session,
    ask: &'a Ask,
    sources: &'a [String],
    terms: &'a [i64],
    looked_at: usize,
    behind: Option<Place>,
}

impl Reader<'_> {
    /// Takes what the day has. The place is where to go on, if the page is full or enough was looked at.
    async fn day(&mut self, day: Day, page: &mut Page) -> Result<Option<Place>, Error> {
        loop {
            let filtered = !self.terms.is_empty() || self.ask.push.is_some();
            let missing = self.ask.limit - page.rows.len();
            // Without a filter, one more than wanted tells whether there is more.
            let batch = if filtered { BATCH } else { missing as i64 + 1 };
            let (looked, rows) = self.batch(day, batch).await?;
            self.looked_at += looked.len();
            let end = looked.last().map(EventRow::place);
            let counts = events::push_counts(self.db, &rows).await?;
            for row in rows {
                let stands = counts.get(&(row.source.clone(), row.sequence)).copied().unwrap_or_default();
                if self.ask.push.as_deref().is_some_and(|state| !stands.is(state)) {
                    continue;
                }
                if page.rows.len() == self.ask.limit {
                    return Ok(page.rows.last().map(EventRow::place));
                }
                if stands.total() > 0 {
                    page.push.insert((row.source.clone(), row.sequence), stands);
                }
                page.rows.push(row);
            }
            if (looked.len() as i64) < batch {
                return Ok(None);
            }
            if self.looked_at >= STRETCH && filtered {
                return Ok(end);
            }
            self.behind = end;
        }
    }

    /// Rows of the day: all that were looked at, and those of them that the search is for.
    async fn batch(&self, day: Day, limit: i64) -> Result<(Vec<EventRow>, Vec<EventRow>), Error> {
        let ask = DayAsk {
            sources: self.sources,
            day,
            from: self.ask.from,
            to: self.ask.to,
            behind: self.behind.as_ref(),
            limit,
        };
        if self.terms.is_empty() {
            let rows = events::list(self.db, &ask).await?;
            return Ok((rows.clone(), rows));
        }
        let hits = events::search(self.db, &ask, self.terms).await?;
        let looked = hits.iter().map(|hit| hit.row.clone()).collect();
        let kept = hits.into_iter().filter(|hit| self.really(hit)).map(|hit| hit.row).collect();
        Ok((looked, kept))
    }

    fn really(&self, hit: &events::Hit) -> bool {
        let row = &hit.row;
        let known = [Some(row.event_id.as_str()), row.delivery_id.as_deref(), row.event_type.as_deref()];
        let known: Vec<&str> = known.into_iter().flatten().collect();
        search::matches(&self.ask.search, &known, &decode_headers(&hit.headers), &hit.body)
    }
}
