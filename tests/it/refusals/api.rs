//! APIs that cannot be added to a project.

use snapbox::str;

use super::{refused, told, with_domain, with_foo};
use crate::support::{Sandbox, assert_same};

#[test]
fn a_protected_group() {
    for (domain, line) in [
        ("k8s.io", "create api --kind Foo"),
        ("k8s.io", "create api --kind Foo --group x"),
        ("x.k8s.io", "create api --kind Foo"),
        ("kubernetes.io", "create api --kind Foo --group x"),
        ("io", "create api --kind Foo --group kubernetes"),
    ] {
        refused(&with_domain(domain), line);
    }
    with_domain("mykubernetes.io")
        .kbr("create api --kind Foo")
        .success();
    told(str![[r#"
$ kbr create api --kind Foo
error: the API group `k8s.io` is protected: only Kubernetes itself defines types in it
 help: choose your own group; a CRD in this one needs the annotation `api-approved.kubernetes.io`

$ kbr create api --kind Foo --group x
error: the API group `x.k8s.io` is protected: only Kubernetes itself defines types in it
 help: choose your own group; a CRD in this one needs the annotation `api-approved.kubernetes.io`

$ kbr create api --kind Foo
error: the API group `x.k8s.io` is protected: only Kubernetes itself defines types in it
 help: choose your own group; a CRD in this one needs the annotation `api-approved.kubernetes.io`

$ kbr create api --kind Foo --group x
error: the API group `x.kubernetes.io` is protected: only Kubernetes itself defines types in it
 help: choose your own group; a CRD in this one needs the annotation `api-approved.kubernetes.io`

$ kbr create api --kind Foo --group kubernetes
error: the API group `kubernetes.io` is protected: only Kubernetes itself defines types in it
 help: choose your own group; a CRD in this one needs the annotation `api-approved.kubernetes.io`
"#]]);
}

#[test]
fn a_group_without_a_dot() {
    let sandbox = with_domain("local");
    for line in ["create api --kind Foo", "create api --kind Foo --group="] {
        refused(&sandbox, line);
    }
    sandbox.kbr("create api --kind Foo --group batch").success();
    told(str![[r#"
$ kbr create api --kind Foo
error: the API group `local` has no dot: the API server refuses such a CRD
 help: add `--group GROUP`, such as `--group batch`

$ kbr create api --kind Foo --group=
error: the API group `local` has no dot: the API server refuses such a CRD
 help: add `--group GROUP`, such as `--group batch`
"#]]);
}

#[test]
fn a_second_group() {
    let sandbox = with_foo();
    refused(&sandbox, "create api --kind Bar --group batch");
    sandbox.kbr("create api --kind Bar").success();
    told(str![[r#"
$ kbr create api --kind Bar --group batch
error: the project has one API group, `example.com`, and `batch.example.com` would be a second
 help: omit `--group`, as before, or type `kbr edit --multigroup` first
"#]]);
}

#[test]
fn an_api_that_exists() {
    let sandbox = with_foo();
    refused(&sandbox, "create api --kind Foo");
    let without_controller = Sandbox::with_project();
    without_controller
        .kbr("create api --kind Foo --controller=false")
        .success();
    refused(&without_controller, "create api --kind Foo");
    let before = sandbox.tree();
    sandbox.write("api/src/v1alpha1/foo_types.rs", "edited\n");
    sandbox.kbr("create api --kind Foo --force").success();
    assert_same(&before, &sandbox.tree());
    told(str![[r#"
$ kbr create api --kind Foo
error: `example.com/v1alpha1 Foo` already exists
 help: add `--force` to overwrite its files, or choose another kind or version

$ kbr create api --kind Foo
error: `example.com/v1alpha1 Foo` already exists
 help: add `--force` to overwrite its files, `--resource=false` to add only a controller, or choose another kind or version
"#]]);
}

#[test]
fn a_controller_that_exists() {
    let sandbox = with_foo();
    refused(&sandbox, "create api --kind Foo --resource=false");
    sandbox
        .kbr("create api --kind Foo --resource=false --force")
        .success();
    for line in [
        "create api --kind Foo --version v1 --controller",
        "create api --kind Foo --version v1 --controller --force",
    ] {
        refused(&sandbox, line);
    }
    sandbox.kbr("create api --kind Foo --version v1").success();
    told(str![[r#"
$ kbr create api --kind Foo --resource=false
error: `Foo` already has a controller, for `v1alpha1`
 help: add `--force` to overwrite it, `--controller-name NAME` to add another, or `--controller=false` to leave it as it is

$ kbr create api --kind Foo --version v1 --controller
error: `Foo` already has a controller, for `v1alpha1`
 help: add `--controller=false`: one controller serves all versions of a kind; to add another, type `--controller-name NAME`

$ kbr create api --kind Foo --version v1 --controller --force
error: `Foo` already has a controller, for `v1alpha1`
 help: add `--controller=false`: one controller serves all versions of a kind; to add another, type `--controller-name NAME`
"#]]);
}

#[test]
fn a_controller_for_an_unknown_type() {
    let sandbox = Sandbox::with_project();
    refused(
        &sandbox,
        "create api --group batch --version v1 --kind Foo --resource=false",
    );
    refused(
        &sandbox,
        "create api --group batch --version v2 --kind Foo --resource=false",
    );
    sandbox
        .kbr("create api --group batch --version v1 --kind Foo")
        .success();
    told(str![[r#"
$ kbr create api --group batch --version v1 --kind Foo --resource=false
error: `batch.example.com/v1 Foo` is not in PROJECT
 help: omit `--resource=false` to create the type, or add `--external-api-crd FILE` if another operator defines it, or `--kind Job` for Kubernetes' own

$ kbr create api --group batch --version v2 --kind Foo --resource=false
error: `batch.example.com/v2 Foo` is not in PROJECT
 help: omit `--resource=false` to create the type, or add `--external-api-crd FILE` if another operator defines it
"#]]);
}

#[test]
fn a_controller_whose_options_contradict_a_type_of_kubernetes_own() {
    let sandbox = Sandbox::with_project();
    let own = "--version v1 --kind Ingress --resource=false";
    for group in ["networking", "networking.k8s.io"] {
        refused(
            &sandbox,
            &format!("create api --group {group} --kind Ingress --resource=false"),
        );
    }
    refused(
        &sandbox,
        "create api --version v1 --kind Ingress --resource=false",
    );
    let line = format!("create api --group networking.k8s.io {own}");
    refused(&sandbox, &format!("{line} --plural ingress"));
    refused(&sandbox, &format!("{line} --namespaced=false"));
    sandbox.kbr(&line).success();
    told(str![[r#"
$ kbr create api --group networking --kind Ingress --resource=false
error: kbr does not know version `v1alpha1` of Kubernetes' `Ingress`
 help: type `kbr create api --group networking.k8s.io --version v1 --kind Ingress --resource=false`

$ kbr create api --group networking.k8s.io --kind Ingress --resource=false
error: kbr does not know version `v1alpha1` of Kubernetes' `Ingress`
 help: type `kbr create api --group networking.k8s.io --version v1 --kind Ingress --resource=false`

$ kbr create api --version v1 --kind Ingress --resource=false
error: `example.com/v1 Ingress` is not in PROJECT
 help: omit `--resource=false` to create the type, or add `--external-api-crd FILE` if another operator defines it, or type `--group networking.k8s.io --version v1` for Kubernetes' own

$ kbr create api --group networking.k8s.io --version v1 --kind Ingress --resource=false --plural ingress
error: `Ingress` has the plural `ingresses` in Kubernetes
 help: type `--plural ingresses`, or omit it

$ kbr create api --group networking.k8s.io --version v1 --kind Ingress --resource=false --namespaced=false
error: `Ingress` already has the scope `namespaced: true`
 help: type `--namespaced=true`, or omit it; all versions of a kind have the same scope
"#]]);
}

#[test]
fn a_second_controller_without_a_name_for_a_type_of_kubernetes_own() {
    let sandbox = Sandbox::with_project();
    let line = "create api --group core --version v1 --kind Pod --resource=false";
    sandbox.kbr(line).success();
    refused(&sandbox, line);
    sandbox
        .kbr(&format!("{line} --controller-name pod-backup"))
        .success();
    told(str![[r#"
$ kbr create api --group core --version v1 --kind Pod --resource=false
error: `Pod` already has a controller, for `v1`
 help: add `--force` to overwrite it, `--controller-name NAME` to add another, or `--controller=false` to leave it as it is
"#]]);
}

#[test]
fn neither_resource_nor_controller() {
    let sandbox = Sandbox::with_project();
    refused(
        &sandbox,
        "create api --kind Foo --resource=false --controller false",
    );
    sandbox
        .kbr("create api --kind Foo --controller false")
        .success();
    sandbox
        .kbr("create api --kind Foo --resource=false")
        .success();
    told(str![[r#"
$ kbr create api --kind Foo --resource=false --controller false
error: nothing to do: neither the resource nor a controller would be created
 help: omit `--resource=false` or `--controller=false`
"#]]);
}

#[test]
fn kinds_that_would_share_a_name() {
    let sandbox = with_foo();
    for line in [
        "--kind FOO",
        "--kind FOO --plural foes",
        "--kind FooSpec",
        "--kind FooStatus",
        "--kind FooList",
        "--kind FooList --version v2",
        "--kind Bar --plural foos",
        "--kind Bar --plural foo",
        "--kind Foos",
        "--kind Foos --plural fooses",
    ] {
        refused(&sandbox, &format!("create api {line}"));
    }
    sandbox.kbr("create api --kind FooBar").success();
    told(str![[r#"
$ kbr create api --kind FOO
error: `FOO` conflicts with `Foo`: both have the plural `foos`
 help: `Foo` already has that version: choose another `--version` for it, or another `--kind`

$ kbr create api --kind FOO --plural foes
error: `FOO` conflicts with `Foo`: both need the name `FOO`
 help: `Foo` already has that version: choose another `--version` for it, or another `--kind`

$ kbr create api --kind FooSpec
error: `FooSpec` conflicts with `Foo`: both need the name `FooSpec`
 help: choose another `--kind` or `--plural`

$ kbr create api --kind FooStatus
error: `FooStatus` conflicts with `Foo`: both need the name `FooStatus`
 help: choose another `--kind` or `--plural`

$ kbr create api --kind FooList
error: `FooList` conflicts with `Foo`: both need the name `FooList`
 help: choose another `--kind` or `--plural`

$ kbr create api --kind FooList --version v2
error: `FooList` conflicts with `Foo`: both need the name `FooList`
 help: choose another `--kind` or `--plural`

$ kbr create api --kind Bar --plural foos
error: `Bar` conflicts with `Foo`: both have the plural `foos`
 help: choose another `--kind` or `--plural`

$ kbr create api --kind Bar --plural foo
error: `Bar` conflicts with `Foo`: `foo` is the plural of `Bar` and the singular of `Foo`
 help: choose another `--kind` or `--plural`

$ kbr create api --kind Foos
error: `Foos` conflicts with `Foo`: both have the plural `foos`
 help: choose another `--kind` or `--plural`

$ kbr create api --kind Foos --plural fooses
error: `Foos` conflicts with `Foo`: `foos` is the plural of `Foo` and the singular of `Foos`
 help: choose another `--kind` or `--plural`
"#]]);
}

#[test]
fn two_plurals_of_one_kind() {
    let sandbox = with_foo();
    refused(
        &sandbox,
        "create api --kind Foo --version v1 --controller=false --plural fooes",
    );
    sandbox
        .kbr("create api --kind Foo --version v1 --controller=false --plural foos")
        .success();
    refused(&with_foo(), "create api --kind Foo --plural fooes --force");
    told(str![[r#"
$ kbr create api --kind Foo --version v1 --controller=false --plural fooes
error: `Foo` has the plural `foos` in PROJECT
 help: type `--plural foos`, or omit it

$ kbr create api --kind Foo --plural fooes --force
error: `Foo` has the plural `foos` in PROJECT
 help: type `--plural foos`, or omit it
"#]]);
}

#[test]
fn a_crd_whose_name_is_too_long() {
    let label = "a".repeat(60);
    let domain = [&*label; 4].join(".");
    let sandbox = with_domain(&domain);
    let line = "create api --kind ElevenChars";
    refused(&sandbox, line);
    sandbox.kbr("create api --kind Foo").success();
    told(str![[r#"
$ kbr create api --kind ElevenChars
error: the CRD name `elevenchars.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa` is longer than 250 characters: its file name would be too long
 help: choose a shorter `--group`, `--kind` or `--plural`
"#]]);
}

#[test]
fn an_image_without_a_new_namespaced_type_and_controller() {
    let sandbox = Sandbox::with_project();
    for option in ["--resource=false", "--controller=false"] {
        refused(
            &sandbox,
            &format!("create api --kind Foo --image a {option}"),
        );
    }
    refused(
        &sandbox,
        "create api --kind Foo --image a --namespaced=false",
    );
    sandbox.kbr("create api --kind Foo").success();
    refused(&sandbox, "create api --kind Foo --version v1 --image a");
    told(str![[r#"
$ kbr create api --kind Foo --image a --resource=false
error: `--image` creates a type and its controller, but one of them is switched off
 help: omit `--resource=false` or `--image`

$ kbr create api --kind Foo --image a --controller=false
error: `--image` creates a type and its controller, but one of them is switched off
 help: omit `--controller=false` or `--image`

$ kbr create api --kind Foo --image a --namespaced=false
error: `Foo` would be cluster-scoped, but the Deployment that runs an image is namespaced
 help: omit `--namespaced=false`

$ kbr create api --kind Foo --version v1 --image a
error: `--image` creates a type and its controller, but one of them is switched off
 help: omit `--image`; if the kind already has a controller, add another with `--controller=true --controller-name NAME`
"#]]);
}
