//! What Go sources say about the struct at a place. Pure.

use crate::import::hints::{GoField, GoPackage, GoType};

/// What Go says about the struct at a place.
#[derive(Clone, Copy, Default)]
pub(crate) struct Go<'a> {
    package: Option<&'a GoPackage>,
    pub(crate) name: &'a str,
}

impl<'a> Go<'a> {
    pub(crate) fn of(package: Option<&'a GoPackage>, name: &'a str) -> Self {
        Self { package, name }
    }

    pub(crate) fn declared(self) -> Option<&'a GoType> {
        self.package?.types.get(self.name)
    }

    /// Its fields with those of inlined structs, in order.
    pub(crate) fn fields(self) -> Vec<&'a GoField> {
        let mut fields = Vec::new();
        self.add_fields(&mut fields, 0);
        fields
    }

    fn add_fields(self, fields: &mut Vec<&'a GoField>, depth: usize) {
        for field in self.declared().iter().flat_map(|it| &it.fields) {
            match field.json.is_empty() {
                // A struct cannot contain itself, but a broken source can say so.
                true if depth < 8 => Self {
                    name: &field.type_name,
                    ..self
                }
                .add_fields(fields, depth + 1),
                true => {}
                false => fields.push(field),
            }
        }
    }

    pub(crate) fn field(self, name: &str) -> Self {
        let field = self.fields().into_iter().find(|field| field.json == name);
        Self {
            name: field.map_or("", |field| &field.type_name),
            ..self
        }
    }

    /// Where a field is in the source.
    pub(crate) fn place(self, name: &str) -> Option<usize> {
        self.fields().iter().position(|field| field.json == name)
    }
}
