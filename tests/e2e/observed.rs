//! What Prometheus collects from a deployed operator.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::cluster::{Cluster, REPOSITORY, eventually, output};
use crate::deployed::Deployed;
use crate::examples::load_images;

/// Prometheus, whose namespace has the label that the network policy asks for, scrapes the managers, and nobody else
/// reaches their metrics. Each panel of the project's dashboards has data, and so have the queries of kubebuilder's. The
/// alerts are in force, and `kubectl top` knows the managers.
pub fn metrics(cluster: &Cluster) {
    load_images();
    let prometheus = cluster.try_kubectl("get deployment prometheus -n monitoring");
    assert!(
        prometheus.is_ok(),
        "the cluster has no Prometheus: stop it with `tests/tools/cluster/cluster down`, so that this starts one with it"
    );
    let deployed = Deployed::new(cluster, "cronjob");
    configure(&deployed);
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
    have_data(&deployed, &pod);
    let top = format!("top pod {pod} -n {namespace} --no-headers");
    eventually("the leader's CPU and memory", 90, || {
        cluster.try_kubectl(&top).ok()
    });

    alert(&deployed);
    are_reached_from_monitoring_only(&deployed);
    for undo in [
        "delete configmap prometheus-rules custom-resources -n monitoring",
        "rollout undo deployment/kube-state-metrics -n monitoring",
    ] {
        cluster.kubectl(undo);
    }
    deployed.undeploy();
}

/// Every query of the project's dashboards, and of kubebuilder's, returns data.
fn have_data(deployed: &Deployed<'_>, pod: &str) {
    let (cluster, namespace) = (deployed.cluster, deployed.namespace());
    let queries = Path::new(REPOSITORY).join("tests/tools/dashboards/queries.txt");
    let queries = fs::read_to_string(queries).expect("the queries");
    let queries = queries.lines().map(|text| text.replace("$pod", pod));
    let queries = queries
        .chain(panels(deployed, "operator.json"))
        .chain(panels(deployed, "objects.json").map(|text| text.replace("$namespace", "default")));
    for text in queries {
        let text = text.replace("$job", deployed.name);
        let text = text.replace("$namespace", &namespace);
        let text = text.replace("$pod", ".*").replace("$controller", ".*");
        let text = text.replace("${kind}", "batch_cronjob");
        let text = text.replace("$__rate_interval", "1m");
        eventually(&text, 60, || {
            let result = query(cluster, &text)?;
            (!result.as_array()?.is_empty()).then_some(())
        });
    }
}

/// The alerts are in force: one is pending while no manager runs.
fn alert(deployed: &Deployed<'_>) {
    let (cluster, namespace) = (deployed.cluster, deployed.namespace());
    eventually("all alerts are healthy, and none is pending", 120, || {
        let alerts = alerts(cluster)?;
        let all = alerts
            .iter()
            .all(|alert| alert["health"] == "ok" && alert["state"] == "inactive");
        (alerts.len() > 10 && all).then_some(())
    });
    let scale = format!("scale -n {namespace} deployment/cronjob-controller-manager --replicas");
    cluster.kubectl(&format!("{scale}=0"));
    eventually("the alert for an operator without managers", 120, || {
        let alerts = alerts(cluster)?;
        let down = alerts
            .iter()
            .find(|alert| alert["name"] == "OperatorDown")?;
        (down["state"] == "pending").then_some(())
    });
    cluster.kubectl(&format!("{scale}=2"));
    let rollout = "rollout status deployment/cronjob-controller-manager --timeout=120s";
    cluster.kubectl(&format!("{rollout} -n {namespace}"));
}

/// Only a namespace with the label that the network policy asks for reaches the metrics.
fn are_reached_from_monitoring_only(deployed: &Deployed<'_>) {
    let (cluster, namespace) = (deployed.cluster, deployed.namespace());
    let address = format!("cronjob-controller-manager-metrics-service.{namespace}.svc");
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
            // Beside what nc says about it.
            let mut lines = log.lines();
            lines
                .find(|line| ["yes", "no"].contains(line))
                .map(str::to_owned)
        });
        assert_eq!(answer, reached, "from {namespace}");
        cluster.kubectl(&format!("delete pod connect -n {namespace} --now"));
    }
}

