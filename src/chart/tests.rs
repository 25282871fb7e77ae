//! Charts of projects that have less, or more, than the golden ones.

use crate::fuzz::{Files, golden, tree};
use crate::kustomize::tests::build;

use super::*;

const DEFAULT: &str = "config/default/kustomization.yaml";

fn replace(files: &mut Files, path: &str, from: &str, to: &str) {
    let text = files.get_mut(path).expect("a file");
    assert!(text.contains(from), "{path}");
    *text = text.replace(from, to);
}

/// Helm fails if a template reads a value of a group that does not exist.
#[test]
fn templates_read_only_groups_of_values_that_exist() {
    for name in ["cronjob", "manager", "multiversion", "namespaced"] {
        let (project, files) = golden(name);
        for left_out in ["", "- ../crd\n", "- ../network-policy\n", "- ../webhook\n"] {
            let mut files = files.clone();
            let text = files[DEFAULT].replace(left_out, "");
            files.insert(DEFAULT.to_owned(), text);
            let Ok(made) = files_of(&project, &files) else {
                continue;
            };
            let values = &made.files["dist/chart/values.yaml"];
            for (path, text) in &made.files {
                for read in text.split(".Values.").skip(1) {
                    let is_part = |c: char| c.is_alphanumeric();
                    let end = read.find(|c| !is_part(c)).unwrap_or(read.len());
                    let is_known = values.contains(&format!("{}:", &read[..end]));
                    let is_group = read[end..].starts_with('.');
                    assert!(
                        is_known || !is_group,
                        "{name}: {path} reads {}",
                        &read[..end]
                    );
                }
            }
        }
    }
}

fn files_of(project: &Project, files: &Files) -> Result<Made, ChartError> {
    let tree = tree(files);
    super::files(project, &tree, build(project, &tree))
}

#[test]
fn objects_of_the_own_kinds_are_refused() {
    let (project, mut files) = golden("cronjob");
    replace(
        &mut files,
        DEFAULT,
        "- ../rbac\n",
        "- ../rbac\n- ../samples\n",
    );
    let error = files_of(&project, &files).expect_err("refused").to_string();
    assert!(
        error
            .contains("`config/samples/batch_v1_cronjob.yaml` has an object of the kind `CronJob`"),
        "{error}"
    );
}

#[test]
fn a_broken_sample_is_named_with_its_line() {
    let (project, mut files) = golden("cronjob");
    replace(
        &mut files,
        "config/samples/batch_v1_cronjob.yaml",
        "spec:\n",
        "spec:\n  bad: [\n",
    );
    let error = files_of(&project, &files).expect_err("refused").to_string();
    assert!(
        error.starts_with("`config/samples/batch_v1_cronjob.yaml:"),
        "{error}"
    );
    assert!(error.contains("is not YAML"), "{error}");
}

#[test]
fn values_are_those_of_the_operator_and_of_no_other_deployment() {
    let (project, mut files) = golden("cronjob");
    let text = crate::bundle::tests::OTHER.to_owned();
    files.insert("config/default/other.yaml".to_owned(), text);
    replace(
        &mut files,
        DEFAULT,
        "resources:\n",
        "resources:\n- other.yaml\n",
    );
    let made = files_of(&project, &files).expect("a chart").files;
    let other = &made["dist/chart/templates/default/other.yaml"];
    assert!(
        other.contains("image: web:1") && !other.contains(".Values"),
        "{other}"
    );
}
