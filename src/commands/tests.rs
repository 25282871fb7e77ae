//! Helpers to test planners: commands run on values, without a disk.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use super::run::resolve;
use super::*;
use crate::cli::{ExternalArgs, Output};
use crate::import::documents;
use crate::kustomize::tests::build;
use crate::names::{NameError, objects};
use crate::plan::{Change, Plan};
use crate::report::Problem;
use crate::toolchain::git::{History, Look};
use crate::tree::Given;
use miette::Diagnostic as _;

/// The plan of a command for a project's files; `None` if the command does not plan.
pub(crate) fn planned(cli: Cli, tree: &Tree) -> Option<Result<Plan>> {
    let desired = desired(cli, tree, &|_, _| Ok(None))?;
    Some(desired.and_then(|desired| resolve(desired.changes, desired.project, tree)))
}

/// A file of the tree as one that is given.
fn given_of(tree: &Tree, path: &str) -> Given {
    Given {
        path: path.to_owned(),
        is_folder: false,
        files: vec![(path.to_owned(), tree.text(path).map(str::to_owned))],
    }
}

/// The changes that a command wants; for `manifests`, only those from markers.
#[allow(clippy::too_many_lines, reason = "one arm for each command")]
fn desired(cli: Cli, tree: &Tree, history: History<'_>) -> Option<Result<Desired>> {
    // With JSON, kbr asks no questions.
    let report = Report::new(&Cli {
        output: Output::Json,
        command: Command::Version,
        ..cli
    });
    // A CRD file that is given is a file of the project.
    let crd = |args: &ExternalArgs| {
        let path = args.external_api_crd.as_ref()?.to_str()?;
        Some(tree.text(path).unwrap_or_default().to_owned())
    };
    let project = || {
        let text = tree.text(PROJECT_FILE).unwrap_or_default();
        let project = Project::parse(text)?;
        folder::resolved(&project, tree)?;
        Ok(project)
    };
    Some(match cli.command {
        Command::Init(args) => {
            let folder = || folder_name(args.dir.as_deref().unwrap_or(Path::new("folder")));
            let name = args.project_name.clone().map_or_else(folder, Ok);
            name.map(|name| init::plan(name, &args, tree))
        }
        Command::Create(Create::Api(args)) => project().and_then(|project| {
            let parts = parts(&project, &args, &report)?;
            create_api::plan(project, &args, parts, crd(&args.external).as_deref())
        }),
        Command::Create(Create::Webhook(args)) => project().and_then(|project| {
            create_webhook::plan(project, &args, crd(&args.external).as_deref(), tree)
        }),
        Command::Create(Create::Policy(args)) => project().and_then(|project| {
            create_policy::plan(project, &args, crd(&args.external).as_deref())
        }),
        Command::Delete(delete) => project().and_then(|project| deleted(project, &delete, tree)),
        // Emitted code is already formatted, and these tests do not run rustfmt.
        Command::Edit(args) => {
            project().and_then(|project| edited(&project, &args, tree, &|_, after| after))
        }
        Command::Rename(args) => {
            project().and_then(|project| rename::plan(&project, &args, tree, &|_, after| after))
        }
        Command::Update(_) => project().and_then(|project| {
            let tools = update::Tools {
                history,
                locked: &|_| Ok(tree.text("Cargo.lock").unwrap_or_default().to_owned()),
                format: &|_, after| after,
            };
            update::plan(&project, tree, &tools)
        }),
        Command::Manifests(args) => project().and_then(|project| {
            storage::check(&project, tree)?;
            let made = manifests::from_markers(&project, tree)?;
            manifests::plan(&project, &args, made, types::Types::default(), tree)
        }),
        Command::Docs(_) => project().and_then(|_| Ok(docs::plan(&types::Types::default(), tree)?)),
        Command::Chart(_) => project()
            .and_then(|project| chart::plan(&project, tree, build(&project, tree), history)),
        Command::Bundle(args) => project().and_then(|project| {
            bundle::plan(&project, &args, false, tree, build(&project, tree), history)
        }),
        // Files that are given are files of the project.
        Command::Import(Import::Crd(args)) => project().and_then(|project| {
            let given: Vec<Given> = args.paths.iter().map(|path| given_of(tree, path)).collect();
            let documents = documents::read(&given, &args.except).map_err(Error::several)?;
            import_crd::plan(project, &args, documents)
        }),
        Command::Dev(_)
        | Command::Envtest(_)
        | Command::Completion { .. }
        | Command::Man { .. }
        | Command::Import(_)
        | Command::Help { .. }
        | Command::Version => {
            return None;
        }
    })
}

mod bad_input;
mod earlier;
mod laws;
mod order;

