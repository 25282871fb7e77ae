//! `kbr chart`: the charts of the golden projects, as real Helm renders them.

mod edits;
mod names;
mod refused;
mod values;

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::goldens::check_out;
use crate::support::helm::helm;
use crate::support::{KUBERNETES, Run, Sandbox, kustomize};

/// A golden project with its chart.
pub struct Chart {
    pub project: Sandbox,
    pub name: &'static str,
}

impl Chart {
    pub fn of(name: &'static str) -> Self {
        let project = Sandbox::new();
        check_out(name, project.path());
        project.kbr("chart").success();
        Self { project, name }
    }

    pub fn helm(&self, args: &[&str]) -> Run {
        let mut helm = Command::new(helm());
        helm.args(args).current_dir(self.project.path());
        if ["template", "lint"].contains(&args[0]) {
            // A Helm that is built from its module does not know the versions of Kubernetes.
            helm.args(["--kube-version", KUBERNETES]);
        }
        helm.stdin(Stdio::null());
        // Whatever the user has configured.
        helm.env("HELM_CONFIG_HOME", self.project.path().join("target/helm"));
        helm.output().expect("Helm runs").into()
    }

    /// The objects of a release in a namespace, with more arguments for `helm template`.
    pub fn rendered(&self, release: &str, namespace: &str, more: &[&str]) -> Vec<Value> {
        let args = ["template", release, "dist/chart", "--namespace", namespace];
        let run = self.helm(&[&args, more].concat()).success();
        assert_eq!(run.stderr, "");
        serde_saphyr::from_multiple(&run.stdout).expect("YAML")
    }

    /// The objects of a release that has the name and the namespace of the project, as `make deploy` has.
    pub fn default(&self, more: &[&str]) -> Vec<Value> {
        self.rendered(self.name, &format!("{}-system", self.name), more)
    }
}

pub fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().expect("a name")
}

pub fn find<'a>(objects: &'a [Value], kind: &str, name: &str) -> Option<&'a Value> {
    let is_it = |object: &&Value| object["kind"] == kind && name_of(object) == name;
    objects.iter().find(is_it)
}

/// Objects by kind, namespace and name.
fn by_name(objects: Vec<Value>) -> BTreeMap<[String; 3], Value> {
    let count = objects.len();
    let key = |object: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &object["metadata"];
        [
            text(&object["kind"]),
            text(&metadata["namespace"]),
            text(&metadata["name"]),
        ]
    };
    let named: BTreeMap<_, _> = objects.into_iter().map(|it| (key(&it), it)).collect();
    assert_eq!(named.len(), count, "no two objects have one name");
    named
}

/// Takes back what a chart is meant to have differently.
fn without_release(object: &mut Value, project: &str) {
    let metadata = &mut object["metadata"];
    let labels = metadata["labels"].as_object_mut().expect("labels");
    // Who installed what.
    assert!(labels.remove("helm.sh/chart").is_some());
    assert_eq!(
        labels.remove("app.kubernetes.io/version"),
        Some(json!("latest"))
    );
    assert_eq!(
        labels.insert(
            "app.kubernetes.io/managed-by".to_owned(),
            json!("kustomize")
        ),
        Some(json!("Helm"))
    );
    assert_eq!(
        labels.get("app.kubernetes.io/instance"),
        Some(&json!(project))
    );
    if object["kind"] == "CustomResourceDefinition" {
        let metadata = object["metadata"].as_object_mut().expect("metadata");
        let annotations = metadata["annotations"]
            .as_object_mut()
            .expect("annotations");
        // `helm uninstall` keeps the objects of users.
        assert_eq!(
            annotations.remove("helm.sh/resource-policy"),
            Some(json!("keep"))
        );
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
    visit(object, &mut |map| {
        // Selectors know the release, so that there may be several in one namespace.
        map.remove("app.kubernetes.io/instance");
        // Each release has Secrets of its own.
        if let Some(Value::String(secret)) = map.get_mut("secretName") {
            let own = secret.strip_prefix(&format!("{project}-"));
            *secret = own.expect("the release").to_owned();
        }
    });
}

fn visit(value: &mut Value, with: &mut dyn FnMut(&mut serde_json::Map<String, Value>)) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(|item| visit(item, with)),
        Value::Object(map) => {
            with(map);
            map.values_mut().for_each(|value| visit(value, with));
        }
        _ => {}
    }
}

