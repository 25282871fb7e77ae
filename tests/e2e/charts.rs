//! The Helm chart of `kbr chart`: installed, upgraded, rolled back and uninstalled.

use serde_json::Value;

use crate::cluster::{Cluster, eventually, output};
use crate::deployed::Deployed;
use crate::helm;

const NAMESPACE: &str = "charts";

/// The name of a release with the longest name that Helm allows.
const LONG: &str = "a-release-whose-name-has-the-fifty-three-letters-of-x";

const CRD: &str = "cronjobs.batch.tutorial.kubebuilder.io";

/// Runs Helm in the project's folder and in the namespace.
#[track_caller]
fn run(deployed: &Deployed<'_>, line: &str) -> String {
    let mut helm = deployed.run(helm::helm().to_str().expect("a path"));
    helm.args(line.split_whitespace());
    helm.args(["--namespace", NAMESPACE]);
    println!("    helm {line}");
    output(&mut helm)
}

/// The images of the pods that are ready, once all are.
fn images(cluster: &Cluster, release: &str) -> String {
    let pods = format!("get pods -n {NAMESPACE} -l app.kubernetes.io/instance={release}");
    let pods = cluster.json(&pods);
    let pods = pods["items"].as_array().expect("pods");
    let image = |pod: &Value| {
        pod["spec"]["containers"][0]["image"]
            .as_str()
            .map(str::to_owned)
    };
    let mut images: Vec<String> = pods.iter().filter_map(image).collect();
    images.dedup();
    images.join(" ")
}

/// Asserts that the defaulter and the validator answer.
pub fn is_reviewed(deployed: &Deployed<'_>) {
    let (cluster, folder) = (deployed.cluster, deployed.folder.display());
    let apply = format!("apply -f {folder}/config/samples/batch_v1_cronjob.yaml");
    eventually("the webhooks answer", 60, || {
        cluster.try_kubectl(&apply).ok()
    });
    let sample = cluster.json("get cronjobs.batch.tutorial.kubebuilder.io cronjob-sample");
    assert_eq!(
        sample["spec"]["successfulJobsHistoryLimit"], 3,
        "{sample:#}"
    );
    let invalid = r#"patch cronjobs.batch.tutorial.kubebuilder.io cronjob-sample --type=merge -p {"spec":{"schedule":"often"}}"#;
    let refused = cluster
        .try_kubectl(invalid)
        .expect_err("an invalid schedule");
    assert!(refused.contains("expected exactly 5 fields"), "{refused}");
}

pub fn helm(cluster: &Cluster) {
    let deployed = Deployed::built(cluster, "cronjob");
    deployed.load("v2");
    output(deployed.run("kbr").arg("chart"));
    cluster.kubectl(&format!("create namespace {NAMESPACE}"));
    // As the namespace of `make deploy`.
    let restricted = "pod-security.kubernetes.io/enforce=restricted";
    cluster.kubectl(&format!("label namespace {NAMESPACE} {restricted}"));

    let set = "--set image.repository=cronjob";
    let wait = "--wait --timeout 180s";
    let installed = run(
        &deployed,
        &format!("install first dist/chart {set},image.tag=v1 {wait}"),
    );
    assert!(
        installed.contains("rollout status deployment/first-cronjob-controller-manager"),
        "{installed}"
    );
    is_reviewed(&deployed);
    assert_eq!(images(cluster, "first"), "cronjob:v1");

    // Another release beside it, whose managers reconcile the same objects, and so do not run for long.
    let second = format!("install {LONG} dist/chart {set},image.tag=v1,crds.enabled=false {wait}");
    run(&deployed, &second);
    assert_eq!(images(cluster, LONG), "cronjob:v1");
    is_reviewed(&deployed);
    run(&deployed, &format!("uninstall {LONG} --wait"));
    is_reviewed(&deployed);

    run(
        &deployed,
        &format!("upgrade first dist/chart {set},image.tag=v2 {wait}"),
    );
    let runs = |image: &'static str| {
        eventually(image, 120, || {
            (images(cluster, "first") == image).then_some(())
        });
    };
    runs("cronjob:v2");
    is_reviewed(&deployed);
    run(&deployed, &format!("rollback first 1 {wait}"));
    runs("cronjob:v1");
    is_reviewed(&deployed);

    run(&deployed, "uninstall first --wait");
    let own = "app.kubernetes.io/managed-by=Helm,app.kubernetes.io/instance=first";
    let rest = "deployments,services,roles,rolebindings,clusterroles,clusterrolebindings,\
                validatingwebhookconfigurations,mutatingwebhookconfigurations,certificates,issuers,crds";
    let rest = cluster.kubectl(&format!("get {rest} --all-namespaces -l {own} -o name"));
    assert_eq!(
        rest.trim(),
        format!("customresourcedefinition.apiextensions.k8s.io/{CRD}")
    );
    cluster.kubectl("get cronjobs.batch.tutorial.kubebuilder.io cronjob-sample");
    // The same release finds its CRDs again.
    run(
        &deployed,
        &format!("install first dist/chart {set},image.tag=v2,crds.keep=false {wait}"),
    );
    is_reviewed(&deployed);
    cluster.kubectl("delete cronjobs.batch.tutorial.kubebuilder.io --all");
    run(&deployed, "uninstall first --wait");
    assert!(
        cluster.try_kubectl(&format!("get crd {CRD}")).is_err(),
        "the CRD is deleted"
    );
    cluster.kubectl(&format!("delete namespace {NAMESPACE}"));
}
