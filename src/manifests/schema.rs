//! The finishing pass: schemars' two root schemas of a type become one structural OpenAPI v3 schema.
//!
//! It walks the schema for reading (`deserialize`), inlines definitions, and corrects Kubernetes' own
//! types, which it finds by name. The schema for writing (`serialize`) answers only one question: is
//! this field always written, so that it may be null?
//!
//! Everything that the API server would refuse is refused here, all at once, with the path of the field.
//! Pure: JSON in, JSON out. Versions, names and YAML are not handled here, see [`super::crd`].

mod foreign;
mod format;
mod place;
mod refusal;
mod server;
mod strings;
mod structure;
#[cfg(test)]
mod tests;
mod tidy;
mod value;

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use self::place::SchemaPlace;

use super::json::{Object, field_of, list_of, text_of};

pub use self::refusal::{RECURSION_HELP, Reason, Refusal};
pub use self::strings::OF_TIMES;

/// The beginning of the description that kube-derive gives a kind without one.
const DERIVED_DESCRIPTION: &str = "Auto-generated derived type for ";

/// The schema of one version of a kind, as the API server accepts it.
#[derive(Debug)]
pub struct Structural {
    pub schema: Value,
    /// The fields whose type is one of Kubernetes' own, by path. The schema no longer has the names.
    pub foreign: BTreeMap<String, Foreign>,
}

/// A field whose type is one of Kubernetes' own.
#[derive(Clone, Debug, PartialEq)]
pub struct Foreign {
    /// Name of the type's definition, such as `io.k8s.api.core.v1.PodTemplateSpec`.
    pub definition: String,
    /// The user's settings for the field, as keywords of a schema.
    pub settings: Value,
}

/// Makes the schema of one version of a kind from schemars' root schemas of its type.
///
/// Refusals are in the order of the fields. If there is one, there is no schema.
pub fn structural_schema(
    serialize: &Value,
    deserialize: &Value,
) -> Result<Structural, Vec<Refusal>> {
    let deserialize = structure::prepare(deserialize);
    let mut pass = Pass {
        root: &deserialize,
        open: vec![place::ROOT],
        foreign: HashMap::new(),
        places: BTreeMap::new(),
        refusals: Vec::new(),
    };
    let mut root = pass.finish(&deserialize, &SchemaPlace::root(serialize));
    if !pass.refusals.is_empty() {
        return Err(pass.refusals);
    }
    finish_root(&mut root);
    let refusals = server::check(&root);
    if !refusals.is_empty() {
        return Err(refusals);
    }
    Ok(Structural {
        schema: Value::Object(root),
        foreign: pass.places,
    })
}

/// Adds the fields that every object has, and settles the description of the kind.
fn finish_root(root: &mut Object) {
    // The title is the name of the Rust type, which the CRD has already.
    let title = root.remove("title");
    let is_written = |text: &Value| {
        let is_derived = |text: &str| text.is_empty() || text.starts_with(DERIVED_DESCRIPTION);
        Some(text) != title.as_ref() && !text.as_str().is_none_or(is_derived)
    };
    let written = root.remove("description").filter(is_written);
    let description = written.or_else(|| field_of(root, "spec")?.get("description").cloned());
    root.extend(description.map(|text| ("description".to_owned(), text)));
    let mut metadata = json!({ "type": "object" });
    for field in ["generateName", "name"] {
        // The API server accepts a rule that points at it only if the schema has it.
        let path = format!(".metadata.{field}");
        let mut rules = list_of(root, "x-kubernetes-validations").iter();
        if rules.any(|rule| text_of(rule, "fieldPath") == path) {
            metadata["properties"][field] = json!({ "type": "string" });
        }
    }
    let properties = root.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        for name in ["apiVersion", "kind"] {
            properties.insert(name.to_owned(), json!({ "type": "string" }));
        }
        properties.insert("metadata".to_owned(), metadata);
        properties.sort_keys();
    }
    root.sort_keys();
}

struct Pass<'a> {
    root: &'a Value,
    /// The definitions that are being inlined, outermost first.
    open: Vec<&'a str>,
    /// Kubernetes' types that are finished. They are the same in every field.
    foreign: HashMap<&'a str, Object>,
    /// Their fields among the user's own types.
    places: BTreeMap<String, Foreign>,
    refusals: Vec<Refusal>,
}

/// Why a schema was stopped: a new refusal, or none because it was refused further down.
type Stop = Option<Reason>;

impl<'a> Pass<'a> {
    /// Finishes the schema of one field, with everything below it.
    fn finish(&mut self, schema: &'a Value, place: &SchemaPlace<'a>) -> Object {
        match self.finish_node(schema, place) {
            Ok(mut finished) => {
                tidy::settle_null(&mut finished, place.may_be_null);
                finished.sort_keys();
                finished
            }
            Err(reason) => {
                let refusal = reason.map(|reason| Refusal::new(&place.path, reason));
                self.refusals.extend(refusal);
                Object::new()
            }
        }
    }

