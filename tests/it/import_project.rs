//! `kbr import project` on `tests/data/fleet`.

mod real;

use crate::support::fleet::{IMPORT, with_fleet};
use crate::support::{Sandbox, assert_same, commit, git, said};
use serde_json::Value;
use snapbox::str;
use std::fs;

#[track_caller]
fn holds(sandbox: &Sandbox, path: &str, line: &str) {
    let text = sandbox.read(path);
    assert!(
        text.lines().any(|it| it.trim() == line),
        "{line} in {path}:\n{text}"
    );
}

#[test]
fn the_new_project_has_what_the_go_project_has() {
    let sandbox = with_fleet();
    sandbox.kbr(IMPORT).success();

    let project: Value = serde_yaml::from_str(&sandbox.read("new/PROJECT")).expect("YAML");
    assert_eq!(project["projectName"], "navy", "the name in the cluster");
    assert_eq!(project["leaderElectionId"], "3e9f67a9.example.com");
    assert_eq!(project["multigroup"], true);
    let kustomization = sandbox.read("new/config/default/kustomization.yaml");
    assert!(kustomization.contains("namespace: \"navy-system\"\nnamePrefix: \"navy-\"\n"));
    assert!(
        kustomization.contains("- ../certmanager\n") && kustomization.contains("- ../prometheus\n")
    );

    for (path, line) in [
        (
            "new/src/controller/crew/captain_controller.rs",
            "// +kbr:rbac:groups=core,resources=pods,verbs=get;list;watch",
        ),
        (
            "new/src/controller/crew/captain_controller.rs",
            "// Reconcile tells a captain what to do, see `+kubebuilder:rbac`.",
        ),
        (
            "new/src/controller/crew/captain_controller.rs",
            "// In Go: `Owns(&corev1.Pod{})`.",
        ),
        (
            "new/src/controller/crew/captain_backup_controller.rs",
            "// +kbr:rbac:urls=/metrics,verbs=get",
        ),
        (
            "new/src/controller/apps/deployment_controller.rs",
            "// +kbr:rbac:groups=apps,resources=deployments,verbs=list;watch",
        ),
        (
            "new/src/lib.rs",
            "// +kbr:rbac:groups=events.k8s.io,resources=events,verbs=create;patch",
        ),
        (
            "new/src/lib.rs",
            "// +kbr:rbac:groups=\"\",resources=secrets,resourceNames=sea-chart,verbs=get",
        ),
        (
            "new/src/webhook/crew/v1/captain_validator.rs",
            "const PATH: &str = \"/check-captains\";",
        ),
        ("new/config/samples/crew_v1_captain.yaml", "# The highest."),
    ] {
        holds(&sandbox, path, line);
    }
    let markers = sandbox.read("new/src/controller/crew/captain_controller.rs");
    assert!(!markers.contains("groups=none") && !markers.contains("groups=x"));
    let types = sandbox.read("new/api/src/crew/v1/captain_types.rs");
    assert!(
        types.find("pub rank").expect("rank") < types.find("pub name").expect("name"),
        "{types}"
    );
    for comment in [
        "/// CaptainSpec is what a captain is told.",
        "    /// rank is shown first, although `name` sorts before it.",
        "pub enum Rank {",
        "    /// JuniorRank comes with a hat.",
    ] {
        assert!(types.contains(comment), "{comment}:\n{types}");
    }
}

