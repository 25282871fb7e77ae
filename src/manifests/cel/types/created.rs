//! Objects that an expression creates: parts of the kind, or operations of a patch. Pure.

use super::super::cost::unescape;
use super::super::{CelError, Expr};
use super::words::did_you_mean;
use super::{Checked, Checker, Type};
use crate::manifests::json::{Object, field_of, fields_of};

impl<'a> Checker<'a, '_> {
    /// A new object: of the kind, of a part of it, or an operation of a patch.
    pub(super) fn created(
        &mut self,
        name: &'a str,
        fields: &'a [(String, usize, Expr)],
        at: usize,
    ) -> Checked<'a> {
        let Some(root) = self.environment.creates else {
            return Err(CelError::new(
                at,
                format!("`{name}` can be created only in mutations"),
            ));
        };
        let created = match name {
            "JSONPatch" => Type::Any,
            _ => part(root, name).map_err(|message| CelError::new(at, message))?,
        };
        for (field, at, value) in fields {
            let wanted = match (name, &created, field.as_str()) {
                ("JSONPatch", _, "op" | "path" | "from") => Type::Text,
                ("JSONPatch", _, "value") => Type::Any,
                ("JSONPatch", ..) => {
                    let message = "`JSONPatch` has the fields `op`, `path`, `from` and `value`";
                    return Err(CelError::new(*at, message));
                }
                (_, Type::Fields(schema), field) => match field_of(*schema, &unescape(field)) {
                    Some(schema) => Type::of(schema),
                    None => {
                        let names = fields_of(*schema).map(|(it, _)| it.as_str());
                        let close = did_you_mean(field, names);
                        let message = format!("`{name}` has no field `{field}`{close}");
                        return Err(CelError::new(*at, message));
                    }
                },
                _ => Type::Any,
            };
            let found = self.of(value)?;
            if !found.meets(&wanted) {
                let message = format!("`{field}` of `{name}` is {wanted}, not {found}");
                return Err(CelError::new(*at, message));
            }
            if name != "JSONPatch" {
                nested(value, &format!("{name}.{field}"))?;
            }
        }
        Ok(Type::Created(name))
    }
}

/// The type of a part of the kind with this schema, such as `Object.spec`; the elements of a list have the name of the
/// list.
fn part<'a>(root: &'a Object, name: &str) -> Result<Type<'a>, String> {
    let mut parts = name.split('.');
    if parts.next() != Some("Object") {
        return Err(format!(
            "`{name}` cannot be created: write `Object{{…}}`, `Object.spec{{…}}` for a field of it, or `JSONPatch{{…}}`"
        ));
    }
    let mut found = Type::of(root);
    let mut path = "Object".to_owned();
    for field in parts {
        while let Type::List(element) | Type::Map(element) = found {
            found = *element;
        }
        if let Type::Fields(schema) = found {
            let Some(inside) = field_of(schema, &unescape(field)) else {
                let close = did_you_mean(field, fields_of(schema).map(|(it, _)| it.as_str()));
                return Err(format!("`{path}` has no field `{field}`{close}"));
            };
            found = Type::of(inside);
        }
        path = format!("{path}.{field}");
    }
    while let Type::List(element) = found {
        found = *element;
    }
    Ok(found)
}

/// Checks the names of objects that are created inside another: they are their paths.
fn nested(value: &Expr, path: &str) -> Result<(), CelError> {
    match value {
        Expr::Message { name, at, .. } if name != path && name.starts_with("Object") => Err(
            CelError::new(*at, format!("this object must be `{path}`, not `{name}`")),
        ),
        Expr::List(items) => items.iter().try_for_each(|item| nested(item, path)),
        _ => Ok(()),
    }
}
