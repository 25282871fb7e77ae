//! What kbr refuses: the exact words, the exit code, and the tree byte for byte as it was.

use std::fs;
use std::process::{Command, Stdio};

use crate::support::{Run, Sandbox, assert_same};

/// Clap's closing line.
const MORE: &str = "\n\nFor more information, try '--help'.\n";

/// What stands behind every unreadable PROJECT.
const UNREADABLE: &str =
    "\n help: take the file back from version control, or update kbr if a newer one wrote it\n";

const AGAIN: &str =
    "\n help: move what stands there out of the way, and type the same command again\n";

const LINK: &str = "is a symbolic link, which may lead out of the project";

/// Runs kbr with `args`, which must be refused with exactly that text, and change nothing.
#[track_caller]
fn refused_args(sandbox: &Sandbox, args: &[&str], code: i32, stderr: &str) {
    let before = sandbox.tree();
    sandbox.run(args).refused(code, stderr);
    assert_same(&before, &sandbox.tree());
}

/// The same with a line that holds no quoting.
#[track_caller]
fn refused(sandbox: &Sandbox, line: &str, stderr: &str) {
    let args: Vec<&str> = line.split_whitespace().collect();
    refused_args(sandbox, &args, 1, stderr);
}

/// The last word of `line` is no value of the option before it.
#[track_caller]
fn bad_value(sandbox: &Sandbox, line: &str, placeholder: &str, why: &str) {
    let mut args: Vec<&str> = line.split_whitespace().collect();
    let (Some(value), Some(option)) = (args.pop(), args.pop()) else {
        panic!("{line}");
    };
    let argument = format!("{option}={value}");
    args.push(&argument);
    let text =
        format!("error: invalid value '{value}' for '{option} <{placeholder}>': {why}{MORE}");
    refused_args(sandbox, &args, 2, &text);
}

/// A line that clap itself can not make sense of.
#[track_caller]
fn misused(sandbox: &Sandbox, line: &str, text: &str) {
    let args: Vec<&str> = line.split_whitespace().collect();
    refused_args(sandbox, &args, 2, &format!("{text}{MORE}"));
}

/// A project with one kind, `Foo`, and its controller.
fn with_foo() -> Sandbox {
    let sandbox = Sandbox::with_project();
    sandbox.kbr("create api --kind Foo").success();
    sandbox
}

/// A project of that domain.
fn with_domain(domain: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let line = format!("init --project-name sandbox --domain {domain}");
    sandbox.kbr(&line).success();
    sandbox
}

#[test]
fn a_bad_domain() {
    let sandbox = Sandbox::new();
    for domain in [
        "Example.com",
        "foo_bar",
        "a..b",
        ".",
        "-a.com",
        "a/b",
        "../x",
    ] {
        bad_value(
            &sandbox,
            &format!("init --domain {domain}"),
            "DOMAIN",
            &format!(
                "`{domain}` is no domain: it must be a DNS-1123 subdomain; \
                 type lower-case letters, digits, `-` and `.`, such as `example.com`"
            ),
        );
    }
    sandbox
        .kbr("init --project-name sandbox --domain example.com")
        .success();
}

#[test]
fn a_missing_domain() {
    misused(
        &Sandbox::new(),
        "init",
        "error: the following required arguments were not provided:\n  --domain <DOMAIN>\n\n\
         Usage: kbr init --domain <DOMAIN> [DIR]",
    );
}

#[test]
fn a_project_name_that_is_no_label() {
    let sandbox = Sandbox::new();
    for name in ["My-Operator", "my_operator", "a.b", "-a", "a-", "../a"] {
        bad_value(
            &sandbox,
            &format!("init --domain example.com --project-name {name}"),
            "NAME",
            &format!(
                "`{name}` is no project name: it must be a DNS-1123 label; type lower-case letters, \
                 digits and `-` after `--project-name`, such as `my-operator`"
            ),
        );
    }
    bad_value(
        &sandbox,
        "init --domain example.com --project-name 1st",
        "NAME",
        "`1st` is no project name: cargo refuses a package that begins with a digit; \
         type a name that begins with a letter after `--project-name`",
    );
    sandbox
        .kbr("init --domain example.com --project-name my-operator")
        .success();
}