    fn finish_node(&mut self, schema: &'a Value, place: &SchemaPlace<'a>) -> Result<Object, Stop> {
        if let Some((name, definition)) = self.foreign_type(schema) {
            return self.finish_foreign(name, definition, schema, place);
        }
        let mut unit = self.unit(schema, place)?;
        structure::restructure(&mut unit)?;
        strings::bound(&mut unit);
        if !place.is_foreign {
            tidy::misspelt(&unit).map_or(Ok(()), Err)?;
        }
        tidy::tidy(&mut unit);
        structure::check(&unit)?;
        Ok(unit)
    }

    /// Takes a type of Kubernetes as a whole, with only the user's own description and settings.
    fn finish_foreign(
        &mut self,
        name: &'a str,
        definition: &'a Value,
        schema: &'a Value,
        place: &SchemaPlace<'a>,
    ) -> Result<Object, Stop> {
        if !self.foreign.contains_key(name) {
            self.enter(name)?;
            let mut whole = self.finish(definition, &place.inside_foreign());
            self.open.pop();
            whole.remove("description");
            foreign::overlay(name, &mut whole);
            self.foreign.insert(name, whole);
        }
        let mut settings = schema.as_object().cloned().unwrap_or_default();
        if place.is_foreign {
            settings.remove("description");
        }
        foreign::drop_unfit_default(name, &mut settings);
        tidy::tidy(&mut settings);
        let mut whole = self.foreign.get(name).cloned().unwrap_or_default();
        whole.extend(settings.clone());
        if !place.is_foreign {
            settings.remove("nullable");
            let foreign = Foreign {
                definition: name.to_owned(),
                settings: Value::Object(settings),
            };
            self.places.insert(place.path.clone(), foreign);
        }
        Ok(whole)
    }

    /// Inlines one node and its alternatives, with their finished fields.
    fn unit(&mut self, schema: &'a Value, place: &SchemaPlace<'a>) -> Result<Object, Stop> {
        let mut unit = Object::new();
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            let definition = place::definition(self.root, reference);
            let (name, definition) = definition.ok_or(Reason::Unresolved)?;
            self.enter(name)?;
            let inlined = self.unit(definition, place);
            self.open.pop();
            unit = inlined?;
        }
        for (key, value) in schema.as_object().into_iter().flatten() {
            match (key.as_str(), value) {
                ("$ref" | "$defs", _) => {}
                ("properties", Value::Object(properties)) => {
                    let finished = properties.iter().map(|(name, schema)| {
                        let finished = self.finish(schema, &place.property(name));
                        (name.clone(), Value::Object(finished))
                    });
                    structure::extend(&mut unit, finished.collect());
                }
                ("required", Value::Array(names)) => structure::append(&mut unit, key, names),
                ("items", Value::Object(_) | Value::Bool(_)) => {
                    let finished = self.finish(value, &place.element(key, "[]"));
                    unit.insert(key.clone(), Value::Object(finished));
                    // How it merges, unless the user has said it.
                    if let Some((name, _)) = self.foreign_type(value)
                        && schema.get("x-kubernetes-list-type").is_none()
                    {
                        foreign::overlay(&format!("{name}[]"), &mut unit);
                    }
                }
                // schemars writes this where it flattens an enum, and kube's `crd()` panics on it.
                ("unevaluatedProperties", Value::Bool(false)) => {
                    return Err(Some(Reason::DeniedBesideEnum));
                }
                ("unevaluatedProperties", _) => return Err(Some(Reason::MapBesideEnum)),
                ("additionalProperties", Value::Object(_)) => {
                    let finished = self.finish(value, &place.element(key, ".*"));
                    unit.insert(key.clone(), Value::Object(finished));
                }
                ("anyOf" | "oneOf" | "allOf", Value::Array(members)) => {
                    let units: Result<Vec<_>, Stop> = members
                        .iter()
                        .map(|member| self.unit(member, place).map(Value::Object))
                        .collect();
                    unit.insert(key.clone(), Value::Array(units?));
                }
                ("description", _) if place.is_foreign => {}
                _ => {
                    unit.insert(key.clone(), value.clone());
                }
            }
        }
        Ok(unit)
    }

    /// Opens a definition. The caller closes it.
    fn enter(&mut self, name: &'a str) -> Result<(), Stop> {
        if self.open.contains(&name) {
            let reason = Reason::Recursive {
                definition: name.to_owned(),
            };
            // One type may refer to itself in many fields. Only the first is reported.
            let known = self.refusals.iter().any(|refusal| refusal.reason == reason);
            return Err((!known).then_some(reason));
        }
        self.open.push(name);
        Ok(())
    }

    /// The definition that a schema refers to, if it is one of Kubernetes' own, rather than of the user or of
    /// another crate.
    fn foreign_type(&self, schema: &Value) -> Option<(&'a str, &'a Value)> {
        let definition = place::definition(self.root, text_of(schema, "$ref"));
        definition.filter(|(name, _)| name.starts_with("io.k8s."))
    }
}
