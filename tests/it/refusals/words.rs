//! What cannot be typed: bad names, words that nothing takes, folders that are none.

use super::{MORE, bad_value, misused, refused, refused_args};
use crate::support::Sandbox;

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
                "`{domain}` is not a domain: it must be a DNS-1123 subdomain; \
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
                "`{name}` is not a project name: it must be a DNS-1123 label; type lower-case letters, \
                 digits and `-` after `--project-name`, such as `my-operator`"
            ),
        );
    }
    bad_value(
        &sandbox,
        "init --domain example.com --project-name 1st",
        "NAME",
        "`1st` is not a project name: cargo refuses a package that begins with a digit; \
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
        ("kbr-runtime", own.clone()),
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
                "`{name}` cannot be the project's name: {why}; \
                 type another name after `--project-name`, such as `{name}-operator`"
            ),
        );
    }
    sandbox
        .kbr("init --domain example.com --project-name tokio-operator")
        .success();
}

#[test]
fn a_folder_whose_name_cannot_be_the_projects() {
    let sandbox = Sandbox::new();
    sandbox.write("My_Operator/.keep", "");
    sandbox.write("tokio/.keep", "");
    let help = "\n help: type `--project-name NAME`, such as `--project-name my-operator`\n";
    refused(
        &sandbox,
        "-C My_Operator init --domain example.com",
        &format!(
            "error: the folder's name `my_operator` cannot be the project's: \
             `my_operator` is not a project name: it must be a DNS-1123 label{help}"
        ),
    );
    refused(
        &sandbox,
        "init tokio --domain example.com",
        &format!(
            "error: the folder's name `tokio` cannot be the project's: `tokio` cannot be the \
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
            "error: invalid value '{owner}' for '--owner <OWNER>': `{shown}` is not a copyright holder; \
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
    for module in ["tutorial.kubebuilder.io/project", "github.com/a/b"] {
        bad_value(
            &sandbox,
            &format!("init --domain example.com --repo {module}"),
            "URL",
            &format!(
                "`{module}` is not a repository URL; leave `--repo` out, since no module path is \
                 needed, or type a URL, such as `https://github.com/example/operator`"
            ),
        );
    }
    for repo in ["ftp://a.b/c", "https://", "https://a\"b", "https://a\\b"] {
        bad_value(
            &sandbox,
            &format!("init --domain example.com --repo {repo}"),
            "URL",
            &format!(
                "`{}` is not a repository URL; \
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
                "`{group}` is not an API group: it must be a DNS-1123 subdomain; \
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
                "`{version}` is not an API version; type `v` and a number, optionally followed by \
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
                "`{kind}` is not a kind: it must be upper camel case, of at most 59 letters and digits; \
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
                "`{kind}` cannot be a kind: {why}; type a name of its own, such as `My{kind}`"
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
                "`{plural}` is not a resource name: it must be a DNS-1035 label; type lower-case letters, \
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
             tip: some similar subcommands exist: 'man', 'manifests'\n\nUsage: kbr [OPTIONS] <COMMAND>",
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
fn a_bad_image() {
    let sandbox = Sandbox::with_project();
    let tip = "type it as `docker pull` takes it, such as `memcached:1.6.26-alpine` or \
               `registry.example.com/team/app@sha256:…`";
    for image in [
        "Memcached",
        "memcached:",
        "memcached:-1",
        "a//b",
        "a/",
        "example.com:port/a",
        "a@sha256:1",
        "a...b",
    ] {
        bad_value(
            &sandbox,
            &format!("create api --kind Foo --image {image}"),
            "IMAGE",
            &format!("`{image}` is not an image; {tip}"),
        );
    }
    refused_args(
        &sandbox,
        &["create", "api", "--kind", "Foo", "--image="],
        2,
        &format!("error: invalid value '' for '--image <IMAGE>': `` is not an image; {tip}{MORE}"),
    );
}

#[test]
fn what_goes_with_an_image() {
    let sandbox = Sandbox::with_project();
    let foo = "create api --kind Foo --image a";
    for port in ["0", "65536", "http", "-1"] {
        let why = "a port is a number from 1 to 65535";
        bad_value(&sandbox, &format!("{foo} --image-port {port}"), "PORT", why);
    }
    bad_value(
        &sandbox,
        &format!("{foo} --run-as-user 0"),
        "UID",
        "0 is not in 1..=2147483647",
    );
    refused_args(
        &sandbox,
        &[
            "create",
            "api",
            "--kind",
            "Foo",
            "--image=a",
            "--image-command=a,,b",
        ],
        2,
        &format!(
            "error: invalid value '' for '--image-command <WORD>': `` is not a word of a command; \
             type the words with `,` between them, such as `memcached,-m=64,-v`{MORE}"
        ),
    );
    for option in ["--image-port=80", "--image-command=a", "--run-as-user=7"] {
        let run = sandbox.kbr(&format!("create api --kind Foo {option}"));
        let missing = "the following required arguments were not provided:\n  --image <IMAGE>";
        assert!(run.stderr.contains(missing), "{run:?}");
        assert_eq!(run.code(), Some(2), "{run:?}");
    }
}

#[test]
fn flags_that_only_kubebuilder_has() {
    let sandbox = Sandbox::with_project();
    let (init, api, webhook) = (
        "init x --domain example.com",
        "create api --kind Foo",
        "create webhook --kind Foo",
    );
    let make = "kbr runs nothing afterwards: leave the flag out, and type `kbr manifests` when the \
                types are written";
    for (command, flag, hint) in [
        (
            init,
            "--fetch-deps=false",
            "`cargo build` fetches what is missing: leave the flag out",
        ),
        (
            init,
            "--license-file x",
            "type `--owner OWNER` to name the copyright holder, or `--license none` for no header",
        ),
        (
            init,
            "--plugins go/v4",
            "kbr has no plugins: leave the flag out",
        ),
        (
            init,
            "--project-version=3",
            "PROJECT has one version: leave the flag out",
        ),
        (
            init,
            "--skip-go-version-check",
            "a project has no Go code: leave the flag out",
        ),
        (api, "--make=false", make),
        (webhook, "--make", make),
        (
            api,
            "--ssa",
            "kube applies every type on the server side: leave the flag out",
        ),
        (
            webhook,
            "--plural foos",
            "only `kbr create api` and `kbr rename kind` take it; elsewhere the plural comes from PROJECT",
        ),
        (
            webhook,
            "--validation",
            "type `--programmatic-validation` after `kbr create webhook`",
        ),
    ] {
        let name = flag.split([' ', '=']).next().unwrap_or_default();
        misused(
            &sandbox,
            &format!("{command} {flag}"),
            &format!("error: unexpected argument '{name}' found\n\n  tip: {hint}"),
        );
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
        "man create fish",
        "error: kbr has no command 'create fish'\n\nUsage: kbr [OPTIONS] <COMMAND>",
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
