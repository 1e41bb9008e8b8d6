//! Each process's row in `service_instances`, which is how the page and `doctor` know who is alive.

use crate::db::{Pool, Sql};
use crate::shutdown::Shutdown;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use uuid::Uuid;

const EVERY: Duration = Duration::from_secs(10);

const SAY: Sql = Sql {
    name: "say_alive",
    text: "insert into service_instances (id, service, version, config_hash, started_at, seen_at) \
           values ($1, $2, $3, $4, now(), now()) \
           on conflict (id) do update set seen_at = now(), config_hash = excluded.config_hash",
};
const LEAVE: Sql = Sql { name: "say_gone", text: "delete from service_instances where id = $1" };

/// Who this process is.
#[derive(Debug, Clone)]
pub struct Instance {
    pub id: Uuid,
    pub service: &'static str,
    pub version: &'static str,
    config_hash: Arc<Mutex<String>>,
}

impl Instance {
    pub fn new(service: &'static str, version: &'static str, config_hash: String) -> Self {
        Self { id: Uuid::new_v4(), service, version, config_hash: Arc::new(Mutex::new(config_hash)) }
    }

    /// The hash of the configuration in force.
    pub fn config_hash(&self) -> String {
        self.config_hash.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Another configuration is in force; the row says so with its next round.
    pub fn reconfigured(&self, config_hash: &str) {
        config_hash.clone_into(&mut self.config_hash.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Keeps the row fresh until shutdown, then removes it. Failures wait for the next round: the row is
    /// information, nothing depends on it.
    pub fn keep_alive(self, pool: Pool, shutdown: Shutdown) -> tokio::task::JoinHandle<()> {
        tokio::spawn(async move {
            let mut tick = tokio::time::interval(EVERY);
            loop {
                tokio::select! {
                    _ = tick.tick() => {
                        let said = async {
                            let session = pool.get().await.map_err(|error| error.to_string())?;
                            session
                                .run(SAY, &[&self.id, &self.service, &self.version, &self.config_hash()])
                                .await
                                .map_err(|error| error.to_string())
                        };
                        if let Err(error) = said.await {
                            log::debug!("service_instances could not be written: {error}");
                        }
                    }
                    () = shutdown.wait() => break,
                }
            }
            if let Ok(session) = pool.get().await {
                let _ = session.run(LEAVE, &[&self.id]).await;
            }
        })
    }
}
