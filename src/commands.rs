//! Every command, end to end: load, plan, apply, report.
//!
//! The only module that sees both ends. [`run()`] loads what a command's plan needs; the module named
//! after the command plans its changes, purely. All plans end in [`Run::end`].

mod against;
pub(crate) mod bundle;
mod carrier;
pub(crate) mod chart;
pub(crate) mod clashes;
mod compile;
mod crd_files;
pub(crate) mod create_api;
pub(crate) mod create_policy;
pub(crate) mod create_webhook;
pub(crate) mod delete;
mod dependencies;
pub(crate) mod desired;
pub(crate) mod dev;
pub(crate) mod docs;
pub(crate) mod edit;
pub(crate) mod envtest;
pub(crate) mod error;
pub(crate) mod external;
mod folder;
pub(crate) mod import_crd;
pub(crate) mod import_project;
pub(crate) mod init;
pub(crate) mod init_files;
pub(crate) mod kustomized;
mod line_edits;
pub(crate) mod manifests;
mod model_change;
mod module_moves;
mod reference;
mod refresh;
pub(crate) mod rename;
mod rename_map;
mod run;
mod storage;
mod target;
mod types;
mod unneeded;
pub(crate) mod update;

use std::fs;
use std::path::Path;

use crate::cli::{
    ApiArgs, BundleArgs, Cli, Color, Command, Create, Delete, EditArgs, Import, ImportProjectArgs,
    InitArgs, Known, ManifestsArgs, Mode, UpdateArgs,
};
use crate::commands::error::{Error, Result};
use crate::commands::folder::error::FolderError;
use crate::commands::module_moves::Format;
use crate::commands::update::error::{UNDO, UpdateError};
use crate::guide::{Chapter, topics};
use crate::import::documents::Documents;
use crate::import::go;
use crate::layout;
use crate::project::{PROJECT_FILE, Project};
use crate::report::Report;
use crate::toolchain::git;
use crate::toolchain::git::History;
use crate::tree::{self, Tree};
use crate::{completion, toolchain};
use compile::Compiled;
use create_api::Parts;
use desired::Desired;
use folder::{folder_name, from_here, load, project_above, seen_from};
use run::Run;

/// Runs a command.
pub(crate) fn run(cli: Cli, report: &Report) -> Result<()> {
    let run = Run::of(&cli, report)?;
    let root = &run.root;
    if cli.plans() && run.finish_interrupted()? {
        // It may have left conflicts.
        return load(root).map(|_| ());
    }
    let format = |before: &str, after| toolchain::formatted(root, before, after);
    match cli.command {
        Command::Init(args) => init(&args, &run),
        Command::Create(Create::Api(args)) => change(&run, |project, _| {
            let parts = parts(project, &args, report)?;
            let crd = external::read(root, &args.external)?;
            create_api::plan(project.clone(), &args, parts, crd.as_deref())
        }),
        Command::Create(Create::Webhook(args)) => change(&run, |project, tree| {
            let crd = external::read(root, &args.external)?;
            create_webhook::plan(project.clone(), &args, crd.as_deref(), tree)
        }),
        Command::Create(Create::Policy(args)) => change(&run, |project, _| {
            let crd = external::read(root, &args.external)?;
            create_policy::plan(project.clone(), &args, crd.as_deref())
        }),
        Command::Import(Import::Project(args)) => {
            import_project(&args, cli.directory.as_deref(), &run)
        }
        Command::Delete(args) => {
            change(&run, |project, tree| deleted(project.clone(), &args, tree))
        }
        Command::Edit(args) => changed(&run, load_all(root)?, |project, tree| {
            edited(project, &args, tree, &format)
        }),
        Command::Rename(args) => changed(&run, load_all(root)?, |project, tree| {
            rename::plan(project, &args, tree, &format)
        }),
        Command::Update(args) => update(&args, &run),
        Command::Import(Import::Crd(args)) => change(&run, |project, _| {
            let documents = crd_files::crds(root, &args.paths, &args.except);
            let documents = documents.map_err(import_crd::with_except)?;
            import_crd::plan(project.clone(), &args, documents)
        }),
        Command::Manifests(args) => manifests(&args, cli.color, &run),
        Command::Docs(_) => docs(cli.color, &run),
        Command::Chart(_) => chart(&run),
        Command::Bundle(args) => bundle(&args, &run),
        Command::Dev(args) => dev::run(root, &args, cli.color, report),
        Command::Envtest(args) => envtest::run(root, &args, report),
        Command::Completion { shell } => {
            report.output(completion::script(shell));
            Ok(())
        }
        Command::Man { command } => {
            report.output(completion::man_page(&command));
            Ok(())
        }
        Command::Help { words } => {
            let chapter = Chapter::named(&words).map(Chapter::printed);
            report.output(chapter.unwrap_or_else(topics));
            Ok(())
        }
        Command::Version => {
            report.output(completion::versions());
            Ok(())
        }
    }
}

