//! The command line, as clap types and nothing more.
//!
//! A value that must have a certain form is parsed into its newtype here, so that clap's usage error
//! (exit code 2) names the option. The commands check everything that depends on the project.

mod admission;
mod delete;
mod dev;
mod envtest;
mod external;
mod help;
mod hints;
mod image;
mod import;
mod packages;
mod parse;
mod rename;
mod target;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

use crate::names::{ControllerName, Domain, GroupModule, Owner, Plural, ProjectName, TypedRepo};
use crate::project::{Certificates, License};

pub(crate) use admission::{PolicyArgs, WebhookArgs};
pub(crate) use delete::{
    Delete, DeleteApiArgs, DeleteArgs, DeleteControllerArgs, DeletePolicyArgs, DeleteWebhookArgs,
};
pub(crate) use dev::DevArgs;
pub(crate) use envtest::{Envtest, EnvtestUseArgs};
pub(crate) use external::ExternalArgs;
pub(crate) use image::ImageArgs;
pub(crate) use import::{Import, ImportCrdArgs, ImportProjectArgs};
pub(crate) use packages::{BundleArgs, ChartArgs};
pub(crate) use parse::{Known, directory};
pub(crate) use rename::{Rename, RenameGroupArgs, RenameKindArgs, RenameVersionArgs};
pub(crate) use target::{OptionalGroup, TypeArgs};

/// Scaffolds complete Kubernetes operators in Rust
#[derive(Debug, Parser)]
#[command(
    name = "kbr",
    version,
    propagate_version = false,
    disable_help_subcommand = true
)]
pub(crate) struct Cli {
    /// The command as it is typed, without options.
    #[arg(skip)]
    pub(crate) name: String,

    #[command(subcommand)]
    pub(crate) command: Command,

    /// Run as if kbr was started in DIR
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub(crate) directory: Option<PathBuf>,

    /// When to colour the output
    #[arg(long, value_name = "WHEN", global = true, default_value = "auto")]
    pub(crate) color: Color,

    /// Show what would be done to the project, and write nothing
    #[arg(long, global = true)]
    pub(crate) dry_run: bool,

    /// Print a unified diff of the files that change
    #[arg(long, global = true)]
    pub(crate) diff: bool,

    /// List each file and each change, also where a terminal would show a summary
    #[arg(long, global = true)]
    pub(crate) verbose: bool,

    /// Output format: text, or one JSON document
    #[arg(long, value_name = "FORMAT", global = true, default_value = "text")]
    pub(crate) output: Output,
}

/// Whether a command line that could not be parsed requests JSON.
pub(crate) fn wants_json(args: &[OsString]) -> bool {
    let is_json = |pair: &[OsString]| pair[0] == "--output" && pair[1] == "json";
    args.windows(2).any(is_json) || args.iter().any(|arg| arg == "--output=json")
}

/// What to do with a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Apply,
    DryRun,
    /// Writes nothing either; a plan that changes something is an error.
    Check,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Scaffold a new operator project
    Init(InitArgs),
    /// Add an API, a webhook or an admission policy
    #[command(subcommand)]
    Create(Create),
    /// Delete an API, a controller, a webhook or a policy
    #[command(subcommand)]
    Delete(Delete),
    /// Change the project's layout, name or webhook certificates
    Edit(EditArgs),
    /// Rename a kind, a version or a group
    #[command(subcommand)]
    Rename(Rename),
    /// Update a project to the scaffold of this kbr
    Update(UpdateArgs),
    /// Import CRDs, or a Go project of kubebuilder or operator-sdk
    #[command(subcommand)]
    Import(Import),
    /// Generate CRDs, roles and webhook configurations
    Manifests(ManifestsArgs),
    /// Generate the API reference: api/README.md
    Docs(DocsArgs),
    /// Generate a Helm chart from config/: dist/chart
    Chart(ChartArgs),
    /// Generate an OLM bundle from config/ and the code: bundle/
    Bundle(BundleArgs),
    /// Run the operator, and rebuild it when its code changes
    Dev(DevArgs),
    /// Provide etcd, kube-apiserver and kubectl for tests
    #[command(subcommand)]
    Envtest(Envtest),
    /// Print a completion script
    Completion {
        /// The shell to complete for
        shell: clap_complete::Shell,
    },
    /// Print the man page of kbr or of a command
    Man {
        /// The command, such as `create api` [default: kbr itself]
        command: Vec<String>,
    },
    /// Print the help of a command, or a chapter of the guide
    Help {
        /// A command, such as `create api`, or a topic of the guide, such as `webhooks`
        #[arg(value_name = "COMMAND|TOPIC")]
        words: Vec<String>,
    },
    /// Print the versions of kbr and of what it emits
    Version,
}

/// The commands that work on a project's files; the others refuse the options that are only for these.
const PLANNING: [&str; 11] = [
    "init",
    "create",
    "delete",
    "edit",
    "rename",
    "update",
    "import",
    "manifests",
    "docs",
    "chart",
    "bundle",
];

