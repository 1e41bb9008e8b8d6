//! The recorded requests of `tests/vectors/`, each with the verdict it must get.

use crate::verify::recorded::Recorded;
use crate::verify::{ChallengeAnswer, Compiled, Fault, Verdict, Verifier};
use serde::Deserialize;
use serde_json::Value;
use time::OffsetDateTime;

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Vector {
    #[serde(flatten)]
    pub(super) recorded: Recorded,
    pub(super) name: String,
    pub(super) expect: String,
    #[serde(default)]
    pub(super) also_ok: Vec<String>,
    response: Option<Value>,
    stores_secret: Option<String>,
    /// The time that a genuine request must be found to have been signed at.
    timestamp: Option<i64>,
}

/// Those collected from the providers' own documentation and libraries, then those made here for
/// handshakes and for what the first ones leave open.
pub(super) fn all() -> Vec<Vector> {
    let read = |text: &str| serde_json::from_str::<Vec<Vector>>(text).unwrap();
    let mut vectors = read(include_str!("../../../../tests/vectors/signatures.json"));
    vectors.extend(read(include_str!("../../../../tests/vectors/relay.json")));
    vectors
}

impl Vector {
    pub(super) fn now(&self) -> OffsetDateTime {
        self.recorded.moment().unwrap()
    }

    /// What is wrong with the verdict that the record gets; nothing if it is the expected one.
    pub(super) fn complaint(&self) -> Option<String> {
        let compiled = Verifier::compile(&self.recorded.settings());
        self.complaint_about(compiled)
    }

    fn complaint_about(&self, compiled: Result<Compiled, Vec<Fault>>) -> Option<String> {
        let parts = self.recorded.parts().unwrap();
        let (word, said) = match &compiled {
            Err(faults) => ("config_error", format!("{faults:?}")),
            Ok(compiled) => {
                let verdict = compiled.verifier.verify(&parts.request(), self.now());
                if let Verdict::Challenge(answer) = &verdict
                    && let Some(complaint) = self.answer_complaint(answer)
                {
                    return Some(complaint);
                }
                if let (Verdict::Ok(verified), Some(wanted)) = (&verdict, self.timestamp)
                    && verified.timestamp.map(OffsetDateTime::unix_timestamp) != Some(wanted)
                {
                    return Some(format!("signed at {:?}, not {wanted}", verified.timestamp));
                }
                (verdict.word(), format!("{verdict:?}"))
            }
        };
        let fits = word == self.expect || self.also_ok.iter().any(|other| other == word);
        (!fits).then(|| format!("expected {}, got {word}: {said}", self.expect))
    }

    /// The same with another scheme in the place of the preset.
    pub(super) fn complaint_under(&self, verifier: &Value) -> Option<String> {
        let mut recorded = self.recorded.clone();
        recorded.config = Some(verifier.clone());
        self.complaint_about(Verifier::compile(&recorded.settings()))
    }

    fn answer_complaint(&self, answer: &ChallengeAnswer) -> Option<String> {
        let want = self.response.as_ref()?;
        if want["status"] != answer.status || want["body"].as_str() != std::str::from_utf8(&answer.body).ok()
        {
            return Some(format!("expected {want}, got {answer:?}"));
        }
        for (name, value) in want["headers"].as_object().into_iter().flatten() {
            let has =
                |(n, v): &(String, String)| n.eq_ignore_ascii_case(name) && v == value.as_str().unwrap();
            if !answer.headers.iter().any(has) {
                return Some(format!("no header {name}: {value} in {answer:?}"));
            }
        }
        let stored = answer.store_secret.as_ref().map(|secret| secret.expose().to_owned());
        (stored != self.stores_secret).then(|| "another secret is stored".to_owned())
    }
}

#[test]
fn every_vector_gets_its_verdict() {
    let vectors = all();
    let wrong: Vec<String> = vectors
        .iter()
        .filter_map(|vector| {
            let complaint = vector.complaint()?;
            Some(format!(
                "{} / {}: {complaint}",
                vector.recorded.provider.as_deref().unwrap_or("-"),
                vector.name
            ))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {} vectors:\n{}", wrong.len(), vectors.len(), wrong.join("\n"));
}
