//! A user's text within kbr's Markdown: on one line, and with nothing in it that would end a table cell
//! or start another block.
//!
//! Doc comments are Markdown themselves, so inline markup is kept: emphasis, links, code.

use std::sync::LazyLock;

use regex_lite::Regex;

use crate::manifests::pattern::regex;

/// The start of a list item that is on one line with others.
const BULLET: &str = "• ";

const PARAGRAPH: &str = "<br><br>";
const LINE: &str = "<br>";

static TICKS: LazyLock<Regex> = LazyLock::new(|| regex("`+"));

/// A text, unless it is empty.
pub(super) fn given<T: AsRef<str>>(text: T) -> Option<T> {
    Some(text).filter(|text| !text.as_ref().is_empty())
}

/// A description on one line.
pub(super) fn inline(text: &str) -> String {
    let blank = |c: char| if c.is_control() { ' ' } else { c };
    let printable = text.lines().map(|line| line.chars().map(blank).collect());
    let all: Vec<String> = printable.collect();
    let mut lines = all.iter().peekable();
    let (mut done, mut between) = (String::new(), LINE);
    while let Some(line) = lines.next().map(|line| line.trim()) {
        if line.is_empty() {
            between = PARAGRAPH;
            continue;
        }
        let block = if let Some(fence) = fence(line) {
            let is_inside = |line: &&str| !is_end(line.trim(), fence);
            let rest = lines.by_ref().map(String::as_str);
            let code: Vec<&str> = rest.take_while(is_inside).collect();
            format!(
                "<pre>{}</pre>",
                encoded(code.join("\n").trim_end_matches('\n'))
            )
        } else {
            let mut block = item(line).unwrap_or_else(|| line.to_owned());
            while let Some(line) = lines.next_if(|line| continues(line.trim())) {
                block += " ";
                block += line.trim();
            }
            spans(&block)
        };
        if !done.is_empty() {
            done += between;
        }
        done += &block;
        between = LINE;
    }
    done
}

/// Whether a line belongs to the paragraph or item before it.
fn continues(line: &str) -> bool {
    !line.is_empty() && fence(line).is_none() && item(line).is_none()
}

/// The fence with which a line begins a code block.
fn fence(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(line.chars().next()?);
    let fence = &line[..line.len() - rest.len()];
    let is_fence = fence.len() > 2 && fence.starts_with(['`', '~']) && !rest.contains('`');
    is_fence.then_some(fence)
}

/// Whether a line ends the code block with that fence.
fn is_end(line: &str, fence: &str) -> bool {
    line.starts_with(fence) && line.chars().all(|c| fence.starts_with(c))
}

/// A description as a paragraph of its own: its beginning does not turn it into any other block.
pub(super) fn paragraph(text: &str) -> String {
    let mut line = inline(text);
    let is_rule = line.chars().all(|c| "*_- ".contains(c)) && !line.is_empty();
    let is_item = line.starts_with("* ");
    let at = match after_number(&line) {
        Some(rest) => line.len() - rest.len(),
        None if line.starts_with(['#', '+', '-', '>', '=', '~']) || is_item || is_rule => 0,
        None => return line,
    };
    line.insert(at, '\\');
    line
}

/// A text as code, on one line.
pub(super) fn code(text: &str) -> String {
    let is_plain = |c: char| c != '|' && c != '`' && !c.is_control();
    let is_bare = !text.is_empty() && text.trim() == text;
    if is_bare && text.chars().all(is_plain) {
        return format!("`{text}`");
    }
    coded(text)
}

/// A text as code in an element, which ends a URL before it.
fn coded(text: &str) -> String {
    format!("<code>{}</code>", encoded(text))
}

/// Whether the last word may be a URL, to which a parser adds whatever follows.
fn ends_in_url(text: &str) -> bool {
    let word = text.rsplit(char::is_whitespace).next();
    word.is_some_and(|it| ["://", "www.", "@"].iter().any(|part| it.contains(part)))
}

/// A text encoded so that no Markdown or HTML parser takes it for markup or a URL.
fn encoded(text: &str) -> String {
    let character = |c: char| match c {
        '\n' | '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '&' | '|' | '~' | '$' | ':' | '@' => {
            format!("&#{};", u32::from(c))
        }
        c if c.is_control() => ' '.to_string(),
        c => c.to_string(),
    };
    let encoded: String = text.chars().map(character).collect();
    encoded.replace("www.", "www&#46;")
}

/// A line that starts a list item or is a heading, in the form it has among other lines.
fn item(line: &str) -> Option<String> {
    let item = line.strip_prefix(['-', '*', '+']);
    if let Some(text) = item.and_then(|text| text.strip_prefix(' ')) {
        return Some(format!("{BULLET}{}", text.trim_start()));
    }
    let heading = line.trim_start_matches('#');
    if heading.len() < line.len() && heading.starts_with(' ') {
        return Some(heading.trim_start().to_owned());
    }
    let number = after_number(line).filter(|rest| rest[1..].starts_with(' '));
    number.map(|_| line.to_owned())
}

/// The text after the number with which a line begins, from its dot or bracket.
fn after_number(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    (rest.len() < line.len() && rest.starts_with(['.', ')'])).then_some(rest)
}

/// One line of Markdown, with its code written by [`code`].
fn spans(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let ticks = rest.len() - rest.trim_start_matches('`').len();
        let after = &rest[ticks.max(c.len_utf8())..];
        rest = after;
        match c {
            '`' => match TICKS.find_iter(after).find(|run| run.len() == ticks) {
                Some(end) => {
                    let text = stripped(&after[..end.start()]);
                    let write = if ends_in_url(&out) { coded } else { code };
                    out += &write(text);
                    rest = &after[end.end()..];
                }
                None => out += &"\\`".repeat(ticks),
            },
            '\\' if after.starts_with(|c: char| c.is_ascii_punctuation() && !"|<".contains(c)) => {
                out.push(c);
                out += &after[..1];
                rest = &after[1..];
            }
            // It makes the next character literal, as its encoding does.
            '\\' if after.starts_with(['|', '<']) => {}
            '\\' | '<' | '|' => out += &encoded(&c.to_string()),
            // `[name]: URL` would define a link for the whole document.
            ':' if out.ends_with(']') => out += "&#58;",
            c => out.push(c),
        }
    }
    out
}

/// Code without the space that separates a backtick in it from its fence.
fn stripped(code: &str) -> &str {
    let inner = code.strip_prefix(' ').and_then(|it| it.strip_suffix(' '));
    inner.filter(|it| !it.trim().is_empty()).unwrap_or(code)
}
