//! The keys of a terminal that does not wait for Enter.

use std::io::{self, Read};
use std::thread;

/// What a terminal sends for keys that are no characters, after the escape character.
const NAMED: [(&str, &str); 10] = [
    ("[A", "up"),
    ("OA", "up"),
    ("[B", "down"),
    ("OB", "down"),
    ("[5~", "page-up"),
    ("[6~", "page-down"),
    ("[F", "end"),
    ("OF", "end"),
    ("[4~", "end"),
    ("[8~", "end"),
];

/// Calls `each` on another thread with every key: a character, or a name such as `page-up`.
pub(crate) fn pressed(each: impl Fn(&str) + Send + 'static) {
    thread::spawn(move || {
        let mut bytes = [0; 64];
        // The terminal sends all of a key at once.
        while let Ok(count @ 1..) = io::stdin().read(&mut bytes) {
            keys(&String::from_utf8_lossy(&bytes[..count]), &each);
        }
    });
}

fn keys(mut text: &str, each: &impl Fn(&str)) {
    while let Some(character) = text.chars().next() {
        let rest = &text[character.len_utf8()..];
        text = match character {
            '\x1b' => escaped(rest, each),
            '\r' | '\n' => {
                each("enter");
                rest
            }
            _ => {
                each(&text[..character.len_utf8()]);
                rest
            }
        };
    }
}

/// Takes what follows an escape character, and returns the rest.
fn escaped<'a>(text: &'a str, each: &impl Fn(&str)) -> &'a str {
    if !text.starts_with(['[', 'O']) {
        each("escape");
        return text;
    }
    let end = text[1..].find(|it| ('@'..='~').contains(&it));
    let (sequence, rest) = text.split_at(end.map_or(text.len(), |end| end + 2));
    if let Some((_, name)) = NAMED.iter().find(|(sent, _)| *sent == sequence) {
        each(name);
    }
    rest
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn keys_that_are_no_characters_have_names() {
        let taken = RefCell::new(Vec::new());
        let each = |key: &str| taken.borrow_mut().push(key.to_owned());
        keys("q\x1b[A\x1bOBä\x1b[5~\x1b[6~\x1b[1;5C\x1b[F\r\x1b", &each);
        let expected = [
            "q",
            "up",
            "down",
            "ä",
            "page-up",
            "page-down",
            "end",
            "enter",
            "escape",
        ];
        assert_eq!(*taken.borrow(), expected);
    }
}
