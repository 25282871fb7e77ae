//! One Go file: its imports, its functions, and its markers, which are comments such as
//! `// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get`. Pure.

use std::collections::BTreeMap;

use super::lexer::{Code, Comment, LexError};

/// A file of the operator; test code is not read.
#[derive(Debug)]
pub(crate) struct GoFile<'a> {
    /// Relative to the project, with `/` between the parts.
    pub(crate) path: &'a str,
    pub(crate) code: Code<'a>,
    /// The path of each imported package, by the name that the file has for it.
    imports: BTreeMap<&'a str, &'a str>,
    pub(crate) functions: Vec<Function<'a>>,
    pub(crate) markers: Vec<Marker<'a>>,
}

#[derive(Debug)]
pub(crate) struct Function<'a> {
    pub(crate) name: &'a str,
    /// The type of which it is a method, without a pointer.
    pub(crate) receiver: Option<&'a str>,
    pub(crate) line: usize,
    /// The lines of its comment, without markers.
    pub(crate) doc: Vec<String>,
    /// The indexes of its first token, and of the brackets around its body.
    begin: usize,
    body: (usize, usize),
}

/// A marker of controller-gen's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marker<'a> {
    /// What follows `+kubebuilder:`.
    pub(crate) text: &'a str,
    pub(crate) line: usize,
    /// The index of the first token after it.
    next: usize,
}

/// A type as an expression names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TypeName<'a> {
    /// The path of its package; `None` for that of the file.
    pub(crate) package: Option<&'a str>,
    /// As it is written in the file.
    pub(crate) written: String,
    pub(crate) name: &'a str,
}

/// The prefix of the markers that matter here.
const PREFIX: &str = "+kubebuilder:";

impl<'a> GoFile<'a> {
    pub(crate) fn read(path: &'a str, source: &'a str) -> Result<Self, LexError> {
        let code = Code::read(source)?;
        let mut file = Self {
            path,
            imports: BTreeMap::new(),
            functions: Vec::new(),
            markers: markers(&code),
            code,
        };
        let mut at = 0;
        while at < file.code.tokens.len() {
            match file.code.word(at) {
                "import" => file.import(at + 1),
                "func" => {
                    if let Some(function) = file.function(at) {
                        at = function.body.1;
                        file.functions.push(function);
                    }
                }
                _ => {}
            }
            at = file.code.closing(at) + 1;
        }
        Ok(file)
    }

    /// The folder of the file, which is its package.
    pub(crate) fn folder(&self) -> &'a str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    fn import(&mut self, at: usize) {
        let mut at = at;
        let end = match self.code.word(at) {
            "(" => self.code.closing(at),
            _ => at + 2,
        };
        let mut name = None;
        while at <= end {
            match self.code.string(at) {
                Some(path) => {
                    let last = path.rsplit('/').next().unwrap_or(path);
                    self.imports.insert(name.take().unwrap_or(last), path);
                }
                None if self.code.word(at) == "(" => {}
                None => name = Some(self.code.word(at)),
            }
            at += 1;
            if self.code.word(at) == "import" {
                break;
            }
        }
    }

    /// The function that begins at `at`, if it has a body.
    fn function(&self, at: usize) -> Option<Function<'a>> {
        let code = &self.code;
        let mut name = at + 1;
        let mut receiver = None;
        if code.word(name) == "(" {
            let end = code.closing(name);
            let words = (name + 1..end).map(|at| code.word(at));
            let is_name = |word: &&str| word.starts_with(|c: char| c == '_' || c.is_alphabetic());
            let without_arguments = words.take_while(|word| *word != "[");
            receiver = without_arguments.filter(is_name).last();
            name = end + 1;
        }
        let mut next = name + 1;
        loop {
            match code.word(next) {
                "" | "func" | "type" | "var" | "const" => return None,
                "{" if matches!(code.word(next - 1), "interface" | "struct") => {}
                "{" => break,
                _ => {}
            }
            next = code.closing(next) + 1;
        }
        let doc = code.doc(at).into_iter().flat_map(lines);
        Some(Function {
            name: code.word(name),
            receiver,
            line: code.line(at),
            doc: doc.filter(|line| !line.starts_with('+')).collect(),
            begin: at,
            body: (next, code.closing(next)),
        })
    }

    /// The types in calls such as `.For(&batchv1.CronJob{})` in the body of a function; `call` is the name `For`.
    pub(crate) fn types_in_calls(&self, function: &Function<'a>, call: &str) -> Vec<TypeName<'a>> {
        let code = &self.code;
        let (begin, end) = function.body;
        let calls = (begin..end).filter(|&at| {
            code.word(at) == call && code.word(at + 1) == "(" && code.word(at + 2) == "&"
        });
        calls
            .filter_map(|at| match (code.word(at + 4), code.word(at + 6)) {
                (".", "{") => Some(TypeName {
                    package: Some(self.imports.get(code.word(at + 3)).copied().unwrap_or("")),
                    written: format!("{}.{}", code.word(at + 3), code.word(at + 5)),
                    name: code.word(at + 5),
                }),
                ("{", _) => Some(TypeName {
                    package: None,
                    written: code.word(at + 3).to_owned(),
                    name: code.word(at + 3),
                }),
                _ => None,
            })
            .collect()
    }

    /// The text in a call such as `.Named("cronjob")` in the body of a function.
    pub(crate) fn text_in_call(&self, function: &Function<'a>, call: &str) -> Option<&'a str> {
        let code = &self.code;
        let (begin, end) = function.body;
        let mut calls =
            (begin..end).filter(|&at| code.word(at) == call && code.word(at + 1) == "(");
        calls.find_map(|at| code.string(at + 2))
    }

    /// Whether the body of a function has that word.
    pub(crate) fn mentions(&self, function: &Function<'a>, word: &str) -> bool {
        let (begin, end) = function.body;
        (begin..end).any(|at| self.code.word(at) == word)
    }

    /// Whether the receiver, a parameter or a result of a function has that word in its type.
    pub(crate) fn signature_mentions(&self, function: &Function<'a>, word: &str) -> bool {
        (function.begin..function.body.0).any(|at| self.code.word(at) == word)
    }

    /// The text that is assigned to a field or a constant of that name anywhere in the file: `Name: "text"`,
    /// `Name = "text"`.
    pub(crate) fn text_of(&self, name: &str) -> Option<&'a str> {
        let mut places = (0..self.code.tokens.len()).filter(|&at| self.code.word(at) == name);
        places.find_map(|at| match self.code.word(at + 1) {
            ":" | "=" => self.code.string(at + 2),
            _ => None,
        })
    }

    /// The first of these functions that begins or ends after a marker: the one that the marker stands at.
    pub(crate) fn at_marker<'f>(
        &self,
        marker: &Marker<'a>,
        functions: impl Iterator<Item = &'f Function<'a>>,
    ) -> Option<&'f Function<'a>>
    where
        'a: 'f,
    {
        let mut all: Vec<_> = functions.collect();
        all.sort_by_key(|it| it.begin);
        let last = all.last().copied();
        all.into_iter().find(|it| it.body.1 >= marker.next).or(last)
    }
}

