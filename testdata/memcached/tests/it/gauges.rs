// Copyright The memcached authors
// SPDX-License-Identifier: Apache-2.0

//! The operator's own metrics, as Prometheus reads them.

use api::v1::Memcached;
use kbr_testing::{TestEnv, TestEnvError};
use kube::api::{DeleteParams, PostParams};
use kube::runtime::wait::conditions::is_deleted;
use kube::{Api, ResourceExt};

use crate::{builder, start};

/// A separate environment: in the others, tests create and delete objects at the same time.
fn env() -> Result<TestEnv, TestEnvError> {
    const CONTROLLERS: [&str; 2] = ["deployment-controller", "replicaset-controller"];
    start(builder().kubernetes_controllers(&CONTROLLERS))
}

/// The values of the two gauges.
async fn gauges(env: &TestEnv) -> [String; 2] {
    let metrics = env.scrape().await;
    ["memcached_objects ", "memcached_pods "].map(|name| {
        let mut lines = metrics.lines().filter_map(|line| line.strip_prefix(name));
        lines.next().unwrap().to_owned()
    })
}

#[tokio::test]
async fn objects_and_pods_are_counted() {
    let env = env().unwrap();
    assert_eq!(gauges(&env).await, ["0", "0"]);

    let api = Api::<Memcached>::namespaced(env.admin(), &env.namespace().await);
    let mut uids = Vec::new();
    for (name, size) in [("one", 1), ("three", 3)] {
        let mut memcached: Memcached = env.read("config/samples/memcached_v1_memcached.yaml");
        memcached.metadata.name = Some(name.to_owned());
        memcached.spec.size = size;
        let created = api.create(&PostParams::default(), &memcached).await;
        uids.push(created.unwrap().uid().unwrap());
        let has_pods = |it: Option<&Memcached>| {
            let pods = it
                .and_then(|it| it.status.as_ref())
                .map(|it| it.nodes.len());
            pods == usize::try_from(size).ok()
        };
        env.wait_for(&api, name, has_pods).await;
    }
    assert_eq!(gauges(&env).await, ["2", "4"]);

    let params = DeleteParams::default();
    api.delete("one", &params).await.unwrap();
    env.wait_for(&api, "one", is_deleted(&uids[0])).await;
    assert_eq!(gauges(&env).await[0], "1");
}
