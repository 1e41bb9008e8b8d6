//! The pages: plain HTML made here, over the same functions as the API. A form leads back to a page; everything works
//! without scripts but the live list and copying.

mod account;
mod assets;
mod audit;
mod body;
mod bulk;
mod curl;
mod deliveries;
mod delivery;
mod entrance;
mod event;
mod events;
mod fields;
mod layout;
mod overview;
mod people;
mod plot;
mod push;
mod receivers;
mod rejected;
mod sources;
mod standing;
mod subscription;
mod tokens;
mod words;

pub use layout::failure;

use crate::access::Access;
use crate::routes::{Method, Route, route};

/// The routes of the pages.
pub fn routes() -> Vec<Route> {
    let mut all = vec![
        route!(Get "/" Reader overview::show),
        route!(Get "/assets/{file}" Public assets::file),
        route!(Get "/login" Public entrance::login),
        route!(Post "/login" Public entrance::sign_in),
        route!(Post "/logout" Browser entrance::sign_out),
        route!(Get "/signup" Public entrance::signup),
        route!(Post "/signup" Public entrance::sign_up),
        route!(Get "/device" Browser entrance::device),
        route!(Post "/device" Browser entrance::answer_device),
        route!(Get "/me" Browser account::show),
        route!(Post "/me/tokens" Browser account::create_token),
        route!(Post "/me/tokens/{id}/revoke" Browser account::revoke_token),
        route!(Post "/me/password" Browser account::password),
        route!(Post "/me/sessions/{id}/end" Browser account::end_session),
        route!(Get "/events" Reader events::list),
        route!(Get "/events/live" Reader events::live).media(&["text/event-stream"]),
        route!(Get "/events/{source}/{sequence}" Reader event::show),
        route!(Get "/events/{source}/{sequence}/body" Reader event::raw),
        route!(Post "/events/{source}/{sequence}/replay" Reader event::replay),
    ];
    all.extend(operating());
    all
}

fn operating() -> Vec<Route> {
    vec![
        route!(Get "/deliveries" Reader deliveries::list),
        route!(Post "/deliveries/replay" Admin bulk::replay),
        route!(Post "/deliveries/cancel" Admin bulk::cancel),
        route!(Get "/deliveries/{id}" Reader delivery::show),
        route!(Post "/deliveries/{id}/replay" Admin delivery::replay),
        route!(Post "/deliveries/{id}/cancel" Admin delivery::cancel),
        route!(Get "/sources" Reader sources::list),
        route!(Get "/sources/{name}" Reader sources::show),
        route!(Post "/sources/{source}/renew-secret" Admin sources::renew_secret),
        route!(Get "/sources/{source}/rejected/{id}" Admin rejected::show),
        route!(Get "/listeners" Reader sources::listeners),
        route!(Get "/push" Reader push::list),
        route!(Post "/push" Admin push::create),
        route!(Get "/push/{id}" Reader subscription::show),
        route!(Post "/push/{id}/change" Admin subscription::change),
        route!(Post "/push/{id}/pause" Admin push::pause),
        route!(Post "/push/{id}/resume" Admin push::resume),
        route!(Post "/push/{id}/test" Admin push::test),
        route!(Post "/push/{id}/rotate-secret" Admin push::rotate),
        route!(Post "/push/{id}/delete" Admin push::delete),
        route!(Get "/tokens" Admin tokens::list),
        route!(Post "/tokens" Admin tokens::create),
        route!(Post "/tokens/{id}/revoke" Admin tokens::revoke),
        route!(Get "/users" Admin people::list),
        route!(Post "/users/invites" Admin people::invite),
        route!(Post "/users/invites/{id}/revoke" Admin people::revoke_invite),
        route!(Post "/users/{id}/change" Admin people::change),
        route!(Post "/users/{id}/deactivate" Admin people::deactivate),
        route!(Post "/users/{id}/reactivate" Admin people::reactivate),
        route!(Get "/audit" Admin audit::list),
    ]
}
