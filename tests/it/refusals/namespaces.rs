//! Namespaces that no roles can be made for, and what is in no namespace at all.

use super::refused;
use crate::namespaced::{OF_POD, project, watch};
use crate::support::{Sandbox, assert_same, compiling};

#[test]
fn names_that_no_namespace_can_have() {
    let sandbox = project();
    for (value, wrong) in [
        ("\"\"", "is empty between two commas, or as a whole"),
        ("\"team-a,\"", "is empty between two commas, or as a whole"),
        (
            "\"team-a, team-b\"",
            "has ` team-b`, which cannot be a namespace's name",
        ),
        ("Team", "has `Team`, which cannot be a namespace's name"),
        ("team.a", "has `team.a`, which cannot be a namespace's name"),
        ("team-a,team-a", "has `team-a` twice"),
        (
            "system",
            "has `system`, which is the operator's own namespace in `config/`: write `sandbox-system`",
        ),
    ] {
        watch(&sandbox, value);
        refused(
            &sandbox,
            "manifests",
            &format!(
                "error: config/manager/manager.yaml:{}: `WATCH_NAMESPACE` {wrong}; write names of \
                 namespaces with a comma between two and nothing else, such as `value: \"team-a,team-b\"`\n",
                place(&sandbox)
            ),
        );
    }
    watch(&sandbox, "team-a,team-b");
    sandbox.kbr("manifests").success();
}

/// Line and column of the variable.
fn place(sandbox: &Sandbox) -> String {
    let text = sandbox.read("config/manager/manager.yaml");
    let at = text
        .lines()
        .position(|line| line.ends_with("- name: WATCH_NAMESPACE"));
    format!("{}:17", at.expect("the variable") + 1)
}

#[test]
fn a_variable_that_names_no_namespaces() {
    let help = "write `- name: WATCH_NAMESPACE` with `valueFrom: {fieldRef: {fieldPath: metadata.namespace}}` \
                for the operator's own namespace, or with `value: \"team-a,team-b\"`\n";
    let deployment = "config/manager/manager.yaml";
    let sandbox = project();
    watch(&sandbox, "7");
    let message = "`WATCH_NAMESPACE` names no namespaces that roles can be made for";
    let at = place(&sandbox);
    refused(
        &sandbox,
        "manifests",
        &format!("error: {deployment}:{at}: {message}; {help}"),
    );

    let sandbox = project();
    let variable = format!("        - name: WATCH_NAMESPACE\n{OF_POD}");
    sandbox.edit(deployment, &variable, "");
    let message = "the container `manager` has no variable `WATCH_NAMESPACE`";
    refused(
        &sandbox,
        "manifests",
        &format!("error: {deployment}:1:1: {message}; {help}"),
    );

    let sandbox = project();
    std::fs::remove_file(sandbox.path().join(deployment)).expect("the file goes");
    refused(
        &sandbox,
        "manifests",
        &format!(
            "error: {deployment}:1:1: there is no such file; take it back from version control: it names the \
             namespaces to watch\n"
        ),
    );
}

#[test]
fn a_rule_that_only_a_cluster_role_can_have() {
    let sandbox = project();
    for (rule, what) in [
        ("urls=/metrics,verbs=get", "the URL `/metrics`"),
        (
            "groups=core,resources=pods;nodes,verbs=get",
            "that on `nodes`",
        ),
        (
            "groups=core,resources=namespaces,verbs=get;list",
            "that on `namespaces`",
        ),
    ] {
        sandbox.write("src/a.rs", &format!("// +kbr:rbac:{rule}\n"));
        refused(
            &sandbox,
            "manifests",
            &format!(
                "error: src/a.rs:1:1: no Role can allow {what}, and PROJECT has `namespaced: true`: the operator \
                 has Roles alone; leave it out of the marker, or write a ClusterRole with its binding in \
                 `config/rbac` by hand\n"
            ),
        );
    }
    sandbox.write(
        "src/a.rs",
        "// +kbr:rbac:groups=core,resources=namespaces,verbs=get;patch\n",
    );
    sandbox.kbr("manifests").success();
}

#[test]
fn a_kind_that_is_in_no_namespace() {
    let sandbox = project();
    refused(
        &sandbox,
        "create api --kind Foo --namespaced=false",
        "error: `Foo` would be cluster-scoped, but the operator has its rights in namespaces alone: PROJECT has \
         `namespaced: true`\n help: keep it `namespaced`\n",
    );
    for kind in ["Namespace", "Node"] {
        refused(
            &sandbox,
            &format!(
                "create api --group core --version v1 --kind {kind} --resource=false --controller"
            ),
            &format!(
                "error: `{kind}` is in no namespace, but the operator has its rights in namespaces alone: \
                 PROJECT has `namespaced: true`\n \
                 help: choose a kind that is in namespaces, or use a project of its own, made without \
                 `--namespaced`\n"
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
    let reason = "`example.com/v1alpha1 Foo` is cluster-scoped, and the operator has rights in namespaces alone: \
                  `namespaced: true`\n";
    assert!(run.stderr.contains(reason), "{}", run.stderr);
}

#[test]
fn a_scope_that_was_changed_in_the_code_alone() {
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
            "error: `Foo` would be cluster-scoped, but the operator has its rights in namespaces alone: PROJECT \
             has `namespaced: true`\n help: keep it `namespaced`\n"
        ),
        "{}",
        refused.stderr
    );
    assert_same(&before, &sandbox.tree());
}

#[test]
fn a_controller_for_a_type_of_kubernetes_own_that_is_in_no_namespace() {
    let sandbox = project();
    refused(
        &sandbox,
        "create api --group core --version v1 --kind Node --resource=false",
        "error: `Node` is in no namespace, but the operator has its rights in namespaces alone: \
         PROJECT has `namespaced: true`\n \
         help: choose a kind that is in namespaces, or use a project of its own, made without \
         `--namespaced`\n",
    );
    sandbox
        .kbr("create api --group core --version v1 --kind Pod --resource=false")
        .success();
}
