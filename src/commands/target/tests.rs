//! Each command finds a type however its group is typed; tested on values.

use crate::commands::tests::{Bench, assert_same};

/// A CRD whose group is outside of the project's domain.
const CRD: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: captains.crew.sea.org}
spec:
  group: crew.sea.org
  names: {kind: Captain, plural: captains, singular: captain, listKind: CaptainList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}
";

const LINES: [&str; 10] = [
    "create api --version v2 --kind Captain --group=G",
    "create api --version v1 --kind Sailor --group=G",
    "create api --version v1 --kind Captain --resource=false --group=G",
    "create webhook --version v1 --kind Captain --defaulting --group=G",
    "create policy --version v1 --kind Captain --validating --group=G",
    "delete api --version v1 --kind Captain --group=G",
    "rename kind --kind Captain --to Admiral --group=G",
    "rename version --version v1 --to v2 --group=G",
    "rename version --version v1 --to v2 --kind Captain --group=G",
    "rename group --to ship --group=G",
];

fn imported(group: &str) -> Bench {
    let mut bench = Bench::small("");
    bench.edit("crds.yaml", &CRD.replace("crew.sea.org", group));
    let mut bench = bench.after("import crd crds.yaml");
    bench.files.remove("crds.yaml");
    bench
}

#[test]
fn a_group_is_found_by_its_name_in_project_and_as_a_whole() {
    for group in ["crew.sea.org", "crew.example.com"] {
        let bench = imported(group);
        for line in LINES {
            let [short, whole] =
                ["crew", group].map(|typed| bench.after(&line.replace("=G", &format!(" {typed}"))));
            assert_same(&short, &whole);
            let expected = match line.starts_with("rename group") {
                true => group.replace("crew", "ship"),
                false => group.to_owned(),
            };
            for resource in short.project().resources {
                assert_eq!(resource.qualified_group(), expected, "{line}");
            }
            let sources = short
                .files
                .iter()
                .filter(|(path, _)| path.starts_with("api/"));
            for (path, text) in sources {
                assert!(
                    !text.contains("crew.sea.org.example.com"),
                    "{line}: {path}: {text}"
                );
            }
        }
    }
}

#[test]
fn a_group_outside_of_the_domain_gets_its_old_name_back() {
    let bench = imported("crew.sea.org");
    let renamed = bench.after("rename group --group crew --to ship");
    let types = renamed.text("api/src/v1/captain_types.rs");
    assert!(types.contains("group = \"ship.sea.org\""), "{types}");
    assert_same(
        &renamed.after("rename group --group ship --to crew"),
        &bench,
    );
}
