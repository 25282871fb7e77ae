//! The documents made from markers, and the errors for those that the API server would refuse.

mod refused;

use proptest::prelude::*;

use super::super::code_marker::read;
use super::*;

/// Everything that a short marker needs, except its mode, name and path.
const RULE: &str = "groups=batch,resources=jobs,verbs=create,versions=v1";

fn documents_of(source: &str) -> Result<Vec<Value>, Vec<String>> {
    let (markers, errors) = read("src/a.rs", source);
    assert_eq!(errors, [], "{source}");
    configurations(&markers, true, &BTreeSet::new()).map_err(|errors| {
        let show = |error: &MarkerError| format!("{error}; {}", error.help);
        errors.iter().map(show).collect()
    })
}

/// The one webhook of a short marker with these arguments added.
fn webhook_of(arguments: &str) -> Value {
    let source = format!("// +kbr:webhook:mutating=true,name=a.b.c,path=/x,{RULE},{arguments}\n");
    documents_of(&source).expect(&source)[0]["webhooks"][0].clone()
}

/// The path of a marker without a `path` argument, above this code.
fn path_above(code: &str) -> Result<String, String> {
    let source = format!("// +kbr:webhook:mutating=true,name=a.b.c,{RULE}\n{code}");
    let documents = documents_of(&source).map_err(|errors| errors.concat())?;
    let service = &documents[0]["webhooks"][0]["clientConfig"]["service"];
    Ok(service["path"].as_str().expect("a path").to_owned())
}

#[test]
fn the_path_is_that_of_the_constant_below() {
    for code in [
        "const PATH: &str = \"/x\";",
        "\n/// Where the API server calls.\npub(crate) const PATH: &str =\n    \"/x\";\nconst B: &str = \"/b\";",
        "static PATH: &str = \"/x\"; fn f() {}",
        "const PORT: u16 = 5; const PATH: &str = \"/x\";",
        "const TIME: &str = \"5s\";\n#[allow(unused)]\npub const PATH: &str = \"/x\";",
        "const OTHER: &str = \"/o\"; const PATH: &str = \"/x\";\nfn f() { m.webhooks().validate(PATH, It); }",
        "const OTHER: &str = \"/o\"; const P: &str = \"/x\";\nfn f() { m.webhooks().mutate(P, It); g(OTHER, 1); }",
        "// +kbr:webhook:mutating=true,name=b.b.c,groups=a,resources=b,verbs=create,versions=v1\n\
         const PATH: &str = \"/x\";",
    ] {
        assert_eq!(path_above(code).as_deref(), Ok("/x"), "{code}");
    }
}

#[test]
fn a_path_that_differs_from_the_constant_below_is_refused() {
    let given = "// +kbr:webhook:mutating=true,name=a.b.c,path=/given,";
    let documents = |code: &str| documents_of(&format!("{given}{RULE}\n{code}"));
    for code in [
        "const PATH: &str = \"/given\";",
        "const TIME: &str = \"5s\";",
        "fn f() {}",
    ] {
        assert!(documents(code).is_ok(), "{code}");
    }
    assert_eq!(
        documents("const PATH: &str = \"/x\";").expect_err("two paths"),
        [
            "src/a.rs:1:1: `path=/given` differs from the constant below the marker, `/x`; omit `path`: the marker takes it from the constant, which the code registers"
        ]
    );
}

#[test]
fn two_constants_with_one_path_are_refused() {
    let marker = |number: u8, mutating: bool| {
        format!("// +kbr:webhook:mutating={mutating},name=a.b.c{number},{RULE}\n")
    };
    let constant = "const PATH: &str = \"/x\";\n";
    let (one, two) = (marker(1, true), marker(2, false));
    assert!(
        documents_of(&format!("{one}{two}{constant}")).is_ok(),
        "one constant"
    );
    let typed = two.replace(",name", ",path=/x,name");
    assert!(
        documents_of(&format!("{one}{constant}fn f() {{}}\n{typed}")).is_ok(),
        "typed"
    );
    assert_eq!(
        documents_of(&format!("{one}{constant}mod a {{\n{two}{constant}}}")).expect_err("shared"),
        [
            "src/a.rs:4:1: `/x` is the path of two constants, and one webhook can serve it: see src/a.rs:1:1; write another path in one of the constants"
        ]
    );
}

