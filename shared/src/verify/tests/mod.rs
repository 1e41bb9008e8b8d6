//! Tests of the whole: recorded requests, handshakes, signing and verifying, and that every key of
//! every preset is needed.

mod combine;
mod doctor;
mod handshakes;
mod mutation;
mod partial;
mod presets;
mod properties;
mod signing;
mod table;
mod vectors;
