//! Every command, end to end: load, plan, apply, report.
//!
//! The only module that sees both ends. [`run`] loads what a command's plan needs; what the command
//! wants is planned, purely, in the module of its name. All plans have one ending, [`Run::end`].

mod against;
pub mod beside;
mod compile;
pub mod create_api;
pub mod create_webhook;
pub mod delete;
mod dependencies;
pub mod docs;
pub mod edit;
pub mod envtest;
pub mod external;
mod folder;
pub mod init;
mod lines;
pub mod manifests;
mod moves;
pub mod rename;
mod types;
pub mod update;

use std::path::{Path, PathBuf};

use crate::apply::{self, Finished, Typed};
use crate::cli::{
    ApiArgs, Cli, Color, Command, Create, Delete, InitArgs, ManifestsArgs, Mode, UpdateArgs,
};
use crate::error::{Error, Result, UpdateError};
use crate::marker::ScaffoldMarker;
use crate::plan::{Change, Plan};
use crate::project::{PROJECT_FILE, Project};
use crate::report::Report;
use crate::scaffold::{self, Part};
use crate::toolchain::git;
use crate::tree::Tree;
use crate::{completion, toolchain, vendored};

use compile::Compiled;
use create_api::Parts;
use folder::{folder_name, from_here, load, load_earlier, project_above};

/// The command that renews what the others leave as it is.
const UPDATE: &str = "update";

/// What a command wants, before it is held against the files.
#[derive(Debug, PartialEq, Eq)]
pub struct Wanted {
    pub changes: Vec<Change>,
    /// PROJECT as it is to be; nothing where it stays as it is.
    pub project: Option<Project>,
    /// What the user has to know, in words that are true before and after it is carried out.
    pub warnings: Vec<String>,
    /// The next command to type.
    pub next: &'static str,
}

/// A command, and where it is to work.
struct Run<'a> {
    root: PathBuf,
    mode: Mode,
    command: &'static str,
    /// All that was typed, where it would be refused if it were typed again after it was done.
    line: Option<String>,
    report: &'a Report,
}

/// Runs what was typed.
pub fn run(cli: Cli, report: &Report) -> Result<()> {
    let run = Run::of(&cli, report)?;
    let root = &run.root;
    if plans(&cli.command) && run.is_finished()? {
        return Ok(());
    }
    match cli.command {
        Command::Init(args) => init(&args, &run),
        Command::Create(Create::Api(args)) => {
            let (project, tree) = load(root)?;
            let parts = parts(&project, &args, report)?;
            let crd = external::read(root, &args.external)?;
            let wanted = create_api::plan(project.clone(), &args, parts, crd.as_deref())?;
            let wanted = dependencies::change(root, &project, wanted, &tree)?;
            run.end(&tree, wanted)
        }
        Command::Create(Create::Webhook(args)) => {
            let (project, tree) = load(root)?;
            let crd = external::read(root, &args.external)?;
            let wanted = create_webhook::plan(project.clone(), &args, crd.as_deref())?;
            let wanted = dependencies::change(root, &project, wanted, &tree)?;
            run.end(&tree, wanted)
        }
        Command::Delete(delete) => {
            let (project, tree) = load(root)?;
            let wanted = deleted(project.clone(), &delete, &tree)?;
            let wanted = dependencies::change(root, &project, wanted, &tree)?;
            run.end(&tree, wanted)
        }
        Command::Edit(args) => {
            let (project, tree) = load(root)?;
            let format = |before: &str, after| toolchain::formatted(root, before, after);
            let wanted = edit::plan(&project, &args, &tree, &format)?;
            run.end(&tree, wanted)
        }
        Command::Rename(rename) => {
            let (project, tree) = load(root)?;
            let format = |before: &str, after| toolchain::formatted(root, before, after);
            let wanted = rename::plan(&project, &rename, &tree, &format)?;
            run.end(&tree, wanted)
        }
        Command::Update(args) => update(&args, &run),
        Command::Manifests(args) => manifests(&args, cli.color, &run),
        Command::Docs(_) => docs(cli.color, &run),
        Command::Envtest(args) => envtest::run(root, &args, report),
        Command::Completion { shell } => {
            report.output(completion::script(shell));
            Ok(())
        }
        Command::Man { command } => {
            report.output(completion::man_page(&command));
            Ok(())
        }
        Command::Version => {
            report.output(completion::versions());
            Ok(())
        }
    }
}

/// Whether a command has to do with a project's files.
fn plans(command: &Command) -> bool {
    !matches!(
        command,
        Command::Envtest(_) | Command::Completion { .. } | Command::Man { .. } | Command::Version
    )
}

