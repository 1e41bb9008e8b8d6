//! Push as the worker and the operators' API both need it: where a request may go, what a subscription is, and what
//! operators do with deliveries. The laws named here are in services/push-worker/README.md.

pub mod destination;
