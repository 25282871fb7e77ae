//! Markers that the API server would refuse, or that would never match.

use super::*;

/// Why a marker with exactly these arguments is refused.
fn refusal(arguments: &str) -> String {
    let errors = documents_of(&format!("// +kbr:webhook:{arguments}\n"));
    let errors = errors.expect_err(arguments);
    let [error] = &errors[..] else {
        panic!("{arguments}: {errors:?}");
    };
    let error = error.strip_prefix("src/a.rs:1:1: ");
    error.expect("the marker's location").to_owned()
}

/// The arguments of a short marker, each of which is required.
const SHORT: [&str; 7] = [
    "mutating=true",
    "name=a.b.c",
    "path=/x",
    "groups=a",
    "resources=b",
    "verbs=create",
    "versions=v1",
];

#[test]
fn missing_arguments_are_reported() {
    for missing in SHORT {
        let rest: Vec<&str> = SHORT.into_iter().filter(|word| *word != missing).collect();
        let name = missing.split('=').next().expect("a name");
        let refusal = refusal(&rest.join(","));
        assert!(
            refusal.starts_with(&format!("`+kbr:webhook` without `{name}`; ")),
            "{refusal}"
        );
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases is long and plain")]
fn what_the_api_server_would_refuse_is_refused() {
    let url = "the API server refuses the URL";
    for (arguments, message) in [
        (
            "mutating=yes,name=a.b.c",
            "`mutating` cannot be `yes`; write `true` or `false`",
        ),
        (
            "mutating=ture,name=a.b.c",
            "`mutating` cannot be `ture`; did you mean `true`?",
        ),
        (
            "name=b.c",
            "`b.c` is not a webhook's name: it must be a domain name of at least three words; ",
        ),
        ("name=A.b.c", "`A.b.c` is not a webhook's name"),
        ("name=a;b.b.c", "`name` takes one word"),
        ("name=", "`name` is empty"),
        (
            "name=a.b.c,nmae=x",
            "unknown argument `nmae` of `+kbr:webhook`; did you mean `name`?",
        ),
        (
            "name=a.b.c,webhookVersions=v1beta1",
            "`webhookVersions` can only be `v1`",
        ),
        (
            "mutating=false,name=a.b.c,reinvocationPolicy=never",
            "only mutating webhooks have a `reinvocationPolicy`",
        ),
        (
            "reinvocationPolicy=always",
            "`reinvocationPolicy` cannot be `always`; write `IfNeeded` or `Never`",
        ),
        (
            "failurePolicy=fial",
            "`failurePolicy` cannot be `fial`; did you mean `Fail`?",
        ),
        (
            "matchPolicy=equal",
            "`matchPolicy` cannot be `equal`; write `Equivalent` or `Exact`",
        ),
        (
            "sideEffects=Some",
            "`sideEffects` cannot be `Some`: the API server would have to refuse a dry run; write `None`",
        ),
        (
            "sideEffects=Nonee",
            "`sideEffects` cannot be `Nonee`; did you mean `None`?",
        ),
        (
            "timeoutSeconds=0",
            "`timeoutSeconds` cannot be `0`; write a number from 1 to 30",
        ),
        ("timeoutSeconds=31", "`timeoutSeconds` cannot be `31`"),
        ("timeoutSeconds=10s", "`timeoutSeconds` cannot be `10s`"),
        (
            "admissionReviewVersions=v1beta1",
            "`admissionReviewVersions` can only be `v1`",
        ),
        (
            "admissionReviewVersions=v1;v1",
            "`admissionReviewVersions` can only be `v1`",
        ),
        ("path=x", "`x` is not a path of a webhook"),
        ("path=/a/_b", "`/a/_b` is not a path of a webhook"),
        ("path=/convert", "`/convert` is the path of conversions"),
        ("serviceName=Hooks", "`serviceName` cannot be `Hooks`"),
        ("serviceNamespace=a.b", "`serviceNamespace` cannot be `a.b`"),
        ("servicePort=0", "`servicePort` cannot be `0`"),
        ("servicePort=65536", "`servicePort` cannot be `65536`"),
        ("url=https://a", "`url` and `path` exclude each other"),
        (
            "-path,url=https://a,servicePort=1",
            "`url` and `servicePort` exclude each other",
        ),
        ("-path,url=http://a", url),
        ("-path,url=https:///x", url),
        ("-path,url=https://a?b=c", url),
        ("-path,url=https://a#b", url),
        ("-path,url=https://a@b", url),
        ("-path,url=https://a:b", url),
        ("-path,url=https://a:99999", url),
        ("-path,url=https://[a]", url),
        ("-path,url=\"https://a b\"", url),
        ("-path,url=https://a/%zz", url),
        ("groups=*;a", "`groups` has `*` and other values"),
        ("groups=Batch", "`groups` cannot have `Batch`"),
        ("groups=apps/v1", "`groups` cannot have `apps/v1`"),
        ("versions=v1;*", "`versions` has `*` and other values"),
        ("versions=", "`versions` cannot have ``"),
        ("versions=V1", "`versions` cannot have `V1`"),
        ("verbs=create;*", "`verbs` has `*` and other values"),
        ("verbs=", "no webhook is called for the verb ``"),
        (
            "verbs=creat",
            "no webhook is called for the verb `creat`; did you mean `create`?",
        ),
        (
            "verbs=patch",
            "no webhook is called for the verb `patch`; write `update`",
        ),
        (
            "verbs=deletecollection",
            "no webhook is called for the verb `deletecollection`; write `delete`",
        ),
        (
            "verbs=get",
            "no webhook is called for the verb `get`; webhooks see only `create`, `update`, `delete` and `connect`",
        ),
        ("resources=", "`resources` cannot have ``"),
        ("resources=Pod", "`resources` cannot have `Pod`"),
        ("resources=pods/", "`resources` cannot have `pods/`"),
        ("resources=pods/a/b", "`resources` cannot have `pods/a/b`"),
        (
            "resources=*;pods",
            "`*` already includes `pods`; remove `pods`",
        ),
        ("resources=*/*;pods", "`*/*` already includes `pods`"),
        ("resources=*/*;*", "`*/*` already includes `*`"),
        (
            "resources=pods/status;pods/*",
            "`pods/*` already includes `pods/status`",
        ),
        (
            "resources=pods/status;*/status",
            "`*/status` already includes `pods/status`",
        ),
        ("namespaceSelector=", "`namespaceSelector` is empty"),
        (
            "namespaceSelector=a>1",
            "the selector `a>1` is not understood: `a>1` is a comparison",
        ),
        (
            "objectSelector=\"a in b\"",
            "the selector `a in b` is not understood",
        ),
        ("matchConditions=x", "`x` is not a condition"),
        ("matchConditions=\"x:\"", "`x:` is not a condition"),
        (
            "matchConditions=\"-x: true\"",
            "`-x: true` is not a condition",
        ),
        (
            "matchConditions=\"x: object.a = 1\"",
            "the condition `x` of `matchConditions` is not CEL: `=` is not CEL: equality is `==`",
        ),
        (
            "matchConditions=\"x: self.a == 1\"",
            "the condition `x` of `matchConditions` is not CEL: `self` is not declared",
        ),
        (
            "matchConditions={\"x: true\",\"x: false\"}",
            "`matchConditions` has two conditions `x`",
        ),
    ] {
        assert!(
            refused_with(arguments).starts_with(message),
            "{arguments}: {}",
            refused_with(arguments)
        );
    }
    let many: Vec<String> = (0..65).map(|at| format!("c{at}: true")).collect();
    let many = refused_with(&format!("matchConditions={}", many.join(";")));
    assert!(
        many.starts_with("`matchConditions` has more than 64 conditions"),
        "{many}"
    );
}

/// Why a short marker is refused, with these arguments instead of its own; `-path` removes the path.
fn refused_with(arguments: &str) -> String {
    let is_replaced = |word: &&str| {
        let name = word.split('=').next().expect("a name");
        arguments
            .split(',')
            .any(|given| given.starts_with(&format!("{name}=")) || given == format!("-{name}"))
    };
    let kept = SHORT.into_iter().filter(|word| !is_replaced(word));
    let given = arguments.strip_prefix("-path,").unwrap_or(arguments);
    refusal(&kept.chain([given]).collect::<Vec<_>>().join(","))
}

#[test]
fn names_are_given_once() {
    let webhook = format!("// +kbr:webhook:mutating=true,name=a.b.c,path=/x,{RULE}\n");
    assert_eq!(
        documents_of(&format!("{webhook}{webhook}")).expect_err("twice"),
        [
            "src/a.rs:2:1: two webhooks are called `a.b.c`: see src/a.rs:1:1; give one of them another \
             `name`, or remove one"
        ]
    );
    let named = "// +kbr:webhookconfiguration:mutating=true,name=x\n";
    let errors = documents_of(&format!("{named}{named}")).expect_err("twice");
    assert!(
        errors[0]
            .starts_with("src/a.rs:2:1: the configuration already has a name: see src/a.rs:1:1; ")
    );
    for (arguments, message) in [
        (
            "mutating=true",
            "`+kbr:webhookconfiguration` without `name`",
        ),
        (
            "mutating=true,name=A",
            "`A` cannot be the name of an object",
        ),
        (
            "mutating=true,name=a,path=/x",
            "unknown argument `path` of `+kbr:webhookconfiguration`",
        ),
    ] {
        let errors = documents_of(&format!("// +kbr:webhookconfiguration:{arguments}"));
        let errors = errors.expect_err(arguments);
        assert!(errors[0].contains(message), "{errors:?}");
    }
}

#[test]
fn a_url_and_a_service_cannot_be_in_one_configuration() {
    let marker = |mode: bool, name: &str, client: &str| {
        format!("// +kbr:webhook:mutating={mode},name={name},{client},{RULE}\n")
    };
    let url = marker(true, "a.b.c", "url=https://a");
    let errors = documents_of(&(url.clone() + &marker(true, "b.b.c", "path=/x")));
    assert_eq!(
        errors.expect_err("one authority for both"),
        [
            "src/a.rs:1:1: `a.b.c` has a `url` and src/a.rs:2:1 has a Service: cert-manager would make the API server trust the Service's CA for both; write it manually, in a \
             file that `config/webhook/kustomization.yaml` lists"
        ]
    );
    for beside in [
        marker(true, "b.b.c", "url=https://b"),
        marker(false, "b.b.c", "path=/x"),
    ] {
        assert!(documents_of(&(url.clone() + &beside)).is_ok(), "{beside}");
    }
}
