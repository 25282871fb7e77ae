//! The arguments after a marker's name, in controller-gen's notation, and access to them.
//!
//! `name=value` pairs are separated by commas. A value is one or more words, separated by `;`, or
//! in braces by `,`. A word may be in double quotes; everything between them is literal.

use super::{CodeMarker, Location, MarkerError, MarkerKind, suggest};

impl CodeMarker {
    pub(super) fn parse(
        kind: MarkerKind,
        location: Location,
        text: &str,
    ) -> Result<Self, MarkerError> {
        let error = |message: String| location.error(message, kind.example());
        let mut arguments: Vec<(String, Vec<String>)> = Vec::new();
        for argument in split_outside(text, ',').map_err(error)? {
            let Some((name, value)) = argument.split_once('=') else {
                if argument.trim().is_empty() {
                    let message = match text.trim_end().ends_with(',') {
                        true => "a comma ends the line",
                        false => "there is nothing before a comma",
                    };
                    return Err(
                        location.error(message, "a marker is one line with all its arguments")
                    );
                }
                let message = format!("`{}` is not an argument: it has no `=`", argument.trim());
                return Err(error(message));
            };
            let name = name.trim().to_owned();
            if arguments.iter().any(|(earlier, _)| *earlier == name) {
                return Err(location.error(
                    format!("the argument `{name}` is given twice"),
                    "separate values by `;`",
                ));
            }
            arguments.push((name, words(value.trim()).map_err(error)?));
        }
        Ok(Self {
            kind,
            location,
            constant: None,
            arguments,
        })
    }

    /// Refuses every argument that is not one of `known`.
    pub fn check_names(&self, known: &[&str]) -> Result<(), MarkerError> {
        let is_unknown = |name: &&String| !known.contains(&name.as_str());
        let Some(name) = self.arguments.iter().map(|(name, _)| name).find(is_unknown) else {
            return Ok(());
        };
        let help = suggest(name, known.iter().copied()).unwrap_or_else(|| {
            let known = known.join(", ");
            format!("known are {known}; put a value that contains commas in quotes or braces")
        });
        let message = format!("unknown argument `{name}` of `+kbr:{}`", self.kind.name());
        Err(self.location.error(message, help))
    }

    /// The words of an argument, as written.
    pub fn texts(&self, name: &str) -> Option<&[String]> {
        let found = self.arguments.iter().find(|(argument, _)| argument == name);
        found.map(|(_, words)| words.as_slice())
    }

    /// The words of an argument that lists names; the list as a whole may be in quotes.
    pub fn words(&self, name: &str) -> Option<Vec<String>> {
        let texts = self.texts(name)?.iter();
        let words = texts.flat_map(|text| text.split(';'));
        Some(words.map(|word| word.trim().to_owned()).collect())
    }
}

/// The words of a value.
fn words(value: &str) -> Result<Vec<String>, String> {
    let braced = value
        .strip_prefix('{')
        .and_then(|inner| inner.strip_suffix('}'));
    let words = match braced {
        Some(inner) => split_outside(inner, ','),
        None => split_outside(value, ';'),
    };
    words?
        .into_iter()
        .map(|word| unquote(word.trim()))
        .collect()
}

/// A word without the quotes around it.
fn unquote(word: &str) -> Result<String, String> {
    let inner = word
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or(word);
    if inner.contains('"') {
        return Err(format!(
            "a double quote is inside `{word}`, where only single quotes are allowed"
        ));
    }
    Ok(inner.to_owned())
}

/// Splits at `separator`, but not inside quotes or braces.
fn split_outside(text: &str, separator: char) -> Result<Vec<&str>, String> {
    let (mut parts, mut start, mut quoted, mut braces) = (Vec::new(), 0, false, 0usize);
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '{' if !quoted => braces += 1,
            '}' if !quoted => {
                braces = braces
                    .checked_sub(1)
                    .ok_or_else(|| "a `}` has no `{`".to_owned())?;
            }
            _ if c == separator && !quoted && braces == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if quoted || braces > 0 {
        return Err("a quote or a brace is not closed".to_owned());
    }
    parts.push(&text[start..]);
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::super::read;

    /// The texts of a webhook marker's matchConditions, or the error.
    fn conditions(value: &str) -> Result<Vec<String>, String> {
        let source = format!("// +kbr:webhook:matchConditions={value},name=x");
        let (markers, errors) = read("src/a.rs", &source);
        match errors.first() {
            Some(error) => Err(error.message.clone()),
            None => Ok(markers[0]
                .texts("matchConditions")
                .expect("matchConditions")
                .to_vec()),
        }
    }

    #[test]
    fn everything_between_quotes_is_literal() {
        for (value, expected) in [
            (r#""a: x in [1,2]; {y}""#, &["a: x in [1,2]; {y}"][..]),
            (r#"{"a: x;y", "b: {'c': 1}"}"#, &["a: x;y", "b: {'c': 1}"]),
            (r#""a: x=1";"b: '}'""#, &["a: x=1", "b: '}'"]),
            (r#"{"a: '\\d'"}"#, &[r"a: '\\d'"]),
        ] {
            assert_eq!(conditions(value).expect(value), expected, "{value}");
        }
    }

    #[test]
    fn a_double_quote_inside_a_word_is_refused() {
        for value in [
            r#""a: x == "y"""#,
            r#"{"a: x == "y"","b: z"}"#,
            r#"a"b""#,
            r#""a""b""#,
        ] {
            let message = conditions(value).expect_err(value);
            assert!(message.contains("a double quote is inside"), "{message}");
        }
        assert_eq!(conditions("{a}{b}"), Err("a `}` has no `{`".to_owned()));
    }
}