#[test]
fn a_project_name_that_is_too_long() {
    let sandbox = Sandbox::new();
    let name = "a".repeat(29);
    bad_value(
        &sandbox,
        &format!("init --domain example.com --project-name {name}"),
        "NAME",
        &format!(
            "`{name}` is too long a project name: with `-controller-manager-metrics-service` behind it, \
             it must fit the 63 characters of a Service name; \
             type at most 28 characters after `--project-name`"
        ),
    );
    sandbox
        .kbr(&format!(
            "init --domain example.com --project-name {}",
            &name[1..]
        ))
        .success();
}

#[test]
fn a_project_name_that_is_taken() {
    let package = |name: &str| format!("the operator depends on a package called `{name}`");
    let own = "a part of every project is called that".to_owned();
    let word = "it is a word of the Rust language or of its toolchain".to_owned();
    let folder = "cargo keeps a folder of that name in its target directory".to_owned();
    let device = "Windows has a device of that name".to_owned();
    let sandbox = Sandbox::new();
    for (name, why) in [
        ("tokio", package("tokio")),
        ("kube-runtime", package("kube-runtime")),
        ("kube", package("kube")),
        ("serde-json", package("serde-json")),
        ("api", own.clone()),
        ("runtime", own.clone()),
        ("crdgen", own),
        ("fn", word.clone()),
        ("test", word.clone()),
        ("std", word),
        ("build", folder.clone()),
        ("deps", folder),
        ("con", device),
    ] {
        bad_value(
            &sandbox,
            &format!("init --domain example.com --project-name {name}"),
            "NAME",
            &format!(
                "`{name}` can not be the project's name: {why}; \
                 type another name after `--project-name`, such as `{name}-operator`"
            ),
        );
    }
    sandbox
        .kbr("init --domain example.com --project-name tokio-operator")
        .success();
}

#[test]
fn a_folder_whose_name_can_not_be_the_projects() {
    let sandbox = Sandbox::new();
    sandbox.write("My_Operator/.keep", "");
    sandbox.write("tokio/.keep", "");
    let help = "\n help: type `--project-name NAME`, such as `--project-name my-operator`\n";
    refused(
        &sandbox,
        "-C My_Operator init --domain example.com",
        &format!(
            "error: the folder's name `my_operator` can not be the project's: \
             `my_operator` is no project name: it must be a DNS-1123 label{help}"
        ),
    );
    refused(
        &sandbox,
        "init tokio --domain example.com",
        &format!(
            "error: the folder's name `tokio` can not be the project's: `tokio` can not be the \
             project's name: the operator depends on a package called `tokio`{help}"
        ),
    );
    sandbox
        .kbr("init tokio --domain example.com --project-name my-operator")
        .success();
}

#[test]
fn an_owner_that_is_not_one_line_of_text() {
    let sandbox = Sandbox::new();
    let init = [
        "init",
        "--project-name",
        "sandbox",
        "--domain",
        "example.com",
        "--owner",
    ];
    for (owner, shown) in [
        ("", ""),
        ("  ", "  "),
        (" a", " a"),
        ("a\nb", "a\\nb"),
        ("a\u{202e}b", "a\\u{202e}b"),
    ] {
        let text = format!(
            "error: invalid value '{owner}' for '--owner <OWNER>': `{shown}` is no copyright holder; \
             type one line of text after `--owner`, such as `The CronJob authors`{MORE}"
        );
        refused_args(&sandbox, &[&init[..], &[owner]].concat(), 2, &text);
    }
    sandbox
        .run(&[&init[..], &["The CronJob authors"]].concat())
        .success();
}

#[test]
fn a_repository_that_is_no_url() {
    let sandbox = Sandbox::new();
    for repo in [
        "github.com/a/b",
        "ftp://a.b/c",
        "https://",
        "https://a\"b",
        "https://a\\b",
    ] {
        bad_value(
            &sandbox,
            &format!("init --domain example.com --repo {repo}"),
            "URL",
            &format!(
                "`{}` is no repository URL; \
                 type a URL after `--repo`, such as `https://github.com/example/operator`",
                repo.escape_debug()
            ),
        );
    }
    let line = "init --domain example.com --project-name sandbox --repo https://github.com/a/b";
    sandbox.kbr(line).success();
}

#[test]
fn a_license_that_is_not_offered() {
    misused(
        &Sandbox::new(),
        "init --domain example.com --license mit",
        "error: invalid value 'mit' for '--license <LICENSE>'\n  [possible values: apache2, none]",
    );
}

