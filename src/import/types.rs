//! From CRDs to Rust: the types module of each version of each kind. Pure.
//!
//! [`schema`] makes structs and enums from the schemas of all versions of a group, each once, [`kubernetes`] recognises
//! Kubernetes' own types, [`go`] says what Go sources know, and [`names`] names them; [`model`] is what they are. [`render`]
//! writes them, with [`form`], [`keywords`], [`defaults`] and [`kind`] for the parts; [`text`] knows how rustfmt would.

mod defaults;
mod form;
pub(crate) mod go;
mod keywords;
mod kind;
mod kubernetes;
mod model;
mod names;
mod render;
mod schema;
mod text;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use kube_core::Version;
use serde_json::Value;

use self::form::Group;
use self::go::Go;
use self::kind::{APPROVAL, kube, warnings};
pub(crate) use self::kind::{conversion, is_of_go};
use self::kubernetes::Kubernetes;
use self::model::{Shape, Struct, Use};
use self::render::Module;
use self::schema::Types;
use super::hints::Hints;
use crate::error::quoted;
use crate::manifests::external;
use crate::manifests::json::{
    Object, field_of, fields_of, is_true, list_of, object_of, requires, text_of,
};
use crate::names::type_name;

/// One version of a kind.
#[derive(Debug)]
pub(crate) struct Imported {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) plural: String,
    pub(crate) is_namespaced: bool,
    pub(crate) is_stored: bool,
    /// Whether the CRD has the annotation that groups of Kubernetes need.
    pub(crate) is_approved: bool,
    /// The text of the module with its types.
    pub(crate) types: String,
    /// An object of the version.
    pub(crate) sample: Value,
}

/// What an import yields.
#[derive(Debug, Default)]
pub(crate) struct Import {
    pub(crate) kinds: Vec<Imported>,
    /// What the types do not say, worded as warnings.
    pub(crate) warnings: Vec<String>,
}

/// Makes the types of CRDs.
pub(crate) fn types(crds: &[&Value], hints: &Hints) -> Import {
    let mut groups = BTreeMap::<&str, Vec<&Value>>::new();
    for crd in crds {
        groups
            .entry(text_of(crd, "/spec/group"))
            .or_default()
            .push(crd);
    }
    let mut import = Import::default();
    let kubernetes = Kubernetes::new();
    for crds in groups.values() {
        of_group(crds, hints, &kubernetes, &mut import);
    }
    import
}

/// One version of one CRD.
struct Root<'a> {
    crd: &'a Value,
    version: &'a Value,
    /// Index of the version among those of the group.
    at: usize,
    schema: &'a Value,
    /// The struct from which kube derives the kind.
    outer: Struct,
    outer_doc: Option<&'a str>,
    status: Option<usize>,
}

impl<'a> Root<'a> {
    fn kind(&self) -> &'a str {
        text_of(self.crd, "/spec/names/kind")
    }

    /// Name of the type of the kind.
    fn type_name(&self) -> String {
        type_name(self.kind())
    }

    fn outer_name(&self) -> String {
        let suffix = if self.outer.is_whole { "Body" } else { "Spec" };
        format!("{}{suffix}", self.type_name())
    }
}

fn of_group(crds: &[&Value], hints: &Hints, kubernetes: &Kubernetes, import: &mut Import) {
    let mut versions = BTreeSet::new();
    for crd in crds {
        let listed = list_of(crd, "/spec/versions").iter();
        versions.extend(listed.map(|version| text_of(version, "name").to_owned()));
    }
    let mut versions: Vec<String> = versions.into_iter().collect();
    versions.sort_by_cached_key(|version| Reverse(Version::parse(version).priority()));

    let mut types = Types::new(kubernetes);
    let mut roots = Vec::new();
    for &crd in crds {
        types.is_of_go = is_of_go(crd);
        for version in list_of(crd, "/spec/versions") {
            let at = versions
                .iter()
                .position(|it| it == text_of(version, "name"));
            roots.push(root(
                crd,
                version,
                at.unwrap_or_default(),
                hints,
                &mut types,
            ));
        }
    }
    let mut taken = Vec::new();
    for root in &roots {
        for ending in ["", "Spec", "Status", "List", "Body"] {
            taken.push(format!("{}{ending}", root.type_name()));
        }
    }
    taken.extend(RESERVED.split(' ').map(str::to_owned));
    let names = types.names(&taken);
    let group = Group::of(&types.definitions, &names, &versions);
    for root in &roots {
        import.kinds.push(imported(root, &group));
    }
    for (path, place) in &types.near {
        import.warnings.push(format!(
            "{place}: nearly Kubernetes' own type, so it is a struct: `{path}` differs"
        ));
    }
    if !types.values.is_empty() {
        let shown = &types.values[..types.values.len().min(MOST_SHOWN)];
        let more = match types.values.len() - shown.len() {
            0 => String::new(),
            more => format!(" and {more} more fields"),
        };
        import.warnings.push(format!(
            "JSON values with the whole schema, because Rust has no type that loses nothing: {}{more}",
            quoted(shown)
        ));
    }
    for crd in crds {
        import.warnings.extend(warnings(crd));
    }
}

/// How many fields a warning lists.
const MOST_SHOWN: usize = 10;

/// The names that a module of types refers to.
const RESERVED: &str = "\
    BTreeMap Box Clone Copy CustomResource Debug Default Deserialize Eq JsonSchema Option PartialEq Self Serialize \
    String Vec";

