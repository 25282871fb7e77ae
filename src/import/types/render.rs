//! From structs and enums to the text of a module. Pure.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::Value;

use super::form::{Form, Group, LARGE, form, has_defaults, is_number};
use super::keywords::{has_floats, spelled};
use super::model::{Body, Definition, Field, Shape, Struct, TIME, TIME_OF_KUBERNETES};
use super::names::{camel, idents, others, plain, variants};
use super::text::{self, Meta, attribute, entry};
use crate::import::hints::GoConstant;
use crate::manifests::schema::FLOAT;
use crate::names::version_module;

/// The modules of Kubernetes' types, by the names that they are imported by.
pub(super) const MODULES: &[(&str, &str)] = &[
    ("appsv1", "k8s_openapi::api::apps::v1 as appsv1"),
    (
        "autoscalingv2",
        "k8s_openapi::api::autoscaling::v2 as autoscalingv2",
    ),
    ("batchv1", "k8s_openapi::api::batch::v1 as batchv1"),
    ("corev1", "k8s_openapi::api::core::v1 as corev1"),
    (
        "discoveryv1",
        "k8s_openapi::api::discovery::v1 as discoveryv1",
    ),
    (
        "networkingv1",
        "k8s_openapi::api::networking::v1 as networkingv1",
    ),
    ("rbacv1", "k8s_openapi::api::rbac::v1 as rbacv1"),
    ("resource", "k8s_openapi::apimachinery::pkg::api::resource"),
    (
        "meta",
        "k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta",
    ),
    ("intstr", "k8s_openapi::apimachinery::pkg::util::intstr"),
    ("jiff", "k8s_openapi::jiff"),
];

/// Descriptions are written for `kubectl explain`, not for rustdoc.
const LINTS: &str = "
#![allow(
    clippy::doc_lazy_continuation,
    clippy::doc_overindented_list_items,
    reason = \"the descriptions are those of the CRD\"
)]
";

/// A module that is being written.
pub(super) struct Module<'a> {
    pub(crate) group: &'a Group<'a>,
    pub(crate) version: usize,
    pub(crate) kind: &'a str,
    /// The modules of Kubernetes' types that it uses, as in [`MODULES`].
    modules: BTreeSet<&'static str>,
    /// Other versions whose types it uses.
    versions: BTreeSet<usize>,
    has_maps: bool,
    pub(crate) text: String,
}

impl<'a> Module<'a> {
    pub(super) fn new(group: &'a Group<'a>, version: usize, kind: &'a str) -> Self {
        Self {
            group,
            version,
            kind,
            modules: BTreeSet::new(),
            versions: BTreeSet::new(),
            has_maps: false,
            text: String::new(),
        }
    }

    fn owns(&self, definition: &Definition) -> bool {
        let at = &definition.first_use;
        at.version == self.version && at.kind == self.kind
    }

    /// The name of a definition as this module refers to it.
    pub(super) fn name(&mut self, id: usize) -> String {
        let definition = &self.group.definitions[id];
        let (name, at) = (&self.group.names[id], definition.first_use.version);
        match () {
            () if self.owns(definition) => name.clone(),
            () if at == self.version => format!("super::{name}"),
            () => {
                self.versions.insert(at);
                format!("{}::{name}", version_module(&self.group.versions[at]))
            }
        }
    }

    pub(super) fn shape(&mut self, shape: &Shape) -> String {
        match shape {
            Shape::Written(path) => {
                let module = path.split("::").next();
                let known = MODULES.iter().find(|(name, _)| Some(*name) == module);
                self.modules.extend(known.map(|(name, _)| *name));
                // Its schema is the one of `meta::Time`.
                self.modules.extend((path == TIME).then_some("meta"));
                path.clone()
            }
            Shape::Defined(id) => self.name(*id),
            Shape::List(element) => format!("Vec<{}>", self.shape(element)),
            Shape::Map(element) => {
                self.has_maps = true;
                format!("BTreeMap<String, {}>", self.shape(element))
            }
            Shape::Nullable(element) => format!("Option<{}>", self.shape(element)),
        }
    }

