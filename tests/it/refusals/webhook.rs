//! Webhooks that cannot be added to a project, or exist already.

use snapbox::str;

use super::{bad_value, misused, refused, told, with_domain, with_foo};
use crate::support::Sandbox;

const FOO: &str = "create webhook --kind Foo";
const POD: &str = "create webhook --group core --version v1 --kind Pod";

/// A project with `Foo` in three versions, of which the first is the hub of the second.
fn converted() -> Sandbox {
    let sandbox = with_foo();
    for line in [
        "create api --kind Foo --version v1",
        "create api --kind Foo --version v2",
        "create webhook --kind Foo --conversion --spoke v1",
    ] {
        sandbox.kbr(line).success();
    }
    sandbox
}

#[test]
fn none_of_the_three_types() {
    let sandbox = with_foo();
    refused(&sandbox, FOO);
    sandbox.kbr(&format!("{FOO} --defaulting")).success();
    told(str![[r#"
$ kbr create webhook --kind Foo
error: nothing to do: no webhook is requested
 help: add `--defaulting`, `--programmatic-validation`, or `--conversion --spoke VERSION`
"#]]);
}

#[test]
fn an_unknown_type() {
    let sandbox = Sandbox::with_project();
    for line in [
        "create webhook --kind Foo --defaulting",
        "create webhook --group batch --version v2 --kind Foo --defaulting",
    ] {
        refused(&sandbox, line);
    }
    refused(
        &sandbox,
        "create webhook --group batch --version v1 --kind Foo --defaulting",
    );
    sandbox
        .kbr("create api --group batch --version v1 --kind Foo")
        .success();
    sandbox
        .kbr("create webhook --group batch --version v1 --kind Foo --defaulting")
        .success();
    told(str![[r#"
$ kbr create webhook --kind Foo --defaulting
error: `example.com/v1alpha1 Foo` is not in PROJECT
 help: type `kbr create api --version v1alpha1 --kind Foo` first

$ kbr create webhook --group batch --version v2 --kind Foo --defaulting
error: `batch.example.com/v2 Foo` is not in PROJECT
 help: type `kbr create api --group batch --version v2 --kind Foo` first

$ kbr create webhook --group batch --version v1 --kind Foo --defaulting
error: `batch.example.com/v1 Foo` is not in PROJECT
 help: type `kbr create api --group batch --version v1 --kind Foo` first, or `--kind Job` for Kubernetes' own
"#]]);
}

#[test]
fn a_type_of_kubernetes_own_with_another_group_or_version() {
    let sandbox = Sandbox::with_project();
    for version in ["v2", "v1alpha1"] {
        refused(
            &sandbox,
            &format!("create webhook --group core --version {version} --kind Pod --defaulting"),
        );
    }
    for group in ["", "--group="] {
        refused(
            &sandbox,
            &format!("create webhook {group} --version v1 --kind Pod --defaulting"),
        );
    }
    sandbox.kbr(&format!("{POD} --defaulting")).success();
    told(str![[r#"
$ kbr create webhook --group core --version v2 --kind Pod --defaulting
error: kbr knows `Pod` of Kubernetes' `core` only in `v1`
 help: type `--version v1`, or `kbr create api --group core --version v2 --kind Pod` first for a kind of your own

$ kbr create webhook --group core --version v1alpha1 --kind Pod --defaulting
error: kbr knows `Pod` of Kubernetes' `core` only in `v1`
 help: type `--version v1`, or `kbr create api --group core --version v1alpha1 --kind Pod` first for a kind of your own

$ kbr create webhook --version v1 --kind Pod --defaulting
error: `example.com/v1 Pod` is not in PROJECT
 help: type `kbr create api --version v1 --kind Pod` first, or type `--group core --version v1` for Kubernetes' own

$ kbr create webhook --group= --version v1 --kind Pod --defaulting
error: `example.com/v1 Pod` is not in PROJECT
 help: type `kbr create api --version v1 --kind Pod` first, or type `--group core --version v1` for Kubernetes' own
"#]]);
}

#[test]
fn a_type_of_kubernetes_own_that_can_only_have_controllers() {
    let sandbox = Sandbox::with_project();
    let create = "create api --group core --version v1 --kind Node --resource=false";
    refused(
        &sandbox,
        "create webhook --group core --version v1 --kind Node --defaulting",
    );
    refused(
        &sandbox,
        "create webhook --group rbac.authorization --version v1 --kind Foo --defaulting",
    );
    sandbox.kbr(create).success();
    told(str![[r#"
$ kbr create webhook --group core --version v1 --kind Node --defaulting
error: `core/v1 Node` cannot have a webhook: an unavailable operator would block the cluster itself
 help: type `kbr create api --group core --version v1 --kind Node --resource=false` to add a controller, which sees every change of it

$ kbr create webhook --group rbac.authorization --version v1 --kind Foo --defaulting
error: `rbac.authorization.example.com/v1 Foo` is not in PROJECT
 help: type `kbr create api --group rbac.authorization --version v1 --kind Foo` first
"#]]);
}

#[test]
fn a_type_that_is_in_another_group_or_version() {
    let sandbox = Sandbox::with_project();
    for version in ["v1", "v2"] {
        let line = format!("create api --group batch --kind Foo --version {version}");
        sandbox.kbr(&line).success();
    }
    for line in [
        FOO,
        "create webhook --kind Foo --group batch",
        "create webhook --kind Foo --group batc --version v1",
    ] {
        refused(&sandbox, &format!("{line} --defaulting"));
    }
    refused(
        &sandbox,
        "create webhook --kind Bar --defaulting --version v1",
    );
    for line in [
        "create webhook --group batch --version v2 --kind Foo --defaulting",
        "create api --group batch --version v1 --kind Bar",
    ] {
        sandbox.kbr(line).success();
    }
    told(str![[r#"
$ kbr create webhook --kind Foo --defaulting
error: `example.com/v1alpha1 Foo` is not in PROJECT
 help: type `--group batch --version v1 --kind Foo` or `--group batch --version v2 --kind Foo`, which PROJECT has, or `kbr create api --group batch --version v1alpha1 --kind Foo` first

$ kbr create webhook --kind Foo --group batch --defaulting
error: `batch.example.com/v1alpha1 Foo` is not in PROJECT
 help: type `--group batch --version v1 --kind Foo` or `--group batch --version v2 --kind Foo`, which PROJECT has, or `kbr create api --group batch --version v1alpha1 --kind Foo` first

$ kbr create webhook --kind Foo --group batc --version v1 --defaulting
error: `batc.example.com/v1 Foo` is not in PROJECT
 help: type `--group batch --version v1 --kind Foo` or `--group batch --version v2 --kind Foo`, which PROJECT has

$ kbr create webhook --kind Bar --defaulting --version v1
error: `example.com/v1 Bar` is not in PROJECT
 help: PROJECT has `--group batch --version v1 --kind Foo`, `--group batch --version v2 --kind Foo`; type `kbr create api --group batch --version v1 --kind Bar` first
"#]]);
}

#[test]
fn an_option_without_the_one_that_it_requires() {
    let sandbox = converted();
    for (option, value, missing) in [
        ("--spoke", "v2", "--conversion"),
        ("--defaulting-path", "/a", "--defaulting"),
        ("--validation-path", "/b", "--programmatic-validation"),
    ] {
        misused(&sandbox, &format!("{FOO} {option} {value}"));
        sandbox
            .kbr(&format!("{FOO} {option} {value} {missing}"))
            .success();
    }
    told(str![[r#"
$ kbr create webhook --kind Foo --spoke v2
error: the following required arguments were not provided:
  --conversion

Usage: kbr create webhook --kind <KIND> --conversion --spoke <VERSION>

$ kbr create webhook --kind Foo --defaulting-path /a
error: the following required arguments were not provided:
  --defaulting

Usage: kbr create webhook --kind <KIND> --defaulting --defaulting-path <PATH>

$ kbr create webhook --kind Foo --validation-path /b
error: the following required arguments were not provided:
  --programmatic-validation

Usage: kbr create webhook --kind <KIND> --programmatic-validation --validation-path <PATH>
"#]]);
}

#[test]
fn a_webhook_that_exists() {
    let sandbox = with_foo();
    let line = format!("{FOO} --defaulting --programmatic-validation");
    sandbox.kbr(&line).success();
    refused(&sandbox, &format!("{FOO} --defaulting"));
    refused(&sandbox, &format!("{FOO} --programmatic-validation"));
    refused(&sandbox, &line);
    sandbox.kbr(&format!("{line} --force")).success();
    sandbox.kbr(&format!("{POD} --defaulting")).success();
    refused(&sandbox, &format!("{POD} --defaulting"));
    told(str![[r#"
$ kbr create webhook --kind Foo --defaulting
error: `example.com/v1alpha1 Foo` already has a defaulting webhook
 help: add `--force` to overwrite its files, or omit `--defaulting`

$ kbr create webhook --kind Foo --programmatic-validation
error: `example.com/v1alpha1 Foo` already has a validating webhook
 help: add `--force` to overwrite its files, or omit `--programmatic-validation`

$ kbr create webhook --kind Foo --defaulting --programmatic-validation
error: `example.com/v1alpha1 Foo` already has a defaulting webhook
       `example.com/v1alpha1 Foo` already has a validating webhook
 help: add `--force` to overwrite its files, or omit `--defaulting`
 help: add `--force` to overwrite its files, or omit `--programmatic-validation`

$ kbr create webhook --group core --version v1 --kind Pod --defaulting
error: `core/v1 Pod` already has a defaulting webhook
 help: add `--force` to overwrite its files, or omit `--defaulting`
"#]]);
}

#[test]
fn invalid_spokes() {
    let sandbox = converted();
    let conversion = format!("{FOO} --conversion");
    refused(&sandbox, &conversion);
    for spokes in [
        "--spoke v3",
        "--spoke v2 --spoke v2",
        "--spoke v1alpha1",
        "--spoke v1",
    ] {
        refused(&sandbox, &format!("{conversion} {spokes}"));
    }
    refused(
        &sandbox,
        &format!("{conversion} --spoke v2,v3,v2,v1alpha1,v1"),
    );
    bad_value(&sandbox, &format!("{conversion} --spoke 3"));
    sandbox
        .kbr(&format!("{conversion} --spoke v1 --force"))
        .success();
    sandbox.kbr(&format!("{conversion} --spoke v2")).success();
    told(str![[r#"
$ kbr create webhook --kind Foo --conversion
error: the conversion of `example.com/v1alpha1 Foo` needs a spoke
 help: type `--spoke VERSION`, such as `--spoke v2`

$ kbr create webhook --kind Foo --conversion --spoke v3
error: `example.com/v3 Foo` is not in PROJECT, so it cannot be a spoke
 help: type `--spoke v2`, or `kbr create api --version v3 --kind Foo` first

$ kbr create webhook --kind Foo --conversion --spoke v2 --spoke v2
error: the spoke `v2` is listed twice
 help: list each version once after `--spoke`

$ kbr create webhook --kind Foo --conversion --spoke v1alpha1
error: `v1alpha1` is the hub, so it cannot be a spoke
 help: name other versions after `--spoke`

$ kbr create webhook --kind Foo --conversion --spoke v1
error: `v1` is already a spoke of `example.com/v1alpha1 Foo`
 help: add `--force` to overwrite its files, or omit it

$ kbr create webhook --kind Foo --conversion --spoke v2,v3,v2,v1alpha1,v1
error: `example.com/v3 Foo` is not in PROJECT, so it cannot be a spoke
       the spoke `v2` is listed twice
       `v1alpha1` is the hub, so it cannot be a spoke
       `v1` is already a spoke of `example.com/v1alpha1 Foo`
 help: type `kbr create api --version v3 --kind Foo` first
 help: list each version once after `--spoke`
 help: name other versions after `--spoke`
 help: add `--force` to overwrite its files, or omit it

$ kbr create webhook --kind Foo --conversion --spoke=3
error: invalid value '3' for '--spoke <VERSION>': `3` is not an API version; type `v3`
"#]]);
}

#[test]
fn a_second_hub() {
    let sandbox = converted();
    // Without the hub among its spokes, a version does not become the hub.
    refused(
        &sandbox,
        "create webhook --kind Foo --version v2 --conversion --spoke v1",
    );
    sandbox
        .kbr("create webhook --kind Foo --version v1alpha1 --conversion --spoke v2")
        .success();
    told(str![[r#"
$ kbr create webhook --kind Foo --version v2 --conversion --spoke v1
error: `Foo` already has the hub `v1alpha1`, and a kind can have only one
 help: type `--version v1alpha1`, and the other versions after `--spoke`; or add `--spoke v1alpha1`, and `v2` becomes the hub
"#]]);
}

#[test]
fn invalid_paths() {
    let sandbox = with_foo();
    let longest = format!("/{}", "a".repeat(253));
    for path in [
        "a",
        "/",
        "/a/",
        "//a",
        "/A",
        "/a_b",
        "/a?b",
        "/..",
        &format!("{longest}a"),
    ] {
        for types in [
            "--defaulting --defaulting-path",
            "--programmatic-validation --validation-path",
        ] {
            bad_value(&sandbox, &format!("{FOO} {types} {path}"));
        }
    }
    bad_value(
        &sandbox,
        &format!("{FOO} --defaulting --defaulting-path /convert"),
    );
    sandbox
        .kbr(&format!("{FOO} --defaulting --defaulting-path {longest}"))
        .success();
    told(str![[r#"
$ kbr create webhook --kind Foo --defaulting --defaulting-path=a
error: invalid value 'a' for '--defaulting-path <PATH>': `a` is not a path of a webhook: each segment must be a DNS-1123 subdomain; type `/a`

$ kbr create webhook --kind Foo --programmatic-validation --validation-path=a
error: invalid value 'a' for '--validation-path <PATH>': `a` is not a path of a webhook: each segment must be a DNS-1123 subdomain; type `/a`

$ kbr create webhook --kind Foo --defaulting --defaulting-path=/
error: invalid value '/' for '--defaulting-path <PATH>': `/` is not a path of a webhook: each segment must be a DNS-1123 subdomain; type `/`, lower-case letters, digits, `-` and `.`, such as `/mutate-cronjobs`

$ kbr create webhook --kind Foo --programmatic-validation --validation-path=/
error: invalid value '/' for '--validation-path <PATH>': `/` is not a path of a webhook: each segment must be a DNS-1123 subdomain; type `/`, lower-case letters, digits, `-` and `.`, such as `/mutate-cronjobs`

$ kbr create webhook --kind Foo --defaulting --defaulting-path=/a/
error: invalid value '/a/' for '--defaulting-path <PATH>': `/a/` is not a path of a webhook: each segment must be a DNS-1123 subdomain; type `/a`

$ kbr create webhook --kind Foo --programmatic-validation --validation-path=/a/
error: invalid value '/a/' for '--validation-path <PATH>': `/a/` is not a path of a webhook: each segment must be a DNS-1123 subdomain; type `/a`

$ kbr create webhook --kind Foo --defaulting --defaulting-path=//a
error: invalid value '//a' for '--defaulting-path <PATH>': `//a` is not a path of a webhook: each segment must be a DNS-1123 subdomain; type `/a`

$ kbr create webhook --kind Foo --programmatic-validation --validation-path=//a
error: invalid value '//a' for '--validation-path <PATH>': `//a` is not a path of a webhook: each segment must be a DNS-1123 subdomain; type `/a`

$ kbr create webhook --kind Foo --defaulting --defaulting-path=/A
error: invalid value '/A' for '--defaulting-path <PATH>': `/A` is not a path of a webhook: each segment must be a DNS-1123 subdomain; type `/a`

$ kbr create webhook --kind Foo --programmatic-validation --validation-path=/A
error: invalid value '/A' for '--validation-path <PATH>': `/A` is not a path of a webhook: each segment must be a DNS-1123 subdomain; type `/a`

$ kbr create webhook --kind Foo --defaulting --defaulting-path=/a_b
error: invalid value '/a_b' for '--defaulting-path <PATH>': `/a_b` is not a path of a webhook: each segment must be a DNS-1123 subdomain; type `/a-b`

$ kbr create webhook --kind Foo --programmatic-validation --validation-path=/a_b
error: invalid value '/a_b' for '--validation-path <PATH>': `/a_b` is not a path of a webhook: each segment must be a DNS-1123 subdomain; type `/a-b`

$ kbr create webhook --kind Foo --defaulting --defaulting-path=/a?b
error: invalid value '/a?b' for '--defaulting-path <PATH>': `/a?b` is not a path of a webhook: each segment must be a DNS-1123 subdomain; type `/`, lower-case letters, digits, `-` and `.`, such as `/mutate-cronjobs`

$ kbr create webhook --kind Foo --programmatic-validation --validation-path=/a?b
error: invalid value '/a?b' for '--validation-path <PATH>': `/a?b` is not a path of a webhook: each segment must be a DNS-1123 subdomain; type `/`, lower-case letters, digits, `-` and `.`, such as `/mutate-cronjobs`

$ kbr create webhook --kind Foo --defaulting --defaulting-path=/..
error: invalid value '/..' for '--defaulting-path <PATH>': `/..` is not a path of a webhook: each segment must be a DNS-1123 subdomain; type `/`, lower-case letters, digits, `-` and `.`, such as `/mutate-cronjobs`

$ kbr create webhook --kind Foo --programmatic-validation --validation-path=/..
error: invalid value '/..' for '--validation-path <PATH>': `/..` is not a path of a webhook: each segment must be a DNS-1123 subdomain; type `/`, lower-case letters, digits, `-` and `.`, such as `/mutate-cronjobs`

$ kbr create webhook --kind Foo --defaulting --defaulting-path=/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
error: invalid value '/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' for '--defaulting-path <PATH>': `/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa` is not a path of a webhook: each segment must be a DNS-1123 subdomain; type `/`, lower-case letters, digits, `-` and `.`, such as `/mutate-cronjobs`

$ kbr create webhook --kind Foo --programmatic-validation --validation-path=/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
error: invalid value '/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' for '--validation-path <PATH>': `/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa` is not a path of a webhook: each segment must be a DNS-1123 subdomain; type `/`, lower-case letters, digits, `-` and `.`, such as `/mutate-cronjobs`

$ kbr create webhook --kind Foo --defaulting --defaulting-path=/convert
error: invalid value '/convert' for '--defaulting-path <PATH>': `/convert` is the path of conversions; type another path, such as `/mutate-cronjobs`
"#]]);
}

#[test]
fn a_path_that_is_taken() {
    let sandbox = with_foo();
    let both = "--defaulting --defaulting-path /a --programmatic-validation --validation-path";
    refused(&sandbox, &format!("{FOO} {both} /a"));
    sandbox.kbr(&format!("{FOO} {both} /b")).success();
    let (defaulting, validation) = (
        format!("{POD} --defaulting --defaulting-path"),
        format!("{POD} --programmatic-validation --validation-path"),
    );
    refused(&sandbox, &format!("{defaulting} /b"));
    refused(&sandbox, &format!("{validation} /a"));
    refused(
        &sandbox,
        &format!("{FOO} --defaulting --defaulting-path /b --force"),
    );
    sandbox
        .kbr(&format!("{validation} /mutate--v1-pod"))
        .success();
    refused(&sandbox, &format!("{POD} --defaulting"));
    sandbox.kbr(&format!("{defaulting} /c")).success();
    sandbox
        .kbr(&format!("{FOO} --defaulting --defaulting-path /d --force"))
        .success();
    told(str![[r#"
$ kbr create webhook --kind Foo --defaulting --defaulting-path /a --programmatic-validation --validation-path /a
error: `/a` is already the path of another webhook
 help: type another path after `--validation-path`

$ kbr create webhook --group core --version v1 --kind Pod --defaulting --defaulting-path /b
error: `/b` is already the path of another webhook
 help: type another path after `--defaulting-path`

$ kbr create webhook --group core --version v1 --kind Pod --programmatic-validation --validation-path /a
error: `/a` is already the path of another webhook
 help: type another path after `--validation-path`

$ kbr create webhook --kind Foo --defaulting --defaulting-path /b --force
error: `/b` is already the path of another webhook
 help: type another path after `--defaulting-path`

$ kbr create webhook --group core --version v1 --kind Pod --defaulting
error: `/mutate--v1-pod` is already the path of another webhook
 help: type another path after `--defaulting-path`
"#]]);
}

#[test]
fn a_default_path_or_a_name_that_is_too_long() {
    let label = "a".repeat(60);
    let sandbox = with_domain(&[&*label; 4].join("."));
    let kind = "create webhook --version v1 --kind";
    sandbox.kbr("create api --version v1 --kind Ab").success();
    sandbox.kbr("create api --version v1 --kind Abcd").success();
    refused(&sandbox, &format!("{kind} Abcd --programmatic-validation"));
    sandbox
        .kbr(&format!(
            "{kind} Abcd --programmatic-validation --validation-path /a"
        ))
        .success();
    let long = "v100000alpha1";
    sandbox
        .kbr(&format!("create api --version {long} --kind Ab"))
        .success();
    refused(
        &sandbox,
        &format!("create webhook --version {long} --kind Ab --defaulting --defaulting-path /b"),
    );
    sandbox
        .kbr(&format!("{kind} Ab --defaulting --defaulting-path /b"))
        .success();
    told(str![[r#"
$ kbr create webhook --version v1 --kind Abcd --programmatic-validation
error: `--validation-path`: `/validate-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-v1-abcd` is not a path of a webhook: each segment must be a DNS-1123 subdomain
 help: type `/`, lower-case letters, digits, `-` and `.`, such as `/mutate-cronjobs`

$ kbr create webhook --version v100000alpha1 --kind Ab --defaulting --defaulting-path /b
error: the webhook name `mab-v100000alpha1.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa` is longer than 253 characters: the API server refuses it
 help: choose a shorter group, kind or version
"#]]);
}

#[test]
fn a_conversion_of_a_type_of_kubernetes_own() {
    let sandbox = Sandbox::with_project();
    for spoke in ["", "--spoke v2"] {
        refused(&sandbox, &format!("{POD} --conversion {spoke}"));
    }
    sandbox.kbr(&format!("{POD} --defaulting")).success();
    told(str![[r#"
$ kbr create webhook --group core --version v1 --kind Pod --conversion
error: `core/v1 Pod` is not defined in this project, so it cannot be converted here
 help: omit `--conversion` and `--spoke`

$ kbr create webhook --group core --version v1 --kind Pod --conversion --spoke v2
error: `core/v1 Pod` is not defined in this project, so it cannot be converted here
 help: omit `--conversion` and `--spoke`
"#]]);
}

#[test]
fn a_type_of_kubernetes_own_that_conflicts_with_one_of_the_projects() {
    let sandbox = Sandbox::with_project();
    sandbox.kbr("create api --kind POD --version v1").success();
    refused(&sandbox, &format!("{POD} --defaulting"));
    let sandbox = Sandbox::with_project();
    sandbox.kbr(&format!("{POD} --defaulting")).success();
    for line in [
        "create api --kind Pod --version v1",
        "create api --kind Pod --version v1 --force",
    ] {
        refused(&sandbox, line);
    }
    refused(
        &sandbox,
        "create api --group example --kind Pod --version v1 --resource=false",
    );
    sandbox.kbr("create api --kind Pod --version v2").success();
    told(str![[r#"
$ kbr create webhook --group core --version v1 --kind Pod --defaulting
error: `core/v1 Pod` conflicts with `example.com/v1 POD`: both need the same files
 help: choose another `--version`, or put the two in separate projects

$ kbr create api --kind Pod --version v1
error: `example.com/v1 Pod` conflicts with `core/v1 Pod`: both need the same files
 help: choose another `--version`, or put the two in separate projects

$ kbr create api --kind Pod --version v1 --force
error: `example.com/v1 Pod` conflicts with `core/v1 Pod`: both need the same files
 help: choose another `--version`, or put the two in separate projects

$ kbr create api --group example --kind Pod --version v1 --resource=false
error: `example.example.com/v1 Pod` is not in PROJECT
 help: omit `--resource=false` to create the type, or add `--external-api-crd FILE` if another operator defines it, or type `--group core --version v1` for Kubernetes' own
"#]]);
}

#[test]
fn usage_errors_of_create_webhook() {
    let sandbox = with_foo();
    misused(&sandbox, "create webhook --defaulting");
    super::refused_args(
        &sandbox,
        &["create", "webhook", "--kind", "Foo", "--defaulting=true"],
        2,
    );
    sandbox.kbr(&format!("{FOO} --defaulting")).success();
    told(str![[r#"
$ kbr create webhook --defaulting
error: the following required arguments were not provided:
  --kind <KIND>

Usage: kbr create webhook --kind <KIND> --defaulting

$ kbr create webhook --kind Foo --defaulting=true
error: unexpected value 'true' for '--defaulting' found; no more were expected

Usage: kbr create webhook --kind <KIND> --defaulting
"#]]);
}

#[test]
fn files_that_are_in_the_way() {
    let sandbox = with_foo();
    let (code, service) = (
        "src/webhook/v1alpha1/foo_defaulter.rs",
        "config/webhook/service.yaml",
    );
    sandbox.write(code, "// mine\n");
    sandbox.write(service, "# mine\n");
    let line = format!("{FOO} --defaulting");
    refused(&sandbox, &line);
    sandbox.kbr(&format!("{line} --force")).success();
    told(str![[r#"
$ kbr create webhook --kind Foo --defaulting
error: `config/webhook/service.yaml` already exists with different content
       `src/webhook/v1alpha1/foo_defaulter.rs` already exists with different content
 help: move it out of the way, or add `--force` to overwrite it
"#]]);
}

#[test]
fn a_missing_or_duplicated_marker() {
    let default = "config/default/kustomization.yaml";
    for (path, marker) in [
        ("src/webhook.rs", "// +kbr:scaffold:modules"),
        ("src/lib.rs", "// +kbr:scaffold:webhooks"),
        ("tests/it/main.rs", "// +kbr:scaffold:modules"),
        (default, "# +kbr:scaffold:default-resources"),
        (default, "# +kbr:scaffold:default-patches"),
        (default, "# +kbr:scaffold:default-replacements"),
    ] {
        marker_must_occur_once(&with_foo(), "--defaulting", path, marker);
    }
    for (path, marker) in [
        ("src/webhook/v1.rs", "// +kbr:scaffold:modules"),
        (
            "config/webhook/kustomization.yaml",
            "# +kbr:scaffold:webhook-resources",
        ),
    ] {
        let options = "--version v1 --programmatic-validation";
        marker_must_occur_once(&converted(), options, path, marker);
    }
    told(str![[r#"
$ kbr create webhook --kind Foo --defaulting
error: `src/webhook.rs` has no line `// +kbr:scaffold:modules`, where `pub mod v1alpha1;` belongs
 help: in `src/webhook.rs`, put this line back where `pub mod v1alpha1;` belongs: `// +kbr:scaffold:modules`

$ kbr create webhook --kind Foo --defaulting
error: `src/webhook.rs` has the line `// +kbr:scaffold:modules` more than once: lines 6, 7
 help: in `src/webhook.rs`, keep only one of these lines: `// +kbr:scaffold:modules`

$ kbr create webhook --kind Foo --defaulting
error: `src/lib.rs` has no line `// +kbr:scaffold:webhooks`, where `webhook::v1alpha1::foo_defaulter::register,` belongs
 help: in `src/lib.rs`, put this line back where `webhook::v1alpha1::foo_defaulter::register,` belongs: `// +kbr:scaffold:webhooks`

$ kbr create webhook --kind Foo --defaulting
error: `src/lib.rs` has the line `// +kbr:scaffold:webhooks` more than once: lines 19, 29
 help: in `src/lib.rs`, keep only one of these lines: `// +kbr:scaffold:webhooks`

$ kbr create webhook --kind Foo --defaulting
error: `tests/it/main.rs` has no line `// +kbr:scaffold:modules`, where `mod foo_v1alpha1_defaulter;` belongs
 help: in `tests/it/main.rs`, put this line back where `mod foo_v1alpha1_defaulter;` belongs: `// +kbr:scaffold:modules`

$ kbr create webhook --kind Foo --defaulting
error: `tests/it/main.rs` has the line `// +kbr:scaffold:modules` more than once: lines 12, 30
 help: in `tests/it/main.rs`, keep only one of these lines: `// +kbr:scaffold:modules`

$ kbr create webhook --kind Foo --defaulting
error: `config/default/kustomization.yaml` has no line `# +kbr:scaffold:default-resources`, where `- ../webhook` belongs
 help: in `config/default/kustomization.yaml`, put this line back where `- ../webhook` belongs: `# +kbr:scaffold:default-resources`

$ kbr create webhook --kind Foo --defaulting
error: `config/default/kustomization.yaml` has the line `# +kbr:scaffold:default-resources` more than once: lines 17, 26
 help: in `config/default/kustomization.yaml`, keep only one of these lines: `# +kbr:scaffold:default-resources`

$ kbr create webhook --kind Foo --defaulting
error: `config/default/kustomization.yaml` has no line `# +kbr:scaffold:default-patches`, where `- {path: manager_webhook_patch.yaml, target: {kind: Deployment, name: controller-manager}}` belongs
 help: in `config/default/kustomization.yaml`, put this line back where `- {path: manager_webhook_patch.yaml, target: {kind: Deployment, name: controller-manager}}` belongs: `# +kbr:scaffold:default-patches`

$ kbr create webhook --kind Foo --defaulting
error: `config/default/kustomization.yaml` has the line `# +kbr:scaffold:default-patches` more than once: lines 22, 26
 help: in `config/default/kustomization.yaml`, keep only one of these lines: `# +kbr:scaffold:default-patches`

$ kbr create webhook --kind Foo --defaulting
error: `config/default/kustomization.yaml` has no line `# +kbr:scaffold:default-replacements`, where `- path: webhook_replacements.yaml` belongs
 help: in `config/default/kustomization.yaml`, put this line back where `- path: webhook_replacements.yaml` belongs: `# +kbr:scaffold:default-replacements`

$ kbr create webhook --kind Foo --defaulting
error: `config/default/kustomization.yaml` has the line `# +kbr:scaffold:default-replacements` more than once: lines 25, 26
 help: in `config/default/kustomization.yaml`, keep only one of these lines: `# +kbr:scaffold:default-replacements`

$ kbr create webhook --kind Foo --version v1 --programmatic-validation
error: `src/webhook/v1.rs` has no line `// +kbr:scaffold:modules`, where `pub mod foo_validator;` belongs
 help: in `src/webhook/v1.rs`, put this line back where `pub mod foo_validator;` belongs: `// +kbr:scaffold:modules`

$ kbr create webhook --kind Foo --version v1 --programmatic-validation
error: `src/webhook/v1.rs` has the line `// +kbr:scaffold:modules` more than once: lines 7, 8
 help: in `src/webhook/v1.rs`, keep only one of these lines: `// +kbr:scaffold:modules`

$ kbr create webhook --kind Foo --version v1 --programmatic-validation
error: `config/webhook/kustomization.yaml` has no line `# +kbr:scaffold:webhook-resources`, where `- manifests.yaml` belongs
 help: in `config/webhook/kustomization.yaml`, put this line back where `- manifests.yaml` belongs: `# +kbr:scaffold:webhook-resources`

$ kbr create webhook --kind Foo --version v1 --programmatic-validation
error: `config/webhook/kustomization.yaml` has the line `# +kbr:scaffold:webhook-resources` more than once: lines 6, 7
 help: in `config/webhook/kustomization.yaml`, keep only one of these lines: `# +kbr:scaffold:webhook-resources`
"#]]);
}

#[track_caller]
fn marker_must_occur_once(sandbox: &Sandbox, options: &str, path: &str, marker: &str) {
    let line = format!("{FOO} {options}");
    let good = sandbox.read(path);
    sandbox.write(path, &good.replace(marker, ""));
    refused(sandbox, &line);
    sandbox.write(path, &format!("{good}{marker}\n"));
    refused(sandbox, &line);
    sandbox.write(path, &good);
    sandbox.kbr(&line).success();
}
