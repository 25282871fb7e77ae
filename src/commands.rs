//! Every command, end to end: load, plan, apply or check, report.
//!
//! The only module that sees both ends. Each command is one function here whose lines are the
//! arrows of the data flow; what it wants is planned, purely, in the module of its name.

pub mod create_api;
pub mod create_webhook;
pub mod envtest;
pub mod init;
pub mod manifests;

use std::fs;
use std::path::{Path, PathBuf};

use crate::cli::{ApiArgs, Cli, Color, Command, Create, InitArgs, ManifestsArgs, WebhookArgs};
use crate::error::{Error, Result};
use crate::marker::ScaffoldMarker;
use crate::names::ProjectName;
use crate::plan::{Change, Plan, is_generated};
use crate::project::{PROJECT_FILE, Project};
use crate::report::Report;
use crate::tree::{Entry, Tree, find_above};
use crate::{apply, completion, toolchain, vendored};

/// Runs what was typed.
pub fn run(cli: Cli, report: &Report) -> Result<()> {
    let root = cli.directory.unwrap_or_else(|| PathBuf::from("."));
    if !root.is_dir() {
        return Err(Error::NoFolder { dir: root });
    }
    match cli.command {
        Command::Init(args) => init(&root, args, report),
        Command::Create(Create::Api(args)) => create_api(&root, args, report),
        Command::Create(Create::Webhook(args)) => create_webhook(&root, &args, report),
        Command::Manifests(args) => manifests(&root, &args, cli.color, report),
        Command::Envtest(args) => envtest::run(&root, &args, report),
        Command::Completion { shell } => {
            report.output(completion::script(shell));
            Ok(())
        }
        Command::Version => {
            report.output(completion::versions());
            Ok(())
        }
    }
}

fn init(cwd: &Path, args: InitArgs, report: &Report) -> Result<()> {
    let root = match &args.dir {
        Some(dir) if cwd == Path::new(".") => dir.clone(),
        Some(dir) => cwd.join(dir),
        None => cwd.to_owned(),
    };
    let tree = Tree::load(&root)?;
    if tree.entry(PROJECT_FILE).is_some() {
        let text = tree.text(PROJECT_FILE).unwrap_or_default();
        return Err(match Project::parse(text) {
            Err(old @ Error::OldLayout) => old,
            _ => Error::AlreadyInitialized { dir: root },
        });
    }
    if let Some(project) = project_above(&root) {
        return Err(Error::NestedProject { dir: root, project });
    }
    let name = match &args.project_name {
        Some(name) => name.clone(),
        None => folder_name(&root)?,
    };
    let project = init::project(name, &args);
    let plan = Plan::resolve(init::changes(&project), &tree)?.seal(project, &tree)?;
    apply::apply(&root, &plan)?;
    report.plan(&plan);
    for warning in init::warnings(&plan) {
        report.warn(&warning);
    }
    report.next(&from_here(&root, "kbr create api --kind KIND"));
    Ok(())
}

fn create_api(root: &Path, args: ApiArgs, report: &Report) -> Result<()> {
    let (project, tree) = load(root, report)?;
    let resource = answer(args.resource, "Create the resource (API type)?", report)?;
    let controller = if resource && create_api::has_controller_elsewhere(&project, &args) {
        args.controller.unwrap_or(false)
    } else {
        answer(args.controller, "Create the controller?", report)?
    };
    let wanted = create_api::Wanted {
        resource,
        controller,
    };
    let (project, changes) = create_api::plan(project, &args, wanted)?;
    let plan = Plan::resolve(changes, &tree)?.seal(project, &tree)?;
    apply::apply(root, &plan)?;
    report.plan(&plan);
    report.next(&from_here(root, "kbr manifests"));
    Ok(())
}

fn create_webhook(root: &Path, args: &WebhookArgs, report: &Report) -> Result<()> {
    let (project, tree) = load(root, report)?;
    let (project, changes) = create_webhook::plan(project, args)?;
    let warning = create_webhook::warning(&project, args);
    let plan = Plan::resolve(changes, &tree)?.seal(project, &tree)?;
    apply::apply(root, &plan)?;
    report.plan(&plan);
    if let Some(warning) = warning {
        report.warn(&warning);
    }
    report.next(&from_here(root, "kbr manifests"));
    Ok(())
}

