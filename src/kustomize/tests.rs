//! What tests without kubectl read in its place, and how it is read.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::error::help_of;
use crate::fuzz::{golden, tree};
use crate::layout;
use crate::manifests::json::texts_of;
use crate::project::Project;
use crate::tree::Tree;
use crate::yaml;

use super::*;

/// The ServiceAccount of a Deployment.
const ACCOUNT: &str = "/spec/template/spec/serviceAccountName";

/// What kubectl would print if there were no patches and no replacements: the objects of the files and
/// folders that `config/default` lists, and of those that are optional.
pub(crate) fn printed(project: &Project, tree: &Tree) -> String {
    let read = |path: &str, text: &str| yaml::read(path, text).unwrap_or_default();
    let root = tree.text(layout::DEFAULT_KUSTOMIZATION).unwrap_or_default();
    let root = read(layout::DEFAULT_KUSTOMIZATION, root);
    let listed = root.iter().flat_map(|it| texts_of(it, "resources"));
    let listed = listed.map(|it| match it.strip_prefix("../") {
        Some(folder) => format!("{}{folder}", layout::CONFIG),
        None => format!("{}/{it}", layout::DEFAULT),
    });
    let optional = OPTIONAL
        .into_iter()
        .map(|it| it.trim_end_matches('/').to_owned());
    let listed: Vec<String> = listed.chain(optional).collect();
    let is_listed = |path: &str| {
        let mut listed = listed.iter();
        listed.any(|it| path == it || path.starts_with(&format!("{it}/")))
    };
    let mut printed = String::new();
    for (path, text) in tree
        .files()
        .filter(|(path, _)| path.ends_with(".yaml") && is_listed(path))
    {
        for mut object in read(path, text) {
            if !object["metadata"]["name"].is_string() {
                continue;
            }
            let marked = match object["kind"].as_str().unwrap_or_default() {
                "CustomResourceDefinition" => object["metadata"]["name"].clone(),
                "Namespace" => mark::NAMESPACE.into(),
                _ => mark::name(object["metadata"]["name"].as_str().unwrap_or_default()).into(),
            };
            object["metadata"]["name"] = marked;
            let namespace = &object["metadata"]["namespace"];
            let own = project.project_name.namespace();
            if namespace == "system" || *namespace == own.as_str() {
                object["metadata"]["namespace"] = mark::NAMESPACE.into();
            }
            for place in ["/roleRef/name", "/subjects/0/name", ACCOUNT] {
                if let Some(name) = object.pointer_mut(place) {
                    *name = mark::name(name.as_str().unwrap_or_default()).into();
                }
            }
            let origin = format!("path: ../../{path}\n");
            object["metadata"]["annotations"]["config.kubernetes.io/origin"] = origin.into();
            printed += &format!("---\n{}", yaml::write(&object));
        }
    }
    printed
}

/// The objects that tests make charts and bundles of.
pub(crate) fn build(project: &Project, tree: &Tree) -> Build {
    let build = Build::read(project, &printed(project, tree)).expect("objects");
    let enabled = Root::read(tree).expect("a kustomization").enabled();
    Build { enabled, ..build }
}

fn marked(name: &str, more: &str) -> Value {
    let (_, mut files) = golden(name);
    files
        .get_mut(layout::DEFAULT_KUSTOMIZATION)
        .expect("a kustomization")
        .push_str(more);
    let root = Root::read(&tree(&files)).expect("a kustomization");
    let text = root.marked(&["config/grafana"]);
    yaml::read("x", &text).expect("YAML").remove(0)
}

#[test]
fn marks_stand_for_names_and_for_the_namespace() {
    let root = marked("manager", "nameSuffix: -x\n");
    assert_eq!(root["namePrefix"], "\u{e001}");
    assert_eq!(root["nameSuffix"], "\u{e002}-x");
    assert_eq!(root["namespace"], "\u{e000}");
    assert!(
        texts_of(&root, "resources").any(|it| it == "../grafana"),
        "{root}"
    );
    let root = marked("namespaced", "");
    assert_eq!(root.get("namespace"), None);
    let patches = root["patches"].as_array().expect("patches");
    let mut kinds = patches.iter().map(|it| &it["target"]["kind"]);
    assert!(kinds.any(|it| it == "Namespace"), "{root}");
}

#[test]
fn a_root_that_is_no_mapping_is_refused() {
    let (_, mut files) = golden("manager");
    for text in ["- a\n", "", "a\n", "a: 1\n---\nb: 1\n"] {
        files.insert(layout::DEFAULT_KUSTOMIZATION.to_owned(), text.to_owned());
        let error = Root::read(&tree(&files)).expect_err(text);
        assert!(error.to_string().contains("is not one mapping"), "{error}");
        assert!(help_of(&error).is_some());
    }
}

