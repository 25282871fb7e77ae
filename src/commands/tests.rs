//! Helpers to test planners: commands run on values, without a disk.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};

use super::folder::read;
use super::run::resolve;
use super::*;
use crate::cli::{ExternalArgs, Output};
use crate::import::documents;
use crate::names::objects;
use crate::plan::{Change, Plan};
use crate::report::Problem;
use crate::tree::Given;

/// The plan of a command for a project's files; `None` if the command does not plan.
pub fn planned(cli: Cli, tree: &Tree) -> Option<Result<Plan>> {
    let wanted = wanted(cli, tree)?;
    Some(wanted.and_then(|wanted| resolve(wanted.changes, wanted.project, tree)))
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
fn wanted(cli: Cli, tree: &Tree) -> Option<Result<Wanted>> {
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
        read(Project::parse(text)?, tree)
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
                earlier: &|_, _| None,
                locked: &|_| Ok(tree.text("Cargo.lock").unwrap_or_default().to_owned()),
                format: &|_, after| after,
            };
            Ok(update::plan(&project, tree, &tools)?.wanted)
        }),
        Command::Manifests(args) => project().and_then(|project| {
            storage::check(&project, tree)?;
            let made = manifests::from_markers(&project, tree)?;
            manifests::plan(&project, &args, made, types::Types::default(), tree)
        }),
        Command::Docs(_) => project().and_then(|_| Ok(docs::plan(&types::Types::default(), tree)?)),
        Command::Chart(_) => {
            project().and_then(|project| Ok(chart::plan(project, tree, &|_, _| None)?.wanted))
        }
        Command::Bundle(args) => project().and_then(|project| {
            Ok(bundle::plan(project, &args, false, tree, &|_, _| None)?.wanted)
        }),
        // Files that are given are files of the project.
        Command::Import(Import::Crd(args)) => project().and_then(|project| {
            let given: Vec<Given> = args.paths.iter().map(|path| given_of(tree, path)).collect();
            let documents = documents::read(&given).map_err(Error::several)?;
            import_crd::plan(project, &args, &documents)
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

mod order;

/// A project as values.
#[derive(Clone)]
pub struct Bench {
    pub files: BTreeMap<String, String>,
}

impl Bench {
    /// The project that `kbr init` creates.
    pub fn new() -> Self {
        Self::of("")
    }

    /// The project that `kbr init` creates with these options.
    pub fn of(options: &str) -> Self {
        // Most tests begin with one of few projects.
        static ALL: LazyLock<Mutex<BTreeMap<String, Bench>>> = LazyLock::new(Mutex::default);
        let made = || ALL.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bench) = made().get(options) {
            return bench.clone();
        }
        let empty = Self {
            files: BTreeMap::new(),
        };
        let bench = empty.after(&format!(
            "init --domain example.com --project-name bench {options}"
        ));
        made().insert(options.to_owned(), bench.clone());
        bench
    }

    /// The same without the files that no command touches.
    pub fn small(options: &str) -> Self {
        let mut bench = Self::of(options);
        bench
            .files
            .retain(|path, _| !path.starts_with("third_party/"));
        bench
    }

    pub fn text(&self, path: &str) -> &str {
        let text = self.files.get(path);
        text.unwrap_or_else(|| panic!("no {path}"))
    }

    pub fn project(&self) -> Project {
        Project::parse(self.text(PROJECT_FILE)).expect("a valid PROJECT")
    }

    /// Appends `text` to a file, as its owner may.
    pub fn edit(&mut self, path: &str, text: &str) {
        let file = self.files.entry(path.to_owned()).or_default();
        file.push_str(text);
    }

    pub fn tree(&self) -> Tree {
        let files = self.files.iter();
        files.map(|(path, text)| (&**path, &**text)).collect()
    }

    /// The project after the command `line`.
    pub fn after(&self, line: &str) -> Self {
        let mut files = self.files.clone();
        for step in self.plan(line).expect("no refusal").steps {
            match step.after {
                Some(text) => files.insert(step.path, text),
                None => files.remove(&step.path),
            };
        }
        Self { files }
    }

    /// The plan of the command, compared with the files.
    pub fn plan(&self, line: &str) -> Result<Plan> {
        let tree = self.tree();
        let wanted = Self::wanted_in(&tree, line)?;
        resolve(wanted.changes, wanted.project, &tree)
    }

    /// The changes that the command wants.
    pub fn wanted(&self, line: &str) -> Result<Wanted> {
        Self::wanted_in(&self.tree(), line)
    }

    fn wanted_in(tree: &Tree, line: &str) -> Result<Wanted> {
        let words = ["kbr"].into_iter().chain(line.split_whitespace());
        let words = words.map(OsString::from);
        let cli = Cli::of(&words.collect::<Vec<_>>(), &[]).expect("a line that can be parsed");
        let name = cli.command.name();
        wanted(cli, tree).unwrap_or_else(|| panic!("`{name}` does not plan"))
    }

    /// The changes that the command wants, each as text, sorted.
    pub fn changes(&self, line: &str) -> Vec<String> {
        let wanted = self.wanted(line).expect("no refusal");
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
        let mut changes: Vec<String> = wanted.changes.iter().map(change).collect();
        changes.sort();
        changes
    }

    /// The codes of all errors of the command.
    pub fn refused(&self, line: &str) -> Vec<String> {
        let error = self.plan(line).expect_err(line);
        let problems = Problem::all(&error).into_iter();
        problems.map(|problem| problem.code).collect()
    }
}

/// Asserts that both have the same files and texts.
#[track_caller]
pub fn assert_same(one: &Bench, other: &Bench) {
    let paths = |bench: &Bench| bench.files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(paths(one), paths(other));
    for (path, text) in &one.files {
        assert_eq!(text, &other.files[path], "{path}");
    }
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
        ("config/rbac/leader_election_lease.yaml", objects::LEASE),
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
