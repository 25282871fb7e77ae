//! What a webhook is called for: groups, versions, resources and verbs.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::names::dns;

use super::super::code_marker::{CodeMarker, MarkerError};
use super::arguments::did_you_mean;

/// The verbs that webhooks are called for; the API has them in upper case.
const VERBS: [&str; 5] = ["create", "update", "delete", "connect", "*"];

pub(super) fn parse(marker: &CodeMarker) -> Result<Value, MarkerError> {
    let groups = words(marker, "groups", |word| {
        let group = if word == "core" { String::new() } else { word };
        marker.ensure(
            group.is_empty() || group == "*" || dns::is_subdomain(&group),
            format!("`groups` cannot have `{group}`"),
            "write a group as in `apiVersion`, such as `batch`; `core` is the group \
             without a name, `*` is for all",
        )?;
        Ok(group)
    })?;
    let resources = marker.list("resources")?;
    check_resources(marker, &resources)?;
    let verbs = words(marker, "verbs", |verb| {
        let help = match verb.to_ascii_lowercase().as_str() {
            word if VERBS.contains(&word) => return Ok(verb.to_ascii_uppercase()),
            "patch" => "write `update`: it covers patches too".to_owned(),
            "deletecollection" => "write `delete`: it covers collections too".to_owned(),
            "get" | "list" | "watch" => {
                "webhooks see only `create`, `update`, `delete` and `connect`".to_owned()
            }
            word => did_you_mean(word, &VERBS),
        };
        Err(marker.error(format!("no webhook is called for the verb `{verb}`"), help))
    })?;
    let versions = words(marker, "versions", |version| {
        marker.ensure(
            version == "*" || dns::is_label(&version),
            format!("`versions` cannot have `{version}`"),
            "write `versions=v1`, or another version; `*` is for all",
        )?;
        Ok(version)
    })?;
    Ok(json!({
        "apiGroups": groups,
        "apiVersions": versions,
        "operations": verbs,
        "resources": resources,
        // The default. The API server adds it inside of what is applied as a whole, so two deployers would conflict.
        "scope": "*",
    }))
}

/// The words of an argument, as `read` returns them. `*` is for all, so no other value may be beside it.
fn words(
    marker: &CodeMarker,
    name: &str,
    read: impl Fn(String) -> Result<String, MarkerError>,
) -> Result<BTreeSet<String>, MarkerError> {
    let values = marker.list(name)?.into_iter().map(read);
    let words: BTreeSet<String> = values.collect::<Result<_, _>>()?;
    marker.ensure(
        words.len() <= 1 || !words.contains("*"),
        format!("`{name}` has `*` and other values, which the API server refuses"),
        format!("write `{name}=*`, or omit `*`"),
    )?;
    Ok(words)
}

/// Checks each resource, and then whether one already includes another.
fn check_resources(marker: &CodeMarker, resources: &BTreeSet<String>) -> Result<(), MarkerError> {
    for resource in resources {
        let is_part = |part: &str| part == "*" || dns::is_label(part);
        let (name, subresource) = resource.split_once('/').unwrap_or((resource, "*"));
        marker.ensure(
            is_part(name) && is_part(subresource),
            format!("`resources` cannot have `{resource}`"),
            "write plurals in lower case, with `/` and a subresource or without: \
             `pods;pods/status`; `*` is for all, and `*/*` for all with their subresources",
        )?;
    }
    for wide in resources {
        for narrow in resources.iter().filter(|narrow| *narrow != wide) {
            let of_narrow = narrow.split_once('/');
            let is_covered = match wide.split_once('/') {
                None => wide == "*" && of_narrow.is_none(),
                Some(("*", "*")) => true,
                Some((of, "*")) => of_narrow.is_some_and(|(name, _)| name == of),
                Some(("*", of)) => of_narrow.is_some_and(|(_, subresource)| subresource == of),
                Some(_) => false,
            };
            marker.ensure(
                !is_covered,
                format!("`{wide}` already includes `{narrow}`"),
                format!("remove `{narrow}`: the API server accepts only one of them"),
            )?;
        }
    }
    Ok(())
}
