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

use self::place::{Definitions, Node, SchemaPlace, Written};
use self::structure::Stubs;

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
    let mut pass = Pass {
        definitions: Definitions::of(deserialize),
        open: vec![place::ROOT],
        foreign: HashMap::new(),
        places: BTreeMap::new(),
        refusals: Vec::new(),
    };
    let written = Written::of(Definitions::of(serialize), serialize);
    let mut root = pass.finish(deserialize, &SchemaPlace::root(written));
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
    if title.is_some() && root.get("description") == title.as_ref() {
        root.remove("description");
    }
    let description = text_of(root, "description");
    if description.is_empty() || description.starts_with(DERIVED_DESCRIPTION) {
        root.remove("description");
        let of_spec = field_of(root, "spec").and_then(|spec| spec.get("description"));
        if let Some(text) = of_spec.cloned() {
            root.insert("description".to_owned(), text);
        }
    }
    let mut pointed_at = vec!["generateName", "name"];
    pointed_at.retain(|field| is_named_by_rule(root, field));
    let properties = root
        .entry("properties")
        .or_insert_with(|| json!({}))
        .as_object_mut();
    if let Some(properties) = properties {
        for (name, kind) in [
            ("apiVersion", "string"),
            ("kind", "string"),
            ("metadata", "object"),
        ] {
            properties.insert(name.to_owned(), json!({ "type": kind }));
        }
        // The API server accepts only a path that leads to a field of the schema.
        for name in pointed_at {
            properties["metadata"]["properties"][name] = json!({ "type": "string" });
        }
        properties.sort_keys();
    }
    root.sort_keys();
}

/// Whether a rule on the whole object points at that field of its metadata.
fn is_named_by_rule(root: &Object, field: &str) -> bool {
    let path = format!(".metadata.{field}");
    let mut rules = list_of(root, "x-kubernetes-validations").iter();
    rules.any(|rule| text_of(rule, "fieldPath") == path)
}

