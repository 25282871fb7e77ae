//! What operators have that kubebuilder does not scaffold.

use serde_json::Value;

use super::{IMPORT, with_fleet};
use crate::support::Sandbox;

const PROJECT: &str = "go/PROJECT";
const CAPTAINS: &str = "go/internal/controller/crew/captain_controller.go";

/// A fleet in which each text that `changes` has first is the second instead.
#[track_caller]
fn changed(changes: &[(&str, &str, &str)]) -> Sandbox {
    let sandbox = with_fleet();
    for (path, from, to) in changes {
        let text = sandbox.read(path);
        assert!(text.contains(from), "{path} lacks {from}");
        sandbox.write(path, &text.replacen(from, to, 1));
    }
    sandbox.kbr(IMPORT).success();
    sandbox
}

/// The resources in PROJECT of the new project.
fn resources(sandbox: &Sandbox) -> Vec<Value> {
    let project: Value = serde_yaml::from_str(&sandbox.read("new/PROJECT")).expect("YAML");
    project["resources"].as_array().expect("resources").clone()
}

/// Kubebuilder wrote `controller: true` for every version that was scaffolded with one.
#[test]
fn a_kind_has_one_controller_though_each_version_lists_it() {
    let sandbox = changed(&[
        (
            PROJECT,
            "  controllers:\n  - name: captain\n  - name: captain-backup\n",
            "  controller: true\n",
        ),
        (
            PROJECT,
            "  domain: example.com\n  group: crew\n  kind: Captain\n  path: example.com/fleet/api/crew/v2\n",
            "  controller: true\n  domain: example.com\n  group: crew\n  kind: Captain\n  path: example.com/fleet/api/crew/v2\n",
        ),
    ]);

    for resource in resources(&sandbox) {
        let is_v2 = resource["kind"] == "Captain" && resource["version"] == "v2";
        assert!(!is_v2 || resource["controller"].is_null(), "{resource}");
    }
    let list = sandbox.read("new/IMPORT.md");
    for line in [
        "`CaptainReconciler.Reconcile` (internal/controller/crew/captain_controller.go:26) into `src/controller/crew/captain_controller.rs`",
        "`CaptainBackupReconciler.Reconcile` (internal/controller/crew/captain_controller.go:41) into `src/controller/crew/captain_backup_controller.rs`",
    ] {
        assert!(list.contains(line), "{line}:\n{list}");
    }
    assert!(!list.contains("PROJECT lists a controller"), "{list}");
}

#[test]
fn a_controller_may_be_set_up_in_several_methods_and_have_any_name() {
    let sandbox = changed(&[
        (PROJECT, "  - name: captain-backup\n", ""),
        (
            CAPTAINS,
            "return ctrl.NewControllerManagedBy(mgr).For(&crewv1.Captain{}).Named(\"captain-backup\").Complete(r)",
            "return r.build(ctrl.NewControllerManagedBy(mgr))",
        ),
        (
            CAPTAINS,
            "type CaptainBackupReconciler struct{}",
            "type CaptainBackupReconciler struct{}\n\n\
             func (r *CaptainBackupReconciler) build(b *ctrl.Builder) error {\n\
             \treturn b.For(&crewv1.Captain{}).Named(\"captain_backup\").Complete(r)\n\
             }",
        ),
    ]);

    let list = sandbox.read("new/IMPORT.md");
    let line = "into `src/controller/crew/captain_backup_controller.rs`";
    assert!(list.contains(line), "{list}");
}

