//! The tables of a version: one for the object itself, and one for each of the project's own objects
//! in it.

use serde_json::Value;

use super::text::{code, given, inline, paragraph};
use super::{kubernetes, limits};
use crate::manifests::crd::CrdDocument;
use crate::manifests::json::{fields_of, path_of, requires, text_of};
use crate::manifests::schema::Foreign;

const HEAD: &str = "\n| Field | Type | Required | Default | Description |\n|---|---|---|---|---|\n";

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// Elements of lists and maps: the keyword, the step in a path, the type, and the prefix for their descriptions.
const ELEMENTS: [(&str, &str, &str, &str); 2] = [
    ("items", "[]", "list", "Each item: "),
    ("additionalProperties", ".*", "map", "Each value: "),
];

/// What all tables of a version have in common.
pub(super) struct Tables<'a> {
    pub(crate) crd: &'a CrdDocument,
    pub(crate) version: &'a str,
    /// The minor of Kubernetes whose reference is linked.
    pub(crate) kubernetes: &'a str,
}

/// An object that has a table.
struct Section<'a> {
    /// As in messages: `spec.jobs[]`.
    path: String,
    anchor: String,
    /// Only for elements; the description of a field is in its row.
    description: &'a str,
    schema: &'a Value,
}

impl<'a> Tables<'a> {
    /// All tables of a version.
    pub(super) fn of(&self, schema: &Value) -> String {
        self.table(&Section {
            path: String::new(),
            anchor: super::anchor(self.crd, Some(self.version)) + "/",
            description: "",
            schema,
        })
    }

    /// The table of an object, followed by those of the objects in it.
    fn table(&self, object: &Section<'_>) -> String {
        let is_whole = object.path.is_empty();
        let (mut text, mut below) = (HEAD.to_owned(), Vec::new());
        for (name, field) in fields_of(object.schema) {
            text += &match name.as_str() {
                "apiVersion" if is_whole => {
                    let (group, version) = (&self.crd.group, self.version);
                    format!("| `{name}` | string | yes |  | `{group}/{version}` |\n")
                }
                "kind" if is_whole => {
                    format!("| `{name}` | string | yes |  | `{}` |\n", self.crd.kind)
                }
                "metadata" if is_whole => format!(
                    "| `{name}` | {} | yes |  | Name, namespace, labels and annotations. |\n",
                    kubernetes::link(OBJECT_META, self.kubernetes)
                ),
                _ => self.row(name, field, object, &mut below),
            };
        }
        for section in below {
            let (path, anchor) = (code(&section.path), &section.anchor);
            text += &format!("\n#### <a id=\"{anchor}\"></a>{path}\n");
            text += &about(section.description, limits::of(section.schema));
            text += &self.table(&section);
        }
        text
    }

    /// The row of a field; an object in it that has a table is added to `below`.
    fn row<'s>(
        &self,
        name: &str,
        field: &'s Value,
        object: &Section<'_>,
        below: &mut Vec<Section<'s>>,
    ) -> String {
        let dot = if object.path.is_empty() { "" } else { "." };
        let path = path_of(&object.path, name);
        let mut shown = code(name);
        if let Some((place, schema)) = self.object(field, path.clone()) {
            let anchor = format!("{}{dot}{}", object.anchor, encoded(name));
            shown = format!("[{shown}](#{anchor})");
            let description = if place == path {
                ""
            } else {
                text_of(schema, "/description")
            };
            below.push(Section {
                path: place,
                anchor,
                description,
                schema,
            });
        }
        let default = field.get("default").map(|value| code(&value.to_string()));
        let is_required = default.is_none() && requires(object.schema, name);
        format!(
            "| {shown} | {} | {} | {} | {} |\n",
            self.kind_of(field, &path, false),
            if is_required { "yes" } else { "" },
            default.unwrap_or_default(),
            self.said_of(field, &path).join("<br>")
        )
    }

    fn foreign(&self, path: &str) -> Option<&'a Foreign> {
        self.crd.foreign.get(self.version)?.get(path)
    }

    /// The schema and path of the object with listed fields that a field, or each of its elements, is.
    fn object<'s>(&self, schema: &'s Value, path: String) -> Option<(String, &'s Value)> {
        if self.foreign(&path).is_some() {
            return None;
        }
        if fields_of(schema).next().is_some() {
            return Some((path, schema));
        }
        ELEMENTS.iter().find_map(|(key, step, ..)| {
            let element = schema.get(key)?;
            self.object(element, format!("{path}{step}"))
        })
    }

    /// The type in words, singular or plural.
    fn kind_of(&self, schema: &Value, path: &str, are_many: bool) -> String {
        if let Some(foreign) = self.foreign(path) {
            return kubernetes::link(&foreign.definition, self.kubernetes);
        }
        let s = if are_many { "s" } else { "" };
        for (key, step, kind, _) in ELEMENTS {
            if let Some(element) = schema.get(key) {
                let elements = self.kind_of(element, &format!("{path}{step}"), true);
                return format!("{kind}{s} of {elements}");
            }
        }
        let is_number_or_string = schema.get("x-kubernetes-int-or-string").is_some();
        match (text_of(schema, "/type"), text_of(schema, "/format")) {
            _ if is_number_or_string => format!("integer{s} or string{s}"),
            ("", _) => format!("any value{s}"),
            (kind, "") => format!("{kind}{s}"),
            (kind, format) => format!("{kind}{s} ({})", inline(format)),
        }
    }

    /// Description and limits of a field, and of its elements if they have no table.
    fn said_of(&self, schema: &Value, path: &str) -> Vec<String> {
        let mut said = Vec::new();
        let settings = self.foreign(path).map(|foreign| &foreign.settings);
        said.extend(given(inline(text_of(schema, "/description"))));
        if schema.get("nullable").is_some() {
            said.push("May be null.".to_owned());
        }
        said.extend(limits::of(settings.unwrap_or(schema)));
        for (key, step, _, words) in ELEMENTS {
            let Some(element) = schema.get(key).filter(|_| settings.is_none()) else {
                continue;
            };
            let below = format!("{path}{step}");
            if fields_of(element).next().is_none() || self.foreign(&below).is_some() {
                let of_element = self.said_of(element, &below).into_iter();
                said.extend(of_element.map(|text| format!("{words}{text}")));
            }
        }
        said
    }
}

/// A description as a paragraph, and notes as a list below it.
pub(super) fn about(description: &str, notes: Vec<String>) -> String {
    let mut text = String::new();
    if !description.is_empty() {
        text += &format!("\n{}\n", paragraph(description));
    }
    if !notes.is_empty() {
        text += &format!("\n- {}\n", notes.join("\n- "));
    }
    text
}

/// A name encoded as a part of an anchor; different names have different encodings.
fn encoded(name: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => char::from(byte).to_string(),
        _ => format!("~{byte:02x}"),
    };
    name.bytes().map(byte).collect()
}
