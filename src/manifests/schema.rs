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

use self::place::{Definitions, Node, SchemaPlace};
use self::structure::Stubs;

use super::json::{Object, field_of, list_of, text_of};

pub(crate) use self::refusal::{RECURSION_HELP, Reason, Refusal};
pub(crate) use self::strings::OF_TIMES;

/// The beginning of the description that kube-derive gives a kind without one.
const DERIVED_DESCRIPTION: &str = "Auto-generated derived type for ";

/// The keyword that holds alternatives with fields of their own: kube would move the fields out of them.
pub(crate) const RESTRICTIONS: &str = "x-kbr-restrictions";

/// The keyword by which a field, or a type, says that the floating-point numbers in it are meant.
pub(crate) const FLOAT: &str = "x-kbr-float";

/// The schema of one version of a kind, as the API server accepts it.
#[derive(Debug)]
pub(crate) struct Structural {
    pub(crate) schema: Value,
    /// The fields whose type is one of Kubernetes' own, by path. The schema no longer has the names.
    pub(crate) foreign: BTreeMap<String, Foreign>,
}

/// A field whose type is one of Kubernetes' own.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Foreign {
    /// Name of the type's definition, such as `io.k8s.api.core.v1.PodTemplateSpec`.
    pub(crate) definition: String,
    /// The user's settings for the field, as keywords of a schema.
    pub(crate) settings: Value,
}

