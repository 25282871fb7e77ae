//! Types of other operators, whose crate cargo adds to the project.

use crate::support::{Sandbox, assert_same, cargo};

const CRD: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: certificates.cert-manager.io
spec:
  group: cert-manager.io
  names:
    kind: Certificate
    plural: certificates
  scope: Namespaced
  versions:
  - name: v1
    served: true
    schema:
      openAPIV3Schema:
        type: object
";

pub const CERTIFICATE: &str = "--group cert-manager --version v1 --kind Certificate";

/// The command for a type of `module`, whose path begins with `name`.
pub fn create(name: &str, module: &str) -> String {
    format!(
        "create api {CERTIFICATE} --external-api-domain io --external-api-path {name}::Certificate \
         --external-api-module {module} --external-api-crd crd.yaml"
    )
}

pub fn sandbox() -> Sandbox {
    let sandbox = Sandbox::with_project();
    sandbox.write("crd.yaml", CRD);
    sandbox
}

#[test]
fn a_crate_is_added_with_the_first_type_and_removed_with_the_last() {
    let sandbox = sandbox();
    let before = sandbox.tree();

    sandbox.kbr(&create("semver", "semver@1")).success();

    let manifest = sandbox.read("Cargo.toml");
    assert!(manifest.contains("\nsemver = \"1\"\n"), "{manifest}");
    assert!(cargo(
        sandbox.path(),
        "tree --locked --quiet --package semver"
    ));
    let project = sandbox.read("PROJECT");
    assert!(project.contains("  module: semver@1\n"), "{project}");

    let delete = format!("delete controller {CERTIFICATE}");
    sandbox.kbr(&delete).success();
    assert_same(&before, &sandbox.tree());
}

#[test]
fn a_crate_that_the_users_code_refers_to_stays() {
    let sandbox = sandbox();
    sandbox.kbr(&create("semver", "semver@1")).success();
    sandbox.write("src/version.rs", "use semver::Version;\n");

    let delete = format!("delete controller {CERTIFICATE}");
    let said = sandbox.kbr(&delete).success().stderr;

    let stays = "`src/version.rs` refers to the crate `semver@1`, which stays in Cargo.toml";
    assert!(said.contains(stays), "{said}");
    assert!(sandbox.read("Cargo.toml").contains("\nsemver = \"1\"\n"));
}

/// The same line may be in several tables.
#[test]
fn only_the_dependency_of_the_operator_is_removed_and_every_comment_stays() {
    let sandbox = sandbox();
    for (table, lines) in [
        ("workspace.dependencies", "# Shared.\nsemver = \"1\"\n"),
        ("dependencies", "# Mine.\n"),
        ("dev-dependencies", "semver = \"1\" # For tests.\n"),
    ] {
        let header = format!("\n[{table}]\n");
        sandbox.edit("Cargo.toml", &header, &format!("{header}{lines}"));
    }
    let before = sandbox.read("Cargo.toml");
    sandbox.kbr(&create("semver", "semver@1")).success();
    let with = sandbox.read("Cargo.toml");
    assert_eq!(with.matches("semver = \"1\"").count(), 3, "{with}");

    let delete = format!("delete controller {CERTIFICATE}");
    sandbox.kbr(&delete).success();

    assert_eq!(sandbox.read("Cargo.toml"), before);
}

#[test]
fn a_crate_for_another_kube_or_a_missing_one_changes_nothing() {
    let sandbox = sandbox();
    let before = sandbox.tree();
    for (module, why) in [
        (
            "gateway-api@0.22",
            "error: `gateway-api@0.22` needs kube-core 4.2.0, but the project uses 5.0.0",
        ),
        (
            "kube@99",
            "error: `cargo add --package sandbox kube@99` failed: see cargo's messages above",
        ),
    ] {
        let said = sandbox.kbr(&create("a", module)).failure().stderr;
        assert!(said.contains(why), "{said}");
        assert_same(&before, &sandbox.tree());
    }
}
