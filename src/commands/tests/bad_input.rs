//! Files that are broken, or as another system writes them.

use std::collections::{BTreeMap, BTreeSet};

use super::laws::add_crds;
use super::{Bench, planned};
use crate::cli::{Cli, Known};
use crate::layout;
use crate::report::Problem;
use crate::tree::Tree;

fn project() -> Bench {
    Bench::small("")
        .after("create api --group crew --version v1 --kind Captain")
        .after("create webhook --group crew --version v1 --kind Captain --programmatic-validation")
}

const EXTERNAL_CRD: &str = "tests/external/cert-manager.io_clusterissuers.yaml";

/// The project with a policy for a type of another operator.
fn with_external(mut bench: Bench) -> Bench {
    let given = crate::commands::external::tests::CRDS;
    bench
        .files
        .insert("given.yaml".to_owned(), given.to_owned());
    let of = "--group cert-manager.io --version v1 --kind ClusterIssuer";
    bench.after(&format!(
        "create policy {of} --external-api-crd given.yaml --validating"
    ))
}

/// One command of each kind.
const COMMANDS: [&str; 6] = [
    "create api --group crew --version v1 --kind Boat",
    "delete webhook --group crew --version v1 --kind Captain --programmatic-validation",
    "edit --multigroup",
    "rename kind --group crew --kind Captain --to Warden",
    "update",
    "manifests",
];

const BROKEN: &str = "a: 1\nb: [\n";

/// Asserts that the command names the file with the line that is broken.
#[track_caller]
fn names(bench: &Bench, line: &str, path: &str) {
    let error = bench.plan(line).expect_err(path).to_string();
    assert!(error.contains(&format!("`{path}:")), "{line}: {error}");
}

#[test]
fn a_broken_kustomization_is_refused_by_every_command() {
    for path in [layout::DEFAULT_KUSTOMIZATION, layout::CRD_KUSTOMIZATION] {
        let mut bench = project();
        bench.files.insert(path.to_owned(), BROKEN.to_owned());
        for line in COMMANDS {
            names(&bench, line, path);
        }
    }
}

#[test]
fn a_manifest_that_is_no_toml_is_named_by_what_reads_its_version() {
    let mut bench = project();
    bench.edit("Cargo.toml", "[package\n");
    let line = bench.text("Cargo.toml").lines().count();
    for command in ["chart", "bundle"] {
        let error = bench.plan(command).expect_err(command).to_string();
        let place = format!("`Cargo.toml:{line}` is not TOML: ");
        assert!(error.starts_with(&place), "{error}");
    }
}

/// CRDs may be large: the other commands do not parse them.
#[test]
fn a_broken_file_is_refused_by_the_commands_that_need_it() {
    let bench = with_external(project());
    let bench = bench.after("create api --group crew --version v1 --kind Ship");
    let delete_api = "delete api --group crew --version v1 --kind Ship";
    let [create, delete_webhook, edit, rename, update, manifests] = COMMANDS;
    for (path, needing, others) in [
        (
            "config/crd/bases/crew.example.com_captains.yaml",
            &[delete_webhook, rename, manifests][..],
            &[create, edit, update, delete_api][..],
        ),
        (
            "tests/stored/mine.yaml",
            &[delete_api],
            &[create, delete_webhook, edit, rename, update, manifests],
        ),
        (
            EXTERNAL_CRD,
            &[manifests],
            &[create, delete_webhook, edit, rename, update, delete_api],
        ),
    ] {
        let mut broken = bench.clone();
        broken.files.insert(path.to_owned(), BROKEN.to_owned());
        for line in needing {
            names(&broken, line, path);
        }
        for line in others {
            broken
                .plan(line)
                .unwrap_or_else(|error| panic!("{line}: {error}"));
        }
    }
}

