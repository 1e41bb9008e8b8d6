//! The part of a message before its body.

/// A request's or response's head, byte for byte and taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// All of it, including the empty line at its end.
    pub raw: Vec<u8>,
    /// The first line without its end.
    pub start_line: String,
    /// Names and values in order, as sent, without the white space around values.
    pub headers: Vec<(String, Vec<u8>)>,
}

impl Head {
    /// Takes `raw`, which ends with an empty line, apart. Lines without a colon are left out of `headers`.
    pub fn parse(raw: Vec<u8>) -> Self {
        let mut lines = raw.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let start_line = String::from_utf8_lossy(lines.next().unwrap_or_default()).into_owned();
        let headers = lines.filter_map(|line| {
            let colon = line.iter().position(|&byte| byte == b':')?;
            let (name, value) = line.split_at(colon);
            Some((String::from_utf8_lossy(name).into_owned(), value[1..].trim_ascii().to_vec()))
        });
        let headers = headers.collect();
        Self { raw, start_line, headers }
    }

    /// The first value of `name`, in any case, if it is UTF-8.
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(value).ok()
    }

    /// All values of `name`, in any case, in order.
    pub fn header_all(&self, name: &str) -> Vec<&[u8]> {
        let same = self.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        same.map(|(_, value)| value.as_slice()).collect()
    }

    /// The word at `index` of the first line.
    pub(crate) fn word(&self, index: usize) -> &str {
        self.start_line.split(' ').nth(index).unwrap_or_default()
    }

    /// True if the body comes in chunks.
    pub(crate) fn is_chunked(&self) -> bool {
        self.header("transfer-encoding").is_some_and(|value| value.to_ascii_lowercase().contains("chunked"))
    }

    /// The declared length of the body.
    pub(crate) fn content_length(&self) -> Option<usize> {
        self.header("content-length")?.parse().ok()
    }
}