#[test]
fn without_a_constant_below_the_path_is_required() {
    for code in [
        "",
        "fn f() { g(\"/x\"); }",
        "struct A; const PATH: &str = \"/x\";",
        "pub fn f() -> &'static str { \"/x\" }",
        "const PATH: &[u8] = b\"/x\";",
    ] {
        let refusal = path_above(code).expect_err(code);
        assert!(
            refusal.contains("`+kbr:webhook` without `path`; put it above the constant"),
            "{code}: {refusal}"
        );
    }
    let refusal = path_above("const PATH: &str = \"x\";").expect_err("no path");
    assert!(
        refusal.contains("`x` is not a path of a webhook"),
        "{refusal}"
    );
}

#[test]
fn a_short_marker_is_enough() {
    let source = format!("// +kbr:webhook:mutating=false,path=/x,name=a.b.c,{RULE}");
    let expected = json!([{
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {
            "annotations": {"cert-manager.io/inject-ca-from": "system/serving-cert"},
            "name": "validating-webhook-configuration",
        },
        "webhooks": [{
            "admissionReviewVersions": ["v1"],
            "clientConfig": {
                "service": {"name": "webhook-service", "namespace": "system", "path": "/x"},
            },
            "failurePolicy": "Fail",
            "name": "a.b.c",
            "rules": [{
                "apiGroups": ["batch"],
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": ["jobs"],
                "scope": "*",
            }],
            "sideEffects": "None",
        }],
    }]);
    let documents = json!(documents_of(&source).expect("understood"));
    assert_eq!(
        documents.to_string(),
        expected.to_string(),
        "keys are sorted"
    );
}

#[test]
fn every_argument_sets_its_field() {
    for (argument, pointer, expected) in [
        ("failurePolicy=ignore", "/failurePolicy", json!("Ignore")),
        ("failurePolicy=FAIL", "/failurePolicy", json!("Fail")),
        ("matchPolicy=exact", "/matchPolicy", json!("Exact")),
        (
            "matchPolicy=Equivalent",
            "/matchPolicy",
            json!("Equivalent"),
        ),
        (
            "sideEffects=noneondryrun",
            "/sideEffects",
            json!("NoneOnDryRun"),
        ),
        ("timeoutSeconds=30", "/timeoutSeconds", json!(30)),
        (
            "reinvocationPolicy=ifneeded",
            "/reinvocationPolicy",
            json!("IfNeeded"),
        ),
        (
            "admissionReviewVersions={v1,v1beta1}",
            "/admissionReviewVersions",
            json!(["v1", "v1beta1"]),
        ),
        ("webhookVersions=v1", "/name", json!("a.b.c")),
        (
            "serviceName=other",
            "/clientConfig/service/name",
            json!("other"),
        ),
        (
            "serviceNamespace=there",
            "/clientConfig/service/namespace",
            json!("there"),
        ),
        (
            "servicePort=8443",
            "/clientConfig/service/port",
            json!(8443),
        ),
        (
            "namespaceSelector=\"kubernetes.io/metadata.name notin (kube-system,x)\"",
            "/namespaceSelector",
            json!({"matchExpressions": [{
                "key": "kubernetes.io/metadata.name",
                "operator": "NotIn",
                "values": ["kube-system", "x"],
            }]}),
        ),
        (
            "objectSelector=app=web",
            "/objectSelector",
            json!({"matchLabels": {"app": "web"}}),
        ),
        (
            "matchConditions={\"not-leases: request.resource.resource != 'leases'\",\"b: object.x[';,{'] == 1\"}",
            "/matchConditions",
            json!([
                {"expression": "request.resource.resource != 'leases'", "name": "not-leases"},
                {"expression": "object.x[';,{'] == 1", "name": "b"},
            ]),
        ),
    ] {
        assert_eq!(
            webhook_of(argument).pointer(pointer),
            Some(&expected),
            "{argument}"
        );
    }
}

#[test]
fn a_rule_is_the_same_however_it_is_written() {
    for rule in [
        "groups=core;apps,resources=pods/ephemeralcontainers;pods,verbs=update;create,versions=v1",
        "groups={\"\",apps},resources={pods,pods/ephemeralcontainers},verbs=\"CREATE;Update\",versions=v1;v1",
    ] {
        let source = format!("// +kubebuilder:webhook:mutating=true,name=a.b.c,path=/x,{rule}");
        assert_eq!(
            documents_of(&source).expect(rule)[0]["webhooks"][0]["rules"],
            json!([{
                "apiGroups": ["", "apps"],
                "apiVersions": ["v1"],
                "operations": ["CREATE", "UPDATE"],
                "resources": ["pods", "pods/ephemeralcontainers"],
                "scope": "*",
            }])
        );
    }
    for resources in [
        "*",
        "*/*",
        "*;pods/status",
        "*/scale;pods",
        "pods/*;pods",
        "pods/*;*/status",
    ] {
        let source = format!(
            "// +kbr:webhook:mutating=true,name=a.b.c,path=/x,groups=*,resources={resources},verbs=*,versions=*"
        );
        assert!(documents_of(&source).is_ok(), "{resources}");
    }
}

