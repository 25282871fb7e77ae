//! Where objects refer to other objects by their names. Pure.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use super::build::Object;
use super::mark;
use super::replacement::{containers, items};

/// An entry of `nameReference` in a file of `configurations`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NameReference {
    kind: String,
    #[serde(default, rename = "group")]
    _group: String,
    field_specs: Vec<FieldSpec>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FieldSpec {
    kind: String,
    #[serde(default, rename = "group")]
    _group: String,
    path: String,
}

/// The key of a map or of a list of maps, the field in it that has a name, and the kind of the object; an empty key is
/// any key, an empty kind the field `kind` beside the name.
///
/// Source: `namereference.go` in kustomize's `api/konfig/builtinpluginconsts`.
const FIELDS: [(&str, &str, &str); 15] = [
    ("", "secretName", "Secret"),
    ("", "serviceAccountName", "ServiceAccount"),
    ("claimRef", "name", "PersistentVolumeClaim"),
    ("configMap", "name", "ConfigMap"),
    ("configMapKeyRef", "name", "ConfigMap"),
    ("configMapRef", "name", "ConfigMap"),
    ("imagePullSecrets", "name", "Secret"),
    (
        "persistentVolumeClaim",
        "claimName",
        "PersistentVolumeClaim",
    ),
    ("roleRef", "name", ""),
    ("scaleTargetRef", "name", ""),
    ("secret", "name", "Secret"),
    ("secretKeyRef", "name", "Secret"),
    ("secretRef", "name", "Secret"),
    ("service", "name", "Service"),
    ("subjects", "name", ""),
];

/// Marks every reference to one of the objects, and the namespaces beside them that are the operator's own.
pub fn mark(
    objects: &mut [Object],
    more: &[NameReference],
    sets_namespace: bool,
    is_own: impl Fn(&str) -> bool,
) {
    let secrets = objects.iter().filter_map(|object| {
        // cert-manager creates this Secret.
        let is_certificate = object.kind() == "Certificate";
        let secret = object.value["spec"]["secretName"].as_str();
        Some((
            "Secret".to_owned(),
            secret.filter(|_| is_certificate)?.to_owned(),
        ))
    });
    let own = objects.iter();
    let own = own.map(|object| (object.kind().to_owned(), object.name.clone()));
    let names: BTreeSet<(String, String)> = own.chain(secrets).collect();
    let marker = Marker {
        names,
        is_namespace: &|name: &str| sets_namespace || is_own(name),
    };
    for object in objects {
        let kind = object.kind().to_owned();
        for reference in more {
            let fields = reference.field_specs.iter().filter(|it| it.kind == kind);
            for field in fields {
                let found = object.value.pointer_mut(&format!("/{}", field.path));
                if let Some(found) = found {
                    marker.name(found, &reference.kind);
                }
            }
        }
        // Schemas have fields of these names too.
        if kind != "CustomResourceDefinition" {
            marker.visit("", &mut object.value);
        }
    }
}

/// Marks names that are spelled out as deployed, with the project's name: those in roles, and in the flags and
/// variables of the manager if a role has them too. The objects need not exist yet: the manager may create them.
pub fn mark_granted(objects: &mut [Object], project: &str) {
    let prefix = format!("{project}-");
    let mut granted = BTreeSet::new();
    for object in objects.iter_mut() {
        let rules = items(&mut object.value, "rules");
        for value in rules.flat_map(|rule| items(rule, "resourceNames")) {
            let name = value.as_str().and_then(|name| name.strip_prefix(&prefix));
            if let Some(name) = name.map(str::to_owned) {
                *value = mark::name(&name).into();
                granted.insert(name);
            }
        }
    }
    let marked = |value: &str| {
        let name = value.strip_prefix(&prefix)?;
        granted.contains(name).then(|| mark::name(name))
    };
    for object in objects {
        for container in containers(&mut object.value) {
            for argument in items(container, "args") {
                let parts = argument.as_str().and_then(|text| text.split_once('='));
                let new =
                    parts.and_then(|(flag, value)| Some(format!("{flag}={}", marked(value)?)));
                if let Some(new) = new {
                    *argument = new.into();
                }
            }
            for variable in items(container, "env") {
                if let Some(name) = variable["value"].as_str().and_then(marked) {
                    variable["value"] = name.into();
                }
            }
        }
    }
}

struct Marker<'a> {
    /// Kind and name of each object.
    names: BTreeSet<(String, String)>,
    is_namespace: &'a dyn Fn(&str) -> bool,
}

impl Marker<'_> {
    /// Marks a name if it is that of an object of this kind; returns whether it is.
    fn name(&self, value: &mut Value, kind: &str) -> bool {
        let Some(name) = value.as_str() else {
            return false;
        };
        let is_object = self.names.contains(&(kind.to_owned(), name.to_owned()));
        if is_object {
            *value = mark::name(name).into();
        }
        is_object
    }

    fn visit(&self, key: &str, value: &mut Value) {
        match value {
            Value::Array(list) => list.iter_mut().for_each(|item| self.visit(key, item)),
            Value::Object(map) => {
                let beside = map.get("kind").and_then(Value::as_str);
                let beside = beside.unwrap_or_default().to_owned();
                for (of, field, kind) in FIELDS {
                    let kind = if kind.is_empty() { &beside } else { kind };
                    let is_here = of.is_empty() || of == key;
                    let marks =
                        is_here && map.get_mut(field).is_some_and(|name| self.name(name, kind));
                    let namespace = map.get_mut("namespace").filter(|_| marks);
                    if let Some(namespace) = namespace
                        && namespace.as_str().is_some_and(self.is_namespace)
                    {
                        *namespace = mark::NAMESPACE.into();
                    }
                }
                for (key, value) in map {
                    self.visit(key, value);
                }
            }
            _ => {}
        }
    }
}
