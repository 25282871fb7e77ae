//! Where the API server finds a webhook: at a path of a Service, or at a URL.

use serde_json::{Value, json};

use crate::names::{WebhookPath, dns};

use super::super::code_marker::MarkerError;
use super::arguments::Arguments;

/// The Service and its namespace as `config/webhook/service.yaml` has them.
const SERVICE: &str = "webhook-service";
const NAMESPACE: &str = "system";

pub(super) struct Client {
    pub(super) document: Value,
    pub(super) has_url: bool,
}

pub(super) fn config(arguments: &Arguments) -> Result<Client, MarkerError> {
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
                "leave `url` out to have the operator itself called",
            ));
        }
    }
    check_url(arguments, url)?;
    Ok(Client {
        document: json!({"url": url}),
        has_url: true,
    })
}

fn service(arguments: &Arguments) -> Result<Value, MarkerError> {
    let path = arguments.path()?;
    check_path(arguments, path)?;
    let name = service_word(arguments, "serviceName", SERVICE)?;
    let namespace = service_word(arguments, "serviceNamespace", NAMESPACE)?;
    let mut service = json!({"name": name, "namespace": namespace, "path": path});
    if let Some(word) = arguments.one("servicePort")? {
        let port = word.parse::<u16>().ok().filter(|port| *port > 0);
        service["port"] = json!(port.ok_or_else(|| {
            let message = format!("`servicePort` cannot be `{word}`");
            arguments.error(
                message,
                "write a number from 1 to 65535, or leave it out for 443",
            )
        })?);
    }
    Ok(service)
}

fn service_word<'a>(
    arguments: &'a Arguments,
    name: &str,
    default: &'a str,
) -> Result<&'a str, MarkerError> {
    let word = arguments.one(name)?.unwrap_or(default);
    if dns::is_label(word) {
        return Ok(word);
    }
    Err(arguments.error(
        format!("`{name}` cannot be `{word}`: it must be a DNS-1123 label"),
        format!("write lower-case letters, digits and `-`, or leave it out for `{default}`"),
    ))
}

fn check_path(arguments: &Arguments, path: &str) -> Result<(), MarkerError> {
    match path.parse::<WebhookPath>() {
        Ok(_) => Ok(()),
        Err(error) => Err(arguments.error(error.reason, error.remedy)),
    }
}

fn check_url(arguments: &Arguments, url: &str) -> Result<(), MarkerError> {
    let refuse = |why: &str| {
        Err(arguments.error(
            format!("the API server refuses the URL `{url}`: {why}"),
            "write it like `url=\"https://hooks.example.com:8443/validate\"`",
        ))
    };
    let Some(("https", rest)) = url.split_once("://") else {
        return refuse("it must begin with `https://`");
    };
    if !rest.chars().all(|c| c.is_ascii_graphic()) {
        return refuse("it must be of visible ASCII characters");
    }
    if rest.contains('?') {
        return refuse("it may have no query");
    }
    if rest.contains('#') {
        return refuse("it may have no fragment");
    }
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    if host.contains('@') {
        return refuse("it may name no user");
    }
    if !is_host(host) {
        return refuse("it must name a host, with or without a port");
    }
    if !path.split('%').skip(1).all(is_escape) {
        return refuse("behind `%`, two hexadecimal digits must stand");
    }
    Ok(())
}

/// A name or an address, with `:` and a port or without.
fn is_host(host: &str) -> bool {
    let is_address = |text: &str| {
        text.contains(':')
            && text
                .chars()
                .all(|c| c.is_ascii_hexdigit() || ":.".contains(c))
    };
    let is_name = |text: &str| {
        !text.is_empty()
            && text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-._".contains(c))
    };
    let is_port = |digits: &str| digits.parse::<u16>().is_ok_and(|port| port > 0);
    let bracketed = host.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let (is_named, port) = match bracketed {
        Some((address, port)) => (is_address(address), port),
        None => {
            let (name, port) = host.split_at(host.find(':').unwrap_or(host.len()));
            (is_name(name), port)
        }
    };
    is_named && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
}

/// Whether what stands behind a `%` begins with two hexadecimal digits.
fn is_escape(text: &str) -> bool {
    let digits: Vec<char> = text.chars().take(2).collect();
    digits.len() == 2 && digits.iter().all(char::is_ascii_hexdigit)
}
