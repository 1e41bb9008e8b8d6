//! `combine: all` and `combine: any`.

use crate::verify::{self, Parts, Reason, Settings, Verdict, Verifier};
use serde_json::{Value, json};
use time::OffsetDateTime;

fn token(header: &str, secret: &str) -> Value {
    json!({"type": "token", "from": format!("header:{header}"), "secret": secret, "id": format!("header:Id-{header}")})
}

fn compiled(combine: &str, of: &[Value]) -> Verifier {
    let settings = Settings { verifier: json!({"combine": combine, "of": of}), ..Settings::default() };
    Verifier::compile(&settings).unwrap().verifier
}

fn verdict(verifier: &Verifier, headers: &[(&str, &str)]) -> Verdict<'static> {
    let bytes = |(name, value): &(&str, &str)| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
    let parts = Parts {
        method: "POST".into(),
        target: "/".into(),
        headers: headers.iter().map(bytes).collect(),
        body: Vec::new(),
        remote_addr: None,
    };
    verifier.verify(&parts.request(), OffsetDateTime::UNIX_EPOCH).into_owned()
}

fn refused(verdict: Verdict) -> Reason {
    match verdict {
        Verdict::Refused(refusal) => refusal.reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn all_means_every_part_and_the_first_names_the_event() {
    let all = compiled("all", &[token("A", "one"), token("B", "two")]);
    let good = [("A", "one"), ("B", "two"), ("Id-A", "a"), ("Id-B", "b")];
    let Verdict::Ok(verified) = verdict(&all, &good) else { panic!("refused") };
    assert_eq!(verified.delivery_id.as_deref(), Some("a"));
    assert_eq!(refused(verdict(&all, &[("A", "one"), ("B", "x")])), Reason::BadSignature);
    assert_eq!(refused(verdict(&all, &[("A", "x"), ("B", "two")])), Reason::BadSignature);
    assert_eq!(refused(verdict(&all, &[("A", "one")])), Reason::MissingHeader);
    assert_eq!(refused(verdict(&all, &[("B", "two")])), Reason::MissingHeader);
}

#[test]
fn any_means_one_part_and_that_one_names_the_event() {
    let any = compiled("any", &[token("A", "one"), token("B", "two")]);
    for (headers, id) in [
        (&[("A", "one"), ("Id-A", "a")][..], "a"),
        (&[("B", "two"), ("Id-B", "b")], "b"),
        (&[("A", "x"), ("B", "two"), ("Id-A", "a"), ("Id-B", "b")], "b"),
        (&[("A", "one"), ("B", "two"), ("Id-A", "a"), ("Id-B", "b")], "a"),
    ] {
        let Verdict::Ok(verified) = verdict(&any, headers) else { panic!("refused: {headers:?}") };
        assert_eq!(verified.delivery_id.as_deref(), Some(id), "{headers:?}");
    }
    // The refusal that says most: a signature that is wrong rather than one that is not there.
    assert_eq!(refused(verdict(&any, &[("B", "x")])), Reason::BadSignature);
    assert_eq!(refused(verdict(&any, &[("A", "x")])), Reason::BadSignature);
    assert_eq!(refused(verdict(&any, &[])), Reason::MissingHeader);
}

#[test]
fn combinations_nest_and_take_a_source_s_secrets() {
    let both = json!({"combine": "all", "of": [token("A", "one"), token("B", "two")]});
    let nested = compiled("any", &[both, token("C", "three")]);
    assert_eq!(verdict(&nested, &[("C", "three")]).word(), "ok");
    assert_eq!(verdict(&nested, &[("A", "one"), ("B", "two")]).word(), "ok");
    assert_eq!(refused(verdict(&nested, &[("A", "one")])), Reason::MissingHeader);
    let bare = |header: &str| json!({"type": "token", "from": format!("header:{header}")});
    let settings = Settings {
        verifier: json!({"combine": "all", "of": [bare("A"), bare("B")]}),
        secrets: vec!["shared".into()],
        ..Settings::default()
    };
    let shared = Verifier::compile(&settings).unwrap().verifier;
    assert_eq!(verdict(&shared, &[("A", "shared"), ("B", "shared")]).word(), "ok");
    assert_eq!(verify::credential_headers(&settings.verifier), ["A", "B"]);
    assert_eq!(shared.summary().len(), 2);
    assert_eq!(shared.rule().as_deref(), Some("all 2 must hold"));
    assert_eq!(nested.rule().as_deref(), Some("any one of 2 is enough; in part 1: all 2 must hold"));
}

#[test]
fn the_first_part_names_the_preset() {
    let of = [
        json!({"preset": "standard_webhooks", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}),
        json!({"preset": "github", "secret": "0123456789abcdef"}),
    ];
    let any = compiled("any", &of);
    assert_eq!(any.preset(), Some("standard_webhooks"));
    assert_eq!(refused(verdict(&any, &[("X-Hub-Signature-256", "sha256=00")])), Reason::BadSignature);
}

#[test]
fn a_fault_in_any_part_is_a_fault_of_the_whole() {
    for combine in ["all", "any"] {
        let settings = Settings {
            verifier: json!({"combine": combine, "of": [token("A", "one"), {"type": "token", "from": "nowhere"}]}),
            ..Settings::default()
        };
        let faults = Verifier::compile(&settings).unwrap_err();
        assert!(faults.iter().any(|fault| fault.key == "verifier.of[1].from"), "{faults:?}");
    }
}
