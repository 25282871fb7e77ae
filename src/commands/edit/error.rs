//! Why `kbr edit` cannot change a project as requested.

use miette::Diagnostic;
use thiserror::Error;

#[derive(Debug, Error, Diagnostic)]
pub(crate) enum EditError {
    #[error("nothing to do: no option says what to change")]
    #[diagnostic(code("edit-nothing-requested"))]
    #[diagnostic(help(
        "type `kbr edit --multigroup`, `kbr edit --namespaced`, `kbr edit --project-name NAME` or `kbr edit --certificates ISSUER`"
    ))]
    Nothing,
    #[error(
        "`{kind}` is cluster-scoped, and a namespaced operator has permissions only in namespaces"
    )]
    #[diagnostic(
        code("edit-cluster-scope"),
        help(
            "delete what the project has for it first: `kbr delete api`, `kbr delete webhook` or `kbr delete controller`"
        )
    )]
    ClusterScope { kind: String },
    #[error("the project has several API groups, `{}` and `{}`", .groups[0], .groups[1])]
    #[diagnostic(
        code("edit-several-groups"),
        help("delete the kinds of one group first")
    )]
    SeveralGroups { groups: [String; 2] },
    #[error("`{name}` is already a package in `Cargo.lock`")]
    #[diagnostic(code("edit-package-exists"))]
    #[diagnostic(help("type another name after `--project-name`"))]
    PackageExists { name: String },
}
