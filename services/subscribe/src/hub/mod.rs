//! What all listeners of the process share: one LISTEN connection and one link to the database, and per source
//! with listeners one ring. The work of the database does not depend on how many listen.

mod entry;
mod feed;
mod feeder;
mod heads;
mod link;
mod reader;
mod replays;
mod ring;

pub use entry::{Entry, Page};
pub use feed::{Attached, Feed, Next, SourceRules};
pub use reader::Ask;
pub use ring::Found;

use crate::metrics::SubscribeMetrics;
use crate::store::{self, Database, Head, StoreError};
use feeder::Feeder;
use heads::HeadWatcher;
use hooks_shared::backoff::Reconnect;
use hooks_shared::db::{ListenState, Target, listen};
use hooks_shared::shutdown::Shutdown;
use link::Link;
use replays::ReplayWatcher;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore};
use tokio_util::task::AbortOnDropHandle;

/// How the hub is set up.
#[derive(Debug, Clone)]
pub struct HubSettings {
    pub rules: HashMap<String, SourceRules>,
    pub ring_bytes: u64,
    pub ring_idle: Duration,
    pub catch_up_reads: usize,
    pub target: Target,
    /// None: polling only.
    pub listen_target: Option<Target>,
}

#[derive(Debug)]
pub struct Hub {
    feeds: RwLock<HashMap<String, Arc<Feed>>>,
    settings: HubSettings,
    database: Database,
    link: Link,
    catch_up: Arc<Semaphore>,
    metrics: SubscribeMetrics,
    shutdown: Shutdown,
    replay_hint: Notify,
    /// Rings when tokens may have been revoked.
    pub token_hint: Notify,
}

impl Hub {
    /// Starts the tasks of the hub on the current runtime; they end with `shutdown`.
    pub fn start(
        settings: HubSettings,
        database: Database,
        metrics: SubscribeMetrics,
        shutdown: Shutdown,
    ) -> Arc<Self> {
        let hub = Arc::new(Self {
            feeds: RwLock::default(),
            link: Link::new(settings.target.clone()),
            catch_up: Arc::new(Semaphore::new(settings.catch_up_reads)),
            database,
            metrics,
            shutdown: shutdown.clone(),
            replay_hint: Notify::new(),
            token_hint: Notify::new(),
            settings,
        });
        hub.set_rules(&hub.settings.rules);
        let (hints, state) = match hub.settings.listen_target.clone() {
            Some(target) => {
                let (hints, state) = listen(target, "hooks-subscribe-listen");
                (Some(hints), state)
            }
            None => (None, ListenState::default()),
        };
        let heads = HeadWatcher {
            hub: Arc::clone(&hub),
            hints,
            listen: state.clone(),
            known: HashMap::new(),
            unreached: HashMap::new(),
        };
        let replays = ReplayWatcher { hub: Arc::clone(&hub), listen: state, last: None };
        tokio::spawn(heads.run(shutdown.clone()));
        tokio::spawn(replays.run(shutdown));
        hub
    }

    /// Takes the rules of a changed configuration; the sources that are gone come back.
    pub fn set_rules(&self, rules: &HashMap<String, SourceRules>) -> Vec<Arc<Feed>> {
        let mut feeds = self.feeds.write().unwrap_or_else(PoisonError::into_inner);
        for (source, rules) in rules {
            match feeds.get(source) {
                Some(feed) => feed.set_rules(*rules),
                None => {
                    let limit = usize::try_from(self.settings.ring_bytes).unwrap_or(usize::MAX);
                    let feed = Feed::new(source, *rules, limit, self.metrics.of_source(source));
                    feeds.insert(source.clone(), Arc::new(feed));
                }
            }
        }
        let gone = feeds.extract_if(|source, _| !rules.contains_key(source));
        gone.map(|(_, feed)| feed).collect()
    }

    /// A configured source. Being configured is all that counts.
    pub fn feed(&self, source: &str) -> Option<Arc<Feed>> {
        self.feeds.read().unwrap_or_else(PoisonError::into_inner).get(source).cloned()
    }

    fn fed(&self) -> Vec<String> {
        let feeds = self.feeds.read().unwrap_or_else(PoisonError::into_inner);
        feeds.values().filter(|feed| feed.is_fed()).map(|feed| feed.source.to_string()).collect()
    }

    fn fed_among(&self, names: &[String]) -> Vec<String> {
        let fed = |name: &&String| self.feed(name).is_some_and(|feed| feed.is_fed());
        names.iter().filter(fed).cloned().collect()
    }

    /// The newest sequence of a source, read now.
    pub async fn read_head(&self, source: &str) -> Result<Head, StoreError> {
        let names = vec![source.to_owned()];
        let rows = self.database.run(async move |session| store::heads(&session, &names).await).await?;
        Ok(rows.into_iter().next().map_or(Head::NONE, |(_, head, _)| head))
    }

    /// Counts a listener of `feed`, and feeds it.
    pub fn attach(&self, feed: &Arc<Feed>) -> Attached {
        let (attached, start) = feed.attach();
        if start {
            let feeder = Feeder {
                feed: Arc::clone(feed),
                link: self.link.clone(),
                ring_idle: self.settings.ring_idle,
                first_bytes: i64::try_from(self.settings.ring_bytes / 2).unwrap_or(i64::MAX),
            };
            self.database.spawn(feeder.run(self.shutdown.clone())).detach();
        }
        attached
    }

    /// Reads the next page for a listener that is behind the ring; waits its turn, and tries for ever.
    pub fn read_behind(&self, ask: Ask) -> AbortOnDropHandle<Page> {
        let database = self.database.clone();
        let (permits, metrics) = (Arc::clone(&self.catch_up), self.metrics.clone());
        self.database.spawn(async move {
            let mut pause = Reconnect::default();
            loop {
                let read = {
                    let _waiting = Waiting::new(&metrics);
                    // The semaphore is never closed.
                    let _turn = permits.acquire().await;
                    let ask = ask.clone();
                    database.run(async move |session| reader::page(&session, &ask).await).await
                };
                match read {
                    Ok(page) => {
                        metrics.catch_up_reads.inc();
                        return page;
                    }
                    Err(error) => {
                        metrics.catch_up_failures.inc();
                        log::debug!(source:% = ask.source; "reading the log failed, trying again: {error}");
                    }
                }
                pause.wait().await;
            }
        })
    }
}

/// Counts a read as waiting or running.
struct Waiting(prometheus_client::metrics::gauge::Gauge);

impl Waiting {
    fn new(metrics: &SubscribeMetrics) -> Self {
        metrics.catch_up_waiting.inc();
        Self(metrics.catch_up_waiting.clone())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.dec();
    }
}
