//! A project with a renamed kind is the same as if the kind had always had that name; tested on values.

use std::sync::LazyLock;

use crate::commands::tests::{Bench, assert_same};
use crate::project::PROJECT_FILE;
use crate::rendered::hash;

mod beside;
mod group;
mod version;

const RENAME: &str = "rename kind --group crew --kind Captain --to Warden";

/// A kind in two versions with all kinds of webhooks and two controllers, alphabetically between other kinds,
/// and webhooks and controllers for types of Kubernetes' own.
const LINES: [&str; 12] = [
    "create api --group crew --kind Captain --version v1",
    "create api --group crew --kind Captain --version v2",
    "create api --group crew --kind FirstMate --version v1 --namespaced=false",
    "create webhook --group crew --kind Captain --version v1 --defaulting --programmatic-validation \
     --conversion --spoke v2",
    "create webhook --group crew --kind Captain --version v2 --defaulting --defaulting-path /own",
    "create webhook --group crew --kind FirstMate --version v1 --defaulting",
    "create api --group crew --kind Captain --version v2 --resource=false --controller-name backup",
    "create api --group crew --kind Boat --version v1",
    "create webhook --group core --kind Pod --version v1 --defaulting",
    "create api --group apps --kind Deployment --version v1 --resource=false",
    "create policy --group crew --kind Captain --version v1 --mutating --validating",
    "create policy --group apps --kind Deployment --version v1 --mutating",
];

fn project(options: &str, kind: &str) -> Bench {
    let lines = LINES.map(|line| line.replace("Captain", kind));
    let start = Bench::of(options);
    lines.iter().fold(start, |bench, line| bench.after(line))
}

/// A project with one group.
static SINGLE: LazyLock<Bench> = LazyLock::new(|| project("", "Captain"));

/// The line of a text, from 1, that contains a part.
fn line_of(text: &str, part: &str) -> usize {
    let at = text.lines().position(|line| line.contains(part));
    at.expect(part) + 1
}

#[test]
fn a_renamed_kind_is_the_same_as_a_new_one() {
    // Sorted after the others, before them, and so long that lines must be wrapped.
    let long = format!("Long{}", "Name".repeat(9));
    for (options, kinds) in [
        ("", ["Ant", "postgresql", &long]),
        ("--multigroup", ["Warden", "postgresThing", &long]),
    ] {
        let before = project(options, "Captain");
        for kind in kinds {
            let line = format!("rename kind --group crew --kind Captain --to {kind}");
            let after = before.after(&line);
            assert_same(&after, &project(options, kind));
            let back = format!("rename kind --group crew --kind {kind} --to Captain");
            assert_same(&after.after(&back), &before);
        }
    }
}

#[test]
fn a_renamed_kind_is_the_same_in_a_namespaced_project_without_a_license() {
    let of = |kind: &str| {
        let line = format!("create api --group crew --kind {kind}");
        Bench::of("--namespaced --license none").after(&line)
    };
    assert_same(&of("Captain").after(RENAME), &of("Warden"));
}

#[test]
fn a_controller_named_like_the_kind_is_renamed_too() {
    let of = |kind: &str, name: &str| {
        Bench::of("--multigroup").after(&format!(
            "create api --group crew --kind {kind} --controller-name {name}"
        ))
    };
    assert_same(
        &of("Captain", "captain").after(RENAME),
        &of("Warden", "warden"),
    );
    assert_same(
        &of("Captain", "backup").after(RENAME),
        &of("Warden", "backup"),
    );
}

#[test]
fn the_plural_may_be_typed() {
    let of = |options: &str| Bench::new().after(&format!("create api {options}"));
    assert_same(
        &of("--kind Captain").after("rename kind --kind Captain --to Redis --plural redises"),
        &of("--kind Redis --plural redises"),
    );
    assert_same(
        &of("--kind Redis --plural redises").after("rename kind --kind Redis --to Captain"),
        &of("--kind Captain"),
    );
}

