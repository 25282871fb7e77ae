//! Code markers: comments such as `// +kbr:rbac:groups=batch,resources=jobs,verbs=get`, with the position of
//! each word, so that what reads them and what renames in them agree. Pure.
//!
//! The arguments are in controller-gen's notation: `name=value` pairs are separated by commas. A value is one
//! or more words, separated by `;`, or in braces by `,`. A word may be in double quotes; everything between
//! them is literal.

use super::{Code, Comment, Segment};

/// Prefixes that make a comment a marker.
pub(crate) const PREFIXES: [&str; 2] = ["+kbr:", "+kubebuilder:"];

/// A comment that may be a marker: a line of a comment, without what makes it one.
#[derive(Debug)]
pub(crate) struct CommentLine<'a> {
    pub(crate) text: &'a str,
    /// Where the line begins, with its slashes.
    pub(crate) start: usize,
    /// Where `text` begins.
    at: usize,
    pub(crate) comment: &'a Comment<'a>,
}

/// A line that begins like a marker.
#[derive(Debug)]
pub(crate) struct Marker<'a> {
    pub(crate) prefix: &'static str,
    /// `rbac`
    pub(crate) name: &'a str,
    /// With the colon before them, if there is one.
    pub(crate) rest: &'a str,
    /// Where `rest` begins.
    start: usize,
}

/// An argument, and its words without the quotes around them.
#[derive(Debug)]
pub(crate) struct Argument<'a> {
    pub(crate) name: &'a str,
    pub(crate) words: Vec<Segment>,
}

/// Why arguments are not understood.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ArgumentError {
    pub(crate) message: String,
    /// What to write instead, unless an example says it best.
    pub(crate) help: Option<&'static str>,
}

impl<'a> Code<'a> {
    /// Every line of every comment.
    pub(crate) fn comment_lines(&'a self) -> impl Iterator<Item = CommentLine<'a>> {
        self.comments.iter().flat_map(|comment| {
            let mut next = comment.start;
            comment.text.split_inclusive('\n').map(move |line| {
                let start = next + (line.len() - line.trim_start().len());
                next += line.len();
                let bare = line.trim();
                let text = bare.trim_start_matches(['/', '*', '!']).trim_start();
                CommentLine {
                    text: text.trim_end_matches("*/").trim_end(),
                    start,
                    at: start + bare.len() - text.len(),
                    comment,
                }
            })
        })
    }
}

impl<'a> CommentLine<'a> {
    /// The line as a marker, if it begins like one.
    pub(crate) fn marker(&self) -> Option<Marker<'a>> {
        let (prefix, marker) = PREFIXES
            .into_iter()
            .find_map(|prefix| Some((prefix, self.text.strip_prefix(prefix)?)))?;
        let end = marker.find(|c: char| c == ':' || c.is_whitespace());
        let (name, rest) = marker.split_at(end.unwrap_or(marker.len()));
        Some(Marker {
            prefix,
            name,
            rest,
            start: self.at + prefix.len() + name.len(),
        })
    }
}

impl<'a> Marker<'a> {
    pub(crate) fn arguments(&self) -> Result<Vec<Argument<'a>>, ArgumentError> {
        let text = self.rest.strip_prefix(':').unwrap_or_default();
        let mut arguments: Vec<Argument<'a>> = Vec::new();
        for (start, argument) in split_outside(text, self.start + 1, ',')? {
            let Some((name, value)) = argument.split_once('=') else {
                return Err(no_argument(argument, text));
            };
            let is_same = |earlier: &Argument<'_>| earlier.name == name.trim();
            if arguments.iter().any(is_same) {
                return Err(ArgumentError {
                    message: format!("the argument `{}` is given twice", name.trim()),
                    help: Some("separate values by `;`"),
                });
            }
            arguments.push(Argument {
                name: name.trim(),
                words: words(value, start + name.len() + 1)?,
            });
        }
        Ok(arguments)
    }
}

impl Argument<'_> {
    /// The names in a list, which may be in quotes as a whole.
    pub(crate) fn names(&self) -> impl Iterator<Item = Segment> {
        self.words.iter().flat_map(|word| {
            let mut next = word.range.start;
            word.text.split(';').map(move |name| {
                let start = next;
                next += name.len() + 1;
                trimmed(name, start)
            })
        })
    }
}

fn no_argument(argument: &str, text: &str) -> ArgumentError {
    if !argument.trim().is_empty() {
        let message = format!("`{}` is not an argument: it has no `=`", argument.trim());
        return message.into();
    }
    let message = if text.trim_end().ends_with(',') {
        "a comma ends the line"
    } else {
        "there is nothing before a comma"
    };
    ArgumentError {
        message: message.to_owned(),
        help: Some("a marker is one line with all its arguments"),
    }
}

impl From<String> for ArgumentError {
    fn from(message: String) -> Self {
        Self {
            message,
            help: None,
        }
    }
}

/// The words of a value that begins at `start`.
fn words(value: &str, start: usize) -> Result<Vec<Segment>, ArgumentError> {
    let whole = trimmed(value, start);
    let opened = whole.text.strip_prefix('{');
    let braced = opened.and_then(|inner| inner.strip_suffix('}'));
    let (inner, separator) = match braced {
        Some(inner) => (inner, ','),
        None => (whole.text.as_str(), ';'),
    };
    let start = whole.range.start + usize::from(braced.is_some());
    let mut words = split_outside(inner, start, separator)?;
    // As in controller-gen, nothing follows the last separator.
    if words.len() > 1 && words.last().is_some_and(|(_, word)| word.trim().is_empty()) {
        words.pop();
    }
    words
        .into_iter()
        .map(|(start, word)| unquoted(trimmed(word, start)))
        .collect()
}

fn trimmed(text: &str, start: usize) -> Segment {
    let begin = start + text.len() - text.trim_start().len();
    let text = text.trim().to_owned();
    Segment {
        range: begin..begin + text.len(),
        text,
    }
}

/// A word without the quotes around it.
fn unquoted(word: Segment) -> Result<Segment, ArgumentError> {
    let Segment { text, range } = &word;
    let inner = text.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    if inner.unwrap_or(text).contains('"') {
        let message =
            format!("a double quote is inside `{text}`, where only single quotes are allowed");
        return Err(message.into());
    }
    Ok(match inner {
        Some(inner) => Segment {
            text: inner.to_owned(),
            range: range.start + 1..range.end - 1,
        },
        None => word,
    })
}

/// Splits a text at `separator`, but not inside quotes or braces. Each part comes with the place where it begins,
/// the text itself at `begin`.
fn split_outside(
    text: &str,
    begin: usize,
    separator: char,
) -> Result<Vec<(usize, &str)>, ArgumentError> {
    let (mut parts, mut start, mut quoted, mut braces) = (Vec::new(), 0, false, 0usize);
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '{' if !quoted => braces += 1,
            '}' if !quoted => {
                let outer = braces.checked_sub(1);
                braces = outer.ok_or_else(|| "a `}` has no `{`".to_owned())?;
            }
            _ if c == separator && !quoted && braces == 0 => {
                parts.push((begin + start, &text[start..at]));
                start = at + 1;
            }
            _ => {}
        }
    }
    if quoted || braces > 0 {
        return Err("a quote or a brace is not closed".to_owned().into());
    }
    parts.push((begin + start, &text[start..]));
    Ok(parts)
}
