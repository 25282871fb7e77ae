//! Kustomizations that are refused, and how; and what does not matter.

use std::fs;
use std::os::unix::fs::symlink;

use crate::error::help_of;
use crate::fuzz::{Files, folder, golden, tree};
use crate::project::Project;
use crate::tree::Tree;

use super::*;

const DEFAULT: &str = "config/default/kustomization.yaml";

fn edited(edit: impl Fn(&mut Files)) -> (Project, Files) {
    let (project, mut files) = golden("manager");
    edit(&mut files);
    (project, files)
}

/// Puts these lines in the place of `- ../rbac` in `config/default`, and adds files.
fn with(lines: &str, more: &[(&str, &str)]) -> Result<usize, String> {
    let (project, files) = edited(|files| {
        let text = files[DEFAULT].replace("- ../rbac\n", lines);
        files.insert(DEFAULT.to_owned(), text);
        let more = more
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        files.extend(more);
    });
    built(&project, &tree(&files))
}

fn built(project: &Project, tree: &Tree) -> Result<usize, String> {
    Build::of(project, tree)
        .map(|build| build.objects.len())
        .map_err(|error| {
            assert!(help_of(&error).is_some(), "{error}");
            error.to_string()
        })
}

#[track_caller]
fn refused(lines: &str, more: &[(&str, &str)], words: &str) {
    let error = with(lines, more).expect_err(lines);
    assert!(error.contains(words), "{lines}: {error}");
}

#[test]
fn items_that_are_no_paths_are_refused() {
    for item in ["", "''", "~", "3", "{a: b}", "[]"] {
        let words = "`config/default/kustomization.yaml` is not what kustomize expects: `resources` is not a list of paths";
        refused(&format!("- {item}\n"), &[], words);
    }
    let file = ("config/a/kustomization.yaml", "resources: b.yaml\n");
    refused(
        "- ../a\n",
        &[file],
        "`config/a/kustomization.yaml` is not what",
    );
    for text in [
        "patches: [a]",
        "images: {a: b}",
        "labels: [~]",
        "replacements: [3]",
    ] {
        let file = ("config/a/kustomization.yaml", text);
        refused("- ../a\n", &[file], "`config/a/kustomization.yaml`");
    }
    for (item, words) in [
        ("..", "`config/kustomization.yaml` does not exist"),
        ("../..", "`../..` is not below the folder of the project"),
        (
            "../../../a",
            "`../../../a` is not below the folder of the project",
        ),
        (
            "https://example.com/a",
            "has `https://example.com/a`, which kbr does not understand",
        ),
        (
            "/tmp/a.yaml",
            "has `/tmp/a.yaml`, which kbr does not understand",
        ),
        (
            "../none",
            "`config/none` does not exist, but `config/default/kustomization.yaml` needs it",
        ),
    ] {
        refused(&format!("- {item}\n"), &[], words);
    }
}

#[test]
fn folders_that_contain_each_other_are_refused() {
    for item in [".", "./", "../default", "../../config/default"] {
        let words = format!("`{item}` in `resources` is a folder that contains this file's");
        refused(&format!("- {item}\n"), &[], &words);
    }
    let [a, b, c] = ["a", "b", "c"].map(|name| format!("config/{name}/kustomization.yaml"));
    let files = [
        (&*a, "resources: [../b]"),
        (&*b, "components: [../c]"),
        (&*c, "resources: [../a]"),
    ];
    let words =
        "`config/c/kustomization.yaml` is not what kustomize expects: `../a` in `resources`";
    refused("- ../a\n", &files, words);
    // As kustomize refuses two objects of one name; and nothing takes exponential time.
    let files = [(&*a, "resources: [../b, ../b]"), (&*b, "resources: []")];
    refused(
        "- ../a\n",
        &files,
        "`../b` in `resources` is a part of `config/default` already",
    );
    refused(
        "- ../rbac\n- ../rbac\n",
        &[],
        "is a part of `config/default` already",
    );
    let chain: Vec<(String, String)> = (0..1000)
        .map(|at| {
            let text = format!("resources: [../{}]", at + 1);
            (format!("config/{at}/kustomization.yaml"), text)
        })
        .collect();
    let chain: Vec<(&str, &str)> = chain
        .iter()
        .map(|(path, text)| (&**path, &**text))
        .collect();
    refused("- ../0\n", &chain, "more than 64 levels deep");
}