/// The names in the PROJECT of a folder; none if there is no project that can be read.
pub(crate) fn known(root: &Path) -> Known {
    known_in(&fs::read_to_string(root.join(PROJECT_FILE)).unwrap_or_default())
}

/// The names in the text of a PROJECT; none if it cannot be read.
fn known_in(text: &str) -> Known {
    let resources = Project::parse(text).map(|project| project.resources);
    let resources = resources.unwrap_or_default();
    Known {
        kinds: resources.iter().map(|it| it.kind.to_string()).collect(),
        versions: resources.iter().map(|it| it.version.to_string()).collect(),
    }
}

/// Changes the project as `plan` says, and its dependencies if the types of other operators need others.
fn change(run: &Run, plan: impl FnOnce(&Project, &Tree) -> Result<Desired>) -> Result<()> {
    changed(run, load(&run.root)?, plan)
}

/// Changes a project with these files.
fn changed(
    run: &Run,
    loaded: (Project, Tree),
    plan: impl FnOnce(&Project, &Tree) -> Result<Desired>,
) -> Result<()> {
    let (project, tree) = loaded;
    let planned = plan(&project, &tree)?;
    let desired = dependencies::change(&run.root, &project, planned, &tree)?;
    run.end(&tree, desired)
}

/// The project and its files, also those of other packages in its folder that use its crates.
fn load_all(root: &Path) -> Result<(Project, Tree)> {
    let (project, mut tree) = load(root)?;
    tree.read_sources(root, &|manifest| module_moves::uses(&project, manifest))?;
    Ok((project, tree))
}

fn deleted(project: Project, delete: &Delete, tree: &Tree) -> Result<Desired> {
    match delete {
        Delete::Api(args) => delete::api(project, args, tree),
        Delete::Webhook(args) => delete::webhook(project, args, tree),
        Delete::Policy(args) => delete::policy(project, args, tree),
        Delete::Controller(args) => delete::controller(project, args, tree),
    }
}

fn edited(project: &Project, args: &EditArgs, tree: &Tree, format: Format<'_>) -> Result<Desired> {
    if let Some(name) = &args.project_name {
        rename::project::plan(project, name, tree, format)
    } else if args.certificates.is_some() || args.namespaced.is_some() {
        edit::settings::plan(project, args, tree)
    } else {
        edit::plan(project, args, tree, format)
    }
}

fn update(args: &UpdateArgs, run: &Run) -> Result<()> {
    let root = &run.root;
    let (project, tree) = load(root)?;
    let must_be_clean = run.mode == Mode::Apply && !args.allow_dirty;
    if must_be_clean {
        let places = update::places(&project);
        match git::uncommitted(root, &places).map_err(UpdateError::Git)? {
            files if files.is_empty() => {}
            files => {
                let undo = from_here(root, UNDO);
                return Err(UpdateError::Dirty { files, undo }.into());
            }
        }
    }
    let tools = update::Tools {
        history: &|path, look| git::history(root, path, look),
        locked: &|files| dependencies::locked(root, files),
        format: &|before: &str, after| toolchain::formatted(root, before, after),
    };
    run.end(&tree, update::plan(&project, &tree, &tools)?)
}

