//! Reads the types that a source declares. Pure.
//!
//! The text is parsed only as far as the names of variants and fields.

mod cased;

use std::collections::BTreeSet;
use std::ops::Range;

use crate::rust::{Attribute, Code};

/// A struct or an enum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Declared {
    pub(crate) path: String,
    pub(crate) name: String,
    pub(crate) is_documented: bool,
    pub(crate) line: usize,
    /// Whether kube derives its schema.
    pub(crate) is_kubes: bool,
    /// The names of the variants, after any `rename`.
    pub(crate) variants: Vec<String>,
    /// Whether a variant has a doc comment.
    pub(crate) documents_variants: bool,
    /// The types of keys of maps in its body, and their lines.
    pub(crate) map_keys: Vec<(String, usize)>,
    /// The names in its body.
    pub(crate) mentions: BTreeSet<String>,
}

/// What the API server will not do with a field, which schemars cannot express.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remark {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// The types of a source, and remarks on their fields.
pub(crate) fn scan(path: &str, source: &str) -> (Vec<Declared>, Vec<Remark>) {
    let code = Code::read(source);
    let remark = |at: usize, text: String| Remark {
        path: path.to_owned(),
        line: code.line(code.start(at)),
        text,
    };
    let has_durations = has_durations_of_kube(&code);
    let (mut types, mut remarks) = (Vec::new(), Vec::new());
    for at in 0..code.len() {
        if let Some(attribute) = code.attribute(at) {
            remarks.extend(strings_of(&code, &attribute, "alias").map(|name| {
                let text = format!("the API server does not know the alias `{name}`: kubectl refuses it, and other clients lose it");
                remark(at, text)
            }));
        }
        if matches!(code.word(at), "struct" | "enum") && at + 1 < code.len() {
            let declared = declared(path, &code, at);
            let body = at + 2..code.end(at);
            let unbounded = unbounded(&code, body, has_durations).into_iter();
            remarks.extend(unbounded.map(|(at, text)| remark(at, text.to_owned())));
            let uncased = cased::uncased(&code, at).into_iter();
            remarks.extend(uncased.map(|(at, text)| remark(at, text)));
            types.push(declared);
        }
    }
    (types, remarks)
}

/// The type whose keyword is at `at`.
fn declared(path: &str, code: &Code<'_>, at: usize) -> Declared {
    let name = at + 1;
    let body = name + 1..code.end(at);
    let before = || code.first(at)..at;
    let attributes: Vec<Attribute> = before().filter_map(|at| code.attribute(at)).collect();
    let mut inside = attributes.iter().flat_map(|it| it.inside.clone());
    let is_documentation =
        |at: usize| matches!(code.word(at), "doc" | "description") && code.word(at + 1) == "=";
    let (variants, documents_variants) = match code.word(at) {
        "enum" => variants(code, body.clone()),
        _ => Default::default(),
    };
    let mentions = body.clone().filter(|&at| code.is_word(at));
    let map_keys = map_keys(code, body.clone());
    Declared {
        path: path.to_owned(),
        name: code.word(name).trim_start_matches("r#").to_owned(),
        is_documented: code.has_doc(at)
            || before().any(|at| code.has_doc(at))
            || inside.clone().any(is_documentation),
        is_kubes: inside.any(|at| code.word(at) == "KubeSchema"),
        line: code.line(code.start(name)),
        mentions: mentions.map(|at| code.word(at).to_owned()).collect(),
        map_keys: map_keys
            .map(|at| (code.word(at).to_owned(), code.line(code.start(at))))
            .collect(),
        variants,
        documents_variants,
    }
}

/// The texts that an attribute gives an argument of serde.
fn strings_of(
    code: &Code<'_>,
    attribute: &Attribute,
    argument: &str,
) -> impl Iterator<Item = String> {
    let inside = attribute.inside.clone();
    let is_of_serde = code.word(inside.start) == "serde";
    inside.filter_map(move |at| {
        let is_meant = is_of_serde && code.word(at) == argument && code.word(at + 1) == "=";
        code.string(at + 2).filter(|_| is_meant).map(|it| it.text)
    })
}

/// The last path segment of each map's key type.
fn map_keys(code: &Code<'_>, body: Range<usize>) -> impl Iterator<Item = usize> {
    let end = body.end;
    let maps = body
        .filter(|&at| matches!(code.word(at), "BTreeMap" | "HashMap") && code.word(at + 1) == "<");
    maps.filter_map(move |map| Some((map..end).find(|&at| code.word(at) == ",")? - 1))
}

/// Whether `Duration` is kube's, which is written as a string.
fn has_durations_of_kube(code: &Code<'_>) -> bool {
    let imports = (0..code.len()).filter_map(|at| code.import(at));
    let mut leaves = imports.flat_map(|item| item.tree.leaves());
    leaves.any(|leaf| leaf.path == ["kube", "core", "Duration"])
}

/// Where a field is any string for schemars but not for Rust, and no attribute restricts it.
fn unbounded(
    code: &Code<'_>,
    body: Range<usize>,
    has_durations: bool,
) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    let mut is_bounded = false;
    for at in body {
        let is_of_kube = match code.back(at, 1) {
            ":" => (code.back(at, 6), code.back(at, 3)) == ("kube", "core"),
            _ => has_durations,
        };
        match code.word(at) {
            "," | "{" => is_bounded = false,
            "regex" | "pattern" | "with" | "schema_with" => is_bounded = true,
            _ if is_bounded => {}
            "SocketAddr" | "SocketAddrV4" | "SocketAddrV6" => {
                found.push((at, "the API server accepts any text for a socket address: write two fields, `IpAddr` and `u16`"));
            }
            "Duration" if is_of_kube => {
                found.push((at, "the API server accepts any text for a `Duration` of kube: write the pattern in `kbr help types`"));
            }
            _ => {}
        }
    }
    found
}

/// The variants of an enum with this body, and whether one has a doc comment.
fn variants(code: &Code<'_>, mut body: Range<usize>) -> (Vec<String>, bool) {
    let (mut variants, mut is_documented) = (Vec::new(), false);
    let mut renamed: Option<String> = None;
    let mut is_next = true;
    let open = body.find(|&at| code.word(at) == "{");
    let end = open.map_or(0, |open| code.closing(open));
    let mut at = open.map_or(end, |open| open + 1);
    while at < end {
        is_documented |= code.has_doc(at);
        if let Some(attribute) = code.attribute(at) {
            renamed = strings_of(code, &attribute, "rename").next().or(renamed);
            at = attribute.end;
            continue;
        }
        if code.word(at) == "," {
            is_next = true;
        } else if is_next && code.is_word(at) {
            variants.push(renamed.take().unwrap_or_else(|| code.word(at).to_owned()));
            is_next = false;
        }
        at = code.after(at);
    }
    (variants, is_documented)
}
