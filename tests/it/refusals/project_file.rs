//! A PROJECT that is missing, somebody else's, or hostile.

use std::fs;

use super::{LINK, UNREADABLE, refused, with_foo};
use crate::support::Sandbox;

#[test]
fn init_where_a_project_is() {
    let sandbox = Sandbox::with_project();
    let help = "\n help: to add an API, type `kbr create api --kind KIND`\n";
    refused(
        &sandbox,
        "init --domain example.com",
        &format!("error: `.` holds a project already: it has a PROJECT file{help}"),
    );
    sandbox.write("sub/PROJECT/file", "even a folder of that name");
    refused(
        &sandbox,
        "init sub --domain example.com",
        &format!("error: `sub` holds a project already: it has a PROJECT file{help}"),
    );
}

#[test]
fn commands_where_no_project_is() {
    let sandbox = Sandbox::new();
    for (line, path) in [
        ("create api --kind Foo", "."),
        ("manifests", "."),
        ("manifests --check", "."),
    ] {
        refused(
            &sandbox,
            line,
            &format!(
                "error: `{path}` is no kbr project: it has no PROJECT file\n \
                 help: type `kbr init --domain DOMAIN` first, \
                 or name the project's folder with `-C DIR`\n"
            ),
        );
    }
}

/// Every command that reads PROJECT refuses this one, for that reason; put right, it is read.
#[track_caller]
fn unreadable(sandbox: &Sandbox, project: &[u8], reason: &str) {
    let path = sandbox.path().join("PROJECT");
    let good = fs::read(&path).expect("PROJECT");
    fs::write(&path, project).expect("the file");
    let text = format!("error: PROJECT can not be read: {reason}{UNREADABLE}");
    refused(sandbox, "manifests", &text);
    refused(sandbox, "create api --kind Bar", &text);
    fs::write(&path, good).expect("the file");
}

#[test]
fn a_project_file_with_something_else_in_the_place_of_a_key() {
    let sandbox = with_foo();
    let good = sandbox.read("PROJECT");
    let keys = "`cliVersion`, `domain`, `files`, `layout`, `license`, `owner`, `projectName`, \
                `repo`, `resources`, `version`";
    let line = |start: &str| {
        let found = good
            .lines()
            .position(|line| line.trim_start().starts_with(start));
        found.expect(start) + 1
    };
    let refuse = |from: &str, to: &str, reason: &str| {
        assert_eq!(good.matches(from).count(), 1, "{from:?}");
        unreadable(&sandbox, good.replace(from, to).as_bytes(), reason);
    };
    refuse(
        "\nversion: \"3\"",
        "\nversion: \"2\"",
        "`version` is \"2\"; this kbr knows \"3\"",
    );
    refuse(
        "\nversion: \"3\"",
        "\nversion: 3",
        "`version` is the number 3; this kbr knows \"3\"",
    );
    refuse(
        "\nversion: \"3\"",
        "",
        "`version` is missing; this kbr knows \"3\"",
    );
    refuse(
        "- kbr/v1\n",
        "- kbr/v2\n",
        "`layout` is `kbr/v2`; this kbr knows `kbr/v1`",
    );
    refuse(
        "layout:\n- kbr/v1\n",
        "",
        "`layout` is missing; this kbr knows `kbr/v1`",
    );
    refuse(
        "\nlicense:",
        "\nlisence: x\nlicense:",
        &format!(
            "unknown field `lisence`, expected one of {keys} at line {} column 1",
            line("license:")
        ),
    );
    refuse(
        "license: apache2",
        "license: mit",
        &format!(
            "license: unknown variant `mit`, expected `apache2` or `none` at line {} column 10",
            line("license:")
        ),
    );
    refuse(
        "\ndomain: example.com",
        "\ndomain: [a, b]",
        "domain: invalid type: sequence, expected a string at line 4 column 9",
    );
    refuse(
        "\ndomain: example.com",
        "",
        "missing field `domain` at line 3 column 1",
    );
    refuse(
        "\ndomain: example.com",
        "\ndomain: a.b\ndomain: a.b",
        "duplicate field `domain` at line 3 column 1",
    );
    refuse(
        "\n  kind: Foo",
        "\n  external: {}\n  kind: Foo",
        &format!(
            "resources[0]: unknown field `external`, expected one of `api`, `controller`, `core`, \
             `domain`, `group`, `kind`, `plural`, `version`, `webhooks` at line {} column 3",
            line("kind: Foo")
        ),
    );
    refuse(
        "\n  controller: true",
        "\n  controller: 1",
        &format!(
            "resources[0].controller: invalid type: integer `1`, expected a boolean at line {} column 15",
            line("controller: true")
        ),
    );
    sandbox.kbr("create api --kind Bar").success();
}

