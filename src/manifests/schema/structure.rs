//! Makes nodes structural: kube's and schemars' own transforms, and the checks around them.
//!
//! kube-derive runs `AddNullable`, `RemoveRefSiblings`, `SetSingleExample`, `ReplaceConstValue`,
//! `ReplacePrefixItems`, `StructuralSchemaRewriter`, `OptionalEnum`, `OptionalIntOrString`. [`Options`] is here
//! for the last two, and [`Alternatives`] for the rewriter, which panics on alternatives that contradict each
//! other. The others have nothing left to do: references are inlined with their siblings, and tuples are refused.

use schemars::Schema;
use schemars::transform::{
    AddNullable, ReplaceConstValue, SetSingleExample, Transform, transform_subschemas,
};
use serde_json::{Value, json};

use super::{Object, Reason};
use crate::manifests::json::{is_true, list_of};
use crate::names::is_among;

/// Runs the transforms that are the same for every node of a root schema.
pub(super) fn prepare(root: &Value) -> Value {
    let mut schema = Schema::try_from(root.clone()).unwrap_or_default();
    Options.transform(&mut schema);
    AddNullable::default().transform(&mut schema);
    SetSingleExample::default().transform(&mut schema);
    ReplaceConstValue::default().transform(&mut schema);
    schema.to_value()
}

/// Makes a node `nullable` if one of its alternatives is null, and puts the type of an `Option` in its place.
struct Options;

impl Transform for Options {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let is_null = |member: &Value| member["type"] == "null";
        let mut is_nullable = false;
        for key in ["oneOf", "anyOf", "allOf"] {
            let Some(members) = schema.get_mut(key).and_then(Value::as_array_mut) else {
                continue;
            };
            let is_option = matches!(&members[..], [one, null] if !is_null(one) && is_null(null));
            is_nullable |= members
                .iter()
                .any(|it| is_null(it) || is_true(it, "nullable"));
            members.retain(|member| !is_null(member));
            if key == "anyOf" && is_option {
                let mut inner = members[0].take();
                schema.remove(key);
                for (key, value) in inner.as_object_mut().into_iter().flatten() {
                    // The keyword of the `Option` wins.
                    let known = schema.ensure_object().entry(key);
                    known.or_insert_with(|| value.take());
                }
            }
        }
        if is_nullable {
            schema.insert("nullable".to_owned(), true.into());
        }
    }
}

/// Adds properties to those of a definition.
pub(super) fn extend(unit: &mut Object, properties: Object) {
    if properties.is_empty() {
        return;
    }
    let known = unit.entry("properties").or_insert_with(|| json!({}));
    if let Some(known) = known.as_object_mut() {
        known.extend(properties);
    }
}

/// Adds values to a list, such as required fields to those of a definition.
pub(super) fn append(unit: &mut Object, key: &str, values: &[Value]) {
    let known = unit.entry(key).or_insert_with(|| json!([]));
    if let Some(known) = known.as_array_mut() {
        known.extend_from_slice(values);
    }
}

/// Describes a node without the help of its alternatives. Its fields are finished.
pub(super) fn restructure(unit: &mut Object) -> Result<(), Reason> {
    if unit.contains_key("prefixItems") || unit.get("items").is_some_and(Value::is_array) {
        return Err(Reason::Tuple);
    }
    // Only this `anyOf` may name types.
    match unit.contains_key("x-kubernetes-int-or-string") {
        true => Ok(()),
        false => Alternatives::move_up(unit),
    }
}

/// Keywords that only objects have.
const OF_OBJECTS: &str = "additionalProperties maxProperties minProperties patternProperties properties \
                          propertyNames required";

/// Moves what alternatives describe up to their node: a CRD does not allow more than conditions in them.
#[derive(Default)]
struct Alternatives {
    kind: Option<Value>,
    /// The first field on which they disagree. The tag of an enum is a better explanation.
    conflict: Option<Reason>,
}

impl Alternatives {
    fn move_up(node: &mut Object) -> Result<(), Reason> {
        let mut alternatives = Self::default();
        alternatives.of_node(node)?;
        alternatives.conflict.map_or(Ok(()), Err)
    }

