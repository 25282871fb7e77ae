//! Kubernetes' own types, recognised by their schemas. Pure.
//!
//! The schemas are those that `kbr manifests` would write for a field of the type. A schema in a CRD is that of a type if
//! both have the same fields, and each field is the same: same type, same bounds, same required fields, and so on. Every
//! value that is valid under the one is valid under the other, so nothing is lost. They may differ in
//!
//! - descriptions, which many generators leave out;
//! - fields that a later Kubernetes added to the type, which the CRD may lack: [`later()`] has all of them since 1.16,
//!   the first with this version of CRDs;
//! - a default that Kubernetes sets wherever the type is used, and that controller-gen has not written;
//! - `metadata` of a template, of which generators write all, some or no fields;
//! - `x-kubernetes-map-type: atomic` of a struct that inlines such a struct, which only controller-gen writes;
//! - bounds that kbr adds where neither Go nor Rust could read more.
//!
//! A user may have a struct of three fields or fewer like one of Kubernetes by chance. It is taken for Kubernetes' only if a
//! description is Kubernetes' too, or if it merges as a whole, which hardly any other struct does. Either way the schema
//! stays the same.
//!
//! A whole object, such as a claim in a `volumeClaimTemplate`, becomes a struct of the CRD's: the Rust type refuses each
//! other `apiVersion` and `kind`, which the schema allows, and writes both where they were omitted.

mod later;

use std::collections::HashMap;

use k8s_openapi::api::{apps, autoscaling, batch, core, discovery, networking, rbac};
use k8s_openapi::apimachinery::pkg::apis::meta;
use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Value, json};

pub(super) use self::later::later;
use super::keywords::OF_FIELD;
use super::render::MODULES;
use crate::manifests::json::{ELEMENTS, field_of, fields_of, is_true, text_of, texts_of};
use crate::manifests::schema::kubernetes_schemas;

const QUANTITY: &str = "resource::Quantity";

/// The title of a field that is in [`later()`], while the schemas are made.
const IS_LATER: &str = "later";

/// A type with fewer fields, with those below it, is recognised only if a description is Kubernetes' too, or if it merges
/// as a whole: a user may have a struct like it by chance.
const FIELDS_OF_SMALL: usize = 4;

/// Kubernetes' own types, with their schemas.
pub(super) struct Kubernetes {
    types: Vec<Known>,
    /// The types that have a field of that name.
    by_field: HashMap<String, Vec<usize>>,
    quantity: Value,
}

struct Known {
    /// Its path, beginning with the name of its module in [`MODULES`].
    path: String,
    schema: Value,
    /// The descriptions of its fields, as k8s-openapi has them.
    descriptions: HashMap<String, String>,
}

impl Kubernetes {
    pub(super) fn new() -> Self {
        let mut generator = SchemaSettings::draft2020_12().into_generator();
        add::<apps::v1::DeploymentSpec>(&mut generator);
        add::<apps::v1::DaemonSetSpec>(&mut generator);
        add::<apps::v1::StatefulSetSpec>(&mut generator);
        add::<autoscaling::v2::HorizontalPodAutoscalerSpec>(&mut generator);
        add::<batch::v1::CronJobSpec>(&mut generator);
        add::<core::v1::ObjectReference>(&mut generator);
        add::<core::v1::PersistentVolume>(&mut generator);
        add::<core::v1::SecretReference>(&mut generator);
        add::<core::v1::Service>(&mut generator);
        add::<core::v1::Taint>(&mut generator);
        add::<core::v1::TypedLocalObjectReference>(&mut generator);
        add::<discovery::v1::EndpointSlice>(&mut generator);
        add::<meta::v1::Condition>(&mut generator);
        add::<networking::v1::Ingress>(&mut generator);
        add::<networking::v1::NetworkPolicySpec>(&mut generator);
        add::<rbac::v1::ClusterRole>(&mut generator);
        let mut definitions = generator.take_definitions(true);
        for (path, fields) in later() {
            let of_type = definitions
                .iter_mut()
                .find(|(name, _)| path_of(name).as_deref() == Some(path));
            let properties = of_type.and_then(|(_, schema)| schema.get_mut("properties"));
            if let Some(properties) = properties.and_then(Value::as_object_mut) {
                for (name, field) in properties
                    .iter_mut()
                    .filter(|(name, _)| fields.contains(&name.as_str()))
                {
                    debug_assert!(field.get("title").is_none(), "{path}.{name}");
                    field["title"] = json!(IS_LATER);
                }
            }
        }
        let mut kubernetes = Self {
            types: Vec::new(),
            by_field: HashMap::new(),
            quantity: Value::Null,
        };
        for (name, schema) in kubernetes_schemas(&json!({ "$defs": definitions })) {
            kubernetes.add(&name, schema, &definitions[&name]);
        }
        kubernetes
    }

