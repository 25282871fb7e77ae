//! Code markers: comments that kbr reads, such as `// +kbr:rbac:groups=batch,resources=jobs,verbs=get`.
//!
//! [`crate::rust`] finds them, so a marker inside a string literal is not one, and code that does not
//! compile yet is read too; here they are told apart. A comment that begins with `+kbr:` and is
//! not understood is an error with its place: skipping a misspelt marker would remove a permission
//! that nobody misses before production. `+kubebuilder:` is read the same way, so that lines can be
//! pasted over.

mod constant;

use std::fmt;

use clap::ValueEnum;
use miette::Diagnostic;
use thiserror::Error;

use crate::marker::ScaffoldMarker;
use crate::names::is_among;
use crate::rust::marker::{CommentLine, Marker, PREFIXES};
use crate::rust::{Code, Segment};
use crate::yaml::YamlError;
use constant::constant;

/// A marker that makes a manifest, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CodeMarker {
    pub(crate) kind: MarkerKind,
    pub(crate) location: Location,
    /// The text of the constant with the path below the marker, if there is one.
    pub(crate) constant: Option<Segment>,
    /// Name and words of each argument, in the order in which they are written.
    arguments: Vec<(String, Vec<String>)>,
}

/// What a marker is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MarkerKind {
    Rbac,
    Webhook,
    WebhookConfiguration,
}

impl MarkerKind {
    const ALL: [Self; 3] = [Self::Rbac, Self::Webhook, Self::WebhookConfiguration];

    fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The word behind `+kbr:`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Rbac => "rbac",
            Self::Webhook => "webhook",
            Self::WebhookConfiguration => "webhookconfiguration",
        }
    }

    /// What such a marker looks like.
    pub(crate) fn example(self) -> &'static str {
        match self {
            Self::Rbac => "write it like `// +kbr:rbac:groups=batch,resources=jobs,verbs=get;list`",
            Self::Webhook => {
                "write it like `// +kbr:webhook:mutating=false,path=/validate--v1-pod,groups=core,\
                 resources=pods,verbs=create;update,versions=v1,name=vpod-v1.core.example.com`, \
                 with a value that has commas in double quotes"
            }
            Self::WebhookConfiguration => {
                "write it like `// +kbr:webhookconfiguration:mutating=true,name=defaults`"
            }
        }
    }
}

/// Where a marker begins; line and column count from 1, the column in characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// A marker that is not understood.
#[derive(Debug, Clone, PartialEq, Eq, Error, Diagnostic)]
#[error("{location}: {message}")]
#[diagnostic(code("marker-invalid"))]
pub(crate) struct MarkerError {
    pub(crate) location: Location,
    pub(crate) message: String,
    /// What to write instead.
    #[help]
    pub(crate) help: String,
}

impl From<YamlError> for MarkerError {
    fn from(error: YamlError) -> Self {
        let location = Location {
            path: error.path,
            line: error.line,
            column: error.column,
        };
        location.error(format!("this {}", error.problem), error.problem.help())
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.path, self.line, self.column)
    }
}

impl Location {
    /// The beginning of a line.
    pub(crate) fn start(path: String, line: usize) -> Self {
        let column = 1;
        Self { path, line, column }
    }

    pub(crate) fn error(&self, message: impl Into<String>, help: impl Into<String>) -> MarkerError {
        MarkerError {
            location: self.clone(),
            message: message.into(),
            help: help.into(),
        }
    }
}

/// The markers of one source file that make manifests, and every marker in it that is not understood.
pub(crate) fn read(path: &str, source: &str) -> (Vec<CodeMarker>, Vec<MarkerError>) {
    let code = Code::read(source);
    let test_code = code.test_code();
    let (mut markers, mut errors) = (Vec::new(), Vec::new());
    for line in code.comment_lines() {
        let location = || location(path, &code, line.start);
        let Some(marker) = line.marker() else {
            errors.extend(near_marker(line.text).map(|help| {
                let message = format!("`{}` looks like a marker, but is not one", line.text);
                location().error(message, help)
            }));
            continue;
        };
        match parse(&code, location(), &marker, &line) {
            Ok(Some(marker)) if test_code.iter().any(|part| part.contains(&line.start)) => {
                errors.push(marker.in_test_code());
            }
            Ok(marker) => markers.extend(marker),
            Err(error) => errors.push(error),
        }
    }
    (markers, errors)
}

/// The markers of one kind as `parse` reads them, each with its location.
pub(crate) fn parse_all<'m, T>(
    markers: &'m [CodeMarker],
    kind: MarkerKind,
    parse: impl Fn(&CodeMarker) -> Result<T, MarkerError>,
    errors: &mut Vec<MarkerError>,
) -> Vec<(&'m Location, T)> {
    let own = markers.iter().filter(|marker| marker.kind == kind);
    let mut read = |marker: &CodeMarker| parse(marker).map_err(|error| errors.push(error)).ok();
    own.filter_map(|marker| Some((&marker.location, read(marker)?)))
        .collect()
}

