//! Plots as SVG, drawn here.

use super::layout::when;
use crate::api::sources::Point;
use crate::store::deliveries::Recent;
use maud::{Markup, html};

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 120.0;

/// A line over time. `show` writes a value for people.
pub fn line(name: &str, points: &[Point], show: fn(f64) -> String) -> Markup {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return empty(name) };
    let top = points.iter().map(|point| point.value).fold(0.0, f64::max);
    let span = (last.at.0 - first.at.0).as_seconds_f64().max(1.0);
    let place = |point: &Point| {
        let x = (point.at.0 - first.at.0).as_seconds_f64() / span * WIDTH;
        let y = HEIGHT - if top > 0.0 { point.value / top * (HEIGHT - 8.0) } else { 0.0 };
        format!("{x:.1},{y:.1}")
    };
    let path: Vec<String> = points.iter().map(place).collect();
    let path = path.join(" ");
    html! { figure.card {
        figcaption { strong { (name) } span { "now " (show(last.value)) ", most " (show(top)) } }
        svg.plot viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none" role="img"
            aria-label=(format!("{name}: now {}, most {}", show(last.value), show(top))) {
            line.axis x1="0" y1=(HEIGHT) x2=(WIDTH) y2=(HEIGHT) {}
            polygon.area points=(format!("0,{HEIGHT} {path} {WIDTH},{HEIGHT}")) {}
            polyline.line points=(path) {}
        }
        figcaption { (when(first.at.0)) (when(last.at.0)) }
    } }
}

fn empty(name: &str) -> Markup {
    html! { figure.card { figcaption { strong { (name) } } p.faint { "Nothing yet: a sample is taken every minute." } } }
}

/// Attempts as dots: when, how long, with what success.
pub fn attempts(recent: &[Recent]) -> Markup {
    let (Some(first), Some(last)) = (recent.first(), recent.last()) else {
        return html! { p.faint { "No attempt yet." } };
    };
    let top = recent.iter().map(|one| one.duration_ms).max().unwrap_or(1).max(1);
    let span = (last.started_at - first.started_at).as_seconds_f64().max(1.0);
    let succeeded = recent.iter().filter(|one| one.succeeded).count();
    let rate = format!("{:.0} %", succeeded as f64 / recent.len() as f64 * 100.0);
    html! { figure.card {
        figcaption {
            strong { "Attempts of the newest deliveries" }
            span { (rate) " of " (recent.len()) " succeeded, slowest " (top) " ms" }
        }
        svg.plot viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" preserveAspectRatio="none"
            aria-label=(format!("{rate} of {} attempts succeeded, the slowest took {top} ms", recent.len())) {
            line.axis x1="0" y1=(HEIGHT) x2=(WIDTH) y2=(HEIGHT) {}
            @for one in recent {
                @let x = 4.0 + (one.started_at - first.started_at).as_seconds_f64() / span * (WIDTH - 8.0);
                @let y = HEIGHT - 4.0 - f64::from(one.duration_ms) / f64::from(top) * (HEIGHT - 12.0);
                circle class=(if one.succeeded { "ok" } else { "no" }) cx=(format!("{x:.1}")) cy=(format!("{y:.1}")) r="3" {}
            }
        }
        figcaption { (when(first.started_at)) (when(last.started_at)) }
    } }
}
