//! A webhook that cannot stand in this project, or is there.

use super::{MORE, bad_value, misused, refused, with_domain, with_foo};
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
    refused(
        &sandbox,
        FOO,
        "error: neither defaulting, validation nor conversion is wanted: nothing to do\n \
         help: add `--defaulting`, `--programmatic-validation`, or `--conversion --spoke VERSION`\n",
    );
    sandbox.kbr(&format!("{FOO} --defaulting")).success();
}

#[test]
fn a_type_that_nobody_knows() {
    let sandbox = Sandbox::with_project();
    for (line, gvk, create) in [
        (
            "create webhook --kind Foo --defaulting",
            "example.com/v1alpha1 Foo",
            "kbr create api --version v1alpha1 --kind Foo",
        ),
        (
            "create webhook --group batch --version v2 --kind Foo --defaulting",
            "batch.example.com/v2 Foo",
            "kbr create api --group batch --version v2 --kind Foo",
        ),
    ] {
        refused(
            &sandbox,
            line,
            &format!("error: `{gvk}` is not in PROJECT\n help: type `{create}` first\n"),
        );
    }
    refused(
        &sandbox,
        "create webhook --group batch --version v1 --kind Foo --defaulting",
        "error: `batch.example.com/v1 Foo` is not in PROJECT\n \
         help: type `kbr create api --group batch --version v1 --kind Foo` first, or name one of \
         Kubernetes' own after `--kind`: CronJob, Job\n",
    );
    sandbox
        .kbr("create api --group batch --version v1 --kind Foo")
        .success();
    sandbox
        .kbr("create webhook --group batch --version v1 --kind Foo --defaulting")
        .success();
}

#[test]
fn a_type_of_kubernetes_own_that_is_named_otherwise() {
    let sandbox = Sandbox::with_project();
    for version in ["v2", "v1alpha1"] {
        refused(
            &sandbox,
            &format!("create webhook --group core --version {version} --kind Pod --defaulting"),
            &format!(
                "error: of Kubernetes' `core`, kbr knows `Pod` in `v1` only\n \
                 help: type `--version v1`, or `kbr create api --group core --version {version} \
                 --kind Pod` first for a kind of your own\n"
            ),
        );
    }
    for group in ["", "--group="] {
        refused(
            &sandbox,
            &format!("create webhook {group} --version v1 --kind Pod --defaulting"),
            "error: `example.com/v1 Pod` is not in PROJECT\n \
             help: type `kbr create api --version v1 --kind Pod` first, or type \
             `--group core --version v1` for Kubernetes' own\n",
        );
    }
    sandbox.kbr(&format!("{POD} --defaulting")).success();
}

#[test]
fn a_type_of_kubernetes_own_that_is_for_controllers_alone() {
    let sandbox = Sandbox::with_project();
    let create = "create api --group core --version v1 --kind Node --resource=false";
    refused(
        &sandbox,
        "create webhook --group core --version v1 --kind Node --defaulting",
        &format!(
            "error: `core/v1 Node` can have no webhook: while the operator does not answer, the cluster \
             itself could not work\n \
             help: type `kbr {create}` for a controller, which sees every change of it\n"
        ),
    );
    refused(
        &sandbox,
        "create webhook --group rbac.authorization --version v1 --kind Foo --defaulting",
        "error: `rbac.authorization.example.com/v1 Foo` is not in PROJECT\n \
         help: type `kbr create api --group rbac.authorization --version v1 --kind Foo` first\n",
    );
    sandbox.kbr(create).success();
}

#[test]
fn a_type_that_is_in_another_group_or_version() {
    let sandbox = Sandbox::with_project();
    for version in ["v1", "v2"] {
        let line = format!("create api --group batch --kind Foo --version {version}");
        sandbox.kbr(&line).success();
    }
    for (line, gvk) in [
        (FOO, "example.com/v1alpha1 Foo"),
        (
            "create webhook --kind Foo --group batch",
            "batch.example.com/v1alpha1 Foo",
        ),
        (
            "create webhook --kind Foo --group batc --version v1",
            "batc.example.com/v1 Foo",
        ),
    ] {
        refused(
            &sandbox,
            &format!("{line} --defaulting"),
            &format!(
                "error: `{gvk}` is not in PROJECT\n \
                 help: type `--group batch --version v1` or `--group batch --version v2`, where \
                 PROJECT has the kind\n"
            ),
        );
    }
    refused(
        &sandbox,
        "create webhook --kind Bar --defaulting --version v1",
        "error: `example.com/v1 Bar` is not in PROJECT\n \
         help: type `kbr create api --group batch --version v1 --kind Bar` first\n",
    );
    for line in [
        "create webhook --group batch --version v2 --kind Foo --defaulting",
        "create api --group batch --version v1 --kind Bar",
    ] {
        sandbox.kbr(line).success();
    }
}

