//! Scaffold markers: the lines of a user's file above which kbr inserts.
//!
//! The file belongs to the user. kbr only adds whole lines to it, or removes lines that it has added:
//! every other byte stays, line endings included. A marker that is missing or occurs twice is refused;
//! guessing a place in someone's code is worse than asking. Whether a line is needed at all is decided
//! by the project model, not here. Pure, and the text is never treated as a template.

use std::cmp::Ordering;

use clap::ValueEnum;
use miette::Diagnostic;
use thiserror::Error;

use crate::error::join;

/// The invisible character that some editors put before the first line.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The places where kbr inserts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum ScaffoldMarker {
    /// `src/lib.rs`: one line registers a controller.
    Controllers,
    /// `tests/crash.rs`: the objects with which the operator is tried.
    CrashSamples,
    /// `config/crd/kustomization.yaml`: the CRDs.
    CrdResources,
    /// `config/default/kustomization.yaml`: changes to what the folders hold.
    DefaultPatches,
    /// `config/default/kustomization.yaml`: values that are copied from one object to others.
    DefaultReplacements,
    /// `config/default/kustomization.yaml`: the folders that are deployed.
    DefaultResources,
    /// `api/src/VERSION.rs`: what a version's module exports.
    Exports,
    /// `Cargo.toml`: the parts of kbr-runtime and kbr-testing that only some projects compile.
    Features,
    /// `api/src/lib.rs`, `api/src/VERSION.rs`, `src/controller.rs`, `src/webhook.rs`,
    /// `src/webhook/VERSION.rs`, `tests/it/main.rs`: the module tree.
    Modules,
    /// `config/network-policy/kustomization.yaml`: who may connect to the manager.
    NetworkPolicyResources,
    /// `config/policy/kustomization.yaml`: the admission policies.
    PolicyResources,
    /// `config/rbac/kustomization.yaml`: roles.
    RbacResources,
    /// `config/samples/kustomization.yaml`: the samples.
    Samples,
    /// `config/webhook/kustomization.yaml`: what belongs to the webhooks.
    WebhookResources,
    /// `src/lib.rs`: one line registers a webhook.
    Webhooks,
}

impl ScaffoldMarker {
    /// The name after `+kbr:scaffold:`.
    pub(crate) fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// The whole line, without its indentation.
    pub(crate) fn line(self) -> String {
        let is_rust = matches!(
            self,
            Self::Controllers | Self::CrashSamples | Self::Exports | Self::Modules | Self::Webhooks
        );
        let comment = if is_rust { "//" } else { "#" };
        format!("{comment} +kbr:scaffold:{}", self.name())
    }

    /// Inserts `fragment`, one line, above this marker in `text`, at the marker's indentation.
    ///
    /// The lines directly above a marker form its run. A run that is sorted stays sorted; if its owner
    /// has given it another order, the fragment becomes its last line. Returns `None` if the run already
    /// contains the line.
    pub(crate) fn insert(
        self,
        path: &str,
        text: &str,
        fragment: &str,
    ) -> Result<Option<String>, ScaffoldMarkerError> {
        let lines = lines(text);
        let found = self.places(&lines);
        let at = match found[..] {
            [at] => at,
            [] => {
                return Err(ScaffoldMarkerError::Missing {
                    path: path.to_owned(),
                    marker: self,
                    fragment: fragment.to_owned(),
                });
            }
            _ => {
                return Err(ScaffoldMarkerError::Twice {
                    path: path.to_owned(),
                    marker: self,
                    lines: found.iter().map(|at| at + 1).collect(),
                });
            }
        };
        let marker = &lines[at];
        let run = run(&lines, at);
        if run.iter().any(|line| line.trimmed() == fragment) {
            return Ok(None);
        }
        let is_later = |a: &str, b: &str| line_order(a, b) == Ordering::Greater;
        let is_sorted = run.is_sorted_by(|a, b| !is_later(a.trimmed(), b.trimmed()));
        let later = run.iter().find(|line| is_later(line.trimmed(), fragment));
        let place = later.filter(|_| is_sorted).unwrap_or(marker).start;
        let ending = if marker.text.ends_with("\r\n") {
            "\r\n"
        } else {
            "\n"
        };
        let (before, after) = text.split_at(place);
        Ok(Some(format!(
            "{before}{}{fragment}{ending}{after}",
            marker.indentation()
        )))
    }