struct Pass<'a> {
    definitions: Definitions<'a>,
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
        let node = Node::of(schema);
        match self.finish_node(&node, place) {
            Ok(mut finished) => {
                tidy::settle_null(&mut finished, node.nullable, place.may_be_null());
                finished.sort_keys();
                finished
            }
            Err(reason) => {
                self.refusals
                    .extend(reason.map(|reason| place.refuse(reason)));
                Object::new()
            }
        }
    }

    fn finish_node(&mut self, node: &Node<'a>, place: &SchemaPlace<'a>) -> Result<Object, Stop> {
        if let Some(name) = self.foreign_name(node) {
            return self.finish_foreign(name, node, place);
        }
        let mut stubs = Stubs::default();
        let mut unit = self.unit(node, place, &mut stubs)?;
        structure::restructure(&mut unit, &stubs)?;
        stubs.restore(&mut unit);
        strings::bound(&mut unit);
        if !place.is_foreign()
            && let Some(reason) = tidy::misspelt(&unit)
        {
            return Err(Some(reason));
        }
        tidy::tidy(&mut unit);
        structure::check(&unit)?;
        Ok(unit)
    }

    /// Takes a type of Kubernetes as a whole, with only the user's own description and settings.
    fn finish_foreign(
        &mut self,
        name: &'a str,
        node: &Node<'a>,
        place: &SchemaPlace<'a>,
    ) -> Result<Object, Stop> {
        if !self.foreign.contains_key(name) {
            let definition = self.enter(name)?;
            let mut schema = self.finish(definition, &place.inside_foreign());
            self.open.pop();
            schema.remove("description");
            foreign::overlay(name, &mut schema);
            self.foreign.insert(name, schema);
        }
        let mut settings = node.settings(place.is_foreign());
        foreign::drop_unfit_default(name, &mut settings);
        tidy::tidy(&mut settings);
        if !place.is_foreign() {
            let foreign = Foreign {
                definition: name.to_owned(),
                settings: Value::Object(settings.clone()),
            };
            self.places.insert(place.path().to_owned(), foreign);
        }
        let mut schema = self.foreign.get(name).cloned().unwrap_or_default();
        schema.extend(settings);
        Ok(schema)
    }

    /// Inlines one node and its alternatives, and leaves stubs for its finished fields.
    ///
    /// This keeps a unit small however deep the type is, which matters because kube's rewriter
    /// serializes everything below a node each time it visits one.
    fn unit(
        &mut self,
        node: &Node<'a>,
        place: &SchemaPlace<'a>,
        stubs: &mut Stubs,
    ) -> Result<Object, Stop> {
        let mut unit = match node.reference {
            Some(reference) => self.unit_of_definition(reference, place, stubs)?,
            None => Object::new(),
        };
        for &(key, value) in &node.entries {
            match (key, value) {
                ("properties", Value::Object(properties)) => {
                    let finished = properties.iter().map(|(name, schema)| {
                        let finished = self.finish(schema, &place.property(name));
                        (name.clone(), stubs.leave(finished))
                    });
                    structure::extend(&mut unit, key, finished.collect());
                }
                ("required", Value::Array(names)) => structure::require(&mut unit, names),
                ("items", Value::Object(_) | Value::Bool(_)) => {
                    let finished = self.finish(value, &place.items());
                    unit.insert(key.to_owned(), stubs.leave(finished));
                    self.settle_list(value, node, &mut unit);
                }
                // schemars writes this where it flattens an enum, and kube's `crd()` panics on it.
                ("unevaluatedProperties", Value::Bool(false)) => {
                    return Err(Some(Reason::DeniedBesideEnum));
                }
                ("unevaluatedProperties", _) => return Err(Some(Reason::MapBesideEnum)),
                ("additionalProperties", Value::Object(_)) => {
                    let finished = self.finish(value, &place.values());
                    unit.insert(key.to_owned(), stubs.leave(finished));
                }
                ("anyOf" | "oneOf" | "allOf", Value::Array(members)) => {
                    let units = self.alternatives(members, place, stubs, &mut unit)?;
                    unit.insert(key.to_owned(), Value::Array(units));
                }
                ("description", _) if place.is_foreign() => {}
                _ => {
                    unit.insert(key.to_owned(), value.clone());
                }
            }
        }
        Ok(unit)
    }

    /// The members of `anyOf` and similar keywords. A null member makes the whole node `nullable`.
    fn alternatives(
        &mut self,
        members: &'a [Value],
        place: &SchemaPlace<'a>,
        stubs: &mut Stubs,
        unit: &mut Object,
    ) -> Result<Vec<Value>, Stop> {
        let mut units = Vec::with_capacity(members.len());
        for member in members {
            if place::is_null(member) {
                unit.insert("nullable".to_owned(), true.into());
                continue;
            }
            let member = Node::of(member);
            if member.nullable {
                unit.insert("nullable".to_owned(), true.into());
            }
            units.push(Value::Object(self.unit(&member, place, stubs)?));
        }
        Ok(units)
    }

    fn unit_of_definition(
        &mut self,
        reference: &'a str,
        place: &SchemaPlace<'a>,
        stubs: &mut Stubs,
    ) -> Result<Object, Stop> {
        let name = self.definitions.name(reference).ok_or(Reason::Unresolved)?;
        let definition = self.enter(name)?;
        let unit = self.unit(&Node::of(definition), place, stubs);
        self.open.pop();
        unit
    }

    /// Opens a definition. The caller closes it.
    fn enter(&mut self, name: &'a str) -> Result<&'a Value, Stop> {
        if self.open.contains(&name) {
            let reason = Reason::Recursive {
                definition: name.to_owned(),
            };
            // One type may refer to itself in many fields. Only the first is reported.
            let known = self.refusals.iter().any(|refusal| refusal.reason == reason);
            return Err((!known).then_some(reason));
        }
        let definition = self.definitions.get(name).ok_or(Reason::Unresolved)?;
        self.open.push(name);
        Ok(definition)
    }

    fn foreign_name(&self, node: &Node<'a>) -> Option<&'a str> {
        let name = self.definitions.name(node.reference?)?;
        foreign::is_foreign(name).then_some(name)
    }

    /// Sets how a list of a type of Kubernetes merges, unless the user did.
    fn settle_list(&self, items: &'a Value, list: &Node<'a>, unit: &mut Object) {
        if list.has("x-kubernetes-list-type") {
            return;
        }
        if let Some(name) = self.foreign_name(&Node::of(items)) {
            foreign::overlay_list(name, unit);
        }
    }
}
