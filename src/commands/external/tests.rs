//! The changes for a type of another operator, and what is refused; tested on values.

use crate::commands::tests::Bench;
use crate::project::PROJECT_FILE;

/// A CRD file as somebody else publishes it.
pub(crate) const CRDS: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: certificates.cert-manager.io}
spec:
  group: cert-manager.io
  names: {kind: Certificate, plural: certificates}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {}}}}}
  - name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: clusterissuers.cert-manager.io}
spec:
  group: cert-manager.io
  names: {kind: ClusterIssuer, plural: clusterissuers}
  scope: Cluster
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [url]
            properties: {url: {type: string, pattern: '^https://'}}
";

const CERTIFICATE: &str = "--group cert-manager --version v1 --kind Certificate";

const ITS_TYPE: &str = "--external-api-domain io --external-api-path cert_manager::v1::Certificate";

const ISSUER: &str = "--group cert-manager.io --version v1 --kind ClusterIssuer \
                      --external-api-path cert_manager::v1::ClusterIssuer --external-api-crd crds.yaml";

/// A project with the CRD file.
fn bench(options: &str) -> Bench {
    let mut bench = Bench::of(options);
    bench.edit("crds.yaml", CRDS);
    bench
}

/// The same project with a controller for certificates.
fn with_certificate() -> Bench {
    bench("").after(&format!(
        "create api {CERTIFICATE} {ITS_TYPE} --external-api-crd crds.yaml"
    ))
}

#[test]
fn a_controller_adds_the_crd_and_an_object_for_its_test() {
    let line = format!("create api {CERTIFICATE} {ITS_TYPE} --external-api-crd crds.yaml");
    assert_eq!(
        bench("").changes(&line),
        [
            "create src/controller/certificate_controller.rs",
            "create tests/external/cert-manager.io_certificates.yaml",
            "create tests/external/samples/cert-manager_v1_certificate.yaml",
            "create tests/it/certificate_controller.rs",
            "insert src/controller.rs: pub mod certificate_controller;",
            "insert src/lib.rs: controller::certificate_controller::register,",
            "insert tests/crash.rs: \"tests/external/samples/cert-manager_v1_certificate.yaml\",",
            "insert tests/it/main.rs: mod certificate_controller;",
        ]
    );
    let bench = with_certificate();
    let crd = bench.text("tests/external/cert-manager.io_certificates.yaml");
    assert!(crd.starts_with("apiVersion") && !crd.contains("ClusterIssuer"));
    let code = bench.text("src/controller/certificate_controller.rs");
    assert!(code.contains("type Object = cert_manager::v1::Certificate;"));
    assert!(code.contains("groups=cert-manager.io,resources=certificates,"));
}

#[test]
fn options_recorded_in_project_are_not_needed_again() {
    let bench = with_certificate();
    for line in [
        format!("create api {CERTIFICATE} --resource=false --controller-name renewal"),
        format!("create api {CERTIFICATE} {ITS_TYPE} --controller-name renewal"),
        "create api --group cert-manager.io --version v1 --kind Certificate --resource=false \
         --controller-name renewal"
            .to_owned(),
    ] {
        assert_eq!(
            bench.changes(&line),
            [
                "create src/controller/renewal_controller.rs",
                "create tests/it/renewal_controller.rs",
                "insert src/controller.rs: pub mod renewal_controller;",
                "insert src/lib.rs: controller::renewal_controller::register,",
                "insert tests/it/main.rs: mod renewal_controller;",
            ],
            "{line}"
        );
    }
    let there = bench.after(&format!("create webhook {CERTIFICATE} --defaulting"));
    let project = there.project();
    assert_eq!(project.resources.len(), 1);
    assert!(project.resources[0].webhooks().defaulting);
}

/// The same type, without a crate that has it.
const MADE: &str = "create api --group cert-manager --version v1 --kind Certificate --external-api-domain io \
                    --external-api-crd crds.yaml";

/// Another type of the same group and version.
const OTHER: &str = "create api --group cert-manager.io --version v1 --kind ClusterIssuer --external-api-crd crds.yaml";

#[test]
fn without_a_crate_the_type_is_made_from_the_crd() {
    assert_eq!(
        bench("").changes(MADE),
        [
            "create api/src/external.rs",
            "create api/src/external/cert_manager_io.rs",
            "create api/src/external/cert_manager_io/v1.rs",
            "create api/src/external/cert_manager_io/v1/certificate_types.rs",
            "create src/controller/certificate_controller.rs",
            "create tests/external/cert-manager.io_certificates.yaml",
            "create tests/external/samples/cert-manager_v1_certificate.yaml",
            "create tests/it/certificate_controller.rs",
            "insert api/src/external.rs: pub mod cert_manager_io;",
            "insert api/src/external/cert_manager_io.rs: pub mod v1;",
            "insert api/src/external/cert_manager_io/v1.rs: mod certificate_types;",
            "insert api/src/external/cert_manager_io/v1.rs: pub use certificate_types::*;",
            "insert api/src/lib.rs: pub mod external;",
            "insert src/controller.rs: pub mod certificate_controller;",
            "insert src/lib.rs: controller::certificate_controller::register,",
            "insert tests/crash.rs: \"tests/external/samples/cert-manager_v1_certificate.yaml\",",
            "insert tests/it/main.rs: mod certificate_controller;",
        ]
    );
    let made = bench("").after(MADE);
    let code = made.text("src/controller/certificate_controller.rs");
    assert!(code.contains("api::external::cert_manager_io::v1::Certificate;"));
    let types = made.text("api/src/external/cert_manager_io/v1/certificate_types.rs");
    assert!(types.contains("pub struct CertificateSpec"), "{types}");
    let project = made.text(PROJECT_FILE);
    assert!(project.contains("external: true") && !project.contains("path:"));
    let webhook = made.changes(&format!("create webhook {CERTIFICATE} --defaulting"));
    assert!(
        !webhook.iter().any(|it| it.contains("api/src")),
        "{webhook:?}"
    );
}

