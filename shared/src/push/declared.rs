//! Subscriptions declared in `hooks.yaml` (`push.subscriptions`), and what has to be done to make them so.

use super::definition::{NewSubscription, Patch};
use super::error::FieldFault;
use super::subscriptions::Subscription;
use serde::Serialize;
use serde_json::Value;

/// One step of making the declared subscriptions real. Names identify them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Step {
    Create {
        subscription: Box<NewSubscription>,
    },
    Update {
        id: String,
        name: String,
        patch: Box<Patch>,
    },
    /// The source of a subscription cannot change: it is a new one.
    Replace {
        id: String,
        subscription: Box<NewSubscription>,
    },
    /// Not declared: left alone unless pruning is asked for.
    Undeclared {
        id: String,
        name: String,
    },
}

/// Reads the declarations: a mapping of names to definitions without `name`.
pub fn read(value: &Value) -> Result<Vec<NewSubscription>, Vec<FieldFault>> {
    let fault = |field: String, message: String| FieldFault { field, message };
    let Value::Object(map) = value else {
        return Err(vec![fault("push.subscriptions".into(), "must be a mapping of names".into())]);
    };
    let (mut all, mut faults) = (Vec::new(), Vec::new());
    for (name, entry) in map {
        let key = format!("push.subscriptions.{name}");
        let mut entry = entry.clone();
        if let Value::Object(fields) = &mut entry {
            fields.insert("name".to_owned(), Value::String(name.clone()));
        }
        match serde_json::from_value::<NewSubscription>(entry) {
            Err(error) => faults.push(fault(key, error.to_string())),
            Ok(read) => {
                let found = read.faults_in_writing();
                faults.extend(found.into_iter().map(|f| fault(format!("{key}.{}", f.field), f.message)));
                all.push(read);
            }
        }
    }
    if faults.is_empty() { Ok(all) } else { Err(faults) }
}

/// What differs. Secrets are not compared: one that is declared counts when a subscription is made.
pub fn plan(declared: &[NewSubscription], existing: &[Subscription]) -> Vec<Step> {
    let mut steps = Vec::new();
    for wanted in declared {
        match existing.iter().find(|one| one.name == wanted.name) {
            None => steps.push(Step::Create { subscription: Box::new(wanted.clone()) }),
            Some(one) if one.source != wanted.source => {
                steps.push(Step::Replace { id: one.id.clone(), subscription: Box::new(wanted.clone()) });
            }
            Some(one) => {
                let patch = difference(wanted, one);
                if patch != Patch::default() {
                    let (id, name) = (one.id.clone(), one.name.clone());
                    steps.push(Step::Update { id, name, patch: Box::new(patch) });
                }
            }
        }
    }
    let undeclared = existing.iter().filter(|one| !declared.iter().any(|wanted| wanted.name == one.name));
    steps.extend(undeclared.map(|one| Step::Undeclared { id: one.id.clone(), name: one.name.clone() }));
    steps
}

fn difference(wanted: &NewSubscription, one: &Subscription) -> Patch {
    fn changed<T: PartialEq + Clone>(wanted: &T, present: &T) -> Option<T> {
        (wanted != present).then(|| wanted.clone())
    }
    Patch {
        name: None,
        url: changed(&wanted.url, &one.url),
        signing: changed(&wanted.signing, &one.signing),
        max_in_flight: changed(&wanted.max_in_flight, &one.max_in_flight),
        rate: changed(&wanted.rate, &one.rate),
        ordered: changed(&wanted.ordered, &one.ordered),
        on_failure: changed(&wanted.on_failure, &one.on_failure),
        preserve_method: changed(&wanted.preserve_method, &one.preserve_method),
        forward_credentials: changed(&wanted.forward_credentials, &one.forward_credentials),
        record_response: changed(&wanted.record_response, &one.record_response),
        retry: changed(&wanted.retry, &one.retry),
    }
}
