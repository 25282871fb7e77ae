//! Another version becomes the stored one: the commands that `kbr manifests` writes work exactly as written.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::assert_same;
use crate::support::cluster::Cluster;
use crate::support::crdgen::{Project, described};

const CRD: &str = "config/crd/bases/example.com_widgets.yaml";
const MIGRATION: &str = "config/storage-migration/example.com_widgets.yaml";

const METRICS: &str = "config/prometheus/kube_state_metrics.yaml";

/// The same kind in two versions.
mod v1 {
    use kube::{CustomResource, KubeSchema};
    use serde::{Deserialize, Serialize};

    #[derive(Clone, CustomResource, Debug, Deserialize, KubeSchema, Serialize)]
    #[kube(group = "example.com", version = "v1", kind = "Widget", namespaced)]
    pub struct WidgetSpec {
        pub size: u8,
    }
}

mod v2 {
    use kube::{CustomResource, KubeSchema};
    use serde::{Deserialize, Serialize};

    #[derive(Clone, CustomResource, Debug, Deserialize, KubeSchema, Serialize)]
    #[kube(group = "example.com", version = "v2", kind = "Widget", namespaced)]
    pub struct WidgetSpec {
        pub size: u8,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub color: Option<String>,
    }
}

/// Refuses every change of one object, as long as the policy exists.
const POLICY: &str = r#"
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: stuck
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [example.com], apiVersions: ["*"], operations: [UPDATE], resources: [widgets]}
  validations:
  - {expression: "object.metadata.name != 'stuck'", message: "it is stuck"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: stuck
spec:
  policyName: stuck
  validationActions: [Deny]
"#;

/// A project whose CRD and objects are in the cluster: the objects are stored in `v1`, and `v2` is now the
/// stored version. The first object has `finalizers`.
fn moved(cluster: &Cluster, finalizers: &[&str]) -> Project {
    let project = Project::of(&[described::<v1::Widget>(), described::<v2::Widget>()]);
    project.kbr("manifests").success();
    let folder = project.0.path();
    let type_in = |line: &str| cluster.shell(folder, line).success();
    type_in(&format!("kubectl apply -f {CRD}"));
    let wait = "kubectl wait --for=condition=Established crd/widgets.example.com";
    // It fails immediately if the CRD is so new that it has no conditions.
    assert!((0..12).any(|_| cluster.shell(folder, wait).code() == Some(0)));
    let ways: [&[&str]; 3] = [
        &["create", "-f", "-"],
        &["apply", "-f", "-"],
        &["apply", "--server-side", "--field-manager=helm", "-f", "-"],
    ];
    let mut ways = ways.into_iter();
    for (namespace, name, finalizers) in [
        ("default", "one", finalizers),
        ("default", "stuck", &[]),
        ("other", "one", &[]),
    ] {
        cluster.kubectl(&["create", "namespace", namespace], "");
        let object = json!({
            "apiVersion": "example.com/v1",
            "kind": "Widget",
            "metadata": { "name": name, "namespace": namespace, "finalizers": finalizers },
            "spec": { "size": 3 },
        });
        let created = cluster.kubectl(ways.next().expect("a way"), &object.to_string());
        created.success();
    }

    let text = project.0.read("PROJECT").replace("    storage: true\n", "");
    let (v1, v2) = text.rsplit_once("    namespaced: true\n").expect("v2");
    let text = format!("{v1}    namespaced: true\n    storage: true\n{v2}");
    project.0.write("PROJECT", &text);
    let drift = project.kbr("manifests --check").failure();
    assert!(
        drift.stderr.contains(&format!(
            "error: 4 of the generated files are out of date: `{CRD}`, `{METRICS}`, `{MIGRATION}`, `PROJECT`\n"
        )),
        "{}",
        drift.stderr
    );
    let run = project.kbr("manifests").success();
    let warning = format!(
        "`Widget` is stored in `v2` now: once that is deployed, follow `{MIGRATION}` in each cluster"
    );
    assert!(run.stderr.contains(&warning), "{}", run.stderr);
    project.kbr("manifests --check").success();
    type_in(&format!("kubectl apply -f {CRD}"));
    assert_eq!(stored_versions(cluster), json!(["v1", "v2"]));
    project
}

fn stored_versions(cluster: &Cluster) -> Value {
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com";
    let crd = cluster.kubectl(&["get", "--raw", path], "").success();
    let crd: Value = serde_json::from_str(&crd.stdout).expect("JSON");
    crd["status"]["storedVersions"].clone()
}

/// The line of the file that begins with `start`, without the comment sign.
fn printed(project: &Project, start: &str) -> String {
    let text = project.0.read(MIGRATION);
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("#     "));
    let line = lines.find(|line| line.starts_with(start));
    line.unwrap_or_else(|| panic!("{text}")).to_owned()
}

