//! What the statements on the log read when there is a lot of it: no partition without a bound, few pages.

use crate::desk::{Desk, Stored};
use hooks_inspector::store::statements;
use serde_json::Value;

const DAYS: i32 = 400;

/// Scans of partitions of the log in a plan.
fn scans(plan: &Value, found: &mut Vec<String>) {
    if let Some(name) = plan["Relation Name"].as_str()
        && (name.starts_with("events_2") || name.starts_with("event_search_2"))
    {
        found.push(name.to_owned());
    }
    for inner in plan["Plans"].as_array().into_iter().flatten() {
        scans(inner, found);
    }
}

async fn wide(desk: &Desk) {
    let client = desk.db.client().await;
    client
        .batch_execute(&format!(
            "set role hooks_owner;
             do $$ begin for n in 0..{DAYS} loop
                 perform create_events_partition((now() at time zone 'UTC')::date - n); end loop; end $$"
        ))
        .await
        .expect("partitions");
    desk.store("alpha", "1 hour", &[Stored { body: b"{}", ..Stored::default() }; 3]).await;
}

#[tokio::test]
async fn every_statement_on_the_log_looks_at_one_day() {
    let desk = Desk::open().await;
    wide(&desk).await;
    let client = desk.db.client().await;
    client.batch_execute("set plan_cache_mode = force_custom_plan").await.expect("set");
    let today = "date_trunc('day', now() at time zone 'UTC') at time zone 'UTC'";
    let tomorrow = format!("({today} + interval '1 day')");
    let place = "null::timestamptz, null::text, null::bigint";
    let calls = [
        ("events_list", format!("array['alpha'], {today}, {tomorrow}, {tomorrow}, {today}, {place}, 50")),
        (
            "events_search",
            format!(
                "array['alpha'], {today}, {tomorrow}, {tomorrow}, {today}, {place}, 50, array[1::bigint], 1000"
            ),
        ),
        ("events_show", format!("'alpha', 1, {today}, {tomorrow}, 1000")),
        ("events_body", format!("'alpha', 1, {today}, {tomorrow}")),
        ("events_after", format!("'alpha', 1, 50, {today}, {tomorrow}")),
        ("sources_young", format!("array['alpha'], {today}, {tomorrow}, {today}")),
        ("index_page", format!("'alpha', 1, {today}, {tomorrow}, 50, 1000")),
    ];
    let touching: Vec<_> = statements()
        .into_iter()
        .filter(|sql| {
            sql.text.contains("from events")
                || sql.text.contains("join events")
                || sql.text.contains("from event_search s")
        })
        .collect();
    for sql in &touching {
        let (_, params) = calls
            .iter()
            .find(|(name, _)| *name == sql.name)
            .unwrap_or_else(|| panic!("{} is not looked at here", sql.name));
        let prepare = format!("prepare {} as {}", sql.name, sql.text);
        client.batch_execute(&prepare).await.unwrap_or_else(|error| panic!("{}: {error:?}", sql.name));
        let explain = format!("explain (format json, analyze, buffers) execute {}({params})", sql.name);
        let row =
            client.query_one(&explain, &[]).await.unwrap_or_else(|error| panic!("{}: {error:?}", sql.name));
        let plan: Value = row.get(0);
        let mut found = Vec::new();
        scans(&plan[0]["Plan"], &mut found);
        assert!(found.len() <= 2, "{} scans {found:?}", sql.name);
        let pages = plan[0]["Plan"]["Shared Hit Blocks"].as_i64().unwrap_or(0)
            + plan[0]["Plan"]["Shared Read Blocks"].as_i64().unwrap_or(0);
        assert!(pages < 200, "{} reads {pages} pages", sql.name);
    }
    assert_eq!(touching.len(), calls.len());
}

#[tokio::test]
async fn the_middle_of_a_long_day_costs_as_little_as_its_end() {
    let desk = Desk::open().await;
    let client = desk.db.client().await;
    client
        .batch_execute(
            "insert into source_heads (source, last_sequence) values ('alpha', 200000) on conflict do nothing;
             insert into events (source, sequence, received_at, event_id, dedupe_key, method, target, headers, exact, body, body_sha256)
             select 'alpha', n, date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' + make_interval(secs => n / 4),
                 'evt_' || n, '', 'POST', '/', '', true, '{}', sha256('{}') from generate_series(1, 200000) n;
             insert into event_days (source, day, first_sequence) values ('alpha', (now() at time zone 'UTC')::date, 1);
             analyze events",
        )
        .await
        .expect("a long day");
    let sql = statements().into_iter().find(|sql| sql.name == "events_list").expect("the statement");
    client
        .batch_execute(&format!("set plan_cache_mode = force_custom_plan; prepare list as {}", sql.text))
        .await
        .expect("prepared");
    let day = "date_trunc('day', now() at time zone 'UTC') at time zone 'UTC'";
    for seconds in [1_000, 25_000, 49_000] {
        let moment = format!("{day} + interval '{seconds} seconds'");
        let explain = format!(
            "explain (format json, analyze, buffers) execute list(array['alpha'], {day}, {day} + interval '1 day', {moment}, {day}, null, null, null, 50)"
        );
        let plan: Value = client.query_one(&explain, &[]).await.expect("explained").get(0);
        let pages = plan[0]["Plan"]["Shared Hit Blocks"].as_i64().unwrap_or(0)
            + plan[0]["Plan"]["Shared Read Blocks"].as_i64().unwrap_or(0);
        assert!(pages < 400, "{pages} pages at {seconds} s");
    }
}
