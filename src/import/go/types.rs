//! What the Go types of an API say that its CRD does not: names, comments, the order of fields, constants. Pure.

use std::collections::BTreeMap;

use super::GoProject;
use super::lexer::{Code, Kind};
use super::source::{GoFile, lines};
use crate::import::hints::{GoConstant, GoField, GoPackage, GoType, Hints};

/// The group and the version of each package of types, by its folder: from `schema.GroupVersion{Group: …, Version: …}`.
pub(super) fn packages<'a>(sources: &[GoFile<'a>]) -> BTreeMap<&'a str, (String, String)> {
    let mut packages = BTreeMap::new();
    for file in sources {
        let code = &file.code;
        let found = (0..code.tokens.len()).find_map(|at| {
            let is_it = code.word(at) == "GroupVersion" && code.word(at + 1) == "{";
            let inner = at + 2..code.closing(at + 1);
            let value = |name: &str| {
                let mut places = inner.clone().filter(|&at| code.word(at) == name);
                let at = places.find(|at| code.word(at + 1) == ":")? + 2;
                code.string(at).or_else(|| file.text_of(code.word(at)))
            };
            is_it.then(|| Some((value("Group")?.to_owned(), value("Version")?.to_owned())))?
        });
        if let Some(found) = found {
            packages.entry(file.folder()).or_insert(found);
        }
    }
    packages
}

pub(super) fn hints(project: &GoProject<'_>) -> Hints {
    let mut hints = Hints::new();
    for (folder, gv) in &project.packages {
        let package = hints.entry(gv.clone()).or_default();
        let files = || {
            project
                .sources
                .iter()
                .filter(|file| file.folder() == *folder)
        };
        for file in files() {
            declarations(file, package);
        }
        for file in files() {
            constants(file, package);
        }
    }
    hints
}

/// The types that a file declares.
fn declarations(file: &GoFile<'_>, package: &mut GoPackage) {
    let code = &file.code;
    let mut at = 0;
    while at < code.tokens.len() {
        if code.word(at) != "type" {
            at = code.closing(at) + 1;
            continue;
        }
        if code.word(at + 1) != "(" {
            at = declaration(code, at, at + 1, package);
            continue;
        }
        let end = code.closing(at + 1);
        let mut inner = at + 2;
        while inner < end {
            inner = declaration(code, inner, inner, package);
        }
        at = end + 1;
    }
}

/// Reads the declaration whose name is at `name`, and returns where the next one may begin; its comment is above
/// `begin`.
fn declaration(code: &Code<'_>, begin: usize, name: usize, package: &mut GoPackage) -> usize {
    let mut it = GoType {
        doc: doc(code, begin),
        ..GoType::default()
    };
    let mut at = name + 1;
    let is_struct = code.word(at) == "struct";
    if is_struct {
        it.fields = fields(code, at + 1);
        at += 1;
    }
    package.types.insert(code.word(name).to_owned(), it);
    if is_struct || matches!(code.word(at), "(" | "[" | "{") {
        return code.closing(at) + 1;
    }
    at + 1
}

/// The fields of the struct whose bracket is at `open`.
fn fields(code: &Code<'_>, open: usize) -> Vec<GoField> {
    let end = code.closing(open);
    let mut fields = Vec::new();
    let mut at = open + 1;
    while at < end {
        let begin = at;
        // A field is on one line, unless brackets in its type are not.
        let mut last = begin;
        while at < end && code.line(at) == code.line(last) {
            last = code.closing(at);
            at = last + 1;
        }
        let is_tag = code.tokens[last].kind == Kind::Text && last > begin;
        let tag = code.string(last).filter(|_| is_tag).unwrap_or_default();
        let mut parts = json_tag(tag).split(',');
        let json = parts.next().unwrap_or_default();
        let is_inline = parts.any(|part| part == "inline") || !is_tag;
        if json == "-" || (json.is_empty() && !is_inline) {
            continue;
        }
        let mut of_type = (begin..=last).filter(|&at| code.tokens[at].kind == Kind::Word);
        let word = of_type.next_back();
        // A name behind a dot is of another package.
        let type_name = word.filter(|&at| at == begin || code.word(at - 1) != ".");
        fields.push(GoField {
            json: json.to_owned(),
            doc: doc(code, begin),
            type_name: type_name
                .map(|at| code.word(at))
                .filter(|name| name.starts_with(char::is_uppercase))
                .unwrap_or_default()
                .to_owned(),
        });
    }
    fields
}

