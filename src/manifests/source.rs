//! What schemars omits from the sources of the API types: the order of variants if some have doc
//! comments, the type to which a doc comment belongs, and aliases of fields. Pure.
//!
//! schemars lists variants without doc comments first, and gives a struct without a doc comment that
//! of one that it flattens. A type that is not found, or found twice with differences, is left unchanged.

mod scan;

use std::collections::BTreeSet;

use serde_json::{Value, json};

pub(crate) use self::scan::{Declared, Remark, scan};

/// The maps whose keys are variants of an enum and for which the API server accepts any key:
/// schemars knows the variants only if none has a doc comment.
pub(crate) fn open_keys(types: &[Declared]) -> impl Iterator<Item = Remark> {
    let is_open = |key: &str| {
        let named = |one: &Declared| one.name == key && one.documents_variants;
        types.iter().any(named)
    };
    types.iter().flat_map(move |declared| {
        let open = declared.map_keys.iter().filter(move |(key, _)| is_open(key));
        open.map(|(key, line)| Remark {
            path: declared.path.clone(),
            line: *line,
            text: format!("the API server accepts any key in a map with keys of type `{key}`: write `//` instead of `///` on its variants"),
        })
    })
}

/// The types that contain themselves and whose schema kube derives, which overflows the stack.
pub(crate) fn endless(types: &[Declared]) -> Vec<&Declared> {
    let contains_itself = |declared: &&Declared| {
        let (mut open, mut seen) = (vec![*declared], BTreeSet::new());
        while let Some(one) = open.pop() {
            if one.mentions.contains(&declared.name) {
                return true;
            }
            let mentioned = |inner: &&Declared| one.mentions.contains(&inner.name);
            let inner = types.iter().filter(mentioned);
            open.extend(inner.filter(|inner| seen.insert(&inner.name)));
        }
        false
    };
    let of_kube = types.iter().filter(|declared| declared.is_kubes);
    of_kube.filter(contains_itself).collect()
}

/// Corrects the definitions of an entry's schema. `modules` are those that its type is in.
pub(crate) fn fix(schema: &mut Value, modules: &[&str], types: &[Declared]) {
    let definitions = schema.get_mut("$defs").and_then(Value::as_object_mut);
    for (name, definition) in definitions.into_iter().flatten() {
        let Some(declared) = find(name, modules, types) else {
            continue;
        };
        if !declared.is_documented
            && let Some(definition) = definition.as_object_mut()
        {
            definition.remove("description");
        }
        order(definition, &declared.variants);
    }
}

/// The type of that name, from the modules if they have one, else from anywhere.
fn find<'t>(name: &str, modules: &[&str], types: &'t [Declared]) -> Option<&'t Declared> {
    let named = || types.iter().filter(|declared| declared.name == name);
    let is_inside = |declared: &&Declared| {
        let mut parts = declared.path.trim_end_matches(".rs").split('/');
        modules.iter().all(|module| parts.any(|it| it == *module))
    };
    let mut found: Vec<&Declared> = named().filter(is_inside).collect();
    if found.is_empty() {
        found.extend(named());
    }
    let facts = |one: &'t Declared| (&one.variants, one.is_documented);
    let first = *found.first()?;
    let are_alike = found.iter().all(|&other| facts(other) == facts(first));
    are_alike.then_some(first)
}

/// Sorts the values of an enum without content in the order of its variants.
fn order(definition: &mut Value, variants: &[String]) {
    let Some(members) = definition.get("oneOf").and_then(Value::as_array) else {
        return;
    };
    let mut values = Vec::new();
    for member in members {
        match (member.get("const"), member.get("enum")) {
            (Some(value), None) => values.push((value.clone(), member.get("description").cloned())),
            (None, Some(Value::Array(all))) => {
                values.extend(all.iter().map(|value| (value.clone(), None)));
            }
            _ => return,
        }
    }
    let place = |value: &Value| {
        let name = plain(value.as_str()?);
        variants.iter().position(|variant| plain(variant) == name)
    };
    if values.iter().any(|(value, _)| place(value).is_none()) {
        return;
    }
    values.sort_by_key(|(value, _)| place(value));
    let members = values.into_iter().map(|(value, description)| {
        let mut member = json!({ "const": value, "type": "string" });
        if let Some(description) = description {
            member["description"] = description;
        }
        member
    });
    definition["oneOf"] = members.collect();
}

