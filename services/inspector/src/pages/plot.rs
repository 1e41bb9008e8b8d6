//! Plots: an SVG that takes the width there is, with the labels of its axes as text beside it, so that they are read at
//! any width. Lines keep their thickness and points their shape however the picture is stretched.

use super::words::{duration, grouped, percent};
use crate::api::sources::Point;
use crate::store::deliveries::Recent;
use maud::{Markup, PreEscaped, html};
use std::fmt::Write as _;
use time::macros::format_description;
use time::{Duration, OffsetDateTime, UtcOffset};

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 120.0;
/// Samples are a minute apart; where two are further from each other nobody was there to take any.
const GAP: Duration = Duration::seconds(150);

/// What the vertical axis counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Number,
    Seconds,
}

impl Unit {
    fn show(self, value: f64) -> String {
        match self {
            Unit::Number if value < 10.0 && value.fract() > 0.05 => format!("{value:.1}"),
            Unit::Number => grouped(value.round() as i64),
            Unit::Seconds => duration(value),
        }
    }

    /// The least round value that is not below.
    fn top(self, value: f64) -> f64 {
        if self == Unit::Seconds && value > 10.0 {
            const SPANS: [f64; 12] = [
                20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_200.0, 3_600.0, 7_200.0, 21_600.0, 43_200.0,
                86_400.0,
            ];
            let days = (value / 86_400.0).ceil() * 86_400.0;
            return SPANS.into_iter().find(|span| *span >= value).unwrap_or(days);
        }
        if value <= 0.0 {
            return 1.0;
        }
        let power = 10f64.powf(value.log10().floor());
        let steps = [1.0, 2.0, 4.0, 6.0, 10.0];
        let found = steps.into_iter().map(|step| step * power).find(|top| *top >= value * 0.9999);
        let least = if self == Unit::Number { 2.0 } else { 0.0 };
        found.unwrap_or(10.0 * power).max(least)
    }
}

/// The stretch of time that a plot shows.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    pub from: OffsetDateTime,
    pub to: OffsetDateTime,
}

impl Span {
    pub fn last(length: Duration) -> Self {
        let to = OffsetDateTime::now_utc();
        Self { from: to - length, to }
    }

    fn x(self, at: OffsetDateTime) -> f64 {
        let length = (self.to - self.from).as_seconds_f64().max(1e-3);
        ((at - self.from).as_seconds_f64() / length).clamp(0.0, 1.0) * WIDTH
    }

    fn labels(self) -> [String; 4] {
        let third: Duration = (self.to - self.from) / 3;
        let clock = format_description!("[hour]:[minute]");
        let exact = format_description!("[hour]:[minute]:[second]");
        let dated = format_description!("[month]-[day] [hour]:[minute]");
        [0, 1, 2, 3].map(|n: i32| {
            let at = (self.from + third * n).to_offset(UtcOffset::UTC);
            let text = match self.to - self.from {
                short if short < Duration::minutes(10) => at.format(exact),
                long if long > Duration::hours(25) => at.format(dated),
                _ => at.format(clock),
            };
            text.unwrap_or_default()
        })
    }
}

/// A line over time.
pub fn line(name: &str, points: &[Point], unit: Unit, span: Span) -> Markup {
    let points: Vec<&Point> = points.iter().filter(|point| point.at.0 >= span.from).collect();
    let Some(last) = points.last() else {
        return nothing(name, "Nothing yet: a sample is taken every minute.");
    };
    let most = points.iter().map(|point| point.value).fold(0.0, f64::max);
    let told = format!("now {}, most {}", unit.show(last.value), unit.show(most));
    let top = unit.top(most);
    let y = |value: f64| HEIGHT - value / top * HEIGHT;
    let (mut area, mut path) = (String::new(), String::new());
    for piece in points.chunk_by(|a, b| b.at.0 - a.at.0 <= GAP) {
        let places: Vec<String> =
            piece.iter().map(|point| format!("{:.1} {:.1}", span.x(point.at.0), y(point.value))).collect();
        let ends = [piece.first(), piece.last()].map(|point| point.map_or(0.0, |point| span.x(point.at.0)));
        let places = places.join("L");
        let _ = write!(path, "M{places}");
        if piece.len() == 1 {
            path.push_str("h0.1");
        }
        let _ = write!(area, "M{:.1} {HEIGHT}L{places}L{:.1} {HEIGHT}Z", ends[0], ends[1]);
    }
    let drawn = html! { path.area d=(area) {} path.line d=(path) {} };
    frame(name, &told, &[unit.show(top), unit.show(top / 2.0), "0".to_owned()], span, drawn)
}

