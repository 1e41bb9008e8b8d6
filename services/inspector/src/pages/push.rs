//! Push subscriptions: the list, adding, and what is done to one.

use super::fields::{choice, copy};
use super::layout::{csrf, detail, page};
use super::standing::Board;
use crate::api::push::{find, make, read_wish, reason_of, rotate as rotate_secret, visible};
use crate::error::Error;
use crate::http::{Answer, Call, encode};
use crate::ops::push::acting;
use hooks_shared::Secret;
use hooks_shared::push::subscriptions;
use maud::{Markup, html};
use serde_json::{Map, Value};

pub const LIST: (&str, &str) = ("Push subscriptions", "/push");
pub const SIGNING: [(&str, &str); 2] = [("hooks", "hooks"), ("standard_webhooks", "standard webhooks")];

pub async fn list(call: Call) -> Result<Answer, Error> {
    let board = Board::of(&call, visible(&call, None).await?).await?;
    let content = html! {
        (board.table("None yet. A push subscription gets every event of a source at a URL."))
        @if call.who.is_admin() { (create_form(&call)) }
    };
    Ok(page(&call, LIST.0, content))
}

fn create_form(call: &Call) -> Markup {
    let names = call.state.source_names();
    let names: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), name.as_str())).collect();
    html! {
        h2 { "Add one" }
        form.row method="post" action="/push" {
            (csrf(&call.who))
            (choice("source", "Source", &names, None))
            label.grow { "URL" input type="url" name="url" required maxlength="2048" placeholder="https://example.com/hooks" autocomplete="off"; }
            label { "Name" input name="name" maxlength="200" autocomplete="off"; }
            (choice("start", "Begin", &[("latest", "with the next event"), ("0", "with everything kept")], None))
            (choice("signing", "Signing", &SIGNING, None))
            button.first { "Add" }
        }
    }
}

pub async fn create(call: Call) -> Result<Answer, Error> {
    let form = call.form()?;
    let mut fields = Map::new();
    for name in ["source", "url", "name", "start", "signing"] {
        if let Some(value) = form.get(name) {
            fields.insert(name.to_owned(), Value::from(value));
        }
    }
    let (made, secret) = make(&call, &read_wish(fields)?).await?;
    Ok(detail(&call, LIST, &made.name, show_secret(&made.id, &secret)))
}

fn show_secret(id: &str, secret: &Secret) -> Markup {
    html! {
        p.note { "This is the signing secret. It is shown this once; give it to the receiver now." }
        code.secret id="secret" { (secret.expose()) }
        div.buttons {
            (copy("secret"))
            a.button href=(format!("/push/{id}")) { "To the subscription" }
        }
    }
}

fn back(call: &Call, done: &str) -> Answer {
    Answer::see(format!("/push/{}?done={done}", encode(call.param("id"))))
}

pub async fn pause(call: Call) -> Result<Answer, Error> {
    find(&call).await?;
    let form = call.form()?;
    let reason = reason_of(form.get("reason"))?;
    let db = acting(&call).await?;
    subscriptions::pause(&db, &call.who.label(), call.param("id"), reason.as_deref()).await?;
    Ok(back(&call, "paused"))
}

pub async fn resume(call: Call) -> Result<Answer, Error> {
    find(&call).await?;
    subscriptions::resume(&*acting(&call).await?, &call.who.label(), call.param("id")).await?;
    Ok(back(&call, "resumed"))
}

pub async fn test(call: Call) -> Result<Answer, Error> {
    find(&call).await?;
    let delivery = subscriptions::test(&*acting(&call).await?, &call.who.label(), call.param("id")).await?;
    Ok(Answer::see(format!("/deliveries/{}?done=tested", encode(&delivery))))
}

pub async fn rotate(call: Call) -> Result<Answer, Error> {
    let one = find(&call).await?;
    let secret = rotate_secret(&call, None, None).await?;
    Ok(detail(&call, LIST, &one.name, show_secret(&one.id, &secret)))
}

pub async fn delete(call: Call) -> Result<Answer, Error> {
    find(&call).await?;
    subscriptions::delete(&*acting(&call).await?, &call.who.label(), call.param("id")).await?;
    Ok(Answer::see("/push?done=deleted"))
}
