//! An API that cannot stand in this project.

use super::{refused, with_domain, with_foo};
use crate::support::{Sandbox, assert_same};

#[test]
fn a_protected_group() {
    for (domain, line, group) in [
        ("k8s.io", "create api --kind Foo", "k8s.io"),
        ("k8s.io", "create api --kind Foo --group x", "x.k8s.io"),
        ("x.k8s.io", "create api --kind Foo", "x.k8s.io"),
        (
            "kubernetes.io",
            "create api --kind Foo --group x",
            "x.kubernetes.io",
        ),
        (
            "io",
            "create api --kind Foo --group kubernetes",
            "kubernetes.io",
        ),
    ] {
        refused(
            &with_domain(domain),
            line,
            &format!(
                "error: the API group `{group}` is protected: only Kubernetes itself defines types in it\n \
                 help: choose a group of your own; \
                 a CRD there needs the annotation `api-approved.kubernetes.io`\n"
            ),
        );
    }
    with_domain("mykubernetes.io")
        .kbr("create api --kind Foo")
        .success();
}

#[test]
fn a_group_without_a_dot() {
    let sandbox = with_domain("local");
    for line in ["create api --kind Foo", "create api --kind Foo --group="] {
        refused(
            &sandbox,
            line,
            "error: the API group `local` has no dot: the API server refuses such a CRD\n \
             help: add `--group GROUP`, such as `--group batch`\n",
        );
    }
    sandbox.kbr("create api --kind Foo --group batch").success();
}

#[test]
fn a_second_group() {
    let sandbox = with_foo();
    let help = "\n help: type `kbr edit --multigroup` first, or use the same `--group` as before\n";
    let text = "error: the project has one API group, `example.com`, and `batch.example.com` would be \
                a second";
    refused(
        &sandbox,
        "create api --kind Bar --group batch",
        &format!("{text}{help}"),
    );
    sandbox.kbr("create api --kind Bar").success();
}

#[test]
fn an_api_that_exists() {
    let sandbox = with_foo();
    refused(
        &sandbox,
        "create api --kind Foo",
        "error: `example.com/v1alpha1 Foo` exists already\n \
         help: add `--force` to write its files anew, or choose another kind or version\n",
    );
    let without_controller = Sandbox::with_project();
    without_controller
        .kbr("create api --kind Foo --controller=false")
        .success();
    refused(
        &without_controller,
        "create api --kind Foo",
        "error: `example.com/v1alpha1 Foo` exists already\n \
         help: add `--force` to write its files anew, `--resource=false` to add only a \
         controller, or choose another kind or version\n",
    );
    let before = sandbox.tree();
    sandbox.write("api/src/v1alpha1/foo_types.rs", "edited\n");
    sandbox.kbr("create api --kind Foo --force").success();
    assert_same(&before, &sandbox.tree());
}

#[test]
fn a_controller_that_exists() {
    let sandbox = with_foo();
    let text = "error: `Foo` has a controller already, for `v1alpha1`\n help: ";
    refused(
        &sandbox,
        "create api --kind Foo --resource=false",
        &format!(
            "{text}add `--force` to write it anew, `--controller-name NAME` for another one, or \
             `--controller=false` to leave it alone\n"
        ),
    );
    sandbox
        .kbr("create api --kind Foo --resource=false --force")
        .success();
    for line in [
        "create api --kind Foo --version v1 --controller",
        "create api --kind Foo --version v1 --controller --force",
    ] {
        let help = "add `--controller=false`: one controller serves all versions of a kind; for \
                    another one, add `--controller-name NAME`\n";
        refused(&sandbox, line, &format!("{text}{help}"));
    }
    sandbox.kbr("create api --kind Foo --version v1").success();
}

#[test]
fn a_controller_for_an_unknown_type() {
    let sandbox = Sandbox::with_project();
    refused(
        &sandbox,
        "create api --group batch --version v1 --kind Foo --resource=false",
        "error: `batch.example.com/v1 Foo` is not in PROJECT\n \
         help: leave `--resource=false` out to create the type, or name one of Kubernetes' own after \
         `--kind`: CronJob, Job\n",
    );
    refused(
        &sandbox,
        "create api --group batch --version v2 --kind Foo --resource=false",
        "error: `batch.example.com/v2 Foo` is not in PROJECT\n \
         help: leave `--resource=false` out to create the type\n",
    );
    sandbox
        .kbr("create api --group batch --version v1 --kind Foo")
        .success();
}

#[test]
fn a_controller_for_a_type_that_kubernetes_has_otherwise() {
    let sandbox = Sandbox::with_project();
    let own = "--version v1 --kind Ingress --resource=false";
    for group in ["networking", "networking.k8s.io"] {
        refused(
            &sandbox,
            &format!("create api --group {group} --kind Ingress --resource=false"),
            &format!(
                "error: kbr knows no `v1alpha1` of Kubernetes' own `Ingress`\n \
                 help: type `kbr create api --group networking.k8s.io {own}`\n"
            ),
        );
    }
    refused(
        &sandbox,
        "create api --version v1 --kind Ingress --resource=false",
        "error: `example.com/v1 Ingress` is not in PROJECT\n \
         help: leave `--resource=false` out to create the type, or type `--group networking.k8s.io \
         --version v1` for Kubernetes' own\n",
    );
    let line = format!("create api --group networking.k8s.io {own}");
    refused(
        &sandbox,
        &format!("{line} --plural ingress"),
        "error: `Ingress` has the plural `ingresses` in Kubernetes\n \
         help: type `--plural ingresses`, or leave it out\n",
    );
    refused(
        &sandbox,
        &format!("{line} --namespaced=false"),
        "error: `Ingress` has the scope `namespaced: true` already\n \
         help: type `--namespaced=true`, or leave it out; a kind has one scope in all versions\n",
    );
    sandbox.kbr(&line).success();
}

