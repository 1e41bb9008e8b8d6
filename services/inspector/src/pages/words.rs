//! How pages put times, spans, sizes and states.

use crate::moment::Moment;
use maud::{Markup, html};
use time::macros::format_description;
use time::{OffsetDateTime, UtcOffset};

/// To the second, UTC.
pub fn to_the_second(at: OffsetDateTime) -> String {
    let format = format_description!("[year]-[month]-[day] [hour]:[minute]:[second]");
    at.to_offset(UtcOffset::UTC).format(format).unwrap_or_default()
}

/// How long ago, or in how long; the script in the page says it in the same words as time goes on.
pub fn ago(at: OffsetDateTime, now: OffsetDateTime) -> String {
    let seconds = (now - at).whole_seconds();
    let span = match seconds.unsigned_abs() {
        0..3 => return "just now".to_owned(),
        s @ 3..120 => format!("{s} s"),
        s @ 120..7_200 => format!("{} min", s / 60),
        s @ 7_200..172_800 => format!("{} h", s / 3_600),
        s => format!("{} d", s / 86_400),
    };
    if seconds > 0 { format!("{span} ago") } else { format!("in {span}") }
}

/// An instant by how long ago it is; the exact one is its title.
pub fn when(at: OffsetDateTime) -> Markup {
    let exact = format!("{} UTC", to_the_second(at));
    html! { time datetime=(Moment(at)) title=(exact) data-ago { (ago(at, OffsetDateTime::now_utc())) } }
}

/// An instant, and how long ago it is.
pub fn full(at: OffsetDateTime) -> Markup {
    html! { time datetime=(Moment(at)) title=(Moment(at)) { (to_the_second(at)) " UTC" } " " span.faint { "(" (when(at)) ")" } }
}

/// [`when`], or a word where there is no time.
pub fn when_or(at: Option<OffsetDateTime>, otherwise: &str) -> Markup {
    at.map_or_else(|| html! { span.faint { (otherwise) } }, when)
}

/// [`full`], or a word where there is no time.
pub fn full_or(at: Option<OffsetDateTime>, otherwise: &str) -> Markup {
    at.map_or_else(|| html! { span.faint { (otherwise) } }, full)
}

/// A state as a badge: by word and by colour.
pub fn badge(word: &str) -> Markup {
    let class = match word {
        "delivered" | "active" | "succeeded" | "alive" | "done" | "verified" | "proved" | "ok" => {
            "badge good"
        }
        "failed" | "disabled" | "refused" | "gone" | "silent" | "revoked" => "badge bad",
        "pending" | "processing" | "paused" | "timeout" | "http_error" | "network_error" | "blocked"
        | "suspected" => "badge wait",
        _ => "badge",
    };
    html! { span class=(class) { (word.replace('_', " ")) } }
}

/// A number of bytes as people read it.
pub fn size(bytes: i64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

/// A span as people read it.
pub fn duration(seconds: f64) -> String {
    match seconds.max(0.0) {
        0.0 => "0".to_owned(),
        s if s < 1.0 => format!("{:.0} ms", s * 1000.0),
        s if s < 10.0 => format!("{s:.1} s").replace(".0 s", " s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7_200.0 => format!("{:.0} min", (s / 60.0).floor()),
        s if s < 172_800.0 => format!("{:.0} h", (s / 3_600.0).floor()),
        s => format!("{:.0} d", (s / 86_400.0).floor()),
    }
}

/// A count with its digits in groups; `most` and more is shown as that and a plus.
pub fn count(n: i64, most: i64) -> String {
    if n > most { format!("{}+", grouped(most)) } else { grouped(n) }
}

/// Digits in groups of three, by narrow spaces.
pub fn grouped(n: i64) -> String {
    let digits = n.unsigned_abs().to_string();
    let mut out = String::from(if n < 0 { "-" } else { "" });
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// A share, in whole percent.
pub fn percent(part: i64, whole: i64) -> String {
    if whole == 0 { "–".to_owned() } else { format!("{:.0} %", part as f64 / whole as f64 * 100.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::Duration;

    #[test]
    fn spans_are_told_in_the_largest_unit_that_says_something() {
        let now = OffsetDateTime::UNIX_EPOCH + Duration::days(1000);
        let told = |seconds: i64| ago(now - Duration::seconds(seconds), now);
        assert_eq!(
            [told(0), told(59), told(600), told(7_300), told(300_000), told(-90)],
            ["just now", "59 s ago", "10 min ago", "2 h ago", "3 d ago", "in 90 s"]
        );
        assert_eq!(
            [duration(0.0), duration(0.025), duration(1.5), duration(90.0)],
            ["0", "25 ms", "1.5 s", "90 s"]
        );
    }

    #[test]
    fn large_numbers_are_grouped_and_cut() {
        assert_eq!(grouped(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!((count(7, 1000).as_str(), count(1001, 1000).as_str()), ("7", "1\u{202f}000+"));
        assert_eq!((percent(1, 3).as_str(), percent(0, 0).as_str()), ("33 %", "–"));
    }
}
