//! The plans that the server logged, request by request.

use hooks_testkit::pg::Cluster;
use serde_json::Value;
use std::collections::BTreeSet;

/// One statement as it ran.
#[derive(Debug, Clone)]
pub struct Ran {
    /// The file it is kept in; None where it is in none.
    pub name: Option<&'static str>,
    pub text: String,
    pub milliseconds: f64,
    /// Pages of 8 KiB that were looked at.
    pub pages: i64,
    /// Tables and partitions that were scanned.
    pub tables: BTreeSet<String>,
    /// Those that were read from one end to the other, unless they are tiny.
    pub read_whole: BTreeSet<String>,
}

/// A request, and what it made the database do.
#[derive(Debug)]
pub struct Request {
    pub label: String,
    pub ran: Vec<Ran>,
}

impl Request {
    pub fn pages(&self) -> i64 {
        self.ran.iter().map(|ran| ran.pages).sum()
    }
}

const MARK: &str = "LOG:  request: ";

/// Writes a line into the server's log, so that what follows is known to be of this request.
pub async fn mark(client: &tokio_postgres::Client, label: &str) {
    let quoted = label.replace('\'', "''");
    let say = format!("do $$ begin raise log 'request: %', '{quoted}'; end $$");
    client.batch_execute(&say).await.expect("a mark in the log");
}

/// Everything since the first mark.
pub fn read(cluster: &Cluster) -> Vec<Request> {
    let log = cluster.log();
    let mut requests: Vec<Request> = Vec::new();
    let mut lines = log.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some((_, label)) = line.split_once(MARK) {
            requests.push(Request { label: label.to_owned(), ran: Vec::new() });
            continue;
        }
        let Some((_, timing)) = line.split_once("LOG:  duration: ") else { continue };
        let mut plan = String::new();
        while let Some(more) = lines.next_if(|line| line.starts_with('\t')) {
            plan.push_str(more);
            plan.push('\n');
        }
        let Some(request) = requests.last_mut() else { continue };
        let plan: Value = serde_json::from_str(&plan).unwrap_or_else(|error| panic!("{error} in {plan}"));
        let milliseconds = timing.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or_default();
        request.ran.push(ran(&plan, milliseconds));
    }
    requests
}

fn ran(logged: &Value, milliseconds: f64) -> Ran {
    let text = logged["Query Text"].as_str().unwrap_or_default().to_owned();
    let plan = &logged["Plan"];
    let mut ran = Ran {
        name: name_of(&text),
        milliseconds,
        pages: pages_of(plan),
        tables: BTreeSet::new(),
        read_whole: BTreeSet::new(),
        text,
    };
    walk(plan, &mut ran);
    ran
}

/// A table of so few pages is read whole more cheaply than by an index: a day that has just begun.
const FEW: i64 = 64;

fn pages_of(plan: &Value) -> i64 {
    let number = |name: &str| plan[name].as_i64().unwrap_or_default();
    number("Shared Hit Blocks") + number("Shared Read Blocks")
}

fn walk(plan: &Value, ran: &mut Ran) {
    if let Some(table) = plan["Relation Name"].as_str() {
        // A plan may name what a run never touched.
        if plan["Actual Loops"].as_i64() != Some(0) {
            ran.tables.insert(table.to_owned());
            if plan["Node Type"] == "Seq Scan" && pages_of(plan) > FEW {
                ran.read_whole.insert(table.to_owned());
            }
        }
    }
    for inner in plan["Plans"].as_array().into_iter().flatten() {
        walk(inner, ran);
    }
}

fn name_of(text: &str) -> Option<&'static str> {
    let own = hooks_inspector::store::statements();
    let all = own.iter().chain(hooks_shared::push::STATEMENTS);
    all.filter(|sql| sql.text == text).map(|sql| sql.name).next()
}
