//! Parses a marker into an entry of a configuration, or into its name.
//!
//! The arguments are controller-gen's, and three that it lacks: `namespaceSelector`, `objectSelector`
//! and `matchConditions`. Arguments that are nearly always the same have defaults.

use serde_json::{Value, json};

use crate::names::dns;

use super::super::code_marker::{CodeMarker, MarkerError};
use super::{client, filter, rule};

const ARGUMENTS: &str = "\
    admissionReviewVersions failurePolicy groups matchConditions matchPolicy mutating name \
    namespaceSelector objectSelector path reinvocationPolicy resources serviceName serviceNamespace \
    servicePort sideEffects timeoutSeconds url verbs versions webhookVersions";

/// The longest time that the API server waits for a webhook, in seconds.
const LONGEST_TIMEOUT: u16 = 30;

/// One entry of a configuration's `webhooks`.
pub(super) struct Webhook {
    pub(super) is_mutating: bool,
    pub(super) name: String,
    /// Whether the API server calls a URL instead of a Service in the cluster.
    pub(super) has_url: bool,
    pub(super) document: Value,
}

impl Webhook {
    pub(super) fn parse(marker: &CodeMarker) -> Result<Self, MarkerError> {
        marker.check_names(ARGUMENTS)?;
        let is_mutating = marker.mutating()?;
        let name = marker.required("name")?;
        marker.ensure(
            dns::is_subdomain(name) && name.split('.').count() >= 3,
            format!(
                "`{name}` is not a webhook's name: it must be a domain name of at least three words"
            ),
            "write lower-case letters, digits and `-` between dots, such as `vpod-v1.core.example.com`",
        )?;
        let versions = marker.words("webhookVersions").unwrap_or_default();
        marker.ensure(
            versions.iter().all(|version| version == "v1"),
            "`webhookVersions` can only be `v1`: the API server serves no other",
            "omit it",
        )?;
        marker.ensure(
            is_mutating || marker.one("reinvocationPolicy")?.is_none(),
            "only mutating webhooks have a `reinvocationPolicy`",
            "omit it, or write `mutating=true`",
        )?;
        let client = client::config(marker)?;
        let on_failure = marker.choice("failurePolicy", &["Fail", "Ignore"])?;
        let mut document = json!({
            "admissionReviewVersions": review_versions(marker)?,
            "clientConfig": client,
            "failurePolicy": on_failure.unwrap_or("Fail"),
            "matchConditions": filter::conditions(marker)?,
            "matchPolicy": marker.choice("matchPolicy", &["Equivalent", "Exact"])?,
            "name": name,
            "namespaceSelector": filter::selector(marker, "namespaceSelector")?,
            "objectSelector": filter::selector(marker, "objectSelector")?,
            "reinvocationPolicy": marker.choice("reinvocationPolicy", &["IfNeeded", "Never"])?,
            "rules": [rule::parse(marker)?],
            "sideEffects": side_effects(marker)?,
            "timeoutSeconds": marker.number("timeoutSeconds", LONGEST_TIMEOUT, 10)?,
        });
        if let Some(fields) = document.as_object_mut() {
            fields.retain(|_, value| !value.is_null());
        }
        Ok(Self {
            is_mutating,
            name: name.to_owned(),
            has_url: marker.texts("url").is_some(),
            document,
        })
    }
}

/// Whether a configuration is of mutating webhooks, and its name.
pub(super) fn configuration(marker: &CodeMarker) -> Result<(bool, String), MarkerError> {
    marker.check_names("mutating name")?;
    let is_mutating = marker.mutating()?;
    let name = marker.required("name")?;
    marker.ensure(
        dns::is_subdomain(name),
        format!("`{name}` cannot be the name of an object"),
        "write lower-case letters, digits, `-` and `.`",
    )?;
    Ok((is_mutating, name.to_owned()))
}

/// The API server sends the first of these versions that it knows; the operator reads `v1`.
fn review_versions(marker: &CodeMarker) -> Result<Vec<String>, MarkerError> {
    const NAME: &str = "admissionReviewVersions";
    let versions = marker.words(NAME).unwrap_or_else(|| vec!["v1".to_owned()]);
    marker.ensure(
        versions == ["v1"] || versions == ["v1", "v1beta1"],
        format!("`{NAME}` can only be `v1`, or `v1;v1beta1`: the operator reads `v1`"),
        "omit it",
    )?;
    Ok(versions)
}

fn side_effects(marker: &CodeMarker) -> Result<&'static str, MarkerError> {
    const NAME: &str = "sideEffects";
    let word = marker.one(NAME)?.unwrap_or_default();
    let is_refused = |refused: &str| refused.eq_ignore_ascii_case(word);
    marker.ensure(
        !["some", "unknown"].into_iter().any(is_refused),
        format!("`{NAME}` cannot be `{word}`: the API server would have to refuse a dry run"),
        "write `None`, or `NoneOnDryRun` for a webhook that respects `dryRun`",
    )?;
    let choice = marker.choice(NAME, &["None", "NoneOnDryRun"])?;
    Ok(choice.unwrap_or("None"))
}