#[test]
fn a_bad_group() {
    let sandbox = Sandbox::with_project();
    for group in ["Batch", "a/b", "a_b", "..", "a..b"] {
        bad_value(
            &sandbox,
            &format!("create api --kind Foo --group {group}"),
            "GROUP",
            &format!(
                "`{group}` is no API group: it must be a DNS-1123 subdomain; \
                 type lower-case letters, digits, `-` and `.`, such as `batch`, \
                 or leave `--group` out to use the domain itself"
            ),
        );
    }
    sandbox.kbr("create api --kind Foo --group batch").success();
}

#[test]
fn a_bad_version() {
    let sandbox = Sandbox::with_project();
    for version in [
        "1", "v", "v0", "v1.2", "V1", "v1gamma1", "v1alpha", "latest", "../v1",
    ] {
        bad_value(
            &sandbox,
            &format!("create api --kind Foo --version {version}"),
            "VERSION",
            &format!(
                "`{version}` is no API version; type `v` and a number, optionally followed by \
                 `alpha` or `beta` and a number, such as `v1` or `v1beta2`"
            ),
        );
    }
    sandbox
        .kbr("create api --kind Foo --version v1beta2")
        .success();
}

#[test]
fn a_kind_that_is_not_upper_camel_case() {
    let sandbox = Sandbox::with_project();
    let long = "K".repeat(60);
    for kind in [
        "cronJob", "Cron-Job", "Cron_Job", "2Foo", "Föö", "../Foo", &long,
    ] {
        bad_value(
            &sandbox,
            &format!("create api --kind {kind}"),
            "KIND",
            &format!(
                "`{kind}` is no kind: it must be upper camel case, of at most 59 letters and digits; \
                 type a name such as `CronJob`"
            ),
        );
    }
    sandbox.kbr("create api --kind CronJob").success();
}

#[test]
fn a_kind_that_rust_or_the_emitted_code_uses() {
    let prelude = "it is a name of Rust's own prelude";
    let emitted = "the emitted code uses that name";
    let sandbox = Sandbox::with_project();
    for (kind, why) in [
        ("Result", prelude),
        ("Option", prelude),
        ("Box", prelude),
        ("Self", prelude),
        ("Default", prelude),
        ("Api", emitted),
        ("Controller", emitted),
        ("Context", emitted),
        ("Condition", emitted),
        ("Vec", emitted),
    ] {
        bad_value(
            &sandbox,
            &format!("create api --kind {kind}"),
            "KIND",
            &format!(
                "`{kind}` can not be a kind: {why}; type a name of its own, such as `My{kind}`"
            ),
        );
    }
    sandbox.kbr("create api --kind MyResult").success();
}

#[test]
fn a_missing_kind() {
    misused(
        &Sandbox::with_project(),
        "create api",
        "error: the following required arguments were not provided:\n  --kind <KIND>\n\n\
         Usage: kbr create api --kind <KIND>",
    );
}

#[test]
fn a_bad_plural() {
    let sandbox = Sandbox::with_project();
    for plural in ["Foos", "2foos", "foo_s", "foo.s", "../foos"] {
        bad_value(
            &sandbox,
            &format!("create api --kind Foo --plural {plural}"),
            "PLURAL",
            &format!(
                "`{plural}` is no resource name: it must be a DNS-1035 label; type lower-case letters, \
                 digits and `-` after `--plural`, beginning with a letter, such as `cronjobs`"
            ),
        );
    }
    sandbox
        .kbr("create api --kind Foo --plural foo-es")
        .success();
}

