//! The development defaults that `docker-compose.yml` and `.env.example` ship are public, so nothing may run with
//! them in production. `HOOKS_ENVIRONMENT=production` makes every program look for them and refuse to start.

/// Says which kind of installation this is.
pub const VARIABLE: &str = "HOOKS_ENVIRONMENT";

/// Every shipped default has this text in it, or the beginning of its base64 form.
const MARKS: [&str; 2] = ["development-only", "ZGV2ZWxvcG1lbnQtb25s"];

/// In production, the error names every variable that still has a shipped default; never its value.
pub fn check() -> Result<(), String> {
    let text = |os: std::ffi::OsString| os.to_string_lossy().into_owned();
    let variables: Vec<_> = std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect();
    check_these(&variables)
}

fn check_these(variables: &[(String, String)]) -> Result<(), String> {
    if !variables.iter().any(|(name, value)| name == VARIABLE && value == "production") {
        return Ok(());
    }
    let mut shipped: Vec<&str> = variables
        .iter()
        .filter(|(_, value)| MARKS.iter().any(|mark| value.contains(mark)))
        .map(|(name, _)| name.as_str())
        .collect();
    if shipped.is_empty() {
        return Ok(());
    }
    shipped.sort_unstable();
    Err(format!(
        "{VARIABLE} is `production`, but these variables have development defaults, which everybody can read: {}; \
         give each a secret of its own",
        shipped.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(pairs: &[(&str, &str)]) -> Result<(), String> {
        let owned: Vec<_> =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        check_these(&owned)
    }

    #[test]
    fn production_refuses_shipped_defaults_and_names_them_without_their_values() {
        let shipped = [
            ("HOOKS_DATABASE_URL", "postgres://hooks:development-only-ingest@postgres/hooks"),
            ("DEMO_WEBHOOK_SECRET", "whsec_ZGV2ZWxvcG1lbnQtb25seS1kZW1v"),
            ("OTHER", "fine"),
        ];
        assert_eq!(checked(&shipped), Ok(()));
        let error = checked(&[&shipped[..], &[(VARIABLE, "production")]].concat()).expect_err("refused");
        assert!(error.contains("DEMO_WEBHOOK_SECRET, HOOKS_DATABASE_URL"), "{error}");
        assert!(!error.contains("whsec") && !error.contains("postgres:"), "{error}");
        assert_eq!(checked(&[(VARIABLE, "production"), ("OTHER", "fine")]), Ok(()));
    }
}
