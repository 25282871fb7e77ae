//! Arguments of `kbr import`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::names::{Owner, ProjectName, TypedModule};
use crate::project::License;

#[derive(Debug, Subcommand)]
pub(crate) enum Import {
    /// Make Rust types from CRDs, with all of their versions and constraints
    Crd(ImportCrdArgs),
    /// Create a project from a Go project made with kubebuilder or operator-sdk (you port the reconcile logic)
    Project(ImportProjectArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ImportCrdArgs {
    /// YAML files with CRDs, or folders of such files
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<String>,

    /// Leave out the CRD of this name, such as foos.example.com; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) except: Vec<String>,

    /// Rust module of an API group, if another group has the same one, such as crew.sea.org=crew_sea; may be repeated
    #[arg(long, value_name = "GROUP=NAME")]
    pub(crate) group_module: Vec<TypedModule>,

    /// Regenerate the types of kinds that the project already has
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ImportProjectArgs {
    /// Folder of the project in Go, which contains PROJECT; it is only read
    #[arg(value_name = "GO_DIR")]
    pub(crate) from: PathBuf,

    /// Folder of the new project, created if it does not exist [default: the current one]
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    /// Name of the project, a DNS-1123 label [default: the name that its objects in a cluster begin with]
    #[arg(long, value_name = "NAME")]
    pub(crate) project_name: Option<ProjectName>,

    /// License of the emitted files
    #[arg(long, value_name = "LICENSE", default_value = "apache2")]
    pub(crate) license: License,

    /// Copyright holder named in license headers
    #[arg(long, value_name = "OWNER")]
    pub(crate) owner: Option<Owner>,
}