#[test]
fn a_project_file_that_says_what_can_not_be() {
    let sandbox = with_foo();
    let good = sandbox.read("PROJECT");
    let refuse = |from: &str, to: &str, reason: &str| {
        assert_eq!(good.matches(from).count(), 1, "{from:?}");
        unreadable(&sandbox, good.replace(from, to).as_bytes(), reason);
    };
    let gvk = "`example.com/v1alpha1 Foo`";
    let resource = good.split_once("resources:\n").expect("resources").1;
    let resource = resource
        .split_once("version: \"3\"")
        .expect("the version")
        .0;
    refuse(
        resource,
        &resource.repeat(2),
        &format!("{gvk} stands twice under `resources`"),
    );
    refuse(
        "    storage: true\n",
        "",
        "exactly one version of `Foo` must have `storage: true` under `api`",
    );
    refuse(
        "namespaced: true",
        "namespaced: false",
        &format!("{gvk} has `namespaced: false`: cluster scope is not supported yet"),
    );
    refuse(
        "crdVersion: v1\n",
        "crdVersion: v1beta1\n",
        &format!("`crdVersion` of {gvk} must be `v1`"),
    );
    refuse(
        "  domain: example.com\n  kind",
        "  domain: example.org\n  kind",
        "`example.org/v1alpha1 Foo` is not of the project's domain `example.com`",
    );
    refuse(
        "- api:\n    crdVersion: v1\n    namespaced: true\n    storage: true\n  controller",
        "- controller",
        &format!("{gvk} has no `api`: types of others are not supported yet"),
    );
}