#[derive(Debug, Subcommand)]
pub(crate) enum Create {
    /// Add an API type, a controller for it, or both
    Api(ApiArgs),
    /// Add webhooks for an API type: defaulting, validation, conversion
    Webhook(WebhookArgs),
    /// Add admission policies for an API type, in CEL: the API server refuses or changes objects without a webhook
    Policy(PolicyArgs),
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Folder of the new project, created if it does not exist [default: the current one]
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    /// Suffix of the project's API groups, such as example.com
    #[arg(long, value_name = "DOMAIN")]
    pub(crate) domain: Domain,

    /// Name of the project, a DNS-1123 label [default: the folder's name in lower case]
    #[arg(long, value_name = "NAME")]
    pub(crate) project_name: Option<ProjectName>,

    /// URL of the source repository; the path of a Go module is taken as one
    #[arg(long, value_name = "URL")]
    pub(crate) repo: Option<TypedRepo>,

    /// License of the emitted files
    #[arg(long, value_name = "LICENSE", default_value = "apache2")]
    pub(crate) license: License,

    /// Copyright holder named in license headers
    #[arg(long, value_name = "OWNER")]
    pub(crate) owner: Option<Owner>,

    /// Use a folder and a module for each API group, so that there can be several
    #[arg(long)]
    pub(crate) multigroup: bool,

    /// Watch the namespaces listed in $WATCH_NAMESPACE, with a Role in each, instead of the whole cluster
    #[arg(long)]
    pub(crate) namespaced: bool,

    /// Who issues the certificates of the webhooks
    #[arg(long, value_name = "ISSUER", default_value = "self-managed")]
    pub(crate) certificates: Certificates,
}

#[derive(Debug, Args)]
pub(crate) struct ApiArgs {
    #[command(flatten)]
    pub(crate) typed: TypeArgs,

    /// Rust module of the API group, if another group has the same one [default: the group]
    #[arg(long, value_name = "NAME")]
    pub(crate) group_module: Option<GroupModule>,

    /// Resource name in the plural [default: the plural of the kind]
    #[arg(long, value_name = "PLURAL")]
    pub(crate) plural: Option<Plural>,

    /// Whether to scaffold the API type [default: true; kbr asks on a terminal]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", action = ArgAction::Set)]
    pub(crate) resource: Option<bool>,

    /// Whether to scaffold the controller [default: true unless the kind has one; kbr asks on a terminal]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", action = ArgAction::Set)]
    pub(crate) controller: Option<bool>,

    /// Name of the controller, for another one of the same kind [default: the kind in lower case]
    #[arg(long, value_name = "NAME")]
    pub(crate) controller_name: Option<ControllerName>,

    /// Whether objects are namespaced, not cluster-scoped [default: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", action = ArgAction::Set)]
    pub(crate) namespaced: Option<bool>,

    #[command(flatten)]
    pub(crate) external: ExternalArgs,

    #[command(flatten)]
    pub(crate) image: ImageArgs,

    /// Overwrite the files of an existing API
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct EditArgs {
    /// Use a folder and a module for each API group
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", action = ArgAction::Set)]
    pub(crate) multigroup: Option<bool>,

    /// Rename the project; the name is a DNS-1123 label
    #[arg(long, value_name = "NAME", conflicts_with = "multigroup")]
    pub(crate) project_name: Option<ProjectName>,

    /// Who issues the certificates of the webhooks
    #[arg(long, value_name = "ISSUER", conflicts_with_all = ["multigroup", "project_name"])]
    pub(crate) certificates: Option<Certificates>,

    /// Watch the namespaces that the Deployment lists, with Roles, and not the whole cluster
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", action = ArgAction::Set, conflicts_with_all = ["multigroup", "project_name"])]
    pub(crate) namespaced: Option<bool>,
}

#[derive(Debug, Args)]
pub(crate) struct UpdateArgs {
    /// Write nothing; fail if a file is out of date
    #[arg(long)]
    pub(crate) check: bool,

    /// Update a project even with uncommitted changes or without git
    #[arg(long, conflicts_with = "check")]
    pub(crate) allow_dirty: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ManifestsArgs {
    /// Write nothing; fail if a file is out of date
    #[arg(long)]
    pub(crate) check: bool,

    /// Also fail if the CRDs break stored objects or clients, compared with those at that git commit
    #[arg(long, value_name = "GIT_REF", requires = "check")]
    pub(crate) against: Option<String>,

    /// Also fail if they break what the CRDs in these files or folders allow; lists every other difference
    #[arg(
        long,
        value_name = "PATH",
        requires = "check",
        conflicts_with = "against"
    )]
    pub(crate) against_crds: Vec<String>,

    /// Cut each description in a CRD to this many characters; 0 omits all of them
    #[arg(long, value_name = "N")]
    pub(crate) max_desc_len: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct DocsArgs {
    /// Write nothing; fail if the reference is out of date
    #[arg(long)]
    pub(crate) check: bool,
}
