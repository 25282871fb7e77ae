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
            let expected = if line.starts_with("rename group") {
                group.replace("crew", "ship")
            } else {
                group.to_owned()
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

/// Names that an API server accepts, and that are not those of Rust.
#[test]
fn names_that_kubernetes_allows_become_names_of_rust() {
    let mut bench = Bench::small("");
    let version = |name: &str, stored| {
        format!(
            "  - name: {name}
    served: true
    storage: {stored}
    schema: {{openAPIV3Schema: {{type: object, properties: {{spec: {{type: object}}, status: {{type: object, properties: {{a: {{type: string}}}}}}}}}}}}
    subresources: {{status: {{}}}}
"
        )
    };
    let (head, _) = CRD.split_once("  - name").expect("versions");
    let head = head.replace("Captain", "postgresThing");
    let head = head.replace("captain", "postgresthing");
    let crd = head + &version("match", true) + &version("foo1", false);
    bench.edit("crds.yaml", &crd);
    let lines = [
        "import crd crds.yaml",
        "create api --group crew --version match --kind postgresThing --resource=false",
        "create webhook --group crew --version match --kind postgresThing --defaulting --conversion --spoke foo1",
        "create policy --group crew --version match --kind postgresThing --validating",
        "create api --group crew --version v1 --kind postgresThing",
        "rename kind --group crew --kind postgresThing --to Postgres",
        "rename version --group crew --version match --to v2",
        "rename version --group crew --version foo1 --to v3",
    ];
    for (at, line) in lines.into_iter().enumerate() {
        bench = bench.after(line);
        for (path, text) in bench.files.iter().filter(|(path, _)| path.ends_with(".rs")) {
            let parsed: syn::Result<syn::File> = syn::parse_str(text);
            assert!(parsed.is_ok(), "{line}: {path}: {text}");
        }
        let (kind, type_name) = match at {
            ..5 => ("postgresThing", "PostgresThing"),
            _ => ("Postgres", "Postgres"),
        };
        let (version, module) = match at {
            ..6 => ("match", "match_"),
            _ => ("v2", "v2"),
        };
        let path = format!("api/src/{module}/{}_types.rs", kind.to_lowercase());
        let types = bench.text(&path);
        for part in [
            format!("kind = \"{kind}\""),
            format!("version = \"{version}\""),
            format!("status = \"{type_name}Status\""),
        ] {
            assert!(types.contains(&part), "{line}: {part}: {types}");
        }
        let crdgen = bench.text("api/src/bin/crdgen.rs");
        assert!(
            crdgen.contains(&format!("{module}::{type_name}>")),
            "{crdgen}"
        );
    }
    let own = bench.text("api/src/v1/postgres_types.rs");
    assert!(own.contains("struct PostgresSpec"), "{own}");
}

#[test]
fn two_groups_with_one_first_word_have_two_modules() {
    let one = |group: &str, module: &str| {
        let mut bench = Bench::small("--multigroup");
        bench.edit("crds.yaml", &CRD.replace("crew.sea.org", group));
        let mut bench = bench.after(&format!("import crd crds.yaml {module}"));
        bench.files.remove("crds.yaml");
        bench
    };
    let both = |first: &str, second: &str, module: &str| {
        let mut bench = one(first, "");
        bench.edit("crds.yaml", &CRD.replace("crew.sea.org", second));
        let refused = bench
            .desired("import crd crds.yaml")
            .expect_err("one module");
        let help = miette::Diagnostic::help(&refused)
            .expect("a help")
            .to_string();
        assert!(
            help.contains("--group-module crew.sea.org=crew_sea_org"),
            "{help}"
        );
        let mut bench = bench.after(&format!("import crd crds.yaml {module}"));
        bench.files.remove("crds.yaml");
        bench
    };
    let module = "--group-module crew.sea.org=crew_sea";
    let bench = both("crew.example.com", "crew.sea.org", module);
    let mut after = bench.clone();
    for line in [
        "create api --resource=false --version v1 --kind Captain --group crew",
        "create api --resource=false --version v1 --kind Captain --group crew.sea.org",
        "create api --version v1 --kind Sailor --group crew.sea.org",
        "create webhook --version v1 --kind Captain --defaulting --group crew.sea.org",
        "create policy --version v1 --kind Captain --validating --group crew",
        "create policy --version v1 --kind Captain --validating --group crew.sea.org",
    ] {
        after = after.after(line);
    }
    for path in [
        "api/src/crew/v1/captain_types.rs",
        "api/src/crew_sea/v1/captain_types.rs",
        "api/src/crew_sea/v1/sailor_types.rs",
        "config/samples/crew-sea_v1_captain.yaml",
        "src/controller/crew/captain_controller.rs",
        "src/controller/crew_sea/captain_controller.rs",
        "src/webhook/crew_sea/v1/captain_defaulter.rs",
    ] {
        assert!(after.files.contains_key(path), "no {path}");
    }
    for line in [
        "delete policy --version v1 --kind Captain --validating --group crew.sea.org",
        "delete webhook --version v1 --kind Captain --defaulting --group crew.sea.org",
        "delete api --version v1 --kind Sailor --group crew.sea.org",
        "delete policy --version v1 --kind Captain --validating --group crew",
        "delete api --version v1 --kind Captain --group crew",
        "delete controller --version v1 --kind Captain --group crew.sea.org",
    ] {
        after = after.after(line);
    }
    assert_same(&after, &one("crew.sea.org", module));
    let refused = bench
        .refused("create api --version v1 --kind Sailor --group crew.sea.org --group-module ship");
    assert_eq!(refused, ["api-group-module-differs"]);
}
