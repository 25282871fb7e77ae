//! What a webhook is called for: groups, versions, resources and verbs.

use serde_json::{Value, json};

use crate::names::dns;

use super::super::code_marker::MarkerError;
use super::arguments::{WebhookArguments, did_you_mean};

/// The verbs that webhooks are called for, in upper case as in the API.
const VERBS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];

/// RBAC verbs for which no webhook is called.
const READING: [&str; 3] = ["get", "list", "watch"];

pub(super) fn parse(arguments: &WebhookArguments) -> Result<Value, MarkerError> {
    let groups = groups(arguments)?;
    let resources = arguments.list("resources")?;
    check_resources(arguments, &resources)?;
    let verbs = verbs(arguments)?;
    let versions = arguments.list("versions")?;
    for version in &versions {
        if version != "*" && !dns::is_label(version) {
            return Err(arguments.error(
                format!("`versions` cannot have `{version}`"),
                "write `versions=v1`, or another version; `*` is for all",
            ));
        }
    }
    check_star(arguments, "versions", &versions)?;
    Ok(json!({
        "apiGroups": groups,
        "apiVersions": versions,
        "operations": verbs,
        "resources": resources,
    }))
}

fn groups(arguments: &WebhookArguments) -> Result<Vec<String>, MarkerError> {
    let mut groups = arguments.list("groups")?;
    for group in &mut groups {
        if group == "core" {
            group.clear();
        }
        if !group.is_empty() && group != "*" && !dns::is_subdomain(group) {
            return Err(arguments.error(
                format!("`groups` cannot have `{group}`"),
                "write a group as in `apiVersion`, such as `batch`; `core` is the group \
                 without a name, `*` is for all",
            ));
        }
    }
    groups.sort();
    groups.dedup();
    check_star(arguments, "groups", &groups)?;
    Ok(groups)
}

fn verbs(arguments: &WebhookArguments) -> Result<Vec<String>, MarkerError> {
    let mut verbs = arguments.list("verbs")?;
    for verb in &mut verbs {
        let upper = verb.to_ascii_uppercase();
        if !VERBS.contains(&upper.as_str()) {
            let message = format!("no webhook is called for the verb `{verb}`");
            let lower = verb.to_ascii_lowercase();
            let help = match lower.as_str() {
                "patch" => "write `update`: it covers patches too".to_owned(),
                "deletecollection" => "write `delete`: it covers collections too".to_owned(),
                word if READING.contains(&word) => {
                    "webhooks see only `create`, `update`, `delete` and `connect`".to_owned()
                }
                word => did_you_mean(word, &["create", "update", "delete", "connect", "*"]),
            };
            return Err(arguments.error(message, help));
        }
        *verb = upper;
    }
    verbs.sort();
    verbs.dedup();
    check_star(arguments, "verbs", &verbs)?;
    Ok(verbs)
}

/// Checks each resource, and then whether one already includes another.
fn check_resources(arguments: &WebhookArguments, resources: &[String]) -> Result<(), MarkerError> {
    for resource in resources {
        let is_part = |part: &str| part == "*" || dns::is_label(part);
        let (name, subresource) = resource.split_once('/').unwrap_or((resource, "*"));
        if !is_part(name) || !is_part(subresource) {
            return Err(arguments.error(
                format!("`resources` cannot have `{resource}`"),
                "write plurals in lower case, with `/` and a subresource or without: \
                 `pods;pods/status`; `*` is for all, and `*/*` for all with their subresources",
            ));
        }
    }
    for wide in resources {
        for narrow in resources.iter().filter(|narrow| *narrow != wide) {
            let (name, subresource) = match narrow.split_once('/') {
                Some((name, subresource)) => (name, Some(subresource)),
                None => (narrow.as_str(), None),
            };
            let is_covered = match wide.split_once('/') {
                None => wide == "*" && subresource.is_none(),
                Some(("*", "*")) => true,
                Some((of, "*")) => of == name && subresource.is_some(),
                Some(("*", of)) => subresource == Some(of),
                Some(_) => false,
            };
            if is_covered {
                return Err(arguments.error(
                    format!("`{wide}` already includes `{narrow}`"),
                    format!("remove `{narrow}`: the API server accepts only one of them"),
                ));
            }
        }
    }
    Ok(())
}

/// `*` is for all, so no other value may be beside it.
fn check_star(
    arguments: &WebhookArguments,
    name: &str,
    words: &[String],
) -> Result<(), MarkerError> {
    if words.len() > 1 && words.iter().any(|word| word == "*") {
        return Err(arguments.error(
            format!("`{name}` has `*` and other values, which the API server refuses"),
            format!("write `{name}=*`, or omit `*`"),
        ));
    }
    Ok(())
}
