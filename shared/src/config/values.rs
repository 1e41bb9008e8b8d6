//! The texts people write for durations, sizes and environment references, and how they are read.

use std::time::Duration;

/// Looks an environment variable up. Injected, so that tests need no process environment.
pub type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Reads `500ms`, `15s`, `5m`, `24h`, `30d` and sums of them such as `1h30m`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let bad =
        || format!("`{text}` is not a duration: write a number and a unit, such as 15s, 5m, 24h or 30d");
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(bad());
    }
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(bad)?;
        let number: u64 = rest[..digits].parse().map_err(|_| bad())?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let millis_each: u64 = match &rest[..letters] {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return Err(bad()),
        };
        rest = &rest[letters..];
        let millis = number.checked_mul(millis_each).ok_or_else(bad)?;
        total = total.checked_add(Duration::from_millis(millis)).ok_or_else(bad)?;
    }
    if total > Duration::from_secs(100 * 366 * 86_400) {
        return Err(format!("`{text}` is longer than a hundred years"));
    }
    Ok(total)
}

/// Reads `1048576`, `64KiB`, `1MiB`, `25MB`, `2GiB`; bytes.
pub fn size(text: &str) -> Result<u64, String> {
    let bad = || {
        format!("`{text}` is not a size: write bytes or a number and a unit, such as 512KiB, 1MiB or 25MB")
    };
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().map_err(|_| bad())?;
    let each: u64 = match text[digits..].trim() {
        "" | "B" => 1,
        "KB" | "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return Err(bad()),
    };
    number.checked_mul(each).ok_or_else(bad)
}

/// Replaces `${NAME}` and `${NAME:-default}`; `$$` is a dollar. A name that is unset (or empty, where a
/// default is given) takes the default; unset without one is an error that names the variable.
pub fn interpolate(text: &str, env: Env<'_>) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            out.push('$');
            rest = after;
        } else if let Some(after) = rest.strip_prefix('{') {
            let end = after.find('}').ok_or("a `${` without its `}`")?;
            out.push_str(&reference(&after[..end], env)?);
            rest = &after[end + 1..];
        } else {
            out.push('$');
        }
    }
    out.push_str(rest);
    Ok(out)
}

fn reference(inner: &str, env: Env<'_>) -> Result<String, String> {
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner, None),
    };
    let valid = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name.chars().next().is_some_and(|c| !c.is_ascii_digit());
    if !valid {
        return Err(format!("`${{{name}}}` is not the name of an environment variable"));
    }
    match (env(name).filter(|value| default.is_none() || !value.is_empty()), default) {
        (Some(value), _) => Ok(value),
        (None, Some(default)) => Ok(default.to_owned()),
        (None, None) => Err(format!(
            "the environment variable {name} is not set; set it, or give a default: ${{{name}:-…}}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_with_units_and_sums() {
        assert_eq!(duration("15s"), Ok(Duration::from_secs(15)));
        assert_eq!(duration("1h30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(duration("30d"), Ok(Duration::from_secs(2_592_000)));
        assert_eq!(duration("0s"), Ok(Duration::ZERO));
        for bad in ["", "5", "m", "-5m", "5 m", "1.5h", "99999999999999999999d", "5x", "200000000d"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_read_in_both_families_of_units() {
        assert_eq!(size("1MiB"), Ok(1_048_576));
        assert_eq!(size("25MB"), Ok(25_000_000));
        assert_eq!(size("10"), Ok(10));
        for bad in ["", "MiB", "-1", "1.5MiB", "1TB", "18446744073709551615GiB"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn variables_are_replaced_and_missing_ones_are_named() {
        let env = |name: &str| match name {
            "A" => Some("x".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        assert_eq!(interpolate("${A}-${B:-y}-$$-$", &env), Ok("x-y-$-$".to_owned()));
        assert_eq!(interpolate("${EMPTY}|${EMPTY:-d}", &env), Ok("|d".to_owned()));
        assert_eq!(interpolate("$${A}", &env), Ok("${A}".to_owned()));
        let error = interpolate("${GONE}", &env).expect_err("unset");
        assert!(error.contains("GONE"), "{error}");
        assert!(interpolate("${A", &env).is_err());
        assert!(interpolate("${1A}", &env).is_err());
    }
}
