//! What cannot be imported: one message, and nothing is written. And what another command does.

use crate::support::Sandbox;

const CRD: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing, plural: things}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
";

/// The message about these CRDs.
#[track_caller]
fn refused(text: &str) -> String {
    let sandbox = Sandbox::with_project();
    sandbox.write("crds.yaml", text);
    let before = sandbox.tree();
    let stderr = sandbox.kbr("import crd crds.yaml").refused_with(1);
    assert!(sandbox.tree() == before, "something was written: {stderr}");
    stderr
}

#[test]
fn what_cannot_be_imported_changes_nothing() {
    let size = |schema: &str| CRD.replace("{type: integer}", schema);
    let kind = |from: &str, to: &str| CRD.replace(from, to);
    let large = format!("{{type: integer, description: {}}}", "x".repeat(3 << 20));
    for (text, message) in [
        (
            size("{type: integer, default: many}"),
            "`crds.yaml:1`: things.example.com, v1: `spec.size` has the default `\"many\"`, which",
        ),
        (
            size("{type: string, enum: [a], default: b}"),
            "has the default `\"b\"`, which is not one of",
        ),
        (
            size("{type: integer, maximum: 3, default: 4}"),
            "has the default `4`, which is above 3",
        ),
        (
            size("{type: string, pattern: '(?=a)'}"),
            "has the pattern `(?=a)`",
        ),
        (
            size("{type: integer, x-kubernetes-validations: [{rule: 'self > '}]}"),
            "has the rule `self >`",
        ),
        (
            large_is(&size(&large)),
            "an API server stores at most 1.5 MiB",
        ),
        (size("{$ref: '#/a'}"), "has `$ref`"),
        (size("{properties: {}}"), "is not structural"),
        (kind("kind: Thing", "kind: my-thing"), "things.example.com"),
        (kind("v1\nkind", "v1beta1\nkind"), "v1beta1"),
        (kind("example.com", "{{ .Values.group }}"), "Helm template"),
        (
            CRD.to_owned() + "---\n" + &CRD.replace("things", "thingss").replace("Thing", "THING"),
            "both need the name",
        ),
        (
            "kind: ConfigMap\n".to_owned(),
            "has no CustomResourceDefinition",
        ),
    ] {
        let stderr = refused(&text);
        assert!(stderr.contains(message), "{message}\nis not in\n{stderr}");
        assert!(stderr.contains("help:"), "{stderr}");
    }
    let sandbox = Sandbox::with_project();
    let stderr = sandbox
        .kbr("import crd https://example.com/crds.yaml")
        .refused_with(1);
    assert!(
        stderr.contains("curl -LO https://example.com/crds.yaml"),
        "{stderr}"
    );
}

fn large_is(text: &str) -> String {
    assert!(text.len() > 3 << 20);
    text.to_owned()
}

#[test]
fn a_kind_that_exists_is_kept() {
    let sandbox = Sandbox::with_project();
    sandbox.write("crds.yaml", CRD);
    sandbox.kbr("import crd crds.yaml").success();
    let before = sandbox.tree();
    let stderr = sandbox.kbr("import crd crds.yaml").refused_with(1);
    assert!(sandbox.tree() == before, "something was written: {stderr}");
    for message in ["`example.com/v1 Thing` already exists", "`--force`"] {
        assert!(stderr.contains(message), "{message}\nis not in\n{stderr}");
    }
    assert!(!stderr.contains("--resource"), "{stderr}");
}

#[test]
fn the_webhook_of_a_conversion_is_scaffolded_as_told() {
    let two = CRD
        .replace(
            "  versions:",
            "  conversion: {strategy: Webhook}\n  versions:\n  - &v2",
        )
        .replace("  - &v2\n  - name: v1", "  - &v1\n    name: v1")
        + "  - {<<: *v1, name: v2, storage: false}\n";
    let (first, second) = (
        two.replace("example.com", "a.example.com"),
        two.replace("example.com", "b.sea.org"),
    );
    let sandbox = Sandbox::new();
    sandbox
        .kbr("init --domain example.com --project-name shop")
        .success();
    sandbox.write("crds.yaml", &format!("{first}---\n{second}"));
    let stderr = sandbox.kbr("import crd crds.yaml").success().stderr;
    let told: Vec<&str> = stderr
        .lines()
        .filter_map(|line| line.split_once("`kbr ")?.1.split_once("` scaffolds it"))
        .map(|(command, _)| command)
        .collect();
    assert_eq!(
        told,
        [
            "create webhook --group a --kind Thing --version v1 --conversion --spoke v2",
            "create webhook --group b --kind Thing --version v1 --conversion --spoke v2",
        ]
    );
    for (command, group) in told.into_iter().zip(["a", "b"]) {
        sandbox.kbr(command).success();
        let converter = sandbox.read(&format!("src/webhook/{group}/v2/thing_converter.rs"));
        for part in ["type Hub = v1::Thing;", "type Spoke = v2::Thing;"] {
            assert!(converter.contains(part), "{converter}");
        }
        let register = format!("webhook::{group}::v2::thing_converter::register,");
        assert!(sandbox.read("src/lib.rs").contains(&register), "{register}");
    }
    let again = sandbox.kbr("import crd crds.yaml --force").success().stderr;
    assert!(!again.contains("scaffolds it"), "{again}");
}