#[test]
fn the_checklist_says_what_remains() {
    let sandbox = with_fleet();
    sandbox.kbr(IMPORT).success();
    said(
        &sandbox.read("new/IMPORT.md"),
        str![[r#"
# What remains to be done

`kbr import project` made this project of `../go`. Its objects in the cluster have the same names, except for what "Deployment" lists below, so it replaces the operator in Go in place. Do the rest in this order, and delete this file at the end.

## First

- [ ] `kbr manifests`, then `kbr manifests --check --against-crds ../go/config/crd/bases/`: the CRDs break nothing.
- [ ] Compare `config/rbac/role.yaml` and `config/webhook/manifests.yaml` with those of the operator in Go.
- [ ] `cargo build --locked`, then `git init && git add -A && git commit`: each next step is a small change.

## What could not be carried over

- [ ] internal/webhook/cert-manager/v1/issuer_webhook.go:3: `+kubebuilder:webhook:path=/mutate-cert-manager-io-v1-issuer,mutating=true,failurePolicy=fail,sideEffects=None,groups=cert-manager.io,resources=issuers,verbs=create;update,versions=v1,name=missuer-v1.kb.io,admissionReviewVersions=v1`: its type belongs to another operator: see below

## Types of other operators, and samples

- [ ] `cert-manager.io/v1 Issuer` belongs to another operator (in Go, `github.com/cert-manager/cert-manager@v1.20.2`): save its CRD as a file, from which kbr makes the type, and type `kbr create webhook --group cert-manager --version v1 --kind Issuer --external-api-domain io --external-api-crd FILE --defaulting`
- [ ] The project in Go has no sample of `crew.example.com/v2 Captain` with a spec: put values that a user would write into the new one, which has only what the schema requires
- [ ] The project in Go has no sample of `crew.example.com/v1 Sailor` with a spec: put values that a user would write into the new one, which has only what the schema requires
- [ ] The project in Go has no sample of `ship.example.com/v1 Frigate` with a spec: put values that a user would write into the new one, which has only what the schema requires

## Controllers

- [ ] Translate `DeploymentReconciler.Reconcile` (internal/controller/apps/deployment_controller.go:13) into `src/controller/apps/deployment_controller.rs`
- [ ] Translate `CaptainReconciler.Reconcile` (internal/controller/crew/captain_controller.go:26) into `src/controller/crew/captain_controller.rs`; it is triggered by other objects through `Owns(&corev1.Pod{})`; its other methods are `salute` (line 30)
- [ ] Translate `CaptainBackupReconciler.Reconcile` (internal/controller/crew/captain_controller.go:41) into `src/controller/crew/captain_backup_controller.rs`
- [ ] Translate `SailorReconciler.Reconcile` (internal/controller/crew/sailor_controller.go:14) into `src/controller/crew/sailor_controller.rs`
- [ ] Translate `FrigateReconciler.Reconcile` (internal/controller/ship/frigate_controller.go:14) into `src/controller/ship/frigate_controller.rs`

## Webhooks

- [ ] Translate the defaulting webhook of `crew.example.com/v1 Captain` (internal/webhook/crew/v1/captain_webhook.go:3) in `src/webhook/crew/v1/captain_defaulter.rs`: until then it admits every object as it is
- [ ] Translate the validating webhook of `crew.example.com/v1 Captain` (internal/webhook/crew/v1/captain_webhook.go:6) in `src/webhook/crew/v1/captain_validator.rs`: until then it admits every object as it is
- [ ] Translate the conversion of `crew.example.com/v1 Captain` from and to `v2`: until then, what the two versions have in different forms is kept only in an annotation

## Deployment

- [ ] `config/default/kustomization.yaml` of the project in Go lists `quota.yaml`: copy it, and list it in the new one
- [ ] The new project has a network policy, and the one in Go does not: only namespaces with the label `metrics: enabled` can read the metrics. Label that of Prometheus, or remove the line `- ../network-policy` from `config/default/kustomization.yaml`
- [ ] The manager in Go has the arguments `--fast`

## At the end

- [ ] `make test`: the operator runs against a real API server, with its role and its webhooks.
- [ ] `make test-rbac` lists the permissions that it does not need: most markers of kubebuilder grant more.
- [ ] Compare what `kubectl kustomize ../go/config/default` and `kubectl kustomize config/default` print: objects that only the first has stay in the cluster until you delete them; webhook configurations that nobody serves block requests.
- [ ] `make deploy IMG=…`: it updates the Deployment `navy-controller-manager` in `navy-system`; the new managers wait until those in Go release the Lease `3e9f67a9.example.com`.

"#]],
    );
}

/// What a later kbr scaffolds differently is put beside what was imported.
#[test]
fn an_update_overwrites_nothing_that_was_imported() {
    const CONTROLLER: &str = "new/src/controller/crew/captain_controller.rs";
    let sandbox = with_fleet();
    sandbox.kbr(IMPORT).success();
    git(&sandbox, "init --quiet");
    commit(&sandbox);
    let before = sandbox.tree();
    sandbox.kbr("-C new update").success();
    assert_same(&before, &sandbox.tree());

    // An earlier kbr has rendered another text for each file.
    let project = sandbox.read("new/PROJECT");
    let older = project.lines().map(|line| match line.split_once(": ") {
        Some((path, hash)) if hash.len() == 64 => format!("{path}: {}\n", "0".repeat(64)),
        _ => format!("{line}\n"),
    });
    sandbox.write("new/PROJECT", &older.collect::<String>());
    commit(&sandbox);
    let run = sandbox.kbr("-C new update").success();

    let beside = format!("{CONTROLLER}.kbr-new");
    assert!(sandbox.read(&beside).contains("pub fn register"), "{run:?}");
    let after = sandbox.tree();
    for (path, text) in &before {
        assert!(
            path == "new/PROJECT" || path.starts_with(".git/") || after.get(path) == Some(text),
            "{path}"
        );
    }
}

#[test]
fn a_dry_run_writes_nothing_and_json_lists_the_files() {
    let sandbox = with_fleet();
    let before = sandbox.tree();
    let run = sandbox
        .kbr(&format!("{IMPORT} --dry-run --output json"))
        .success();
    let report: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let files = report["files"].as_array().expect("files");
    assert!(files.iter().any(|file| file["path"] == "IMPORT.md"));
    assert_eq!(sandbox.tree(), before);
}

#[test]
fn what_cannot_be_imported_is_refused() {
    let sandbox = with_fleet();
    let project = sandbox.read("go/PROJECT");
    let mut told = String::new();
    let mut refused = |what: &str| {
        let before = sandbox.tree();
        let run = sandbox.kbr(IMPORT).refused_with(1);
        told += &format!("# {what}\n{run}\n");
        assert_eq!(sandbox.tree(), before, "{what}");
    };
    for (what, from, to) in [
        ("version 2", "version: \"3\"", "version: \"2\""),
        (
            "Ansible",
            "go.kubebuilder.io/v4",
            "ansible.sdk.operatorframework.io/v1",
        ),
        (
            "an old plugin",
            "go.kubebuilder.io/v4",
            "go.kubebuilder.io/v2",
        ),
        ("a kbr project", "go.kubebuilder.io/v4", "kbr/v2"),
        ("no YAML", "domain:", "domain: ["),
        ("a kind without a CRD", "kind: Frigate", "kind: Galleon"),
    ] {
        sandbox.write("go/PROJECT", &project.replace(from, to));
        refused(what);
    }
    fs::remove_file(sandbox.path().join("go/PROJECT")).expect("the file");
    refused("no PROJECT");
    sandbox.write("go/PROJECT", &project);
    sandbox.write("go/pkg/broken.go", "package broken\n\nfunc f() {\n");
    sandbox.write("go/pkg/text.go", "package broken\n\nvar a = \"\n");
    refused("files that are not Go");
    said(
        &told,
        str![[r##"
# version 2
error: `go` is a project of version 2, and kbr imports projects in Go with the layout `go.kubebuilder.io/v3` or `v4`
 help: migrate it to `go.kubebuilder.io/v4` first, as the kubebuilder book explains under "Migrations"; or begin with `kbr import crd` for its CRDs

# Ansible
error: `go` is an operator in Ansible, and kbr imports projects in Go with the layout `go.kubebuilder.io/v3` or `v4`
 help: begin with `kbr import crd` for its CRDs, and write its logic in Rust

# an old plugin
error: `go` is a project with the layout `go.kubebuilder.io/v2`, and kbr imports projects in Go with the layout `go.kubebuilder.io/v3` or `v4`
 help: migrate it to `go.kubebuilder.io/v4` first, as the kubebuilder book explains under "Migrations"; or begin with `kbr import crd` for its CRDs

# a kbr project
error: `go` is already a kbr project
 help: name the folder of a project in Go

# no YAML
error: PROJECT of `go` cannot be read: did not find expected ',' or ']' at line 2 column 7, while parsing a flow sequence at line 1 column 9
 help: repair it: kubebuilder cannot read it either

# a kind without a CRD
error: `config/crd/bases` has no CRD of `ship.example.com/v1 Galleon`, which PROJECT lists
 help: type `make manifests` in `go` first, or copy the CRDs there if they are elsewhere: the types are made from them

# no PROJECT
error: `go` is not a project of kubebuilder or operator-sdk: it has no PROJECT file
 help: name the folder that contains PROJECT

# files that are not Go
error: pkg/broken.go:3: not valid Go: `{` is never closed
       pkg/text.go:3: not valid Go: a string has no end
 help: repair the file: Go cannot compile it either


"##]],
    );
}