/// The lines of a comment, without what makes it one.
pub(crate) fn lines(comment: &Comment<'_>) -> Vec<String> {
    if let Some(line) = comment.text.strip_prefix("//") {
        return vec![line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()];
    }
    let inner = comment.text.trim_start_matches("/*").trim_end_matches("*/");
    let lines = inner.trim().lines().map(|line| line.trim().to_owned());
    lines.collect()
}

/// The markers in line comments; controller-gen reads no others.
fn markers<'a>(code: &Code<'a>) -> Vec<Marker<'a>> {
    let comments = code.comments.iter().filter(|comment| comment.is_line());
    let read = |comment: &Comment<'a>| {
        let text = comment.text[2..].trim().strip_prefix(PREFIX)?;
        Some(Marker {
            text,
            line: comment.line,
            next: comment.next,
        })
    };
    comments.filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r#"
package controller

import "context"
import (
	"fmt"
	batchv1 "example.com/api/v1"
	. "strings"
)

/*
// +kubebuilder:rbac:groups=none
*/

//+kubebuilder:rbac:groups=batch,resources=jobs,verbs=get

// between

// Reconcile does it.
// +kubebuilder:rbac:groups="",resources=pods,verbs=get
//
//	indented
func (r *Job[T]) Reconcile(ctx context.Context, f func() interface{}) (struct{}, error) {
	// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get
	fmt.Println("func x() {")
	return struct{}{}, nil
}

func external(int) int

func (r *Job[T]) SetupWithManager(m Manager) error {
	return m.For(&batchv1.CronJob{}, x()).Owns(&Other{}).Named("cron").Complete(r)
}
"#;

    #[test]
    fn functions_have_a_receiver_and_a_comment() {
        let file = GoFile::read("a/b.go", SOURCE).expect("Go");
        let names: Vec<_> = file
            .functions
            .iter()
            .map(|it| (it.receiver, it.name))
            .collect();
        assert_eq!(
            names,
            [
                (Some("Job"), "Reconcile"),
                (Some("Job"), "SetupWithManager")
            ]
        );
        assert_eq!(
            file.functions[0].doc,
            ["Reconcile does it.", "", "\tindented"]
        );
        assert_eq!(file.folder(), "a");
    }

    #[test]
    fn markers_are_line_comments() {
        let file = GoFile::read("b.go", SOURCE).expect("Go");
        let texts: Vec<&str> = file.markers.iter().map(|it| it.text).collect();
        assert_eq!(
            texts,
            [
                "rbac:groups=batch,resources=jobs,verbs=get",
                "rbac:groups=\"\",resources=pods,verbs=get",
                "rbac:groups=apps,resources=deployments,verbs=get",
            ]
        );
        for marker in &file.markers {
            let function = file.at_marker(marker, file.functions.iter());
            assert_eq!(function.map(|it| it.name), Some("Reconcile"));
        }
    }

    #[test]
    fn calls_name_types_by_the_path_of_their_package() {
        let file = GoFile::read("b.go", SOURCE).expect("Go");
        let setup = &file.functions[1];
        let types = file.types_in_calls(setup, "For");
        assert_eq!(types[0].package, Some("example.com/api/v1"));
        assert_eq!(types[0].name, "CronJob");
        assert_eq!(file.types_in_calls(setup, "Owns")[0].package, None);
        assert_eq!(file.text_in_call(setup, "Named"), Some("cron"));
        assert!(file.mentions(setup, "Complete"));
    }
}
