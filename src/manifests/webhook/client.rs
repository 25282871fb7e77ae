//! Where the API server finds a webhook: at a path of a Service, or at a URL.

use core::net::Ipv6Addr;

use http::Uri;
use serde_json::{Value, json};

use crate::names::objects::{NAMESPACE, WEBHOOK_SERVICE};
use crate::names::{WebhookPath, dns};

use super::super::code_marker::{CodeMarker, MarkerError};

pub(super) fn config(marker: &CodeMarker) -> Result<Value, MarkerError> {
    let Some(url) = marker.one("url")? else {
        return Ok(json!({"service": service(marker)?}));
    };
    for other in ["path", "serviceName", "serviceNamespace", "servicePort"] {
        marker.ensure(
            marker.texts(other).is_none(),
            format!("`url` and `{other}` exclude each other"),
            "omit `url` to make the API server call the operator itself",
        )?;
    }
    match refusal(url) {
        None => Ok(json!({"url": url})),
        Some(why) => Err(marker.error(
            format!("the API server refuses the URL `{url}`: {why}"),
            "write it like `url=\"https://hooks.example.com:8443/validate\"`",
        )),
    }
}

fn service(marker: &CodeMarker) -> Result<Value, MarkerError> {
    let constant = marker.constant.as_ref().map(|it| it.text.as_str());
    let typed = marker.one("path")?;
    if let (Some(typed), Some(constant)) = (typed, constant)
        && constant.starts_with('/')
    {
        marker.ensure(
            typed == constant,
            format!("`path={typed}` differs from the constant below the marker, `{constant}`"),
            "omit `path`: the marker takes it from the constant, which the code registers",
        )?;
    }
    let path = typed.or(constant).ok_or_else(|| marker.missing("path"))?;
    let checked = path.parse::<WebhookPath>();
    checked.map_err(|error| marker.error(error.reason, error.remedy))?;
    let word = |name: &str, default: &'static str| -> Result<&str, MarkerError> {
        let word = marker.one(name)?.unwrap_or(default);
        marker.ensure(
            dns::is_label(word),
            format!("`{name}` cannot be `{word}`: it must be a DNS-1123 label"),
            format!("write lower-case letters, digits and `-`, or omit it for `{default}`"),
        )?;
        Ok(word)
    };
    let name = word("serviceName", WEBHOOK_SERVICE)?;
    let namespace = word("serviceNamespace", NAMESPACE)?;
    let mut service = json!({"name": name, "namespace": namespace, "path": path});
    if let Some(port) = marker.number("servicePort", u16::MAX, 443)? {
        service["port"] = json!(port);
    }
    Ok(service)
}

/// Why the API server refuses a URL, if it does.
fn refusal(url: &str) -> Option<&'static str> {
    let is_visible = url.chars().all(|c| c.is_ascii_graphic());
    let uri = match url.parse::<Uri>() {
        _ if !is_visible => return Some("it may contain only visible ASCII characters"),
        _ if url.contains('#') => return Some("it must not have a fragment"),
        Err(_) => return Some("it must name a host, with or without a port"),
        Ok(uri) => uri,
    };
    let (Some("https"), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return Some("it must begin with `https://`");
    };
    let host = authority.host();
    let is_address = || host.trim_matches(['[', ']']).parse::<Ipv6Addr>().is_ok();
    // Two hexadecimal digits.
    let is_escape = |text: &str| text.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    match authority.port_u16() {
        _ if uri.query().is_some() => Some("it must not have a query"),
        _ if authority.as_str().contains('@') => Some("it must not name a user"),
        _ if host.starts_with('[') && !is_address() => {
            Some("the brackets must contain an IPv6 address")
        }
        None | Some(0) if authority.as_str() != host => {
            Some("its port must be a number from 1 to 65535")
        }
        _ if !uri.path().split('%').skip(1).all(is_escape) => {
            Some("two hexadecimal digits must follow `%`")
        }
        _ => None,
    }
}
