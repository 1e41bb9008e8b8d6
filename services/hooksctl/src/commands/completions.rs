//! `hooksctl completions`: what a shell needs to complete commands.

use anyhow::Result;
use clap::CommandFactory;

/// Print a completion script for a shell. Talks to: nothing.
///
/// For bash: hooksctl completions bash > ~/.local/share/bash-completion/completions/hooksctl
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell
    shell: clap_complete::Shell,
}

pub fn run(args: Args) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::Cli::command(), "hooksctl", &mut script);
    crate::output::raw(&script)
}