#[test]
fn there_are_two_configurations_with_sorted_webhooks() {
    let marker = |mode: bool, name: &str| {
        format!("// +kbr:webhook:mutating={mode},name={name},path=/x,{RULE}\n")
    };
    let source = [
        marker(false, "b.b.c"),
        marker(false, "a.b.c"),
        marker(true, "a.b.c"),
        "// +kbr:webhookconfiguration:mutating=true,name=defaults\n".to_owned(),
    ];
    let documents = documents_of(&source.concat()).expect("understood");
    let names: Vec<_> = documents
        .iter()
        .map(|document| {
            (
                &document["metadata"]["name"],
                &document["webhooks"][0]["name"],
            )
        })
        .collect();
    assert_eq!(
        names,
        [
            (&json!("defaults"), &json!("a.b.c")),
            (&json!("validating-webhook-configuration"), &json!("a.b.c")),
        ]
    );
    assert_eq!(documents[1]["webhooks"][1]["name"], "b.b.c");
    assert_eq!(documents_of("").expect("nothing"), [] as [Value; 0]);
}

#[test]
fn a_url_needs_no_certificate() {
    for url in [
        "https://hooks.example.com",
        "https://Hooks.example.com:8443/a/B_%20/",
        "https://127.0.0.1/x;y",
        "https://a_b",
        "https://[::1]:443",
    ] {
        let source = format!("// +kbr:webhook:mutating=true,name=a.b.c,url=\"{url}\",{RULE}");
        let documents = documents_of(&source).expect(url);
        assert_eq!(
            documents[0]["webhooks"][0]["clientConfig"],
            json!({"url": url})
        );
        assert_eq!(documents[0]["metadata"].get("annotations"), None);
    }
}

proptest! {
    #![proptest_config(crate::fuzz::random::properties())]

    #[test]
    fn no_marker_causes_a_panic(
        name in proptest::sample::select(&["path", "url", "name", "groups", "resources", "verbs",
            "versions", "matchConditions", "objectSelector", "timeoutSeconds", "servicePort"][..]),
        value in "[a-z0-9:=;{}()!/*.% ü\\[\\]]{0,20}",
    ) {
        let source = format!("// +kbr:webhook:mutating=true,{name}={value},failurePolicy=fail");
        let (markers, _) = read("src/a.rs", &source);
        let _ = configurations(&markers, true, &BTreeSet::new());
        let all = format!("// +kbr:webhook:mutating=true,name=a.b.c,path=/x,{RULE}")
            .replace(&format!("{name}="), &format!("{name}={value}"));
        let (markers, _) = read("src/a.rs", &all);
        let _ = configurations(&markers, true, &BTreeSet::new());
    }
}

/// No operator has to run for the last finalizer to be removed; what a finalizer depends on is still checked.
#[test]
fn updates_of_deleted_objects_are_reviewed_only_if_their_specification_changes() {
    let own = BTreeSet::from(["batch.example.com".to_owned()]);
    let marker = "// +kbr:webhook:mutating=true,name=a.b.c,path=/x,versions=v1,resources=jobs";
    for (arguments, is_spared) in [
        ("groups=batch.example.com,verbs=create;update", true),
        ("groups=batch.example.com,verbs=*", true),
        ("groups=batch.example.com,verbs=create;delete", false),
        ("groups=batch,verbs=update", false),
        ("groups=batch;batch.example.com,verbs=update", false),
        ("groups=*,verbs=update", false),
    ] {
        let (markers, errors) = read("src/a.rs", &format!("{marker},{arguments}\n"));
        assert_eq!(errors, [], "{arguments}");
        let documents = configurations(&markers, false, &own);
        let documents = documents.unwrap_or_else(|_| panic!("{arguments}"));
        let conditions = documents[0]["webhooks"][0].get("matchConditions");
        let expected = is_spared.then(unless_deleted);
        assert_eq!(conditions, expected.as_ref(), "{arguments}");
    }
    let typed = "groups=batch.example.com,verbs=update,matchConditions={\"x: true\"}";
    let (markers, _) = read("src/a.rs", &format!("{marker},{typed}\n"));
    let documents = configurations(&markers, false, &own).unwrap_or_default();
    let expected = json!([{"name": "x", "expression": "true"}]);
    assert_eq!(documents[0]["webhooks"][0]["matchConditions"], expected);
}