/// The resource version of each object, in the order of their names. Every write changes it.
fn changes(cluster: &Cluster) -> Vec<Value> {
    let path = "/apis/example.com/v2/widgets";
    let list = cluster.kubectl(&["get", "--raw", path], "").success();
    let list: Value = serde_json::from_str(&list.stdout).expect("JSON");
    let items = list["items"].as_array().expect("a list").iter();
    items
        .map(|it| it["metadata"]["resourceVersion"].clone())
        .collect()
}

#[track_caller]
fn assert_all_written(before: &[Value], after: &[Value]) {
    assert_eq!((before.len(), after.len()), (3, 3));
    let mut pairs = before.iter().zip(after);
    assert!(
        pairs.all(|(before, after)| before != after),
        "{before:?} {after:?}"
    );
}

/// Whether the policy allows writes of the object.
fn may_be_written(cluster: &Cluster) -> bool {
    let line = [
        "annotate",
        "widget",
        "stuck",
        "--overwrite",
        "a=b",
        "--dry-run=server",
    ];
    cluster.kubectl(&line, "").code() == Some(0)
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(120), "{what}");
        thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn objects_are_migrated_manually_and_only_then_can_the_version_be_deleted() {
    let cluster = Cluster::start();
    let project = moved(&cluster, &[]);
    let folder = project.0.path();
    let line = printed(&project, "kubectl get ");

    let created = changes(&cluster);

    // An object that cannot be rewritten keeps the version.
    cluster.kubectl(&["create", "-f", "-"], POLICY).success();
    wait_until("the policy is in effect", || !may_be_written(&cluster));
    let run = cluster.shell(folder, &line).failure();
    assert!(run.stderr.contains("it is stuck"), "{}", run.stderr);
    assert_eq!(stored_versions(&cluster), json!(["v1", "v2"]));
    let before = project.0.tree();
    project.kbr("delete api --kind Widget --version v1").refused(
        1,
        format!(
            "error: objects may still be stored in `example.com/v1 Widget`\n help: type `kbr manifests`, and follow \
             `{MIGRATION}` in each cluster; then remove `v1` from `storedVersions` in PROJECT, type `kbr manifests` \
             once more, and the same command again\n"
        ),
    );
    assert_same(&before, &project.0.tree());
    let mut crd = project.crd("widgets");
    crd["spec"]["versions"]
        .as_array_mut()
        .expect("a list")
        .retain(|it| it["name"] != "v1");
    let apply = ["apply", "-f", "-"];
    let refused = cluster.kubectl(&apply, &crd.to_string()).failure();
    assert!(
        refused.stderr.contains("storedVersions"),
        "{}",
        refused.stderr
    );

    let forget = printed(&project, "sh hack/forget-version.sh ");
    let refused = cluster.shell(folder, &forget).failure();
    assert!(refused.stderr.contains("serves v1"), "{}", refused.stderr);

    // Each object is written, although nothing in it changes.
    cluster.kubectl(&["delete", "-f", "-"], POLICY).success();
    wait_until("the policy is deleted", || may_be_written(&cluster));
    cluster.shell(folder, &line).success();
    assert_eq!(stored_versions(&cluster), json!(["v2"]));
    assert_all_written(&created, &changes(&cluster));

    project
        .0
        .edit("PROJECT", "    storedVersions:\n    - v1\n    - v2\n", "");
    project.kbr("manifests").success();
    assert!(!project.0.tree().contains_key(MIGRATION));
    project
        .kbr("delete api --kind Widget --version v1")
        .success();
    project.print(&[described::<v2::Widget>()]);
    project.kbr("manifests").success();
    project.kbr("manifests --check").success();
    stop_serving(&cluster);
    cluster.shell(folder, &forget).success();
    cluster
        .shell(folder, &format!("kubectl apply -f {CRD}"))
        .success();
    assert_applied(&cluster);
    let read = cluster.shell(
        folder,
        "kubectl get widgets stuck -o jsonpath='{.apiVersion} {.spec}'",
    );
    let spec = "example.com/v2 {\"color\":\"blue\",\"size\":3}";
    assert_eq!(read.success().stdout, spec);
}