fn manifests(root: &Path, args: &ManifestsArgs, color: Color, report: &Report) -> Result<()> {
    let (project, tree) = load(root, report)?;
    for unread in manifests::unread_sources(&tree) {
        report.warn(&unread);
    }
    let made = manifests::from_markers(&project, &tree)?;
    let crds = if project.apis().next().is_some() {
        manifests::crds(&project, &toolchain::crdgen(root, color, args.check)?)?
    } else {
        Vec::new()
    };
    let plan = Plan::resolve(manifests::changes(made, crds, &tree), &tree)?;
    if args.check {
        let drift: Vec<String> = plan.changing().map(|step| step.path.clone()).collect();
        return if drift.is_empty() {
            Ok(())
        } else {
            Err(Error::OutOfDate(drift))
        };
    }
    apply::apply(root, &plan)?;
    report.plan(&plan);
    for warning in manifests::warnings(&plan, &tree) {
        report.warn(&warning);
    }
    report.next(&from_here(root, "cargo build --locked"));
    Ok(())
}

/// The project at `root`, and its files. What its owner did to the vendored crate is said.
fn load(root: &Path, report: &Report) -> Result<(Project, Tree)> {
    let tree = Tree::load(root)?;
    match tree.entry(PROJECT_FILE) {
        Some(Entry::File(text)) => {
            let project = Project::parse(text)?;
            if let Some(warning) = vendored::warning(&tree) {
                report.warn(&warning);
            }
            Ok((project, tree))
        }
        Some(other) => {
            let reason = match other {
                Entry::Folder => "it is a folder",
                Entry::Link => "it is a symbolic link, which may lead out of the project",
                _ => "it is no text file",
            };
            Err(Error::ProjectUnreadable {
                reason: reason.to_owned(),
            })
        }
        None => {
            let dir = root.to_owned();
            Err(match project_above(root) {
                Some(project) => Error::BelowProject { dir, project },
                None => Error::NotAProject { dir },
            })
        }
    }
}

/// The folder of the project that `folder` is inside of, as a word of a shell.
fn project_above(folder: &Path) -> Option<String> {
    let (project, text) = find_above(folder, PROJECT_FILE)?;
    // kubebuilder's file has the same name.
    is_generated(&text).then(|| shell_word(&project))
}

/// What was typed, or else what the user answers.
fn answer(typed: Option<bool>, question: &str, report: &Report) -> Result<bool> {
    match typed {
        Some(wanted) => Ok(wanted),
        None => report.confirm(question),
    }
}

/// The project's name where none was typed: the folder's, in lower case.
fn folder_name(root: &Path) -> Result<ProjectName> {
    let absolute = match fs::canonicalize(root) {
        Ok(path) => path,
        Err(_) => std::path::absolute(root).map_err(Error::io("find", root))?,
    };
    let name = absolute
        .file_name()
        .map(|name| name.to_string_lossy().to_lowercase())
        .unwrap_or_default();
    name.parse()
        .map_err(|source| Error::FolderName { name, source })
}

/// A command to type in the project at `root`, as it has to be typed where the user is.
fn from_here(root: &Path, command: &str) -> String {
    if root == Path::new(".") {
        return command.to_owned();
    }
    format!("cd {} && {command}", shell_word(root))
}

/// A path as one word of a shell, quoted where it must be.
fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "-_./~".contains(c);
    if text.chars().all(is_plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Shorthand of the planning modules for a file of the user's.
fn create(path: impl Into<String>, text: String, force: bool) -> Change {
    Change::Create {
        path: path.into(),
        text,
        force,
    }
}

/// Shorthand of the planning modules for a line above a marker.
fn insert(path: &str, marker: ScaffoldMarker, fragment: impl Into<String>) -> Change {
    Change::Insert {
        path: path.to_owned(),
        marker,
        fragment: fragment.into(),
    }
}