#[test]
fn words_and_options_that_nothing_takes() {
    let sandbox = Sandbox::with_project();
    let kind = "Usage: kbr create api [OPTIONS] --kind <KIND>";
    for (line, text) in [
        (
            "create api --kind Foo batch",
            &*format!("error: unexpected argument 'batch' found\n\n{kind}"),
        ),
        (
            "create api --kind Foo --controler",
            "error: unexpected argument '--controler' found\n\n  \
             tip: a similar argument exists: '--controller'\n\n\
             Usage: kbr create api --kind <KIND> --controller [<BOOL>]",
        ),
        (
            "create api --kind Foo --frobnicate",
            "error: unexpected argument '--frobnicate' found\n\nUsage: kbr create api --kind <KIND>",
        ),
        (
            "create api --kind Foo --kind Bar",
            &*format!(
                "error: the argument '--kind <KIND>' cannot be used multiple times\n\n{kind}"
            ),
        ),
        (
            "create foo",
            "error: unrecognized subcommand 'foo'\n\nUsage: kbr create [OPTIONS] <COMMAND>",
        ),
        (
            "manifest",
            "error: unrecognized subcommand 'manifest'\n\n  \
             tip: a similar subcommand exists: 'manifests'\n\nUsage: kbr [OPTIONS] <COMMAND>",
        ),
        (
            "manifests now",
            "error: unexpected argument 'now' found\n\nUsage: kbr manifests [OPTIONS]",
        ),
        (
            "manifests --chek",
            "error: unexpected argument '--chek' found\n\n  \
             tip: a similar argument exists: '--check'\n\nUsage: kbr manifests --check",
        ),
        (
            "init a b --domain example.com",
            "error: unexpected argument 'b' found\n\n\
             Usage: kbr init [OPTIONS] --domain <DOMAIN> [DIR]",
        ),
    ] {
        misused(&sandbox, line, text);
    }
}

#[test]
fn values_that_an_option_does_not_take() {
    let sandbox = Sandbox::with_project();
    let bool = |option: &str| {
        format!(
            "error: invalid value 'maybe' for '--{option} [<BOOL>]'\n  [possible values: true, false]"
        )
    };
    misused(
        &sandbox,
        "create api --kind Foo --controller maybe",
        &bool("controller"),
    );
    misused(
        &sandbox,
        "create api --kind Foo --resource=maybe",
        &bool("resource"),
    );
    misused(
        &sandbox,
        "manifests --color blue",
        "error: invalid value 'blue' for '--color <WHEN>'\n  [possible values: auto, always, never]",
    );
    misused(
        &sandbox,
        "completion fishy",
        "error: invalid value 'fishy' for '<SHELL>'\n  \
         [possible values: bash, elvish, fish, powershell, zsh]\n\n  \
         tip: a similar value exists: 'fish'",
    );
    misused(
        &sandbox,
        "manifests -C",
        "error: a value is required for '-C <DIR>' but none was supplied",
    );
    sandbox
        .kbr("create api --kind Foo --controller false")
        .success();
}

#[test]
fn a_folder_that_is_none() {
    let sandbox = Sandbox::new();
    sandbox.write("file", "");
    for (line, path) in [
        ("-C file manifests", "file"),
        ("-C file create api --kind Foo", "file"),
        ("-C nowhere init --domain example.com", "nowhere"),
        ("manifests -C nowhere", "nowhere"),
    ] {
        let text = format!(
            "error: there is no folder `{path}`\n \
             help: name one that exists after `-C`; `kbr init DIR` creates its own\n"
        );
        refused(&sandbox, line, &text);
    }
    refused(
        &sandbox,
        "init file --domain example.com",
        "error: could not read `file`: Not a directory (os error 20)\n",
    );
}

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
        "\n  webhooks: {}\n  kind: Foo",
        &format!(
            "resources[0]: unknown field `webhooks`, expected one of `api`, `controller`, `domain`, \
             `group`, `kind`, `plural`, `version` at line {} column 3",
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
    let help = "\n help: use the same `--group` as before, or a project of its own\n";
    let text = "error: a second API group is not supported yet: the project's is `example.com`, \
                this one is `batch.example.com`";
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
            "{text}add `--force` to write it anew, or `--controller=false` to leave it alone\n"
        ),
    );
    sandbox
        .kbr("create api --kind Foo --resource=false --force")
        .success();
    for line in [
        "create api --kind Foo --version v1",
        "create api --kind Foo --version v1 --force",
    ] {
        let help = "add `--controller=false`: one controller serves all versions of a kind\n";
        refused(&sandbox, line, &format!("{text}{help}"));
    }
    sandbox
        .kbr("create api --kind Foo --version v1 --controller=false")
        .success();
}