impl<'a> Run<'a> {
    fn of(cli: &Cli, report: &'a Report) -> Result<Self> {
        let folder = cli.directory.as_deref().unwrap_or(Path::new("."));
        if !folder.is_dir() {
            return Err(Error::NoFolder {
                dir: folder.to_owned(),
            });
        }
        let root = match &cli.command {
            Command::Init(InitArgs { dir: Some(dir), .. }) if folder == Path::new(".") => {
                dir.clone()
            }
            Command::Init(InitArgs { dir: Some(dir), .. }) => folder.join(dir),
            _ => folder.to_owned(),
        };
        let is_refused_again = !matches!(cli.command, Command::Manifests(_) | Command::Docs(_));
        Ok(Self {
            root,
            mode: cli.mode(),
            command: cli.command.name(),
            line: is_refused_again.then(|| format!("{:?}", cli.command)),
            report,
        })
    }

    /// Finishes what a kbr that was killed has begun; whether that was this command.
    fn is_finished(&self) -> Result<bool> {
        let Some(finished) = apply::finish(&self.root, self.mode == Mode::Apply)? else {
            return Ok(false);
        };
        let Finished {
            typed,
            is_undo,
            plan,
        } = finished;
        let what = if is_undo { "undone" } else { "finished" };
        let command = typed.command;
        self.report.warn(&format!(
            "a `kbr {command}` was stopped half-way: it is {what} now"
        ));
        let is_this = !is_undo && typed.line.is_some() && typed.line == self.line;
        if is_this {
            let tree = Tree::load(&self.root)?;
            self.tell(&plan, typed.warnings, &typed.next, &tree);
        }
        Ok(is_this)
    }

    /// The one ending: `wanted` becomes a plan, the plan is carried out unless it is only asked for,
    /// and what was done, or would be, is said.
    fn end(&self, tree: &Tree, wanted: Wanted) -> Result<()> {
        let plan = resolve(wanted.changes, wanted.project, tree)?;
        if self.mode == Mode::Apply {
            let typed = Typed {
                command: self.command.to_owned(),
                line: self.line.clone(),
                warnings: wanted.warnings.clone(),
                next: wanted.next.to_owned(),
            };
            apply::apply(&self.root, &plan, typed)?;
        }
        self.tell(&plan, wanted.warnings, wanted.next, tree);
        let drift: Vec<String> = plan.changing().map(|step| step.path.clone()).collect();
        if self.mode == Mode::Check && !drift.is_empty() {
            let command = self.command;
            return Err(Error::OutOfDate { command, drift });
        }
        Ok(())
    }

    fn tell(&self, plan: &Plan, mut warnings: Vec<String>, next: &str, tree: &Tree) {
        if tree.entry(PROJECT_FILE).is_some() && self.command != UPDATE {
            warnings.extend(vendored::warning(tree));
            warnings.extend(folder::older(tree));
        }
        let next = from_here(&self.root, next);
        self.report.plan(plan, warnings, next);
    }
}

fn deleted(project: Project, delete: &Delete, tree: &Tree) -> Result<Wanted> {
    match delete {
        Delete::Api(args) => delete::api(project, args, tree),
        Delete::Webhook(args) => delete::webhook(project, args, tree),
        Delete::Controller(args) => delete::controller(project, args, tree),
    }
}

fn update(args: &UpdateArgs, run: &Run) -> Result<()> {
    let root = &run.root;
    let (project, tree) = load_earlier(root)?;
    if run.mode == Mode::Apply && !args.allow_dirty {
        git::check_clean(root)?;
    }
    let tools = update::Tools {
        earlier: &|path, fits| git::earlier(root, path, fits),
        locked: &|files| dependencies::locked(root, files),
        format: &|before: &str, after| toolchain::formatted(root, before, after),
    };
    let updated = update::plan(&project, &tree, &tools)?;
    run.end(&tree, updated.wanted)?;
    match updated.conflicts {
        files if files.is_empty() => Ok(()),
        files => Err(UpdateError::Conflict { files }.into()),
    }
}