/// The value of `json:"…"` in the tag of a field.
fn json_tag(tag: &str) -> &str {
    let value = tag.split_once("json:\"");
    value
        .and_then(|(_, rest)| rest.split('"').next())
        .unwrap_or_default()
}

/// The constants of a file whose type the package has, such as `const Allow ConcurrencyPolicy = "Allow"`.
fn constants(file: &GoFile<'_>, package: &mut GoPackage) {
    let code = &file.code;
    for at in 0..code.tokens.len() {
        let Some(value) = code
            .string(at)
            .filter(|_| at > 2 && code.word(at - 1) == "=")
        else {
            continue;
        };
        let (name, of_type) = (code.word(at - 3), code.word(at - 2));
        let begin = if code.word(at.saturating_sub(4)) == "const" {
            at - 4
        } else {
            at - 3
        };
        if let Some(of_type) = package.types.get_mut(of_type) {
            of_type.constants.push(GoConstant {
                name: name.to_owned(),
                value: value.to_owned(),
                doc: doc(code, begin),
            });
        }
    }
}

/// The comment above a token, without markers.
fn doc(code: &Code<'_>, at: usize) -> String {
    let all = code.doc(at).into_iter().flat_map(lines);
    let kept: Vec<String> = all
        .filter(|line| !line.trim_start().starts_with('+'))
        .collect();
    kept.join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_fields_comments_and_constants() {
        let source = r#"
package v1

var GroupVersion = schema.GroupVersion{Group: "batch.example.com", Version: "v1"}

// CronJobSpec is what to run.
// +kubebuilder:validation:XValidation:rule="true"
type CronJobSpec struct {
	metav1.TypeMeta `json:",inline"`

	// schedule in Cron format.
	// +required
	Schedule string `json:"schedule" yaml:"s"`

	Jobs map[string][]*Job `json:"jobs,omitempty"`
	Meta metav1.ObjectMeta `json:"meta"`
	Hidden string `json:"-"`
	Inner struct {
		A string `json:"a"`
	} `json:"inner"`
}

// Policy says what happens.
type Policy string

const (
	// Allow allows.
	Allow Policy = "Allow"
	Other = "x"
)

// Forbid forbids.
const Forbid Policy = "Forbid"
"#;
        let file = GoFile::read("api/v1/a.go", source).expect("Go");
        let gv = ("batch.example.com".to_owned(), "v1".to_owned());
        let sources = [file];
        assert_eq!(packages(&sources)["api/v1"], gv);
        let mut package = GoPackage::default();
        declarations(&sources[0], &mut package);
        constants(&sources[0], &mut package);
        let spec = &package.types["CronJobSpec"];
        assert_eq!(spec.doc, "CronJobSpec is what to run.");
        let fields = spec.fields.iter();
        let fields: Vec<_> = fields
            .map(|it| (it.json.as_str(), it.doc.as_str(), it.type_name.as_str()))
            .collect();
        assert_eq!(
            fields,
            [
                ("", "", ""),
                ("schedule", "schedule in Cron format.", ""),
                ("jobs", "", "Job"),
                ("meta", "", ""),
                ("inner", "", ""),
            ]
        );
        let constants = package.types["Policy"].constants.iter();
        let constants: Vec<_> = constants
            .map(|it| (it.name.as_str(), it.value.as_str(), it.doc.as_str()))
            .collect();
        assert_eq!(
            constants,
            [
                ("Allow", "Allow", "Allow allows."),
                ("Forbid", "Forbid", "Forbid forbids.")
            ]
        );
    }
}