#[test]
fn a_controller_for_an_unknown_type() {
    let sandbox = Sandbox::with_project();
    refused(
        &sandbox,
        "create api --group batch --version v1 --kind Foo --resource=false",
        "error: `batch.example.com/v1 Foo` is not in PROJECT\n \
         help: leave `--resource=false` out to create the type\n",
    );
    sandbox
        .kbr("create api --group batch --version v1 --kind Foo")
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
                "error: `{wanted}` can not stand beside `Foo`: {clash}\n \
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
        "error: `Foo` has the plural `foos` in its other version\n \
         help: type `--plural foos`, or leave it out\n",
    );
    sandbox
        .kbr("create api --kind Foo --version v1 --controller=false --plural foos")
        .success();
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
            "error: the CRD's name `elevenchars.{domain}` is longer than 250 characters: no file of \
             its name has room\n \
             help: choose a shorter `--group`, `--kind` or `--plural`\n"
        ),
    );
    sandbox.kbr("create api --kind Foo").success();
}

#[test]
fn a_marker_that_is_missing_or_doubled_and_a_file_that_is_gone() {
    for (path, marker, fragment) in [
        (
            "src/main.rs",
            "// +kbr:scaffold:controllers",
            "sandbox::controller::bar_controller::register,",
        ),
        (
            "src/controller.rs",
            "// +kbr:scaffold:modules",
            "pub mod bar_controller;",
        ),
        (
            "api/src/v1alpha1.rs",
            "// +kbr:scaffold:modules",
            "mod bar_types;",
        ),
        (
            "api/src/v1alpha1.rs",
            "// +kbr:scaffold:exports",
            "pub use bar_types::*;",
        ),
        (
            "config/crd/kustomization.yaml",
            "# +kbr:scaffold:crd-resources",
            "- \"bases/example.com_bars.yaml\"",
        ),
        (
            "config/rbac/kustomization.yaml",
            "# +kbr:scaffold:rbac-resources",
            "- bar_admin_role.yaml",
        ),
        (
            "config/samples/kustomization.yaml",
            "# +kbr:scaffold:samples",
            "- \"v1alpha1_bar.yaml\"",
        ),
    ] {
        marker_must_be_there_once(&with_foo(), path, marker, fragment);
    }
}

#[test]
fn a_marker_that_only_the_first_kind_needs() {
    for (path, marker, fragment) in [
        (
            "api/src/lib.rs",
            "// +kbr:scaffold:modules",
            "pub mod v1alpha1;",
        ),
        (
            "config/default/kustomization.yaml",
            "# +kbr:scaffold:default-resources",
            "- ../crd",
        ),
    ] {
        marker_must_be_there_once(&Sandbox::with_project(), path, marker, fragment);
    }
}

#[track_caller]
fn marker_must_be_there_once(sandbox: &Sandbox, path: &str, marker: &str, fragment: &str) {
    let line = "create api --kind Bar";
    let good = sandbox.read(path);
    sandbox.edit(path, marker, "");
    refused(
        sandbox,
        line,
        &format!(
            "error: `{path}` has no line `{marker}`, where `{fragment}` has to go\n \
             help: put the marker back, and type the same command again; \
             this is the line that it stands below:\n\n{fragment}\n{marker}\n"
        ),
    );
    let first = good
        .lines()
        .position(|line| line.trim() == marker)
        .expect("the marker")
        + 1;
    let second = good.lines().count() + 1;
    sandbox.write(path, &format!("{good}{marker}\n"));
    refused(
        sandbox,
        line,
        &format!(
            "error: `{path}` has the line `{marker}` more than once: lines {first}, {second}\n \
             help: keep one of the markers, and type the same command again; \
             this is the line that it stands below:\n\n{fragment}\n{marker}\n"
        ),
    );
    fs::remove_file(sandbox.path().join(path)).expect("the file goes");
    let first_fragment = match marker {
        "// +kbr:scaffold:exports" => "mod bar_types;",
        _ => fragment,
    };
    refused(
        sandbox,
        line,
        &format!(
            "error: `{path}` does not exist, but `{first_fragment}` has to go into it\n \
             help: take the file back from version control, and type the same command again\n"
        ),
    );
    sandbox.write(path, &good);
    sandbox.kbr(line).success();
    assert!(
        sandbox
            .read(path)
            .lines()
            .any(|line| line.trim() == fragment),
        "{path}"
    );
}

