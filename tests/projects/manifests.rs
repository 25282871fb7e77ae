//! `kbr manifests` on projects that compile, and on types that do not become CRDs.

use crate::support::goldens::{check_project, prove};
use crate::support::{Run, Sandbox, assert_same, compiling};

/// A project with kinds of awkward names; its own name keeps its build artifacts separate.
fn project(name: &str, kinds: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox
        .kbr(&format!(
            "init --domain my-org.example.io --project-name {name}"
        ))
        .success();
    for kind in kinds {
        sandbox
            .kbr(&format!("create api --group foo.policy-x {kind}"))
            .success();
    }
    sandbox
}

/// The status lines of kbr itself, without cargo's.
fn own_lines(run: &Run) -> Vec<String> {
    let cargo = [
        "Compiling",
        "Finished",
        "Running",
        "Blocking",
        "Locking",
        "Downloading",
        "Downloaded",
        "Updating",
    ];
    run.status()
        .into_iter()
        .filter(|line| !cargo.iter().any(|word| line.starts_with(word)))
        .collect()
}

/// A CRD with names that are none in Rust.
const POSTGRESQL: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: postgresqls.foo.policy-x.my-org.example.io}
spec:
  group: foo.policy-x.my-org.example.io
  names: {kind: postgresql, plural: postgresqls, singular: postgresql, listKind: postgresqlList}
  scope: Namespaced
  versions:
  - name: match
    served: true
    storage: true
    schema: &schema
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {teamId: {type: string}}}
          status: {type: object, properties: {ready: {type: boolean}}}
    subresources: &subresources {status: {}}
  - name: foo1
    served: true
    storage: false
    schema: *schema
    subresources: *subresources
  - name: meta
    served: true
    storage: false
    schema: *schema
    subresources: *subresources
";

#[test]
fn unusual_names_compile_and_pass_the_lints() {
    let _one_at_a_time = compiling();
    let sandbox = project(
        "odd-names-0",
        &[
            "--kind HTTPProxy",
            "--kind Policy --version v2beta1",
            "--kind Redis --version v1",
            "--kind Redis --version v2 --controller=false",
            "--kind Job --version v1",
            "--kind Q --version v1 --namespaced=false",
            "--kind ValidatingAdmissionPolicyBindingTemplate --version v1alpha1",
            // Names of what the code beside the versions imports.
            "--kind Conditions --version conditions",
            "--kind Ready --version status --image busybox:1",
            "--kind Kube --version kube",
            "--kind Kube --version serde-json --controller=false",
        ],
    );
    let kube = "--group foo.policy-x --version kube --kind Kube";
    let all = "--defaulting --programmatic-validation --conversion --spoke serde-json";
    sandbox
        .kbr(&format!("create webhook {kube} {all}"))
        .success();
    sandbox.write("crds.yaml", POSTGRESQL);
    sandbox.kbr("import crd crds.yaml").success();
    let postgresql = "--group foo.policy-x --version match --kind postgresql";
    sandbox
        .kbr(&format!("create api {postgresql} --resource=false"))
        .success();
    sandbox
        .kbr(&format!(
            "create webhook {postgresql} --defaulting --conversion --spoke foo1,meta"
        ))
        .success();
    let run = sandbox.kbr("manifests").success();
    assert_eq!(
        own_lines(&run).last().map(String::as_str),
        Some("Next cargo build --locked")
    );
    let stored = || -> Vec<bool> {
        let redis = sandbox.read("config/crd/bases/foo.policy-x.my-org.example.io_redis.yaml");
        let storage = redis
            .lines()
            .filter_map(|line| line.trim().strip_prefix("storage: "));
        storage.map(|stored| stored == "true").collect()
    };
    assert_eq!(
        stored(),
        [false, true],
        "v2 is listed first, v1 was created first"
    );
    let redis = |version: &str| {
        format!(
            "  domain: my-org.example.io\n  group: foo.policy-x\n  kind: Redis\n  plural: redis\n  \
             version: {version}\n"
        )
    };
    let first = format!("  controller: true\n{}", redis("v1"));
    let storage = "    storage: true\n";
    sandbox.edit("PROJECT", &format!("{storage}{first}"), &first);
    sandbox.edit(
        "PROJECT",
        &redis("v2"),
        &(storage.to_owned() + &redis("v2")),
    );
    sandbox.kbr("manifests").success();
    assert_eq!(stored(), [true, false], "the user has moved it");
    check_project(sandbox.path());
    prove("odd-names-0", sandbox.path());
}