/// Whatever is where a text file was: a command that needs the file names it, and the others leave it as it is.
#[cfg(unix)]
#[test]
fn what_is_no_text_file_is_named_or_left_alone() {
    let sample = "config/samples/crew_v1_captain.yaml";
    let crd = "config/crd/bases/crew.example.com_captains.yaml";
    let policy = "config/policy/cert-manager.io_v1_clusterissuer_validating.yaml";
    let mut bench = with_external(project());
    add_crds(&mut bench);
    let more = ["chart", "bundle", "docs"];
    let delete_controller = "delete controller --group crew --version v1 --kind Captain";
    let mut found = BTreeMap::<&str, BTreeSet<Vec<&str>>>::new();
    for path in [
        layout::CRD_KUSTOMIZATION,
        layout::SAMPLES_KUSTOMIZATION,
        layout::LIB,
        layout::MANIFEST,
        sample,
        crd,
        EXTERNAL_CRD,
        policy,
    ] {
        for what in [
            "a folder",
            "a symbolic link",
            "larger than 8 MiB",
            "not UTF-8",
        ] {
            let tree = tree_with(&bench, path, what);
            let mut refused = Vec::new();
            for line in COMMANDS.into_iter().chain(more).chain([delete_controller]) {
                let words = ["kbr"].into_iter().chain(line.split(' '));
                let words: Vec<_> = words.map(std::ffi::OsString::from).collect();
                let cli = Cli::of(&words, &Known::default()).expect(line);
                match planned(cli, &tree).expect("a plan") {
                    Ok(plan) => {
                        let mut changed = plan.changing().map(|step| &step.path);
                        assert!(changed.all(|it| it != path), "{line} changes `{path}`");
                    }
                    Err(error) => {
                        let error = error.to_string();
                        assert!(error.contains(path), "{line}: {error}");
                        refused.push(line);
                    }
                }
            }
            found.entry(path).or_default().insert(refused);
        }
    }
    let [create, delete_webhook, _, rename, _, manifests] = COMMANDS;
    let [chart, bundle, docs] = more;
    let expected = [
        (layout::CRD_KUSTOMIZATION, vec![create]),
        (
            layout::SAMPLES_KUSTOMIZATION,
            vec![create, chart, bundle, docs],
        ),
        (
            layout::LIB,
            vec![create, delete_webhook, manifests, delete_controller],
        ),
        (sample, vec![chart, bundle, docs]),
        (crd, vec![delete_webhook, rename, manifests, chart]),
        (layout::MANIFEST, vec![delete_webhook, chart, bundle]),
        (EXTERNAL_CRD, vec![manifests]),
        (policy, vec![manifests]),
    ];
    let expected = expected.map(|(path, needing)| (path, BTreeSet::from([needing])));
    assert_eq!(found, BTreeMap::from(expected));
}

/// What is not read is named instead of the files that it may declare, and nothing else is hidden.
#[cfg(unix)]
#[test]
fn markers_are_refused_beside_what_is_not_read() {
    const MARKER: &str = "// +kbr:rbac:groups=a,resources=b,verbs=get\n";
    let shared = "[dependencies]\nshared = { path = \"crates/shared\" }\n";
    let mut bench = project();
    let manifest = bench.text(layout::MANIFEST);
    let manifest = manifest.replace("[dependencies]\n", shared);
    bench.files.insert(layout::MANIFEST.to_owned(), manifest);
    for path in ["crates/shared/src/lib.rs", "build.rs", "tests/it/mine.rs"] {
        bench.edit(path, MARKER);
    }
    let webhooks = "src/webhook.rs";
    for (path, what, place) in [
        (layout::MANIFEST, "[package\n", "Cargo.toml:1:1: "),
        (layout::MANIFEST, "a symbolic link", "Cargo.toml:1:1: "),
        (webhooks, "a symbolic link", "src/webhook.rs:1:1: "),
        (webhooks, "not UTF-8", "src/webhook.rs:1:1: "),
    ] {
        let tree = if what.ends_with('\n') {
            let mut broken = bench.clone();
            broken.files.insert(path.to_owned(), what.to_owned());
            broken.tree()
        } else {
            tree_with(&bench, path, what)
        };
        let words = ["kbr", "manifests"].map(std::ffi::OsString::from);
        let cli = Cli::of(&words, &Known::default()).expect("a line");
        let error = planned(cli, &tree).expect("a plan").expect_err(path);
        let problems = Problem::all(&error).into_iter();
        let found: Vec<String> = problems.map(|problem| problem.message).collect();
        assert_eq!(found.len(), 3, "{path} {what}: {found:?}");
        for place in [place, "build.rs:1:1: ", "tests/it/mine.rs:1:1: "] {
            assert!(
                found.iter().any(|it| it.starts_with(place)),
                "{path} {what}: {found:?}"
            );
        }
    }
}

