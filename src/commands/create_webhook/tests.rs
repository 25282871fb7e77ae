//! The changes for new webhooks, and which webhooks are refused; tested on values.

use crate::commands::tests::Bench;

/// A project with the kind `Foo` in two versions.
fn with_foo() -> Bench {
    Bench::new()
        .after("create api --kind Foo")
        .after("create api --kind Foo --version v1")
}

#[test]
fn the_first_webhook_adds_what_a_cluster_needs_to_call_it() {
    assert_eq!(
        with_foo().changes("create webhook --kind Foo --defaulting"),
        [
            "create config/certmanager/certificate-webhook.yaml",
            "create config/certmanager/issuer.yaml",
            "create config/certmanager/kustomization.yaml",
            "create config/default/manager_webhook_patch.yaml",
            "create config/default/webhook_replacements.yaml",
            "create config/network-policy/allow-webhook-traffic.yaml",
            "create config/webhook/kustomization.yaml",
            "create config/webhook/service.yaml",
            "create src/webhook/v1alpha1.rs",
            "create src/webhook/v1alpha1/foo_defaulter.rs",
            "create tests/it/foo_v1alpha1_defaulter.rs",
            "insert config/default/kustomization.yaml: - ../certmanager",
            "insert config/default/kustomization.yaml: - ../webhook",
            "insert config/default/kustomization.yaml: - path: webhook_replacements.yaml",
            "insert config/default/kustomization.yaml: - {path: manager_webhook_patch.yaml, target: {kind: Deployment, name: controller-manager}}",
            "insert config/network-policy/kustomization.yaml: - allow-webhook-traffic.yaml",
            "insert config/webhook/kustomization.yaml: - manifests.yaml",
            "insert src/lib.rs: webhook::v1alpha1::foo_defaulter::register,",
            "insert src/webhook.rs: pub mod v1alpha1;",
            "insert src/webhook/v1alpha1.rs: pub mod foo_defaulter;",
            "insert tests/it/main.rs: mod foo_v1alpha1_defaulter;",
        ]
    );
}

#[test]
fn a_second_webhook_adds_only_its_own_files() {
    let bench = with_foo().after("create webhook --kind Foo --defaulting");
    assert_eq!(
        bench.changes("create webhook --kind Foo --programmatic-validation"),
        [
            "create src/webhook/v1alpha1/foo_validator.rs",
            "create tests/it/foo_v1alpha1_validator.rs",
            "insert src/lib.rs: webhook::v1alpha1::foo_validator::register,",
            "insert src/webhook/v1alpha1.rs: pub mod foo_validator;",
            "insert tests/it/main.rs: mod foo_v1alpha1_validator;",
        ]
    );
}

#[test]
fn a_conversion_adds_files_of_its_spoke_and_no_configuration() {
    let bench = with_foo();
    let line = "create webhook --kind Foo --version v1 --conversion --spoke v1alpha1";
    assert_eq!(
        bench.changes(line),
        [
            "create config/certmanager/certificate-webhook.yaml",
            "create config/certmanager/issuer.yaml",
            "create config/certmanager/kustomization.yaml",
            "create config/default/manager_webhook_patch.yaml",
            "create config/default/webhook_replacements.yaml",
            "create config/network-policy/allow-webhook-traffic.yaml",
            "create config/webhook/kustomization.yaml",
            "create config/webhook/service.yaml",
            "create src/webhook/v1alpha1.rs",
            "create src/webhook/v1alpha1/foo_converter.rs",
            "create tests/it/foo_v1alpha1_converter.rs",
            "insert config/default/kustomization.yaml: - ../certmanager",
            "insert config/default/kustomization.yaml: - ../webhook",
            "insert config/default/kustomization.yaml: - path: webhook_replacements.yaml",
            "insert config/default/kustomization.yaml: - {path: manager_webhook_patch.yaml, target: {kind: Deployment, name: controller-manager}}",
            "insert config/network-policy/kustomization.yaml: - allow-webhook-traffic.yaml",
            "insert src/lib.rs: webhook::v1alpha1::foo_converter::register,",
            "insert src/webhook.rs: pub mod v1alpha1;",
            "insert src/webhook/v1alpha1.rs: pub mod foo_converter;",
            "insert tests/it/main.rs: mod foo_v1alpha1_converter;",
        ]
    );
}

#[test]
fn one_command_or_several_give_the_same_result() {
    let (defaulting, validation) = ("--defaulting", "--programmatic-validation");
    let after = |options: &[&str]| {
        let line = |bench: Bench, options: &&str| {
            bench.after(&format!("create webhook --kind Foo {options}"))
        };
        options.iter().fold(with_foo(), line).files
    };
    let both = after(&["--defaulting --programmatic-validation"]);
    assert_eq!(both, after(&[defaulting, validation]));
    assert_eq!(both, after(&[validation, defaulting]));
}

#[test]
fn a_webhook_for_a_type_of_kubernetes_own_gives_a_warning() {
    let warnings = |line: &str| with_foo().wanted(line).expect("no refusal").warnings;
    let of_pods = "create webhook --group core --version v1 --kind Pod --defaulting";
    assert!(warnings(of_pods)[0].starts_with("`core/v1 Pod` is Kubernetes' own: "));
    assert_eq!(warnings("create webhook --kind Foo --defaulting"), [""; 0]);
}

#[test]
fn all_errors_are_reported_at_once() {
    let bench = with_foo().after("create webhook --kind Foo --defaulting");
    for (line, codes) in [
        ("--kind Foo", &["webhook-nothing-wanted"][..]),
        ("--kind Bar --defaulting", &["webhook-unknown-type"]),
        ("--kind Foo --defaulting", &["webhook-exists"]),
        ("--kind Foo --conversion", &["webhook-no-spoke"]),
        (
            "--kind Foo --defaulting --conversion --spoke v1alpha1,v2",
            &[
                "webhook-exists",
                "webhook-spoke-is-hub",
                "webhook-unknown-spoke",
            ],
        ),
        (
            "--kind Foo --programmatic-validation --validation-path /mutate-example-com-v1alpha1-foo",
            &["webhook-path-taken"],
        ),
        (
            "--group core --version v1 --kind Pod --conversion --spoke v2",
            &["webhook-core-conversion"],
        ),
    ] {
        assert_eq!(
            bench.refused(&format!("create webhook {line}")),
            codes,
            "{line}"
        );
    }
}
