//! Carries out, checks or only shows the plan of a command, and reports the result.

use std::path::{Path, PathBuf};

use crate::apply::{self, Typed};
use crate::cli::{Cli, Command, Import, ImportProjectArgs, InitArgs, Mode};
use crate::commands::desired::Desired;
use crate::commands::error::{Error, Result};
use crate::commands::folder::error::FolderError;
use crate::commands::folder::{self, from_here};
use crate::commands::update::error::UNDO;
use crate::evolve::error::ConflictError;
use crate::plan::{Change, Plan};
use crate::project::{PROJECT_FILE, Project};
use crate::report::Report;
use crate::scaffold;
use crate::tree::Tree;
use crate::vendored;

/// The command that updates what the other commands only warn about.
const UPDATE: &str = "update";

/// A command, and where it runs.
pub(super) struct Run<'a> {
    pub(crate) root: PathBuf,
    pub(crate) mode: Mode,
    pub(crate) is_verbose: bool,
    pub(crate) command: String,
    /// The whole command line, if typing it again after success would be refused.
    line: Option<String>,
    pub(crate) report: &'a Report,
}

impl<'a> Run<'a> {
    pub(super) fn of(cli: &Cli, report: &'a Report) -> Result<Self> {
        let folder = cli.directory.as_deref().unwrap_or(Path::new("."));
        if !folder.is_dir() {
            let dir = folder.to_owned();
            return Err(FolderError::NoFolder { dir }.into());
        }
        let root = match &cli.command {
            Command::Init(InitArgs { dir: Some(dir), .. })
            | Command::Import(Import::Project(ImportProjectArgs { dir: Some(dir), .. })) => {
                if folder == Path::new(".") {
                    dir.clone()
                } else {
                    folder.join(dir)
                }
            }
            _ => folder.to_owned(),
        };
        let is_refused_again = !matches!(
            cli.command,
            Command::Manifests(_) | Command::Docs(_) | Command::Chart(_) | Command::Bundle(_)
        );
        Ok(Self {
            root,
            mode: cli.mode(),
            is_verbose: cli.verbose,
            command: cli.name.clone(),
            line: is_refused_again.then(|| format!("{:?}", cli.command)),
            report,
        })
    }

    /// Finishes the work of a kbr that was killed. Returns whether that was this same command.
    pub(super) fn finish_interrupted(&self) -> Result<bool> {
        let Some(finished) = apply::finish(&self.root, self.mode == Mode::Apply)? else {
            return Ok(false);
        };
        let (typed, is_undo) = (finished.typed, finished.is_undo);
        let what = if is_undo { "undone" } else { "finished" };
        let command = typed.command;
        self.report.warn(&format!(
            "an interrupted `kbr {command}` has now been {what}"
        ));
        let is_this = !is_undo && typed.line.is_some() && typed.line == self.line;
        if is_this {
            let tree = Tree::load(&self.root)?;
            self.tell(&finished.plan, typed.warnings, &typed.next, &tree);
        }
        Ok(is_this)
    }

    /// The end of every command: turns `desired` into a plan, carries it out, checks it or shows it,
    /// and reports it.
    pub(super) fn end(&self, tree: &Tree, desired: Desired) -> Result<()> {
        let plan = resolve(desired.changes, desired.project, tree)?;
        if self.mode == Mode::Apply {
            let typed = Typed {
                command: self.command.clone(),
                line: self.line.clone(),
                warnings: desired.warnings.clone(),
                next: desired.next.to_owned(),
            };
            apply::apply(&self.root, &plan, typed)?;
        }
        self.tell(&plan, desired.warnings, desired.next, tree);
        let drift: Vec<String> = plan.changing().map(|step| step.path.clone()).collect();
        if self.mode == Mode::Check && !drift.is_empty() {
            let command = self.command.clone();
            return Err(Error::OutOfDate { command, drift });
        }
        match desired.conflicts {
            files if files.is_empty() => Ok(()),
            files => {
                let undo = (self.mode == Mode::Apply).then(|| from_here(&self.root, UNDO));
                Err(ConflictError { files, undo }.into())
            }
        }
    }

    fn tell(&self, plan: &Plan, mut warnings: Vec<String>, next: &str, tree: &Tree) {
        if tree.entry(PROJECT_FILE).is_some() && self.command != UPDATE {
            warnings.extend(vendored::warnings(tree));
            warnings.extend(folder::older(tree));
        }
        self.report
            .plan(plan, warnings, from_here(&self.root, next));
    }
}

pub(super) fn resolve(changes: Vec<Change>, project: Option<Project>, tree: &Tree) -> Result<Plan> {
    let plan = Plan::resolve(changes, tree)?;
    let Some(project) = project else {
        return Ok(plan);
    };
    let text = tree.text(PROJECT_FILE);
    let before = text.and_then(|text| Project::parse(text).ok());
    let old = before.as_ref().map(scaffold::rendered).unwrap_or_default();
    let new = scaffold::rendered(&project);
    Ok(plan.seal(project, tree, [&old, &new])?)
}