/// The project, loaded from a disk where something else is at that path.
#[cfg(unix)]
fn tree_with(bench: &Bench, path: &str, what: &str) -> Tree {
    use std::fs;
    let root = tempfile::tempdir().expect("a folder");
    for (path, text) in &bench.files {
        let file = root.path().join(path);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, text).expect("a file");
    }
    let file = root.path().join(path);
    fs::remove_file(&file).expect("the file");
    match what {
        "a folder" => fs::create_dir(&file),
        "a symbolic link" => std::os::unix::fs::symlink("elsewhere", &file),
        "not UTF-8" => fs::write(&file, b"\xff"),
        _ => fs::write(&file, vec![b' '; 9 << 20]),
    }
    .expect("something else");
    let mut tree = Tree::load(root.path()).expect("a tree");
    let sources = tree.read_sources(root.path(), &|_| true);
    sources.expect("sources");
    tree
}

#[test]
fn line_ends_of_windows_change_nothing() {
    let mut bench = Bench::of("")
        .after("create api --group crew --version v1 --kind Captain")
        .after("manifests");
    bench.commit();
    for text in bench.files.values_mut() {
        *text = text.replace('\n', "\r\n");
    }
    for line in ["update", "manifests"] {
        let plan = bench.plan(line).expect("no refusal");
        let changed: Vec<&str> = plan.changing().map(|step| &*step.path).collect();
        assert_eq!(changed, [""; 0], "{line}");
        assert_eq!(bench.desired(line).expect("no refusal").warnings, [""; 0]);
    }
    assert!(bench.text(layout::CRDGEN).contains('\r'));
}

#[test]
fn what_its_owner_did_to_a_file_follows_when_the_file_gets_another_name() {
    for (line, start) in [("chart", layout::CHART), ("bundle", "bundle/")] {
        let mut bench = Bench::small("")
            .after("create api --group crew --version v1 --kind Captain")
            .after("create api --group crew --version v1 --kind Boat");
        add_crds(&mut bench);
        let mut bench = bench.after(line);
        bench.commit();
        for change in [
            "rename kind --group crew --kind Captain --to Warden",
            "edit --project-name other",
        ] {
            let after = |bench: &Bench| {
                let mut bench = bench.clone();
                bench.commit();
                let mut renamed = bench.after(change);
                add_crds(&mut renamed);
                renamed.commit();
                let packaged = renamed.after(line);
                let again = packaged.plan(line).expect("no refusal");
                assert_eq!(again.changing().count(), 0, "{line} after {change}");
                packaged
            };
            let pure = after(&bench);
            let is_gone = |path: &&String| {
                path.starts_with(start)
                    && path.ends_with(".yaml")
                    && !pure.files.contains_key(*path)
            };
            let gone: Vec<&String> = bench.files.keys().filter(is_gone).collect();
            for path in gone.iter().take(3) {
                let mut edited = bench.clone();
                edited.edit(path, "# Mine.\n");
                let edited = after(&edited);
                let paths = |bench: &Bench| bench.files.keys().cloned().collect::<Vec<_>>();
                assert_eq!(paths(&edited), paths(&pure), "{path}");
                let mine = edited
                    .files
                    .iter()
                    .filter(|(_, text)| text.contains("# Mine."));
                for (path, text) in mine.clone() {
                    assert_eq!(*text, format!("{}# Mine.\n", pure.text(path)));
                }
                assert_eq!(mine.count(), 1, "{path}");

                let mut without = bench.clone();
                without.files.remove(*path);
                let without = after(&without);
                // Nobody knows that the new file is for the same, and one that is back is seen.
                assert_eq!(paths(&without), paths(&pure), "{path}");
            }
        }
    }
}
