//! The ingest service as a process, over real HTTP, on a real PostgreSQL.

mod answers;
mod bytes;
mod clock;
mod commits;
mod connections;
mod crashes;
mod fetch;
mod handshakes;
mod limits;
mod outages;
mod poison;
mod promotion;
mod repeats;
mod signals;
mod stage;
mod startup;
mod statements;
mod vectors;
