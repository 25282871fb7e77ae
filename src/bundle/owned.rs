//! What catalogs and consoles show of the CRDs. Pure.

use serde_json::{Map, Value, json};

use crate::manifests::json::{fields_of, is_true, list_of, object_of, text_of};

/// Begins the names of the widgets with which a console shows a field.
///
/// Source: OpenShift console's `reference.md` of descriptors.
const WIDGET: &str = "urn:alm:descriptor:com.tectonic.ui:";
const CONDITIONS: &str = "urn:alm:descriptor:io.kubernetes.conditions";

/// Each served version of each CRD, in the form of a ClusterServiceVersion.
pub(super) fn all(crds: &[Value]) -> Vec<Value> {
    let versions = crds.iter().flat_map(|crd| {
        let versions = list_of(crd, "/spec/versions").iter();
        let served = versions.filter(|version| is_true(version, "served"));
        served.map(move |version| described(crd, version))
    });
    versions.collect()
}

fn described(crd: &Value, version: &Value) -> Value {
    let kind = text_of(crd, "/spec/names/kind");
    let schema = &version["schema"]["openAPIV3Schema"];
    let mut described = json!({
        "name": crd["metadata"]["name"],
        "version": version["name"],
        "kind": kind,
        "displayName": words(kind),
        "description": match text_of(schema, "description") {
            "" => kind,
            text => text,
        },
    });
    for (field, key) in [("spec", "specDescriptors"), ("status", "statusDescriptors")] {
        let descriptors = descriptors(&schema["properties"][field], field == "spec");
        if !descriptors.is_empty() {
            described[key] = descriptors.into();
        }
    }
    described
}

/// Describes the fields of the spec or the status. Only those of the spec can be edited in a console.
fn descriptors(schema: &Value, is_spec: bool) -> Vec<Value> {
    let fields = fields_of(schema);
    let descriptors = fields.map(|(name, field)| {
        let mut descriptor = Map::new();
        let mut add = |key: &str, value: Value| drop(descriptor.insert(key.to_owned(), value));
        let description = text_of(field, "description");
        if !description.is_empty() {
            add("description", description.into());
        }
        add("displayName", words(name).into());
        add("path", name.as_str().into());
        let widgets = match is_spec {
            true => widgets(name, field),
            false if is_conditions(name, field) => vec![CONDITIONS.to_owned()],
            false => Vec::new(),
        };
        if !widgets.is_empty() {
            add("x-descriptors", widgets.into());
        }
        descriptor.into()
    });
    descriptors.collect()
}

fn widgets(name: &str, field: &Value) -> Vec<String> {
    let widget = |name: &str| vec![format!("{WIDGET}{name}")];
    let values = list_of(field, "enum").iter().filter_map(Value::as_str);
    match text_of(field, "type") {
        "boolean" => widget("booleanSwitch"),
        "integer" if name == "replicas" => widget("podCount"),
        "integer" | "number" => widget("number"),
        "string" if field.get("enum").is_some() => values
            .map(|value| format!("{WIDGET}select:{value}"))
            .collect(),
        "string" => widget("text"),
        _ => Vec::new(),
    }
}

fn is_conditions(name: &str, field: &Value) -> bool {
    let fields = object_of(&field["items"], "properties");
    name == "conditions"
        && fields.is_some_and(|fields| {
            ["type", "status"]
                .iter()
                .all(|name| fields.contains_key(*name))
        })
}

/// The words of a name in camel case: `jobTemplate` is `Job Template`, `podCIDRs` is `Pod CIDRs`.
fn words(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut words = String::new();
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| letters[at]);
        let after = letters.get(at + 1);
        let begins = letter.is_uppercase()
            && before.is_some_and(|before| {
                let ends = after.is_some_and(|after| after.is_lowercase() && *after != 's');
                !before.is_uppercase() || ends
            });
        if begins {
            words.push(' ');
        }
        match at {
            0 => words.extend(letter.to_uppercase()),
            _ => words.push(*letter),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_as_words() {
        for (name, shown) in [
            ("CronJob", "Cron Job"),
            (
                "successfulJobsHistoryLimit",
                "Successful Jobs History Limit",
            ),
            ("podCIDRs", "Pod CIDRs"),
            ("HTTPRoute", "HTTP Route"),
            ("size", "Size"),
        ] {
            assert_eq!(words(name), shown);
        }
    }

    #[test]
    fn fields_have_a_widget_if_there_is_one_for_their_type() {
        let schema = json!({ "properties": {
            "suspend": { "type": "boolean", "description": "Whether no further Job starts." },
            "policy": { "type": "string", "enum": ["Allow", "Forbid"] },
            "replicas": { "type": "integer" },
            "template": { "type": "object" },
        } });
        let text = |name: &str| format!("{WIDGET}{name}");
        assert_eq!(
            descriptors(&schema, true),
            [
                json!({
                    "description": "Whether no further Job starts.", "displayName": "Suspend", "path": "suspend",
                    "x-descriptors": [text("booleanSwitch")],
                }),
                json!({
                    "displayName": "Policy", "path": "policy",
                    "x-descriptors": [text("select:Allow"), text("select:Forbid")],
                }),
                json!({ "displayName": "Replicas", "path": "replicas", "x-descriptors": [text("podCount")] }),
                json!({ "displayName": "Template", "path": "template" }),
            ]
        );
        let conditions =
            json!({ "type": "array", "items": { "properties": { "type": {}, "status": {} } } });
        let schema =
            json!({ "properties": { "ready": { "type": "boolean" }, "conditions": conditions } });
        assert_eq!(
            descriptors(&schema, false),
            [
                json!({ "displayName": "Ready", "path": "ready" }),
                json!({ "displayName": "Conditions", "path": "conditions", "x-descriptors": [CONDITIONS] }),
            ]
        );
    }
}
