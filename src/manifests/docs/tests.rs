//! The reference as GitHub's parser reads it: it covers the whole schema, and no text of a user
//! breaks it.

mod limits;
mod text;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use comrak::nodes::{AstNode, NodeValue};
use comrak::{Arena, Options, parse_document};
use serde_json::{Value, json};

use super::*;
use crate::manifests::crd::{custom_resource_definitions, read};

const CRON_JOB: &str = include_str!("../../../tests/data/crdgen/cronjob.json");
const SHAPES: &str = include_str!("../../../tests/data/crdgen/shapes.json");

/// Runs `visit` on Markdown as GitHub reads it.
fn parsed<T>(markdown: &str, visit: impl for<'a> FnOnce(&'a AstNode<'a>) -> T) -> T {
    let arena = Arena::new();
    let mut options = Options::default();
    options.extension.table = true;
    options.extension.autolink = true;
    options.extension.strikethrough = true;
    options.extension.footnotes = true;
    visit(parse_document(&arena, markdown, &options))
}

/// The text of a node, without markup.
fn shown<'a>(node: &'a AstNode<'a>) -> String {
    let part = |node: &'a AstNode<'a>| match &node.data().value {
        NodeValue::Text(text) => text.to_string(),
        NodeValue::Code(code) => code.literal.clone(),
        _ => String::new(),
    };
    node.descendants().map(part).collect()
}

/// All HTML in a document.
fn html(markdown: &str) -> Vec<String> {
    parsed(markdown, |root| {
        let found = root
            .descendants()
            .filter_map(|node| match &node.data().value {
                NodeValue::HtmlInline(html) => Some(html.clone()),
                NodeValue::HtmlBlock(html) => Some(html.literal.clone()),
                _ => None,
            });
        found.collect()
    })
}

/// The anchors of a document, and the links to anchors, both in order.
fn anchors(markdown: &str) -> (Vec<String>, Vec<String>) {
    let ids = html(markdown).into_iter().filter_map(|html| {
        let id = html.strip_prefix("<a id=\"")?.strip_suffix("\">")?;
        Some(id.to_owned())
    });
    let links = parsed(markdown, |root| {
        let links = root
            .descendants()
            .filter_map(|node| match &node.data().value {
                NodeValue::Link(link) => link.url.strip_prefix('#').map(str::to_owned),
                _ => None,
            });
        links.collect()
    });
    (ids.collect(), links)
}

/// The fields in the tables: kind with version, and path.
fn documented(markdown: &str) -> Vec<(String, String)> {
    parsed(markdown, |root| {
        let (mut version, mut object) = (String::new(), String::new());
        let mut found = Vec::new();
        for node in root.children() {
            match &node.data().value {
                NodeValue::Heading(heading) if heading.level == 3 => {
                    (version, object) = (shown(node), String::new());
                }
                NodeValue::Heading(heading) if heading.level == 4 => object = shown(node) + ".",
                NodeValue::Table(_) if !version.is_empty() => {
                    for row in node.children().skip(1) {
                        let name = shown(row.first_child().expect("a cell"));
                        found.push((version.clone(), format!("{object}{name}")));
                    }
                }
                _ => {}
            }
        }
        found
    })
}

/// The fields of a schema that are not part of one of Kubernetes' own types.
fn own_fields(
    schema: &Value,
    path: &str,
    foreign: &BTreeMap<String, crate::manifests::schema::Foreign>,
    found: &mut Vec<String>,
) {
    if foreign.contains_key(path) {
        return;
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let dot = if path.is_empty() { "" } else { "." };
        let path = format!("{path}{dot}{name}");
        found.push(path.clone());
        own_fields(field, &path, foreign, found);
    }
    for (key, step) in [("items", "[]"), ("additionalProperties", ".*")] {
        if let Some(element) = schema.get(key) {
            own_fields(element, &format!("{path}{step}"), foreign, found);
        }
    }
}

fn crds(printed: &str) -> Vec<CrdDocument> {
    let entries = read(printed).expect("crdgen's JSON");
    custom_resource_definitions(entries, |_, _| Some("v1")).expect("they are fine")
}