#[test]
fn init_where_other_files_stand() {
    let sandbox = Sandbox::new();
    sandbox.write("Makefile", "all:\n");
    sandbox.write("src/main.rs", "fn main() {}\n");
    let line = "init --domain example.com --project-name sandbox";
    refused(
        &sandbox,
        line,
        &format!(
            "error: `Makefile` exists with other content\n       \
             `src/main.rs` exists with other content{AGAIN}"
        ),
    );
    fs::remove_file(sandbox.path().join("Makefile")).expect("it goes");
    fs::remove_file(sandbox.path().join("src/main.rs")).expect("it goes");
    sandbox.kbr(line).success();
}

#[test]
fn init_keeps_what_a_fresh_repository_has_and_says_so() {
    let sandbox = Sandbox::new();
    for path in ["README.md", "LICENSE", ".gitignore"] {
        sandbox.write(path, "mine\n");
    }
    sandbox.write(".git/HEAD", "ref: refs/heads/main\n");
    sandbox.write("notes/todo.txt", "nothing\n");
    let run = sandbox
        .kbr("init --domain example.com --project-name sandbox")
        .success();
    for path in ["README.md", "LICENSE", ".gitignore"] {
        assert!(
            run.status().contains(&format!("Kept {path}")),
            "{}",
            run.stderr
        );
        assert_eq!(sandbox.read(path), "mine\n");
    }
    assert_eq!(sandbox.read("notes/todo.txt"), "nothing\n");
}

#[test]
fn create_api_where_other_files_stand() {
    let sandbox = Sandbox::with_project();
    let (types, controller) = (
        "api/src/v1alpha1/foo_types.rs",
        "src/controller/foo_controller.rs",
    );
    sandbox.write(types, "// mine\n");
    let line = "create api --kind Foo";
    let force =
        "\n help: move what stands there out of the way, or add `--force` to write it anew\n";
    refused(
        &sandbox,
        line,
        &format!("error: `{types}` exists with other content{force}"),
    );
    sandbox.write(controller, "// mine\n");
    let both = format!(
        "`{types}` exists with other content\n       `{controller}` exists with other content"
    );
    refused(&sandbox, line, &format!("error: {both}{force}"));
    let crdgen = sandbox.read("api/src/bin/crdgen.rs");
    sandbox.write("api/src/bin/crdgen.rs", "// mine\n");
    let not_ours = "`api/src/bin/crdgen.rs` is to be generated, \
                    but what stands there was not written by kbr";
    refused(
        &sandbox,
        line,
        &format!("error: {not_ours}\n       {both}{AGAIN}"),
    );
    refused(
        &sandbox,
        &format!("{line} --force"),
        &format!("error: {not_ours}{AGAIN}"),
    );
    sandbox.write("api/src/bin/crdgen.rs", &crdgen);
    sandbox.kbr(&format!("{line} --force")).success();
}

#[test]
fn what_only_the_first_kind_creates_may_be_forced_as_well() {
    let sandbox = Sandbox::with_project();
    sandbox.write("api/src/v1alpha1.rs", "// mine\n");
    sandbox.write("config/crd/kustomization.yaml", "# mine\n");
    let line = "create api --kind Foo";
    refused(
        &sandbox,
        line,
        "error: `api/src/v1alpha1.rs` exists with other content\n       \
         `config/crd/kustomization.yaml` exists with other content\n \
         help: move what stands there out of the way, or add `--force` to write it anew\n",
    );
    sandbox.kbr(&format!("{line} --force")).success();
    assert_same(&with_foo().tree(), &sandbox.tree());
}

#[test]
fn an_edited_role_does_not_keep_another_version_out() {
    let sandbox = with_foo();
    sandbox.write("config/rbac/foo_admin_role.yaml", "# mine\n");
    let run = sandbox
        .kbr("create api --kind Foo --version v1 --controller=false")
        .success();
    assert!(
        run.status()
            .contains(&"Kept config/rbac/foo_admin_role.yaml".to_owned())
    );
    assert_eq!(sandbox.read("config/rbac/foo_admin_role.yaml"), "# mine\n");
}

#[test]
fn manifests_over_a_role_that_is_not_ours() {
    let sandbox = Sandbox::with_project();
    sandbox.write("config/rbac/role.yaml", "kind: ClusterRole\n");
    for line in ["manifests", "manifests --check"] {
        refused(
            &sandbox,
            line,
            &format!(
                "error: `config/rbac/role.yaml` is to be generated, \
                 but what stands there was not written by kbr{AGAIN}"
            ),
        );
    }
}