/// Gives Prometheus the alerts of the project, and kube-state-metrics its kinds.
fn configure(deployed: &Deployed<'_>) {
    let cluster = deployed.cluster;
    let prometheus = deployed.folder.join("config/prometheus");
    let rules = fs::read_to_string(prometheus.join("rules.yaml")).expect("the alerts");
    let (_, groups) = rules.split_once("\nspec:\n").expect("a spec");
    let here = format!("namespace: {}\n", deployed.namespace());
    let groups = groups.replace("namespace: system\n", &here);
    fs::write(deployed.folder.join("alerts.yaml"), groups).expect("a file");
    let kinds = prometheus.join("kube_state_metrics.yaml");
    for (name, file) in [
        ("prometheus-rules", deployed.folder.join("alerts.yaml")),
        ("custom-resources", kinds),
    ] {
        cluster.kubectl(&format!(
            "create configmap {name} -n monitoring --from-file=config.yaml={}",
            file.display()
        ));
    }
    cluster.kubectl("rollout restart deployment/prometheus -n monitoring");
    let patch = json!([
        { "op": "add", "path": "/spec/template/spec/volumes", "value": [
            { "name": "kinds", "configMap": { "name": "custom-resources" } },
        ] },
        { "op": "add", "path": "/spec/template/spec/containers/0/volumeMounts", "value": [
            { "name": "kinds", "mountPath": "/kinds" },
        ] },
        { "op": "add", "path": "/spec/template/spec/containers/0/args", "value": [
            "--custom-resource-state-config-file=/kinds/config.yaml",
        ] },
    ]);
    let mut kubectl = cluster.command("kubectl");
    kubectl.args(["patch", "deployment/kube-state-metrics", "-n", "monitoring"]);
    output(kubectl.args(["--type=json", "--patch", &patch.to_string()]));
    for name in ["prometheus", "kube-state-metrics"] {
        cluster.kubectl(&format!(
            "rollout status deployment/{name} -n monitoring --timeout=120s"
        ));
    }
}

/// The queries of the panels of a dashboard.
fn panels(deployed: &Deployed<'_>, name: &str) -> impl Iterator<Item = String> {
    let path = deployed.folder.join("config/grafana").join(name);
    let dashboard = fs::read_to_string(path).expect("a dashboard");
    let dashboard: Value = serde_json::from_str(&dashboard).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels").clone();
    let targets = panels
        .into_iter()
        .flat_map(|panel| panel["targets"].as_array().cloned().unwrap_or_default());
    targets.map(|target| target["expr"].as_str().expect("a query").to_owned())
}

/// All alerts that Prometheus has been given.
fn alerts(cluster: &Cluster) -> Option<Vec<Value>> {
    let answer = ask(cluster, "rules")?;
    let groups = answer["data"]["groups"].as_array()?.iter();
    let rules = groups.filter_map(|group| group["rules"].as_array());
    Some(rules.flatten().cloned().collect())
}

/// The result of a query in PromQL.
fn query(cluster: &Cluster, text: &str) -> Option<Value> {
    let encoded: String = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let answer = ask(cluster, &format!("query?query={encoded}"))?;
    Some(answer["data"]["result"].clone())
}

/// Prometheus' answer to a request of its API.
fn ask(cluster: &Cluster, path: &str) -> Option<Value> {
    let service = "/api/v1/namespaces/monitoring/services/prometheus:http/proxy";
    let path = format!("{service}/api/v1/{path}");
    let answer = cluster.try_kubectl(&format!("get --raw {path}")).ok()?;
    serde_json::from_str(&answer).ok()
}

/// The value of a result that is one number.
fn value(result: &Value) -> Option<f64> {
    result[0]["value"][1].as_str()?.parse().ok()
}