/// Attempts as points: when, how long, with what success.
pub fn attempts(name: &str, recent: &[Recent]) -> Markup {
    let (Some(first), Some(last)) = (recent.first(), recent.last()) else {
        return nothing(name, "No attempt yet.");
    };
    let second = Duration::SECOND;
    let span =
        Span { from: first.started_at - second, to: last.started_at.max(first.started_at + second) + second };
    let seconds = |one: &Recent| f64::from(one.duration_ms) / 1000.0;
    let most = recent.iter().map(seconds).fold(0.001, f64::max);
    let top = Unit::Seconds.top(most);
    let succeeded = recent.iter().filter(|one| one.succeeded).count();
    let told = format!(
        "{} of {} succeeded, slowest {}",
        percent(succeeded as i64, recent.len() as i64),
        grouped(recent.len() as i64),
        duration(most)
    );
    let path = |wanted: bool| {
        recent.iter().filter(|one| one.succeeded == wanted).fold(String::new(), |mut path, one| {
            let _ = write!(
                path,
                "M{:.1} {:.1}h0.01",
                span.x(one.started_at),
                HEIGHT - seconds(one) / top * HEIGHT
            );
            path
        })
    };
    let drawn = html! { path.ok d=(path(true)) {} path.no d=(path(false)) {} };
    frame(name, &told, &[duration(top), duration(top / 2.0), "0".to_owned()], span, drawn)
}

fn frame(name: &str, told: &str, y: &[String; 3], span: Span, drawn: Markup) -> Markup {
    let grid = format!(
        "<path class=\"grid\" d=\"M0 0H{WIDTH}M0 {}H{WIDTH}\"/><path class=\"axis\" d=\"M0 {HEIGHT}H{WIDTH}\"/>",
        HEIGHT / 2.0
    );
    html! { figure.plot.card {
        figcaption { strong { (name) } span { (told) } }
        div.y aria-hidden="true" { @for label in y { span { (label) } } }
        svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none" role="img" aria-label=(format!("{name}: {told}")) {
            (PreEscaped(grid)) (drawn)
        }
        div.x aria-hidden="true" { @for label in span.labels() { span { (label) } } }
    } }
}

fn nothing(name: &str, why: &str) -> Markup {
    html! { figure.plot.card { figcaption { strong { (name) } } p.nothing { (why) } } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moment::Moment;

    #[test]
    fn an_axis_ends_at_a_round_value_above_all() {
        let numbers = [0.0, 1.0, 3.0, 7.0, 100.0, 101.0].map(|n| Unit::Number.top(n));
        assert_eq!(numbers, [1.0, 2.0, 4.0, 10.0, 100.0, 200.0]);
        let seconds = [0.027, 9.0, 45.0, 4_000.0, 100_000.0].map(|n| Unit::Seconds.top(n));
        assert_eq!(seconds, [0.04, 10.0, 60.0, 7_200.0, 172_800.0]);
    }

    #[test]
    fn a_line_breaks_where_no_samples_were_taken() {
        let to = OffsetDateTime::UNIX_EPOCH + Duration::days(1);
        let span = Span { from: to - Duration::HOUR, to };
        let at = |minute: i64, value| Point { at: Moment(span.from + Duration::minutes(minute)), value };
        let drawn = line("Rate", &[at(0, 1.0), at(1, 2.0), at(30, 0.0), at(60, 1.5)], Unit::Number, span)
            .into_string();
        let path = drawn.split("class=\"line\" d=\"").nth(1).and_then(|rest| rest.split('"').next());
        assert_eq!(path, Some("M0.0 60.0L10.0 0.0M300.0 120.0h0.1M600.0 30.0h0.1"), "{drawn}");
        assert!(drawn.contains("now 1.5, most 2") && drawn.contains("23:20"), "{drawn}");
    }
}