#[test]
fn a_project_file_with_webhooks_that_can_not_be() {
    let sandbox = with_foo();
    for line in [
        "create api --kind Foo --version v2",
        "create api --kind Foo --version v3",
        "create webhook --kind Foo --defaulting --programmatic-validation --conversion --spoke v2,v3",
        "create webhook --kind Foo --version v2 --defaulting --defaulting-path /foo",
        "create webhook --group core --version v1 --kind Pod --programmatic-validation",
    ] {
        sandbox.kbr(line).success();
    }
    let good = sandbox.read("PROJECT");
    let refuse = |from: &str, to: &str, reason: &str| {
        assert!(good.contains(from), "{from:?}");
        unreadable(&sandbox, good.replacen(from, to, 1).as_bytes(), reason);
    };
    let hub = "`example.com/v1alpha1 Foo`";
    let one_hub = "only one version of `Foo` may have `conversion: true`";
    let both = format!("`webhooks` of {hub} must have `conversion` and `spoke` together");
    let spokes = |spoke: &str| {
        format!("`spoke` of {hub} must name other versions of the kind, each once, not `{spoke}`")
    };
    let pod = "`core/v1 Pod`";
    let unknown = format!("{pod} has `core: true`, but kbr knows no such type of Kubernetes' own");
    let core_api =
        format!("{pod} has `core: true`: it can have webhooks, but no `api` and no `controller`");
    refuse("    spoke:\n    - v2\n    - v3\n", "", &both);
    refuse("    conversion: true\n", "", &both);
    refuse("    - v3\n", "    - v4\n", &spokes("v4"));
    refuse("    - v3\n", "    - v2\n", &spokes("v2"));
    refuse("    - v3\n", "    - v1alpha1\n", &spokes("v1alpha1"));
    refuse(
        "    defaulting: true\n    defaultingPath",
        "    conversion: true\n    spoke: [v3]\n    defaulting: true\n    defaultingPath",
        one_hub,
    );
    refuse(
        "    - v3\n    validation: true\n    webhookVersion: v1\n",
        "    - v3\n    validation: true\n    webhookVersion: v1beta1\n",
        &format!("`webhooks` of {hub} must have `webhookVersion: v1`"),
    );
    refuse(
        "    defaulting: true\n    defaultingPath",
        "    validation: true\n    defaultingPath",
        "`webhooks` of `example.com/v2 Foo` has the path of a webhook that it does not have",
    );
    refuse(
        "    defaulting: true\n    defaultingPath: /foo\n",
        "",
        "`webhooks` of `example.com/v2 Foo` has none of `conversion`, `defaulting` and `validation`",
    );
    for taken in ["/validate--v1-pod", "/mutate-example-com-v1alpha1-foo"] {
        refuse(
            "defaultingPath: /foo",
            &format!("defaultingPath: {taken}"),
            &format!("two webhooks have the path `{taken}`"),
        );
    }
    refuse(
        "- core: true\n  group: core",
        "- core: true\n  group: cores",
        &unknown.replace("core/v1", "cores/v1"),
    );
    refuse("kind: Pod", "kind: Node", &unknown.replace("Pod", "Node"));
    refuse(
        "- core: true\n",
        "- core: true\n  domain: example.com\n",
        &unknown.replace("core/v1", "core.example.com/v1"),
    );
    refuse(
        "plural: pods",
        "plural: pod",
        &format!("the plural of {pod} is `pods`"),
    );
    refuse(
        "- core: true\n",
        "- core: true\n  controller: true\n",
        &core_api,
    );
    refuse(
        "- core: true\n",
        "- core: true\n  api: {crdVersion: v1, namespaced: true}\n",
        &core_api,
    );
    refuse(
        "  version: v1\n  webhooks:\n",
        "  version: v1\n  webhooks:\n    conversion: true\n    spoke: [v2]\n",
        &format!("Kubernetes itself converts {pod}"),
    );
    refuse(
        "  webhooks:\n    validation: true\n    webhookVersion: v1\n",
        "",
        &format!("{pod} has no `webhooks`"),
    );
    refuse(
        "- core: true\n",
        "- {core: true, group: apps, kind: ReplicaSet, plural: replicasets, version: v1, \
         webhooks: {validation: true, webhookVersion: v1, validationPath: /validate--v1-pod}}\n\
         - core: true\n",
        "two webhooks have the path `/validate--v1-pod`",
    );
    sandbox.kbr("create api --kind Bar").success();
}

#[test]
fn a_project_file_with_two_types_whose_webhooks_share_their_files() {
    let sandbox = Sandbox::with_project();
    sandbox.kbr("create api --kind Foo --version v1").success();
    sandbox
        .kbr("create webhook --group core --version v1 --kind Pod --defaulting")
        .success();
    let good = sandbox.read("PROJECT");
    unreadable(
        &sandbox,
        good.replace("kind: Foo", "kind: POD").as_bytes(),
        "`core/v1 Pod` and `example.com/v1 POD` would have their webhooks in the same files",
    );
    sandbox.kbr("create api --kind Bar").success();
}