#[test]
fn a_second_controller_without_a_name_for_a_type_of_kubernetes_own() {
    let sandbox = Sandbox::with_project();
    let line = "create api --group core --version v1 --kind Pod --resource=false";
    sandbox.kbr(line).success();
    refused(
        &sandbox,
        line,
        "error: `Pod` has a controller already, for `v1`\n \
         help: add `--force` to write it anew, `--controller-name NAME` for another one, or \
         `--controller=false` to leave it alone\n",
    );
    sandbox
        .kbr(&format!("{line} --controller-name pod-backup"))
        .success();
}

#[test]
fn neither_resource_nor_controller() {
    let sandbox = Sandbox::with_project();
    refused(
        &sandbox,
        "create api --kind Foo --resource=false --controller false",
        "error: neither the resource nor the controller is wanted: nothing to do\n \
         help: leave out `--resource=false` or `--controller=false`\n",
    );
    sandbox
        .kbr("create api --kind Foo --controller false")
        .success();
    sandbox
        .kbr("create api --kind Foo --resource=false")
        .success();
}

#[test]
fn kinds_that_would_share_a_name() {
    let sandbox = with_foo();
    for (line, wanted, clash) in [
        ("--kind FOO", "FOO", "both have the plural `foos`"),
        (
            "--kind FOO --plural foes",
            "FOO",
            "both need the name `FOO`",
        ),
        ("--kind FooSpec", "FooSpec", "both need the name `FooSpec`"),
        (
            "--kind FooStatus",
            "FooStatus",
            "both need the name `FooStatus`",
        ),
        ("--kind FooList", "FooList", "both need the name `FooList`"),
        (
            "--kind FooList --version v2",
            "FooList",
            "both need the name `FooList`",
        ),
        (
            "--kind Bar --plural foos",
            "Bar",
            "both have the plural `foos`",
        ),
        (
            "--kind Bar --plural foo",
            "Bar",
            "`foo` is the plural of `Bar` and the singular of `Foo`",
        ),
        ("--kind Foos", "Foos", "both have the plural `foos`"),
        (
            "--kind Foos --plural fooses",
            "Foos",
            "`foos` is the plural of `Foo` and the singular of `Foos`",
        ),
    ] {
        refused(
            &sandbox,
            &format!("create api {line}"),
            &format!(
                "error: `{wanted}` cannot stand beside `Foo`: {clash}\n \
                 help: choose another `--kind` or `--plural`\n"
            ),
        );
    }
    sandbox.kbr("create api --kind FooBar").success();
}

#[test]
fn two_plurals_of_one_kind() {
    let sandbox = with_foo();
    refused(
        &sandbox,
        "create api --kind Foo --version v1 --controller=false --plural fooes",
        "error: `Foo` has the plural `foos` in PROJECT\n \
         help: type `--plural foos`, or leave it out\n",
    );
    sandbox
        .kbr("create api --kind Foo --version v1 --controller=false --plural foos")
        .success();
    refused(
        &with_foo(),
        "create api --kind Foo --plural fooes --force",
        "error: `Foo` has the plural `foos` in PROJECT\n \
         help: type `--plural foos`, or leave it out\n",
    );
}

#[test]
fn a_crd_whose_name_is_too_long() {
    let label = "a".repeat(60);
    let domain = [&*label; 4].join(".");
    let sandbox = with_domain(&domain);
    let line = "create api --kind ElevenChars";
    refused(
        &sandbox,
        line,
        &format!(
            "error: the CRD's name `elevenchars.{domain}` is longer than 250 characters: its file's \
             name would be too long\n \
             help: choose a shorter `--group`, `--kind` or `--plural`\n"
        ),
    );
    sandbox.kbr("create api --kind Foo").success();
}

#[test]
fn an_image_without_what_it_is_for() {
    let sandbox = Sandbox::with_project();
    let both =
        "error: `--image` is for a type and its controller, and one of them is not wanted\n help: ";
    for option in ["--resource=false", "--controller=false"] {
        refused(
            &sandbox,
            &format!("create api --kind Foo --image a {option}"),
            &format!("{both}leave out `{option}` or `--image`\n"),
        );
    }
    refused(
        &sandbox,
        "create api --kind Foo --image a --namespaced=false",
        "error: `Foo` would be cluster-scoped, but what runs an image is in a namespace\n \
         help: leave `--namespaced=false` out\n",
    );
    sandbox.kbr("create api --kind Foo").success();
    refused(
        &sandbox,
        "create api --kind Foo --version v1 --image a",
        &format!(
            "{both}leave out `--image`; the kind may have a controller already: for another one, add \
             `--controller=true --controller-name NAME`\n"
        ),
    );
}
