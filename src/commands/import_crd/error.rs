//! Why a CRD cannot be imported into a project.

use std::fmt::{self, Display, Formatter};

use miette::Diagnostic;
use thiserror::Error;

use crate::commands::error;
use crate::error::help_of;
use crate::names::NameError;
use crate::project::Gvk;

#[derive(Debug, Error, Diagnostic)]
pub(crate) enum ImportError {
    #[error("`{gvk}` already exists")]
    #[diagnostic(code("import-exists"))]
    #[diagnostic(help(
        "add `--force` to overwrite its types, or `--except NAME` to leave its CRD out"
    ))]
    Exists { gvk: Gvk },
    #[error("no CRD is called `{name}`")]
    #[diagnostic(code("import-except-unknown"))]
    #[diagnostic(help("type one of these names after `--except`: {}", names.join(", ")))]
    ExceptUnknown { name: String, names: Vec<String> },
    #[error("no CRD is of the API group `{group}`")]
    #[diagnostic(code("import-group-unknown"))]
    #[diagnostic(help("type the whole group of a CRD before `=` in `--group-module`"))]
    NoGroup { group: String },
    #[error("the CRD `{crd}` cannot be imported: {}", .source.reason)]
    #[diagnostic(code("import-crd-name"))]
    #[diagnostic(help(
        "kbr only works with names of this form: add `--except {crd}` to leave it out"
    ))]
    Name { crd: String, source: NameError },
}

/// The error of a CRD that can be left out.
#[derive(Debug)]
pub(crate) struct OneCrdError {
    pub(crate) crd: String,
    pub(crate) error: Box<error::Error>,
}

impl Display for OneCrdError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for OneCrdError {}

impl Diagnostic for OneCrdError {
    fn code<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        self.error.code()
    }

    fn help<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        let help = help_of(&*self.error).map(|help| help + "; or ");
        let help = help.unwrap_or_default();
        Some(Box::new(format!(
            "{help}add `--except {}` to leave the CRD out",
            self.crd
        )))
    }
}
