//! Makes one node structural: kube's and schemars' own transforms, and the checks around them.
//!
//! kube-derive runs `AddNullable`, `RemoveRefSiblings`, `SetSingleExample`, `ReplaceConstValue`,
//! `ReplacePrefixItems`, `StructuralSchemaRewriter`, `OptionalEnum`, `OptionalIntOrString`. Those
//! that are missing here have nothing left to do: references are inlined with their siblings,
//! tuples are refused, and null depends on how a field is written, not on how it is read.

use kube_core::schema::StructuralSchemaRewriter;
use schemars::{
    Schema,
    transform::{AddNullable, ReplaceConstValue, SetSingleExample, Transform},
};
use serde_json::{Map, Value, json};

use super::{Object, Reason};
use crate::manifests::json::{fields_of, is_true, list_of};

/// The key of a stub. It exists only between [`Stubs::leave`] and [`Stubs::restore`].
const STUB: &str = "x-kbr-stub";

/// The finished fields of a node, while stubs are in their places, each with the number of stubs that refer to
/// it. The last of these takes the field, since copies are the expensive part here.
#[derive(Default)]
pub(super) struct Stubs(Vec<(Object, usize)>);

impl Stubs {
    /// Keeps a finished field and returns its stub. Equal fields share one, to stay equal.
    pub(super) fn leave(&mut self, finished: Object) -> Value {
        let existing = self.0.iter().position(|(known, _)| *known == finished);
        let index = existing.unwrap_or(self.0.len());
        if existing.is_none() {
            self.0.push((finished, 0));
        }
        self.0[index].1 += 1;
        json!({ STUB: index })
    }

    fn index(&self, stub: &Value) -> Option<usize> {
        let index = usize::try_from(stub.get(STUB)?.as_u64()?).ok()?;
        (index < self.0.len()).then_some(index)
    }

    /// Puts the fields back in the places of their stubs.
    pub(super) fn restore(&mut self, unit: &mut Object) {
        for value in unit.values_mut() {
            self.restore_value(value);
        }
    }

    fn restore_value(&mut self, value: &mut Value) {
        if let Some(index) = self.index(value) {
            let (finished, stubs) = &mut self.0[index];
            *stubs = stubs.saturating_sub(1);
            let mut schema = match *stubs {
                0 => std::mem::take(finished),
                _ => finished.clone(),
            };
            // kube moves the description of a variant to its only field, which is the stub.
            if let Some(description) = value.get("description") {
                schema.insert("description".to_owned(), description.clone());
                schema.sort_keys();
            }
            *value = Value::Object(schema);
            return;
        }
        match value {
            Value::Object(object) => self.restore(object),
            Value::Array(values) => {
                for value in values {
                    self.restore_value(value);
                }
            }
            _ => {}
        }
    }
}

/// Adds properties to those of a definition.
pub(super) fn extend(unit: &mut Object, key: &str, properties: Object) {
    match unit.get_mut(key).and_then(Value::as_object_mut) {
        Some(known) => known.extend(properties),
        None => {
            unit.insert(key.to_owned(), Value::Object(properties));
        }
    }
}

/// Adds required fields to those of a definition.
pub(super) fn require(unit: &mut Object, names: &[Value]) {
    let required = unit.entry("required").or_insert_with(|| json!([]));
    if let Some(required) = required.as_array_mut() {
        required.extend_from_slice(names);
    }
}

