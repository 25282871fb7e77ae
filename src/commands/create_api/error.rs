//! Why an API or a controller cannot be added to a project.

use miette::Diagnostic;
use thiserror::Error;

use crate::names::{CRD_NAME_MAX, ControllerName, Group, Kind, Version};
use crate::project::Gvk;

#[derive(Debug, Error, Diagnostic)]
pub(crate) enum ApiError {
    #[error("`{gvk}` already exists")]
    #[diagnostic(code("api-exists"))]
    #[diagnostic(help(
        "{}{}choose another kind or version",
        if *is_imported { "" } else { "add `--force` to overwrite its files, " },
        match (has_controller, is_imported) {
            (true, true) => "",
            (true, false) => "or ",
            (false, true) => "add `--resource=false` to create only a controller, or ",
            (false, false) => "`--resource=false` to add only a controller, or ",
        }
    ))]
    ApiExists {
        gvk: Gvk,
        /// Whether the kind also has a controller.
        has_controller: bool,
        /// Whether its types come from a CRD: there is no template that could overwrite them.
        is_imported: bool,
    },
    #[error("`{kind}` already has a controller, for `{version}`")]
    #[diagnostic(code("api-controller-exists"), help("{}", another_controller(*same_version)))]
    ControllerExists {
        kind: Kind,
        version: Version,
        /// Whether it is the controller of this version, which may be overwritten.
        same_version: bool,
    },
    #[error("`{gvk}` already has a controller called `{name}`")]
    #[diagnostic(code("api-controller-name-taken"))]
    #[diagnostic(help(
        "choose another `--controller-name`; if that controller is of the same type, add `--force` to overwrite it"
    ))]
    ControllerNameTaken { name: String, gvk: Gvk },
    #[error("`--controller-name {name}` names a controller, but none would be created")]
    #[diagnostic(code("api-controller-not-requested"))]
    #[diagnostic(help("omit `--controller=false` or `--controller-name`"))]
    ControllerNotWanted { name: ControllerName },
    #[error("`{gvk}` is not in PROJECT")]
    #[diagnostic(code("api-unknown-type"))]
    #[diagnostic(help(
        "omit `--resource=false` to create the type, or add `--external-api-crd FILE` if another operator defines \
         it{kubernetes_own}"
    ))]
    UnknownType { gvk: Gvk, kubernetes_own: String },
    #[error(
        "`{kind}` is cluster-scoped, but the operator has permissions only in namespaces: PROJECT has \
         `namespaced: true`"
    )]
    #[diagnostic(code("api-core-scope"))]
    #[diagnostic(help(
        "choose a namespaced kind, or create another project without `--namespaced`"
    ))]
    CoreScope { kind: Kind },
    #[error("kbr does not know version `{version}` of Kubernetes' `{kind}`")]
    #[diagnostic(code("api-core-version"))]
    #[diagnostic(help(
        "type `kbr create api --group {group} --version {known} --kind {kind} --resource=false`"
    ))]
    CoreVersion {
        group: &'static str,
        version: Version,
        kind: Kind,
        known: &'static str,
    },
    #[error("nothing to do: neither the resource nor a controller would be created")]
    #[diagnostic(code("api-nothing-requested"))]
    #[diagnostic(help("{}{}", if typed.is_empty() { "" } else { "omit " }, typed.join(" or ")))]
    NothingWanted {
        /// The options that excluded both; empty if the user answered questions.
        typed: Vec<&'static str>,
    },
    #[error("the project has one API group, `{existing}`, and `{wanted}` would be a second")]
    #[diagnostic(code("api-second-group"))]
    #[diagnostic(help("{}", groups(option.as_ref(), *is_core)))]
    SecondGroup {
        existing: String,
        wanted: String,
        /// The existing group as it is typed.
        option: Option<Group>,
        /// Whether the new type has the name of one of Kubernetes' own.
        is_core: bool,
    },
    #[error("`{option} {group}` already ends in the domain of the project, which kbr appends")]
    #[diagnostic(code("api-group-with-domain"))]
    #[diagnostic(help("type `{option} {}`", short.as_ref().map_or("''", Group::as_str)))]
    GroupWithDomain {
        option: &'static str,
        group: Group,
        /// The group without the domain; none for the domain itself.
        short: Option<Group>,
    },
    #[error("`{wanted}` conflicts with `{existing}`: both would be the Rust module `{module}`")]
    #[diagnostic(
        code("api-group-clash"),
        help("choose another `--group`, {}or use one project for each group", module_option(option.as_deref()))
    )]
    GroupClash {
        wanted: String,
        existing: String,
        module: String,
        /// The option that chooses another module, if the command has one.
        option: Option<String>,
    },
    #[error(
        "the version `{version}` conflicts with the project's name: the Rust module `{crate_name}` would have the name of the \
         crate"
    )]
    #[diagnostic(
        code("api-version-clash"),
        help("choose another version, or another name for the project")
    )]
    VersionIsCrate {
        version: Version,
        crate_name: String,
    },
    #[error("the API group `{group}` already has the Rust module `{module}`")]
    #[diagnostic(code("api-group-module-differs"), help("omit `--group-module`"))]
    OtherGroupModule { group: String, module: String },
    #[error("the API group `{group}` is protected: only Kubernetes itself defines types in it")]
    #[diagnostic(code("api-group-protected"))]
    #[diagnostic(help(
        "choose your own group; a CRD in this one needs the annotation `api-approved.kubernetes.io`"
    ))]
    ProtectedGroup { group: String },
    #[error("the API group `{group}` has no dot: the API server refuses such a CRD")]
    #[diagnostic(code("api-group-without-dot"))]
    #[diagnostic(help("add `--group GROUP`, such as `--group batch`"))]
    GroupWithoutDot { group: String },
    #[error(
        "the CRD name `{name}` is longer than {CRD_NAME_MAX} characters: its file name would be too long"
    )]
    #[diagnostic(code("api-crd-name-too-long"))]
    #[diagnostic(help("choose a shorter `--group`, `--kind` or `--plural`"))]
    CrdNameTooLong { name: String },
    #[error("`{wanted}` conflicts with `{existing}`: {clash}")]
    #[diagnostic(code("api-kind-clash"))]
    #[diagnostic(help("{}", other_names(existing, *are_same, *is_new)))]
    KindClash {
        wanted: String,
        existing: String,
        clash: String,
        /// Whether the two kinds differ only in case.
        are_same: bool,
        /// Whether the existing kind does not have that version yet.
        is_new: bool,
    },
    #[error(
        "`{kind}` would be cluster-scoped, but the operator has permissions only in namespaces: PROJECT has \
         `namespaced: true`"
    )]
    #[diagnostic(code("api-cluster-scope"), help("keep it namespaced"))]
    ClusterScope { kind: Kind },
    #[error("`{kind}` already has the scope `namespaced: {existing}`")]
    #[diagnostic(code("api-scope-differs"))]
    #[diagnostic(help(
        "type `--namespaced={existing}`, or omit it; all versions of a kind have the same scope"
    ))]
    OtherScope { kind: Kind, existing: bool },
    #[error("`{kind}` has the plural `{existing}` in {place}")]
    #[diagnostic(
        code("api-plural-differs"),
        help("type `--plural {existing}`, or omit it")
    )]
    OtherPlural {
        kind: String,
        existing: String,
        place: &'static str,
    },
    #[error("`--image` creates a type and its controller, but one of them is switched off")]
    #[diagnostic(code("api-image-incomplete"), help("{}", both_parts(*typed)))]
    ImageParts {
        /// The option that switched it off.
        typed: Option<&'static str>,
    },
    #[error(
        "`{kind}` would be cluster-scoped, but the Deployment that runs an image is namespaced"
    )]
    #[diagnostic(code("api-image-scope"), help("omit `--namespaced=false`"))]
    ImageScope { kind: Kind },
}