fn manifests(args: &ManifestsArgs, color: Color, run: &Run) -> Result<()> {
    let (project, tree) = load(&run.root)?;
    let old = against::old(&run.root, args)?;
    storage::check(&project, &tree)?;
    let mut with_sources = tree.clone();
    with_sources.read_sources(&run.root, &|_| true)?;
    let made = manifests::from_markers(&project, &with_sources)?;
    let Some(compiled) = Compiled::of(project, tree, "kbr manifests", color, run)? else {
        return Ok(());
    };
    let (project, tree) = (compiled.project, compiled.tree);
    let foreign = against::foreign(&compiled.types);
    let mut desired = manifests::plan(&project, args, made, compiled.types, &tree)?;
    desired.warnings.extend(compiled.warning);
    let Some(old) = old else {
        return run.end(&tree, desired);
    };
    let compared = against::compare(&old, &desired.changes, &foreign, &tree)?;
    desired.warnings.extend(compared.warnings);
    let safe = against::lines(&compared.safe);
    let rollback = against::lines(&compared.rollback);
    let shown = |all: &[String], changes| {
        if run.is_verbose {
            all.to_vec()
        } else {
            against::brief(changes)
        }
    };
    if run.is_verbose || args.against.is_none() {
        run.report.safe(&safe, &shown(&safe, &compared.safe));
    }
    run.report
        .rollback(&rollback, &shown(&rollback, &compared.rollback));
    let drift = run.end(&tree, desired).err();
    Error::all(drift.into_iter().chain(compared.broken))
}

fn docs(color: Color, run: &Run) -> Result<()> {
    let (project, tree) = load(&run.root)?;
    let Some(compiled) = Compiled::of(project, tree, "kbr docs", color, run)? else {
        return Ok(());
    };
    let mut desired = docs::plan(&compiled.types, &compiled.tree)?;
    desired.warnings.extend(compiled.warning);
    run.end(&compiled.tree, desired)
}

fn chart(run: &Run) -> Result<()> {
    let root = &run.root;
    let (project, tree) = load(root)?;
    let history: History<'_> = &|path, look| git::history(root, path, look);
    let build = kustomized::build(root, &project, &tree)?;
    run.end(&tree, chart::plan(&project, &tree, build, history)?)
}

fn bundle(args: &BundleArgs, run: &Run) -> Result<()> {
    let root = &run.root;
    let (project, tree) = load(root)?;
    let history: History<'_> = &|path, look| git::history(root, path, look);
    let build = kustomized::build(root, &project, &tree)?;
    let is_check = run.mode == Mode::Check;
    run.end(
        &tree,
        bundle::plan(&project, args, is_check, &tree, build, history)?,
    )
}

fn import_project(args: &ImportProjectArgs, directory: Option<&Path>, run: &Run) -> Result<()> {
    let root = &run.root;
    let from = directory.map_or_else(|| args.from.clone(), |folder| folder.join(&args.from));
    let tree = new_project(root)?;
    if !from.is_dir() {
        let path = args.from.display().to_string();
        let here = directory.unwrap_or(Path::new("."));
        let near = tree::near(here, &path);
        return Err(FolderError::NoFile { path, near }.into());
    }
    let files = tree::read_foreign(&from, go::is_entered, go::is_read)?;
    let dir = from.display().to_string();
    let bases = layout::CRD_BASES.trim_end_matches('/');
    let documents = if from.join(bases).is_dir() {
        crd_files::crds(&from, &[bases.to_owned()], &[])
    } else {
        Ok(Documents::default())
    };
    let seen = seen_from(root, &from);
    let planned = import_project::plan(args, &dir, &seen, &files, documents, folder_name(root))?;
    run.end(&tree, planned)
}

/// The files in the folder of a new project, which may contain no project and be in none.
fn new_project(root: &Path) -> Result<Tree> {
    let tree = Tree::load(root)?;
    if tree.entry(PROJECT_FILE).is_some() {
        let dir = root.to_owned();
        return Err(FolderError::AlreadyInitialized { dir }.into());
    }
    if let Some(project) = project_above(root) {
        let dir = root.to_owned();
        return Err(FolderError::NestedProject { dir, project }.into());
    }
    Ok(tree)
}

fn init(args: &InitArgs, run: &Run) -> Result<()> {
    let root = &run.root;
    let tree = new_project(root)?;
    let name = match &args.project_name {
        Some(name) => name.clone(),
        None => folder_name(root)?,
    };
    run.end(&tree, init::plan(name, args, &tree))
}

/// Which parts of an API to create: from the command line, or else from the user's answers.
fn parts(project: &Project, args: &ApiArgs, report: &Report) -> Result<Parts> {
    let typed = if args.external.is_given() {
        args.resource.or(Some(false))
    } else {
        args.resource
    };
    let resource = report.answer(typed, "Create the resource (API type)?")?;
    let controller = if resource && create_api::has_controller_elsewhere(project, args) {
        args.controller.unwrap_or(false)
    } else {
        report.answer(args.controller, "Create the controller?")?
    };
    Ok(Parts {
        resource,
        controller,
    })
}

#[cfg(test)]
pub(crate) mod tests;
