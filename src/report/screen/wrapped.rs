//! Text with colours as lines of a terminal. Pure.

use unicode_width::UnicodeWidthChar;

/// Ends all colours.
const PLAIN: &str = "\x1b[0m";

/// How far a tab goes at most.
const TAB: usize = 4;

/// The lines of `text`, none of them wider than `width` columns, broken at spaces where possible. Colours are kept; whatever else would do something to a
/// terminal is left out.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    text.lines().flat_map(|line| of_line(line, width)).collect()
}

fn of_line(text: &str, width: usize) -> Vec<String> {
    let (mut lines, mut line, mut used) = (Vec::new(), String::new(), 0);
    // The colours that are on.
    let mut colours = String::new();
    // After the last space: the length of the line, its columns, and the colours.
    let mut space = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character == '\x1b' {
            let Some(colour) = colour(&mut characters) else {
                continue;
            };
            if ["\x1b[m", PLAIN].contains(&&*colour) {
                colours.clear();
            } else {
                colours += &colour;
            }
            line += &colour;
            continue;
        }
        let (shown, columns) = match character {
            '\t' => (" ".repeat(TAB), TAB),
            _ => match character.width() {
                Some(columns) => (character.to_string(), columns),
                None => continue,
            },
        };
        if used + columns > width && used > 0 {
            let (at, before, on) = space.take().unwrap_or((line.len(), used, colours.clone()));
            let rest = line.split_off(at);
            lines.push(ended(line.trim_end_matches(' ')));
            (line, used) = (on + &rest, used - before);
        }
        line += &shown;
        used += columns;
        if character == ' ' && !line.trim().is_empty() {
            space = Some((line.len(), used, colours.clone()));
        }
    }
    lines.push(ended(&line));
    lines
}

/// The rest of an escape sequence, if it is one of colours.
fn colour(characters: &mut std::str::Chars<'_>) -> Option<String> {
    let mut rest = characters.clone();
    if rest.next() != Some('[') {
        return None;
    }
    let mut sequence = "\x1b[".to_owned();
    for character in rest.by_ref() {
        sequence.push(character);
        // What ends a sequence.
        if ('@'..='~').contains(&character) {
            break;
        }
    }
    *characters = rest;
    sequence.ends_with('m').then_some(sequence)
}

/// No colour goes on in the next line.
fn ended(line: &str) -> String {
    if line.contains('\x1b') {
        format!("{line}{PLAIN}")
    } else {
        line.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_goes_on_in_the_next_with_its_colours() {
        let lines = wrapped("ab\x1b[31mcdef\x1b[0mg\nh", 3);
        let expected = ["ab\x1b[31mc\x1b[0m", "\x1b[31mdef\x1b[0m\x1b[0m", "g", "h"];
        assert_eq!(lines, expected);
    }

    #[test]
    fn lines_are_broken_at_spaces() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("one  two", 5), ["one", "two"]);
        assert_eq!(wrapped("  abcdef", 5), ["  abc", "def"]);
        assert_eq!(wrapped("a bcdefgh ij", 4), ["a", "bcde", "fgh", "ij"]);
        let lines = wrapped("a \x1b[31mb cd\x1b[0m e", 4);
        assert_eq!(lines, ["a \x1b[31mb\x1b[0m", "\x1b[31mcd\x1b[0m e\x1b[0m"]);
    }

    #[test]
    fn nothing_but_colours_reaches_the_terminal() {
        let evil = "a\x1b[2J\x1b[10;1Hb\x1b]0;title\x07c\rd\x08";
        assert_eq!(wrapped(evil, 40), ["ab]0;titlecd"]);
        assert_eq!(wrapped("a\x1b", 40), ["a"]);
        assert_eq!(wrapped("a\x1b[3", 40), ["a"]);
    }

    #[test]
    fn a_wide_character_takes_two_columns() {
        assert_eq!(wrapped("日本語", 5), ["日本", "語"]);
        assert_eq!(wrapped("日本", 1), ["日", "本"]);
        assert_eq!(wrapped("a\tb", 40), ["a    b"]);
        assert_eq!(wrapped("", 40), [""; 0]);
    }
}