#[test]
fn what_is_no_file_is_refused() {
    let broken = ("config/default/broken.yaml", "a: b\n---\nbad: [\n");
    let words = "`config/default/broken.yaml:4` is not YAML: ";
    refused("- broken.yaml\n", &[broken], words);
    let needs = "is a folder, and `config/a/kustomization.yaml` needs a file";
    for text in [
        "patches: [{path: ../rbac, target: {kind: Deployment}}]",
        "configurations: [../rbac]",
        "replacements: [{path: ../rbac}]",
        "configMapGenerator: [{name: a, options: {disableNameSuffixHash: true}, files: [../rbac]}]",
    ] {
        let file = ("config/a/kustomization.yaml", text);
        refused("- ../rbac\n- ../a\n", &[file], needs);
    }
    for (text, words) in [
        (
            "patches: [{path: x.yaml, patch: '[]'}]",
            "neither a `path` nor a `patch`, or both",
        ),
        (
            "patches: [{target: {kind: Deployment}}]",
            "neither a `path` nor a `patch`, or both",
        ),
        ("patches: [{patch: '[]'}]", "has no `target`"),
        (
            "patches: [{patch: '['}]",
            "an entry of `patches` is not YAML: ",
        ),
        (
            "patches: [{patch: '[{op: replace, path: /metadata, value: a}]', target: {kind: Deployment}}]",
            "leaves something that is no object",
        ),
    ] {
        let file = ("config/default/a/kustomization.yaml", text);
        refused("- ../rbac\n- a\n", &[file], words);
    }
}

#[test]
fn links_are_refused() {
    let (project, files) = golden("manager");
    let root = folder();
    for (path, text) in files.iter().filter(|(path, _)| path.starts_with("config/")) {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("written");
    }
    let file = root.path().join("config/default/metrics_service.yaml");
    fs::rename(&file, root.path().join("service.yaml")).expect("renamed");
    symlink("../../service.yaml", &file).expect("a link");
    let tree = Tree::load(root.path()).expect("a tree");
    assert_eq!(
        built(&project, &tree),
        Err("`config/default/metrics_service.yaml` is a symbolic link, which kbr does not follow, and \
             `config/default/kustomization.yaml` needs a file"
            .to_owned())
    );
}

#[test]
fn windows_line_ends_change_nothing() {
    for name in ["cronjob", "manager", "namespaced"] {
        let (project, mut files) = golden(name);
        let values = |files: &Files| {
            let tree = tree(files);
            let build = Build::of(&project, &tree).expect("a golden project");
            let values = build.objects.into_iter().map(|object| object.value);
            // The texts of dashboards are those of their files.
            values
                .filter(|value| value["kind"] != "ConfigMap")
                .collect::<Vec<_>>()
        };
        let before = values(&files);
        for (_, text) in files.iter_mut().filter(|(path, _)| path.ends_with(".yaml")) {
            *text = text.replace('\n', "\r\n");
        }
        assert_eq!(values(&files), before);
    }
}

#[test]
fn images_are_changed_in_every_pod() {
    let jobs = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: jobs, namespace: system}\nspec:\n  jobTemplate:\n    \
                spec: {template: {spec: {containers: [{name: a, image: 'controller:latest'}]}}}\n";
    let (project, files) = edited(|files| {
        let manager = "config/manager/manager.yaml".to_owned();
        let text = files[&manager].replace(
            "      containers:\n",
            "      initContainers: [{name: first, image: 'controller:latest'}]\n      containers:\n",
        );
        files.insert(manager, text);
        let images = "images: [{name: controller, newName: r.example.com/a, newTag: v1}]\n";
        let text = files[DEFAULT].replace("- ../rbac\n", "- ../rbac\n- jobs.yaml\n") + images;
        files.insert(DEFAULT.to_owned(), text);
        files.insert("config/default/jobs.yaml".to_owned(), jobs.to_owned());
    });
    let tree = tree(&files);
    let build = Build::of(&project, &tree).expect("objects");
    let text: String = build
        .objects
        .iter()
        .map(|it| it.value.to_string())
        .collect();
    assert_eq!(text.matches("r.example.com/a:v1").count(), 3);
    assert!(!text.contains("controller:latest"));
}

#[test]
fn metrics_that_do_not_fit_the_flags_are_reported() {
    let warnings = |from: &str, to: &str| {
        let (project, files) = edited(|files| {
            let patch = "config/default/manager_metrics_patch.yaml".to_owned();
            assert!(files[&patch].contains(from));
            let text = files[&patch].replace(from, to);
            files.insert(patch, text);
        });
        let tree = tree(&files);
        let mut build = Build::of(&project, &tree).expect("objects");
        metrics(&mut build.objects).expect("a manager").join("\n")
    };
    assert_eq!(warnings("8443", "8443"), "");
    let none = warnings("=:8443", "=0");
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
    let insecure = warnings(
        "=:8443",
        "=:8443\n- op: add\n  path: /spec/template/spec/containers/0/args/-\n  value: --metrics-secure=false",
    );
    assert!(
        insecure.contains("`config/prometheus/monitor.yaml` collects them over HTTPS"),
        "{insecure}"
    );
    let port = warnings("=:8443", "=:8080");
    assert!(port.contains("its port `metrics` is 8443, and `config/network-policy/allow-metrics-traffic.yaml` allows 8443: write 8080 there"), "{port}");
}
