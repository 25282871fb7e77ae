//! The names of a kind, a version or a group in code and in other text. Pure.

mod origin;

use std::collections::BTreeMap;

use crate::project::{Admission, Project, Resource};
use crate::rust::marker::{Argument, Marker};
use crate::rust::path::{links, path};
use crate::rust::{Code, Replacement, Segment, replaced};
use crate::scaffold;
use origin::Origins;

/// The suffixes that may follow a kind in the name of a type.
const ENDINGS: [&str; 7] = [
    "",
    "Converter",
    "Defaulter",
    "List",
    "Spec",
    "Status",
    "Validator",
];

/// Pairs of old and new names.
#[derive(Debug, Default, Clone)]
pub(super) struct RenameMap {
    /// The names in paths of the project's crates.
    pub(crate) crates: Vec<String>,
    /// The group, including the domain.
    pub(crate) group: [String; 2],
    /// The kind, if it changes.
    pub(crate) kind: Option<[String; 2]>,
    /// The name of its type, if the kind changes.
    pub(crate) type_name: Option<[String; 2]>,
    /// The version, if it changes.
    pub(crate) version: Option<[String; 2]>,
    /// The module of a version, if all code in a file is for another one.
    pub(crate) version_module: Option<[String; 2]>,
    /// The plurals of the kinds concerned; empty if these are all kinds of the group.
    pub(crate) plurals: Vec<[String; 2]>,
    /// The names of the webhooks in the API server's configuration.
    pub(crate) webhooks: Vec<[String; 2]>,
    /// By what else to recognize that a text still has the old name: for a kind, the kind in lower case.
    pub(crate) left: Vec<String>,
    /// Unless this is empty, one of these words must also be in the text.
    pub(crate) left_beside: Vec<String>,
}

/// The names of the webhooks of a resource in the API server's configuration, before and after.
pub(super) fn webhook_names(both: [(&Project, &Resource); 2]) -> [[String; 2]; 2] {
    Admission::ALL.map(|admission| {
        both.map(|(project, resource)| scaffold::webhook_name(project, resource, admission))
    })
}

impl RenameMap {
    /// Whether a type of the new kind has that name.
    pub(super) fn is_new_type(&self, name: &str) -> bool {
        let ending = self
            .type_name
            .as_ref()
            .and_then(|[_, new]| name.strip_prefix(new));
        ending.is_some_and(|ending| ENDINGS.contains(&ending))
    }

    /// Rust code with the new names, but not of other crates: types of the kind as identifiers, in links of doc comments and in
    /// literals of attributes that contain nothing else; the group of `#[kube]`; its version if `has_type`;
    /// and all of them in code markers.
    pub(super) fn in_code(&self, text: &str, has_type: bool) -> String {
        let code = Code::read(text);
        self.with_origins(text, &code, &Origins::of(&code, &self.crates), has_type)
    }

    /// The same for code of another package: only what it takes from the project's crates has new names.
    pub(super) fn in_other_package(&self, text: &str) -> String {
        let code = Code::read(text);
        let origins = Origins::in_other_package(&code, &self.crates);
        self.with_origins(text, &code, &origins, false)
    }

    fn with_origins(
        &self,
        text: &str,
        code: &Code<'_>,
        origins: &Origins<'_>,
        has_type: bool,
    ) -> String {
        let mut all: Vec<Replacement> = Vec::new();
        let mut attribute_end = 0;
        for at in 0..code.len() {
            attribute_end = code.attribute(at).map_or(attribute_end, |it| it.end);
            if code.is_word(at) {
                let word = code.segment(at);
                let is_in_path = at >= 2 && code.is_separator(at - 2) || code.is_separator(at + 1);
                let module = self.version_module.as_ref().filter(|_| is_in_path);
                let module = module.and_then(|pair| renamed(pair, &word));
                let renamed = self.identifier(&word).or(module);
                all.extend(renamed.filter(|_| !origins.is_foreign_token(at)));
            }
            let literal = code.string(at).filter(|_| at < attribute_end);
            if let Some(literal) = literal {
                let pair = match (code.back(at, 2), code.back(at, 1)) {
                    ("group", "=") => Some(&self.group),
                    ("version", "=") => self.version.as_ref().filter(|_| has_type),
                    ("kind", "=") => self.kind.as_ref().filter(|_| has_type),
                    _ => None,
                };
                match pair.and_then(|pair| renamed(pair, &literal)) {
                    Some(one) => all.push(one),
                    None => {
                        let names = path(&literal.text, literal.range.start).unwrap_or_default();
                        let own = origins.own_names(&names);
                        all.extend(own.filter_map(|it| self.identifier(it)));
                    }
                }
            }
        }
        for comment in code.comments.iter().filter(|it| it.doc.is_some()) {
            for names in links(comment.text, comment.start) {
                let own = origins.own_names(&names);
                all.extend(own.filter_map(|it| self.identifier(it)));
            }
        }
        for marker in code.comment_lines().filter_map(|line| line.marker()) {
            all.extend(self.in_marker(&marker));
        }
        replaced(text, 0..text.len(), &all)
    }