#[test]
fn an_option_without_the_one_that_it_belongs_to() {
    let sandbox = converted();
    for (option, placeholder, value, missing) in [
        ("--spoke", "VERSION", "v2", "--conversion"),
        ("--defaulting-path", "PATH", "/a", "--defaulting"),
        (
            "--validation-path",
            "PATH",
            "/b",
            "--programmatic-validation",
        ),
    ] {
        misused(
            &sandbox,
            &format!("{FOO} {option} {value}"),
            &format!(
                "error: the following required arguments were not provided:\n  {missing}\n\n\
                 Usage: kbr create webhook --kind <KIND> {missing} {option} <{placeholder}>"
            ),
        );
        sandbox
            .kbr(&format!("{FOO} {option} {value} {missing}"))
            .success();
    }
}

#[test]
fn a_webhook_that_exists() {
    let sandbox = with_foo();
    let line = format!("{FOO} --defaulting --programmatic-validation");
    sandbox.kbr(&line).success();
    let (defaulting, validating) = (
        "`example.com/v1alpha1 Foo` has a defaulting webhook already",
        "`example.com/v1alpha1 Foo` has a validating webhook already",
    );
    let help = "help: add `--force` to write its files anew, or leave";
    refused(
        &sandbox,
        &format!("{FOO} --defaulting"),
        &format!("error: {defaulting}\n {help} `--defaulting` out\n"),
    );
    refused(
        &sandbox,
        &format!("{FOO} --programmatic-validation"),
        &format!("error: {validating}\n {help} `--programmatic-validation` out\n"),
    );
    refused(
        &sandbox,
        &line,
        &format!(
            "error: {defaulting}\n       {validating}\n {help} `--defaulting` out\n \
             {help} `--programmatic-validation` out\n"
        ),
    );
    sandbox.kbr(&format!("{line} --force")).success();
    sandbox.kbr(&format!("{POD} --defaulting")).success();
    refused(
        &sandbox,
        &format!("{POD} --defaulting"),
        &format!(
            "error: `core/v1 Pod` has a defaulting webhook already\n {help} `--defaulting` out\n"
        ),
    );
}

#[test]
fn spokes_that_are_none() {
    let sandbox = converted();
    let conversion = format!("{FOO} --conversion");
    refused(
        &sandbox,
        &conversion,
        "error: no version is named that `example.com/v1alpha1 Foo` is to be converted to\n \
         help: type `--spoke VERSION`, such as `--spoke v2`\n",
    );
    let unknown = "`example.com/v3 Foo` is not in PROJECT, and so no spoke";
    let create = "help: type `kbr create api --version v3 --kind Foo` first\n";
    let twice = "the spoke `v2` is named twice";
    let once = "help: name each version once after `--spoke`\n";
    let hub = "`v1alpha1` is the hub, and so no spoke";
    let others = "help: name other versions after `--spoke`\n";
    let there = "`v1` is a spoke of `example.com/v1alpha1 Foo` already";
    let force = "help: add `--force` to write its files anew, or leave it out\n";
    for (spokes, error, help) in [
        ("--spoke v3", unknown, create),
        ("--spoke v2 --spoke v2", twice, once),
        ("--spoke v1alpha1", hub, others),
        ("--spoke v1", there, force),
    ] {
        refused(
            &sandbox,
            &format!("{conversion} {spokes}"),
            &format!("error: {error}\n {help}"),
        );
    }
    refused(
        &sandbox,
        &format!("{conversion} --spoke v2,v3,v2,v1alpha1,v1"),
        &format!(
            "error: {unknown}\n       {twice}\n       {hub}\n       {there}\n \
             {create} {once} {others} {force}"
        ),
    );
    bad_value(
        &sandbox,
        &format!("{conversion} --spoke 3"),
        "VERSION",
        "`3` is not an API version; type `v` and a number, optionally followed by `alpha` or `beta` and \
         a number, such as `v1` or `v1beta2`",
    );
    sandbox
        .kbr(&format!("{conversion} --spoke v1 --force"))
        .success();
    sandbox.kbr(&format!("{conversion} --spoke v2")).success();
}

#[test]
fn a_second_hub() {
    let sandbox = converted();
    // Once a version that is nothing yet, once a spoke.
    for (version, spoke) in [("v2", "v1"), ("v1", "v1alpha1")] {
        refused(
            &sandbox,
            &format!("create webhook --kind Foo --version {version} --conversion --spoke {spoke}"),
            "error: `Foo` has the hub `v1alpha1` already, and a kind can have only one\n \
             help: type `--version v1alpha1`, and the other versions after `--spoke`\n",
        );
    }
    sandbox
        .kbr("create webhook --kind Foo --version v1alpha1 --conversion --spoke v2")
        .success();
}

