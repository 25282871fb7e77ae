//! What a policy is for: the kinds that it matches, and the names that its expressions can use. Pure.

use std::sync::LazyLock;

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::KnownKind;
use crate::manifests::cel::Type;
use crate::manifests::code_marker::suggest;
use crate::manifests::json::{Object, list_of, text_of, texts_of};

/// The schema of the metadata of every object.
static METADATA: LazyLock<Value> = LazyLock::new(schema_of::<ObjectMeta>);

/// The schema of a type of Kubernetes' own.
fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|it| it.inline_subschemas = true);
    settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
}

/// The variable `request`.
///
/// Source: `BuildRequestType` in apiserver's `pkg/admission/plugin/cel/compile.go`.
static REQUEST: LazyLock<Value> = LazyLock::new(|| {
    let text = || json!({ "type": "string" });
    let texts = || json!({ "type": "array", "items": text() });
    let of = |last: &str| json!({ "type": "object", "properties": { "group": text(), "version": text(), last: text() } });
    json!({ "type": "object", "properties": {
        "dryRun": { "type": "boolean" },
        "kind": of("kind"),
        "name": text(),
        "namespace": text(),
        "operation": text(),
        "options": {},
        "requestKind": of("kind"),
        "requestResource": of("resource"),
        "requestSubResource": text(),
        "resource": of("resource"),
        "subResource": text(),
        "userInfo": { "type": "object", "properties": {
            "extra": { "type": "object", "additionalProperties": texts() },
            "groups": texts(),
            "uid": text(),
            "username": text(),
        } },
    } })
});

/// The variable `namespaceObject`.
///
/// Source: `BuildNamespaceType`, in the same file.
static NAMESPACE: LazyLock<Value> = LazyLock::new(|| {
    let mut fields = schema_of::<Namespace>()["properties"].take();
    let metadata = fields.pointer_mut("/metadata/properties");
    if let Some(metadata) = metadata.and_then(Value::as_object_mut) {
        metadata.retain(|name, _| {
            !["managedFields", "ownerReferences", "selfLink", "uid"].contains(&name.as_str())
        });
        metadata.insert("UID".to_owned(), json!({ "type": "string" }));
    }
    if let Some(fields) = fields.as_object_mut() {
        fields.retain(|name, _| ["metadata", "spec", "status"].contains(&name.as_str()));
    }
    json!({ "type": "object", "properties": fields })
});

/// The schema of an object of a kind that is not known.
static ANY_OBJECT: LazyLock<Value> = LazyLock::new(|| json!({}));

/// The schema of an object of a kind that is not known.
pub(super) fn any_object() -> Option<&'static Object> {
    ANY_OBJECT.as_object()
}

/// Adds everything that the metadata of an object can have: the schema of a CRD does not list it.
pub(super) fn add_metadata(kinds: &mut [KnownKind]) {
    let schemas = kinds.iter_mut().map(|kind| &mut kind.schema["properties"]);
    for properties in schemas.filter_map(Value::as_object_mut) {
        properties.insert("metadata".to_owned(), METADATA.clone());
        for name in ["apiVersion", "kind"] {
            properties.insert(name.to_owned(), json!({ "type": "string" }));
        }
    }
}

/// A resource that does not exist.
pub(super) struct Unknown {
    pub(super) message: String,
    pub(super) help: String,
}

/// What a policy is for.
pub(super) struct Scope<'a> {
    /// The kinds that it matches, as far as they are known.
    pub(super) kinds: Vec<&'a KnownKind>,
    /// Resources that it matches and that do not exist.
    pub(super) unknown: Vec<Unknown>,
    /// The schema of `params`, if it is known; none if there are no parameters.
    params: Option<Type<'a>>,
    has_object: bool,
    has_old: bool,
}

impl<'a> Scope<'a> {
    pub(super) fn of(spec: &Value, kinds: &'a [KnownKind]) -> Self {
        let mut scope = Scope {
            kinds: Vec::new(),
            unknown: Vec::new(),
            params: None,
            has_object: false,
            has_old: false,
        };
        if let Some(params) = spec.get("paramKind").filter(|it| !it.is_null()) {
            let api = text_of(params, "apiVersion");
            let (group, version) = api.split_once('/').unwrap_or(("", api));
            let mut known = kinds.iter();
            let known = known.find(|it| {
                (it.group.as_str(), it.version.as_str()) == (group, version)
                    && it.kind == text_of(params, "kind")
            });
            let schema = known.and_then(|kind| kind.schema.as_object());
            scope.params = Some(schema.map_or(Type::Any, Type::of));
        }
        for rule in list_of(&spec["matchConstraints"], "resourceRules") {
            let all = |key| texts_of(rule, key).collect::<Vec<_>>();
            let operations = all("operations");
            scope.has_object |= operations.iter().any(|it| *it != "DELETE");
            scope.has_old |= operations.iter().any(|it| *it != "CREATE");
            for group in all("apiGroups") {
                for version in all("apiVersions") {
                    for resource in all("resources") {
                        scope.add(kinds, group, version, resource);
                    }
                }
            }
        }
        scope
    }

    fn add(&mut self, kinds: &'a [KnownKind], group: &str, version: &str, resource: &str) {
        let beside = kinds
            .iter()
            .filter(|it| it.group == group && it.version == version);
        let plurals: Vec<&str> = beside.clone().map(|it| it.plural.as_str()).collect();
        let (plural, _) = resource.split_once('/').unwrap_or((resource, ""));
        let found = beside.clone().find(|it| it.plural == plural);
        match found {
            // A subresource, such as `pods/exec`, may have objects of another kind.
            Some(kind)
                if matches!(resource.split_once('/'), None | Some((_, "status")))
                    && !self.kinds.iter().any(|known| std::ptr::eq(*known, kind)) =>
            {
                self.kinds.push(kind);
            }
            None if !plurals.is_empty() && group.contains('.') && !plural.contains('*') => {
                let close = suggest(plural, plurals.iter().copied());
                let close = close.map_or_else(String::new, |question| format!("; {question}"));
                self.unknown.push(Unknown {
                    message: format!(
                        "`{group}/{version}` has no resource `{plural}`: the policy would do nothing{close}"
                    ),
                    help: format!("write {} after `resources:`", crate::error::either(&plurals)),
                });
            }
            _ => {}
        }
    }

    /// The names that all expressions can use, except for `variables`, for objects of that kind.
    pub(super) fn names(&self, kind: Option<&'a KnownKind>) -> Vec<(&'static str, Type<'a>)> {
        let schema = kind.and_then(|kind| kind.schema.as_object());
        let object = schema.map_or(Type::Any, Type::of);
        let or_null = |exists: bool| if exists { object.clone() } else { Type::Null };
        let of = |schema: &'static Value| schema.as_object().map_or(Type::Any, Type::of);
        let is_known = self.has_object || self.has_old;
        let mut names = vec![
            ("object", or_null(self.has_object || !is_known)),
            ("oldObject", or_null(self.has_old || !is_known)),
            ("request", of(&REQUEST)),
            ("namespaceObject", of(&NAMESPACE)),
            ("authorizer", Type::Any),
        ];
        names.extend(self.params.clone().map(|params| ("params", params)));
        names
    }
}
