//! Signing in, out and up.

use crate::auth::session::{self, sign_in, sign_out};
use crate::auth::signup::{Newcomer, sign_up};
use crate::error::Error;
use crate::http::{Answer, Call};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Login {
    email: Option<String>,
    password: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct SignedIn {
    user_id: Uuid,
    email: String,
    name: String,
    role: String,
    /// To be sent as `X-Hooks-CSRF` with every change.
    csrf_token: String,
}

pub async fn login(call: Call) -> Result<Answer, Error> {
    let wish: Login = call.json()?;
    let (Some(email), Some(password)) = (wish.email, wish.password) else {
        return Err(Error::invalid("email and password required"));
    };
    if email.trim().is_empty() || password.is_empty() || email.contains('\0') {
        return Err(Error::invalid("email and password required"));
    }
    let brought = call.who.browser.as_ref().map(|browser| browser.session_id);
    let done = sign_in(&call.state, &call.incoming, brought, &email, &password).await?;
    let session::SignedIn { person, csrf, cookie } = done;
    let view = SignedIn {
        user_id: person.id,
        email: person.email,
        name: person.name,
        role: person.role,
        csrf_token: csrf,
    };
    Ok(Answer::json(200, &view).with("Set-Cookie", cookie))
}

pub async fn logout(call: Call) -> Result<Answer, Error> {
    let cookie = sign_out(&call.state, &call.incoming, &call.who).await?;
    Ok(Answer::no_content().with("Set-Cookie", cookie))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Signup {
    #[serde(default)]
    code: String,
    #[serde(default)]
    email: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    password: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct SignedUp {
    user_id: Uuid,
    email: String,
    role: String,
}

pub async fn signup(call: Call) -> Result<Answer, Error> {
    let wish: Signup = call.json()?;
    let newcomer =
        Newcomer { code: &wish.code, email: &wish.email, name: &wish.name, password: &wish.password };
    let person = sign_up(&call.state, &call.incoming, &newcomer).await?;
    Ok(Answer::json(201, &SignedUp { user_id: person.id, email: person.email, role: person.role }))
}
