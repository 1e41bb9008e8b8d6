//! The style, the scripts and the icon, part of the binary. Their addresses carry a hash of what they hold, so a browser may keep
//! them for ever and still gets the new ones with a new build.

use crate::error::Error;
use crate::http::{Answer, Call};
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

struct Asset {
    name: &'static str,
    extension: &'static str,
    media: &'static str,
    text: &'static str,
}

const ALL: [Asset; 4] = [
    Asset {
        name: "style",
        extension: "css",
        media: "text/css; charset=utf-8",
        text: include_str!("../../assets/style.css"),
    },
    Asset {
        name: "page",
        extension: "js",
        media: "text/javascript; charset=utf-8",
        text: include_str!("../../assets/page.js"),
    },
    Asset {
        name: "live",
        extension: "js",
        media: "text/javascript; charset=utf-8",
        text: include_str!("../../assets/live.js"),
    },
    Asset {
        name: "icon",
        extension: "svg",
        media: "image/svg+xml",
        text: include_str!("../../assets/icon.svg"),
    },
];

impl Asset {
    fn file(&self) -> String {
        let digest = hex::encode(Sha256::digest(self.text));
        format!("{}.{}.{}", self.name, &digest[..16], self.extension)
    }
}

/// The addresses, in the order of the assets.
static PATHS: LazyLock<[String; 4]> =
    LazyLock::new(|| ALL.each_ref().map(|asset| format!("/assets/{}", asset.file())));

pub fn style_path() -> &'static str {
    &PATHS[0]
}

pub fn script_paths() -> &'static [String] {
    &PATHS[1..3]
}

pub fn icon_path() -> &'static str {
    &PATHS[3]
}

/// One of them. A page of another build may ask for another hash: it gets what there is, to be asked for again.
pub async fn file(call: Call) -> Result<Answer, Error> {
    let wanted = call.param("file");
    let same = |asset: &&Asset| {
        let rest = wanted.strip_prefix(asset.name).and_then(|rest| rest.strip_suffix(asset.extension));
        rest.is_some_and(|rest| rest == "." || rest.starts_with('.') && rest.ends_with('.'))
    };
    let asset = ALL.iter().find(same).ok_or(Error::NotFound("page"))?;
    let caching = match wanted == asset.file() {
        true => "public, max-age=31536000, immutable",
        false => "no-cache",
    };
    Ok(Answer::of(200, asset.media, asset.text).with("Cache-Control", caching))
}