    fn of_node(&mut self, node: &mut Object) -> Result<(), Reason> {
        if let Some(kind) = node.get("type")
            && self.kind.get_or_insert_with(|| kind.clone()) != kind
        {
            return Err(Reason::MixedEnum);
        }
        for key in ["oneOf", "anyOf", "allOf"] {
            let Some(Value::Array(members)) = node.remove(key) else {
                continue;
            };
            let mut rest = Vec::with_capacity(members.len());
            for mut member in members {
                if let Some(member) = member.as_object_mut() {
                    self.of_member(member, key, node)?;
                }
                // The values of an enum without content are those of its node.
                match member.get("enum").and_then(Value::as_array) {
                    Some(values) if key == "oneOf" => append(node, "enum", values),
                    _ => rest.push(member),
                }
            }
            if !rest.is_empty() {
                node.insert(key.to_owned(), rest.into());
            }
        }
        Ok(())
    }

    /// Moves what one member describes up, except conditions: which fields are required, and how many there are.
    fn of_member(
        &mut self,
        member: &mut Object,
        key: &str,
        node: &mut Object,
    ) -> Result<(), Reason> {
        let kind = member.get("type");
        if key == "anyOf" && kind.is_some_and(|kind| kind != "object") {
            return Err(Reason::UntaggedEnum);
        }
        if key == "allOf" {
            // Nothing of this member is moved up, so it must agree only with itself.
            return Self::move_up(member);
        }
        self.of_node(member)?;
        let has = |keys: &str| member.keys().any(|key| is_among(keys, key));
        let is_object = has(OF_OBJECTS);
        if !is_object && has("anyOf items oneOf") {
            return Ok(());
        }
        let kind = member.remove("type");
        if let Some(kind) = kind.filter(|_| is_object || member.contains_key("enum")) {
            node.entry("type").or_insert(kind);
        }
        member.remove("additionalProperties");
        let Some(Value::Object(mut properties)) = member.remove("properties") else {
            return Ok(());
        };
        if let ("oneOf", 1, Some(description)) =
            (key, properties.len(), member.remove("description"))
        {
            // The doc comment of a variant describes its only field.
            for property in properties.values_mut().filter_map(Value::as_object_mut) {
                property.insert("description".to_owned(), description.clone());
                property.sort_keys();
            }
        }
        let known = node.entry("properties").or_insert_with(|| json!({}));
        let is_tag = |property: &Value| list_of(property, "enum").len() == 1;
        for (name, property) in properties {
            match known.get(&name) {
                None => known[name] = property,
                Some(known) if *known == property => {}
                Some(known) if is_tag(known) && is_tag(&property) => {
                    return Err(Reason::TaggedEnum { tag: name });
                }
                Some(_) => {
                    let conflict = Reason::ConflictingField { field: name };
                    self.conflict.get_or_insert(conflict);
                }
            }
        }
        Ok(())
    }
}

/// Refuses what the API server calls non-structural in a finished node.
///
/// <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema>
pub(super) fn check(unit: &Object) -> Result<(), Reason> {
    let is_number = |key: &str| unit.get(key).is_some_and(Value::is_number);
    if is_number("exclusiveMaximum") || is_number("exclusiveMinimum") {
        return Err(Reason::ExclusiveNumber);
    }
    if unit.contains_key("patternProperties") {
        return Err(Reason::RestrictedKeys);
    }
    if unit.contains_key("properties") && unit.contains_key("additionalProperties") {
        return Err(Reason::FlattenedMap);
    }
    let nested = ["properties", "type", "additionalProperties", "items"];
    if list_of(unit, "allOf")
        .iter()
        .any(|member| nested.iter().any(|key| member.get(key).is_some()))
    {
        return Err(Reason::FlattenedEnums);
    }
    match unit.get("type") {
        Some(Value::Array(_)) => Err(Reason::ManyTypes),
        Some(kind) if kind == "array" && !unit.contains_key("items") => Err(Reason::AnyValue),
        Some(_) => Ok(()),
        None if is_true(unit, "x-kubernetes-int-or-string") => Ok(()),
        None if is_true(unit, "x-kubernetes-preserve-unknown-fields") => Ok(()),
        None if unit.get("enum") == Some(&json!([null])) => Err(Reason::Unit),
        None if unit.contains_key("anyOf") || unit.contains_key("oneOf") => {
            Err(Reason::UntaggedEnum)
        }
        None => Err(Reason::AnyValue),
    }
}