#[test]
fn paths_that_are_none() {
    let sandbox = with_foo();
    let rule = "is not a path of a webhook: each segment must be a DNS-1123 subdomain; type `/`, \
                lower-case letters, digits, `-` and `.`, such as `/mutate-cronjobs`";
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
        for (types, option) in [
            ("--defaulting", "--defaulting-path"),
            ("--programmatic-validation", "--validation-path"),
        ] {
            bad_value(
                &sandbox,
                &format!("{FOO} {types} {option} {path}"),
                "PATH",
                &format!("`{path}` {rule}"),
            );
        }
    }
    bad_value(
        &sandbox,
        &format!("{FOO} --defaulting --defaulting-path /convert"),
        "PATH",
        "`/convert` is where conversions are served; type another path, such as `/mutate-cronjobs`",
    );
    sandbox
        .kbr(&format!("{FOO} --defaulting --defaulting-path {longest}"))
        .success();
}

#[test]
fn a_path_that_is_taken() {
    let sandbox = with_foo();
    let refuse = |line: &str, path: &str, option: &str| {
        refused(
            &sandbox,
            line,
            &format!(
                "error: `{path}` is the path of another webhook already\n \
                 help: type another path after `{option}`\n"
            ),
        );
    };
    let both = "--defaulting --defaulting-path /a --programmatic-validation --validation-path";
    refuse(&format!("{FOO} {both} /a"), "/a", "--validation-path");
    sandbox.kbr(&format!("{FOO} {both} /b")).success();
    let (defaulting, validation) = (
        format!("{POD} --defaulting --defaulting-path"),
        format!("{POD} --programmatic-validation --validation-path"),
    );
    refuse(&format!("{defaulting} /b"), "/b", "--defaulting-path");
    refuse(&format!("{validation} /a"), "/a", "--validation-path");
    refuse(
        &format!("{FOO} --defaulting --defaulting-path /b --force"),
        "/b",
        "--defaulting-path",
    );
    sandbox
        .kbr(&format!("{validation} /mutate--v1-pod"))
        .success();
    refuse(
        &format!("{POD} --defaulting"),
        "/mutate--v1-pod",
        "--defaulting-path",
    );
    sandbox.kbr(&format!("{defaulting} /c")).success();
    sandbox
        .kbr(&format!("{FOO} --defaulting --defaulting-path /d --force"))
        .success();
}

#[test]
fn a_default_path_or_a_name_that_is_too_long() {
    let label = "a".repeat(60);
    let sandbox = with_domain(&[&*label; 4].join("."));
    let kind = "create webhook --version v1 --kind";
    sandbox.kbr("create api --version v1 --kind Ab").success();
    sandbox.kbr("create api --version v1 --kind Abcd").success();
    let path = format!("/validate-{}-v1-abcd", [&*label; 4].join("-"));
    refused(
        &sandbox,
        &format!("{kind} Abcd --programmatic-validation"),
        &format!(
            "error: `--validation-path`: `{path}` is not a path of a webhook: each segment must be a \
             DNS-1123 subdomain\n help: type `/`, lower-case letters, digits, `-` and `.`, such as \
             `/mutate-cronjobs`\n"
        ),
    );
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
        &format!(
            "error: the webhook's name `mab-{long}.{}` is longer than 253 characters: no API server \
             takes it\n help: choose a shorter group, kind or version\n",
            [&*label; 4].join(".")
        ),
    );
    sandbox
        .kbr(&format!("{kind} Ab --defaulting --defaulting-path /b"))
        .success();
}

#[test]
fn a_conversion_of_kubernetes_own() {
    let sandbox = Sandbox::with_project();
    for spoke in ["", "--spoke v2"] {
        refused(
            &sandbox,
            &format!("{POD} --conversion {spoke}"),
            "error: `core/v1 Pod` is not the project's own: whoever defines it converts it\n \
             help: leave `--conversion` and `--spoke` out\n",
        );
    }
    sandbox.kbr(&format!("{POD} --defaulting")).success();
}

