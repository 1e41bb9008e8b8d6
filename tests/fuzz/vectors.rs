//! Recorded requests, changed here and there.

use crate::dice::Dice;
use hooks_shared::verify::doctor::{self, Case};
use hooks_shared::verify::{Parts, Recorded, Settings, Verdict, Verifier};
use time::OffsetDateTime;

pub struct Entry {
    parts: Parts,
    settings: Settings,
    now: OffsetDateTime,
    verifier: Verifier,
}

/// Those whose settings can be used.
pub fn load() -> Vec<Entry> {
    let read = |text: &str| serde_json::from_str::<Vec<Recorded>>(text).expect("vectors in JSON");
    let mut all = read(include_str!("../vectors/signatures.json"));
    all.extend(read(include_str!("../vectors/relay.json")));
    all.iter().filter_map(entry).collect()
}

fn entry(recorded: &Recorded) -> Option<Entry> {
    let settings = recorded.settings();
    let verifier = Verifier::compile(&settings).ok()?.verifier;
    Some(Entry { parts: recorded.parts().ok()?, now: recorded.moment()?, settings, verifier })
}

pub fn run(entries: &[Entry], dice: &mut Dice) {
    let entry = dice.pick(entries);
    let mut parts = entry.parts.clone();
    for _ in 0..1 + dice.below(3) {
        change(&mut parts, entries, dice);
    }
    let verdict = checked(&entry.verifier, &parts, entry.now);
    // The doctor tries many things at once, so it is asked less often.
    if dice.one_in(40) {
        let case = Case { settings: &entry.settings, request: &parts, now: entry.now, others: &[] };
        let diagnosis = doctor::examine(&case);
        assert_eq!(diagnosis.verdict, verdict.word(), "the doctor disagrees");
        assert!(!diagnosis.reasons.is_empty(), "the doctor says nothing");
    }
}

fn change(parts: &mut Parts, entries: &[Entry], dice: &mut Dice) {
    let header = dice.below(parts.headers.len());
    match dice.below(9) {
        0 => dice.mutate(&mut parts.body),
        1 => parts.body = dice.pick(entries).parts.body.clone(),
        2 if !parts.headers.is_empty() => drop(parts.headers.remove(header)),
        3 if !parts.headers.is_empty() => dice.mutate(&mut parts.headers[header].1),
        4 if !parts.headers.is_empty() => {
            let mut again = parts.headers[header].clone();
            if dice.one_in(2) {
                dice.mutate(&mut again.1);
            }
            parts.headers.push(again);
        }
        5 if !parts.headers.is_empty() => dice.mutate(&mut parts.headers[header].0),
        6 => {
            let mut target = std::mem::take(&mut parts.target).into_bytes();
            dice.mutate(&mut target);
            parts.target = String::from_utf8_lossy(&target).into_owned();
        }
        7 => parts.method = (*dice.pick(&["GET", "POST", "OPTIONS", "HEAD", "", "PÖST"])).to_owned(),
        _ => parts.headers.extend(dice.pick(entries).parts.headers.iter().cloned()),
    }
}

/// The verdict, and what holds for all of them.
pub fn checked<'p>(verifier: &Verifier, parts: &'p Parts, now: OffsetDateTime) -> Verdict<'p> {
    let request = parts.request();
    let _ = verifier.wants(&request);
    let verdict = verifier.verify(&request, now);
    assert_eq!(verdict, verifier.verify(&request, now), "two verdicts on one request");
    match &verdict {
        Verdict::Ok(verified) => {
            let _ = verified.dedupe_key(&parts.body);
            let texts = verified.delivery_id.iter().chain(&verified.event_type);
            for text in texts {
                assert!(!text.chars().any(char::is_control), "a control character in {text:?}");
            }
        }
        Verdict::Challenge(answer) => {
            assert!((200..300).contains(&answer.status), "a handshake is answered with {}", answer.status);
            for (name, value) in &answer.headers {
                let breaks = |text: &str| text.contains(['\r', '\n', '\0']);
                assert!(!breaks(name) && !breaks(value), "a header that breaks out: {name}: {value:?}");
            }
        }
        Verdict::Refused(refusal) => {
            let status = verifier.refuse_status(refusal.reason);
            assert!(status >= 400 && !matches!(status, 404 | 410), "refused with {status}");
        }
    }
    verdict
}
