//! Why there can be no bundle.

use miette::Diagnostic;
use thiserror::Error;

use crate::cargo_toml::ManifestError;
use crate::kustomize::KustomizeError;
use crate::names::NameError;
use crate::yaml::YamlError;

#[derive(Debug, Error, Diagnostic)]
pub(crate) enum BundleError {
    #[error(transparent)]
    #[diagnostic(transparent)]
    Kustomize(#[from] KustomizeError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Yaml(#[from] YamlError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Manifest(#[from] ManifestError),
    #[error("`{path}`: {}", .source.reason)]
    #[diagnostic(code("bundle-version"))]
    #[diagnostic(help("{}, or type `kbr bundle --version VERSION`", .source.remedy))]
    Version { path: String, source: NameError },
    #[error("a bundle for version `{version}` exists, and its contents differ")]
    #[diagnostic(code("bundle-version-exists"))]
    #[diagnostic(help(
        "type the next version after `--version`, or, if nobody has installed this one, `kbr bundle` without it"
    ))]
    Exists { version: String },
    #[error("`{path}` is not a ClusterServiceVersion: {reason}")]
    #[diagnostic(code("bundle-unreadable"))]
    #[diagnostic(help("correct it, or delete it and type `kbr bundle`"))]
    Unreadable { path: String, reason: String },
    #[error("`{path}` has an object of the kind `{kind}`, which OLM does not install")]
    #[diagnostic(code("bundle-kind"))]
    #[diagnostic(help(
        "let the operator create the object, or take the file out of the `resources` of `config/default`"
    ))]
    Kind { path: String, kind: String },
    #[error(
        "`{path}` has an object of the kind `{kind}` in the namespace `{namespace}`, and OLM installs a bundle in one \
         namespace"
    )]
    #[diagnostic(code("bundle-namespace"))]
    #[diagnostic(help(
        "let the operator create the object, or take the file out of the `resources` of `config/default`"
    ))]
    Namespace {
        path: String,
        kind: String,
        namespace: String,
    },
    #[error("`{path}` binds `{role}`, and OLM needs the rules of the operator's own roles")]
    #[diagnostic(code("bundle-role"))]
    #[diagnostic(help(
        "write the rules that the operator needs as `+kbr:rbac` comments, or as a role in `config/rbac`"
    ))]
    Role { path: String, role: String },
    #[error(
        "`{path}` binds `{role}` to the operator and to others, and OLM binds it only to the operator"
    )]
    #[diagnostic(code("bundle-subjects"))]
    #[diagnostic(help("write a binding of its own for the other subjects"))]
    Subjects { path: String, role: String },
    #[error("the webhook `{name}` has `{what}`, which OLM does not support: {why}")]
    #[diagnostic(code("bundle-webhook"))]
    #[diagnostic(help(
        "change its `+kbr:webhook` comment and type `kbr manifests`: an `objectSelector` is possible"
    ))]
    Webhook {
        name: String,
        what: &'static str,
        why: &'static str,
    },
    #[error(
        "the webhook's name `{name}` is too long for OLM, which makes it a label of at most {limit} characters"
    )]
    #[diagnostic(code("bundle-webhook-name"))]
    #[diagnostic(help("change `name` in its `+kbr:webhook` comment and type `kbr manifests`"))]
    WebhookName { name: String, limit: usize },
    #[error(
        "OLM installs conversion webhooks only for operators that watch the whole cluster, and this one watches \
         namespaces"
    )]
    #[diagnostic(code("bundle-conversion"))]
    #[diagnostic(help(
        "type `kbr delete webhook --conversion --kind KIND` for each kind that has one, or install the operator \
         otherwise"
    ))]
    Conversion,
    #[error(
        "the bundle takes {size} bytes when it is compressed, and OLM keeps it in a ConfigMap of at most {limit}"
    )]
    #[diagnostic(code("bundle-too-large"))]
    #[diagnostic(help("type `kbr manifests --max-desc-len 0`, then `kbr bundle`"))]
    TooLarge { size: usize, limit: usize },
}