/// A name without the parts that `rename_all` changes.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|c| !matches!(c, '_' | '-'));
    letters.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(sources: &[(&str, &str)], definitions: Value) -> Value {
        let types: Vec<Declared> = sources
            .iter()
            .flat_map(|(path, text)| scan(path, text).0)
            .collect();
        let mut schema = json!({ "$defs": definitions });
        fix(&mut schema, &["v1"], &types);
        schema["$defs"].take()
    }

    /// The schema by schemars for an enum of which only some variants have doc comments.
    fn mode() -> Value {
        json!({ "oneOf": [
            { "type": "string", "enum": ["slow-one", "other"] },
            { "type": "string", "const": "fast-one", "description": "Fast." },
        ]})
    }

    const MODE: &str = "
        #[serde(rename_all = \"kebab-case\")]
        pub enum Mode {
            SlowOne,
            /// Fast.
            FastOne,
            #[serde(rename = \"other\")]
            Rest,
        }";

    fn values(mode: &Value) -> Vec<&Value> {
        let members = mode["oneOf"].as_array().expect("a list").iter();
        members.map(|member| &member["const"]).collect()
    }

    #[test]
    fn variants_keep_the_order_of_the_source() {
        let fixed = fixed(
            &[("api/src/v1/foo_types.rs", MODE)],
            json!({ "Mode": mode() }),
        );
        assert_eq!(values(&fixed["Mode"]), ["slow-one", "fast-one", "other"]);
        assert_eq!(fixed["Mode"]["oneOf"][1]["description"], "Fast.");
    }

    #[test]
    fn types_that_are_not_understood_are_left_unchanged() {
        let other = MODE.replace("SlowOne", "Slow");
        let turned = MODE
            .replace("SlowOne,", "")
            .replace("Rest,", "Rest, SlowOne,");
        for sources in [
            &[][..],
            &[("api/src/v1/a.rs", other.as_str())],
            &[("api/src/v1/a.rs", MODE), ("api/src/v1/b.rs", &turned)],
            &[("api/src/v1/a.rs", "pub struct Mode;")],
        ] {
            let fixed = fixed(sources, json!({ "Mode": mode() }));
            assert_eq!(fixed["Mode"], mode(), "{sources:?}");
        }
        let in_two = [
            ("api/src/v1/a.rs", MODE),
            ("api/src/v2/a.rs", turned.as_str()),
        ];
        let fixed = fixed(&in_two, json!({ "Mode": mode() }));
        assert_eq!(
            values(&fixed["Mode"]),
            ["slow-one", "fast-one", "other"],
            "the type of the same version"
        );
    }

    #[test]
    fn a_struct_does_not_get_the_description_of_one_that_it_flattens() {
        let source = "
            #[derive(Debug)] pub struct FooSpec { #[serde(flatten)] pub inner: Inner }
            /// The words.
            #[derive(Debug)] pub struct Inner { }
            #[doc = \"Others.\"] pub(crate) struct Third;
            #[schemars(description = \"More.\")] struct Fourth { }";
        let words = json!({ "type": "object", "description": "The words." });
        let all =
            ["FooSpec", "Inner", "Third", "Fourth", "Unknown"].map(|name| (name, words.clone()));
        let definitions: serde_json::Map<String, Value> = all
            .into_iter()
            .map(|(name, words)| (name.to_owned(), words))
            .collect();
        let fixed = fixed(
            &[("api/src/v1/foo_types.rs", source)],
            Value::Object(definitions),
        );
        let has_words = |name: &str| fixed[name].get("description").is_some();
        assert_eq!(
            ["FooSpec", "Inner", "Third", "Fourth", "Unknown"].map(has_words),
            [false, true, true, true, true]
        );
    }

    #[test]
    fn a_type_that_contains_itself_is_found() {
        let source = "
            #[derive(KubeSchema)] struct One { two: Vec<Two> }
            #[derive(JsonSchema)] enum Two { A, B { one: Box<One> } }
            #[derive(KubeSchema)] struct Three(Option<Two>);
            #[derive(JsonSchema)] struct Four { four: Vec<Four> }
            #[derive(KubeSchema)]
            struct Five { five: Vec<Five> }
            impl Three { fn f() -> Three {} }";
        let (types, _) = scan("api/src/v1/a.rs", source);
        let found = endless(&types);
        let shown: Vec<_> = found
            .iter()
            .map(|one| (one.name.as_str(), one.line))
            .collect();
        assert_eq!(shown, [("One", 2), ("Five", 7)]);
    }

    #[test]
    fn a_file_that_does_not_compile_is_read_all_the_same() {
        for (source, variants) in [
            ("enum A { B), C }", &["B", "C"][..]),
            ("enum A { B] } enum", &["B"]),
            ("enum A { #[serde(rename = \"b\" B(, C }", &[]),
            ("enum A { B(u8, C }", &["B"]),
        ] {
            let (types, _) = scan("api/src/v1/a.rs", source);
            assert_eq!(types[0].variants, variants, "{source}");
        }
    }

    #[test]
    fn an_alias_of_a_field_is_found() {
        let source = "struct A {\n    /// Words.\n    #[serde(default, alias = \"old\")]\n    pub new: String,\n}\n\
                      enum B { #[serde(alias = \"C\")] c }\n// #[serde(alias = \"no\")]";
        let aliases = scan("api/src/v1/a.rs", source).1;
        let lines: Vec<_> = aliases.iter().map(|one| one.line).collect();
        assert_eq!(lines, [3, 6]);
        assert!(aliases[0].text.contains("the alias `old`: "), "{aliases:?}");
        assert!(aliases[1].text.contains("the alias `C`: "), "{aliases:?}");
    }

    #[test]
    fn a_format_that_only_rust_checks_is_found() {
        let source = "use kube::core::{Duration, Resource};
            struct A { pause: Option<Duration>, text: String }
            struct B {
                #[schemars(regex(pattern = \"x\"))]
                pause: Duration,
                address: Vec<std::net::SocketAddr>,
                #[serde(with = \"hex\")] other: SocketAddr,
                time: std::time::Duration,
            }
            fn f(of: Duration, at: SocketAddr) {}";
        let lines = |source: &str| -> Vec<usize> {
            let remarks = scan("api/src/v1/a.rs", source).1;
            remarks.iter().map(|one| one.line).collect()
        };
        assert_eq!(lines(source), [2, 6]);
        assert_eq!(lines(&source.replace("kube::core::", "chrono::")), [6]);
        assert_eq!(lines("struct A { pause: kube::core::Duration }"), [1]);
    }

    #[test]
    fn map_keys_whose_variants_have_doc_comments_are_found() {
        let source = "struct A { a: BTreeMap<Key, u8>, b: HashMap<super::Key,\n Vec<u8>>, c: BTreeMap<Bare, Key> }
            enum Key { One, /// Words.\n Two }
            enum Bare { One { /// Words.\n two: u8 } }";
        let types = scan("api/src/v1/a.rs", source).0;
        let lines: Vec<usize> = open_keys(&types).map(|one| one.line).collect();
        assert_eq!(lines, [1, 1]);
    }
}