/// Makes the API server no longer serve `v1`.
fn stop_serving(cluster: &Cluster) {
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com";
    let crd = cluster.kubectl(&["get", "--raw", path], "").success();
    let crd: Value = serde_json::from_str(&crd.stdout).expect("JSON");
    let mut versions = crd["spec"]["versions"].as_array().expect("a list").iter();
    let at = versions.position(|it| it["name"] == "v1").expect("v1");
    let patch =
        json!([{ "op": "replace", "path": format!("/spec/versions/{at}/served"), "value": false }]);
    let patch = format!("--patch={patch}");
    let line = ["patch", "crd", "widgets.example.com", "--type=json", &patch];
    cluster.kubectl(&line, "").success();
    wait_until("the version is not served", || {
        let served = ["get", "--raw=/apis/example.com/v1/widgets"];
        cluster.kubectl(&served, "").code() != Some(0)
    });
}

/// What the operator and users apply works for each object, and nothing is recorded of `v1`.
fn assert_applied(cluster: &Cluster) {
    let list = [
        "get",
        "widgets",
        "-A",
        "-o",
        "json",
        "--show-managed-fields",
    ];
    let list = cluster.kubectl(&list, "").success().stdout;
    assert!(!list.contains("example.com/v1\""), "{list}");
    let list: Value = serde_json::from_str(&list).expect("JSON");
    for object in list["items"].as_array().expect("a list") {
        let [namespace, name] =
            ["namespace", "name"].map(|field| object["metadata"][field].as_str().expect("a text"));
        cluster
            .kubectl(&SERVER_SIDE, &blue(namespace, name))
            .success();
    }
}

const SERVER_SIDE: [&str; 4] = ["apply", "--server-side", "-f", "-"];

/// What somebody applies of an object.
fn blue(namespace: &str, name: &str) -> String {
    json!({
        "apiVersion": "example.com/v2",
        "kind": "Widget",
        "metadata": { "name": name, "namespace": namespace },
        "spec": { "color": "blue" },
    })
    .to_string()
}

#[test]
fn without_objects_the_commands_succeed() {
    let cluster = Cluster::start();
    let project = moved(&cluster, &[]);
    let folder = project.0.path();
    let delete = "kubectl delete widgets --all --all-namespaces";
    cluster.shell(folder, delete).success();
    let forget = printed(&project, "sh hack/forget-version.sh ");
    stop_serving(&cluster);
    let refused = cluster.shell(folder, &forget).failure();
    assert!(
        refused.stderr.contains("stored in v1"),
        "{}",
        refused.stderr
    );
    cluster
        .shell(folder, &printed(&project, "kubectl get "))
        .success();
    assert_eq!(stored_versions(&cluster), json!(["v2"]));
    cluster.shell(folder, &forget).success();
}

