//! Text that becomes Markdown, one case per line, and code that is read as it was written.

use proptest::prelude::*;

use super::words::HOSTILE;
use super::{parsed, shown};
use crate::manifests::docs::text::{code, inline, paragraph};

#[test]
fn a_description_is_one_line_and_means_the_same() {
    for (text, expected) in [
        ("How many\nof them.", "How many of them."),
        ("One.\n\nTwo.\n\n\nThree.", "One.<br><br>Two.<br><br>Three."),
        (
            "Either:\n- a\n- b\n  and c\n\nElse.",
            "Either:<br>• a<br>• b and c<br><br>Else.",
        ),
        ("1. one\n2) two", "1. one<br>2) two"),
        ("# Title\ntext", "Title text"),
        ("Text.\n## Title\n\nMore.", "Text.<br>Title<br><br>More."),
        ("`a|b` or a|b", "<code>a&#124;b</code> or a&#124;b"),
        ("`Option<T>`, Vec<T>", "`Option<T>`, Vec&#60;T>"),
        (
            "see [here](https://a.b) and *there*",
            "see [here](https://a.b) and *there*",
        ),
        ("*/5 * * * *", "*/5 * * * *"),
        ("`` `a` ``", "<code>&#96;a&#96;</code>"),
        ("an open ` tick", "an open \\` tick"),
        (
            "a \\` tick, \\* star, \\| bar, C:\\Temp",
            "a \\` tick, \\* star, &#124; bar, C:&#92;Temp",
        ),
        ("ends with \\", "ends with &#92;"),
        ("[a]: b", "[a]&#58; b"),
        (
            "Such as\n```yaml\na: 1\n  b: |\n```\nor so",
            "Such as<br><pre>a&#58; 1&#10;  b&#58; &#124;</pre><br>or so",
        ),
        ("~~~\nopen", "<pre>open</pre>"),
        ("a\tb\u{1b}[0m", "a b [0m"),
        ("\u{0}> a", "> a"),
        ("", ""),
        (" \n \n", ""),
    ] {
        assert_eq!(inline(text), expected, "{text:?}");
    }
}

#[test]
fn a_paragraph_starts_no_other_block() {
    for (text, expected) in [
        ("#1 of them", "\\#1 of them"),
        ("1. one", "1\\. one"),
        ("2) two", "2\\) two"),
        ("3 of them", "3 of them"),
        ("> quoted", "\\> quoted"),
        ("---", "\\---"),
        ("***", "\\***"),
        ("*all* of them", "*all* of them"),
        ("*\nall", "\\* all"),
        ("-1 means all", "\\-1 means all"),
        ("", ""),
    ] {
        assert_eq!(paragraph(text), expected, "{text:?}");
    }
}

fn is_read_as(markdown: &str, text: &str) -> bool {
    let expected: String = text
        .chars()
        .map(|c| if c.is_control() && c != '\n' { ' ' } else { c })
        .collect();
    parsed(markdown, shown) == expected
}

proptest! {
    #![proptest_config(crate::fuzz::random::properties())]

    #[test]
    fn code_is_read_as_it_was_written(
        text in prop_oneof!["\\PC{1,20}", prop::collection::vec(prop::sample::select(&HOSTILE[..]), 1..8)
            .prop_map(|parts| parts.concat())]
    ) {
        let text = text.replace('\u{0}', "");
        let code = code(&text);
        // The ends of a cell are trimmed, so the code is in parentheses.
        let cell = format!("| |\n|---|\n| ({code}) |\n");
        prop_assert!(is_read_as(&cell, &format!("({text})")), "{}", code);
        prop_assert!(is_read_as(&format!("({code})"), &format!("({text})")), "{}", code);
    }
}
