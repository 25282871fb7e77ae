//! Invalid command lines: bad names, unexpected arguments, folders that do not exist.

use snapbox::str;

use super::{bad_value, misused, refused, refused_args, told};
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
        bad_value(&sandbox, &format!("init --domain {domain}"));
    }
    sandbox
        .kbr("init --project-name sandbox --domain example.com")
        .success();
    told(str![[r#"
$ kbr init --domain=Example.com
error: invalid value 'Example.com' for '--domain <DOMAIN>': `Example.com` is not a domain: it must be a DNS-1123 subdomain; type `example.com`

$ kbr init --domain=foo_bar
error: invalid value 'foo_bar' for '--domain <DOMAIN>': `foo_bar` is not a domain: it must be a DNS-1123 subdomain; type `foo-bar`

$ kbr init --domain=a..b
error: invalid value 'a..b' for '--domain <DOMAIN>': `a..b` is not a domain: it must be a DNS-1123 subdomain; type lower-case letters, digits, `-` and `.`, such as `example.com`

$ kbr init --domain=.
error: invalid value '.' for '--domain <DOMAIN>': `.` is not a domain: it must be a DNS-1123 subdomain; type lower-case letters, digits, `-` and `.`, such as `example.com`

$ kbr init --domain=-a.com
error: invalid value '-a.com' for '--domain <DOMAIN>': `-a.com` is not a domain: it must be a DNS-1123 subdomain; type lower-case letters, digits, `-` and `.`, such as `example.com`

$ kbr init --domain=a/b
error: invalid value 'a/b' for '--domain <DOMAIN>': `a/b` is not a domain: it must be a DNS-1123 subdomain; type lower-case letters, digits, `-` and `.`, such as `example.com`

$ kbr init --domain=../x
error: invalid value '../x' for '--domain <DOMAIN>': `../x` is not a domain: it must be a DNS-1123 subdomain; type lower-case letters, digits, `-` and `.`, such as `example.com`
"#]]);
}

#[test]
fn a_missing_domain() {
    misused(&Sandbox::new(), "init");
    told(str![[r#"
$ kbr init
error: the following required arguments were not provided:
  --domain <DOMAIN>

Usage: kbr init --domain <DOMAIN> [DIR]
"#]]);
}

#[test]
fn a_project_name_that_is_not_a_label() {
    let sandbox = Sandbox::new();
    for name in ["My-Operator", "my_operator", "a.b", "-a", "a-", "../a"] {
        bad_value(
            &sandbox,
            &format!("init --domain example.com --project-name {name}"),
        );
    }
    bad_value(&sandbox, "init --domain example.com --project-name 1st");
    sandbox
        .kbr("init --domain example.com --project-name my-operator")
        .success();
    told(str![[r#"
$ kbr init --domain example.com --project-name=My-Operator
error: invalid value 'My-Operator' for '--project-name <NAME>': `My-Operator` is not a project name: it must be a DNS-1123 label; type `my-operator`

$ kbr init --domain example.com --project-name=my_operator
error: invalid value 'my_operator' for '--project-name <NAME>': `my_operator` is not a project name: it must be a DNS-1123 label; type `my-operator`

$ kbr init --domain example.com --project-name=a.b
error: invalid value 'a.b' for '--project-name <NAME>': `a.b` is not a project name: it must be a DNS-1123 label; type `a-b`

$ kbr init --domain example.com --project-name=-a
error: invalid value '-a' for '--project-name <NAME>': `-a` is not a project name: it must be a DNS-1123 label; type `a`

$ kbr init --domain example.com --project-name=a-
error: invalid value 'a-' for '--project-name <NAME>': `a-` is not a project name: it must be a DNS-1123 label; type `a`

$ kbr init --domain example.com --project-name=../a
error: invalid value '../a' for '--project-name <NAME>': `../a` is not a project name: it must be a DNS-1123 label; type lower-case letters, digits and `-` after `--project-name`, such as `my-operator`

$ kbr init --domain example.com --project-name=1st
error: invalid value '1st' for '--project-name <NAME>': `1st` is not a project name: cargo refuses a package that begins with a digit; type a name that begins with a letter after `--project-name`
"#]]);
}

#[test]
fn a_project_name_that_is_too_long() {
    let sandbox = Sandbox::new();
    let name = "a".repeat(29);
    bad_value(
        &sandbox,
        &format!("init --domain example.com --project-name {name}"),
    );
    sandbox
        .kbr(&format!(
            "init --domain example.com --project-name {}",
            &name[1..]
        ))
        .success();
    told(str![[r#"
$ kbr init --domain example.com --project-name=aaaaaaaaaaaaaaaaaaaaaaaaaaaaa
error: invalid value 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaa' for '--project-name <NAME>': `aaaaaaaaaaaaaaaaaaaaaaaaaaaaa` is too long for a project name: with the suffix `-controller-manager-metrics-service`, it must fit the 63 characters of a Service name; type at most 28 characters after `--project-name`
"#]]);
}

#[test]
fn a_project_name_that_is_taken() {
    let sandbox = Sandbox::new();
    for name in [
        "tokio",
        "kube-runtime",
        "kube",
        "serde-json",
        "api",
        "kbr-runtime",
        "kbr-testing",
        "crdgen",
        "fn",
        "test",
        "std",
        "build",
        "deps",
        "con",
    ] {
        bad_value(
            &sandbox,
            &format!("init --domain example.com --project-name {name}"),
        );
    }
    sandbox
        .kbr("init --domain example.com --project-name tokio-operator")
        .success();
    told(str![[r#"
$ kbr init --domain example.com --project-name=tokio
error: invalid value 'tokio' for '--project-name <NAME>': `tokio` cannot be the project's name: the operator depends on a package called `tokio`; type another name after `--project-name`, such as `tokio-operator`

$ kbr init --domain example.com --project-name=kube-runtime
error: invalid value 'kube-runtime' for '--project-name <NAME>': `kube-runtime` cannot be the project's name: the operator depends on a package called `kube-runtime`; type another name after `--project-name`, such as `kube-runtime-operator`

$ kbr init --domain example.com --project-name=kube
error: invalid value 'kube' for '--project-name <NAME>': `kube` cannot be the project's name: the operator depends on a package called `kube`; type another name after `--project-name`, such as `kube-operator`

$ kbr init --domain example.com --project-name=serde-json
error: invalid value 'serde-json' for '--project-name <NAME>': `serde-json` cannot be the project's name: the operator depends on a package called `serde-json`; type another name after `--project-name`, such as `serde-json-operator`

$ kbr init --domain example.com --project-name=api
error: invalid value 'api' for '--project-name <NAME>': `api` cannot be the project's name: every project has a part of that name; type another name after `--project-name`, such as `api-operator`

$ kbr init --domain example.com --project-name=kbr-runtime
error: invalid value 'kbr-runtime' for '--project-name <NAME>': `kbr-runtime` cannot be the project's name: every project has a part of that name; type another name after `--project-name`, such as `kbr-runtime-operator`

$ kbr init --domain example.com --project-name=kbr-testing
error: invalid value 'kbr-testing' for '--project-name <NAME>': `kbr-testing` cannot be the project's name: every project has a part of that name; type another name after `--project-name`, such as `kbr-testing-operator`

$ kbr init --domain example.com --project-name=crdgen
error: invalid value 'crdgen' for '--project-name <NAME>': `crdgen` cannot be the project's name: every project has a part of that name; type another name after `--project-name`, such as `crdgen-operator`

$ kbr init --domain example.com --project-name=fn
error: invalid value 'fn' for '--project-name <NAME>': `fn` cannot be the project's name: it is reserved by Rust or its toolchain; type another name after `--project-name`, such as `fn-operator`

$ kbr init --domain example.com --project-name=test
error: invalid value 'test' for '--project-name <NAME>': `test` cannot be the project's name: it is reserved by Rust or its toolchain; type another name after `--project-name`, such as `test-operator`

$ kbr init --domain example.com --project-name=std
error: invalid value 'std' for '--project-name <NAME>': `std` cannot be the project's name: it is reserved by Rust or its toolchain; type another name after `--project-name`, such as `std-operator`

$ kbr init --domain example.com --project-name=build
error: invalid value 'build' for '--project-name <NAME>': `build` cannot be the project's name: cargo keeps a folder of that name in its target directory; type another name after `--project-name`, such as `build-operator`

$ kbr init --domain example.com --project-name=deps
error: invalid value 'deps' for '--project-name <NAME>': `deps` cannot be the project's name: cargo keeps a folder of that name in its target directory; type another name after `--project-name`, such as `deps-operator`

$ kbr init --domain example.com --project-name=con
error: invalid value 'con' for '--project-name <NAME>': `con` cannot be the project's name: Windows has a device of that name; type another name after `--project-name`, such as `con-operator`
"#]]);
}

#[test]
fn a_folder_whose_name_cannot_be_the_projects() {
    let sandbox = Sandbox::new();
    sandbox.write("My_Operator/.keep", "");
    sandbox.write("tokio/.keep", "");
    refused(&sandbox, "-C My_Operator init --domain example.com");
    refused(&sandbox, "init tokio --domain example.com");
    sandbox
        .kbr("init tokio --domain example.com --project-name my-operator")
        .success();
    told(str![[r#"
$ kbr -C My_Operator init --domain example.com
error: the folder name `my_operator` cannot be the project name: `my_operator` is not a project name: it must be a DNS-1123 label
 help: type `--project-name NAME`, such as `--project-name my-operator`

$ kbr init tokio --domain example.com
error: the folder name `tokio` cannot be the project name: `tokio` cannot be the project's name: the operator depends on a package called `tokio`
 help: type `--project-name NAME`, such as `--project-name my-operator`
"#]]);
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
    for owner in ["", "  ", " a", "a\nb", "a\u{202e}b"] {
        refused_args(&sandbox, &[&init[..], &[owner]].concat(), 2);
    }
    sandbox
        .run(&[&init[..], &["The CronJob authors"]].concat())
        .success();
    told(str![[r#"
$ kbr init --project-name sandbox --domain example.com --owner 
error: invalid value '' for '--owner <OWNER>': `` is not a copyright holder; type one line of text after `--owner`, such as `The CronJob authors`

$ kbr init --project-name sandbox --domain example.com --owner   
error: invalid value '  ' for '--owner <OWNER>': `  ` is not a copyright holder; type one line of text after `--owner`, such as `The CronJob authors`

$ kbr init --project-name sandbox --domain example.com --owner  a
error: invalid value ' a' for '--owner <OWNER>': ` a` is not a copyright holder; type `a`

$ kbr init --project-name sandbox --domain example.com --owner a
b
error: invalid value 'a
b' for '--owner <OWNER>': `a\nb` is not a copyright holder; type one line of text after `--owner`, such as `The CronJob authors`

$ kbr init --project-name sandbox --domain example.com --owner a\u{202e}b
error: invalid value 'a\u{202e}b' for '--owner <OWNER>': `a\u{202e}b` is not a copyright holder; type one line of text after `--owner`, such as `The CronJob authors`
"#]]);
}

#[test]
fn a_repository_that_is_not_a_url() {
    let sandbox = Sandbox::new();
    for repo in [
        "project",
        "./a.b/c",
        "a.b/\"c",
        "ftp://a.b/c",
        "https://",
        "https://a\"b",
        "https://a\\b",
    ] {
        bad_value(
            &sandbox,
            &format!("init --domain example.com --repo {repo}"),
        );
    }
    let line = "init --domain example.com --project-name sandbox --repo https://github.com/a/b";
    sandbox.kbr(line).success();
    told(str![[r#"
$ kbr init --domain example.com --repo=project
error: invalid value 'project' for '--repo <URL>': `project` is not a repository URL; omit `--repo`, since no module path is needed, or type a URL, such as `https://github.com/example/operator`

$ kbr init --domain example.com --repo=./a.b/c
error: invalid value './a.b/c' for '--repo <URL>': `./a.b/c` is not a repository URL; omit `--repo`, since no module path is needed, or type a URL, such as `https://github.com/example/operator`

$ kbr init --domain example.com --repo=a.b/"c
error: invalid value 'a.b/"c' for '--repo <URL>': `https://a.b/\"c` is not a repository URL; type a URL after `--repo`, such as `https://github.com/example/operator`

$ kbr init --domain example.com --repo=ftp://a.b/c
error: invalid value 'ftp://a.b/c' for '--repo <URL>': `ftp://a.b/c` is not a repository URL; type a URL after `--repo`, such as `https://github.com/example/operator`

$ kbr init --domain example.com --repo=https://
error: invalid value 'https://' for '--repo <URL>': `https://` is not a repository URL; type a URL after `--repo`, such as `https://github.com/example/operator`

$ kbr init --domain example.com --repo=https://a"b
error: invalid value 'https://a"b' for '--repo <URL>': `https://a\"b` is not a repository URL; type a URL after `--repo`, such as `https://github.com/example/operator`

$ kbr init --domain example.com --repo=https://a\b
error: invalid value 'https://a\b' for '--repo <URL>': `https://a\\b` is not a repository URL; type a URL after `--repo`, such as `https://github.com/example/operator`
"#]]);
}

#[test]
fn a_license_that_is_not_offered() {
    misused(&Sandbox::new(), "init --domain example.com --license mit");
    told(str![[r#"
$ kbr init --domain example.com --license mit
error: invalid value 'mit' for '--license <LICENSE>'
  [possible values: apache2, none]
"#]]);
}

#[test]
fn a_bad_group() {
    let sandbox = Sandbox::with_project();
    for group in ["Batch", "a/b", "a_b", "..", "a..b"] {
        bad_value(&sandbox, &format!("create api --kind Foo --group {group}"));
    }
    sandbox.kbr("create api --kind Foo --group batch").success();
    told(str![[r#"
$ kbr create api --kind Foo --group=Batch
error: invalid value 'Batch' for '--group <GROUP>': `Batch` is not an API group: it must be a DNS-1123 subdomain; type `batch`

$ kbr create api --kind Foo --group=a/b
error: invalid value 'a/b' for '--group <GROUP>': `a/b` is not an API group: it must be a DNS-1123 subdomain; type lower-case letters, digits, `-` and `.`, such as `batch`, or omit `--group` to use the domain itself

$ kbr create api --kind Foo --group=a_b
error: invalid value 'a_b' for '--group <GROUP>': `a_b` is not an API group: it must be a DNS-1123 subdomain; type `a-b`

$ kbr create api --kind Foo --group=..
error: invalid value '..' for '--group <GROUP>': `..` is not an API group: it must be a DNS-1123 subdomain; type lower-case letters, digits, `-` and `.`, such as `batch`, or omit `--group` to use the domain itself

$ kbr create api --kind Foo --group=a..b
error: invalid value 'a..b' for '--group <GROUP>': `a..b` is not an API group: it must be a DNS-1123 subdomain; type lower-case letters, digits, `-` and `.`, such as `batch`, or omit `--group` to use the domain itself
"#]]);
}

#[test]
fn a_bad_version() {
    let sandbox = Sandbox::with_project();
    for version in ["1", "v1.2", "V1", "../v1"] {
        bad_value(
            &sandbox,
            &format!("create api --kind Foo --version {version}"),
        );
    }
    sandbox
        .kbr("create api --kind Foo --version v1beta2")
        .success();
    told(str![[r#"
$ kbr create api --kind Foo --version=1
error: invalid value '1' for '--version <VERSION>': `1` is not an API version; type `v1`

$ kbr create api --kind Foo --version=v1.2
error: invalid value 'v1.2' for '--version <VERSION>': `v1.2` is not an API version; type `v` and a number, optionally followed by `alpha` or `beta` and a number, such as `v1` or `v1beta2`

$ kbr create api --kind Foo --version=V1
error: invalid value 'V1' for '--version <VERSION>': `V1` is not an API version; type `v1`

$ kbr create api --kind Foo --version=../v1
error: invalid value '../v1' for '--version <VERSION>': `../v1` is not an API version; type `v` and a number, optionally followed by `alpha` or `beta` and a number, such as `v1` or `v1beta2`
"#]]);
}

#[test]
fn a_kind_that_is_not_upper_camel_case() {
    let sandbox = Sandbox::with_project();
    let long = "K".repeat(60);
    for kind in [
        "cron-job", "Cron-Job", "Cron_Job", "2Foo", "Föö", "../Foo", &long,
    ] {
        bad_value(&sandbox, &format!("create api --kind {kind}"));
    }
    sandbox.kbr("create api --kind CronJob").success();
    told(str![[r#"
$ kbr create api --kind=cron-job
error: invalid value 'cron-job' for '--kind <KIND>': `cron-job` is not a kind: it must be of at most 59 letters and digits, and begin with a letter; type `CronJob`

$ kbr create api --kind=Cron-Job
error: invalid value 'Cron-Job' for '--kind <KIND>': `Cron-Job` is not a kind: it must be of at most 59 letters and digits, and begin with a letter; type `CronJob`

$ kbr create api --kind=Cron_Job
error: invalid value 'Cron_Job' for '--kind <KIND>': `Cron_Job` is not a kind: it must be of at most 59 letters and digits, and begin with a letter; type `CronJob`

$ kbr create api --kind=2Foo
error: invalid value '2Foo' for '--kind <KIND>': `2Foo` is not a kind: it must be of at most 59 letters and digits, and begin with a letter; type a name such as `CronJob`

$ kbr create api --kind=Föö
error: invalid value 'Föö' for '--kind <KIND>': `Föö` is not a kind: it must be of at most 59 letters and digits, and begin with a letter; type a name such as `CronJob`

$ kbr create api --kind=../Foo
error: invalid value '../Foo' for '--kind <KIND>': `../Foo` is not a kind: it must be of at most 59 letters and digits, and begin with a letter; type a name such as `CronJob`

$ kbr create api --kind=KKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKK
error: invalid value 'KKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKK' for '--kind <KIND>': `KKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKK` is not a kind: it must be of at most 59 letters and digits, and begin with a letter; type a name such as `CronJob`
"#]]);
}

#[test]
fn a_kind_that_rust_or_the_emitted_code_uses() {
    let sandbox = Sandbox::with_project();
    for kind in [
        "Result",
        "Option",
        "Box",
        "Self",
        "Default",
        "Api",
        "Controller",
        "Context",
        "Condition",
        "Vec",
    ] {
        bad_value(&sandbox, &format!("create api --kind {kind}"));
    }
    sandbox.kbr("create api --kind MyResult").success();
    told(str![[r#"
$ kbr create api --kind=Result
error: invalid value 'Result' for '--kind <KIND>': `Result` cannot be a kind: it is in Rust's prelude; type another name, such as `MyResult`

$ kbr create api --kind=Option
error: invalid value 'Option' for '--kind <KIND>': `Option` cannot be a kind: it is in Rust's prelude; type another name, such as `MyOption`

$ kbr create api --kind=Box
error: invalid value 'Box' for '--kind <KIND>': `Box` cannot be a kind: it is in Rust's prelude; type another name, such as `MyBox`

$ kbr create api --kind=Self
error: invalid value 'Self' for '--kind <KIND>': `Self` cannot be a kind: it is in Rust's prelude; type another name, such as `MySelf`

$ kbr create api --kind=Default
error: invalid value 'Default' for '--kind <KIND>': `Default` cannot be a kind: it is in Rust's prelude; type another name, such as `MyDefault`

$ kbr create api --kind=Api
error: invalid value 'Api' for '--kind <KIND>': `Api` cannot be a kind: the emitted code uses that name; type another name, such as `MyApi`

$ kbr create api --kind=Controller
error: invalid value 'Controller' for '--kind <KIND>': `Controller` cannot be a kind: the emitted code uses that name; type another name, such as `MyController`

$ kbr create api --kind=Context
error: invalid value 'Context' for '--kind <KIND>': `Context` cannot be a kind: the emitted code uses that name; type another name, such as `MyContext`

$ kbr create api --kind=Condition
error: invalid value 'Condition' for '--kind <KIND>': `Condition` cannot be a kind: the emitted code uses that name; type another name, such as `MyCondition`

$ kbr create api --kind=Vec
error: invalid value 'Vec' for '--kind <KIND>': `Vec` cannot be a kind: the emitted code uses that name; type another name, such as `MyVec`
"#]]);
}

#[test]
fn a_missing_kind() {
    misused(&Sandbox::with_project(), "create api");
    told(str![[r#"
$ kbr create api
error: the following required arguments were not provided:
  --kind <KIND>

Usage: kbr create api --kind <KIND>
"#]]);
}

#[test]
fn a_bad_plural() {
    let sandbox = Sandbox::with_project();
    for plural in ["Foos", "2foos", "foo_s", "foo.s", "../foos"] {
        bad_value(
            &sandbox,
            &format!("create api --kind Foo --plural {plural}"),
        );
    }
    sandbox
        .kbr("create api --kind Foo --plural foo-es")
        .success();
    told(str![[r#"
$ kbr create api --kind Foo --plural=Foos
error: invalid value 'Foos' for '--plural <PLURAL>': `Foos` is not a resource name: it must be a DNS-1035 label; type `foos`

$ kbr create api --kind Foo --plural=2foos
error: invalid value '2foos' for '--plural <PLURAL>': `2foos` is not a resource name: it must be a DNS-1035 label; type lower-case letters, digits and `-` after `--plural`, beginning with a letter, such as `cronjobs`

$ kbr create api --kind Foo --plural=foo_s
error: invalid value 'foo_s' for '--plural <PLURAL>': `foo_s` is not a resource name: it must be a DNS-1035 label; type `foos`

$ kbr create api --kind Foo --plural=foo.s
error: invalid value 'foo.s' for '--plural <PLURAL>': `foo.s` is not a resource name: it must be a DNS-1035 label; type `foos`

$ kbr create api --kind Foo --plural=../foos
error: invalid value '../foos' for '--plural <PLURAL>': `../foos` is not a resource name: it must be a DNS-1035 label; type lower-case letters, digits and `-` after `--plural`, beginning with a letter, such as `cronjobs`
"#]]);
}

#[test]
fn unexpected_arguments() {
    let sandbox = Sandbox::with_project();
    for line in [
        "create api --kind Foo batch",
        "create api --kind Foo --controler",
        "create api --kind Foo --frobnicate",
        "create api --kind Foo --kind Bar",
        "create foo",
        "manifest",
        "manifests now",
        "manifests --chek",
        "init a b --domain example.com",
    ] {
        misused(&sandbox, line);
    }
    told(str![[r#"
$ kbr create api --kind Foo batch
error: unexpected argument 'batch' found

Usage: kbr create api [OPTIONS] --kind <KIND>

$ kbr create api --kind Foo --controler
error: unexpected argument '--controler' found

  tip: a similar argument exists: '--controller'

Usage: kbr create api --kind <KIND> --controller [<BOOL>]

$ kbr create api --kind Foo --frobnicate
error: unexpected argument '--frobnicate' found

Usage: kbr create api --kind <KIND>

$ kbr create api --kind Foo --kind Bar
error: the argument '--kind <KIND>' cannot be used multiple times

Usage: kbr create api [OPTIONS] --kind <KIND>

$ kbr create foo
error: unrecognized subcommand 'foo'

  tip: type `kbr create api` or `kbr create webhook` or `kbr create policy`

$ kbr manifest
error: unrecognized subcommand 'manifest'

  tip: type `kbr manifests`

$ kbr manifests now
error: unexpected argument 'now' found

Usage: kbr manifests [OPTIONS]

$ kbr manifests --chek
error: unexpected argument '--chek' found

  tip: a similar argument exists: '--check'

Usage: kbr manifests --check

$ kbr init a b --domain example.com
error: unexpected argument 'b' found

Usage: kbr init [OPTIONS] --domain <DOMAIN> [DIR]
"#]]);
}

#[test]
fn a_bad_image() {
    let sandbox = Sandbox::with_project();
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
        bad_value(&sandbox, &format!("create api --kind Foo --image {image}"));
    }
    refused_args(&sandbox, &["create", "api", "--kind", "Foo", "--image="], 2);
    told(str![[r#"
$ kbr create api --kind Foo --image=Memcached
error: invalid value 'Memcached' for '--image <IMAGE>': `Memcached` is not an image reference; type `memcached`

$ kbr create api --kind Foo --image=memcached:
error: invalid value 'memcached:' for '--image <IMAGE>': `memcached:` is not an image reference; type it as for `docker pull`, such as `memcached:1.6.26-alpine` or `registry.example.com/team/app@sha256:…`

$ kbr create api --kind Foo --image=memcached:-1
error: invalid value 'memcached:-1' for '--image <IMAGE>': `memcached:-1` is not an image reference; type it as for `docker pull`, such as `memcached:1.6.26-alpine` or `registry.example.com/team/app@sha256:…`

$ kbr create api --kind Foo --image=a//b
error: invalid value 'a//b' for '--image <IMAGE>': `a//b` is not an image reference; type it as for `docker pull`, such as `memcached:1.6.26-alpine` or `registry.example.com/team/app@sha256:…`

$ kbr create api --kind Foo --image=a/
error: invalid value 'a/' for '--image <IMAGE>': `a/` is not an image reference; type it as for `docker pull`, such as `memcached:1.6.26-alpine` or `registry.example.com/team/app@sha256:…`

$ kbr create api --kind Foo --image=example.com:port/a
error: invalid value 'example.com:port/a' for '--image <IMAGE>': `example.com:port/a` is not an image reference; type it as for `docker pull`, such as `memcached:1.6.26-alpine` or `registry.example.com/team/app@sha256:…`

$ kbr create api --kind Foo --image=a@sha256:1
error: invalid value 'a@sha256:1' for '--image <IMAGE>': `a@sha256:1` is not an image reference; type it as for `docker pull`, such as `memcached:1.6.26-alpine` or `registry.example.com/team/app@sha256:…`

$ kbr create api --kind Foo --image=a...b
error: invalid value 'a...b' for '--image <IMAGE>': `a...b` is not an image reference; type it as for `docker pull`, such as `memcached:1.6.26-alpine` or `registry.example.com/team/app@sha256:…`

$ kbr create api --kind Foo --image=
error: invalid value '' for '--image <IMAGE>': `` is not an image reference; type it as for `docker pull`, such as `memcached:1.6.26-alpine` or `registry.example.com/team/app@sha256:…`
"#]]);
}

#[test]
fn options_of_an_image() {
    let sandbox = Sandbox::with_project();
    let foo = "create api --kind Foo --image a";
    for port in ["0", "65536", "http", "-1", "+80"] {
        bad_value(&sandbox, &format!("{foo} --image-port {port}"));
    }
    for user in ["0", "-1", "+1", "2147483648", "root"] {
        bad_value(&sandbox, &format!("{foo} --run-as-user {user}"));
    }
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
    );
    for option in ["--image-port=80", "--image-command=a", "--run-as-user=7"] {
        let run = sandbox.kbr(&format!("create api --kind Foo {option}"));
        let missing = "the following required arguments were not provided:\n  --image <IMAGE>";
        assert!(run.stderr.contains(missing), "{run:?}");
        assert_eq!(run.code(), Some(2), "{run:?}");
    }
    told(str![[r#"
$ kbr create api --kind Foo --image a --image-port=0
error: invalid value '0' for '--image-port <PORT>': a port is a number from 1 to 65535

$ kbr create api --kind Foo --image a --image-port=65536
error: invalid value '65536' for '--image-port <PORT>': a port is a number from 1 to 65535

$ kbr create api --kind Foo --image a --image-port=http
error: invalid value 'http' for '--image-port <PORT>': a port is a number from 1 to 65535

$ kbr create api --kind Foo --image a --image-port=-1
error: invalid value '-1' for '--image-port <PORT>': a port is a number from 1 to 65535

$ kbr create api --kind Foo --image a --image-port=+80
error: invalid value '+80' for '--image-port <PORT>': a port is a number from 1 to 65535

$ kbr create api --kind Foo --image a --run-as-user=0
error: invalid value '0' for '--run-as-user <UID>': 0 is root, and the pods must run as another user: `restricted`, the Pod Security Standard of kbr's projects, refuses root

$ kbr create api --kind Foo --image a --run-as-user=-1
error: invalid value '-1' for '--run-as-user <UID>': a user is a number from 1 to 2147483647

$ kbr create api --kind Foo --image a --run-as-user=+1
error: invalid value '+1' for '--run-as-user <UID>': a user is a number from 1 to 2147483647

$ kbr create api --kind Foo --image a --run-as-user=2147483648
error: invalid value '2147483648' for '--run-as-user <UID>': a user is a number from 1 to 2147483647

$ kbr create api --kind Foo --image a --run-as-user=root
error: invalid value 'root' for '--run-as-user <UID>': a user is a number from 1 to 2147483647

$ kbr create api --kind Foo --image=a --image-command=a,,b
error: invalid value '' for '--image-command <WORD>': `` is not a word of a command; separate the words with `,`, such as `memcached,--memory-limit=64,-v`
"#]]);
}

#[test]
fn flags_that_only_kubebuilder_has() {
    let sandbox = Sandbox::with_project();
    let (init, api, webhook) = (
        "init x --domain example.com",
        "create api --kind Foo",
        "create webhook --kind Foo",
    );
    for (command, flag) in [
        (init, "--fetch-deps=false"),
        (init, "--license-file x"),
        (init, "--plugins go/v4"),
        (init, "--project-version=3"),
        (init, "--skip-go-version-check"),
        (api, "--make=false"),
        (webhook, "--make"),
        (api, "--ssa"),
        (webhook, "--plural foos"),
        (webhook, "--validation"),
    ] {
        misused(&sandbox, &format!("{command} {flag}"));
    }
    told(str![[r#"
$ kbr init x --domain example.com --fetch-deps=false
error: unexpected argument '--fetch-deps' found

  tip: `cargo build` fetches what is missing: omit the flag

$ kbr init x --domain example.com --license-file x
error: unexpected argument '--license-file' found

  tip: type `--owner OWNER` to name the copyright holder, or `--license none` for no header

$ kbr init x --domain example.com --plugins go/v4
error: unexpected argument '--plugins' found

  tip: kbr has no plugins: omit the flag

$ kbr init x --domain example.com --project-version=3
error: unexpected argument '--project-version' found

  tip: PROJECT has only one version: omit the flag

$ kbr init x --domain example.com --skip-go-version-check
error: unexpected argument '--skip-go-version-check' found

  tip: a project has no Go code: omit the flag

$ kbr create api --kind Foo --make=false
error: unexpected argument '--make' found

  tip: kbr runs nothing afterwards: omit the flag, and type `kbr manifests` when the types are written

$ kbr create webhook --kind Foo --make
error: unexpected argument '--make' found

  tip: kbr runs nothing afterwards: omit the flag, and type `kbr manifests` when the types are written

$ kbr create api --kind Foo --ssa
error: unexpected argument '--ssa' found

  tip: kube supports server-side apply for every type: omit the flag

$ kbr create webhook --kind Foo --plural foos
error: unexpected argument '--plural' found

  tip: only `kbr create api` and `kbr rename kind` take it; elsewhere the plural comes from PROJECT

$ kbr create webhook --kind Foo --validation
error: unexpected argument '--validation' found

  tip: type `--programmatic-validation` for a webhook, or `--validating` for a policy
"#]]);
}

#[test]
fn values_that_an_option_does_not_accept() {
    let sandbox = Sandbox::with_project();
    misused(&sandbox, "create api --kind Foo --controller maybe");
    misused(&sandbox, "create api --kind Foo --resource=maybe");
    misused(&sandbox, "manifests --color blue");
    misused(&sandbox, "completion fishy");
    misused(&sandbox, "man create fish");
    misused(&sandbox, "manifests -C");
    sandbox
        .kbr("create api --kind Foo --controller false")
        .success();
    told(str![[r#"
$ kbr create api --kind Foo --controller maybe
error: invalid value 'maybe' for '--controller [<BOOL>]'
  [possible values: true, false]

$ kbr create api --kind Foo --resource=maybe
error: invalid value 'maybe' for '--resource [<BOOL>]'
  [possible values: true, false]

$ kbr manifests --color blue
error: invalid value 'blue' for '--color <WHEN>'
  [possible values: auto, always, never]

$ kbr completion fishy
error: invalid value 'fishy' for '<SHELL>'
  [possible values: bash, elvish, fish, powershell, zsh]

  tip: a similar value exists: 'fish'

$ kbr man create fish
error: kbr has no command 'create fish'

Usage: kbr [OPTIONS] <COMMAND>

$ kbr manifests -C
error: a value is required for '-C <DIR>' but none was supplied
"#]]);
}

#[test]
fn a_missing_folder() {
    let sandbox = Sandbox::new();
    sandbox.write("file", "");
    for line in [
        "-C file manifests",
        "-C file create api --kind Foo",
        "-C nowhere init --domain example.com",
        "manifests -C nowhere",
    ] {
        refused(&sandbox, line);
    }
    refused(&sandbox, "init file --domain example.com");
    told(str![[r#"
$ kbr -C file manifests
error: there is no folder `file`
 help: type an existing folder after `-C`; `kbr init DIR` creates one

$ kbr -C file create api --kind Foo
error: there is no folder `file`
 help: type an existing folder after `-C`; `kbr init DIR` creates one

$ kbr -C nowhere init --domain example.com
error: there is no folder `nowhere`
 help: type an existing folder after `-C`; `kbr init DIR` creates one

$ kbr manifests -C nowhere
error: there is no folder `nowhere`
 help: type an existing folder after `-C`; `kbr init DIR` creates one

$ kbr init file --domain example.com
error: could not read `file`: Not a directory (os error 20)
"#]]);
}

#[test]
fn a_maker_of_certificates_that_is_unknown() {
    let empty = Sandbox::new();
    bad_value(&empty, "init --domain example.com --certificates vault");
    let sandbox = Sandbox::with_project();
    bad_value(&sandbox, "edit --certificates vault");
    misused(&sandbox, "edit --certificates self-managed --multigroup");
    told(str![[r#"
$ kbr init --domain example.com --certificates=vault
error: invalid value 'vault' for '--certificates <ISSUER>'
  [possible values: self-managed, cert-manager]

$ kbr edit --certificates=vault
error: invalid value 'vault' for '--certificates <ISSUER>'
  [possible values: self-managed, cert-manager]

$ kbr edit --certificates self-managed --multigroup
error: the argument '--certificates <ISSUER>' cannot be used with '--multigroup [<BOOL>]'

Usage: kbr edit --certificates <ISSUER>
"#]]);
}