#[test]
fn the_manifests_follow_the_types_and_markers() {
    let _one_at_a_time = compiling();
    let sandbox = project("follows-code", &["--kind Foo", "--kind Bar"]);
    sandbox.kbr("manifests").success();
    let again = sandbox.kbr("manifests").success();
    assert!(
        own_lines(&again)
            .iter()
            .all(|line| line.starts_with("Unchanged") || line.starts_with("Next")),
        "{again:?}"
    );
    sandbox.kbr("manifests --check").success();

    let types = "api/src/v1alpha1/foo_types.rs";
    sandbox.edit(
        types,
        "    pub foo: Option<String>,",
        "    pub foo: Option<String>,\n    /// How many of them.\n    pub size: u8,",
    );
    sandbox.edit(
        "src/controller/foo_controller.rs",
        "/status,verbs=patch",
        "/status,verbs=patch;get",
    );
    let before = sandbox.tree();
    let check = sandbox.kbr("manifests --check").failure();
    assert!(
        check.stderr.ends_with(
            "error: 3 of the generated files are out of date: \
             `config/crd/bases/foo.policy-x.my-org.example.io_foos.yaml`, \
             `config/prometheus/kube_state_metrics.yaml`, `config/rbac/role.yaml`\n \
             help: type `kbr manifests`, and commit what it writes\n"
        ),
        "{}",
        check.stderr
    );
    let mut after = sandbox.tree();
    after.retain(|path, _| before.contains_key(path));
    assert_eq!(before, after, "--check writes nothing");

    sandbox.kbr("manifests").success();
    let crd = sandbox.read("config/crd/bases/foo.policy-x.my-org.example.io_foos.yaml");
    let expected = "              size:\n                description: How many of them.\n                minimum: 0\n                type: integer\n";
    assert!(
        crd.contains(
            &expected.replace("minimum: 0\n", "maximum: 255\n                minimum: 0\n")
        ),
        "{crd}"
    );

    // The code decides the scope: kbr updates its own files accordingly, and reports the rest.
    sandbox.edit("api/src/v1alpha1/bar_types.rs", "    namespaced,\n", "");
    let run = sandbox.kbr("manifests").success();
    assert!(
        run.stderr.contains(
            "`foo.policy-x.my-org.example.io/v1alpha1 Bar (bars)` is cluster-scoped now: write `Api::all` for \
             `Api::namespaced` in `src/controller/bar_controller.rs` and in `tests/it/bar_*.rs`; in a cluster, \
             the CRD has to be deleted first, and its objects with it\n"
        ),
        "{}",
        run.stderr
    );
    let crd = sandbox.read("config/crd/bases/foo.policy-x.my-org.example.io_bars.yaml");
    assert!(crd.contains("  scope: Cluster\n"), "{crd}");
    let project = sandbox.read("PROJECT");
    assert_eq!(project.matches("namespaced: false").count(), 1, "{project}");
    let again = sandbox.kbr("manifests").success();
    assert!(!again.stderr.contains("Warning"), "{}", again.stderr);
}

#[test]
fn obsolete_crds_are_removed_unless_the_user_wrote_them() {
    let _one_at_a_time = compiling();
    let sandbox = project("prunes-bases", &["--kind Foo"]);
    let base = |name: &str| format!("config/crd/bases/{name}");
    sandbox.write(
        &base("old.yaml"),
        "# Generated by kbr manifests.\nkind: Old\n",
    );
    sandbox.write(&base("mine.yaml"), "kind: Mine\n");
    sandbox.edit(
        "config/crd/kustomization.yaml",
        "# +kbr",
        "- \"bases/old.yaml\"\n# +kbr",
    );
    let run = sandbox.kbr("manifests").success();
    let lines = own_lines(&run);
    assert!(
        lines.contains(&"Removed config/crd/bases/old.yaml".to_owned()),
        "{lines:?}"
    );
    assert!(
        lines.contains(&"Warning `config/crd/kustomization.yaml` still lists `bases/old.yaml`: remove that line".to_owned()),
        "{lines:?}"
    );
    assert!(!sandbox.path().join(base("old.yaml")).exists());
    assert_eq!(sandbox.read(&base("mine.yaml")), "kind: Mine\n");
}

#[test]
fn types_that_do_not_compile_or_that_a_server_would_refuse_are_refused() {
    let _one_at_a_time = compiling();
    let sandbox = project("refused-types", &["--kind Foo"]);
    let types = "api/src/v1alpha1/foo_types.rs";
    let fine = sandbox.read(types);

    sandbox.write(types, "nonsense\n");
    let broken = sandbox.kbr("manifests").failure();
    assert!(
        broken.stderr.ends_with(
            "error: `cargo run --bin crdgen` failed: see cargo's messages above
 \
             help: fix the errors above, and run the command again
"
        ),
        "{}",
        broken.stderr
    );

    sandbox.write(
        types,
        &fine.replace("pub foo: Option<String>", "pub foo: Option<(String, u8)>"),
    );
    let refused = sandbox.kbr("manifests").failure();
    let own = refused
        .stderr
        .lines()
        .find(|line| line.starts_with("error:"))
        .expect("an error");
    assert!(
        own.contains("v1alpha1::Foo") && own.contains("spec.foo"),
        "{own}"
    );
    assert!(!sandbox.path().join("config/crd/bases").exists());

    sandbox.write(
        types,
        &fine.replace("plural = \"foos\"", "plural = \"fooes\""),
    );
    let disagreeing = sandbox.kbr("manifests").failure();
    assert!(
        disagreeing.stderr.contains(
            "error: the compiled types do not match PROJECT: \
             `foo.policy-x.my-org.example.io/v1alpha1 Foo (foos)` is in PROJECT, but not in the code, \
             `foo.policy-x.my-org.example.io/v1alpha1 Foo (fooes)` is in the code, but not in PROJECT\n"
        ),
        "{}",
        disagreeing.stderr
    );

    sandbox.write(types, &fine);
    sandbox.kbr("manifests").success();
}

#[test]
fn a_scope_that_was_changed_only_in_the_code_is_refused_where_namespaces_are_watched() {
    let _one_at_a_time = compiling();
    let sandbox = Sandbox::new();
    sandbox
        .kbr("init --domain example.com --project-name no-namespace --namespaced")
        .success();
    sandbox.kbr("create api --kind Foo").success();
    sandbox.edit("api/src/v1alpha1/foo_types.rs", "    namespaced,\n", "");
    let before = sandbox.tree();
    let refused = sandbox.kbr("manifests").failure();
    assert!(
        refused.stderr.ends_with(
            "error: `Foo` would be cluster-scoped, but the operator has permissions only in namespaces: PROJECT \
             has `namespaced: true`\n help: keep it namespaced\n"
        ),
        "{}",
        refused.stderr
    );
    assert_same(&before, &sandbox.tree());
}
