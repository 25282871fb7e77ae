//! Names in Rust for names in JSON. Pure.

use std::collections::HashSet;

use super::model::{Field, Struct};
use crate::names::is_keyword;

/// The words of a name, in lower case: `podCIDRs` has `pod` and `cidrs`.
fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words: Vec<String> = Vec::new();
    let mut is_inside = false;
    for (at, &letter) in letters.iter().enumerate() {
        if !letter.is_ascii_alphanumeric() {
            is_inside = false;
            continue;
        }
        let before = at.checked_sub(1).map(|at| letters[at]);
        let after = letters.get(at + 1).copied().unwrap_or(' ');
        // The `s` of a plural belongs to the letters before it.
        let is_plural = after == 's' && !letters.get(at + 2).is_some_and(char::is_ascii_lowercase);
        let begins = letter.is_ascii_uppercase()
            && before.is_some_and(|before| {
                !before.is_ascii_uppercase() || (after.is_ascii_lowercase() && !is_plural)
            });
        if begins || !is_inside {
            words.push(String::new());
            is_inside = true;
        }
        if let Some(word) = words.last_mut() {
            word.push(letter.to_ascii_lowercase());
        }
    }
    words
}

/// The name of a field: `pod_cidrs` for `podCIDRs`, `type_` for `type`.
pub(super) fn field(name: &str) -> String {
    let snake = words(name).join("_");
    match snake.as_str() {
        "" => "field".to_owned(),
        _ if snake.starts_with(|c: char| c.is_ascii_digit()) => format!("field_{snake}"),
        _ if is_keyword(&snake) => snake + "_",
        _ => snake,
    }
}

/// A part of the name of a type, or the name of a variant: `PodCidrs` for `podCIDRs`.
pub(super) fn type_part(name: &str) -> String {
    let words = words(name).into_iter();
    words.map(|word| capitalized(&word)).collect()
}

/// The name of a variant for a value.
pub(super) fn variant(value: &str) -> String {
    let name = type_part(value);
    match name.as_str() {
        "" if value.is_empty() => "Empty".to_owned(),
        "" => "Symbol".to_owned(),
        "Self" => "Self_".to_owned(),
        _ if name.starts_with(|c: char| c.is_ascii_digit()) => format!("Value{name}"),
        _ => name,
    }
}

/// The name, or the first of `NAME2`, `NAME3` and so on that `is_taken` does not know.
pub(super) fn free(name: String, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2_u32..).map(|number| format!("{name}{number}"));
    let mut all = [name.clone()].into_iter().chain(numbered);
    all.find(|name| !is_taken(name)).unwrap_or(name)
}

/// What serde's `rename_all = "camelCase"` makes of the name of a field.
pub(super) fn camel(field: &str) -> String {
    let mut words = field.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| name + &capitalized(word))
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// An identifier without what keeps it apart from a keyword.
pub(super) fn plain(ident: &str) -> &str {
    ident.trim_end_matches('_')
}

/// The names of the fields, each once.
pub(super) fn idents(structure: &Struct) -> Vec<String> {
    let mut idents: Vec<String> = Vec::new();
    // Without what keeps them apart from keywords.
    let mut taken: HashSet<String> = HashSet::new();
    // A name that follows the rule keeps its identifier, whatever comes before it.
    let follows = |field: &Field, ident: &str| field.json == camel(ident);
    let named = structure
        .fields
        .iter()
        .map(|it| (it, self::field(&it.json)));
    let regular = named.clone().filter(|(it, ident)| follows(it, ident));
    let regular: HashSet<String> = regular.map(|(_, it)| plain(&it).to_owned()).collect();
    for (field, wanted) in named {
        let is_regular = follows(field, &wanted);
        let is_taken = |name: &str| {
            (structure.is_whole && name == "status")
                || taken.contains(plain(name))
                || (!is_regular && regular.contains(plain(name)))
        };
        let ident = match is_taken(&wanted) {
            true if structure.is_whole && wanted == "status" => "status_".to_owned(),
            true => free(format!("{}_", plain(&wanted)), is_taken),
            false => wanted,
        };
        taken.insert(plain(&ident).to_owned());
        idents.push(ident);
    }
    idents
}

/// The name of the field for what a schema does not list.
pub(super) fn others(idents: &[String]) -> String {
    free("other".to_owned(), |name| {
        idents.iter().any(|it| it == name)
    })
}

/// The names of the variants, each once.
pub(super) fn variants(values: &[String]) -> Vec<String> {
    let mut variants: Vec<String> = Vec::new();
    for value in values {
        let wanted = variant(value);
        let variant = free(wanted, |name| variants.iter().any(|it| it == name));
        variants.push(variant);
    }
    variants
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_words() {
        for (json, of_field, of_type) in [
            ("replicas", "replicas", "Replicas"),
            ("podCIDRs", "pod_cidrs", "PodCidrs"),
            ("clusterIP", "cluster_ip", "ClusterIp"),
            ("HTTPRoute", "http_route", "HttpRoute"),
            ("type", "type_", "Type"),
            ("x-y.z", "x_y_z", "XYZ"),
            ("$ref", "ref_", "Ref"),
            ("1st", "field_1st", "1st"),
            ("sha256Sum", "sha256_sum", "Sha256Sum"),
            ("é", "field", ""),
        ] {
            assert_eq!(
                (field(json).as_str(), type_part(json).as_str()),
                (of_field, of_type)
            );
        }
        assert_eq!(camel("pod_cidrs"), "podCidrs");
        assert_eq!(camel("type_"), "type");
        assert_eq!(
            ["", "<", "10", "Self"].map(variant),
            ["Empty", "Symbol", "Value10", "Self_"]
        );
        assert_eq!(free("A".to_owned(), |name| name != "A3"), "A3");
    }
}