    /// The definitions that are in this module, by their names.
    pub(super) fn definitions(&mut self) {
        let all = 0..self.group.definitions.len();
        let group = self.group;
        let own = all.filter(|&id| self.owns(&group.definitions[id]));
        let mut own: Vec<usize> = own.collect();
        own.sort_by_key(|&id| &group.names[id]);
        for id in own {
            let definition = &self.group.definitions[id];
            let name = &self.group.names[id];
            self.text.push('\n');
            let doc = definition
                .doc
                .as_deref()
                .map(|doc| text::description(doc, 0));
            match &definition.body {
                Body::Enum(values) => self.enumeration(name, values, &definition.constants),
                Body::Struct(structure) => {
                    let (comment, more) = halves(doc);
                    self.text += &comment;
                    self.text += "#[derive(Clone, Debug, ";
                    if self.group.is_default(structure) && !has_defaults(self.group, structure) {
                        self.text += "Default, ";
                    }
                    self.text += "Deserialize, JsonSchema, PartialEq, Serialize)]\n";
                    self.structure(name, structure, more);
                }
            }
        }
    }

    fn enumeration(&mut self, name: &str, values: &[String], constants: &[GoConstant]) {
        self.text += "#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]\n";
        let _ = writeln!(self.text, "pub enum {name} {{");
        for (at, (value, variant)) in values.iter().zip(variants(values)).enumerate() {
            let constant = constants.iter().find(|it| it.value == *value);
            if let Some(doc) = constant.map(|it| &it.doc).filter(|doc| !doc.is_empty()) {
                let (comment, _) = halves(Some(text::description(doc, 4)));
                self.text += &comment;
            }
            if at == 0 {
                self.text += "    #[default]\n";
            }
            if *value != variant {
                self.text += &attribute("serde", vec![Meta::text("rename", value)], 4);
            }
            let _ = writeln!(self.text, "    {variant},");
        }
        self.text += "}\n";
    }

    /// A struct below its derives, with its defaults.
    pub(super) fn structure(&mut self, name: &str, structure: &Struct, more: Option<Meta>) {
        let entries = structure
            .keywords
            .iter()
            .map(|(key, value)| entry(key, value));
        let entries: Vec<Meta> = entries.collect();
        let mut schemars: Vec<Meta> = more.into_iter().collect();
        if !entries.is_empty() {
            schemars.push(Meta::list("extend", entries));
        }
        self.text += &attribute("schemars", schemars, 0);
        let idents = idents(structure);
        let is_cased =
            |(field, ident): (&Field, &String)| field.json != *ident && field.json == camel(ident);
        let rename_all = structure.fields.iter().zip(&idents).any(is_cased);
        if rename_all {
            self.text += "#[serde(rename_all = \"camelCase\")]\n";
        }
        if structure.fields.is_empty() && !structure.is_open {
            let _ = writeln!(self.text, "pub struct {name} {{}}");
            return;
        }
        let _ = writeln!(self.text, "pub struct {name} {{");
        for (field, ident) in structure.fields.iter().zip(&idents) {
            let in_rust = if rename_all {
                camel(ident)
            } else {
                ident.clone()
            };
            // A name that only looks like Rust's is said to be meant: `kbr manifests` would report it.
            let is_renamed = in_rust != field.json || field.json.contains('_');
            self.field(name, field, ident, is_renamed);
        }
        if structure.is_open {
            self.has_maps = true;
            let other = others(&idents);
            let _ = writeln!(
                self.text,
                "    /// The fields that the schema does not list.\n    #[schemars(skip)]\n    \
                 #[serde(flatten)]\n    pub {other}: BTreeMap<String, serde_json::Value>,"
            );
        }
        self.text += "}\n";
        self.defaults(name, structure, &idents);
    }

