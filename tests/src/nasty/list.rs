//! The requests themselves.

use super::Draft;
use super::draft::Framing;

/// `{"type":"zipped"}` as gzip.
const GZIP: &[u8] =
    b"\x1f\x8b\x08\0\0\0\0\0\x02\x03\xabV*\xa9,HU\xb2R\xaa\xca,(HMQ\xaa\x05\0R)\x1a\\\x11\0\0\0";
/// `hello` and a line feed as brotli.
const BROTLI: &[u8] = b"\x0b\x02\x80hello\n\x03";

pub(super) fn drafts() -> Vec<Draft> {
    [texts(), binaries(), framings(), headers(), targets()].concat()
}

/// Bodies that parse to the same thing when they are written anew, but are no longer what was signed.
fn texts() -> Vec<Draft> {
    let json = |name, body: &str| Draft::new(name, body).header("Content-Type", "application/json");
    vec![
        json("odd white space", "{ \"b\" :\t1 ,\n\n  \"a\":[ ] }"),
        json("key order and a key twice", r#"{"z":1,"a":2,"z":3,"10":1,"9":2}"#),
        json(
            "numbers that a parser rounds",
            r#"{"a":1.0,"b":1e400,"c":-0,"d":123456789012345678901234567890}"#,
        ),
        json("escapes that need not be", r#"{"a":"\u002f\/\u0041","b":"\u00e9"}"#),
        json("half a surrogate pair", r#"{"a":"\ud800"}"#),
        json("an escaped nul", r#"{"a":"\u0000"}"#),
        json("byte order mark", "\u{feff}{\"a\":1}"),
        json("line ends of another system", "{\r\n\"a\":1\r\n}\r\n"),
        json("a line feed at the end", "{\"a\":1}\n"),
        json("white space around", " \r\n\t{\"a\":1} \t\r\n"),
        json("not json at all", "{'a': undefined,}"),
        json("text beyond the basic plane", "{\"a\":\"\u{1F4A9}e\u{301}\u{200B}\u{202E}\"}"),
        Draft::new("form", "a=1+2&b=%2B%zz&&c&payload=%7B%22a%22%3A1%7D")
            .header("Content-Type", "application/x-www-form-urlencoded"),
        Draft::new(
            "multipart",
            "--x\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\n\0\u{ff}\r\n--x--\r\n",
        )
        .header("Content-Type", "multipart/form-data; boundary=x"),
        Draft::new("lines", "{\"n\":1}\n{\"n\":2}\n").header("Content-Type", "application/x-ndjson"),
        Draft::new("looks like an event stream", "id:7\nevent:x\ndata:{}\n\n: comment\n\ndata:@ref\n\n"),
        Draft::new("looks like a request", "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"),
        Draft::new("looks like sql", "'); drop table events; -- \\x00 \\\\ $1 $$ %s {} E'\\n'"),
    ]
}

fn binaries() -> Vec<Draft> {
    let every_byte: Vec<u8> = (0..=255).collect();
    vec![
        Draft::new("every byte", every_byte).header("Content-Type", "application/octet-stream"),
        Draft::new("nothing but nuls", vec![0; 1000]),
        Draft::new("not utf-8", b"{\"a\":\"\xff\xfe\xc3\"}")
            .header("Content-Type", "application/json; charset=utf-8"),
        Draft::new("utf-16", b"\xff\xfe{\0\"\0a\0\"\0:\0\x31\0}\0")
            .header("Content-Type", "application/json; charset=utf-16"),
        Draft::new("gzip", GZIP)
            .header("Content-Encoding", "gzip")
            .header("Content-Type", "application/json"),
        Draft::new("brotli", BROTLI).header("Content-Encoding", "br"),
        Draft::new("gzip only in name", "{\"a\":1}").header("Content-Encoding", "gzip, deflate"),
        Draft::new("one byte", b"\n"),
        Draft::new("a buffer and one", noise(64 * 1024 + 1)),
        Draft::new("more than a frame", noise(1_500_000)),
    ]
}

fn framings() -> Vec<Draft> {
    let body = "{\"a\": [1, 2,\n3]}";
    vec![
        Draft::new("empty", ""),
        Draft::new("empty in chunks", "").chunks(&[1]),
        Draft::new("no word about a body", "").framing(Framing::Unsaid),
        Draft::new("a byte a chunk", body).chunks(&[1]),
        Draft::new("5 MB in chunks", noise(5_000_000)).chunks(&[1, 70_000, 4096, 16_384]),
        Draft::new("chunks with extensions", body).framing(Framing::Chunks {
            sizes: &[3, 5],
            extension: ";name=\"a;b\"",
            trailer: "",
        }),
        Draft::new("chunks with trailers", body).header("Trailer", "X-Sum").framing(Framing::Chunks {
            sizes: &[4],
            extension: "",
            trailer: "X-Sum: 1\r\nX-Other: 2\r\n",
        }),
        Draft::new("asks before the body", body).header("Expect", "100-continue").waits(),
        Draft::new("asks and does not wait", body).header("Expect", "100-continue"),
        Draft::new("asks before chunks", body).header("Expect", "100-Continue").chunks(&[7]).waits(),
        Draft::new("put", body).method("PUT"),
        Draft::bare("http 1.0", body).http_1_0().header("Connection", "keep-alive"),
        Draft::new("bare line feeds", body).line_end("\n"),
    ]
}

fn headers() -> Vec<Draft> {
    let high: Vec<u8> = (0x80..=0xff).collect();
    let many = |draft: Draft, n| (0..n).fold(draft, |draft, i| draft.header(&format!("X-Many-{i}"), "v"));
    vec![
        Draft::new("the same header again and again", "r")
            .header("X-Twice", "1")
            .header("X-Once", "-")
            .header("x-twice", "2")
            .header("X-TWICE", "1"),
        Draft::new("empty headers", "e")
            .spaced("X-Empty", b"", "", b"")
            .spaced("X-Blank", b" \t ", "", b"")
            .header("X-Empty", ""),
        Draft::new("header bytes above ascii", "h").header("X-High", high).header("x-high", b"\xe9"),
        Draft::new("headers in utf-8", "u").header("X-Name", "Gr\u{fc}\u{df}e \u{1F4A9}"),
        Draft::new("spelling of names", "s")
            .header("x-lower", "1")
            .header("X-UPPER", "2")
            .header("x-MiXeD", "3"),
        Draft::new("white space around values", "w")
            .spaced("X-None", b"", "a", b"")
            .spaced("X-Tabs", b"\t\t", "a \t b", b" \t")
            .spaced("X-Many", b"     ", "a", b"     "),
        Draft::new("punctuation in values", "p")
            .header("X-Punct", r#"a:b, "c;d" = (e) <f@g> \ % { } [ ] | ^ ` ~"#)
            .header("X-List", "a, b,,c"),
        Draft::new("every sign a name may have", "n").header("x!#$%&'*+-.^_`|~09Az", "1"),
        many(Draft::new("many headers", "m"), 85),
        Draft::new("a long header", "l").header("X-Long", vec![b'x'; 30_000]),
        Draft::new("credentials and cookies", "c")
            .header("Authorization", "Basic dTpw")
            .header("Cookie", "a=1; b=\"2\"")
            .header("Cookie", "a=3"),
        Draft::new("tells its sender", "f")
            .header("X-Forwarded-For", "1.2.3.4, 5.6.7.8")
            .header("Forwarded", "for=1.2.3.4;proto=https")
            .header("Via", "1.1 x"),
        Draft::new("of this hop only", "o")
            .header("Connection", "keep-alive, X-Hop")
            .header("X-Hop", "1")
            .header("TE", "trailers")
            .header("Keep-Alive", "timeout=5"),
        Draft::new("would speak http 2", "2")
            .header("Connection", "Upgrade, HTTP2-Settings")
            .header("Upgrade", "h2c")
            .header("HTTP2-Settings", "AAMAAABkAAQAoAAAAAIAAAAA"),
        Draft::bare("host at the end", "t").last("hOsT", "example.com:8080"),
        Draft::new("content type with parameters", "ct").spaced(
            "content-type",
            b"",
            "Application/JSON ;charset=\"UTF-8\"; x=y",
            b" ",
        ),
    ]
}

fn targets() -> Vec<Draft> {
    let to = |name, suffix: &[u8]| Draft::new(name, name).suffix(suffix);
    vec![
        to("odd escapes", b"?a=%2F%2f%zz&b=+&&=&c=%00%0A&d=%"),
        to("empty query", b"?"),
        to("two question marks", b"?a?b=/../?"),
        to("more path", b"/a//b/./c/../%2e%2e/"),
        to("signs in a path", b"/;v=1/@:!$'()*,=~+-._"),
        to("braces, bars and quotes", b"?a={b}|c^`\\[d]"),
        to("a long query", &[b"?q=".as_slice(), &[b'q'; 8000]].concat()),
        to("whole address in the query", b"?to=http://example.com:80/a?b"),
        Draft::new("absolute target", "abs").prefix("http://localhost:1").suffix("/x?y"),
    ]
}

/// Bytes without a pattern, the same each time.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    std::iter::repeat_with(&mut next).take(length).collect()
}