#[test]
fn a_type_of_kubernetes_own_beside_one_of_the_projects() {
    let help = "\n help: choose another `--version`, or keep the two in projects of their own\n";
    let both = "both need the same files";
    let sandbox = Sandbox::with_project();
    sandbox.kbr("create api --kind POD --version v1").success();
    refused(
        &sandbox,
        &format!("{POD} --defaulting"),
        &format!("error: `core/v1 Pod` cannot stand beside `example.com/v1 POD`: {both}{help}"),
    );
    let sandbox = Sandbox::with_project();
    sandbox.kbr(&format!("{POD} --defaulting")).success();
    for line in [
        "create api --kind Pod --version v1",
        "create api --kind Pod --version v1 --force",
    ] {
        refused(
            &sandbox,
            line,
            &format!("error: `example.com/v1 Pod` cannot stand beside `core/v1 Pod`: {both}{help}"),
        );
    }
    refused(
        &sandbox,
        "create api --group example --kind Pod --version v1 --resource=false",
        "error: `example.example.com/v1 Pod` is not in PROJECT\n \
         help: leave `--resource=false` out to create the type\n",
    );
    sandbox.kbr("create api --kind Pod --version v2").success();
}

#[test]
fn what_only_kbr_create_webhook_is_told() {
    let sandbox = with_foo();
    misused(
        &sandbox,
        "create webhook --defaulting",
        "error: the following required arguments were not provided:\n  --kind <KIND>\n\n\
         Usage: kbr create webhook --kind <KIND> --defaulting",
    );
    super::refused_args(
        &sandbox,
        &["create", "webhook", "--kind", "Foo", "--defaulting=true"],
        2,
        &format!(
            "error: unexpected value 'true' for '--defaulting' found; no more were expected\n\n\
             Usage: kbr create webhook --kind <KIND> --defaulting{MORE}"
        ),
    );
    sandbox.kbr(&format!("{FOO} --defaulting")).success();
}

#[test]
fn files_that_stand_in_the_way() {
    let sandbox = with_foo();
    let (code, service) = (
        "src/webhook/v1alpha1/foo_defaulter.rs",
        "config/webhook/service.yaml",
    );
    sandbox.write(code, "// mine\n");
    sandbox.write(service, "# mine\n");
    let line = format!("{FOO} --defaulting");
    refused(
        &sandbox,
        &line,
        &format!(
            "error: `{service}` exists with other content\n       `{code}` exists with other \
             content\n help: move what stands there out of the way, or add `--force` to write it \
             anew\n"
        ),
    );
    sandbox.kbr(&format!("{line} --force")).success();
}

#[test]
fn a_marker_that_is_missing_or_doubled() {
    let default = "config/default/kustomization.yaml";
    let patch = "- {path: manager_webhook_patch.yaml, target: {kind: Deployment, name: controller-manager}}";
    for (path, marker, fragment) in [
        (
            "src/webhook.rs",
            "// +kbr:scaffold:modules",
            "pub mod v1alpha1;",
        ),
        (
            "src/lib.rs",
            "// +kbr:scaffold:webhooks",
            "webhook::v1alpha1::foo_defaulter::register,",
        ),
        (
            "tests/it/main.rs",
            "// +kbr:scaffold:modules",
            "mod foo_v1alpha1_defaulter;",
        ),
        (
            default,
            "# +kbr:scaffold:default-resources",
            "- ../certmanager",
        ),
        (default, "# +kbr:scaffold:default-patches", patch),
        (
            default,
            "# +kbr:scaffold:default-replacements",
            "- path: webhook_replacements.yaml",
        ),
    ] {
        marker_must_be_there_once(&with_foo(), "--defaulting", path, marker, fragment);
    }
    for (path, marker, fragment) in [
        (
            "src/webhook/v1.rs",
            "// +kbr:scaffold:modules",
            "pub mod foo_validator;",
        ),
        (
            "config/webhook/kustomization.yaml",
            "# +kbr:scaffold:webhook-resources",
            "- manifests.yaml",
        ),
    ] {
        let options = "--version v1 --programmatic-validation";
        marker_must_be_there_once(&converted(), options, path, marker, fragment);
    }
}

#[track_caller]
fn marker_must_be_there_once(
    sandbox: &Sandbox,
    options: &str,
    path: &str,
    marker: &str,
    fragment: &str,
) {
    let line = format!("{FOO} {options}");
    let good = sandbox.read(path);
    sandbox.write(path, &good.replace(marker, ""));
    refused(
        sandbox,
        &line,
        &format!(
            "error: `{path}` has no line `{marker}`, where `{fragment}` has to go\n \
             help: in `{path}`, put this line back where `{fragment}` belongs: `{marker}`\n"
        ),
    );
    let first = good.lines().position(|line| line.trim() == marker);
    let (first, second) = (first.expect("the marker") + 1, good.lines().count() + 1);
    sandbox.write(path, &format!("{good}{marker}\n"));
    refused(
        sandbox,
        &line,
        &format!(
            "error: `{path}` has the line `{marker}` more than once: lines {first}, {second}\n \
             help: in `{path}`, keep only one of these lines: `{marker}`\n"
        ),
    );
    sandbox.write(path, &good);
    sandbox.kbr(&line).success();
}
