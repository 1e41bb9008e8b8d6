//! What a statement may read.

use super::plans::{Ran, Request};
use std::collections::{BTreeMap, BTreeSet};

/// Pages of a statement about which nothing else is said.
const USUAL: i64 = 1_000;
/// Pages of a request that only reads.
const MOST_OF_A_REQUEST: i64 = 50_000;

/// Statements that may read more, and what it grows with; none grows with the log or with the history of deliveries.
const MORE: &[(&str, i64)] = &[
    // Sources times rows of a page, and a binary search in each source.
    ("events_list", 7_000),
    // Sources times 200 hits, divided by how frequent the term is: here one event in eight has it.
    ("events_search", 16_000),
    // Events of a page times subscriptions of their source.
    ("events_push", 5_000),
    // The stretch that is looked at.
    ("deliveries_newest", 3_000),
    ("deliveries_failed", 3_000),
    ("deliveries_of_subscription", 3_000),
    ("audit_list", 1_500),
    // Subscriptions times 2,002 rows counted at most, and all subscriptions' oldest due.
    ("list_subscriptions", 4_000),
    ("samples_backlog", 2_000),
    // Subscriptions times 10,000 deliveries counted at most. A sample may be taken in the middle of a bulk change, when
    // nothing has been vacuumed.
    ("samples_take", 70_000),
    // The rows that are changed, of which a batch has a thousand, each in six indexes.
    ("pick_failed", 8_000),
    ("replay_picked", 30_000),
    ("cancel_where", 25_000),
    // What the subscription owes: here a thousand deliveries.
    ("delete_subscription", 25_000),
];

/// Statements that no request of the walk runs.
const NOT_WALKED: &[&str] = &[
    // Only for live pages, and by the indexer when there is something new; tests/it/plans.rs has their plans.
    "events_after",
    "index_page",
    // Read by tests of push alone.
    "list_audit",
];

/// Tables that grow with the log or with history.
fn is_big(table: &str) -> bool {
    let partition = table.starts_with("events_2") || table.starts_with("event_search_2");
    partition || matches!(table, "deliveries" | "attempts" | "audit")
}

/// `failed` deliveries there are: a plan of a bulk replay counts them all, and looks at the last attempt of each.
pub fn check(requests: &[Request], failed: i64) {
    let mut faults = BTreeSet::new();
    for request in requests {
        for ran in &request.ran {
            faults.extend(fault(ran, failed).map(|fault| format!("{fault}: {}", request.label)));
        }
        if request.label.starts_with("GET") && request.pages() > MOST_OF_A_REQUEST {
            faults.insert(format!("{} pages: {}", request.pages(), request.label));
        }
    }
    let seen: BTreeSet<_> =
        requests.iter().flat_map(|request| &request.ran).filter_map(|ran| ran.name).collect();
    for sql in hooks_inspector::store::statements().iter().chain(hooks_shared::push::STATEMENTS) {
        let big = [
            "events ",
            "events\n",
            "event_search ",
            "deliveries ",
            "deliveries\n",
            "attempts ",
            "audit\n",
            "audit ",
        ];
        let words = ["from", "join", "update"];
        let reads =
            big.iter().any(|table| words.iter().any(|word| sql.text.contains(&format!("{word} {table}"))));
        if reads && !seen.contains(sql.name) && !NOT_WALKED.contains(&sql.name) {
            faults.insert(format!("{} was not run: the walk needs a request that does", sql.name));
        }
    }
    assert!(
        faults.is_empty(),
        "{} faults:\n{}",
        faults.len(),
        faults.into_iter().collect::<Vec<_>>().join("\n")
    );
}

fn fault(ran: &Ran, failed: i64) -> Option<String> {
    let name = ran.name.unwrap_or(&ran.text);
    let bound = match name {
        "plan_replay" => USUAL + 5 * failed,
        name => MORE.iter().find(|(known, _)| *known == name).map_or(USUAL, |(_, bound)| *bound),
    };
    if ran.pages > bound {
        return Some(format!("{name} reads {} pages, more than {bound}", ran.pages));
    }
    if let Some(table) = ran.read_whole.iter().find(|table| is_big(table)) {
        return Some(format!("{name} reads all of {table}"));
    }
    let partitions = |of: &str| ran.tables.iter().filter(|table| table.starts_with(of)).count();
    if partitions("events_2") > 1 || partitions("event_search_2") > 1 {
        return Some(format!("{name} looks at more than a day: {:?}", ran.tables));
    }
    None
}

/// For people: of each statement its most expensive run, and the most expensive requests.
pub fn report(requests: &[Request]) {
    let mut worst: BTreeMap<&str, (&Ran, &str)> = BTreeMap::new();
    for request in requests {
        for ran in &request.ran {
            let known = worst.entry(ran.name.unwrap_or(&ran.text)).or_insert((ran, &request.label));
            if ran.pages > known.0.pages {
                *known = (ran, &request.label);
            }
        }
    }
    for (name, (ran, label)) in worst {
        let name: String = name.chars().take(28).collect();
        println!("{name:<28} {:>7} pages {:>7.1} ms  {label}", ran.pages, ran.milliseconds);
    }
    let mut requests: Vec<_> = requests.iter().map(|request| (request.pages(), request)).collect();
    requests.sort_by_key(|(pages, _)| -pages);
    for (pages, request) in requests.iter().take(20) {
        println!("{pages:>7} pages in {:>4} statements  {}", request.ran.len(), request.label);
    }
}
