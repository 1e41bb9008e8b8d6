//! What grows must not make claims dear: plans stay within one partition, and one subscription's rows are not read for
//! another.

use crate::rig::*;
use hooks_push_worker::store::STATEMENTS;
use hooks_shared::db::Sql;
use hooks_testkit::db::TestDb;

/// The names of the partitions that a statement's plan mentions, with these literal arguments.
async fn partitions_in_plan(client: &tokio_postgres::Client, sql: Sql, args: &str) -> Vec<String> {
    let prepare = format!("prepare {} as {}", sql.name, sql.text);
    client.batch_execute(&prepare).await.unwrap_or_else(|error| panic!("{}: {error:?}", sql.name));
    let explain = format!("explain (costs off) execute {}({args})", sql.name);
    let rows = client.query(&explain, &[]).await.unwrap_or_else(|error| panic!("{}: {error:?}", sql.name));
    let plan: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    let mut names: Vec<String> = plan
        .iter()
        .flat_map(|line| line.split_whitespace())
        .filter(|word| word.starts_with("events_2"))
        .map(|word| word[..15].to_owned())
        .collect();
    names.sort();
    names.dedup();
    names
}

fn named(all: &[Sql], name: &str) -> Sql {
    *all.iter().find(|sql| sql.name == name).unwrap_or_else(|| panic!("no statement {name}"))
}

#[tokio::test]
async fn with_400_partitions_each_statement_plans_only_those_of_its_day() {
    let db = TestDb::create().await;
    db.execute(
        "select create_events_partition(((now() at time zone 'UTC')::date - n)) from generate_series(0, 400) n",
        &[],
    )
    .await;
    let client = db.client().await;
    client.batch_execute("set plan_cache_mode = force_custom_plan").await.expect("set");
    let day = "(now() at time zone 'UTC')::date - 100";
    let lower = format!("(({day})::timestamp at time zone 'UTC')");
    let upper = format!("(({day} + 1)::timestamp at time zone 'UTC')");
    let token = "'00000000-0000-0000-0000-000000000000'";
    let worker = [
        (
            "fan_out",
            format!(
                "1, '{{a}}', '{{1}}', '{{d}}', array[{token}]::uuid[], 60, 'w', {day}, {lower}, {upper}, 1"
            ),
        ),
        ("fetch_events", format!("'{{a}}', '{{1}}', array[{lower}], {lower}, {upper}, 10")),
        ("fetch_body", format!("'a', 1, {lower}")),
    ];
    for (name, args) in &worker {
        let seen = partitions_in_plan(&client, named(STATEMENTS, name), args).await;
        assert_eq!(seen.len(), 1, "{name}: {seen:?}");
    }
    let operators = [
        ("replay_delivery", format!("'d', {lower}, {upper}")),
        ("replay_picked", format!("'{{d}}', {lower}, {upper}")),
        ("find_event", format!("'a', 1, {lower}, {upper}")),
    ];
    for (name, args) in &operators {
        let seen = partitions_in_plan(&client, named(hooks_shared::push::STATEMENTS, name), args).await;
        assert_eq!(seen.len(), 1, "{name}: {seen:?}");
    }
}

#[tokio::test]
async fn a_backlog_of_one_subscription_costs_the_others_nothing() {
    let rig = Rig::new().await;
    let heavy = rig.subscribe("heavy", "http://127.0.0.1:9/heavy").await;
    let light = rig.subscribe("light", "http://127.0.0.1:9/light").await;
    rig.many_events(50_000).await;
    // As after an operator's replay of everything.
    rig.db
        .execute(
            "insert into deliveries (id, subscription_id, source, sequence, received_at, state, next_attempt_at)
             select 'dlv_' || sequence, $1, source, sequence, received_at, 'pending', now() - interval '1 hour'
             from events where source = $2",
            &[&heavy, &SOURCE],
        )
        .await;
    rig.db.execute("analyze deliveries", &[]).await;
    let session = rig.session().await;
    let claims = take(&session, 10).await;
    let of = |id: &str| claims.iter().filter(|claim| claim.subscription == id).count();
    assert_eq!((of(&heavy), of(&light)), (5, 5), "an even share");
    // How many rows a claim touches, not how long it takes.
    let reads = |row: tokio_postgres::Row| row.get::<_, i64>(0);
    let count =
        "select idx_tup_fetch + seq_tup_read from pg_stat_xact_user_tables where relname = 'deliveries'";
    session.batch_execute("begin").await.expect("begin");
    let before = reads(session.query_one(count, &[]).await.expect("stats"));
    let pick = hooks_push_worker::store::Pick {
        protocol: 1,
        paused_sources: &[],
        skip: &[],
        limit: 10,
        only_proven: false,
        low: time::OffsetDateTime::UNIX_EPOCH,
    };
    let picked = hooks_push_worker::store::pick(&session, &pick).await.expect("picked");
    let after = reads(session.query_one(count, &[]).await.expect("stats"));
    session.batch_execute("rollback").await.expect("rollback");
    assert_eq!(picked.len(), 2);
    assert!(after - before < 100, "{} rows read to choose", after - before);
}
