//! Roll-outs, and nodes that are drained, lost and cut off.

use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::cluster::{Cluster, eventually, output};
use crate::deployed::{Deployed, sample};
use crate::reviews::{CRONJOBS, Reviews, none_failed};

const CRONJOBS_V2: &str = "/apis/batch.tutorial.kubebuilder.io/v2/namespaces/default/cronjobs";

/// The Lease's duration, and two seconds.
const NEXT_LEADER: Duration = Duration::from_secs(17);

/// A new version is rolled out while objects are converted, defaulted and validated.
pub fn rollout(cluster: &Cluster) {
    let deployed = Deployed::new(cluster, "multiversion");
    deployed.load("v2");
    // The second version, which is not the stored one: each is converted as well.
    let reviews = Reviews::start(cluster, CRONJOBS_V2, &sample(&deployed, "v2"));
    sleep(Duration::from_secs(5));
    deployed.deploy("v2");
    sleep(Duration::from_secs(35));
    none_failed(reviews, 5_000);
    deployed.undeploy();
}

/// Each node in turn.
pub fn drains(cluster: &Cluster) {
    let deployed = Deployed::new(cluster, "cronjob");
    let reviews = Reviews::start(cluster, CRONJOBS, &sample(&deployed, "v1"));
    for node in ["node1", "node2", "node3"] {
        let drain = "--ignore-daemonsets --delete-emptydir-data --force --timeout=120s";
        cluster.kubectl(&format!("drain {node} {drain}"));
        let status = format!(
            "rollout status deployment -n {} --timeout=120s",
            deployed.namespace()
        );
        cluster.kubectl(&status);
        cluster.kubectl(&format!("uncordon {node}"));
    }
    none_failed(reviews, 1_000);
    deployed.undeploy();
}

/// The node of the leader loses its power.
pub fn node_is_lost(cluster: &Cluster) {
    without_leader(cluster, "freeze", &["kill", "start"]);
}

/// The node of the leader loses its network: the leader runs, and must not act.
pub fn node_is_cut_off(cluster: &Cluster) {
    without_leader(cluster, "partition", &["heal"]);
}

/// Takes the leader's node away, and brings it back two runs later.
fn without_leader(cluster: &Cluster, away: &str, back: &[&str]) {
    let deployed = Deployed::new(cluster, "cronjob");
    output(
        deployed
            .run("kubectl")
            .args(["apply", "-k", "config/samples"]),
    );
    let patch = r#"patch cronjob.v1.batch.tutorial.kubebuilder.io cronjob-sample --type=merge -p {"spec":{"successfulJobsHistoryLimit":100}}"#;
    cluster.kubectl(patch);
    let leader = eventually("a leader", 60, || deployed.leader());
    let node = deployed.node_of(&leader);
    let reviews = Reviews::start(cluster, CRONJOBS, &sample(&deployed, "v1"));
    let gone = Instant::now();
    Cluster::node(away, &node);
    let next = eventually("another leader", 60, || {
        deployed.leader().filter(|next| *next != leader)
    });
    let after = gone.elapsed();
    println!("    {next} leads after {} s", after.as_secs());
    assert!(after < NEXT_LEADER + Duration::from_secs(2), "{after:?}");
    eventually("the endpoints follow", 120, || {
        let ready = endpoints(cluster, &deployed);
        (ready.len() == 1 && !ready.contains(&leader)).then_some(())
    });
    // kube-proxy is told, too.
    let followed = Instant::now() + Duration::from_secs(3);
    println!(
        "    the endpoints have followed after {} s",
        gone.elapsed().as_secs()
    );
    sleep(Duration::from_secs(120));
    for what in back {
        Cluster::node(what, &node);
    }
    let ready = format!("wait node/{node} --for=condition=Ready --timeout=180s");
    cluster.kubectl(&ready);
    sleep(Duration::from_secs(60));
    let (_, failures) = reviews.end();
    let late: Vec<_> = failures.iter().filter(|(at, _)| *at > followed).collect();
    assert!(
        late.is_empty(),
        "{} failed after the endpoints followed, the first: {}",
        late.len(),
        late[0].1
    );

    let mut runs: BTreeMap<String, u32> = BTreeMap::new();
    for job in cluster.json("get jobs -n default")["items"]
        .as_array()
        .expect("a list")
    {
        let at = &job["metadata"]["annotations"]["batch.tutorial.kubebuilder.io/scheduled-at"];
        *runs
            .entry(at.as_str().expect("a time").to_owned())
            .or_default() += 1;
    }
    println!("    runs: {runs:?}");
    assert!(runs.len() >= 3, "a run for each minute: {runs:?}");
    assert!(
        runs.values().all(|jobs| *jobs == 1),
        "each run once: {runs:?}"
    );
    deployed.undeploy();
}

/// The pods that the webhooks' Service sends reviews to.
fn endpoints(cluster: &Cluster, deployed: &Deployed<'_>) -> Vec<String> {
    let slices = format!(
        "get endpointslices -n {} -l kubernetes.io/service-name={}-webhook-service",
        deployed.namespace(),
        deployed.name
    );
    let slices = cluster.json(&slices);
    let slices = slices["items"].as_array().expect("a list").iter();
    let endpoints =
        slices.flat_map(|slice| slice["endpoints"].as_array().cloned().unwrap_or_default());
    let ready = endpoints.filter(|endpoint| endpoint["conditions"]["ready"] == true);
    ready
        .map(|endpoint| {
            endpoint["targetRef"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        })
        .collect()
}
