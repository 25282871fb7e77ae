//! The objects of the documents that the examples are from, in a namespace of their own, do what the documents say.

use std::fs;

use crate::cluster::{Cluster, eventually, output};
use crate::deployed::Deployed;

const NAMESPACE: &str = "document";

const CRONJOB: &str = r#"
apiVersion: batch.tutorial.kubebuilder.io/v1
kind: CronJob
metadata:
  name: cronjob-sample
spec:
  schedule: "*/1 * * * *"
  startingDeadlineSeconds: 60
  concurrencyPolicy: Allow
  jobTemplate:
    spec:
      template:
        spec:
          containers:
          - name: hello
            image: busybox
            args:
            - /bin/sh
            - -c
            - date; echo Hello from the Kubernetes cluster
          restartPolicy: OnFailure
"#;

/// Without the status, which the document has in the spec.
const FOO: &str = "
apiVersion: samplecontroller.example.com/v1alpha1
kind: Foo
metadata:
  name: foos.samplecontroller.k8s.io
spec:
  deploymentName: foo-deployment
  replicas: 2
";

const GUESTBOOK: &str = r#"
apiVersion: webapp.my.domain/v1
kind: Guestbook
metadata:
  name: guestbook-sample
spec:
  size: 1
  configMapName: "myconfig"
  alias: "Address"
"#;

const MEMCACHED: &str = "
apiVersion: memcached.cache.example.com/v1
kind: Memcached
metadata:
  name: memcached-sample
spec:
  size: 3
";

const MYJOB: &str = r#"
apiVersion: myjob.github.com/v1beta1
kind: MyJob
metadata:
  name: myjob-sample
spec:
  template:
    metadata:
      name: pi
    spec:
      containers:
      - name: pi
        image: perl
        command: ["perl", "-Mbignum=bpi", "-wle", "print bpi(2000)"]
      restartPolicy: Never
"#;

/// kubectl in the namespace of the documents.
fn kubectl(cluster: &Cluster, line: &str) -> String {
    cluster.kubectl(&format!("-n {NAMESPACE} {line}"))
}

/// Applies the object of the document of this golden, if there is one, and waits for what the document promises.
pub fn run(deployed: &Deployed<'_>) {
    let cluster = deployed.cluster;
    let (object, promise): (_, fn(&Cluster)) = match deployed.name {
        "cronjob" => (CRONJOB, jobs_complete),
        "foo" => (FOO, deployment_is_available),
        "guestbook" => (GUESTBOOK, one_pod_is_active),
        "memcached" => (MEMCACHED, servers_answer),
        "myjob" => (MYJOB, pod_ends),
        _ => return,
    };
    cluster.kubectl(&format!("create namespace {NAMESPACE}"));
    let file = deployed.folder.join("document.yaml");
    fs::write(&file, object).expect("a file");
    kubectl(cluster, &format!("apply -f {}", file.display()));
    promise(cluster);
    kubectl(
        cluster,
        &format!("delete -f {} --timeout=60s", file.display()),
    );
    cluster.kubectl(&format!("delete namespace {NAMESPACE} --timeout=300s"));
}

fn jobs_complete(cluster: &Cluster) {
    eventually("a Job that is complete", 150, || {
        let jobs = kubectl(cluster, "get jobs -o jsonpath={.items[*].status.succeeded}");
        jobs.starts_with('1').then_some(())
    });
    let logs = kubectl(
        cluster,
        "logs -l batch.kubernetes.io/job-name --prefix=false",
    );
    assert!(
        logs.contains("Hello from the Kubernetes cluster"),
        "{logs:?}"
    );
    let status = "get cronjob.v1.batch.tutorial.kubebuilder.io cronjob-sample";
    let time = kubectl(
        cluster,
        &format!("{status} -o jsonpath={{.status.lastScheduleTime}}"),
    );
    assert!(time.ends_with(":00Z"), "{time:?}");
}

fn deployment_is_available(cluster: &Cluster) {
    let available = "--for=jsonpath={.status.availableReplicas}=2 --timeout=90s";
    kubectl(
        cluster,
        &format!("wait foo/foos.samplecontroller.k8s.io {available}"),
    );
    let labels = "get deployment foo-deployment -o jsonpath={.spec.template.metadata.labels}";
    assert_eq!(
        kubectl(cluster, labels),
        r#"{"app":"nginx","controller":"foos.samplecontroller.k8s.io"}"#
    );
    let events = kubectl(
        cluster,
        "get events --field-selector reason=Synced -o jsonpath={.items[*].message}",
    );
    assert!(events.contains("Foo synced successfully"), "{events:?}");
}

fn one_pod_is_active(cluster: &Cluster) {
    kubectl(
        cluster,
        "create configmap myconfig --from-literal=GREETING=Hello",
    );
    let guestbook = "guestbook/guestbook-sample";
    kubectl(
        cluster,
        &format!("wait {guestbook} --for=condition=Ready --timeout=90s"),
    );
    let pods = kubectl(cluster, "get pods -o jsonpath={.items[*].metadata.name}");
    let status = format!("get {guestbook} -o jsonpath={{.status.active}}{{.status.standby}}");
    assert_eq!(kubectl(cluster, &status), format!("{pods}[]"));
    let variables = "get pods -o jsonpath={.items[*].spec.containers[*].env[*].value}";
    assert!(kubectl(cluster, variables).contains("Address"));
}

fn servers_answer(cluster: &Cluster) {
    let memcached = "memcached/memcached-sample";
    kubectl(
        cluster,
        &format!("wait {memcached} --for=condition=Available --timeout=90s"),
    );
    let pods = kubectl(cluster, "get pods -o jsonpath={.items[*].metadata.name}");
    let nodes = format!("get {memcached} -o jsonpath={{.status.nodes[*]}}");
    assert_eq!(kubectl(cluster, &nodes), pods);
    assert_eq!(pods.split(' ').count(), 3);
    let ask = "run ask --image=busybox --restart=Never --command -- /bin/sh -c";
    let mut ask: Vec<&str> = ["-n", NAMESPACE]
        .into_iter()
        .chain(ask.split(' '))
        .collect();
    ask.push("{ echo version; echo quit; } | nc memcached-sample 11211");
    output(cluster.command("kubectl").args(ask));
    eventually("memcached says its version", 60, || {
        let log = cluster
            .try_kubectl(&format!("-n {NAMESPACE} logs ask"))
            .ok();
        log.filter(|log| log.starts_with("VERSION 1."))
    });
}

fn pod_ends(cluster: &Cluster) {
    let myjob = "myjob/myjob-sample";
    kubectl(
        cluster,
        &format!("wait {myjob} --for=jsonpath={{.status.phase}}=completed --timeout=120s"),
    );
    let phase = "get pods -o jsonpath={.items[*].status.phase}";
    assert_eq!(kubectl(cluster, phase), "Succeeded");
}
