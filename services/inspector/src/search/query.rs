//! What people type: `data.id = evt-1 and header.x-github-event = push`. A condition without a value asks whether there
//! is such a thing; words without a sign are an id or an event type.

/// Where a value stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A header, in lower case.
    Header(String),
    /// A path into the body: `data.items[].id`.
    Body(String),
    /// An event id, the provider's delivery id or the event type.
    Known,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    pub place: Place,
    pub value: Option<String>,
}

/// Conditions that all must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Search(pub Vec<Condition>);

const MOST_CONDITIONS: usize = 8;
const LONGEST: usize = 1_000;

impl Search {
    /// Reads what was typed; the error is for the person.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > LONGEST {
            return Err(format!("is longer than {LONGEST} characters"));
        }
        let parts = split(text)?;
        if parts.len() > MOST_CONDITIONS {
            return Err(format!("has more than {MOST_CONDITIONS} conditions"));
        }
        parts.iter().map(|part| condition(part)).collect::<Result<_, _>>().map(Self)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn and(mut self, place: Place, value: &str) -> Self {
        self.0.push(Condition { place, value: Some(value.to_owned()) });
        self
    }
}

/// Splits at `and` and `&`, outside quotes.
fn split(text: &str) -> Result<Vec<String>, String> {
    let mut parts = vec![String::new()];
    let mut quoted = false;
    for word in text.split_inclusive(char::is_whitespace) {
        let plain = word.trim_end();
        if !quoted && (plain.eq_ignore_ascii_case("and") || plain == "&" || plain == "&&") {
            parts.push(String::new());
            continue;
        }
        quoted ^= word.matches('"').count() % 2 == 1;
        if let Some(last) = parts.last_mut() {
            last.push_str(word);
        }
    }
    if quoted {
        return Err("has a quote that is not closed".into());
    }
    let parts = parts.iter().map(|part| part.trim().to_owned());
    Ok(parts.filter(|part| !part.is_empty()).collect())
}

fn condition(text: &str) -> Result<Condition, String> {
    let Some((left, right)) = text.split_once('=') else {
        return Ok(match text.strip_suffix('?') {
            Some(name) => Condition { place: place(name.trim())?, value: None },
            None => Condition { place: Place::Known, value: Some(unquote(text).to_owned()) },
        });
    };
    let value = unquote(right.trim_start_matches('=').trim());
    Ok(Condition { place: place(left.trim())?, value: Some(value.to_owned()) })
}

fn unquote(text: &str) -> &str {
    let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.unwrap_or(text)
}

fn place(name: &str) -> Result<Place, String> {
    if name.is_empty() || name.chars().any(char::is_whitespace) {
        return Err(format!("`{name}` is neither a path such as data.id nor header.NAME"));
    }
    let header = ["header.", "headers.", "header:"].iter().find_map(|prefix| name.strip_prefix(prefix));
    if let Some(header) = header {
        return Ok(Place::Header(header.to_ascii_lowercase()));
    }
    let path = ["body.", "$."].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
    Ok(Place::Body(any_index(path)))
}

/// `items[0].id`, `items[*].id` and `items[].id` are the same to the index.
fn any_index(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut inside = false;
    for c in path.chars() {
        match c {
            '[' => {
                inside = true;
                out.push_str("[]");
            }
            ']' => inside = false,
            c if !inside => out.push(c),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(path: &str, value: &str) -> Condition {
        Condition { place: Place::Body(path.into()), value: Some(value.into()) }
    }

    #[test]
    fn conditions_are_read_as_people_write_them() {
        let search = Search::parse("data.id = evt-1 and header.X-GitHub-Event=push").expect("a search");
        assert_eq!(
            search.0,
            [
                body("data.id", "evt-1"),
                Condition { place: Place::Header("x-github-event".into()), value: Some("push".into()) }
            ]
        );
        let quoted = Search::parse("a.b == \"x and y\" & items[0].id=5").expect("a search");
        assert_eq!(quoted.0, [body("a.b", "x and y"), body("items[].id", "5")]);
        assert_eq!(Search::parse("evt_1").expect("a search").0[0].place, Place::Known);
        assert_eq!(Search::parse("data.id?").expect("a search").0[0].value, None);
        assert_eq!(Search::parse("  ").expect("nothing"), Search::default());
    }

    #[test]
    fn what_cannot_be_read_is_told() {
        for bad in ["= x", "a b = c", "a = \"x", &"a=b and ".repeat(9), &"x".repeat(2000)] {
            assert!(Search::parse(bad).is_err(), "{bad}");
        }
    }
}
