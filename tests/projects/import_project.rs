//! What `kbr import project` writes for `tests/data/fleet` compiles, and has the manifests of the Go project.

use crate::support::fleet::{IMPORT, permissions, with_fleet};
use crate::support::goldens::share_runtime;
use crate::support::{Run, cargo, compiling};

#[test]
fn the_manifests_are_those_of_the_go_project_and_the_code_compiles() {
    let _one_at_a_time = compiling();
    let sandbox = with_fleet();
    sandbox.kbr(IMPORT).success();
    let inside = |line: &str| -> Run { sandbox.kbr(&format!("-C new {line}")) };

    inside("manifests").success();

    inside("manifests --check --against-crds ../go/config/crd/bases").success();
    assert_eq!(
        permissions(&sandbox.read("new/config/rbac/role.yaml")),
        permissions(&sandbox.read("go/config/rbac/role.yaml"))
    );
    let webhooks = sandbox.read("new/config/webhook/manifests.yaml");
    for text in [
        "name: mcaptain-v1.kb.io",
        "path: /mutate-crew-example-com-v1-captain",
        "name: vcaptain-v1.kb.io",
        "path: /check-captains",
        "failurePolicy: Ignore",
        "- DELETE",
    ] {
        assert!(webhooks.contains(text), "{text}:\n{webhooks}");
    }
    share_runtime(&sandbox.path().join("new"));
    assert!(cargo(
        &sandbox.path().join("new"),
        "clippy --all-targets --features kbr-testing/crash,kbr-testing/development --locked -- -D warnings"
    ));
    assert!(cargo(&sandbox.path().join("new"), "fmt --all --check"));
}
