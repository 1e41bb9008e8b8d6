//! Names that people give to what others see in lists: tokens, people, push subscriptions.

/// Characters, at most.
const LONGEST: usize = 200;

/// Whether a character steers the text around it instead of standing for something: controls, line and paragraph separators,
/// what turns the direction of writing (Unicode UAX #9, section 2), and spaces without width. Joiners stay: scripts need them.
pub fn is_steering(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{061c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Refuses text that would not look like what it is; the words go after the field's name.
pub fn check_text(text: &str) -> Result<(), String> {
    match text.chars().find(|c| is_steering(*c)) {
        None => Ok(()),
        Some(c) => {
            Err(format!("holds U+{:04X}, a control or direction character; leave it out", u32::from(c)))
        }
    }
}

/// Refuses a name that is empty, too long, or not what it looks like; the words go after the field's name.
pub fn check(name: &str) -> Result<(), String> {
    if name.trim().is_empty() || name.chars().count() > LONGEST {
        return Err(format!("must have 1 to {LONGEST} characters"));
    }
    check_text(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_it_looks_like() {
        for fine in ["ci", "Zoë", "名前", "می\u{200c}خواهم", "👩\u{200d}🚀", &"x".repeat(200)] {
            assert_eq!(check(fine), Ok(()), "{fine}");
        }
        for bad in
            ["", "  ", &"x".repeat(201), "a\0", "a\nb", "a\u{1b}[2J", "a\u{202e}b", "\u{2067}a", "a\u{200b}"]
        {
            assert!(check(bad).is_err(), "{bad:?}");
        }
        assert!(check("a\u{202e}b").is_err_and(|why| why.contains("U+202E")));
    }
}
