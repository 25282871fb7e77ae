//! Where the API server finds a webhook: at a path of a Service, or at a URL.

use core::net::Ipv6Addr;

use http::Uri;
use serde_json::{Value, json};

use crate::names::objects::{NAMESPACE, WEBHOOK_SERVICE};
use crate::names::{WebhookPath, dns};

use super::super::code_marker::MarkerError;
use super::arguments::WebhookArguments;

pub(super) struct Client {
    pub(super) document: Value,
    pub(super) has_url: bool,
}

pub(super) fn config(arguments: &WebhookArguments) -> Result<Client, MarkerError> {
    let Some(url) = arguments.one("url")? else {
        return Ok(Client {
            document: json!({"service": service(arguments)?}),
            has_url: false,
        });
    };
    for other in ["path", "serviceName", "serviceNamespace", "servicePort"] {
        if arguments.texts(other).is_some() {
            return Err(arguments.error(
                format!("`url` and `{other}` exclude each other"),
                "omit `url` to make the API server call the operator itself",
            ));
        }
    }
    check_url(arguments, url)?;
    Ok(Client {
        document: json!({"url": url}),
        has_url: true,
    })
}

fn service(arguments: &WebhookArguments) -> Result<Value, MarkerError> {
    let path = arguments.path()?;
    check_path(arguments, path)?;
    let name = service_word(arguments, "serviceName", WEBHOOK_SERVICE)?;
    let namespace = service_word(arguments, "serviceNamespace", NAMESPACE)?;
    let mut service = json!({"name": name, "namespace": namespace, "path": path});
    if let Some(word) = arguments.one("servicePort")? {
        let port = word.parse::<u16>().ok().filter(|port| *port > 0);
        service["port"] = json!(port.ok_or_else(|| {
            let message = format!("`servicePort` cannot be `{word}`");
            arguments.error(
                message,
                "write a number from 1 to 65535, or omit it for 443",
            )
        })?);
    }
    Ok(service)
}

fn service_word<'a>(
    arguments: &'a WebhookArguments,
    name: &str,
    default: &'a str,
) -> Result<&'a str, MarkerError> {
    let word = arguments.one(name)?.unwrap_or(default);
    if dns::is_label(word) {
        return Ok(word);
    }
    Err(arguments.error(
        format!("`{name}` cannot be `{word}`: it must be a DNS-1123 label"),
        format!("write lower-case letters, digits and `-`, or omit it for `{default}`"),
    ))
}

fn check_path(arguments: &WebhookArguments, path: &str) -> Result<(), MarkerError> {
    match path.parse::<WebhookPath>() {
        Ok(_) => Ok(()),
        Err(error) => Err(arguments.error(error.reason, error.remedy)),
    }
}

fn check_url(arguments: &WebhookArguments, url: &str) -> Result<(), MarkerError> {
    let refuse = |why: &str| {
        Err(arguments.error(
            format!("the API server refuses the URL `{url}`: {why}"),
            "write it like `url=\"https://hooks.example.com:8443/validate\"`",
        ))
    };
    if !url.chars().all(|c| c.is_ascii_graphic()) {
        return refuse("it may contain only visible ASCII characters");
    }
    if url.contains('#') {
        return refuse("it must not have a fragment");
    }
    let Ok(uri) = url.parse::<Uri>() else {
        return refuse("it must name a host, with or without a port");
    };
    let (Some("https"), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return refuse("it must begin with `https://`");
    };
    if uri.query().is_some() {
        return refuse("it must not have a query");
    }
    if authority.as_str().contains('@') {
        return refuse("it must not name a user");
    }
    let is_bare = authority.as_str() == authority.host();
    let is_address = |host: &str| host.trim_matches(['[', ']']).parse::<Ipv6Addr>().is_ok();
    if authority.host().starts_with('[') && !is_address(authority.host()) {
        return refuse("the brackets must contain an IPv6 address");
    }
    if !is_bare && authority.port_u16().is_none_or(|port| port == 0) {
        return refuse("its port must be a number from 1 to 65535");
    }
    if !uri.path().split('%').skip(1).all(is_escape) {
        return refuse("two hexadecimal digits must follow `%`");
    }
    Ok(())
}

/// Whether the text after a `%` begins with two hexadecimal digits.
fn is_escape(text: &str) -> bool {
    let digits: Vec<char> = text.chars().take(2).collect();
    digits.len() == 2 && digits.iter().all(char::is_ascii_hexdigit)
}