#[test]
fn a_project_file_with_paths_in_the_place_of_names() {
    let sandbox = with_foo();
    let good = sandbox.read("PROJECT");
    for path in ["../x", "/etc/passwd", "a/../../x", "a//b", "./a"] {
        let text = good.replacen("files:\n", &format!("files:\n  \"{path}\": \"0\"\n"), 1);
        let reason = format!("`{path}` under `files` leaves the project");
        unreadable(&sandbox, text.as_bytes(), &reason);
    }
    let at = |start: &str| {
        good.lines()
            .position(|line| line.starts_with(start))
            .expect(start)
            + 1
    };
    for (from, to, reason) in [
        (
            "projectName: sandbox",
            "projectName: ../sandbox",
            "`../sandbox` is no project name: it must be a DNS-1123 label; type lower-case letters, \
             digits and `-` after `--project-name`, such as `my-operator` at line 3 column 1"
                .to_owned(),
        ),
        (
            "kind: Foo",
            "kind: ../Foo",
            format!(
                "resources[0]: `../Foo` is no kind: it must be upper camel case, of at most 59 letters \
                 and digits; type a name such as `CronJob` at line {} column 3",
                at("- api:")
            ),
        ),
        (
            "plural: foos",
            "plural: ../../foos",
            format!(
                "resources[0]: `../../foos` is no resource name: it must be a DNS-1035 label; type \
                 lower-case letters, digits and `-` after `--plural`, beginning with a letter, such as \
                 `cronjobs` at line {} column 3",
                at("- api:")
            ),
        ),
    ] {
        unreadable(&sandbox, good.replace(from, to).as_bytes(), &reason);
    }
}

#[test]
fn a_project_file_that_is_no_text_of_ours() {
    let sandbox = Sandbox::with_project();
    let deep = format!("layout: {}{}\n", "[".repeat(1000), "]".repeat(1000));
    let mut bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (name, of) in "bcdefghijk".chars().zip('a'..) {
        bomb += &format!(
            "{name}: &{name} [{}]\n",
            vec![format!("*{of}"); 9].join(", ")
        );
    }
    bomb += "layout: *k\n";
    let several = sandbox.read("PROJECT") + "---\na: b\n";
    for (text, reason) in [
        (&b"\xff\xfe\x00"[..], "it is no text file"),
        (b"", "`layout` is missing; this kbr knows `kbr/v1`"),
        (b"- a\n", "invalid type: sequence, expected a mapping"),
        (bomb.as_bytes(), "repetition limit exceeded"),
        (
            deep.as_bytes(),
            "recursion limit exceeded at line 1 column 136",
        ),
        (
            several.as_bytes(),
            "deserializing from YAML containing more than one document is not supported",
        ),
    ] {
        unreadable(&sandbox, text, reason);
    }
}

#[cfg(unix)]
#[test]
fn a_project_file_that_is_no_file() {
    let sandbox = Sandbox::with_project();
    let path = sandbox.path().join("PROJECT");
    let text = sandbox.read("PROJECT");
    fs::remove_file(&path).expect("the file goes");
    fs::create_dir(&path).expect("a folder");
    let error = |reason: &str| format!("error: PROJECT can not be read: {reason}{UNREADABLE}");
    refused(&sandbox, "manifests", &error("it is a folder"));
    fs::remove_dir(&path).expect("the folder goes");
    sandbox.write("elsewhere", &text);
    std::os::unix::fs::symlink("elsewhere", &path).expect("a link");
    refused(&sandbox, "manifests", &error(&format!("it {LINK}")));
    refused(
        &sandbox,
        "init --domain example.com",
        "error: `.` holds a project already: it has a PROJECT file\n \
         help: to add an API, type `kbr create api --kind KIND`\n",
    );
}

#[test]
fn a_project_of_kubebuilders() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "PROJECT",
        "cliVersion: 4.9.0\ndomain: example.com\nlayout:\n- go.kubebuilder.io/v4\n\
         projectName: memcached\nrepo: example.com/memcached\nversion: \"3\"\n",
    );
    for line in ["create api --kind Foo", "manifests"] {
        refused(
            &sandbox,
            line,
            "error: PROJECT has the layout `go.kubebuilder.io/v4`: this is a Go project of kubebuilder's\n \
             help: use kubebuilder here, or run kbr in a folder of its own\n",
        );
    }
}
