//! Each way, compared with a project that had these settings from the start.

use crate::commands::tests::Bench;

const COMMANDS: [&str; 4] = [
    "create api --kind Foo",
    "create webhook --kind Foo --defaulting --programmatic-validation",
    "create api --kind Foo --version v1beta1",
    "create webhook --kind Foo --conversion --spoke v1beta1",
];

fn project(options: &str) -> Bench {
    let empty = Bench::of(options);
    COMMANDS.iter().fold(empty, |bench, line| bench.after(line))
}

#[test]
fn both_ways_give_what_the_other_had_from_the_start() {
    for options in ["", "--namespaced", "--multigroup"] {
        let own = project(&format!("{options} --certificates self-managed"));
        let theirs = project(&format!("{options} --certificates cert-manager"));
        assert_ne!(own.files, theirs.files);

        let to_own = theirs.after("edit --certificates self-managed");
        let to_theirs = own.after("edit --certificates cert-manager");

        assert_eq!(to_own.files, own.files, "{options}");
        assert_eq!(to_theirs.files, theirs.files, "{options}");
        assert_eq!(
            own.after("edit --certificates self-managed").files,
            own.files
        );
    }
}

#[test]
fn nothing_is_left_when_the_last_webhook_is_deleted() {
    let own = Bench::of("--certificates self-managed").after("create api --kind Foo");
    let deleted = own
        .after("create webhook --kind Foo --defaulting")
        .after("delete webhook --kind Foo --defaulting");
    assert_eq!(deleted.files, own.files);
}

#[test]
fn what_the_owner_wrote_stays() {
    let mut bench = project("--certificates cert-manager");
    let patch = "config/default/manager_webhook_patch.yaml";
    let note = "# Ours.\n";
    let text = bench.text(patch).to_owned() + note;
    bench.files.insert(patch.to_owned(), text);

    let after = bench.after("edit --certificates self-managed");

    let rendered = project("--certificates self-managed")
        .text(patch)
        .to_owned();
    assert_eq!(after.text(patch), rendered + note);
}

/// The owner's permissions in the cluster follow from the code, by `kbr manifests`.
fn scaffolded(bench: &Bench) -> std::collections::BTreeMap<String, String> {
    let mut files = bench.files.clone();
    files.remove(crate::layout::MANAGER_ROLE);
    files
}

#[test]
fn the_scope_changes_both_ways() {
    for options in ["", "--multigroup", "--certificates cert-manager"] {
        let cluster = project(options);
        let namespaced = project(&format!("{options} --namespaced"));
        let changed = cluster.after("edit --namespaced");
        assert_eq!(scaffolded(&changed), scaffolded(&namespaced), "{options}");
        let changed = namespaced.after("edit --namespaced=false");
        assert_eq!(scaffolded(&changed), scaffolded(&cluster), "{options}");
        assert_eq!(
            cluster.after("edit --namespaced=false").files,
            cluster.files
        );
    }
}

#[test]
fn an_edited_controller_keeps_its_edits_in_the_other_scope() {
    let mut bench = project("");
    let path = "src/controller/foo_controller.rs";
    let was = "    manager.add(\"foo\", controller, reconcile);\n";
    let text = bench.text(path).to_owned();
    assert!(
        text.contains("Ok(Action::await_change())\n}") && text.contains(was),
        "{text}"
    );
    let edited = text.replacen(
        "    // Create, update",
        "    let _: kube::Api<Object> = kube::Api::all(client);\n    // Create, update",
        1,
    );
    bench.files.insert(path.to_owned(), edited);

    let desired = bench.desired("edit --namespaced").expect("no refusal");
    let after = bench.after("edit --namespaced");

    let text = after.text(path);
    assert!(text.contains("manager.namespaced(&namespace)"), "{text}");
    let line = 1 + text
        .lines()
        .position(|line| line.contains("Api::all("))
        .expect("the edit");
    let expected = format!("`{path}` still uses `Api::all` for the whole cluster in line {line}");
    assert_eq!(desired.warnings[0], expected);
    assert_eq!(desired.warnings.len(), 2, "{:?}", desired.warnings);
    assert!(desired.warnings[1].contains("ClusterRoleBinding `bench-manager-rolebinding`"));
}

#[test]
fn a_cluster_scoped_kind_prevents_the_scope() {
    let bench = project("").after("create api --kind Star --namespaced=false");
    assert_eq!(bench.refused("edit --namespaced"), ["edit-cluster-scope"]);
    let bench =
        project("").after("create api --group core --version v1 --kind Namespace --resource=false");
    assert_eq!(bench.refused("edit --namespaced"), ["edit-cluster-scope"]);
    let bench =
        project("").after("create policy --group core --version v1 --kind Namespace --validating");
    bench.after("edit --namespaced");
}