    fn identifier(&self, word: &Segment) -> Option<Replacement> {
        let [old, new] = self.type_name.as_ref()?;
        let ending = word.text.strip_prefix(old.as_str())?;
        let is_type = ENDINGS.contains(&ending);
        is_type.then(|| Replacement::new(word.range.clone(), format!("{new}{ending}")))
    }

    /// The new names in a code marker, if it is for the renamed resource.
    fn in_marker(&self, marker: &Marker<'_>) -> Vec<Replacement> {
        let arguments = marker.arguments().unwrap_or_default();
        let all = |name: &str, new: &dyn Fn(&Segment) -> Option<Replacement>| {
            let own = arguments.iter().filter(|it| it.name == name);
            let words = own.flat_map(Argument::names);
            words.filter_map(|it| new(&it)).collect::<Vec<_>>()
        };
        let groups = all("groups", &|it| renamed(&self.group, it));
        let resources = all("resources", &|it| self.resource(it));
        if groups.is_empty() || resources.is_empty() && !self.plurals.is_empty() {
            return Vec::new();
        }
        let versions = all("versions", &|it| renamed(self.version.as_ref()?, it));
        let webhooks = all("name", &|it| {
            self.webhooks.iter().find_map(|pair| renamed(pair, it))
        });
        [groups, resources, versions, webhooks].concat()
    }

    /// The new name of a resource in a marker, perhaps with a subresource, if it is renamed.
    fn resource(&self, word: &Segment) -> Option<Replacement> {
        self.plurals.iter().find_map(|[old, new]| {
            let rest = word.text.strip_prefix(old.as_str())?;
            let is_it = rest.is_empty() || rest.starts_with('/');
            is_it.then(|| Replacement::new(word.range.clone(), format!("{new}{rest}")))
        })
    }

    /// The old names that are in a text, each with its lines; of several in one line, the first.
    pub(super) fn left_in(&self, text: &str) -> BTreeMap<&str, Vec<usize>> {
        let mut left: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        let beside = &self.left_beside;
        if !beside.is_empty() && !beside.iter().any(|it| text.contains(it)) {
            return left;
        }
        for (at, line) in text.lines().enumerate() {
            if let Some(name) = self.left_in_line(line) {
                left.entry(name).or_default().push(at + 1);
            }
        }
        left
    }

    fn left_in_line(&self, line: &str) -> Option<&str> {
        let mut others = self.left.iter().map(String::as_str);
        let Some([old, new]) = &self.kind else {
            let is_part = |c: Option<char>, others: &str| {
                c.is_some_and(|c| c.is_alphanumeric() || others.contains(c))
            };
            return others.find(|name| {
                line.match_indices(name).any(|(at, _)| {
                    let behind = line[at + name.len()..].chars().next();
                    let before = line[..at].chars().next_back();
                    !is_part(before, ".-") && !is_part(behind, "-")
                })
            });
        };
        let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let is_in = |name: &str| {
            line.match_indices(name).any(|(at, _)| {
                let behind = line[at + name.len()..].chars().next();
                // `CaptainSpec` also contains the old kind, and `CaptainOfAll` may be the new one.
                let is_end = name == old && behind.is_some_and(char::is_uppercase);
                let mut around = new
                    .match_indices(name)
                    .filter_map(|(inside, _)| at.checked_sub(inside));
                let is_of_new = around.any(|at| {
                    line.get(at..)
                        .is_some_and(|it| it.starts_with(new.as_str()))
                });
                !is_of_new
                    && !is_letter(line[..at].chars().next_back())
                    && (is_end || !is_letter(behind))
            })
        };
        let plurals = self.plurals.iter().map(|[old, _]| old.as_str());
        let types = self.type_name.iter().map(|[old, _]| old.as_str());
        let names = [old.as_str()].into_iter().chain(types);
        let mut names = names.chain(plurals).chain(others);
        names.find(|name| is_in(name))
    }
}

/// The new name in place of a word, if it is the old name.
fn renamed([old, new]: &[String; 2], word: &Segment) -> Option<Replacement> {
    (word.text == *old).then(|| Replacement::new(word.range.clone(), new))
}

