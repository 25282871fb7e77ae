//! Rust text as rustfmt would write it: attributes, doc comments, literals. Pure.

use std::fmt::Write;

use serde_json::Value;

/// The widest list of arguments of an attribute on one line (rustfmt's `attr_fn_like_width`).
const WIDTH_OF_ARGUMENTS: usize = 70;

/// The widest line.
pub(super) const WIDTH: usize = 100;

/// An argument of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Meta {
    /// As written: `default`, `rename = "a"`, `"a" = [1]`.
    Word(String),
    /// A name with arguments in parentheses.
    List(String, Vec<Meta>),
}

impl Meta {
    pub(super) fn word(text: impl Into<String>) -> Self {
        Self::Word(text.into())
    }

    /// `name = "text"`.
    pub(super) fn text(name: &str, text: &str) -> Self {
        Self::Word(format!("{name} = {}", literal(text)))
    }

    pub(super) fn list(name: &str, inside: Vec<Self>) -> Self {
        Self::List(name.to_owned(), inside)
    }

    /// Whether it has a single argument, which may be wider than several.
    fn is_one_word(&self) -> bool {
        match self {
            Self::Word(_) => true,
            Self::List(_, inside) => matches!(inside.as_slice(), [one] if one.is_one_word()),
        }
    }

    fn on_one_line(&self) -> String {
        match self {
            Self::Word(text) => text.clone(),
            Self::List(name, inside) => format!("{name}({})", joined(inside)),
        }
    }

    /// The text, if its line begins after `indent` and something of the width `around` is on it too.
    fn laid_out(&self, indent: usize, around: usize) -> String {
        let Self::List(name, inside) = self else {
            return self.on_one_line();
        };
        let arguments = joined(inside);
        let width = indent + name.len() + arguments.len() + 2 + around;
        let is_narrow = arguments.len() <= WIDTH_OF_ARGUMENTS || self.is_one_word();
        if is_narrow && width < WIDTH {
            return self.on_one_line();
        }
        self.upright(indent)
    }

    /// The text with a line for each argument.
    fn upright(&self, indent: usize) -> String {
        let Self::List(name, inside) = self else {
            return self.on_one_line();
        };
        if let [one @ Self::List(..)] = inside.as_slice() {
            return format!("{name}({})", one.upright(indent));
        }
        let (outer, inner) = (" ".repeat(indent), " ".repeat(indent + 4));
        let lines = inside
            .iter()
            .map(|it| inner.clone() + &it.laid_out(indent + 4, 1));
        let lines: Vec<String> = lines.collect();
        format!("{name}(\n{}\n{outer})", lines.join(",\n"))
    }
}

fn joined(inside: &[Meta]) -> String {
    let all: Vec<String> = inside.iter().map(Meta::on_one_line).collect();
    all.join(", ")
}

/// `#[name(…)]` with a newline; empty without arguments.
pub(super) fn attribute(name: &str, inside: Vec<Meta>, indent: usize) -> String {
    if inside.is_empty() {
        return String::new();
    }
    let list = Meta::List(name.to_owned(), inside);
    format!("{}#[{}]\n", " ".repeat(indent), list.laid_out(indent, 3))
}

/// A string literal: raw if that saves escapes.
pub(super) fn literal(text: &str) -> String {
    let is_plain = !text.chars().any(is_unreadable);
    match () {
        () if is_plain && !text.contains(['"', '\\']) => format!("\"{text}\""),
        () if is_plain && !text.contains('"') => format!("r\"{text}\""),
        () if is_plain && !text.contains("\"#") => format!("r#\"{text}\"#"),
        () => format!("{text:?}"),
    }
}

/// Characters that end a line or change its direction; rustc refuses the latter in a comment.
fn is_unreadable(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// A JSON value in the syntax of `serde_json::json!`.
pub(super) fn json(value: &Value) -> String {
    match value {
        Value::String(text) => literal(text),
        Value::Number(number) => {
            let is_wide = number.as_i64().is_none_or(|it| i32::try_from(it).is_err());
            match () {
                () if number.is_f64() || !is_wide => number.to_string(),
                () if number.is_i64() => format!("{number}_i64"),
                () => format!("{number}_u64"),
            }
        }
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(json).collect();
            format!("[{}]", values.join(", "))
        }
        Value::Object(fields) if fields.is_empty() => "{}".to_owned(),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(key, value)| format!("{}: {}", literal(key), json(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::Null | Value::Bool(_) => value.to_string(),
    }
}

/// The longest value that is written with `serde_json::json!`, which has a limit.
const LONGEST_JSON: usize = 400;

/// `"key" = value` for `extend(…)`.
pub(super) fn entry(key: &str, value: &Value) -> Meta {
    let text = match json(value) {
        long if long.len() > LONGEST_JSON => format!("json({})", literal(&value.to_string())),
        short => short,
    };
    Meta::Word(format!("\"{key}\" = {text}"))
}

/// Whether a text of [`entry`] calls the function [`JSON`].
pub(super) fn calls_json(text: &str) -> bool {
    text.contains("\" = json(")
}

pub(super) const JSON: &str = "
/// Part of a schema that is too large for a macro.
fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_default()
}
";

/// A description as a doc comment, or if it would be read as something else than text, as an argument of
/// `#[schemars(…)]`.
pub(super) fn description(text: &str, indent: usize) -> Result<String, Meta> {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let is_code = |line: &&str| {
        line.starts_with("    ")
            || line.contains('\t')
            || line.trim_start().starts_with("```")
            || line.trim_start().starts_with("~~~")
    };
    let is_odd = text
        .chars()
        .any(|c| is_unreadable(c) && !matches!(c, '\n' | '\t' | '\r'));
    let has_frame = [lines.first(), lines.last()]
        .iter()
        .any(|it| it.is_none_or(|it| it.is_empty()));
    if is_odd || has_frame || lines.iter().any(is_code) || text.starts_with(['#', ' ']) {
        let text = lines.join("\n");
        return Err(Meta::Word(format!("description = {text:?}")));
    }
    let mut comment = String::new();
    for line in lines {
        let space = if line.is_empty() { "" } else { " " };
        let _ = writeln!(comment, "{}///{space}{line}", " ".repeat(indent));
    }
    Ok(comment)
}
