//! Why a webhook cannot be added to a project.

use miette::Diagnostic;
use thiserror::Error;

use crate::error::{either, quoted};
use crate::names::{Kind, Version, WEBHOOK_NAME_MAX, WebhookPath};
use crate::project::{Admission, Gvk};

#[derive(Debug, Error, Diagnostic)]
pub(crate) enum WebhookError {
    #[error("`{wanted}` conflicts with `{existing}`: both need the same files")]
    #[diagnostic(code("webhook-same-files"))]
    #[diagnostic(help("choose another `--version`, or put the two in separate projects"))]
    SameFiles { wanted: String, existing: String },
    #[error("nothing to do: no webhook is requested")]
    #[diagnostic(code("webhook-nothing-requested"))]
    #[diagnostic(help(
        "add `--defaulting`, `--programmatic-validation`, or `--conversion --spoke VERSION`"
    ))]
    NothingWanted,
    #[error("`{gvk}` is not in PROJECT")]
    #[diagnostic(code("webhook-unknown-type"))]
    #[diagnostic(help("{}{kubernetes_own}", known(types, *are_meant, create.as_deref())))]
    UnknownType {
        gvk: String,
        /// The options for the types that were probably meant, or else for all types of the project.
        types: Vec<String>,
        /// Whether their kind is the same or a similar one, and the command would work for them.
        are_meant: bool,
        /// The command that creates it; none if that is impossible beside the type that was meant.
        create: Option<String>,
        /// How to specify a type of Kubernetes instead.
        kubernetes_own: String,
    },
    #[error("kbr knows `{kind}` of Kubernetes' `{group}` only in `{version}`")]
    #[diagnostic(code("webhook-core-version"))]
    #[diagnostic(help("type `--version {version}`, or `{create}` first for a kind of your own"))]
    CoreVersion {
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        /// The command that creates the project's own kind.
        create: String,
    },
    #[error("`{gvk}` already has a {admission} webhook")]
    #[diagnostic(code("webhook-exists"))]
    #[diagnostic(help("add `--force` to overwrite its files, or omit `{}`", admission.option()))]
    Exists { gvk: Gvk, admission: Admission },
    #[error(
        "the webhook name `{name}` is longer than {WEBHOOK_NAME_MAX} characters: the API server refuses it"
    )]
    #[diagnostic(code("webhook-name-too-long"))]
    #[diagnostic(help("choose a shorter group, kind or version"))]
    NameTooLong { name: String },
    #[error("`{path}` is already the path of another webhook")]
    #[diagnostic(code("webhook-path-taken"))]
    #[diagnostic(help("type another path after `{}`", admission.path_option()))]
    PathTaken {
        path: WebhookPath,
        admission: Admission,
    },
    #[error("`{gvk}` is not defined in this project, so it cannot be converted here")]
    #[diagnostic(code("webhook-core-conversion"))]
    #[diagnostic(help("omit `--conversion` and `--spoke`"))]
    CoreConversion { gvk: Gvk },
    #[error(
        "`{gvk}` cannot have a webhook: an unavailable operator would block the cluster itself"
    )]
    #[diagnostic(code("webhook-controllers-alone"))]
    #[diagnostic(help("type `{create}` to add a controller, which sees every change of it"))]
    ControllersAlone {
        gvk: Gvk,
        /// The command that creates a controller for it.
        create: String,
    },
    #[error("the conversion of `{gvk}` needs a spoke")]
    #[diagnostic(code("webhook-no-spoke"))]
    #[diagnostic(help("type `--spoke VERSION`, such as `--spoke v2`"))]
    NoSpoke { gvk: Gvk },
    #[error("the spoke `{spoke}` is listed twice")]
    #[diagnostic(code("webhook-spoke-twice"))]
    #[diagnostic(help("list each version once after `--spoke`"))]
    SpokeTwice { spoke: Version },
    #[error("`{hub}` is the hub, so it cannot be a spoke")]
    #[diagnostic(code("webhook-spoke-is-hub"))]
    #[diagnostic(help("name other versions after `--spoke`"))]
    SpokeIsHub { hub: Version },
    #[error("`{gvk}` is not in PROJECT, so it cannot be a spoke")]
    #[diagnostic(code("webhook-unknown-spoke"))]
    #[diagnostic(help("type {}`{create}` first", spokes(versions)))]
    UnknownSpoke {
        gvk: Gvk,
        create: String,
        /// The versions of the kind that can be spokes.
        versions: Vec<Version>,
    },
    #[error("`{spoke}` is already a spoke of `{hub}`")]
    #[diagnostic(code("webhook-spoke-exists"))]
    #[diagnostic(help("add `--force` to overwrite its files, or omit it"))]
    SpokeExists { spoke: Version, hub: Gvk },
    #[error("`{kind}` already has the hub `{hub}`, and a kind can have only one")]
    #[diagnostic(code("webhook-second-hub"))]
    #[diagnostic(help(
        "type `--version {hub}`, and the other versions after `--spoke`; or add `--spoke {hub}`, and `{version}` \
         becomes the hub"
    ))]
    SecondHub {
        kind: Kind,
        hub: Version,
        version: Version,
    },
}

/// The types that were probably meant, or all of PROJECT, and how to create a new one.
fn known(types: &[String], are_meant: bool, create: Option<&str>) -> String {
    let first = create.map(|create| format!("`{create}` first"));
    match (first, are_meant) {
        (Some(first), true) => format!("type {}, which PROJECT has, or {first}", either(types)),
        (None, _) => format!("type {}, which PROJECT has", either(types)),
        (Some(first), false) if types.is_empty() => format!("type {first}"),
        (Some(first), false) => format!("PROJECT has {}; type {first}", quoted(types)),
    }
}

/// The versions that can be spokes, if there are any.
fn spokes(versions: &[Version]) -> String {
    match versions {
        [] => String::new(),
        versions => {
            let options: Vec<String> = versions.iter().map(|it| format!("--spoke {it}")).collect();
            format!("{}, or ", either(&options))
        }
    }
}
