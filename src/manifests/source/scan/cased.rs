//! Properties that are not in lower camel case although nothing in the source says that they are meant. Pure.

use crate::rust::{Attribute, Code};

/// Names that serde does not use for a property, or that their owner chose.
const CHOSEN: [&str; 3] = ["flatten", "rename", "skip"];

/// The names of properties that are not in lower camel case, of the type whose keyword is at `keyword`: their tokens, and
/// what to write. A `rename` or `rename_all` means that the name was chosen.
pub(super) fn uncased(code: &Code<'_>, keyword: usize) -> Vec<(usize, String)> {
    let attributes = attributes(code, code.first(keyword));
    if !attributes.iter().any(|it| has_schema(code, it)) {
        return Vec::new();
    }
    let says = |words: &[&str]| attributes.iter().any(|it| has_word(code, it, words));
    let mut body = keyword + 2..code.end(keyword);
    let Some(open) = body.find(|&at| code.word(at) == "{") else {
        return Vec::new();
    };
    if code.word(keyword) == "struct" {
        return if says(&["rename_all"]) {
            Vec::new()
        } else {
            fields(code, open, "struct")
        };
    }
    let mut found = Vec::new();
    for variant in parts(code, open) {
        let own = self::attributes(code, variant);
        let name = own.last().map_or(variant, |it| it.end);
        let content = name + 1;
        let has_content = matches!(code.word(content), "{" | "(");
        let is_chosen = own.iter().any(|it| has_word(code, it, &CHOSEN));
        if has_content && !is_chosen && !says(&["rename_all", "untagged"]) {
            found.extend(remark(code, name, "enum"));
        }
        let is_cased = says(&["rename_all_fields"])
            || own.iter().any(|it| has_word(code, it, &["rename_all"]));
        if code.word(content) == "{" && !is_cased {
            found.extend(fields(code, content, "variant"));
        }
    }
    found
}

/// The fields in these braces.
fn fields(code: &Code<'_>, open: usize, container: &str) -> Vec<(usize, String)> {
    let named = parts(code, open).into_iter().filter_map(|field| {
        let own = attributes(code, field);
        if own.iter().any(|it| has_word(code, it, &CHOSEN)) {
            return None;
        }
        let mut name = own.last().map_or(field, |it| it.end);
        if code.word(name) == "pub" {
            name += 1;
            if code.word(name) == "(" {
                name = code.after(name);
            }
        }
        (code.word(name + 1) == ":").then_some(name)
    });
    named
        .filter_map(|name| remark(code, name, container))
        .collect()
}

/// What to write for the name at `at`, unless it is in lower camel case.
fn remark(code: &Code<'_>, at: usize, container: &str) -> Option<(usize, String)> {
    let name = code.word(at).trim_start_matches("r#");
    let is_cased = name.starts_with(|c: char| c.is_lowercase()) && !name.contains('_');
    (!is_cased).then(|| {
        let text = format!(
            "the property `{name}` is not in lower camel case, as those of Kubernetes are: write \
             `#[serde(rename_all = \"camelCase\")]` on the {container}, or `#[serde(rename = {name:?})]` here if it is \
             meant"
        );
        (at, text)
    })
}

/// The first tokens of the fields or variants in these braces.
fn parts(code: &Code<'_>, open: usize) -> Vec<usize> {
    let end = code.closing(open);
    let mut parts = Vec::new();
    let mut at = open + 1;
    while at < end {
        parts.push(at);
        at = code.end(at).max(at + 1);
    }
    parts
}

/// The attributes that begin at a token.
fn attributes(code: &Code<'_>, mut at: usize) -> Vec<Attribute> {
    let mut all = Vec::new();
    while let Some(attribute) = code.attribute(at) {
        at = attribute.end;
        all.push(attribute);
    }
    all
}

/// Whether a derive makes a schema.
fn has_schema(code: &Code<'_>, attribute: &Attribute) -> bool {
    let mut inside = attribute.inside.clone();
    code.word(inside.start) == "derive"
        && inside.any(|at| {
            matches!(
                code.word(at),
                "CustomResource" | "JsonSchema" | "KubeSchema"
            )
        })
}

/// Whether an attribute of serde or schemars has one of these words.
fn has_word(code: &Code<'_>, attribute: &Attribute, words: &[&str]) -> bool {
    let mut inside = attribute.inside.clone();
    matches!(code.word(inside.start), "schemars" | "serde")
        && inside.any(|at| words.contains(&code.word(at)))
}

#[cfg(test)]
mod tests {
    use super::super::scan;

    /// The properties that are reported.
    fn found(source: &str) -> Vec<String> {
        let remarks = scan("api/src/v1/a.rs", source).1.into_iter();
        let names = remarks.map(|it| it.text.split('`').nth(1).unwrap_or_default().to_owned());
        names.collect()
    }

    #[test]
    fn properties_in_another_case_are_reported_unless_they_are_renamed() {
        let derived = |item: &str| format!("#[derive(Clone, JsonSchema)]\n{item}");
        for (item, properties) in [
            (
                "struct A { pub a_b: u8, pub(crate) r#type: Vec<(u8, u8)>, Upper: u8, /// Words.\n _c: u8 }",
                &["a_b", "Upper", "_c"][..],
            ),
            (
                "#[serde(rename_all = \"camelCase\")] struct A { a_b: u8 }",
                &[],
            ),
            (
                "#[schemars(rename_all = \"snake_case\")] struct A { a_b: u8 }",
                &[],
            ),
            (
                "struct A { #[serde(default, rename = \"a_b\")] a_b: u8, #[serde(flatten)] c_d: B, #[schemars(skip)] e_f: u8 }",
                &[],
            ),
            (
                "struct A { #[serde(default)] #[schemars(length(max = 1))] a_b: BTreeMap<String, u8>, c: u8, d_e: u8 }",
                &["a_b", "d_e"],
            ),
            ("struct A(u8, B_c);", &[]),
            ("struct A;", &[]),
            ("struct A<T> where T: Into<B> { a_b: T }", &["a_b"]),
            ("enum A { One, Two_Three }", &[]),
            (
                "enum A { One { a_b: u8 }, Two(u8), Three }",
                &["One", "a_b", "Two"],
            ),
            (
                "#[serde(rename_all = \"camelCase\", rename_all_fields = \"camelCase\")] enum A { One { a_b: u8 }, Two(u8) }",
                &[],
            ),
            (
                "#[serde(rename_all = \"camelCase\")] enum A { #[serde(rename_all = \"camelCase\")] One { a_b: u8 }, Two { c_d: u8 } }",
                &["c_d"],
            ),
            (
                "#[serde(untagged)] enum A { One { a_b: u8 }, #[serde(rename = \"x\")] Two(B) }",
                &["a_b"],
            ),
        ] {
            assert_eq!(found(&derived(item)), properties, "{item}");
            assert_eq!(found(item), [""; 0], "without a schema: {item}");
        }
    }

    #[test]
    fn a_remark_says_where_and_what_to_write() {
        let source =
            "#[derive(KubeSchema)]\npub struct A {\n    pub a: u8,\n    pub max_size: u8,\n}\n";
        let remark = scan("api/src/v1/a.rs", source).1.remove(0);
        assert_eq!(
            (remark.line, remark.text.as_str()),
            (
                4,
                "the property `max_size` is not in lower camel case, as those of Kubernetes are: write `#[serde(rename_all = \"camelCase\")]` on the struct, or `#[serde(rename = \"max_size\")]` here if it is meant"
            )
        );
    }
}