/// Makes the schema of one version of a kind from schemars' root schemas of its type.
///
/// Refusals are in the order of the fields. If there is one, there is no schema.
pub(crate) fn structural_schema(
    serialize: &Value,
    deserialize: &Value,
) -> Result<Structural, Vec<Refusal>> {
    let mut pass = Pass {
        definitions: Definitions::of(deserialize),
        open: vec![place::ROOT],
        foreign: HashMap::new(),
        places: BTreeMap::new(),
        refusals: Vec::new(),
        are_floats_meant: false,
    };
    let mut root = pass.finish(deserialize, &SchemaPlace::root(serialize));
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

/// The finished schemas of Kubernetes' own types among the definitions of a root schema, by their names.
pub(crate) fn kubernetes_schemas(root: &Value) -> BTreeMap<String, Value> {
    let mut pass = Pass {
        definitions: Definitions::of(root),
        open: vec![place::ROOT],
        foreign: HashMap::new(),
        places: BTreeMap::new(),
        refusals: Vec::new(),
        are_floats_meant: false,
    };
    let place = SchemaPlace::root(root).inside_foreign();
    let names = root.get("$defs").and_then(Value::as_object);
    let names = names.into_iter().flat_map(|all| all.keys());
    let finished = names.filter(|name| foreign::is_foreign(name)).map(|name| {
        let schema = pass.finish_foreign(name, &Node::default(), &place);
        (name.clone(), Value::Object(schema.unwrap_or_default()))
    });
    finished.collect()
}

/// What an API server would refuse in a structural schema that somebody else wrote: its defaults, patterns and rules.
pub(crate) fn refused_by_server(schema: &Value) -> Vec<Refusal> {
    schema.as_object().map(server::check).unwrap_or_default()
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
    definitions: Definitions<'a>,
    /// The definitions that are being inlined, outermost first.
    open: Vec<&'a str>,
    /// Kubernetes' types that are finished. They are the same in every field.
    foreign: HashMap<&'a str, Object>,
    /// Their fields among the user's own types.
    places: BTreeMap<String, Foreign>,
    refusals: Vec<Refusal>,
    /// Whether the node that is being finished, or one around it, has [`FLOAT`].
    are_floats_meant: bool,
}

/// Why a schema was stopped: a new refusal, or none because it was refused further down.
type Stop = Option<Reason>;

impl<'a> Pass<'a> {
    /// Finishes the schema of one field, with everything below it.
    fn finish(&mut self, schema: &'a Value, place: &SchemaPlace<'a>) -> Object {
        let node = Node::of(schema);
        match self.finish_node(&node, place) {
            Ok(mut finished) => {
                // schemars never writes the keyword, so the user did.
                let may_be_null = place.may_be_null || self.says_nullable(&node);
                tidy::settle_null(&mut finished, node.nullable, may_be_null);
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

    fn finish_node(&mut self, node: &Node<'a>, place: &SchemaPlace<'a>) -> Result<Object, Stop> {
        if let Some(name) = self.foreign_name(node) {
            return self.finish_foreign(name, node, place);
        }
        let mut stubs = Stubs::default();
        let mut unit = self.unit(node, place, &mut stubs)?;
        structure::restructure(&mut unit, &stubs)?;
        stubs.restore(&mut unit);
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
        let mut settings = node.settings(place.is_foreign);
        foreign::drop_unfit_default(name, &mut settings);
        tidy::tidy(&mut settings);
        if !place.is_foreign {
            let foreign = Foreign {
                definition: name.to_owned(),
                settings: Value::Object(settings.clone()),
            };
            self.places.insert(place.path.clone(), foreign);
        }
        let mut schema = self.foreign.get(name).cloned().unwrap_or_default();
        schema.extend(settings);
        Ok(schema)
    }

    /// Inlines one node and its alternatives, unless it is a floating-point number that is not meant.
    fn unit(
        &mut self,
        node: &Node<'a>,
        place: &SchemaPlace<'a>,
        stubs: &mut Stubs,
    ) -> Result<Object, Stop> {
        let outside = self.are_floats_meant;
        self.are_floats_meant |= place.is_foreign || node.says(FLOAT);
        let unit = if node.is_float() && !self.are_floats_meant {
            Err(Some(Reason::Float))
        } else {
            self.inlined(node, place, stubs)
        };
        self.are_floats_meant = outside;
        unit
    }

    /// Inlines one node and its alternatives, and leaves stubs for its finished fields.
    ///
    /// This keeps a unit small however deep the type is, which matters because kube's rewriter
    /// serializes everything below a node each time it visits one.
    fn inlined(
        &mut self,
        node: &Node<'a>,
        place: &SchemaPlace<'a>,
        stubs: &mut Stubs,
    ) -> Result<Object, Stop> {
        let mut unit = match node.reference {
            Some(reference) => {
                let name = self.definitions.name(reference);
                let definition = self.enter(name.ok_or(Reason::Unresolved)?)?;
                let unit = self.unit(&Node::of(definition), place, stubs);
                self.open.pop();
                unit?
            }
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
                    let finished = self.finish(value, &place.element(key, "[]"));
                    unit.insert(key.to_owned(), stubs.leave(finished));
                    // How it merges, unless the user has said it.
                    if let Some(name) = self.foreign_name(&Node::of(value))
                        && !node.has("x-kubernetes-list-type")
                    {
                        foreign::overlay_list(name, &mut unit);
                    }
                }
                // schemars writes this where it flattens an enum, and kube's `crd()` panics on it.
                ("unevaluatedProperties", Value::Bool(false)) => {
                    return Err(Some(Reason::DeniedBesideEnum));
                }
                ("unevaluatedProperties", _) => return Err(Some(Reason::MapBesideEnum)),
                ("additionalProperties", Value::Object(_)) => {
                    let finished = self.finish(value, &place.element(key, ".*"));
                    unit.insert(key.to_owned(), stubs.leave(finished));
                }
                ("anyOf" | "oneOf" | "allOf", Value::Array(members))
                    if !structure::only_restrict(members) =>
                {
                    let units = self.alternatives(members, place, stubs, &mut unit)?;
                    unit.insert(key.to_owned(), Value::Array(units));
                }
                (RESTRICTIONS, Value::Object(all)) => unit.extend(all.clone()),
                ("description", _) if place.is_foreign => {}
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
            let (node, is_null) = (Node::of(member), place::is_null(member));
            if is_null || node.nullable {
                unit.insert("nullable".to_owned(), true.into());
            }
            if !is_null {
                units.push(Value::Object(self.unit(&node, place, stubs)?));
            }
        }
        Ok(units)
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

    /// Whether the field, or its type, has `"nullable": true`.
    fn says_nullable(&self, node: &Node<'a>) -> bool {
        let definition = node.reference.and_then(|it| self.definitions.name(it));
        let of_type = definition.and_then(|name| self.definitions.get(name));
        node.says("nullable") || of_type.is_some_and(|it| it.get("nullable") == Some(&json!(true)))
    }

    fn foreign_name(&self, node: &Node<'a>) -> Option<&'a str> {
        let name = self.definitions.name(node.reference?)?;
        foreign::is_foreign(name).then_some(name)
    }
}
