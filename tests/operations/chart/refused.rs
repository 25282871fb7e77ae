//! What a chart, or `kbr chart`, does not accept.

use super::Chart;
use crate::support::goldens::check_out;
use crate::support::{Sandbox, assert_same};

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

#[test]
fn a_part_of_kustomize_that_kbr_does_not_know_is_refused() {
    const DEFAULT: &str = "config/default/kustomization.yaml";
    for (line, what) in [
        (
            "configMapGenerator: [{name: a, literals: [b=c]}]",
            "configMapGenerator.literals",
        ),
        (
            "configMapGenerator: [{name: a, files: [kustomization.yaml]}]",
            "configMapGenerator without disableNameSuffixHash",
        ),
        (
            "configMapGenerator: [{name: a, options: {immutable: true}}]",
            "configMapGenerator.options.immutable",
        ),
        ("nameSuffix: -x", "nameSuffix"),
        (
            "patches: [{patch: '{kind: Deployment}', target: {kind: Deployment}}]",
            "a strategic merge patch",
        ),
    ] {
        let project = project();
        let text = project.read(DEFAULT);
        let text = match line.starts_with("patches") {
            true => text.replace(
                "patches:\n",
                "patches:\n- {patch: '{kind: Deployment}', target: {kind: Deployment}}\n",
            ),
            false => format!("{text}{line}\n"),
        };
        project.write(DEFAULT, &text);
        refuse(&project, &[DEFAULT, &format!("`{what}`"), "JSON 6902"]);
    }
    let project = project();
    project.edit(
        DEFAULT,
        "- pairs:\n",
        "- includeSelectors: true\n  pairs:\n",
    );
    refuse(&project, &["`labels.includeSelectors`"]);
    for (from, to, what) in [
        (
            "{kind: Deployment, name: controller-manager}",
            "{kind: Deployment, name: .*}",
            "`name: \".*\"`",
        ),
        (
            "{kind: Deployment, name: controller-manager}",
            "{kind: Deployment, uid: a}",
            "`uid: \"a\"`",
        ),
    ] {
        let project = self::project();
        project.edit(DEFAULT, from, to);
        refuse(&project, &[what]);
    }
    let project = self::project();
    let replacements = "config/default/leader_election_replacements.yaml";
    project.edit(
        replacements,
        "    - metadata.name\n",
        "    - metadata.name\n    options:\n      create: true\n",
    );
    refuse(&project, &[replacements, "`create`"]);
}

#[test]
fn a_broken_config_is_refused() {
    let missing = project();
    missing.remove("config/manager/pod_disruption_budget.yaml");
    refuse(
        &missing,
        &[
            "`config/manager/pod_disruption_budget.yaml` does not exist",
            "restore the file",
        ],
    );

    let no_dashboard = project();
    no_dashboard.remove("config/grafana/operator.json");
    refuse(
        &no_dashboard,
        &[
            "`config/grafana/operator.json` does not exist, but `config/grafana/kustomization.yaml` needs it",
            "restore the file",
        ],
    );

    let no_yaml = project();
    no_yaml.write("config/manager/pod_disruption_budget.yaml", "a: [\n");
    refuse(
        &no_yaml,
        &["`config/manager/pod_disruption_budget.yaml:2` is not YAML"],
    );

    for text in [
        "- a\n",
        "kind: A\n",
        "kind: A\nmetadata: {labels: [a]}\n",
        "metadata: {}\nspec: a\n",
    ] {
        let no_object = project();
        no_object.write("config/manager/pod_disruption_budget.yaml", text);
        refuse(
            &no_object,
            &["pod_disruption_budget.yaml", "no object of Kubernetes"],
        );
    }

    let no_operation = project();
    no_operation.edit(
        "config/default/manager_metrics_patch.yaml",
        "containers/0/ports",
        "containers/7/ports",
    );
    refuse(
        &no_operation,
        &["manager_metrics_patch.yaml", "nothing is there"],
    );

    let no_manager = project();
    no_manager.edit(
        "config/manager/manager.yaml",
        "- name: manager\n",
        "- name: other\n",
    );
    no_manager.edit(
        "config/default/leader_election_replacements.yaml",
        "[name=manager]",
        "[name=other]",
    );
    refuse(
        &no_manager,
        &["has 0 Deployments with the label `control-plane: controller-manager`"],
    );
    no_manager.edit(
        "config/default/leader_election_replacements.yaml",
        "[name=other]",
        "[name=third]",
    );
    refuse(
        &no_manager,
        &["leader_election_replacements.yaml", "no object has"],
    );
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