/// Runs the transforms on a node whose fields are stubs.
pub(super) fn restructure(unit: &mut Object, stubs: &Stubs) -> Result<(), Reason> {
    if unit.contains_key("prefixItems") || unit.get("items").is_some_and(Value::is_array) {
        return Err(Reason::Tuple);
    }
    let mut schema = Schema::from(std::mem::take(unit));
    AddNullable::default().transform(&mut schema);
    SetSingleExample::default().transform(&mut schema);
    ReplaceConstValue::default().transform(&mut schema);
    // Only this `anyOf` may name types. The rewriter would take them for an enum.
    let is_int_or_string = schema.get("x-kubernetes-int-or-string").is_some();
    let only_restricts = ["allOf", "anyOf", "oneOf"]
        .into_iter()
        .all(|key| only_restrict(list_of(schema.as_value(), key)));
    let has_flattened_map =
        schema.get("properties").is_some() && schema.get("additionalProperties").is_some();
    if has_alternatives(&schema) && !is_int_or_string && (has_flattened_map || !only_restricts) {
        Alternatives::compare(schema.as_value(), stubs)?;
        StructuralSchemaRewriter.transform(&mut schema);
    }
    *unit = std::mem::take(schema.ensure_object());
    Ok(())
}

/// Whether alternatives only restrict what the node itself describes, as those of a CRD do: the user wrote them, since
/// schemars always says of which type they are. They stay as they are.
pub(super) fn only_restrict(members: &[Value]) -> bool {
    let describes = ["$ref", "const", "type"];
    members.iter().all(|member| {
        !describes.iter().any(|key| member.get(key).is_some())
            && fields_of(member).all(|(_, field)| only_restrict(std::slice::from_ref(field)))
            && ["allOf", "anyOf", "oneOf"]
                .iter()
                .all(|key| only_restrict(list_of(member, key)))
    })
}

/// Whether kube's rewriter would change anything, which is rare; running it is not cheap.
fn has_alternatives(schema: &Schema) -> bool {
    let has = |key| schema.get(key).is_some();
    ["allOf", "anyOf", "not", "oneOf"].into_iter().any(has)
        || has("properties") && has("additionalProperties")
}

/// The combined keywords of a node's alternatives, which kube's rewriter would move up to the node.
///
/// The rewriter panics if the alternatives contradict each other, so they are compared beforehand.
#[derive(Default)]
struct Alternatives<'a> {
    kind: Option<&'a Value>,
    properties: Map<String, Value>,
    /// The first field on which they disagree. The tag of an enum is a better explanation.
    conflict: Option<Reason>,
}

impl<'a> Alternatives<'a> {
    fn compare(schema: &'a Value, stubs: &Stubs) -> Result<(), Reason> {
        let mut alternatives = Self::default();
        alternatives.add(schema, stubs)?;
        alternatives.conflict.map_or(Ok(()), Err)
    }

    fn add(&mut self, schema: &'a Value, stubs: &Stubs) -> Result<(), Reason> {
        if let Some(kind) = schema.get("type")
            && self.kind.replace(kind).is_some_and(|known| known != kind)
        {
            return Err(Reason::MixedEnum);
        }
        for (name, property) in fields_of(schema) {
            self.add_property(name, property, stubs)?;
        }
        for key in ["oneOf", "anyOf", "allOf"] {
            for member in list_of(schema, key) {
                let kind = member.get("type");
                if key == "anyOf" && kind.is_some_and(|kind| kind != "object") {
                    return Err(Reason::UntaggedEnum);
                }
                if key == "allOf" {
                    // This member is not moved up, so it must agree only with itself.
                    Self::compare(member, stubs)?;
                } else {
                    self.add(member, stubs)?;
                }
            }
        }
        Ok(())
    }

    fn add_property(&mut self, name: &str, property: &Value, stubs: &Stubs) -> Result<(), Reason> {
        let Some(known) = self.properties.insert(name.to_owned(), property.clone()) else {
            return Ok(());
        };
        if known.get(STUB) == property.get(STUB) {
            return Ok(());
        }
        let is_tag = |stub: &Value| {
            let index = stubs.index(stub);
            index.is_some_and(|index| list_of(&stubs.0[index].0, "enum").len() == 1)
        };
        let field = name.to_owned();
        if is_tag(&known) && is_tag(property) {
            return Err(Reason::TaggedEnum { tag: field });
        }
        let conflict = &mut self.conflict;
        conflict.get_or_insert(Reason::ConflictingField { field });
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