fn manifests(args: &ManifestsArgs, color: Color, run: &Run) -> Result<()> {
    let (project, tree) = load(&run.root)?;
    let git_ref = args.against.as_deref();
    let old = git_ref.map(|git_ref| against::old(&run.root, git_ref));
    let old = old.transpose()?;
    manifests::storage::check(&project, &tree)?;
    let made = manifests::from_markers(&project, &tree)?;
    let Some(compiled) = Compiled::of(project, tree, "kbr manifests", color, run)? else {
        return Ok(());
    };
    let (project, tree) = (compiled.project, compiled.tree);
    let mut wanted = manifests::plan(&project, args, made, compiled.types, &tree)?;
    wanted.warnings.extend(compiled.warning);
    let Some(old) = old else {
        return run.end(&tree, wanted);
    };
    let compared = against::compare(&old, &wanted.changes, &tree)?;
    wanted.warnings.extend(compared.warnings);
    if args.verbose {
        run.report.safe(&compared.safe);
    }
    let drift = run.end(&tree, wanted).err();
    Error::all(drift.into_iter().chain(compared.broken).collect())
}

fn docs(color: Color, run: &Run) -> Result<()> {
    let (project, tree) = load(&run.root)?;
    let Some(compiled) = Compiled::of(project, tree, "kbr docs", color, run)? else {
        return Ok(());
    };
    let mut wanted = docs::plan(compiled.types, &compiled.tree);
    wanted.warnings.extend(compiled.warning);
    run.end(&compiled.tree, wanted)
}

fn init(args: &InitArgs, run: &Run) -> Result<()> {
    let root = &run.root;
    let tree = Tree::load(root)?;
    if tree.entry(PROJECT_FILE).is_some() {
        let text = tree.text(PROJECT_FILE).unwrap_or_default();
        return Err(match Project::parse(text) {
            Err(old @ Error::OldLayout) => old,
            _ => Error::AlreadyInitialized { dir: root.clone() },
        });
    }
    if let Some(project) = project_above(root) {
        let dir = root.clone();
        return Err(Error::NestedProject { dir, project });
    }
    let name = match &args.project_name {
        Some(name) => name.clone(),
        None => folder_name(root)?,
    };
    run.end(&tree, init::plan(name, args, &tree))
}

fn resolve(changes: Vec<Change>, project: Option<Project>, tree: &Tree) -> Result<Plan> {
    let plan = Plan::resolve(changes, tree)?;
    let Some(project) = project else {
        return Ok(plan);
    };
    let old = tree
        .text(PROJECT_FILE)
        .and_then(|text| Project::parse(text).ok());
    let old = old.map(|old| scaffold::inserted(&old)).unwrap_or_default();
    let new = scaffold::inserted(&project);
    plan.seal(project, tree, [&old, &new])
}

/// Which parts of an API are to be made: what was typed, or else what the user answers.
fn parts(project: &Project, args: &ApiArgs, report: &Report) -> Result<Parts> {
    let typed = match args.external.external_api_path {
        Some(_) => args.resource.or(Some(false)),
        None => args.resource,
    };
    let resource = answer(typed, "Create the resource (API type)?", report)?;
    let controller = if resource && create_api::has_controller_elsewhere(project, args) {
        args.controller.unwrap_or(false)
    } else {
        answer(args.controller, "Create the controller?", report)?
    };
    Ok(Parts {
        resource,
        controller,
    })
}

/// What was typed, or else what the user answers.
fn answer(typed: Option<bool>, question: &str, report: &Report) -> Result<bool> {
    match typed {
        Some(wanted) => Ok(wanted),
        None => report.confirm(question),
    }
}

/// What a kustomization has under `resources`: nothing where it cannot be read.
fn resources_of(kustomization: &str) -> Vec<serde_yaml::Value> {
    let parsed: serde_yaml::Value = serde_yaml::from_str(kustomization).unwrap_or_default();
    let items = parsed.get("resources").and_then(|list| list.as_sequence());
    items.cloned().unwrap_or_default()
}

/// Shorthand of the planning modules for a file of the user's.
fn create(path: impl Into<String>, text: String, force: bool) -> Change {
    Change::Create {
        path: path.into(),
        text,
        force,
    }
}

/// The changes that bring the scaffold from what it was `before` to that of `project`, and write the
/// files of `rewritten` anew.
fn added(project: &Project, before: &[Part], rewritten: &[Part], force: bool) -> Vec<Change> {
    let new = scaffold::without(scaffold::of(project), before);
    let again = rewritten.iter().filter(|part| {
        let mut new = new.iter();
        !new.any(|new| new.identity() == part.identity())
    });
    let all = new.iter().chain(again);
    all.filter_map(|part| part.change(project, force)).collect()
}

/// Shorthand of the planning modules for lines above a marker.
fn insert(path: &str, marker: ScaffoldMarker, fragment: impl Into<String>) -> Change {
    Change::Insert {
        path: path.to_owned(),
        marker,
        fragment: fragment.into(),
    }
}

#[cfg(test)]
pub mod tests;
