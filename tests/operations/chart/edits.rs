//! What becomes of the chart when its owner edits it, and when `config/` changes.

use std::fs;

use super::Chart;
use crate::support::goldens::check_out;
use crate::support::{Sandbox, assert_same, commit, git};

/// A project with its chart, in git.
fn project() -> Sandbox {
    let Chart { project, .. } = Chart::of("manager");
    git(&project, "init --quiet");
    commit(&project);
    project
}

const MANAGER: &str = "dist/chart/templates/manager/manager.yaml";

#[test]
fn the_chart_is_complete_and_written_once() {
    let project = project();
    for path in [
        ".helmignore",
        "Chart.yaml",
        "templates/NOTES.txt",
        "templates/_helpers.tpl",
        "templates/manager/manager.yaml",
        "values.schema.json",
        "values.yaml",
    ] {
        project.read(&format!("dist/chart/{path}"));
    }
    let listed = git(&project, "ls-files dist/chart");
    assert!(listed.contains("dist/chart/values.yaml"), "git ignores it");
    let before = project.tree();
    let run = project.kbr("chart").success();
    assert!(
        !run.stderr.contains("Created") && !run.stderr.contains("Updated"),
        "{}",
        run.stderr
    );
    project.kbr("chart --check").success();
    project.kbr("update --check").success();
    assert_same(&before, &project.tree());
}

#[test]
fn a_chart_that_is_out_of_date_fails_the_check() {
    let project = project();
    project.edit("config/manager/manager.yaml", "replicas: 2", "replicas: 3");
    let before = project.tree();
    let error = project.kbr("chart --check").failure().stderr;
    assert!(
        error.contains("out of date: `PROJECT`, `dist/chart/values.yaml`")
            || error.contains("`dist/chart/values.yaml`"),
        "{error}"
    );
    assert!(error.contains("type `kbr chart`"), "{error}");
    assert_same(&before, &project.tree());
    project.kbr("chart").success();
    assert!(
        project
            .read("dist/chart/values.yaml")
            .contains("replicas: 3")
    );
    project.kbr("chart --check").success();
}

#[test]
fn edits_are_merged_with_what_changes() {
    let project = project();
    project.edit(
        "dist/chart/values.yaml",
        "nodeSelector: {}",
        "nodeSelector: {}\n\n# Mine.\nmine: 1",
    );
    project.edit(MANAGER, "kind: Deployment\n", "kind: Deployment\n# Mine.\n");
    project.write("dist/chart/templates/mine.yaml", "# Mine.\n");
    project.kbr("chart --check").success();
    commit(&project);
    let edit = |from: &str, to: &str| project.edit("config/manager/manager.yaml", from, to);
    edit("replicas: 2", "replicas: 3");
    edit(
        "readOnlyRootFilesystem: true",
        "readOnlyRootFilesystem: false",
    );
    project.kbr("chart").success();
    let values = project.read("dist/chart/values.yaml");
    assert!(
        values.contains("replicas: 3\n") && values.contains("# Mine.\nmine: 1\n"),
        "{values}"
    );
    let manager = project.read(MANAGER);
    assert!(
        manager.contains("readOnlyRootFilesystem: false") && manager.contains("# Mine."),
        "{manager}"
    );
    assert_eq!(project.read("dist/chart/templates/mine.yaml"), "# Mine.\n");
    project.kbr("chart --check").success();
    // Not committed in between: PROJECT has what has changed since git's last text.
    edit("replicas: 3", "replicas: 4");
    project.kbr("chart").success();
    let values = project.read("dist/chart/values.yaml");
    assert!(
        values.contains("replicas: 4\n") && values.contains("# Mine.\nmine: 1\n"),
        "{values}"
    );
}

#[test]
fn an_edited_file_is_merged_again_and_again() {
    let project = project();
    project.edit(
        "dist/chart/values.yaml",
        "affinity: {}",
        "affinity: {} # Mine.",
    );
    commit(&project);
    let mut replicas = 2;
    for next in 3..6 {
        let [old, new] = [replicas, next].map(|number| format!("replicas: {number}"));
        project.edit("config/manager/manager.yaml", &old, &new);
        let run = project.kbr("chart").success();
        assert!(!run.stderr.contains("kbr-new"), "{}", run.stderr);
        let values = project.read("dist/chart/values.yaml");
        assert!(values.contains(&format!("{new}\n")), "{values}");
        assert!(values.contains("affinity: {} # Mine."), "{values}");
        // The owner commits what was merged.
        commit(&project);
        replicas = next;
    }
}

