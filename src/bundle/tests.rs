//! Bundles of projects that have more than the golden ones.

use serde_json::Value;

use crate::fuzz::{Files, golden, tree};
use crate::kustomize::tests::build;

use super::*;

const DEFAULT: &str = "config/default/kustomization.yaml";

/// Another Deployment, whose container has the name of the operator's.
pub(crate) const OTHER: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: a-web
  namespace: system
  labels: {control-plane: web}
spec:
  selector: {matchLabels: {control-plane: web}}
  template:
    metadata: {labels: {control-plane: web}}
    spec:
      serviceAccountName: controller-manager
      containers:
      - {name: manager, image: 'web:1', args: [--serve]}
";

fn with(line: &str, path: &str, text: &str) -> (Project, Files) {
    let (project, mut files) = golden("cronjob");
    let default = files[DEFAULT].replace("resources:\n", &format!("resources:\n{line}"));
    files.insert(DEFAULT.to_owned(), default);
    files.insert(path.to_owned(), text.to_owned());
    (project, files)
}

fn made_of(project: &Project, files: &Files, release: &Release<'_>) -> Made {
    let tree = tree(files);
    super::files(project, &tree, build(project, &tree), release).expect("a bundle")
}

#[test]
fn only_the_operator_gets_the_image_and_the_flags() {
    let (project, files) = with("- other.yaml\n", "config/default/other.yaml", OTHER);
    let image: ImageRef = "r.example.com/operator:v1".parse().expect("an image");
    let release = Release {
        image: Some(&image),
        ..Release::default()
    };
    let made = made_of(&project, &files, &release);
    let path = layout::cluster_service_version("cronjob");
    let version = yaml::read(&path, &made.files[&path]).expect("YAML");
    let deployments = version[0].pointer("/spec/install/spec/deployments");
    let container = |name: &str| {
        let mut deployments = deployments.and_then(Value::as_array).into_iter().flatten();
        let found = deployments
            .find(|it| it["name"] == name)
            .expect("a Deployment");
        found
            .pointer("/spec/template/spec/containers/0")
            .expect("a container")
            .clone()
    };
    let other = container("cronjob-a-web");
    assert_eq!(
        (&other["image"], &other["args"]),
        (&"web:1".into(), &serde_json::json!(["--serve"]))
    );
    assert_eq!(
        container("cronjob-controller-manager")["image"],
        "r.example.com/operator:v1"
    );
    // The bundle that exists has the operator's image, not that of the first Deployment.
    let mut again = files;
    again.extend(made.files);
    let made = made_of(&project, &again, &Release::default());
    assert_eq!(made.files[&path], again[&path]);
}

#[test]
fn admission_policies_are_left_out_with_a_warning() {
    let policy = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: a}\n---\n\
                  apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: a}\n";
    let (project, files) = with("- ../a.yaml\n", "config/a.yaml", policy);
    let made = made_of(&project, &files, &Release::default());
    let warning = "OLM installs no admission policies: the bundle leaves out `config/a.yaml`,";
    assert!(
        made.warnings.iter().any(|it| it.starts_with(warning)),
        "{:?}",
        made.warnings
    );
    assert!(
        made.files
            .values()
            .all(|text| !text.contains("AdmissionPolicy"))
    );
}
