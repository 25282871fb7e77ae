//! `kbr init --namespaced`: an operator that watches namespaces and has a Role in each.

use serde_json::{Value, json};

use crate::support::goldens::check_out;
use crate::support::{Sandbox, compiling, kustomize};

/// A project with one RBAC rule and without kinds, so that `kbr manifests` compiles nothing.
pub fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox
        .kbr("init --domain example.com --project-name sandbox --namespaced")
        .success();
    let rule = "// +kbr:rbac:groups=batch,resources=jobs,verbs=list;watch\n";
    sandbox.module("a", rule);
    sandbox
}

/// What the variable has instead of a value in a new project.
pub const OF_POD: &str = "          valueFrom:\n            fieldRef:\n              apiVersion: v1\n              fieldPath: metadata.namespace\n";

/// Makes the operator watch the namespaces of `value`.
pub fn watch(sandbox: &Sandbox, value: &str) {
    let value = format!("          value: {value}\n");
    let deployment = "config/manager/manager.yaml";
    let text = sandbox.read(deployment);
    let (before, after) = text
        .split_once("- name: WATCH_NAMESPACE\n")
        .expect("the variable");
    let after = after.strip_prefix(OF_POD).unwrap_or_else(|| {
        let value = after.split_inclusive('\n').next().unwrap_or_default();
        &after[value.len()..]
    });
    let text = format!("{before}- name: WATCH_NAMESPACE\n{value}{after}");
    sandbox.write(deployment, &text);
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Kind, namespace and name of each object of these kinds.
fn of_kinds<'a>(objects: &'a [Value], kinds: &[&str]) -> Vec<(&'a str, &'a str, &'a str)> {
    let keys = objects.iter().map(|object| {
        let metadata = |key| text(object, &format!("/metadata/{key}"));
        (
            text(object, "/kind"),
            metadata("namespace"),
            metadata("name"),
        )
    });
    let mut keys: Vec<_> = keys.filter(|(kind, ..)| kinds.contains(kind)).collect();
    keys.sort_unstable();
    keys
}

/// Asserts that every binding is for the manager's ServiceAccount, by its name and namespace.
fn assert_bound(objects: &[Value], project: &str) {
    let bindings = objects
        .iter()
        .filter(|object| text(object, "/kind").ends_with("RoleBinding"));
    for binding in bindings {
        let subject = |key| text(binding, &format!("/subjects/0/{key}"));
        assert_eq!(
            subject("namespace"),
            format!("{project}-system"),
            "{binding}"
        );
        assert_eq!(
            subject("name"),
            format!("{project}-controller-manager"),
            "{binding}"
        );
    }
}

/// The two kinds of projects differ only in their roles, and in the variable, when they are deployed.
#[test]
fn everything_except_the_roles_is_deployed_as_in_a_cluster_wide_project() {
    let (own, cluster) = (project(), Sandbox::with_project());
    cluster.module("a", &own.read("src/a.rs"));
    for sandbox in [&own, &cluster] {
        sandbox.kbr("manifests").success();
    }
    let (own, cluster) = (kustomize(&own), kustomize(&cluster));
    let others = |objects: &[Value]| -> Vec<Value> {
        let mut objects = objects.to_vec();
        objects
            .retain(|object| !text(object, "/metadata/name").starts_with("sandbox-manager-role"));
        for object in &mut objects {
            let containers = "/spec/template/spec/containers/0/env";
            if let Some(Value::Array(variables)) = object.pointer_mut(containers) {
                variables.retain(|variable| variable["name"] != "WATCH_NAMESPACE");
            }
        }
        objects
    };
    assert_eq!(others(&own), others(&cluster));
    assert_bound(&own, "sandbox");
    let roles = ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];
    let system = "sandbox-system";
    assert_eq!(
        of_kinds(&own, &roles),
        [
            ("ClusterRole", "", "sandbox-metrics-auth-role"),
            ("ClusterRole", "", "sandbox-metrics-reader"),
            ("ClusterRoleBinding", "", "sandbox-metrics-auth-rolebinding"),
            ("Role", system, "sandbox-leader-election-role"),
            ("Role", system, "sandbox-manager-role"),
            ("RoleBinding", system, "sandbox-leader-election-rolebinding"),
            ("RoleBinding", system, "sandbox-manager-rolebinding"),
        ]
    );
}