/// What to write for a comment that would be a marker but for spaces, capitals, characters that are
/// not seen, or a missing `+`.
fn near_marker(comment: &str) -> Option<String> {
    let is_seen = |c: &char| !c.is_whitespace() && !c.is_control() && !is_invisible(*c);
    let seen: String = comment.chars().filter(is_seen).collect();
    let lower = seen.to_ascii_lowercase();
    let bare = lower.strip_prefix('+').unwrap_or(&lower);
    let mut prefixes = PREFIXES.into_iter();
    let (prefix, rest) =
        prefixes.find_map(|prefix| Some((prefix, bare.strip_prefix(&prefix[1..])?)))?;
    let name = MarkerKind::of(rest.split_once(':')?.0)?.name();
    let is_meant = lower.starts_with('+') || rest.contains('=');
    is_meant.then(|| format!("begin it with exactly `// {prefix}{name}:`"))
}

/// Characters of no width, such as come with copied text.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}

fn location(path: &str, code: &Code<'_>, offset: usize) -> Location {
    let before = code.text[..offset].rsplit('\n').next().unwrap_or_default();
    Location {
        path: path.to_owned(),
        line: code.line(offset),
        column: before.chars().count() + 1,
    }
}

/// A marker's value, or nothing for one that only marks a place.
fn parse(
    code: &Code<'_>,
    location: Location,
    marker: &Marker<'_>,
    line: &CommentLine<'_>,
) -> Result<Option<CodeMarker>, MarkerError> {
    let (prefix, name, rest) = (marker.prefix, marker.name, marker.rest);
    let arguments = rest.strip_prefix(':').unwrap_or_default();
    if !line.comment.is_line {
        return Err(location.error(
            format!("`{prefix}{name}` is in a block comment"),
            format!("write it as a line of its own: `// {}`", line.text),
        ));
    }
    if let Some(kind) = MarkerKind::of(name) {
        if arguments.trim().is_empty() {
            let message = format!("`{prefix}{name}` needs `:` and arguments");
            return Err(location.error(message, kind.example()));
        }
        let arguments = marker.arguments().map_err(|problem| {
            location.error(problem.message, problem.help.unwrap_or(kind.example()))
        })?;
        let owned = arguments.into_iter().map(|it| {
            let words = it.words.into_iter().map(|word| word.text);
            (it.name.to_owned(), words.collect())
        });
        return Ok(Some(CodeMarker {
            kind,
            location,
            constant: constant(code, line.comment.next),
            arguments: owned.collect(),
        }));
    }
    let kinds = MarkerKind::ALL.map(MarkerKind::name).into_iter();
    let of_scaffold = ScaffoldMarker::value_variants().iter();
    let places: Vec<String> = of_scaffold.map(|marker| marker.name()).collect();
    let (message, near, help) = match name {
        "scaffold" if places.iter().any(|place| place == arguments) => return Ok(None),
        "scaffold" => (
            format!("unknown scaffold marker `{prefix}scaffold{rest}`"),
            suggest(arguments, places.iter().map(String::as_str)),
            "remove it; `kbr help markers` lists the markers",
        ),
        _ => (
            format!("unknown marker `{prefix}{name}`"),
            suggest(name, kinds.chain(["scaffold"])),
            "kbr reads `+kbr:rbac` and `+kbr:webhook`; markers of the schema are attributes in Rust: `kbr help markers` lists them",
        ),
    };
    Err(location.error(message, near.unwrap_or_else(|| help.to_owned())))
}

impl CodeMarker {
    /// The refusal of a marker in code that no operator has.
    pub(crate) fn in_test_code(&self) -> MarkerError {
        self.error(
            format!("`+kbr:{}` is in code for tests", self.kind.name()),
            "move it to the code of the operator that needs it",
        )
    }

    /// An error at the marker: what is wrong, and what to write instead.
    pub(crate) fn error(&self, message: impl Into<String>, help: impl Into<String>) -> MarkerError {
        self.location.error(message, help)
    }

