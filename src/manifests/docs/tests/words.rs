//! A document in which every text is hostile has the same blocks as one with plain texts.

use std::collections::BTreeSet;

use comrak::nodes::NodeValue;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{CrdDocument, anchors, crd, html, parsed, rendered};

/// A CRD in which every text that a user can write is `words`.
fn with_words(words: &str) -> CrdDocument {
    let described = |mut schema: Value| {
        schema["description"] = words.into();
        schema["x-kubernetes-validations"] = json!([{ "message": words, "rule": words }]);
        schema
    };
    let object = |name: &str, field: Value| {
        described(json!({ "properties": { name: field }, "required": [name], "type": "object" }))
    };
    let text = described(json!({
        "default": words,
        "enum": [words],
        "pattern": words,
        "type": "string",
    }));
    let list = described(json!({ "items": object(words, text), "type": "array" }));
    let mut crd = crd(object("spec", object(words, list)));
    let version = &mut crd.document["spec"]["versions"][0];
    version["deprecated"] = true.into();
    version["deprecationWarning"] = words.into();
    version["additionalPrinterColumns"] = json!([{ "name": words, "jsonPath": words }]);
    crd
}

/// The blocks of a document, with the number of cells in each row; a code block that begins a
/// description is an HTML block.
fn skeleton(markdown: &str) -> Vec<String> {
    parsed(markdown, |root| {
        let blocks = root
            .descendants()
            .filter_map(|node| match &node.data().value {
                NodeValue::HtmlBlock(html) if html.literal.starts_with("<pre>") => {
                    Some("paragraph".to_owned())
                }
                NodeValue::TableRow(_) => Some(format!("row of {}", node.children().count())),
                NodeValue::TableCell => None,
                value if value.block() => Some(match value {
                    NodeValue::Heading(heading) => format!("heading {}", heading.level),
                    _ => value.xml_node_name().to_owned(),
                }),
                _ => None,
            });
        blocks.collect()
    })
}

pub(crate) const HOSTILE: [&str; 44] = [
    "|",
    "\\",
    "\\|",
    "`",
    "``",
    "```",
    "~~~",
    "\n",
    "\n\n",
    "\r",
    "\t",
    " ",
    "    ",
    "<",
    ">",
    "<!--",
    "-->",
    "<pre>",
    "</pre>",
    "<a id=\"x\">",
    "<script>",
    "</td>",
    "&",
    "&lt;",
    "# ",
    "- ",
    "* ",
    "1. ",
    "> ",
    "---",
    "***",
    "===",
    "[",
    "]",
    "](",
    "[a]: b",
    "[^1]: x",
    "*",
    "_",
    "\u{0}",
    "\u{7f}",
    "https://example.com/a|b",
    "ä",
    "word",
];

fn hostile() -> impl Strategy<Value = String> {
    let parts = prop::collection::vec(prop::sample::select(&HOSTILE[..]), 0..10);
    // A description without any word would be omitted.
    parts.prop_map(|parts| parts.concat() + "\nx")
}

#[test]
fn code_after_a_url_is_no_part_of_it() {
    let text = rendered(&[with_words("https://example.com/a|b```<a id=\"x\">```\nx")]);
    let plain = rendered(&[with_words("plain")]);
    assert_eq!(skeleton(&text), skeleton(&plain), "{text}");
}

proptest! {
    #![proptest_config(crate::fuzz::random::properties())]

    #[test]
    fn no_words_break_the_document(words in hostile()) {
        let crd = with_words(&words);
        let text = rendered(&[crd]);
        let plain = rendered(&[with_words("plain")]);
        prop_assert_eq!(skeleton(&text), skeleton(&plain), "{}", text);
        let (ids, links) = anchors(&text);
        prop_assert_eq!(ids.len(), anchors(&plain).0.len());
        let ids: BTreeSet<&String> = ids.iter().collect();
        prop_assert!(links.iter().all(|link| ids.contains(link)), "{}", text);
        for html in html(&text).iter().skip(1) {
            let tags = html.split('<').skip(1).map(|tag| tag.split('>').next().unwrap_or_default());
            for tag in tags {
                let known = ["br", "pre", "/pre", "code", "/code", "/a"].contains(&tag);
                prop_assert!(known || tag.starts_with("a id=\"foos."), "{html}");
            }
        }
        prop_assert_eq!(text.lines().count(), plain.lines().count());
    }
}
