//! A project in a new layout is the same as if it had always had that layout; tested on values.

use crate::commands::tests::Bench;
use crate::layout;
use crate::project::PROJECT_FILE;

/// A kind in two versions with every kind of webhook, one that is cluster-scoped, and two webhooks
/// for types of Kubernetes' own, in the folder of the kind's version.
const LINES: [&str; 9] = [
    "create api --group crew --kind Captain --version v1",
    "create api --group crew --kind Captain --version v2",
    "create api --group crew --kind FirstMate --version v1 --namespaced=false",
    "create webhook --group crew --kind Captain --version v1 --defaulting --programmatic-validation \
     --conversion --spoke v2",
    "create api --group crew --kind Captain --version v1 --resource=false --controller-name backup",
    "create api --group crew --kind Captain --version v2 --resource=false --controller-name zeal",
    "create webhook --group core --kind Pod --version v1 --defaulting",
    "create webhook --group apps --kind Deployment --version v1 --programmatic-validation",
    "create policy --group crew --kind Captain --version v1 --mutating --validating",
];

fn single() -> Bench {
    LINES
        .iter()
        .fold(Bench::new(), |bench, line| bench.after(line))
}

/// PROJECT without the hashes of its files.
fn without_hashes(bench: &Bench) -> String {
    let project = &bench.files[PROJECT_FILE];
    let lines = project
        .lines()
        .filter(|line| !line.contains("_role.yaml: ") && !line.contains("groupedRoles: "));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_project_changed_to_several_groups_is_the_same_as_a_new_one() {
    let later = single().after("edit --multigroup");

    let empty = Bench::default();
    let init = "init --domain example.com --project-name bench --multigroup";
    let named = LINES.map(|line| match line {
        // The name that the controller had in the layout with one group.
        "create api --group crew --kind Captain --version v1" => {
            format!("{line} --controller-name captain")
        }
        "create api --group crew --kind FirstMate --version v1 --namespaced=false" => {
            format!("{line} --controller-name firstmate")
        }
        other => other.to_owned(),
    });
    let from_the_start = named
        .iter()
        .fold(empty.after(init), |bench, line| bench.after(line));

    let paths = |bench: &Bench| bench.files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(paths(&later), paths(&from_the_start));
    for (path, text) in &later.files {
        // Roles keep their names, because role bindings refer to them.
        if path.ends_with("_role.yaml") {
            let name = text.replace("name: \"", "name: \"crew-");
            assert_eq!(
                name.replace("\"crew-bench", "\"bench"),
                from_the_start.files[path],
                "{path}"
            );
        } else if path != PROJECT_FILE {
            assert_eq!(text, &from_the_start.files[path], "{path}");
        }
    }
    assert_eq!(without_hashes(&later), without_hashes(&from_the_start));
}

#[test]
fn changing_the_layout_and_back_changes_nothing() {
    let before = single();

    let after = before
        .after("edit --multigroup")
        .after("edit --multigroup=false");

    assert_eq!(before.files, after.files);
}

#[test]
fn a_controller_keeps_its_name_in_the_layout_with_one_group() {
    let empty = Bench::default();
    let bench = empty
        .after("init --domain example.com --project-name bench --multigroup")
        .after("create api --group crew --kind Captain")
        .after("edit --multigroup=false");

    let controller = &bench.files["src/controller/crew_captain_controller.rs"];
    assert!(
        controller.contains("    manager.add(\"crew-captain\", controller, reconcile);\n"),
        "{controller}"
    );
    let line = "    controller::crew_captain_controller::register,\n";
    assert!(
        bench.files[layout::LIB].contains(line),
        "{}",
        bench.files[layout::LIB]
    );
    let declared = &bench.files[layout::CONTROLLERS];
    assert!(
        declared.contains("pub mod crew_captain_controller;\n"),
        "{declared}"
    );
    let project = &bench.files[PROJECT_FILE];
    assert!(project.contains("  - name: crew-captain\n"), "{project}");
}

#[test]
fn the_existing_layout_changes_nothing() {
    let bench = single().after("edit --multigroup");

    assert_eq!(bench.after("edit --multigroup").files, bench.files);
}

#[test]
fn code_of_the_user_moves_along_and_stays_edited() {
    let mut bench = single();
    let edit = |bench: &mut Bench, path: &str, from: &str, to: &str| {
        let text = bench.files.get_mut(path).expect(path);
        assert!(text.contains(from), "{path}: {text}");
        *text = text.replace(from, to);
    };
    bench.files.insert(
        "src/controller/shared.rs".to_owned(),
        "//! Shared.\n\npub type Captain = api::v1::Captain;\n".to_owned(),
    );
    edit(
        &mut bench,
        layout::CONTROLLERS,
        "pub mod captain_controller;",
        "/// Of captains.\npub(crate) mod captain_controller;\nmod shared;",
    );
    edit(
        &mut bench,
        "src/controller/captain_controller.rs",
        "use api::v1;",
        "use super::shared::Captain;\nuse api::v1;",
    );

    let after = bench.after("edit --multigroup");

    let shared = &after.files["src/controller/shared.rs"];
    assert!(shared.contains("api::crew::v1::Captain"), "{shared}");
    let controller = &after.files["src/controller/crew/captain_controller.rs"];
    assert!(
        controller.contains("use crate::controller::shared::Captain;\nuse api::crew::v1;"),
        "{controller}"
    );
    let group = &after.files["src/controller/crew.rs"];
    assert!(
        group.contains("/// Of captains.\npub(crate) mod captain_controller;"),
        "{group}"
    );
    let hash = |bench: &Bench, path: &str| {
        let project = bench.files[PROJECT_FILE].clone();
        let line = project
            .lines()
            .find(|line| line.contains(&format!("  {path}: ")));
        line.expect(path).split(": ").last().map(str::to_owned)
    };
    let path = "src/controller/crew/captain_controller.rs";
    let unedited = single().after("edit --multigroup");
    assert_eq!(
        hash(&after, path),
        hash(&unedited, path),
        "what kbr would write"
    );
}

#[test]
fn the_hash_of_a_deleted_file_moves_along() {
    let mut bench = single();
    let (old, new) = (
        "config/rbac/captain_viewer_role.yaml",
        "config/rbac/crew_captain_viewer_role.yaml",
    );
    bench.files.remove(old).expect(old);
    let project = bench.project();

    let after = bench.after("edit --multigroup");

    assert!(!after.files.contains_key(new));
    assert_eq!(after.project().files[new], project.files[old]);
    assert!(!after.project().files.contains_key(old));
    let back = after.after("edit --multigroup=false").project();
    assert_eq!(back.files, project.files);
}

#[test]
fn a_file_that_refers_to_a_moved_file_is_reported() {
    let mut bench = single();
    bench.files.insert(
        "config/NOTES.md".to_owned(),
        "See api/src/v1/captain_types.rs.\n".to_owned(),
    );

    let desired = bench.desired("edit --multigroup").expect("no refusal");

    assert_eq!(
        desired.warnings,
        ["`config/NOTES.md` still names `api/src/v1/captain_types.rs`, which has moved"]
    );
}

#[test]
fn an_impossible_layout_is_refused() {
    let bench = single();
    assert_eq!(bench.refused("edit"), ["edit-nothing-requested"]);

    let mut of_its_own = bench.after("edit --multigroup");
    let group = of_its_own.files.get_mut("src/webhook/crew.rs");
    group
        .expect("the group's module")
        .push_str("\npub fn mine() {}\n");
    assert_eq!(
        of_its_own.refused("edit --multigroup=false"),
        ["move-edited"]
    );

    let two = bench
        .after("edit --multigroup")
        .after("create api --group ship --kind Frigate");
    assert_eq!(
        two.refused("edit --multigroup=false"),
        ["edit-several-groups"]
    );

    let mut taken = single();
    taken.edit("src/controller/crew.rs", "// Mine.\n");
    assert_eq!(taken.refused("edit --multigroup"), ["file-in-the-way"]);
}
