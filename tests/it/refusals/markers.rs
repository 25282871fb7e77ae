//! Markers: scaffold markers that are gone or doubled, code markers that are not understood.

use std::fs;

use super::{refused, with_foo};
use crate::support::Sandbox;

#[test]
fn a_marker_that_is_missing_or_doubled_and_a_file_that_is_gone() {
    for (path, marker, fragment) in [
        (
            "src/lib.rs",
            "// +kbr:scaffold:controllers",
            "controller::bar_controller::register,",
        ),
        (
            "tests/it/main.rs",
            "// +kbr:scaffold:modules",
            "mod bar_controller;",
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
             help: in `{path}`, put this line back where `{fragment}` belongs: `{marker}`\n"
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
             help: in `{path}`, keep only one of these lines: `{marker}`\n"
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
fn markers_in_the_code_that_are_not_understood_all_at_once() {
    let sandbox = Sandbox::with_project();
    sandbox.write(
        "src/a.rs",
        "// +kbr:rabc:groups=a,resources=b,verbs=get\n\
         fn f() {} // +kbr:scaffold:controler\n    // +kbr:frobnicate\n\
         // +kubebuilder:validation:Minimum=0\n// +kbr:webhooks:name=a\n",
    );
    sandbox.write(
        "api/src/b.rs",
        "\n/// +kubebuilder:rbak:groups=a\nstruct S;\n",
    );
    let schema = "kbr reads `+kbr:rbac` and `+kbr:webhook`; what concerns the schema is written as \
                  attributes: `Markers of controller-gen` in kbr's README.md has the one for each";
    let text = format!(
        "error: api/src/b.rs:2:1: unknown marker `+kubebuilder:rbak`; did you mean `rbac`?\n       \
         src/a.rs:1:1: unknown marker `+kbr:rabc`; did you mean `rbac`?\n       \
         src/a.rs:2:11: unknown scaffold marker `+kbr:scaffold:controler`; did you mean `controllers`?\n       \
         src/a.rs:3:5: unknown marker `+kbr:frobnicate`; {schema}\n       \
         src/a.rs:4:1: unknown marker `+kubebuilder:validation`; {schema}\n       \
         src/a.rs:5:1: unknown marker `+kbr:webhooks`; did you mean `webhook`?\n"
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
            &format!("an empty word cannot be a resource, its name, or a URL; {example}"),
        ),
        (
            "verbs",
            &format!("`verbs` is not an argument: it has no `=`; {example}"),
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
fn webhook_markers_that_an_api_server_would_refuse() {
    let sandbox = Sandbox::with_project();
    let rule = "groups=batch,resources=jobs,verbs=create;update,versions=v1";
    let example = "write it like `// +kbr:webhook:mutating=false,path=/validate--v1-pod,groups=core,\
                   resources=pods,verbs=create;update,versions=v1,name=vpod-v1.core.example.com`, \
                   with a value that has commas in double quotes";
    for (arguments, message) in [
        (
            "mutating=true,name=a.b.c,path=/x,group=batch",
            "unknown argument `group` of `+kbr:webhook`; did you mean `groups`?",
        ),
        (
            "name=a.b.c,path=/x",
            "`+kbr:webhook` without `mutating`; add `mutating=true` for a webhook that changes objects, \
             or `mutating=false` for one that only looks at them",
        ),
        (
            &format!("mutating=true,name=a.b.c,{rule}"),
            "`+kbr:webhook` without `path`; put it above the constant that holds the path, \
             `const PATH: &str = \"/..\";`, or add `path=/..`",
        ),
        (
            &format!("mutating=true,name=b.c,path=/x,{rule}"),
            "`b.c` is not a webhook's name: it must be a domain of three words or more; \
             write lower-case letters, digits and `-` between dots, such as `vpod-v1.core.example.com`",
        ),
        (
            &format!("mutating=true,name=a.b.c,path=/X,{rule}"),
            "`/X` is not a path of a webhook: each segment must be a DNS-1123 subdomain; \
             type `/`, lower-case letters, digits, `-` and `.`, such as `/mutate-cronjobs`",
        ),
        (
            &format!("mutating=true,name=a.b.c,path=/x,objectSelector=\"app>3\",{rule}"),
            "the selector `app>3` is not understood: `app>3` compares, which is for nodes alone; \
             write it like `objectSelector=\"app=web,!legacy,tier in (front,back)\"`",
        ),
        (
            &format!("mutating=true,name=a.b.c,path=/x,objectSelector=app=web,!legacy,{rule}"),
            &format!("`!legacy` is not an argument: it has no `=`; {example}"),
        ),
        (
            &format!("mutating=true,name=a.b.c,path=/x,matchConditions=\"a: b == \"c\"\",{rule}"),
            &format!(
                "a double quote stands inside of `\"a: b == \"c\"\"`, where only single ones may; {example}"
            ),
        ),
    ] {
        sandbox.write(
            "src/a.rs",
            &format!("fn f() {{}}\n  // +kbr:webhook:{arguments}\n"),
        );
        refused(
            &sandbox,
            "manifests",
            &format!("error: src/a.rs:2:3: {message}\n"),
        );
    }
    let marker = format!("// +kbr:webhook:mutating=true,name=a.b.c,path=/x,{rule}\n");
    sandbox.write("src/a.rs", &marker);
    sandbox.write("src/b.rs", &format!("// +kbr:rbac:verbs=get\n{marker}"));
    refused(
        &sandbox,
        "manifests",
        "error: src/b.rs:1:1: `+kbr:rbac` must name either `resources` or `urls`; \
         write it like `// +kbr:rbac:groups=batch,resources=jobs,verbs=get;list`\n       \
         src/b.rs:2:1: two webhooks are called `a.b.c`: see src/a.rs:1:1; \
         give one of them another `name`, or remove one\n",
    );
}
