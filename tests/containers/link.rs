//! Cutting a container off as a broken network does: packets vanish, nothing is reset.

use crate::engine::{docker, try_docker};
use crate::stack::tools;

/// Packets between the container and `peer` (an address) vanish from now on.
pub async fn cut(container: &str, peer: &str) {
    for (chain, side) in [("OUTPUT", "-d"), ("INPUT", "-s")] {
        iptables(container, &["-I", chain, side, peer, "-j", "DROP"]).await;
    }
}

/// All packets arrive again.
pub async fn heal(container: &str) {
    iptables(container, &["-F"]).await;
}

/// The rules live in the container's network namespace; the container itself needs no rights for it.
async fn iptables(container: &str, args: &[&str]) {
    let network = format!("container:{container}");
    let tools = tools();
    let mut words = vec!["run", "--rm", "--network", &network, "--cap-add", "NET_ADMIN", &tools, "iptables"];
    words.extend(args);
    try_docker(&words, &[]).await.unwrap_or_else(|error| panic!("{error}"));
}

/// Ends a container's process without a word, as a crash or the kernel does; the engine does not start it again.
pub async fn kill(container: &str) {
    docker(&["kill", "--signal", "KILL", container]).await;
}
