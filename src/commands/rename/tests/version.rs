//! A project with a renamed version is the same as if the version had always had that name.

use super::{Bench, SINGLE, assert_same, line_of};

/// Several kinds in several versions, with webhooks and controllers of every sort; `V` is the version of
/// `Captain` that is renamed.
const LINES: [&str; 12] = [
    "create api --group crew --kind Captain --version V",
    "create api --group crew --kind Captain --version v2",
    "create api --group crew --kind FirstMate --version v1alpha1 --namespaced=false",
    "create api --group crew --kind Boat --version v1beta1",
    "create webhook --group crew --kind Captain --version V --defaulting --programmatic-validation \
     --conversion --spoke v2",
    "create webhook --group crew --kind Captain --version v2 --defaulting --defaulting-path /own",
    "create webhook --group crew --kind FirstMate --version v1alpha1 --defaulting",
    "create api --group crew --kind Captain --version v2 --resource=false --controller-name backup",
    "create webhook --group core --kind Pod --version v1 --defaulting",
    "create api --group apps --kind Deployment --version v1 --resource=false",
    "create api --group crew --kind Mast --version v1beta2 --controller=false",
    "create webhook --group crew --kind Boat --version v1beta1 --programmatic-validation",
];

fn project(options: &str, version: &str) -> Bench {
    let lines = LINES.map(|line| line.replace("--version V", &format!("--version {version}")));
    let start = Bench::small(options);
    lines.iter().fold(start, |bench, line| bench.after(line))
}

fn rename(from: &str, to: &str) -> String {
    format!("rename version --group crew --kind Captain --version {from} --to {to}")
}

#[test]
fn a_renamed_version_is_the_same_as_a_new_one() {
    for options in ["", "--multigroup", "--namespaced --license none"] {
        // A namespaced operator has no cluster-scoped kinds.
        let project = |version: &str| match options {
            "--namespaced --license none" => Bench::small(options)
                .after(&format!(
                    "create api --kind Captain --group crew --version {version}"
                ))
                .after("create api --kind Boat --group crew --version v1alpha1"),
            _ => project(options, version),
        };
        let before = project("v1alpha1");
        // Shared with other kinds or alone, sorted before them or after them.
        let versions: &[&str] = match options {
            "" => &["v1beta1", "v1", "match"],
            "--multigroup" => &["v10", "a-b"],
            _ => &["v1alpha2", "kube"],
        };
        for version in versions {
            let after = before.after(&rename("v1alpha1", version));
            assert_same(&after, &project(version));
            assert_same(&after.after(&rename(version, "v1alpha1")), &before);
        }
    }
}

#[test]
fn a_spoke_may_be_renamed() {
    let of = |spoke: &str| {
        Bench::small("")
            .after("create api --kind Captain --version v1")
            .after(&format!("create api --kind Captain --version {spoke}"))
            .after("create api --kind Captain --version v2beta1")
            .after(&format!(
                "create webhook --kind Captain --version v1 --conversion --spoke {spoke},v2beta1"
            ))
    };
    for (from, to) in [("v2", "v3"), ("v2", "v2alpha1"), ("v1alpha1", "v3")] {
        let line = format!("rename version --kind Captain --version {from} --to {to}");
        assert_same(&of(from).after(&line), &of(to));
    }
}

#[test]
fn without_a_kind_all_kinds_of_the_group_that_have_the_version_are_renamed() {
    let of = |options: &str, version: &str| {
        Bench::small(options)
            .after(&format!("create api --group crew --kind Captain --version {version}"))
            .after(&format!("create api --group crew --kind Boat --version {version}"))
            .after("create api --group crew --kind Boat --version v1beta1")
            .after(&format!(
                "create webhook --group crew --kind Boat --version {version} --conversion --spoke v1beta1"
            ))
            .after("create webhook --group core --kind Pod --version v1 --defaulting")
    };
    for options in ["", "--multigroup"] {
        let before = of(options, "v1alpha1");
        let after = before.after("rename version --group crew --version v1alpha1 --to v1");
        assert_same(&after, &of(options, "v1"));
        let back = after.after("rename version --group crew --version v1 --to v1alpha1");
        assert_same(&back, &before);
    }
}

