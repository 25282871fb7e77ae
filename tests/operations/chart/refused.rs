//! What a chart, or `kbr chart`, does not accept.

use std::process::Command;

use super::Chart;
use crate::support::goldens::check_out;
use crate::support::{Run, Sandbox, assert_same};

#[test]
fn values_of_wrong_types_and_unknown_values_are_refused() {
    let chart = Chart::of("cronjob");
    for (value, names) in [
        ("replicas=many", "replicas"),
        ("replicas=-1", "replicas"),
        ("image.tag=12", "tag"),
        ("image.repository=", "repository"),
        ("image.pullPolicy=Sometimes", "pullPolicy"),
        ("image.name=x", "name"),
        ("crds.enabled=yes", "enabled"),
        ("metrics=true", "metrics"),
        ("extraArgs=--a", "extraArgs"),
        ("extraEnv[0].value=b", "extraEnv"),
        ("imagePullSecrets[0]=registry", "imagePullSecrets"),
        ("nodeSelector.a=1", "nodeSelector"),
        ("tolerations.key=a", "tolerations"),
        ("serviceAccount.annotations.a=true", "annotations"),
        ("replica=1", "replica"),
    ] {
        let args = ["template", "x", "dist/chart", "--set", value];
        let error = chart.helm(&args).failure().stderr;
        assert!(
            error.contains("schema") && error.contains(names),
            "{value}: {error}"
        );
    }
    // What Helm adds for a chart in another chart.
    chart.rendered("x", "one", &["--set", "global.a=b"]);
}

/// Asserts that `kbr chart` fails with these words and changes nothing.
#[track_caller]
fn refuse(project: &Sandbox, words: &[&str]) {
    let before = project.tree();
    let error = project.kbr("chart").failure().stderr;
    for word in words {
        assert!(error.contains(word), "no {word} in {error}");
    }
    assert_same(&before, &project.tree());
}

fn project() -> Sandbox {
    let project = Sandbox::new();
    check_out("manager", project.path());
    project
}

const DEFAULT: &str = "config/default/kustomization.yaml";
const BUDGET: &str = "config/manager/pod_disruption_budget.yaml";

/// Edits of `config/`, and what is said about each.
#[test]
fn what_kubectl_refuses_is_refused_with_its_words() {
    let edits: [(&str, &str, &[&str]); 8] = [
        (BUDGET, "a: [\n", &["pod_disruption_budget.yaml", "line 1"]),
        (BUDGET, "- a\n", &["pod_disruption_budget.yaml"]),
        (BUDGET, "kind: A\n", &["pod_disruption_budget.yaml"]),
        (
            "config/rbac/kustomization.yaml",
            "resources: [.]\n",
            &["config/rbac"],
        ),
        (
            "config/rbac/kustomization.yaml",
            "resources: ['']\n",
            &["empty"],
        ),
        (
            "config/rbac/kustomization.yaml",
            "resources: [../default]\n",
            &["cycle"],
        ),
        (
            "config/rbac/kustomization.yaml",
            "resources: [../../../../x]\n",
            &["x"],
        ),
        (
            "config/default/manager_metrics_patch.yaml",
            "- op: add\n  path: /spec/template/spec/containers/7/ports/-\n  value: a\n",
            &["containers/7"],
        ),
    ];
    for (path, text, words) in edits {
        let project = project();
        project.write(path, text);
        refuse(&project, words);
        refuse(
            &project,
            &["`kubectl kustomize config/default` failed: ", " help: "],
        );
    }
}

#[test]
fn a_missing_file_is_named_with_what_brings_it_back() {
    for (path, help) in [
        (BUDGET, "restore the file from version control"),
        (
            "config/grafana/operator.json",
            "restore the file from version control",
        ),
        ("config/rbac/role.yaml", "type `kbr manifests`"),
    ] {
        let project = project();
        project.remove(path);
        refuse(&project, &[path, help]);
    }
    let project = project();
    project.remove(DEFAULT);
    refuse(&project, &[DEFAULT, "does not exist", "restore the file"]);
}

#[test]
fn a_config_without_the_operator_is_refused() {
    let project = project();
    project.edit(
        "config/manager/manager.yaml",
        "- name: manager\n",
        "- name: other\n",
    );
    refuse(
        &project,
        &["has 0 Deployments with the label `control-plane: controller-manager`"],
    );
}

#[test]
fn without_kubectl_the_error_says_what_to_install() {
    let project = project();
    let before = project.tree();
    let mut command = Command::new(env!("CARGO_BIN_EXE_kbr"));
    command.arg("chart").current_dir(project.path());
    command.env("KUBECTL", "/nowhere/kubectl");
    let run: Run = command.output().expect("kbr runs").into();
    let error = run.failure().stderr;
    for words in [
        "could not run `/nowhere/kubectl`",
        "1.30",
        "kbr envtest use",
        "KUBECTL",
    ] {
        assert!(error.contains(words), "{words}: {error}");
    }
    assert_same(&before, &project.tree());
}

#[test]
fn a_release_that_is_too_large_is_refused() {
    let project = project();
    project.add_large_crd();
    refuse(
        &project,
        &[
            "a Helm release of this chart takes",
            "a Secret of at most 1048576",
            "--max-desc-len 0",
        ],
    );
}