#[test]
fn something_else_where_a_file_or_a_folder_must_be() {
    let sandbox = Sandbox::new();
    let line = "init --domain example.com --project-name sandbox";
    sandbox.write("config", "a file\n");
    sandbox.write("Cargo.toml/file", "in a folder\n");
    fs::write(sandbox.path().join("README.md"), b"\xff\xfe").expect("a file");
    refused(
        &sandbox,
        line,
        &format!(
            "error: `Cargo.toml` is a folder\n       `README.md` is no text file\n       \
             `config` is a file, but a folder has to stand there{AGAIN}"
        ),
    );
}

#[cfg(unix)]
#[test]
fn links_are_not_followed_out_of_the_project() {
    let outside = Sandbox::new();
    outside.write("file", "not yours\n");
    let link = |sandbox: &Sandbox, path: &str, target: &str| {
        let target = outside.path().join(target);
        std::os::unix::fs::symlink(target, sandbox.path().join(path)).expect("a link");
    };
    let sandbox = Sandbox::new();
    for (path, target) in [
        ("Makefile", "file"),
        ("api", ""),
        ("config", ""),
        ("README.md", "gone"),
    ] {
        link(&sandbox, path, target);
    }
    let init = "init --domain example.com --project-name sandbox";
    refused(
        &sandbox,
        init,
        &format!(
            "error: `Makefile` {LINK}\n       `README.md` {LINK}\n       \
             `api` {LINK}\n       `config` {LINK}{AGAIN}"
        ),
    );
    let sandbox = Sandbox::with_project();
    fs::rename(sandbox.path().join("config"), outside.path().join("config")).expect("it moves");
    link(&sandbox, "config", "config");
    let before = outside.tree();
    let text = format!("error: `config` {LINK}{AGAIN}");
    refused(&sandbox, "create api --kind Foo", &text);
    refused(&sandbox, "manifests", &text);
    assert_same(&before, &outside.tree());
}

#[cfg(unix)]
#[test]
fn an_edited_file_that_is_a_link() {
    let sandbox = Sandbox::with_project();
    let main = sandbox.path().join("src/main.rs");
    fs::rename(&main, sandbox.path().join("real.rs")).expect("it moves");
    std::os::unix::fs::symlink("../real.rs", &main).expect("a link");
    let text = format!("error: `src/main.rs` {LINK}{AGAIN}");
    refused(&sandbox, "create api --kind Foo", &text);
}

#[test]
fn markers_in_the_code_that_are_not_understood_all_at_once() {
    let sandbox = Sandbox::with_project();
    sandbox.write(
        "src/a.rs",
        "// +kbr:rabc:groups=a,resources=b,verbs=get\n\
         fn f() {} // +kbr:scaffold:controler\n    // +kbr:frobnicate\n\
         // +kubebuilder:validation:Minimum=0\n",
    );
    sandbox.write(
        "api/src/b.rs",
        "\n/// +kubebuilder:rbak:groups=a\nstruct S;\n",
    );
    let schema = "kbr reads `+kbr:rbac`; what concerns the schema is written as `#[kube(..)]`, \
                  `#[schemars(..)]` and `#[serde(..)]` attributes";
    let text = format!(
        "error: api/src/b.rs:2:1: unknown marker `+kubebuilder:rbak`; did you mean `rbac`?\n       \
         src/a.rs:1:1: unknown marker `+kbr:rabc`; did you mean `rbac`?\n       \
         src/a.rs:2:11: unknown scaffold marker `+kbr:scaffold:controler`; did you mean `controllers`?\n       \
         src/a.rs:3:5: unknown marker `+kbr:frobnicate`; {schema}\n       \
         src/a.rs:4:1: unknown marker `+kubebuilder:validation`; {schema}\n"
    );
    refused(&sandbox, "manifests", &text);
    refused(&sandbox, "manifests --check", &text);
    sandbox.write("src/a.rs", "// +kbr:rbac:groups=a,resources=b,verbs=get\n");
    sandbox.write(
        "api/src/b.rs",
        "// +kubebuilder:rbac:urls=/metrics,verbs=get\n",
    );
    sandbox.kbr("manifests").success();
}

