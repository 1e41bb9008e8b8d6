//! Paused sources, and a configuration that changes under open streams.

use crate::support::{NewEvent, PATIENCE, QUICK, Relay, Setup, configured, now, sequences};
use hooks_shared::Config;
use hooks_testkit::sse::{End, Item};

fn paused(relay: &Relay, paused: bool) -> Config {
    let mut config = configured(&["render"], QUICK, &relay.db.url_for("subscribe"));
    for source in config.sources.values_mut() {
        source.paused = paused;
    }
    config
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_source_holds_everything_and_then_goes_on_unfiltered() {
    let relay = Relay::start().await;
    let mut live = relay.listen("/subscribe/render").await;
    relay.writer.append(&NewEvent::fresh()).await;
    assert_eq!(sequences(&mut live, 1).await, [1]);
    relay.running.reload(&paused(&relay, true)).expect("reload");
    let mut fresh = relay.listen("/subscribe/render?since=0").await;
    let stale = NewEvent::signed(Some(now() - time::Duration::hours(1)));
    relay.writer.append(&stale).await;
    // Keepalives go on, nothing else does.
    for stream in [&mut live, &mut fresh] {
        for _ in 0..3 {
            assert_eq!(stream.next(PATIENCE).await, Item::Comment("keepalive".to_owned()));
        }
    }
    relay.running.reload(&paused(&relay, false)).expect("reload");
    assert_eq!(sequences(&mut live, 1).await, [2]);
    assert_eq!(sequences(&mut fresh, 1).await, [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_goes_is_cut_and_a_new_one_is_known() {
    let relay = Setup { sources: &["render", "github"], ..Setup::default() }.start().await;
    let mut github = relay.listen("/subscribe/github").await;
    let mut render = relay.listen("/subscribe/render").await;
    let changed = configured(&["render", "stripe"], QUICK, &relay.db.url_for("subscribe"));
    relay.running.reload(&changed).expect("reload");
    assert_eq!(github.to_end(PATIENCE).await.1, End::Cut);
    assert_eq!(relay.get("/subscribe/github").await.status, 404);
    assert_eq!(relay.get("/subscribe/stripe").await.status, 403);
    relay.writer.append(&NewEvent::fresh()).await;
    assert_eq!(sequences(&mut render, 1).await, [1]);
}
