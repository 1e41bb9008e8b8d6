//! Which rows of a long list: a stretch of time and how many.

use crate::moment::parse_moment;

/// The inspector gives at most so many rows a page here.
const PAGE: u32 = 100;

#[derive(Debug, clap::Args)]
pub struct Window {
    /// From this time on: RFC 3339, or how long ago
    #[arg(long, value_parser = parse_moment, value_name = "TIME")]
    pub from: Option<String>,
    /// Before this time: RFC 3339, or how long ago
    #[arg(long, value_parser = parse_moment, value_name = "TIME")]
    pub to: Option<String>,
    /// At most this many
    #[arg(long, short = 'n', default_value = "50", value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
}

impl Window {
    /// The query's `limit`: rows of one page.
    pub fn page(&self) -> String {
        self.limit.min(PAGE).to_string()
    }
}