    /// Whether `text` has this marker.
    pub(crate) fn is_in(self, text: &str) -> bool {
        !self.places(&lines(text)).is_empty()
    }

    /// Removes `fragment`, one line, from the run above this marker in `text`. Returns `None` if the
    /// run does not contain it.
    pub(crate) fn remove(self, text: &str, fragment: &str) -> Option<String> {
        let lines = lines(text);
        let line = self.places(&lines).into_iter().find_map(|at| {
            let mut run = run(&lines, at).iter();
            run.find(|line| line.trimmed() == fragment)
        })?;
        let (before, rest) = text.split_at(line.start);
        let after = &rest[line.text.len()..];
        Some(format!("{before}{after}"))
    }

    /// The indexes of the lines that are this marker.
    fn places(self, lines: &[Line<'_>]) -> Vec<usize> {
        let wanted = self.line();
        let numbered = lines.iter().enumerate();
        let found = numbered.filter(|(_, line)| line.trimmed() == wanted);
        found.map(|(at, _)| at).collect()
    }
}

/// Why a line cannot be inserted.
#[derive(Debug, Error, Diagnostic)]
pub(crate) enum ScaffoldMarkerError {
    #[error("`{path}` has no line `{}`, where `{}` belongs", .marker.line(), .fragment.trim())]
    #[diagnostic(code("marker-missing"))]
    #[diagnostic(help("in `{path}`, put this line back where `{}` belongs: `{}`", fragment.trim(), marker.line()))]
    Missing {
        path: String,
        marker: ScaffoldMarker,
        fragment: String,
    },
    #[error("`{path}` has the line `{}` more than once: lines {}", .marker.line(), join(.lines, ", ", usize::to_string))]
    #[diagnostic(code("marker-twice"))]
    #[diagnostic(help("in `{path}`, keep only one of these lines: `{}`", marker.line()))]
    Twice {
        path: String,
        marker: ScaffoldMarker,
        lines: Vec<usize>,
    },
}

/// A line with its ending, and where it starts.
struct Line<'a> {
    start: usize,
    text: &'a str,
}

impl Line<'_> {
    fn trimmed(&self) -> &str {
        self.text.trim()
    }

    fn indentation(&self) -> &str {
        &self.text[..self.text.len() - self.text.trim_start().len()]
    }

    fn is_in_run_of(&self, marker: &Line<'_>) -> bool {
        let trimmed = self.trimmed();
        let is_comment = trimmed.starts_with("//") || trimmed.starts_with('#');
        let opens = trimmed.ends_with(':') || trimmed.ends_with('{');
        !trimmed.is_empty() && !is_comment && !opens && self.indentation() == marker.indentation()
    }
}

/// The lines directly above the marker at that index.
fn run<'a, 'b>(lines: &'b [Line<'a>], marker: usize) -> &'b [Line<'a>] {
    let start = lines[..marker]
        .iter()
        .rposition(|line| !line.is_in_run_of(&lines[marker]))
        .map_or(0, |above| above + 1);
    &lines[start..marker]
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let bare = text.trim_start_matches(BYTE_ORDER_MARK);
    let mut next = text.len() - bare.len();
    let lines = bare.split_inclusive('\n').map(|text| {
        let start = next;
        next += text.len();
        Line { start, text }
    });
    lines.collect()
}

/// The order in which rustfmt (style edition 2024) sorts lines: modules by the letters of their names,
/// anything else word by word, with shorter words first, `_` before everything else, and runs of digits
/// by value.
pub(crate) fn line_order(a: &str, b: &str) -> Ordering {
    match (module_name(a), module_name(b)) {
        (Some(a), Some(b)) => a.cmp(b),
        _ => words(a).map(chunks).cmp(words(b).map(chunks)),
    }
}