    fn add(&mut self, name: &str, schema: Value, definition: &Value) {
        let Some(path) = path_of(name) else {
            return;
        };
        if path == QUANTITY {
            self.quantity = schema;
            return;
        }
        let has = |field: &str| schema["properties"].get(field).is_some();
        if ["apiVersion", "kind", "metadata"].into_iter().all(has) {
            return;
        }
        let descriptions = fields_of(definition).filter_map(|(name, field)| {
            let text = field.get("description")?.as_str()?;
            Some((name.clone(), text.to_owned()))
        });
        for (field, _) in fields_of(&schema) {
            self.by_field
                .entry(field.clone())
                .or_default()
                .push(self.types.len());
        }
        self.types.push(Known {
            path,
            descriptions: descriptions.collect(),
            schema,
        });
    }

    /// The schema of the type with that path.
    #[cfg(test)]
    pub(crate) fn schema(&self, path: &str) -> Option<&Value> {
        let mut types = self.types.iter();
        types
            .find(|known| known.path == path)
            .map(|known| &known.schema)
    }

    /// The path of the type that a schema describes, beginning with the name that its module is imported by.
    pub(super) fn find(&self, schema: &Value) -> Option<String> {
        if is_true(schema, "x-kubernetes-int-or-string") {
            return same_type(schema, &self.quantity)
                .is_ok()
                .then(|| QUANTITY.to_owned());
        }
        let (first, _) = fields_of(schema).next()?;
        let candidates = self.by_field.get(first)?.iter().map(|&at| &self.types[at]);
        let found = candidates
            .filter(|known| same_type(schema, &known.schema).is_ok() && is_telling(schema, known));
        // A local reference is no reference that lacks its namespace. The resources of a claim are those of a container
        // as they were before 1.26; a container's are what most CRDs have.
        let found = found.min_by_key(|known| {
            (
                known.path == "corev1::VolumeResourceRequirements",
                fields_of(&known.schema).count(),
            )
        });
        found.map(|known| known.path.clone())
    }

    /// The type that a schema is nearly like, and where it differs. This is only told: the schema becomes a struct.
    ///
    /// The schema has only fields of the type, most of them, and the type is not a small one that many are like.
    pub(super) fn nearly(&self, schema: &Value) -> Option<(String, String)> {
        let fields = fields_of(schema).count();
        let (first, _) = fields_of(schema).next()?;
        let candidates = self.by_field.get(first)?.iter().map(|&at| &self.types[at]);
        let mut near = candidates.filter_map(|known| {
            let is_known = |name: &String| known.schema["properties"].get(name).is_some();
            let total = fields_of(&known.schema).count();
            let is_near =
                fields_of(schema).all(|(name, _)| is_known(name)) && fields * 5 >= total * 4;
            if !is_near || total <= 5 {
                return None;
            }
            let why = same_type(schema, &known.schema).err()?;
            Some((known.path.clone(), why))
        });
        near.next()
    }
}

fn add<T: JsonSchema>(generator: &mut SchemaGenerator) {
    generator.subschema_for::<T>();
}

/// The path of the type in Rust, for the name of its definition.
fn path_of(definition: &str) -> Option<String> {
    let (module, name) = definition.strip_prefix("io.k8s.")?.rsplit_once('.')?;
    let module = format!("k8s_openapi::{}", module.replace('.', "::"));
    let mut known = MODULES.iter().filter_map(|(alias, path)| {
        let path = path.split(" as ").next()?;
        (path == module).then_some(alias)
    });
    Some(format!("{}::{name}", known.next()?))
}

/// Whether a schema says enough for its fields not to be those of the type by chance.
fn is_telling(schema: &Value, known: &Known) -> bool {
    let is_described = || {
        fields_of(schema).any(|(name, field)| {
            let beginning = |text: &str| text.chars().take(30).collect::<String>();
            let theirs = known.descriptions.get(name);
            theirs.is_some_and(|text| beginning(text) == beginning(text_of(field, "description")))
        })
    };
    fields_below(schema) >= FIELDS_OF_SMALL
        || schema.get("x-kubernetes-map-type").is_some()
        || is_described()
}