#[test]
fn a_conflict_is_an_error_until_it_is_resolved() {
    let project = project();
    project.edit("dist/chart/values.yaml", "replicas: 2", "replicas: 5");
    project.edit("config/manager/manager.yaml", "replicas: 2", "replicas: 3");
    let error = project.kbr("chart").failure().stderr;
    assert!(
        error.contains(
            "these files have edits in lines that kbr changes too: `dist/chart/values.yaml`"
        ),
        "{error}"
    );
    let values = project.read("dist/chart/values.yaml");
    assert!(
        values.contains("<<<<<<< ours\nreplicas: 5\n=======\nreplicas: 3\n>>>>>>> theirs\n"),
        "{values}"
    );
    for line in ["chart", "chart --check"] {
        let again = project.kbr(line).failure().stderr;
        assert!(again.contains("`dist/chart/values.yaml`"), "{again}");
    }
    assert_eq!(project.read("dist/chart/values.yaml"), values);
    let resolved = values.replace(
        "<<<<<<< ours\nreplicas: 5\n=======\nreplicas: 3\n>>>>>>> theirs\n",
        "replicas: 5\n",
    );
    project.write("dist/chart/values.yaml", &resolved);
    project.kbr("chart").success();
    assert_eq!(project.read("dist/chart/values.yaml"), resolved);
    project.kbr("chart --check").success();
}

#[test]
fn what_config_no_longer_has_goes_away_unless_it_was_edited() {
    let project = project();
    let policy = "dist/chart/templates/network-policy/allow-metrics-traffic.yaml";
    let budget = "dist/chart/templates/manager/pod_disruption_budget.yaml";
    project.edit(
        "config/default/kustomization.yaml",
        "- ../network-policy\n",
        "",
    );
    project.edit(
        "config/manager/kustomization.yaml",
        "- pod_disruption_budget.yaml\n",
        "",
    );
    project.edit(budget, "maxUnavailable: 1", "maxUnavailable: 2");
    let run = project.kbr("chart").success();
    assert!(!project.path().join(policy).exists());
    assert!(project.read(budget).contains("maxUnavailable: 2"));
    assert!(
        run.stderr.contains("stays because it was edited"),
        "{}",
        run.stderr
    );
    // Nor is there a value that does nothing.
    for file in ["values.yaml", "values.schema.json"] {
        assert!(
            !project
                .read(&format!("dist/chart/{file}"))
                .contains("networkPolicy")
        );
    }
    project.kbr("chart --check").success();
}

#[test]
fn a_deleted_template_stays_deleted() {
    let project = project();
    project.remove("dist/chart/templates/NOTES.txt");
    project.kbr("chart --check").success();
    project.kbr("chart").success();
    assert!(
        !project
            .path()
            .join("dist/chart/templates/NOTES.txt")
            .exists()
    );
}

#[test]
fn a_chart_of_somebody_else_is_not_overwritten() {
    let project = Sandbox::new();
    check_out("manager", project.path());
    project.write("dist/chart/values.yaml", "mine: 1\n");
    // Not a part of the chart, and not read.
    project.write("dist/other/file", "x");
    fs::write(project.path().join("dist/other/binary"), b"\xff").expect("a file");
    let run = project.kbr("chart").success();
    assert_eq!(project.read("dist/chart/values.yaml"), "mine: 1\n");
    assert!(
        project
            .read("dist/chart/values.yaml.kbr-new")
            .contains("replicas: 2")
    );
    assert!(
        run.stderr.contains("is yours, and now part of the chart"),
        "{}",
        run.stderr
    );
    // Windows.
    let text = project.read(MANAGER).replace('\n', "\r\n");
    project.write(MANAGER, &text);
    project.kbr("chart --check").success();
}