#[test]
fn markers_with_arguments_that_grant_nothing() {
    let sandbox = Sandbox::with_project();
    let example = "write it like `// +kbr:rbac:groups=batch,resources=jobs,verbs=get;list`";
    for (arguments, message) in [
        (
            "group=a,resources=b,verbs=get",
            "unknown argument `group` of `+kbr:rbac`; did you mean `groups`?",
        ),
        (
            "groups=a,resources=b",
            "`+kbr:rbac` without `verbs` grants nothing; add `verbs=get;list;watch`, or what is needed",
        ),
        (
            "groups=a,verbs=get",
            &format!("`+kbr:rbac` must name either `resources` or `urls`; {example}"),
        ),
        (
            "resources=b,verbs=get",
            "`groups` and `resources` go together; write `groups=\"\"` for the core group",
        ),
        (
            "urls=/metrics,verbs=get,namespace=sandbox-system",
            "`urls` are of the whole cluster; leave out `namespace` and `resourceNames`",
        ),
        (
            "groups=a,resources=b,verbs=get,namespace=other",
            "`namespace` is not the operator's own, into which `config/default` puts every role; \
             leave `namespace` out, or name the project with `-system` behind it",
        ),
        (
            "groups=a,resources=b,verbs=get,roleName=one;two",
            "`roleName` takes one word; write a marker for each",
        ),
        (
            "groups=a,resources=b,verbs=Get",
            "a verb is `*` or a word in lower case; \
             write `verbs=get;list;watch`, or what is needed",
        ),
        (
            "groups=a,resources=b;,verbs=get",
            &format!("an empty word can not be a resource, its name, or a URL; {example}"),
        ),
        (
            "verbs",
            &format!("`verbs` is no argument: it has no `=`; {example}"),
        ),
        (
            "verbs=get,verbs=list",
            "the argument `verbs` stands twice; separate values by `;`",
        ),
        (
            "groups=\"a",
            &format!("a quote or a brace is not closed; {example}"),
        ),
    ] {
        sandbox.write("src/a.rs", &format!("// +kbr:rbac:{arguments}\n"));
        refused(
            &sandbox,
            "manifests",
            &format!("error: src/a.rs:1:1: {message}\n"),
        );
    }
}

#[test]
fn manifests_that_are_out_of_date() {
    let sandbox = Sandbox::with_project();
    sandbox.kbr("manifests --check").success();
    sandbox.write("src/a.rs", "// +kbr:rbac:groups=a,resources=b,verbs=get\n");
    let text = "error: 1 of the generated files is out of date: `config/rbac/role.yaml`\n \
                help: type `kbr manifests`, and commit what it writes\n";
    refused(&sandbox, "manifests --check", text);
    sandbox.kbr("manifests").success();
    sandbox.kbr("manifests --check").success();
    fs::remove_file(sandbox.path().join("config/rbac/role.yaml")).expect("it goes");
    refused(&sandbox, "manifests --check", text);
}

#[test]
fn cargo_that_is_not_there() {
    let sandbox = with_foo();
    let before = sandbox.tree();
    let run: Run = Command::new(env!("CARGO_BIN_EXE_kbr"))
        .arg("manifests")
        .current_dir(sandbox.path())
        .env("PATH", "")
        .stdin(Stdio::null())
        .output()
        .expect("kbr runs")
        .into();
    run.refused(
        1,
        "error: could not start `cargo`: No such file or directory (os error 2)\n \
         help: install Rust from https://rustup.rs, and see that `cargo` is on PATH\n",
    );
    assert_same(&before, &sandbox.tree());
}

#[test]
fn everything_that_is_in_the_way_all_at_once() {
    let sandbox = Sandbox::with_project();
    sandbox.write("src/controller.rs", "");
    sandbox.write("api/src/v1alpha1.rs", "mine\n");
    fs::remove_file(sandbox.path().join("src/main.rs")).expect("the file goes");
    refused(
        &sandbox,
        "create api --kind Foo",
        "error: `api/src/v1alpha1.rs` exists with other content\n       \
         `src/controller.rs` has no line `// +kbr:scaffold:modules`, \
         where `pub mod foo_controller;` has to go\n       \
         `src/main.rs` does not exist, but \
         `sandbox::controller::foo_controller::register,` has to go into it\n \
         help: move what stands there out of the way, or add `--force` to write it anew\n \
         help: put the marker back, and type the same command again; \
         this is the line that it stands below:\n\n\
         pub mod foo_controller;\n// +kbr:scaffold:modules\n \
         help: take the file back from version control, and type the same command again\n",
    );
}