#[test]
fn code_of_the_owner_stays_and_uses_the_new_kind() {
    let mut bench = SINGLE.clone();
    let controller = "src/controller/captain_controller.rs";
    let owners = "
/// Not [`Captain`](v1::Captain), nor CaptainSpec, but [`api::v2::CaptainStatus`].
// +kbr:rbac:groups=crew.example.com,resources=captains;captains/status,verbs=get;update
// +kbr:rbac:groups=other.example.com,resources=captains,verbs=get
// +kbr:rbac:groups={apps, crew.example.com},resources={captains,captains/status},verbs={get}
/// +kubebuilder:rbac:groups=\"apps;crew.example.com\",resources=pods;\"captains\",verbs=get
#[derive(Of(with = \"v1::Captain\"))]
fn mine(_: v1::Captain) -> &'static str {
    macro_rules! of { () => { v1::CaptainSpec::default() } }
    crate::webhook::v2::captain_converter::CaptainConverter; // Captain
    \"Captain\"
}
";
    bench.edit(controller, owners);
    let rbac = "resources=captains,verbs=list;watch";
    let text = bench.files.get_mut(controller).expect("a controller");
    assert!(text.contains(rbac), "{text}");
    *text = text.replace(rbac, "resources=captains,verbs=list;watch;delete");

    let desired = bench.desired(RENAME).expect("no refusal");
    let after = bench.after(RENAME);

    let path = "src/controller/warden_controller.rs";
    let text = after.text(path);
    let expected = owners
        .replace("[`Captain`](v1::Captain)", "[`Warden`](v1::Warden)")
        .replace("v2::CaptainStatus", "v2::WardenStatus")
        .replace(
            "crew.example.com,resources=captains;captains/",
            "crew.example.com,resources=wardens;wardens/",
        )
        .replace("{captains,captains/", "{wardens,wardens/")
        .replace("pods;\"captains\"", "pods;\"wardens\"")
        .replace("\"v1::Captain\"", "\"v1::Warden\"")
        .replace("_: v1::Captain", "_: v1::Warden")
        .replace("v1::CaptainSpec::", "v1::WardenSpec::")
        .replace(
            "captain_converter::CaptainConverter",
            "warden_converter::WardenConverter",
        );
    assert!(text.ends_with(&expected), "{text}");
    assert!(
        text.contains("resources=wardens,verbs=list;watch;delete\n"),
        "{text}"
    );
    let lines = ["nor CaptainSpec", "; // Captain", "    \"Captain\""];
    let lines = lines.map(|part| line_of(text, part));
    let left = format!("`{path}` still has the name `Captain` in lines {lines:?}");
    let left = left.replace(['[', ']'], "");
    assert!(desired.warnings.contains(&left), "{:?}", desired.warnings);
    let recorded = &after.project().files[path];
    let unedited = SINGLE.after(RENAME).project();
    assert_eq!(*recorded, unedited.files[path], "what kbr would write");
    let base = &after.project().bases[path];
    let known = (&base.hash, base.path.as_deref());
    assert_eq!(
        known,
        (&bench.project().files[controller], Some(controller))
    );
    assert_ne!(*recorded, hash(text));
}

#[test]
fn lines_that_the_owner_has_changed_stay_in_place() {
    let mut bench = SINGLE.clone();
    let edit = |bench: &mut Bench, path: &str, from: &str, to: &str| {
        let text = bench.files.get_mut(path).expect(path);
        assert!(text.contains(from), "{path}: {text}");
        *text = text.replace(from, to);
    };
    edit(
        &mut bench,
        "src/controller.rs",
        "pub mod captain_controller;",
        "#[cfg(unix)]\npub mod captain_controller;",
    );
    let samples = "config/samples/kustomization.yaml";
    edit(&mut bench, samples, "- \"crew_v1_captain.yaml\"\n", "");
    bench.files.remove("config/rbac/captain_viewer_role.yaml");

    let after = bench.after(RENAME);

    let controllers = after.text("src/controller.rs");
    assert!(
        controllers.contains("#[cfg(unix)]\npub mod warden_controller;\n"),
        "{controllers}"
    );
    let list = after.text(samples);
    assert!(!list.contains("crew_v1_warden"), "{list}");
    assert!(list.contains("- \"crew_v2_warden.yaml\"\n"), "{list}");
    let deleted = "config/rbac/warden_viewer_role.yaml";
    assert!(!after.files.contains_key(deleted));
    assert!(after.project().files.contains_key(deleted), "as before");
    assert!(!after.text(PROJECT_FILE).contains("captain"));
}

#[test]
fn the_generated_crd_is_removed() {
    let mut bench = SINGLE.clone();
    let crd = "config/crd/bases/crew.example.com_captains.yaml";
    bench.edit(
        crd,
        "# Generated by kbr manifests from the code\nkind: Captain\n",
    );
    assert!(!bench.after(RENAME).files.contains_key(crd));

    bench
        .files
        .insert(crd.to_owned(), "kind: Captain\n".to_owned());
    let after = bench.after(RENAME);
    assert!(after.files.contains_key(crd), "its owner wrote it");
}

#[test]
fn warnings_explain_what_it_means_for_a_cluster() {
    let bench = SINGLE.clone();
    let warnings = bench.desired(RENAME).expect("no refusal").warnings;
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    let resources =
        "`wardens.crew.example.com` is a different resource from `captains.crew.example.com`";
    assert!(warnings[0].contains(resources), "{warnings:?}");
    assert!(warnings[1].contains("keep `Captain`"), "{warnings:?}");
    assert_no_recipe(&warnings);
}

/// No command recreates objects under another name without a loss, so none is printed.
#[track_caller]
fn assert_no_recipe(warnings: &[String]) {
    for word in [
        "everything that they own",
        "finalizer",
        "rename only while no cluster has objects",
    ] {
        assert!(warnings[0].contains(word), "{word}: {warnings:?}");
    }
    for program in ["kubectl", "sed "] {
        assert!(!warnings.concat().contains(program), "{warnings:?}");
    }
}

