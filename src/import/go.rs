//! A project of kubebuilder or operator-sdk as a model: PROJECT, its CRDs, and what its Go files say. Go is never run.
//!
//! [`lexer`] knows what is a comment and what is a string, [`source`] functions and markers, [`reconcilers`] which of
//! them reconcile what, [`types`] what the types say that CRDs do not, [`comments`] adds their comments to the CRDs. The CRDs are
//! those that [`super::documents`] has read. Pure.

pub(crate) mod comments;
pub(crate) mod error;
mod lexer;
pub(crate) mod project_file;
pub(crate) mod reconcilers;
pub(crate) mod source;
mod types;

use std::collections::BTreeMap;

use self::error::GoError;
use self::project_file::{GoResource, ProjectFile};
use self::source::GoFile;
use super::documents::{CrdDocument, Documents};
use super::hints::Hints;
use crate::layout;
use crate::manifests::json::{list_of, text_of};

/// The files of a project, by path.
pub(crate) type Files = BTreeMap<String, String>;

/// A project in Go.
#[derive(Debug)]
pub(crate) struct GoProject<'a> {
    pub(crate) project: ProjectFile,
    /// The Go module, such as `example.com/operator`.
    pub(crate) module: String,
    pub(crate) sources: Vec<GoFile<'a>>,
    pub(crate) crds: Vec<Crd>,
    /// The group and the version of each package of types, by its folder.
    pub(crate) packages: BTreeMap<&'a str, (String, String)>,
    pub(crate) files: &'a Files,
}

/// A CRD of the project.
#[derive(Debug)]
pub(crate) struct Crd {
    pub(crate) group: String,
    pub(crate) kind: String,
    pub(crate) versions: Vec<String>,
}

impl Crd {
    fn of(document: &CrdDocument) -> Self {
        let versions = list_of(&document.crd, "/spec/versions").iter();
        Self {
            group: text_of(&document.crd, "/spec/group").to_owned(),
            kind: text_of(&document.crd, "/spec/names/kind").to_owned(),
            versions: versions.map(|it| text_of(it, "name").to_owned()).collect(),
        }
    }
}

/// Whether kbr reads a file of a Go project.
pub(crate) fn is_read(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_config =
        path.starts_with(layout::CONFIG) && (name.ends_with(".yaml") || name.ends_with(".yml"));
    let is_code =
        name.ends_with(".go") && !name.ends_with("_test.go") && !name.starts_with("zz_generated");
    is_code || is_config || path == "PROJECT" || path == "go.mod"
}

/// Whether kbr reads a folder of a Go project: not what Go ignores, nor other people's code or tests.
pub(crate) fn is_entered(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    !name.starts_with(['.', '_']) && !["vendor", "testdata", "node_modules", "bin"].contains(&name)
}

/// PROJECT of the project, which must be one that kbr can read.
pub(crate) fn project_file(dir: &str, files: &Files) -> Result<ProjectFile, GoError> {
    match files.get("PROJECT") {
        Some(text) => ProjectFile::read(dir, text),
        None => Err(GoError::NoProject {
            dir: dir.to_owned(),
        }),
    }
}

impl<'a> GoProject<'a> {
    /// Reads the project whose files these are, or says everything that is wrong with it; `dir` is its folder for
    /// messages.
    pub(crate) fn read(
        dir: &str,
        files: &'a Files,
        documents: &Documents,
    ) -> Result<Self, Vec<GoError>> {
        let mut project = project_file(dir, files).map_err(|error| vec![error])?;
        let mut errors = Vec::new();
        let mut sources = Vec::new();
        for (path, text) in files.iter().filter(|(path, _)| path.ends_with(".go")) {
            match GoFile::read(path, text) {
                Ok(file) => sources.push(file),
                Err(error) => errors.push(GoError::NotGo {
                    path: path.clone(),
                    line: error.line,
                    message: error.message,
                }),
            }
        }
        let crds: Vec<Crd> = documents.crds.iter().map(Crd::of).collect();
        for resource in project.resources.iter_mut().filter(|it| it.is_own()) {
            let group = resource.qualified_group();
            let mut of_kind = crds.iter().filter(|crd| crd.kind == resource.kind);
            // Some projects have changed the group in the code, and not in PROJECT.
            if let (Some(only), None) = (of_kind.next(), of_kind.next())
                && only.group != group
            {
                resource.group.clone_from(&only.group);
                resource.domain.clear();
            }
        }
        let module = files.get("go.mod").and_then(|text| {
            let lines = text.lines().map(str::trim);
            lines.filter_map(|line| line.strip_prefix("module ")).next()
        });
        let found = Self {
            module: module.map_or_else(|| project.repo.clone(), |it| it.trim().to_owned()),
            packages: types::packages(&sources),
            project,
            sources,
            crds,
            files,
        };
        let kinds = found.without_crd(|it| !it.is_of_file() || found.crds.is_empty());
        if !kinds.is_empty() {
            let dir = dir.to_owned();
            errors.push(GoError::NoCrd { dir, kinds });
        }
        if errors.is_empty() {
            Ok(found)
        } else {
            Err(errors)
        }
    }

    /// The kinds of the project that have no CRD, and of which `is_wanted` holds.
    pub(crate) fn without_crd(&self, is_wanted: impl Fn(&GoResource) -> bool) -> Vec<String> {
        let lacks_crd = self.project.resources.iter().filter(|it| {
            let group = it.qualified_group();
            let is_kind = |crd: &&Crd| crd.group == group && crd.kind == it.kind;
            let mut of_kind = self.crds.iter().filter(is_kind);
            it.is_own() && !of_kind.any(|crd| crd.versions.contains(&it.version))
        });
        lacks_crd
            .filter(|it| is_wanted(it))
            .map(GoResource::gvk)
            .collect()
    }

    /// What the Go types say that the CRDs do not.
    pub(crate) fn hints(&self) -> Hints {
        types::hints(self)
    }

    /// Group, version and kind of a type by the path of its Go package, if it is one of the project or of
    /// Kubernetes.
    pub(crate) fn gvk_of(&self, package: &str) -> Option<(String, String)> {
        if let Some(below) = package.strip_prefix(&self.module) {
            let folder = below.trim_start_matches('/');
            return self.packages.get(folder).cloned();
        }
        if let Some(below) = package.strip_prefix("k8s.io/api/") {
            let (group, version) = below.split_once('/')?;
            return Some((group.to_owned(), version.to_owned()));
        }
        let mut resources = self.project.resources.iter();
        let known = resources.find(|it| it.path == package)?;
        Some((known.qualified_group(), known.version.clone()))
    }
}