fn rendered(crds: &[CrdDocument]) -> String {
    reference(crds, &[], "1.37")
        .expect("samples")
        .expect("there are kinds")
}

/// A CRD of one version with that schema.
fn crd(schema: Value) -> CrdDocument {
    let version = json!({
        "name": "v1",
        "schema": { "openAPIV3Schema": schema },
        "served": true,
        "storage": true,
    });
    CrdDocument {
        group: "example.com".to_owned(),
        kind: "Foo".to_owned(),
        plural: "foos".to_owned(),
        document: json!({ "spec": { "scope": "Namespaced", "versions": [version] } }),
        foreign: BTreeMap::new(),
    }
}

#[test]
fn every_field_of_the_project_is_documented_once() {
    for printed in [CRON_JOB, SHAPES] {
        let crds = crds(printed);
        let mut expected = Vec::new();
        for crd in &crds {
            for version in versions(crd) {
                let name = text_of(version, "/name");
                let mut paths = Vec::new();
                let schema = &version["schema"]["openAPIV3Schema"];
                own_fields(schema, "", &crd.foreign[name], &mut paths);
                let heading = format!("{} {name}", crd.kind);
                expected.extend(paths.into_iter().map(|path| (heading.clone(), path)));
            }
        }
        let mut found = documented(&rendered(&crds));
        expected.sort();
        found.sort();
        assert!(expected.len() > 20, "{}", expected.len());
        assert_eq!(found, expected);
    }
}

#[test]
fn every_link_leads_to_an_anchor_and_every_table_is_linked() {
    for printed in [CRON_JOB, SHAPES] {
        let (ids, links) = anchors(&rendered(&crds(printed)));
        let unique: BTreeSet<&String> = ids.iter().collect();
        assert_eq!(unique.len(), ids.len(), "{ids:?}");
        assert!(ids.len() > 4, "{ids:?}");
        assert_eq!(unique, links.iter().collect());
    }
}

/// A field with a dot in its name is not a nested field.
#[test]
fn names_that_look_like_paths_have_anchors_of_their_own() {
    let leaf = || json!({ "properties": { "x": { "type": "string" } }, "type": "object" });
    let named =
        |name: &str, field: Value| json!({ "properties": { name: field }, "type": "object" });
    let both = json!({
        "properties": { "a.b": leaf(), "a": named("b", leaf()), "a~2eb": leaf(), "ä": leaf() },
        "type": "object",
    });
    let (ids, links) = anchors(&rendered(&[crd(named("spec", both))]));
    let unique: BTreeSet<&String> = ids.iter().collect();
    assert_eq!((unique.len(), ids.len()), (8, 8), "{ids:?}");
    assert_eq!(unique, links.iter().collect());
}

#[test]
fn a_type_of_kubernetes_is_linked_and_not_expanded() {
    let text = rendered(&crds(CRON_JOB));
    let link = "| `jobTemplate` | [JobTemplateSpec](https://kubernetes.io/docs/reference/generated/\
                kubernetes-api/v1.37/#jobtemplatespec-v1-batch) | yes |  | The job that a run creates. |\n";
    assert!(text.contains(link), "{text}");
    assert!(
        text.contains("| `conditions` | list of [Condition](https://"),
        "{text}"
    );
    assert!(text.contains("#condition-v1-meta) |  |  | The conditions of the CronJob.<br>No two items have the same `type`. |\n"));
    assert!(!text.contains("containers"), "{text}");
    for (definition, anchor) in [
        (
            "io.k8s.api.core.v1.PodTemplateSpec",
            "podtemplatespec-v1-core",
        ),
        (
            "io.k8s.api.networking.v1.IngressRule",
            "ingressrule-v1-networking-k8s-io",
        ),
        (
            "io.k8s.api.rbac.v1.PolicyRule",
            "policyrule-v1-rbac-authorization-k8s-io",
        ),
        (
            "io.k8s.apimachinery.pkg.api.resource.Quantity",
            "quantity-resource-core",
        ),
        (
            "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
            "intorstring-intstr-util",
        ),
        (
            "io.k8s.apimachinery.pkg.runtime.RawExtension",
            "rawextension-runtime-pkg",
        ),
        (
            "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
            "json-v1-apiextensions-k8s-io",
        ),
    ] {
        let link = kubernetes::link(definition, "1.37");
        assert!(link.ends_with(&format!("/v1.37/#{anchor})")), "{link}");
    }
    assert_eq!(kubernetes::link("io.k8s.elsewhere.Thing", "1.37"), "Thing");
}

