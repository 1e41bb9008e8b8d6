//! The style and the script, part of the binary.

use crate::error::Error;
use crate::http::{Answer, Call};

pub async fn style(_call: Call) -> Result<Answer, Error> {
    let text = include_str!("../../assets/style.css");
    Ok(Answer::of(200, "text/css; charset=utf-8", text).with("Cache-Control", "max-age=300"))
}

pub async fn script(_call: Call) -> Result<Answer, Error> {
    let text = include_str!("../../assets/page.js");
    Ok(Answer::of(200, "text/javascript; charset=utf-8", text).with("Cache-Control", "max-age=300"))
}
