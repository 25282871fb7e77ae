//! Why something cannot be deleted from a project.

use miette::Diagnostic;
use thiserror::Error;

use crate::error::{either, join, quoted};
use crate::names::{ControllerName, Version};
use crate::project::{Admission, PolicyType};

#[derive(Debug, Error, Diagnostic)]
pub(crate) enum DeleteError {
    #[error("`{gvk}` is not in PROJECT")]
    #[diagnostic(code("delete-unknown-type"), help("{}", known(existing)))]
    UnknownType {
        gvk: String,
        /// The options for each type in PROJECT.
        existing: Vec<String>,
    },
    #[error("`{gvk}` is not defined in this project: there is no type to delete")]
    #[diagnostic(code("delete-not-own"), help("type {}", either(commands)))]
    NotOwn {
        gvk: String,
        /// The commands that delete the controllers and webhooks of the type.
        commands: Vec<String>,
    },
    #[error("`{gvk}` is the stored version, and the kind has other versions")]
    #[diagnostic(code("delete-stored-version"))]
    #[diagnostic(help(
        "in PROJECT, move `storage: true` from `{version}` to another version, such as `{other}`, and type \
         `kbr manifests`, which says how the objects are migrated; after that, run the command again"
    ))]
    StoredVersion {
        gvk: String,
        version: Version,
        other: Version,
    },
    #[error("objects may still be stored in `{gvk}`")]
    #[diagnostic(code("delete-may-be-stored"))]
    #[diagnostic(help(
        "type `kbr manifests`, and follow `{migration}` in each cluster; then remove `{version}` from \
         `storedVersions` in PROJECT, type `kbr manifests` once more, and the same command again"
    ))]
    MayBeStored {
        gvk: String,
        version: Version,
        /// The file that explains how to migrate the objects.
        migration: String,
    },
    #[error("`{gvk}` has webhooks")]
    #[diagnostic(code("delete-has-webhooks"), help("type `{command}` first"))]
    HasWebhooks { gvk: String, command: String },
    #[error("`{gvk}` has policies")]
    #[diagnostic(code("delete-has-policies"), help("type `{command}` first"))]
    HasPolicies { gvk: String, command: String },
    #[error("`{gvk}` is a spoke of `{hub}`")]
    #[diagnostic(code("delete-is-spoke"), help("type `{command}` first"))]
    IsSpoke {
        gvk: String,
        hub: Version,
        command: String,
    },

    #[error("nothing to do: no webhook is requested")]
    #[diagnostic(
        code("delete-nothing-requested"),
        help("{}", existing("webhooks", options))
    )]
    NothingWanted {
        /// The options for all webhooks of the type.
        options: String,
    },
    #[error("`{gvk}` has no {admission} webhook")]
    #[diagnostic(code("delete-no-admission"), help("omit `{}`", admission.option()))]
    NoAdmission { gvk: String, admission: Admission },
    #[error("`{gvk}` is not the hub of a conversion")]
    #[diagnostic(code("delete-no-conversion"), help("{}", the_hub(hub.as_ref())))]
    NoConversion {
        gvk: String,
        /// The hub of the kind, if it has one.
        hub: Option<Version>,
    },
    #[error("`{spoke}` is not a spoke of `{gvk}`")]
    #[diagnostic(code("delete-no-spoke"))]
    #[diagnostic(help(
        "name some of these after `--spoke`: {}",
        join(spokes, ", ", Version::to_string)
    ))]
    NoSpoke {
        gvk: String,
        spoke: Version,
        spokes: Vec<Version>,
    },

    #[error("nothing to do: no policy is requested")]
    #[diagnostic(
        code("delete-no-policy-requested"),
        help("{}", existing("policies", options))
    )]
    NoPolicyWanted {
        /// The options for all policies of the type.
        options: String,
    },
    #[error("`{gvk}` has no {policy} policy")]
    #[diagnostic(code("delete-no-policy"), help("omit `{}`", policy.option()))]
    NoPolicy { gvk: String, policy: PolicyType },

    #[error("`{gvk}` has no controller {}", called(.name.as_ref()))]
    #[diagnostic(code("delete-no-controller"), help("{}", controllers(commands)))]
    NoController {
        gvk: String,
        name: Option<ControllerName>,
        /// The commands that delete the controllers of the kind.
        commands: Vec<String>,
    },
}

fn known(existing: &[String]) -> String {
    match existing {
        [] => "PROJECT has no types: there is nothing to delete".to_owned(),
        existing => format!("PROJECT has {}", quoted(existing)),
    }
}

fn existing(what: &str, options: &str) -> String {
    match options {
        "" => format!("the type has no {what}: there is nothing to delete"),
        options => format!("name what to delete; the type has `{options}`"),
    }
}

fn the_hub(hub: Option<&Version>) -> String {
    match hub {
        Some(hub) => format!("type `--version {hub}`, which is the hub"),
        None => "omit `--conversion`".to_owned(),
    }
}

fn controllers(commands: &[String]) -> String {
    match commands {
        [] => "the kind has no controller: there is nothing to delete".to_owned(),
        commands => format!("type {}", either(commands)),
    }
}

fn called(name: Option<&ControllerName>) -> String {
    match name {
        Some(name) => format!("called `{name}`"),
        None => "named after the kind".to_owned(),
    }
}
