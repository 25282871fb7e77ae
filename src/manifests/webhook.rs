//! Turns webhook markers into the two configurations by which the API server calls the operator.
//!
//! A marker is parsed in [`mod@parse`], its parts in [`rule`], [`client`] and [`filter`]. What the API server
//! would refuse is refused here first, with the marker's location.

mod arguments;
mod client;
mod filter;
mod parse;
mod rule;
pub(crate) mod served;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::names::objects;

use self::parse::Webhook;
use super::code_marker::{CodeMarker, Location, MarkerError, MarkerKind, parse_all};

/// The documents of `config/webhook/manifests.yaml`; none if there is no webhook. `is_injected` says whether
/// cert-manager writes its CA into them, `own` has the groups of the project's own kinds.
pub(crate) fn configurations(
    markers: &[CodeMarker],
    is_injected: bool,
    own: &BTreeSet<String>,
) -> Result<Vec<Value>, Vec<MarkerError>> {
    let mut errors = Vec::new();
    let mut webhooks = parse_all(markers, MarkerKind::Webhook, Webhook::parse, &mut errors);
    for (_, webhook) in &mut webhooks {
        spare_deleted(&mut webhook.document, own);
    }
    errors.extend(shared_paths(markers));
    webhooks.sort_by(|(_, a), (_, b)| a.name.cmp(&b.name));
    let kind = MarkerKind::WebhookConfiguration;
    let mut named = parse_all(markers, kind, parse::configuration, &mut errors);
    let mut documents = Vec::new();
    for is_mutating in [true, false] {
        let taken = webhooks.extract_if(.., |(_, webhook)| webhook.is_mutating == is_mutating);
        let own: Vec<_> = taken.collect();
        let of_kind = named.extract_if(.., |(_, (mutates, _))| *mutates == is_mutating);
        let names: Vec<_> = of_kind.map(|(at, (_, name))| (at, name)).collect();
        errors.extend(conflicts(&own, &names));
        if !own.is_empty() {
            documents.push(document(is_mutating, names.first(), &own, is_injected));
        }
    }
    if errors.is_empty() {
        Ok(documents)
    } else {
        Err(errors)
    }
}

/// The condition of webhooks that have no other: the last finalizer of an object can be removed without a manager. The
/// specification of an object that is being deleted is still checked, because a finalizer may depend on it.
pub(crate) fn unless_deleted() -> Value {
    json!([{
        "name": "unless-deleted",
        "expression": "request.operation != 'UPDATE' || !has(oldObject.metadata.deletionTimestamp) || \
                       !has(object.spec) || object.?spec != oldObject.?spec",
    }])
}

/// Adds that condition to a webhook for updates of own kinds: others may have more than a specification.
fn spare_deleted(webhook: &mut Value, own: &BTreeSet<String>) {
    let rule = &webhook["rules"][0];
    let has = |key: &str, is_it: &dyn Fn(&str) -> bool| {
        let mut words = rule[key]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        words.all(is_it)
    };
    // A subresource is another part of the object.
    let is_own = has("apiGroups", &|group| own.contains(group))
        && has("resources", &|resource| !resource.contains('/'));
    let has_updates = !has("operations", &|verb| !matches!(verb, "UPDATE" | "*"));
    if is_own && has_updates && webhook.get("matchConditions").is_none() {
        webhook["matchConditions"] = unless_deleted();
    }
}

/// Errors for constants with the path of another one: only one of the two webhooks would be called. Markers above one
/// constant share its webhook, and so do those that write its path.
fn shared_paths(markers: &[CodeMarker]) -> Vec<MarkerError> {
    let mut known: BTreeMap<&str, (&Location, usize)> = BTreeMap::new();
    let mut errors = Vec::new();
    let own = markers.iter().filter(|it| it.kind == MarkerKind::Webhook);
    for marker in own.filter(|it| it.texts("path").is_none() && it.texts("url").is_none()) {
        let Some(constant) = &marker.constant else {
            continue;
        };
        let place = (&marker.location, constant.range.start);
        let (earlier, start) = *known.entry(&constant.text).or_insert(place);
        if (&earlier.path, start) != (&marker.location.path, constant.range.start) {
            let message = format!(
                "`{}` is the path of two constants, and one webhook can serve it: see {earlier}",
                constant.text
            );
            errors.push(marker.error(message, "write another path in one of the constants"));
        }
    }
    errors
}

/// The conflicts between the webhooks and the names of one configuration.
fn conflicts(webhooks: &[(&Location, Webhook)], names: &[(&Location, String)]) -> Vec<MarkerError> {
    let mut errors = Vec::new();
    for pair in webhooks.windows(2) {
        let ((earlier, webhook), (location, same)) = (&pair[0], &pair[1]);
        if webhook.name == same.name {
            let message = format!("two webhooks are called `{}`: see {earlier}", same.name);
            errors.push(location.error(message, "give one of them another `name`, or remove one"));
        }
    }
    let served = webhooks.iter().find(|(_, webhook)| !webhook.has_url);
    for (location, webhook) in webhooks.iter().filter(|(_, webhook)| webhook.has_url) {
        if let Some((other, _)) = served {
            let message = format!(
                "`{}` has a `url` and {other} has a Service: cert-manager would make the API server trust the Service's CA for both",
                webhook.name
            );
            let help =
                "write it manually, in a file that `config/webhook/kustomization.yaml` lists";
            errors.push(location.error(message, help));
        }
    }
    for pair in names.windows(2) {
        let ((earlier, _), (location, _)) = (&pair[0], &pair[1]);
        let message = format!("the configuration already has a name: see {earlier}");
        errors.push(location.error(message, "remove one of the two markers"));
    }
    errors
}

fn document(
    is_mutating: bool,
    typed: Option<&(&Location, String)>,
    webhooks: &[(&Location, Webhook)],
    is_injected: bool,
) -> Value {
    let (way, default_name) = if is_mutating {
        ("Mutating", objects::MUTATING_CONFIGURATION)
    } else {
        ("Validating", objects::VALIDATING_CONFIGURATION)
    };
    let name = typed.map_or(default_name, |(_, typed)| typed);
    let certificate = format!("{}/{}", objects::NAMESPACE, objects::SERVING_CERTIFICATE);
    let is_served = webhooks.iter().any(|(_, webhook)| !webhook.has_url);
    let metadata = if is_injected && is_served {
        // cert-manager writes its CA into each webhook.
        json!({"annotations": {(objects::CA_ANNOTATION): certificate}, "name": name})
    } else {
        json!({"name": name})
    };
    let documents = webhooks.iter().map(|(_, webhook)| &webhook.document);
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": format!("{way}WebhookConfiguration"),
        "metadata": metadata,
        "webhooks": documents.collect::<Vec<_>>(),
    })
}