fn another_controller(same_version: bool) -> &'static str {
    if same_version {
        "add `--force` to overwrite it, `--controller-name NAME` to add another, or \
             `--controller=false` to leave it as it is"
    } else {
        "add `--controller=false`: one controller serves all versions of a kind; to add another, \
             type `--controller-name NAME`"
    }
}

fn module_option(option: Option<&str>) -> String {
    option.map_or_else(String::new, |option| format!("add `{option}`, "))
}

fn same_group(option: Option<&Group>) -> String {
    match option {
        Some(group) => format!("type `--group {group}`"),
        None => "omit `--group`".to_owned(),
    }
}

fn groups(option: Option<&Group>, is_core: bool) -> String {
    let own = if is_core {
        "add `--resource=false` for a controller of Kubernetes' own kind; otherwise "
    } else {
        ""
    };
    let same = same_group(option);
    format!("{own}{same}, as before, or type `kbr edit --multigroup` first")
}

fn other_names(existing: &str, are_same: bool, is_new: bool) -> String {
    match (are_same, is_new) {
        (false, _) => "choose another `--kind` or `--plural`".to_owned(),
        (true, true) => format!(
            "type `--kind {existing}` for another version of it, or choose another `--kind`"
        ),
        (true, false) => format!(
            "`{existing}` already has that version: choose another `--version` for it, or another `--kind`"
        ),
    }
}

fn both_parts(typed: Option<&str>) -> String {
    match typed {
        Some(option) => format!("omit `{option}` or `--image`"),
        None => "omit `--image`; if the kind already has a controller, add another with \
                 `--controller=true --controller-name NAME`"
            .to_owned(),
    }
}
