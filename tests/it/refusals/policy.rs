//! Policies that cannot be added to a project, or exist already.

use std::fs;

use snapbox::str;

use super::{refused, told, with_foo};
use crate::support::Sandbox;

#[test]
fn neither_type_or_an_existing_one() {
    let sandbox = with_foo();
    refused(&sandbox, "create policy --kind Foo");
    let line = "create policy --kind Foo --mutating --validating";
    sandbox.kbr(line).success();
    refused(&sandbox, line);
    told(str![[r#"
$ kbr create policy --kind Foo
error: nothing to do: no policy is requested
 help: add `--validating` to refuse requests, `--mutating` to change objects, or both

$ kbr create policy --kind Foo --mutating --validating
error: `example.com/v1alpha1 Foo` already has a mutating policy
       `example.com/v1alpha1 Foo` already has a validating policy
 help: add `--force` to overwrite its files, or omit `--mutating`
 help: add `--force` to overwrite its files, or omit `--validating`
"#]]);
}

#[test]
fn an_unknown_type() {
    let sandbox = with_foo();
    for of in [
        "--kind Bar",
        "--kind Foo --version v2",
        "--kind Pod",
        "--group core --version v2 --kind Pod",
        "--group core --version v1 --kind Pood",
        "--group cert-manager.io --version v1 --kind Issuer",
    ] {
        refused(&sandbox, &format!("create policy {of} --validating"));
    }
    told(str![[r#"
$ kbr create policy --kind Bar --validating
error: `example.com/v1alpha1 Bar` is not in PROJECT
 help: PROJECT has `--version v1alpha1 --kind Foo`; type `kbr create api --version v1alpha1 --kind Bar` first

$ kbr create policy --kind Foo --version v2 --validating
error: `example.com/v2 Foo` is not in PROJECT
 help: type `--version v1alpha1 --kind Foo`, which PROJECT has, or `kbr create api --version v2 --kind Foo` first

$ kbr create policy --kind Pod --validating
error: `example.com/v1alpha1 Pod` is not in PROJECT
 help: PROJECT has `--version v1alpha1 --kind Foo`; type `kbr create api --version v1alpha1 --kind Pod` first, or type `--group core --version v1` for Kubernetes' own

$ kbr create policy --group core --version v2 --kind Pod --validating
error: kbr knows `Pod` of Kubernetes' `core` only in `v1`
 help: type `--version v1`, or `kbr create api --version v2 --kind Pod` first for a kind of your own

$ kbr create policy --group core --version v1 --kind Pood --validating
error: `core.example.com/v1 Pood` is not in PROJECT
 help: PROJECT has `--version v1alpha1 --kind Foo`; type `kbr create api --version v1 --kind Pood` first, or `--kind Pod` for Kubernetes' own

$ kbr create policy --group cert-manager.io --version v1 --kind Issuer --validating
error: `cert-manager.io.example.com/v1 Issuer` is not in PROJECT
 help: PROJECT has `--version v1alpha1 --kind Foo`; type `kbr create api --version v1 --kind Issuer` first
"#]]);
}

#[test]
fn what_cannot_be_deleted() {
    let sandbox = with_foo();
    refused(&sandbox, "delete policy --kind Foo");
    refused(&sandbox, "delete policy --kind Foo --validating");
    for line in [
        "create policy --kind Foo --validating",
        "create policy --group core --version v1 --kind Pod --mutating",
    ] {
        sandbox.kbr(line).success();
    }
    for line in [
        "delete policy --kind Foo",
        "delete policy --kind Foo --mutating --validating",
        "delete policy --kind Bar --validating",
        "delete api --kind Foo",
        "delete api --group core --version v1 --kind Pod",
    ] {
        refused(&sandbox, line);
    }
    told(str![[r#"
$ kbr delete policy --kind Foo
error: nothing to do: no policy is requested
 help: the type has no policies: there is nothing to delete

$ kbr delete policy --kind Foo --validating
error: `example.com/v1alpha1 Foo` has no validating policy
 help: omit `--validating`

$ kbr delete policy --kind Foo
error: nothing to do: no policy is requested
 help: name what to delete; the type has `--validating`

$ kbr delete policy --kind Foo --mutating --validating
error: `example.com/v1alpha1 Foo` has no mutating policy
 help: omit `--mutating`

$ kbr delete policy --kind Bar --validating
error: `example.com/v1alpha1 Bar` is not in PROJECT
 help: PROJECT has `--group core --version v1 --kind Pod`, `--version v1alpha1 --kind Foo`

$ kbr delete api --kind Foo
error: `example.com/v1alpha1 Foo` has policies
 help: type `kbr delete policy --version v1alpha1 --kind Foo --validating` first

$ kbr delete api --group core --version v1 --kind Pod
error: `core/v1 Pod` is not defined in this project: there is no type to delete
 help: type `kbr delete policy --group core --version v1 --kind Pod --mutating`
"#]]);
}

/// A project without types, so that nothing must be compiled, with a policy for ConfigMaps.
fn with_policy(spec: &str) -> Sandbox {
    let sandbox = Sandbox::with_project();
    let folder = sandbox.path().join("config/policy");
    fs::create_dir(&folder).unwrap();
    let text = format!(
        "\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: own
spec:
  matchConstraints:
    resourceRules:
    - apiGroups: ['']
      apiVersions: [v1]
      operations: [CREATE]
      resources: [configmaps]
{spec}"
    );
    fs::write(folder.join("own.yaml"), text).unwrap();
    sandbox
}

#[test]
fn an_expression_that_cannot_work() {
    for expression in [
        "object.data.a = 'b'",
        "objekt.data.a == 'b'",
        "request.user.name == 'b'",
        "request.name > 3",
        "request.name",
        "object.data.a",
    ] {
        let spec = format!("  validations:\n  - expression: {expression}\n");
        let sandbox = with_policy(&spec);
        refused(&sandbox, "manifests");
        refused(&sandbox, "manifests --check");
    }
    told(str![[r#"
$ kbr manifests
error: config/policy/own.yaml:13:31: `=` is not CEL: equality is `==`; see https://kubernetes.io/docs/reference/using-api/cel

$ kbr manifests --check
error: config/policy/own.yaml:13:31: `=` is not CEL: equality is `==`; see https://kubernetes.io/docs/reference/using-api/cel

$ kbr manifests
error: config/policy/own.yaml:13:17: `objekt` is not declared (did you mean `object`?): an expression can use `object`, `oldObject`, `request`, `namespaceObject`, `authorizer`; see https://kubernetes.io/docs/reference/using-api/cel

$ kbr manifests --check
error: config/policy/own.yaml:13:17: `objekt` is not declared (did you mean `object`?): an expression can use `object`, `oldObject`, `request`, `namespaceObject`, `authorizer`; see https://kubernetes.io/docs/reference/using-api/cel

$ kbr manifests
error: config/policy/own.yaml:13:25: `request` has no field `user`; see https://kubernetes.io/docs/reference/using-api/cel

$ kbr manifests --check
error: config/policy/own.yaml:13:25: `request` has no field `user`; see https://kubernetes.io/docs/reference/using-api/cel

$ kbr manifests
error: config/policy/own.yaml:13:30: `request.name` is a string and the constant is an integer: `>` needs values of the same type; see https://kubernetes.io/docs/reference/using-api/cel

$ kbr manifests --check
error: config/policy/own.yaml:13:30: `request.name` is a string and the constant is an integer: `>` needs values of the same type; see https://kubernetes.io/docs/reference/using-api/cel

$ kbr manifests
error: config/policy/own.yaml:13:17: the expression is a string, but must be true or false; see https://kubernetes.io/docs/reference/using-api/cel

$ kbr manifests --check
error: config/policy/own.yaml:13:17: the expression is a string, but must be true or false; see https://kubernetes.io/docs/reference/using-api/cel

$ kbr manifests
error: config/policy/own.yaml:13:17: the API server does not know that this is true or false: write `== true` after it; see https://kubernetes.io/docs/reference/using-api/cel

$ kbr manifests --check
error: config/policy/own.yaml:13:17: the API server does not know that this is true or false: write `== true` after it; see https://kubernetes.io/docs/reference/using-api/cel
"#]]);
}

#[test]
fn a_policy_or_a_binding_that_does_not_exist_or_has_no_such_field() {
    refused(&with_policy("  validation: []\n"), "manifests");
    refused(&with_policy("  failurePolicy: {\n"), "manifests");
    let binding = "\
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: own
spec:
  policyName: other
";
    refused(&with_policy(binding), "manifests");
    told(str![[r#"
$ kbr manifests
error: config/policy/own.yaml:12:3: a ValidatingAdmissionPolicy has no field `spec.validation`; `kubectl explain ValidatingAdmissionPolicy` lists the fields

$ kbr manifests
error: config/policy/own.yaml:13:1: this is not YAML: did not find expected node content at line 13 column 1, while parsing a flow node; correct the line: YAML needs quotes around a text that begins with `!`, `{`, `[`, `*` or `&`, or has `: ` or ` #` in it

$ kbr manifests
error: config/policy/own.yaml:18:3: the binding is for the ValidatingAdmissionPolicy `other`, which is not in config/policy: it would do nothing; after `policyName:`, write `own`
"#]]);
}