#[test]
fn objects_know_their_files() {
    let (project, _) = golden("manager");
    let object = |origin: &str| {
        let annotations = json!({ "config.kubernetes.io/origin": origin, "a": "b" });
        let metadata = json!({ "name": "\u{e001}a\u{e002}-5d9k", "annotations": annotations });
        let text = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata });
        let mut build = Build::read(&project, &text.to_string()).map_err(|it| it.to_string())?;
        let object = build.objects.remove(0);
        assert_eq!(object.value["metadata"]["annotations"], json!({ "a": "b" }));
        Ok::<_, String>((object.file, object.name))
    };
    let expected = BTreeMap::from([
        ("path: ../crd/bases/a.yaml\n", "config/crd/bases/a.yaml"),
        ("path: a.yaml\n", "config/default/a.yaml"),
        (
            "configuredIn: ../grafana/kustomization.yaml\n",
            "config/grafana/a.yaml",
        ),
    ]);
    for (origin, file) in expected {
        assert_eq!(object(origin), Ok((file.to_owned(), "a".to_owned())));
    }
    let text = json!({ "apiVersion": "v1", "kind": "A", "metadata": { "name": "b" } }).to_string();
    let error = Build::read(&project, &text)
        .expect_err("no origin")
        .to_string();
    assert!(error.contains("the kind `A` with the name `b`"), "{error}");
}

#[test]
fn names_that_a_role_spells_out_are_those_of_the_release() {
    let (project, files) = golden("manager");
    let tree = tree(&files);
    let text = printed(&project, &tree)
        + "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: a\n  annotations: {config.kubernetes.io/origin: 'path: a.yaml'}\n\
           rules: [{resourceNames: [manager-lock, other-lock]}]\n";
    let build = Build::read(&project, &text).expect("objects");
    let role = &build.objects.last().expect("a role").value;
    assert_eq!(
        role["rules"][0]["resourceNames"],
        json!([mark::name("lock"), "other-lock"])
    );
}

#[test]
fn metrics_that_do_not_fit_the_flags_are_reported() {
    let (project, files) = golden("manager");
    let warnings = |flags: &[&str]| {
        let mut objects = build(&project, &tree(&files)).objects;
        let at = manager(&mut objects).expect("a manager");
        let container = container(&mut objects[at].value).expect("a container");
        container["args"] = json!(flags);
        container["ports"] = json!([{ "name": "metrics", "containerPort": 8443 }]);
        metrics(&mut objects).expect("a manager").join("\n")
    };
    assert_eq!(warnings(&["--metrics-bind-address=:8443"]), "");
    let none = warnings(&["--metrics-bind-address=0"]);
    for file in [
        "default/metrics_service.yaml",
        "network-policy/allow-metrics-traffic.yaml",
        "prometheus/monitor.yaml",
    ] {
        assert!(
            none.contains("serves no metrics") && none.contains(&format!("`config/{file}`")),
            "{none}"
        );
    }
    let insecure = warnings(&["--metrics-bind-address=:8443", "--metrics-secure=false"]);
    let said = "`config/prometheus/monitor.yaml` collects them over HTTPS";
    assert!(insecure.contains(said), "{insecure}");
    let port = warnings(&["--metrics-bind-address=:8080"]);
    let said = "its port `metrics` is 8443, and `config/network-policy/allow-metrics-traffic.yaml` allows 8443: write 8080 there";
    assert!(port.contains(said), "{port}");
}

#[cfg(unix)]
#[test]
fn a_sample_that_is_not_read_is_named() {
    for what in [
        "a symbolic link",
        "a folder",
        "larger than 8 MiB",
        "not UTF-8",
    ] {
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().join(layout::SAMPLES);
        std::fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join("a.yaml");
        match what {
            "a symbolic link" => std::os::unix::fs::symlink("b", &file),
            "a folder" => std::fs::create_dir(&file),
            "not UTF-8" => std::fs::write(&file, b"\xff"),
            _ => std::fs::write(&file, vec![b' '; 9 << 20]),
        }
        .expect("a sample");
        let tree = Tree::load(root.path()).expect("a tree");
        let error = samples(&tree, &[]).expect_err(what).to_string();
        let begin = format!("`config/samples/a.yaml:1` is {what}, and kbr reads only");
        assert!(error.starts_with(&begin), "{error}");
    }
}