/// The name of the module that a line declares.
pub(crate) fn module_name(line: &str) -> Option<&str> {
    let declaration = line.strip_prefix("pub ").unwrap_or(line);
    declaration.strip_prefix("mod ")?.strip_suffix(';')
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    let parts = line.split(|c: char| !c.is_alphanumeric() && c != '_');
    parts.filter(|word| !word.is_empty())
}

/// A part of a word, ordered as in version sorting.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Chunk {
    Underscore,
    /// Value; of equal values, the one with more leading zeros comes first.
    Number(u128, std::cmp::Reverse<usize>),
    Letter(char),
}

fn chunks(word: &str) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let taken = digits.clamp(first.len_utf8(), 30.max(first.len_utf8()));
        chunks.push(match rest[..taken].parse() {
            Ok(value) if digits > 0 => Chunk::Number(value, std::cmp::Reverse(taken)),
            _ if first == '_' => Chunk::Underscore,
            _ => Chunk::Letter(first),
        });
        rest = &rest[taken..];
    }
    chunks
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MARKER: ScaffoldMarker = ScaffoldMarker::Modules;

    fn insert(text: &str, fragment: &str) -> String {
        MARKER
            .insert("f", text, fragment)
            .expect("one marker")
            .expect("a new line")
    }

    #[test]
    fn a_line_is_inserted_above_the_marker_at_its_indentation() {
        let text = "a {\n    // +kbr:scaffold:modules\n}\n";
        assert_eq!(
            insert(text, "mod b;"),
            "a {\n    mod b;\n    // +kbr:scaffold:modules\n}\n"
        );
    }

    #[test]
    fn a_sorted_run_stays_sorted_and_an_unsorted_run_keeps_its_order() {
        let sorted = "mod a;\nmod c;\n// +kbr:scaffold:modules\n";
        assert_eq!(
            insert(sorted, "mod b;"),
            "mod a;\nmod b;\nmod c;\n// +kbr:scaffold:modules\n"
        );
        let unsorted = "mod c;\nmod a;\n// +kbr:scaffold:modules\n";
        assert_eq!(
            insert(unsorted, "mod b;"),
            "mod c;\nmod a;\nmod b;\n// +kbr:scaffold:modules\n"
        );
    }

    #[test]
    fn the_run_ends_at_a_blank_line_a_comment_and_an_opening_line() {
        for above in [
            "mod z;\n\n",
            "mod z;\n// why\n",
            "resources:\n",
            "fn main() {\n",
        ] {
            let text = format!("{above}mod b;\n// +kbr:scaffold:modules\n");
            assert_eq!(
                insert(&text, "mod a;"),
                format!("{above}mod a;\nmod b;\n// +kbr:scaffold:modules\n")
            );
        }
    }

    #[test]
    fn a_marker_that_is_missing_or_quoted_or_doubled_is_refused() {
        for text in [
            "",
            "mod a;\n",
            "// see // +kbr:scaffold:modules\n",
            "// +kbr:scaffold:module\n",
        ] {
            let error = MARKER.insert("src/lib.rs", text, "mod b;").expect_err(text);
            assert_eq!(
                error.to_string(),
                "`src/lib.rs` has no line `// +kbr:scaffold:modules`, where `mod b;` belongs"
            );
        }
        let twice = "// +kbr:scaffold:modules\nmod a;\n  // +kbr:scaffold:modules";
        let error = MARKER
            .insert("src/lib.rs", twice, "mod b;")
            .expect_err("twice");
        assert_eq!(
            error.to_string(),
            "`src/lib.rs` has the line `// +kbr:scaffold:modules` more than once: lines 1, 3"
        );
    }

    #[test]
    fn a_byte_order_mark_stays_first() {
        let text = "\u{feff}// +kbr:scaffold:modules\n";
        assert_eq!(
            insert(text, "mod a;"),
            "\u{feff}mod a;\n// +kbr:scaffold:modules\n"
        );
    }

    #[test]
    fn only_a_line_in_the_run_is_removed() {
        let text = "mod b;\n\nmod a;\nmod b;\nmod c;\n// +kbr:scaffold:modules\n";
        assert_eq!(
            MARKER.remove(text, "mod b;").as_deref(),
            Some("mod b;\n\nmod a;\nmod c;\n// +kbr:scaffold:modules\n")
        );
        for text in [
            "",
            "mod b;\n",
            "mod b;\n// +kbr:scaffold:exports\n",
            "mod b;\n\n// +kbr:scaffold:modules\n",
            "pub mod b;\n// +kbr:scaffold:modules\n",
            "// mod b;\n// +kbr:scaffold:modules\n",
            "// +kbr:scaffold:modules\nmod b;\n",
        ] {
            assert_eq!(MARKER.remove(text, "mod b;"), None, "{text}");
        }
    }

    #[test]
    fn lines_are_ordered_as_rustfmt_orders_them() {
        let modules = [
            "pub mod a;",
            "mod a1;",
            "pub mod a10;",
            "pub mod a2;",
            "pub mod a_b;",
            "pub mod ab;",
            "pub mod b;",
        ];
        let uses = [
            "pub use a::*;",
            "pub use a_b::*;",
            "pub use a1::*;",
            "pub use a2::*;",
            "pub use a10::*;",
            "pub use ab::*;",
            "pub use b::*;",
        ];
        for ordered in [modules, uses] {
            assert!(ordered.is_sorted_by(|a, b| line_order(a, b) == Ordering::Less));
        }
    }

    proptest! {
        #![proptest_config(crate::fuzz::random::properties())]

        #[test]
        fn only_whole_lines_are_added(above in "([a-z{}: ]{0,9}\r?\n){0,4}", below in "(\r?\n[a-z ]{0,9}){0,4}", crlf: bool) {
            let ending = if crlf && below.is_empty() { "\r\n" } else { "" };
            let text = format!("{above}  // +kbr:scaffold:modules{ending}{below}");
            let inserted = insert(&text, "mod new;");
            let start = inserted.find("  mod new;").expect("the line");
            let end = start + inserted[start..].find('\n').expect("its ending") + 1;
            prop_assert_eq!(MARKER.remove(&inserted, "mod new;"), Some(text.clone()));
            prop_assert_eq!(format!("{}{}", &inserted[..start], &inserted[end..]), text);
            prop_assert!(MARKER.insert("f", &inserted, "mod new;").expect("one marker").is_none(), "inserted twice");
        }

        #[test]
        fn an_inserted_line_can_be_removed(above in "\u{feff}?([a-z{}:; ]{0,9}\r?\n){0,4}", below in "(\r?\n[a-z ]{0,9}){0,4}", indentation in "[ \t]{0,4}") {
            let text = format!("{above}{indentation}// +kbr:scaffold:modules{below}");
            let inserted = insert(&text, "mod new;");
            prop_assert_eq!(MARKER.remove(&inserted, "mod new;"), Some(text));
        }

        #[test]
        fn the_order_of_insertions_and_removals_does_not_matter(mut names in proptest::collection::hash_set("[a-z]{1,3}[0-9_]{0,2}", 2..6), mine in "([a-z ;]{0,9}\n){0,3}") {
            let names: Vec<String> = names.drain().map(|name| format!("mod {name};")).collect();
            prop_assume!(!mine.lines().any(|line| names.iter().any(|name| name == line.trim())));
            let text = format!("{mine}\n// +kbr:scaffold:modules\n");
            let all = names.iter().fold(text.clone(), |text, name| insert(&text, name));
            let last = insert(&text, names.last().expect("two or more"));
            let left = names[..names.len() - 1].iter().fold(all, |text, name| MARKER.remove(&text, name).expect("the line"));
            prop_assert_eq!(left, last);
        }

        #[test]
        fn the_order_of_insertions_does_not_matter(mut names in proptest::collection::hash_set("[a-z]{1,3}[0-9_]{0,2}", 1..6)) {
            let names: Vec<String> = names.drain().collect();
            let all = |names: &mut dyn Iterator<Item = &String>| {
                names.fold("// +kbr:scaffold:modules\n".to_owned(), |text, name| insert(&text, &format!("mod {name};")))
            };
            prop_assert_eq!(all(&mut names.iter()), all(&mut names.iter().rev()));
        }
    }
}