/// Asserts that Helm and kustomize build the same objects.
pub fn assert_equal(chart: &Chart) {
    let mut rendered = chart.default(&[]);
    for object in &mut rendered {
        without_release(object, chart.name);
    }
    let mut built = kustomize(&chart.project);
    // `helm install --create-namespace` creates it.
    built.retain(|object| object["kind"] != "Namespace");
    // kustomize does not know that they are cluster-scoped: where an overlay sets the namespace, it sets theirs,
    // and the API server ignores it.
    let is_policy = |object: &&mut Value| {
        let kind = object["kind"].as_str().expect("a kind");
        kind.trim_end_matches("Binding")
            .ends_with("AdmissionPolicy")
    };
    let overlay = chart.project.read("config/default/kustomization.yaml");
    let sets_namespace = overlay.lines().any(|line| line.starts_with("namespace: "));
    for object in built.iter_mut().filter(is_policy) {
        let metadata = object["metadata"].as_object_mut().expect("metadata");
        let has_namespace = metadata.remove("namespace").is_some();
        assert_eq!(has_namespace, sets_namespace, "{object}");
    }
    let (rendered, built) = (by_name(rendered), by_name(built));
    let names = |of: &BTreeMap<[String; 3], Value>| of.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&rendered), names(&built));
    for (name, object) in &built {
        assert_eq!(&rendered[name], object, "{name:?}");
    }
}

#[test]
fn helm_builds_what_kustomize_builds() {
    for name in [
        "cronjob",
        "manager",
        "multigroup",
        "multiversion",
        "namespaced",
        "scaffold",
    ] {
        assert_equal(&Chart::of(name));
    }
}

/// Also right after `kbr init`.
#[test]
fn a_chart_without_crds_renders() {
    let project = Sandbox::new();
    project
        .kbr("init --domain example.com --project-name plain")
        .success();
    project.kbr("manifests").success();
    project.kbr("chart").success();
    let chart = Chart {
        project,
        name: "plain",
    };
    let rendered = chart.default(&[]);
    assert!(find(&rendered, "Deployment", "plain-controller-manager").is_some());
    chart.helm(&["lint", "--strict", "dist/chart"]).success();
}