/// Whether a text has that word, or those words, such as a path.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        !before.ends_with(is_part) && !after.starts_with(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> RenameMap {
        RenameMap {
            type_name: Some(["Job".to_owned(), "Task".to_owned()]),
            ..RenameMap::default()
        }
    }

    #[test]
    fn types_of_the_project_get_the_new_name_of_the_kind() {
        for (before, after) in [
            (
                "use api::v1::Job; fn f(a: Job) -> Job {}",
                "use api::v1::Task; fn f(a: Task) -> Task {}",
            ),
            (
                "use api::v1; type A = v1::JobSpec;",
                "use api::v1; type A = v1::TaskSpec;",
            ),
            (
                "use api::{batch::v1::{Job, JobStatus as S}};",
                "use api::{batch::v1::{Task, TaskStatus as S}};",
            ),
            (
                "use api::*; fn f(a: v1::Job) {}",
                "use api::*; fn f(a: v1::Task) {}",
            ),
            ("mod v1; pub use v1::Job;", "mod v1; pub use v1::Task;"),
            (
                "use api::v1; fn f(a: k8s::v1::Job) {} mod tests { use super::*; fn f(a: v1::Job) {} }",
                "use api::v1; fn f(a: k8s::v1::Job) {} mod tests { use super::*; fn f(a: v1::Task) {} }",
            ),
            (
                "pub use self::a::Job; use super::JobList; use crate::b::JobValidator;",
                "pub use self::a::Task; use super::TaskList; use crate::b::TaskValidator;",
            ),
            (
                "use trial::webhook::v1::job_converter::JobConverter;",
                "use trial::webhook::v1::job_converter::TaskConverter;",
            ),
            (
                "fn f() { trial::register(m); } fn g(a: trial::jobs::Job) {}",
                "fn f() { trial::register(m); } fn g(a: trial::jobs::Task) {}",
            ),
            (
                "enum Owner { Job, Pod } fn f() { Owner::Job }",
                "enum Owner { Task, Pod } fn f() { Owner::Task }",
            ),
            (
                "#[kube(status = \"JobStatus\")] struct JobSpec; // Job\n/// See [`Job`] and [v1](super::v1::Job).\nstruct A;",
                "#[kube(status = \"TaskStatus\")] struct TaskSpec; // Job\n/// See [`Task`] and [v1](super::v1::Task).\nstruct A;",
            ),
            // Another name for the other type frees this one.
            (
                "use k8s_openapi::api::batch::v1::Job as BatchJob; fn f(a: Job, b: BatchJob) {}",
                "use k8s_openapi::api::batch::v1::Job as BatchJob; fn f(a: Task, b: BatchJob) {}",
            ),
            (
                "use api::v1::Job; mod a { use k8s_openapi::api::batch::v1::Job; fn f(a: Job) {} } fn g(a: Job) {}",
                "use api::v1::Task; mod a { use k8s_openapi::api::batch::v1::Job; fn f(a: Job) {} } fn g(a: Task) {}",
            ),
        ] {
            assert_eq!(words().in_code(before, true), after);
        }
    }

    #[test]
    fn types_of_other_crates_keep_the_name_of_the_kind() {
        for kept in [
            "use k8s_openapi::api::batch::v1::Job; fn f(a: Job) { Job::default(); }",
            "use k8s_openapi::api::batch::v1::{CronJob, Job, JobSpec, JobStatus}; type A = (JobSpec, Vec<Job>);",
            "use k8s_openapi::api::{apps::v1 as appsv1, batch::v1::{self as batchv1}}; fn f(a: batchv1::Job) {}",
            "use k8s_openapi::api::batch::v1; use v1::Job; fn f(a: Job) {}",
            "fn f(a: k8s_openapi::api::batch::v1::Job, b: ::other::Job) {}",
            "use k8s_openapi as k; fn f(a: k::api::batch::v1::Job) {}",
            "fn f() { use other_operator::Job; Job::new() }",
            "use api::external::argo::v1::Job; fn f(a: Job) {}",
            "fn f(a: api::external::argo::v1::Job) {}",
            "/// See [`k8s_openapi::api::batch::v1::Job`] and [`Job`].\nuse k8s_openapi::api::batch::v1::Job;",
            "#[serde(with = \"other::Job\")] struct A;",
        ] {
            assert_eq!(words().in_code(kept, true), kept);
        }
    }

    #[test]
    fn in_another_package_the_name_of_the_crate_tells() {
        let words = RenameMap {
            crates: vec!["trial_api".to_owned()],
            ..words()
        };
        for (before, after) in [
            (
                "use trial_api::v1::*; fn f(a: Job) {}",
                "use trial_api::v1::*; fn f(a: Task) {}",
            ),
            (
                "use trial_api::v1; enum Command { Job } struct JobSpec; fn f(a: crate::Job, b: v1::Job) {}",
                "use trial_api::v1; enum Command { Job } struct JobSpec; fn f(a: crate::Job, b: v1::Task) {}",
            ),
            (
                "use trial_api::v1::Job; fn f(a: Job) {}",
                "use trial_api::v1::Task; fn f(a: Task) {}",
            ),
            (
                "fn f(a: trial_api::v1::Job, b: k8s::v1::Job) {}",
                "fn f(a: trial_api::v1::Task, b: k8s::v1::Job) {}",
            ),
            (
                "fn f(a: trial_api::external::argo::v1::Job) {}",
                "fn f(a: trial_api::external::argo::v1::Job) {}",
            ),
        ] {
            assert_eq!(words.in_other_package(before), after);
        }
    }
}
