//! The CRDs in files and folders, as documents that the rest of kbr can rely on.
//!
//! A file that was named must have a CRD, and everything in it that looks like one must be readable. Of a folder, whatever is no
//! CRD is skipped, and counted: repositories keep patches, samples and charts beside their CRDs.
//!
//! Every CRD that comes out would be accepted by an API server, as far as [`structural`] knows its rules; keywords that the API server
//! drops are removed from it. Pure.

mod definition;
mod reason;
mod refusal;
mod structural;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::Value;

use self::definition::Problem;
use crate::manifests::json::{list_of, text_of};
use crate::manifests::schema::refused_by_server;
use crate::tree::Given;
use crate::yaml;

pub(crate) use self::reason::Reason;
pub(crate) use self::refusal::Refusal;

/// The API group and the version of CRDs.
const API_VERSION: &str = "apiextensions.k8s.io/v1";

const KIND: &str = "CustomResourceDefinition";

/// A CRD, and where it was found.
#[derive(Debug, Clone)]
pub(crate) struct CrdDocument {
    /// Its keys are in the order of the file.
    pub(crate) crd: Value,
    /// The path, as it was typed or below a folder that was typed.
    pub(crate) file: String,
    /// The line at which its document begins, from 1.
    pub(crate) line: usize,
}

impl CrdDocument {
    pub(crate) fn name(&self) -> &str {
        text_of(&self.crd, "/metadata/name")
    }

    /// What `kbr manifests` would refuse if the project had these types. An API server that has the CRD may be of a version
    /// that allows rules to cost more.
    pub(crate) fn refused(&self) -> Vec<Refusal> {
        let versions = list_of(&self.crd, "/spec/versions").iter();
        let refused = versions.flat_map(|version| {
            let schema = &version["schema"]["openAPIV3Schema"];
            refused_by_server(schema).into_iter().map(|refusal| {
                let problem = Problem {
                    version: text_of(version, "name").to_owned(),
                    path: refusal.path,
                    reason: Reason::Server {
                        problem: refusal.reason.to_string(),
                    },
                };
                Refusal::of_crd(&self.file, self.line, self.name(), problem)
            })
        });
        refused.collect()
    }
}

/// The CRDs of all files.
#[derive(Debug, Clone, Default)]
pub(crate) struct Documents {
    /// In the order of the paths and of the files, each CRD once.
    pub(crate) crds: Vec<CrdDocument>,
    /// What was skipped in folders, and what the API server ignores in a CRD.
    pub(crate) notes: Vec<String>,
}

/// The CRDs in these files and folders, or everything that is wrong with them, apart from those that are left out.
pub(crate) fn read(given: &[Given], left_out: &[String]) -> Result<Documents, Vec<Refusal>> {
    let mut reader = Reader {
        left_out,
        ..Reader::default()
    };
    for it in given {
        reader.given(it);
    }
    if reader.refusals.is_empty() {
        Ok(reader.found)
    } else {
        Err(reader.refusals)
    }
}

#[derive(Default)]
struct Reader<'a> {
    left_out: &'a [String],
    found: Documents,
    refusals: Vec<Refusal>,
}

/// A document of a file.
struct Document<'a> {
    file: &'a str,
    line: usize,
}

/// What is in a path, other than CRDs, with the number of each.
type Others = BTreeMap<String, usize>;

impl Reader<'_> {
    fn given(&mut self, given: &Given) {
        let before = (self.found.crds.len(), self.refusals.len());
        let mut others = Others::new();
        for (file, text) in &given.files {
            match text {
                Some(text) => self.file(given, file, text, &mut others),
                None if given.is_folder => count(&mut others, "files that are not UTF-8"),
                None => self.refuse(&Document { file, line: 1 }, Reason::NotText),
            }
        }
        let is_nothing = before == (self.found.crds.len(), self.refusals.len());
        let list = others
            .iter()
            .map(|(what, number)| format!("{number} {what}"));
        let list = list.collect::<Vec<_>>().join(", ");
        if is_nothing {
            let reason = Reason::NoCrd { others: list };
            self.refusals.push(Refusal::of_path(&given.path, reason));
        } else if !list.is_empty() {
            self.found
                .notes
                .push(format!("`{}` has no CRD in {list}: skipped", given.path));
        }
    }

    fn file(&mut self, given: &Given, file: &str, text: &str, others: &mut Others) {
        for document in yaml::documents(text) {
            let line = document.line;
            // A patch or a sample may mention the kind as well, but a file that never does has no CRD.
            let may_be_crd = document.text.contains(KIND);
            match document.read(file) {
                Ok(Value::Null) => {}
                Ok(value) => self.document(given, &Document { file, line }, value, others),
                Err(_) if given.is_folder && !may_be_crd => {
                    count(others, "documents that are not plain YAML");
                }
                Err(error) => {
                    let line = error.line;
                    self.refuse(&Document { file, line }, Reason::Yaml(error.problem));
                }
            }
        }
    }

    fn document(&mut self, given: &Given, at: &Document<'_>, document: Value, others: &mut Others) {
        let kind = text_of(&document, "kind").to_owned();
        if kind.ends_with("List") && document.get("items").is_some() {
            for mut item in list_of(&document, "items").iter().cloned() {
                // The items of a typed list may leave out their kind.
                if kind == format!("{KIND}List")
                    && let Some(item) = item.as_object_mut()
                {
                    item.entry("kind").or_insert_with(|| KIND.into());
                    item.entry("apiVersion")
                        .or_insert_with(|| document["apiVersion"].clone());
                }
                self.document(given, at, item, others);
            }
            return;
        }
        if kind != KIND {
            let what = match kind.as_str() {
                "" => "documents without a kind".to_owned(),
                _ => kind,
            };
            return count(others, &what);
        }
        if given.is_folder
            && document.pointer("/spec/versions").is_none()
            && text_of(&document, "apiVersion") == API_VERSION
        {
            return count(others, "patches of CRDs");
        }
        self.crd(at, document);
    }

    fn crd(&mut self, at: &Document<'_>, mut crd: Value) {
        let name = text_of(&crd, "/metadata/name").to_owned();
        let mut problems = Vec::new();
        let ignored = if self.left_out.contains(&name) {
            Vec::new()
        } else {
            definition::check(&mut crd, &mut problems)
        };
        if !problems.is_empty() {
            let refusals = problems.into_iter();
            let refusals =
                refusals.map(|problem| Refusal::of_crd(at.file, at.line, &name, problem));
            return self.refusals.extend(refusals);
        }
        let mut known = self.found.crds.iter();
        match known.find(|known| known.name() == name) {
            Some(known) if known.crd == crd => {}
            Some(known) => {
                let other = format!("{}:{}", known.file, known.line);
                let problem = definition::Problem::plain(Reason::Twice { other });
                self.refusals
                    .push(Refusal::of_crd(at.file, at.line, &name, problem));
            }
            None => {
                self.found
                    .notes
                    .extend(ignored.into_iter().map(|it| format!("`{name}`: {it}")));
                self.found.crds.push(CrdDocument {
                    crd,
                    file: at.file.to_owned(),
                    line: at.line,
                });
            }
        }
    }

    fn refuse(&mut self, at: &Document<'_>, reason: Reason) {
        self.refusals
            .push(Refusal::of_line(at.file, at.line, reason));
    }
}

fn count(others: &mut Others, what: &str) {
    *others.entry(what.to_owned()).or_default() += 1;
}
