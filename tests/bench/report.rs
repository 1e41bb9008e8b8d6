//! Numbers as people read them.

pub fn median(values: &[f64]) -> f64 {
    percentile(values, 0.5)
}

/// The value below which this share of the values lies.
pub fn percentile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let index = ((sorted.len().saturating_sub(1)) as f64 * share).round() as usize;
    sorted.get(index).copied().unwrap_or(f64::NAN)
}

/// One line: a name, the median, and the range.
pub fn line(name: &str, unit: &str, values: &[f64]) {
    let (low, high) = (percentile(values, 0.0), percentile(values, 1.0));
    println!("{name:32} median {:>10.1} {unit}   ({low:.1} … {high:.1})", median(values));
}
