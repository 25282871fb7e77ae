//! The webhooks, for which OLM makes the configurations, the Service and the certificates. Pure.
//!
//! Source: `pkg/controller/install/webhook.go` and `certresources.go` in OLM.

use serde_json::{Map, Value, json};

use super::deployment::Manager;
use super::error::BundleError;
use super::taken;
use crate::kustomize::Object;
use crate::manifests::json::{list_of, text_of, texts_of};
use crate::manifests::webhook::unless_deleted;
use crate::names::dns::LABEL_MAX;
use crate::names::objects;
use crate::project::Project;

const CONVERSION: &str = "ConversionWebhook";

/// The fields of a webhook that OLM copies.
const COPIED: [&str; 8] = [
    "admissionReviewVersions",
    "failurePolicy",
    "matchPolicy",
    "objectSelector",
    "reinvocationPolicy",
    "rules",
    "sideEffects",
    "timeoutSeconds",
];

/// The ports of the Service that OLM makes.
struct Ports {
    service: Value,
    pod: Value,
}

/// Takes out the webhook configurations and the Service; returns the webhooks in the form of a ClusterServiceVersion,
/// among them those of CRDs with a conversion.
pub(super) fn take(
    all: &mut Vec<Object>,
    manager: &Manager,
    project: &str,
) -> Result<Vec<Value>, BundleError> {
    let services = taken(all, |it| {
        it.kind() == "Service" && it.name == objects::WEBHOOK_SERVICE
    });
    let port = services.first().map(|it| &it.value["spec"]["ports"][0]);
    let ports = Ports {
        service: port.map_or(json!(443), |port| port["port"].clone()),
        pod: port.map_or(json!(9443), |port| port["targetPort"].clone()),
    };
    let configurations = taken(all, |it| it.kind().ends_with("WebhookConfiguration"));
    let mut called = Vec::new();
    for configuration in &configurations {
        let kind = configuration.kind().replace("WebhookConfiguration", "");
        for webhook in list_of(&configuration.value, "webhooks") {
            let own = admission(webhook, &kind, manager, &ports)?;
            called.push(own);
        }
    }
    let (mut converted, mut path, mut versions) = (Vec::new(), Value::Null, Value::Null);
    for crd in all
        .iter_mut()
        .filter(|it| it.kind() == "CustomResourceDefinition")
    {
        let name = crd.value["metadata"]["name"].clone();
        let webhook = crd.value.pointer_mut("/spec/conversion/webhook");
        let Some(webhook) = webhook.filter(|it| it["clientConfig"]["service"].is_object()) else {
            continue;
        };
        let client = &mut webhook["clientConfig"];
        // OLM's Service: it writes the namespace and the CA.
        client["service"]["name"] = format!("{}-service", manager.name.replace('.', "-")).into();
        client["service"]["port"] = ports.service.clone();
        path = client["service"]["path"].clone();
        versions = webhook["conversionReviewVersions"].clone();
        converted.push(name);
        let metadata = &mut crd.value["metadata"];
        if let Some(annotations) = metadata["annotations"].as_object_mut() {
            annotations.shift_remove(objects::CA_ANNOTATION);
        }
        if let Some(metadata) = metadata.as_object_mut() {
            let is_empty = |it: &Value| it.as_object().is_none_or(Map::is_empty);
            metadata.retain(|key, value| key != "annotations" || !is_empty(value));
        }
    }
    if !converted.is_empty() {
        let mut own = definition(CONVERSION, manager, &ports);
        own.insert("admissionReviewVersions".to_owned(), versions);
        own.insert("conversionCRDs".to_owned(), converted.into());
        own.insert(
            "generateName".to_owned(),
            format!("{project}-conversion").into(),
        );
        own.insert("sideEffects".to_owned(), "None".into());
        own.insert("webhookPath".to_owned(), path);
        called.push(own.into());
    }
    Ok(called)
}

fn definition(kind: &str, manager: &Manager, ports: &Ports) -> Map<String, Value> {
    let Value::Object(definition) = json!({
        "type": kind,
        "deploymentName": manager.name,
        "containerPort": ports.service,
        "targetPort": ports.pod,
    }) else {
        return Map::new();
    };
    definition
}

fn admission(
    webhook: &Value,
    kind: &str,
    manager: &Manager,
    ports: &Ports,
) -> Result<Value, BundleError> {
    let name = text_of(webhook, "name");
    let refused = |what: &'static str, why: &'static str| {
        Err(BundleError::Webhook {
            name: name.to_owned(),
            what,
            why,
        })
    };
    if webhook.get("namespaceSelector").is_some() {
        let why = "it selects the namespaces that the operator watches";
        return refused("namespaceSelector", why);
    }
    // Without that condition, the API server calls the webhook for some updates more.
    let conditions = webhook.get("matchConditions");
    if conditions.is_some_and(|it| *it != unless_deleted()) {
        return refused(
            "matchConditions",
            "a ClusterServiceVersion has no such field",
        );
    }
    if webhook["clientConfig"]["service"].is_null() {
        return refused("url", "it calls the operator's own Service");
    }
    let mut rules = list_of(webhook, "rules").iter();
    if rules.any(|rule| texts_of(rule, "apiGroups").any(|group| group == "*")) {
        return refused("groups=*", "it refuses webhooks for all API groups");
    }
    if name.len() > LABEL_MAX {
        return Err(BundleError::WebhookName {
            name: name.to_owned(),
            limit: LABEL_MAX,
        });
    }
    let mut own = definition(&format!("{kind}AdmissionWebhook"), manager, ports);
    own.insert("generateName".to_owned(), name.into());
    own.insert(
        "webhookPath".to_owned(),
        webhook["clientConfig"]["service"]["path"].clone(),
    );
    for key in COPIED {
        if let Some(value) = webhook.get(key) {
            own.insert(key.to_owned(), value.clone());
        }
    }
    Ok(own.into())
}

/// In which namespaces an operator may be told to watch objects.
///
/// One that watches the cluster has no use for a list of namespaces, and one that watches namespaces needs such a list,
/// which is empty for all of them. With a conversion, OLM allows only the whole cluster, because a CRD has no namespace.
pub(super) fn install_modes(
    project: &Project,
    webhooks: &[Value],
) -> Result<Vec<Value>, BundleError> {
    let is_namespaced = project.namespaced;
    if is_namespaced && webhooks.iter().any(|it| it["type"] == CONVERSION) {
        return Err(BundleError::Conversion);
    }
    let modes = [
        ("OwnNamespace", is_namespaced),
        ("SingleNamespace", is_namespaced),
        ("MultiNamespace", is_namespaced),
        ("AllNamespaces", !is_namespaced),
    ];
    let modes =
        modes.map(|(mode, is_supported)| json!({ "supported": is_supported, "type": mode }));
    Ok(modes.into())
}