/// How many fields a schema has, with those of its fields.
fn fields_below(schema: &Value) -> usize {
    let fields = fields_of(schema).map(|(_, field)| 1 + fields_below(field));
    let elements = ELEMENTS.iter().filter_map(|(key, _)| schema.get(*key));
    fields.sum::<usize>() + elements.map(fields_below).sum::<usize>()
}

/// Keywords that say nothing about what is valid.
const WORDS: [&str; 5] = [
    "description",
    "example",
    "externalDocs",
    "properties",
    "title",
];

/// Whether `given` is the schema `known` of a type, as an earlier Kubernetes may have had it. The error is the path of a
/// difference. What belongs to the field that has the type does not count.
fn same_type(given: &Value, known: &Value) -> Result<(), String> {
    compare(given, known, &OF_FIELD)
}

/// The same below that field.
fn same(given: &Value, known: &Value) -> Result<(), String> {
    compare(given, known, &[])
}

fn compare(given: &Value, known_value: &Value, left_out: &[&str]) -> Result<(), String> {
    let (Some(given), Some(known)) = (given.as_object(), known_value.as_object()) else {
        return Err(String::new());
    };
    let differs = |key: &str| Err(format!(" `{key}`"));
    for (key, value) in given {
        let is_same = match key.as_str() {
            key if WORDS.contains(&key) || left_out.contains(&key) => true,
            "required" => {
                let mut both = [given, known].map(|it| texts_of(it, key).collect::<Vec<_>>());
                // A field with a default need not be required.
                both[0].retain(|name| known_value["properties"][name].get("default").is_none());
                both.iter_mut().for_each(|names| names.sort_unstable());
                both[0] == both[1]
            }
            "items" | "additionalProperties" => match known.get(key) {
                Some(below) => {
                    same(value, below).map_err(|path| format!("[]{path}"))?;
                    true
                }
                None => false,
            },
            "x-kubernetes-list-type" if *value == "atomic" => {
                known.get(key).is_none_or(|it| it == "atomic")
            }
            // controller-gen also writes `atomic` for a struct that inlines such a struct.
            "x-kubernetes-map-type" => known.get(key).is_none_or(|it| it == value),
            _ => known.get(key) == Some(value),
        };
        if !is_same {
            return differs(key);
        }
    }
    let is_number = is_true(known, "x-kubernetes-int-or-string");
    for (key, value) in known.iter().filter(|(key, _)| !given.contains_key(*key)) {
        let is_implied = match key.as_str() {
            key if WORDS.contains(&key) => true,
            // kbr bounds what Rust could not read.
            "maximum" | "minimum" => is_number,
            "anyOf" => is_number,
            "maxItems" | "minItems" | "pattern" => known.contains_key("format"),
            "default" => true,
            "x-kubernetes-list-type" => *value == "atomic",
            "x-kubernetes-map-type" => *value == "granular",
            _ => false,
        };
        if !is_implied {
            return differs(key);
        }
    }
    for (name, field) in fields_of(given) {
        let Some(below) = known.get("properties").and_then(|all| all.get(name)) else {
            return Err(format!(".{name}"));
        };
        if !(name == "metadata" && is_part(field, below)) {
            same(field, below).map_err(|path| format!(".{name}{path}"))?;
        }
    }
    let mut missing = fields_of(known).filter(|(name, _)| field_of(given, name).is_none());
    match missing.find(|(_, field)| text_of(field, "title") != IS_LATER) {
        Some((name, _)) => Err(format!(".{name}")),
        None => Ok(()),
    }
}

/// Whether metadata has only fields that the metadata of a template has, and does not keep others. Some generators say how
/// finalizers merge, which are no part of a template that anybody writes.
fn is_part(given: &Value, known: &Value) -> bool {
    let is_plain = given.as_object().is_some_and(|it| {
        it.keys()
            .all(|key| key == "type" || WORDS.contains(&key.as_str()))
    });
    is_plain
        && fields_of(given).all(|(name, field)| {
            let known = known["properties"].get(name);
            let is_list = name == "finalizers" && field["items"] == json!({ "type": "string" });
            is_list || known.is_some_and(|known| same(field, known).is_ok())
        })
}
