//! The tasks that look after open streams: tokens that were revoked, readers that take nothing, and the table
//! that tells people who listens.

use crate::hub::Hub;
use crate::registry::{Cut, Registry};
use crate::store::{self, Database, StoreError};
use hooks_shared::shutdown::Shutdown;
use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};
use uuid::Uuid;

/// A revoked token ends its streams within ten seconds also when the hint is lost.
const TOKENS_EVERY: Duration = Duration::from_secs(5);
const LISTENERS_EVERY: Duration = Duration::from_secs(5);
/// Open streams use their tokens all the time; that is noted so often.
const OPEN_STREAMS_EVERY: Duration = Duration::from_secs(60);

/// Runs until shutdown.
fn until_shutdown(shutdown: Shutdown, work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    tokio::spawn(async move {
        tokio::select! {
            () = work => {}
            () = shutdown.wait() => {}
        }
    })
}

/// Cuts the streams of tokens that are no longer good.
pub fn watch_tokens(
    hub: Arc<Hub>,
    registry: Registry,
    database: Database,
    shutdown: Shutdown,
) -> JoinHandle<()> {
    until_shutdown(shutdown, async move {
        loop {
            tokio::select! {
                () = sleep(TOKENS_EVERY) => {}
                () = hub.token_hint.notified() => {}
            }
            if let Err(error) = check_tokens(&registry, &database).await {
                log::debug!("the tokens of open streams could not be checked: {error}");
            }
        }
    })
}

async fn check_tokens(registry: &Registry, database: &Database) -> Result<(), StoreError> {
    let used = registry.tokens();
    if used.is_empty() {
        return Ok(());
    }
    let asked = used.clone();
    let good = database.run(async move |session| store::valid_tokens(&session, &asked).await).await?;
    let good: HashSet<Uuid> = good.into_iter().collect();
    let bad: HashSet<Uuid> = used.into_iter().filter(|token| !good.contains(token)).collect();
    if !bad.is_empty() {
        registry.cut_where(Cut::Token, |connected| bad.contains(&connected.token_id));
    }
    Ok(())
}

/// Cuts readers from which, for `limit`, nothing was asked and of which no byte was taken.
pub fn watch_stalls(registry: Registry, limit: Duration, shutdown: Shutdown) -> JoinHandle<()> {
    until_shutdown(shutdown, async move {
        let mut seen: HashMap<Uuid, Standing> = HashMap::new();
        loop {
            sleep((limit / 6).max(Duration::from_millis(50))).await;
            let stalled = look_for_stalls(&registry, &mut seen, limit);
            if !stalled.is_empty() {
                registry.cut_where(Cut::Stalled, |connected| stalled.contains(&connected.id));
            }
        }
    })
}

/// A reader's progress, and since when it is the same.
struct Standing {
    progress: (u64, usize),
    since: Instant,
}

fn look_for_stalls(
    registry: &Registry,
    seen: &mut HashMap<Uuid, Standing>,
    limit: Duration,
) -> HashSet<Uuid> {
    let now = Instant::now();
    let mut before = std::mem::take(seen);
    let mut stalled = HashSet::new();
    for connected in registry.all() {
        let progress = connected.progress();
        // With nothing in flight there is nothing that the reader could take.
        if progress.1 == 0 {
            continue;
        }
        let since = match before.remove(&connected.id) {
            Some(standing) if standing.progress == progress => standing.since,
            _ => now,
        };
        if now - since >= limit {
            stalled.insert(connected.id);
        }
        seen.insert(connected.id, Standing { progress, since });
    }
    stalled
}

/// Tokens whose use is still to be noted. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct TokenUse(Arc<Mutex<HashSet<Uuid>>>);

impl TokenUse {
    pub fn note(&self, token: Uuid) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(token);
    }

    fn take(&self) -> HashSet<Uuid> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Writes who listens and which tokens are in use, in one batch each, until shutdown; then removes what it
/// wrote. Failures wait for the next round: this is information, nothing depends on it.
pub fn tell_listeners(
    instance: Uuid,
    registry: Registry,
    used: TokenUse,
    database: Database,
    shutdown: Shutdown,
) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut tick = interval(LISTENERS_EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut told = false;
        let mut open_noted = Instant::now();
        loop {
            tokio::select! {
                _ = tick.tick() => {}
                () = shutdown.wait() => break,
            }
            if let Err(error) = tell(instance, &registry, &mut told, &database).await {
                log::debug!("listeners could not be written: {error}");
            }
            let mut tokens = used.take();
            if open_noted.elapsed() >= OPEN_STREAMS_EVERY {
                open_noted = Instant::now();
                tokens.extend(registry.tokens());
            }
            note_use(tokens, &database).await;
        }
        if told {
            let forget =
                database.run(async move |session| store::forget_listeners(&session, instance, &[]).await);
            let _ = forget.await;
        }
    })
}

/// `told`: rows of this instance may stand in the table.
async fn tell(
    instance: Uuid,
    registry: &Registry,
    told: &mut bool,
    database: &Database,
) -> Result<(), StoreError> {
    let rows = registry.rows();
    if rows.is_empty() && !*told {
        return Ok(());
    }
    *told = true;
    let nobody = rows.is_empty();
    database
        .run(async move |session| {
            let staying: Vec<Uuid> = rows.iter().map(|row| row.id).collect();
            store::forget_listeners(&session, instance, &staying).await?;
            store::say_listeners(&session, instance, &rows).await
        })
        .await?;
    *told = !nobody;
    Ok(())
}

async fn note_use(tokens: HashSet<Uuid>, database: &Database) {
    if tokens.is_empty() {
        return;
    }
    let mut ids: Vec<Uuid> = tokens.into_iter().collect();
    ids.sort_unstable();
    let noted = database.run(async move |session| store::note_token_use(&session, &ids).await).await;
    if let Err(error) = noted {
        log::debug!("the use of tokens could not be noted: {error}");
    }
}
