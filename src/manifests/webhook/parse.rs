//! Parses a marker into an entry of a configuration, or into its name.
//!
//! The arguments are controller-gen's, and three that it lacks: `namespaceSelector`, `objectSelector`
//! and `matchConditions`. Arguments that are nearly always the same have defaults.

use serde_json::{Value, json};

use crate::names::dns;

use super::super::code_marker::{CodeMarker, MarkerError};
use super::arguments::WebhookArguments;
use super::{client, condition, rule, selector};

const ARGUMENTS: &str = "\
    admissionReviewVersions failurePolicy groups matchConditions matchPolicy mutating name \
    namespaceSelector objectSelector path reinvocationPolicy resources serviceName serviceNamespace \
    servicePort sideEffects timeoutSeconds url verbs versions webhookVersions";

/// The longest time that the API server waits for a webhook, in seconds.
const LONGEST_TIMEOUT: u32 = 30;

/// One entry of a configuration's `webhooks`.
pub(super) struct Webhook {
    pub(super) is_mutating: bool,
    pub(super) name: String,
    /// Whether the API server calls a URL instead of a Service in the cluster.
    pub(super) has_url: bool,
    pub(super) document: Value,
}

/// The name of the configuration object.
pub(super) struct Configuration {
    pub(super) is_mutating: bool,
    pub(super) name: String,
}

impl Webhook {
    pub(super) fn parse(marker: &CodeMarker) -> Result<Self, MarkerError> {
        marker.check_names(&ARGUMENTS.split(' ').collect::<Vec<_>>())?;
        let arguments = &WebhookArguments::of(marker);
        let is_mutating = arguments.mutating()?;
        let name = arguments.required("name")?;
        check_name(arguments, name)?;
        check_webhook_versions(arguments)?;
        if !is_mutating && arguments.one("reinvocationPolicy")?.is_some() {
            return Err(arguments.error(
                "only mutating webhooks have a `reinvocationPolicy`",
                "omit it, or write `mutating=true`",
            ));
        }
        let client = client::config(arguments)?;
        let selector = |name| match arguments.one(name)? {
            Some(text) => selector::parse(text).map(Some).map_err(|why| {
                arguments.error(
                    format!("the selector `{text}` is not understood: {why}"),
                    format!("write it like `{name}=\"app=web,!legacy,tier in (front,back)\"`"),
                )
            }),
            None => Ok(None),
        };
        let on_failure = arguments.choice("failurePolicy", &["Fail", "Ignore"])?;
        let fields = [
            ("admissionReviewVersions", Some(review_versions(arguments)?)),
            ("clientConfig", Some(client.document)),
            ("failurePolicy", Some(on_failure.unwrap_or(json!("Fail")))),
            ("matchConditions", condition::parse(arguments)?),
            (
                "matchPolicy",
                arguments.choice("matchPolicy", &["Equivalent", "Exact"])?,
            ),
            ("name", Some(json!(name))),
            ("namespaceSelector", selector("namespaceSelector")?),
            ("objectSelector", selector("objectSelector")?),
            (
                "reinvocationPolicy",
                arguments.choice("reinvocationPolicy", &["IfNeeded", "Never"])?,
            ),
            ("rules", Some(json!([rule::parse(arguments)?]))),
            ("sideEffects", Some(side_effects(arguments)?)),
            ("timeoutSeconds", timeout(arguments)?),
        ];
        let given = fields.into_iter();
        let given = given.filter_map(|(key, value)| Some((key.to_owned(), value?)));
        Ok(Self {
            is_mutating,
            name: name.to_owned(),
            has_url: client.has_url,
            document: Value::Object(given.collect()),
        })
    }
}

impl Configuration {
    pub(super) fn parse(marker: &CodeMarker) -> Result<Self, MarkerError> {
        marker.check_names(&["mutating", "name"])?;
        let arguments = WebhookArguments::of(marker);
        let is_mutating = arguments.mutating()?;
        let name = arguments.required("name")?;
        if !dns::is_subdomain(name) {
            return Err(arguments.error(
                format!("`{name}` cannot be the name of an object"),
                "write lower-case letters, digits, `-` and `.`",
            ));
        }
        Ok(Self {
            is_mutating,
            name: name.to_owned(),
        })
    }
}

fn check_name(arguments: &WebhookArguments, name: &str) -> Result<(), MarkerError> {
    if dns::is_subdomain(name) && name.split('.').count() >= 3 {
        return Ok(());
    }
    Err(arguments.error(
        format!(
            "`{name}` is not a webhook's name: it must be a domain name of at least three words"
        ),
        "write lower-case letters, digits and `-` between dots, such as `vpod-v1.core.example.com`",
    ))
}

fn check_webhook_versions(arguments: &WebhookArguments) -> Result<(), MarkerError> {
    const NAME: &str = "webhookVersions";
    if arguments.texts(NAME).is_none() || arguments.list(NAME)? == ["v1"] {
        return Ok(());
    }
    Err(arguments.error(
        "`webhookVersions` can only be `v1`: the API server serves no other",
        "omit it",
    ))
}

/// The API server sends the first of these versions that it knows; the operator reads `v1`.
fn review_versions(arguments: &WebhookArguments) -> Result<Value, MarkerError> {
    const NAME: &str = "admissionReviewVersions";
    let Some(texts) = arguments.texts(NAME) else {
        return Ok(json!(["v1"]));
    };
    let versions: Vec<&str> = texts
        .iter()
        .flat_map(|text| text.split(';'))
        .map(str::trim)
        .collect();
    match versions[..] {
        ["v1"] | ["v1", "v1beta1"] => Ok(json!(versions)),
        _ => Err(arguments.error(
            format!("`{NAME}` can only be `v1`, or `v1;v1beta1`: the operator reads `v1`"),
            "omit it",
        )),
    }
}

fn side_effects(arguments: &WebhookArguments) -> Result<Value, MarkerError> {
    const NAME: &str = "sideEffects";
    if let Some(word) = arguments.one(NAME)?
        && ["some", "unknown"].contains(&word.to_ascii_lowercase().as_str())
    {
        return Err(arguments.error(
            format!("`{NAME}` cannot be `{word}`: the API server would have to refuse a dry run"),
            "write `None`, or `NoneOnDryRun` for a webhook that respects `dryRun`",
        ));
    }
    let choice = arguments.choice(NAME, &["None", "NoneOnDryRun"])?;
    Ok(choice.unwrap_or(json!("None")))
}

fn timeout(arguments: &WebhookArguments) -> Result<Option<Value>, MarkerError> {
    let Some(word) = arguments.one("timeoutSeconds")? else {
        return Ok(None);
    };
    match word.parse::<u32>() {
        Ok(seconds) if (1..=LONGEST_TIMEOUT).contains(&seconds) => Ok(Some(json!(seconds))),
        _ => Err(arguments.error(
            format!("`timeoutSeconds` cannot be `{word}`"),
            format!("write a number from 1 to {LONGEST_TIMEOUT}, or omit it for 10"),
        )),
    }
}