#[test]
fn the_chart_follows_edits_of_config() {
    let project = Sandbox::new();
    check_out("manager", project.path());
    let default = "config/default/kustomization.yaml";
    project.edit(
        default,
        "resources:\n",
        "components: [../metrics-certificate]\nresources:\n",
    );
    project.edit(
        default,
        "- ../rbac\n",
        "- ../rbac\n- ../prometheus\n- ../grafana\n- extra.yaml\n",
    );
    let extra = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  namespace: system
data:
  text: \"{{ braces }} and ${VARIABLES}\"
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: token-role
  namespace: system
rules:
- apiGroups: [\"\"]
  resources: [secrets]
  resourceNames: [manager-token, shared]
  verbs: [get]
";
    project.write("config/default/extra.yaml", extra);
    let manager = "config/manager/manager.yaml";
    project.edit(manager, "replicas: 2", "replicas: 3");
    project.edit(
        manager,
        "        # Part of the identity",
        "        - name: TEXT\n          valueFrom:\n            configMapKeyRef:\n              name: settings\n              key: text\n        # Part of the identity",
    );
    project.edit(
        manager,
        "        - --leader-elect\n",
        "        - --leader-elect\n        - --log-level=debug\n        - --token=manager-token\n        - --user-agent=manager-agent\n",
    );
    project.write(
        "config/manager/kustomization.yaml",
        "resources:\n- manager.yaml\n- pod_disruption_budget.yaml\nimages:\n- name: controller\n  newName: r.example.com:5000/a\n  newTag: v7\n",
    );
    project.kbr("chart").success();
    let chart = Chart {
        project,
        name: "manager",
    };

    let about = chart.project.read("dist/chart/Chart.yaml");
    assert!(about.contains("appVersion: v7"), "{about}");
    let mut rendered = chart.default(&[]);
    let container = "/spec/template/spec/containers/0";
    let deployment =
        find(&rendered, "Deployment", "manager-controller-manager").expect("a Deployment");
    let container = deployment.pointer(container).expect("a container");
    assert_eq!(container["image"], "r.example.com:5000/a:v7");
    // The version of the image is a label.
    for object in &mut rendered {
        object["metadata"]["labels"]["app.kubernetes.io/version"] = json!("latest");
        without_release(object, "manager");
    }
    let mut built = kustomize(&chart.project);
    built.retain(|object| object["kind"] != "Namespace");
    // Not an object: kustomize knows it only as a Secret that somebody else creates.
    let (mut rendered, built) = (by_name(rendered), by_name(built));
    for object in rendered
        .values_mut()
        .filter(|it| it["kind"] == "ServiceMonitor")
    {
        let secret = &mut object["spec"]["endpoints"][0]["tlsConfig"]["ca"]["secret"]["name"];
        assert_eq!(*secret, "manager-metrics-server-cert");
        *secret = json!("metrics-server-cert");
    }
    for (name, object) in &built {
        assert_eq!(rendered.get(name), Some(object), "{name:?}");
    }
    assert_eq!(rendered.len(), built.len());

    // A name that a role has is that of an object of the release, and no other word is.
    let other = chart.rendered("x", "one", &[]);
    let role = find(&other, "Role", "x-manager-token-role").expect("a Role");
    assert_eq!(
        role["rules"][0]["resourceNames"],
        json!(["x-manager-token", "shared"])
    );
    let deployment = find(&other, "Deployment", "x-manager-controller-manager");
    let args = deployment
        .expect("a Deployment")
        .pointer("/spec/template/spec/containers/0/args");
    let args = args.expect("arguments").as_array().expect("a list");
    for argument in ["--token=x-manager-token", "--user-agent=manager-agent"] {
        assert!(args.contains(&json!(argument)), "no {argument} in {args:?}");
    }
}

#[test]
fn helm_finds_nothing_to_improve() {
    for name in ["cronjob", "manager"] {
        let chart = Chart::of(name);
        let run = chart.helm(&["lint", "--strict", "dist/chart"]).success();
        let findings: Vec<&str> = run
            .stdout
            .lines()
            .filter(|line| line.starts_with('['))
            .collect();
        // kbr has no picture of the operator.
        assert_eq!(findings, ["[INFO] Chart.yaml: icon is recommended"]);
        chart
            .helm(&["package", "dist/chart", "--destination", "target"])
            .success();
    }
}

#[test]
fn artifact_hub_sees_the_model() {
    let chart = Chart::of("cronjob");
    let about: Value =
        serde_saphyr::from_str(&chart.project.read("dist/chart/Chart.yaml")).expect("YAML");
    assert_eq!(about["name"], "cronjob");
    assert_eq!(about["version"], "0.1.0");
    let annotation = |key: &str| {
        about["annotations"][format!("artifacthub.io/{key}")]
            .as_str()
            .expect("a text")
            .to_owned()
    };
    let list = |key: &str| -> Value { serde_saphyr::from_str(&annotation(key)).expect("YAML") };
    assert_eq!(annotation("operator"), "true");
    assert_eq!(annotation("license"), "Apache-2.0");
    assert_eq!(
        list("images"),
        json!([{ "name": "manager", "image": "controller:latest" }])
    );
    let sample: Value =
        serde_saphyr::from_str(&chart.project.read("config/samples/batch_v1_cronjob.yaml"))
            .expect("YAML");
    assert_eq!(list("crdsExamples"), json!([sample]));
    assert_eq!(
        list("crds"),
        json!([{
            "kind": "CronJob",
            "version": "v1",
            "name": "cronjobs.batch.tutorial.kubebuilder.io",
            "displayName": "CronJob",
            "description": "CronJob starts a Job each time its schedule comes due.",
        }])
    );
    let versions = Chart::of("multiversion")
        .project
        .read("dist/chart/Chart.yaml");
    assert_eq!(
        versions.matches("displayName: CronJob").count(),
        2,
        "{versions}"
    );
}
