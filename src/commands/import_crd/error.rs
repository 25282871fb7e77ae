//! Why a CRD cannot be imported into a project.

use miette::Diagnostic;
use thiserror::Error;

use crate::names::NameError;
use crate::project::Gvk;

#[derive(Debug, Error, Diagnostic)]
pub enum ImportError {
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
    #[error("the CRD `{crd}` cannot be imported: {}", .source.reason)]
    #[diagnostic(code("import-crd-name"))]
    #[diagnostic(help(
        "kbr only works with names of this form: add `--except {crd}` to leave it out"
    ))]
    Name { crd: String, source: NameError },
}