#[test]
fn a_version_shows_its_state_and_what_kubectl_does_with_it() {
    let mut crd = crd(json!({ "description": "A foo.", "type": "object" }));
    let spec = &mut crd.document["spec"];
    spec["scope"] = "Cluster".into();
    spec["names"] = json!({ "shortNames": ["fo", "f"], "categories": ["all"] });
    let mut old = spec["versions"][0].clone();
    for (key, value) in [
        ("name", json!("v1beta1")),
        ("storage", json!(false)),
        ("deprecated", json!(true)),
        ("deprecationWarning", json!("#1: use v1")),
        (
            "additionalPrinterColumns",
            json!([
                { "name": "A|B", "jsonPath": ".spec.a" },
                { "name": "C", "jsonPath": ".spec.c", "priority": 1 },
            ]),
        ),
        ("selectableFields", json!([{ "jsonPath": ".spec.a" }])),
        (
            "subresources",
            json!({ "scale": { "specReplicasPath": ".spec.r", "statusReplicasPath": ".status.r" } }),
        ),
    ] {
        old[key] = value;
    }
    spec["versions"].as_array_mut().expect("a list").push(old);
    let text = rendered(&[crd]);
    for part in [
        "| [Foo](#foos.example.com) | `example.com` | [v1](#foos.example.com/v1), [v1beta1](#foos.example.com/v1beta1) |\n",
        "</a>Foo\n\nCluster-scoped resource `foos.example.com`; short names: `fo`, `f`; categories: `all`.\n",
        "</a>Foo v1\n\nAPI version `example.com/v1`, served and stored.\n\nA foo.\n\n| Field |",
        "</a>Foo v1beta1\n\nAPI version `example.com/v1beta1`, served.\n\n**Deprecated.** \\#1: use v1\n\nA foo.\n\n\
         - `kubectl get` shows A&#124;B (`.spec.a`), C (`.spec.c`, with `-o wide`).\n\
         - `kubectl scale` sets `.spec.r`, and reads `.status.r`.\n\
         - `kubectl get --field-selector` takes `.spec.a`.\n\n| Field |",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn examples_are_the_samples_of_a_version() {
    let crd = crd(json!({ "type": "object" }));
    let foo = "apiVersion: example.com/v1\nkind: Foo\n";
    let fenced = format!("{foo}spec:\n  text: |\n    ````\n    # no heading");
    let beside = format!("kind: Secret\n---\n{foo}");
    let other = foo.replace("v1", "v2");
    let samples = [
        ("a.yaml", fenced.as_str()),
        ("b.yaml", beside.as_str()),
        ("c.yaml", other.as_str()),
        ("d.yaml", "kind: Foo\n"),
    ];
    let crds = [crd];
    let text = reference(&crds, &samples, "1.37")
        .expect("samples")
        .expect("a kind");
    let found = text.matches("An example, ").count();
    assert_eq!(found, 2, "{text}");
    assert!(text.contains(&format!(
        "An example, `a.yaml`:\n\n`````yaml\n{fenced}\n`````\n"
    )));
    assert!(text.contains(&format!("An example, `b.yaml`:\n\n```yaml\n{beside}```\n")));
    let headings = parsed(&text, |root| {
        let nodes = root.children();
        nodes
            .filter(|node| matches!(node.data().value, NodeValue::Heading(_)))
            .count()
    });
    assert_eq!(headings, 3);
    let broken = [("e.yaml", "kind: Foo\n---\n{ no YAML")];
    let error = reference(&crds, &broken, "1.37").expect_err("refused");
    assert!(error.to_string().starts_with("`e.yaml:4` is not YAML: "));
}

#[test]
fn without_kinds_there_is_no_reference() {
    assert_eq!(
        reference(&[], &[("a.yaml", "kind: Foo\n")], "1.37"),
        Ok(None)
    );
}
