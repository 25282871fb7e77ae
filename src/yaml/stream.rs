//! The only reader of YAML streams: texts with documents between lines of `---`.
//!
//! A document that is not YAML has one error everywhere, with its file, its line and what to do. The documents are told
//! apart by their lines before they are parsed, so what is broken in one hides no other, and no reader can be endless.

use miette::Diagnostic;
use serde::de::Error as _;
use serde_json::Value;
use thiserror::Error;

use super::Problem;

/// A document of a stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Document<'a> {
    /// Without the line of dashes above it.
    pub(crate) text: &'a str,
    /// Its first byte in the stream.
    pub(crate) start: usize,
    /// Its first line in the stream, from 1.
    pub(crate) line: usize,
}

/// A document that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error, Diagnostic)]
#[error("`{path}:{line}` {problem}")]
#[diagnostic(code("yaml-invalid"), help("{}", .problem.help()))]
pub(crate) struct YamlError {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) problem: Problem,
}

impl YamlError {
    /// The error for a file that was not read.
    pub(crate) fn unread(path: &str, why: &'static str) -> Self {
        Self {
            path: path.to_owned(),
            line: 1,
            column: 1,
            problem: Problem::Unread(why),
        }
    }
}

/// The documents of a stream, except those with nothing but comments. The stream may begin with a byte order mark.
pub(crate) fn documents(stream: &str) -> Vec<Document<'_>> {
    let mut documents = Vec::new();
    let mut start = stream.len() - stream.trim_start_matches('\u{feff}').len();
    let (mut line, mut end) = (1, start);
    for (number, text) in stream[start..].split_inclusive('\n').enumerate() {
        let bare = text.trim_end();
        let has_more = text.starts_with("--- ") && bare.len() > 3;
        if bare == "---" || bare == "..." || has_more {
            documents.push((start, line, end));
            // What stands beside the dashes, such as a comment, is part of the document.
            (start, line) = if has_more {
                (end + 4, number + 1)
            } else {
                (end + text.len(), number + 2)
            };
        }
        end += text.len();
    }
    documents.push((start, line, end));
    let documents = documents.into_iter().map(|(start, line, end)| Document {
        text: &stream[start..end],
        start,
        line,
    });
    documents
        .filter(|document| document.text.lines().any(|line| !is_blank(line)))
        .collect()
}

/// The values of all documents of the file at `path`, except those that are null.
pub(crate) fn read(path: &str, stream: &str) -> Result<Vec<Value>, YamlError> {
    let values = documents(stream)
        .into_iter()
        .map(|document| document.read(path));
    let mut values: Vec<Value> = values.collect::<Result<_, _>>()?;
    values.retain(|value| !value.is_null());
    Ok(values)
}

impl Document<'_> {
    /// Its value, in which anchors and merge keys are resolved; the file at `path` has the stream.
    pub(crate) fn read(&self, path: &str) -> Result<Value, YamlError> {
        parsed(self.text).map_err(|error| {
            // In its place in the stream, so that the error has the lines of the stream.
            let placed = "\n".repeat(self.line - 1) + self.text;
            let error = parsed(&placed).err().unwrap_or(error);
            let message = error.to_string();
            let place = error.location();
            let (line, column) = place.map_or((self.line, 1), |it| (it.line(), it.column()));
            let template = self.text.lines().position(is_template);
            let (line, problem) = match template {
                Some(at) => (self.line + at, Problem::Template),
                None if message.contains("recursion limit") => (line, Problem::TooDeep),
                None if message.contains("repetition limit") => (line, Problem::TooManyAliases),
                None => (line, Problem::Syntax(message)),
            };
            YamlError {
                path: path.to_owned(),
                line,
                column,
                problem,
            }
        })
    }
}

fn parsed(text: &str) -> serde_yaml::Result<Value> {
    let mut value: serde_yaml::Value = serde_yaml::from_str(text)?;
    value.apply_merge()?;
    serde_json::to_value(value).map_err(serde_yaml::Error::custom)
}

/// Whether a line has no data: it is empty, a comment or a directive.
fn is_blank(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with(['#', '%'])
}

