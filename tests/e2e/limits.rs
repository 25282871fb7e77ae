//! What a cluster refuses or ends: memory, quotas, images that cannot be pulled, Pod Security.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use crate::cluster::{Cluster, eventually, output};
use crate::deployed::{Deployed, sample};
use crate::examples::load_images;
use crate::reviews::{CRONJOBS, Reviews, none_failed};

/// The image that a Memcached has by default.
const IMAGE: &str = "memcached:1.6.26-alpine";

/// Reviews of large objects at the Deployment's limit end no manager. A limit that is too low for a manager to start
/// with keeps the rollout from going on, and the old managers serve.
pub fn memory(cluster: &Cluster) {
    let deployed = Deployed::new(cluster, "cronjob");
    let small = sample(&deployed, "v1");
    let mut large = small.clone();
    large["metadata"]["annotations"] = json!({ "note": "a".repeat(200 << 10) });
    let reviews = Reviews::start(cluster, CRONJOBS, &large);
    sleep(Duration::from_secs(20));
    none_failed(reviews, 100);
    assert_eq!(restarts(&deployed), "0 0");

    let reviews = Reviews::start(cluster, CRONJOBS, &small);
    let deployment = format!(
        "deployment {}-controller-manager -n {}",
        deployed.name,
        deployed.namespace()
    );
    let limits = "--limits=memory=1Mi --requests=memory=1Mi";
    cluster.kubectl(&format!("set resources {deployment} {limits}"));
    // The kernel ends it, or already what is to start it.
    eventually("a manager that cannot start", 120, || {
        let found = cluster.kubectl(&format!(
            "get pods,events -n {} -o json",
            deployed.namespace()
        ));
        found.contains("OOM").then_some(())
    });
    cluster.kubectl(&format!("rollout undo {deployment}"));
    cluster.kubectl(&format!("rollout status {deployment} --timeout=120s"));
    none_failed(reviews, 100);
    // One that ends may still be there.
    let restarts = restarts(&deployed);
    assert!(restarts.split(' ').all(|count| count == "0"), "{restarts}");
    deployed.undeploy();
}

/// How often the containers of each manager were started again.
fn restarts(deployed: &Deployed<'_>) -> String {
    let restarts = "-o jsonpath={.items[*].status.containerStatuses[*].restartCount}";
    let pods = format!("get pods -n {} {restarts}", deployed.namespace());
    deployed.cluster.kubectl(&pods)
}

/// As OpenShift does: a user of the namespace's range, in the group 0. Undeployed with kubectl alone.
pub fn any_user_id(cluster: &Cluster) {
    let deployed = Deployed::new(cluster, "cronjob");
    let namespace = deployed.namespace();
    let user = r#"{"spec":{"template":{"spec":{"securityContext":{"runAsUser":1000680000,"runAsGroup":0,"fsGroup":1000680000}}}}}"#;
    cluster.kubectl(&format!(
        "patch deployment {}-controller-manager -n {namespace} -p {user}",
        deployed.name
    ));
    cluster.kubectl(&format!(
        "rollout status deployment -n {namespace} --timeout=120s"
    ));
    for what in [
        "apply -k config/samples",
        "delete -k config/samples",
        "delete -k config/default",
    ] {
        output(deployed.run("kubectl").args(what.split(' ')));
    }
    deployed.left_nothing();
}

/// Something that keeps pods from running, and what the object that wants them says about it.
struct Refusal {
    namespace: &'static str,
    /// Applied first.
    cause: Option<Value>,
    image: &'static str,
    reason: &'static str,
    message: &'static str,
}

/// What keeps pods from being created or started is in the condition of the object that wants them, and an event;
/// when it is gone, the pods run.
pub fn refused_pods(cluster: &Cluster) {
    load_images();
    let deployed = Deployed::new(cluster, "memcached");
    let cause = |kind: &str, spec: Value| {
        let name = json!({ "name": "cause" });
        Some(json!({ "apiVersion": "v1", "kind": kind, "metadata": name, "spec": spec }))
    };
    let least = json!({ "limits": [{ "type": "Pod", "min": { "memory": "1Gi" } }] });
    for refusal in [
        Refusal {
            namespace: "quota",
            cause: cause("ResourceQuota", json!({ "hard": { "pods": "0" } })),
            image: IMAGE,
            reason: "FailedCreate",
            message: "exceeded quota",
        },
        Refusal {
            namespace: "limits",
            cause: cause("LimitRange", least),
            image: IMAGE,
            reason: "FailedCreate",
            message: "minimum memory usage per Pod is 1Gi",
        },
        Refusal {
            namespace: "images",
            cause: None,
            image: "nowhere:1",
            reason: "ImagePullBackOff",
            message: "nowhere:1",
        },
    ] {
        check_refusal(&deployed, &refusal);
    }
    // What kbr wrote satisfies the strictest of the Pod Security Standards.
    cluster.kubectl("create namespace restricted");
    cluster.kubectl("label namespace restricted pod-security.kubernetes.io/enforce=restricted");
    apply(&deployed, "restricted", &memcached(IMAGE));
    let available = "wait memcached/sample --for=condition=Available --timeout=90s";
    cluster.kubectl(&format!("-n restricted {available}"));
    cluster.kubectl("delete memcached --all --all-namespaces --timeout=60s");
    cluster.kubectl("delete namespace quota limits images restricted --timeout=300s");
    deployed.undeploy();
}

fn check_refusal(deployed: &Deployed<'_>, refusal: &Refusal) {
    let Refusal {
        namespace, reason, ..
    } = refusal;
    let kubectl = |line: &str| deployed.cluster.kubectl(&format!("-n {namespace} {line}"));
    deployed
        .cluster
        .kubectl(&format!("create namespace {namespace}"));
    if let Some(cause) = &refusal.cause {
        apply(deployed, namespace, cause);
    }
    apply(deployed, namespace, &memcached(refusal.image));
    let degraded = |field| format!(r#"{{.status.conditions[?(@.type=="Degraded")].{field}}}"#);
    let is = degraded("reason");
    kubectl(&format!(
        "wait memcached/sample --for=jsonpath={is}={reason} --timeout=120s"
    ));
    let says = degraded("message");
    let says = kubectl(&format!("get memcached sample -o jsonpath={says}"));
    println!("    {reason}: {says}");
    assert!(says.contains(refusal.message), "{says}");
    let events = format!("involvedObject.kind=Memcached,reason={reason}");
    let events = kubectl(&format!(
        "get events --field-selector {events} -o jsonpath={{.items[*].message}}"
    ));
    assert!(events.contains(refusal.message), "{events:?}");

    if let Some(cause) = &refusal.cause {
        let kind = cause["kind"].as_str().expect("a kind");
        kubectl(&format!("delete {kind} cause"));
    }
    apply(deployed, namespace, &memcached(IMAGE));
    kubectl("wait memcached/sample --for=condition=Available --timeout=240s");
    kubectl("wait memcached/sample --for=condition=Degraded=false --timeout=60s");
}

fn memcached(image: &str) -> Value {
    json!({
        "apiVersion": "memcached.cache.example.com/v1",
        "kind": "Memcached",
        "metadata": { "name": "sample" },
        "spec": { "size": 1, "image": image },
    })
}

fn apply(deployed: &Deployed<'_>, namespace: &str, object: &Value) {
    let file = deployed.folder.join("object.json");
    fs::write(&file, object.to_string()).expect("a file");
    let mut kubectl = deployed.run("kubectl");
    kubectl.args(["apply", "-n", namespace, "-f"]);
    output(kubectl.arg(&file));
}