    /// That error, unless the marker is valid.
    pub(crate) fn ensure(
        &self,
        is_valid: bool,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Result<(), MarkerError> {
        if is_valid {
            Ok(())
        } else {
            Err(self.error(message, help))
        }
    }

    /// Refuses every argument that is not one of `known`, which are separated by spaces.
    pub(crate) fn check_names(&self, known: &str) -> Result<(), MarkerError> {
        for (name, _) in &self.arguments {
            let help = suggest(name, known.split(' ')).unwrap_or_else(|| {
                let list = known.replace(' ', ", ");
                format!("known are {list}; put a value that contains commas in quotes or braces")
            });
            let message = format!("unknown argument `{name}` of `+kbr:{}`", self.kind.name());
            self.ensure(is_among(known, name), message, help)?;
        }
        Ok(())
    }

    /// The words of an argument, as written.
    pub(crate) fn texts(&self, name: &str) -> Option<&[String]> {
        let found = self.arguments.iter().find(|(argument, _)| argument == name);
        found.map(|(_, words)| words.as_slice())
    }

    /// The words of an argument that lists names; the list as a whole may be in quotes.
    pub(crate) fn words(&self, name: &str) -> Option<Vec<String>> {
        let texts = self.texts(name)?.iter();
        let without_end = |text: &str| text.strip_suffix(';').is_some_and(|rest| !rest.is_empty());
        let words = texts.flat_map(|text| {
            let end = text.len() - usize::from(without_end(text));
            text[..end].split(';')
        });
        Some(words.map(|word| word.trim().to_owned()).collect())
    }
}

/// The known word that is nearest to `word`, as a question, where one is near.
pub(crate) fn suggest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let (distance, nearest) = known
        .map(|k| (strsim::damerau_levenshtein(word, k), k))
        .min()?;
    (distance <= nearest.len().div_ceil(3)).then(|| format!("did you mean `{nearest}`?"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn errors(source: &str) -> Vec<String> {
        let (_, errors) = read("src/a.rs", source);
        errors
            .iter()
            .map(|error| format!("{error}; {}", error.help))
            .collect()
    }

    fn values(source: &str) -> Vec<(String, Vec<String>)> {
        let (markers, errors) = read("src/a.rs", source);
        assert_eq!(errors, []);
        let names = ["groups", "verbs", "matchConditions"].into_iter();
        let words = |name: &str| Some((name.to_owned(), markers[0].words(name)?));
        names.filter_map(words).collect()
    }

    #[test]
    fn arguments_are_read_in_every_spelling() {
        let expected = vec![
            ("groups".to_owned(), vec!["batch".to_owned(), String::new()]),
            (
                "verbs".to_owned(),
                vec!["get".to_owned(), "list".to_owned()],
            ),
        ];
        for source in [
            "/// +kbr:rbac:groups=batch;\"\",verbs=get;list\nfn f() {}",
            "//+kubebuilder:rbac:groups={batch,\"\"},verbs={get,list}",
            // Nothing follows the last separator.
            "// +kbr:rbac:groups=batch;\"\";,verbs=get;list;",
            "// +kbr:rbac:groups={batch,\"\",},verbs={get,list, }",
            "// +kbr:rbac:groups=batch;\"\",verbs=\"get;list;\"",
            "fn f() {}   //   +kbr:rbac:groups=\"batch\";\"\", verbs=get;list  ",
        ] {
            assert_eq!(values(source), expected, "{source}");
        }
    }

    #[test]
    fn markers_in_literals_and_sentences_are_none() {
        for source in [
            r#"const A: &str = "// +kbr:rabc:x";"#,
            "const A: &str = r\"\n// +kbr:rabc\n\";",
            "// write +kbr:rabc to see an error",
            "// +kbr is a tool",
        ] {
            assert_eq!(read("src/a.rs", source), (vec![], vec![]), "{source}");
        }
    }

    #[test]
    fn what_looks_like_a_marker_is_refused() {
        for comment in [
            "// + kbr:rbac:groups=a,resources=b,verbs=get",
            "// +KBR:rbac:groups=a,resources=b,verbs=get",
            "// +kbr: rbac:groups=a,resources=b,verbs=get",
            "// +kbr :RBAC:groups=a,resources=b,verbs=get",
            "// \u{200b}+kbr:rbac:groups=a,resources=b,verbs=get",
            "/// +\u{feff}kbr:rbac:groups=a,resources=b,verbs=get\nfn f() {}",
            "// kbr:rbac:groups=a,resources=b,verbs=get",
            "// + kubebuilder:rbac:groups=a,resources=b,verbs=get",
        ] {
            let (markers, _) = read("src/a.rs", comment);
            let errors = errors(comment);
            assert_eq!(
                (markers.len(), errors.len()),
                (0, 1),
                "{comment}: {errors:?}"
            );
        }
        assert_eq!(
            errors("// + kbr:rbac:groups=a"),
            [
                "src/a.rs:1:1: `+ kbr:rbac:groups=a` looks like a marker, but is not one; begin it with exactly `// +kbr:rbac:`"
            ]
        );
        for comment in [
            "// kbr:rbac: see the README",
            "// kbr: rbac",
            "// + kbr",
            "// +kb:rbac:x=y",
        ] {
            assert_eq!(errors(comment), [""; 0], "{comment}");
        }
    }

    #[test]
    fn a_marker_in_code_for_tests_is_refused() {
        const MARKER: &str = "// +kbr:rbac:groups=a,resources=b,verbs=get\n";
        for source in [
            format!("#[cfg(test)]\nmod tests {{\n    fn f() {{}}\n    {MARKER}}}"),
            format!("#[cfg(test)]\n#[allow(unused)]\n{MARKER}fn f() {{}}"),
            format!("#![cfg(test)]\nfn f() {{}}\n{MARKER}"),
            format!("#[cfg(all(test, unix))]\nmod tests {{ {MARKER} }}"),
        ] {
            let errors = errors(&source);
            let [error] = errors.as_slice() else {
                panic!("{source}: {errors:?}");
            };
            assert!(
                error.contains("`+kbr:rbac` is in code for tests; move it"),
                "{error}"
            );
        }
        for source in [
            format!("#[cfg(test)]\nmod tests {{ {{}} }}\n{MARKER}"),
            format!("#[cfg(test)]\nmod tests;\n{MARKER}fn f() {{}}"),
            format!("#[cfg(not(test))]\nmod real {{\n{MARKER}}}"),
            format!("#[cfg(feature = \"test\")]\nmod real {{\n{MARKER}}}"),
            format!("#[test]\nfn f() {{}}\n{MARKER}"),
            format!("struct A {{ #[cfg(test)] b: u8 }}\n{MARKER}"),
        ] {
            assert_eq!(errors(&source), [""; 0], "{source}");
        }
    }

    #[test]
    fn what_is_not_understood_is_an_error_with_its_place() {
        assert_eq!(
            errors("fn f() {}\n    // +kbr:rabc:verbs=get\n"),
            ["src/a.rs:2:5: unknown marker `+kbr:rabc`; did you mean `rbac`?"]
        );
        assert_eq!(
            errors("// +kbr:scaffold:module"),
            [
                "src/a.rs:1:1: unknown scaffold marker `+kbr:scaffold:module`; did you mean `modules`?"
            ]
        );
        assert!(
            errors("// +kubebuilder:validation:Minimum=0")[0]
                .contains("unknown marker `+kubebuilder:validation`")
        );
        for block in [
            "/* +kbr:rbac:verbs=get */",
            "/**\n * +kbr:rabc:x\n */",
            "/*\n+kbr:x*/",
        ] {
            assert!(errors(block)[0].contains("block comment"), "{block}");
        }
        assert!(errors("fn f() {}\n/**\n * +kbr:rabc:x\n */")[0].starts_with("src/a.rs:3:2: "));
        for source in ["+kbr:rbac markers are great", "+kbr:rbac", "+kbr:rbac: "] {
            let error = &errors(&format!("// {source}"))[0];
            let expected = "`+kbr:rbac` needs `:` and arguments; write it like";
            assert!(error.contains(expected), "{error}");
        }
        for (arguments, why) in [
            ("groups=a, ", "a comma ends the line"),
            ("groups=a,,verbs=get", "there is nothing before a comma"),
            (",groups=a", "there is nothing before a comma"),
        ] {
            let error = &errors(&format!("// +kbr:rbac:{arguments}"))[0];
            let expected = format!("{why}; a marker is one line with all its arguments");
            assert!(error.contains(&expected), "{error}");
        }
        assert!(errors("// +kbr:rbac:verbs")[0].contains("`verbs` is not an argument"));
        assert!(errors("// +kbr:rbac:verbs=get,verbs=list")[0].contains("is given twice"));
        assert!(errors("// +kbr:rbac:groups=\"a")[0].contains("not closed"));
        assert_eq!(errors("// +kbr:a\n// +kbr:b\n").len(), 2, "all at once");
    }

    #[test]
    fn a_file_that_does_not_compile_is_read_all_the_same() {
        let (markers, errors) = read(
            "src/a.rs",
            "fn f( {{{\n// +kbr:rbac:urls=/metrics,verbs=get\n\"open",
        );
        assert_eq!((markers.len(), errors.len()), (1, 0));
        assert_eq!(
            (markers[0].location.line, markers[0].location.column),
            (2, 1)
        );
    }

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

    proptest! {
        #![proptest_config(crate::fuzz::random::properties())]

        #[test]
        fn no_source_makes_it_panic(source in ".{0,60}", marker in "[a-z:=;,\"{}+ ü]{0,40}") {
            let _ = read("src/a.rs", &source);
            let _ = read("src/a.rs", &format!("// +kbr:{marker}\n/* +kbr:{marker} */"));
            let _ = read("src/a.rs", &format!("// +kbr:webhook:{marker}"));
        }
    }
}
