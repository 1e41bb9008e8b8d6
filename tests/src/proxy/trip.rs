//! Moments in a conversation, and what happens at them.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::gate::Gate;
use crate::until;

/// Where in the order of things a connection is cut. The client sees a reset each time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The server never sees it.
    Before,
    /// The server gets it and can carry it out in peace; the client hears nothing.
    AfterForwarding,
    /// The server has answered it; the answer is withheld from the client.
    AfterAnswer,
}

type SqlTest = Arc<dyn Fn(&str) -> bool + Send + Sync>;
type BytesTest = Arc<dyn Fn(&[u8]) -> bool + Send + Sync>;

#[derive(Clone)]
pub(super) enum Test {
    Sql(SqlTest),
    Bytes(BytesTest),
}

/// A moment in what a client sends; the first such, once, unless told otherwise.
#[derive(Clone)]
pub struct At {
    test: Test,
    skip: usize,
    times: usize,
}

impl At {
    /// The execution of a statement whose text passes `test`, by simple query or as a prepared statement.
    pub fn sql(test: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self { test: Test::Sql(Arc::new(test)), skip: 0, times: 1 }
    }

    /// A statement that contains `text`, in any case.
    pub fn sql_with(text: &str) -> Self {
        let text = text.to_lowercase();
        Self::sql(move |sql| sql.to_lowercase().contains(&text))
    }

    /// A COMMIT, alone or at the end of a batch.
    pub fn commit() -> Self {
        Self::sql(|sql| {
            let last = sql.trim().trim_end_matches(';').rsplit(';').next().unwrap_or_default();
            last.trim().eq_ignore_ascii_case("commit")
        })
    }

    /// A piece of data, as read from the socket, that passes `test`: for other protocols than PostgreSQL's.
    pub fn bytes(test: impl Fn(&[u8]) -> bool + Send + Sync + 'static) -> Self {
        Self { test: Test::Bytes(Arc::new(test)), skip: 0, times: 1 }
    }

    /// Not the first but the `n`th such moment, counted from 1 over all connections.
    pub fn nth(mut self, n: usize) -> Self {
        self.skip = n.saturating_sub(1);
        self
    }

    /// This many times.
    pub fn times(mut self, times: usize) -> Self {
        self.times = times;
        self
    }

    /// Every time.
    pub fn always(self) -> Self {
        self.times(usize::MAX)
    }
}

impl fmt::Debug for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("At").field("skip", &self.skip).field("times", &self.times).finish_non_exhaustive()
    }
}

/// What the test keeps of a cut or hold it has asked for.
#[derive(Debug, Clone)]
pub struct Trip {
    fired: Arc<AtomicUsize>,
}

impl Trip {
    /// How often it has happened.
    pub fn fired(&self) -> usize {
        self.fired.load(Ordering::SeqCst)
    }

    /// Waits until it has happened at least once.
    pub async fn wait(&self, deadline: Duration) {
        until(deadline, "the proxy's trap to be sprung", async || self.fired() > 0).await;
    }
}

/// What is done at a moment.
#[derive(Debug, Clone)]
pub(super) enum Action {
    Cut(Cut),
    Hold(Gate),
}

impl Action {
    /// True if the server must not see the moment before the action.
    pub fn is_before(&self) -> bool {
        matches!(self, Self::Hold(_) | Self::Cut(Cut::Before))
    }
}

/// A moment that is waited for.
#[derive(Debug)]
pub(super) struct Tripwire {
    at: At,
    action: Action,
    fired: Arc<AtomicUsize>,
}

impl Tripwire {
    pub fn new(at: At, action: Action) -> (Self, Trip) {
        let fired = Arc::<AtomicUsize>::default();
        (Self { at, action, fired: fired.clone() }, Trip { fired })
    }

    /// The action if this statement is the moment. It counts, so it is asked once per statement.
    pub fn on_sql(&mut self, sql: &str) -> Option<Action> {
        match &self.at.test {
            Test::Sql(test) if self.at.times > 0 && test(sql) => self.count(),
            _ => None,
        }
    }

    /// The action if this piece of data is the moment.
    pub fn on_bytes(&mut self, bytes: &[u8]) -> Option<Action> {
        match &self.at.test {
            Test::Bytes(test) if self.at.times > 0 && test(bytes) => self.count(),
            _ => None,
        }
    }

    fn count(&mut self) -> Option<Action> {
        if self.at.skip > 0 {
            self.at.skip -= 1;
            return None;
        }
        self.at.times -= 1;
        self.fired.fetch_add(1, Ordering::SeqCst);
        Some(self.action.clone())
    }
}
