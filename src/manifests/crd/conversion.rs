//! The stanza of a CRD for the webhook that converts its versions.
//!
//! Names are those of the deployed objects, not of the base: `make install` applies only the CRDs,
//! and must not undo what `make deploy` changed in them.

use serde_json::{Value, json};

use crate::names::objects::{self, deployed};

/// Path under which the operator serves every conversion.
const PATH: &str = "/convert";

/// Makes the API server call the project's operator for each conversion of this CRD's kind. `is_injected` says
/// whether cert-manager writes its CA there.
pub(crate) fn add(crd: &mut Value, project: &str, is_injected: bool) {
    let namespace = deployed(project, objects::NAMESPACE);
    let service = json!({
        "name": deployed(project, objects::WEBHOOK_SERVICE),
        "namespace": namespace,
        "path": PATH,
    });
    crd["spec"]["conversion"] = json!({
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {"service": service},
            "conversionReviewVersions": ["v1"],
        },
    });
    if is_injected {
        let certificate = deployed(project, objects::SERVING_CERTIFICATE);
        crd["metadata"]["annotations"][objects::CA_ANNOTATION] =
            json!(format!("{namespace}/{certificate}"));
    } else {
        let [label, value] = objects::CONVERTED_LABEL;
        crd["metadata"]["labels"][label] = json!(value);
    }
    for part in ["/metadata", "/metadata/annotations", "/spec"] {
        if let Some(Value::Object(part)) = crd.pointer_mut(part) {
            part.sort_keys();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stanza_names_the_deployed_objects() {
        let mut crd =
            json!({"metadata": {"name": "foos.example.com"}, "spec": {"group": "example.com"}});
        add(&mut crd, "own", true);
        let expected = json!({
            "metadata": {
                "annotations": {"cert-manager.io/inject-ca-from": "own-system/own-serving-cert"},
                "name": "foos.example.com",
            },
            "spec": {
                "conversion": {
                    "strategy": "Webhook",
                    "webhook": {
                        "clientConfig": {"service": {
                            "name": "own-webhook-service",
                            "namespace": "own-system",
                            "path": "/convert",
                        }},
                        "conversionReviewVersions": ["v1"],
                    },
                },
                "group": "example.com",
            },
        });
        assert_eq!(crd.to_string(), expected.to_string(), "keys are sorted");

        let mut crd = json!({"metadata": {"name": "foos.example.com"}, "spec": {}});
        add(&mut crd, "own", false);
        let expected = json!({
            "labels": {"app.kubernetes.io/component": "webhook"},
            "name": "foos.example.com",
        });
        assert_eq!(crd["metadata"], expected);
    }
}
