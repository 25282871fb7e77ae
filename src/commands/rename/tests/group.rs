//! A project with a renamed group is the same as if the group had always had that name.

use super::{Bench, SINGLE, assert_same, line_of};

/// Two groups if the layout allows them, one with kinds of every sort; `G` is the one that is renamed.
const LINES: [&str; 11] = [
    "create api --group=G --kind Captain --version v1",
    "create api --group=G --kind Captain --version v2",
    "create api --group=G --kind FirstMate --version v1 --namespaced=false",
    "create webhook --group=G --kind Captain --version v1 --defaulting --programmatic-validation \
     --conversion --spoke v2",
    "create webhook --group=G --kind Captain --version v2 --defaulting --defaulting-path /own",
    "create webhook --group=G --kind FirstMate --version v1 --defaulting",
    "create api --group=G --kind Captain --version v2 --resource=false --controller-name backup",
    "create webhook --group core --kind Pod --version v1 --defaulting",
    "create api --group apps --kind Deployment --version v1 --resource=false",
    "create api --group ship --kind Captain --version v1",
    "create webhook --group ship --kind Captain --version v1 --defaulting",
];

fn project(options: &str, group: &str) -> Bench {
    let groups = if options == "--multigroup" { 11 } else { 9 };
    let lines = LINES.map(|line| line.replace("=G ", &format!("={group} ")));
    let start = Bench::small(options);
    lines[..groups]
        .iter()
        .fold(start, |bench, line| bench.after(line))
}

fn rename(from: &str, to: &str) -> String {
    format!("rename group --group={from} --to={to}")
}

#[test]
fn a_renamed_group_is_the_same_as_a_new_one() {
    // The domain itself, names that are no Rust identifiers or are keywords, one that Kubernetes also has.
    let groups = [
        ("", vec!["", "foo.policy"]),
        ("--multigroup", vec!["sea-creatures", "type", "apps"]),
    ];
    for (options, groups) in groups {
        let before = project(options, "crew");
        for group in groups {
            let after = before.after(&rename("crew", group));
            assert_same(&after, &project(options, group));
            assert_same(&after.after(&rename(group, "crew")), &before);
        }
    }
}

/// What follows from a CRD and not from a template is renamed as well.
#[test]
fn imported_types_have_the_new_names_too() {
    const CRD: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: masts.crew.example.com}
spec:
  group: crew.example.com
  names: {kind: Mast, plural: masts, singular: mast, listKind: MastList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, required: [height], properties: {height: {type: integer, minimum: 3}}}
";
    let imported = |domain: &str, crd: &str| {
        let mut bench = Bench::small("");
        bench.edit("crds.yaml", &crd.replace("example.com", domain));
        let mut bench = bench.after("import crd crds.yaml");
        bench.files.remove("crds.yaml");
        bench
    };

    for domain in ["example.com", "sea.org"] {
        let before = imported(domain, CRD);
        let group = before.after(&rename("crew", "ship"));
        assert_same(&group, &imported(domain, &CRD.replace("crew", "ship")));
        assert_same(&group.after(&rename("ship", "crew")), &before);
        let kind = before.after("rename kind --group crew --kind Mast --to Sail --plural sails");
        let new = imported(domain, &CRD.replace("Mast", "Sail").replace("mast", "sail"));
        for folder in ["config/samples", "tests/stored"] {
            let sample = format!("{folder}/crew_v1_sail.yaml");
            assert_eq!(kind.text(&sample), new.text(&sample));
        }
    }
}

#[test]
fn code_of_the_owner_stays_and_uses_the_new_group() {
    let mut bench = project("--multigroup", "crew");
    let controller = "src/controller/crew/captain_controller.rs";
    let owners = "
/// See [`api::crew::v1::Captain`], crew.
// +kbr:rbac:groups=crew.example.com;ship.example.com,resources=captains;boats,verbs=get
#[kube(group = \"crew.example.com\", kind = \"Mast\")]
fn mine(_: api::crew::v2::Captain) -> crate::webhook::crew::v2::captain_defaulter::Own {
    \"captains.crew.example.com/own\"
}
";
    bench.edit(controller, owners);
    bench.edit("api/src/crew.rs", "\npub mod shared;\n");
    bench.edit("api/src/crew/shared.rs", "//! Mine.\n");
    let line = rename("crew", "sea.creatures");
    let warnings = bench.desired(&line).expect("no refusal").warnings;
    let after = bench.after(&line);

    let path = "src/controller/sea_creatures/captain_controller.rs";
    let expected = owners
        .replace("::crew::", "::sea_creatures::")
        .replace("groups=crew.", "groups=sea.creatures.")
        .replace("group = \"crew.", "group = \"sea.creatures.");
    assert!(
        after.text(path).ends_with(&expected),
        "{}",
        after.text(path)
    );
    let line = line_of(after.text(path), "\"captains.crew.example.com/own\"");
    let left = format!("`{path}` still has the name `captains.crew.example.com` in line {line}");
    assert!(warnings.contains(&left), "{warnings:?}");
    assert_eq!(after.text("api/src/sea_creatures/shared.rs"), "//! Mine.\n");
    assert!(
        after
            .text("api/src/sea_creatures.rs")
            .ends_with("\npub mod shared;\n")
    );
}

#[test]
fn the_generated_crds_are_removed() {
    let mut bench = SINGLE.clone();
    let crd = "config/crd/bases/crew.example.com_captains.yaml";
    bench.edit(crd, "# Generated by kbr manifests from the code\n");
    assert!(
        !bench
            .after(&rename("crew", "fleet"))
            .files
            .contains_key(crd)
    );
}

#[test]
fn warnings_explain_what_it_means_for_a_cluster() {
    let warnings = SINGLE
        .desired(&rename("crew", "fleet"))
        .expect("no refusal")
        .warnings;
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    let groups =
        "resources of the group `fleet.example.com` are different from those of `crew.example.com`";
    assert!(warnings[0].contains(groups), "{warnings:?}");
    super::assert_no_recipe(&warnings);
}

#[test]
fn impossible_names_are_refused() {
    let bench = project("--multigroup", "crew");
    assert_eq!(bench.refused(&rename("fleet", "a")), ["rename-unknown"]);
    assert_eq!(bench.refused("rename group --to a"), ["rename-unknown"]);
    assert_eq!(bench.refused(&rename("apps", "a")), ["rename-not-own"]);
    assert_eq!(bench.refused(&rename("crew", "crew")), ["rename-same-name"]);
    assert_eq!(bench.refused(&rename("crew", "ship")), ["rename-taken"]);
    // A group that would share the folder of another.
    let dashed = bench.after("create api --group sea-creatures --kind Kraken");
    assert_eq!(
        dashed.refused(&rename("crew", "sea.creatures")),
        ["rename-cannot-be"]
    );
    let long = format!("{0}.{0}.{0}.{0}", "g".repeat(60));
    assert!(
        bench
            .refused(&rename("crew", &long))
            .contains(&"rename-cannot-be".to_owned())
    );

    let init = "init --domain k8s.io --project-name bench";
    let bench = Bench::default();
    let bench = bench.after(init);
    assert_eq!(bench.refused("rename group --to a"), ["rename-unknown"]);
}
