//! A PROJECT file that is missing, belongs to another tool, or is hostile.

use std::fs;

use snapbox::str;

use super::{refusal, refused, told, with_foo, words};
use crate::support::{Sandbox, kbr};

#[test]
fn init_over_a_project() {
    let sandbox = Sandbox::with_project();
    refused(&sandbox, "init --domain example.com");
    sandbox.write("sub/PROJECT/file", "even a folder of that name");
    refused(&sandbox, "init sub --domain example.com");
    told(str![[r#"
$ kbr init --domain example.com
error: `.` is already a project: it has a PROJECT file
 help: to add an API, type `kbr create api --kind KIND`

$ kbr init sub --domain example.com
error: `sub` is already a project: it has a PROJECT file
 help: to add an API, type `kbr create api --kind KIND`
"#]]);
}

#[test]
fn commands_without_a_project() {
    let sandbox = Sandbox::new();
    for line in ["create api --kind Foo", "manifests", "manifests --check"] {
        refused(&sandbox, line);
    }
    told(str![[r#"
$ kbr create api --kind Foo
error: `.` is not a kbr project: it has no PROJECT file
 help: type `kbr init --domain DOMAIN` first, or name the project's folder with `-C DIR`

$ kbr manifests
error: `.` is not a kbr project: it has no PROJECT file
 help: type `kbr init --domain DOMAIN` first, or name the project's folder with `-C DIR`

$ kbr manifests --check
error: `.` is not a kbr project: it has no PROJECT file
 help: type `kbr init --domain DOMAIN` first, or name the project's folder with `-C DIR`
"#]]);
}

/// Cargo finds the project from every folder below it; kbr reports it, and works only in the given folder.
#[test]
fn commands_below_a_project() {
    let sandbox = Sandbox::with_project();
    let project = sandbox.path().canonicalize().expect("a folder");
    for line in ["create api --kind Foo", "manifests", "manifests --check"] {
        refused(&sandbox, &format!("-C config/rbac {line}"));
    }
    let project = project.to_str().expect("a name in UTF-8");
    kbr(sandbox.path(), &["-C", project, "manifests"]).success();
    told(str![[r#"
$ kbr -C config/rbac create api --kind Foo
error: `config/rbac` has no PROJECT file: it is inside the project SANDBOX
 help: type `cd SANDBOX` first, or name that folder with `-C SANDBOX`

$ kbr -C config/rbac manifests
error: `config/rbac` has no PROJECT file: it is inside the project SANDBOX
 help: type `cd SANDBOX` first, or name that folder with `-C SANDBOX`

$ kbr -C config/rbac manifests --check
error: `config/rbac` has no PROJECT file: it is inside the project SANDBOX
 help: type `cd SANDBOX` first, or name that folder with `-C SANDBOX`
"#]]);
}

#[test]
fn a_project_inside_another() {
    let sandbox = Sandbox::new();
    sandbox.kbr("init first --domain example.com").success();
    for line in [
        "-C first init new",
        "-C first/src init",
        "-C first init ../first/deep/down",
    ] {
        refused(&sandbox, &format!("{line} --domain example.com"));
    }
    sandbox
        .kbr("-C first init ../second --domain example.com")
        .success();
    told(str![[r#"
$ kbr -C first init new --domain example.com
error: `first/new` is inside the project SANDBOX/first, and projects do not nest
 help: to add an API, type `cd SANDBOX/first && kbr create api --kind KIND`; for another project, name a folder outside of this one with `kbr init DIR`

$ kbr -C first/src init --domain example.com
error: `first/src` is inside the project SANDBOX/first, and projects do not nest
 help: to add an API, type `cd SANDBOX/first && kbr create api --kind KIND`; for another project, name a folder outside of this one with `kbr init DIR`

$ kbr -C first init ../first/deep/down --domain example.com
error: `first/../first/deep/down` is inside the project SANDBOX/first, and projects do not nest
 help: to add an API, type `cd SANDBOX/first && kbr create api --kind KIND`; for another project, name a folder outside of this one with `kbr init DIR`
"#]]);
}

/// A kubebuilder project has a PROJECT too, and may contain a kbr project.
#[test]
fn a_project_inside_of_one_in_go() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "PROJECT",
        "layout:\n- go.kubebuilder.io/v4\nversion: \"3\"\n",
    );
    sandbox.kbr("init rust --domain example.com").success();
}

/// The end of the message about every unreadable PROJECT.
const UNREADABLE: &str =
    "\n help: restore the file from version control, or update kbr if a newer one wrote it\n";

/// Asserts that every command that reads PROJECT refuses this one for that reason, and restores the file.
#[track_caller]
fn unreadable(sandbox: &Sandbox, project: &[u8], reason: &str) {
    let path = sandbox.path().join("PROJECT");
    let good = fs::read(&path).expect("PROJECT");
    fs::write(&path, project).expect("the file");
    let text = format!("error: PROJECT cannot be read: {reason}{UNREADABLE}");
    for line in ["manifests", "create api --kind Bar"] {
        assert_eq!(refusal(sandbox, &words(line), 1), text);
    }
    fs::write(&path, good).expect("the file");
}

/// What is wrong with one of the resources: the parser reports the place where they begin.
fn of_resources(project: &str, reason: &str) -> String {
    let key = project.lines().position(|line| line == "resources:");
    let line = key.expect("resources") + 2;
    format!("resources: {reason} at line {line} column 1")
}

#[test]
fn a_project_file_with_wrong_keys_or_values() {
    let sandbox = with_foo();
    let good = sandbox.read("PROJECT");
    let keys = "`bases`, `certificates`, `cliVersion`, `domain`, `files`, `layout`, `leaderElectionId`, `license`, `multigroup`, `namespaced`, `owner`, \
                `projectName`, `repo`, `resources`, `version`";
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
        "- kbr/v2\n",
        "- kbr/v3\n",
        "`layout` is `kbr/v3`; this kbr knows `kbr/v2`",
    );
    refuse(
        "layout:\n- kbr/v2\n",
        "",
        "`layout` is missing; this kbr knows `kbr/v2`",
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
        "certificates: self-managed",
        "certificates: mine",
        &format!(
            "certificates: unknown variant `mine`, expected `self-managed` or `cert-manager` at line {} column 15",
            line("certificates:")
        ),
    );
    refuse(
        "\nlicense: ",
        "\nleaderElectionId: A_\nlicense: ",
        "`A_` is not a name of a Lease: it must be a DNS-1123 subdomain; \
         type lower-case letters, digits, `-` and `.`, such as `my-operator.example.com` at line 3 column 1",
    );
    refuse(
        "\ndomain: example.com",
        "\ndomain: [a, b]",
        "domain: invalid type: sequence, expected a string at line 5 column 9",
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
        "\n  foreign: {}\n  kind: Foo",
        &format!(
            "resources[0]: unknown field `foreign`, expected one of `api`, `clusterScoped`, `controller`, \
             `controllers`, `core`, `domain`, `external`, `group`, `kind`, `module`, `path`, `plural`, `policies`, \
             `version`, `webhooks` at line {} column 3",
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
fn an_inconsistent_project_file() {
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
        &format!("{gvk} is listed twice under `resources`"),
    );
    refuse(
        "    storage: true\n",
        "",
        "exactly one version of `Foo` must have `storage: true` under `api`",
    );
    refuse(
        "crdVersion: v1\n",
        "crdVersion: v1beta1\n",
        &format!("`crdVersion` of {gvk} must be `v1`"),
    );
    let without_api = good.replace(
        "- api:\n    crdVersion: v1\n    namespaced: true\n    storage: true\n  controller",
        "- controller",
    );
    let reason =
        "`v1alpha1 Foo` must have `api` and `domain`, or `core: true`, or `external: true`";
    unreadable(
        &sandbox,
        without_api.as_bytes(),
        &of_resources(&without_api, reason),
    );
}

#[test]
fn a_project_file_with_invalid_webhooks() {
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
    let no_api =
        "`v1 Pod` has `core: true`: it must have a `group`, and neither `api` nor `domain`";
    let refuse_resource = |from: &str, to: &str, reason: &str| {
        assert!(good.contains(from), "{from:?}");
        let text = good.replacen(from, to, 1);
        unreadable(&sandbox, text.as_bytes(), &of_resources(&text, reason));
    };
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
    refuse_resource(
        "- core: true\n  group: core",
        "- core: true\n  group: cores",
        &unknown.replace("core/v1", "cores/v1"),
    );
    refuse_resource("kind: Pod", "kind: Event", &unknown.replace("Pod", "Event"));
    refuse_resource(
        "plural: pods",
        "plural: pod",
        &format!("the plural of {pod} is `pods`"),
    );
    for extra in [
        "domain: example.com",
        "api: {crdVersion: v1, namespaced: true}",
    ] {
        let to = format!("- core: true\n  {extra}\n");
        refuse_resource("- core: true\n", &to, no_api);
    }
    refuse(
        "  version: v1\n  webhooks:\n",
        "  version: v1\n  webhooks:\n    conversion: true\n    spoke: [v2]\n",
        &format!("{pod} is not defined in this project, so it cannot be converted here"),
    );
    refuse(
        "  webhooks:\n    validation: true\n    webhookVersion: v1\n",
        "",
        &format!("{pod} has no `webhooks`, no `policies` and no `controller`"),
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
        "`core/v1 Pod` and `example.com/v1 POD` would have the same files",
    );
    sandbox.kbr("create api --kind Bar").success();
}

#[test]
fn a_project_file_with_paths_instead_of_names() {
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
            "`../sandbox` is not a project name: it must be a DNS-1123 label; type lower-case letters, \
             digits and `-` after `--project-name`, such as `my-operator` at line 3 column 1"
                .to_owned(),
        ),
        (
            "kind: Foo",
            "kind: ../Foo",
            format!(
                "resources[0]: `../Foo` is not a kind: it must be of at most 59 letters and digits, and begin with \
                 a letter; type a name such as `CronJob` at line {} column 3",
                at("- api:")
            ),
        ),
        (
            "plural: foos",
            "plural: ../../foos",
            format!(
                "resources[0]: `../../foos` is not a resource name: it must be a DNS-1035 label; type \
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
fn a_project_file_with_foreign_content() {
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
        (&b"\xff\xfe\x00"[..], "it is not a text file"),
        (b"", "`layout` is missing; this kbr knows `kbr/v2`"),
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
fn a_project_file_that_is_not_a_file() {
    let sandbox = Sandbox::with_project();
    let path = sandbox.path().join("PROJECT");
    let text = sandbox.read("PROJECT");
    fs::remove_file(&path).expect("the file is removed");
    fs::create_dir(&path).expect("a folder");
    refused(&sandbox, "manifests");
    fs::remove_dir(&path).expect("the folder is removed");
    sandbox.write("elsewhere", &text);
    std::os::unix::fs::symlink("elsewhere", &path).expect("a link");
    refused(&sandbox, "manifests");
    refused(&sandbox, "init --domain example.com");
    told(str![[r#"
$ kbr manifests
error: PROJECT cannot be read: it is a folder
 help: restore the file from version control, or update kbr if a newer one wrote it

$ kbr manifests
error: PROJECT cannot be read: it is a symbolic link, which may lead out of the project
 help: restore the file from version control, or update kbr if a newer one wrote it

$ kbr init --domain example.com
error: `.` is already a project: it has a PROJECT file
 help: to add an API, type `kbr create api --kind KIND`
"#]]);
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
        refused(&sandbox, line);
    }
    told(str![[r#"
$ kbr create api --kind Foo
error: PROJECT has the layout `go.kubebuilder.io/v4`: this is a Go project of kubebuilder
 help: use kubebuilder here, or run kbr in another folder

$ kbr manifests
error: PROJECT has the layout `go.kubebuilder.io/v4`: this is a Go project of kubebuilder
 help: use kubebuilder here, or run kbr in another folder
"#]]);
}

#[test]
fn a_version_that_is_missing_while_objects_may_be_stored_in_it() {
    let sandbox = with_foo();
    let line = "create api --kind Foo --version v1 --controller=false";
    sandbox.kbr(line).success();
    let crd = "config/crd/bases/example.com_foos.yaml";
    sandbox.write(
        crd,
        "# Generated by kbr manifests.\nspec:\n  versions:\n  - {name: v1alpha1, storage: true}\n  \
         - {name: v1, storage: false}\n",
    );
    // Both versions have changed: one is missing, and the other one is stored.
    let text = sandbox.read("PROJECT");
    let (before, entries) = text.split_once("resources:\n").expect("entries");
    let v1 = entries.find("- api:").expect("v1");
    let next = entries[v1 + 1..].find("\n- ").expect("v1alpha1") + v1 + 2;
    let end = entries.find("version: \"3\"").expect("the end");
    let kept = entries[v1..next].replace(
        "    namespaced: true\n",
        "    namespaced: true\n    storage: true\n",
    );
    sandbox.write(
        "PROJECT",
        &format!("{before}resources:\n{kept}{}", &entries[end..]),
    );
    for line in ["manifests", "manifests --check"] {
        refused(&sandbox, line);
    }
    sandbox.write(
        "PROJECT",
        &text.replace(
            "    storage: true\n",
            "    storage: true\n    storedVersions:\n    - v9\n",
        ),
    );
    refused(&sandbox, "manifests");
    told(str![[r#"
$ kbr manifests
error: `v1alpha1` of `Foo` was removed, but it is the stored version in `config/crd/bases/example.com_foos.yaml`: objects may be stored in it
 help: restore `v1alpha1` from version control, in PROJECT and in the code, move `storage: true` to another version, and type `kbr manifests`; if no cluster has such objects, remove `config/crd/bases/example.com_foos.yaml` instead, and run the command again

$ kbr manifests --check
error: `v1alpha1` of `Foo` was removed, but it is the stored version in `config/crd/bases/example.com_foos.yaml`: objects may be stored in it
 help: restore `v1alpha1` from version control, in PROJECT and in the code, move `storage: true` to another version, and type `kbr manifests`; if no cluster has such objects, remove `config/crd/bases/example.com_foos.yaml` instead, and run the command again

$ kbr manifests
error: PROJECT cannot be read: `storedVersions` of `example.com/v1alpha1 Foo` names `v9`, which PROJECT does not have: objects may still be stored in it
 help: restore the file from version control, or update kbr if a newer one wrote it
"#]]);
}