fn root<'a>(
    crd: &'a Value,
    version: &'a Value,
    at: usize,
    hints: &Hints,
    types: &mut Types,
) -> Root<'a> {
    let kind = &type_name(text_of(crd, "/spec/names/kind"));
    let schema = &version["schema"]["openAPIV3Schema"];
    let key = (
        text_of(crd, "/spec/group").to_owned(),
        text_of(version, "name").to_owned(),
    );
    let go = Go::of(hints.get(&key), kind);
    let place = Use::root(at, kind);
    let status = status_of(version, &place, go, types);
    let (outer, outer_doc) = if is_regular(schema, status.is_some()) {
        let spec = &schema["properties"]["spec"];
        let mut outer = types.structure(spec, &spec_of(&place), go.field("spec"), &[]);
        if let Some(default) = spec.get("default") {
            outer.keywords.push(("default".to_owned(), default.clone()));
        }
        (outer, spec.get("description").and_then(Value::as_str))
    } else {
        (whole(schema, status.is_some(), &place, go, types), None)
    };
    Root {
        crd,
        version,
        at,
        schema,
        outer,
        outer_doc,
        status,
    }
}

/// The struct of a whole object, without what kube adds.
fn whole(schema: &Value, has_status: bool, place: &Use, go: Go, types: &mut Types) -> Struct {
    let mut leave = vec!["apiVersion", "kind", "metadata"];
    leave.extend(has_status.then_some("status"));
    let mut outer = types.structure(schema, place, go, &leave);
    outer.is_whole = true;
    for (part, ending) in [("spec", "Spec"), ("status", "Status")] {
        let field = outer.fields.iter().find(|field| field.json == part);
        if let Some(Shape::Defined(id)) = field.map(|field| &field.shape) {
            types.fix_name(*id, &place.field(part), ending);
        }
    }
    // The rules of the whole object are in the attribute of the kind.
    outer
        .keywords
        .retain(|(key, _)| key != "x-kubernetes-validations");
    outer
}

fn is_struct(field: &Object) -> bool {
    text_of(field, "type") == "object"
        && !field.contains_key("additionalProperties")
        && !is_true(field, "x-kubernetes-embedded-resource")
}

/// The struct of the status, if it is a subresource.
fn status_of(version: &Value, place: &Use, go: Go, types: &mut Types) -> Option<usize> {
    version.pointer("/subresources/status")?;
    // kube has no subresource without a type.
    let nothing = Object::from_iter([("type".to_owned(), "object".into())]);
    let listed = field_of(&version["schema"]["openAPIV3Schema"], "status");
    let status = listed.unwrap_or(&nothing);
    is_struct(status).then(|| types.status(&Value::Object(status.clone()), place, go))
}

/// Whether kube's `spec` and `status` are everything that the schema of a kind has.
fn is_regular(schema: &Value, has_status: bool) -> bool {
    let fields = ["apiVersion", "kind", "metadata", "spec", "status"];
    let keywords = [
        "description",
        "properties",
        "required",
        "title",
        "type",
        "x-kubernetes-validations",
    ];
    let mut all = schema.as_object().into_iter().flatten();
    requires(schema, "spec")
        && field_of(schema, "spec")
            .is_some_and(|spec| is_struct(spec) && !is_true(spec, "nullable"))
        && fields_of(schema).all(|(name, _)| fields.contains(&name.as_str()))
        && (field_of(schema, "status").is_none() || has_status)
        && all.all(|(key, _)| keywords.contains(&key.as_str()))
}

fn spec_of(root: &Use) -> Use {
    Use {
        path: vec!["spec".to_owned()],
        depth: 1,
        ..root.clone()
    }
}

fn imported(root: &Root, group: &Group) -> Imported {
    let (crd, kind, type_name) = (root.crd, root.kind(), root.type_name());
    let mut module = Module::new(group, root.at, &type_name);
    let status = root.status.map(|id| module.name(id));
    let own_status = format!("{type_name}Status");
    let is_alias = status.as_ref().is_some_and(|name| *name != own_status);
    module.text.push('\n');
    let doc = root.outer_doc.map(|doc| text::description(doc, 0));
    let more = match doc {
        Some(Ok(comment)) => {
            module.text += &comment;
            None
        }
        Some(Err(meta)) => Some(meta),
        None => None,
    };
    module.text += &derives(&root.outer, group);
    module.text += &kube(root, status.is_some());
    module.structure(&root.outer_name(), &root.outer, more);
    if let Some(status) = status.filter(|_| is_alias) {
        let _ = write!(
            module.text,
            "\n/// The status of {kind}, which is the same elsewhere.\npub type {own_status} = {status};\n"
        );
    }
    module.definitions();
    let head = format!("//! The `{kind}` resource, imported from its CRD.\n");
    let version = text_of(root.version, "name");
    let group_name = text_of(crd, "/spec/group");
    Imported {
        group: group_name.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
        plural: text_of(crd, "/spec/names/plural").to_owned(),
        is_namespaced: text_of(crd, "/spec/scope") != "Cluster",
        is_stored: is_true(root.version, "storage"),
        is_approved: object_of(crd, "/metadata/annotations")
            .is_some_and(|it| it.contains_key(APPROVAL)),
        types: module.finished(&head, true),
        sample: external::sample(root.schema, &format!("{group_name}/{version}"), kind).object,
    }
}

fn derives(outer: &Struct, group: &Group) -> String {
    match form::has_defaults(group, outer) || !group.is_default(outer) {
        true => "#[derive(Clone, CustomResource, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]\n",
        false => "#[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]\n",
    }
    .to_owned()
}

#[cfg(test)]
mod tests;
