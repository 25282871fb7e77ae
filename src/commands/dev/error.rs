//! Why `kbr dev` does not start.

use miette::Diagnostic;
use thiserror::Error;

use crate::toolchain::signals::WatchError;

#[derive(Debug, Error, Diagnostic)]
pub(crate) enum DevError {
    #[error("another `kbr dev` already runs in this project")]
    #[diagnostic(code("dev-running"))]
    #[diagnostic(help("use that one, or stop it first: type `q` in its terminal"))]
    Running,
    #[error("`{path}` cannot serve `kbr dev`: an earlier kbr wrote it, or a part was removed")]
    #[diagnostic(code("dev-too-old"))]
    #[diagnostic(help("type `kbr update`"))]
    TooOld { path: &'static str },
    #[error("could not follow the files of the project: {source}")]
    #[diagnostic(code("dev-watch"))]
    #[diagnostic(help(
        "on Linux the number of followed files is limited: raise `fs.inotify.max_user_watches` and \
         `fs.inotify.max_user_instances` with sysctl"
    ))]
    Watch { source: WatchError },
    #[error("the API server binaries are not installed: {reason}")]
    #[diagnostic(code("dev-no-binaries"))]
    #[diagnostic(help("type `kbr envtest use`"))]
    NoBinaries { reason: String },
    #[error("the context `{context}` is not allowed: its cluster is {server}")]
    #[diagnostic(code("dev-not-allowed"))]
    #[diagnostic(help(
        "if it may be used for development, type `kbr dev --allow-context {context}` once"
    ))]
    NotAllowed { context: String, server: String },
    #[error("there is no context `{context}` in the kubeconfig")]
    #[diagnostic(code("dev-no-context"))]
    #[diagnostic(help("{}", if known.is_empty() {
        "it has none: set KUBECONFIG to a file that has".to_owned()
    } else {
        format!("it has {known}; KUBECONFIG names the file")
    }))]
    NoContext { context: String, known: String },
    #[error("the context `{context}` names no user that the kubeconfig defines")]
    #[diagnostic(code("dev-no-user"))]
    #[diagnostic(help("type `kubectl config set-context {context} --user=NAME`"))]
    NoUser { context: String },
    #[error("kubectl failed: {reason}")]
    #[diagnostic(code("dev-kubectl"))]
    #[diagnostic(help(
        "kubectl must be on PATH, or set KUBECTL to its path, such as one in the folder that `kbr envtest path` prints"
    ))]
    Kubectl { reason: String },
    #[error("cannot determine your configuration directory")]
    #[diagnostic(code("dev-no-config-folder"))]
    #[diagnostic(help("set HOME, or XDG_CONFIG_HOME to a folder"))]
    NoConfigFolder,
    #[error("`config/default` deploys no operator")]
    #[diagnostic(code("dev-no-manager"))]
    #[diagnostic(help(
        "one Deployment there must have the label `control-plane: controller-manager` and a container `manager`"
    ))]
    NoManager,
    #[error(
        "the operator of `config/default` takes no Lease, so the one in the cluster could not step aside"
    )]
    #[diagnostic(code("dev-no-lease"))]
    #[diagnostic(help("its arguments must have `--leader-elect` and `--leader-election-id`"))]
    NoLease,
    #[error("the operator could not be built: see cargo's messages above")]
    #[diagnostic(code("dev-not-built"))]
    #[diagnostic(help("fix the errors above, and run the command again"))]
    NotBuilt,
    #[error(
        "the operator has no flag `--plan`: it was built without the feature `plan`, or with an earlier kbr-runtime"
    )]
    #[diagnostic(code("dev-no-plan"))]
    #[diagnostic(help(
        "add `\"kbr-runtime/plan\"` to the default features in Cargo.toml, or type `kbr update`"
    ))]
    NoPlan,
    #[error("`kbr dev` does not run on this system")]
    #[diagnostic(code("dev-system"))]
    #[diagnostic(help("use Linux or macOS; on Windows, use the Linux of WSL"))]
    System,
}
