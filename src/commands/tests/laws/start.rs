//! The projects that histories begin with.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::cli::{Cli, Command, Import, Known};
use crate::commands::external::tests::CRDS;
use crate::commands::run::resolve;
use crate::commands::tests::Bench;
use crate::commands::{crd_files, import_project};
use crate::import::go;
use crate::layout;
use crate::scaffold;
use crate::tree::{self, Tree};

/// A file with CRDs, for `kbr import crd`.
pub(crate) const GIVEN: &str = "crds.yaml";

/// A file with the CRDs of another operator.
pub(crate) const EXTERNAL: &str = "external.yaml";

/// A project in Go, and the prefix of its objects in the cluster.
const FLEET: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/fleet");
const PREFIX: &str = "namePrefix: navy-\n";

/// The commands that create them. The words after `import project` are not typed: the name of the project in Go and the
/// prefix of its objects.
pub(crate) const ALL: [&str; 7] = [
    "init",
    "init --multigroup",
    "init --certificates cert-manager",
    "init --multigroup --license none",
    "init --namespaced",
    "import project navy-",
    "import project cap-",
];

/// A project, and the files in it that follow from no template.
pub(crate) fn project(line: &str) -> (Bench, BTreeSet<String>) {
    type Made = BTreeMap<String, (Bench, BTreeSet<String>)>;
    static MADE: LazyLock<Mutex<Made>> = LazyLock::new(Mutex::default);
    let made = || MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = made().get(line) {
        return known.clone();
    }
    let (mut bench, imported) = match line.strip_prefix("import project ") {
        Some(prefix) => imported(prefix),
        None => (
            Bench::small(line.trim_start_matches("init").trim()),
            BTreeSet::new(),
        ),
    };
    let crds = CRDS.replace("cert-manager.io", "crew.example.com");
    bench.files.insert(GIVEN.to_owned(), crds);
    bench.files.insert(EXTERNAL.to_owned(), CRDS.to_owned());
    made().insert(line.to_owned(), (bench.clone(), imported.clone()));
    (bench, imported)
}

/// The project that `kbr import project` creates, if the objects of the one in Go have that prefix.
fn imported(prefix: &str) -> (Bench, BTreeSet<String>) {
    let folder = Path::new(FLEET);
    let mut files = tree::read_foreign(folder, go::is_entered, go::is_read).expect("a project");
    let kustomization = files
        .get_mut(layout::DEFAULT_KUSTOMIZATION)
        .expect("a file");
    assert!(kustomization.contains(PREFIX));
    *kustomization = kustomization.replace(PREFIX, &format!("namePrefix: {prefix}\n"));
    let bases = layout::CRD_BASES.trim_end_matches('/').to_owned();
    let documents = crd_files::crds(folder, &[bases], &[]);
    let words = ["kbr", "import", "project", "go"].map(std::ffi::OsString::from);
    let Ok(Cli {
        command: Command::Import(Import::Project(args)),
        ..
    }) = Cli::of(&words, &Known::default())
    else {
        panic!("a line that can be parsed");
    };
    let name = "navy".parse().expect("a name");
    let desired = import_project::plan(&args, "go", "../go", &files, documents, Ok(name));
    let desired = desired.expect("no refusal");
    let plan = resolve(desired.changes, desired.project, &Tree::default()).expect("no conflict");
    let mut bench = Bench::default().with(&plan);
    bench.files.retain(|path, _| !layout::is_vendored(path));
    let known = scaffold::rendered(&bench.project());
    let others = bench
        .files
        .iter()
        .filter(|(path, text)| !known.is_unedited(path, text));
    let others = others.map(|(path, _)| path.clone()).collect();
    (bench, others)
}
