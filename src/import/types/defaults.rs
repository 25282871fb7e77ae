//! The functions that return the defaults of fields. Pure.

use std::fmt::Write;

use serde_json::Value;

use super::form::{Form, form, has_defaults};
use super::model::{Body, Field, Shape, Struct};
use super::names::{others, plain, variants};
use super::render::Module;
use super::text::{self, literal};

impl Module<'_> {
    /// The functions that return defaults, and the default of the struct if they are needed for it.
    pub(super) fn defaults(&mut self, name: &str, structure: &Struct, idents: &[String]) {
        if !has_defaults(self.group, structure) {
            return;
        }
        let _ = writeln!(self.text, "\nimpl {name} {{");
        let mut is_first = true;
        let mut values = String::new();
        for (field, ident) in structure.fields.iter().zip(idents) {
            if form(self.group, field) != Form::Defaulted {
                let _ = writeln!(values, "            {ident}: Default::default(),");
                continue;
            }
            let function = format!("default_{}", plain(ident));
            let _ = writeln!(values, "            {ident}: Self::{function}(),");
            let ty = self.shape(&field.shape);
            let value = self.value(field);
            if !std::mem::take(&mut is_first) {
                self.text.push('\n');
            }
            let head = format!("    fn {function}() -> {ty} {{");
            match head.len() > text::WIDTH {
                true if head.len() <= text::WIDTH + 2 => {
                    let _ = writeln!(self.text, "    fn {function}() -> {ty}\n    {{");
                }
                true => {
                    let _ = writeln!(self.text, "    fn {function}()\n    -> {ty} {{");
                }
                false => {
                    let _ = writeln!(self.text, "{head}");
                }
            }
            let _ = writeln!(self.text, "        {value}\n    }}");
        }
        self.text += "}\n";
        if !self.group.is_default(structure) {
            return;
        }
        if structure.is_open {
            let _ = writeln!(
                values,
                "            {}: Default::default(),",
                others(idents)
            );
        }
        let _ = writeln!(
            self.text,
            "\nimpl Default for {name} {{\n    fn default() -> Self {{\n        Self {{\n{values}        }}\n    }}\n}}"
        );
    }

    /// The default of a field as an expression.
    fn value(&mut self, field: &Field) -> String {
        let default = field.default.as_ref().unwrap_or(&Value::Null);
        match (&field.shape, default) {
            (Shape::Defined(id), Value::String(text)) => {
                let Body::Enum(values) = &self.group.definitions[*id].body else {
                    return String::new();
                };
                let at = values.iter().position(|it| it == text).unwrap_or_default();
                let variant = variants(values)[at].clone();
                format!("{}::{variant}", self.name(*id))
            }
            (_, Value::String(text)) if text.is_empty() => "String::new()".to_owned(),
            (_, Value::String(text)) => format!("{}.to_owned()", literal(text)),
            (Shape::Written(path), Value::Number(number)) if path == "f64" => {
                let text = number.to_string();
                if text.contains(['.', 'e']) {
                    text
                } else {
                    text + ".0"
                }
            }
            _ => default.to_string(),
        }
    }
}
