//! Namespaces for which no roles can be created, and cluster-scoped kinds.

use snapbox::str;

use super::{refused, told};
use crate::namespaced::{OF_POD, project, watch};

#[test]
fn names_that_no_namespace_can_have() {
    let sandbox = project();
    for value in [
        "\"\"",
        "\"team-a,\"",
        "\"team-a, team-b\"",
        "Team",
        "team.a",
        "team-a,team-a",
        "system",
    ] {
        watch(&sandbox, value);
        refused(&sandbox, "manifests");
    }
    watch(&sandbox, "team-a,team-b");
    sandbox.kbr("manifests").success();
    told(str![[r#"
$ kbr manifests
error: config/manager/manager.yaml:80:17: `WATCH_NAMESPACE` has an empty name; write names of namespaces, separated only by commas, such as `value: "team-a,team-b"`

$ kbr manifests
error: config/manager/manager.yaml:80:17: `WATCH_NAMESPACE` has an empty name; write names of namespaces, separated only by commas, such as `value: "team-a,team-b"`

$ kbr manifests
error: config/manager/manager.yaml:80:17: `WATCH_NAMESPACE` has ` team-b`, which cannot be the name of a namespace; write names of namespaces, separated only by commas, such as `value: "team-a,team-b"`

$ kbr manifests
error: config/manager/manager.yaml:80:17: `WATCH_NAMESPACE` has `Team`, which cannot be the name of a namespace; write names of namespaces, separated only by commas, such as `value: "team-a,team-b"`

$ kbr manifests
error: config/manager/manager.yaml:80:17: `WATCH_NAMESPACE` has `team.a`, which cannot be the name of a namespace; write names of namespaces, separated only by commas, such as `value: "team-a,team-b"`

$ kbr manifests
error: config/manager/manager.yaml:80:17: `WATCH_NAMESPACE` has `team-a` twice; write names of namespaces, separated only by commas, such as `value: "team-a,team-b"`

$ kbr manifests
error: config/manager/manager.yaml:80:17: `WATCH_NAMESPACE` has `system`, which is the operator's own namespace in `config/`: write `sandbox-system`; write names of namespaces, separated only by commas, such as `value: "team-a,team-b"`
"#]]);
}

#[test]
fn a_variable_without_namespaces() {
    let deployment = "config/manager/manager.yaml";
    let sandbox = project();
    watch(&sandbox, "7");
    refused(&sandbox, "manifests");

    let sandbox = project();
    let variable = format!("        - name: WATCH_NAMESPACE\n{OF_POD}");
    sandbox.edit(deployment, &variable, "");
    refused(&sandbox, "manifests");

    let sandbox = project();
    std::fs::remove_file(sandbox.path().join(deployment)).expect("the file is removed");
    refused(&sandbox, "manifests");
    told(str![[r#"
$ kbr manifests
error: config/manager/manager.yaml:80:17: `WATCH_NAMESPACE` names no namespaces that roles can be made for; write `- name: WATCH_NAMESPACE` with `valueFrom: {fieldRef: {fieldPath: metadata.namespace}}` for the operator's own namespace, or with `value: "team-a,team-b"`

$ kbr manifests
error: config/manager/manager.yaml:1:1: the container `manager` has no variable `WATCH_NAMESPACE`; write `- name: WATCH_NAMESPACE` with `valueFrom: {fieldRef: {fieldPath: metadata.namespace}}` for the operator's own namespace, or with `value: "team-a,team-b"`

$ kbr manifests
error: config/manager/manager.yaml:1:1: there is no such file; restore it from version control: it names the namespaces to watch
"#]]);
}

#[test]
fn a_rule_that_only_a_cluster_role_can_have() {
    let sandbox = project();
    for rule in [
        "urls=/metrics,verbs=get",
        "groups=core,resources=pods;nodes,verbs=get",
        "groups=core,resources=namespaces,verbs=get;list",
    ] {
        sandbox.module("a", &format!("// +kbr:rbac:{rule}\n"));
        refused(&sandbox, "manifests");
    }
    sandbox.module(
        "a",
        "// +kbr:rbac:groups=core,resources=namespaces,verbs=get;patch\n",
    );
    sandbox.kbr("manifests").success();
    told(str![[r#"
$ kbr manifests
error: src/a.rs:1:1: no Role can grant these verbs on the URL `/metrics`, and PROJECT has `namespaced: true`: the operator has only Roles; remove it from the marker, or add a ClusterRole with its binding to `config/rbac` manually

$ kbr manifests
error: src/a.rs:1:1: no Role can grant these verbs on `nodes`, and PROJECT has `namespaced: true`: the operator has only Roles; remove it from the marker, or add a ClusterRole with its binding to `config/rbac` manually

$ kbr manifests
error: src/a.rs:1:1: no Role can grant these verbs on `namespaces`, and PROJECT has `namespaced: true`: the operator has only Roles; remove it from the marker, or add a ClusterRole with its binding to `config/rbac` manually
"#]]);
}

#[test]
fn a_cluster_scoped_kind() {
    let sandbox = project();
    refused(&sandbox, "create api --kind Foo --namespaced=false");
    for kind in ["Namespace", "Node"] {
        refused(
            &sandbox,
            &format!(
                "create api --group core --version v1 --kind {kind} --resource=false --controller"
            ),
        );
    }
    sandbox.kbr("create api --kind Foo --namespaced").success();

    let file = sandbox.read("PROJECT");
    sandbox.write(
        "PROJECT",
        &file.replace("    namespaced: true", "    namespaced: false"),
    );
    let run = sandbox.kbr("create api --kind Bar").failure();
    let reason = "`example.com/v1alpha1 Foo` is cluster-scoped, and the operator has permissions only in namespaces: \
                  `namespaced: true`\n";
    assert!(run.stderr.contains(reason), "{}", run.stderr);
    told(str![[r#"
$ kbr create api --kind Foo --namespaced=false
error: `Foo` would be cluster-scoped, but the operator has permissions only in namespaces: PROJECT has `namespaced: true`
 help: keep it namespaced

$ kbr create api --group core --version v1 --kind Namespace --resource=false --controller
error: `Namespace` is cluster-scoped, but the operator has permissions only in namespaces: PROJECT has `namespaced: true`
 help: choose a namespaced kind, or create another project without `--namespaced`

$ kbr create api --group core --version v1 --kind Node --resource=false --controller
error: `Node` is cluster-scoped, but the operator has permissions only in namespaces: PROJECT has `namespaced: true`
 help: choose a namespaced kind, or create another project without `--namespaced`
"#]]);
}

#[test]
fn a_controller_for_a_cluster_scoped_type_of_kubernetes_own() {
    let sandbox = project();
    refused(
        &sandbox,
        "create api --group core --version v1 --kind Node --resource=false",
    );
    sandbox
        .kbr("create api --group core --version v1 --kind Pod --resource=false")
        .success();
    told(str![[r#"
$ kbr create api --group core --version v1 --kind Node --resource=false
error: `Node` is cluster-scoped, but the operator has permissions only in namespaces: PROJECT has `namespaced: true`
 help: choose a namespaced kind, or create another project without `--namespaced`
"#]]);
}
