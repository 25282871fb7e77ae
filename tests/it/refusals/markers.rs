//! Markers: scaffold markers that are missing or duplicated, code markers that are not understood.

use std::fs;

use snapbox::str;

use super::{refused, told, with_foo};
use crate::support::Sandbox;

#[test]
fn a_missing_or_duplicated_marker_and_a_missing_file() {
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
        marker_must_occur_once(&with_foo(), path, marker, fragment);
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
        marker_must_occur_once(&Sandbox::with_project(), path, marker, fragment);
    }
}

#[track_caller]
fn marker_must_occur_once(sandbox: &Sandbox, path: &str, marker: &str, fragment: &str) {
    let line = "create api --kind Bar";
    let good = sandbox.read(path);
    sandbox.edit(path, marker, "");
    refused(sandbox, line);
    sandbox.write(path, &format!("{good}{marker}\n"));
    refused(sandbox, line);
    fs::remove_file(sandbox.path().join(path)).expect("the file is removed");
    refused(sandbox, line);
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
fn all_unknown_markers_are_reported_at_once() {
    let sandbox = Sandbox::with_project();
    sandbox.module(
        "a",
        "// +kbr:rabc:groups=a,resources=b,verbs=get\n\
         fn f() {} // +kbr:scaffold:controler\n    // +kbr:frobnicate\n\
         // +kubebuilder:validation:Minimum=0\n// +kbr:webhooks:name=a\n",
    );
    sandbox.write(
        "api/src/b.rs",
        "\n/// +kubebuilder:rbak:groups=a\nstruct S;\n",
    );
    refused(&sandbox, "manifests");
    refused(&sandbox, "manifests --check");
    sandbox.module("a", "// +kbr:rbac:groups=a,resources=b,verbs=get\n");
    let lib = sandbox.read("api/src/lib.rs");
    sandbox.write("api/src/lib.rs", &format!("{lib}\nmod b;\n"));
    sandbox.write(
        "api/src/b.rs",
        "// +kubebuilder:rbac:urls=/metrics,verbs=get\n",
    );
    sandbox.kbr("manifests").success();
    told(str![[r#"
$ kbr manifests
error: api/src/b.rs:2:1: unknown marker `+kubebuilder:rbak`; did you mean `rbac`?
       src/a.rs:1:1: unknown marker `+kbr:rabc`; did you mean `rbac`?
       src/a.rs:2:11: unknown scaffold marker `+kbr:scaffold:controler`; did you mean `controllers`?
       src/a.rs:3:5: unknown marker `+kbr:frobnicate`; kbr reads `+kbr:rbac` and `+kbr:webhook`; markers of the schema are attributes in Rust: `kbr help markers` lists them
       src/a.rs:4:1: unknown marker `+kubebuilder:validation`; kbr reads `+kbr:rbac` and `+kbr:webhook`; markers of the schema are attributes in Rust: `kbr help markers` lists them
       src/a.rs:5:1: unknown marker `+kbr:webhooks`; did you mean `webhook`?

$ kbr manifests --check
error: api/src/b.rs:2:1: unknown marker `+kubebuilder:rbak`; did you mean `rbac`?
       src/a.rs:1:1: unknown marker `+kbr:rabc`; did you mean `rbac`?
       src/a.rs:2:11: unknown scaffold marker `+kbr:scaffold:controler`; did you mean `controllers`?
       src/a.rs:3:5: unknown marker `+kbr:frobnicate`; kbr reads `+kbr:rbac` and `+kbr:webhook`; markers of the schema are attributes in Rust: `kbr help markers` lists them
       src/a.rs:4:1: unknown marker `+kubebuilder:validation`; kbr reads `+kbr:rbac` and `+kbr:webhook`; markers of the schema are attributes in Rust: `kbr help markers` lists them
       src/a.rs:5:1: unknown marker `+kbr:webhooks`; did you mean `webhook`?
"#]]);
}

#[test]
fn markers_with_arguments_that_grant_nothing() {
    let sandbox = Sandbox::with_project();
    for arguments in [
        "group=a,resources=b,verbs=get",
        "groups=a,resources=b",
        "groups=a,verbs=get",
        "resources=b,verbs=get",
        "urls=/metrics,verbs=get,namespace=sandbox-system",
        "groups=a,resources=b,verbs=get,namespace=other",
        "groups=a,resources=b,verbs=get,roleName=one;two",
        "groups=a,resources=b,verbs=Get",
        "verbs",
        "verbs=get,verbs=list",
        "groups=\"a",
    ] {
        sandbox.module("a", &format!("// +kbr:rbac:{arguments}\n"));
        refused(&sandbox, "manifests");
    }
    told(str![[r#"
$ kbr manifests
error: src/a.rs:1:1: unknown argument `group` of `+kbr:rbac`; did you mean `groups`?

$ kbr manifests
error: src/a.rs:1:1: `+kbr:rbac` without `verbs` grants nothing; add the verbs that you need, such as `verbs=get;list;watch`

$ kbr manifests
error: src/a.rs:1:1: `+kbr:rbac` must name either `resources` or `urls`; write it like `// +kbr:rbac:groups=batch,resources=jobs,verbs=get;list`

$ kbr manifests
error: src/a.rs:1:1: `groups` and `resources` go together; write `groups=""` for the core group

$ kbr manifests
error: src/a.rs:1:1: `urls` are cluster-wide; omit `namespace` and `resourceNames`

$ kbr manifests
error: src/a.rs:1:1: `namespace` is not the operator's own, and `config/default` puts every role there; omit `namespace`, or write the project's name followed by `-system`

$ kbr manifests
error: src/a.rs:1:1: `roleName` takes one word; write a marker for each

$ kbr manifests
error: src/a.rs:1:1: a verb is `*` or a word in lower case; write the verbs that you need, such as `verbs=get;list;watch`

$ kbr manifests
error: src/a.rs:1:1: `verbs` is not an argument: it has no `=`; write it like `// +kbr:rbac:groups=batch,resources=jobs,verbs=get;list`

$ kbr manifests
error: src/a.rs:1:1: the argument `verbs` is given twice; separate values by `;`

$ kbr manifests
error: src/a.rs:1:1: a quote or a brace is not closed; write it like `// +kbr:rbac:groups=batch,resources=jobs,verbs=get;list`
"#]]);
}

#[test]
fn webhook_markers_that_an_api_server_would_refuse() {
    let sandbox = Sandbox::with_project();
    let rule = "groups=batch,resources=jobs,verbs=create;update,versions=v1";
    for arguments in [
        "mutating=true,name=a.b.c,path=/x,group=batch",
        "name=a.b.c,path=/x",
        &format!("mutating=true,name=a.b.c,{rule}"),
        &format!("mutating=true,name=b.c,path=/x,{rule}"),
        &format!("mutating=true,name=a.b.c,path=/X,{rule}"),
        &format!("mutating=true,name=a.b.c,path=/x,objectSelector=\"app>3\",{rule}"),
        &format!("mutating=true,name=a.b.c,path=/x,objectSelector=app=web,!legacy,{rule}"),
        &format!("mutating=true,name=a.b.c,path=/x,matchConditions=\"a: b == \"c\"\",{rule}"),
    ] {
        sandbox.module(
            "a",
            &format!("fn f() {{}}\n  // +kbr:webhook:{arguments}\n"),
        );
        refused(&sandbox, "manifests");
    }
    let marker = format!("// +kbr:webhook:mutating=true,name=a.b.c,path=/x,{rule}\n");
    sandbox.module("a", &marker);
    sandbox.module("b", &format!("// +kbr:rbac:verbs=get\n{marker}"));
    refused(&sandbox, "manifests");
    told(str![[r#"
$ kbr manifests
error: src/a.rs:2:3: unknown argument `group` of `+kbr:webhook`; did you mean `groups`?

$ kbr manifests
error: src/a.rs:2:3: `+kbr:webhook` without `mutating`; add `mutating=true` for a webhook that changes objects, or `mutating=false` for one that only validates them

$ kbr manifests
error: src/a.rs:2:3: `+kbr:webhook` without `path`; put it above the constant that holds the path, `const PATH: &str = "/..";`, or add `path=/..`

$ kbr manifests
error: src/a.rs:2:3: `b.c` is not a webhook's name: it must be a domain name of at least three words; write lower-case letters, digits and `-` between dots, such as `vpod-v1.core.example.com`

$ kbr manifests
error: src/a.rs:2:3: `/X` is not a path of a webhook: each segment must be a DNS-1123 subdomain; type `/x`

$ kbr manifests
error: src/a.rs:2:3: the selector `app>3` is not understood: `app>3` is a comparison, which only selectors of nodes can have; write it like `objectSelector="app=web,!legacy,tier in (front,back)"`

$ kbr manifests
error: src/a.rs:2:3: `!legacy` is not an argument: it has no `=`; write it like `// +kbr:webhook:mutating=false,path=/validate--v1-pod,groups=core,resources=pods,verbs=create;update,versions=v1,name=vpod-v1.core.example.com`, with a value that has commas in double quotes

$ kbr manifests
error: src/a.rs:2:3: a double quote is inside `"a: b == "c""`, where only single quotes are allowed; write it like `// +kbr:webhook:mutating=false,path=/validate--v1-pod,groups=core,resources=pods,verbs=create;update,versions=v1,name=vpod-v1.core.example.com`, with a value that has commas in double quotes

$ kbr manifests
error: src/b.rs:1:1: `+kbr:rbac` must name either `resources` or `urls`; write it like `// +kbr:rbac:groups=batch,resources=jobs,verbs=get;list`
       src/b.rs:2:1: two webhooks are called `a.b.c`: see src/a.rs:1:1; give one of them another `name`, or remove one
"#]]);
}