/// Operator-sdk named reconcilers so. Other programs in the project have Leases of their own.
#[test]
fn a_reconciler_may_be_called_otherwise_and_the_lease_is_that_of_main() {
    const SAILORS: &str = "go/internal/controller/crew/sailor_controller.go";
    let sandbox = with_fleet();
    let sailors = sandbox.read(SAILORS);
    let sailors = sailors.replace("SailorReconciler", "ReconcileSailor");
    let sailors = sailors.replace("+kubebuilder:rbac:", "");
    sandbox.write(SAILORS, &sailors.replace("For(&crewv1.Sailor{}).", ""));
    let certificates = "package cert\n\nvar _ = Options{LeaderElectionID: \"cert.example.com\"}\n";
    sandbox.write("go/cmd/cert/cert.go", certificates);
    sandbox.kbr(IMPORT).success();

    let list = sandbox.read("new/IMPORT.md");
    for line in [
        "Translate `ReconcileSailor.Reconcile` (internal/controller/crew/sailor_controller.go:14) into `src/controller/crew/sailor_controller.rs`",
        "`cmd/cert/cert.go` has another Lease, `cert.example.com`; the new managers use `3e9f67a9.example.com`, that of `cmd/main.go`",
    ] {
        assert!(list.contains(line), "{line}:\n{list}");
    }
    // It has no marker, and rustfmt allows one empty line.
    let controller = sandbox.read("new/src/controller/crew/sailor_controller.rs");
    assert!(!controller.contains("\n\n\n"), "{controller}");
}

/// The type of a manager's configuration file, which kubebuilder scaffolded as a kind.
#[test]
fn a_kind_of_a_file_is_left_out() {
    let file = "- api:\n    crdVersion: v1\n  domain: example.com\n  group: config\n  kind: Settings\n  version: v1\n- controller: true\n  core: true\n";
    let sandbox = changed(&[(PROJECT, "- controller: true\n  core: true\n", file)]);

    let list = sandbox.read("new/IMPORT.md");
    assert!(
        list.contains("PROJECT lists `config.example.com/v1 Settings`, but there is no CRD for it"),
        "{list}"
    );
    let mut all = resources(&sandbox).into_iter();
    assert!(!all.any(|it| it["kind"] == "Settings"));
}

#[test]
fn without_a_domain_the_first_group_is_the_domain() {
    let sandbox = with_fleet();
    let project = sandbox.read(PROJECT);
    let project = project
        .replacen("domain: example.com\n", "", 1)
        .replace("  domain: example.com\n", "")
        .replace("  group: crew\n", "  group: crew.example.com\n")
        .replace("  group: ship\n", "  group: ship.example.com\n");
    sandbox.write(PROJECT, &project);
    sandbox.kbr(IMPORT).success();

    let project = sandbox.read("new/PROJECT");
    assert!(
        project.contains("\ndomain: crew.example.com\n"),
        "{project}"
    );
    assert!(
        sandbox
            .read("new/config/crd/kustomization.yaml")
            .contains("ship.example.com_frigates")
    );
}

/// Some operators have their names in overlays.
#[test]
fn names_that_the_kustomization_lacks_are_to_be_found() {
    let sandbox = changed(&[
        (
            "go/config/default/kustomization.yaml",
            "namespace: navy-system\n",
            "",
        ),
        (
            "go/config/default/kustomization.yaml",
            "namePrefix: navy-\n",
            "",
        ),
    ]);

    let list = sandbox.read("new/IMPORT.md");
    assert!(
        list.contains("`config/default/kustomization.yaml` of the project in Go has no namespace"),
        "{list}"
    );
    assert!(!list.contains("``"), "{list}");
}

/// One validator, which the API server may ignore when an object is deleted.
#[test]
fn a_webhook_may_have_several_markers() {
    const WEBHOOK: &str = "go/internal/webhook/crew/v1/captain_webhook.go";
    let second = "// +kubebuilder:webhook:path=/check-captains,mutating=false,failurePolicy=fail,sideEffects=None,groups=crew.example.com,resources=captains,verbs=delete,versions=v1,name=vstatus.kb.io,admissionReviewVersions=v1\n";
    let sandbox = changed(&[(
        WEBHOOK,
        "type CaptainValidator",
        &format!("{second}type CaptainValidator"),
    )]);

    let validator = sandbox.read("new/src/webhook/crew/v1/captain_validator.rs");
    let places = [
        "captain_webhook.go:6.\n// +kbr:",
        "captain_webhook.go:7.\n// +kbr:",
    ];
    assert!(
        places.iter().all(|it| validator.contains(it)),
        "{validator}"
    );
    let list = sandbox.read("new/IMPORT.md");
    assert!(!list.contains("vstatus.kb.io"), "{list}");
}
