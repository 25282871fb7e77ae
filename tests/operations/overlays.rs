//! Overlays over `config/default`: what platform teams put over an operator.
//!
//! kustomize renames objects, and the places that it knows. If any other place has the name of an object, the operator
//! looks for something that does not exist.

use serde_json::Value;

use crate::support::goldens::check_out;
use crate::support::{Sandbox, kustomize_in};

/// The texts of a value.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|it| texts(it, found)),
        Value::Object(map) => map.values().for_each(|it| texts(it, found)),
        _ => {}
    }
}

/// Whether a name is a word of a text.
fn has_word(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    text.split(|c: char| !is_part(c)).any(|word| word == name)
}

/// The names of objects in a rendering; names without a hyphen are also other words.
fn names(objects: &[Value]) -> Vec<String> {
    let is_fixed = |it: &&Value| it["kind"] == "CustomResourceDefinition";
    let objects = objects.iter().filter(|it| !is_fixed(it));
    let names = objects.map(|it| it["metadata"]["name"].as_str().expect("a name").to_owned());
    names.filter(|it| it.contains('-')).collect()
}

/// The names in the manifests of the last folder that are those of one of the folders before, each an overlay of the
/// one before it.
fn left_behind(project: &Sandbox, folders: &[&str]) -> Vec<String> {
    let (last, before) = folders.split_last().expect("a folder");
    let names: Vec<String> = before
        .iter()
        .flat_map(|folder| names(&kustomize_in(project, folder)))
        .collect();
    let mut left = Vec::new();
    for object in kustomize_in(project, last) {
        let mut found = Vec::new();
        texts(&object, &mut found);
        for text in found {
            let old = names.iter().filter(|name| has_word(&text, name));
            left.extend(old.map(|name| {
                format!(
                    "{} {}: {name} in {text}",
                    object["kind"], object["metadata"]["name"]
                )
            }));
        }
    }
    left
}

const OVERLAY: &str = "\
namePrefix: cap-
nameSuffix: -x
namespace: fleet
labels: [{pairs: {team: cap}}]
resources: [../config/default]
";

#[test]
fn every_name_follows_an_overlay_and_one_over_it() {
    for name in ["cronjob", "foo", "multigroup", "namespaced", "scaffold"] {
        let project = Sandbox::new();
        check_out(name, project.path());
        project.write("deploy/kustomization.yaml", OVERLAY);
        let outer = "namePrefix: a-\nnamespace: sea\nresources: [../deploy]\n";
        project.write("outer/kustomization.yaml", outer);
        let folders = ["config/default", "deploy", "outer"];
        assert_eq!(left_behind(&project, &folders[..2]), [""; 0], "{name}");
        assert_eq!(left_behind(&project, &folders), [""; 0], "{name}");
    }
}

#[test]
fn a_name_that_does_not_follow_is_found() {
    let project = Sandbox::new();
    check_out("cronjob", project.path());
    project.write("deploy/kustomization.yaml", OVERLAY);
    project.edit(
        "config/default/manager_metrics_patch.yaml",
        "--metrics-bind-address=:8443",
        "--a=cronjob-webhook-service",
    );
    let left = left_behind(&project, &["config/default", "deploy"]);
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(
        left[0].contains("cronjob-webhook-service in --a="),
        "{left:?}"
    );
}