#[test]
fn code_of_the_owner_stays_and_uses_the_new_version() {
    let mut bench = Bench::small("")
        .after("create api --kind Captain")
        .after("create api --kind Boat");
    let owners = "
/// [`v1alpha1::Captain`] of v1alpha1.
// +kbr:rbac:groups=example.com,resources=captains,verbs=get
fn mine(_: v1alpha1::CaptainSpec, _: api::v1alpha1::Captain) -> v1alpha1::Own {
    \"example.com/v1alpha1\".len();
}
";
    let controller = "src/controller/captain_controller.rs";
    bench.edit(controller, owners);
    bench.edit(
        "api/src/v1alpha1/captain_types.rs",
        "pub struct Own;\npub(super) fn of(_: super::BoatSpec) {}\n",
    );
    // A file that also uses another kind of the version.
    let boat = "src/controller/boat_controller.rs";
    bench.edit(
        boat,
        "fn of(_: v1alpha1::Captain, _: v1alpha1::BoatSpec) {}\n",
    );
    // A file that uses only this kind, in which the name `v1` is taken.
    bench.edit(
        "src/helper.rs",
        "use api::v1alpha1;\nuse k8s_openapi::api::core::v1;\n\nfn of(_: v1alpha1::Captain, _: v1::Pod) {}\n",
    );
    bench.edit("src/lib.rs", "mod helper;\n");

    let line = "rename version --kind Captain --version v1alpha1 --to v1";
    let warnings = bench.desired(line).expect("no refusal").warnings;
    let after = bench.after(line);

    let text = after.text(controller);
    let expected = owners
        .replace("[`v1alpha1::Captain`]", "[`v1::Captain`]")
        .replace("v1alpha1::CaptainSpec", "v1::CaptainSpec")
        .replace("api::v1alpha1::", "api::v1::")
        .replace("v1alpha1::Own", "v1::Own");
    assert!(text.ends_with(&expected), "{text}");
    let line = line_of(text, "\"example.com/v1alpha1\"");
    let left = format!("`{controller}` still has the name `example.com/v1alpha1` in line {line}");
    assert!(warnings.contains(&left), "{warnings:?}");
    let types = after.text("api/src/v1/captain_types.rs");
    assert!(types.contains("version = \"v1\""), "{types}");
    assert!(
        types.ends_with("pub struct Own;\npub(super) fn of(_: crate::v1alpha1::BoatSpec) {}\n"),
        "{types}"
    );
    let boat = after.text(boat);
    assert!(boat.contains("use api::v1alpha1;\n"), "{boat}");
    assert!(
        boat.ends_with("fn of(_: api::v1::Captain, _: v1alpha1::BoatSpec) {}\n"),
        "{boat}"
    );
    assert_eq!(
        after.text("src/helper.rs"),
        "use api::v1 as v1alpha1;\nuse k8s_openapi::api::core::v1;\n\nfn of(_: v1alpha1::Captain, _: v1::Pod) {}\n"
    );
}

#[test]
fn an_attribute_and_a_marker_in_another_form_get_the_new_version() {
    let mut bench = Bench::small("").after("create api --kind Captain");
    let types = "api/src/v1alpha1/captain_types.rs";
    bench.files.insert(
        types.to_owned(),
        "#[kube(group = \"example.com\", version = \"v1alpha1\", kind = \"Captain\")]\npub struct CaptainSpec;\n"
            .to_owned(),
    );
    bench.edit(
        "src/hook.rs",
        "// +kbr:webhook:groups=example.com,resources=captains,versions=v1alpha1;v2,name=vcaptain-v1alpha1.example.com\n\
         // +kbr:webhook:groups=example.com,resources=boats,versions=v1alpha1\n",
    );
    let after = bench.after("rename version --kind Captain --version v1alpha1 --to v1");
    assert_eq!(
        after.text("api/src/v1/captain_types.rs"),
        "#[kube(group = \"example.com\", version = \"v1\", kind = \"Captain\")]\npub struct CaptainSpec;\n"
    );
    assert_eq!(
        after.text("src/hook.rs"),
        "// +kbr:webhook:groups=example.com,resources=captains,versions=v1;v2,name=vcaptain-v1.example.com\n\
         // +kbr:webhook:groups=example.com,resources=boats,versions=v1alpha1\n"
    );
}

#[test]
fn a_module_of_the_owner_moves_with_the_version_if_nothing_stays_in_it() {
    let mut bench = Bench::small("").after("create api --kind Captain");
    bench.edit("api/src/v1alpha1.rs", "\npub mod shared;\n");
    bench.edit("api/src/v1alpha1/shared.rs", "//! Mine.\n");
    let line = "rename version --kind Captain --version v1alpha1 --to v1";
    let after = bench.after(line);
    assert_eq!(after.text("api/src/v1/shared.rs"), "//! Mine.\n");
    assert!(after.text("api/src/v1.rs").ends_with("\npub mod shared;\n"));

    let beside = bench.after("create api --kind Boat --version v1");
    assert_eq!(beside.refused(line), ["move-edited"]);
}

#[test]
fn warnings_explain_what_it_means_for_a_cluster() {
    let bench = SINGLE.clone();
    let warnings = bench
        .desired(&rename("v2", "v3"))
        .expect("no refusal")
        .warnings;
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(
        warnings[0].contains("status.storedVersions"),
        "{warnings:?}"
    );
    let add = "leave `v2` as it is, and add `v3` with `kbr create api`";
    assert!(warnings[1].contains(add), "{warnings:?}");
    super::assert_no_recipe(&warnings);
}

#[test]
fn impossible_names_are_refused() {
    let bench = SINGLE.clone();
    let refused = |rest: &str| bench.refused(&format!("rename version {rest}"));
    for rest in [
        "--group crew --kind Captain --version v3 --to v4",
        "--group crew --kind Frigate --version v1 --to v4",
        "--kind Captain --version v1 --to v4",
        "--group crew --version v3 --to v4",
    ] {
        assert_eq!(refused(rest), ["rename-unknown"], "{rest}");
    }
    for rest in [
        "--group core --kind Pod --version v1 --to v2",
        "--group apps --version v1 --to v2",
    ] {
        assert_eq!(refused(rest), ["rename-not-own"], "{rest}");
    }
    assert_eq!(
        refused("--group crew --kind Captain --version v1 --to v1"),
        ["rename-same-name"]
    );
    assert_eq!(
        refused("--group crew --version v1 --to v2"),
        ["rename-taken"]
    );
    // Webhooks for Kubernetes' own kind with that name already have these files.
    let bench = Bench::small("")
        .after("create api --kind Pod --version v2")
        .after("create webhook --group core --kind Pod --version v1 --defaulting");
    assert_eq!(
        bench.refused("rename version --kind Pod --version v2 --to v1"),
        ["rename-cannot-be"]
    );
}