#[test]
fn two_made_types_share_their_modules_until_the_last_is_deleted() {
    let empty = bench("");
    let both = empty.after(MADE).after(OTHER);
    let version = both.text("api/src/external/cert_manager_io/v1.rs");
    assert!(
        version.contains("mod certificate_types;") && version.contains("mod clusterissuer_types;")
    );
    let one = both.after(&format!("delete controller {CERTIFICATE}"));
    assert!(
        one.files
            .contains_key("api/src/external/cert_manager_io/v1/clusterissuer_types.rs")
    );
    assert!(
        !one.files
            .contains_key("api/src/external/cert_manager_io/v1/certificate_types.rs")
    );
    let none =
        one.after("delete controller --group cert-manager.io --version v1 --kind ClusterIssuer");
    assert_eq!(none.files, empty.files);
}

#[test]
fn deletion_leaves_nothing() {
    let empty = bench("");
    let back = with_certificate()
        .after(&format!(
            "create webhook {CERTIFICATE} --programmatic-validation"
        ))
        .after(&format!("delete controller {CERTIFICATE}"))
        .after(&format!(
            "delete webhook {CERTIFICATE} --programmatic-validation"
        ));
    assert_eq!(back.files, empty.files);
    assert_eq!(
        with_certificate().refused(&format!("delete api {CERTIFICATE}")),
        ["delete-not-own"]
    );
}

#[test]
fn a_guessed_sample_and_a_webhook_give_warnings() {
    let bench = bench("");
    let desired = bench.desired(&format!("create webhook {ISSUER} --defaulting"));
    let warnings = desired.expect("no refusal").warnings;
    assert_eq!(
        warnings,
        [
            "`cert-manager.io/v1 ClusterIssuer` is another operator's: while this operator is down, nobody can write one",
            "the CRD has patterns or rules for `spec.url`: put values that it allows into \
             `tests/external/samples/cert-manager.io_v1_clusterissuer.yaml`, which the tests create",
        ]
    );
    let bench = bench.after(&format!("create webhook {ISSUER} --defaulting"));
    let code = bench.text("src/webhook/v1/clusterissuer_defaulter.rs");
    assert!(!code.contains("namespaceSelector"), "{code}");
    let code = with_certificate().after(&format!("create webhook {CERTIFICATE} --defaulting"));
    let code = code.text("src/webhook/v1/certificate_defaulter.rs");
    assert!(code.contains("notin (kube-system,bench-system)"), "{code}");
}

#[test]
fn impossible_options_are_refused() {
    let own = bench("").after("create api --group cert-manager --version v1 --kind Own");
    let new = format!("{CERTIFICATE} {ITS_TYPE}");
    for (line, code) in [
        (format!("api {new}"), "external-no-crd"),
        (
            format!("api {new} --external-api-crd PROJECT"),
            "external-no-kind",
        ),
        (
            format!("api {new} --external-api-crd Dockerfile"),
            "yaml-invalid",
        ),
        (
            format!("api {new} --external-api-crd crds.yaml --resource"),
            "external-resource",
        ),
        (
            format!("api {new} --external-api-crd crds.yaml --controller=false"),
            "api-nothing-requested",
        ),
        (
            format!("api {new} --external-api-crd crds.yaml --plural certs"),
            "api-plural-differs",
        ),
        (
            format!("api {new} --external-api-crd crds.yaml --namespaced=false"),
            "api-scope-differs",
        ),
        (
            format!("webhook {new} --external-api-crd crds.yaml --conversion --spoke v2"),
            "webhook-core-conversion",
        ),
        (
            "api --version v1 --kind Own --external-api-path a::Own".to_owned(),
            "external-no-group",
        ),
        (
            "api --group cert-manager --version v1 --kind Own --external-api-domain example.com \
             --external-api-path a::Own"
                .to_owned(),
            "external-is-own",
        ),
        (
            format!(
                "api {} --external-api-crd crds.yaml",
                new.replace("v1 ", "v3 ")
            ),
            "external-no-version",
        ),
    ] {
        assert_eq!(own.refused(&format!("create {line}")), [code], "{line}");
    }
}

#[test]
fn options_that_contradict_project_are_refused() {
    let new = format!("{CERTIFICATE} {ITS_TYPE}");
    for (bench, line, code) in [
        (
            &with_certificate(),
            format!(
                "api {CERTIFICATE} --external-api-domain io --external-api-path b::Certificate"
            ),
            "external-differs",
        ),
        (
            &with_certificate(),
            format!("api {new} --external-api-module other@1"),
            "external-differs",
        ),
        (
            &with_certificate(),
            MADE.replacen("create ", "", 1),
            "external-differs",
        ),
        (
            &bench("").after(MADE),
            format!("webhook {new} --defaulting"),
            "external-differs",
        ),
        (
            &bench("--namespaced"),
            format!("api {ISSUER}"),
            "api-core-scope",
        ),
    ] {
        assert_eq!(bench.refused(&format!("create {line}")), [code], "{line}");
    }
}