#[test]
fn each_namespace_that_is_listed_has_a_role_with_its_binding() {
    let sandbox = project();
    watch(&sandbox, "\"team-b,team-a\"");
    sandbox.kbr("manifests").success();
    let objects = kustomize(&sandbox);
    assert_bound(&objects, "sandbox");
    let roles: Vec<_> = of_kinds(&objects, &["Role", "RoleBinding"]);
    assert_eq!(
        roles,
        [
            ("Role", "sandbox-system", "sandbox-leader-election-role"),
            ("Role", "team-a", "sandbox-manager-role"),
            ("Role", "team-b", "sandbox-manager-role"),
            (
                "RoleBinding",
                "sandbox-system",
                "sandbox-leader-election-rolebinding"
            ),
            ("RoleBinding", "team-a", "sandbox-manager-rolebinding"),
            ("RoleBinding", "team-b", "sandbox-manager-rolebinding"),
        ]
    );

    // A namespace that is no longer listed loses its role, and the operator's own may be listed too.
    watch(&sandbox, "\"sandbox-system,team-a\"");
    let check = sandbox.kbr("manifests --check").failure();
    assert!(
        check.stderr.contains("`config/rbac/role.yaml`"),
        "{}",
        check.stderr
    );
    sandbox.kbr("manifests").success();
    let objects = kustomize(&sandbox);
    assert_bound(&objects, "sandbox");
    let mut roles = of_kinds(&objects, &["Role"]);
    roles.retain(|(.., name)| *name == "sandbox-manager-role");
    let namespaces: Vec<_> = roles.iter().map(|(_, namespace, _)| *namespace).collect();
    assert_eq!(namespaces, ["sandbox-system", "team-a"]);
}

/// The Service and the certificates of webhooks are in the operator's namespace.
#[test]
fn what_belongs_to_webhooks_is_in_the_operators_namespace() {
    let _one_at_a_time = compiling();
    let sandbox = Sandbox::new();
    check_out("namespaced", sandbox.path());
    watch(&sandbox, "team-a");
    sandbox.kbr("manifests").success();
    let objects = kustomize(&sandbox);
    assert_bound(&objects, "namespaced");
    let system = "namespaced-system";
    let mut namespaces: Vec<_> = objects
        .iter()
        .map(|object| text(object, "/metadata/namespace"))
        .collect();
    namespaces.sort_unstable();
    namespaces.dedup();
    assert_eq!(namespaces, ["", system, "team-a"]);
    let of_kind = |kind: &str| {
        let mut objects = objects.iter();
        objects
            .find(|object| text(object, "/kind") == kind)
            .expect(kind)
    };
    let webhooks = of_kind("ValidatingWebhookConfiguration");
    let service = |key| text(webhooks, &format!("/webhooks/0/clientConfig/service/{key}"));
    assert_eq!(
        (service("namespace"), service("name")),
        (system, "namespaced-webhook-service")
    );
    let of_certificates = objects.iter().filter(|object| {
        text(object, "/metadata/name") == "namespaced-certificates-role"
            && text(object, "/kind").ends_with("Binding")
    });
    let accounts: Vec<_> = of_certificates
        .map(|object| text(object, "/subjects/0/namespace"))
        .collect();
    assert_eq!(accounts, [system, system]);
    let variables = of_kind("Deployment").pointer("/spec/template/spec/containers/0/env");
    let variables = variables.and_then(Value::as_array).expect("variables");
    let service = json!({ "name": "WEBHOOK_SERVICE", "value": "namespaced-webhook-service" });
    assert!(variables.contains(&service), "{variables:?}");
}

#[test]
fn project_says_that_it_is_namespaced() {
    assert!(project().read("PROJECT").contains("\nnamespaced: true\n"));
    assert!(
        !Sandbox::with_project()
            .read("PROJECT")
            .contains("namespaced")
    );
}

#[test]
fn roles_for_people_are_roles() {
    let sandbox = project();
    sandbox.kbr("create api --kind Foo").success();
    for who in ["admin", "editor", "viewer"] {
        let role = sandbox.read(&format!("config/rbac/foo_{who}_role.yaml"));
        assert!(role.contains("\nkind: Role\n"), "{role}");
    }
}