    fn field(&mut self, name: &str, field: &Field, ident: &str, is_renamed: bool) {
        let (comment, more) = halves(field.doc.as_deref().map(|doc| text::description(doc, 4)));
        self.text += &comment;
        let form = form(self.group, field);
        let mut keywords = field.keywords.clone();
        let mut schemars: Vec<Meta> = more.into_iter().collect();
        if form == Form::Optional && field.is_required && field.default.is_none() {
            schemars.push(Meta::word("required"));
        }
        // A field that is never written as null is nullable only if it says so.
        if field.is_nullable && field.default.is_none() {
            keywords.push(("nullable".to_owned(), Value::Bool(true)));
        }
        if let Some(default) = &field.default
            && (form == Form::Optional || default.is_f64() || is_number(&field.shape))
        {
            keywords.push(("default".to_owned(), default.clone()));
        }
        if has_floats(&field.shape, &keywords) {
            keywords.push((FLOAT.to_owned(), Value::Bool(true)));
        }
        schemars.extend(spelled(&field.shape, keywords));
        if let Shape::List(element) = &field.shape {
            let inner = spelled(element, field.inner.clone());
            if !inner.is_empty() {
                schemars.push(Meta::list("inner", inner));
            }
        }
        // `extend` is the last, and only one.
        schemars.sort_by_key(|it| matches!(it, Meta::List(name, _) if name == "extend"));

        let mut serde = Vec::new();
        match form {
            Form::Plain => {}
            Form::Defaulted => serde.push(Meta::text(
                "default",
                &format!("{name}::default_{}", plain(ident)),
            )),
            Form::Optional if field.is_required && field.default.is_none() => {}
            Form::Listed | Form::Optional => serde.push(Meta::word("default")),
        }
        if is_renamed {
            serde.push(Meta::text("rename", &field.json));
        }
        match form {
            Form::Listed => serde.push(Meta::text("skip_serializing_if", "Vec::is_empty")),
            // Once the API server has set the default, only null is `None`.
            Form::Optional
                if !field.is_nullable || field.default.is_none() && !field.is_required =>
            {
                serde.push(Meta::text("skip_serializing_if", "Option::is_none"));
            }
            _ => {}
        }
        let inner = self.boxed(&field.shape);
        let ty = match form {
            Form::Optional => format!("Option<{inner}>"),
            _ => inner,
        };
        if ty.contains(TIME) {
            schemars.insert(0, Meta::text("with", &ty.replace(TIME, TIME_OF_KUBERNETES)));
        }
        self.text += &attribute("schemars", schemars, 4);
        self.text += &attribute("serde", serde, 4);
        let line = format!("    pub {ident}: {ty},");
        if line.len() > text::WIDTH {
            let _ = writeln!(self.text, "    pub {ident}:\n        {ty},");
        } else {
            let _ = writeln!(self.text, "{line}");
        }
    }

    fn boxed(&mut self, shape: &Shape) -> String {
        let ty = self.shape(shape);
        match shape {
            Shape::Defined(id) if self.group.sizes[*id] >= LARGE => format!("Box<{ty}>"),
            _ => ty,
        }
    }

    /// The whole module, of which `self.text` is everything below the imports.
    pub(super) fn finished(self, head: &str, has_kind: bool) -> String {
        let mut text = head.to_owned() + LINTS;
        if self.has_maps {
            text += "\nuse std::collections::BTreeMap;\n";
        }
        text.push('\n');
        for (_, path) in MODULES
            .iter()
            .filter(|(name, _)| self.modules.contains(name))
        {
            let _ = writeln!(text, "use {path};");
        }
        if has_kind {
            text += "use kube::CustomResource;\n";
        }
        text += "use schemars::JsonSchema;\nuse serde::{Deserialize, Serialize};\n";
        if !self.versions.is_empty() {
            text.push('\n');
        }
        let mut versions: Vec<&String> = self
            .versions
            .iter()
            .map(|&at| &self.group.versions[at])
            .collect();
        versions.sort();
        for version in versions {
            let _ = writeln!(text, "use super::super::{};", version_module(version));
        }
        text += &self.text;
        if text::calls_json(&text) {
            text += text::JSON;
        }
        text
    }
}

fn halves(doc: Option<Result<String, Meta>>) -> (String, Option<Meta>) {
    match doc {
        Some(Ok(comment)) => (comment, None),
        Some(Err(meta)) => (String::new(), Some(meta)),
        None => (String::new(), None),
    }
}