/// A project as values.
#[derive(Clone, Default)]
pub(crate) struct Bench {
    pub(crate) files: BTreeMap<String, String>,
    /// What was committed, the last commit last.
    commits: Vec<Arc<BTreeMap<String, String>>>,
}

impl Bench {
    /// The project that `kbr init` creates.
    pub(crate) fn new() -> Self {
        Self::of("")
    }

    /// The project that `kbr init` creates with these options.
    pub(crate) fn of(options: &str) -> Self {
        // Most tests begin with one of few projects.
        static ALL: LazyLock<Mutex<BTreeMap<String, Bench>>> = LazyLock::new(Mutex::default);
        let made = || ALL.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bench) = made().get(options) {
            return bench.clone();
        }
        let empty = Self::default();
        let bench = empty.after(&format!(
            "init --domain example.com --project-name bench {options}"
        ));
        made().insert(options.to_owned(), bench.clone());
        bench
    }

    /// The same without the files that no command touches.
    pub(crate) fn small(options: &str) -> Self {
        let mut bench = Self::of(options);
        bench
            .files
            .retain(|path, _| !path.starts_with("third_party/"));
        bench
    }

    pub(crate) fn text(&self, path: &str) -> &str {
        let text = self.files.get(path);
        text.unwrap_or_else(|| panic!("no {path}"))
    }

    pub(crate) fn project(&self) -> Project {
        Project::parse(self.text(PROJECT_FILE)).expect("a valid PROJECT")
    }

    /// Appends `text` to a file, as its owner may.
    pub(crate) fn edit(&mut self, path: &str, text: &str) {
        let file = self.files.entry(path.to_owned()).or_default();
        file.push_str(text);
    }

    pub(crate) fn tree(&self) -> Tree {
        let files = self.files.iter();
        files.map(|(path, text)| (&**path, &**text)).collect()
    }

    /// The project after the command `line`.
    pub(crate) fn after(&self, line: &str) -> Self {
        self.with(&self.plan(line).expect("no refusal"))
    }

    /// The project after a plan.
    pub(crate) fn with(&self, plan: &Plan) -> Self {
        let mut after = self.clone();
        for step in &plan.steps {
            match &step.after {
                Some(text) => after.files.insert(step.path.clone(), text.clone()),
                None => after.files.remove(&step.path),
            };
        }
        after
    }

    /// Commits the files.
    pub(crate) fn commit(&mut self) {
        self.commits.push(Arc::new(self.files.clone()));
    }

    /// The files that were committed, the last commit first.
    pub(crate) fn committed(&self) -> impl Iterator<Item = &BTreeMap<String, String>> {
        self.commits.iter().rev().map(Arc::as_ref)
    }

    fn history(&self, path: &str, look: Look<'_>) -> Option<String> {
        self.committed().find_map(|files| {
            let text = files.get(path)?;
            look(text, &|other| files.get(other).cloned())
        })
    }

    /// The plan of the command, compared with the files.
    pub(crate) fn plan(&self, line: &str) -> Result<Plan> {
        self.planned(line).map(|(plan, _)| plan)
    }

    /// The plan of the command, and the files in which it leaves conflicts.
    pub(crate) fn planned(&self, line: &str) -> Result<(Plan, Vec<String>)> {
        let tree = self.tree();
        let desired = self.desired_in(&tree, line)?;
        let plan = resolve(desired.changes, desired.project, &tree)?;
        Ok((plan, desired.conflicts))
    }

    /// The changes that the command wants.
    pub(crate) fn desired(&self, line: &str) -> Result<Desired> {
        self.desired_in(&self.tree(), line)
    }

    fn desired_in(&self, tree: &Tree, line: &str) -> Result<Desired> {
        let words = ["kbr"].into_iter().chain(line.split_whitespace());
        let words = words.map(OsString::from);
        let words = words.collect::<Vec<_>>();
        let known = known_in(tree.text(PROJECT_FILE).unwrap_or_default());
        let cli = Cli::of(&words, &known).map_err(|error| {
            let name = error.source().and_then(|it| it.downcast_ref::<NameError>());
            let name = name.unwrap_or_else(|| panic!("a line that can be parsed: {error}"));
            Error::name("a name")(name.clone())
        })?;
        let name = cli.name.clone();
        let history: History<'_> = &|path, look| Ok(self.history(path, look));
        desired(cli, tree, history).unwrap_or_else(|| panic!("`{name}` does not plan"))
    }

    /// The changes that the command wants, each as text, sorted.
    pub(crate) fn changes(&self, line: &str) -> Vec<String> {
        let desired = self.desired(line).expect("no refusal");
        let change = |change: &Change| match change {
            Change::Create { path, force, .. } if *force => format!("force {path}"),
            Change::Create { path, .. } => format!("create {path}"),
            Change::Keep { path, .. } => format!("keep {path}"),
            Change::Generate { path, .. } => format!("generate {path}"),
            Change::Insert { path, fragment, .. } => format!("insert {path}: {}", fragment.trim()),
            Change::TakeOut { path, fragment, .. } => {
                format!("take out {path}: {}", fragment.trim())
            }
            Change::Remove { path } => format!("remove {path}"),
            Change::Leave { path } => format!("leave {path}"),
            Change::Edit { path, .. } => format!("rewrite {path}"),
            Change::Rewrite { from, path, .. } if from == path => format!("rewrite {path}"),
            Change::Rewrite { from, path, .. } => format!("move {from} to {path}"),
        };
        let mut changes: Vec<String> = desired.changes.iter().map(change).collect();
        changes.sort();
        changes
    }

    /// The codes of all errors of the command.
    pub(crate) fn refused(&self, line: &str) -> Vec<String> {
        let error = self.plan(line).expect_err(line);
        let problems = Problem::all(&error).into_iter();
        problems.map(|problem| problem.code).collect()
    }
}

