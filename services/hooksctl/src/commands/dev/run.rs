//! From nothing to running, and back.

use super::config::ConfigFile;
use super::console::Console;
use super::folder::Folder;
use super::orphans::{self, Register};
use super::postgres::Cluster;
use super::secrets::{self, Passwords, SUPERUSER, Tokens};
use super::services::{self, Common, Services};
use super::{database, ports, welcome};
use crate::dev_folder::URLS;
use anyhow::{Context, Result};
use hooks_shared::Secret;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// Readiness includes the first connection of each service to the database.
const READY_LIMIT: Duration = Duration::from_secs(60);
/// How often `hooks.yaml` is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// What runs. Every part is put here as soon as it exists, so that [`Dev::stop`] finds it whenever it is called.
pub struct Dev {
    console: Console,
    config: PathBuf,
    base_port: u16,
    programs: PathBuf,
    folder: Arc<Folder>,
    cluster: Option<Cluster>,
    services: Option<Services>,
}

impl Dev {
    /// Everything that can be checked without starting anything.
    pub fn prepare(config: PathBuf, base_port: u16) -> Result<Self> {
        let programs = services::programs()?;
        let parent = config.parent().unwrap_or(Path::new("/"));
        let folder = Arc::new(Folder::open(parent)?);
        let console = Console::new();
        Ok(Self { console, config, base_port, programs, folder, cluster: None, services: None })
    }

    /// Starts everything, then keeps it going. Ends with an error only.
    pub async fn work(&mut self) -> Result<()> {
        orphans::stop(&self.folder, self.console).await;
        let mut file = ConfigFile::open(&self.config, &self.folder)?;
        if file.is_new {
            self.console.say(&format!("wrote {} with a source to try", file.path().display()));
        }
        ports::check(self.base_port)?;
        let tokens = Tokens::keep(&self.folder)?;
        let admin_url = self.start_database().await?;
        database::keep_tokens(&admin_url, &tokens, &file.sources()).await?;
        self.start_services(&admin_url)?;
        self.welcome(&file, &tokens, &admin_url).await?;
        loop {
            self.until_something_happens().await?;
            self.take_changes(&mut file, &admin_url, &tokens).await;
        }
    }

    /// Starts or finds the database and brings its schema up to date; the administrator's URL.
    async fn start_database(&mut self) -> Result<Secret> {
        if let Some(url) = std::env::var("HOOKS_DATABASE_URL").ok().filter(|url| !url.is_empty()) {
            self.console.say("using the database of HOOKS_DATABASE_URL");
            let url = Secret::new(url);
            database::migrate(&url, None, self.console).await.context("HOOKS_DATABASE_URL")?;
            return Ok(url);
        }
        let passwords = Passwords::keep(&self.folder)?;
        let cluster = Cluster::new(self.folder.path(), passwords.clone(), self.console)?;
        let cluster = self.cluster.insert(cluster);
        cluster.start().await?;
        let url = cluster.url(SUPERUSER)?;
        database::migrate(&url, Some(&passwords), self.console).await?;
        Ok(url)
    }

    fn start_services(&mut self, admin_url: &Secret) -> Result<()> {
        let url_of = |role: &str| match &self.cluster {
            Some(cluster) => cluster.url(role),
            None => Ok(admin_url.clone()),
        };
        let keys = std::env::var("HOOKS_SECRET_KEYS").ok().filter(|keys| !keys.is_empty());
        let common = Common {
            config: self.config.clone(),
            folder: self.config.parent().unwrap_or(Path::new("/")).to_owned(),
            marker: self.folder.path().display().to_string(),
            base_port: self.base_port,
            secret_keys: keys
                .map_or_else(|| secrets::secret_keys(&self.folder), |keys| Ok(Secret::new(keys)))?,
            maintenance_url: url_of("maintenance")?,
        };
        let register = Register::new(self.folder.clone());
        let services = Services::start(&self.programs, &common, url_of, &register, self.console)?;
        self.services = Some(services);
        Ok(())
    }

    /// Waits until all is ready, then says where everything is.
    async fn welcome(&self, file: &ConfigFile, tokens: &Tokens, admin_url: &Secret) -> Result<()> {
        let Some(services) = &self.services else { return Ok(()) };
        let late = services.until_ready(READY_LIMIT).await;
        for line in &late {
            self.console.warn(&format!("not ready yet: {line}"));
        }
        let places = welcome::Places::of(services, self.cluster.as_ref().map(Cluster::port));
        self.folder.write(URLS, &places.to_file(admin_url))?;
        welcome::show(self.console, self.folder.path(), &places, file, tokens);
        Ok(())
    }

    /// Returns to look at the configuration; a database that has ended is started again here.
    async fn until_something_happens(&mut self) -> Result<()> {
        let Some(cluster) = &mut self.cluster else {
            sleep(LOOK).await;
            return Ok(());
        };
        tokio::select! {
            () = sleep(LOOK) => return Ok(()),
            () = cluster.ended() => {}
        }
        self.console.warn("PostgreSQL ended; starting it again");
        cluster.start_again().await
    }

    /// A faulty file changes nothing; it is said and the services go on with what they have.
    async fn take_changes(&self, file: &mut ConfigFile, admin_url: &Secret, tokens: &Tokens) {
        match file.changed() {
            Ok(None) => {}
            Err(error) => {
                self.console.warn(&format!("{error:#}\nthe services keep the configuration they have"))
            }
            Ok(Some(())) => {
                if let Err(error) = database::keep_tokens(admin_url, tokens, &file.sources()).await {
                    self.console.warn(&format!("the listener token keeps its scopes: {error:#}"));
                }
                self.console.say(&format!("{} has changed; telling the services", file.path().display()));
                if let Some(services) = &self.services {
                    services.reload();
                }
            }
        }
    }

    /// Stops everything in order: services first, then the database. The data stays.
    pub async fn stop(&mut self) {
        self.folder.remove(URLS);
        if let Some(services) = self.services.take() {
            self.console.say("stopping (once more to stop at once)");
            services.stop().await;
        }
        if let Some(cluster) = &mut self.cluster {
            cluster.stop().await;
            self.console.say("stopped");
        }
        self.cluster = None;
    }

    /// Leaves at once: what still runs is found by the next `dev`.
    pub fn abandon(&self) {
        self.console.warn("left at once; the next `hooksctl dev` here stops what still runs");
    }
}
