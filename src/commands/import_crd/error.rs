//! Why a CRD cannot be imported into a project.

use miette::Diagnostic;
use thiserror::Error;

use crate::names::NameError;
use crate::project::Gvk;

#[derive(Debug, Error, Diagnostic)]
pub enum ImportError {
    #[error("`{gvk}` already exists")]
    #[diagnostic(code("import-exists"))]
    #[diagnostic(help("add `--force` to overwrite its types, or leave its CRD out"))]
    Exists { gvk: Gvk },
    #[error("the CRD `{crd}` cannot be imported: {}", .source.reason)]
    #[diagnostic(code("import-crd-name"))]
    #[diagnostic(help("leave it out: kbr only works with names of this form"))]
    Name { crd: String, source: NameError },
}