#[test]
fn an_api_server_with_the_migrator_migrates_the_objects() {
    let mut cluster = Cluster::start();
    let project = moved(&cluster, &["example.com/wait"]);
    let owned = own(&cluster);
    let created = changes(&cluster);
    let kubeconfig = format!("--kubeconfig={}", cluster.kubeconfig().display());
    cluster.spawn(
        "kube-controller-manager",
        &[
            &kubeconfig,
            "--controllers=garbage-collector-controller,storage-version-migrator-controller",
            "--leader-elect=false",
            "--secure-port=0",
        ],
    );
    let folder = project.0.path();
    let line = printed(&project, "kubectl replace ");

    // A failed migration does not prevent another.
    cluster.kubectl(&["create", "-f", "-"], POLICY).success();
    wait_until("the policy is in effect", || !may_be_written(&cluster));
    let (start, _) = line.split_once(" && ").expect("several commands");
    cluster.shell(folder, start).success();
    let failed = format!("kubectl wait --for=condition=Failed --timeout=120s -f {MIGRATION}");
    cluster.shell(folder, &failed).success();
    // Kubernetes prunes `storedVersions` nevertheless; for kbr that means nothing.
    let delete = "delete api --kind Widget --version v1";
    let refused = project.kbr(delete).failure();
    let still = "error: objects may still be stored in `example.com/v1 Widget`\n";
    assert!(refused.stderr.starts_with(still), "{}", refused.stderr);

    cluster.kubectl(&["delete", "-f", "-"], POLICY).success();
    wait_until("the policy is deleted", || may_be_written(&cluster));
    cluster.shell(folder, &line).success();
    assert_eq!(stored_versions(&cluster), json!(["v2"]));
    assert_all_written(&created, &changes(&cluster));

    // The garbage collector runs: neither these commands nor the others delete anything, and neither does
    // the version that is no longer served.
    cluster
        .shell(folder, &printed(&project, "kubectl get "))
        .success();
    assert_eq!(uids(&cluster), owned);
    retired(&cluster, &project);
    assert_eq!(uids(&cluster), owned);

    // Whoever has forgotten the version too late can still do it.
    let refused = cluster
        .kubectl(&SERVER_SIDE, &blue("default", "one"))
        .failure();
    let why = "request to convert CR to an invalid group/version";
    assert!(refused.stderr.contains(why), "{}", refused.stderr);
    let forget = printed(&project, "sh hack/forget-version.sh ");
    cluster.shell(folder, &forget).success();
    assert_applied(&cluster);

    // The reference of an owner that is applied again names the version that is served.
    let child = child("v2", &owned["Widget default/one"]);
    apply(&cluster, &child);
    assert_eq!(uids(&cluster), owned);
    let delete = "kubectl delete widget one --wait=false && kubectl patch widget one --type=merge \
                  -p '{\"metadata\":{\"finalizers\":null}}'";
    cluster.shell(folder, delete).success();
    wait_until("the garbage collector deletes what it owned", || {
        let line = ["get", "configmaps", "-n", "default", "-o", "name"];
        cluster.kubectl(&line, "").success().stdout.is_empty()
    });
}

/// Creates an object that the first one owns, and which owns another one. Returns all uids.
fn own(cluster: &Cluster) -> BTreeMap<String, String> {
    let child = child("v1", &uids(cluster)["Widget default/one"]);
    apply(cluster, &child);
    let grandchild = config_map(
        "grandchild",
        &json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "child",
            "uid": uids(cluster)["ConfigMap default/child"],
        }),
    );
    cluster
        .kubectl(&["create", "-f", "-"], &grandchild)
        .success();
    uids(cluster)
}

/// Applies an object as the operator does.
fn apply(cluster: &Cluster, object: &str) {
    let line = [
        "apply",
        "--server-side",
        "--field-manager=operator",
        "-f",
        "-",
    ];
    cluster.kubectl(&line, object).success();
}

fn child(version: &str, uid: &str) -> String {
    config_map(
        "child",
        &json!({
            "apiVersion": format!("example.com/{version}"),
            "kind": "Widget",
            "name": "one",
            "uid": uid,
            "controller": true,
            "blockOwnerDeletion": true,
        }),
    )
}

fn config_map(name: &str, owner: &Value) -> String {
    let metadata = json!({ "name": name, "namespace": "default", "ownerReferences": [owner] });
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata }).to_string()
}

/// The uid of each object, none of which is being deleted.
fn uids(cluster: &Cluster) -> BTreeMap<String, String> {
    let line = ["get", "widgets,configmaps", "-A", "-o", "json"];
    let list = cluster.kubectl(&line, "").success();
    let list: Value = serde_json::from_str(&list.stdout).expect("JSON");
    let items = list["items"].as_array().expect("a list").iter();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    items
        .map(|it| {
            let metadata = &it["metadata"];
            assert_eq!(metadata.get("deletionTimestamp"), None, "{it}");
            let [namespace, name] = ["namespace", "name"].map(|field| text(&metadata[field]));
            let key = format!("{} {namespace}/{name}", text(&it["kind"]));
            (key, text(&metadata["uid"]))
        })
        .collect()
}

/// Deploys the CRD without `v1`, and waits until it is no longer served.
fn retired(cluster: &Cluster, project: &Project) {
    let mut crd = project.crd("widgets");
    crd["spec"]["versions"]
        .as_array_mut()
        .expect("a list")
        .retain(|it| it["name"] != "v1");
    cluster
        .kubectl(&["apply", "-f", "-"], &crd.to_string())
        .success();
    wait_until("the version is gone", || {
        let served = ["get", "--raw=/apis/example.com/v1/widgets"];
        cluster.kubectl(&served, "").code() != Some(0)
    });
}