#[test]
fn a_file_of_the_owner_with_the_old_name_is_reported() {
    let mut bench = Bench::new().after("create api --kind Foo");
    let sample = "config/samples/v1alpha1_foo.yaml";
    let left = |bench: &Bench| {
        let desired = bench.desired("rename kind --kind Foo --to FooBar");
        let mut warnings = desired.expect("no refusal").warnings;
        warnings.truncate(warnings.len() - 2);
        warnings
    };
    // `foo` is a field of the type as it is scaffolded.
    assert!(bench.text(sample).contains("  foo: "));
    assert_eq!(left(&bench), [""; 0]);

    bench.edit(sample, "# Foods and foo_bar are not FooBar.\n");
    bench.edit("docs/notes.md", "FooBar, food, Food, snafoo\n");
    bench.edit("docs/old.md", "Of a FooSpec.\n");
    bench.edit("config/rbac/mine.yaml", "resources: [foos]\n");
    assert_eq!(
        left(&bench),
        [
            "`config/rbac/mine.yaml` still has the name `foos` in line 1",
            "`config/samples/v1alpha1_foobar.yaml` still has the name `foo` in lines 9, 10",
            "`docs/old.md` still has the name `Foo` in line 1",
        ]
    );
}

#[test]
fn the_old_name_is_reported_even_if_the_new_one_is_its_beginning() {
    let mut bench = Bench::new().after("create api --kind CronTabJob");
    bench.edit(
        "docs/a.md",
        "A CronTabJob.\n\nA crontabjob and CronTabJobs.\nA CronTab.\n",
    );
    let desired = bench.desired("rename kind --kind CronTabJob --to CronTab");
    let warnings = desired.expect("no refusal").warnings;
    let left = [
        "`docs/a.md` still has the name `CronTabJob` in line 1",
        "`docs/a.md` still has the name `crontabjob` in line 3",
    ];
    assert_eq!(warnings[..2], left);
}

#[test]
fn impossible_names_are_refused() {
    let bench = SINGLE.clone();
    let refused = |rest: &str| bench.refused(&format!("rename kind --group crew {rest}"));
    assert_eq!(refused("--kind Frigate --to Ship"), ["rename-unknown"]);
    assert_eq!(
        bench.refused("rename kind --kind Captain --to Ship"),
        ["rename-unknown"]
    );
    assert_eq!(
        bench.refused("rename kind --group core --kind Pod --to Ship"),
        ["rename-not-own"]
    );
    assert_eq!(refused("--kind Captain --to Captain"), ["rename-same-name"]);
    for rest in [
        "--kind Captain --to Boat",
        "--kind Captain --to FirstMate",
        "--kind Captain --to Ship --plural boats",
        "--kind Captain --to Ship --plural boat",
        // In a cluster, the CRD of the old kind has this plural.
        "--kind Captain --to Ship --plural captains",
        "--kind Captain --to CAPTAIN",
        "--kind Captain --to CaptainSpec",
        // A controller has that name, or a webhook has those files.
        "--kind Captain --to Backup",
        "--kind Captain --to Pod",
    ] {
        let codes = refused(rest);
        assert!(
            codes.contains(&"rename-cannot-be".to_owned()),
            "{rest}: {codes:?}"
        );
    }
    let mut own = bench.clone();
    own.edit("src/controller/boat_controller.rs", "struct ShipSpec;\n");
    assert_eq!(
        own.refused("rename kind --group crew --kind Captain --to Ship"),
        ["rename-name-in-use"]
    );
}

#[test]
fn names_that_are_too_long_are_refused() {
    let group = format!("{0}.{0}.{0}.{1}", "g".repeat(60), "g".repeat(40));
    let bench = Bench::new()
        .after(&format!(
            "create api --group {group} --kind Foo --controller=false"
        ))
        .after(&format!(
            "create webhook --group {group} --kind Foo --defaulting --defaulting-path /a"
        ));
    let long = format!("Foo{}", "o".repeat(40));
    let line = format!("rename kind --group {group} --kind Foo --to {long}");
    let error = bench.plan(&line).expect_err("too long").to_string();
    assert!(error.contains("the CRD name"), "{error}");
    assert!(error.contains("webhook"), "{error}");
}

#[test]
fn a_kind_that_two_groups_have_is_refused() {
    let bench = project("--multigroup", "Captain").after("create api --group ship --kind Captain");
    assert_eq!(bench.refused(RENAME), ["rename-ambiguous"]);
}

#[test]
fn an_existing_file_at_a_new_path_is_a_conflict() {
    let mut bench = SINGLE.clone();
    bench.edit("config/samples/crew_v1_warden.yaml", "mine\n");
    assert_eq!(bench.refused(RENAME), ["file-in-the-way"]);
    let mut bench = SINGLE.clone();
    bench.edit("src/controller/warden_controller.rs", "// Mine.\n");
    assert_eq!(bench.refused(RENAME), ["move-taken"]);
}
