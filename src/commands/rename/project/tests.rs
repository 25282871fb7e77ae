//! A renamed project is the same as if it had always had that name; tested on values.

use crate::commands::tests::{Bench, assert_same};
use crate::layout;
use crate::lock;

/// Kinds with every file that contains the project's name; a group with the same name as the project.
const LINES: [&str; 7] = [
    "create api --group crew --kind Captain --version v1",
    "create api --group crew --kind Captain --version v2",
    "create webhook --group crew --kind Captain --version v1 --defaulting --conversion --spoke v2",
    "create webhook --group core --kind Pod --version v1 --programmatic-validation",
    "create api --group other --kind Boat",
    "create webhook --group other --kind Boat --defaulting",
    "create api --group bench --kind Seat",
];

fn project(options: &str, name: &str) -> Bench {
    let groups = if options.contains("--multigroup") {
        7
    } else {
        4
    };
    let empty = Bench::default();
    let init = format!("init --domain example.com --project-name {name} {options}");
    let mut start = empty.after(&init);
    start
        .files
        .retain(|path, _| !path.starts_with("third_party/"));
    LINES[..groups]
        .iter()
        .fold(start, |bench, line| bench.after(line))
}

#[test]
fn a_renamed_project_is_the_same_as_a_new_one() {
    for (options, names) in [
        ("", ["a", "zoo-of-many-animals-in-cages"]),
        ("--multigroup --owner Me", ["other", "my-operator"]),
        ("--namespaced --license none", ["crew", "x2"]),
    ] {
        let before = project(options, "bench");
        for name in names {
            let after = before.after(&format!("edit --project-name {name}"));
            assert_same(&after, &project(options, name));
            assert_same(&after.after("edit --project-name bench"), &before);
        }
    }
}

#[test]
fn code_of_the_owner_stays_and_uses_the_new_crate() {
    let mut bench = project("", "bench");
    let owners = "
/// See [`bench::register`] of bench.
fn of(bench: usize) -> usize {
    let _ = (bench::webhook::v1::of, bench_api::v1::of, api::v1::of);
    bench
}
";
    let test = "tests/it/captain_controller.rs";
    bench.edit(test, owners);
    bench.edit("docs/notes.md", "kubectl -n bench-system get pods\n");
    let lock = "\n[[package]]\nname = \"ocean\"\nversion = \"1.0.0\"\n";
    bench.edit(lock::PATH, lock);
    let line = "edit --project-name my-operator";
    let warnings = bench.desired(line).expect("no refusal").warnings;
    let after = bench.after(line);

    let expected = owners
        .replace("[`bench::", "[`my_operator::")
        .replace("(bench::", "(my_operator::")
        .replace("bench_api::", "my_operator_api::");
    assert!(
        after.text(test).ends_with(&expected),
        "{}",
        after.text(test)
    );
    assert_eq!(
        warnings[0], "`docs/notes.md` still has the name `bench-system` in line 1",
        "{warnings:?}"
    );
    let new = after.text(lock::PATH);
    let at = |name: &str| new.find(&format!("\nname = \"{name}\"")).expect(name);
    assert!(at("my-operator") < at("my-operator-api"), "{new}");
    assert!(at("my-operator-api") < at("ocean"), "{new}");
    assert!(!new.contains("\"bench"), "{new}");
}

#[test]
fn a_lease_with_a_custom_name_keeps_it() {
    let mut bench = project("", "bench");
    let line = "leaderElectionId: other\nlicense:";
    let project = bench.text("PROJECT").replace("license:", line);
    bench.files.insert("PROJECT".to_owned(), project);
    let after = bench.after("edit --project-name zoo");
    let lease = after.project().leader_election_id;
    assert_eq!(lease.map(|it| it.to_string()).as_deref(), Some("other"));
}

#[test]
fn a_warning_explains_what_it_means_for_a_cluster() {
    let bench = project("", "bench");
    let warnings = bench
        .desired("edit --project-name zoo")
        .expect("no refusal");
    let warnings = warnings.warnings;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("`bench-system`"), "{warnings:?}");
    // Objects of the CRDs may be in the operator's own namespace.
    assert!(warnings[0].contains("keep the namespace"), "{warnings:?}");
    assert!(!warnings[0].contains("kubectl"), "{warnings:?}");
    let same = bench
        .desired("edit --project-name bench")
        .expect("no refusal");
    assert_eq!(same.warnings, [""; 0]);
    assert_same(&bench.after("edit --project-name bench"), &bench);
}

#[test]
fn impossible_names_are_refused() {
    let mut bench = project("--multigroup", "bench");
    // Once the project no longer has that name, both groups would be the same module.
    let dashed = bench
        .after("create api --group my-zoo --kind Lion")
        .after("edit --project-name my-zoo");
    assert!(dashed.files.contains_key("api/src/my_zoo_.rs"));
    let called_zoo = bench.after("create api --group crew --kind Captain --version zoo");
    assert_eq!(
        called_zoo.refused("edit --project-name zoo"),
        ["api-version-clash"]
    );
    bench.edit(lock::PATH, "\n[[package]]\nname = \"zoo_api\"\n");
    assert_eq!(
        bench.refused("edit --project-name zoo"),
        ["edit-package-exists"]
    );
    bench.edit(lock::PATH, "[[package\n");
    assert_eq!(
        bench.refused("edit --project-name zoo"),
        ["lock-unreadable"]
    );
}

/// As `kbr update` does.
#[test]
fn a_manifest_is_merged_by_its_keys() {
    let mut bench = Bench::new();
    let text = bench.text(layout::MANIFEST);
    let (from, to) = (
        "api = { package = \"bench-api\", path = \"api\" }",
        "api = { features = [\"mine\"], package = \"bench-api\", path = \"api\" }",
    );
    assert!(text.contains(from), "{text}");
    let text = text
        .replace(from, to)
        .replace("\n[lints]", "mine = \"1\"\n\n[lints]");
    bench
        .files
        .insert(layout::MANIFEST.to_owned(), text.clone());

    let after = bench.after("edit --project-name other");

    let expected = text.replace("\"bench", "\"other");
    assert_eq!(after.text(layout::MANIFEST), expected);
}