/// Whether a line has an action of a template where YAML has a value or a key.
fn is_template(line: &str) -> bool {
    let value = line.trim_start().trim_start_matches("- ");
    let value = value.split_once(": ").map_or(value, |(_, value)| value);
    value.trim_start().starts_with("{{")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const BROKEN: [&str; 8] = [
        "bad: [\n",
        "a: b: c\n",
        "\ta: b\n",
        "a: {b\n",
        "- a\nb: c\n",
        "a: 1\na: 2\n",
        "a: \"b\n",
        "a: *unknown\n",
    ];

    #[test]
    fn every_document_is_read_with_its_place() {
        let stream = "\u{feff}# First.\n---\na: 1\n--- # second\nb: 2\n...\n---\n# nothing\n---\nnull\n--- [3]\n";
        for stream in [stream.to_owned(), stream.replace('\n', "\r\n")] {
            let found = documents(&stream);
            let places: Vec<_> = found.iter().map(|it| (it.line, it.text.trim())).collect();
            let texts = [
                (3, "a: 1"),
                (4, "# second\nb: 2"),
                (10, "null"),
                (11, "[3]"),
            ];
            let texts = texts.map(|(line, text)| {
                let is_windows = stream.contains('\r');
                (
                    line,
                    if is_windows {
                        text.replace('\n', "\r\n")
                    } else {
                        text.to_owned()
                    },
                )
            });
            assert_eq!(
                places,
                texts.each_ref().map(|(line, text)| (*line, &**text))
            );
            for document in found {
                assert!(stream[document.start..].starts_with(document.text));
            }
            let values = read("a.yaml", &stream).expect("YAML");
            assert_eq!(values, [json!({ "a": 1 }), json!({ "b": 2 }), json!([3])]);
        }
        assert_eq!(read("a.yaml", ""), Ok(Vec::new()));
    }

    /// Wherever a broken document is, the error has a line of it, and the others can be read.
    #[test]
    fn a_broken_document_is_named_with_its_line() {
        for broken in BROKEN {
            for (before, after) in [(0, 0), (0, 2), (3, 0), (2, 1)] {
                let whole = |count| vec!["# A comment.\nkind: A\n"; count];
                let parts = [whole(before), vec![broken], whole(after)].concat();
                let stream = parts.join("---\n");
                let first = before * 3 + 1;
                let lines = first..=first + broken.lines().count();
                let error = read("a.yaml", &stream).expect_err(broken);
                assert!(lines.contains(&error.line), "{error} in {stream}");
                let message = error.to_string();
                let place = format!("`a.yaml:{}` is not YAML: ", error.line);
                assert!(message.starts_with(&place), "{message}");
                // libyaml does not say it of the first character of a text.
                let own = format!("at line {}", error.line);
                assert!(
                    !message.contains("at line") || message.contains(&own),
                    "{message}"
                );
                let found = documents(&stream);
                let count = found.iter().filter(|it| it.read("").is_ok()).count();
                assert_eq!(count, before + after);
            }
        }
    }

    #[test]
    fn templates_cycles_and_bombs_are_told_apart() {
        let problem = |text: &str| {
            let error = read("a.yaml", &format!("a: b\n---\n{text}")).expect_err(text);
            (error.line, error.problem)
        };
        assert_eq!(
            problem("{{- if .Values.on }}\na: b\n{{- end }}\n"),
            (3, Problem::Template)
        );
        assert_eq!(
            problem("a: b\nc: {{ .Values.c }}\nd: [\n"),
            (4, Problem::Template)
        );
        // Braces in a text are data.
        let (line, braces) = problem("a: as in {{ .Values }}\nb: [\n");
        assert!(
            matches!(braces, Problem::Syntax(_)) && line >= 4,
            "{line} {braces}"
        );
        assert_eq!(problem("a: &a [*a]\n").1, Problem::TooDeep);
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..12 {
            let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
            bomb += &format!("a{level}: &a{level} [{aliases}]\n");
        }
        assert_eq!(problem(&bomb).1, Problem::TooManyAliases);
    }

    #[test]
    fn anchors_and_merge_keys_are_resolved() {
        let text = "a: &a {b: 1, c: 2}\nd: {<<: *a, c: 3}\n";
        let found = read("a.yaml", text).expect("YAML");
        assert_eq!(found[0]["d"], json!({ "b": 1, "c": 3 }));
    }
}