/// Asserts that both have the same files and texts.
#[track_caller]
pub(crate) fn assert_same(one: &Bench, other: &Bench) {
    let paths = |bench: &Bench| bench.files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(paths(one), paths(other));
    for (path, text) in &one.files {
        assert_eq!(text, &other.files[path], "{path}");
    }
}

#[test]
fn an_imported_type_is_not_overwritten() {
    let mut bench = Bench::of("--multigroup");
    let crds = super::external::tests::CRDS.replace("cert-manager.io", "crew.example.com");
    bench.edit("crds.yaml", &crds);
    let bench = bench.after("import crd crds.yaml");
    let project = bench.project();
    let it = project.apis().next().expect("a type");
    let group = it
        .group
        .as_ref()
        .map_or_else(String::new, |it| format!("--group {it}"));
    let line = format!(
        "create api {group} --version {} --kind {} --force",
        it.version, it.kind
    );
    assert_eq!(bench.refused(&line), ["api-exists"]);
    let error = bench.plan(&line).expect_err("it exists");
    let help = error.help().map(|help| help.to_string());
    assert!(help.is_some_and(|help| !help.contains("--force")));
}

#[test]
fn a_chart_that_was_deleted_whole_is_written_again() {
    let mut bench = Bench::new().after("chart");
    let written = bench.clone();
    let template = "dist/chart/Chart.yaml";
    let is_there = bench.files.remove(template).is_some();
    assert!(is_there, "{:?}", bench.files.keys());
    let desired = bench.desired("chart").expect("no refusal");
    let warning = format!("`{template}` was deleted, and stays deleted");
    assert!(
        desired.warnings.contains(&warning),
        "{:?}",
        desired.warnings
    );
    assert!(!bench.after("chart").files.contains_key(template));

    bench.files.retain(|path, _| !path.starts_with("dist/"));
    assert_same(&bench.after("chart"), &written);
}

#[test]
fn a_bundle_whose_folder_was_deleted_is_written_again() {
    let line = "bundle --version 1.0.0";
    let mut bench = Bench::new().after(line);
    let written = bench.clone();
    bench.files.retain(|path, _| !path.starts_with("bundle/"));
    assert!(bench.files.contains_key("bundle.Dockerfile"));
    assert_same(&bench.after(line), &written);
}

#[test]
fn the_objects_in_config_have_the_names_in_the_code() {
    let bench = Bench::of("--certificates cert-manager")
        .after("create api --kind Foo")
        .after("create webhook --kind Foo --programmatic-validation");
    for (path, name) in [
        ("config/manager/manager.yaml", objects::NAMESPACE),
        ("config/manager/manager.yaml", objects::MANAGER),
        ("config/rbac/service_account.yaml", objects::MANAGER),
        ("config/rbac/role_binding.yaml", objects::MANAGER_ROLE),
        ("config/rbac/role_binding.yaml", objects::MANAGER_BINDING),
        ("config/webhook/service.yaml", objects::WEBHOOK_SERVICE),
        (
            "config/certmanager/certificate-webhook.yaml",
            objects::SERVING_CERTIFICATE,
        ),
        (
            "config/default/metrics_service.yaml",
            objects::METRICS_SERVICE,
        ),
    ] {
        let name = format!("  name: {name}\n");
        assert!(bench.files[path].contains(&name), "{path}: {name}");
    }
    let project = bench.project();
    let renamed = &bench.files["config/default/kustomization.yaml"];
    for line in [
        format!("\nnamespace: \"{}\"\n", project.project_name.namespace()),
        format!(
            "\nnamePrefix: \"{}\"\n",
            objects::deployed(project.project_name.as_str(), "")
        ),
    ] {
        assert!(renamed.contains(&line), "{line}");
    }
}
