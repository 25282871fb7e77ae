//! What Prometheus collects from a deployed operator.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::cluster::{Cluster, REPOSITORY, eventually, output};
use crate::deployed::Deployed;
use crate::examples::load_images;

/// Prometheus, whose namespace has the label that the network policy asks for, scrapes the managers, and nobody else
/// reaches their metrics. The queries of kubebuilder's dashboards return data, and `kubectl top` knows the managers.
pub fn metrics(cluster: &Cluster) {
    load_images();
    let prometheus = cluster.try_kubectl("get deployment prometheus -n monitoring");
    assert!(
        prometheus.is_ok(),
        "the cluster has no Prometheus: stop it with `tests/tools/cluster/cluster down`, so that this starts one with it"
    );
    let deployed = Deployed::new(cluster, "cronjob");
    let mut kubectl = deployed.run("kubectl");
    output(kubectl.args(["apply", "-k", "config/samples"]));
    let namespace = deployed.namespace();
    let scraped = format!("sum(up{{namespace=\"{namespace}\"}})");
    eventually("both managers are scraped", 90, || {
        (value(&query(cluster, &scraped)?)? == 2.0).then_some(())
    });
    let reconciles =
        format!("sum(controller_runtime_reconcile_total{{namespace=\"{namespace}\"}})");
    eventually("a reconcile", 90, || {
        (value(&query(cluster, &reconciles)?)? > 0.0).then_some(())
    });

    let pod = deployed.leader().expect("a leader");
    let queries = Path::new(REPOSITORY).join("tests/tools/dashboards/queries.txt");
    let queries = fs::read_to_string(queries).expect("the queries");
    let job = format!("{}-controller-manager-metrics-service", deployed.name);
    for text in queries.lines() {
        let text = text.replace("$job", &job).replace("$namespace", &namespace);
        let text = text.replace("$pod", &pod);
        eventually(&text, 60, || {
            let result = query(cluster, &text)?;
            (!result.as_array()?.is_empty()).then_some(())
        });
    }

    let top = format!("top pod {pod} -n {namespace} --no-headers");
    eventually("the leader's CPU and memory", 90, || {
        cluster.try_kubectl(&top).ok()
    });

    let address = format!("{job}.{namespace}.svc");
    for (namespace, reached) in [("default", "no"), ("monitoring", "yes")] {
        let connect = format!("nc -w 5 {address} 8443 </dev/null && echo yes || echo no");
        let run = format!(
            "run connect -n {namespace} --image=busybox --restart=Never --command -- /bin/sh -c"
        );
        let mut run: Vec<&str> = run.split(' ').collect();
        run.push(&connect);
        output(cluster.command("kubectl").args(run));
        let logs = format!("logs connect -n {namespace}");
        let answer = eventually("the end of the connection", 60, || {
            let log = cluster.try_kubectl(&logs).ok()?;
            log.lines().last().map(str::to_owned)
        });
        assert_eq!(answer, reached, "from {namespace}");
        cluster.kubectl(&format!("delete pod connect -n {namespace} --now"));
    }
    deployed.undeploy();
}

/// The result of a query in PromQL.
fn query(cluster: &Cluster, text: &str) -> Option<Value> {
    let service = "/api/v1/namespaces/monitoring/services/prometheus:http/proxy";
    let encoded: String = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let path = format!("{service}/api/v1/query?query={encoded}");
    let answer = cluster.try_kubectl(&format!("get --raw {path}")).ok()?;
    let answer: Value = serde_json::from_str(&answer).ok()?;
    Some(answer["data"]["result"].clone())
}

/// The value of a result that is one number.
fn value(result: &Value) -> Option<f64> {
    result[0]["value"][1].as_str()?.parse().ok()
}
