//! `--max-desc-len`: how much of the doc comments goes into a CRD.

use serde_json::Value;

use crate::manifests::json::visit_schemas;

/// Shortens the descriptions in all schemas of a CRD, or removes them if the limit is 0.
pub(crate) fn limit(crd: &mut Value, characters: usize) {
    let versions = crd["spec"]["versions"].as_array_mut();
    for version in versions.into_iter().flatten() {
        let Some(schema) = version["schema"]["openAPIV3Schema"].as_object_mut() else {
            continue;
        };
        visit_schemas(schema, &mut |schema| {
            if let Some(Value::String(text)) = schema.get_mut("description") {
                *text = cut(text, characters).to_owned();
                if text.is_empty() {
                    schema.remove("description");
                }
            }
        });
    }
}

/// As much of a text as fits: whole sentences, else whole words, else characters.
fn cut(text: &str, characters: usize) -> &str {
    let Some((end, _)) = text.char_indices().nth(characters) else {
        return text;
    };
    let (fits, rest) = text.split_at(end);
    let ends_here = rest.starts_with(char::is_whitespace);
    let is_sentence = |&(at, _): &(usize, &str)| {
        let after = fits[at + 1..].chars().next();
        after.map_or(ends_here, char::is_whitespace)
    };
    let sentence = fits.rmatch_indices(['.', '!', '?']).find(is_sentence);
    match sentence {
        Some((at, _)) => &fits[..=at],
        None if ends_here => fits.trim_end(),
        None => fits
            .rsplit_once(char::is_whitespace)
            .map_or(fits, |(words, _)| words.trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_is_cut_after_a_sentence_a_word_or_a_character() {
        let text = "One of v1.2. Two, or three? Four";
        for (characters, expected) in [
            (100, text),
            (32, text),
            (31, "One of v1.2. Two, or three?"),
            (27, "One of v1.2. Two, or three?"),
            (26, "One of v1.2."),
            (12, "One of v1.2."),
            (11, "One of"),
            (6, "One of"),
            (5, "One"),
            (2, "On"),
            (0, ""),
        ] {
            assert_eq!(cut(text, characters), expected, "{characters}");
        }
        assert_eq!(cut("äöü", 2), "äö");
    }

    #[test]
    fn only_descriptions_of_schemas_are_cut() {
        let schema = json!({
            "default": { "description": "A default." },
            "description": "A type.",
            "items": { "description": "An element.", "type": "string" },
            "properties": { "description": { "description": "A field.", "type": "string" } },
        });
        let columns = json!([{ "description": "A column.", "name": "A" }]);
        let crd = |schema: Value| {
            json!({ "spec": { "versions": [
                { "additionalPrinterColumns": columns, "schema": { "openAPIV3Schema": schema } },
            ] } })
        };
        let mut limited = crd(schema.clone());
        limit(&mut limited, 100);
        assert_eq!(limited, crd(schema));
        limit(&mut limited, 0);
        let expected = json!({
            "default": { "description": "A default." },
            "items": { "type": "string" },
            "properties": { "description": { "type": "string" } },
        });
        assert_eq!(limited, crd(expected));
    }
}
